/* Columns of words that should not become one feature a word: numbers in disguise, dates, identifiers. */
#include "data/profile.h"

#include <stdio.h>

#include "base/memory.h"
#include "fedplt/settings.h"
#include "base/text.h"

enum {
    MANY_FIGURES = 20, /* more distinct numbers beside words: a measured quantity with codes */
    FEW_LEVELS = 20    /* up to these a category is never taken for an identifier */
};

void fplt__profile_clear(fplt__profile *profile)
{
    for (uint32_t i = 0; i < profile->names.count && profile->column; i++) {
        fplt__lookup_clear(&profile->column[i].words);
        fplt__lookup_clear(&profile->column[i].figures);
    }
    fplt__free(profile->column);
    fplt__lookup_clear(&profile->names);
    *profile = (fplt__profile){0};
}

static void see_word(fplt__profiled *column, fplt__span text, const fplt__field *field,
                     fplt__origin origin)
{
    long days;
    fplt__date_form date = fplt__date_parse(text, &days);
    if (!column->first.line)
        column->first = origin;
    column->points += (size_t)(field->foreign != 0);
    column->commas += (size_t)fplt__has_decimal_comma(text);
    column->dates += date != FPLT__NO_DATE;
    column->ambiguous += date == FPLT__DATE_AMBIGUOUS;
    if (!fplt__is_code_word(text))
        return;
    if (!column->codes++)
        column->first_code = origin;
}

fplt_status fplt__profile_see(fplt__profile *profile, fplt__span name, const fplt__field *field,
                              fplt__origin origin, fplt_error *error)
{
    uint32_t number, word;
    double value;
    fplt__span text = fplt__span_trim(field->span);
    if (fplt__field_missing(field))
        return FPLT_OK;
    fplt_status status =
        fplt__grow(&profile->column, &profile->capacity, (size_t)profile->names.count + 1,
                   sizeof *profile->column, "columns", error);
    if (!status)
        status = fplt__lookup_add(&profile->names, name, &number, error);
    if (status)
        return status;
    fplt__profiled *column = &profile->column[number];
    column->values++;
    if (!field->foreign && fplt__number_parse(text, &value) != FPLT__NOT_A_NUMBER) {
        column->numbers++;
        return column->figures.count > MANY_FIGURES
                   ? FPLT_OK
                   : fplt__lookup_add(&column->figures, text, &word, error);
    }
    see_word(column, text, field, origin);
    return fplt__lookup_add(&column->words, field->span, &word, error);
}

/* ---- remedies ---- */

/* A name as a shell takes it. */
typedef struct shell_name {
    char text[200];
} shell_name;

static shell_name quote(fplt__span name)
{
    char word[64];
    shell_name quoted;
    snprintf(word, sizeof word, "%.*s", (int)(name.length < 60 ? name.length : 60), name.text);
    fplt__shell_word(word, quoted.text, sizeof quoted.text);
    return quoted;
}

/* The codes of the settings and those of the column, as a list for the command line. */
static shell_name code_list(const fplt_read_settings *settings, const fplt__profiled *column)
{
    char list[120] = "";
    shell_name quoted;
    size_t used = 0;
    if (settings->missing_codes && strcmp(settings->missing_codes, "none") != 0)
        used = (size_t)snprintf(list, sizeof list, "%.60s", settings->missing_codes);
    for (uint32_t i = 0; i < column->words.count && used + 24 < sizeof list; i++) {
        fplt__span word = fplt__lookup_word(&column->words, i);
        if (word.length <= 20)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "",
                                     word.text);
    }
    fplt__shell_word(list, quoted.text, sizeof quoted.text);
    return quoted;
}

static fplt_status refuse_dates(const fplt__profiled *column, fplt__span name, fplt_error *error)
{
    const char *shown = fplt__lookup_word(&column->words, 0).text;
    if (column->ambiguous)
        return fplt__bad_data(error, column->first.name, column->first.line,
                              "column '%s' has dates such as '%.30s', where day and month cannot "
                              "be told apart: write them as 2020-12-31 in the file, or leave the "
                              "column out with --ignore %s",
                              fplt__show(name).text, shown, quote(name).text);
    return fplt__bad_data(error, column->first.name, column->first.line,
                          "column '%s' has dates such as '%.30s': add --dates days (or years) to "
                          "take them as numbers, or leave the column out with --ignore %s",
                          fplt__show(name).text, shown, quote(name).text);
}

static fplt_status refuse_decimals(const fplt__profiled *column, fplt__span name, fplt_error *error)
{
    const char *shown = fplt__lookup_word(&column->words, 0).text;
    return fplt__bad_data(error, column->first.name, column->first.line,
                          column->points ? "column '%s' has numbers with a decimal point such as "
                                           "'%.30s', although decimal is comma: leave --decimal "
                                           "comma out, or remove the points between thousands"
                                         : "column '%s' has numbers with a decimal comma such as "
                                           "'%.30s': add --decimal comma",
                          fplt__show(name).text, shown);
}

