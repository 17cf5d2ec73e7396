/* One release of numbers with noise, such as a described table: its budget as settings, and its charge to a ledger. */
#ifndef FPLT_PROMISE_RELEASE_H
#define FPLT_PROMISE_RELEASE_H

#include "fedplt/settings_table.h"

/* privacy.epsilon, privacy.delta, ledger, ledger-account, privacy.budget. */
extern const fplt_setting fplt__release_table[];

/**
 * Charges the records of files for what is about to be shown; call it after all that may fail, and before anything is shown.
 *
 * @param settings   of that table, or of a training; without `ledger` nothing is charged
 * @param paths      `count` files
 * @param rate       Renyi divergence of order a is at most a times this, for one record of any file
 * @param mechanism  in words, for the ledger
 * @retval FPLT_UNREACHABLE  the budget of an account has no room for it; nothing was charged
 * @retval FPLT_BAD_VALUE    an account has to be declared
 */
fplt_status fplt__release_charge(const fplt_settings *settings, const char *const *paths,
                                 size_t count, double rate, const char *mechanism,
                                 fplt_error *error);

#endif
