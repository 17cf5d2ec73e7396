/* Comparing algorithms on the same problem to a common criterion, with many Monte Carlo runs.
 *
 *     fplt_compare_declare(settings, ...);                the tables of a job, without an algorithm
 *     fplt_settings_set / fplt_config_apply ...           the values
 *     fplt_comparison_create(&wanted, &comparison, ...);
 *     for (i = 0; i < fplt_comparison_count(comparison); i++) fplt_comparison_get(comparison, i)
 *
 * Generated data are drawn anew for each run; data from files or memory, and own costs, stay and the keys of participation,
 * minibatches, noise and the method's own randomness change. Run r has the same data and the same
 * cohorts for every method. Results do not depend on the number of threads.
 *
 * Threads and blocking: fplt_comparison_create blocks until all runs are over and starts `threads` threads that end with it;
 * the watch is called in any of them, never in two at once. A comparison does not change: any number of threads may read it. */
#ifndef FEDPLT_COMPARE_H
#define FEDPLT_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/algorithm.h"
#include "fedplt/data.h"
#include "fedplt/ranks.h"
#include "fedplt/settings.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The settings of a job without those of an algorithm, and `parameters`. */
FPLT_API fplt_status fplt_compare_declare(fplt_settings *settings, fplt_error *error);

typedef struct fplt_compare_settings {
    const fplt_settings *settings;           /* as declared above (borrowed) */
    const fplt_algorithm *const *algorithms; /* NULL: all there are */
    size_t count;                            /* of `algorithms` */
    uint32_t runs;                           /* at least 1 */
    int tune;                                /* search each method's parameters and step first */
    unsigned points;                         /* of a search: the same for every method */
    unsigned threads;                        /* 0: one a core */
    fplt_watch watch;                        /* or NULL */
    void *context;
    /* Instead of what the settings read or generate, as in fplt_job_source, all borrowed: */
    const fplt_dataset *dataset;     /* divided, held out and transformed as the settings say */
    const fplt_objective *objective; /* the caller's own costs; called from all threads */
    const fplt_solver *solver;       /* for every method that allows it */
    void *solver_context;
    /* Asked with `context` after every round of every run, from all threads at once: non-zero ends the
     * experiment, not only between two steps as the watch does. NULL: never. */
    int (*stop)(void *context);
    fplt_ranks
        *ranks; /* borrowed: processes over which whole runs are spread; NULL: this one alone */
} fplt_compare_settings;

/* All algorithms, one run, no tuning, 25 points. */
FPLT_API fplt_compare_settings fplt_compare_defaults(const fplt_settings *settings);

/* Quartiles over all runs; a run that did not reach the criterion counts as infinite. */
typedef struct fplt_spread {
    double low, median, high;
} fplt_spread;

/* The median over the runs after 0, 1, 2, ... rounds, until it reaches the target; a run that has
 * ended stays where it ended. */
typedef struct fplt_curve {
    size_t count;
    const double *round, *gradients, *vectors, *paper_time, *criterion;
} fplt_curve;

typedef struct fplt_compared {
    const fplt_algorithm *algorithm;
    const char *refusal;     /* why it cannot run here, or NULL */
    uint32_t runs, failures; /* failures: runs that did not reach the criterion */
    uint32_t diverged;       /* of them, those that left the range of numbers */
    uint32_t
        stalled; /* of them, those given up: at twice their pace they would not arrive in time */
    fplt_spread rounds, gradients, vectors, time, paper_time;
    fplt_curve curve;
    unsigned points;                       /* of the search; 0: not tuned */
    uint32_t tuning_runs;                  /* behind every point of the search */
    double parameter[FPLT_MAX_PARAMETERS]; /* as resolved on the data of the first run */
    double step;                           /* common to all agents; 0: each its automatic one */
} fplt_compared;

typedef struct fplt_comparison fplt_comparison;

/* FPLT_FAILED when the watch, or `stop`, asked to stop. */
FPLT_API fplt_status fplt_comparison_create(const fplt_compare_settings *settings,
                                            fplt_comparison **comparison, fplt_error *error);
/* Releases the comparison with everything that fplt_comparison_get gave; NULL is legal. */
FPLT_API void fplt_comparison_destroy(fplt_comparison *comparison);

/* Number of methods that were compared, refused ones included. */
FPLT_API size_t fplt_comparison_count(const fplt_comparison *comparison);
/* Method number `index`, from 0, in the order of the settings; NULL past the last. Belongs to the
 * comparison. */
FPLT_API const fplt_compared *fplt_comparison_get(const fplt_comparison *comparison, size_t index);
/* The criterion to be reached: the tolerance, or its median over the runs where it is relative. */
FPLT_API double fplt_comparison_target(const fplt_comparison *comparison);

#ifdef __cplusplus
}
#endif
#endif
