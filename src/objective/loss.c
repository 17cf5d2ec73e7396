/* The losses of a margin, and the registry of all losses.
 * With u = -b <a, x>: logistic log(1 + e^u), squared hinge max(0, 1 + u)^2 / 2.
 * Poisson e^m - y m with m = <a, x>.
 * With t = <a, x> - y: least squares t^2 / 2, Huber t^2 / 2 up to |t| = delta, linear beyond. */
#include "objective/loss.h"

#include <math.h>

#include "objective/cox.h"
#include "objective/families.h"
#include "objective/random_intercept.h"
#include "objective/shared.h"
#include "objective/softmax.h"

#define BINARY     (1u << FPLT_TASK_BINARY)
#define CLASSES    (1u << FPLT_TASK_CLASSES)
#define REGRESSION (1u << FPLT_TASK_REGRESSION)
#define SURVIVAL   (1u << FPLT_TASK_SURVIVAL)

/* logistic */

static void logistic_value(const fplt__block *block, double *u)
{
    block->kernel->softplus(u, block->count);
}

static void logistic_slope(const fplt__block *block, double *u)
{
    block->kernel->sigmoid(u, block->count);
}

static void logistic_both(const fplt__block *block, double *u, double *values)
{
    block->kernel->logistic(u, values, block->count);
}

static void logistic_curve(const fplt__block *block, double *u)
{
    block->kernel->sigmoid(u, block->count);
    for (size_t r = 0; r < block->count; r++)
        u[r] *= 1 - u[r];
}

/* any loss of one output: the curve is the second derivative itself */
static void scalar_bend(const fplt__block *block, const double *curve, double *direction)
{
    for (size_t r = 0; r < block->count; r++)
        direction[r] *= curve[r];
}

static size_t flipped_hits(const fplt__block *block, const double *u)
{
    size_t ties, hits = block->kernel->below(u, block->count, &ties);
    for (size_t r = 0; ties && r < block->count; r++)
        hits += u[r] == 0 && block->negative[r];
    return hits;
}

static const fplt__loss logistic = {
    .name = "logistic",
    .likelihood = 1,
    .help = "log(1 + exp(-b m)): two classes",
    .tasks = BINARY,
    .flips = 1,
    .sigmoid = 1,
    .probable = 1,
    .least = 0,
    .most = 0.25,
    .value = logistic_value,
    .slope = logistic_slope,
    .both = logistic_both,
    .curve = logistic_curve,
    .bend = scalar_bend,
    .hits = flipped_hits,
};

/* least squares */

static void squares_value(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] = (m[r] - block->label[r]) * (m[r] - block->label[r]) / 2;
}

static void squares_slope(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] -= block->label[r];
}

static void squares_curve(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] = 1;
}

static size_t sign_hits(const fplt__block *block, const double *m)
{
    size_t hits = 0;
    for (size_t r = 0; r < block->count; r++)
        hits += m[r] * block->label[r] > 0 || (m[r] == 0 && block->label[r] < 0);
    return hits;
}

static const fplt__loss squares = {
    .name = "least-squares",
    .likelihood = 1,
    .dispersed = 1,
    .help = "(m - y)^2 / 2: regression, or two classes as -1 and +1",
    .tasks = REGRESSION | BINARY,
    .least = 1,
    .most = 1,
    .value = squares_value,
    .slope = squares_slope,
    .curve = squares_curve,
    .bend = scalar_bend,
    .hits = sign_hits,
};

/* Huber: comparisons are written so that a NaN stays one */

static void huber_value(const fplt__block *block, double *m)
{
    double delta = block->parameter;
    for (size_t r = 0; r < block->count; r++) {
        double t = fabs(m[r] - block->label[r]);
        m[r] = t > delta ? delta * (t - delta / 2) : t * t / 2;
    }
}

static void huber_slope(const fplt__block *block, double *m)
{
    double delta = block->parameter;
    for (size_t r = 0; r < block->count; r++) {
        double t = m[r] - block->label[r];
        m[r] = t > delta ? delta : t < -delta ? -delta : t;
    }
}

static void huber_curve(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] = fabs(m[r] - block->label[r]) <= block->parameter;
}

static const fplt__loss huber = {
    .name = "huber",
    .help =
        "(m - y)^2 / 2 up to a distance of huber_delta, linear beyond: regression with outliers",
    .tasks = REGRESSION | BINARY,
    .kinked = 1,
    .parameter = "huber-delta",
    .least = 0,
    .most = 1,
    .value = huber_value,
    .slope = huber_slope,
    .curve = huber_curve,
    .bend = scalar_bend,
    .hits = sign_hits,
};

