/* Suppression beside an attacker who tries every table of counts that fits what is shown. */
#include "testing.h"

#include "fedplt/random.h"
#include "study/crosstab.h"

enum { MAX_SIDE = 3 };

/* All tables with the shown cells and totals: the least and largest count of each cell. */
struct attack {
    const fplt__crosstab *table;
    size_t guess[(MAX_SIDE + 1) * (MAX_SIDE + 1)];
    fplt__count found[(MAX_SIDE + 1) * (MAX_SIDE + 1)];
    size_t tables;
};

static int row_fits(struct attack *attack, size_t i)
{
    const fplt__crosstab *table = attack->table;
    size_t total = fplt__crosstab_at(table, i, table->columns);
    attack->guess[total] = 0;
    for (size_t j = 0; j < table->columns; j++)
        attack->guess[total] += attack->guess[fplt__crosstab_at(table, i, j)];
    return table->hidden[total] || attack->guess[total] == table->count[total];
}

static void keep_guess(struct attack *attack)
{
    const fplt__crosstab *table = attack->table;
    size_t cells = fplt__crosstab_at(table, table->rows, table->columns);
    for (size_t k = 0; k < cells; k++) {
        fplt__count *found = &attack->found[k];
        if (!attack->tables || attack->guess[k] < found->low)
            found->low = attack->guess[k];
        if (!attack->tables || attack->guess[k] > found->high)
            found->high = attack->guess[k];
    }
    attack->tables++;
}

static int column_fits(struct attack *attack, size_t j)
{
    const fplt__crosstab *table = attack->table;
    size_t total = fplt__crosstab_at(table, table->rows, j);
    attack->guess[total] = 0;
    for (size_t i = 0; i < table->rows; i++)
        attack->guess[total] += attack->guess[fplt__crosstab_at(table, i, j)];
    return table->hidden[total] || attack->guess[total] == table->count[total];
}

/* Cell after cell, column by column; what is left of the grand total bounds what is tried. */
static void try_cell(struct attack *attack, size_t i, size_t j, size_t left)
{
    const fplt__crosstab *table = attack->table;
    if (j == table->columns) {
        int fits = left == 0;
        for (size_t r = 0; r < table->rows; r++)
            fits &= row_fits(attack, r);
        if (fits)
            keep_guess(attack);
        return;
    }
    size_t k = fplt__crosstab_at(table, i, j);
    for (size_t n = 0; n <= left; n++) {
        if (!table->hidden[k] && n != table->count[k])
            continue;
        attack->guess[k] = n;
        if (i + 1 < table->rows)
            try_cell(attack, i + 1, j, left - n);
        else if (column_fits(attack, j))
            try_cell(attack, 0, j + 1, left - n);
    }
}

static size_t draw(fplt_stream *random, size_t most)
{
    return (size_t)fplt_stream_below(random, (uint32_t)most + 1);
}

static void attack_tables(int columns_stay)
{
    fplt_stream random = fplt_stream_make(7, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t hidden = 0, secondary = 0, given_up = 0;
    for (int trial = 0; trial < 300; trial++) {
        fplt__crosstab *table;
        fplt_error error;
        size_t rows = 2 + draw(&random, 1), columns = 1 + draw(&random, 2), minimum = 3;
        assert_int_equal(fplt__crosstab_create(rows, columns, &table, &error), FPLT_OK);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                table->count[fplt__crosstab_at(table, i, j)] =
                    draw(&random, rows + columns > 5 ? 2 : 4);
        fplt__crosstab_total(table);
        table->columns_stay = columns_stay;
        size_t last = fplt__crosstab_at(table, rows, columns_stay ? 0 : columns);
        assert_int_equal(fplt__crosstab_protect(table, minimum, &error), FPLT_OK);
        struct attack attack = {.table = table};
        try_cell(&attack, 0, 0, table->count[fplt__crosstab_at(table, rows, columns)]);
        assert_true(attack.tables > 0);
        int all = 1;
        for (size_t k = 0; k < last; k++)
            all &= table->hidden[k];
        given_up += all;
        for (size_t k = 0; k < last; k++) {
            size_t count = table->count[k];
            int primary = count > 0 && count < minimum;
            assert_int_equal(table->shown[k].low, attack.found[k].low);
            assert_int_equal(table->shown[k].high, attack.found[k].high);
            if (primary && !all)
                assert_true(attack.found[k].high - attack.found[k].low + 1 >= minimum);
            assert_true(!primary || table->hidden[k]);
            hidden += table->hidden[k];
            secondary += table->hidden[k] && !primary;
        }
        fplt__crosstab_destroy(table);
    }
    assert_true(hidden > 500 && secondary > 100);
    assert_true(given_up < 200); /* tables that are hidden whole, most of them small ones */
}

static void no_attacker_finds_a_small_count(void **state)
{
    (void)state;
    attack_tables(0);
    attack_tables(1);
}

static void nothing_is_hidden_without_a_small_count(void **state)
{
    fplt__crosstab *table;
    fplt_error error;
    (void)state;
    assert_int_equal(fplt__crosstab_create(2, 2, &table, &error), FPLT_OK);
    const size_t count[] = {5, 6, 9, 7};
    for (size_t k = 0; k < 4; k++)
        table->count[fplt__crosstab_at(table, k / 2, k % 2)] = count[k];
    fplt__crosstab_total(table);
    assert_int_equal(table->count[fplt__crosstab_at(table, 2, 2)], 27);
    assert_int_equal(fplt__crosstab_protect(table, 5, &error), FPLT_OK);
    for (size_t k = 0; k < 9; k++)
        assert_false(table->hidden[k]);
    table->count[0] = 4; /* with totals, all four cells of a square must go */
    fplt__crosstab_total(table);
    assert_int_equal(fplt__crosstab_protect(table, 5, &error), FPLT_OK);
    assert_true(table->hidden[0] && table->hidden[1] && table->hidden[3] && table->hidden[4]);
    fplt__crosstab_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_attacker_finds_a_small_count),
        cmocka_unit_test(nothing_is_hidden_without_a_small_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
