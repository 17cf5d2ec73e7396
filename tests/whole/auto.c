/* `auto`: near the best point of a grid, and a first run that converges on every kind of data without
 * touching a parameter. bench/tuning measures the first with finer grids. */
#include "real.h"

#include "fedplt/generate.h"
#include "fedplt/tune.h"
#include "job/auto.h"

enum { ROUNDS = 5000 };

static fplt_result run_to_the_end(const fplt_objective *objective, const fplt_run_settings *run)
{
    fplt_error error;
    fplt_result result;
    fplt_engine *engine = engine_make(objective, run);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    fplt_engine_destroy(engine);
    return result;
}

static fplt_result run_auto(const fplt_objective *objective, fplt_run_settings run,
                            fplt_auto *choice)
{
    fplt_error error;
    assert_ok(fplt__auto_resolve(objective, &run, choice, &error), error);
    fplt__auto_apply(choice, &run);
    return run_to_the_end(objective, &run);
}

/* ---- Beside a grid ---- */

/* The fewest rounds of a grid over rho and legal steps, and those of auto. */
static void measure(const fplt_objective *objective, double *automatic, double *best)
{
    static const double factors[] = {1, M_SQRT1_2, M_SQRT2, 0.5, 2, 4}, shares[] = {1, 0.8, 1.2};
    fplt_auto choice;
    fplt_run_settings run = fplt_run_defaults();
    run.rounds = ROUNDS;
    fplt_result result = run_auto(objective, run, &choice);
    assert_int_equal(result.outcome, FPLT_CONVERGED);
    *automatic = *best = (double)result.counters.rounds;
    double rho = choice.parameter[0], parameter[FPLT_MAX_PARAMETERS];
    fplt_curvature all = choice.bend.everywhere;
    run.parameter = parameter;
    run.curvatures = choice.curvatures;
    for (size_t s = 0; s < 3; s++)
        for (size_t f = 0; f < 6; f++) {
            fplt_algorithm_defaults(run.algorithm, parameter);
            double pull = 1 / (parameter[0] = rho * factors[f]);
            run.training.step = fmin(shares[s] * 2 / (fmax(all.lowest, 0) + all.highest + 2 * pull),
                                     0.999 * 2 / (all.highest + pull));
            run.rounds = (uint64_t)*best;
            result = run_to_the_end(objective, &run);
            if (result.outcome == FPLT_CONVERGED)
                *best = fmin(*best, (double)result.counters.rounds);
        }
    fplt__auto_clear(&choice);
}

