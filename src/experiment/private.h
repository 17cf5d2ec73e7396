/* Shared by the private plan, its certificate and the audit. */
#ifndef FPLT_EXPERIMENT_PRIVATE_H
#define FPLT_EXPERIMENT_PRIVATE_H

#include "fedplt/noise.h"
#include "fedplt/private.h"

/* The discrete Gaussian as a solver's noise source; `noise` is borrowed. */
fplt_noise_source fplt__secure_source(fplt_noise *noise);

/* Constants, curvature and worst agent of a view from its loss, regulariser, weights and records:
 * the part of a plan that anyone can compute again. */
fplt_status fplt__private_bounds(fplt_private_view *view, fplt_error *error);

#endif
