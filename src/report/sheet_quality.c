/* The part of a page that says how good a model is: sites, ROC, calibration, confusion. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "report/html.h"
#include "report/report.h"
#include "report/sheet.h"
#include "report/quality.h"

static int is_known(const json_t *all, const fplt__quality_measure *measure)
{
    return json_is_number(json_object_get(all, measure->name));
}

static void add_site(fplt_table *table, const json_t *site, const json_t *all)
{
    const fplt__quality_measure *measure;
    fplt__table_text(table, fplt__sheet_text(json_object_get(site, "site")));
    fplt__table_whole(table, (long long)json_integer_value(json_object_get(site, "rows")));
    for (size_t i = 0; (measure = fplt__quality_measure_at(i)); i++)
        if (is_known(all, measure))
            fplt__table_number(table, fplt__sheet_number(json_object_get(site, measure->name)),
                               measure->digits);
}

static fplt_status add_sites(const fplt__sheet *page, fplt_error *error)
{
    const json_t *all = json_object_get(page->evaluation, "all");
    const json_t *sites = json_object_get(page->evaluation, "sites");
    const char *columns[32] = {"site", "rows"};
    const fplt__quality_measure *measure;
    size_t count = 2;
    fplt_table *table;
    for (size_t i = 0; (measure = fplt__quality_measure_at(i)) && count < 32; i++)
        if (is_known(all, measure))
            columns[count++] = measure->name;
    fplt_status status = fplt__table_create(columns, count, &table, error);
    if (status)
        return status;
    for (size_t i = 0; json_array_size(sites) > 1 && i < json_array_size(sites); i++)
        add_site(table, json_array_get(sites, i), all);
    add_site(table, all, all);
    return fplt__sheet_table(page, table, error);
}

/* Two members of the objects of an array as a curve. */
static fplt_status take_curve(const json_t *points, const char *x, const char *y, double **room,
                              fplt__series *curve, fplt_error *error)
{
    size_t count = json_array_size(points);
    fplt_status status = fplt__alloc_into(room, 2 * count, sizeof **room, "a curve", error);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        (*room)[i] = fplt__sheet_number(json_object_get(json_array_get(points, i), x));
        (*room)[count + i] = fplt__sheet_number(json_object_get(json_array_get(points, i), y));
    }
    curve->x = *room;
    curve->y = *room + count;
    curve->count = count;
    return FPLT_OK;
}

static fplt_status add_unit_chart(const fplt__sheet *page, const char *member, const char *x,
                                  const char *y, const fplt__plot *about, int dots,
                                  fplt_error *error)
{
    const json_t *points = json_object_get(page->evaluation, member);
    fplt__series curve = {"", NULL, NULL, 0};
    fplt__plot plot = *about;
    double *room;
    if (!json_array_size(points))
        return FPLT_OK;
    fplt_status status = take_curve(points, x, y, &room, &curve, error);
    if (status)
        return status;
    plot.series = &curve;
    plot.count = 1;
    fplt__buffer_format(page->out, "<figure id=\"%s\">\n", member);
    fplt__chart_curves(page->out, &plot, &(fplt__chart_frame){.unit = 1, .dots = dots});
    fplt__buffer_add(page->out, "<figcaption>");
    fplt__html_text(page->out, plot.title);
    fplt__buffer_add(page->out, "</figcaption></figure>\n");
    fplt__free(room);
    return FPLT_OK;
}

static fplt_status add_charts(const fplt__sheet *page, fplt_error *error)
{
    double area = fplt__sheet_number(fplt__sheet_find(page->evaluation, "all", "auc", NULL));
    double brier = fplt__sheet_number(fplt__sheet_find(page->evaluation, "all", "brier", NULL));
    char title[160];
    snprintf(title, sizeof title, "ROC curve, area %.4g; the dashed line is a coin", area);
    fplt__plot roc = {
        .title = title, .x_label = "false positive rate", .y_label = "true positive rate"};
    fplt__buffer_add(page->out, "<div class=\"pair\">\n");
    fplt_status status =
        add_unit_chart(page, "roc", "false_positive", "true_positive", &roc, 0, error);
    snprintf(title, sizeof title,
             "Calibration, Brier score %.4g; on the dashed line what is said is what happens",
             brier);
    fplt__plot calibration = {
        .title = title, .x_label = "predicted probability", .y_label = "observed share"};
    if (!status)
        status =
            add_unit_chart(page, "calibration", "predicted", "observed", &calibration, 1, error);
    fplt__buffer_add(page->out, "</div>\n");
    return status;
}

