/* Bounds on a binomial probability, and from them on the privacy loss that an attack's errors show.
 *
 * P(binomial(n, p) >= k) = I_p(k, n - k + 1): the bounds of [Clopper and Pearson 1934] are where
 * that, or its complement, equals the doubt (base/statistics.h). A mu-GDP mechanism has false negatives at
 * least Phi(Phi^-1(1 - false positives) - mu) [Dong, Roth and Su 2022]. */
#include "privacy/binomial.h"

#include <float.h>
#include <math.h>

#include "base/statistics.h"
#include "fedplt/privacy.h"
#include "privacy/boundary.h"
#include "base/normal.h"
#include "privacy/privacy.h"
#include "privacy/valid.h"

double fplt__beta_ratio(double a, double b, double x)
{
    return fplt__beta_tail(a, b, x, 1 - x);
}

struct tail {
    double a, b, target;
};

static int tail_too_small(double p, const void *context)
{
    const struct tail *tail = context;
    return fplt__beta_ratio(tail->a, tail->b, p) < tail->target;
}

/* The p with I_p(a, b) = target, from below. */
static double beta_quantile(double a, double b, double target)
{
    struct tail tail = {a, b, target};
    double p, beyond;
    fplt__boundary(tail_too_small, &tail, DBL_MIN, 1, &p, &beyond);
    return p;
}

fplt_status fplt__privacy_binomial_bounds(uint64_t hits, uint64_t trials, double confidence,
                                          double *low, double *high, fplt_error *error)
{
    fplt_status status = fplt__valid_fraction("confidence", confidence, error);
    if (status)
        return status;
    if (trials == 0 || hits > trials)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%llu hits of %llu trials: there must be a trial, and no more hits "
                              "than trials",
                              (unsigned long long)hits, (unsigned long long)trials);
    double k = (double)hits, missed = (double)(trials - hits), doubt = 1 - confidence;
    *low = hits == 0 ? 0 : beta_quantile(k, missed + 1, doubt);
    /* the upper bound is the lower one of the misses, seen from 1 */
    *high = hits == trials ? 1 : 1 - beta_quantile(missed, k + 1, doubt);
    return FPLT_OK;
}

fplt_status fplt__privacy_audit_bound(const fplt_privacy_trials *trials, double confidence,
                                      double *gdp_mu, fplt_error *error)
{
    double low, false_positives, false_negatives, each = 1 - (1 - confidence) / 2;
    fplt_status status = fplt__valid_fraction("confidence", confidence, error);
    if (!status)
        status = fplt__privacy_binomial_bounds(trials->false_positives, trials->negatives, each,
                                               &low, &false_positives, error);
    if (!status)
        status = fplt__privacy_binomial_bounds(trials->false_negatives, trials->positives, each,
                                               &low, &false_negatives, error);
    if (status)
        return status;
    double bound = -fplt__normal_quantile(false_positives) - fplt__normal_quantile(false_negatives);
    *gdp_mu = fmax(0, bound);
    return FPLT_OK;
}
