#include "federation/plan/privacy_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "promise/promise.h"

const fplt_setting fplt__privacy_plan_table[] = {
    {"privacy.spare", FPLT_INTEGER, FPLT_AUTO, "auto", 0, 9007199254740992.0, NULL,
     "rounds that an agent may compute once more and that are paid for: what was lost on the way, "
     "or "
     "came late; auto: 5 % of the rounds, at least 1",
     0, 0, .needs = "privacy.epsilon,privacy.tau"},
    {"privacy.start", FPLT_CHOICE, 0, "zero", 0, 0, "zero|released",
     "where the run begins; released: at the model of an earlier private run, as `continue` says",
     0, 0, .needs = "privacy.epsilon,privacy.tau"},
    FPLT_SETTINGS_END,
};

#define SPARE_SHARE 0.05

/* What two sides compute from the same numbers differs by rounding alone. */
#define ROUNDING 1e-9

fplt_status fplt__privacy_plan_check(const fplt_settings *settings, fplt_error *error)
{
    const char *threat = fplt_settings_text(settings, "privacy.threat");
    if (!fplt_promise_wanted(settings))
        return FPLT_OK;
    if (fplt_settings_switch(settings, "privacy.diagnose"))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "privacy: diagnose has no place in a federation: losses without noise "
            "do not leave an agent; leave it out");
    if (strcmp(threat, "transcript") != 0 && strcmp(threat, "broadcast") != 0)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "privacy: threat is %s, but over a network the coordinator sees every "
            "message; transcript or broadcast",
            threat);
    return FPLT_OK;
}

fplt_status fplt__privacy_plan_needs_schema(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "privacy: columns, bounds and classes are declared and not read from the "
                          "records; add `schema: FILE` (fedplt data schema drafts one)");
}

/* Agents that are in every round; 0: a round waits for all. */
static uint32_t least_present(const fplt__plan_resolution *terms, const fplt__proposal *proposal)
{
    if (!(terms->job.run.algorithm->allows & FPLT_ALLOWS_PARTIAL))
        return 0;
    return proposal->quorum ? proposal->quorum : 1;
}

fplt_status fplt__privacy_plan_make(const fplt__plan_resolution *terms,
                                    const fplt__proposal *proposal, const uint64_t *records,
                                    fplt_promise **promise, fplt_error *error)
{
    const char **names;
    *promise = NULL;
    if (!terms->schema)
        return fplt__privacy_plan_needs_schema(error);
    fplt_status status =
        fplt__alloc_into(&names, proposal->members, sizeof *names, "the roster", error);
    if (status)
        return status;
    FPLT__ASSERT(records);
    for (uint32_t i = 0; i < proposal->members; i++)
        names[i] = proposal->roster[i];
    fplt_roster roster = {.agents = proposal->members,
                          .records = records,
                          .names = names,
                          .schema = terms->schema,
                          .quorum = least_present(terms, proposal)};
    if (fplt_settings_is_auto(terms->settings, "privacy.spare"))
        roster.spare_share = SPARE_SHARE;
    else
        roster.spare = (uint64_t)fplt_settings_integer(terms->settings, "privacy.spare");
    status = fplt__promise_outlined(terms->settings, &terms->source, &terms->job, &roster, promise,
                                    error);
    fplt__free(names);
    return status;
}

void fplt__privacy_plan_apply(const fplt_promise_view *view, fplt__plan_resolution *terms)
{
    fplt_run_settings *run = &terms->job.run;
    memcpy(terms->job.parameter, view->parameter, sizeof terms->job.parameter);
    FPLT__ASSERT(view->epochs > 0 && view->rounds > 0);
    FPLT__ASSERT(view->rounds <= view->mechanism.rounds);
    run->training.step = view->mechanism.step;
    run->training.epochs = view->epochs;
    run->rounds = view->rounds;
    run->tolerance = run->change = 0;
    run->evaluate_every = 0;
}

fplt_status fplt__privacy_plan_state(const fplt_promise *promise, fplt__agreement *agreement,
                                     fplt_error *error)
{
    const fplt_promise_view *view = fplt_promise_get_view(promise);
    fplt_status status = fplt_promise_resolve(promise, &agreement->plan, error);
    FPLT__ASSERT(view->agents == agreement->proposal.members && agreement->tau && agreement->rate);
    FPLT__ASSERT(agreement->rounds <= view->mechanism.rounds);
    agreement->private = 1;
    agreement->cap = view->mechanism.rounds;
    agreement->curvature = view->curvature;
    for (uint32_t i = 0; !status && i < view->agents; i++) {
        agreement->tau[i] = view->tau[i];
        status = fplt__promise_rate(view, i, 1, &agreement->rate[i], error);
    }
    return status;
}

