/* Calibration against the conversions it inverts, closed forms, and exhaustive search. */
#include "testing.h"

#include "fedplt/noise.h"
#include "fedplt/privacy.h"
#include "privacy/conversion.h"
#include "privacy/privacy.h"

static fplt_privacy_mechanism typical(void)
{
    fplt_privacy_mechanism mechanism = fplt_privacy_defaults();
    mechanism.sensitivity = 2;
    mechanism.records = 250;
    mechanism.step = 0.3;
    mechanism.noise_tau = 0.05;
    mechanism.epochs = 5;
    mechanism.rounds = 100;
    mechanism.strong_convexity = 0.5;
    mechanism.smoothness = 0.75;
    mechanism.inverse_rho = 1;
    mechanism.dimension = 20;
    mechanism.agents = 10;
    return mechanism;
}

static double epsilon_of(const fplt_privacy_mechanism *mechanism, const char *threat,
                         const fplt_privacy_budget *budget)
{
    fplt_error error;
    fplt_privacy_claim claim;
    double epsilon;
    assert_ok(fplt_privacy_claim_make(mechanism, threat, &claim, &error), error);
    assert_ok(fplt_privacy_epsilon(&claim, budget->conversion, budget->delta, &epsilon, &error),
              error);
    return epsilon;
}

/* The claim's rate is not above what the budget allows, to the last bit. */
static void assert_private_side(const fplt_privacy_mechanism *mechanism, const char *threat,
                                const fplt_privacy_budget *budget)
{
    fplt_error error;
    fplt_privacy_claim claim;
    fplt_conversion conversion;
    assert_ok(fplt_privacy_claim_make(mechanism, threat, &claim, &error), error);
    assert_ok(fplt__conversion_settle(budget->conversion, claim.is_gaussian, "", &conversion,
                                      &error),
              error);
    double allowed = fplt__rate_within(conversion, budget->epsilon, log(budget->delta));
    assert_true(claim.renyi_rate <= allowed);
    assert_true(fplt__rate_log_delta(conversion, allowed, budget->epsilon) <= log(budget->delta));
}

/* The noise meets the budget to 1e-9 from the private side. */
static void noise_meets_the_budget(void **state)
{
    (void)state;
    const double epsilons[] = {0.05, 1, 8, 60};
    const double deltas[] = {1e-12, 1e-5, 0.01};
    for (size_t t = 0; fplt_privacy_threat(t); t++)
        for (int e = 0; e < 4; e++)
            for (int d = 0; d < 3; d++)
                for (int c = 0; c < 4; c++)
                    for (int lattice = 0; lattice < 2; lattice++) {
                        fplt_error error;
                        const fplt_threat *threat = fplt_privacy_threat(t);
                        fplt_privacy_mechanism mechanism = typical();
                        mechanism.lattice = lattice;
                        fplt_privacy_budget budget = {epsilons[e], deltas[d], (fplt_conversion)c};
                        fplt_status status =
                            fplt_privacy_calibrate_noise(&mechanism, threat->name, &budget,
                                                         &mechanism.noise_tau, &error);
                        if (c == FPLT_CONVERT_EXACT && (lattice || !threat->is_guarantee)) {
                            assert_int_equal(status, FPLT_UNSUPPORTED);
                            continue;
                        }
                        assert_ok(status, error);
                        double reached = epsilon_of(&mechanism, threat->name, &budget);
                        assert_close(reached, budget.epsilon, 1e-9);
                        assert_private_side(&mechanism, threat->name, &budget);
                        mechanism.noise_tau *= 1 - 1e-9;
                        assert_true(epsilon_of(&mechanism, threat->name, &budget) > budget.epsilon);
                    }
}

static void noise_of_the_transcript_has_a_closed_form(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical();
    fplt_privacy_claim claim;
    double epsilon;
    assert_ok(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error), error);
    assert_ok(fplt_privacy_epsilon(&claim, FPLT_CONVERT_BEST, 1e-5, &epsilon, &error), error);
    fplt_privacy_budget budget = {epsilon, 1e-5, FPLT_CONVERT_BEST};
    double tau;
    assert_ok(fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &tau, &error), error);
    assert_close(tau, mechanism.noise_tau, 1e-12);
}

