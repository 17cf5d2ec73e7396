/* Sorted numbers. */
#include "base/sorting.h"

#include <math.h>
#include <stdlib.h>

int fplt__ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void fplt__sort(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, fplt__ascending);
}

double fplt__quantile(const double *sorted, size_t count, double share)
{
    if (!count)
        return NAN;
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    if (part == 0 || below + 1 == count)
        return sorted[below];
    if (isinf(sorted[below + 1]))
        return sorted[below + 1];
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}
