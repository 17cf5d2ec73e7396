/* Life tables, Kaplan-Meier curves and log-rank tests. */
#include "study/life_table.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "linalg/cholesky.h"
#include "base/normal.h"

/* S that differs from 1/2 by less is 1/2: the rounding of a product, as R's survfit takes it. */
static const double at_half = 1.4901161193847656e-8;

/* ---- times ---- */

/* Boundaries from the number on that is the first not before `time`. */
static size_t first_listed(const fplt__time_grid *grid, double time)
{
    size_t low = 0, high = grid->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (grid->boundary[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double fplt__time_grid_place(const fplt__time_grid *grid, double time, int *event)
{
    if (!grid->boundary && !(grid->width > 0))
        return time;
    double cell = grid->boundary ? (double)first_listed(grid, time) : ceil(time / grid->width);
    if (!grid->boundary && cell > 0 && (cell - 1) * grid->width >= time)
        cell--; /* the quotient was rounded up */
    if (grid->count && cell >= (double)grid->count) {
        *event = 0;
        cell = (double)grid->count - 1;
    }
    return grid->boundary ? grid->boundary[(size_t)cell] : cell * grid->width;
}

size_t fplt__time_grid_cell(const fplt__time_grid *grid, double boundary)
{
    const double most = 4503599627370496; /* 2^52: numbers of cells are exact */
    return grid->boundary ? first_listed(grid, boundary)
                          : (size_t)fmin(round(boundary / grid->width), most);
}

double fplt__time_grid_end(const fplt__time_grid *grid, size_t cell)
{
    return grid->boundary ? grid->boundary[cell] : (double)cell * grid->width;
}

/* ---- counts ---- */

fplt_status fplt__life_table_see(fplt__life_table *table, double time, int event, fplt_error *error)
{
    fplt_status status = fplt__grow(&table->step, &table->capacity, table->steps + 1,
                                    sizeof *table->step, "survival times", error);
    if (!status)
        table->step[table->steps++] =
            (fplt__life_step){time, (uint64_t)(event != 0), (uint64_t)(event == 0), time};
    return status;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const fplt__life_step *)a)->time, y = ((const fplt__life_step *)b)->time;
    return (x > y) - (x < y);
}

void fplt__life_table_settle(fplt__life_table *table)
{
    size_t used = 0;
    if (table->steps)
        qsort(table->step, table->steps, sizeof *table->step, by_time);
    for (size_t i = 0; i < table->steps; i++) {
        const fplt__life_step *step = &table->step[i];
        if (used && table->step[used - 1].time == step->time) {
            table->step[used - 1].events += step->events;
            table->step[used - 1].left += step->left;
        } else {
            table->step[used++] = *step;
        }
    }
    table->steps = used;
}

void fplt__life_table_cut(fplt__life_table *table, uint64_t minimum)
{
    uint64_t at_risk = fplt__life_table_rows(table);
    for (size_t i = 0; i < table->steps; i++) {
        if (at_risk < minimum) {
            if (i)
                table->step[i - 1].left += at_risk;
            table->steps = i;
            table->is_cut = 1;
            return;
        }
        at_risk -= table->step[i].events + table->step[i].left;
    }
}

fplt_status fplt__life_table_join(fplt__life_table *sum, const fplt__life_table *table,
                                  fplt_error *error)
{
    fplt_status status = fplt__grow(&sum->step, &sum->capacity, sum->steps + table->steps,
                                    sizeof *sum->step, "survival times", error);
    if (status)
        return status;
    for (size_t i = 0; i < table->steps; i++)
        sum->step[sum->steps++] = table->step[i];
    fplt__life_table_settle(sum);
    return FPLT_OK;
}

void fplt__life_table_clear(fplt__life_table *table)
{
    fplt__free(table->step);
    *table = (fplt__life_table){NULL, 0, 0, 0};
}

uint64_t fplt__life_table_events(const fplt__life_table *table)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < table->steps; i++)
        sum += table->step[i].events;
    return sum;
}

uint64_t fplt__life_table_rows(const fplt__life_table *table)
{
    uint64_t sum = fplt__life_table_events(table);
    for (size_t i = 0; i < table->steps; i++)
        sum += table->step[i].left;
    return sum;
}

/* ---- curves ---- */

void fplt__life_bounds(fplt_survival_interval interval, double survival, double log_error,
                       double level, double *low, double *high)
{
    double half = fplt__normal_quantile((1 + level) / 2) * log_error, log_s = log(survival);
    *low = *high = NAN;
    if (!(survival > 0))
        return;
    if (interval == FPLT_SURVIVAL_LOG) {
        *low = exp(log_s - half);
        *high = fmin(1, exp(log_s + half));
    } else if (interval == FPLT_SURVIVAL_PLAIN) {
        *low = fmax(0, survival - survival * half);
        *high = fmin(1, survival + survival * half);
    } else if (survival < 1) {
        *low = exp(-exp(log(-log_s) - half / log_s));
        *high = exp(-exp(log(-log_s) + half / log_s));
    }
}

void fplt__life_curve(const fplt__life_table *table, fplt_survival_interval interval, double level,
                      fplt__life_point *point)
{
    uint64_t at_risk = fplt__life_table_rows(table);
    double survival = 1, sum = 0; /* sum: Greenwood's, the variance of log S */
    for (size_t i = 0; i < table->steps; i++) {
        const fplt__life_step *step = &table->step[i];
        double n = (double)at_risk, d = (double)step->events;
        FPLT__ASSERT(step->events + step->left <= at_risk);
        FPLT__ASSERT(!i || table->step[i - 1].time < step->time);
        survival *= 1 - d / n;
        sum += d / (n * (n - d));
        point[i] = (fplt__life_point){.time = step->time,
                                      .at_risk = at_risk,
                                      .events = step->events,
                                      .left = step->left,
                                      .survival = survival,
                                      .error = survival > 0 ? survival * sqrt(sum) : NAN};
        fplt__life_bounds(interval, survival, sqrt(sum), level, &point[i].low, &point[i].high);
        at_risk -= step->events + step->left;
    }
}

