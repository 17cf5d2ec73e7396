/* Costs that tie coordinates together: ball, groups, simplex. */
#include "prox/prox.h"

#include <math.h>
#include <stdint.h>

/* Euclidean norm, scaled where squares would overflow or vanish. */
static double norm(const double *x, size_t count)
{
    double largest = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(x[i]));
    if (largest == 0)
        return 0;
    double scale = largest > 1e-140 && largest < 1e140 ? 1 : largest;
    for (size_t i = 0; i < count; i++)
        sum += (x[i] / scale) * (x[i] / scale);
    return scale * sqrt(sum);
}

/* A point that was projected may miss the set by rounding: the indicator forgives this much. */
static const double slack = 1e-12;

static fplt_status ball_check(const fplt_prox_settings *settings, size_t penalised,
                              fplt_error *error)
{
    (void)penalised;
    return fplt__prox_need_radius("ball", settings->radius, error);
}

static fplt_status ball_value(const fplt_prox *prox, const double *x, double *value)
{
    *value = norm(x, prox->penalised) <= prox->settings.radius * (1 + slack) ? 0 : HUGE_VAL;
    return FPLT_OK;
}

/* x = v min(1, radius / ||v||) */
static fplt_status ball_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    (void)t;
    double length = norm(v, prox->penalised), radius = prox->settings.radius;
    for (size_t i = 0; i < prox->penalised; i++)
        x[i] = length > radius ? v[i] / length * radius : v[i];
    return FPLT_OK;
}

const fplt__prox_kind fplt__prox_ball = {
    .name = "ball",
    .help = "||x|| at most radius",
    .check = ball_check,
    .value = ball_value,
    .apply = ball_apply,
};

static fplt_status group_lasso_check(const fplt_prox_settings *settings, size_t penalised,
                                     fplt_error *error)
{
    (void)penalised;
    if (settings->group == 0)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "group-lasso: group is 0, but it must be a whole number of at least 1");
    return fplt__prox_need_weight("group-lasso", "weight", settings->weight, error);
}

static int group_lasso_vanishes(const fplt_prox_settings *settings)
{
    return settings->weight == 0;
}

static size_t group_size(const fplt_prox *prox, size_t first)
{
    size_t left = prox->penalised - first;
    return left < prox->settings.group ? left : prox->settings.group;
}

static fplt_status group_lasso_value(const fplt_prox *prox, const double *x, double *value)
{
    double sum = 0;
    for (size_t first = 0, size; first < prox->penalised; first += size) {
        size = group_size(prox, first);
        sum += sqrt((double)size) * norm(x + first, size);
    }
    *value = prox->settings.weight > 0 ? prox->settings.weight * sum : 0;
    return FPLT_OK;
}

/* x_g = v_g max(0, 1 - t weight sqrt|g| / ||v_g||) [Yuan and Lin 2006]. */
static fplt_status group_lasso_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    for (size_t first = 0, size; first < prox->penalised; first += size) {
        size = group_size(prox, first);
        double threshold = t * prox->settings.weight * sqrt((double)size);
        double length = norm(v + first, size);
        double factor = length > threshold ? (length - threshold) / length : 0;
        for (size_t i = first; i < first + size; i++)
            x[i] = factor * v[i];
    }
    return FPLT_OK;
}

const fplt__prox_kind fplt__prox_group_lasso = {
    .name = "group-lasso",
    .help = "weight sum_g sqrt(|g|) ||x_g|| over consecutive groups: whole groups vanish",
    .check = group_lasso_check,
    .vanishes = group_lasso_vanishes,
    .value = group_lasso_value,
    .apply = group_lasso_apply,
};

static fplt_status simplex_check(const fplt_prox_settings *settings, size_t penalised,
                                 fplt_error *error)
{
    if (penalised == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "simplex: no coordinate is penalised, so none can sum to %g",
                              settings->radius);
    return fplt__prox_need_radius("simplex", settings->radius, error);
}

static fplt_status simplex_value(const fplt_prox *prox, const double *x, double *value)
{
    double sum = 0, radius = prox->settings.radius;
    int inside = 1;
    for (size_t i = 0; i < prox->penalised; i++) {
        inside &= x[i] >= 0;
        sum += x[i];
    }
    inside &= fabs(sum - radius) <= radius * slack * (double)prox->penalised;
    *value = inside ? 0 : HUGE_VAL;
    return FPLT_OK;
}

static void sift_down(double *heap, size_t root, size_t count)
{
    double held = heap[root];
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (!(heap[child] > held))
            break;
        heap[root] = heap[child];
    }
    heap[root] = held;
}

/* The threshold theta with sum max(g_i - theta, 0) = radius for the numbers in `heap`, the largest
 * of which is 0. They are taken in decreasing order (a heap sort that stops when it can) while the
 * next one lies above the threshold of those before it [Held, Wolfe and Crowder 1974]. */
static double simplex_threshold(double *heap, size_t count, double radius)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(heap, i, count);
    double sum = 0, theta = -HUGE_VAL;
    for (size_t taken = 1; count > 0 && heap[0] > theta; taken++) {
        sum += heap[0];
        theta = (sum - radius) / (double)taken;
        heap[0] = heap[--count];
        sift_down(heap, 0, count);
    }
    return theta;
}

/* Projection onto the simplex: x = max(v - theta, 0). Subtracting the largest coordinate first
 * changes nothing but the rounding, and leaves out all that lies `radius` or more below it. */
static fplt_status simplex_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    (void)t;
    double radius = prox->settings.radius, largest = v[0];
    size_t candidates = 0;
    for (size_t i = 1; i < prox->penalised; i++)
        largest = fmax(largest, v[i]);
    for (size_t i = 0; i < prox->penalised; i++)
        if (v[i] - largest > -radius)
            prox->work[candidates++] = v[i] - largest;
    double theta = simplex_threshold(prox->work, candidates, radius);
    for (size_t i = 0; i < prox->penalised; i++)
        x[i] = fmax(v[i] - largest - theta, 0);
    return FPLT_OK;
}

const fplt__prox_kind fplt__prox_simplex = {
    .name = "simplex",
    .help = "no coordinate below 0, all together radius",
    .check = simplex_check,
    .value = simplex_value,
    .apply = simplex_apply,
    .work = 1,
};
