/* The binomial distribution's tail, for tests. */
#ifndef FPLT_PRIVACY_AUDIT_H
#define FPLT_PRIVACY_AUDIT_H

/* Regularised incomplete beta function I_x(a, b); a, b > 0, 0 <= x <= 1. */
double fplt__beta_ratio(double a, double b, double x);

#endif
