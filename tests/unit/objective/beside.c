/* Rows with weights and offsets, counts and survival times: against costs in long double straight from
 * their definitions, rows that are repeated as often as they weigh, offsets as one more feature, and
 * differences of gradients. */
#include "objective/objective_access.h"
#include "objective/problem.h"

enum { ROWS = 40, FEATURES = 4, AGENTS = 2 };

struct sample {
    double dense[ROWS * FEATURES], label[ROWS], weight[ROWS], offset[ROWS];
    size_t share[AGENTS];
};

/* Times on a coarse grid, so that many are equal; every third is censored. */
static struct sample sample_of(fplt_task task, uint64_t seed)
{
    struct sample s;
    fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t j = 0; j < FEATURES; j++)
            s.dense[r * FEATURES + j] = fplt_stream_normal(&stream);
        s.weight[r] = 1 + (double)fplt_stream_below(&stream, 3);
        s.offset[r] = fplt_stream_normal(&stream) / 2;
        double time = 1 + (double)fplt_stream_below(&stream, 9);
        double class = fplt_stream_below(&stream, 2) ? 1 : -1;
        s.label[r] = task == FPLT_TASK_BINARY     ? class
                     : task == FPLT_TASK_SURVIVAL ? (r % 3 ? time : -time)
                                                  : time - 1;
    }
    s.share[0] = 17;
    s.share[1] = ROWS - 17;
    return s;
}

static fplt_rows rows_of(const struct sample *s)
{
    return (fplt_rows){.count = ROWS,
                       .features = FEATURES,
                       .dense = s->dense,
                       .label = s->label,
                       .weight = s->weight,
                       .offset = s->offset};
}

static fplt_objective *objective_of(const fplt_rows *rows, fplt_task task, const size_t *share,
                                    uint32_t agents, const fplt_objective_settings *settings)
{
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(rows, task, share, agents, &dataset, &error), error);
    assert_ok(fplt_objective_create(settings, dataset, &objective, &error), error);
    fplt_dataset_destroy(dataset);
    return objective;
}

static const struct {
    const char *loss;
    fplt_task task;
} pairs[] = {
    {"logistic", FPLT_TASK_BINARY},  {"least-squares", FPLT_TASK_REGRESSION},
    {"huber", FPLT_TASK_REGRESSION}, {"poisson", FPLT_TASK_REGRESSION},
    {"cox", FPLT_TASK_SURVIVAL},     {"softmax", FPLT_TASK_BINARY},
};

enum { PAIRS = sizeof pairs / sizeof *pairs };

static fplt_objective_settings settings_of(size_t pair)
{
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.loss = pairs[pair].loss;
    settings.weight = 0.3;
    settings.intercept = fplt__loss_takes_intercept(pairs[pair].loss);
    settings.weigh_rows = 1;
    settings.predictor_bound = 2;
    return settings;
}

static void assert_same_cost(const fplt_objective *a, const fplt_objective *b, const double *x,
                             double tolerance, int values, const char *what)
{
    size_t n = fplt_objective_dimension(a);
    double *g = new_vector(n), *h = new_vector(n), *p = new_vector(n), *q = new_vector(n);
    double *scratch = new_scratch(a), *other = new_scratch(b), v, w;
    double *full = new_vector(n * n), *whole = new_vector(n * n);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_objective_value_gradient(a, i, x, &v, g, scratch);
        fplt_objective_value_gradient(b, i, x, &w, h, other);
        fplt__objective_hessian_times(a, i, x, g, p, scratch);
        fplt__objective_hessian_times(b, i, x, g, q, other);
        fplt__objective_hessian(a, i, x, full, scratch);
        fplt__objective_hessian(b, i, x, whole, other);
        if (!(distance(g, h, n) <= tolerance * (1 + norm_of(g, n)) &&
              distance(p, q, n) <= tolerance * (1 + norm_of(p, n)) &&
              distance(full, whole, n * n) <= tolerance * (1 + norm_of(full, n * n)) &&
              (!values || fabs(v - w) <= tolerance * (1 + fabs(v)))))
            fail_msg("%s, agent %u: gradients %g apart, products %g, Hessians %g, values %g", what,
                     i, distance(g, h, n), distance(p, q, n), distance(full, whole, n * n), v - w);
    }
    free(g), free(h), free(p), free(q), free(scratch), free(other), free(full), free(whole);
}

