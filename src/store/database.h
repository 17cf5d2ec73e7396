/* A SQLite file as the federation uses it: write-ahead log, synchronous FULL (a commit is on the disc
 * when it returns), mode 0600, a number of its form in user_version. */
#ifndef FPLT_STORE_DATABASE_H
#define FPLT_STORE_DATABASE_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

typedef struct fplt__database fplt__database;

/* Opens or makes the file. Script number i (NULL ends them) brings form i to form i + 1; a file of a
 * newer form is refused, an older one is brought up to date. `alone`: refuses, with a sentence, while
 * another process has opened it so. */
fplt_status fplt__database_open(const char *path, const char *const *scripts, int alone,
                                fplt__database **database, fplt_error *error);
void fplt__database_close(fplt__database *database);

fplt_status fplt__database_begin(fplt__database *database, fplt_error *error);
/* Rolls back where it fails. */
fplt_status fplt__database_commit(fplt__database *database, fplt_error *error);
void fplt__database_rollback(fplt__database *database);

/* A statement, kept for the next time (`sql` must be a literal: it is known by its address), with the
 * values bound: `types` has one letter each: i int64_t, r double, t text (NULL: null), b bytes and
 * size_t. The values must live until the statement is done. */
fplt_status fplt__database_prepare(fplt__database *database, sqlite3_stmt **statement,
                                   fplt_error *error, const char *sql, const char *types, ...);
/* Steps once: 1 in `row` while there is one. At the end, or on failure, the statement is done. */
fplt_status fplt__database_step(fplt__database *database, sqlite3_stmt *statement, int *row,
                                fplt_error *error);
/* For a statement of which no further row is wanted. */
void fplt__database_done(sqlite3_stmt *statement);
/* Prepares and runs a statement without rows. */
fplt_status fplt__database_run(fplt__database *database, fplt_error *error, const char *sql,
                               const char *types, ...);
/* Rows changed by the last statement. */
int fplt__database_changes(const fplt__database *database);
/* Whether the last failure was for want of room on the disc. */
int fplt__database_full(const fplt__database *database);

/* Copies the text of a column, cut to the space there is. */
void fplt__column_text(sqlite3_stmt *statement, int column, char *text, size_t size);
/* Copies a column of exactly `size` bytes; zeros where it has another length. */
void fplt__column_bytes(sqlite3_stmt *statement, int column, void *bytes, size_t size);

#endif
