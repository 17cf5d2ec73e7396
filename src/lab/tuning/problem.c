/* Problems for experiments, and order statistics. */
#include "lab/tuning/problem.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "engine/agents_map.h"

fplt_status fplt__curvatures_find(const fplt_objective *objective, fplt_curvature **curvatures,
                                  fplt_error *error)
{
    uint32_t agents = fplt_objective_agents(objective);
    fplt_status status =
        fplt__alloc_into(curvatures, agents, sizeof **curvatures, "curvatures", error);
    return status ? status
                  : fplt__agents_map_curvature(NULL, objective, FPLT_CURVATURE_CLOSE, 1,
                                               *curvatures, error);
}

fplt_status fplt__tuning_problem_make(const fplt_generate_settings *data,
                                      const fplt_objective_settings *cost,
                                      fplt__tuning_problem *scene, fplt_error *error)
{
    fplt_dataset *dataset;
    *scene = (fplt__tuning_problem){NULL, NULL};
    fplt_status status = fplt_dataset_generate(data, &dataset, error);
    if (status)
        return status;
    status = fplt_objective_create(cost, dataset, &scene->objective, error);
    fplt_dataset_destroy(dataset);
    if (!status)
        status = fplt__curvatures_find(scene->objective, &scene->curvatures, error);
    if (status)
        fplt__tuning_problem_clear(scene);
    return status;
}

void fplt__tuning_problem_clear(fplt__tuning_problem *scene)
{
    fplt_objective_destroy(scene->objective);
    fplt__free(scene->curvatures);
    *scene = (fplt__tuning_problem){NULL, NULL};
}
