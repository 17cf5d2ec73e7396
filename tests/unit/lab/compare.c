/* Comparisons on tiny problems. */
#include "testing.h"

#include "failing.h"
#include "fedplt/compare.h"
#include "fedplt/engine.h"
#include "fedplt/generate.h"
#include "fedplt/job.h"
#include "fedplt/objective_callbacks.h"
#include "temporary.h"
#include "engine/engine_access.h"
#include "job/job.h"

static fplt_settings *tiny(void)
{
    fplt_error error;
    fplt_settings *settings;
    static const char *const values[][2] = {
        {"agents", "8"}, {"features", "3"}, {"rows", "30"}, {"rounds", "150"}, {"seed", "4"}};
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_compare_declare(settings, &error), error);
    for (size_t i = 0; i < 5; i++)
        assert_ok(fplt_settings_set(settings, values[i][0], values[i][1], "test", &error), error);
    return settings;
}

static void set(fplt_settings *settings, const char *name, const char *value)
{
    fplt_error error;
    assert_ok(fplt_settings_set(settings, name, value, "test", &error), error);
}

static fplt_comparison *compare(const fplt_compare_settings *wanted)
{
    fplt_comparison *comparison;
    fplt_error error;
    assert_ok(fplt_comparison_create(wanted, &comparison, &error), error);
    return comparison;
}

static const fplt_compared *find(const fplt_comparison *comparison, const char *name)
{
    for (size_t i = 0; i < fplt_comparison_count(comparison); i++)
        if (strcmp(fplt_comparison_get(comparison, i)->algorithm->name, name) == 0)
            return fplt_comparison_get(comparison, i);
    fail_msg("%s is not in the comparison", name);
    return NULL;
}

static void assert_same(const fplt_comparison *a, const fplt_comparison *b)
{
    assert_int_equal(fplt_comparison_count(a), fplt_comparison_count(b));
    for (size_t i = 0; i < fplt_comparison_count(a); i++) {
        const fplt_compared *x = fplt_comparison_get(a, i), *y = fplt_comparison_get(b, i);
        assert_memory_equal(&x->rounds, &y->rounds, sizeof x->rounds);
        assert_memory_equal(&x->gradients, &y->gradients, sizeof x->gradients);
        assert_memory_equal(&x->paper_time, &y->paper_time, sizeof x->paper_time);
        assert_memory_equal(x->parameter, y->parameter, sizeof x->parameter);
        assert_true(x->step == y->step);
        assert_int_equal(x->failures, y->failures);
        assert_int_equal(x->curve.count, y->curve.count);
        if (x->curve.count)
            assert_memory_equal(x->curve.criterion, y->curve.criterion,
                                x->curve.count * sizeof(double));
    }
}

static void threads_change_nothing(void **state)
{
    (void)state;
    fplt_settings *settings = tiny();
    fplt_compare_settings wanted = fplt_compare_defaults(settings);
    const fplt_algorithm *some[] = {fplt_algorithm_find("fed-plt"), fplt_algorithm_find("tamuna"),
                                    fplt_algorithm_find("fedlin")};
    wanted.algorithms = some;
    wanted.count = 3;
    wanted.runs = 5;
    for (int tune = 0; tune < 2; tune++) {
        wanted.tune = tune;
        wanted.points = 6;
        wanted.threads = 1;
        fplt_comparison *one = compare(&wanted);
        wanted.threads = 3;
        fplt_comparison *three = compare(&wanted);
        assert_same(one, three);
        assert_int_equal(find(one, "fed-plt")->points > 0, tune);
        if (tune) { /* data are redrawn: five sets; what is random has more runs */
            assert_int_equal(find(one, "fed-plt")->tuning_runs, 5);
            assert_int_equal(find(one, "tamuna")->tuning_runs, 20);
        }
        fplt_comparison_destroy(one);
        fplt_comparison_destroy(three);
    }
    fplt_settings_destroy(settings);
}

