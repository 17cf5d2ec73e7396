/* Generators: moments against the formulas, the spectrum against LAPACK, independence of agents. */
#include "helpers.h"
#include "data/dataset_access.h"

#include <lapacke.h>

static fplt_dataset *generated(const fplt_generate_settings *settings)
{
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_generate(settings, &dataset, &error), error);
    return dataset;
}

/* Mean of b a over an agent's rows estimates mean_i with error N(0, 1/q); the rest has variance
 * 1. */
static void check_clouds(const char *name, double spread, int common)
{
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.name = name;
    settings.agents = 200;
    settings.features = 4;
    settings.rows = 400;
    settings.spread = spread;
    settings.seed = 11;
    fplt_dataset *dataset = generated(&settings);
    double positive = 0, residual = 0, between = 0, total = 0, first[4] = {0};
    for (uint32_t i = 0; i < 200; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        double mean[4] = {0};
        for (size_t r = 0; r < rows.count; r++) {
            assert_true(rows.label[r] == 1 || rows.label[r] == -1);
            positive += rows.label[r] > 0;
            for (int j = 0; j < 4; j++)
                mean[j] += rows.label[r] * rows.dense[r * 4 + j] / 400;
        }
        for (size_t r = 0; r < rows.count; r++)
            for (int j = 0; j < 4; j++) {
                double away = rows.label[r] * rows.dense[r * 4 + j] - mean[j];
                residual += away * away;
            }
        for (int j = 0; j < 4; j++) {
            if (i == 0)
                first[j] = mean[j];
            between +=
                (common ? mean[j] - first[j] : mean[j]) * (common ? mean[j] - first[j] : mean[j]);
            total += mean[j];
        }
    }
    assert_near(positive / 80000, 0.5, 5 * 0.5 / sqrt(80000));
    assert_near(residual / (200 * 4 * 399), 1, 5 * sqrt(2.0 / 320000));
    if (common) /* differences of two estimates */
        assert_near(between / (199 * 4), 2.0 / 400, 0.003);
    else {
        double variance = spread * spread + 1.0 / 400;
        assert_near(between / 800, variance, 5 * variance * sqrt(2.0 / 800));
        assert_near(total / 800, 0, 5 * sqrt(variance / 800));
    }
    fplt_dataset_destroy(dataset);
}

static void paper_has_a_mean_for_each_agent(void **state)
{
    (void)state;
    check_clouds("paper", 1, 0);
    check_clouds("paper", 2.5, 0);
}

static void iid_has_one_mean(void **state)
{
    (void)state;
    check_clouds("iid", 1, 1);
}

static void an_agents_rows_do_not_depend_on_the_others(void **state)
{
    (void)state;
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.agents = 7;
    fplt_dataset *seven = generated(&settings);
    settings.agents = 3;
    fplt_dataset *three = generated(&settings);
    fplt_rows a = fplt_dataset_shard(seven, 2), b = fplt_dataset_shard(three, 2);
    assert_memory_equal(a.dense, b.dense, a.count * a.features * sizeof *a.dense);
    settings.run = 1;
    fplt_dataset *other = generated(&settings);
    fplt_rows c = fplt_dataset_shard(other, 2);
    assert_memory_not_equal(a.dense, c.dense, a.count * a.features * sizeof *a.dense);
    fplt_dataset_destroy(seven);
    fplt_dataset_destroy(three);
    fplt_dataset_destroy(other);
}

/* Least squares by normal equations: an independent way to the truth behind regression labels. */
static void solve_least_squares(const fplt_rows *rows, double *x)
{
    lapack_int n = (lapack_int)rows->features;
    double *gram = calloc((size_t)n * (size_t)n, sizeof *gram);
    assert_non_null(gram);
    memset(x, 0, (size_t)n * sizeof *x);
    for (size_t r = 0; r < rows->count; r++) {
        const double *a = rows->dense + r * rows->features;
        for (int i = 0; i < n; i++) {
            x[i] += a[i] * rows->label[r];
            for (int j = 0; j < n; j++)
                gram[i * n + j] += a[i] * a[j];
        }
    }
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', n, 1, gram, n, x, 1), 0);
    free(gram);
}

