/* Life tables beside counts over all records, and closed forms of curves and tests. */
#include "testing.h"

#include <math.h>

#include "fedplt/random.h"
#include "study/life_table.h"

enum { RECORDS = 60, TRIALS = 200 };

struct record {
    double time;
    int event;
};

static void draw(fplt_stream *stream, struct record *record, size_t count)
{
    for (size_t i = 0; i < count; i++)
        record[i] = (struct record){(double)fplt_stream_below(stream, 20),
                                    fplt_stream_below(stream, 3) > 0};
}

static fplt__life_table table_of(const struct record *record, size_t count)
{
    fplt_error error;
    fplt__life_table table = {NULL, 0, 0, 0};
    for (size_t i = 0; i < count; i++)
        assert_ok(fplt__life_table_see(&table, record[i].time, record[i].event, &error), error);
    fplt__life_table_settle(&table);
    return table;
}

/* At risk and events by going over all records at every time. */
static void curves_count_every_record(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct record record[RECORDS];
        fplt__life_point point[RECORDS];
        draw(&stream, record, RECORDS);
        fplt__life_table table = table_of(record, RECORDS);
        double survival = 1;
        fplt__life_curve(&table, FPLT_SURVIVAL_LOG, 0.95, point);
        for (size_t i = 0; i < table.steps; i++) {
            uint64_t at_risk = 0, events = 0;
            for (size_t r = 0; r < RECORDS; r++) {
                at_risk += record[r].time >= point[i].time;
                events += record[r].time == point[i].time && record[r].event;
            }
            survival *= 1 - (double)events / (double)at_risk;
            assert_int_equal(point[i].at_risk, at_risk);
            assert_int_equal(point[i].events, events);
            assert_near(point[i].survival, survival, 1e-14);
            assert_true(isnan(point[i].low) ? survival == 0 : point[i].low <= survival);
        }
        fplt__life_table_clear(&table);
    }
}

/* Without censoring before the end S is the share of survivors, and Greenwood's error that of a share. */
static void without_censoring_survival_is_a_share(void **state)
{
    (void)state;
    const struct record record[] = {{1, 1}, {2, 1}, {2, 1}, {3, 1}, {5, 0}, {5, 0}, {5, 0}, {5, 0}};
    fplt__life_table table = table_of(record, 8);
    fplt__life_point point[8];
    fplt__life_curve(&table, FPLT_SURVIVAL_PLAIN, 0.95, point);
    const double shares[] = {7.0 / 8, 5.0 / 8, 4.0 / 8, 4.0 / 8};
    assert_int_equal(table.steps, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_near(point[i].survival, shares[i], 1e-15);
        assert_near(point[i].error, sqrt(shares[i] * (1 - shares[i]) / 8), 1e-15);
    }
    assert_near(fplt__life_median_of(point, 4).median, 3, 0); /* 1/2 to the end */
    fplt__life_table_clear(&table);
}

static void a_median_lies_between_where_the_curve_is_one_half(void **state)
{
    (void)state;
    const struct record record[] = {{2, 1}, {4, 1}, {8, 1}, {9, 0}};
    fplt__life_table table = table_of(record, 4);
    fplt__life_point point[4];
    fplt__life_curve(&table, FPLT_SURVIVAL_LOG, 0.95, point);
    assert_near(fplt__life_median_of(point, 4).median, 6, 0);
    assert_true(isnan(fplt__life_median_of(point, 4).high));
    fplt__life_table_clear(&table);
}

static void a_grid_takes_the_boundary_that_follows(void **state)
{
    (void)state;
    const double boundaries[] = {10, 20, 50};
    const fplt__time_grid listed = {boundaries, 3, 0}, wide = {NULL, 0, 0.1}, exact = {NULL, 0, 0};
    int event = 1;
    assert_near(fplt__time_grid_place(&listed, 0, &event), 10, 0);
    assert_near(fplt__time_grid_place(&listed, 10, &event), 10, 0);
    assert_near(fplt__time_grid_place(&listed, 10.5, &event), 20, 0);
    assert_near(fplt__time_grid_place(&listed, 50, &event), 50, 0);
    assert_int_equal(event, 1);
    assert_near(fplt__time_grid_place(&listed, 50.1, &event), 50, 0);
    assert_int_equal(event, 0);
    assert_near(fplt__time_grid_place(&exact, 3.7, &event), 3.7, 0);
    /* a multiple of the width stays where it is, however the quotient is rounded */
    for (int k = 0; k < 1000; k++)
        assert_near(fplt__time_grid_place(&wide, k * 0.1, &event), k * 0.1, 0);
    assert_near(fplt__time_grid_place(&wide, 0.25, &event), 0.3, 1e-15);
}

