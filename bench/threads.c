/* What a second thread brings: with many agents, with one and with three whose records are shared, and beside a
 * process that keeps a core busy, where it may cost a tenth. One thread and all are timed in turn; of many
 * short repetitions the quickest counts, for other programs can only make one slower, and a round that is not
 * timed comes before each, as in a run of many. Beside the busy process the whole time counts.
 *
 * What two cores of this machine can bring at all is measured beside it: the same gradients by two threads that
 * share nothing, half of the records each. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
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

/* Gradients of half of the agents, by one of two threads. */
struct half {
    const fplt_objective *objective;
    uint32_t first, end;
    double *x; /* and behind it room for a gradient and scratch */
    atomic_int begun, done, quit;
};

enum { EPOCHS = 5 };

static void gradients(struct half *half, uint32_t first, uint32_t end)
{
    size_t n = fplt_objective_dimension(half->objective);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (uint32_t i = first; i < end; i++)
            fplt_objective_gradient(half->objective, i, half->x, half->x + n, half->x + 2 * n);
}

static void *answer(void *argument)
{
    struct half *half = argument;
    for (int turn = 1;; turn++) {
        while (atomic_load(&half->begun) < turn)
            if (atomic_load(&half->quit))
                return NULL;
        gradients(half, half->first, half->end);
        atomic_store(&half->done, turn);
    }
}

static struct half half_of(const fplt_objective *o, uint32_t first, uint32_t end)
{
    size_t numbers = 2 * fplt_objective_dimension(o) + fplt_objective_scratch(o);
    struct half half = {.objective = o, .first = first, .end = end};
    half.x = calloc(numbers, sizeof *half.x);
    if (!half.x)
        exit(1);
    return half;
}

/* How many times as fast as one two threads are that share nothing; an agent alone is cut in two. */
static double apart(uint32_t agents, size_t rows, size_t features)
{
    uint32_t all = agents % 2 ? 2 * agents : agents;
    fplt_objective *objective = cost_of(all, rows * agents / all, features);
    struct half own = half_of(objective, 0, all / 2), other = half_of(objective, all / 2, all);
    double one = HUGE_VAL, two = HUGE_VAL;
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer, &other))
        exit(1);
    for (int r = 1; r <= REPEATS; r++) {
        double begun = microseconds();
        gradients(&own, 0, all);
        one = fmin(one, microseconds() - begun);
        begun = microseconds();
        atomic_store(&other.begun, r);
        gradients(&own, 0, all / 2);
        while (atomic_load(&other.done) < r)
            ;
        two = fmin(two, microseconds() - begun);
    }
    atomic_store(&other.quit, 1);
    pthread_join(thread, NULL);
    free(own.x);
    free(other.x);
    fplt_objective_destroy(objective);
    return one / two;
}

/* How long a line of the cache takes to another core and back, in nanoseconds: a tenth of a microsecond where they
 * share a cache. A virtual machine may have its cores anywhere, and elsewhere a minute later. */
enum { EXCHANGES = 20000 };

static void *return_line(void *argument)
{
    atomic_int *line = argument;
    for (int i = 0; i < EXCHANGES; i++) {
        while (atomic_load(line) != 2 * i + 1)
            ;
        atomic_store(line, 2 * i + 2);
    }
    return NULL;
}

static double distance(void)
{
    static _Alignas(64) atomic_int line;
    double best = HUGE_VAL;
    for (int r = 0; r < 10; r++) {
        pthread_t thread;
        atomic_store(&line, 0);
        if (pthread_create(&thread, NULL, return_line, &line))
            exit(1);
        double begun = microseconds();
        for (int i = 0; i < EXCHANGES; i++) {
            atomic_store(&line, 2 * i + 1);
            while (atomic_load(&line) != 2 * i + 2)
                ;
        }
        best = fmin(best, 1e3 * (microseconds() - begun) / EXCHANGES);
        pthread_join(thread, NULL);
    }
    return best;
}

static void scaling(const char *what, uint32_t agents, size_t rows, size_t features, double bar)
{
    fplt_objective *objective = cost_of(agents, rows, features);
    fplt_engine *single = engine_on(objective, 1), *both = engine_on(objective, 2);
    double one = HUGE_VAL, two = HUGE_VAL;
    int batch = (int)fmax(1, 1.6e7 / (double)(agents * rows * features * 10));
    for (int r = 0; r < REPEATS; r++) {
        rounds(single, 1);
        one = fmin(one, rounds(single, batch));
        rounds(both, 1);
        two = fmin(two, rounds(both, batch));
    }
    printf("  %-40s %9.0f us  %9.0f us  %.2f times, two threads that share nothing %.2f\n", what,
           one, two, one / two, apart(agents, rows, features));
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
    if (busy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned k = 0;; k++)
            ;
    }
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
    figure(name, many / one, "of one thread's time", AT_MOST, 1.1);
    fplt_engine_destroy(single);
    fplt_engine_destroy(all);
    fplt_objective_destroy(objective);
}

int main(void)
{
    double before = distance();
    printf("a round of 5 epochs on one thread, on two\n");
    scaling("N = 100, q = 250, n = 5", 100, 250, 5, 1.85);
    scaling("N = 1, q = 20000, n = 20", 1, 20000, 20, 1.8);
    scaling("N = 3, q = 10000, n = 20", 3, 10000, 20, 1.85);
    printf("  a line of the cache from core to core and back: %.0f ns before, %.0f ns after\n",
           before, distance());
    printf("the same on one thread, on all, beside a process that never rests\n");
    beside_a_busy_process("N = 100, q = 250, n = 5", 100, 250, 5);
    beside_a_busy_process("N = 1, q = 20000, n = 20", 1, 20000, 20);
    return 0;
}
