/* A Fed-PLT round at the paper's size (100 agents, n = 5, q = 250, 5 epochs: 500 local gradients,
 * without the criterion) against its 500 kernel calls alone, on one thread and on all, and what the
 * exact sum costs. Prints ratios of one run; the median of many short repetitions. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fedplt.h"

enum { REPEATS = 101, BATCH = 20, EPOCHS = 5 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, REPEATS, sizeof *times, ascending);
    return times[REPEATS / 2];
}

static void check(fplt_status status, const fplt_error *error)
{
    if (status) {
        fprintf(stderr, "round: %s\n", error->text);
        exit(1);
    }
}

static double kernel_calls(const fplt_objective *objective)
{
    static double x[5], gradient[8], times[REPEATS];
    double *scratch = calloc(fplt_objective_scratch(objective) + 8, sizeof *scratch);
    for (int r = 0; r < REPEATS; r++) {
        double begun = now();
        for (int b = 0; b < BATCH; b++)
            for (uint32_t i = 0; i < 100; i++)
                for (int e = 0; e < EPOCHS; e++)
                    fplt_objective_gradient(objective, i, x, gradient, scratch);
        times[r] = (now() - begun) / BATCH;
    }
    free(scratch);
    return median(times);
}

static double rounds(const fplt_objective *objective, unsigned threads)
{
    static double times[REPEATS];
    fplt_error error;
    fplt_engine *engine;
    fplt_run_settings settings = fplt_run_defaults();
    settings.threads = threads;
    check(fplt_engine_create(objective, &settings, &engine, &error), &error);
    for (int r = 0; r < REPEATS; r++) {
        double begun = now();
        for (int b = 0; b < BATCH; b++)
            check(fplt_engine_round(engine, &error), &error);
        times[r] = (now() - begun) / BATCH;
    }
    fplt_engine_destroy(engine);
    return median(times);
}

/* Time of adding one number to the exact sum, in nanoseconds. */
static double exact_addition(void)
{
    enum { LENGTH = 1000, ADDITIONS = 200 };
    static double x[LENGTH], times[REPEATS];
    fplt_error error;
    fplt_sum *sum;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_stream_normals(&stream, 1, x, LENGTH);
    check(fplt_sum_create(LENGTH, FPLT_SUM_EXPONENT, &sum, &error), &error);
    for (int r = 0; r < REPEATS; r++) {
        double begun = now();
        for (int i = 0; i < ADDITIONS; i++)
            fplt_sum_add(sum, 0, x, LENGTH);
        times[r] = (now() - begun) * 1e3 / ADDITIONS / LENGTH;
    }
    fplt_sum_destroy(sum);
    return median(times);
}

int main(void)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    check(fplt_dataset_generate(&data, &dataset, &error), &error);
    check(fplt_objective_create(&cost, dataset, &objective, &error), &error);
    double one = 0, calls = 0;
    for (int again = 0; again < 2; again++) { /* the first time warms up */
        calls = kernel_calls(objective);
        one = rounds(objective, 1);
    }
    double all = rounds(objective, 0);
    printf("kernel %s, 100 agents, n = 5, q = 250, 5 epochs\n", fplt_objective_kernel(objective));
    printf("  500 kernel calls     %8.1f us\n", calls);
    printf("  a round, 1 thread    %8.1f us  %.3f of the kernel calls (target 1.15)\n", one,
           one / calls);
    printf("  a round, all threads %8.1f us  %.2f times as fast\n", all, one / all);
    printf("  exact sum            %8.2f ns a number added\n", exact_addition());
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
    return 0;
}
