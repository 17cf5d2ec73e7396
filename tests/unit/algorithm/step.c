/* The one home of rho and gamma: what each solver's step is, where it stops contracting, and that it
 * is the step which is taken. */
#include "problems.h"
#include "algorithm/local_step.h"
#include "engine/engine_access.h"
#include "solver/solver.h"
#include "theory/theory.h"

enum { AGENTS = 5, N = 4 };

static const char *const stepless[] = {"lbfgs", "newton"};
static const char *const accelerated[] = {"accelerated", "noisy-accelerated", "accelerated-sgd"};

static fplt_engine *engine_of(const fplt_objective *objective, const char *algorithm,
                              const char *solver)
{
    fplt_run_settings settings = fplt_run_defaults();
    settings.algorithm = fplt_algorithm_find(algorithm);
    settings.training.solver = fplt_solver_find(solver);
    return engine_make(objective, &settings);
}

static void accelerated_solvers_take_their_own_step(void **state)
{
    (void)state;
    struct logistic_problem p = logistic_make(AGENTS, N, 30, 0.2, 3);
    for (size_t m = 0; fplt_algorithm_list(m); m++) {
        const fplt_algorithm *a = fplt_algorithm_list(m);
        if (!(a->allows & FPLT_ALLOWS_MINIMISER) || a->allows & FPLT_NEEDS_CERTAINTY)
            continue;
        for (size_t s = 0; s < sizeof accelerated / sizeof *accelerated; s++) {
            fplt_engine *engine = engine_of(p.objective, a->name, accelerated[s]);
            fplt_facts facts = fplt__engine_facts(engine);
            double pull = fplt__algorithm_pull(a, &facts, fplt__engine_parameters(engine));
            for (uint32_t i = 0; i < AGENTS; i++) {
                fplt_curvature own;
                fplt_error error;
                assert_ok(fplt_objective_curvature(p.objective, i, 0, &own, &error), error);
                assert_close(fplt__engine_step(engine, i), 1 / (own.highest + pull), 1e-15);
            }
            fplt_engine_destroy(engine);
        }
    }
    logistic_free(&p);
}

/* FedLin with momentum: along a constant gradient Ne steps move by no more than 1/lmax of it. */
static void momentum_that_all_agents_share_is_bounded(void **state)
{
    (void)state;
    const fplt_algorithm *fedlin = fplt_algorithm_find("fedlin");
    for (size_t s = 0; s < sizeof accelerated / sizeof *accelerated; s++)
        for (uint32_t epochs = 1; epochs < 40; epochs++) {
            const fplt_solver *solver = fplt_solver_find(accelerated[s]);
            fplt_facts facts = {.curvature = {0.1, 7}, .agents = 3, .cohort = 3, .epochs = epochs};
            double step = fplt__algorithm_step(fedlin, solver, &facts, NULL).automatic;
            double w = 0, u = 0;
            for (uint32_t k = 0; k < epochs; k++) {
                double next = w - step;
                w = next + (next - u);
                u = next;
            }
            assert_near(w, -1 / 7.0, 1e-15);
            assert_true(fplt_algorithm_shares_step(fedlin, solver));
        }
}

static void solvers_without_a_step_have_none(void **state)
{
    (void)state;
    struct logistic_problem p = logistic_make(AGENTS, N, 30, 0.2, 3);
    for (size_t s = 0; s < 2; s++) {
        const fplt_solver *solver = fplt_solver_find(stepless[s]);
        assert_false(fplt__solver_has_step(solver));
        for (size_t m = 0; fplt_algorithm_list(m); m++) {
            const fplt_algorithm *a = fplt_algorithm_list(m);
            assert_null(fplt__algorithm_step_rule(a, solver));
            assert_false(fplt_algorithm_shares_step(a, solver));
            if (!(a->allows & FPLT_ALLOWS_MINIMISER))
                continue;
            fplt_engine *engine = engine_of(p.objective, a->name, stepless[s]);
            for (uint32_t i = 0; i < AGENTS; i++)
                assert_true(isnan(fplt__engine_step(engine, i)));
            fplt_engine_destroy(engine);
        }
    }
    logistic_free(&p);
}

/* How far the solver is from the minimiser 0 of d on one coordinate after many steps; f is a
 * quadratic of that curvature, while the solver believes in `believed`. */
