/* Rows kept as floats: every number of the objective has the bits that doubles give on rows that were rounded
 * beforehand, by other means than the library's; towards 0 no row becomes longer. */
#include <fenv.h>

#include "base/random.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "objective/problem.h"
#include "fedplt/transform.h"

static const char *const kernels[] = {"reference", "avx2", "avx512"};

static const struct {
    const char *loss;
    fplt_task task;
} pairs[] = {
    {"logistic", FPLT_TASK_BINARY},
    {"squared-hinge", FPLT_TASK_BINARY},
    {"least-squares", FPLT_TASK_REGRESSION},
    {"huber", FPLT_TASK_REGRESSION},
    {"poisson", FPLT_TASK_REGRESSION},
    {"softmax", FPLT_TASK_CLASSES},
    {"cox", FPLT_TASK_SURVIVAL},
    {"probit", FPLT_TASK_BINARY},
    {"gamma", FPLT_TASK_REGRESSION},
    {"negative-binomial", FPLT_TASK_REGRESSION},
    {"ordinal", FPLT_TASK_CLASSES},
};

enum { PAIRS = sizeof pairs / sizeof *pairs };

/* By the processor's own mode of rounding. */
static double rounded(double number, int inward)
{
    volatile double from = number;
    assert_int_equal(fesetround(inward ? FE_TOWARDZERO : FE_TONEAREST), 0);
    volatile float to = (float)from;
    fesetround(FE_TONEAREST);
    return to;
}

/* The data set twice, as it is and rounded; with what a loss asks of labels, and weights and offsets if
 * wanted. */
struct both {
    fplt_dataset *raw, *round;
};

static struct both both_of(const problem *p, const char *loss, int beside, int inward,
                           uint64_t seed)
{
    struct both both;
    fplt_error error;
    problem drawn = *p;
    if (p->task == FPLT_TASK_SURVIVAL)
        drawn.task = FPLT_TASK_REGRESSION;
    fplt_dataset *dataset = problem_dataset(&drawn, seed);
    fplt_rows all = fplt_dataset_all(dataset);
    size_t count = all.dense ? p->rows * p->features : all.start[p->rows], share[64];
    double *numbers = new_vector(count), *label = new_vector(p->rows),
           *weight = random_vector(p->rows, seed + 1, 1),
           *offset = random_vector(p->rows, seed + 2, 0.3);
    for (size_t i = 0; i < count; i++)
        numbers[i] = rounded(all.dense ? all.dense[i] : all.value[i], inward);
    for (size_t r = 0; r < p->rows; r++) {
        label[r] = strcmp(loss, "poisson") == 0 ? floor(fabs(all.label[r]))
                   : problem_is_positive(loss)  ? 0.05 + fabs(all.label[r])
                                                : all.label[r];
        weight[r] = 0.1 + fabs(weight[r]);
    }
    for (uint32_t i = 0; i < p->agents; i++)
        share[i] = fplt_dataset_shard(dataset, i).count;
    all.label = label;
    all.weight = beside ? weight : NULL;
    all.offset = beside && p->task != FPLT_TASK_CLASSES ? offset : NULL;
    assert_ok(fplt_dataset_from_rows(&all, p->task, share, p->agents, &both.raw, &error), error);
    *(all.dense ? &all.dense : &all.value) = numbers;
    assert_ok(fplt_dataset_from_rows(&all, p->task, share, p->agents, &both.round, &error), error);
    free(numbers);
    free(label);
    free(weight);
    free(offset);
    fplt_dataset_destroy(dataset);
    return both;
}

static void discard(struct both *both)
{
    fplt_dataset_destroy(both->raw);
    fplt_dataset_destroy(both->round);
}

#define same_bits(a, b, count) assert_memory_equal(a, b, (count) * sizeof *(a))

static void same_minibatch(const fplt_objective *a, const fplt_objective *b, uint32_t agent,
                           const double *x, double *room, double *scratch)
{
    size_t n = fplt_objective_dimension(a), q = fplt_objective_records(a, agent);
    uint32_t rows[50];
    for (size_t r = 0; r < 50; r++)
        rows[r] = (uint32_t)((13 * r + 5) % q);
    for (size_t count = 1; count <= 50; count += 7) {
        fplt_status status =
            fplt__objective_batch_gradient(a, agent, x, rows, count, room, scratch);
        assert_int_equal(
            fplt__objective_batch_gradient(b, agent, x, rows, count, room + n, scratch), status);
        if (!status)
            same_bits(room, room + n, n);
    }
}

