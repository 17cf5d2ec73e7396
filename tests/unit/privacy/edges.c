/* The accountant at the ends of its ranges: tiny losses, neighbouring doubles, limits, sentences. */
#include "testing.h"

#include "fedplt/privacy.h"
#include "privacy/boundary.h"
#include "privacy/privacy.h"

static int below(double x, const void *context)
{
    return x < *(const double *)context;
}

static void a_boundary_lies_between_neighbours(void **state)
{
    (void)state;
    static const double limits[] = {1e-300, 0.1, 1, 1.5, 1e17, 0x1.fffffffffffffp900};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        double last, beyond;
        fplt__boundary(below, &limits[i], 1e-308, 1e300, &last, &beyond);
        assert_true(beyond == limits[i]);
        assert_true(nextafter(last, HUGE_VAL) == beyond);
    }
}

/* For a tiny mu the divergence is K p a mu^2 / 2, and the logarithm of e^t - 1 must keep its digits
 * on the way. */
static void tiny_lotteries_keep_their_digits(void **state)
{
    (void)state;
    static const double sizes[] = {1e-3, 1e-5, 1e-7};
    for (int i = 0; i < 3; i++)
        for (int order = 2; order <= 32; order *= 4) {
            fplt_error error;
            fplt_privacy_lottery lottery = {sizes[i], 0.25, 10};
            double value, t = order * (order - 1.0) * sizes[i] * sizes[i] / 2;
            assert_ok(fplt__privacy_lottery_renyi(&lottery, order, &value, &error), error);
            assert_close(value, 10 * log1p(0.25 * expm1(t)) / (order - 1), 1e-12);
        }
    /* and for a large one nothing overflows: K (t + ln p) / (a - 1) */
    fplt_error error;
    fplt_privacy_lottery large = {100, 0.25, 10};
    double value;
    assert_ok(fplt__privacy_lottery_renyi(&large, 2, &value, &error), error);
    assert_close(value, 10 * (10000 + log(0.25)), 1e-12);
}

static void conversions_have_names_and_help(void **state)
{
    (void)state;
    const char *name, *help;
    size_t count = 0;
    for (; (name = fplt__privacy_conversion(count, &help)); count++) {
        fplt_conversion found;
        fplt_error error;
        assert_true(strlen(help) > 10);
        assert_string_equal(fplt__privacy_conversion(count, NULL), name);
        assert_ok(fplt__privacy_conversion_find(name, &found, &error), error);
        assert_int_equal(found, count);
    }
    assert_int_equal(count, 4);
}

static double no_error(void *context, const fplt_privacy_mechanism *mechanism)
{
    (void)context;
    return mechanism->noise_tau;
}

static void a_search_has_limits(void **state)
{
    (void)state;
    fplt_privacy_mechanism mechanism = fplt_privacy_defaults(), best;
    fplt_privacy_budget budget = {1, 1e-5, FPLT_CONVERT_TIGHT};
    mechanism.sensitivity = 2;
    mechanism.records = 100;
    mechanism.step = 0.3;
    mechanism.strong_convexity = 0.5;
    mechanism.smoothness = 0.75;
    mechanism.inverse_rho = 1;
    const uint64_t edge = UINT64_C(1) << 40;
    const uint64_t limits[][3] = {{1, edge, 1},     {edge, 1, 1}, {1, edge + 1, 0},
                                  {edge + 1, 1, 0}, {0, 5, 0},    {5, 0, 0}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        fplt_error error;
        double predicted;
        fplt__privacy_search search = {
            .predict = no_error, .most_epochs = limits[i][0], .most_rounds = limits[i][1]};
        fplt_status status = fplt__privacy_calibrate_search(&mechanism, "transcript", &budget,
                                                            &search, &best, &predicted, &error);
        assert_int_equal(status, limits[i][2] ? FPLT_OK : FPLT_BAD_VALUE);
    }
}

/* What the budget allows and what the lattice costs at least stand in the sentence. */
static void an_unreachable_budget_is_told_its_numbers(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = fplt_privacy_defaults();
    fplt_privacy_budget budget = {1, 1e-5, FPLT_CONVERT_CLASSIC};
    double tau, root = sqrt(log(1e5));
    char allowed[64], floor[64];
    mechanism.sensitivity = mechanism.records = 1;
    mechanism.step = 0.3;
    mechanism.contraction = 0;
    mechanism.lattice = 1;
    mechanism.dimension = 1000000;
    mechanism.rounds = 10000;
    /* D + 2 sqrt(D ln(1/delta)) = 1: sqrt D = sqrt(ln(1/delta) + 1) - sqrt(ln(1/delta)) */
    snprintf(allowed, sizeof allowed, "allows mu = %.4g at most",
             sqrt(2) * (sqrt(log(1e5) + 1) - root));
    snprintf(floor, sizeof floor, "below mu = %.4g",
             sqrt(10000.0 * (double)mechanism.epochs) * 3 * 1000 / 1048576);
    assert_int_equal(fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &tau, &error),
                     FPLT_UNREACHABLE);
    assert_contains(error.text, allowed);
    assert_contains(error.text, floor);
    budget.epsilon = 0;
    assert_int_equal(fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &tau, &error),
                     FPLT_UNREACHABLE);
    assert_contains(error.text, "no finite noise gives epsilon = 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_boundary_lies_between_neighbours),
        cmocka_unit_test(tiny_lotteries_keep_their_digits),
        cmocka_unit_test(conversions_have_names_and_help),
        cmocka_unit_test(a_search_has_limits),
        cmocka_unit_test(an_unreachable_budget_is_told_its_numbers),
    };
    return cmocka_run_group_tests_name("privacy/edges", tests, NULL, NULL);
}
