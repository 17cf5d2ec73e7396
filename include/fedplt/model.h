/* A trained model: its file, what it predicts, and how well. */
#ifndef FEDPLT_MODEL_H
#define FEDPLT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/data.h"
#include "fedplt/engine.h"
#include "fedplt/job.h"
#include "fedplt/report.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_inference fplt_inference; /* fedplt/inference.h */

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
    const fplt_transform *transform;   /* what was done to the rows */
    const double *weights;             /* as fplt_objective has them */
    size_t dimension;                  /* outputs x (features + intercept) */
    const char *program;               /* name and version of the program that trained it */
    const char *training; /* a JSON object: how it was trained and what came of it; or NULL */
    const fplt_inference *inference;     /* where standard errors come from, or NULL */
    const char *row_weight, *id;         /* columns by these names had a part in reading; or NULL */
    const char *missing_codes, *dates;   /* as in fplt_read_settings, or NULL */
    const char *const *reference_levels; /* `column=level` of levels without a feature, or NULL */
    size_t reference_count;
    const char *ties; /* with the loss cox: efron or breslow; NULL: breslow */
} fplt_model_info;

typedef struct fplt_model fplt_model;

/* Refuses, with a sentence, what does not fit together. */
FPLT_API fplt_status fplt_model_create(const fplt_model_info *info, fplt_model **model,
                                       fplt_error *error);
/* What was chosen for a run, or given, and why. */
typedef struct fplt_choice {
    const char *name;
    double value;     /* NaN where it is a word */
    const char *word; /* NULL where it is a number */
    char why[400];
} fplt_choice;

/* A reason "rho = 1: because" without what stands before it in a table anyway. */
FPLT_API const char *fplt_choice_because(const char *why);

/* The model of an engine that ran a job, with the whole record of its training: problem, algorithm,
 * parameters and why, seed, kernel, outcome, measures and counters. `result` may be NULL. */
FPLT_API fplt_status fplt_model_from_run(const fplt_job *job, fplt_engine *engine,
                                         const fplt_result *result, fplt_model **model,
                                         fplt_error *error);
/* What a certificate names it by: a digest of all but the program and the training record. */
enum { FPLT_MODEL_DIGEST = 32 };
FPLT_API fplt_status fplt_model_digest(const fplt_model *model,
                                       unsigned char digest[FPLT_MODEL_DIGEST], fplt_error *error);
/* Releases the model and everything of its view; NULL is legal. */
FPLT_API void fplt_model_destroy(fplt_model *model);
/* What the model consists of; everything in it belongs to the model. Thread-safe. */
FPLT_API const fplt_model_info *fplt_model_get_view(const fplt_model *model);
/* Whether its record has a certificate of privacy. */
FPLT_API int fplt_model_is_private(const fplt_model *model);
/* Weight vectors: the number of classes with softmax, 1 otherwise. */
FPLT_API uint32_t fplt_model_outputs(const fplt_model *model);

/* JSON, numbers with 17 digits: reading gives the same bits. fplt_model_write: the file appears
 * whole or not at all. fplt_model_read takes a file or a folder with a model.json, and refuses,
 * naming file and field, whatever is missing, malformed or does not fit together. Models are
 * released with fplt_model_destroy; `model` is NULL on failure. FPLT_IO, FPLT_BAD_DATA,
 * FPLT_BAD_VALUE. */
FPLT_API fplt_status fplt_model_write(const fplt_model *model, const char *path, fplt_error *error);
FPLT_API fplt_status fplt_model_read(const char *path, fplt_model **model, fplt_error *error);
/* fplt_model_text is the same text in memory, released with fplt_free; fplt_model_parse reads it,
 * `path` begins its messages. */
FPLT_API fplt_status fplt_model_text(const fplt_model *model, char **text, fplt_error *error);
FPLT_API fplt_status fplt_model_parse(const char *text, size_t length, const char *path,
                                      fplt_model **model, fplt_error *error);

/* Reads files as the model's own data were read, by its schema or with features and classes found by
 * their names, and does to the rows what was done in training. `read` has what else there is to say
 * (format, label, site, another schema); `labelled` 0: the files have no labels. */
