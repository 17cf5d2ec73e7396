/* Values read by a schema, and the counts of those that it changed. */
#ifndef FPLT_DATA_DECLARATION_H
#define FPLT_DATA_DECLARATION_H

#include "data/schema.h"
#include "data/source.h"

/* Of a column of a schema: values, and those that were changed. */
typedef struct fplt__clipped {
    size_t values, below, above; /* numbers; those outside of the bounds */
    size_t replaced;             /* missing or undeclared */
    double low, high;            /* of the numbers as they were */
} fplt__clipped;

/* Reading by a schema. */
typedef struct fplt__declaration {
    const fplt_schema *schema;    /* of the settings, or NULL */
    const fplt__portion *portion; /* agents whose rows are kept; NULL: all */
    fplt__clipped *clipped;       /* owned: one for each column of the schema, or NULL */
    int neutral;                  /* the row that is being read becomes the schema's neutral row */
    size_t neutral_rows;          /* that became it */
} fplt__declaration;

/* Values (declared.c). A value that the schema does not allow becomes what the column declares; if the column declares
 * nothing, the error names the line. Text that is no finite number counts as missing. */
fplt_status fplt__declared_read_number(fplt__declaration *declared, const fplt__source *source,
                                       size_t line, const fplt__declared *column, fplt__span text,
                                       int missing, double *value, fplt_error *error);
/* A number of a format that is not text; one that is not finite is missing. */
fplt_status fplt__declared_take_number(fplt__declaration *declared, const fplt__source *source,
                                       size_t line, const fplt__declared *column, double number,
                                       double *value, fplt_error *error);
fplt_status fplt__declared_read_level(fplt__declaration *declared, const fplt__source *source,
                                      size_t line, const fplt__declared *column, fplt__span text,
                                      int missing, uint32_t *level, fplt_error *error);
fplt_status fplt__declared_read_label(fplt__declaration *declared, const fplt__source *source,
                                      size_t line, const fplt__declared *column, fplt__span text,
                                      int missing, double *label, fplt_error *error);
fplt_status fplt__declared_bad_value(const fplt__source *source, size_t line,
                                     const fplt__declared *column, fplt__span text,
                                     const char *what, fplt_error *error);

/* The label of a LIBSVM row, and that of a neutral row. */
fplt_status fplt__declared_label(fplt__declaration *declared, const fplt__source *source,
                                 size_t line, fplt__span text, double *label, fplt_error *error);
double fplt__declared_neutral_label(const fplt_schema *schema);

/* Values that a schema changes (clipped.c); the site's own log says how many. */
fplt_status fplt__clipped_init(fplt__declaration *declared, fplt_error *error);
void fplt__clipped_see(const fplt__declaration *declared, const fplt__declared *column,
                       double value);
void fplt__clipped_replace(const fplt__declaration *declared, const fplt__declared *column);
/* Adds the counts of further rows. */
void fplt__clipped_merge(fplt__declaration *declared, const fplt__clipped *more,
                         size_t neutral_rows);
void fplt__clipped_log(const fplt__declaration *declared, const char *path);

#endif
