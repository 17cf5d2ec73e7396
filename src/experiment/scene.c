/* Problems for experiments, and order statistics. */
#include "experiment/scene.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

fplt_status fplt__curvatures_find(const fplt_objective *objective, fplt_curvature **curvatures,
                                  fplt_error *error)
{
    uint32_t agents = fplt_objective_agents(objective);
    fplt_status status =
        fplt__alloc_into(curvatures, agents, sizeof **curvatures, "curvatures", error);
    for (uint32_t i = 0; !status && i < agents; i++)
        status = fplt_objective_curvature(objective, i, 0, &(*curvatures)[i], error);
    return status;
}

fplt_status fplt__scene_make(const fplt_generate_settings *data,
                             const fplt_objective_settings *cost, fplt__scene *scene,
                             fplt_error *error)
{
    fplt_dataset *dataset;
    *scene = (fplt__scene){NULL, NULL};
    fplt_status status = fplt_dataset_generate(data, &dataset, error);
    if (status)
        return status;
    status = fplt_objective_create(cost, dataset, &scene->objective, error);
    fplt_dataset_destroy(dataset);
    if (!status)
        status = fplt__curvatures_find(scene->objective, &scene->curvatures, error);
    if (status)
        fplt__scene_clear(scene);
    return status;
}

void fplt__scene_clear(fplt__scene *scene)
{
    fplt_objective_destroy(scene->objective);
    fplt__free(scene->curvatures);
    *scene = (fplt__scene){NULL, NULL};
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void fplt__sort(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, ascending);
}

double fplt__quantile(const double *sorted, size_t count, double share)
{
    if (!count)
        return NAN;
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    if (part == 0 || below + 1 == count)
        return sorted[below];
    if (isinf(sorted[below + 1]))
        return sorted[below + 1];
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}
