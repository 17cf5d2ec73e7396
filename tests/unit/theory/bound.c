/* The guaranteed error against simulated Fed-PLT: every round, full and partial participation,
 * quadratic and other costs, with h and with noise. */
#include "base/random.h"
#include "theory/simulation.h"
#include "theory/theory.h"

enum { AGENTS = 4, DIMENSION = 2 };

struct trial {
    double condition, rho_share, step_share;
    int extra_epochs, curved, accelerated;
    double absolute;
};

/* Parameters for which the corrected S is stable: the least epochs that make it so, or a few more.
 * rho is a share of 1/sqrt(lmin lmax). */
static const struct trial trials[] = {
    {1.2, 1, 1, 0, 0, 0, 0},   {1.2, 0.3, 0.7, 1, 1, 0, 0}, {1.5, 1, 1, 0, 1, 0, 0.5},
    {1.5, 3, 0.9, 2, 0, 0, 0}, {2, 1, 1, 0, 0, 0, 0},       {2, 0.2, 1, 0, 1, 0, 0},
    {2, 5, 0.5, 0, 0, 0, 2},   {3, 1, 1.03, 3, 1, 0, 0},    {3, 0.5, 0.8, 0, 0, 0, 0},
    {4, 1, 1, 0, 0, 0, 0},     {4, 2, 1, 5, 1, 0, 1},       {4, 0.25, 0.6, 0, 0, 0, 0},
    {6, 1, 1, 0, 1, 0, 0},     {6, 1.5, 0.9, 0, 0, 0, 0},   {10, 1, 1, 0, 0, 0, 0},
    {10, 0.5, 1, 4, 1, 0, 0},  {10, 2, 0.95, 0, 0, 0, 1},   {16, 1, 1, 0, 1, 0, 0},
    {20, 1, 1, 0, 0, 0, 0},    {20, 3, 1, 10, 0, 0, 0},     {30, 1, 1, 0, 1, 0, 0.2},
    {50, 1, 1, 20, 0, 0, 0},   {2, 1, 1, 0, 0, 1, 0},       {4, 0.5, 1, 0, 1, 1, 0},
    {10, 1, 1, 2, 0, 1, 0.5},  {30, 1, 1, 0, 1, 1, 0},
};
enum { TRIALS = sizeof trials / sizeof *trials };

static fplt_theory_parameters set_up(const struct trial *trial, struct federation *f,
                                     fplt_stream *stream)
{
    double low = exp(fplt_stream_normal(stream));
    draw_costs(f, AGENTS, DIMENSION, trial->curved, low, low * trial->condition, stream);
    f->absolute = trial->absolute;
    fplt_theory_problem problem = problem_of(f);
    fplt_theory_parameters p = fplt_theory_defaults(&problem);
    p.rho *= trial->rho_share;
    p.step = trial->step_share * fplt_theory_best_step(&problem, p.rho);
    p.accelerated = trial->accelerated;
    p.epochs = fplt__theory_least_epochs(&problem, &p, FPLT_BOUND_WEIGHTED);
    assert_true(p.epochs > 0);
    p.epochs += (uint32_t)trial->extra_epochs;
    solve(f, p.rho);
    start_anywhere(f, stream);
    return p;
}

static fplt_theory_bound bound_of(const struct federation *f, const fplt_theory_parameters *p,
                                  fplt__theory_norm norm)
{
    fplt_theory_problem problem = problem_of(f);
    fplt_theory_bound bound;
    fplt_error error;
    assert_ok(fplt__theory_bound_make(&problem, p, norm, &bound, &error), error);
    return bound;
}

/* With all agents active nothing is random: S bounds every round entry by entry, and the weighted
 * error shrinks in every round. */
