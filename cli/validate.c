/* fedplt validate: cross-validation, the value it picks, and a refit with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "fedplt/ranks.h"
#include "fedplt/validate.h"
#include "progress.h"
#include "base/settings.h"
#include "base/text.h"
#include "job/job.h"
#include "report/model_access.h"
#include "report/report.h"

enum { MAX_VALUES = 100 };

static const fplt_setting table[] = {
    {"search", FPLT_CHOICE, 0, "eps", 0, 0, "eps|h-weight", "the setting that is searched", 0, 0},
    {"grid", FPLT_REAL, FPLT_LIST, "0.0001,0.001,0.01,0.1,1", 0, HUGE_VAL, NULL,
     "its values, separated by commas", 0, 0},
    {"by", FPLT_CHOICE, 0, "rows", 0, 0, "rows|sites",
     "rows: every site's rows are dealt out into folds; sites: each site is left out in turn", 0,
     0},
    {"folds", FPLT_INTEGER, 0, "5", 2, 1000, NULL, "parts that each site's rows are dealt into", 0,
     0, .needs = "by=rows"},
    {"out", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "folder for model.json, trained on all rows with the chosen value, validation.csv and "
     "folds.csv",
     0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    {"quiet", FPLT_SWITCH, 0, "no", 0, 0, NULL, "show no progress", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt__setting_need needs[] = {
    {"holdout", NULL, "by and folds say which rows are held out"},
    {"eps", "search!=eps", NULL},
    {"h-weight", "search!=h-weight", NULL},
    {"t-gradient", "epochs=auto,algorithm=auto,out", NULL}, /* a model's record has the time */
    {"t-communication", "epochs=auto,algorithm=auto,out", NULL},
    {NULL, NULL, NULL},
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = fplt_settings_add(settings, "validation", table, error);
    return status ? status : cli_declare_trainer(cli, settings, error);
}

static fplt_status read_grid(const fplt_settings *settings, double *values, size_t *count,
                             fplt_error *error)
{
    char item[64];
    *count = 0;
    for (const char *rest = fplt_settings_text(settings, "grid"); *rest; (*count)++) {
        rest = fplt__list_next(rest, item, sizeof item);
        if (*count == MAX_VALUES)
            return fplt_error_set(error, FPLT_BAD_VALUE, "grid has more than %d values",
                                  MAX_VALUES);
        if (fplt__parse_real(item, &values[*count]))
            return fplt_error_set(error, FPLT_BAD_VALUE, "grid has '%s', which is no number", item);
    }
    return FPLT_OK;
}

static fplt_status make_table(const fplt_validation *made, const char *name, fplt_table **out,
                              fplt_error *error)
{
    const char *columns[] = {name, "loss", "std_error", made->quality, "remark"};
    fplt_status status = fplt__table_create(columns, 5, out, error);
    for (size_t v = 0; !status && v < made->count; v++) {
        const fplt_validate_point *point = &made->point[v];
        fplt__table_number(*out, point->value, 6);
        fplt__table_number(*out, point->loss, 6);
        fplt__table_number(*out, point->error, 3);
        fplt__table_number(*out, point->quality, 5);
        fplt__table_text(*out, v == made->chosen && v == made->best ? "least loss, chosen"
                               : v == made->chosen ? "chosen: within one standard error"
                               : v == made->best   ? "least loss"
                                                   : NULL);
    }
    return status;
}

/* Which row was held out in which fold, in the order of the sites. */
static fplt_status save_folds(const char *folder, const fplt_validation *made,
                              const fplt_dataset *dataset, fplt_error *error)
{
    static const char *const columns[] = {"site", "row", "fold"};
    fplt_table *out;
    size_t at = 0;
    fplt_status status = fplt__table_create(columns, 3, &out, error);
    if (status)
        return status;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++) {
        size_t rows = fplt_dataset_shard(dataset, i).count;
        for (size_t r = 0; r < rows; r++, at++) {
            fplt__table_text(out, fplt_dataset_agent_name(dataset, i));
            fplt__table_whole(out, (long long)r + 1);
            fplt__table_whole(out, (long long)made->fold[at]);
        }
    }
    status = cli_save_table(folder, "folds.csv", out, error);
    fplt_table_destroy(out);
    return status;
}

/* All rows, with the value that was chosen. */
static fplt_status refit(fplt_settings *settings, const fplt_validation *made, const char *folder,
                         fplt_error *error)
{
    const fplt_validate_point *chosen = &made->point[made->chosen];
    const fplt__validated validated = {.search = fplt_settings_text(settings, "search"),
                                       .value = chosen->value,
                                       .by = fplt_settings_text(settings, "by"),
                                       .folds = made->folds,
                                       .measure = made->quality,
                                       .quality = chosen->quality,
                                       .loss = chosen->loss,
                                       .error = chosen->error};
    char text[64], path[4096];
    const fplt_job_source source = {.whole = 1};
    fplt_trainer *trainer;
    fplt_model *model = NULL;
    fplt_status status;
    snprintf(text, sizeof text, "%.17g", chosen->value);
    snprintf(path, sizeof path, "%s/model.json", folder);
    if ((status = fplt_settings_set(settings, validated.search, text, "validation", error)) ||
        (status = fplt_trainer_create(settings, &source, &trainer, error)))
        return status;
    if (!(status = fplt_trainer_run(trainer, NULL, NULL, NULL, error)) &&
        !(status = fplt_trainer_model(trainer, &model, error)) &&
        !(status = fplt__model_add_validation(model, &validated, error)))
        status = fplt_model_write(model, path, error);
    fplt_model_destroy(model);
    fplt_trainer_destroy(trainer);
    return status;
}

