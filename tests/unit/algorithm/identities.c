/* What the methods have in common: special cases that coincide, invariants, and fixed points. */
#include "problem.h"

#include "algorithm/local_step.h"
#include "base/random.h"
#include "base/sum.h"
#include "engine/engine_access.h"
#include "solver/solver.h"

enum { AGENTS = 10, N = 6, ROUNDS = 40 };

/* Both runs give the same model after every round, to `tolerance` of its size. */
static void same_models(const problem *p, trial a, trial b, double tolerance)
{
    trial_start(&a, p);
    trial_start(&b, p);
    for (int k = 0; k < ROUNDS; k++) {
        row x, y;
        trial_round(&a);
        trial_round(&b);
        assert_int_equal(fplt_engine_model(a.engine, x), FPLT_OK);
        assert_int_equal(fplt_engine_model(b.engine, y), FPLT_OK);
        if (!(largest_difference(x, y, p->n) <= tolerance * fmax(largest(x, p->n), 0.1)))
            fail_msg("%s and %s differ by %g after round %d", a.algorithm, b.algorithm,
                     largest_difference(x, y, p->n), k);
    }
    trial_end(&a);
    trial_end(&b);
}

/* The kernel of four methods: from x, w <- w - gamma (grad f_i(w) - h_i); x = mean w;
 * h_i += (eta/gamma)(x - w_i). `length` steps, or as many as the round draws with probability p. */
static void is_the_kernel(const problem *p, trial t, double eta, double drawn_with)
{
    row x = {0}, h[AGENTS] = {{0}};
    trial_start(&t, p);
    double gamma = fplt__engine_step(t.engine, 0);
    for (uint64_t k = 0; k < ROUNDS; k++) {
        row w[AGENTS], next = {0}, model;
        fplt_stream shared = fplt_stream_make(SEED, 0, FPLT_FOR_SHARED, k, 0, 0);
        uint64_t length = drawn_with > 0 ? fplt__stream_geometric(&shared, drawn_with) : 5;
        for (uint32_t i = 0; i < AGENTS; i++) {
            memcpy(w[i], x, sizeof x);
            for (uint64_t l = 0; l < length; l++) {
                row g;
                logistic_gradient(p, i, w[i], g);
                for (int j = 0; j < N; j++)
                    w[i][j] -= gamma * (g[j] - h[i][j]);
            }
            for (int j = 0; j < N; j++)
                next[j] += w[i][j] / AGENTS;
        }
        memcpy(x, next, sizeof x);
        for (int i = 0; i < AGENTS; i++)
            for (int j = 0; j < N; j++)
                h[i][j] += eta / gamma * (x[j] - w[i][j]);
        trial_round(&t);
        assert_int_equal(fplt_engine_model(t.engine, model), FPLT_OK);
        if (!(largest_difference(model, x, N) <= 1e-12 * fmax(largest(x, N), 0.1)))
            fail_msg("%s leaves the kernel by %g after round %d", t.algorithm,
                     largest_difference(model, x, N), (int)k);
    }
    trial_end(&t);
}

static void four_methods_are_one_kernel(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.2, 2);
    is_the_kernel(&p, (trial){.algorithm = "led"}, 0.2, 0);
    is_the_kernel(&p, (trial){.algorithm = "led", .names = {"beta"}, .values = {0.35}}, 0.35, 0);
    is_the_kernel(&p, (trial){.algorithm = "scaffold"}, 0.2, 0);
    is_the_kernel(&p, (trial){.algorithm = "scaffnew", .names = {"p"}, .values = {0.3}}, 0.3, 0.3);
    is_the_kernel(&p, (trial){.algorithm = "tamuna", .names = {"p", "chi"}, .values = {0.3, 0.5}},
                  0.15, 0.3);
    same_models(&p, (trial){.algorithm = "scaffold", .step = 0.1},
                (trial){.algorithm = "led", .step = 0.1}, 1e-13);
    same_models(&p, (trial){.algorithm = "scaffnew"}, (trial){.algorithm = "tamuna"}, 0);
    problem_free(&p);
}

static void splittings_coincide_with_an_exact_solver(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.2, 2);
    same_models(&p, (trial){.algorithm = "fed-plt", .solver = "newton", .epochs = 50},
                (trial){.algorithm = "fedsplit", .solver = "newton", .epochs = 50}, 1e-12);
    problem_free(&p);
}

