/* Numbers that callers give, refused by name and with what is legal. */
#ifndef FPLT_PRIVACY_VALID_H
#define FPLT_PRIVACY_VALID_H

#include "fedplt/status.h"

/* Above 0 and finite. */
fplt_status fplt__valid_positive(const char *name, double value, fplt_error *error);
/* At least 0 and finite. */
fplt_status fplt__valid_epsilon(double epsilon, fplt_error *error);
/* Above 0 and at most 1. */
fplt_status fplt__valid_probability(const char *name, double value, fplt_error *error);
/* Above 0 and below 1. */
fplt_status fplt__valid_fraction(const char *name, double value, fplt_error *error);

#endif
