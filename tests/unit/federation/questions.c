/* What a site remembers of its answers: questions and their cost, sets of rows, splits, rosters; and the table of rules
 * against the page that shows it. */
#include <math.h>
#include <stdio.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "base/memory.h"
#include "federation/agent/questions.h"
#include "federation/agent/rules.h"
#include "federation/agent/site_memory.h"
#include "base/file.h"

struct place {
    char folder[64], path[96];
    fplt__site_memory *memory;
};

static int enter(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    fplt_error error;
    snprintf(place->folder, sizeof place->folder, "/tmp/fedplt-questions-XXXXXX");
    if (!mkdtemp(place->folder) || fplt__site_memory_open(place->folder, &place->memory, &error))
        return -1;
    snprintf(place->path, sizeof place->path, "%s/disclosure.db", place->folder);
    *state = place;
    return 0;
}

static int leave(void **state)
{
    struct place *place = *state;
    char path[128];
    fplt__site_memory_close(place->memory);
    unlink(place->path);
    for (const char *more = "-wal\0-shm\0"; *more; more += strlen(more) + 1) {
        snprintf(path, sizeof path, "%s%s", place->path, more);
        unlink(path);
    }
    rmdir(place->folder);
    free(place);
    return 0;
}

/* Rows first .. end - 1 of a file. */
static fplt__row_set rows_of(unsigned first, unsigned end)
{
    fplt__row_set set = {calloc(end - first, sizeof(fplt__row_hash)), end - first, 0};
    for (unsigned i = first; i < end; i++) {
        fplt__digest digest = fplt__hash_bytes(&i, sizeof i);
        memcpy(&set.row[i - first], &digest, sizeof set.row[0]);
    }
    fplt__row_set_sort(&set);
    return set;
}

static fplt__question ask(unsigned char fit, unsigned char whole, uint64_t parameters)
{
    fplt__question question = {.parameters = parameters, .columns = parameters - 1};
    question.fit.byte[0] = fit;
    question.whole.byte[0] = whole;
    return question;
}

static double price(struct place *place, int64_t set, fplt__question question, double *spent)
{
    fplt__question_cost cost;
    fplt_error error;
    assert_ok(fplt__site_memory_price(place->memory, set, &question, &cost, &error), error);
    if (spent)
        *spent = cost.spent;
    return cost.added;
}

static void questions_cost_by_what_is_new(void **state)
{
    struct place *place = *state;
    fplt__row_set rows = rows_of(0, 100);
    fplt__question first = ask(1, 1, 5), refit = ask(1, 2, 5), other = ask(2, 3, 5);
    fplt_error error;
    int64_t set;
    double spent;
    assert_ok(fplt__site_memory_find(place->memory, &rows, &set, &error), error);
    assert_near(price(place, set, first, NULL), 100, 0);
    assert_ok(fplt__site_memory_charge(place->memory, set, &first, &rows, NULL, &error), error);
    assert_near(price(place, set, first, &spent), 0, 0);
    assert_near(spent, 100, 0);
    assert_near(price(place, set, refit, NULL), 50, 0); /* half: the same fit */
    assert_near(price(place, set, other, NULL), 100, 0);
    /* another site's levels add a parameter to the same question */
    first.parameters = 6;
    assert_near(price(place, set, first, NULL), 20, 1e-9);
    assert_ok(fplt__site_memory_charge(place->memory, set, &first, &rows, NULL, &error), error);
    assert_near(price(place, set, first, &spent), 0, 0);
    assert_near(spent, 120, 1e-9);
    assert_ok(fplt__site_memory_add_hessians(place->memory, set, &first, 3, &error), error);
    price(place, set, refit, &spent);
    assert_near(spent, 120 + 3 * 21, 1e-9);
    /* nothing is forgotten by another process */
    fplt__site_memory_close(place->memory);
    assert_ok(fplt__site_memory_open(place->folder, &place->memory, &error), error);
    price(place, set, refit, &spent);
    assert_near(spent, 183, 1e-9);
    free(rows.row);
}

/* What a site answered in sums over all sites counts in full for further sums, and by its share of the rows for what the site
 * tells by itself. */
static void sums_count_by_their_share(void **state)
{
    struct place *place = *state;
    fplt__row_set rows = rows_of(0, 100);
    fplt__question sum = ask(1, 1, 5), own = ask(2, 2, 5), other = ask(3, 3, 5);
    fplt_error error;
    int64_t set;
    double spent;
    assert_ok(fplt__site_memory_find(place->memory, &rows, &set, &error), error);
    /* with the proposal the rows of the others are not known, with the plan they are */
    assert_ok(fplt__site_memory_charge(place->memory, set, &sum, &rows, NULL, &error), error);
    price(place, set, own, &spent);
    assert_near(spent, 100, 0);
    sum.share = other.share = 0.125;
    assert_ok(fplt__site_memory_charge(place->memory, set, &sum, &rows, NULL, &error), error);
    price(place, set, own, &spent);
    assert_near(spent, 12.5, 0);
    price(place, set, other, &spent);
    assert_near(spent, 100, 0);
    assert_ok(fplt__site_memory_add_hessians(place->memory, set, &sum, 2, &error), error);
    price(place, set, own, &spent);
    assert_near(spent, 130 / 8.0, 0);
    /* another share of a question that was asked before does not make it dearer */
    sum.share = 0.5;
    assert_ok(fplt__site_memory_charge(place->memory, set, &sum, &rows, NULL, &error), error);
    price(place, set, own, &spent);
    assert_near(spent, 130 / 8.0, 0);
    assert_ok(fplt__site_memory_charge(place->memory, set, &own, &rows, NULL, &error), error);
    price(place, set, own, &spent);
    assert_near(spent, 100 + 130 / 8.0, 0);
    free(rows.row);
}

