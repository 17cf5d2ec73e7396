/* The ledger: accounts, charges with a rate against each adversary, reservations, and a key of its own.
 * What each run has spent is kept beside the charges, in the same transaction, so that asking for a sum
 * reads a row for each run; opening adds the charges up once and compares.
 *
 * A rate is NULL where nothing is proved. Version 1 had one rate a charge and did not say against whom:
 * what came over a network claimed against the transcript, the rest is not declared and proves nothing
 * but against `final-x`, the adversary that every claim holds against. */
#include "promise/ledger.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "privacy/claim.h"
#include "privacy/privacy.h"
#include "promise/ledger_rows.h"

#define ADVERSARIES "(VALUES('transcript'), ('broadcast'), ('secagg'), ('final-y'), ('final-x'))"

static const char *const schema[] = {
    "CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spent REAL NOT NULL);"
    "CREATE TABLE charge(id INTEGER PRIMARY KEY, time TEXT NOT NULL, run BLOB NOT NULL,"
    " leg INT NOT NULL, round INT NOT NULL, rate REAL NOT NULL, chain BLOB,"
    " rounds INT NOT NULL, account INT NOT NULL REFERENCES account(id));"
    "CREATE INDEX charge_of_run ON charge(account, run);"
    "CREATE TABLE reservation(account INT NOT NULL REFERENCES account(id), run BLOB NOT NULL,"
    " rate REAL NOT NULL, time TEXT NOT NULL, settled INT NOT NULL, PRIMARY KEY(account, run));"
    "CREATE TABLE key(id INTEGER PRIMARY KEY CHECK(id = 1), secret BLOB NOT NULL);",

    "ALTER TABLE charge RENAME COLUMN rate TO stated;" /* against `threat`, the run's own claim */
    "ALTER TABLE charge ADD COLUMN threat TEXT;"       /* NULL: not declared */
    "ALTER TABLE charge ADD COLUMN unit TEXT NOT NULL DEFAULT 'record';"
    "ALTER TABLE charge ADD COLUMN size INT NOT NULL DEFAULT 1;"
    "ALTER TABLE charge ADD COLUMN mechanism TEXT;"
    "CREATE TABLE rate(charge INT NOT NULL REFERENCES charge(id), adversary TEXT NOT NULL,"
    " rate REAL, PRIMARY KEY(charge, adversary)) WITHOUT ROWID;"
    "CREATE TABLE spent(account INT NOT NULL REFERENCES account(id), run BLOB NOT NULL,"
    " adversary TEXT NOT NULL, rate REAL NOT NULL, unproved INT NOT NULL, rounds INT NOT NULL,"
    " PRIMARY KEY(account, run, adversary)) WITHOUT ROWID;"
    "CREATE TABLE reserved(account INT NOT NULL REFERENCES account(id), run BLOB NOT NULL,"
    " adversary TEXT NOT NULL, rate REAL, PRIMARY KEY(account, run, adversary)) WITHOUT ROWID;"
    "CREATE TABLE source(id INTEGER PRIMARY KEY, account INT NOT NULL REFERENCES account(id),"
    " path TEXT NOT NULL, digest BLOB NOT NULL, cut INT NOT NULL, sketch BLOB NOT NULL,"
    " time TEXT NOT NULL);"
    "UPDATE charge SET threat = 'transcript' WHERE chain IS NOT NULL;"
    "INSERT INTO rate SELECT id, column1, CASE WHEN threat IS NOT NULL OR column1 = 'final-x' THEN"
    " stated END FROM charge, " ADVERSARIES ";"
    "INSERT INTO spent SELECT account, run, adversary, ifnull(sum(rate), 0), sum(rate IS NULL),"
    " sum(rounds) FROM charge JOIN rate ON charge = id GROUP BY account, run, adversary;"
    "INSERT INTO reserved SELECT account, run, column1, rate FROM reservation, " ADVERSARIES ";"
    "ALTER TABLE account DROP COLUMN spent;"
    "ALTER TABLE reservation DROP COLUMN rate;",

    /* the adversary who sees sums and knows some agents' noise; before, no noise was divided */
    "INSERT INTO rate SELECT charge, 'secagg-sum', rate FROM rate WHERE adversary = 'transcript';"
    "INSERT INTO spent SELECT account, run, 'secagg-sum', rate, unproved, rounds FROM spent"
    " WHERE adversary = 'transcript';"
    "INSERT INTO reserved SELECT account, run, 'secagg-sum', rate FROM reserved"
    " WHERE adversary = 'transcript';",
};

