/* Hub and nodes driven by hand give the engine's bits; checkpoints continue to the same bits. */
#include "problems.h"
#include "base/noise.h"
#include "data/dataset_access.h"
#include "engine/engine_access.h"
#include "engine/hub_node.h"
#include "fedplt/generate.h"
#include "fedplt/memory.h"
#include "fedplt/participation.h"

#include <sys/stat.h>

enum { AGENTS = 13, N = 4 };

/* A transport that delivers in reverse order and loses an acknowledgement now and then: a node asked
 * again for the same round must send the same words. */
static void compare_by_hand(uint32_t grid)
{
    struct logistic_problem problem = logistic_make(AGENTS, N, 25, 0.3, 1);
    fplt_participation *half = half_of(AGENTS);
    fplt_run_settings settings = fplt_run_defaults();
    settings.participation = half;
    settings.seed = 3;
    settings.training.solver = fplt_solver_find("noisy");
    settings.training.noise_tau = 0.05;
    settings.training.grid = grid;
    fplt_engine *engine = engine_make(problem.objective, &settings);

    fplt_error error;
    fplt_plan plan = {.algorithm = settings.algorithm, .agents = AGENTS, .dimension = N, .seed = 3};
    plan.parameter[0] = fplt__engine_parameters(engine)[0];
    fplt_hub *hub;
    fplt_node *node[AGENTS];
    uint64_t words[AGENTS][4 * N], again[4 * N];
    assert_true(fplt_plan_words(&plan, 0) <= 4 * N && fplt_plan_enrol_words(&plan) <= 4 * N);
    assert_ok(fplt_hub_create(&plan, NULL, NULL, &hub, &error), error);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_node_settings own = {.objective = problem.objective,
                                  .cost = i,
                                  .member_index = i,
                                  .training = settings.training};
        assert_ok(fplt_objective_curvature(problem.objective, i, 0, &own.curvature, &error), error);
        assert_ok(fplt_node_create(&plan, &own, &node[i], &error), error);
        assert_int_equal(fplt_node_enrol(node[i], words[i]), FPLT_OK);
        assert_int_equal(fplt_hub_enrol(hub, words[i]), FPLT_OK);
    }
    for (uint64_t k = 0; k < 30; k++) {
        uint32_t active[AGENTS];
        uint32_t count = fplt_participation_choose(half, 3, 0, k, active);
        fplt_round round;
        double down[N], model[N], expected[N];
        fplt_hub_plan(hub, k, count, &round);
        assert_int_equal(fplt_hub_broadcast(hub, &round, 0, down), FPLT_OK);
        for (uint32_t i = count; i-- > 0;) {
            round.position = i;
            assert_ok(fplt_node_train(node[active[i]], &round, 0, down, words[i], &error), error);
            assert_ok(fplt_node_train(node[active[i]], &round, 0, down, again, &error), error);
            assert_memory_equal(words[i], again, fplt_plan_words(&plan, 0) * sizeof **words);
            /* two's complement: a multiple of the grid ends with so many zero bits */
            for (size_t j = 0; grid && j < fplt_plan_words(&plan, 0); j += 2)
                assert_true(words[i][j] % (UINT64_C(1) << (64 - grid)) == 0);
            assert_int_equal(fplt_hub_receive(hub, 0, words[i]), FPLT_OK);
            fplt_node_accept(node[active[i]]);
        }
        assert_int_equal(fplt_hub_absorb(hub, &round, 0), FPLT_OK);
        assert_ok(fplt_engine_round(engine, &error), error);
        assert_int_equal(fplt_hub_model(hub, model), FPLT_OK);
        assert_int_equal(fplt_engine_model(engine, expected), FPLT_OK);
        assert_memory_equal(model, expected, sizeof model);
    }
    assert_true(fplt__engine_consistent(engine));
    for (uint32_t i = 0; i < AGENTS; i++) {
        assert_memory_equal(fplt__node_kept(node[i]), fplt__engine_kept(engine, i),
                            2 * N * sizeof(double));
        fplt_node_destroy(node[i]);
    }
    fplt_hub_destroy(hub);
    fplt_engine_destroy(engine);
    fplt_participation_destroy(half);
    logistic_free(&problem);
}

static void by_hand_equals_the_engine(void **state)
{
    (void)state;
    compare_by_hand(0);
}

