/* The binomial distribution's tail. */
#ifndef FPLT_PRIVACY_BINOMIAL_H
#define FPLT_PRIVACY_BINOMIAL_H

/* Regularised incomplete beta function I_x(a, b); a, b > 0, 0 <= x <= 1. */
double fplt__beta_ratio(double a, double b, double x);

#endif
