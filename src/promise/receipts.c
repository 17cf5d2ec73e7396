/* Receipts of a ledger, and the adoption of charges that a receipt shows and the ledger has lost. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "promise/ledger.h"
#include "promise/ledger_rows.h"

fplt_status fplt__ledger_receipt(fplt_ledger *ledger, const unsigned char run[FPLT_RUN_BYTES],
                                 fplt__receipt *receipt, fplt_error *error)
{
    fplt_ledger_total total;
    fplt_status status;
    memset(receipt, 0, sizeof *receipt);
    memcpy(receipt->run, run, sizeof receipt->run);
    if ((status = fplt_ledger_sum(ledger, NULL, &total, error)) ||
        (status =
             fplt__rows_rates(fplt__ledger_database(ledger),
                              "SELECT adversary, sum(rate), sum(unproved) FROM spent WHERE run = ?2"
                              " GROUP BY adversary",
                              NULL, run, &receipt->of_run, error)) ||
        (status = fplt__rows_count(fplt__ledger_database(ledger),
                                   "SELECT max(rounds) FROM spent WHERE run = ?2", NULL, run,
                                   &receipt->rounds, error)))
        return status;
    receipt->spent = total.spent;
    return FPLT_OK;
}

/* The account that lost charges belong to. */
static fplt_status find_adopting(fplt_ledger *ledger, const unsigned char *run, char *account,
                                 fplt_error *error)
{
    sqlite3_stmt *query;
    int row = 0;
    fplt_status status =
        fplt__rows_prepare(fplt__ledger_database(ledger),
                           "SELECT name FROM account LEFT JOIN charge ON account = account.id"
                           " ORDER BY run IS ?2 DESC, charge.id DESC LIMIT 1",
                           NULL, run, &query, error);
    if (!status)
        status = fplt__database_step(fplt__ledger_database(ledger), query, &row, error);
    snprintf(account, FPLT_ACCOUNT, "%s",
             !status && row ? (const char *)sqlite3_column_text(query, 0) : FPLT__ACCOUNT_OWN);
    sqlite3_finalize(query);
    return status;
}

/* `more` less `less` where that is more than rounding; whether anything is left. */
static int subtract(const fplt_rates *more, const fplt_rates *less, fplt_rates *left)
{
    int some = 0;
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++) {
        double a = more->against[k], b = less->against[k];
        left->against[k] = a > b * (1 + FPLT__LEDGER_ROUNDING) ? a - b : 0;
        FPLT__ASSERT(left->against[k] >= 0);
        some |= left->against[k] > 0;
    }
    return some;
}

static fplt_status adopt(fplt_ledger *ledger, const fplt__receipt *receipt,
                         const fplt__receipt *own, fplt_error *error)
{
    char account[FPLT_ACCOUNT];
    fplt_rates left;
    fplt__charge charge = {.account = account,
                           .rounds =
                               receipt->rounds > own->rounds ? receipt->rounds - own->rounds : 0,
                           .mechanism = "adopted from a receipt"};
    FPLT__ASSERT(memcmp(receipt->run, own->run, sizeof own->run) == 0);
    fplt_status status = find_adopting(ledger, receipt->run, account, error);
    if (status || (status = fplt__ledger_open_account(ledger, account, error)))
        return status;
    memcpy(charge.run, receipt->run, sizeof charge.run);
    int some = subtract(&receipt->spent, &own->spent, &left);
    if (subtract(&receipt->of_run, &own->of_run, &charge.rates) || charge.rounds) {
        if ((status = fplt__ledger_store_charge(ledger, &charge, error)))
            return status;
        for (size_t k = 0; some && k < FPLT_ADVERSARIES; k++)
            left.against[k] -= charge.rates.against[k];
    }
    some = 0;
    memset(charge.run, 0, sizeof charge.run);
    charge.rounds = 0;
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++) {
        double rate = left.against[k];
        charge.rates.against[k] =
            rate > FPLT__LEDGER_ROUNDING * receipt->spent.against[k] ? rate : 0;
        some |= charge.rates.against[k] > 0;
    }
    return some ? fplt__ledger_store_charge(ledger, &charge, error) : FPLT_OK;
}

fplt_status fplt__ledger_adopt(fplt_ledger *ledger, const fplt__receipt *receipt, fplt_error *error)
{
    fplt__receipt own;
    fplt_status status = fplt__ledger_receipt(ledger, receipt->run, &own, error);
    if (status || (status = fplt__database_begin(fplt__ledger_database(ledger), error)))
        return status;
    return fplt__database_end(fplt__ledger_database(ledger), adopt(ledger, receipt, &own, error),
                              error);
}
