/* Claims where the theory has a closed form or a limit, the fallbacks, and what is refused. */
#include "testing.h"

#include "fedplt/noise.h"
#include "fedplt/privacy.h"
#include "base/noise.h"
#include "privacy/claim.h"
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

static fplt_privacy_claim claim_of(const fplt_privacy_mechanism *mechanism, const char *threat)
{
    fplt_error error;
    fplt_privacy_claim claim;
    assert_ok(fplt_privacy_claim_make(mechanism, threat, &claim, &error), error);
    return claim;
}

/* kappa in long double from its definition as a ratio of sums: (sum c^t)^2 / sum c^{2t}. */
static void the_round_factor_is_a_ratio_of_sums(void **state)
{
    (void)state;
    const double gaps[] = {1e-15, 1e-12, 1e-8, 1e-4, 0.01, 0.3, 0.9999, 1};
    const int epochs[] = {1, 2, 7, 100, 10000};
    for (int g = 0; g < 8; g++)
        for (int e = 0; e < 5; e++) {
            long double sum = 0, squares = 0, power = 1, c = 1 - (long double)gaps[g];
            for (int t = 0; t < epochs[e]; t++, power *= c) {
                sum += power;
                squares += power * power;
            }
            struct fplt__contraction contraction = {gaps[g], epochs[e]};
            assert_close(fplt__round_factor(contraction), (double)(sum * sum / squares), 1e-13);
        }
    struct fplt__contraction none = {0, 9}, beyond = {-0.2, 9}, endless = {0.2, HUGE_VAL};
    assert_true(fplt__round_factor(none) == 9);
    assert_true(fplt__round_factor(beyond) == 9);
    assert_close(fplt__round_factor(endless), 1.8 / 0.2, 1e-14);
}

/* Theorem F as it is written, one round after the other. */
static void the_final_shift_is_the_recursion(void **state)
{
    (void)state;
    for (int rounds = 0; rounds <= 70; rounds++) {
        fplt_privacy_mechanism mechanism = typical();
        mechanism.rounds = (uint64_t)rounds;
        mechanism.inverse_rho = 0.6;
        double c = fmax(fabs(1 - 0.3 * 1.1), fabs(1 - 0.3 * 1.35));
        double chi = pow(c, 5), g = (1 - chi) / (1 - c), d = 0.15, a = 0, b = 0, local, auxiliary;
        for (int k = 0; k < rounds; k++) {
            double next = chi * a + 0.3 * 0.6 * g * b + g;
            b = 2 * chi * a + (chi + 0.3 * d * g) * b + 2 * g;
            a = next;
        }
        fplt__final_shift(&mechanism, &local, &auxiliary);
        assert_close(local, a, 1e-12);
        assert_close(auxiliary, b, 1e-12);
    }
    /* it overflows without turning into something else */
    fplt_privacy_mechanism growing = typical();
    growing.rounds = UINT64_C(1) << 60;
    growing.smoothness = 4;
    growing.inverse_rho = 0.1;
    double local, auxiliary;
    fplt__final_shift(&growing, &local, &auxiliary);
    assert_true(isinf(local) && isinf(auxiliary));
    assert_true(claim_of(&growing, "final-x").gdp_mu == claim_of(&growing, "transcript").gdp_mu);
}