/* One run of the comparison is one run of the engine on the job's data. */
static void agrees_with_the_engine(void **state)
{
    (void)state;
    fplt_settings *settings = tiny(), *own;
    fplt_compare_settings wanted = fplt_compare_defaults(settings);
    fplt_comparison *comparison = compare(&wanted);
    const fplt_compared *method = find(comparison, "fed-plt");
    fplt_error error;
    fplt_job *job;
    fplt_engine *engine;
    fplt_result result;
    assert_ok(fplt_settings_create(&own, &error), error);
    assert_ok(fplt_job_declare(own, FPLT_JOB_ALL, "fed-plt", &error), error);
    static const char *const names[] = {"agents", "features", "rows", "rounds", "seed"};
    for (size_t i = 0; i < 5; i++)
        set(own, names[i], fplt_settings_text(settings, names[i]));
    assert_ok(fplt__job_create(own, 0, &job, &error), error);
    assert_ok(fplt_engine_create(fplt_job_get_view(job)->objective, &fplt_job_get_view(job)->run,
                                 &engine, &error),
              error);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_near(method->rounds.median, (double)result.counters.rounds, 0);
    assert_near(method->gradients.median, result.counters.gradients, 0);
    assert_near(method->paper_time.median, result.counters.paper_time, 0);
    assert_near(method->parameter[0], fplt__engine_parameters(engine)[0], 0);
    assert_int_equal(method->curve.count, result.counters.rounds + 1);
    assert_near(method->curve.criterion[method->curve.count - 1], result.end.criterion, 0);
    assert_near(fplt_comparison_target(comparison), 1e-5, 0);
    /* FedAvg is biased: it fails, and says so */
    assert_int_equal(find(comparison, "fedavg")->failures, 1);
    assert_true(isinf(find(comparison, "fedavg")->rounds.median));
    fplt_engine_destroy(engine);
    fplt_job_destroy(job);
    fplt_comparison_destroy(comparison);
    fplt_settings_destroy(own);
    fplt_settings_destroy(settings);
}