static const struct fplt__database_form form = {"ledger", 0x46504c47 /* FPLG */, 3, schema};

struct fplt_ledger {
    fplt__database *database;
    unsigned char key[crypto_auth_KEYBYTES];
};

fplt__database *fplt__ledger_database(fplt_ledger *ledger)
{
    return ledger->database;
}

const unsigned char *fplt__ledger_key(const fplt_ledger *ledger)
{
    return ledger->key;
}

static const fplt_threat *or_transcript(const fplt_threat *threat)
{
    return threat ? threat : fplt_privacy_threat(0);
}

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

/* What each run has spent must be the sum of its charges. */
static fplt_status check_sums(fplt_ledger *ledger, fplt_error *error)
{
    sqlite3_stmt *query;
    int row = 0;
    fplt_status status = fplt__database_prepare(
        ledger->database,
        "SELECT name, adversary, ifnull(spent.rate, 0), found.rate,"
        " spent.unproved IS found.unproved AND spent.rounds IS found.rounds FROM"
        " (SELECT account, run, adversary, ifnull(sum(rate), 0) AS rate,"
        "   sum(rate IS NULL) AS unproved, sum(rounds) AS rounds FROM charge JOIN rate ON"
        "   charge = id GROUP BY account, run, adversary) found"
        " LEFT JOIN spent USING(account, run, adversary)"
        " JOIN account ON account.id = found.account"
        " UNION ALL SELECT name, adversary, rate, 0, 1 FROM spent JOIN account ON id = account"
        " WHERE NOT EXISTS(SELECT 1 FROM charge c WHERE c.account = spent.account AND"
        " c.run = spent.run)",
        &query, error);
    while (!status && !(status = fplt__database_step(ledger->database, query, &row, error)) &&
           row) {
        double spent = sqlite3_column_double(query, 2), sum = sqlite3_column_double(query, 3);
        if (!(fabs(spent - sum) <= FPLT__LEDGER_ROUNDING * sum) || !sqlite3_column_int(query, 4))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "%s: the charges to %s against %s add up to %.10g and not to "
                                    "%.10g, as the ledger says: it was altered",
                                    fplt__database_path(ledger->database),
                                    (const char *)sqlite3_column_text(query, 0),
                                    (const char *)sqlite3_column_text(query, 1), sum, spent);
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
    *epsilon = INFINITY;
    return isinf(rate) ? FPLT_OK
                       : fplt_privacy_epsilon(&claim, FPLT_CONVERT_TIGHT, delta, epsilon, error);
}

/* What a run may still spend is what it kept, less its charges. */
fplt_status fplt_ledger_sum(fplt_ledger *ledger, const char *account, fplt_ledger_total *total,
                            fplt_error *error)
{
    fplt_status status;
    *total = (fplt_ledger_total){.runs = 0};
    if ((status = fplt__rows_rates(
             ledger->database,
             "SELECT adversary, sum(rate), sum(unproved) FROM spent JOIN account ON"
             " id = account WHERE ?1 IS NULL OR name = ?1 GROUP BY adversary",
             account, NULL, &total->spent, error)) ||
        (status = fplt__rows_rates(
             ledger->database,
             "SELECT r.adversary, sum(max(0, r.rate - ifnull(s.rate, 0))), sum(r.rate IS NULL)"
             " FROM reserved r JOIN reservation k ON k.account = r.account AND k.run = r.run"
             " JOIN account ON id = r.account LEFT JOIN spent s ON s.account = r.account AND"
             " s.run = r.run AND s.adversary = r.adversary"
             " WHERE NOT k.settled AND (?1 IS NULL OR name = ?1) GROUP BY r.adversary",
             account, NULL, &total->reserved, error)) ||
        (status =
             fplt__rows_count(ledger->database,
                              "SELECT count(*) FROM (SELECT 1 FROM charge JOIN account ON"
                              " account.id = account WHERE (?1 IS NULL OR name = ?1) AND stated > 0"
                              " GROUP BY account, run)",
                              account, NULL, &total->runs, error)))
        return status;
    return fplt__rows_count(
        ledger->database,
        "SELECT count(*) FROM (SELECT 1 FROM charge JOIN account ON"
        " account.id = account WHERE (?1 IS NULL OR name = ?1) AND threat IS NULL"
        " GROUP BY account, run)",
        account, NULL, &total->undeclared, error);
}

