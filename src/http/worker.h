/* Errands that a thread of its own runs while the owner goes on: one at a time, oldest first. The owner alone gives
 * them and takes them back, and may run one itself when it has nothing else to do. */
#ifndef FPLT_FEDERATION_ASIDE_H
#define FPLT_FEDERATION_ASIDE_H

#include "fedplt/status.h"

typedef struct fplt__http_worker fplt__http_worker;

/* Part of what it is about; the owner sets `run` and `context`. */
typedef struct fplt__work_item {
    void (*run)(void *context); /* on whichever thread */
    void *context;
    struct fplt__work_item *next;
} fplt__work_item;

fplt_status fplt__http_worker_create(fplt__http_worker **worker, fplt_error *error);
void fplt__http_worker_destroy(fplt__http_worker *worker); /* with no work_item left */

void fplt__http_worker_give(fplt__http_worker *worker, fplt__work_item *work_item);
/* One that is done, taken back; NULL: none is. */
fplt__work_item *fplt__http_worker_take(fplt__http_worker *worker);
/* Runs one that waits, if there is one; whether there was. */
int fplt__http_worker_help(fplt__http_worker *worker);
/* Takes this one back, done or not; waits while it is being run. */
void fplt__http_worker_recall(fplt__http_worker *worker, fplt__work_item *work_item);
/* Runs and waits until all are done. */
void fplt__http_worker_finish(fplt__http_worker *worker);
/* Before the owner waits: whether there are work_items that are done or that it could run. Otherwise, where one is being
 * run, *descriptor can be read once it is done; -1: none is. */
int fplt__http_worker_watch(fplt__http_worker *worker, int *descriptor);

#endif
