/* Conversions on the bare rate D, where the divergence of order a is at most a D. */
#ifndef FPLT_PRIVACY_CONVERSION_H
#define FPLT_PRIVACY_CONVERSION_H

#include "fedplt/privacy.h"

/* BEST becomes what it stands for; EXACT is refused where it is not legal. */
fplt_status fplt__conversion_settle(fplt_conversion wanted, int is_gaussian, const char *claim,
                                    fplt_conversion *settled, fplt_error *error);

/* `conversion` is a settled one in these. */
double fplt__rate_log_delta(fplt_conversion conversion, double rate, double epsilon);
double fplt__rate_epsilon(fplt_conversion conversion, double rate, double log_delta);

/* The largest rate with which (epsilon, delta) holds; 0 when there is none. */
double fplt__rate_within(fplt_conversion conversion, double epsilon, double log_delta);

#endif
