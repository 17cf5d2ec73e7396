/* Fields rewritten from the way a file writes values to the way the readers take them. */
#include "data/dialect.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "base/memory.h"
#include "fedplt/settings.h"
#include "base/text.h"

int fplt__field_missing(const fplt__field *field)
{
    static const char *const words[] = {"?", "NA", "N/A", "NaN", "nan", "NULL", "null", "-"};
    static const char begins[] = "?Nn-";
    if (field->span.length && !memchr(begins, *field->span.text, sizeof begins - 1))
        return 0;
    for (size_t i = 0; !field->quoted && i < sizeof words / sizeof *words; i++)
        if (fplt__span_is(field->span, words[i]))
            return 1;
    return field->span.length == 0;
}

int fplt__is_code_word(fplt__span text)
{
    static const char *const words[] = {".",       "..",      "...",       "--",      "---",
                                        "*",       "**",      "#",         "#N/A",    "n.a.",
                                        "n.d.",    "nd",      "na",        "n/a",     "none",
                                        "k.A.",    "unk",     "unknown",   "miss",    "null",
                                        "missing", "fehlend", "unbekannt", "inconnu", "#NULL!",
                                        "#VALUE!", "nil"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == text.length && strncasecmp(words[i], text.text, text.length) == 0)
            return 1;
    return 0;
}

/* ---- settings ---- */

static int word_is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static fplt_status choose(const char *name, const char *given, const char *const *words, int *index,
                          fplt_error *error)
{
    *index = 0;
    for (int i = 0; given && words[i]; i++)
        if (strcmp(given, words[i]) == 0) {
            *index = i;
            return FPLT_OK;
        }
    return given
               ? fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s is '%.80s', but it must be one of %s, %s%s%s", name, given,
                                words[0], words[1], words[2] ? ", " : "", words[2] ? words[2] : "")
               : FPLT_OK;
}

static fplt_status add_code(fplt__dialect *dialect, const char *code, size_t *capacity,
                            fplt_error *error)
{
    uint32_t number;
    double value;
    fplt__span word = fplt__span_trim(fplt__span_of(code));
    fplt_status status = fplt__lookup_add(&dialect->codes, word, &number, error);
    if (!status)
        status = fplt__grow(&dialect->code_value, capacity, (size_t)number + 1,
                            sizeof *dialect->code_value, "missing-codes", error);
    if (!status)
        dialect->code_value[number] =
            fplt__number_parse(word, &value) == FPLT__NUMBER ? value : NAN;
    return status;
}

fplt_status fplt__dialect_init(fplt__dialect *dialect, const fplt_read_settings *settings,
                               fplt_error *error)
{
    static const char *const signs[] = {"point", "comma", NULL};
    static const char *const units[] = {"refuse", "days", "years", NULL};
    int unit;
    size_t capacity = 0;
    *dialect = (fplt__dialect){0};
    fplt_status status = choose("decimal", settings->decimal, signs, &dialect->comma, error);
    if (!status)
        status = choose("dates", settings->dates, units, &unit, error);
    if (status)
        return status;
    dialect->dates = (fplt__dates)unit;
    const char *list = settings->missing_codes;
    while (list && *list && !word_is(list, "none") && !status) {
        char code[256];
        list = fplt__list_next(list, code, sizeof code);
        status = add_code(dialect, code, &capacity, error);
    }
    return status;
}

void fplt__dialect_clear(fplt__dialect *dialect)
{
    fplt__lookup_clear(&dialect->codes);
    fplt__free(dialect->code_value);
    *dialect = (fplt__dialect){0};
}

const char *fplt__dialect_asked(const fplt_read_settings *settings)
{
    return word_is(settings->decimal, "comma")                      ? "decimal"
           : settings->missing_codes                                ? "missing-codes"
           : settings->dates && !word_is(settings->dates, "refuse") ? "dates"
                                                                    : NULL;
}

int fplt__dialect_is_plain(const fplt__dialect *dialect)
{
    return !dialect->comma && !dialect->dates && !dialect->codes.count;
}

/* ---- values ---- */

/* The text with its only comma as a point; 0 where that is no number. */
static size_t with_point(fplt__span text, char *room, double *value)
{
    enum { LONGEST = 64 };
    const char *comma = text.length < LONGEST ? memchr(text.text, ',', text.length) : NULL;
    if (!comma || memchr(text.text, '.', text.length))
        return 0;
    memcpy(room, text.text, text.length);
    room[comma - text.text] = '.';
    return fplt__number_parse((fplt__span){room, text.length}, value) == FPLT__NUMBER ? text.length
                                                                                      : 0;
}

int fplt__has_decimal_comma(fplt__span text)
{
    char room[64];
    double value;
    return with_point(fplt__span_trim(text), room, &value) > 0;
}