/* Nothing is dropped in silence. */
static void refusals_have_reasons(void **state)
{
    (void)state;
    fplt_settings *settings = tiny();
    set(settings, "participation", "fixed");
    set(settings, "active", "4");
    set(settings, "solver", "accelerated");
    fplt_compare_settings wanted = fplt_compare_defaults(settings);
    wanted.runs = 2;
    fplt_comparison *comparison = compare(&wanted);
    size_t all = 0;
    while (fplt_algorithm_list(all))
        all++;
    assert_int_equal(fplt_comparison_count(comparison), all);
    assert_null(find(comparison, "fed-plt")->refusal);
    assert_contains(find(comparison, "tamuna")->refusal, "accelerated");
    assert_contains(find(comparison, "fedlin")->refusal, "every agent");
    assert_int_equal(find(comparison, "fedlin")->curve.count, 0);
    fplt_comparison_destroy(comparison);
    const fplt_algorithm *only[] = {fplt_algorithm_find("led")};
    fplt_error error;
    wanted.algorithms = only;
    wanted.count = 1;
    assert_int_equal(fplt_comparison_create(&wanted, &comparison, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "led");
    fplt_settings_destroy(settings);
}

static void given_parameters(void **state)
{
    (void)state;
    fplt_error error;
    fplt_comparison *comparison;
    const fplt_algorithm *some[] = {fplt_algorithm_find("fed-plt"), fplt_algorithm_find("led")};
    const char *const wrong[][2] = {{"fed-plt.rho=-1", "rho"},
                                    {"rho=1", "algorithm.name=value"},
                                    {"fed-ptl.rho=1", "did you mean 'fed-plt'?"},
                                    {"fed-plt.roh=1", "rho"},
                                    {"tamuna.p=0.5", "not among"}};
    for (size_t i = 0; i < 5; i++) {
        fplt_settings *settings = tiny();
        set(settings, "parameters", wrong[i][0]);
        fplt_compare_settings wanted = fplt_compare_defaults(settings);
        wanted.algorithms = some;
        wanted.count = 2;
        assert_int_equal(fplt_comparison_create(&wanted, &comparison, &error), FPLT_BAD_VALUE);
        assert_contains(error.text, wrong[i][1]);
        fplt_settings_destroy(settings);
    }
    fplt_settings *settings = tiny();
    set(settings, "parameters", "fed-plt.rho=0.7,led.beta=0.25");
    fplt_compare_settings wanted = fplt_compare_defaults(settings);
    wanted.algorithms = some;
    wanted.count = 2;
    wanted.tune = 1;
    wanted.points = 4;
    comparison = compare(&wanted);
    assert_near(find(comparison, "fed-plt")->parameter[0], 0.7, 1e-15);
    assert_near(find(comparison, "led")->parameter[0], 0.25, 1e-15);
    fplt_comparison_destroy(comparison);
    fplt_settings_destroy(settings);
}

/* Data from a file stay; a method without randomness then does the same in every run. */
static void files_keep_their_rows(void **state)
{
    (void)state;
    static const char text[] = "site,a,b,label\n"
                               "p,1,2,1\np,2,-1,-1\np,0.5,1,1\n"
                               "q,-1,1,1\nq,1,-2,-1\nq,2,2,1\nr,0,1,1\nr,1,-1,-1\n";
    fplt_error error;
    fplt_settings *settings;
    temporary file = temporary_file(text, sizeof text - 1);
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_compare_declare(settings, &error), error);
    set(settings, "data", file.path);
    set(settings, "format", "csv");
    set(settings, "parameters", "tamuna.p=0.3"); /* so that lengths are random */
    fplt_compare_settings wanted = fplt_compare_defaults(settings);
    const fplt_algorithm *some[] = {fplt_algorithm_find("fed-plt"), fplt_algorithm_find("tamuna")};
    wanted.algorithms = some;
    wanted.count = 2;
    wanted.runs = 7;
    wanted.tune = 1;
    wanted.points = 3;
    fplt_comparison *comparison = compare(&wanted);
    const fplt_compared *certain = find(comparison, "fed-plt");
    const fplt_compared *random = find(comparison, "tamuna");
    assert_near(certain->rounds.low, certain->rounds.high, 0);
    assert_int_equal(certain->tuning_runs, 1);
    assert_true(random->gradients.low < random->gradients.high);
    assert_int_equal(random->tuning_runs, 20);
    fplt_comparison_destroy(comparison);
    fplt_settings_destroy(settings);
    unlink(file.path);
}

/* The costs of a data set, through callbacks. */

static int own_value(void *context, uint32_t agent, const double *x, double *value)
{
    double scratch[4096];
    return fplt_objective_value(context, agent, x, value, scratch) != FPLT_OK;
}

static int own_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    double scratch[4096];
    return fplt_objective_gradient(context, agent, x, gradient, scratch) != FPLT_OK;
}

static void own_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    fplt_curvature curvature;
    fplt_objective_curvature(context, agent, 0, &curvature, NULL);
    *lowest = curvature.lowest;
    *highest = curvature.highest;
}

