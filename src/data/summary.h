/* Values of one column in one group of rows, as counts and sums that several groups or sites can add up. */
#ifndef FPLT_DATA_SUMMARY_H
#define FPLT_DATA_SUMMARY_H

#include "base/sum.h"
#include "data/builder.h"

/* Cells of equal width between declared bounds; values beyond them are clipped to them. cells 0: no grid. */
typedef struct fplt__bins {
    double low, high;
    uint32_t cells;
} fplt__bins;

/* Zeroed is empty. Invariants: rows = missing + numbers + the sum of count; number is sorted after fplt__summary_sort();
 * with a grid, the values themselves are not kept and bin sums up to numbers. */
typedef struct fplt__summary {
    size_t rows, missing, numbers, clipped;
    fplt__bins grid; /* set before the first value */
    double *number;  /* owned: without a grid */
    size_t capacity;
    uint64_t *bin;  /* owned: with a grid, one for each cell */
    fplt__sum *sum; /* owned: with a grid, of u and of u^2, u the value on -1 to 1 */
    double span[2]; /* with a grid: largest distances u + 1 and 1 - u of one value */
    fplt__lookup words;
    size_t *count; /* owned: of each word */
    size_t count_capacity;
} fplt__summary;

void fplt__summary_clear(fplt__summary *summary);

/* Adds a field: a missing value, a number, or a word. */
fplt_status fplt__summary_see(fplt__summary *summary, const fplt__field *field, fplt_error *error);
fplt_status fplt__summary_see_missing(fplt__summary *summary);
fplt_status fplt__summary_see_number(fplt__summary *summary, double value, fplt_error *error);
fplt_status fplt__summary_see_word(fplt__summary *summary, fplt__span word, fplt_error *error);

/* Adds all of another summary with the same grid; its words keep the order of their first appearance. */
fplt_status fplt__summary_add(fplt__summary *summary, const fplt__summary *other,
                              fplt_error *error);

/* Sorts the numbers, so that what follows does not depend on the order in which they were seen. */
void fplt__summary_sort(fplt__summary *summary);

/* Mean, and deviation with divisor n - 1, of the numbers; NaN where there are too few. */
double fplt__summary_mean(const fplt__summary *summary);
double fplt__summary_deviation(const fplt__summary *summary);
/* With a grid: the largest share that one value has of the sum of the distances to the lower bound, or of those to the upper
 * one, whichever is larger; 0 without values. */
double fplt__summary_share(const fplt__summary *summary);
/* The same of n values with that sum of u and those largest distances. */
double fplt__distance_share(const double span[2], double n, double sum);
/* With a grid: the sum of u; 0 without values. */
double fplt__summary_sum(const fplt__summary *summary);
/* With a grid: the counts that a site sends, cells with fewer values than `minimum` merged as fplt__summary_spread() merges
 * them, each at the last cell of those that were merged. */
void fplt__summary_merge(const fplt__summary *summary, size_t minimum, uint64_t *merged);
/* With a grid, of an empty summary: the numbers that a site sent, of cells and sums (two words each, as
 * fplt__sum_export() writes them). FPLT_DIVERGED: a sum is out of range. */
fplt_status fplt__summary_take(fplt__summary *summary, const uint64_t *bin, const uint64_t *sums,
                               fplt_error *error);
/* Rows that have this word. */
size_t fplt__summary_count(const fplt__summary *summary, fplt__span word);

/* The bounds of a column that a list "name=LOW..HIGH,..." (NULL: empty) states, as a grid of one cell; cells 0: the list does
 * not have the column. */
fplt_status fplt__bins_find(const char *list, const char *name, fplt__bins *grid,
                            fplt_error *error);

/* The lower end of cell number `cell`; of number `cells`: the upper bound. */
double fplt__bins_edge(const fplt__bins *grid, uint32_t cell);

/* Merges neighbouring cells from the left until each has `minimum` values; a rest joins the last. Writes the values
 * spread evenly over the cells that were merged (added to `spread`), and for every cell the width of what it became
 * part of where that is more than `width` has (NULL: not asked for). */
void fplt__summary_spread(const fplt__summary *summary, size_t minimum, double *spread,
                          double *width);

/* The quantile of a distribution over the cells: values lie evenly within a cell, and between two of them as
 * fplt__quantile() has it. Differs from the exact one by at most the width of a cell. NaN: no values. */
double fplt__bins_quantile(const fplt__bins *grid, const double *spread, double share);

#endif