/* After the cut every step has the minimum at risk, nobody is lost, and what came before is the same. */
static void a_cut_keeps_the_minimum_at_risk(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (uint64_t minimum = 0; minimum <= RECORDS + 1; minimum++) {
        struct record record[RECORDS];
        fplt__life_point before[RECORDS], after[RECORDS];
        draw(&stream, record, RECORDS);
        fplt__life_table whole = table_of(record, RECORDS), cut = table_of(record, RECORDS);
        fplt__life_table_cut(&cut, minimum);
        fplt__life_curve(&whole, FPLT_SURVIVAL_LOG, 0.95, before);
        fplt__life_curve(&cut, FPLT_SURVIVAL_LOG, 0.95, after);
        assert_int_equal(cut.is_cut, cut.steps < whole.steps);
        assert_int_equal(fplt__life_table_rows(&cut), cut.steps ? RECORDS : 0);
        for (size_t i = 0; i < cut.steps; i++) {
            assert_true(after[i].at_risk >= minimum);
            assert_int_equal(after[i].at_risk, before[i].at_risk);
            assert_int_equal(after[i].events, before[i].events);
        }
        assert_true(cut.steps == whole.steps || before[cut.steps].at_risk < minimum);
        fplt__life_table_clear(&whole);
        fplt__life_table_clear(&cut);
    }
}

/* Joined tables are those of all records. */
static void tables_add_up(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    struct record record[RECORDS];
    fplt_error error;
    draw(&stream, record, RECORDS);
    fplt__life_table whole = table_of(record, RECORDS), sum = table_of(record, RECORDS / 3),
                     rest = table_of(record + RECORDS / 3, RECORDS - RECORDS / 3);
    assert_ok(fplt__life_table_join(&sum, &rest, &error), error);
    assert_int_equal(sum.steps, whole.steps);
    for (size_t i = 0; i < whole.steps; i++) {
        assert_near(sum.step[i].time, whole.step[i].time, 0);
        assert_int_equal(sum.step[i].events, whole.step[i].events);
        assert_int_equal(sum.step[i].left, whole.step[i].left);
    }
    fplt__life_table_clear(&whole);
    fplt__life_table_clear(&sum);
    fplt__life_table_clear(&rest);
}

/* One event time: Mantel and Haenszel's test of one 2 x 2 table. */
static void a_log_rank_test_of_one_time_is_that_of_a_table(void **state)
{
    (void)state;
    struct record one[10], two[14];
    for (int i = 0; i < 10; i++)
        one[i] = (struct record){5, i < 6};
    for (int i = 0; i < 14; i++)
        two[i] = (struct record){5, i < 3};
    fplt__life_table a = table_of(one, 10), b = table_of(two, 14), none = {NULL, 0, 0, 0};
    const fplt__life_table *groups[] = {&a, &b, &none};
    double observed[3], expected[3], n = 24, d = 9, mean = d * 10 / n,
                                     variance = d * (n - d) * 10 * 14 / (n * n * (n - 1));
    fplt__logrank test;
    fplt_error error;
    assert_ok(fplt__logrank_test(groups, 3, 1, observed, expected, &test, &error), error);
    assert_near(test.chi_squared, (6 - mean) * (6 - mean) / variance, 1e-12);
    assert_int_equal(test.freedom, 1); /* a group without records has no part */
    assert_near(expected[0], mean, 1e-14);
    assert_ok(fplt__logrank_test(groups, 1, 1, observed, expected, &test, &error), error);
    assert_true(isnan(test.p));
    fplt__life_table_clear(&a);
    fplt__life_table_clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_count_every_record),
        cmocka_unit_test(without_censoring_survival_is_a_share),
        cmocka_unit_test(a_median_lies_between_where_the_curve_is_one_half),
        cmocka_unit_test(a_grid_takes_the_boundary_that_follows),
        cmocka_unit_test(a_cut_keeps_the_minimum_at_risk),
        cmocka_unit_test(tables_add_up),
        cmocka_unit_test(a_log_rank_test_of_one_time_is_that_of_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
