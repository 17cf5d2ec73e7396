/* The coordinator's own methods: fed-newton against Newton's iteration by elimination, fed-lbfgs against
 * BFGS with a dense matrix, fednl by what its compression must do; all three to the minimiser of an
 * independent Newton iteration, from far starts too; what they count and refuse. */
#include "problem.h"
#include "algorithm/local_step.h"
#include "engine/engine_access.h"
#include "objective/objective_access.h"

enum { AGENTS = 9, N = 6 };

static const char *const methods[] = {"fed-lbfgs", "fed-newton", "fednl", "fed-lbfgs-partial",
                                      "fed-newton-partial"};
enum { METHODS = sizeof methods / sizeof *methods };

static void total_gradient(const problem *p, const double *x, double *g)
{
    memset(g, 0, p->n * sizeof *g);
    for (uint32_t i = 0; i < p->agents; i++) {
        row own;
        logistic_gradient(p, i, x, own);
        for (size_t j = 0; j < p->n; j++)
            g[j] += own[j];
    }
}

/* x - H^-1 g, by elimination. */
static void newton_step(const problem *p, double *x)
{
    row g, matrix[MAX_COORDINATES] = {{0}};
    total_gradient(p, x, g);
    for (uint32_t i = 0; i < p->agents; i++) {
        row h[MAX_COORDINATES];
        library_hessian(p, i, x, h);
        for (size_t j = 0; j < p->n; j++)
            for (size_t k = 0; k < p->n; k++)
                matrix[j][k] += h[j][k];
    }
    solve(matrix, g, p->n);
    for (size_t j = 0; j < p->n; j++)
        x[j] -= g[j];
}

static void model_is(const trial *t, const double *x, double tolerance, int round)
{
    row model;
    assert_int_equal(fplt_engine_model(t->engine, model), FPLT_OK);
    if (!(largest_difference(model, x, N) <= tolerance * fmax(largest(x, N), 0.1)))
        fail_msg("%s: round %d differs by %g", t->algorithm, round,
                 largest_difference(model, x, N));
}

static void fed_newton_is_newtons_iteration(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.1, 5);
    trial t = {.algorithm = "fed-newton"};
    row x = {0};
    trial_start(&t, &p);
    for (int k = 0; k < 8; k++) {
        newton_step(&p, x);
        trial_round(&t);
        if (k) /* the first step is not handed out before it was looked at */
            model_is(&t, x, 1e-12, k);
    }
    trial_end(&t);
    problem_free(&p);
}

/* H = V'HV + s s'/<s, y> with V = I - y s'/<s, y>, from the scaled identity over the kept pairs. */
static void bfgs_direction(row *s, row *y, int count, const double *g, double first, double *d)
{
    row h[MAX_COORDINATES] = {{0}};
    double scale = first;
    if (count) {
        double sy = 0, yy = 0;
        for (int j = 0; j < N; j++) {
            sy += s[count - 1][j] * y[count - 1][j];
            yy += y[count - 1][j] * y[count - 1][j];
        }
        scale = sy / yy;
    }
    for (int j = 0; j < N; j++)
        h[j][j] = scale;
    for (int k = 0; k < count; k++) {
        row left[MAX_COORDINATES], hy = {0};
        double sy = 0, yhy = 0;
        for (int i = 0; i < N; i++) {
            sy += s[k][i] * y[k][i];
            for (int j = 0; j < N; j++)
                hy[i] += h[i][j] * y[k][j];
        }
        for (int i = 0; i < N; i++)
            yhy += y[k][i] * hy[i];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                left[i][j] = h[i][j] - (s[k][i] * hy[j] + hy[i] * s[k][j]) / sy +
                             (1 + yhy / sy) * s[k][i] * s[k][j] / sy;
        memcpy(h, left, sizeof left);
    }
    for (int i = 0; i < N; i++) {
        d[i] = 0;
        for (int j = 0; j < N; j++)
            d[i] -= h[i][j] * g[j];
    }
}

