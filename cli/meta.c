/* fedplt meta: estimates of each site alone, combined. */
#include <string.h>

#include "cli.h"
#include "base/settings.h"
#include "fedplt/schema.h"
#include "report/report.h"
#include "study/meta.h"

static const fplt_setting table[] = {
    {"method", FPLT_CHOICE, 0, "reml", 0, 0, "reml|dl",
     "variance between the sites: restricted maximum likelihood, or DerSimonian and Laird", 0, 0},
    {"hartung-knapp", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "random effects with errors from the spread of the sites and Student's distribution", 0, 0},
    {"level", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "0.95", 0, 1, NULL, "of the intervals", 0, 0},
    {"forest", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "file of a forest plot of one term: .svg, .png or .pdf", 0, 0},
    {"term", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "term of the forest plot; default: the first that is not the intercept", 0, 0,
     .needs = "forest"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    {"csv", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print the combined estimates as CSV", 0, 0,
     .needs = "json=no"},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return cli_declare_labelled(settings, table, error);
}

/* A file of estimates alone, or a model and the data that each site fits it to. */
static fplt_status find_estimates(cli_call *cli, fplt__meta **meta, fplt_error *error)
{
    fplt_read_settings read = fplt_read_defaults();
    fplt_model *model = NULL;
    fplt_dataset *dataset = NULL;
    if (cli->argument_count == 1) {
        fplt_status unused = cli_reading_unused(cli, error);
        read.format = "csv";
        return unused ? unused : fplt__meta_read(cli->arguments[0], &read, meta, error);
    }
    fplt_status status = fplt_model_read(cli->arguments[0], &model, error);
    if (!status && !(status = cli_model_data(cli, model, 1, &dataset, error)))
        status = fplt__meta_fit(model, dataset, meta, error);
    fplt_dataset_destroy(dataset);
    fplt_model_destroy(model);
    return status;
}

static fplt_status draw_forest(const cli_call *cli, const fplt__meta *meta,
                               const fplt_meta_settings *settings, fplt_error *error)
{
    const char *path = fplt_settings_text(cli->settings, "forest");
    const char *name = fplt_settings_text(cli->settings, "term");
    size_t terms = fplt__meta_terms(meta), term = 0;
    if (!path)
        return FPLT_OK;
    while (term < terms && (name ? strcmp(fplt__meta_term(meta, term), name) != 0
                                 : strstr(fplt__meta_term(meta, term), "(intercept)") != NULL))
        term++;
    if (term == terms && name)
        return fplt_error_set(error, FPLT_BAD_VALUE, "term: there is no estimate of '%.100s'",
                              name);
    fplt_status status = cli_protect(cli, path, error);
    return status ? status
                  : fplt__meta_forest(meta, term < terms ? term : 0, settings, path, error);
}

static fplt_status print_json(const fplt__meta *meta, const fplt_table *sites,
                              const fplt_table *combined, fplt_error *error)
{
    json_t *notes = json_array();
    const char *note;
    for (size_t i = 0; (note = fplt__meta_note(meta, i)); i++)
        json_array_append_new(notes, json_string(note));
    return cli_print_json(json_pack("{s:o, s:o, s:o}", "sites", cli_json_table(sites), "combined",
                                    cli_json_table(combined), "notes", notes),
                          error);
}

static fplt_status print(const cli_call *cli, const fplt__meta *meta, const fplt_table *sites,
                         const fplt_table *combined, fplt_error *error)
{
    const char *note;
    char *text;
    if (fplt_settings_switch(cli->settings, "json"))
        return print_json(meta, sites, combined, error);
    if (fplt_settings_switch(cli->settings, "csv")) {
        fplt_status status = fplt_table_render(combined, FPLT_TABLE_CSV, &text, error);
        if (!status)
            fputs(text, stdout);
        fplt_free(text);
        return status;
    }
    fplt_status status = cli_print_table(sites, error);
    puts("");
    if (!status)
        status = cli_print_table(combined, error);
    printf("\nlow and high: %g %% CI\n", 100 * fplt_settings_real(cli->settings, "level"));
    for (size_t i = 0; (note = fplt__meta_note(meta, i)); i++)
        printf("%s\n", note);
    return status;
}

static fplt_status run_meta(cli_call *cli, fplt_error *error)
{
    fplt_meta_settings settings = {
        .method = strcmp(fplt_settings_text(cli->settings, "method"), "dl") == 0 ? FPLT_META_DL
                                                                                 : FPLT_META_REML,
        .hartung_knapp = fplt_settings_switch(cli->settings, "hartung-knapp"),
        .level = fplt_settings_real(cli->settings, "level")};
    fplt__meta *meta = NULL;
    fplt_table *sites = NULL, *combined = NULL;
    fplt_status status = find_estimates(cli, &meta, error);
    if (!status && !(status = fplt__meta_sites_table(meta, settings.level, &sites, error)) &&
        !(status = fplt__meta_table(meta, &settings, &combined, error)) &&
        !(status = draw_forest(cli, meta, &settings, error)))
        status = print(cli, meta, sites, combined, error);
    fplt_table_destroy(sites);
    fplt_table_destroy(combined);
    fplt__meta_destroy(meta);
    return status;
}

const cli_command cli_meta[] = {
    {.name = "meta",
     .summary = "meta-analysis: estimates of each site alone, combined by fixed and random effects",
     .arguments = "MODEL DATA... | ESTIMATES",
     .about =
         "With a model and data, fits the model's loss without a penalty at every site alone and "
         "combines the coefficients of the sites. With one CSV file with the columns site, term, "
         "estimate and std_error, combines these. Fixed effects weight a site by its precision; "
         "random effects add the variance between the sites (tau2). Q is Cochran's test of equal "
         "effects, I2 the share of the variance that is between the sites, in percent.\n\n"
         "A site whose rows do not determine the coefficients is left out and named. The model of "
         "a "
         "federation uses all rows at once and needs no such combination: this is for a "
         "comparison, "
         "and for the question whether sites differ.",
     .examples = "fedplt meta trial/model.json trial.csv\n"
                 "fedplt meta estimates.csv --hartung-knapp --forest forest.svg",
     .least = 1,
     .most = 1000000,
     .declare = declare,
     .run = run_meta},
    {.name = NULL},
};
