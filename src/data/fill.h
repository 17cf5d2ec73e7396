/* What missing values become: found over the rows of one process, or from sums and counts that sites add up. */
#ifndef FPLT_DATA_FILL_H
#define FPLT_DATA_FILL_H

#include "base/sum.h"
#include "data/dataset.h"
#include "data/summary.h"

/* Cells of a grid where the settings say nothing, and at most; the unit of sums over values that are at most 1. */
enum {
    FPLT__FILL_CELLS = 1000,
    FPLT__FILL_MAX_CELLS = 100000,
    FPLT__FILL_EXPONENT = FPLT_SUM_EXPONENT - 32
};

/* Of a column without a value. */
#define FPLT__FILL_NOTHING "column '%.80s' has no value at all: ignore it, or fill with a constant"

/* One number a feature, as settings->fill says; its word is checked. */
fplt_status fplt__fill_fit(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                           double *fill, fplt_error *error);

/* ---- parts of it, which several sites can do together ---- */

/* The least p with largest <= 2^p; 0 where there is none. Rounding `largest` upwards to a power of two gives the same. */
int fplt__fill_power(double largest);
/* The mean from the exact sum of values over 2^power. */
double fplt__fill_mean(double sum, double count, int power);
/* The features of one category, from its first on: `fill` has the rows of each level on entry, and on return 1 for the most
 * frequent level, of several the first, and 0 for all others. A level without a feature comes before all of them.
 * `present`: rows with a value. */
void fplt__fill_settle_levels(const uint32_t *group, size_t features, size_t first, double present,
                              double *fill);
/* The grid on which the value for column `name` (NULL: no name) is found; cells 0: none. */
fplt_status fplt__fill_grid(const fplt_transform_settings *settings, const char *name,
                            fplt__bins *grid, fplt_error *error);
/* The value from the counts of the cells, which are not all 0. */
double fplt__fill_on_grid(const fplt_transform_settings *settings, const fplt__bins *grid,
                          const double *spread);

/* Exact sums of the values that are there, each over unit[j] (a power of two; 0: no sum), in units of
 * 2^FPLT__FILL_EXPONENT, then how many there are: 2 x features numbers, two words each. */
fplt_status fplt__fill_sums(const fplt_dataset *dataset, const double *unit, uint64_t *words,
                            fplt_error *error);
/* The counts of all cells of the features that have a grid, feature after feature, two words each, in units of
 * 2^FPLT_SUM_EXPONENT. `minimum`: cells with fewer values are merged with their neighbours (median), or count as empty. */
fplt_status fplt__fill_cells(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                             const fplt__bins *grid, size_t minimum, uint64_t *words,
                             fplt_error *error);

#endif
