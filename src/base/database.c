/* SQLite opened, versioned and locked; its failures as sentences. */
#include "base/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

struct fplt__database {
    sqlite3 *handle;
    const struct fplt__database_form *form; /* borrowed */
    char *path;                             /* owned */
};

static fplt_status explain(const fplt__database *database, int code, fplt_error *error)
{
    const char *path = database->path, *kind = database->form->kind;
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fplt_error_set(error, FPLT_IO,
                              "%s: another process has this %s open; end it, or wait for it", path,
                              kind);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: this is no %s, or it is damaged%s%s", path,
                              kind, database->form->remedy ? "; " : "",
                              database->form->remedy ? database->form->remedy : "");
    case SQLITE_FULL: return fplt_error_set(error, FPLT_IO, "%s: the disk is full", path);
    case SQLITE_NOMEM: return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the %s", kind);
    default:
        return fplt_error_set(error, FPLT_IO, "%s: the %s cannot be used: %s", path, kind,
                              database->handle ? sqlite3_errmsg(database->handle)
                                               : sqlite3_errstr(code));
    }
}

/* Names that SQLite, or a build of it, takes for something else than a file: a database in memory is
 * gone with the process. */
static fplt_status check_path(const char *path, const char *kind, fplt_error *error)
{
    if (*path && *path != ':' && strncasecmp(path, "file:", 5) != 0 && !strstr(path, "://"))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "'%s': a %s must be the plain path of a file on a disk, and not a URI, "
                          "empty or in memory; a file of that name is ./%s",
                          path, kind, *path ? path : "NAME");
}

/* SQLite would make the file with the umask's mode. An existing one must not be opened here: POSIX
 * drops all of a process's locks on a file when any of its descriptors is closed. */
static fplt_status make_file(const char *path, int make, const char *kind, fplt_error *error)
{
    struct stat found;
    if (stat(path, &found) == 0)
        return S_ISREG(found.st_mode)
                   ? FPLT_OK
                   : fplt_error_set(error, FPLT_IO, "%s: a %s must be a regular file", path, kind);
    int descriptor =
        make && errno == ENOENT ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (descriptor < 0)
        return fplt_error_set(error, FPLT_IO, "%s: the %s cannot be opened: %s", path, kind,
                              strerror(errno));
    close(descriptor);
    return FPLT_OK;
}

static fplt_status read_number(fplt__database *database, const char *statement, int *number,
                               fplt_error *error)
{
    sqlite3_stmt *prepared;
    int row;
    fplt_status status = fplt__database_prepare(database, statement, &prepared, error);
    if (!status)
        status = fplt__database_step(database, prepared, &row, error);
    if (!status)
        *number = sqlite3_column_int(prepared, 0);
    sqlite3_finalize(prepared);
    return status;
}

static fplt_status upgrade(fplt__database *database, int version, fplt_error *error)
{
    const struct fplt__database_form *form = database->form;
    char text[96];
    fplt_status status = fplt__database_begin(database, error);
    if (status)
        return status;
    for (int v = version; !status && v < form->version; v++)
        status = fplt__database_execute(database, form->schema[v], error);
    snprintf(text, sizeof text, "PRAGMA application_id=%d; PRAGMA user_version=%d",
             form->application, form->version);
    if (!status)
        status = fplt__database_execute(database, text, error);
    return fplt__database_end(database, status, error);
}

static fplt_status check_form(fplt__database *database, fplt_error *error)
{
    const struct fplt__database_form *form = database->form;
    int application, version, tables;
    fplt_status status;
    if ((status = read_number(database, "PRAGMA application_id", &application, error)) ||
        (status = read_number(database, "PRAGMA user_version", &version, error)) ||
        (status = read_number(database, "SELECT count(*) FROM sqlite_master", &tables, error)))
        return status;
    int is_new = !application && !version && !tables;
    if (!is_new && application != form->application)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: this is no %s but another database",
                              database->path, form->kind);
    if (version > form->version)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: this %s is of version %d, but this program knows versions up to "
                              "%d; take a newer program",
                              database->path, form->kind, version, form->version);
    return version < form->version ? upgrade(database, version, error) : FPLT_OK;
}

/* Every page and index: a file that was damaged is noticed before anything rests on it. */
static fplt_status check_integrity(fplt__database *database, fplt_error *error)
{
    sqlite3_stmt *prepared;
    int row = 0;
    fplt_status status =
        fplt__database_prepare(database, "PRAGMA quick_check(1)", &prepared, error);
    if (!status)
        status = fplt__database_step(database, prepared, &row, error);
    const char *found = !status && row ? (const char *)sqlite3_column_text(prepared, 0) : NULL;
    if (!status && (!found || strcmp(found, "ok") != 0))
        status = fplt_error_set(error, FPLT_BAD_DATA, "%s: this %s is damaged (%.200s)%s%s",
                                database->path, database->form->kind, found ? found : "?",
                                database->form->remedy ? "; " : "",
                                database->form->remedy ? database->form->remedy : "");
    sqlite3_finalize(prepared);
    return status;
}

