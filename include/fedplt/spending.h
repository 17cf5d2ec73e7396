/* A private run's dealings with a ledger: whether its agents' budgets hold it, what was charged to
 * them before, and its own charges.
 *
 *     fplt_spending_create(settings, 0, plan, &spending, &error);     before the run
 *     ...
 *     fplt_spending_pay(spending, run.id, rounds, &error);  after it, before anything is written
 *     run.accounts = fplt_spending_accounts(spending);      for the certificate
 *
 * The ledger stays locked from create to destroy. Nothing of a run in one process leaves before it
 * has ended, so one charge an agent at its end is enough, and a run that is killed costs nothing. */
#ifndef FEDPLT_SPENDING_H
#define FEDPLT_SPENDING_H

#include "fedplt/certificate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ledger, ledger-account, privacy.budget, sign */
FPLT_API extern const fplt_setting fplt_spending_table[];

/* Refuses settings of that table that do not fit those of the promise, with the reason. */
FPLT_API fplt_status fplt_spending_check(const fplt_settings *settings, fplt_error *error);

typedef struct fplt_spending fplt_spending;

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
FPLT_API fplt_status fplt_spending_create(const fplt_settings *settings, int in_memory,
                                          const fplt_promise_view *plan, fplt_spending **spending,
                                          fplt_error *error);
/* Closes the ledger and releases the accounts; NULL is legal. What was charged stays charged. */
FPLT_API void fplt_spending_destroy(fplt_spending *spending);

/* Charges each account for the rounds of its agents, less those it paid for before, all at once; on the disc
 * when it returns. Of a file that several agents share, the agent that costs most counts. */
FPLT_API fplt_status fplt_spending_pay(fplt_spending *spending,
                                       const unsigned char run[FPLT_RUN_BYTES],
                                       const uint64_t *rounds, fplt_error *error);

/* One an agent: what was charged before this run. */
FPLT_API const fplt_certificate_account *fplt_spending_accounts(const fplt_spending *spending);

#ifdef __cplusplus
}
#endif
#endif