static void every_round_obeys_the_corrected_matrix(void **state)
{
    (void)state;
    for (int t = 0; t < TRIALS; t++) {
        for (unsigned repeat = 0; repeat < 10; repeat++) {
            fplt_stream stream = fplt_stream_make(1, repeat, FPLT_FOR_TEST, 0, (uint64_t)t, 0);
            struct federation f;
            fplt_theory_parameters p = set_up(&trials[t], &f, &stream);
            fplt_theory_problem problem = problem_of(&f);
            fplt_theory_matrix s = fplt__theory_matrix_make(&problem, &p, FPLT_THEORY_CORRECTED);
            fplt_theory_bound bound = bound_of(&f, &p, FPLT_BOUND_WEIGHTED);
            assert_true(s.radius < 1 && bound.holds);
            assert_close(bound.contraction, s.radius, 1e-12);
            double x, z, floor;
            errors_of(&f, &x, &z);
            floor = 1e-9 * (x + z);
            double first = hypot(x, bound.weight * z);
            for (uint64_t round = 1; round <= 100 && x + z > floor; round++) {
                double was_x = x, was_z = z;
                one_round(&f, &p, NULL, NULL);
                errors_of(&f, &x, &z);
                double slack = 1 + 1e-6;
                assert_true(x <= slack * (s.entry[0][0] * was_x + s.entry[0][1] * was_z));
                assert_true(z <= slack * (s.entry[1][0] * was_x + s.entry[1][1] * was_z));
                double now = hypot(x, bound.weight * z);
                assert_true(now <= slack * bound.contraction * hypot(was_x, bound.weight * was_z));
                assert_true(now <= slack * fplt_theory_bound_at(&bound, first, round));
            }
        }
    }
}

/* How the agents take part: independently with their own probability, or so many of them drawn
 * without replacement. */
struct rule {
    double probability[AGENTS];
    unsigned cohort;
};

static const struct rule rules[] = {
    {{1, 1, 1, 1}, 0},    {{0.5, 0.5, 0.5, 0.5}, 0}, {{0.3, 0.9, 0.6, 0.9}, 0},
    {{0.05, 1, 1, 1}, 0}, {{0.5, 0.5, 0.5, 0.5}, 2}, {{0.25, 0.25, 0.25, 0.25}, 1},
};
enum { RULES = sizeof rules / sizeof *rules };

static void draw_active(const struct rule *rule, fplt_stream *stream, int *active)
{
    uint32_t chosen[AGENTS];
    memset(active, 0, sizeof *active * AGENTS);
    if (rule->cohort)
        fplt__stream_choose(stream, rule->cohort, AGENTS, chosen);
    for (unsigned i = 0; i < rule->cohort; i++)
        active[chosen[i]] = 1;
    for (int i = 0; i < AGENTS && !rule->cohort; i++)
        active[i] = fplt_stream_uniform(stream) < rule->probability[i];
}

static void set_participation(const struct rule *rule, fplt_theory_parameters *p)
{
    p->participation_least = 1;
    p->participation_most = 0;
    for (int i = 0; i < AGENTS; i++) {
        p->participation_least = fmin(p->participation_least, rule->probability[i]);
        p->participation_most = fmax(p->participation_most, rule->probability[i]);
    }
}

enum { ROUNDS = 30, RUNS = 300 };

/* Errors in the bound's norm after every round: mean over runs, and the mean's own deviation. */
struct course {
    double mean[ROUNDS + 1], deviation[ROUNDS + 1];
};

static void simulate(const struct federation *start, const fplt_theory_parameters *p,
                     const struct rule *rule, double weight, struct course *course)
{
    double sum[ROUNDS + 1] = {0}, squares[ROUNDS + 1] = {0};
    for (unsigned run = 0; run < RUNS; run++) {
        fplt_stream stream = fplt_stream_make(77, run, FPLT_FOR_TEST, 0, 0, 0);
        struct federation f = *start;
        int active[AGENTS];
        for (int round = 0; round <= ROUNDS; round++) {
            double now = weighted_error(&f, weight);
            sum[round] += now;
            squares[round] += now * now;
            draw_active(rule, &stream, active);
            one_round(&f, p, active, &stream);
        }
    }
    for (int round = 0; round <= ROUNDS; round++) {
        double mean = sum[round] / RUNS, variance = squares[round] / RUNS - mean * mean;
        course->mean[round] = mean;
        course->deviation[round] = sqrt(fmax(variance, 0) / (RUNS - 1));
    }
}

