/* Privacy noise: an exact discrete Gaussian on a lattice, so that no bit pattern of a
 * floating-point number betrays the mean it was added to.
 *
 * The randomness is libsodium's (the operating system's), never a seed. Where the system has no
 * entropy libsodium ends the process: the one case in which this library may do so.
 *
 * Threads and blocking: one thread at a time may use a source; different ones are independent. The first use may wait for the
 * system's random source after boot. Side effects on the process: libsodium is initialised, a fork handler is registered
 * (pthread_atfork), and the source is kept out of swap and core dumps (mlock, madvise) where RLIMIT_MEMLOCK allows it. */
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

#ifdef __cplusplus
}
#endif
#endif
