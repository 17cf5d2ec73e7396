/* Predictions and their quality, against the definitions counted out the slow way. */
#include "testing.h"

#include "failing.h"
#include "fedplt/model.h"
#include "fedplt/random.h"
#include "base/random.h"
#include "job/job.h"
#include "report/model.h"
#include "report/model_access.h"

enum { ROWS = 60, FEATURES = 4, CLASSES = 3 };

static fplt_dataset *random_data(fplt_task task, int sparse, uint64_t seed)
{
    static double dense[ROWS * FEATURES], label[ROWS], value[ROWS * FEATURES];
    static size_t start[ROWS + 1];
    static uint32_t column[ROWS * FEATURES];
    fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t entries = 0;
    for (size_t i = 0; i < ROWS; i++) {
        start[i] = entries;
        for (size_t j = 0; j < FEATURES; j++) {
            /* few values, so that scores tie */
            double a = (double)fplt_stream_below(&stream, 5) - 2;
            dense[i * FEATURES + j] = a;
            if (a != 0) {
                column[entries] = (uint32_t)j;
                value[entries++] = a;
            }
        }
        double draw = (double)fplt_stream_below(&stream, task == FPLT_TASK_CLASSES ? CLASSES : 2);
        label[i] = task == FPLT_TASK_BINARY       ? 2 * draw - 1
                   : task == FPLT_TASK_REGRESSION ? fplt_stream_normal(&stream)
                                                  : draw;
    }
    start[ROWS] = entries;
    fplt_rows rows = {ROWS,
                      FEATURES,
                      sparse ? NULL : dense,
                      sparse ? start : NULL,
                      sparse ? column : NULL,
                      sparse ? value : NULL,
                      label,
                      NULL,
                      NULL};
    size_t agents[] = {35, 25};
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&rows, task, agents, 2, &dataset, &error), error);
    return dataset;
}

static fplt_model *model_of(fplt_task task, const char *loss, const double *weights, size_t count)
{
    static const char *const names[] = {"a", "b", "c"};
    fplt_model_info info = {.task = task,
                            .loss = loss,
                            .huber_delta = 1,
                            .intercept = 1,
                            .features = FEATURES,
                            .classes = task == FPLT_TASK_REGRESSION ? 0
                                       : task == FPLT_TASK_BINARY   ? 2
                                                                    : CLASSES,
                            .class_names = names,
                            .weights = weights,
                            .dimension = count};
    fplt_model *model;
    fplt_error error;
    assert_ok(fplt_model_create(&info, &model, &error), error);
    return model;
}

static const double binary_weights[] = {1, -1, 0.5, 2, -0.5};

static double binary_score(const double *a)
{
    return a[0] - a[1] + 0.5 * a[2] + 2 * a[3] - 0.5;
}

static void binary_is_counted_out(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        fplt_dataset *plain = random_data(FPLT_TASK_BINARY, 0, 7);
        fplt_dataset *dataset = random_data(FPLT_TASK_BINARY, sparse, 7);
        fplt_model *model = model_of(FPLT_TASK_BINARY, "logistic", binary_weights, 5);
        fplt_rows rows = fplt_dataset_all(plain);
        fplt_quality all, each[2];
        fplt_error error;
        assert_ok(fplt_model_evaluate(model, dataset, each, &all, &error), error);
        double pairs = 0, wins = 0, hits = 0, right = 0, said = 0, is = 0, loss = 0;
        for (size_t i = 0; i < ROWS; i++) {
            double s = binary_score(rows.dense + i * FEATURES), b = rows.label[i];
            hits += s * b > 0;
            right += s > 0 && b > 0;
            said += s > 0;
            is += b > 0;
            loss += log1p(exp(-b * s)) / ROWS;
            for (size_t k = 0; k < ROWS; k++) {
                double t = binary_score(rows.dense + k * FEATURES);
                if (b < 0 || rows.label[k] > 0)
                    continue;
                pairs++;
                wins += s > t ? 1 : s == t ? 0.5 : 0;
            }
        }
        double precision = right / said, recall = right / is;
        assert_near(all.auc, wins / pairs, 1e-14);
        assert_near(all.accuracy, hits / ROWS, 1e-15);
        assert_near(all.f1, 2 * precision * recall / (precision + recall), 1e-14);
        assert_near(all.loss, loss, 1e-13);
        assert_true(isnan(all.rmse));
        assert_int_equal(each[0].rows, 35);
        assert_int_equal(each[1].rows, 25);
        assert_near(35 * each[0].accuracy + 25 * each[1].accuracy, hits, 1e-12);
        fplt_model_destroy(model);
        fplt_dataset_destroy(dataset);
        fplt_dataset_destroy(plain);
    }
}

