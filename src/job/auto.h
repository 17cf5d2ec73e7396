/* What `auto` means for a run: rho, the local step and the number of epochs, with the reason for each
 * in a sentence. Speaks about Fed-PLT and its accelerated form; other algorithms keep their own
 * rules. */
#ifndef FPLT_JOB_AUTO_H
#define FPLT_JOB_AUTO_H

#include "fedplt/job.h"
#include "objective/objective_access.h"

/* Of one agent at x (NULL: the origin), by the method `how` of fplt_objective_curvature. The second part costs up to 40
 * products with the Hessian and is only computed with FPLT_CURVATURE_CLOSE, where the bound is below a ten-thousandth of
 * the smoothness. */
fplt_status fplt__curvature_bounds_find(const fplt_objective *objective, uint32_t agent, int how,
                                        const double *x, fplt_curvature_bounds *bend,
                                        fplt_error *error);

/* Of two together: so that a federation can agree on it with minima and maxima. */
fplt_curvature_bounds fplt__curvature_bounds_join(fplt_curvature_bounds a, fplt_curvature_bounds b);

/* The strong convexity to reckon with: the bound, or what replaces it. */
double fplt__curvature_bounds_lowest(const fplt_curvature_bounds *bend);

/* What decides which method to take. */
typedef struct fplt__occasion {
    size_t dimension;
    uint32_t agents, cohort; /* roster, and the expected number of active agents; 0: not known */
    int partial;             /* not every agent is active in every round */
    int random;              /* local training draws at random */
    int trains;    /* something was said about local training: a solver, its epochs or step */
    int composite; /* h != 0 */
    int hessians;  /* the costs have second derivatives, and they may leave */
    fplt__bending bending;                    /* of the costs */
    double gradient_time, communication_time; /* t_G, t_C */
    /* Numbers in all rows, where all agents are in this process and nobody said what communication costs;
     * 0: not known. */
    double numbers;
} fplt__occasion;

/* The method that reaches a tight tolerance at least cost as docs/acceleration.md measures it, and the
 * reason in a sentence. */
const fplt_algorithm *fplt__method_choose(const fplt__occasion *occasion, char *reason,
                                          size_t size);

/* Resolves rho (NaN among the parameters), the step (0) and the epochs (0) of `run`; whatever is
 * given is kept. With run->curvature, the public bounds, nothing is read from the data. Prices for
 * the epochs are run->gradient_time and run->communication_time. */
fplt_status fplt__auto_resolve(const fplt_objective *objective, const fplt_run_settings *run,
                               fplt_auto *choice, fplt_error *error);

/* The same from what a federation has agreed on. `dimension` and `agents` are those of the roster;
 * choice->curvatures stays NULL. */
fplt_status fplt__auto_choose(const fplt_curvature_bounds *bend, const fplt_run_settings *run,
                              uint32_t agents, size_t dimension, fplt_auto *choice,
                              fplt_error *error);

/* Puts the choice into `run`, which borrows from it. */
void fplt__auto_apply(const fplt_auto *choice, fplt_run_settings *run);

/* Releases what the struct owns; a zeroed struct is legal. */
void fplt__auto_clear(fplt_auto *choice);

#endif
