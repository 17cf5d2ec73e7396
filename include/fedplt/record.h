/* Record of a run: its choices and its result, as fplt_trainer_record writes them.
 *
 * Threads and blocking: plain structures.
 */
#ifndef FEDPLT_RECORD_H
#define FEDPLT_RECORD_H

#include <stddef.h>

#include "fedplt/engine.h"
#include "fedplt/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter of a run, chosen or given, and the reason. */
typedef struct fplt_choice {
    const char *name;
    double value;     /* NaN where it is a word */
    const char *word; /* NULL where it is a number */
    char why[400];
} fplt_choice;

/* Choices and result of a run, beside its fplt_result. May grow at its end. */
typedef struct fplt_record {
    size_t parameters; /* the algorithm's */
    fplt_choice parameter[FPLT_MAX_PARAMETERS];
    fplt_choice epochs, step; /* step: the least of all agents */
    double largest_step;      /* of all agents; NaN: no agent takes one */
    const char *advice;       /* borrowed from the job: what would help more; empty: nothing */
    fplt_facts facts;         /* curvature and cohort */
    int measured, judged;     /* whether the next two are known; never with privacy */
    fplt_measure model;       /* of the weights that are handed out */
    fplt_quality held_out;    /* of the rows that were held out */
} fplt_record;

#ifdef __cplusplus
}
#endif
#endif
