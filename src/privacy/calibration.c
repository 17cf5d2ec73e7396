/* From a budget to noise, rounds, or both. A budget is first turned into the largest rate D it
 * allows; the claim's rate is monotone in the noise and in the rounds, so bisection does the rest,
 * always ending on the side that keeps the promise. */
#include "privacy/calibration.h"

#include <float.h>
#include <math.h>

#include "privacy/boundary.h"
#include "privacy/claim.h"
#include "privacy/conversion.h"
#include "privacy/privacy.h"
#include "privacy/sampling.h"
#include "privacy/valid.h"

struct question {
    fplt_privacy_mechanism mechanism;
    const char *threat;
    double rate; /* what the budget allows */
};

static double rate_of(const fplt_privacy_mechanism *mechanism, const char *threat)
{
    fplt_privacy_claim claim;
    return fplt_privacy_claim_make(mechanism, threat, &claim, NULL) ? NAN : claim.renyi_rate;
}

static fplt_status valid_budget(const fplt_privacy_budget *budget, fplt_error *error)
{
    fplt_status status = fplt__valid_epsilon(budget->epsilon, error);
    return status ? status : fplt__valid_fraction("delta", budget->delta, error);
}

static fplt_status rate_of_budget(const fplt_privacy_budget *budget, int is_gaussian,
                                  const char *method, double *rate, fplt_error *error)
{
    fplt_conversion conversion;
    fplt_status status = valid_budget(budget, error);
    if (!status)
        status =
            fplt__conversion_settle(budget->conversion, is_gaussian, method, &conversion, error);
    if (!status)
        *rate = fplt__rate_within(conversion, budget->epsilon, log(budget->delta));
    return status;
}

fplt_status fplt__budget_rate(const fplt_privacy_budget *budget, int is_gaussian, double *rate,
                              fplt_error *error)
{
    return rate_of_budget(budget, is_gaussian, "a promise", rate, error);
}

/* Checks everything but the noise, and finds what the budget allows. */
static fplt_status ask(const fplt_privacy_mechanism *mechanism, const char *threat,
                       const fplt_privacy_budget *budget, struct question *question,
                       fplt_error *error)
{
    fplt_privacy_claim claim;
    fplt_status status = valid_budget(budget, error);
    if (!status)
        status = fplt_privacy_claim_make(mechanism, threat, &claim, error);
    question->mechanism = *mechanism;
    question->threat = threat;
    return status ? status
                  : rate_of_budget(budget, claim.is_gaussian, claim.method, &question->rate, error);
}

static int noise_too_small(double noise_tau, const void *context)
{
    const struct question *question = context;
    fplt_privacy_mechanism mechanism = question->mechanism;
    mechanism.noise_tau = noise_tau;
    return !(rate_of(&mechanism, question->threat) <= question->rate);
}

/* The least noise, or infinity when none is enough. */
static double least_noise(const struct question *question)
{
    if (question->rate <= 0 || noise_too_small(DBL_MAX, question))
        return INFINITY;
    double last, enough;
    fplt__boundary(noise_too_small, question, DBL_MIN, DBL_MAX, &last, &enough);
    return enough;
}

double fplt__noise_within(const fplt_privacy_mechanism *mechanism, const char *threat, double rate)
{
    struct question question = {*mechanism, threat, rate};
    return least_noise(&question);
}

static fplt_status too_little(const struct question *question, const fplt_privacy_budget *budget,
                              fplt_error *error)
{
    fplt_privacy_mechanism mechanism = question->mechanism;
    mechanism.noise_tau = DBL_MAX;
    if (question->rate <= 0)
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "no finite noise gives epsilon = %g at delta = %g with this "
                              "conversion",
                              budget->epsilon, budget->delta);
    return fplt_error_set(
        error, FPLT_UNREACHABLE,
        "epsilon = %g at delta = %g allows mu = %.4g at most, but %s never falls below mu = %.4g "
        "however large the noise%s",
        budget->epsilon, budget->delta, sqrt(2 * question->rate), question->threat,
        sqrt(2 * rate_of(&mechanism, question->threat)),
        mechanism.lattice ? ": on the lattice a step costs at least 3 sqrt(dimension) / 2^20; take "
                            "fewer rounds, fewer coordinates or a larger budget"
                          : "");
}

fplt_status fplt_privacy_calibrate_noise(const fplt_privacy_mechanism *mechanism,
                                         const char *threat, const fplt_privacy_budget *budget,
                                         double *noise_tau, fplt_error *error)
{
    fplt_privacy_mechanism trial = *mechanism;
    struct question question;
    trial.noise_tau = 1;
    fplt_status status = ask(&trial, threat, budget, &question, error);
    if (status)
        return status;
    double least = least_noise(&question);
    if (isinf(least))
        return too_little(&question, budget, error);
    *noise_tau = least;
    return FPLT_OK;
}

fplt_status fplt_privacy_calibrate_rounds(const fplt_privacy_mechanism *mechanism,
                                          const char *threat, const fplt_privacy_budget *budget,
                                          uint64_t limit, uint64_t *rounds, fplt_error *error)
{
    fplt_privacy_mechanism trial = *mechanism;
    struct question question;
    trial.rounds = 1;
    fplt_status status = ask(&trial, threat, budget, &question, error);
    if (status)
        return status;
    if (limit == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE, "limit is 0, but it must be at least 1");
    double once = rate_of(&trial, threat);
    if (!(once <= question.rate))
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "epsilon = %g at delta = %g allows mu = %.4g at most, but one round "
                              "already costs mu = %.4g; add noise",
                              budget->epsilon, budget->delta, sqrt(2 * question.rate),
                              sqrt(2 * once));
    uint64_t most = 1, beyond = limit; /* `most` fits; beyond `beyond` nothing is asked for */
    while (most < beyond) {
        uint64_t middle = beyond - (beyond - most) / 2;
        trial.rounds = middle;
        if (rate_of(&trial, threat) <= question.rate)
            most = middle;
        else
            beyond = middle - 1;
    }
    *rounds = most;
    return FPLT_OK;
}

