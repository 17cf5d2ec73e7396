/* First and second derivatives against central differences, for every loss, regulariser and layout;
 * minibatches against the whole, and the pieces of one call against those of another. */
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "objective/problem.h"

static const struct {
    const char *loss;
    fplt_task task;
} pairs[] = {
    {"logistic", FPLT_TASK_BINARY},      {"squared-hinge", FPLT_TASK_BINARY},
    {"least-squares", FPLT_TASK_BINARY}, {"least-squares", FPLT_TASK_REGRESSION},
    {"huber", FPLT_TASK_REGRESSION},     {"softmax", FPLT_TASK_BINARY},
    {"softmax", FPLT_TASK_CLASSES},      {"probit", FPLT_TASK_BINARY},
    {"gamma", FPLT_TASK_REGRESSION},     {"negative-binomial", FPLT_TASK_REGRESSION},
    {"ordinal", FPLT_TASK_CLASSES},      {"ordinal", FPLT_TASK_BINARY},
};

static const char *const regularisers[] = {"ridge", "nonconvex", "none"};

typedef void (*check)(const fplt_objective *o, uint32_t agent, uint64_t seed, double *scratch,
                      const char *what);

/* Runs a check on every combination, at a few random points. */
static void everywhere(check run)
{
    uint64_t seed = 0;
    double units[30];
    for (size_t j = 0; j < sizeof units / sizeof *units; j++)
        units[j] = 0.5 + 0.25 * (double)j;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (unsigned variant = 0; variant < 3 * 3 * 2 * 2 * 2; variant++) {
            problem p = {
                .task = pairs[i].task,
                .features = variant / 36 ? 30 : 5,
                .rows = 61,
                .sparse = variant / 3 % 3 != 0,
                .agents = 2,
                .classes = 4,
                .positive = problem_is_positive(pairs[i].loss),
                .same = variant / 3 % 3 == 2, /* sparse rows of ones: kept without their numbers */
            };
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = pairs[i].loss;
            settings.regulariser = regularisers[variant % 3];
            settings.intercept = variant / 9 % 2 || problem_needs_intercept(settings.loss);
            settings.weigh_rows = variant / 18 % 2;
            settings.weight = 0.3;
            if (seed % 3 == 1) /* each regulariser, with and without */
                settings.units = units;
            fplt_objective *o = problem_objective(&p, ++seed, &settings);
            double *scratch = new_scratch(o);
            char what[200];
            snprintf(what, sizeof what, "%s, %s%s, %s, intercept %d, %zu features", settings.loss,
                     settings.regulariser, settings.units ? " in units" : "",
                     p.same != 0 ? "ones"
                     : p.sparse  ? "sparse"
                                 : "dense",
                     settings.intercept, p.features);
            run(o, 0, seed, scratch, what);
            run(o, 1, seed + 1000, scratch, what);
            free(scratch);
            fplt_objective_destroy(o);
        }
}

/* Central differences; h is short, because two of the losses have kinks in their slope. */
static double slope_along(const fplt_objective *o, uint32_t agent, const double *x, const double *v,
                          double h, double *scratch)
{
    size_t n = fplt_objective_dimension(o);
    double *point = new_vector(n), value[2];
    const double at[2] = {-h, h};
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < n; j++)
            point[j] = x[j] + at[i] * v[j];
        assert_int_equal(fplt_objective_value(o, agent, point, &value[i], scratch), FPLT_OK);
    }
    free(point);
    return (value[1] - value[0]) / (2 * h);
}

static void gradient_is_the_slope(const fplt_objective *o, uint32_t agent, uint64_t seed,
                                  double *scratch, const char *what)
{
    size_t n = fplt_objective_dimension(o);
    double *x = random_vector(n, seed, 0.5), *g = new_vector(n), *v = new_vector(n);
    assert_int_equal(fplt_objective_gradient(o, agent, x, g, scratch), FPLT_OK);
    double size = norm_of(g, n);
    for (size_t j = 0; j < n; j++) {
        v[j] = 1;
        double slope = slope_along(o, agent, x, v, 2e-6, scratch);
        if (!(fabs(slope - g[j]) <= 1e-7 * (size + 1)))
            fail_msg("%s: coordinate %zu: %.12g, differences %.12g", what, j, g[j], slope);
        v[j] = 0;
    }
    double value, both;
    double *again = new_vector(n);
    fplt_objective_value(o, agent, x, &value, scratch);
    fplt_objective_value_gradient(o, agent, x, &both, again, scratch);
    assert_true(value == both);
    assert_memory_equal(g, again, n * sizeof *g);
    free(again);
    free(x);
    free(g);
    free(v);
}

static void gradients(void **state)
{
    (void)state;
    everywhere(gradient_is_the_slope);
}

