/* Table 1: counts and sums that add up, on a grid and without one, and every allocation that may fail. */
#include "testing.h"
#include "failing.h"
#include "temporary.h"

#include "fedplt/memory.h"
#include "fedplt/random.h"
#include "study/table_one.h"

static const char rows[] = "site,age,sex,stage,who\n"
                           "n,50,f,1,a\nn,60,m,2,b\nn,70,m,x,a\nn,,f,1,b\nn,55,m,2,a\n"
                           "s,40,f,1,b\ns,45,f,2,a\ns,65,?,2,b\ns,80,m,1,\ns,62,m,1,a\n";

static fplt_description *describe(const char *text, const fplt_describe_settings *settings)
{
    temporary file = temporary_file(text, strlen(text));
    const char *paths[] = {file.path};
    fplt_description *table;
    fplt_error error;
    assert_ok(fplt_describe(paths, 1, settings, &table, &error), error);
    unlink(file.path);
    return table;
}

static void counts_by_site_and_stratum(void **state)
{
    fplt_read_settings read = {.format = "csv"};
    fplt_description *table =
        describe(rows, &(fplt_describe_settings){.read = &read, .by = "who", .cross = "sex:stage"});
    (void)state;
    assert_int_equal(fplt__table_one_columns(table), 3);
    assert_int_equal(fplt_description_sites(table), 3);
    assert_int_equal(fplt__table_one_strata(table), 3);
    assert_string_equal(fplt__table_one_stratum(table, 1), "a");
    assert_int_equal(fplt__table_one_rows(table, 0, 0).low, 10);
    assert_int_equal(fplt__table_one_rows(table, 2, 1).low, 2);
    assert_int_equal(fplt__table_one_missing(table, 0, 1, 2).low, 1);
    assert_near(fplt__table_one_numbers(table, 0, 1, 0).mean, 58.75, 1e-12);
    assert_near(fplt__table_one_numbers(table, 0, 1, 0).quartile[1], 57.5, 1e-12);
    assert_int_equal(fplt__table_one_levels(table, 1), 2); /* f, m */
    assert_int_equal(fplt__table_one_count(table, 1, 1, 0, 0).low, 5);
    assert_int_equal(fplt__table_one_levels(table, 2), 3); /* numbers beside a word are levels */
    assert_string_equal(fplt__table_one_level(table, 2, 2), "x");
    assert_int_equal(fplt__table_one_count(table, 2, 0, 2, 0).low, 3);
    fplt__table_one_cross cross;
    assert_true(fplt__table_one_cross_get(table, 0, &cross));
    assert_int_equal(cross.rows, 3); /* f, m, missing */
    assert_null(fplt__table_one_cross_level(table, 0, 0, 2));
    assert_int_equal(fplt__table_one_cross_count(table, 0, 0, 0, 0).low, 3); /* f with 1 */
    assert_int_equal(fplt__table_one_cross_count(table, 0, 0, cross.rows, cross.columns).low, 10);
    assert_non_null(fplt_description_note(table, 0)); /* a row without a stratum */
    fplt_description_destroy(table);
}

/* On a grid every quantile is within a cell of the exact one, sums are exact, and the sites add up. */
static void a_grid_is_within_its_resolution(void **state)
{
    fplt_read_settings read = {.format = "csv"};
    fplt_stream random = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    static char text[100000];
    size_t used = (size_t)snprintf(text, sizeof text, "site,x\n");
    (void)state;
    for (int i = 0; i < 2000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "s%d,%.3f\n", i % 3,
                                 50 + 12 * fplt_stream_normal(&random));
    fplt_describe_settings on_grid = {.read = &read, .bounds = "x=0..100", .cells = 200};
    fplt_describe_settings exact = {.read = &read};
    fplt_describe_settings guarded = on_grid;
    guarded.minimum = 10;
    fplt_description *a = describe(text, &exact), *b = describe(text, &on_grid),
                     *c = describe(text, &guarded);
    for (size_t s = 0; s < 4; s++) {
        fplt__table_one_number one = fplt__table_one_numbers(a, 0, s, 0),
                               two = fplt__table_one_numbers(b, 0, s, 0),
                               three = fplt__table_one_numbers(c, 0, s, 0);
        assert_near(one.mean, two.mean, 1e-12);
        assert_near(one.deviation, two.deviation, 1e-11);
        assert_near(two.resolution, 0.5, 1e-12);
        assert_true(three.resolution >= 0.5 && three.resolution < 5);
        for (int q = 0; q < 3; q++) {
            assert_near(one.quartile[q], two.quartile[q], two.resolution);
            assert_near(one.quartile[q], three.quartile[q], three.resolution);
        }
    }
    fplt_description_destroy(a);
    fplt_description_destroy(b);
    fplt_description_destroy(c);
}