/* No step is refused on this problem, which the agreement itself shows. More rounds than pairs. */
static void fed_lbfgs_is_bfgs_of_the_last_pairs(void **state)
{
    (void)state;
    enum { PAIRS = 4, ROUNDS = 12 };
    problem p = problem_logistic(AGENTS, N, 30, 0.1, 5);
    trial t = {.algorithm = "fed-lbfgs", .names = {"pairs"}, .values = {PAIRS}};
    trial_start(&t, &p);
    double first = 1 / (fplt__engine_facts(t.engine).curvature.highest * AGENTS);
    row x = {0}, g, s[PAIRS], y[PAIRS];
    int count = 0;
    total_gradient(&p, x, g);
    for (int k = 0; k < ROUNDS; k++) {
        row d, after;
        bfgs_direction(s, y, count, g, first, d);
        for (int j = 0; j < N; j++)
            x[j] += d[j];
        total_gradient(&p, x, after);
        if (count == PAIRS) {
            memmove(s, s + 1, (PAIRS - 1) * sizeof *s);
            memmove(y, y + 1, (PAIRS - 1) * sizeof *y);
            count--;
        }
        for (int j = 0; j < N; j++) {
            s[count][j] = d[j];
            y[count][j] = after[j] - g[j];
        }
        count++;
        memcpy(g, after, sizeof g);
        trial_round(&t);
        if (k)
            model_is(&t, x, 1e-11, k);
    }
    trial_end(&t);
    problem_free(&p);
}

static double triangle_at(const double *triangle, size_t i, size_t j)
{
    return i >= j ? triangle[i * (i + 1) / 2 + j] : triangle[j * (j + 1) / 2 + i];
}

/* The square of the largest eigenvalue by size, by Jacobi's rotations. */
static double largest_eigenvalue_squared(row *a, size_t n)
{
    double best = 0;
    for (int sweep = 0; sweep < 60; sweep++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++) {
                double angle = 0.5 * atan2(2 * a[i][j], a[j][j] - a[i][i]);
                double c = cos(angle), s = sin(angle);
                for (size_t k = 0; k < n; k++) {
                    double u = a[i][k], v = a[j][k];
                    a[i][k] = c * u - s * v;
                    a[j][k] = s * u + c * v;
                }
                for (size_t k = 0; k < n; k++) {
                    double u = a[k][i], v = a[k][j];
                    a[k][i] = c * u - s * v;
                    a[k][j] = s * u + c * v;
                }
            }
    for (size_t i = 0; i < n; i++)
        best = fmax(best, a[i][i] * a[i][i]);
    return best;
}

/* What an agent learns in a round has rank one, and it is as much as the largest eigenvalue of what is
 * missing; the coordinator's step is Newton's with the sum of what was learned. */
static void fednl_learns_the_largest_part(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 0.1, 5);
    trial t = {.algorithm = "fednl"};
    trial_start(&t, &p);
    trial_round(&t); /* learns everything at zero */
    trial_round(&t); /* and trusts its steps from now on */
    for (int round = 0; round < 5; round++) {
        double before[AGENTS][N * (N + 1) / 2];
        row x, next, sum[MAX_COORDINATES] = {{0}}, g;
        assert_int_equal(fplt_engine_model(t.engine, x), FPLT_OK);
        for (uint32_t i = 0; i < AGENTS; i++)
            memcpy(before[i], fplt__engine_kept(t.engine, i), sizeof *before);
        trial_round(&t);
        for (uint32_t i = 0; i < AGENTS; i++) {
            const double *now = fplt__engine_kept(t.engine, i);
            row hessian[MAX_COORDINATES], step[MAX_COORDINATES] = {{0}};
            double missing = 0, left = 0, size = 0;
            library_hessian(&p, i, x, hessian);
            for (size_t a = 0; a < N; a++)
                for (size_t b = 0; b < N; b++) {
                    step[a][b] = triangle_at(now, a, b) - triangle_at(before[i], a, b);
                    sum[a][b] += triangle_at(now, a, b);
                    left += pow(hessian[a][b] - triangle_at(now, a, b), 2);
                    hessian[a][b] -= triangle_at(before[i], a, b);
                    missing += hessian[a][b] * hessian[a][b];
                    size = fmax(size, fabs(step[a][b]));
                }
            double best = largest_eigenvalue_squared(hessian, N);
            assert_true(missing - left >= 0.97 * best);
            for (size_t a = 1; a < N; a++)
                assert_true(fabs(step[0][0] * step[a][a] - step[0][a] * step[0][a]) <=
                            1e-12 * size * size + 1e-30);
        }
        total_gradient(&p, x, g);
        solve(sum, g, N);
        for (size_t j = 0; j < N; j++)
            next[j] = x[j] - g[j];
        model_is(&t, next, 1e-11, round);
    }
    assert_true(fplt__engine_consistent(t.engine));
    trial_end(&t);
    problem_free(&p);
}

