/* Bounds of the second derivative of f_i. The loss bends by c in the margin, least <= c <= most, so
 * the Hessian lies between `least` and `most` times B = A'WA/q, plus the regulariser, W the weights
 * of the records; B's largest eigenvalue comes from B itself for short rows and from Lanczos's
 * iteration for long ones. The Hessian of Cox's likelihood is a sum of covariances of rows, one an
 * event, each at most the largest squared distance of a row from any fixed point. */
#include "objective/objective.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "fedplt/random.h"
#include "linalg/product.h"
#include "linalg/symmetric.h"

/* Up to FEW_ROWS rows, and fewer than columns, AA' is smaller than A'A and has the same eigenvalues but for
 * zeros. Matrices up to ON_STACK are not allocated: a federation may have a million of them. */
enum { LANCZOS_FROM = 65, WHOLE_TO = 500, STEPS_MAX = 100, FEW_ROWS = 48, ON_STACK = 12 };

/* For a rough look: PIECES pieces of PIECE rows all over the agent's, and steps of the iteration on them. */
enum { PIECES = 8, PIECE = 64, STEPS_ROUGH = 8 };

/* Rounding of the eigenvalues of B, relative to the largest. */
static const double rounding = 1e-12, lanczos_margin = 0.01;

/* Products of two columns for the rows first, ..., first + FPLT_PANEL - 1, as far as there are panels of them where they
 * are not `all` there. */
static inline __attribute__((always_inline)) void add_eight(const fplt__shard *shard, int narrow,
                                                            size_t panel, int all, size_t first,
                                                            size_t j, size_t k, double *part)
{
    const fplt__matrix *a = &shard->matrix;
    const double *weight = shard->weight ? shard->weight + first : NULL;
    for (size_t at = 0; at < FPLT_PANEL && (all || first + at < a->rows); at += panel) {
        size_t x = (first + at) * a->stride + j * panel, y = (first + at) * a->stride + k * panel;
        for (size_t r = 0; r < panel; r++) {
            double left = narrow ? (double)a->narrow[x + r] : a->dense[x + r];
            double right = narrow ? (double)a->narrow[y + r] : a->dense[y + r];
            part[at + r] += weight ? weight[at + r] * left * right : left * right;
        }
    }
}

/* Lower triangle of A'WA/q, of short rows in panels: eight rows in as many sums beside each other, and all columns for
 * some rows that stay in the cache. */
static inline __attribute__((always_inline)) void
gram_of_panels(const fplt__shard *shard, int narrow, size_t panel, double *b)
{
    enum { ROWS = 128, COLUMNS = 24 };
    const fplt__matrix *a = &shard->matrix;
    double sums[COLUMNS * (COLUMNS + 1) / 2][FPLT_PANEL];
    size_t n = a->columns, whole = a->rows / FPLT_PANEL * FPLT_PANEL;
    memset(sums, 0, n * (n + 1) / 2 * sizeof *sums);
    for (size_t begun = 0; begun < a->rows; begun += ROWS)
        for (size_t j = 0, pair = 0; j < n; j++)
            for (size_t k = 0; k <= j; k++, pair++) {
                double part[FPLT_PANEL];
                size_t first = begun, end = whole < begun + ROWS ? whole : begun + ROWS;
                memcpy(part, sums[pair], sizeof part);
                for (; first < end; first += FPLT_PANEL)
                    add_eight(shard, narrow, panel, 1, first, j, k, part);
                if (first < begun + ROWS && first < a->rows)
                    add_eight(shard, narrow, panel, 0, first, j, k, part);
                memcpy(sums[pair], part, sizeof part);
            }
    for (size_t j = 0, pair = 0; j < n; j++)
        for (size_t k = 0; k <= j; k++, pair++) {
            const double *part = sums[pair];
            double sum = ((part[0] + part[4]) + (part[1] + part[5])) +
                         ((part[2] + part[6]) + (part[3] + part[7]));
            b[j * n + k] = sum / (double)a->rows;
        }
}