static void threats_are_listed_and_found(void **state)
{
    (void)state;
    static const char *const names[] = {"transcript", "broadcast",  "secagg", "final-y",
                                        "final-x",    "secagg-sum", "paper"};
    fplt_error error;
    const fplt_threat *threat;
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(fplt_privacy_threat(i)->name, names[i]);
        assert_ok(fplt__privacy_threat_find(names[i], &threat, &error), error);
        assert_ptr_equal(threat, fplt_privacy_threat(i));
        assert_int_equal(threat->is_guarantee, i != 6);
    }
    assert_null(fplt_privacy_threat(7));
    assert_int_equal(fplt__privacy_threat_find("transcripts", &threat, &error), FPLT_BAD_VALUE);
    assert_contains(error.text,
                    "transcript, broadcast, secagg, final-y, final-x, secagg-sum, paper");
    for (size_t i = 0; i < 4; i++) {
        fplt_conversion conversion;
        const char *help, *name = fplt__privacy_conversion(i, &help);
        assert_ok(fplt__privacy_conversion_find(name, &conversion, &error), error);
        assert_int_equal(conversion, i);
    }
    assert_null(fplt__privacy_conversion(4, NULL));
    fplt_conversion conversion;
    assert_int_equal(fplt__privacy_conversion_find("loose", &conversion, &error), FPLT_BAD_VALUE);
}

static void what_is_seen_less_costs_no_more(void **state)
{
    (void)state;
    for (int rounds = 1; rounds < 2000; rounds *= 3) {
        fplt_privacy_mechanism mechanism = typical();
        mechanism.rounds = (uint64_t)rounds;
        double all = claim_of(&mechanism, "transcript").gdp_mu;
        assert_true(claim_of(&mechanism, "broadcast").gdp_mu == all);
        assert_true(claim_of(&mechanism, "secagg").gdp_mu == all);
        assert_true(claim_of(&mechanism, "final-x").gdp_mu <= all);
        assert_true(claim_of(&mechanism, "final-y").gdp_mu <=
                    claim_of(&mechanism, "final-x").gdp_mu);
    }
}

/* Theorem S: mu = k (mu_step (1 + q^2 2^-53) + 3 sqrt(n)/2^20) sqrt(B/h); with its own noise alone it is Theorem T. */
static void noise_of_honest_agents_adds_up(void **state)
{
    (void)state;
    fplt_privacy_mechanism mechanism = typical();
    fplt_privacy_claim claim;
    fplt_error error;
    assert_true(claim_of(&mechanism, "secagg-sum").gdp_mu ==
                claim_of(&mechanism, "transcript").gdp_mu);
    mechanism.honest = 2;
    assert_true(mechanism.epochs > 1);
    assert_int_equal(fplt_privacy_claim_make(&mechanism, "secagg-sum", &claim, &error),
                     FPLT_UNSUPPORTED);
    assert_contains(error.text, "epochs must be 1");
    mechanism.epochs = 1;
    mechanism.contraction = 0;
    mechanism.lattice = 1;
    mechanism.dimension = 21;
    mechanism.group = 3;
    mechanism.rounds = 17;
    mechanism.records = 3000000; /* q^2 2^-53 is 1e-3 */
    double alone = claim_of(&mechanism, "transcript").gdp_mu;
    for (uint64_t honest = 1; honest < 200; honest = 2 * honest + 1) {
        mechanism.honest = honest;
        double q = 3e6,
               step = mechanism.sensitivity / q * sqrt(mechanism.step / 2) / mechanism.noise_tau;
        double adding = honest > 1 ? 1 + q * q * 0x1p-53 : 1;
        double expected = 3 * (step * adding + 3 * sqrt(21) / 0x1p20) * sqrt(17.0 / (double)honest);
        claim = claim_of(&mechanism, "secagg-sum");
        assert_close(claim.gdp_mu, expected, 1e-13);
        assert_close(claim.renyi_rate, expected * expected / 2, 1e-13);
        assert_false(claim.is_gaussian);
        assert_true(claim_of(&mechanism, "transcript").gdp_mu == alone);
        assert_true(claim_of(&mechanism, "secagg").gdp_mu == alone);
        assert_contains(claim.method, honest > 1 ? "Theorem S" : "Theorem T");
    }
}

