/* Negative binomial with a logarithmic link [Lawless 1987]: mean mu = e^m, variance mu + mu^2/theta, and s = log theta a
 * coordinate that all records share. With A = log(1 + e^(m - s)), p = mu/(mu + theta) and D = log Gamma(y + theta) -
 * log Gamma(theta), minus the logarithm of the density is, but for log y!,
 *
 *     (y + theta) A - y m - (D - y s).
 *
 * As theta grows it becomes the loss of Poisson, since D - y s goes to 0. The information that standard errors come from
 * has the expected second derivative in m, mu theta/(mu + theta), and nothing between m and s, whose expectation is 0. */
#include <math.h>
#include <stdio.h>

#include "objective/shared.h"

/* log theta stays between these: beyond them variances are those of Poisson, or all counts are 0. */
static const double farthest = 40;

size_t fplt__negative_binomial_shared(size_t classes)
{
    (void)classes;
    return 1;
}

/* D - y log z and the first two derivatives of D in z. */
struct gamma_ratio {
    double rest, slope, curve;
};

/* By Stirling's series, for z of at least 20: what is left out is below 1e-16. Differences of powers of a = 1/(y + z) and
 * b = 1/z come from a - b = -y a b, since curve is multiplied by theta^2 and the powers agree in most digits. */
static struct gamma_ratio stirling_ratio(double y, double z)
{
    static const double rest[] = {1 / 12.0, -1 / 360.0, 1 / 1260.0, -1 / 1680.0, 1 / 1188.0};
    static const double slope[] = {-1 / 12.0, 1 / 120.0, -1 / 252.0, 1 / 240.0, -1 / 132.0};
    static const double curve[] = {1 / 6.0, -1 / 30.0, 1 / 42.0, -1 / 30.0, 5 / 66.0};
    double w = y + z, a = 1 / w, b = 1 / z, log_ratio = log1p(y / z), less = -y * a * b;
    double odd = less, even = less * (a + b), square = a * a + b * b, product = a * a * b * b;
    double odd_before = -less / (a * b), even_before = 0;
    struct gamma_ratio made = {
        .rest = (w - 0.5) * log_ratio - y, .slope = log_ratio - odd / 2, .curve = odd + even / 2};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        made.rest += rest[i] * odd;
        made.slope += slope[i] * even;
        double next = square * odd - product * odd_before;
        odd_before = odd;
        odd = next;
        made.curve += curve[i] * odd;
        next = square * even - product * even_before;
        even_before = even;
        even = next;
    }
    return made;
}

/* Smaller theta come there by Gamma(z + 1) = z Gamma(z). */
static struct gamma_ratio gamma_ratio(double y, double theta)
{
    enum { FAR = 20 };
    if (theta >= FAR)
        return stirling_ratio(y, theta);
    struct gamma_ratio made = stirling_ratio(y, theta + FAR);
    made.rest += y * log1p(FAR / theta);
    for (int i = 0; i < FAR; i++) {
        double low = theta + i, high = low + y, less = y / (high * low);
        made.rest -= log1p(y / low);
        made.slope += less;
        made.curve -= less * (1 / high + 1 / low);
    }
    return made;
}

/* What all derivatives are made of. */
struct terms {
    double y, theta, a, p, bent; /* bent: the second derivative in m */
};

static struct terms terms_of(double y, double m, double s)
{
    double gap = m - s, small = exp(-fabs(gap)), high = 1 / (1 + small);
    struct terms made = {.y = y, .theta = exp(s)};
    made.a = fmax(gap, 0) + log1p(small);
    made.p = gap > 0 ? high : small * high;
    made.bent = (y + made.theta) * small * high * high;
    return made;
}

static double bounded(double s)
{
    return s > farthest ? farthest : s < -farthest ? -farthest : s;
}

void fplt__negative_binomial_value(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++) {
        double y = block->label[r], s = bounded(m[block->stride + r]);
        struct terms t = terms_of(y, m[r], s);
        m[r] = (y + t.theta) * t.a - y * m[r] - gamma_ratio(y, t.theta).rest;
    }
}

void fplt__negative_binomial_slope(const fplt__block *block, double *m)
{
    double *shared = m + block->stride;
    for (size_t r = 0; r < block->count; r++) {
        double y = block->label[r], s = bounded(shared[r]);
        struct terms t = terms_of(y, m[r], s);
        double slope = (y + t.theta) * t.p - y;
        int inside = s == shared[r];
        m[r] = slope;
        shared[r] = inside ? t.theta * (t.a - gamma_ratio(y, t.theta).slope) - slope : 0;
    }
}

static double shared_curve(const struct terms *t)
{
    struct gamma_ratio ratio = gamma_ratio(t->y, t->theta);
    return t->theta * (t->a - 2 * t->p - ratio.slope) + t->bent - t->theta * t->theta * ratio.curve;
}

static void bend(const fplt__block *block, const double *m, double *u, int expected)
{
    const double *shared = m + block->stride;
    for (size_t r = 0; r < block->count; r++) {
        double s = bounded(shared[r]), first = u[r], second = u[block->stride + r];
        struct terms t = terms_of(block->label[r], m[r], s);
        int inside = s == shared[r];
        double own = expected ? t.theta * t.p : t.bent;
        double cross = expected || !inside ? 0 : t.theta * t.p - t.bent;
        u[r] = own * first + cross * second;
        u[block->stride + r] = cross * first + (inside ? shared_curve(&t) * second : 0);
    }
}

void fplt__negative_binomial_bend(const fplt__block *block, const double *m, double *u)
{
    bend(block, m, u, 0);
}

void fplt__negative_binomial_expect_bend(const fplt__block *block, const double *m, double *u)
{
    bend(block, m, u, 1);
}

double fplt__negative_binomial_deviance(double count, double mean, const double *shared)
{
    double theta = exp(bounded(shared[0]));
    double surprise = count > 0 ? count * log(count / mean) : 0;
    return 2 * (surprise - (count + theta) * log1p((count - mean) / (mean + theta)));
}

static size_t one_quantity(size_t shared)
{
    return shared;
}

static void name_theta(const char *const *class_names, size_t which, char *room, size_t size)
{
    (void)class_names;
    (void)which;
    snprintf(room, size, "(theta)");
}

static double theta_of(size_t which, double intercept, const double *shared, size_t count,
                       double *slopes)
{
    (void)which;
    (void)intercept;
    (void)count;
    slopes[0] = 0;
    slopes[1] = exp(bounded(shared[0]));
    return slopes[1];
}

const fplt__display fplt__negative_binomial_display = {
    .quantities = one_quantity,
    .name = name_theta,
    .value = theta_of,
    .note = "Errors of the coefficients condition on theta, the size parameter of the negative "
            "binomial distribution (variance mu + mu^2/theta), as those of glm.nb in R do.",
    .unknown = "theta has no finite estimate: the counts vary no more than those of a Poisson "
               "distribution. Train with the loss poisson.",
};
