/* What is measured of a run: the criterion, objective and hits at a point, over all agents. */
#include <string.h>

#include "base/sum.h"
#include "engine/engine.h"
#include "engine/engine_access.h"
#include "engine/hub_node.h"
#include "engine/member.h"

const fplt__sum *fplt__engine_found(const fplt_engine *engine, const double *x)
{
    return engine->finds &&
                   !memcmp(x, engine->found_at, engine->plan.dimension * sizeof *engine->found_at)
               ? engine->found
               : NULL;
}

/* Into engine->sum. */
static fplt_status evaluate(fplt_engine *engine, const double *x, fplt_error *error)
{
    size_t n = engine->plan.dimension;
    const fplt__sum *found = fplt__engine_found(engine, x);
    fplt__sum_clear(engine->sum);
    if (found)
        return fplt__sum_add_part(engine->sum, 0, found, 0, n + FPLT__MEASURES);
    fplt_status status = engine->fleet->verbs->evaluate(engine->fleet, x, engine->sum, error);
    if (status || !engine->found)
        return status;
    fplt__sum_clear(engine->found);
    memcpy(engine->found_at, x, n * sizeof *x);
    status = fplt__sum_add_part(engine->found, 0, engine->sum, 0, n + FPLT__MEASURES);
    engine->finds = !status;
    return status;
}

fplt_status fplt__engine_measure_at(fplt_engine *engine, const double *x, fplt_measure *measure,
                                    fplt_error *error)
{
    size_t n = engine->plan.dimension;
    fplt_status status = evaluate(engine, x, error);
    if (status)
        return status;
    double *sums = engine->wide;
    fplt__sum_read(engine->sum, 0, sums, n + FPLT__MEASURES);
    return fplt__measure_read(engine->prox, engine->plan.agents, engine->facts.curvature.highest, x,
                              sums, n, sums + n + FPLT__MEASURES, measure, error);
}

fplt_status fplt_engine_mean(fplt_engine *engine, double *x)
{
    int vector = engine->hub->shape.local_model;
    if (vector < 0)
        return fplt_hub_model(engine->hub, x);
    size_t n = engine->plan.dimension;
    fplt__sum_clear(engine->sum);
    fplt_status status =
        engine->fleet->verbs->total(engine->fleet, (unsigned)vector, 1, engine->sum, NULL);
    fplt__sum_read(engine->sum, 0, x, n);
    for (size_t j = 0; j < n; j++)
        x[j] /= engine->plan.agents;
    return status;
}

fplt_status fplt_engine_measure(fplt_engine *engine, fplt_measure *measure, fplt_error *error)
{
    fplt_status status = engine->settings.at_model ? fplt_hub_model(engine->hub, engine->point)
                                                   : fplt_engine_mean(engine, engine->point);
    if (status)
        return fplt_error_set(error, status, "the agents' models are out of range");
    return fplt__engine_measure_at(engine, engine->point, measure, error);
}
