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
    FPLT_TASK_CLASSES,   /* three classes or more */
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

#ifdef __cplusplus
}
#endif
#endif
