/* Products of matrices in blocks that stay in the caches, by the kernel's tiles. Every element is one sum
 * over the depth, in its order, of at most FPLT_DEPTH terms at a time: where a tile lies does not change a
 * bit. */
#ifndef FPLT_LINALG_PRODUCT_H
#define FPLT_LINALG_PRODUCT_H

#include "linalg/kernel.h"

enum { FPLT_DEPTH = 128 };

/* Vectors of numbers, `step` apart; element d of a vector is `deep` from the one before it, and after each `run` of
 * them, a divisor of FPLT_DEPTH, they begin anew `group` further on. With `narrow` the numbers are floats, and `at` is
 * NULL. */
typedef struct fplt__vectors {
    const double *at;
    size_t step, deep, run, group;
    const float *narrow;
} fplt__vectors;

/* Columns of the rows first, first + 1, ... of a dense matrix; `first` is a multiple of FPLT_PANEL. */
fplt__vectors fplt__columns_from(const fplt__matrix *a, size_t first);

/* c[i][j] += sum over d < depth of weights[d] left_i[d] right_j[d], for i < rows, j < columns and j <= i; c
 * is row-major. Without weights each is `sign`. */
void fplt__product_add(const fplt__kernel *kernel, fplt__vectors left, fplt__vectors right,
                       size_t rows, size_t columns, size_t depth, const double *weights,
                       double sign, double *c, size_t stride);

#endif
