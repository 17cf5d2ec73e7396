/* Tables and queries of any database with an ODBC driver, by unixODBC: the module `odbc`, see data/door.h.
 *
 * The password comes from FEDPLT_ODBC_PASSWORD, from the file that password-file names (mode 0600), or from odbc.ini. */
#include <sql.h>
#include <sqlext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/door.h"

enum { MAX_NAME = 256, MAX_PASSWORD = 512 };

struct reading {
    const fplt__door_request *request;
    const fplt__door_host *host;
    SQLHENV environment;
    SQLHDBC connection;
    int is_connected;
    SQLHSTMT statement;
    SQLSMALLINT columns;
    fplt__cell *cell;       /* owned, as are the next */
    SQLSMALLINT *type;      /* of each column */
    char (*name)[MAX_NAME]; /* of each column */
    char **text;            /* of each cell */
    size_t *capacity;       /* of each text */
};

static const char *version(void)
{
    return "unixODBC " ODBC_DOOR_VERSION;
}

static fplt_status no_memory(const struct reading *reading, fplt_error *error)
{
    return fplt__door_fail(error, FPLT_NO_MEMORY, reading->request->name, 0, "no memory");
}

static fplt_status fail(const struct reading *reading, SQLSMALLINT kind, SQLHANDLE handle,
                        fplt_status status, fplt_error *error)
{
    SQLCHAR state[8] = "", text[400] = "no further word";
    SQLINTEGER number;
    SQLSMALLINT length;
    SQLGetDiagRec(kind, handle, 1, state, &number, text, sizeof text, &length);
    return fplt__door_fail(error, status, reading->request->name, 0, "ODBC says (%s): %.*s",
                           (const char *)state, (int)strcspn((const char *)text, "\n"),
                           (const char *)text);
}

/* ---- connection ---- */

static fplt_status read_password_file(const struct reading *reading, char *password,
                                      fplt_error *error)
{
    const char *path = reading->request->password_file;
    struct stat about;
    FILE *file = fopen(path, "r");
    if (!file)
        return fplt__door_fail(error, FPLT_IO, reading->request->name, 0,
                               "password-file: '%.200s' cannot be opened", path);
    if (fstat(fileno(file), &about) || (about.st_mode & 077)) {
        fclose(file);
        return fplt__door_fail(error, FPLT_BAD_VALUE, reading->request->name, 0,
                               "password-file: others may read '%.200s': chmod 600 it", path);
    }
    if (!fgets(password, MAX_PASSWORD, file))
        *password = 0;
    fclose(file);
    password[strcspn(password, "\r\n")] = 0;
    return FPLT_OK;
}

/* "DSN=name;UID=me" and the password in braces, in which } is written twice. */
static fplt_status write_address(const struct reading *reading, char *text, size_t size,
                                 fplt_error *error)
{
    char password[MAX_PASSWORD] = "";
    const char *place = reading->request->place, *given = getenv("FEDPLT_ODBC_PASSWORD");
    size_t first = strcspn(place, ";"), used;
    fplt_status status = FPLT_OK;
    if (reading->request->password_file)
        status = read_password_file(reading, password, error);
    else if (given)
        snprintf(password, sizeof password, "%s", given);
    used = (size_t)snprintf(text, size, "%s%s", memchr(place, '=', first) ? "" : "DSN=", place);
    if (!status && used + 2 * strlen(password) + 16 > size)
        status = fplt__door_fail(error, FPLT_BAD_VALUE, reading->request->name, 0,
                                 "the address is too long");
    if (!status && *password) {
        used += (size_t)snprintf(text + used, size - used, ";PWD={");
        for (const char *c = password; *c; c++) {
            if (*c == '}')
                text[used++] = '}';
            text[used++] = *c;
        }
        snprintf(text + used, size - used, "}");
    }
    explicit_bzero(password, sizeof password);
    return status;
}

static fplt_status connect_database(struct reading *reading, fplt_error *error)
{
    char text[4096];
    SQLSMALLINT length;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &reading->environment)) ||
        !SQL_SUCCEEDED(SQLSetEnvAttr(reading->environment, SQL_ATTR_ODBC_VERSION,
                                     (SQLPOINTER)SQL_OV_ODBC3, 0)) ||
        !SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, reading->environment, &reading->connection)))
        return no_memory(reading, error);
    fplt_status status = write_address(reading, text, sizeof text, error);
    if (status)
        return status;
    SQLSetConnectAttr(reading->connection, SQL_ATTR_LOGIN_TIMEOUT, (SQLPOINTER)30, 0);
    SQLSetConnectAttr(reading->connection, SQL_ATTR_ACCESS_MODE,
                      (SQLPOINTER)(SQLULEN)SQL_MODE_READ_ONLY, 0);
    reading->is_connected =
        SQL_SUCCEEDED(SQLDriverConnect(reading->connection, NULL, (SQLCHAR *)text, SQL_NTS, NULL, 0,
                                       &length, SQL_DRIVER_NOPROMPT));
    explicit_bzero(text, sizeof text);
    return reading->is_connected
               ? FPLT_OK
               : fail(reading, SQL_HANDLE_DBC, reading->connection, FPLT_IO, error);
}

