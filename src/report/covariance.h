/* Which coefficients of a model have standard errors, and their covariance. */
#ifndef FPLT_REPORT_COVARIANCE_H
#define FPLT_REPORT_COVARIANCE_H

#include "report/model.h"

/* Coefficients in the order in which they are tried: the intercept, columns, and the first level of every category
 * last, so that it is the one that a full set of levels beside an intercept leaves out. With several outputs those of
 * the first class are not tried: the others are contrasts to it. Writes the number of those tried; returns a newly
 * allocated array (fplt__free). */
fplt_status fplt__coefficient_order(const fplt_model *model, size_t **order, size_t *count,
                                    fplt_error *error);
/* Of `order`, those whose column is not a sum of columns kept before it, but for rounding: marks them in `kept`
 * (dimension bytes). `matrix` is n x n, a Hessian; `room` has n * n + n numbers. */
void fplt__keep_independent(const double *matrix, size_t n, const size_t *order, size_t count,
                            double *room, unsigned char *kept);

/* Inverts the rows and columns of a matrix that are kept; the others become 0. FPLT_UNREACHABLE where they depend on
 * each other. `room` has n * n numbers. */
fplt_status fplt__invert_kept(double *matrix, size_t n, const unsigned char *kept, double *room,
                              fplt_error *error);

/* Estimates and their covariance (n x n), zeros where a coefficient has none. */
typedef struct fplt__estimates {
    size_t n;
    double *estimate, *covariance; /* owned: the first, one block with all others */
    double *room, *other;          /* n * n each */
    unsigned char *kept;           /* owned: whether a coefficient was estimated */
    unsigned char *reference;      /* behind it: a level that others are compared with */
    size_t rank;                   /* how many were */
    double freedom;   /* of Student's distribution; infinite: that of the normal distribution */
    const char *flaw; /* why there are estimates but no errors: NaN; or NULL */
} fplt__estimates;

/* Coefficients of several outputs become contrasts to the first class. */
fplt_status fplt__estimate(const fplt_model *model, const fplt_summary_settings *settings,
                           fplt__estimates *made, fplt_error *error);
void fplt__estimates_clear(fplt__estimates *estimates);

/* Coefficients that have information: those that a refit left out have none. */
size_t fplt__inference_rank(const fplt_model *model);
/* Rows with a weight above 0, or of an earlier program's model the sum of weights. */
double fplt__inference_rows(const fplt_inference *inference);
/* Whether residuals of least squares are at rounding. */
int fplt__is_perfect(const fplt_model *model);

#endif
