/* Withdrawal of rows: the next run, started at the last model, ends at the minimiser of the rows that are left; a signed
 * statement says which model replaces which. succession.c says which run that is. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"
#include "federation/coordinator/statement.h"
#include "federation/plan/control.h"
#include "federation/plan/program.h"

/* A model file: its digest, and what its record says. */
struct version {
    char digest[FPLT__HEX];
    json_t *training; /* owned */
    uint32_t last;    /* number of its run, or of the refit that followed it */
};

static uint32_t run_of(const json_t *training)
{
    return (uint32_t)json_integer_value(
        json_object_get(json_object_get(training, "federation"), "run"));
}

static uint32_t last_run(const json_t *model)
{
    const json_t *training = json_object_get(model, "training"),
                 *refit = json_object_get(json_object_get(model, "refit"), "training"),
                 *failed = json_object_get(training, "refit");
    return refit    ? run_of(refit)
           : failed ? (uint32_t)json_integer_value(json_object_get(failed, "run"))
                    : run_of(training);
}

static fplt_status read_version(const char *path, struct version *version, fplt_error *error)
{
    char *text;
    size_t size;
    memset(version, 0, sizeof *version);
    fplt_status status = fplt__statement_digest(path, version->digest, &text, &size, error);
    if (status)
        return status;
    json_t *model = json_loadb(text, size, 0, NULL);
    version->training = json_incref(json_object_get(model, "training"));
    version->last = last_run(model);
    json_decref(model);
    fplt_free(text);
    return version->training ? FPLT_OK
                             : fplt_error_set(error, FPLT_BAD_DATA, "%s: not a model", path);
}

static json_t *of_problem(const struct version *version, const char *name)
{
    return json_incref(json_object_get(json_object_get(version->training, "problem"), name));
}

static json_t *state_version(const struct version *version)
{
    json_t *federation = json_object_get(version->training, "federation");
    return json_pack("{s:s, s:O?, s:o?, s:O?, s:O?}", "model", version->digest, "run",
                     json_object_get(federation, "run"), "rows", of_problem(version, "rows"),
                     "outcome", json_object_get(version->training, "outcome"), "criterion",
                     json_object_get(version->training, "criterion"));
}

/* The statement without its signature. */
static json_t *make_statement(const char *federation, const char *member,
                              const struct version *before, const struct version *after,
                              int private)
{
    char today[32];
    time_t now = time(NULL);
    struct tm broken;
    gmtime_r(&now, &broken);
    strftime(today, sizeof today, "%Y-%m-%dT%H:%M:%SZ", &broken);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s}", "federation", federation, "member", member,
                     "time", today, "replaced", state_version(before), "replacement",
                     state_version(after), "privacy",
                     private ? "what the replaced model spent of the privacy budget stays spent"
                             : "off: anyone who has both models can compare them");
}

static fplt_status write_statement(const char *folder, json_t *statement, char path[4200],
                                   fplt_error *error)
{
    fplt__authority authority;
    fplt_status status = fplt__authority_open(folder, &authority, error);
    if (status)
        return status;
    status = fplt__statement_sign(authority.receipt, statement, error);
    fplt__authority_close(&authority);
    char *text = status ? NULL : json_dumps(statement, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_t *run = json_object_get(json_object_get(statement, "replacement"), "run");
    snprintf(path, 4200, "%s/withdrawal-%lld.json", folder, (long long)json_integer_value(run));
    if (!status)
        status = text ? fplt__file_save(path, 0666, text, strlen(text), error)
                      : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the statement");
    free(text);
    return status;
}

/* Records the run that follows run `last`, and sets `run` to the one of the settings that it follows from. */
static fplt_status prepare_successor(fplt_settings *settings, uint32_t last, const char *member,
                                     fplt_error *error)
{
    const char *folder = fplt_settings_text(settings, "folder");
    fplt__leader_store *store;
    char text[32], *answer = NULL;
    uint32_t base;
    int is_there;
    fplt_status status = fplt__control_ask(folder, "status", &is_there, &answer, error);
    fplt_free(answer);
    if (!status || is_there)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: a coordinator is running there; stop it first, the withdrawal "
                              "leads a run of its own",
                              folder);
    if ((status = fplt__coordinator_open_offline(folder, &store, error)))
        return status;
    status = fplt__coordinator_withdraw(store, last, member, &base, error);
    fplt__leader_store_close(store);
    if (status)
        return status;
    snprintf(text, sizeof text, "%u", base);
    return fplt_settings_set(settings, "run", text, "withdraw", error);
}

fplt_status fplt__federation_withdraw(fplt_settings *settings, const char *member,
                                      const fplt_federation_watch *watch,
                                      fplt_federation_outcome *outcome, char path[4200],
                                      fplt_error *error)
{
    const char *folder = fplt_settings_text(settings, "folder"),
               *out = fplt_settings_text(settings, "out");
    char model[4400];
    struct version before = {.training = NULL}, after = {.training = NULL};
    fplt_status status;
    memset(outcome, 0, sizeof *outcome);
    snprintf(model, sizeof model, "%s%s%s/model.json", *out == '/' ? "" : folder,
             *out == '/' ? "" : "/", out);
    if ((status = read_version(model, &before, error)))
        return fplt_error_prefix(error, "the model to be replaced");
    int private = json_object_get(before.training, "privacy") != NULL;
    if (!(status = prepare_successor(settings, before.last, member, error)) &&
        !(status = fplt_settings_set(settings, "once", "yes", "withdraw", error)) &&
        !(status = fplt_federation_lead(settings, watch, outcome, error)) && outcome->finished &&
        !(status = read_version(model, &after, error))) {
        json_t *statement = make_statement(fplt_settings_text(settings, "federation"), member,
                                           &before, &after, private);
        status = write_statement(folder, statement, path, error);
        json_decref(statement);
    }
    json_decref(before.training);
    json_decref(after.training);
    return status;
}
