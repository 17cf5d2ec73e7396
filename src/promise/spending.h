/* Charging, for `train` and for the agent of a federation alike: what a cost is in the accounts of the
 * records. */
#ifndef FPLT_PROMISE_SPENDING_H
#define FPLT_PROMISE_SPENDING_H

#include "fedplt/spending.h"
#include "promise/ledger.h"
#include "promise/promise.h"

/* The cost of so many equal rounds. */
void fplt__cost_scale(fplt__cost *cost, double times);

/* Whether each account has room for cost[i], against the budget's adversary. */
fplt_status fplt__accounts_admit(fplt_ledger *ledger, const fplt__record_sets *sets,
                                 const fplt__cost *cost, const fplt_ledger_budget *budget,
                                 fplt_error *error);
/* Attaches the data to the accounts and keeps the cost of a whole run for it. */
fplt_status fplt__accounts_reserve(fplt_ledger *ledger, const fplt__record_sets *sets,
                                   const fplt__cost *cost, const unsigned char run[FPLT_RUN_BYTES],
                                   const fplt_ledger_budget *budget, fplt_error *error);
/* Charges every account: cost[i] to that of set i, or the only one of `costs` to all. `about` says of which run and rounds, and against whom it
 * claims; account, rates, unit and mechanism come from the cost. */
fplt_status fplt__accounts_charge(fplt_ledger *ledger, const fplt__record_sets *sets,
                                  const fplt__cost *cost, size_t costs, const fplt_charge *about,
                                  fplt_error *error);
fplt_status fplt__accounts_settle(fplt_ledger *ledger, const fplt__record_sets *sets,
                                  const unsigned char run[FPLT_RUN_BYTES], fplt_error *error);

/* Of the accounts the one that has spent most against the adversary: whose records have the weakest
 * claim. */
fplt_status fplt__accounts_weakest(fplt_ledger *ledger, const fplt__record_sets *sets,
                                   const fplt_threat *threat, size_t *index, fplt_error *error);

/* What a ledger has on an account against an adversary but for one run (NULL: all of it); released with
 * fplt__free. */
fplt_status fplt__ledger_earlier(fplt_ledger *ledger, const char *account,
                                 const fplt_threat *threat, const unsigned char *but,
                                 fplt_certificate_charge **charges, size_t *count,
                                 fplt_error *error);

#endif
