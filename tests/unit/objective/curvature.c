/* Bounds of the curvature against LAPACK's eigenvalues of the Hessian, at random points and of the
 * data themselves. */
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "objective/problem.h"
#include "fedplt/objective_callbacks.h"

#include <lapacke.h>

static const struct {
    const char *loss;
    fplt_task task;
    double most; /* second derivative in the margin */
} pairs[] = {
    {"logistic", FPLT_TASK_BINARY, 0.25},       {"squared-hinge", FPLT_TASK_BINARY, 1},
    {"least-squares", FPLT_TASK_REGRESSION, 1}, {"huber", FPLT_TASK_REGRESSION, 1},
    {"softmax", FPLT_TASK_CLASSES, 0.5},        {"probit", FPLT_TASK_BINARY, 1},
};

static const char *const regularisers[] = {"ridge", "nonconvex", "none"};

static void eigenvalues(double *a, size_t n, double *w)
{
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', (lapack_int)n, a, (lapack_int)n, w),
                     0);
}

/* lambda_max(A'A/q), intercept included */
static double largest_of_data(const fplt_rows *rows, int intercept)
{
    size_t n = rows->features + (intercept != 0);
    double *gram = new_vector(n * n), *row = new_vector(n), *w = new_vector(n);
    for (size_t r = 0; r < rows->count; r++) {
        memset(row, 0, n * sizeof *row);
        if (rows->dense)
            memcpy(row, rows->dense + r * rows->features, rows->features * sizeof *row);
        for (size_t e = rows->dense ? 0 : rows->start[r]; !rows->dense && e < rows->start[r + 1];
             e++)
            row[rows->column[e]] = rows->value[e];
        if (intercept)
            row[n - 1] = 1;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                gram[i * n + j] += row[i] * row[j] / (double)rows->count;
    }
    eigenvalues(gram, n, w);
    double largest = w[n - 1];
    free(gram);
    free(row);
    free(w);
    return largest;
}

static void check(const problem *p, const fplt_objective_settings *settings, double most,
                  uint64_t seed)
{
    fplt_dataset *dataset = problem_dataset(p, seed);
    fplt_objective *o;
    fplt_error error;
    assert_ok(fplt_objective_create(settings, dataset, &o, &error), error);
    size_t n = fplt_objective_dimension(o);
    double *scratch = new_scratch(o), *hessian = new_vector(n * n), *w = new_vector(n);
    for (uint32_t agent = 0; agent < p->agents; agent++) {
        fplt_curvature estimate, bound;
        assert_ok(fplt_objective_curvature(o, agent, 0, &estimate, &error), error);
        assert_ok(fplt_objective_curvature(o, agent, 1, &bound, &error), error);
        fplt_rows rows = fplt_dataset_shard(dataset, agent);
        double scale = settings->weigh_rows ? (double)rows.count * p->agents / (double)p->rows : 1;
        double extra = strcmp(settings->regulariser, "ridge") == 0       ? settings->weight
                       : strcmp(settings->regulariser, "nonconvex") == 0 ? 2 * settings->weight
                                                                         : 0;
        double truth = scale * (most * largest_of_data(&rows, settings->intercept) + extra);
        if (!(estimate.highest >= truth && estimate.highest <= 1.0101 * truth))
            fail_msg("%s, %s, %zu features: highest %.15g, truth %.15g", settings->loss,
                     settings->regulariser, p->features, estimate.highest, truth);
        assert_true(bound.highest >= truth * (1 - 1e-14));
        assert_true(bound.lowest <= estimate.lowest + 1e-15);
        for (int point = 0; point < 3; point++) {
            double *x = random_vector(n, seed + (uint64_t)point, point ? 1 : 0);
            assert_int_equal(fplt__objective_hessian(o, agent, x, hessian, scratch), FPLT_OK);
            eigenvalues(hessian, n, w);
            fplt_curvature near;
            assert_ok(fplt_objective_probe(o, agent, x, &near, &error), error);
            if (n <= 40) /* as many steps as coordinates */
                assert_near(near.lowest, w[0], 1e-9 * (1 + w[n - 1]));
            assert_true(near.lowest >= w[0] - 1e-9 * (1 + w[n - 1]));
            assert_near(near.highest, 1.01 * fmax(w[n - 1], -w[0]), 0.01 * near.highest);
            double slack = 1e-13 * (1 + w[n - 1]);
            if (!(w[0] >= estimate.lowest - slack && w[n - 1] <= estimate.highest + slack &&
                  w[n - 1] <= bound.highest + slack))
                fail_msg("%s, %s: eigenvalues %g .. %g outside %g .. %g", settings->loss,
                         settings->regulariser, w[0], w[n - 1], estimate.lowest, estimate.highest);
            if (fplt__objective_is_quadratic(o))
                assert_near(estimate.lowest, w[0], 1e-10 * (1 + w[n - 1]));
            free(x);
        }
    }
    free(scratch);
    free(hessian);
    free(w);
    fplt_objective_destroy(o);
    fplt_dataset_destroy(dataset);
}

