/* Gradient descent on d, plain, accelerated, and with Gaussian noise in every step
 * [Fed-PLT eqs. local-update-approx, local-update-accelerated, private-local-update-approx]. */
#include "solver/solver.h"

#include <string.h>

#include "objective/objective.h"

static size_t gradient_work(const fplt_objective *objective, const fplt_training *training)
{
    (void)training;
    return fplt_objective_dimension(objective);
}

/* w <- w - step grad d(w), in one sweep over the coordinates. */
static void step_down(const fplt_subproblem *problem, double step, const double *restrict gradient,
                      double *restrict w)
{
    size_t n = fplt_objective_dimension(problem->objective);
    const double *restrict linear = problem->linear, *restrict centre = problem->centre;
    double pull = problem->inverse_rho;
    if (centre && !linear) {
        for (size_t j = 0; j < n; j++)
            w[j] -= step * (gradient[j] + pull * (w[j] - centre[j]));
        return;
    }
    for (size_t j = 0; j < n; j++) {
        double slope = gradient[j] + (linear ? linear[j] : 0);
        w[j] -= step * (slope + pull * (w[j] - (centre ? centre[j] : 0)));
    }
}

static fplt_status descend(fplt_local *local, double *w, fplt_error *error)
{
    const fplt_subproblem *problem = &local->problem;
    double *gradient = fplt_local_work(local);
    for (uint32_t epoch = 0; epoch < local->training.epochs; epoch++) {
        fplt_status status = fplt_objective_gradient(problem->objective, problem->agent, w,
                                                     gradient, local->scratch);
        if (status)
            return fplt_error_set(error, status, "the gradient of agent %u failed",
                                  local->member_index);
        step_down(problem, local->step, gradient, w);
    }
    local->gradients += local->training.epochs;
    return fplt__check_finite(w, fplt_objective_dimension(problem->objective), error);
}

/* Where agents are many and small, some at a time go side by side. */
static int descend_abreast(fplt_local *const *local, double *const *w)
{
    fplt__course course[FPLT_BATCHED];
    uint32_t epochs = local[0]->training.epochs;
    for (size_t i = 0; i < FPLT_BATCHED; i++) {
        const fplt_subproblem *problem = &local[i]->problem;
        course[i] = (fplt__course){problem->agent,       problem->linear, problem->centre,
                                   problem->inverse_rho, local[i]->step,  w[i]};
    }
    if (!fplt__objective_descend(local[0]->problem.objective, course, epochs, local[0]->scratch))
        return 0;
    for (size_t i = 0; i < FPLT_BATCHED; i++)
        local[i]->gradients += epochs;
    return 1;
}

static fplt_status descend_several(fplt_local *const *local, double *const *w, size_t count,
                                   size_t *done, fplt_error *error)
{
    size_t n = fplt_objective_dimension(local[0]->problem.objective);
    for (*done = 0; *done < count;) {
        size_t left = count - *done, some = left < FPLT_BATCHED ? left : FPLT_BATCHED;
        int batched = some == FPLT_BATCHED && descend_abreast(local + *done, w + *done);
        for (size_t i = 0; i < some; i++, ++*done) {
            fplt_status status = batched ? fplt__check_finite(w[*done], n, error)
                                         : descend(local[*done], w[*done], error);
            if (status)
                return status;
        }
    }
    return FPLT_OK;
}

static fplt_status descend_noisily(fplt_local *local, double *w, fplt_error *error)
{
    const fplt_subproblem *problem = &local->problem;
    double *gradient = fplt_local_work(local);
    fplt_stream stream = fplt_stream_make(local->seed, local->run, FPLT_FOR_NOISE, local->round,
                                          local->member_index, 0);
    fplt_status status = fplt__noise_admit(local, local->step, w, error);
    if (status)
        return status;
    for (uint32_t epoch = 0; epoch < local->training.epochs; epoch++) {
        status = fplt_objective_gradient(problem->objective, problem->agent, w, gradient,
                                         local->scratch);
        if (status)
            return fplt_error_set(error, status, "the gradient of agent %u failed",
                                  local->member_index);
        step_down(problem, local->step, gradient, w);
        status = fplt__local_perturb(local, &stream, local->step, w, w);
        if (status)
            return fplt_error_set(error, status, "the noise of agent %u failed",
                                  local->member_index);
    }
    local->gradients += local->training.epochs;
    return fplt__check_finite(w, fplt_objective_dimension(problem->objective), error);
}

