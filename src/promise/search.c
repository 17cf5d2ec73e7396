/* The plan chooses what is not given. For every candidate of rho, step, epochs and rounds the noise
 * that the budget asks for is found, and the candidate whose model is expected nearest to the
 * minimiser wins. What is expected comes from quadratic costs of equal curvature: there the mean
 * state of all agents follows Fed-PLT's recursion by itself [Fed-PLT Algorithm 1]. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/local_step.h"
#include "base/assert.h"
#include "fedplt/hub_node.h"
#include "fedplt/promise.h"
#include "privacy/calibration.h"
#include "promise/plan.h"
#include "promise/promise.h"

/* What is not learned counts this much against noise. */
#define BIAS 0.12

/* What the error of a model consists of on quadratic costs of curvature `curve`, all agents alike:
 * x and z are means over the agents, relative to a minimiser at 1; the noise is that of one
 * coordinate, divided by the number of agents. */
struct moments {
    double x, z;       /* mean */
    double xx, xz, zz; /* covariance */
};

static struct moments follow(const fplt_promise_view *view, const fplt_privacy_mechanism *mechanism,
                             uint64_t epochs, double curve)
{
    double pull = mechanism->inverse_rho, gamma = mechanism->step;
    double factor = 1 - gamma * (curve + pull);
    double decay = pow(factor, (double)epochs);
    double steps = fabs(factor) < 1 ? (1 - decay * decay) / (1 - factor * factor) : (double)epochs;
    FPLT__ASSERT(!(mechanism->noise_tau < 0) && !(mechanism->mean_noise < 0));
    double tau = mechanism->noise_tau * (mechanism->mean_noise > 0 ? mechanism->mean_noise : 1);
    double fresh = 2 * gamma * tau * tau * steps / view->agents;
    int reflected = view->algorithm->splits;
    struct moments now = {0, 0, 0, 0, 0};
    for (uint64_t round = 0; round < mechanism->rounds; round++) {
        /* x+ = decay x + (1 - decay) (curve + pull v) / (curve + pull), v = z, the mean of 2y - z */
        double a = decay, b = (1 - decay) * pull / (curve + pull);
        double shift = (1 - decay) * curve / (curve + pull);
        struct moments next;
        next.x = a * now.x + b * now.z + shift;
        next.xx = a * a * now.xx + 2 * a * b * now.xz + b * b * now.zz + fresh;
        if (reflected) {                            /* z+ = 2 x+ - z */
            double cross = a * now.xz + b * now.zz; /* of x+ and z */
            next.z = 2 * next.x - now.z;
            next.xz = 2 * next.xx - cross;
            next.zz = 4 * next.xx - 4 * cross + now.zz;
        } else {
            next.z = next.x;
            next.xz = next.zz = next.xx;
        }
        now = next;
    }
    return now;
}

/* What accuracy suffers from: noise against what was learned, since the direction of a model decides,
 * and what was not learned yet. A typical direction has about an n-th of the bound on the Hessian, as
 * its trace is at most that, and a third of it on the way, where margins have grown; a quarter of the
 * records' gradients at most adds up, so its minimiser is about a quarter of the gradient bound over
 * the curvature away. The steepest direction has half of the bound and must not be overshot. The
 * weights were chosen on data that are public. */
double fplt__promise_predict(const fplt_promise_view *view, const fplt_privacy_mechanism *mechanism,
                             uint64_t epochs)
{
    double low = fmax(view->curvature.lowest, 0), range = view->curvature.highest - low;
    double n = (double)mechanism->dimension, curve = low + range / (n + 1);
    double distance = view->constants.gradient / 4 / curve;
    struct moments flat = follow(view, mechanism, epochs, low + range / (n + 1) / 3);
    struct moments steep = follow(view, mechanism, epochs, low + range / 2);
    if (!(flat.z > 0))
        return INFINITY;
    double noise = n * flat.zz / (distance * distance * flat.z * flat.z);
    return noise + BIAS * (1 - flat.z) * (1 - flat.z) + (1 - steep.z) * (1 - steep.z);
}

/* A candidate: what is not given is NaN or 0. */
struct candidate {
    double rho_factor, step_factor; /* of the automatic values */
    uint64_t epochs, rounds;
    double step; /* 0: that factor of the automatic one */
};

