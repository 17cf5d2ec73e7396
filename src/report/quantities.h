/* What a model's loss shows of coordinates that all records share: theta of the negative binomial, thresholds. */
#ifndef FPLT_REPORT_QUANTITIES_H
#define FPLT_REPORT_QUANTITIES_H

#include "report/covariance.h"

/* How many lines there are, and whether they stand in place of the intercept's. */
size_t fplt__quantities_count(const fplt_model *model);
int fplt__quantities_hide_intercept(const fplt_model *model);
/* Name of line `which`; in `room`, cut where it is longer. */
void fplt__quantity_name(const fplt_model *model, size_t which, char *room, size_t size);
/* Its value with this intercept. */
double fplt__quantity_value(const fplt_model *model, size_t which, double intercept);
/* Its value and standard error from the estimates, by the delta method; NaN where the data do not tell its size. */
fplt_status fplt__quantity_estimate(const fplt_model *model, const fplt__estimates *made,
                                    size_t which, double *value, double *deviation,
                                    fplt_error *error);
/* The ends of its interval on the scale of its range, from half the length of a symmetric one; NaN where it has none. */
void fplt__quantity_interval(const fplt_model *model, size_t which, double value, double half,
                             double *low, double *high);
/* A sentence where the data do not tell the size of a quantity or the fit is at a boundary, or NULL. */
fplt_status fplt__quantities_unknown(const fplt_model *model, const fplt__estimates *made,
                                     const char **sentence, fplt_error *error);

#endif