static void final_models_fall_back_to_the_transcript(void **state)
{
    (void)state;
    fplt_privacy_mechanism mechanism = typical();
    double all = claim_of(&mechanism, "transcript").gdp_mu;
    assert_true(claim_of(&mechanism, "final-x").gdp_mu < all);
    assert_contains(claim_of(&mechanism, "final-x").method, "Theorem F");
    mechanism.full_participation = 0;
    assert_true(claim_of(&mechanism, "final-x").gdp_mu == all);
    assert_true(claim_of(&mechanism, "final-y").gdp_mu == all);
    assert_contains(claim_of(&mechanism, "final-y").method, "partial participation");
    mechanism = typical();
    mechanism.lattice = 1;
    all = claim_of(&mechanism, "transcript").gdp_mu;
    assert_true(claim_of(&mechanism, "final-y").gdp_mu == all);
    assert_contains(claim_of(&mechanism, "final-y").method, "lattice");
    assert_true(claim_of(&mechanism, "final-x").gdp_mu < all);
    mechanism = typical();
    mechanism.contraction = 0;
    assert_true(claim_of(&mechanism, "final-x").gdp_mu ==
                claim_of(&mechanism, "transcript").gdp_mu);
    assert_true(isinf(claim_of(&mechanism, "final-x").mu_final));
}

/* gamma dl + 3 Delta sqrt(n) over the deviation, and 3 Delta sqrt(nN) for all final x together. */
static void the_lattice_is_charged(void **state)
{
    (void)state;
    fplt_privacy_mechanism mechanism = typical(), smooth = typical();
    mechanism.lattice = 1;
    mechanism.dimension = 123456;
    double delta = fplt__noise_spacing(0.3, 0.05), deviation = sqrt(0.6) * 0.05;
    double charged = (0.3 * 2 / 250 + 3 * delta * sqrt(123456)) / deviation;
    fplt_privacy_claim claim = claim_of(&mechanism, "transcript");
    assert_close(claim.mu_step, charged, 1e-13);
    assert_close(claim.gdp_mu, 10 * sqrt(claim.round_factor) * charged, 1e-13);
    assert_false(claim.is_gaussian);
    double together = (0.3 * 2 / 250 + 3 * delta * sqrt(1234560)) / deviation;
    double plain = 0.3 * 2 / 250 / deviation;
    assert_close(claim_of(&mechanism, "final-x").mu_final,
                 claim_of(&smooth, "final-x").mu_final * together / plain, 1e-12);
    fplt_error error;
    double epsilon, tight;
    assert_int_equal(fplt_privacy_epsilon(&claim, FPLT_CONVERT_EXACT, 1e-5, &epsilon, &error),
                     FPLT_UNSUPPORTED);
    assert_contains(error.text, "tight");
    assert_int_equal(fplt__privacy_log_delta(&claim, FPLT_CONVERT_EXACT, 1, &epsilon, &error),
                     FPLT_UNSUPPORTED);
    assert_ok(fplt_privacy_epsilon(&claim, FPLT_CONVERT_BEST, 1e-5, &epsilon, &error), error);
    assert_ok(fplt_privacy_epsilon(&claim, FPLT_CONVERT_TIGHT, 1e-5, &tight, &error), error);
    assert_true(epsilon == tight);
}

/* A drawn number of epochs without bound costs the limit, if there is one. */
static void unbounded_epochs_cost_the_limit(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical();
    mechanism.epochs = FPLT_EPOCHS_UNBOUNDED;
    fplt_privacy_claim claim = claim_of(&mechanism, "transcript");
    assert_close(claim.round_factor, 1.55 / 0.45, 1e-13);
    assert_true(isfinite(claim_of(&mechanism, "final-x").mu_final));
    mechanism.contraction = 0;
    assert_int_equal(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error),
                     FPLT_UNSUPPORTED);
    assert_contains(error.text, "contract");
}