/* The mechanism of the worst agent for a candidate, without its noise. */
static fplt_status resolve(const fplt_promise *plan, const struct candidate *candidate,
                           double *parameter, fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    const fplt_promise_view *view = &plan->view;
    const fplt_algorithm *algorithm = view->algorithm;
    fplt_facts facts = plan->facts;
    fplt_training training = {.solver = view->solver, .step = plan->given_step};
    fplt_plan resolved = {.seed = 0};
    facts.epochs = (uint32_t)candidate->epochs;
    fplt_status status =
        fplt_plan_resolve(algorithm, plan->given, &training, &facts, &resolved, error);
    if (status)
        return status;
    memcpy(parameter, resolved.parameter, sizeof resolved.parameter);
    if (plan->rho >= 0 && view->planned_rho)
        parameter[plan->rho] *= candidate->rho_factor;
    *mechanism = fplt__promise_mechanism_of(view, view->worst);
    mechanism->inverse_rho = fplt__algorithm_pull(algorithm, &facts, parameter);
    mechanism->epochs = view->drawn_epochs ? FPLT_EPOCHS_UNBOUNDED : candidate->epochs;
    mechanism->rounds = candidate->rounds;
    mechanism->step = plan->given_step > 0 ? plan->given_step : candidate->step;
    if (mechanism->step == 0)
        mechanism->step =
            fplt__algorithm_step(algorithm, view->solver, &facts, parameter).automatic *
            candidate->step_factor;
    fplt__promise_contract(view, mechanism);
    return FPLT_OK;
}

/* The noise of the worst agent, and whether the others have less. They have where it is theirs alone that
 * hides their records; a final model is hidden by the noise of all, so there it may be better that
 * all have the same. A given tau is everybody's. */
static fplt_status calibrate(const fplt_promise *plan, double tau,
                             fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    const fplt_promise_view *view = &plan->view;
    const char *threat = view->threat->name;
    mechanism->noise_tau = tau;
    mechanism->least_noise = mechanism->mean_noise = 0;
    if (tau > 0)
        return FPLT_OK;
    double common = fplt__noise_within(mechanism, threat, plan->rate);
    if (isinf(common))
        return error
                   ? fplt_privacy_calibrate_noise(mechanism, threat, &plan->budget, &common, error)
                   : FPLT_UNREACHABLE;
    mechanism->noise_tau = common;
    if (plan->least == 1 || fplt__promise_divides(view)) /* noise that adds up is everybody's */
        return FPLT_OK;
    mechanism->least_noise = plan->least;
    mechanism->mean_noise = plan->mean;
    if (strcmp(threat, "final-x") != 0)
        return FPLT_OK;
    mechanism->noise_tau = fplt__noise_within(mechanism, threat, plan->rate);
    if (mechanism->noise_tau * plan->mean <= common)
        return FPLT_OK;
    mechanism->noise_tau = common;
    mechanism->least_noise = mechanism->mean_noise = 0;
    return FPLT_OK;
}

static uint64_t next_on_grid(uint64_t value)
{
    return value + (value < 5 ? 1 : value / 4);
}

enum { MAX_EPOCHS = 64, MAX_ROUNDS = 400 };

/* The search over what is not given. */
struct search {
    const fplt_promise *plan;
    double tau; /* 0: whatever the budget asks for */
    struct candidate best;
    double least;
};

/* Over the rounds of a candidate: first the bias falls, then the noise grows, and once the error is
 * far above the best of the row nothing better follows. */
static void search_rounds(struct search *search, struct candidate trial)
{
    const fplt_promise_view *view = &search->plan->view;
    double row = INFINITY;
    for (;; trial.rounds = next_on_grid(trial.rounds)) {
        double parameter[FPLT_MAX_PARAMETERS];
        fplt_privacy_mechanism mechanism;
        if (resolve(search->plan, &trial, parameter, &mechanism, NULL) ||
            calibrate(search->plan, search->tau, &mechanism, NULL))
            return;
        double error = fplt__promise_predict(view, &mechanism, trial.epochs);
        if (error < search->least * (1 - 1e-3)) {
            search->least = error;
            search->best = trial;
        }
        row = fmin(row, error);
        if (!view->planned_rounds || trial.rounds > MAX_ROUNDS || error > 3 * row)
            return;
    }
}

/* The candidate with the least predicted error; those that fail are passed over. */
static void search_all(struct search *search)
{
    const fplt_promise_view *view = &search->plan->view;
    struct candidate trial = search->best;
    int rhos = view->planned_rho ? 12 : 1, steps = view->planned_step ? 6 : 1;
    for (int i = 0; i < rhos * steps; i++) {
        trial.rho_factor = view->planned_rho ? ldexp(1, i % rhos - 8) : 1;
        trial.step_factor = ldexp(1, -(i / rhos));
        if (view->planned_rounds)
            trial.rounds = 1;
        if (!view->planned_epochs) {
            search_rounds(search, trial);
            continue;
        }
        for (trial.epochs = 1; trial.epochs <= MAX_EPOCHS;
             trial.epochs = next_on_grid(trial.epochs))
            search_rounds(search, trial);
    }
}