static void rounds_are_the_most_that_fit(void **state)
{
    (void)state;
    const char *const threats[] = {"transcript", "final-y", "final-x", "paper"};
    for (int t = 0; t < 4; t++)
        for (int lattice = 0; lattice < 2; lattice++)
            for (double epsilon = 1; epsilon < 20; epsilon *= 1.7) {
                fplt_error error;
                fplt_privacy_mechanism mechanism = typical();
                mechanism.lattice = lattice;
                fplt_privacy_budget budget = {epsilon, 1e-5, FPLT_CONVERT_BEST};
                uint64_t rounds, most = 5000;
                fplt_status status = fplt_privacy_calibrate_rounds(&mechanism, threats[t], &budget,
                                                                   most, &rounds, &error);
                mechanism.rounds = 1;
                if (status == FPLT_UNREACHABLE) {
                    assert_true(epsilon_of(&mechanism, threats[t], &budget) > epsilon);
                    continue;
                }
                assert_ok(status, error);
                mechanism.rounds = rounds;
                assert_true(epsilon_of(&mechanism, threats[t], &budget) <= epsilon * (1 + 1e-12));
                mechanism.rounds = rounds + 1;
                assert_true(rounds == most ||
                            epsilon_of(&mechanism, threats[t], &budget) > epsilon);
            }
}

static void one_round_too_much_is_said(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical();
    fplt_privacy_budget budget = {0.001, 1e-9, FPLT_CONVERT_BEST};
    uint64_t rounds;
    assert_int_equal(fplt_privacy_calibrate_rounds(&mechanism, "transcript", &budget, 10, &rounds,
                                                   &error),
                     FPLT_UNREACHABLE);
    assert_contains(error.text, "one round");
    assert_int_equal(fplt_privacy_calibrate_rounds(&mechanism, "transcript", &budget, 0, &rounds,
                                                   &error),
                     FPLT_BAD_VALUE);
}

/* The floor of the lattice: 3 sqrt(n) / 2^20 a step. */
static void the_lattice_has_a_floor(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical();
    mechanism.lattice = 1;
    mechanism.dimension = 1000000;
    mechanism.rounds = 10000;
    mechanism.contraction = 0;
    double floor = sqrt(10000 * 5.0) * 3 * 1000 / 1048576, tau;
    fplt_privacy_claim claim;
    mechanism.noise_tau = 1e12;
    assert_ok(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error), error);
    assert_close(claim.gdp_mu, floor, 1e-6);
    fplt_privacy_budget budget = {1, 1e-5, FPLT_CONVERT_TIGHT};
    assert_int_equal(fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &tau, &error),
                     FPLT_UNREACHABLE);
    assert_contains(error.text, "lattice");
    budget.epsilon = 5; /* just above the floor's epsilon */
    assert_ok(fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &tau, &error), error);
    mechanism.lattice = 0;
    budget.epsilon = 1;
    assert_ok(fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &tau, &error), error);
    /* nothing is promised with epsilon 0 by the classic conversion */
    budget = (fplt_privacy_budget){0, 1e-5, FPLT_CONVERT_CLASSIC};
    assert_int_equal(fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &tau, &error),
                     FPLT_UNREACHABLE);
}

static void minibatch_noise_meets_the_budget(void **state)
{
    (void)state;
    const double rates[] = {0.001, 0.1, 1};
    for (int i = 0; i < 3; i++) {
        fplt_error error;
        fplt_privacy_minibatch minibatch = {rates[i], 1.5, 4000, 0.2, NAN, 3000};
        fplt_privacy_budget budget = {2, 1e-6, FPLT_CONVERT_BEST};
        double epsilon;
        assert_ok(fplt_privacy_calibrate_minibatch(&minibatch, &budget, &minibatch.noise_tau,
                                                   &error),
                  error);
        assert_ok(fplt_privacy_minibatch_epsilon(&minibatch, 1e-6, &epsilon, NULL, &error), error);
        assert_true(epsilon <= 2);
        assert_close(epsilon, 2, 1e-9);
        budget.conversion = FPLT_CONVERT_EXACT;
        assert_int_equal(fplt_privacy_calibrate_minibatch(&minibatch, &budget, &epsilon, &error),
                         FPLT_UNSUPPORTED);
    }
}

/* The best whole order is the best of all whole orders. */
static void the_search_over_orders_finds_the_least(void **state)
{
    (void)state;
    const double multipliers[] = {0.6, 1.3, 8, 300};
    for (int i = 0; i < 4; i++) {
        fplt_error error;
        fplt_privacy_minibatch minibatch = {0.02, 0.02, 1, 2, multipliers[i], 500};
        double epsilon, divergence, least = HUGE_VAL;
        uint32_t order;
        assert_ok(fplt_privacy_minibatch_epsilon(&minibatch, 1e-5, &epsilon, &order, &error),
                  error);
        for (uint32_t a = 2; a < 1200; a++) {
            assert_ok(fplt__privacy_minibatch_renyi(&minibatch, a, &divergence, &error), error);
            least = fmin(least, fplt__privacy_epsilon_at(FPLT_CONVERT_TIGHT, a, divergence, 1e-5));
        }
        assert_true(epsilon <= least);
        assert_true(order > 1100 || epsilon == least);
    }
}

