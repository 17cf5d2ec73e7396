/* Cross-validation: held-out losses over folds, the value that they choose, and how both are shown. */
#ifndef FPLT_REPORT_VALIDATION_H
#define FPLT_REPORT_VALIDATION_H

#include <jansson.h>

#include "fedplt/assessment.h"
#include "fedplt/report.h"
#include "fedplt/settings_table.h"

enum { FPLT__VALIDATION_VALUES = 100, FPLT__VALIDATION_FOLDS = 1000 };

/* Rows of the settings that every validation has: search, grid, folds. */
extern const fplt_setting fplt__validation_settings[];

/* The numbers of a grid, separated by commas. FPLT_BAD_VALUE: no number, too many, or one that stands there twice. */
fplt_status fplt__validation_grid(const char *text, double value[FPLT__VALIDATION_VALUES],
                                  size_t *count, fplt_error *error);

/* A validation that is over. Borrowed. */
typedef struct fplt__validation_view {
    const char *search, *by, *measure; /* measure: `loss` where there is no other */
    uint32_t folds;
    const fplt_validate_point *point;
    size_t count, best, chosen;
} fplt__validation_view;

/* The mean over the folds and, where `error` is not NULL, the standard error of that mean. */
void fplt__validation_mean(const double *of_fold, uint32_t folds, double *mean, double *error);
/* The least loss, and the largest value whose loss is within one standard error of it
 * [Breiman, Friedman, Olshen and Stone 1984]. */
void fplt__validation_choose(const fplt_validate_point *point, size_t count, size_t *best,
                             size_t *chosen);
/* One line a value; to be destroyed. */
fplt_status fplt__validation_table(const fplt__validation_view *made, fplt_table **table,
                                   fplt_error *error);
/* The same as one object; a new reference, or NULL. */
json_t *fplt__validation_json(const fplt__validation_view *made);

#endif
