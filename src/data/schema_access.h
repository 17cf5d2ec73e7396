/* Schemas as the modules above and the program use them, beside fedplt/schema.h. */
#ifndef FPLT_DATA_SCHEMA_ACCESS_H
#define FPLT_DATA_SCHEMA_ACCESS_H

#include "fedplt/read.h"
#include "fedplt/schema.h"

/* From memory; `path` begins messages. The canonical text is legal here too. */
fplt_status fplt__schema_parse(const char *text, size_t length, const char *path,
                               fplt_schema **schema, fplt_error *error);

/* A schema is counted: data sets keep the one they were read by. */
fplt_schema *fplt__schema_keep(const fplt_schema *schema);

/* The canonical text: JSON without blanks, every default written out, columns in their order, numbers
 * as the shortest texts that read back the same. What means the same has the same text. Borrowed. */
const char *fplt__schema_text(const fplt_schema *schema);

/* BLAKE2b-256 of the canonical text, 64 hexadecimal digits. Borrowed. */
const char *fplt__schema_digest(const fplt_schema *schema);

/* Number of features that a row has after reading, each level of a category counted. */
size_t fplt__schema_features(const fplt_schema *schema);

/* Name (NULL with LIBSVM), bounds, centre and scale of a feature; each out-parameter may be NULL. */
const char *fplt__schema_feature(const fplt_schema *schema, size_t feature, double *low,
                                 double *high, double *centre, double *scale);

/* The largest norm that a row can have, from the bounds alone; of a category at most one level
 * counts. `standardised`: after `standardise: schema`. */
double fplt__schema_radius(const fplt_schema *schema, int standardised);

/* Columns that are features: numbers, and categories once each; with LIBSVM the features. */
size_t fplt__schema_inputs(const fplt_schema *schema);
/* How many of those are categories. */
size_t fplt__schema_categories(const fplt_schema *schema);

/* Classes of the label; 0: it is a number or a time. */
uint32_t fplt__schema_classes(const fplt_schema *schema);

/* The most rows of one person; 0: persons are not declared. */
uint64_t fplt__schema_most(const fplt_schema *schema);

/* FPLT_OK when no record is refused, whatever is in it: needed for a promise of privacy. Otherwise
 * the sentence names the column and what to declare. */
fplt_status fplt__schema_accepts_all(const fplt_schema *schema, fplt_error *error);

/* Drafts a schema from files that may be looked at: numbers with bounds rounded outwards, words as
 * categories, the column `label` of `read` (or the last of two values, or `label`) as the label. The
 * text is YAML with remarks, released with fplt_free. Bounds come from the records: before a promise
 * of privacy, replace them by what is publicly known. */
fplt_status fplt__schema_draft(const char *const *paths, size_t count,
                               const fplt_read_settings *read, char **text, fplt_error *error);

/* The schema of data that are numbers only, without a file for it: every column of the first file but
 * label and site is a number within `bounds` (LOW..HIGH), missing ones are in the middle (LIBSVM: 0),
 * and read->labels says which labels there are; another label makes the neutral row. LIBSVM files need
 * read->features. */
fplt_status fplt__schema_flat(const char *path, const fplt_read_settings *read, const char *bounds,
                              fplt_schema **schema, fplt_error *error);

#endif
