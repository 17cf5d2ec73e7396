/* Fed-PLT in the engine: against closed forms and independent recursions, for exactness under local
 * training and partial participation, and for bits that do not depend on threads. */
#include "problems.h"
#include "engine/engine_access.h"
#include "fedplt/memory.h"
#include "fedplt/participation.h"

enum { ROUNDS = 60 };

/* Fed-PLT on quadratics, in plain loops: one round of the active agents. */
static void round_by_hand(const struct quadratics *q, double rho, double gamma, int epochs,
                          const int *active, double x[][QUADRATIC_MAX], double z[][QUADRATIC_MAX])
{
    double y[QUADRATIC_MAX] = {0};
    for (uint32_t i = 0; i < q->agents; i++)
        for (size_t j = 0; j < q->n; j++)
            y[j] += z[i][j] / q->agents;
    for (uint32_t i = 0; i < q->agents; i++) {
        if (!active[i])
            continue;
        for (int e = 0; e < epochs; e++) {
            double g[QUADRATIC_MAX];
            for (size_t j = 0; j < q->n; j++) {
                g[j] = -q->b[i][j] + (x[i][j] - (2 * y[j] - z[i][j])) / rho;
                for (size_t k = 0; k < q->n; k++)
                    g[j] += q->a[i][j][k] * x[i][k];
            }
            for (size_t j = 0; j < q->n; j++)
                x[i][j] -= gamma * g[j];
        }
        for (size_t j = 0; j < q->n; j++)
            z[i][j] += 2 * (x[i][j] - y[j]);
    }
}

static void iterates_equal_the_linear_recursion(void **state)
{
    (void)state;
    static struct quadratics q;
    quadratics_make(&q, 11, 6, 0.5, 7, 1);
    fplt_objective *objective = quadratics_objective(&q);
    fplt_run_settings settings = fplt_run_defaults();
    double rho = 0.4;
    settings.parameter = &rho;
    settings.training.step = 0.11;
    settings.training.epochs = 3;
    settings.seed = 5;
    for (int partial = 0; partial < 2; partial++) {
        fplt_participation *half = half_of(q.agents);
        settings.participation = partial ? half : NULL;
        fplt_engine *engine = engine_make(objective, &settings);
        static double x[QUADRATIC_AGENTS][QUADRATIC_MAX], z[QUADRATIC_AGENTS][QUADRATIC_MAX];
        memset(x, 0, sizeof x);
        memset(z, 0, sizeof z);
        for (uint64_t k = 0; k < ROUNDS; k++) {
            fplt_error error;
            uint32_t chosen[QUADRATIC_AGENTS];
            int active[QUADRATIC_AGENTS] = {0};
            uint32_t count = fplt_participation_choose(half, 5, 0, k, chosen);
            for (uint32_t i = 0; i < count; i++)
                active[chosen[i]] = 1;
            for (uint32_t i = 0; !partial && i < q.agents; i++)
                active[i] = 1;
            round_by_hand(&q, rho, 0.11, 3, active, x, z);
            assert_ok(fplt_engine_round(engine, &error), error);
            for (uint32_t i = 0; i < q.agents; i++)
                for (size_t j = 0; j < q.n; j++) {
                    const double *kept = fplt__engine_kept(engine, i);
                    assert_near(kept[j], z[i][j], 1e-12);
                    assert_near(kept[q.n + j], x[i][j], 1e-12);
                }
        }
        fplt_engine_destroy(engine);
        fplt_participation_destroy(half);
    }
    fplt_objective_destroy(objective);
}

/* One step of Peaceman-Rachford with closed proximal operators (I + rho A)^-1 (v + rho b). */
static void peaceman_rachford(const struct quadratics *q, double rho, double z[][QUADRATIC_MAX])
{
    double y[QUADRATIC_MAX] = {0};
    for (uint32_t i = 0; i < q->agents; i++)
        for (size_t j = 0; j < q->n; j++)
            y[j] += z[i][j] / q->agents;
    for (uint32_t i = 0; i < q->agents; i++) {
        double matrix[QUADRATIC_MAX * QUADRATIC_MAX], x[QUADRATIC_MAX];
        for (size_t j = 0; j < q->n; j++) {
            x[j] = 2 * y[j] - z[i][j] + rho * q->b[i][j];
            for (size_t k = 0; k < q->n; k++)
                matrix[j * q->n + k] = (j == k) + rho * q->a[i][j][k];
        }
        solve_linear(q->n, matrix, x);
        for (size_t j = 0; j < q->n; j++)
            z[i][j] += 2 * (x[j] - y[j]);
    }
}

