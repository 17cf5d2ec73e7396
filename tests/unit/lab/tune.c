/* Automatic choices and tuning, against closed forms, exhaustive search and the runs themselves. */
#include "problems.h"

#include "failing.h"
#include "fedplt/generate.h"
#include "fedplt/theory.h"
#include "fedplt/tune.h"
#include "job/auto.h"
#include "objective/objective_access.h"

static fplt_objective *logistic(fplt_dataset **dataset, const char *regulariser, double eps,
                                int intercept)
{
    fplt_error error;
    fplt_objective *objective;
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    data.agents = 8;
    data.rows = 40;
    data.features = 4;
    cost.regulariser = regulariser;
    cost.weight = eps;
    cost.intercept = intercept;
    assert_ok(fplt_dataset_generate(&data, dataset, &error), error);
    assert_ok(fplt_objective_create(&cost, *dataset, &objective, &error), error);
    return objective;
}

/* Least eigenvalue by bisection on the signs of the pivots of A - t I (Sylvester's law). */
static double least_eigenvalue(const double *a, size_t n)
{
    double low = -1e3, high = 1e3;
    for (int step = 0; step < 100; step++) {
        double middle = (low + high) / 2, m[QUADRATIC_MAX * QUADRATIC_MAX];
        int negative = 0;
        for (size_t i = 0; i < n * n; i++)
            m[i] = a[i] - (i % (n + 1) == 0 ? middle : 0);
        for (size_t k = 0; k < n; k++) {
            negative |= m[k * n + k] < 0;
            for (size_t i = k + 1; i < n; i++)
                for (size_t j = k + 1; j < n; j++)
                    m[i * n + j] -= m[i * n + k] * m[k * n + j] / m[k * n + k];
        }
        *(negative ? &high : &low) = middle;
    }
    return low;
}

static void finds_the_curvature_at_the_start(void **state)
{
    (void)state;
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective = logistic(&dataset, "nonconvex", 0.3, 1);
    size_t n = fplt_objective_dimension(objective);
    double x[] = {0.1, -0.2, 0.3, 0, 0.5}, hessian[25], scratch[4096];
    assert_true(fplt_objective_scratch(objective) <= 4096);
    for (uint32_t i = 0; i < fplt_objective_agents(objective); i++) {
        fplt_curvature_bounds bend;
        fplt_curvature bounds;
        assert_ok(fplt__curvature_bounds_find(objective, i, FPLT_CURVATURE_CLOSE, x, &bend, &error),
                  error);
        assert_ok(fplt__objective_hessian(objective, i, x, hessian, scratch), error);
        assert_ok(fplt_objective_curvature(objective, i, 0, &bounds, &error), error);
        assert_near(bend.near_lowest, least_eigenvalue(hessian, n), 1e-9);
        assert_true(bend.everywhere.lowest == bounds.lowest);
        assert_true(bend.everywhere.highest == bounds.highest);
        assert_true(bend.near_lowest >= bounds.lowest);
    }
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
}

static void joins_by_least_and_greatest(void **state)
{
    (void)state;
    fplt_curvature_bounds a = {{-1, 4}, 0.5}, b = {{0.5, 9}, 0.2}, unknown = {{1, 2}, NAN};
    fplt_curvature_bounds both = fplt__curvature_bounds_join(a, b);
    assert_true(both.everywhere.lowest == -1 && both.everywhere.highest == 9);
    assert_true(both.near_lowest == 0.2);
    assert_true(isnan(fplt__curvature_bounds_join(a, unknown).near_lowest));
    assert_true(fplt__curvature_bounds_lowest(&b) == 0.5); /* the bound holds */
    assert_true(fplt__curvature_bounds_lowest(&a) == 0.5); /* not convex: the start */
    assert_true(fplt__curvature_bounds_lowest(&(fplt_curvature_bounds){{0, 2}, NAN}) == 2e-4);
    assert_true(fplt__curvature_bounds_lowest(&(fplt_curvature_bounds){{0, 2}, 1e-9}) == 2e-4);
}

