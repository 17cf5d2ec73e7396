#ifndef FPLT_REPORT_TABLE_H
#define FPLT_REPORT_TABLE_H

#include <jansson.h>

#include "base/buffer.h"
#include "fedplt/report.h"

/* A text as a field of a CSV file, in quotes where it needs them. */
void fplt__csv_field(fplt__buffer *buffer, const char *text);

/* A new reference, or NULL when there is no memory. */
json_t *fplt__table_json(const fplt_table *table);

#endif
