/* Minimisers found by Newton's iteration in the test itself, the normal equations, and the
 * independent minimisers of real data. */
#include "objective/objective_access.h"
#include "objective/problem.h"

#include <lapacke.h>

/* Gradient and Hessian of the sum over the agents. */
static void sums(const fplt_objective *o, const double *x, double *value, double *g, double *h,
                 double *scratch)
{
    size_t n = fplt_objective_dimension(o);
    double *one = new_vector(n), *square = new_vector(n * n), part;
    memset(g, 0, n * sizeof *g);
    memset(h, 0, n * n * sizeof *h);
    *value = 0;
    for (uint32_t i = 0; i < fplt_objective_agents(o); i++) {
        assert_int_equal(fplt_objective_value_gradient(o, i, x, &part, one, scratch), FPLT_OK);
        assert_int_equal(fplt__objective_hessian(o, i, x, square, scratch), FPLT_OK);
        *value += part;
        for (size_t j = 0; j < n; j++)
            g[j] += one[j];
        for (size_t j = 0; j < n * n; j++)
            h[j] += square[j];
    }
    free(one);
    free(square);
}

/* Damped by halving while the value does not fall enough. Returns the norm of the last gradient. */
static double newton(const fplt_objective *o, double *x)
{
    size_t n = fplt_objective_dimension(o);
    double *g = new_vector(n), *h = new_vector(n * n), *scratch = new_scratch(o);
    double *trial = new_vector(n), *slope = new_vector(n), value, next, length = 0;
    for (int iteration = 0; iteration < 100; iteration++) {
        sums(o, x, &value, g, h, scratch);
        length = norm_of(g, n);
        if (length < 1e-12)
            break;
        memcpy(slope, g, n * sizeof *g);
        assert_int_equal(
            LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, 1, h, (lapack_int)n, g, 1), 0);
        double descent = 0, step = 1;
        for (size_t j = 0; j < n; j++)
            descent += g[j] * slope[j];
        for (int halving = 0; halving < 30; halving++, step /= 2) {
            double part;
            next = 0;
            for (size_t j = 0; j < n; j++)
                trial[j] = x[j] - step * g[j];
            for (uint32_t i = 0; i < fplt_objective_agents(o); i++) {
                fplt_objective_value(o, i, trial, &part, scratch);
                next += part;
            }
            /* a fall below the rounding of the value is not seen there */
            if (next <= value - 1e-4 * step * descent || descent < 1e-11 * value)
                break;
        }
        memcpy(x, trial, n * sizeof *x);
    }
    free(g);
    free(h);
    free(scratch);
    free(trial);
    free(slope);
    return length;
}

static void every_loss_has_a_minimiser(void **state)
{
    (void)state;
    static const struct {
        const char *loss;
        fplt_task task;
    } pairs[] = {{"logistic", FPLT_TASK_BINARY},
                 {"squared-hinge", FPLT_TASK_BINARY},
                 {"least-squares", FPLT_TASK_REGRESSION},
                 {"huber", FPLT_TASK_REGRESSION},
                 {"softmax", FPLT_TASK_CLASSES},
                 {"softmax", FPLT_TASK_BINARY},
                 {"probit", FPLT_TASK_BINARY},
                 {"gamma", FPLT_TASK_REGRESSION}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int sparse = 0; sparse < 2; sparse++) {
            problem p = {.task = pairs[i].task,
                         .positive = problem_is_positive(pairs[i].loss),
                         .features = 6,
                         .rows = 150,
                         .sparse = sparse,
                         .agents = 4,
                         .classes = 3};
            fplt_objective_settings settings = fplt_objective_defaults();
            settings.loss = pairs[i].loss;
            settings.weight = 0.1;
            fplt_objective *o = problem_objective(&p, 40 + i, &settings);
            double *x = new_vector(fplt_objective_dimension(o)), length = newton(o, x);
            if (!(length < 1e-12))
                fail_msg("%s: the gradient is still %g", pairs[i].loss, length);
            free(x);
            fplt_objective_destroy(o);
        }
}

