/* The rate of the quadratic family: the eigenvalues of the simulated round for identical and for
 * arbitrary Hessians, simulation with a nonlinear h, and the choices that rest on it. */
#include "theory/simulation.h"
#include "theory/theory.h"

#include <lapacke.h>
#include <time.h>

static double between(fplt_stream *stream, double low, double high)
{
    return low * pow(high / low, fplt_stream_uniform(stream));
}

static fplt_theory_parameters any_parameters(const fplt_theory_problem *problem,
                                             fplt_stream *stream)
{
    fplt_theory_parameters p = fplt_theory_defaults(problem);
    p.rho *= between(stream, 0.03, 30);
    p.step = fplt__theory_step_limit(problem, p.rho, FPLT_THEORY_CORRECTED) *
             (fplt_stream_uniform(stream) < 0.5 ? fplt_stream_uniform(stream) : 0.97);
    p.epochs = 1 + (uint32_t)fplt_stream_below(stream, 12);
    p.accelerated = fplt_stream_uniform(stream) < 0.25;
    return p;
}

/* Spectral radius of the linear map that one simulated round is when nothing is affine. */
static double radius_of_round(struct federation *f, const fplt_theory_parameters *p)
{
    enum { MAX = 2 * MAX_AGENTS * MAX_DIMENSION };
    static double matrix[MAX * MAX];
    double re[MAX], im[MAX];
    int half = f->agents * f->dimension, size = 2 * half;
    memset(f->linear, 0, sizeof f->linear);
    for (int column = 0; column < size; column++) {
        memset(f->x, 0, sizeof f->x);
        memset(f->z, 0, sizeof f->z);
        int at = column % half;
        (column < half ? f->x : f->z)[at / f->dimension][at % f->dimension] = 1;
        one_round(f, p, NULL, NULL);
        for (int row = 0; row < half; row++) {
            matrix[row * size + column] = f->x[row / f->dimension][row % f->dimension];
            matrix[(half + row) * size + column] = f->z[row / f->dimension][row % f->dimension];
        }
    }
    assert_int_equal(
        LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'N', size, matrix, size, re, im, NULL, 1, NULL, 1), 0);
    double radius = 0;
    for (int i = 0; i < size; i++)
        radius = fmax(radius, hypot(re[i], im[i]));
    return radius;
}

/* Identical quadratics of one curvature: equality. */
static void identical_quadratics_have_exactly_this_rate(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    int consensus = 0, trials = 2000;
    for (int trial = 0; trial < trials; trial++) {
        struct federation f;
        double high = between(&stream, 1.01, 1e4);
        draw_costs(&f, 2 + trial % 4, 1, 0, 1, high, &stream);
        fplt_theory_problem problem = problem_of(&f);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        double curvature = trial % 3 == 0 ? 1 : between(&stream, 1, high);
        for (int i = 0; i < f.agents; i++)
            f.hessian[i][0][0] = curvature;
        fplt_theory_rate rate = fplt__theory_quadratic_rate_at(&problem, &p, curvature);
        /* a double eigenvalue is known to the root of the rounding only */
        assert_near(rate.rate, radius_of_round(&f, &p), 2e-7 * (1 + rate.rate));
        consensus += rate.consensus;
        /* and the worst curvature, found by the search, is attained */
        fplt_theory_rate worst = fplt_theory_quadratic_rate(&problem, &p);
        for (int i = 0; i < f.agents; i++)
            f.hessian[i][0][0] = worst.curvature;
        assert_near(worst.rate, radius_of_round(&f, &p), 2e-7 * (1 + worst.rate));
        assert_true(worst.rate >= rate.rate - 1e-6);
    }
    assert_true(consensus > trials / 20 && consensus < trials * 19 / 20);
}

/* The error itself, simulated, shrinks by the rate: the mean slope over many rounds. */
static void the_simulated_error_shrinks_by_the_rate(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 60; trial++) {
        struct federation f;
        draw_costs(&f, 3, 1, 0, 1, between(&stream, 1.5, 300), &stream);
        fplt_theory_problem problem = problem_of(&f);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        fplt_theory_rate worst = fplt_theory_quadratic_rate(&problem, &p);
        memset(f.linear, 0, sizeof f.linear);
        for (int i = 0; i < 3; i++)
            f.hessian[i][0][0] = worst.curvature;
        solve(&f, p.rho);
        start_anywhere(&f, &stream);
        double grown = 0;
        enum { SETTLE = 2000, ROUNDS = 4000 };
        for (int round = 0; round < SETTLE + ROUNDS; round++) {
            one_round(&f, &p, NULL, NULL);
            double size = weighted_error(&f, 1);
            for (int i = 0; i < 3; i++) {
                f.x[i][0] /= size;
                f.z[i][0] /= size;
            }
            if (round >= SETTLE)
                grown += log(size);
        }
        assert_near(grown / ROUNDS, log(worst.rate), 5e-3);
    }
}

