/* The low bits of the noise, and what is left of it by division. Noise on the lattice is uniform modulo every number far
 * below its deviation of 2^20 spacings; noise in multiples of some spacings is not, and one message then tells two data sets
 * apart with certainty, however large its deviation is. */
#ifndef FPLT_LAB_AUDIT_RESIDUES_H
#define FPLT_LAB_AUDIT_RESIDUES_H

#include "fedplt/audit.h"

enum { FPLT__RESIDUE_CHECKS = 2 };

typedef struct fplt__residues {
    uint32_t *low;  /* owned: draws by their 20 low bits */
    uint64_t *odd;  /* owned: draws modulo 3 5 7 11 13 */
    uint64_t draws; /* in all */
} fplt__residues;

fplt_status fplt__residues_create(fplt__residues *residues, fplt_error *error);
void fplt__residues_clear(fplt__residues *residues);
/* One draw, in spacings of the lattice. */
void fplt__residues_add(fplt__residues *residues, int64_t draw);
void fplt__residues_merge(fplt__residues *residues, const fplt__residues *other);

/* Every parity of the 20 low bits is even in half of the draws; and every residue modulo 2, 4 ... 1024 and modulo 3, 5, 7, 11,
 * 13 has its share. All are binomial, but for 6e-9 of a probability. Each check refutes a claim that is true with at most
 * the probability `level`. Out of memory, the first is left out. */
void fplt__residues_judge(const fplt__residues *residues, double level,
                          fplt_audit_check check[FPLT__RESIDUE_CHECKS]);

#endif
