/* Quality on a grid, for people and as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "fedplt/memory.h"
#include "report/report.h"
#include "report/score_grid.h"
#include "report/table.h"

/* A number where both bounds agree in the digits that are shown; empty: withheld. */
static void show_bounds(fplt__bounds bounds, char *text, size_t size)
{
    char high[32];
    text[0] = high[0] = '\0';
    if (isfinite(bounds.low))
        snprintf(text, size, "%.4f", bounds.low);
    if (isfinite(bounds.high))
        snprintf(high, sizeof high, "%.4f", bounds.high);
    if (strcmp(text, high) != 0)
        snprintf(text + strlen(text), size - strlen(text), " to %s", high);
}

static void add_row(fplt_table *table, const char *name, const fplt__grid_quality *quality)
{
    char text[80];
    fplt__table_text(table, name);
    fplt__table_whole(table, (long long)quality->rows);
    fplt__table_number(table, quality->loss, 6);
    fplt__table_number(table, quality->brier, 4);
    fplt__table_number(table, quality->predicted, 4);
    fplt__table_number(table, quality->observed, 4);
    show_bounds(quality->accuracy, text, sizeof text);
    fplt__table_text(table, text);
    show_bounds(quality->auc, text, sizeof text);
    fplt__table_text(table, text);
}

static fplt_status site_table(const char *const *names, size_t sites,
                              const fplt__grid_quality *each, const fplt__grid_quality *all,
                              fplt_table **table, fplt_error *error)
{
    static const char *const columns[] = {"site",      "rows",     "loss",     "brier",
                                          "predicted", "observed", "accuracy", "auc"};
    fplt_status status =
        fplt__table_create(columns, sizeof columns / sizeof *columns, table, error);
    if (status)
        return status;
    for (size_t i = 0; i < sites; i++)
        add_row(*table, names[i], &each[i]);
    add_row(*table, "all", all);
    return FPLT_OK;
}

static void show_rows(fplt__bounds rows, char *text, size_t size)
{
    if (isnan(rows.low))
        *text = 0;
    else if (rows.low == rows.high)
        snprintf(text, size, "%.0f", rows.low);
    else
        snprintf(text, size, "%.0f to %.0f", rows.low, rows.high);
}

static fplt_status calibration_table(const fplt__grid_quality *all, fplt_table **table,
                                     fplt_error *error)
{
    static const char *const columns[] = {"probability", "rows", "observed"};
    fplt_status status = fplt__table_create(columns, 3, table, error);
    char text[80];
    for (int b = 0; b < FPLT__SCORE_GRID_BINS && !status; b++) {
        snprintf(text, sizeof text, "%.1f to %.1f", (double)b / FPLT__SCORE_GRID_BINS,
                 (b + 1.0) / FPLT__SCORE_GRID_BINS);
        fplt__table_text(*table, text);
        show_rows(all->bin[b].rows, text, sizeof text);
        fplt__table_text(*table, text);
        show_bounds(all->bin[b].observed, text, sizeof text);
        fplt__table_text(*table, text);
    }
    return status;
}

/* JSON */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *bounds_json(fplt__bounds bounds)
{
    return json_pack("{s:o, s:o}", "low", number(bounds.low), "high", number(bounds.high));
}

static json_t *bins_json(const fplt__grid_quality *quality)
{
    json_t *made = json_array();
    for (int b = 0; b < FPLT__SCORE_GRID_BINS; b++)
        json_array_append_new(made, json_pack("{s:f, s:f, s:o, s:o}", "from",
                                              (double)b / FPLT__SCORE_GRID_BINS, "to",
                                              (b + 1.0) / FPLT__SCORE_GRID_BINS, "rows",
                                              bounds_json(quality->bin[b].rows), "observed",
                                              bounds_json(quality->bin[b].observed)));
    return made;
}

