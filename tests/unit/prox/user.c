/* A user's own h: by its prox, and by its gradient alone, against closed forms. */
#include "testing.h"

#include "failing.h"
#include "fedplt/prox.h"
#include "fedplt/prox_callbacks.h"
#include "fedplt/random.h"
#include "base/random.h"
#include "prox/prox_access.h"

enum { COUNT = 8 };

/* h(x) = sum d_i (x_i - c_i)^2 / 2, prox (v + t d c)/(1 + t d). */
struct quadratic {
    double d[COUNT], c[COUNT];
    const double *seen_v;
    const double *seen_x;
    int fail;
    double add; /* to what is answered */
};

static int quadratic_value(void *context, const double *x, double *value)
{
    struct quadratic *q = context;
    *value = q->add;
    for (int i = 0; i < COUNT; i++)
        *value += q->d[i] * (x[i] - q->c[i]) * (x[i] - q->c[i]) / 2;
    return q->fail;
}

static int quadratic_gradient(void *context, const double *x, double *gradient)
{
    struct quadratic *q = context;
    for (int i = 0; i < COUNT; i++)
        gradient[i] = q->d[i] * (x[i] - q->c[i]) + q->add;
    return q->fail;
}

static int quadratic_prox(void *context, double t, const double *v, double *x)
{
    struct quadratic *q = context;
    q->seen_v = v;
    q->seen_x = x;
    for (int i = 0; i < COUNT; i++)
        x[i] = (v[i] + t * q->d[i] * q->c[i]) / (1 + t * q->d[i]) + q->add;
    return q->fail;
}

static struct quadratic a_quadratic(fplt_stream *stream)
{
    struct quadratic q = {.fail = 0};
    for (int i = 0; i < COUNT; i++) {
        q.d[i] = pow(10, 4 * fplt_stream_uniform(stream) - 3);
        q.c[i] = fplt_stream_normal(stream);
    }
    q.d[0] = 0;
    q.d[1] = 10;
    return q;
}

static double gap(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum);
}

static void a_callback_is_called(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    struct quadratic q = a_quadratic(&stream);
    fplt_prox_callbacks callbacks = {sizeof(fplt_prox_callbacks), &q, quadratic_value,
                                     quadratic_prox};
    fplt_error error;
    fplt_prox *prox;
    assert_ok(fplt_prox_create_callback(&callbacks, COUNT, &prox, &error), error);
    assert_string_equal(fplt__prox_name(prox), "callback");
    assert_false(fplt__prox_is_zero(prox));
    double v[COUNT], x[COUNT], expected[COUNT], value, expected_value;
    fplt__stream_normals(&stream, 2, v, COUNT);
    quadratic_prox(&q, 0.7, v, expected);
    assert_int_equal(fplt_prox_apply(prox, 0.7, v, x), FPLT_OK);
    assert_memory_equal(x, expected, sizeof x);
    assert_int_equal(fplt_prox_apply(prox, 0.7, v, v), FPLT_OK);
    assert_memory_equal(v, expected, sizeof v);
    assert_ptr_not_equal(q.seen_v, q.seen_x);
    quadratic_value(&q, x, &expected_value);
    assert_int_equal(fplt_prox_value(prox, x, &value), FPLT_OK);
    assert_true(value == expected_value);
    q.add = NAN;
    assert_int_equal(fplt_prox_apply(prox, 1, x, v), FPLT_FAILED);
    assert_int_equal(fplt_prox_value(prox, x, &value), FPLT_FAILED);
    q.add = HUGE_VAL; /* legal as a value, not as a prox */
    assert_int_equal(fplt_prox_value(prox, x, &value), FPLT_OK);
    assert_int_equal(fplt_prox_apply(prox, 1, x, v), FPLT_FAILED);
    q.add = 0;
    q.fail = 1;
    assert_int_equal(fplt_prox_apply(prox, 1, x, v), FPLT_FAILED);
    assert_int_equal(fplt_prox_value(prox, x, &value), FPLT_FAILED);
    fplt_prox_destroy(prox);
}

