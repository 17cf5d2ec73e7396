/* The inside of a schema, for those who read by it. */
#ifndef FPLT_DATA_SCHEMA_H
#define FPLT_DATA_SCHEMA_H

#include <stdatomic.h>

#include "data/text.h"
#include "fedplt/schema.h"

typedef enum fplt__type {
    FPLT__NUMBERS,
    FPLT__CATEGORY,
    FPLT__LABEL,
    FPLT__SITE,
    FPLT__WEIGHT,
    FPLT__OFFSET,
    FPLT__TIME,
    FPLT__EVENT,
    FPLT__PERSON,
    FPLT__IGNORED
} fplt__type;

/* What a value becomes that is missing, or none of those declared. */
typedef enum fplt__becomes { FPLT__REFUSED, FPLT__NEUTRAL_ROW, FPLT__CONSTANT } fplt__becomes;

/* Levels of a category, classes of a label, names of sites, and the texts that mean them. */
typedef struct fplt__levels {
    fplt__lookup names, values;
    uint32_t *meaning; /* owned: value -> name */
    double *number;    /* owned: the value as a number, or NaN */
    size_t meaning_capacity, number_capacity;
} fplt__levels;

typedef struct fplt__declared {
    fplt__type type;
    char *name; /* owned */
    size_t line;
    int bounded; /* low and high are set */
    double low, high, centre, scale;
    fplt__levels levels;
    uint32_t base;                /* level without a feature, or FPLT__NOWHERE */
    fplt__becomes missing, other; /* CONSTANT: one of the next */
    double missing_value;         /* a number, or the number of a level */
    uint32_t other_level;
    uint64_t most;   /* person: rows of one */
    size_t first;    /* number of its first feature */
    size_t features; /* how many it has */
} fplt__declared;

struct fplt_schema {
    atomic_uint kept;
    int libsvm, header;
    int drafted;            /* from the records, and confirmed by nobody */
    int lenient;            /* see fplt__schema_be_lenient */
    fplt__declared *column; /* owned; LIBSVM: the entries and the label */
    size_t columns, capacity;
    size_t features;
    fplt__lookup feature_names; /* CSV */
    char *text;                 /* owned */
    char digest[65];
};

#define FPLT__ANSWER_REFUSED "refused"
#define FPLT__ANSWER_NEUTRAL "neutral-row"
#define FPLT__ANSWER_CENTRE  "centre" /* of a number: the same as its value */

/* The level that a text means, compared as text, then as numbers; FPLT__NOWHERE: none. */
uint32_t fplt__levels_find(const fplt__levels *levels, fplt__span text);
fplt_status fplt__levels_add(fplt__levels *levels, fplt__span name, fplt__span value,
                             fplt_error *error);
void fplt__levels_clear(fplt__levels *levels);

/* The column of a type, or NULL; where several are legal, the first. */
const fplt__declared *fplt__schema_column(const fplt_schema *schema, fplt__type type);
/* What data that are read by it look like: the task, and classes or 1. */
fplt_task fplt__schema_task(const fplt_schema *schema, uint32_t *outputs);
/* Whether it says `drafted: yes`; NULL is legal. */
int fplt__schema_is_drafted(const fplt_schema *schema);
/* With privacy no record is refused for what stands in it: files that are read by a schema that says so have a row for every
 * line (CSV: behind the header), and a line that cannot be read is the neutral row. Of a new schema only; NULL is legal. */
void fplt__schema_be_lenient(fplt_schema *schema);
int fplt__schema_is_lenient(const fplt_schema *schema);
/* The name of a class, borrowed. */
const char *fplt__schema_class(const fplt_schema *schema, uint32_t number);
/* The types by name; NULL past the last. */
const char *fplt__type_name(size_t type, const char **help);

/* Centre and scale of a feature; where the schema declares no scale, it goes from -stretch to stretch between its bounds (0
 * is 1). */
void fplt__schema_scaling(const fplt_schema *schema, size_t feature, double stretch, double *centre,
                          double *scale);
/* Scaling of the schema's features, or of the columns that a declared design (data/formula.h) makes of them, where it is not
 * NULL, by the declared centres and scales, `stretch` as fplt_transform_settings has it; no mean where all centres are 0. The
 * design stays the caller's. */
fplt_status fplt__transform_declared(const fplt_schema *schema, const fplt_design *design,
                                     double radius, double stretch, fplt_transform *transform,
                                     fplt_error *error);

/* A schema from its parts on the way to being one: derives features, text and digest. */
fplt_status fplt__schema_complete(fplt_schema *schema, fplt_error *error);

#endif
