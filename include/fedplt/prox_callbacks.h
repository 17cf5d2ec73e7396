/* Your own common cost h, by callbacks.
 *
 * Threads and blocking: nothing blocks but callbacks that do; they are called in the thread that uses the fplt_prox.
 */
#ifndef FEDPLT_PROX_CALLBACKS_H
#define FEDPLT_PROX_CALLBACKS_H

#include <stddef.h>

#include "fedplt/prox.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A user's own h; non-zero is failure. `apply` never gets one array as v and x. */
typedef struct fplt_prox_callbacks {
    size_t size; /* sizeof(fplt_prox_callbacks) */
    void *context;
    int (*value)(void *context, const double *x, double *value);
    int (*apply)(void *context, double t, const double *v, double *x);
} fplt_prox_callbacks;

/* Makes h from callbacks (copied; their context is borrowed until fplt_prox_destroy). FPLT_BAD_VALUE for another `size`
 * or a missing callback. */
FPLT_API fplt_status fplt_prox_create_callback(const fplt_prox_callbacks *callbacks,
                                               size_t dimension, fplt_prox **prox,
                                               fplt_error *error);

/* A user's smooth convex h without a closed prox: an inner iteration runs until a bound on ||x - prox|| is at most
 * `accuracy`. fplt_prox_apply fails (FPLT_FAILED) where it is not reached: the smoothness is too small, or rounding forbids
 * the accuracy. */
typedef struct fplt_prox_inexact {
    size_t size; /* sizeof(fplt_prox_inexact) */
    void *context;
    int (*value)(void *context, const double *x, double *value);
    int (*gradient)(void *context, const double *x, double *gradient);
    double smoothness; /* Lipschitz constant of the gradient */
    double accuracy;   /* distance to the exact prox that is allowed */
} fplt_prox_inexact;

/* Makes h from its value and gradient, as above. FPLT_BAD_VALUE also for a smoothness below 0 or an accuracy not above 0. */
FPLT_API fplt_status fplt_prox_create_inexact(const fplt_prox_inexact *inexact, size_t dimension,
                                              fplt_prox **prox, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