/* Newton's iteration with halved steps, to 1e-14; own gradients through the library's costs. */
static void oracle(const fplt_objective *objective, double *x)
{
    size_t n = fplt_objective_dimension(objective);
    double *scratch = calloc(fplt_objective_scratch(objective) + 1, sizeof *scratch);
    memset(x, 0, n * sizeof *x);
    for (int k = 0; k < 100; k++) {
        row d = {0}, matrix[MAX_COORDINATES] = {{0}};
        double flat[MAX_COORDINATES * MAX_COORDINATES], best = HUGE_VAL, length = 0;
        for (uint32_t i = 0; i < fplt_objective_agents(objective); i++) {
            row g;
            assert_int_equal(fplt_objective_gradient(objective, i, x, g, scratch), FPLT_OK);
            assert_int_equal(fplt__objective_hessian(objective, i, x, flat, scratch), FPLT_OK);
            for (size_t a = 0; a < n; a++) {
                d[a] -= g[a];
                for (size_t b = 0; b < n; b++)
                    matrix[a][b] += flat[a * n + b];
            }
        }
        solve(matrix, d, n);
        for (double t = 2; t > 1e-6; t /= 2) {
            row at, sum = {0};
            double square = 0;
            for (size_t j = 0; j < n; j++)
                at[j] = x[j] + (t > 1 ? 0 : t) * d[j];
            for (uint32_t i = 0; i < fplt_objective_agents(objective); i++) {
                row g;
                assert_int_equal(fplt_objective_gradient(objective, i, at, g, scratch), FPLT_OK);
                for (size_t j = 0; j < n; j++)
                    sum[j] += g[j];
            }
            for (size_t j = 0; j < n; j++)
                square += sum[j] * sum[j];
            if (square < best) {
                best = square;
                length = t > 1 ? 0 : t;
            }
        }
        for (size_t j = 0; j < n; j++)
            x[j] += length * d[j];
    }
    free(scratch);
}

static uint64_t arrives(const fplt_objective *objective, const char *name, const double *start,
                        const double *expected)
{
    fplt_error error;
    fplt_result result;
    row x;
    fplt_engine *engine;
    fplt_run_settings settings = fplt_run_defaults();
    settings.algorithm = fplt_algorithm_find(name);
    settings.threads = 1;
    settings.tolerance = 1e-24;
    settings.relative = 1;
    settings.rounds = 400;
    settings.start = start ? FPLT_START_GIVEN : FPLT_START_ZERO;
    settings.given = start;
    assert_ok(fplt_engine_create(objective, &settings, &engine, &error), error);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    assert_int_equal(fplt_engine_model(engine, x), FPLT_OK);
    size_t n = fplt_objective_dimension(objective);
    double away = largest_difference(x, expected, n);
    if (result.outcome != FPLT_CONVERGED || !(away <= 1e-9 * fmax(largest(expected, n), 1)))
        fail_msg("%s is %g away: %s", name, away, result.sentence);
    fplt_engine_destroy(engine);
    return result.counters.rounds;
}

