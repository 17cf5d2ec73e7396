/* What follows from a Cox model and rows: the baseline hazard of each site, survival of new patients, and the test of
 * proportional hazards. */
#ifndef FPLT_STUDY_HAZARD_H
#define FPLT_STUDY_HAZARD_H

#include "fedplt/model.h"
#include "fedplt/report.h"
#include "study/life_table.h"

/* Texts are borrowed for the call. Zeroed but for `level`: every time, nothing withheld, every site. */
typedef struct fplt__hazard_settings {
    const char *grid;  /* as for survival curves */
    size_t minimum;    /* the hazard of a site ends where fewer are at risk; 0: nowhere */
    const char *times; /* of predictions; NULL: about six */
    const char *site;  /* whose baseline hazard counts in predictions; NULL: every site */
    fplt__life_interval interval;
    double level; /* of the intervals, between 0 and 1 */
} fplt__hazard_settings;

/* The baseline hazard of every site. */
typedef struct fplt__hazard fplt__hazard;

/**
 * Estimates the hazard of each site from rows that fplt_model_dataset() gave for the model.
 *
 * The increments are those of Breslow (1974) or Efron (1977), as the model treats ties; each site is a stratum.
 *
 * @param model  of the loss cox, with the sums behind standard errors (fplt_model_infer()); must outlive the hazard
 * @retval FPLT_BAD_VALUE    a setting is not legal, or there is no such site
 * @retval FPLT_UNSUPPORTED  the model is not of the loss cox, or was trained with privacy
 */
fplt_status fplt__hazard_create(const fplt_model *model, const fplt_dataset *dataset,
                                const fplt__hazard_settings *settings, fplt__hazard **hazard,
                                fplt_error *error);
/* NULL is legal. */
void fplt__hazard_destroy(fplt__hazard *hazard);
/* A sentence for the reader: number `index`; NULL past the last. */
const char *fplt__hazard_note(const fplt__hazard *hazard, size_t index);

/* One line for each site and time with an event: those at risk, events, increment and sum of the hazard of a row whose columns
 * are all 0, and its survival. */
fplt_status fplt__hazard_table(const fplt__hazard *hazard, fplt_table **table, fplt_error *error);
/* Survival of new rows, as fplt_model_dataset() gave them without labels. `patients` has the median of every row and site,
 * `times` survival at the times. Intervals count the errors of coefficients and baseline [Tsiatis 1981]; they are missing where
 * the model has a penalty. */
fplt_status fplt__hazard_predict(const fplt__hazard *hazard, const fplt_dataset *rows,
                                 fplt_table **patients, fplt_table **times, fplt_error *error);

/* How time enters the test of proportional hazards: 1 - S(t-) of the Kaplan-Meier estimate over all rows, t, log t, or the rank
 * of t among all rows. */
typedef enum fplt__hazard_transform {
    FPLT__HAZARD_KM,
    FPLT__HAZARD_IDENTITY,
    FPLT__HAZARD_LOG,
    FPLT__HAZARD_RANK
} fplt__hazard_transform;

/**
 * Tests whether hazards are proportional: the score test of coefficients that change with g(t) [Grambsch and Therneau 1994], as
 * cox.zph of R's package survival from version 3 on computes it. Sites are strata.
 *
 * @param model    refitted to the rows without a penalty (fplt_model_infer()): the score is then 0 in the coefficients
 * @param columns  one line for each column; 0: one for each term, where the levels of a category go together
 * @param table    out: name, chi squared, freedom, p; the last line is of all of them, and its name is GLOBAL
 */
fplt_status fplt__hazard_test(const fplt_model *model, const fplt_dataset *dataset,
                              fplt__hazard_transform transform, int columns, fplt_table **table,
                              fplt_error *error);

#endif