/* Lower triangle of A'WA/q. */
static void gram(const fplt_objective *o, const fplt__shard *shard, double *b)
{
    const fplt__matrix *a = &shard->matrix;
    size_t n = a->columns;
    if (a->layout == FPLT_PANELS) {
        if (a->narrow)
            gram_of_panels(shard, 1, a->panel, b);
        else if (a->panel == 4)
            gram_of_panels(shard, 0, 4, b);
        else
            gram_of_panels(shard, 0, FPLT_PANEL, b);
        return;
    }
    memset(b, 0, n * n * sizeof *b);
    for (size_t r = 0; a->layout == FPLT_SPARSE && r < a->rows; r++) {
        double weight = shard->weight ? shard->weight[r] : 1;
        for (size_t e = a->start[r]; e < a->start[r + 1]; e++)
            for (size_t d = a->start[r]; d <= e; d++)
                b[a->column[e] * n + a->column[d]] +=
                    weight * fplt__matrix_entry(a, r, e) * fplt__matrix_entry(a, r, d);
    }
    if (a->layout != FPLT_SPARSE) {
        fplt__vectors columns = fplt__columns_from(a, 0);
        fplt__product_add(o->kernel, columns, columns, n, n, a->rows, shard->weight, 1, b, n);
    }
    for (size_t i = 0; i < n * n; i++)
        b[i] /= (double)a->rows;
}

/* Largest eigenvalue of B and, unless it is NULL, smallest of B + ridge (not on the intercept). */
static fplt_status whole_spectrum(const fplt_objective *o, const fplt__shard *shard, double ridge,
                                  double *smallest, double *largest, fplt_error *error)
{
    size_t n = o->columns;
    double small[ON_STACK * (ON_STACK + 4)], *memory = NULL, *b = small;
    fplt_status status = FPLT_OK;
    if (n > ON_STACK) {
        status = fplt__alloc_into(&memory, n * (n + 4), sizeof *b, "a Gram matrix", error);
        b = memory;
    }
    if (!status) {
        double *work = b + n * n;
        int apart = smallest && ridge != 0 && o->columns > o->features;
        gram(o, shard, b);
        fplt__symmetric_extremes(o->kernel, b, n, work, apart ? NULL : smallest, largest);
        if (apart) {
            gram(o, shard, b);
            for (size_t j = 0; j < o->features; j++)
                b[j * n + j] += ridge;
            fplt__symmetric_extremes(o->kernel, b, n, work, smallest, NULL);
        } else if (smallest) {
            *smallest += ridge;
        }
        if (smallest)
            *smallest -= rounding * (*largest + fabs(ridge));
        *largest *= 1 + rounding;
    }
    fplt__free(memory);
    return status;
}

/* Lower triangle of AA'. Long rows of numbers come in pieces that stay in the cache, sparse ones one at a time;
 * `row` has room for one. */
static void products_of_rows(const fplt_objective *o, const fplt__matrix *a, double *c, double *row)
{
    size_t q = a->rows;
    if (a->layout == FPLT_ROWS) {
        fplt__vectors rows = {a->dense, a->stride, 1, FPLT_PANEL, FPLT_PANEL, a->narrow};
        memset(c, 0, q * q * sizeof *c);
        fplt__product_add(o->kernel, rows, rows, q, q, a->columns, NULL, 1, c, q);
        return;
    }
    for (size_t i = 0; i < q; i++) {
        double product[FEW_ROWS];
        memset(row, 0, a->columns * sizeof *row);
        fplt__matrix_row_axpy(a, i, 1, row);
        o->kernel->margins(a, 0, i + 1, row, product);
        memcpy(c + i * q, product, (i + 1) * sizeof *c);
    }
}

/* The largest eigenvalue of B as that of the smaller W^1/2 A A' W^1/2/q. */
static fplt_status largest_of_few_rows(const fplt_objective *o, const fplt__shard *shard,
                                       double *largest, fplt_error *error)
{
    const fplt__matrix *a = &shard->matrix;
    size_t q = a->rows, row = a->layout == FPLT_ROWS ? 0 : a->columns;
    double *c;
    fplt_status status = fplt__alloc_into(&c, q * (q + 4) + row, sizeof *c, "a Gram matrix", error);
    if (status)
        return status;
    products_of_rows(o, a, c, c + q * (q + 4));
    for (size_t i = 0; i < q; i++)
        for (size_t j = 0; j <= i; j++) {
            double weight = shard->weight ? sqrt(shard->weight[i] * shard->weight[j]) : 1;
            c[i * q + j] = weight * c[i * q + j] / (double)q;
        }
    fplt__symmetric_extremes(o->kernel, c, q, c + q * q, NULL, largest);
    *largest *= 1 + rounding;
    fplt__free(c);
    return FPLT_OK;
}

