/* Tables and queries of PostgreSQL by libpq: the module `postgresql`, see data/door.h.
 *
 * libpq itself finds the password: PGPASSWORD, PGPASSFILE or ~/.pgpass (mode 0600), or a service file. Rows come by
 * COPY, in one transaction that only reads, with numbers in as many digits as they need. */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "data/door.h"

enum { BOOLEAN = 16, BYTES = 17 }; /* object identifiers of pg_type */

struct reading {
    const fplt__door_request *request;
    const fplt__door_host *host;
    PGconn *connection;
    fplt__cell *cell; /* owned */
    Oid *type;        /* owned */
    size_t columns;
};

static const char *version(void)
{
    static char text[32];
    int number = PQlibVersion();
    if (!*text)
        snprintf(text, sizeof text, "libpq %d.%d", number / 10000, number % 10000);
    return text;
}

static fplt_status no_memory(const struct reading *reading, fplt_error *error)
{
    return fplt__door_fail(error, FPLT_NO_MEMORY, reading->request->name, 0, "no memory");
}

/* The first line of what the server or the library says. */
static fplt_status fail(const struct reading *reading, fplt_status status, fplt_error *error)
{
    const char *why = PQerrorMessage(reading->connection);
    return fplt__door_fail(error, status, reading->request->name, 0, "PostgreSQL says: %.*s",
                           (int)strcspn(why, "\n"), why);
}

static fplt_status connect_server(struct reading *reading, fplt_error *error)
{
    /* what comes later counts, so the address may set another timeout */
    const char *const names[] = {"connect_timeout", "application_name", "dbname", "client_encoding",
                                 NULL};
    const char *const values[] = {"30", "fedplt", reading->request->place, "UTF8", NULL};
    reading->connection = PQconnectdbParams(names, values, 1);
    if (!reading->connection)
        return no_memory(reading, error);
    if (PQstatus(reading->connection) == CONNECTION_OK)
        return FPLT_OK;
    const char *why = PQerrorMessage(reading->connection);
    return fplt__door_fail(error, FPLT_IO, reading->request->name, 0,
                           "there is no connection: %.*s%s", (int)strcspn(why, "\n"), why,
                           PQconnectionNeedsPassword(reading->connection)
                               ? "; set PGPASSWORD, PGPASSFILE or a service file"
                               : "");
}

static fplt_status execute(const struct reading *reading, const char *statement, fplt_error *error)
{
    PGresult *result = PQexec(reading->connection, statement);
    fplt_status status =
        PQresultStatus(result) == PGRES_COMMAND_OK ? FPLT_OK : fail(reading, FPLT_BAD_DATA, error);
    PQclear(result);
    return status;
}

/* ---- order ---- */

/* "schema"."table", to be freed; NULL: no memory. */
static char *quote_table(const struct reading *reading)
{
    const char *table = reading->request->table, *dot = strchr(table, '.');
    size_t used = 0, size = 4 * strlen(table) + 8;
    char *quoted = malloc(size);
    while (quoted && table) {
        char *part = PQescapeIdentifier(reading->connection, table,
                                        dot ? (size_t)(dot - table) : strlen(table));
        if (!part) {
            free(quoted);
            return NULL;
        }
        used += (size_t)snprintf(quoted + used, size - used, "%s%s", used ? "." : "", part);
        PQfreemem(part);
        table = dot ? dot + 1 : NULL;
        dot = table ? strchr(table, '.') : NULL;
    }
    return quoted;
}

/* Names of the result's rows, separated by commas, commas in them behind a backslash. */
static fplt_status give_order(const struct reading *reading, const PGresult *result,
                              fplt_error *error)
{
    size_t size = 1, used = 0;
    int rows = PQntuples(result);
    for (int i = 0; i < rows; i++)
        size += 2 * (size_t)PQgetlength(result, i, 0) + 1;
    char *names = calloc(size, 1);
    if (!names)
        return no_memory(reading, error);
    for (int i = 0; i < rows; i++) {
        if (i)
            names[used++] = ',';
        for (const char *c = PQgetvalue(result, i, 0); *c; c++) {
            if (*c == ',' || *c == '\\')
                names[used++] = '\\';
            names[used++] = *c;
        }
    }
    fplt_status status =
        rows ? reading->host->order(reading->host->context, names, error) : FPLT_OK;
    free(names);
    return status;
}

static fplt_status find_key(const struct reading *reading, fplt_error *error)
{
    char *table = quote_table(reading);
    const char *const values[] = {table};
    if (!table)
        return no_memory(reading, error);
    PGresult *result = PQexecParams(
        reading->connection,
        "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND"
        " a.attnum = ANY(i.indkey) WHERE i.indrelid = $1::regclass AND i.indisprimary"
        " ORDER BY array_position(i.indkey::int2[], a.attnum)",
        1, NULL, values, NULL, NULL, 0);
    fplt_status status = PQresultStatus(result) == PGRES_TUPLES_OK
                             ? give_order(reading, result, error)
                             : fail(reading, FPLT_BAD_DATA, error);
    PQclear(result);
    free(table);
    return status;
}

/* ---- rows ---- */

static int is_number(Oid type)
{
    /* int8, int2, int4, oid, float4, float8, numeric */
    static const Oid numbers[] = {20, 21, 23, 26, 700, 701, 1700};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == type)
            return 1;
    return 0;
}

