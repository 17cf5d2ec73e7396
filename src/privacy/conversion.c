/* From a claim to (epsilon, delta). With D = mu^2/2:
 * classic [Mironov 2017, the paper's lemma]: epsilon = D + 2 sqrt(D ln(1/delta)), at the order
 *     1 + sqrt(ln(1/delta)/D);
 * tight [Canonne, Kamath and Steinke 2020, prop. 12; Balle et al. 2020]: with b = order - 1 from
 *     D b^2 + ln(1 + b) = ln(1/delta), epsilon = D (2 b + 1) - ln(1 + 1/b), or 0;
 * exact [Balle and Wang 2018; Dong, Roth and Su 2022]: delta = Phi(-epsilon/mu + mu/2) -
 *     e^epsilon Phi(-epsilon/mu - mu/2). */
#include "privacy/conversion.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "privacy/boundary.h"
#include "base/normal.h"
#include "privacy/privacy.h"
#include "privacy/valid.h"

static const double half_log_two_pi = 0.91893853320467274178032973640562;

static double classic_order(double rate, double log_delta)
{
    return 1 + sqrt(-log_delta / rate);
}

static double classic_epsilon(double rate, double log_delta)
{
    return rate + 2 * sqrt(rate * -log_delta);
}

static double classic_log_delta(double rate, double epsilon)
{
    double above = epsilon - rate;
    return above > 0 ? -above * (above / (4 * rate)) : 0;
}

struct tight_equation {
    double rate, target;
};

static int order_too_small(double b, const void *context)
{
    const struct tight_equation *equation = context;
    return equation->rate * b * b + log1p(b) < equation->target;
}

static int epsilon_too_small(double b, const void *context)
{
    const struct tight_equation *equation = context;
    return equation->rate * (2 * b + 1) - log1p(1 / b) < equation->target;
}

static double tight_excess(double rate, double log_delta)
{
    struct tight_equation equation = {rate, -log_delta};
    double last, b;
    fplt__boundary(order_too_small, &equation, DBL_MIN, DBL_MAX, &last, &b);
    return b;
}

static double tight_order(double rate, double log_delta)
{
    return 1 + tight_excess(rate, log_delta);
}

static double tight_epsilon(double rate, double log_delta)
{
    double b = tight_excess(rate, log_delta);
    return fmax(0, rate * (2 * b + 1) - log1p(1 / b));
}

/* The same pair of equations solved for delta. */
static double tight_log_delta(double rate, double epsilon)
{
    struct tight_equation equation = {rate, epsilon};
    double b, beyond;
    fplt__boundary(epsilon_too_small, &equation, DBL_MIN, DBL_MAX, &b, &beyond);
    return -(rate * b * b + log1p(b));
}

/* With x = epsilon/mu, h = mu/2 and Mills' ratio R, e^epsilon phi(x + h) = phi(x - h), so delta is
 * phi(x - h) (R(x - h) - R(x + h)). */
static double exact_log_delta(double rate, double epsilon)
{
    double mu = sqrt(2 * rate), x = epsilon / mu, h = mu / 2, offset = x - h;
    double log_density = -offset * offset / 2 - half_log_two_pi;
    if (offset >= -1)
        return log_density + fplt__normal_log_mills_gap(x, h);
    return log1p(-exp(fplt__normal_log_cdf(offset)) - exp(log_density) * fplt__normal_mills(x + h));
}

struct exact_equation {
    double rate, log_delta;
};

static int delta_too_large(double epsilon, const void *context)
{
    const struct exact_equation *equation = context;
    return exact_log_delta(equation->rate, epsilon) > equation->log_delta;
}

static double exact_epsilon(double rate, double log_delta)
{
    struct exact_equation equation = {rate, log_delta};
    if (!delta_too_large(0, &equation))
        return 0;
    double last, epsilon;
    fplt__boundary(delta_too_large, &equation, DBL_MIN, DBL_MAX, &last, &epsilon);
    return epsilon;
}

static double exact_order(double rate, double log_delta)
{
    (void)rate;
    (void)log_delta;
    return NAN;
}

/* epsilon from one order; NULL where the conversion does not go through orders */
static double classic_at(double order, double divergence, double log_delta)
{
    return divergence - log_delta / (order - 1);
}

static double tight_at(double order, double divergence, double log_delta)
{
    return fmax(0, divergence + log1p(-1 / order) - (log_delta + log(order)) / (order - 1));
}

static const struct {
    const char *name, *help;
    double (*epsilon)(double rate, double log_delta);
    double (*log_delta)(double rate, double epsilon);
    double (*order)(double rate, double log_delta);
    double (*at)(double order, double divergence, double log_delta);
} conversions[] = {
    [FPLT_CONVERT_BEST] = {"best", "exact where the claim is Gaussian, tight elsewhere", NULL, NULL,
                           NULL, NULL},
    [FPLT_CONVERT_CLASSIC] = {"classic", "from the Renyi divergence, as the paper does",
                              classic_epsilon, classic_log_delta, classic_order, classic_at},
    [FPLT_CONVERT_TIGHT] = {"tight", "from the Renyi divergence, as accounting libraries do",
                            tight_epsilon, tight_log_delta, tight_order, tight_at},
    [FPLT_CONVERT_EXACT] = {"exact", "the Gaussian's own curve, for Gaussian claims only",
                            exact_epsilon, exact_log_delta, exact_order, NULL},
};

