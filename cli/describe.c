/* fedplt describe: Table 1 of a paper. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "fedplt/memory.h"
#include "fedplt/schema.h"
#include "base/settings.h"
#include "job/job.h"
#include "fedplt/noise.h"
#include "promise/release.h"
#include "study/private_table.h"
#include "study/table_one_report.h"

static const fplt_setting table_settings[] = {
    {"by", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column whose values are the strata that stand side by side", 0, 0},
    {"cross", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "tables of two columns, such as sex:disease,smoker:disease", 0, 0},
    {"grid", FPLT_INTEGER, 0, "0", 0, 100000, NULL,
     "find quantiles on a grid of this many cells between the bounds of a column, as a federation "
     "does; 0: exact quantiles",
     0, 0},
    {"column-bounds", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL,
     "bounds of columns of numbers for the grid, such as age=18..100,pressure=60..260; by default "
     "those of the schema",
     0, 0, .needs = "grid!=0"},
    {"minimum", FPLT_INTEGER, 0, "0", 0, 1000000, NULL,
     "withhold counts from 1 to below this number, and those from which they would follow; 0: "
     "nothing",
     0, 0},
    {"dominance", FPLT_REAL, 0, "0", 0, 1, NULL,
     "withhold mean and SD of a group where the distance of one row from a bound is more than this "
     "share of the distances of all its rows; 0: nowhere",
     0, 0, .needs = "grid!=0"},
    {"to", FPLT_CHOICE, 0, "text", 0, 0, "text|csv|html|latex", "form of the output", 0, 0,
     .needs = "json=no"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting reading[] = {
    {"categories", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "columns whose numbers are levels; columns with words are categories by themselves", 0, 0},
    {"columns", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "describe only these columns", 0, 0},
    {"ignore", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "columns that are not looked at", 0, 0},
    {"dates", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|days|years",
     "dates: as words, or converted to days since 1970-01-01 or to years", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = cli->config ? cli_command_find("train")->declare(cli, settings, error)
                                     : fplt_settings_add(settings, "data", cli_file_table, error);
    if (!status && !cli->config)
        status = fplt_settings_add(settings, "data", reading, error);
    if (!status && !cli->config)
        status = fplt_settings_add(settings, "privacy", fplt__release_table, error);
    return status ? status : fplt_settings_add(settings, "output", table_settings, error);
}

static fplt_read_settings read_settings(const cli_call *cli)
{
    const fplt_settings *settings = cli->settings;
    fplt_read_settings read;
    if (cli->config)
        return fplt__job_read(settings);
    read = cli_file_reading(cli);
    read.categories = fplt_settings_text(settings, "categories");
    read.columns = fplt_settings_text(settings, "columns");
    read.ignore = fplt_settings_text(settings, "ignore");
    read.dates = fplt_settings_text(settings, "dates");
    return read;
}

/* ---- output ---- */

static fplt__form form_of(const cli_call *cli)
{
    const char *form = fplt_settings_text(cli->settings, "to");
    return fplt_settings_switch(cli->settings, "json") ? FPLT__FORM_JSON
           : strcmp(form, "csv") == 0                  ? FPLT__FORM_CSV
           : strcmp(form, "html") == 0                 ? FPLT__FORM_HTML
           : strcmp(form, "latex") == 0                ? FPLT__FORM_LATEX
                                                       : FPLT__FORM_TEXT;
}

static fplt_status print(const cli_call *cli, const fplt_description *table, fplt_error *error)
{
    char *text;
    fplt_status status = fplt__table_one_report(table, form_of(cli), &text, error);
    if (status)
        return status;
    fputs(text, stdout);
    fplt_free(text);
    return FPLT_OK;
}

/* ---- with privacy ---- */

static fplt_status check_private(const cli_call *cli, fplt_error *error)
{
    static const char *const idle[] = {"minimum", "dominance"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (fplt_settings_given(cli->settings, idle[i]))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "--%s: has no effect with privacy.epsilon, whose noise protects "
                                  "every count; leave one of them out",
                                  idle[i]);
    return FPLT_OK;
}