/* (sum_i A_i'A_i/q_i + N eps I) x = sum_i A_i'y_i/q_i */
static void least_squares_solves_the_normal_equations(void **state)
{
    (void)state;
    enum { N = 7, AGENTS = 3 };
    problem p = {.task = FPLT_TASK_REGRESSION, .features = N, .rows = 100, .agents = AGENTS};
    fplt_dataset *dataset = problem_dataset(&p, 60);
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.loss = "least-squares";
    settings.weight = 0.07;
    fplt_objective *o;
    fplt_error error;
    assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
    assert_true(fplt__objective_is_quadratic(o));
    double matrix[N * N] = {0}, side[N] = {0}, x[N] = {0};
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        for (size_t r = 0; r < rows.count; r++)
            for (size_t j = 0; j < N; j++) {
                double share = rows.dense[r * N + j] / (double)rows.count;
                side[j] += share * rows.label[r];
                for (size_t k = 0; k < N; k++)
                    matrix[j * N + k] += share * rows.dense[r * N + k];
            }
    }
    for (size_t j = 0; j < N; j++)
        matrix[j * N + j] += AGENTS * settings.weight;
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', N, 1, matrix, N, side, 1), 0);
    assert_true(newton(o, x) < 1e-12);
    for (size_t j = 0; j < N; j++)
        assert_near(x[j], side[j], 1e-12);
    fplt_objective_destroy(o);
    fplt_dataset_destroy(dataset);
}

/* One agent a site: the columns are site, label, features. */
static fplt_dataset *sites(const char *path, size_t features, size_t expected)
{
    enum { MAX_FEATURES = 13, MAX = 1000 };
    static double a[MAX * MAX_FEATURES], label[MAX];
    size_t rows = 0, agents = 0, share[8] = {0};
    char line[2000], site[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        char *comma = strchr(line, ',');
        *comma++ = 0;
        if (strcmp(site, line) != 0) {
            snprintf(site, sizeof site, "%.63s", line);
            agents++;
        }
        share[agents - 1]++;
        label[rows] = strtod(comma, &comma);
        for (size_t j = 0; j < features; j++)
            a[rows * features + j] = strtod(comma + 1, &comma);
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, expected);
    assert_int_equal(agents, 4);
    fplt_rows view = {.count = rows, .features = features, .dense = a, .label = label};
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&view, FPLT_TASK_BINARY, share, (uint32_t)agents, &dataset,
                                     &error),
              error);
    return dataset;
}

/* LIBSVM text, sparse, 100 contiguous agents of which the first have a row more. */
static fplt_dataset *adults(void)
{
    enum { FEATURES = 123, AGENTS = 100, MAX = 33000 };
    static double value[MAX * 20], label[MAX];
    static uint32_t column[MAX * 20];
    static size_t start[MAX + 1], share[AGENTS];
    size_t rows = 0;
    char line[2000];
    FILE *file = fopen(SHARED "/data/libsvm_a9a/a9a", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *text = line, *end;
        label[rows] = strtod(text, &text);
        start[rows + 1] = start[rows];
        for (unsigned long j; (j = strtoul(text, &end, 10)) && *end == ':';) {
            column[start[rows + 1]] = (uint32_t)(j - 1);
            value[start[rows + 1]++] = strtod(end + 1, &text);
        }
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, 32561);
    for (size_t i = 0; i < AGENTS; i++)
        share[i] = rows / AGENTS + (i < rows % AGENTS);
    fplt_rows view = {.count = rows,
                      .features = FEATURES,
                      .start = start,
                      .column = column,
                      .value = value,
                      .label = label};
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&view, FPLT_TASK_BINARY, share, AGENTS, &dataset, &error),
              error);
    return dataset;
}

static void read_minimiser(const char *path, double *x, size_t count)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t j = 0; j < count; j++)
        assert_int_equal(fscanf(file, "%lf", &x[j]), 1);
    fclose(file);
}

/* Every kernel's gradient vanishes where an independent program says, and Newton's iteration on it
 * goes there; with rows weighed instead of agents it goes elsewhere. */