/* Verification */

struct comparison {
    const char *what;
    double stated, own;
};

static int differ(double a, double b)
{
    return !(a == b || fabs(a - b) <= ROUNDING * fmax(fabs(a), fabs(b)));
}

static fplt_status object_to(const char *what, double stated, double own, fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the plan's %s is %.9g, but from its proposal and records follows %.9g",
                          what, stated, own);
}

static fplt_status compare_members(const fplt__agreement *stated, const fplt__agreement *own,
                                   fplt_error *error)
{
    char what[FPLT__NAME + 20];
    for (uint32_t i = 0; i < own->proposal.members; i++) {
        snprintf(what, sizeof what, "tau of %s", own->proposal.roster[i]);
        if (differ(stated->tau[i], own->tau[i]))
            return object_to(what, stated->tau[i], own->tau[i], error);
        snprintf(what, sizeof what, "rate of %s", own->proposal.roster[i]);
        if (differ(stated->rate[i], own->rate[i]))
            return object_to(what, stated->rate[i], own->rate[i], error);
    }
    return FPLT_OK;
}

static double resolved(const fplt__agreement *agreement, const char *name)
{
    const char *text = fplt__pair_find(agreement->resolved, agreement->resolves, name);
    double value;
    return text && !fplt_parse_real(text, &value) ? value : NAN;
}

static fplt_status compare(const fplt__agreement *stated, const fplt__agreement *own,
                           fplt_error *error)
{
    const struct comparison all[] = {
        {"privacy", stated->private, own->private},
        {"dimension", (double)stated->plan.dimension, (double)own->plan.dimension},
        {"number of rounds", (double)stated->rounds, (double)own->rounds},
        {"cap", (double)stated->cap, (double)own->cap},
        {"step", resolved(stated, "gamma"), resolved(own, "gamma")},
        {"number of epochs", resolved(stated, "epochs"), resolved(own, "epochs")},
        {"common step", stated->plan.step, own->plan.step},
        {"least curvature", stated->curvature.lowest, own->curvature.lowest},
        {"largest curvature", stated->curvature.highest, own->curvature.highest},
        {"interval of measuring", stated->evaluate_every, own->evaluate_every},
    };
    if (stated->plan.algorithm != own->plan.algorithm)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan's algorithm is %s, but the proposal's %s",
                              stated->plan.algorithm->name, own->plan.algorithm->name);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (differ(all[k].stated, all[k].own))
            return object_to(all[k].what, all[k].stated, all[k].own, error);
    size_t parameters = fplt_algorithm_parameters(own->plan.algorithm);
    for (size_t k = 0; k < parameters; k++)
        if (differ(stated->plan.parameter[k], own->plan.parameter[k]))
            return object_to(own->plan.algorithm->settings[k].name, stated->plan.parameter[k],
                             own->plan.parameter[k], error);
    return compare_members(stated, own, error);
}

/* The proposal of a plan with what the plan chose, so that nothing is searched for again. */

static fplt_status settle_parameters(const fplt_plan *plan, fplt__proposal *proposal,
                                     fplt_error *error)
{
    const fplt_setting *row = plan->algorithm->settings;
    fplt_status status = FPLT_OK;
    char text[32];
    for (size_t k = 0; !status && row && row[k].name; k++) {
        snprintf(text, sizeof text, "%.17g", plan->parameter[k]);
        if (row[k].kind == FPLT_REAL && row[k].flags & FPLT_AUTO && isfinite(plan->parameter[k]))
            status = fplt__proposal_set(proposal, row[k].name, text, error);
    }
    return status;
}

static fplt_status settled_proposal(const fplt__agreement *agreement, fplt__proposal *proposal,
                                    fplt_error *error)
{
    static const char *const names[] = {"epochs", "gamma"};
    char rounds[32];
    fplt_status status = fplt__proposal_copy(&agreement->proposal, proposal, error);
    for (size_t i = 0; !status && i < sizeof names / sizeof *names; i++) {
        const char *value = fplt__pair_find(agreement->resolved, agreement->resolves, names[i]);
        status = value
                     ? fplt__proposal_set(proposal, names[i], value, error)
                     : fplt_error_set(error, FPLT_BAD_DATA, "the plan does not say `%s`", names[i]);
    }
    snprintf(rounds, sizeof rounds, "%llu", (unsigned long long)agreement->rounds);
    if (!status)
        status = fplt__proposal_set(proposal, "rounds", rounds, error);
    return status ? status : settle_parameters(&agreement->plan, proposal, error);
}

