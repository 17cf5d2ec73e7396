/* A private run's dealings with a ledger: whether its agents' budgets hold it, what was charged to
 * them before, and its own charges.
 *
 *     fplt__spending_create(settings, 0, plan, &spending, &error);     before the run
 *     ...
 *     fplt__spending_pay(spending, run.id, rounds, &error);  after it, before anything is written
 *     run.accounts = fplt__spending_accounts(spending);      for the certificate
 *
 * The ledger stays locked from create to destroy. Nothing of a run in one process leaves before it
 * has ended, so one charge an agent at its end is enough, and a run that is killed costs nothing. */
#ifndef FPLT_PROMISE_SPENDING_H
#define FPLT_PROMISE_SPENDING_H

#include "fedplt/certificate.h"
#include "promise/certificate.h"
#include "promise/ledger.h"
#include "promise/promise.h"

/* ledger, ledger-account, privacy.budget, sign */
extern const fplt_setting fplt__spending_table[];

/* Refuses settings of that table that do not fit those of the promise, with the reason. */
fplt_status fplt__spending_check(const fplt_settings *settings, fplt_error *error);

typedef struct fplt__spending fplt__spending;

/* Opens or makes the ledger of the settings (`ledger`, which must be given). What is charged are sets of
 * records: one for each file of `data`, whichever agents its rows belong to and whatever these are called.
 * The ledger knows a file by its content, or by its path if it was changed; otherwise its account is named
 * after the file. `ledger-account` names the accounts instead, one for each file or one for all, and must
 * where the ledger cannot tell: rows that a program handed over (`in_memory`), files that share rows with
 * another account, accounts of a ledger of an older version. Generated data have the account `generated`.
 *
 * `privacy.budget` is the epsilon that all runs together may cost the records at the plan's delta and group,
 * against the plan's threat model. FPLT_UNREACHABLE where the plan's rounds do not fit an account,
 * FPLT_BAD_VALUE where an account has to be declared or is another one. The plan is borrowed. */
fplt_status fplt__spending_create(const fplt_settings *settings, int in_memory,
                                  const fplt_promise_view *plan, fplt__spending **spending,
                                  fplt_error *error);
/* Closes the ledger and releases the accounts; NULL is legal. What was charged stays charged. */
void fplt__spending_destroy(fplt__spending *spending);

/* Charges each account for the rounds of its agents, less those it paid for before, all at once; on the disc
 * when it returns. Of a file that several agents share, the agent that costs most counts. */
fplt_status fplt__spending_pay(fplt__spending *spending, const unsigned char run[FPLT_RUN_BYTES],
                               const uint64_t *rounds, fplt_error *error);

/* One an agent: what was charged before this run. */
const fplt__certificate_account *fplt__spending_accounts(const fplt__spending *spending);

/* The cost of so many equal rounds. */
void fplt__cost_scale(fplt__cost *cost, double times);

/* Whether each account has room for cost[i], against the budget's adversary. */
fplt_status fplt__accounts_admit(fplt_ledger *ledger, const fplt__record_sets *sets,
                                 const fplt__cost *cost, const fplt__ledger_budget *budget,
                                 fplt_error *error);
/* Attaches the data to the accounts and keeps the cost of a whole run for it. */
fplt_status fplt__accounts_reserve(fplt_ledger *ledger, const fplt__record_sets *sets,
                                   const fplt__cost *cost, const unsigned char run[FPLT_RUN_BYTES],
                                   const fplt__ledger_budget *budget, fplt_error *error);
/* Charges every account: cost[i] to that of set i, or the only one of `costs` to all. `about` says of which run and rounds, and against whom it
 * claims; account, rates, unit and mechanism come from the cost. */
fplt_status fplt__accounts_charge(fplt_ledger *ledger, const fplt__record_sets *sets,
                                  const fplt__cost *cost, size_t costs, const fplt__charge *about,
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
                                 fplt__certificate_charge **charges, size_t *count,
                                 fplt_error *error);

#endif
