/* What an agent keeps of a run: the model, and with privacy the certificate and a settled ledger. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/file.h"
#include "federation/agent/agent.h"
#include "federation/agent/rules.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/privacy_plan.h"
#include "federation/plan/program.h"
#include "federation/plan/validation.h"
#include "privacy/privacy.h"
#include "promise/certificate.h"
#include "promise/promise.h"

static void path_in(const fplt__agent *agent, const char *file, char *path, size_t size)
{
    const char *out = fplt_settings_text(agent->settings, "out");
    int whole = *out == '/';
    snprintf(path, size, "%s%s%s/%s", whole ? "" : agent->folder, whole ? "" : "/", out, file);
}

/* What the account of this agent's data has against the adversary of the plan, but for this run. */
static fplt_status list_earlier(fplt__agent *agent, const fplt__agreement *agreement,
                                const fplt__digest *plan, fplt__certificate_account *account,
                                fplt_error *error)
{
    const fplt__proposal *proposal = &agreement->proposal;
    const char *named = fplt__pair_find(proposal->privacy, proposal->privacies, "threat");
    const fplt_threat *threat = fplt_privacy_threat(0);
    fplt__certificate_charge *earlier = NULL;
    size_t index = 0;
    fplt_status status = named ? fplt__privacy_threat_find(named, &threat, error) : FPLT_OK;
    if (!status)
        status = fplt__accounts_weakest(agent->ledger, agent->sets, threat, &index, error);
    if (status)
        return status;
    account->name = fplt__record_sets_account(agent->sets, index);
    status = fplt__ledger_earlier(agent->ledger, account->name, threat, plan->byte, &earlier,
                                  &account->count, error);
    account->earlier = earlier;
    return status;
}

/* What this agent can vouch for: its own charges, in this run and before. Of the others it knows that
 * they charge at most the cap. */
static fplt_status certify(fplt__agent *agent, const fplt__agreement *agreement,
                           const fplt__digest *plan, const fplt__certified *model, char **text,
                           fplt_error *error)
{
    uint32_t members = agreement->proposal.members,
             self = fplt__site_get_view(agent->site).member_index;
    fplt__certificate_account *accounts = NULL;
    fplt__receipt spent;
    uint64_t *rounds;
    fplt_status status = fplt__alloc_into(&rounds, members, sizeof *rounds, "rounds", error);
    if (!status)
        status = fplt__alloc_into(&accounts, members, sizeof *accounts, "accounts", error);
    if (!status)
        status = list_earlier(agent, agreement, plan, &accounts[self], error);
    if (!status)
        status = fplt__ledger_receipt(agent->ledger, plan->byte, &spent, error);
    for (uint32_t i = 0; !status && i < members; i++)
        rounds[i] = agreement->cap;
    if (!status) {
        rounds[self] = fplt__privacy_plan_rounds(agreement, spent.rounds);
        fplt__privacy_plan_record about = {plan, rounds, accounts, agent->folder};
        status = fplt__privacy_plan_certify(agreement, &about, model, text, error);
    }
    if (accounts)
        fplt__free((fplt__certificate_charge *)accounts[self].earlier);
    fplt__free(accounts);
    fplt__free(rounds);
    return status;
}

/* Without privacy also which disclosure rules held here. */
static char *record_of(const fplt_settings *site, const fplt__agreement *agreement,
                       const fplt__digest *plan)
{
    json_t *record = fplt__plan_resolution_record(agreement, plan);
    if (!agreement->private)
        json_object_set_new(record, "disclosure", json_string(fplt__rule_preset(site)));
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(record);
    return text;
}

/* What a run gave: x, and the model made of it, where one is made. */
struct result {
    const double *x;
    const char *record;
    fplt__certified model;
    char *certificate; /* owned; NULL: none */
};

static fplt_status save_model(const struct result *result, const fplt__agreement *agreement,
                              const char *path, fplt_error *error)
{
    char *text = NULL;
    if (result->model.model)
        return fplt_model_write(result->model.model, path, error);
    if (!result->model.document)
        return fplt__custom_write(agreement, result->x, result->record, path, error);
    fplt_status status = fplt__certificate_text(result->model.document, &text, error);
    if (!status)
        status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    return status;
}

static fplt_status write_files(fplt__agent *agent, const struct result *result,
                               const fplt__agreement *agreement, fplt_error *error)
{
    char path[4200];
    fplt_status status = FPLT_OK;
    path_in(agent, "", path, sizeof path);
    mkdir(path, 0777);
    path_in(agent, "privacy.json", path, sizeof path);
    if (result->certificate)
        status =
            fplt__file_save(path, 0666, result->certificate, strlen(result->certificate), error);
    path_in(agent, "model.json", path, sizeof path);
    if (!status && !(status = save_model(result, agreement, path, error)))
        snprintf(agent->outcome.model, sizeof agent->outcome.model, "%.500s", path);
    return status;
}

