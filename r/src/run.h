/* A training of the library, in a thread beside R's main thread while that looks for interrupts; or, with costs that are functions of
 * R, in the main thread. */
#ifndef FEDPLT_R_RUN_H
#define FEDPLT_R_RUN_H

#include "fedplt_costs.h"
#include "fedplt_r.h"

#include "fedplt/job.h"

/* What a training takes and makes. The thread that ends it owns all of it: R's, or after an interrupt its own. */
typedef struct fpltr_run {
    fplt_settings *settings; /* owned */
    fplt_job_source source;  /* `start` is owned; `dataset` is the trainer's once that is made */
    int wants_model;
    fplt_trainer *trainer; /* owned, as the model */
    fplt_model *model;
    fplt_result result;
    fplt_status status;
    fplt_error error;
} fpltr_run;

/* Does everything: makes the trainer, runs it, makes the model. `observer` stops it by an answer other than 0. */
void fpltr_run_train(fpltr_run *run, fplt_observer observer, void *context);
/* Releases what a run owns, and the run; NULL is legal. */
void fpltr_run_destroy(fpltr_run *run);

/* Asks R's main thread about a round; nonzero ends the run. */
typedef int fpltr_run_ask(void *context, const fplt_progress *progress);

/**
 * Runs fpltr_run_train in a thread, and waits for its end. R's main thread calls `ask` (NULL: nothing is asked) after every round,
 * and looks for interrupts 50 times a second.
 *
 * @retval 1  an interrupt came: the run ends after its round and releases itself; *run is NULL. The work is waited for
 *            half a second, so that its memory is mostly free by then; what takes longer goes on in the thread until it notices.
 * @retval 0  it has ended, with run->status
 * @retval -1 no thread could be started: nothing was done
 */
int fpltr_run_beside(fpltr_run **run, fpltr_run_ask *ask, void *context);
/* Waits for the threads that went on after an interrupt: before the package is unloaded. */
void fpltr_run_wait_for_all(void);

#endif
