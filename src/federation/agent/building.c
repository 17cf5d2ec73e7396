/* From a plan to a node: the plan held against consent, data, policy, disclosure rules and ledger. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "federation/agent/consent.h"
#include "federation/agent/peers.h"
#include "federation/agent/policy.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/privacy_plan.h"
#include "federation/plan/secure_plan.h"
#include "fedplt/algorithm.h"
#include "promise/ledger.h"
#include "secagg/keys.h"

static uint64_t all_records(const fplt__agreement *agreement)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < agreement->proposal.members; i++)
        total += agreement->records[i];
    return total;
}

/* Finds the accounts of the data, and keeps there what the plan may cost. */
static fplt_status keep_budget(fplt__agent *agent, const fplt__agreement *agreement,
                               const fplt__digest *plan, fplt_error *error)
{
    const char *data = fplt_settings_text(agent->settings, "data");
    fplt__record_source source = {.files = data,
                                  .is_agent = 1,
                                  .in_memory = !data, /* those of a custom cost */
                                  .declared = fplt_settings_text(agent->settings, "ledger-account"),
                                  .setting = "ledger-account"};
    uint32_t identity = fplt__site_get_view(agent->site).member_index;
    fplt_status status = fplt__privacy_plan_cost(agreement, identity, &agent->cost, error);
    if (status)
        return status;
    fplt__ledger_budget budget = fplt__policy_budget(agent->settings, agent->cost.group);
    fplt__cost whole = agent->cost;
    fplt__cost_scale(&whole, (double)agreement->cap);
    fplt__record_sets_destroy(agent->sets);
    agent->sets = NULL;
    if ((status = fplt__record_sets_find(agent->ledger, &source, &agent->sets, error)))
        return fplt__agent_hide_reason(agent, status);
    if (!fplt__is_zero(&agent->unsettled) &&
        (status = fplt__accounts_settle(agent->ledger, agent->sets, agent->unsettled.byte, error)))
        return status;
    memset(&agent->unsettled, 0, sizeof agent->unsettled);
    return fplt__accounts_reserve(agent->ledger, agent->sets, &whole, plan->byte, &budget, error);
}

/* A private plan is computed again, and what it may cost is kept for it in the ledger. */
static fplt_status check_privacy(fplt__agent *agent, const fplt__agreement *agreement,
                                 const fplt__digest *plan, fplt_error *error)
{
    fplt_status status;
    if (!agreement->private)
        return agreement->proposal.privacies
                   ? fplt_error_set(error, FPLT_BAD_DATA,
                                    "the plan is not private, but its proposal was")
                   : FPLT_OK;
    if ((status = fplt__privacy_plan_verify(agreement, error)))
        return status;
    if ((status = keep_budget(agent, agreement, plan, error))) {
        snprintf(agent->abroad, sizeof agent->abroad, "ledger: %.400s",
                 status == FPLT_UNREACHABLE ? fplt__agent_ledger_log(agent, error->text)
                                            : "it cannot be charged; the log there says why");
        fplt_error_prefix(error, "ledger");
    }
    return status;
}

/* A run goes on with the data that it began with, to the byte. */
static fplt_status check_data(fplt__agent *agent, const fplt__digest *plan, fplt_error *error)
{
    static const fplt__digest none = {{0}};
    fplt__digest now, then;
    fplt_status status = FPLT_OK;
    if (fplt_settings_text(agent->settings, "data") || !agent->watch->cost)
        status = fplt__site_data_digest(agent->settings, &now, error);
    else /* what a custom cost reads is not known here */
        memcpy(&now, &agent->material_of, sizeof now);
    if (status || (status = fplt__site_store_data(agent->store, plan, &then, error)))
        return fplt__agent_hide_reason(agent, status);
    if (fplt__same(&then, &none))
        return fplt__agent_hide_reason(agent,
                                       fplt__site_store_set_data(agent->store, plan, &now, error));
    if (fplt__same(&now, &then))
        return FPLT_OK;
    snprintf(agent->abroad, sizeof agent->abroad, "its data were changed since this run began");
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the data file %s was changed since this run began; put it back as "
                          "it was, or wait for the next run",
                          fplt_settings_text(agent->settings, "data"));
}

/* The vector that the plan begins at, as it came; NULL: zero. */
static fplt_status read_start(const fplt__agreement *agreement, const fplt__site_action *action,
                              double **start, fplt_error *error)
{
    size_t n = agreement->plan.dimension;
    *start = NULL;
    if (fplt__is_zero(&agreement->start))
        return FPLT_OK;
    fplt__digest digest = fplt__hash_bytes(action->start, action->start_size);
    if (action->start_size != 8 * n || !fplt__same(&digest, &agreement->start))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the start that the coordinator sends is not the one its plan names");
    fplt_status status = fplt__alloc_into(start, n, sizeof **start, "the start", error);
    if (status)
        return status;
    fplt__get_reals(action->start, *start, n);
    for (size_t j = 0; j < n; j++)
        if (!isfinite((*start)[j]))
            status = fplt_error_set(error, FPLT_BAD_DATA, "the start of the plan is not finite");
    return status;
}

