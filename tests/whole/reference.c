/* The paper's claim on real data: local training and partial participation without loss of accuracy.
 * Every data set, both ridges, with and without l1, four local solvers, all agents and half of them:
 * the minimiser of an independent program to 1e-8, for the coordinator's model and for the mean of the
 * agents' own. The same on two generated data sets. The coordinator's own methods, which need all agents
 * and no l1, to the same. */
#include "real.h"
#include "engine/engine_access.h"
#include "fedplt/participation.h"

enum { MAX_FEATURES = 200 };

static void read_minimiser(const struct source *source, double eps, const char *kind, double *x)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s_eps%g_%s.txt", source->references, source->name, eps, kind);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t j = 0; j < source->features; j++)
        assert_int_equal(fscanf(file, "%lf", &x[j]), 1);
    fclose(file);
}

static double distance(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sqrt(sum);
}

struct reached {
    fplt_engine *engine;
    const double *minimiser;
    size_t n;
    double model, mean;
    uint64_t every; /* rounds between looks */
};

/* Stops when both points are within 1e-8: what is counted is the distance, not the criterion. */
static int near_enough(void *context, const fplt_progress *progress)
{
    struct reached *reached = context;
    double x[MAX_FEATURES];
    if (progress->round % reached->every)
        return 0;
    fplt_engine_model(reached->engine, x);
    reached->model = distance(x, reached->minimiser, reached->n);
    if (reached->model > 1e-8)
        return 0;
    fplt_engine_mean(reached->engine, x);
    reached->mean = distance(x, reached->minimiser, reached->n);
    return reached->mean <= 1e-8;
}

/* Goes from the settings to the minimiser; returns the rounds. */
static uint64_t go(const struct source *source, const fplt_objective *objective, double eps, int l1,
                   fplt_run_settings settings, uint64_t every)
{
    fplt_error error;
    fplt_result result;
    double minimiser[MAX_FEATURES];
    size_t n = source->features;
    read_minimiser(source, eps, l1 ? "l1" : "l2", minimiser);
    settings.tolerance = 0;
    settings.evaluate_every = 0;
    settings.rounds = 6000;
    const char *how = settings.participation ? "half" : "all";
    struct reached reached = {
        engine_make(objective, &settings), minimiser, n, HUGE_VAL, HUGE_VAL, every};
    assert_ok(fplt_engine_run(reached.engine, near_enough, &reached, &result, &error), error);
    if (!(reached.model <= 1e-8 && reached.mean <= 1e-8))
        fail_msg("%s eps %g l1 %d %s %s %s: model %g, mean %g away: %s", source->name, eps, l1,
                 settings.algorithm->name, settings.training.solver->name, how, reached.model,
                 reached.mean, result.sentence);
    assert_true(fplt__engine_consistent(reached.engine));
    if (getenv("VERBOSE"))
        fprintf(stderr, "%s eps %g l1 %d %s %s %s: %llu rounds\n", source->name, eps, l1,
                settings.algorithm->name, settings.training.solver->name, how,
                (unsigned long long)result.counters.rounds);
    fplt_engine_destroy(reached.engine);
    return result.counters.rounds;
}

static void reach(const struct source *source, const fplt_objective *objective, double eps, int l1,
                  const char *solver, uint32_t epochs, const fplt_participation *participation)
{
    fplt_error error;
    fplt_prox *prox;
    size_t n = source->features;
    fplt_prox_settings common = fplt_prox_defaults();
    common.name = l1 ? "l1" : "zero";
    common.weight = 0.01 * fplt_objective_agents(objective);
    assert_ok(fplt_prox_create(&common, n, n, &prox, &error), error);
    fplt_run_settings settings = fplt_run_defaults();
    settings.prox = prox;
    settings.participation = participation;
    settings.training.solver = fplt_solver_find(solver);
    settings.training.epochs = epochs;
    go(source, objective, eps, l1, settings, 5);
    fplt_prox_destroy(prox);
}

static void all_runs(const struct source *source, const char *solver, uint32_t epochs)
{
    need_file(source->path);
    const double ridges[] = {0.5, 0.01};
    for (int r = 0; r < 2; r++) {
        fplt_objective *objective = real_objective(source, ridges[r]);
        assert_int_equal(fplt_objective_dimension(objective), source->features);
        fplt_participation *half = half_of(fplt_objective_agents(objective));
        for (int l1 = 0; l1 < 2; l1++) {
            reach(source, objective, ridges[r], l1, solver, epochs, NULL);
            reach(source, objective, ridges[r], l1, solver, epochs, half);
        }
        fplt_participation_destroy(half);
        fplt_objective_destroy(objective);
    }
}

