/* Hubs and nodes that live as bytes between any two calls give the engine's bits, for every
 * algorithm; agents make the round from the plan, measure as the engine does, and answer only what
 * they may. */
#include "plans.h"
#include "problems.h"

#include "data/dataset_access.h"
#include "engine/node.h"
#include "engine/engine_access.h"
#include "engine/hub_node.h"
#include "engine/stopping.h"
#include "fedplt/encoding.h"
#include "fedplt/generate.h"
#include "fedplt/hub_node.h"
#include "fedplt/inference.h"
#include "fedplt/participation.h"
#include "fedplt/partition.h"
#include "base/sum.h"
#include "objective/objective.h"
#include "report/inference.h"

enum { AGENTS = 5, N = 3, ROUNDS = 12, ROOM = 4096 };

struct bytes {
    size_t size;
    unsigned char *at;
};

/* A federation in which nothing lives but bytes. */
struct scene {
    struct logistic_problem problem;
    fplt_participation *half;
    fplt_run_settings settings;
    fplt_engine *engine;
    fplt_plan plan;
    fplt_shape shape;
    struct bytes hub, node[AGENTS];
};

static struct bytes keep_hub(fplt_hub *hub)
{
    struct bytes bytes = {.size = fplt_hub_encode(hub, NULL, 0)};
    bytes.at = malloc(bytes.size);
    assert_int_equal(fplt_hub_encode(hub, bytes.at, bytes.size), bytes.size);
    fplt_hub_destroy(hub);
    return bytes;
}

static struct bytes keep_node(fplt_node *node)
{
    struct bytes bytes = {.size = fplt_node_encode(node, NULL, 0)};
    bytes.at = malloc(bytes.size);
    assert_int_equal(fplt_node_encode(node, bytes.at, bytes.size), bytes.size);
    fplt_node_destroy(node);
    return bytes;
}

static fplt_hub *new_hub(const struct scene *scene)
{
    fplt_error error;
    fplt_hub *hub;
    assert_ok(fplt_hub_create(&scene->plan, NULL, NULL, &hub, &error), error);
    return hub;
}

static fplt_node *new_node(const struct scene *scene, uint32_t i, uint64_t cap)
{
    fplt_error error;
    fplt_node *node;
    fplt_node_settings own = {.objective = scene->problem.objective,
                              .cost = i,
                              .member_index = i,
                              .training = scene->settings.training,
                              .cohort = fplt__engine_facts(scene->engine).cohort,
                              .cap = cap};
    assert_ok(fplt_objective_curvature(scene->problem.objective, i, 0, &own.curvature, &error),
              error);
    assert_ok(fplt_node_create(&scene->plan, &own, &node, &error), error);
    return node;
}

static fplt_hub *wake_hub(struct scene *scene)
{
    fplt_error error;
    fplt_hub *hub = new_hub(scene);
    assert_ok(fplt_hub_decode(hub, scene->hub.at, scene->hub.size, &error), error);
    free(scene->hub.at);
    return hub;
}

static fplt_node *wake_node(struct scene *scene, uint32_t i)
{
    fplt_error error;
    fplt_node *node = new_node(scene, i, 0);
    assert_ok(fplt_node_decode(node, scene->node[i].at, scene->node[i].size, &error), error);
    free(scene->node[i].at);
    return node;
}

static void open_scene(struct scene *scene, const fplt_algorithm *algorithm)
{
    fplt_error error;
    *scene = (struct scene){.problem = logistic_make(AGENTS, N, 20, 0.3, 7), .half = NULL};
    fplt_participation_settings some = {.rule = "fixed", .count = 3};
    assert_ok(fplt_participation_create(&some, AGENTS, &scene->half, &error), error);
    scene->settings = fplt_run_defaults();
    scene->settings.algorithm = algorithm;
    scene->settings.seed = 5;
    if (algorithm->allows & FPLT_ALLOWS_PARTIAL)
        scene->settings.participation = scene->half;
    scene->engine = engine_make(scene->problem.objective, &scene->settings);
    fplt_facts facts = fplt__engine_facts(scene->engine);
    scene->plan = (fplt_plan){
        .algorithm = algorithm, .agents = AGENTS, .dimension = N, .seed = scene->settings.seed};
    memcpy(scene->plan.parameter, fplt__engine_parameters(scene->engine),
           fplt_algorithm_parameters(algorithm) * sizeof(double));
    scene->plan.step = algorithm->common_step ? algorithm->step(&facts, scene->plan.parameter) : 0;
    scene->shape = fplt_algorithm_shape(algorithm, scene->plan.parameter, N);
    fplt_hub *hub = new_hub(scene);
    assert_ok(fplt__hub_enrol_all(hub, NULL, &error), error);
    scene->hub = keep_hub(hub);
    for (uint32_t i = 0; i < AGENTS; i++)
        scene->node[i] = keep_node(new_node(scene, i, 0));
}

