/* The forms of the coordinator's methods in which absent agents count by what they sent last: with every agent active they
 * are the methods that need all; with some they arrive at the minimiser of an independent Newton iteration, also where the
 * first steps overshoot. */
#include "problem.h"
#include "algorithm/local_step.h"
#include "engine/engine_access.h"

enum { AGENTS = 9, N = 6 };

static const char *const methods[] = {"fed-newton-partial", "fed-lbfgs-partial"};
static const char *const whole[] = {"fed-newton", "fed-lbfgs"};
enum { METHODS = sizeof methods / sizeof *methods };

static void with_all_active_they_are_the_methods_that_need_all(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.1, 5);
    for (int m = 0; m < METHODS; m++) {
        trial some = {.algorithm = methods[m]}, all = {.algorithm = whole[m]};
        trial_start(&some, &p);
        trial_start(&all, &p);
        for (int k = 0; k < 12; k++) {
            row a, b;
            trial_round(&some);
            if (m == 0 ||
                k) /* fed-lbfgs-partial hands out points that were evaluated: one round later */
                trial_round(&all);
            assert_int_equal(fplt_engine_model(some.engine, a), FPLT_OK);
            assert_int_equal(fplt_engine_model(all.engine, b), FPLT_OK);
            if (m == 0 || k >= 2)
                assert_true(largest_difference(a, b, N) <= 1e-10 * fmax(largest(b, N), 0.1));
        }
        trial_end(&some);
        trial_end(&all);
    }
    problem_free(&p);
}

/* Runs from `start` with `count` active; rounds until the model is the minimiser. */
static uint64_t arrives(const fplt_objective *objective, const char *name, const char *rule,
                        uint32_t count, const double *start, const double *expected)
{
    fplt_error error;
    fplt_engine *engine;
    fplt_result result;
    row x;
    fplt_participation *participation;
    fplt_participation_settings some = {.rule = rule, .count = count};
    size_t n = fplt_objective_dimension(objective);
    fplt_run_settings run = fplt_run_defaults();
    assert_ok(fplt_participation_create(&some, fplt_objective_agents(objective), &participation,
                                        &error),
              error);
    run.algorithm = fplt_algorithm_find(name);
    run.participation = participation;
    run.tolerance = 1e-18;
    run.at_model = 1;
    run.rounds = 5000;
    run.evaluate_every = 1;
    run.start = start ? FPLT_START_GIVEN : FPLT_START_ZERO;
    run.given = start;
    assert_ok(fplt_engine_create(objective, &run, &engine, &error), error);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_int_equal(fplt_engine_model(engine, x), FPLT_OK);
    double away = largest_difference(x, expected, n);
    if (result.outcome != FPLT_CONVERGED || !(away <= 1e-8 * fmax(largest(expected, n), 1)))
        fail_msg("%s with %u active is %g away: %s", name, count, away, result.sentence);
    fplt_engine_destroy(engine);
    fplt_participation_destroy(participation);
    return result.counters.rounds;
}

static void they_arrive_whoever_is_active(void **state)
{
    (void)state;
    static const char *const rules[] = {"fixed", "round-robin"};
    problem p = problem_logistic(AGENTS, N, 30, 0.01, 5);
    row expected;
    minimiser(&p, expected);
    for (size_t r = 0; r < 2; r++)
        for (uint32_t count = 1; count <= AGENTS; count += 4) {
            uint64_t newton = arrives(p.objective, methods[0], rules[r], count, NULL, expected);
            uint64_t lbfgs = arrives(p.objective, methods[1], rules[r], count, NULL, expected);
            print_message("# %s, %u of %d: newton %llu, lbfgs %llu rounds\n", rules[r], count,
                          AGENTS, (unsigned long long)newton, (unsigned long long)lbfgs);
            assert_true(newton <= 10 + 6 * AGENTS / count * (r ? 1 : 4));
            assert_true(lbfgs > newton);
        }
    problem_free(&p);
}

/* Newton's plain iteration flies away from here (descent.c shows it): points are held and steps shortened. */
static void a_far_start_does_not_matter(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 1e-3, 5);
    row expected, start;
    minimiser(&p, expected);
    for (int j = 0; j < N; j++)
        start[j] = j % 2 ? 8 : -8;
    for (int m = 0; m < METHODS; m++)
        for (uint32_t count = 2; count <= AGENTS; count += 3)
            print_message("# %s: %llu rounds from afar with %u active\n", methods[m],
                          (unsigned long long)arrives(p.objective, methods[m], "fixed", count,
                                                      start, expected),
                          count);
    problem_free(&p);
}

static void an_overshooting_step_is_shortened(void **state)
{
    (void)state;
    fplt_objective *objective = steep_objective();
    double expected = log(301);
    for (int m = 0; m < METHODS; m++)
        for (uint32_t count = 1; count <= 3; count++)
            print_message("# %s: %llu rounds with %u of 3 active\n", methods[m],
                          (unsigned long long)arrives(objective, methods[m], "fixed", count, NULL,
                                                      &expected),
                          count);
    fplt_objective_destroy(objective);
}

/* The coordinator's sums are those of the agents' own vectors, bit for bit, whatever happened. */
static void running_sums_stay_exact(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.1, 5);
    for (int m = 0; m < METHODS; m++) {
        trial t = {.algorithm = methods[m], .count = 4};
        trial_start(&t, &p);
        for (int k = 0; k < 60; k++) {
            trial_round(&t);
            assert_true(fplt__engine_consistent(t.engine));
        }
        trial_end(&t);
    }
    problem_free(&p);
}

static void too_many_models_are_refused(void **state)
{
    (void)state;
    fplt_error error;
    double none[FPLT_MAX_PARAMETERS] = {0};
    fplt_facts facts = {.curvature = {1, 1}, .agents = 2000, .cohort = 1000, .dimension = 900};
    const fplt_algorithm *newton = fplt_algorithm_find(methods[0]);
    assert_int_equal(fplt__algorithm_resolve(newton, &facts, none, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "2000 agents and n = 900");
    assert_contains(error.text, "fed-lbfgs-partial");
    facts.agents = 1000;
    assert_ok(fplt__algorithm_resolve(newton, &facts, none, &error), error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_all_active_they_are_the_methods_that_need_all),
        cmocka_unit_test(they_arrive_whoever_is_active),
        cmocka_unit_test(a_far_start_does_not_matter),
        cmocka_unit_test(an_overshooting_step_is_shortened),
        cmocka_unit_test(running_sums_stay_exact),
        cmocka_unit_test(too_many_models_are_refused),
    };
    return cmocka_run_group_tests_name("algorithm partial", tests, NULL, NULL);
}