static void planted_regression_has_one_truth_and_the_noise_asked_for(void **state)
{
    (void)state;
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.name = "planted";
    settings.task = FPLT_TASK_REGRESSION;
    settings.agents = 2;
    settings.rows = 20000;
    settings.noise = 0.3;
    fplt_dataset *dataset = generated(&settings);
    assert_int_equal(fplt_dataset_task(dataset), FPLT_TASK_REGRESSION);
    double x[2][5], residual = 0;
    for (uint32_t i = 0; i < 2; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        solve_least_squares(&rows, x[i]);
        for (size_t r = 0; r < rows.count; r++) {
            double miss = rows.label[r];
            for (int j = 0; j < 5; j++)
                miss -= rows.dense[r * 5 + j] * x[i][j];
            residual += miss * miss;
        }
    }
    for (int j = 0; j < 5; j++)
        assert_near(x[0][j], x[1][j], 6 * 0.3 * sqrt(2.0 / 20000));
    assert_near(sqrt(residual / 40000), 0.3, 5 * 0.3 / sqrt(80000));
    fplt_dataset_destroy(dataset);
}

/* With logistic noise of scale s, P(label = 1 | a) = 1/(1 + exp(-a.truth/s)). */
static void planted_binary_flips_as_the_logistic_says(void **state)
{
    (void)state;
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.name = "planted";
    settings.agents = 1;
    settings.features = 1;
    settings.rows = 100000;
    settings.noise = 0.7;
    settings.seed = 3;
    /* the truth is the first normal of the stream common to all agents */
    fplt_stream common = fplt_stream_make(3, 0, FPLT_FOR_DATA, 1, 0, 0);
    double truth = fplt_stream_normal(&common);
    fplt_dataset *dataset = generated(&settings);
    fplt_rows rows = fplt_dataset_shard(dataset, 0);
    double expected = 0, found = 0, variance = 0;
    for (size_t r = 0; r < rows.count; r++) {
        double p = 1 / (1 + exp(-rows.dense[r] * truth / 0.7));
        if (rows.dense[r] * truth < 0.2) /* where flips are frequent */
            continue;
        expected += p;
        variance += p * (1 - p);
        found += rows.label[r] > 0;
    }
    assert_true(expected > 1000);
    assert_near(found, expected, 5 * sqrt(variance));
    fplt_dataset_destroy(dataset);
}

static void planted_classes_are_all_there(void **state)
{
    (void)state;
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.name = "planted";
    settings.task = FPLT_TASK_CLASSES;
    settings.classes = 4;
    settings.noise = 0;
    fplt_dataset *dataset = generated(&settings);
    assert_int_equal(fplt_dataset_outputs(dataset), 4);
    size_t rows = 0;
    for (uint32_t c = 0; c < 4; c++) {
        assert_true(fplt__dataset_class_rows(dataset, c) > 0);
        rows += fplt__dataset_class_rows(dataset, c);
    }
    assert_int_equal(rows, fplt_dataset_rows(dataset));
    fplt_dataset_destroy(dataset);
}

static void check_spectrum(size_t features, size_t rows, double low, double high)
{
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.name = "quadratic";
    settings.agents = 4;
    settings.features = features;
    settings.rows = rows;
    settings.lowest = low;
    settings.highest = high;
    settings.noise = 0;
    settings.spread = 2;
    fplt_dataset *dataset = generated(&settings);
    assert_int_equal(fplt_dataset_task(dataset), FPLT_TASK_REGRESSION);
    lapack_int n = (lapack_int)features;
    double *hessian = calloc(features * features, sizeof *hessian);
    double *values = calloc(features, sizeof *values), *x = calloc(features, sizeof *x);
    double *before = calloc(features, sizeof *before);
    assert_true(hessian && values && x && before);
    for (uint32_t i = 0; i < 4; i++) {
        fplt_rows shard = fplt_dataset_shard(dataset, i);
        memset(hessian, 0, features * features * sizeof *hessian);
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < features; j++)
                for (size_t k = 0; k < features; k++)
                    hessian[j * features + k] += shard.dense[r * features + j] *
                                                 shard.dense[r * features + k] / (double)rows;
        assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', n, hessian, n, values), 0);
        assert_near(values[0], low, 1e-12 * high);
        assert_near(values[features - 1], high, 1e-12 * high);
        if (low > 0) {
            solve_least_squares(&shard, x);
            double distance = 0;
            for (size_t j = 0; j < features; j++)
                distance = fmax(distance, fabs(x[j] - before[j]));
            assert_true(i == 0 || distance > 1e-3); /* minimisers differ */
            memcpy(before, x, features * sizeof *x);
        }
    }
    free(hessian);
    free(values);
    free(x);
    free(before);
    fplt_dataset_destroy(dataset);
}

static void quadratic_has_the_spectrum_asked_for(void **state)
{
    (void)state;
    check_spectrum(5, 50, 0.1, 10);
    check_spectrum(20, 20, 1e-4, 1);
    check_spectrum(2, 7, 3, 3);
    check_spectrum(6, 10, 0, 5);
    check_spectrum(1, 4, 2, 2);
}

