/* What the kinds of h share: the object, and the table of functions that each kind is. */
#ifndef FPLT_PROX_PROX_H
#define FPLT_PROX_PROX_H

#include <stddef.h>

#include "fedplt/prox.h"

typedef struct fplt__prox_kind {
    const char *name, *help;
    /* Optional: a sentence when the settings are not legal for `penalised` coordinates. */
    fplt_status (*check)(const fplt_prox_settings *settings, size_t penalised, fplt_error *error);
    /* Optional: nonzero when these settings make h the zero function. */
    int (*vanishes)(const fplt_prox_settings *settings);
    /* On the penalised coordinates, all of them finite; x may be v. */
    fplt_status (*value)(const fplt_prox *prox, const double *x, double *value);
    fplt_status (*apply)(const fplt_prox *prox, double t, const double *v, double *x);
    unsigned work; /* vectors of working memory */
} fplt__prox_kind;

struct fplt_prox {
    const fplt__prox_kind *kind;
    fplt_prox_settings settings;
    fplt_prox_callbacks callbacks;
    fplt_prox_inexact inexact;
    size_t dimension, penalised;
    int zero;
    double *work; /* owned; kind->work vectors of `penalised` numbers */
};

/* separable.c: one coordinate at a time */
extern const fplt__prox_kind fplt__prox_zero, fplt__prox_l1, fplt__prox_l2_squared,
    fplt__prox_elastic_net, fplt__prox_box, fplt__prox_nonnegative;
/* joint.c: coordinates together */
extern const fplt__prox_kind fplt__prox_ball, fplt__prox_group_lasso, fplt__prox_simplex;
/* user.c: through callbacks; not to be had by name */
extern const fplt__prox_kind fplt__prox_callback, fplt__prox_inexactly;

/* One check each: the sentence names the kind, the field, the value and what is legal. */
fplt_status fplt__prox_need_weight(const char *kind, const char *field, double weight,
                                   fplt_error *error);
fplt_status fplt__prox_need_radius(const char *kind, double radius, fplt_error *error);

#endif
