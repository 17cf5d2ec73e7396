/* What the columns of a run are called: names, kinds and levels of the feature columns, name and classes of the
 * label. Canonical JSON, as it stands in a proposal (what the coordinator declares), travels as a fact (what a
 * site's file has) and stands in the plan (what all sites read by):
 *
 *     {"columns":[{"kind":"category","levels":["f","m"],"name":"sex"}, ...],"drop":false,
 *      "label":{"kind":"category","levels":["no","yes"],"name":"sick"},"positions":0,"whole":true}
 *
 * kind   `any`: not declared. `number`. `category`: of a label, its classes.
 * levels of a category; none: not declared
 * name   of the label: null where it is not known
 * drop   the first level of each category has no feature
 * positions  number of features of files that have no names (LIBSVM, NPY); then there are no columns
 * whole  the columns are all that there are */
#ifndef FPLT_WIRE_DICTIONARY_H
#define FPLT_WIRE_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

enum {
    FPLT__DICTIONARY_MAX_TEXT = 4 << 20, /* bytes */
    FPLT__DICTIONARY_MAX_WORD = 255,     /* bytes of a name, a level or a class */
    FPLT__DICTIONARY_MIN_ROWS = 5 /* a word of a file leaves its site if so many rows have it */
};

typedef enum fplt__dictionary_kind {
    FPLT__DICTIONARY_ANY,
    FPLT__DICTIONARY_NUMBER,
    FPLT__DICTIONARY_CATEGORY,
    FPLT__DICTIONARY_KINDS
} fplt__dictionary_kind;

typedef struct fplt__dictionary_column {
    char *name; /* owned; NULL: not known, of a label only */
    fplt__dictionary_kind kind;
    size_t levels;
    char **level;   /* owned, each too */
    uint64_t *rows; /* owned: how many rows have each level; NULL: they are words of a document */
} fplt__dictionary_column;

typedef struct fplt__dictionary {
    int is_whole, drops_first;
    uint64_t positions;
    fplt__dictionary_column label;
    size_t columns;
    fplt__dictionary_column *column; /* owned */
} fplt__dictionary;

/* The text, to be released with fplt__free. Of levels with rows only those that FPLT__DICTIONARY_MIN_ROWS rows have
 * are in it. FPLT_BAD_DATA: it is longer than FPLT__DICTIONARY_MAX_TEXT, or a word is too long. */
fplt_status fplt__dictionary_text(const fplt__dictionary *dictionary, char **text,
                                  fplt_error *error);
/* To be cleared; on failure nothing is left. Names may stand there twice: who uses them looks. */
fplt_status fplt__dictionary_read(const void *text, size_t size, fplt__dictionary *dictionary,
                                  fplt_error *error);
void fplt__dictionary_clear(fplt__dictionary *dictionary);

/* Adds to a dictionary that began as zeros; what is given is copied. */
fplt_status fplt__dictionary_add_column(fplt__dictionary *dictionary, const char *name,
                                        size_t length, fplt__dictionary_kind kind,
                                        fplt_error *error);
fplt_status fplt__dictionary_add_level(fplt__dictionary_column *column, const char *level,
                                       size_t length, fplt_error *error);
/* By name, or NULL. */
fplt__dictionary_column *fplt__dictionary_find(const fplt__dictionary *dictionary,
                                               const char *name);

/* Facts are numbers: six bytes of a text make one. */
size_t fplt__dictionary_numbers(size_t length);
void fplt__dictionary_pack(const char *text, size_t length, double *numbers);
/* Into `length` bytes and a NUL. FPLT_BAD_DATA: these numbers are no text. */
fplt_status fplt__dictionary_unpack(const double *numbers, size_t length, char *text,
                                    fplt_error *error);

#endif