static void check_minimiser(const fplt_dataset *dataset, double weight, const char *path)
{
    static const char *const kernels[] = {"reference", "avx2", "avx512"};
    enum { MAX = 13 };
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_objective *o;
    fplt_error error;
    size_t n = fplt_dataset_all(dataset).features;
    double x[MAX], elsewhere[MAX] = {0};
    read_minimiser(path, x, n);
    settings.weight = weight;
    for (size_t k = 0; k < 3; k++) {
        settings.kernel = kernels[k];
        fplt_status status = fplt_objective_create(&settings, dataset, &o, &error);
        if (lacks_kernel(status))
            continue;
        assert_ok(status, error);
        double g[MAX], h[MAX * MAX], value, own[MAX] = {0}, *scratch = new_scratch(o);
        sums(o, x, &value, g, h, scratch);
        if (!(norm_of(g, n) < 1e-10))
            fail_msg("weight %g, %s: gradient %g at the minimiser", weight, kernels[k],
                     norm_of(g, n));
        assert_true(newton(o, own) < 1e-12);
        assert_true(distance(own, x, n) < 1e-11);
        free(scratch);
        fplt_objective_destroy(o);
    }
    settings.kernel = NULL;
    settings.weigh_rows = 1;
    assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
    assert_true(newton(o, elsewhere) < 1e-11);
    assert_true(distance(elsewhere, x, n) > 0.01);
    fplt_objective_destroy(o);
}

static void known_minimisers(void **state)
{
    (void)state;
    need_file(SHARED "/data/heart_disease/heart_disease.csv");
    fplt_dataset *dataset = sites(SHARED "/data/heart_disease/heart_disease.csv", 13, 740);
    check_minimiser(dataset, 0.5, SHARED "/data/reference/heart_disease_eps0.5_l2.txt");
    check_minimiser(dataset, 0.01, SHARED "/data/reference/heart_disease_eps0.01_l2.txt");
    fplt_dataset_destroy(dataset);
}

static void known_minimisers_of_generated_data(void **state)
{
    (void)state;
    fplt_dataset *dataset = sites(GOLDEN "/clinics.csv", 6, 144);
    check_minimiser(dataset, 0.5, GOLDEN "/clinics_eps0.5_l2.txt");
    check_minimiser(dataset, 0.01, GOLDEN "/clinics_eps0.01_l2.txt");
    fplt_dataset_destroy(dataset);
}

static void known_minimisers_of_sparse_data(void **state)
{
    (void)state;
    static const struct {
        double weight;
        const char *path;
    } cases[] = {{0.5, SHARED "/data/reference/a9a_eps0.5_l2.txt"},
                 {0.01, SHARED "/data/reference/a9a_eps0.01_l2.txt"}};
    need_file(SHARED "/data/libsvm_a9a/a9a");
    fplt_dataset *dataset = adults();
    for (size_t c = 0; c < 2; c++) {
        need_file(cases[c].path);
        fplt_objective_settings settings = fplt_objective_defaults();
        fplt_objective *o;
        fplt_error error;
        double x[123], g[123], sum[123] = {0};
        read_minimiser(cases[c].path, x, 123);
        settings.weight = cases[c].weight;
        assert_ok(fplt_objective_create(&settings, dataset, &o, &error), error);
        double *scratch = new_scratch(o);
        for (uint32_t i = 0; i < 100; i++) {
            assert_int_equal(fplt_objective_gradient(o, i, x, g, scratch), FPLT_OK);
            for (size_t j = 0; j < 123; j++)
                sum[j] += g[j];
        }
        if (!(norm_of(sum, 123) < 1e-10))
            fail_msg("weight %g: gradient %g at the minimiser", cases[c].weight, norm_of(sum, 123));
        free(scratch);
        fplt_objective_destroy(o);
    }
    fplt_dataset_destroy(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loss_has_a_minimiser),
        cmocka_unit_test(least_squares_solves_the_normal_equations),
        cmocka_unit_test(known_minimisers),
        cmocka_unit_test(known_minimisers_of_generated_data),
        cmocka_unit_test(known_minimisers_of_sparse_data),
    };
    return cmocka_run_group_tests_name("optimum", tests, NULL, NULL);
}
