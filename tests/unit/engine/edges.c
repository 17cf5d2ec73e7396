/* The engine at its edges: failing callbacks, odd sizes, interrupted and finished runs, and what its
 * settings must refuse. */
#include "problems.h"

#include "temporary.h"
#include "engine/engine_access.h"
#include "fedplt/objective_callbacks.h"
#include "fedplt/participation.h"

#include <stdatomic.h>

enum { N = 3 };

/* Quadratics of which one agent's gradient fails, or is not a number, while `trouble` is set. */
struct troubled {
    struct quadratics quadratics;
    const fplt_objective *sound;
    uint32_t agent;
    atomic_int trouble; /* 0: none, 1: fails, 2: gives NaN */
};

static int troubled_value(void *context, uint32_t agent, const double *x, double *value)
{
    struct troubled *t = context;
    double scratch[3 * N];
    return fplt_objective_value(t->sound, agent, x, value, scratch) != FPLT_OK;
}

static int troubled_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    struct troubled *t = context;
    double scratch[3 * N];
    int trouble = agent == t->agent ? atomic_load(&t->trouble) : 0;
    if (trouble == 1)
        return 1;
    if (fplt_objective_gradient(t->sound, agent, x, gradient, scratch))
        return 1;
    if (trouble == 2)
        gradient[0] = NAN;
    return 0;
}

static void troubled_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    struct troubled *t = context;
    (void)agent;
    *lowest = t->quadratics.lowest;
    *highest = t->quadratics.highest;
}

static fplt_objective *troubled_make(struct troubled *t, uint32_t agents)
{
    fplt_error error;
    fplt_objective *objective;
    quadratics_make(&t->quadratics, agents, N, 1, 4, 3);
    t->sound = quadratics_objective(&t->quadratics);
    t->agent = agents / 2;
    atomic_store(&t->trouble, 0);
    fplt_objective_callbacks callbacks = {.size = sizeof(fplt_objective_callbacks),
                                          .dimension = N,
                                          .agents = agents,
                                          .context = t,
                                          .value = troubled_value,
                                          .gradient = troubled_gradient,
                                          .curvature = troubled_curvature};
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    return objective;
}

static void troubled_free(struct troubled *t, fplt_objective *objective)
{
    fplt_objective_destroy(objective);
    fplt_objective_destroy((fplt_objective *)(void *)t->sound);
}

static void a_failed_round_cannot_be_built_upon(void **state)
{
    (void)state;
    static struct troubled t;
    fplt_error error;
    fplt_result result;
    fplt_objective *objective = troubled_make(&t, 9);
    fplt_run_settings settings = fplt_run_defaults();
    for (int trouble = 1; trouble <= 2; trouble++) {
        temporary file = temporary_file("", 0);
        fplt_status expected = trouble == 1 ? FPLT_FAILED : FPLT_DIVERGED;
        fplt_engine *engine = engine_make(objective, &settings);
        for (int k = 0; k < 3; k++)
            assert_ok(fplt_engine_round(engine, &error), error);
        assert_ok(fplt_engine_save(engine, file.path, &error), error);
        atomic_store(&t.trouble, trouble);
        assert_int_equal(fplt_engine_round(engine, &error), expected);
        atomic_store(&t.trouble, 0);
        /* some agents have taken their update and others not */
        assert_int_equal(fplt_engine_round(engine, &error), expected);
        assert_contains(error.text, "round 3 failed");
        assert_int_equal(fplt_engine_save(engine, file.path, &error), expected);
        fplt_status again = fplt_engine_run(engine, NULL, NULL, &result, &error);
        assert_int_equal(again, trouble == 1 ? FPLT_FAILED : FPLT_OK);
        if (trouble == 2)
            assert_int_equal(result.outcome, FPLT_RUN_DIVERGED);
        /* a checkpoint mends it */
        assert_ok(fplt_engine_load(engine, file.path, &error), error);
        assert_true(fplt__engine_consistent(engine));
        assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
        assert_int_equal(result.outcome, FPLT_CONVERGED);
        fplt_engine_destroy(engine);
        unlink(file.path);
    }
    troubled_free(&t, objective);
}