static void product_is_the_difference(const fplt_objective *o, uint32_t agent, uint64_t seed,
                                      double *scratch, const char *what)
{
    size_t n = fplt_objective_dimension(o);
    double *x = random_vector(n, seed, 0.5), *v = random_vector(n, seed + 1, 1);
    double *plus = new_vector(n), *minus = new_vector(n), *product = new_vector(n);
    double *point = new_vector(n), h = 1e-6;
    for (size_t j = 0; j < n; j++)
        point[j] = x[j] + h * v[j];
    fplt_objective_gradient(o, agent, point, plus, scratch);
    for (size_t j = 0; j < n; j++)
        point[j] = x[j] - h * v[j];
    fplt_objective_gradient(o, agent, point, minus, scratch);
    for (size_t j = 0; j < n; j++)
        plus[j] = (plus[j] - minus[j]) / (2 * h);
    assert_int_equal(fplt__objective_hessian_times(o, agent, x, v, product, scratch), FPLT_OK);
    double gap = distance(plus, product, n);
    if (!(gap <= 1e-7 * (1 + norm_of(product, n))))
        fail_msg("%s: Hessian times v is off by %g", what, gap);

    /* the whole matrix says the same, and is symmetric */
    double *hessian = new_vector(n * n);
    assert_int_equal(fplt__objective_hessian(o, agent, x, hessian, scratch), FPLT_OK);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            sum += hessian[i * n + j] * v[j];
            assert_true(hessian[i * n + j] == hessian[j * n + i]);
        }
        if (!(fabs(sum - product[i]) <= 1e-12 * (1 + norm_of(product, n))))
            fail_msg("%s: row %zu of the Hessian gives %.15g, not %.15g", what, i, sum, product[i]);
    }
    free(hessian);
    free(x);
    free(v);
    free(plus);
    free(minus);
    free(product);
    free(point);
}

static void second_derivatives(void **state)
{
    (void)state;
    everywhere(product_is_the_difference);
}

/* The sum of the records' gradients times themselves, from minibatches of one; there is no regulariser. */
static void scores_are_of_single_rows(const fplt_objective *o, uint64_t seed, double *scratch)
{
    size_t n = fplt_objective_dimension(o), q = fplt_objective_records(o, 0);
    double *x = random_vector(n, seed, 0.5), *scores = new_vector(n * n), *sum = new_vector(n * n),
           *g = new_vector(n), size = 0;
    assert_int_equal(o->kind->loss_scores(o, 0, x, scores, scratch), FPLT_OK);
    for (uint32_t r = 0; r < q; r++) {
        assert_int_equal(fplt__objective_batch_gradient(o, 0, x, &r, 1, g, scratch), FPLT_OK);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                sum[i * n + j] += g[i] * g[j] / (double)(q * q);
    }
    for (size_t i = 0; i < n; i++)
        size = fmax(size, sum[i * n + i]);
    for (size_t i = 0; i < n * n; i++)
        assert_near(scores[i], sum[i], 1e-13 * size);
    free(x);
    free(scores);
    free(sum);
    free(g);
}

/* Records in many chunks, with every kernel and layout: weights of several chunks make one product. */
static void over_chunks(void **state)
{
    (void)state;
    static const char *const kernels[] = {"reference", "avx2", "avx512"};
    static const size_t features[] = {3, 20, 130};
    for (unsigned variant = 0; variant < 3 * 3 * 2 * 2 * 2; variant++) {
        if (!drawn_takes(variant))
            continue;
        int classes = variant / 9 % 2;
        problem p = {.task = classes ? FPLT_TASK_CLASSES : FPLT_TASK_BINARY,
                     .features = features[variant / 3 % 3],
                     .rows = 521,
                     .sparse = variant / 36,
                     .agents = 1,
                     .classes = 3};
        fplt_objective_settings settings = fplt_objective_defaults();
        settings.loss = classes ? "softmax" : "logistic";
        settings.regulariser = "none";
        settings.intercept = variant / 18 % 2;
        settings.kernel = kernels[variant % 3];
        fplt_dataset *dataset = problem_dataset(&p, variant);
        fplt_objective *o;
        fplt_error error;
        fplt_status status = fplt_objective_create(&settings, dataset, &o, &error);
        fplt_dataset_destroy(dataset);
        if (lacks_kernel(status))
            continue; /* this machine lacks the kernel */
        assert_ok(status, error);
        double *scratch = new_scratch(o);
        product_is_the_difference(o, 0, variant, scratch, settings.kernel);
        scores_are_of_single_rows(o, variant, scratch);
        free(scratch);
        fplt_objective_destroy(o);
    }
}

static void batch_of_all(const fplt_objective *o, uint32_t agent, uint64_t seed, double *scratch,
                         const char *what)
{
    size_t n = fplt_objective_dimension(o), q = fplt_objective_records(o, agent);
    double *x = random_vector(n, seed, 0.5), *g = new_vector(n), *batch = new_vector(n);
    uint32_t *rows = calloc(q, sizeof *rows);
    for (size_t r = 0; r < q; r++)
        rows[r] = (uint32_t)(q - 1 - r);
    fplt_objective_gradient(o, agent, x, g, scratch);
    assert_int_equal(fplt__objective_batch_gradient(o, agent, x, rows, q, batch, scratch), FPLT_OK);
    double gap = distance(g, batch, n);
    if (!(gap <= 1e-13 * (1 + norm_of(g, n))))
        fail_msg("%s: batch of all rows is off by %g", what, gap);
    /* single rows average to the whole */
    double *sum = new_vector(n);
    for (uint32_t r = 0; r < q; r++) {
        fplt__objective_batch_gradient(o, agent, x, &r, 1, batch, scratch);
        for (size_t j = 0; j < n; j++)
            sum[j] += batch[j] / (double)q;
    }
    gap = distance(g, sum, n);
    if (!(gap <= 1e-13 * (1 + norm_of(g, n))))
        fail_msg("%s: batches of one row average to something off by %g", what, gap);
    rows[0] = (uint32_t)q;
    assert_int_equal(fplt__objective_batch_gradient(o, agent, x, rows, 1, batch, scratch),
                     FPLT_BAD_VALUE);
    free(rows);
    free(sum);
    free(x);
    free(g);
    free(batch);
}

static void batches(void **state)
{
    (void)state;
    everywhere(batch_of_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(second_derivatives),
        cmocka_unit_test(over_chunks),
        cmocka_unit_test(batches),
    };
    return cmocka_run_group_tests_name("derivatives", tests, NULL, NULL);
}
