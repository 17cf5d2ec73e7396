/* Models in other programs' forms. */
#ifndef FPLT_REPORT_EXPORT_H
#define FPLT_REPORT_EXPORT_H

#include "report/model.h"

/* The bytes of an ONNX file; released with fplt__free. */
fplt_status fplt__model_onnx(const fplt_model *model, void **bytes, size_t *size,
                             fplt_error *error);
/* A JSON array of the names of the columns, "1", "2", ... where they have none; released with
 * fplt__free. */
fplt_status fplt__model_feature_list(const fplt_model *model, char **text, fplt_error *error);

/* The name of a column, written to `room` where it has none. */
const char *fplt__model_feature_name(const fplt_model *model, size_t feature, char *room,
                                     size_t size);

#endif
