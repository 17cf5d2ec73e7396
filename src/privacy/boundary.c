/* Bisection over the bit patterns of positive doubles, which are ordered as the numbers are: it
 * ends at two neighbours whatever the scale. */
#include "privacy/boundary.h"

#include <stdint.h>
#include <string.h>

static uint64_t pattern_of(double x)
{
    uint64_t pattern;
    memcpy(&pattern, &x, sizeof pattern);
    return pattern;
}

static double number_of(uint64_t pattern)
{
    double x;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

void fplt__boundary(fplt__condition holds, const void *context, double low, double high,
                    double *last, double *first_beyond)
{
    uint64_t inside = pattern_of(low), outside = pattern_of(high);
    while (outside - inside > 1) {
        uint64_t middle = inside + (outside - inside) / 2;
        if (holds(number_of(middle), context))
            inside = middle;
        else
            outside = middle;
    }
    *last = number_of(inside);
    *first_beyond = number_of(outside);
}
