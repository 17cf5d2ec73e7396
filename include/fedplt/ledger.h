/* What was spent on records over all runs: a file that `fedplt train --ledger` and the agent of a
 * federation keep alike. Each charge is a rate of Renyi divergence (mu^2/2; rates of all runs add
 * up) of one record, and is on the disc before what it pays for leaves.
 *
 *     fplt_ledger_open("ledger.db", 1, &ledger, &error);
 *     fplt_ledger_reserve(ledger, FPLT_LEDGER_OWN, run, cap * rate, &budget, &error);  at consent
 *     fplt_ledger_charge(ledger, &charge, 1, &error);     after each training, before its message
 *     fplt_ledger_settle(ledger, FPLT_LEDGER_OWN, run, &error);             when the run has ended
 *     fplt_ledger_close(ledger);
 *
 * One file has one account for each set of records: an agent of a federation has one, of the name
 * FPLT_LEDGER_OWN; `train` one for each site. Charges are never taken back, and a copy of an older
 * state must never be put back in place: what was seen stays seen. One process at a time. */
#ifndef FEDPLT_LEDGER_H
#define FEDPLT_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FPLT_RUN_BYTES = 32,    /* a run: the hash of its plan, or as many random bytes */
    FPLT_LEDGER_PROOF = 32, /* bytes of a proof */
};

/* The account of who has only one set of records. */
#define FPLT_LEDGER_OWN "records"

typedef struct fplt_ledger fplt_ledger;

/* Makes the file if it is not there and `make` is set, for its owner only. FPLT_IO when another
 * process has it, FPLT_BAD_DATA when it is something else, damaged, or of a newer version. */
FPLT_API fplt_status fplt_ledger_open(const char *path, int make, fplt_ledger **ledger,
                                      fplt_error *error);
FPLT_API void fplt_ledger_close(fplt_ledger *ledger);

/* What all runs together may cost; epsilon is infinite where nothing is stated. */
typedef struct fplt_ledger_budget {
    double epsilon, delta;
    uint64_t group; /* for so many records at once; 0 is 1 */
} fplt_ledger_budget;

/* The epsilon of charges that add up to `rate`, by the tight conversion. 0 < delta < 1. */
FPLT_API fplt_status fplt_ledger_epsilon(double rate, double delta, double *epsilon,
                                         fplt_error *error);

/* An account that is not there has spent nothing. */
typedef struct fplt_ledger_total {
    double spent;    /* sum of all charges */
    double reserved; /* what runs that have not ended may still spend */
    uint64_t runs;   /* that were charged */
} fplt_ledger_total;

FPLT_API fplt_status fplt_ledger_sum(fplt_ledger *ledger, const char *account,
                                     fplt_ledger_total *total, fplt_error *error);

/* Whether `rate` more fits the budget, beside all that is spent and reserved: FPLT_UNREACHABLE, with
 * the figures, where it does not. */
FPLT_API fplt_status fplt_ledger_admit(fplt_ledger *ledger, const char *account, double rate,
                                       const fplt_ledger_budget *budget, fplt_error *error);

/* Keeps `rate` for a run if it fits. Asked again for the same run and rate it changes nothing; for
 * another rate, or for a run that was settled, FPLT_BAD_VALUE. */
FPLT_API fplt_status fplt_ledger_reserve(fplt_ledger *ledger, const char *account,
                                         const unsigned char run[FPLT_RUN_BYTES], double rate,
                                         const fplt_ledger_budget *budget, fplt_error *error);

typedef struct fplt_charge {
    const char *account;
    unsigned char run[FPLT_RUN_BYTES];
    uint32_t leg;
    uint64_t round;             /* the last one that is paid for */
    uint64_t rounds;            /* how many */
    double rate;                /* of all of them together; finite, at least 0 */
    const unsigned char *chain; /* FPLT_RUN_BYTES, or NULL */
} fplt_charge;

/* All of them or none, on the disc when it returns. FPLT_UNREACHABLE where a run would go beyond
 * what was reserved for it; a run without a reservation is charged whatever it asks (who holds the
 * file from fplt_ledger_admit until here needs none). */
FPLT_API fplt_status fplt_ledger_charge(fplt_ledger *ledger, const fplt_charge *charges,
                                        size_t count, fplt_error *error);

/* The run has ended: what it kept and did not spend is free again, and it can be charged no more. */
FPLT_API fplt_status fplt_ledger_settle(fplt_ledger *ledger, const char *account,
                                        const unsigned char run[FPLT_RUN_BYTES], fplt_error *error);

/* One run's charges to an account. */
typedef struct fplt_ledger_entry {
    const char *account;
    const unsigned char *run; /* FPLT_RUN_BYTES; all zero: taken over by fplt_ledger_raise */
    const char *time;         /* of its first charge: 2026-03-14T09:26:53Z */
    uint64_t rounds;
    double rate;
} fplt_ledger_entry;

/* Account by account, in the order of their first charge; of one, or of all where it is NULL. Non-zero ends it.
 * The ledger must not be changed meanwhile. */
typedef int (*fplt_ledger_visitor)(void *context, const fplt_ledger_entry *entry);
FPLT_API fplt_status fplt_ledger_visit(fplt_ledger *ledger, const char *account,
                                       fplt_ledger_visitor visitor, void *context,
                                       fplt_error *error);

/* ---- for what is kept elsewhere, so that an emptied ledger buys nothing ---- */

/* A sum of charges that only the ledger that made it can have made. */
typedef struct fplt_ledger_proof {
    double spent;
    unsigned char tag[FPLT_LEDGER_PROOF];
} fplt_ledger_proof;

FPLT_API fplt_status fplt_ledger_prove(fplt_ledger *ledger, const char *account,
                                       fplt_ledger_proof *proof, fplt_error *error);
/* Raises the account to the sum that is proved; a smaller one changes nothing. FPLT_BAD_DATA when
 * the proof is not of this ledger. */
FPLT_API fplt_status fplt_ledger_adopt(fplt_ledger *ledger, const char *account,
                                       const fplt_ledger_proof *proof, fplt_error *error);
/* The same on a person's word. */
FPLT_API fplt_status fplt_ledger_raise(fplt_ledger *ledger, const char *account, double spent,
                                       fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