/* The messages are multiples of the grid, and the running sum is still that of the agents' own vectors, to the bit. */
static void by_hand_equals_the_engine_on_a_grid(void **state)
{
    (void)state;
    compare_by_hand(12);
    compare_by_hand(3);
}

static fplt_status constant(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                            const double *down, double *up, fplt_error *error)
{
    (void)round, (void)exchange, (void)down, (void)error;
    for (size_t i = 0; i < agent->dimension; i++)
        up[i] = i % 2 ? -0.3 : 0.3;
    return FPLT_OK;
}

/* Rounding to the grid 1/4 is unbiased: 0.3 is 0.25 with probability 4/5 and 0.5 with 1/5, -0.3 likewise. Over 200,000
 * draws the mean has the standard error 0.1/sqrt(200,000) = 2.2e-4. Keyed: the test has no chance in it. */
static void rounding_has_no_bias(void **state)
{
    (void)state;
    enum { LENGTH = 1000, ROUNDS = 200 };
    struct logistic_problem problem = logistic_make(1, LENGTH, 3, 0.3, 1);
    fplt_algorithm same = *fplt_algorithm_find("fedavg");
    same.local = constant;
    fplt_plan plan = {.algorithm = &same, .agents = 1, .dimension = LENGTH, .step = 0.25};
    fplt_node_settings own = {.objective = problem.objective, .training = fplt_training_defaults()};
    own.training.grid = 2;
    fplt_error error;
    fplt_node *node;
    uint64_t *words = calloc(2 * LENGTH, sizeof *words);
    double *down = calloc(LENGTH, sizeof *down), sum[2] = {0};
    assert_ok(fplt_node_create(&plan, &own, &node, &error), error);
    for (uint64_t k = 0; k < ROUNDS; k++) {
        fplt_round round = {.number = k, .agents = 1, .active = 1};
        assert_ok(fplt_node_train(node, &round, 0, down, words, &error), error);
        for (size_t i = 0; i < LENGTH; i++) {
            double sent = ldexp((double)words[2 * i], -64) + (double)(int64_t)words[2 * i + 1];
            assert_true(fabs(sent) == 0.25 || fabs(sent) == 0.5);
            sum[i % 2] += sent;
        }
        fplt_node_accept(node);
    }
    assert_true(fabs(sum[0] / (LENGTH * ROUNDS / 2) - 0.3) < 0.0016);
    assert_true(fabs(sum[1] / (LENGTH * ROUNDS / 2) + 0.3) < 0.0016);
    fplt_node_destroy(node);
    own.training.grid = 53;
    assert_int_equal(fplt_node_create(&plan, &own, &node, &error), FPLT_BAD_VALUE);
    free(words);
    free(down);
    logistic_free(&problem);
}

