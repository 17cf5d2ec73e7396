/* The analysis `evaluate`: how good a model of two classes is, from counts of its probabilities on a grid. */
#include <string.h>

#include "base/memory.h"
#include "fedplt/data.h"
#include "federation/plan/analysis.h"
#include "report/score_grid.h"

static const fplt_setting table[] = {
    {"grid", FPLT_INTEGER, 0, "100", FPLT__SCORE_GRID_MIN, FPLT__SCORE_GRID_MAX, NULL,
     "cells of probability in which sites count their rows, a multiple of 10; sites under strict "
     "rules approve of another number than 100",
     0, 0},
    FPLT_SETTINGS_END,
};

static size_t cells_of(const fplt__analysis *analysis)
{
    return (size_t)fplt_settings_integer(analysis->settings, "grid");
}

static fplt_status check_model(const fplt__analysis *analysis, fplt_error *error)
{
    return fplt__score_grid_check(analysis->model, cells_of(analysis), error);
}

static uint64_t count_numbers(const fplt__analysis *analysis)
{
    return fplt__score_grid_numbers(cells_of(analysis));
}

/* Every cell that is told has at least the minimum of rows; besides the sums. */
static uint64_t find_cost(const fplt__analysis *analysis, uint64_t rows, size_t minimum)
{
    uint64_t cells = 2 * (uint64_t)cells_of(analysis), sums = count_numbers(analysis) - cells,
             most = rows / (minimum > 1 ? minimum : 1);
    return sums + (cells < most ? cells : most);
}

static uint64_t count_columns(const fplt__analysis *analysis)
{
    return fplt_model_get_view(analysis->model)->features;
}

static fplt_status count_rows(const fplt__analysis *analysis, const fplt__analysis_site *site,
                              fplt__analysis_counted *counted, fplt_error *error)
{
    const fplt__score_grid grid = {.cells = cells_of(analysis),
                                   .minimum = site->minimum,
                                   .dominant = site->dominant,
                                   .steep = site->steep,
                                   .saturated = site->saturated};
    fplt_status status =
        fplt_model_dataset(analysis->model, &site->path, 1, &site->read, 1, &counted->rows, error);
    if (status)
        return status;
    counted->records = fplt_dataset_rows(counted->rows);
    if (!(status = fplt__alloc_into(&counted->words, 2 * (size_t)count_numbers(analysis),
                                    sizeof *counted->words, "counts", error)))
        status =
            fplt__score_grid_count(&grid, analysis->model, counted->rows, 0, counted->words, error);
    return status;
}

static fplt_status make_report(const fplt__analysis *analysis, const char *const *names,
                               const uint64_t *const *words, size_t sites,
                               fplt__analysis_report *made, fplt_error *error)
{
    fplt__grid_report found;
    fplt_status status =
        fplt__score_grid_report(cells_of(analysis), names, words, sites, &found, error);
    if (!status) {
        made->text[0] = found.text;
        made->text[1] = found.csv;
        made->text[2] = found.json;
    }
    return status;
}

const fplt__analysis_kind fplt__analysis_evaluate = {
    .name = "evaluate",
    .tells = "each site tells how many rows of each class have which probability, in cells of the "
             "grid, and sums of losses",
    .table = table,
    .needs_model = 1,
    .is_table = 1,
    .check = check_model,
    .numbers = count_numbers,
    .cost = find_cost,
    .columns = count_columns,
    .count = count_rows,
    .report = make_report,
};
