/* The parallel loop, single runs and tuning. */
#include "testing.h"

#include <stdatomic.h>

#include "base/memory.h"
#include "lab/tuning/crew.h"
#include "lab/tuning/problem.h"
#include "lab/tuning/tuning.h"
#include "base/sorting.h"

enum { TASKS = 200 };

struct board {
    atomic_int visits[TASKS];
    int fails_from;
    size_t told, last_total, stop_at;
};

static fplt_status visit(void *context, size_t index, fplt_error *error)
{
    struct board *board = context;
    atomic_fetch_add(&board->visits[index], 1);
    if (board->fails_from == (int)index) { /* let a later task fail first */
        while (!atomic_load(&board->visits[index + 1]))
            usleep(100);
        usleep(2000);
    }
    if (board->fails_from >= 0 && (int)index >= board->fails_from)
        return fplt_error_set(error, FPLT_FAILED, "task %zu", index);
    return FPLT_OK;
}

static int watch(void *context, size_t done, size_t total)
{
    struct board *board = context;
    board->told++;
    assert_int_equal(done, 7 + board->told);
    board->last_total = total;
    return board->stop_at && board->told >= board->stop_at;
}

static void every_task_once(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct board board = {.fails_from = -1};
        fplt__crew crew = {threads, watch, &board};
        fplt_error error;
        assert_ok(fplt__crew_run(&crew, TASKS, visit, &board, 7, 500, &error), error);
        for (int i = 0; i < TASKS; i++)
            assert_int_equal(board.visits[i], 1);
        assert_int_equal(board.told, TASKS);
        assert_int_equal(board.last_total, 500);
    }
}

static void lowest_failure_is_reported(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 5; repeat++) {
        struct board board = {.fails_from = 23};
        fplt__crew crew = {4, NULL, NULL};
        fplt_error error;
        assert_int_equal(fplt__crew_run(&crew, TASKS, visit, &board, 0, TASKS, &error),
                         FPLT_FAILED);
        assert_string_equal(error.text, "task 23");
        assert_int_equal(board.visits[TASKS - 1], 0);
    }
}

static void stops_on_request(void **state)
{
    (void)state;
    struct board board = {.fails_from = -1, .stop_at = 10};
    fplt__crew crew = {2, watch, &board};
    fplt_error error;
    assert_int_equal(fplt__crew_run(&crew, TASKS, visit, &board, 7, TASKS, &error), FPLT_FAILED);
    assert_contains(error.text, "stopped");
    assert_true(board.told < TASKS);
}

static void cores_are_shared_out(void **state)
{
    (void)state;
    fplt__crew crew = {8, NULL, NULL};
    assert_int_equal(fplt__crew_threads(&crew, 3), 3);
    assert_int_equal(fplt__crew_share(&crew, 3), 2);
    assert_int_equal(fplt__crew_share(&crew, 100), 1);
    assert_int_equal(fplt__crew_threads(&crew, 0), 1);
}

static void quantiles(void **state)
{
    (void)state;
    double numbers[] = {4, 1, HUGE_VAL, 3, 2};
    fplt__sort(numbers, 5);
    assert_near(fplt__quantile(numbers, 5, 0.5), 3, 0);
    assert_near(fplt__quantile(numbers, 5, 0.25), 2, 0);
    assert_near(fplt__quantile(numbers, 4, 0.5), 2.5, 0);
    assert_true(isinf(fplt__quantile(numbers, 5, 0.9)));
    assert_true(isnan(fplt__quantile(numbers, 0, 0.5)));
}

/* A small version of the paper's problem. */
static fplt__tuning_problem small_scene(uint64_t seed)
{
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    fplt__tuning_problem scene;
    fplt_error error;
    data.agents = 12;
    data.features = 3;
    data.rows = 40;
    data.seed = seed;
    assert_ok(fplt__tuning_problem_make(&data, &cost, &scene, &error), error);
    return scene;
}

