/* fedplt describe: Table 1 of a paper. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "fedplt/schema.h"
#include "base/settings.h"
#include "base/text.h"
#include "job/job.h"
#include "report/report.h"
#include "study/table_one.h"

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

/* Prints a table in the form that was asked for, under a heading (NULL: none). */
static fplt_status print_table(const fplt_table *made, const char *heading, const char *form,
                               fplt_error *error)
{
    int html = strcmp(form, "html") == 0, latex = strcmp(form, "latex") == 0;
    char *text;
    fplt_status status =
        latex ? fplt__table_latex(made, &text, error)
              : fplt_table_render(made, html ? FPLT_TABLE_HTML : FPLT_TABLE_ALIGNED, &text, error);
    if (status)
        return status;
    if (heading)
        printf(html ? "<h2>%s</h2>\n" : latex ? "\n%% %s\n" : "\n%s\n", heading);
    fputs(text, stdout);
    fplt_free(text);
    return FPLT_OK;
}

static fplt_status print_strata(const fplt_description *table, const char *form, fplt_error *error)
{
    size_t sites = fplt__table_one_strata(table) > 1 && fplt_description_sites(table) > 2
                       ? fplt_description_sites(table)
                       : 1;
    fplt_status status = FPLT_OK;
    for (size_t s = 0; s < sites && !status; s++) {
        char heading[400];
        fplt_table *made;
        snprintf(heading, sizeof heading, s ? "site %.300s" : "all sites",
                 s ? fplt_description_site(table, s) : "");
        if (!(status = fplt_description_paper(table, s, &made, error)))
            status = print_table(made, sites > 1 ? heading : NULL, form, error);
        fplt_table_destroy(made);
    }
    return status;
}

static fplt_status print_crosses(const fplt_description *table, const char *form, fplt_error *error)
{
    size_t sites = fplt_description_sites(table) > 2 ? fplt_description_sites(table) : 1;
    fplt__table_one_cross cross;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && fplt__table_one_cross_get(table, i, &cross); i++)
        for (size_t s = 0; s < sites && !status; s++) {
            char heading[1000];
            fplt_table *made;
            snprintf(heading, sizeof heading, "%.200s by %.200s%s%.300s", cross.row, cross.column,
                     sites < 2 ? ""
                     : s       ? ", site "
                               : ", all sites",
                     s ? fplt_description_site(table, s) : "");
            if (!(status = fplt__table_one_cross_print(table, i, s, &made, error)))
                status = print_table(made, heading, form, error);
            fplt_table_destroy(made);
        }
    return status;
}

static void print_notes(const fplt_description *table, const char *form)
{
    int html = strcmp(form, "html") == 0, latex = strcmp(form, "latex") == 0;
    const char *note;
    for (size_t i = 0; (note = fplt_description_note(table, i)); i++)
        printf(html ? "<p>%s</p>\n" : latex ? "%% %s\n" : i ? "%s.\n" : "\n%s.\n", note);
}

/* Line by line; the tables of two columns behind an empty line. */
static fplt_status print_csv(const fplt_description *table, fplt_error *error)
{
    fplt__table_one_cross cross;
    fplt_status status = FPLT_OK;
    for (int part = 0; part < (fplt__table_one_cross_get(table, 0, &cross) ? 2 : 1) && !status;
         part++) {
        fplt_table *made;
        char *text = NULL;
        status = part ? fplt_description_crosses(table, &made, error)
                      : fplt_description_list(table, &made, error);
        if (!status && !(status = fplt_table_render(made, FPLT_TABLE_CSV, &text, error)))
            printf("%s%s", part ? "\n" : "", text);
        fplt_free(text);
        fplt_table_destroy(made);
    }
    return status;
}

static json_t *names_json(const fplt_description *table, int strata)
{
    json_t *made = json_array();
    size_t count = strata ? fplt__table_one_strata(table) : fplt_description_sites(table);
    for (size_t i = 1; i < count; i++)
        json_array_append_new(made, json_string(strata ? fplt__table_one_stratum(table, i)
                                                       : fplt_description_site(table, i)));
    return made;
}

static fplt_status print_json(const cli_call *cli, const fplt_description *table, fplt_error *error)
{
    fplt_table *list = NULL, *crosses = NULL;
    json_t *notes = json_array();
    const char *note;
    fplt_status status;
    for (size_t i = 0; (note = fplt_description_note(table, i)); i++)
        json_array_append_new(notes, json_string(note));
    if (!(status = fplt_description_list(table, &list, error)) &&
        !(status = fplt_description_crosses(table, &crosses, error)))
        status = cli_print_json(
            json_pack("{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:O}", "sites", names_json(table, 0),
                      "by", cli_json_text(fplt_settings_text(cli->settings, "by")), "strata",
                      names_json(table, 1), "grid",
                      (json_int_t)fplt_settings_integer(cli->settings, "grid"), "minimum",
                      (json_int_t)fplt_settings_integer(cli->settings, "minimum"), "columns",
                      cli_json_table(list), "cross", cli_json_table(crosses), "notes", notes),
            error);
    json_decref(notes);
    fplt_table_destroy(list);
    fplt_table_destroy(crosses);
    return status;
}

static fplt_status print(const cli_call *cli, const fplt_description *table, fplt_error *error)
{
    const char *form = fplt_settings_text(cli->settings, "to");
    if (fplt_settings_switch(cli->settings, "json"))
        return print_json(cli, table, error);
    if (strcmp(form, "csv") == 0)
        return print_csv(table, error);
    if (strcmp(form, "html") == 0)
        puts("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Table 1</title>\n"
             "<style>body{font-family:sans-serif}table{border-collapse:collapse}"
             "td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left}"
             ".n{text-align:right}</style>\n<h1>Table 1</h1>");
    fplt_status status = print_strata(table, form, error);
    if (!status)
        status = print_crosses(table, form, error);
    if (!status)
        print_notes(table, form);
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
        .minimum = (size_t)fplt_settings_integer(cli->settings, "minimum")};
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
    if (!status && !(status = fplt_describe(paths, count, &settings, &table, error)))
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
         "does: they differ from the exact ones by at most the width of a cell.",
     .examples = "fedplt describe hospitals.csv --by label\n"
                 "fedplt describe north.csv south.csv --by label --to latex > table1.tex\n"
                 "fedplt describe hospitals.csv --cross label:site --minimum 5 --json",
     .least = 1,
     .most = 1000000,
     .declare = declare,
     .run = run_describe},
    {.name = NULL},
};
