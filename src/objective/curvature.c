/* Bounds of the second derivative of f_i. The loss bends by c in the margin, least <= c <= most, so
 * the Hessian lies between `least` and `most` times B = A'A/q, plus the regulariser; B's largest
 * eigenvalue comes from B itself for short rows and from Lanczos's iteration for long ones. */
#include "objective/objective.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "fedplt/random.h"
#include "linalg/symmetric.h"

enum { LANCZOS_FROM = 65, WHOLE_TO = 500, STEPS_MOST = 100 };

/* Rounding of the eigenvalues of B, relative to the largest. */
static const double rounding = 1e-12, lanczos_margin = 0.01;

/* Lower triangle of A'A/q. */
static void gram(const fplt_objective *o, const fplt__matrix *a, double *b, double *row)
{
    size_t n = a->columns;
    memset(b, 0, n * n * sizeof *b);
    for (size_t r = 0; r < a->rows; r++) {
        if (a->layout == FPLT_SPARSE) {
            for (size_t e = a->start[r]; e < a->start[r + 1]; e++)
                for (size_t d = a->start[r]; d <= e; d++)
                    b[a->column[e] * n + a->column[d]] += a->value[e] * a->value[d];
            continue;
        }
        for (size_t j = 0; j < n; j++)
            row[j] = a->dense[fplt__matrix_place(a, r, j)];
        for (size_t j = 0; j < n; j++)
            o->kernel->axpy(row[j], row, b + j * n, j + 1);
    }
    for (size_t i = 0; i < n * n; i++)
        b[i] /= (double)a->rows;
}

/* Smallest eigenvalue of B + ridge (not on the intercept) and largest of B. */
static fplt_status whole_spectrum(const fplt_objective *o, const fplt__shard *shard, double ridge,
                                  double *smallest, double *largest, fplt_error *error)
{
    size_t n = o->columns;
    double *b, *work;
    fplt_status status = fplt__alloc_into(&b, n * n, sizeof *b, "a Gram matrix", error);
    if (status)
        return status;
    status = fplt__alloc_into(&work, 4 * n, sizeof *work, "a Gram matrix", error);
    if (!status) {
        double unused;
        gram(o, &shard->matrix, b, work);
        fplt__symmetric_extremes(o->kernel, b, n, work, smallest, largest);
        if (ridge != 0 && o->columns > o->features) {
            gram(o, &shard->matrix, b, work);
            for (size_t j = 0; j < o->features; j++)
                b[j * n + j] += ridge;
            fplt__symmetric_extremes(o->kernel, b, n, work, smallest, &unused);
        } else {
            *smallest += ridge;
        }
        *smallest -= rounding * (*largest + fabs(ridge));
        *largest *= 1 + rounding;
    }
    fplt__free(work);
    fplt__free(b);
    return status;
}

/* product = B v, by the traversal of the gradient. */
static void gram_times(const fplt_objective *o, const fplt__matrix *a, const double *v,
                       double *product)
{
    double margins[FPLT_CHUNK];
    memset(product, 0, a->columns * sizeof *product);
    for (size_t first = 0; first < a->rows; first += o->chunk) {
        size_t left = a->rows - first, count = left < o->chunk ? left : o->chunk;
        o->kernel->margins(a, first, count, v, margins);
        o->kernel->combine(a, first, count, margins, product);
    }
    for (size_t j = 0; j < a->columns; j++)
        product[j] /= (double)a->rows;
}

/* Lanczos without reorthogonalisation: copies of an eigenvalue that it may find twice do no harm to
 * the largest. From a random start, 100 steps miss it by more than 1 % with probability below
 * 1.7 sqrt(n) exp(-19.9) [Kuczynski and Wozniakowski 1992]; after 20 + 2 log2 n steps the
 * iteration ends when the last ten have gained less than a ten-thousandth. */
static double lanczos(const fplt_objective *o, const fplt__matrix *a, double *v, double *before,
                      double *product)
{
    size_t n = a->columns;
    double diagonal[STEPS_MOST], beside[STEPS_MOST], estimate[STEPS_MOST];
    size_t least = 20;
    for (size_t power = n; power > 1; power /= 2)
        least += 2;
    fplt_stream stream = fplt_stream_make(0, 0, FPLT_FOR_START, 0, n, 0);
    for (size_t j = 0; j < n; j++)
        v[j] = fplt_stream_uniform(&stream) - 0.5;
    double length = o->kernel->norm(v, n);
    for (size_t j = 0; j < n; j++) {
        v[j] /= length;
        before[j] = 0;
    }
    for (size_t k = 0;; k++) {
        gram_times(o, a, v, product);
        diagonal[k] = o->kernel->dot(product, v, n);
        estimate[k] = fplt__tridiagonal_eigenvalue(diagonal, beside, k + 1, k);
        o->kernel->axpy(-diagonal[k], v, product, n);
        if (k)
            o->kernel->axpy(-beside[k - 1], before, product, n);
        beside[k] = o->kernel->norm(product, n);
        int settled = k >= least && estimate[k] <= estimate[k - 10] * 1.0001;
        if (settled || k + 1 == STEPS_MOST || !(beside[k] > 1e-12 * estimate[k]))
            return estimate[k] * (1 + lanczos_margin);
        for (size_t j = 0; j < n; j++) {
            before[j] = v[j];
            v[j] = product[j] / beside[k];
        }
    }
}

static fplt_status largest_by_lanczos(const fplt_objective *o, const fplt__shard *shard,
                                      double *largest, fplt_error *error)
{
    double *vectors;
    size_t n = o->columns;
    fplt_status status = fplt__alloc_into(&vectors, 3 * n, sizeof *vectors, "Lanczos", error);
    if (status)
        return status;
    *largest = lanczos(o, &shard->matrix, vectors, vectors + n, vectors + 2 * n);
    fplt__free(vectors);
    return FPLT_OK;
}

static double longest_row(const fplt__shard *shard)
{
    double most = 0;
    for (size_t r = 0; r < shard->matrix.rows; r++)
        most = fmax(most, shard->norm[r]);
    return most;
}

/* Where the loss does not bend, only the regulariser is left, and it leaves out intercepts. */
static double lowest_without_data(const fplt_objective *o)
{
    double lowest = o->weight * o->regulariser->least;
    return o->intercepts ? fmin(lowest, 0) : lowest;
}

fplt_status fplt__records_curvature(const fplt_objective *o, uint32_t agent, int bound,
                                    fplt_curvature *curvature, fplt_error *error)
{
    const fplt__shard *shard = &o->shard[agent];
    double lowest = lowest_without_data(o), largest, ridge = o->weight * o->regulariser->least;
    int needs_smallest = o->loss->least > 0 && o->columns <= WHOLE_TO;
    fplt_status status = FPLT_OK;
    if (bound) {
        double row = longest_row(shard);
        largest = row * row;
    } else if (needs_smallest || o->columns < LANCZOS_FROM) {
        double smallest;
        status = whole_spectrum(o, shard, ridge, &smallest, &largest, error);
        if (!status && needs_smallest)
            lowest = fmax(lowest, smallest);
    } else {
        status = largest_by_lanczos(o, shard, &largest, error);
    }
    if (status)
        return status;
    curvature->lowest = shard->scale * lowest;
    curvature->highest =
        shard->scale * (o->loss->most * largest + o->weight * o->regulariser->most);
    return FPLT_OK;
}
