/* Sorted numbers. */
#ifndef FPLT_BASE_SORTING_H
#define FPLT_BASE_SORTING_H

#include <stddef.h>

/* Of two doubles, for qsort and bsearch. */
int fplt__ascending(const void *a, const void *b);
void fplt__sort(double *numbers, size_t count);
/* Value between 0 (lowest) and 1 (highest) of sorted numbers, interpolated; NaN of none. */
double fplt__quantile(const double *sorted, size_t count, double share);

#endif
