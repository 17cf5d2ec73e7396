/* Shared by the solvers. */
#ifndef FPLT_SOLVER_SOLVER_H
#define FPLT_SOLVER_SOLVER_H

#include "fedplt/random.h"
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

/* Whether it takes a step size: plain gradient steps and those with a rule of their own do. */
int fplt__solver_has_step(const fplt_solver *solver);

enum { FPLT__GRID_MAX = 52 }; /* of training->grid */

/* The step of a round, by training->decay; `step` is that of round 0. */
double fplt__decayed_step(const fplt_training *training, double step, uint64_t round);

/* Doubles of scratch for a run, the objective's included (fplt__local_scratch); doubles of state an
 * agent (fplt__solver_state), 0 where the solver keeps none. training->solver is not NULL. */
size_t fplt__local_scratch(const fplt_objective *objective, const fplt_training *training);
size_t fplt__solver_state(const fplt_objective *objective, const fplt_training *training);

/* Whether the training can be done on this objective, or a sentence. */
fplt_status fplt__training_check(const fplt_training *training, const fplt_objective *objective,
                                 fplt_error *error);

/* Lowers d(w) from w, in place, for the epochs of the training. The caller fills `local`, with
 * scratch and state of the sizes above; fplt__training_check must have passed. FPLT_DIVERGED when w
 * is not finite, FPLT_FAILED when a callback failed; w is then without meaning. Different `local`
 * may run in different threads. */
fplt_status fplt__local_run(fplt_local *local, double *w, fplt_error *error);

#endif
