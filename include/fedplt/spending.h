/* A private run's dealings with a ledger: whether its agents' budgets hold it, what was charged to
 * them before, and its own charges.
 *
 *     fplt_spending_create("ledger.db", plan, budget, &spending, &error);     before the run
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

/* ledger, privacy.budget, sign */
FPLT_API extern const fplt_setting fplt_spending_table[];

/* Refuses settings of that table that do not fit those of the promise, with the reason. */
FPLT_API fplt_status fplt_spending_check(const fplt_settings *settings, fplt_error *error);

typedef struct fplt_spending fplt_spending;

/* Opens or makes the ledger. An agent's account has its name; without one it is FPLT_LEDGER_OWN for
 * an only agent and `agent 3` otherwise. `budget` is the epsilon that all runs together may cost an
 * agent's records at the plan's delta and group; infinite: none is stated. FPLT_UNREACHABLE where
 * the plan's rounds do not fit an account. The plan is borrowed. */
FPLT_API fplt_status fplt_spending_create(const char *path, const fplt_promise_view *plan,
                                          double budget, fplt_spending **spending,
                                          fplt_error *error);
FPLT_API void fplt_spending_destroy(fplt_spending *spending);

/* Charges each agent for its rounds, less those it paid for before, all at once; on the disc when it
 * returns. */
FPLT_API fplt_status fplt_spending_pay(fplt_spending *spending,
                                       const unsigned char run[FPLT_RUN_BYTES],
                                       const uint64_t *rounds, fplt_error *error);

/* One an agent: what was charged before this run. */
FPLT_API const fplt_certificate_account *fplt_spending_accounts(const fplt_spending *spending);

#ifdef __cplusplus
}
#endif
#endif
