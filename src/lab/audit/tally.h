/* What the noise of many runs adds up to, and whether it is what the claim says: independent normals
 * of the claimed deviation. Every probability is exact for such normals, far into the tails. */
#ifndef FPLT_LAB_AUDIT_TALLY_H
#define FPLT_LAB_AUDIT_TALLY_H

#include "fedplt/audit.h"

/* The normal's quantile at 0.99: with that probability an audit refutes what it says it would. */
#define FPLT__SURELY 2.3263478740408408

/* The noise of a run: agents x rounds x epochs x dimension. */
struct fplt__noise_shape {
    size_t agents, rounds, epochs, dimension;
};

size_t fplt__noise_size(const struct fplt__noise_shape *shape);

enum { FPLT__TALLY_CHECKS = 10 };

/* One a thread. */
typedef struct fplt__tally fplt__tally;

fplt_status fplt__tally_create(const struct fplt__noise_shape *shape, fplt__tally **tally,
                               fplt_error *error);
void fplt__tally_destroy(fplt__tally *tally);

/* A run's noise in units of the claimed deviation, and whether agent a sent anything in round k
 * (present[a rounds + k]; what it has of noise is not looked at otherwise). */
void fplt__tally_add(fplt__tally *tally, const float *noise, const unsigned char *present);
/* Adds another, exactly: who added which pairs of runs changes no bit. One that waits for the second of a pair has
 * it alone. */
void fplt__tally_merge(fplt__tally *tally, fplt__tally *other);

/* Each check refutes a claim that is true with at most that probability. */
void fplt__tally_judge(fplt__tally *tally, double level,
                       fplt_audit_check check[FPLT__TALLY_CHECKS]);

#endif
