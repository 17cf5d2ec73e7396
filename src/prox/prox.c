/* The common cost h: registry, creation, and what holds for every kind. */
#include "prox/prox.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "prox/prox_access.h"

static const fplt__prox_kind *const registry[] = {
    &fplt__prox_zero,        &fplt__prox_l1,          &fplt__prox_l2_squared,
    &fplt__prox_elastic_net, &fplt__prox_box,         &fplt__prox_nonnegative,
    &fplt__prox_ball,        &fplt__prox_group_lasso, &fplt__prox_simplex,
};

enum { KINDS = sizeof registry / sizeof *registry };

const char *fplt__prox_list(size_t index, const char **help)
{
    if (index >= KINDS)
        return NULL;
    if (help)
        *help = registry[index]->help;
    return registry[index]->name;
}

fplt_prox_settings fplt_prox_defaults(void)
{
    return (fplt_prox_settings){
        .name = "zero",
        .weight = 1,
        .weight2 = 1,
        .low = -1,
        .high = 1,
        .radius = 1,
        .group = 1,
    };
}

fplt_status fplt__prox_need_weight(const char *kind, const char *field, double weight,
                                   fplt_error *error)
{
    if (isfinite(weight) && weight >= 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: %s is %g, but it must be a number of at least 0", kind, field,
                          weight);
}

fplt_status fplt__prox_need_radius(const char *kind, double radius, fplt_error *error)
{
    if (isfinite(radius) && radius > 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: radius is %g, but it must be a number above 0", kind, radius);
}

static const fplt__prox_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(registry[i]->name, name) == 0)
            return registry[i];
    return NULL;
}

static fplt_status make(const fplt__prox_kind *kind, size_t dimension, size_t penalised,
                        fplt_prox **out, fplt_error *error)
{
    fplt_prox *prox;
    fplt_status status = fplt__alloc_into(&prox, 1, sizeof *prox, "a prox", error);
    if (status)
        return status;
    prox->kind = kind;
    prox->dimension = dimension;
    prox->penalised = penalised;
    prox->settings = fplt_prox_defaults();
    if (kind->work &&
        (status = fplt__alloc_into(&prox->work, penalised, kind->work * sizeof *prox->work,
                                   "the working memory of a prox", error))) {
        fplt_prox_destroy(prox);
        return status;
    }
    *out = prox;
    return FPLT_OK;
}

fplt_status fplt_prox_create(const fplt_prox_settings *settings, size_t dimension, size_t penalised,
                             fplt_prox **prox, fplt_error *error)
{
    *prox = NULL;
    const char *name = settings->name ? settings->name : "";
    const fplt__prox_kind *kind = find_kind(name);
    if (!kind)
        return fplt__unknown_name("prox", name, fplt__prox_list, error);
    if (penalised > dimension)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: %zu coordinates are penalised, but there are only %zu",
                              kind->name, penalised, dimension);
    fplt_status status;
    if (kind->check && (status = kind->check(settings, penalised, error)))
        return status;
    if ((status = make(kind, dimension, penalised, prox, error)))
        return status;
    (*prox)->settings = *settings;
    (*prox)->settings.name = kind->name;
    (*prox)->zero = penalised == 0 || (kind->vanishes && kind->vanishes(settings));
    return FPLT_OK;
}

fplt_status fplt_prox_create_callback(const fplt_prox_callbacks *callbacks, size_t dimension,
                                      fplt_prox **prox, fplt_error *error)
{
    *prox = NULL;
    fplt_status status = FPLT__CHECK_TABLE(fplt_prox_callbacks, callbacks, error);
    if (status)
        return status;
    if (!callbacks->value || !callbacks->apply)
        return fplt_error_set(error, FPLT_BAD_VALUE, "prox callback: %s is NULL, but it is needed",
                              callbacks->value ? "apply" : "value");
    status = make(&fplt__prox_callback, dimension, dimension, prox, error);
    if (!status)
        (*prox)->callbacks = *callbacks;
    return status;
}

