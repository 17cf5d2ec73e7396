/* A search for the rho, local step and number of epochs to take: a choice with alternatives, by
 * theory, by a short experiment, or by both. Covers Fed-PLT and its accelerated form.
 *
 * Threads and blocking: fplt_tune blocks until the search is over and starts threads (run.threads) that end with it; the watch
 * is called in any of them, never in two at once. Calls that share nothing but the objective may run at the same time. */
#ifndef FEDPLT_TUNE_H
#define FEDPLT_TUNE_H

#include "fedplt/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tune ---- */

typedef enum fplt_tune_method {
    FPLT_TUNE_THEORY,     /* the quadratic model: milliseconds, no round */
    FPLT_TUNE_EXPERIMENT, /* a grid of candidates runs for a few rounds, the better half goes on */
    FPLT_TUNE_BOTH        /* the same with what theory proposes instead of the grid */
} fplt_tune_method;

typedef struct fplt_tune_settings {
    fplt_tune_method method;
    fplt_run_settings run; /* given values are kept; rho NaN, step 0 and epochs 0 are searched */
    uint64_t rounds;       /* that the experiment may spend in all; 0: 1000 */
    /* Data must not be used, because a privacy claim is to be made: run.curvature are public bounds
     * and an experiment is refused. */
    int public_only;
    double first_criterion; /* without data: the criterion at the start; 0: not known */
    fplt_watch watch;       /* after every round of the experiment, or NULL */
    void *context;
    fplt_ranks
        *ranks; /* borrowed: processes over which whole runs are spread; NULL: this one alone */
} fplt_tune_settings;

/* Theory; the run's defaults with everything to be searched. */
FPLT_API fplt_tune_settings fplt_tune_defaults(void);

typedef struct fplt_tune_candidate {
    const char *origin; /* auto, theory, grid, step */
    double rho, step;   /* step 0: each agent's own automatic one */
    uint32_t epochs;
    double rate;      /* factor of the error a round by the quadratic model; NaN: not known */
    unsigned stage;   /* of the experiment to which it came; 0: not run */
    uint64_t rounds;  /* run in it */
    double criterion; /* after them; NaN: not run */
    int reached;      /* the tolerance was met */
    int left;         /* it diverged */
    double expected_rounds, expected_time; /* to the tolerance, time as the paper counts it for all
                                              agents; infinity: never; NaN: not known */
} fplt_tune_candidate;

typedef struct fplt_tuning {
    fplt_tune_candidate *candidate; /* owned, the best first */
    size_t count;
    fplt_curvature_bounds bend;
    double first_criterion, target;
    uint64_t rounds_spent; /* in the experiment */
    double time_spent;
    char reasoning[1024];
} fplt_tuning;

/* Fed-PLT and its accelerated form. `objective` NULL: there is no data, run.curvature says how the
 * costs curve, `agents` there are, and the method must be theory. By theory the criterion is expected
 * to fall by rate^2 a round. FPLT_UNSUPPORTED with the reason where something is not offered, FPLT_FAILED
 * when the watch asked to stop. The same settings give the same choice on any number of threads. */
FPLT_API fplt_status fplt_tune(const fplt_objective *objective, uint32_t agents,
                               const fplt_tune_settings *settings, fplt_tuning *tuning,
                               fplt_error *error);
/* Releases what the struct owns; a zeroed struct is legal. */
FPLT_API void fplt_tuning_clear(fplt_tuning *tuning);

#ifdef __cplusplus
}
#endif
#endif
