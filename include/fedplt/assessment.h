/* A closer look at how well a model predicts: confusion, classes, ROC curve, calibration.
 *
 * Threads and blocking: thread-safe, as the model and the data set are only read; nothing blocks.
 */
#ifndef FEDPLT_ASSESSMENT_H
#define FEDPLT_ASSESSMENT_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of one class, over all rows. */
typedef struct fplt_class_quality {
    uint64_t rows;
    double precision, recall, f1, auc;
} fplt_class_quality;

/* Shares of the first class called wrongly and of the second called rightly, where rows with at least
 * this score are called the second. */
typedef struct fplt_roc_point {
    double false_positive, true_positive, score;
} fplt_roc_point;

enum { FPLT_CALIBRATION_BINS = 10 };

typedef struct fplt_calibration_bin {
    uint64_t rows;
    double predicted, observed; /* mean probability, and share of the second class; NaN: no rows */
} fplt_calibration_bin;

typedef struct fplt_assessment {
    fplt_quality all;
    double threshold;    /* on the probability of the second class; NaN: the most probable class */
    uint32_t classes;    /* 0: none of what follows */
    uint64_t *confusion; /* owned: classes x classes, actual ones down, predicted ones across */
    fplt_class_quality *each; /* owned: one a class */
    fplt_roc_point *roc;      /* owned: corners of the curve, two classes only */
    size_t roc_count;
    int calibrated; /* two classes with probabilities: the bins mean something */
    fplt_calibration_bin bin[FPLT_CALIBRATION_BINS];
    double *
        confusion_weight; /* owned: sums of weights in the order of `confusion`; NULL: rows count alike */
} fplt_assessment;

/* One value of the setting that a cross-validation searches (fedplt/validate.h). */
typedef struct fplt_validate_point {
    double value;
    double loss, error; /* mean held-out loss over the folds, and the standard error of that mean */
    double quality;     /* mean of AUC, accuracy (more than two classes), RMSE or concordance */
} fplt_validate_point;

/* Assesses the model on a transformed data set with labels. `each` (may be NULL) has one entry an agent. A threshold, 0 to 1,
 * decides between two classes; NaN: the most probable class. What the assessment owns is released with
 * fplt_assessment_clear; on failure it owns nothing. */
FPLT_API fplt_status fplt_model_assess(const fplt_model *model, const fplt_dataset *dataset,
                                       double threshold, fplt_quality *each,
                                       fplt_assessment *assessment, fplt_error *error);
/* Everything as one JSON document, released with fplt_free. */
FPLT_API fplt_status fplt_assessment_text(const fplt_model *model, const fplt_dataset *dataset,
                                          const fplt_quality *each,
                                          const fplt_assessment *assessment, char **text,
                                          fplt_error *error);
/* Releases what the struct owns; a zeroed struct is legal. */
FPLT_API void fplt_assessment_clear(fplt_assessment *assessment);

#ifdef __cplusplus
}
#endif
#endif