fplt_status fplt_prox_create_inexact(const fplt_prox_inexact *inexact, size_t dimension,
                                     fplt_prox **prox, fplt_error *error)
{
    *prox = NULL;
    fplt_status status = FPLT__CHECK_TABLE(fplt_prox_inexact, inexact, error);
    if (status)
        return status;
    if (!inexact->value || !inexact->gradient)
        return fplt_error_set(error, FPLT_BAD_VALUE, "inexact prox: %s is NULL, but it is needed",
                              inexact->value ? "gradient" : "value");
    if (!isfinite(inexact->smoothness) || inexact->smoothness < 0)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "inexact prox: smoothness is %g, but it must be a number of at least 0",
            inexact->smoothness);
    if (!isfinite(inexact->accuracy) || inexact->accuracy <= 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "inexact prox: accuracy is %g, but it must be a number above 0",
                              inexact->accuracy);
    status = make(&fplt__prox_inexactly, dimension, dimension, prox, error);
    if (!status)
        (*prox)->inexact = *inexact;
    return status;
}

void fplt_prox_destroy(fplt_prox *prox)
{
    if (!prox)
        return;
    fplt__free(prox->units);
    fplt__free(prox->work);
    fplt__free(prox);
}

size_t fplt__prox_dimension(const fplt_prox *prox)
{
    return prox->dimension;
}

const char *fplt__prox_name(const fplt_prox *prox)
{
    return prox->kind->name;
}

int fplt__prox_is_zero(const fplt_prox *prox)
{
    return prox->zero;
}

static int all_finite(const double *x, size_t count)
{
    int finite = 1;
    for (size_t i = 0; i < count; i++)
        finite &= isfinite(x[i]) != 0;
    return finite;
}

fplt_status fplt__prox_set_units(fplt_prox *prox, const double *units, size_t count,
                                 fplt_error *error)
{
    if (!fplt__prox_is_separable(prox))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "h is %s, which ties coordinates together: it cannot be taken of "
                              "coefficients in the units of the columns; leave penalty-units out",
                              prox->kind->name);
    fplt_status status =
        fplt__alloc_into(&prox->units, prox->penalised, sizeof *units, "units", error);
    if (!status)
        status = fplt__alloc_into(&prox->work, prox->penalised, sizeof *prox->work,
                                  "the working memory of a prox", error);
    for (size_t j = 0; !status && j < prox->penalised; j++)
        prox->units[j] = units[j % count];
    return status;
}

static fplt_status apply_units(const fplt_prox *prox, double t, const double *v, double *x)
{
    for (size_t j = 0; j < prox->penalised; j++)
        x[j] = fplt__prox_coordinate(prox, j, t, v[j]);
    return FPLT_OK;
}

fplt_status fplt_prox_value(const fplt_prox *prox, const double *x, double *value)
{
    if (!all_finite(x, prox->dimension))
        return FPLT_DIVERGED;
    for (size_t j = 0; prox->units && j < prox->penalised; j++)
        prox->work[j] = x[j] / prox->units[j];
    x = prox->units ? prox->work : x;
    return prox->kind->value(prox, x, value);
}

fplt_status fplt_prox_apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    if (!isfinite(t) || t <= 0)
        return FPLT_BAD_VALUE;
    if (!all_finite(v, prox->dimension))
        return FPLT_DIVERGED;
    size_t penalised = prox->penalised;
    if (x != v && penalised < prox->dimension)
        memcpy(x + penalised, v + penalised, (prox->dimension - penalised) * sizeof *x);
    return prox->units ? apply_units(prox, t, v, x) : prox->kind->apply(prox, t, v, x);
}

int fplt__prox_is_separable(const fplt_prox *prox)
{
    return prox->kind->coordinate != NULL;
}

/* With h(x) = k(x/u): prox_{t h}(v) = u prox_{t/u^2 k}(v/u) */
double fplt__prox_coordinate(const fplt_prox *prox, size_t index, double t, double v)
{
    FPLT__ASSERT(index < prox->dimension && t > 0);
    if (index >= prox->penalised)
        return v;
    double unit = prox->units ? prox->units[index] : 1;
    return unit * prox->kind->coordinate(prox, t / (unit * unit), v / unit);
}

int fplt__prox_piece_at(const fplt_prox *prox, size_t index, double z, fplt__prox_piece *piece)
{
    FPLT__ASSERT(index < prox->dimension);
    *piece = (fplt__prox_piece){.low = -HUGE_VAL, .high = HUGE_VAL};
    if (index >= prox->penalised)
        return 1;
    double unit = prox->units ? prox->units[index] : 1;
    int smooth = prox->kind->piece(prox, z / unit, piece);
    piece->low *= unit;
    piece->high *= unit;
    piece->slope /= unit;
    piece->curvature /= unit * unit;
    return smooth;
}
