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
 * With privacy settings the run is planned from public numbers, and a certificate states its promise (fedplt/promise.h). Data
 * in memory then need privacy.rows (a bound on the norm of a row, to which longer rows are shortened; the noise grows with
 * it) or a schema by which they were read: nothing may be taken from the records.
 *
 * Threads and blocking: one thread at a time may use a trainer; different trainers may run in different threads. Its engine
 * has worker threads (fedplt/engine.h). fplt_trainer_create blocks while it reads files, fplt_trainer_run until the run
 * ends; with the setting `ledger` whatever hands out weights waits for the charge to be on disk.
 */
#ifndef FEDPLT_TRAINER_H
#define FEDPLT_TRAINER_H

#include "fedplt/engine.h"
#include "fedplt/model.h"
#include "fedplt/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_job_source fplt_job_source;     /* your own data, costs, start: fedplt/job.h */
typedef struct fplt_job_view fplt_job_view;         /* fedplt/job.h */
typedef struct fplt_promise_view fplt_promise_view; /* fedplt/promise.h */
typedef struct fplt_history fplt_history;           /* fedplt/report.h */
typedef struct fplt_record fplt_record;             /* fedplt/record.h */

/* What a setting will be, before there are tables for it; NULL: it is not given. */
typedef const char *(*fplt_given)(void *context, const char *name);

/* Adds the tables of a job, of privacy and of checkpoints. Parameters of the algorithm are settings too, so `given` (NULL:
 * nothing is) must know `algorithm` and what goes with it. For your own data (own_data, or `data` is given) some
 * defaults differ: the algorithm is the accelerated one with automatic epochs, unless a given setting excludes it;
 * without privacy and `paper` there are an intercept, standardised columns, a light ridge, rows that count alike, and a
 * tolerance relative to the start. fplt_trainer_prefer adds only these defaults and the switch `paper`, for settings that
 * have the tables of fplt_job_declare. */
FPLT_API fplt_status fplt_trainer_declare(fplt_settings *settings, int own_data, fplt_given given,
                                          void *context, fplt_error *error);
FPLT_API fplt_status fplt_trainer_prefer(fplt_settings *settings, int own_data, fplt_given given,
                                         void *context, fplt_error *error);

typedef struct fplt_trainer fplt_trainer;

/* Makes the job, the private plan and the engine, and loads the checkpoint `resume`. Settings, and what the source (may be
 * NULL) lends, are borrowed until fplt_trainer_destroy; the source's data set is taken over, also on failure. */
FPLT_API fplt_status fplt_trainer_create(const fplt_settings *settings,
                                         const fplt_job_source *source, fplt_trainer **trainer,
                                         fplt_error *error);
/* Releases the trainer with its engine, job, plan and their views, and closes the ledger. Models that
 * were made stay valid. */
FPLT_API void fplt_trainer_destroy(fplt_trainer *trainer);

/* Runs to the end, or until the observer (may be NULL) stops it; called again it goes on. `result` may be NULL. Divergence
 * is an outcome, not an error. With privacy the outcome is FPLT_ROUNDS_DONE and measures are NaN. Writes the checkpoints
 * that the settings ask for. In a process that does not lead (fedplt/ranks.h) it answers the leader until that
 * destroys its trainer. */
FPLT_API fplt_status fplt_trainer_run(fplt_trainer *trainer, fplt_observer observer, void *context,
                                      fplt_result *result, fplt_error *error);

/* The job as it was made; fplt_trainer_engine: the engine; fplt_trainer_promise: the private plan, NULL where nothing is
 * promised; fplt_trainer_history: every measurement so far. All belong to the trainer. */
FPLT_API const fplt_job_view *fplt_trainer_job(const fplt_trainer *trainer);
FPLT_API fplt_engine *fplt_trainer_engine(fplt_trainer *trainer);
FPLT_API const fplt_promise_view *fplt_trainer_promise(const fplt_trainer *trainer);
FPLT_API const fplt_history *fplt_trainer_history(const fplt_trainer *trainer);

/* Writes the weights that are handed out, one number a coordinate of the objective: the coordinator's model, or the mean of
 * the agents' own where the promise is about that. With a ledger the rounds so far are charged first. */
FPLT_API fplt_status fplt_trainer_weights(fplt_trainer *trainer, double *x, fplt_error *error);
/* The certificate of the rounds so far, borrowed until the next call; NULL where nothing is promised or no round was run
 * (error->status is then FPLT_OK), or on failure. Charges as fplt_trainer_weights. */
FPLT_API const char *fplt_trainer_certificate(fplt_trainer *trainer, fplt_error *error);
/* Makes a model with the record of its training. FPLT_UNSUPPORTED with own costs. Charges as fplt_trainer_weights. */
FPLT_API fplt_status fplt_trainer_model(fplt_trainer *trainer, fplt_model **model,
                                        fplt_error *error);
/* Writes every choice with its reason, and the result of the run so far. Charges as fplt_trainer_weights. */
FPLT_API fplt_status fplt_trainer_record(fplt_trainer *trainer, fplt_record *record,
                                         fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