/* Hessians that differ from agent to agent and do not commute: never slower than promised, wherever
 * the family converges. */
static void no_quadratic_is_slower(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    int checked = 0;
    double nearest = 0;
    for (int trial = 0; trial < 3000; trial++) {
        struct federation f;
        int agents = 1 + (int)fplt_stream_below(&stream, 5);
        int dimension = 1 + (int)fplt_stream_below(&stream, 3);
        draw_costs(&f, agents, dimension, 0, 1, between(&stream, 1.01, 1e4), &stream);
        fplt_theory_problem problem = problem_of(&f);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        double rate = fplt_theory_quadratic_rate(&problem, &p).rate;
        if (rate >= 1)
            continue;
        checked++;
        double radius = radius_of_round(&f, &p);
        assert_true(radius <= rate + 1e-6);
        nearest = fmax(nearest, radius / rate);
    }
    assert_true(checked > 1500 && nearest > 0.999);
}

/* With h = |.|_1 the round is not linear: the error over all rounds stays below a constant times
 * the rate's power, and where the kinks stop mattering or not its mean slope is no worse. */
static void nor_is_any_with_a_nonlinear_h(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    int checked = 0;
    for (int trial = 0; trial < 300; trial++) {
        struct federation f;
        draw_costs(&f, 3, 2, 0, 1, between(&stream, 1.1, 100), &stream);
        f.absolute = between(&stream, 0.1, 10);
        fplt_theory_problem problem = problem_of(&f);
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        double rate = fplt_theory_quadratic_rate(&problem, &p).rate;
        if (rate >= 0.98)
            continue;
        checked++;
        solve(&f, p.rho);
        start_anywhere(&f, &stream);
        double first = weighted_error(&f, 1), promised = first;
        for (int round = 1; promised > 1e-10 * first; round++) {
            one_round(&f, &p, NULL, NULL);
            promised *= rate;
            assert_true(weighted_error(&f, 1) <= 300 * promised + 1e-10 * first);
        }
    }
    assert_true(checked > 100);
}

static void the_worst_curvature_is_found(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 300; trial++) {
        fplt_theory_problem problem = {1, between(&stream, 1.01, 1e5), 2, 1};
        fplt_theory_parameters p = any_parameters(&problem, &stream);
        p.epochs = 1 + (uint32_t)fplt_stream_below(&stream, trial % 2 ? 10 : 100);
        double found = fplt_theory_quadratic_rate(&problem, &p).rate, brute = 0;
        for (int i = 0; i <= 4000; i++) {
            double even = 1 + (problem.smoothness - 1) * i / 4000.0;
            double logarithmic = pow(problem.smoothness, i / 4000.0);
            brute = fmax(brute, fplt__theory_quadratic_rate_at(&problem, &p, even).rate);
            brute = fmax(brute, fplt__theory_quadratic_rate_at(&problem, &p, logarithmic).rate);
        }
        /* beyond the range of steps the rates explode: compare relatively */
        assert_true(found >= brute - 1e-5 * fmin(brute, fabs(1 - brute)) - 1e-12 * brute);
        assert_true(found <= brute * (1 + 1e-2) || found <= brute + 1e-3);
    }
}

/* One local step: identical quadratics of curvature l diverge exactly beyond 2/(l + 2/rho). */
static void one_epoch_has_a_known_limit(void **state)
{
    (void)state;
    for (double rho = 0.01; rho < 100; rho *= 3) {
        fplt_theory_problem problem = {2, 2, 5, 1};
        fplt_theory_parameters p = fplt_theory_defaults(&problem);
        p.rho = rho;
        p.epochs = 1;
        p.step = 2 / (2 + 2 / rho) * (1 + 1e-6);
        assert_true(fplt_theory_quadratic_rate(&problem, &p).rate > 1);
        p.step = 2 / (2 + 2 / rho) * (1 - 1e-6);
        assert_true(fplt_theory_quadratic_rate(&problem, &p).rate < 1);
    }
    fplt_theory_problem flat = {0, 2, 5, 1};
    fplt_theory_parameters p = fplt_theory_defaults(&flat);
    assert_near(fplt_theory_quadratic_rate(&flat, &p).rate, 1, 1e-12);
}