/* Counts, adds noise, charges the ledger, and prints: in this order. */
static fplt_status describe_privately(const cli_call *cli, const char *const *paths, size_t count,
                                      fplt_describe_settings *settings, fplt_read_settings *read,
                                      fplt_error *error)
{
    fplt__private_table *made = NULL;
    fplt_description *table = NULL;
    fplt_noise *noise = NULL;
    fplt__private_scale scale;
    char *text = NULL;
    read->leave_out = 1; /* columns that the schema does not declare */
    if (!settings->cells)
        settings->cells = (uint32_t)atoi(FPLT__TABLE_ONE_GRID);
    fplt_status status = check_private(cli, error);
    if (!status &&
        !(status = fplt__private_scale_find(
              settings, fplt_settings_real(cli->settings, "privacy.epsilon"),
              fplt_settings_real(cli->settings, "privacy.delta"), &scale, error)) &&
        !(status = fplt_noise_create(&noise, error)) &&
        !(status = fplt_describe(paths, count, settings, &table, error)) &&
        !(status = fplt__private_table_make(table, &scale, noise, &made, error)) &&
        !(status = fplt__private_table_report(made, form_of(cli), &text, error)))
        status = fplt__release_charge(cli->settings, paths, count, scale.rate,
                                      "Table 1: counts and sums, discrete Gaussian noise", error);
    if (!status)
        fputs(text, stdout);
    fplt_free(text);
    fplt__private_table_destroy(made);
    fplt_description_destroy(table);
    fplt_noise_destroy(noise);
    return status;
}

static fplt_status run_describe(cli_call *cli, fplt_error *error)
{
    fplt_read_settings read = read_settings(cli);
    fplt_describe_settings settings = {
        .read = &read,
        .by = fplt_settings_text(cli->settings, "by"),
        .cross = fplt_settings_text(cli->settings, "cross"),
        .bounds = fplt_settings_text(cli->settings, "column-bounds"),
        .cells = (uint32_t)fplt_settings_integer(cli->settings, "grid"),
        .minimum = (size_t)fplt_settings_integer(cli->settings, "minimum"),
        .dominant = fplt_settings_real(cli->settings, "dominance")};
    const char *schema_path = fplt_settings_text(cli->settings, "schema");
    const char *const *paths = cli->arguments;
    size_t count = cli->argument_count;
    char **items = NULL;
    fplt_schema *schema = NULL;
    fplt_description *table = NULL;
    fplt_status status = FPLT_OK;
    if (cli->config && !(status = cli_data_files(cli, &items, &count, error)))
        paths = (const char *const *)items;
    if (!status && schema_path)
        status = fplt_schema_read(schema_path, &schema, error);
    read.schema = schema;
    if (!status && fplt_settings_given(cli->settings, "privacy.epsilon"))
        status = describe_privately(cli, paths, count, &settings, &read, error);
    else if (!status && !(status = fplt_describe(paths, count, &settings, &table, error)))
        status = print(cli, table, error);
    fplt_description_destroy(table);
    fplt_schema_destroy(schema);
    free(items);
    return status;
}

const cli_command cli_describe[] = {
    {.name = "describe",
     .summary = "Table 1: rows, missing values, means, quartiles and levels, by site and stratum",
     .arguments = "FILE...",
     .config_by_name = 1,
     .about =
         "Describes the columns of CSV files as the first table of a paper does: columns of "
         "numbers "
         "by mean (SD) and median [quartiles], categories by counts and percentages of the rows "
         "that have a value. Without --by the sites stand side by side, with --by the strata, for "
         "all sites and for each. SMD is the standardised mean difference between them, with more "
         "than two the mean over all pairs. Takes the YAML file of a training as well.\n\n"
         "--minimum 5 withholds counts from 1 to 4 (primary suppression) and as many others as are "
         "needed so that totals leave at least 5 values possible for each (secondary suppression); "
         "a count that is not known is an interval. Suppression holds for each table by itself. "
         "--grid finds quantiles on cells of equal width between declared bounds, as a federation "
         "does: they differ from the exact ones by at most the width of a cell.\n\n"
         "--privacy.epsilon 1 with a schema adds discrete Gaussian noise to all counts and sums, "
         "so that "
         "the whole table is private for every row, and prints each number with an interval. "
         "--ledger "
         "charges the records for it.",
     .examples = "fedplt describe hospitals.csv --by label\n"
                 "fedplt describe north.csv south.csv --by label --to latex > table1.tex\n"
                 "fedplt describe hospitals.csv --cross label:site --minimum 5 --json\n"
                 "fedplt describe hospitals.csv --schema hospitals.schema.yaml --privacy.epsilon 1",
     .least = 1,
     .most = 1000000,
     .declare = declare,
     .run = run_describe},
    {.name = NULL},
};