/* Softmax with two classes whose weights differ by w is logistic with w. */
static void softmax_of_two_is_logistic(void **state)
{
    (void)state;
    double two[10], p[ROWS * 2], q[ROWS * 2], a[ROWS], b[ROWS];
    for (size_t j = 0; j < FEATURES; j++) {
        two[j] = 0.3 * (double)j;
        two[FEATURES + j] = 0.3 * (double)j + binary_weights[j];
    }
    two[8] = 0.25;
    two[9] = 0.25 + binary_weights[4];
    fplt_error error;
    fplt_dataset *dataset = random_data(FPLT_TASK_BINARY, 0, 3);
    fplt_model *soft = model_of(FPLT_TASK_BINARY, "softmax", two, 10);
    fplt_model *plain = model_of(FPLT_TASK_BINARY, "logistic", binary_weights, 5);
    fplt_rows rows = fplt_dataset_all(dataset);
    assert_ok(fplt_model_predict(soft, &rows, NULL, p, a, &error), error);
    assert_ok(fplt_model_predict(plain, &rows, NULL, q, b, &error), error);
    for (size_t i = 0; i < ROWS; i++) {
        assert_near(p[2 * i], q[2 * i], 1e-14);
        assert_near(p[2 * i] + p[2 * i + 1], 1, 1e-15);
        if (fabs(q[2 * i] - 0.5) > 1e-9)
            assert_true(a[i] == b[i]);
    }
    fplt_quality x, y;
    assert_ok(fplt_model_evaluate(soft, dataset, NULL, &x, &error), error);
    assert_ok(fplt_model_evaluate(plain, dataset, NULL, &y, &error), error);
    assert_near(x.loss, y.loss, 1e-13);
    fplt_model_destroy(soft);
    fplt_model_destroy(plain);
    fplt_dataset_destroy(dataset);
}

static void extreme_scores_have_probabilities(void **state)
{
    (void)state;
    double w[] = {1e6, 0, 0, 0, 0}, a[] = {1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0}, p[6];
    fplt_model *model = model_of(FPLT_TASK_BINARY, "logistic", w, 5);
    fplt_rows rows = {.count = 3, .features = FEATURES, .dense = a};
    fplt_error error;
    assert_ok(fplt_model_predict(model, &rows, NULL, p, NULL, &error), error);
    double expected[] = {0, 1, 1, 0, 0.5, 0.5};
    for (int i = 0; i < 6; i++)
        assert_true(p[i] == expected[i]);
    fplt_model_destroy(model);
    model = model_of(FPLT_TASK_BINARY, "squared-hinge", w, 5);
    assert_int_equal(fplt_model_predict(model, &rows, NULL, p, NULL, &error), FPLT_UNSUPPORTED);
    rows.features = 3;
    assert_int_equal(fplt_model_predict(model, &rows, NULL, NULL, p, &error), FPLT_BAD_VALUE);
    fplt_model_destroy(model);
}

/* Pairs counted one by one, each class against the rest by its probability. */
static double mean_area(const fplt_model *model, const fplt_rows *rows)
{
    double p[ROWS * CLASSES], sum = 0;
    fplt_error error;
    assert_ok(fplt_model_predict(model, rows, NULL, p, NULL, &error), error);
    for (size_t k = 0; k < CLASSES; k++) {
        double right = 0, pairs = 0;
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < ROWS; j++) {
                double a = p[i * CLASSES + k], b = p[j * CLASSES + k];
                if (rows->label[i] != (double)k || rows->label[j] == (double)k)
                    continue;
                pairs++;
                right += a > b ? 1 : a == b ? 0.5 : 0;
            }
        sum += right / pairs / CLASSES;
    }
    return sum;
}