/* First time at which a curve is at most 1/2; which: 0 the estimate, 1 and 2 the ends of its interval. */
static double first_at_half(const fplt__life_point *point, size_t points, int which)
{
    for (size_t i = 0; i < points; i++) {
        double value = which == 0 ? point[i].survival : which == 1 ? point[i].low : point[i].high;
        if (!(value < 0.5 + at_half))
            continue;
        for (size_t k = i + 1; fabs(value - 0.5) < at_half && k < points; k++) {
            double later = which == 0   ? point[k].survival
                           : which == 1 ? point[k].low
                                        : point[k].high;
            if (later < value)
                return (point[i].time + point[k].time) / 2;
        }
        return point[i].time;
    }
    return NAN;
}

fplt__life_median fplt__life_median_of(const fplt__life_point *point, size_t points)
{
    return (fplt__life_median){first_at_half(point, points, 0), first_at_half(point, points, 1),
                               first_at_half(point, points, 2)};
}

/* ---- log-rank test ---- */

/* One group of a stratum while time passes. */
struct runner {
    const fplt__life_table *table;
    size_t next;
    double at_risk, events; /* events: at the time at hand */
};

struct sums {
    size_t groups;
    double *observed, *expected, *variance; /* groups x groups */
};

/* The next time of a stratum; infinite: none. */
static double next_time(const struct runner *runner, size_t groups)
{
    double time = INFINITY;
    for (size_t g = 0; g < groups; g++)
        if (runner[g].next < runner[g].table->steps)
            time = fmin(time, runner[g].table->step[runner[g].next].time);
    return time;
}

static void pass_time(struct runner *runner, double time, const struct sums *sums)
{
    size_t groups = sums->groups;
    double n = 0, d = 0;
    for (size_t g = 0; g < groups; g++) {
        const fplt__life_table *table = runner[g].table;
        int here = runner[g].next < table->steps && table->step[runner[g].next].time == time;
        runner[g].events = here ? (double)table->step[runner[g].next].events : 0;
        n += runner[g].at_risk;
        d += runner[g].events;
    }
    for (size_t g = 0; g < groups; g++) {
        double share = runner[g].at_risk / n, factor = n > 1 ? d * (n - d) / (n - 1) : 0;
        sums->observed[g] += runner[g].events;
        sums->expected[g] += d * share;
        for (size_t h = 0; h < groups; h++)
            sums->variance[g * groups + h] += factor * share * ((g == h) - runner[h].at_risk / n);
    }
    for (size_t g = 0; g < groups; g++) {
        const fplt__life_table *table = runner[g].table;
        if (runner[g].next < table->steps && table->step[runner[g].next].time == time) {
            const fplt__life_step *step = &table->step[runner[g].next++];
            runner[g].at_risk -= (double)(step->events + step->left);
        }
    }
}

/* (O - E)' V^-1 (O - E) over all but the first of the groups that expect events. `room` has 2 groups + groups^2 numbers. */
static fplt__logrank conclude(const struct sums *sums, double *room)
{
    size_t groups = sums->groups, used = 0;
    double *apart = room, *right = room + groups, *matrix = right + groups, statistic = 0;
    for (size_t g = 0, before = 0; g < groups; g++) {
        if (!(sums->expected[g] > 0) || !before++)
            continue;
        apart[used] = right[used] = sums->observed[g] - sums->expected[g];
        used++;
    }
    for (size_t g = 0, before = 0, at = 0; g < groups; g++) {
        if (!(sums->expected[g] > 0) || !before++)
            continue;
        for (size_t h = 0, left = 0; h < groups; h++)
            if (sums->expected[h] > 0 && left++)
                matrix[at++] = sums->variance[g * groups + h];
    }
    if (!used || !fplt__cholesky_factor(&fplt__kernel_reference, matrix, used))
        return (fplt__logrank){NAN, NAN, 0};
    fplt__cholesky_solve(matrix, used, right);
    for (size_t i = 0; i < used; i++)
        statistic += right[i] * apart[i];
    return (fplt__logrank){statistic, fplt__chi_tail(statistic, (double)used), used};
}

fplt_status fplt__logrank_test(const fplt__life_table *const *table, size_t groups, size_t strata,
                               double *observed, double *expected, fplt__logrank *test,
                               fplt_error *error)
{
    struct sums sums = {groups, observed, expected, NULL};
    struct runner *runner = NULL;
    fplt_status status = fplt__alloc_into(&runner, groups, sizeof *runner, "groups", error);
    if (!status)
        status = fplt__alloc_into(&sums.variance, 2 * groups * (groups + 1), sizeof(double),
                                  "groups", error);
    for (size_t g = 0; g < groups && !status; g++)
        observed[g] = expected[g] = 0;
    for (size_t s = 0; s < strata && !status; s++) {
        double time;
        for (size_t g = 0; g < groups; g++)
            runner[g] = (struct runner){table[s * groups + g], 0,
                                        (double)fplt__life_table_rows(table[s * groups + g]), 0};
        while (isfinite(time = next_time(runner, groups)))
            pass_time(runner, time, &sums);
    }
    if (!status)
        *test = conclude(&sums, sums.variance + groups * groups);
    fplt__free(sums.variance);
    fplt__free(runner);
    return status;
}
