#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { MOST_STATEMENTS = 64 };

struct fplt__database {
    sqlite3 *handle;
    char *path;
    int lock; /* descriptor that holds the lock, or -1 */
    int full;
    size_t count;
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } kept[MOST_STATEMENTS];
};

static fplt_status failed(fplt__database *database, int code, fplt_error *error)
{
    database->full = (code & 0xff) == SQLITE_FULL;
    if (database->full)
        return fplt_error_set(error, FPLT_IO, "%s: the disc is full; make room", database->path);
    fplt_status status =
        (code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT ? FPLT_BAD_DATA : FPLT_IO;
    return fplt_error_set(error, status, "%s: %s", database->path,
                          sqlite3_errmsg(database->handle));
}

static fplt_status execute(fplt__database *database, const char *sql, fplt_error *error)
{
    int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? FPLT_OK : failed(database, code, error);
}

/* A file of its own: closing any descriptor of the database would drop SQLite's own locks. */
static fplt_status lock(fplt__database *database, fplt_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%s.lock", database->path);
    database->lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (database->lock < 0)
        return fplt_error_set(error, FPLT_IO, "%s: %s", path, strerror(errno));
    if (flock(database->lock, LOCK_EX | LOCK_NB) == 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_FAILED,
                          "%s is in use by another process of fedplt; end that one first",
                          database->path);
}

static fplt_status version_of(fplt__database *database, int *version, fplt_error *error)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(database->handle, "PRAGMA user_version", -1, &statement, NULL);
    if (code != SQLITE_OK)
        return failed(database, code, error);
    code = sqlite3_step(statement);
    *version = code == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? FPLT_OK : failed(database, code, error);
}

static fplt_status migrate(fplt__database *database, const char *const *scripts, fplt_error *error)
{
    int version = 0, newest = 0;
    while (scripts[newest])
        newest++;
    fplt_status status = fplt__database_begin(database, error);
    if (status)
        return status;
    if ((status = version_of(database, &version, error))) {
        fplt__database_rollback(database);
        return status;
    }
    if (version > newest) {
        fplt__database_rollback(database);
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: written by a newer fedplt (form %d, this program knows %d)",
                              database->path, version, newest);
    }
    for (; version < newest; version++) {
        char mark[64];
        snprintf(mark, sizeof mark, "PRAGMA user_version = %d", version + 1);
        if ((status = execute(database, scripts[version], error)) ||
            (status = execute(database, mark, error))) {
            fplt__database_rollback(database);
            return status;
        }
    }
    return fplt__database_commit(database, error);
}

