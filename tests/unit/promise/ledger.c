/* The ledger: sums against those of the table itself, budgets against the conversion written out,
 * reservations, proofs, locks, and a process killed while it charges. */
#include "testing.h"

#include <signal.h>
#include <sodium.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "failing.h"
#include "fedplt/ledger.h"
#include "temporary.h"

static const fplt_ledger_budget unlimited = {INFINITY, 1e-5, 1};

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

static fplt_charge charge_of(const char *account, unsigned char run, uint64_t round, double rate)
{
    fplt_charge charge = {.account = account, .round = round, .rounds = 1, .rate = rate};
    memset(charge.run, run, sizeof charge.run);
    return charge;
}

static void pay(fplt_ledger *ledger, const char *account, unsigned char run, uint64_t round,
                double rate)
{
    fplt_error error;
    fplt_charge charge = charge_of(account, run, round, rate);
    assert_ok(fplt_ledger_charge(ledger, &charge, 1, &error), error);
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
    assert_true(sum_of(ledger, "basel").spent == 0);
    for (uint64_t round = 1; round <= 5; round++)
        pay(ledger, "basel", 7, round, 0.01 * (double)round);
    pay(ledger, "bern", 7, 1, 0.3);
    fplt_ledger_close(ledger);
    ledger = opened(&file);
    pay(ledger, "basel", 9, 1, 0.25);
    assert_close(sum_of(ledger, "basel").spent, 0.4, 1e-15);
    assert_int_equal(sum_of(ledger, "basel").runs, 2);
    assert_ok(fplt_ledger_visit(ledger, NULL, take, &list, &error), error);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.account[2], "bern");
    assert_int_equal((uintptr_t)list.entry[1].run, 9);
    assert_int_equal(list.entry[0].rounds, 5);
    assert_close(list.entry[0].rate, 0.15, 1e-15);
    assert_int_equal(strlen(list.time[0]), 20);
    list.count = 0;
    assert_ok(fplt_ledger_visit(ledger, "bern", take, &list, &error), error);
    assert_int_equal(list.count, 1);
    fplt_ledger_close(ledger);
    assert_int_equal(stat(file.path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_close(look(&file, "SELECT sum(rate) FROM charge"), 0.7, 1e-15);
    assert_true(look(&file, "PRAGMA user_version") == 1);
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
    fplt_ledger_budget budget = {epsilon_of(0.1, 1e-6) * (1 + 1e-9), 1e-6, 1};
    unsigned char run[FPLT_RUN_BYTES] = {1}, other[FPLT_RUN_BYTES] = {2};
    assert_ok(fplt_ledger_epsilon(0.1, 1e-6, &epsilon, &error), error);
    assert_close(epsilon, epsilon_of(0.1, 1e-6), 1e-9);
    assert_ok(fplt_ledger_epsilon(0, 1e-6, &epsilon, &error), error);
    assert_true(epsilon == 0);
    pay(ledger, "a", 8, 1, 0.04);
    fplt_ledger_budget three = {epsilon_of(9 * 0.1, 1e-6) * (1 + 1e-9), 1e-6, 3};
    assert_ok(fplt_ledger_admit(ledger, "a", 0.06, &three, &error), error);
    assert_int_equal(fplt_ledger_admit(ledger, "a", 0.0601, &three, &error), FPLT_UNREACHABLE);
    assert_ok(fplt_ledger_admit(ledger, "a", 0.06, &budget, &error), error);
    assert_int_equal(fplt_ledger_admit(ledger, "a", 0.0601, &budget, &error), FPLT_UNREACHABLE);
    assert_contains(error.text, "its budget is");
    assert_ok(fplt_ledger_reserve(ledger, "a", run, 0.05, &budget, &error), error);
    assert_close(sum_of(ledger, "a").reserved, 0.05, 1e-15);
    assert_int_equal(fplt_ledger_reserve(ledger, "a", other, 0.02, &budget, &error),
                     FPLT_UNREACHABLE);
    assert_ok(fplt_ledger_admit(ledger, "a", 0.06, &unlimited, &error), error);
    assert_int_equal(fplt_ledger_admit(ledger, "a", NAN, &unlimited, &error), FPLT_BAD_VALUE);
    fplt_ledger_close(ledger);
    remove_all(&file);
}

static void a_run_keeps_to_its_reservation(void **state)
{
    (void)state;
    temporary file = empty_path();
    fplt_ledger *ledger = opened(&file);
    fplt_error error;
    fplt_charge charge = charge_of("a", 1, 1, 0.1);
    assert_ok(fplt_ledger_reserve(ledger, "a", charge.run, 0.3, &unlimited, &error), error);
    assert_ok(fplt_ledger_reserve(ledger, "a", charge.run, 0.3, &unlimited, &error), error);
    assert_int_equal(fplt_ledger_reserve(ledger, "a", charge.run, 0.4, &unlimited, &error),
                     FPLT_BAD_VALUE);
    for (charge.round = 1; charge.round <= 3; charge.round++)
        assert_ok(fplt_ledger_charge(ledger, &charge, 1, &error), error);
    assert_near(sum_of(ledger, "a").reserved, 0, 1e-15);
    assert_int_equal(fplt_ledger_charge(ledger, &charge, 1, &error), FPLT_UNREACHABLE);
    assert_close(sum_of(ledger, "a").spent, 0.3, 1e-12);
    /* all or none */
    fplt_charge both[] = {charge_of("b", 2, 1, 0.5), charge_of("a", 1, 4, 0.1)};
    assert_int_equal(fplt_ledger_charge(ledger, both, 2, &error), FPLT_UNREACHABLE);
    assert_true(sum_of(ledger, "b").spent == 0);
    unsigned char second[FPLT_RUN_BYTES] = {5};
    assert_ok(fplt_ledger_reserve(ledger, "a", second, 0.2, &unlimited, &error), error);
    assert_ok(fplt_ledger_settle(ledger, "a", second, &error), error);
    assert_near(sum_of(ledger, "a").reserved, 0, 1e-15);
    memcpy(both[0].run, second, sizeof second);
    both[0].account = "a";
    assert_int_equal(fplt_ledger_charge(ledger, both, 1, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "has ended");
    assert_int_equal(fplt_ledger_reserve(ledger, "a", second, 0.2, &unlimited, &error),
                     FPLT_BAD_VALUE);
    fplt_ledger_close(ledger);
    remove_all(&file);
}

static void a_proof_brings_back_what_was_spent(void **state)
{
    (void)state;
    temporary file = empty_path(), other = empty_path();
    fplt_ledger *ledger = opened(&file), *foreign = opened(&other);
    fplt_ledger_proof proof, forged;
    fplt_error error;
    pay(ledger, "a", 1, 1, 0.7);
    assert_ok(fplt_ledger_prove(ledger, "a", &proof, &error), error);
    assert_true(proof.spent == 0.7);
    fplt_ledger_close(ledger);
    alter(&file, "DELETE FROM charge; UPDATE account SET spent = 0");
    ledger = opened(&file);
    assert_true(sum_of(ledger, "a").spent == 0);
    forged = proof;
    forged.spent = 0.8;
    assert_int_equal(fplt_ledger_adopt(ledger, "a", &forged, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt_ledger_adopt(ledger, "b", &proof, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt_ledger_adopt(foreign, "a", &proof, &error), FPLT_BAD_DATA);
    assert_ok(fplt_ledger_adopt(ledger, "a", &proof, &error), error);
    assert_true(sum_of(ledger, "a").spent == 0.7);
    assert_ok(fplt_ledger_raise(ledger, "a", 0.5, &error), error);
    assert_true(sum_of(ledger, "a").spent == 0.7);
    fplt_ledger_close(ledger);
    fplt_ledger_close(foreign);
    remove_all(&file);
    remove_all(&other);
}

/* crypto_auth of the purpose, the sum as a double with its least byte first, and the account's name, under
 * the key of the file: written out once more. */
static void a_proof_has_its_layout(void **state)
{
    (void)state;
    temporary file = empty_path();
    fplt_ledger *ledger = opened(&file);
    fplt_ledger_proof proof;
    fplt_error error;
    pay(ledger, "north", 1, 1, 0.7);
    assert_ok(fplt_ledger_prove(ledger, "north", &proof, &error), error);
    fplt_ledger_close(ledger);
    sqlite3 *handle;
    sqlite3_stmt *query;
    assert_int_equal(sqlite3_open(file.path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, "SELECT secret FROM key WHERE id = 1", -1, &query,
                                        NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(query), SQLITE_ROW);
    assert_int_equal(sqlite3_column_bytes(query, 0), crypto_auth_KEYBYTES);
    /* 0.7 is 0x3fe6666666666666 */
    static const char text[] = "fedplt-ledger-1\n\x66\x66\x66\x66\x66\x66\xe6\x3fnorth";
    assert_int_equal(crypto_auth_verify(proof.tag, (const unsigned char *)text, sizeof text - 1,
                                        sqlite3_column_blob(query, 0)),
                     0);
    sqlite3_finalize(query);
    sqlite3_close(handle);
    remove_all(&file);
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
    alter(&file, "PRAGMA user_version = 2");
    assert_int_equal(fplt_ledger_open(file.path, 1, &ledger, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "take a newer program");
    alter(&file, "PRAGMA user_version = 1");
    ledger = opened(&file);
    pay(ledger, "a", 1, 1, 0.5);
    fplt_ledger_close(ledger);
    alter(&file, "UPDATE account SET spent = 0.25");
    assert_int_equal(fplt_ledger_open(file.path, 1, &ledger, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "it was altered");
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
                fplt_charge charge = charge_of("a", 1, round, 1);
                if (fplt_ledger_charge(own, &charge, 1, NULL) || write(pipes[1], &round, 1) != 1)
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
        double spent = sum_of(ledger, "a").spent;
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
        cmocka_unit_test(a_proof_brings_back_what_was_spent),
        cmocka_unit_test(a_proof_has_its_layout),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(one_process_at_a_time),
        cmocka_unit_test(a_killed_process_stays_charged),
        cmocka_unit_test(survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
