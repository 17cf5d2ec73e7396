/* fedplt validate: cross-validation, the value it picks, and a refit with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "fedplt/ranks.h"
#include "fedplt/validate.h"
#include "progress.h"
#include "base/file.h"
#include "base/settings.h"
#include "base/text.h"
#include "job/job.h"
#include "report/model_access.h"
#include "report/report.h"
#include "report/validation.h"

static const fplt_setting table[] = {
    {"by", FPLT_CHOICE, 0, "rows", 0, 0, "rows|sites",
     "rows: every site's rows are dealt out into folds; sites: each site is left out in turn", 0,
     0},
    {"fold-file", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "folds as they are given, in the columns site, row and fold of folds.csv: one file for all "
     "sites, or one a site in their order",
     0, 0, .needs = "by=rows"},
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
    {"folds", "by=rows", NULL},
    {"folds", "!fold-file", NULL},
    {"eps", "search!=eps", NULL},
    {"h-weight", "search!=h-weight", NULL},
    {"t-gradient", "epochs=auto,algorithm=auto,out", NULL}, /* a model's record has the time */
    {"t-communication", "epochs=auto,algorithm=auto,out", NULL},
    {NULL, NULL, NULL},
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status =
        fplt_settings_add(settings, "validation", fplt__validation_settings, error);
    if (!status)
        status = fplt_settings_add(settings, "validation", table, error);
    return status ? status : cli_declare_trainer(cli, settings, error);
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

/* As the table and the document show it. */
static fplt__validation_view view_of(const cli_call *cli, const fplt_validation *made)
{
    return (fplt__validation_view){.search = fplt_settings_text(cli->settings, "search"),
                                   .by = fplt_settings_text(cli->settings, "by"),
                                   .measure = made->quality,
                                   .folds = made->folds,
                                   .point = made->point,
                                   .count = made->count,
                                   .best = made->best,
                                   .chosen = made->chosen};
}

static fplt_status deliver(cli_call *cli, const fplt_validation *made, const fplt_dataset *dataset,
                           fplt_error *error)
{
    const char *name = fplt_settings_text(cli->settings, "search");
    const char *folder = fplt_settings_text(cli->settings, "out");
    int json = fplt_settings_switch(cli->settings, "json");
    fplt_table *out;
    const fplt__validation_view view = view_of(cli, made);
    fplt_status status = fplt__validation_table(&view, &out, error);
    if (status)
        return status;
    status =
        json ? cli_print_json(fplt__validation_json(&view), error) : cli_print_table(out, error);
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

/* ---- folds that are given ---- */

struct given {
    fplt_dataset *dataset; /* owned */
    uint32_t *fold;        /* owned: one a row */
    uint32_t site, folds;
    size_t row, at; /* of the site, and of all */
};

/* A line of a file: its site is named for people, its row counts from 1 at each site. */
static fplt_status take_line(struct given *given, const char *path, size_t line, const char *text,
                             fplt_error *error)
{
    char site[256], row[64], fold[64];
    long long number = 0, part = -1;
    text = fplt__list_next(text, site, sizeof site);
    text = fplt__list_next(text, row, sizeof row);
    text = fplt__list_next(text, fold, sizeof fold);
    while (given->site < fplt_dataset_agents(given->dataset) &&
           given->row == fplt_dataset_shard(given->dataset, given->site).count) {
        given->site++;
        given->row = 0;
    }
    if (*text || fplt__parse_integer(row, &number) || fplt__parse_integer(fold, &part) ||
        part < 0 || part >= FPLT__VALIDATION_FOLDS)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s:%zu: a line has a site, a row and a fold from 0 to %d", path,
                              line, FPLT__VALIDATION_FOLDS - 1);
    if (given->at == fplt_dataset_rows(given->dataset) || number != (long long)given->row + 1)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s:%zu: row %lld, but row %zu of site %u is next: one line for each "
                              "row of the data, in their order",
                              path, line, number, given->row + 1, given->site + 1);
    given->row++;
    given->fold[given->at++] = (uint32_t)part;
    given->folds = (uint32_t)part >= given->folds ? (uint32_t)part + 1 : given->folds;
    return FPLT_OK;
}

