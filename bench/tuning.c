/* Rounds that the automatic rho and gamma need, beside the best point of a grid over both.
 *
 *     build/bench/tuning paper eps [tolerance [regulariser [seeds [algorithm]]]]   medians
 *     build/bench/tuning heart_disease|a9a|mushrooms eps [tolerance]
 *
 * From the root of the source tree. The grid: rho from 1/8 to 8 times 1/sqrt(lmin lmax) by factors of
 * sqrt 2; the step from 0.6 to 1.4 times its automatic value, each agent from its own curvature and
 * all from the common one, but below 2/(lmax + 1/rho): beyond that local training need not converge.
 * With BEYOND=1 in the environment, also there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fedplt/generate.h"
#include "fedplt/partition.h"
#include "fedplt/read.h"
#include "fedplt/tune.h"
#include "job/auto.h"

enum { ROUNDS = 20000, SEEDS_MAX = 100 };

struct source {
    const char *name, *path, *label, *labels;
    size_t features;
    uint32_t shards;
};

static const struct source sources[] = {
    {"heart_disease", "../shared/data/heart_disease/heart_disease.csv", "b", NULL, 13, 0},
    {"a9a", "../shared/data/libsvm_a9a/a9a", NULL, NULL, 123, 100},
    {"mushrooms", "../shared/data/libsvm_mushrooms/mushrooms", NULL, "1=1,2=-1", 112, 100},
};

static void must(fplt_status status, const fplt_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static fplt_dataset *read_source(const struct source *source)
{
    fplt_error error;
    fplt_dataset *dataset, *divided;
    fplt_read_settings settings = fplt_read_defaults();
    settings.label = source->label;
    settings.labels = source->labels;
    settings.features = source->features;
    if (source->shards)
        settings.format = "libsvm";
    must(fplt_dataset_read(&source->path, 1, &settings, &dataset, &error), &error);
    if (!source->shards)
        return dataset;
    fplt_partition_settings partition = fplt_partition_defaults();
    partition.agents = source->shards;
    must(fplt_dataset_partition(dataset, &partition, &divided, &error), &error);
    fplt_dataset_destroy(dataset);
    return divided;
}

static fplt_dataset *find_data(const char *name, uint64_t seed)
{
    fplt_error error;
    fplt_dataset *dataset;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i].name, name) == 0)
            return read_source(&sources[i]);
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.name = name;
    settings.seed = seed;
    must(fplt_dataset_generate(&settings, &dataset, &error), &error);
    return dataset;
}

/* Rounds to the tolerance, or `most` when that is not reached before. */
static uint64_t count(const fplt_objective *objective, const fplt_run_settings *settings,
                      uint64_t most)
{
    fplt_error error;
    fplt_engine *engine;
    fplt_result result;
    fplt_run_settings run = *settings;
    run.rounds = most;
    must(fplt_engine_create(objective, &run, &engine, &error), &error);
    must(fplt_engine_run(engine, NULL, NULL, &result, &error), &error);
    fplt_engine_destroy(engine);
    return result.outcome == FPLT_CONVERGED ? result.counters.rounds : most;
}

struct best {
    uint64_t rounds;
    double factor, share;
    int own;
};

/* One point: a run is cut off where it cannot win any more. */
static void try_point(const fplt_objective *objective, const fplt_run_settings *settings,
                      const fplt_auto *choice, double factor, double share, int own,
                      struct best *best)
{
    fplt_run_settings run = *settings;
    fplt_curvature all = choice->bend.everywhere;
    double parameter[FPLT_MAX_PARAMETERS];
    double rho = factor / sqrt(fplt__curvature_bounds_lowest(&choice->bend) * all.highest);
    uint32_t agents = fplt_objective_agents(objective);
    fplt_training *each = malloc(agents * sizeof *each);
    fplt_algorithm_defaults(run.algorithm, parameter);
    parameter[0] = rho;
    run.parameter = parameter;
    run.curvatures = choice->curvatures;
    for (uint32_t i = 0; i < agents; i++) {
        fplt_curvature from = own ? choice->curvatures[i] : all;
        each[i] = run.training;
        each[i].step = share * 2 / (fmax(from.lowest, 0) + from.highest + 2 / rho);
        if (!getenv("BEYOND"))
            each[i].step = fmin(each[i].step, 0.999 * 2 / (from.highest + 1 / rho));
    }
    run.each = each;
    uint64_t rounds = count(objective, &run, best->rounds);
    free(each);
    if (rounds < best->rounds)
        *best = (struct best){rounds, factor, share, own};
}

static struct best search(const fplt_objective *objective, const fplt_run_settings *run,
                          const fplt_auto *choice)
{
    static const double shares[] = {1, 0.8, 1.2, 0.6, 1.4};
    struct best best = {ROUNDS, NAN, NAN, 0};
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++)
        for (int k = 0; k <= 6; k++)
            for (int sign = 1; sign >= (k ? -1 : 1); sign -= 2)
                for (int own = 1; own >= 0; own--)
                    try_point(objective, run, choice, exp2(0.5 * k * sign), shares[s], own, &best);
    return best;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "paper";
    const char *regulariser = argc > 4 ? argv[4] : "ridge";
    double eps = argc > 2 ? atof(argv[2]) : 0.5, tolerance = argc > 3 ? atof(argv[3]) : 1e-5;
    int seeds = argc > 5 ? atoi(argv[5]) : 1;
    double automatic[SEEDS_MAX], grid[SEEDS_MAX];
    if (seeds < 1 || seeds > SEEDS_MAX)
        return 2;
    for (int seed = 0; seed < seeds; seed++) {
        fplt_error error;
        fplt_auto choice;
        fplt_objective *objective;
        fplt_dataset *dataset = find_data(name, (uint64_t)seed);
        fplt_objective_settings cost = fplt_objective_defaults();
        cost.weight = eps;
        cost.regulariser = regulariser;
        must(fplt_objective_create(&cost, dataset, &objective, &error), &error);
        fplt_run_settings run = fplt_run_defaults(), chosen;
        run.tolerance = tolerance;
        if (argc > 6)
            run.algorithm = fplt_algorithm_find(argv[6]);
        if (!run.algorithm)
            return 2;
        must(fplt__auto_resolve(objective, &run, &choice, &error), &error);
        chosen = run;
        fplt__auto_apply(&choice, &chosen);
        automatic[seed] = (double)count(objective, &chosen, ROUNDS);
        struct best best = search(objective, &run, &choice);
        grid[seed] = (double)best.rounds;
        printf("%s eps %g %s to %g, seed %d: auto %g, grid %g (rho x %.3g, step x %g of %s)\n%s\n",
               name, eps, regulariser, tolerance, seed, automatic[seed], grid[seed], best.factor,
               best.share, best.own ? "its own" : "the common", choice.about_rho);
        fflush(stdout);
        fplt__auto_clear(&choice);
        fplt_objective_destroy(objective);
        fplt_dataset_destroy(dataset);
    }
    double a = median(automatic, seeds), g = median(grid, seeds), allowed = fmax(1.25 * g, g + 2);
    printf("median: auto %g, grid %g, allowed %g: %s\n", a, g, allowed,
           a <= allowed ? "held" : "missed");
    return a > allowed;
}
