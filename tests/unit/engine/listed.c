/* Messages that are listed, as small agents with sparse rows do, beside whole ones. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_messages_have_the_bits_of_whole_ones),
        cmocka_unit_test(listed_messages_are_rounded_as_whole_ones),
    };
    return cmocka_run_group_tests_name("listed", tests, NULL, NULL);
}
