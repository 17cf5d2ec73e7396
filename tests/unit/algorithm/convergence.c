/* Exact methods reach the minimiser on unlike agents to ||sum grad f_i||^2 <= 1e-20 with their default
 * parameters, in about as many rounds as an independent implementation of the same rules took on
 * another data set of the same kind; biased ones stop where theory says. */
#include "problem.h"
#include "engine/engine_access.h"

enum { AGENTS = 20, N = 5 };

static uint64_t rounds_to(const problem *p, trial t)
{
    fplt_error error;
    fplt_result result;
    t.tolerance = 1e-20;
    t.rounds = t.rounds ? t.rounds : 5000;
    trial_start(&t, p);
    assert_ok(fplt_engine_run(t.engine, NULL, NULL, &result, &error), error);
    if (result.outcome != FPLT_CONVERGED)
        fail_msg("%s: %s", t.algorithm, result.sentence);
    /* the criterion, once more and independently, at the point where it was measured */
    row x, total = {0};
    assert_int_equal(fplt_engine_mean(t.engine, x), FPLT_OK);
    double square = 0;
    for (uint32_t i = 0; i < p->agents; i++) {
        row g;
        logistic_gradient(p, i, x, g);
        for (size_t j = 0; j < p->n; j++)
            total[j] += g[j];
    }
    for (size_t j = 0; j < p->n; j++)
        square += total[j] * total[j];
    assert_true(square <= 2e-20);
    uint64_t rounds = result.counters.rounds;
    trial_end(&t);
    return rounds;
}

/* Rounds that the other implementation took, and ours must be within a factor of 3 of that. */
static void expect_about(trial t, uint64_t rounds)
{
    problem p = problem_logistic(AGENTS, N, 50, 0.1, 1);
    uint64_t ours = rounds_to(&p, t);
    print_message("%s%s: %llu rounds, expected about %llu\n", t.algorithm,
                  t.count ? ", half active" : "", (unsigned long long)ours,
                  (unsigned long long)rounds);
    if (ours > 3 * rounds || 3 * ours < rounds)
        fail_msg("%s takes %llu rounds instead of about %llu", t.algorithm,
                 (unsigned long long)ours, (unsigned long long)rounds);
    problem_free(&p);
}

static void exact_methods_arrive(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 50, 0.1, 1);
    trial probe = {.algorithm = "fedlin"};
    trial_start(&probe, &p);
    double smoothness = fplt__engine_facts(probe.engine).curvature.highest;
    trial_end(&probe);
    problem_free(&p);
    expect_about((trial){.algorithm = "fed-plt"}, 49);
    expect_about((trial){.algorithm = "fedpd"}, 108);
    expect_about((trial){.algorithm = "fedlin", .step = 0.8 / smoothness}, 44);
    expect_about((trial){.algorithm = "fedlin"}, 4 * 44); /* a quarter of that step */
    expect_about((trial){.algorithm = "led"}, 90);
    expect_about((trial){.algorithm = "scaffnew"}, 91);
    expect_about((trial){.algorithm = "scaffold"}, 184);
    expect_about((trial){.algorithm = "tamuna"}, 90);
    expect_about((trial){.algorithm = "5gcs"}, 165);
}

static void exact_methods_arrive_with_half_active(void **state)
{
    (void)state;
    expect_about((trial){.algorithm = "fed-plt", .count = 10}, 108);
    expect_about((trial){.algorithm = "scaffold", .count = 10}, 188);
    expect_about((trial){.algorithm = "5gcs", .count = 10}, 136);
    expect_about((trial){.algorithm = "tamuna", .count = 10}, 141);
    expect_about((trial){.algorithm = "tamuna", .count = 10, .names = {"s"}, .values = {4}}, 395);
    expect_about((trial){.algorithm = "tamuna", .count = 10, .names = {"s"}, .values = {2}}, 1310);
}

static void scaffold_with_option_one_arrives(void **state)
{
    (void)state;
    expect_about((trial){.algorithm = "scaffold", .names = {"option"}, .values = {0}}, 184);
    expect_about((trial){.algorithm = "scaffold", .count = 10, .names = {"option"}, .values = {0}},
                 188);
}

/* Where an agent curves a hundred times more than the others an own step each would break the methods
 * that need a common one: they must arrive all the same. */
static void unlike_curvatures_do_not_matter(void **state)
{
    (void)state;
    enum { FEW = 4, ROWS = 12 };
    static const char *const names[] = {"fed-plt", "fedpd",    "fedlin",   "led",
                                        "tamuna",  "scaffnew", "scaffold", "5gcs"};
    double dense[FEW * ROWS * 2], label[FEW * ROWS];
    size_t share[FEW] = {ROWS, ROWS, ROWS, ROWS};
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int r = 0; r < FEW * ROWS; r++) {
        double scale = r < ROWS ? 6 : 0.6;
        dense[2 * r] = scale * fplt_stream_normal(&stream);
        dense[2 * r + 1] = scale * fplt_stream_normal(&stream);
        label[r] = fplt_stream_below(&stream, 2) ? 1 : -1;
    }
    fplt_rows rows = {.count = FEW * ROWS, .features = 2, .dense = dense, .label = label};
    fplt_error error;
    problem p = {.agents = FEW, .n = 2, .weight = 0.5};
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_BINARY, share, FEW, &p.data, &error), error);
    fplt_objective_settings cost = fplt_objective_defaults();
    assert_ok(fplt_objective_create(&cost, p.data, &p.objective, &error), error);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        rounds_to(&p, (trial){.algorithm = names[i], .rounds = 20000});
    problem_free(&p);
}