static void claims_on_messages_add_up(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical(), one = typical();
    one.rounds = 1;
    fplt_privacy_claim total = claim_of(&one, "transcript"), more = total;
    for (int i = 1; i < 100; i++)
        assert_ok(fplt__privacy_claim_add(&total, &more, &error), error);
    assert_close(total.gdp_mu, claim_of(&mechanism, "transcript").gdp_mu, 1e-13);
    assert_true(total.is_gaussian);
    one.lattice = 1;
    more = claim_of(&one, "transcript");
    assert_ok(fplt__privacy_claim_add(&total, &more, &error), error);
    assert_false(total.is_gaussian);
    more = claim_of(&mechanism, "final-x");
    assert_int_equal(fplt__privacy_claim_add(&total, &more, &error), FPLT_UNSUPPORTED);
    total = more;
    assert_int_equal(fplt__privacy_claim_add(&total, &more, &error), FPLT_UNSUPPORTED);
}

/* For one claim the conversions are ordered, and each inverts itself. */
static void conversions_are_ordered_and_invert(void **state)
{
    (void)state;
    for (double scale = 1e-6; scale < 1e4; scale *= 7)
        for (double delta = 1e-200; delta < 0.9; delta = sqrt(sqrt(delta)) * 0.99) {
            fplt_error error;
            fplt_privacy_mechanism mechanism = typical();
            mechanism.noise_tau = 1 / scale;
            fplt_privacy_claim claim = claim_of(&mechanism, "transcript");
            double epsilon[4], log_delta;
            for (int c = FPLT_CONVERT_CLASSIC; c <= FPLT_CONVERT_EXACT; c++) {
                assert_ok(fplt_privacy_epsilon(&claim, (fplt_conversion)c, delta, &epsilon[c],
                                               &error),
                          error);
                if (epsilon[c] == 0)
                    continue;
                assert_ok(fplt__privacy_log_delta(&claim, (fplt_conversion)c, epsilon[c],
                                                  &log_delta, &error),
                          error);
                assert_close(log_delta, log(delta), 1e-9);
            }
            assert_true(epsilon[FPLT_CONVERT_TIGHT] <= epsilon[FPLT_CONVERT_CLASSIC]);
            assert_true(epsilon[FPLT_CONVERT_EXACT] <= epsilon[FPLT_CONVERT_TIGHT] * (1 + 1e-12));
        }
}

/* delta at epsilon 0 is the total variation distance, erf(mu / sqrt 8), however small mu is. */
static void tiny_claims_keep_their_digits(void **state)
{
    (void)state;
    for (double tau = 1e-3; tau < 1e12; tau *= 10) {
        fplt_error error;
        fplt_privacy_mechanism mechanism = typical();
        mechanism.noise_tau = tau;
        fplt_privacy_claim claim = claim_of(&mechanism, "transcript");
        double log_delta;
        assert_ok(fplt__privacy_log_delta(&claim, FPLT_CONVERT_EXACT, 0, &log_delta, &error),
                  error);
        assert_close(exp(log_delta), erf(claim.gdp_mu / sqrt(8)), 1e-13);
    }
}

static void no_rounds_cost_nothing(void **state)
{
    (void)state;
    static const char *const threats[] = {"transcript", "final-y", "final-x", "paper"};
    for (int i = 0; i < 4; i++) {
        fplt_error error;
        fplt_privacy_mechanism mechanism = typical();
        mechanism.rounds = 0;
        fplt_privacy_claim claim = claim_of(&mechanism, threats[i]);
        double value;
        assert_true(claim.renyi_rate == 0);
        assert_contains(claim.method, i < 3 ? "Theorem" : "as printed: not a guarantee");
        assert_ok(fplt_privacy_epsilon(&claim, FPLT_CONVERT_BEST, 1e-5, &value, &error), error);
        assert_true(value == 0);
        assert_ok(fplt__privacy_log_delta(&claim, FPLT_CONVERT_BEST, 0, &value, &error), error);
        assert_true(value == -HUGE_VAL);
    }
}

