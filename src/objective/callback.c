/* An objective by the user's own functions. What he does not give is made from what he gives:
 * second derivatives from central differences of the gradient, the curvature from those at the
 * origin. */
#include "objective/objective.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

static fplt_status outcome(int failed)
{
    return failed ? FPLT_FAILED : FPLT_OK;
}

static void destroy(fplt_objective *o)
{
    (void)o;
}

static size_t records(const fplt_objective *o, uint32_t agent)
{
    return o->callbacks.records ? o->callbacks.records(o->callbacks.context, agent) : 1;
}

static int has_batches(const fplt_objective *o)
{
    return o->callbacks.batch_gradient != NULL;
}

/* What the user gives apart is asked for apart; `room` has a vector for what nobody wants. */
static fplt_status value_gradient(const fplt_objective *o, uint32_t agent, const double *x,
                                  double *value, double *gradient, double *room)
{
    const fplt_objective_callbacks *user = &o->callbacks;
    double unwanted;
    int apart = (!value || user->value) && (!gradient || user->gradient);
    if (user->value_gradient && ((value && gradient) || !apart))
        return outcome(user->value_gradient(user->context, agent, x, value ? value : &unwanted,
                                            gradient ? gradient : room));
    return outcome((value && user->value(user->context, agent, x, value)) ||
                   (gradient && user->gradient(user->context, agent, x, gradient)));
}

static fplt_status batch_gradient(const fplt_objective *o, uint32_t agent, const double *x,
                                  const uint32_t *rows, size_t count, double *gradient,
                                  double *scratch)
{
    (void)scratch;
    const fplt_objective_callbacks *user = &o->callbacks;
    if (!user->batch_gradient)
        return FPLT_UNSUPPORTED;
    return outcome(user->batch_gradient(user->context, agent, x, rows, count, gradient));
}

static double largest_entry(const double *x, size_t count)
{
    double largest = 0;
    for (size_t j = 0; j < count; j++)
        largest = fmax(largest, fabs(x[j]));
    return largest;
}

/* (gradient(x + t v) - gradient(x - t v)) / 2t, with t v about the cube root of the rounding times
 * the size of x: where rounding and the third derivative err alike. */
static fplt_status differences(const fplt_objective *o, uint32_t agent, const double *x,
                               const double *v, double *product, double *scratch)
{
    double *point = scratch, *other = scratch + o->dimension;
    double longest = largest_entry(v, o->dimension);
    memset(product, 0, o->dimension * sizeof *product);
    if (longest == 0)
        return FPLT_OK;
    double t = cbrt(DBL_EPSILON) * fmax(1, largest_entry(x, o->dimension)) / longest;
    for (size_t j = 0; j < o->dimension; j++)
        point[j] = x[j] + t * v[j];
    if (value_gradient(o, agent, point, NULL, product, NULL))
        return FPLT_FAILED;
    for (size_t j = 0; j < o->dimension; j++)
        point[j] = x[j] - t * v[j];
    if (value_gradient(o, agent, point, NULL, other, NULL))
        return FPLT_FAILED;
    for (size_t j = 0; j < o->dimension; j++)
        product[j] = (product[j] - other[j]) / (2 * t);
    return FPLT_OK;
}

static fplt_status hessian_times(const fplt_objective *o, uint32_t agent, const double *x,
                                 const double *v, double *product, double *scratch)
{
    const fplt_objective_callbacks *user = &o->callbacks;
    if (!user->hessian_times)
        return differences(o, agent, x, v, product, scratch);
    return outcome(user->hessian_times(user->context, agent, x, v, product));
}

static fplt_status whole_hessian(const fplt_objective *o, uint32_t agent, const double *x,
                                 double *hessian, double *scratch)
{
    size_t n = o->dimension;
    double *unit = scratch + 2 * n;
    memset(unit, 0, n * sizeof *unit);
    for (size_t j = 0; j < n; j++) {
        unit[j] = 1;
        fplt_status status = hessian_times(o, agent, x, unit, hessian + j * n, scratch);
        if (status)
            return status;
        unit[j] = 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double middle = (hessian[i * n + j] + hessian[j * n + i]) / 2;
            hessian[i * n + j] = hessian[j * n + i] = middle;
        }
    return FPLT_OK;
}

static fplt_status curvature_of(const fplt_objective *o, uint32_t agent, int how,
                                fplt_curvature *curvature, fplt_error *error)
{
    (void)how;
    const fplt_objective_callbacks *user = &o->callbacks;
    if (!user->curvature)
        return fplt_objective_probe(o, agent, NULL, curvature, error);
    user->curvature(user->context, agent, &curvature->lowest, &curvature->highest);
    if (isfinite(curvature->lowest) && isfinite(curvature->highest) && curvature->highest > 0 &&
        curvature->lowest <= curvature->highest)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "the curvature callback gave %g .. %g for agent %u, but it must be "
                          "finite, the highest above 0 and not below the lowest",
                          curvature->lowest, curvature->highest, agent);
}

static fplt_status measure(const fplt_objective *o, uint32_t agent, const double *x, double *value,
                           double *gradient, size_t *hits, int *classifies, double *scratch)
{
    const fplt_objective_callbacks *user = &o->callbacks;
    *hits = 0;
    *classifies = user->hits != NULL;
    fplt_status status =
        value || gradient ? value_gradient(o, agent, x, value, gradient, scratch) : FPLT_OK;
    if (status || !user->hits)
        return status;
    return outcome(user->hits(user->context, agent, x, hits));
}

static const fplt__objective_kind by_callbacks = {
    .destroy = destroy,
    .records = records,
    .has_batches = has_batches,
    .value_gradient = value_gradient,
    .batch_gradient = batch_gradient,
    .hessian_times = hessian_times,
    .hessian = whole_hessian,
    .curvature = curvature_of,
    .measure = measure,
};

static fplt_status check_callbacks(const fplt_objective_callbacks *user, fplt_error *error)
{
    fplt_status status = FPLT__CHECK_TABLE(fplt_objective_callbacks, user, error);
    if (status)
        return status;
    if (!user->dimension || !user->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "callbacks: dimension is %zu and agents %u, but both must be at "
                              "least 1",
                              user->dimension, user->agents);
    if (!user->value_gradient && (!user->value || !user->gradient))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "callbacks: %s must be given, or value_gradient",
                              user->value ? "gradient" : "value");
    if (user->batch_gradient && !user->records)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "callbacks: batch_gradient needs records, to know what to draw from");
    if (user->record_gradients && !user->records)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "callbacks: record_gradients needs records, to know how many there "
                              "are");
    return FPLT_OK;
}

fplt_status fplt_objective_create_callback(const fplt_objective_callbacks *callbacks,
                                           fplt_objective **objective, fplt_error *error)
{
    fplt_objective *o;
    *objective = NULL;
    fplt_status status = check_callbacks(callbacks, error);
    if (status || (status = fplt__alloc_into(&o, 1, sizeof *o, "an objective", error)))
        return status;
    o->kind = &by_callbacks;
    o->dimension = callbacks->dimension;
    o->agents = callbacks->agents;
    o->scratch = 3 * callbacks->dimension;
    o->callbacks = *callbacks;
    o->kernel = fplt__kernel_for(&(fplt__kernel_shape){.columns = 0}, 0);
    if ((status = fplt__objective_count_records(o, error))) {
        fplt_objective_destroy(o);
        return status;
    }
    *objective = o;
    return FPLT_OK;
}