/* Which rows B is made of: `count` of every `step`, both multiples of FPLT_PANEL. */
struct sample {
    size_t count, step;
};

static struct sample all_rows(const fplt_objective *o)
{
    return (struct sample){o->chunk, o->chunk};
}

static struct sample some_rows(const fplt_objective *o, size_t rows)
{
    size_t count = o->chunk < PIECE ? o->chunk : PIECE;
    size_t step = rows / PIECES / FPLT_PANEL * FPLT_PANEL;
    return (struct sample){count, step > count ? step : count};
}

/* product = B v, by the traversal of the gradient. */
static void gram_times(const fplt_objective *o, const fplt__shard *shard, struct sample sample,
                       const double *v, double *product)
{
    const fplt__matrix *a = &shard->matrix;
    double margins[FPLT_CHUNK];
    size_t rows = 0;
    memset(product, 0, a->columns * sizeof *product);
    for (size_t first = 0; first < a->rows; first += sample.step) {
        size_t left = a->rows - first, count = left < sample.count ? left : sample.count;
        o->kernel->margins(a, first, count, v, margins);
        for (size_t r = 0; shard->weight && r < count; r++)
            margins[r] *= shard->weight[first + r];
        o->kernel->combine(a, first, count, margins, product);
        rows += count;
    }
    for (size_t j = 0; j < a->columns; j++)
        product[j] /= (double)rows;
}

/* Lanczos without reorthogonalisation: copies of an eigenvalue that it may find twice do no harm to
 * the largest. From a random start, 100 steps miss it by more than 1 % with probability below
 * 1.7 sqrt(n) exp(-19.9) [Kuczynski and Wozniakowski 1992]; after 20 + 2 log2 n steps the
 * iteration ends when the last ten have gained less than a ten-thousandth, or after `most`. */
static double lanczos(const fplt_objective *o, const fplt__shard *shard, struct sample sample,
                      size_t most, double *v, double *before, double *product)
{
    size_t n = shard->matrix.columns;
    double diagonal[STEPS_MAX], beside[STEPS_MAX], estimate[STEPS_MAX];
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
        gram_times(o, shard, sample, v, product);
        diagonal[k] = o->kernel->dot(product, v, n);
        estimate[k] = fplt__tridiagonal_eigenvalue(diagonal, beside, k + 1, k);
        o->kernel->axpy(-diagonal[k], v, product, n);
        if (k)
            o->kernel->axpy(-beside[k - 1], before, product, n);
        beside[k] = o->kernel->norm(product, n);
        int settled = k >= least && estimate[k] <= estimate[k - 10] * 1.0001;
        if (settled || k + 1 == most || !(beside[k] > 1e-12 * estimate[k]))
            return estimate[k] * (1 + lanczos_margin);
        for (size_t j = 0; j < n; j++) {
            before[j] = v[j];
            v[j] = product[j] / beside[k];
        }
    }
}

static fplt_status largest_by_lanczos(const fplt_objective *o, const fplt__shard *shard,
                                      struct sample sample, size_t most, double *largest,
                                      fplt_error *error)
{
    double *vectors;
    size_t n = o->columns;
    fplt_status status = fplt__alloc_into(&vectors, 3 * n, sizeof *vectors, "Lanczos", error);
    if (status)
        return status;
    *largest = lanczos(o, shard, sample, most, vectors, vectors + n, vectors + 2 * n);
    fplt__free(vectors);
    return FPLT_OK;
}

/* As it is packed, with its intercept: the sum of squares in the order of the columns. */
static double row_norm(const fplt__matrix *a, size_t row, size_t features)
{
    double square = 0;
    size_t entries = a->start ? a->start[row + 1] - a->start[row] : a->columns;
    size_t own = entries - (a->columns - features);
    for (size_t k = 0; k < own; k++) {
        double value = a->start ? fplt__matrix_entry(a, row, a->start[row] + k)
                                : fplt__matrix_number(a, fplt__matrix_place(a, row, k));
        square += value * value;
    }
    return sqrt(square + (double)(a->columns - features));
}

static double longest_row(const fplt__shard *shard, size_t features)
{
    double most = 0;
    for (size_t r = 0; r < shard->matrix.rows; r++)
        most = fmax(most, row_norm(&shard->matrix, r, features) *
                              (shard->weight ? sqrt(shard->weight[r]) : 1));
    return most;
}

