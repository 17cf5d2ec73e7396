/* Doors: sources of rows that are not text, such as workbooks, files of statistics programs and databases.
 *
 * A door reads a table and hands its rows to a host, which writes them as CSV text; from there on all rules of the CSV
 * reader hold (types, categories, missing values, bounds). Most doors are modules of their own (base/module.h), because
 * their libraries, some with a TLS library, would otherwise be loaded at every start. A module calls nothing of fedplt
 * but what the host offers. */
#ifndef FPLT_DATA_DOOR_H
#define FPLT_DATA_DOOR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "fedplt/status.h"

/* Limits of every door: bytes of a cell, columns of a table. */
enum { FPLT__DOOR_MAX_CELL = 65536, FPLT__DOOR_MAX_COLUMNS = 100000 };

typedef enum fplt__cell_kind {
    FPLT__CELL_MISSING,
    FPLT__CELL_NUMBER, /* `number`; or, where `text` is not NULL, that number as decimal text */
    FPLT__CELL_TEXT    /* UTF-8; dates as 2020-12-31 or 2020-12-31 23:59:59 */
} fplt__cell_kind;

typedef struct fplt__cell {
    fplt__cell_kind kind;
    double number;
    const char *text; /* borrowed until the host returns; no NUL needed behind it */
    size_t length;
} fplt__cell;

/* An address, taken apart. NULL: not given. */
typedef struct fplt__door_request {
    const char *name;  /* the whole address, for sentences */
    const char *place; /* file, or what names a connection; without a password */
    const char *table, *query, *order_by;
    const char *sheet;         /* of a workbook */
    const char *password_file; /* of mode 0600 */
    int no_labels;             /* codes instead of value labels */
    int no_header;             /* the first row is data */
    size_t max_bytes;          /* that may be unpacked, or come as text */
} fplt__door_request;

/* What a door may call, with `context` first. A status that is not FPLT_OK ends the reading and is returned by it. */
typedef struct fplt__door_host {
    void *context;
    /* Once, before the rows: the names. `number` of the row that has them; 0: none has. With request->no_header only
     * `count` is read. */
    fplt_status (*columns)(void *context, size_t number, const fplt__cell *names, size_t count,
                           fplt_error *error);
    /* The next row, as many cells as there are columns; `number` as a user counts rows, increasing. */
    fplt_status (*row)(void *context, size_t number, const fplt__cell *cells, fplt_error *error);
    /* Databases: primary key of request->table, used where no order is given; names separated by commas. */
    fplt_status (*order)(void *context, const char *names, fplt_error *error);
    /* Databases: the statement to run, or a sentence where no order is known; `quote` encloses names. Borrowed. */
    fplt_status (*statement)(void *context, const char *quote, const char **text,
                             fplt_error *error);
    /* A sentence for the log. */
    void (*note)(void *context, const char *sentence);
} fplt__door_host;

typedef struct fplt__door {
    size_t size; /* sizeof(fplt__door) */
    /* Names and versions of the libraries behind it. */
    const char *(*version)(void);
    /* Reads all rows. FPLT_BAD_DATA: the file is damaged or the statement is refused; FPLT_IO: it cannot be opened. */
    fplt_status (*read)(const fplt__door_request *request, const fplt__door_host *host,
                        fplt_error *error);
} fplt__door;

/* Name of a module's one symbol, a const fplt__door. */
#define FPLT__DOOR_MODULE "fplt__door_table"

/* FPLT_BAD_DATA or another status, with "name: " or "name:row: " before the sentence. For modules, which have no
 * functions of the library. */
FPLT_PRINTF(5, 6)
static inline fplt_status fplt__door_fail(fplt_error *error, fplt_status status, const char *name,
                                          size_t row, const char *format, ...)
{
    va_list arguments;
    if (!error)
        return status;
    error->status = status;
    int used = row ? snprintf(error->text, sizeof error->text, "%.300s:%zu: ", name, row)
                   : snprintf(error->text, sizeof error->text, "%.300s: ", name);
    va_start(arguments, format);
    vsnprintf(error->text + used, sizeof error->text - (size_t)used, format, arguments);
    va_end(arguments);
    return status;
}

/* Year, month and day of so many days after 1970-01-01, as YYYY-MM-DD; `seconds` of the day above 0 follow as HH:MM:SS.
 * Returns the length. */
static inline size_t fplt__door_date(long long days, long seconds, char text[32])
{
    /* months are counted from March, so that the day that a leap year adds is the last of its year */
    long long z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    long long day = z - era * 146097;
    long long year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    long long rest = day - (365 * year + year / 4 - year / 100), month = (5 * rest + 2) / 153;
    long long shown = year + era * 400 + (month >= 10);
    int used = snprintf(text, 32, "%04lld-%02lld-%02lld", shown % 10000,
                        month < 10 ? month + 3 : month - 9, rest - (153 * month + 2) / 5 + 1);
    if (seconds)
        used += snprintf(text + used, 32 - (size_t)used, " %02ld:%02ld:%02ld", seconds / 3600 % 24,
                         seconds / 60 % 60, seconds % 60);
    return (size_t)used;
}

#endif
