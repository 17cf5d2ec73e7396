/* L-BFGS on d by way of libLBFGS; it allocates in every call. */
#include "solver/solver.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <lbfgs.h>

struct task {
    fplt_local *local;
    const double *start;    /* w at the start */
    const double *at_start; /* gradient of d there */
    double value;           /* d there */
    double scale;           /* of the variables that the library sees: w = start + scale y */
    double *point;          /* w */
    double *last;           /* gradient of d at the last iterate, in w */
    size_t dimension;
    fplt_status status;
};

/* libLBFGS may round the dimension up to whole vector registers. */
static size_t padded(size_t n)
{
    return (n + 15) / 16 * 16;
}

static size_t lbfgs_work(const fplt_objective *objective, const fplt_training *training)
{
    (void)training;
    return 5 * padded(fplt_objective_dimension(objective));
}

/* d(w) - d(start). Close to the start the difference of two values is all rounding error, and the
 * line search would stop short of the minimiser: there the trapezoid rule along the segment,
 * <g(w) + g(start), w - start>/2, is exact to third order and keeps its digits. */
static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *y, lbfgsfloatval_t *gradient,
                                const int count, const lbfgsfloatval_t step)
{
    (void)step;
    struct task *task = instance;
    double value;
    for (size_t j = 0; j < task->dimension; j++)
        task->point[j] = task->start[j] + task->scale * y[j];
    fplt_status status = fplt_local_value_gradient(task->local, task->point, &value, gradient);
    if (status)
        task->status = status;
    for (size_t j = task->dimension; j < (size_t)count; j++)
        gradient[j] = 0;
    double moved = 0, size = 0, trapezoid = 0;
    for (size_t j = 0; j < task->dimension; j++) {
        double change = task->point[j] - task->start[j];
        moved += change * change;
        size += task->start[j] * task->start[j];
        trapezoid += 0.5 * (gradient[j] + task->at_start[j]) * change;
        gradient[j] *= task->scale;
    }
    return moved < 1e-6 * (1 + size) ? trapezoid : value - task->value;
}

/* After every iteration; the library ends where this is not 0. */
static int is_there(void *instance, const lbfgsfloatval_t *y, const lbfgsfloatval_t *gradient,
                    const lbfgsfloatval_t value, const lbfgsfloatval_t size,
                    const lbfgsfloatval_t norm, const lbfgsfloatval_t step, int count,
                    int iteration, int evaluations)
{
    const struct task *task = instance;
    (void)y, (void)value, (void)size, (void)step, (void)count, (void)iteration, (void)evaluations;
    for (size_t j = 0; j < task->dimension; j++)
        task->last[j] = gradient[j] / task->scale;
    return norm <= task->scale * task->local->training.tolerance;
}

static double norm_of(const double *v, size_t n)
{
    double square = 0;
    for (size_t j = 0; j < n; j++)
        square += v[j] * v[j];
    return sqrt(square);
}

/* The gradient step 1/M, M the curvature of d; 0 where that is not known. */
static double gradient_step(const fplt_local *local)
{
    double whole = local->curvature.highest + local->problem.inverse_rho;
    return whole > 0 && isfinite(whole) ? 1 / whole : 0;
}

/* The library's first trial has length 1 in y. In units of ||grad d||/M it is the gradient step: a trial of
 * length 1 in w is cut down until d is lower by however little, and one iteration a round then never
 * arrives. */
static double unit(const fplt_local *local, double norm)
{
    double step = gradient_step(local);
    return step > 0 ? norm * step : 1;
}

static fplt_status run_lbfgs(fplt_local *local, double *w, fplt_error *error)
{
    size_t n = fplt_objective_dimension(local->problem.objective), room = padded(n);
    double *point = fplt_local_work(local), *start = point + room, *at_start = start + room,
           *y = at_start + room, *last = y + room;
    memset(point, 0, 5 * room * sizeof *point);
    memcpy(start, w, n * sizeof *w);
    struct task task = {local, start, at_start, 0, 1, point, last, n, FPLT_OK};
    task.status = fplt_local_value_gradient(local, w, &task.value, at_start);
    if (!task.status && (task.status = fplt__check_finite(at_start, n, error)))
        return task.status;
    double norm = norm_of(at_start, n);
    if (!task.status && norm <= local->training.tolerance)
        return FPLT_OK;
    task.scale = unit(local, norm);
    memcpy(last, at_start, n * sizeof *last);

    lbfgs_parameter_t parameter;
    lbfgs_parameter_init(&parameter);
    parameter.m = (int)local->training.memory;
    uint32_t epochs = local->training.epochs;
    parameter.max_iterations = epochs < INT_MAX ? (int)epochs : INT_MAX;
    parameter.epsilon = 0;
    parameter.gtol = 0.1; /* a looser search may overshoot by nearly as much as it came from */
    /* Any other end than lack of memory leaves the best point found: also the iteration limit, and a
     * line search that finds nothing lower. */
    int outcome = task.status ? 0 : lbfgs((int)n, y, NULL, evaluate, is_there, &task, &parameter);
    if (outcome == LBFGSERR_OUTOFMEMORY)
        task.status = FPLT_NO_MEMORY;
    if (task.status)
        return fplt_error_set(error, task.status, "L-BFGS of agent %u failed", local->member_index);
    /* An iteration lowers d, but may overshoot where it curves most, and a few of them a round then go
     * around the minimiser for ever. The gradient step, which needs nothing new, takes that away. */
    double step = gradient_step(local);
    for (size_t j = 0; j < n; j++)
        w[j] = start[j] + task.scale * y[j] - step * last[j];
    return fplt__check_finite(w, n, error);
}

const fplt_solver fplt__solver_lbfgs = {
    .size = sizeof(fplt_solver),
    .name = "lbfgs",
    .help = "limited-memory BFGS, at most N_e iterations",
    .traits = FPLT_MINIMISER,
    .work = lbfgs_work,
    .run = run_lbfgs,
};
