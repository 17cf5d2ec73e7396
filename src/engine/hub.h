/* The coordinator's inside, for engines. */
#ifndef FPLT_ENGINE_HUB_H
#define FPLT_ENGINE_HUB_H

#include "fedplt/algorithm.h"
#include "fedplt/hub_node.h"
#include "base/listed.h"
#include "base/sum.h"

struct fplt_hub {
    fplt_plan plan;
    fplt_shape shape;
    fplt_coordinator view;
    fplt_prox *no_prox; /* owned: h = 0 where none was given */
    fplt__sum *up;      /* what arrives in an exchange, the mirrored changes behind it */
    fplt__sum *totals;  /* running sums of the mirrored vectors */
    fplt__multiples *
        expected; /* of listed updates, added when the exchange is absorbed; NULL: none are received */
    double *numbers; /* the sum of an exchange as doubles */
    double *total;   /* the running sums as doubles */
};

/* Engines in which doubles are added need whole sums; others, sums of words. */
typedef fplt_status (*fplt__sum_maker)(size_t length, int exponent, fplt__sum **sum,
                                       fplt_error *error);
fplt_status fplt__hub_create(const fplt_plan *plan, const fplt_prox *prox, const double *start,
                             fplt__sum_maker make, fplt_hub **hub, fplt_error *error);

/* Numbers of the longest exchange. */
size_t fplt__plan_largest_up(const fplt_plan *plan);
/* FPLT_BAD_VALUE: NULL, a table of another size, or more parameters and scalars than the fixed arrays of a plan and of a
 * round hold. */
fplt_status fplt__plan_check_algorithm(const fplt_algorithm *algorithm, fplt_error *error);
/* FPLT_BAD_VALUE: a unit that is negative or not within 2^-512 .. 2^64. FPLT_UNSUPPORTED: a unit with an algorithm that
 * sends more than plain vectors. */
fplt_status fplt__plan_check_unit(const fplt_plan *plan, fplt_error *error);
/* Numbers sent up in an exchange without the mirrored changes. */
size_t fplt__plain_up(const fplt_shape *shape, size_t dimension, unsigned exchange);
/* Mirrored changes travel with the last exchange. */
size_t fplt__mirrored_up(const fplt_shape *shape, size_t dimension, unsigned exchange);

/* Makes the view's totals equal to the running sums. */
void fplt__hub_refresh(fplt_hub *hub);

#endif
