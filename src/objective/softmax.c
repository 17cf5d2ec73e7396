/* Softmax over a block of records. Loops run over records inside and outputs outside, which the
 * compiler turns into vectors without changing a bit. The largest margin of a record is subtracted
 * first, so that no exponential overflows. */
#include "objective/softmax.h"

#include "linalg/elementary.h"

/* margins become exp(m_k - max m), `total` their sums, `largest` the maxima (may be NULL) */
static void exponentials(const fplt__block *block, double *m, double *total, double *largest)
{
    double most[FPLT_CHUNK];
    size_t count = block->count, stride = block->stride;
    for (size_t r = 0; r < count; r++)
        most[r] = m[r];
    for (size_t k = 1; k < block->outputs; k++)
        for (size_t r = 0; r < count; r++)
            most[r] = m[k * stride + r] > most[r] ? m[k * stride + r] : most[r];
    for (size_t r = 0; r < count; r++)
        total[r] = 0;
    for (size_t k = 0; k < block->outputs; k++) {
        double *row = m + k * stride;
        for (size_t r = 0; r < count; r++)
            row[r] -= most[r];
        block->kernel->exp(row, count);
        for (size_t r = 0; r < count; r++)
            total[r] += row[r];
    }
    for (size_t r = 0; r < count && largest; r++)
        largest[r] = most[r];
}

static void own_margins(const fplt__block *block, const double *m, double *own)
{
    for (size_t r = 0; r < block->count; r++)
        own[r] = m[(size_t)block->label[r] * block->stride + r];
}

static void divide_by(const fplt__block *block, const double *total, double *m)
{
    for (size_t k = 0; k < block->outputs; k++)
        for (size_t r = 0; r < block->count; r++)
            m[k * block->stride + r] /= total[r];
}

static void take_label(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[(size_t)block->label[r] * block->stride + r] -= 1;
}

void fplt__softmax_value(const fplt__block *block, double *m)
{
    double own[FPLT_CHUNK], total[FPLT_CHUNK], largest[FPLT_CHUNK];
    own_margins(block, m, own);
    exponentials(block, m, total, largest);
    for (size_t r = 0; r < block->count; r++)
        m[r] = fplt__log(total[r]) + (largest[r] - own[r]);
}

void fplt__softmax_curve(const fplt__block *block, double *m)
{
    double total[FPLT_CHUNK];
    exponentials(block, m, total, NULL);
    divide_by(block, total, m);
}

void fplt__softmax_slope(const fplt__block *block, double *m)
{
    fplt__softmax_curve(block, m);
    take_label(block, m);
}

void fplt__softmax_both(const fplt__block *block, double *m, double *values)
{
    double own[FPLT_CHUNK], total[FPLT_CHUNK], largest[FPLT_CHUNK];
    own_margins(block, m, own);
    exponentials(block, m, total, largest);
    for (size_t r = 0; r < block->count; r++)
        values[r] = fplt__log(total[r]) + (largest[r] - own[r]);
    divide_by(block, total, m);
    take_label(block, m);
}

/* (diag(p) - p p') u = p (u - <p, u>) */
void fplt__softmax_curvature_bounds(const fplt__block *block, const double *p, double *u)
{
    double mean[FPLT_CHUNK];
    for (size_t r = 0; r < block->count; r++)
        mean[r] = 0;
    for (size_t k = 0; k < block->outputs; k++)
        for (size_t r = 0; r < block->count; r++)
            mean[r] += p[k * block->stride + r] * u[k * block->stride + r];
    for (size_t k = 0; k < block->outputs; k++)
        for (size_t r = 0; r < block->count; r++)
            u[k * block->stride + r] =
                p[k * block->stride + r] * (u[k * block->stride + r] - mean[r]);
}

/* The first of the largest margins is the prediction. */
size_t fplt__softmax_hits(const fplt__block *block, const double *m)
{
    size_t hits = 0;
    for (size_t r = 0; r < block->count; r++) {
        size_t best = 0;
        for (size_t k = 1; k < block->outputs; k++)
            if (m[k * block->stride + r] > m[best * block->stride + r])
                best = k;
        hits += best == (size_t)block->label[r];
    }
    return hits;
}
