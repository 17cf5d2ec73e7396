/* What a ledger has spent in all and on its newest run: kept elsewhere, so that a ledger that was
 * emptied or restored from an old copy is noticed, and its charges come back to the run they are of. */
#ifndef FPLT_PRIVACY_RECEIPT_H
#define FPLT_PRIVACY_RECEIPT_H

#include "fedplt/privacy.h"

typedef struct fplt__receipt {
    fplt_rates spent;      /* all accounts and runs of the ledger */
    unsigned char run[32]; /* zeros: none */
    uint64_t rounds;       /* charged to that run */
    fplt_rates of_run;     /* the same in rates, part of `spent` */
} fplt__receipt;

/* Whether `a` shows more than `b` against any adversary, by more than rounding. */
static inline int fplt__receipt_exceeds(const fplt__receipt *a, const fplt__receipt *b)
{
    int more = 0;
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        more |= a->spent.against[k] > b->spent.against[k] * (1 + 1e-9);
    return more;
}

#endif
