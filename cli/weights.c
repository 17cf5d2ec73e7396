/* fedplt weights: inverse probability weights from a propensity model. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "base/file.h"
#include "base/text.h"
#include "fedplt/schema.h"
#include "study/weighting.h"

static const fplt_setting table[] = {
    {"estimand", FPLT_CHOICE, 0, "ate", 0, 0, "ate|att",
     "ate: the effect in all rows, weights 1/p and 1/(1 - p); att: in the treated, weights 1 and "
     "p/(1 - p)",
     0, 0},
    {"stabilised", FPLT_SWITCH, 0, "yes", 0, 0, NULL,
     "times the share of the row's group in the training of the model", 0, 0,
     .needs = "estimand=ate"},
    {"truncate", FPLT_REAL, FPLT_BELOW, "0", 0, 0.5, NULL,
     "quantile that smaller weights become, and larger ones its mirror (0.01: 1 % and 99 %) of the "
     "rows at hand; 0: none",
     0, 0},
    {"weight-bounds", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "LOW..HIGH that weights are truncated to, the same at every site of a federation", 0, 0,
     .needs = "truncate=0"},
    {"column", FPLT_TEXT, 0, "weight", 0, 0, NULL, "name of the column of weights", 0, 0,
     .needs = "out"},
    {"out", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "folder of the files with weights, under their own names; default: none are written", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    {"csv", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print the balance table as CSV", 0, 0,
     .needs = "json=no"},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return cli_declare_labelled(settings, table, error);
}

static fplt_status read_bounds(const cli_call *cli, fplt__weighting_settings *settings,
                               fplt_error *error)
{
    const char *text = fplt_settings_text(cli->settings, "weight-bounds"), *dots;
    char low[64];
    if (!text)
        return FPLT_OK;
    dots = strstr(text, "..");
    size_t length = dots ? (size_t)(dots - text) : sizeof low;
    snprintf(low, sizeof low, "%.*s", length < sizeof low ? (int)length : 0, text);
    if (!dots || fplt__parse_real(low, &settings->low) ||
        fplt__parse_real(dots + 2, &settings->high) || !(settings->low >= 0) ||
        !(settings->high > settings->low))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "weight-bounds is '%.80s', but it must be LOW..HIGH, two numbers of "
                              "at least 0 in their order, such as 0.1..10",
                              text);
    return FPLT_OK;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static fplt_status check_names(const cli_call *cli, fplt_error *error)
{
    for (size_t i = 1; i < cli->argument_count; i++)
        for (size_t k = 1; k < i; k++)
            if (strcmp(last_part(cli->arguments[i]), last_part(cli->arguments[k])) == 0)
                return fplt_error_set(error, FPLT_BAD_VALUE,
                                      "%s and %s have one name, and the files with weights keep "
                                      "theirs: call fedplt weights for each, with a folder of its "
                                      "own",
                                      cli->arguments[k], cli->arguments[i]);
    return FPLT_OK;
}

/* The text of every file is there before the first is written. */
static fplt_status write_files(cli_call *cli, const fplt__weighting *weighting, fplt_error *error)
{
    const char *folder = fplt_settings_text(cli->settings, "out");
    size_t count = cli->argument_count - 1;
    char **text, path[4096];
    fplt_status status = check_names(cli, error);
    if (!status)
        status = cli_alloc(&text, count, sizeof *text, "files", error);
    if (status)
        return status;
    for (size_t i = 0; i < count && !status; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, last_part(cli->arguments[i + 1]));
        if (!(status = cli_protect(cli, path, error)))
            status = fplt__weighting_text(weighting, i, fplt_settings_text(cli->settings, "column"),
                                          &text[i], error);
    }
    if (!status && mkdir(folder, 0777) && errno != EEXIST)
        status = fplt_error_set(error, FPLT_IO, "%s: cannot be made: %s", folder, strerror(errno));
    for (size_t i = 0; i < count && !status; i++) {
        cli->running = 1;
        snprintf(path, sizeof path, "%s/%s", folder, last_part(cli->arguments[i + 1]));
        status = fplt__file_save(path, 0666, text[i], strlen(text[i]), error);
    }
    for (size_t i = 0; i < count; i++)
        fplt_free(text[i]);
    free(text);
    return status;
}