/* A table that was answered is one; a refused one is none, and other data sets and kinds are not counted. */
static void tables_of_a_data_set(void **state)
{
    struct place *place = *state;
    fplt__row_set rows = rows_of(0, 100), others = rows_of(300, 400);
    fplt__question by_sex = ask(1, 1, 0), by_age = ask(2, 2, 0), scores = ask(3, 3, 0);
    fplt_error error;
    int64_t set, other;
    uint64_t found;
    by_sex.kind = by_age.kind = "describe";
    scores.kind = "evaluate";
    by_sex.numbers = by_age.numbers = scores.numbers = 10;
    assert_ok(fplt__site_memory_find(place->memory, &rows, &set, &error), error);
    assert_ok(fplt__site_memory_find(place->memory, &others, &other, &error), error);
    assert_ok(fplt__site_memory_charge(place->memory, set, &by_age, NULL, NULL, &error), error);
    assert_ok(fplt__site_memory_charge(place->memory, set, &scores, &rows, NULL, &error), error);
    assert_ok(fplt__site_memory_charge(place->memory, other, &by_age, &others, NULL, &error),
              error);
    assert_ok(fplt__site_memory_others(place->memory, set, &by_sex, &found, &error), error);
    assert_int_equal(found, 0);
    assert_ok(fplt__site_memory_charge(place->memory, set, &by_sex, &rows, NULL, &error), error);
    assert_ok(fplt__site_memory_others(place->memory, set, &by_sex, &found, &error), error);
    assert_int_equal(found, 0);
    assert_ok(fplt__site_memory_others(place->memory, set, &by_age, &found, &error), error);
    assert_int_equal(found, 1);
    /* an answer to what was refused before */
    assert_ok(fplt__site_memory_charge(place->memory, set, &by_age, &rows, NULL, &error), error);
    assert_ok(fplt__site_memory_others(place->memory, set, &by_sex, &found, &error), error);
    assert_int_equal(found, 1);
    assert_near(price(place, set, by_age, NULL), 0, 0);
    free(rows.row);
    free(others.row);
}

