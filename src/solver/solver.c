/* The registry of solvers, and what they share. */
#include "solver/solver.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "objective/objective_access.h"
#include "theory/theory.h"

static const fplt_solver *const solvers[] = {
    &fplt__solver_gradient, &fplt__solver_accelerated,       &fplt__solver_sgd,
    &fplt__solver_svrg,     &fplt__solver_accelerated_sgd,   &fplt__solver_noisy,
    &fplt__solver_lbfgs,    &fplt__solver_noisy_accelerated, &fplt__solver_newton,
};

const fplt_solver *fplt_solver_list(size_t index)
{
    return index < sizeof solvers / sizeof *solvers ? solvers[index] : NULL;
}

const fplt_solver *fplt_solver_find(const char *name)
{
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
        if (strcmp(solvers[i]->name, name) == 0)
            return solvers[i];
    return NULL;
}

int fplt__solver_has_step(const fplt_solver *solver)
{
    return solver->step || solver->traits & FPLT_PLAIN_STEPS;
}

fplt_training fplt_training_defaults(void)
{
    return (fplt_training){
        .solver = &fplt__solver_gradient,
        .epochs = 5,
        .batch = 32,
        .memory = 6,
    };
}

/* By squaring, so that every machine has the same bits. */
double fplt__decayed_step(const fplt_training *training, double step, uint64_t round)
{
    double factor = training->decay;
    if (!(factor > 0) || factor == 1)
        return step;
    for (; round; round >>= 1, factor *= factor)
        if (round & 1)
            step *= factor;
    return step;
}

/* Doubles rounded up to whole cache lines. */
static size_t lines(size_t count)
{
    return (count + 7) / 8 * 8;
}

size_t fplt__local_scratch(const fplt_objective *objective, const fplt_training *training)
{
    size_t own = training->solver->work ? training->solver->work(objective, training) : 0;
    return lines(fplt_objective_scratch(objective)) + lines(own);
}

size_t fplt__solver_state(const fplt_objective *objective, const fplt_training *training)
{
    return training->solver->state ? training->solver->state(objective, training) : 0;
}

double *fplt_local_work(const fplt_local *local)
{
    return local->scratch + lines(fplt_objective_scratch(local->problem.objective));
}

fplt_status fplt__training_check(const fplt_training *training, const fplt_objective *objective,
                                 fplt_error *error)
{
    const fplt_solver *solver = training->solver;
    if (!solver)
        return fplt_error_set(error, FPLT_BAD_VALUE, "no local solver is given");
    fplt_status status = FPLT__CHECK_TABLE(fplt_solver, solver, error);
    if (status)
        return status;
    if (!solver->name || !solver->run)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the local solver has no %s",
                              solver->name ? "run" : "name");
    if (!training->epochs)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "epochs is 0, but local training needs at least 1");
    if (!(training->step >= 0 && isfinite(training->step)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "gamma is %g, but it must be above 0",
                              training->step);
    if (!(training->decay >= 0 && training->decay <= 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "gamma-decay is %g, but it must be above 0 and at most 1",
                              training->decay);
    if (training->grid > FPLT__GRID_MAX)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "grid-bits is %u, but it must be from 1 to %d, or 0 for exact "
                              "messages",
                              training->grid, FPLT__GRID_MAX);
    if (solver->traits & FPLT_STOCHASTIC && !training->batch)
        return fplt_error_set(error, FPLT_BAD_VALUE, "batch is 0, but %s needs at least 1",
                              solver->name);
    if (solver->traits & FPLT_STOCHASTIC && !fplt__objective_has_batches(objective))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s needs minibatches, but the objective has no batch_gradient",
                              solver->name);
    if (!(training->tolerance >= 0 && isfinite(training->tolerance)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the tolerance of local training is %g, but it must be at least 0",
                              training->tolerance);
    if (solver == &fplt__solver_lbfgs && !(training->memory >= 1 && training->memory <= INT_MAX))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "memory is %u, but lbfgs needs a whole number from 1 to %d",
                              training->memory, INT_MAX);
    if (solver->traits & FPLT_NOISY && !(training->noise_tau >= 0 && isfinite(training->noise_tau)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "tau is %g, but it must be at least 0",
                              training->noise_tau);
    return FPLT_OK;
}

