/* Custom costs by callbacks, and the curvature of a cost at a point.
 *
 * Threads and blocking: functions are thread-safe and block only where callbacks do, which are called in the calling
 * thread. An engine calls them in several threads at once.
 */
#ifndef FEDPLT_OBJECTIVE_CALLBACKS_H
#define FEDPLT_OBJECTIVE_CALLBACKS_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/objective.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A user's own costs. Several threads call the callbacks at once; non-zero is failure and ends the run. Optional ones
 * may be NULL. */
typedef struct fplt_objective_callbacks {
    size_t size; /* sizeof(fplt_objective_callbacks) */
    size_t dimension;
    uint32_t agents;
    void *context;
    int (*value)(void *context, uint32_t agent, const double *x, double *value);
    int (*gradient)(void *context, uint32_t agent, const double *x, double *gradient);
    /* optional: product of the Hessian at x with v */
    int (*hessian_times)(void *context, uint32_t agent, const double *x, const double *v,
                         double *product);
    /* optional: gradient averaged over some of the agent's records; needs `records` */
    int (*batch_gradient)(void *context, uint32_t agent, const double *x, const uint32_t *rows,
                          size_t count, double *gradient);
    /* optional; 1 otherwise. Never 0, and the same in every call. */
    size_t (*records)(void *context, uint32_t agent);
    /* optional: strong convexity of f_i (0: none) and smoothness; otherwise fplt_objective_probe at
     * the origin */
    void (*curvature)(void *context, uint32_t agent, double *lowest, double *highest);
    /* optional: both at once; `value` and `gradient`, called where one is enough, may then be NULL */
    int (*value_gradient)(void *context, uint32_t agent, const double *x, double *value,
                          double *gradient);
    /* optional: how many of the agent's records x classifies correctly */
    int (*hits)(void *context, uint32_t agent, const double *x, size_t *hits);
    /* optional, for privacy: the gradients at x of `count` of the agent's records, one behind the other, whose mean over all
     * records is the gradient of f_i; needs `records`. The library shortens each and adds noise to their sum. What it promises
     * rests on one premise: gradient number k depends on x and on record rows[k] alone. */
    int (*record_gradients)(void *context, uint32_t agent, const double *x, const uint32_t *rows,
                            size_t count, double *gradients);
} fplt_objective_callbacks;

/* Makes an objective of callbacks (copied; their context is borrowed until fplt_objective_destroy). Calls `records` once
 * for each agent. FPLT_BAD_VALUE for another `size`, dimension or agents 0, a missing callback, batch_gradient or
 * record_gradients without records, or an agent with other than 1 to 2^32 - 1 records. */
FPLT_API fplt_status fplt_objective_create_callback(const fplt_objective_callbacks *callbacks,
                                                    fplt_objective **objective, fplt_error *error);

/* Finds the curvature of f_i at one point x (NULL: the origin): extreme eigenvalues of the Hessian by Lanczos's iteration, at most 40 products
 * with it, exact but for rounding up to 40 coordinates. `lowest` is never below the truth; `highest`, the largest in
 * size, has the margin of 1 %. Elsewhere an estimate only. FPLT_BAD_VALUE where the cost does not curve at all. */
FPLT_API fplt_status fplt_objective_probe(const fplt_objective *objective, uint32_t agent,
                                          const double *x, fplt_curvature *curvature,
                                          fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
