/* Tables of survival curves. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "report/report.h"
#include "study/survival_inside.h"

enum { DIGITS = 4 };

fplt_status fplt__survival_points(const fplt_survival *survival, size_t site, size_t stratum,
                                  fplt__life_point **points, fplt_error *error)
{
    const fplt__life_table *table = fplt__survival_table(survival, site, stratum);
    fplt_status status = fplt__alloc_into(points, table->steps, sizeof **points, "a curve", error);
    if (!status)
        fplt__life_curve(table, survival->settings.interval, survival->settings.level, *points);
    return status;
}

size_t fplt__survival_at(const fplt__life_point *point, size_t points, double time)
{
    size_t count = 0;
    while (count < points && point[count].time <= time)
        count++;
    return count ? count - 1 : points;
}

uint64_t fplt__survival_at_risk(const fplt__life_table *table, double time)
{
    uint64_t count = 0;
    for (size_t i = table->steps; i-- > 0 && table->step[i].time >= time;)
        count += table->step[i].events + table->step[i].left;
    return count;
}

/* What is done with one curve. */
typedef void curve_writer(const fplt_survival *survival, size_t site, size_t stratum,
                          const fplt__life_point *point, fplt_table *out);

/* One curve of each stratum, or of all rows, over all sites and where there are several of each site. */
static fplt_status write_curves(const fplt_survival *survival, curve_writer *write, fplt_table *out,
                                fplt_error *error)
{
    size_t sites = fplt__survival_sites(survival), strata = fplt__survival_strata(survival);
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < (sites > 2 ? sites : 1) && !status; i++)
        for (size_t k = strata > 1; k < strata && !status; k++) {
            fplt__life_point *point;
            if (!(status = fplt__survival_points(survival, i, k, &point, error))) {
                write(survival, i, k, point, out);
                fplt__free(point);
            }
        }
    return status;
}

static void add_names(const fplt_survival *survival, size_t site, size_t stratum, fplt_table *out)
{
    fplt__table_text(out, fplt__survival_site(survival, site));
    fplt__table_text(out, fplt__survival_stratum(survival, stratum));
}

static void write_curve(const fplt_survival *survival, size_t site, size_t stratum,
                        const fplt__life_point *point, fplt_table *out)
{
    const fplt__life_table *table = fplt__survival_table(survival, site, stratum);
    fplt__life_median made = fplt__life_median_of(point, table->steps);
    add_names(survival, site, stratum, out);
    if (!table->steps) { /* withheld, or no rows */
        for (int i = 0; i < 6; i++)
            fplt__table_text(out, NULL);
        return;
    }
    fplt__table_whole(out, (long long)fplt__life_table_rows(table));
    fplt__table_whole(out, (long long)fplt__life_table_events(table));
    fplt__table_number(out, made.median, 6);
    fplt__table_number(out, made.low, 6);
    fplt__table_number(out, made.high, 6);
    fplt__table_number(out, table->step[table->steps - 1].time, 6);
}

static fplt_status make_curves(const fplt_survival *survival, fplt_table **table, fplt_error *error)
{
    static const char *const headings[] = {"site",   "stratum",    "rows",        "events",
                                           "median", "median low", "median high", "last time"};
    fplt_status status = fplt__table_create(headings, 8, table, error);
    return status ? status : write_curves(survival, write_curve, *table, error);
}

static void write_times(const fplt_survival *survival, size_t site, size_t stratum,
                        const fplt__life_point *point, fplt_table *out)
{
    const fplt__life_table *table = fplt__survival_table(survival, site, stratum);
    for (size_t t = 0; t < survival->times; t++) {
        double time = survival->time[t];
        size_t at = fplt__survival_at(point, table->steps, time);
        int known = table->steps && time <= table->step[table->steps - 1].time;
        uint64_t events = 0;
        for (size_t i = 0; known && i <= at && at < table->steps; i++)
            events += table->step[i].events;
        add_names(survival, site, stratum, out);
        fplt__table_number(out, time, 6);
        if (known) {
            fplt__table_whole(out, (long long)fplt__survival_at_risk(table, time));
            fplt__table_whole(out, (long long)events);
        } else {
            fplt__table_text(out, NULL);
            fplt__table_text(out, NULL);
        }
        known &= at < table->steps;
        int unbroken = table->steps && !known && time < table->step[0].time;
        fplt__table_number(out, known ? point[at].survival : unbroken ? 1 : NAN, DIGITS);
        fplt__table_number(out, known ? point[at].low : unbroken ? 1 : NAN, DIGITS);
        fplt__table_number(out, known ? point[at].high : unbroken ? 1 : NAN, DIGITS);
    }
}

static fplt_status make_times(const fplt_survival *survival, fplt_table **table, fplt_error *error)
{
    static const char *const headings[] = {"site",          "stratum",  "time", "at risk",
                                           "events so far", "survival", "low",  "high"};
    fplt_status status = fplt__table_create(headings, 8, table, error);
    return status ? status : write_curves(survival, write_times, *table, error);
}

static void write_steps(const fplt_survival *survival, size_t site, size_t stratum,
                        const fplt__life_point *point, fplt_table *out)
{
    size_t steps = fplt__survival_table(survival, site, stratum)->steps;
    for (size_t i = 0; i < steps; i++) {
        add_names(survival, site, stratum, out);
        fplt__table_number(out, point[i].time, 6);
        fplt__table_whole(out, (long long)point[i].at_risk);
        fplt__table_whole(out, (long long)point[i].events);
        fplt__table_whole(out, (long long)point[i].left);
        fplt__table_number(out, point[i].survival, DIGITS);
        fplt__table_number(out, point[i].error, DIGITS);
        fplt__table_number(out, point[i].low, DIGITS);
        fplt__table_number(out, point[i].high, DIGITS);
    }
}

