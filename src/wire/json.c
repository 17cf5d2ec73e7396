/* Canonical JSON. */
#include "wire/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { CANONICAL = JSON_SORT_KEYS | JSON_COMPACT };

fplt_status fplt__json_text(json_t *value, char **text, fplt_error *error)
{
    *text = NULL;
    char *dumped = value ? json_dumps(value, CANONICAL) : NULL;
    json_decref(value);
    if (dumped)
        *text = fplt__strdup(dumped);
    free(dumped);
    return *text ? FPLT_OK
                 : fplt_error_set(error, FPLT_NO_MEMORY,
                                  "no memory for a message, or a text in it is not UTF-8");
}

static int is_shallow(const json_t *value, int depth)
{
    const char *key;
    json_t *part;
    size_t index;
    if (json_is_real(value) || depth > FPLT__JSON_DEPTH)
        return 0;
    json_object_foreach((json_t *)value, key, part) if (!is_shallow(part, depth + 1)) return 0;
    json_array_foreach(value, index, part) if (!is_shallow(part, depth + 1)) return 0;
    return 1;
}

/* Jansson itself recurses over what it reads, so depth is looked at before: by brackets, those inside
 * texts too, which is on the safe side. */
static int has_few_brackets(const char *text, size_t size)
{
    int depth = 0, most = 0;
    for (size_t i = 0; i < size; i++) {
        depth += (text[i] == '{') + (text[i] == '[') - (text[i] == '}') - (text[i] == ']');
        most = depth > most ? depth : most;
    }
    return most <= 64;
}

static int is_canonical(const json_t *value, const char *text, size_t size)
{
    char *again = json_dumps(value, CANONICAL);
    int same = again && strlen(again) == size && memcmp(again, text, size) == 0;
    free(again);
    return same;
}

fplt_status fplt__json_read(const char *what, const void *text, size_t size, size_t limit,
                            json_t **value, fplt_error *error)
{
    json_error_t fault;
    *value = NULL;
    if (size > limit)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s has %zu bytes, but at most %zu are read",
                              what, size, limit);
    if (!has_few_brackets(text, size))
        return fplt_error_set(error, FPLT_BAD_DATA, "%s is more than %d deep", what,
                              FPLT__JSON_DEPTH);
    json_t *read = json_loadb(text, size, JSON_REJECT_DUPLICATES, &fault);
    if (!read)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s is not JSON at byte %d: %s", what,
                              fault.position, fault.text);
    if (!json_is_object(read) || !is_shallow(read, 1) || !is_canonical(read, text, size)) {
        json_decref(read);
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s is not a canonical JSON object: keys sorted, no blanks, at most "
                              "%d deep, reals as hexadecimal strings",
                              what, FPLT__JSON_DEPTH);
    }
    *value = read;
    return FPLT_OK;
}

fplt__reader fplt__reader_open(const char *what, const json_t *object, fplt_error *error)
{
    return (fplt__reader){.what = what, .object = object, .error = error};
}

int fplt__reader_refuse(fplt__reader *reader, const char *key, const char *wanted)
{
    if (!reader->status)
        reader->status = fplt_error_set(reader->error, FPLT_BAD_DATA, "%s: %s must be %s",
                                        reader->what, key, wanted);
    return 0;
}

fplt_status fplt__reader_close(fplt__reader *reader)
{
    if (!reader->status && json_object_size(reader->object) != reader->asked)
        reader->status =
            fplt_error_set(reader->error, FPLT_BAD_DATA, "%s has %zu keys, but %zu are known",
                           reader->what, json_object_size(reader->object), reader->asked);
    return reader->status;
}

const json_t *fplt__reader_any(fplt__reader *reader, const char *key, int type, const char *wanted)
{
    const json_t *value = json_object_get(reader->object, key);
    reader->asked++;
    if (value && (type < 0 || json_typeof(value) == (json_type)type))
        return value;
    fplt__reader_refuse(reader, key, wanted);
    return NULL;
}

uint64_t fplt__reader_count(fplt__reader *reader, const char *key, uint64_t most)
{
    const json_t *value = fplt__reader_any(reader, key, JSON_INTEGER, "a count");
    json_int_t number = value ? json_integer_value(value) : 0;
    if (number < 0 || (uint64_t)number > most) {
        fplt__reader_refuse(reader, key, "a count that is not negative and not too large");
        return 0;
    }
    return (uint64_t)number;
}

uint64_t fplt__reader_wide(fplt__reader *reader, const char *key)
{
    const json_t *value = fplt__reader_any(reader, key, JSON_STRING, "a number in quotes");
    const char *text = value ? json_string_value(value) : "0";
    uint64_t number = 0;
    size_t length = strlen(text);
    int legal = length > 0 && (length == 1 || text[0] != '0');
    for (size_t i = 0; legal && i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        legal = digit <= 9 && number <= (UINT64_MAX - digit) / 10;
        number = legal ? 10 * number + digit : 0;
    }
    if (!legal)
        fplt__reader_refuse(reader, key, "a decimal number below 2^64 in quotes");
    return number;
}

