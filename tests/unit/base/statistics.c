/* Tails and quantiles of test statistics against 50-digit arithmetic (tests/golden/distributions.py). */
#include "testing.h"

#include "../privacy/table.h"
#include "base/statistics.h"

static double value_of(const char *kind, double at, double freedom, double other)
{
    if (strcmp(kind, "t") == 0)
        return fplt__student_two_sided(at, freedom);
    if (strcmp(kind, "t-quantile") == 0)
        return fplt__student_quantile(at, freedom);
    if (strcmp(kind, "f") == 0)
        return fplt__f_tail(at, freedom, other);
    assert_string_equal(kind, "chi");
    return fplt__chi_tail(at, freedom);
}

static void tails_are_accurate(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    for (table_open(&table, GOLDEN "/distributions.csv"); table_next(&table); rows++)
        assert_close(value_of(table_text(&table, "kind"), table_number(&table, "at"),
                              table_number(&table, "freedom"), table_number(&table, "other")),
                     table_number(&table, "value"), 1e-12);
    assert_int_equal(rows, 138);
}

static void ends_are_exact(void **state)
{
    (void)state;
    assert_true(fplt__student_two_sided(0, 5) == 1);
    assert_true(fplt__student_two_sided(HUGE_VAL, 5) == 0);
    assert_true(isnan(fplt__student_two_sided(NAN, 5)));
    assert_true(fplt__f_tail(0, 3, 5) == 1);
    assert_true(fplt__chi_tail(-1, 2) == 1);
    assert_true(fplt__beta_tail(2, 3, 1, 0) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_are_accurate),
        cmocka_unit_test(ends_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
