/* A Fed-PLT round at the paper's size (100 agents, n = 5, q = 250, 5 epochs: 500 local gradients,
 * without the criterion) against its 500 kernel calls alone, on one thread and on all, and what the
 * exact sum costs. The two are timed in turn, and of many short repetitions the quickest counts: other
 * programs on the machine can only make one slower. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "figure.h"
#include "problem.h"
#include "timing.h"
#include "base/random.h"
#include "base/sum.h"
#include "objective/objective_access.h"

enum { REPEATS = 101, BATCH = 20, EPOCHS = 5 };

static double kernel_calls(const fplt_objective *objective, double *scratch)
{
    static double x[5], gradient[8];
    double begun = microseconds();
    for (int b = 0; b < BATCH; b++)
        for (uint32_t i = 0; i < 100; i++)
            for (int e = 0; e < EPOCHS; e++)
                fplt_objective_gradient(objective, i, x, gradient, scratch);
    return (microseconds() - begun) / BATCH;
}

static fplt_engine *engine_on(const fplt_objective *objective, unsigned threads)
{
    fplt_error error;
    fplt_engine *engine;
    fplt_run_settings settings = fplt_run_defaults();
    settings.threads = threads;
    check(fplt_engine_create(objective, &settings, &engine, &error), &error);
    return engine;
}

static double rounds(fplt_engine *engine)
{
    fplt_error error;
    double begun = microseconds();
    for (int b = 0; b < BATCH; b++)
        check(fplt_engine_round(engine, &error), &error);
    return (microseconds() - begun) / BATCH;
}

/* One measurement in gradient passes over all agents' records. */
static double measuring(fplt_engine *engine)
{
    fplt_error error;
    fplt_measure measure;
    double begun = microseconds();
    for (int b = 0; b < BATCH; b++)
        check(fplt_engine_measure(engine, &measure, &error), &error);
    return (microseconds() - begun) / BATCH;
}

/* Time of adding one number to the exact sum, in nanoseconds. */
static double exact_addition(void)
{
    enum { LENGTH = 1000, ADDITIONS = 200 };
    static double x[LENGTH];
    double best = HUGE_VAL;
    fplt_error error;
    fplt__sum *sum;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt__stream_normals(&stream, 1, x, LENGTH);
    check(fplt__sum_create(LENGTH, FPLT_SUM_EXPONENT, &sum, &error), &error);
    for (int r = 0; r < REPEATS; r++) {
        double begun = microseconds();
        for (int i = 0; i < ADDITIONS; i++)
            fplt__sum_add(sum, 0, x, LENGTH);
        best = fmin(best, (microseconds() - begun) * 1e3 / ADDITIONS / LENGTH);
    }
    fplt__sum_destroy(sum);
    return best;
}

int main(void)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.kernel = named_kernel();
    check(fplt_dataset_generate(&data, &dataset, &error), &error);
    check(fplt_objective_create(&cost, dataset, &objective, &error), &error);
    double *scratch = calloc(fplt_objective_scratch(objective) + 8, sizeof *scratch);
    fplt_engine *single = engine_on(objective, 1), *every = engine_on(objective, 0);
    double one = HUGE_VAL, calls = HUGE_VAL, all = HUGE_VAL, measured = HUGE_VAL;
    for (int r = 0; r < REPEATS; r++) {
        calls = fmin(calls, kernel_calls(objective, scratch));
        one = fmin(one, rounds(single));
        all = fmin(all, rounds(every));
        measured = fmin(measured, measuring(single));
    }
    printf("kernel %s, 100 agents, n = 5, q = 250, 5 epochs\n", fplt__objective_kernel(objective));
    printf("  500 kernel calls     %8.1f us\n", calls);
    printf("  a round, 1 thread    %8.1f us  %.3f of the kernel calls (target 1.15)\n", one,
           one / calls);
    printf("  a round, all threads %8.1f us  %.2f times as fast\n", all, one / all);
    printf("  a measurement        %8.1f us  %.2f gradient passes, %.0f %% of a measured round\n",
           measured, measured / calls * EPOCHS, 100 * measured / (one + measured));
    printf("  exact sum            %8.2f ns a number added\n", exact_addition());
    figure("a round of the paper's problem", one / calls, "of its kernel calls", AT_MOST, 1.15);
    figure("a measurement at the paper's size", measured / calls * EPOCHS, "gradient passes",
           AT_MOST, 2);
    /* on data of your own it is taken every second round of 5 epochs */
    figure("measuring with 5 epochs and all active", measured / (2 * one + measured), "of the time",
           AT_MOST, 0.2);
    free(scratch);
    fplt_engine_destroy(single);
    fplt_engine_destroy(every);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
    return 0;
}
