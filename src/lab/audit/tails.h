/* The chi-square distribution, exact far into its tails. */
#ifndef FPLT_LAB_AUDIT_TAILS_H
#define FPLT_LAB_AUDIT_TAILS_H

/* P(X <= value) and P(X >= value); freedom > 0. */
double fplt__chi_square_below(double value, double freedom);
double fplt__chi_square_above(double value, double freedom);
/* The value with P(X <= value) = p, 0 < p < 1, from below. */
double fplt__chi_square_quantile(double p, double freedom);

#endif
