/* The common cost h, known through its value and its proximal operator
 * prox_{t h}(v) = argmin_x h(x) + ||x - v||^2 / (2 t). */
#ifndef FEDPLT_PROX_H
#define FEDPLT_PROX_H

#include <stddef.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_prox fplt_prox;

typedef struct fplt_prox_settings {
    const char *name; /* zero, l1, l2-squared, elastic-net, box, nonnegative, ball, group-lasso,
                          simplex */
    double weight;    /* l1: weight ||x||_1; l2-squared: weight ||x||^2/2; elastic-net: the l1 part;
                          group-lasso: weight sum_g sqrt(|g|) ||x_g|| */
    double weight2;   /* elastic-net: the squared part, weight2 ||x||^2/2 */
    double low, high; /* box */
    double radius;    /* ball; simplex: the sum of the coordinates */
    size_t group;     /* group-lasso: size of the consecutive groups (the last may be smaller) */
} fplt_prox_settings;

/* zero; where another name is given: weights, radius and group 1, box from -1 to 1. Fields that a
 * kind does not use are not looked at. */
FPLT_API fplt_prox_settings fplt_prox_defaults(void);

/* h acts on the first `penalised` coordinates; the others (intercepts) are free. */
FPLT_API fplt_status fplt_prox_create(const fplt_prox_settings *settings, size_t dimension,
                                      size_t penalised, fplt_prox **prox, fplt_error *error);

/* A user's own h: value and prox as callbacks; non-zero means failure. `apply` never gets the same
 * array as v and x. */
typedef struct fplt_prox_callbacks {
    size_t size; /* sizeof(fplt_prox_callbacks) */
    void *context;
    int (*value)(void *context, const double *x, double *value);
    int (*apply)(void *context, double t, const double *v, double *x);
} fplt_prox_callbacks;

/* Makes h from callbacks. The struct is copied; its context is borrowed until fplt_prox_destroy.
 * FPLT_BAD_VALUE for another `size` or a missing callback; `prox` is then NULL. */
FPLT_API fplt_status fplt_prox_create_callback(const fplt_prox_callbacks *callbacks,
                                               size_t dimension, fplt_prox **prox,
                                               fplt_error *error);

/* A user's smooth convex h without a closed prox: given its value and its gradient, the prox is
 * found by an inner iteration until a bound on ||x - prox|| is at most `accuracy`. FPLT_FAILED when
 * that is not reached: the stated smoothness is too small, or rounding forbids the accuracy. */
typedef struct fplt_prox_inexact {
    size_t size; /* sizeof(fplt_prox_inexact) */
    void *context;
    int (*value)(void *context, const double *x, double *value);
    int (*gradient)(void *context, const double *x, double *gradient);
    double smoothness; /* Lipschitz constant of the gradient */
    double accuracy;   /* distance to the exact prox that is allowed */
} fplt_prox_inexact;

/* Makes h from its value and gradient. The struct is copied; its context is borrowed until
 * fplt_prox_destroy. FPLT_BAD_VALUE for another `size`, a missing callback, a smoothness below 0
 * or an accuracy not above 0; `prox` is then NULL. */
FPLT_API fplt_status fplt_prox_create_inexact(const fplt_prox_inexact *inexact, size_t dimension,
                                              fplt_prox **prox, fplt_error *error);

/* Releases h; NULL is legal. */
FPLT_API void fplt_prox_destroy(fplt_prox *prox);

/* fplt_prox_dimension is the number of coordinates that h was made for, fplt_prox_name its kind as
 * in the settings, a constant text. Thread-safe. */
FPLT_API size_t fplt_prox_dimension(const fplt_prox *prox);
FPLT_API const char *fplt_prox_name(const fplt_prox *prox);
/* Nonzero when h is the zero function: by name, by weights of 0, or with nothing penalised. */
FPLT_API int fplt_prox_is_zero(const fplt_prox *prox);
/* h(x); +infinity outside its domain (which is forgiven a rounding error). FPLT_DIVERGED when x is
 * not finite, FPLT_FAILED when a callback failed. */
FPLT_API fplt_status fplt_prox_value(const fplt_prox *prox, const double *x, double *value);
/* x = prox_{t h}(v), t above 0; x may be v, but must not overlap it otherwise. FPLT_BAD_VALUE for
 * another t, FPLT_DIVERGED when v is not finite, FPLT_FAILED as above. Not thread-safe for one object: it may own working memory. */
FPLT_API fplt_status fplt_prox_apply(const fplt_prox *prox, double t, const double *v, double *x);

/* What exists: name number `index` and one line of help; NULL past the last. */
FPLT_API const char *fplt_prox_list(size_t index, const char **help);

#ifdef __cplusplus
}
#endif
#endif