static void bounds_hold(void **state)
{
    (void)state;
    uint64_t seed = 500;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (unsigned variant = 0; variant < 3 * 2 * 2 * 2; variant++) {
            problem p = {.task = pairs[i].task,
                         .features = variant % 5 + 2,
                         .rows = 80,
                         .sparse = variant / 3 % 2,
                         .agents = 3,
                         .classes = 3,
                         .same = variant / 12 % 2};
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = pairs[i].loss;
            settings.regulariser = regularisers[variant % 3];
            settings.weight = 0.2;
            settings.intercept = variant / 6 % 2;
            settings.weigh_rows = variant / 12 % 2;
            check(&p, &settings, pairs[i].most, ++seed);
        }
}

/* What is listed of a triangle is all of it that is not zero, bit by bit, and leaves no trace in the zeros. */
static void check_list(const fplt_objective *o, uint32_t agent, const double *x, double *triangle,
                       double *scratch)
{
    enum { FIRST = 7 };
    size_t n = fplt_objective_dimension(o), numbers = n * (n + 1) / 2, found = 0;
    double *zeros = new_vector(numbers), *number = new_vector(numbers);
    uint32_t *at = calloc(numbers, sizeof *at);
    fplt__places places = {at, number, numbers, FIRST, 0};
    assert_non_null(at);
    assert_int_equal(fplt__objective_list_triangle(o, agent, x, zeros, &places, scratch), FPLT_OK);
    for (size_t k = 0; k < places.count; k++) {
        assert_in_range(at[k], FIRST, FIRST + numbers - 1);
        assert_memory_equal(&number[k], &triangle[at[k] - FIRST], sizeof *number);
        triangle[at[k] - FIRST] = 0; /* each place once */
        found += number[k] != 0;
    }
    assert_int_equal(found, places.count);
    for (size_t k = 0; k < numbers; k++)
        assert_true(triangle[k] == 0 && zeros[k] == 0);
    fplt__places few = {at, number, n + 1, 0, 0};
    assert_int_equal(fplt__objective_list_triangle(o, agent, x, zeros, &few, scratch),
                     FPLT_UNSUPPORTED);
    assert_int_equal(few.count, 0);
    free(zeros);
    free(number);
    free(at);
}

/* What agents of sparse rows send and what is summed over them, with the bits of their whole matrices. */
static void triangles_are_lower_halves(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        problem p = {.task = pairs[i].task, .features = 40, .rows = 60, .sparse = 1, .agents = 20};
        fplt_objective_settings settings = fplt_objective_defaults();
        fplt_dataset *dataset = problem_dataset(&p, 70 + i);
        fplt_objective *o;
        fplt_error error;
        settings.loss = pairs[i].loss;
        settings.regulariser = regularisers[i % 3];
        settings.weight = 0.2;
        settings.intercept = i % 2;
        settings.weigh_rows = i / 2 % 2;
        assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
        size_t n = fplt_objective_dimension(o);
        double *scratch = new_scratch(o), *hessian = new_vector(n * n), *x = random_vector(n, i, 1);
        double *triangle = new_vector(n * n), *sums = new_vector(2 * n * n);
        double *expected = new_vector(2 * n * n);
        for (uint32_t agent = 0; agent < p.agents; agent++) {
            const double *at = triangle;
            assert_int_equal(fplt__objective_hessian(o, agent, x, hessian, scratch), FPLT_OK);
            assert_int_equal(fplt__objective_triangle(o, agent, x, triangle, scratch), FPLT_OK);
            for (size_t r = 0; r < n; r++)
                for (size_t c = 0; c <= r; c++)
                    assert_true(*at++ == hessian[r * n + c]);
            check_list(o, agent, x, triangle, scratch);
            assert_int_equal(fplt__objective_loss_hessian(o, agent, x, hessian, scratch), FPLT_OK);
            for (size_t k = 0; k < n * n; k++)
                expected[k] += o->unit * hessian[k];
            assert_int_equal(o->kind->loss_scores(o, agent, x, hessian, scratch), FPLT_OK);
            for (size_t k = 0; k < n * n; k++)
                expected[n * n + k] += o->unit * o->unit * hessian[k];
        }
        fplt__information information = {sums, sums + n * n, NULL};
        assert_ok(fplt__objective_information(o, x, &information, &error), error);
        for (size_t k = 0; k < 2 * n * n; k++)
            assert_true(sums[k] == expected[k]);
        free(scratch);
        free(hessian);
        free(x);
        free(triangle);
        free(sums);
        free(expected);
        fplt_objective_destroy(o);
        fplt_dataset_destroy(dataset);
    }
}