static fplt_auto choose(fplt_curvature_bounds bend, fplt_run_settings run)
{
    fplt_error error;
    fplt_auto choice;
    assert_ok(fplt__auto_choose(&bend, &run, 10, 5, &choice, &error), error);
    return choice;
}

static void chooses_rho_by_its_formula(void **state)
{
    (void)state;
    fplt_run_settings run = fplt_run_defaults();
    fplt_auto choice = choose((fplt_curvature_bounds){{0.25, 4}, 0.25}, run);
    assert_close(choice.parameter[0], 1, 1e-15);
    assert_true(choice.chose_rho && choice.chose_step && !choice.chose_epochs);
    assert_int_equal(choice.epochs, 5);
    assert_contains(choice.about_rho, "lmin = 0.25");
    assert_contains(choice.about_step,
                    "gamma = 2/(lmin + lmax + 2/rho), each agent from its own curvature");
    assert_string_equal(choice.about_epochs, "");
    assert_string_equal(choice.advice, "");
    choice = choose((fplt_curvature_bounds){{0, 4}, 0.25}, run);
    assert_close(choice.parameter[0], 1, 1e-15);
    assert_contains(choice.about_rho, "the starting point");
    choice = choose((fplt_curvature_bounds){{0, 4}, NAN}, run);
    assert_close(choice.parameter[0], 25, 1e-15);
    assert_contains(choice.advice, "standardise: yes");
    /* local training must be convex */
    choice = choose((fplt_curvature_bounds){{-2, 4}, 0.25}, run);
    assert_close(choice.parameter[0], 0.25, 1e-15);
    assert_contains(choice.about_rho, "convex");
}

static void keeps_what_is_given(void **state)
{
    (void)state;
    double parameter[FPLT_MAX_PARAMETERS] = {3};
    fplt_run_settings run = fplt_run_defaults();
    run.parameter = parameter;
    run.training.step = 0.1;
    run.training.epochs = 7;
    fplt_auto choice = choose((fplt_curvature_bounds){{0.25, 4}, 0.25}, run);
    assert_true(choice.parameter[0] == 3 && choice.epochs == 7);
    assert_true(!choice.chose_rho && !choice.chose_step && !choice.chose_epochs);
    assert_string_equal(choice.about_rho, "");
    fplt__auto_apply(&choice, &run);
    assert_true(run.parameter[0] == 3 && run.training.step == 0.1 && run.training.epochs == 7);
    /* other algorithms keep their own rules */
    run = fplt_run_defaults();
    run.algorithm = fplt_algorithm_find("fedlin");
    run.training.epochs = 0;
    choice = choose((fplt_curvature_bounds){{0.25, 4}, 0.25}, run);
    assert_int_equal(choice.epochs, 5);
    assert_false(choice.chose_rho);
}

/* The cheapest number of epochs, found by looking at all of them. */
static void chooses_epochs_by_their_price(void **state)
{
    (void)state;
    const double prices[] = {0.1, 1, 10, 100};
    uint32_t last = 0;
    fplt_theory_problem problem = {0.5, 5, 10, 5};
    fplt_theory_parameters parameters = fplt_theory_defaults(&problem);
    for (int p = 0; p < 4; p++) {
        fplt_run_settings run = fplt_run_defaults();
        double least = HUGE_VAL;
        uint32_t cheapest = 0;
        run.training.epochs = 0;
        run.communication_time = prices[p];
        fplt_auto choice = choose((fplt_curvature_bounds){{0.5, 5}, 0.5}, run);
        for (uint32_t epochs = 1; epochs <= 100; epochs++) {
            parameters.epochs = epochs;
            double rate = fplt_theory_quadratic_rate(&problem, &parameters).rate;
            double cost = (epochs + prices[p]) / -log(rate);
            if (rate < 1 && cost < least) {
                least = cost;
                cheapest = epochs;
            }
        }
        assert_int_equal(choice.epochs, cheapest);
        assert_true(choice.epochs > last); /* dearer communication, more local work */
        assert_contains(choice.about_epochs, "cheapest");
        last = choice.epochs;
    }
}

