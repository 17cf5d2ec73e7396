/* Costs that are sums over coordinates; each prox is one formula a coordinate
 * [Parikh and Boyd 2014, sections 2.1 and 6.5]. */
#include "prox/prox.h"

#include <math.h>
#include <string.h>

static fplt_status zero_value(const fplt_prox *prox, const double *x, double *value)
{
    (void)prox, (void)x;
    *value = 0;
    return FPLT_OK;
}

static fplt_status zero_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    (void)t;
    memmove(x, v, prox->penalised * sizeof *x);
    return FPLT_OK;
}

static double zero_coordinate(const fplt_prox *prox, double t, double v)
{
    (void)prox, (void)t;
    return v;
}

static int zero_piece(const fplt_prox *prox, double z, fplt__prox_piece *piece)
{
    (void)prox, (void)z, (void)piece;
    return 1;
}

static int zero_vanishes(const fplt_prox_settings *settings)
{
    (void)settings;
    return 1;
}

const fplt__prox_kind fplt__prox_zero = {
    .name = "zero",
    .help = "no common cost",
    .vanishes = zero_vanishes,
    .value = zero_value,
    .apply = zero_apply,
    .coordinate = zero_coordinate,
    .piece = zero_piece,
};

static double sum_of_magnitudes(const fplt_prox *prox, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < prox->penalised; i++)
        sum += fabs(x[i]);
    return sum;
}

static double sum_of_squares(const fplt_prox *prox, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < prox->penalised; i++)
        sum += x[i] * x[i];
    return sum;
}

/* A weight of 0 must give 0 even where the sum overflows. */
static double weighted(double weight, double sum)
{
    return weight > 0 ? weight * sum : 0;
}

/* sign(v) max(|v| - threshold, 0) */
static double soft(double v, double threshold)
{
    double rest = fabs(v) - threshold;
    return rest > 0 ? copysign(rest, v) : 0;
}

static fplt_status l1_check(const fplt_prox_settings *settings, size_t penalised, fplt_error *error)
{
    (void)penalised;
    return fplt__prox_need_weight("l1", "weight", settings->weight, error);
}

static int weight_vanishes(const fplt_prox_settings *settings)
{
    return settings->weight == 0;
}

static fplt_status l1_value(const fplt_prox *prox, const double *x, double *value)
{
    *value = weighted(prox->settings.weight, sum_of_magnitudes(prox, x));
    return FPLT_OK;
}

static double l1_coordinate(const fplt_prox *prox, double t, double v)
{
    return soft(v, t * prox->settings.weight);
}

static fplt_status l1_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    for (size_t i = 0; i < prox->penalised; i++)
        x[i] = l1_coordinate(prox, t, v[i]);
    return FPLT_OK;
}

/* The half line on the side of z. */
static int one_sided(double z, double weight, fplt__prox_piece *piece)
{
    if (z > 0)
        piece->low = 0;
    if (z < 0)
        piece->high = 0;
    piece->slope = copysign(weight, z);
    return z != 0;
}

static int l1_piece(const fplt_prox *prox, double z, fplt__prox_piece *piece)
{
    return one_sided(z, prox->settings.weight, piece);
}

const fplt__prox_kind fplt__prox_l1 = {
    .name = "l1",
    .help = "weight ||x||_1: a sparse model",
    .check = l1_check,
    .vanishes = weight_vanishes,
    .value = l1_value,
    .apply = l1_apply,
    .coordinate = l1_coordinate,
    .piece = l1_piece,
};

static fplt_status l2_squared_check(const fplt_prox_settings *settings, size_t penalised,
                                    fplt_error *error)
{
    (void)penalised;
    return fplt__prox_need_weight("l2-squared", "weight", settings->weight, error);
}

static fplt_status l2_squared_value(const fplt_prox *prox, const double *x, double *value)
{
    *value = weighted(prox->settings.weight, sum_of_squares(prox, x)) / 2;
    return FPLT_OK;
}

static double l2_squared_coordinate(const fplt_prox *prox, double t, double v)
{
    return v / (1 + t * prox->settings.weight);
}

static fplt_status l2_squared_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    for (size_t i = 0; i < prox->penalised; i++)
        x[i] = l2_squared_coordinate(prox, t, v[i]);
    return FPLT_OK;
}

static int l2_squared_piece(const fplt_prox *prox, double z, fplt__prox_piece *piece)
{
    piece->curvature = prox->settings.weight;
    piece->slope = prox->settings.weight * z;
    return 1;
}

const fplt__prox_kind fplt__prox_l2_squared = {
    .name = "l2-squared",
    .help = "weight ||x||^2/2: a small model",
    .check = l2_squared_check,
    .vanishes = weight_vanishes,
    .value = l2_squared_value,
    .apply = l2_squared_apply,
    .coordinate = l2_squared_coordinate,
    .piece = l2_squared_piece,
};