/* Costs that curve more than they say: steps that are too long by nobody's choice. */
static void a_divergence_blames_no_step_that_was_not_given(void **state)
{
    (void)state;
    static struct troubled t;
    fplt_error error;
    fplt_result result;
    fplt_objective *objective = troubled_make(&t, 3);
    t.quadratics.lowest = 0.01;
    t.quadratics.highest = 0.02;
    fplt_run_settings settings = fplt_run_defaults();
    for (int given = 0; given < 2; given++) {
        settings.training.step = given ? 100 : 0;
        fplt_engine *engine = engine_make(objective, &settings);
        assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
        assert_int_equal(result.outcome, FPLT_RUN_DIVERGED);
        assert_contains(result.sentence, given ? "the local steps of agent 0 contract only below"
                                               : "try more epochs, or a smaller gamma");
        fplt_engine_destroy(engine);
    }
    troubled_free(&t, objective);
}

static void a_checkpoint_of_another_size_is_told_by_its_size(void **state)
{
    (void)state;
    fplt_error error;
    temporary file = temporary_file("", 0);
    fplt_run_settings settings = fplt_run_defaults();
    for (size_t n = 3; n <= 4; n++) {
        struct logistic_problem problem = logistic_make(2, n, 20, 0.3, 7);
        fplt_engine *engine = engine_make(problem.objective, &settings);
        if (n == 3) {
            assert_ok(fplt_engine_save(engine, file.path, &error), error);
        } else {
            assert_int_equal(fplt_engine_load(engine, file.path, &error), FPLT_BAD_DATA);
            assert_contains(error.text, "of 2 agents and 3 coordinates, but this run has 2 and 4");
        }
        fplt_engine_destroy(engine);
        logistic_free(&problem);
    }
    unlink(file.path);
}

static void a_failing_callback_is_not_called_out_of_range(void **state)
{
    (void)state;
    static struct troubled t;
    fplt_error error;
    fplt_measure measure;
    fplt_objective *objective = troubled_make(&t, 5);
    fplt_run_settings settings = fplt_run_defaults();
    fplt_engine *engine = engine_make(objective, &settings);
    atomic_store(&t.trouble, 1);
    assert_int_equal(fplt_engine_measure(engine, &measure, &error), FPLT_FAILED);
    assert_contains(error.text, "cost of agent 2 failed");
    atomic_store(&t.trouble, 2);
    assert_int_equal(fplt_engine_measure(engine, &measure, &error), FPLT_DIVERGED);
    assert_contains(error.text, "not finite");
    fplt_engine_destroy(engine);
    troubled_free(&t, objective);
}

/* A custom solver that fails without a sentence, for one agent. */
static fplt_status speechless(fplt_local *local, double *w, fplt_error *error)
{
    (void)error;
    w[0] += 1;
    return local->member_index == 1 ? FPLT_FAILED : FPLT_OK;
}

static const fplt_solver own_solver = {.size = sizeof(fplt_solver),
                                       .name = "own",
                                       .help = "fails",
                                       .traits = FPLT_PLAIN_STEPS,
                                       .run = speechless};

static void a_solver_may_fail_without_a_sentence(void **state)
{
    (void)state;
    static struct quadratics q;
    fplt_error error;
    quadratics_make(&q, 3, N, 1, 4, 3);
    fplt_objective *objective = quadratics_objective(&q);
    fplt_run_settings settings = fplt_run_defaults();
    settings.training.solver = &own_solver;
    settings.training.step = 0.125;
    fplt_engine *engine = engine_make(objective, &settings);
    assert_true(fplt__engine_step(engine, 2) == 0.125);
    memset(&error, 0xee, sizeof error);
    assert_int_equal(fplt_engine_round(engine, &error), FPLT_FAILED);
    assert_int_equal(error.status, FPLT_FAILED);
    assert_contains(error.text, "agent 1");
    fplt_engine_destroy(engine);
    fplt_objective_destroy(objective);
}

struct stop {
    uint64_t at;
    const char *path;
    fplt_engine *engine;
};

static int stop_and_save(void *context, const fplt_progress *progress)
{
    struct stop *stop = context;
    fplt_error error;
    if (progress->round != stop->at)
        return 0;
    if (stop->path)
        assert_ok(fplt_engine_save(stop->engine, stop->path, &error), error);
    return 1;
}

