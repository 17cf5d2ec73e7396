/* Small agents that go side by side: every number is that of one agent after the other, bit for bit, on every
 * kernel, whoever they go with. */
#include "problems.h"

#include "base/random.h"
#include "engine/engine_access.h"
#include "engine/hub_node.h"
#include "engine/member.h"
#include "objective/objective.h"
#include "solver/solver.h"
#include "fedplt/participation.h"

enum { AGENTS = 23, MAX_ROWS = 40, MAX_FEATURES = 20, EPOCHS = 7 };

/* Agents of 1 to `most` rows; some of the rows are all zero, repeated, tiny or huge. */
static fplt_objective *mixed_cost(size_t features, size_t most, int wild,
                                  const fplt_objective_settings *settings)
{
    static double dense[AGENTS * MAX_ROWS * MAX_FEATURES], label[AGENTS * MAX_ROWS];
    size_t share[AGENTS], all = 0;
    fplt_stream stream = fplt_stream_make(features, 0, FPLT_FOR_TEST, most, (uint64_t)wild, 0);
    for (uint32_t i = 0; i < AGENTS; i++) {
        share[i] = 1 + fplt_stream_below(&stream, most);
        double scale = wild && i % 5 == 1   ? 0
                       : wild && i % 5 == 2 ? 1e-90
                       : wild && i % 5 == 3 ? 1e60
                                            : 1;
        for (size_t r = 0; r < share[i]; r++, all++) {
            double *row = dense + all * features;
            for (size_t j = 0; j < features; j++)
                row[j] = wild && i % 5 == 4 && r ? row[(ptrdiff_t)j - (ptrdiff_t)features]
                                                 : scale * fplt_stream_normal(&stream);
            label[all] = fplt_stream_below(&stream, 2) ? 1 : -1;
        }
    }
    fplt_rows rows = {.count = all, .features = features, .dense = dense, .label = label};
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_BINARY, share, AGENTS, &dataset, &error),
              error);
    assert_ok(fplt_objective_create(settings, dataset, &objective, &error), error);
    fplt_dataset_destroy(dataset);
    return objective;
}

/* Every combination of kernel, regulariser and intercept, one after the other; zero past the last. */
static int next_settings(unsigned number, fplt_objective_settings *settings)
{
    static const char *const regularisers[] = {"ridge", "none", "nonconvex"};
    const fplt__kernel *kernel = fplt__kernel_get(number / 6);
    *settings = fplt_objective_defaults();
    if (!kernel)
        return 0;
    settings->kernel = kernel->name;
    settings->regulariser = regularisers[number % 3];
    settings->intercept = number / 3 % 2;
    settings->weigh_rows = settings->intercept;
    settings->weight = 0.3;
    return 1;
}

static int is_there(const fplt_objective_settings *settings)
{
    const fplt__kernel *kernel;
    return fplt__kernel_choose(settings->kernel, NULL, &kernel, NULL) == FPLT_OK;
}

/* Runs all agents by `several`, and each alone. */
static void compare_runs(const fplt_objective *objective, int has_linear, int has_centre)
{
    size_t n = fplt_objective_dimension(objective);
    fplt_training training = fplt_training_defaults();
    training.epochs = EPOCHS;
    double *scratch =
        aligned_alloc(64, (fplt__local_scratch(objective, &training) * 8 + 63) / 64 * 64);
    double linear[AGENTS][MAX_FEATURES + 1], centre[AGENTS][MAX_FEATURES + 1];
    double w[AGENTS][MAX_FEATURES + 1], alone[AGENTS][MAX_FEATURES + 1], *at[AGENTS];
    fplt_local local[AGENTS], *each[AGENTS];
    fplt_error error;
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, n, 0, 0);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt__stream_normals(&stream, 1, linear[i], n);
        fplt__stream_normals(&stream, 1, centre[i], n);
        fplt__stream_normals(&stream, i % 4 == 3 ? 300 : 1, w[i], n);
        memcpy(alone[i], w[i], sizeof w[i]);
        local[i] = (fplt_local){.problem = {.objective = objective,
                                            .agent = i,
                                            .linear = has_linear ? linear[i] : NULL,
                                            .centre = has_centre ? centre[i] : NULL,
                                            .inverse_rho = has_centre ? 0.7 + i : 0},
                                .training = training,
                                .step = 0.01 * (1 + i),
                                .member_index = i,
                                .scratch = scratch};
        at[i] = w[i];
        each[i] = &local[i];
    }
    size_t done;
    assert_ok(training.solver->several(each, at, AGENTS, &done, &error), error);
    assert_int_equal(done, AGENTS);
    for (uint32_t i = 0; i < AGENTS; i++) {
        assert_true(local[i].gradients == EPOCHS);
        local[i].gradients = 0;
        assert_ok(fplt__local_run(&local[i], alone[i], &error), error);
        assert_memory_equal(w[i], alone[i], n * sizeof *w[i]);
        assert_true(local[i].gradients == EPOCHS);
    }
    free(scratch);
}

