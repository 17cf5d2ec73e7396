/* The incomplete gamma function by its series below the mean [DLMF 8.7.1] and its continued fraction
 * above it [DLMF 8.9.2]: each side has its own small tail, without cancellation. Both converge in
 * O(sqrt(freedom)) terms. */
#include "lab/audit/tails.h"

#include <float.h>
#include <math.h>

#include "privacy/boundary.h"

enum { MAX_TERMS = 10000000 };

/* x^a exp(-x) / Gamma(a + 1). */
static double front(double a, double x)
{
    int sign;
    return exp(a * log(x) - x - lgamma_r(a + 1, &sign));
}

static double series(double a, double x)
{
    double term = 1, sum = 1;
    for (int k = 1; k < MAX_TERMS && term > DBL_EPSILON * sum; k++)
        sum += term *= x / (a + k);
    return front(a, x) * sum;
}

/* Modified Lentz algorithm; for x > a + 1 no denominator vanishes. */
static double fraction(double a, double x)
{
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, value = d;
    for (int k = 1; k < MAX_TERMS; k++) {
        double coefficient = -k * (k - a), before = value;
        b += 2;
        d = 1 / (coefficient * d + b);
        c = b + coefficient / c;
        value *= c * d;
        if (fabs(value - before) <= DBL_EPSILON * value)
            break;
    }
    return front(a, x) * a * value;
}

double fplt__chi_square_below(double value, double freedom)
{
    double a = freedom / 2, x = value / 2;
    if (!(x > 0))
        return 0;
    return x < a + 1 ? series(a, x) : 1 - fraction(a, x);
}

double fplt__chi_square_above(double value, double freedom)
{
    double a = freedom / 2, x = value / 2;
    if (!(x > 0))
        return 1;
    return x < a + 1 ? 1 - series(a, x) : fraction(a, x);
}

struct wanted {
    double p, freedom;
};

static int too_small(double value, const void *context)
{
    const struct wanted *wanted = context;
    return fplt__chi_square_below(value, wanted->freedom) < wanted->p;
}

double fplt__chi_square_quantile(double p, double freedom)
{
    struct wanted wanted = {p, freedom};
    double value, beyond;
    fplt__boundary(too_small, &wanted, DBL_MIN, freedom + 100 * sqrt(freedom) + 2000, &value,
                   &beyond);
    return value;
}