/* Long rows, where Lanczos works; few rows, so that B has many zero eigenvalues. */
static void lanczos(void **state)
{
    (void)state;
    static const size_t features[] = {64, 65, 66, 120, 200}, rows[] = {1, 2, 9, 150, 600};
    uint64_t seed = 900;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            for (int sparse = 0; sparse < 2; sparse++) {
                problem p = {.task = FPLT_TASK_BINARY,
                             .features = features[i],
                             .rows = rows[j],
                             .sparse = sparse,
                             .agents = 1};
                fplt_objective_settings settings = fplt_objective_defaults();
                settings.weight = 0.01;
                settings.intercept = (i + j) % 2;
                check(&p, &settings, 0.25, ++seed);
            }
}

/* In closed form: eps for ridge, 0 with an intercept or without ridge, -eps/2 where nonconvex. */
static void lowest_of_the_regulariser(void **state)
{
    (void)state;
    problem p = {.task = FPLT_TASK_BINARY, .features = 4, .rows = 30, .agents = 1};
    const double expected[2][3] = {{0.5, -0.25, 0}, {0, -0.25, 0}};
    for (int intercept = 0; intercept < 2; intercept++)
        for (int r = 0; r < 3; r++) {
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.regulariser = regularisers[r];
            settings.intercept = intercept;
            fplt_objective *o = problem_objective(&p, 3, &settings);
            fplt_curvature curvature;
            fplt_error error;
            assert_ok(fplt_objective_curvature(o, 0, 0, &curvature, &error), error);
            assert_true(curvature.lowest == expected[intercept][r]);
            assert_int_equal(fplt_objective_curvature(o, 1, 0, &curvature, &error), FPLT_BAD_VALUE);
            fplt_objective_destroy(o);
        }
}

/* From some of the rows: within a factor of the truth that a sample of 512 rows of so many columns allows, and
 * never a lowest that is too high. */
static void a_rough_look_is_near(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < 8; variant++) {
        problem p = {.task = FPLT_TASK_BINARY,
                     .features = variant % 2 ? 20 : 90,
                     .rows = variant / 2 % 2 ? 9001 : 700,
                     .agents = 2,
                     .sparse = variant / 4 % 2};
        fplt_objective_settings settings = fplt_objective_defaults();
        settings.weight = 1e-3;
        fplt_objective *o = problem_objective(&p, 60 + variant, &settings);
        for (uint32_t i = 0; i < p.agents; i++) {
            fplt_curvature close, rough;
            fplt_error error;
            assert_ok(fplt_objective_curvature(o, i, FPLT_CURVATURE_CLOSE, &close, &error), error);
            assert_ok(fplt_objective_curvature(o, i, FPLT_CURVATURE_ROUGH, &rough, &error), error);
            if (!(rough.highest > 0.6 * close.highest && rough.highest < 2 * close.highest))
                fail_msg("%zu features, %zu rows: %g instead of %g", p.features, p.rows,
                         rough.highest, close.highest);
            assert_true(rough.lowest <= close.lowest);
        }
        fplt_objective_destroy(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(triangles_are_lower_halves),
        cmocka_unit_test(lanczos),
        cmocka_unit_test(a_rough_look_is_near),
        cmocka_unit_test(lowest_of_the_regulariser),
    };
    return cmocka_run_group_tests_name("curvature", tests, NULL, NULL);
}
