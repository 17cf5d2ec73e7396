/* Messages that are listed, as small agents with sparse rows do, beside whole ones. */
#include "base/listed.h"
#include "base/memory.h"
#include "engine/hub_node.h"
#include "fedplt/engine.h"
#include "objective/problem.h"
#include "problems.h"

enum { AGENTS = 20 };

/* Agents with few sparse rows list their Hessians in the engine; nodes send them whole. Some have too many rows to list. */
static void compare_listed(uint32_t grid)
{
    problem p = {
        .task = FPLT_TASK_BINARY, .features = 60, .rows = 30, .sparse = 1, .agents = AGENTS};
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.intercept = 1;
    fplt_objective *objective = problem_objective(&p, 5, &cost);
    fplt_run_settings settings = fplt_run_defaults();
    settings.algorithm = fplt_algorithm_find("fed-newton");
    settings.threads = 2;
    settings.training.grid = grid;
    fplt_engine *engine = engine_make(objective, &settings);
    size_t n = fplt_objective_dimension(objective);
    fplt_plan plan = {
        .algorithm = settings.algorithm, .agents = p.agents, .dimension = n, .step = 1};
    uint64_t *words = calloc(fplt_plan_words(&plan, 0), sizeof *words);
    double *down = new_vector(n), *model = new_vector(2 * n), *expected = model + n;
    fplt_node *node[AGENTS];
    fplt_error error;
    fplt_hub *hub;
    assert_ok(fplt_hub_create(&plan, NULL, NULL, &hub, &error), error);
    for (uint32_t i = 0; i < p.agents; i++) {
        fplt_node_settings own = {.objective = objective,
                                  .cost = i,
                                  .member_index = i,
                                  .training = settings.training,
                                  .curvature = {0.5, 1}};
        assert_ok(fplt_node_create(&plan, &own, &node[i], &error), error);
    }
    for (uint64_t k = 0; k < 6; k++) {
        fplt_round round;
        fplt_hub_plan(hub, k, p.agents, &round);
        assert_int_equal(fplt_hub_broadcast(hub, &round, 0, down), FPLT_OK);
        for (uint32_t i = 0; i < p.agents; i++) {
            round.position = i;
            assert_ok(fplt_node_train(node[i], &round, 0, down, words, &error), error);
            assert_int_equal(fplt_hub_receive(hub, 0, words), FPLT_OK);
            fplt_node_accept(node[i]);
        }
        assert_int_equal(fplt_hub_absorb(hub, &round, 0), FPLT_OK);
        assert_ok(fplt_engine_round(engine, &error), error);
        assert_int_equal(fplt_hub_model(hub, model), FPLT_OK);
        assert_int_equal(fplt_engine_model(engine, expected), FPLT_OK);
        assert_memory_equal(model, expected, n * sizeof *model);
    }
    for (uint32_t i = 0; i < p.agents; i++)
        fplt_node_destroy(node[i]);
    fplt_hub_destroy(hub);
    fplt_engine_destroy(engine);
    fplt_objective_destroy(objective);
    free(words);
    free(down);
    free(model);
}

static void listed_messages_have_the_bits_of_whole_ones(void **state)
{
    (void)state;
    compare_listed(0);
}

static void listed_messages_are_rounded_as_whole_ones(void **state)
{
    (void)state;
    compare_listed(12);
}

/* Updates over a network (`encoding: sparse`). */

enum { SITES = 6, COLUMNS = 500, EACH = 3 };

/* Rows of three columns; site i has i + 1 of them, the last two as many. */
static fplt_objective *few_columns(const char *regulariser)
{
    size_t share[SITES], start[SITES * SITES + 1] = {0}, rows = 0;
    uint32_t column[EACH * SITES * SITES];
    double value[EACH * SITES * SITES], label[SITES * SITES];
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (uint32_t i = 0; i < SITES; i++)
        rows += share[i] = i + 1 < SITES ? i + 1 : SITES - 1;
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < EACH; k++) {
            column[EACH * r + k] =
                (uint32_t)(fplt_stream_below(&stream, COLUMNS / EACH) * EACH + k);
            value[EACH * r + k] = fplt_stream_normal(&stream);
        }
        for (size_t k = 1; k < EACH; k++) /* in order */
            if (column[EACH * r + k] <= column[EACH * r + k - 1])
                column[EACH * r + k] = column[EACH * r + k - 1] + 1;
        start[r + 1] = EACH * (r + 1);
        label[r] = r % 2 ? 1 : -1;
    }
    fplt_rows all = {.count = rows,
                     .features = COLUMNS,
                     .label = label,
                     .start = start,
                     .column = column,
                     .value = value};
    fplt_objective_settings cost = fplt_objective_defaults();
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_error error;
    cost.intercept = 1;
    cost.weigh_rows = 1;
    cost.regulariser = regulariser;
    assert_ok(fplt_dataset_from_rows(&all, FPLT_TASK_BINARY, share, SITES, &dataset, &error),
              error);
    assert_ok(fplt_objective_create(&cost, dataset, &objective, &error), error);
    fplt_dataset_destroy(dataset);
    return objective;
}

