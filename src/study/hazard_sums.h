/* Sums over the events of sites behind the test of proportional hazards. Sites can add them up. */
#ifndef FPLT_STUDY_HAZARD_SUMS_H
#define FPLT_STUDY_HAZARD_SUMS_H

#include "study/hazard_inside.h"

/* g at the times of rows. */
typedef struct fplt__hazard_clock {
    fplt__life_table table;
    double *value; /* owned: one for each step */
} fplt__hazard_clock;

/* Of the rows with a weight above 0, of one site or of several. FPLT_NO_MEMORY is the only failure; cleared after it too. */
fplt_status fplt__hazard_clock_make(const fplt_rows *rows, fplt_hazard_transform transform,
                                    fplt__hazard_clock *clock, fplt_error *error);
void fplt__hazard_clock_clear(fplt__hazard_clock *clock);

/* Over the events, x the columns of an event and m and V mean and variance of the columns over those at risk there:
 *     score[0]        x - m                    information[0]  V
 *     score[1]        g (x - m)                information[1]  g V
 *                                              information[2]  g^2 V
 * score: n numbers, information: n x n. */
typedef struct fplt__hazard_sums {
    size_t n;
    double rows, events, times; /* times: sum of g over the events */
    /* beyond: rows whose linear predictor is above `steep` in absolute value; the caller sets `steep` */
    double steep, beyond;
    double *score[2], *information[3];
    /* Of the norms of g (x - m), and of the traces of g^2 V: their sum, and the largest of one event. */
    double total[2], largest[2];
    double *memory; /* owned */
} fplt__hazard_sums;

/* Zeros for n columns. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__hazard_sums_make(size_t n, fplt__hazard_sums *sums, fplt_error *error);
void fplt__hazard_sums_clear(fplt__hazard_sums *sums);
/* Adds the rows of one site. */
fplt_status fplt__hazard_sums_see(const fplt_model *model, const fplt_rows *rows,
                                  const fplt__hazard_clock *clock, fplt__hazard_sums *sums,
                                  fplt_error *error);
void fplt__hazard_sums_add(fplt__hazard_sums *sums, const fplt__hazard_sums *other);
/* The same sums with g less its mean over the events. */
void fplt__hazard_sums_centre(fplt__hazard_sums *sums);

/* One line a term, or a column where `columns` is set, and GLOBAL, as fplt_hazard_test() has it, of centred sums. kept[j]: column j
 * has a coefficient. `apart` (out): how far the model is from the maximum of the partial likelihood, its score statistic; 0 there, and
 * tests then are those of that function; elsewhere they are those of Neyman (1959), with the score of g corrected for it. */
fplt_status fplt__hazard_sums_test(const fplt__hazard_sums *sums, const fplt_model *model,
                                   const unsigned char *kept, int columns, fplt_table **table,
                                   double *apart, fplt_error *error);

#endif