/* Ever more epochs: exact splitting. */
static void many_epochs_give_the_rate_of_splitting(void **state)
{
    (void)state;
    const double condition[] = {1.5, 10, 1000};
    for (int i = 0; i < 3; i++) {
        fplt_theory_problem problem = {1, condition[i], 5, 1};
        fplt_theory_parameters p = fplt_theory_defaults(&problem);
        p.epochs = 100000;
        for (p.accelerated = 0; p.accelerated < 2; p.accelerated++)
            assert_near(fplt_theory_quadratic_rate(&problem, &p).rate,
                        fplt__theory_splitting_contraction(&problem, p.rho), 1e-9);
    }
}

static void the_defaults_balance_the_curvatures(void **state)
{
    (void)state;
    fplt_theory_problem problem = {0.5, 8, 10, 5};
    fplt_theory_parameters p = fplt_theory_defaults(&problem);
    assert_close(p.rho, 0.5, 1e-15);
    assert_close(p.step, 2 / (8.5 + 4), 1e-15);
    /* no other rho makes splitting contract more */
    double best = fplt__theory_splitting_contraction(&problem, p.rho);
    for (double factor = 0.1; factor < 10; factor *= 1.01)
        assert_true(fplt__theory_splitting_contraction(&problem, p.rho * factor) >= best - 1e-15);
    problem.strong_convexity = -1; /* reckoned with as 8/10000 */
    assert_close(fplt_theory_defaults(&problem).rho, 1 / sqrt(8e-4 * 8), 1e-15);
}

/* Brute force over a dense grid of rho and steps. */
static double best_cost(const fplt_theory_problem *problem, const fplt__theory_prices *prices)
{
    double best = HUGE_VAL, middle = 1 / sqrt(problem->strong_convexity * problem->smoothness);
    double width = 0.5 * log10(problem->smoothness / problem->strong_convexity) + 0.5;
    fplt_theory_parameters p = fplt_theory_defaults(problem);
    p.epochs = prices->epochs;
    p.accelerated = prices->accelerated;
    for (int i = -40; i <= 40; i++) {
        for (int j = 10; j <= 40; j++) {
            p.rho = middle * pow(10, width * i / 40);
            p.step = j / 40.0 * fplt_theory_best_step(problem, p.rho);
            double rate = fplt_theory_quadratic_rate(problem, &p).rate;
            if (rate < 1)
                best = fmin(best, (p.epochs * prices->gradient + prices->communication) * log(10) /
                                      -log(rate));
        }
    }
    return best;
}

static void tuning_finds_what_brute_force_finds(void **state)
{
    (void)state;
    const double condition[] = {1.5, 4, 100, 1000, 5000};
    const uint32_t epochs[] = {1, 3, 10, 30};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 4; j++) {
            fplt_theory_problem problem = {0.2, 0.2 * condition[i], 10, 5};
            fplt__theory_prices prices = {1, 10, epochs[j], 0, (i + j) % 4 == 3};
            fplt__theory_tuned tuned;
            fplt_error error;
            assert_ok(fplt__theory_tune(&problem, &prices, &tuned, &error), error);
            assert_int_equal(tuned.epochs, epochs[j]);
            assert_true(tuned.cost_per_digit <=
                        best_cost(&problem, &prices) * (prices.accelerated ? 1.005 : 1.001));
            /* what is reported is what the parameters give */
            fplt_theory_parameters p = {tuned.rho, tuned.step, tuned.epochs, prices.accelerated, 1,
                                        1,         0};
            double rate = fplt_theory_quadratic_rate(&problem, &p).rate;
            assert_near(rate, tuned.rate, 1e-15);
            assert_close(tuned.cost_per_digit, (tuned.epochs + 10) * log(10) / -log(rate), 1e-12);
            assert_true(strlen(tuned.reasoning) + 1 < sizeof tuned.reasoning);
        }
    }
}