static void bad_numbers_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t field;
        const char *name;
    } fields[] = {
        {offsetof(fplt_privacy_mechanism, sensitivity), "sensitivity"},
        {offsetof(fplt_privacy_mechanism, step), "step"},
        {offsetof(fplt_privacy_mechanism, noise_tau), "noise_tau"},
        {offsetof(fplt_privacy_mechanism, strong_convexity), "strong_convexity"},
        {offsetof(fplt_privacy_mechanism, smoothness), "smoothness"},
        {offsetof(fplt_privacy_mechanism, inverse_rho), "inverse_rho"},
    };
    const double bad[] = {NAN, HUGE_VAL, -HUGE_VAL, 0, -1};
    fplt_error error;
    fplt_privacy_claim claim;
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        for (int i = 0; i < (f < 3 ? 5 : 3); i++) {
            fplt_privacy_mechanism mechanism = typical();
            memcpy((char *)&mechanism + fields[f].field, &bad[i], sizeof bad[i]);
            assert_int_equal(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error),
                             FPLT_BAD_VALUE);
            assert_contains(error.text, fields[f].name);
        }
    fplt_privacy_mechanism mechanism = typical();
    mechanism.epochs = 0;
    assert_int_equal(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error),
                     FPLT_BAD_VALUE);
    mechanism = typical();
    mechanism.records = 0;
    assert_int_equal(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error),
                     FPLT_BAD_VALUE);
    mechanism = typical();
    mechanism.lattice = 1;
    mechanism.dimension = 0;
    assert_int_equal(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error),
                     FPLT_BAD_VALUE);
    mechanism = typical();
    mechanism.strong_convexity = 0;
    assert_ok(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error), error);
    assert_int_equal(fplt_privacy_claim_make(&mechanism, "paper", &claim, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "strong_convexity");
    mechanism = fplt_privacy_defaults();
    assert_int_equal(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error),
                     FPLT_BAD_VALUE);
}

static void samplings_refuse_bad_numbers(void **state)
{
    (void)state;
    fplt_error error;
    double value;
    const double bad[] = {NAN, 0, -1, HUGE_VAL};
    for (int i = 0; i < 4; i++) {
        fplt_privacy_lottery lotteries[] = {{bad[i], 0.5, 3}, {1, bad[i], 3}};
        fplt_privacy_minibatch minibatches[] = {{bad[i], 1, 9, 1, 1, 1},
                                                {0.1, bad[i], 9, 1, 1, 1},
                                                {0.1, 1, 9, bad[i], 1, 1},
                                                {0.1, 1, 9, 1, bad[i], 1}};
        for (int j = 0; j < 2; j++)
            assert_int_equal(fplt__privacy_lottery_renyi(&lotteries[j], 2, &value, &error),
                             FPLT_BAD_VALUE);
        for (int j = 0; j < 4; j++)
            assert_int_equal(fplt__privacy_minibatch_renyi(&minibatches[j], 2, &value, &error),
                             FPLT_BAD_VALUE);
    }
    fplt_privacy_lottery lottery = {1, 0.5, 3};
    fplt_privacy_minibatch minibatch = {0.1, 1, 9, 1, 1, 1};
    assert_int_equal(fplt__privacy_lottery_renyi(&lottery, 1, &value, &error), FPLT_BAD_VALUE);
    assert_int_equal(fplt__privacy_minibatch_renyi(&minibatch, 1, &value, &error), FPLT_BAD_VALUE);
    assert_int_equal(fplt_privacy_minibatch_epsilon(&minibatch, 0, &value, NULL, &error),
                     FPLT_BAD_VALUE);
    assert_true(isnan(fplt__privacy_epsilon_at(FPLT_CONVERT_EXACT, 2, 1, 0.1)));
    assert_true(isnan(fplt__privacy_epsilon_at(FPLT_CONVERT_TIGHT, 1, 1, 0.1)));
    /* sigma = tau rate records sqrt(2/step) / clip */
    fplt_privacy_minibatch known = {0.25, 3, 80, 0.5, 0.7, 1};
    assert_close(fplt__privacy_noise_multiplier(&known), 0.7 * 20 * 2 / 3, 1e-15);
}