static fplt_status add_confusion(const fplt__sheet *page, fplt_error *error)
{
    enum { MAX = 30 };
    const json_t *counts = json_object_get(page->evaluation, "confusion");
    const fplt_model_info *info = fplt_model_get_view(page->model);
    const char *columns[MAX + 1] = {"is \\ called"};
    fplt_table *table;
    if (!info->classes || info->classes > MAX || json_array_size(counts) != info->classes)
        return FPLT_OK;
    for (uint32_t k = 0; k < info->classes; k++)
        columns[k + 1] = info->class_names[k];
    fplt_status status = fplt__table_create(columns, info->classes + 1, &table, error);
    if (status)
        return status;
    for (uint32_t k = 0; k < info->classes; k++) {
        fplt__table_text(table, info->class_names[k]);
        for (uint32_t j = 0; j < info->classes; j++)
            fplt__table_whole(table, (long long)json_integer_value(
                                         json_array_get(json_array_get(counts, k), j)));
    }
    fplt__buffer_add(page->out, "<h3>Confusion</h3>\n");
    return fplt__sheet_table(page, table, error);
}

/* The measures of rows that were held out, in a sentence before all others. */
static void add_held_out(const fplt__sheet *page)
{
    static const char *const keys[][2] = {{"accuracy", "accuracy"},
                                          {"auc", "AUC"},
                                          {"brier", "Brier score"},
                                          {"rmse", "RMSE"},
                                          {"r2", "R²"}};
    const json_t *held_out = json_object_get(page->record, "held_out");
    double rows =
        fplt__sheet_number(fplt__sheet_find(page->record, "problem", "held_out_rows", NULL));
    int some = 0;
    for (size_t i = 0; held_out && i < sizeof keys / sizeof *keys; i++) {
        double value = fplt__sheet_number(json_object_get(held_out, keys[i][0]));
        if (isnan(value))
            continue;
        if (!some++)
            fplt__buffer_format(page->out,
                                "<p>On %.0f rows that were held out from the training: ", rows);
        fplt__buffer_format(page->out, "%s%s %.4g", some > 1 ? ", " : "", keys[i][1], value);
    }
    if (some)
        fplt__buffer_add(page->out, ".</p>\n");
}

/* Those of `fedplt validate`. */
static void add_validated(const fplt__sheet *page, const json_t *validated)
{
    double quality = fplt__sheet_number(json_object_get(validated, "quality"));
    int by_sites = strcmp(fplt__sheet_text(json_object_get(validated, "by")), "sites") == 0;
    if (!validated)
        return;
    fplt__buffer_format(page->out, "<p id=\"validated\">Cross-validated, %.0f folds (%s): ",
                        fplt__sheet_number(json_object_get(validated, "folds")),
                        by_sites ? "one site left out in turn" : "rows of every site");
    if (!isnan(quality)) {
        fplt__html_text(page->out, fplt__sheet_text(json_object_get(validated, "measure")));
        fplt__buffer_format(page->out, " %.4g, ", quality);
    }
    fplt__buffer_format(page->out, "loss %.4g (standard error %.3g).</p>\n",
                        fplt__sheet_number(json_object_get(validated, "loss")),
                        fplt__sheet_number(json_object_get(validated, "std_error")));
}

fplt_status fplt__sheet_quality(const fplt__sheet *page, fplt_error *error)
{
    const json_t *validated = json_object_get(page->record, "validated");
    if (!page->evaluation && !validated)
        return FPLT_OK;
    fplt__sheet_section(page, "quality", "How good it is");
    add_held_out(page);
    add_validated(page, validated);
    if (!page->evaluation) {
        fplt__buffer_add(page->out, "</section>\n");
        return FPLT_OK;
    }
    if (page->given->evaluated_on) {
        if (fplt__sheet_shows_training_rows(page))
            fplt__buffer_add(page->out, "<h3>On training rows</h3>\n");
        fplt__buffer_add(page->out, "<p>Measured on ");
        fplt__html_text(page->out, page->given->evaluated_on);
        fplt__buffer_add(page->out,
                         fplt__sheet_shows_training_rows(page)
                             ? ". The model was trained on rows of this file, which makes "
                               "the measures below too good.</p>\n"
                             : ".</p>\n");
    }
    fplt_status status = add_sites(page, error);
    if (!status)
        status = add_charts(page, error);
    if (!status)
        status = add_confusion(page, error);
    fplt__buffer_add(page->out, "</section>\n");
    return status;
}
