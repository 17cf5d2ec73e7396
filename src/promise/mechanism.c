/* The privacy mechanism of each agent: bounds, noise and claims from public numbers. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "fedplt/algorithm.h"
#include "fedplt/hub_node.h"
#include "fedplt/promise.h"
#include "participation/participation.h"
#include "privacy/claim.h"
#include "privacy/privacy.h"
#include "promise/plan.h"
#include "promise/promise.h"
#include "prox/prox_access.h"

static double share_of(const fplt_promise_view *view, uint32_t agent)
{
    FPLT__ASSERT(agent < view->agents);
    FPLT__ASSERT((double)view->records[agent] <= view->all_records);
    return view->weigh_rows ? (double)view->records[agent] * view->agents / view->all_records : 1;
}

double fplt__promise_record_weight(const fplt_promise_view *view, uint32_t agent)
{
    return share_of(view, agent) / (double)view->records[agent];
}

fplt_privacy_mechanism fplt__promise_mechanism_of(const fplt_promise_view *view, uint32_t agent)
{
    fplt_privacy_mechanism mechanism = view->mechanism;
    mechanism.records = view->records[agent];
    mechanism.sensitivity = view->constants.sensitivity * share_of(view, agent);
    if (view->tau) {
        FPLT__ASSERT(!(view->tau[agent] <= 0));
        double ratio = mechanism.noise_tau / view->tau[agent];
        mechanism.noise_tau = view->tau[agent];
        mechanism.least_noise = fmin(mechanism.least_noise * ratio, 1);
        mechanism.mean_noise *= ratio;
    }
    return mechanism;
}

double fplt__promise_least_tau(const fplt_promise_view *view)
{
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < view->agents; i++)
        least = fmin(least, view->tau[i]);
    return least;
}

/* The noise of `agent` as that of the view's mechanism, beside that of all. */
static void take_noise(fplt_promise_view *view, uint32_t agent)
{
    fplt_privacy_mechanism *mechanism = &view->mechanism;
    double least = fplt__promise_least_tau(view), own = view->tau[agent], squares = 0;
    int alike = 1;
    for (uint32_t i = 0; i < view->agents; i++) {
        squares += view->tau[i] / own * (view->tau[i] / own);
        alike &= view->tau[i] == own;
    }
    FPLT__ASSERT(!(least <= 0) && !(least > own));
    mechanism->noise_tau = own;
    mechanism->least_noise = alike ? 0 : least / own;
    mechanism->mean_noise = alike ? 0 : sqrt(squares / view->agents);
}

fplt_status fplt__promise_settle(fplt_promise_view *view, fplt_error *error)
{
    double most = 0, even = 1e-12; /* where all meet the same promise, rounding does not choose */
    uint32_t worst = 0;
    take_noise(view, worst);
    for (uint32_t i = 0; i < view->agents; i++) {
        fplt_privacy_mechanism mechanism = fplt__promise_mechanism_of(view, i);
        fplt_privacy_claim claim;
        fplt_status status = fplt_privacy_claim_make(&mechanism, view->threat->name, &claim, error);
        if (status)
            return status;
        if (claim.gdp_mu > most * (1 + even) ||
            (claim.gdp_mu > most * (1 - even) &&
             fplt__promise_record_weight(view, i) > fplt__promise_record_weight(view, worst))) {
            most = fmax(most, claim.gdp_mu);
            worst = i;
        }
    }
    FPLT__ASSERT(worst < view->agents && most >= 0);
    view->worst = worst;
    take_noise(view, worst);
    view->mechanism = fplt__promise_mechanism_of(view, worst);
    return fplt__promise_claim(view, worst, view->mechanism.rounds, &view->claim, &view->promised,
                               error);
}

fplt_status fplt__promise_claim_against(const fplt_promise_view *view, uint32_t agent,
                                        uint64_t rounds, const fplt_threat *threat,
                                        fplt_privacy_claim *claim, fplt_error *error)
{
    fplt_privacy_mechanism mechanism = fplt__promise_mechanism_of(view, agent);
    mechanism.rounds = rounds;
    return fplt_privacy_claim_make(&mechanism, threat->name, claim, error);
}

fplt_status fplt__promise_claim(const fplt_promise_view *view, uint32_t agent, uint64_t rounds,
                                fplt_privacy_claim *claim, double *epsilon, fplt_error *error)
{
    fplt_status status =
        fplt__promise_claim_against(view, agent, rounds, view->threat, claim, error);
    return status ? status
                  : fplt_privacy_epsilon(claim, FPLT_CONVERT_BEST, view->delta, epsilon, error);
}

int fplt__promise_releases_mean(const fplt_promise_view *view)
{
    return strcmp(view->threat->name, "final-x") == 0;
}

/* The regulariser's least and largest curvature; an intercept is not regularised. */
static fplt_curvature regulariser_curvature(const char *name, double weight, int intercept)
{
    fplt_curvature curvature = {0, 0};
    if (strcmp(name, "ridge") == 0)
        curvature = (fplt_curvature){weight, weight};
    else if (strcmp(name, "nonconvex") == 0)
        curvature = (fplt_curvature){-weight / 2, 2 * weight};
    if (intercept)
        curvature.lowest = fmin(curvature.lowest, 0);
    return curvature;
}

