/* fedplt report: one page about a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "fedplt/inference.h"
#include "fedplt/page.h"
#include "base/file.h"
#include "base/text.h"
#include "federation/plan/program.h"
#include "report/model_access.h"
#include "report/report.h"

enum { LONGEST_PATH = 4096, LARGEST_EVALUATION = 1 << 30, MAX_ANALYSES = 16 };

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
    return cli_declare_labelled(settings, table, error);
}

/* What a page is made of. */
struct material {
    char folder[LONGEST_PATH]; /* of the model */
    fplt_model *model;         /* the rest is owned too */
    fplt_model *refitted;      /* without the penalty; NULL: there is none, or no data */
    fplt_history *history;
    char *evaluation;
    char rows[LONGEST_PATH]; /* which rows were evaluated */
    fplt_page_analysis analysis[MAX_ANALYSES];
    char *text[MAX_ANALYSES]; /* of them */
    size_t analyses;
};

static void clear(struct material *material)
{
    fplt_model_destroy(material->model);
    fplt_model_destroy(material->refitted);
    fplt__history_destroy(material->history);
    fplt_free(material->evaluation);
    for (size_t i = 0; i < material->analyses; i++)
        fplt_free(material->text[i]);
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
    if (fplt__model_is_private(material->model) || !beside(material, "convergence.csv", path))
        return FPLT_OK;
    fplt_status status = fplt__history_create(&material->history, error);
    return status ? status : fplt__history_read(material->history, path, UINT64_MAX, 1, error);
}

/* What `train --holdout` found. */
static fplt_status recall_evaluation(struct material *material, fplt_error *error)
{
    char path[LONGEST_PATH];
    size_t length;
    if (fplt__model_is_private(material->model) || !beside(material, "held_out.json", path))
        return FPLT_OK;
    snprintf(material->rows, sizeof material->rows, "rows that were held out and not trained on");
    return fplt__file_read(path, LARGEST_EVALUATION, &material->evaluation, &length, error);
}

/* What analyses over the network wrote beside the model. */
static fplt_status recall_analyses(struct material *material, fplt_error *error)
{
    const char *kind;
    fplt_status status = FPLT_OK;
    if (fplt__model_is_private(material->model))
        return FPLT_OK;
    for (size_t i = 0; (kind = fplt__federation_analysis_name(i)) && !status; i++) {
        char name[80], path[LONGEST_PATH];
        size_t length, at = material->analyses;
        snprintf(name, sizeof name, "%s.txt", kind);
        if (at == MAX_ANALYSES || !beside(material, name, path))
            continue;
        if (!(status =
                  fplt__file_read(path, LARGEST_EVALUATION, &material->text[at], &length, error)))
            material->analysis[material->analyses++] =
                (fplt_page_analysis){kind, material->text[at]};
    }
    return status;
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

/* The name by which a model knows a file that it was trained on; any other file has the name that was given. */
static const char *trained_name(const char *data, const char *given, char *room)
{
    struct stat known, found;
    if (stat(given, &found) != 0)
        return given;
    while (*data) {
        data = fplt__list_next(data, room, LONGEST_PATH);
        if (stat(room, &known) == 0 && known.st_dev == found.st_dev && known.st_ino == found.st_ino)
            return room;
    }
    return given;
}

/* "N rows of FILE, FILE", so that the page can tell training rows. */
static void name_rows(const cli_call *cli, const fplt_dataset *dataset, struct material *material)
{
    const char *text = fplt_model_get_view(material->model)->training;
    json_t *record = text ? json_loads(text, 0, NULL) : NULL;
    const char *data =
        json_string_value(json_object_get(json_object_get(record, "problem"), "data"));
    size_t used = (size_t)snprintf(material->rows, sizeof material->rows, "%zu rows of",
                                   fplt_dataset_rows(dataset));
    for (size_t i = 1; i < cli->argument_count && used < sizeof material->rows; i++) {
        char room[LONGEST_PATH];
        used += (size_t)snprintf(material->rows + used, sizeof material->rows - used, "%s %s",
                                 i > 1 ? "," : "",
                                 trained_name(data ? data : "", cli->arguments[i], room));
    }
    json_decref(record);
}

static fplt_status evaluate(cli_call *cli, struct material *material, fplt_error *error)
{
    fplt_dataset *dataset;
    fplt_error reason = {FPLT_OK, ""};
    if (fplt__model_is_private(material->model))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the model was trained with privacy, and measures on data would stand "
            "on the page without noise; look at them with fedplt evaluate");
    fplt_status status = cli_model_data(cli, material->model, 1, &dataset, error);
    if (status)
        return status;
    name_rows(cli, dataset, material);
    status = assess(material->model, dataset, &material->evaluation, error);
    if (!status && !fplt_model_refit(material->model) &&
        strcmp(cli_penalty_of(material->model), "one") == 0 &&
        fplt_model_infer(material->model, dataset, 1, &material->refitted, &reason)) {
        material->refitted = NULL;
        cli_warn("the page has no estimates without the penalty: %s", reason.text);
    }
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
    if (!status)
        status = recall_analyses(material, error);
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
    page.refitted = material->refitted;
    page.analysis = material->analysis;
    page.analyses = material->analyses;
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
    status = fplt__file_save(path, 0666, html, strlen(html), error);
    fplt_free(html);
    if (!status)
        printf("%s\n", path);
    return status;
}

static fplt_status run_report(cli_call *cli, fplt_error *error)
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
         "folder that `train` or a federation wrote, or a model.json; results of analyses over the "
         "network in "
         "that folder (`fedplt federation survival` and others) are shown too. Quality is that of "
         "the rows that `train "
         "--holdout` kept, or of the DATA that are given.\n\n"
         "Of a model that was trained with privacy the page shows only what the promise covers: "
         "coefficients and the certificate.",
     .examples =
         "fedplt report fedplt-out\n"
         "fedplt report fedplt-out hospitals.csv --to hospitals.html --title 'Four hospitals'",
     .least = 1,
     .most = 1000000,
     .declare = declare,
     .run = run_report},
    {.name = NULL},
};
