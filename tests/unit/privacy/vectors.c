/* Claims and conversions against values of an independent program in 50-digit arithmetic, which
 * agree with those of an accounting library (tests/golden/generate --check). */
#include "table.h"

#include "fedplt/privacy.h"
#include "privacy/claim.h"
#include "privacy/privacy.h"

/* A claim of given mu: one step whose shift over deviation is mu. */
static fplt_privacy_claim gaussian(double mu, uint64_t rounds)
{
    fplt_error error;
    fplt_privacy_claim claim;
    fplt_privacy_mechanism mechanism = fplt_privacy_defaults();
    mechanism.sensitivity = mu;
    mechanism.records = 1;
    mechanism.step = 2;
    mechanism.noise_tau = 1;
    mechanism.contraction = 0;
    mechanism.rounds = rounds;
    assert_ok(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error), error);
    return claim;
}

static double epsilon_of(const fplt_privacy_claim *claim, fplt_conversion conversion, double delta)
{
    fplt_error error;
    double epsilon;
    assert_ok(fplt_privacy_epsilon(claim, conversion, delta, &epsilon, &error), error);
    return epsilon;
}

static double log_delta_of(const fplt_privacy_claim *claim, fplt_conversion conversion,
                           double epsilon)
{
    fplt_error error;
    double log_delta;
    assert_ok(fplt__privacy_log_delta(claim, conversion, epsilon, &log_delta, &error), error);
    return log_delta;
}

/* ln of a decimal number of any exponent. */
static double log_of_text(const char *text)
{
    char *end;
    const char *mark = strchr(text, 'e');
    char mantissa[64];
    size_t length = mark ? (size_t)(mark - text) : strlen(text);
    assert_true(length < sizeof mantissa);
    memcpy(mantissa, text, length);
    mantissa[length] = 0;
    double value = log(strtod(mantissa, &end));
    return mark ? value + strtod(mark + 1, NULL) * 2.302585092994045684 : value;
}

static void the_gaussian_curve_is_exact(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    for (table_open(&table, GOLDEN "/analytic_gaussian.csv"); table_next(&table); rows++) {
        fplt_privacy_claim claim = gaussian(table_number(&table, "mu"), 1);
        double input = table_number(&table, "input");
        if (strcmp(table_text(&table, "kind"), "eps_of_delta") == 0) {
            assert_close(epsilon_of(&claim, FPLT_CONVERT_EXACT, input),
                         table_number(&table, "output"), 1e-9);
            continue;
        }
        double expected = log_of_text(table_text(&table, "output"));
        double log_delta = log_delta_of(&claim, FPLT_CONVERT_EXACT, input);
        if (expected < -690)
            assert_close(log_delta, expected, 1e-9);
        else
            assert_close(exp(log_delta), exp(expected), 1e-9);
    }
    assert_int_equal(rows, 99);
}

static fplt_privacy_mechanism mechanism_of(const struct table *table)
{
    fplt_privacy_mechanism mechanism = fplt_privacy_defaults();
    mechanism.sensitivity = table_number(table, "L");
    mechanism.records = (uint64_t)table_number(table, "q");
    mechanism.strong_convexity = table_number(table, "lmin");
    mechanism.step = table_number(table, "gamma");
    mechanism.epochs = (uint64_t)table_number(table, "Ne");
    mechanism.rounds = (uint64_t)table_number(table, "K");
    mechanism.noise_tau = table_number(table, "tau");
    return mechanism;
}

static void assert_same(double a, double b)
{
    if (isinf(a) || isinf(b))
        assert_true(a == b);
    else
        assert_close(a, b, 1e-9);
}

static void check_final(const struct table *table, const fplt_privacy_mechanism *mechanism)
{
    fplt_error error;
    fplt_privacy_claim x, y;
    double a, b, delta = table_number(table, "delta");
    double shift = mechanism->step * mechanism->sensitivity / (double)mechanism->records;
    fplt__final_shift(mechanism, &a, &b);
    assert_same(a * shift, table_number(table, "thmF_a_K"));
    assert_same(b * shift, table_number(table, "thmF_b_K"));
    assert_ok(fplt_privacy_claim_make(mechanism, "final-x", &x, &error), error);
    assert_ok(fplt_privacy_claim_make(mechanism, "final-y", &y, &error), error);
    assert_same(x.mu_final, table_number(table, "thmF_mu_final_x"));
    assert_same(y.mu_final, table_number(table, "thmF_mu_final_zy"));
    assert_same(epsilon_of(&x, FPLT_CONVERT_BEST, delta), table_number(table, "eps_final_x"));
    assert_same(epsilon_of(&y, FPLT_CONVERT_BEST, delta), table_number(table, "eps_final_zy"));
}

