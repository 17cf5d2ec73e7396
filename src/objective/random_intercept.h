/* Losses with a random intercept of every cluster: minus the logarithm of the marginal likelihood of an agent's clusters.
 * With b a normal variable of mean 0 and standard deviation sd, the linear predictor of row j is m_j + b, b the same of all
 * rows of a cluster. Clusters of an agent stand one behind the other (fplt__block.cluster).
 *
 * The last coordinates are shared by all rows. The first of them is tau - 1, tau the standard deviation (mixed-linear: in
 * units of the residual's), so that training that begins with zeros begins at 1. The likelihood is an even function of tau:
 * there is no constraint, a maximum at the boundary is an ordinary stationary point at tau = 0, and |tau| is reported. */
#ifndef FPLT_OBJECTIVE_RANDOM_INTERCEPT_H
#define FPLT_OBJECTIVE_RANDOM_INTERCEPT_H

#include "objective/loss.h"

/* Nodes of Gauss-Hermite quadrature at most, and by default. */
enum { FPLT__NODES_MAX = 100, FPLT__NODES = 10 };

/* Standard deviations below this are 0 in reports, as in lme4's isSingular. */
#define FPLT__SINGULAR 1e-4

/* Nodes z_k of the rule of `count` points for the normal density, and behind them log w_k + z_k^2/2. */
void fplt__hermite_rule(size_t count, double *rule);

/* Numbers that a block's room has of every record. */
size_t fplt__quadrature_room(double points);
size_t fplt__mixed_shared(size_t classes);
void fplt__mixed_logistic_value(const fplt__block *block, double *m);
void fplt__mixed_logistic_slope(const fplt__block *block, double *m);
void fplt__mixed_logistic_both(const fplt__block *block, double *m, double *values);
void fplt__mixed_logistic_curve(const fplt__block *block, double *m);
void fplt__mixed_poisson_value(const fplt__block *block, double *m);
void fplt__mixed_poisson_slope(const fplt__block *block, double *m);
void fplt__mixed_poisson_both(const fplt__block *block, double *m, double *values);
void fplt__mixed_poisson_curve(const fplt__block *block, double *m);
void fplt__mixed_bend(const fplt__block *block, const double *m, double *u);
extern const fplt__display fplt__mixed_logistic_display, fplt__mixed_poisson_display;

size_t fplt__mixed_linear_shared(size_t classes);
void fplt__mixed_linear_value(const fplt__block *block, double *m);
void fplt__mixed_linear_slope(const fplt__block *block, double *m);
void fplt__mixed_linear_bend(const fplt__block *block, const double *m, double *u);
/* Nothing between coefficients and standard deviations, whose second derivatives have expectation 0. */
void fplt__mixed_linear_expect_bend(const fplt__block *block, const double *m, double *u);
double fplt__mixed_linear_constant(double label);
extern const fplt__display fplt__mixed_linear_display;

/* A sentence on a fit at the boundary. */
extern const char fplt__singular_fit[];

/* One past the last record of the cluster that begins at `first`. */
size_t fplt__cluster_end(const fplt__block *block, size_t first);

#endif
