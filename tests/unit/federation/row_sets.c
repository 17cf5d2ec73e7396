/* Rows by their hashes, and the rule `differencing`: a set that differs from one that was answered for by 1 to 19 rows is
 * refused, unless the site approved a withdrawal, which excuses one set. */
#include "site_data.h"

#include <time.h>

#include "base/file.h"
#include "federation/agent/questions.h"
#include "federation/plan/program.h"

static const uint8_t key[32] = {1}, another[32] = {2};
static struct site_data data;

static int begin(void **state)
{
    (void)state;
    site_data_found(&data, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    site_data_clear(&data);
    return 0;
}

/* Rows first .. last - 1 of a table without equal rows, as text. */
static void table(fplt__buffer *text, unsigned first, unsigned last)
{
    fplt__buffer_add(text, "a,b,label\n");
    for (unsigned i = first; i < last; i++)
        fplt__buffer_format(text, "%u,%u,%d\n", i, i * i % 17, i % 2 ? 1 : -1);
}

static void read_rows(unsigned first, unsigned last)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    table(&text, first, last);
    site_data_read(&data, "rows.csv", text.text, key);
    fplt__buffer_clear(&text);
}

/* A copy of the sorted rows of the file, to be cleared. */
static fplt__row_set rows_of(const char *name, const char *text, const uint8_t *secret)
{
    site_data_read(&data, name, text, secret);
    const fplt__row_set *all = &fplt__local_data_row_sets(data.rows)->all;
    fplt__row_set copy = {calloc(all->count + 1, sizeof *all->row), all->count, 0};
    memcpy(copy.row, all->row, all->count * sizeof *all->row);
    return copy;
}

static size_t differing(const char *text, const char *other)
{
    fplt__row_set a = rows_of("rows.csv", text, key), b = rows_of("rows.csv", other, key);
    size_t rows = fplt__row_set_difference(&a, &b);
    free(a.row);
    free(b.row);
    return rows;
}

static void a_row_is_the_text_of_its_fields(void **state)
{
    (void)state;
    static const char base[] = "a,b,label\n1,23,1\n4,5,-1\n6,7,1\n";
    assert_int_equal(differing(base, base), 0);
    assert_int_equal(differing(base, "a,b,label\n6,7,1\n1,23,1\n4,5,-1\n"), 0); /* order */
    assert_int_equal(differing(base, "x,y,label\n1,23,1\n4,5,-1\n6,7,1\n"), 0); /* names */
    assert_int_equal(differing(base, "a,b,label\n12,3,1\n4,5,-1\n6,7,1\n"),
                     2); /* limits of fields */
    assert_int_equal(differing(base, "a,b,label\n1,23,-1\n4,5,-1\n6,7,1\n"), 2); /* label */
    assert_int_equal(differing(base, "a,b,label\n1,23,1\n4,5,-1\n"), 1);
    assert_int_equal(differing(base, "a,b,label\n1,23,1\n4,5,-1\n6,7,1\n6,7,1\n"), 1); /* twice */
    fplt__row_set a = rows_of("rows.csv", base, key), b = rows_of("rows.csv", base, another);
    assert_int_equal(fplt__row_set_difference(&a, &b), 6); /* of another secret */
    free(a.row);
    free(b.row);
}

/* Neither label, scale nor another column of the proposal make other rows. */
static void settings_change_no_row(void **state)
{
    (void)state;
    static const char text[] = "a,b,label\n1,23,1\n4,5,-1\n6,7,1\n8,9,-1\n";
    fplt_error error;
    fplt__row_set a = rows_of("rows.csv", text, key);
    assert_ok(fplt_settings_set(data.site, "ignore", "b", "test", &error), error);
    fplt__row_set b = rows_of("rows.csv", text, key);
    assert_int_equal(a.count, 4);
    assert_int_equal(fplt__row_set_difference(&a, &b), 0);
    free(a.row);
    free(b.row);
}