/* An error that falls with the work and grows with the noise. */
static double predicted_error(void *context, const fplt_privacy_mechanism *mechanism)
{
    int *calls = context;
    ++*calls;
    double epochs = (double)mechanism->epochs, rounds = (double)mechanism->rounds;
    if (mechanism->epochs == 4)
        return NAN;
    return 10 * exp(-0.05 * rounds * (1 - exp(-epochs / 3))) +
           mechanism->noise_tau * sqrt(1 + epochs / 50);
}

static void the_search_over_epochs_and_rounds_finds_the_least(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical(), best;
    fplt_privacy_budget budget = {3, 1e-5, FPLT_CONVERT_BEST};
    int calls = 0;
    fplt__privacy_search search = {30, 400, predicted_error, &calls};
    double predicted, least = HUGE_VAL;
    assert_ok(fplt__privacy_calibrate_search(&mechanism, "transcript", &budget, &search, &best,
                                             &predicted, &error),
              error);
    assert_true(calls < 3000);
    assert_true(predicted == predicted_error(&calls, &best));
    assert_close(epsilon_of(&best, "transcript", &budget), 3, 1e-9);
    for (mechanism.epochs = 1; mechanism.epochs <= 30; mechanism.epochs++)
        for (mechanism.rounds = 1; mechanism.rounds <= 400; mechanism.rounds++) {
            /* the noise scales as sqrt(kappa rounds): no calibration needed to list them all */
            fplt_privacy_claim claim, claim_best;
            mechanism.noise_tau = best.noise_tau;
            assert_ok(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error), error);
            assert_ok(fplt_privacy_claim_make(&best, "transcript", &claim_best, &error), error);
            mechanism.noise_tau *= claim.gdp_mu / claim_best.gdp_mu;
            double value = predicted_error(&calls, &mechanism);
            least = isfinite(value) ? fmin(least, value) : least;
        }
    assert_close(predicted, least, 1e-9);
    search.most_rounds = 0;
    assert_int_equal(fplt__privacy_calibrate_search(&mechanism, "transcript", &budget, &search,
                                                    &best, &predicted, &error),
                     FPLT_BAD_VALUE);
}

static double no_prediction(void *context, const fplt_privacy_mechanism *mechanism)
{
    (void)context;
    (void)mechanism;
    return HUGE_VAL;
}

static void a_search_without_prediction_says_so(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical(), best;
    fplt_privacy_budget budget = {3, 1e-5, FPLT_CONVERT_BEST};
    fplt__privacy_search search = {3, 3, no_prediction, NULL};
    double predicted;
    assert_int_equal(fplt__privacy_calibrate_search(&mechanism, "transcript", &budget, &search,
                                                    &best, &predicted, &error),
                     FPLT_UNREACHABLE);
}

static void bad_budgets_are_refused(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical();
    const double bad[][2] = {{-1, 0.1}, {NAN, 0.1}, {HUGE_VAL, 0.1}, {1, 0}, {1, 1}, {1, NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fplt_privacy_budget budget = {bad[i][0], bad[i][1], FPLT_CONVERT_BEST};
        double tau;
        assert_int_equal(fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &tau,
                                                      &error),
                         FPLT_BAD_VALUE);
        assert_contains(error.text, i < 3 ? "epsilon" : "delta");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_meets_the_budget),
        cmocka_unit_test(noise_of_the_transcript_has_a_closed_form),
        cmocka_unit_test(rounds_are_the_most_that_fit),
        cmocka_unit_test(one_round_too_much_is_said),
        cmocka_unit_test(the_lattice_has_a_floor),
        cmocka_unit_test(minibatch_noise_meets_the_budget),
        cmocka_unit_test(the_search_over_orders_finds_the_least),
        cmocka_unit_test(the_search_over_epochs_and_rounds_finds_the_least),
        cmocka_unit_test(a_search_without_prediction_says_so),
        cmocka_unit_test(bad_budgets_are_refused),
    };
    return cmocka_run_group_tests_name("privacy/calibration", tests, NULL, NULL);
}
