/* Quadratic plus h: both inner solvers against every sign pattern, and by the optimality condition for each h; then the
 * proximal Newton and quasi-Newton methods by the optimality condition of the whole problem, with gradients in plain
 * loops. */
#include "problem.h"

#include "algorithm/composite.h"
#include "fedplt/random.h"
#include "prox/prox_access.h"

enum { AGENTS = 7, N = 8 };

typedef struct dense_model {
    size_t n;
    double matrix[N * N], x[N], gradient[N];
} dense_model;

static void multiply(const void *context, const double *v, double *out)
{
    const dense_model *m = context;
    for (size_t i = 0; i < m->n; i++) {
        out[i] = 0;
        for (size_t j = 0; j < m->n; j++)
            out[i] += m->matrix[i * m->n + j] * v[j];
    }
}

/* B = A'A + ridge with unlike columns, so that curvatures differ by orders of magnitude. */
static dense_model random_model(size_t n, uint64_t seed)
{
    dense_model m = {.n = n};
    fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, 0, 0, 0);
    double a[2 * N][N];
    for (size_t r = 0; r < 2 * n; r++)
        for (size_t j = 0; j < n; j++)
            a[r][j] = fplt_stream_normal(&stream) * pow(10, (double)j / n - 0.5);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            m.matrix[i * n + j] = i == j ? 1e-3 : 0;
            for (size_t r = 0; r < 2 * n; r++)
                m.matrix[i * n + j] += a[r][i] * a[r][j];
        }
        m.x[i] = 0.4 * fplt_stream_normal(&stream);
        m.gradient[i] = 2 * fplt_stream_normal(&stream);
    }
    return m;
}

static fplt_prox *make_prox(const char *name, size_t n, size_t penalised, double weight)
{
    fplt_error error;
    fplt_prox *prox;
    fplt_prox_settings settings = fplt_prox_defaults();
    settings.name = name;
    settings.weight = weight;
    settings.weight2 = 0.3;
    settings.low = -0.2;
    settings.high = 0.1;
    settings.radius = 0.5;
    settings.group = 3;
    assert_ok(fplt_prox_create(&settings, n, penalised, &prox, &error), error);
    return prox;
}

static double model_value(const dense_model *m, const fplt_prox *prox, const double *z)
{
    double way[N], bent[N], value;
    for (size_t j = 0; j < m->n; j++)
        way[j] = z[j] - m->x[j];
    multiply(m, way, bent);
    assert_int_equal(fplt_prox_value(prox, z, &value), FPLT_OK);
    for (size_t j = 0; j < m->n; j++)
        value += m->gradient[j] * way[j] + way[j] * bent[j] / 2;
    return value;
}

/* The lasso's minimiser: of all 3^n sign patterns the one whose reduced solution has these signs and the least value. */
static void by_enumeration(const dense_model *m, const fplt_prox *prox, double weight, double *best)
{
    size_t n = m->n, patterns = 1;
    double least = HUGE_VAL;
    for (size_t j = 0; j < n; j++)
        patterns *= 3;
    for (size_t pattern = 0; pattern < patterns; pattern++) {
        row a[MAX_COORDINATES] = {{0}}, b = {0}, z = {0};
        int sign[N], legal = 1;
        size_t rest = pattern;
        for (size_t j = 0; j < n; j++, rest /= 3)
            sign[j] = (int)(rest % 3) - 1;
        for (size_t i = 0; i < n; i++) {
            a[i][i] = 1;
            if (!sign[i])
                continue;
            b[i] = -m->gradient[i] - weight * sign[i];
            for (size_t j = 0; j < n; j++) {
                b[i] += m->matrix[i * n + j] * m->x[j];
                a[i][j] = sign[j] ? m->matrix[i * n + j] : 0;
            }
        }
        solve(a, b, n);
        for (size_t j = 0; j < n; j++) {
            z[j] = sign[j] ? b[j] : 0;
            legal &= z[j] * sign[j] >= 0;
        }
        double value = legal ? model_value(m, prox, z) : HUGE_VAL;
        if (value < least) {
            least = value;
            memcpy(best, z, n * sizeof *best);
        }
    }
}

static void minimise(const dense_model *m, const fplt_prox *prox, int dense, double *z)
{
    double factor[N * N], work[FPLT__COMPOSITE_WORK * N];
    fplt__quadratic model = {m->n, m->x, m->gradient, prox, multiply, m};
    if (dense)
        fplt__composite_minimise_dense(&model, m->matrix, factor, z, work);
    else
        assert_int_equal(fplt__composite_minimise(&model, z, work), FPLT_OK);
}