/* Deviation 0 at every site and number of rows, with and without a grid, for values that are no binary fractions. */
static void a_constant_column_has_deviation_0(void **state)
{
    fplt_read_settings read = {.format = "csv"};
    static char text[60000];
    (void)state;
    for (int length = 2; length < 400; length += 7) {
        size_t used = (size_t)snprintf(text, sizeof text, "site,x\n");
        for (int i = 0; i < 2 * length; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "s%d,%.1f\n", i % 2,
                                     30.1 + 0.1 * (length % 97));
        fplt_describe_settings exact = {.read = &read};
        fplt_describe_settings on_grid = {.read = &read, .bounds = "x=30..45", .cells = 100};
        fplt_description *a = describe(text, &exact), *b = describe(text, &on_grid);
        for (size_t s = 0; s < 3; s++) {
            assert_true(fplt__table_one_numbers(a, 0, s, 0).deviation == 0);
            assert_true(fplt__table_one_numbers(b, 0, s, 0).deviation == 0);
        }
        fplt_description_destroy(a);
        fplt_description_destroy(b);
    }
}

static void small_groups_are_withheld(void **state)
{
    fplt_read_settings read = {.format = "csv"};
    fplt_describe_settings settings = {.read = &read, .by = "who", .minimum = 6};
    fplt_description *table = describe(rows, &settings);
    (void)state;
    assert_int_equal(fplt__table_one_rows(table, 1, 0).low, 0); /* 5 rows */
    assert_int_equal(fplt__table_one_rows(table, 1, 0).high, 5);
    assert_true(isnan(fplt__table_one_numbers(table, 0, 0, 0).mean));
    fplt_description_destroy(table);
    settings.minimum = 3; /* south has two rows of a stratum: no strata there */
    table = describe(rows, &settings);
    assert_int_equal(fplt__table_one_rows(table, 2, 0).low, 5);
    assert_int_equal(fplt__table_one_rows(table, 2, 1).low, 0);
    assert_true(isnan(fplt__table_one_numbers(table, 0, 2, 1).mean));
    assert_false(isnan(fplt__table_one_numbers(table, 0, 2, 0).mean));
    assert_true(isnan(fplt__table_one_numbers(table, 0, 2, 0).quartile[1]));
    fplt_description_destroy(table);
}

static char *listed_as_csv(const fplt_description *table)
{
    fplt_table *listed;
    fplt_error error;
    char *text;
    assert_ok(fplt_description_list(table, &listed, &error), error);
    assert_ok(fplt_table_render(listed, FPLT_TABLE_CSV, &text, &error), error);
    fplt_table_destroy(listed);
    return text;
}

/* A text in memory, without a newline behind the last row or a zero behind the text, gives every digit of the file. */
static void a_text_is_a_file(void **state)
{
    fplt_read_settings read = {.format = "csv"};
    fplt_describe_settings settings = {.read = &read, .by = "who"};
    fplt_description *a = describe(rows, &settings), *b;
    fplt_error error;
    size_t size = strlen(rows) - 1;
    char *copy = test_malloc(size);
    (void)state;
    memcpy(copy, rows, size);
    assert_ok(fplt_describe_text("rows of R", copy, size, &settings, &b, &error), error);
    test_free(copy);
    char *one = listed_as_csv(a), *two = listed_as_csv(b);
    assert_string_equal(one, two);
    fplt_free(one);
    fplt_free(two);
    fplt_description_destroy(a);
    fplt_description_destroy(b);
    settings.by = "nobody";
    assert_int_equal(fplt_describe_text("rows of R", rows, size, &settings, &b, &error),
                     FPLT_BAD_VALUE);
    assert_null(b);
    assert_string_equal(error.text, "by: rows of R has no column 'nobody'");
}

static void make_and_write(const char *path, fplt_status *status)
{
    fplt_read_settings read = {.format = "csv"};
    fplt_describe_settings settings = {.read = &read,
                                       .by = "who",
                                       .cross = "sex:stage",
                                       .bounds = "age=0..100",
                                       .cells = 10,
                                       .minimum = 2};
    const char *paths[] = {path};
    fplt_description *table;
    fplt_table *printed = NULL, *listed = NULL;
    fplt_error error;
    *status = fplt_describe(paths, 1, &settings, &table, &error);
    if (*status)
        return;
    if (!(*status = fplt_description_paper(table, 0, &printed, &error)))
        *status = fplt_description_list(table, &listed, &error);
    fplt_table_destroy(printed);
    fplt_table_destroy(listed);
    fplt_description_destroy(table);
}

static void allocations_may_fail(void **state)
{
    temporary file = temporary_file(rows, strlen(rows));
    (void)state;
    survives_failing_allocations(make_and_write(file.path, &status), 20);
    unlink(file.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_by_site_and_stratum),
        cmocka_unit_test(a_grid_is_within_its_resolution),
        cmocka_unit_test(a_constant_column_has_deviation_0),
        cmocka_unit_test(small_groups_are_withheld),
        cmocka_unit_test(a_text_is_a_file),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
