/* Data sets from columns, as R, Fortran and data frames have them.
 *
 * Threads and blocking: thread-safe; nothing blocks. Equal arguments give equal data sets.
 */
#ifndef FEDPLT_COLUMNS_H
#define FEDPLT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows as one array a column. All borrowed for the call. */
typedef struct fplt_columns {
    size_t count, features;      /* of the data set */
    const double *const *column; /* one a feature */
    /* row r of the data set is number order[r] (from 0) of every column; a number may occur more than once. NULL: number r */
    const size_t *order;
    const double *label, *weight, *offset; /* as in fplt_rows, in the order of the data set */
    /* called after every few thousand rows that were copied (done and total are rows); an answer other than 0 ends the call with
     * FPLT_FAILED. NULL: nothing is asked */
    fplt_watch watch;
    void *context; /* of `watch` */
} fplt_columns;

/* Makes a data set of the columns; agent i has the next agent_rows[i] rows. This is the only copy of the numbers, and
 * a transform changes it in place. The data set is released with fplt_dataset_destroy, and NULL on failure.
 * FPLT_BAD_DATA or FPLT_BAD_VALUE for numbers that are not finite, labels that do not fit the task, or counts that do not add up,
 * where messages count rows in the order of the data set; FPLT_FAILED where the watch ended it; FPLT_NO_MEMORY. */
FPLT_API fplt_status fplt_dataset_from_columns(const fplt_columns *columns, fplt_task task,
                                               const size_t *agent_rows, uint32_t agents,
                                               fplt_dataset **dataset, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
