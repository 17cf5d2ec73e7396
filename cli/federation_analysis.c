/* fedplt federation evaluate and describe: analyses over the network. */
#include <string.h>

#include "base/file.h"
#include "base/settings.h"
#include "federating.h"
#include "service.h"
#include "fedplt/federation.h"
#include "fedplt/memory.h"
#include "federation/plan/program.h"
#include "report/score_grid.h"
#include "study/table_one_report.h"

enum { MAX_RESULT = 256 << 20, MAX_SETTINGS = 8 };

static const fplt_setting evaluate_table[] = {
    {"grid", FPLT_INTEGER, 0, "100", FPLT__SCORE_GRID_MIN, FPLT__SCORE_GRID_MAX, NULL,
     "cells of probability in which sites count their rows, a multiple of 10; sites under strict "
     "rules approve of another number than 100",
     0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting describe_table[] = {
    {"by", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column whose declared levels or classes are the strata that stand side by side", 0, 0},
    {"grid", FPLT_INTEGER, 0, FPLT__TABLE_ONE_GRID, FPLT__TABLE_ONE_GRID_MIN,
     FPLT__TABLE_ONE_GRID_MAX, NULL,
     "cells of equal width between the bounds of a column in which sites count numbers; sites "
     "under strict rules approve of another number than 20",
     0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_with(fplt_settings *settings, const fplt_setting *table,
                                fplt_error *error)
{
    fplt_status status =
        fplt_settings_add(settings, "federation", fplt_federation_lead_table, error);
    if (!status)
        status = fplt_settings_add(settings, "analysis", table, error);
    return status ? status : fplt_settings_add(settings, "output", cli_log_table, error);
}

fplt_status cli_federation_evaluate_declare(const cli_call *cli, fplt_settings *settings,
                                            fplt_error *error)
{
    (void)cli;
    return declare_with(settings, evaluate_table, error);
}

static fplt_status print_result(const char *folder, const char *kind, fplt_error *error)
{
    char path[4400], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/%s.txt", folder, kind);
    fplt_status status = fplt__file_read(path, MAX_RESULT, &text, &size, error);
    if (status)
        return status;
    fputs(text, stdout);
    fplt_free(text);
    return FPLT_OK;
}

/* The rows of the table that were given, as the analysis has them. */
static fplt_status lead(cli_call *cli, const char *kind, const char *model,
                        const fplt_setting *table, fplt_error *error)
{
    const char *name[MAX_SETTINGS], *value[MAX_SETTINGS];
    fplt__federation_analysis wanted = {.kind = kind, .model = model, .name = name, .value = value};
    fplt_federation_watch watch = cli_federation_watch(cli->settings);
    fplt_federation_outcome outcome;
    char folder[4200];
    for (const fplt_setting *row = table; row->name; row++)
        if (fplt_settings_given(cli->settings, row->name)) {
            name[wanted.settings] = row->name;
            value[wanted.settings++] = fplt_settings_text(cli->settings, row->name);
        }
    cli_protect_process();
    cli_allow_descriptors();
    fplt_status status =
        fplt__federation_analyse(cli->settings, &wanted, &watch, &outcome, folder, error);
    if (status)
        return status;
    if (!outcome.finished || strcmp(outcome.outcome, "analysed") != 0) {
        cli_federation_outcome(&outcome);
        return outcome.finished ? fplt_error_set(error, FPLT_FAILED, "%s", outcome.sentence)
                                : FPLT_OK;
    }
    return print_result(folder, kind, error);
}

fplt_status cli_federation_describe_declare(const cli_call *cli, fplt_settings *settings,
                                            fplt_error *error)
{
    (void)cli;
    return declare_with(settings, describe_table, error);
}

fplt_status cli_federation_describe(cli_call *cli, fplt_error *error)
{
    return lead(cli, "describe", NULL, describe_table, error);
}

fplt_status cli_federation_evaluate(cli_call *cli, fplt_error *error)
{
    return lead(cli, "evaluate", cli->arguments[1], evaluate_table, error);
}
