/* Reading by a schema. */
#ifndef FPLT_DATA_DECLARED_H
#define FPLT_DATA_DECLARED_H

#include "data/builder.h"

fplt_status fplt__declared_init(fplt__builder *builder, fplt_error *error);
/* A CSV file, or an array of NumPy (`numbers`), whose columns are those of the schema in their order. */
fplt_status fplt__declared_table(const fplt__source *source, fplt__builder *builder, int numbers,
                                 fplt_error *error);
/* An entry of a LIBSVM row: index from 1, and what fplt__number_parse made of its text. */
fplt_status fplt__declared_entry(fplt__builder *builder, const fplt__source *source, size_t line,
                                 uint64_t index, fplt__span text, fplt_error *error);
fplt_status fplt__declared_finish(const fplt__builder *builder, fplt_dataset *dataset,
                                  fplt_error *error);

#endif