/* With a unit, words count multiples of it, the hub takes their total alone, and engine and hub have the same bits. */
static void words_count_units(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(AGENTS, N, 25, 0.3, 1);
    fplt_run_settings settings = fplt_run_defaults();
    settings.algorithm = fplt_algorithm_find("fedavg");
    settings.training.solver = fplt_solver_find("noisy");
    settings.training.noise_tau = 0.05;
    settings.training.step = 0.25;
    settings.training.epochs = 1;
    settings.unit = fplt__noise_spacing(settings.training.step, settings.training.noise_tau);
    fplt_engine *engine = engine_make(problem.objective, &settings);
    fplt_error error;
    fplt_plan plan = {.algorithm = settings.algorithm,
                      .agents = AGENTS,
                      .dimension = N,
                      .step = 0.25,
                      .unit = settings.unit};
    fplt_plan fine = plan;
    fine.unit = 0;
    fplt_hub *hub;
    fplt_node *node[AGENTS], *exact[AGENTS];
    assert_ok(fplt_hub_create(&plan, NULL, NULL, &hub, &error), error);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_node_settings own = {.objective = problem.objective,
                                  .cost = i,
                                  .member_index = i,
                                  .training = settings.training};
        assert_ok(fplt_node_create(&plan, &own, &node[i], &error), error);
        assert_ok(fplt_node_create(&fine, &own, &exact[i], &error), error);
    }
    for (uint64_t k = 0; k < 20; k++) {
        fplt_round round;
        double down[N], model[N], expected[N];
        int64_t total[N] = {0};
        fplt_hub_plan(hub, k, AGENTS, &round);
        assert_int_equal(fplt_hub_broadcast(hub, &round, 0, down), FPLT_OK);
        for (uint32_t i = 0; i < AGENTS; i++) {
            uint64_t words[2 * N], whole[2 * N];
            round.position = i;
            assert_ok(fplt_node_train(node[i], &round, 0, down, words, &error), error);
            assert_ok(fplt_node_train(exact[i], &round, 0, down, whole, &error), error);
            for (size_t j = 0; j < N; j++) {
                double x = (double)(int64_t)whole[2 * j + 1] + ldexp((double)whole[2 * j], -64);
                int64_t units = (int64_t)words[2 * j];
                assert_int_equal(words[2 * j + 1], units < 0 ? UINT64_MAX : 0);
                assert_int_equal(units, llround(x / plan.unit));
                total[j] += units;
            }
            fplt_node_accept(node[i]);
            fplt_node_accept(exact[i]);
        }
        uint64_t sum[2 * N];
        for (size_t j = 0; j < N; j++) {
            sum[2 * j] = (uint64_t)total[j];
            sum[2 * j + 1] = total[j] < 0 ? UINT64_MAX : 0;
        }
        assert_int_equal(fplt_hub_receive(hub, 0, sum), FPLT_OK);
        assert_int_equal(fplt_hub_absorb(hub, &round, 0), FPLT_OK);
        assert_ok(fplt_engine_round(engine, &error), error);
        assert_int_equal(fplt_hub_model(hub, model), FPLT_OK);
        assert_int_equal(fplt_engine_model(engine, expected), FPLT_OK);
        assert_memory_equal(model, expected, sizeof model);
        for (size_t j = 0; j < N; j++) {
            double mean = (double)total[j] * plan.unit / AGENTS;
            assert_true(fabs(model[j] - mean) <= 1e-15 * fabs(mean));
        }
    }
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_node_destroy(node[i]);
        fplt_node_destroy(exact[i]);
    }
    fplt_hub_destroy(hub);
    fplt_engine_destroy(engine);
    logistic_free(&problem);
}

static void units_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        double unit;
        const char *sentence;
    } cases[] = {
        {"fed-plt", 0.5, "fed-plt sends changes of vectors, which cannot be counted in a unit"},
        {"fed-lbfgs", 0.5, "fed-lbfgs sends numbers beside its vectors"},
        {"fedavg", -1, "unit of the numbers that agents send is -1"},
        {"fedavg", NAN, "unit of the numbers that agents send is nan"},
        {"fedavg", HUGE_VAL, "within 2^-512 .. 2^64"},
    };
    struct logistic_problem problem = logistic_make(2, N, 5, 0.3, 1);
    fplt_run_settings settings = fplt_run_defaults();
    fplt_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_engine *engine;
        settings.algorithm = fplt_algorithm_find(cases[i].algorithm);
        settings.unit = cases[i].unit;
        assert_int_not_equal(fplt_engine_create(problem.objective, &settings, &engine, &error),
                             FPLT_OK);
        assert_contains(error.text, cases[i].sentence);
        fplt_plan plan = {.algorithm = settings.algorithm,
                          .agents = 2,
                          .dimension = N,
                          .step = 0.25,
                          .unit = settings.unit};
        plan.parameter[0] = 1;
        fplt_node_settings own = {.objective = problem.objective, .training = settings.training};
        fplt_node *node;
        assert_int_not_equal(fplt_node_create(&plan, &own, &node, &error), FPLT_OK);
        assert_contains(error.text, cases[i].sentence);
    }
    double far[N] = {0x1p54};
    fplt_engine *engine;
    settings.algorithm = fplt_algorithm_find("fedavg");
    settings.unit = 1;
    settings.start = FPLT_START_GIVEN;
    settings.given = far;
    assert_ok(fplt_engine_create(problem.objective, &settings, &engine, &error), error);
    assert_int_equal(fplt_engine_round(engine, &error), FPLT_DIVERGED);
    assert_contains(error.text, "agent 0 sends a number that is not finite or too large");
    fplt_engine_destroy(engine);
    logistic_free(&problem);
}

