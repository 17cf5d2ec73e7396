/* Statements over a database of base/database.h: kept for the next time, with their values bound in
 * one call. */
#ifndef FPLT_STORE_TABLE_H
#define FPLT_STORE_TABLE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/database.h"

typedef struct fplt__table fplt__table;

/* Opens or makes the file. `shared`: other processes may have it open too. */
fplt_status fplt__table_open(const char *path, const struct fplt__database_form *form, int shared,
                             fplt__table **table, fplt_error *error);
void fplt__table_close(fplt__table *table);

/* As fplt__database_begin and _end. */
fplt_status fplt__table_begin(fplt__table *table, fplt_error *error);
fplt_status fplt__table_end(fplt__table *table, fplt_status status, fplt_error *error);

/* As fplt__database_backup and _checkpoint. */
fplt_status fplt__table_backup(fplt__table *table, const char *path, fplt_error *error);
fplt_status fplt__table_checkpoint(fplt__table *table, fplt_error *error);

/* A statement (`sql` must be a literal: it is known by its address) with its values bound: `types` has
 * one letter each: i int64_t, r double, t text (NULL: null), b bytes and size_t (NULL: null). The
 * values must live until the statement is done. */
fplt_status fplt__table_ask(fplt__table *table, sqlite3_stmt **statement, fplt_error *error,
                            const char *sql, const char *types, ...);
fplt_status fplt__table_ask_list(fplt__table *table, sqlite3_stmt **statement, fplt_error *error,
                                 const char *sql, const char *types, va_list values);
/* Steps once: `row` says whether there is one. At the end, or on failure, the statement is done. */
fplt_status fplt__table_step(fplt__table *table, sqlite3_stmt *statement, int *row,
                             fplt_error *error);
/* For a statement of which no further row is wanted. */
void fplt__table_done(sqlite3_stmt *statement);
/* Asks and steps; `changed` (may be NULL) is the number of rows changed. */
fplt_status fplt__table_run(fplt__table *table, int *changed, fplt_error *error, const char *sql,
                            const char *types, ...);
fplt_status fplt__table_run_list(fplt__table *table, int *changed, fplt_error *error,
                                 const char *sql, const char *types, va_list values);

/* Copies the text of a column, cut to the space there is. */
void fplt__column_text(sqlite3_stmt *statement, int column, char *text, size_t size);
/* Copies a column of exactly `size` bytes; zeros where it has another length. */
void fplt__column_bytes(sqlite3_stmt *statement, int column, void *bytes, size_t size);

#endif
