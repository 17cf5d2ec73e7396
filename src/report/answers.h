/* What evaluating a model keeps of each row: its scores and its label, and nothing of its columns. */
#ifndef FPLT_REPORT_ANSWERS_H
#define FPLT_REPORT_ANSWERS_H

#include "fedplt/assessment.h"
#include "report/quality.h"

/* Of two classes 12 bytes a row. Starts as zeros but for model and threshold; released by fplt__answers_clear. */
typedef struct fplt__answers {
    const fplt_model *model;
    double threshold; /* of the second of two classes; NaN: the most probable class */
    size_t rows;
    double *number; /* owned: one an output, scores; of more than two outputs probabilities */
    uint32_t
        *called;    /* owned: actual class x classes + predicted one; NULL: there are no classes */
    double *actual; /* owned: labels that are numbers; NULL: there are classes */
    const double *weight; /* of the rows, borrowed; NULL: all 1 */
    size_t number_capacity, called_capacity, actual_capacity;
} fplt__answers;

/* The task of the data and whether the threshold, NaN for none, fits the model. */
fplt_status fplt__answers_check(const fplt_model *model, const fplt_dataset *dataset,
                                double threshold, fplt_error *error);
/* Answers rows, behind those that are there. FPLT_BAD_VALUE where their features are not those of the model. */
fplt_status fplt__answers_add(fplt__answers *answers, const fplt_rows *rows, fplt_error *error);
/* Row r becomes what row order[r] was. There are no weights. */
fplt_status fplt__answers_order(fplt__answers *answers, const size_t *order, fplt_error *error);
void fplt__answers_clear(fplt__answers *answers);

uint32_t fplt__answers_actual_class(const fplt__answers *answers, size_t row);
uint32_t fplt__answers_predicted_class(const fplt__answers *answers, size_t row);
/* The predicted value of a regression. */
double fplt__answers_predicted(const fplt__answers *answers, size_t row);
/* The probability of every class, into `own` where they are not kept; of models that have them. */
const double *fplt__answers_probabilities(const fplt__answers *answers, size_t row, double *own);
/* How strongly a row speaks for a class. */
double fplt__answers_strength(const fplt__answers *answers, size_t row, uint32_t class);

/* Every measure, from answers and the mean losses of the agents; agent i has rows first[i] .. first[i + 1] - 1. `each` may be
 * NULL. */
fplt_status fplt__answers_measure(const fplt__answers *answers, const size_t *first,
                                  uint32_t agents, const double *losses, fplt_quality *each,
                                  fplt_quality *all, fplt_error *error);
/* The closer look behind it, at rows of which `all` is known: what the assessment has beside. The corners of the ROC curve only
 * where `curve` is not zero, because they take 40 bytes a row. */
fplt_status fplt__answers_look_closer(const fplt__answers *answers, int curve,
                                      fplt_assessment *made, fplt_error *error);

#endif
