/* Table 1 as people read it, and line by line. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "report/report.h"
#include "study/table_one.h"

enum { DIGITS = 4 };

/* Groups side by side: strata of a site, or sites. */
struct side {
    size_t site, stratum;
};

static size_t sides_of(const fplt_description *table, size_t site, struct side *side, size_t room)
{
    size_t strata = fplt__table_one_strata(table), sites = fplt_description_sites(table), used = 0;
    size_t count = strata > 1 ? strata : sites > 2 ? sites : 1;
    for (size_t i = 0; i < count && used < room; i++)
        side[used++] = strata > 1 ? (struct side){site, i} : (struct side){i, 0};
    return used;
}

static void show_count(fplt_table *out, fplt__count count, fplt__count of)
{
    char text[120];
    int known = count.low == count.high, percent = known && of.low == of.high && of.low > 0;
    if (percent)
        snprintf(text, sizeof text, "%zu (%.1f)", count.low,
                 100 * (double)count.low / (double)of.low);
    else if (known)
        snprintf(text, sizeof text, "%zu", count.low);
    else
        snprintf(text, sizeof text, "%zu to %zu", count.low, count.high);
    fplt__table_text(out, text);
}

static fplt__count values_of(const fplt_description *table, size_t column, struct side side)
{
    fplt__count rows = fplt__table_one_rows(table, side.site, side.stratum);
    fplt__count missing = fplt__table_one_missing(table, column, side.site, side.stratum);
    size_t high = rows.high > missing.low ? rows.high - missing.low : 0;
    return (fplt__count){rows.low > missing.high ? rows.low - missing.high : 0, high};
}

static void begin_line(fplt_table *out, const char *column, const char *value)
{
    fplt__table_text(out, column);
    fplt__table_text(out, value);
}

static void print_numbers(const fplt_description *table, size_t c, const struct side *side,
                          size_t sides, int quartiles, fplt_table *out)
{
    for (size_t i = 0; i < sides; i++) {
        fplt__table_one_number number =
            fplt__table_one_numbers(table, c, side[i].site, side[i].stratum);
        char text[120];
        if (quartiles)
            snprintf(text, sizeof text, "%.*g [%.*g, %.*g]", DIGITS, number.quartile[1], DIGITS,
                     number.quartile[0], DIGITS, number.quartile[2]);
        else if (isnan(number.deviation))
            snprintf(text, sizeof text, "%.*g", DIGITS, number.mean);
        else
            snprintf(text, sizeof text, "%.*g (%.*g)", DIGITS, number.mean, DIGITS,
                     number.deviation);
        fplt__table_text(out, isnan(quartiles ? number.quartile[1] : number.mean) ? NULL : text);
    }
}

static void print_column(const fplt_description *table, size_t c, size_t site,
                         const struct side *side, size_t sides, int differs, fplt_table *out)
{
    const char *name = fplt__table_one_column(table, c);
    size_t levels = fplt__table_one_levels(table, c);
    double difference = fplt__table_one_difference(table, c, site);
    if (!levels) {
        begin_line(out, name, "mean (SD)");
        print_numbers(table, c, side, sides, 0, out);
        if (differs)
            fplt__table_number(out, difference, 3);
        begin_line(out, "", "median [quartiles]");
        print_numbers(table, c, side, sides, 1, out);
        if (differs)
            fplt__table_text(out, "");
    }
    for (size_t k = 0; k < levels; k++) {
        char text[1100];
        snprintf(text, sizeof text, "%s, n (%%)", fplt__table_one_level(table, c, k));
        begin_line(out, k ? "" : name, text);
        for (size_t i = 0; i < sides; i++)
            show_count(out, fplt__table_one_count(table, c, k, side[i].site, side[i].stratum),
                       values_of(table, c, side[i]));
        if (differs && k)
            fplt__table_text(out, "");
        else if (differs)
            fplt__table_number(out, difference, 3);
    }
    size_t missing = 0;
    for (size_t i = 0; i < sides; i++)
        missing += fplt__table_one_missing(table, c, side[i].site, side[i].stratum).high;
    if (!missing)
        return;
    begin_line(out, "", "missing");
    for (size_t i = 0; i < sides; i++)
        show_count(out, fplt__table_one_missing(table, c, side[i].site, side[i].stratum),
                   (fplt__count){0, 1});
    if (differs)
        fplt__table_text(out, "");
}

fplt_status fplt_description_paper(const fplt_description *table, size_t site, fplt_table **out,
                                   fplt_error *error)
{
    size_t room = fplt__table_one_strata(table) + fplt_description_sites(table);
    const char **heading;
    struct side *side;
    *out = NULL;
    fplt_status status =
        fplt__alloc_into(&side, room + 3, sizeof *side + sizeof *heading, "a table", error);
    if (status)
        return status;
    heading = (const char **)(side + room + 3);
    size_t sides = sides_of(table, site, side, room);
    int differs = sides > 2;
    heading[0] = "column";
    heading[1] = "value";
    for (size_t i = 0; i < sides; i++) {
        const char *stratum = fplt__table_one_stratum(table, side[i].stratum);
        const char *name = fplt_description_site(table, side[i].site);
        heading[i + 2] = fplt__table_one_strata(table) > 1 ? (stratum ? stratum : "all rows")
                         : name                            ? name
                                                           : "all";
    }
    heading[sides + 2] = "SMD";
    if (!(status = fplt__table_create(heading, sides + 2 + (size_t)differs, out, error))) {
        begin_line(*out, "rows", "");
        for (size_t i = 0; i < sides; i++)
            show_count(*out, fplt__table_one_rows(table, side[i].site, side[i].stratum),
                       (fplt__count){0, 1});
        if (differs)
            fplt__table_text(*out, "");
        for (size_t c = 0; c < fplt__table_one_columns(table); c++)
            print_column(table, c, site, side, sides, differs, *out);
    }
    fplt__free(side);
    return status;
}