static void public_bounds_leave_the_data_alone(void **state)
{
    (void)state;
    fplt_error error;
    fplt_dataset *dataset;
    fplt_auto choice;
    fplt_objective *objective = logistic(&dataset, "ridge", 0.5, 0);
    fplt_run_settings run = fplt_run_defaults();
    run.curvature = (fplt_curvature){0.5, 8};
    assert_ok(fplt__auto_resolve(objective, &run, &choice, &error), error);
    assert_null(choice.curvatures);
    assert_close(choice.parameter[0], 0.5, 1e-15);
    assert_contains(choice.about_step, "public bounds");
    fplt__auto_clear(&choice);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
}

static void survives_without_memory(void **state)
{
    (void)state;
    fplt_error error;
    fplt_dataset *dataset;
    fplt_auto choice;
    fplt_objective *objective = logistic(&dataset, "none", 0, 1);
    fplt_run_settings run = fplt_run_defaults();
    survives_failing_allocations(
        {
            status = fplt__auto_resolve(objective, &run, &choice, &error);
            fplt__auto_clear(&choice);
        },
        5);
    fplt_tune_settings settings = fplt_tune_defaults();
    fplt_tuning tuning;
    settings.method = FPLT_TUNE_BOTH;
    settings.rounds = 8;
    settings.run.threads = 1;
    survives_failing_allocations(
        {
            status = fplt_tune(objective, 0, &settings, &tuning, &error);
            fplt_tuning_clear(&tuning);
        },
        20);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
}

static void tunes_by_theory_without_data(void **state)
{
    (void)state;
    fplt_error error;
    fplt_tuning tuning;
    fplt_tune_settings settings = fplt_tune_defaults();
    settings.run.curvature = (fplt_curvature){0.5, 5};
    settings.public_only = 1;
    settings.first_criterion = 100;
    assert_ok(fplt_tune(NULL, 100, &settings, &tuning, &error), error);
    assert_true(tuning.count > 5);
    assert_int_equal(tuning.rounds_spent, 0);
    for (size_t i = 0; i < tuning.count; i++) {
        const fplt_tune_candidate *c = &tuning.candidate[i];
        double rounds = ceil(log(1e-5 / 100) / (2 * log(c->rate)));
        assert_close(c->expected_rounds, rounds, 1e-12);
        assert_close(c->expected_time, rounds * 100 * (c->epochs + 10), 1e-12);
        assert_true(i == 0 || c->expected_time >= tuning.candidate[i - 1].expected_time);
    }
    fplt_tuning_clear(&tuning);
}

/* Given rho, theory proposes numbers of epochs, each at least 1. */
static void keeps_a_given_rho(void **state)
{
    (void)state;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_error error;
    fplt_tuning tuning;
    fplt_tune_settings settings = fplt_tune_defaults();
    fplt_algorithm_defaults(settings.run.algorithm, parameter);
    parameter[fplt_algorithm_parameter(settings.run.algorithm, "rho")] = 2;
    settings.run.parameter = parameter;
    settings.run.curvature = (fplt_curvature){0.5, 5};
    assert_ok(fplt_tune(NULL, 100, &settings, &tuning, &error), error);
    assert_true(tuning.count > 5);
    for (size_t i = 0; i < tuning.count; i++)
        assert_true(tuning.candidate[i].rho == 2 && tuning.candidate[i].epochs >= 1);
    fplt_tuning_clear(&tuning);
}

