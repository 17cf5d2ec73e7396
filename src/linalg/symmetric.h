/* Extreme eigenvalues of symmetric matrices. Own code, because they set step sizes: the same kernel
 * must give the same bits on every machine, which a tuned LAPACK does not promise. */
#ifndef FPLT_LINALG_SYMMETRIC_H
#define FPLT_LINALG_SYMMETRIC_H

#include "linalg/kernel.h"

/* Smallest and largest eigenvalue of the matrix whose lower triangle is given (row-major; it is
 * overwritten), to within rounding times its norm; either may be NULL. `work`: 4 * order doubles. */
void fplt__symmetric_extremes(const fplt__kernel *kernel, double *matrix, size_t order,
                              double *work, double *smallest, double *largest);

/* Eigenvalue number `index` (0 the smallest) of a symmetric tridiagonal matrix: `diagonal` of
 * `order`, `beside` of order - 1. */
double fplt__tridiagonal_eigenvalue(const double *diagonal, const double *beside, size_t order,
                                    size_t index);

#endif
