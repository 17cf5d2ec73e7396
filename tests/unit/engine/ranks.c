/* Several processes train together, here as threads: the same bits as one process alone for every
 * method, checkpoints that go from one number of processes to another, and one sentence where one of
 * them fails. */
#include "problems.h"

#include "engine/engine.h"
#include "engine/agents_map.h"
#include "engine/engine_access.h"
#include "engine/ranks.h"
#include "loopback.h"
#include "objective/objective.h"
#include "temporary.h"
#include "fedplt/participation.h"

enum { AGENTS = 11, N = 5, ROUNDS = 12, KEPT_MAX = 64 };

static const unsigned counts[] = {1, 2, 3, 5, 8};
enum { COUNTS = sizeof counts / sizeof *counts };

/* All that a run leaves behind, in numbers of eight bytes: two are compared as bytes. */
struct trace {
    double model[N], mean[N], kept[AGENTS * KEPT_MAX * N], information[N * N], scores[N * N],
        facts[FPLT__FACTS + N];
    fplt_counters counters;
    double criterion, objective;
    uint64_t hits, records, updates[AGENTS];
};

struct run {
    const fplt_objective *objective;
    fplt_run_settings settings;
    const char *save, *load; /* paths, or NULL; saves half way */
    struct trace trace;
    size_t kept;
    fplt_status status;
    fplt_error error;
};

static fplt_status note(void *context, uint32_t agent, const double *kept)
{
    struct run *run = context;
    memcpy(run->trace.kept + agent * run->kept, kept, run->kept * sizeof *kept);
    return FPLT_OK;
}

/* What the leader does. */
static fplt_status lead(struct run *run, fplt_engine *engine)
{
    struct trace *trace = &run->trace;
    fplt_measure measure = {.hits = 0};
    fplt_error *error = &run->error;
    fplt_status status = run->load ? fplt_engine_load(engine, run->load, error) : FPLT_OK;
    while (!status && fplt_engine_counters(engine)->rounds < ROUNDS) {
        status = fplt_engine_round(engine, error);
        if (!status && run->save && fplt_engine_counters(engine)->rounds == ROUNDS / 2)
            status = fplt_engine_save(engine, run->save, error);
    }
    run->kept = fplt__engine_shape(engine).kept * N;
    if (status || (status = fplt_engine_model(engine, trace->model)) ||
        (status = fplt_engine_mean(engine, trace->mean)) ||
        (status = fplt_engine_measure(engine, &measure, error)) ||
        (status = fplt__engine_visit(engine, note, run, error)) ||
        (status = fplt__engine_information(
             engine, trace->model,
             &(fplt__information){trace->information, trace->scores, trace->facts}, error)))
        return status;
    trace->counters = *fplt_engine_counters(engine);
    trace->criterion = measure.criterion;
    trace->objective = measure.objective;
    trace->hits = measure.hits;
    trace->records = measure.records;
    for (uint32_t i = 0; i < AGENTS; i++)
        trace->updates[i] = fplt__engine_updates(engine, i);
    return fplt__engine_consistent(engine) ? FPLT_OK : FPLT_FAILED;
}

static void play(fplt_ranks *ranks, void *context)
{
    struct run *run = context;
    fplt_engine *engine;
    run->settings.ranks = ranks;
    run->status = fplt_engine_create(run->objective, &run->settings, &engine, &run->error);
    if (!run->status && ranks && ranks->number)
        fplt_engine_serve(engine);
    else if (!run->status)
        run->status = lead(run, engine);
    fplt_engine_destroy(engine);
}

/* The leader's, and what the others have. */
static struct run together(const struct run *like, unsigned count, struct run *others)
{
    static struct loopback all;
    static struct run runs[LOOPBACK_MAX];
    void *contexts[LOOPBACK_MAX];
    for (unsigned i = 0; i < count; i++) {
        runs[i] = *like;
        contexts[i] = &runs[i];
    }
    loopback_run(&all, count, play, contexts);
    assert_false(all.wrong);
    for (unsigned i = 1; others && i < count; i++)
        others[i] = runs[i];
    return runs[0];
}

static struct run alone(const struct run *like)
{
    static struct run run;
    run = *like;
    play(NULL, &run);
    return run;
}