static void an_interrupted_run_has_not_stalled(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(7, N, 20, 0.3, 4);
    temporary file = temporary_file("", 0);
    fplt_error error;
    fplt_result whole, part, rest, last;
    fplt_run_settings settings = fplt_run_defaults();
    settings.tolerance = 0;
    settings.change = 1e-7;
    fplt_engine *straight = engine_make(problem.objective, &settings);
    assert_ok(fplt_engine_run(straight, NULL, NULL, &whole, &error), error);
    assert_int_equal(whole.outcome, FPLT_STALLED);
    assert_true(whole.counters.rounds > 8);

    fplt_engine *first = engine_make(problem.objective, &settings);
    struct stop stop = {5, file.path, first};
    assert_ok(fplt_engine_run(first, stop_and_save, &stop, &part, &error), error);
    assert_int_equal(part.outcome, FPLT_STOPPED);
    assert_ok(fplt_engine_run(first, NULL, NULL, &rest, &error), error);
    assert_int_equal(rest.outcome, FPLT_STALLED);
    assert_int_equal(rest.counters.rounds, whole.counters.rounds);

    fplt_engine *second = engine_make(problem.objective, &settings);
    assert_ok(fplt_engine_load(second, file.path, &error), error);
    assert_ok(fplt_engine_run(second, NULL, NULL, &rest, &error), error);
    assert_int_equal(rest.counters.rounds, whole.counters.rounds);
    assert_true(rest.end.criterion == whole.end.criterion);
    /* a finished run stays finished, also from its checkpoint */
    assert_ok(fplt_engine_save(second, file.path, &error), error);
    assert_ok(fplt_engine_load(first, file.path, &error), error);
    assert_ok(fplt_engine_run(first, NULL, NULL, &last, &error), error);
    assert_int_equal(last.outcome, FPLT_STALLED);
    assert_int_equal(last.counters.rounds, whole.counters.rounds);
    fplt_engine_destroy(straight);
    fplt_engine_destroy(first);
    fplt_engine_destroy(second);
    unlink(file.path);
    logistic_free(&problem);
}

static void trainings_of_one_agent_each_need_no_common_one(void **state)
{
    (void)state;
    static struct quadratics q;
    temporary file = temporary_file("", 0);
    fplt_error error;
    quadratics_make(&q, 3, N, 1, 4, 3);
    fplt_objective *objective = quadratics_objective(&q);
    fplt_training each[3];
    for (int i = 0; i < 3; i++) {
        each[i] = fplt_training_defaults();
        each[i].step = 0.01 * (i + 1);
    }
    fplt_run_settings settings = fplt_run_defaults();
    settings.training = (fplt_training){0};
    settings.each = each;
    fplt_engine *engine = engine_make(objective, &settings);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(fplt__engine_step(engine, i) == each[i].step);
    assert_int_equal(fplt__engine_facts(engine).epochs, 5);
    assert_ok(fplt_engine_round(engine, &error), error);
    assert_ok(fplt_engine_save(engine, file.path, &error), error);
    assert_ok(fplt_engine_load(engine, file.path, &error), error);
    each[2].step = 0.04;
    fplt_engine *other = engine_make(objective, &settings);
    assert_int_equal(fplt_engine_load(other, file.path, &error), FPLT_BAD_DATA);
    fplt_engine_destroy(engine);
    fplt_engine_destroy(other);
    fplt_objective_destroy(objective);
    unlink(file.path);
}

static fplt_prox *l1_of(double weight, size_t n)
{
    fplt_error error;
    fplt_prox *prox;
    fplt_prox_settings settings = fplt_prox_defaults();
    settings.name = "l1";
    settings.weight = weight;
    assert_ok(fplt_prox_create(&settings, n, n, &prox, &error), error);
    return prox;
}

static fplt_participation *trace_of(const char *text, uint32_t agents)
{
    fplt_error error;
    fplt_participation *participation;
    temporary file = temporary_file(text, strlen(text));
    fplt_participation_settings settings = {.rule = "trace", .trace = file.path};
    assert_ok(fplt_participation_create(&settings, agents, &participation, &error), error);
    unlink(file.path);
    return participation;
}

