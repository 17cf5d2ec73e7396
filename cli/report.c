/* fedplt report: one page about a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "fedplt/page.h"

enum { LONGEST_PATH = 4096, LARGEST_EVALUATION = 1 << 30 };

static const fplt_setting table[] = {
    {"to", FPLT_TEXT, 0, NULL, 0, 0, NULL, "HTML file to write; by default OUT/report.html", 0, 0},
    {"title", FPLT_TEXT, 0, NULL, 0, 0, NULL, "of the page; by default the name of the label", 0,
     0},
    {"level", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "0.95", 0, 1, NULL, "of the intervals", 0, 0,
     .needs = "the penalty=none"},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "output", table, error);
    if (!status)
        status = fplt_settings_add(settings, "data", cli_reading_table, error);
    return status ? status : fplt_settings_add(settings, "data", cli_labelled_table, error);
}

/* What a page is made of. */
struct material {
    char folder[LONGEST_PATH]; /* of the model */
    fplt_model *model;         /* the rest is owned too */
    fplt_history *history;
    char *evaluation;
    char rows[LONGEST_PATH]; /* which rows were evaluated */
};

static void clear(struct material *material)
{
    fplt_model_destroy(material->model);
    fplt_history_destroy(material->history);
    fplt_free(material->evaluation);
}

static int beside(const struct material *material, const char *name, char *path)
{
    snprintf(path, LONGEST_PATH, "%.4000s/%s", material->folder, name);
    return access(path, F_OK) == 0;
}

/* The folder of a run, or the model itself. */
static fplt_status find_model(const char *given, struct material *material, fplt_error *error)
{
    struct stat found;
    char path[LONGEST_PATH];
    const char *slash = strrchr(given, '/');
    if (stat(given, &found) == 0 && S_ISDIR(found.st_mode)) {
        snprintf(material->folder, sizeof material->folder, "%s", given);
        beside(material, "model.json", path);
        return fplt_model_read(path, &material->model, error);
    }
    snprintf(material->folder, sizeof material->folder, "%.*s", slash ? (int)(slash - given) : 1,
             slash ? given : ".");
    return fplt_model_read(given, &material->model, error);
}

static fplt_status recall_history(struct material *material, fplt_error *error)
{
    char path[LONGEST_PATH];
    if (fplt_model_is_private(material->model) || !beside(material, "convergence.csv", path))
        return FPLT_OK;
    fplt_status status = fplt_history_create(&material->history, error);
    return status ? status : fplt_history_read(material->history, path, UINT64_MAX, 1, error);
}

/* What `train --holdout` found. */
static fplt_status recall_evaluation(struct material *material, fplt_error *error)
{
    char path[LONGEST_PATH];
    size_t length;
    if (fplt_model_is_private(material->model) || !beside(material, "held_out.json", path))
        return FPLT_OK;
    snprintf(material->rows, sizeof material->rows, "rows that were held out and not trained on");
    return fplt_file_read(path, LARGEST_EVALUATION, &material->evaluation, &length, error);
}

static fplt_status assess(const fplt_model *model, const fplt_dataset *dataset, char **text,
                          fplt_error *error)
{
    fplt_assessment made;
    fplt_quality *each;
    fplt_status status =
        cli_alloc(&each, fplt_dataset_agents(dataset), sizeof *each, "the measures", error);
    if (status)
        return status;
    if (!(status = fplt_model_assess(model, dataset, NAN, each, &made, error)))
        status = fplt_assessment_text(model, dataset, each, &made, text, error);
    fplt_assessment_clear(&made);
    free(each);
    return status;
}

static fplt_status evaluate(cli_call *cli, struct material *material, fplt_error *error)
{
    fplt_dataset *dataset;
    if (fplt_model_is_private(material->model))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the model was trained with privacy, and measures on data would stand "
            "on the page without noise; look at them with fedplt evaluate");
    fplt_status status = cli_model_data(cli, material->model, 1, &dataset, error);
    if (status)
        return status;
    size_t files = cli->argument_count - 1;
    snprintf(material->rows, sizeof material->rows, "%zu rows of %.4000s%s",
             fplt_dataset_rows(dataset), cli->arguments[1], files > 1 ? " and further files" : "");
    status = assess(material->model, dataset, &material->evaluation, error);
    fplt_dataset_destroy(dataset);
    return status;
}

static fplt_status gather(cli_call *cli, struct material *material, fplt_error *error)
{
    fplt_status status = cli->argument_count > 1 ? FPLT_OK : cli_reading_unused(cli, error);
    if (!status)
        status = find_model(cli->arguments[0], material, error);
    if (!status)
        status = cli_learn(cli, "the penalty", cli_penalty_of(material->model), error);
    if (!status)
        status = recall_history(material, error);
    if (status)
        return status;
    return cli->argument_count > 1 ? evaluate(cli, material, error)
                                   : recall_evaluation(material, error);
}

static fplt_status write_page(cli_call *cli, const struct material *material, fplt_error *error)
{
    fplt_page page = fplt_page_defaults();
    const char *path = fplt_settings_text(cli->settings, "to");
    char own[LONGEST_PATH], *html;
    page.title = fplt_settings_text(cli->settings, "title");
    page.level = fplt_settings_real(cli->settings, "level");
    page.history = material->history;
    page.evaluation = material->evaluation;
    page.evaluated_on = material->rows;
    if (!path) {
        beside(material, "report.html", own);
        path = own;
    }
    fplt_status status = cli_protect(cli, path, error);
    if (!status)
        status = fplt_model_page(material->model, &page, &html, error);
    if (status)
        return status;
    cli->running = 1;
    status = fplt_file_save(path, 0666, html, strlen(html), error);
    fplt_free(html);
    if (!status)
        printf("%s\n", path);
    return status;
}

static fplt_status run(cli_call *cli, fplt_error *error)
{
    struct material material = {.model = NULL};
    fplt_status status = gather(cli, &material, error);
    if (!status)
        status = write_page(cli, &material, error);
    clear(&material);
    return status;
}

const cli_command cli_report[] = {
    {.name = "report",
     .summary = "one HTML page about a run: model, quality, privacy, parameters and why",
     .arguments = "OUT [DATA...]",
     .about =
         "Writes one file that needs no network and runs no script: what was trained, quality per "
         "site with ROC curve and calibration, coefficients with their intervals, convergence, the "
         "certificate of privacy in plain words, and every parameter with its reason. OUT is the "
         "folder that `train` wrote, or a model.json. Quality is that of the rows that `train "
         "--holdout` kept, or of the DATA that are given.\n\n"
         "Of a model that was trained with privacy the page shows only what the promise covers: "
         "coefficients and the certificate.",
     .examples =
         "fedplt report fedplt-out\n"
         "fedplt report fedplt-out hospitals.csv --to hospitals.html --title 'Four hospitals'",
     .least = 1,
     .most = 1000000,
     .declare = declare,
     .run = run},
    {.name = NULL},
};
