/* Quadratic plus h. */
#include "algorithm/composite.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "algorithm/algorithm.h"
#include "linalg/cholesky.h"
#include "prox/prox.h"

enum { MAX_STEPS = 5000, POWER_STEPS = 30, MAX_SWEEPS = 1000, PATIENT_SWEEPS = 4 };

static const double exact = 1e-12; /* of the way from x */

/* ---- Any h: accelerated proximal gradient ---- */

static double norm(const double *v, size_t n)
{
    return sqrt(fplt__inner(v, v, n));
}

/* The largest eigenvalue of B from below, by power iteration from g; a factor keeps steps safe, and
 * `step_once` enlarges it where that was not enough. */
static double largest_curvature(const fplt__quadratic *model, double *v, double *w)
{
    size_t n = model->n;
    double size = norm(model->gradient, n), value = 0;
    for (size_t j = 0; j < n; j++)
        v[j] = size > 0 ? model->gradient[j] / size : 1 / sqrt((double)n);
    for (int k = 0; k < POWER_STEPS; k++) {
        model->product(model->context, v, w);
        value = norm(w, n);
        for (size_t j = 0; j < n; j++)
            v[j] = value > 0 ? w[j] / value : 0;
    }
    return value > 0 ? 1.1 * value : 1;
}

/* next = prox(y - (g + B(y - x))/L), and whether L bounds the curvature between the two. */
static fplt_status step_once(const fplt__quadratic *model, double bound, const double *y,
                             double *next, double *v, double *w, int *bounded)
{
    size_t n = model->n;
    for (size_t j = 0; j < n; j++)
        v[j] = y[j] - model->x[j];
    model->product(model->context, v, w);
    for (size_t j = 0; j < n; j++)
        v[j] = y[j] - (model->gradient[j] + w[j]) / bound;
    fplt_status status = fplt_prox_apply(model->prox, 1 / bound, v, next);
    for (size_t j = 0; j < n; j++)
        v[j] = next[j] - y[j];
    model->product(model->context, v, w);
    *bounded = fplt__inner(v, w, n) <= bound * fplt__inner(v, v, n) * (1 + 1e-12);
    return status;
}

/* y = next + momentum (next - z), without momentum where it points uphill; z = next. How far z moved. */
static double advance(double *z, const double *next, double *y, double *momentum, size_t n)
{
    double uphill = 0, before = *momentum, moved = 0;
    for (size_t j = 0; j < n; j++)
        uphill += (y[j] - next[j]) * (next[j] - z[j]);
    *momentum = uphill > 0 ? 1 : (1 + sqrt(1 + 4 * before * before)) / 2;
    double weight = uphill > 0 ? 0 : (before - 1) / *momentum;
    for (size_t j = 0; j < n; j++) {
        double change = next[j] - z[j];
        y[j] = next[j] + weight * change;
        z[j] = next[j];
        moved += change * change;
    }
    return sqrt(moved);
}

static double distance(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sqrt(sum);
}

fplt_status fplt__composite_minimise(const fplt__quadratic *model, double *z, double *work)
{
    size_t n = model->n;
    double *y = work, *next = y + n, *v = next + n, *w = v + n, momentum = 1;
    double bound = largest_curvature(model, v, w);
    fplt_status status = FPLT_OK;
    memcpy(z, model->x, n * sizeof *z);
    memcpy(y, z, n * sizeof *y);
    for (int k = 0; k < MAX_STEPS && !status; k++) {
        int bounded;
        status = step_once(model, bound, y, next, v, w, &bounded);
        if (!bounded) {
            bound *= 2;
            momentum = 1;
            memcpy(y, z, n * sizeof *y);
            continue;
        }
        double moved = advance(z, next, y, &momentum, n);
        if (moved <= exact * distance(z, model->x, n) || moved <= DBL_EPSILON * norm(z, n))
            break;
    }
    return status;
}

/* ---- A separable h: coordinate descent and Newton's step on the free coordinates ---- */

typedef struct dense {
    const fplt__quadratic *model;
    const double *matrix;
    double *factor;
    double *z, *slope; /* the point, and the gradient of the quadratic part there */
    double *right,
        *free; /* the reduced system's right side and solution; 1 where a coordinate is free */
} dense;

/* One coordinate moves: the gradient follows. */
static void shift(const dense *d, size_t j, double change)
{
    const double *row = d->matrix + j * d->model->n;
    d->z[j] += change;
    for (size_t i = 0; i < d->model->n; i++)
        d->slope[i] += change * row[i];
}

/* Minimises over each coordinate in turn. The largest move, and the largest distance from x, each times the root of
 * the curvature; moves within rounding count as none. */
