/* Normal tails by Mills' ratio R(x) = int_0^inf exp(-x s - s^2/2) ds.
 *
 * With J_k = int s^k/k! exp(-x s - s^2/2) ds, J_-1 = 1 and J_0 = R, integration by parts gives
 * (k+1) J_{k+1} = J_{k-1} - x J_k, hence J_k / J_{k-1} = 1 / (x + (k+1) J_{k+1} / J_k): Laplace's
 * continued fraction [Abramowitz and Stegun 26.2.14], stable backwards for x > 0. */
#include "base/normal.h"

#include <math.h>

static const double half_log_two_pi = 0.91893853320467274178032973640562;
static const double root_two_pi = 2.5066282746310005024157652848110;
static const double root_half = 0.70710678118654752440084436210485;

/* From x = 2 on, DEPTH levels of the fraction leave an error below exp(-4 sqrt(2 DEPTH)). */
enum { DEPTH = 160, TERMS = 26 };
static const double tail_begins = 2;

static double ratios(double x, double ratio[TERMS])
{
    double r = 0;
    for (int k = DEPTH; k >= 0; k--) {
        r = 1 / (x + (k + 1) * r);
        if (k < TERMS)
            ratio[k] = r;
    }
    return r;
}

double fplt__normal_mills(double x)
{
    double ratio[TERMS];
    if (x >= tail_begins)
        return ratios(x, ratio);
    return 0.5 * erfc(x * root_half) * root_two_pi * exp(x * x / 2);
}

double fplt__normal_hazard(double x, double *above)
{
    double ratio[TERMS];
    if (!(x >= tail_begins)) {
        double hazard = 1 / fplt__normal_mills(x);
        if (above)
            *above = hazard - x;
        return hazard;
    }
    ratios(x, ratio);
    if (above)
        *above = ratio[1];
    return 1 / ratio[0];
}

double fplt__normal_log_cdf(double x)
{
    if (x >= 0)
        return log1p(-0.5 * erfc(x * root_half));
    if (x > -tail_begins)
        return log(0.5 * erfc(-x * root_half));
    return -x * x / 2 - half_log_two_pi + log(fplt__normal_mills(-x));
}

/* z < 0 with ln P(normal <= z) = target: Newton on the logarithm of the distribution function,
 * which is concave and increasing, from a start good to 4.5e-4 [Abramowitz and Stegun 26.2.23]. */
static double lower_quantile(double target)
{
    double t = sqrt(-2 * target);
    double z = (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
               t;
    for (int i = 0; i < 8; i++) {
        double change = (fplt__normal_log_cdf(z) - target) * fplt__normal_mills(-z);
        z -= change;
        if (fabs(change) <= 1e-16 * fabs(z))
            break;
    }
    return z;
}

double fplt__normal_quantile(double p)
{
    if (p <= 0)
        return -INFINITY;
    if (p >= 1)
        return INFINITY;
    if (fabs(p - 0.5) < 1e-3) {
        /* near the middle ln p has lost what p - 1/2 still shows: Newton on the difference */
        double z = (p - 0.5) * root_two_pi;
        for (int i = 0; i < 4; i++)
            z -= (0.5 * erf(z * root_half) - (p - 0.5)) * root_two_pi * exp(z * z / 2);
        return z;
    }
    return p < 0.5 ? lower_quantile(log(p)) : -lower_quantile(log1p(-p));
}

double fplt__normal_log_mills_gap(double x, double h)
{
    double nearer = fplt__normal_mills(x - h), farther = fplt__normal_mills(x + h);
    if (farther < 0.9 * nearer)
        return log(nearer - farther);
    /* R(x - h) - R(x + h) = 2 sum over odd k of J_k h^k, all terms positive; here h is at most a
     * twentieth of max(x, 3) and the terms fall off quickly. */
    double term[TERMS], sum = 0;
    if (x >= tail_begins) {
        double ratio[TERMS], product = ratios(x, ratio);
        term[0] = product;
        for (int k = 1; k < TERMS; k++)
            term[k] = product *= ratio[k] * h;
    } else {
        term[0] = fplt__normal_mills(x);
        term[1] = (1 - x * term[0]) * h;
        for (int k = 1; k + 1 < TERMS; k++)
            term[k + 1] = (term[k - 1] * h * h - x * h * term[k]) / (k + 1);
    }
    for (int k = TERMS - 1; k > 0; k -= 2)
        sum += term[k];
    return log(2 * sum);
}
