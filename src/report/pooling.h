/* Columns whose effect has one sign over all rows and the other one inside the sites [Simpson 1951]. */
#ifndef FPLT_REPORT_POOLING_H
#define FPLT_REPORT_POOLING_H

#include <stddef.h>

#include "fedplt/objective.h"

/* One column: its coefficient in the fit without a penalty over all rows (pooled), and in the fit that has an intercept
 * for every site (within), as the model has its columns; and the score test [Rao 1948] of site x column, which adds an
 * intercept and a slope for every site to the pooled fit. Least squares have an F statistic, other losses a chi-squared
 * one. */
typedef struct fplt__pooling_column {
    size_t feature;
    double pooled, pooled_error, within, within_error;
    double statistic, freedom;
    double residual_freedom; /* of the F statistic; infinite: chi-squared */
    double p;
    int reverses;
} fplt__pooling_column;

/* Tests every column that both fits estimate. `x` is where the first fit starts (dimension numbers); `columns` has room
 * for one line a feature, of which `count` are written. FPLT_UNSUPPORTED where the cost has no such test: no likelihood
 * of one output with an intercept, clipped gradients, sites that do not count by their rows, a single site, rows in
 * another process. FPLT_UNREACHABLE where a fit does not exist. */
fplt_status fplt__pooling_test(const fplt_objective *objective, const double *x,
                               fplt__pooling_column *columns, size_t *count, fplt_error *error);

#endif
