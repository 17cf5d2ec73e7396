/* Row by row: L[i][j] = (A[i][j] - <L[i][:j], L[j][:j]>) / L[j][j], all inner products contiguous. */
#include "linalg/cholesky.h"

#include <math.h>

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

int fplt__cholesky_factor(double *matrix, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = matrix + i * n;
        for (size_t j = 0; j < i; j++)
            row[j] = (row[j] - inner(row, matrix + j * n, j)) / matrix[j * n + j];
        double pivot = row[i] - inner(row, row, i);
        if (!(pivot > 0))
            return 0;
        row[i] = sqrt(pivot);
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
