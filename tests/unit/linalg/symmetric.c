/* Extreme eigenvalues against LAPACK and closed forms. */
#include "testing.h"

#include <float.h>
#include <lapacke.h>

#include "fedplt/random.h"
#include "base/random.h"
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
                    fplt__stream_normals(&stream, 1, w, n);
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

/* The same by bisection of Gershgorin's interval alone, from the definition of what is sought: the two
 * neighbours between which the number of negative pivots passes `index`. */
static double by_bisection(const double *diagonal, const double *beside, size_t n, size_t index)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        double radius = (i ? fabs(beside[i - 1]) : 0) + (i + 1 < n ? fabs(beside[i]) : 0);
        low = fmin(low, diagonal[i] - radius);
        high = fmax(high, diagonal[i] + radius);
    }
    for (;;) {
        double middle = low + (high - low) / 2, pivot = 1;
        size_t below = 0;
        if (!(low < middle && middle < high))
            return middle;
        for (size_t i = 0; i < n; i++) {
            pivot = diagonal[i] - middle - (i ? beside[i - 1] * beside[i - 1] : 0) / pivot;
            if (fabs(pivot) < DBL_MIN)
                pivot = -DBL_MIN;
            below += pivot < 0;
        }
        *(below > index ? &high : &low) = middle;
    }
}

/* Wherever the search begins it ends at the same bits: well apart, close together, equal, graded. */
static void shortcuts_change_no_bit(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 3000; trial++) {
        double diagonal[30], beside[30];
        size_t n = 2 + trial % 29;
        fplt_stream stream = fplt_stream_make(22, 0, FPLT_FOR_TEST, trial, 0, 0);
        fplt__stream_normals(&stream, 1, diagonal, n);
        fplt__stream_normals(&stream, trial % 3 ? 1 : 1e-9, beside, n);
        for (size_t i = 0; i < n; i++) {
            double grade = trial % 5 == 0 ? pow(10, -(double)(i % 12)) : 1;
            diagonal[i] = (trial % 7 == 0 ? 1 : diagonal[i]) * grade;
            beside[i] *= trial % 11 == 0 ? 0 : grade;
        }
        for (size_t k = 0; k < 2; k++) {
            size_t index = k ? n - 1 : 0;
            double got = fplt__tridiagonal_eigenvalue(diagonal, beside, n, index);
            double wanted = by_bisection(diagonal, beside, n, index);
            if (got != wanted)
                fail_msg("trial %u, n %zu, %zu: %.17g, not %.17g", trial, n, index, got, wanted);
        }
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
        cmocka_unit_test(shortcuts_change_no_bit),
        cmocka_unit_test(zero_and_diagonal),
    };
    return cmocka_run_group_tests_name("symmetric", tests, NULL, NULL);
}
