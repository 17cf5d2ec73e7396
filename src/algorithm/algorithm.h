/* Shared by the algorithms: the registry's members and small vector work. */
#ifndef FPLT_ALGORITHM_ALGORITHM_H
#define FPLT_ALGORITHM_ALGORITHM_H

#include "fedplt/algorithm.h"

extern const fplt_algorithm fplt__fed_plt, fplt__fed_plt_anderson;

/* out = sum / count */
void fplt__mean(const double *sum, uint32_t count, double *out, size_t dimension);

/* 1/sqrt(smoothness * strong convexity): the proximal weight rho of Peaceman-Rachford and its
 * relatives. A strong convexity that is missing or tiny counts as 1e-4 of the smoothness. */
double fplt__balanced_rho(const fplt_curvature *curvature);
double fplt__usable_lowest(const fplt_curvature *curvature);

#endif
