/* Rounds of plain and accelerated Fed-PLT, with a step common to all agents and with each agent's own.
 *
 *     build/bench/acceleration [tolerance]
 *
 * From the root of the source tree; data sets that are not there are passed over. rho is auto. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fedplt/tune.h"

struct problem {
    const char *name, *path, *label, *labels; /* path NULL: `name` is a generator */
    size_t features;
    uint32_t shards;
    double spread; /* generated: of the agents' means; large: very different agents */
    double eps;
};

static const struct problem problems[] = {
    {"paper", NULL, NULL, NULL, 5, 0, 1, 0.5},
    {"paper", NULL, NULL, NULL, 5, 0, 1, 0.01},
    {"paper", NULL, NULL, NULL, 5, 0, 4, 0.5},
    {"paper", NULL, NULL, NULL, 5, 0, 4, 0.01},
    {"quadratic", NULL, NULL, NULL, 5, 0, 1, 0},
    {"heart_disease", "../shared/data/heart_disease/heart_disease.csv", "b", NULL, 13, 0, 0, 0.5},
    {"heart_disease", "../shared/data/heart_disease/heart_disease.csv", "b", NULL, 13, 0, 0, 0.01},
    {"a9a", "../shared/data/libsvm_a9a/a9a", NULL, NULL, 123, 100, 0, 0.01},
    {"mushrooms", "../shared/data/libsvm_mushrooms/mushrooms", NULL, "1=1,2=-1", 112, 100, 0, 0.01},
};

static void must(fplt_status status, const fplt_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static fplt_dataset *data_of(const struct problem *problem)
{
    fplt_error error;
    fplt_dataset *dataset, *divided;
    if (!problem->path) {
        fplt_generate_settings data = fplt_generate_defaults();
        data.name = problem->name;
        data.features = problem->features;
        data.spread = problem->spread;
        must(fplt_dataset_generate(&data, &dataset, &error), &error);
        return dataset;
    }
    fplt_read_settings read = fplt_read_defaults();
    fplt_partition_settings partition = fplt_partition_defaults();
    read.label = problem->label;
    read.labels = problem->labels;
    read.features = problem->features;
    read.format = problem->shards ? "libsvm" : NULL;
    must(fplt_dataset_read(&problem->path, 1, &read, &dataset, &error), &error);
    if (!problem->shards)
        return dataset;
    partition.agents = problem->shards;
    must(fplt_dataset_partition(dataset, &partition, &divided, &error), &error);
    fplt_dataset_destroy(dataset);
    return divided;
}

static void report(const fplt_objective *objective, const fplt_auto *choice, const char *algorithm,
                   int own, double memory, double tolerance)
{
    fplt_error error;
    fplt_engine *engine;
    fplt_result result;
    double parameter[FPLT_MOST_PARAMETERS];
    fplt_run_settings run = fplt_run_defaults();
    run.algorithm = fplt_algorithm_find(algorithm);
    fplt_algorithm_defaults(run.algorithm, parameter);
    parameter[0] = choice->parameter[0];
    if (memory > 0)
        parameter[1] = memory;
    run.parameter = parameter;
    if (own)
        run.curvatures = choice->curvatures;
    else
        run.curvature = choice->bend.everywhere;
    run.tolerance = tolerance;
    run.rounds = 5000;
    must(fplt_engine_create(objective, &run, &engine, &error), &error);
    must(fplt_engine_run(engine, NULL, NULL, &result, &error), &error);
    if (result.outcome == FPLT_CONVERGED)
        printf(" %7llu", (unsigned long long)result.counters.rounds);
    else
        printf(" %7s", fplt_outcome_name(result.outcome));
    fflush(stdout);
    fplt_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    double tolerance = argc > 1 ? atof(argv[1]) : 1e-16;
    printf("rounds to %g           plain            accelerated (memory)\n", tolerance);
    printf("%-24s  common     own  common     own    (5)    (20)\n", "");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem *problem = &problems[i];
        fplt_error error;
        fplt_auto choice;
        fplt_objective *objective;
        if (problem->path && access(problem->path, R_OK) != 0)
            continue;
        fplt_dataset *dataset = data_of(problem);
        fplt_objective_settings cost = fplt_objective_defaults();
        fplt_run_settings run = fplt_run_defaults();
        cost.weight = problem->eps;
        if (fplt_dataset_task(dataset) == FPLT_TASK_REGRESSION)
            cost.loss = "least-squares";
        must(fplt_objective_create(&cost, dataset, &objective, &error), &error);
        must(fplt_auto_resolve(objective, &run, &choice, &error), &error);
        printf("%-13s %-4g %5g", problem->name, problem->spread, problem->eps);
        report(objective, &choice, "fed-plt", 0, 0, tolerance);
        report(objective, &choice, "fed-plt", 1, 0, tolerance);
        report(objective, &choice, "fed-plt-anderson", 0, 0, tolerance);
        report(objective, &choice, "fed-plt-anderson", 1, 0, tolerance);
        report(objective, &choice, "fed-plt-anderson", 1, 5, tolerance);
        report(objective, &choice, "fed-plt-anderson", 1, 20, tolerance);
        printf("\n");
        fplt_auto_clear(&choice);
        fplt_objective_destroy(objective);
        fplt_dataset_destroy(dataset);
    }
    return 0;
}