static size_t accelerated_work(const fplt_objective *objective, const fplt_training *training)
{
    (void)training;
    return 2 * fplt_objective_dimension(objective);
}

/* u+ = w - grad d(w)/M; w+ = u+ + b (u+ - u). `noisy` adds the noise of a step to every u+. */
static fplt_status accelerate(fplt_local *local, double *w, int noisy, fplt_error *error)
{
    size_t n = fplt_objective_dimension(local->problem.objective);
    double *gradient = fplt_local_work(local), *u = gradient + n;
    double step = local->step, b = fplt__local_momentum(local);
    fplt_stream stream = fplt_stream_make(local->seed, local->run, FPLT_FOR_NOISE, local->round,
                                          local->member_index, 0);
    fplt_status status = noisy ? fplt__noise_admit(local, step, w, error) : FPLT_OK;
    if (status)
        return status;
    memcpy(u, w, n * sizeof *u);
    for (uint32_t epoch = 0; epoch < local->training.epochs; epoch++) {
        status = fplt_local_gradient(local, w, gradient);
        for (size_t j = 0; j < n; j++)
            gradient[j] = w[j] - step * gradient[j];
        if (!status && noisy)
            status = fplt__local_perturb(local, &stream, step, gradient, gradient);
        if (status)
            return fplt_error_set(error, status, "local training of agent %u failed",
                                  local->member_index);
        for (size_t j = 0; j < n; j++) {
            double next = gradient[j];
            w[j] = next + b * (next - u[j]);
            u[j] = next;
        }
    }
    return fplt__check_finite(w, n, error);
}

static fplt_status descend_accelerated(fplt_local *local, double *w, fplt_error *error)
{
    return accelerate(local, w, 0, error);
}

static fplt_status descend_accelerated_noisily(fplt_local *local, double *w, fplt_error *error)
{
    return accelerate(local, w, 1, error);
}

const fplt_solver fplt__solver_gradient = {
    .size = sizeof(fplt_solver),
    .name = "gradient",
    .help = "gradient descent: N_e steps of size gamma",
    .traits = FPLT_PLAIN_STEPS,
    .work = gradient_work,
    .run = descend,
    .several = descend_several,
};

const fplt_solver fplt__solver_noisy = {
    .size = sizeof(fplt_solver),
    .name = "noisy",
    .help = "gradient descent with Gaussian noise of deviation sqrt(2 gamma) tau in every step",
    .traits = FPLT_PLAIN_STEPS | FPLT_NOISY,
    .work = gradient_work,
    .run = descend_noisily,
};

const fplt_solver fplt__solver_accelerated = {
    .size = sizeof(fplt_solver),
    .name = "accelerated",
    .help = "accelerated gradient descent with the constant momentum of strongly convex costs",
    .traits = FPLT_MINIMISER | FPLT_ACCELERATED,
    .work = accelerated_work,
    .run = descend_accelerated,
    .step = fplt__accelerated_rule,
    .step_rule = fplt__accelerated_formula,
};

const fplt_solver fplt__solver_noisy_accelerated = {
    .size = sizeof(fplt_solver),
    .name = "noisy-accelerated",
    .help = "accelerated gradient descent with Gaussian noise in every step",
    .traits = FPLT_MINIMISER | FPLT_ACCELERATED | FPLT_NOISY,
    .work = accelerated_work,
    .run = descend_accelerated_noisily,
    .step = fplt__accelerated_rule,
    .step_rule = fplt__accelerated_formula,
};
