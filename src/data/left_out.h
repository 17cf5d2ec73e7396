/* Rows that are left out because a value is missing. */
#ifndef FPLT_DATA_LEFT_OUT_H
#define FPLT_DATA_LEFT_OUT_H

#include "data/text.h"

/* Rows that were left out, and how many of which site. */
typedef struct fplt__left_out {
    size_t *row; /* numbers from 0 over all rows of all files */
    size_t count, row_capacity;
    fplt__lookup sites;
    size_t *of_site, site_capacity;
} fplt__left_out;

/* Leaves out the row that follows `rows` rows that were taken; `site` may be empty if it is not known. */
fplt_status fplt__left_out_add(fplt__left_out *left_out, size_t rows, fplt__span site,
                               fplt_error *error);
void fplt__left_out_clear(fplt__left_out *left_out);
/* Logs how many rows of which site were left out. */
void fplt__left_out_log(const fplt__left_out *left_out, const char *path);

#endif
