/* The clock, and the middle one of several measurements. */
#ifndef FPLT_BENCH_TIMING_H
#define FPLT_BENCH_TIMING_H

#include <stdlib.h>
#include <time.h>

static inline double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double microseconds(void)
{
    return 1e6 * seconds();
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *times, size_t count)
{
    qsort(times, count, sizeof *times, ascending);
    return times[count / 2];
}

#endif
