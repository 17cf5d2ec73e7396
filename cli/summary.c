/* fedplt summary: coefficients with standard errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "fedplt/inference.h"
#include "fedplt/transform.h"
#include "base/text.h"

static const fplt_setting table[] = {
    {"refit", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "fit the same loss on the data without a penalty, every row alike, and show that", 0, 0},
    {"robust", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "errors by the sandwich, right also where the loss gets the variance wrong", 0, 0},
    {"level", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "0.95", 0, 1, NULL, "of the intervals", 0, 0,
     .needs = "the penalty=none"},
    {"reference", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "levels (column=level) that the others of their category are compared with", 0, 0},
    {"units", FPLT_CHOICE, 0, "file", 0, 0, "file|model",
     "coefficients of the columns as the file has them, or as the model sees them", 0, 0,
     .needs = "the model's scale=standardised"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    {"csv", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print CSV, numbers with 17 digits", 0, 0,
     .needs = "json=no"},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return cli_declare_labelled(settings, table, error);
}

/* The refit of a federation instead of its model. */
static fplt_status copy_refit(fplt_model **model, fplt_error *error)
{
    fplt_model *refit;
    fplt_status status =
        fplt_model_create(fplt_model_get_view(fplt_model_refit(*model)), &refit, error);
    if (status)
        return status;
    fplt_model_destroy(*model);
    *model = refit;
    return FPLT_OK;
}

/* The model itself, its refit, or the one that data make of it. */
static fplt_status look(cli_call *cli, fplt_model **model, fplt_error *error)
{
    int refit = fplt_settings_switch(cli->settings, "refit");
    fplt_dataset *dataset;
    fplt_model *inferred;
    fplt_status status;
    if (cli->argument_count < 2 && !refit && fplt_model_refit(*model) &&
        fplt_model_get_view(fplt_model_refit(*model))->inference) {
        status = copy_refit(model, error);
        return status ? status : cli_reading_unused(cli, error);
    }
    if (cli->argument_count < 2)
        return refit ? fplt_error_set(error, FPLT_BAD_VALUE,
                                      "refit needs the data: fedplt summary MODEL DATA --refit")
                     : cli_reading_unused(cli, error);
    if ((status = cli_model_data(cli, *model, 1, &dataset, error)))
        return status;
    status = fplt_model_infer(*model, dataset, refit, &inferred, error);
    fplt_dataset_destroy(dataset);
    if (status)
        return status;
    fplt_model_destroy(*model);
    *model = inferred;
    return FPLT_OK;
}

/* The statistics of the fit; null where a number is not known. */
static json_t *fit_json(const fplt_fit *fit)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"rows", fit->rows},
        {"events", fit->events},
        {"parameters", fit->parameters},
        {"log_likelihood", fit->log_likelihood},
        {"null_log_likelihood", fit->null_log_likelihood},
        {"aic", fit->aic},
        {"bic", fit->bic},
        {"chi_squared", fit->chi_squared},
        {"chi_freedom", fit->chi_freedom},
        {"chi_p", fit->chi_p},
        {"pseudo_r2", fit->pseudo_r2},
        {"r2", fit->r2},
        {"adjusted_r2", fit->adjusted_r2},
        {"sigma", fit->sigma},
        {"f", fit->f},
        {"f_numerator", fit->f_numerator},
        {"f_denominator", fit->f_denominator},
        {"f_p", fit->f_p},
        {"dispersion", fit->dispersion},
    };
    json_t *made = json_object();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(made, numbers[i].name, cli_json_number(numbers[i].value));
    return made;
}

static void print_fit(const fplt_fit *fit)
{
    cli_text out = {NULL, 0, NULL};
    cli_text_format(&out, "rows %.0f", fit->rows);
    if (!isnan(fit->events))
        cli_text_format(&out, ", events %.0f", fit->events);
    if (!isnan(fit->log_likelihood))
        cli_text_format(&out, "\nlog-likelihood %.6g", fit->log_likelihood);
    if (!isnan(fit->aic))
        cli_text_format(&out, ", AIC %.6g, BIC %.6g", fit->aic, fit->bic);
    if (!isnan(fit->chi_squared))
        cli_text_format(&out,
                        "\nlikelihood-ratio test: chi-squared %.5g on %.0f degrees of freedom, p "
                        "%.3g; McFadden's R-squared %.4g",
                        fit->chi_squared, fit->chi_freedom, fit->chi_p, fit->pseudo_r2);
    if (!isnan(fit->f))
        cli_text_format(&out, "\nF %.5g on %.0f and %.0f degrees of freedom, p %.3g", fit->f,
                        fit->f_numerator, fit->f_denominator, fit->f_p);
    if (!isnan(fit->f) && !isnan(fit->r2))
        cli_text_format(&out, "; R-squared %.4g, adjusted %.4g", fit->r2, fit->adjusted_r2);
    if (!isnan(fit->dispersion))
        cli_text_format(&out, "\ndispersion %.5g on %.0f degrees of freedom (Pearson)",
                        fit->dispersion, fit->rows - fit->parameters);
    if (!isnan(fit->sigma))
        cli_text_format(&out, "\nresidual standard error %.5g on %.0f degrees of freedom",
                        fit->sigma, fit->rows - fit->parameters);
    cli_text_add(&out, "\n\n");
    cli_print_text(&out);
}

