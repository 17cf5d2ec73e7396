/* Synthetic data sets.
 *
 * Threads and blocking: thread-safe; nothing blocks.
 */
#ifndef FEDPLT_GENERATE_H
#define FEDPLT_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* N(m, C) is normal; agent i draws from a stream of its own, keyed by (seed, run,
 * i), so its rows do not depend on how many other agents there are.
 *   paper      mean_i ~ N(0, spread^2 I); each row: label b = -1 or +1 evenly,
 *              a = b mean_i + N(0, I)
 *   iid        the same with one mean common to all agents
 *   planted    truth ~ N(0, I) common to all; a ~ N(0, I);
 *              binary: label = sign(a.truth + noise * logistic);
 *              classes: one truth a class, label = argmax_c a.truth_c + noise * Gumbel;
 *              regression: label = a.truth + noise * N(0, 1)
 *   quadratic  regression: A = sqrt(q) U diag(sqrt(lambda)) V', with random orthonormal U (q x n)
 *              and V (n x n), a minimiser m_i ~ N(0, spread^2 I), labels A m_i + noise * N(0, I).
 *              The Hessian A'A/q of (1/q) sum (a.x - label)^2/2 then has the eigenvalues lambda:
 *              the smallest is `lowest`, the largest `highest`, the others lie log-uniformly
 *              between (uniformly on 0 .. `highest` when `lowest` is 0). Needs q >= n. */
typedef struct fplt_generate_settings {
    const char *name; /* paper, iid, planted, quadratic */
    uint32_t agents;
    size_t features;
    size_t rows;              /* of each agent */
    const size_t *agent_rows; /* instead of `rows`: one number an agent (borrowed), or NULL */
    double unequal; /* 0, or u < 1: an agent's rows are uniform on rows (1-u) .. rows (1+u) */
    double spread, noise, lowest, highest;
    fplt_task task;   /* planted only: the others have their own */
    uint32_t classes; /* planted with FPLT_TASK_CLASSES */
    uint64_t seed;
    uint32_t run; /* the number of the Monte Carlo run */
} fplt_generate_settings;

/* The paper's problem: 100 agents, 5 features, 250 rows, spread 1. */
FPLT_API fplt_generate_settings fplt_generate_defaults(void);
/* Makes a synthetic data set. The settings are borrowed for the call; `dataset` is released with
 * fplt_dataset_destroy, and NULL on failure. FPLT_BAD_VALUE for an unknown name or a number out of
 * range, FPLT_NO_MEMORY. The same settings give the same bits on every number of threads. */
FPLT_API fplt_status fplt_dataset_generate(const fplt_generate_settings *settings,
                                           fplt_dataset **dataset, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
