/* What `auto` means for a run: rho, the local step and the number of epochs, with the reason for each
 * in a sentence. Speaks about Fed-PLT and its accelerated form; other algorithms keep their own
 * rules. */
#ifndef FEDPLT_AUTO_H
#define FEDPLT_AUTO_H

#include "fedplt/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What is known of the costs ---- */

/* How costs curve: bounds that hold at every point, and the least curvature at the starting point,
 * which stands in where the bounds show no strong convexity. */
typedef struct fplt_curvature_bounds {
    fplt_curvature everywhere;
    double near_lowest; /* NaN: not known */
} fplt_curvature_bounds;

/* Of one agent at x (NULL: the origin). The second part costs up to 40 products with the Hessian
 * and is only looked for where the bound is below a ten-thousandth of the smoothness. */
FPLT_API fplt_status fplt_curvature_bounds_find(const fplt_objective *objective, uint32_t agent,
                                                const double *x, fplt_curvature_bounds *bend,
                                                fplt_error *error);
/* Of two together: so that a federation can agree on it with minima and maxima. */
FPLT_API fplt_curvature_bounds fplt_curvature_bounds_join(fplt_curvature_bounds a,
                                                          fplt_curvature_bounds b);
/* The strong convexity to reckon with: the bound, or what replaces it. */
FPLT_API double fplt_curvature_bounds_lowest(const fplt_curvature_bounds *bend);

/* ---- the method ---- */

/* What decides which method to take. */
typedef struct fplt_occasion {
    size_t dimension;
    int partial;   /* not every agent is active in every round */
    int random;    /* local training draws at random */
    int trains;    /* something was said about local training: a solver, its epochs or step */
    int composite; /* h != 0 */
    int hessians;  /* the costs are convex and have second derivatives */
    double gradient_time, communication_time; /* t_G, t_C */
    /* Numbers in all rows, where all agents are in this process and nobody said what communication costs;
     * 0: not known. */
    double numbers;
} fplt_occasion;

/* The method that reaches a tight tolerance at least cost as docs/acceleration.md measures it, and the
 * reason in a sentence. */
FPLT_API const fplt_algorithm *fplt_method_choose(const fplt_occasion *occasion, char *reason,
                                                  size_t size);

/* ---- auto ---- */

typedef struct fplt_auto {
    fplt_curvature_bounds bend;            /* of all agents */
    double parameter[FPLT_MAX_PARAMETERS]; /* the algorithm's: rho chosen, others as given */
    uint32_t epochs;
    double step; /* for the curvature of all agents; NaN: not known yet, or the solver takes none */
    int chose_rho, chose_step, chose_epochs; /* which were auto */
    double rate; /* factor of the error a round on quadratics that curve so; NaN: not known */
    char about_rho[384], about_step[384], about_epochs[384]; /* sentences; empty: not chosen */
    char about_algorithm[384];                               /* why this one, where it was auto */
    char advice[384];           /* what would help more than any parameter; empty: nothing */
    fplt_curvature *curvatures; /* owned: one an agent, so that the engine need not look again */
} fplt_auto;

/* Resolves rho (NaN among the parameters), the step (0) and the epochs (0) of `run`; whatever is
 * given is kept. With run->curvature, the public bounds, nothing is read from the data. Prices for
 * the epochs are run->gradient_time and run->communication_time. */
FPLT_API fplt_status fplt_auto_resolve(const fplt_objective *objective,
                                       const fplt_run_settings *run, fplt_auto *choice,
                                       fplt_error *error);
/* The same from what a federation has agreed on. `dimension` and `agents` are those of the roster;
 * choice->curvatures stays NULL. */
FPLT_API fplt_status fplt_auto_choose(const fplt_curvature_bounds *bend,
                                      const fplt_run_settings *run, uint32_t agents,
                                      size_t dimension, fplt_auto *choice, fplt_error *error);
/* Puts the choice into `run`, which borrows from it. */
FPLT_API void fplt_auto_apply(const fplt_auto *choice, fplt_run_settings *run);
/* Releases what the struct owns; a zeroed struct is legal. */
FPLT_API void fplt_auto_clear(fplt_auto *choice);

#ifdef __cplusplus
}
#endif
#endif