/* The bound is on an expectation; the mean of finitely many runs may lie above that by chance, so
 * four of its own deviations are allowed. */
static void check_below(const struct course *course, const fplt_theory_bound *bound)
{
    double first = course->mean[0];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        double limit = fplt_theory_bound_at(bound, first, round);
        double least = course->mean[round] - 4 * course->deviation[round];
        if (limit > 1e-9 * first && !(least <= limit * (1 + 1e-6)))
            fail_msg("round %d: mean error %g, surely above %g, exceeds the bound %g", (int)round,
                     course->mean[round], least, limit);
    }
}

static void mean_error_stays_below_the_bound(void **state)
{
    (void)state;
    int plain = 0;
    struct course course;
    for (int t = 0; t < TRIALS; t++) {
        for (int r = 0; r < RULES; r++) {
            fplt_stream stream = fplt_stream_make(2, (uint32_t)r, FPLT_FOR_TEST, 0, (uint64_t)t, 0);
            struct federation f;
            fplt_theory_parameters p = set_up(&trials[t], &f, &stream);
            set_participation(&rules[r], &p);
            fplt_theory_bound bound = bound_of(&f, &p, FPLT_BOUND_WEIGHTED);
            assert_true(bound.holds);
            simulate(&f, &p, &rules[r], bound.weight, &course);
            check_below(&course, &bound);
            bound = bound_of(&f, &p, FPLT_BOUND_PLAIN);
            if (!bound.holds)
                continue;
            plain++;
            simulate(&f, &p, &rules[r], 1, &course);
            check_below(&course, &bound);
        }
    }
    assert_true(plain > 20);
}

/* The participation lemma is sharp where one agent errs alone: a fixed point but for an agent that
 * seldom takes part. One round leaves E|e_1| >= (1 - p)|e_0|, so a rate computed
 * from the mean participation would be violated. */
static void the_least_participation_rules(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    struct federation f;
    fplt_theory_parameters p = set_up(&trials[0], &f, &stream);
    const struct rule rule = {{0.05, 1, 1, 1}, 0};
    set_participation(&rule, &p);
    for (int i = 0; i < AGENTS; i++)
        for (int j = 0; j < DIMENSION; j++) {
            f.x[i][j] = f.solution[j] + (i == 0);
            f.z[i][j] = f.z_solution[i][j];
        }
    fplt_theory_bound bound = bound_of(&f, &p, FPLT_BOUND_WEIGHTED);
    struct course course;
    simulate(&f, &p, &rule, bound.weight, &course);
    assert_true(course.mean[1] > 0.92 * course.mean[0]);
    check_below(&course, &bound);
    assert_close(bound.rate, sqrt(0.95 + 0.05 * bound.contraction * bound.contraction), 1e-14);
    assert_close(bound.start_factor, sqrt(20), 1e-14);
    const double average = (0.05 + 3) / 4;
    double hasty = sqrt(1 - average + average * bound.contraction * bound.contraction);
    assert_true(course.mean[ROUNDS] > sqrt(20) * pow(hasty, ROUNDS) * course.mean[0]);
}

/* From the fixed point, one noisy round errs by `noise` in mean: nearly equal where every curvature
 * is the worst one, never more. */
