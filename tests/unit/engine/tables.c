/* Tables of functions made with other headers are refused wherever they come in. */
#include "problems.h"

#include "fedplt/hub_node.h"
#include "fedplt/objective_callbacks.h"
#include "fedplt/prox_callbacks.h"
#include "algorithm/local_step.h"
#include "solver/solver.h"

enum { AGENTS = 2 };

static fplt_objective *objective;
static fplt_error error;

static int create(void **state)
{
    (void)state;
    static struct quadratics q;
    quadratics_make(&q, AGENTS, 3, 0.5, 20, 3);
    objective = quadratics_objective(&q);
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    fplt_objective_destroy(objective);
    return 0;
}

/* Every size but the right one; `call` is an expression that gives a status. */
#define refuses(type, table, call)                                                              \
    do {                                                                                        \
        const size_t wrong[] = {0, 1, sizeof(type) - sizeof(void *), sizeof(type) + 8};         \
        char sentence[80];                                                                      \
        for (size_t i_ = 0; i_ < sizeof wrong / sizeof *wrong; i_++) {                          \
            (table).size = wrong[i_];                                                           \
            memset(&error, 0, sizeof error);                                                    \
            assert_int_equal(call, FPLT_BAD_VALUE);                                             \
            snprintf(sentence, sizeof sentence, #type ": size is %zu, but it must", wrong[i_]); \
            assert_contains(error.text, sentence);                                              \
        }                                                                                       \
        (table).size = sizeof(type);                                                            \
        assert_ok(call, error);                                                                 \
    } while (0)

static int value(void *context, uint32_t agent, const double *x, double *result)
{
    (void)context;
    (void)agent;
    *result = x[0] * x[0] / 2;
    return 0;
}

static int gradient(void *context, uint32_t agent, const double *x, double *result)
{
    (void)context;
    (void)agent;
    *result = x[0];
    return 0;
}

static void curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context;
    (void)agent;
    *lowest = *highest = 1;
}

static fplt_status make_cost(const fplt_objective_callbacks *callbacks)
{
    fplt_objective *made;
    fplt_status status = fplt_objective_create_callback(callbacks, &made, &error);
    fplt_objective_destroy(made);
    return status;
}

static void costs(void **state)
{
    (void)state;
    fplt_objective_callbacks callbacks = {
        .dimension = 1, .agents = 1, .value = value, .gradient = gradient, .curvature = curvature};
    refuses(fplt_objective_callbacks, callbacks, make_cost(&callbacks));
}

static int h_value(void *context, const double *x, double *result)
{
    return value(context, 0, x, result);
}

static int h_gradient(void *context, const double *x, double *result)
{
    return gradient(context, 0, x, result);
}

static int h_apply(void *context, double t, const double *v, double *x)
{
    (void)context;
    x[0] = v[0] / (1 + t);
    return 0;
}

static fplt_status make_prox(const fplt_prox_callbacks *exact, const fplt_prox_inexact *inexact)
{
    fplt_prox *prox;
    fplt_status status = exact ? fplt_prox_create_callback(exact, 1, &prox, &error)
                               : fplt_prox_create_inexact(inexact, 1, &prox, &error);
    fplt_prox_destroy(prox);
    return status;
}

static void proxes(void **state)
{
    (void)state;
    fplt_prox_callbacks exact = {.value = h_value, .apply = h_apply};
    refuses(fplt_prox_callbacks, exact, make_prox(&exact, NULL));
    fplt_prox_inexact inexact = {
        .value = h_value, .gradient = h_gradient, .smoothness = 1, .accuracy = 1e-9};
    refuses(fplt_prox_inexact, inexact, make_prox(NULL, &inexact));
}

static fplt_status make_engine(const fplt_run_settings *run)
{
    fplt_engine *engine;
    fplt_status status = fplt_engine_create(objective, run, &engine, &error);
    fplt_engine_destroy(engine);
    return status;
}

static fplt_plan plan_of(const fplt_algorithm *algorithm)
{
    fplt_plan plan = {
        .algorithm = algorithm, .agents = AGENTS, .dimension = fplt_objective_dimension(objective)};
    fplt_facts facts = {.curvature = {0.5, 20},
                        .agents = AGENTS,
                        .cohort = AGENTS,
                        .epochs = 5,
                        .dimension = plan.dimension};
    fplt_algorithm_defaults(algorithm, plan.parameter);
    assert_ok(fplt__algorithm_resolve(algorithm, &facts, plan.parameter, &error), error);
    return plan;
}

static fplt_status make_hub(const fplt_plan *plan)
{
    fplt_hub *hub;
    fplt_status status = fplt_hub_create(plan, NULL, NULL, &hub, &error);
    fplt_hub_destroy(hub);
    return status;
}

static fplt_status make_node(const fplt_plan *plan, const fplt_training *training,
                             const fplt_noise_source *noise)
{
    fplt_node *node;
    fplt_node_settings settings = {
        .objective = objective, .training = *training, .curvature = {0.5, 20}, .noise = noise};
    fplt_status status = fplt_node_create(plan, &settings, &node, &error);
    fplt_node_destroy(node);
    return status;
}

