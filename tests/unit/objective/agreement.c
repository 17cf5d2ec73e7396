/* Values and gradients of every kernel, loss, layout and shape against the naive ones; clipping,
 * extreme margins, hits, and the same bits for a second call. */
#include "objective/naive.h"
#include "objective/objective.h"
#include "objective/objective_access.h"

static const char *const kernels[] = {"reference", "avx2", "avx512"};

static const struct {
    const char *loss;
    fplt_task task;
} pairs[] = {
    {"logistic", FPLT_TASK_BINARY},
    {"squared-hinge", FPLT_TASK_BINARY},
    {"least-squares", FPLT_TASK_REGRESSION},
    {"huber", FPLT_TASK_REGRESSION},
    {"huber", FPLT_TASK_BINARY},
    {"softmax", FPLT_TASK_CLASSES},
    {"softmax", FPLT_TASK_BINARY},
    {"probit", FPLT_TASK_BINARY},
    {"gamma", FPLT_TASK_REGRESSION},
    {"negative-binomial", FPLT_TASK_REGRESSION},
    {"ordinal", FPLT_TASK_CLASSES},
    {"ordinal", FPLT_TASK_BINARY},
};

enum { PAIRS = sizeof pairs / sizeof *pairs };

static void compare(const problem *p, const fplt_objective_settings *given, uint64_t seed)
{
    static naive exact;
    fplt_objective_settings settings = *given;
    fplt_dataset *dataset = problem_dataset(p, seed);
    double *x = NULL;
    for (size_t k = 0; k < 3; k++) {
        fplt_objective *o;
        fplt_error error;
        settings.kernel = kernels[k];
        fplt_status status = fplt_objective_create(&settings, dataset, &o, &error);
        if (lacks_kernel(status))
            continue; /* this machine lacks it */
        assert_ok(status, error);
        assert_string_equal(fplt__objective_kernel(o), kernels[k]);
        size_t n = fplt_objective_dimension(o);
        double *g = new_vector(n), *again = new_vector(n), *scratch = new_scratch(o), value, second;
        if (!x)
            x = random_vector(n, seed, 1 / sqrt((double)p->features));
        for (uint32_t agent = 0; agent < p->agents; agent++) {
            naive_cost(&settings, dataset, agent, x, &exact);
            assert_int_equal(fplt_objective_value_gradient(o, agent, x, &value, g, scratch),
                             FPLT_OK);
            double size = 1, gap = 0;
            for (size_t j = 0; j < n; j++) {
                size = fmax(size, fabs((double)exact.gradient[j]));
                gap = fmax(gap, fabs(g[j] - (double)exact.gradient[j]));
            }
            if (!(gap <= 2e-14 * size &&
                  fabs(value - (double)exact.value) <= 2e-14 * (1 + fabs(value))))
                fail_msg("%s, %s, %s, %zu x %zu, sparse %d, intercept %d: gradient off by %g, "
                         "value %.17g, not %.17g",
                         kernels[k], settings.loss, settings.regulariser, p->rows, p->features,
                         p->sparse, settings.intercept, gap, value, (double)exact.value);
            fplt_objective_gradient(o, agent, x, again, scratch);
            assert_memory_equal(g, again, n * sizeof *g);
            fplt_objective_value(o, agent, x, &second, scratch);
            assert_true(second == value);
        }
        free(g);
        free(again);
        free(scratch);
        fplt_objective_destroy(o);
    }
    free(x);
    fplt_dataset_destroy(dataset);
}

static void shapes(void **state)
{
    (void)state;
    static const size_t wide[] = {64, 100, 257, 600};
    uint64_t seed = 0;
    for (size_t i = 0; i < 44; i++)
        for (size_t rows = 1; rows <= 41; rows += i < 26 ? 1 : 5)
            for (int sparse = 0; sparse < 2; sparse++) {
                problem p = {.task = FPLT_TASK_BINARY,
                             .features = i < 40 ? i + 1 : wide[i - 40],
                             .rows = rows,
                             .sparse = sparse,
                             .agents = 1};
                fplt_objective_settings settings = fplt_objective_defaults();
                if (drawn_takes(++seed))
                    compare(&p, &settings, seed);
            }
}

