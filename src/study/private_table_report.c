/* Table 1 with privacy as a document. */
#include <math.h>
#include <stdio.h>

#include "report/report.h"
#include "report/table.h"
#include "study/private_table_inside.h"

enum { DIGITS = 4 };

static const char *const statistics[FPLT__PRIVATE_LINES] = {
    "mean", "SD", "quarter", "median", "three quarters", "missing"};

static const char *stratum_name(const fplt__private_table *table, size_t stratum)
{
    const fplt__declared *by = fplt__private_by(table);
    return stratum ? fplt__lookup_word(&by->levels.names, (uint32_t)stratum - 1).text : NULL;
}

static const char *site_name(const fplt__private_table *table, size_t site)
{
    return site ? table->names[site - 1] : NULL;
}

/* The level of a line; NULL: the rows without one, or a column of numbers. */
static const char *level_of(const fplt__declared *column, size_t line)
{
    return !column->bounded && line < column->levels.names.count
               ? fplt__lookup_word(&column->levels.names, (uint32_t)line).text
               : NULL;
}

static const char *statistic_of(const fplt__declared *column, size_t line)
{
    return column->bounded ? statistics[line] : level_of(column, line) ? "rows" : "missing";
}

/* ---- line by line ---- */

static void list_estimate(fplt_table *out, fplt__private_estimate estimate)
{
    fplt__table_number(out, estimate.value, DIGITS);
    fplt__table_number(out, estimate.low, DIGITS);
    fplt__table_number(out, estimate.high, DIGITS);
}

static void list_rows(const fplt__private_table *table, size_t site, size_t stratum,
                      fplt_table *out)
{
    fplt__table_text(out, NULL);
    fplt__table_text(out, NULL);
    fplt__table_text(out, "rows");
    fplt__table_text(out, site_name(table, site));
    fplt__table_text(out, stratum_name(table, stratum));
    list_estimate(out, fplt__private_rows(table, site, stratum));
}

static void list_line(const fplt__private_table *table, size_t column, size_t line, size_t site,
                      size_t stratum, fplt_table *out)
{
    const fplt__declared *declared = fplt__private_column(table, column);
    fplt__table_text(out, declared->name);
    fplt__table_text(out, level_of(declared, line));
    fplt__table_text(out, statistic_of(declared, line));
    fplt__table_text(out, site_name(table, site));
    fplt__table_text(out, stratum_name(table, stratum));
    list_estimate(out, fplt__private_find(table, column, line, site, stratum));
}

static fplt_status list(const fplt__private_table *table, fplt_table **out, fplt_error *error)
{
    static const char *const headings[] = {"column",  "level",    "statistic", "site",
                                           "stratum", "estimate", "low",       "high"};
    size_t sites = fplt__private_sites(table), strata = fplt__private_strata(table);
    fplt_status status =
        fplt__table_create(headings, sizeof headings / sizeof *headings, out, error);
    for (size_t s = sites > 2 ? 0 : 1; s < sites && !status; s++)
        for (size_t k = 0; k < strata; k++) {
            list_rows(table, s, k, *out);
            for (size_t c = 0; c < fplt__private_columns(table); c++)
                for (size_t i = 0; i < fplt__private_lines(table, c); i++)
                    list_line(table, c, i, s, k, *out);
        }
    return status;
}

/* ---- as in a paper ---- */

/* Groups side by side: the strata of a site, or all sites. */
struct sides {
    size_t site, count;
    int are_strata;
};

static void show(fplt_table *out, fplt__private_estimate estimate, int is_count)
{
    char text[120];
    if (is_count)
        snprintf(text, sizeof text, "%.0f [%.0f, %.0f]", estimate.value, estimate.low,
                 estimate.high);
    else
        snprintf(text, sizeof text, "%.*g [%.*g, %.*g]", DIGITS, estimate.value, DIGITS,
                 estimate.low, DIGITS, estimate.high);
    fplt__table_text(out, isnan(estimate.value) ? NULL
                          : estimate.low == estimate.high && is_count
                              ? (snprintf(text, sizeof text, "%.0f", estimate.value), text)
                              : text);
}

static void show_line(const fplt__private_table *table, const struct sides *sides, size_t column,
                      size_t line, fplt_table *out)
{
    const fplt__declared *declared = fplt__private_column(table, column);
    const char *level = level_of(declared, line);
    fplt__table_text(out, line ? "" : declared->name);
    fplt__table_text(out, level ? level : statistic_of(declared, line));
    for (size_t i = 0; i < sides->count; i++)
        show(out,
             fplt__private_find(table, column, line, sides->are_strata ? sides->site : i,
                                sides->are_strata ? i : 0),
             !declared->bounded || line == FPLT__PRIVATE_MISSING);
}