static fplt_status set_up(fplt__database *database, int shared, fplt_error *error)
{
    int code = sqlite3_open_v2(database->path, &database->handle, SQLITE_OPEN_READWRITE, NULL);
    if (code)
        return explain(database, code, error);
    sqlite3_extended_result_codes(database->handle, 1);
    if (shared)
        sqlite3_busy_timeout(database->handle, 10000);
    /* The exclusive lock is taken by the first write and held until the file is closed. States have long
     * vectors: a page is two system calls; a new file gets larger ones, and a log as long as before. */
    fplt_status status = shared ? FPLT_OK
                                : fplt__database_execute(database,
                                                         "PRAGMA page_size=16384; "
                                                         "PRAGMA wal_autocheckpoint=250; "
                                                         "PRAGMA locking_mode=EXCLUSIVE",
                                                         error);
    if (!status)
        status = fplt__database_execute(database,
                                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
                                        "PRAGMA trusted_schema=OFF; BEGIN EXCLUSIVE; COMMIT",
                                        error);
    return status ? status : check_form(database, error);
}

static fplt_status open_file(const char *path, int make, const struct fplt__database_form *form,
                             int shared, fplt__database **out, fplt_error *error)
{
    fplt__database *database;
    *out = NULL;
    fplt_status status = check_path(path, form->kind, error);
    if (status || (status = make_file(path, make, form->kind, error)) ||
        (status = fplt__alloc_into(&database, 1, sizeof *database, form->kind, error)))
        return status;
    database->form = form;
    database->path = fplt__strdup(path);
    status = database->path
                 ? set_up(database, shared, error)
                 : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the %s", form->kind);
    if (!status && !shared)
        status = check_integrity(database, error);
    if (status) {
        fplt__database_close(database);
        return status;
    }
    *out = database;
    return FPLT_OK;
}

fplt_status fplt__database_open(const char *path, int make, const struct fplt__database_form *form,
                                fplt__database **database, fplt_error *error)
{
    return open_file(path, make, form, 0, database, error);
}

fplt_status fplt__database_open_shared(const char *path, int make,
                                       const struct fplt__database_form *form,
                                       fplt__database **database, fplt_error *error)
{
    return open_file(path, make, form, 1, database, error);
}

void fplt__database_close(fplt__database *database)
{
    if (!database)
        return;
    sqlite3_close(database->handle);
    fplt__free(database->path);
    fplt__free(database);
}

const char *fplt__database_path(const fplt__database *database)
{
    return database->path;
}

fplt_status fplt__database_execute(fplt__database *database, const char *statements,
                                   fplt_error *error)
{
    int code = sqlite3_exec(database->handle, statements, NULL, NULL, NULL);
    return code ? explain(database, code, error) : FPLT_OK;
}

static fplt_status copy_into(fplt__database *database, const char *path, fplt_error *error)
{
    sqlite3_stmt *prepared;
    fplt_status status = fplt__database_prepare(database, "VACUUM INTO ?", &prepared, error);
    if (!status)
        sqlite3_bind_text(prepared, 1, path, -1, SQLITE_STATIC);
    status = fplt__database_finish(database, prepared, status, error);
    int descriptor = status ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (!status && (descriptor < 0 || fsync(descriptor)))
        status = fplt_error_set(error, FPLT_IO, "%s: %s", path, strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    return status;
}

fplt_status fplt__database_backup(fplt__database *database, const char *path, fplt_error *error)
{
    int made = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made < 0)
        return fplt_error_set(error, FPLT_IO, "%s: a backup needs a new file: %s", path,
                              strerror(errno));
    close(made);
    fplt_status status = check_path(path, "backup", error);
    if (!status)
        status = copy_into(database, path, error);
    if (status)
        unlink(path);
    return status;
}

fplt_status fplt__database_checkpoint(fplt__database *database, fplt_error *error)
{
    int code =
        sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return code ? explain(database, code, error) : FPLT_OK;
}

fplt_status fplt__database_begin(fplt__database *database, fplt_error *error)
{
    return fplt__database_execute(database, "BEGIN IMMEDIATE", error);
}

fplt_status fplt__database_end(fplt__database *database, fplt_status status, fplt_error *error)
{
    if (!status)
        status = fplt__database_execute(database, "COMMIT", error);
    if (status && !sqlite3_get_autocommit(database->handle))
        fplt__database_execute(database, "ROLLBACK", NULL);
    return status;
}

fplt_status fplt__database_prepare(fplt__database *database, const char *statement,
                                   sqlite3_stmt **prepared, fplt_error *error)
{
    int code = sqlite3_prepare_v2(database->handle, statement, -1, prepared, NULL);
    return code ? explain(database, code, error) : FPLT_OK;
}

fplt_status fplt__database_step(fplt__database *database, sqlite3_stmt *prepared, int *row,
                                fplt_error *error)
{
    int code = sqlite3_step(prepared);
    if (row)
        *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? FPLT_OK : explain(database, code, error);
}

fplt_status fplt__database_finish(fplt__database *database, sqlite3_stmt *prepared,
                                  fplt_status status, fplt_error *error)
{
    if (!status)
        status = fplt__database_step(database, prepared, NULL, error);
    sqlite3_finalize(prepared);
    return status;
}