static void same_numbers(const fplt_objective *a, const fplt_objective *b, uint64_t seed)
{
    size_t n = fplt_objective_dimension(a), hits[2];
    double *x = random_vector(n, seed, 1 / sqrt((double)n)), *v = random_vector(n, seed + 1, 1),
           *one = new_vector(2 * n * n + 2 * n), *other = one + n * n + n,
           *scratch = new_scratch(fplt_objective_scratch(a) > fplt_objective_scratch(b) ? a : b),
           values[2];
    int classifies[2];
    for (uint32_t i = 0; i < fplt_objective_agents(a); i++) {
        fplt_curvature bend[2] = {{0, 0}, {0, 0}};
        fplt_error error;
        fplt_objective_gradient(a, i, x, one, scratch);
        fplt_objective_gradient(b, i, x, other, scratch);
        same_bits(one, other, n);
        fplt__objective_measure(a, i, x, &values[0], one, &hits[0], &classifies[0], scratch);
        fplt__objective_measure(b, i, x, &values[1], other, &hits[1], &classifies[1], scratch);
        same_bits(one, other, n);
        assert_true(values[0] == values[1] && hits[0] == hits[1]);
        fplt__objective_hessian_times(a, i, x, v, one, scratch);
        fplt__objective_hessian_times(b, i, x, v, other, scratch);
        same_bits(one, other, n);
        same_minibatch(a, b, i, x, one, scratch);
        for (int bound = 0; bound < 2; bound++) {
            assert_ok(fplt_objective_curvature(a, i, bound, &bend[0], &error), error);
            assert_ok(fplt_objective_curvature(b, i, bound, &bend[1], &error), error);
            assert_true(bend[0].lowest == bend[1].lowest && bend[0].highest == bend[1].highest);
        }
        if (n > 150)
            continue;
        fplt__objective_hessian(a, i, x, one, scratch);
        fplt__objective_hessian(b, i, x, other, scratch);
        same_bits(one, other, n * n);
        fplt_status status = a->kind->loss_scores(a, i, x, one, scratch);
        assert_int_equal(b->kind->loss_scores(b, i, x, other, scratch), status);
        if (!status)
            same_bits(one, other, n * n);
    }
    free(x);
    free(v);
    free(one);
    free(scratch);
}

/* With every kernel that the machine has. */
static void compare(const problem *p, const fplt_objective_settings *given, int beside,
                    uint64_t seed)
{
    struct both data = both_of(p, given->loss, beside, given->inward, seed);
    for (size_t k = 0; k < 3; k++) {
        fplt_objective *narrow, *wide;
        fplt_error error;
        fplt_objective_settings settings = *given;
        settings.kernel = kernels[k];
        settings.precision = "double";
        fplt_status status = fplt_objective_create(&settings, data.round, &wide, &error);
        if (lacks_kernel(status))
            continue; /* this machine lacks it */
        assert_ok(status, error);
        settings.precision = "float32";
        assert_ok(fplt_objective_create(&settings, data.raw, &narrow, &error), error);
        assert_string_equal(fplt__objective_precision(narrow), "float32");
        assert_string_equal(fplt__objective_precision(wide), "double");
        same_numbers(narrow, wide, seed);
        fplt_objective_destroy(narrow);
        fplt_objective_destroy(wide);
    }
    discard(&data);
}

static void every_shape(void **state)
{
    (void)state;
    static const size_t wide[] = {31, 40, 64, 100, 129}, rows[] = {1, 7, 9, 33, 300};
    uint64_t seed = 0;
    for (size_t i = 0; i < 31; i++)
        for (size_t k = 0; k < 5; k++)
            for (int kind = 0; kind < 3; kind++) {
                problem p = {.task = FPLT_TASK_BINARY,
                             .features = i < 26 ? i + 1 : wide[i - 26],
                             .rows = rows[k],
                             .sparse = kind > 0,
                             .same = kind == 2 ? 0.1 : 0,
                             .agents = 1};
                fplt_objective_settings settings = fplt_objective_defaults();
                compare(&p, &settings, 0, ++seed);
            }
}

static void every_loss(void **state)
{
    (void)state;
    static const size_t features[] = {4, 21, 70};
    uint64_t seed = 1000;
    for (size_t i = 0; i < PAIRS; i++)
        for (unsigned variant = 0; variant < 3 * 2 * 2 * 2 * 2; variant++) {
            problem p = {.task = pairs[i].task,
                         .features = features[variant % 3],
                         .rows = 299,
                         .sparse = variant / 3 % 2,
                         .agents = 3,
                         .classes = 4};
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = pairs[i].loss;
            settings.intercept = (variant / 6 % 2 || problem_needs_intercept(pairs[i].loss)) &&
                                 fplt__loss_takes_intercept(pairs[i].loss);
            settings.clip = variant / 12 % 2 && pairs[i].task != FPLT_TASK_SURVIVAL &&
                                    !problem_is_shared(pairs[i].loss)
                                ? 0.9
                                : 0;
            settings.inward = variant / 6 % 2;
            settings.predictor_bound = 2;
            if (drawn_takes(++seed))
                compare(&p, &settings, variant / 24 % 2, seed);
        }
}