static void theorems_t_and_f_agree(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    for (table_open(&table, GOLDEN "/fedplt_bounds.csv"); table_next(&table); rows++) {
        fplt_error error;
        fplt_privacy_claim claim, steps;
        fplt_privacy_mechanism mechanism = mechanism_of(&table);
        double delta = table_number(&table, "delta");
        mechanism.smoothness = table_number(&table, "lmax");
        mechanism.inverse_rho = 1 / table_number(&table, "rho");
        assert_ok(fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error), error);
        assert_near(claim.contraction, table_number(&table, "c"), 1e-12);
        assert_same(claim.round_factor, table_number(&table, "kappa"));
        assert_same(claim.mu_step, table_number(&table, "mu_step"));
        assert_same(claim.mu_round, table_number(&table, "mu_round"));
        assert_same(claim.gdp_mu, table_number(&table, "mu_transcript_K_rounds"));
        assert_same(claim.renyi_rate, table_number(&table, "B_transcript"));
        assert_same(fplt__privacy_order(&claim, FPLT_CONVERT_CLASSIC, delta),
                    table_number(&table, "alpha_opt_classic"));
        assert_same(fplt__privacy_order(&claim, FPLT_CONVERT_TIGHT, delta),
                    table_number(&table, "alpha_opt_cks"));
        assert_same(epsilon_of(&claim, FPLT_CONVERT_CLASSIC, delta),
                    table_number(&table, "eps_transcript_classic"));
        assert_same(epsilon_of(&claim, FPLT_CONVERT_TIGHT, delta),
                    table_number(&table, "eps_transcript_cks"));
        assert_same(epsilon_of(&claim, FPLT_CONVERT_EXACT, delta),
                    table_number(&table, "eps_transcript_exact_gaussian"));
        check_final(&table, &mechanism);
        mechanism.contraction = 0;
        assert_ok(fplt_privacy_claim_make(&mechanism, "transcript", &steps, &error), error);
        assert_same(steps.gdp_mu, table_number(&table, "mu_transcript_stepwise"));
        assert_same(epsilon_of(&steps, FPLT_CONVERT_BEST, delta),
                    table_number(&table, "eps_transcript_stepwise_exact_gaussian"));
    }
    assert_int_equal(rows, 25);
}

static void the_papers_figure_is_as_printed(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    for (table_open(&table, GOLDEN "/prop4_closed_form.csv"); table_next(&table); rows++) {
        fplt_error error;
        fplt_privacy_claim claim;
        fplt_privacy_mechanism mechanism = mechanism_of(&table);
        double delta = table_number(&table, "delta");
        mechanism.contraction = 0;
        assert_ok(fplt_privacy_claim_make(&mechanism, "paper", &claim, &error), error);
        assert_same(claim.renyi_rate, table_number(&table, "B"));
        assert_same(fplt__privacy_renyi(&claim, 2), table_number(&table, "rdp_alpha2"));
        assert_same(fplt__privacy_renyi(&claim, 8), table_number(&table, "rdp_alpha8"));
        assert_same(fplt__privacy_renyi(&claim, 32), table_number(&table, "rdp_alpha32"));
        assert_same(fplt__privacy_order(&claim, FPLT_CONVERT_CLASSIC, delta),
                    table_number(&table, "alpha_opt_classic"));
        assert_same(epsilon_of(&claim, FPLT_CONVERT_CLASSIC, delta),
                    table_number(&table, "eps_classic_mironov"));
        assert_same(fplt__privacy_order(&claim, FPLT_CONVERT_BEST, delta),
                    table_number(&table, "alpha_opt_cks"));
        assert_same(epsilon_of(&claim, FPLT_CONVERT_BEST, delta), table_number(&table, "eps_cks"));
        assert_false(claim.threat->is_guarantee);
        double epsilon;
        assert_int_equal(fplt_privacy_epsilon(&claim, FPLT_CONVERT_EXACT, delta, &epsilon, &error),
                         FPLT_UNSUPPORTED);
        assert_contains(error.text, "Renyi");
    }
    assert_int_equal(rows, 11);
}

/* The orders that accounting libraries try. */
static double least_classic(const fplt_privacy_claim *claim, double delta)
{
    double least = HUGE_VAL;
    for (int i = 1; i < 157; i++) {
        double order = i < 100   ? 1 + i / 10.0
                       : i < 153 ? 11 + (i - 100)
                                 : 128 * (double)(1 << (i - 153));
        double divergence = fplt__privacy_renyi(claim, order);
        least =
            fmin(least, fplt__privacy_epsilon_at(FPLT_CONVERT_CLASSIC, order, divergence, delta));
    }
    return least;
}

static void full_batches_agree(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    for (table_open(&table, GOLDEN "/full_batch.csv"); table_next(&table); rows++) {
        double delta = table_number(&table, "delta");
        fplt_privacy_claim claim = gaussian(1 / table_number(&table, "noise_multiplier"),
                                            (uint64_t)table_number(&table, "steps"));
        assert_close(epsilon_of(&claim, FPLT_CONVERT_EXACT, delta),
                     table_number(&table, "eps_exact_gaussian"), 1e-9);
        double order = table_number(&table, "opt_order");
        double epsilon = fplt__privacy_epsilon_at(FPLT_CONVERT_TIGHT, order,
                                                  fplt__privacy_renyi(&claim, order), delta);
        assert_close(epsilon, table_number(&table, "eps_rdp_google_orders"), 1e-9);
        assert_true(epsilon_of(&claim, FPLT_CONVERT_TIGHT, delta) <= epsilon * (1 + 1e-14));
        assert_close(least_classic(&claim, delta),
                     table_number(&table, "eps_rdp_classic_mironov_google_orders"), 1e-9);
    }
    assert_int_equal(rows, 10);
}