static const fplt_threat *threat_of(sqlite3_stmt *query, int column)
{
    const char *name = (const char *)sqlite3_column_text(query, column);
    const fplt_threat *threat = NULL;
    if (name)
        fplt__privacy_threat_find(name, &threat, NULL);
    return threat;
}

static fplt_status read_entry(fplt_ledger *ledger, sqlite3_stmt *query, fplt_ledger_entry *entry,
                              fplt_error *error)
{
    const char *mechanism = (const char *)sqlite3_column_text(query, 7);
    *entry = (fplt_ledger_entry){.account = (const char *)sqlite3_column_text(query, 0),
                                 .run = sqlite3_column_blob(query, 1),
                                 .time = (const char *)sqlite3_column_text(query, 2),
                                 .rounds = (uint64_t)sqlite3_column_int64(query, 3),
                                 .threat = threat_of(query, 4),
                                 .unit = (const char *)sqlite3_column_text(query, 5),
                                 .group = (uint64_t)sqlite3_column_int64(query, 6),
                                 .mechanism = mechanism ? mechanism : ""};
    if (sqlite3_column_bytes(query, 1) != FPLT_RUN_BYTES)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: the name of a run is damaged",
                              fplt__database_path(ledger->database));
    return fplt__rows_rates(
        ledger->database,
        "SELECT adversary, rate, unproved FROM spent JOIN account ON id = account"
        " WHERE name = ?1 AND run = ?2",
        entry->account, entry->run, &entry->rates, error);
}

fplt_status fplt_ledger_visit(fplt_ledger *ledger, const char *account, fplt_ledger_visitor visitor,
                              void *context, fplt_error *error)
{
    sqlite3_stmt *query;
    int row = 0, ended = 0;
    fplt_status status = fplt__rows_prepare(
        ledger->database,
        "SELECT name, run, min(time), sum(rounds), threat, unit, max(size), mechanism"
        " FROM charge JOIN account ON account.id = charge.account "
        "WHERE ?1 IS NULL OR name = ?1 "
        "GROUP BY account.id, run ORDER BY account.id, min(charge.id)",
        account, NULL, &query, error);
    while (!status && !ended &&
           !(status = fplt__database_step(ledger->database, query, &row, error)) && row) {
        fplt_ledger_entry entry;
        if (!(status = read_entry(ledger, query, &entry, error)))
            ended = visitor(context, &entry);
    }
    sqlite3_finalize(query);
    return status;
}

/* ---- spending ---- */

static fplt_status check_rates(const fplt_rates *rates, const fplt_threat *threat,
                               fplt_error *error)
{
    FPLT__ASSERT(fplt__threat_index(threat) < FPLT_ADVERSARIES);
    double claimed = rates->against[fplt__threat_index(threat)];
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        if (!(rates->against[k] >= 0))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "a charge against %s is %g, but it must be at least 0",
                                  fplt_privacy_threat(k)->name, rates->against[k]);
    return isfinite(claimed)
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "a charge is %g against %s, the adversary of its claim, but it "
                                "must be finite there",
                                claimed, threat->name);
}

/* An earlier run says nothing against this adversary. */
static fplt_status refuse_unproved(fplt_ledger *ledger, const char *account,
                                   const fplt_ledger_total *total, const fplt_threat *threat,
                                   fplt_error *error)
{
    const char *path = fplt__database_path(ledger->database);
    if (total->undeclared)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: %s has charges of %llu runs of an older ledger, which does not "
                              "say what their adversary sees, so nothing can be claimed of all "
                              "runs against %s; declare them: `fedplt privacy ledger %s --declare "
                              "transcript` (or what their certificates say)",
                              path, account, (unsigned long long)total->undeclared, threat->name,
                              path);
    return fplt_error_set(error, FPLT_UNREACHABLE,
                          "%s: a run that was charged to %s proves nothing against %s, so nothing "
                          "can be claimed of all runs against that adversary",
                          path, account, threat->name);
}

