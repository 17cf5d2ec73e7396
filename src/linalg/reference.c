/* The reference kernel: plain C, no fused multiply-add, no libm but the square root. Every other
 * kernel is tested against it. */
#include <math.h>
#include <string.h>

#include "linalg/elementary.h"
#include "linalg/kernel.h"
#include "linalg/sparse.h"

static int available(void)
{
    return 1;
}

/* Four partial sums: so that the additions do not wait for each other. */
static double dot(const double *x, const double *y, size_t count)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += x[i + k] * y[i + k];
    for (; i < count; i++)
        sum[0] += x[i] * y[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static double norm(const double *x, size_t count)
{
    return sqrt(dot(x, x, count));
}

static void axpy(double alpha, const double *x, double *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += alpha * x[i];
}

static void step(double *w, const double *g, const double *c, const double *v, double gamma,
                 double inverse_rho, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double slope = g[i];
        if (c)
            slope += c[i];
        if (v)
            slope += (w[i] - v[i]) * inverse_rho;
        w[i] -= gamma * slope;
    }
}

static void exponential(double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = fplt__exp(x[i]);
}

/* Comparisons are written so that a NaN stays one. They have a loop of their own, so that the one
 * with the arithmetic becomes vectors. */
static double clamped(double x)
{
    x = x > FPLT_EXP_SAFE ? FPLT_EXP_SAFE : x;
    return x < -FPLT_EXP_SAFE ? -FPLT_EXP_SAFE : x;
}

/* e^-x of PART numbers at most */
enum { PART = 64 };

static void falling(const double *x, size_t count, double *e)
{
    for (size_t i = 0; i < count; i++)
        e[i] = clamped(-x[i]);
    for (size_t i = 0; i < count; i++)
        e[i] = fplt__exp_safe(e[i]);
}

/* log(1 + e^x) from a = e^-x, in its place: max(x, 0) + 2 atanh(s), s = min(1, a)/(1 + a + max(1, a)) */
static void softplus_from(const double *x, size_t count, double *a)
{
    for (size_t i = 0; i < count; i++)
        a[i] = (a[i] > 1 ? 1 : a[i]) / ((1 + a[i]) + (a[i] < 1 ? 1 : a[i]));
    for (size_t i = 0; i < count; i++)
        a[i] = 2 * a[i] + fplt__atanh_rest(a[i]);
    for (size_t i = 0; i < count; i++)
        a[i] = (x[i] < 0 ? 0 : x[i]) + a[i];
}

static void sigmoid(double *x, size_t count)
{
    for (size_t first = 0; first < count; first += PART) {
        size_t part = count - first < PART ? count - first : PART;
        double e[PART];
        falling(x + first, part, e);
        for (size_t i = 0; i < part; i++)
            x[first + i] = 1 / (1 + e[i]);
    }
}

static void softplus(double *x, size_t count)
{
    for (size_t first = 0; first < count; first += PART) {
        size_t part = count - first < PART ? count - first : PART;
        double e[PART];
        falling(x + first, part, e);
        softplus_from(x + first, part, e);
        memcpy(x + first, e, part * sizeof *e);
    }
}

static void logistic(double *x, double *values, size_t count)
{
    for (size_t first = 0; first < count; first += PART) {
        size_t part = count - first < PART ? count - first : PART;
        double e[PART], *value = values + first;
        falling(x + first, part, e);
        memcpy(value, e, part * sizeof *e);
        softplus_from(x + first, part, value);
        for (size_t i = 0; i < part; i++)
            x[first + i] = 1 / (1 + e[i]);
    }
}

static size_t below(const double *x, size_t count, size_t *ties)
{
    size_t less = 0;
    *ties = 0;
    for (size_t i = 0; i < count; i++) {
        less += x[i] < 0;
        *ties += x[i] == 0;
    }
    return less;
}

/* `dot` and `axpy` with a row, in the same order. */
static double row_dot(const fplt__matrix *a, size_t row, const double *x)
{
    size_t first = (a->pick ? a->pick[row] : row) * a->stride, i = 0;
    double sum[4] = {0};
    if (!a->narrow)
        return dot(a->dense + first, x, a->columns);
    const float *numbers = a->narrow + first;
    for (; i + 4 <= a->columns; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += numbers[i + k] * x[i + k];
    for (; i < a->columns; i++)
        sum[0] += numbers[i] * x[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void row_axpy(const fplt__matrix *a, size_t row, double alpha, double *y)
{
    size_t first = (a->pick ? a->pick[row] : row) * a->stride;
    if (!a->narrow) {
        axpy(alpha, a->dense + first, y, a->columns);
        return;
    }
    for (size_t i = 0; i < a->columns; i++)
        y[i] += alpha * a->narrow[first + i];
}

static void margins(const fplt__matrix *a, size_t first, size_t count, const double *x, double *out)
{
    size_t r = 0;
    if (a->layout == FPLT_SPARSE) {
        fplt__sparse_margins(a, first, count, x, out);
        return;
    }
    for (; r < count; r++)
        out[r] = row_dot(a, first + r, x);
    for (; r < fplt__padded(count); r++)
        out[r] = 0;
}

static void combine(const fplt__matrix *a, size_t first, size_t count, const double *weights,
                    double *y)
{
    if (a->layout == FPLT_SPARSE) {
        fplt__sparse_combine(a, first, count, weights, y);
        return;
    }
    for (size_t r = 0; r < count; r++)
        row_axpy(a, first + r, weights[r], y);
}

static void all_margins(const fplt__matrix *a, size_t first, size_t count, size_t outputs,
                        const double *x, double *out, size_t stride)
{
    for (size_t k = 0; k < outputs; k++)
        margins(a, first, count, x + k * a->columns, out + k * stride);
}

static void all_combine(const fplt__matrix *a, size_t first, size_t count, size_t outputs,
                        const double *weights, size_t stride, double *y)
{
    for (size_t k = 0; k < outputs; k++)
        combine(a, first, count, weights + k * stride, y + k * a->columns);
}

static void tile_of_products(size_t depth, const double *left, const double *right, double *tile)
{
    double sum[4][4] = {{0}};
    for (size_t d = 0; d < depth; d++, left += 4, right += 4)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 4; j++)
                sum[i][j] += left[i] * right[j];
    memcpy(tile, sum, sizeof sum);
}

const fplt__kernel fplt__kernel_reference = {
    .name = "reference",
    .help = "plain C, the same bits on every machine",
    .available = available,
    .panel_columns = 0,
    .row_multiple = 1,
    .dot = dot,
    .norm = norm,
    .axpy = axpy,
    .step = step,
    .exp = exponential,
    .sigmoid = sigmoid,
    .softplus = softplus,
    .logistic = logistic,
    .below = below,
    .margins = margins,
    .combine = combine,
    .all_margins = all_margins,
    .all_combine = all_combine,
    .tile_rows = 4,
    .tile_columns = 4,
    .tile = tile_of_products,
};