/* rate * records = 1 and step = 2 make noise_tau the noise multiplier. */
static fplt_privacy_minibatch minibatch_of(double rate, double multiplier, uint64_t steps)
{
    fplt_privacy_minibatch minibatch = {.rate = rate,
                                        .clip = rate,
                                        .records = 1,
                                        .step = 2,
                                        .noise_tau = multiplier,
                                        .steps = steps};
    assert_close(fplt__privacy_noise_multiplier(&minibatch), multiplier, 1e-15);
    return minibatch;
}

static void poisson_minibatches_agree(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    for (table_open(&table, GOLDEN "/poisson_minibatch.csv"); table_next(&table); rows++) {
        fplt_error error;
        fplt_privacy_minibatch minibatch = minibatch_of(table_number(&table, "sampling_rate"),
                                                        table_number(&table, "noise_multiplier"),
                                                        (uint64_t)table_number(&table, "steps"));
        double epsilon;
        uint32_t order;
        assert_ok(fplt_privacy_minibatch_epsilon(&minibatch, table_number(&table, "delta"),
                                                 &epsilon, &order, &error),
                  error);
        assert_close(epsilon, table_number(&table, "eps_rdp_google_INTEGER_orders"), 1e-9);
        assert_int_equal(order, table_number(&table, "opt_int_order"));
    }
    assert_int_equal(rows, 13);
}

static void the_sampled_gaussian_agrees_with_quadrature(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    table_open(&table, GOLDEN "/poisson_rdp_exact.csv");
    while (table_next(&table)) {
        fplt_error error;
        double alpha = table_number(&table, "alpha"), divergence;
        if (alpha != floor(alpha))
            continue;
        fplt_privacy_minibatch minibatch =
            minibatch_of(table_number(&table, "sampling_rate"),
                         table_number(&table, "noise_multiplier"), 1);
        assert_ok(fplt__privacy_minibatch_renyi(&minibatch, (uint32_t)alpha, &divergence, &error),
                  error);
        assert_close(divergence, table_number(&table, "exact_quadrature_mpmath"), 1e-9);
        rows++;
    }
    assert_int_equal(rows, 24);
}

static void random_participation_agrees(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    for (table_open(&table, GOLDEN "/participation.csv"); table_next(&table); rows++) {
        const char *const columns[] = {"rdp_alpha2", "rdp_alpha8", "rdp_alpha32"};
        const double orders[] = {2, 8, 32};
        fplt_error error;
        fplt_privacy_lottery lottery = {table_number(&table, "mu_round"), table_number(&table, "p"),
                                        (uint64_t)table_number(&table, "K")};
        double value, delta = table_number(&table, "delta");
        for (int i = 0; i < 3; i++) {
            assert_ok(fplt__privacy_lottery_renyi(&lottery, orders[i], &value, &error), error);
            assert_close(value, table_number(&table, columns[i]), 1e-9);
        }
        /* the bound lies above the exact value of the mixture, and always active above both */
        assert_ok(fplt_privacy_lottery_epsilon(&lottery, delta, &value, NULL, &error), error);
        assert_true(value >= table_number(&table, "eps_mixture_exact"));
        fplt_privacy_claim always = gaussian(lottery.mu_round, lottery.rounds);
        assert_close(epsilon_of(&always, FPLT_CONVERT_EXACT, delta),
                     table_number(&table, "eps_if_always_active"), 1e-9);
        lottery.probability = 1;
        assert_ok(fplt__privacy_lottery_renyi(&lottery, 8, &value, &error), error);
        assert_close(value, fplt__privacy_renyi(&always, 8), 1e-12);
    }
    assert_int_equal(rows, 3);
}

static void binomial_bounds_agree(void **state)
{
    (void)state;
    struct table table;
    int rows = 0;
    for (table_open(&table, GOLDEN "/clopper_pearson_one_sided.csv"); table_next(&table); rows++) {
        fplt_error error;
        double low, high;
        assert_ok(fplt__privacy_binomial_bounds(
                      (uint64_t)table_number(&table, "k"), (uint64_t)table_number(&table, "n"),
                      table_number(&table, "one_sided_conf"), &low, &high, &error),
                  error);
        assert_near(low, table_number(&table, "lower"), 1e-9);
        assert_near(high, table_number(&table, "upper"), 1e-9);
    }
    assert_int_equal(rows, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gaussian_curve_is_exact),
        cmocka_unit_test(theorems_t_and_f_agree),
        cmocka_unit_test(the_papers_figure_is_as_printed),
        cmocka_unit_test(full_batches_agree),
        cmocka_unit_test(poisson_minibatches_agree),
        cmocka_unit_test(the_sampled_gaussian_agrees_with_quadrature),
        cmocka_unit_test(random_participation_agrees),
        cmocka_unit_test(binomial_bounds_agree),
    };
    return cmocka_run_group_tests_name("privacy/vectors", tests, NULL, NULL);
}
