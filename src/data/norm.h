/* Length of a row, without overflow or underflow on the way. */
#ifndef FPLT_DATA_NORM_H
#define FPLT_DATA_NORM_H

#include <stddef.h>

double fplt__norm(const double *value, size_t count);

#endif
