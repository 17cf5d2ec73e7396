/* exp, sigmoid and softplus of every kernel against libm in long double, and log likewise. */
#include "testing.h"

#include <float.h>

#include "linalg/elementary.h"
#include "linalg/kernel.h"

#define for_each_kernel(kernel)                                                                 \
    for (size_t at_ = 0; fplt__kernel_get(at_); at_++)                                          \
        for (const fplt__kernel *kernel = fplt__kernel_get(at_); kernel && kernel->available(); \
             kernel = NULL)

/* Distance in units of the last place of the exact result; subnormal results have a fixed one. */
static double ulps(double computed, long double exact)
{
    int exponent;
    frexpl(exact, &exponent);
    if (exponent < DBL_MIN_EXP)
        exponent = DBL_MIN_EXP;
    return (double)(fabsl((long double)computed - exact) / ldexpl(1, exponent - DBL_MANT_DIG));
}

enum { COUNT = 1021 };

typedef void (*map)(double *, size_t);
typedef long double (*oracle)(long double);

static double worst_between(map apply, oracle exact, double low, double high)
{
    static double x[COUNT], y[COUNT];
    double worst = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = y[i] = low + (high - low) * i / (COUNT - 1);
    apply(y, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double error = ulps(y[i], exact(x[i]));
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}

static long double exact_sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double exact_softplus(long double x)
{
    return fmaxl(x, 0) + log1pl(expl(-fabsl(x)));
}

static void exp_is_within_two_ulps(void **state)
{
    (void)state;
    for_each_kernel(kernel)
    {
        double worst = 0;
        for (int piece = -746; piece < 709; piece++)
            worst = fmax(worst, worst_between(kernel->exp, expl, piece, piece + 1));
        for (int power = -60; power < 0; power++) {
            worst = fmax(worst, worst_between(kernel->exp, expl, ldexp(1, power), ldexp(2, power)));
            worst = fmax(worst, worst_between(kernel->exp, expl, -ldexp(2, power), 0));
        }
        worst = fmax(worst, worst_between(kernel->exp, expl, 709, 709.782712893383973));
        worst = fmax(worst, worst_between(kernel->exp, expl, -745.2, -745));
        print_message("# %s: exp within %.3f ulps\n", kernel->name, worst);
        if (!(worst <= 2))
            fail_msg("%s: exp is off by %g ulps", kernel->name, worst);
    }
}

static void exp_at_the_extremes(void **state)
{
    (void)state;
    for_each_kernel(kernel)
    {
        double x[] = {0.0, -0.0, INFINITY, -INFINITY, 710, 1e4, 1e300, -746, -1e4, -1e300, NAN};
        const double y[] = {1, 1, INFINITY, 0, INFINITY, INFINITY, INFINITY, 0, 0, 0};
        kernel->exp(x, 11);
        for (int i = 0; i < 10; i++)
            if (x[i] != y[i])
                fail_msg("%s: number %d gives %g, not %g", kernel->name, i, x[i], y[i]);
        assert_true(isnan(x[10]));
    }
}

static void sigmoid_and_softplus(void **state)
{
    (void)state;
    for_each_kernel(kernel)
    {
        double sigmoid = 0, softplus = 0;
        for (int piece = -340; piece < 340; piece++) {
            sigmoid =
                fmax(sigmoid, worst_between(kernel->sigmoid, exact_sigmoid, piece, piece + 1));
            softplus =
                fmax(softplus, worst_between(kernel->softplus, exact_softplus, piece, piece + 1));
        }
        print_message("# %s: sigmoid within %.3f, softplus within %.3f ulps\n", kernel->name,
                      sigmoid, softplus);
        if (!(sigmoid <= 5 && softplus <= 4))
            fail_msg("%s: sigmoid %g, softplus %g ulps", kernel->name, sigmoid, softplus);

        const double far[] = {1e4, -1e4, 1e300, -1e300, 800, -800};
        double x[40], y[40];
        for (int i = 0; i < 40; i++)
            x[i] = y[i] = i < 39 ? far[i % 6] : NAN;
        kernel->sigmoid(x, 40);
        kernel->softplus(y, 40);
        for (int i = 0; i < 39; i++) {
            assert_near(x[i], far[i % 6] > 0, 1e-150);
            assert_near(y[i], fmax(far[i % 6], 0), 1e-300);
        }
        assert_true(isnan(x[39]) && isnan(y[39]));
    }
}

/* A tail of any length gives what the middle of a vector gives. */
static void length_does_not_matter(void **state)
{
    (void)state;
    for_each_kernel(kernel) for (size_t count = 0; count < 40; count++)
    {
        double x[41], y[41];
        for (int i = 0; i < 41; i++)
            x[i] = y[i] = 0.37 * i - 7;
        kernel->exp(x, count);
        kernel->softplus(y, count);
        for (size_t i = 0; i < 41; i++) {
            double before = 0.37 * (double)i - 7;
            if (i >= count) {
                assert_true(x[i] == before && y[i] == before);
            } else {
                assert_true(ulps(x[i], expl(before)) <= 2);
                assert_true(ulps(y[i], exact_softplus(before)) <= 4);
            }
        }
    }
}

/* The two functions that share an exponential have the bits that each has alone. */
static void together_as_apart(void **state)
{
    (void)state;
    for_each_kernel(kernel) for (size_t count = 0; count < 40; count++)
    {
        double x[41], one[41], other[41], value[41];
        for (int i = 0; i < 41; i++) {
            x[i] = i == 40 ? NAN : i % 7 == 3 ? 900 - 60.0 * i : 0.37 * i - 7;
            one[i] = other[i] = x[i];
            value[i] = -1;
        }
        kernel->logistic(x, value, count);
        kernel->sigmoid(one, count);
        kernel->softplus(other, count);
        assert_memory_equal(x, one, sizeof x);
        assert_memory_equal(value, other, count * sizeof *value);
        for (size_t i = count; i < 41; i++)
            assert_true(value[i] == -1);
    }
}

static void signs(void **state)
{
    (void)state;
    const double cycle[] = {-1, 0, 2, -0.0, NAN, -1e-320, INFINITY, -INFINITY, 3};
    for_each_kernel(kernel) for (size_t count = 0; count < 60; count++)
    {
        double x[60];
        size_t below = 0, zero = 0, ties;
        for (size_t i = 0; i < 60; i++) {
            x[i] = cycle[(i * i + i / 7) % 9];
            below += i < count && x[i] < 0;
            zero += i < count && x[i] == 0;
        }
        assert_int_equal(kernel->below(x, count, &ties), below);
        assert_int_equal(ties, zero);
    }
}

static void logarithm(void **state)
{
    (void)state;
    double worst = 0;
    for (int power = 0; power < 200; power++)
        for (int i = 0; i < 2000; i++) {
            double x = ldexp(1 + i / 2000.0, power);
            worst = fmax(worst, x > 1 ? ulps(fplt__log(x), logl(x)) : fabs(fplt__log(x)));
        }
    if (!(worst <= 2))
        fail_msg("log is off by %g ulps", worst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_two_ulps),
        cmocka_unit_test(exp_at_the_extremes),
        cmocka_unit_test(sigmoid_and_softplus),
        cmocka_unit_test(length_does_not_matter),
        cmocka_unit_test(together_as_apart),
        cmocka_unit_test(logarithm),
        cmocka_unit_test(signs),
    };
    return cmocka_run_group_tests_name("elementary", tests, NULL, NULL);
}