static double distance_after(const fplt_solver *solver, double curvature, fplt_curvature believed,
                             double inverse_rho, double step)
{
    struct quadratics q = {.agents = 1, .n = 1, .a = {{{curvature}}}};
    fplt_objective *objective = quadratics_objective(&q);
    fplt_local local = {.problem = {.objective = objective, .inverse_rho = inverse_rho},
                        .training = {.solver = solver, .epochs = 4000, .step = step},
                        .step = step,
                        .curvature = believed};
    local.scratch =
        aligned_alloc(64, (fplt__local_scratch(objective, &local.training) + 8) / 8 * 64);
    double w = 1;
    fplt_error error;
    fplt_status status = fplt__local_run(&local, &w, &error);
    free(local.scratch);
    fplt_objective_destroy(objective);
    return status ? HUGE_VAL : fabs(w);
}

static void a_step_contracts_below_its_limit_only(void **state)
{
    (void)state;
    static const char *const names[] = {"gradient", "accelerated"};
    const fplt_algorithm *a = fplt_algorithm_find("fed-plt");
    for (size_t s = 0; s < 2; s++) {
        const fplt_solver *solver = fplt_solver_find(names[s]);
        for (double lowest = 0.01; lowest < 4; lowest *= 6)
            for (double rho = 0.1; rho < 20; rho *= 5) {
                fplt_facts facts = {.curvature = {lowest, 4}};
                fplt_step step = fplt__algorithm_step(a, solver, &facts, &rho);
                assert_true(step.automatic < step.limit);
                assert_true(distance_after(solver, 4, facts.curvature, 1 / rho, 0.99 * step.limit) <
                            1e-6);
                assert_true(distance_after(solver, 4, facts.curvature, 1 / rho, 1.01 * step.limit) >
                            1e6);
            }
    }
}

/* rho by exhaustive search on the factor of exact splitting; the floor; costs that are not convex. */
static void the_automatic_penalty_has_one_home(void **state)
{
    (void)state;
    for (double lowest = 1e-3; lowest < 2; lowest *= 3) {
        fplt_theory_problem problem = {lowest, 2, 1, 1};
        fplt_facts facts = {.curvature = {lowest, 2}};
        double best = 0, least = 2, rho = NAN;
        for (double trial = 1e-2; trial < 1e3; trial *= 1.0005) {
            double zeta = fplt__theory_splitting_contraction(&problem, trial);
            if (zeta < least) {
                least = zeta;
                best = trial;
            }
        }
        fplt_algorithm_find("fed-plt")->choose(&facts, &rho);
        assert_close(rho, best, 1e-3);
        assert_true(rho == fplt__theory_balanced_rho(&problem));
    }
    fplt_theory_problem flat = {0, 2, 1, 1}, bent = {-0.5, 2, 1, 1};
    assert_close(fplt__theory_balanced_rho(&flat), 1 / (0.01 * 2), 1e-15);
    assert_close(fplt__theory_balanced_rho(&bent), 1, 1e-15);
}

/* One agent that takes no step does not stand in the way of a common one. */
static void a_common_step_is_of_those_who_take_steps(void **state)
{
    (void)state;
    struct logistic_problem p = logistic_make(AGENTS, N, 30, 0.2, 3);
    fplt_training each[AGENTS];
    for (int i = 0; i < AGENTS; i++) {
        each[i] = fplt_training_defaults();
        each[i].step = 0.01;
    }
    each[0].solver = fplt_solver_find("newton");
    each[0].step = 0;
    fplt_run_settings settings = fplt_run_defaults();
    settings.algorithm = fplt_algorithm_find("fedavg");
    settings.each = each;
    fplt_engine *engine = engine_make(p.objective, &settings);
    assert_true(isnan(fplt__engine_step(engine, 0)) && fplt__engine_step(engine, 4) == 0.01);
    fplt_engine_destroy(engine);
    fplt_error error;
    each[3].step = 0.02;
    assert_int_equal(fplt_engine_create(p.objective, &settings, &engine, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "agents 1 and 3 have gamma 0.01 and 0.02");
    logistic_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accelerated_solvers_take_their_own_step),
        cmocka_unit_test(momentum_that_all_agents_share_is_bounded),
        cmocka_unit_test(solvers_without_a_step_have_none),
        cmocka_unit_test(a_step_contracts_below_its_limit_only),
        cmocka_unit_test(the_automatic_penalty_has_one_home),
        cmocka_unit_test(a_common_step_is_of_those_who_take_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
