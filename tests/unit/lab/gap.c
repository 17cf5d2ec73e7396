/* The distance to the limit, and the proved bound above it: Fed-PLT through the engine, on logistic
 * costs, with agents that are active with unequal probabilities. */
#include "problems.h"

#include "failing.h"
#include "fedplt/participation.h"
#include "fedplt/theory.h"
#include "fedplt/tune.h"
#include "lab/tuning/gap.h"
#include "theory/theory.h"

static void finds_the_minimiser(void **state)
{
    (void)state;
    static struct quadratics q;
    fplt_error error;
    fplt__gap *gap;
    double x[QUADRATIC_MAX];
    quadratics_make(&q, 6, 5, 0.5, 20, 3);
    quadratics_minimiser(&q, x);
    fplt_objective *objective = quadratics_objective(&q);
    assert_ok(fplt__gap_create(objective, NULL, 0.3, &gap, &error), error);
    /* agents that stand at the minimiser and have not moved */
    fplt_engine *engine;
    fplt_run_settings run = fplt_run_defaults();
    run.start = FPLT_START_GIVEN;
    run.given = x;
    assert_ok(fplt_engine_create(objective, &run, &engine, &error), error);
    assert_near(fplt__gap_measure(gap, engine, 0), 0, 1e-11);
    fplt_engine_destroy(engine);
    fplt__gap_destroy(gap);
    fplt_objective_destroy(objective);
}

/* With h: at the limit found, a run stays where it is. */
static void measures_zero_at_the_limit(void **state)
{
    (void)state;
    fplt_error error;
    fplt__gap *gap;
    fplt_prox *prox;
    fplt_result result;
    struct logistic_problem problem = logistic_make(5, 4, 40, 0.2, 1);
    fplt_prox_settings common = fplt_prox_defaults();
    common.name = "l1";
    common.weight = 0.2;
    assert_ok(fplt_prox_create(&common, 4, 4, &prox, &error), error);
    double parameter[FPLT_MAX_PARAMETERS] = {0.7};
    fplt_run_settings run = fplt_run_defaults();
    run.parameter = parameter;
    run.prox = prox;
    run.tolerance = 1e-26;
    assert_ok(fplt__gap_create(problem.objective, prox, 0.7, &gap, &error), error);
    fplt_engine *engine = engine_make(problem.objective, &run);
    assert_true(fplt__gap_measure(gap, engine, 1) > 0.1);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_true(fplt__gap_measure(gap, engine, 1) < 1e-11);
    /* the weight multiplies the part of z alone */
    double zero = fplt__gap_measure(gap, engine, 0), two = fplt__gap_measure(gap, engine, 2),
           one = fplt__gap_measure(gap, engine, 1);
    assert_close(two * two - zero * zero, 4 * (one * one - zero * zero), 1e-9);
    fplt_engine_destroy(engine);
    fplt__gap_destroy(gap);
    fplt_prox_destroy(prox);
    logistic_free(&problem);
}

static void survives_without_memory(void **state)
{
    (void)state;
    fplt_error error;
    fplt__gap *gap;
    struct logistic_problem problem = logistic_make(3, 2, 10, 0.5, 1);
    survives_failing_allocations(
        {
            status = fplt__gap_create(problem.objective, NULL, 1, &gap, &error);
            fplt__gap_destroy(gap);
        },
        10);
    logistic_free(&problem);
}

enum { RUNS = 24, SHOWN = 30 };

/* The mean error of the runs, round by round. */
static void mean_error(const struct logistic_problem *problem, const fplt_run_settings *settings,
                       const fplt__gap *gap, double weight, double *mean)
{
    fplt_error error;
    memset(mean, 0, (SHOWN + 1) * sizeof *mean);
    for (uint32_t number = 0; number < RUNS; number++) {
        fplt_run_settings run = *settings;
        run.run = number;
        fplt_engine *engine = engine_make(problem->objective, &run);
        for (int k = 0; k <= SHOWN; k++) {
            mean[k] += fplt__gap_measure(gap, engine, weight) / RUNS;
            if (k < SHOWN)
                assert_ok(fplt_engine_round(engine, &error), error);
        }
        fplt_engine_destroy(engine);
    }
}

/* One case; returns whether S is stable, so that there is something to check. */
static int stays_below(const struct logistic_problem *problem, fplt_curvature curvature,
                       double factor, uint32_t epochs, const fplt_participation *participation)
{
    enum { AGENTS = 5 };
    fplt_error error;
    fplt__gap *gap;
    fplt_theory_bound bound;
    double mean[SHOWN + 1];
    fplt_theory_problem theory = {curvature.lowest, curvature.highest, AGENTS, 3};
    fplt_theory_parameters parameters = fplt_theory_defaults(&theory);
    parameters.rho *= factor;
    parameters.step = fplt_theory_best_step(&theory, parameters.rho);
    parameters.epochs = epochs;
    parameters.participation_least = 0.4;
    parameters.participation_most = 1;
    assert_ok(fplt__theory_bound_make(&theory, &parameters, FPLT_BOUND_WEIGHTED, &bound, &error),
              error);
    if (!bound.holds)
        return 0;
    fplt_run_settings run = fplt_run_defaults();
    double given[FPLT_MAX_PARAMETERS] = {parameters.rho};
    run.parameter = given;
    run.training.step = parameters.step;
    run.training.epochs = epochs;
    run.participation = participation;
    run.threads = 1;
    assert_ok(fplt__gap_create(problem->objective, NULL, parameters.rho, &gap, &error), error);
    mean_error(problem, &run, gap, bound.weight, mean);
    for (uint64_t k = 0; k <= SHOWN; k++) {
        double limit = fplt_theory_bound_at(&bound, mean[0], k);
        if (!(mean[k] <= limit * (1 + 1e-12) + 1e-9 * (1 + bound.weight)))
            fail_msg("rho x %g, %u epochs, round %llu: mean error %g above the bound %g", factor,
                     epochs, (unsigned long long)k, mean[k], limit);
    }
    fplt__gap_destroy(gap);
    return 1;
}

static void the_bound_holds_through_the_engine(void **state)
{
    (void)state;
    static const double ridges[] = {0.5, 0.1}, factors[] = {0.3, 1, 3};
    static const uint32_t epochs[] = {3, 6, 12, 30, 60};
    static const double shares[] = {0.4, 0.5, 0.7, 0.9, 1};
    fplt_error error;
    fplt_participation *participation;
    fplt_participation_settings unequal = {.rule = "bernoulli", .probabilities = shares};
    int checked = 0;
    assert_ok(fplt_participation_create(&unequal, 5, &participation, &error), error);
    for (int r = 0; r < 2; r++) {
        struct logistic_problem problem = logistic_make(5, 3, 30, ridges[r], 7);
        fplt_curvature all = {HUGE_VAL, 0}, own;
        for (uint32_t i = 0; i < 5; i++) {
            assert_ok(fplt_objective_curvature(problem.objective, i, 0, &own, &error), error);
            all.lowest = fmin(all.lowest, own.lowest);
            all.highest = fmax(all.highest, own.highest);
        }
        for (int f = 0; f < 3; f++)
            for (int e = 0; e < 5; e++)
                checked += stays_below(&problem, all, factors[f], epochs[e], participation);
        logistic_free(&problem);
    }
    fplt_participation_destroy(participation);
    print_message("# %d cases\n", checked);
    assert_true(checked >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_minimiser),
        cmocka_unit_test(measures_zero_at_the_limit),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(the_bound_holds_through_the_engine),
    };
    return cmocka_run_group_tests_name("gap", tests, NULL, NULL);
}
