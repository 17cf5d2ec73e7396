/* Work on several threads. */
#ifndef FPLT_BASE_WORKERS_H
#define FPLT_BASE_WORKERS_H

#include "fedplt/status.h"

/* Calls task(context) on the caller's thread and on `threads` - 1 others, and returns when all are done. A
 * thread that cannot be started is not there: a task takes its work in portions, until none is left. */
void fplt__workers_run(unsigned threads, void (*task)(void *context), void *context);

/* Work that comes in portions and is put together in their order. One portion after the other is taken
 * into a slot (fewer than `slots`; 0 in *more where none is left) by a worker (fewer than `threads`), which has one portion
 * at a time. Loading and processing run in parallel; take, place and join run one portion at a time, in the same
 * order. After a failure no portion is taken, and portions behind the failed one are not placed; the failure of the
 * earliest portion is returned. take, place and join are never called at the same time. */
typedef struct fplt__pipeline {
    void *context;
    fplt_status (*take)(void *context, unsigned slot, unsigned worker, int *more,
                        fplt_error *error);
    fplt_status (*load)(void *context, unsigned slot, fplt_error *error);
    fplt_status (*place)(void *context, unsigned slot, fplt_error *error);
    fplt_status (*work)(void *context, unsigned slot, fplt_error *error);
    fplt_status (*join)(void *context, unsigned slot, fplt_error *error);
} fplt__pipeline;

enum { FPLT__MAX_SLOTS = 128 };

fplt_status fplt__pipeline_run(const fplt__pipeline *line, unsigned threads, unsigned slots,
                               fplt_error *error);

#endif