/* Sites with 13 to 37 rows, each node with the rows of its own site alone. */
static void rows_count_alike_also_where_each_site_is_alone(void **state)
{
    (void)state;
    enum { SITES = 5 };
    fplt_error error;
    fplt_generate_settings recipe = fplt_generate_defaults();
    recipe.agents = SITES;
    recipe.features = N;
    recipe.rows = 25;
    recipe.unequal = 0.5;
    fplt_dataset *all;
    assert_ok(fplt_dataset_generate(&recipe, &all, &error), error);
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.weigh_rows = 1;
    fplt_objective *among, *alone[SITES];
    assert_ok(fplt_objective_create(&cost, all, &among, &error), error);
    fplt_run_settings settings = fplt_run_defaults();
    fplt_engine *engine = engine_make(among, &settings);
    fplt_plan plan = {.algorithm = settings.algorithm, .agents = SITES, .dimension = N};
    plan.parameter[0] = fplt__engine_parameters(engine)[0];
    fplt_hub *hub;
    fplt_node *node[SITES];
    uint64_t words[4 * N];
    assert_ok(fplt_hub_create(&plan, NULL, NULL, &hub, &error), error);
    for (uint32_t i = 0; i < SITES; i++) {
        fplt_dataset *own;
        fplt_node_settings site = {.member_index = i, .training = settings.training};
        assert_ok(fplt__dataset_pick(all, &i, 1, &own, &error), error);
        cost.all_agents = 0;
        assert_ok(fplt_objective_create(&cost, own, &alone[i], &error), error);
        site.objective = alone[i];
        assert_int_equal(fplt_node_create(&plan, &site, &node[i], &error), FPLT_BAD_VALUE);
        assert_contains(error.text, "rows are to count as those of all 5 agents do, but its cost "
                                    "knows the rows of 1: give all_agents and all_weight");
        fplt_objective_destroy(alone[i]);
        cost.all_agents = SITES;
        cost.all_weight = (double)fplt_dataset_rows(all);
        assert_ok(fplt_objective_create(&cost, own, &alone[i], &error), error);
        site.objective = alone[i];
        assert_ok(fplt_objective_curvature(alone[i], 0, 0, &site.curvature, &error), error);
        assert_ok(fplt_node_create(&plan, &site, &node[i], &error), error);
        assert_int_equal(fplt_node_enrol(node[i], words), FPLT_OK);
        assert_int_equal(fplt_hub_enrol(hub, words), FPLT_OK);
        fplt_dataset_destroy(own);
    }
    for (uint64_t k = 0; k < 10; k++) {
        fplt_round round;
        double down[N], model[N], expected[N];
        fplt_hub_plan(hub, k, SITES, &round);
        assert_int_equal(fplt_hub_broadcast(hub, &round, 0, down), FPLT_OK);
        for (uint32_t i = 0; i < SITES; i++) {
            round.position = i;
            assert_ok(fplt_node_train(node[i], &round, 0, down, words, &error), error);
            assert_int_equal(fplt_hub_receive(hub, 0, words), FPLT_OK);
            fplt_node_accept(node[i]);
        }
        assert_int_equal(fplt_hub_absorb(hub, &round, 0), FPLT_OK);
        assert_ok(fplt_engine_round(engine, &error), error);
        assert_int_equal(fplt_hub_model(hub, model), FPLT_OK);
        assert_int_equal(fplt_engine_model(engine, expected), FPLT_OK);
        assert_memory_equal(model, expected, sizeof model);
    }
    for (uint32_t i = 0; i < SITES; i++) {
        fplt_node_destroy(node[i]);
        fplt_objective_destroy(alone[i]);
    }
    fplt_hub_destroy(hub);
    fplt_engine_destroy(engine);
    fplt_objective_destroy(among);
    fplt_dataset_destroy(all);
}

static void nodes_survive_every_failed_allocation(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(2, N, 10, 0.3, 2);
    fplt_plan plan = {.algorithm = fplt_algorithm_find("fed-plt"), .agents = 2, .dimension = N};
    plan.parameter[0] = 1;
    int whole = 0;
    for (long n = 0; !whole; n++) {
        struct counting counting = {0, 0, n};
        counting_install(&counting);
        fplt_error error;
        fplt_hub *hub;
        fplt_node *node;
        fplt_node_settings own = {.objective = problem.objective,
                                  .training = fplt_training_defaults(),
                                  .curvature = {0.3, 2}};
        fplt_status first = fplt_hub_create(&plan, NULL, NULL, &hub, &error);
        fplt_status second = fplt_node_create(&plan, &own, &node, &error);
        assert_true(!first || first == FPLT_NO_MEMORY);
        assert_true(!second || second == FPLT_NO_MEMORY);
        whole = !first && !second;
        fplt_hub_destroy(hub);
        fplt_node_destroy(node);
        assert_int_equal(counting.live, 0);
        fplt_allocator_set(NULL);
        assert_true(n < 100);
    }
    logistic_free(&problem);
}

