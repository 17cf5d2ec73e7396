/* Changes to columns and rows before training: filling, formulas, scaling, shortening. A model keeps its transform, so that
 * other data are changed in the same way.
 *
 * Threads and blocking: nothing blocks. fplt_transform_apply needs the data set for itself; the others only read it.
 */
#ifndef FEDPLT_TRANSFORM_H
#define FEDPLT_TRANSFORM_H

#include <stddef.h>

#include "fedplt/data.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_design fplt_design; /* the columns of a formula; opaque */

/* Changes to columns and rows, kept so that other data can be changed in the same way: first a missing
 * a_j becomes fill_j, then the columns of a formula are made, then a_j <- (a_j - mean_j) / scale_j,
 * then rows longer than `radius` are shortened to it. */
typedef struct fplt_transform {
    size_t features;     /* afterwards */
    double *mean;        /* owned; NULL: nothing is subtracted */
    double *scale;       /* owned; NULL: nothing is divided; never 0 */
    double radius;       /* 0: rows keep their length */
    double *fill;        /* owned; one a column before; NULL: nothing is missing */
    fplt_design *design; /* owned; NULL: columns stay as they are */
    size_t inputs;       /* columns before; 0 where there is no design */
} fplt_transform;

typedef struct fplt_transform_settings {
    /* no; yes: mean 0 and deviation 1; scale: divide by the deviation only, which keeps zeros (the
     * only one for CSR). Deviation over all rows of all agents, divided by their number; 1 for a
     * constant column. schema: subtract the declared centres and divide by the declared scales. */
    const char *standardise;
    double radius; /* 0, or the norm that no row exceeds */
    /* What a missing value becomes, from the values of all agents that are there: mean, median (of an
     * even number the middle of two), most-frequent (of several the smallest); of a category always
     * its most frequent level. constant: `fill_value`, and no level of a category. NULL: nothing is
     * missing. */
    const char *fill;
    double fill_value;
    /* with yes and scale: added to a column's variance before the root is taken, so that a column with a
     * deviation far below its root is divided by that root; 0: nothing */
    double ridge;
    /* a formula over the columns, such as age * sex + poly(chol, 2) + C(cp); the part before ~ and the
     * intercept are ignored. With schema its columns are scaled by the bounds that follow from
     * those declared; poly() and C() of a number need rows and are refused then. NULL: the columns as they are. */
    const char *formula;
    int site_effects; /* one more column for each agent but the first, 1 in its rows; agents have names */
    /* with schema: columns between their bounds go from -stretch to stretch, where the schema declares no scale; 0 is 1 */
    double stretch;
    /* with median and most-frequent: bounds of columns, "age=18..100,visits=0..30", or NULL. The median of such a column is
     * found on fill_cells (0: 1000) cells of equal width between them, the most frequent value among the whole numbers from
     * one to the other; values beyond count as the nearer bound. Sites over a network can add up such counts. */
    const char *fill_bounds;
    unsigned fill_cells;
} fplt_transform_settings;

/* no, 0 */
FPLT_API fplt_transform_settings fplt_transform_defaults(void);
/* Finds the transform on `dataset` without changing it. */
FPLT_API fplt_status fplt_transform_fit(const fplt_dataset *dataset,
                                        const fplt_transform_settings *settings,
                                        fplt_transform *transform, fplt_error *error);
/* Changes the rows in place, borrowed ones after copying them, once a row is to be changed; before
 * anything has borrowed the data set. After shortening, the norm
 * as computed in double precision is at most `radius`, never a rounding error above. */
FPLT_API fplt_status fplt_transform_apply(const fplt_transform *transform, fplt_dataset *dataset,
                                          fplt_error *error);
/* Releases what the struct owns; a zeroed struct is legal. */
FPLT_API void fplt_transform_clear(fplt_transform *transform);

#ifdef __cplusplus
}
#endif
#endif