static void a_clean_run_passes_and_each_fact_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t fact;
        int step_wise;
        const char *part;
    } cases[] = {
        {offsetof(fplt_privacy_facts, sends_bare_gradient), 0, "bare gradient"},
        {offsetof(fplt_privacy_facts, uses_second_order), 0, "local solver"},
        {offsetof(fplt_privacy_facts, shuffled_batches), 0, "Poisson"},
        {offsetof(fplt_privacy_facts, unbounded_sensitivity), 0, "clip"},
        {offsetof(fplt_privacy_facts, parameters_from_data), 0, "parameters"},
        {offsetof(fplt_privacy_facts, scaling_from_data), 0, "standardised"},
        {offsetof(fplt_privacy_facts, stops_on_data), 0, "fix the number of rounds"},
        {offsetof(fplt_privacy_facts, seeded_noise), 0, "seed"},
        {offsetof(fplt_privacy_facts, accelerated), 1, "step-wise"},
        {offsetof(fplt_privacy_facts, skips_rounds), 1, "step-wise"},
        {offsetof(fplt_privacy_facts, clipping_bends), 1, "step-wise"},
    };
    fplt_error error;
    fplt_privacy_mechanism mechanism = typical(), step_wise = typical();
    step_wise.contraction = 0;
    fplt_privacy_facts clean = {0};
    assert_ok(fplt_privacy_check(&mechanism, &clean, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_privacy_facts facts = {.algorithm = "5GCS"};
        int yes = 1;
        memcpy((char *)&facts + cases[i].fact, &yes, sizeof yes);
        assert_int_equal(fplt_privacy_check(&mechanism, &facts, &error), FPLT_UNSUPPORTED);
        assert_contains(error.text, cases[i].part);
        assert_contains(error.text, "5GCS");
        assert_int_equal(fplt_privacy_check(&step_wise, &facts, &error),
                         cases[i].step_wise ? FPLT_OK : FPLT_UNSUPPORTED);
    }
}

