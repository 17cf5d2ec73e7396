/* The inside of a comparison. */
#ifndef FPLT_LAB_COMPARE_COMPARE_H
#define FPLT_LAB_COMPARE_COMPARE_H

#include "fedplt/compare.h"
#include "fedplt/job.h"
#include "lab/tuning/crew.h"
#include "lab/tuning/problem.h"
#include "lab/tuning/tuning.h"

/* Generated data sets to tune on. */
enum { FPLT__COMPARE_TUNING_SETS = 5 };

/* A job's costs for one Monte Carlo run. */
struct fplt__compare_stage {
    fplt_job *job;              /* owned */
    fplt_curvature *curvatures; /* owned */
};

struct fplt__compare_entry {
    fplt_compared view;
    char refusal[1024];
    fplt__method method;
    fplt__tuned tuned;
    fplt__judged *judged;        /* owned; one a run */
    uint8_t *diverged;           /* owned; one a run */
    fplt__recording *recordings; /* owned; one a run */
    double *curve;               /* owned; five curves of view.curve.count each */
};

struct fplt_comparison {
    fplt_compare_settings wanted;
    fplt_settings *settings; /* owned: those of the job with an algorithm among them */
    fplt__crew crew;
    int generated;
    struct fplt__compare_entry *entries; /* owned */
    size_t count;
    struct fplt__compare_stage shared;                            /* data that stay, or of run 0 */
    struct fplt__compare_stage tuning[FPLT__COMPARE_TUNING_SETS]; /* generated data to tune on */
    size_t done, total;                                           /* steps */
    double *targets;                                              /* owned; one a run */
    double target;
};

/* The entry at `index` of those that were not refused; NULL behind the last. */
struct fplt__compare_entry *fplt__compare_admitted(const fplt_comparison *comparison, size_t index);

/* Quartiles, failures and curves of every admitted entry, once all runs were judged; in medians.c. */
fplt_status fplt__compare_sum_up(fplt_comparison *comparison, fplt_error *error);

#endif
