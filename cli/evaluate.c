/* fedplt evaluate: how good a model is, site by site. */
#include <math.h>

#include "base/memory.h"
#include "cli.h"
#include "fedplt/model.h"

static const fplt_setting table[] = {
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "data", cli_reading_table, error);
    return status ? status : fplt_settings_add(settings, "output", table, error);
}

static void add_row(fplt_table *out, const char *name, uint32_t agent, const fplt_quality *quality,
                    int classifies)
{
    char number[16];
    snprintf(number, sizeof number, "%u", agent);
    fplt_table_text(out, name ? name : number);
    fplt_table_whole(out, (long long)quality->rows);
    fplt_table_number(out, quality->loss, 6);
    if (classifies) {
        fplt_table_number(out, quality->accuracy, 4);
        fplt_table_number(out, quality->auc, 4);
        fplt_table_number(out, quality->f1, 4);
    } else {
        fplt_table_number(out, quality->rmse, 6);
    }
}

static fplt_status report(const fplt_dataset *dataset, const fplt_quality *each,
                          const fplt_quality *all, int json, fplt_error *error)
{
    static const char *const classes[] = {"site", "rows", "loss", "accuracy", "auc", "f1"};
    static const char *const numbers[] = {"site", "rows", "loss", "rmse"};
    int classifies = fplt_task_classifies(fplt_dataset_task(dataset));
    fplt_table *out;
    uint32_t agents = fplt_dataset_agents(dataset);
    fplt_status status =
        fplt_table_create(classifies ? classes : numbers, classifies ? 6 : 4, &out, error);
    if (status)
        return status;
    for (uint32_t i = 0; agents > 1 && i < agents; i++)
        add_row(out, fplt_dataset_agent_name(dataset, i), i, &each[i], classifies);
    add_row(out, "all", 0, all, classifies);
    status = cli_print_table(out, json, error);
    fplt_table_destroy(out);
    return status;
}

static fplt_status run(cli_call *cli, fplt_error *error)
{
    fplt_model *model = NULL;
    fplt_dataset *dataset = NULL;
    fplt_quality *each = NULL, all;
    fplt_status status;
    if (!(status = fplt_model_read(cli->arguments[0], &model, error)) &&
        !(status = cli_model_data(cli, model, 1, &dataset, error)) &&
        !(status = fplt__alloc_into(&each, fplt_dataset_agents(dataset), sizeof *each,
                                    "the measures", error)) &&
        !(status = fplt_model_evaluate(model, dataset, each, &all, error)))
        status = report(dataset, each, &all, fplt_settings_switch(cli->settings, "json"), error);
    fplt__free(each);
    fplt_dataset_destroy(dataset);
    fplt_model_destroy(model);
    return status;
}

const cli_command cli_evaluate[] = {
    {.name = "evaluate",
     .summary = "loss, accuracy, AUC, F1 or RMSE of a model, per site and in all",
     .arguments = "MODEL DATA...",
     .about =
         "Measures a model on labelled data. Columns are found by their names, and what was done "
         "to the rows in training is done to them here. Several files are one site each. loss "
         "is the mean over the rows without the regulariser; F1 is that of the second class, "
         "with more than two classes the mean over them.",
     .examples = "fedplt evaluate fedplt-out/model.json hospitals.csv\n"
                 "fedplt evaluate model.json test.csv --label b --json",
     .least = 2,
     .most = 1000000,
     .declare = declare,
     .run = run},
    {.name = NULL},
};
