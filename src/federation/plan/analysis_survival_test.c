/* The analysis `survival-test`: whether the hazards of a Cox model are proportional, from sums over the events of every site. */
#include <string.h>

#include "base/memory.h"
#include "fedplt/data.h"
#include "federation/plan/analysis.h"
#include "study/hazard_words.h"

static const fplt_setting table[] = {
    {"transform", FPLT_CHOICE, 0, "identity", 0, 0, "identity|log",
     "how time enters: itself or its logarithm; ranks and Kaplan-Meier estimates would need the "
     "times of all sites",
     0, 0},
    {"each-column", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "one line for each column; no: the levels of a category go together", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_hazard_transform transform_of(const fplt__analysis *analysis)
{
    return strcmp(fplt_settings_text(analysis->settings, "transform"), "log") == 0
               ? FPLT_HAZARD_LOG
               : FPLT_HAZARD_IDENTITY;
}

static fplt_status check_model(const fplt__analysis *analysis, fplt_error *error)
{
    return fplt__hazard_test_check(analysis->model, error);
}

static uint64_t count_columns(const fplt__analysis *analysis)
{
    return fplt_model_get_view(analysis->model)->features;
}

static uint64_t count_numbers(const fplt__analysis *analysis)
{
    return fplt__hazard_sent((size_t)count_columns(analysis));
}

/* Sums over all rows, however many they are. */
static uint64_t find_cost(const fplt__analysis *analysis, uint64_t rows, size_t minimum)
{
    (void)rows;
    (void)minimum;
    return fplt__hazard_cost((size_t)count_columns(analysis));
}

static fplt_status count_rows(const fplt__analysis *analysis, const fplt__analysis_site *site,
                              fplt__analysis_counted *counted, fplt_error *error)
{
    const fplt__hazard_rules rules = {.minimum = site->minimum,
                                      .per_parameter = site->per_parameter,
                                      .dominant = site->dominant,
                                      .steep = site->steep,
                                      .saturated = site->saturated};
    fplt_status status =
        fplt_model_dataset(analysis->model, &site->path, 1, &site->read, 1, &counted->rows, error);
    if (status)
        return status;
    counted->records = fplt_dataset_rows(counted->rows);
    if ((status = fplt__alloc_into(&counted->words, 2 * (size_t)count_numbers(analysis),
                                   sizeof *counted->words, "sums", error)))
        return status;
    const fplt_rows rows = fplt_dataset_all(counted->rows);
    return fplt__hazard_export(analysis->model, &rows, transform_of(analysis), &rules,
                               counted->words, error);
}

static fplt_status make_report(const fplt__analysis *analysis, const char *const *names,
                               const uint64_t *const *words, size_t sites,
                               fplt__analysis_report *report, fplt_error *error)
{
    static const fplt__form form[] = {FPLT__FORM_TEXT, FPLT__FORM_CSV, FPLT__FORM_JSON,
                                      FPLT__FORM_HTML, FPLT__FORM_LATEX};
    fplt__hazard_tests tests = {.table = NULL};
    fplt_status status =
        fplt__hazard_import(analysis->model, transform_of(analysis),
                            fplt_settings_switch(analysis->settings, "each-column"), names, words,
                            sites, &tests, error);
    for (size_t i = 0; i < sizeof form / sizeof *form && !status; i++)
        status = fplt__hazard_tests_report(&tests, form[i], &report->text[i], error);
    fplt__hazard_tests_clear(&tests);
    return status;
}

const fplt__analysis_kind fplt__analysis_survival_test = {
    .name = "survival-test",
    .tells = "each site tells sums over its events: the columns less their means over those at "
             "risk, their variances, and both times the time of the event",
    .table = table,
    .needs_model = 1,
    .takes_refit = 1,
    .check = check_model,
    .numbers = count_numbers,
    .cost = find_cost,
    .columns = count_columns,
    .parameters = count_columns,
    .count = count_rows,
    .report = make_report,
};