FPLT_API fplt_status fplt_model_dataset(const fplt_model *model, const char *const *paths,
                                        size_t count, const fplt_read_settings *read, int labelled,
                                        fplt_dataset **dataset, fplt_error *error);

/* On rows that were transformed. Each array may be NULL: `scores` has count x outputs, and
 * `probabilities` count x classes (FPLT_UNSUPPORTED unless fplt_model_has_probabilities);
 * `predicted` has count: the number of the class, or the score itself in regression; the expected
 * count with the loss poisson, the hazard relative to a row of zeros with cox. */
FPLT_API fplt_status fplt_model_predict(const fplt_model *model, const fplt_rows *rows,
                                        double *scores, double *probabilities, double *predicted,
                                        fplt_error *error);
FPLT_API int fplt_model_has_probabilities(const fplt_model *model);

/* Other programs' forms: `form` is onnx (a graph on the columns as the file has them, categories as
 * columns of 0 and 1, named in its metadata; its coefficients are single precision) or csv (the table
 * below). The file appears whole or not at all. */
FPLT_API fplt_status fplt_model_export(const fplt_model *model, const char *form, const char *path,
                                       fplt_error *error);
/* Coefficients by name, as the model has them and in the units of the file, before columns were
 * standardised (missing where rows were shortened, which no coefficient can undo). */
FPLT_API fplt_status fplt_model_coefficients(const fplt_model *model, fplt_table **table,
                                             fplt_error *error);

/* How well; NaN where a measure has no meaning (AUC with one class only, accuracy in regression). */
typedef struct fplt_quality {
    size_t rows;
    double loss;     /* mean over the rows, without the regulariser */
    double accuracy; /* share of rows classified rightly */
    /* Of the second of two classes; with more, the mean over the classes, each against the rest. */
    double auc; /* area under the ROC curve, ties count half */
    double f1;
    double rmse; /* regression */
    double precision, recall;
    double brier;       /* squared distance of the probabilities from what happened */
    double r2;          /* regression: share of the labels' variance that is explained */
    double deviance;    /* poisson: mean over the rows */
    double concordance; /* survival: Harrell's C over pairs of one agent */
    double
        weight; /* sum of the rows' weights, by which they count in every measure; NaN: all count alike */
} fplt_quality;

/* How a run was done and what came of it, beside its fplt_result. May grow at its end. */
typedef struct fplt_record {
    size_t parameters; /* the algorithm's */
    fplt_choice parameter[FPLT_MAX_PARAMETERS];
    fplt_choice epochs, step; /* step: the least of all agents */
    double largest_step;      /* of all agents; NaN: nobody takes one */
    const char *advice;       /* borrowed from the job: what would help more; empty: nothing */
    fplt_facts facts;         /* curvature and cohort */
    int measured, judged;     /* whether the next two are known; never with privacy */
    fplt_measure model;       /* of the weights that are handed out */
    fplt_quality held_out;    /* of the rows that were held out */
} fplt_record;

/* On a transformed data set with labels. `each` (or NULL) has one entry an agent, `all` is over all
 * rows. */
FPLT_API fplt_status fplt_model_evaluate(const fplt_model *model, const fplt_dataset *dataset,
                                         fplt_quality *each, fplt_quality *all, fplt_error *error);

/* A closer look at all rows together. */
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

/* `each` (or NULL) has one entry an agent. A threshold that is not NaN decides between two classes. */
FPLT_API fplt_status fplt_model_assess(const fplt_model *model, const fplt_dataset *dataset,
                                       double threshold, fplt_quality *each,
                                       fplt_assessment *assessment, fplt_error *error);
/* One line a site and one for all rows, with the measures that are known of all. */
FPLT_API fplt_status fplt_quality_table(const fplt_dataset *dataset, const fplt_quality *each,
                                        const fplt_quality *all, fplt_table **table,
                                        fplt_error *error);
/* The values that were filled in, one line a column and site that has any: column, site, filled, rows, share. */
FPLT_API fplt_status fplt_filled_table(const fplt_dataset *dataset, fplt_table **table,
                                       fplt_error *error);
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
