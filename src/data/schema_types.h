/* Types of columns and their keys, for the files that parse, check and write schemas. */
#ifndef FPLT_DATA_SCHEMA_TYPES_H
#define FPLT_DATA_SCHEMA_TYPES_H

#include "data/schema.h"

/* Longest item of a list in a schema, in bytes; a feature is called COLUMN=LEVEL. */
enum { FPLT__SCHEMA_LONGEST_WORD = 1024 };

/* Keys of a column, as bits. */
enum {
    FPLT__KEY_TYPE = 1,
    FPLT__KEY_BOUNDS = 2,
    FPLT__KEY_LEVELS = 4,
    FPLT__KEY_CLASSES = 8,
    FPLT__KEY_NAMES = 16,
    FPLT__KEY_CENTRE = 32,
    FPLT__KEY_SCALE = 64,
    FPLT__KEY_BASE = 128,
    FPLT__KEY_MISSING = 256,
    FPLT__KEY_OTHER = 512,
    FPLT__KEY_MAX = 1024
};

/* A type of column: the keys that are legal and those that are required. */
typedef struct fplt__schema_type {
    const char *name, *help;
    unsigned keys, needs;
} fplt__schema_type;

/* By fplt__type; the last one, id, is a second name of FPLT__IGNORED. */
enum { FPLT__SCHEMA_TYPES = FPLT__IGNORED + 2 };
extern const fplt__schema_type fplt__schema_types[FPLT__SCHEMA_TYPES];

/* Whether a value may be none of the declared ones: bounds take all numbers, but not all indices. */
int fplt__schema_answers_other(const fplt__declared *column, int libsvm);

/* Sets text and digest from the columns, which are complete. */
fplt_status fplt__schema_write_text(fplt_schema *schema, fplt_error *error);

#endif