static void tuning_chooses_epochs_by_price(void **state)
{
    (void)state;
    fplt_theory_problem problem = {0.5, 20, 10, 5};
    const double communication[] = {0.1, 1, 10, 100};
    uint32_t before = 0;
    for (int i = 0; i < 4; i++) {
        fplt__theory_prices prices = {1, communication[i], 0, 60, 0};
        fplt__theory_tuned tuned, fixed;
        fplt_error error;
        clock_t start = clock();
        assert_ok(fplt__theory_tune(&problem, &prices, &tuned, &error), error);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        print_message("# communication %g: %u epochs, %.1f ms\n", communication[i], tuned.epochs,
                      1e3 * seconds);
        for (prices.epochs = 1; prices.epochs <= 60; prices.epochs++) {
            assert_ok(fplt__theory_tune(&problem, &prices, &fixed, &error), error);
            assert_true(tuned.cost_per_digit <= fixed.cost_per_digit * 1.005);
        }
        assert_true(tuned.epochs >= before); /* dearer rounds, more local work */
        before = tuned.epochs;
    }
    assert_true(before >= 5);
}

/* No theorem, but what the choice is for: costs that are not quadratic converge with the tuned
 * parameters, and in not more than three times the rounds that the rate predicts. */
static void tuned_parameters_serve_curved_costs(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(6, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 200; trial++) {
        struct federation f;
        draw_costs(&f, 5, 2, 1, 0.1, 0.1 * between(&stream, 1.5, 1000), &stream);
        fplt_theory_problem problem = problem_of(&f);
        fplt__theory_prices prices = {1, 10, 1 + (uint32_t)trial % 12, 0, trial % 5 == 0};
        fplt__theory_tuned tuned;
        fplt_error error;
        assert_ok(fplt__theory_tune(&problem, &prices, &tuned, &error), error);
        fplt_theory_parameters p = {tuned.rho, tuned.step, tuned.epochs, prices.accelerated, 1,
                                    1,         0};
        solve(&f, p.rho);
        start_anywhere(&f, &stream);
        double first = weighted_error(&f, 1);
        double predicted = log(1e-8) / log(tuned.rate);
        int round = 0;
        while (weighted_error(&f, 1) > 1e-8 * first && round < 3 * predicted + 50) {
            one_round(&f, &p, NULL, NULL);
            round++;
        }
        assert_true(weighted_error(&f, 1) <= 1e-8 * first);
    }
}

static void tuning_refuses_with_reasons(void **state)
{
    (void)state;
    fplt_theory_problem problem = {0.5, 20, 10, 5};
    fplt__theory_tuned tuned;
    fplt_error error;
    const fplt__theory_prices bad[] = {{NAN, 1, 5, 0, 0}, {1, -1, 5, 0, 0}, {0, 0, 5, 0, 0}};
    const char *const words[] = {"gradient", "communication", "free"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fplt__theory_tune(&problem, &bad[i], &tuned, &error), FPLT_BAD_VALUE);
        assert_contains(error.text, words[i]);
    }
    /* not strongly convex: reckoned with a floor, and said so */
    problem.strong_convexity = 0;
    fplt__theory_prices prices = {1, 10, 5, 0, 0};
    assert_ok(fplt__theory_tune(&problem, &prices, &tuned, &error), error);
    assert_close(tuned.strong_convexity, 2e-3, 1e-14);
    assert_contains(tuned.reasoning, "nothing is guaranteed");
    assert_true(strlen(tuned.reasoning) + 1 < sizeof tuned.reasoning);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identical_quadratics_have_exactly_this_rate),
        cmocka_unit_test(the_simulated_error_shrinks_by_the_rate),
        cmocka_unit_test(no_quadratic_is_slower),
        cmocka_unit_test(nor_is_any_with_a_nonlinear_h),
        cmocka_unit_test(the_worst_curvature_is_found),
        cmocka_unit_test(one_epoch_has_a_known_limit),
        cmocka_unit_test(many_epochs_give_the_rate_of_splitting),
        cmocka_unit_test(the_defaults_balance_the_curvatures),
        cmocka_unit_test(tuning_finds_what_brute_force_finds),
        cmocka_unit_test(tuning_chooses_epochs_by_price),
        cmocka_unit_test(tuned_parameters_serve_curved_costs),
        cmocka_unit_test(tuning_refuses_with_reasons),
    };
    return cmocka_run_group_tests_name("quadratic", tests, NULL, NULL);
}
