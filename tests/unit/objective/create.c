/* Refusals with their sentences, failing allocations, the lists, and objectives by callbacks. */
#include "objective/objective_access.h"
#include "objective/problem.h"

#include "fedplt/memory.h"
#include "objective/objective.h"

static void refused(const fplt_objective_settings *settings, const fplt_dataset *dataset,
                    fplt_status expected, const char *part)
{
    fplt_objective *o;
    fplt_error error;
    assert_int_equal(fplt_objective_create(settings, dataset, &o, &error), expected);
    assert_null(o);
    assert_contains(error.text, part);
    assert_int_equal(fplt_objective_create(settings, dataset, &o, NULL), expected);
}

static void refusals(void **state)
{
    (void)state;
    problem two = {.task = FPLT_TASK_BINARY, .features = 3, .rows = 10, .agents = 2};
    problem many = {
        .task = FPLT_TASK_CLASSES, .features = 3, .rows = 10, .agents = 2, .classes = 3};
    problem line = {.task = FPLT_TASK_REGRESSION, .features = 3, .rows = 10, .agents = 2};
    fplt_dataset *binary = problem_dataset(&two, 1), *classes = problem_dataset(&many, 1);
    fplt_dataset *regression = problem_dataset(&line, 1);
    const fplt_objective_settings defaults = fplt_objective_defaults();
    fplt_objective_settings s = defaults;
    s.loss = "hinge";
    refused(&s, binary, FPLT_BAD_VALUE, "squared-hinge");
    s.loss = NULL;
    refused(&s, binary, FPLT_BAD_VALUE, "loss");
    s = defaults;
    s.regulariser = "lasso";
    refused(&s, binary, FPLT_BAD_VALUE, "nonconvex");
    const double bad[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        s = defaults;
        s.weight = bad[i];
        refused(&s, binary, FPLT_BAD_VALUE, "weight");
        s = defaults;
        s.clip = bad[i];
        refused(&s, binary, FPLT_BAD_VALUE, "clip");
        s = defaults;
        s.loss = "huber";
        s.huber_delta = bad[i];
        refused(&s, regression, FPLT_BAD_VALUE, "huber_delta");
    }
    s = defaults;
    s.kernel = "abacus";
    refused(&s, binary, FPLT_BAD_VALUE, "abacus");
    refused(&defaults, regression, FPLT_UNSUPPORTED, "regression");
    refused(&defaults, classes, FPLT_UNSUPPORTED, "three classes");
    s.loss = "softmax";
    s.kernel = NULL;
    refused(&s, regression, FPLT_UNSUPPORTED, "softmax");
    s.loss = "least-squares";
    refused(&s, classes, FPLT_UNSUPPORTED, "least-squares");
    fplt_dataset_destroy(binary);
    fplt_dataset_destroy(classes);
    fplt_dataset_destroy(regression);
    fplt_objective_destroy(NULL);
}

/* An allocator that fails once, at a chosen place, and counts what is alive. */
struct failing {
    long left, alive;
};

static void *allocate(size_t bytes, void *context)
{
    struct failing *failing = context;
    if (failing->left-- == 0)
        return NULL;
    void *memory = malloc(bytes);
    failing->alive += memory != NULL;
    return memory;
}