/* Rows that the agent leaves out for a missing value are not answered for; the next row's place stays its own. */
static void left_out_rows_have_no_hash(void **state)
{
    (void)state;
    assert_ok(fplt_settings_set(data.site, "missing", "drop", "test", &(fplt_error){0}),
              (fplt_error){0});
    assert_int_equal(
        differing("a,b,label\n1,,1\n4,5,-1\n,7,1\n8,9,1\n", "a,b,label\n4,5,-1\n8,9,1\n"), 0);
}

/* Each file is a site of its own, and `site: none` does not change that: the sentence has another remedy. */
static void several_files_are_several_sites(void **state)
{
    (void)state;
    char list[1500], abroad[FPLT__SENTENCE];
    fplt__local_source from = {0, key};
    fplt_error error;
    site_data_read(&data, "one.csv", "a,b,label\n7,8,-1\n1,2,1\n", key);
    site_data_read(&data, "two.csv", "a,b,label\n3,4,-1\n9,9,1\n5,6,1\n", key);
    snprintf(list, sizeof list, "%s/one.csv,%s/two.csv", data.folder, data.folder);
    assert_ok(fplt_settings_set(data.site, "data", list, "test", &error), error);
    assert_ok(fplt_settings_set(data.site, "site", "none", "test", &error), error);
    fplt__local_data_destroy(data.rows);
    assert_int_equal(fplt__local_data_create(data.site, &data.proposal, &from, &data.rows, abroad,
                                             &error),
                     FPLT_BAD_DATA);
    assert_contains(error.text, "2 sites");
    assert_contains(error.text, "into one file");
    assert_null(strstr(error.text, "site: none"));
}

/* The rows with numbers: of a sparse file, column and value count. */
static void rows_of_numbers(void **state)
{
    (void)state;
    static char positions[] =
        "{\"columns\":[],\"drop\":false,\"label\":{\"kind\":\"any\",\"levels\":[],"
        "\"name\":null},\"positions\":3,\"whole\":false}";
    static const struct {
        const char *text;
        size_t differs;
    } cases[] = {{"1 1:2\n-1 2:5\n1 3:1\n", 0},        {"1 1:2.0\n1 3:1\n-1 2:5\n", 0},
                 {"1 1:2\n-1 3:5\n1 3:1\n", 2},        {"1 1:2\n-1 2:5.5\n1 3:1\n", 2},
                 {"1 1:2\n1 2:5\n1 3:1\n-1 1:1\n", 3}, {"1 1:2\n-1 2:5\n", 1}};
    data.proposal.dictionary = positions;
    assert_ok(fplt_settings_set(data.site, "features", "3", "test", &(fplt_error){0}),
              (fplt_error){0});
    fplt__row_set base = rows_of("rows.libsvm", cases[0].text, key);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt__row_set other = rows_of("rows.libsvm", cases[i].text, key);
        assert_int_equal(fplt__row_set_difference(&base, &other), cases[i].differs);
        free(other.row);
    }
    free(base.row);
}

/* A merge of sorted multisets against the count of each value in both. */
static void differences_as_counted(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int trial = 0; trial < 500; trial++) {
        size_t expected = 0, count[2][9] = {{0}};
        fplt__row_set set[2];
        for (int s = 0; s < 2; s++) {
            set[s] = (fplt__row_set){calloc(20, sizeof(fplt__row_hash)), 0, 0};
            seed = seed * 1664525u + 1013904223u;
            set[s].count = (seed >> 16) % 20;
            for (size_t i = 0; i < set[s].count; i++) {
                seed = seed * 1664525u + 1013904223u;
                set[s].row[i].byte[15] = (uint8_t)((seed >> 16) % 9);
                count[s][set[s].row[i].byte[15]]++;
            }
            fplt__row_set_sort(&set[s]);
        }
        for (size_t v = 0; v < 9; v++)
            expected +=
                count[0][v] > count[1][v] ? count[0][v] - count[1][v] : count[1][v] - count[0][v];
        assert_int_equal(fplt__row_set_difference(&set[0], &set[1]), expected);
        free(set[0].row);
        free(set[1].row);
    }
}