struct minibatch_question {
    fplt_privacy_minibatch minibatch;
    fplt_conversion conversion;
    double epsilon, delta;
};

static int minibatch_noise_too_small(double noise_tau, const void *context)
{
    const struct minibatch_question *question = context;
    fplt_privacy_minibatch minibatch = question->minibatch;
    minibatch.noise_tau = noise_tau;
    double epsilon =
        fplt__minibatch_epsilon(&minibatch, question->conversion, question->delta, NULL);
    return !(epsilon <= question->epsilon);
}

fplt_status fplt_privacy_calibrate_minibatch(const fplt_privacy_minibatch *minibatch,
                                             const fplt_privacy_budget *budget, double *noise_tau,
                                             fplt_error *error)
{
    struct minibatch_question question = {*minibatch, budget->conversion, budget->epsilon,
                                          budget->delta};
    question.minibatch.noise_tau = 1;
    fplt_status status = valid_budget(budget, error);
    if (!status)
        status = fplt__minibatch_valid(&question.minibatch, error);
    if (!status)
        status = fplt__conversion_settle(budget->conversion, 0, "the sampled Gaussian",
                                         &question.conversion, error);
    if (status)
        return status;
    if (minibatch_noise_too_small(DBL_MAX, &question))
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "epsilon = %g at delta = %g is out of reach of orders up to %d, "
                              "however large the noise",
                              budget->epsilon, budget->delta, FPLT__MAX_ORDER);
    double last;
    fplt__boundary(minibatch_noise_too_small, &question, DBL_MIN, DBL_MAX, &last, noise_tau);
    return FPLT_OK;
}

/* The state of the search over epochs and rounds. */
struct search {
    struct question question;
    const fplt__privacy_search *wanted;
    fplt_privacy_mechanism best;
    double least; /* predicted error of `best` */
};

/* Calibrates one candidate and keeps it when it is better; nonzero if so. */
static int consider(struct search *search, uint64_t epochs, uint64_t rounds)
{
    struct question question = search->question;
    question.mechanism.epochs = epochs;
    question.mechanism.rounds = rounds;
    double noise = least_noise(&question);
    if (isinf(noise))
        return 0;
    question.mechanism.noise_tau = noise;
    double predicted = search->wanted->predict(search->wanted->context, &question.mechanism);
    if (!isfinite(predicted) || predicted >= search->least)
        return 0;
    search->best = question.mechanism;
    search->least = predicted;
    return 1;
}

static uint64_t next_on_grid(uint64_t value)
{
    return value + (value < 8 ? 1 : value / 4);
}

static uint64_t moved(uint64_t value, int direction, uint64_t by, uint64_t most)
{
    if (direction < 0)
        return value > by ? value - by : 1;
    if (direction > 0)
        return most - value > by ? value + by : most;
    return value;
}

/* One sweep over the eight neighbours of the best at distance (epochs/scale, rounds/scale). */
static int improve(struct search *search, uint64_t scale)
{
    const fplt__privacy_search *wanted = search->wanted;
    uint64_t epochs = search->best.epochs, rounds = search->best.rounds;
    uint64_t by_epochs = epochs / scale ? epochs / scale : 1;
    uint64_t by_rounds = rounds / scale ? rounds / scale : 1;
    int better = 0;
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            if (i || j)
                better |= consider(search, moved(epochs, i, by_epochs, wanted->most_epochs),
                                   moved(rounds, j, by_rounds, wanted->most_rounds));
    return better;
}

static void refine(struct search *search)
{
    uint64_t scale = 8, largest;
    do {
        while (improve(search, scale))
            ;
        largest =
            search->best.epochs > search->best.rounds ? search->best.epochs : search->best.rounds;
        scale *= 2;
    } while (scale / 2 <= largest);
}

fplt_status fplt__privacy_calibrate_search(const fplt_privacy_mechanism *mechanism,
                                           const char *threat, const fplt_privacy_budget *budget,
                                           const fplt__privacy_search *search,
                                           fplt_privacy_mechanism *best, double *predicted,
                                           fplt_error *error)
{
    const uint64_t most = UINT64_C(1) << 40;
    if (search->most_epochs < 1 || search->most_rounds < 1 || search->most_epochs > most ||
        search->most_rounds > most)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "most_epochs is %llu and most_rounds %llu, but both must be from 1 to "
            "2^40",
            (unsigned long long)search->most_epochs, (unsigned long long)search->most_rounds);
    struct search state = {.wanted = search, .least = INFINITY};
    fplt_privacy_mechanism trial = *mechanism;
    trial.noise_tau = 1;
    trial.epochs = trial.rounds = 1;
    fplt_status status = ask(&trial, threat, budget, &state.question, error);
    if (status)
        return status;
    for (uint64_t epochs = 1; epochs <= search->most_epochs; epochs = next_on_grid(epochs))
        for (uint64_t rounds = 1; rounds <= search->most_rounds; rounds = next_on_grid(rounds))
            consider(&state, epochs, rounds);
    if (isinf(state.least))
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "no epochs up to %llu and rounds up to %llu fit epsilon = %g at "
                              "delta = %g with a finite predicted error",
                              (unsigned long long)search->most_epochs,
                              (unsigned long long)search->most_rounds, budget->epsilon,
                              budget->delta);
    refine(&state);
    *best = state.best;
    *predicted = state.least;
    return FPLT_OK;
}