/* An update as it travels. Returns whether it was listed. */
static int send_update(fplt_hub *hub, const uint64_t *words, const fplt__multiple *expected,
                       size_t count)
{
    size_t size, packed = fplt__words_pack(words, count, NULL, 0);
    uint8_t *bytes;
    fplt_error error;
    if (fplt__listed_pack(words, count, expected, packed, &bytes, &size)) {
        assert_int_equal(fplt_hub_receive(hub, 0, words), FPLT_OK);
        return 0;
    }
    assert_true(size < packed);
    assert_ok(fplt__hub_receive_listed(hub, 0, bytes, size, &error), error);
    fplt__free(bytes);
    return 1;
}

/* A hub that receives lists beside one that receives whole updates. Returns how many were listed. */
static unsigned compare_updates(const char *algorithm, const char *regulariser)
{
    fplt_objective *objective = few_columns(regulariser);
    size_t n = fplt_objective_dimension(objective);
    fplt_plan plan = {.seed = 0};
    fplt_training training = fplt_training_defaults();
    fplt_facts facts = {.curvature = {0.01, 1}, .agents = SITES, .cohort = SITES, .dimension = n};
    double *down = new_vector(n), *model = new_vector(n), *expected = new_vector(n);
    double *start = random_vector(n, 3, 1);
    fplt_node *node[SITES];
    fplt_error error;
    fplt_hub *whole, *listed;
    unsigned count = 0;
    training.solver = fplt_solver_find("gradient");
    assert_ok(fplt_plan_resolve(fplt_algorithm_find(algorithm), NULL, &training, &facts, &plan,
                                &error),
              error);
    size_t numbers = fplt_plan_words(&plan, 0);
    uint64_t *words = calloc(numbers, sizeof *words);
    assert_ok(fplt_hub_create(&plan, NULL, start, &whole, &error), error);
    assert_ok(fplt_hub_create(&plan, NULL, start, &listed, &error), error);
    assert_ok(fplt__hub_accept_lists(listed, &error), error);
    for (uint32_t i = 0; i < SITES; i++) {
        fplt_node_settings own = {.objective = objective,
                                  .cost = i,
                                  .member_index = i,
                                  .start = start,
                                  .training = training,
                                  .curvature = {0.01, 1}};
        assert_ok(fplt_node_create(&plan, &own, &node[i], &error), error);
    }
    for (uint64_t k = 0; k < 8; k++) {
        fplt_round round;
        fplt_hub_plan(whole, k, SITES, &round);
        assert_int_equal(fplt_hub_broadcast(whole, &round, 0, down), FPLT_OK);
        fplt__multiples_begin(fplt__hub_lists(listed), down);
        for (uint32_t i = 0; i < SITES; i++) {
            round.position = i;
            assert_ok(fplt_node_train(node[i], &round, 0, down, words, &error), error);
            assert_int_equal(fplt_hub_receive(whole, 0, words), FPLT_OK);
            fplt__multiple multiple = fplt__node_expect_update(node[i], 0, down);
            count += (unsigned)send_update(listed, words, &multiple, numbers / 2);
            fplt_node_accept(node[i]);
        }
        assert_int_equal(fplt_hub_absorb(whole, &round, 0), FPLT_OK);
        assert_int_equal(fplt_hub_absorb(listed, &round, 0), FPLT_OK);
        assert_int_equal(fplt_hub_model(whole, expected), FPLT_OK);
        assert_int_equal(fplt_hub_model(listed, model), FPLT_OK);
        assert_memory_equal(model, expected, n * sizeof *model);
    }
    for (uint32_t i = 0; i < SITES; i++)
        fplt_node_destroy(node[i]);
    fplt_hub_destroy(whole);
    fplt_hub_destroy(listed);
    fplt_objective_destroy(objective);
    free(words);
    free(down);
    free(model);
    free(expected);
    free(start);
    return count;
}

static void updates_of_few_columns_are_listed(void **state)
{
    (void)state;
    assert_int_equal(compare_updates("fed-lbfgs", "ridge"), 8 * SITES);
    assert_int_equal(compare_updates("fed-lbfgs", "none"), 8 * SITES);
    assert_int_equal(compare_updates("fed-newton", "ridge"), 8 * SITES);
}

static void other_updates_travel_whole(void **state)
{
    (void)state;
    assert_int_equal(compare_updates("fed-lbfgs", "nonconvex"), 0);
    assert_int_equal(compare_updates("fed-plt", "ridge"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_messages_have_the_bits_of_whole_ones),
        cmocka_unit_test(listed_messages_are_rounded_as_whole_ones),
        cmocka_unit_test(updates_of_few_columns_are_listed),
        cmocka_unit_test(other_updates_travel_whole),
    };
    return cmocka_run_group_tests_name("listed", tests, NULL, NULL);
}
