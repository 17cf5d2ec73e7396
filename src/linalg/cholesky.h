/* Cholesky factor of a small symmetric matrix. Own code, because the serial OpenBLAS may not be
 * called from several threads at once, and because its bits depend on the machine. */
#ifndef FPLT_LINALG_CHOLESKY_H
#define FPLT_LINALG_CHOLESKY_H

#include <stddef.h>

/* Overwrites the lower triangle of the row-major n x n matrix with L, matrix = L L'. Zero when the
 * matrix is not positive definite. */
int fplt__cholesky_factor(double *matrix, size_t n);
/* Solves L L' x = right in place. */
void fplt__cholesky_solve(const double *factor, size_t n, double *right);

#endif
