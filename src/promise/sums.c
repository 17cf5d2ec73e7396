/* Divided noise: what a run must be for Theorem S (threat model secagg-sum), and how many honest agents are in every sum. */
#include <math.h>
#include <string.h>

#include "fedplt/algorithm.h"
#include "fedplt/noise.h"
#include "base/noise.h"
#include "privacy/calibration.h"
#include "promise/plan.h"
#include "promise/promise.h"

enum { MAX_MEMBERS = 1000, MIN_HONEST = 2, SMALL_ROSTER = 10 };

int fplt__promise_divides(const fplt_promise_view *view)
{
    return strcmp(view->threat->name, "secagg-sum") == 0;
}

int fplt__promise_sends_iterates(const fplt_algorithm *algorithm, const double *parameter)
{
    fplt_shape shape = fplt_algorithm_shape(algorithm, parameter, 1);
    return shape.exchanges == 1 && shape.kept == 0 && shape.held == 0 && shape.mirrored == 0 &&
           shape.exchange[0].up == 1 && shape.exchange[0].up_scalars == 0;
}

int fplt__promise_is_descent(const fplt_promise_view *view)
{
    return fplt__promise_sends_iterates(view->algorithm, view->parameter) && !view->drawn_epochs &&
           view->solver->traits & FPLT_NOISY && !(view->solver->traits & FPLT_ACCELERATED);
}

/* With a quorum the honest members of a certified set are t - c; without one, all that do not collude. */
uint64_t fplt__promise_honest(const fplt_promise_view *view)
{
    uint32_t least = view->threshold ? view->threshold : view->agents;
    return least > view->colluders ? least - view->colluders : 0;
}

fplt_status fplt__promise_alone(double epsilon, double delta, uint64_t honest, double *alone,
                                fplt_error *error)
{
    const fplt_privacy_budget budget = {epsilon, delta, FPLT_CONVERT_BEST};
    fplt_privacy_claim claim = {.is_gaussian = 0};
    fplt_status status = fplt__budget_rate(&budget, 0, &claim.renyi_rate, error);
    if (status)
        return status;
    claim.renyi_rate *= (double)honest;
    claim.gdp_mu = sqrt(2 * claim.renyi_rate);
    return fplt_privacy_epsilon(&claim, FPLT_CONVERT_BEST, delta, alone, error);
}

static fplt_status check_training(const fplt_promise_view *view, fplt_error *error)
{
    if (!fplt__promise_is_descent(view))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the threat model secagg-sum needs an algorithm whose agents keep nothing and send the "
            "result of one noisy gradient step, but this run has %s with %s: noise that enters a "
            "state may not be divided; take fedavg and noisy, or leave both out",
            view->algorithm->name, view->solver->name);
    if (view->epochs != 1)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the threat model secagg-sum needs epochs = 1, but they are %u: the noise of several "
            "local steps may not be divided; leave epochs out",
            view->epochs);
    return FPLT_OK;
}

static fplt_status check_quorum(const fplt_promise_view *view, fplt_error *error)
{
    uint32_t t = view->threshold, c = view->colluders, most = view->most;
    if (most != view->agents && (view->full || most != view->least_cohort))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "a round has at most %u agents, but with participation %s it may have %u", most,
            view->participation, view->agents);
    if (!t && !view->full)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "participation %s may leave agents out of a round, but without a quorum a sum is over "
            "all %u agents; give privacy.quorum, or participation all",
            view->participation, view->agents);
    if (t && (t >= view->agents || t > view->least_cohort || most > view->agents || t > most))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "privacy.quorum is %u, but a round has %u to %u of %u agents; take "
                              "at most %u, or %u for "
                              "all",
                              t, view->least_cohort, most, view->agents, view->least_cohort,
                              view->agents);
    if (t && 2 * (uint64_t)t <= (uint64_t)most + c)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "privacy.quorum is %u of %u agents with %u colluders, but 2 x %u must be more than %u "
            "+ "
            "%u: two sets that share no honest agent could each be summed; take at least %u",
            t, most, c, t, most, c, (most + c) / 2 + 1);
    return FPLT_OK;
}

fplt_status fplt__promise_check_sums(const fplt_promise_view *view, fplt_error *error)
{
    fplt_status status = check_training(view, error);
    if (status || (status = check_quorum(view, error)))
        return status;
    if (view->agents > MAX_MEMBERS)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "secure aggregation is for at most %d agents, but there are %u",
                              MAX_MEMBERS, view->agents);
    for (uint32_t i = 1; view->tau && i < view->agents; i++)
        if (view->tau[i] != view->tau[0])
            return fplt_error_set(error, FPLT_UNSUPPORTED,
                                  "noise that is divided must be the same for all agents, but "
                                  "agent %u has tau %g and "
                                  "agent 0 %g",
                                  i, view->tau[i], view->tau[0]);
    if (fplt__promise_honest(view) < MIN_HONEST)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "of %u agents in a sum up to %u may help the adversary, which leaves %llu whose noise "
            "it "
            "does not know; at least %d are needed: with 3 agents or more, privacy.colluders 1",
            view->threshold ? view->threshold : view->agents, view->colluders,
            (unsigned long long)fplt__promise_honest(view), MIN_HONEST);
    return FPLT_OK;
}

/* The rule of `auto`: all of a small federation; otherwise two thirds of the largest cohort, or what c asks for. */
static uint32_t automatic_quorum(const fplt_promise_view *view)
{
    uint32_t third = (2 * view->most + 2) / 3, least = (view->most + view->colluders) / 2 + 1;
    if (view->full && view->agents <= SMALL_ROSTER)
        return view->agents;
    return third > least ? third : least;
}

void fplt__promise_read_sums(const fplt_settings *settings, uint32_t cohort,
                             fplt_promise_view *view)
{
    uint32_t tenth = view->agents / 10;
    view->colluders = fplt_settings_is_auto(settings, "privacy.colluders")
                          ? (tenth > 1 ? tenth : 1)
                          : (uint32_t)fplt_settings_integer(settings, "privacy.colluders");
    view->most = !view->full && view->least_cohort == cohort ? cohort : view->agents;
    uint32_t quorum = fplt_settings_is_auto(settings, "privacy.quorum")
                          ? automatic_quorum(view)
                          : (uint32_t)fplt_settings_integer(settings, "privacy.quorum");
    view->threshold = quorum == view->agents ? 0 : quorum;
}

double fplt__promise_unit(const fplt_promise_view *view)
{
    return fplt__promise_divides(view)
               ? fplt__noise_spacing(view->mechanism.step, view->mechanism.noise_tau)
               : 0;
}