static void release(void *memory, void *context)
{
    struct failing *failing = context;
    failing->alive -= memory != NULL;
    free(memory);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        struct failing failing = {-1, 0};
        fplt_allocator allocator = {allocate, release, &failing};
        fplt_allocator_set(&allocator);
        problem p = {
            .task = FPLT_TASK_BINARY, .features = 90, .rows = 50, .sparse = sparse, .agents = 3};
        fplt_dataset *dataset = problem_dataset(&p, 4);
        long before = failing.alive, failures = 0;
        fplt_objective_settings settings = fplt_objective_defaults();
        fplt_objective *o = NULL;
        fplt_error error;
        for (long n = 0;; n++, failures++) {
            failing.left = n;
            fplt_status status = fplt_objective_create(&settings, dataset, &o, &error);
            if (!status)
                break;
            assert_int_equal(status, FPLT_NO_MEMORY);
            assert_contains(error.text, "memory");
            assert_int_equal(failing.alive, before);
        }
        assert_true(failures >= 5);
        long with = failing.alive;
        for (long n = 0;; n++, failures++) {
            fplt_curvature curvature;
            failing.left = n;
            fplt_status status = fplt_objective_curvature(o, 0, 0, &curvature, &error);
            assert_int_equal(failing.alive, with);
            if (!status)
                break;
            assert_int_equal(status, FPLT_NO_MEMORY);
        }
        /* calls inside rounds allocate nothing */
        double *x = random_vector(90, 1, 1), *g = new_vector(90), *scratch = new_scratch(o), value;
        uint32_t rows[3] = {0, 5, 5};
        failing.left = 0;
        assert_int_equal(fplt_objective_value_gradient(o, 0, x, &value, g, scratch), FPLT_OK);
        assert_int_equal(fplt__objective_batch_gradient(o, 0, x, rows, 3, g, scratch), FPLT_OK);
        assert_int_equal(fplt__objective_hessian_times(o, 0, x, x, g, scratch), FPLT_OK);
        assert_int_equal(failing.left, 0);
        failing.left = -1;
        free(x);
        free(g);
        free(scratch);
        fplt_objective_destroy(o);
        fplt_dataset_destroy(dataset);
        assert_int_equal(failing.alive, 0);
        fplt_allocator_set(NULL);
    }
}

/* Where all margins are 0 the first class is right. */
static size_t negative_labels(const fplt_rows *rows)
{
    size_t count = 0;
    for (size_t r = 0; r < rows->count; r++)
        count += rows->label[r] < 0;
    return count;
}

static void same_numbers(const fplt_objective *a, const fplt_objective *b,
                         const fplt_dataset *dataset, int classifies)
{
    uint32_t agents = fplt_dataset_agents(dataset);
    size_t n = fplt_objective_dimension(a), size = n * n;
    double *scratch = new_scratch(a), *first = new_vector(size), *second = new_vector(size);
    for (uint32_t i = 0; i < agents; i++)
        for (int point = 0; point < 3; point++) {
            double *x = random_vector(n, 7 + (uint64_t)point, point), one, other;
            size_t hits = 0, others = 1;
            assert_int_equal(fplt_objective_value(a, i, x, &one, scratch), FPLT_OK);
            assert_int_equal(fplt_objective_value(b, i, x, &other, scratch), FPLT_OK);
            assert_int_equal(fplt_objective_gradient(a, i, x, first, scratch), FPLT_OK);
            assert_int_equal(fplt_objective_gradient(b, i, x, second, scratch), FPLT_OK);
            assert_memory_equal(&one, &other, sizeof one);
            assert_memory_equal(first, second, n * sizeof *first);
            assert_int_equal(fplt__objective_hessian(a, i, x, first, scratch), FPLT_OK);
            assert_int_equal(fplt__objective_hessian(b, i, x, second, scratch), FPLT_OK);
            assert_memory_equal(first, second, size * sizeof *first);
            if (classifies) {
                assert_int_equal(fplt__objective_hits(a, i, x, &hits, scratch), FPLT_OK);
                assert_int_equal(fplt__objective_hits(b, i, x, &others, scratch), FPLT_OK);
                assert_int_equal(hits, others);
                fplt_rows rows = fplt_dataset_shard(dataset, i);
                if (!point)
                    assert_int_equal(hits, negative_labels(&rows));
            }
            free(x);
        }
    free(scratch);
    free(first);
    free(second);
}

/* Rows that are given away make the same objective as a copy of them: panels and rows, with and without room
 * for the intercept, agents of any number of rows. */