static void rows_may_be_unequal(void **state)
{
    (void)state;
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.unequal = 0.4;
    settings.rows = 50;
    settings.agents = 500;
    fplt_dataset *dataset = generated(&settings);
    fplt__description about = fplt__dataset_describe(dataset);
    assert_int_equal(about.fewest_rows, 30);
    assert_int_equal(about.most_rows, 70);
    assert_near((double)about.rows / 500, 50, 5 * 11.8 / sqrt(500));
    fplt_dataset_destroy(dataset);
    settings.agents = 3;
    settings.agent_rows = (const size_t[]){5, 1, 9};
    dataset = generated(&settings);
    assert_int_equal(fplt_dataset_shard(dataset, 2).count, 9);
    assert_int_equal(fplt_dataset_rows(dataset), 15);
    fplt_dataset_destroy(dataset);
}

static void refuse(fplt_generate_settings settings, const char *part)
{
    fplt_dataset *dataset;
    fplt_error error;
    assert_int_equal(fplt_dataset_generate(&settings, &dataset, &error), FPLT_BAD_VALUE);
    assert_null(dataset);
    assert_contains(error.text, part);
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    fplt_generate_settings settings = fplt_generate_defaults(), bad = settings;
    bad.name = "papre";
    refuse(bad, "no generator 'papre'");
    bad = settings;
    bad.agents = 0;
    refuse(bad, "0 agents");
    bad = settings;
    bad.spread = NAN;
    refuse(bad, "spread is nan");
    bad = settings;
    bad.noise = -1;
    refuse(bad, "noise is -1");
    bad = settings;
    bad.unequal = 1;
    refuse(bad, "unequal is 1");
    bad = settings;
    bad.name = "planted";
    bad.task = FPLT_TASK_CLASSES;
    bad.classes = 2;
    refuse(bad, "2 classes");
    bad = settings;
    bad.name = "quadratic";
    bad.rows = 4;
    refuse(bad, "at least as many as features (5)");
    bad.rows = 5;
    bad.lowest = 11;
    refuse(bad, "lmin is 11 and lmax is 10");
    bad.lowest = 1;
    bad.features = 1;
    refuse(bad, "one eigenvalue");
    bad = settings;
    bad.agent_rows = (const size_t[]){0};
    bad.agents = 1;
    refuse(bad, "agent 0 would have no rows");
}

static void *at_most_a_gigabyte(size_t bytes, void *context)
{
    (void)context;
    return bytes > (size_t)1 << 30 ? NULL : malloc(bytes);
}

static void plain_release(void *memory, void *context)
{
    (void)context;
    free(memory);
}

static void sizes_beyond_memory_are_an_error(void **state)
{
    (void)state;
    const size_t rows[] = {SIZE_MAX / 50, SIZE_MAX / 100, SIZE_MAX / 1000, SIZE_MAX / 5000,
                           (size_t)1 << 40};
    fplt_allocator allocator = {at_most_a_gigabyte, plain_release, NULL};
    fplt_generate_settings settings = fplt_generate_defaults();
    fplt_dataset *dataset;
    fplt_error error;
    fplt_allocator_set(&allocator);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        settings.rows = rows[i];
        assert_int_equal(fplt_dataset_generate(&settings, &dataset, &error), FPLT_NO_MEMORY);
        assert_null(dataset);
    }
    settings.rows = 3;
    settings.features = UINT32_MAX;
    assert_int_equal(fplt_dataset_generate(&settings, &dataset, &error), FPLT_NO_MEMORY);
    fplt_allocator_set(NULL);
}

static fplt_status generate_once(void *context)
{
    fplt_dataset *dataset;
    fplt_error error;
    fplt_status status = fplt_dataset_generate(context, &dataset, &error);
    fplt_dataset_destroy(dataset);
    return status;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    const char *help;
    for (size_t i = 0; fplt__generator_list(i, &help); i++) {
        fplt_generate_settings settings = fplt_generate_defaults();
        settings.name = fplt__generator_list(i, NULL);
        settings.agents = 3;
        settings.rows = 8;
        survives_failed_allocations(generate_once, &settings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper_has_a_mean_for_each_agent),
        cmocka_unit_test(iid_has_one_mean),
        cmocka_unit_test(an_agents_rows_do_not_depend_on_the_others),
        cmocka_unit_test(planted_regression_has_one_truth_and_the_noise_asked_for),
        cmocka_unit_test(planted_binary_flips_as_the_logistic_says),
        cmocka_unit_test(planted_classes_are_all_there),
        cmocka_unit_test(quadratic_has_the_spectrum_asked_for),
        cmocka_unit_test(rows_may_be_unequal),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(sizes_beyond_memory_are_an_error),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