static void a_checkpoint_knows_h_cohorts_and_curvatures(void **state)
{
    (void)state;
    static struct quadratics q;
    temporary file = temporary_file("", 0);
    fplt_error error;
    quadratics_make(&q, 3, N, 1, 4, 3);
    fplt_objective *objective = quadratics_objective(&q);
    fplt_prox *light = l1_of(0.1, N), *heavy = l1_of(0.5, N);
    fplt_participation *one = trace_of("0 1\n1 2\n2 0\n", 3), *two = trace_of("1 2\n0 1\n2 0\n", 3);
    fplt_curvature given[3] = {{1, 4}, {1, 4}, {1, 4}};
    fplt_run_settings settings = fplt_run_defaults(), other;
    settings.prox = light;
    settings.participation = one;
    settings.curvatures = given;
    settings.training.step = 0.1;
    settings.training.solver = fplt_solver_find("accelerated");
    fplt_engine *engine = engine_make(objective, &settings);
    assert_ok(fplt_engine_round(engine, &error), error);
    assert_ok(fplt_engine_save(engine, file.path, &error), error);
    for (int what = 0; what < 4; what++) {
        other = settings;
        if (what == 1)
            other.prox = heavy;
        if (what == 2)
            other.participation = two;
        given[1].highest = what == 3 ? 5 : 4;
        given[2].lowest = what == 3 ? 0.5 : 1;
        fplt_engine *loader = engine_make(objective, &other);
        assert_int_equal(fplt_engine_load(loader, file.path, &error), what ? FPLT_BAD_DATA : 0);
        fplt_engine_destroy(loader);
    }
    fplt_engine_destroy(engine);
    fplt_prox_destroy(light);
    fplt_prox_destroy(heavy);
    fplt_participation_destroy(one);
    fplt_participation_destroy(two);
    fplt_objective_destroy(objective);
    unlink(file.path);
}

static void refuse(const fplt_objective *objective, const fplt_run_settings *settings,
                   const char *part)
{
    fplt_error error;
    fplt_engine *engine;
    if (!fplt_engine_create(objective, settings, &engine, &error))
        fail_msg("not refused: %s", part);
    assert_null(engine);
    assert_contains(error.text, part);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static struct quadratics q;
    quadratics_make(&q, 3, N, 1, 4, 3);
    fplt_objective *objective = quadratics_objective(&q);
    fplt_run_settings usual = fplt_run_defaults(), settings = usual;
    fplt_prox *long_h = l1_of(0.1, N + 1);
    fplt_participation *many = half_of(40);
    settings.prox = long_h;
    refuse(objective, &settings, "dimension");
    settings = usual;
    settings.participation = many;
    refuse(objective, &settings, "40 agents");
    settings = usual;
    settings.algorithm = NULL;
    refuse(objective, &settings, "algorithm");

    fplt_algorithm own = *fplt_algorithm_find("fed-plt");
    own.shape.scalars = FPLT_MAX_SCALARS + 1;
    settings = usual;
    settings.algorithm = &own;
    refuse(objective, &settings, "scalars");
    fplt_setting rows[FPLT_MAX_PARAMETERS + 2] = {FPLT_SETTINGS_END};
    for (int i = 0; i <= FPLT_MAX_PARAMETERS; i++)
        rows[i] = own.settings[0];
    own.shape.scalars = 0;
    own.settings = rows;
    refuse(objective, &settings, "parameters");

    fplt_curvature given[3] = {{1, 4}, {NAN, 4}, {1, 4}};
    settings = usual;
    settings.curvatures = given;
    refuse(objective, &settings, "agent 1");
    settings = usual;
    settings.start = FPLT_START_PRIOR;
    settings.curvature = (fplt_curvature){0, 4};
    refuse(objective, &settings, "prior");
    fplt_prox_destroy(long_h);
    fplt_participation_destroy(many);
    fplt_objective_destroy(objective);
}

static void the_prior_follows_each_agents_noise(void **state)
{
    (void)state;
    static struct quadratics q;
    quadratics_make(&q, 2, N, 1, 4, 3);
    fplt_objective *objective = quadratics_objective(&q);
    fplt_training each[2] = {fplt_training_defaults(), fplt_training_defaults()};
    fplt_run_settings settings = fplt_run_defaults();
    each[0].solver = each[1].solver = fplt_solver_find("noisy");
    each[0].noise_tau = 1;
    each[1].noise_tau = 100;
    settings.each = each;
    settings.start = FPLT_START_PRIOR;
    settings.seed = 8;
    fplt_engine *engine = engine_make(objective, &settings);
    for (uint32_t i = 0; i < 2; i++) {
        fplt_stream stream = fplt_stream_make(8, 0, FPLT_FOR_START, 0, i, 0);
        for (size_t j = 0; j < N; j++)
            assert_close(fplt__engine_kept(engine, i)[N + j],
                         sqrt(2 / q.lowest) * each[i].noise_tau * fplt_stream_normal(&stream),
                         1e-15);
    }
    fplt_engine_destroy(engine);
    fplt_objective_destroy(objective);
}