/* squared hinge */

static void hinge_value(const fplt__block *block, double *u)
{
    for (size_t r = 0; r < block->count; r++)
        u[r] = 1 + u[r] <= 0 ? 0 : (1 + u[r]) * (1 + u[r]) / 2;
}

static void hinge_slope(const fplt__block *block, double *u)
{
    for (size_t r = 0; r < block->count; r++)
        u[r] = 1 + u[r] <= 0 ? 0 : 1 + u[r];
}

static void hinge_curve(const fplt__block *block, double *u)
{
    for (size_t r = 0; r < block->count; r++)
        u[r] = 1 + u[r] > 0;
}

static const fplt__loss hinge = {
    .name = "squared-hinge",
    .help = "max(0, 1 - b m)^2 / 2: two classes, a smooth support vector machine",
    .tasks = BINARY,
    .flips = 1,
    .kinked = 1,
    .least = 0,
    .most = 1,
    .value = hinge_value,
    .slope = hinge_slope,
    .curve = hinge_curve,
    .bend = scalar_bend,
    .hits = flipped_hits,
};

/* Poisson: e^m - y m. Past the bound B on the linear predictor the exponential goes on as its
 * parabola there, so that the second derivative is at most e^B and the loss stays convex. */

static void poisson_value(const fplt__block *block, double *m)
{
    double bound = block->parameter, top = exp(bound);
    for (size_t r = 0; r < block->count; r++) {
        double past = m[r] - bound;
        double mean = past > 0 ? top * (1 + past + past * past / 2) : exp(m[r]);
        m[r] = mean - block->label[r] * m[r];
    }
}

static void poisson_slope(const fplt__block *block, double *m)
{
    double bound = block->parameter, top = exp(bound);
    for (size_t r = 0; r < block->count; r++)
        m[r] = (m[r] > bound ? top * (1 + m[r] - bound) : exp(m[r])) - block->label[r];
}

static void poisson_curve(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++)
        m[r] = exp(m[r] > block->parameter ? block->parameter : m[r]);
}

static const fplt__loss poisson = {
    .name = "poisson",
    .likelihood = 1,
    .help = "exp(m) - y m: counts, the logarithm of whose mean is linear",
    .tasks = REGRESSION,
    .counts = 1,
    .exponential = 1,
    .constant = fplt__poisson_constant,
    .deviance = fplt__poisson_deviance,
    .parameter = "predictor-bound",
    .least = 0,
    .most_of = exp,
    .value = poisson_value,
    .slope = poisson_slope,
    .curve = poisson_curve,
    .bend = scalar_bend,
};

static const fplt__loss gamma_log = {
    .name = "gamma",
    .likelihood = 1,
    .dispersed = 1,
    .pearson = 1,
    .unbounded = 1,
    .help = "y exp(-m) + m: positive numbers, the logarithm of whose mean is linear",
    .tasks = REGRESSION,
    .positive = 1,
    .exponential = 1,
    .least = 0,
    .most = 1,
    .value = fplt__gamma_value,
    .slope = fplt__gamma_slope,
    .curve = fplt__gamma_curve,
    .bend = scalar_bend,
    .expect = fplt__gamma_expect,
    .constant = fplt__gamma_constant,
    .deviance = fplt__gamma_deviance,
};

/* `bend` of losses with shared coordinates needs the margins as they are. */
static void keep_margins(const fplt__block *block, double *m)
{
    (void)block;
    (void)m;
}

static const fplt__loss negative_binomial = {
    .name = "negative-binomial",
    .likelihood = 1,
    .unbounded = 1,
    .help = "counts with variance mu + mu^2/theta, theta estimated, log link",
    .tasks = REGRESSION,
    .counts = 1,
    .exponential = 1,
    .least = 0,
    .most = 1,
    .value = fplt__negative_binomial_value,
    .slope = fplt__negative_binomial_slope,
    .curve = keep_margins,
    .bend = fplt__negative_binomial_bend,
    .expect_bend = fplt__negative_binomial_expect_bend,
    .constant = fplt__poisson_constant,
    .deviance = fplt__negative_binomial_deviance,
    .shared = fplt__negative_binomial_shared,
    .display = &fplt__negative_binomial_display,
};

static const fplt__loss ordinal = {
    .name = "ordinal",
    .likelihood = 1,
    .unbounded = 1,
    .help = "proportional odds of ordered classes, thresholds estimated",
    .tasks = CLASSES | BINARY,
    .ordered = 1,
    .probable = 1,
    .least = 0,
    .most = 0.5,
    .value = fplt__ordinal_value,
    .slope = fplt__ordinal_slope,
    .curve = keep_margins,
    .bend = fplt__ordinal_bend,
    .hits = fplt__ordinal_hits,
    .probabilities = fplt__ordinal_probabilities,
    .likeliest = fplt__ordinal_likeliest,
    .shared = fplt__ordinal_shared,
    .display = &fplt__ordinal_display,
};

