/* The common cost h, known by its value and its proximal operator
 * prox_{t h}(v) = argmin_x h(x) + ||x - v||^2 / (2 t). A custom h: fedplt/prox_callbacks.h.
 *
 * Threads and blocking: nothing blocks. One thread at a
 * time may use an fplt_prox: it may own working memory. */
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

/* zero; weights, radius and group 1, box from -1 to 1. Fields that a kind does not use are ignored. */
FPLT_API fplt_prox_settings fplt_prox_defaults(void);

/* Makes h, which acts on the first `penalised` coordinates; the others (intercepts) are free. FPLT_BAD_VALUE for an unknown
 * name or a number out of range, FPLT_NO_MEMORY. */
FPLT_API fplt_status fplt_prox_create(const fplt_prox_settings *settings, size_t dimension,
                                      size_t penalised, fplt_prox **prox, fplt_error *error);

/* Releases h. */
FPLT_API void fplt_prox_destroy(fplt_prox *prox);

/* Writes h(x), +infinity outside its domain (but for a rounding error). FPLT_DIVERGED where x is not finite, FPLT_FAILED
 * where a callback failed. */
FPLT_API fplt_status fplt_prox_value(const fplt_prox *prox, const double *x, double *value);
/* Writes x = prox_{t h}(v), t above 0; x may be v, but not overlap it otherwise. FPLT_BAD_VALUE for another t,
 * FPLT_DIVERGED where v is not finite, FPLT_FAILED as above. */
FPLT_API fplt_status fplt_prox_apply(const fplt_prox *prox, double t, const double *v, double *x);

#ifdef __cplusplus
}
#endif
#endif