static double distance_to_splitting(const struct quadratics *q, const fplt_objective *objective,
                                    const fplt_training *training, int rounds)
{
    double rho = 0.3, worst = 0;
    fplt_run_settings settings = fplt_run_defaults();
    settings.parameter = &rho;
    settings.training = *training;
    fplt_engine *engine = engine_make(objective, &settings);
    static double z[QUADRATIC_AGENTS][QUADRATIC_MAX];
    memset(z, 0, sizeof z);
    for (int k = 0; k < rounds; k++) {
        fplt_error error;
        peaceman_rachford(q, rho, z);
        assert_ok(fplt_engine_round(engine, &error), error);
        for (uint32_t i = 0; i < q->agents; i++)
            for (size_t j = 0; j < q->n; j++)
                worst = fmax(worst, fabs(fplt__engine_kept(engine, i)[j] - z[i][j]));
    }
    fplt_engine_destroy(engine);
    return worst;
}

static void more_epochs_approach_peaceman_rachford(void **state)
{
    (void)state;
    static struct quadratics q;
    quadratics_make(&q, 9, 5, 0.5, 9, 2);
    fplt_objective *objective = quadratics_objective(&q);
    fplt_training training = fplt_training_defaults();
    training.solver = fplt_solver_find("newton");
    assert_true(distance_to_splitting(&q, objective, &training, 30) < 1e-10);
    training.solver = fplt_solver_find("gradient");
    double before = HUGE_VAL;
    const uint32_t epochs[] = {1, 5, 20, 80, 400};
    for (size_t i = 0; i < 5; i++) {
        training.epochs = epochs[i];
        double distance = distance_to_splitting(&q, objective, &training, 30);
        assert_true(distance < before || distance < 1e-12);
        before = distance;
    }
    assert_true(before < 1e-10);
    fplt_objective_destroy(objective);
}

static fplt_result run_to(const fplt_objective *objective, const fplt_run_settings *settings)
{
    fplt_error error;
    fplt_result result;
    fplt_engine *engine = engine_make(objective, settings);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_true(fplt__engine_consistent(engine));
    fplt_engine_destroy(engine);
    return result;
}

static void there_is_no_client_drift(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(20, 5, 50, 0.1, 3);
    fplt_participation *half = half_of(20);
    const uint32_t epochs[] = {1, 2, 5, 10, 50};
    const char *const solvers[] = {"gradient", "accelerated", "lbfgs", "newton"};
    for (size_t s = 0; s < 4; s++)
        for (size_t i = 0; i < 5; i++)
            for (int partial = 0; partial < 2; partial++) {
                fplt_run_settings settings = fplt_run_defaults();
                settings.tolerance = 1e-20;
                settings.rounds = 4000;
                settings.training.epochs = epochs[i];
                settings.training.solver = fplt_solver_find(solvers[s]);
                settings.participation = partial ? half : NULL;
                fplt_result result = run_to(problem.objective, &settings);
                if (result.outcome != FPLT_CONVERGED)
                    fail_msg("%s, %u epochs, partial %d: %s", solvers[s], epochs[i], partial,
                             result.sentence);
            }
    fplt_participation_destroy(half);
    logistic_free(&problem);
}

/* Mean of the criterion over the last 200 of 400 rounds. */
static double floor_of(const fplt_objective *objective, const char *solver, uint32_t batch,
                       int replacement, double tau)
{
    fplt_run_settings settings = fplt_run_defaults();
    settings.training.solver = fplt_solver_find(solver);
    settings.training.batch = batch;
    settings.training.replacement = replacement;
    settings.training.noise_tau = tau;
    fplt_engine *engine = engine_make(objective, &settings);
    double sum = 0;
    for (int k = 0; k < 400; k++) {
        fplt_error error;
        fplt_measure measure;
        assert_ok(fplt_engine_round(engine, &error), error);
        if (k < 200)
            continue;
        assert_ok(fplt_engine_measure(engine, &measure, &error), error);
        sum += measure.criterion / 200;
    }
    fplt_engine_destroy(engine);
    return sum;
}

