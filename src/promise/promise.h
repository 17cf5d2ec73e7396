/* Shared by the private plan, its certificate and the audit. */
#ifndef FPLT_PROMISE_PROMISE_H
#define FPLT_PROMISE_PROMISE_H

#include "fedplt/certificate.h"
#include "fedplt/noise.h"
#include "fedplt/promise.h"
#include "job/outline.h"

/* The plan of a roster where the outline is made already; `source` is what fplt_promise_prepare made of it,
 * and has the bound of the rows. */
fplt_status fplt__promise_outlined(const fplt_settings *settings, const fplt_job_source *source,
                                   const fplt__outline *outline, const fplt_roster *roster,
                                   fplt_promise **plan, fplt_error *error);

/* The claim of an agent against any adversary, for `rounds` charged rounds. */
fplt_status fplt__promise_claim_against(const fplt_promise_view *view, uint32_t agent,
                                        uint64_t rounds, const fplt_threat *threat,
                                        fplt_privacy_claim *claim, fplt_error *error);

/* Whether the run hands out the mean of the agents' models and not the coordinator's. */
int fplt__promise_releases_mean(const fplt_promise_view *view);

/* What rounds of an agent cost its records: what `train`, a site's policy, the ledger and the
 * certificate all go by. A group of k records costs k^2 times the rates. */
typedef struct fplt__cost {
    fplt_rates rates;    /* of one record */
    const char *unit;    /* record, person or group */
    uint64_t group;      /* records of a unit */
    char mechanism[160]; /* algorithm, solver and theorem */
} fplt__cost;

fplt_status fplt__promise_cost(const fplt_promise_view *view, uint32_t agent, uint64_t rounds,
                               fplt__cost *cost, fplt_error *error);

/* The rate of that cost against the adversary of the promise. */
fplt_status fplt__promise_rate(const fplt_promise_view *view, uint32_t agent, uint64_t rounds,
                               double *rate, fplt_error *error);

/* Constants, curvature and most sensitive agent (worst) of a view from its loss, regulariser, weights
 * and records: the part of a plan that anyone can compute again. */
fplt_status fplt__promise_bounds(fplt_promise_view *view, fplt_error *error);

/* The least noise scale of any agent. */
double fplt__promise_least_tau(const fplt_promise_view *view);

/* From `tau` and a mechanism that knows all but the noise: the weakest claim, whose it is, and its
 * epsilon. */
fplt_status fplt__promise_settle(fplt_promise_view *view, fplt_error *error);

/* Whether the coordinator draws the number of local steps of each round. */
fplt_status fplt__promise_draws(const fplt_promise_view *view, int *draws, fplt_error *error);

/* Refuses the threat model secagg where a round may have too few agents. */
fplt_status fplt__promise_cohort(const fplt_promise_view *view, fplt_error *error);

#endif
