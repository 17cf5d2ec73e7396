/* Two accounts that are the same records become one, on a person's word: what was spent on either was spent on them. */
#include <string.h>

#include "promise/ledger.h"
#include "promise/ledger_rows.h"

#define INTO "(SELECT id FROM account WHERE name = ?2)"
#define FROM "(SELECT id FROM account WHERE name = ?1)"

/* A run that charged both is charged the sum. */
static const char *const steps[] = {
    "INSERT INTO spent SELECT " INTO ", run, adversary, rate, unproved, rounds FROM spent"
    " WHERE account = " FROM " ON CONFLICT DO UPDATE SET rate = rate + excluded.rate,"
    " unproved = unproved + excluded.unproved, rounds = rounds + excluded.rounds",
    "INSERT INTO reserved SELECT " INTO ", run, adversary, rate FROM reserved WHERE account = " FROM
    " ON CONFLICT DO UPDATE SET rate = rate + excluded.rate",
    "INSERT INTO reservation(account, run, time, settled) SELECT " INTO
    ", run, time, settled FROM reservation WHERE account = " FROM
    " ON CONFLICT DO UPDATE SET settled = min(settled, excluded.settled)",
    "DELETE FROM spent WHERE account = " FROM,
    "DELETE FROM reserved WHERE account = " FROM,
    "DELETE FROM reservation WHERE account = " FROM,
    "UPDATE charge SET account = " INTO " WHERE account = " FROM,
    "UPDATE source SET account = " INTO " WHERE account = " FROM,
    "DELETE FROM account WHERE name = ?1 AND ?2 NOTNULL",
};

static fplt_status find_account(fplt_ledger *ledger, const char *name, fplt_error *error)
{
    uint64_t found;
    fplt_status status =
        fplt__rows_count(fplt__ledger_database(ledger),
                         "SELECT count(*) FROM account WHERE name = ?1", name, NULL, &found, error);
    if (status || found)
        return status;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%.300s: there is no account '%.80s'; `fedplt privacy ledger` lists them",
                          fplt__database_path(fplt__ledger_database(ledger)), name);
}

fplt_status fplt__ledger_merge(fplt_ledger *ledger, const char *from, const char *into,
                               fplt_error *error)
{
    fplt__database *database = fplt__ledger_database(ledger);
    fplt_status status = find_account(ledger, from, error);
    if (!status)
        status = find_account(ledger, into, error);
    if (status)
        return status;
    if (strcmp(from, into) == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE, "account '%.80s' is merged into itself", from);
    if ((status = fplt__database_begin(database, error)))
        return status;
    for (size_t i = 0; !status && i < sizeof steps / sizeof *steps; i++) {
        sqlite3_stmt *query;
        status = fplt__database_prepare(database, steps[i], &query, error);
        sqlite3_bind_text(query, 1, from, -1, SQLITE_STATIC);
        sqlite3_bind_text(query, 2, into, -1, SQLITE_STATIC);
        status = fplt__database_finish(database, query, status, error);
    }
    return fplt__database_end(database, status, error);
}