/* Rows without an effect are not among those that are answered for. */
static void rows_with_an_effect(void **state)
{
    (void)state;
    static const char text[] = "a,b,w,label\n1,2,1,1\n3,4,0,-1\n5,6,2,1\n7,8,0,-1\n9,9,1,-1\n";
    fplt_error error;
    assert_ok(fplt_settings_set(data.site, "row-weight", "w", "test", &error), error);
    site_data_read(&data, "rows.csv", text, key);
    const fplt__row_sets *sets = fplt__local_data_row_sets(data.rows);
    assert_int_equal(sets->all.count, 5);
    assert_int_equal(sets->used.count, 3);
    assert_int_equal(fplt__row_set_difference(&sets->all, &sets->used), 2);
    assert_int_equal(sets->held.count, 0);
}

static void a_holdout_divides_the_rows(void **state)
{
    (void)state;
    fplt__pair share = {(char *)"holdout", (char *)"0.25"};
    data.proposal.settings = 1;
    data.proposal.setting = &share;
    read_rows(0, 100);
    const fplt__row_sets *sets = fplt__local_data_row_sets(data.rows);
    assert_int_equal(sets->held.count, 25);
    assert_int_equal(sets->used.count, 75);
    assert_int_equal(fplt__row_set_difference(&sets->used, &sets->held), 100); /* none is in both */
    assert_int_equal(fplt__row_set_difference(&sets->all, &sets->used), 25);
    share.value = (char *)"0.999"; /* one row is left to train on */
    read_rows(0, 100);
    sets = fplt__local_data_row_sets(data.rows);
    assert_int_equal(sets->held.count, 99);
    assert_int_equal(sets->used.count, 1);
}

/* The question of the proposal about the rows at hand; it is answered where no rule refuses. */
static fplt_status ask(fplt__site_memory *memory, fplt_error *error)
{
    static const fplt__digest hash = {{1}};
    fplt__asked asked;
    assert_ok(fplt__questions_find(data.site, &data.proposal, &hash, data.rows, memory, &asked,
                                   error),
              *error);
    fplt_status status = fplt__questions_compare(data.site, fplt__local_data_row_sets(data.rows),
                                                 memory, &asked, error);
    if (!status)
        assert_ok(fplt__questions_charge(fplt__local_data_row_sets(data.rows), memory, &asked,
                                         error),
                  *error);
    return status;
}

static void a_few_rows_more_or_fewer_are_refused(void **state)
{
    (void)state;
    fplt_error error;
    for (int direction = 0; direction < 2; direction++)
        for (unsigned rows = 0; rows <= 22; rows++) {
            char memories[400];
            fplt__site_memory *memory;
            snprintf(memories, sizeof memories, "rm -f '%s'/disclosure.db*", data.folder);
            assert_int_equal(system(memories), 0);
            assert_ok(fplt__site_memory_open(data.folder, &memory, &error), error);
            read_rows(0, 100);
            assert_ok(ask(memory, &error), error);
            read_rows(direction ? rows : 0, direction ? 100 : 100 + rows);
            fplt_status status = ask(memory, &error);
            assert_int_equal(status, rows >= 1 && rows <= 19 ? FPLT_FAILED : FPLT_OK);
            if (status) {
                char said[60];
                snprintf(said, sizeof said, "the rows to train on differ by %u ", rows);
                assert_contains(error.text, said);
            }
            fplt__site_memory_close(memory);
        }
}