static json_t *quality_json(const char *name, const fplt__grid_quality *quality)
{
    json_t *withheld = json_array();
    if (!quality->has_sums)
        json_array_append_new(withheld, json_string("sums"));
    if (!quality->has_classes)
        json_array_append_new(withheld, json_string("classes"));
    return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "site", name,
                     "rows", (json_int_t)quality->rows, "minimum", (json_int_t)quality->minimum,
                     "loss", number(quality->loss), "brier", number(quality->brier), "predicted",
                     number(quality->predicted), "observed", number(quality->observed), "accuracy",
                     bounds_json(quality->accuracy), "auc", bounds_json(quality->auc),
                     "calibration", bins_json(quality), "withheld", withheld);
}

static json_t *document_of(size_t cells, const char *const *names, size_t sites,
                           const fplt__grid_quality *each, const fplt__grid_quality *all)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sites; i++)
        json_array_append_new(list, quality_json(names[i], &each[i]));
    return json_pack("{s:I, s:f, s:o, s:o}", "grid", (json_int_t)cells, "resolution",
                     1 / (double)cells, "sites", list, "all", quality_json("all", all));
}

/* CSV */

static void add_csv_row(fplt_table *table, const char *name, const fplt__grid_quality *quality)
{
    const double values[] = {quality->loss,     quality->brier,        quality->predicted,
                             quality->observed, quality->accuracy.low, quality->accuracy.high,
                             quality->auc.low,  quality->auc.high};
    fplt__table_text(table, name);
    fplt__table_whole(table, (long long)quality->rows);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        fplt__table_number(table, values[i], 6);
}

static fplt_status write_csv(const char *const *names, size_t sites, const fplt__grid_quality *each,
                             const fplt__grid_quality *all, char **out, fplt_error *error)
{
    static const char *const columns[] = {"site",      "rows",     "loss",         "brier",
                                          "predicted", "observed", "accuracy_low", "accuracy_high",
                                          "auc_low",   "auc_high"};
    fplt_table *table;
    fplt_status status =
        fplt__table_create(columns, sizeof columns / sizeof *columns, &table, error);
    if (status)
        return status;
    for (size_t i = 0; i < sites; i++)
        add_csv_row(table, names[i], &each[i]);
    add_csv_row(table, "all", all);
    status = fplt_table_render(table, FPLT_TABLE_CSV, out, error);
    fplt_table_destroy(table);
    return status;
}

/* All */

static fplt_status add_table(fplt__buffer *text, fplt_table *table, fplt_error *error)
{
    char *rendered;
    fplt_status status = fplt_table_render(table, FPLT_TABLE_ALIGNED, &rendered, error);
    if (!status)
        fplt__buffer_add(text, rendered);
    fplt_free(rendered);
    return status;
}

/* The sites that withheld something, with a comma between them. */
static void list_withheld(const char *const *names, size_t sites, const fplt__grid_quality *each,
                          int sums, fplt__buffer *text)
{
    size_t found = 0;
    for (size_t i = 0; i < sites; i++)
        if (!(sums ? each[i].has_sums : each[i].has_classes))
            fplt__buffer_format(text, "%s%s", found++ ? ", " : "", names[i]);
}

static void add_notes(size_t cells, const char *const *names, size_t sites,
                      const fplt__grid_quality *each, const fplt__grid_quality *all,
                      fplt__buffer *text)
{
    fplt__buffer_format(text, "\nProbabilities on a grid of %zu cells of %g", cells,
                        1 / (double)cells);
    if (all->minimum > 1)
        fplt__buffer_format(text, "; cells with fewer than %llu rows of a class are merged",
                            (unsigned long long)all->minimum);
    fplt__buffer_add(text, ". `a to b` are bounds.\n");
    if (!all->has_classes) {
        fplt__buffer_add(text, "Classes withheld, because one has too few rows, or the model "
                               "is too steep: ");
        list_withheld(names, sites, each, 0, text);
        fplt__buffer_add(text, ".\n");
    }
    if (!all->has_sums) {
        fplt__buffer_add(text, "Sums withheld, because one row dominates them, or the model is "
                               "too steep: ");
        list_withheld(names, sites, each, 1, text);
        fplt__buffer_add(text, ".\n");
    }
}

