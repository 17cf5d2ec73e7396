/* The analysis `survival`: Kaplan-Meier curves and log-rank tests over the sites, from events and those who left in cells of a
 * grid of times. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "data/schema.h"
#include "federation/plan/analysis.h"
#include "study/survival_words.h"

static const fplt_setting table[] = {
    {"by", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column whose declared levels or classes are the strata, each with a curve of its own", 0, 0},
    {"grid", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "width of the cells of time in which sites count; sites under strict rules approve of another "
     "one",
     0, 0, .rule = "20 to 50 cells up to the bound that the schema declares"},
    FPLT_SETTINGS_END,
};

enum { WIDTH = 32 };

/* How the rows are counted; `read` and `width` belong to the caller. */
static fplt_survival_settings settings_of(const fplt__analysis *analysis, fplt_read_settings *read,
                                          char width[WIDTH])
{
    const char *grid = fplt_settings_text(analysis->settings, "grid");
    const fplt_schema *schema = analysis->schema;
    read->schema = schema;
    read->leave_out = 1;
    read->site = "none";
    *width = 0;
    if (!fplt_settings_is_auto(analysis->settings, "grid"))
        snprintf(width, WIDTH, "%s", grid);
    else if (fplt__schema_column(schema, FPLT__TIME))
        snprintf(width, WIDTH, "%.15g", fplt__survival_width(schema));
    return (fplt_survival_settings){.read = read,
                                    .by = fplt_settings_text(analysis->settings, "by"),
                                    .grid = width,
                                    .level = 0.95};
}

static fplt_status check_columns(const fplt__analysis *analysis, fplt_error *error)
{
    fplt_read_settings read = fplt_read_defaults();
    char width[WIDTH];
    fplt_survival_settings settings = settings_of(analysis, &read, width);
    return fplt__survival_check(&settings, error);
}

static uint64_t count_numbers(const fplt__analysis *analysis)
{
    fplt_read_settings read = fplt_read_defaults();
    char width[WIDTH];
    fplt_survival_settings settings = settings_of(analysis, &read, width);
    return fplt__survival_sent(&settings);
}

static uint64_t find_cost(const fplt__analysis *analysis, uint64_t rows, size_t minimum)
{
    fplt_read_settings read = fplt_read_defaults();
    char width[WIDTH];
    fplt_survival_settings settings = settings_of(analysis, &read, width);
    return fplt__survival_cost(&settings, rows, minimum);
}

/* Time and event, and the strata. */
static uint64_t count_columns(const fplt__analysis *analysis)
{
    return fplt_settings_text(analysis->settings, "by") ? 3 : 2;
}

static fplt_status take_curves(const fplt__analysis *analysis, const fplt_survival *survival,
                               fplt__analysis_counted *counted, fplt_error *error)
{
    size_t rows;
    fplt_status status = fplt__survival_aside(survival, &counted->aside, &rows, error);
    if (!status && rows != fplt_dataset_rows(counted->rows))
        status = fplt_error_set(error, FPLT_FAILED, "the rows of the data file are not known");
    if (!status)
        status = fplt__alloc_into(&counted->words, 2 * (size_t)count_numbers(analysis),
                                  sizeof *counted->words, "counts", error);
    if (status)
        return status;
    for (size_t r = 0; r < rows; r++)
        counted->records += !counted->aside[r];
    fplt__survival_export(survival, counted->words);
    return FPLT_OK;
}

static fplt_status count_rows(const fplt__analysis *analysis, const fplt__analysis_site *site,
                              fplt__analysis_counted *counted, fplt_error *error)
{
    fplt_read_settings read = site->read;
    char width[WIDTH];
    fplt_survival_settings settings = settings_of(analysis, &read, width);
    fplt_survival *survival = NULL;
    fplt_status status = fplt__analysis_read_lines(analysis, site, &counted->rows, error);
    settings.minimum = site->minimum;
    if (!status && !(status = fplt_survival_create(&site->path, 1, &settings, &survival, error)))
        status = take_curves(analysis, survival, counted, error);
    fplt_survival_destroy(survival);
    return status;
}

/* No picture where every curve is withheld. */
static fplt_status add_picture(const fplt_survival *survival, char **text, fplt_error *error)
{
    fplt__buffer svg = {NULL, 0, 0, FPLT_OK};
    int width, height;
    fplt_status status = fplt__survival_draw(survival, "survival", &svg, &width, &height, error);
    if (!status)
        return fplt__buffer_take(&svg, text, error);
    fplt__buffer_clear(&svg);
    return status == FPLT_BAD_VALUE ? FPLT_OK : status;
}

static fplt_status make_report(const fplt__analysis *analysis, const char *const *names,
                               const uint64_t *const *words, size_t sites,
                               fplt__analysis_report *report, fplt_error *error)
{
    static const fplt__form form[] = {FPLT__FORM_TEXT, FPLT__FORM_CSV, FPLT__FORM_JSON,
                                      FPLT__FORM_HTML, FPLT__FORM_LATEX};
    enum { FORMS = sizeof form / sizeof *form };
    fplt_read_settings read = fplt_read_defaults();
    char width[WIDTH];
    fplt_survival_settings settings = settings_of(analysis, &read, width);
    fplt_survival *survival;
    fplt_status status = fplt__survival_import(&settings, names, words, sites, &survival, error);
    for (size_t i = 0; i < FORMS && !status; i++)
        status = fplt__survival_report(survival, form[i], &report->text[i], error);
    if (!status)
        status = add_picture(survival, &report->text[FORMS], error);
    fplt_survival_destroy(survival);
    return status;
}

const fplt__analysis_kind fplt__analysis_survival = {
    .name = "survival",
    .tells = "each site tells how many of its rows have the event and how many leave in each cell "
             "of a grid of times, by stratum; cells with few of either are merged",
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
