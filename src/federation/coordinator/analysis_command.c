/* `fedplt federation evaluate`: an analysis is stated in the settings, numbered and led. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fedplt/federation.h"
#include "base/buffer.h"
#include "federation/plan/program.h"
#include "store/leader.h"

/* A comma, an equals sign or a backslash is part of the value. */
static void add_setting(const char *name, const char *value, fplt__buffer *pairs)
{
    fplt__buffer_format(pairs, "%s%s=", pairs->length ? "," : "", name);
    for (; *value; value++)
        fplt__buffer_format(pairs, "%s%c", strchr(",=\\", *value) ? "\\" : "", *value);
}

static fplt_status state_analysis(fplt_settings *settings, const fplt__federation_analysis *wanted,
                                  fplt_error *error)
{
    fplt__buffer pairs = {NULL, 0, 0, FPLT_OK};
    char *model = wanted->model ? realpath(wanted->model, NULL) : NULL;
    add_setting("kind", wanted->kind, &pairs);
    if (wanted->model)
        add_setting("model", model ? model : wanted->model, &pairs);
    for (size_t i = 0; i < wanted->settings; i++)
        add_setting(wanted->name[i], wanted->value[i], &pairs);
    free(model);
    fplt_status status =
        pairs.status ? fplt_error_set(error, pairs.status, "no memory for an analysis")
                     : fplt_settings_set(settings, "analysis", pairs.text, wanted->kind, error);
    fplt__buffer_clear(&pairs);
    return status;
}

/* The analysis that is not over goes on; otherwise it is the next one. */
fplt_status fplt_federation_next_analysis(const char *folder, uint32_t *run, fplt_error *error)
{
    char path[4200];
    fplt__leader_store *store;
    fplt__leader_loaded loaded;
    *run = 0;
    snprintf(path, sizeof path, "%s/analysis.db", folder);
    if (access(path, F_OK) == 0) {
        fplt_status status = fplt__leader_store_open(path, &store, error);
        if (!status)
            status = fplt__leader_store_newest(store, 0, run, error);
        if (!status && *run &&
            !(status = fplt__leader_store_load_end(store, *run, &loaded, error))) {
            *run += loaded.record.state != FPLT__FORMING;
            fplt__leader_loaded_clear(&loaded);
        }
        fplt__leader_store_close(store);
        if (status)
            return status;
    }
    *run += *run == 0;
    return FPLT_OK;
}

static fplt_status number_analysis(fplt_settings *settings, fplt_error *error)
{
    char text[32];
    uint32_t run;
    fplt_status status =
        fplt_federation_next_analysis(fplt_settings_text(settings, "folder"), &run, error);
    if (status)
        return status;
    snprintf(text, sizeof text, "%u", run);
    return fplt_settings_set(settings, "run", text, "analysis", error);
}

fplt_status fplt__federation_analyse(fplt_settings *settings,
                                     const fplt__federation_analysis *wanted,
                                     const fplt_federation_watch *watch,
                                     fplt_federation_outcome *outcome, char folder[4200],
                                     fplt_error *error)
{
    const char *out = fplt_settings_text(settings, "out"),
               *in = fplt_settings_text(settings, "folder");
    int is_whole = *out == '/';
    fplt_status status;
    memset(outcome, 0, sizeof *outcome);
    snprintf(folder, 4200, "%s%s%s", is_whole ? "" : in, is_whole ? "" : "/", out);
    if ((status = state_analysis(settings, wanted, error)) ||
        (status = number_analysis(settings, error)) ||
        (status = fplt_settings_set(settings, "continue", "no", "analysis", error)) ||
        (status = fplt_settings_set(settings, "once", "yes", "analysis", error)))
        return status;
    return fplt_federation_lead(settings, watch, outcome, error);
}