static void every_loss(void **state)
{
    (void)state;
    static const char *const regularisers[] = {"ridge", "nonconvex", "none"};
    static const size_t features[] = {1, 4, 13, 24, 31, 104};
    uint64_t seed = 1000;
    for (size_t i = 0; i < PAIRS; i++)
        for (unsigned variant = 0; variant < 6 * 3 * 2 * 2 * 2; variant++) {
            problem p = {.task = pairs[i].task,
                         .positive = problem_is_positive(pairs[i].loss),
                         .features = features[variant / 24],
                         .rows = 299,
                         .sparse = variant / 3 % 2,
                         .agents = 3,
                         .classes = 5};
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = pairs[i].loss;
            settings.regulariser = regularisers[variant % 3];
            settings.intercept = variant / 6 % 2 || problem_needs_intercept(settings.loss);
            settings.weigh_rows = settings.intercept;
            settings.huber_delta = 0.8;
            settings.clip = variant / 12 % 2 && !problem_is_shared(settings.loss) ? 1.1 : 0;
            if (drawn_takes(++seed))
                compare(&p, &settings, seed);
        }
}

/* Sparse rows that have one number all along are kept without it, if the intercept's 1 is that too. */
static void same_numbers(void **state)
{
    (void)state;
    uint64_t seed = 5000;
    for (size_t i = 0; i < PAIRS; i++)
        for (unsigned variant = 0; variant < 2 * 2 * 3; variant++) {
            static const size_t features[] = {1, 17, 104};
            problem p = {.task = pairs[i].task,
                         .positive = problem_is_positive(pairs[i].loss),
                         .features = features[variant / 4],
                         .rows = 299,
                         .sparse = 1,
                         .agents = 2,
                         .classes = 5,
                         .same = variant % 2 ? 1 : -0.75};
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = pairs[i].loss;
            settings.intercept = variant / 2 % 2 || problem_needs_intercept(settings.loss);
            compare(&p, &settings, ++seed);
            fplt_objective *o = problem_objective(&p, seed, &settings);
            assert_int_equal(!fplt__shard_of(o, 1).matrix.value,
                             !settings.intercept || p.same == 1);
            assert_int_equal(!fplt__shard_of(o, 1).matrix.same,
                             !!fplt__shard_of(o, 1).matrix.value);
            fplt_objective_destroy(o);
        }
}

/* Clipped records count, but none more than the bound. */
static void clipping_bounds_every_record(void **state)
{
    (void)state;
    for (size_t i = 0; i < PAIRS; i++)
        for (int sparse = 0; sparse < 2 && !problem_is_shared(pairs[i].loss); sparse++) {
            problem p = {.task = pairs[i].task,
                         .positive = problem_is_positive(pairs[i].loss),
                         .features = 20,
                         .rows = 40,
                         .sparse = sparse,
                         .agents = 1,
                         .classes = 3};
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = pairs[i].loss;
            settings.regulariser = "none";
            settings.intercept = 1;
            settings.clip = 0.25;
            fplt_objective *o = problem_objective(&p, 77, &settings);
            size_t n = fplt_objective_dimension(o), bound = 0;
            double *x = random_vector(n, 5, 3), *g = new_vector(n), *scratch = new_scratch(o);
            for (uint32_t r = 0; r < 40; r++) {
                assert_int_equal(fplt__objective_batch_gradient(o, 0, x, &r, 1, g, scratch),
                                 FPLT_OK);
                assert_true(norm_of(g, n) <= 0.25 * (1 + 1e-12));
                bound += norm_of(g, n) > 0.25 * (1 - 1e-12);
            }
            assert_true(bound > 10);
            free(x);
            free(g);
            free(scratch);
            fplt_objective_destroy(o);
        }
}

