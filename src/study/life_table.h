/* Life tables: how many records have an event and how many leave at each time. Sites can add them up; Kaplan-Meier curves and
 * log-rank tests follow from the sums. */
#ifndef FPLT_STUDY_LIFE_TABLE_H
#define FPLT_STUDY_LIFE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"
#include "fedplt/survival.h"

/* Those with an event at a time and those whose observation ended there were at risk at that time. Where cells of a grid were
 * merged (life_grid.h) it was after `since`, which is a boundary (-1: at any time up to `time`); otherwise since = time. */
typedef struct fplt__life_step {
    double time;
    uint64_t events, left;
    double since;
} fplt__life_step;

/* Zeroed: empty. Once settled, times increase from step to step. */
typedef struct fplt__life_table {
    fplt__life_step *step; /* owned */
    size_t steps, capacity;
    int is_cut; /* later counts are withheld: who was at risk counts as having left at the last step */
} fplt__life_table;

/* Times that a table may have. `boundary` (borrowed, increasing, `count` of them) or, where that is NULL, the first `count`
 * multiples of `width` from 0 on (count 0: all of them); width 0: every time. */
typedef struct fplt__time_grid {
    const double *boundary;
    size_t count;
    double width;
} fplt__time_grid;

/* The first boundary that is not before `time`, of at least 0. Observation ends with the last boundary: later times become that
 * boundary, and *event becomes 0. */
double fplt__time_grid_place(const fplt__time_grid *grid, double time, int *event);
/* Number of the cell that ends at a boundary, from 0; and the boundary at which a cell ends. Not of a grid of every time. */
size_t fplt__time_grid_cell(const fplt__time_grid *grid, double boundary);
double fplt__time_grid_end(const fplt__time_grid *grid, size_t cell);

/* One more record; the table is then not settled. FPLT_NO_MEMORY is the only failure, as of fplt__life_table_join. */
fplt_status fplt__life_table_see(fplt__life_table *table, double time, int event,
                                 fplt_error *error);
/* Orders the steps by time and joins those of one time. */
void fplt__life_table_settle(fplt__life_table *table);
/* Ends a settled table before the first step with fewer than `minimum` at risk: those who are left leave at the step before. A
 * table that has fewer than the minimum in all becomes empty. Whether a record counts at a time depends only on what happened
 * before, so that the estimates below stay those of independent censoring [Aalen 1978]. */
void fplt__life_table_cut(fplt__life_table *table, uint64_t minimum);
/* Adds a settled table to a settled one; is_cut stays that of `sum`. */
fplt_status fplt__life_table_join(fplt__life_table *sum, const fplt__life_table *table,
                                  fplt_error *error);
void fplt__life_table_clear(fplt__life_table *table);
/* Records, and events among them. */
uint64_t fplt__life_table_rows(const fplt__life_table *table);
uint64_t fplt__life_table_events(const fplt__life_table *table);

/* A curve at one time. NaN: error and interval where nobody is left, the interval of log-log where S is 1. */
typedef struct fplt__life_point {
    double time;
    uint64_t at_risk, events, left;
    double survival, error, low, high; /* error: Greenwood's, of S */
} fplt__life_point;

/* The estimate of Kaplan and Meier (1958), one point for each step of a settled table; `level` between 0 and 1. */
void fplt__life_curve(const fplt__life_table *table, fplt_survival_interval interval, double level,
                      fplt__life_point *point);

/* Interval of a survival probability by the error of its logarithm; the rule that curves of every kind share. */
void fplt__life_bounds(fplt_survival_interval interval, double survival, double log_error,
                       double level, double *low, double *high);

/* First time at which S is at most 1/2; if S is 1/2 for a while, the middle of that while. The interval has the first times at
 * which the interval of S is at most 1/2 [Brookmeyer and Crowley 1982]. NaN: not reached. */
typedef struct fplt__life_median {
    double median, low, high;
} fplt__life_median;
fplt__life_median fplt__life_median_of(const fplt__life_point *point, size_t points);

/* Log-rank test of equal hazards [Mantel 1966], within strata where there are several. */
typedef struct fplt__logrank {
    double chi_squared, p; /* NaN: fewer than two groups are ever at risk with an event */
    size_t freedom;
} fplt__logrank;

/**
 * Tests whether groups have one hazard.
 *
 * @param table     settled; group g of stratum s is table[s * groups + g]
 * @param observed  out: events of each group
 * @param expected  out: of each group, by the share of those at risk
 * @retval FPLT_NO_MEMORY  the only failure
 */
fplt_status fplt__logrank_test(const fplt__life_table *const *table, size_t groups, size_t strata,
                               double *observed, double *expected, fplt__logrank *test,
                               fplt_error *error);

#endif
