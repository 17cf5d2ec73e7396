/* Lines of a table for coordinates that all records share. */
#include "report/quantities.h"

#include <math.h>

#include "base/memory.h"

static size_t shared_of(const fplt_model *model)
{
    return fplt__loss_shared(model->kind, model->info.classes);
}

size_t fplt__quantities_count(const fplt_model *model)
{
    return model->kind->display ? model->kind->display->quantities(shared_of(model)) : 0;
}

int fplt__quantities_hide_intercept(const fplt_model *model)
{
    return model->kind->display && model->kind->display->replaces_intercept;
}

void fplt__quantity_name(const fplt_model *model, size_t which, char *room, size_t size)
{
    model->kind->display->name(model->info.class_names, which, room, size);
}

/* With the slopes by the intercept and by what is shared, newly allocated (fplt__free). */
static fplt_status find_value(const fplt_model *model, const double *coordinates, double intercept,
                              size_t which, double *value, double **slopes, fplt_error *error)
{
    size_t shared = shared_of(model);
    fplt_status status =
        fplt__alloc_into(slopes, 1 + shared, sizeof **slopes, "the coefficients", error);
    if (!status)
        *value = model->kind->display->value(
            which, intercept, coordinates + model->info.dimension - shared, shared, *slopes);
    return status;
}

double fplt__quantity_value(const fplt_model *model, size_t which, double intercept)
{
    double *slopes, value = NAN;
    if (!find_value(model, model->info.weights, intercept, which, &value, &slopes, NULL))
        fplt__free(slopes);
    return value;
}

/* Whether the cost is flat in a quantity above 0: its standard error is many times the quantity, or cannot be computed. */
static int is_unknown(const fplt_model *model, double value, double deviation)
{
    const double most = 10;
    return model->kind->display->unknown && !(deviation > 0 && deviation <= most * value);
}

fplt_status fplt__quantity_estimate(const fplt_model *model, const fplt__estimates *made,
                                    size_t which, double *value, double *deviation,
                                    fplt_error *error)
{
    size_t n = made->n, shared = shared_of(model), first = n - shared;
    size_t own = model->info.features; /* of the intercept */
    double *slopes, variance = 0;
    int has_intercept = model->info.intercept != 0;
    fplt_status status = find_value(model, made->estimate, has_intercept ? made->estimate[own] : 0,
                                    which, value, &slopes, error);
    if (status)
        return status;
    for (size_t i = !has_intercept; i <= shared; i++)
        for (size_t j = !has_intercept; j <= shared; j++)
            variance += slopes[i] * slopes[j] *
                        made->covariance[(i ? first + i - 1 : own) * n + (j ? first + j - 1 : own)];
    *deviation = sqrt(variance);
    if (is_unknown(model, *value, *deviation))
        *value = *deviation = NAN;
    if (model->kind->display->boundary && *value == 0)
        *deviation = NAN;
    fplt__free(slopes);
    return FPLT_OK;
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

void fplt__quantity_interval(const fplt_model *model, size_t which, double value, double half,
                             double *low, double *high)
{
    const fplt__display *display = model->kind->display;
    fplt__range range = display->range ? display->range(which) : FPLT__RANGE_ANY;
    double ratio = exp(half / value), logit = log(value / (1 - value));
    double step = half / (value * (1 - value));
    *low = range == FPLT__RANGE_POSITIVE ? value / ratio
           : range == FPLT__RANGE_SHARE  ? logistic(logit - step)
                                         : NAN;
    *high = range == FPLT__RANGE_POSITIVE ? value * ratio
            : range == FPLT__RANGE_SHARE  ? logistic(logit + step)
                                          : NAN;
}

fplt_status fplt__quantities_unknown(const fplt_model *model, const fplt__estimates *made,
                                     const char **sentence, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    *sentence = NULL;
    for (size_t i = 0; !status && i < fplt__quantities_count(model); i++) {
        double value = 0, deviation;
        status = fplt__quantity_estimate(model, made, i, &value, &deviation, error);
        if (isnan(value))
            *sentence = model->kind->display->unknown;
        if (i == 0 && value == 0)
            *sentence = model->kind->display->boundary;
    }
    return status;
}
