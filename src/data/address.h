/* Addresses of tables that are not text: PLACE?parameter=value&parameter=value. */
#ifndef FPLT_DATA_ADDRESS_H
#define FPLT_DATA_ADDRESS_H

#include "data/door.h"
#include "data/text.h"

typedef struct fplt__door_kind {
    const char *name;       /* of the door, and of its module */
    const char *scheme;     /* "sqlite:"; NULL: a file, told by its first bytes */
    const char *parameters; /* that an address may have, separated by commas */
    int passes_on;          /* other parameters are part of the place */
    int is_sheet;           /* rows have numbers of their own, and the names are in one of them */
    const fplt__door *built_in; /* NULL: a module */
    const char *packages;       /* to build the module */
    const char *about;          /* what it reads */
} fplt__door_kind;

/* Ends with an element without a name. */
extern const fplt__door_kind fplt__door_kinds[];
extern const fplt__door fplt__door_sqlite;

/* The kind of a path, by its scheme or by the first bytes of the file; NULL: text, or no file. */
const fplt__door_kind *fplt__address_kind(const char *path);

typedef struct fplt__address {
    fplt__door_request request;
    char *text, *query; /* owned: parts of the address, and what was read of a query file */
} fplt__address;

/* Takes an address apart; fplt__address_clear releases it, after a failure too. FPLT_BAD_VALUE: unknown parameters,
 * parameters that exclude one another, a password. */
fplt_status fplt__address_parse(const char *path, const fplt__door_kind *kind,
                                fplt__address *address, fplt_error *error);
void fplt__address_clear(fplt__address *address);

/* What a table is called, without scheme, parameters and folder; `path` itself where it is no address. */
fplt__span fplt__address_name(const char *path);

#endif
