/* Costs and their curvatures, made once for many runs. */
#ifndef FPLT_LAB_TUNING_PROBLEM_H
#define FPLT_LAB_TUNING_PROBLEM_H

#include "lab/tuning/trial.h"
#include "fedplt/generate.h"

/* The curvature of every agent's cost; released with fplt__free. */
fplt_status fplt__curvatures_find(const fplt_objective *objective, fplt_curvature **curvatures,
                                  fplt_error *error);

/* A problem with generated data. Zeroed is legal to clear. */
typedef struct fplt__tuning_problem {
    fplt_objective *objective;  /* owned */
    fplt_curvature *curvatures; /* owned */
} fplt__tuning_problem;

fplt_status fplt__tuning_problem_make(const fplt_generate_settings *data,
                                      const fplt_objective_settings *cost,
                                      fplt__tuning_problem *scene, fplt_error *error);
void fplt__tuning_problem_clear(fplt__tuning_problem *scene);

#endif
