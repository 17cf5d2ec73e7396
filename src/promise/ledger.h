/* The ledger as its siblings see it: receipts, and which data belong to which account. */
#ifndef FPLT_PROMISE_LEDGER_H
#define FPLT_PROMISE_LEDGER_H

#include "base/database.h"
#include "fedplt/ledger.h"
#include "privacy/receipt.h"

/* What all runs together may cost; epsilon is infinite where nothing is stated. */
typedef struct fplt__ledger_budget {
    double epsilon, delta;
    uint64_t group;            /* for so many records at once; 0 is 1 */
    const fplt_threat *threat; /* against whom, a guarantee; NULL: transcript */
} fplt__ledger_budget;

typedef struct fplt__charge {
    const char *account;
    unsigned char run[FPLT_RUN_BYTES];
    uint32_t incarnation;
    uint64_t round;             /* the last one that is paid for */
    uint64_t rounds;            /* how many */
    fplt_rates rates;           /* of all of them together, of one record; at least 0 */
    const fplt_threat *threat;  /* what the run claims, finite there; NULL: transcript */
    const char *unit;           /* record, person or group; NULL: record */
    uint64_t group;             /* records of such a unit; 0 is 1 */
    const char *mechanism;      /* in words, or NULL */
    const unsigned char *chain; /* FPLT_RUN_BYTES, or NULL */
} fplt__charge;

fplt__database *fplt__ledger_database(fplt_ledger *ledger);
/* Of the file, known to nobody else: 32 bytes. */
const unsigned char *fplt__ledger_key(const fplt_ledger *ledger);
/* Makes the account if it is not there; within a transaction. */
fplt_status fplt__ledger_open_account(fplt_ledger *ledger, const char *account, fplt_error *error);

/* Relative difference of two sums of the same rates in different order. */
#define FPLT__LEDGER_ROUNDING 1e-9

/* Stores a charge with its rates, and adds them to what its run has spent; within a transaction, of an account that is
 * there, and whatever was reserved. */
fplt_status fplt__ledger_store_charge(fplt_ledger *ledger, const fplt__charge *charge,
                                      fplt_error *error);

/* ---- receipts (receipts.c) ---- */

/* What the whole ledger has spent, and on a run. */
fplt_status fplt__ledger_receipt(fplt_ledger *ledger, const unsigned char run[FPLT_RUN_BYTES],
                                 fplt__receipt *receipt, fplt_error *error);
/* Charges what a receipt shows above the ledger: to the receipt's run as far as it is of that run, whatever
 * was reserved for it, and the rest to no known run. The account is the run's own, or that of the last
 * charge, or "records" in an empty ledger. A smaller receipt changes nothing. */
fplt_status fplt__ledger_adopt(fplt_ledger *ledger, const fplt__receipt *receipt,
                               fplt_error *error);

/* Where an empty ledger adopts to, and what agents of older versions called their account. */
#define FPLT__ACCOUNT_OWN "records"

/* ---- the account of a set of records (record_sets.c) ---- */

/* The data files of a run and the account of each. */
typedef struct fplt__record_sets fplt__record_sets;

/* What the records of a run are. */
typedef struct fplt__record_source {
    const char *files;    /* a list of paths; NULL: none */
    int is_agent;         /* of a federation: older versions called its account "records" */
    int in_memory;        /* rows that a program handed over: their account must be declared */
    const char *declared; /* the names of accounts: one for each file, or one for all; NULL: none */
    const char *setting;  /* what declares them, for sentences: --ledger-account */
} fplt__record_source;

/* Finds the account of each file: by content, by path (a file that was changed keeps its account), or a new
 * one named after the file. FPLT_BAD_VALUE, with what to declare, where the records may be those of another
 * account, and where a declared name is not the one that the ledger knows them by. Writes nothing. */
fplt_status fplt__record_sets_find(fplt_ledger *ledger, const fplt__record_source *source,
                                   fplt__record_sets **sets, fplt_error *error);
void fplt__record_sets_destroy(fplt__record_sets *sets);
size_t fplt__record_sets_count(const fplt__record_sets *sets);
const char *fplt__record_sets_account(const fplt__record_sets *sets, size_t index);
/* The name of the file without folder and endings. */
const char *fplt__record_sets_stem(const fplt__record_sets *sets, size_t index);
/* Has the ledger remember which data the accounts are of; before they are charged. */
fplt_status fplt__record_sets_attach(fplt_ledger *ledger, const fplt__record_sets *sets,
                                     fplt_error *error);

/* Whether `rates` more fit the budget against its adversary, beside all that is spent and reserved:
 * FPLT_UNREACHABLE, with the figures, where they do not; also without a stated budget, where an earlier
 * charge proves nothing against that adversary. FPLT_BAD_VALUE where that is because it is not declared. */
fplt_status fplt__ledger_admit(fplt_ledger *ledger, const char *account, const fplt_rates *rates,
                               const fplt__ledger_budget *budget, fplt_error *error);

/* Keeps `rates` for a run if they fit. Asked again for the same run and rates it changes nothing; for
 * others, or for a run that was settled, FPLT_BAD_VALUE. */
fplt_status fplt__ledger_reserve(fplt_ledger *ledger, const char *account,
                                 const unsigned char run[FPLT_RUN_BYTES], const fplt_rates *rates,
                                 const fplt__ledger_budget *budget, fplt_error *error);

/* All of them or none, on the disc when it returns. FPLT_UNREACHABLE where a run would go beyond
 * what was reserved for it; a run without a reservation is charged whatever it asks (who holds the
 * file from fplt__ledger_admit until here needs none). */
fplt_status fplt__ledger_charge(fplt_ledger *ledger, const fplt__charge *charges, size_t count,
                                fplt_error *error);

/* The run has ended: what it kept and did not spend is free again, and it can be charged no more. */
fplt_status fplt__ledger_settle(fplt_ledger *ledger, const char *account,
                                const unsigned char run[FPLT_RUN_BYTES], fplt_error *error);

/* On a person's word: all charges of an older ledger of which it is not known claimed against `threat`, a
 * guarantee. Of all but final-x the rate then counts against every adversary. `runs`: how many there
 * were. */
fplt_status fplt__ledger_declare(fplt_ledger *ledger, const fplt_threat *threat, uint64_t *runs,
                                 fplt_error *error);

/* On a person's word: accounts `from` and `into` are the same records. All that was charged, kept and known of `from` becomes that
 * of `into`; a run that charged both is charged the sum. FPLT_BAD_VALUE where one of them is not there or both are one. */
fplt_status fplt__ledger_merge(fplt_ledger *ledger, const char *from, const char *into,
                               fplt_error *error);

#endif
