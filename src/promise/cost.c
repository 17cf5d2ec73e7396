/* What a run costs its records, against every adversary.
 *
 * A rate against an adversary is that of his view of the run together with what the run hands out,
 * since a released model is seen by everybody. The view of `transcript` contains all others
 * (post-processing); a final y is a function of the broadcasts, these of the sums, these of the
 * messages; the final local models are a function of the messages alone. A run that hands out the
 * coordinator's y therefore costs `final-x` as much as `final-y`, and only a run that hands out the
 * mean of the x costs it what Theorem F proves. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "fedplt/algorithm.h"
#include "fedplt/solver.h"
#include "privacy/claim.h"
#include "privacy/privacy.h"
#include "promise/promise.h"

/* The threat model whose claim covers what the adversary sees of this run. */
static fplt_status covering(const fplt_promise_view *view, const fplt_threat *adversary,
                            const fplt_threat **covers, fplt_error *error)
{
    *covers = adversary;
    return strcmp(adversary->name, "final-x") == 0 && !fplt__promise_releases_mean(view)
               ? fplt__privacy_threat_find("final-y", covers, error)
               : FPLT_OK;
}

static fplt_status rate_against(const fplt_promise_view *view, uint32_t agent, uint64_t rounds,
                                const fplt_threat *adversary, double *rate, fplt_error *error)
{
    const fplt_threat *covers;
    fplt_privacy_claim claim;
    double group = (double)view->group;
    FPLT__ASSERT(agent < view->agents && view->group > 0);
    fplt_status status = covering(view, adversary, &covers, error);
    if (!status)
        status = fplt__promise_claim_against(view, agent, rounds, covers, &claim, error);
    if (status == FPLT_UNSUPPORTED && adversary != view->threat) {
        *rate = INFINITY;
        return FPLT_OK;
    }
    if (!status)
        *rate = claim.renyi_rate / (group * group);
    FPLT__ASSERT(status || !(*rate < 0));
    return status;
}

fplt_status fplt__promise_cost(const fplt_promise_view *view, uint32_t agent, uint64_t rounds,
                               fplt__cost *cost, fplt_error *error)
{
    fplt_privacy_claim claim;
    fplt_status status =
        fplt__promise_claim_against(view, agent, rounds, view->threat, &claim, error);
    for (size_t k = 0; !status && k < FPLT_ADVERSARIES; k++)
        status = rate_against(view, agent, rounds, fplt_privacy_threat(k), &cost->rates.against[k],
                              error);
    if (status)
        return status;
    FPLT__ASSERT(fplt__threat_index(view->threat) < FPLT_ADVERSARIES);
    cost->unit = view->by_person ? "person" : view->group > 1 ? "group" : "record";
    cost->group = view->group;
    snprintf(cost->mechanism, sizeof cost->mechanism, "%s, %s, %.*s", view->algorithm->name,
             view->solver->name, (int)strcspn(claim.method, ":"), claim.method);
    return FPLT_OK;
}

fplt_status fplt__promise_rate(const fplt_promise_view *view, uint32_t agent, uint64_t rounds,
                               double *rate, fplt_error *error)
{
    fplt__cost cost;
    fplt_status status = fplt__promise_cost(view, agent, rounds, &cost, error);
    if (!status)
        *rate = cost.rates.against[fplt__threat_index(view->threat)];
    return status;
}