static void noise_of_a_round_is_sharp(void **state)
{
    (void)state;
    const uint32_t epochs[] = {1, 2, 5, 20};
    for (int e = 0; e < 4; e++) {
        struct federation f = {.agents = 8, .dimension = 4, .low = 1, .high = 3};
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 4; j++)
                f.hessian[i][j][j] = 1;
        fplt_theory_problem problem = problem_of(&f);
        fplt_theory_parameters p = fplt_theory_defaults(&problem);
        p.epochs = epochs[e];
        p.noise_tau = 0.7;
        solve(&f, p.rho);
        fplt_theory_bound weighted = bound_of(&f, &p, FPLT_BOUND_WEIGHTED);
        fplt_theory_bound plain = bound_of(&f, &p, FPLT_BOUND_PLAIN);
        fplt_theory_bound printed = bound_of(&f, &p, FPLT_BOUND_PRINTED);
        double mean_weighted = 0, mean_plain = 0;
        enum { DRAWS = 4000 };
        for (uint32_t run = 0; run < DRAWS; run++) {
            fplt_stream stream = fplt_stream_make(4, run, FPLT_FOR_TEST, 0, 0, 0);
            struct federation g = f;
            for (int i = 0; i < 8; i++) {
                memcpy(g.x[i], f.solution, sizeof g.x[i]);
                memcpy(g.z[i], f.z_solution[i], sizeof g.z[i]);
            }
            one_round(&g, &p, NULL, &stream);
            mean_weighted += weighted_error(&g, weighted.weight) / DRAWS;
            mean_plain += weighted_error(&g, 1) / DRAWS;
        }
        assert_true(mean_weighted <= weighted.noise && mean_weighted > 0.98 * weighted.noise);
        assert_true(mean_plain <= plain.noise && mean_plain > 0.98 * plain.noise);
        assert_true(plain.noise <= printed.noise * (1 + 1e-14));
        double chi = fplt__theory_step_contraction(&problem, p.rho, p.step);
        assert_close(printed.noise,
                     0.7 * sqrt(10 * 32 * p.step) * (1 - pow(chi, epochs[e])) / (1 - chi), 1e-12);
    }
}

static void noisy_error_stays_below_the_bound(void **state)
{
    (void)state;
    struct course course;
    for (int t = 0; t < TRIALS; t++) {
        if (trials[t].accelerated)
            continue;
        for (int r = 0; r < RULES; r += 2) {
            fplt_stream stream = fplt_stream_make(5, (uint32_t)r, FPLT_FOR_TEST, 0, (uint64_t)t, 0);
            struct federation f;
            fplt_theory_parameters p = set_up(&trials[t], &f, &stream);
            set_participation(&rules[r], &p);
            p.noise_tau = 0.3;
            fplt_theory_bound bound = bound_of(&f, &p, FPLT_BOUND_WEIGHTED);
            assert_true(bound.holds && bound.noise > 0);
            simulate(&f, &p, &rules[r], bound.weight, &course);
            check_below(&course, &bound);
            assert_true(fplt_theory_bound_at(&bound, 0, 1000000) <=
                        fplt__theory_bound_radius(&bound) * (1 + 1e-9));
        }
    }
}

/* The bound written out as the paper writes it. */
static void formulas_as_written(void **state)
{
    (void)state;
    fplt_theory_problem problem = {1, 1.5, 7, 3};
    fplt_theory_parameters p = {1, 0.44, 8, 0, 0.4, 0.8, 0.2};
    fplt_theory_bound b;
    fplt_error error;
    assert_ok(fplt__theory_bound_make(&problem, &p, FPLT_BOUND_PRINTED, &b, &error), error);
    assert_true(b.holds);
    double c = b.contraction, sigma = sqrt(1 - 0.4 + 0.4 * c * c);
    for (uint64_t k = 0; k < 20; k++) {
        double expected = sqrt(2) * (pow(sigma, (double)k) * 3 +
                                     (1 - pow(sigma, (double)k)) / (1 - sigma) * b.noise);
        assert_close(fplt_theory_bound_at(&b, 3, k), expected, 1e-12);
    }
    assert_close(fplt__theory_bound_radius(&b), sqrt(2) * b.noise / (1 - sigma), 1e-12);
    assert_ok(fplt__theory_bound_make(&problem, &p, FPLT_BOUND_WEIGHTED, &b, &error), error);
    assert_close(b.noise_factor, sqrt(0.8), 1e-14);
    assert_true(b.weight != 1);
}

static void no_bound_is_infinite(void **state)
{
    (void)state;
    fplt_theory_bound none = {0, 2, 1, 1.5, 1, 1, 0};
    assert_true(fplt_theory_bound_at(&none, 1, 3) == HUGE_VAL);
}

