/* Fisher's linear discriminant: direction S^-1 (m_1 - m_0), S the pooled covariance. */
#include <string.h>

#include "base/memory.h"
#include "lab/audit/audit.h"
#include "linalg/cholesky.h"
#include "linalg/product.h"

enum { BLOCK = FPLT_DEPTH };

static int is_fitted(size_t number)
{
    return (number >> 1) % 2 == 0;
}

static void find_means(const float *points, size_t count, size_t n, double *mean, size_t *members)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_fitted(i))
            continue;
        double *own = mean + (i & 1) * n;
        for (size_t j = 0; j < n; j++)
            own[j] += points[i * n + j];
        members[i & 1]++;
    }
    for (size_t j = 0; j < 2 * n; j++)
        mean[j] /= (double)members[j / n];
}

/* Lower triangle of the sum of squares about the means, a block of points at a time. */
static void find_scatter(const fplt__kernel *kernel, const float *points, size_t count, size_t n,
                         const double *mean, double *block, double *scatter)
{
    fplt__vectors columns = {block, 1, n, BLOCK, BLOCK * n, NULL};
    size_t held = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_fitted(i)) {
            const double *own = mean + (i & 1) * n;
            for (size_t j = 0; j < n; j++)
                block[held * n + j] = points[i * n + j] - own[j];
            held++;
        }
        if (held == BLOCK || (held && i + 1 == count)) {
            fplt__product_add(kernel, columns, columns, n, n, held, NULL, 1, scatter, n);
            held = 0;
        }
    }
}

fplt_status fplt__discriminant(const float *points, size_t count, size_t n, double *direction,
                               fplt_error *error)
{
    double *mean, *block, *scatter;
    size_t members[2] = {0, 0};
    const char *what = "the discriminant";
    fplt_status status =
        fplt__alloc_into(&mean, 2 * n + BLOCK * n + n * n, sizeof *mean, what, error);
    if (status)
        return status;
    block = mean + 2 * n;
    scatter = block + BLOCK * n;
    find_means(points, count, n, mean, members);
    const fplt__kernel *kernel = fplt__kernel_for(&(fplt__kernel_shape){.columns = n}, 0);
    find_scatter(kernel, points, count, n, mean, block, scatter);
    /* far below any noise that is there, and above the rounding of single precision */
    double trace = 0;
    for (size_t j = 0; j < n; j++)
        trace += scatter[j * n + j];
    for (size_t j = 0; j < n; j++)
        scatter[j * n + j] += 1e-11 * trace / (double)n + 1e-300;
    for (size_t j = 0; j < n; j++)
        direction[j] = mean[n + j] - mean[j];
    if (fplt__cholesky_factor(kernel, scatter, n))
        fplt__cholesky_solve(scatter, n, direction);
    else
        status = fplt_error_set(error, FPLT_FAILED, "the covariance of the messages is singular");
    fplt__free(mean);
    return status;
}
