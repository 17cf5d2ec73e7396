/* For tests: the sampler on another source of bytes, and with another deviation. */
#ifndef FPLT_BASE_NOISE_H
#define FPLT_BASE_NOISE_H

#include "fedplt/noise.h"

typedef void (*fplt__noise_source)(void *context, void *bytes, size_t count);

/* NULL: libsodium. */
fplt_status fplt__noise_create_from(fplt__noise_source source, void *context, fplt_noise **noise,
                                    fplt_error *error);

/* P(X = x) proportional to exp(-x^2 / (2 deviation^2)); deviation from 1 to 2^20. */
void fplt__noise_draw_deviation(fplt_noise *noise, uint32_t deviation, int64_t *out, size_t count);

/* 1 with probability numerator / denominator <= 1, exactly; denominator below 2^56. */
int fplt__noise_ratio(fplt_noise *noise, uint64_t numerator, uint64_t denominator);

/* 1 with probability exp(-numerator / denominator), exactly; both below 2^56, the denominator at
 * most 2^41. */
int fplt__noise_exponential(fplt_noise *noise, uint64_t numerator, uint64_t denominator);

#endif
