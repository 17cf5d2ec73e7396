#include "federation/plan/privacy_plan.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "federation/plan/secure_plan.h"
#include "promise/promise.h"
#include "fedplt/algorithm.h"

#define SPARE_SHARE        0.05
#define SECURE_SPARE_SHARE 0.1 /* an agent that is restarted makes a round void for all */

fplt_status fplt__privacy_plan_needs_schema(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "privacy: columns, bounds and classes are declared and not read from the "
                          "records; add `schema: FILE` (fedplt data schema drafts one)");
}

uint32_t fplt__privacy_plan_present(const fplt_algorithm *algorithm, const fplt__proposal *proposal)
{
    if (!(algorithm->allows & FPLT_ALLOWS_PARTIAL) || proposal->quorum == proposal->members)
        return 0;
    if (proposal->secure)
        return fplt__secure_threshold(proposal);
    return proposal->quorum ? proposal->quorum : 1;
}

fplt_status fplt__privacy_plan_make(const fplt__plan_resolution *terms,
                                    const fplt__proposal *proposal, const uint64_t *records,
                                    fplt_promise **promise, fplt_error *error)
{
    const char **names;
    *promise = NULL;
    if (!terms->schema && !terms->source.own_costs)
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
                          .quorum = fplt__privacy_plan_present(terms->job.run.algorithm, proposal)};
    if (fplt_settings_is_auto(terms->settings, "privacy.spare"))
        roster.spare_share = proposal->secure ? SECURE_SPARE_SHARE : SPARE_SHARE;
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
