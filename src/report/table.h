#ifndef FPLT_REPORT_TABLE_H
#define FPLT_REPORT_TABLE_H

#include <jansson.h>

#include "base/buffer.h"
#include "fedplt/report.h"

/* A text as a field of a CSV file, in quotes where it needs them. */
void fplt__csv_field(fplt__buffer *buffer, const char *text);

/* A new reference, or NULL when there is no memory. */
json_t *fplt__table_json(const fplt_table *table);

/* A document as indented text, numbers with 17 digits; takes the reference. `out` is released with fplt_free. `document` NULL:
 * there was no memory for it. */
fplt_status fplt__json_write(json_t *document, char **out, fplt_error *error);

#endif
