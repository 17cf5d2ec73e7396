/* Local solvers at their edges: trainings that cannot be done, huge numbers of epochs, costs that
 * are not convex or not numbers. */
#include "testing.h"

#include "problems.h"

#include <limits.h>

#include "fedplt.h"
#include "fedplt/objective_callbacks.h"
#include "solver/solver.h"

enum { MAX = 450 };

/* f(x) = curvature ||x||^2/2 - <1, x>, counted. */
struct cost {
    double curvature, spoil;
    size_t n, records;
    long calls, most_calls; /* fails past so many */
    long *sets; /* how often each set of records was a minibatch, by its bits; or NULL */
};

static int cost_value(void *context, uint32_t agent, const double *x, double *value)
{
    struct cost *cost = context;
    (void)agent;
    *value = 0;
    for (size_t j = 0; j < cost->n; j++)
        *value += 0.5 * cost->curvature * x[j] * x[j] - x[j];
    return 0;
}

static int cost_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    struct cost *cost = context;
    (void)agent;
    for (size_t j = 0; j < cost->n; j++)
        gradient[j] = cost->curvature * x[j] - 1 + cost->spoil;
    return cost->calls++ >= cost->most_calls;
}

static int cost_batch(void *context, uint32_t agent, const double *x, const uint32_t *rows,
                      size_t count, double *gradient)
{
    struct cost *cost = context;
    uint8_t taken[200] = {0};
    size_t set = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i] < cost->records && rows[i] < sizeof taken);
        taken[rows[i]]++;
        set |= (size_t)1 << rows[i] % 64;
    }
    for (size_t r = 0; r < sizeof taken && cost->sets; r++)
        assert_true(taken[r] <= 1);
    if (cost->sets && cost->records < 64)
        cost->sets[set]++;
    return cost_gradient(context, agent, x, gradient);
}

static size_t cost_records(void *context, uint32_t agent)
{
    (void)agent;
    return ((struct cost *)context)->records;
}

static void cost_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    struct cost *cost = context;
    (void)agent;
    *lowest = cost->curvature;
    *highest = fabs(cost->curvature);
}

static fplt_objective *cost_objective(struct cost *cost, int batches)
{
    fplt_error error;
    fplt_objective *objective;
    fplt_objective_callbacks callbacks = {.size = sizeof(fplt_objective_callbacks),
                                          .dimension = cost->n,
                                          .agents = 1,
                                          .context = cost,
                                          .value = cost_value,
                                          .gradient = cost_gradient,
                                          .batch_gradient = batches ? cost_batch : NULL,
                                          .records = batches ? cost_records : NULL,
                                          .curvature = cost_curvature};
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    return objective;
}

static fplt_status run(const fplt_objective *objective, const fplt_training *training, double *w,
                       fplt_error *error)
{
    fplt_local local = {.problem = {.objective = objective},
                        .training = *training,
                        .step = 0.1,
                        .curvature = {1, 1}};
    size_t size = fplt__local_scratch(objective, training) * sizeof(double);
    local.scratch = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
    fplt_status status = fplt__local_run(&local, w, error);
    free(local.scratch);
    return status;
}

static void refuse(const fplt_training *training, const fplt_objective *objective, const char *part)
{
    fplt_error error;
    assert_int_not_equal(fplt__training_check(training, objective, &error), FPLT_OK);
    assert_contains(error.text, part);
}

static void what_cannot_be_trained_is_refused(void **state)
{
    (void)state;
    struct cost cost = {.curvature = 1, .n = 2, .records = 0, .most_calls = LONG_MAX};
    fplt_objective *plain = cost_objective(&cost, 0);
    fplt_training training = fplt_training_defaults();
    static const char *const stochastic[] = {"sgd", "svrg", "accelerated-sgd"};
    for (int i = 0; i < 3; i++) {
        training.solver = fplt_solver_find(stochastic[i]);
        refuse(&training, plain, "minibatch");
    }
    training.solver = fplt_solver_find("lbfgs");
    training.memory = 0;
    refuse(&training, plain, "memory");
    training.memory = 6;
    training.tolerance = -1;
    refuse(&training, plain, "tolerance");
    training.solver = fplt_solver_find("newton");
    training.tolerance = NAN;
    refuse(&training, plain, "tolerance");
    fplt_solver nothing = {.size = sizeof(fplt_solver), .name = "nothing"};
    training = fplt_training_defaults();
    training.solver = &nothing;
    refuse(&training, plain, "run");
    fplt_objective_destroy(plain);
}

