/* Times that settings name: a grid, and those at which a table has curves. Arrays are newly allocated (fplt__free), also after a
 * failure; *times must be NULL before. */
#ifndef FPLT_STUDY_TIMES_H
#define FPLT_STUDY_TIMES_H

#include "study/life_table.h"

/* An increasing list of numbers above 0; `name` is that of the setting. FPLT_BAD_VALUE, with a sentence, for another one. NULL
 * is an empty list. */
fplt_status fplt__times_parse(const char *name, const char *list, double **times, size_t *count,
                              fplt_error *error);
/* One number is the width of cells, several are boundaries, which the grid borrows; NULL: every time. */
fplt_status fplt__times_grid(const char *list, double **boundary, fplt__time_grid *grid,
                             fplt_error *error);
/* The list, or where it is NULL about six times up to `last`, 1, 2 or 5 times a power of ten apart. */
fplt_status fplt__times_choose(const char *list, double last, double **times, size_t *count,
                               fplt_error *error);

#endif