static void assert_near_best(const char *what, double automatic, double best)
{
    print_message("# %s: auto %g rounds, grid %g\n", what, automatic, best);
    if (automatic > fmax(1.25 * best, best + 2))
        fail_msg("%s: auto needs %g rounds, the best of the grid %g", what, automatic, best);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void papers_problem(const char *regulariser)
{
    enum { SEEDS = 7 };
    double automatic[SEEDS], best[SEEDS];
    for (int seed = 0; seed < SEEDS; seed++) {
        fplt_error error;
        fplt_dataset *dataset;
        fplt_objective *objective;
        fplt_generate_settings data = fplt_generate_defaults();
        fplt_objective_settings cost = fplt_objective_defaults();
        data.seed = (uint64_t)seed;
        cost.regulariser = regulariser;
        assert_ok(fplt_dataset_generate(&data, &dataset, &error), error);
        assert_ok(fplt_objective_create(&cost, dataset, &objective, &error), error);
        measure(objective, &automatic[seed], &best[seed]);
        fplt_objective_destroy(objective);
        fplt_dataset_destroy(dataset);
    }
    qsort(automatic, SEEDS, sizeof *automatic, ascending);
    qsort(best, SEEDS, sizeof *best, ascending);
    assert_near_best(regulariser, automatic[SEEDS / 2], best[SEEDS / 2]);
}

static void near_the_best_on_the_papers_problem(void **state)
{
    (void)state;
    papers_problem("ridge");
    papers_problem("nonconvex");
}

static void near_the_best_on_hospitals(void **state)
{
    (void)state;
    need_file(sources[0].path);
    const double ridges[] = {0.5, 0.01};
    for (int r = 0; r < 2; r++) {
        double automatic, best;
        fplt_objective *objective = real_objective(&sources[0], ridges[r]);
        measure(objective, &automatic, &best);
        assert_near_best("heart_disease", automatic, best);
        fplt_objective_destroy(objective);
    }
}

/* ---- Every kind of data ---- */

struct kind {
    const char *generator;
    uint32_t agents;
    size_t features, rows;
    double eps;
    const char *regulariser;
    int intercept;
    double spread;      /* columns are multiplied by 10^-spread .. 10^spread */
    double condition;   /* quadratic: largest over smallest eigenvalue */
    unsigned most;      /* rounds with the defaults; 0: too slow, the conditioning forbids it */
    unsigned most_fast; /* rounds accelerated, with epochs: auto */
};

static const struct kind kinds[] = {
    {"paper", 10, 2, 50, 0.5, "ridge", 0, 0, 0, 20, 20},
    {"paper", 10, 5, 50, 0.5, "ridge", 1, 0, 0, 20, 20},
    {"paper", 10, 5, 50, 0.01, "ridge", 1, 0, 0, 20, 20},
    {"paper", 10, 5, 50, 0, "none", 1, 0, 0, 20, 20},
    {"iid", 10, 5, 50, 0.01, "ridge", 1, 0, 0, 300, 50},
    {"planted", 10, 5, 100, 0, "none", 1, 0, 0, 50, 20},
    {"planted", 10, 50, 100, 0, "none", 0, 0, 0, 500, 50},
    {"planted", 10, 50, 30, 0, "none", 1, 0, 0, 5000, 100},
    {"paper", 5, 200, 100, 0.5, "ridge", 0, 0, 0, 100, 50},
    {"paper", 5, 200, 100, 0.01, "ridge", 1, 0, 0, 400, 50},
    {"paper", 4, 1000, 100, 0.5, "ridge", 0, 0, 0, 100, 50},
    {"planted", 4, 1000, 100, 0.01, "ridge", 1, 0, 0, 100, 50},
    {"paper", 10, 5, 50, 0.5, "ridge", 0, 1, 0, 100, 50},
    {"paper", 10, 5, 50, 0.5, "ridge", 0, 2, 0, 3000, 100},
    {"paper", 10, 5, 50, 0.5, "ridge", 0, 3, 0, 0, 200},
    {"paper", 10, 5, 50, 0.01, "ridge", 1, 3, 0, 0, 300},
    {"planted", 10, 20, 100, 0.5, "ridge", 1, 3, 0, 0, 1000},
    {"quadratic", 10, 10, 50, 0, "none", 0, 0, 1e2, 100, 50},
    {"quadratic", 10, 10, 50, 0, "none", 0, 0, 1e3, 300, 100},
    {"quadratic", 10, 10, 50, 0, "none", 0, 0, 1e4, 1000, 300},
    {"quadratic", 10, 10, 50, 0, "none", 0, 0, 1e6, 1500, 400},
    {"quadratic", 10, 2, 50, 0, "none", 0, 0, 1e6, 2000, 50},
    {"paper", 10, 5, 50, 0.5, "nonconvex", 1, 0, 0, 30, 20},
    {"paper", 10, 20, 10, 0.01, "nonconvex", 0, 0, 0, 3000, 100},
};

static fplt_dataset *spread_columns(const fplt_dataset *dataset, double spread)
{
    fplt_error error;
    fplt_dataset *copy;
    fplt_rows rows = fplt_dataset_all(dataset);
    uint32_t agents = fplt_dataset_agents(dataset);
    double *numbers = malloc(rows.count * rows.features * sizeof *numbers);
    size_t *counts = malloc(agents * sizeof *counts);
    assert_non_null(numbers);
    assert_non_null(counts);
    for (size_t i = 0; i < rows.count * rows.features; i++) {
        double place = (double)(i % rows.features) / (double)(rows.features - 1);
        numbers[i] = rows.dense[i] * pow(10, spread * (2 * place - 1));
    }
    for (uint32_t i = 0; i < agents; i++)
        counts[i] = fplt_dataset_shard(dataset, i).count;
    rows.dense = numbers;
    assert_ok(fplt_dataset_from_rows(&rows, fplt_dataset_task(dataset), counts, agents, &copy,
                                     &error),
              error);
    free(numbers);
    free(counts);
    return copy;
}

static fplt_objective *objective_of(const struct kind *kind)
{
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    int quadratic = kind->condition > 0;
    data.name = kind->generator;
    data.agents = kind->agents;
    data.features = kind->features;
    data.rows = kind->rows;
    data.noise = 0.5;
    data.lowest = 1;
    data.highest = kind->condition;
    assert_ok(fplt_dataset_generate(&data, &dataset, &error), error);
    if (kind->spread > 0) {
        fplt_dataset *spread = spread_columns(dataset, kind->spread);
        fplt_dataset_destroy(dataset);
        dataset = spread;
    }
    cost.loss = quadratic ? "least-squares" : "logistic";
    cost.weight = kind->eps;
    cost.regulariser = kind->regulariser;
    cost.intercept = kind->intercept;
    assert_ok(fplt_objective_create(&cost, dataset, &objective, &error), error);
    fplt_dataset_destroy(dataset);
    return objective;
}

/* `fast`: accelerated, with so many epochs (0: auto); negative: plain. */
static void converges(const struct kind *kind, const fplt_objective *objective, int fast,
                      unsigned most)
{
    fplt_auto choice;
    fplt_run_settings run = fplt_run_defaults();
    run.threads = 1;
    run.rounds = most;
    if (fast >= 0) {
        run.algorithm = fplt_algorithm_find("fed-plt-anderson");
        run.training.epochs = (uint32_t)fast;
    }
    fplt_result result = run_auto(objective, run, &choice);
    print_message("# %s N %u n %zu q %zu eps %g %s%s, columns 10^+-%g, condition %g: %s, %u "
                  "epochs: %llu rounds\n",
                  kind->generator, kind->agents, kind->features, kind->rows, kind->eps,
                  kind->regulariser, kind->intercept ? " intercept" : "", kind->spread,
                  choice.bend.everywhere.highest / fplt__curvature_bounds_lowest(&choice.bend),
                  fast >= 0 ? "accelerated" : "plain", choice.epochs,
                  (unsigned long long)result.counters.rounds);
    if (result.outcome != FPLT_CONVERGED)
        fail_msg("%s; %s", result.sentence, choice.about_rho);
    fplt__auto_clear(&choice);
}

static void first_runs_converge(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        fplt_objective *objective = objective_of(&kinds[i]);
        if (kinds[i].most)
            converges(&kinds[i], objective, -1, kinds[i].most);
        converges(&kinds[i], objective, 0, kinds[i].most_fast);
        fplt_objective_destroy(objective);
    }
}

