/* A small federated problem of unlike agents, its costs written out a second time in plain loops, and
 * engines on it. */
#ifndef FPLT_TESTS_ALGORITHM_PROBLEM_H
#define FPLT_TESTS_ALGORITHM_PROBLEM_H

#include "testing.h"

#include "fedplt/data.h"
#include "fedplt/engine.h"
#include "fedplt/generate.h"
#include "fedplt/objective.h"
#include "fedplt/objective_callbacks.h"
#include "fedplt/participation.h"
#include "objective/objective_access.h"

enum { MAX_AGENTS = 24, MAX_COORDINATES = 12 };

typedef double row[MAX_COORDINATES];

typedef struct problem {
    fplt_dataset *data;
    fplt_objective *objective;
    uint32_t agents;
    size_t n;
    double weight; /* of the ridge */
} problem;

static inline problem problem_logistic(uint32_t agents, size_t n, size_t rows, double weight,
                                       uint64_t seed)
{
    fplt_error error;
    problem p = {.agents = agents, .n = n, .weight = weight};
    fplt_generate_settings generate = fplt_generate_defaults();
    generate.agents = agents;
    generate.features = n;
    generate.rows = rows;
    generate.seed = seed;
    assert_ok(fplt_dataset_generate(&generate, &p.data, &error), error);
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.weight = weight;
    assert_ok(fplt_objective_create(&cost, p.data, &p.objective, &error), error);
    return p;
}

/* f_i = x'H_i x/2 - b_i'x + constant with eigenvalues between 0.2 and 4, unlike minimisers. */
static inline problem problem_quadratic(uint32_t agents, size_t n, uint64_t seed)
{
    fplt_error error;
    problem p = {.agents = agents, .n = n};
    fplt_generate_settings generate = fplt_generate_defaults();
    generate.name = "quadratic";
    generate.task = FPLT_TASK_REGRESSION;
    generate.agents = agents;
    generate.features = n;
    generate.rows = 3 * n;
    generate.lowest = 0.2;
    generate.highest = 4;
    generate.seed = seed;
    assert_ok(fplt_dataset_generate(&generate, &p.data, &error), error);
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.loss = "least-squares";
    cost.regulariser = "none";
    cost.weight = 0;
    assert_ok(fplt_objective_create(&cost, p.data, &p.objective, &error), error);
    return p;
}

static inline void problem_free(problem *p)
{
    fplt_objective_destroy(p->objective);
    fplt_dataset_destroy(p->data);
}

/* The gradient of the logistic f_i, independently of the library's kernels. */
static inline void logistic_gradient(const problem *p, uint32_t agent, const double *x, double *g)
{
    fplt_rows rows = fplt_dataset_shard(p->data, agent);
    for (size_t j = 0; j < p->n; j++)
        g[j] = p->weight * x[j];
    for (size_t r = 0; r < rows.count; r++) {
        const double *a = rows.dense + r * p->n;
        double margin = 0;
        for (size_t j = 0; j < p->n; j++)
            margin += rows.label[r] * a[j] * x[j];
        for (size_t j = 0; j < p->n; j++)
            g[j] -= rows.label[r] * a[j] / (1 + exp(margin)) / (double)rows.count;
    }
}

static inline void library_gradient(const problem *p, uint32_t agent, const double *x, double *g)
{
    double *scratch = calloc(fplt_objective_scratch(p->objective) + 1, sizeof *scratch);
    assert_int_equal(fplt_objective_gradient(p->objective, agent, x, g, scratch), FPLT_OK);
    free(scratch);
}

static inline void library_hessian(const problem *p, uint32_t agent, const double *x, row *h)
{
    double *scratch = calloc(fplt_objective_scratch(p->objective) + 1, sizeof *scratch);
    double *flat = calloc(p->n * p->n, sizeof *flat);
    assert_int_equal(fplt__objective_hessian(p->objective, agent, x, flat, scratch), FPLT_OK);
    for (size_t i = 0; i < p->n; i++)
        memcpy(h[i], flat + i * p->n, p->n * sizeof *flat);
    free(flat);
    free(scratch);
}