/* A row that weighs three counts as three such rows. */
static void a_weight_is_a_repetition(void **state)
{
    (void)state;
    for (size_t pair = 0; pair < PAIRS; pair++) {
        struct sample s = sample_of(pairs[pair].task, pair);
        static double dense[3 * ROWS * FEATURES], label[3 * ROWS], offset[3 * ROWS];
        size_t count = 0, share[AGENTS] = {0, 0};
        for (size_t r = 0; r < ROWS; r++)
            for (int k = 0; k < (int)s.weight[r]; k++, count++) {
                memcpy(dense + count * FEATURES, s.dense + r * FEATURES, sizeof(double[FEATURES]));
                label[count] = s.label[r];
                offset[count] = s.offset[r];
                share[r >= s.share[0]]++;
            }
        fplt_rows rows = rows_of(&s);
        fplt_rows repeated = {
            .count = count, .features = FEATURES, .dense = dense, .label = label, .offset = offset};
        if (strcmp(pairs[pair].loss, "softmax") == 0)
            rows.offset = repeated.offset = NULL;
        fplt_objective_settings settings = settings_of(pair);
        fplt_objective *a = objective_of(&rows, pairs[pair].task, s.share, AGENTS, &settings);
        fplt_objective *b = objective_of(&repeated, pairs[pair].task, share, AGENTS, &settings);
        double *x = random_vector(fplt_objective_dimension(a), pair, 0.5);
        /* weights with mean 1 shift the logarithms in Cox's value by a constant */
        assert_same_cost(a, b, x, 1e-12, strcmp(pairs[pair].loss, "cox") != 0, pairs[pair].loss);
        for (uint32_t i = 0; i < AGENTS; i++)
            for (int bound = 0; bound < 2; bound++) {
                fplt_curvature c, d;
                fplt_error error;
                assert_ok(fplt_objective_curvature(a, i, 0, &c, &error), error);
                assert_ok(fplt_objective_curvature(b, i, 0, &d, &error), error);
                if (strcmp(pairs[pair].loss, "cox") != 0) /* whose mean row is another */
                    assert_true(fabs(c.highest - d.highest) < 1e-9 * d.highest);
            }
        free(x);
        fplt_objective_destroy(a);
        fplt_objective_destroy(b);
    }
}

/* An offset is one more feature whose coefficient is 1. */
static void an_offset_is_a_known_feature(void **state)
{
    (void)state;
    for (size_t pair = 0; pair + 1 < PAIRS; pair++) {
        struct sample s = sample_of(pairs[pair].task, pair + 100);
        double dense[ROWS * (FEATURES + 1)];
        for (size_t r = 0; r < ROWS; r++) {
            memcpy(dense + r * (FEATURES + 1), s.dense + r * FEATURES, sizeof(double[FEATURES]));
            dense[r * (FEATURES + 1) + FEATURES] = s.offset[r];
        }
        fplt_rows rows = rows_of(&s), wide = rows;
        wide.offset = NULL;
        wide.dense = dense;
        wide.features = FEATURES + 1;
        fplt_objective_settings settings = settings_of(pair);
        settings.intercept = 0;
        settings.weight = 0;
        fplt_objective *a = objective_of(&rows, pairs[pair].task, s.share, AGENTS, &settings);
        fplt_objective *b = objective_of(&wide, pairs[pair].task, s.share, AGENTS, &settings);
        double *x = random_vector(FEATURES + 1, pair, 0.5), g[FEATURES], h[FEATURES + 1], v, w;
        double *scratch = new_scratch(a), *other = new_scratch(b);
        x[FEATURES] = 1;
        const uint32_t batch[] = {3, 1, 3};
        for (uint32_t i = 0; i < AGENTS; i++) {
            fplt_objective_value_gradient(a, i, x, &v, g, scratch);
            fplt_objective_value_gradient(b, i, x, &w, h, other);
            assert_true(distance(g, h, FEATURES) <= 1e-13 * (1 + norm_of(g, FEATURES)));
            assert_true(fabs(v - w) <= 1e-13 * (1 + fabs(v)));
            if (!fplt__objective_has_batches(a))
                continue;
            fplt__objective_batch_gradient(a, i, x, batch, 3, g, scratch);
            fplt__objective_batch_gradient(b, i, x, batch, 3, h, other);
            assert_true(distance(g, h, FEATURES) <= 1e-13 * (1 + norm_of(g, FEATURES)));
        }
        free(x), free(scratch), free(other);
        fplt_objective_destroy(a);
        fplt_objective_destroy(b);
    }
}