static void an_agent_without_records_is_refused(void **state)
{
    (void)state;
    struct cost cost = {.curvature = 1, .n = 2, .records = 0};
    fplt_error error;
    fplt_objective *objective;
    fplt_objective_callbacks callbacks = {.size = sizeof(fplt_objective_callbacks),
                                          .dimension = 2,
                                          .agents = 1,
                                          .context = &cost,
                                          .value = cost_value,
                                          .gradient = cost_gradient,
                                          .batch_gradient = cost_batch,
                                          .records = cost_records,
                                          .curvature = cost_curvature};
    assert_int_equal(fplt_objective_create_callback(&callbacks, &objective, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "agent 0 has 0 records");
}

static void passes_are_counted_beyond_32_bits(void **state)
{
    (void)state;
    struct cost cost = {.curvature = 1, .n = 2, .records = 4, .most_calls = 10};
    fplt_objective *objective = cost_objective(&cost, 1);
    fplt_training training = fplt_training_defaults();
    fplt_error error;
    training.solver = fplt_solver_find("sgd");
    training.by_pass = 1;
    training.batch = 1;
    training.epochs = UINT32_C(1) << 30;
    double w[2] = {0};
    assert_int_equal(run(objective, &training, w, &error), FPLT_FAILED);
    assert_int_equal(cost.calls, 11);
    fplt_objective_destroy(objective);
}

/* Every set of 3 among 5 records comes as often as any other: 2000 times of 20000 with a deviation of 42.4,
 * so chance puts one of the ten further off than 7 of them with probability 3e-11. Larger minibatches, up
 * to all records, have every record once at most. */
static void minibatches_are_fair(void **state)
{
    (void)state;
    long sets[32] = {0};
    struct cost cost = {.curvature = 1, .n = 2, .records = 5, .most_calls = LONG_MAX, .sets = sets};
    fplt_objective *objective = cost_objective(&cost, 1);
    fplt_training training = fplt_training_defaults();
    fplt_error error;
    training.solver = fplt_solver_find("sgd");
    training.batch = 3;
    training.epochs = 20000;
    double w[2] = {0};
    assert_ok(run(objective, &training, w, &error), error);
    size_t kinds = 0;
    for (size_t set = 0; set < 32; set++) {
        kinds += sets[set] > 0;
        assert_true(sets[set] == 0 || labs(sets[set] - 2000) < 300);
    }
    assert_int_equal(kinds, 10);
    fplt_objective_destroy(objective);
    training.epochs = 50;
    for (cost.records = 120; cost.records <= 130; cost.records++) {
        objective = cost_objective(&cost, 1);
        for (training.batch = 1; training.batch <= 130; training.batch += 43)
            assert_ok(run(objective, &training, w, &error), error);
        fplt_objective_destroy(objective);
    }
}

static void lbfgs_takes_any_number_of_epochs(void **state)
{
    (void)state;
    struct cost cost = {.curvature = 1, .n = 2, .most_calls = LONG_MAX};
    fplt_objective *objective = cost_objective(&cost, 0);
    fplt_training training = fplt_training_defaults();
    fplt_error error;
    training.solver = fplt_solver_find("lbfgs");
    training.tolerance = 1e-12;
    training.epochs = UINT32_MAX;
    double w[2] = {5, 3};
    assert_ok(run(objective, &training, w, &error), error);
    assert_near(w[0], 1, 1e-10);
    assert_near(w[1], 1, 1e-10);
    fplt_objective_destroy(objective);
}

/* At the minimiser the gradient is rounding and no step makes it smaller: that is seen at once. */
static void newton_does_not_search_within_rounding(void **state)
{
    (void)state;
    fplt_error error;
    struct logistic_problem problem = logistic_make(6, 4, 30, 0.2, 11);
    fplt_run_settings settings = fplt_run_defaults();
    settings.training.solver = fplt_solver_find("newton");
    settings.training.tolerance = 0;
    settings.training.epochs = 5;
    fplt_engine *engine = engine_make(problem.objective, &settings);
    for (int k = 0; k < 150; k++)
        assert_ok(fplt_engine_round(engine, &error), error);
    double before = fplt_engine_counters(engine)->gradients;
    for (int k = 0; k < 20; k++)
        assert_ok(fplt_engine_round(engine, &error), error);
    double each = (fplt_engine_counters(engine)->gradients - before) / (20 * 6);
    if (!(each <= 5))
        fail_msg("%g gradients a training at the minimiser", each);
    fplt_engine_destroy(engine);
    logistic_free(&problem);
}

static void newton_refuses_what_is_not_convex(void **state)
{
    (void)state;
    for (size_t n = 3; n <= MAX; n += MAX - 3) {
        struct cost cost = {.curvature = -1, .n = n, .most_calls = LONG_MAX};
        fplt_objective *objective = cost_objective(&cost, 0);
        fplt_training training = fplt_training_defaults();
        fplt_error error;
        training.solver = fplt_solver_find("newton");
        double w[MAX] = {0};
        assert_int_equal(run(objective, &training, w, &error), FPLT_FAILED);
        assert_contains(error.text, "not strongly convex");
        fplt_objective_destroy(objective);
    }
}

static void no_solver_swallows_what_is_not_a_number(void **state)
{
    (void)state;
    struct cost cost = {.curvature = 1, .n = 3, .records = 4, .most_calls = LONG_MAX, .spoil = NAN};
    fplt_objective *objective = cost_objective(&cost, 1);
    for (size_t i = 0; fplt_solver_list(i); i++) {
        fplt_training training = fplt_training_defaults();
        fplt_error error;
        training.solver = fplt_solver_list(i);
        double w[3] = {1, 2, 3};
        if (run(objective, &training, w, &error) != FPLT_DIVERGED)
            fail_msg("%s", training.solver->name);
    }
    fplt_objective_destroy(objective);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_trained_is_refused),
        cmocka_unit_test(an_agent_without_records_is_refused),
        cmocka_unit_test(passes_are_counted_beyond_32_bits),
        cmocka_unit_test(minibatches_are_fair),
        cmocka_unit_test(lbfgs_takes_any_number_of_epochs),
        cmocka_unit_test(newton_does_not_search_within_rounding),
        cmocka_unit_test(newton_refuses_what_is_not_convex),
        cmocka_unit_test(no_solver_swallows_what_is_not_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
