/* The ledger: accounts with their sums, charges, reservations, and the key of its proofs. Sums are
 * kept beside the charges, in the same transaction, so that asking for one reads a single row;
 * opening adds the charges up once and compares. */
#include "fedplt/ledger.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

#include "base/database.h"
#include "base/machine.h"
#include "base/memory.h"
#include "fedplt/privacy.h"

static const char *const schema[] = {
    "CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spent REAL NOT NULL);"
    "CREATE TABLE charge(id INTEGER PRIMARY KEY, time TEXT NOT NULL, run BLOB NOT NULL,"
    " leg INT NOT NULL, round INT NOT NULL, rate REAL NOT NULL, chain BLOB,"
    " rounds INT NOT NULL, account INT NOT NULL REFERENCES account(id));"
    "CREATE INDEX charge_of_run ON charge(account, run);"
    "CREATE TABLE reservation(account INT NOT NULL REFERENCES account(id), run BLOB NOT NULL,"
    " rate REAL NOT NULL, time TEXT NOT NULL, settled INT NOT NULL, PRIMARY KEY(account, run));"
    "CREATE TABLE key(id INTEGER PRIMARY KEY CHECK(id = 1), secret BLOB NOT NULL);",
};

static const struct fplt__database_form form = {"ledger", 0x46504c47 /* FPLG */, 1, schema};

struct fplt_ledger {
    fplt__database *database;
    unsigned char key[crypto_auth_KEYBYTES];
};

/* Sums of the same rates in another order. */
static const double rounding = 1e-9;

/* ---- opening ---- */

static fplt_status read_key(fplt_ledger *ledger, int *found, fplt_error *error)
{
    sqlite3_stmt *query;
    fplt_status status =
        fplt__database_prepare(ledger->database, "SELECT secret FROM key", &query, error);
    if (!status)
        status = fplt__database_step(ledger->database, query, found, error);
    if (!status && *found) {
        if (sqlite3_column_bytes(query, 0) == (int)sizeof ledger->key)
            memcpy(ledger->key, sqlite3_column_blob(query, 0), sizeof ledger->key);
        else
            status = fplt_error_set(error, FPLT_BAD_DATA, "%s: the ledger's key is damaged",
                                    fplt__database_path(ledger->database));
    }
    sqlite3_finalize(query);
    return status;
}

static fplt_status make_key(fplt_ledger *ledger, fplt_error *error)
{
    sqlite3_stmt *query;
    fplt_status status =
        fplt__database_prepare(ledger->database, "INSERT INTO key(id, secret) VALUES(1, ?1)",
                               &query, error);
    crypto_auth_keygen(ledger->key);
    sqlite3_bind_blob(query, 1, ledger->key, sizeof ledger->key, SQLITE_TRANSIENT);
    return fplt__database_finish(ledger->database, query, status, error);
}

/* Each account's sum must be that of its charges. */
static fplt_status check_sums(fplt_ledger *ledger, fplt_error *error)
{
    sqlite3_stmt *query;
    int row = 0;
    fplt_status status = fplt__database_prepare(
        ledger->database,
        "SELECT name, spent, ifnull((SELECT sum(rate) FROM charge WHERE account = account.id), 0) "
        "FROM account",
        &query, error);
    while (!status && !(status = fplt__database_step(ledger->database, query, &row, error)) &&
           row) {
        double spent = sqlite3_column_double(query, 1), sum = sqlite3_column_double(query, 2);
        if (!(fabs(spent - sum) <= rounding * sum))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "%s: the charges to %s add up to %.10g and not to %.10g, as "
                                    "the ledger says: it was altered",
                                    fplt__database_path(ledger->database),
                                    (const char *)sqlite3_column_text(query, 0), sum, spent);
    }
    sqlite3_finalize(query);
    return status;
}

fplt_status fplt_ledger_open(const char *path, int make, fplt_ledger **out, fplt_error *error)
{
    fplt_ledger *ledger;
    int found = 0;
    *out = NULL;
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "libsodium could not be initialised");
    fplt_status status = fplt__alloc_into(&ledger, 1, sizeof *ledger, "the ledger", error);
    if (status)
        return status;
    if ((status = fplt__database_open(path, make, &form, &ledger->database, error)) ||
        (status = read_key(ledger, &found, error)) ||
        (!found && (status = make_key(ledger, error))) || (status = check_sums(ledger, error))) {
        fplt_ledger_close(ledger);
        return status;
    }
    *out = ledger;
    return FPLT_OK;
}

void fplt_ledger_close(fplt_ledger *ledger)
{
    if (!ledger)
        return;
    fplt__database_close(ledger->database);
    sodium_memzero(ledger, sizeof *ledger);
    fplt__free(ledger);
}