static void inexact_reaches_its_accuracy_on_quadratics(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    const double accuracies[] = {1e-2, 1e-6, 1e-11}, steps[] = {1e-3, 0.1, 1, 30, 1000};
    for (int trial = 0; trial < 20; trial++) {
        struct quadratic q = a_quadratic(&stream);
        for (int a = 0; a < 3; a++) {
            fplt_prox_inexact inexact = {sizeof(fplt_prox_inexact), &q, quadratic_value,
                                         quadratic_gradient,        10, accuracies[a]};
            fplt_error error;
            fplt_prox *prox;
            assert_ok(fplt_prox_create_inexact(&inexact, COUNT, &prox, &error), error);
            assert_string_equal(fplt__prox_name(prox), "inexact");
            for (int s = 0; s < 5; s++) {
                double v[COUNT], x[COUNT], exact[COUNT];
                fplt__stream_normals(&stream, 3, v, COUNT);
                quadratic_prox(&q, steps[s], v, exact);
                assert_int_equal(fplt_prox_apply(prox, steps[s], v, x), FPLT_OK);
                assert_true(gap(x, exact) <= accuracies[a] * (1 + 1e-3));
                assert_int_equal(fplt_prox_apply(prox, steps[s], v, v), FPLT_OK);
                assert_memory_equal(v, x, sizeof v);
            }
            fplt_prox_destroy(prox);
        }
    }
}

/* The Huber function of width a: a smoothed |x|, with prox v/(1 + t/a) where that lies within
 * [-a, a], else v - t sign v. */
static const double width = 0.05;

static int huber_value(void *context, const double *x, double *value)
{
    (void)context;
    *value = 0;
    for (int i = 0; i < COUNT; i++)
        *value += fabs(x[i]) <= width ? x[i] * x[i] / (2 * width) : fabs(x[i]) - width / 2;
    return 0;
}

static int huber_gradient(void *context, const double *x, double *gradient)
{
    ++*(long *)context;
    for (int i = 0; i < COUNT; i++)
        gradient[i] = fmax(-1, fmin(1, x[i] / width));
    return 0;
}

static void inexact_reaches_its_accuracy_on_huber(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    long calls = 0;
    fplt_prox_inexact inexact = {
        sizeof(fplt_prox_inexact), &calls, huber_value, huber_gradient, 1 / width, 1e-9};
    fplt_error error;
    fplt_prox *prox;
    assert_ok(fplt_prox_create_inexact(&inexact, COUNT, &prox, &error), error);
    for (int trial = 0; trial < 300; trial++) {
        double v[COUNT], x[COUNT], exact[COUNT], t = pow(10, 4 * fplt_stream_uniform(&stream) - 2);
        fplt__stream_normals(&stream, 2 * t, v, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double inner = v[i] / (1 + t / width);
            exact[i] = fabs(inner) <= width ? inner : v[i] - copysign(t, v[i]);
        }
        calls = 0;
        assert_int_equal(fplt_prox_apply(prox, t, v, x), FPLT_OK);
        assert_true(gap(x, exact) <= 1e-9 * (1 + 1e-3));
        assert_true((double)calls < 40 + 60 * sqrt(1 + t / width)); /* that is: accelerated */
        double value, expected;
        huber_value(NULL, x, &expected);
        assert_int_equal(fplt_prox_value(prox, x, &value), FPLT_OK);
        assert_true(value == expected);
    }
    fplt_prox_destroy(prox);
}

