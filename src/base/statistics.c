/* Tails of Student's t, F and chi-squared by the incomplete beta and gamma functions.
 *
 * I_x(a, b) by its continued fraction [DLMF 8.17.22] and Q(a, x) by its series and continued fraction
 * [DLMF 8.11.4, 8.9.2], all evaluated forwards with the modified Lentz algorithm. */
#include "base/statistics.h"

#include <float.h>
#include <math.h>

static const double tiny = 1e-300;
enum { TERMS = 1000000 };

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* log Gamma(x) minus Stirling's (x - 1/2) log x - x + log(2 pi)/2, for x of at least 10 [DLMF 5.11.1]. */
static double stirling_rest(double x)
{
    double y = 1 / (x * x);
    return (1.0 / 12 -
            y * (1.0 / 360 -
                 y * (1.0 / 1260 -
                      y * (1.0 / 1680 - y * (1.0 / 1188 - y * (691.0 / 360360 - y / 156)))))) /
           x;
}

/* log Gamma(a + b) - log Gamma(a) without cancellation where a is large. */
static double log_gamma_rise(double a, double b)
{
    if (a < 10)
        return log_gamma(a + b) - log_gamma(a);
    return (a - 0.5) * log1p(b / a) + b * log(a + b) - b + stirling_rest(a + b) - stirling_rest(a);
}

static double log_beta(double a, double b)
{
    return a > b ? log_gamma(b) - log_gamma_rise(a, b) : log_gamma(a) - log_gamma_rise(b, a);
}

/* One step of the modified Lentz algorithm: value *= the next ratio of convergents. */
static void lentz(double coefficient, double term, double *c, double *d, double *value)
{
    *d = term + coefficient * *d;
    *c = term + coefficient / *c;
    *d = 1 / (fabs(*d) < tiny ? tiny : *d);
    *c = fabs(*c) < tiny ? tiny : *c;
    *value *= *c * *d;
}

/* Converges in O(sqrt(max(a, b))) terms for x below (a + 1)/(a + b + 2). This is the even part of the fraction
 * 1/(1 + d_1/(1 + d_2/(1 + ...))): 1/(e_0 - d_1 d_2/(e_1 - d_3 d_4/(e_2 - ...))) with
 * e_m = 1 + d_2m + d_2m+1, where 1 + d_2m+1 is written by 1 - x where x is near 1, so that it does
 * not cancel. */
static double beta_fraction(double a, double b, double x, double rest)
{
    double c = tiny, d = 0, value = tiny, before_odd = 0;
    for (int m = 0; m < TERMS; m++) {
        double below = (a + 2 * m) * (a + 2 * m + 1), rise = (a + m) * (a + b + m);
        double even = m ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) : 0;
        double odd = x < 0.5 ? 1 - rise * x / below
                             : (a * (2 * m + 1 - b) + m * (3.0 * m + 2 - b) + rise * rest) / below;
        double before = value;
        lentz(m ? -before_odd * even : 1, odd + even, &c, &d, &value);
        before_odd = -rise * x / below;
        if (m && fabs(value - before) <= 1e-16 * fabs(value))
            break;
    }
    return value;
}

/* log x, from 1 - x where x is near 1. */
static double log_of(double x, double rest)
{
    return x > 0.5 ? log1p(-rest) : log(x);
}

double fplt__beta_tail(double a, double b, double x, double rest)
{
    if (isnan(x))
        return NAN;
    if (x <= 0)
        return 0;
    if (rest <= 0)
        return 1;
    double front = exp(a * log_of(x, rest) + b * log_of(rest, x) - log_beta(a, b));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x, rest) / a;
    return 1 - front * beta_fraction(b, a, rest, x) / b;
}

double fplt__student_two_sided(double t, double freedom)
{
    double square = t * t;
    if (isinf(square))
        return fplt__beta_tail(freedom / 2, 0.5, freedom / fabs(t) / fabs(t), 1);
    return fplt__beta_tail(freedom / 2, 0.5, freedom / (freedom + square),
                           square / (freedom + square));
}

double fplt__student_quantile(double level, double freedom)
{
    double low = 0, high = 1, outside = 1 - level;
    while (high < DBL_MAX / 2 && fplt__student_two_sided(high, freedom) > outside)
        high *= 2;
    for (int halving = 0; halving < 2000 && high - low > DBL_EPSILON * high; halving++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (fplt__student_two_sided(middle, freedom) > outside)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double fplt__f_tail(double f, double numerator, double denominator)
{
    if (f <= 0)
        return 1;
    double part = numerator * f, whole = denominator + part;
    return fplt__beta_tail(denominator / 2, numerator / 2, denominator / whole, part / whole);
}

/* P(a, x) e^x x^-a Gamma(a), for x below a + 1. */
static double gamma_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (int i = 1; i < TERMS && term > 1e-17 * sum; i++) {
        term *= x / (a + i);
        sum += term;
    }
    return sum;
}

/* Q(a, x) e^x x^-a Gamma(a), for x from a + 1 on. */
static double gamma_fraction(double a, double x)
{
    double term = x + 1 - a, c = 1 / tiny, d = 1 / term, value = d;
    for (int i = 1; i < TERMS; i++) {
        double before = value;
        term += 2;
        lentz(-i * (i - a), term, &c, &d, &value);
        if (fabs(value - before) <= 1e-16 * fabs(value))
            break;
    }
    return value;
}

double fplt__chi_tail(double x, double freedom)
{
    double a = freedom / 2, half = x / 2;
    if (isnan(x))
        return NAN;
    if (x <= 0)
        return 1;
    double front = exp(a * log(half) - half - log_gamma(a));
    return half < a + 1 ? 1 - front * gamma_series(a, half) : front * gamma_fraction(a, half);
}