/* The text of one field in place, with what backslashes stand for; what follows it. NULL at the end of the row. */
static char *take_field(char *at, fplt__cell *cell)
{
    static const char signs[] = "b\bf\fn\nr\rt\tv\v";
    char *to = at, *from = at;
    *cell = (fplt__cell){FPLT__CELL_TEXT, 0, at, 0};
    if (from[0] == '\\' && from[1] == 'N') {
        cell->kind = FPLT__CELL_MISSING;
        from += 2;
    }
    for (; *from && *from != '\t' && *from != '\n'; from++) {
        if (*from == '\\' && from[1]) {
            const char *sign = strchr(signs, *++from);
            *to++ = sign && (sign - signs) % 2 == 0 ? sign[1] : *from;
        } else
            *to++ = *from;
    }
    cell->length = (size_t)(to - at);
    return *from == '\t' ? from + 1 : NULL;
}

static fplt_status take_row(const struct reading *reading, char *row, size_t number,
                            fplt_error *error)
{
    static const char *const bits[] = {"0", "1"};
    char *at = row;
    for (size_t i = 0; i < reading->columns; i++) {
        fplt__cell *cell = &reading->cell[i];
        if (!at)
            return fplt__door_fail(error, FPLT_BAD_DATA, reading->request->name, number,
                                   "the server sent too few columns");
        at = take_field(at, cell);
        if (cell->kind == FPLT__CELL_TEXT && is_number(reading->type[i]))
            cell->kind = FPLT__CELL_NUMBER;
        if (cell->kind == FPLT__CELL_TEXT && reading->type[i] == BOOLEAN)
            *cell = (fplt__cell){FPLT__CELL_NUMBER, 0, bits[*cell->text == 't'], 1};
    }
    return reading->host->row(reading->host->context, number, reading->cell, error);
}

static fplt_status copy_rows(const struct reading *reading, const char *statement,
                             fplt_error *error)
{
    size_t size = strlen(statement) + 32;
    char *row = NULL, *text = malloc(size);
    int length = 0;
    if (!text)
        return no_memory(reading, error);
    snprintf(text, size, "COPY (%s) TO STDOUT", statement);
    PGresult *result = PQexec(reading->connection, text);
    fplt_status status =
        PQresultStatus(result) == PGRES_COPY_OUT ? FPLT_OK : fail(reading, FPLT_BAD_DATA, error);
    PQclear(result);
    free(text);
    for (size_t number = 1; !status && (length = PQgetCopyData(reading->connection, &row, 0)) > 0;
         number++) {
        status = take_row(reading, row, number, error);
        PQfreemem(row);
    }
    if (status)
        return status;
    result = length == -1 ? PQgetResult(reading->connection) : NULL;
    if (!result || PQresultStatus(result) != PGRES_COMMAND_OK)
        status = fail(reading, FPLT_IO, error);
    PQclear(result);
    return status;
}

/* Names and types of the columns, without running the statement. */
static fplt_status describe(struct reading *reading, const char *statement, fplt_error *error)
{
    PGresult *prepared = PQprepare(reading->connection, "", statement, 0, NULL);
    fplt_status status = PQresultStatus(prepared) == PGRES_COMMAND_OK
                             ? FPLT_OK
                             : fail(reading, FPLT_BAD_DATA, error);
    PQclear(prepared);
    if (status)
        return status;
    PGresult *result = PQdescribePrepared(reading->connection, "");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        status = fail(reading, FPLT_BAD_DATA, error);
    reading->columns = status ? 0 : (size_t)PQnfields(result);
    reading->cell = calloc(reading->columns + 1, sizeof *reading->cell);
    reading->type = calloc(reading->columns + 1, sizeof *reading->type);
    if (!status && (!reading->cell || !reading->type))
        status = no_memory(reading, error);
    for (size_t i = 0; i < reading->columns && !status; i++) {
        const char *name = PQfname(result, (int)i);
        reading->type[i] = PQftype(result, (int)i);
        reading->cell[i] = (fplt__cell){FPLT__CELL_TEXT, 0, name, strlen(name)};
        if (reading->type[i] == BYTES)
            status = fplt__door_fail(error, FPLT_BAD_DATA, reading->request->name, 0,
                                     "column '%.80s': bytes (bytea) are neither a number nor text: "
                                     "leave the column out of the query",
                                     name);
    }
    if (!status)
        status = reading->host->columns(reading->host->context, 0, reading->cell, reading->columns,
                                        error);
    PQclear(result);
    return status;
}

static fplt_status read_table(struct reading *reading, fplt_error *error)
{
    const char *statement;
    fplt_status status;
    if ((status = connect_server(reading, error)) ||
        (status = execute(reading, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error)) ||
        (status = execute(
             reading, "SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 3", error)))
        return status;
    if (reading->request->table && !reading->request->order_by)
        status = find_key(reading, error);
    if (!status)
        status = reading->host->statement(reading->host->context, "\"", &statement, error);
    if (!status)
        status = describe(reading, statement, error);
    return status ? status : copy_rows(reading, statement, error);
}

static fplt_status read_door(const fplt__door_request *request, const fplt__door_host *host,
                             fplt_error *error)
{
    struct reading reading = {.request = request, .host = host};
    fplt_status status = read_table(&reading, error);
    PQfinish(reading.connection);
    free(reading.cell);
    free(reading.type);
    return status;
}

extern const fplt__door fplt__door_table;
const fplt__door fplt__door_table = {sizeof(fplt__door), version, read_door};
