/* What the kinds of h share: the object, and the table of functions that each kind is. */
#ifndef FPLT_PROX_PROX_H
#define FPLT_PROX_PROX_H

#include <stddef.h>

#include "fedplt/prox.h"
#include "fedplt/prox_callbacks.h"

/* An open interval on which one coordinate's cost is smooth, with its slope at the point that was asked for and its
 * curvature, which is constant there. */
typedef struct fplt__prox_piece {
    double low, high, slope, curvature;
} fplt__prox_piece;

typedef struct fplt__prox_kind {
    const char *name, *help;
    /* Optional: a sentence when the settings are not legal for `penalised` coordinates. */
    fplt_status (*check)(const fplt_prox_settings *settings, size_t penalised, fplt_error *error);
    /* Optional: nonzero when these settings make h the zero function. */
    int (*vanishes)(const fplt_prox_settings *settings);
    /* On the penalised coordinates, all of them finite; x may be v. */
    fplt_status (*value)(const fplt_prox *prox, const double *x, double *value);
    fplt_status (*apply)(const fplt_prox *prox, double t, const double *v, double *x);
    /* Kinds that are sums over coordinates have both: the prox of one coordinate, and the piece that z lies in (zero
     * where z is at a kink or at a bound). */
    double (*coordinate)(const fplt_prox *prox, double t, double v);
    int (*piece)(const fplt_prox *prox, double z, fplt__prox_piece *piece);
    unsigned work; /* vectors of working memory */
} fplt__prox_kind;

struct fplt_prox {
    const fplt__prox_kind *kind;
    fplt_prox_settings settings;
    fplt_prox_callbacks callbacks;
    fplt_prox_inexact inexact;
    size_t dimension, penalised;
    int zero;
    double *work; /* owned; kind->work vectors of `penalised` numbers, with units one at least */
    double *
        units; /* owned; h is taken of every penalised coordinate divided by its unit; NULL: 1 each */
};

/* Makes h(x) of x_j/u_j, u = `units`, one for each of the first `count` coordinates and again for the next: what h is for
 * coefficients of columns that were divided by them before. FPLT_UNSUPPORTED where h is no sum over coordinates. */
fplt_status fplt__prox_set_units(fplt_prox *prox, const double *units, size_t count,
                                 fplt_error *error);

/* separable.c: one coordinate at a time */
extern const fplt__prox_kind fplt__prox_zero, fplt__prox_l1, fplt__prox_l2_squared,
    fplt__prox_elastic_net, fplt__prox_box, fplt__prox_nonnegative;
/* joint.c: coordinates together */
extern const fplt__prox_kind fplt__prox_ball, fplt__prox_group_lasso, fplt__prox_simplex;
/* user.c: through callbacks; not to be had by name */
extern const fplt__prox_kind fplt__prox_callback, fplt__prox_inexactly;

/* Whether h is a sum over coordinates, so that the next two may be called. */
int fplt__prox_is_separable(const fplt_prox *prox);
/* Coordinate `index` of prox_{t h}(v), t above 0, of a separable h. */
double fplt__prox_coordinate(const fplt_prox *prox, size_t index, double t, double v);
/* The smooth piece of coordinate `index` of a separable h at z; zero at a kink or a bound. */
int fplt__prox_piece_at(const fplt_prox *prox, size_t index, double z, fplt__prox_piece *piece);

/* One check each: the sentence names the kind, the field, the value and what is legal. */
fplt_status fplt__prox_need_weight(const char *kind, const char *field, double weight,
                                   fplt_error *error);
fplt_status fplt__prox_need_radius(const char *kind, double radius, fplt_error *error);

#endif
