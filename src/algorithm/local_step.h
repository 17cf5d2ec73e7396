/* Parameters and the local step of an algorithm, resolved from facts. */
#ifndef FPLT_ALGORITHM_LOCAL_STEP_H
#define FPLT_ALGORITHM_LOCAL_STEP_H

#include "fedplt/algorithm.h"

/* FPLT_UNSUPPORTED where costs whose curvature has no bound meet a method that takes its steps from one. */
fplt_status fplt__algorithm_check_bound(const fplt_algorithm *algorithm, int unbounded,
                                        fplt_error *error);
/* Fills what is auto, refuses what its row does not allow, and checks the whole. */
fplt_status fplt__algorithm_resolve(const fplt_algorithm *algorithm, const fplt_facts *facts,
                                    double *parameter, fplt_error *error);

/* The proximal weight 1/rho of the local cost; 0 where it has none. */
double fplt__algorithm_pull(const fplt_algorithm *algorithm, const fplt_facts *facts,
                            const double *parameter);

/* gamma for the curvature in `facts`, which is that of all agents or of the agent at hand, at
 * resolved parameters. NaN where the solver takes no step size. */
fplt_step fplt__algorithm_step(const fplt_algorithm *algorithm, const fplt_solver *solver,
                               const fplt_facts *facts, const double *parameter);

/* The formula of gamma: auto, for people; NULL where the solver takes no step size. */
const char *fplt__algorithm_step_rule(const fplt_algorithm *algorithm, const fplt_solver *solver);

#endif