/* Batches of all records, each once, are the whole. */
static void batches_weigh_alike(void **state)
{
    (void)state;
    for (size_t pair = 0; pair < PAIRS; pair++) {
        struct sample s = sample_of(pairs[pair].task, pair + 200);
        fplt_rows rows = rows_of(&s);
        if (strcmp(pairs[pair].loss, "softmax") == 0)
            rows.offset = NULL;
        fplt_objective_settings settings = settings_of(pair);
        fplt_objective *o = objective_of(&rows, pairs[pair].task, s.share, AGENTS, &settings);
        size_t n = fplt_objective_dimension(o);
        double *x = random_vector(n, pair, 0.5), *g = new_vector(n), *h = new_vector(n);
        double *scratch = new_scratch(o);
        uint32_t all[ROWS];
        for (uint32_t r = 0; r < ROWS; r++)
            all[r] = r;
        fplt_status status = fplt__objective_batch_gradient(o, 0, x, all, s.share[0], h, scratch);
        if (strcmp(pairs[pair].loss, "cox") == 0) {
            assert_int_equal(status, FPLT_UNSUPPORTED);
        } else {
            fplt_objective_gradient(o, 0, x, g, scratch);
            assert_true(distance(g, h, n) <= 1e-13 * (1 + norm_of(g, n)));
        }
        free(x), free(g), free(h), free(scratch);
        fplt_objective_destroy(o);
    }
}

/* sum over events of w (mean over l of log(sum over those at risk of w e^m, less l/d of that over the d events of the
 * same time) - m), by two loops; Breslow's has no l. */
static long double naive_cox(const struct sample *s, size_t first, size_t count, const double *x,
                             int efron)
{
    long double m[ROWS], sum = 0, total = 0;
    for (size_t r = first; r < first + count; r++) {
        m[r] = s->offset[r];
        for (size_t j = 0; j < FEATURES; j++)
            m[r] += (long double)x[j] * s->dense[r * FEATURES + j];
        total += s->weight[r];
    }
    for (size_t j = first; j < first + count; j++) {
        long double risk = 0, tied = 0, logs = 0;
        int events = 0;
        if (s->label[j] < 0)
            continue;
        for (size_t k = first; k < first + count; k++) {
            long double part = s->weight[k] / total * count * expl(m[k]);
            risk += fabs(s->label[k]) >= s->label[j] ? part : 0;
            tied += s->label[k] == s->label[j] ? part : 0;
            events += s->label[k] == s->label[j];
        }
        for (int l = 0; l < events; l++)
            logs += logl(risk - (efron ? tied * l / events : 0)) / events;
        sum += s->weight[j] * (logs - m[j]);
    }
    return sum / total;
}

static long double naive_poisson(const struct sample *s, size_t first, size_t count,
                                 const double *x, double bound)
{
    long double sum = 0, total = 0;
    for (size_t r = first; r < first + count; r++) {
        long double m = s->offset[r], past;
        for (size_t j = 0; j < FEATURES; j++)
            m += (long double)x[j] * s->dense[r * FEATURES + j];
        past = m - bound;
        sum += s->weight[r] * ((past > 0 ? expl(bound) * (1 + past + past * past / 2) : expl(m)) -
                               s->label[r] * m);
        total += s->weight[r];
    }
    return sum / total;
}