/* ---- reading ---- */

fplt_status fplt_ledger_epsilon(double rate, double delta, double *epsilon, fplt_error *error)
{
    fplt_privacy_claim claim = {.method = "a sum of charges", .renyi_rate = rate};
    return fplt_privacy_epsilon(&claim, FPLT_CONVERT_TIGHT, delta, epsilon, error);
}

/* What a run may still spend is what it kept, less its charges. */
fplt_status fplt_ledger_sum(fplt_ledger *ledger, const char *account, fplt_ledger_total *total,
                            fplt_error *error)
{
    sqlite3_stmt *query;
    int row = 0;
    *total = (fplt_ledger_total){0, 0, 0};
    fplt_status status = fplt__database_prepare(
        ledger->database,
        "SELECT spent,"
        " (SELECT count(DISTINCT run) FROM charge WHERE account = account.id AND rate > 0),"
        " (SELECT sum(max(0, r.rate - ifnull((SELECT sum(rate) FROM charge c WHERE"
        "   c.account = r.account AND c.run = r.run), 0)))"
        "  FROM reservation r WHERE r.account = account.id AND NOT r.settled)"
        " FROM account WHERE name = ?1",
        &query, error);
    sqlite3_bind_text(query, 1, account, -1, SQLITE_STATIC);
    if (!status && !(status = fplt__database_step(ledger->database, query, &row, error)) && row) {
        total->spent = sqlite3_column_double(query, 0);
        total->runs = (uint64_t)sqlite3_column_int64(query, 1);
        total->reserved = sqlite3_column_double(query, 2);
    }
    sqlite3_finalize(query);
    return status;
}

fplt_status fplt_ledger_visit(fplt_ledger *ledger, const char *account, fplt_ledger_visitor visitor,
                              void *context, fplt_error *error)
{
    sqlite3_stmt *query;
    int row = 0, ended = 0;
    fplt_status status =
        fplt__database_prepare(ledger->database,
                               "SELECT name, run, min(time), sum(rounds), sum(rate) FROM charge "
                               "JOIN account ON account.id = charge.account "
                               "WHERE ?1 IS NULL OR name = ?1 "
                               "GROUP BY account.id, run ORDER BY account.id, min(charge.id)",
                               &query, error);
    if (account)
        sqlite3_bind_text(query, 1, account, -1, SQLITE_STATIC);
    while (!status && !ended &&
           !(status = fplt__database_step(ledger->database, query, &row, error)) && row) {
        fplt_ledger_entry entry = {.account = (const char *)sqlite3_column_text(query, 0),
                                   .run = sqlite3_column_blob(query, 1),
                                   .time = (const char *)sqlite3_column_text(query, 2),
                                   .rounds = (uint64_t)sqlite3_column_int64(query, 3),
                                   .rate = sqlite3_column_double(query, 4)};
        if (sqlite3_column_bytes(query, 1) != FPLT_RUN_BYTES)
            status = fplt_error_set(error, FPLT_BAD_DATA, "%s: the name of a run is damaged",
                                    fplt__database_path(ledger->database));
        else
            ended = visitor(context, &entry);
    }
    sqlite3_finalize(query);
    return status;
}

/* ---- spending ---- */

static fplt_status check_rate(double rate, fplt_error *error)
{
    return isfinite(rate) && rate >= 0
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "a charge is %g, but it must be finite and at least 0", rate);
}

fplt_status fplt_ledger_admit(fplt_ledger *ledger, const char *account, double rate,
                              const fplt_ledger_budget *budget, fplt_error *error)
{
    fplt_ledger_total total;
    double before, after;
    fplt_status status;
    if ((status = check_rate(rate, error)) ||
        (status = fplt_ledger_sum(ledger, account, &total, error)) || isinf(budget->epsilon))
        return status;
    double held = total.spent + total.reserved, group = budget->group ? (double)budget->group : 1;
    double scale = group * group;
    if ((status = fplt_ledger_epsilon(scale * held, budget->delta, &before, error)) ||
        (status = fplt_ledger_epsilon(scale * (held + rate), budget->delta, &after, error)))
        return status;
    if (after <= budget->epsilon)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNREACHABLE,
                          "%s: %s has spent or kept epsilon %.4g, and with this run it would be "
                          "%.4g, but its budget is %g at delta %g",
                          fplt__database_path(ledger->database), account, before, after,
                          budget->epsilon, budget->delta);
}

static fplt_status open_account(fplt_ledger *ledger, const char *account, fplt_error *error)
{
    sqlite3_stmt *query;
    fplt_status status =
        fplt__database_prepare(ledger->database,
                               "INSERT OR IGNORE INTO account(name, spent) VALUES(?1, 0)", &query,
                               error);
    sqlite3_bind_text(query, 1, account, -1, SQLITE_STATIC);
    return fplt__database_finish(ledger->database, query, status, error);
}

