/* The generated problems that benchmarks run on, and the end of one that cannot. */
#ifndef FPLT_BENCH_PROBLEM_H
#define FPLT_BENCH_PROBLEM_H

#include <stdio.h>
#include <stdlib.h>

#include "fedplt.h"
#include "fedplt/generate.h"

static inline void check(fplt_status status, const fplt_error *error)
{
    if (status) {
        fprintf(stderr, "%s\n", error->text);
        exit(1);
    }
}

/* The kernel that the environment names (KERNEL=avx2), NULL where the shape of the data chooses. */
static inline const char *named_kernel(void)
{
    return getenv("KERNEL");
}

/* A cost over so many generated records an agent. */
static inline fplt_objective *cost_with(const fplt_objective_settings *cost, uint32_t agents,
                                        size_t rows, size_t features)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_generate_settings data = fplt_generate_defaults();
    data.agents = agents;
    data.rows = rows;
    data.features = features;
    check(fplt_dataset_generate(&data, &dataset, &error), &error);
    check(fplt_objective_create(cost, dataset, &objective, &error), &error);
    fplt_dataset_destroy(dataset);
    return objective;
}

/* The paper's cost. */
static inline fplt_objective *cost_of(uint32_t agents, size_t rows, size_t features)
{
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.kernel = named_kernel();
    return cost_with(&cost, agents, rows, features);
}

#endif
