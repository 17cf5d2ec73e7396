/* Data sets: rows of numbers with a label each, grouped by the agent they belong to. */
#ifndef FEDPLT_DATA_H
#define FEDPLT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Consecutive rows, borrowed from a data set. Exactly one of `dense` and `start` is set. */
typedef struct fplt_rows {
    size_t count, features;
    const double *dense;    /* row-major, `features` numbers a row */
    const size_t *start;    /* CSR: row r has entries start[r] .. start[r + 1] - 1 of ... */
    const uint32_t *column; /* ... column (0-based, increasing in a row) and */
    const double *value;
    const double *label; /* -1 and +1 for two classes, 0, 1, ... for more, the target itself in
                            regression */
} fplt_rows;

typedef enum fplt_task {
    FPLT_TASK_BINARY,
    FPLT_TASK_CLASSES, /* three classes or more */
    FPLT_TASK_REGRESSION
} fplt_task;

typedef struct fplt_dataset fplt_dataset;

/* Copies `rows`; agent i has the next agent_rows[i] of them. */
FPLT_API fplt_status fplt_dataset_from_rows(const fplt_rows *rows, fplt_task task,
                                            const size_t *agent_rows, uint32_t agents,
                                            fplt_dataset **dataset, fplt_error *error);
FPLT_API void fplt_dataset_destroy(fplt_dataset *dataset);

FPLT_API size_t fplt_dataset_rows(const fplt_dataset *dataset);
FPLT_API size_t fplt_dataset_features(const fplt_dataset *dataset);
FPLT_API uint32_t fplt_dataset_agents(const fplt_dataset *dataset);
FPLT_API fplt_task fplt_dataset_task(const fplt_dataset *dataset);
/* 2 for two classes, the number of classes for more, 1 in regression. */
FPLT_API uint32_t fplt_dataset_outputs(const fplt_dataset *dataset);
FPLT_API fplt_rows fplt_dataset_shard(const fplt_dataset *dataset, uint32_t agent);
/* All rows, agent after agent. */
FPLT_API fplt_rows fplt_dataset_all(const fplt_dataset *dataset);

/* Names, borrowed from the data set; NULL where they are not known or the number is past the last.
 * Class 0 is the label -1 of two classes and class 1 the label +1. */
FPLT_API const char *fplt_dataset_feature_name(const fplt_dataset *dataset, size_t feature);
FPLT_API const char *fplt_dataset_agent_name(const fplt_dataset *dataset, uint32_t agent);
FPLT_API const char *fplt_dataset_class_name(const fplt_dataset *dataset, uint32_t index);

/* Synthetic data. N(m, C) is normal; agent i draws from a stream of its own, keyed by (seed, run,
 * i), so its rows do not depend on how many other agents there are.
 *   paper      mean_i ~ N(0, spread^2 I); each row: label b = -1 or +1 evenly, a = b mean_i + N(0, I)
 *   iid        the same with one mean common to all agents
 *   planted    truth ~ N(0, I) common to all; a ~ N(0, I);
 *              binary: label = sign(a.truth + noise * logistic);
 *              classes: one truth a class, label = argmax_c a.truth_c + noise * Gumbel;
 *              regression: label = a.truth + noise * N(0, 1)
 *   quadratic  regression: A = sqrt(q) U diag(sqrt(lambda)) V', with random orthonormal U (q x n) and
 *              V (n x n), a minimiser m_i ~ N(0, spread^2 I), labels A m_i + noise * N(0, I). The
 *              Hessian A'A/q of (1/q) sum (a.x - label)^2/2 then has the eigenvalues lambda: the
 *              smallest is `lowest`, the largest `highest`, the others lie log-uniformly between. */
typedef struct fplt_generate_settings {
    const char *name; /* paper, iid, planted, quadratic */
    uint32_t agents;
    size_t features;
    size_t rows;              /* of each agent */
    const size_t *agent_rows; /* instead of `rows`: one number an agent (borrowed), or NULL */
    double unequal; /* 0, or u < 1: an agent's rows are uniform on rows (1-u) .. rows (1+u) */
    double spread, noise, lowest, highest;
    fplt_task task;
    uint32_t classes; /* with FPLT_TASK_CLASSES */
    uint64_t seed;
    uint32_t run; /* the number of the Monte Carlo run */
} fplt_generate_settings;

/* The paper's problem: 100 agents, 5 features, 250 rows, spread 1. */
FPLT_API fplt_generate_settings fplt_generate_defaults(void);
FPLT_API fplt_status fplt_dataset_generate(const fplt_generate_settings *settings,
                                           fplt_dataset **dataset, fplt_error *error);
/* What exists: name number `index` and one line of help; NULL past the last. */
FPLT_API const char *fplt_generator_list(size_t index, const char **help);

#ifdef __cplusplus
}
#endif
#endif