static fplt_status make_steps(const fplt_survival *survival, fplt_table **table, fplt_error *error)
{
    static const char *const headings[] = {"site",     "stratum",  "time",      "at risk", "events",
                                           "censored", "survival", "std_error", "low",     "high"};
    fplt_status status = fplt__table_create(headings, 10, table, error);
    return status ? status : write_curves(survival, write_steps, *table, error);
}

/* ---- tests ---- */

/* A log-rank test: groups are strata or sites, compared over all rows or within each site. */
struct comparison {
    const char *name;
    int of_sites, within_sites;
};

static fplt_status find_groups(const fplt_survival *survival, const struct comparison *compared,
                               size_t groups, size_t within, fplt__life_table *group,
                               fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t s = 0; s < within && !status; s++)
        status = fplt__survival_groups(survival, compared->within_sites ? s + 1 : 0,
                                       compared->of_sites, &group[s * groups], error);
    return status;
}

static fplt_status test_groups(const fplt_survival *survival, const struct comparison *compared,
                               size_t groups, size_t within, double *observed, fplt__logrank *test,
                               fplt_error *error)
{
    fplt__life_table *group = NULL;
    const fplt__life_table **table = NULL;
    fplt_status status = fplt__alloc_into(&group, groups * within, sizeof *group, "groups", error);
    if (!status)
        status =
            fplt__alloc_into(&table, groups * within, sizeof(fplt__life_table *), "groups", error);
    if (!status)
        status = find_groups(survival, compared, groups, within, group, error);
    for (size_t i = 0; !status && i < groups * within; i++)
        table[i] = &group[i];
    if (!status)
        status =
            fplt__logrank_test(table, groups, within, observed, observed + groups, test, error);
    for (size_t i = 0; group && i < groups * within; i++)
        fplt__life_table_clear(&group[i]);
    fplt__free(group);
    fplt__free(table);
    return status;
}

static fplt_status add_test(const fplt_survival *survival, const struct comparison *compared,
                            fplt_table *tests, fplt_table *lines, fplt_error *error)
{
    size_t sites = fplt__survival_sites(survival) - 1, strata = fplt__survival_strata(survival) - 1,
           groups = compared->of_sites ? sites : strata,
           within = compared->within_sites ? sites : 1;
    double *observed;
    fplt__logrank test;
    fplt_status status = fplt__alloc_into(&observed, 2 * groups, sizeof *observed, "groups", error);
    if (!status)
        status = test_groups(survival, compared, groups, within, observed, &test, error);
    if (!status) {
        fplt__table_text(tests, compared->name);
        fplt__table_number(tests, test.chi_squared, 5);
        fplt__table_whole(tests, (long long)test.freedom);
        fplt__table_number(tests, test.p, 3);
    }
    for (size_t g = 0; g < groups && !status; g++) {
        fplt__table_text(lines, compared->name);
        fplt__table_text(lines, compared->of_sites ? fplt__survival_site(survival, g + 1)
                                                   : fplt__survival_stratum(survival, g + 1));
        fplt__table_whole(lines, (long long)observed[g]);
        fplt__table_number(lines, observed[groups + g], 5);
    }
    fplt__free(observed);
    return status;
}

static fplt_status make_tests(const fplt_survival *survival, fplt_table **tests,
                              fplt_table **groups, fplt_error *error)
{
    static const char *const of_test[] = {"test", "chi squared", "freedom", "p"};
    static const char *const of_group[] = {"test", "group", "observed", "expected"};
    static const struct comparison strata[] = {{"strata", 0, 0}, {"strata within sites", 0, 1}},
                                   sites = {"sites", 1, 0};
    size_t many = fplt__survival_sites(survival) > 2;
    *groups = NULL;
    fplt_status status = fplt__table_create(of_test, 4, tests, error);
    if (!status)
        status = fplt__table_create(of_group, 4, groups, error);
    if (fplt__survival_strata(survival) > 2) {
        for (size_t i = 0; i <= many && !status; i++)
            status = add_test(survival, &strata[i], *tests, *groups, error);
    } else if (!status && many && fplt__survival_strata(survival) == 1) {
        status = add_test(survival, &sites, *tests, *groups, error);
    }
    return status;
}

/* One of the two tables of the tests. */
static fplt_status make_test_part(const fplt_survival *survival, int of_groups, fplt_table **table,
                                  fplt_error *error)
{
    fplt_table *tests = NULL, *groups = NULL;
    fplt_status status = make_tests(survival, &tests, &groups, error);
    *table = of_groups ? groups : tests;
    fplt_table_destroy(of_groups ? tests : groups);
    return status;
}

fplt_status fplt_survival_tabulate(const fplt_survival *survival, fplt_survival_part part,
                                   fplt_table **table, fplt_error *error)
{
    switch (part) {
    case FPLT_SURVIVAL_CURVES: return make_curves(survival, table, error);
    case FPLT_SURVIVAL_TIMES: return make_times(survival, table, error);
    case FPLT_SURVIVAL_STEPS: return make_steps(survival, table, error);
    default: return make_test_part(survival, part == FPLT_SURVIVAL_GROUPS, table, error);
    }
}