static void rows_may_be_taken_over(void **state)
{
    (void)state;
    static const size_t features[] = {1, 5, 23, 24, 25, 32, 41};
    static const char *const kernels[] = {NULL, "reference"};
    for (size_t k = 0; k < 2 * 2 * 2 * sizeof features / sizeof *features; k++) {
        int binary = k % 2 == 0;
        problem p = {.task = binary ? FPLT_TASK_BINARY : FPLT_TASK_REGRESSION,
                     .features = features[k / 8],
                     .rows = 64 + 5 * (k % 7),
                     .agents = 1 + (uint32_t)(k % 5)};
        fplt_objective_settings settings = fplt_objective_defaults();
        settings.loss = binary ? "logistic" : "least-squares";
        settings.intercept = k / 2 % 2 == 0;
        settings.kernel = kernels[k / 4 % 2];
        settings.clip = k % 3 ? 0 : 0.5;
        fplt_dataset *kept = problem_dataset(&p, 20 + k), *given = problem_dataset(&p, 20 + k);
        fplt_objective *copied, *taken;
        fplt_error error;
        assert_ok(fplt_objective_create(&settings, kept, &copied, &error), error);
        assert_ok(fplt__objective_create_of(&settings, given, &taken, &error), error);
        assert_non_null(fplt_dataset_all(kept).dense);
        assert_null(fplt_dataset_all(given).dense);
        same_numbers(copied, taken, kept, binary);
        fplt_objective_destroy(copied);
        fplt_objective_destroy(taken);
        fplt_dataset_destroy(kept);
        fplt_dataset_destroy(given);
    }
}

/* Where no objective comes of it the rows are there still, and as they were. */
static void rows_stay_after_a_failure(void **state)
{
    (void)state;
    struct failing failing = {-1, 0};
    fplt_allocator allocator = {allocate, release, &failing};
    fplt_allocator_set(&allocator);
    problem p = {.task = FPLT_TASK_BINARY, .features = 30, .rows = 50, .agents = 3};
    fplt_dataset *kept = problem_dataset(&p, 4), *given = problem_dataset(&p, 4);
    long before = failing.alive, failures = 0;
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_objective *o = NULL;
    fplt_error error;
    for (;; failures++) {
        failing.left = failures;
        if (!fplt__objective_create_of(&settings, given, &o, &error))
            break;
        assert_int_equal(failing.alive, before);
        assert_memory_equal(fplt_dataset_all(given).dense, fplt_dataset_all(kept).dense,
                            p.rows * p.features * sizeof(double));
    }
    assert_true(failures >= 5);
    fplt_objective_destroy(o);
    fplt_dataset_destroy(kept);
    fplt_dataset_destroy(given);
    assert_int_equal(failing.alive, 0);
    fplt_allocator_set(NULL);
}

static void lists(void **state)
{
    (void)state;
    size_t count = 0;
    const char *help, *name;
    for (; (name = fplt__loss_name(count, &help)); count++)
        assert_true(strlen(name) > 0 && strlen(help) > 0);
    assert_int_equal(count, 14);
    for (count = 0; (name = fplt__regulariser_name(count, &help)); count++)
        assert_true(strlen(name) > 0 && strlen(help) > 0);
    assert_int_equal(count, 3);
    assert_string_equal(fplt__loss_name(0, NULL), "logistic");
}

/* An empty batch leaves the regulariser's gradient. */
static void an_empty_batch(void **state)
{
    (void)state;
    problem p = {.task = FPLT_TASK_BINARY, .features = 4, .rows = 10, .agents = 1};
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_objective *o = problem_objective(&p, 5, &settings);
    double x[4] = {1, 2, 3, 4}, g[4], *scratch = new_scratch(o);
    assert_int_equal(fplt__objective_batch_gradient(o, 0, x, NULL, 0, g, scratch), FPLT_OK);
    for (int j = 0; j < 4; j++)
        assert_true(g[j] == 0.5 * x[j]);
    free(scratch);
    fplt_objective_destroy(o);
}

/* A row that is not there is noticed wherever it stands in a batch. */
static void a_batch_of_rows_that_are_not_there(void **state)
{
    (void)state;
    enum { ROWS = 10, BATCH = 37 };
    static const uint32_t beyond[] = {ROWS, ROWS + 1, INT32_MAX, UINT32_C(1) << 31, UINT32_MAX};
    problem p = {.task = FPLT_TASK_BINARY, .features = 4, .rows = ROWS, .agents = 1};
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_objective *o = problem_objective(&p, 5, &settings);
    double x[4] = {1, 2, 3, 4}, g[4], *scratch = new_scratch(o);
    uint32_t rows[BATCH];
    for (uint32_t r = 0; r < BATCH; r++)
        rows[r] = r % ROWS;
    assert_int_equal(fplt__objective_batch_gradient(o, 0, x, rows, BATCH, g, scratch), FPLT_OK);
    for (uint32_t r = 0; r < BATCH; r++) {
        for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
            rows[r] = beyond[k];
            assert_int_equal(fplt__objective_batch_gradient(o, 0, x, rows, BATCH, g, scratch),
                             FPLT_BAD_VALUE);
        }
        rows[r] = ROWS - 1;
        assert_int_equal(fplt__objective_batch_gradient(o, 0, x, rows, BATCH, g, scratch), FPLT_OK);
    }
    free(scratch);
    fplt_objective_destroy(o);
}

