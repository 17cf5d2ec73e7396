/* What a second thread brings: with many agents, with one and with three whose records are shared, and beside a
 * process that keeps a core busy, where it must not cost anything. One thread and all are timed in turn; of many
 * short repetitions the quickest counts, for other programs can only make one slower. Beside the busy process the
 * whole time counts. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "problem.h"
#include "timing.h"

enum { REPEATS = 300 };

static fplt_engine *engine_on(const fplt_objective *objective, unsigned threads)
{
    fplt_error error;
    fplt_engine *engine;
    fplt_run_settings settings = fplt_run_defaults();
    settings.threads = threads;
    check(fplt_engine_create(objective, &settings, &engine, &error), &error);
    return engine;
}

static double rounds(fplt_engine *engine, int count)
{
    fplt_error error;
    double begun = microseconds();
    for (int b = 0; b < count; b++)
        check(fplt_engine_round(engine, &error), &error);
    return (microseconds() - begun) / count;
}

static void scaling(const char *what, uint32_t agents, size_t rows, size_t features, double bar)
{
    fplt_objective *objective = cost_of(agents, rows, features);
    fplt_engine *single = engine_on(objective, 1), *both = engine_on(objective, 2);
    double one = HUGE_VAL, two = HUGE_VAL;
    int batch = (int)fmax(1, 1.6e7 / (double)(agents * rows * features * 10));
    for (int r = 0; r < REPEATS; r++) {
        one = fmin(one, rounds(single, batch));
        two = fmin(two, rounds(both, batch));
    }
    printf("  %-40s %9.0f us  %9.0f us  %.2f times\n", what, one, two, one / two);
    char name[100];
    snprintf(name, sizeof name, "2 threads, %s", what);
    figure(name, one / two, "times one thread", AT_LEAST, bar);
    fplt_engine_destroy(single);
    fplt_engine_destroy(both);
    fplt_objective_destroy(objective);
}

static void beside_a_busy_process(const char *what, uint32_t agents, size_t rows, size_t features)
{
    fplt_objective *objective = cost_of(agents, rows, features);
    fplt_engine *single = engine_on(objective, 1), *all = engine_on(objective, 0);
    double one = 0, many = 0;
    pid_t busy = fork();
    if (busy == 0)
        for (volatile unsigned k = 0;; k++)
            ;
    /* long turns, so that both meet the same neighbour */
    for (int r = 0; r < 24; r++) {
        double begun = microseconds();
        int count = 0;
        for (; microseconds() - begun < 1e5; count += 10)
            rounds(single, 10);
        one += (microseconds() - begun) / count;
        begun = microseconds();
        for (count = 0; microseconds() - begun < 1e5; count += 10)
            rounds(all, 10);
        many += (microseconds() - begun) / count;
    }
    if (busy > 0) {
        kill(busy, SIGKILL);
        waitpid(busy, NULL, 0);
    }
    printf("  %-40s %9.0f us  %9.0f us  %.2f of one thread's time\n", what, one / 24, many / 24,
           many / one);
    char name[100];
    snprintf(name, sizeof name, "all threads beside a busy process, %s", what);
    figure(name, many / one, "of one thread's time", AT_MOST, 1);
    fplt_engine_destroy(single);
    fplt_engine_destroy(all);
    fplt_objective_destroy(objective);
}

int main(void)
{
    printf("a round of 5 epochs on one thread, on two\n");
    scaling("N = 100, q = 250, n = 5", 100, 250, 5, 1.85);
    scaling("N = 1, q = 20000, n = 20", 1, 20000, 20, 1.8);
    scaling("N = 3, q = 10000, n = 20", 3, 10000, 20, 1.85);
    printf("the same on one thread, on all, beside a process that never rests\n");
    beside_a_busy_process("N = 100, q = 250, n = 5", 100, 250, 5);
    beside_a_busy_process("N = 1, q = 20000, n = 20", 1, 20000, 20);
    return 0;
}
