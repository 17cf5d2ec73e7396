/* The minimiser of a quadratic model of the costs plus h, which proximal Newton methods move to:
 *
 *     z = argmin  <g, z - x> + (z - x)'B(z - x)/2 + h(z)
 *
 * Both solvers lower that function from x on, so that an answer that is not exact is still a direction of descent. */
#ifndef FPLT_ALGORITHM_COMPOSITE_H
#define FPLT_ALGORITHM_COMPOSITE_H

#include <stddef.h>

#include "fedplt/prox.h"

typedef struct fplt__quadratic {
    size_t n;
    const double *x, *gradient; /* where the model was made, and g */
    const fplt_prox *prox;
    /* out = B v; B is symmetric and positive definite */
    void (*product)(const void *context, const double *v, double *out);
    const void *context;
} fplt__quadratic;

enum { FPLT__COMPOSITE_WORK = 4, FPLT__DENSE_WORK = 3 };

/* For any h: proximal gradient steps with Nesterov's acceleration and adaptive restarts [O'Donoghue and Candes 2015],
 * until a step is 1e-12 of the way from x, or 5,000 steps. `work` holds FPLT__COMPOSITE_WORK vectors.
 * FPLT_FAILED where a user's prox failed. */
fplt_status fplt__composite_minimise(const fplt__quadratic *model, double *z, double *work);

/* For an h that is a sum over coordinates, and B as a whole row-major matrix with a positive diagonal: sweeps of
 * coordinate descent find the coordinates at a kink or a bound, then Newton's step on the others goes as far as their
 * pieces reach. Ends when a sweep moves no coordinate by more than 1e-12 of the way from x, each measured by its
 * curvature, or by its rounding. `factor` has room for an n x n matrix, `work` for FPLT__DENSE_WORK vectors. */
void fplt__composite_minimise_dense(const fplt__quadratic *model, const double *matrix,
                                    double *factor, double *z, double *work);

#endif