#define RUNS(data, index, solver, epochs)           \
    static void data##_##solver(void **state)       \
    {                                               \
        (void)state;                                \
        all_runs(&sources[index], #solver, epochs); \
    }
#define ALL_RUNS(data, index)         \
    RUNS(data, index, gradient, 5)    \
    RUNS(data, index, accelerated, 5) \
    RUNS(data, index, lbfgs, 5)       \
    RUNS(data, index, newton, 2)

ALL_RUNS(heart_disease, HEART_DISEASE)
ALL_RUNS(a9a, A9A)
ALL_RUNS(mushrooms, MUSHROOMS)
ALL_RUNS(clinics, CLINICS)
ALL_RUNS(shards, SHARDS)

/* Rounds that each method may take at most, at a ridge of 0.5 and of 0.01. */
static void coordinators_methods(const struct source *source)
{
    static const struct {
        const char *name;
        uint64_t most[2];
    } methods[] = {{"fed-lbfgs", {25, 50}}, {"fed-newton", {7, 8}}, {"fednl", {15, 35}}};
    const double ridges[] = {0.5, 0.01};
    need_file(source->path);
    for (int r = 0; r < 2; r++) {
        fplt_objective *objective = real_objective(source, ridges[r]);
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            fplt_run_settings settings = fplt_run_defaults();
            settings.algorithm = fplt_algorithm_find(methods[m].name);
            uint64_t rounds = go(source, objective, ridges[r], 0, settings, 1);
            if (rounds > methods[m].most[r])
                fail_msg("%s takes %llu rounds on %s at eps %g", methods[m].name,
                         (unsigned long long)rounds, source->name, ridges[r]);
        }
        fplt_objective_destroy(objective);
    }
}

#define COORDINATORS(data, index)                 \
    static void data##_coordinators(void **state) \
    {                                             \
        (void)state;                              \
        coordinators_methods(&sources[index]);    \
    }

COORDINATORS(heart_disease, HEART_DISEASE)
COORDINATORS(a9a, A9A)
COORDINATORS(mushrooms, MUSHROOMS)
COORDINATORS(clinics, CLINICS)
COORDINATORS(shards, SHARDS)

/* The minimiser where rows weigh alike instead of agents. */
static void weigh_rows(const struct source *source, double *x)
{
    fplt_error error;
    fplt_result result;
    fplt_dataset *dataset = read_source(source);
    fplt_objective *objective;
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.weight = 0.01;
    cost.weigh_rows = 1;
    assert_ok(fplt_objective_create(&cost, dataset, &objective, &error), error);
    fplt_run_settings settings = fplt_run_defaults();
    settings.tolerance = 1e-20;
    fplt_engine *engine = engine_make(objective, &settings);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    fplt_engine_model(engine, x);
    fplt_engine_destroy(engine);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
}

/* How far that is from the other minimiser of heart_disease was found with SciPy's BFGS. */
static void rows_and_agents_weigh_differently(void **state)
{
    (void)state;
    const struct source *source = &sources[HEART_DISEASE];
    double minimiser[MAX_FEATURES], x[MAX_FEATURES];
    need_file(source->path);
    read_minimiser(source, 0.01, "l2", minimiser);
    weigh_rows(source, x);
    assert_near(distance(x, minimiser, source->features), 0.47032365, 1e-6);
}

static void rows_of_generated_data_weigh_alike(void **state)
{
    (void)state;
    for (int i = CLINICS; i <= SHARDS; i++) {
        double minimiser[MAX_FEATURES], x[MAX_FEATURES];
        read_minimiser(&sources[i], 0.01, "rows", minimiser);
        weigh_rows(&sources[i], x);
        assert_near(distance(x, minimiser, sources[i].features), 0, 1e-8);
    }
}

int main(void)
{
#define ALL_TESTS(data)                                                      \
    cmocka_unit_test(data##_gradient), cmocka_unit_test(data##_accelerated), \
        cmocka_unit_test(data##_lbfgs), cmocka_unit_test(data##_newton),     \
        cmocka_unit_test(data##_coordinators)
    const struct CMUnitTest tests[] = {
        ALL_TESTS(heart_disease),
        ALL_TESTS(a9a),
        ALL_TESTS(mushrooms),
        ALL_TESTS(clinics),
        ALL_TESTS(shards),
        cmocka_unit_test(rows_and_agents_weigh_differently),
        cmocka_unit_test(rows_of_generated_data_weigh_alike),
    };
    return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