static const fplt__loss probit = {
    .name = "probit",
    .likelihood = 1,
    .help = "-log Phi(b m): two classes, whose probability is a normal one",
    .tasks = BINARY,
    .flips = 1,
    .probable = 1,
    .least = 0,
    .most = 1,
    .value = fplt__probit_value,
    .slope = fplt__probit_slope,
    .curve = fplt__probit_curve,
    .bend = scalar_bend,
    .hits = flipped_hits,
    .expect = fplt__probit_expect,
    .probability = fplt__probit_probability,
};

static const fplt__loss cox = {
    .name = "cox",
    .likelihood = 1,
    .help = "partial likelihood of survival times, each agent a stratum",
    .tasks = SURVIVAL,
    .whole = 1,
    .hazards = 1,
    .exponential = 1,
    .value = fplt__cox_value,
    .slope = fplt__cox_slope,
    .curve = fplt__cox_curve,
    .bend = fplt__cox_curvature_bounds,
    .score = fplt__cox_score,
    .parameter = "ties",
};

static const fplt__loss mixed_logistic = {
    .name = "mixed-logistic",
    .likelihood = 1,
    .unbounded = 1,
    .help = "logistic with a random intercept of every cluster: two classes",
    .tasks = BINARY,
    .whole = 1,
    .clustered = 1,
    .room = fplt__quadrature_room,
    .probable = 1,
    .parameter = "quadrature-points",
    .least = 0,
    .most = 0.25,
    .value = fplt__mixed_logistic_value,
    .slope = fplt__mixed_logistic_slope,
    .both = fplt__mixed_logistic_both,
    .curve = fplt__mixed_logistic_curve,
    .bend = fplt__mixed_bend,
    .hits = sign_hits,
    .shared = fplt__mixed_shared,
    .display = &fplt__mixed_logistic_display,
};

static const fplt__loss mixed_poisson = {
    .name = "mixed-poisson",
    .likelihood = 1,
    .unbounded = 1,
    .help = "poisson with a random intercept of every cluster: counts",
    .tasks = REGRESSION,
    .whole = 1,
    .clustered = 1,
    .room = fplt__quadrature_room,
    .counts = 1,
    .exponential = 1,
    .constant = fplt__poisson_constant,
    .deviance = fplt__poisson_deviance,
    .parameter = "quadrature-points",
    .least = 0,
    .most = 1,
    .value = fplt__mixed_poisson_value,
    .slope = fplt__mixed_poisson_slope,
    .both = fplt__mixed_poisson_both,
    .curve = fplt__mixed_poisson_curve,
    .bend = fplt__mixed_bend,
    .shared = fplt__mixed_shared,
    .display = &fplt__mixed_poisson_display,
};

static const fplt__loss mixed_linear = {
    .name = "mixed-linear",
    .likelihood = 1,
    .unbounded = 1,
    .help = "least squares with a random intercept of every cluster, by maximum likelihood",
    .tasks = REGRESSION,
    .whole = 1,
    .clustered = 1,
    .constant = fplt__mixed_linear_constant,
    .least = 0,
    .most = 1,
    .value = fplt__mixed_linear_value,
    .slope = fplt__mixed_linear_slope,
    .curve = keep_margins,
    .bend = fplt__mixed_linear_bend,
    .expect_bend = fplt__mixed_linear_expect_bend,
    .shared = fplt__mixed_linear_shared,
    .display = &fplt__mixed_linear_display,
};

static const fplt__loss softmax = {
    .name = "softmax",
    .likelihood = 1,
    .help = "multinomial logistic, one weight vector a class: two classes or more",
    .tasks = CLASSES | BINARY,
    .classes = 1,
    .probable = 1,
    .least = 0,
    .most = 0.5, /* largest eigenvalue that diag(p) - p p' can have */
    .value = fplt__softmax_value,
    .slope = fplt__softmax_slope,
    .both = fplt__softmax_both,
    .curve = fplt__softmax_curve,
    .bend = fplt__softmax_curvature_bounds,
    .hits = fplt__softmax_hits,
};

const fplt__loss *const fplt__losses[] = {
    &logistic, &softmax,           &squares,       &huber,        &hinge,
    &poisson,  &negative_binomial, &gamma_log,     &probit,       &ordinal,
    &cox,      &mixed_logistic,    &mixed_poisson, &mixed_linear, NULL};
