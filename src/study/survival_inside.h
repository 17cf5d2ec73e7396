/* The inside of survival curves: for the files that read, tabulate and draw them. */
#ifndef FPLT_STUDY_SURVIVAL_INSIDE_H
#define FPLT_STUDY_SURVIVAL_INSIDE_H

#include "study/columns.h"
#include "study/crosstab.h"
#include "study/notes.h"
#include "study/survival.h"

enum { FPLT__WITHOUT_TIME, FPLT__WITHOUT_EVENT, FPLT__WITHOUT_STRATUM, FPLT__LEFT_OUT };

struct fplt_survival {
    fplt_survival_settings settings;
    fplt__lookup sites, strata; /* number 0 of both is everything, and has no name */
    const fplt__declared *by;   /* as the schema has the column of the strata; NULL: not at all */
    uint32_t *order;            /* owned: the strata as they are shown, from 1 */
    fplt__life_table *seen; /* owned: rows of site i and stratum k in seen[k * site_capacity + i] */
    uint32_t site_capacity, stratum_capacity;
    /* owned: site i and shown stratum k in [k * sites + i]. part: what a site releases of a stratum, from 1 and 1 on; table: sums of
     * parts on the steps that these have in common */
    fplt__life_table *part, *table;
    double *boundary, *time; /* owned: of the grid; at which the table of times has curves */
    size_t times;
    fplt__time_grid grid;
    double resolution[2];                 /* widest step of a part, and of the sum of all */
    fplt__count left_out[FPLT__LEFT_OUT]; /* rows without a time, event, stratum */
    int has_events;                       /* before the grid */
    fplt__notes notes;
    uint32_t *place; /* owned: stratum of every row as it was seen; 0: left out */
    size_t rows, row_capacity;
    /* of the file at hand */
    const fplt__source *source;
    const char *path;
    const fplt__declared *event;
    uint32_t time_at, event_at, by_at, site_at, file_site;
};

/* Empty curves with number 0 of sites and strata, and the stratum of all rows where there are no strata. */
fplt_status fplt__survival_begin(const fplt_survival_settings *settings, fplt_survival **survival,
                                 fplt_error *error);
/* A grid of a width ends with the cell of the upper bound that a schema declares for the column of times (NULL: none). */
void fplt__survival_bound(fplt__time_grid *grid, const fplt__declared *time);
/* What a site releases of a shown stratum. */
fplt__life_table *fplt__survival_part(const fplt_survival *survival, size_t site, size_t stratum);
/* Orders the strata and makes the parts from what was seen: cut, and on a grid merged. */
fplt_status fplt__survival_release(fplt_survival *survival, fplt_error *error);
/* Adds the parts up; then the notes, and the times of the table of times. */
fplt_status fplt__survival_conclude(fplt_survival *survival, fplt_error *error);
/* The groups of a log-rank test on the steps that they have in common: the strata at a site (0: at all sites), or the sites.
 * `group` is zeroed, and cleared by the caller also after a failure. */
fplt_status fplt__survival_groups(const fplt_survival *survival, size_t site, int of_sites,
                                  fplt__life_table *group, fplt_error *error);

/* Points of a curve, newly allocated (fplt__free); as many as its life table has steps. */
fplt_status fplt__survival_points(const fplt_survival *survival, size_t site, size_t stratum,
                                  fplt__life_point **points, fplt_error *error);
/* Number of the last point that is not after `time`; `points` where there is none. */
size_t fplt__survival_at(const fplt__life_point *point, size_t points, double time);
/* Records of a life table at risk at a time: with a time that is not before it. */
uint64_t fplt__survival_at_risk(const fplt__life_table *table, double time);

#endif
