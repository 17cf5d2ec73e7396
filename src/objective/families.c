/* Gamma with a logarithmic link: y e^-m + m, minus the logarithm of the density times the dispersion, up to a constant.
 * Probit with u = -b <a, x>: -log Phi(-u). Both links are not canonical: `expect` has the mean of the second derivative,
 * which the information of generalised linear models is made of [McCullagh and Nelder 1989, 2.5]. */
#include "objective/families.h"

#include <math.h>

#include "base/normal.h"

/* Below this linear predictor the parabola of e^-m there goes on, so that sums of losses stay finite; no mean of a record
 * is below e^-300. */
static const double lowest_predictor = -300;

/* e^-m with its first `derivative`s. */
static double inverse_mean(double m, int derivative)
{
    double past = lowest_predictor - m;
    if (!(past > 0))
        return derivative == 1 ? -exp(-m) : exp(-m);
    double top = exp(-lowest_predictor);
    return derivative == 0   ? top * (1 + past + past * past / 2)
           : derivative == 1 ? -top * (1 + past)
                             : top;
}

void fplt__gamma_value(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] = block->label[r] * inverse_mean(m[r], 0) + m[r];
}

void fplt__gamma_slope(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] = block->label[r] * inverse_mean(m[r], 1) + 1;
}

void fplt__gamma_curve(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] = block->label[r] * inverse_mean(m[r], 2);
}

void fplt__gamma_expect(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] = 1;
}

double fplt__gamma_constant(double label)
{
    return log(label);
}

double fplt__gamma_deviance(double label, double mean, const double *shared)
{
    (void)shared;
    return 2 * ((label - mean) / mean - log(label / mean));
}

double fplt__poisson_constant(double label)
{
    int sign;
    return lgamma_r(label + 1, &sign);
}

double fplt__poisson_deviance(double count, double expected, const double *shared)
{
    (void)shared;
    double surprise = count > 0 ? count * log(count / expected) : 0;
    return 2 * (surprise - (count - expected));
}

void fplt__probit_value(const fplt__block *block, double *u)
{
    for (size_t r = 0; r < block->count; r++)
        u[r] = -fplt__normal_log_cdf(-u[r]);
}

void fplt__probit_slope(const fplt__block *block, double *u)
{
    for (size_t r = 0; r < block->count; r++)
        u[r] = fplt__normal_hazard(u[r], NULL);
}

void fplt__probit_curve(const fplt__block *block, double *u)
{
    for (size_t r = 0; r < block->count; r++) {
        double above, hazard = fplt__normal_hazard(u[r], &above);
        u[r] = hazard * above;
    }
}

void fplt__probit_expect(const fplt__block *block, double *u)
{
    for (size_t r = 0; r < block->count; r++)
        u[r] = fplt__normal_hazard(u[r], NULL) * fplt__normal_hazard(-u[r], NULL);
}

double fplt__probit_probability(double m)
{
    return erfc(-m * M_SQRT1_2) / 2;
}
