/* Many independent tasks on all cores. What a task computes must depend on its number alone: then no
 * result depends on how many threads there are or on which of them was faster. */
#ifndef FPLT_LAB_TUNING_CREW_H
#define FPLT_LAB_TUNING_CREW_H

#include "fedplt/status.h"

typedef struct fplt__crew {
    unsigned threads;           /* 0: one a core */
    fplt_watch watch;           /* after every task, one call at a time; or NULL */
    void *context;              /* of `watch` and `stop` */
    int (*stop)(void *context); /* before every task, from all threads at once; or NULL */
} fplt__crew;

typedef fplt_status (*fplt__task)(void *context, size_t index, fplt_error *error);

/* Runs tasks 0 .. count - 1, taken in this order. After a failure no new one is begun, and the
 * failure of the lowest number is reported; FPLT_FAILED when the watch, or `stop`, asked to stop. `done` and
 * `total` are what the watch is told: tasks before these, and tasks of the whole experiment. */
fplt_status fplt__crew_run(const fplt__crew *crew, size_t count, fplt__task task, void *context,
                           size_t done, size_t total, fplt_error *error);
/* The number of threads for so many tasks. */
unsigned fplt__crew_threads(const fplt__crew *crew, size_t count);
/* Threads that each of so many tasks may use for itself. */
unsigned fplt__crew_share(const fplt__crew *crew, size_t count);

#endif
