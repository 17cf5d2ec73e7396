/* fedplt survival baseline, predict and test: what follows from a Cox model and rows. */
#include <string.h>

#include "cli.h"
#include "survival.h"
#include "fedplt/inference.h"
#include "fedplt/read.h"
#include "fedplt/schema.h"
#include "base/settings.h"
#include "report/report.h"
#include "fedplt/survival.h"

#define REFIT                                                                              \
    {                                                                                      \
        "refit", FPLT_SWITCH, 0, "no", 0, 0, NULL,                                         \
            "fit the same loss on the data without a penalty first, every row alike", 0, 0 \
    }
#define GRID                                                                                       \
    {                                                                                              \
        "grid", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,                                            \
            "put times on a grid: one number is the width of a cell, several are its boundaries; " \
            "a time "                                                                              \
            "becomes the boundary that follows it",                                                \
            0, 0                                                                                   \
    }
#define MINIMUM                                                                                   \
    {                                                                                             \
        "minimum", FPLT_INTEGER, 0, "0", 0, 1000000, NULL,                                        \
            "end the hazard of a site where fewer than this number are at risk; 0: nowhere", 0, 0 \
    }
#define JSON                                                                      \
    {                                                                             \
        "json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0 \
    }
#define CSV(what)                                                                                 \
    {                                                                                             \
        "csv", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print " what " as CSV, numbers with 17 digits", \
            0, 0, .needs = "json=no"                                                              \
    }

static const fplt_setting baseline_table[] = {
    REFIT, GRID, MINIMUM, JSON, CSV("the hazard"), FPLT_SETTINGS_END};

static const fplt_setting predict_table[] = {
    {"new", FPLT_TEXT, FPLT_REQUIRED, NULL, 0, 0, NULL,
     "file with the rows of new patients, with the columns of the model", 0, 0},
    {"times", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "times at which survival is predicted, such as 365,730; default: about six", 0, 0},
    {"at-site", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "site whose baseline hazard counts; default: one line for each site", 0, 0},
    {"interval", FPLT_CHOICE, 0, "log", 0, 0, "log|log-log|plain",
     "scale on which the intervals of survival are symmetric", 0, 0},
    {"level", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "0.95", 0, 1, NULL, "of the intervals", 0, 0},
    REFIT,
    GRID,
    MINIMUM,
    JSON,
    CSV("survival at the times"),
    FPLT_SETTINGS_END};

static const fplt_setting test_table[] = {
    {"transform", FPLT_CHOICE, 0, "km", 0, 0, "km|identity|log|rank",
     "how time enters: 1 - S(t) of the Kaplan-Meier estimate, time itself, its logarithm or rank",
     0, 0},
    {"each-column", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "one line for each column; no: the levels of a category go together", 0, 0},
    JSON,
    CSV("the tests"),
    FPLT_SETTINGS_END};

fplt_status cli_survival_declare_baseline(const cli_call *cli, fplt_settings *settings,
                                          fplt_error *error)
{
    (void)cli;
    return cli_declare_labelled(settings, baseline_table, error);
}

fplt_status cli_survival_declare_predict(const cli_call *cli, fplt_settings *settings,
                                         fplt_error *error)
{
    (void)cli;
    return cli_declare_labelled(settings, predict_table, error);
}

fplt_status cli_survival_declare_test(const cli_call *cli, fplt_settings *settings,
                                      fplt_error *error)
{
    (void)cli;
    return cli_declare_labelled(settings, test_table, error);
}

/* The model with the sums of the rows; both are to be destroyed. */
static fplt_status read_model(cli_call *cli, int refit, fplt_model **model, fplt_dataset **dataset,
                              fplt_error *error)
{
    fplt_model *given = NULL;
    *model = NULL;
    *dataset = NULL;
    fplt_status status = fplt_model_read(cli->arguments[0], &given, error);
    if (!status && strcmp(fplt_model_get_view(given)->loss, "cox") != 0)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s is a model of the loss %s, but this needs one of the loss cox",
                                cli->arguments[0], fplt_model_get_view(given)->loss);
    if (!status && !(status = cli_model_data(cli, given, 1, dataset, error)))
        status = fplt_model_infer(given, *dataset, refit, model, error);
    fplt_model_destroy(given);
    return status;
}

/* One table as CSV, or several with notes as a JSON document or text. */
struct output {
    const char *name[2];
    fplt_table *table[2];
};

static json_t *notes_json(const fplt_hazard *hazard)
{
    json_t *notes = json_array();
    const char *note;
    for (size_t i = 0; hazard && (note = fplt_hazard_note(hazard, i)); i++)
        json_array_append_new(notes, json_string(note));
    return notes;
}

static fplt_status print_csv(const fplt_table *table, fplt_error *error)
{
    char *text = NULL;
    fplt_status status = fplt_table_render(table, FPLT_TABLE_CSV, &text, error);
    if (!status)
        fputs(text, stdout);
    fplt_free(text);
    return status;
}

static fplt_status print(const cli_call *cli, const fplt_hazard *hazard,
                         const struct output *output, json_t *document, fplt_error *error)
{
    size_t count = output->table[1] ? 2 : 1;
    fplt_status status = FPLT_OK;
    if (fplt_settings_switch(cli->settings, "json")) {
        for (size_t i = 0; i < count; i++)
            json_object_set_new(document, output->name[i], cli_json_table(output->table[i]));
        json_object_set_new(document, "notes", notes_json(hazard));
        return cli_print_json(document, error);
    }
    json_decref(document);
    if (fplt_settings_switch(cli->settings, "csv"))
        return print_csv(output->table[count - 1], error);
    for (size_t i = 0; i < count && !status; i++) {
        if (i)
            puts("");
        status = cli_print_table(output->table[i], error);
    }
    const char *note;
    for (size_t i = 0; !status && hazard && (note = fplt_hazard_note(hazard, i)); i++)
        printf("%s%s.\n", i ? "" : "\n", note);
    return status;
}

fplt_status cli_survival_run_baseline(cli_call *cli, fplt_error *error)
{
    fplt_hazard_settings settings = {.grid = fplt_settings_text(cli->settings, "grid"),
                                     .minimum =
                                         (size_t)fplt_settings_integer(cli->settings, "minimum"),
                                     .level = 0.95};
    struct output output = {{"baseline", NULL}, {NULL, NULL}};
    fplt_model *model;
    fplt_dataset *dataset;
    fplt_hazard *hazard = NULL;
    fplt_status status =
        read_model(cli, fplt_settings_switch(cli->settings, "refit"), &model, &dataset, error);
    if (!status && !(status = fplt_hazard_create(model, dataset, &settings, &hazard, error)) &&
        !(status = fplt_hazard_tabulate(hazard, &output.table[0], error)))
        status = print(cli, hazard, &output,
                       json_pack("{s:s}", "ties",
                                 fplt_model_get_view(model)->ties ? fplt_model_get_view(model)->ties
                                                                  : "breslow"),
                       error);
    fplt_table_destroy(output.table[0]);
    fplt_hazard_destroy(hazard);
    fplt_dataset_destroy(dataset);
    fplt_model_destroy(model);
    return status;
}

static fplt_status read_new(const cli_call *cli, const fplt_model *model, fplt_dataset **rows,
                            fplt_error *error)
{
    const char *path = fplt_settings_text(cli->settings, "new");
    fplt_read_settings read;
    fplt_schema *schema;
    fplt_status status = cli_model_reading(cli, 0, &read, &schema, error);
    if (!status)
        status = fplt_model_dataset(model, &path, 1, &read, 0, rows, error);
    fplt_schema_destroy(schema);
    return status;
}

static fplt_hazard_settings predict_settings(const cli_call *cli)
{
    const char *name = fplt_settings_text(cli->settings, "interval");
    return (fplt_hazard_settings){.grid = fplt_settings_text(cli->settings, "grid"),
                                  .minimum =
                                      (size_t)fplt_settings_integer(cli->settings, "minimum"),
                                  .times = fplt_settings_text(cli->settings, "times"),
                                  .site = fplt_settings_text(cli->settings, "at-site"),
                                  .interval = strcmp(name, "plain") == 0     ? FPLT_SURVIVAL_PLAIN
                                              : strcmp(name, "log-log") == 0 ? FPLT_SURVIVAL_LOG_LOG
                                                                             : FPLT_SURVIVAL_LOG,
                                  .level = fplt_settings_real(cli->settings, "level")};
}

fplt_status cli_survival_run_predict(cli_call *cli, fplt_error *error)
{
    fplt_hazard_settings settings = predict_settings(cli);
    struct output output = {{"patients", "times"}, {NULL, NULL}};
    fplt_model *model;
    fplt_dataset *dataset, *rows = NULL;
    fplt_hazard *hazard = NULL;
    fplt_status status = fplt__settings_complete(cli->settings, error);
    if (status)
        return status;
    status = read_model(cli, fplt_settings_switch(cli->settings, "refit"), &model, &dataset, error);
    if (!status && !(status = fplt_hazard_create(model, dataset, &settings, &hazard, error)) &&
        !(status = read_new(cli, model, &rows, error)) &&
        !(status = fplt_hazard_predict(hazard, rows, &output.table[0], &output.table[1], error)))
        status =
            print(cli, hazard, &output,
                  json_pack("{s:s, s:f}", "interval", fplt_settings_text(cli->settings, "interval"),
                            "level", settings.level),
                  error);
    fplt_table_destroy(output.table[0]);
    fplt_table_destroy(output.table[1]);
    fplt_hazard_destroy(hazard);
    fplt_dataset_destroy(rows);
    fplt_dataset_destroy(dataset);
    fplt_model_destroy(model);
    return status;
}

fplt_status cli_survival_run_test(cli_call *cli, fplt_error *error)
{
    static const char *const names[] = {"km", "identity", "log", "rank"};
    const char *transform = fplt_settings_text(cli->settings, "transform");
    struct output output = {{"tests", NULL}, {NULL, NULL}};
    fplt_model *model;
    fplt_dataset *dataset;
    int number = 0;
    while (strcmp(names[number], transform) != 0)
        number++;
    fplt_status status = read_model(cli, 1, &model, &dataset, error);
    if (!status)
        status = fplt_hazard_test(model, dataset, (fplt_hazard_transform)number,
                                  fplt_settings_switch(cli->settings, "each-column"),
                                  &output.table[0], error);
    if (!status)
        status = print(cli, NULL, &output, json_pack("{s:s}", "transform", transform), error);
    fplt_table_destroy(output.table[0]);
    fplt_dataset_destroy(dataset);
    fplt_model_destroy(model);
    return status;
}
