/* Shared by the private plan, its certificate and the audit. */
#ifndef FPLT_PROMISE_PROMISE_H
#define FPLT_PROMISE_PROMISE_H

#include "fedplt/noise.h"
#include "fedplt/promise.h"

/* The discrete Gaussian as a solver's noise source; `noise` is borrowed. */
fplt_noise_source fplt__secure_source(fplt_noise *noise);

/* Constants, curvature and most sensitive agent (worst) of a view from its loss, regulariser, weights and records:
 * the part of a plan that anyone can compute again. */
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
