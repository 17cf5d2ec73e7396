/* Words and messages for the readers. */
#include "data/text.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void fplt__number_name(double value, char text[32])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value == 0 ? 0.0 : value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static locale_t plain_locale;

static void make_locale(void)
{
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t fplt__locale_enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    return uselocale(plain_locale);
}

void fplt__locale_leave(locale_t before)
{
    uselocale(before);
}

int fplt__span_is(fplt__span span, const char *text)
{
    return strlen(text) == span.length && memcmp(span.text, text, span.length) == 0;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

fplt__span fplt__span_trim(fplt__span span)
{
    while (span.length && is_blank(*span.text)) {
        span.text++;
        span.length--;
    }
    while (span.length && is_blank(span.text[span.length - 1]))
        span.length--;
    return span;
}

fplt__shown fplt__show(fplt__span span)
{
    fplt__shown shown;
    size_t length = span.length < 40 ? span.length : 40;
    /* never half a UTF-8 character */
    while (length < span.length && length > 36 && ((unsigned char)span.text[length] & 0xc0) == 0x80)
        length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)span.text[i];
        shown.text[i] = c < 32 || c == 127 ? '.' : (char)c;
    }
    memcpy(shown.text + length, span.length > length ? "..." : "", 4 - 3 * (span.length <= length));
    return shown;
}

fplt_status fplt__bad_data(fplt_error *error, const char *name, size_t line, const char *format,
                           ...)
{
    char sentence[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (line)
        return fplt_error_set(error, FPLT_BAD_DATA, "%.300s:%zu: %s", name, line, sentence);
    return fplt_error_set(error, FPLT_BAD_DATA, "%.300s: %s", name, sentence);
}

/* FNV-1a. */
static size_t hash(fplt__span word)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < word.length; i++)
        h = (h ^ (unsigned char)word.text[i]) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32);
}

void fplt__lookup_clear(fplt__lookup *lookup)
{
    fplt__free(lookup->end);
    fplt__free(lookup->text);
    fplt__free(lookup->slot);
    *lookup = (fplt__lookup){0};
}

fplt__span fplt__lookup_word(const fplt__lookup *lookup, uint32_t number)
{
    size_t start = number ? lookup->end[number - 1] + 1 : 0;
    return (fplt__span){lookup->text + start, lookup->end[number] - start};
}

static size_t place_of(const fplt__lookup *lookup, fplt__span word)
{
    size_t at = hash(word) & (lookup->slots - 1);
    while (lookup->slot[at]) {
        fplt__span held = fplt__lookup_word(lookup, lookup->slot[at] - 1);
        if (held.length == word.length &&
            (word.length == 0 || memcmp(held.text, word.text, word.length) == 0))
            break;
        at = (at + 1) & (lookup->slots - 1);
    }
    return at;
}

uint32_t fplt__lookup_find(const fplt__lookup *lookup, fplt__span word)
{
    if (!lookup->slots)
        return FPLT__NOWHERE;
    uint32_t held = lookup->slot[place_of(lookup, word)];
    return held ? held - 1 : FPLT__NOWHERE;
}

static fplt_status rehash(fplt__lookup *lookup, fplt_error *error)
{
    size_t slots = lookup->slots ? 2 * lookup->slots : 16;
    uint32_t *slot, *old = lookup->slot;
    fplt_status status = fplt__alloc_into(&slot, slots, sizeof *slot, "a table of words", error);
    if (status)
        return status;
    lookup->slot = slot;
    lookup->slots = slots;
    for (uint32_t i = 0; i < lookup->count; i++)
        slot[place_of(lookup, fplt__lookup_word(lookup, i))] = i + 1;
    fplt__free(old);
    return FPLT_OK;
}

fplt_status fplt__lookup_add(fplt__lookup *lookup, fplt__span word, uint32_t *number,
                             fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (lookup->slots < 2 * ((size_t)lookup->count + 1))
        status = rehash(lookup, error);
    if (status)
        return status;
    size_t at = place_of(lookup, word);
    if (lookup->slot[at]) {
        *number = lookup->slot[at] - 1;
        return FPLT_OK;
    }
    if (lookup->count == FPLT__NOWHERE - 1)
        return fplt_error_set(error, FPLT_BAD_DATA, "more than %u distinct words", lookup->count);
    status = fplt__grow(&lookup->end, &lookup->end_capacity, (size_t)lookup->count + 1,
                        sizeof *lookup->end, "words", error);
    if (!status)
        status = fplt__grow(&lookup->text, &lookup->text_capacity,
                            lookup->text_used + word.length + 1, 1, "words", error);
    if (status)
        return status;
    if (word.length)
        memcpy(lookup->text + lookup->text_used, word.text, word.length);
    lookup->text[lookup->text_used + word.length] = 0;
    lookup->end[lookup->count] = lookup->text_used + word.length;
    lookup->text_used += word.length + 1;
    *number = lookup->count++;
    lookup->slot[at] = lookup->count;
    return FPLT_OK;
}

fplt_status fplt__lookup_names(const fplt__lookup *lookup, fplt__names *names, fplt_error *error)
{
    *names = (fplt__names){0, NULL};
    if (!lookup->count)
        return FPLT_OK;
    fplt__span *spans;
    fplt_status status = fplt__alloc_into(&spans, lookup->count, sizeof *spans, "names", error);
    if (status)
        return status;
    for (uint32_t i = 0; i < lookup->count; i++)
        spans[i] = fplt__lookup_word(lookup, i);
    status = fplt__names_make(spans, lookup->count, names, error);
    fplt__free(spans);
    return status;
}

static int by_value(const void *a, const void *b, void *context)
{
    const fplt__lookup *lookup = context;
    double x = 0, y = 0;
    fplt__number_parse(fplt__lookup_word(lookup, *(const uint32_t *)a), &x);
    fplt__number_parse(fplt__lookup_word(lookup, *(const uint32_t *)b), &y);
    return (x > y) - (x < y);
}

static int by_bytes(const void *a, const void *b, void *context)
{
    const fplt__lookup *lookup = context;
    fplt__span x = fplt__lookup_word(lookup, *(const uint32_t *)a);
    fplt__span y = fplt__lookup_word(lookup, *(const uint32_t *)b);
    int difference = memcmp(x.text, y.text, x.length < y.length ? x.length : y.length);
    return difference ? difference : (x.length > y.length) - (x.length < y.length);
}

/* "1" and "1.0" are two words of one value: bytes decide between them. */
static int by_value_then_bytes(const void *a, const void *b, void *context)
{
    int difference = by_value(a, b, context);
    return difference ? difference : by_bytes(a, b, context);
}

void fplt__lookup_sort(const fplt__lookup *lookup, uint32_t *order)
{
    int numbers = 1;
    double value;
    for (uint32_t i = 0; i < lookup->count; i++) {
        order[i] = i;
        if (numbers && fplt__number_parse(fplt__lookup_word(lookup, i), &value) != FPLT__NUMBER)
            numbers = 0;
    }
    qsort_r(order, lookup->count, sizeof *order, numbers ? by_value_then_bytes : by_bytes,
            (void *)(uintptr_t)lookup);
}
