/* Privacy spent on records over all runs: a file that `fedplt train --ledger` and the agent of a
 * federation keep alike. A charge has a rate of Renyi divergence (mu^2/2; rates of all runs add up) of
 * one record against each adversary, and is on disk before the message that it pays for is sent.
 *
 *     fplt_ledger_open("ledger.db", 0, &ledger, &error);
 *     fplt_ledger_visit(ledger, each, context, &error);
 *     fplt_ledger_close(ledger);
 *
 * Trainers and agents write the charges.
 *
 * One file has one account for each set of records. Totals are per adversary: a claim against one
 * who sees a final model never counts for one who sees every message. Charges are never taken back, and a
 * copy of an older state must never be put back in place: what was seen stays seen. One process at a
 * time.
 *
 * Threads and blocking: one thread at a time may use a ledger; its functions block on the disk. fplt_ledger_epsilon is
 * thread-safe and does no I/O. */
#ifndef FEDPLT_LEDGER_H
#define FEDPLT_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/privacy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FPLT_RUN_BYTES = 32, /* a run: the hash of its plan, or as many random bytes */
    FPLT_ACCOUNT = 256,  /* bytes of an account's name at most, the NUL counted */
};

typedef struct fplt_ledger fplt_ledger;

/* Makes the file if it is not there and `make` is set, for its owner only; a ledger of an older version is
 * brought up to this one. FPLT_BAD_VALUE when the path is a URI or `:memory:`, FPLT_IO when another process
 * has the file, FPLT_BAD_DATA when it is something else, damaged, or of a newer version. */
FPLT_API fplt_status fplt_ledger_open(const char *path, int make, fplt_ledger **ledger,
                                      fplt_error *error);
/* Closes the file and lets other processes open it; NULL is legal. */
FPLT_API void fplt_ledger_close(fplt_ledger *ledger);

/* The epsilon of charges that add up to `rate`, by the tight conversion; infinite for an infinite rate.
 * 0 < delta < 1. */
FPLT_API fplt_status fplt_ledger_epsilon(double rate, double delta, double *epsilon,
                                         fplt_error *error);

/* An account that is not there has spent nothing. */
typedef struct fplt_ledger_total {
    fplt_rates spent;    /* sums of all charges; infinite where one of them proves nothing */
    fplt_rates reserved; /* what runs that have not ended may still spend */
    uint64_t runs;       /* that were charged */
    uint64_t
        undeclared; /* runs of an older ledger, of which is not known against whom they claimed */
} fplt_ledger_total;

/* Writes the total of an account, or of all of them where `account` is NULL. FPLT_IO, FPLT_BAD_DATA. */
FPLT_API fplt_status fplt_ledger_sum(fplt_ledger *ledger, const char *account,
                                     fplt_ledger_total *total, fplt_error *error);

/* One run's charges to an account. */
typedef struct fplt_ledger_entry {
    const char *account;
    const unsigned char *run; /* FPLT_RUN_BYTES; all zero: adopted, of runs that are not known */
    const char *time;         /* of its first charge: 2026-03-14T09:26:53Z */
    uint64_t rounds;
    fplt_rates rates;
    const fplt_threat *threat; /* what the run claimed; NULL: not declared */
    const char *unit;
    uint64_t group;
    const char *mechanism; /* empty: not known */
} fplt_ledger_entry;

/* Account by account, in the order of their first charge; of one, or of all where it is NULL. Non-zero ends it.
 * The ledger must not be changed meanwhile. */
typedef int (*fplt_ledger_visitor)(void *context, const fplt_ledger_entry *entry);
FPLT_API fplt_status fplt_ledger_visit(fplt_ledger *ledger, const char *account,
                                       fplt_ledger_visitor visitor, void *context,
                                       fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
