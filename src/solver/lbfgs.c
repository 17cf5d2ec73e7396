/* L-BFGS on d by way of libLBFGS; it allocates in every call. */
#include "solver/solver.h"

#include <limits.h>
#include <string.h>

#include <lbfgs.h>

struct task {
    fplt_local *local;
    const double *start;    /* w at the start */
    const double *at_start; /* gradient of d there */
    double value;           /* d there */
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
    return 3 * padded(fplt_objective_dimension(objective));
}

/* d(w) - d(start). Close to the start the difference of two values is all rounding error, and the
 * line search would stop short of the minimiser: there the trapezoid rule along the segment,
 * <g(w) + g(start), w - start>/2, is exact to third order and keeps its digits. */
static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *w, lbfgsfloatval_t *gradient,
                                const int count, const lbfgsfloatval_t step)
{
    (void)step;
    struct task *task = instance;
    double value;
    fplt_status status = fplt_local_value_gradient(task->local, w, &value, gradient);
    if (status)
        task->status = status;
    for (size_t j = task->dimension; j < (size_t)count; j++)
        gradient[j] = 0;
    double moved = 0, size = 0, trapezoid = 0;
    for (size_t j = 0; j < task->dimension; j++) {
        double change = w[j] - task->start[j];
        moved += change * change;
        size += task->start[j] * task->start[j];
        trapezoid += 0.5 * (gradient[j] + task->at_start[j]) * change;
    }
    return moved < 1e-6 * (1 + size) ? trapezoid : value - task->value;
}

static fplt_status run(fplt_local *local, double *w, fplt_error *error)
{
    size_t n = fplt_objective_dimension(local->problem.objective), room = padded(n);
    double *point = fplt_local_work(local), *start = point + room, *at_start = start + room;
    memset(point, 0, 3 * room * sizeof *point);
    memcpy(point, w, n * sizeof *w);
    memcpy(start, w, n * sizeof *w);
    struct task task = {local, start, at_start, 0, n, FPLT_OK};
    task.status = fplt_local_value_gradient(local, w, &task.value, at_start);
    if (!task.status && (task.status = fplt__check_finite(at_start, n, error)))
        return task.status;

    lbfgs_parameter_t parameter;
    lbfgs_parameter_init(&parameter);
    parameter.m = (int)local->training.memory;
    uint32_t epochs = local->training.epochs;
    parameter.max_iterations = epochs < INT_MAX ? (int)epochs : INT_MAX;
    parameter.epsilon = local->training.tolerance;
    /* Any other end than lack of memory leaves the best point found: also the iteration limit, and a
     * line search that finds nothing lower. */
    int outcome = task.status ? 0 : lbfgs((int)n, point, NULL, evaluate, NULL, &task, &parameter);
    if (outcome == LBFGSERR_OUTOFMEMORY)
        task.status = FPLT_NO_MEMORY;
    if (task.status)
        return fplt_error_set(error, task.status, "L-BFGS of agent %u failed", local->identity);
    memcpy(w, point, n * sizeof *w);
    return fplt__check_finite(w, n, error);
}

const fplt_solver fplt__solver_lbfgs = {
    .size = sizeof(fplt_solver),
    .name = "lbfgs",
    .help = "limited-memory BFGS, at most N_e iterations",
    .traits = FPLT_MINIMISER,
    .work = lbfgs_work,
    .run = run,
};