enum { CONVERSIONS = sizeof conversions / sizeof *conversions };

const char *fplt__privacy_conversion(size_t index, const char **help)
{
    if (index >= CONVERSIONS)
        return NULL;
    if (help)
        *help = conversions[index].help;
    return conversions[index].name;
}

fplt_status fplt__privacy_conversion_find(const char *name, fplt_conversion *conversion,
                                          fplt_error *error)
{
    for (size_t i = 0; i < CONVERSIONS; i++)
        if (strcmp(conversions[i].name, name) == 0) {
            *conversion = (fplt_conversion)i;
            return FPLT_OK;
        }
    return fplt_error_set(
        error, FPLT_BAD_VALUE,
        "there is no conversion '%.80s'; it must be best, classic, tight or exact", name);
}

fplt_status fplt__conversion_settle(fplt_conversion wanted, int is_gaussian, const char *claim,
                                    fplt_conversion *settled, fplt_error *error)
{
    if ((size_t)wanted >= CONVERSIONS)
        return fplt_error_set(error, FPLT_BAD_VALUE, "there is no conversion number %d",
                              (int)wanted);
    if (wanted == FPLT_CONVERT_EXACT && !is_gaussian)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s bounds the Renyi divergence only: the exact Gaussian formula "
                              "would promise more than it proves; use tight or classic",
                              claim);
    *settled = wanted != FPLT_CONVERT_BEST ? wanted
               : is_gaussian               ? FPLT_CONVERT_EXACT
                                           : FPLT_CONVERT_TIGHT;
    return FPLT_OK;
}

double fplt__rate_log_delta(fplt_conversion conversion, double rate, double epsilon)
{
    if (rate <= 0)
        return -INFINITY;
    if (isinf(rate))
        return 0;
    return fmin(0, conversions[conversion].log_delta(rate, epsilon));
}

double fplt__rate_epsilon(fplt_conversion conversion, double rate, double log_delta)
{
    if (rate <= 0)
        return 0;
    if (isinf(rate))
        return INFINITY;
    return conversions[conversion].epsilon(rate, log_delta);
}

struct rate_question {
    fplt_conversion conversion;
    double epsilon, log_delta;
};

static int rate_fits(double rate, const void *context)
{
    const struct rate_question *question = context;
    return fplt__rate_log_delta(question->conversion, rate, question->epsilon) <=
           question->log_delta;
}

double fplt__rate_within(fplt_conversion conversion, double epsilon, double log_delta)
{
    struct rate_question question = {conversion, epsilon, log_delta};
    double rate, beyond;
    if (!rate_fits(DBL_MIN, &question))
        return 0;
    fplt__boundary(rate_fits, &question, DBL_MIN, DBL_MAX, &rate, &beyond);
    return rate;
}

fplt_status fplt_privacy_epsilon(const fplt_privacy_claim *claim, fplt_conversion conversion,
                                 double delta, double *epsilon, fplt_error *error)
{
    fplt_status status = fplt__valid_fraction("delta", delta, error);
    if (!status)
        status = fplt__conversion_settle(conversion, claim->is_gaussian, claim->method, &conversion,
                                         error);
    if (!status)
        *epsilon = fplt__rate_epsilon(conversion, claim->renyi_rate, log(delta));
    return status;
}

fplt_status fplt__privacy_log_delta(const fplt_privacy_claim *claim, fplt_conversion conversion,
                                    double epsilon, double *log_delta, fplt_error *error)
{
    fplt_status status = fplt__valid_epsilon(epsilon, error);
    if (!status)
        status = fplt__conversion_settle(conversion, claim->is_gaussian, claim->method, &conversion,
                                         error);
    if (!status)
        *log_delta = fplt__rate_log_delta(conversion, claim->renyi_rate, epsilon);
    return status;
}

double fplt__privacy_order(const fplt_privacy_claim *claim, fplt_conversion conversion,
                           double delta)
{
    if (fplt__valid_fraction("delta", delta, NULL) || !(claim->renyi_rate > 0) ||
        fplt__conversion_settle(conversion, claim->is_gaussian, "", &conversion, NULL))
        return NAN;
    return conversions[conversion].order(claim->renyi_rate, log(delta));
}

double fplt__privacy_renyi(const fplt_privacy_claim *claim, double order)
{
    return order > 1 ? order * claim->renyi_rate : NAN;
}

double fplt__privacy_epsilon_at(fplt_conversion conversion, double order, double divergence,
                                double delta)
{
    if ((size_t)conversion >= CONVERSIONS || !conversions[conversion].at || !(order > 1) ||
        fplt__valid_fraction("delta", delta, NULL))
        return NAN;
    return conversions[conversion].at(order, divergence, log(delta));
}