static void same_bits_for_every_method_and_number(void **state)
{
    (void)state;
    struct logistic_problem p = logistic_make(AGENTS, N, 30, 0.2, 3);
    fplt_participation *half = half_of(AGENTS);
    const fplt_algorithm *algorithm;
    for (size_t m = 0; (algorithm = fplt_algorithm_list(m)); m++)
        for (int partial = 0; partial < 2; partial++) {
            static struct run like, one, several;
            like = (struct run){.objective = p.objective, .settings = fplt_run_defaults()};
            like.settings.algorithm = algorithm;
            like.settings.participation = partial ? half : NULL;
            like.settings.start = FPLT_START_RANDOM;
            fplt_error error;
            if (fplt_algorithm_allow(algorithm, like.settings.training.solver, partial, 0, 0,
                                     &error))
                continue;
            one = alone(&like);
            assert_ok(one.status, one.error);
            assert_true(one.kept <= KEPT_MAX * N);
            for (int c = 0; c < COUNTS; c++) {
                several = together(&like, counts[c], NULL);
                assert_ok(several.status, several.error);
                if (memcmp(&several.trace, &one.trace, sizeof one.trace) != 0)
                    fail_msg("%s%s on %u processes", algorithm->name, partial ? ", half" : "",
                             counts[c]);
            }
        }
    fplt_participation_destroy(half);
    logistic_free(&p);
}

/* Curvatures are surveyed where the agents are, and known everywhere. */
static fplt_status ask_square(void *context, uint32_t agent, fplt_error *error)
{
    double *squares = context;
    if (squares[AGENTS] == agent)
        return fplt_error_set(error, FPLT_BAD_DATA, "agent %u", agent);
    squares[agent] = (double)agent * agent;
    return FPLT_OK;
}

static fplt_status outcomes[LOOPBACK_MAX];

static void survey(fplt_ranks *ranks, void *context)
{
    double *squares = context;
    fplt_error error = {FPLT_OK, ""};
    outcomes[ranks->number] =
        fplt__agents_map(ranks, AGENTS, 1, ask_square, squares, squares, sizeof *squares, &error);
    if (outcomes[ranks->number])
        sscanf(error.text, "agent %lf", &squares[0]);
}

static void a_survey_is_known_to_all(void **state)
{
    (void)state;
    static struct loopback all;
    for (int c = 0; c < COUNTS; c++)
        for (int failing = 0; failing < 2; failing++) {
            static double squares[LOOPBACK_MAX][AGENTS + 1];
            void *contexts[LOOPBACK_MAX];
            for (unsigned i = 0; i < counts[c]; i++) {
                contexts[i] = memset(squares[i], 0, sizeof squares[i]);
                squares[i][AGENTS] = failing ? 7 : -1;
            }
            loopback_run(&all, counts[c], survey, contexts);
            assert_false(all.wrong);
            for (unsigned i = 0; i < counts[c]; i++) {
                assert_int_equal(outcomes[i], failing ? FPLT_BAD_DATA : FPLT_OK);
                for (uint32_t j = 1; !failing && j < AGENTS; j++)
                    assert_true(squares[i][j] == (double)j * j);
                assert_true(squares[i][0] == (failing ? 7 : 0));
            }
        }
}

static void a_checkpoint_goes_from_any_number_to_any_other(void **state)
{
    (void)state;
    struct logistic_problem p = logistic_make(AGENTS, N, 30, 0.2, 4);
    fplt_participation *half = half_of(AGENTS);
    static const unsigned from[] = {0, 2, 3, 5}, to[] = {3, 5, 0, 2};
    temporary file = temporary_file("", 0);
    for (int c = 0; c < 4; c++) {
        static struct run like, one, first, second;
        like = (struct run){.objective = p.objective, .settings = fplt_run_defaults()};
        like.settings.participation = half;
        like.save = file.path;
        one = alone(&like);
        assert_ok(one.status, one.error);
        first = from[c] ? together(&like, from[c], NULL) : alone(&like);
        assert_ok(first.status, first.error);
        like.save = NULL;
        like.load = file.path;
        second = to[c] ? together(&like, to[c], NULL) : alone(&like);
        assert_ok(second.status, second.error);
        assert_memory_equal(&second.trace, &one.trace, sizeof one.trace);
    }
    unlink(file.path);
    fplt_participation_destroy(half);
    logistic_free(&p);
}