/* Margins far out: nothing overflows, and the slopes are those of the limit. */
static void extreme_margins(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < PAIRS; i++)
            for (int far = 0; far < 2; far++) {
                if (problem_is_positive(pairs[i].loss))
                    continue; /* exp(-margin) is infinite there */
                double a[2] = {1, -1}, label[3] = {pairs[i].task == FPLT_TASK_CLASSES ? 0 : 1,
                                                   pairs[i].task == FPLT_TASK_CLASSES ? 2 : -1, 1};
                double three[3] = {1, -1, 1};
                int classes = pairs[i].task == FPLT_TASK_CLASSES;
                size_t count = classes ? 3 : 2;
                fplt_rows rows = {
                    .count = count, .features = 1, .dense = classes ? three : a, .label = label};
                fplt_dataset *dataset;
                fplt_objective *o;
                fplt_error error;
                assert_ok(fplt_dataset_from_rows(&rows, pairs[i].task, &count, 1, &dataset, &error),
                          error);
                fplt_objective_settings settings = fplt_objective_defaults();
                settings.loss = pairs[i].loss;
                settings.regulariser = "none";
                settings.kernel = kernels[k];
                fplt_status status = fplt_objective_create(&settings, dataset, &o, &error);
                fplt_dataset_destroy(dataset);
                if (lacks_kernel(status))
                    continue;
                assert_ok(status, error);
                size_t n = fplt_objective_dimension(o);
                double x[3] = {far ? 1e4 : -1e4, far ? -1e4 : 1e4, 3}, value, g[3],
                       v[3] = {1, 2, 3};
                double product[3], *scratch = new_scratch(o);
                assert_int_equal(fplt_objective_value_gradient(o, 0, x, &value, g, scratch),
                                 FPLT_OK);
                assert_int_equal(fplt__objective_hessian_times(o, 0, x, v, product, scratch),
                                 FPLT_OK);
                assert_true(isfinite(value));
                for (size_t j = 0; j < n; j++)
                    assert_true(isfinite(g[j]) && isfinite(product[j]));
                if (strcmp(settings.loss, "logistic") == 0) {
                    assert_near(value, far ? 0 : 1e4, 1e-10);
                    assert_near(g[0], far ? 0 : -1, 1e-15);
                }
                free(scratch);
                fplt_objective_destroy(o);
            }
}

static void hits(void **state)
{
    (void)state;
    /* rows on a line; x = 1 predicts the sign */
    double a[6] = {-3, -2, -1, 1, 2, 3}, label[6] = {-1, -1, 1, -1, 1, 1}, x = 1, scratch[4096];
    fplt_rows rows = {.count = 6, .features = 1, .dense = a, .label = label};
    size_t count = 6, found;
    fplt_error error;
    fplt_dataset *dataset;
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_BINARY, &count, 1, &dataset, &error), error);
    static const char *const losses[] = {"logistic", "squared-hinge", "least-squares", "huber"};
    for (size_t i = 0; i < 4; i++) {
        fplt_objective_settings settings = fplt_objective_defaults();
        fplt_objective *o;
        settings.loss = losses[i];
        assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
        assert_true(fplt_objective_scratch(o) <= 4096);
        assert_int_equal(fplt__objective_hits(o, 0, &x, &found, scratch), FPLT_OK);
        assert_int_equal(found, 4);
        fplt_objective_destroy(o);
    }
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_objective *o;
    settings.loss = "softmax";
    assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
    double weights[2] = {0, 1};
    assert_int_equal(fplt__objective_hits(o, 0, weights, &found, scratch), FPLT_OK);
    assert_int_equal(found, 4);
    fplt_objective_destroy(o);
    fplt_dataset_destroy(dataset);

    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_REGRESSION, &count, 1, &dataset, &error),
              error);
    settings.loss = "least-squares";
    assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
    assert_int_equal(fplt__objective_hits(o, 0, &x, &found, scratch), FPLT_UNSUPPORTED);
    fplt_objective_destroy(o);
    fplt_dataset_destroy(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(every_loss),
        cmocka_unit_test(same_numbers),
        cmocka_unit_test(extreme_margins),
        cmocka_unit_test(clipping_bounds_every_record),
        cmocka_unit_test(hits),
    };
    return cmocka_run_group_tests_name("agreement", tests, NULL, NULL);
}