static fplt_status open_file(fplt__database *database, const char *const *scripts, int alone,
                             fplt_error *error)
{
    fplt_status status;
    /* Made here, so that nobody else can read it even for an instant. */
    int made = open(database->path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (made < 0)
        return fplt_error_set(error, FPLT_IO, "%s: %s", database->path, strerror(errno));
    close(made);
    if (alone && (status = lock(database, error)))
        return status;
    int code = sqlite3_open_v2(database->path, &database->handle, SQLITE_OPEN_READWRITE, NULL);
    if (code != SQLITE_OK)
        return failed(database, code, error);
    sqlite3_extended_result_codes(database->handle, 1);
    sqlite3_busy_timeout(database->handle, 10000);
    if ((status = execute(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", error)))
        return status;
    return migrate(database, scripts, error);
}

fplt_status fplt__database_open(const char *path, const char *const *scripts, int alone,
                                fplt__database **out, fplt_error *error)
{
    *out = NULL;
    fplt__database *database;
    fplt_status status = fplt__alloc_into(&database, 1, sizeof *database, "a database", error);
    if (status)
        return status;
    database->lock = -1;
    if (!(database->path = fplt__strdup(path)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a path");
    if (status || (status = open_file(database, scripts, alone, error))) {
        fplt__database_close(database);
        return status;
    }
    *out = database;
    return FPLT_OK;
}

void fplt__database_close(fplt__database *database)
{
    if (!database)
        return;
    for (size_t i = 0; i < database->count; i++)
        sqlite3_finalize(database->kept[i].statement);
    sqlite3_close(database->handle);
    if (database->lock >= 0)
        close(database->lock);
    fplt__free(database->path);
    fplt__free(database);
}

fplt_status fplt__database_begin(fplt__database *database, fplt_error *error)
{
    return execute(database, "BEGIN IMMEDIATE", error);
}

fplt_status fplt__database_commit(fplt__database *database, fplt_error *error)
{
    fplt_status status = execute(database, "COMMIT", error);
    if (status)
        fplt__database_rollback(database);
    return status;
}

void fplt__database_rollback(fplt__database *database)
{
    int full = database->full;
    if (!sqlite3_get_autocommit(database->handle))
        sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    database->full = full;
}

static fplt_status statement_of(fplt__database *database, const char *sql, sqlite3_stmt **statement,
                                fplt_error *error)
{
    for (size_t i = 0; i < database->count; i++)
        if (database->kept[i].sql == sql) {
            *statement = database->kept[i].statement;
            sqlite3_reset(*statement);
            return FPLT_OK;
        }
    if (database->count == MOST_STATEMENTS)
        return fplt_error_set(error, FPLT_FAILED, "%s: too many statements", database->path);
    int code = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement,
                                  NULL);
    if (code != SQLITE_OK)
        return failed(database, code, error);
    database->kept[database->count].sql = sql;
    database->kept[database->count++].statement = *statement;
    return FPLT_OK;
}

static void bind(sqlite3_stmt *statement, const char *types, va_list values)
{
    for (int i = 1; *types; types++, i++) {
        if (*types == 'i') {
            sqlite3_bind_int64(statement, i, va_arg(values, int64_t));
        } else if (*types == 'r') {
            sqlite3_bind_double(statement, i, va_arg(values, double));
        } else if (*types == 't') {
            sqlite3_bind_text(statement, i, va_arg(values, const char *), -1, SQLITE_STATIC);
        } else {
            const void *bytes = va_arg(values, const void *);
            size_t size = va_arg(values, size_t);
            /* An empty blob is not null. */
            sqlite3_bind_blob64(statement, i, size ? bytes : "", size, SQLITE_STATIC);
        }
    }
}

static fplt_status prepare_list(fplt__database *database, sqlite3_stmt **statement,
                                fplt_error *error, const char *sql, const char *types,
                                va_list values)
{
    fplt_status status = statement_of(database, sql, statement, error);
    if (!status)
        bind(*statement, types, values);
    return status;
}

fplt_status fplt__database_prepare(fplt__database *database, sqlite3_stmt **statement,
                                   fplt_error *error, const char *sql, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    fplt_status status = prepare_list(database, statement, error, sql, types, values);
    va_end(values);
    return status;
}

fplt_status fplt__database_step(fplt__database *database, sqlite3_stmt *statement, int *row,
                                fplt_error *error)
{
    int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    if (code == SQLITE_ROW)
        return FPLT_OK;
    fplt_status status = code == SQLITE_DONE ? FPLT_OK : failed(database, code, error);
    fplt__database_done(statement);
    return status;
}

void fplt__database_done(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

fplt_status fplt__database_run(fplt__database *database, fplt_error *error, const char *sql,
                               const char *types, ...)
{
    sqlite3_stmt *statement;
    int row = 0;
    va_list values;
    va_start(values, types);
    fplt_status status = prepare_list(database, &statement, error, sql, types, values);
    va_end(values);
    if (!status)
        status = fplt__database_step(database, statement, &row, error);
    if (row)
        fplt__database_done(statement);
    return status;
}

int fplt__database_changes(const fplt__database *database)
{
    return sqlite3_changes(database->handle);
}

int fplt__database_full(const fplt__database *database)
{
    return database->full;
}

void fplt__column_text(sqlite3_stmt *statement, int column, char *text, size_t size)
{
    const char *found = (const char *)sqlite3_column_text(statement, column);
    snprintf(text, size, "%s", found ? found : "");
}

void fplt__column_bytes(sqlite3_stmt *statement, int column, void *bytes, size_t size)
{
    memset(bytes, 0, size);
    if ((size_t)sqlite3_column_bytes(statement, column) == size && size)
        memcpy(bytes, sqlite3_column_blob(statement, column), size);
}
