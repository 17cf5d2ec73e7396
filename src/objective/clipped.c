/* A caller's cost by the gradients of its records, each shortened to a norm: whatever a record is, it moves the sum by no
 * more. The callback gives them in blocks; they are shortened and summed here, so that the bound rests on one premise
 * about the callback only: gradient number k depends on x and on record number k alone. */
#include "objective/objective.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/status.h"
#include "objective/objective_access.h"

enum {
    BLOCK_NUMBERS = 1 << 20, /* of a block of gradients, where a single one has no more */
    BLOCK_ROWS = 256
};

static size_t block_rows(size_t dimension)
{
    size_t rows = BLOCK_NUMBERS / dimension;
    return rows < 1 ? 1 : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
}

/* Scratch: a block of gradients, the sum's lost digits, and the numbers of the records of a block. */
static size_t scratch_of(size_t dimension)
{
    size_t rows = block_rows(dimension);
    return rows * dimension + dimension + rows / 2 + 1;
}

static void destroy(fplt_objective *o)
{
    (void)o;
}

static size_t records(const fplt_objective *o, uint32_t agent)
{
    return o->callbacks.records(o->callbacks.context, agent);
}

static int has_batches(const fplt_objective *o)
{
    (void)o;
    return 0;
}

/* What a record's gradient is multiplied by, so that its norm is at most `clip` after all rounding: the norm of n squares
 * is off by less than n 2^-52 of itself. A gradient that is not finite counts as zero: an error would reveal something about the record. */
static double shortening(const double *gradient, size_t n, double clip)
{
    double most = clip * (1 - (double)(n + 8) * 0x1p-52), largest = 0, squares = 0;
    for (size_t j = 0; j < n; j++) {
        if (!isfinite(gradient[j]))
            return 0;
        largest = fmax(largest, fabs(gradient[j]));
    }
    if (largest == 0)
        return 1;
    for (size_t j = 0; j < n; j++) {
        double share = gradient[j] / largest;
        squares += share * share;
    }
    double root = sqrt(squares);
    /* in two steps: the norm itself may overflow */
    return largest > most / root ? most / root / largest : 1;
}

/* sum += factor times gradient, with what rounding takes kept in `lost` [Kahan]: the sum's error does not grow with the
 * number of records, as the promise's charge for arithmetic asks. */
static void add_shortened(const double *gradient, double factor, size_t n, double *sum,
                          double *lost)
{
    for (size_t j = 0; j < n && factor > 0; j++) {
        double more = factor * gradient[j] - lost[j], next = sum[j] + more;
        lost[j] = (next - sum[j]) - more;
        sum[j] = next;
    }
}

static fplt_status sum_clipped(const fplt_objective *o, uint32_t agent, const double *x,
                               const uint32_t *rows, size_t count, double *sum, double *scratch)
{
    size_t n = o->dimension, most = block_rows(n);
    double *block = scratch, *lost = block + most * n;
    uint32_t *numbers = (uint32_t *)(void *)(lost + n);
    FPLT__ASSERT(o->clip > 0 && o->callbacks.record_gradients);
    memset(sum, 0, n * sizeof *sum);
    memset(lost, 0, n * sizeof *lost);
    for (size_t first = 0; first < count; first += most) {
        size_t some = count - first < most ? count - first : most;
        for (size_t k = 0; k < some; k++)
            numbers[k] = rows ? rows[first + k] : (uint32_t)(first + k);
        if (o->callbacks.record_gradients(o->callbacks.context, agent, x, numbers, some, block))
            return FPLT_FAILED;
        for (size_t k = 0; k < some; k++)
            add_shortened(block + k * n, shortening(block + k * n, n, o->clip), n, sum, lost);
    }
    return FPLT_OK;
}

/* The caller's value, which no clipping changes; the gradient is the mean of the clipped ones. */
static fplt_status value_gradient(const fplt_objective *o, uint32_t agent, const double *x,
                                  double *value, double *gradient, double *scratch)
{
    const fplt_objective_callbacks *user = &o->callbacks;
    if (value && (user->value ? user->value(user->context, agent, x, value)
                              : user->value_gradient(user->context, agent, x, value, scratch)))
        return FPLT_FAILED;
    if (!gradient)
        return FPLT_OK;
    size_t count = records(o, agent);
    fplt_status status = sum_clipped(o, agent, x, NULL, count, gradient, scratch);
    for (size_t j = 0; j < o->dimension; j++)
        gradient[j] /= (double)count;
    return status;
}

static fplt_status batch_gradient(const fplt_objective *o, uint32_t agent, const double *x,
                                  const uint32_t *rows, size_t count, double *gradient,
                                  double *scratch)
{
    (void)o, (void)agent, (void)x, (void)rows, (void)count, (void)gradient, (void)scratch;
    return FPLT_UNSUPPORTED;
}

static fplt_status hessian_times(const fplt_objective *o, uint32_t agent, const double *x,
                                 const double *v, double *product, double *scratch)
{
    (void)o, (void)agent, (void)x, (void)v, (void)product, (void)scratch;
    return FPLT_UNSUPPORTED;
}

static fplt_status hessian_of(const fplt_objective *o, uint32_t agent, const double *x,
                              double *hessian, double *scratch)
{
    (void)o, (void)agent, (void)x, (void)hessian, (void)scratch;
    return FPLT_UNSUPPORTED;
}

/* Nothing is known of it, and what could be found would be found by the records. */
static fplt_status curvature_of(const fplt_objective *o, uint32_t agent, int how,
                                fplt_curvature *curvature, fplt_error *error)
{
    (void)o, (void)agent, (void)how, (void)curvature;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "the curvature of a cost with clipped gradients is not known");
}

static fplt_status measure(const fplt_objective *o, uint32_t agent, const double *x, double *value,
                           double *gradient, size_t *hits, int *classifies, double *scratch)
{
    const fplt_objective_callbacks *user = &o->callbacks;
    *hits = 0;
    *classifies = user->hits != NULL;
    fplt_status status =
        value || gradient ? value_gradient(o, agent, x, value, gradient, scratch) : FPLT_OK;
    if (status || !user->hits)
        return status;
    return user->hits(user->context, agent, x, hits) ? FPLT_FAILED : FPLT_OK;
}

static const fplt__objective_kind clipped = {
    .destroy = destroy,
    .records = records,
    .has_batches = has_batches,
    .value_gradient = value_gradient,
    .batch_gradient = batch_gradient,
    .hessian_times = hessian_times,
    .hessian = hessian_of,
    .curvature = curvature_of,
    .measure = measure,
};

int fplt__objective_gives_records(const fplt_objective *objective)
{
    return objective->callbacks.record_gradients != NULL;
}

fplt_status fplt__objective_clip_records(const fplt_objective *from, double clip,
                                         fplt_objective **objective, fplt_error *error)
{
    fplt_objective *o;
    *objective = NULL;
    if (!fplt__objective_gives_records(from))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "nothing can be promised for a cost that does not give the gradients "
                              "of single records: it needs record_gradients");
    if (!(clip > 0 && isfinite(clip)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "clip is %g, but it must be finite and above 0", clip);
    fplt_status status = fplt__alloc_into(&o, 1, sizeof *o, "an objective", error);
    if (status)
        return status;
    *o = *from;
    o->kind = &clipped;
    o->clip = clip;
    o->scratch = scratch_of(o->dimension);
    *objective = o;
    return FPLT_OK;
}
