/* Many independent tasks on all cores. What a task computes must depend on its number alone: then no
 * result depends on how many threads there are or on which of them was faster. */
#ifndef FPLT_LAB_TUNING_CREW_H
#define FPLT_LAB_TUNING_CREW_H

#include "fedplt/ranks.h"
#include "fedplt/status.h"

typedef struct fplt__crew {
    unsigned threads;           /* 0: one a core */
    fplt_watch watch;           /* after every task, one call at a time; or NULL */
    void *context;              /* of `watch` and `stop` */
    int (*stop)(void *context); /* before every task, from all threads at once; or NULL */
    fplt_ranks *ranks; /* borrowed: processes that share the tasks of fplt__crew_spread, or NULL */
} fplt__crew;

typedef fplt_status (*fplt__task)(void *context, size_t index, fplt_error *error);

/* Runs tasks 0 .. count - 1, taken in this order. After a failure no new one is begun, and the
 * failure of the lowest number is reported; FPLT_FAILED when the watch, or `stop`, asked to stop. `done` and
 * `total` are what the watch is told: tasks before these, and tasks of the whole experiment. */
fplt_status fplt__crew_run(const fplt__crew *crew, size_t count, fplt__task task, void *context,
                           size_t done, size_t total, fplt_error *error);
/* What tasks came to, on its way from one process to the others. */
typedef struct fplt__parcel fplt__parcel;
/* Takes the bytes along where the task was done; puts those that came into their place elsewhere. */
fplt_status fplt__parcel_carry(fplt__parcel *parcel, void *bytes, size_t size);
int fplt__parcel_arrives(const fplt__parcel *parcel);
/* Carries all that task `index` came to, in the same order on both sides. */
typedef fplt_status (*fplt__results)(void *context, size_t index, fplt__parcel *parcel);

/* fplt__crew_run over all processes of the crew: each does some of the tasks, and all have the results. The
 * same failure is told in all. */
fplt_status fplt__crew_spread(const fplt__crew *crew, size_t count, fplt__task task,
                              fplt__results results, void *context, size_t done, size_t total,
                              fplt_error *error);
/* The second half of it, for who shares the tasks out himself: task `index` was done by process
 * owner(context, index). `failed`: of the task that failed here, with status and error. */
typedef unsigned (*fplt__owner)(void *context, size_t index);
fplt_status fplt__crew_exchange(fplt_ranks *ranks, size_t count, fplt__owner owner,
                                fplt__results results, void *context, size_t failed,
                                fplt_status status, fplt_error *error);

/* The number of threads for so many tasks. */
unsigned fplt__crew_threads(const fplt__crew *crew, size_t count);
/* Threads that each of so many tasks may use for itself. */
unsigned fplt__crew_share(const fplt__crew *crew, size_t count);

#endif
