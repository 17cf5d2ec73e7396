/* The inside of hazards: the rows of a site as they leave those at risk, and what the baseline keeps. */
#ifndef FPLT_STUDY_HAZARD_INSIDE_H
#define FPLT_STUDY_HAZARD_INSIDE_H

#include "fedplt/survival.h"
#include "study/life_table.h"
#include "study/notes.h"

/* A row with a weight above 0. */
typedef struct fplt__hazard_row {
    double time, weight, score;
    int event;
    size_t row; /* of the site */
} fplt__hazard_row;

/* The rows of one site, the latest time first. */
typedef struct fplt__hazard_site {
    const fplt_model *model;
    fplt_rows rows;        /* of the data set */
    fplt__hazard_row *row; /* owned */
    size_t count;
    double highest; /* score; others are relative to it */
} fplt__hazard_site;

/* Those at risk at a time with d events, number l of d: events count 1 - l/d with Efron's ties, 1 with Breslow's. Sums of
 * e^(score - highest); means over them, of the columns less those of the site's first row; second: mean of products. */
typedef struct fplt__hazard_moment {
    double time, weight; /* weight: mean of the events' */
    size_t at_risk, events;
    size_t number;            /* l */
    double risk;              /* sum of w e^(score - highest) */
    const double *mean;       /* one for each column */
    const double *product;    /* columns x columns; NULL unless asked for */
    const double *events_sum; /* of w times the columns of the d events */
} fplt__hazard_moment;

/* Called from the latest time to the earliest, for l = 0 .. d - 1. */
typedef void fplt__hazard_visit(void *context, const fplt__hazard_moment *moment);

fplt_status fplt__hazard_site_make(const fplt_model *model, const fplt_rows *rows,
                                   const fplt__time_grid *grid, fplt__hazard_site *site,
                                   fplt_error *error);
void fplt__hazard_site_clear(fplt__hazard_site *site);
fplt_status fplt__hazard_walk(const fplt__hazard_site *site, int products,
                              fplt__hazard_visit *visit, void *context, fplt_error *error);
/* The columns of a row, less those of `origin` (NULL: nothing). */
void fplt__hazard_columns(const fplt_rows *rows, size_t row, const double *origin, double *x);
/* FPLT_UNSUPPORTED, with the reason, for a model that has no hazard. */
fplt_status fplt__hazard_check(const fplt_model *model, fplt_error *error);

#endif