static fplt_status refuse_codes(const fplt_read_settings *settings, const fplt__profiled *column,
                                fplt__span name, fplt_error *error)
{
    size_t others = column->values - column->numbers;
    return fplt__bad_data(
        error, column->first.name, column->first.line,
        "column '%s' has %zu numbers and %zu times words such as '%s': if the words stand for "
        "missing values, add --missing-codes %s; if the column is a category, say "
        "--categories auto,%s; or leave the column out with --ignore %s",
        fplt__show(name).text, column->numbers, others,
        fplt__show(fplt__lookup_word(&column->words, 0)).text, code_list(settings, column).text,
        quote(name).text, quote(name).text);
}

static fplt_status refuse_identifier(const fplt__profiled *column, fplt__span name,
                                     fplt_error *error)
{
    return fplt__bad_data(
        error, column->first.name, column->first.line,
        "column '%s' has %u different words in %zu rows, such as '%s', so it names the rows: add "
        "--id %s to keep it beside predictions, or leave it out with --ignore %s; if it is a "
        "category, say --categories auto,%s",
        fplt__show(name).text, column->words.count, column->values,
        fplt__show(fplt__lookup_word(&column->words, 0)).text, quote(name).text, quote(name).text,
        quote(name).text);
}

static fplt_status check_column(const fplt_read_settings *settings, const fplt__profiled *column,
                                fplt__span name, fplt_error *error)
{
    size_t words = column->values - column->numbers;
    if (column->dates + column->codes == words && column->dates)
        return refuse_dates(column, name, error);
    if ((column->commas || column->points) &&
        column->commas + column->points + column->codes == words)
        return refuse_decimals(column, name, error);
    if (column->numbers && (column->codes == words || column->figures.count > MANY_FIGURES))
        return refuse_codes(settings, column, name, error);
    if (column->words.count > FEW_LEVELS && column->words.count > column->values / 2)
        return refuse_identifier(column, name, error);
    return FPLT_OK;
}

fplt_status fplt__profile_categories(const fplt__profile *profile,
                                     const fplt_read_settings *settings, fplt__lookup *categories,
                                     fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < profile->names.count && !status; i++) {
        const fplt__profiled *column = &profile->column[i];
        fplt__span name = fplt__lookup_word(&profile->names, i);
        uint32_t number;
        if (!column->words.count || fplt__lookup_find(categories, name) != FPLT__NOWHERE)
            continue; /* numbers, or named as a category */
        status = check_column(settings, column, name, error);
        if (!status)
            status = fplt__lookup_add(categories, name, &number, error);
    }
    return status;
}

fplt_status fplt__profile_check(const fplt__profile *profile, fplt__span name,
                                const fplt_read_settings *settings, fplt_error *error)
{
    uint32_t i = fplt__lookup_find(&profile->names, name);
    if (i == FPLT__NOWHERE || !profile->column[i].words.count)
        return FPLT_OK;
    return check_column(settings, &profile->column[i], name, error);
}

fplt_status fplt__bad_cell(fplt_error *error, const char *file, size_t line, fplt__span name,
                           const fplt__field *field)
{
    long days;
    char remedy[400];
    fplt__span text = field->span;
    fplt__date_form date = fplt__date_parse(text, &days);
    if (field->foreign)
        snprintf(remedy, sizeof remedy,
                 "has a decimal point, although decimal is comma: leave --decimal comma out, or "
                 "remove the points between thousands");
    else if (fplt__has_thousands(text))
        snprintf(remedy, sizeof remedy,
                 "is not a number: if the comma is the decimal sign, add --decimal comma; if it "
                 "separates thousands, write the number without it");
    else if (fplt__has_decimal_comma(text))
        snprintf(remedy, sizeof remedy, "has a decimal comma: add --decimal comma");
    else if (date != FPLT__NO_DATE)
        snprintf(remedy, sizeof remedy, "is a date: %s, or leave the column out with --ignore %s",
                 date == FPLT__DATE ? "add --dates days (or years)"
                                    : "write it as 2020-12-31 and add --dates days",
                 quote(name).text);
    else if (fplt__is_code_word(text))
        snprintf(remedy, sizeof remedy,
                 "is not a number: if it stands for a missing value, add --missing-codes %s",
                 quote(text).text);
    else
        snprintf(remedy, sizeof remedy,
                 "is not a number; words become columns of 0 and 1 with --categories auto, and "
                 "--ignore %s leaves the column out",
                 quote(name).text);
    return fplt__bad_data(error, file, line, "column '%s': '%s' %s", fplt__show(name).text,
                          fplt__show(text).text, remedy);
}
