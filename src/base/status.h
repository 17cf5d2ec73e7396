/* Tables of functions that a user fills begin with their size. */
#ifndef FPLT_BASE_STATUS_H
#define FPLT_BASE_STATUS_H

#include "fedplt/status.h"

/* Refuses a table whose size is not that of `type` here: left out, or made with other headers. */
#define FPLT__CHECK_TABLE(type, table, error) \
    fplt__table_check(#type, (table)->size, sizeof(type), error)

fplt_status fplt__table_check(const char *type, size_t size, size_t known, fplt_error *error);

#endif
