/* The ledger: sums against those of the table itself, budgets against the conversion written out,
 * adversaries, reservations, receipts, older versions, locks, and a process killed while it charges. */
#include "testing.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "failing.h"
#include "privacy/privacy.h"
#include "promise/ledger.h"
#include "temporary.h"

static const fplt__ledger_budget unlimited = {INFINITY, 1e-5, 1, NULL};

/* The same against everybody. */
static fplt_rates even(double rate)
{
    return (fplt_rates){{rate, rate, rate, rate, rate}};
}

#define EVEN(rate) (&(fplt_rates){{rate, rate, rate, rate, rate}})

static temporary empty_path(void)
{
    temporary file = temporary_file("", 0);
    unlink(file.path);
    return file;
}

static void remove_all(const temporary *file)
{
    char path[300];
    unlink(file->path);
    snprintf(path, sizeof path, "%s-wal", file->path);
    unlink(path);
    snprintf(path, sizeof path, "%s-shm", file->path);
    unlink(path);
}

static fplt_ledger *opened(const temporary *file)
{
    fplt_error error;
    fplt_ledger *ledger;
    assert_ok(fplt_ledger_open(file->path, 1, &ledger, &error), error);
    return ledger;
}

static fplt__charge charge_of(const char *account, unsigned char run, uint64_t round, double rate)
{
    fplt__charge charge = {.account = account, .round = round, .rounds = 1, .rates = even(rate)};
    memset(charge.run, run, sizeof charge.run);
    return charge;
}

static void pay(fplt_ledger *ledger, const char *account, unsigned char run, uint64_t round,
                double rate)
{
    fplt_error error;
    fplt__charge charge = charge_of(account, run, round, rate);
    assert_ok(fplt__ledger_charge(ledger, &charge, 1, &error), error);
}

static fplt_ledger_total sum_of(fplt_ledger *ledger, const char *account)
{
    fplt_error error;
    fplt_ledger_total total;
    assert_ok(fplt_ledger_sum(ledger, account, &total, &error), error);
    return total;
}