/* Douglas-Rachford on quadratics: x_i = (I + eta H_i)^-1 (z_i + eta b_i), y = mean (2 x_i - z_i),
 * z_i += y - x_i, with the proximal step solved by elimination. */
static void fedpd_with_an_exact_solver_is_douglas_rachford(void **state)
{
    (void)state;
    problem p = problem_quadratic(AGENTS, N, 4);
    trial t = {.algorithm = "fedpd", .solver = "newton", .epochs = 3};
    trial_start(&t, &p);
    double eta = fplt__engine_parameters(t.engine)[0];
    row z[AGENTS] = {{0}}, zero = {0};
    for (int k = 0; k < ROUNDS; k++) {
        row x[AGENTS], y = {0}, model;
        for (uint32_t i = 0; i < AGENTS; i++) {
            row matrix[MAX_COORDINATES], slope;
            library_hessian(&p, i, zero, matrix);
            library_gradient(&p, i, zero, slope);
            for (int j = 0; j < N; j++) {
                for (int l = 0; l < N; l++)
                    matrix[j][l] = eta * matrix[j][l] + (j == l);
                x[i][j] = z[i][j] - eta * slope[j];
            }
            solve(matrix, x[i], N);
            for (int j = 0; j < N; j++)
                y[j] += (2 * x[i][j] - z[i][j]) / AGENTS;
        }
        for (int i = 0; i < AGENTS; i++)
            for (int j = 0; j < N; j++)
                z[i][j] += y[j] - x[i][j];
        trial_round(&t);
        assert_int_equal(fplt_engine_model(t.engine, model), FPLT_OK);
        assert_true(largest_difference(model, y, N) <= 1e-12 * fmax(largest(y, N), 0.1));
    }
    trial_end(&t);
    problem_free(&p);
}

static void one_epoch_is_gradient_descent(void **state)
{
    (void)state;
    static const char *const names[] = {"fedlin", "fedavg"};
    problem p = problem_logistic(AGENTS, N, 30, 0.2, 2);
    for (int which = 0; which < 2; which++) {
        trial t = {.algorithm = names[which], .epochs = 1};
        row x = {0}, model;
        trial_start(&t, &p);
        double gamma = fplt__engine_step(t.engine, 0);
        for (int k = 0; k < ROUNDS; k++) {
            row total = {0};
            for (uint32_t i = 0; i < AGENTS; i++) {
                row g;
                logistic_gradient(&p, i, x, g);
                for (int j = 0; j < N; j++)
                    total[j] += g[j];
            }
            for (int j = 0; j < N; j++)
                x[j] -= gamma / AGENTS * total[j];
            trial_round(&t);
            assert_int_equal(fplt_engine_model(t.engine, model), FPLT_OK);
            assert_true(largest_difference(model, x, N) <= 1e-13);
        }
        trial_end(&t);
    }
    problem_free(&p);
}

static void fedprox_without_a_pull_is_fedavg(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.2, 2);
    same_models(&p, (trial){.algorithm = "fedavg"},
                (trial){.algorithm = "fedprox", .names = {"mu"}, .values = {0}}, 0);
    same_models(&p, (trial){.algorithm = "fedavg", .count = 4},
                (trial){.algorithm = "fedprox", .count = 4, .names = {"mu"}, .values = {0}}, 0);
    problem_free(&p);
}

/* sum y_i = 0 and sum h_i = 0 to rounding; c = mean c_i and v = mean u_i to the bit. */
static void invariants_hold(void **state)
{
    (void)state;
    static const trial runs[] = {
        {.algorithm = "led"},
        {.algorithm = "scaffnew"},
        {.algorithm = "tamuna"},
        {.algorithm = "tamuna", .count = 4},
        {.algorithm = "tamuna", .count = 7, .names = {"s"}, .values = {3}},
        {.algorithm = "scaffold", .count = 4},
        {.algorithm = "5gcs", .count = 4},
        {.algorithm = "fedsplit"},
    };
    problem p = problem_logistic(AGENTS, N, 30, 0.2, 2);
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        trial t = runs[r];
        trial_start(&t, &p);
        int mirrored = fplt__engine_shape(t.engine).mirrored > 0;
        for (int k = 0; k < 200; k++) {
            row total = {0};
            double size = 0;
            trial_round(&t);
            for (uint32_t i = 0; i < AGENTS; i++) {
                const double *own = fplt__engine_kept(t.engine, i);
                size = fmax(size, largest(own, N));
                for (int j = 0; j < N; j++)
                    total[j] += own[j];
            }
            assert_true(size > 1e-3); /* there is something to add up */
            assert_true(mirrored ? fplt__engine_consistent(t.engine)
                                 : largest(total, N) <= 1e-13 * fmax(size, 1));
        }
        trial_end(&t);
    }
    problem_free(&p);
}