/* callbacks: f_i(x) = sum_j (i + 1) (x_j^4/4 + x_j x_0) */

struct user {
    int fails;
};

static int user_value(void *context, uint32_t agent, const double *x, double *value)
{
    *value = 0;
    for (int j = 0; j < 3; j++)
        *value += (agent + 1) * (pow(x[j], 4) / 4 + x[j] * x[0]);
    return ((struct user *)context)->fails;
}

static int user_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    for (int j = 0; j < 3; j++)
        gradient[j] = (agent + 1) * (pow(x[j], 3) + x[0]);
    gradient[0] += (agent + 1) * (x[0] + x[1] + x[2]);
    return ((struct user *)context)->fails;
}

static int user_times(void *context, uint32_t agent, const double *x, const double *v, double *out)
{
    for (int j = 0; j < 3; j++)
        out[j] = (agent + 1) * (3 * x[j] * x[j] * v[j] + v[0]);
    out[0] += (agent + 1) * (v[0] + v[1] + v[2]);
    return ((struct user *)context)->fails;
}

static int user_batch(void *context, uint32_t agent, const double *x, const uint32_t *rows,
                      size_t count, double *gradient)
{
    (void)rows;
    (void)count;
    return user_gradient(context, agent, x, gradient);
}

static size_t user_records(void *context, uint32_t agent)
{
    (void)context;
    return 10 + agent;
}

static void user_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    *lowest = 0;
    *highest = ((struct user *)context)->fails ? NAN : agent + 5;
}

