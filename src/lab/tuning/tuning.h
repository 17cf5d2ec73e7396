/* Tuning an algorithm by experiment: its own parameters and the local step, as factors of their
 * automatic values, to the least rounds (or time) to the criterion. */
#ifndef FPLT_LAB_TUNING_TUNING_H
#define FPLT_LAB_TUNING_TUNING_H

#include "lab/tuning/search.h"
#include "lab/tuning/trial.h"

/* A method: the settings of its runs, and which of its parameters are given and so not searched. */
typedef struct fplt__method {
    fplt_run_settings run; /* `parameter` is set at use; training.step and epochs are given, or 0 */
    double parameter[FPLT_MAX_PARAMETERS]; /* NaN: auto */
    unsigned fixed;                        /* bit i: parameter i is given */
} fplt__method;

/* All parameters at their defaults, none given. */
void fplt__method_defaults(fplt__method *method, const fplt_algorithm *algorithm);
/* Gives one; no effect where the algorithm has none of this name. */
void fplt__method_fix(fplt__method *method, const char *name, double value);

/* What the automatic values are on some data. */
typedef struct fplt__automatic {
    fplt_facts facts;
    double parameter[FPLT_MAX_PARAMETERS];
    uint32_t epochs;
} fplt__automatic;

/* A choice of parameters, so that it can be carried to other data. */
typedef struct fplt__tuned {
    double factor[FPLT_MAX_PARAMETERS]; /* of the automatic value */
    double step_factor; /* of the automatic step for the curvature of all; 0: every agent its own */
    unsigned points;    /* evaluated to find it */
    fplt__cost cost;
    fplt__judged
        judged; /* the search's own runs at it, of which none converged where nothing did */
} fplt__tuned;

typedef struct fplt__tuning {
    const fplt__method *method;
    const fplt__case *cases; /* to tune on: every point is judged by the mean over them */
    size_t count;
    unsigned points; /* budget */
    int by_time;     /* the paper's time decides, then rounds; otherwise the other way round */
} fplt__tuning;

/* Everything at its automatic value. */
fplt__tuned fplt__tuned_none(void);

/* As fplt__auto_resolve chooses for one run, where it says nothing as the engine does. */
fplt_status fplt__automatic_find(const fplt__case *one, const fplt__method *method,
                                 fplt__automatic *automatic, fplt_error *error);
/* The parameters, the step (0: auto) and the epochs that a choice means on some data. */
void fplt__tuned_apply(const fplt__tuned *tuned, const fplt__method *method,
                       const fplt__automatic *automatic, double *parameter,
                       fplt_training *training);

fplt_status fplt__tuning_run(const fplt__tuning *tuning, fplt__tuned *tuned, fplt_error *error);

/* Runs a choice on every case: the mean over those that reached the criterion. */
fplt_status fplt__tuned_judge(const fplt__tuned *tuned, const fplt__method *method,
                              const fplt__case *cases, size_t count, fplt__judged *mean,
                              fplt_error *error);

#endif