/* The safeguard of the acceleration must not switch it off where plain rounds gain next to nothing. */
static void slow_problems_stay_accelerated(void **state)
{
    (void)state;
    const struct kind kind = {"paper", 10, 5, 50, 0.5, "ridge", 0, 3, 0, 0, 0};
    fplt_objective *objective = objective_of(&kind);
    converges(&kind, objective, 5, 2500);
    fplt_objective_destroy(objective);
}

/* Where conditioning makes plain rounds slow, they stay stable and the choice says what helps. */
static void slow_runs_are_announced(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        fplt_auto choice;
        if (kinds[i].most)
            continue;
        fplt_objective *objective = objective_of(&kinds[i]);
        fplt_run_settings run = fplt_run_defaults();
        run.threads = 1;
        run.rounds = 300;
        fplt_result result = run_auto(objective, run, &choice);
        assert_int_equal(result.outcome, FPLT_ROUNDS_DONE);
        assert_true(result.end.criterion < 1e-2 * result.start.criterion);
        assert_contains(choice.advice, "standardise: yes");
        assert_contains(choice.advice, "fed-plt-anderson");
        fplt__auto_clear(&choice);
        fplt_objective_destroy(objective);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_best_on_the_papers_problem),
        cmocka_unit_test(near_the_best_on_hospitals),
        cmocka_unit_test(first_runs_converge),
        cmocka_unit_test(slow_problems_stay_accelerated),
        cmocka_unit_test(slow_runs_are_announced),
    };
    return cmocka_run_group_tests_name("auto", tests, NULL, NULL);
}
