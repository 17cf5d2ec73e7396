/* The common costs h and their proximal operators. */
#include "testing.h"

#include "fedplt/prox.h"

static fplt_prox *make(const fplt_prox_settings *settings, size_t dimension, size_t penalised)
{
    fplt_error error;
    fplt_prox *prox;
    assert_ok(fplt_prox_create(settings, dimension, penalised, &prox, &error), error);
    return prox;
}

static void soft_threshold_by_hand(void **state)
{
    (void)state;
    fplt_prox_settings settings = fplt_prox_defaults();
    settings.name = "l1";
    settings.weight = 2;
    fplt_prox *prox = make(&settings, 4, 3);
    double x[4] = {3, -0.5, -1.5, 7}, value;
    assert_int_equal(fplt_prox_apply(prox, 0.5, x, x), FPLT_OK);
    const double expected[4] = {2, 0, -0.5, 7};
    assert_memory_equal(x, expected, sizeof x);
    assert_int_equal(fplt_prox_value(prox, x, &value), FPLT_OK);
    assert_true(value == 5);
    fplt_prox_destroy(prox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soft_threshold_by_hand),
    };
    return cmocka_run_group_tests_name("prox", tests, NULL, NULL);
}