static void both_solvers_find_the_best_sign_pattern(void **state)
{
    (void)state;
    enum { FEW = 5 };
    for (uint64_t seed = 0; seed < 20; seed++) {
        double weight = seed % 2 ? 0.3 : 1.5, expected[N], z[N];
        dense_model m = random_model(FEW, seed);
        fplt_prox *prox = make_prox("l1", FEW, FEW, weight);
        by_enumeration(&m, prox, weight, expected);
        for (int dense = 0; dense < 2; dense++) {
            minimise(&m, prox, dense, z);
            if (!(largest_difference(z, expected, FEW) <= 1e-9 * fmax(largest(expected, FEW), 1)))
                fail_msg("seed %d, %s: %g away", (int)seed, dense ? "dense" : "any",
                         largest_difference(z, expected, FEW));
            for (int j = 0; dense && j < FEW; j++)
                assert_int_equal(z[j] == 0, expected[j] == 0);
        }
        fplt_prox_destroy(prox);
    }
}

static const char *const every_h[] = {"l1",          "l2-squared", "elastic-net", "box",
                                      "nonnegative", "ball",       "group-lasso", "simplex"};
enum { KINDS = sizeof every_h / sizeof *every_h };

/* z = prox_t(z - t (g + B(z - x))) */
static void the_optimality_condition_holds_for_every_h(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++)
        for (int kind = 0; kind < KINDS; kind++) {
            dense_model m = random_model(N, 100 + seed);
            fplt_prox *prox = make_prox(every_h[kind], N, N - 1, 0.5);
            int separable = kind < 5;
            for (int dense = 0; dense <= separable; dense++) {
                double z[N], way[N], step[N], t = 1 / (20. * N), away;
                minimise(&m, prox, dense, z);
                for (int j = 0; j < N; j++)
                    way[j] = z[j] - m.x[j];
                multiply(&m, way, step);
                for (int j = 0; j < N; j++)
                    step[j] = z[j] - t * (m.gradient[j] + step[j]);
                assert_int_equal(fplt_prox_apply(prox, t, step, step), FPLT_OK);
                away = largest_difference(z, step, N) / t;
                if (!(away <= (dense ? 1e-10 : 1e-6)))
                    fail_msg("%s, seed %d, %s: residual %g", every_h[kind], (int)seed,
                             dense ? "dense" : "any", away);
            }
            fplt_prox_destroy(prox);
        }
}

/* x = prox_t(x - t sum of gradients), the gradients in plain loops; the rounds it took. */
static uint64_t check_run(const problem *p, const char *name, const fplt_prox *prox, uint32_t count)
{
    fplt_error error;
    fplt_engine *engine;
    fplt_result result;
    fplt_participation *participation = NULL;
    fplt_participation_settings some = {.rule = "fixed", .count = count};
    fplt_run_settings run = fplt_run_defaults();
    run.algorithm = fplt_algorithm_find(name);
    run.prox = prox;
    run.tolerance = 1e-20;
    run.relative = 1;
    run.at_model = 1;
    run.rounds = 3000;
    run.evaluate_every = 1;
    if (count)
        assert_ok(fplt_participation_create(&some, p->agents, &participation, &error), error);
    run.participation = participation;
    assert_ok(fplt_engine_create(p->objective, &run, &engine, &error), error);
    assert_ok(fplt_engine_run(engine, NULL, NULL, &result, &error), error);
    row x, total = {0}, moved;
    assert_int_equal(fplt_engine_model(engine, x), FPLT_OK);
    for (uint32_t i = 0; i < p->agents; i++) {
        row own;
        logistic_gradient(p, i, x, own);
        for (size_t j = 0; j < p->n; j++)
            total[j] += own[j];
    }
    double t = 0.01;
    for (size_t j = 0; j < p->n; j++)
        moved[j] = x[j] - t * total[j];
    assert_int_equal(fplt_prox_apply(prox, t, moved, moved), FPLT_OK);
    double away = largest_difference(x, moved, p->n) / t;
    if (result.outcome != FPLT_CONVERGED || !(away <= 1e-7))
        fail_msg("%s, %s, %u active: residual %g, %s", name, fplt__prox_name(prox), count, away,
                 result.sentence);
    fplt_engine_destroy(engine);
    fplt_participation_destroy(participation);
    return result.counters.rounds;
}

static void the_methods_arrive_with_every_h(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t count;
        unsigned most;
    } methods[] = {{"fed-newton", 0, 12},
                   {"fed-lbfgs", 0, 150},
                   {"fed-newton-partial", 0, 12},
                   {"fed-newton-partial", 3, 50},
                   {"fed-lbfgs-partial", 3, 900}};
    problem p = problem_logistic(AGENTS, N, 30, 0.01, 5);
    for (int kind = 0; kind < KINDS; kind++) {
        fplt_prox *prox = make_prox(every_h[kind], N, N, 0.2);
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            uint64_t rounds = check_run(&p, methods[m].name, prox, methods[m].count);
            print_message("# %s, %s, %u active: %llu rounds\n", every_h[kind], methods[m].name,
                          methods[m].count, (unsigned long long)rounds);
            assert_true(rounds <= methods[m].most);
        }
        fplt_prox_destroy(prox);
    }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_solvers_find_the_best_sign_pattern),
        cmocka_unit_test(the_optimality_condition_holds_for_every_h),
        cmocka_unit_test(the_methods_arrive_with_every_h),
    };
    return cmocka_run_group_tests_name("algorithm composite", tests, NULL, NULL);
}
