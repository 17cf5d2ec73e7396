/* What is done to the rows of all sites before their columns are standardised: missing values are filled and classes
 * balanced, both by sums and counts over all members. */
#ifndef FPLT_FEDERATION_PREPARATION_H
#define FPLT_FEDERATION_PREPARATION_H

#include "data/fill.h"
#include "federation/plan/plan_resolution.h"

/* What the settings of a proposal ask for, and what it means for the columns of the run. Invariant: grid[j].cells is 0
 * where group[j] is not 0. */
typedef struct fplt__preparation {
    fplt_transform_settings wanted; /* of the filling; its texts are those of the settings */
    size_t fills;                   /* features; 0: nothing is filled */
    uint32_t classes;               /* 0: they are not balanced */
    int adds_up;      /* what to fill in is a mean: sums of the columns of numbers are needed */
    int counts;       /* rows are counted before it is known what to fill in */
    uint32_t *group;  /* owned, one a feature: 0 a number, otherwise its category */
    fplt__bins *grid; /* owned, one a feature; cells 0: none */
    char **name;      /* owned, one a feature, as people know it */
    size_t cells;     /* of all grids */
} fplt__preparation;

/* Steps of the facts that a proposal with these settings needs for its preparation, as bits; 0: none. */
unsigned fplt__preparation_steps(const fplt_settings *settings);
/* Whether the settings fill missing values in. */
int fplt__preparation_fills(const fplt_settings *settings);

/**
 * Reads the settings for the columns of a run.
 *
 * @param settings    kept by the caller for the life of the preparation
 * @param dictionary  text of the common dictionary; NULL: the columns are those of a schema, and nothing is filled
 * @param form        classes and task of the run; columns are those of the dictionary, before a formula
 * @param made        out: to be cleared with fplt__preparation_clear(), also on failure
 * @retval FPLT_BAD_VALUE  a column of numbers has no bounds and its method needs a grid, or there are no classes to balance
 */
fplt_status fplt__preparation_make(const fplt_settings *settings, const char *dictionary,
                                   const fplt__form *form, fplt__preparation *made,
                                   fplt_error *error);
void fplt__preparation_clear(fplt__preparation *made);

/* Numbers in the answer to FPLT__FACTS_COUNTS: sums and counts of the columns, then the rows of each class. */
uint64_t fplt__preparation_numbers(const fplt__preparation *of);
/* The unit of the sum of a column whose largest absolute value is `largest`: 0 where no sum is needed. */
double fplt__preparation_unit(const fplt__preparation *of, size_t feature, double largest);

/* What fills the columns: from the numbers of FPLT__FACTS_COUNTS (NULL where the method needs none), the units that they
 * are in, and the counts of all cells. FPLT_BAD_DATA: a column has no value. */
fplt_status fplt__preparation_settle(const fplt__preparation *of, const double *counted,
                                     const double *unit, const double *spread, double *fill,
                                     fplt_error *error);
/* Whether a coordinator may say so: as many numbers as the settings ask for, of a category at most one 1, of a column on a
 * grid a number within its bounds. FPLT_BAD_DATA otherwise. */
fplt_status fplt__preparation_check(const fplt__preparation *of, const double *fill, size_t fills,
                                    const uint64_t *class_rows, size_t classes, fplt_error *error);

#endif