static fplt_status print_json(const cli_call *cli, const fplt_validation *made, fplt_error *error)
{
    json_t *points = json_array();
    for (size_t v = 0; v < made->count; v++) {
        const fplt_validate_point *point = &made->point[v];
        json_array_append_new(points,
                              json_pack("{s:f, s:o, s:o, s:o, s:b, s:b}", "value", point->value,
                                        "loss", cli_json_number(point->loss), "std_error",
                                        cli_json_number(point->error), "quality",
                                        cli_json_number(point->quality), "least_loss",
                                        v == made->best, "chosen", v == made->chosen));
    }
    return cli_print_json(json_pack("{s:s, s:s, s:s, s:I, s:f, s:o}", "search",
                                    fplt_settings_text(cli->settings, "search"), "quality",
                                    made->quality, "by", fplt_settings_text(cli->settings, "by"),
                                    "folds", (json_int_t)made->folds, "chosen",
                                    made->point[made->chosen].value, "points", points),
                          error);
}

static fplt_status deliver(cli_call *cli, const fplt_validation *made, const fplt_dataset *dataset,
                           fplt_error *error)
{
    const char *name = fplt_settings_text(cli->settings, "search");
    const char *folder = fplt_settings_text(cli->settings, "out");
    int json = fplt_settings_switch(cli->settings, "json");
    fplt_table *out;
    fplt_status status = make_table(made, name, &out, error);
    if (status)
        return status;
    status = json ? print_json(cli, made, error) : cli_print_table(out, error);
    if (!json)
        printf("\n%s %.6g  (%u folds, %s)\n", name, made->point[made->chosen].value, made->folds,
               strcmp(fplt_settings_text(cli->settings, "by"), "rows") == 0 ? "rows of every site"
                                                                            : "sites left out");
    if (!status && folder) {
        mkdir(folder, 0777);
        cli->running = 1;
        if (!(status = cli_save_table(folder, "validation.csv", out, error)) &&
            !(status = save_folds(folder, made, dataset, error)))
            status = refit(cli->settings, made, folder, error);
    }
    fplt_table_destroy(out);
    return status;
}

static fplt_status run_validate(cli_call *cli, fplt_error *error)
{
    double values[MAX_VALUES];
    fplt_validation made = {.point = NULL};
    cli_progress progress;
    fplt_dataset *dataset = NULL;
    fplt_validate_settings wanted = {
        .settings = cli->settings,
        .name = fplt_settings_text(cli->settings, "search"),
        .values = values,
        .folds = strcmp(fplt_settings_text(cli->settings, "by"), "rows") == 0
                     ? (uint32_t)fplt_settings_integer(cli->settings, "folds")
                     : 0,
        .seed = (uint64_t)fplt_settings_integer(cli->settings, "seed"),
        .watch = cli_progress_watch,
        .context = &progress,
        .ranks = cli->ranks,
    };
    fplt_status status;
    if (!(status = read_grid(cli->settings, values, &wanted.count, error)))
        status = fplt__job_dataset(cli->settings, 0, NULL, 0, NULL, &dataset, error);
    if ((status = fplt_ranks_agree(cli->ranks, status, error)))
        return status;
    wanted.dataset = dataset;
    cli_progress_begin(&progress, fplt_settings_switch(cli->settings, "quiet"));
    status = fplt_ranks_agree(cli->ranks, fplt_validate_run(&wanted, &made, error), error);
    cli_progress_end(&progress);
    if (!cli_leads(cli)) {
        /* the first says it */
    } else if (!status && made.stopped) {
        cli_warn("interrupted; nothing is kept");
        cli->exit_status = 130;
    } else if (!status) {
        status = deliver(cli, &made, dataset, error);
    }
    fplt_validation_clear(&made);
    fplt_dataset_destroy(dataset);
    return status;
}

const cli_command cli_validate[] = {
    {.name = "validate",
     .summary = "cross-validation over a grid, within sites or leaving sites out",
     .arguments = "[FILE]",
     .about =
         "Trains on all folds but one and measures on that one, for every value of the grid. The "
         "value with the least held-out loss is marked, and the largest whose loss is within one "
         "standard error of it is chosen: among models that are as good as can be told, the "
         "simplest. With --out it is trained once more on all rows.\n\n"
         "Folds within sites ask how well the model does on new rows of the same sites; leaving a "
         "site out asks how well it does at a site that took no part.",
     .examples = "fedplt validate --data hospitals.csv --grid 0.001,0.01,0.1\n"
                 "fedplt validate --data hospitals.csv --by sites --out validated",
     .least = 0,
     .most = 1,
     .config = 1,
     .spreads = 1,
     .declare = declare,
     .needs = needs,
     .run = run_validate},
    {.name = NULL},
};
