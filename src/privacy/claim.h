/* The pieces of a claim, for calibration and tests. */
#ifndef FPLT_PRIVACY_CLAIM_H
#define FPLT_PRIVACY_CLAIM_H

#include "fedplt/privacy.h"

/* What the curvature of the subproblem makes of a local step. */
struct fplt__contraction {
    double gap;    /* 1 - c, without rounding near c = 1; <= 0: the step does not contract */
    double epochs; /* infinite for FPLT_EPOCHS_UNBOUNDED */
};

struct fplt__contraction fplt__contraction_of(const fplt_privacy_mechanism *mechanism);

/* kappa(c, Ne): how many steps a round costs. */
double fplt__round_factor(struct fplt__contraction contraction);

/* Theorem F's a_K and b_K for a data shift gamma dl of 1; infinite where they overflow. */
void fplt__final_shift(const fplt_privacy_mechanism *mechanism, double *local, double *auxiliary);

/* The largest step below which every local step contracts; 0 if there is none. */
double fplt__step_limit(const fplt_privacy_mechanism *mechanism);

/* The number of a threat model, as fplt_privacy_threat() counts; below FPLT_ADVERSARIES for a
 * guarantee. */
size_t fplt__threat_index(const fplt_threat *threat);

/* Refuses numbers that are not finite or out of range. */
fplt_status fplt__mechanism_valid(const fplt_privacy_mechanism *mechanism, fplt_error *error);

#endif
