/* fedplt evaluate: how good a model is, site by site. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "fedplt/assessment.h"
#include "fedplt/model.h"
#include "fedplt/read.h"
#include "fedplt/schema.h"
#include "report/model_access.h"
#include "report/report.h"
#include "report/score_grid.h"

static const fplt_setting table[] = {
    {"threshold", FPLT_REAL, FPLT_AUTO, "auto", 0, 1, NULL,
     "probability from which a row is called the second of two classes; auto: the more probable "
     "class",
     0, 0},
    {"details", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "also print the confusion matrix, each class, and how well probabilities are calibrated", 0, 0,
     .needs = "the model's task=binary|classes;json=no"},
    {"grid", FPLT_INTEGER, 0, NULL, FPLT__SCORE_GRID_MIN, FPLT__SCORE_GRID_MAX, NULL,
     "measure from counts in so many cells of probability, a multiple of 10, as `federation "
     "evaluate` does",
     0, 0, .needs = "the model's task=binary;details=no;threshold=auto"},
    {"minimum", FPLT_INTEGER, 0, "5", 0, 1000000, NULL,
     "rows of a class in a cell; cells with fewer are merged", 0, 0, .needs = "grid"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document with everything", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "data", cli_reading_table, error);
    if (!status)
        status = fplt_settings_add(settings, "data", cli_labelled_table, error);
    return status ? status : fplt_settings_add(settings, "output", table, error);
}

struct evaluation {
    const fplt_model_info *info;
    fplt__evaluation all;
};

/* Sites and all together, one line each. */
static fplt_status print_sites(const struct evaluation *evaluation, fplt_error *error)
{
    fplt_table *out;
    fplt_status status = fplt__quality_table(evaluation->all.dataset, evaluation->all.each,
                                             &evaluation->all.made.all, &out, error);
    if (status)
        return status;
    status = cli_print_table(out, error);
    if (!status && !isnan(evaluation->all.made.all.weight))
        puts("\nRows are weighted: every measure counts a row by its weight.");
    fplt_table_destroy(out);
    return status ? status : cli_print_filled(evaluation->all.dataset, error);
}

static fplt_status print_confusion(const struct evaluation *evaluation, fplt_error *error)
{
    const fplt_assessment *made = &evaluation->all.made;
    const char **columns = calloc(made->classes + 1, sizeof *columns);
    fplt_table *out;
    if (!columns)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a table");
    columns[0] = "is \\ called";
    for (uint32_t k = 0; k < made->classes; k++)
        columns[k + 1] = evaluation->info->class_names[k];
    fplt_status status = fplt__table_create(columns, made->classes + 1, &out, error);
    free(columns);
    if (status)
        return status;
    for (uint32_t k = 0; k < made->classes; k++) {
        fplt__table_text(out, evaluation->info->class_names[k]);
        for (uint32_t j = 0; j < made->classes; j++)
            if (made->confusion_weight)
                fplt__table_number(out, made->confusion_weight[k * made->classes + j], 6);
            else
                fplt__table_whole(out, (long long)made->confusion[k * made->classes + j]);
    }
    puts("");
    status = cli_print_table(out, error);
    fplt_table_destroy(out);
    return status;
}

static fplt_status print_classes(const struct evaluation *evaluation, fplt_error *error)
{
    static const char *const columns[] = {"class", "rows", "precision", "recall", "f1", "auc"};
    const fplt_assessment *made = &evaluation->all.made;
    fplt_table *out;
    fplt_status status = fplt__table_create(columns, 6, &out, error);
    if (status)
        return status;
    for (uint32_t k = 0; k < made->classes; k++) {
        fplt__table_text(out, evaluation->info->class_names[k]);
        fplt__table_whole(out, (long long)made->each[k].rows);
        fplt__table_number(out, made->each[k].precision, 4);
        fplt__table_number(out, made->each[k].recall, 4);
        fplt__table_number(out, made->each[k].f1, 4);
        fplt__table_number(out, made->each[k].auc, 4);
    }
    puts("");
    status = cli_print_table(out, error);
    fplt_table_destroy(out);
    return status;
}

static fplt_status print_calibration(const struct evaluation *evaluation, fplt_error *error)
{
    static const char *const columns[] = {"probability", "rows", "predicted", "observed"};
    fplt_table *out;
    if (!evaluation->all.made.calibrated)
        return FPLT_OK;
    fplt_status status = fplt__table_create(columns, 4, &out, error);
    if (status)
        return status;
    for (int b = 0; b < FPLT_CALIBRATION_BINS; b++) {
        const fplt_calibration_bin *bin = &evaluation->all.made.bin[b];
        char range[32];
        snprintf(range, sizeof range, "%.1f to %.1f", (double)b / FPLT_CALIBRATION_BINS,
                 (b + 1.0) / FPLT_CALIBRATION_BINS);
        fplt__table_text(out, range);
        fplt__table_whole(out, (long long)bin->rows);
        fplt__table_number(out, bin->predicted, 4);
        fplt__table_number(out, bin->observed, 4);
    }
    puts("");
    status = cli_print_table(out, error);
    fplt_table_destroy(out);
    return status;
}

