/* From facts to a plan: what an embedder gets for a hub and nodes is what the engine runs with, for every algorithm with
 * every solver that it takes, with all and with some of the agents. */
#include "plans.h"
#include "problems.h"
#include "fedplt/algorithm.h"
#include "fedplt/participation.h"

enum { AGENTS = 5, N = 4, ROUNDS = 4, MAX_WORDS = 200 };

struct cell {
    const fplt_algorithm *algorithm;
    fplt_training training;
    fplt_participation *some; /* NULL: all */
};

/* The plan as an embedder makes it: from the curvatures of its own agents. */
static fplt_plan plan_by_hand(const struct cell *cell, const fplt_objective *objective)
{
    fplt_error error;
    fplt_plan plan = {.seed = 5};
    fplt_facts facts = {.agents = AGENTS, .dimension = N};
    if (cell->some)
        facts.cohort = fplt_expected_cohort(cell->some);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_curvature own;
        assert_ok(fplt_objective_curvature(objective, i, 0, &own, &error), error);
        facts.curvature = i ? fplt_curvature_join(facts.curvature, own) : own;
    }
    assert_ok(fplt_plan_resolve(cell->algorithm, NULL, &cell->training, &facts, &plan, &error),
              error);
    return plan;
}

static fplt_node *node_of(const struct cell *cell, const fplt_plan *plan,
                          const fplt_objective *objective, uint32_t agent)
{
    fplt_error error;
    fplt_node *node;
    fplt_node_settings own = {.objective = objective,
                              .cost = agent,
                              .member_index = agent,
                              .training = cell->training,
                              .cohort = cell->some ? fplt_expected_cohort(cell->some) : AGENTS};
    assert_ok(fplt_objective_curvature(objective, agent, 0, &own.curvature, &error), error);
    assert_ok(fplt_node_create(plan, &own, &node, &error), error);
    return node;
}

static void round_by_hand(const fplt_plan *plan, fplt_hub *hub, fplt_node **node, uint64_t number,
                          const uint32_t *active, uint32_t count)
{
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, N);
    fplt_error error;
    fplt_round round;
    double down[4 * N];
    uint64_t words[MAX_WORDS];
    if (!count)
        return;
    fplt_hub_plan(hub, number, count, &round);
    for (unsigned e = 0; e < shape.exchanges; e++) {
        assert_true(fplt_plan_words(plan, e) <= MAX_WORDS && fplt_plan_down(plan, e) <= 4 * N);
        assert_int_equal(fplt_hub_broadcast(hub, &round, e, down), FPLT_OK);
        for (uint32_t m = 0; m < count; m++) {
            round.position = m;
            assert_ok(fplt_node_train(node[active[m]], &round, e, down, words, &error), error);
            assert_int_equal(fplt_hub_receive(hub, e, words), FPLT_OK);
        }
        assert_int_equal(fplt_hub_absorb(hub, &round, e), FPLT_OK);
    }
    if (shape.finish_down)
        assert_int_equal(fplt_hub_broadcast(hub, &round, shape.exchanges, down), FPLT_OK);
    for (uint32_t m = 0; m < count; m++) {
        round.position = m;
        if (shape.finish_down)
            fplt_node_finish(node[active[m]], &round, down);
        fplt_node_accept(node[active[m]]);
    }
}

static void run_by_hand(const struct cell *cell, const fplt_objective *objective, double *x)
{
    fplt_error error;
    fplt_hub *hub;
    fplt_node *node[AGENTS];
    uint64_t words[MAX_WORDS];
    fplt_plan plan = plan_by_hand(cell, objective);
    assert_ok(fplt_hub_create(&plan, NULL, NULL, &hub, &error), error);
    for (uint32_t i = 0; i < AGENTS; i++) {
        node[i] = node_of(cell, &plan, objective, i);
        assert_int_equal(fplt_node_enrol(node[i], words), FPLT_OK);
        assert_int_equal(fplt_hub_enrol(hub, words), FPLT_OK);
    }
    for (uint64_t k = 0; k < ROUNDS; k++) {
        uint32_t active[AGENTS] = {0, 1, 2, 3, 4}, count = AGENTS;
        if (cell->some)
            count = fplt_participation_choose(cell->some, plan.seed, plan.run, k, active);
        round_by_hand(&plan, hub, node, k, active, count);
    }
    assert_int_equal(fplt_hub_model(hub, x), FPLT_OK);
    for (uint32_t i = 0; i < AGENTS; i++)
        fplt_node_destroy(node[i]);
    fplt_hub_destroy(hub);
}