fplt_status fplt__ledger_admit(fplt_ledger *ledger, const char *account, const fplt_rates *rates,
                               const fplt__ledger_budget *budget, fplt_error *error)
{
    const fplt_threat *threat = or_transcript(budget->threat);
    size_t k = fplt__threat_index(threat);
    fplt_ledger_total total;
    double before, after;
    fplt_status status;
    if ((status = check_rates(rates, threat, error)) ||
        (status = fplt_ledger_sum(ledger, account, &total, error)))
        return status;
    double held = total.spent.against[k] + total.reserved.against[k];
    double group = budget->group ? (double)budget->group : 1, scale = group * group;
    FPLT__ASSERT(rates->against[k] >= 0 && isfinite(rates->against[k]));
    FPLT__ASSERT(scale >= 1);
    if (isinf(held))
        return refuse_unproved(ledger, account, &total, threat, error);
    if (isinf(budget->epsilon))
        return FPLT_OK;
    if ((status = fplt_ledger_epsilon(scale * held, budget->delta, &before, error)) ||
        (status =
             fplt_ledger_epsilon(scale * (held + rates->against[k]), budget->delta, &after, error)))
        return status;
    if (after <= budget->epsilon)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNREACHABLE,
                          "%s: %s has spent or kept epsilon %.4g against %s, and with this run it "
                          "would be %.4g, but its budget is %g at delta %g%s",
                          fplt__database_path(ledger->database), account, before, threat->name,
                          after, budget->epsilon, budget->delta,
                          budget->group > 1 ? " for all records of a person or group" : "");
}

fplt_status fplt__ledger_open_account(fplt_ledger *ledger, const char *account, fplt_error *error)
{
    sqlite3_stmt *query;
    fplt_status status =
        fplt__rows_prepare(ledger->database, "INSERT OR IGNORE INTO account(name) VALUES(?1)",
                           account, NULL, &query, error);
    FPLT__ASSERT(status || !sqlite3_get_autocommit(sqlite3_db_handle(query)));
    return fplt__database_finish(ledger->database, query, status, error);
}

struct reservation {
    int found, settled;
    fplt_rates rates, spent; /* kept for the run; charged to it */
};

static fplt_status find_reservation(fplt_ledger *ledger, const char *account,
                                    const unsigned char *run, struct reservation *found,
                                    fplt_error *error)
{
    sqlite3_stmt *query;
    *found = (struct reservation){0, 0, {{0}}, {{0}}};
    fplt_status status =
        fplt__rows_prepare(ledger->database,
                           "SELECT settled FROM reservation JOIN account ON id = account"
                           " WHERE name = ?1 AND run = ?2",
                           account, run, &query, error);
    if (!status)
        status = fplt__database_step(ledger->database, query, &found->found, error);
    if (!status && found->found)
        found->settled = sqlite3_column_int(query, 0);
    sqlite3_finalize(query);
    if (status || !found->found)
        return status;
    if ((status =
             fplt__rows_rates(ledger->database,
                              "SELECT adversary, rate, rate IS NULL FROM reserved JOIN account ON"
                              " id = account WHERE name = ?1 AND run = ?2",
                              account, run, &found->rates, error)))
        return status;
    return fplt__rows_rates(
        ledger->database,
        "SELECT adversary, rate, unproved FROM spent JOIN account ON id = account"
        " WHERE name = ?1 AND run = ?2",
        account, run, &found->spent, error);
}

