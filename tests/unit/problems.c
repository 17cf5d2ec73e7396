/* Problems that several tests use. */
#include "problems.h"
#include "base/settings.h"
#include "fedplt/generate.h"
#include "fedplt/log.h"
#include "fedplt/memory.h"
#include "fedplt/objective_callbacks.h"
#include "fedplt/participation.h"

unsigned long misreads_meant;

/* After the last case: its plan would otherwise be over before anybody looks. */
__attribute__((destructor)) static void no_setting_was_misread(void)
{
    unsigned long misread = fplt__settings_misread();
    if (misread == misreads_meant)
        return;
    printf("not ok - %lu settings were read by a name that no table has, %lu on purpose\n", misread,
           misreads_meant);
    fflush(stdout);
    _exit(1);
}

/* Tells which. */
static void show_mistake(fplt_log_level level, const char *sentence, void *context)
{
    (void)context;
    if (level == FPLT_LOG_ERROR)
        printf("# %s\n", sentence);
}

__attribute__((constructor)) static void listen_for_mistakes(void)
{
    fplt_log_set(show_mistake, NULL);
}

static int quadratic_value(void *context, uint32_t agent, const double *x, double *value)
{
    struct quadratics *q = context;
    *value = 0;
    for (size_t i = 0; i < q->n; i++) {
        double row = 0;
        for (size_t j = 0; j < q->n; j++)
            row += q->a[agent][i][j] * x[j];
        *value += x[i] * (row / 2 - q->b[agent][i]);
    }
    return 0;
}

static int quadratic_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    struct quadratics *q = context;
    for (size_t i = 0; i < q->n; i++) {
        gradient[i] = -q->b[agent][i];
        for (size_t j = 0; j < q->n; j++)
            gradient[i] += q->a[agent][i][j] * x[j];
    }
    return 0;
}

static int quadratic_hessian(void *context, uint32_t agent, const double *x, const double *v,
                             double *product)
{
    struct quadratics *q = context;
    (void)x;
    for (size_t i = 0; i < q->n; i++) {
        product[i] = 0;
        for (size_t j = 0; j < q->n; j++)
            product[i] += q->a[agent][i][j] * v[j];
    }
    return 0;
}

static void quadratic_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    struct quadratics *q = context;
    (void)agent;
    *lowest = q->lowest;
    *highest = q->highest;
}

void quadratics_make(struct quadratics *q, uint32_t agents, size_t n, double lowest, double highest,
                     uint64_t seed)
{
    q->agents = agents;
    q->n = n;
    q->lowest = lowest;
    q->highest = highest;
    for (uint32_t agent = 0; agent < agents; agent++) {
        fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, 0, agent, 0);
        double u[QUADRATIC_MAX], size = 0, diagonal[QUADRATIC_MAX];
        for (size_t j = 0; j < n; j++) {
            u[j] = fplt_stream_normal(&stream);
            size += u[j] * u[j];
            diagonal[j] = lowest + (highest - lowest) * fplt_stream_uniform(&stream);
            q->b[agent][j] = 3 * fplt_stream_normal(&stream);
        }
        diagonal[0] = lowest;
        diagonal[n - 1] = highest;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double entry = 0;
                for (size_t k = 0; k < n; k++)
                    entry += ((i == k) - 2 * u[i] * u[k] / size) * diagonal[k] *
                             ((j == k) - 2 * u[j] * u[k] / size);
                q->a[agent][i][j] = entry;
            }
    }
}

fplt_objective *quadratics_objective(struct quadratics *q)
{
    fplt_objective_callbacks callbacks = {
        .size = sizeof(fplt_objective_callbacks),
        .dimension = q->n,
        .agents = q->agents,
        .context = q,
        .value = quadratic_value,
        .gradient = quadratic_gradient,
        .hessian_times = quadratic_hessian,
        .curvature = quadratic_curvature,
    };
    fplt_error error;
    fplt_objective *objective;
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    return objective;
}

void solve_linear(size_t n, double *matrix, double *vector)
{
    for (size_t column = 0; column < n; column++) {
        size_t pivot = column;
        for (size_t row = column + 1; row < n; row++)
            if (fabs(matrix[row * n + column]) > fabs(matrix[pivot * n + column]))
                pivot = row;
        for (size_t j = 0; j < n; j++) {
            double held = matrix[column * n + j];
            matrix[column * n + j] = matrix[pivot * n + j];
            matrix[pivot * n + j] = held;
        }
        double held = vector[column];
        vector[column] = vector[pivot];
        vector[pivot] = held;
        for (size_t row = column + 1; row < n; row++) {
            double factor = matrix[row * n + column] / matrix[column * n + column];
            for (size_t j = column; j < n; j++)
                matrix[row * n + j] -= factor * matrix[column * n + j];
            vector[row] -= factor * vector[column];
        }
    }
    for (size_t row = n; row-- > 0;) {
        for (size_t j = row + 1; j < n; j++)
            vector[row] -= matrix[row * n + j] * vector[j];
        vector[row] /= matrix[row * n + row];
    }
}

void quadratics_minimiser(const struct quadratics *q, double *x)
{
    double matrix[QUADRATIC_MAX * QUADRATIC_MAX] = {0};
    memset(x, 0, q->n * sizeof *x);
    for (uint32_t agent = 0; agent < q->agents; agent++)
        for (size_t i = 0; i < q->n; i++) {
            x[i] += q->b[agent][i];
            for (size_t j = 0; j < q->n; j++)
                matrix[i * q->n + j] += q->a[agent][i][j];
        }
    solve_linear(q->n, matrix, x);
}

struct logistic_problem logistic_make(uint32_t agents, size_t n, size_t rows, double eps,
                                      uint64_t seed)
{
    fplt_error error;
    struct logistic_problem problem;
    fplt_generate_settings data = fplt_generate_defaults();
    data.agents = agents;
    data.features = n;
    data.rows = rows;
    data.seed = seed;
    assert_ok(fplt_dataset_generate(&data, &problem.dataset, &error), error);
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.weight = eps;
    assert_ok(fplt_objective_create(&cost, problem.dataset, &problem.objective, &error), error);
    return problem;
}

void logistic_free(struct logistic_problem *problem)
{
    fplt_objective_destroy(problem->objective);
    fplt_dataset_destroy(problem->dataset);
}

fplt_engine *engine_make(const fplt_objective *objective, const fplt_run_settings *settings)
{
    fplt_error error;
    fplt_engine *engine;
    assert_ok(fplt_engine_create(objective, settings, &engine, &error), error);
    return engine;
}

fplt_participation *half_of(uint32_t agents)
{
    fplt_error error;
    fplt_participation *half;
    fplt_participation_settings settings = {.rule = "fixed", .count = (agents + 1) / 2};
    assert_ok(fplt_participation_create(&settings, agents, &half, &error), error);
    return half;
}

static void *counting_allocate(size_t bytes, void *context)
{
    struct counting *counting = context;
    if (__atomic_fetch_add(&counting->made, 1, __ATOMIC_SEQ_CST) == counting->fail_at)
        return NULL;
    __atomic_fetch_add(&counting->live, 1, __ATOMIC_SEQ_CST);
    return malloc(bytes);
}

static void counting_release(void *memory, void *context)
{
    struct counting *counting = context;
    __atomic_fetch_sub(&counting->live, 1, __ATOMIC_SEQ_CST);
    free(memory);
}

void counting_install(struct counting *counting)
{
    fplt_allocator allocator = {counting_allocate, counting_release, counting};
    fplt_allocator_set(&allocator);
}