static void run_by_engine(const struct cell *cell, const fplt_objective *objective, double *x)
{
    fplt_error error;
    fplt_run_settings settings = fplt_run_defaults();
    settings.algorithm = cell->algorithm;
    settings.training = cell->training;
    settings.participation = cell->some;
    settings.seed = 5;
    settings.threads = 1;
    settings.rounds = ROUNDS;
    settings.tolerance = 0;
    fplt_engine *engine = engine_make(objective, &settings);
    assert_ok(fplt_engine_run(engine, NULL, NULL, NULL, &error), error);
    assert_int_equal(fplt_engine_model(engine, x), FPLT_OK);
    fplt_engine_destroy(engine);
}

static int compare_cell(const struct cell *cell, const fplt_objective *objective)
{
    double by_hand[N], by_engine[N];
    if (fplt_algorithm_allow(cell->algorithm, cell->training.solver, cell->some != NULL, 0, 0,
                             NULL))
        return 0;
    run_by_hand(cell, objective, by_hand);
    run_by_engine(cell, objective, by_engine);
    if (memcmp(by_hand, by_engine, sizeof by_hand) != 0)
        fail_msg("%s with %s, %s: %.17g by hand, %.17g by the engine", cell->algorithm->name,
                 cell->training.solver->name, cell->some ? "some" : "all", by_hand[0],
                 by_engine[0]);
    return 1;
}

static void a_plan_by_hand_gives_the_bits_of_the_engine(void **state)
{
    (void)state;
    fplt_error error;
    struct logistic_problem p = logistic_make(AGENTS, N, 20, 0.3, 7);
    fplt_participation_settings rule = {.rule = "bernoulli", .probability = 0.7};
    fplt_participation *some;
    int legal = 0;
    assert_ok(fplt_participation_create(&rule, AGENTS, &some, &error), error);
    for (size_t a = 0; fplt_algorithm_list(a); a++)
        for (size_t s = 0; fplt_solver_list(s); s++) {
            struct cell cell = {fplt_algorithm_list(a), fplt_training_defaults(), NULL};
            cell.training.solver = fplt_solver_list(s);
            if (cell.training.solver->traits & FPLT_NOISY)
                cell.training.noise_tau = 0.01;
            legal += compare_cell(&cell, p.objective);
            cell.some = some;
            legal += compare_cell(&cell, p.objective);
        }
    assert_true(legal > 100);
    fplt_participation_destroy(some);
    logistic_free(&p);
}

/* gamma of accelerated FedLin is 2/(lmax Ne (Ne + 3)) of the joint curvature, one for all. */
static void the_common_step_is_the_solvers_with_the_algorithm(void **state)
{
    (void)state;
    fplt_error error;
    fplt_plan plan = {.seed = 3, .run = 4};
    fplt_training training = fplt_training_defaults();
    fplt_curvature near = {0.5, 4}, far = {0.25, 2};
    fplt_facts facts = {.curvature = fplt_curvature_join(near, far), .agents = 2, .dimension = N};
    const fplt_algorithm *fedlin = fplt_algorithm_find("fedlin");
    training.solver = fplt_solver_find("accelerated");
    training.epochs = 7;
    assert_true(facts.curvature.lowest == 0.25 && facts.curvature.highest == 4);
    assert_ok(fplt_plan_resolve(fedlin, NULL, &training, &facts, &plan, &error), error);
    assert_close(plan.step, 2 / (4.0 * 7 * 10), 1e-15);
    assert_true(plan.algorithm == fedlin && plan.agents == 2 && plan.dimension == N);
    assert_true(plan.seed == 3 && plan.run == 4);
    facts.epochs = 3;
    assert_ok(fplt_plan_resolve(fedlin, NULL, &training, &facts, &plan, &error), error);
    assert_close(plan.step, 2 / (4.0 * 3 * 6), 1e-15);
    training.step = 0.125;
    assert_ok(fplt_plan_resolve(fedlin, NULL, &training, &facts, &plan, &error), error);
    assert_true(plan.step == 0.125);
    /* each agent has its own */
    assert_ok(fplt_plan_resolve(fplt_algorithm_find("fed-plt"), NULL, &training, &facts, &plan,
                                &error),
              error);
    assert_true(plan.step == 0);
    training.solver = fplt_solver_find("newton");
    assert_ok(fplt_plan_resolve(fplt_algorithm_find("fedprox"), NULL, &training, &facts, &plan,
                                &error),
              error);
    assert_true(plan.step == 0);
}