static fplt_status print_json(const fplt_table *lines, const fplt_fit *fit, const char *notes,
                              fplt_error *error)
{
    json_t *sentences = json_array();
    for (const char *end; (end = strchr(notes, '\n')); notes = end + 1)
        json_array_append_new(sentences, json_stringn(notes, (size_t)(end - notes)));
    return cli_print_json(json_pack("{s:o, s:o, s:o}", "fit", fit ? fit_json(fit) : json_null(),
                                    "coefficients", cli_json_table(lines), "notes", sentences),
                          error);
}

static fplt_status print_csv(const fplt_table *lines, fplt_error *error)
{
    char *text;
    fplt_status status = fplt_table_render(lines, FPLT_TABLE_CSV, &text, error);
    if (!status)
        fputs(text, stdout);
    fplt_free(text);
    return status;
}

/* The files a model was trained on, as its record has them; empty: they were none, or are not here. */
static void files_of(const cli_call *cli, const fplt_model *model, cli_text *out)
{
    json_t *record = json_loads(fplt_model_get_view(model)->training, 0, NULL);
    const char *list =
        json_string_value(json_object_get(json_object_get(record, "problem"), "data"));
    char file[4096];
    for (size_t i = 1; i < cli->argument_count; i++) {
        cli_text_add(out, " ");
        cli_quote(out, cli->arguments[i]);
    }
    while (cli->argument_count < 2 && list && *list) {
        list = fplt__list_next(list, file, sizeof file);
        if (access(file, R_OK)) {
            cli_text_clear(out);
            break;
        }
        cli_text_add(out, " ");
        cli_quote(out, file);
    }
    json_decref(record);
}

static void print_next(const cli_call *cli, const fplt_model *model)
{
    const fplt_inference *inference = fplt_model_get_view(model)->inference;
    cli_text files = {NULL, 0, NULL}, out = {NULL, 0, NULL};
    if (inference && inference->penalised)
        files_of(cli, model, &files);
    if (files.length) {
        cli_text_add(&out, "\nnext\n  ");
        cli_quote(&out, cli->all[0]);
        cli_text_add(&out, " summary ");
        cli_quote(&out, cli->arguments[0]);
        cli_text_format(&out, "%s --refit\n", files.text);
        cli_print_text(&out);
    }
    cli_text_clear(&files);
}

static fplt_status print(cli_call *cli, const fplt_model *model, fplt_error *error)
{
    fplt_summary_settings settings = fplt_summary_defaults();
    fplt_error unknown;
    fplt_table *lines;
    fplt_fit fit;
    char *notes;
    settings.level = fplt_settings_real(cli->settings, "level");
    settings.robust = fplt_settings_switch(cli->settings, "robust");
    settings.reference = fplt_settings_text(cli->settings, "reference");
    settings.own_units = strcmp(fplt_settings_text(cli->settings, "units"), "file") == 0;
    fplt_status status = fplt_model_summary(model, &settings, &lines, &notes, error);
    if (status)
        return status;
    int known = !fplt_model_fit(model, &fit, &unknown);
    if (fplt_settings_switch(cli->settings, "json")) {
        status = print_json(lines, known ? &fit : NULL, notes, error);
    } else if (fplt_settings_switch(cli->settings, "csv")) {
        status = print_csv(lines, error);
    } else {
        if (known)
            print_fit(&fit);
        status = cli_print_table(lines, error);
        if (!status && strcmp(cli_penalty_of(model), "none") == 0)
            printf("\nlow and high: %g %% CI\n", 100 * settings.level);
        if (*notes)
            printf("\n%s", notes);
        print_next(cli, model);
    }
    fplt_table_destroy(lines);
    fplt_free(notes);
    return status;
}

static const char *scale_of(const fplt_model *model)
{
    const fplt_transform *transform = fplt_model_get_view(model)->transform;
    return transform->radius > 0                 ? "that of shortened rows"
           : transform->mean || transform->scale ? "standardised"
                                                 : "the file's own";
}

static fplt_status run_summary(cli_call *cli, fplt_error *error)
{
    fplt_model *model = NULL;
    fplt_status status = fplt_model_read(cli->arguments[0], &model, error);
    if (!status)
        status = cli_learn(cli, "the model's scale", scale_of(model), error);
    if (!status && !(status = look(cli, &model, error)) &&
        !(status = cli_learn(cli, "the penalty", cli_penalty_of(model), error)))
        status = print(cli, model, error);
    fplt_model_destroy(model);
    return status;
}

const cli_command cli_summary[] = {
    {.name = "summary",
     .summary = "coefficients with standard errors, tests and intervals",
     .arguments = "MODEL [DATA...]",
     .about =
         "Errors come from the sum over all sites of the curvature of their losses, which `train` "
         "keeps in the model: the same numbers as from the pooled rows, though no row left its "
         "site. z is the coefficient over its error, p that of a normal distribution; least "
         "squares "
         "have t and Student's distribution instead. Odds, rate and hazard ratios are "
         "e^coefficient. With three classes or more, coefficients compare a class with the first "
         "one.\n\n"
         "A penalty shrinks coefficients towards 0, so tests and intervals of a penalised model "
         "would be invalid and are not printed. Give the data and --refit to fit the model again "
         "without a penalty; a model of a federation with `refit: yes` has that fit in it, which "
         "is "
         "shown without data. The refit omits and names columns that are constant or depend on "
         "others, and compares the levels of a category with the first one. Models trained with "
         "privacy have no standard errors, because these do not cover the privacy noise.",
     .examples = "fedplt summary fedplt-out/model.json\n"
                 "fedplt summary fedplt-out/model.json hospitals.csv --refit --robust\n"
                 "fedplt summary fedplt-out/model.json --csv > table2.csv",
     .least = 1,
     .most = 1000000,
     .declare = declare,
     .run = run_summary},
    {.name = NULL},
};
