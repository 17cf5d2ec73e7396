/* What is measured of a run: the criterion, objective and hits at a point, over all agents. */
#include <math.h>

#include "engine/engine.h"
#include "engine/measure.h"
#include "engine/member.h"

double fplt__squared_norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += x[j] * x[j];
    return sum;
}

fplt_status fplt__criterion(const fplt_prox *prox, uint32_t agents, double highest, const double *x,
                            const double *gradient, size_t n, double *moved, double *value)
{
    if (fplt_prox_is_zero(prox)) {
        *value = fplt__squared_norm(gradient, n);
        return FPLT_OK;
    }
    double t = 1 / (agents * highest);
    for (size_t j = 0; j < n; j++)
        moved[j] = x[j] - t * gradient[j];
    fplt_status status = fplt_prox_apply(prox, t, moved, moved);
    for (size_t j = 0; j < n; j++)
        moved[j] = (x[j] - moved[j]) / t;
    *value = fplt__squared_norm(moved, n);
    return status;
}

fplt_status fplt__measure_read(const fplt_prox *prox, uint32_t agents, double highest,
                               const double *x, const double *sums, size_t n, double *work,
                               fplt_measure *measure, fplt_error *error)
{
    double common;
    fplt_status status;
    if ((status = fplt_prox_value(prox, x, &common)) ||
        (status = fplt__criterion(prox, agents, highest, x, sums, n, work, &measure->criterion)))
        return fplt_error_set(error, status, "the proximal operator failed");
    measure->objective = sums[n] + common;
    measure->hits = (uint64_t)sums[n + 1];
    measure->records = (uint64_t)sums[n + 2];
    measure->classifies = sums[n + 3] > 0;
    if (!isfinite(measure->criterion))
        return fplt_error_set(error, FPLT_DIVERGED, "the criterion is not finite");
    return FPLT_OK;
}

int fplt__has_stalled(const fplt__stopping *stopping, uint32_t active, double moved, double size)
{
    return stopping->change > 0 && active && moved <= stopping->change * fmax(1, size);
}

int fplt__is_due(const fplt__stopping *stopping, uint64_t round, int started, int stalled)
{
    uint32_t every = stopping->evaluate_every;
    return !stopping->blind &&
           (stalled || !started || round >= stopping->rounds || (every && round % every == 0));
}

fplt_outcome fplt__judge(const fplt__stopping *stopping, uint64_t round,
                         const fplt_measure *measure, double start_criterion, int stalled,
                         fplt_error *error)
{
    double target = stopping->tolerance * (stopping->relative ? start_criterion : 1);
    if (measure && stopping->tolerance > 0 && measure->criterion <= target)
        return FPLT_CONVERGED;
    if (measure && measure->criterion > 1e16 * fmax(1, start_criterion)) {
        fplt_error_set(error, FPLT_DIVERGED, "the criterion grew from %.3g to %.3g",
                       start_criterion, measure->criterion);
        return FPLT_RUN_DIVERGED;
    }
    if (stalled)
        return FPLT_STALLED;
    return round >= stopping->rounds ? FPLT_ROUNDS_DONE : FPLT_RUNNING;
}

fplt_status fplt_engine_measure_at(fplt_engine *engine, const double *x, fplt_measure *measure,
                                   fplt_error *error)
{
    size_t n = engine->plan.dimension;
    fplt_sum_clear(engine->sum);
    fplt_status status = engine->fleet->verbs->evaluate(engine->fleet, x, engine->sum, error);
    if (status)
        return status;
    double *sums = engine->wide;
    fplt_sum_read(engine->sum, 0, sums, n + FPLT_MEASURES);
    return fplt__measure_read(engine->prox, engine->plan.agents, engine->facts.curvature.highest, x,
                              sums, n, sums + n + FPLT_MEASURES, measure, error);
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
