/* The promise of a plan, computed again from its proposal and records: an agent compares it with what the plan states,
 * and both sides take costs and certificates from it. */
#include "federation/plan/privacy_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/text.h"
#include "data/schema_access.h"
#include "federation/plan/custom_model.h"
#include "promise/key.h"
#include "promise/promise.h"
#include "report/model.h"
#include "fedplt/algorithm.h"

/* What two sides compute from the same numbers differs by rounding alone. */
#define ROUNDING 1e-9

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
    return text && !fplt__parse_real(text, &value) ? value : NAN;
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
        {"unit", stated->plan.unit, own->plan.unit},
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

/* The form of the data, as public as the proposal that declares it. */
static fplt_status declared_form(const fplt__proposal *settled, fplt__form *form, fplt_error *error)
{
    fplt_schema *schema;
    if (fplt__is_custom(settled)) {
        *form = fplt__custom_form(settled);
        return FPLT_OK;
    }
    fplt_status status = fplt__proposal_schema(settled, &schema, error);
    if (status)
        return status;
    status = schema ? fplt__proposal_form(settled, schema, form, error)
                    : fplt_error_set(error, FPLT_BAD_DATA, "a private plan without a schema");
    fplt_schema_destroy(schema);
    return status;
}

static fplt_status agree_again(const fplt__agreement *agreement, const fplt__proposal *settled,
                               fplt_error *error)
{
    fplt__agreement own;
    fplt__gathered gathered = {.records = agreement->records, .identities = agreement->identities};
    fplt_status status = declared_form(settled, &gathered.form, error);
    if (status || (status = fplt__plan_resolution_agree(settled, &gathered, &own, error)))
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
    int waits = !fplt__privacy_plan_present(agreement->plan.algorithm, &agreement->proposal);
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

/* Signed by the key of this side. */
static fplt_status certify(const fplt_promise_view *view, fplt__certificate_run *run,
                           const char *folder, const fplt__certified *model, char **text,
                           fplt_error *error)
{
    json_t *certificate = NULL;
    fplt_key key;
    fplt_status status = fplt__key_of_folder(folder, &key, error);
    if (status)
        return status;
    status = model->document
                 ? fplt__certificate_bind(view, run, &key, model->document, &certificate, error)
                 : fplt__model_certify(model->model, view, run, &key, &certificate, error);
    fplt_key_clear(&key);
    if (!status)
        status = fplt__certificate_text(certificate, text, error);
    json_decref(certificate);
    return status;
}

fplt_status fplt__privacy_plan_certify(const fplt__agreement *agreement,
                                       const fplt__privacy_plan_record *about,
                                       const fplt__certified *model, char **text, fplt_error *error)
{
    struct pledged made;
    fplt__certificate_run run;
    *text = NULL;
    fplt_status status = fplt__certificate_begin(&run, error);
    if (status)
        return status;
    memcpy(run.id, about->plan, sizeof run.id);
    run.rounds = about->rounds;
    run.accounts = about->accounts;
    run.released_start = !fplt__is_zero(&agreement->start);
    run.excluded = *agreement->proposal.excluded ? agreement->proposal.excluded : NULL;
    if (!(status = promise_of(agreement, &made, error))) {
        run.schema = made.terms.schema ? fplt__schema_digest(made.terms.schema) : NULL;
        run.drafted = fplt_promise_get_view(made.promise)->drafted;
        status =
            certify(fplt_promise_get_view(made.promise), &run, about->folder, model, text, error);
    }
    pledged_clear(&made);
    return status;
}
