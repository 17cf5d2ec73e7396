/* The settings of data sets as tables, for files and flags. */
#ifndef FPLT_DATA_TABLES_H
#define FPLT_DATA_TABLES_H

#include "fedplt/data.h"
#include "fedplt/settings_table.h"

/* The settings as tables, for files and flags: reading (fplt__read_table), generating
 * (fplt__generate_table), dividing (fplt__partition_table), transforming (fplt__transform_table).
 * Constant; each ends with FPLT_SETTINGS_END. */
extern const fplt_setting fplt__read_table[];
extern const fplt_setting fplt__generate_table[];
extern const fplt_setting fplt__partition_table[];
extern const fplt_setting fplt__transform_table[];

#endif
