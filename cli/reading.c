/* How to read data for an existing model: only what the model does not know itself. */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "fedplt/inference.h"
#include "fedplt/read.h"
#include "fedplt/schema.h"
#include "base/settings.h"

const fplt_setting cli_reading_table[] = {
    {"format", FPLT_CHOICE, 0, "auto", 0, 0, "auto|csv|libsvm|npy|fplt",
     "format of the file; auto: by its name, then its content", 0, 0},
    {"schema", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "YAML file that declares the columns; by default the model's own schema, if it has one", 0, 0},
    {"separator", FPLT_CHOICE, 0, "auto", 0, 0, "auto|comma|tab|semicolon|bar",
     "between the fields of a CSV file; auto: the first of them that is in its first line", 0, 0},
    {"decimal", FPLT_CHOICE, 0, "point", 0, 0, "point|comma",
     "decimal sign of the numbers in a CSV file", 0, 0},
    {"header", FPLT_SWITCH, 0, "yes", 0, 0, NULL, "the first line of a CSV file names the columns",
     0, 0},
    {"missing", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|drop",
     "rows with a missing value (empty, ?, NA, N/A, NaN, NULL, -): refuse the file, or leave them "
     "out; a model that "
     "was trained to fill them does so instead of refusing",
     0, 0},
    {"missing-codes", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "further values that stand for a missing one, such as -9 or . (CSV), or none; by default as "
     "in "
     "training",
     0, 0},
    {"unknown-level", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|reference|missing",
     "a level of a category that the model does not know: refuse the file, take it as the "
     "reference level, or as a missing value",
     0, 0},
    {"site-intercept", FPLT_REAL, 0, NULL, -HUGE_VAL, HUGE_VAL, NULL,
     "intercept, on the scale of `summary`, of sites that were not in the training (models with "
     "site effects)",
     0, 0},
    {"id", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column that names the rows (CSV), or none; by default as in training", 0, 0},
    {"row-weight", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column of how much a row counts (CSV), or none; by default as in training", 0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting cli_labelled_table[] = {
    {"label", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column of the label, name or number from 1; by default as in training", 0, 0},
    {"site", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column of the site (CSV), or none; by default as in training", 0, 0},
    {"labels", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL,
     "what a label means, such as yes=1,no=-1; by default as in training", 0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting cli_file_table[] = {
    {"schema", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "YAML file that declares types, bounds and levels of the columns", 0, 0},
    {"site", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column with the site of each row; default: `site` if the file has it, otherwise each file is "
     "a site; none: no column",
     0, 0},
    {"separator", FPLT_CHOICE, 0, "auto", 0, 0, "auto|comma|tab|semicolon|bar",
     "field separator; auto: the first of these that occurs in the first line", 0, 0},
    {"decimal", FPLT_CHOICE, 0, "point", 0, 0, "point|comma", "decimal sign of the numbers", 0, 0},
    {"header", FPLT_SWITCH, 0, "yes", 0, 0, NULL,
     "the first line names the columns; no: they are called 1, 2, ...", 0, 0},
    {"missing-codes", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "further values that stand for a missing one, such as -9 or .", 0, 0},
    FPLT_SETTINGS_END,
};

fplt_read_settings cli_file_reading(const cli_call *cli)
{
    fplt_read_settings read = fplt_read_defaults();
    read.site = fplt_settings_text(cli->settings, "site");
    read.separator = fplt_settings_text(cli->settings, "separator");
    read.decimal = fplt_settings_text(cli->settings, "decimal");
    read.no_header = !fplt_settings_switch(cli->settings, "header");
    read.missing_codes = fplt_settings_text(cli->settings, "missing-codes");
    return read;
}

fplt_status cli_declare_labelled(fplt_settings *settings, const fplt_setting *output,
                                 fplt_error *error)
{
    fplt_status status = fplt_settings_add(settings, "output", output, error);
    if (!status)
        status = fplt_settings_add(settings, "data", cli_reading_table, error);
    return status ? status : fplt_settings_add(settings, "data", cli_labelled_table, error);
}

static fplt_read_settings reading(const fplt_settings *settings)
{
    fplt_read_settings read = fplt_read_defaults();
    read.format = fplt_settings_text(settings, "format");
    if (fplt__settings_find(settings, "label")) {
        read.label = fplt_settings_text(settings, "label");
        read.site = fplt_settings_text(settings, "site");
        read.labels = fplt_settings_text(settings, "labels");
    }
    read.id = fplt_settings_text(settings, "id");
    read.row_weight = fplt_settings_text(settings, "row-weight");
    read.separator = fplt_settings_text(settings, "separator");
    read.decimal = fplt_settings_text(settings, "decimal");
    read.missing_codes = fplt_settings_text(settings, "missing-codes");
    read.unknown_level = fplt_settings_text(settings, "unknown-level");
    read.site_intercept = fplt_settings_given(settings, "site-intercept")
                              ? fplt_settings_text(settings, "site-intercept")
                              : NULL;
    read.no_header = !fplt_settings_switch(settings, "header");
    read.drop_missing = strcmp(fplt_settings_text(settings, "missing"), "drop") == 0;
    return read;
}

fplt_status cli_reading_unused(const cli_call *cli, fplt_error *error)
{
    const fplt_setting *const tables[] = {cli_reading_table, cli_labelled_table};
    for (size_t i = 0; i < 2; i++)
        for (const fplt_setting *row = tables[i]; row->name; row++)
            if (fplt_settings_given(cli->settings, row->name))
                return fplt_error_set(error, FPLT_BAD_VALUE,
                                      "%s: %s has no effect without data: give their files behind "
                                      "%s, or leave it out",
                                      fplt__settings_origin(cli->settings, row->name), row->name,
                                      cli->arguments[0]);
    return FPLT_OK;
}

fplt_status cli_model_reading(const cli_call *cli, int labelled, fplt_read_settings *read,
                              fplt_schema **schema, fplt_error *error)
{
    const char *path = fplt_settings_text(cli->settings, "schema");
    *schema = NULL;
    *read = reading(cli->settings);
    fplt_status status = path ? fplt_schema_read(path, schema, error) : FPLT_OK;
    read->schema = *schema;
    if (!labelled) /* rows are answered in the order of the files: a site must not regroup them */
        read->site = "none";
    return status;
}

fplt_status cli_model_data(const cli_call *cli, const fplt_model *model, int labelled,
                           fplt_dataset **dataset, fplt_error *error)
{
    fplt_read_settings read;
    fplt_schema *schema;
    *dataset = NULL;
    fplt_status status = cli_model_reading(cli, labelled, &read, &schema, error);
    if (status)
        return status;
    status = fplt_model_dataset(model, cli->arguments + 1, cli->argument_count - 1, &read, labelled,
                                dataset, error);
    fplt_schema_destroy(schema);
    return status;
}

const char *cli_penalty_of(const fplt_model *model)
{
    const fplt_inference *inference = fplt_model_get_view(model)->inference;
    return inference && inference->penalised ? "one" : "none";
}
