/* How the time of a round grows with agents, coordinates, records and active agents, 10^2 .. 10^6, and what
 * measuring and creating cost beside it. Prints a table; with an argument draws docs/growth.svg there.
 *
 *     build/bench/growth [PICTURE]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "figure.h"
#include "job/job.h"
#include "problem.h"
#include "timing.h"
#include "report/report.h"
#include "fedplt/participation.h"

enum { POINTS = 5, EPOCHS = 5 };

/* Seconds: the quickest of some repetitions, for other programs can only make one slower. */
struct times {
    double create, round, measure;
};

static struct times time_of(const fplt_objective *objective, uint32_t active)
{
    fplt_error error;
    fplt_engine *engine = NULL;
    fplt_measure measure;
    fplt_participation *some = NULL;
    fplt_run_settings settings = fplt_run_defaults();
    uint32_t agents = fplt_objective_agents(objective);
    struct times times = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    if (active < agents) {
        fplt_participation_settings fixed = {.rule = "fixed", .count = active};
        check(fplt_participation_create(&fixed, agents, &some, &error), &error);
        settings.participation = some;
        settings.curvature = (fplt_curvature){0.5, 10}; /* found once, with all active */
    }
    settings.training.epochs = EPOCHS;
    double begun = seconds();
    for (int create = 0; create < 20 && (create < 3 || seconds() - begun < 0.3); create++) {
        if (create)
            fplt_engine_destroy(engine);
        double before = seconds();
        check(fplt_engine_create(objective, &settings, &engine, &error), &error);
        times.create = fmin(times.create, seconds() - before);
    }
    for (int r = 0; r < 200 && (r < 3 || seconds() - begun < 2); r++) {
        double before = seconds();
        check(fplt_engine_round(engine, &error), &error);
        times.round = fmin(times.round, seconds() - before);
    }
    for (int r = 0; r < 50 && (r < 2 || seconds() - begun < 3); r++) {
        double before = seconds();
        check(fplt_engine_measure(engine, &measure, &error), &error);
        times.measure = fmin(times.measure, seconds() - before);
    }
    fplt_engine_destroy(engine);
    fplt_participation_destroy(some);
    return times;
}

struct axis {
    const char *name;
    double x[POINTS], y[POINTS]; /* y: seconds a round, its share of measuring included */
    double create[POINTS], share[POINTS];
};

static void fill(struct axis *axis, int point, const fplt_objective *objective, uint32_t active,
                 double x)
{
    fplt_training training = fplt_training_defaults();
    training.epochs = EPOCHS;
    fplt__load load = fplt__load_of(objective);
    double every = fplt__load_spacing(&load, &training, fplt_objective_agents(objective), active);
    struct times times = time_of(objective, active);
    axis->x[point] = x;
    axis->y[point] = times.round + times.measure / every;
    axis->create[point] = times.create / times.round;
    axis->share[point] = times.measure / every / axis->y[point];
    printf("  %-34s %8.0f  %11.6f s  %11.6f s  %6.0f  %5.1f %%  %8.2f\n", axis->name, x,
           times.round, times.measure, every, 100 * axis->share[point], axis->create[point]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct axis axes[4] = {{.name = "agents (n = 5, q = 10)"},
                                  {.name = "coordinates (N = 2, q = 20)"},
                                  {.name = "records (N = 2, n = 5)"},
                                  {.name = "active agents of 10^6 (n = 5, q = 10)"}};
    fplt_objective *million = NULL;
    printf(
        "a round of %d epochs, a measurement, rounds between two, share of measuring, creating in "
        "rounds\n",
        EPOCHS);
    for (int k = 0; k < POINTS; k++) {
        uint32_t size = (uint32_t)lround(pow(10, k + 2));
        fplt_objective *objective = cost_of(size, 10, 5);
        fill(&axes[0], k, objective, size, size);
        if (k + 1 == POINTS)
            million = objective;
        else
            fplt_objective_destroy(objective);
    }
    for (int k = 0; k < POINTS; k++) {
        uint32_t size = (uint32_t)lround(pow(10, k + 2));
        fplt_objective *objective = cost_of(2, 20, size);
        fill(&axes[1], k, objective, 2, size);
        fplt_objective_destroy(objective);
    }
    for (int k = 0; k < POINTS; k++) {
        uint32_t size = (uint32_t)lround(pow(10, k + 2));
        fplt_objective *objective = cost_of(2, size, 5);
        fill(&axes[2], k, objective, 2, size);
        fplt_objective_destroy(objective);
    }
    for (int k = 0; k < POINTS; k++) {
        uint32_t size = (uint32_t)lround(pow(10, k + 2));
        fill(&axes[3], k, million, size, size);
    }
    fplt_objective_destroy(million);
    figure("a full round of 10^6 agents, n = 5, q = 10, N_e = 5",
           axes[0].y[POINTS - 1] * (1 - axes[0].share[POINTS - 1]), "s", AT_MOST, 0.2);
    double least = HUGE_VAL, most = 0, share = 0;
    for (int k = 0; k < POINTS; k++) {
        double each = axes[3].y[k] / axes[3].x[k];
        least = fmin(least, each);
        most = fmax(most, each);
        for (int a = 0; a < 4; a++)
            share = fmax(share, axes[a].share[k]);
    }
    figure("cost an active agent of 10^6, measuring included, most over least", most / least,
           "times", AT_MOST, 2);
    figure("measuring, 10^6 agents", axes[0].share[POINTS - 1], "of the time", AT_MOST, 0.2);
    figure("measuring, where it is most", share, "of the time", AT_MOST, 0.2);
    figure("creating, 10^6 agents", axes[0].create[POINTS - 1], "rounds", AT_MOST, 2);
    figure("creating, 10^5 coordinates", axes[1].create[3], "rounds", AT_MOST, 2);
    figure("creating, 10^6 records", axes[2].create[POINTS - 1], "rounds", AT_MOST, 2);
    if (argc > 1) {
        fplt_error error;
        fplt__series series[4];
        for (int a = 0; a < 4; a++)
            series[a] = (fplt__series){axes[a].name, axes[a].x, axes[a].y, POINTS};
        fplt__plot plot = {.title = "A round of 5 epochs, measuring included",
                           .x_label = "how many",
                           .y_label = "seconds",
                           .log_x = 1,
                           .log_y = 1,
                           .series = series,
                           .count = 4};
        check(fplt__plot_write(&plot, argv[1], &error), &error);
    }
    return 0;
}
