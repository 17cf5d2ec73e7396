/* Models for other programs and as text in memory.
 *
 * Threads and blocking: thread-safe, as the model is only read. fplt_model_export blocks on its file.
 */
#ifndef FEDPLT_EXPORT_H
#define FEDPLT_EXPORT_H

#include <stddef.h>

#include "fedplt/model.h"
#include "fedplt/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Exports a model for another program: `form` is onnx (a graph on the columns as the file has them, categories as columns of 0 and
 * 1, named in its metadata; its coefficients are single precision) or csv (the table below). The file appears whole or not
 * at all. FPLT_BAD_VALUE for another form, FPLT_IO, FPLT_NO_MEMORY. */
FPLT_API fplt_status fplt_model_export(const fplt_model *model, const char *form, const char *path,
                                       fplt_error *error);
/* Makes a table of coefficients by name, as the model has them and in the units of the file, before columns were standardised
 * (missing where rows were shortened, which no coefficient can undo). Released with fplt_table_destroy. */
FPLT_API fplt_status fplt_model_coefficients(const fplt_model *model, fplt_table **table,
                                             fplt_error *error);

/* The text of fplt_model_write in memory, released with fplt_free; fplt_model_parse reads `length` bytes of it as
 * fplt_model_read does, and `path` begins its messages. */
FPLT_API fplt_status fplt_model_text(const fplt_model *model, char **text, fplt_error *error);
FPLT_API fplt_status fplt_model_parse(const char *text, size_t length, const char *path,
                                      fplt_model **model, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
