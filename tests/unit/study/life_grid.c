/* Merged cells of life tables beside a search over all divisions, and sums of tables beside sums over records. */
#include "testing.h"

#include <math.h>

#include "fedplt/random.h"
#include "study/life_grid.h"

enum { RECORDS = 80, TRIALS = 300, CELLS = 30, SITES = 3 };

static const fplt__time_grid wide = {NULL, 0, 10};

/* A table of records on the grid; the counts of each cell, from 1 on. */
static fplt__life_table draw(fplt_stream *stream, size_t records, uint64_t count[2][CELLS + 1])
{
    fplt__life_table table = {NULL, 0, 0, 0};
    fplt_error error;
    for (int side = 0; side < 2; side++)
        for (size_t c = 0; c <= CELLS; c++)
            count[side][c] = 0;
    for (size_t r = 0; r < records; r++) {
        double u = (double)(1 + fplt_stream_below(stream, 1000)) / 1000;
        int event = fplt_stream_below(stream, 2) > 0;
        double time = fplt__time_grid_place(&wide, 10 * CELLS * u * u, &event);
        count[!event][fplt__time_grid_cell(&wide, time)]++;
        assert_ok(fplt__life_table_see(&table, time, event, &error), error);
    }
    fplt__life_table_settle(&table);
    return table;
}

static uint64_t between(const uint64_t *count, size_t first, size_t end)
{
    uint64_t sum = 0;
    for (size_t c = first; c < end; c++)
        sum += count[c];
    return sum;
}

/* The boundaries of one count: all are tried, those that the most powers of two divide first, and each stays if the parts
 * beside it have enough. Returns how many there are. */
static size_t divide(const uint64_t *count, size_t last, uint64_t minimum, unsigned char *kept)
{
    size_t kept_count = 0;
    for (size_t b = 0; b <= CELLS; b++)
        kept[b] = b == 0 || b == last;
    for (size_t power = 32; power; power /= 2)
        for (size_t b = power; b < last; b += power) {
            size_t low = b - 1, high = b + 1;
            while (!kept[low])
                low--;
            while (!kept[high])
                high++;
            if (!kept[b] && between(count, low + 1, b + 1) >= minimum &&
                between(count, b + 1, high + 1) >= minimum)
                kept[b] = 1, kept_count++;
        }
    return kept_count + 1;
}

/* Each step of a count is that between two boundaries with as many records; there are as many steps as the search finds. */
static void check_side(const fplt__life_table *table, int side, const uint64_t *count,
                       uint64_t minimum)
{
    unsigned char kept[CELLS + 1];
    size_t last = fplt__time_grid_cell(&wide, table->step[table->steps - 1].time), steps = 0,
           behind = 0;
    for (size_t i = 0; i < table->steps; i++) {
        const fplt__life_step *step = &table->step[i];
        size_t cell = fplt__time_grid_cell(&wide, step->time);
        if (!fplt__life_count(step, side))
            continue;
        assert_int_equal(fplt__life_count(step, side), between(count, behind + 1, cell + 1));
        assert_true(fplt__life_count(step, side) >= minimum);
        assert_near(step->since, behind ? 10 * (double)behind : -1, 0);
        behind = cell;
        steps++;
    }
    assert_int_equal(behind, steps ? last : 0);
    if (steps) {
        assert_int_equal(divide(count, last, minimum, kept), steps);
        for (size_t i = 0; i < table->steps; i++)
            assert_true(!fplt__life_count(&table->step[i], side) ||
                        kept[fplt__time_grid_cell(&wide, table->step[i].time)]);
    }
}

static void no_count_is_small_and_nobody_is_lost(void **state)
{
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t withheld = 0, cut = 0, divided = 0;
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        uint64_t count[2][CELLS + 1], minimum = 2 + (uint64_t)trial % 7;
        size_t records = 1 + (size_t)trial % RECORDS;
        fplt_error error;
        fplt__life_table table = draw(&stream, records, count);
        assert_ok(fplt__life_table_protect(&table, &wide, minimum, &error), error);
        withheld += !table.steps;
        cut += table.steps && table.is_cut;
        divided += table.steps > 2;
        if (table.steps) {
            size_t last = fplt__time_grid_cell(&wide, table.step[table.steps - 1].time);
            for (size_t c = last + 1; c <= CELLS;
                 c++) { /* who is at risk at the end leaves there */
                count[1][last] += count[0][c] + count[1][c];
                count[0][c] = count[1][c] = 0;
            }
            assert_int_equal(fplt__life_table_rows(&table), records);
            assert_true(count[0][last] + count[1][last] >= minimum);
            for (int side = 0; side < 2; side++)
                check_side(&table, side, count[side], minimum);
        }
        fplt__life_table_clear(&table);
    }
    assert_true(withheld > 10 && cut > 50 && divided > 100);
}

