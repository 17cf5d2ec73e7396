/* The progress line: how far, how fast, how long still. The bar runs on a logarithmic scale from the
 * first criterion to the tolerance, because convergence is linear there; or over the rounds, where
 * that is further. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fedplt/report.h"
#include "report/report.h"

enum { BAR_MIN = 10, BAR_MAX = 40, TEXT_ROOM = 62 };

static double fraction_of(const fplt__meter *meter, const fplt_progress *progress)
{
    double target = meter->tolerance * (meter->relative ? meter->first_criterion : 1);
    double by_rounds = 0, by_criterion = 0;
    if (meter->rounds > meter->first_round)
        by_rounds = (double)(progress->round - meter->first_round) /
                    (double)(meter->rounds - meter->first_round);
    if (target > 0 && meter->first_criterion > target && progress->measure.criterion > 0)
        by_criterion = log(meter->first_criterion / progress->measure.criterion) /
                       log(meter->first_criterion / target);
    return fmin(1, fmax(0, fmax(by_rounds, by_criterion)));
}

static void write_span(double seconds, char *text, size_t size)
{
    if (!(seconds < 360000))
        snprintf(text, size, "   -");
    else if (seconds < 100)
        snprintf(text, size, "%.0f s left", seconds);
    else if (seconds < 6000)
        snprintf(text, size, "%.0f min left", seconds / 60);
    else
        snprintf(text, size, "%.1f h left", seconds / 3600);
}

static void write_bar(double fraction, unsigned cells, char *bar)
{
    unsigned full = (unsigned)(fraction * cells + 0.5);
    memset(bar, '#', full);
    memset(bar + full, '.', cells - full);
    bar[cells] = 0;
}

size_t fplt__meter_line(fplt__meter *meter, const fplt_progress *progress, double now, char *line,
                        size_t size)
{
    if (!meter->started) {
        meter->begun = meter->drawn = now;
        meter->first_criterion = progress->measure.criterion;
        meter->first_round = progress->round;
        meter->started = 1;
    }
    if (now - meter->begun < 0.2 || (meter->drawn > meter->begun && now - meter->drawn < 0.1))
        return 0;
    meter->drawn = now;
    double fraction = fraction_of(meter, progress), spent = now - meter->begun;
    double rate = (double)(progress->round - meter->first_round) / spent;
    char bar[BAR_MAX + 1], left[32];
    unsigned width = meter->width ? meter->width : 80;
    unsigned cells = width > TEXT_ROOM + BAR_MIN ? width - TEXT_ROOM : BAR_MIN;
    write_bar(fraction, cells > BAR_MAX ? BAR_MAX : cells, bar);
    write_span(fraction > 0 ? spent * (1 - fraction) / fraction : HUGE_VAL, left, sizeof left);
    char criterion[32] = ""; /* a private run has none */
    if (!isnan(progress->measure.criterion))
        snprintf(criterion, sizeof criterion, "criterion %.1e  ", progress->measure.criterion);
    int length =
        snprintf(line, size, "round %llu  %s[%s] %3.0f %%  %.3g/s  %s",
                 (unsigned long long)progress->round, criterion, bar, 100 * fraction, rate, left);
    if (length < 0)
        return 0;
    size_t used = (size_t)length < size ? (size_t)length : size - 1;
    if (used >= width)
        line[used = width - 1] = 0;
    return used;
}