static void least_epochs_is_the_least(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(7, 0, FPLT_FOR_TEST, 0, 0, 0);
    int found = 0, none = 0;
    for (int trial = 0; trial < 300; trial++) {
        fplt_theory_problem problem = {1, exp(5 * fplt_stream_uniform(&stream)), 4, 4};
        fplt_theory_parameters p = fplt_theory_defaults(&problem);
        p.accelerated = trial % 4 == 0;
        p.rho *= exp(2 * fplt_stream_normal(&stream));
        p.step = fplt_theory_best_step(&problem, p.rho);
        fplt__theory_norm norm = (fplt__theory_norm)(trial % 3);
        uint32_t least = fplt__theory_least_epochs(&problem, &p, norm), by_hand = 0;
        fplt_theory_bound b;
        for (p.epochs = 1; p.epochs <= 20000 && !by_hand; p.epochs++)
            if (!fplt__theory_bound_make(&problem, &p, norm, &b, NULL) && b.holds)
                by_hand = p.epochs;
        assert_int_equal(least, by_hand);
        found += least > 0;
        none += least == 0;
    }
    assert_true(found > 100 && none > 20);
}

static void illegal_numbers_are_refused_by_name(void **state)
{
    (void)state;
    const fplt_theory_problem good = {1, 2, 3, 4};
    const fplt_theory_parameters fine = fplt_theory_defaults(&good);
    const fplt_theory_problem bad_problems[] = {{1, NAN, 3, 4}, {1, -1, 3, 4}, {3, 2, 3, 4},
                                                {NAN, 2, 3, 4}, {1, 2, 0, 4},  {1, 2, 3, 0}};
    const char *const problem_words[] = {"smoothness",       "smoothness", "strong_convexity",
                                         "strong_convexity", "agents",     "dimension"};
    fplt_error error;
    fplt_theory_bound bound;
    fplt_theory_verdict verdict;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(fplt__theory_bound_make(&bad_problems[i], &fine, FPLT_BOUND_PLAIN, &bound,
                                                 &error),
                         FPLT_BAD_VALUE);
        assert_contains(error.text, problem_words[i]);
    }
    const struct {
        fplt_theory_parameters parameters;
        const char *word;
    } bad[] = {
        {{0, 1, 1, 0, 1, 1, 0}, "rho"},
        {{HUGE_VAL, 1, 1, 0, 1, 1, 0}, "rho"},
        {{1, NAN, 1, 0, 1, 1, 0}, "step"},
        {{1, -1, 1, 0, 1, 1, 0}, "step"},
        {{1, 1, 0, 0, 1, 1, 0}, "epochs"},
        {{1, 1, 1, 0, 0, 1, 0}, "participation_least"},
        {{1, 1, 1, 0, 0.5, 0.4, 0}, "participation_most"},
        {{1, 1, 1, 0, 0.5, NAN, 0}, "participation_most"},
        {{1, 1, 1, 0, 1, 1, -1}, "noise_tau"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fplt_theory_judge(&good, &bad[i].parameters, &verdict, &error),
                         FPLT_BAD_VALUE);
        assert_contains(error.text, bad[i].word);
    }
    assert_int_equal(fplt_theory_check(&good, &fine, NULL), FPLT_OK);
    assert_int_equal(fplt_theory_check(&bad_problems[0], NULL, NULL), FPLT_BAD_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_round_obeys_the_corrected_matrix),
        cmocka_unit_test(mean_error_stays_below_the_bound),
        cmocka_unit_test(the_least_participation_rules),
        cmocka_unit_test(noise_of_a_round_is_sharp),
        cmocka_unit_test(noisy_error_stays_below_the_bound),
        cmocka_unit_test(formulas_as_written),
        cmocka_unit_test(no_bound_is_infinite),
        cmocka_unit_test(least_epochs_is_the_least),
        cmocka_unit_test(illegal_numbers_are_refused_by_name),
    };
    return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
