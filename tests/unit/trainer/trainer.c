/* The trainer: own costs against their minimiser, runs that stop and go on against runs that do not,
 * the information against its closed form, a promise against its verifier. */
#include "training.h"

#include "failing.h"
#include "temporary.h"
#include "data/schema_access.h"
#include "report/report.h"
#include "trainer/trainer.h"
#include "fedplt/certificate.h"
#include "fedplt/export.h"
#include "fedplt/record.h"
#include "fedplt/solver.h"

/* ---- the default algorithm ---- */

struct words {
    const char *const *pairs;
};

static const char *word_of(void *context, const char *name)
{
    for (const char *const *pair = ((struct words *)context)->pairs; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static void default_algorithm_is_automatic_where_it_may_be(void **state)
{
    (void)state;
    static const struct {
        const char *pairs[7];
        int own_data;
        const char *algorithm;
        int epochs; /* are automatic */
    } cases[] = {
        {{NULL}, 0, "fed-plt", 0},
        {{NULL}, 1, "auto", 0},
        {{"data", "x.csv", NULL}, 0, "auto", 0},
        {{"data", "x.csv", "epochs", "3", NULL}, 0, "auto", 0},
        {{"data", "x.csv", "rho", "3", NULL}, 0, "fed-plt-anderson", 1},
        {{"rho", "3", "epochs", "3", NULL}, 1, "fed-plt-anderson", 0},
        {{"rho", "3", "solver", "newton", NULL}, 1, "fed-plt-anderson", 0},
        {{"solver", "newton", NULL}, 1, "auto", 0},
        {{"solver", "sgd", NULL}, 1, "fed-plt", 0},
        {{"solver", "noisy", NULL}, 1, "fed-plt", 0},
        {{"participation", "bernoulli", NULL}, 1, "auto", 0},
        {{"participation", "bernoulli", "rho", "3", NULL}, 1, "fed-plt", 1},
        {{"participation", "all", NULL}, 1, "auto", 0},
        {{"privacy.epsilon", "2", NULL}, 1, "fed-plt", 0},
        {{"uncoordinated", "x.csv", NULL}, 1, "fed-plt", 0},
        {{"algorithm", "fed-plt", NULL}, 1, "fed-plt", 0},
    };
    fplt_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct words words = {cases[i].pairs};
        fplt_settings *settings;
        assert_ok(fplt_settings_create(&settings, &error), error);
        assert_ok(fplt_trainer_declare(settings, cases[i].own_data, word_of, &words, &error),
                  error);
        assert_string_equal(fplt_settings_text(settings, "algorithm"), cases[i].algorithm);
        assert_int_equal(fplt_settings_is_auto(settings, "epochs"), cases[i].epochs);
        fplt_settings_destroy(settings);
    }
}

/* ---- own costs, solver and start ---- */

static void own_costs_reach_their_minimiser(void **state)
{
    (void)state;
    enum { N = 5 };
    static const char *const pairs[] = {"rounds", "2000", "tolerance", "1e-20", NULL};
    static struct quadratics quadratics;
    double minimiser[N];
    fplt_error error;
    fplt_model *model;
    fplt_record record;
    quadratics_make(&quadratics, 6, N, 0.5, 4, 3);
    quadratics_minimiser(&quadratics, minimiser);
    fplt_objective *objective = quadratics_objective(&quadratics);
    fplt_settings *settings = settings_with(pairs);
    fplt_job_source source = {.objective = objective};
    fplt_trainer *trainer = trainer_of(settings, &source);
    assert_int_equal(run_to_the_end(trainer).outcome, FPLT_CONVERGED);
    double *x = weights_of(trainer);
    for (size_t j = 0; j < N; j++)
        assert_near(x[j], minimiser[j], 1e-9);
    free(x);
    assert_ok(fplt_trainer_record(trainer, &record, &error), error);
    assert_true(record.measured && !record.judged);
    assert_string_equal(record.parameter[0].name, "rho");
    assert_contains(record.parameter[0].why, "rho = ");
    assert_int_equal(fplt_trainer_model(trainer, &model, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "own costs");
    assert_int_equal(fplt__trainer_information(trainer, minimiser, NULL, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "own costs");
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    fplt_objective_destroy(objective);
}

/* Minimises d(w) for diagonal quadratic costs exactly, and counts. */
struct exact {
    int calls;
};

static fplt_status exact_run(fplt_local *local, double *w, fplt_error *error)
{
    struct exact *exact = local->training.context;
    enum { N = 5 };
    double gradient[N], next[N], at[N] = {0};
    (void)error;
    exact->calls++;
    fplt_local_gradient(local, at, gradient);
    /* columns of the Hessian of d by differences, which are exact up to rounding */
    double matrix[N * N];
    for (size_t j = 0; j < N; j++) {
        at[j] = 1;
        fplt_local_gradient(local, at, next);
        at[j] = 0;
        for (size_t i = 0; i < N; i++)
            matrix[i * N + j] = next[i] - gradient[i];
    }
    for (size_t i = 0; i < N; i++)
        w[i] = -gradient[i];
    solve_linear(N, matrix, w);
    return FPLT_OK;
}

static void own_solver_takes_the_place_of_the_setting(void **state)
{
    (void)state;
    enum { N = 5, AGENTS = 6 };
    static const fplt_solver solver = {.size = sizeof(fplt_solver),
                                       .name = "exact",
                                       .help = "by elimination",
                                       .traits = FPLT_MINIMISER,
                                       .run = exact_run};
    static const char *const pairs[] = {"rounds", "60", "tolerance", "0", "threads", "1", NULL};
    static struct quadratics quadratics;
    struct exact exact = {0};
    double minimiser[N];
    fplt_error error;
    quadratics_make(&quadratics, AGENTS, N, 0.5, 4, 3);
    quadratics_minimiser(&quadratics, minimiser);
    fplt_objective *objective = quadratics_objective(&quadratics);
    fplt_settings *settings = settings_with(pairs);
    fplt_job_source source = {.objective = objective, .solver = &solver, .solver_context = &exact};
    fplt_trainer *trainer = trainer_of(settings, &source);
    run_to_the_end(trainer);
    assert_int_equal(exact.calls, 60 * AGENTS);
    double *x = weights_of(trainer);
    for (size_t j = 0; j < N; j++)
        assert_near(x[j], minimiser[j], 1e-9);
    free(x);
    fplt_trainer_destroy(trainer);
    assert_ok(fplt_settings_set(settings, "solver", "newton", "--solver", &error), error);
    assert_int_equal(fplt_trainer_create(settings, &source, &trainer, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "--solver: solver is given");
    fplt_settings_destroy(settings);
    fplt_objective_destroy(objective);
}

static void starts_where_it_is_told(void **state)
{
    (void)state;
    static const char *const pairs[] = {"rounds", "0", "algorithm", "fed-plt", NULL};
    static const double start[] = {0.25, -1.5, 3};
    fplt_error error;
    fplt_settings *settings = settings_with(pairs);
    fplt_job_source source = {.dataset = paper_rows(4, 3, 20), .start = start, .start_count = 2};
    fplt_trainer *trainer;
    assert_int_equal(fplt_trainer_create(settings, &source, &trainer, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "has 2 coordinates, but the job needs 3");
    source.dataset = paper_rows(4, 3, 20);
    source.start_count = 3;
    trainer = trainer_of(settings, &source);
    fplt_model *model;
    run_to_the_end(trainer);
    double *x = weights_of(trainer);
    for (size_t j = 0; j < 3; j++)
        assert_near(x[j], start[j], 1e-15);
    assert_ok(fplt_trainer_model(trainer, &model, &error), error);
    fplt_trainer_destroy(trainer);
    /* and from a model file */
    temporary file = temporary_file("", 0);
    assert_ok(fplt_model_write(model, file.path, &error), error);
    assert_ok(fplt_settings_set(settings, "start", "model", "test", &error), error);
    source = (fplt_job_source){.dataset = paper_rows(4, 3, 20)};
    assert_int_equal(fplt_trainer_create(settings, &source, &trainer, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "add start-model");
    assert_ok(fplt_settings_set(settings, "start-model", file.path, "test", &error), error);
    source.dataset = paper_rows(4, 3, 20);
    trainer = trainer_of(settings, &source);
    run_to_the_end(trainer);
    double *again = weights_of(trainer);
    assert_memory_equal(x, again, 3 * sizeof *x);
    free(again);
    free(x);
    fplt_trainer_destroy(trainer);
    fplt_model_destroy(model);
    fplt_settings_destroy(settings);
    unlink(file.path);
}

static void refuses_settings_that_the_source_replaces(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *about;
        int data, costs;
    } cases[] = {
        {"data", "x.csv", "in memory", 1, 1},
        {"label", "b", "in memory", 1, 1},
        {"generator", "iid", "in memory", 1, 1},
        {"rows", "5", "in memory", 1, 1},
        {"loss", "logistic", "own", 0, 1},
        {"eps", "0.1", "own", 0, 1},
        {"standardise", "scale", "own", 0, 1},
        {"holdout", "0.2", "own", 0, 1},
        {"partition", "shuffled", "own", 0, 1},
        {"agents", "3", "own", 0, 1},
        {"seed", "3", "", 0, 0},
        {"h", "l1", "", 0, 0},
    };
    static struct quadratics quadratics;
    fplt_error error;
    quadratics_make(&quadratics, 3, 3, 1, 2, 1);
    fplt_objective *objective = quadratics_objective(&quadratics);
    static const char *const pairs[] = {"partition", "shuffled", NULL}, *const none[] = {NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int divides = strcmp(cases[i].name, "agents") == 0;
        fplt_settings *settings = settings_with(none), *divided = settings_with(pairs);
        fplt_trainer *trainer;
        fplt_job_source own = {.objective = objective}, memory = {.dataset = paper_rows(3, 3, 20)};
        assert_ok(fplt_settings_set(settings, cases[i].name, cases[i].value, "here", &error),
                  error);
        assert_ok(fplt_settings_set(divided, cases[i].name, cases[i].value, "here", &error), error);
        fplt_status status =
            fplt_trainer_create(divides ? divided : settings, &memory, &trainer, &error);
        assert_int_equal(status, cases[i].data ? FPLT_BAD_VALUE : FPLT_OK);
        if (status)
            assert_contains(error.text, "here: ");
        fplt_trainer_destroy(trainer);
        status = fplt_trainer_create(settings, &own, &trainer, &error);
        assert_int_equal(status, cases[i].costs ? FPLT_BAD_VALUE : FPLT_OK);
        if (status)
            assert_contains(error.text, "the costs are");
        fplt_trainer_destroy(trainer);
        fplt_settings_destroy(settings);
        fplt_settings_destroy(divided);
    }
    fplt_job_source both = {.objective = objective, .dataset = paper_rows(3, 3, 20)};
    fplt_settings *settings = settings_with(none);
    fplt_trainer *trainer;
    assert_int_equal(fplt_trainer_create(settings, &both, &trainer, &error), FPLT_BAD_VALUE);
    fplt_job_source own = {.objective = objective};
    assert_ok(fplt_settings_set(settings, "privacy.epsilon", "2", "here", &error), error);
    assert_int_equal(fplt_trainer_create(settings, &own, &trainer, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "own costs");
    fplt_settings_destroy(settings);
    fplt_objective_destroy(objective);
}

/* ---- stopping and going on ---- */

static int stop_at(void *context, const fplt_progress *progress)
{
    return progress->round == *(uint64_t *)context;
}

static fplt_trainer *trainer_on_rows(const fplt_settings *settings)
{
    fplt_job_source source = {.dataset = paper_rows(4, 3, 30)};
    return trainer_of(settings, &source);
}

static void a_run_that_stops_goes_on(void **state)
{
    (void)state;
    static const char *const pairs[] = {"rounds", "30", "tolerance", "0", NULL};
    uint64_t at = 7;
    fplt_error error;
    fplt_result result;
    fplt_settings *settings = settings_with(pairs);
    fplt_trainer *whole = trainer_on_rows(settings), *halves = trainer_on_rows(settings);
    run_to_the_end(whole);
    assert_ok(fplt_trainer_run(halves, stop_at, &at, &result, &error), error);
    assert_int_equal(result.outcome, FPLT_STOPPED);
    assert_int_equal(result.counters.rounds, 7);
    assert_int_equal(run_to_the_end(halves).outcome, FPLT_ROUNDS_DONE);
    assert_same_weights(whole, halves);
    assert_same_history(whole, halves);
    fplt_trainer_destroy(whole);
    fplt_trainer_destroy(halves);
    fplt_settings_destroy(settings);
}

static void a_resumed_run_has_the_whole_history(void **state)
{
    (void)state;
    static const char *const pairs[] = {"rounds", "30", "tolerance", "0", NULL};
    uint64_t at = 11;
    fplt_error error;
    char *text;
    temporary checkpoint = temporary_file("", 0);
    fplt_settings *settings = settings_with(pairs);
    fplt_trainer *whole = trainer_on_rows(settings);
    run_to_the_end(whole);
    assert_ok(fplt_settings_set(settings, "checkpoint", checkpoint.path, "test", &error), error);
    fplt_trainer *first = trainer_on_rows(settings);
    assert_ok(fplt_trainer_run(first, stop_at, &at, NULL, &error), error);
    assert_ok(fplt__history_csv(fplt_trainer_history(first), &text, &error), error);
    temporary history = temporary_file(text, strlen(text));
    fplt_free(text);
    fplt_trainer_destroy(first);
    assert_ok(fplt_settings_set(settings, "resume", checkpoint.path, "test", &error), error);
    fplt_trainer *second = trainer_on_rows(settings);
    assert_ok(fplt__trainer_recall(second, history.path, &error), error);
    assert_int_equal(run_to_the_end(second).counters.rounds, 30);
    assert_same_weights(whole, second);
    assert_same_history(whole, second);
    /* a run from the start has nothing to recall */
    assert_ok(fplt__trainer_recall(whole, "/nonexistent", &error), error);
    fplt_trainer_destroy(whole);
    fplt_trainer_destroy(second);
    fplt_settings_destroy(settings);
    unlink(checkpoint.path);
    unlink(history.path);
}

static void checkpoints_come_as_often_as_asked(void **state)
{
    (void)state;
    static const char *const pairs[] = {"rounds",           "25", "tolerance", "0",
                                        "checkpoint-every", "10", NULL};
    fplt_error error;
    fplt_trainer *trainer;
    temporary checkpoint = temporary_file("", 0);
    fplt_settings *settings = settings_with(pairs);
    assert_int_equal(fplt_trainer_create(settings, NULL, &trainer, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "checkpoint-every has no effect without checkpoint");
    assert_ok(fplt_settings_set(settings, "checkpoint", checkpoint.path, "test", &error), error);
    trainer = trainer_on_rows(settings);
    run_to_the_end(trainer);
    fplt_trainer_destroy(trainer);
    assert_ok(fplt_settings_set(settings, "resume", checkpoint.path, "test", &error), error);
    trainer = trainer_on_rows(settings);
    assert_int_equal(fplt_engine_counters(fplt_trainer_engine(trainer))->rounds, 20);
    fplt_trainer_destroy(trainer);
    /* one that cannot be written ends the run */
    assert_ok(fplt_settings_set(settings, "checkpoint", "/nonexistent/state", "test", &error),
              error);
    trainer = trainer_on_rows(settings);
    assert_int_equal(fplt_trainer_run(trainer, NULL, NULL, NULL, &error), FPLT_IO);
    assert_contains(error.text, "/nonexistent/state");
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    unlink(checkpoint.path);
}

/* ---- information ---- */

/* sum over the records of w s(1 - s) a a', a with a 1 behind it; w is 1, or rows/(agents q_i). */
static void logistic_information(const fplt_dataset *dataset, const double *x, int by_rows,
                                 double *matrix)
{
    enum { N = 4 };
    memset(matrix, 0, N * N * sizeof *matrix);
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        double share = (double)fplt_dataset_rows(dataset) /
                       ((double)fplt_dataset_agents(dataset) * (double)rows.count);
        for (size_t r = 0; r < rows.count; r++) {
            double a[N] = {0, 0, 0, 1}, margin = 0;
            memcpy(a, rows.dense + r * 3, 3 * sizeof *a);
            for (size_t j = 0; j < N; j++)
                margin += a[j] * x[j];
            double s = 1 / (1 + exp(-margin)), weight = (by_rows ? 1 : share) * s * (1 - s);
            for (size_t k = 0; k < N * N; k++)
                matrix[k] += weight * a[k / N] * a[k % N];
        }
    }
}

static void information_is_the_sum_over_the_records(void **state)
{
    (void)state;
    enum { N = 4 };
    static const char *const agents[] = {"rounds", "3", "intercept", "yes", NULL},
                             *const rows[] = {"rounds", "3",   "intercept", "yes", "weights",
                                              "rows",   "eps", "2.5",       NULL};
    double x[N] = {0.3, -0.7, 1.1, 0.2}, expected[N * N], matrix[N * N];
    fplt_error error;
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        fplt_settings *settings = settings_with(by_rows ? rows : agents);
        fplt_trainer *trainer = trainer_on_rows(settings);
        logistic_information(fplt_trainer_job(trainer)->training, x, by_rows, expected);
        assert_ok(fplt__trainer_information(trainer, x, matrix, &error), error);
        for (size_t k = 0; k < N * N; k++)
            assert_near(matrix[k], expected[k], 1e-11);
        fplt_trainer_destroy(trainer);
        fplt_settings_destroy(settings);
    }
}

/* ---- privacy ---- */

static void a_promise_on_data_in_memory_verifies(void **state)
{
    (void)state;
    static const char *const pairs[] = {"privacy.epsilon", "4", "privacy.rows", "2", NULL};
    fplt_error error;
    fplt_certificate_summary summary;
    fplt_settings *settings = settings_with(pairs);
    fplt_trainer *trainer = trainer_on_rows(settings);
    const fplt_promise_view *promise = fplt_trainer_promise(trainer);
    fplt_result result = run_to_the_end(trainer);
    double matrix[9], x[3] = {0, 0, 0};
    fplt_model *model;
    char *text;
    assert_non_null(promise);
    assert_int_equal(result.counters.rounds, promise->mechanism.rounds);
    const char *certificate = fplt_trainer_certificate(trainer, &error);
    assert_non_null(certificate);
    assert_ok(fplt_certificate_verify(certificate, strlen(certificate), "c", NULL, &summary,
                                      &error),
              error);
    assert_true(summary.holds);
    assert_ok(fplt_trainer_model(trainer, &model, &error), error);
    assert_ok(fplt_model_text(model, &text, &error), error);
    assert_ok(fplt_certificate_verify(text, strlen(text), "m", NULL, &summary, &error), error);
    assert_true(summary.holds);
    assert_contains(text, "the private plan");
    fplt_free(text);
    fplt_model_destroy(model);
    assert_int_equal(fplt__trainer_information(trainer, x, matrix, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "private");
    /* the plan is in the run, and the settings are as they were given */
    assert_false(fplt_settings_given(settings, "rounds"));
    assert_false(fplt_settings_given(settings, "tau"));
    assert_true(fplt_settings_is_auto(settings, "gamma"));
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
}

/* Rows in memory need a stated bound, or the schema by which they were read; what one record changes for
 * others is refused there as in files. */
static void a_promise_on_data_in_memory_is_declared(void **state)
{
    (void)state;
    static const char *const bare[] = {"privacy.epsilon", "4", NULL};
    static const char *const bounded[] = {"privacy.epsilon", "4", "privacy.rows", "2", NULL};
    const double rows[] = {1, 2, 3, 4}, weight[] = {1, 1, 2, 1}, binary[] = {-1, 1, 1, -1};
    const size_t counts[] = {2, 2};
    const struct {
        const double *weight;
        fplt_task task;
        const char *sentence;
    } cases[] = {{weight, FPLT_TASK_BINARY, "weights of their own"},
                 {NULL, FPLT_TASK_SURVIVAL, "survival times"},
                 {NULL, FPLT_TASK_BINARY, NULL}};
    fplt_error error;
    fplt_trainer *trainer;
    fplt_settings *settings = settings_with(bare);
    fplt_job_source source = {.dataset = paper_rows(4, 3, 30)};
    assert_int_equal(fplt_trainer_create(settings, &source, &trainer, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "privacy.rows");
    fplt_settings_destroy(settings);
    settings = settings_with(bounded);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_rows all = {
            .count = 4, .features = 1, .dense = rows, .label = binary, .weight = cases[i].weight};
        assert_ok(fplt_dataset_from_rows(&all, cases[i].task, counts, 2, &source.dataset, &error),
                  error);
        fplt_status status = fplt_trainer_create(settings, &source, &trainer, &error);
        assert_int_equal(status, cases[i].sentence ? FPLT_UNSUPPORTED : FPLT_OK);
        if (cases[i].sentence)
            assert_contains(error.text, cases[i].sentence);
        else
            fplt_trainer_destroy(trainer);
    }
    fplt_settings_destroy(settings);
}

/* A data set that was read by a schema needs nothing else. */
static void a_promise_on_declared_data_in_memory(void **state)
{
    (void)state;
    static const char *const pairs[] = {"privacy.epsilon", "4", NULL};
    static const char text[] = "x,y\n1,a\n2,b\n3,a\n4,b\n",
                      declared[] = "columns:\n  x: {type: number, bounds: 0..9, missing: 0}\n"
                                   "  y: {type: label, classes: [a, b], missing: a, other: a}\n";
    char path[] = "/tmp/fedplt-trainer-XXXXXX.csv";
    fplt_error error;
    fplt_read_settings read = fplt_read_defaults();
    fplt_schema *schema;
    int file = mkstemps(path, 4);
    assert_true(file >= 0 && write(file, text, sizeof text - 1) == sizeof text - 1);
    close(file);
    assert_ok(fplt__schema_parse(declared, sizeof declared - 1, "s", &schema, &error), error);
    read.schema = schema;
    fplt_job_source source = {.dataset = NULL};
    const char *paths[] = {path};
    assert_ok(fplt_dataset_read(paths, 1, &read, &source.dataset, &error), error);
    fplt_settings *settings = settings_with(pairs);
    fplt_trainer *trainer = trainer_of(settings, &source);
    run_to_the_end(trainer);
    assert_contains(fplt_trainer_certificate(trainer, &error), fplt__schema_digest(schema));
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    fplt_schema_destroy(schema);
    unlink(path);
}

static void without_a_promise_there_is_no_certificate(void **state)
{
    (void)state;
    static const char *const pairs[] = {"rounds", "2", NULL};
    fplt_error error = {FPLT_IO, "earlier"};
    fplt_settings *settings = settings_with(pairs);
    fplt_trainer *trainer = trainer_on_rows(settings);
    assert_null(fplt_trainer_promise(trainer));
    assert_null(fplt_trainer_certificate(trainer, &error));
    assert_int_equal(error.status, FPLT_OK);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
}

/* ---- memory ---- */

static fplt_status train_once(const char *privacy, double *x)
{
    fplt_settings *settings = NULL;
    fplt_trainer *trainer = NULL;
    fplt_model *model = NULL;
    fplt_record record;
    fplt_error error;
    double dense[] = {1, 2, -1, 0.5, 3, 1, -2, 1}, label[] = {1, -1, 1, -1};
    double matrix[9]; /* two features and an intercept */
    fplt_rows rows = {.count = 4, .features = 2, .dense = dense, .label = label};
    size_t counts[] = {2, 2};
    fplt_job_source source = {.dataset = NULL};
    fplt_status status;
    if (!(status = fplt_settings_create(&settings, NULL)) &&
        !(status = fplt_trainer_declare(settings, 1, NULL, NULL, NULL)) &&
        !(status = fplt_settings_set(settings, "rounds", "3", "t", NULL)) &&
        !(status = fplt_settings_set(settings, "radius", "2", "t", NULL)) &&
        !(status = fplt_settings_set(settings, "threads", "1", "t", NULL)) &&
        !(privacy &&
          ((status = fplt_settings_set(settings, "algorithm", "fed-plt", "t", NULL)) ||
           (status = fplt_settings_set(settings, "epochs", "2", "t", NULL)) ||
           (status = fplt_settings_set(settings, "privacy.epsilon", privacy, "t", NULL)))) &&
        !(status = fplt_dataset_borrow(&rows, FPLT_TASK_BINARY, counts, 2, NULL, NULL,
                                       &source.dataset, NULL)) &&
        !(status = fplt_trainer_create(settings, &source, &trainer, NULL)) &&
        !(status = fplt_trainer_run(trainer, NULL, NULL, NULL, NULL)) &&
        !(status = fplt_trainer_weights(trainer, x, NULL)) &&
        !(status = fplt_trainer_record(trainer, &record, NULL)) &&
        !(status = fplt_trainer_model(trainer, &model, NULL))) {
        if (!privacy)
            status = fplt__trainer_information(trainer, x, matrix, NULL);
        else if (!fplt_trainer_certificate(trainer, &error))
            status = error.status;
    }
    fplt_model_destroy(model);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    return status;
}

static void survives_without_memory(void **state)
{
    (void)state;
    double x[3];
    survives_failing_allocations({ status = train_once(NULL, x); }, 40);
    survives_failing_allocations({ status = train_once("4", x); }, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_algorithm_is_automatic_where_it_may_be),
        cmocka_unit_test(own_costs_reach_their_minimiser),
        cmocka_unit_test(own_solver_takes_the_place_of_the_setting),
        cmocka_unit_test(starts_where_it_is_told),
        cmocka_unit_test(refuses_settings_that_the_source_replaces),
        cmocka_unit_test(a_run_that_stops_goes_on),
        cmocka_unit_test(a_resumed_run_has_the_whole_history),
        cmocka_unit_test(checkpoints_come_as_often_as_asked),
        cmocka_unit_test(information_is_the_sum_over_the_records),
        cmocka_unit_test(a_promise_on_data_in_memory_verifies),
        cmocka_unit_test(a_promise_on_data_in_memory_is_declared),
        cmocka_unit_test(a_promise_on_declared_data_in_memory),
        cmocka_unit_test(without_a_promise_there_is_no_certificate),
        cmocka_unit_test(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
