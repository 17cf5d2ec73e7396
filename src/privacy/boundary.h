/* Where a monotone condition changes. */
#ifndef FPLT_PRIVACY_BOUNDARY_H
#define FPLT_PRIVACY_BOUNDARY_H

typedef int (*fplt__condition)(double x, const void *context);

/* For a condition that holds at `low` > 0, fails at `high` and changes once: the neighbouring
 * doubles between which it does so. At most 63 calls. */
void fplt__boundary(fplt__condition holds, const void *context, double low, double high,
                    double *last, double *first_beyond);

#endif