static void small_and_empty_runs_end_well(void **state)
{
    (void)state;
    static struct quadratics q;
    fplt_error error;
    fplt_result result;
    quadratics_make(&q, 1, 1, 2, 2, 3);
    fplt_objective *objective = quadratics_objective(&q);
    fplt_run_settings settings = fplt_run_defaults();
    settings.threads = 64;
    settings.tolerance = 1e-20;
    for (size_t a = 0; fplt_algorithm_list(a); a++) {
        settings.algorithm = fplt_algorithm_list(a);
        fplt_engine *engine;
        if (fplt_engine_create(objective, &settings, &engine, &error)) {
            assert_true(error.text[0]); /* TAMUNA needs two agents */
            continue;
        }
        assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
        assert_int_equal(result.outcome, FPLT_CONVERGED);
        double x;
        assert_ok(fplt_engine_mean(engine, &x), error);
        assert_near(x, q.b[0][0] / q.a[0][0][0], 1e-9);
        fplt_engine_destroy(engine);
    }
    settings.algorithm = fplt_algorithm_find("fed-plt");
    settings.rounds = 0;
    fplt_engine *engine = engine_make(objective, &settings);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_int_equal(result.outcome, FPLT_ROUNDS_DONE);
    assert_int_equal(result.counters.rounds, 0);
    assert_true(result.start.criterion == result.end.criterion);
    fplt_engine_destroy(engine);
    settings.rounds = 300;
    settings.evaluate_every = 0;
    engine = engine_make(objective, &settings);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_int_equal(result.outcome, FPLT_CONVERGED);
    assert_int_equal(result.counters.rounds, 300);
    fplt_engine_destroy(engine);
    fplt_objective_destroy(objective);
}

static void rounds_with_nobody_change_nothing(void **state)
{
    (void)state;
    static struct quadratics q;
    fplt_error error;
    fplt_result result;
    quadratics_make(&q, 3, N, 1, 4, 3);
    fplt_objective *objective = quadratics_objective(&q);
    char text[200] = "";
    for (int k = 0; k < 60; k++)
        strcat(text, "\n");
    strcat(text, "0 1 2\n");
    fplt_participation *rare = trace_of(text, 3);
    fplt_run_settings settings = fplt_run_defaults();
    settings.participation = rare;
    settings.rounds = 60;
    settings.change = 1e-3;
    for (size_t a = 0; fplt_algorithm_list(a); a++) {
        settings.algorithm = fplt_algorithm_list(a);
        if (!(settings.algorithm->allows & FPLT_ALLOWS_PARTIAL))
            continue;
        fplt_engine *engine;
        if (fplt_engine_create(objective, &settings, &engine, &error))
            continue;
        assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
        assert_int_equal(result.outcome, FPLT_ROUNDS_DONE);
        assert_int_equal(result.counters.updates, 0);
        assert_true(result.start.criterion == result.end.criterion);
        assert_ok(fplt_engine_round(engine, &error), error);
        assert_int_equal(fplt_engine_counters(engine)->updates, 3);
        fplt_engine_destroy(engine);
    }
    fplt_participation_destroy(rare);
    fplt_objective_destroy(objective);
}

/* Residuals that shrink by any factor, down to the smallest numbers there are. */
static void acceleration_survives_residuals_of_any_size(void **state)
{
    (void)state;
    static struct quadratics q;
    fplt_error error;
    fplt_result result;
    double far[N] = {1e6, -1e6, 3e6};
    for (int exact = 0; exact < 2; exact++) {
        quadratics_make(&q, 4, N, 1, exact ? 1 : 2, 3);
        memset(q.b, 0, sizeof q.b);
        fplt_objective *objective = quadratics_objective(&q);
        fplt_run_settings settings = fplt_run_defaults();
        settings.algorithm = fplt_algorithm_find("fed-plt-anderson");
        settings.training.solver = fplt_solver_find(exact ? "newton" : "gradient");
        settings.start = FPLT_START_GIVEN;
        settings.given = far;
        settings.tolerance = 0;
        settings.rounds = 600;
        fplt_engine *engine = engine_make(objective, &settings);
        assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
        if (result.outcome != FPLT_ROUNDS_DONE)
            fail_msg("%s", result.sentence);
        assert_true(result.end.criterion < 1e-30);
        fplt_engine_destroy(engine);
        fplt_objective_destroy(objective);
    }
}

