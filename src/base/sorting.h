/* Sorted numbers. */
#ifndef FPLT_BASE_SORTING_H
#define FPLT_BASE_SORTING_H

#include <stddef.h>
#include <stdint.h>

/* Of two doubles, for qsort and bsearch. */
int fplt__ascending(const void *a, const void *b);
void fplt__sort(double *numbers, size_t count);
/* The same in linear time; `room` has as many numbers. Those that are not a number come last. */
void fplt__sort_with(double *numbers, double *room, size_t count);
/* Grows with the number; equal numbers have equal keys, -0 that of 0. What is not a number has the largest. */
uint64_t fplt__sort_key(double number);
/* Value between 0 (lowest) and 1 (highest) of sorted numbers, interpolated; NaN of none. */
double fplt__quantile(const double *sorted, size_t count, double share);

#endif
