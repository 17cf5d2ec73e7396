/* The sampler on another source of bytes, and with another deviation; and by what it notices a fork. */
#ifndef FPLT_BASE_NOISE_H
#define FPLT_BASE_NOISE_H

#include "fedplt/noise.h"

typedef void (*fplt__noise_source)(void *context, void *bytes, size_t count);

/* A random number of this process; the child of a fork has another. */
uint64_t fplt__process_mark(void);

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

/* `count` independent draws X with P(X = x) proportional to exp(-x^2 / 2^41), exactly. */
void fplt__noise_draw(fplt_noise *noise, int64_t *out, size_t count);

/* The lattice of a noisy local step: sqrt(2 step) noise_tau / 2^20. */
double fplt__noise_spacing(double step, double noise_tau);

/* out = spacing (round(mean / spacing) + X), a fresh X for each coordinate: the mean of a local
 * step, with noise of standard deviation sqrt(2 step) noise_tau. `out` may be `mean`. Means beyond
 * 2^52 spacings are moved to that bound first, which brings no two of them further apart and so
 * costs no privacy. FPLT_DIVERGED when a mean is not a number; `out` is then without meaning. */
fplt_status fplt__noise_add(fplt_noise *noise, double step, double noise_tau, const double *mean,
                            double *out, size_t count, fplt_error *error);

/* Whether a public vector (what was broadcast, the centre of the subproblem, the start of the local
 * steps) is finite and within 2^28 sqrt(2 step) noise_tau in every coordinate; beyond it rounding
 * errors exceed what the claim charges for them. Ask before computing: refusing then leaks nothing.
 * `what` names the vector in the sentence. */
fplt_status fplt__noise_lattice_admit(double step, double noise_tau, const char *what,
                                      const double *vector, size_t count, fplt_error *error);

#endif