static void the_floor_of_sgd_falls_with_the_batch(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(20, 5, 64, 0.5, 4);
    for (int replacement = 0; replacement < 2; replacement++) {
        double before = HUGE_VAL;
        for (uint32_t batch = 1; batch <= 64; batch *= 4) {
            double level = floor_of(problem.objective, "sgd", batch, replacement, 0);
            assert_true(level < before / 2);
            before = level;
        }
        /* the whole shard without replacement is the gradient */
        assert_true(replacement ? before > 1e-10 : before < 1e-25);
    }
    assert_true(floor_of(problem.objective, "svrg", 4, 0, 0) < 1e-20);
    assert_true(floor_of(problem.objective, "accelerated-sgd", 32, 0, 0) <
                floor_of(problem.objective, "accelerated-sgd", 2, 0, 0) / 4);
    /* the error under noise grows as its square: the criterion is a squared norm */
    double ratio = floor_of(problem.objective, "noisy", 0, 0, 0.1) /
                   floor_of(problem.objective, "noisy", 0, 0, 0.01);
    assert_near(ratio, 100, 25);
    logistic_free(&problem);
}

/* All kept vectors after some rounds. */
static void states_after(const fplt_objective *objective, fplt_run_settings settings,
                         unsigned threads, int rounds, double *out)
{
    settings.threads = threads;
    fplt_engine *engine = engine_make(objective, &settings);
    size_t n = fplt_objective_dimension(objective), size = 2 * n;
    for (int k = 0; k < rounds; k++) {
        fplt_error error;
        assert_ok(fplt_engine_round(engine, &error), error);
    }
    for (uint32_t i = 0; i < fplt_objective_agents(objective); i++)
        memcpy(out + i * size, fplt__engine_kept(engine, i), size * sizeof *out);
    fplt_measure measure;
    fplt_error error;
    assert_ok(fplt_engine_measure(engine, &measure, &error), error);
    out[fplt_objective_agents(objective) * size] = measure.criterion;
    assert_int_equal(fplt_engine_model(engine, out + fplt_objective_agents(objective) * size + 1),
                     FPLT_OK);
    fplt_engine_destroy(engine);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    enum { N = 4, AGENTS = 37, SIZE = AGENTS * 2 * N + 1 + N };
    struct logistic_problem problem = logistic_make(AGENTS, N, 30, 0.2, 5);
    fplt_participation *half = half_of(AGENTS);
    for (size_t s = 0; fplt_solver_list(s); s++) {
        fplt_run_settings settings = fplt_run_defaults();
        settings.training.solver = fplt_solver_list(s);
        settings.training.noise_tau = 0.01;
        settings.training.batch = 7;
        settings.start = FPLT_START_RANDOM;
        settings.participation = s % 2 ? half : NULL;
        double one[SIZE], many[SIZE];
        states_after(problem.objective, settings, 1, 25, one);
        const unsigned threads[] = {2, 3, 8};
        for (size_t t = 0; t < 3; t++) {
            states_after(problem.objective, settings, threads[t], 25, many);
            if (memcmp(one, many, sizeof one))
                fail_msg("%s: %u threads give other bits", fplt_solver_list(s)->name, threads[t]);
        }
    }
    fplt_participation_destroy(half);
    logistic_free(&problem);
}

static void the_running_sum_never_drifts(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(31, 3, 20, 0.3, 6);
    fplt_participation *half = half_of(31);
    fplt_run_settings settings = fplt_run_defaults();
    settings.participation = half;
    settings.start = FPLT_START_RANDOM;
    settings.start_scale = 1e4; /* so that early changes need more than 53 bits */
    fplt_engine *engine = engine_make(problem.objective, &settings);
    for (int k = 0; k < 1000; k++) {
        fplt_error error;
        assert_ok(fplt_engine_round(engine, &error), error);
        assert_true(fplt__engine_consistent(engine));
    }
    fplt_engine_destroy(engine);
    fplt_participation_destroy(half);
    logistic_free(&problem);
}

