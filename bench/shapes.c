/* The kernels against each other by the shape of an agent's data: time of the AVX-512 kernel divided by that of AVX2,
 * measured in turn. The rule by which `kernel: auto` chooses (src/linalg/kernel.c) is made from this table; the figures
 * at the end say how far the automatic choice is from the faster kernel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figure.h"
#include "base/random.h"
#include "linalg/kernel.h"
#include "problem.h"
#include "timing.h"
#include "objective/objective_access.h"

enum { REPEATS = 41, BATCH = 32, AGENTS_MAX = 512 };

static const char *const names[2] = {"avx2", "avx512"};

/* The same rows for either kernel; agents enough that each call finds its rows in the second-level cache at best. */
static fplt_objective *cost_by(const char *kernel, const char *precision, uint32_t agents,
                               size_t rows, size_t features)
{
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.kernel = kernel;
    cost.precision = precision;
    return cost_with(&cost, agents, rows, features);
}

struct place {
    fplt_objective *objective;
    double *x, *gradient, *scratch;
    uint32_t *order;
    uint32_t agents;
    size_t rows;
};

static double gradients(const struct place *p, size_t calls)
{
    double start = seconds();
    for (size_t i = 0; i < calls; i++)
        fplt_objective_gradient(p->objective, (uint32_t)(i % p->agents), p->x, p->gradient,
                                p->scratch);
    return (seconds() - start) / (double)calls;
}

static double batches(const struct place *p, size_t calls)
{
    size_t places = p->rows / BATCH;
    double start = seconds();
    for (size_t i = 0; i < calls; i++)
        fplt__objective_batch_gradient(p->objective, (uint32_t)(i % p->agents), p->x,
                                       p->order + i % places * BATCH, BATCH, p->gradient,
                                       p->scratch);
    return (seconds() - start) / (double)calls;
}

static void create(struct place *p, const char *kernel, const char *precision, uint32_t agents,
                   size_t rows, size_t features)
{
    p->objective = cost_by(kernel, precision, agents, rows, features);
    p->agents = agents;
    p->rows = rows;
    p->x = calloc(2 * features + fplt_objective_scratch(p->objective), sizeof *p->x);
    p->order = calloc(rows, sizeof *p->order);
    if (!p->x || !p->order)
        exit(1);
    p->gradient = p->x + features;
    p->scratch = p->gradient + features;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, rows, features, 0);
    fplt__stream_normals(&stream, 0.1, p->x, features);
    for (uint32_t r = 0; r < rows; r++)
        p->order[r] = r;
    fplt__stream_shuffle(&stream, p->order, (uint32_t)rows);
}

static void destroy(struct place *p)
{
    fplt_objective_destroy(p->objective);
    free(p->x);
    free(p->order);
}

/* Quickest of many short turns of each, and their ratio. */
static double ratio(const struct place *p, double (*measure)(const struct place *, size_t),
                    double best[2])
{
    best[0] = best[1] = HUGE_VAL;
    size_t calls = 1 + (size_t)(2e-4 / measure(p, 3));
    for (size_t t = 0; t < REPEATS; t++)
        for (size_t k = 0; k < 2; k++)
            best[k] = fmin(best[k], measure(p + k, calls));
    return best[1] / best[0];
}

/* How much longer the automatic kernel takes than the faster of the two. */
static double excess(const char *precision, size_t rows, size_t features, uint32_t agents,
                     uint32_t batch, const double best[2])
{
    fplt__kernel_shape shape = {.columns = features,
                                .rows = (double)rows,
                                .agents = agents,
                                .batch = batch,
                                .narrow = strcmp(precision, "float32") == 0};
    int chosen = strcmp(fplt__kernel_for(&shape, 0)->name, names[1]) == 0;
    return best[chosen] / fmin(best[0], best[1]);
}

struct worst {
    double whole, batch;
};

static void compare_shape(const char *precision, size_t rows, size_t features, struct worst *worst)
{
    size_t fit = 200000 / (rows * features);
    uint32_t agents = (uint32_t)(fit < 1 ? 1 : fit < AGENTS_MAX ? fit : AGENTS_MAX);
    struct place p[2];
    double whole[2], some[2];
    for (size_t k = 0; k < 2; k++)
        create(p + k, names[k], precision, agents, rows, features);
    double full = ratio(p, gradients, whole);
    printf("%-8s %7zu %5zu %9.0f %9.0f %6.2f", precision, rows, features, 1e9 * whole[0],
           1e9 * whole[1], full);
    /* agents of few rows count where there are many of them */
    worst->whole = fmax(worst->whole,
                        excess(precision, rows, features, rows < 32 ? 100000 : agents, 0, whole));
    if (rows >= 2 * BATCH) {
        double part = ratio(p, batches, some);
        printf(" %9.0f %9.0f %6.2f", 1e9 * some[0], 1e9 * some[1], part);
        worst->batch = fmax(worst->batch, excess(precision, rows, features, agents, BATCH, some));
    }
    printf("\n");
    fflush(stdout);
    destroy(p);
    destroy(p + 1);
}

int main(void)
{
    int available[2] = {0, 0};
    const char *name;
    for (size_t i = 0; (name = fplt__kernel_list(i, NULL, NULL)); i++)
        for (size_t k = 0; k < 2; k++)
            if (strcmp(name, names[k]) == 0)
                fplt__kernel_list(i, NULL, available + k);
    if (!available[0] || !available[1]) {
        printf("skipped: this machine has not both AVX2 and AVX-512\n");
        return 0;
    }
    static const size_t rows[] = {10, 32, 100, 250, 2000, 20000};
    static const size_t features[] = {5, 8, 12, 16, 20, 24, 32, 50, 100, 200};
    static const char *const precisions[] = {"double", "float32"};
    struct worst worst = {0, 0};
    printf("precision   rows     n  gradient, ns       ratio  minibatch of 32, ns ratio\n");
    printf("                          avx2    avx512              avx2    avx512\n");
    for (size_t p = 0; p < 2; p++)
        for (size_t f = 0; f < sizeof features / sizeof *features; f++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
                compare_shape(precisions[p], rows[r], features[f], &worst);
    figure("automatic kernel against the faster one, gradients", worst.whole, "times", AT_MOST,
           1.2);
    figure("automatic kernel against the faster one, minibatches", worst.batch, "times", AT_MOST,
           1.2);
    return 0;
}