/* A table with two of three counts that are small ends where they are not. */
static void a_table_ends_where_its_counts_may_be_told(void **state)
{
    fplt__life_table table = {NULL, 0, 0, 0};
    fplt_error error;
    (void)state;
    for (int r = 0; r < 20; r++)
        assert_ok(fplt__life_table_see(&table,
                                       r < 6    ? 20
                                       : r < 18 ? 30
                                                : 40,
                                       r < 6 || r > 17, &error),
                  error);
    fplt__life_table_settle(&table);
    assert_ok(fplt__life_table_protect(&table, &wide, 5, &error), error);
    /* at 40 two are at risk; 6 events until then */
    assert_int_equal(table.steps, 2);
    assert_true(table.is_cut);
    assert_near(table.step[0].time, 30, 0);
    assert_int_equal(table.step[0].events, 6);
    assert_near(table.step[1].time, 30, 0);
    assert_int_equal(table.step[1].left, 14);
    fplt__life_table_clear(&table);
    for (int r = 0; r < 20; r++) /* three events at the first time */
        assert_ok(fplt__life_table_see(&table, r < 3 ? 20 : 30, r < 3, &error), error);
    fplt__life_table_settle(&table);
    assert_ok(fplt__life_table_protect(&table, &wide, 5, &error), error);
    assert_true(table.is_cut && !table.steps);
    fplt__life_table_clear(&table);
}

/* No step of the table goes over the time. */
static void check_boundary(const fplt__life_table *table, int side, double time)
{
    for (size_t i = 0; i < table->steps; i++)
        assert_false(fplt__life_count(&table->step[i], side) && table->step[i].since < time &&
                     time < table->step[i].time);
}

/* On the steps that tables have in common their sum has at every step what all records have until then. */
static void sums_agree_at_common_boundaries(void **state)
{
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t steps = 0;
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        uint64_t count[2][CELLS + 1];
        fplt__life_table table[SITES], sum = {NULL, 0, 0, 0};
        const fplt__life_table *list[SITES];
        fplt__life_common common = {{NULL, NULL}, {0, 0}};
        fplt_error error;
        for (size_t i = 0; i < SITES; i++) {
            table[i] = draw(&stream, 60 + 20 * i, count);
            assert_ok(fplt__life_table_protect(&table[i], &wide, 5, &error), error);
            list[i] = &table[i];
        }
        assert_ok(fplt__life_common_make(list, SITES, &common, &error), error);
        assert_ok(fplt__life_pool(list, SITES, &common, &sum, &error), error);
        for (int side = 0; side < 2; side++) {
            uint64_t so_far = 0;
            for (size_t i = 0; i < sum.steps; i++) {
                uint64_t told = 0;
                so_far += fplt__life_count(&sum.step[i], side);
                for (size_t t = 0; t < SITES; t++)
                    for (size_t k = 0; k < table[t].steps; k++)
                        if (table[t].step[k].time <= sum.step[i].time)
                            told += fplt__life_count(&table[t].step[k], side);
                if (fplt__life_count(&sum.step[i], side))
                    assert_int_equal(so_far, told);
                for (size_t t = 0; t < SITES && fplt__life_count(&sum.step[i], side); t++)
                    check_boundary(&table[t], side, sum.step[i].time);
            }
            assert_int_equal(so_far,
                             fplt__life_table_events(&sum) * (side == 0) +
                                 (fplt__life_table_rows(&sum) - fplt__life_table_events(&sum)) *
                                     (side == 1));
        }
        assert_int_equal(fplt__life_table_rows(&sum), 60 + 80 + 100);
        steps += sum.steps;
        fplt__life_common_clear(&common);
        fplt__life_table_clear(&sum);
        for (size_t i = 0; i < SITES; i++)
            fplt__life_table_clear(&table[i]);
    }
    assert_true(steps > 4 * TRIALS); /* a sum keeps boundaries */
}

/* Boundaries may be listed: a step ends at one of them. */
static void listed_boundaries_are_divided_by_their_numbers(void **state)
{
    const double boundary[] = {5, 8, 20, 40};
    const fplt__time_grid listed = {boundary, 4, 0};
    fplt__life_table table = {NULL, 0, 0, 0};
    fplt_error error;
    (void)state;
    for (int r = 0; r < 12; r++) {
        int event = r % 2;
        double time = fplt__time_grid_place(&listed, r < 6 ? 4 : 28 + r, &event);
        assert_ok(fplt__life_table_see(&table, time, event, &error), error);
    }
    fplt__life_table_settle(&table);
    assert_ok(fplt__life_table_protect(&table, &listed, 3, &error), error);
    assert_int_equal(table.steps,
                     4); /* events and others up to 8, the second boundary, and after it */
    for (size_t i = 0; i < 4; i++) {
        assert_near(table.step[i].time, i < 2 ? 8 : 40, 0);
        assert_near(table.step[i].since, i < 2 ? -1 : 8, 0);
        assert_int_equal(i % 2 ? table.step[i].left : table.step[i].events, 3);
    }
    fplt__life_table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_count_is_small_and_nobody_is_lost),
        cmocka_unit_test(a_table_ends_where_its_counts_may_be_told),
        cmocka_unit_test(sums_agree_at_common_boundaries),
        cmocka_unit_test(listed_boundaries_are_divided_by_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