static fplt_status store_reservation(fplt_ledger *ledger, const char *account,
                                     const unsigned char *run, const fplt_rates *rates,
                                     fplt_error *error)
{
    sqlite3_stmt *query = NULL;
    char time[FPLT_TIME_SPACE];
    fplt_status status = fplt__database_begin(ledger->database, error);
    if (status)
        return status;
    fplt__time_text(time);
    if (!(status = fplt__ledger_open_account(ledger, account, error)) &&
        !(status = fplt__rows_prepare(ledger->database,
                                      "INSERT INTO reservation(account, run, time, settled) "
                                      "SELECT id, ?2, ?3, 0 FROM account WHERE name = ?1",
                                      account, run, &query, error)))
        sqlite3_bind_text(query, 3, time, -1, SQLITE_STATIC);
    status = fplt__database_finish(ledger->database, query, status, error);
    if (!status)
        status = fplt__rows_store(ledger->database,
                                  "INSERT INTO reserved(account, run, adversary, rate) "
                                  "SELECT id, ?2, ?3, ?4 FROM account WHERE name = ?1",
                                  account, run, rates, 0, error);
    return fplt__database_end(ledger->database, status, error);
}

fplt_status fplt__ledger_reserve(fplt_ledger *ledger, const char *account,
                                 const unsigned char run[FPLT_RUN_BYTES], const fplt_rates *rates,
                                 const fplt__ledger_budget *budget, fplt_error *error)
{
    struct reservation found;
    const char *path = fplt__database_path(ledger->database);
    fplt_status status = find_reservation(ledger, account, run, &found, error);
    if (status)
        return status;
    FPLT__ASSERT(found.found || !found.settled);
    if (found.found && found.settled)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: the run was settled with %s before", path,
                              account);
    for (size_t k = 0; found.found && k < FPLT_ADVERSARIES; k++) {
        double kept = found.rates.against[k], asked = rates->against[k];
        if (kept != asked && !(fabs(kept - asked) <= FPLT__LEDGER_ROUNDING * kept))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: %.10g is kept for the run against %s and not %.10g", path,
                                  kept, fplt_privacy_threat(k)->name, asked);
    }
    if (found.found)
        return FPLT_OK;
    status = fplt__ledger_admit(ledger, account, rates, budget, error);
    return status ? status : store_reservation(ledger, account, run, rates, error);
}

static fplt_status check_charge(fplt_ledger *ledger, const fplt__charge *charge, fplt_error *error)
{
    struct reservation found;
    const char *path = fplt__database_path(ledger->database);
    fplt_status status = check_rates(&charge->rates, or_transcript(charge->threat), error);
    if (status || (status = find_reservation(ledger, charge->account, charge->run, &found, error)))
        return status;
    if (found.settled)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: the run has ended for %s", path,
                              charge->account);
    for (size_t k = 0; found.found && k < FPLT_ADVERSARIES; k++) {
        double spent = found.spent.against[k], rate = charge->rates.against[k];
        double kept = found.rates.against[k];
        if (spent + rate > kept * (1 + FPLT__LEDGER_ROUNDING))
            return fplt_error_set(error, FPLT_UNREACHABLE,
                                  "%s: the run has spent %.6g of the %.6g that %s kept for it, and "
                                  "%.6g more would go beyond",
                                  path, spent, kept, charge->account, rate);
    }
    return FPLT_OK;
}

