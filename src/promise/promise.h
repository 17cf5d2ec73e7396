/* Shared by the private plan, its certificate and the audit. */
#ifndef FPLT_PROMISE_PROMISE_H
#define FPLT_PROMISE_PROMISE_H

#include "fedplt/certificate.h"
#include "fedplt/noise.h"
#include "fedplt/promise.h"
#include "fedplt/settings_table.h"
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

/* How far one record moves the gradient of f_i, s_i/q_i, up to a factor that all agents share. */
double fplt__promise_record_weight(const fplt_promise_view *view, uint32_t agent);
/* A bound on the curvature of the mean of all costs, from that of the most curved one. */
double fplt__promise_mean_curvature(const fplt_promise_view *view);
/* Sets mechanism->contraction: zero where no curvature holds a round together, steps are accelerated, or the only step of
 * a round of gradient descent is too long to contract. Steps are then charged one by one; a single one costs the same either way. */
void fplt__promise_contract(const fplt_promise_view *view, fplt_privacy_mechanism *mechanism);

/* The least noise scale of any agent. */
double fplt__promise_least_tau(const fplt_promise_view *view);

/* From `tau` and a mechanism that knows all but the noise: the weakest claim, whose it is, and its
 * epsilon. */
fplt_status fplt__promise_settle(fplt_promise_view *view, fplt_error *error);

/* Whether the coordinator draws the number of local steps of each round. */
fplt_status fplt__promise_draws(const fplt_promise_view *view, int *draws, fplt_error *error);

/* Whether the noise of the agents in a sum adds up for the claim: the threat model secagg-sum. */
int fplt__promise_divides(const fplt_promise_view *view);
/* Whether agents keep nothing and send one vector a round, the result of their local training. */
int fplt__promise_sends_iterates(const fplt_algorithm *algorithm, const double *parameter);
/* Whether a round is one noisy gradient step from the broadcast model for each local epoch, of which an agent keeps
 * nothing and sends the result: with one epoch, distributed noisy gradient descent. */
int fplt__promise_is_descent(const fplt_promise_view *view);
/* Honest agents in every sum: agents or threshold, less the colluders; 0 where that is none. */
uint64_t fplt__promise_honest(const fplt_promise_view *view);
/* What is left of a promise of (epsilon, delta) by divided noise, should more agents help the adversary than it assumes: the
 * epsilon of the noise of one agent alone, where `honest` agents were to add theirs. */
fplt_status fplt__promise_alone(double epsilon, double delta, uint64_t honest, double *alone,
                                fplt_error *error);
/* Of a view that divides: refuses training, quorum and colluders for which Theorem S is not proved. */
fplt_status fplt__promise_check_sums(const fplt_promise_view *view, fplt_error *error);
/* The unit of what agents send: the lattice of divided noise; 0 where noise is not divided. */
double fplt__promise_unit(const fplt_promise_view *view);

/* Refuses the threat models secagg and secagg-sum where a round may have too few agents, and what else
 * fplt__promise_check_sums() refuses. Needs `epochs` and, for secagg-sum, colluders, threshold and most. */
fplt_status fplt__promise_cohort(const fplt_promise_view *view, fplt_error *error);

/* The delta of a promise where none is given. */
#define FPLT__PROMISE_DELTA "1e-5"
/* privacy.epsilon, privacy.delta, privacy.threat ... */
extern const fplt_setting fplt__promise_table[];

/* Whether the settings ask for a promise: privacy.epsilon or privacy.tau is given. */
int fplt__promise_wanted(const fplt_settings *settings);

/* What agent number `agent` may claim when `rounds` rounds are charged to it. */
fplt_status fplt__promise_claim(const fplt_promise_view *view, uint32_t agent, uint64_t rounds,
                                fplt_privacy_claim *claim, double *epsilon, fplt_error *error);

/* The error that a plan expects: quadratic costs of two typical curvatures, the same for all
 * agents, on which Fed-PLT's mean state obeys a recursion of two numbers that is followed exactly,
 * noise and remaining bias together. Reads public numbers only. */
double fplt__promise_predict(const fplt_promise_view *view, const fplt_privacy_mechanism *mechanism,
                             uint64_t epochs);

#endif