static void all_arrive_on_every_smooth_cost(void **state)
{
    (void)state;
    static const struct {
        const char *loss, *regulariser, *generator;
        double weight;
        int intercept;
    } costs[] = {
        {"logistic", "ridge", "paper", 0.5, 0},
        {"logistic", "ridge", "paper", 1e-4, 1},
        {"logistic", "nonconvex", "paper", 0.01, 0},
        {"least-squares", "ridge", "planted", 0.1, 1},
        {"least-squares", "none", "quadratic", 0, 0},
        {"huber", "ridge", "planted", 0.1, 0},
        {"squared-hinge", "ridge", "planted", 0.1, 1},
    };
    for (size_t c = 0; c < sizeof costs / sizeof *costs; c++) {
        fplt_error error;
        fplt_dataset *data;
        fplt_objective *objective;
        row expected;
        fplt_generate_settings generate = fplt_generate_defaults();
        fplt_objective_settings cost = fplt_objective_defaults();
        int classes = !strcmp(costs[c].loss, "logistic") || !strcmp(costs[c].loss, "squared-hinge");
        generate.name = costs[c].generator;
        generate.task = classes ? FPLT_TASK_BINARY : FPLT_TASK_REGRESSION;
        generate.agents = 5;
        generate.features = 7;
        generate.rows = 40;
        generate.noise = 0.5;
        cost.loss = costs[c].loss;
        cost.regulariser = costs[c].regulariser;
        cost.weight = costs[c].weight;
        cost.intercept = costs[c].intercept;
        assert_ok(fplt_dataset_generate(&generate, &data, &error), error);
        assert_ok(fplt_objective_create(&cost, data, &objective, &error), error);
        oracle(objective, expected);
        for (int m = 0; m < METHODS; m++) {
            uint64_t rounds = arrives(objective, methods[m], NULL, expected);
            print_message("# %s, %s, %g: %s arrives after %llu rounds\n", costs[c].loss,
                          costs[c].regulariser, costs[c].weight, methods[m],
                          (unsigned long long)rounds);
            assert_true(rounds <= (strstr(methods[m], "lbfgs") ? 120u : 25u));
        }
        fplt_objective_destroy(objective);
        fplt_dataset_destroy(data);
    }
}

/* Where Newton's plain iteration flies away, the line search brings them back. */
static void a_far_start_does_not_matter(void **state)
{
    (void)state;
    problem p = problem_logistic(AGENTS, N, 30, 1e-3, 5);
    row expected, start, plain;
    oracle(p.objective, expected);
    for (int j = 0; j < N; j++)
        start[j] = plain[j] = j % 2 ? 8 : -8;
    for (int k = 0; k < 4; k++)
        newton_step(&p, plain);
    assert_true(!(largest_difference(plain, expected, N) < 100));
    for (int m = 0; m < METHODS; m++)
        print_message("# %s: %llu rounds from afar\n", methods[m],
                      (unsigned long long)arrives(p.objective, methods[m], start, expected));
    problem_free(&p);
}

/* The agents say that the step is too much, and it is shortened. */
static void a_step_out_of_range_is_shortened(void **state)
{
    (void)state;
    fplt_objective *objective = steep_objective();
    double expected = log(301);
    for (int m = 0; m < METHODS; m++)
        arrives(objective, methods[m], NULL, &expected);
    fplt_objective_destroy(objective);
}

/* A triangle of n(n + 1)/2 numbers travels as whole vectors and what is left as scalars. */
static void what_travels_is_counted(void **state)
{
    (void)state;
    for (size_t n = 5; n <= 6; n++) {
        problem p = problem_logistic(AGENTS, n, 30, 0.1, 5);
        const uint64_t half = n * (n + 1) / 2, filled = (n / 2 + 1) * n;
        const uint64_t gradients = 2 * n, models = (n + half + 2 + n - 1) / n * n;
        const uint64_t numbers[METHODS] = {n + 1, n + half + 1, n + 1 + filled, gradients,
                                           2 + models};
        for (int m = 0; m < METHODS; m++) {
            trial t = {.algorithm = methods[m]};
            trial_start(&t, &p);
            for (int k = 0; k < 3; k++)
                trial_round(&t);
            const fplt_counters *counters = fplt_engine_counters(t.engine);
            assert_int_equal(counters->bytes_up, 8 * 3 * AGENTS * numbers[m]);
            size_t number = strstr(methods[m], "partial") != NULL; /* that of the point */
            assert_int_equal(counters->bytes_down, 8 * 3 * AGENTS * (n + number));
            assert_int_equal(counters->exchanges, 3 * AGENTS);
            double each = strstr(methods[m], "lbfgs") ? 1 : 1 + ((double)n + 1) / 4;
            assert_true(counters->gradients == 3 * AGENTS * each);
            trial_end(&t);
        }
        problem_free(&p);
    }
}