static void classes_are_counted_out(void **state)
{
    (void)state;
    double w[CLASSES * (FEATURES + 1)];
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 1);
    fplt__stream_normals(&stream, 1, w, CLASSES * (FEATURES + 1));
    fplt_dataset *dataset = random_data(FPLT_TASK_CLASSES, 0, 5);
    fplt_model *model = model_of(FPLT_TASK_CLASSES, "softmax", w, CLASSES * (FEATURES + 1));
    fplt_rows rows = fplt_dataset_all(dataset);
    fplt_quality all;
    fplt_error error;
    double counts[CLASSES][CLASSES] = {{0}}, f1 = 0, hits = 0;
    assert_ok(fplt_model_evaluate(model, dataset, NULL, &all, &error), error);
    for (size_t i = 0; i < ROWS; i++) {
        size_t best = 0;
        double most = -INFINITY;
        for (size_t k = 0; k < CLASSES; k++) {
            double s = w[CLASSES * FEATURES + k];
            for (size_t j = 0; j < FEATURES; j++)
                s += w[k * FEATURES + j] * rows.dense[i * FEATURES + j];
            best = s > most ? k : best;
            most = fmax(most, s);
        }
        counts[best][(size_t)rows.label[i]]++;
    }
    for (size_t k = 0; k < CLASSES; k++) {
        double said = 0, is = 0;
        for (size_t l = 0; l < CLASSES; l++) {
            said += counts[k][l];
            is += counts[l][k];
        }
        hits += counts[k][k];
        f1 += 2 * counts[k][k] / (said + is) / CLASSES;
    }
    assert_near(all.accuracy, hits / ROWS, 1e-15);
    assert_near(all.f1, f1, 1e-14);
    assert_near(all.auc, mean_area(model, &rows), 1e-14);
    fplt_model_destroy(model);
    fplt_dataset_destroy(dataset);
}

static void regression_has_an_rmse(void **state)
{
    (void)state;
    fplt_dataset *dataset = random_data(FPLT_TASK_REGRESSION, 0, 9);
    fplt_model *model = model_of(FPLT_TASK_REGRESSION, "least-squares", binary_weights, 5);
    fplt_rows rows = fplt_dataset_all(dataset);
    fplt_quality all;
    fplt_error error;
    double squares = 0;
    assert_ok(fplt_model_evaluate(model, dataset, NULL, &all, &error), error);
    for (size_t i = 0; i < ROWS; i++)
        squares += pow(binary_score(rows.dense + i * FEATURES) - rows.label[i], 2);
    assert_near(all.rmse, sqrt(squares / ROWS), 1e-13);
    assert_near(all.loss, squares / ROWS / 2, 1e-12);
    assert_true(isnan(all.accuracy) && isnan(all.auc) && isnan(all.f1));
    fplt_model_destroy(model);
    model = model_of(FPLT_TASK_BINARY, "logistic", binary_weights, 5);
    assert_int_equal(fplt_model_evaluate(model, dataset, NULL, &all, &error), FPLT_BAD_VALUE);
    fplt_model_destroy(model);
    fplt_dataset_destroy(dataset);
}

static void survives_want_of_memory(void **state)
{
    (void)state;
    survives_failing_allocations(
        {
            fplt_settings *settings = NULL;
            fplt_job *job = NULL;
            fplt_engine *engine = NULL;
            fplt_model *model = NULL;
            status = fplt_settings_create(&settings, NULL);
            if (!status)
                status = fplt_job_declare(settings, FPLT_JOB_ALL, NULL, NULL);
            if (!status)
                status = fplt_settings_set(settings, "agents", "2", "test", NULL);
            if (!status)
                status = fplt_settings_set(settings, "rows", "8", "test", NULL);
            if (!status)
                status = fplt_settings_set(settings, "holdout", "0.5", "test", NULL);
            if (!status)
                status = fplt_settings_set(settings, "threads", "1", "test", NULL);
            if (!status)
                status = fplt__job_create(settings, 0, &job, NULL);
            if (!status)
                status = fplt_engine_create(fplt_job_get_view(job)->objective,
                                            &fplt_job_get_view(job)->run, &engine, NULL);
            if (!status)
                status = fplt__model_from_run(job, engine, NULL, NULL, &model, NULL);
            fplt_model_destroy(model);
            fplt_engine_destroy(engine);
            fplt_job_destroy(job);
            fplt_settings_destroy(settings);
        },
        30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_is_counted_out),
        cmocka_unit_test(softmax_of_two_is_logistic),
        cmocka_unit_test(extreme_scores_have_probabilities),
        cmocka_unit_test(classes_are_counted_out),
        cmocka_unit_test(regression_has_an_rmse),
        cmocka_unit_test(survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
