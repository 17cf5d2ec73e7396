/* Several processes that train together: each has a block of the agents and their data, and they
 * exchange sums. How numbers get from one process to another is up to the program that fills this table; the
 * program does it with MPI.
 *
 * All processes run the same calls with the same settings: fplt_trainer_create, then fplt_trainer_run.
 * Number 0 leads: it alone is the coordinator, observes, reads checkpoints and writes files. In the
 * others fplt_trainer_run answers its orders until it destroys its trainer.
 *
 * A failure of the transport itself must end the process: no other process can be notified.
 *
 * Threads and blocking: the table's functions are called in the thread that uses trainer or engine, one at a time, and block
 * until the other processes answer; so does fplt_ranks_agree. */
#ifndef FEDPLT_RANKS_H
#define FEDPLT_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_ranks {
    size_t size;            /* sizeof(fplt_ranks), set by the program that fills it */
    unsigned number, count; /* of this process, from 0; of all */
    unsigned neighbours;    /* processes on this machine, this one included; 0: one */
    void *context;          /* for the functions */
    /* All call these two together. Adds `count` 128-bit integers (two words each, the low one first)
     * over all processes; only number 0 gets the totals. One that leaves 128 bits becomes the least
     * there is, -2^127, and stays it whatever is added. */
    void (*sum)(void *context, uint64_t *words, size_t count);
    /* Number 0's bytes to all. */
    void (*share)(void *context, void *bytes, size_t size);
    /* From one process to another, in order. */
    void (*send)(void *context, unsigned to, const void *bytes, size_t size);
    void (*receive)(void *context, unsigned from, void *bytes, size_t size);
    int ended; /* for the library: a failure was reported to all processes; no function may be called */
} fplt_ranks;

/* In the set-up, and where whole runs are spread: the first failure of all processes, in every one of
 * them, and `error` filled with it. A process that fails must call it, because the others wait for
 * its status; every exchange of the library begins with it. After a failure it returns at once. NULL:
 * one process. */
FPLT_API fplt_status fplt_ranks_agree(fplt_ranks *ranks, fplt_status status, fplt_error *error);

/* A shared object that brings such a table has one of these under the name FPLT_RANKS_MODULE. The
 * program loads it on request, so that nothing else depends on MPI. */
typedef struct fplt_ranks_module {
    size_t size;                /* sizeof(fplt_ranks_module) */
    fplt_ranks *(*begin)(void); /* once a process; NULL where it cannot start */
    void (*end)(void);          /* all together: nothing may be sent any more */
} fplt_ranks_module;

#define FPLT_RANKS_MODULE "fplt_ranks_module_1"

#ifdef __cplusplus
}
#endif
#endif
