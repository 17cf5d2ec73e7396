/* The analysis `describe`: Table 1 over the sites, from counts and sums of the columns that a schema declares. */
#include "base/memory.h"
#include "federation/plan/analysis.h"
#include "study/table_one_report.h"
#include "study/table_one_words.h"

static const fplt_setting table[] = {
    {"by", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column whose declared levels or classes are the strata that stand side by side", 0, 0},
    {"grid", FPLT_INTEGER, 0, FPLT__TABLE_ONE_GRID, FPLT__TABLE_ONE_GRID_MIN,
     FPLT__TABLE_ONE_GRID_MAX, NULL,
     "cells of equal width between the bounds of a column in which sites count numbers; sites "
     "under strict rules approve of another number than 20",
     0, 0},
    FPLT_SETTINGS_END,
};

/* How the columns are counted; `read` belongs to the caller. */
static fplt_describe_settings settings_of(const fplt__analysis *analysis, fplt_read_settings *read)
{
    read->schema = analysis->schema;
    read->leave_out = 1;
    read->site = "none";
    return (fplt_describe_settings){.read = read,
                                    .by = fplt_settings_text(analysis->settings, "by"),
                                    .cells = (uint32_t)fplt_settings_integer(analysis->settings,
                                                                             "grid")};
}

static fplt_status check_columns(const fplt__analysis *analysis, fplt_error *error)
{
    fplt_read_settings read = fplt_read_defaults();
    fplt_describe_settings settings = settings_of(analysis, &read);
    return fplt__table_one_check(&settings, error);
}

static uint64_t count_numbers(const fplt__analysis *analysis)
{
    fplt_read_settings read = fplt_read_defaults();
    fplt_describe_settings settings = settings_of(analysis, &read);
    return fplt__table_one_sent(&settings);
}

static uint64_t find_cost(const fplt__analysis *analysis, uint64_t rows, size_t minimum)
{
    fplt_read_settings read = fplt_read_defaults();
    fplt_describe_settings settings = settings_of(analysis, &read);
    return fplt__table_one_cost(&settings, rows, minimum);
}

static uint64_t count_columns(const fplt__analysis *analysis)
{
    fplt_read_settings read = fplt_read_defaults();
    fplt_describe_settings settings = settings_of(analysis, &read);
    return fplt__table_one_described(&settings);
}

static fplt_status count_rows(const fplt__analysis *analysis, const fplt__analysis_site *site,
                              fplt__analysis_counted *counted, fplt_error *error)
{
    fplt_read_settings read = site->read;
    fplt_describe_settings settings = settings_of(analysis, &read);
    fplt_description *made = NULL;
    fplt_status status = fplt__analysis_read_lines(analysis, site, &counted->rows, error);
    if (status)
        return status;
    settings.minimum = site->minimum;
    settings.dominant = site->dominant;
    counted->records = fplt_dataset_rows(counted->rows);
    if (!(status = fplt__alloc_into(&counted->words, 2 * (size_t)count_numbers(analysis),
                                    sizeof *counted->words, "counts", error)) &&
        !(status = fplt_describe(&site->path, 1, &settings, &made, error)))
        status = fplt__table_one_export(made, counted->words, error);
    fplt_description_destroy(made);
    return status;
}

static fplt_status make_report(const fplt__analysis *analysis, const char *const *names,
                               const uint64_t *const *words, size_t sites,
                               fplt__analysis_report *report, fplt_error *error)
{
    static const fplt__form form[] = {FPLT__FORM_TEXT, FPLT__FORM_CSV, FPLT__FORM_JSON,
                                      FPLT__FORM_HTML, FPLT__FORM_LATEX};
    fplt_read_settings read = fplt_read_defaults();
    fplt_describe_settings settings = settings_of(analysis, &read);
    fplt_description *made;
    fplt_status status = fplt__table_one_import(&settings, names, words, sites, &made, error);
    for (size_t i = 0; i < sizeof form / sizeof *form && !status; i++)
        status = fplt__table_one_report(made, form[i], &report->text[i], error);
    fplt_description_destroy(made);
    return status;
}

const fplt__analysis_kind fplt__analysis_describe = {
    .name = "describe",
    .tells = "each site tells how many of its rows have each declared level or lie in each cell of "
             "the grid, and the sums behind mean and deviation, by stratum",
    .table = table,
    .needs_schema = 1,
    .is_table = 1,
    .check = check_columns,
    .numbers = count_numbers,
    .cost = find_cost,
    .columns = count_columns,
    .count = count_rows,
    .report = make_report,
};