static void warn_of_delta(fplt_promise_view *view)
{
    double records = view->all_records;
    if (view->delta * records > 1)
        snprintf(view->warning, sizeof view->warning,
                 "privacy.delta is %g, which lets a run that shows one of the %.0f records whole "
                 "keep the promise; take at most %.1g",
                 view->delta, records, 1 / records);
}

static uint64_t spare_rounds(const struct fplt__promise_problem *problem, uint64_t rounds)
{
    FPLT__ASSERT(problem->roster->spare_share >= 0);
    double share = problem->roster->spare_share * (double)rounds;
    return problem->roster->spare + (share > 0 ? (uint64_t)fmax(1, ceil(share)) : 0);
}

/* Noisy gradient descent, planned by its rule. */
static void descend(const fplt_promise *plan, struct candidate *chosen)
{
    uint64_t rounds = plan->view.planned_rounds ? 0 : chosen->rounds;
    double step = plan->given_step;
    fplt__promise_descend(plan, &step, &rounds);
    *chosen = (struct candidate){1, 1, 1, rounds, step};
}

/* Who is in every sum for certain, where noise is divided. */
static void read_sums(fplt_promise *plan, const fplt_settings *settings)
{
    fplt_promise_view *view = &plan->view;
    fplt__promise_read_sums(settings, plan->facts.cohort, view);
    view->epochs = view->planned_epochs ? 1 : view->epochs;
    view->mechanism.honest = fplt__promise_honest(view);
}

fplt_status fplt__promise_decide(fplt_promise *plan, const fplt_settings *settings,
                                 const struct fplt__promise_problem *problem, fplt_error *error)
{
    fplt_promise_view *view = &plan->view;
    double tau = fplt_settings_given(settings, "privacy.tau")
                     ? fplt_settings_real(settings, "privacy.tau")
                     : 0;
    struct candidate chosen = {1, 1, plan->facts.epochs, problem->rounds, 0};
    fplt_status status;
    fplt_privacy_mechanism mechanism;
    plan->budget = (fplt_privacy_budget){view->epsilon, view->delta, FPLT_CONVERT_BEST};
    if ((!tau && (status = fplt__budget_rate(&plan->budget, 0, &plan->rate, error))) ||
        (status = resolve(plan, &chosen, plan->parameter, &mechanism, error)) ||
        (status = fplt__promise_draws(view, &view->drawn_epochs, error)))
        return status;
    view->planned_epochs = !fplt__promise_is_given(settings, "epochs");
    view->planned_rounds = !tau && !fplt__promise_is_given(settings, "rounds");
    view->planned_step = plan->given_step == 0 && !(view->solver->traits & FPLT_ACCELERATED);
    view->planned_rho = plan->rho >= 0 && !fplt__promise_is_given(settings, "rho");
    view->epochs = (uint32_t)chosen.epochs;
    if (fplt__promise_divides(view))
        read_sums(plan, settings);
    if ((status = fplt__promise_cohort(view, error)))
        return status;
    if (fplt__promise_is_descent(view) && (view->planned_epochs || chosen.epochs == 1)) {
        descend(plan, &chosen);
    } else if (view->planned_epochs || view->planned_rounds || view->planned_step ||
               view->planned_rho) {
        struct search search = {plan, tau, chosen, INFINITY};
        search_all(&search);
        chosen = search.best;
        view->predicted = search.least;
    }
    if ((status = resolve(plan, &chosen, plan->parameter, &view->mechanism, error)))
        return status;
    view->epochs = (uint32_t)chosen.epochs;
    view->rounds = chosen.rounds;
    view->mechanism.rounds += spare_rounds(problem, chosen.rounds);
    FPLT__ASSERT(view->mechanism.rounds >= view->rounds && view->epochs == chosen.epochs);
    warn_of_delta(view);
    if (plan->rho >= 0)
        view->rho = plan->parameter[plan->rho];
    fplt_privacy_facts facts = {.algorithm = view->algorithm->name};
    view->mechanism.noise_tau = 1;
    if ((status = fplt_privacy_check(&view->mechanism, &facts, error)) ||
        (status = calibrate(plan, tau, &view->mechanism, error)))
        return status;
    for (uint32_t i = 0; i < view->agents; i++)
        plan->tau[i] = view->mechanism.noise_tau *
                       (view->mechanism.least_noise > 0 ? fplt__promise_noise_ratio(view, i) : 1);
    FPLT__ASSERT(!(view->mechanism.least_noise < 0) && !(view->mechanism.least_noise > 1));
    FPLT__ASSERT(!(view->mechanism.mean_noise < 0));
    view->tau = plan->tau;
    view->unit = fplt__promise_unit(view);
    return fplt__promise_settle(view, error);
}