/* As printf's %a writes it with a dot, whatever the locale: sign, 0x1 (0x0 below the normal numbers), the
 * hexadecimal digits without zeros at the end, and the power of two. */
void fplt__real_text(double value, char text[FPLT__REAL_TEXT])
{
    uint64_t bits;
    char digits[14] = "";
    memcpy(&bits, &value, sizeof bits);
    uint64_t rest = bits & ((UINT64_C(1) << 52) - 1);
    int power = (int)(bits >> 52 & 2047), length = 13;
    snprintf(digits, sizeof digits, "%013llx", (unsigned long long)rest);
    while (length && digits[length - 1] == '0')
        digits[--length] = 0;
    int leader = power != 0;
    power = power ? power - 1023 : (rest ? -1022 : 0);
    snprintf(text, FPLT__REAL_TEXT, "%s0x%d%s%sp%+d", bits >> 63 ? "-" : "", leader,
             length ? "." : "", digits, power);
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads what looks like such a text; whether it is the one text of its number is seen by writing it. */
static double real_of(const char *text)
{
    int negative = *text == '-', digits = 0, power = 0;
    uint64_t mantissa = 0;
    text += negative;
    if (strncmp(text, "0x", 2) != 0)
        return NAN;
    text += 2;
    mantissa = *text == '1';
    text += *text != 0;
    text += *text == '.';
    for (; hex_of(*text) >= 0 && digits < 13; text++, digits++)
        mantissa = 16 * mantissa + (uint64_t)hex_of(*text);
    if (*text++ != 'p')
        return NAN;
    int down = *text == '-';
    for (text += *text != 0; *text >= '0' && *text <= '9' && power < 10000; text++)
        power = 10 * power + (*text - '0');
    double size = ldexp((double)mantissa, (down ? -power : power) - 4 * digits);
    return negative ? -size : size;
}

int fplt__real_read(const json_t *value, double *real)
{
    char again[FPLT__REAL_TEXT];
    const char *text = json_string_value(value);
    *real = 0;
    if (!text || strlen(text) >= sizeof again)
        return 0;
    double read = real_of(text);
    if (!isfinite(read))
        return 0;
    fplt__real_text(read, again);
    *real = read;
    return strcmp(text, again) == 0;
}

double fplt__reader_real(fplt__reader *reader, const char *key)
{
    double real = 0;
    const json_t *value = fplt__reader_any(reader, key, JSON_STRING, "a hexadecimal real");
    if (value && !fplt__real_read(value, &real))
        fplt__reader_refuse(reader, key, "a finite C99 hexadecimal real in quotes");
    return real;
}

int fplt__reader_flag(fplt__reader *reader, const char *key)
{
    const json_t *value = fplt__reader_any(reader, key, -1, "true or false");
    if (value && !json_is_boolean(value))
        fplt__reader_refuse(reader, key, "true or false");
    return json_is_true(value);
}

void fplt__reader_bytes(fplt__reader *reader, const char *key, void *bytes, size_t size)
{
    const json_t *value = fplt__reader_any(reader, key, JSON_STRING, "hexadecimal digits");
    if (value && (json_string_length(value) != 2 * size ||
                  !fplt__unhex(json_string_value(value), bytes, size)))
        fplt__reader_refuse(reader, key, "hexadecimal digits, as many as it needs");
}

void fplt__reader_text(fplt__reader *reader, const char *key, char *text, size_t room)
{
    const json_t *value = fplt__reader_any(reader, key, JSON_STRING, "a text");
    *text = 0;
    if (!value)
        return;
    if (json_string_length(value) >= room ||
        strlen(json_string_value(value)) != json_string_length(value))
        fplt__reader_refuse(reader, key, "a text that is not too long");
    else
        strcpy(text, json_string_value(value));
}

int fplt__reader_part(fplt__reader *reader, const char *key, fplt__reader *part)
{
    const json_t *value = fplt__reader_any(reader, key, -1, "an object or null");
    if (value && !json_is_object(value) && !json_is_null(value))
        fplt__reader_refuse(reader, key, "an object or null");
    if (!json_is_object(value))
        return 0;
    *part = fplt__reader_open(reader->what, value, reader->error);
    return 1;
}

json_t *fplt__json_real(double value)
{
    char text[FPLT__REAL_TEXT];
    fplt__real_text(value, text);
    return json_string(text);
}

json_t *fplt__json_wide(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return json_string(text);
}

json_t *fplt__json_bytes(const void *bytes, size_t size)
{
    char text[129];
    fplt__hex(bytes, size < 64 ? size : 64, text);
    return json_string(text);
}
