/* Which account the records of a file have: by content, by path, by lines, by declaration. */
#include "testing.h"

#include <sys/stat.h>

#include "promise/ledger.h"
#include "temporary.h"

/* A folder with files, and a ledger. */
struct place {
    char folder[64], path[6][128];
    fplt_ledger *ledger;
};

static void write_rows(const char *path, unsigned first, unsigned last)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("age,chol,label\n", file);
    for (unsigned i = first; i < last; i++)
        fprintf(file, "%u,%u.5,%d\n", 30 + i % 50, 180 + 7 * i, i % 2);
    fclose(file);
}

static struct place make_place(void)
{
    static const char *const names[] = {"c.csv", "d.csv", "e.csv", "other/c.csv", "other", "l.db"};
    struct place place = {.ledger = NULL};
    fplt_error error;
    snprintf(place.folder, sizeof place.folder, "/tmp/fedplt-sets-XXXXXX");
    assert_non_null(mkdtemp(place.folder));
    for (size_t i = 0; i < 6; i++)
        snprintf(place.path[i], sizeof place.path[i], "%s/%s", place.folder, names[i]);
    assert_int_equal(mkdir(place.path[4], 0700), 0);
    write_rows(place.path[0], 0, 60);
    assert_ok(fplt_ledger_open(place.path[5], 1, &place.ledger, &error), error);
    return place;
}

static void leave(struct place *place)
{
    char path[256];
    static const char *const ends[] = {"", "-wal", "-shm"};
    fplt_ledger_close(place->ledger);
    for (size_t i = 0; i < 4; i++)
        unlink(place->path[i]);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", place->path[5], ends[i]);
        unlink(path);
    }
    rmdir(place->path[4]);
    rmdir(place->folder);
}

static fplt_status find(const struct place *place, const char *files, const char *declared,
                        char account[FPLT_ACCOUNT], fplt_error *error)
{
    fplt__record_source source = {
        .files = files, .declared = declared, .setting = "--ledger-account"};
    fplt__record_sets *sets;
    fplt_status status = fplt__record_sets_find(place->ledger, &source, &sets, error);
    *account = 0;
    if (!status) {
        snprintf(account, FPLT_ACCOUNT, "%s", fplt__record_sets_account(sets, 0));
        status = fplt__record_sets_attach(place->ledger, sets, error);
    }
    fplt__record_sets_destroy(sets);
    return status;
}

static void expect(const struct place *place, const char *files, const char *declared,
                   const char *account)
{
    fplt_error error;
    char found[FPLT_ACCOUNT];
    assert_ok(find(place, files, declared, found, &error), error);
    assert_string_equal(found, account);
}