static void callbacks(void **state)
{
    (void)state;
    struct user user = {0};
    fplt_objective_callbacks given = {.size = sizeof(fplt_objective_callbacks),
                                      .dimension = 3,
                                      .agents = 2,
                                      .context = &user,
                                      .value = user_value,
                                      .gradient = user_gradient,
                                      .curvature = user_curvature};
    fplt_objective *plain, *full;
    fplt_error error;
    assert_ok(fplt_objective_create_callback(&given, &plain, &error), error);
    given.hessian_times = user_times;
    given.batch_gradient = user_batch;
    given.records = user_records;
    assert_ok(fplt_objective_create_callback(&given, &full, &error), error);
    double x[3] = {0.3, -1.2, 2}, v[3] = {1, -0.5, 0.25}, g[3], exact[3], h[9], scratch[9], value;
    uint32_t row = 0;
    size_t found;
    assert_int_equal(fplt_objective_scratch(plain), 9);
    assert_int_equal(fplt_objective_dimension(plain), 3);
    assert_int_equal(fplt_objective_agents(plain), 2);
    assert_int_equal(fplt__objective_intercepts(plain), 0);
    assert_int_equal(fplt_objective_records(plain, 1), 1);
    assert_int_equal(fplt_objective_records(full, 1), 11);
    assert_false(fplt__objective_is_quadratic(plain));
    assert_non_null(fplt__objective_kernel(plain));
    assert_int_equal(fplt_objective_value_gradient(plain, 1, x, &value, g, scratch), FPLT_OK);
    user_value(&user, 1, x, exact);
    assert_true(value == exact[0]);
    user_gradient(&user, 1, x, exact);
    assert_memory_equal(g, exact, sizeof g);
    user_times(&user, 1, x, v, exact);
    assert_int_equal(fplt__objective_hessian_times(plain, 1, x, v, g, scratch), FPLT_OK);
    for (int j = 0; j < 3; j++)
        assert_near(g[j], exact[j], 1e-8 * norm_of(exact, 3));
    for (int which = 0; which < 2; which++) {
        assert_int_equal(fplt__objective_hessian(which ? full : plain, 1, x, h, scratch), FPLT_OK);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                assert_near(h[3 * i + j], 2 * ((i == j) * 3 * x[i] * x[i] + (i == 0) + (j == 0)),
                            1e-7);
    }
    double zero[3] = {0};
    assert_int_equal(fplt__objective_hessian_times(plain, 1, x, zero, g, scratch), FPLT_OK);
    assert_true(norm_of(g, 3) == 0);
    assert_true(fplt__objective_has_batches(full) && !fplt__objective_has_batches(plain));
    assert_int_equal(fplt__objective_batch_gradient(plain, 0, x, &row, 1, g, scratch),
                     FPLT_UNSUPPORTED);
    assert_int_equal(fplt__objective_batch_gradient(full, 0, x, &row, 1, g, scratch), FPLT_OK);
    assert_int_equal(fplt__objective_hits(full, 0, x, &found, scratch), FPLT_UNSUPPORTED);
    fplt_curvature curvature;
    assert_ok(fplt_objective_curvature(full, 1, 0, &curvature, &error), error);
    assert_true(curvature.lowest == 0 && curvature.highest == 6);

    user.fails = 1;
    assert_int_equal(fplt_objective_value(plain, 0, x, &value, scratch), FPLT_FAILED);
    assert_int_equal(fplt_objective_gradient(plain, 0, x, g, scratch), FPLT_FAILED);
    assert_int_equal(fplt__objective_hessian_times(plain, 0, x, v, g, scratch), FPLT_FAILED);
    assert_int_equal(fplt__objective_hessian(full, 0, x, h, scratch), FPLT_FAILED);
    assert_int_equal(fplt_objective_curvature(full, 1, 0, &curvature, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "agent 1");
    fplt_objective_destroy(plain);
    fplt_objective_destroy(full);
}

/* Both at once, counted; what is not given apart is taken from them. */

struct counted {
    struct user user;
    int both, apart;
};

static int both(void *context, uint32_t agent, const double *x, double *value, double *gradient)
{
    struct counted *counted = context;
    counted->both++;
    return user_value(&counted->user, agent, x, value) ||
           user_gradient(&counted->user, agent, x, gradient);
}

static int alone(void *context, uint32_t agent, const double *x, double *gradient)
{
    struct counted *counted = context;
    counted->apart++;
    return user_gradient(&counted->user, agent, x, gradient);
}

static int count_hits(void *context, uint32_t agent, const double *x, size_t *hits)
{
    *hits = agent + (x[0] > 0);
    return ((struct counted *)context)->user.fails;
}

static void callbacks_at_once(void **state)
{
    (void)state;
    struct counted counted = {{0}, 0, 0};
    fplt_objective_callbacks given = {.size = sizeof(fplt_objective_callbacks),
                                      .dimension = 3,
                                      .agents = 2,
                                      .context = &counted,
                                      .value_gradient = both,
                                      .hits = count_hits};
    fplt_objective *only, *mixed;
    fplt_error error;
    assert_ok(fplt_objective_create_callback(&given, &only, &error), error);
    given.gradient = alone;
    assert_ok(fplt_objective_create_callback(&given, &mixed, &error), error);
    double x[3] = {0.3, -1.2, 2}, g[3], exact[3], h[9], scratch[9], value, expected;
    user_value(&counted.user, 1, x, &expected);
    user_gradient(&counted.user, 1, x, exact);
    for (int which = 0; which < 2; which++) {
        const fplt_objective *o = which ? mixed : only;
        counted.both = counted.apart = 0;
        assert_int_equal(fplt_objective_value_gradient(o, 1, x, &value, g, scratch), FPLT_OK);
        assert_true(value == expected);
        assert_memory_equal(g, exact, sizeof g);
        assert_true(counted.both == 1 && counted.apart == 0);
        assert_int_equal(fplt_objective_value(o, 1, x, &value, scratch), FPLT_OK);
        assert_true(value == expected);
        assert_true(counted.both == 2 && counted.apart == 0);
        assert_int_equal(fplt_objective_gradient(o, 1, x, g, scratch), FPLT_OK);
        assert_memory_equal(g, exact, sizeof g);
        assert_true(counted.both == 3 - which && counted.apart == which);
        assert_int_equal(fplt__objective_hessian(o, 1, x, h, scratch), FPLT_OK);
        for (int i = 0; i < 9; i++)
            assert_near(h[i], 2 * ((i % 4 == 0) * 3 * x[i / 4] * x[i / 4] + (i < 3) + (i % 3 == 0)),
                        1e-7);
    }
    size_t hits;
    assert_int_equal(fplt__objective_hits(only, 1, x, &hits, scratch), FPLT_OK);
    assert_int_equal(hits, 2);
    /* no curvature is given: that at the origin, where the Hessian is c (e 1' + 1 e') with
     * eigenvalues c (1 +- sqrt 3) and 0 */
    fplt_curvature curvature;
    assert_ok(fplt_objective_curvature(only, 1, 0, &curvature, &error), error);
    assert_near(curvature.lowest, 2 * (1 - sqrt(3)), 1e-7);
    assert_near(curvature.highest, 1.01 * 2 * (1 + sqrt(3)), 1e-7);
    counted.user.fails = 1;
    assert_int_equal(fplt__objective_hits(only, 1, x, &hits, scratch), FPLT_FAILED);
    assert_int_equal(fplt_objective_value(only, 1, x, &value, scratch), FPLT_FAILED);
    assert_int_equal(fplt_objective_curvature(only, 1, 0, &curvature, &error), FPLT_FAILED);
    assert_contains(error.text, "agent 1");
    fplt_objective_destroy(only);
    fplt_objective_destroy(mixed);
}

static int flat_value(void *context, uint32_t agent, const double *x, double *value)
{
    (void)context;
    (void)agent;
    *value = x[0];
    return 0;
}

static int flat_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    (void)context;
    (void)agent;
    (void)x;
    gradient[0] = 1;
    return 0;
}