static fplt_status agree_again(const fplt__agreement *agreement, const fplt__proposal *settled,
                               fplt_error *error)
{
    fplt__agreement own;
    fplt_schema *schema;
    fplt_status status = fplt__plan_resolution_schema(settled, &schema, error);
    if (status)
        return status;
    if (!schema)
        return fplt_error_set(error, FPLT_BAD_DATA, "a private plan without a schema");
    fplt__gathered gathered = {.form = fplt__schema_form(schema), .records = agreement->records};
    fplt_schema_destroy(schema);
    if ((status = fplt__plan_resolution_agree(settled, &gathered, &own, error)))
        return status;
    status = compare(agreement, &own, error);
    fplt__agreement_clear(&own);
    return status;
}

fplt_status fplt__privacy_plan_verify(const fplt__agreement *agreement, fplt_error *error)
{
    fplt__proposal settled;
    if (!agreement->proposal.privacies)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the plan is private, but its proposal was not");
    fplt_status status = settled_proposal(agreement, &settled, error);
    if (!status)
        status = agree_again(agreement, &settled, error);
    fplt__proposal_clear(&settled);
    return status;
}

/* Certificate */

uint64_t fplt__privacy_plan_rounds(const fplt__agreement *agreement, uint64_t charged)
{
    FPLT__ASSERT(agreement->private && agreement->plan.algorithm);
    int waits = !(agreement->plan.algorithm->allows & FPLT_ALLOWS_PARTIAL);
    return waits || charged > agreement->cap ? agreement->cap : charged;
}

/* The promise of a plan, made again; `made` and all that it borrows live until pledged_clear. */
struct pledged {
    fplt__proposal settled;
    fplt__plan_resolution terms;
    fplt_promise *promise;
};

static fplt_status promise_of(const fplt__agreement *agreement, struct pledged *made,
                              fplt_error *error)
{
    fplt__form form;
    fplt_status status;
    memset(made, 0, sizeof *made);
    if ((status = settled_proposal(agreement, &made->settled, error)) ||
        (status = fplt__agreement_form(agreement, &form, error)) ||
        (status = fplt__plan_resolution_of(&made->settled, &form, &made->terms, error)))
        return status;
    return fplt__privacy_plan_make(&made->terms, &made->settled, agreement->records, &made->promise,
                                   error);
}

static void pledged_clear(struct pledged *made)
{
    fplt_promise_destroy(made->promise);
    fplt__plan_resolution_clear(&made->terms);
    fplt__proposal_clear(&made->settled);
}

fplt_status fplt__privacy_plan_cost(const fplt__agreement *agreement, uint32_t member,
                                    fplt__cost *cost, fplt_error *error)
{
    struct pledged made;
    fplt_status status = promise_of(agreement, &made, error);
    FPLT__ASSERT(member < agreement->proposal.members);
    if (!status)
        status = fplt__promise_cost(fplt_promise_get_view(made.promise), member, 1, cost, error);
    pledged_clear(&made);
    return status;
}

fplt_status fplt__privacy_plan_certificate(const fplt__agreement *agreement,
                                           const fplt__digest *plan, const uint64_t *rounds,
                                           const fplt_certificate_account *accounts,
                                           const fplt_model *model, char **text, fplt_error *error)
{
    struct pledged made;
    fplt_certificate_run run;
    *text = NULL;
    fplt_status status = fplt_certificate_begin(&run, error);
    if (status || (status = fplt_model_digest(model, run.model, error)))
        return status;
    memcpy(run.id, plan, sizeof run.id);
    run.rounds = rounds;
    run.accounts = accounts;
    run.released_start = !fplt__is_zero(&agreement->start);
    if (!(status = promise_of(agreement, &made, error))) {
        run.schema = fplt_schema_digest(made.terms.schema);
        status =
            fplt_certificate_make(fplt_promise_get_view(made.promise), &run, NULL, text, error);
    }
    pledged_clear(&made);
    return status;
}
