/* Cholesky factor of a symmetric matrix. Own code, because the serial OpenBLAS may not be called from several
 * threads at once, and because its bits depend on the machine. */
#ifndef FPLT_LINALG_CHOLESKY_H
#define FPLT_LINALG_CHOLESKY_H

#include "linalg/kernel.h"

/* Overwrites the lower triangle of the row-major n x n matrix with L, matrix = L L'. Zero when the
 * matrix is not positive definite. The kernel decides the bits: a coordinator, whose agents' kernels may be
 * others, takes the reference. */
int fplt__cholesky_factor(const fplt__kernel *kernel, double *matrix, size_t n);
/* Solves L L' x = right in place. */
void fplt__cholesky_solve(const double *factor, size_t n, double *right);

#endif