/* Rows in memory and own costs give what the same rows in a file give. */
static void memory_is_like_a_file(void **state)
{
    (void)state;
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *records, *own;
    fplt_objective_settings cost = fplt_objective_defaults();
    fplt_generate_settings generate = fplt_generate_defaults();
    generate.agents = 3;
    generate.rows = 20;
    assert_ok(fplt_dataset_generate(&generate, &dataset, &error), error);
    assert_ok(fplt_objective_create(&cost, dataset, &records, &error), error);
    fplt_objective_callbacks callbacks = {.size = sizeof(fplt_objective_callbacks),
                                          .dimension = 5,
                                          .agents = 3,
                                          .context = records,
                                          .value = own_value,
                                          .gradient = own_gradient,
                                          .curvature = own_curvature};
    assert_ok(fplt_objective_create_callback(&callbacks, &own, &error), error);
    assert_true(fplt_objective_scratch(records) <= 4096);
    temporary file = temporary_file("", 0);
    assert_ok(fplt_dataset_write(dataset, file.path, "csv", &error), error);
    fplt_comparison *found[3];
    const fplt_algorithm *some[] = {fplt_algorithm_find("fed-plt"), fplt_algorithm_find("tamuna")};
    for (int which = 0; which < 3; which++) {
        fplt_settings *settings;
        assert_ok(fplt_settings_create(&settings, &error), error);
        assert_ok(fplt_compare_declare(settings, &error), error);
        if (which == 0) {
            set(settings, "data", file.path);
            set(settings, "format", "csv");
        }
        fplt_compare_settings wanted = fplt_compare_defaults(settings);
        wanted.algorithms = some;
        wanted.count = 2;
        wanted.runs = 3;
        wanted.tune = 1;
        wanted.points = 3;
        wanted.dataset = which == 1 ? dataset : NULL;
        wanted.objective = which == 2 ? own : NULL;
        found[which] = compare(&wanted);
        if (which == 1) { /* it says what contradicts it, and takes nothing over */
            fplt_comparison *none;
            set(settings, "rows", "7");
            assert_int_equal(fplt_comparison_create(&wanted, &none, &error), FPLT_BAD_VALUE);
            assert_contains(error.text, "in memory");
        }
        fplt_settings_destroy(settings);
    }
    assert_same(found[0], found[1]);
    assert_same(found[0], found[2]);
    for (int which = 0; which < 3; which++)
        fplt_comparison_destroy(found[which]);
    unlink(file.path);
    fplt_objective_destroy(own);
    fplt_objective_destroy(records);
    fplt_dataset_destroy(dataset);
}

static int stop(void *context, size_t done, size_t total)
{
    (void)context;
    return done * 2 >= total;
}

static void refuses_and_stops(void **state)
{
    (void)state;
    fplt_settings *settings = tiny();
    fplt_compare_settings wanted = fplt_compare_defaults(settings);
    fplt_comparison *comparison;
    fplt_error error;
    wanted.runs = 0;
    assert_int_equal(fplt_comparison_create(&wanted, &comparison, &error), FPLT_BAD_VALUE);
    wanted.runs = 6;
    wanted.watch = stop;
    assert_int_equal(fplt_comparison_create(&wanted, &comparison, &error), FPLT_FAILED);
    assert_contains(error.text, "stopped");
    assert_null(comparison);
    set(settings, "tolerance", "0");
    assert_int_equal(fplt_comparison_create(&wanted, &comparison, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "tolerance");
    fplt_settings_destroy(settings);
}

static void survives_want_of_memory(void **state)
{
    (void)state;
    const fplt_algorithm *some[] = {fplt_algorithm_find("fedlin")};
    survives_failing_allocations(
        {
            fplt_settings *settings = NULL;
            fplt_comparison *comparison = NULL;
            status = fplt_settings_create(&settings, NULL);
            if (!status)
                status = fplt_compare_declare(settings, NULL);
            if (!status && !(status = fplt_settings_set(settings, "agents", "2", "test", NULL)) &&
                !(status = fplt_settings_set(settings, "rows", "8", "test", NULL)) &&
                !(status = fplt_settings_set(settings, "features", "2", "test", NULL))) {
                fplt_compare_settings wanted = fplt_compare_defaults(settings);
                wanted.algorithms = some;
                wanted.count = 1;
                wanted.threads = 1;
                status = fplt_comparison_create(&wanted, &comparison, NULL);
            }
            fplt_comparison_destroy(comparison);
            fplt_settings_destroy(settings);
        },
        50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing),  cmocka_unit_test(agrees_with_the_engine),
        cmocka_unit_test(refusals_have_reasons),   cmocka_unit_test(given_parameters),
        cmocka_unit_test(files_keep_their_rows),   cmocka_unit_test(refuses_and_stops),
        cmocka_unit_test(survives_want_of_memory), cmocka_unit_test(memory_is_like_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