static void sweep(const dense *d, double *moved, double *way)
{
    size_t n = d->model->n;
    *moved = *way = 0;
    for (size_t j = 0; j < n; j++) {
        double curvature = d->matrix[j * n + j], root = sqrt(curvature), z = d->z[j];
        double to =
            fplt__prox_coordinate(d->model->prox, j, 1 / curvature, z - d->slope[j] / curvature);
        double change = to - z;
        if (change != 0) {
            shift(d, j, change);
            d->z[j] = to;
            if (fabs(change) > 8 * DBL_EPSILON * fabs(z))
                *moved = fmax(*moved, root * fabs(change));
        }
        *way = fmax(*way, root * fabs(to - d->model->x[j]));
    }
}

/* Which coordinates are inside a smooth piece; returns their number, and whether others than before are. */
static size_t mark_free(const dense *d, int *changed)
{
    size_t count = 0;
    *changed = 0;
    for (size_t j = 0; j < d->model->n; j++) {
        fplt__prox_piece piece;
        double inside = fplt__prox_piece_at(d->model->prox, j, d->z[j], &piece);
        *changed |= inside != d->free[j];
        d->free[j] = inside;
        count += inside != 0;
    }
    return count;
}

/* The reduced system: (B + curvatures of h) step = -(slopes), over the free coordinates. */
static int solve_free(const dense *d, size_t count)
{
    size_t n = d->model->n, a = 0;
    for (size_t j = 0; j < n; j++) {
        fplt__prox_piece piece;
        if (!d->free[j])
            continue;
        fplt__prox_piece_at(d->model->prox, j, d->z[j], &piece);
        size_t b = 0;
        for (size_t i = 0; i <= j; i++)
            if (d->free[i])
                d->factor[a * count + b++] = d->matrix[j * n + i];
        d->factor[a * count + a] += piece.curvature;
        d->right[a++] = -(d->slope[j] + piece.slope);
    }
    if (!fplt__cholesky_factor(&fplt__kernel_reference, d->factor, count))
        return 0;
    fplt__cholesky_solve(d->factor, count, d->right);
    return 1;
}

/* How much of the step stays within the pieces, and which coordinate meets the end of its piece. */
static double reach(const dense *d, size_t *first, double *bound)
{
    double length = 1;
    *first = d->model->n;
    for (size_t j = 0, a = 0; j < d->model->n; j++) {
        fplt__prox_piece piece;
        if (!d->free[j])
            continue;
        fplt__prox_piece_at(d->model->prox, j, d->z[j], &piece);
        double step = d->right[a++], end = step > 0 ? piece.high : piece.low;
        if (step != 0 && (end - d->z[j]) / step < length) {
            length = (end - d->z[j]) / step;
            *first = j;
            *bound = end;
        }
    }
    return length;
}

static void move_free(const dense *d, size_t count)
{
    size_t first;
    double bound = 0, length;
    if (!count || !solve_free(d, count))
        return;
    length = reach(d, &first, &bound);
    for (size_t j = 0, a = 0; j < d->model->n; j++)
        if (d->free[j])
            shift(d, j, length * d->right[a++]);
    if (first < d->model->n)
        shift(d, first, bound - d->z[first]);
    if (first < d->model->n)
        d->z[first] = bound; /* exactly, so that it is no longer free */
}

/* The gradient as it is, without the rounding of many small moves. */
static void refresh(const dense *d)
{
    size_t n = d->model->n;
    memcpy(d->slope, d->model->gradient, n * sizeof *d->slope);
    for (size_t j = 0; j < n; j++) {
        double way = d->z[j] - d->model->x[j];
        const double *row = d->matrix + j * n;
        for (size_t i = 0; way != 0 && i < n; i++)
            d->slope[i] += way * row[i];
    }
}

void fplt__composite_minimise_dense(const fplt__quadratic *model, const double *matrix,
                                    double *factor, double *z, double *work)
{
    size_t n = model->n;
    dense d = {model, matrix, factor, z, work, work + n, work + 2 * n};
    double moved, way;
    memcpy(z, model->x, n * sizeof *z);
    memset(d.free, 0, n * sizeof *d.free);
    refresh(&d);
    for (int k = 0, waited = 0; k < MAX_SWEEPS; k++) {
        int changed;
        sweep(&d, &moved, &way);
        if (moved <= exact * way)
            break;
        size_t count = mark_free(&d, &changed);
        if (changed && ++waited < PATIENT_SWEEPS)
            continue;
        waited = 0;
        move_free(&d, count);
        refresh(&d);
    }
}