static fplt_status print_json(const fplt__weighting *weighting, const fplt_table *groups,
                              const fplt_table *balance, fplt_error *error)
{
    double low, high, share;
    fplt__weighting_bounds(weighting, &low, &high, &share);
    return cli_print_json(json_pack("{s:o, s:o, s:o, s:o, s:o}", "low", cli_json_number(low),
                                    "high", cli_json_number(high), "treated_share",
                                    cli_json_number(share), "groups", cli_json_table(groups),
                                    "balance", cli_json_table(balance)),
                          error);
}

static fplt_status print(const cli_call *cli, const fplt__weighting *weighting,
                         const fplt_table *groups, const fplt_table *balance, fplt_error *error)
{
    double low, high, share;
    char *text;
    fplt_status status;
    if (fplt_settings_switch(cli->settings, "json"))
        return print_json(weighting, groups, balance, error);
    if (fplt_settings_switch(cli->settings, "csv")) {
        if (!(status = fplt_table_render(balance, FPLT_TABLE_CSV, &text, error)))
            fputs(text, stdout);
        fplt_free(text);
        return status;
    }
    status = cli_print_table(groups, error);
    puts("");
    if (!status)
        status = cli_print_table(balance, error);
    fplt__weighting_bounds(weighting, &low, &high, &share);
    printf("\nsmd: difference of the means of the two groups, divided by the root of the mean of "
           "their variances before weighting\n");
    if (low > 0 || !isinf(high))
        printf("weights are truncated to %.6g..%.6g\n", low, high);
    return status;
}

static fplt_status run_weights(cli_call *cli, fplt_error *error)
{
    fplt__weighting_settings settings = {
        .treated = strcmp(fplt_settings_text(cli->settings, "estimand"), "att") == 0,
        .stabilised = fplt_settings_switch(cli->settings, "stabilised"),
        .truncate = fplt_settings_real(cli->settings, "truncate"),
        .high = INFINITY};
    fplt_read_settings read;
    fplt_schema *schema = NULL;
    fplt_model *model = NULL;
    fplt__weighting *weighting = NULL;
    fplt_table *groups = NULL, *balance = NULL;
    fplt_status status = read_bounds(cli, &settings, error);
    if (!status && !(status = fplt_model_read(cli->arguments[0], &model, error)) &&
        !(status = cli_model_reading(cli, 1, &read, &schema, error)))
        status = fplt__weighting_make(model, cli->arguments + 1, cli->argument_count - 1, &read,
                                      &settings, &weighting, error);
    if (!status && !(status = fplt__weighting_groups(weighting, &groups, error)) &&
        !(status = fplt__weighting_balance(weighting, &balance, error)) &&
        fplt_settings_text(cli->settings, "out"))
        status = write_files(cli, weighting, error);
    if (!status)
        status = print(cli, weighting, groups, balance, error);
    fplt_table_destroy(groups);
    fplt_table_destroy(balance);
    fplt__weighting_destroy(weighting);
    fplt_schema_destroy(schema);
    fplt_model_destroy(model);
    return status;
}

const cli_command cli_weights[] = {
    {.name = "weights",
     .summary = "inverse probability weights from a propensity model, and the balance they give",
     .arguments = "MODEL DATA...",
     .about =
         "MODEL says how probable the second class of its label, the treatment, is for every row. "
         "The weights make the groups comparable in the columns of the model. Prints a line a "
         "group with its weights and effective rows, and the standardised mean difference of every "
         "column before and after weighting. With --out every CSV file is written again with a "
         "column of weights, for --row-weight of an outcome model, whose errors are those of "
         "`fedplt summary --robust`.\n\n"
         "The share of the treated comes from the sums that the model carries. So every site of a "
         "federation that calls this with the common model, its own file and the same "
         "--weight-bounds has the weights of one process.",
     .examples = "fedplt weights fedplt-out/model.json north.csv south.csv\n"
                 "fedplt weights fedplt-out/model.json north.csv south.csv --weight-bounds 0.1..10 "
                 "--out weighted",
     .least = 2,
     .most = 1000000,
     .declare = declare,
     .run = run_weights},
    {.name = NULL},
};
