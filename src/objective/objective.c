/* The public functions: each asks the kind of the objective. */
#include "objective/objective.h"

#include "base/memory.h"
#include "objective/objective_access.h"

void fplt_objective_destroy(fplt_objective *objective)
{
    if (!objective)
        return;
    objective->kind->destroy(objective);
    fplt__free(objective);
}

size_t fplt_objective_dimension(const fplt_objective *objective)
{
    return objective->dimension;
}

uint32_t fplt_objective_agents(const fplt_objective *objective)
{
    return objective->agents;
}

size_t fplt_objective_records(const fplt_objective *objective, uint32_t agent)
{
    return objective->kind->records(objective, agent);
}

fplt_status fplt__objective_count_records(fplt_objective *objective, fplt_error *error)
{
    for (uint32_t i = 0; i < objective->agents; i++) {
        size_t records = fplt_objective_records(objective, i);
        if (!records || records > UINT32_MAX)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "agent %u has %zu records, but it must be 1 to %u", i, records,
                                  UINT32_MAX);
        if (records > objective->most_records)
            objective->most_records = records;
    }
    return FPLT_OK;
}

size_t fplt__objective_most_records(const fplt_objective *objective)
{
    return objective->most_records;
}

size_t fplt__objective_parts(const fplt_objective *objective)
{
    return objective->parts > 1 ? objective->parts : 1;
}

void fplt__objective_approach(const fplt_objective *objective, uint32_t agent, int soon)
{
    enum { LINE = 64, LINES = 16 };
    if (!objective->place || agent >= objective->agents)
        return;
    if (!soon) {
        __builtin_prefetch(&objective->place[agent]);
        return;
    }
    const fplt__matrix matrix = fplt__matrix_of(objective, agent), *a = &matrix;
    const char *from = a->layout == FPLT_SPARSE ? (const char *)a->column
                       : a->narrow              ? (const char *)a->narrow
                                                : (const char *)a->dense;
    size_t bytes =
        fplt__matrix_padded(a, a->rows) * a->stride * (a->narrow ? sizeof(float) : sizeof(double));
    for (size_t k = 0; k < LINES && k * LINE < bytes; k++)
        __builtin_prefetch(from + k * LINE);
}

size_t fplt__objective_intercepts(const fplt_objective *objective)
{
    return objective->intercepts;
}

size_t fplt__objective_unpenalised(const fplt_objective *objective)
{
    return objective->intercepts + objective->shared;
}

double fplt__objective_pull(const fplt_objective *objective, uint32_t agent)
{
    const fplt__penalty *penalty = &objective->penalty;
    int is_linear = penalty->kind && penalty->kind->least == penalty->kind->most && !penalty->units;
    return is_linear ? objective->place[agent].scale * penalty->weight * penalty->kind->least : 0;
}

int fplt__objective_is_quadratic(const fplt_objective *objective)
{
    return objective->quadratic;
}

fplt__bending fplt__objective_bending(const fplt_objective *objective)
{
    return objective->quadratic                         ? FPLT__BENDS_EQUALLY
           : objective->loss && objective->loss->kinked ? FPLT__BENDS_IN_JUMPS
                                                        : FPLT__BENDS_SMOOTHLY;
}

const char *fplt__objective_precision(const fplt_objective *objective)
{
    return objective->narrow ? "float32" : "double";
}

const char *fplt__objective_kernel(const fplt_objective *objective)
{
    return objective->kernel->name;
}

const fplt__kernel *fplt__objective_arithmetic(const fplt_objective *objective)
{
    return objective->kernel;
}

int fplt__objective_has_batches(const fplt_objective *objective)
{
    return objective->kind->has_batches(objective);
}

size_t fplt_objective_scratch(const fplt_objective *objective)
{
    return objective->scratch;
}

fplt_status fplt_objective_value(const fplt_objective *objective, uint32_t agent, const double *x,
                                 double *value, double *scratch)
{
    return objective->kind->value_gradient(objective, agent, x, value, NULL, scratch);
}

