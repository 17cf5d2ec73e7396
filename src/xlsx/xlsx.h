/* The inside of the module `xlsx`: parts of a workbook (ECMA-376). */
#ifndef FPLT_XLSX_XLSX_H
#define FPLT_XLSX_XLSX_H

#include <expat.h>
#include <zip.h>

#include "data/door.h"

/* Bytes that grow; `failed` once there was no memory. */
typedef struct xlsx_bytes {
    char *at; /* owned */
    size_t length, capacity;
    int failed;
} xlsx_bytes;

/* An open workbook. Zeroed is empty. */
typedef struct xlsx_book {
    const fplt__door_request *request;
    zip_t *archive;
    size_t unpacked; /* bytes so far, of all parts */
    int is_1904;     /* days are counted from 1904 */
    xlsx_bytes strings;
    size_t *string_end; /* owned: of each shared string in `strings` */
    size_t string_count, string_capacity;
    unsigned char *is_date; /* owned: of each cell format */
    size_t format_count, format_capacity;
} xlsx_book;

/* What a part of the workbook is read by; `failure` is set by a handler, which then stops the parser. */
typedef struct xlsx_reading {
    xlsx_book *book;
    XML_Parser parser;
    fplt_status failure;
    fplt_error *error;
    xlsx_bytes text; /* characters between the tags that are wanted */
    int takes_text;
    void *context;
} xlsx_reading;

typedef void xlsx_start(xlsx_reading *reading, const char *name, const char **attributes);
typedef void xlsx_end(xlsx_reading *reading, const char *name);

/* Adds bytes; nothing where `failed`. */
void xlsx_add(xlsx_bytes *bytes, const char *from, size_t count);
/* Room for one more element of an array; 0 where there is no memory. */
int xlsx_grow(void *pointer_to_pointer, size_t *capacity, size_t count, size_t size);
/* The value of an attribute, by its name without prefix; NULL: none. */
const char *xlsx_attribute(const char **attributes, const char *name);
/* Ends the reading with a status; the error is filled already, or a sentence about memory is. */
void xlsx_stop(xlsx_reading *reading, fplt_status status);
/* Parses one part. A part that is not there is an error where `needed`. */
fplt_status xlsx_parse(xlsx_book *book, const char *part, int needed, xlsx_start *start,
                       xlsx_end *end, void *context, fplt_error *error);

/* Shared strings, formats of cells; `part` of the sheet that is wanted. */
fplt_status xlsx_read_strings(xlsx_book *book, fplt_error *error);
fplt_status xlsx_read_styles(xlsx_book *book, fplt_error *error);
fplt_status xlsx_find_sheet(xlsx_book *book, char *part, size_t size, fplt_error *error);
/* The rows of a sheet. */
fplt_status xlsx_read_sheet(xlsx_book *book, const char *part, const fplt__door_host *host,
                            fplt_error *error);

#endif
