/* Where the arithmetic is matrix times matrix: against OpenBLAS and LAPACK on one thread, measured in turn. */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fedplt.h"
#include "figure.h"
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
    fplt_stream_normals(&stream, 1, x, count);
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

int main(void)
{
    openblas_set_num_threads(1);
    softmax(20000, 100, 10);
    softmax(20000, 784, 10);
    return 0;
}
