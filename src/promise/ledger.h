/* The ledger as its siblings see it: receipts, and which data belong to which account. */
#ifndef FPLT_PROMISE_LEDGER_H
#define FPLT_PROMISE_LEDGER_H

#include "base/database.h"
#include "fedplt/ledger.h"
#include "privacy/receipt.h"

fplt__database *fplt__ledger_database(fplt_ledger *ledger);
/* Of the file, known to nobody else: 32 bytes. */
const unsigned char *fplt__ledger_key(const fplt_ledger *ledger);
/* Makes the account if it is not there; within a transaction. */
fplt_status fplt__ledger_open_account(fplt_ledger *ledger, const char *account, fplt_error *error);

/* Relative difference of two sums of the same rates in different order. */
#define FPLT__LEDGER_ROUNDING 1e-9

/* Stores a charge with its rates, and adds them to what its run has spent; within a transaction, of an account that is
 * there, and whatever was reserved. */
fplt_status fplt__ledger_store_charge(fplt_ledger *ledger, const fplt_charge *charge,
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

#endif
