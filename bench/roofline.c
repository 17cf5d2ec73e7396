/* Where the kernels stand between the bandwidth of the memory and the peak of multiply-adds, both measured here
 * on one thread. Multiply-adds are counted, exponentials are not: the logistic cost lies below the roof by what
 * its exponential takes. With an argument the picture is drawn there.
 *
 *     build/bench/roofline [PICTURE]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/kernel.h"
#include "problem.h"
#include "timing.h"
#include "objective/objective_access.h"
#include "report/report.h"

/* ---- the two limits ---- */

#if defined(__x86_64__)
#include <immintrin.h>

/* Ten chains, so that the latency of one is hidden by the others. */
__attribute__((target("avx2,fma"))) static double burn(size_t count, double by)
{
    __m256d a[10], b = _mm256_set1_pd(by), c = _mm256_set1_pd(1e-9);
    double out[4];
    for (int k = 0; k < 10; k++)
        a[k] = _mm256_set1_pd(k);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 10; k++)
            a[k] = _mm256_fmadd_pd(a[k], b, c);
    for (int k = 1; k < 10; k++)
        a[0] = _mm256_add_pd(a[0], a[k]);
    _mm256_storeu_pd(out, a[0]);
    return out[0] + out[1] + out[2] + out[3];
}

enum { LANES = 4 };
#else
static double burn(size_t count, double by)
{
    double a[10] = {0};
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 10; k++)
            a[k] = a[k] * by + 1e-9;
    return a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7] + a[8] + a[9];
}

enum { LANES = 1 };
#endif

static volatile double sink;

/* Floating-point operations a second. */
static double peak(void)
{
    enum { COUNT = 200000 };
    double best = HUGE_VAL;
    for (int r = 0; r < 41; r++) {
        double begun = seconds();
        sink = burn(COUNT, 0.999999);
        best = fmin(best, seconds() - begun);
    }
    return 2.0 * 10 * LANES * COUNT / best;
}

/* Bytes a second, read once from memory. */
static double bandwidth(const fplt__kernel *kernel)
{
    size_t count = (size_t)1 << 25;
    double *x = aligned_alloc(64, count * sizeof *x), best = HUGE_VAL;
    for (size_t i = 0; i < count; i++)
        x[i] = 1e-3;
    for (int r = 0; r < 9; r++) {
        double begun = seconds();
        sink = kernel->dot(x, x + count / 2, count / 2);
        best = fmin(best, seconds() - begun);
    }
    free(x);
    return (double)count * sizeof *x / best;
}

/* ---- the kernels ---- */

enum what { GRADIENT, HESSIAN };

struct point {
    const char *name, *loss;
    enum what what;
    fplt_task task;
    uint32_t classes;
    size_t rows, features;
    double intensity, rate;
};

static void measure(struct point *p)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    data.name = "planted";
    data.task = p->task;
    data.classes = p->classes;
    data.agents = 1;
    data.rows = p->rows;
    data.features = p->features;
    cost.loss = p->loss;
    check(fplt_dataset_generate(&data, &dataset, &error), &error);
    check(fplt_objective_create(&cost, dataset, &objective, &error), &error);
    fplt_dataset_destroy(dataset);
    size_t n = fplt_objective_dimension(objective);
    double *scratch =
        aligned_alloc(64, (fplt_objective_scratch(objective) + 8) / 8 * 8 * sizeof *scratch);
    double *x = calloc(n, sizeof *x), *out = calloc(p->what == HESSIAN ? n * n : n, sizeof *out);
    double best = HUGE_VAL, begun = seconds();
    for (int r = 0; r < 2000 && (r < 5 || seconds() - begun < 0.5); r++) {
        double before = seconds();
        if (p->what == HESSIAN)
            fplt__objective_hessian(objective, 0, x, out, scratch);
        else
            fplt_objective_gradient(objective, 0, x, out, scratch);
        best = fmin(best, seconds() - before);
    }
    double numbers = (double)p->rows * (double)p->features;
    double outputs = (double)n / (double)p->features;
    double operations =
        p->what == HESSIAN ? numbers * ((double)p->features + 3) : 4 * numbers * outputs;
    p->intensity = operations / (8 * numbers);
    p->rate = operations / best;
    free(scratch);
    free(x);
    free(out);
    fplt_objective_destroy(objective);
}

int main(int argc, char **argv)
{
    static struct point points[] = {
        {"logistic, in cache, n = 5", "logistic", GRADIENT, FPLT_TASK_BINARY, 0, 250, 5, 0, 0},
        {"logistic, in cache, n = 100", "logistic", GRADIENT, FPLT_TASK_BINARY, 0, 250, 100, 0, 0},
        {"logistic, out of cache, n = 100", "logistic", GRADIENT, FPLT_TASK_BINARY, 0, 100000, 100,
         0, 0},
        {"least squares, out of cache, n = 100", "least-squares", GRADIENT, FPLT_TASK_REGRESSION, 0,
         100000, 100, 0, 0},
        {"softmax, 10 classes, n = 100", "softmax", GRADIENT, FPLT_TASK_CLASSES, 10, 2000, 100, 0,
         0},
        {"Hessian, n = 100", "logistic", HESSIAN, FPLT_TASK_BINARY, 0, 2000, 100, 0, 0},
    };
    enum { POINTS = sizeof points / sizeof *points };
    fplt_error error;
    const fplt__kernel *kernel = fplt__kernel_for(&(fplt__kernel_shape){.columns = 0}, 0);
    double most = peak(), wide = bandwidth(kernel), knee = most / wide;
    printf("one thread: %.1f GB/s read from memory, %.1f GFLOP/s of multiply-adds\n", wide * 1e-9,
           most * 1e-9);
    for (size_t i = 0; i < POINTS; i++) {
        measure(&points[i]);
        double roof = fmin(most, points[i].intensity * wide);
        printf("  %-38s %6.1f FLOP/byte %8.2f GFLOP/s  %5.2f of the roof from memory\n",
               points[i].name, points[i].intensity, points[i].rate * 1e-9, points[i].rate / roof);
    }
    if (argc > 1) {
        double roof_x[3] = {0.1, knee, 100},
               roof_y[3] = {0.1 * wide * 1e-9, most * 1e-9, most * 1e-9};
        double gigas[POINTS];
        fplt__series series[POINTS + 1] = {{"memory, then multiply-adds", roof_x, roof_y, 3}};
        for (size_t i = 0; i < POINTS; i++) {
            gigas[i] = points[i].rate * 1e-9;
            series[i + 1] = (fplt__series){points[i].name, &points[i].intensity, &gigas[i], 1};
        }
        fplt__plot plot = {.title = "Kernels between bandwidth and arithmetic, one thread",
                           .x_label = "multiply-adds a byte, in FLOP",
                           .y_label = "GFLOP/s",
                           .log_x = 1,
                           .log_y = 1,
                           .series = series,
                           .count = POINTS + 1};
        check(fplt__plot_write(&plot, argv[1], &error), &error);
    }
    return 0;
}