/* What is given is kept, what is NaN is automatic: rho = 1/sqrt(lmin lmax); resolved again it stays. */
static void parameters_are_given_or_automatic(void **state)
{
    (void)state;
    fplt_error error;
    fplt_plan plan = {.seed = 0}, again = {.seed = 0};
    fplt_training training = fplt_training_defaults();
    fplt_facts facts = {.curvature = {0.25, 4}, .agents = 2, .dimension = N};
    const fplt_algorithm *a = fplt_algorithm_find("fed-plt");
    int rho = fplt_algorithm_parameter(a, "rho");
    double given[FPLT_MAX_PARAMETERS];
    assert_ok(fplt_plan_resolve(a, NULL, &training, &facts, &plan, &error), error);
    assert_close(plan.parameter[rho], 1, 1e-15);
    fplt_algorithm_defaults(a, given);
    given[rho] = 0.75;
    assert_ok(fplt_plan_resolve(a, given, &training, &facts, &plan, &error), error);
    assert_true(plan.parameter[rho] == 0.75);
    again = plan;
    assert_ok(fplt_plan_resolve(a, again.parameter, &training, &facts, &again, &error), error);
    assert_same_plan(&again, &plan);
}

static void the_expected_cohort_is_the_sum_of_the_rates(void **state)
{
    (void)state;
    const struct {
        fplt_participation_settings rule;
        uint32_t agents, cohort;
    } cases[] = {
        {{.rule = "all"}, 7, 7},
        {{.rule = "bernoulli", .probability = 0.5}, 10, 5},
        {{.rule = "bernoulli", .probability = 0.29}, 5, 1},
        {{.rule = "bernoulli", .probability = 0.31}, 5, 2},
        {{.rule = "bernoulli", .probability = 1e-9}, 3, 1}, /* never none */
        {{.rule = "fixed", .count = 3}, 8, 3},
        {{.rule = "round-robin", .count = 2}, 6, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_error error;
        fplt_participation *made;
        assert_ok(fplt_participation_create(&cases[i].rule, cases[i].agents, &made, &error), error);
        assert_int_equal(fplt_expected_cohort(made), cases[i].cohort);
        fplt_participation_destroy(made);
    }
}

static void refused(const char *words, const fplt_training *training, const fplt_facts *facts)
{
    fplt_error error;
    fplt_plan plan = {.seed = 9, .step = 1}, before = plan;
    const fplt_algorithm *a = fplt_algorithm_find("fedavg");
    assert_int_equal(fplt_plan_resolve(a, NULL, training, facts, &plan, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, words);
    assert_same_plan(&plan, &before);
}

static void impossible_facts_are_refused(void **state)
{
    (void)state;
    fplt_error error;
    fplt_plan plan = {.seed = 0};
    fplt_training training = fplt_training_defaults(), odd = training;
    const fplt_facts right = {.curvature = {0, 1}, .agents = 3, .dimension = N};
    fplt_facts facts = right;
    assert_int_equal(fplt_plan_resolve(NULL, NULL, &training, &facts, &plan, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "no algorithm is given");
    facts.curvature.highest = 0;
    refused("the largest curvature must be a positive number", &training, &facts);
    facts.curvature.highest = NAN;
    refused("the largest curvature must be a positive number", &training, &facts);
    facts.curvature = (fplt_curvature){-INFINITY, 1};
    refused("the costs curve between -inf and 1", &training, &facts);
    facts = right;
    facts.agents = 0;
    refused("a plan for 0 agents", &training, &facts);
    facts = right;
    facts.dimension = 0;
    refused("dimension 0", &training, &facts);
    facts = right;
    facts.cohort = 4;
    refused("the expected cohort is 4, but there are only 3 agents", &training, &facts);
    odd.solver = NULL;
    refused("no local solver is given", &odd, &right);
    odd = training;
    odd.step = -1;
    refused("gamma is -1", &odd, &right);
    odd.step = NAN;
    refused("gamma is nan", &odd, &right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_by_hand_gives_the_bits_of_the_engine),
        cmocka_unit_test(the_common_step_is_the_solvers_with_the_algorithm),
        cmocka_unit_test(parameters_are_given_or_automatic),
        cmocka_unit_test(the_expected_cohort_is_the_sum_of_the_rates),
        cmocka_unit_test(impossible_facts_are_refused),
    };
    return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
