/* Extreme eigenvalues against LAPACK and closed forms. */
#include "testing.h"

#include <lapacke.h>

#include "fedplt/random.h"
#include "linalg/symmetric.h"

static void against_lapack(void **state)
{
    (void)state;
    const size_t orders[] = {1, 2, 3, 4, 5, 8, 17, 40, 101, 200};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (size_t rank = 1; rank <= orders[i]; rank += 1 + orders[i] / 3)
            for (size_t k = 0; fplt__kernel_get(k); k++) {
                size_t n = orders[i];
                if (!fplt__kernel_get(k)->available())
                    continue;
                double *a = calloc(n * n, sizeof *a), *copy = calloc(n * n, sizeof *a);
                double *work = calloc(4 * n, sizeof *work), *w = calloc(n, sizeof *w), low, high;
                fplt_stream stream = fplt_stream_make(21, 0, FPLT_FOR_TEST, n, rank, 0);
                for (size_t r = 0; r < rank; r++) {
                    fplt_stream_normals(&stream, 1, w, n);
                    double sign = r % 3 == 1 ? -1 : 1;
                    for (size_t p = 0; p < n; p++)
                        for (size_t q = 0; q < n; q++)
                            a[p * n + q] += sign * w[p] * w[q];
                }
                memcpy(copy, a, n * n * sizeof *a);
                assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', (lapack_int)n, copy,
                                               (lapack_int)n, w),
                                 0);
                fplt__symmetric_extremes(fplt__kernel_get(k), a, n, work, &low, &high);
                double size = fmax(fabs(w[0]), fabs(w[n - 1]));
                assert_near(low, w[0], 1e-13 * (double)n * size);
                assert_near(high, w[n - 1], 1e-13 * (double)n * size);
                free(a);
                free(copy);
                free(work);
                free(w);
            }
}

/* The second difference matrix: 2 - 2 cos(k pi / (n + 1)). */
static void tridiagonal(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 60; n++) {
        double diagonal[60], beside[60];
        for (size_t i = 0; i < n; i++) {
            diagonal[i] = 2;
            beside[i] = -1;
        }
        for (size_t k = 0; k < n; k++)
            assert_near(fplt__tridiagonal_eigenvalue(diagonal, beside, n, k),
                        2 - 2 * cos(M_PI * (double)(k + 1) / (double)(n + 1)), 1e-14);
    }
}

static void zero_and_diagonal(void **state)
{
    (void)state;
    double work[12], low, high;
    double zero[9] = {0}, diagonal[9] = {3, 0, 0, 0, -1, 0, 0, 0, 2};
    fplt__symmetric_extremes(&fplt__kernel_reference, zero, 3, work, &low, &high);
    assert_true(low == 0 && high == 0);
    fplt__symmetric_extremes(&fplt__kernel_reference, diagonal, 3, work, &low, &high);
    assert_near(low, -1, 1e-15);
    assert_near(high, 3, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_lapack),
        cmocka_unit_test(tridiagonal),
        cmocka_unit_test(zero_and_diagonal),
    };
    return cmocka_run_group_tests_name("symmetric", tests, NULL, NULL);
}
