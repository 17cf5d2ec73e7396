/* What is measured of a run: the criterion, objective and hits at a point, over all agents. */
#include <math.h>

#include "engine/engine.h"
#include "engine/member.h"

double fplt__squared_norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += x[j] * x[j];
    return sum;
}

/* ||x - prox_{t h}(x - t g)||^2/t^2 with t = 1/(N lmax); ||g||^2 where h = 0. */
static fplt_status criterion(fplt_engine *engine, const double *x, const double *gradient,
                             double *value)
{
    size_t n = engine->plan.dimension;
    if (fplt_prox_is_zero(engine->prox)) {
        *value = fplt__squared_norm(gradient, n);
        return FPLT_OK;
    }
    double t = 1 / (engine->plan.agents * engine->facts.curvature.highest);
    double *moved = engine->wide + n + FPLT__MEASURES;
    for (size_t j = 0; j < n; j++)
        moved[j] = x[j] - t * gradient[j];
    fplt_status status = fplt_prox_apply(engine->prox, t, moved, moved);
    for (size_t j = 0; j < n; j++)
        moved[j] = (x[j] - moved[j]) / t;
    *value = fplt__squared_norm(moved, n);
    return status;
}

fplt_status fplt_engine_measure_at(fplt_engine *engine, const double *x, fplt_measure *measure,
                                   fplt_error *error)
{
    size_t n = engine->plan.dimension;
    fplt_sum_clear(engine->sum);
    fplt_status status = engine->fleet->verbs->evaluate(engine->fleet, x, engine->sum, error);
    if (status)
        return status;
    double *sums = engine->wide, common;
    fplt_sum_read(engine->sum, 0, sums, n + FPLT__MEASURES);
    if ((status = fplt_prox_value(engine->prox, x, &common)) ||
        (status = criterion(engine, x, sums, &measure->criterion)))
        return fplt_error_set(error, status, "the proximal operator failed");
    measure->objective = sums[n] + common;
    measure->hits = (uint64_t)sums[n + 1];
    measure->records = (uint64_t)sums[n + 2];
    measure->classifies = sums[n + 3] > 0;
    if (!isfinite(measure->criterion))
        return fplt_error_set(error, FPLT_DIVERGED, "the criterion is not finite");
    return FPLT_OK;
}

fplt_status fplt_engine_mean(fplt_engine *engine, double *x)
{
    int vector = engine->hub->shape.local_model;
    if (vector < 0)
        return fplt_hub_model(engine->hub, x);
    size_t n = engine->plan.dimension;
    fplt_sum_clear(engine->sum);
    fplt_status status =
        engine->fleet->verbs->total(engine->fleet, (unsigned)vector, 1, engine->sum);
    fplt_sum_read(engine->sum, 0, x, n);
    for (size_t j = 0; j < n; j++)
        x[j] /= engine->plan.agents;
    return status;
}

fplt_status fplt_engine_measure(fplt_engine *engine, fplt_measure *measure, fplt_error *error)
{
    fplt_status status = fplt_engine_mean(engine, engine->point);
    if (status)
        return fplt_error_set(error, status, "the agents' models are out of range");
    return fplt_engine_measure_at(engine, engine->point, measure, error);
}