static fplt_status insert_charge(fplt_ledger *ledger, const fplt__charge *charge, fplt_error *error)
{
    const fplt_threat *threat = or_transcript(charge->threat);
    sqlite3_stmt *query;
    char time[FPLT_TIME_SPACE];
    fplt_status status = fplt__rows_prepare(
        ledger->database,
        "INSERT INTO charge(time, run, leg, round, stated, chain, rounds, threat, unit,"
        " size, mechanism, account) SELECT ?3, ?2, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
        " ?12, id FROM account WHERE name = ?1",
        charge->account, charge->run, &query, error);
    FPLT__ASSERT(status || !sqlite3_get_autocommit(sqlite3_db_handle(query)));
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        FPLT__ASSERT(charge->rates.against[k] >= 0); /* nothing is ever paid back */
    fplt__time_text(time);
    sqlite3_bind_text(query, 3, time, -1, SQLITE_STATIC);
    sqlite3_bind_int64(query, 4, charge->incarnation);
    sqlite3_bind_int64(query, 5, (sqlite3_int64)charge->round);
    sqlite3_bind_double(query, 6, charge->rates.against[fplt__threat_index(threat)]);
    if (charge->chain)
        sqlite3_bind_blob(query, 7, charge->chain, FPLT_RUN_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(query, 8, (sqlite3_int64)charge->rounds);
    sqlite3_bind_text(query, 9, threat->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 10, charge->unit ? charge->unit : "record", -1, SQLITE_STATIC);
    sqlite3_bind_int64(query, 11, charge->group ? (sqlite3_int64)charge->group : 1);
    if (charge->mechanism)
        sqlite3_bind_text(query, 12, charge->mechanism, -1, SQLITE_STATIC);
    return fplt__database_finish(ledger->database, query, status, error);
}

fplt_status fplt__ledger_store_charge(fplt_ledger *ledger, const fplt__charge *charge,
                                      fplt_error *error)
{
    fplt_status status = insert_charge(ledger, charge, error);
    if (!status)
        status = fplt__rows_store(ledger->database,
                                  "INSERT INTO rate(charge, adversary, rate) "
                                  "VALUES(last_insert_rowid(), ?3, ?4)",
                                  charge->account, charge->run, &charge->rates, 0, error);
    return status ? status
                  : fplt__rows_store(
                        ledger->database,
                        "INSERT INTO spent(account, run, adversary, rate, unproved, rounds)"
                        " SELECT id, ?2, ?3, ifnull(?4, 0), ?4 IS NULL, ?5 FROM account"
                        " WHERE name = ?1 ON CONFLICT DO UPDATE SET"
                        " rate = rate + excluded.rate,"
                        " unproved = unproved + excluded.unproved,"
                        " rounds = rounds + excluded.rounds",
                        charge->account, charge->run, &charge->rates, charge->rounds, error);
}

fplt_status fplt__ledger_charge(fplt_ledger *ledger, const fplt__charge *charges, size_t count,
                                fplt_error *error)
{
    fplt_status status = fplt__database_begin(ledger->database, error);
    if (status)
        return status;
    for (size_t i = 0; !status && i < count; i++)
        if (!(status = fplt__ledger_open_account(ledger, charges[i].account, error)) &&
            !(status = check_charge(ledger, &charges[i], error)))
            status = fplt__ledger_store_charge(ledger, &charges[i], error);
    return fplt__database_end(ledger->database, status, error);
}

fplt_status fplt__ledger_settle(fplt_ledger *ledger, const char *account,
                                const unsigned char run[FPLT_RUN_BYTES], fplt_error *error)
{
    sqlite3_stmt *query;
    fplt_status status = fplt__rows_prepare(ledger->database,
                                            "UPDATE reservation SET settled = 1 WHERE run = ?2 AND "
                                            "account = (SELECT id FROM account WHERE name = ?1)",
                                            account, run, &query, error);
    return fplt__database_finish(ledger->database, query, status, error);
}

/* ---- charges of version 1 ---- */

fplt_status fplt__ledger_declare(fplt_ledger *ledger, const fplt_threat *threat, uint64_t *runs,
                                 fplt_error *error)
{
    static const char *const steps[] = {
        "UPDATE rate SET rate = (SELECT stated FROM charge WHERE id = rate.charge) WHERE rate IS"
        " NULL AND ?1 <> 'final-x' AND EXISTS(SELECT 1 FROM charge WHERE id = rate.charge AND"
        " threat IS NULL)",
        "UPDATE spent SET (rate, unproved) = (SELECT ifnull(sum(r.rate), 0), sum(r.rate IS NULL)"
        " FROM charge c JOIN rate r ON r.charge = c.id WHERE c.account = spent.account AND"
        " c.run = spent.run AND r.adversary = spent.adversary) WHERE ?1 NOTNULL",
        "UPDATE charge SET threat = ?1 WHERE threat IS NULL",
    };
    fplt_ledger_total total;
    fplt_status status = fplt_ledger_sum(ledger, NULL, &total, error);
    *runs = total.undeclared;
    if (status || !*runs || (status = fplt__database_begin(ledger->database, error)))
        return status;
    for (size_t i = 0; !status && i < sizeof steps / sizeof *steps; i++) {
        sqlite3_stmt *query;
        status = fplt__rows_prepare(ledger->database, steps[i], threat->name, NULL, &query, error);
        status = fplt__database_finish(ledger->database, query, status, error);
    }
    return fplt__database_end(ledger->database, status, error);
}