static fplt_status print(const struct evaluation *evaluation, int details, fplt_error *error)
{
    fplt_status status = print_sites(evaluation, error);
    if (status || !details || !evaluation->all.made.classes)
        return status;
    if ((status = print_confusion(evaluation, error)) ||
        (status = print_classes(evaluation, error)))
        return status;
    return print_calibration(evaluation, error);
}

static fplt_status print_json(const struct evaluation *evaluation, const fplt_model *model,
                              fplt_error *error)
{
    char *text;
    fplt_status status = fplt_assessment_text(model, evaluation->all.dataset, evaluation->all.each,
                                              &evaluation->all.made, &text, error);
    if (!status)
        puts(text);
    fplt_free(text);
    return status;
}

static fplt_status assess(cli_call *cli, const fplt_model *model, struct evaluation *evaluation,
                          fplt_error *error)
{
    double threshold = fplt_settings_is_auto(cli->settings, "threshold")
                           ? NAN
                           : fplt_settings_real(cli->settings, "threshold");
    int json = fplt_settings_switch(cli->settings, "json");
    fplt_read_settings read;
    fplt_schema *schema;
    fplt_status status = cli_model_reading(cli, 1, &read, &schema, error);
    if (!status)
        status = fplt__model_evaluate_files(model, cli->arguments + 1, cli->argument_count - 1,
                                            &read, threshold, json, &evaluation->all, error);
    fplt_schema_destroy(schema);
    if (status)
        return status;
    return json ? print_json(evaluation, model, error)
                : print(evaluation, fplt_settings_switch(cli->settings, "details"), error);
}

static fplt_status assess_on_grid(cli_call *cli, const fplt_model *model, fplt_error *error)
{
    const fplt__score_grid grid = {.cells = (size_t)fplt_settings_integer(cli->settings, "grid"),
                                   .minimum =
                                       (size_t)fplt_settings_integer(cli->settings, "minimum")};
    fplt__grid_report report;
    fplt_dataset *dataset = NULL;
    fplt_status status = fplt__score_grid_check(model, grid.cells, error);
    if (!status)
        status = cli_model_data(cli, model, 1, &dataset, error);
    if (!status && !(status = fplt__score_grid_evaluate(&grid, model, dataset, &report, error))) {
        if (fplt_settings_switch(cli->settings, "json"))
            puts(report.json);
        else
            fputs(report.text, stdout);
        fplt__grid_report_clear(&report);
    }
    fplt_dataset_destroy(dataset);
    return status;
}

static fplt_status run_evaluate(cli_call *cli, fplt_error *error)
{
    struct evaluation evaluation = {.info = NULL};
    fplt_model *model = NULL;
    fplt_status status;
    if (!(status = fplt_model_read(cli->arguments[0], &model, error)) &&
        !(status = cli_learn(cli, "the model's task",
                             fplt_task_name(fplt_model_get_view(model)->task), error))) {
        evaluation.info = fplt_model_get_view(model);
        status = fplt_settings_given(cli->settings, "grid")
                     ? assess_on_grid(cli, model, error)
                     : assess(cli, model, &evaluation, error);
    }
    fplt__evaluation_clear(&evaluation.all);
    fplt_model_destroy(model);
    return status;
}

const cli_command cli_evaluate[] = {
    {.name = "evaluate",
     .summary = "loss, accuracy, AUC, calibration or RMSE of a model, per site and in all",
     .arguments = "MODEL DATA...",
     .about =
         "Measures a model on labelled data. Columns are found by their names, and what was done "
         "to the rows in training is done to them here. Several files are one site each. loss "
         "is the mean over the rows without the regulariser. Precision, recall, F1 and AUC are "
         "those of "
         "the second class, with more than two classes the mean over them, each against the rest; "
         "brier is the squared distance of the probabilities from what happened; deviance is that "
         "of "
         "counts and of gamma, concordance Harrell's C over pairs of one site. Where rows have "
         "weights, every "
         "measure counts a row by its weight, and the output says so. With --grid, all measures of "
         "a "
         "model of two classes come from counts in cells of probability, cells with fewer than "
         "--minimum rows of a class merged: AUC, accuracy and calibration then have bounds.",
     .examples = "fedplt evaluate fedplt-out/model.json hospitals.csv\n"
                 "fedplt evaluate fedplt-out/model.json hospitals.csv --details --threshold 0.3\n"
                 "fedplt evaluate fedplt-out/model.json test.csv --json\n"
                 "fedplt evaluate fedplt-out/model.json hospitals.csv --grid 100",
     .least = 2,
     .most = 1000000,
     .declare = declare,
     .run = run_evaluate},
    {.name = NULL},
};