static fplt_status write_text(size_t cells, const char *const *names, size_t sites,
                              const fplt__grid_quality *each, const fplt__grid_quality *all,
                              char **out, fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt_table *table = NULL;
    fplt_status status = site_table(names, sites, each, all, &table, error);
    if (!status)
        status = add_table(&text, table, error);
    fplt_table_destroy(table);
    table = NULL;
    if (!status && all->has_classes) {
        fplt__buffer_add(&text, "\n");
        if (!(status = calibration_table(all, &table, error)))
            status = add_table(&text, table, error);
        fplt_table_destroy(table);
    }
    if (!status)
        add_notes(cells, names, sites, each, all, &text);
    if (!status)
        return fplt__buffer_take(&text, out, error);
    fplt__buffer_clear(&text);
    return status;
}

void fplt__grid_report_clear(fplt__grid_report *report)
{
    fplt_free(report->text);
    fplt_free(report->json);
    fplt_free(report->csv);
    *report = (fplt__grid_report){NULL, NULL, NULL};
}

fplt_status fplt__score_grid_report(size_t cells, const char *const *names,
                                    const uint64_t *const *words, size_t sites,
                                    fplt__grid_report *report, fplt_error *error)
{
    fplt__grid_quality *each, all;
    size_t bad;
    *report = (fplt__grid_report){NULL, NULL, NULL};
    fplt_status status = fplt__alloc_into(&each, sites, sizeof *each, "the sites", error);
    if (status)
        return status;
    status = fplt__score_grid_settle(cells, words, sites, each, &all, &bad, error);
    if (status == FPLT_BAD_DATA)
        fplt_error_prefix(error, "%s", names[bad]);
    if (!status)
        status = write_text(cells, names, sites, each, &all, &report->text, error);
    if (!status)
        status =
            fplt__json_write(document_of(cells, names, sites, each, &all), &report->json, error);
    if (!status)
        status = write_csv(names, sites, each, &all, &report->csv, error);
    fplt__free(each);
    if (status)
        fplt__grid_report_clear(report);
    return status;
}

fplt_status fplt__score_grid_evaluate(const fplt__score_grid *grid, const fplt_model *model,
                                      const fplt_dataset *dataset, fplt__grid_report *report,
                                      fplt_error *error)
{
    size_t sites = fplt_dataset_agents(dataset), each = 2 * fplt__score_grid_numbers(grid->cells);
    uint64_t *words = NULL;
    const uint64_t **site = NULL;
    const char **names = NULL;
    char(*numbers)[16] = NULL;
    const char *what = "the sites";
    fplt_status status;
    *report = (fplt__grid_report){NULL, NULL, NULL};
    if ((status = fplt__alloc_into(&words, sites * each, sizeof *words, what, error)) ||
        (status = fplt__alloc_into(&site, sites, sizeof *site, what, error)) ||
        (status = fplt__alloc_into(&names, sites, sizeof *names, what, error)) ||
        (status = fplt__alloc_into(&numbers, sites, sizeof *numbers, what, error)))
        goto end;
    for (uint32_t i = 0; i < sites && !status; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%u", i);
        names[i] = fplt_dataset_agent_name(dataset, i);
        names[i] = names[i] ? names[i] : numbers[i];
        site[i] = words + i * each;
        status = fplt__score_grid_count(grid, model, dataset, i, words + i * each, error);
    }
    if (!status)
        status = fplt__score_grid_report(grid->cells, names, site, sites, report, error);
end:
    fplt__free(numbers);
    fplt__free(names);
    fplt__free(site);
    fplt__free(words);
    return status;
}
