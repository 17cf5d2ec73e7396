/* A schema says what the columns of a data file mean, so that nothing of it has to be read from the
 * records. A YAML file:
 *
 *     drafted: yes                                 made from the records, not yet confirmed by a person: delete it then
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
 * missing: replaces an empty field, ? or NA, and a value that is not finite where a number is expected:
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
 *     label: {classes: [-1, 1], missing: -1, other: neutral-row}
 *
 * Threads and blocking: fplt_schema_read blocks on its file; a schema does not change, and any number of threads may use it. */
#ifndef FEDPLT_SCHEMA_H
#define FEDPLT_SCHEMA_H

#include "fedplt/data.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_schema fplt_schema;

/* Reads a schema. FPLT_IO where the file cannot be read, FPLT_BAD_DATA where it is no schema; messages name file, line and
 * column. */
FPLT_API fplt_status fplt_schema_read(const char *path, fplt_schema **schema, fplt_error *error);
/* Gives back one reference: a schema is released with its last one. NULL is legal. */
FPLT_API void fplt_schema_destroy(fplt_schema *schema);

#ifdef __cplusplus
}
#endif
#endif
