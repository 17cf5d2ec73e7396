/* How to read data for an existing model: only what the model does not know itself. */
#include <string.h>

#include "cli.h"
#include "fedplt/inference.h"
#include "fedplt/schema.h"

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

static fplt_read_settings reading(const fplt_settings *settings)
{
    fplt_read_settings read = fplt_read_defaults();
    read.format = fplt_settings_text(settings, "format");
    if (fplt_settings_find(settings, "label")) {
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
                                      fplt_settings_origin(cli->settings, row->name), row->name,
                                      cli->arguments[0]);
    return FPLT_OK;
}

fplt_status cli_model_data(const cli_call *cli, const fplt_model *model, int labelled,
                           fplt_dataset **dataset, fplt_error *error)
{
    fplt_read_settings read = reading(cli->settings);
    const char *path = fplt_settings_text(cli->settings, "schema");
    fplt_schema *schema = NULL;
    fplt_status status = path ? fplt_schema_read(path, &schema, error) : FPLT_OK;
    *dataset = NULL;
    if (status)
        return status;
    read.schema = schema;
    if (!labelled) /* rows are answered in the order of the files: a site must not regroup them */
        read.site = "none";
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