static void too_many_coordinates_are_refused(void **state)
{
    (void)state;
    fplt_facts facts = {{0.1, 1}, AGENTS, AGENTS, 5, 2001, 0};
    for (int m = 0; m < METHODS; m++) {
        const fplt_algorithm *a = fplt_algorithm_find(methods[m]);
        double parameter[FPLT_MAX_PARAMETERS];
        fplt_error error;
        fplt_algorithm_defaults(a, parameter);
        fplt_status status = fplt__algorithm_resolve(a, &facts, parameter, &error);
        int square = !strstr(methods[m], "lbfgs");
        assert_int_equal(status, square ? FPLT_UNSUPPORTED : FPLT_OK);
        if (square)
            assert_contains(error.text, "the model has n = 2001 and at most 2000");
    }
}

static unsigned long asked;

static int counted(void *context, uint32_t agent, const double *x, double *value, double *gradient)
{
    double scratch[8192];
    __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
    return fplt_objective_value(context, agent, x, value, scratch) ||
           fplt_objective_gradient(context, agent, x, gradient, scratch);
}

static void known(void *context, uint32_t agent, double *lowest, double *highest)
{
    fplt_curvature curvature;
    assert_int_equal(
        fplt_objective_curvature(context, agent, FPLT_CURVATURE_CLOSE, &curvature, NULL), FPLT_OK);
    *lowest = curvature.lowest;
    *highest = curvature.highest;
}

/* A round of fed-lbfgs after a measurement at its point asks no agent again; the bits are those of a run
 * without measurements, and what is counted as well. */
static void measured_points_are_not_asked_again(void **state)
{
    (void)state;
    enum { ROUNDS = 15 };
    problem p = problem_logistic(AGENTS, N, 30, 0.1, 5);
    fplt_objective *objective;
    fplt_error error;
    fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                          .dimension = N,
                                          .agents = AGENTS,
                                          .context = p.objective,
                                          .value_gradient = counted,
                                          .curvature = known};
    assert_true(fplt_objective_scratch(p.objective) <= 8192);
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    double model[2][N];
    fplt_counters counters[2];
    for (int measured = 0; measured < 2; measured++) {
        fplt_run_settings settings = fplt_run_defaults();
        settings.algorithm = fplt_algorithm_find("fed-lbfgs");
        settings.at_model = 1;
        fplt_engine *engine;
        assert_ok(fplt_engine_create(objective, &settings, &engine, &error), error);
        fplt_measure measure;
        asked = 0;
        for (int k = 0; k < ROUNDS; k++) {
            assert_ok(fplt_engine_round(engine, &error), error);
            for (int i = 0; i < 2 * measured; i++)
                assert_ok(fplt_engine_measure(engine, &measure, &error), error);
        }
        /* the first step is measured only when it was accepted */
        assert_in_range(asked, AGENTS * ROUNDS, AGENTS * (ROUNDS + 2 * measured));
        assert_int_equal(fplt_engine_model(engine, model[measured]), FPLT_OK);
        counters[measured] = *fplt_engine_counters(engine);
        fplt_engine_destroy(engine);
    }
    assert_memory_equal(model[0], model[1], sizeof *model);
    assert_memory_equal(&counters[0], &counters[1], sizeof *counters);
    fplt_objective_destroy(objective);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fed_newton_is_newtons_iteration),
        cmocka_unit_test(fed_lbfgs_is_bfgs_of_the_last_pairs),
        cmocka_unit_test(measured_points_are_not_asked_again),
        cmocka_unit_test(fednl_learns_the_largest_part),
        cmocka_unit_test(all_arrive_on_every_smooth_cost),
        cmocka_unit_test(a_far_start_does_not_matter),
        cmocka_unit_test(a_step_out_of_range_is_shortened),
        cmocka_unit_test(what_travels_is_counted),
        cmocka_unit_test(too_many_coordinates_are_refused),
    };
    return cmocka_run_group_tests_name("algorithm descent", tests, NULL, NULL);
}