static fplt_status add_paper(fplt__document *to, const fplt__private_table *table,
                             const struct sides *sides, const char *heading, fplt_error *error)
{
    const char *names[FPLT__PRIVATE_SIDES + 2] = {"column", "value"};
    fplt_table *out;
    for (size_t i = 0; i < sides->count; i++)
        names[i + 2] = !i                  ? sides->are_strata ? "all rows" : "all"
                       : sides->are_strata ? stratum_name(table, i)
                                           : site_name(table, i);
    fplt_status status = fplt__table_create(names, sides->count + 2, &out, error);
    if (status)
        return status;
    fplt__table_text(out, "rows");
    fplt__table_text(out, "");
    for (size_t i = 0; i < sides->count; i++)
        show(out,
             fplt__private_rows(table, sides->are_strata ? sides->site : i,
                                sides->are_strata ? i : 0),
             1);
    for (size_t c = 0; c < fplt__private_columns(table); c++)
        for (size_t line = 0; line < fplt__private_lines(table, c); line++)
            show_line(table, sides, c, line, out);
    return fplt__document_table(to, out, heading, error);
}

/* With strata a table for all sites and for each; otherwise the sites side by side, in tables of so many as fit. */
static fplt_status add_papers(fplt__document *to, const fplt__private_table *table,
                              fplt_error *error)
{
    size_t sites = fplt__private_sites(table), strata = fplt__private_strata(table);
    fplt_status status = FPLT_OK;
    fplt__document_begin(to, "Table 1");
    if (strata == 1 && sites - 1 < FPLT__PRIVATE_SIDES)
        return add_paper(to, table, &(struct sides){0, sites > 2 ? sites : 1, 0}, NULL, error);
    for (size_t s = 0; s < (sites > 2 ? sites : 1) && !status; s++) {
        char heading[400];
        snprintf(heading, sizeof heading, s ? "site %.300s" : "all sites",
                 s ? site_name(table, s) : "");
        status =
            add_paper(to, table, &(struct sides){s, strata, 1}, sites > 2 ? heading : NULL, error);
    }
    return status;
}

/* ---- what is promised ---- */

/* Sentences about the promise and the noise; number `index`, 0 past the last. */
static int write_note(const fplt__private_table *table, size_t index, char *text, size_t size)
{
    const fplt__private_scale *scale = &table->scale;
    switch (index) {
    case 0:
        return snprintf(text, size,
                        "epsilon %.4g at delta %.3g for every row of a site, replaced by another "
                        "one; how many rows a site has is public",
                        scale->epsilon, scale->delta);
    case 1:
        return snprintf(text, size,
                        "every count of a site has discrete Gaussian noise of standard deviation "
                        "%.4g. Brackets "
                        "hold the number without noise with 95 %% probability each",
                        scale->count.deviation / scale->count.unit);
    case 2:
        return snprintf(text, size,
                        "numbers beyond the declared bounds count as the bound, words that are not "
                        "declared as missing; quartiles lie on %u cells",
                        table->settings->cells);
    case 3:
        return !fplt__schema_is_drafted(table->settings->read->schema)
                   ? 0
                   : snprintf(text, size,
                              "the schema is a draft from the records: the promise holds only for "
                              "bounds and levels that a person has confirmed");
    default: return 0;
    }
}

static json_t *to_json(const fplt__private_table *table)
{
    const fplt__private_scale *scale = &table->scale;
    json_t *notes = json_array(), *made = NULL;
    fplt_table *lines = NULL;
    char text[400];
    for (size_t i = 0; write_note(table, i, text, sizeof text); i++)
        json_array_append_new(notes, json_string(text));
    if (!list(table, &lines, NULL))
        made = json_pack("{s:f, s:f, s:f, s:s?, s:I, s:f, s:o, s:O}", "epsilon", scale->epsilon,
                         "delta", scale->delta, "rate", scale->rate, "by", table->settings->by,
                         "grid", (json_int_t)table->settings->cells, "count_deviation",
                         scale->count.deviation / scale->count.unit, "lines",
                         fplt__table_json(lines), "notes", notes);
    json_decref(notes);
    fplt_table_destroy(lines);
    return made;
}

static fplt_status add_lines(fplt__document *to, const fplt__private_table *table,
                             fplt_error *error)
{
    fplt_table *lines;
    fplt_status status = list(table, &lines, error);
    return status ? status : fplt__document_table(to, lines, NULL, error);
}

fplt_status fplt__private_table_report(const fplt__private_table *table, fplt__form form,
                                       char **text, fplt_error *error)
{
    fplt__document to = {form, {NULL, 0, 0, FPLT_OK}};
    char note[400];
    fplt_status status = form == FPLT__FORM_CSV    ? add_lines(&to, table, error)
                         : form == FPLT__FORM_JSON ? fplt__document_json(&to, to_json(table), error)
                                                   : add_papers(&to, table, error);
    for (size_t i = 0; form != FPLT__FORM_CSV && form != FPLT__FORM_JSON && !status &&
                       write_note(table, i, note, sizeof note);
         i++)
        fplt__document_note(&to, note, !i);
    return fplt__document_take(&to, status, text, error);
}