static void inactive_agents_keep_their_state(void **state)
{
    (void)state;
    enum { N = 3, AGENTS = 10 };
    struct logistic_problem problem = logistic_make(AGENTS, N, 20, 0.3, 7);
    fplt_participation *half = half_of(AGENTS);
    fplt_run_settings settings = fplt_run_defaults();
    settings.participation = half;
    settings.seed = 9;
    fplt_engine *engine = engine_make(problem.objective, &settings);
    double before[AGENTS][2 * N];
    uint64_t updates[AGENTS] = {0};
    for (uint64_t k = 0; k < 40; k++) {
        fplt_error error;
        uint32_t active[AGENTS];
        int is_active[AGENTS] = {0};
        uint32_t count = fplt_participation_choose(half, 9, 0, k, active);
        for (uint32_t i = 0; i < count; i++)
            is_active[active[i]] = 1;
        for (uint32_t i = 0; i < AGENTS; i++)
            memcpy(before[i], fplt__engine_kept(engine, i), sizeof before[i]);
        assert_ok(fplt_engine_round(engine, &error), error);
        for (uint32_t i = 0; i < AGENTS; i++) {
            int same = memcmp(before[i], fplt__engine_kept(engine, i), sizeof before[i]) == 0;
            assert_int_equal(same, !is_active[i]);
            updates[i] += (uint64_t)is_active[i];
            assert_int_equal(fplt__engine_updates(engine, i), updates[i]);
        }
    }
    fplt_engine_destroy(engine);
    fplt_participation_destroy(half);
    logistic_free(&problem);
}

/* min sum f_i + h by proximal gradient descent on the whole problem. */
static void composite_minimiser(const fplt_objective *objective, const fplt_prox *prox, double step,
                                double *x)
{
    size_t n = fplt_objective_dimension(objective);
    double gradient[16], sum[16];
    double *scratch = calloc(fplt_objective_scratch(objective) + 1, sizeof *scratch);
    memset(x, 0, n * sizeof *x);
    for (int k = 0; k < 20000; k++) {
        memset(sum, 0, sizeof sum);
        for (uint32_t i = 0; i < fplt_objective_agents(objective); i++) {
            fplt_objective_gradient(objective, i, x, gradient, scratch);
            for (size_t j = 0; j < n; j++)
                sum[j] += gradient[j];
        }
        for (size_t j = 0; j < n; j++)
            x[j] -= step * sum[j];
        fplt_prox_apply(prox, step, x, x);
    }
    free(scratch);
}