/* A large shard in many parts. */
static void parts(void **state)
{
    (void)state;
    problem p = {.task = FPLT_TASK_BINARY, .features = 20, .rows = 20001, .agents = 1};
    fplt_objective_settings settings = fplt_objective_defaults();
    compare(&p, &settings, 0, 77);
}

/* Numbers that are one float but not one double: the row has one number all along, as it is kept. */
static void numbers_that_meet(void **state)
{
    (void)state;
    enum { ROWS = 12, FEATURES = 6 };
    double value[ROWS * FEATURES], label[ROWS];
    uint32_t column[ROWS * FEATURES];
    size_t start[ROWS + 1] = {0}, rows = ROWS;
    for (size_t r = 0; r < ROWS; r++) {
        label[r] = r % 2 ? 1 : -1;
        start[r + 1] = (r + 1) * FEATURES;
        for (size_t j = 0; j < FEATURES; j++) {
            column[r * FEATURES + j] = (uint32_t)j;
            value[r * FEATURES + j] = 0.3 + 1e-12 * (double)j;
        }
    }
    fplt_rows view = {.count = ROWS,
                      .features = FEATURES,
                      .start = start,
                      .column = column,
                      .value = value,
                      .label = label};
    fplt_dataset *dataset;
    fplt_objective *o;
    fplt_error error;
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.precision = "float32";
    assert_ok(fplt_dataset_from_rows(&view, FPLT_TASK_BINARY, &rows, 1, &dataset, &error), error);
    assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
    assert_non_null(fplt__shard_of(o, 0).matrix.same);
    assert_true(fabs(fplt__shard_of(o, 0).matrix.same[0]) == (double)0.3f);
    fplt_objective_destroy(o);
    fplt_dataset_destroy(dataset);
}

/* Rows that end on a bound: to the nearest, many are longer than it; towards 0, none. A minibatch of one at 0
 * is half the row. */
static void bounds_hold(void **state)
{
    (void)state;
    enum { ROWS = 500, FEATURES = 7 };
    static double a[ROWS * FEATURES], label[ROWS];
    size_t rows = ROWS, longer[2] = {0, 0};
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt__stream_normals(&stream, 1, a, ROWS * FEATURES);
    fplt_rows view = {.count = ROWS, .features = FEATURES, .dense = a, .label = label};
    fplt_dataset *dataset;
    fplt_error error;
    for (size_t r = 0; r < ROWS; r++)
        label[r] = r % 2 ? 1 : -1;
    assert_ok(fplt_dataset_from_rows(&view, FPLT_TASK_BINARY, &rows, 1, &dataset, &error), error);
    fplt_transform transform;
    fplt_transform_settings shorten = fplt_transform_defaults();
    shorten.radius = 0.3;
    assert_ok(fplt_transform_fit(dataset, &shorten, &transform, &error), error);
    assert_ok(fplt_transform_apply(&transform, dataset, &error), error);
    for (int inward = 0; inward < 2; inward++) {
        fplt_objective *o;
        double x[FEATURES] = {0}, g[FEATURES];
        fplt_objective_settings settings = fplt_objective_defaults();
        settings.regulariser = "none";
        settings.precision = "float32";
        settings.inward = inward;
        assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
        double *scratch = new_scratch(o);
        for (uint32_t r = 0; r < ROWS; r++) {
            fplt__objective_batch_gradient(o, 0, x, &r, 1, g, scratch);
            longer[inward] += 2 * norm_of(g, FEATURES) > 0.3;
        }
        free(scratch);
        fplt_objective_destroy(o);
    }
    fplt_transform_clear(&transform);
    fplt_dataset_destroy(dataset);
    assert_true(longer[0] > ROWS / 4);
    assert_int_equal(longer[1], 0);
}

static void refusals(void **state)
{
    (void)state;
    double a[4] = {1, 2, 1e39, 1}, label[2] = {1, -1};
    size_t rows = 2;
    fplt_rows view = {.count = 2, .features = 2, .dense = a, .label = label};
    fplt_dataset *dataset;
    fplt_objective *o;
    fplt_error error;
    fplt_objective_settings settings = fplt_objective_defaults();
    assert_ok(fplt_dataset_from_rows(&view, FPLT_TASK_BINARY, &rows, 1, &dataset, &error), error);
    settings.precision = "float32";
    assert_int_equal(fplt_objective_create(&settings, dataset, &o, &error), FPLT_BAD_DATA);
    assert_contains(error.text,
                    "row 1: a number is not finite, or too large for precision float32");
    settings.precision = "float16";
    assert_int_equal(fplt_objective_create(&settings, dataset, &o, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "there is no 'float16'; there are double, float32");
    settings.precision = NULL;
    assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
    fplt_objective_destroy(o);
    fplt_dataset_destroy(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape), cmocka_unit_test(every_loss),
        cmocka_unit_test(parts),       cmocka_unit_test(numbers_that_meet),
        cmocka_unit_test(bounds_hold), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("precision", tests, NULL, NULL);
}
