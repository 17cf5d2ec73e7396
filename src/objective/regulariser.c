/* The smooth regularisers r and their registry: ridge ||x||^2 / 2, and the nonconvex
 * sum x_j^2 / (1 + x_j^2) of the paper's experiments, whose second derivative
 * (2 - 6 x^2) / (1 + x^2)^3 lies between -1/2 (at 1) and 2 (at 0). */
#include <stddef.h>

#include "objective/loss.h"

static double ridge_value(const double *x, size_t count)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += x[j] * x[j];
    return sum / 2;
}

static void ridge_slope(double factor, double weight, const double *restrict x, size_t count,
                        double *restrict gradient)
{
    for (size_t j = 0; j < count; j++)
        gradient[j] = factor * gradient[j] + weight * x[j];
}

static void ridge_bend(double weight, const double *x, const double *v, size_t count,
                       double *product)
{
    (void)x;
    for (size_t j = 0; j < count; j++)
        product[j] += weight * v[j];
}

static double ridge_curve(double x)
{
    (void)x;
    return 1;
}

static const fplt__regulariser ridge = {
    .name = "ridge",
    .help = "||x||^2 / 2: makes every cost strongly convex",
    .least = 1,
    .most = 1,
    .value = ridge_value,
    .slope = ridge_slope,
    .bend = ridge_bend,
    .curve = ridge_curve,
};

/* Far out x^2 overflows: 1/(1 + x^2) is then 0, and so are the derivatives. */

static double nonconvex_value(const double *x, size_t count)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += 1 - 1 / (1 + x[j] * x[j]);
    return sum;
}

static void nonconvex_slope(double factor, double weight, const double *restrict x, size_t count,
                            double *restrict gradient)
{
    for (size_t j = 0; j < count; j++) {
        double share = 1 / (1 + x[j] * x[j]);
        gradient[j] = factor * gradient[j] + weight * 2 * (x[j] * share) * share;
    }
}

static double nonconvex_curve(double x)
{
    double share = 1 / (1 + x * x);
    return share * share * (8 * share - 6);
}

static void nonconvex_bend(double weight, const double *x, const double *v, size_t count,
                           double *product)
{
    for (size_t j = 0; j < count; j++)
        product[j] += weight * nonconvex_curve(x[j]) * v[j];
}

static const fplt__regulariser nonconvex = {
    .name = "nonconvex",
    .help = "sum x_j^2 / (1 + x_j^2): bounded, not convex",
    .least = -0.5,
    .most = 2,
    .value = nonconvex_value,
    .slope = nonconvex_slope,
    .bend = nonconvex_bend,
    .curve = nonconvex_curve,
};

static double no_value(const double *x, size_t count)
{
    (void)x;
    (void)count;
    return 0;
}

static void no_slope(double factor, double weight, const double *x, size_t count, double *gradient)
{
    (void)weight;
    (void)x;
    for (size_t j = 0; j < count; j++)
        gradient[j] *= factor;
}

static void no_bend(double weight, const double *x, const double *v, size_t count, double *product)
{
    (void)weight;
    (void)x;
    (void)v;
    (void)count;
    (void)product;
}

static double no_curve(double x)
{
    (void)x;
    return 0;
}

static const fplt__regulariser none = {
    .name = "none",
    .help = "no regulariser",
    .value = no_value,
    .slope = no_slope,
    .bend = no_bend,
    .curve = no_curve,
};

const fplt__regulariser *const fplt__regularisers[] = {&ridge, &nonconvex, &none, NULL};