static void close_scene(struct scene *scene)
{
    free(scene->hub.at);
    for (uint32_t i = 0; i < AGENTS; i++)
        free(scene->node[i].at);
    fplt_engine_destroy(scene->engine);
    fplt_participation_destroy(scene->half);
    logistic_free(&scene->problem);
}

/* One exchange with one agent: over the wire go the round's bytes, `down` and the words. */
static void exchange(struct scene *scene, const fplt_round *round, uint32_t identity,
                     uint32_t position, unsigned e, const double *down, uint64_t *words)
{
    fplt_error error;
    fplt_round own = *round, received;
    unsigned char bytes[ROOM];
    uint64_t again[ROOM / 8];
    own.position = position;
    size_t size = fplt_round_encode(&scene->plan, &own, bytes, sizeof bytes);
    assert_ok(fplt_round_decode(&scene->plan, bytes, size, &received, &error), error);
    assert_memory_equal(&received, &own, sizeof own);
    fplt_node *node = wake_node(scene, identity);
    assert_ok(fplt_node_train(node, &received, e, down, words, &error), error);
    double gradients = fplt__node_gradients(node);
    scene->node[identity] = keep_node(node);
    node = wake_node(scene, identity);
    assert_ok(fplt_node_train(node, &received, e, down, again, &error), error);
    assert_memory_equal(words, again, fplt_plan_words(&scene->plan, e) * sizeof *words);
    assert_true(gradients > 0 && fplt__node_gradients(node) == 0);
    scene->node[identity] = keep_node(node);
}

static void one_round(struct scene *scene, uint64_t number)
{
    uint32_t active[AGENTS] = {0, 1, 2, 3, 4}, count = AGENTS;
    if (scene->settings.participation)
        count = fplt_participation_choose(scene->half, scene->settings.seed, 0, number, active);
    fplt_hub *hub = wake_hub(scene);
    fplt_round round;
    double down[8 * N];
    fplt_hub_plan(hub, number, count, &round);
    for (unsigned e = 0; e < scene->shape.exchanges; e++) {
        assert_int_equal(fplt_hub_broadcast(hub, &round, e, down), FPLT_OK);
        for (uint32_t m = count; m-- > 0;) {
            uint64_t words[ROOM / 8];
            exchange(scene, &round, active[m], m, e, down, words);
            assert_int_equal(fplt_hub_receive(hub, e, words), FPLT_OK);
        }
        assert_int_equal(fplt_hub_absorb(hub, &round, e), FPLT_OK);
    }
    if (scene->shape.finish_down)
        assert_int_equal(fplt_hub_broadcast(hub, &round, scene->shape.exchanges, down), FPLT_OK);
    for (uint32_t m = 0; m < count; m++) {
        fplt_node *node = wake_node(scene, active[m]);
        round.position = m;
        if (scene->shape.finish_down)
            fplt_node_finish(node, &round, down);
        fplt_node_accept(node);
        scene->node[active[m]] = keep_node(node);
    }
    scene->hub = keep_hub(hub);
}

