/* Random intercepts of linear regression, in closed form. With r = m - y of a cluster of n rows, r- its mean, residual
 * variance e^(2h), theta the standard deviation of the random intercept in units of the residual's and D = 1 + n theta^2,
 * minus the logarithm of the density is, but for log(2 pi)/2 a row,
 *
 *     n h + log(D)/2 + e^(-2h) Q/2,     Q = sum (r_j - r-)^2 + n r-^2/D.
 */
#include <math.h>
#include <stdio.h>

#include "objective/random_intercept.h"

/* h stays between these: e^(-2h) is finite. */
static const double farthest = 150;

size_t fplt__mixed_linear_shared(size_t classes)
{
    (void)classes;
    return 2;
}

struct cluster {
    size_t first, end;
    double n, theta, d, mean, q, precision, h; /* precision: e^(-2h) */
    int inside;                                /* h is within its bounds */
};

static struct cluster cluster_at(const fplt__block *block, const double *m, size_t first)
{
    double sum = 0, h = m[2 * block->stride + first];
    struct cluster c = {.first = first, .end = fplt__cluster_end(block, first)};
    for (size_t j = first; j < c.end; j++)
        sum += m[j] - block->label[j];
    c.n = (double)(c.end - first);
    c.theta = 1 + m[block->stride + first];
    c.d = 1 + c.n * c.theta * c.theta;
    c.mean = sum / c.n;
    c.q = c.n * c.mean * c.mean / c.d;
    for (size_t j = first; j < c.end; j++) {
        double rest = m[j] - block->label[j] - c.mean;
        c.q += rest * rest;
    }
    c.h = h > farthest ? farthest : h < -farthest ? -farthest : h;
    c.inside = c.h == h;
    c.precision = exp(-2 * c.h);
    return c;
}

void fplt__mixed_linear_value(const fplt__block *block, double *m)
{
    for (size_t first = 0, end; first < block->count; first = end) {
        struct cluster c = cluster_at(block, m, first);
        end = c.end;
        for (size_t j = first; j < end; j++)
            m[j] = 0;
        m[first] = c.n * c.h + log(c.d) / 2 + c.precision * c.q / 2;
    }
}

void fplt__mixed_linear_slope(const fplt__block *block, double *m)
{
    double *of_theta = m + block->stride, *of_h = of_theta + block->stride;
    for (size_t first = 0, end; first < block->count; first = end) {
        struct cluster c = cluster_at(block, m, first);
        double shrunk = c.n * c.mean / c.d;
        end = c.end;
        for (size_t j = first; j < end; j++) {
            m[j] = c.precision * (m[j] - block->label[j] - c.mean + c.mean / c.d);
            of_theta[j] = of_h[j] = 0;
        }
        of_theta[first] = c.theta * (c.n / c.d - c.precision * shrunk * shrunk);
        of_h[first] = c.inside ? c.n - c.precision * c.q : 0;
    }
}

static void bend_cluster(const fplt__block *block, const struct cluster *c, const double *m,
                         int expected, double *u)
{
    double *of_theta = u + block->stride, *of_h = of_theta + block->stride;
    double t = of_theta[c->first], a = c->inside ? of_h[c->first] : 0, e = 0, cross = 0;
    double shrunk = c->n * c->mean / c->d, more = c->theta * c->theta * c->n / c->d;
    for (size_t j = c->first; j < c->end; j++)
        e += u[j] / c->n;
    for (size_t j = c->first; j < c->end; j++) {
        double rest = m[j] - block->label[j] - c->mean;
        cross += 2 * rest * u[j];
        u[j] = u[j] - e + e / c->d;
        if (!expected)
            u[j] -= 2 * shrunk * c->theta * t / c->d + 2 * a * (rest + c->mean / c->d);
        u[j] *= c->precision;
        of_theta[j] = of_h[j] = 0;
    }
    double of_step = cross + 2 * shrunk * e; /* what Q moves by through the margins */
    of_theta[c->first] =
        t * (c->n / c->d * (1 - 2 * more) - c->precision * shrunk * shrunk * (1 - 4 * more)) +
        2 * a * c->precision * shrunk * shrunk * c->theta;
    of_h[c->first] = c->precision * (2 * a * c->q + 2 * c->theta * t * shrunk * shrunk);
    if (!expected) {
        of_theta[c->first] -= 2 * c->precision * shrunk * c->n / c->d * e * c->theta;
        of_h[c->first] -= c->precision * of_step;
    }
    if (!c->inside)
        of_h[c->first] = 0;
}

static void bend_all(const fplt__block *block, const double *m, double *u, int expected)
{
    for (size_t first = 0, end; first < block->count; first = end) {
        struct cluster c = cluster_at(block, m, first);
        end = c.end;
        bend_cluster(block, &c, m, expected, u);
    }
}

void fplt__mixed_linear_bend(const fplt__block *block, const double *m, double *u)
{
    bend_all(block, m, u, 0);
}

void fplt__mixed_linear_expect_bend(const fplt__block *block, const double *m, double *u)
{
    bend_all(block, m, u, 1);
}

double fplt__mixed_linear_constant(double label)
{
    (void)label;
    return log(2 * M_PI) / 2;
}

/* Random intercept sd, residual sd, ICC. */
static size_t three_quantities(size_t shared)
{
    return shared + 1;
}

static void name_quantity(const char *const *class_names, size_t which, char *room, size_t size)
{
    static const char *const names[] = {"(random intercept sd)", "(residual sd)", "(icc)"};
    (void)class_names;
    snprintf(room, size, "%s", names[which]);
}

static double quantity(size_t which, double intercept, const double *shared, size_t count,
                       double *slopes)
{
    double theta = 1 + shared[0], sigma = exp(shared[1]), all = 1 + theta * theta;
    (void)intercept;
    (void)count;
    slopes[0] = slopes[1] = slopes[2] = 0;
    if (which == 1)
        return slopes[2] = sigma;
    if (fabs(theta) < FPLT__SINGULAR)
        return 0;
    if (which == 2) {
        slopes[1] = 2 * theta / (all * all);
        return theta * theta / all;
    }
    slopes[1] = theta < 0 ? -sigma : sigma;
    return slopes[2] = fabs(theta) * sigma;
}

static fplt__range range_of(size_t which)
{
    return which == 2 ? FPLT__RANGE_SHARE : FPLT__RANGE_POSITIVE;
}

const fplt__display fplt__mixed_linear_display = {
    .quantities = three_quantities,
    .name = name_quantity,
    .value = quantity,
    .range = range_of,
    .note = "Maximum likelihood (not REML). Errors of coefficients condition on the standard "
            "deviations, as those of lmer in R do. Intervals of standard deviations are those of "
            "their logarithms, that of the ICC is of its logit.",
    .boundary = fplt__singular_fit,
};
