/* SQLite with the manners of a ledger: one process at a time, each commit on the disc before it
 * returns (write-ahead log, synchronous FULL), readable by the owner only, and a form whose newer
 * versions are refused. Statements are SQLite's own. */
#ifndef FPLT_BASE_DATABASE_H
#define FPLT_BASE_DATABASE_H

#include <sqlite3.h>

#include "fedplt/status.h"

typedef struct fplt__database fplt__database;

/* What a file of one kind looks like. */
struct fplt__database_form {
    const char *kind;          /* for sentences: "ledger" */
    int application;           /* PRAGMA application_id */
    int version;               /* PRAGMA user_version */
    const char *const *schema; /* schema[v] makes version v + 1 out of version v */
    const char *remedy;        /* what to do about a damaged file; NULL: nothing can be done */
};

/* A file that is not there is made if `make` is set, with mode 0600. FPLT_BAD_VALUE: the path is a URI,
 * `:memory:` or empty; FPLT_BAD_DATA: the file is of
 * another kind or a newer version; FPLT_IO: it is missing, or another process has it. */
fplt_status fplt__database_open(const char *path, int make, const struct fplt__database_form *form,
                                fplt__database **database, fplt_error *error);
/* The same for a file that several processes use at once; a writer waits for another up to 10 s. */
fplt_status fplt__database_open_shared(const char *path, int make,
                                       const struct fplt__database_form *form,
                                       fplt__database **database, fplt_error *error);
void fplt__database_close(fplt__database *database);
const char *fplt__database_path(const fplt__database *database);

/* Writes a copy to a new file of mode 0600, which is on the disc when the call returns. Not inside a transaction.
 * FPLT_IO: the file exists, or cannot be written; then nothing is left of it. */
fplt_status fplt__database_backup(fplt__database *database, const char *path, fplt_error *error);
/* Moves all of the write-ahead log into the file, so that a lost log takes nothing with it. Not inside a transaction. */
fplt_status fplt__database_checkpoint(fplt__database *database, fplt_error *error);

/* Statements without arguments or results. */
fplt_status fplt__database_execute(fplt__database *database, const char *statements,
                                   fplt_error *error);

/* Between begin and end: all or nothing. `end` commits where `status` is FPLT_OK and takes all of
 * it back otherwise; it returns `status`, or how the commit failed. */
fplt_status fplt__database_begin(fplt__database *database, fplt_error *error);
fplt_status fplt__database_end(fplt__database *database, fplt_status status, fplt_error *error);

/* One statement, to be bound, stepped and given to sqlite3_finalize (which takes NULL). */
fplt_status fplt__database_prepare(fplt__database *database, const char *statement,
                                   sqlite3_stmt **prepared, fplt_error *error);
/* `row` (may be NULL where none is expected): whether there is one. */
fplt_status fplt__database_step(fplt__database *database, sqlite3_stmt *prepared, int *row,
                                fplt_error *error);
/* Steps a statement without results and finalizes it, also where `status` already failed. */
fplt_status fplt__database_finish(fplt__database *database, sqlite3_stmt *prepared,
                                  fplt_status status, fplt_error *error);

#endif
