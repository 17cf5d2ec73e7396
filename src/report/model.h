#ifndef FPLT_REPORT_MODEL_H
#define FPLT_REPORT_MODEL_H

#include <jansson.h>

#include "data/blocks.h"
#include "data/formula.h"
#include "fedplt/inference.h"
#include "fedplt/model.h"
#include "fedplt/record.h"
#include "fedplt/schema.h"
#include "objective/loss.h"
#include "promise/certificate.h"

struct fplt_model {
    fplt_model_info info;   /* all it points at is owned */
    const fplt__loss *kind; /* of info.loss */
    uint32_t outputs;
    fplt_transform transform;
    fplt_schema *schema;
    char *loss, *label, *site, *labels, *program, *training, *row_weight, *id, *ties, *cluster;
    char *missing_codes, *dates;
    char **feature_names, **class_names, **references;
    double *weights;
    fplt_inference inference;
    fplt_model *refit; /* owned; NULL: none */
    json_t *record;    /* owned: what `training` is the text of; NULL: parse that */
};

/* The linear predictor where all columns are 0 before they were centred and scaled; of several sites, the reference site's. */
double fplt__model_score_at_zero(const fplt_model *model);

/* Gives the model its refit, which is taken over. */
void fplt__model_set_refit(fplt_model *model, fplt_model *refit);

/* A new reference to the whole as JSON, or NULL when there is no memory or a text is not UTF-8. */
json_t *fplt__model_json(const fplt_model *model);

/* Beyond so many coordinates the sums behind standard errors are left out: they cost as much as
 * hundreds of gradients, and their square in the file. */
enum { FPLT__INFERENCE_TO = 200 };
/* fplt__inference_from_objective of the agents of an engine, wherever they are; NULL: all are in the objective. */
fplt_status fplt__inference_make(const fplt_objective *objective, fplt_engine *engine,
                                 const char *loss, const double *x, int penalised, int by_rows,
                                 fplt_inference *inference, fplt_error *error);
/* From matrices that are there and the facts of fplt__information, the rest; no scores where the loss has none.
 * `intercepts` are the last of the n coordinates. */
fplt_status fplt__inference_complete(const char *loss, size_t n, size_t intercepts,
                                     const double *facts, fplt_inference *inference,
                                     fplt_error *error);
/* The dispersion, from losses, rows and the number of coordinates with information. */
void fplt__inference_disperse(const fplt__loss *kind, size_t n, fplt_inference *inference);
/* What the dispersion is over the degrees of freedom: the squared residuals, or Pearson's statistic. */
double fplt__inference_spread(const fplt__loss *kind, const fplt_inference *inference);
/* Copies the matrices of n x n numbers. */
fplt_status fplt__inference_copy(const fplt_inference *from, size_t n, fplt_inference *to,
                                 fplt_error *error);
/* FPLT_BAD_VALUE where the rows have other features than the model. */
fplt_status fplt__model_check_rows(const fplt_model *model, const fplt_rows *rows,
                                   fplt_error *error);
/* The coordinates that all rows share, behind the others. */
const double *fplt__model_shared(const fplt_model *model);
/* From the scores of a row: the probability of each class, of models that have them; and the class or the value. */
void fplt__model_probabilities(const fplt_model *model, const double *scores,
                               double *probabilities);
double fplt__model_predicted(const fplt_model *model, const double *scores);
/* One row: `outputs` scores, the probability of each class unless NULL, and the class or the value. */
void fplt__model_answer(const fplt_model *model, const fplt_rows *rows, size_t row, double *scores,
                        double *probabilities, double *predicted);
/* The rows of a long file block by block, as fplt_model_dataset has them; FPLT_UNSUPPORTED where they are read at once.
 * `before`: the blocks of the file before, of several files; NULL: the first. What `settings` points to must outlive the blocks. */
fplt_status fplt__model_blocks_open(const fplt_model *model, const char *path,
                                    const fplt_read_settings *settings, int labelled,
                                    const fplt__blocks *before, fplt__blocks **blocks,
                                    fplt_error *error);
fplt_status fplt__model_blocks_next(const fplt_model *model, const fplt_read_settings *settings,
                                    int labelled, fplt__blocks *blocks, fplt_dataset **dataset,
                                    fplt_error *error);
/* The cost of the model's loss alone: no regulariser, and no bound on the linear predictor of counts, so that it
 * does not depend on the data. */
fplt_objective_settings fplt__model_cost(const fplt_model *model);
/* As JSON: lower triangles, row after row; and back. NULL when there is no memory. */
json_t *fplt__inference_json(const fplt_inference *inference, size_t n);
fplt_status fplt__inference_read(const json_t *object, const char *path, size_t n,
                                 fplt_inference *inference, fplt_error *error);

/* Choices, measures and quality of a run; `model` NULL: nothing is judged. */
fplt_status fplt__record_make(const fplt_job_view *view, fplt_engine *engine, const double *weights,
                              const fplt_model *model, fplt_record *record, fplt_error *error);

/* The model of an engine that ran a job, with the whole record of its training: problem, algorithm,
 * parameters and why, seed, kernel, outcome, measures and counters. `result` may be NULL, and so may `record`, which
 * receives the record of the run as it was used. */
fplt_status fplt__model_from_run(const fplt_job *job, fplt_engine *engine,
                                 const fplt_result *result, fplt_record *record, fplt_model **model,
                                 fplt_error *error);

/* Puts a member, a reference that is taken over, into the training record of a model of a run. */
fplt_status fplt__model_add_record(fplt_model *model, const char *name, json_t *value,
                                   fplt_error *error);

/* Certifies the model and puts the certificate, a new reference, into its training record. */
fplt_status fplt__model_certify(fplt_model *model, const fplt_promise_view *view,
                                fplt__certificate_run *run, const fplt_key *key,
                                json_t **certificate, fplt_error *error);

/* The columns that a model reads: its features, or those that its formula is over. */
typedef struct fplt__model_inputs {
    size_t count;
    const char *const *names; /* or NULL */
} fplt__model_inputs;

fplt__model_inputs fplt__model_inputs_of(const fplt_model_info *info);

#endif
