/* A search for the least cost over a box, with a fixed budget of evaluations: the starting point, a
 * coarse grid, then steps along the axes from the best point, halved when none of them helps. */
#ifndef FPLT_LAB_TUNING_SEARCH_H
#define FPLT_LAB_TUNING_SEARCH_H

#include "fedplt/status.h"

enum { FPLT__MAX_AXES = 6, FPLT__SEARCH_POINTS = 25 };

/* Costs are compared field by field. A point that was given up has `value` HUGE_VAL, and `fine` says
 * how far it was from what is asked for. */
typedef struct fplt__cost {
    double value, second, fine;
} fplt__cost;

typedef struct fplt__axis {
    double low, high, start;
} fplt__axis;

/* The cost at a point; past `limit`, the least value so far, it need not be known any more. */
typedef fplt_status (*fplt__cost_at)(void *context, const double *point, double limit,
                                     fplt__cost *cost, fplt_error *error);

typedef struct fplt__search {
    const fplt__axis *axes;
    unsigned count;  /* of axes */
    unsigned points; /* evaluations at most */
    fplt__cost_at cost_at;
    void *context;
} fplt__search;

typedef struct fplt__found {
    double point[FPLT__MAX_AXES];
    fplt__cost cost;
    unsigned points; /* evaluated */
    unsigned number; /* of the best among them, counted from 0 */
} fplt__found;

/* Among equal costs the smaller point counts as the better one. */
fplt_status fplt__search_run(const fplt__search *search, fplt__found *found, fplt_error *error);

#endif