/* The share of the weight that events have. */
static double share_of_events(const fplt__shard *shard)
{
    double events = 0;
    for (size_t r = 0; r < shard->matrix.rows; r++)
        if (!signbit(shard->label[r]))
            events += shard->weight ? shard->weight[r] : 1;
    return events / (double)shard->matrix.rows;
}

/* The largest squared distance of a row from the mean row. */
static fplt_status widest_row(const fplt__shard *shard, double *widest, fplt_error *error)
{
    const fplt__matrix *a = &shard->matrix;
    double *mean;
    fplt_status status = fplt__alloc_into(&mean, 2 * a->columns, sizeof *mean, "a mean row", error);
    if (status)
        return status;
    double *row = mean + a->columns;
    for (size_t r = 0; r < a->rows; r++)
        fplt__matrix_row_axpy(a, r, 1 / (double)a->rows, mean);
    *widest = 0;
    for (size_t r = 0; r < a->rows; r++) {
        double square = 0;
        for (size_t j = 0; j < a->columns; j++)
            row[j] = -mean[j];
        fplt__matrix_row_axpy(a, r, 1, row);
        for (size_t j = 0; j < a->columns; j++)
            square += row[j] * row[j];
        *widest = fmax(*widest, square);
    }
    fplt__free(mean);
    return FPLT_OK;
}

/* Where the loss does not bend, only the regulariser is left, and it leaves out intercepts. */
static double lowest_without_data(const fplt_objective *o)
{
    double lowest = o->penalty.least;
    return o->intercepts ? fmin(lowest, 0) : lowest;
}

static fplt_curvature bounds_of(const fplt_objective *o, double scale, double lowest, double most,
                                double largest)
{
    return (fplt_curvature){scale * lowest, scale * (most * largest + o->penalty.most)};
}

fplt_status fplt__records_curvature(const fplt_objective *o, uint32_t agent, int how,
                                    fplt_curvature *curvature, fplt_error *error)
{
    const fplt__shard view = fplt__shard_of(o, agent), *shard = &view;
    double lowest = lowest_without_data(o), largest, ridge = o->penalty.least;
    int rough = how == FPLT_CURVATURE_ROUGH && o->columns > ON_STACK;
    int needs_smallest = !rough && o->loss->least > 0 && o->columns <= WHOLE_TO;
    fplt_status status = FPLT_OK;
    double most = o->loss->hazards ? share_of_events(shard) : o->most;
    if (o->loss->hazards) {
        status = widest_row(shard, &largest, error);
    } else if (how == FPLT_CURVATURE_BOUND) {
        double row = longest_row(shard, o->features);
        largest = row * row;
    } else if (rough) {
        status = largest_by_lanczos(o, shard, some_rows(o, shard->matrix.rows), STEPS_ROUGH,
                                    &largest, error);
    } else if (needs_smallest || o->columns < LANCZOS_FROM) {
        double smallest;
        status =
            whole_spectrum(o, shard, ridge, needs_smallest ? &smallest : NULL, &largest, error);
        if (!status && needs_smallest)
            lowest = fmax(lowest, smallest);
    } else if (shard->matrix.rows <= FEW_ROWS && shard->matrix.rows < o->columns) {
        status = largest_of_few_rows(o, shard, &largest, error);
    } else {
        status = largest_by_lanczos(o, shard, all_rows(o), STEPS_MAX, &largest, error);
    }
    if (!status)
        *curvature = bounds_of(o, shard->scale, lowest, most, largest);
    return status;
}

int fplt__records_curvatures(const fplt_objective *o, uint32_t first, fplt_curvature *curvatures)
{
    double largest[FPLT_BATCHED];
    if (!o->batched || o->loss->least > 0 || !fplt__objective_largest(o, first, largest))
        return 0;
    for (uint32_t i = 0; i < FPLT_BATCHED; i++)
        curvatures[i] = bounds_of(o, o->place[first + i].scale, lowest_without_data(o), o->most,
                                  largest[i] * (1 + rounding));
    return 1;
}

fplt_curvature fplt_curvature_join(fplt_curvature a, fplt_curvature b)
{
    return (fplt_curvature){fmin(a.lowest, b.lowest), fmax(a.highest, b.highest)};
}
