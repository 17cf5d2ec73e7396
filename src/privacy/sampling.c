/* Privacy amplified by chance: rounds that an agent sits out, records that a minibatch leaves out.
 *
 * Rounds: a mixture of being active or not, K/(a - 1) ln(1 - p + p exp(a (a - 1) mu_round^2/2)).
 * Records: the sampled Gaussian at whole orders [Mironov, Talwar and Zhang 2019],
 * 1/(a - 1) ln sum_k C(a, k) (1 - p)^(a-k) p^k exp(k (k - 1)/(2 sigma^2)), a step. The binomial
 * weights add up to 1, so the sum is 1 + sum over k >= 2 with exp - 1 in place of exp: nothing is
 * lost where the divergence is small. */
#include "privacy/sampling.h"

#include <math.h>

#include "privacy/privacy.h"
#include "privacy/valid.h"

/* ln(1 + exp(t)) */
static double softplus(double t)
{
    return t > 0 ? t + log1p(exp(-t)) : log1p(exp(t));
}

/* ln(exp(t) - 1), t > 0 */
static double log_expm1(double t)
{
    return t > 1 ? t + log1p(-exp(-t)) : log(expm1(t));
}

typedef double (*divergence_function)(const void *context, double order);

/* (a - 1) epsilon(a) is convex in a for both conversions, so epsilon(a) falls and then rises: find
 * where it begins to rise. */
static double best_over_orders(divergence_function divergence, const void *context,
                               fplt_conversion conversion, double delta, uint32_t *order)
{
    uint32_t low = FPLT__MIN_ORDER, high = FPLT__MAX_ORDER;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        double here =
            fplt__privacy_epsilon_at(conversion, middle, divergence(context, middle), delta);
        double next = fplt__privacy_epsilon_at(conversion, middle + 1,
                                               divergence(context, middle + 1), delta);
        if (next < here)
            low = middle + 1;
        else
            high = middle;
    }
    if (order)
        *order = low;
    return fplt__privacy_epsilon_at(conversion, low, divergence(context, low), delta);
}

static fplt_status lottery_valid(const fplt_privacy_lottery *lottery, fplt_error *error)
{
    fplt_status status = fplt__valid_probability("probability", lottery->probability, error);
    return status ? status : fplt__valid_positive("mu_round", lottery->mu_round, error);
}

static double lottery_divergence(const void *context, double order)
{
    const fplt_privacy_lottery *lottery = context;
    double p = lottery->probability, mu = lottery->mu_round;
    double gain = log_expm1(order * (order - 1) * mu * mu / 2) + log(p);
    return lottery->rounds ? (double)lottery->rounds * (softplus(gain) / (order - 1)) : 0;
}

fplt_status fplt__privacy_lottery_renyi(const fplt_privacy_lottery *lottery, double order,
                                        double *divergence, fplt_error *error)
{
    fplt_status status = lottery_valid(lottery, error);
    if (status)
        return status;
    if (!(order > 1 && isfinite(order)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "order is %g, but it must be above 1", order);
    *divergence = lottery_divergence(lottery, order);
    return FPLT_OK;
}

fplt_status fplt_privacy_lottery_epsilon(const fplt_privacy_lottery *lottery, double delta,
                                         double *epsilon, uint32_t *order, fplt_error *error)
{
    fplt_status status = lottery_valid(lottery, error);
    if (!status)
        status = fplt__valid_fraction("delta", delta, error);
    if (!status)
        *epsilon = best_over_orders(lottery_divergence, lottery, FPLT_CONVERT_TIGHT, delta, order);
    return status;
}

fplt_status fplt__minibatch_valid(const fplt_privacy_minibatch *minibatch, fplt_error *error)
{
    fplt_status status = fplt__valid_probability("rate", minibatch->rate, error);
    if (!status)
        status = fplt__valid_positive("clip", minibatch->clip, error);
    if (!status)
        status = fplt__valid_positive("records", (double)minibatch->records, error);
    if (!status)
        status = fplt__valid_positive("step", minibatch->step, error);
    if (!status)
        status = fplt__valid_positive("noise_tau", minibatch->noise_tau, error);
    return status;
}

double fplt__privacy_noise_multiplier(const fplt_privacy_minibatch *minibatch)
{
    return minibatch->noise_tau * minibatch->rate * (double)minibatch->records *
           sqrt(2 / minibatch->step) / minibatch->clip;
}

/* One step; `order` is whole. */
static double sampled_gaussian(double rate, double sigma, double order)
{
    double curve = 1 / (2 * sigma * sigma);
    if (rate >= 1 || curve <= 0 || isinf(curve))
        return order * curve;
    double log_in = log(rate), log_out = log1p(-rate);
    double largest = -INFINITY, sum = 0;
    double log_choose = log(order); /* C(order, 1) */
    for (double k = 2; k <= order; k++) {
        log_choose += log((order - k + 1) / k);
        double term =
            log_choose + k * log_in + (order - k) * log_out + log_expm1(k * (k - 1) * curve);
        if (term > largest) {
            sum = sum * exp(largest - term) + 1;
            largest = term;
        } else
            sum += exp(term - largest);
    }
    return softplus(largest + log(sum)) / (order - 1);
}

static double minibatch_divergence(const void *context, double order)
{
    const fplt_privacy_minibatch *minibatch = context;
    double sigma = fplt__privacy_noise_multiplier(minibatch);
    if (!minibatch->steps)
        return 0;
    return (double)minibatch->steps * sampled_gaussian(minibatch->rate, sigma, order);
}

fplt_status fplt__privacy_minibatch_renyi(const fplt_privacy_minibatch *minibatch, uint32_t order,
                                          double *divergence, fplt_error *error)
{
    fplt_status status = fplt__minibatch_valid(minibatch, error);
    if (status)
        return status;
    if (order < FPLT__MIN_ORDER || order > FPLT__MAX_ORDER)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "order is %u, but it must be a whole number from %d to %d", order,
                              FPLT__MIN_ORDER, FPLT__MAX_ORDER);
    *divergence = minibatch_divergence(minibatch, order);
    return FPLT_OK;
}

double fplt__minibatch_epsilon(const fplt_privacy_minibatch *minibatch, fplt_conversion conversion,
                               double delta, uint32_t *order)
{
    return best_over_orders(minibatch_divergence, minibatch, conversion, delta, order);
}

fplt_status fplt_privacy_minibatch_epsilon(const fplt_privacy_minibatch *minibatch, double delta,
                                           double *epsilon, uint32_t *order, fplt_error *error)
{
    fplt_status status = fplt__minibatch_valid(minibatch, error);
    if (!status)
        status = fplt__valid_fraction("delta", delta, error);
    if (!status)
        *epsilon = fplt__minibatch_epsilon(minibatch, FPLT_CONVERT_TIGHT, delta, order);
    return status;
}
