/* Life tables on a grid of times whose cells are merged until no count is small, and sums of such tables. Events and those who
 * leave are merged by themselves: a table of few who leave keeps the boundaries of its events. */
#ifndef FPLT_STUDY_LIFE_GRID_H
#define FPLT_STUDY_LIFE_GRID_H

#include "study/life_table.h"

/* Whether a count may be told: none, or at least the minimum. */
static inline int fplt__is_told(uint64_t count, uint64_t minimum)
{
    return !count || count >= minimum;
}

/* The two counts of a step. */
enum { FPLT__LIFE_EVENTS, FPLT__LIFE_LEFT, FPLT__LIFE_SIDES };
static inline uint64_t fplt__life_count(const fplt__life_step *step, int side)
{
    return side == FPLT__LIFE_EVENTS ? step->events : step->left;
}

/**
 * Changes a settled table on a grid so that no step has a count from 1 to `minimum` - 1. Each step has one of the two counts
 * then; several may have one time.
 *
 * First the table ends, as fplt__life_table_cut() ends it, at the last step at which the minimum is at risk and at which the
 * events so far and the others in all are each none or enough; a table without such a step becomes empty, and is_cut. Then the
 * time of each count is divided at boundaries of the grid, first at those that the most powers of two divide, while both
 * parts have the minimum: tables of other sites are divided in the same order, so that a sum, which keeps the boundaries
 * that all of its tables have, keeps as many as possible. A step without a count is never split off: nobody learns in which
 * cell of a step an event was. Those at risk are sums of told counts, and so are all their differences.
 *
 * @param grid     not of every time; the table's times are its boundaries
 * @param minimum  at least 2
 * @retval FPLT_NO_MEMORY  the only failure
 */
fplt_status fplt__life_table_protect(fplt__life_table *table, const fplt__time_grid *grid,
                                     uint64_t minimum, fplt_error *error);

/* Steps that several tables have in common, of each count: from a boundary to a boundary that no table has merged over, as
 * small as possible; increasing, without counts. Zeroed: none. */
typedef struct fplt__life_common {
    fplt__life_step *step[FPLT__LIFE_SIDES]; /* owned */
    size_t steps[FPLT__LIFE_SIDES];
} fplt__life_common;

/* A table has no say after its last step. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__life_common_make(const fplt__life_table *const *table, size_t count,
                                   fplt__life_common *common, fplt_error *error);
void fplt__life_common_clear(fplt__life_common *common);
/* The sum of tables on steps that they have in common, perhaps with others: settled. `sum` is zeroed before. FPLT_NO_MEMORY is
 * the only failure. */
fplt_status fplt__life_pool(const fplt__life_table *const *table, size_t count,
                            const fplt__life_common *common, fplt__life_table *sum,
                            fplt_error *error);
/* How far an event may be before the time of its step: the widest. 0: every time is exact. */
double fplt__life_resolution(const fplt__life_common *common);

#endif
