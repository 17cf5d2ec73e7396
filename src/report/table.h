#ifndef FPLT_REPORT_TABLE_H
#define FPLT_REPORT_TABLE_H

#include <jansson.h>

#include "fedplt/report.h"

/* A new reference, or NULL when there is no memory. */
json_t *fplt__table_json(const fplt_table *table);

#endif