static void refuses_with_a_reason(void **state)
{
    (void)state;
    fplt_error error;
    fplt_tuning tuning;
    fplt_tune_settings settings = fplt_tune_defaults();
    assert_int_equal(fplt_tune(NULL, 1, &settings, &tuning, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "lmin and lmax");
    settings.public_only = 1;
    assert_int_equal(fplt_tune(NULL, 1, &settings, &tuning, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "public bounds");
    settings.run.curvature = (fplt_curvature){0.5, 5};
    settings.method = FPLT_TUNE_EXPERIMENT;
    assert_int_equal(fplt_tune(NULL, 1, &settings, &tuning, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "privacy claim");
    settings.public_only = 0;
    assert_int_equal(fplt_tune(NULL, 1, &settings, &tuning, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "needs data");
    settings.run.algorithm = fplt_algorithm_find("fedlin");
    assert_int_equal(fplt_tune(NULL, 1, &settings, &tuning, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "fedlin");
}

static void assert_same(const fplt_tune_candidate *a, const fplt_tune_candidate *b)
{
    assert_string_equal(a->origin, b->origin);
    assert_true(a->rho == b->rho && a->step == b->step && a->epochs == b->epochs);
    assert_true(a->rounds == b->rounds && a->stage == b->stage);
    assert_true(a->criterion == b->criterion || (isnan(a->criterion) && isnan(b->criterion)));
}

/* What the experiment says is what a run does, and costs no more than `auto`. */
static void experiments_tell_the_truth(void **state)
{
    (void)state;
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective = logistic(&dataset, "ridge", 0.1, 0);
    for (int method = FPLT_TUNE_EXPERIMENT; method <= FPLT_TUNE_BOTH; method++) {
        fplt_tuning tuning, again;
        fplt_tune_settings settings = fplt_tune_defaults();
        settings.method = (fplt_tune_method)method;
        settings.run.threads = 1;
        assert_ok(fplt_tune(objective, 0, &settings, &tuning, &error), error);
        const fplt_tune_candidate *best = &tuning.candidate[0];
        assert_true(best->reached && tuning.rounds_spent <= 1000 && tuning.rounds_spent > 10);
        double parameter[FPLT_MAX_PARAMETERS] = {best->rho};
        fplt_run_settings run = settings.run;
        run.parameter = parameter;
        run.training.step = best->step;
        run.training.epochs = best->epochs;
        fplt_result result;
        fplt_engine *engine = engine_make(objective, &run);
        assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
        assert_true((double)result.counters.rounds == best->expected_rounds);
        assert_close(result.counters.paper_time, best->expected_time, 1e-12);
        assert_true(result.end.criterion == best->criterion);
        fplt_engine_destroy(engine);
        for (size_t i = 0; i < tuning.count; i++)
            if (strcmp(tuning.candidate[i].origin, "auto") == 0)
                assert_true(best->expected_time <= tuning.candidate[i].expected_time);
        /* on two threads to the bit */
        settings.run.threads = 2;
        assert_ok(fplt_tune(objective, 0, &settings, &again, &error), error);
        assert_int_equal(again.count, tuning.count);
        for (size_t i = 0; i < again.count; i++)
            assert_same(&again.candidate[i], &tuning.candidate[i]);
        fplt_tuning_clear(&again);
        /* a small budget is kept to */
        settings.rounds = 30;
        assert_ok(fplt_tune(objective, 0, &settings, &again, &error), error);
        assert_int_equal(again.rounds_spent, 30);
        fplt_tuning_clear(&again);
        fplt_tuning_clear(&tuning);
    }
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
}

static int stop_at(void *context, size_t done, size_t total)
{
    size_t *last = context;
    assert_int_equal(done, *last + 1);
    assert_int_equal(total, 1000);
    *last = done;
    return done == 17;
}

static void stops_on_request(void **state)
{
    (void)state;
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective = logistic(&dataset, "ridge", 0.1, 0);
    fplt_tuning tuning;
    fplt_tune_settings settings = fplt_tune_defaults();
    size_t last = 0;
    settings.method = FPLT_TUNE_BOTH;
    settings.watch = stop_at;
    settings.context = &last;
    assert_int_equal(fplt_tune(objective, 0, &settings, &tuning, &error), FPLT_FAILED);
    assert_contains(error.text, "stopped on request after 17 of at most 1000 rounds");
    assert_int_equal(last, 17);
    assert_null(tuning.candidate);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_curvature_at_the_start),
        cmocka_unit_test(joins_by_least_and_greatest),
        cmocka_unit_test(chooses_rho_by_its_formula),
        cmocka_unit_test(keeps_what_is_given),
        cmocka_unit_test(chooses_epochs_by_their_price),
        cmocka_unit_test(public_bounds_leave_the_data_alone),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(tunes_by_theory_without_data),
        cmocka_unit_test(keeps_a_given_rho),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(experiments_tell_the_truth),
        cmocka_unit_test(stops_on_request),
    };
    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
