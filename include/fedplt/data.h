/* Data sets: rows of numbers with a label each, grouped by the agent that holds them. Files: fedplt/read.h; synthetic
 * data: fedplt/generate.h; dividing rows among agents: fedplt/partition.h; scaling and filling columns: fedplt/transform.h.
 *
 * Threads and blocking: no function blocks. Any number of threads may read a data set while none changes it.
 */
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
    const double *label;  /* -1 and +1 for two classes, 0, 1, ... for more, the target itself in
                             regression; in survival the time, negative where it is censored */
    const double *weight; /* how much a row counts, 0 or more; NULL: all alike */
    const double *offset; /* known part of a row's linear predictor; NULL: none */
} fplt_rows;

typedef enum fplt_task {
    FPLT_TASK_BINARY,
    FPLT_TASK_CLASSES, /* three classes or more */
    FPLT_TASK_REGRESSION,
    FPLT_TASK_SURVIVAL /* times until an event, some of them censored */
} fplt_task;

/* The task as a word: binary, classes, regression, survival. Constant text. */
FPLT_API const char *fplt_task_name(fplt_task task);

typedef struct fplt_dataset fplt_dataset;

/* Makes a data set from a copy of `rows`; agent i has the next agent_rows[i] of them. FPLT_BAD_DATA or FPLT_BAD_VALUE
 * for numbers that are not finite, labels that do not fit the task, or counts that do not add up; FPLT_NO_MEMORY. Labels
 * are required; rows to predict take any. */
FPLT_API fplt_status fplt_dataset_from_rows(const fplt_rows *rows, fplt_task task,
                                            const size_t *agent_rows, uint32_t agents,
                                            fplt_dataset **dataset, fplt_error *error);
/* The same without a copy: the arrays must not change until fplt_dataset_destroy calls `release` (may be NULL) with
 * `context`, once. On failure `release` is not called. */
FPLT_API fplt_status fplt_dataset_borrow(const fplt_rows *rows, fplt_task task,
                                         const size_t *agent_rows, uint32_t agents,
                                         void (*release)(void *context), void *context,
                                         fplt_dataset **dataset, fplt_error *error);
/* Names (copied) all features, agents and classes; NULL keeps the names there are. Classes are fplt_dataset_outputs
 * texts in the order of fplt_dataset_class_name; FPLT_BAD_VALUE where the task has none. */
FPLT_API fplt_status fplt_dataset_name(fplt_dataset *dataset, const char *const *features,
                                       const char *const *agents, const char *const *classes,
                                       fplt_error *error);
/* Releases the data set, and borrowed rows by their `release`. Objectives made from it stay valid. */
FPLT_API void fplt_dataset_destroy(fplt_dataset *dataset);

/* Rows of all agents; fplt_dataset_features: numbers in a row, after categories became columns; fplt_dataset_agents;
 * fplt_dataset_task: what the labels are; fplt_dataset_outputs: 2 for two classes, the number of classes for more,
 * otherwise 1. Constant time. */
FPLT_API size_t fplt_dataset_rows(const fplt_dataset *dataset);
FPLT_API size_t fplt_dataset_features(const fplt_dataset *dataset);
FPLT_API uint32_t fplt_dataset_agents(const fplt_dataset *dataset);
FPLT_API fplt_task fplt_dataset_task(const fplt_dataset *dataset);
FPLT_API uint32_t fplt_dataset_outputs(const fplt_dataset *dataset);

/* The rows of one agent, from 0 (not checked); fplt_dataset_all: all rows, agent after agent. The arrays belong to the
 * data set; constant time. */
FPLT_API fplt_rows fplt_dataset_shard(const fplt_dataset *dataset, uint32_t agent);
FPLT_API fplt_rows fplt_dataset_all(const fplt_dataset *dataset);

/* Name of a feature; fplt_dataset_agent_name of an agent; fplt_dataset_class_name of a class (0 is the label -1 of two
 * classes, 1 the label +1). Borrowed from the data set; NULL where there is none or the number is past the last. */
FPLT_API const char *fplt_dataset_feature_name(const fplt_dataset *dataset, size_t feature);
FPLT_API const char *fplt_dataset_agent_name(const fplt_dataset *dataset, uint32_t agent);
FPLT_API const char *fplt_dataset_class_name(const fplt_dataset *dataset, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
