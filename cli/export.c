/* fedplt export: a model for other programs. */
#include <string.h>

#include "cli.h"
#include "fedplt/export.h"
#include "fedplt/model.h"
#include "base/settings.h"

static const fplt_setting table[] = {
    {"to", FPLT_CHOICE, FPLT_REQUIRED, NULL, 0, 0, "onnx|csv",
     "onnx: a graph that other programs run; csv: coefficients by name, also in the units of the "
     "file",
     0, 0},
    {"out", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "file to write; by default the name of the model with the form's ending", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "output", table, error);
}

/* model.json -> model.onnx */
static void name_after(const char *model, const char *form, char *path, size_t size)
{
    size_t length = strlen(model);
    int stem =
        length > 5 && strcmp(model + length - 5, ".json") == 0 ? (int)length - 5 : (int)length;
    snprintf(path, size, "%.*s.%s", stem, model, form);
}

static fplt_status run_export(cli_call *cli, fplt_error *error)
{
    const char *form = fplt_settings_text(cli->settings, "to");
    const char *path = fplt_settings_text(cli->settings, "out");
    char own[4096];
    fplt_model *model;
    fplt_status status = fplt__settings_complete(cli->settings, error);
    if (status)
        return status;
    if (!path) {
        name_after(cli->arguments[0], form, own, sizeof own);
        path = own;
    }
    if ((status = fplt_model_read(cli->arguments[0], &model, error)))
        return status;
    cli->running = 1;
    status = fplt_model_export(model, form, path, error);
    fplt_model_destroy(model);
    if (!status)
        printf("%s\n", path);
    return status;
}

const cli_command cli_export[] = {
    {.name = "export",
     .summary = "a model for other programs: ONNX, or coefficients by name",
     .arguments = "MODEL",
     .about =
         "ONNX: a graph whose input `rows` are the columns as the file has them, as doubles, in "
         "the "
         "order that its metadata `features` lists (a category is one column of 0 and 1 a level); "
         "standardising and shortening of rows are part of it. Outputs are `label` and "
         "`probabilities` (`scores` for losses without), or `value`. Coefficients are single "
         "precision there: predictions agree to about six digits.\n\n"
         "CSV: one line a coefficient, as the model has it and in the units of the file.",
     .examples = "fedplt export fedplt-out/model.json --to onnx\n"
                 "fedplt export fedplt-out/model.json --to csv --out coefficients.csv",
     .least = 1,
     .most = 1,
     .declare = declare,
     .run = run_export},
    {.name = NULL},
};
