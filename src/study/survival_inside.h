/* The inside of survival curves: for the files that read, tabulate and draw them. */
#ifndef FPLT_STUDY_SURVIVAL_INSIDE_H
#define FPLT_STUDY_SURVIVAL_INSIDE_H

#include "study/columns.h"
#include "study/notes.h"
#include "study/survival.h"

struct fplt_survival {
    fplt_survival_settings settings;
    fplt__lookup sites, strata; /* number 0 of both is everything, and has no name */
    const fplt__declared *by;   /* as the schema has the column of the strata; NULL: not at all */
    uint32_t *order;            /* owned: the strata as they are shown, from 1 */
    fplt__life_table *seen; /* owned: rows of site i and stratum k in seen[k * site_capacity + i] */
    uint32_t site_capacity, stratum_capacity;
    fplt__life_table
        *table; /* owned: released; site i and shown stratum k in table[k * sites + i] */
    double *boundary, *time; /* owned: of the grid; at which the table of times has curves */
    size_t times;
    fplt__time_grid grid;
    size_t left_out[3]; /* rows without a time, event, stratum */
    int has_events;     /* before the grid */
    fplt__notes notes;
    /* of the file at hand */
    const fplt__source *source;
    const char *path;
    const fplt__declared *event;
    uint32_t time_at, event_at, by_at, site_at, file_site;
};

/* Points of a curve, newly allocated (fplt__free); as many as its life table has steps. */
fplt_status fplt__survival_points(const fplt_survival *survival, size_t site, size_t stratum,
                                  fplt__life_point **points, fplt_error *error);
/* Number of the last point that is not after `time`; `points` where there is none. */
size_t fplt__survival_at(const fplt__life_point *point, size_t points, double time);
/* Records of a life table at risk at a time: with a time that is not before it. */
uint64_t fplt__survival_at_risk(const fplt__life_table *table, double time);

#endif
