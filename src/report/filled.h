#ifndef FPLT_REPORT_FILLED_H
#define FPLT_REPORT_FILLED_H

#include <jansson.h>

#include "fedplt/data.h"

/* fplt__filled_table as JSON, a new reference; NULL where nothing was filled in, or there is no memory. */
json_t *fplt__filled_json(const fplt_dataset *dataset);

#endif