static void inexact_says_when_it_fails(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    struct quadratic q = a_quadratic(&stream);
    fplt_prox_inexact inexact = {sizeof(fplt_prox_inexact), &q, quadratic_value,
                                 quadratic_gradient,        10, 1e-9};
    fplt_error error;
    fplt_prox *prox;
    double v[COUNT], x[COUNT], value;
    fplt__stream_normals(&stream, 1, v, COUNT);
    assert_ok(fplt_prox_create_inexact(&inexact, COUNT, &prox, &error), error);
    q.fail = 1;
    assert_int_equal(fplt_prox_apply(prox, 1, v, x), FPLT_FAILED);
    assert_int_equal(fplt_prox_value(prox, v, &value), FPLT_FAILED);
    q.fail = 0;
    q.add = NAN;
    assert_int_equal(fplt_prox_apply(prox, 1, v, x), FPLT_FAILED);
    q.add = 0;
    fplt_prox_destroy(prox);

    inexact.smoothness = 0.5; /* not true: it diverges */
    assert_ok(fplt_prox_create_inexact(&inexact, COUNT, &prox, &error), error);
    assert_int_equal(fplt_prox_apply(prox, 10, v, x), FPLT_FAILED);
    fplt_prox_destroy(prox);

    inexact.smoothness = 10;
    inexact.accuracy = 1e-30; /* below rounding */
    assert_ok(fplt_prox_create_inexact(&inexact, COUNT, &prox, &error), error);
    assert_int_equal(fplt_prox_apply(prox, 10, v, x), FPLT_FAILED);
    fplt_prox_destroy(prox);
}

static void what_is_refused(void **state)
{
    (void)state;
    struct quadratic q = {.fail = 0};
    const fplt_prox_inexact good = {sizeof(fplt_prox_inexact), &q, quadratic_value,
                                    quadratic_gradient,        10, 1e-9};
    fplt_prox_inexact bad[7] = {good, good, good, good, good, good, good};
    bad[0].value = NULL;
    bad[1].gradient = NULL;
    bad[2].smoothness = -1;
    bad[3].smoothness = NAN;
    bad[4].accuracy = 0;
    bad[5].accuracy = HUGE_VAL;
    bad[6].accuracy = NAN;
    const char *const part[] = {"value is NULL",     "gradient is NULL", "smoothness is -1",
                                "smoothness is nan", "accuracy is 0",    "accuracy is inf",
                                "accuracy is nan"};
    fplt_error error;
    fplt_prox *prox;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(fplt_prox_create_inexact(&bad[i], COUNT, &prox, &error), FPLT_BAD_VALUE);
        assert_contains(error.text, part[i]);
        assert_null(prox);
    }
    fplt_prox_callbacks none = {sizeof(fplt_prox_callbacks), NULL, NULL, quadratic_prox};
    assert_int_equal(fplt_prox_create_callback(&none, COUNT, &prox, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "value is NULL");
    none = (fplt_prox_callbacks){sizeof(fplt_prox_callbacks), NULL, quadratic_value, NULL};
    assert_int_equal(fplt_prox_create_callback(&none, COUNT, &prox, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "apply is NULL");
}

static void memory(void **state)
{
    (void)state;
    struct quadratic q = {.fail = 0};
    const fplt_prox_inexact inexact = {sizeof(fplt_prox_inexact), &q, quadratic_value,
                                       quadratic_gradient,        10, 1e-9};
    const fplt_prox_callbacks callbacks = {sizeof(fplt_prox_callbacks), &q, quadratic_value,
                                           quadratic_prox};
    fplt_prox *prox;
    survives_failing_allocations(
        {
            if (!(status = fplt_prox_create_inexact(&inexact, COUNT, &prox, NULL)))
                fplt_prox_destroy(prox);
        },
        2);
    survives_failing_allocations(
        {
            if (!(status = fplt_prox_create_callback(&callbacks, COUNT, &prox, NULL)))
                fplt_prox_destroy(prox);
        },
        2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_is_called),
        cmocka_unit_test(inexact_reaches_its_accuracy_on_quadratics),
        cmocka_unit_test(inexact_reaches_its_accuracy_on_huber),
        cmocka_unit_test(inexact_says_when_it_fails),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests_name("prox of the user", tests, NULL, NULL);
}