/* Central differences of the value in long double: exact to about 1e-12 at this step. */
static void counts_and_times_follow_their_definitions(void **state)
{
    (void)state;
    for (int cox = 0; cox < 3; cox++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            fplt_task task = cox ? FPLT_TASK_SURVIVAL : FPLT_TASK_REGRESSION;
            struct sample s = sample_of(task, seed);
            fplt_rows rows = rows_of(&s);
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = cox ? "cox" : "poisson";
            settings.ties = cox == 2 ? "efron" : NULL;
            settings.weight = 0;
            settings.predictor_bound = 1.5;
            fplt_objective *o = objective_of(&rows, task, s.share, AGENTS, &settings);
            double *scratch = new_scratch(o), *x = random_vector(FEATURES, seed, 1);
            for (uint32_t i = 0; i < AGENTS; i++) {
                double value, gradient[FEATURES];
                size_t first = i ? s.share[0] : 0;
                assert_int_equal(fplt_objective_value_gradient(o, i, x, &value, gradient, scratch),
                                 FPLT_OK);
                long double exact = cox ? naive_cox(&s, first, s.share[i], x, cox == 2)
                                        : naive_poisson(&s, first, s.share[i], x, 1.5);
                assert_true(fabsl(value - exact) <= 1e-13L * (1 + fabsl(exact)));
                for (size_t j = 0; j < FEATURES; j++) {
                    double at[2][FEATURES], h = 0x1p-13;
                    long double side[2];
                    for (int k = 0; k < 2; k++) {
                        memcpy(at[k], x, sizeof at[k]);
                        at[k][j] += k ? h : -h;
                        side[k] = cox ? naive_cox(&s, first, s.share[i], at[k], cox == 2)
                                      : naive_poisson(&s, first, s.share[i], at[k], 1.5);
                    }
                    assert_true(fabsl((side[1] - side[0]) / (2 * h) - gradient[j]) <= 1e-6);
                }
            }
            free(scratch), free(x);
            fplt_objective_destroy(o);
        }
}

/* Hessians against differences of gradients, dense and sparse, and the stated curvature above them. */
static void hessians_and_curvature_hold(void **state)
{
    (void)state;
    for (size_t pair = 0; pair < PAIRS; pair++)
        for (int sparse = 0; sparse < 4; sparse++) { /* from 2 on Efron's ties */
            if (sparse > 1 && strcmp(pairs[pair].loss, "cox") != 0)
                continue;
            struct sample s = sample_of(pairs[pair].task, pair + 300);
            fplt_rows rows = rows_of(&s);
            size_t start[ROWS + 1];
            uint32_t column[ROWS * FEATURES];
            for (size_t e = 0; e < ROWS * FEATURES; e++)
                column[e] = (uint32_t)(e % FEATURES);
            for (size_t r = 0; r <= ROWS; r++)
                start[r] = r * FEATURES;
            if (sparse % 2) {
                rows.dense = NULL;
                rows.start = start;
                rows.column = column;
                rows.value = s.dense;
            }
            if (strcmp(pairs[pair].loss, "softmax") == 0)
                rows.offset = NULL;
            fplt_objective_settings settings = settings_of(pair);
            settings.ties = sparse > 1 ? "efron" : NULL;
            fplt_objective *o = objective_of(&rows, pairs[pair].task, s.share, AGENTS, &settings);
            size_t n = fplt_objective_dimension(o);
            double *x = random_vector(n, pair, 0.3), *scratch = new_scratch(o);
            double *full = new_vector(n * n), *g = new_vector(n), *h = new_vector(n);
            double *p = new_vector(n);
            fplt_curvature curvature, bound;
            fplt_error error;
            assert_ok(fplt_objective_curvature(o, 1, 0, &curvature, &error), error);
            assert_ok(fplt_objective_curvature(o, 1, 1, &bound, &error), error);
            fplt__objective_hessian(o, 1, x, full, scratch);
            for (size_t j = 0; j < n; j++) {
                double step = 1e-5, top = 0;
                x[j] += step;
                fplt_objective_gradient(o, 1, x, g, scratch);
                x[j] -= 2 * step;
                fplt_objective_gradient(o, 1, x, h, scratch);
                x[j] += step;
                for (size_t k = 0; k < n; k++)
                    p[k] = (g[k] - h[k]) / (2 * step);
                assert_true(distance(p, full + j * n, n) <= 1e-7 * (1 + norm_of(p, n)));
                /* a quotient v'Hv/v'v in a random direction is no larger than the curvature */
                double *v = random_vector(n, 7 * pair + j, 1);
                fplt__objective_hessian_times(o, 1, x, v, p, scratch);
                for (size_t k = 0; k < n; k++)
                    top += v[k] * p[k];
                assert_true(top <= curvature.highest * norm_of(v, n) * norm_of(v, n));
                assert_true(top <= bound.highest * norm_of(v, n) * norm_of(v, n));
                free(v);
            }
            free(x), free(scratch), free(full), free(g), free(h), free(p);
            fplt_objective_destroy(o);
        }
}

