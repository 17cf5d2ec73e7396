/* Times that settings name. */
#include "study/times.h"

#include "base/memory.h"
#include "base/text.h"
#include "report/axis.h"

enum { MAX_ITEM = 64, MAX_TICKS = 6 };

fplt_status fplt__times_parse(const char *name, const char *list, double **times, size_t *count,
                              fplt_error *error)
{
    size_t capacity = 0;
    char item[MAX_ITEM];
    *count = 0;
    while (list && *list) {
        double value;
        fplt_status status =
            fplt__grow(times, &capacity, *count + 1, sizeof **times, "times", error);
        if (status)
            return status;
        list = fplt__list_next(list, item, sizeof item);
        if (fplt__parse_real(item, &value) || !(value > (*count ? (*times)[*count - 1] : 0)))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: '%s' is not a number above %s; write increasing numbers, "
                                  "such as 90,180,365",
                                  name, item, *count ? "the one before it" : "0");
        (*times)[(*count)++] = value;
    }
    return FPLT_OK;
}

fplt_status fplt__times_grid(const char *list, double **boundary, fplt__time_grid *grid,
                             fplt_error *error)
{
    size_t count;
    fplt_status status = fplt__times_parse("grid", list, boundary, &count, error);
    *grid = (fplt__time_grid){.boundary = NULL};
    if (!status && count == 1)
        grid->width = (*boundary)[0];
    if (!status && count > 1)
        *grid = (fplt__time_grid){.boundary = *boundary, .count = count};
    return status;
}

fplt_status fplt__times_choose(const char *list, double last, double **times, size_t *count,
                               fplt_error *error)
{
    fplt_status status = fplt__times_parse("times", list, times, count, error);
    if (status || *count || !(last > 0))
        return status;
    double step = fplt__axis_step(last / MAX_TICKS);
    status = fplt__alloc_into(times, 2 * MAX_TICKS, sizeof **times, "times", error);
    for (size_t i = 1; !status && i < 2 * MAX_TICKS && (double)i * step <= last; i++)
        (*times)[(*count)++] = (double)i * step;
    return status;
}
