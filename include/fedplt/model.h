/* A trained model: its file, predictions and quality. Details: fedplt/assessment.h, inference.h and page.h; other
 * forms: fedplt/export.h.
 *
 * Threads and blocking: a model does not change, and any number of threads may use it. fplt_model_read, fplt_model_write and
 * fplt_model_dataset block on their files.
 */
#ifndef FEDPLT_MODEL_H
#define FEDPLT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/data.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_inference fplt_inference;         /* fedplt/inference.h */
typedef struct fplt_read_settings fplt_read_settings; /* fedplt/read.h */
typedef struct fplt_schema fplt_schema;               /* fedplt/schema.h */
typedef struct fplt_transform fplt_transform;         /* fedplt/transform.h */

/* What a model consists of. In fplt_model_create everything is borrowed and copied; in what
 * fplt_model_get_view gives everything belongs to the model. */
typedef struct fplt_model_info {
    fplt_task task;
    const char *loss;
    double huber_delta; /* with the loss huber */
    int intercept;
    size_t features;
    uint32_t classes;                  /* 2 or more; 0 in regression */
    const char *const *feature_names;  /* `features` texts, or NULL */
    const char *const *class_names;    /* `classes` texts; NULL in regression */
    int drop_first_level;              /* how categories were read */
    const char *label, *site, *labels; /* how the data were read, or NULL */
    const fplt_schema *schema;         /* what the columns mean, or NULL; kept by the model */
    const fplt_transform *transform;   /* changes to the rows before training */
    const double *weights;             /* as fplt_objective has them */
    size_t dimension;                  /* outputs x (features + intercept) + shared numbers */
    const char *program;               /* name and version of the program that trained it */
    const char *training; /* a JSON object: settings and result of the training; or NULL */
    const fplt_inference *inference;     /* where standard errors come from, or NULL */
    const char *row_weight, *id;         /* columns by these names had a part in reading; or NULL */
    const char *missing_codes, *dates;   /* as in fplt_read_settings, or NULL */
    const char *const *reference_levels; /* `column=level` of levels without a feature, or NULL */
    size_t reference_count;
    const char *ties; /* with the loss cox: efron or breslow; NULL: breslow */
    const char
        *cluster; /* with mixed losses: column of the clusters; NULL: the sites are the clusters */
    uint32_t quadrature_points; /* with mixed-logistic and mixed-poisson; otherwise 0 */
} fplt_model_info;

typedef struct fplt_model fplt_model;

/* Makes a model from copies. FPLT_BAD_VALUE, with a sentence, where the parts do not fit together; FPLT_NO_MEMORY. */
FPLT_API fplt_status fplt_model_create(const fplt_model_info *info, fplt_model **model,
                                       fplt_error *error);
/* Releases the model and its view. */
FPLT_API void fplt_model_destroy(fplt_model *model);
/* What the model consists of; everything in it belongs to the model. fplt_model_outputs: weight vectors, the number of
 * classes with softmax, otherwise 1. */
FPLT_API const fplt_model_info *fplt_model_get_view(const fplt_model *model);
FPLT_API uint32_t fplt_model_outputs(const fplt_model *model);

/* Writes JSON, numbers with 17 digits, so that reading gives the same bits; the file appears whole or not at all.
 * fplt_model_read takes a file or a folder with a model.json. FPLT_IO; FPLT_BAD_DATA or FPLT_BAD_VALUE, naming file and
 * field, for parts that are missing, malformed or inconsistent. */
FPLT_API fplt_status fplt_model_write(const fplt_model *model, const char *path, fplt_error *error);
FPLT_API fplt_status fplt_model_read(const char *path, fplt_model **model, fplt_error *error);

/* Reads files as the model's own data were read, by its schema or by the names of features and classes, and transforms the
 * rows as in training. `read` (NULL: defaults) says the rest: format, label, site, another schema. `labelled` 0: the files
 * have no labels. */
FPLT_API fplt_status fplt_model_dataset(const fplt_model *model, const char *const *paths,
                                        size_t count, const fplt_read_settings *read, int labelled,
                                        fplt_dataset **dataset, fplt_error *error);

/* Predicts for transformed rows: of fplt_model_dataset, or after fplt_transform_apply with the model's transform. Labels are
 * not read. Each array may be NULL. `scores` has count x outputs numbers, `probabilities` count x
 * classes (FPLT_UNSUPPORTED unless fplt_model_has_probabilities), `predicted` count: the number of the class; in regression
 * the score; with poisson and gamma the mean; with cox the hazard relative to a row of zeros. FPLT_BAD_VALUE for rows with
 * another number of features. */
FPLT_API fplt_status fplt_model_predict(const fplt_model *model, const fplt_rows *rows,
                                        double *scores, double *probabilities, double *predicted,
                                        fplt_error *error);
FPLT_API int fplt_model_has_probabilities(const fplt_model *model);

/* How well; NaN where a measure has no meaning (AUC with one class only, accuracy in regression). */
typedef struct fplt_quality {
    size_t rows;
    double loss;     /* mean over the rows, without the regulariser */
    double accuracy; /* share of rows classified correctly */
    /* Of the second of two classes; with more, the mean over the classes, each against the rest. */
    double auc; /* area under the ROC curve, ties count half */
    double f1;
    double rmse; /* regression */
    double precision, recall;
    double brier;       /* squared distance of the probabilities from what happened */
    double r2;          /* regression: share of the labels' variance that is explained */
    double deviance;    /* poisson, gamma: mean over rows */
    double concordance; /* survival: Harrell's C over pairs of one agent */
    double
        weight; /* sum of the rows' weights, by which they count in every measure; NaN: all count alike */
} fplt_quality;

/* Measures the model on a transformed data set with labels. `each` (may be NULL) has one entry an agent, `all` is over all
 * rows. FPLT_BAD_VALUE where the data set does not fit the model. */
FPLT_API fplt_status fplt_model_evaluate(const fplt_model *model, const fplt_dataset *dataset,
                                         fplt_quality *each, fplt_quality *all, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