/* An agent keeps a mirrored vector on the grid of the sum, so that the running sum is that of its own
 * numbers; the first feature is tiny, so that rounding to the grid changes something. */
static void mirrored_vectors_are_on_the_grid(void **state)
{
    (void)state;
    enum { ROWS = 8 };
    static const char *const names[] = {"fed-plt", "fedsplit", "scaffold", "5gcs"};
    double dense[2 * ROWS * AGENTS], label[ROWS * AGENTS];
    size_t share[AGENTS];
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int r = 0; r < ROWS * AGENTS; r++) {
        dense[2 * r] = 1e-6 * fplt_stream_normal(&stream);
        dense[2 * r + 1] = fplt_stream_normal(&stream);
        label[r] = fplt_stream_below(&stream, 2) ? 1 : -1;
        share[r / ROWS] = ROWS;
    }
    fplt_rows rows = {.count = ROWS * AGENTS, .features = 2, .dense = dense, .label = label};
    fplt_error error;
    problem p = {.agents = AGENTS, .n = 2};
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_BINARY, share, AGENTS, &p.data, &error),
              error);
    fplt_objective_settings cost = fplt_objective_defaults();
    assert_ok(fplt_objective_create(&cost, p.data, &p.objective, &error), error);
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        trial t = {.algorithm = names[m]};
        trial_start(&t, &p);
        for (int k = 0; k < 5; k++)
            trial_round(&t);
        for (uint32_t i = 0; i < AGENTS; i++) {
            const double *own = fplt__engine_kept(t.engine, i);
            double rounded[2] = {own[0], own[1]};
            fplt__grid_round(rounded, 2);
            assert_true(own[0] != 0 && fabs(own[0]) < 1e-4);
            assert_memory_equal(rounded, own, sizeof rounded);
        }
        trial_end(&t);
    }
    problem_free(&p);
}

/* SCAFFOLD divides by the steps it took, which are not the epochs where an epoch is a pass: with a tiny
 * step a pass in minibatches without replacement averages to the whole gradient. */
static void scaffold_counts_minibatches(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.2, 2);
    fplt_run_settings settings = fplt_run_defaults();
    settings.algorithm = fplt_algorithm_find("scaffold");
    settings.training.solver = fplt_solver_find("sgd");
    settings.training.batch = 5; /* divides the 30 records: all count alike */
    settings.training.by_pass = 1;
    settings.training.epochs = 2;
    settings.training.step = 1e-7;
    fplt_error error;
    fplt_engine *engine;
    assert_ok(fplt_engine_create(p.objective, &settings, &engine, &error), error);
    assert_ok(fplt_engine_round(engine, &error), error);
    for (uint32_t i = 0; i < AGENTS; i++) {
        row zero = {0}, g;
        logistic_gradient(&p, i, zero, g);
        assert_true(largest_difference(fplt__engine_kept(engine, i), g, N) <= 1e-5);
    }
    fplt_engine_destroy(engine);
    problem_free(&p);
}

/* A round by hand, on any state one likes. */
struct hand {
    const fplt_algorithm *algorithm;
    fplt_shape shape;
    double parameter[FPLT_MAX_PARAMETERS];
    double step[AGENTS];
    fplt_curvature curvature[AGENTS];
    double kept[AGENTS][2 * N], staged[AGENTS][2 * N], held[AGENTS][2 * N], work[2 * N];
    double vector[2 * N], total[2 * N];
    fplt_training training;
    fplt_facts facts;
};

static void hand_total(struct hand *hand)
{
    memset(hand->total, 0, sizeof hand->total);
    for (int i = 0; i < AGENTS; i++)
        for (size_t j = 0; j < hand->shape.mirrored * N; j++)
            hand->total[j] += hand->kept[i][j];
}

