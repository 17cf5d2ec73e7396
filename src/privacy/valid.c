/* Ranges of the numbers in the API; NaN fails every comparison and so every check. */
#include "privacy/valid.h"

#include <math.h>

static fplt_status judged(int legal, const char *name, double value, const char *range,
                          fplt_error *error)
{
    if (legal)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE, "%s is %g, but it must be %s", name, value, range);
}

fplt_status fplt__valid_positive(const char *name, double value, fplt_error *error)
{
    return judged(value > 0 && isfinite(value), name, value, "a number above 0", error);
}

fplt_status fplt__valid_epsilon(double epsilon, fplt_error *error)
{
    return judged(epsilon >= 0 && isfinite(epsilon), "epsilon", epsilon, "a number of at least 0",
                  error);
}

fplt_status fplt__valid_probability(const char *name, double value, fplt_error *error)
{
    return judged(value > 0 && value <= 1, name, value, "above 0 and at most 1", error);
}

fplt_status fplt__valid_fraction(const char *name, double value, fplt_error *error)
{
    return judged(value > 0 && value < 1, name, value, "above 0 and below 1", error);
}