/* ---- order ---- */

/* Columns of the primary key come in the order of its parts from every driver that knows them. */
static fplt_status find_key(const struct reading *reading, fplt_error *error)
{
    enum { COLUMN_NAME = 4 };
    SQLHSTMT query;
    SQLLEN length;
    char name[MAX_NAME], names[4096] = "";
    const char *table = reading->request->table, *dot = strrchr(table, '.');
    size_t used = 0;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, reading->connection, &query)))
        return no_memory(reading, error);
    if (SQL_SUCCEEDED(SQLPrimaryKeys(query, NULL, 0, (SQLCHAR *)(dot ? table : NULL),
                                     dot ? (SQLSMALLINT)(dot - table) : 0,
                                     (SQLCHAR *)(dot ? dot + 1 : table), SQL_NTS)))
        while (
            SQL_SUCCEEDED(SQLFetch(query)) &&
            SQL_SUCCEEDED(SQLGetData(query, COLUMN_NAME, SQL_C_CHAR, name, sizeof name, &length)) &&
            used + 2 * strlen(name) + 2 < sizeof names) {
            if (used)
                names[used++] = ',';
            for (const char *c = name; *c; c++) {
                if (*c == ',' || *c == '\\')
                    names[used++] = '\\';
                names[used++] = *c;
            }
            names[used] = 0;
        }
    SQLFreeHandle(SQL_HANDLE_STMT, query);
    return *names ? reading->host->order(reading->host->context, names, error) : FPLT_OK;
}

/* ---- columns ---- */

static int is_floating(SQLSMALLINT type)
{
    return type == SQL_REAL || type == SQL_FLOAT || type == SQL_DOUBLE;
}

static int is_exact(SQLSMALLINT type)
{
    return type == SQL_INTEGER || type == SQL_SMALLINT || type == SQL_TINYINT ||
           type == SQL_BIGINT || type == SQL_BIT || type == SQL_DECIMAL || type == SQL_NUMERIC;
}

static int is_bytes(SQLSMALLINT type)
{
    return type == SQL_BINARY || type == SQL_VARBINARY || type == SQL_LONGVARBINARY;
}

static fplt_status describe(struct reading *reading, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    SQLNumResultCols(reading->statement, &reading->columns);
    size_t count = reading->columns > 0 ? (size_t)reading->columns : 1;
    reading->cell = calloc(count, sizeof *reading->cell);
    reading->type = calloc(count, sizeof *reading->type);
    reading->name = calloc(count, sizeof *reading->name);
    reading->text = calloc(count, sizeof *reading->text);
    reading->capacity = calloc(count, sizeof *reading->capacity);
    if (!reading->cell || !reading->type || !reading->name || !reading->text || !reading->capacity)
        return no_memory(reading, error);
    for (SQLSMALLINT i = 0; i < reading->columns && !status; i++) {
        SQLSMALLINT length, digits, nullable;
        SQLULEN size;
        char *name = reading->name[i];
        if (!SQL_SUCCEEDED(SQLDescribeCol(reading->statement, (SQLUSMALLINT)(i + 1),
                                          (SQLCHAR *)name, MAX_NAME, &length, &reading->type[i],
                                          &size, &digits, &nullable)))
            return fail(reading, SQL_HANDLE_STMT, reading->statement, FPLT_BAD_DATA, error);
        reading->cell[i] = (fplt__cell){FPLT__CELL_TEXT, 0, name, strlen(name)};
        if (is_bytes(reading->type[i]))
            status = fplt__door_fail(error, FPLT_BAD_DATA, reading->request->name, 0,
                                     "column '%.80s': bytes are neither a number nor text: leave "
                                     "the column out of the query",
                                     name);
    }
    return status ? status
                  : reading->host->columns(reading->host->context, 0, reading->cell,
                                           (size_t)reading->columns, error);
}

/* ---- rows ---- */

static int grow_text(struct reading *reading, SQLSMALLINT i, size_t size)
{
    if (size <= reading->capacity[i])
        return 1;
    char *made = realloc(reading->text[i], 2 * size);
    if (!made)
        return 0;
    reading->text[i] = made;
    reading->capacity[i] = 2 * size;
    return 1;
}

/* Adds one character as UTF-8. */
static size_t write_character(unsigned long c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = more; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(first[more] | c);
    return more + 1;
}