static fplt_status read_fold_file(struct given *given, const char *path, fplt_error *error)
{
    char *text;
    size_t size, number = 1;
    fplt_status status = fplt__file_read(path, SIZE_MAX, &text, &size, error);
    if (status)
        return status;
    char *rest = NULL, *line = strtok_r(text, "\r\n", &rest);
    if (!line || strcmp(line, "site,row,fold") != 0)
        status =
            fplt_error_set(error, FPLT_BAD_DATA,
                           "%s:1: the first line must be site,row,fold, as in folds.csv", path);
    while (!status && (line = strtok_r(NULL, "\r\n", &rest)))
        status = take_line(given, path, ++number, line, error);
    fplt_free(text);
    return status;
}

static fplt_status read_folds(const char *list, struct given *given, fplt_error *error)
{
    char path[4096];
    given->fold = calloc(fplt_dataset_rows(given->dataset), sizeof *given->fold);
    fplt_status status =
        given->fold ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for folds");
    while (!status && *list) {
        list = fplt__list_next(list, path, sizeof path);
        status = read_fold_file(given, path, error);
    }
    if (!status && given->at < fplt_dataset_rows(given->dataset))
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "fold-file: %zu rows have a fold, but the data have %zu", given->at,
                                fplt_dataset_rows(given->dataset));
    return status;
}

/* What is searched, and which rows are in which fold. */
static fplt_status prepare(const cli_call *cli, fplt_validate_settings *wanted, double *values,
                           struct given *given, fplt_error *error)
{
    const fplt_settings *settings = cli->settings;
    const char *files = fplt_settings_text(settings, "fold-file");
    fplt_status status =
        fplt__validation_grid(fplt_settings_text(settings, "grid"), values, &wanted->count, error);
    if (!status)
        status = fplt__job_dataset(settings, 0, NULL, 0, NULL, &given->dataset, error);
    wanted->dataset = given->dataset;
    wanted->values = values;
    if (strcmp(fplt_settings_text(settings, "by"), "rows") == 0)
        wanted->folds = (uint32_t)fplt_settings_integer(settings, "folds");
    if (status || !files || (status = read_folds(files, given, error)))
        return status;
    wanted->folds = given->folds;
    wanted->fold = given->fold;
    return FPLT_OK;
}

static fplt_status run_validate(cli_call *cli, fplt_error *error)
{
    double values[FPLT__VALIDATION_VALUES];
    fplt_validation made = {.point = NULL};
    struct given given = {.fold = NULL};
    cli_progress progress;
    fplt_validate_settings wanted = {
        .settings = cli->settings,
        .name = fplt_settings_text(cli->settings, "search"),
        .seed = (uint64_t)fplt_settings_integer(cli->settings, "seed"),
        .watch = cli_progress_watch,
        .context = &progress,
        .ranks = cli->ranks,
    };
    fplt_status status =
        fplt_ranks_agree(cli->ranks, prepare(cli, &wanted, values, &given, error), error);
    if (!status) {
        cli_progress_begin(&progress, fplt_settings_switch(cli->settings, "quiet"));
        status = fplt_ranks_agree(cli->ranks, fplt_validate_run(&wanted, &made, error), error);
        cli_progress_end(&progress);
    }
    if (!cli_leads(cli)) {
        /* the first says it */
    } else if (!status && made.stopped) {
        cli_warn("interrupted; nothing is kept");
        cli->exit_status = 130;
    } else if (!status) {
        status = deliver(cli, &made, given.dataset, error);
    }
    fplt_validation_clear(&made);
    fplt_dataset_destroy(given.dataset);
    free(given.fold);
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
                 "fedplt validate --data hospitals.csv --by sites --out validated\n"
                 "fedplt validate --data hospitals.csv --fold-file validated/folds.csv",
     .least = 0,
     .most = 1,
     .config = 1,
     .spreads = 1,
     .declare = declare,
     .needs = needs,
     .run = run_validate},
    {.name = NULL},
};
