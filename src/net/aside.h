/* Errands that a thread of its own runs while the owner goes on: one at a time, oldest first. The owner alone gives
 * them and takes them back, and may run one itself when it has nothing else to do. */
#ifndef FPLT_NET_ASIDE_H
#define FPLT_NET_ASIDE_H

#include "fedplt/status.h"

typedef struct fplt__aside fplt__aside;

/* Part of what it is about; the owner sets `run` and `context`. */
typedef struct fplt__errand {
    void (*run)(void *context); /* on whichever thread */
    void *context;
    struct fplt__errand *next;
} fplt__errand;

fplt_status fplt__aside_create(fplt__aside **aside, fplt_error *error);
void fplt__aside_destroy(fplt__aside *aside); /* with no errand left */

void fplt__aside_give(fplt__aside *aside, fplt__errand *errand);
/* One that is done, taken back; NULL: none is. */
fplt__errand *fplt__aside_take(fplt__aside *aside);
/* Runs one that waits, if there is one; whether there was. */
int fplt__aside_help(fplt__aside *aside);
/* Takes this one back, done or not; waits while it is being run. */
void fplt__aside_recall(fplt__aside *aside, fplt__errand *errand);
/* Runs and waits until all are done. */
void fplt__aside_finish(fplt__aside *aside);
/* Before the owner waits: whether there are errands that are done or that it could run. Otherwise, where one is being
 * run, *descriptor can be read once it is done; -1: none is. */
int fplt__aside_watch(fplt__aside *aside, int *descriptor);

#endif
