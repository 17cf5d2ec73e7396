/* Newton's method on d: at most N_e steps, by Cholesky up to a few hundred coordinates and by
 * conjugate gradients above. Where f_i is quadratic one step is the exact proximal operator, and its
 * factor is made once and kept with the agent. */
#include "objective/objective_access.h"
#include "solver/solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/cholesky.h"
#include "objective/objective.h"

enum { MAX_DIRECT = 400 };

static int direct(const fplt_objective *objective)
{
    return fplt_objective_dimension(objective) <= MAX_DIRECT;
}

/* gradient, step, trial and its gradient; the Hessian, or three vectors of conjugate gradients. */
static size_t newton_work(const fplt_objective *objective, const fplt_training *training)
{
    (void)training;
    size_t n = fplt_objective_dimension(objective);
    return 4 * n + (direct(objective) ? n * n : 3 * n);
}

/* Quadratic costs: 1 once the factor is made, the inverse_rho it was made for, the factor. */
static size_t newton_state(const fplt_objective *objective, const fplt_training *training)
{
    (void)training;
    size_t n = fplt_objective_dimension(objective);
    return fplt__objective_is_quadratic(objective) && direct(objective) ? n * n + 2 : 0;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

static fplt_status not_convex(const fplt_local *local, fplt_error *error)
{
    return fplt_error_set(error, FPLT_FAILED,
                          "the local subproblem of agent %u is not strongly convex: Newton needs a "
                          "ridge, or a smaller rho",
                          local->member_index);
}

static fplt_status factorise(fplt_local *local, const double *w, double *matrix, fplt_error *error)
{
    const fplt_subproblem *problem = &local->problem;
    size_t n = fplt_objective_dimension(problem->objective);
    fplt_status status =
        fplt__objective_hessian(problem->objective, problem->agent, w, matrix, local->scratch);
    if (status)
        return fplt_error_set(error, status, "the Hessian of agent %u failed", local->member_index);
    for (size_t j = 0; j < n; j++)
        matrix[j * n + j] += problem->inverse_rho;
    const fplt__kernel *kernel = fplt__objective_arithmetic(problem->objective);
    return fplt__cholesky_factor(kernel, matrix, n) ? FPLT_OK : not_convex(local, error);
}

/* The factor of the Hessian of d at w: the kept one where it still holds. */
static fplt_status factor_at(fplt_local *local, const double *w, double *matrix, double **factor,
                             fplt_error *error)
{
    *factor = matrix;
    if (!local->state || !fplt__objective_is_quadratic(local->problem.objective))
        return factorise(local, w, matrix, error);
    double *made = local->state, *kept_rho = local->state + 1;
    *factor = local->state + 2;
    if (*made == 1 && *kept_rho == local->problem.inverse_rho)
        return FPLT_OK;
    fplt_status status = factorise(local, w, *factor, error);
    *made = status ? 0 : 1;
    *kept_rho = local->problem.inverse_rho;
    return status;
}

static fplt_status direct_step(fplt_local *local, const double *w, const double *gradient,
                               double *step, double *matrix, fplt_error *error)
{
    size_t n = fplt_objective_dimension(local->problem.objective);
    double *factor;
    fplt_status status = factor_at(local, w, matrix, &factor, error);
    if (status)
        return status;
    for (size_t j = 0; j < n; j++)
        step[j] = -gradient[j];
    fplt__cholesky_solve(factor, n, step);
    return FPLT_OK;
}

/* Conjugate gradients on (H + inverse_rho I) step = -gradient, to a relative residual that shrinks
 * with the gradient so that the whole converges superlinearly. */
static fplt_status cg_step(fplt_local *local, const double *w, const double *gradient, double *step,
                           double *work, fplt_error *error)
{
    const fplt_subproblem *problem = &local->problem;
    size_t n = fplt_objective_dimension(problem->objective);
    double *residual = work, *direction = residual + n, *product = direction + n;
    double size = sqrt(dot(gradient, gradient, n));
    double target = size * fmax(1e-14, fmin(1e-3, size));
    for (size_t j = 0; j < n; j++) {
        step[j] = 0;
        direction[j] = residual[j] = -gradient[j];
    }
    double energy = dot(residual, residual, n);
    for (size_t i = 0; i < 2 * n + 20 && sqrt(energy) > target; i++) {
        fplt_status status = fplt__objective_hessian_times(problem->objective, problem->agent, w,
                                                           direction, product, local->scratch);
        if (status)
            return fplt_error_set(error, status, "the Hessian of agent %u failed",
                                  local->member_index);
        local->gradients += 1;
        for (size_t j = 0; j < n; j++)
            product[j] += problem->inverse_rho * direction[j];
        double curvature = dot(direction, product, n);
        if (!(curvature > 0)) {
            if (i == 0)
                return not_convex(local, error);
            break;
        }
        double length = energy / curvature;
        for (size_t j = 0; j < n; j++) {
            step[j] += length * direction[j];
            residual[j] -= length * product[j];
        }
        double next = dot(residual, residual, n);
        for (size_t j = 0; j < n; j++)
            direction[j] = residual[j] + next / energy * direction[j];
        energy = next;
    }
    return FPLT_OK;
}

/* Halves the step until the gradient is smaller: for a strongly convex d that globalises Newton, and
 * unlike a test on values it does not drown in rounding near the minimiser. */
static fplt_status line_search(fplt_local *local, double *w, double *gradient, const double *step,
                               double *trial, double *trial_gradient, int *moved)
{
    size_t n = fplt_objective_dimension(local->problem.objective);
    double before = dot(gradient, gradient, n);
    double reach = sqrt(dot(step, step, n)), least = DBL_EPSILON * sqrt(dot(w, w, n));
    *moved = 0;
    /* a step within the rounding of w has nothing left to find */
    for (double length = 1; length > 1e-8 && (length == 1 || length * reach > least); length /= 2) {
        for (size_t j = 0; j < n; j++)
            trial[j] = w[j] + length * step[j];
        fplt_status status = fplt_local_gradient(local, trial, trial_gradient);
        if (status)
            return status;
        double after = dot(trial_gradient, trial_gradient, n);
        if (after < before) {
            memcpy(w, trial, n * sizeof *w);
            memcpy(gradient, trial_gradient, n * sizeof *gradient);
            *moved = 1;
            return FPLT_OK;
        }
    }
    return FPLT_OK;
}

static fplt_status run_newton(fplt_local *local, double *w, fplt_error *error)
{
    const fplt_objective *objective = local->problem.objective;
    size_t n = fplt_objective_dimension(objective);
    double *gradient = fplt_local_work(local), *step = gradient + n, *trial = step + n,
           *trial_gradient = trial + n, *rest = trial_gradient + n;
    fplt_status status = fplt_local_gradient(local, w, gradient);
    if (!status && (status = fplt__check_finite(gradient, n, error)))
        return status;
    for (uint32_t i = 0; i < local->training.epochs && !status; i++) {
        double tolerance = local->training.tolerance * fmax(1, sqrt(dot(w, w, n)));
        if (sqrt(dot(gradient, gradient, n)) <= tolerance)
            break;
        status = direct(objective) ? direct_step(local, w, gradient, step, rest, error)
                                   : cg_step(local, w, gradient, step, rest, error);
        if (status)
            return status;
        int moved;
        status = line_search(local, w, gradient, step, trial, trial_gradient, &moved);
        if (!moved)
            break;
    }
    if (status)
        return fplt_error_set(error, status, "the gradient of agent %u failed",
                              local->member_index);
    return fplt__check_finite(w, n, error);
}

const fplt_solver fplt__solver_newton = {
    .size = sizeof(fplt_solver),
    .name = "newton",
    .help = "Newton's method, at most N_e steps; the exact proximal operator for quadratic costs",
    .traits = FPLT_MINIMISER,
    .work = newton_work,
    .state = newton_state,
    .run = run_newton,
};
