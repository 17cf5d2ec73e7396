/* A user's own h: with its prox, or with its gradient only. */
#include "prox/prox.h"

#include <math.h>
#include <string.h>

static fplt_status callback_value(const fplt_prox *prox, const double *x, double *value)
{
    const fplt_prox_callbacks *user = &prox->callbacks;
    return user->value(user->context, x, value) || isnan(*value) ? FPLT_FAILED : FPLT_OK;
}

static int all_finite(const double *x, size_t count)
{
    int finite = 1;
    for (size_t i = 0; i < count; i++)
        finite &= isfinite(x[i]) != 0;
    return finite;
}

/* The user's function never sees the same array twice. */
static fplt_status callback_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    const fplt_prox_callbacks *user = &prox->callbacks;
    memcpy(prox->work, v, prox->penalised * sizeof *v);
    if (user->apply(user->context, t, prox->work, x) || !all_finite(x, prox->penalised))
        return FPLT_FAILED;
    return FPLT_OK;
}

const fplt__prox_kind fplt__prox_callback = {
    .name = "callback",
    .help = "the caller's own value and prox",
    .value = callback_value,
    .apply = callback_apply,
    .work = 1,
};

static fplt_status inexact_value(const fplt_prox *prox, const double *x, double *value)
{
    const fplt_prox_inexact *user = &prox->inexact;
    return user->value(user->context, x, value) || isnan(*value) ? FPLT_FAILED : FPLT_OK;
}

/* Gradient of F(y) = h(y) + ||y - v||^2/(2t), and its norm. */
static fplt_status prox_gradient(const fplt_prox *prox, double t, const double *v, const double *y,
                                 double *gradient, double *size)
{
    const fplt_prox_inexact *user = &prox->inexact;
    if (user->gradient(user->context, y, gradient))
        return FPLT_FAILED;
    double sum = 0;
    for (size_t i = 0; i < prox->penalised; i++) {
        gradient[i] += (y[i] - v[i]) / t;
        sum += gradient[i] * gradient[i];
    }
    *size = sqrt(sum);
    return isfinite(sum) ? FPLT_OK : FPLT_FAILED;
}

/* Steps that suffice when the stated smoothness is true: the error shrinks by 1 - 1/sqrt(kappa) a
 * step, so 200 sqrt(kappa) steps shrink it by e^-200, far below rounding. */
static double most_steps(double kappa)
{
    return fmin(1000 + 200 * sqrt(kappa), 1e7);
}

/* Nesterov's method with constant momentum [Nesterov 2018, scheme 2.2.22] on F, which is (1/t)-
 * strongly convex and (L + 1/t)-smooth. Strong convexity gives ||y - prox|| <= t ||grad F(y)||: the
 * test for the end is a proof. */
static fplt_status inexact_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    size_t n = prox->penalised;
    double *centre = prox->work, *y = centre + n, *last = y + n, *gradient = last + n;
    double kappa = 1 + prox->inexact.smoothness * t, step = t / kappa;
    double momentum = (sqrt(kappa) - 1) / (sqrt(kappa) + 1), steps = most_steps(kappa);
    memcpy(centre, v, n * sizeof *v);
    memcpy(y, v, n * sizeof *v);
    memcpy(last, v, n * sizeof *v);
    for (double k = 0; k < steps; k++) {
        double size;
        fplt_status status = prox_gradient(prox, t, centre, y, gradient, &size);
        if (status)
            return status;
        if (t * size <= prox->inexact.accuracy) {
            memcpy(x, y, n * sizeof *x);
            return FPLT_OK;
        }
        for (size_t i = 0; i < n; i++) {
            double next = y[i] - step * gradient[i];
            y[i] = next + momentum * (next - last[i]);
            last[i] = next;
        }
    }
    return FPLT_FAILED;
}

const fplt__prox_kind fplt__prox_inexactly = {
    .name = "inexact",
    .help = "the caller's own value and gradient, the prox by iteration",
    .value = inexact_value,
    .apply = inexact_apply,
    .work = 4,
};