/* Criterion, objective and hits from words alone, at the mean of the agents' models. */
static void measure_by_hand(struct scene *scene, fplt_measure *measure)
{
    fplt_error error;
    fplt__sum *sum;
    double x[N], sums[N + FPLT__MEASURES], work[N];
    uint64_t words[2 * (N + FPLT__MEASURES)];
    fplt_hub *hub = wake_hub(scene);
    assert_int_equal(fplt_hub_model(hub, x), FPLT_OK);
    scene->hub = keep_hub(hub);
    assert_ok(fplt__sum_create_words(N + FPLT__MEASURES, -64, &sum, &error), error);
    for (int pass = scene->shape.local_model < 0; pass < 2; pass++) {
        fplt__sum_clear(sum);
        for (uint32_t i = 0; i < AGENTS; i++) {
            fplt_node *node = wake_node(scene, i);
            assert_ok(pass ? fplt__node_measure(node, x, words, &error)
                           : fplt_node_local_model(node, words, &error),
                      error);
            assert_int_equal(fplt__sum_add_words(sum, 0, words, pass ? N + FPLT__MEASURES : N),
                             FPLT_OK);
            scene->node[i] = keep_node(node);
        }
        fplt__sum_read(sum, 0, sums, N + FPLT__MEASURES);
        for (size_t j = 0; !pass && j < N; j++)
            x[j] = sums[j] / AGENTS;
    }
    fplt_prox_settings none = fplt_prox_defaults();
    fplt_prox *prox;
    assert_ok(fplt_prox_create(&none, N, N, &prox, &error), error);
    assert_ok(fplt__measure_read(prox, AGENTS, 1, x, sums, N, work, measure, &error), error);
    fplt_prox_destroy(prox);
    fplt__sum_destroy(sum);
}

static void bytes_give_the_engines_bits(void **state)
{
    (void)state;
    for (size_t a = 0; fplt_algorithm_list(a); a++) {
        struct scene scene;
        fplt_error error;
        open_scene(&scene, fplt_algorithm_list(a));
        for (uint64_t k = 0; k < ROUNDS; k++) {
            fplt_measure own, engines;
            double x[N], y[N];
            one_round(&scene, k);
            assert_ok(fplt_engine_round(scene.engine, &error), error);
            fplt_hub *hub = wake_hub(&scene);
            assert_int_equal(fplt_hub_model(hub, x), FPLT_OK);
            scene.hub = keep_hub(hub);
            assert_int_equal(fplt_engine_model(scene.engine, y), FPLT_OK);
            assert_memory_equal(x, y, sizeof x);
            measure_by_hand(&scene, &own);
            assert_ok(fplt_engine_measure(scene.engine, &engines, &error), error);
            assert_true(own.criterion == engines.criterion && own.objective == engines.objective);
            assert_true(own.hits == engines.hits && own.records == engines.records);
        }
        close_scene(&scene);
    }
}

/* 40 bytes of head, the vectors, and of each answer that it knows a hash and the words. */
static void a_node_takes_the_room_of_its_layout(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, fplt_algorithm_find("fed-plt"));
    size_t vectors = 8 * N * (2 * scene.shape.kept + scene.shape.held);
    for (uint32_t i = 0; i < AGENTS; i++)
        assert_int_equal(scene.node[i].size, 40 + vectors);
    one_round(&scene, 0);
    size_t answered = 0;
    for (uint32_t i = 0; i < AGENTS; i++) {
        size_t more = scene.node[i].size - 40 - vectors;
        assert_true(more == 0 || more == 32 + 8 * fplt_plan_words(&scene.plan, 0));
        answered += more > 0;
    }
    assert_int_equal(answered, 3);
    close_scene(&scene);
}

static void plans_travel(void **state)
{
    (void)state;
    for (size_t a = 0; fplt_algorithm_list(a); a++) {
        fplt_error error;
        fplt_plan plan = {.algorithm = fplt_algorithm_list(a),
                          .agents = 7,
                          .dimension = 9,
                          .seed = UINT64_C(0xfedcba9876543210),
                          .run = 3,
                          .step = 0.125,
                          .unit = 0x1.8p-30};
        for (size_t i = 0; i < fplt_algorithm_parameters(plan.algorithm); i++)
            plan.parameter[i] = 1.5 + (double)i;
        unsigned char bytes[300];
        size_t size = fplt_plan_encode(&plan, bytes, sizeof bytes);
        fplt_plan back;
        assert_ok(fplt_plan_decode(bytes, size, &back, &error), error);
        assert_same_plan(&back, &plan);
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(fplt_plan_decode(bytes, cut, &back, &error), FPLT_BAD_DATA);
        bytes[0]++;
        assert_int_equal(fplt_plan_decode(bytes, size, &back, &error), FPLT_BAD_DATA);
    }
}