int fplt__has_thousands(fplt__span text)
{
    text = fplt__span_trim(text);
    const char *comma = memchr(text.text, ',', text.length);
    return comma && text.text + text.length - comma == 4 && comma > text.text &&
           comma - text.text <= 4 && fplt__has_decimal_comma(text);
}

static int is_code(const fplt__dialect *dialect, fplt__span text)
{
    double value;
    if (!dialect->codes.count)
        return 0;
    if (fplt__lookup_find(&dialect->codes, text) != FPLT__NOWHERE)
        return 1;
    if (fplt__number_parse(text, &value) != FPLT__NUMBER)
        return 0;
    for (uint32_t i = 0; i < dialect->codes.count; i++)
        if (dialect->code_value[i] == value)
            return 1;
    return 0;
}

/* ---- dates ---- */

/* As many digits as there are, up to `most`; how many. */
static size_t take_whole(fplt__span *text, size_t most, int *value)
{
    size_t count = 0;
    *value = 0;
    while (count < most && text->length && *text->text >= '0' && *text->text <= '9') {
        *value = *value * 10 + (*text->text++ - '0');
        text->length--;
        count++;
    }
    return count;
}

static int take_sign(fplt__span *text, char sign)
{
    if (!text->length || *text->text != sign)
        return 0;
    text->text++;
    text->length--;
    return 1;
}

/* Nothing, or a time such as 14:05, T14:05:09.5 or with a zone. */
static int is_time_or_nothing(fplt__span text)
{
    int hour, minute;
    if (!text.length)
        return 1;
    if (!take_sign(&text, 'T') && !take_sign(&text, ' '))
        return 0;
    if (!take_whole(&text, 2, &hour) || !take_sign(&text, ':') ||
        take_whole(&text, 2, &minute) != 2 || hour > 24 || minute > 59)
        return 0;
    for (size_t i = 0; i < text.length; i++)
        if (!strchr("0123456789:.+-Z", text.text[i]))
            return 0;
    return 1;
}

/* Days since 1970-01-01 in the Gregorian calendar, by counting from 1 March [Hinnant 2013]. */
static long days_of(int year, int month, int day)
{
    long y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
    long of_year = (153L * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int is_day(int year, int month, int day)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1 || month < 1 || month > 12 || day < 1)
        return 0;
    int leap = month == 2 && year % 4 == 0 && (year % 100 || year % 400 == 0);
    return day <= lengths[month - 1] + leap;
}

fplt__date_form fplt__date_parse(fplt__span text, long *days)
{
    int first, second, third;
    text = fplt__span_trim(text);
    size_t digits = take_whole(&text, 4, &first);
    char sign = text.length ? *text.text : 0;
    if (!digits || !sign || !strchr("-./", sign) || !take_sign(&text, sign) ||
        !take_whole(&text, 2, &second) || !take_sign(&text, sign))
        return FPLT__NO_DATE;
    if (digits == 4 && sign != '.') {
        if (!take_whole(&text, 2, &third) || !is_day(first, second, third) ||
            !is_time_or_nothing(text))
            return FPLT__NO_DATE;
        *days = days_of(first, second, third);
        return FPLT__DATE;
    }
    if (digits > 2 || take_whole(&text, 4, &third) != 4 || !is_time_or_nothing(text))
        return FPLT__NO_DATE;
    if (sign != '.')
        return is_day(third, second, first) || is_day(third, first, second) ? FPLT__DATE_AMBIGUOUS
                                                                            : FPLT__NO_DATE;
    if (!is_day(third, second, first))
        return FPLT__NO_DATE;
    *days = days_of(third, second, first);
    return FPLT__DATE;
}

/* A number, or a year with its fraction: 365.2425 days each from 1970 on. */
static size_t write_date(fplt__dates unit, long days, char *room)
{
    double years = 1970 + (double)days / 365.2425;
    return (size_t)(unit == FPLT__DATES_DAYS ? snprintf(room, FPLT__REWRITTEN, "%ld", days)
                                             : snprintf(room, FPLT__REWRITTEN, "%.15g", years));
}

size_t fplt__dialect_rewrite(const fplt__dialect *dialect, fplt__field *field, int is_feature,
                             char *room)
{
    fplt__span text = fplt__span_trim(field->span);
    double value;
    long days;
    size_t used = 0;
    if (is_code(dialect, text)) {
        *field = (fplt__field){{"", 0}, 0, 0};
        return 0;
    }
    if (dialect->comma) {
        used = with_point(text, room, &value);
        field->foreign = !used && text.length && memchr(text.text, '.', text.length) &&
                         fplt__number_parse(text, &value) == FPLT__NUMBER;
        if (used && is_code(dialect, (fplt__span){room, used})) {
            *field = (fplt__field){{"", 0}, 0, 0};
            return 0;
        }
    }
    if (!used && is_feature && dialect->dates && fplt__date_parse(text, &days) == FPLT__DATE)
        used = write_date(dialect->dates, days, room);
    if (used)
        field->span = (fplt__span){room, used};
    return used;
}
