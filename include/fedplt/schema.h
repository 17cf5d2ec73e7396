/* A schema says what the columns of a data file mean, so that nothing of it has to be read from the
 * records. A YAML file:
 *
 *     header: yes                                  no: the columns are those below, in their order
 *     columns:
 *       age:      {type: number, bounds: 20..90, missing: 55}
 *       pain:     {type: category, levels: [none, some, much], missing: none, other: neutral-row}
 *       sick:     {type: label, classes: {no: 0, yes: [1, 2, 3]}, missing: no, other: neutral-row}
 *       hospital: {type: site, names: [north, south]}
 *       patient:  ignore
 *
 *     number    bounds LOW..HIGH; values beyond them are clipped to them. centre and scale: for
 *               `standardise: schema`; by default the middle and half the width of the bounds
 *     category  levels: a list, or a mapping from a level to the value or values that mean it; one
 *               feature a level, `name=level`, but none for the level that `base` names
 *     label     classes (a list or mapping as levels; of two the first is -1), or bounds
 *     site      names: which agent has the row; without names, those of the file
 *     weight, offset  bounds, those of weight above 0
 *     time, event     instead of a label: bounds above 0; classes, of which the second happened
 *     person          most: the most rows that one person has; those beyond are `other`, the first count
 *     ignore, id      not looked at
 *
 * missing: what an empty field, ? or NA becomes, and what is no finite number where one is wanted:
 * a constant, `centre`, `neutral-row`, or `refused` (the default). other: the same for a value that is no
 * declared level or class. The neutral row is one and the same whatever stood there: numbers at
 * their centre, no level of any category, the first class or the middle of the label's bounds; so for
 * weight, offset, time and event.
 *
 * LIBSVM files have entries instead of columns; `other` is then an index above `features`:
 *
 *     format: libsvm
 *     features: 123
 *     entries: {bounds: 0..1, missing: 0, other: neutral-row}
 *     label: {classes: [-1, 1], missing: -1, other: neutral-row} */
#ifndef FEDPLT_SCHEMA_H
#define FEDPLT_SCHEMA_H

#include "fedplt/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Messages name file, line and column. */
FPLT_API fplt_status fplt_schema_read(const char *path, fplt_schema **schema, fplt_error *error);
/* From memory; `path` begins messages. The canonical text is legal here too. */
FPLT_API fplt_status fplt_schema_parse(const char *text, size_t length, const char *path,
                                       fplt_schema **schema, fplt_error *error);
/* A schema is counted: data sets keep the one they were read by. */
FPLT_API fplt_schema *fplt_schema_keep(const fplt_schema *schema);
/* Gives back one reference: a schema is released with its last one. NULL is legal. Thread-safe. */
FPLT_API void fplt_schema_destroy(fplt_schema *schema);

/* The canonical text: JSON without blanks, every default written out, columns in their order, numbers
 * as the shortest texts that read back the same. What means the same has the same text. Borrowed. */
FPLT_API const char *fplt_schema_text(const fplt_schema *schema);
/* BLAKE2b-256 of the canonical text, 64 hexadecimal digits. Borrowed. */
FPLT_API const char *fplt_schema_digest(const fplt_schema *schema);

/* Number of features that a row has after reading, each level of a category counted. */
FPLT_API size_t fplt_schema_features(const fplt_schema *schema);
/* Name (NULL with LIBSVM), bounds, centre and scale of a feature; each out-parameter may be NULL. */
FPLT_API const char *fplt_schema_feature(const fplt_schema *schema, size_t feature, double *low,
                                         double *high, double *centre, double *scale);
/* The largest norm that a row can have, from the bounds alone; of a category at most one level
 * counts. `standardised`: after `standardise: schema`. */
FPLT_API double fplt_schema_radius(const fplt_schema *schema, int standardised);

/* Columns that are features: numbers, and categories once each; with LIBSVM the features. */
FPLT_API size_t fplt_schema_inputs(const fplt_schema *schema);
/* Classes of the label; 0: it is a number or a time. */
FPLT_API uint32_t fplt_schema_classes(const fplt_schema *schema);

/* The most rows of one person; 0: persons are not declared. */
FPLT_API uint64_t fplt_schema_most(const fplt_schema *schema);

/* FPLT_OK when no record is refused, whatever is in it: needed for a promise of privacy. Otherwise
 * the sentence names the column and what to declare. */
FPLT_API fplt_status fplt_schema_accepts_all(const fplt_schema *schema, fplt_error *error);

/* Drafts a schema from files that may be looked at: numbers with bounds rounded outwards, words as
 * categories, the column `label` of `read` (or the last of two values, or `label`) as the label. The
 * text is YAML with remarks, released with fplt_free. Bounds come from the records: before a promise
 * of privacy, replace them by what is publicly known. */
FPLT_API fplt_status fplt_schema_draft(const char *const *paths, size_t count,
                                       const fplt_read_settings *read, char **text,
                                       fplt_error *error);

/* The schema of data that are numbers only, without a file for it: every column of the first file but
 * label and site is a number within `bounds` (LOW..HIGH), missing ones are in the middle (LIBSVM: 0),
 * and read->labels says which labels there are; another label makes the neutral row. LIBSVM files need
 * read->features. */
FPLT_API fplt_status fplt_schema_flat(const char *path, const fplt_read_settings *read,
                                      const char *bounds, fplt_schema **schema, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
