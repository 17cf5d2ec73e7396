/* Calibration in two parts, for plans that try many mechanisms with one budget. */
#ifndef FPLT_PRIVACY_CALIBRATION_H
#define FPLT_PRIVACY_CALIBRATION_H

#include "fedplt/privacy.h"

/* The largest rate of Renyi divergence within a budget; 0: none. */
fplt_status fplt__budget_rate(const fplt_privacy_budget *budget, int is_gaussian, double *rate,
                              fplt_error *error);

/* The least noise_tau that keeps a mechanism within a rate; infinity: none does, or the mechanism is not
 * legal. */
double fplt__noise_within(const fplt_privacy_mechanism *mechanism, const char *threat, double rate);

#endif
