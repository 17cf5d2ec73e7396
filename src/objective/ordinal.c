/* Ordinal logistic [McCullagh 1980]: P(y <= j) = sigmoid(c_j), c_j = t_j - m, of classes 0, 1, ... in their order. The
 * intercept in m takes the place of the first threshold: t_0 = 0, and t_j = t_(j-1) + e^(s_j) with coordinates s_1, ...
 * that all records share. Since sigmoid(a) - sigmoid(b) = sigmoid(a) sigmoid(-b) (1 - e^(b - a)), minus the logarithm of
 * the probability of class j is
 *
 *     log(1 + e^(-c_j)) + log(1 + e^(c_(j-1))) - log(1 - e^(-d)),  d = e^(s_j),
 *
 * without the first term in the last class, the second in the first class, and the third in both. */
#include <math.h>
#include <stdio.h>

#include "objective/shared.h"

/* Beyond these a distance of thresholds is no longer told from 0 or infinity: it is a straight line from there on. */
static const double closest = -30, farthest = 30;

size_t fplt__ordinal_shared(size_t classes)
{
    return classes > 2 ? classes - 2 : 0;
}

static double bounded(double s)
{
    return s > farthest ? farthest : s < closest ? closest : s;
}

static double distance(double s)
{
    return exp(bounded(s));
}

/* Whether the distance changes with s. */
static int is_inside(double s)
{
    return s == bounded(s);
}

static double softplus(double u)
{
    return fmax(u, 0) + log1p(exp(-fabs(u)));
}

static double sigmoid(double u)
{
    double small = exp(-fabs(u)), high = 1 / (1 + small);
    return u > 0 ? high : small * high;
}

/* sigmoid(u) (1 - sigmoid(u)) */
static double hump(double u)
{
    double small = exp(-fabs(u)), high = 1 / (1 + small);
    return small * high * high;
}

/* -log(1 - e^-d) in s with its first `derivative`s. */
static double gap_loss(double s, int derivative)
{
    double past = closest - s, d = distance(s);
    if (past > 0)
        return derivative == 0 ? -s : derivative == 1 ? -1 : 0;
    if (s > farthest)
        return 0;
    double rate = d / expm1(d);
    return derivative == 0   ? -log(-expm1(-d))
           : derivative == 1 ? -rate
                             : rate * (rate * exp(d) - 1);
}

static double shared_at(const fplt__block *block, const double *m, size_t j, size_t r)
{
    return m[j * block->stride + r]; /* s_1 is the second margin */
}

/* t_j of record r. */
static double threshold(const fplt__block *block, const double *m, size_t j, size_t r)
{
    double t = 0;
    for (size_t i = 1; i <= j; i++)
        t += distance(shared_at(block, m, i, r));
    return t;
}

static size_t last_class(const fplt__block *block)
{
    return block->outputs; /* one margin, and one a class but the first two */
}

void fplt__ordinal_value(const fplt__block *block, double *m)
{
    size_t last = last_class(block);
    for (size_t r = 0; r < block->count; r++) {
        size_t j = (size_t)block->label[r];
        double loss = 0;
        if (j < last)
            loss += softplus(m[r] - threshold(block, m, j, r));
        if (j > 0)
            loss += softplus(threshold(block, m, j - 1, r) - m[r]);
        if (j > 0 && j < last)
            loss += gap_loss(shared_at(block, m, j, r), 0);
        m[r] = loss;
    }
}

/* The two thresholds around a class: whether they are there, and the loss's first two derivatives in c. */
struct sides {
    size_t j;
    int has_upper, has_lower;
    double upper_slope, upper_curve, lower_slope, lower_curve;
};

static struct sides sides_of(const fplt__block *block, const double *m, size_t r)
{
    struct sides made = {.j = (size_t)block->label[r]};
    made.has_upper = made.j < last_class(block);
    made.has_lower = made.j > 0;
    if (made.has_upper) {
        double c = threshold(block, m, made.j, r) - m[r];
        made.upper_slope = -sigmoid(-c);
        made.upper_curve = hump(c);
    }
    if (made.has_lower) {
        double c = threshold(block, m, made.j - 1, r) - m[r];
        made.lower_slope = sigmoid(c);
        made.lower_curve = hump(c);
    }
    return made;
}

/* What a shared coordinate i has of the losses' slopes in c: thresholds from t_i on move with it. */
static double slope_through(const struct sides *sides, size_t i)
{
    return (sides->has_upper && i <= sides->j ? sides->upper_slope : 0) +
           (sides->has_lower && i < sides->j ? sides->lower_slope : 0);
}

