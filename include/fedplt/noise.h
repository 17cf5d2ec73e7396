/* Privacy noise: an exact discrete Gaussian on a lattice, so that no bit pattern of a
 * floating-point number betrays the mean it was added to.
 *
 * The randomness is libsodium's (the operating system's), never a seed. Where the system has no
 * entropy libsodium ends the process: the one case in which this library may do so. */
#ifndef FEDPLT_NOISE_H
#define FEDPLT_NOISE_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Standard deviation of the noise in units of the lattice's spacing. */
#define FPLT_NOISE_SCALE 1048576.0 /* 2^20 */

/* One a thread. Its unused random bytes are wiped when it is destroyed, each used one at once; a
 * process forked from its owner draws afresh. */
typedef struct fplt_noise fplt_noise;

/* Makes a source of private noise; released with fplt_noise_destroy. FPLT_FAILED where libsodium
 * cannot start, FPLT_NO_MEMORY; `noise` is then NULL. */
FPLT_API fplt_status fplt_noise_create(fplt_noise **noise, fplt_error *error);
/* Wipes and releases a source; NULL is legal. */
FPLT_API void fplt_noise_destroy(fplt_noise *noise);

/* `count` independent draws X with P(X = x) proportional to exp(-x^2 / 2^41), exactly. */
FPLT_API void fplt_noise_draw(fplt_noise *noise, int64_t *out, size_t count);

/* The lattice of a noisy local step: sqrt(2 step) noise_tau / 2^20. */
FPLT_API double fplt_noise_spacing(double step, double noise_tau);

/* out = spacing (round(mean / spacing) + X), a fresh X for each coordinate: the mean of a local
 * step, with noise of standard deviation sqrt(2 step) noise_tau. `out` may be `mean`. Means beyond
 * 2^52 spacings are moved to that bound first, which brings no two of them further apart and so
 * costs no privacy. FPLT_DIVERGED when a mean is not a number; `out` is then without meaning. */
FPLT_API fplt_status fplt_noise_add(fplt_noise *noise, double step, double noise_tau,
                                    const double *mean, double *out, size_t count,
                                    fplt_error *error);

/* Whether a public vector (what was broadcast, the centre of the subproblem, the start of the local
 * steps) is finite and within 2^28 sqrt(2 step) noise_tau in every coordinate; beyond it rounding
 * errors exceed what the claim charges for them. Ask before computing: refusing then leaks nothing.
 * `what` names the vector in the sentence. */
FPLT_API fplt_status fplt_noise_admit(double step, double noise_tau, const char *what,
                                      const double *vector, size_t count, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
