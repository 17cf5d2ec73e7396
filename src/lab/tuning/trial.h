/* One run of an engine to its criterion, and means over several. */
#ifndef FPLT_LAB_TUNING_TRIAL_H
#define FPLT_LAB_TUNING_TRIAL_H

#include "fedplt/engine.h"

/* What a run needs to know beside the settings of the method: costs, their curvatures (computed once
 * for many runs), h, who takes part, and the keys of its random streams. */
typedef struct fplt__case {
    const fplt_objective *objective;   /* all borrowed */
    const fplt_curvature *curvatures;  /* one an agent */
    const fplt_participation *partial; /* NULL: all */
    const fplt_prox *prox;             /* NULL: h = 0; not shared by runs at the same time */
    uint64_t seed;
    uint32_t run;
    int by_bounds; /* rho: auto follows from `curvatures` alone, whatever the curvature at the start */
    int impatient; /* gives up a run that at twice its pace could not arrive in its rounds */
    int (*stop)(void *context); /* asked after every round; non-zero is FPLT_FAILED; or NULL */
    void *context;
} fplt__case;

/* How a run went, or the mean over several. */
typedef struct fplt__judged {
    uint32_t runs, converged;
    uint32_t stalled; /* given up: too slow to arrive */
    double rounds;
    double fine; /* rounds to the tolerance, interpolated in the last one on a logarithmic scale;
                    where it is not reached, the logarithm of what is missing */
    double gradients, paper_gradients, exchanges, vectors, time, paper_time;
    double criterion; /* at the end */
    double target;    /* the criterion that was asked for */
} fplt__judged;

/* What was measured after every round, if one wants to know. */
typedef struct fplt__sample {
    double criterion, gradients, vectors, paper_time;
} fplt__sample;

typedef struct fplt__recording {
    fplt__sample *samples; /* owned; number k after k rounds */
    size_t count, capacity;
} fplt__recording;

/* With evaluate_every 0 and h = 0 the criterion is still measured after every round, by the
 * shortest way. Stops past `most` rounds or `most_time` of the paper's time (each may be HUGE_VAL). A parameter or
 * step that is not legal is an error; divergence is none. `recording` may be NULL. */
fplt_status fplt__trial_run(const fplt__case *one, const fplt_run_settings *settings, double most,
                            double most_time, fplt__recording *recording, fplt__judged *judged,
                            fplt_error *error);

/* Adds a run to a sum that began at zero, and turns the sum into a mean over the runs that reached
 * the criterion. */
void fplt__judged_add(fplt__judged *sum, const fplt__judged *one);
void fplt__judged_mean(fplt__judged *sum);

#endif
