/* Algorithms by name, their parameters, and the two structures that all sides of a run share: facts and rounds. Custom
 * algorithms: fedplt/algorithm.h.
 *
 * Threads and blocking: thread-safe; nothing blocks.
 */
#ifndef FEDPLT_ROUND_H
#define FEDPLT_ROUND_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/objective.h"
#include "fedplt/random.h"
#include "fedplt/settings.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FPLT_MAX_PARAMETERS = 16, FPLT_MAX_SCALARS = 64 };

typedef struct fplt_algorithm fplt_algorithm;

/* Looks up an algorithm by its name, such as "fed-plt"; NULL where none has it. fplt_algorithm_list: number `index` from 0,
 * NULL past the last. Constant tables that live as long as the process. */
FPLT_API const fplt_algorithm *fplt_algorithm_find(const char *name);
FPLT_API const fplt_algorithm *fplt_algorithm_list(size_t index);

/* Number of the algorithm's own parameters, at most FPLT_MAX_PARAMETERS; fplt_algorithm_parameter: index of one by its
 * name, or -1. */
FPLT_API size_t fplt_algorithm_parameters(const fplt_algorithm *algorithm);
FPLT_API int fplt_algorithm_parameter(const fplt_algorithm *algorithm, const char *name);
/* Writes all parameters at their defaults, NaN for auto; fplt_algorithm_read: as the settings have them, a choice as its
 * index, defaults where they have no row. */
FPLT_API void fplt_algorithm_defaults(const fplt_algorithm *algorithm, double *parameter);
FPLT_API void fplt_algorithm_read(const fplt_algorithm *algorithm, const fplt_settings *settings,
                                  double *parameter);

/* What parameters and steps are derived from. With privacy these are public bounds. */
typedef struct fplt_facts {
    fplt_curvature curvature; /* of all f_i (fplt_curvature_join), or of the agent at hand; finite,
                                 `highest` above 0 */
    uint32_t agents, cohort;  /* roster; fplt_expected_cohort, at most `agents`; 0: all */
    uint32_t epochs;          /* local, of a round: most of all agents, or of the agent at hand */
    size_t dimension;
    int claim;     /* a privacy claim is to be made */
    int unbounded; /* `curvature` is no bound */
} fplt_facts;

/* Public parameters of a round, the same for coordinator and agents. */
typedef struct fplt_round {
    uint64_t number;    /* 0, 1, ... */
    uint32_t agents;    /* the roster, fixed for a run */
    uint32_t active;    /* the cohort of this round */
    uint32_t position;  /* of the agent at hand in the cohort */
    uint32_t epochs;    /* local epochs of the cohort; 0: each agent's own */
    fplt_stream shared; /* common randomness: copy it before drawing */
    double scalar[FPLT_MAX_SCALARS];
} fplt_round;

#ifdef __cplusplus
}
#endif
#endif