static void biased_methods_do_not_arrive(void **state)
{
    (void)state;
    static const char *const names[] = {"fedavg", "fedprox", "fedsplit"};
    problem p = problem_logistic(AGENTS, N, 50, 0.1, 1);
    for (size_t i = 0; i < 3; i++) {
        fplt_error error;
        fplt_result result;
        trial t = {.algorithm = names[i], .rounds = 3000};
        trial_start(&t, &p);
        assert_ok(fplt_engine_run(t.engine, NULL, NULL, &result, &error), error);
        print_message("%s: floor %.2g\n", names[i], result.end.criterion);
        assert_true(result.end.criterion > 1e-8 && result.end.criterion < 10);
        trial_end(&t);
    }
    problem_free(&p);
}

/* FedSplit's bias falls with the epochs as published tables of floors say: a factor of ten and more
 * for each doubling. */
static void more_epochs_lower_the_bias_of_fedsplit(void **state)
{
    (void)state;
    static const uint32_t epochs[] = {1, 2, 5, 10};
    problem p = problem_logistic(AGENTS, N, 50, 0.1, 1);
    double before = HUGE_VAL;
    for (int i = 0; i < 4; i++) {
        fplt_error error;
        fplt_measure measure;
        trial t = {.algorithm = "fedsplit", .epochs = epochs[i]};
        trial_start(&t, &p);
        for (int k = 0; k < 1000; k++)
            trial_round(&t);
        assert_ok(fplt_engine_measure(t.engine, &measure, &error), error);
        print_message("fedsplit, %u epochs: floor %.2g\n", epochs[i], measure.criterion);
        assert_true(measure.criterion < before / 5);
        before = measure.criterion;
        trial_end(&t);
    }
    problem_free(&p);
}

/* For quadratics an agent's Ne steps are the affine map w = M_i x + (I - M_i) m_i with
 * M_i = (I - gamma H_i)^Ne and m_i its minimiser, so the limit solves (I - mean M_i) x = mean (I - M_i)
 * m_i; with a pull towards x, M_i follows from the same recursion. */
static void limit_of_averaging(const problem *p, double gamma, double mu, uint32_t epochs,
                               double *x)
{
    row matrix[MAX_COORDINATES] = {{0}}, zero = {0};
    memset(x, 0, p->n * sizeof *x);
    for (uint32_t i = 0; i < p->agents; i++) {
        row h[MAX_COORDINATES], slope;
        library_hessian(p, i, zero, h);
        library_gradient(p, i, zero, slope); /* -b_i */
        for (size_t column = 0; column <= p->n; column++) {
            /* w(x) column by column: the last is the constant part */
            row w = {0}, origin = {0};
            if (column < p->n)
                w[column] = origin[column] = 1;
            for (uint32_t k = 0; k < epochs; k++) {
                row g;
                for (size_t j = 0; j < p->n; j++) {
                    g[j] = (column == p->n ? slope[j] : 0) + mu * (w[j] - origin[j]);
                    for (size_t l = 0; l < p->n; l++)
                        g[j] += h[j][l] * w[l];
                }
                for (size_t j = 0; j < p->n; j++)
                    w[j] -= gamma * g[j];
            }
            for (size_t j = 0; j < p->n; j++) {
                if (column == p->n)
                    x[j] += w[j] / p->agents;
                else
                    matrix[j][column] += ((j == column) - w[j]) / p->agents;
            }
        }
    }
    solve(matrix, x, p->n);
}

static void averaging_stops_at_its_fixed_point(void **state)
{
    (void)state;
    problem p = problem_quadratic(8, 6, 3);
    row best;
    minimiser(&p, best);
    static const char *const names[] = {"fedavg", "fedprox"};
    for (int i = 0; i < 2; i++) {
        row x, expected;
        trial t = {.algorithm = names[i]};
        trial_start(&t, &p);
        for (int k = 0; k < 3000; k++)
            trial_round(&t);
        assert_int_equal(fplt_engine_model(t.engine, x), FPLT_OK);
        double mu = i ? fplt__engine_parameters(t.engine)[0] : 0;
        limit_of_averaging(&p, fplt__engine_step(t.engine, 0), mu, 5, expected);
        assert_true(largest_difference(x, expected, p.n) <= 1e-12);
        assert_true(largest_difference(x, best, p.n) >= 1e-3);
        trial_end(&t);
    }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_methods_arrive),
        cmocka_unit_test(exact_methods_arrive_with_half_active),
        cmocka_unit_test(scaffold_with_option_one_arrives),
        cmocka_unit_test(unlike_curvatures_do_not_matter),
        cmocka_unit_test(biased_methods_do_not_arrive),
        cmocka_unit_test(more_epochs_lower_the_bias_of_fedsplit),
        cmocka_unit_test(averaging_stops_at_its_fixed_point),
    };
    return cmocka_run_group_tests_name("algorithm convergence", tests, NULL, NULL);
}
