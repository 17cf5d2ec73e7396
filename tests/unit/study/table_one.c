/* Table 1: counts and sums that add up, on a grid and without one, and every allocation that may fail. */
#include "testing.h"
#include "failing.h"
#include "temporary.h"

#include "data/schema_access.h"
#include "fedplt/memory.h"
#include "fedplt/random.h"
#include "study/table_one_words.h"

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

/* ---- over a network ---- */

enum { TOLD_SITES = 3 };
static const char told_schema[] = "columns:\n"
                                  "  age: {type: number, bounds: 0..100, missing: centre}\n"
                                  "  dose: {type: number, bounds: 0..10}\n"
                                  "  sex: {type: category, levels: [f, m, x]}\n"
                                  "  arm: {type: label, classes: [a, b]}\n";

struct network {
    temporary file[TOLD_SITES];
    const char *path[TOLD_SITES];
    fplt_schema *schema;
    fplt_read_settings read;
    fplt_describe_settings settings;
    uint64_t *words[TOLD_SITES];
};

/* The second site has three rows of a level, the third one row with all of the doses, and three in one arm if `few`. */
static void enter_network(struct network *net, int few)
{
    fplt_stream random = fplt_stream_make(8, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_error error;
    static char text[40000];
    assert_ok(fplt__schema_parse(told_schema, strlen(told_schema), "schema", &net->schema, &error),
              error);
    net->read = (fplt_read_settings){
        .format = "csv", .schema = net->schema, .site = "none", .leave_out = 1};
    net->settings = (fplt_describe_settings){
        .read = &net->read, .by = "arm", .cells = 20, .minimum = 5, .dominant = 0.25};
    for (int s = 0; s < TOLD_SITES; s++) {
        size_t used = (size_t)snprintf(text, sizeof text, "age,dose,sex,arm\n");
        for (int i = 0; i < 60 + 20 * s; i++) {
            double u = fplt_stream_uniform(&random);
            char dose[24];
            snprintf(dose, sizeof dose, "%.2f", s < 2 ? 10 * u : i == 7 ? 6.25 : 0.0);
            used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%.1f,%s,%s,%s\n",
                                     i % 11 ? 0 : 1, "?", 100 * fplt_stream_uniform(&random), dose,
                                     s == 1 && i < 3 ? "x"
                                     : i % 2         ? "f"
                                                     : "m",
                                     s == 2 && few ? (i < 3 ? "a" : "b")
                                     : u < 0.4     ? "a"
                                                   : "b");
        }
        net->file[s] = temporary_file(text, used);
        net->path[s] = net->file[s].path;
    }
}

static void leave_network(struct network *net)
{
    for (int s = 0; s < TOLD_SITES; s++) {
        unlink(net->path[s]);
        free(net->words[s]);
    }
    fplt_schema_destroy(net->schema);
}

static void tell_all(struct network *net)
{
    fplt_error error;
    for (int s = 0; s < TOLD_SITES; s++) {
        fplt_description *table;
        net->words[s] = calloc(2 * fplt__table_one_sent(&net->settings), sizeof(uint64_t));
        assert_ok(fplt_describe(&net->path[s], 1, &net->settings, &table, &error), error);
        assert_ok(fplt__table_one_export(table, net->words[s], &error), error);
        fplt_description_destroy(table);
    }
}

static char *listed(const fplt_description *table)
{
    fplt_table *list;
    fplt_error error;
    char *text;
    assert_ok(fplt_description_list(table, &list, &error), error);
    assert_ok(fplt_table_render(list, FPLT_TABLE_CSV, &text, &error), error);
    fplt_table_destroy(list);
    return text;
}

/* From what sites tell follows the table of one process: every number, interval, difference and note. */
static void told_tables_are_those_of_one_process(void **state)
{
    (void)state;
    for (int few = 0; few < 2; few++)
        for (size_t minimum = 0; minimum <= 5; minimum += 5) {
            struct network net = {.schema = NULL};
            fplt_description *one, *all;
            fplt_error error;
            const char *note;
            enter_network(&net, few);
            net.settings.minimum = minimum;
            tell_all(&net);
            assert_ok(fplt_describe(net.path, TOLD_SITES, &net.settings, &one, &error), error);
            assert_ok(fplt__table_one_import(&net.settings, net.path,
                                             (const uint64_t *const *)net.words, TOLD_SITES, &all,
                                             &error),
                      error);
            char *expected = listed(one), *found = listed(all);
            assert_string_equal(found, expected);
            for (size_t i = 0; (note = fplt_description_note(one, i)); i++)
                assert_string_equal(fplt_description_note(all, i), note);
            assert_null(fplt_description_note(all, minimum ? (few ? 2 : 1) : 0));
            assert_true(isnan(fplt__table_one_numbers(one, 1, 3, 0).mean)); /* the one dose */
            assert_false(isnan(fplt__table_one_numbers(one, 0, 3, 0).mean));
            assert_int_equal(fplt__table_one_count(one, 2, 2, 2, 0).low != 3, minimum > 0);
            fplt_free(expected);
            fplt_free(found);
            fplt_description_destroy(one);
            fplt_description_destroy(all);
            leave_network(&net);
        }
}

/* Numbers that no site tells are refused, with its name. */
static void told_tables_that_cannot_be(void **state)
{
    static const struct {
        size_t place;
        uint64_t low, high;
    } lies[] = {{0, 1, 5},  {1, 0, UINT64_MAX}, {0, 0, 3},           {2, 0, 2},
                {3, 0, 2},  {4, 0, 4000},       {6, 0, 99},          {6, 1, 0},
                {30, 0, 2}, {31, 0, 90},        {32, 0, UINT64_MAX}, {33, 0, 70}};
    struct network net = {.schema = NULL};
    fplt_description *all;
    fplt_error error = {FPLT_OK, ""};
    (void)state;
    enter_network(&net, 0);
    tell_all(&net);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint64_t *at = net.words[0] + 2 * lies[i].place, held[2] = {at[0], at[1]};
        at[0] = lies[i].low;
        at[1] = lies[i].high;
        assert_int_equal(fplt__table_one_import(&net.settings, net.path,
                                                (const uint64_t *const *)net.words, TOLD_SITES,
                                                &all, &error),
                         FPLT_BAD_DATA);
        assert_contains(error.text, net.path[0]);
        at[0] = held[0];
        at[1] = held[1];
    }
    leave_network(&net);
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
        cmocka_unit_test(told_tables_are_those_of_one_process),
        cmocka_unit_test(told_tables_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
