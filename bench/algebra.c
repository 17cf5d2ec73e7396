/* Where the arithmetic is matrix times matrix: against OpenBLAS and LAPACK on one thread, measured in turn. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fedplt.h"
#include "figure.h"
#include "base/random.h"
#include "linalg/cholesky.h"
#include "linalg/product.h"
#include "timing.h"

enum { TURNS = 15 };

static void must(fplt_status status, const fplt_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static double *numbers(size_t count)
{
    double *x = malloc(count * sizeof *x);
    if (!x) {
        fprintf(stderr, "no memory for %zu numbers\n", count);
        exit(1);
    }
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, count, 0, 0);
    fplt__stream_normals(&stream, 1, x, count);
    return x;
}

/* One agent with the given rows. */
static fplt_objective *cost(const char *loss, fplt_task task, size_t rows, size_t features,
                            const double *a, const double *label)
{
    fplt_error error;
    fplt_dataset *data;
    fplt_objective *objective;
    fplt_rows view = {.count = rows, .features = features, .dense = a, .label = label};
    must(fplt_dataset_from_rows(&view, task, &rows, 1, &data, &error), &error);
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.loss = loss;
    must(fplt_objective_create(&settings, data, &objective, &error), &error);
    fplt_dataset_destroy(data);
    return objective;
}

/* softmax */

struct classes {
    size_t rows, features, outputs;
    double *a, *label, *x, *p, *g;
};

static void softmax_by_blas(const struct classes *c)
{
    size_t k = c->outputs;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)c->rows, (int)k, (int)c->features, 1,
                c->a, (int)c->features, c->x, (int)c->features, 0, c->p, (int)k);
    for (size_t r = 0; r < c->rows; r++) {
        double *p = c->p + r * k, most = p[0], total = 0;
        for (size_t o = 1; o < k; o++)
            most = p[o] > most ? p[o] : most;
        for (size_t o = 0; o < k; o++)
            total += p[o] = exp(p[o] - most);
        for (size_t o = 0; o < k; o++)
            p[o] /= total;
        p[(size_t)c->label[r]] -= 1;
    }
    memcpy(c->g, c->x, k * c->features * sizeof *c->g);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)k, (int)c->features, (int)c->rows,
                1.0 / (double)c->rows, c->p, (int)k, c->a, (int)c->features, 0.5, c->g,
                (int)c->features);
}

static void softmax(size_t rows, size_t features, size_t outputs)
{
    struct classes c = {.rows = rows, .features = features, .outputs = outputs};
    size_t n = features * outputs;
    c.a = numbers(rows * features);
    c.label = numbers(rows);
    c.x = numbers(n);
    c.p = numbers(rows * outputs);
    c.g = numbers(n);
    for (size_t r = 0; r < rows; r++)
        c.label[r] = (double)(r % outputs);
    fplt_objective *o = cost("softmax", FPLT_TASK_CLASSES, rows, features, c.a, c.label);
    double *g = numbers(n), *scratch = numbers(fplt_objective_scratch(o)), times[2][TURNS], gap = 0;
    for (size_t t = 0; t < TURNS; t++) {
        double start = seconds();
        fplt_objective_gradient(o, 0, c.x, g, scratch);
        times[0][t] = seconds() - start;
        start = seconds();
        softmax_by_blas(&c);
        times[1][t] = seconds() - start;
    }
    for (size_t j = 0; j < n; j++)
        gap = fmax(gap, fabs(g[j] - c.g[j]));
    double ours = median(times[0], TURNS), theirs = median(times[1], TURNS);
    char what[100];
    snprintf(what, sizeof what, "softmax gradient, %zu x %zu, %zu classes", rows, features,
             outputs);
    printf("%s: %.2f ms, OpenBLAS and libm %.2f ms; they differ by %.1e\n", what, 1e3 * ours,
           1e3 * theirs, gap);
    figure(what, theirs / ours, "times OpenBLAS's speed", AT_LEAST, 1);
    free(c.a);
    free(c.label);
    free(c.x);
    free(c.p);
    free(c.g);
    free(g);
    free(scratch);
    fplt_objective_destroy(o);
}

/* X' D X of n columns, as of a Hessian, and its Cholesky factor; the peer has no weights to apply */

static void triangles(size_t n, size_t depth)
{
    const fplt__kernel *kernel = fplt__kernel_for(&(fplt__kernel_shape){.columns = 0}, 0);
    double *x = numbers(depth * n), *weights = numbers(depth), *ours = numbers(n * n),
           *theirs = numbers(n * n), *gram = numbers(n * n), times[4][TURNS];
    fplt__vectors columns = {x, 1, n, FPLT_PANEL, FPLT_PANEL * n};
    int order = (int)n;
    for (size_t d = 0; d < depth; d++)
        weights[d] = 0.25;
    for (size_t t = 0; t < TURNS; t++) {
        memset(ours, 0, n * n * sizeof *ours);
        double start = seconds();
        fplt__product_add(kernel, columns, columns, n, n, depth, weights, 1, ours, n);
        times[0][t] = seconds() - start;
        start = seconds();
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, order, (int)depth, 0.25, x, order, 0,
                    theirs, order);
        times[1][t] = seconds() - start;
        for (size_t i = 0; i < n; i++)
            ours[i * n + i] = theirs[i * n + i] += 1;
        memcpy(gram, ours, n * n * sizeof *gram);
        start = seconds();
        if (!fplt__cholesky_factor(kernel, ours, n))
            exit(1);
        times[2][t] = seconds() - start;
        start = seconds();
        if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', order, theirs, order))
            exit(1);
        times[3][t] = seconds() - start;
    }
    double gap = 0, typical[4];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            gap = fmax(gap, fabs(ours[i * n + j] - theirs[i * n + j]));
    for (size_t k = 0; k < 4; k++)
        typical[k] = 1e3 * median(times[k], TURNS);
    char what[100];
    printf("n = %zu: X'DX of %zu rows %.2f ms, dsyrk %.2f ms; Cholesky %.3f ms, dpotrf %.3f ms; "
           "factors "
           "differ by %.1e\n",
           n, depth, typical[0], typical[1], typical[2], typical[3], gap);
    snprintf(what, sizeof what, "X'DX, n = %zu, against dsyrk", n);
    figure(what, typical[0] / typical[1], "times", AT_MOST, 1.5);
    snprintf(what, sizeof what, "Cholesky, n = %zu, against dpotrf", n);
    figure(what, typical[2] / typical[3], "times", AT_MOST, 1.5);
    free(x);
    free(weights);
    free(ours);
    free(theirs);
    free(gram);
}

int main(void)
{
    openblas_set_num_threads(1);
    softmax(20000, 100, 10);
    softmax(20000, 784, 10);
    triangles(400, 2000);
    triangles(1000, 2000);
    return 0;
}