static struct hand hand_make(const problem *p, const char *name, uint32_t cohort)
{
    fplt_error error;
    struct hand hand = {.algorithm = fplt_algorithm_find(name)};
    fplt_curvature all = {HUGE_VAL, 0};
    for (uint32_t i = 0; i < AGENTS; i++) {
        assert_ok(fplt_objective_curvature(p->objective, i, 0, &hand.curvature[i], &error), error);
        all.lowest = fmin(all.lowest, hand.curvature[i].lowest);
        all.highest = fmax(all.highest, hand.curvature[i].highest);
    }
    hand.training = fplt_training_defaults();
    if (!strcmp(name, "fedsplit")) {
        hand.training.solver = fplt_solver_find("newton");
        hand.training.epochs = 40;
    }
    hand.facts = (fplt_facts){all, AGENTS, cohort, hand.training.epochs, N, 0};
    fplt_algorithm_defaults(hand.algorithm, hand.parameter);
    assert_ok(fplt__algorithm_resolve(hand.algorithm, &hand.facts, hand.parameter, &error), error);
    hand.shape = fplt_algorithm_shape(hand.algorithm, hand.parameter, N);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_facts own = hand.facts;
        own.curvature = hand.algorithm->common_step ? all : hand.curvature[i];
        hand.step[i] = hand.algorithm->step(&own, hand.parameter);
    }
    return hand;
}

static void hand_round(struct hand *hand, const problem *p, const uint32_t *active, uint32_t count)
{
    const fplt_algorithm *a = hand->algorithm;
    double *scratch =
        calloc(fplt__local_scratch(p->objective, &hand->training) + 8, sizeof(double));
    hand_total(hand);
    fplt_coordinator hub = {.dimension = N,
                            .agents = AGENTS,
                            .parameter = hand->parameter,
                            .vector = hand->vector,
                            .total = hand->total};
    fplt_round round = {.agents = AGENTS,
                        .active = count,
                        .shared = fplt_stream_make(1, 0, FPLT_FOR_SHARED, 0, 0, 0)};
    fplt_prox_settings none = fplt_prox_defaults();
    fplt_prox *prox;
    fplt_error error;
    assert_ok(fplt_prox_create(&none, N, N, &prox, &error), error);
    hub.prox = prox;
    if (a->plan)
        a->plan(&hub, &round);
    fplt_stream shared = round.shared;
    if (a->length)
        round.epochs = a->length(hand->parameter, &shared);
    for (unsigned e = 0; e <= hand->shape.exchanges; e++) {
        double down[2 * N], sum[2 * N] = {0};
        int last = e == hand->shape.exchanges;
        if (last && !hand->shape.finish_down)
            break;
        assert_int_equal(a->broadcast(&hub, &round, e, down), FPLT_OK);
        for (uint32_t m = 0; m < count; m++) {
            uint32_t i = active[m];
            double up[2 * N] = {0};
            fplt_local local = {.problem = {.objective = p->objective, .agent = i},
                                .training = hand->training,
                                .step = hand->step[i],
                                .curvature = hand->curvature[i],
                                .scratch = scratch};
            fplt_agent agent = {
                i,          N,     hand->parameter, hand->kept[i], hand->staged[i], hand->held[i],
                hand->work, &local};
            round.position = m;
            if (last)
                a->finish(&agent, &round, down);
            else
                assert_ok(a->local(&agent, &round, e, down, up, &error), error);
            for (size_t j = 0; !last && j < hand->shape.exchange[e].up * N; j++)
                sum[j] += up[j];
        }
        if (e + 1 == hand->shape.exchanges && hand->shape.mirrored) {
            for (uint32_t m = 0; m < count; m++)
                memcpy(hand->kept[active[m]], hand->staged[active[m]], sizeof *hand->kept);
            hand_total(hand);
        }
        if (!last && a->absorb)
            a->absorb(&hub, &round, e, sum);
    }
    for (uint32_t m = 0; hand->shape.kept && m < count; m++)
        memcpy(hand->kept[active[m]], hand->staged[active[m]], sizeof *hand->kept);
    fplt_prox_destroy(prox);
    free(scratch);
}