fplt_status fplt__local_run(fplt_local *local, double *w, fplt_error *error)
{
    return local->training.solver->run(local, w, error);
}

void fplt__subproblem_add(const fplt_subproblem *problem, const double *w, double *gradient)
{
    size_t n = fplt_objective_dimension(problem->objective);
    double inverse_rho = problem->inverse_rho;
    const double *linear = problem->linear, *centre = problem->centre;
    if (linear)
        for (size_t j = 0; j < n; j++)
            gradient[j] += linear[j];
    if (inverse_rho == 0)
        return;
    if (centre)
        for (size_t j = 0; j < n; j++)
            gradient[j] += inverse_rho * (w[j] - centre[j]);
    else
        for (size_t j = 0; j < n; j++)
            gradient[j] += inverse_rho * w[j];
}

fplt_status fplt_local_gradient(fplt_local *local, const double *w, double *gradient)
{
    const fplt_subproblem *problem = &local->problem;
    fplt_status status =
        fplt_objective_gradient(problem->objective, problem->agent, w, gradient, local->scratch);
    fplt__subproblem_add(problem, w, gradient);
    local->gradients += 1;
    return status;
}

fplt_status fplt_local_value_gradient(fplt_local *local, const double *w, double *value,
                                      double *gradient)
{
    const fplt_subproblem *problem = &local->problem;
    fplt_status status = fplt_objective_value_gradient(problem->objective, problem->agent, w, value,
                                                       gradient, local->scratch);
    fplt__subproblem_add(problem, w, gradient);
    size_t n = fplt_objective_dimension(problem->objective);
    for (size_t j = 0; j < n; j++) {
        double away = w[j] - (problem->centre ? problem->centre[j] : 0);
        *value += 0.5 * problem->inverse_rho * away * away;
        if (problem->linear)
            *value += problem->linear[j] * w[j];
    }
    local->gradients += 1;
    return status;
}

const char fplt__accelerated_formula[] = "1/(lmax + 1/rho)";

fplt_step fplt__accelerated_rule(const fplt_curvature *cost, double inverse_rho)
{
    return (fplt_step){fplt__accelerated_step(cost->highest, inverse_rho),
                       fplt__accelerated_step_limit(cost->lowest, cost->highest, inverse_rho)};
}

double fplt__local_momentum(const fplt_local *local)
{
    return fplt__momentum(local->curvature.lowest, local->curvature.highest,
                          local->problem.inverse_rho);
}

fplt_status fplt__local_perturb(const fplt_local *local, fplt_stream *stream, double step,
                                const double *mean, double *out)
{
    size_t n = fplt_objective_dimension(local->problem.objective);
    double tau = local->training.noise_tau;
    if (local->noise)
        return local->noise->add(local->noise->context, step, tau, mean, out, n);
    double deviation = sqrt(2 * step) * tau;
    for (size_t j = 0; j < n; j++)
        out[j] = mean[j] + deviation * fplt_stream_normal(stream);
    return FPLT_OK;
}

fplt_status fplt__noise_admit(const fplt_local *local, double step, const double *start,
                              fplt_error *error)
{
    const fplt_noise_source *noise = local->noise;
    const fplt_subproblem *problem = &local->problem;
    size_t n = fplt_objective_dimension(problem->objective);
    double tau = local->training.noise_tau;
    fplt_status status = FPLT_OK;
    if (!noise || !noise->admit)
        return FPLT_OK;
    if (problem->centre)
        status = noise->admit(noise->context, step, tau, "the centre of the local subproblem",
                              problem->centre, n, error);
    /* the linear term enters the step times the step size */
    if (!status && problem->linear)
        status = noise->admit(noise->context, step, tau / step,
                              "the linear term of the local subproblem", problem->linear, n, error);
    if (!status)
        status = noise->admit(noise->context, step, tau, "the start of the local steps", start, n,
                              error);
    if (status)
        fplt_error_prefix(error, "agent %u refuses the round", local->member_index);
    return status;
}

fplt_status fplt__check_finite(const double *w, size_t count, fplt_error *error)
{
    for (size_t j = 0; j < count; j++)
        if (!isfinite(w[j]))
            return fplt_error_set(error, FPLT_DIVERGED, "local training left the finite numbers");
    return FPLT_OK;
}
