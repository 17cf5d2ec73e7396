/* Costs and their curvatures, made once for many runs. */
#ifndef FPLT_LAB_TUNING_SCENE_H
#define FPLT_LAB_TUNING_SCENE_H

#include "lab/tuning/trial.h"

/* The curvature of every agent's cost; released with fplt__free. */
fplt_status fplt__curvatures_find(const fplt_objective *objective, fplt_curvature **curvatures,
                                  fplt_error *error);

/* A problem with generated data. Zeroed is legal to clear. */
typedef struct fplt__scene {
    fplt_objective *objective;  /* owned */
    fplt_curvature *curvatures; /* owned */
} fplt__scene;

fplt_status fplt__scene_make(const fplt_generate_settings *data,
                             const fplt_objective_settings *cost, fplt__scene *scene,
                             fplt_error *error);
void fplt__scene_clear(fplt__scene *scene);

#endif
