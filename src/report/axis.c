/* Axes: limits, ticks and places; see axis.h. */
#include "report/axis.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>

enum { MAX_TICKS = 6 };

/* Below this a logarithmic axis ends: a criterion of 0 is as good as it gets. */
static const double min_logarithmic = 1e-300;

double fplt__axis_place(const fplt__axis *axis, double value)
{
    double at = axis->logarithmic ? log10(fmax(value, min_logarithmic)) : value;
    return axis->from + (at - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

void fplt__axis_settle(fplt__axis *axis, double low, double high)
{
    if (!(low <= high))
        low = high = axis->logarithmic ? 1 : 0;
    if (axis->logarithmic) {
        low = floor(log10(fmax(low, min_logarithmic)) + 1e-9);
        high = ceil(log10(fmax(high, min_logarithmic)) - 1e-9);
    }
    double size = fmax(fabs(low), fabs(high));
    if (!(high - low > 1e-9 * size)) { /* so narrow that ticks would not differ */
        double more = axis->logarithmic ? 1 : size > 0 ? 0.1 * size : 0.5;
        low -= more;
        high += more;
    }
    axis->low = low;
    axis->high = high;
}

double fplt__axis_step(double rough)
{
    double power = pow(10, floor(log10(rough)));
    double step = rough <= power ? power : rough <= 2 * power ? 2 * power : 5 * power;
    return rough <= step ? step : 10 * power;
}

static double tick_step(const fplt__axis *axis)
{
    double step = fplt__axis_step((axis->high - axis->low) / MAX_TICKS);
    return axis->logarithmic ? fmax(1, ceil(step - 1e-9)) : step;
}

void fplt__axis_ticks(fplt__buffer *out, const fplt__axis *axis, const fplt__axis *across,
                      fplt__axis_draw *draw)
{
    double step = tick_step(axis);
    for (double at = ceil(axis->low / step - 1e-9) * step; at <= axis->high + 1e-9 * step;
         at += step)
        draw(out,
             axis->from + (at - axis->low) / (axis->high - axis->low) * (axis->to - axis->from), at,
             axis, across);
}

void fplt__axis_number(const fplt__axis *axis, double at, char *text, size_t size)
{
    snprintf(text, size, "%.6g", fabs(at) < 1e-12 * (axis->high - axis->low) ? 0 : at);
}

int fplt__plot_drawable(const fplt__plot *plot, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!plot->log_x || x >= min_logarithmic) &&
           (!plot->log_y || y >= min_logarithmic);
}

static void widen(double *low, double *high, double value)
{
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

void fplt__plot_limits(const fplt__plot *plot, int of_y, fplt__axis *axis)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t s = 0; s < plot->count; s++) {
        const fplt__series *series = &plot->series[s];
        for (size_t i = 0; i < series->count; i++) {
            double x = series->x[i];
            if (!fplt__plot_drawable(plot, x, series->y[i]))
                continue;
            widen(&low, &high, of_y ? series->y[i] : x);
            if (of_y && series->low && fplt__plot_drawable(plot, x, series->low[i]))
                widen(&low, &high, series->low[i]);
            if (of_y && series->high && fplt__plot_drawable(plot, x, series->high[i]))
                widen(&low, &high, series->high[i]);
        }
    }
    if (of_y && plot->target > 0)
        widen(&low, &high, plot->target);
    fplt__axis_settle(axis, low, high);
}

void fplt__plot_points(fplt__buffer *out, const fplt__plot *plot, const fplt__series *series,
                       const double *values, const fplt__axis *x, const fplt__axis *y)
{
    double last_x = NAN, last_y = NAN;
    for (size_t i = 0; i < series->count; i++) {
        if (!fplt__plot_drawable(plot, series->x[i], values[i]))
            continue;
        double px = fplt__axis_place(x, series->x[i]), py = fplt__axis_place(y, values[i]);
        if (i + 1 < series->count && fabs(px - last_x) < 0.4 && fabs(py - last_y) < 0.4)
            continue;
        fplt__buffer_format(out, "%.1f,%.1f ", last_x = px, last_y = py);
    }
}