/* The fixed points as published: at x* with these duals nothing moves. */
static void set_fixed_point(struct hand *hand, const problem *p, const double *x)
{
    const char *name = hand->algorithm->name;
    const double *parameter = hand->parameter;
    for (uint32_t i = 0; i < AGENTS; i++) {
        row g;
        logistic_gradient(p, i, x, g);
        double *own = hand->kept[i];
        for (int j = 0; j < N; j++) {
            if (!strcmp(name, "fed-plt")) {
                own[j] = x[j] - parameter[0] * g[j];
                own[N + j] = x[j];
            } else if (!strcmp(name, "fedpd")) {
                own[j] = x[j];
                own[N + j] = -g[j];
            } else if (!strcmp(name, "fedsplit"))
                own[j] = x[j] - parameter[0] * g[j];
            else if (!strcmp(name, "led"))
                own[j] = -hand->step[i] / parameter[0] * g[j];
            else if (!strcmp(name, "5gcs"))
                own[j] = g[j] - parameter[2] * x[j];
            else
                own[j] = g[j];
        }
    }
    hand_total(hand);
    memcpy(hand->vector, x, N * sizeof *x);
    for (int j = 0; j < N; j++)
        hand->vector[N + j] = hand->total[j] / AGENTS; /* 5gcs: v; otherwise not used */
}

static void nothing_moves_at_the_fixed_point(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int partial;
    } methods[] = {{"fed-plt", 1},  {"fedsplit", 0}, {"fedpd", 0},    {"fedlin", 0}, {"led", 0},
                   {"scaffnew", 0}, {"tamuna", 1},   {"scaffold", 1}, {"5gcs", 1}};
    static const uint32_t all[AGENTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, some[] = {1, 4, 5, 8};
    problem p = problem_logistic(AGENTS, N, 30, 0.2, 2);
    row x;
    minimiser(&p, x);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        for (int partial = 0; partial <= methods[m].partial; partial++) {
            struct hand hand = hand_make(&p, methods[m].name, partial ? 4 : AGENTS);
            set_fixed_point(&hand, &p, x);
            struct hand before = hand;
            for (int k = 0; k < 3; k++)
                hand_round(&hand, &p, partial ? some : all, partial ? 4 : AGENTS);
            assert_true(largest_difference(hand.vector, before.vector, N) <= 1e-13);
            for (int i = 0; i < AGENTS; i++)
                if (!(largest_difference(hand.kept[i], before.kept[i], hand.shape.kept * N) <=
                      1e-12))
                    fail_msg("%s: agent %d moves by %g", methods[m].name, i,
                             largest_difference(hand.kept[i], before.kept[i], hand.shape.kept * N));
        }
    }
    problem_free(&p);
}

/* The round by hand is the engine's round: otherwise the test above would prove nothing. */
static void by_hand_is_the_engine(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.2, 2);
    static const uint32_t all[AGENTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const char *const names[] = {"fed-plt", "fedpd", "fedlin", "led", "scaffold", "5gcs"};
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        trial t = {.algorithm = names[m]};
        struct hand hand = hand_make(&p, names[m], AGENTS);
        trial_start(&t, &p);
        for (int k = 0; k < 5; k++) {
            hand_round(&hand, &p, all, AGENTS);
            trial_round(&t);
        }
        for (uint32_t i = 0; i < AGENTS && hand.shape.kept; i++)
            assert_true(largest_difference(hand.kept[i], fplt__engine_kept(t.engine, i),
                                           hand.shape.kept * N) <= 1e-13);
        trial_end(&t);
    }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_methods_are_one_kernel),
        cmocka_unit_test(splittings_coincide_with_an_exact_solver),
        cmocka_unit_test(fedpd_with_an_exact_solver_is_douglas_rachford),
        cmocka_unit_test(one_epoch_is_gradient_descent),
        cmocka_unit_test(fedprox_without_a_pull_is_fedavg),
        cmocka_unit_test(invariants_hold),
        cmocka_unit_test(mirrored_vectors_are_on_the_grid),
        cmocka_unit_test(scaffold_counts_minibatches),
        cmocka_unit_test(nothing_moves_at_the_fixed_point),
        cmocka_unit_test(by_hand_is_the_engine),
    };
    return cmocka_run_group_tests_name("algorithm identities", tests, NULL, NULL);
}
