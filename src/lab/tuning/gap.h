/* The distance of a point from the minimum, for `fedplt theory`. */
#ifndef FPLT_LAB_TUNING_GAP_H
#define FPLT_LAB_TUNING_GAP_H

#include "fedplt/tune.h"

typedef struct fplt__gap fplt__gap;

/* Finds the minimiser by a long accelerated run, and from it the limit of every agent:
 * x_i = x*, z_i = x* - rho (gradient of f_i at x*). `prox` NULL: h = 0. FPLT_FAILED when the
 * criterion does not come down to 1e-10 of what it is at the origin. */
fplt_status fplt__gap_create(const fplt_objective *objective, const fplt_prox *prox, double rho,
                             fplt__gap **gap, fplt_error *error);

/* Releases the limit; NULL is legal. */
void fplt__gap_destroy(fplt__gap *gap);

/* sqrt(sum_i |x_i - x*|^2 + weight^2 |z_i - z_i*|^2) of an engine that runs fed-plt: the error that
 * fplt_theory_bound speaks of. */
double fplt__gap_measure(const fplt__gap *gap, const fplt_engine *engine, double weight);

#endif