void fplt__ordinal_slope(const fplt__block *block, double *m)
{
    for (size_t r = 0; r < block->count; r++) {
        struct sides sides = sides_of(block, m, r);
        m[r] = -sides.upper_slope - sides.lower_slope;
        for (size_t i = 1; i < block->outputs; i++) {
            double s = shared_at(block, m, i, r), slope = 0;
            if (is_inside(s))
                slope = distance(s) * slope_through(&sides, i);
            if (i == sides.j)
                slope += gap_loss(s, 1);
            m[i * block->stride + r] = slope;
        }
    }
}

/* How c_j moves with the direction. */
static double moved(const fplt__block *block, const double *m, const double *u, size_t j, size_t r)
{
    double sum = -u[r];
    for (size_t i = 1; i <= j; i++) {
        double s = shared_at(block, m, i, r);
        if (is_inside(s))
            sum += distance(s) * u[i * block->stride + r];
    }
    return sum;
}

void fplt__ordinal_bend(const fplt__block *block, const double *m, double *u)
{
    for (size_t r = 0; r < block->count; r++) {
        struct sides sides = sides_of(block, m, r);
        double upper = sides.has_upper ? sides.upper_curve * moved(block, m, u, sides.j, r) : 0;
        double lower = sides.has_lower ? sides.lower_curve * moved(block, m, u, sides.j - 1, r) : 0;
        u[r] = -upper - lower;
        for (size_t i = 1; i < block->outputs; i++) {
            double s = shared_at(block, m, i, r), *own = &u[i * block->stride + r], bent = 0;
            if (is_inside(s))
                bent = distance(s) * ((i <= sides.j ? upper : 0) + (i < sides.j ? lower : 0) +
                                      slope_through(&sides, i) * *own);
            if (i == sides.j)
                bent += gap_loss(s, 2) * *own;
            *own = bent;
        }
    }
}

/* Of the class between two thresholds that are d apart, the upper one `above` the score. */
static double between(double above, double d)
{
    return sigmoid(above) * sigmoid(d - above) * -expm1(-d);
}

void fplt__ordinal_probabilities(double score, const double *shared, size_t count,
                                 double *probabilities)
{
    double t = 0;
    probabilities[0] = sigmoid(-score);
    for (size_t j = 1; j <= count; j++) {
        double d = distance(shared[j - 1]);
        t += d;
        probabilities[j] = between(t - score, d);
    }
    probabilities[count + 1] = sigmoid(score - t);
}

/* Shared coordinates that are `stride` apart. */
static size_t likeliest(double score, const double *shared, size_t count, size_t stride)
{
    size_t best = 0;
    double t = 0, most = sigmoid(-score);
    for (size_t j = 1; j <= count + 1; j++) {
        double d = j <= count ? distance(shared[(j - 1) * stride]) : 0;
        t += d;
        double own = j <= count ? between(t - score, d) : sigmoid(score - t);
        best = own > most ? j : best;
        most = fmax(own, most);
    }
    return best;
}

size_t fplt__ordinal_likeliest(double score, const double *shared, size_t count)
{
    return likeliest(score, shared, count, 1);
}

size_t fplt__ordinal_hits(const fplt__block *block, const double *m)
{
    size_t hits = 0;
    for (size_t r = 0; r < block->count; r++)
        hits += likeliest(m[r], m + block->stride + r, block->outputs - 1, block->stride) ==
                (size_t)block->label[r];
    return hits;
}

static size_t thresholds_of(size_t shared)
{
    return shared + 1;
}

static void name_threshold(const char *const *class_names, size_t which, char *room, size_t size)
{
    if (class_names)
        snprintf(room, size, "%s|%s", class_names[which], class_names[which + 1]);
    else
        snprintf(room, size, "%zu|%zu", which, which + 1);
}

static double threshold_value(size_t which, double intercept, const double *shared, size_t count,
                              double *slopes)
{
    double t = -intercept;
    slopes[0] = -1;
    for (size_t i = 0; i < count; i++) {
        double d = distance(shared[i]);
        t += i < which ? d : 0;
        slopes[1 + i] = i < which ? d : 0;
    }
    return t;
}

const fplt__display fplt__ordinal_display = {
    .quantities = thresholds_of,
    .replaces_intercept = 1,
    .has_tests = 1,
    .name = name_threshold,
    .value = threshold_value,
    .note = "Lines a|b are thresholds between classes: the log odds of a class up to a are the "
            "threshold minus the linear predictor, as polr in R has them.",
};