/* A table of the caller's own is taken where the plan has its name, and no other. */
static void plans_of_custom_algorithms_travel(void **state)
{
    fplt_algorithm custom = *fplt_algorithm_find("fedprox");
    fplt_plan plan = {.algorithm = &custom, .agents = 7, .dimension = 9}, back;
    unsigned char bytes[300];
    fplt_error error;
    (void)state;
    custom.name = "mine";
    plan.parameter[0] = 2.5;
    size_t size = fplt_plan_encode(&plan, bytes, sizeof bytes);
    assert_int_equal(fplt_plan_decode(bytes, size, &back, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "no algorithm is called mine");
    assert_ok(fplt_plan_decode_custom(bytes, size, &custom, &back, &error), error);
    assert_same_plan(&back, &plan);
    plan.algorithm = fplt_algorithm_find("fedavg");
    size = fplt_plan_encode(&plan, bytes, sizeof bytes);
    assert_ok(fplt_plan_decode_custom(bytes, size, &custom, &back, &error), error);
    assert_ptr_equal(back.algorithm, plan.algorithm);
}

/* Every cut and every other shape is refused; the state is then what it was. */
static void foreign_bytes_are_refused(void **state)
{
    (void)state;
    struct scene scene, other;
    fplt_error error;
    open_scene(&scene, fplt_algorithm_find("fed-plt"));
    open_scene(&other, fplt_algorithm_find("scaffold"));
    fplt_hub *hub = new_hub(&scene);
    fplt_node *node = new_node(&scene, 0, 0);
    for (size_t cut = 0; cut < scene.hub.size; cut++)
        assert_int_equal(fplt_hub_decode(hub, scene.hub.at, cut, &error), FPLT_BAD_DATA);
    for (size_t cut = 0; cut < scene.node[0].size; cut++)
        assert_int_equal(fplt_node_decode(node, scene.node[0].at, cut, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt_hub_decode(hub, other.hub.at, other.hub.size, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt_node_decode(node, other.node[0].at, other.node[0].size, &error),
                     FPLT_BAD_DATA);
    assert_contains(error.text, "fed-plt");
    fplt_hub_destroy(hub);
    fplt_node_destroy(node);
    close_scene(&scene);
    close_scene(&other);
}

static void a_node_answers_only_what_it_may(void **state)
{
    (void)state;
    struct scene scene;
    fplt_error error;
    open_scene(&scene, fplt_algorithm_find("fed-plt"));
    fplt_node *node = new_node(&scene, 1, 4);
    double down[N] = {0.1, 0.2, 0.3}, other[N] = {0.1, 0.2, 0.4};
    uint64_t first[2 * N], words[2 * N];
    fplt_round round;
    fplt__round_make(&scene.plan, 3, 2, 1, NULL, &round);
    assert_int_equal(fplt_node_train(node, &round, 1, down, words, &error), FPLT_BAD_VALUE);
    assert_ok(fplt_node_train(node, &round, 0, down, first, &error), error);
    assert_ok(fplt_node_train(node, &round, 0, down, words, &error), error);
    assert_memory_equal(first, words, sizeof words);
    assert_int_equal(fplt_node_train(node, &round, 0, other, words, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "another content");
    round.position = 0;
    assert_int_equal(fplt_node_train(node, &round, 0, down, words, &error), FPLT_BAD_VALUE);
    round.position = 1;
    fplt_node_drop(node);
    assert_ok(fplt_node_train(node, &round, 0, other, words, &error), error);
    assert_memory_not_equal(first, words, sizeof words);
    round.number = 2;
    assert_int_equal(fplt_node_train(node, &round, 0, down, words, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "round 2 is over");
    fplt_node_drop(node);
    assert_int_equal(fplt_node_train(node, &round, 0, down, words, &error), FPLT_BAD_VALUE);
    for (round.number = 4; round.number < 6; round.number++)
        assert_ok(fplt_node_train(node, &round, 0, down, words, &error), error);
    assert_int_equal(fplt_node_train(node, &round, 0, down, words, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "the 4 rounds that it may");
    /* neither bytes nor parts of a node forget how many rounds it computed */
    struct bytes kept = {.size = fplt_node_encode(node, NULL, 0)};
    kept.at = malloc(kept.size);
    assert_int_equal(fplt_node_encode(node, kept.at, kept.size), kept.size);
    fplt_node *again = new_node(&scene, 1, 4), *parts = new_node(&scene, 1, 4);
    assert_ok(fplt_node_decode(again, kept.at, kept.size, &error), error);
    const fplt__node_parts found = fplt__node_get(node);
    fplt__node_set(parts, &found);
    round.number = 7;
    assert_int_equal(fplt_node_train(again, &round, 0, down, first, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "the 4 rounds that it may");
    assert_int_equal(fplt_node_train(parts, &round, 0, down, first, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "the 4 rounds that it may");
    fplt_node_destroy(parts);
    fplt_node_destroy(again);
    free(kept.at);
    round.number = 5;
    assert_ok(fplt_node_train(node, &round, 0, down, first, &error), error);
    assert_memory_equal(first, words, sizeof words);
    fplt_node_destroy(node);
    close_scene(&scene);
}

/* A new leg: the sums made anew are those that were there; afresh, those of a new hub. */
static void a_restarted_hub_is_enrolled_again(void **state)
{
    (void)state;
    struct scene scene;
    fplt_error error;
    open_scene(&scene, fplt_algorithm_find("scaffold"));
    for (uint64_t k = 0; k < 4; k++)
        one_round(&scene, k);
    uint64_t before[2 * N], after[2 * N], words[2 * N];
    fplt_hub *hub = wake_hub(&scene);
    fplt__hub_totals(hub, before);
    fplt__hub_restart(hub, NULL);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_node *node = wake_node(&scene, i);
        assert_int_equal(fplt_node_enrol(node, words), FPLT_OK);
        assert_int_equal(fplt_hub_enrol(hub, words), FPLT_OK);
        scene.node[i] = keep_node(node);
    }
    fplt__hub_totals(hub, after);
    assert_memory_equal(before, after, sizeof before);
    double x[N], y[N], start[N] = {1, 2, 3};
    fplt__hub_restart(hub, start);
    assert_int_equal(fplt_hub_model(hub, x), FPLT_OK);
    assert_memory_equal(x, start, sizeof x);
    fplt__hub_totals(hub, after);
    assert_true(after[0] == 0 && after[1] == 0);
    fplt_node *node = new_node(&scene, 0, 0), *begun = new_node(&scene, 0, 0);
    assert_ok(fplt__node_restart(node, NULL, &error), error);
    memcpy(x, fplt__node_kept(node), sizeof x);
    memcpy(y, fplt__node_kept(begun), sizeof y);
    assert_memory_equal(x, y, sizeof x);
    fplt_node_destroy(node);
    fplt_node_destroy(begun);
    scene.hub = keep_hub(hub);
    close_scene(&scene);
}

/* An agent's Hessian of the losses against differences of the measured gradient, which has the
 * regulariser besides; and what all agents send against the sums of one process. */
static void information_adds_up(void **state)
{
    (void)state;
    enum { ALL = 2 * N * N + FPLT__FACTS + N };
    struct scene scene;
    fplt_error error;
    fplt_inference whole;
    open_scene(&scene, fplt_algorithm_find("fedavg"));
    uint64_t words[2 * ALL], gradient[2 * (N + FPLT__MEASURES)];
    double x[N] = {0.3, -0.2, 0.5}, total[ALL], matrix[ALL], side[2][N];
    fplt__sum *sum, *own;
    assert_int_equal(fplt__plan_information(&scene.plan), ALL);
    assert_ok(fplt__sum_create_words(ALL, -64, &sum, &error), error);
    assert_ok(fplt__sum_create_words(ALL, -64, &own, &error), error);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_node *node = new_node(&scene, i, 0);
        assert_ok(fplt__node_information(node, x, words, &error), error);
        assert_int_equal(fplt__sum_add_words(sum, 0, words, ALL), FPLT_OK);
        fplt__sum_clear(own);
        assert_int_equal(fplt__sum_add_words(own, 0, words, ALL), FPLT_OK);
        fplt__sum_read(own, 0, matrix, ALL);
        for (size_t j = 0; j < N; j++) {
            for (int s = 0; s < 2; s++) {
                double was = x[j];
                x[j] += s ? 1e-5 : -1e-5;
                assert_ok(fplt__node_measure(node, x, gradient, &error), error);
                x[j] = was;
                fplt__sum_clear(own);
                assert_int_equal(fplt__sum_add_words(own, 0, gradient, N), FPLT_OK);
                fplt__sum_read(own, 0, side[s], N);
            }
            for (size_t k = 0; k < N; k++)
                assert_near(matrix[k * N + j] / 20 + (k == j ? 0.3 : 0),
                            (side[1][k] - side[0][k]) / 2e-5, 1e-8);
        }
        fplt_node_destroy(node);
    }
    fplt__sum_read(sum, 0, total, ALL);
    assert_ok(fplt__inference_from_objective(scene.problem.objective, "logistic", x, 1, 0, &whole,
                                             &error),
              error);
    for (size_t k = 0; k < N * N; k++) {
        assert_near(total[k], whole.information[k], 1e-12);
        assert_near(total[N * N + k], whole.scores[k], 1e-12);
    }
    const double *facts = total + 2 * N * N;
    assert_true(facts[FPLT__FACT_RECORDS] == whole.records);
    assert_true(facts[FPLT__FACT_ROWS] == whole.rows && whole.rows == whole.records);
    assert_true(facts[FPLT__FACT_EVENTS] == whole.events);
    assert_near(facts[FPLT__FACT_LOSSES], whole.losses, 1e-12);
    assert_near(facts[FPLT__FACT_NULL_LOSSES], whole.rows * log(2), 1e-10);
    fplt__inference_clear(&whole);
    fplt__sum_destroy(sum);
    fplt__sum_destroy(own);
    close_scene(&scene);
}

/* An agent that has only its own data: its held-out rows and its share of the weight are those it
 * has among all. */
static void an_agent_alone_is_the_agent_among_all(void **state)
{
    (void)state;
    fplt_error error;
    fplt_generate_settings recipe = fplt_generate_defaults();
    recipe.agents = 4;
    recipe.rows = 30;
    recipe.unequal = 0.5;
    fplt_dataset *all, *train, *test;
    assert_ok(fplt_dataset_generate(&recipe, &all, &error), error);
    assert_ok(fplt_dataset_split(all, 0.3, 9, &train, &test, &error), error);
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.weigh_rows = 1;
    fplt_objective *among;
    assert_ok(fplt_objective_create(&cost, train, &among, &error), error);
    cost.all_agents = 4;
    cost.all_weight = (double)fplt_dataset_rows(train);
    size_t n = fplt_objective_dimension(among);
    double *x = calloc(3 * n, sizeof *x);
    double *scratch = calloc(fplt_objective_scratch(among), sizeof *scratch);
    for (uint32_t i = 0; i < 4; i++) {
        fplt_dataset *own, *own_train, *own_test;
        fplt_objective *alone;
        assert_ok(fplt__dataset_pick(all, &i, 1, &own, &error), error);
        assert_ok(fplt__dataset_split_from(own, i, 0.3, 9, &own_train, &own_test, &error), error);
        fplt_rows a = fplt_dataset_shard(test, i), b = fplt_dataset_shard(own_test, 0);
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.dense, b.dense, a.count * a.features * sizeof(double));
        assert_ok(fplt_objective_create(&cost, own_train, &alone, &error), error);
        assert_int_equal(fplt_objective_gradient(among, i, x, x + n, scratch), FPLT_OK);
        assert_int_equal(fplt_objective_gradient(alone, 0, x, x + 2 * n, scratch), FPLT_OK);
        assert_memory_equal(x + n, x + 2 * n, n * sizeof *x);
        fplt_objective_destroy(alone);
        fplt_dataset_destroy(own);
        fplt_dataset_destroy(own_train);
        fplt_dataset_destroy(own_test);
    }
    free(x);
    free(scratch);
    fplt_objective_destroy(among);
    fplt_dataset_destroy(train);
    fplt_dataset_destroy(test);
    fplt_dataset_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_give_the_engines_bits),
        cmocka_unit_test(plans_travel),
        cmocka_unit_test(plans_of_custom_algorithms_travel),
        cmocka_unit_test(foreign_bytes_are_refused),
        cmocka_unit_test(a_node_answers_only_what_it_may),
        cmocka_unit_test(a_restarted_hub_is_enrolled_again),
        cmocka_unit_test(information_adds_up),
        cmocka_unit_test(an_agent_alone_is_the_agent_among_all),
        cmocka_unit_test(a_node_takes_the_room_of_its_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