static void refuse(const struct place *place, const char *files, const char *declared,
                   const char *says)
{
    fplt_error error;
    char found[FPLT_ACCOUNT];
    assert_int_equal(find(place, files, declared, found, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, says);
}

static void a_file_keeps_its_account(void **state)
{
    (void)state;
    struct place place = make_place();
    char long_way[300];
    expect(&place, place.path[0], NULL, "c");
    expect(&place, place.path[0], "c", "c");
    snprintf(long_way, sizeof long_way, "%s/../c.csv", place.path[4]);
    expect(&place, long_way, NULL, "c");
    refuse(&place, place.path[0], "fresh", "would be a second account of the same records");
    write_rows(place.path[1], 0, 60); /* a copy */
    expect(&place, place.path[1], NULL, "c");
    refuse(&place, place.path[1], "fresh", "say c");
    write_rows(place.path[0], 0, 61); /* changed, at its place */
    expect(&place, place.path[0], NULL, "c");
    refuse(&place, place.path[0], "fresh", "say c");
    assert_int_equal(rename(place.path[0], place.path[2]), 0); /* moved, as it was last */
    expect(&place, place.path[2], NULL, "c");
    write_rows(place.path[3], 500, 560); /* others, of the same name */
    expect(&place, place.path[3], NULL, "c-2");
    expect(&place, place.path[3], NULL, "c-2");
    leave(&place);
}

static void shared_records_are_asked_for(void **state)
{
    (void)state;
    struct place place = make_place();
    expect(&place, place.path[0], NULL, "c");
    write_rows(place.path[1], 0, 20); /* a third of it, elsewhere */
    refuse(&place, place.path[1], NULL, "say --ledger-account c if they are the same records");
    expect(&place, place.path[1], "c", "c");
    write_rows(place.path[2], 57, 1000); /* three of its rows and the header: below the share */
    expect(&place, place.path[2], NULL, "e");
    write_rows(place.path[3], 40, 5000); /* longer than a sketch */
    refuse(&place, place.path[3], NULL, "are also in the data of the account e");
    expect(&place, place.path[3], "mine", "mine");
    leave(&place);
}

static void several_files(void **state)
{
    (void)state;
    struct place place = make_place();
    char both[300];
    write_rows(place.path[1], 0, 60);
    snprintf(both, sizeof both, "%s,%s", place.path[0], place.path[1]);
    refuse(&place, both, NULL, "are the same records");
    write_rows(place.path[1], 100, 160);
    refuse(&place, both, "a,b,c", "3 names of accounts for 2 data files");
    refuse(&place, both, "a,\x01", "cannot be the name of an account");
    expect(&place, both, "study", "study");
    expect(&place, place.path[1], NULL, "study");
    leave(&place);
}

/* Rows in memory have no file; charged under a name, they may be those of any file that comes later. */
static void unknown_data_are_declared(void **state)
{
    (void)state;
    struct place place = make_place();
    fplt_error error;
    fplt__record_sets *sets;
    fplt__record_source source = {.in_memory = 1, .setting = "ledger_account"};
    fplt__charge charge = {.account = "arrays", .rounds = 1, .rates = {{1, 1, 1, 1, 1}}};
    assert_int_equal(fplt__record_sets_find(place.ledger, &source, &sets, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "name the account of these records: ledger_account");
    source.declared = "arrays";
    assert_ok(fplt__record_sets_find(place.ledger, &source, &sets, &error), error);
    assert_string_equal(fplt__record_sets_account(sets, 0), "arrays");
    fplt__record_sets_destroy(sets);
    assert_ok(fplt__ledger_charge(place.ledger, &charge, 1, &error), error);
    refuse(&place, place.path[0], NULL, "does not know the data of its accounts arrays");
    expect(&place, place.path[0], "arrays", "arrays");
    expect(&place, place.path[0], NULL, "arrays");
    leave(&place);
}

/* Accounts that a federation's agent and train made before files were known. */
static void accounts_of_older_versions(void **state)
{
    (void)state;
    struct place place = make_place();
    fplt_error error;
    fplt__record_sets *sets;
    fplt__record_source agent = {.files = place.path[0], .is_agent = 1, .setting = "x"};
    fplt__charge charge = {.account = "records", .rounds = 1, .rates = {{1, 1, 1, 1, 1}}};
    assert_ok(fplt__ledger_charge(place.ledger, &charge, 1, &error), error);
    refuse(&place, place.path[0], NULL, "accounts records");
    assert_ok(fplt__record_sets_find(place.ledger, &agent, &sets, &error), error);
    assert_string_equal(fplt__record_sets_account(sets, 0), "records");
    fplt__record_sets_destroy(sets);
    charge.account = "agent 0";
    assert_ok(fplt__ledger_charge(place.ledger, &charge, 1, &error), error);
    assert_int_equal(fplt__record_sets_find(place.ledger, &agent, &sets, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "records, agent 0");
    expect(&place, place.path[0], "records", "records");
    expect(&place, place.path[0], NULL, "records");
    leave(&place);
    place = make_place();
    charge.account = "c";
    assert_ok(fplt__ledger_charge(place.ledger, &charge, 1, &error), error);
    expect(&place, place.path[0], NULL, "c");
    leave(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_keeps_its_account),
        cmocka_unit_test(shared_records_are_asked_for),
        cmocka_unit_test(several_files),
        cmocka_unit_test(unknown_data_are_declared),
        cmocka_unit_test(accounts_of_older_versions),
    };
    return cmocka_run_group_tests_name("record_sets", tests, NULL, NULL);
}
