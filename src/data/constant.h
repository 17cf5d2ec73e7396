/* A constant column is told by its ends: rounding of the mean would give it a deviation. Its mean is its value and its
 * deviation 0; standardising divides it by 1. */
#ifndef FPLT_DATA_CONSTANT_H
#define FPLT_DATA_CONSTANT_H

/* Whether a column with this minimum and maximum is constant; not with a NaN. */
static inline int fplt__is_constant(double minimum, double maximum)
{
    return minimum == maximum;
}

#endif