static fplt__method method_of(const char *name)
{
    fplt__method method = {.run = fplt_run_defaults()};
    fplt__method_defaults(&method, fplt_algorithm_find(name));
    method.run.threads = 1;
    method.run.rounds = 300;
    return method;
}

/* What a run reports is what the engine reports, whoever measures the criterion. */
static void a_run_is_the_engines(void **state)
{
    (void)state;
    fplt__tuning_problem scene = small_scene(1);
    fplt__case one = {.objective = scene.objective, .curvatures = scene.curvatures, .seed = 5};
    const char *names[] = {"fed-plt", "fedlin", "tamuna", "5gcs"};
    for (size_t i = 0; i < 4; i++) {
        fplt__method method = method_of(names[i]);
        fplt_run_settings settings = method.run;
        fplt__judged judged[2];
        fplt__recording recording[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
        fplt_engine *engine;
        fplt_result result;
        fplt_error error;
        for (uint32_t every = 0; every < 2; every++) {
            settings.evaluate_every = every;
            assert_ok(fplt__trial_run(&one, &settings, HUGE_VAL, HUGE_VAL, &recording[every],
                                      &judged[every], &error),
                      error);
        }
        settings.seed = 5;
        assert_ok(fplt_engine_create(scene.objective, &settings, &engine, &error), error);
        assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
        fplt_engine_destroy(engine);
        for (uint32_t every = 0; every < 2; every++) {
            assert_int_equal(judged[every].converged, 1);
            assert_near(judged[every].rounds, (double)result.counters.rounds, 0);
            assert_near(judged[every].paper_time, result.counters.paper_time, 0);
            assert_close(judged[every].criterion, result.end.criterion, 1e-9);
            assert_true(judged[every].fine > judged[every].rounds - 1 &&
                        judged[every].fine <= judged[every].rounds);
            assert_int_equal(recording[every].count, result.counters.rounds + 1);
        }
        for (size_t k = 0; k < recording[0].count; k++)
            assert_close(recording[0].samples[k].criterion, recording[1].samples[k].criterion,
                         1e-9);
        fplt__free(recording[0].samples);
        fplt__free(recording[1].samples);
    }
    fplt__tuning_problem_clear(&scene);
}

static void a_run_is_given_up(void **state)
{
    (void)state;
    fplt__tuning_problem scene = small_scene(2);
    fplt__case one = {.objective = scene.objective, .curvatures = scene.curvatures};
    fplt__method method = method_of("fedpd");
    fplt__judged judged;
    fplt_error error;
    assert_ok(fplt__trial_run(&one, &method.run, 4, HUGE_VAL, NULL, &judged, &error), error);
    assert_int_equal(judged.converged, 0);
    assert_near(judged.rounds, 4, 0);
    assert_true(isfinite(judged.fine) && judged.fine > 0);
    assert_ok(fplt__trial_run(&one, &method.run, HUGE_VAL, 1, NULL, &judged, &error), error);
    assert_near(judged.rounds, 1, 0);
    method.run.training.step = 1e6; /* diverges */
    assert_ok(fplt__trial_run(&one, &method.run, HUGE_VAL, HUGE_VAL, NULL, &judged, &error), error);
    assert_int_equal(judged.converged, 0);
    assert_true(isinf(judged.fine) || judged.fine > 30);
    fplt__tuning_problem_clear(&scene);
}

/* FedAvg with several epochs ends beside the minimiser and is given up early; with one epoch and short
 * steps it arrives late, and is left in peace even when its rounds only just suffice. */
static void only_who_cannot_arrive_is_given_up(void **state)
{
    (void)state;
    fplt_error error;
    fplt__judged patient, judged;
    fplt__tuning_problem scene = small_scene(2);
    fplt__case one = {.objective = scene.objective, .curvatures = scene.curvatures, .impatient = 1};
    fplt__case other = {.objective = scene.objective, .curvatures = scene.curvatures};
    fplt__method method = method_of("fedavg");
    method.run.rounds = 5000;
    assert_ok(fplt__trial_run(&one, &method.run, HUGE_VAL, HUGE_VAL, NULL, &judged, &error), error);
    assert_int_equal(judged.converged, 0);
    assert_int_equal(judged.stalled, 1);
    assert_true(judged.rounds <= 400);
    method.run.training.epochs = 1;
    method.run.training.step = 0.005;
    method.run.rounds = 100000;
    assert_ok(fplt__trial_run(&other, &method.run, HUGE_VAL, HUGE_VAL, NULL, &patient, &error),
              error);
    assert_int_equal(patient.converged, 1);
    assert_true(patient.rounds > 400);
    method.run.rounds = (uint64_t)patient.rounds + 1;
    assert_ok(fplt__trial_run(&one, &method.run, HUGE_VAL, HUGE_VAL, NULL, &judged, &error), error);
    assert_int_equal(judged.converged, 1);
    assert_int_equal(judged.stalled, 0);
    assert_near(judged.rounds, patient.rounds, 0);
    fplt__tuning_problem_clear(&scene);
}

/* Tuning never does worse than the automatic values, finds a step that is known to be better (FedLin
 * converges in a handful of rounds with a step near 1/L, its automatic one is 1/(5 L)), and leaves
 * what is given alone. */
static void tuning_helps(void **state)
{
    (void)state;
    fplt__tuning_problem scene = small_scene(3);
    fplt__case one = {.objective = scene.objective, .curvatures = scene.curvatures};
    const char *names[] = {"fed-plt", "fedlin", "led", "5gcs"};
    for (size_t i = 0; i < 4; i++) {
        fplt__method method = method_of(names[i]);
        fplt__tuning tuning = {.method = &method, .cases = &one, .count = 1, .points = 25};
        fplt__tuned none = fplt__tuned_none(), tuned;
        fplt__judged before, after;
        fplt_error error;
        assert_ok(fplt__tuned_judge(&none, &method, &one, 1, &before, &error), error);
        assert_ok(fplt__tuning_run(&tuning, &tuned, &error), error);
        assert_ok(fplt__tuned_judge(&tuned, &method, &one, 1, &after, &error), error);
        assert_true(after.rounds <= before.rounds);
        assert_near(after.rounds, tuned.cost.value, 0);
        assert_memory_equal(&after, &tuned.judged, sizeof after); /* the search made this run */
        assert_true(tuned.points <= 25);
        if (i == 1)
            assert_true(after.rounds <= 0.5 * before.rounds);
    }
    fplt__method method = method_of("fed-plt");
    fplt__tuning tuning = {.method = &method, .cases = &one, .count = 1, .points = 25};
    fplt__tuned tuned;
    fplt_error error;
    fplt__method_fix(&method, "rho", 0.3);
    method.run.training.step = 0.1;
    assert_ok(fplt__tuning_run(&tuning, &tuned, &error), error);
    assert_int_equal(tuned.points, 1);
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_training training;
    fplt__automatic automatic;
    assert_ok(fplt__automatic_find(&one, &method, &automatic, &error), error);
    fplt__tuned_apply(&tuned, &method, &automatic, parameter, &training);
    assert_near(parameter[0], 0.3, 0);
    assert_near(training.step, 0.1, 0);
    fplt__tuning_problem_clear(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_once),   cmocka_unit_test(lowest_failure_is_reported),
        cmocka_unit_test(stops_on_request),  cmocka_unit_test(cores_are_shared_out),
        cmocka_unit_test(quantiles),         cmocka_unit_test(a_run_is_the_engines),
        cmocka_unit_test(a_run_is_given_up), cmocka_unit_test(only_who_cannot_arrive_is_given_up),
        cmocka_unit_test(tuning_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