static void runs_side_by_side(void **state)
{
    (void)state;
    fplt_objective_settings settings;
    int met = 0;
    for (unsigned k = 0; next_settings(k, &settings); k++)
        for (size_t features = 1; is_there(&settings) && features <= MAX_FEATURES; features++) {
            size_t most = features % 3 ? 17 : MAX_ROWS;
            fplt_objective *objective = mixed_cost(features, most, 0, &settings);
            met += fplt__objective_batched(objective) > 1;
            for (int given = 0; given < 4; given++)
                compare_runs(objective, given & 1, given >> 1);
            fplt_objective_destroy(objective);
        }
    /* ridge and none, with and without an intercept, up to its longest panels */
    for (size_t k = 0; fplt__kernel_get(k); k++)
        if (fplt__kernel_get(k)->batched && fplt__kernel_get(k)->available())
            assert_int_equal(met, 4 * (int)fplt__kernel_get(k)->panel_columns - 2);
}

static void curvatures_side_by_side(void **state)
{
    (void)state;
    fplt_objective_settings settings;
    for (unsigned k = 0; next_settings(k, &settings); k++)
        for (size_t features = 1; is_there(&settings) && features <= MAX_FEATURES; features++)
            for (int wild = 0; wild < 2; wild++) {
                fplt_curvature together[AGENTS], alone[AGENTS];
                fplt_error error;
                fplt_objective *objective =
                    mixed_cost(features, features % 2 ? 12 : MAX_ROWS, wild, &settings);
                assert_ok(fplt__objective_curvatures(objective, 0, AGENTS, FPLT_CURVATURE_CLOSE,
                                                     together, &error),
                          error);
                for (uint32_t i = 0; i < AGENTS; i++)
                    assert_ok(fplt_objective_curvature(objective, i, 0, &alone[i], &error), error);
                assert_memory_equal(together, alone, sizeof alone);
                fplt_objective_destroy(objective);
            }
}

/* At points where no margin is 0, where all are, and where the numbers are large. */
static void measures_side_by_side(void **state)
{
    (void)state;
    fplt_objective_settings settings;
    int met = 0;
    for (unsigned k = 0; next_settings(k, &settings); k++)
        for (size_t features = 1; is_there(&settings) && features <= MAX_FEATURES; features++)
            for (int point = 0; point < 3; point++) {
                fplt_objective *objective =
                    mixed_cost(features, features % 2 ? 12 : MAX_ROWS, 0, &settings);
                size_t n = fplt_objective_dimension(objective), each = n + FPLT__MEASURES;
                double x[MAX_FEATURES + 1], together[FPLT__MEMBERS * (MAX_FEATURES + 9)],
                    alone[MAX_FEATURES + 9];
                double *scratch =
                    aligned_alloc(64, (fplt_objective_scratch(objective) * 8 + 63) / 64 * 64);
                fplt_stream stream = fplt_stream_make(7, 0, FPLT_FOR_TEST, n, (uint64_t)point, 0);
                fplt__stream_normals(&stream, point == 0 ? 0 : point == 1 ? 1 : 400, x, n);
                for (uint32_t i = 0; i + FPLT__MEMBERS <= AGENTS; i++) {
                    if (!fplt__members_measure(objective, i, x, together, scratch))
                        continue;
                    met++;
                    for (uint32_t m = 0; m < FPLT__MEMBERS; m++) {
                        assert_int_equal(fplt__member_measure(objective, i + m, x, alone, scratch),
                                         FPLT_OK);
                        assert_memory_equal(together + m * each, alone, each * sizeof *alone);
                    }
                }
                free(scratch);
                fplt_objective_destroy(objective);
            }
    for (size_t k = 0; fplt__kernel_get(k); k++)
        if (fplt__kernel_get(k)->batched && fplt__kernel_get(k)->available())
            assert_true(met > 1000);
}

