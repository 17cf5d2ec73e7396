/* The smooth regularisers r and their registry: ridge ||x||^2 / 2, and the nonconvex
 * sum x_j^2 / (1 + x_j^2) of the paper's experiments, whose second derivative
 * (2 - 6 x^2) / (1 + x^2)^3 lies between -1/2 (at 1) and 2 (at 0). */
#include <math.h>
#include <stddef.h>

#include "base/memory.h"
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

fplt_status fplt__penalty_make(const fplt__regulariser *kind, double weight, const double *units,
                               size_t features, size_t outputs, fplt__penalty *penalty,
                               fplt_error *error)
{
    double least = 1, most = 1; /* of 1/unit^2 */
    *penalty = (fplt__penalty){.kind = kind, .weight = weight, .count = features * outputs};
    if (units) {
        fplt_status status = fplt__alloc_into(&penalty->units, penalty->count,
                                              sizeof *penalty->units, "units", error);
        if (status)
            return status;
        least = HUGE_VAL, most = 0;
        for (size_t j = 0; j < penalty->count; j++) {
            double unit = penalty->units[j] = units[j % features], square = 1 / (unit * unit);
            if (!(unit > 0 && square > 0 && isfinite(square)))
                return fplt_error_set(error, FPLT_BAD_VALUE,
                                      "the unit of feature %zu is %g, but it must be a number "
                                      "above 0 whose square is one too",
                                      j % features, unit);
            least = fmin(least, square);
            most = fmax(most, square);
        }
    }
    penalty->least = weight * kind->least * (kind->least < 0 ? most : least);
    penalty->most = weight * kind->most * most;
    return FPLT_OK;
}

double fplt__penalty_value(const fplt__penalty *penalty, const double *x)
{
    double sum = 0;
    if (!penalty->units)
        return penalty->weight * penalty->kind->value(x, penalty->count);
    for (size_t j = 0; j < penalty->count; j++) {
        double own = x[j] / penalty->units[j];
        sum += penalty->kind->value(&own, 1);
    }
    return penalty->weight * sum;
}

void fplt__penalty_slope(const fplt__penalty *penalty, double factor, double scale, const double *x,
                         double *gradient)
{
    double weight = scale * penalty->weight;
    if (!penalty->units)
        penalty->kind->slope(factor, weight, x, penalty->count, gradient);
    for (size_t j = 0; penalty->units && j < penalty->count; j++) {
        double own = x[j] / penalty->units[j];
        penalty->kind->slope(factor, weight / penalty->units[j], &own, 1, &gradient[j]);
    }
}

void fplt__penalty_bend(const fplt__penalty *penalty, double scale, const double *x,
                        const double *v, double *product)
{
    double weight = scale * penalty->weight;
    if (!penalty->units)
        penalty->kind->bend(weight, x, v, penalty->count, product);
    for (size_t j = 0; penalty->units && j < penalty->count; j++) {
        double own = x[j] / penalty->units[j], along = v[j] / penalty->units[j];
        penalty->kind->bend(weight / penalty->units[j], &own, &along, 1, &product[j]);
    }
}

double fplt__penalty_curve(const fplt__penalty *penalty, double scale, size_t j, double x)
{
    double unit = penalty->units ? penalty->units[j] : 1;
    return scale * penalty->weight * penalty->kind->curve(x / unit) / (unit * unit);
}