/* A file of the first form is made one of this form; its questions stay. */
static void an_older_memory_is_read(void **state)
{
    struct place *place = *state;
    static const char *const older =
        "DROP TABLE question; CREATE TABLE question(data_set INT NOT NULL, whole BLOB NOT NULL,"
        " fit BLOB NOT NULL, cost REAL NOT NULL, parameters INT NOT NULL, columns INT NOT NULL,"
        " hessians INT NOT NULL, asked INT NOT NULL, PRIMARY KEY(data_set, whole));"
        "INSERT INTO question VALUES(1, x'01', x'02', 70, 3, 4, 0, 0); PRAGMA user_version = 1;";
    fplt__question question = ask(1, 1, 5);
    fplt_error error;
    double spent;
    sqlite3 *file;
    fplt__site_memory_close(place->memory);
    assert_int_equal(sqlite3_open(place->path, &file), SQLITE_OK);
    assert_int_equal(sqlite3_exec(file, older, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(file);
    assert_ok(fplt__site_memory_open(place->folder, &place->memory, &error), error);
    price(place, 1, question, &spent);
    assert_near(spent, 70, 0);
}

static void a_data_set_is_known_by_its_rows(void **state)
{
    struct place *place = *state;
    fplt__row_set rows = rows_of(0, 100), more = rows_of(40, 160), later = rows_of(120, 220),
                  others = rows_of(300, 400);
    int64_t first, grown, moved, new;
    fplt_error error;
    assert_ok(fplt__site_memory_find(place->memory, &rows, &first, &error), error);
    assert_ok(fplt__site_memory_find(place->memory, &more, &grown, &error), error);
    assert_ok(fplt__site_memory_find(place->memory, &others, &new, &error), error);
    assert_ok(fplt__site_memory_find(place->memory, &later, &moved, &error), error);
    assert_true(first == grown);
    assert_true(new != first &&moved != first &&moved != new); /* 40 of 100 rows are shared */
    free(rows.row);
    free(more.row);
    free(later.row);
    free(others.row);
}

static void sets_that_differ_by_a_few_rows(void **state)
{
    struct place *place = *state;
    static const struct {
        unsigned first, end;
        size_t differs;
    } cases[] = {{0, 100, 0}, {0, 99, 1}, {1, 101, 2}, {0, 119, 19}, {0, 120, 20}, {0, 50, 50}};
    fplt__row_set rows = rows_of(0, 100);
    fplt__question question = ask(1, 1, 5);
    fplt_error error;
    int64_t set;
    assert_ok(fplt__site_memory_find(place->memory, &rows, &set, &error), error);
    assert_ok(fplt__site_memory_charge(place->memory, set, &question, &rows, NULL, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt__row_set some = rows_of(cases[i].first, cases[i].end);
        size_t differs;
        assert_ok(fplt__site_memory_differs(place->memory, set, &some, &differs, &error), error);
        assert_int_equal(differs, cases[i].differs);
        free(some.row);
    }
    /* a multiset: a row that is there twice is not the row once */
    fplt__row_set twice = rows_of(0, 101);
    twice.row[100] = twice.row[50];
    fplt__row_set_sort(&twice);
    assert_int_equal(fplt__row_set_difference(&rows, &twice) % 2, 1);
    free(twice.row);
    free(rows.row);
}

static size_t count(const unsigned char *held, size_t rows)
{
    size_t held_out = 0;
    for (size_t r = 0; r < rows; r++)
        held_out += held[r];
    return held_out;
}

static void splits_by_a_secret(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    static const uint8_t key[32] = {1}, another[32] = {2};
    unsigned char held[ROWS], smaller[ROWS], other[ROWS];
    fplt__row_set rows = rows_of(0, ROWS);
    fplt_error error;
    size_t differing = 0;
    assert_ok(fplt__row_set_hold_out(&rows, key, 0.3, held, &error), error);
    assert_ok(fplt__row_set_hold_out(&rows, key, 0.1, smaller, &error), error);
    assert_ok(fplt__row_set_hold_out(&rows, another, 0.3, other, &error), error);
    assert_int_equal(count(held, ROWS), 120);
    assert_int_equal(count(smaller, ROWS), 40);
    for (size_t r = 0; r < ROWS; r++) {
        assert_true(!smaller[r] || held[r]);
        differing += held[r] != other[r];
    }
    assert_true(differing > 100); /* about 168 of two secrets */
    free(rows.row);
}

static void rosters_that_differ(void **state)
{
    struct place *place = *state;
    size_t members;
    fplt_error error;
    fplt__site_memory *memory = place->memory;
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c d", 0, 0, &members, &error),
              error);
    assert_int_equal(members, 0);
    assert_ok(fplt__site_memory_add_roster(memory, "heart", "a b c d", &error), error);
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c", 0, 0, &members, &error),
              error);
    assert_int_equal(members, 1);
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c e", 0, 0, &members, &error),
              error);
    assert_int_equal(members, 2);
    /* with leave of the site members may leave; who joins is seen all the same */
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c", 1, 0, &members, &error),
              error);
    assert_int_equal(members, 0);
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c e", 1, 0, &members, &error),
              error);
    assert_int_equal(members, 2);
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c d e", 1, 0, &members,
                                               &error),
              error);
    assert_int_equal(members, 1);
    /* where single updates are seen, only those who are missing count */
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c e", 0, 1, &members, &error),
              error);
    assert_int_equal(members, 1);
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c d e", 0, 1, &members,
                                               &error),
              error);
    assert_int_equal(members, 0);
    assert_ok(fplt__site_memory_roster_differs(memory, "heart", "a b c", 1, 1, &members, &error),
              error);
    assert_int_equal(members, 0);
    assert_ok(fplt__site_memory_roster_differs(memory, "lung", "a b c", 0, 0, &members, &error),
              error);
    assert_int_equal(members, 0);
}

/* docs/disclosure.md has every rule, as the table has it, and none besides. */
static void rules_are_documented(void **state)
{
    (void)state;
    char *text;
    size_t size, rows = 0;
    fplt_error error;
    assert_ok(fplt__file_read("docs/disclosure.md", 1 << 20, &text, &size, &error), error);
    for (fplt__rule_name rule = 0; rule < FPLT__RULES; rule++) {
        fplt__buffer row = {NULL, 0, 0, FPLT_OK};
        fplt__rule_row(rule, &row);
        if (!strstr(text, row.text))
            fail_msg("docs/disclosure.md does not have the row\n%s", row.text);
        fplt__buffer_clear(&row);
    }
    for (const char *at = text; (at = strstr(at, "\n| `")); at++)
        rows++;
    assert_int_equal(rows, FPLT__RULES);
    fplt_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(questions_cost_by_what_is_new, enter, leave),
        cmocka_unit_test_setup_teardown(sums_count_by_their_share, enter, leave),
        cmocka_unit_test_setup_teardown(tables_of_a_data_set, enter, leave),
        cmocka_unit_test_setup_teardown(an_older_memory_is_read, enter, leave),
        cmocka_unit_test_setup_teardown(a_data_set_is_known_by_its_rows, enter, leave),
        cmocka_unit_test_setup_teardown(sets_that_differ_by_a_few_rows, enter, leave),
        cmocka_unit_test_setup_teardown(rosters_that_differ, enter, leave),
        cmocka_unit_test(splits_by_a_secret),
        cmocka_unit_test(rules_are_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