static void a_checkpoint_that_cannot_be_written_or_read_ends_all(void **state)
{
    (void)state;
    struct logistic_problem p = logistic_make(AGENTS, N, 30, 0.2, 4);
    static struct run like, others[LOOPBACK_MAX];
    like = (struct run){.objective = p.objective, .settings = fplt_run_defaults()};
    like.save = "/nowhere/at/all";
    assert_int_equal(together(&like, 3, others).status, FPLT_IO);
    assert_int_equal(others[2].status, FPLT_OK);
    like.save = NULL;
    like.load = "/nowhere/at/all";
    assert_int_equal(together(&like, 3, others).status, FPLT_IO);
    logistic_free(&p);
}

/* Costs that fail, for two agents, from some round on. */
struct failing {
    struct quadratics quadratics;
    fplt_objective *inner;
    uint32_t bad, worse;
};

static int fail_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    struct failing *failing = context;
    double scratch[256];
    if ((agent == failing->bad || agent == failing->worse) && fabs(x[0]) > 0)
        return FPLT_FAILED;
    return fplt_objective_gradient(failing->inner, agent, x, gradient, scratch);
}

static int fail_value(void *context, uint32_t agent, const double *x, double *value)
{
    struct failing *failing = context;
    double scratch[256];
    return fplt_objective_value(failing->inner, agent, x, value, scratch);
}

static void say_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context, (void)agent;
    *lowest = 0.5;
    *highest = 3;
}

static void the_first_agent_that_fails_is_told(void **state)
{
    (void)state;
    static struct failing failing;
    quadratics_make(&failing.quadratics, AGENTS, N, 0.5, 3, 5);
    failing.inner = quadratics_objective(&failing.quadratics);
    failing.bad = 4;
    failing.worse = 9;
    fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                          .context = &failing,
                                          .agents = AGENTS,
                                          .dimension = N,
                                          .value = fail_value,
                                          .gradient = fail_gradient,
                                          .curvature = say_curvature};
    fplt_error error;
    fplt_objective *objective;
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    static struct run like, one, several;
    like = (struct run){.objective = objective, .settings = fplt_run_defaults()};
    one = alone(&like);
    assert_int_equal(one.status, FPLT_FAILED);
    assert_contains(one.error.text, "agent 4");
    for (int c = 0; c < COUNTS; c++) {
        several = together(&like, counts[c], NULL);
        assert_int_equal(several.status, one.status);
        assert_string_equal(several.error.text, one.error.text);
    }
    fplt_objective_destroy(objective);
    fplt_objective_destroy(failing.inner);
}

/* One process fails before it has a fleet: all end, with its sentence. */
static void one_that_fails_before_ends_all(void **state)
{
    (void)state;
    struct logistic_problem p = logistic_make(AGENTS, N, 30, 0.2, 4);
    static struct loopback all;
    static struct run runs[3];
    void *contexts[] = {&runs[0], &runs[1], &runs[2]};
    fplt_training each[AGENTS];
    for (int i = 0; i < AGENTS; i++)
        each[i] = fplt_training_defaults();
    each[6].tolerance = -1; /* its process finds out */
    for (int i = 0; i < 3; i++) {
        runs[i] = (struct run){.objective = p.objective, .settings = fplt_run_defaults()};
        runs[i].settings.each = each;
    }
    loopback_run(&all, 3, play, contexts);
    assert_false(all.wrong);
    struct run one = alone(&runs[0]);
    assert_true(one.status != FPLT_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(runs[i].status, one.status);
        assert_string_equal(runs[i].error.text, one.error.text);
        assert_int_equal(all.member[i].ranks.ended, 1);
    }
    logistic_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_for_every_method_and_number),
        cmocka_unit_test(a_survey_is_known_to_all),
        cmocka_unit_test(a_checkpoint_goes_from_any_number_to_any_other),
        cmocka_unit_test(a_checkpoint_that_cannot_be_written_or_read_ends_all),
        cmocka_unit_test(the_first_agent_that_fails_is_told),
        cmocka_unit_test(one_that_fails_before_ends_all),
    };
    return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
