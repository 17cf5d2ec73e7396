/* The door to SQLite: tables and queries of a database file, which is only read. */
#include <sqlite3.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "data/address.h"

struct reading {
    const fplt__door_request *request;
    const fplt__door_host *host;
    sqlite3 *database;
    sqlite3_stmt *statement;
    fplt__cell *cell; /* owned */
    int columns;
};

static const char *version(void)
{
    return sqlite3_libversion();
}

static fplt_status fail(const struct reading *reading, fplt_error *error)
{
    int code = sqlite3_errcode(reading->database) & 0xff;
    const char *why = sqlite3_errmsg(reading->database);
    if (code == SQLITE_NOMEM)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory to read %.300s",
                              reading->request->name);
    if (code == SQLITE_CANTOPEN)
        return fplt__door_fail(error, FPLT_IO, reading->request->name, 0,
                               "SQLite cannot open '%.200s': %s", reading->request->place, why);
    return fplt__door_fail(error, FPLT_BAD_DATA, reading->request->name, 0, "SQLite says: %.400s",
                           why);
}

/* The columns of the primary key, in its order. */
static fplt_status find_key(const struct reading *reading, fplt_error *error)
{
    sqlite3_stmt *query = NULL;
    fplt__buffer names = {NULL, 0, 0, FPLT_OK};
    fplt_status status = FPLT_OK;
    const char *table = reading->request->table, *dot = strrchr(table, '.');
    if (sqlite3_prepare_v2(reading->database,
                           "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk", -1,
                           &query, NULL) ||
        sqlite3_bind_text(query, 1, dot ? dot + 1 : table, -1, SQLITE_STATIC))
        status = fail(reading, error);
    while (!status && sqlite3_step(query) == SQLITE_ROW) {
        fplt__buffer_add(&names, names.length ? "," : "");
        for (const char *c = (const char *)sqlite3_column_text(query, 0); c && *c; c++) {
            fplt__buffer_add(&names, *c == ',' || *c == '\\' ? "\\" : "");
            fplt__buffer_add_bytes(&names, c, 1);
        }
    }
    sqlite3_finalize(query);
    if (!status && names.length)
        status = reading->host->order(reading->host->context, names.text, error);
    fplt__buffer_clear(&names);
    return status;
}

static fplt_status take_cell(const struct reading *reading, int i, size_t row, fplt__cell *cell,
                             fplt_error *error)
{
    sqlite3_stmt *statement = reading->statement;
    *cell = (fplt__cell){FPLT__CELL_MISSING, 0, NULL, 0};
    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_NULL: return FPLT_OK;
    case SQLITE_FLOAT:
        cell->kind = FPLT__CELL_NUMBER;
        cell->number = sqlite3_column_double(statement, i);
        return FPLT_OK;
    case SQLITE_BLOB:
        return fplt__door_fail(error, FPLT_BAD_DATA, reading->request->name, row,
                               "column '%.80s': a BLOB is neither a number nor text: leave the "
                               "column out of the query",
                               sqlite3_column_name(statement, i));
    case SQLITE_INTEGER: cell->kind = FPLT__CELL_NUMBER; break;
    default: cell->kind = FPLT__CELL_TEXT; break;
    }
    cell->text = (const char *)sqlite3_column_text(statement, i);
    cell->length = (size_t)sqlite3_column_bytes(statement, i);
    return cell->text ? FPLT_OK : fail(reading, error);
}

static fplt_status read_names(struct reading *reading, fplt_error *error)
{
    reading->columns = sqlite3_column_count(reading->statement);
    fplt_status status = fplt__alloc_into(&reading->cell, (size_t)reading->columns,
                                          sizeof *reading->cell, "columns", error);
    for (int i = 0; i < reading->columns && !status; i++) {
        const char *name = sqlite3_column_name(reading->statement, i);
        if (!name)
            return fail(reading, error);
        reading->cell[i] = (fplt__cell){FPLT__CELL_TEXT, 0, name, strlen(name)};
    }
    return status ? status
                  : reading->host->columns(reading->host->context, 0, reading->cell,
                                           (size_t)reading->columns, error);
}

static fplt_status read_rows(struct reading *reading, fplt_error *error)
{
    int code = SQLITE_DONE;
    fplt_status status = read_names(reading, error);
    for (size_t row = 1; !status && (code = sqlite3_step(reading->statement)) == SQLITE_ROW;
         row++) {
        for (int i = 0; i < reading->columns && !status; i++)
            status = take_cell(reading, i, row, &reading->cell[i], error);
        if (!status)
            status = reading->host->row(reading->host->context, row, reading->cell, error);
    }
    return !status && code != SQLITE_DONE ? fail(reading, error) : status;
}

static fplt_status read_table(struct reading *reading, fplt_error *error)
{
    const char *text;
    fplt_status status = FPLT_OK;
    sqlite3_busy_timeout(reading->database, 10000);
    if (reading->request->table && !reading->request->order_by)
        status = find_key(reading, error);
    if (!status)
        status = reading->host->statement(reading->host->context, "\"", &text, error);
    if (status)
        return status;
    if (sqlite3_prepare_v2(reading->database, text, -1, &reading->statement, NULL))
        return fail(reading, error);
    return read_rows(reading, error);
}

static fplt_status read_door(const fplt__door_request *request, const fplt__door_host *host,
                             fplt_error *error)
{
    struct reading reading = {.request = request, .host = host};
    int code = sqlite3_open_v2(request->place, &reading.database,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_PRIVATECACHE, NULL);
    fplt_status status = !reading.database
                             ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a database")
                         : code ? fail(&reading, error)
                                : read_table(&reading, error);
    sqlite3_finalize(reading.statement);
    sqlite3_close(reading.database);
    fplt__free(reading.cell);
    return status;
}

const fplt__door fplt__door_sqlite = {sizeof(fplt__door), version, read_door};
