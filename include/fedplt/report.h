/* What people read: tables (aligned, CSV, JSON), the history of a run, pictures, and the line that
 * shows progress. Nothing here prints: it makes text and files.
 *
 * Threads and blocking: nothing blocks. One thread at a time may use a table; a history may be read while no thread runs the
 * trainer that fills it. */
#ifndef FEDPLT_REPORT_H
#define FEDPLT_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/engine.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table is filled cell by cell, row after row. A failure to allocate is remembered and reported
 * when the table is rendered. */
typedef struct fplt_table fplt_table;

/* Releases the table; NULL is legal. */
FPLT_API void fplt_table_destroy(fplt_table *table);

typedef enum fplt_table_form {
    FPLT_TABLE_ALIGNED, /* numbers to the right, text to the left, UTF-8 counted by columns */
    FPLT_TABLE_CSV,     /* RFC 4180 with LF; numbers with 17 digits; missing is empty */
    FPLT_TABLE_JSON,    /* an array of objects, keys the headings in snake_case; missing is null */
    FPLT_TABLE_HTML     /* a table element, every text escaped */
} fplt_table_form;

/* The text is released with fplt_free. Cells of an incomplete last row are missing values. */
FPLT_API fplt_status fplt_table_render(const fplt_table *table, fplt_table_form form, char **text,
                                       fplt_error *error);

/* The measurements of a run, one row each. */
typedef struct fplt_history fplt_history;

/* fplt_history_count is the number of measurements; fplt_history_get gives number `index`, from 0,
 * or NULL past the last. It belongs to the history until the run that fills it goes on. */
FPLT_API size_t fplt_history_count(const fplt_history *history);
FPLT_API const fplt_progress *fplt_history_get(const fplt_history *history, size_t index);

#ifdef __cplusplus
}
#endif
#endif