/* A statement about a run of an account: ?1 and ?2. */
static fplt_status prepare_run(fplt_ledger *ledger, const char *statement, const char *account,
                               const unsigned char *run, sqlite3_stmt **query, fplt_error *error)
{
    fplt_status status = fplt__database_prepare(ledger->database, statement, query, error);
    sqlite3_bind_text(*query, 1, account, -1, SQLITE_STATIC);
    sqlite3_bind_blob(*query, 2, run, FPLT_RUN_BYTES, SQLITE_STATIC);
    return status;
}

struct reservation {
    int found, settled;
    double rate, spent; /* kept for the run; charged to it */
};

static fplt_status find_reservation(fplt_ledger *ledger, const char *account,
                                    const unsigned char *run, struct reservation *found,
                                    fplt_error *error)
{
    sqlite3_stmt *query;
    *found = (struct reservation){0, 0, 0, 0};
    fplt_status status =
        prepare_run(ledger,
                    "SELECT r.rate, r.settled, ifnull((SELECT sum(rate) FROM charge c WHERE "
                    "c.account = r.account AND c.run = r.run), 0) FROM reservation r JOIN account "
                    "ON account.id = r.account WHERE name = ?1 AND run = ?2",
                    account, run, &query, error);
    if (!status)
        status = fplt__database_step(ledger->database, query, &found->found, error);
    if (!status && found->found) {
        found->rate = sqlite3_column_double(query, 0);
        found->settled = sqlite3_column_int(query, 1);
        found->spent = sqlite3_column_double(query, 2);
    }
    sqlite3_finalize(query);
    return status;
}

static fplt_status store_reservation(fplt_ledger *ledger, const char *account,
                                     const unsigned char *run, double rate, fplt_error *error)
{
    sqlite3_stmt *query = NULL;
    char time[FPLT_TIME_SPACE];
    fplt_status status = fplt__database_begin(ledger->database, error);
    if (status)
        return status;
    fplt__time_text(time);
    if (!(status = open_account(ledger, account, error)) &&
        !(status = prepare_run(ledger,
                               "INSERT INTO reservation(account, run, rate, time, settled) "
                               "SELECT id, ?2, ?3, ?4, 0 FROM account WHERE name = ?1",
                               account, run, &query, error))) {
        sqlite3_bind_double(query, 3, rate);
        sqlite3_bind_text(query, 4, time, -1, SQLITE_STATIC);
    }
    status = fplt__database_finish(ledger->database, query, status, error);
    return fplt__database_end(ledger->database, status, error);
}

fplt_status fplt_ledger_reserve(fplt_ledger *ledger, const char *account,
                                const unsigned char run[FPLT_RUN_BYTES], double rate,
                                const fplt_ledger_budget *budget, fplt_error *error)
{
    struct reservation found;
    fplt_status status = find_reservation(ledger, account, run, &found, error);
    if (status)
        return status;
    if (found.found && found.settled)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: the run was settled with %s before",
                              fplt__database_path(ledger->database), account);
    if (found.found)
        return found.rate == rate
                   ? FPLT_OK
                   : fplt_error_set(error, FPLT_BAD_VALUE,
                                    "%s: %.10g is kept for the run and not %.10g",
                                    fplt__database_path(ledger->database), found.rate, rate);
    status = fplt_ledger_admit(ledger, account, rate, budget, error);
    return status ? status : store_reservation(ledger, account, run, rate, error);
}

static fplt_status check_charge(fplt_ledger *ledger, const fplt_charge *charge, fplt_error *error)
{
    struct reservation found;
    const char *path = fplt__database_path(ledger->database);
    fplt_status status = check_rate(charge->rate, error);
    if (status || (status = find_reservation(ledger, charge->account, charge->run, &found, error)))
        return status;
    if (found.settled)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: the run has ended for %s", path,
                              charge->account);
    if (found.found && found.spent + charge->rate > found.rate * (1 + rounding))
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "%s: the run has spent %.6g of the %.6g that %s kept for it, and "
                              "%.6g more would go beyond",
                              path, found.spent, found.rate, charge->account, charge->rate);
    return FPLT_OK;
}