static void algorithms(void **state)
{
    (void)state;
    fplt_algorithm own = *fplt_algorithm_find("fed-plt");
    fplt_plan plan = plan_of(&own);
    fplt_training training = fplt_training_defaults();
    fplt_run_settings run = fplt_run_defaults();
    fplt_facts facts = {
        .curvature = {0.5, 20}, .agents = AGENTS, .cohort = AGENTS, .epochs = 5, .dimension = 3};
    run.algorithm = &own;
    refuses(fplt_algorithm, own, make_engine(&run));
    refuses(fplt_algorithm, own, make_hub(&plan));
    refuses(fplt_algorithm, own, make_node(&plan, &training, NULL));
    refuses(fplt_algorithm, own, fplt__algorithm_resolve(&own, &facts, plan.parameter, &error));
}

static void solvers(void **state)
{
    (void)state;
    fplt_solver own = *fplt_solver_find("gradient");
    fplt_plan plan = plan_of(fplt_algorithm_find("fed-plt"));
    fplt_run_settings run = fplt_run_defaults();
    run.training.solver = &own;
    refuses(fplt_solver, own, make_engine(&run));
    refuses(fplt_solver, own, make_node(&plan, &run.training, NULL));
    refuses(fplt_solver, own, fplt__training_check(&run.training, objective, &error));
}

static void noises(void **state)
{
    (void)state;
    fplt_noise_source none = {.context = NULL};
    fplt_plan plan = plan_of(fplt_algorithm_find("fed-plt"));
    fplt_run_settings run = fplt_run_defaults();
    run.threads = 1;
    run.noise = &none;
    refuses(fplt_noise_source, none, make_engine(&run));
    refuses(fplt_noise_source, none, make_node(&plan, &run.training, &none));
}

/* A second exchange that broadcasts more than the first: every number must arrive, and there must be
 * room for it. */
enum { MORE = 3 };

static const fplt_setting nothing[] = {FPLT_SETTINGS_END};

static double unit_step(const fplt_facts *facts, const double *parameter)
{
    (void)facts;
    (void)parameter;
    return 1;
}

static void begin_at(fplt_coordinator *coordinator, const double *start)
{
    memcpy(coordinator->vector, start, coordinator->dimension * sizeof *start);
}

static fplt_status say_more(const fplt_coordinator *coordinator, const fplt_round *round,
                            unsigned exchange, double *down)
{
    (void)round;
    for (size_t j = 0; j < coordinator->dimension * (exchange ? MORE : 1); j++)
        down[j] = 1000 * exchange + (double)j;
    return FPLT_OK;
}

static fplt_status hear_all(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                            const double *down, double *up, fplt_error *problem)
{
    size_t n = agent->dimension;
    (void)round;
    for (size_t j = 0; j < n * (exchange ? MORE : 1); j++)
        if (down[j] != 1000 * exchange + (double)j)
            return fplt_error_set(problem, FPLT_FAILED, "number %zu is %g", j, down[j]);
    for (size_t j = 0; j < n; j++)
        up[j] = exchange ? down[(MORE - 1) * n + j] : down[j];
    return FPLT_OK;
}

static void keep_sum(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                     const double *sum)
{
    (void)round;
    if (exchange)
        memcpy(coordinator->vector, sum, coordinator->dimension * sizeof *sum);
}

static fplt_status hand_out(const fplt_coordinator *coordinator, double *x)
{
    memcpy(x, coordinator->vector, coordinator->dimension * sizeof *x);
    return FPLT_OK;
}

static void a_second_exchange_may_say_more(void **state)
{
    (void)state;
    const fplt_algorithm talkative = {
        .size = sizeof talkative,
        .name = "talkative",
        .title = "Talkative",
        .reference = "a test",
        .shape = {.vectors = 1,
                  .exchanges = 2,
                  .exchange = {{.down = 1, .up = 1}, {.down = MORE, .up = 1}},
                  .local_model = -1},
        .settings = nothing,
        .step = unit_step,
        .begin_coordinator = begin_at,
        .broadcast = say_more,
        .local = hear_all,
        .absorb = keep_sum,
        .model = hand_out,
    };
    fplt_run_settings run = fplt_run_defaults();
    fplt_engine *engine;
    size_t n = fplt_objective_dimension(objective);
    double x[16];
    run.algorithm = &talkative;
    assert_ok(fplt_engine_create(objective, &run, &engine, &error), error);
    assert_ok(fplt_engine_round(engine, &error), error);
    assert_int_equal(fplt_engine_model(engine, x), FPLT_OK);
    for (size_t j = 0; j < n; j++)
        assert_true(x[j] == AGENTS * (1000 + (double)((MORE - 1) * n + j)));
    const fplt_counters *counters = fplt_engine_counters(engine);
    assert_int_equal(counters->vectors_down, AGENTS * (1 + MORE));
    assert_int_equal(counters->vectors_up, AGENTS * 2);
    fplt_engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs),      cmocka_unit_test(proxes),
        cmocka_unit_test(algorithms), cmocka_unit_test(solvers),
        cmocka_unit_test(noises),     cmocka_unit_test(a_second_exchange_may_say_more),
    };
    return cmocka_run_group_tests_name("tables", tests, create, destroy);
}
