/* Training from settings to a model: what `fedplt train` does, in one object.
 *
 *     fplt_settings_create(&settings, ...);
 *     fplt_trainer_declare(settings, 1, NULL, NULL, ...);     the tables, and the default algorithm
 *     fplt_settings_set(settings, "eps", "0.01", ...);
 *     fplt_dataset_borrow(&rows, ..., &source.dataset, ...);  or NULL: the settings say what to read
 *     fplt_trainer_create(settings, &source, &trainer, ...);
 *     fplt_trainer_run(trainer, NULL, NULL, &result, ...);
 *     fplt_trainer_model(trainer, &model, ...);               or only the weights
 *     fplt_trainer_destroy(trainer);
 *
 * With privacy settings the run is planned from public numbers, and a certificate says what it
 * promises (promise.h). Data in memory then need privacy.rows, or to be read by a schema: nothing about
 * them may be taken from the records. */
#ifndef FEDPLT_TRAINER_H
#define FEDPLT_TRAINER_H

#include "fedplt/certificate.h"
#include "fedplt/model.h"
#include "fedplt/promise.h"
#include "fedplt/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a setting will be, before there are tables for it; NULL: it is not given. */
typedef const char *(*fplt_given)(void *context, const char *name);

/* Adds the tables of a job, of privacy, and of checkpoints. The parameters of an algorithm are
 * settings like any other, so `given` (NULL: nothing is) must know `algorithm` and what goes with it
 * before. Where the data are the caller's (own_data, or `data` is given) some defaults are others than
 * the tables' (fplt_settings_preference says which, and why): the algorithm is the accelerated one
 * with automatic epochs, unless something given speaks against it; without privacy and `paper` there
 * are an intercept, standardised columns, a light ridge, rows that count alike, and a tolerance
 * relative to the start at the model that is handed out. */
FPLT_API fplt_status fplt_trainer_declare(fplt_settings *settings, int own_data, fplt_given given,
                                          void *context, fplt_error *error);
/* Of these only what concerns data of one's own: the switch `paper`, and the defaults of a statistician. For
 * commands that have the tables of a job (fplt_job_declare) and look at the job that would be trained. */
FPLT_API fplt_status fplt_trainer_prefer(fplt_settings *settings, int own_data, fplt_given given,
                                         void *context, fplt_error *error);

typedef struct fplt_trainer fplt_trainer;

/* Makes the job, the private plan and the engine, and goes back to the checkpoint `resume`. The
 * settings are borrowed. Of the source (NULL: nothing) a data set is taken over, also on failure. */
FPLT_API fplt_status fplt_trainer_create(const fplt_settings *settings,
                                         const fplt_job_source *source, fplt_trainer **trainer,
                                         fplt_error *error);
/* Releases the trainer with its engine, job, plan and every view of them, and closes the ledger;
 * NULL is legal. Settings, and what the source lent, stay the caller's. Models that were made stay
 * valid. */
FPLT_API void fplt_trainer_destroy(fplt_trainer *trainer);

/* To the end, or until the observer (or NULL) stops it; called again it goes on. In a process that does
 * not lead (ranks.h) it answers the leader until that destroys its trainer. Writes the
 * checkpoints that the settings ask for. `result` may be NULL. */
FPLT_API fplt_status fplt_trainer_run(fplt_trainer *trainer, fplt_observer observer, void *context,
                                      fplt_result *result, fplt_error *error);

/* fplt_trainer_job is the job as it was made, fplt_trainer_engine the engine that runs it; both
 * belong to the trainer. */
FPLT_API const fplt_job_view *fplt_trainer_job(const fplt_trainer *trainer);
FPLT_API fplt_engine *fplt_trainer_engine(fplt_trainer *trainer);
/* NULL: nothing is promised. */
FPLT_API const fplt_promise_view *fplt_trainer_promise(const fplt_trainer *trainer);
/* Every measurement so far. */
FPLT_API const fplt_history *fplt_trainer_history(const fplt_trainer *trainer);
/* Of a resumed run, before it runs: the measurements up to its checkpoint, from a file as
 * fplt_history_csv writes it. Elsewhere nothing is done. */
FPLT_API fplt_status fplt_trainer_recall(fplt_trainer *trainer, const char *path,
                                         fplt_error *error);

/* What is handed out: the coordinator's model, or the mean of the agents' own where the promise is
 * about that. One number a coordinate of the objective. */
FPLT_API fplt_status fplt_trainer_weights(fplt_trainer *trainer, double *x, fplt_error *error);
/* The certificate of the rounds so far, borrowed until the next call; NULL where nothing is promised
 * (error->status is then FPLT_OK), or on failure. */
FPLT_API const char *fplt_trainer_certificate(fplt_trainer *trainer, fplt_error *error);
/* A new model with the record of its training. FPLT_UNSUPPORTED with own costs. */
FPLT_API fplt_status fplt_trainer_model(fplt_trainer *trainer, fplt_model **model,
                                        fplt_error *error);
/* Every choice with its reason, and what came of the run so far. */
FPLT_API fplt_status fplt_trainer_record(fplt_trainer *trainer, fplt_record *record,
                                         fplt_error *error);
/* The information in the records: the sum of the loss's Hessian at x over all of them, without the
 * regulariser, row-major n x n. A record counts as it does in the objective, on average once. Its
 * inverse is the covariance of unpenalised estimates. Refused with privacy and with own costs. */
FPLT_API fplt_status fplt_trainer_information(fplt_trainer *trainer, const double *x,
                                              double *matrix, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