static void refuse(const fplt_rows *rows, fplt_task task, const fplt_objective_settings *settings,
                   const char *part)
{
    size_t share = rows->count;
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(rows, task, &share, 1, &dataset, &error), error);
    assert_int_not_equal(fplt_objective_create(settings, dataset, &objective, &error), FPLT_OK);
    assert_contains(error.text, part);
    fplt_dataset_destroy(dataset);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct sample s = sample_of(FPLT_TASK_SURVIVAL, 1);
    fplt_rows rows = rows_of(&s);
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.loss = "cox";
    settings.intercept = 1;
    refuse(&rows, FPLT_TASK_SURVIVAL, &settings, "does not see an intercept");
    settings.intercept = 0;
    settings.clip = 1;
    refuse(&rows, FPLT_TASK_SURVIVAL, &settings, "no sum over records");
    refuse(&rows, FPLT_TASK_REGRESSION, &settings, "does not fit a data set for regression");
    settings.clip = 0;
    settings.ties = "exact";
    refuse(&rows, FPLT_TASK_SURVIVAL, &settings, "has efron and breslow");
    settings.ties = "efron";
    settings.loss = "least-squares";
    refuse(&rows, FPLT_TASK_REGRESSION, &settings, "no ties of events");
    settings = fplt_objective_defaults();
    settings.loss = "poisson";
    refuse(&rows, FPLT_TASK_REGRESSION, &settings, "is of counts, at least 0");
    s = sample_of(FPLT_TASK_REGRESSION, 1);
    settings.predictor_bound = 1e4;
    refuse(&rows, FPLT_TASK_REGRESSION, &settings, "between -700 and 700");
    s = sample_of(FPLT_TASK_BINARY, 1);
    settings.loss = "softmax";
    refuse(&rows, FPLT_TASK_BINARY, &settings, "one output a class");
}

/* Margins of +-5,000 give finite slopes, and the automatic bound covers the labels. */
static void extremes_stay_finite(void **state)
{
    (void)state;
    for (int cox = 0; cox < 2; cox++) {
        fplt_task task = cox ? FPLT_TASK_SURVIVAL : FPLT_TASK_REGRESSION;
        struct sample s = sample_of(task, 9);
        fplt_rows rows = rows_of(&s);
        fplt_objective_settings settings = fplt_objective_defaults();
        settings.loss = cox ? "cox" : "poisson";
        fplt_objective *o = objective_of(&rows, task, s.share, AGENTS, &settings);
        double *scratch = new_scratch(o), *x = random_vector(FEATURES, 3, 5000), value;
        double g[FEATURES], p[FEATURES];
        assert_int_equal(fplt_objective_value_gradient(o, 0, x, &value, g, scratch), FPLT_OK);
        assert_int_equal(fplt__objective_hessian_times(o, 0, x, x, p, scratch), FPLT_OK);
        assert_true(isfinite(value) && isfinite(norm_of(g, FEATURES)) &&
                    isfinite(norm_of(p, FEATURES)));
        free(scratch), free(x);
        fplt_objective_destroy(o);
    }
}

