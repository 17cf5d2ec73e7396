/* What is refused, with which sentence, and that no memory is lost or taken in a round. */
#include "testing.h"

#include "failing.h"
#include "fedplt/prox.h"
#include "prox/prox_access.h"

static void refused(const fplt_prox_settings *settings, size_t dimension, size_t penalised,
                    const char *part, const char *other)
{
    fplt_error error;
    fplt_prox *prox = (fplt_prox *)&error;
    assert_int_equal(fplt_prox_create(settings, dimension, penalised, &prox, &error),
                     FPLT_BAD_VALUE);
    assert_null(prox);
    assert_contains(error.text, part);
    assert_contains(error.text, other);
    assert_int_equal(fplt_prox_create(settings, dimension, penalised, &prox, NULL), FPLT_BAD_VALUE);
}

static void illegal_settings(void **state)
{
    (void)state;
    const double bad[] = {-0.5, NAN, HUGE_VAL, -HUGE_VAL};
    const char *const shown[] = {"-0.5", "nan", "inf", "-inf"};
    fplt_prox_settings s;
    for (int i = 0; i < 4; i++) {
        const char *const weighted[] = {"l1", "l2-squared", "elastic-net", "group-lasso"};
        for (int k = 0; k < 4; k++) {
            s = fplt_prox_defaults();
            s.name = weighted[k];
            s.weight = bad[i];
            refused(&s, 3, 3, shown[i], "weight is");
        }
        s = fplt_prox_defaults();
        s.name = "elastic-net";
        s.weight2 = bad[i];
        refused(&s, 3, 3, shown[i], "weight2 is");
        s = fplt_prox_defaults();
        s.radius = bad[i];
        s.name = "ball";
        refused(&s, 3, 3, shown[i], "ball: radius is");
        s.name = "simplex";
        refused(&s, 3, 3, shown[i], "simplex: radius is");
        s.radius = 0;
        refused(&s, 3, 3, "above 0", "radius is 0");
    }
    s = fplt_prox_defaults();
    s.name = "box";
    s.low = 2;
    refused(&s, 3, 3, "low is 2", "high, which is 1");
    s.low = NAN;
    refused(&s, 3, 3, "low is nan", "finite");
    s.low = 0;
    s.high = HUGE_VAL;
    refused(&s, 3, 3, "high is inf", "finite");
    s.name = "group-lasso";
    s.group = 0;
    refused(&s, 3, 3, "group is 0", "at least 1");
    s = fplt_prox_defaults();
    refused(&s, 3, 4, "4 coordinates", "only 3");
    s.name = "simplex";
    refused(&s, 3, 0, "simplex", "no coordinate is penalised");
    s.name = "elastic-nett";
    refused(&s, 3, 3, "did you mean 'elastic-net'?", "zero, l1, l2-squared");
    s.name = "xyzzyplugh";
    refused(&s, 3, 3, "there is no prox 'xyzzyplugh';", "group-lasso, simplex");
    s.name = NULL;
    refused(&s, 3, 3, "''", "one of zero");
}

static void arguments_of_apply(void **state)
{
    (void)state;
    fplt_error error;
    fplt_prox *prox;
    const char *name;
    for (size_t k = 0; (name = fplt__prox_list(k, NULL)); k++) {
        fplt_prox_settings s = fplt_prox_defaults();
        s.name = name;
        assert_ok(fplt_prox_create(&s, 3, 2, &prox, &error), error);
        assert_string_equal(fplt__prox_name(prox), name);
        double v[3] = {1, 2, 3}, x[3], value;
        assert_int_equal(fplt_prox_apply(prox, 0, v, x), FPLT_BAD_VALUE);
        assert_int_equal(fplt_prox_apply(prox, -1, v, x), FPLT_BAD_VALUE);
        assert_int_equal(fplt_prox_apply(prox, NAN, v, x), FPLT_BAD_VALUE);
        assert_int_equal(fplt_prox_apply(prox, HUGE_VAL, v, x), FPLT_BAD_VALUE);
        for (int i = 0; i < 3; i++) {
            double held = v[i];
            v[i] = i % 2 ? NAN : -HUGE_VAL;
            assert_int_equal(fplt_prox_apply(prox, 1, v, x), FPLT_DIVERGED);
            assert_int_equal(fplt_prox_value(prox, v, &value), FPLT_DIVERGED);
            v[i] = held;
        }
        assert_int_equal(fplt_prox_apply(prox, 1, v, x), FPLT_OK);
        fplt_prox_destroy(prox);
    }
    fplt_prox_destroy(NULL);
}

static int zero_for(const char *name, double weight, double weight2, size_t penalised)
{
    fplt_prox_settings s = fplt_prox_defaults();
    s.name = name;
    s.weight = weight;
    s.weight2 = weight2;
    fplt_error error;
    fplt_prox *prox;
    assert_ok(fplt_prox_create(&s, 2, penalised, &prox, &error), error);
    int zero = fplt__prox_is_zero(prox);
    fplt_prox_destroy(prox);
    return zero;
}

static void what_counts_as_zero(void **state)
{
    (void)state;
    assert_true(zero_for("zero", 1, 1, 2));
    assert_true(zero_for("l1", 0, 1, 2) && zero_for("l2-squared", 0, 1, 2));
    assert_true(zero_for("group-lasso", 0, 1, 2) && zero_for("elastic-net", 0, 0, 2));
    assert_true(zero_for("l1", 1, 1, 0) && zero_for("box", 1, 1, 0));
    assert_false(zero_for("l1", 1e-300, 0, 2) || zero_for("l2-squared", 1, 0, 1));
    assert_false(zero_for("elastic-net", 0, 1, 2) || zero_for("elastic-net", 1, 0, 2));
    assert_false(zero_for("box", 0, 0, 2) || zero_for("nonnegative", 0, 0, 2));
    assert_false(zero_for("ball", 0, 0, 2) || zero_for("simplex", 0, 0, 2));
}

static void memory(void **state)
{
    (void)state;
    const char *name;
    for (size_t k = 0; (name = fplt__prox_list(k, NULL)); k++) {
        fplt_prox_settings s = fplt_prox_defaults();
        s.name = name;
        fplt_prox *prox;
        fplt_error error;
        survives_failing_allocations(
            {
                if (!(status = fplt_prox_create(&s, 5, 5, &prox, &error)))
                    fplt_prox_destroy(prox);
                else
                    assert_contains(error.text, "memory");
            },
            strcmp(name, "simplex") == 0 ? 2 : 1);

        failing counter;
        failing_install(&counter, LONG_MAX);
        assert_ok(fplt_prox_create(&s, 5, 5, &prox, &error), error);
        long before = counter.allocations;
        double x[5] = {0.3, 0.1, -5, 4, 0.2}, value;
        for (int i = 0; i < 10; i++) {
            assert_int_equal(fplt_prox_apply(prox, 0.1, x, x), FPLT_OK);
            assert_int_equal(fplt_prox_value(prox, x, &value), FPLT_OK);
        }
        assert_int_equal(counter.allocations, before);
        fplt_prox_destroy(prox);
        fplt_allocator_set(NULL);
        assert_int_equal(counter.alive, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(illegal_settings),
        cmocka_unit_test(arguments_of_apply),
        cmocka_unit_test(what_counts_as_zero),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests_name("prox settings", tests, NULL, NULL);
}