/* By the curvature of this site's own cost. */
static fplt_status check_step(fplt__agent *agent, const fplt__agreement *agreement,
                              fplt_error *error)
{
    fplt_curvature_bounds bend;
    if (agreement->private)
        return FPLT_OK;
    fplt_status status =
        fplt__agent_hide_reason(agent,
                                fplt__local_data_curvature_bounds(agent->material, &bend, error));
    return status ? status
                  : fplt__disclosure_judge_step(agent->settings, agreement, bend.everywhere.highest,
                                                error);
}

/* A plan has numbers exactly where its formula needs some. */
static fplt_status check_polynomials(fplt__agent *agent, const fplt__agreement *agreement,
                                     fplt_error *error)
{
    const char *numbers = fplt__pair_find(agreement->resolved, agreement->resolves, "formula");
    if (!numbers != !fplt__local_data_formula(agent->material)->polys.count)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan and its formula differ in polynomials");
    if (!numbers)
        return FPLT_OK;
    return fplt__agent_hide_reason(agent, fplt__local_data_expand(agent->material, numbers,
                                                                  agent->abroad, error));
}

/* The rows get the columns of the plan, which must be what it says in numbers. */
static fplt_status check_columns(fplt__agent *agent, const fplt__agreement *agreement,
                                 fplt_error *error)
{
    fplt__form stated, own;
    fplt_status status = fplt__agreement_form(agreement, &stated, error);
    if (status)
        return status;
    if (fplt__is_custom(&agreement->proposal))
        return agreement->dictionary || agreement->shifts || agreement->fills || agreement->balances
                   ? fplt_error_set(error, FPLT_BAD_DATA,
                                    "the plan says what columns are, but its cost is a custom one")
                   : FPLT_OK;
    if (!agreement->dictionary != !!agreement->proposal.schema)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              agreement->dictionary
                                  ? "the plan has names of columns besides its schema"
                                  : "the plan does not say what the columns of the run are");
    if (agreement->dictionary &&
        (status = fplt__agent_hide_reason(agent, fplt__local_data_settle(agent->material,
                                                                         agreement->dictionary,
                                                                         agent->abroad, error))))
        return status;
    if ((status = fplt__agent_hide_reason(agent, fplt__agent_prepare_by(agent, agreement, error))))
        return status;
    if ((status = check_polynomials(agent, agreement, error)))
        return status;
    own = fplt__local_data_form(agent->material);
    if (own.task != stated.task || own.features != stated.features || own.outputs != stated.outputs)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan has %zu features and %u classes, but its columns give %zu "
                              "and %u",
                              stated.features, stated.outputs, own.features, own.outputs);
    /* levels of other sites may have added columns, and with them parameters */
    return fplt__agent_judge_question(agent, &agreement->proposal, &agent->material_of, 1, error);
}

/* Who the sums of a secure plan are over: the identities that it names, and what to compare by telephone. */
static fplt_status check_peers(fplt__agent *agent, const fplt__agreement *agreement,
                               uint32_t member_index, fplt_error *error)
{
    char roster[FPLT__SECAGG_ROSTER_TEXT];
    fplt__buffer sums = {NULL, 0, 0, FPLT_OK};
    int verified;
    if (!agreement->proposal.secure)
        return FPLT_OK;
    fplt_status status = fplt__peers_meet(agent->settings, agent->folder, agreement, member_index,
                                          agent->identity.visible, &verified, error);
    if (status)
        return status;
    fplt__secagg_roster(agreement->identities, agreement->proposal.members, roster);
    fplt__secure_plan_show(&agreement->proposal, &sums);
    fplt__agent_log(agent, "secure", "%s; the roster is %s, %s", sums.text ? sums.text : "", roster,
                    verified ? "as pinned in site.yaml"
                             : "as met first: this does not protect against a malicious operator "
                               "before all sites have compared these groups by telephone");
    fplt__buffer_clear(&sums);
    return FPLT_OK;
}

