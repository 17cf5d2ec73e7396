/* The standard normal distribution far into its tails. */
#ifndef FPLT_BASE_NORMAL_H
#define FPLT_BASE_NORMAL_H

/* Mills' ratio: P(normal > x) over the density at x; overflows below about -37. */
double fplt__normal_mills(double x);
/* Density at x over P(normal > x), the inverse of Mills' ratio; 0 below about -37. `above` unless NULL: by how much it is
 * above x, without cancellation. */
double fplt__normal_hazard(double x, double *above);
/* ln P(normal <= x). */
double fplt__normal_log_cdf(double x);
/* The x with P(normal <= x) = p; infinite at 0 and 1. */
double fplt__normal_quantile(double p);
/* ln(mills(x - h) - mills(x + h)) without cancellation; x >= 0, h > 0, x - h >= -1. */
double fplt__normal_log_mills_gap(double x, double h);

#endif