static void a_step_too_large_is_told_the_range(void **state)
{
    (void)state;
    fplt_error error;
    fplt_privacy_facts clean = {0};
    fplt_privacy_mechanism mechanism = typical();
    mechanism.step = 1.2;
    assert_int_equal(fplt_privacy_check(&mechanism, &clean, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "1.14286");
    mechanism.step = 1.1428;
    assert_ok(fplt_privacy_check(&mechanism, &clean, &error), error);
    mechanism.step = 1.2;
    mechanism.contraction = 0;
    assert_ok(fplt_privacy_check(&mechanism, &clean, &error), error);
    mechanism = typical();
    mechanism.inverse_rho = 0;
    mechanism.strong_convexity = -0.1;
    assert_int_equal(fplt_privacy_check(&mechanism, &clean, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "strong_convexity + inverse_rho is -0.1,");
    mechanism.inverse_rho = 0.25;
    mechanism.strong_convexity = -0.5;
    assert_int_equal(fplt_privacy_check(&mechanism, &clean, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "strong_convexity + inverse_rho is -0.25,");
}

static void losses_have_their_constants(void **state)
{
    (void)state;
    static const struct {
        fplt_privacy_loss loss;
        fplt_privacy_constants expected;
    } cases[] = {
        {{"logistic", 2, 0, 0, 0}, {2, 4, 1, 1}},
        {{"logistic", 2, 1, 0, 0}, {2.2360679774997897, 4.4721359549995794, 1.25, 1}},
        {{"logistic", 2, 0, 0, 0.5}, {0.5, 1, 1, 1}},
        {{"logistic", 2, 0, 0, 5}, {2, 4, 1, 1}},
        {{"softmax", 3, 0, 0, 0}, {4.2426406871192851, 8.4852813742385702, 4.5, 1}},
        {{"softmax", 3, 0, 0, 1}, {1, 2, 4.5, 0}},
        {{"softmax", 3, 0, 0, 10}, {4.2426406871192851, 8.4852813742385702, 4.5, 1}},
        /* a clip at the very bound cuts nothing */
        {{"softmax", 3, 0, 0, 1.4142135623730951 * 3},
         {4.2426406871192851, 8.4852813742385702, 4.5, 1}},
        {{"huber", 2, 0, 0.5, 0}, {1, 2, 4, 1}},
        {{"least-squares", 2, 0, 0, 3}, {3, 6, 4, 1}},
        {{"squared-hinge", 2, 1, 0, 3}, {3, 6, 5, 1}},
        {{"poisson", 2, 1, 0, 3, .predictor_bound = 1}, {3, 6, 13.591409142295227, 1}},
        {{"poisson", 2, 0, 0, 3, .predictor_bound = -1}, {3, 6, 1.4715177646857693, 1}},
    };
    fplt_error error;
    fplt_privacy_constants constants;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(fplt__privacy_loss_constants(&cases[i].loss, &constants, &error), error);
        assert_close(constants.gradient, cases[i].expected.gradient, 1e-15);
        assert_close(constants.sensitivity, cases[i].expected.sensitivity, 1e-15);
        assert_close(constants.curvature, cases[i].expected.curvature, 1e-15);
        assert_int_equal(constants.contraction, cases[i].expected.contraction);
    }
    fplt_privacy_loss unbounded = {"least-squares", 2, 0, 0, 0}, unknown = {"cubic", 1, 0, 0, 0};
    assert_int_equal(fplt__privacy_loss_constants(&unbounded, &constants, &error),
                     FPLT_UNSUPPORTED);
    assert_contains(error.text, "clip");
    assert_int_equal(fplt__privacy_loss_constants(&unknown, &constants, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "cubic");
    fplt_privacy_loss counts = {.name = "poisson", .row_norm = 2, .predictor_bound = 1};
    assert_int_equal(fplt__privacy_loss_constants(&counts, &constants, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "clip");
    counts.clip = 1;
    counts.predictor_bound = 701;
    assert_int_equal(fplt__privacy_loss_constants(&counts, &constants, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "predictor_bound is 701");
    const fplt_privacy_loss bad[] = {{"logistic", NAN, 0, 0, 0}, {"logistic", 0, 0, 0, 0},
                                     {"huber", 1, 0, 0, 0},      {"huber", 1, 0, NAN, 0},
                                     {"logistic", 1, 0, 0, -1},  {"logistic", 1, 0, 0, HUGE_VAL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(fplt__privacy_loss_constants(&bad[i], &constants, &error), FPLT_BAD_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_round_factor_is_a_ratio_of_sums),
        cmocka_unit_test(the_final_shift_is_the_recursion),
        cmocka_unit_test(threats_are_listed_and_found),
        cmocka_unit_test(what_is_seen_less_costs_no_more),
        cmocka_unit_test(noise_of_honest_agents_adds_up),
        cmocka_unit_test(final_models_fall_back_to_the_transcript),
        cmocka_unit_test(the_lattice_is_charged),
        cmocka_unit_test(unbounded_epochs_cost_the_limit),
        cmocka_unit_test(claims_on_messages_add_up),
        cmocka_unit_test(conversions_are_ordered_and_invert),
        cmocka_unit_test(tiny_claims_keep_their_digits),
        cmocka_unit_test(no_rounds_cost_nothing),
        cmocka_unit_test(bad_numbers_are_refused),
        cmocka_unit_test(samplings_refuse_bad_numbers),
        cmocka_unit_test(a_clean_run_passes_and_each_fact_is_refused),
        cmocka_unit_test(a_step_too_large_is_told_the_range),
        cmocka_unit_test(losses_have_their_constants),
    };
    return cmocka_run_group_tests_name("privacy/claims", tests, NULL, NULL);
}