/* Cox's Hessian where single records outweigh all others at risk, beside sums over times of covariances in long
 * double, which are of differences only. */
static void hessians_of_extreme_margins(void **state)
{
    enum { PATIENTS = 12 };
    (void)state;
    for (int efron = 0; efron < 2; efron++)
        for (double spread = 1; spread < 40; spread *= 2) {
            double a[PATIENTS], b[2 * PATIENTS], label[PATIENTS], x[] = {1, 0}, h[4];
            const size_t share[] = {PATIENTS};
            long double exact[2][2] = {{0}};
            for (int r = 0; r < PATIENTS; r++) {
                a[r] = spread * ((r * 5 % PATIENTS) - PATIENTS / 2.0) / 3;
                b[2 * r] = a[r];
                b[2 * r + 1] = 0.3 * (r * 7 % 5) - 0.1 * r;
                label[r] = (r % 4 == 3 ? -1 : 1) * (1 + (double)(r / 2)); /* pairs of one time */
            }
            for (int r = 0; r < PATIENTS; r += 2) {
                int events = (label[r] > 0) + (label[r + 1] > 0);
                for (int l = 0; l < events; l++) {
                    long double p[PATIENTS] = {0}, sum = 0, mean[2] = {0}, centre[2];
                    int most = r;
                    for (int k = r; k < PATIENTS; k++)
                        most = a[k] > a[most] ? k : most;
                    for (int k = r; k < PATIENTS; k++) {
                        int now = k < r + 2 && label[k] > 0;
                        p[k] = expl((long double)a[k] - a[most]) *
                               (efron && now ? 1 - (long double)l / events : 1);
                        sum += p[k];
                    }
                    for (int j = 0; j < 2; j++) /* from the one that weighs most */
                        for (int k = r; k < PATIENTS; k++)
                            mean[j] += p[k] / sum * ((long double)b[2 * k + j] - b[2 * most + j]);
                    for (int k = r; k < PATIENTS; k++) {
                        for (int j = 0; j < 2; j++)
                            centre[j] = ((long double)b[2 * k + j] - b[2 * most + j]) - mean[j];
                        for (int i = 0; i < 4; i++)
                            exact[i / 2][i % 2] += p[k] / sum * centre[i / 2] * centre[i % 2];
                    }
                }
            }
            fplt_rows rows = {.count = PATIENTS, .features = 2, .dense = b, .label = label};
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = "cox";
            settings.regulariser = "none";
            settings.ties = efron ? "efron" : "breslow";
            fplt_objective *o = objective_of(&rows, FPLT_TASK_SURVIVAL, share, 1, &settings);
            double *scratch = new_scratch(o);
            assert_int_equal(fplt__objective_hessian(o, 0, x, h, scratch), FPLT_OK);
            for (int i = 0; i < 4; i++)
                if (fabs(h[i] * PATIENTS - (double)exact[i / 2][i % 2]) >
                    1e-13 * fabs((double)exact[i / 2][i % 2]))
                    fail_msg("efron %d, spread %g, element %d: %.17g, but it is %.17Lg", efron,
                             spread, i, h[i] * PATIENTS, exact[i / 2][i % 2]);
            free(scratch);
            fplt_objective_destroy(o);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_weight_is_a_repetition),
        cmocka_unit_test(an_offset_is_a_known_feature),
        cmocka_unit_test(batches_weigh_alike),
        cmocka_unit_test(counts_and_times_follow_their_definitions),
        cmocka_unit_test(hessians_and_curvature_hold),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(extremes_stay_finite),
        cmocka_unit_test(hessians_of_extreme_margins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
