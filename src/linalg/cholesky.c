/* In panels of columns: each is finished by blocks as wide as a tile, then taken off what is right of it.
 * L[i][j] = (A[i][j] - <L[i][:j], L[j][:j]>) / L[j][j]. */
#include "linalg/cholesky.h"

#include <math.h>

#include "linalg/product.h"

/* Columns of a panel; rows that are solved together; columns of a kernel's tile, at most. */
enum { PANEL = 48, TOGETHER = 8, WIDEST = 3 * FPLT_TILE_MAX };

/* Four partial sums: independent chains for the adder, and a fixed order. */
static double inner(const double *a, const double *b, size_t count)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        s0 += a[k] * b[k];
        s1 += a[k + 1] * b[k + 1];
        s2 += a[k + 2] * b[k + 2];
        s3 += a[k + 3] * b[k + 3];
    }
    for (; k < count; k++)
        s0 += a[k] * b[k];
    return (s0 + s1) + (s2 + s3);
}

/* A small block on the diagonal, from which all left of it was taken off. */
static int factor_block(double *block, size_t n, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        double *row = block + i * n;
        for (size_t j = 0; j < i; j++)
            row[j] = (row[j] - inner(row, block + j * n, j)) / block[j * n + j];
        double pivot = row[i] - inner(row, row, i);
        if (!(pivot > 0))
            return 0;
        row[i] = sqrt(pivot);
    }
    return 1;
}

/* x L' = row for TOGETHER rows or fewer, side by side so that they become vectors. */
static void solve_rows(const double *block, size_t n, size_t width, double *rows, size_t count)
{
    double x[WIDEST][TOGETHER];
    for (size_t j = 0; j < width; j++)
        for (size_t r = 0; r < TOGETHER; r++)
            x[j][r] = r < count ? rows[r * n + j] : 0;
    for (size_t j = 0; j < width; j++) {
        double pivot = block[j * n + j];
        for (size_t r = 0; r < TOGETHER; r++)
            x[j][r] /= pivot;
        for (size_t k = j + 1; k < width; k++) {
            double factor = block[k * n + j];
            for (size_t r = 0; r < TOGETHER; r++)
                x[k][r] -= factor * x[j][r];
        }
    }
    for (size_t r = 0; r < count; r++)
        for (size_t j = 0; j < width; j++)
            rows[r * n + j] = x[j][r];
}

/* Rows `from` and below, of their columns first, first + 1, ... */
static fplt__vectors rows_from(const double *matrix, size_t n, size_t from, size_t first)
{
    return (fplt__vectors){matrix + from * n + first, n, 1, FPLT_PANEL, FPLT_PANEL, NULL};
}

/* Takes columns first .. done - 1 off columns done .. end - 1, on and below the diagonal. */
static void take_off(const fplt__kernel *kernel, double *matrix, size_t n, size_t first,
                     size_t done, size_t end)
{
    fplt__vectors rows = rows_from(matrix, n, done, first);
    if (done > first && end > done)
        fplt__product_add(kernel, rows, rows, n - done, end - done, done - first, NULL, -1,
                          matrix + done * n + done, n);
}

int fplt__cholesky_factor(const fplt__kernel *kernel, double *matrix, size_t n)
{
    for (size_t first = 0; first < n; first += PANEL) {
        size_t end = first + PANEL < n ? first + PANEL : n;
        for (size_t j = first; j < end; j += kernel->tile_columns) {
            size_t width = end - j < kernel->tile_columns ? end - j : kernel->tile_columns;
            double *block = matrix + j * n + j;
            take_off(kernel, matrix, n, first, j, j + width);
            if (!factor_block(block, n, width))
                return 0;
            for (size_t i = j + width; i < n; i += TOGETHER)
                solve_rows(block, n, width, matrix + i * n + j,
                           n - i < TOGETHER ? n - i : TOGETHER);
        }
        take_off(kernel, matrix, n, first, end, n);
    }
    return 1;
}

void fplt__cholesky_solve(const double *factor, size_t n, double *right)
{
    for (size_t i = 0; i < n; i++)
        right[i] = (right[i] - inner(factor + i * n, right, i)) / factor[i * n + i];
    for (size_t i = n; i-- > 0;) {
        right[i] /= factor[i * n + i];
        for (size_t j = 0; j < i; j++)
            right[j] -= factor[i * n + j] * right[i];
    }
}
