/* Meta-analysis: the variance between the sites, and the combined estimate. */
#include "study/meta.h"

#include <math.h>

#include "base/statistics.h"
#include "base/normal.h"

/* Sums over the sites with weights 1/(error^2 + tau2). */
struct weighted {
    double sum, squares; /* of the weights */
    double mean, q;      /* weighted mean, and weighted squares about it */
    double q2;           /* the same with squared weights */
};

static struct weighted weigh(const double *y, const double *error, size_t k, double tau2)
{
    struct weighted sums = {0, 0, 0, 0, 0};
    double total = 0;
    for (size_t i = 0; i < k; i++) {
        double w = 1 / (error[i] * error[i] + tau2);
        sums.sum += w;
        sums.squares += w * w;
        total += w * y[i];
    }
    sums.mean = total / sums.sum;
    for (size_t i = 0; i < k; i++) {
        double w = 1 / (error[i] * error[i] + tau2), away = y[i] - sums.mean;
        sums.q += w * away * away;
        sums.q2 += w * w * away * away;
    }
    return sums;
}

/* Twice the derivative of the restricted log-likelihood in tau2: y'PPy - tr P. */
static double slope_of(const double *y, const double *error, size_t k, double tau2)
{
    struct weighted sums = weigh(y, error, k, tau2);
    return sums.q2 - (sums.sum - sums.squares / sums.sum);
}

/* The root of the slope by bisection: above 0 where it rises there. */
static double restricted_likelihood(const double *y, const double *error, size_t k)
{
    double low = 0, high = 0;
    if (slope_of(y, error, k, 0) <= 0)
        return 0;
    for (size_t i = 0; i < k; i++)
        high = fmax(high, error[i] * error[i]);
    while (slope_of(y, error, k, high) > 0 && isfinite(high))
        high *= 2;
    for (int step = 0; step < 200 && low < high; step++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (slope_of(y, error, k, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

static double between_sites(const double *y, const double *error, size_t k, fplt_meta_method method)
{
    struct weighted sums = weigh(y, error, k, 0);
    if (method == FPLT_META_FIXED || k < 2)
        return 0;
    if (method == FPLT_META_REML)
        return restricted_likelihood(y, error, k);
    return fmax(0, (sums.q - (double)(k - 1)) / (sums.sum - sums.squares / sums.sum));
}

static double share_between(const struct weighted *fixed, size_t k, double tau2,
                            fplt_meta_method method)
{
    double freedom = (double)(k - 1);
    if (k < 2)
        return NAN;
    if (method == FPLT_META_FIXED)
        return fixed->q > 0 ? 100 * fmax(0, (fixed->q - freedom) / fixed->q) : 0;
    double typical = freedom * fixed->sum / (fixed->sum * fixed->sum - fixed->squares);
    return 100 * tau2 / (tau2 + typical);
}

fplt_meta_result fplt_meta_combine(const double *y, const double *error, size_t k,
                                   const fplt_meta_settings *settings)
{
    struct weighted fixed = weigh(y, error, k, 0);
    double tau2 = between_sites(y, error, k, settings->method), freedom = (double)k - 1;
    struct weighted sums = weigh(y, error, k, tau2);
    int by_spread = settings->hartung_knapp && settings->method != FPLT_META_FIXED;
    fplt_meta_result result = {.sites = k, .estimate = sums.mean, .tau2 = tau2};
    double scale = by_spread ? sums.q / freedom : 1;
    result.error = sqrt(scale / sums.sum);
    result.statistic = result.estimate / result.error;
    double quantile = by_spread ? fplt__student_quantile(settings->level, freedom)
                                : fplt__normal_quantile((1 + settings->level) / 2);
    result.p = by_spread ? fplt__student_two_sided(result.statistic, freedom)
                         : erfc(fabs(result.statistic) / sqrt(2));
    result.low = result.estimate - quantile * result.error;
    result.high = result.estimate + quantile * result.error;
    result.q = k > 1 ? fixed.q : NAN;
    result.q_p = k > 1 ? fplt__chi_tail(fixed.q, freedom) : NAN;
    result.i_squared = share_between(&fixed, k, tau2, settings->method);
    return result;
}