/* ---- line by line ---- */

static void list_count(fplt_table *out, fplt__count count)
{
    fplt__table_whole(out, (long long)count.low);
    fplt__table_whole(out, (long long)count.high);
}

/* Rows with a value or level, low and high; then the percentage where it is known, or the numbers. */
static void list_line(const fplt_description *table, size_t c, size_t level, size_t site,
                      size_t stratum, fplt_table *out)
{
    size_t levels = fplt__table_one_levels(table, c);
    struct side side = {site, stratum};
    fplt__count values = values_of(table, c, side);
    fplt__count count = fplt__table_one_count(table, c, level, site, stratum);
    fplt__table_one_number number = fplt__table_one_numbers(table, c, site, stratum);
    double share = NAN;
    fplt__table_text(out, fplt__table_one_column(table, c));
    fplt__table_text(out, levels ? fplt__table_one_level(table, c, level) : NULL);
    fplt__table_text(out, fplt_description_site(table, site));
    fplt__table_text(out, fplt__table_one_stratum(table, stratum));
    list_count(out, fplt__table_one_rows(table, site, stratum));
    list_count(out, fplt__table_one_missing(table, c, site, stratum));
    if (levels && count.low == count.high && values.low == values.high && values.low)
        share = 100 * (double)count.low / (double)values.low;
    list_count(out, count);
    fplt__table_number(out, share, DIGITS);
    fplt__table_number(out, number.mean, DIGITS);
    fplt__table_number(out, number.deviation, DIGITS);
    for (int q = 0; q < 3; q++)
        fplt__table_number(out, number.quartile[q], DIGITS);
    fplt__table_number(out, number.resolution > 0 ? number.resolution : NAN, DIGITS);
    fplt__table_number(out, stratum ? NAN : fplt__table_one_difference(table, c, site), DIGITS);
}

fplt_status fplt_description_list(const fplt_description *table, fplt_table **out,
                                  fplt_error *error)
{
    static const char *const headings[] = {
        "column",      "level",        "site",      "stratum",        "rows low",   "rows high",
        "missing low", "missing high", "count low", "count high",     "percent",    "mean",
        "SD",          "quarter",      "median",    "three quarters", "resolution", "SMD"};
    size_t sites = fplt_description_sites(table), strata = fplt__table_one_strata(table);
    fplt_status status =
        fplt__table_create(headings, sizeof headings / sizeof *headings, out, error);
    for (size_t c = 0; !status && c < fplt__table_one_columns(table); c++)
        for (size_t s = sites > 2 ? 0 : 1; s < sites; s++)
            for (size_t k = 0; k < strata; k++) {
                size_t levels = fplt__table_one_levels(table, c);
                for (size_t level = 0; level < (levels ? levels : 1); level++)
                    list_line(table, c, level, s, k, *out);
            }
    return status;
}

/* ---- tables of two columns ---- */

fplt_status fplt__table_one_cross_print(const fplt_description *table, size_t index, size_t site,
                                        fplt_table **out, fplt_error *error)
{
    fplt__table_one_cross cross;
    const char **heading;
    char corner[600];
    *out = NULL;
    if (!fplt__table_one_cross_get(table, index, &cross))
        return fplt_error_set(error, FPLT_BAD_VALUE, "there is no such table");
    fplt_status status =
        fplt__alloc_into(&heading, cross.columns + 2, sizeof *heading, "a table", error);
    if (status)
        return status;
    snprintf(corner, sizeof corner, "%s \\ %s", cross.row, cross.column);
    heading[0] = corner;
    for (size_t j = 0; j < cross.columns; j++) {
        const char *level = fplt__table_one_cross_level(table, index, 1, j);
        heading[j + 1] = level ? level : "missing";
    }
    heading[cross.columns + 1] = "all";
    status = fplt__table_create(heading, cross.columns + 2, out, error);
    for (size_t i = 0; !status && i <= cross.rows; i++) {
        const char *level =
            i < cross.rows ? fplt__table_one_cross_level(table, index, 0, i) : "all";
        fplt__table_text(*out, level ? level : "missing");
        for (size_t j = 0; j <= cross.columns; j++)
            show_count(*out, fplt__table_one_cross_count(table, index, site, i, j),
                       (fplt__count){0, 1});
    }
    fplt__free(heading);
    return status;
}

fplt_status fplt_description_crosses(const fplt_description *table, fplt_table **out,
                                     fplt_error *error)
{
    static const char *const headings[] = {"row column", "column column", "site",      "row",
                                           "column",     "count low",     "count high"};
    fplt__table_one_cross cross;
    size_t sites = fplt_description_sites(table);
    fplt_status status = fplt__table_create(headings, 7, out, error);
    for (size_t index = 0; !status && fplt__table_one_cross_get(table, index, &cross); index++)
        for (size_t s = sites > 2 ? 0 : 1; s < sites; s++)
            for (size_t i = 0; i < cross.rows; i++)
                for (size_t j = 0; j < cross.columns; j++) {
                    fplt__table_text(*out, cross.row);
                    fplt__table_text(*out, cross.column);
                    fplt__table_text(*out, fplt_description_site(table, s));
                    fplt__table_text(*out, fplt__table_one_cross_level(table, index, 0, i));
                    fplt__table_text(*out, fplt__table_one_cross_level(table, index, 1, j));
                    list_count(*out, fplt__table_one_cross_count(table, index, s, i, j));
                }
    return status;
}
