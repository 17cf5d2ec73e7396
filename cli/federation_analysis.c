/* fedplt federation evaluate, describe, survival and survival-test: analyses over the network. */
#include <string.h>

#include "base/file.h"
#include "base/settings.h"
#include "federating.h"
#include "service.h"
#include "fedplt/federation.h"
#include "fedplt/memory.h"
#include "federation/plan/program.h"

enum { MAX_RESULT = 256 << 20, MAX_SETTINGS = 8 };

static fplt_status declare_kind(fplt_settings *settings, const char *kind, fplt_error *error)
{
    fplt_status status =
        fplt_settings_add(settings, "federation", fplt_federation_lead_table, error);
    if (!status)
        status =
            fplt_settings_add(settings, "analysis", fplt__federation_analysis_table(kind), error);
    return status ? status : fplt_settings_add(settings, "output", cli_log_table, error);
}

fplt_status cli_federation_evaluate_declare(const cli_call *cli, fplt_settings *settings,
                                            fplt_error *error)
{
    (void)cli;
    return declare_kind(settings, "evaluate", error);
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
static fplt_status lead(cli_call *cli, const char *kind, const char *model, fplt_error *error)
{
    const char *name[MAX_SETTINGS], *value[MAX_SETTINGS];
    fplt__federation_analysis wanted = {.kind = kind, .model = model, .name = name, .value = value};
    fplt_federation_watch watch = cli_federation_watch(cli->settings);
    fplt_federation_outcome outcome;
    char folder[4200];
    for (const fplt_setting *row = fplt__federation_analysis_table(kind); row->name; row++)
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
    return declare_kind(settings, "describe", error);
}

fplt_status cli_federation_describe(cli_call *cli, fplt_error *error)
{
    return lead(cli, "describe", NULL, error);
}

fplt_status cli_federation_evaluate(cli_call *cli, fplt_error *error)
{
    return lead(cli, "evaluate", cli->arguments[1], error);
}

fplt_status cli_federation_survival_declare(const cli_call *cli, fplt_settings *settings,
                                            fplt_error *error)
{
    (void)cli;
    return declare_kind(settings, "survival", error);
}

fplt_status cli_federation_survival(cli_call *cli, fplt_error *error)
{
    return lead(cli, "survival", NULL, error);
}

fplt_status cli_federation_survival_test_declare(const cli_call *cli, fplt_settings *settings,
                                                 fplt_error *error)
{
    (void)cli;
    return declare_kind(settings, "survival-test", error);
}

fplt_status cli_federation_survival_test(cli_call *cli, fplt_error *error)
{
    return lead(cli, "survival-test", cli->arguments[1], error);
}