/* The numbers of a custom cost become a document only where they are certified: there may be many. */
static fplt_status make_model(const fplt__agreement *agreement, struct result *result,
                              fplt_error *error)
{
    if (!fplt__is_custom(&agreement->proposal))
        return fplt__plan_resolution_model(agreement, result->x, result->record, NULL,
                                           &result->model.model, error);
    return agreement->private ? fplt__custom_document(agreement, result->x, result->record,
                                                      &result->model.document, error)
                              : FPLT_OK;
}

/* Nothing more is spent on the run: what was kept for it is free again. */
static fplt_status settle(fplt__agent *agent, const fplt__digest *plan, fplt_error *error)
{
    return fplt__accounts_settle(agent->ledger, agent->sets, plan->byte, error);
}

static fplt_status write_model(fplt__agent *agent, const double *x, size_t dimension,
                               fplt_error *error)
{
    struct result result = {.x = x};
    fplt__agreement agreement;
    fplt__digest plan = fplt__document_hash(agent->plan, strlen(agent->plan));
    fplt_status status = fplt__agreement_read(agent->plan, strlen(agent->plan), &agreement, error);
    if (status)
        return status;
    if (dimension != agreement.plan.dimension) {
        fplt__agreement_clear(&agreement);
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the last model has %zu numbers, but its plan %zu", dimension,
                              agreement.plan.dimension);
    }
    char *record = record_of(agent->settings, &agreement, &plan);
    int leaves_out = fplt__leaves_out_fold(&agreement.proposal);
    result.record = record;
    status = make_model(&agreement, &result, error);
    if (!status && !leaves_out)
        status = fplt__disclosure_remember(agent->folder, &agreement, x, result.model.model, error);
    if (!status && agreement.private && !agent->sets) /* not built by this process */
        agent->unsettled = plan;
    else if (!status && agreement.private && !(status = settle(agent, &plan, error)))
        status = certify(agent, &agreement, &plan, &result.model, &result.certificate, error);
    /* of a refit the model stays the penalised one */
    if (!status && agreement.proposal.refit != FPLT__REFIT_THIS && !leaves_out)
        status = write_files(agent, &result, &agreement, error);
    free(record);
    fplt_free(result.certificate);
    fplt_model_destroy(result.model.model);
    json_decref(result.model.document);
    fplt__agreement_clear(&agreement);
    return status;
}

void fplt__agent_conclude(fplt__agent *agent, const fplt__site_action *action)
{
    fplt_error error = {FPLT_OK, ""};
    if (!agent->plan && action->document)
        agent->plan = fplt__strndup(action->document, action->document_size);
    agent->unwritten = action->model && agent->plan &&
                       write_model(agent, action->model, action->dimension, &error) != FPLT_OK;
    if (agent->unwritten)
        fplt__agent_log(agent, "disk", "the model was not written: %s", error.text);
    agent->outcome.finished = 1;
    agent->outcome.rounds = fplt__site_get_view(agent->site).round;
    snprintf(agent->outcome.outcome, sizeof agent->outcome.outcome, "done");
    snprintf(agent->outcome.sentence, sizeof agent->outcome.sentence, "the run is over");
    fplt__agent_record_end(agent, action->model, action->dimension);
    fplt__agent_sign_record(agent);
    fplt__agent_log(agent, "done", "the run is over%s%s",
                    *agent->outcome.model ? "; model in " : "", agent->outcome.model);
    if (fplt_settings_switch(agent->settings, "once"))
        return;
    fplt__client_disconnect(agent->client); /* a coordinator with --once waits for it */
    fplt__agent_log(agent, "waiting",
                    "for the next run, until this process is ended (Ctrl-C); with --once it ends "
                    "by itself");
}

/* The receipt that the state of the agent remembers */

fplt_status fplt__federation_adopt(const char *folder, fplt_error *error)
{
    char path[4200];
    fplt__site_store *store = NULL;
    fplt_ledger *ledger = NULL;
    fplt__receipt known;
    fplt_status status;
    snprintf(path, sizeof path, "%s/state.db", folder);
    if ((status = fplt__site_store_open(path, &store, error)))
        return status;
    snprintf(path, sizeof path, "%s/ledger.db", folder);
    if (!(status = fplt__site_store_charged(store, &known, error)) &&
        !(status = fplt_ledger_open(path, 1, &ledger, error)))
        status = fplt__ledger_adopt(ledger, &known, error);
    fplt_ledger_close(ledger);
    fplt__site_store_close(store);
    return status;
}