/* Agents as nodes of their own never go side by side. */
static void an_engine_has_the_bits_of_nodes(void **state)
{
    (void)state;
    enum { N = 6, ROUNDS = 12 };
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.intercept = 1;
    fplt_objective *objective = mixed_cost(N - 1, 30, 0, &cost);
    fplt_participation *half = half_of(AGENTS);
    for (unsigned threads = 1; threads <= 3; threads++) {
        fplt_run_settings settings = fplt_run_defaults();
        settings.participation = half;
        settings.seed = 4;
        settings.threads = threads;
        fplt_engine *engine = engine_make(objective, &settings);
        fplt_error error;
        fplt_plan plan = {
            .algorithm = settings.algorithm, .agents = AGENTS, .dimension = N, .seed = 4};
        plan.parameter[0] = fplt__engine_parameters(engine)[0];
        fplt_hub *hub;
        fplt_node *node[AGENTS];
        uint64_t words[4 * N];
        assert_ok(fplt_hub_create(&plan, NULL, NULL, &hub, &error), error);
        for (uint32_t i = 0; i < AGENTS; i++) {
            fplt_node_settings own = {.objective = objective,
                                      .cost = i,
                                      .member_index = i,
                                      .training = settings.training};
            assert_ok(fplt_objective_curvature(objective, i, 0, &own.curvature, &error), error);
            assert_ok(fplt_node_create(&plan, &own, &node[i], &error), error);
            assert_int_equal(fplt_node_enrol(node[i], words), FPLT_OK);
            assert_int_equal(fplt_hub_enrol(hub, words), FPLT_OK);
        }
        for (uint64_t k = 0; k < ROUNDS; k++) {
            uint32_t active[AGENTS], count = fplt_participation_choose(half, 4, 0, k, active);
            fplt_round round;
            double down[N], model[N], expected[N];
            fplt_hub_plan(hub, k, count, &round);
            assert_int_equal(fplt_hub_broadcast(hub, &round, 0, down), FPLT_OK);
            for (uint32_t i = 0; i < count; i++) {
                round.position = i;
                assert_ok(fplt_node_train(node[active[i]], &round, 0, down, words, &error), error);
                assert_int_equal(fplt_hub_receive(hub, 0, words), FPLT_OK);
                fplt_node_accept(node[active[i]]);
            }
            assert_int_equal(fplt_hub_absorb(hub, &round, 0), FPLT_OK);
            assert_ok(fplt_engine_round(engine, &error), error);
            assert_int_equal(fplt_hub_model(hub, model), FPLT_OK);
            assert_int_equal(fplt_engine_model(engine, expected), FPLT_OK);
            assert_memory_equal(model, expected, sizeof model);
        }
        for (uint32_t i = 0; i < AGENTS; i++)
            fplt_node_destroy(node[i]);
        fplt_hub_destroy(hub);
        fplt_engine_destroy(engine);
    }
    fplt_participation_destroy(half);
    fplt_objective_destroy(objective);
}

/* Rows of 1e60 make agents 3, 8, ... leave what the sum takes: the first is told, on any number of threads. */
static void the_first_failure_is_told(void **state)
{
    (void)state;
    fplt_objective_settings cost = fplt_objective_defaults();
    fplt_objective *objective = mixed_cost(4, 9, 1, &cost);
    for (unsigned threads = 1; threads <= 3; threads++) {
        fplt_run_settings settings = fplt_run_defaults();
        fplt_error error;
        settings.threads = threads;
        settings.training.step = 1e-30;
        settings.training.epochs = 1;
        fplt_engine *engine = engine_make(objective, &settings);
        assert_int_equal(fplt_engine_round(engine, &error), FPLT_DIVERGED);
        assert_contains(error.text, "agent 3 sends");
        fplt_engine_destroy(engine);
    }
    fplt_objective_destroy(objective);
}

/* One that leaves the finite numbers ends the run; those before it are done. */
static void a_run_ends_at_the_first_that_diverges(void **state)
{
    (void)state;
    enum { BAD = 6 };
    fplt_objective_settings cost = fplt_objective_defaults();
    fplt_objective *objective = mixed_cost(3, 9, 0, &cost);
    fplt_training training = fplt_training_defaults();
    double *scratch =
        aligned_alloc(64, (fplt__local_scratch(objective, &training) * 8 + 63) / 64 * 64);
    double w[AGENTS][3], alone[3], *at[AGENTS];
    fplt_local local[AGENTS], *each[AGENTS];
    fplt_error error;
    size_t done;
    for (uint32_t i = 0; i < AGENTS; i++) {
        local[i] = (fplt_local){.problem = {.objective = objective, .agent = i},
                                .training = training,
                                .step = i == BAD ? 1e200 : 0.1,
                                .scratch = scratch};
        for (size_t j = 0; j < 3; j++)
            w[i][j] = 1;
        at[i] = w[i];
        each[i] = &local[i];
    }
    assert_int_equal(training.solver->several(each, at, AGENTS, &done, &error), FPLT_DIVERGED);
    assert_int_equal(done, BAD);
    for (uint32_t i = 0; i < BAD; i++) {
        for (size_t j = 0; j < 3; j++)
            alone[j] = 1;
        assert_ok(fplt__local_run(&local[i], alone, &error), error);
        assert_memory_equal(alone, w[i], sizeof alone);
    }
    free(scratch);
    fplt_objective_destroy(objective);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_side_by_side),
        cmocka_unit_test(curvatures_side_by_side),
        cmocka_unit_test(measures_side_by_side),
        cmocka_unit_test(an_engine_has_the_bits_of_nodes),
        cmocka_unit_test(the_first_failure_is_told),
        cmocka_unit_test(a_run_ends_at_the_first_that_diverges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