/* Held-out rows are compared by themselves: a score of them is an answer too. */
static void held_out_rows_are_compared(void **state)
{
    (void)state;
    fplt__pair share = {(char *)"holdout", (char *)"0.5"};
    fplt__site_memory *memory;
    fplt_error error;
    data.proposal.settings = 1;
    data.proposal.setting = &share;
    assert_ok(fplt__site_memory_open(data.folder, &memory, &error), error);
    read_rows(0, 100);
    fplt__asked asked;
    const fplt__digest hash = {{1}};
    assert_ok(fplt__questions_find(data.site, &data.proposal, &hash, data.rows, memory, &asked,
                                   &error),
              error);
    /* only the holdout of this set was answered for, and then one that has a row fewer */
    const fplt__row_set *held = &fplt__local_data_row_sets(data.rows)->held;
    fplt__row_set fewer = {held->row, held->count - 1, 0};
    assert_ok(fplt__site_memory_charge(memory, asked.data_set, &asked.question,
                                       &fplt__local_data_row_sets(data.rows)->used, &fewer, &error),
              error);
    assert_int_equal(fplt__questions_compare(data.site, fplt__local_data_row_sets(data.rows),
                                             memory, &asked, &error),
                     FPLT_FAILED);
    assert_contains(error.text, "the rows held out differ by 1 ");
    fplt__site_memory_close(memory);
}

static void a_withdrawal_excuses_one_set(void **state)
{
    (void)state;
    fplt__site_memory *memory;
    fplt_error error;
    char *log;
    size_t size;
    assert_ok(fplt__site_memory_open(data.folder, &memory, &error), error);
    read_rows(0, 100);
    assert_ok(ask(memory, &error), error);
    read_rows(3, 100);
    assert_int_equal(ask(memory, &error), FPLT_FAILED);
    fplt__site_memory_close(memory);
    assert_ok(fplt__federation_approve_withdrawal(data.folder, &error), error);
    assert_int_equal(fplt__federation_approve_withdrawal(data.folder, &error), FPLT_FAILED);
    assert_contains(error.text, "less than 30 days ago");
    assert_ok(fplt__site_memory_open(data.folder, &memory, &error), error);
    assert_ok(ask(memory, &error), error); /* the rows that were taken out */
    assert_ok(ask(memory, &error), error); /* the same set again is the same answer */
    read_rows(5, 100);
    assert_int_equal(ask(memory, &error), FPLT_FAILED); /* and no other */
    fplt__site_memory_close(memory);
    char path[400];
    snprintf(path, sizeof path, "%s/audit.jsonl", data.folder);
    assert_ok(fplt__file_read(path, 1 << 20, &log, &size, &error), error);
    char *first = strstr(log, "withdrawal-approved");
    assert_non_null(first);
    assert_null(strstr(first + 1, "withdrawal-approved")); /* the one that was refused is none */
    fplt_free(log);
}

static void withdrawals_are_thirty_days_apart(void **state)
{
    const int64_t days = 30 * 86400;
    fplt_error error;
    for (int later = 0; later < 2; later++) {
        fplt__site_memory *memory;
        assert_ok(fplt__site_memory_open(data.folder, &memory, &error), error);
        assert_ok(fplt__site_memory_approve_withdrawal(
                      memory, (int64_t)time(NULL) - days + (later ? -60 : 60), &error),
                  error);
        fplt__site_memory_close(memory);
        assert_int_equal(fplt__federation_approve_withdrawal(data.folder, &error),
                         later ? FPLT_OK : FPLT_FAILED);
        end(state);
        begin(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_row_is_the_text_of_its_fields, begin, end),
        cmocka_unit_test_setup_teardown(settings_change_no_row, begin, end),
        cmocka_unit_test_setup_teardown(left_out_rows_have_no_hash, begin, end),
        cmocka_unit_test_setup_teardown(several_files_are_several_sites, begin, end),
        cmocka_unit_test_setup_teardown(rows_of_numbers, begin, end),
        cmocka_unit_test(differences_as_counted),
        cmocka_unit_test_setup_teardown(rows_with_an_effect, begin, end),
        cmocka_unit_test_setup_teardown(a_holdout_divides_the_rows, begin, end),
        cmocka_unit_test_setup_teardown(a_few_rows_more_or_fewer_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(held_out_rows_are_compared, begin, end),
        cmocka_unit_test_setup_teardown(a_withdrawal_excuses_one_set, begin, end),
        cmocka_unit_test_setup_teardown(withdrawals_are_thirty_days_apart, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