static void a_flat_cost_is_refused(void **state)
{
    (void)state;
    fplt_objective_callbacks given = {.size = sizeof(fplt_objective_callbacks),
                                      .dimension = 1,
                                      .agents = 1,
                                      .value = flat_value,
                                      .gradient = flat_gradient};
    fplt_objective *o;
    fplt_error error;
    fplt_curvature curvature;
    assert_ok(fplt_objective_create_callback(&given, &o, &error), error);
    assert_int_equal(fplt_objective_curvature(o, 0, 0, &curvature, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "not all 0");
    fplt_objective_destroy(o);
}

static void callbacks_are_checked(void **state)
{
    (void)state;
    struct user user = {0};
    const fplt_objective_callbacks good = {.size = sizeof(fplt_objective_callbacks),
                                           .dimension = 3,
                                           .agents = 2,
                                           .context = &user,
                                           .value = user_value,
                                           .gradient = user_gradient,
                                           .curvature = user_curvature};
    fplt_objective_callbacks bad[5];
    const char *const parts[5] = {"dimension", "agents", "value", "gradient", "records"};
    for (int i = 0; i < 5; i++)
        bad[i] = good;
    bad[0].dimension = 0;
    bad[1].agents = 0;
    bad[2].value = NULL;
    bad[3].gradient = NULL;
    bad[4].batch_gradient = user_batch;
    for (int i = 0; i < 5; i++) {
        fplt_objective *o;
        fplt_error error;
        assert_int_equal(fplt_objective_create_callback(&bad[i], &o, &error), FPLT_BAD_VALUE);
        assert_null(o);
        assert_contains(error.text, parts[i]);
    }
    struct failing failing = {0, 0};
    fplt_allocator allocator = {allocate, release, &failing};
    fplt_allocator_set(&allocator);
    fplt_objective *o;
    fplt_error error;
    assert_int_equal(fplt_objective_create_callback(&good, &o, &error), FPLT_NO_MEMORY);
    assert_int_equal(failing.alive, 0);
    fplt_allocator_set(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(rows_may_be_taken_over),
        cmocka_unit_test(rows_stay_after_a_failure),
        cmocka_unit_test(lists),
        cmocka_unit_test(an_empty_batch),
        cmocka_unit_test(a_batch_of_rows_that_are_not_there),
        cmocka_unit_test(callbacks),
        cmocka_unit_test(callbacks_are_checked),
        cmocka_unit_test(callbacks_at_once),
        cmocka_unit_test(a_flat_cost_is_refused),
    };
    return cmocka_run_group_tests_name("create", tests, NULL, NULL);
}