static void composite_costs_reach_their_minimiser(void **state)
{
    (void)state;
    enum { AGENTS = 12, N = 6 };
    struct logistic_problem problem = logistic_make(AGENTS, N, 40, 0.2, 8);
    fplt_participation *half = half_of(AGENTS);
    const fplt_prox_settings cases[] = {
        {.name = "l1", .weight = 0.8},
        {.name = "elastic-net", .weight = 0.5, .weight2 = 3},
        {.name = "box", .low = -0.05, .high = 0.02},
        {.name = "simplex", .radius = 0.3},
        {.name = "group-lasso", .weight = 0.5, .group = 3},
        {.name = "ball", .radius = 0.1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int partial = 0; partial < 2; partial++) {
            fplt_error error;
            fplt_prox *prox;
            fplt_result result;
            double expected[N], model[N], mean[N];
            assert_ok(fplt_prox_create(&cases[c], N, N, &prox, &error), error);
            fplt_run_settings settings = fplt_run_defaults();
            settings.prox = prox;
            settings.participation = partial ? half : NULL;
            settings.tolerance = 1e-20;
            settings.rounds = 3000;
            fplt_engine *engine = engine_make(problem.objective, &settings);
            assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
            if (result.outcome != FPLT_CONVERGED)
                fail_msg("%s: %s", cases[c].name, result.sentence);
            double step = 1 / (AGENTS * fplt__engine_facts(engine).curvature.highest);
            composite_minimiser(problem.objective, prox, step, expected);
            fplt_engine_model(engine, model);
            fplt_engine_mean(engine, mean);
            for (int j = 0; j < N; j++) {
                assert_near(model[j], expected[j], 1e-9);
                assert_near(mean[j], expected[j], 1e-9);
            }
            fplt_engine_destroy(engine);
            fplt_prox_destroy(prox);
        }
    fplt_participation_destroy(half);
    logistic_free(&problem);
}

static void agents_may_differ_in_solver_step_and_epochs(void **state)
{
    (void)state;
    enum { AGENTS = 9 };
    struct logistic_problem problem = logistic_make(AGENTS, 4, 30, 0.3, 9);
    static const char *const names[] = {"gradient", "accelerated", "newton", "lbfgs"};
    fplt_training each[AGENTS];
    for (uint32_t i = 0; i < AGENTS; i++) {
        each[i] = fplt_training_defaults();
        each[i].solver = fplt_solver_find(names[i % 4]);
        each[i].epochs = 1 + i % 5;
        each[i].step = i % 3 ? 0 : 0.2;
    }
    fplt_run_settings settings = fplt_run_defaults();
    settings.each = each;
    settings.tolerance = 1e-20;
    settings.rounds = 2000;
    assert_int_equal(run_to(problem.objective, &settings).outcome, FPLT_CONVERGED);
    logistic_free(&problem);
}

/* A custom solver: gradient steps through the public building blocks. */
static size_t own_work(const fplt_objective *objective, const fplt_training *training)
{
    (void)training;
    return fplt_objective_dimension(objective);
}

static fplt_status own_run(fplt_local *local, double *w, fplt_error *error)
{
    double *gradient = fplt_local_work(local);
    int *calls = local->training.context;
    __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
    for (uint32_t e = 0; e < local->training.epochs; e++) {
        fplt_status status = fplt_local_gradient(local, w, gradient);
        if (status)
            return fplt_error_set(error, status, "own gradient failed");
        for (size_t j = 0; j < fplt_objective_dimension(local->problem.objective); j++)
            w[j] -= local->step * gradient[j];
    }
    return FPLT_OK;
}

static void a_solver_of_ones_own_runs_like_any_other(void **state)
{
    (void)state;
    enum { AGENTS = 6, N = 4, SIZE = AGENTS * 2 * N + 1 + N };
    const fplt_solver own = {.size = sizeof(fplt_solver),
                             .name = "own",
                             .help = "steps by hand",
                             .traits = FPLT_PLAIN_STEPS,
                             .work = own_work,
                             .run = own_run};
    struct logistic_problem problem = logistic_make(AGENTS, N, 30, 0.2, 15);
    fplt_run_settings settings = fplt_run_defaults();
    int calls = 0;
    double theirs[SIZE], ours[SIZE];
    states_after(problem.objective, settings, 2, 20, ours);
    settings.training.solver = &own;
    settings.training.context = &calls;
    states_after(problem.objective, settings, 2, 20, theirs);
    assert_int_equal(calls, 20 * AGENTS);
    for (int i = 0; i < SIZE; i++)
        assert_near(theirs[i], ours[i], 1e-12);
    logistic_free(&problem);
}

static void divergence_is_an_outcome_with_advice(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(5, 3, 30, 0.5, 10);
    fplt_run_settings settings = fplt_run_defaults();
    settings.training.step = 50;
    fplt_result result = run_to(problem.objective, &settings);
    assert_int_equal(result.outcome, FPLT_RUN_DIVERGED);
    assert_contains(result.sentence, "gamma is 50");
    assert_contains(result.sentence, "gamma: auto");
    logistic_free(&problem);
}

static void counters_add_up(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(10, 3, 30, 0.5, 11);
    fplt_participation *half = half_of(10);
    fplt_run_settings settings = fplt_run_defaults();
    settings.participation = half;
    settings.rounds = 7;
    settings.tolerance = 0;
    settings.training.epochs = 4;
    fplt_result result = run_to(problem.objective, &settings);
    assert_int_equal(result.outcome, FPLT_ROUNDS_DONE);
    assert_int_equal(result.counters.rounds, 7);
    assert_int_equal(result.counters.updates, 35);
    assert_int_equal(result.counters.vectors_up, 35);
    assert_int_equal(result.counters.vectors_down, 35);
    assert_int_equal(result.counters.bytes_up, 35 * 3 * 8);
    assert_true(result.counters.gradients == 35 * 4);
    assert_true(result.counters.time == 35 * (4 + 10));
    fplt_participation_destroy(half);
    logistic_free(&problem);
}

static int count_rounds(void *context, const fplt_progress *progress)
{
    *(uint64_t *)context += 1;
    return progress->round == 3;
}

static void an_observer_sees_every_round_and_may_stop(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(5, 3, 30, 0.5, 12);
    fplt_run_settings settings = fplt_run_defaults();
    settings.tolerance = 0;
    fplt_engine *engine = engine_make(problem.objective, &settings);
    fplt_error error;
    fplt_result result;
    uint64_t calls = 0;
    assert_ok(fplt_engine_run(engine, count_rounds, &calls, &result, &error), error);
    assert_int_equal(result.outcome, FPLT_STOPPED);
    assert_int_equal(calls, 4);
    fplt_engine_destroy(engine);
    settings.change = 1e-9;
    assert_int_equal(run_to(problem.objective, &settings).outcome, FPLT_STALLED);
    logistic_free(&problem);
}

static void nothing_is_allocated_inside_rounds(void **state)
{
    (void)state;
    struct counting counting = {0, 0, -1};
    counting_install(&counting);
    struct logistic_problem problem = logistic_make(8, 3, 30, 0.5, 13);
    for (size_t s = 0; fplt_solver_list(s); s++) {
        fplt_error error;
        fplt_run_settings settings = fplt_run_defaults();
        settings.training.solver = fplt_solver_list(s);
        settings.threads = 2;
        fplt_engine *engine = engine_make(problem.objective, &settings);
        long made = counting.made;
        for (int k = 0; k < 5; k++) {
            fplt_measure measure;
            assert_ok(fplt_engine_round(engine, &error), error);
            assert_ok(fplt_engine_measure(engine, &measure, &error), error);
        }
        assert_int_equal(counting.made, made);
        fplt_engine_destroy(engine);
    }
    logistic_free(&problem);
    assert_int_equal(counting.live, 0);
    fplt_allocator_set(NULL);
}

static void creating_survives_every_failed_allocation(void **state)
{
    (void)state;
    struct logistic_problem problem = logistic_make(4, 3, 10, 0.5, 14);
    fplt_status status = FPLT_NO_MEMORY;
    for (long n = 0; status; n++) {
        struct counting counting = {0, 0, n};
        counting_install(&counting);
        fplt_error error;
        fplt_engine *engine;
        fplt_run_settings settings = fplt_run_defaults();
        settings.training.solver = fplt_solver_find("newton");
        settings.threads = 2;
        status = fplt_engine_create(problem.objective, &settings, &engine, &error);
        assert_true(status == FPLT_OK || status == FPLT_NO_MEMORY);
        fplt_engine_destroy(engine);
        assert_int_equal(counting.live, 0);
        assert_true(n < 1000);
        fplt_allocator_set(NULL);
    }
    logistic_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterates_equal_the_linear_recursion),
        cmocka_unit_test(more_epochs_approach_peaceman_rachford),
        cmocka_unit_test(there_is_no_client_drift),
        cmocka_unit_test(the_floor_of_sgd_falls_with_the_batch),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(the_running_sum_never_drifts),
        cmocka_unit_test(inactive_agents_keep_their_state),
        cmocka_unit_test(composite_costs_reach_their_minimiser),
        cmocka_unit_test(agents_may_differ_in_solver_step_and_epochs),
        cmocka_unit_test(a_solver_of_ones_own_runs_like_any_other),
        cmocka_unit_test(divergence_is_an_outcome_with_advice),
        cmocka_unit_test(counters_add_up),
        cmocka_unit_test(an_observer_sees_every_round_and_may_stop),
        cmocka_unit_test(nothing_is_allocated_inside_rounds),
        cmocka_unit_test(creating_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("fed-plt", tests, NULL, NULL);
}
