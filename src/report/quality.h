/* How well predictions fit what happened: functions of arrays. */
#ifndef FPLT_REPORT_QUALITY_H
#define FPLT_REPORT_QUALITY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "fedplt/model.h"
#include "fedplt/status.h"

/* A member of fplt_quality, and with how many digits it is shown. */
typedef struct fplt__quality_measure {
    const char *name;
    size_t place;
    int digits;
} fplt__quality_measure;

/* NULL past the last. */
const fplt__quality_measure *fplt__quality_measure_at(size_t index);
/* Rows and every measure, null where it is not known; `site` NULL: without a name. */
json_t *fplt__quality_json(const char *site, const fplt_quality *quality);

/* A score, whether its row is of the class in question, and how much the row counts. */
typedef struct fplt__ranked {
    double score;
    int positive;
    double weight;
} fplt__ranked;

/* Area under the ROC curve, a pair counting by the product of its weights, ties half; sorts the rows. NaN without
 * both kinds. */
double fplt__area(fplt__ranked *rows, size_t count);

/* The same of rows that count alike, from the sorted scores of those that are of the class and of the others. */
double fplt__area_sorted(const double *positive, size_t positives, const double *other,
                         size_t others);

/* Rows by their numbers: the score of each, and whether it is of the class in question. */
typedef struct fplt__scores {
    size_t count;
    double (*score)(const void *context, size_t row, int *positive);
    const void *context;
} fplt__scores;

/* Memory for sorting, which grows as needed. Starts as zeros; `number` is released with fplt__free. */
typedef struct fplt__sorting_room {
    double *number;
    size_t capacity;
} fplt__sorting_room;

/* The scores of the class, and behind them those of the others; both sorted. They are in room->number, *positives of the
 * class first. */
fplt_status fplt__scores_sort(const fplt__scores *scores, fplt__sorting_room *room,
                              size_t *positives, fplt_error *error);
/* fplt__area_sorted of the rows, with its bits. The scores of many rows are sorted range by range, so that about four bytes a row
 * are needed beside them; where more than a quarter share their first 16 bits, that range is as large as it is. */
fplt_status fplt__area_of_scores(const fplt__scores *scores, fplt__sorting_room *room, double *area,
                                 fplt_error *error);

/* Shares of a class, each NaN where it divides by nothing: rightly said of those said, rightly said of
 * those that are, and their harmonic mean 2 right/(said + are). */
typedef struct fplt__hit_rates {
    double precision, recall, f1;
} fplt__hit_rates;

/* Of class number `class` from a table of weights, actual classes down, predicted ones across. */
fplt__hit_rates fplt__rates_of(const double *confusion, uint32_t classes, uint32_t class);

/* Harrell's C: of the pairs of which one is known to have had its event first, the share in which that
 * one has the higher score, ties of scores count half. `time` is negative where it is censored.
 * A pair counts by the product of its weights (NULL: all 1). Adds to `right` and `pairs`, so that strata can be
 * summed. */
fplt_status fplt__concordance(const double *score, const double *time, const double *weight,
                              size_t count, double *right, double *pairs, fplt_error *error);

#endif