static fplt_status elastic_net_check(const fplt_prox_settings *settings, size_t penalised,
                                     fplt_error *error)
{
    (void)penalised;
    fplt_status status = fplt__prox_need_weight("elastic-net", "weight", settings->weight, error);
    return status ? status
                  : fplt__prox_need_weight("elastic-net", "weight2", settings->weight2, error);
}

static int elastic_net_vanishes(const fplt_prox_settings *settings)
{
    return settings->weight == 0 && settings->weight2 == 0;
}

static fplt_status elastic_net_value(const fplt_prox *prox, const double *x, double *value)
{
    *value = weighted(prox->settings.weight, sum_of_magnitudes(prox, x)) +
             weighted(prox->settings.weight2, sum_of_squares(prox, x)) / 2;
    return FPLT_OK;
}

static double elastic_net_coordinate(const fplt_prox *prox, double t, double v)
{
    return soft(v, t * prox->settings.weight) / (1 + t * prox->settings.weight2);
}

static fplt_status elastic_net_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    for (size_t i = 0; i < prox->penalised; i++)
        x[i] = elastic_net_coordinate(prox, t, v[i]);
    return FPLT_OK;
}

static int elastic_net_piece(const fplt_prox *prox, double z, fplt__prox_piece *piece)
{
    int smooth = one_sided(z, prox->settings.weight, piece);
    piece->curvature = prox->settings.weight2;
    piece->slope += prox->settings.weight2 * z;
    return smooth || prox->settings.weight == 0;
}

const fplt__prox_kind fplt__prox_elastic_net = {
    .name = "elastic-net",
    .help = "weight ||x||_1 + weight2 ||x||^2/2",
    .check = elastic_net_check,
    .vanishes = elastic_net_vanishes,
    .value = elastic_net_value,
    .apply = elastic_net_apply,
    .coordinate = elastic_net_coordinate,
    .piece = elastic_net_piece,
};

static fplt_status box_check(const fplt_prox_settings *settings, size_t penalised,
                             fplt_error *error)
{
    (void)penalised;
    if (!isfinite(settings->low) || !isfinite(settings->high))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "box: low is %g and high is %g, but both must be finite numbers",
                              settings->low, settings->high);
    if (settings->low > settings->high)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "box: low is %g, but it must be at most high, which is %g",
                              settings->low, settings->high);
    return FPLT_OK;
}

static fplt_status box_value(const fplt_prox *prox, const double *x, double *value)
{
    int inside = 1;
    for (size_t i = 0; i < prox->penalised; i++)
        inside &= x[i] >= prox->settings.low && x[i] <= prox->settings.high;
    *value = inside ? 0 : HUGE_VAL;
    return FPLT_OK;
}

static double box_coordinate(const fplt_prox *prox, double t, double v)
{
    (void)t;
    double low = prox->settings.low, high = prox->settings.high;
    return v < low ? low : v > high ? high : v;
}

static fplt_status box_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    for (size_t i = 0; i < prox->penalised; i++)
        x[i] = box_coordinate(prox, t, v[i]);
    return FPLT_OK;
}

static int box_piece(const fplt_prox *prox, double z, fplt__prox_piece *piece)
{
    piece->low = prox->settings.low;
    piece->high = prox->settings.high;
    return z > piece->low && z < piece->high;
}

const fplt__prox_kind fplt__prox_box = {
    .name = "box",
    .help = "every coordinate from low to high",
    .check = box_check,
    .value = box_value,
    .apply = box_apply,
    .coordinate = box_coordinate,
    .piece = box_piece,
};

static fplt_status nonnegative_value(const fplt_prox *prox, const double *x, double *value)
{
    int inside = 1;
    for (size_t i = 0; i < prox->penalised; i++)
        inside &= x[i] >= 0;
    *value = inside ? 0 : HUGE_VAL;
    return FPLT_OK;
}

static double nonnegative_coordinate(const fplt_prox *prox, double t, double v)
{
    (void)prox, (void)t;
    return v > 0 ? v : 0;
}

static fplt_status nonnegative_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    for (size_t i = 0; i < prox->penalised; i++)
        x[i] = nonnegative_coordinate(prox, t, v[i]);
    return FPLT_OK;
}

static int nonnegative_piece(const fplt_prox *prox, double z, fplt__prox_piece *piece)
{
    (void)prox;
    piece->low = 0;
    return z > 0;
}

const fplt__prox_kind fplt__prox_nonnegative = {
    .name = "nonnegative",
    .help = "no coordinate below 0",
    .value = nonnegative_value,
    .apply = nonnegative_apply,
    .coordinate = nonnegative_coordinate,
    .piece = nonnegative_piece,
};