fplt_status fplt__promise_bounds(fplt_promise_view *view, fplt_error *error)
{
    fplt_status status = fplt__privacy_loss_constants(&view->loss, &view->constants, error);
    if (status)
        return status;
    fplt_curvature curvature =
        regulariser_curvature(view->regulariser, view->regulariser_weight, view->loss.intercept);
    curvature.highest += view->constants.curvature;
    double least = HUGE_VAL, most = 0;
    view->worst = 0;
    view->all_records = 0;
    for (uint32_t i = 0; i < view->agents; i++)
        view->all_records += (double)view->records[i];
    for (uint32_t i = 0; i < view->agents; i++) {
        double share = share_of(view, i);
        least = fmin(least, share);
        most = fmax(most, share);
        if (fplt__promise_record_weight(view, i) > fplt__promise_record_weight(view, view->worst))
            view->worst = i;
    }
    view->curvature.lowest = curvature.lowest * (curvature.lowest > 0 ? least : most);
    view->curvature.highest = curvature.highest * most;
    FPLT__ASSERT(view->worst < view->agents);
    return FPLT_OK;
}

double fplt__promise_mean_curvature(const fplt_promise_view *view)
{
    double most = 0;
    for (uint32_t i = 0; i < view->agents; i++) {
        double share = share_of(view, i);
        if (share > most) /* gcc 12 for arm64 cannot compile fmax() here */
            most = share;
    }
    return view->curvature.highest / most;
}

void fplt__promise_contract(const fplt_promise_view *view, fplt_privacy_mechanism *mechanism)
{
    int accelerated = (view->solver->traits & FPLT_ACCELERATED) != 0;
    mechanism->contraction = view->constants.contraction && !accelerated &&
                             view->curvature.lowest + mechanism->inverse_rho > 0;
    if (mechanism->contraction && mechanism->epochs == 1 && fplt__promise_is_descent(view))
        mechanism->contraction = fplt__contraction_of(mechanism).gap > 0;
}

/* The length of a round does not depend on the dimension. */
fplt_status fplt__promise_draws(const fplt_promise_view *view, int *draws, fplt_error *error)
{
    fplt_plan trial = {.algorithm = view->algorithm, .agents = view->agents, .dimension = 1};
    fplt_hub *hub;
    fplt_round round;
    memcpy(trial.parameter, view->parameter, sizeof trial.parameter);
    fplt_status status = fplt_hub_create(&trial, NULL, NULL, &hub, error);
    if (status)
        return status;
    fplt_hub_plan(hub, 0, view->agents, &round);
    *draws = round.epochs > 0;
    fplt_hub_destroy(hub);
    return FPLT_OK;
}

enum { MIN_SECAGG = 2 };

fplt_status fplt__promise_cohort(const fplt_promise_view *view, fplt_error *error)
{
    if (fplt__promise_divides(view))
        return fplt__promise_check_sums(view, error);
    if (strcmp(view->threat->name, "secagg") != 0 || view->least_cohort >= MIN_SECAGG)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "the threat model secagg needs at least %d agents in every round, since "
                          "the sum over one is its message; participation %s of %u agents can "
                          "leave %u",
                          MIN_SECAGG, view->participation, view->agents, view->least_cohort);
}

/* The noise that an agent's records ask for over the worst agent's: mu_step depends on the ratio of the
 * two alone. Rounded up, so that nobody is promised less. */
double fplt__promise_noise_ratio(const fplt_promise_view *view, uint32_t agent)
{
    double ratio =
        fplt__promise_record_weight(view, agent) / fplt__promise_record_weight(view, view->worst);
    FPLT__ASSERT(!(ratio > 1)); /* `worst` has the heaviest records */
    return fmin(ratio * (1 + 1e-14), 1);
}

static void compare_noise(fplt_promise *plan)
{
    const fplt_promise_view *view = &plan->view;
    double squares = 0;
    plan->least = 1;
    for (uint32_t i = 0; i < view->agents; i++) {
        double ratio = fplt__promise_noise_ratio(view, i);
        plan->least = fmin(plan->least, ratio);
        squares += ratio * ratio;
    }
    plan->mean = sqrt(squares / view->agents);
    FPLT__ASSERT(!(plan->least > plan->mean * (1 + 1e-12)));
    FPLT__ASSERT(!(plan->mean > 1 + 1e-12));
}

fplt_status fplt__promise_start_mechanism(fplt_promise *plan, const fplt_settings *settings,
                                          const struct fplt__promise_problem *problem,
                                          fplt_error *error)
{
    fplt_promise_view *view = &plan->view;
    fplt_privacy_mechanism *mechanism = &view->mechanism;
    int accelerated = (view->solver->traits & FPLT_ACCELERATED) != 0;
    fplt_status status = fplt_algorithm_allow(view->algorithm, view->solver,
                                              !fplt__participation_is_full(problem->participation),
                                              !fplt__prox_is_zero(problem->prox), 1, error);
    if (status)
        return status;
    plan->facts = (fplt_facts){.curvature = view->curvature,
                               .agents = view->agents,
                               .cohort = fplt_expected_cohort(problem->participation),
                               .epochs = fplt__promise_is_given(settings, "epochs")
                                             ? problem->training.epochs
                                             : fplt_training_defaults().epochs,
                               .dimension = problem->dimension,
                               .claim = 1};
    FPLT__ASSERT(!(view->curvature.lowest > view->curvature.highest));
    plan->rho = fplt_algorithm_parameter(view->algorithm, "rho");
    *mechanism = fplt_privacy_defaults();
    mechanism->strong_convexity = view->curvature.lowest;
    mechanism->smoothness = view->curvature.highest;
    mechanism->contraction = view->constants.contraction && !accelerated;
    /* Theorem F is about Fed-PLT's own recursion */
    mechanism->full_participation = view->full && view->algorithm->splits;
    mechanism->group = view->group;
    mechanism->lattice = 1;
    mechanism->dimension = plan->facts.dimension;
    mechanism->agents = view->agents;
    mechanism->rounds = problem->rounds;
    mechanism->noise_tau = 1;
    compare_noise(plan);
    return FPLT_OK;
}