static fplt_status store_charge(fplt_ledger *ledger, const fplt_charge *charge, fplt_error *error)
{
    sqlite3_stmt *query;
    char time[FPLT_TIME_SPACE];
    fplt_status status =
        prepare_run(ledger,
                    "INSERT INTO charge(time, run, leg, round, rate, chain, rounds, account) "
                    "SELECT ?3, ?2, ?4, ?5, ?6, ?7, ?8, id FROM account WHERE name = ?1",
                    charge->account, charge->run, &query, error);
    fplt__time_text(time);
    sqlite3_bind_text(query, 3, time, -1, SQLITE_STATIC);
    sqlite3_bind_int64(query, 4, charge->leg);
    sqlite3_bind_int64(query, 5, (sqlite3_int64)charge->round);
    sqlite3_bind_double(query, 6, charge->rate);
    if (charge->chain)
        sqlite3_bind_blob(query, 7, charge->chain, FPLT_RUN_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(query, 8, (sqlite3_int64)charge->rounds);
    if ((status = fplt__database_finish(ledger->database, query, status, error)))
        return status;
    status = fplt__database_prepare(
        ledger->database, "UPDATE account SET spent = spent + ?2 WHERE name = ?1", &query, error);
    sqlite3_bind_text(query, 1, charge->account, -1, SQLITE_STATIC);
    sqlite3_bind_double(query, 2, charge->rate);
    return fplt__database_finish(ledger->database, query, status, error);
}

fplt_status fplt_ledger_charge(fplt_ledger *ledger, const fplt_charge *charges, size_t count,
                               fplt_error *error)
{
    fplt_status status = fplt__database_begin(ledger->database, error);
    if (status)
        return status;
    for (size_t i = 0; !status && i < count; i++)
        if (!(status = open_account(ledger, charges[i].account, error)) &&
            !(status = check_charge(ledger, &charges[i], error)))
            status = store_charge(ledger, &charges[i], error);
    return fplt__database_end(ledger->database, status, error);
}

fplt_status fplt_ledger_settle(fplt_ledger *ledger, const char *account,
                               const unsigned char run[FPLT_RUN_BYTES], fplt_error *error)
{
    sqlite3_stmt *query;
    fplt_status status = prepare_run(ledger,
                                     "UPDATE reservation SET settled = 1 WHERE run = ?2 AND "
                                     "account = (SELECT id FROM account WHERE name = ?1)",
                                     account, run, &query, error);
    return fplt__database_finish(ledger->database, query, status, error);
}

/* ---- proofs ---- */

/* crypto_auth of "fedplt-ledger-1\n", the sum as eight bytes, least first, and the account. */
static fplt_status make_tag(const fplt_ledger *ledger, const char *account, double spent,
                            unsigned char *tag, fplt_error *error)
{
    static const char purpose[] = "fedplt-ledger-1\n";
    enum { HEAD = sizeof purpose - 1 };
    size_t length = strlen(account);
    unsigned char *text;
    uint64_t bits;
    fplt_status status = fplt__alloc_into(&text, HEAD + 8 + length, 1, "the proof", error);
    if (status)
        return status;
    memcpy(&bits, &spent, sizeof bits);
    memcpy(text, purpose, HEAD);
    for (unsigned i = 0; i < 8; i++)
        text[HEAD + i] = (unsigned char)(bits >> 8 * i);
    memcpy(text + HEAD + 8, account, length);
    crypto_auth(tag, text, HEAD + 8 + length, ledger->key);
    fplt__free(text);
    return FPLT_OK;
}

fplt_status fplt_ledger_prove(fplt_ledger *ledger, const char *account, fplt_ledger_proof *proof,
                              fplt_error *error)
{
    fplt_ledger_total total;
    fplt_status status = fplt_ledger_sum(ledger, account, &total, error);
    if (status)
        return status;
    proof->spent = total.spent;
    return make_tag(ledger, account, proof->spent, proof->tag, error);
}

fplt_status fplt_ledger_adopt(fplt_ledger *ledger, const char *account,
                              const fplt_ledger_proof *proof, fplt_error *error)
{
    unsigned char tag[FPLT_LEDGER_PROOF];
    fplt_status status = make_tag(ledger, account, proof->spent, tag, error);
    if (status)
        return status;
    if (sodium_memcmp(tag, proof->tag, sizeof tag) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the sum %.10g is proved by another ledger, or by nobody",
                              fplt__database_path(ledger->database), proof->spent);
    return fplt_ledger_raise(ledger, account, proof->spent, error);
}

fplt_status fplt_ledger_raise(fplt_ledger *ledger, const char *account, double spent,
                              fplt_error *error)
{
    fplt_ledger_total total;
    fplt_charge charge = {.account = account};
    fplt_status status;
    if ((status = check_rate(spent, error)) ||
        (status = fplt_ledger_sum(ledger, account, &total, error)) || spent <= total.spent)
        return status;
    charge.rate = spent - total.spent;
    return fplt_ledger_charge(ledger, &charge, 1, error);
}