/* Solves A x = b by Gaussian elimination with pivoting; destroys A, b becomes x. */
static inline void solve(row *a, double *b, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
        for (size_t j = 0; j < n; j++) {
            double held = a[k][j];
            a[k][j] = a[pivot][j];
            a[pivot][j] = held;
        }
        double held = b[k];
        b[k] = b[pivot];
        b[pivot] = held;
        for (size_t i = 0; i < n; i++) {
            double factor = i == k ? 0 : a[i][k] / a[k][k];
            for (size_t j = k; j < n; j++)
                a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (size_t k = 0; k < n; k++)
        b[k] /= a[k][k];
}

/* The minimiser of sum f_i by Newton's method. */
static inline void minimiser(const problem *p, double *x)
{
    memset(x, 0, p->n * sizeof *x);
    for (int iteration = 0; iteration < 30; iteration++) {
        row total[1] = {{0}}, matrix[MAX_COORDINATES] = {{0}};
        for (uint32_t i = 0; i < p->agents; i++) {
            row g, h[MAX_COORDINATES];
            library_gradient(p, i, x, g);
            library_hessian(p, i, x, h);
            for (size_t j = 0; j < p->n; j++) {
                total[0][j] += g[j];
                for (size_t k = 0; k < p->n; k++)
                    matrix[j][k] += h[j][k];
            }
        }
        solve(matrix, total[0], p->n);
        for (size_t j = 0; j < p->n; j++)
            x[j] -= total[0][j];
    }
}

/* f_i = exp(x) - (300 + i) x with three agents: exp of the first Newton step, some hundreds, is no number. The minimiser of
 * the sum is log 301. */
static inline int steep_value(void *context, uint32_t agent, const double *x, double *value)
{
    (void)context;
    *value = exp(x[0]) - (300 + agent) * x[0];
    return 0;
}

static inline int steep_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    (void)context;
    gradient[0] = exp(x[0]) - (300 + agent);
    return 0;
}

static inline int steep_product(void *context, uint32_t agent, const double *x, const double *v,
                                double *out)
{
    (void)context;
    (void)agent;
    out[0] = exp(x[0]) * v[0];
    return 0;
}

static inline void steep_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context;
    (void)agent;
    *lowest = 1e-3;
    *highest = 1; /* as at the start: a first step of 300 */
}

static inline fplt_objective *steep_objective(void)
{
    fplt_objective_callbacks steep = {.size = sizeof steep,
                                      .dimension = 1,
                                      .agents = 3,
                                      .value = steep_value,
                                      .gradient = steep_gradient,
                                      .hessian_times = steep_product,
                                      .curvature = steep_curvature};
    fplt_objective *objective;
    fplt_error error;
    assert_ok(fplt_objective_create_callback(&steep, &objective, &error), error);
    return objective;
}

/* One run: what differs from the defaults. */
typedef struct trial {
    const char *algorithm, *solver; /* solver NULL: gradient */
    uint32_t epochs;                /* 0: 5 */
    double step;
    uint32_t count; /* active a round, drawn; 0: all */
    unsigned threads;
    uint64_t rounds;
    double tolerance;
    const char *names[4]; /* parameters that are given, ... */
    double values[4];     /* ... and their values */
    fplt_engine *engine;
    fplt_participation *participation;
} trial;

enum { SEED = 11 };

static inline fplt_status trial_try(trial *t, const problem *p, fplt_error *error)
{
    fplt_run_settings settings = fplt_run_defaults();
    double parameter[FPLT_MAX_PARAMETERS];
    settings.algorithm = fplt_algorithm_find(t->algorithm);
    assert_non_null(settings.algorithm);
    fplt_algorithm_defaults(settings.algorithm, parameter);
    for (int i = 0; i < 4 && t->names[i]; i++) {
        int index = fplt_algorithm_parameter(settings.algorithm, t->names[i]);
        assert_true(index >= 0);
        parameter[index] = t->values[i];
    }
    settings.parameter = parameter;
    if (t->solver)
        settings.training.solver = fplt_solver_find(t->solver);
    settings.training.epochs = t->epochs ? t->epochs : 5;
    settings.training.step = t->step;
    settings.threads = t->threads ? t->threads : 1;
    settings.seed = SEED;
    if (t->rounds)
        settings.rounds = t->rounds;
    settings.tolerance = t->tolerance;
    if (t->count) {
        fplt_participation_settings some = {.rule = "fixed", .count = t->count};
        fplt_status status = fplt_participation_create(&some, p->agents, &t->participation, error);
        if (status)
            return status;
        settings.participation = t->participation;
    }
    return fplt_engine_create(p->objective, &settings, &t->engine, error);
}

static inline void trial_start(trial *t, const problem *p)
{
    fplt_error error;
    assert_ok(trial_try(t, p, &error), error);
}

static inline void trial_end(trial *t)
{
    fplt_engine_destroy(t->engine);
    fplt_participation_destroy(t->participation);
    t->engine = NULL;
    t->participation = NULL;
}

static inline void trial_round(trial *t)
{
    fplt_error error;
    assert_ok(fplt_engine_round(t->engine, &error), error);
}

static inline double largest_difference(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t j = 0; j < n; j++)
        most = fmax(most, fabs(a[j] - b[j]));
    return most;
}

static inline double largest(const double *a, size_t n)
{
    double most = 0;
    for (size_t j = 0; j < n; j++)
        most = fmax(most, fabs(a[j]));
    return most;
}

#endif