/* Text in UTF-16, piece by piece, as UTF-8. */
static fplt_status take_text(struct reading *reading, SQLSMALLINT i, size_t row, fplt_error *error)
{
    enum { PIECE = 1024 };
    SQLWCHAR piece[PIECE];
    SQLLEN length = 0;
    size_t used = 0;
    unsigned long high = 0;
    SQLRETURN code;
    do {
        code = SQLGetData(reading->statement, (SQLUSMALLINT)(i + 1), SQL_C_WCHAR, piece,
                          sizeof piece, &length);
        if (code == SQL_NO_DATA || length == SQL_NULL_DATA)
            break;
        if (!SQL_SUCCEEDED(code))
            return fail(reading, SQL_HANDLE_STMT, reading->statement, FPLT_BAD_DATA, error);
        size_t count = 0;
        while (count < PIECE && piece[count])
            count++;
        if (!grow_text(reading, i, used + 4 * count + 1))
            return no_memory(reading, error);
        for (size_t k = 0; k < count; k++) {
            unsigned long c = piece[k];
            if (c >= 0xd800 && c < 0xdc00) {
                high = c;
                continue;
            }
            if (c >= 0xdc00 && c < 0xe000)
                c = 0x10000 + ((high & 0x3ff) << 10) + (c & 0x3ff);
            used += write_character(c, reading->text[i] + used);
        }
        if (used > FPLT__DOOR_MAX_CELL)
            return fplt__door_fail(error, FPLT_BAD_DATA, reading->request->name, row,
                                   "column '%.80s': the cell has more than %d bytes of text: leave "
                                   "the column out of the query",
                                   reading->name[i], FPLT__DOOR_MAX_CELL);
    } while (code == SQL_SUCCESS_WITH_INFO);
    reading->cell[i] =
        (fplt__cell){used ? is_exact(reading->type[i]) ? FPLT__CELL_NUMBER : FPLT__CELL_TEXT
                          : FPLT__CELL_MISSING,
                     0, reading->text[i], used};
    return FPLT_OK;
}

static fplt_status take_cell(struct reading *reading, SQLSMALLINT i, size_t row, fplt_error *error)
{
    SQLDOUBLE value = 0;
    SQLLEN length = 0;
    reading->cell[i] = (fplt__cell){FPLT__CELL_MISSING, 0, NULL, 0};
    if (!is_floating(reading->type[i]))
        return take_text(reading, i, row, error);
    if (!SQL_SUCCEEDED(SQLGetData(reading->statement, (SQLUSMALLINT)(i + 1), SQL_C_DOUBLE, &value,
                                  sizeof value, &length)))
        return fail(reading, SQL_HANDLE_STMT, reading->statement, FPLT_BAD_DATA, error);
    if (length != SQL_NULL_DATA)
        reading->cell[i] = (fplt__cell){FPLT__CELL_NUMBER, value, NULL, 0};
    return FPLT_OK;
}

static fplt_status read_rows(struct reading *reading, fplt_error *error)
{
    SQLRETURN code = SQL_NO_DATA;
    fplt_status status = describe(reading, error);
    for (size_t row = 1; !status && SQL_SUCCEEDED(code = SQLFetch(reading->statement)); row++) {
        for (SQLSMALLINT i = 0; i < reading->columns && !status; i++)
            status = take_cell(reading, i, row, error);
        if (!status)
            status = reading->host->row(reading->host->context, row, reading->cell, error);
    }
    return !status && code != SQL_NO_DATA
               ? fail(reading, SQL_HANDLE_STMT, reading->statement, FPLT_IO, error)
               : status;
}

static fplt_status read_table(struct reading *reading, fplt_error *error)
{
    char quote[8] = "\"";
    const char *text;
    SQLSMALLINT length;
    fplt_status status = connect_database(reading, error);
    if (status)
        return status;
    SQLGetInfo(reading->connection, SQL_IDENTIFIER_QUOTE_CHAR, quote, sizeof quote, &length);
    if (strcmp(quote, " ") == 0)
        *quote = 0;
    if (reading->request->table && !reading->request->order_by)
        status = find_key(reading, error);
    if (!status)
        status = reading->host->statement(reading->host->context, quote, &text, error);
    if (status)
        return status;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, reading->connection, &reading->statement)))
        return no_memory(reading, error);
    if (!SQL_SUCCEEDED(SQLExecDirect(reading->statement, (SQLCHAR *)text, SQL_NTS)))
        return fail(reading, SQL_HANDLE_STMT, reading->statement, FPLT_BAD_DATA, error);
    return read_rows(reading, error);
}

static void clear(struct reading *reading)
{
    if (reading->statement)
        SQLFreeHandle(SQL_HANDLE_STMT, reading->statement);
    if (reading->is_connected)
        SQLDisconnect(reading->connection);
    if (reading->connection)
        SQLFreeHandle(SQL_HANDLE_DBC, reading->connection);
    if (reading->environment)
        SQLFreeHandle(SQL_HANDLE_ENV, reading->environment);
    for (SQLSMALLINT i = 0; i < reading->columns && reading->text; i++)
        free(reading->text[i]);
    free(reading->cell);
    free(reading->type);
    free(reading->name);
    free(reading->text);
    free(reading->capacity);
}

static fplt_status read_door(const fplt__door_request *request, const fplt__door_host *host,
                             fplt_error *error)
{
    struct reading reading = {.request = request, .host = host};
    fplt_status status = read_table(&reading, error);
    clear(&reading);
    return status;
}

extern const fplt__door fplt__door_table;
const fplt__door fplt__door_table = {sizeof(fplt__door), version, read_door};
