/* Reading by a schema. */
#ifndef FPLT_DATA_DECLARED_H
#define FPLT_DATA_DECLARED_H

#include "data/builder.h"

/* Values (declared.c). A value that the schema does not allow becomes what the column declares; if the column declares
 * nothing, the error names the line. Text that is no finite number counts as missing. */
fplt_status fplt__declared_read_number(fplt__builder *builder, const fplt__source *source,
                                       size_t line, const fplt__declared *column, fplt__span text,
                                       int missing, double *value, fplt_error *error);
fplt_status fplt__declared_read_level(fplt__builder *builder, const fplt__source *source,
                                      size_t line, const fplt__declared *column, fplt__span text,
                                      int missing, uint32_t *level, fplt_error *error);
fplt_status fplt__declared_read_label(fplt__builder *builder, const fplt__source *source,
                                      size_t line, const fplt__declared *column, fplt__span text,
                                      int missing, double *label, fplt_error *error);
fplt_status fplt__declared_bad_value(const fplt__source *source, size_t line,
                                     const fplt__declared *column, fplt__span text,
                                     const char *what, fplt_error *error);

fplt_status fplt__declared_init(fplt__builder *builder, fplt_error *error);
fplt_status fplt__declared_csv(const fplt__source *source, fplt__builder *builder,
                               fplt_error *error);
fplt_status fplt__declared_label(fplt__builder *builder, const fplt__source *source, size_t line,
                                 fplt__span text, double *label, fplt_error *error);
/* An entry of a LIBSVM row: index from 1, and what fplt__number_parse made of its text. */
fplt_status fplt__declared_entry(fplt__builder *builder, const fplt__source *source, size_t line,
                                 uint64_t index, fplt__span text, fplt_error *error);
double fplt__declared_neutral_label(const fplt_schema *schema);
fplt_status fplt__declared_finish(const fplt__builder *builder, fplt_dataset *dataset,
                                  fplt_error *error);

#endif
