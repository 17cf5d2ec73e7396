/* Tails and quantiles of the distributions of test statistics. Pure functions of numbers. */
#ifndef FPLT_BASE_STATISTICS_H
#define FPLT_BASE_STATISTICS_H

/**
 * The regularised incomplete beta function I_x(a, b).
 *
 * @param a, b  above 0
 * @param x     the point, 0 to 1
 * @param rest  1 - x, given apart so that a point near 1 keeps its digits
 * @return I_x(a, b), to a relative error near rounding where it is below about 1/2
 */
double fplt__beta_tail(double a, double b, double x, double rest);

/* P(|T| > |t|) of Student's distribution with `freedom` degrees of freedom (above 0, need not be whole). NaN for a
 * NaN. */
double fplt__student_two_sided(double t, double freedom);
/* The t with P(|T| <= t) = level; level between 0 and 1. */
double fplt__student_quantile(double level, double freedom);
/* P(F > f) of the F distribution; 1 for f of at most 0. */
double fplt__f_tail(double f, double numerator, double denominator);
/* P(X > x) of the chi-squared distribution; 1 for x of at most 0. */
double fplt__chi_tail(double x, double freedom);

#endif
