/* Quality of a model of two classes from one histogram of its probabilities on a fixed grid, which sites can send: the
 * counts of each class in cells of equal width, cells with fewer rows than a minimum merged, and four sums. One process and
 * a federation make the same numbers by the same functions. */
#ifndef FPLT_REPORT_SCORE_GRID_H
#define FPLT_REPORT_SCORE_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/data.h"
#include "fedplt/model.h"

enum { FPLT__SCORE_GRID_MIN = 10, FPLT__SCORE_GRID_MAX = 10000, FPLT__SCORE_GRID_BINS = 10 };

/* What is counted, and how much of it a site releases. */
typedef struct fplt__score_grid {
    size_t cells;    /* a multiple of FPLT__SCORE_GRID_BINS, MIN to MAX */
    size_t minimum;  /* rows of a class in a cell; 0 or 1: no cell is merged */
    double dominant; /* largest share of one row in a sum that is released; 0: no rule */
    /* Sums and counts are released where at most the share `saturated` of the rows has a linear predictor above `steep` in
     * absolute value; 0: no rule. A steeper model tells on which side of a plane each row is. */
    double steep, saturated;
} fplt__score_grid;

/* FPLT_BAD_VALUE: another number of cells. FPLT_UNSUPPORTED: the model has not two classes with probabilities. */
fplt_status fplt__score_grid_check(const fplt_model *model, size_t cells, fplt_error *error);

/* Numbers that a site sends. */
size_t fplt__score_grid_numbers(size_t cells);

/**
 * Counts the rows of one agent.
 *
 * @param model    that fplt__score_grid_check() accepted
 * @param dataset  as fplt_model_dataset() made it
 * @param agent    below fplt_dataset_agents()
 * @param words    out: 2 words for each of fplt__score_grid_numbers(), exact numbers of FPLT_SUM_EXPONENT
 * @retval FPLT_UNSUPPORTED  rows have weights
 *
 * A row's probability p of the second class is in cell floor(p cells). Where a class has fewer rows than the minimum, no count
 * of either class is written: one would follow from the other and the number of rows.
 */
fplt_status fplt__score_grid_count(const fplt__score_grid *grid, const fplt_model *model,
                                   const fplt_dataset *dataset, uint32_t agent, uint64_t *words,
                                   fplt_error *error);

/* Bounds: the value lies in [low, high]; NaN: not known. */
typedef struct fplt__bounds {
    double low, high;
} fplt__bounds;

typedef struct fplt__score_bin {
    fplt__bounds rows, observed; /* rows in the bin; share of the second class among them */
} fplt__score_bin;

typedef struct fplt__grid_quality {
    uint64_t rows, minimum; /* minimum: the largest of the sites */
    int has_sums, has_classes;
    double loss, brier;    /* means over the rows; NaN: withheld */
    double predicted;      /* mean probability of the second class */
    double observed;       /* its share */
    fplt__bounds accuracy; /* a row is called the second class from probability 0.5 on */
    fplt__bounds auc;
    fplt__score_bin bin[FPLT__SCORE_GRID_BINS];
} fplt__grid_quality;

/**
 * Quality by site and of all rows.
 *
 * @param words  one array a site, as fplt__score_grid_count() writes it; untrusted
 * @param each   out: one a site
 * @param all    out: a measure is known where every site released it
 * @param bad    out: the site whose numbers cannot be, where FPLT_BAD_DATA is returned
 */
fplt_status fplt__score_grid_settle(size_t cells, const uint64_t *const *words, size_t sites,
                                    fplt__grid_quality *each, fplt__grid_quality *all, size_t *bad,
                                    fplt_error *error);

/* The same for people and for programs. */
typedef struct fplt__grid_report {
    char *text; /* tables of sites and calibration; to be released with fplt_free, as is the next */
    char *json; /* one document */
    char *csv;  /* one line a site and one for all, bounds in two columns */
} fplt__grid_report;

/* From the numbers of the sites; `names` one a site. FPLT_BAD_DATA names the site whose numbers cannot be. */
fplt_status fplt__score_grid_report(size_t cells, const char *const *names,
                                    const uint64_t *const *words, size_t sites,
                                    fplt__grid_report *report, fplt_error *error);
/* Of all agents of a data set, in one process. */
fplt_status fplt__score_grid_evaluate(const fplt__score_grid *grid, const fplt_model *model,
                                      const fplt_dataset *dataset, fplt__grid_report *report,
                                      fplt_error *error);
void fplt__grid_report_clear(fplt__grid_report *report);

#endif
