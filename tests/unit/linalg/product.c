/* Products in tiles and the Cholesky factor against plain loops in long double, for every kernel and around
 * every size of tile, block and panel. */
#include "testing.h"

#include <float.h>

#include "base/memory.h"
#include "fedplt/random.h"
#include "base/random.h"
#include "linalg/cholesky.h"
#include "linalg/product.h"

#define for_each_kernel(kernel)                                                                 \
    for (size_t at_ = 0; fplt__kernel_get(at_); at_++)                                          \
        for (const fplt__kernel *kernel = fplt__kernel_get(at_); kernel && kernel->available(); \
             kernel = NULL)

static double *normals(size_t count, uint64_t seed)
{
    double *x = fplt__alloc(count, sizeof *x);
    fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, count, 0, 0);
    fplt__stream_normals(&stream, 1, x, count);
    return x;
}

/* Columns of a matrix row-major or in panels of so many rows, weighted or not: the lower triangle, and nothing above it. The first
 * and the last column are the same, so their products are too, to the bit. */
static void one_product(const fplt__kernel *kernel, size_t n, size_t depth, unsigned panels,
                        int weighted)
{
    fplt__matrix a = {.layout = panels ? FPLT_PANELS : FPLT_ROWS,
                      .panel = panels,
                      .rows = depth,
                      .columns = n,
                      .stride = panels ? n : fplt__padded(n)};
    a.dense = fplt__alloc(fplt__matrix_padded(&a, depth) * a.stride, sizeof(double));
    double *x = normals(depth * n, 1), *weights = normals(depth, 2), *c = normals(n * n, 3),
           *before = normals(n * n, 3);
    for (size_t r = 0; r < depth; r++) {
        x[r * n + n - 1] = x[r * n];
        for (size_t j = 0; j < n; j++)
            a.dense[fplt__matrix_place(&a, r, j)] = x[r * n + j];
    }
    c[(n - 1) * n] = c[(n - 1) * n + n - 1] = c[0] = before[(n - 1) * n] =
        before[(n - 1) * n + n - 1] = before[0];
    fplt__vectors columns = fplt__columns_from(&a, 0);
    fplt__product_add(kernel, columns, columns, n, n, depth, weighted ? weights : NULL, -1, c, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            long double sum = before[i * n + j], size = fabsl(sum);
            for (size_t r = 0; r < depth && j <= i; r++) {
                long double term = (long double)x[r * n + i] * x[r * n + j];
                term *= weighted ? weights[r] : -1;
                sum += term;
                size += fabsl(term);
            }
            if (!(fabsl(c[i * n + j] - sum) <= DBL_EPSILON * (long double)(depth + 4) * size))
                fail_msg("%s, %zu deep, panels of %u: (%zu, %zu) of %zu is %g, not %g",
                         kernel->name, depth, panels, i, j, n, c[i * n + j], (double)sum);
        }
    assert_true(c[(n - 1) * n] == c[0] && c[(n - 1) * n + n - 1] == c[0]);
    fplt__free(a.dense);
    fplt__free(x);
    fplt__free(weights);
    fplt__free(c);
    fplt__free(before);
}

static void products(void **state)
{
    (void)state;
    static const size_t deep[] = {1, 4, 7, 8, 9, 128, 129, 300}, more[] = {47, 95, 96, 97, 121};
    static const unsigned panels[] = {0, 4, 8};
    for_each_kernel(kernel)
    {
        for (size_t n = 1; n < 32; n++)
            for (size_t i = 0; i < 8; i++)
                for (int which = 0; which < 6; which++)
                    one_product(kernel, n, deep[i], panels[which % 3], which / 3);
        for (size_t i = 0; i < 5; i++)
            for (int which = 0; which < 6; which++)
                one_product(kernel, more[i], 2 * i + 131, panels[which % 3], which / 3);
    }
}

/* B B' + I: its factor gives it back, what is above the diagonal stays, and systems are solved. */
static void one_factor(const fplt__kernel *kernel, size_t n)
{
    double *b = normals(n * n, 4), *a = fplt__alloc(n * n, sizeof *a),
           *factor = fplt__alloc(n * n, sizeof *a), *x = normals(n, 5);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j;
            for (size_t k = 0; k < n; k++)
                sum += b[i * n + k] * b[j * n + k];
            a[i * n + j] = sum;
            factor[i * n + j] = j <= i ? sum : NAN;
        }
    assert_true(fplt__cholesky_factor(kernel, factor, n));
    double size = 0, *right = fplt__alloc(n, sizeof *right);
    for (size_t i = 0; i < n; i++)
        size = fmax(size, a[i * n + i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            long double sum = 0;
            for (size_t k = 0; k <= j && j <= i; k++)
                sum += (long double)factor[i * n + k] * factor[j * n + k];
            if (j > i)
                assert_true(isnan(factor[i * n + j]));
            else if (!(fabsl(sum - a[i * n + j]) <= 4 * DBL_EPSILON * (double)n * size))
                fail_msg("%s, order %zu: (%zu, %zu) is %g, not %g", kernel->name, n, i, j,
                         (double)sum, a[i * n + j]);
            right[i] += a[i * n + j] * x[j];
        }
    fplt__cholesky_solve(factor, n, right);
    for (size_t i = 0; i < n; i++)
        assert_near(right[i], x[i], 1e-9 * size);

    /* the last pivot is what is left of the last element: below it nothing is positive definite */
    double last = factor[n * n - 1] * factor[n * n - 1];
    for (int which = 0; which < 3; which++) {
        memcpy(factor, a, n * n * sizeof *a);
        if (which < 2)
            factor[n * n - 1] -= (which ? 1 + 1e-3 : 1 - 1e-3) * last;
        else
            factor[(n - 1) * n] = NAN;
        assert_int_equal(fplt__cholesky_factor(kernel, factor, n), which == 0);
    }
    fplt__free(b);
    fplt__free(a);
    fplt__free(factor);
    fplt__free(x);
    fplt__free(right);
}

static void factors(void **state)
{
    (void)state;
    static const size_t orders[] = {47, 48, 49, 60, 95, 96, 97, 103, 150};
    for_each_kernel(kernel)
    {
        for (size_t n = 1; n < 30; n++)
            one_factor(kernel, n);
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
            one_factor(kernel, orders[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(factors),
    };
    return cmocka_run_group_tests_name("product", tests, NULL, NULL);
}
