/* The rows of a data set as text, made by several threads. */
#ifndef FPLT_DATA_ROWS_WRITE_H
#define FPLT_DATA_ROWS_WRITE_H

#include "base/buffer.h"
#include "base/file.h"
#include "data/dataset.h"

/* Adds the text of row `row` of all, which is one of the agent's. Called by several threads at once. */
typedef void (*fplt__row_put)(const void *context, const fplt_dataset *dataset, uint32_t agent,
                              size_t row, fplt__buffer *text);
/* Where text goes; called by one thread at a time, in the order of the rows. */
typedef fplt_status (*fplt__text_write)(void *to, const char *text, size_t length,
                                        fplt_error *error);

/* The text of rows `first` and later. */
fplt_status fplt__rows_write(const fplt_dataset *dataset, size_t first, fplt__row_put put,
                             const void *context, fplt__text_write write, void *to,
                             fplt_error *error);
/* Of all rows, into a file. */
fplt_status fplt__rows_save(const fplt_dataset *dataset, fplt__row_put put, fplt__file *file,
                            fplt_error *error);

#endif
