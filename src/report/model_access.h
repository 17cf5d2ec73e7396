/* Models as the modules above and the program use them, beside fedplt/model.h. */
#ifndef FPLT_REPORT_MODEL_ACCESS_H
#define FPLT_REPORT_MODEL_ACCESS_H

#include <jansson.h>

#include "fedplt/job.h"
#include "fedplt/assessment.h"
#include "fedplt/model.h"
#include "fedplt/report.h"

/* A reason "rho = 1: because" without what stands before it in a table anyway. */
const char *fplt__choice_because(const char *why);

/* Whether its record has a certificate of privacy. */
int fplt__model_is_private(const fplt_model *model);

/* Where text goes, in its order. */
typedef fplt_status (*fplt__text_sink)(void *to, const char *text, size_t length,
                                       fplt_error *error);

/* Predictions for the rows of files as CSV, one line a row in their order: the number of the row where rows with missing
 * values are left out, its id where it has one, the label or value, and the probability of every class or the score. Long text
 * files are read, answered and written block by block. Where that fails in the middle, the lines before are written. */
fplt_status fplt__predictions_write(const fplt_model *model, const char *const *paths, size_t count,
                                    const fplt_read_settings *settings, fplt__text_sink write,
                                    void *to, fplt_error *error);

/* A model on the rows of files. */
typedef struct fplt__evaluation {
    fplt_dataset
        *dataset;       /* owned: sites, their names and what was filled in; it may have no rows */
    fplt_quality *each; /* owned: one a site */
    fplt_assessment made;
} fplt__evaluation;

/* Reads files with labels and assesses the model on them, with the bits of fplt_model_assess. Of a long CSV file only the scores
 * and labels stay in memory. Without `curve` the assessment has no ROC curve, which takes 40 bytes a row. Released by
 * fplt__evaluation_clear; on failure nothing is owned. */
fplt_status fplt__model_evaluate_files(const fplt_model *model, const char *const *paths,
                                       size_t count, const fplt_read_settings *settings,
                                       double threshold, int curve, fplt__evaluation *made,
                                       fplt_error *error);
void fplt__evaluation_clear(fplt__evaluation *made);

/* One line a site and one for all rows, with the measures that are known of all. */
fplt_status fplt__quality_table(const fplt_dataset *dataset, const fplt_quality *each,
                                const fplt_quality *all, fplt_table **table, fplt_error *error);

/* The values that were filled in, one line a column and site that has any: column, site, filled, rows, share. */
fplt_status fplt__filled_table(const fplt_dataset *dataset, fplt_table **table, fplt_error *error);

/* What cross-validation measured with the settings of a model, as its record keeps it. */
typedef struct fplt__validated {
    const char *search; /* the setting that was searched */
    double value;       /* what was chosen */
    const char *by;     /* rows, or sites */
    uint32_t folds;
    const char *measure; /* auc, accuracy, rmse, concordance */
    double quality;      /* mean of it over the folds */
    double loss, error;  /* mean held-out loss, and the standard error of that mean */
} fplt__validated;

/* As the record has it, under `validated`; a new reference, or NULL. */
json_t *fplt__validated_json(const fplt__validated *validated);
/* Puts it into the training record of a model of a run; does nothing for a model that has none. */
fplt_status fplt__model_add_validation(fplt_model *model, const fplt__validated *validated,
                                       fplt_error *error);

/* Tests the columns of a run on sites with names and puts those that reverse (report/pooling.h) into the record of its
 * model. Does nothing for runs with privacy or with site effects, and where the test is not possible or would take
 * longer than a second or two. */
fplt_status fplt__pooling_record(const fplt_job_view *view, fplt_model *model, fplt_error *error);
/* One sentence for each reversal in the record of a model, each with its line end, newly allocated (fplt_free); NULL
 * where there is none. */
fplt_status fplt__pooling_text(const fplt_model *model, char **text, fplt_error *error);

#endif