/* One number of the file, read by SQLite alone. */
static double look(const temporary *file, const char *statement)
{
    sqlite3 *handle;
    sqlite3_stmt *query;
    assert_int_equal(sqlite3_open(file->path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, statement, -1, &query, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(query), SQLITE_ROW);
    double number = sqlite3_column_double(query, 0);
    sqlite3_finalize(query);
    sqlite3_close(handle);
    return number;
}

static void alter(const temporary *file, const char *statement)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(file->path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, statement, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
}

struct list {
    size_t count;
    fplt_ledger_entry entry[8];
    char account[8][16], time[8][32];
};

static int take(void *context, const fplt_ledger_entry *entry)
{
    struct list *list = context;
    size_t i = list->count++;
    list->entry[i] = *entry;
    snprintf(list->account[i], sizeof list->account[i], "%s", entry->account);
    snprintf(list->time[i], sizeof list->time[i], "%s", entry->time);
    list->entry[i].run = (const unsigned char *)(uintptr_t)entry->run[31];
    return list->count == 8;
}

static void charges_add_up_over_runs(void **state)
{
    (void)state;
    temporary file = empty_path();
    fplt_ledger *ledger = opened(&file);
    struct list list = {.count = 0};
    struct stat found;
    fplt_error error;
    assert_true(sum_of(ledger, "basel").spent.against[0] == 0);
    for (uint64_t round = 1; round <= 5; round++)
        pay(ledger, "basel", 7, round, 0.01 * (double)round);
    pay(ledger, "bern", 7, 1, 0.3);
    fplt_ledger_close(ledger);
    ledger = opened(&file);
    pay(ledger, "basel", 9, 1, 0.25);
    assert_close(sum_of(ledger, "basel").spent.against[0], 0.4, 1e-15);
    assert_int_equal(sum_of(ledger, "basel").runs, 2);
    assert_ok(fplt_ledger_visit(ledger, NULL, take, &list, &error), error);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.account[2], "bern");
    assert_int_equal((uintptr_t)list.entry[1].run, 9);
    assert_int_equal(list.entry[0].rounds, 5);
    assert_close(list.entry[0].rates.against[0], 0.15, 1e-15);
    assert_int_equal(strlen(list.time[0]), 20);
    list.count = 0;
    assert_ok(fplt_ledger_visit(ledger, "bern", take, &list, &error), error);
    assert_int_equal(list.count, 1);
    fplt_ledger_close(ledger);
    assert_int_equal(stat(file.path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_close(look(&file, "SELECT sum(rate) FROM rate WHERE adversary = 'secagg'"), 0.7, 1e-15);
    assert_true(look(&file, "SELECT count(*) FROM rate") == 6 * 7);
    assert_true(look(&file, "PRAGMA user_version") == 3);
    /* of version 2 no noise was divided: against sums it costs what the transcript does */
    alter(&file, "DELETE FROM rate WHERE adversary = 'secagg-sum'");
    alter(&file, "DELETE FROM spent WHERE adversary = 'secagg-sum'");
    alter(&file, "PRAGMA user_version = 2");
    fplt_ledger_close(opened(&file));
    assert_true(look(&file, "SELECT count(*) FROM rate") == 6 * 7);
    assert_true(
        look(
            &file,
            "SELECT count(*) FROM rate a JOIN rate b USING(charge) WHERE a.adversary = 'transcript'"
            " AND b.adversary = 'secagg-sum' AND a.rate = b.rate") == 7);
    remove_all(&file);
}

/* eps = D (2 a - 1) + ln(1 - 1/a), D (a - 1)^2 + ln a = ln(1/delta). */
static double epsilon_of(double rate, double delta)
{
    double low = 1, high = 1e9;
    for (int i = 0; i < 200; i++) {
        double a = (low + high) / 2;
        *(rate * (a - 1) * (a - 1) + log(a) < -log(delta) ? &low : &high) = a;
    }
    return rate * (2 * low - 1) + log1p(-1 / low);
}

static void a_budget_is_kept(void **state)
{
    (void)state;
    temporary file = empty_path();
    fplt_ledger *ledger = opened(&file);
    fplt_error error;
    double epsilon;
    fplt__ledger_budget budget = {epsilon_of(0.1, 1e-6) * (1 + 1e-9), 1e-6, 1, NULL};
    unsigned char run[FPLT_RUN_BYTES] = {1}, other[FPLT_RUN_BYTES] = {2};
    assert_ok(fplt_ledger_epsilon(0.1, 1e-6, &epsilon, &error), error);
    assert_close(epsilon, epsilon_of(0.1, 1e-6), 1e-9);
    assert_ok(fplt_ledger_epsilon(0, 1e-6, &epsilon, &error), error);
    assert_true(epsilon == 0);
    pay(ledger, "a", 8, 1, 0.04);
    fplt__ledger_budget three = {epsilon_of(9 * 0.1, 1e-6) * (1 + 1e-9), 1e-6, 3, NULL};
    assert_ok(fplt__ledger_admit(ledger, "a", EVEN(0.06), &three, &error), error);
    assert_int_equal(fplt__ledger_admit(ledger, "a", EVEN(0.0601), &three, &error),
                     FPLT_UNREACHABLE);
    assert_ok(fplt__ledger_admit(ledger, "a", EVEN(0.06), &budget, &error), error);
    assert_int_equal(fplt__ledger_admit(ledger, "a", EVEN(0.0601), &budget, &error),
                     FPLT_UNREACHABLE);
    assert_contains(error.text, "its budget is");
    assert_ok(fplt__ledger_reserve(ledger, "a", run, EVEN(0.05), &budget, &error), error);
    assert_close(sum_of(ledger, "a").reserved.against[0], 0.05, 1e-15);
    assert_int_equal(fplt__ledger_reserve(ledger, "a", other, EVEN(0.02), &budget, &error),
                     FPLT_UNREACHABLE);
    assert_ok(fplt__ledger_admit(ledger, "a", EVEN(0.06), &unlimited, &error), error);
    assert_int_equal(fplt__ledger_admit(ledger, "a", EVEN(NAN), &unlimited, &error),
                     FPLT_BAD_VALUE);
    fplt_ledger_close(ledger);
    remove_all(&file);
}

static void a_run_keeps_to_its_reservation(void **state)
{
    (void)state;
    temporary file = empty_path();
    fplt_ledger *ledger = opened(&file);
    fplt_error error;
    fplt__charge charge = charge_of("a", 1, 1, 0.1);
    assert_ok(fplt__ledger_reserve(ledger, "a", charge.run, EVEN(0.3), &unlimited, &error), error);
    assert_ok(fplt__ledger_reserve(ledger, "a", charge.run, EVEN(0.3), &unlimited, &error), error);
    assert_int_equal(fplt__ledger_reserve(ledger, "a", charge.run, EVEN(0.4), &unlimited, &error),
                     FPLT_BAD_VALUE);
    for (charge.round = 1; charge.round <= 3; charge.round++)
        assert_ok(fplt__ledger_charge(ledger, &charge, 1, &error), error);
    assert_near(sum_of(ledger, "a").reserved.against[0], 0, 1e-15);
    assert_int_equal(fplt__ledger_charge(ledger, &charge, 1, &error), FPLT_UNREACHABLE);
    assert_close(sum_of(ledger, "a").spent.against[0], 0.3, 1e-12);
    /* all or none */
    fplt__charge both[] = {charge_of("b", 2, 1, 0.5), charge_of("a", 1, 4, 0.1)};
    assert_int_equal(fplt__ledger_charge(ledger, both, 2, &error), FPLT_UNREACHABLE);
    assert_true(sum_of(ledger, "b").spent.against[0] == 0);
    unsigned char second[FPLT_RUN_BYTES] = {5};
    assert_ok(fplt__ledger_reserve(ledger, "a", second, EVEN(0.2), &unlimited, &error), error);
    assert_ok(fplt__ledger_settle(ledger, "a", second, &error), error);
    assert_near(sum_of(ledger, "a").reserved.against[0], 0, 1e-15);
    memcpy(both[0].run, second, sizeof second);
    both[0].account = "a";
    assert_int_equal(fplt__ledger_charge(ledger, both, 1, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "has ended");
    assert_int_equal(fplt__ledger_reserve(ledger, "a", second, EVEN(0.2), &unlimited, &error),
                     FPLT_BAD_VALUE);
    fplt_ledger_close(ledger);
    remove_all(&file);
}

/* A final-x run with mu 0.247 that is 1.99 against one who sees every message. */
static void a_weaker_claim_never_counts_for_a_stronger(void **state)
{
    (void)state;
    temporary file = empty_path();
    fplt_ledger *ledger = opened(&file);
    double all = 1.99 * 1.99 / 2, final = 0.247 * 0.247 / 2, one = 1.0 / 8;
    fplt_error error;
    struct list list = {.count = 0};
    fplt__charge charge = charge_of("c", 1, 9, 0);
    const fplt_threat *final_x, *transcript = fplt_privacy_threat(0);
    assert_ok(fplt__privacy_threat_find("final-x", &final_x, &error), error);
    charge.rates = (fplt_rates){{all, all, all, all, final}};
    charge.threat = final_x;
    charge.unit = "person";
    charge.group = 3;
    charge.mechanism = "fed-plt, noisy: Theorem F";
    assert_ok(fplt__ledger_charge(ledger, &charge, 1, &error), error);
    fplt_ledger_total total = sum_of(ledger, "c");
    assert_close(total.spent.against[0], all, 1e-15);
    assert_close(total.spent.against[4], final, 1e-15);
    fplt__ledger_budget budget = {epsilon_of(final + one, 1e-5) * (1 + 1e-9), 1e-5, 1, final_x};
    assert_ok(fplt__ledger_admit(ledger, "c", EVEN(one), &budget, &error), error);
    budget.threat = transcript;
    assert_int_equal(fplt__ledger_admit(ledger, "c", EVEN(one), &budget, &error), FPLT_UNREACHABLE);
    assert_contains(error.text, "against transcript");
    budget.epsilon = epsilon_of(all + one, 1e-5) * (1 + 1e-9);
    assert_ok(fplt__ledger_admit(ledger, "c", EVEN(one), &budget, &error), error);
    assert_ok(fplt_ledger_visit(ledger, "c", take, &list, &error), error);
    assert_true(list.entry[0].threat == final_x && list.entry[0].group == 3);
    /* nothing is proved against the transcript, and nothing can be claimed of all runs */
    charge.rates.against[0] = INFINITY;
    assert_ok(fplt__ledger_charge(ledger, &charge, 1, &error), error);
    assert_true(isinf(sum_of(ledger, "c").spent.against[0]));
    assert_int_equal(fplt__ledger_admit(ledger, "c", EVEN(one), &unlimited, &error),
                     FPLT_UNREACHABLE);
    assert_contains(error.text, "proves nothing against transcript");
    charge.threat = NULL; /* a claim must be finite against its own adversary */
    assert_int_equal(fplt__ledger_charge(ledger, &charge, 1, &error), FPLT_BAD_VALUE);
    fplt_ledger_close(ledger);
    remove_all(&file);
}

/* Version 1 as it was made, with three charges: over a network, by train, and adopted. */
static const char older[] =
    "CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spent REAL NOT NULL);"
    "CREATE TABLE charge(id INTEGER PRIMARY KEY, time TEXT NOT NULL, run BLOB NOT NULL,"
    " leg INT NOT NULL, round INT NOT NULL, rate REAL NOT NULL, chain BLOB,"
    " rounds INT NOT NULL, account INT NOT NULL REFERENCES account(id));"
    "CREATE INDEX charge_of_run ON charge(account, run);"
    "CREATE TABLE reservation(account INT NOT NULL REFERENCES account(id), run BLOB NOT NULL,"
    " rate REAL NOT NULL, time TEXT NOT NULL, settled INT NOT NULL, PRIMARY KEY(account, run));"
    "CREATE TABLE key(id INTEGER PRIMARY KEY CHECK(id = 1), secret BLOB NOT NULL);"
    "INSERT INTO key VALUES(1, randomblob(32));"
    "INSERT INTO account VALUES(1, 'records', 0.5), (2, 'c', 0.03125);"
    "INSERT INTO charge VALUES(1, '2026-01-01T00:00:00Z', zeroblob(31) || x'01', 1, 1, 0.25,"
    " zeroblob(32), 1, 1), (2, '2026-01-01T00:00:01Z', zeroblob(31) || x'01', 1, 2, 0.25,"
    " zeroblob(32), 1, 1), (3, '2026-01-02T00:00:00Z', zeroblob(31) || x'02', 0, 9, 0.03125, NULL,"
    " 9, 2);"
    "UPDATE charge SET run = CAST(run AS BLOB);"
    "INSERT INTO reservation SELECT 1, run, 0.75, time, 0 FROM charge WHERE id = 1;"
    "PRAGMA application_id = 0x46504c47; PRAGMA user_version = 1";

static void older_ledgers_are_brought_up(void **state)
{
    (void)state;
    static const char *const words[] = {"transcript", "final-x"};
    for (int i = 0; i < 2; i++) {
        temporary file = empty_path();
        fplt_error error;
        const fplt_threat *threat;
        uint64_t runs;
        alter(&file, older);
        fplt_ledger *ledger = opened(&file);
        fplt_ledger_total network = sum_of(ledger, "records"), train = sum_of(ledger, "c");
        for (size_t k = 0; k < FPLT_ADVERSARIES; k++) {
            assert_close(network.spent.against[k], 0.5, 1e-15);
            assert_close(network.reserved.against[k], 0.25, 1e-15);
            assert_true(k == 4 ? train.spent.against[k] == 0.03125 : isinf(train.spent.against[k]));
        }
        assert_int_equal(network.undeclared, 0);
        assert_int_equal(train.undeclared, 1);
        assert_ok(fplt__ledger_admit(ledger, "records", EVEN(0.1), &unlimited, &error), error);
        assert_int_equal(fplt__ledger_admit(ledger, "c", EVEN(0.1), &unlimited, &error),
                         FPLT_BAD_VALUE);
        assert_contains(error.text, "--declare transcript");
        assert_ok(fplt__privacy_threat_find(words[i], &threat, &error), error);
        assert_ok(fplt__ledger_declare(ledger, threat, &runs, &error), error);
        assert_int_equal(runs, 1);
        train = sum_of(ledger, "c");
        assert_int_equal(train.undeclared, 0);
        assert_true(i ? isinf(train.spent.against[0]) : train.spent.against[0] == 0.03125);
        assert_true(train.spent.against[4] == 0.03125);
        assert_int_equal(fplt__ledger_admit(ledger, "c", EVEN(0.1), &unlimited, &error),
                         i ? FPLT_UNREACHABLE : FPLT_OK);
        fplt_ledger_close(ledger);
        fplt_ledger_close(opened(&file));
        remove_all(&file);
    }
}

/* Version 1 had `records` and `c` for one file: as one account it has spent what both have, a run of both the sum. */
static void accounts_of_one_file_are_merged(void **state)
{
    (void)state;
    temporary file = empty_path();
    fplt_error error;
    const fplt_threat *threat;
    uint64_t runs;
    alter(&file, older);
    alter(&file,
          "INSERT INTO account VALUES(3, 'agent 0', 0.125);"
          "INSERT INTO charge SELECT 4, time, run, 1, 1, 0.125, chain, 1, 3 FROM charge WHERE"
          " id = 1;"
          "INSERT INTO reservation SELECT 3, run, 0.5, time, 1 FROM charge WHERE id = 1");
    fplt_ledger *ledger = opened(&file);
    assert_ok(fplt__privacy_threat_find("transcript", &threat, &error), error);
    assert_ok(fplt__ledger_declare(ledger, threat, &runs, &error), error);
    assert_ok(fplt__ledger_merge(ledger, "agent 0", "c", &error), error);
    assert_ok(fplt__ledger_merge(ledger, "records", "c", &error), error);
    fplt_ledger_total total = sum_of(ledger, "c"), all = sum_of(ledger, NULL);
    assert_int_equal(total.runs, 2);
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++) {
        assert_close(total.spent.against[k], 0.5 + 0.03125 + 0.125, 1e-15);
        assert_close(all.spent.against[k], total.spent.against[k], 1e-15);
        /* 0.75 and 0.5 were kept for the run, which is not settled, and 0.625 of it is spent */
        assert_close(total.reserved.against[k], 0.625, 1e-15);
    }
    assert_int_equal(fplt__ledger_merge(ledger, "records", "c", &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "there is no account 'records'");
    assert_int_equal(fplt__ledger_merge(ledger, "c", "c", &error), FPLT_BAD_VALUE);
    fplt_ledger_close(ledger);
    fplt_ledger_close(opened(&file)); /* the sums are compared when it is opened */
    remove_all(&file);
}

static fplt__receipt receipt_of(fplt_ledger *ledger, unsigned char run)
{
    fplt_error error;
    fplt__receipt receipt;
    unsigned char name[FPLT_RUN_BYTES];
    memset(name, run, sizeof name);
    assert_ok(fplt__ledger_receipt(ledger, name, &receipt, &error), error);
    return receipt;
}

/* A disk from before the second run: what is adopted is of that run, and fills its reservation. */
static void adopted_charges_belong_to_their_run(void **state)
{
    (void)state;
    temporary file = empty_path(), restored = empty_path();
    fplt_ledger *ledger = opened(&file), *old = opened(&restored);
    struct list list = {.count = 0};
    fplt_error error;
    pay(old, "a", 1, 1, 0.25);
    pay(ledger, "a", 1, 1, 0.25);
    pay(ledger, "a", 1, 2, 0.25); /* lost with the disk, of a run that the receipt does not name */
    for (uint64_t round = 1; round <= 4; round++)
        pay(ledger, "a", 2, round, 0.125);
    fplt__receipt receipt = receipt_of(ledger, 2), own;
    assert_int_equal(receipt.rounds, 4);
    assert_true(receipt.of_run.against[0] == 0.5 && receipt.spent.against[0] == 1);
    fplt_ledger_close(ledger);
    assert_ok(fplt__ledger_adopt(old, &receipt, &error), error);
    assert_ok(fplt__ledger_adopt(old, &receipt, &error), error);
    own = receipt_of(old, 2);
    assert_memory_equal(&own, &receipt, sizeof own);
    assert_true(receipt_of(old, 0).of_run.against[0] == 0.25);
    assert_ok(fplt_ledger_visit(old, "a", take, &list, &error), error);
    assert_int_equal(list.count, 3);
    fplt__charge next = charge_of("a", 2, 5, 0.125);
    assert_ok(fplt__ledger_reserve(old, "a", next.run, EVEN(0.625), &unlimited, &error), error);
    assert_ok(fplt__ledger_charge(old, &next, 1, &error), error);
    assert_int_equal(fplt__ledger_charge(old, &next, 1, &error), FPLT_UNREACHABLE);
    fplt_ledger_close(old);
    /* a ledger that was lost altogether */
    remove_all(&restored);
    old = opened(&restored);
    assert_ok(fplt__ledger_adopt(old, &receipt, &error), error);
    assert_true(sum_of(old, "records").spent.against[0] == 1);
    assert_int_equal(receipt_of(old, 2).rounds, 4);
    fplt_ledger_close(old);
    remove_all(&file);
    remove_all(&restored);
}

static void only_plain_files_are_ledgers(void **state)
{
    (void)state;
    static const char *const names[] = {
        ":memory:", "", ":x", "file:led.db", "FILE:led.db?mode=memory", "https://h/l.db"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fplt_ledger *ledger;
        fplt_error error;
        assert_int_equal(fplt_ledger_open(names[i], 1, &ledger, &error), FPLT_BAD_VALUE);
        assert_contains(error.text, "plain path of a file");
        assert_int_equal(access(names[i], F_OK), -1);
    }
}

static void other_files_are_refused(void **state)
{
    (void)state;
    fplt_error error;
    fplt_ledger *ledger;
    temporary file = temporary_file("site,b\nbasel,1\nbern,0\n, of text enough for a page\n", 50);
    assert_int_equal(fplt_ledger_open(file.path, 1, &ledger, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "this is no ledger");
    unlink(file.path);
    assert_int_equal(fplt_ledger_open(file.path, 0, &ledger, &error), FPLT_IO);
    assert_int_equal(access(file.path, F_OK), -1);
    assert_int_equal(fplt_ledger_open("/dev/null", 1, &ledger, &error), FPLT_IO);
    assert_contains(error.text, "regular file");
    alter(&file, "CREATE TABLE model(x)");
    assert_int_equal(fplt_ledger_open(file.path, 1, &ledger, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "another database");
    remove_all(&file);
    fplt_ledger_close(opened(&file));
    alter(&file, "PRAGMA user_version = 4");
    assert_int_equal(fplt_ledger_open(file.path, 1, &ledger, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "take a newer program");
    alter(&file, "PRAGMA user_version = 3");
    ledger = opened(&file);
    pay(ledger, "a", 1, 1, 0.5);
    fplt_ledger_close(ledger);
    static const char *const altered[] = {
        "UPDATE spent SET rate = 0.25 WHERE adversary = 'final-x'",
        "UPDATE spent SET rounds = rounds - 1",
        "UPDATE spent SET unproved = 1",
        "DELETE FROM spent WHERE adversary = 'secagg'",
        "UPDATE rate SET rate = rate * 0.9",
        "DELETE FROM charge"};
    for (size_t i = 0; i < sizeof altered / sizeof *altered; i++) {
        temporary copy = empty_path();
        char statement[600];
        snprintf(statement, sizeof statement, "VACUUM INTO '%s'", copy.path);
        alter(&file, statement);
        alter(&copy, altered[i]);
        assert_int_equal(fplt_ledger_open(copy.path, 1, &ledger, &error), FPLT_BAD_DATA);
        assert_contains(error.text, "it was altered");
        remove_all(&copy);
    }
    remove_all(&file);
}

static void one_process_at_a_time(void **state)
{
    (void)state;
    temporary file = empty_path();
    fplt_ledger *ledger = opened(&file), *second;
    fplt_error error;
    assert_int_equal(fplt_ledger_open(file.path, 1, &second, &error), FPLT_IO);
    assert_contains(error.text, "another process has this ledger open");
    pid_t child = fork();
    if (child == 0)
        _exit(fplt_ledger_open(file.path, 1, &second, NULL) == FPLT_IO ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pay(ledger, "a", 1, 1, 0.5);
    fplt_ledger_close(ledger);
    fplt_ledger_close(opened(&file));
    remove_all(&file);
}

/* The child says each charge that returned; killed at any instant, those are in the file. */
static void a_killed_process_stays_charged(void **state)
{
    (void)state;
    for (int trial = 0; trial < 8; trial++) {
        temporary file = empty_path();
        int pipes[2];
        unsigned char round = 0, last = 0;
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0) {
            fplt_ledger *own;
            if (fplt_ledger_open(file.path, 1, &own, NULL))
                _exit(1);
            for (round = 1; round < 250; round++) {
                fplt__charge charge = charge_of("a", 1, round, 1);
                if (fplt__ledger_charge(own, &charge, 1, NULL) || write(pipes[1], &round, 1) != 1)
                    _exit(1);
            }
            pause();
        }
        close(pipes[1]);
        while (last < 5 * trial + 3 && read(pipes[0], &round, 1) == 1)
            last = round;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(pipes[0], &round, 1) == 1)
            last = round;
        close(pipes[0]);
        fplt_ledger *ledger = opened(&file);
        double spent = sum_of(ledger, "a").spent.against[0];
        assert_true(last > 0 && (spent == last || spent == last + 1));
        fplt_ledger_close(ledger);
        remove_all(&file);
    }
}

static fplt_status open_and_close(const char *path)
{
    fplt_ledger *ledger;
    fplt_status status = fplt_ledger_open(path, 1, &ledger, NULL);
    fplt_ledger_close(ledger);
    return status;
}

static void survives_failing_memory(void **state)
{
    (void)state;
    temporary file = empty_path();
    survives_failing_allocations(status = open_and_close(file.path), 2);
    remove_all(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charges_add_up_over_runs),
        cmocka_unit_test(a_budget_is_kept),
        cmocka_unit_test(a_run_keeps_to_its_reservation),
        cmocka_unit_test(a_weaker_claim_never_counts_for_a_stronger),
        cmocka_unit_test(older_ledgers_are_brought_up),
        cmocka_unit_test(accounts_of_one_file_are_merged),
        cmocka_unit_test(adopted_charges_belong_to_their_run),
        cmocka_unit_test(only_plain_files_are_ledgers),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(one_process_at_a_time),
        cmocka_unit_test(a_killed_process_stays_charged),
        cmocka_unit_test(survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