static char *temporary(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "/tmp/fedplt-test-%ld-%s", (long)getpid(), name);
    return path;
}

static void a_checkpoint_continues_to_the_same_bits(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(AGENTS, N, 25, 0.3, 4);
    fplt_participation *half = half_of(AGENTS);
    const char *path = temporary("checkpoint");
    for (size_t a = 0; fplt_algorithm_list(a); a++) {
        const fplt_algorithm *algorithm = fplt_algorithm_list(a);
        fplt_run_settings settings = fplt_run_defaults();
        settings.algorithm = algorithm;
        if (!(algorithm->allows & FPLT_NEEDS_CERTAINTY))
            settings.training.solver = fplt_solver_find("noisy");
        settings.training.noise_tau = 0.01;
        settings.participation = algorithm->allows & FPLT_ALLOWS_PARTIAL ? half : NULL;
        settings.tolerance = 0;
        settings.change = 1e-300;
        settings.rounds = 20;
        fplt_error error;
        fplt_result whole, rest;
        fplt_engine *straight = engine_make(problem.objective, &settings);
        assert_ok(fplt_engine_run(straight, NULL, NULL, &whole, &error), error);

        fplt_engine *first = engine_make(problem.objective, &settings);
        for (int k = 0; k < 8; k++)
            assert_ok(fplt_engine_round(first, &error), error);
        assert_ok(fplt_engine_save(first, path, &error), error);
        fplt_engine_destroy(first);
        settings.threads = 1;
        fplt_engine *second = engine_make(problem.objective, &settings);
        assert_ok(fplt_engine_load(second, path, &error), error);
        assert_ok(fplt_engine_run(second, NULL, NULL, &rest, &error), error);

        double x[N], y[N];
        fplt_engine_model(straight, x);
        fplt_engine_model(second, y);
        assert_memory_equal(x, y, sizeof x);
        assert_true(whole.end.criterion == rest.end.criterion);
        assert_memory_equal(&whole.counters, &rest.counters, sizeof whole.counters);
        size_t size = fplt__engine_shape(straight).kept * N * sizeof(double);
        for (uint32_t i = 0; i < AGENTS; i++)
            assert_memory_equal(fplt__engine_kept(straight, i), fplt__engine_kept(second, i), size);
        fplt_engine_destroy(straight);
        fplt_engine_destroy(second);
    }
    remove(path);
    fplt_participation_destroy(half);
    logistic_free(&problem);
}

static void refuse(fplt_engine *engine, const char *path, const char *part)
{
    fplt_error error;
    assert_int_not_equal(fplt_engine_load(engine, path, &error), FPLT_OK);
    assert_contains(error.text, part);
}

static void a_foreign_or_damaged_checkpoint_is_refused(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(AGENTS, N, 25, 0.3, 4);
    struct logistic_problem other = logistic_make(AGENTS, N, 25, 0.3, 5);
    struct logistic_problem larger = logistic_make(AGENTS + 1, N, 25, 0.3, 5);
    fplt_run_settings settings = fplt_run_defaults();
    fplt_error error;
    char path[200];
    strcpy(path, temporary("refused"));
    fplt_engine *engine = engine_make(problem.objective, &settings);
    assert_ok(fplt_engine_save(engine, path, &error), error);

    fplt_engine *foreign = engine_make(other.objective, &settings);
    refuse(foreign, path, "other data or other settings");
    fplt_engine_destroy(foreign);
    foreign = engine_make(larger.objective, &settings);
    refuse(foreign, path, "13 agents");
    fplt_engine_destroy(foreign);
    settings.seed = 77;
    foreign = engine_make(problem.objective, &settings);
    refuse(foreign, path, "seed");
    fplt_engine_destroy(foreign);
    settings.seed = 0;
    settings.training.epochs = 6;
    foreign = engine_make(problem.objective, &settings);
    refuse(foreign, path, "other data or other settings");
    fplt_engine_destroy(foreign);

    FILE *file = fopen(path, "r+b");
    fseek(file, -100, SEEK_END);
    fputc(0x55, file);
    fclose(file);
    refuse(engine, path, "damaged");
    assert_int_equal(truncate(path, 300), 0);
    refuse(engine, path, path);
    file = fopen(path, "wb");
    fputs("not a checkpoint", file);
    fclose(file);
    refuse(engine, path, "not a checkpoint");
    remove(path);
    refuse(engine, path, path);
    assert_int_not_equal(fplt_engine_save(engine, "/nonexistent/place", &error), FPLT_OK);
    assert_contains(error.text, "/nonexistent");
    fplt_engine_destroy(engine);
    logistic_free(&problem);
    logistic_free(&other);
    logistic_free(&larger);
}

