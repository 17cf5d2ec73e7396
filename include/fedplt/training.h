/* How an agent trains: the local solver by its name, and its settings. Custom solvers: fedplt/solver.h.
 *
 * Threads and blocking: thread-safe; nothing blocks.
 */
#ifndef FEDPLT_TRAINING_H
#define FEDPLT_TRAINING_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_solver fplt_solver;

/* Looks up a solver by its name, such as "gradient"; NULL where none has it. fplt_solver_list: number `index` from 0, NULL
 * past the last. Constant tables that live as long as the process. */
FPLT_API const fplt_solver *fplt_solver_find(const char *name);
FPLT_API const fplt_solver *fplt_solver_list(size_t index);

typedef struct fplt_training {
    const fplt_solver *solver;
    double step;      /* gamma; 0: the algorithm's own choice for the agent's curvature */
    uint32_t epochs;  /* N_e: gradient or Newton steps, or passes (by_pass) */
    uint32_t batch;   /* stochastic solvers: records a minibatch, at most q_i */
    int replacement;  /* the same: with replacement */
    int by_pass;      /* the same: an epoch is ceil(q_i / batch) steps */
    double noise_tau; /* noisy solvers: each step adds N(0, 2 step tau^2) to every coordinate */
    double tolerance; /* Newton, L-BFGS: stop at ||grad d|| <= tolerance max(1, ||w||) */
    uint32_t memory;  /* L-BFGS: pairs kept */
    uint32_t grid;    /* of messages: 2^-grid, at most 52; 0: 2^-64 */
    void *context;    /* for a custom solver */
    double decay;     /* factor of step a round; 0: 1 */
} fplt_training;

/* gradient, automatic step, 5 epochs, batch 32 without replacement, an epoch is a step. */
FPLT_API fplt_training fplt_training_defaults(void);

#ifdef __cplusplus
}
#endif
#endif
