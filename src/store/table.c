#include "store/table.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

enum { MAX_STATEMENTS = 64 };

struct fplt__table {
    fplt__database *database;
    size_t count;
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } kept[MAX_STATEMENTS];
};

fplt_status fplt__table_open(const char *path, const struct fplt__database_form *form, int shared,
                             fplt__table **out, fplt_error *error)
{
    *out = NULL;
    fplt__table *table;
    fplt_status status = fplt__alloc_into(&table, 1, sizeof *table, form->kind, error);
    if (status)
        return status;
    status = shared ? fplt__database_open_shared(path, 1, form, &table->database, error)
                    : fplt__database_open(path, 1, form, &table->database, error);
    if (status) {
        fplt__table_close(table);
        return status;
    }
    *out = table;
    return FPLT_OK;
}

void fplt__table_close(fplt__table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++)
        sqlite3_finalize(table->kept[i].statement);
    fplt__database_close(table->database);
    fplt__free(table);
}

fplt_status fplt__table_begin(fplt__table *table, fplt_error *error)
{
    return fplt__database_begin(table->database, error);
}

fplt_status fplt__table_end(fplt__table *table, fplt_status status, fplt_error *error)
{
    return fplt__database_end(table->database, status, error);
}

fplt_status fplt__table_backup(fplt__table *table, const char *path, fplt_error *error)
{
    return fplt__database_backup(table->database, path, error);
}

fplt_status fplt__table_checkpoint(fplt__table *table, fplt_error *error)
{
    return fplt__database_checkpoint(table->database, error);
}

static fplt_status statement_of(fplt__table *table, const char *sql, sqlite3_stmt **statement,
                                fplt_error *error)
{
    FPLT__ASSERT(table->count <= MAX_STATEMENTS);
    for (size_t i = 0; i < table->count; i++)
        if (table->kept[i].sql == sql) {
            *statement = table->kept[i].statement;
            return FPLT_OK;
        }
    if (table->count == MAX_STATEMENTS)
        return fplt_error_set(error, FPLT_FAILED, "%s: too many statements",
                              fplt__database_path(table->database));
    fplt_status status = fplt__database_prepare(table->database, sql, statement, error);
    if (status)
        return status;
    table->kept[table->count].sql = sql;
    table->kept[table->count++].statement = *statement;
    return FPLT_OK;
}

static void bind(sqlite3_stmt *statement, const char *types, va_list values)
{
    FPLT__ASSERT(!sqlite3_stmt_busy(statement));
    FPLT__ASSERT(sqlite3_bind_parameter_count(statement) == (int)strlen(types));
    FPLT__ASSERT(strspn(types, "irtb") == strlen(types));
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
            sqlite3_bind_blob64(statement, i, bytes, size, SQLITE_STATIC);
        }
    }
}

fplt_status fplt__table_ask_list(fplt__table *table, sqlite3_stmt **statement, fplt_error *error,
                                 const char *sql, const char *types, va_list values)
{
    fplt_status status = statement_of(table, sql, statement, error);
    if (!status)
        bind(*statement, types, values);
    return status;
}

fplt_status fplt__table_ask(fplt__table *table, sqlite3_stmt **statement, fplt_error *error,
                            const char *sql, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    fplt_status status = fplt__table_ask_list(table, statement, error, sql, types, values);
    va_end(values);
    return status;
}

fplt_status fplt__table_step(fplt__table *table, sqlite3_stmt *statement, int *row,
                             fplt_error *error)
{
    fplt_status status = fplt__database_step(table->database, statement, row, error);
    if (status)
        *row = 0;
    if (!*row)
        fplt__table_done(statement);
    return status;
}

void fplt__table_done(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

fplt_status fplt__table_run_list(fplt__table *table, int *changed, fplt_error *error,
                                 const char *sql, const char *types, va_list values)
{
    sqlite3_stmt *statement;
    int row = 0;
    fplt_status status = fplt__table_ask_list(table, &statement, error, sql, types, values);
    if (!status && !(status = fplt__table_step(table, statement, &row, error)) && changed)
        *changed = sqlite3_changes(sqlite3_db_handle(statement));
    if (row)
        fplt__table_done(statement);
    return status;
}

fplt_status fplt__table_run(fplt__table *table, int *changed, fplt_error *error, const char *sql,
                            const char *types, ...)
{
    va_list values;
    va_start(values, types);
    fplt_status status = fplt__table_run_list(table, changed, error, sql, types, values);
    va_end(values);
    return status;
}

void fplt__column_text(sqlite3_stmt *statement, int column, char *text, size_t size)
{
    FPLT__ASSERT(column < sqlite3_column_count(statement));
    FPLT__ASSERT(size > 0);
    const char *found = (const char *)sqlite3_column_text(statement, column);
    snprintf(text, size, "%s", found ? found : "");
}

void fplt__column_bytes(sqlite3_stmt *statement, int column, void *bytes, size_t size)
{
    FPLT__ASSERT(column < sqlite3_column_count(statement));
    memset(bytes, 0, size);
    if ((size_t)sqlite3_column_bytes(statement, column) == size && size)
        memcpy(bytes, sqlite3_column_blob(statement, column), size);
}