fplt_status fplt_objective_gradient(const fplt_objective *objective, uint32_t agent,
                                    const double *x, double *gradient, double *scratch)
{
    return objective->kind->value_gradient(objective, agent, x, NULL, gradient, scratch);
}

fplt_status fplt_objective_value_gradient(const fplt_objective *objective, uint32_t agent,
                                          const double *x, double *value, double *gradient,
                                          double *scratch)
{
    return objective->kind->value_gradient(objective, agent, x, value, gradient, scratch);
}

fplt_status fplt__objective_batch_gradient(const fplt_objective *objective, uint32_t agent,
                                           const double *x, const uint32_t *rows, size_t count,
                                           double *gradient, double *scratch)
{
    return objective->kind->batch_gradient(objective, agent, x, rows, count, gradient, scratch);
}

fplt_status fplt__objective_hessian_times(const fplt_objective *objective, uint32_t agent,
                                          const double *x, const double *v, double *product,
                                          double *scratch)
{
    return objective->kind->hessian_times(objective, agent, x, v, product, scratch);
}

fplt_status fplt__objective_hessian(const fplt_objective *objective, uint32_t agent,
                                    const double *x, double *hessian, double *scratch)
{
    return objective->kind->hessian(objective, agent, x, hessian, scratch);
}

fplt_status fplt__objective_triangle(const fplt_objective *objective, uint32_t agent,
                                     const double *x, double *triangle, double *scratch)
{
    return objective->kind->triangle
               ? objective->kind->triangle(objective, agent, x, triangle, scratch)
               : FPLT_UNSUPPORTED;
}

fplt_status fplt__objective_list_triangle(const fplt_objective *objective, uint32_t agent,
                                          const double *x, double *zeros, fplt__places *places,
                                          double *scratch)
{
    places->count = 0;
    return objective->kind->list_triangle
               ? objective->kind->list_triangle(objective, agent, x, zeros, places, scratch)
               : FPLT_UNSUPPORTED;
}

fplt_status fplt__objective_loss_hessian(const fplt_objective *objective, uint32_t agent,
                                         const double *x, double *hessian, double *scratch)
{
    if (!objective->kind->loss_hessian)
        return FPLT_UNSUPPORTED;
    return objective->kind->loss_hessian(objective, agent, x, hessian, scratch);
}

fplt_status fplt_objective_curvature(const fplt_objective *objective, uint32_t agent, int how,
                                     fplt_curvature *curvature, fplt_error *error)
{
    if (agent >= objective->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE, "there is no agent %u: the last is %u", agent,
                              objective->agents - 1);
    return objective->kind->curvature(objective, agent, how, curvature, error);
}

fplt_status fplt__objective_curvatures(const fplt_objective *objective, uint32_t first,
                                       uint32_t count, int how, fplt_curvature *curvatures,
                                       fplt_error *error)
{
    for (uint32_t done = 0; done < count;) {
        uint32_t left = count - done, some = left < FPLT_BATCHED ? left : FPLT_BATCHED;
        if (some < FPLT_BATCHED || how == FPLT_CURVATURE_BOUND ||
            !fplt__records_curvatures(objective, first + done, curvatures + done))
            for (uint32_t i = 0; i < some; i++) {
                fplt_status status = fplt_objective_curvature(objective, first + done + i, how,
                                                              &curvatures[done + i], error);
                if (status)
                    return status;
            }
        done += some;
    }
    return FPLT_OK;
}

fplt_status fplt__objective_hits(const fplt_objective *objective, uint32_t agent, const double *x,
                                 size_t *hits, double *scratch)
{
    int classifies;
    fplt_status status =
        objective->kind->measure(objective, agent, x, NULL, NULL, hits, &classifies, scratch);
    return status || classifies ? status : FPLT_UNSUPPORTED;
}

fplt_status fplt__objective_measure(const fplt_objective *objective, uint32_t agent,
                                    const double *x, double *value, double *gradient, size_t *hits,
                                    int *classifies, double *scratch)
{
    return objective->kind->measure(objective, agent, x, value, gradient, hits, classifies,
                                    scratch);
}
