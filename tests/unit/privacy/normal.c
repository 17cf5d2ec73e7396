/* The normal distribution against 40-digit arithmetic, the incomplete beta function against sums of
 * binomial probabilities, and audit bounds against both. */
#include "testing.h"

#include "fedplt/privacy.h"
#include "fedplt/random.h"
#include "privacy/binomial.h"
#include "base/normal.h"
#include "privacy/privacy.h"

static void log_cdf_is_accurate(void **state)
{
    (void)state;
    static const double cases[][2] = {
        {-100000000.0, -5000000000000019.3396}, {-1000, -500007.82669481218431},
        {-40, -804.60844201375378817},          {-38.5, -745.69527029041108133},
        {-10, -53.231285150512470578},          {-5, -15.064998393988725736},
        {-2.0000001, -3.7831845710035892713},   {-2, -3.7831843336820319488},
        {-1.9999999, -3.7831840963604829566},   {-1, -1.8410216450092635058},
        {-0.1, -0.77615459273027332557},        {0, -0.69314718055994530942},
        {0.3, -0.48141016158848120517},         {1, -0.17275377902344988953},
        {5, -2.8665161296376359338e-7},         {8.2, -1.2019351542735858875e-16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_close(fplt__normal_log_cdf(cases[i][0]), cases[i][1], 1e-14);
}

static void hazards_are_accurate(void **state)
{
    (void)state;
    static const double cases[][3] = {
        {-5, 1.4867199409049057124e-6, 5.0000014867199409049},
        {-0.5, 0.50916043383703348583, 1.0091604338370334858},
        {0, 0.79788456080286535588, 0.79788456080286535588},
        {1.9999999, 2.3732154442507512055, 0.37321554425075120549},
        {2, 2.3732155328228408673, 0.3732155328228408673},
        {3.5, 3.7513912648576997313, 0.25139126485769973131},
        {20, 20.049753068527850542, 0.049753068527850542214},
        {1000, 1000.00099999800001, 0.000999998000009999926},
        {100000000, 100000000.00000001, 9.999999999999998e-9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double above;
        assert_close(fplt__normal_hazard(cases[i][0], &above), cases[i][1], 1e-14);
        assert_close(above, cases[i][2], 1e-14);
    }
    assert_true(fplt__normal_hazard(-50, NULL) == 0);
}

static void quantiles_are_accurate(void **state)
{
    (void)state;
    static const double cases[][2] = {
        {1e-300, -37.047096299361199237},      {1e-20, -9.2623400897984075796},
        {1e-9, -5.9978070150076868614},        {0.001, -3.0902323061678135354},
        {0.02425, -1.9729610513118848376},     {0.2, -0.84162123357291416552},
        {0.4, -0.25334710313579974132},        {0.4995, -0.0012533144654325556254},
        {0.499999, -2.5066282745665593779e-6}, {0.5000001, 2.5066282733116483012e-7},
        {0.6, 0.25334710313579974132},         {0.975, 1.9599639845400538556},
        {0.999999, 4.7534243088170877657},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_close(fplt__normal_quantile(cases[i][0]), cases[i][1], 1e-14);
    assert_true(fplt__normal_quantile(0) == -HUGE_VAL);
    assert_true(fplt__normal_quantile(1) == HUGE_VAL);
    assert_true(fplt__normal_quantile(0.5) == 0);
}

static void gaps_between_mills_ratios_do_not_cancel(void **state)
{
    (void)state;
    static const double cases[][3] = {
        {0.0, 1e-09, -20.030118656386465784},    {0.0, 0.01, -3.9119896719837019461},
        {0.5, 0.05, -2.8785502427421920772},     {1.9, 0.1, -3.3893064531461320734},
        {1.9999, 1e-05, -12.669555332525834888}, {2.0001, 1e-05, -12.669691215902652644},
        {2.0, 0.05, -4.1521629119593067187},     {10.0, 0.3, -5.1441662510635776568},
        {100.0, 5.0, -6.9055537989950531789},    {1000.0, 0.0005, -20.723268836935661206},
        {3.0, 0.5, -2.4338636838080943647},      {0.0, 1.0, 1.0372233869025466695},
        {0.2, 0.8, 0.42020364896551571672},      {50.0, 20.0, -3.962599795748882981},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(fplt__normal_log_mills_gap(cases[i][0], cases[i][1]), cases[i][2], 1e-14);
}

/* P(binomial(n, p) >= k), term by term. */
static double upper_tail(int n, int k, double p)
{
    double sum = 0;
    for (int j = k; j <= n; j++) {
        double term = 1;
        for (int i = 0; i < j; i++)
            term *= p * (n - i) / (i + 1);
        sum += term * pow(1 - p, n - j);
    }
    return sum;
}

static void a_ratio_ends_at_0_and_1(void **state)
{
    (void)state;
    for (double a = 1; a < 50; a += 7) {
        assert_true(fplt__beta_ratio(a, 3, 0) == 0);
        assert_true(fplt__beta_ratio(a, 3, 1) == 1);
    }
}

static void incomplete_beta_is_the_binomial_tail(void **state)
{
    (void)state;
    const double probabilities[] = {1e-6, 0.01, 0.3, 0.5, 0.77, 0.999};
    for (int n = 1; n <= 40; n += 3)
        for (int k = 1; k <= n; k++)
            for (int i = 0; i < 6; i++) {
                double p = probabilities[i], expected = upper_tail(n, k, p);
                double ratio = fplt__beta_ratio(k, n - k + 1, p);
                assert_near(ratio, expected, 1e-13 + 1e-12 * expected);
            }
}

/* The bound covers the truth as often as it says, and not much more: counted exactly. */
static void binomial_bounds_cover_as_promised(void **state)
{
    (void)state;
    enum { TRIALS = 60 };
    fplt_error error;
    double low[TRIALS + 1], high[TRIALS + 1];
    for (uint64_t hits = 0; hits <= TRIALS; hits++)
        assert_ok(fplt__privacy_binomial_bounds(hits, TRIALS, 0.95, &low[hits], &high[hits],
                                                &error),
                  error);
    for (double p = 0.005; p < 1; p += 0.01) {
        double below = 0, above = 0;
        for (int k = 0; k <= TRIALS; k++) {
            double chance =
                upper_tail(TRIALS, k, p) - (k < TRIALS ? upper_tail(TRIALS, k + 1, p) : 0);
            below += low[k] > p ? chance : 0;
            above += high[k] < p ? chance : 0;
        }
        assert_true(below <= 0.05 + 1e-9);
        assert_true(above <= 0.05 + 1e-9);
    }
    assert_int_equal(fplt__privacy_binomial_bounds(3, 2, 0.95, low, high, &error), FPLT_BAD_VALUE);
    assert_int_equal(fplt__privacy_binomial_bounds(0, 0, 0.95, low, high, &error), FPLT_BAD_VALUE);
    assert_int_equal(fplt__privacy_binomial_bounds(1, 2, 1, low, high, &error), FPLT_BAD_VALUE);
    assert_int_equal(fplt__privacy_binomial_bounds(1, 2, NAN, low, high, &error), FPLT_BAD_VALUE);
}

/* An attack on the Gaussian itself: the bound stays below the true mu and comes near it; at half
 * the noise, a claim of mu is refuted. */
static void audits_find_what_is_there(void **state)
{
    (void)state;
    enum { RUNS = 20000 };
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    const double mu = 1;
    for (int halved = 0; halved < 2; halved++) {
        fplt_error error;
        fplt_privacy_trials trials = {RUNS, 0, RUNS, 0};
        double noise = halved ? 0.5 : 1, bound;
        for (int i = 0; i < RUNS; i++) {
            trials.false_positives += noise * fplt_stream_normal(&stream) > mu / 2;
            trials.false_negatives += mu + noise * fplt_stream_normal(&stream) <= mu / 2;
        }
        assert_ok(fplt__privacy_audit_bound(&trials, 0.999, &bound, &error), error);
        assert_true(bound < mu / noise);
        assert_true(bound > 0.92 * mu / noise);
        assert_int_equal(bound > mu, halved);
    }
    fplt_error error;
    fplt_privacy_trials nothing = {100, 50, 100, 50}, wrong = {0, 0, 1, 0};
    double bound;
    assert_ok(fplt__privacy_audit_bound(&nothing, 0.9, &bound, &error), error);
    assert_true(bound == 0);
    /* no error at all: both rates are below the root of half the doubt */
    fplt_privacy_trials perfect = {500, 0, 500, 0};
    assert_ok(fplt__privacy_audit_bound(&perfect, 0.95, &bound, &error), error);
    assert_close(bound, -2 * fplt__normal_quantile(1 - pow(0.025, 1 / 500.0)), 1e-9);
    assert_int_equal(fplt__privacy_audit_bound(&wrong, 0.9, &bound, &error), FPLT_BAD_VALUE);
    assert_int_equal(fplt__privacy_audit_bound(&nothing, 1.5, &bound, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "1.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_cdf_is_accurate),
        cmocka_unit_test(hazards_are_accurate),
        cmocka_unit_test(quantiles_are_accurate),
        cmocka_unit_test(gaps_between_mills_ratios_do_not_cancel),
        cmocka_unit_test(incomplete_beta_is_the_binomial_tail),
        cmocka_unit_test(binomial_bounds_cover_as_promised),
        cmocka_unit_test(audits_find_what_is_there),
        cmocka_unit_test(a_ratio_ends_at_0_and_1),
    };
    return cmocka_run_group_tests_name("privacy/normal", tests, NULL, NULL);
}