static int half_line_value(void *context, uint32_t agent, const double *x, double *value)
{
    (void)context;
    *value = (agent + 1) * x[0] - log(x[0]);
    return 0;
}

static int half_line_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    (void)context;
    gradient[0] = agent + 1 - 1 / x[0];
    return 0;
}

static void half_line_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context, (void)agent;
    *lowest = 0.25;
    *highest = 4;
}

static void a_cost_may_have_no_gradient_at_zero(void **state)
{
    (void)state;
    fplt_error error;
    fplt_objective *objective;
    fplt_result result;
    double one = 1;
    temporary file = temporary_file("", 0);
    fplt_objective_callbacks callbacks = {.size = sizeof(fplt_objective_callbacks),
                                          .dimension = 1,
                                          .agents = 2,
                                          .value = half_line_value,
                                          .gradient = half_line_gradient,
                                          .curvature = half_line_curvature};
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    fplt_run_settings settings = fplt_run_defaults();
    settings.start = FPLT_START_GIVEN;
    settings.given = &one;
    fplt_engine *engine = engine_make(objective, &settings);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_int_equal(result.outcome, FPLT_CONVERGED);
    assert_ok(fplt_engine_save(engine, file.path, &error), error);
    assert_ok(fplt_engine_load(engine, file.path, &error), error);
    fplt_engine_destroy(engine);
    fplt_objective_destroy(objective);
    unlink(file.path);
}

/* The caller may want nothing but the model, also of a run that diverges or fails. */
static void a_run_needs_no_result(void **state)
{
    (void)state;
    fplt_error error;
    fplt_result result;
    double with[N], without[N];
    struct troubled t;
    fplt_objective *objective = troubled_make(&t, 4);
    fplt_run_settings settings = fplt_run_defaults();
    for (int wanted = 0; wanted < 2; wanted++) {
        fplt_engine *engine = engine_make(objective, &settings);
        assert_ok(fplt_engine_run(engine, NULL, NULL, wanted ? &result : NULL, &error), error);
        assert_int_equal(fplt_engine_model(engine, wanted ? with : without), FPLT_OK);
        fplt_engine_destroy(engine);
    }
    assert_int_equal(result.outcome, FPLT_CONVERGED);
    assert_memory_equal(with, without, sizeof with);
    fplt_run_settings wild = settings;
    wild.training.step = 1e6;
    fplt_engine *engine = engine_make(objective, &wild);
    assert_ok(fplt_engine_run(engine, NULL, NULL, NULL, &error), error);
    fplt_engine_destroy(engine);
    engine = engine_make(objective, &settings);
    atomic_store(&t.trouble, 1);
    assert_int_not_equal(fplt_engine_run(engine, NULL, NULL, NULL, &error), FPLT_OK);
    assert_int_not_equal(fplt_engine_run(engine, NULL, NULL, NULL, NULL), FPLT_OK);
    fplt_engine_destroy(engine);
    troubled_free(&t, objective);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_round_cannot_be_built_upon),
        cmocka_unit_test(a_failing_callback_is_not_called_out_of_range),
        cmocka_unit_test(a_solver_may_fail_without_a_sentence),
        cmocka_unit_test(an_interrupted_run_has_not_stalled),
        cmocka_unit_test(trainings_of_one_agent_each_need_no_common_one),
        cmocka_unit_test(a_checkpoint_knows_h_cohorts_and_curvatures),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_prior_follows_each_agents_noise),
        cmocka_unit_test(small_and_empty_runs_end_well),
        cmocka_unit_test(rounds_with_nobody_change_nothing),
        cmocka_unit_test(acceleration_survives_residuals_of_any_size),
        cmocka_unit_test(a_cost_may_have_no_gradient_at_zero),
        cmocka_unit_test(a_divergence_blames_no_step_that_was_not_given),
        cmocka_unit_test(a_checkpoint_of_another_size_is_told_by_its_size),
        cmocka_unit_test(a_run_needs_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