static fplt_status build_node(fplt__agent *agent, const fplt__site_action *action,
                              fplt__agreement *agreement, fplt_node **node, fplt_error *error)
{
    fplt__site_view view = fplt__site_get_view(agent->site);
    fplt__proposal proposal;
    fplt__digest hash;
    fplt_status status = fplt__agent_proposal_of(action, &proposal, &hash, error);
    if (status)
        return status;
    agent->pooled = fplt__questions_pool(agreement);
    int agreed = view.consented || fplt__same(&hash, &agent->agreed_to);
    status = fplt__agent_judge_proposal(agent, &proposal, &hash, agreed, error);
    fplt__proposal_clear(&proposal);
    if (status)
        return status;
    if (agreement->records[view.member_index] != fplt__local_data_records(agent->material))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the data have %llu records now, but the plan says %llu; a run needs "
                              "the data it began with",
                              (unsigned long long)fplt__local_data_records(agent->material),
                              (unsigned long long)agreement->records[view.member_index]);
    if ((status = fplt__plan_resolution_follow(agreement, error)) ||
        (status = fplt__policy_judge_plan(agent->settings, agreement, error)) ||
        (status = check_peers(agent, agreement, view.member_index, error)) ||
        (status = fplt__disclosure_judge_start(agent->settings, agent->folder, agreement, error)) ||
        (status = check_data(agent, &action->hash, error)) ||
        (status = check_columns(agent, agreement, error)) ||
        (status =
             fplt__disclosure_judge_algorithm(&agent->hessian, agreement->plan.algorithm, error)) ||
        (status = check_privacy(agent, agreement, &action->hash, error)) ||
        (status = fplt__agent_hide_reason(
             agent, fplt__local_data_shape(agent->material, agreement, agreement->proposal.members,
                                           all_records(agreement), error))))
        return status;
    double *start;
    if ((status = check_step(agent, agreement, error)))
        return status;
    if (!(status = read_start(agreement, action, &start, error)))
        status = fplt__agent_hide_reason(agent, fplt__local_data_node(agent->material, agreement,
                                                                      view.member_index, start,
                                                                      node, error));
    fplt__free(start);
    return status;
}

static void tell_plan(const fplt__agent *agent, const fplt__agreement *agreement,
                      const fplt__digest *plan)
{
    char hash[FPLT__HEX];
    fplt__hex(plan, sizeof *plan, hash);
    fplt__agent_log(agent, "plan", "%.16s... of run %u: %s, at most %llu rounds%s%s", hash,
                    agreement->proposal.run, agreement->plan.algorithm->name,
                    (unsigned long long)agreement->rounds,
                    agreement->private ? ", with privacy" : "",
                    fplt__is_zero(&agreement->start) ? "" : ", from an earlier model");
}

/* The plan begins at a vector that has not come yet. */
static int lacks_start(const fplt__agreement *agreement, const fplt__site_action *action)
{
    return !fplt__is_zero(&agreement->start) && !action->start;
}

/* The coordinator hears the setting, but not the file that it stands in. */
static void withhold_information(const fplt__agent *agent, const char *reason,
                                 fplt__site_plan *plan)
{
    const char *setting = strstr(reason, "policy.");
    plan->withholds = 1u << FPLT__INFORMATION;
    snprintf(plan->reason, sizeof plan->reason, "no sums for standard errors: %.200s",
             setting ? setting : reason);
    fplt__agent_log(agent, "withheld", "no sums for standard errors leave: %s", reason);
}

void fplt__agent_build(fplt__agent *agent, const fplt__site_action *action)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__site_plan plan = {.agreement = NULL};
    int lacks = 0;
    fplt_status status =
        fplt__alloc_into(&plan.agreement, 1, sizeof *plan.agreement, "a plan", &error);
    if (!status && !(status = fplt__agreement_read(action->document, action->document_size,
                                                   plan.agreement, &error))) {
        lacks = lacks_start(plan.agreement, action);
        if (lacks || (status = build_node(agent, action, plan.agreement, &plan.node, &error)))
            fplt__agreement_clear(plan.agreement);
    }
    if (status || lacks) {
        fplt__site_event event = {.kind = FPLT__SITE_LACKS};
        fplt__free(plan.agreement);
        if (status)
            fplt__agent_record_decision(agent, action, NULL, error.text);
        if (status)
            fplt__agent_refuse(agent, error.text);
        else
            fplt__agent_handle(agent, &event);
        return;
    }
    tell_plan(agent, plan.agreement, &action->hash);
    fplt__agent_record_decision(agent, action, &plan.agreement->proposal, NULL);
    fplt__guard_begin(&agent->guard, agent->settings, plan.agreement);
    fplt__free(agent->plan);
    agent->plan = fplt__strndup(action->document, action->document_size);
    if (agent->hessian.word == FPLT__HESSIAN_NO && !agent->hessian.informs)
        withhold_information(agent, agent->hessian.reason, &plan);
    else if (fplt__agent_judge_refit(agent, plan.agreement, &error))
        withhold_information(agent, error.text, &plan);
    fplt__site_event event = {.kind = FPLT__SITE_BUILT, .plan = &plan};
    fplt__agent_handle(agent, &event);
}