/* Exchanges of a node in an order that the coordinator does not have: refused, and nothing is computed. */
static void exchanges_come_in_their_turn(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(AGENTS, N, 25, 0.3, 1);
    fplt_error error;
    fplt_plan plan = {
        .algorithm = fplt_algorithm_find("fedlin"), .agents = AGENTS, .dimension = N, .step = 0.1};
    fplt_node_settings own = {.objective = problem.objective, .training = fplt_training_defaults()};
    fplt_node *node;
    double down[2][2 * N] = {{0.25, 1}, {0.5, -1}};
    uint64_t words[2][4 * N], again[4 * N];
    static const struct {
        uint64_t round;
        unsigned exchange;
        const char *says; /* NULL: it is computed, or answered as before */
    } turns[] = {{3, 1, "out of turn"}, {3, 2, "out of turn"}, {3, 255, "out of turn"},
                 {3, 0, NULL},          {4, 1, "out of turn"}, {2, 0, "is over"},
                 {2, 1, "out of turn"}, {3, 2, "out of turn"}, {3, 1, NULL},
                 {3, 0, NULL},          {3, 1, NULL},          {5, 1, "out of turn"},
                 {5, 0, NULL},          {3, 1, "out of turn"}, {5, 1, NULL}};
    own.training.epochs = 2;
    plan.parameter[0] = 1;
    assert_ok(fplt_objective_curvature(problem.objective, 0, 0, &own.curvature, &error), error);
    assert_ok(fplt_node_create(&plan, &own, &node, &error), error);
    assert_true(fplt_plan_words(&plan, 0) <= 4 * N && fplt_plan_words(&plan, 1) <= 4 * N);
    uint64_t last[2] = {UINT64_MAX, UINT64_MAX}; /* the round that words are of */
    for (size_t k = 0; k < sizeof turns / sizeof *turns; k++) {
        fplt_round round;
        unsigned e = turns[k].exchange;
        double before = fplt__node_gradients(node);
        fplt__round_make(&plan, turns[k].round, AGENTS, 0, NULL, &round);
        fplt_status status = fplt_node_train(node, &round, e, down[e % 2], again, &error);
        if (turns[k].says) {
            assert_int_equal(status, FPLT_BAD_VALUE);
            assert_contains(error.text, turns[k].says);
            assert_true(fplt__node_gradients(node) == before);
            continue;
        }
        assert_ok(status, error);
        size_t size = fplt_plan_words(&plan, e) * sizeof *again;
        if (last[e] == turns[k].round)
            assert_memory_equal(again, words[e], size);
        assert_true((fplt__node_gradients(node) > before) == (last[e] != turns[k].round));
        memcpy(words[e], again, size);
        last[e] = turns[k].round;
    }
    fplt_node_destroy(node);
    logistic_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_come_in_their_turn),
        cmocka_unit_test(by_hand_equals_the_engine),
        cmocka_unit_test(by_hand_equals_the_engine_on_a_grid),
        cmocka_unit_test(rounding_has_no_bias),
        cmocka_unit_test(words_count_units),
        cmocka_unit_test(units_that_cannot_be_are_refused),
        cmocka_unit_test(rows_count_alike_also_where_each_site_is_alone),
        cmocka_unit_test(nodes_survive_every_failed_allocation),
        cmocka_unit_test(a_checkpoint_continues_to_the_same_bits),
        cmocka_unit_test(a_foreign_or_damaged_checkpoint_is_refused),
    };
    return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
