/* Shared by the solvers. */
#ifndef FPLT_SOLVER_SOLVER_H
#define FPLT_SOLVER_SOLVER_H

#include "fedplt/solver.h"

extern const fplt_solver fplt__solver_gradient, fplt__solver_accelerated, fplt__solver_noisy,
    fplt__solver_noisy_accelerated, fplt__solver_sgd, fplt__solver_accelerated_sgd,
    fplt__solver_svrg, fplt__solver_lbfgs, fplt__solver_newton;

/* gradient += linear + inverse_rho (w - centre): what d adds to f_i. */
void fplt__subproblem_add(const fplt_subproblem *problem, const double *w, double *gradient);

/* The accelerated solvers: their step, its formula, and the momentum of d. */
fplt_step fplt__accelerated_rule(const fplt_curvature *cost, double inverse_rho);
extern const char fplt__accelerated_formula[];
double fplt__local_momentum(const fplt_local *local);

/* out = mean plus the noise of one local step, from the agent's source. */
fplt_status fplt__local_perturb(const fplt_local *local, fplt_stream *stream, double step,
                                const double *mean, double *out);

/* Refuses, before anything is computed from the records, public vectors that the noise source does
 * not admit: the centre, the linear term and the start. */
fplt_status fplt__noise_admit(const fplt_local *local, double step, const double *start,
                              fplt_error *error);

fplt_status fplt__check_finite(const double *w, size_t count, fplt_error *error);

#endif
