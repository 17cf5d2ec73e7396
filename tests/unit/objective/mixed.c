/* Random intercepts: quadrature in long double with nodes and modes found another way, integrals by the trapezoidal rule,
 * densities of multivariate normal variables, differences, and the boundary. */
#include "data/dataset.h"
#include "objective/objective_access.h"
#include "objective/problem.h"
#include "objective/random_intercept.h"

enum { ROWS = 60, FEATURES = 3, AGENTS = 2, NODES_MOST = 25 };

struct sample {
    double dense[ROWS * FEATURES], label[ROWS], offset[ROWS], cluster[ROWS];
    size_t share[AGENTS];
};

static const struct {
    const char *loss;
    fplt_task task;
} kinds[] = {{"mixed-logistic", FPLT_TASK_BINARY},
             {"mixed-poisson", FPLT_TASK_REGRESSION},
             {"mixed-linear", FPLT_TASK_REGRESSION}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* Clusters of unequal size in no order, the last of a single row; the same numbers at both agents. */
static struct sample sample_of(size_t kind, uint64_t seed)
{
    struct sample s = {.share = {37, ROWS - 37}};
    fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, kind, 0, 0);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t j = 0; j < FEATURES; j++)
            s.dense[r * FEATURES + j] = fplt_stream_normal(&stream);
        s.offset[r] = fplt_stream_normal(&stream) / 2;
        s.cluster[r] = (double)(fplt_stream_below(&stream, 6) * fplt_stream_below(&stream, 2));
        s.label[r] = kind == 0   ? (fplt_stream_below(&stream, 2) ? 1 : -1)
                     : kind == 1 ? (double)fplt_stream_below(&stream, 6)
                                 : 2 + fplt_stream_normal(&stream);
    }
    s.cluster[0] = s.cluster[s.share[0]] = 17;
    return s;
}

static fplt_dataset *dataset_of(const struct sample *s, size_t kind, uint32_t agents)
{
    const size_t all = ROWS;
    fplt_dataset *dataset;
    fplt_error error;
    fplt_rows rows = {.count = ROWS,
                      .features = FEATURES,
                      .dense = s->dense,
                      .label = s->label,
                      .offset = s->offset};
    assert_ok(fplt_dataset_from_rows(&rows, kinds[kind].task, agents == 1 ? &all : s->share, agents,
                                     &dataset, &error),
              error);
    assert_ok(fplt__dataset_add(dataset, &dataset->person, &error), error);
    memcpy(dataset->person, s->cluster, sizeof s->cluster);
    return dataset;
}

static fplt_objective_settings settings_of(size_t kind, uint32_t points, int by_site)
{
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.loss = kinds[kind].loss;
    settings.weight = 0;
    settings.intercept = 1;
    settings.weigh_rows = 1;
    settings.quadrature_points = points;
    settings.cluster = by_site ? NULL : "clinic";
    return settings;
}

static fplt_objective *objective_of(const struct sample *s, size_t kind, uint32_t points,
                                    int by_site, const char *kernel)
{
    fplt_objective *objective;
    fplt_error error;
    fplt_objective_settings settings = settings_of(kind, points, by_site);
    settings.kernel = kernel;
    fplt_dataset *dataset = dataset_of(s, kind, AGENTS);
    assert_ok(fplt_objective_create(&settings, dataset, &objective, &error), error);
    fplt_dataset_destroy(dataset);
    return objective;
}

/* ---- the same in long double ---- */

static long double row_loss(size_t kind, double label, long double m)
{
    if (kind == 1)
        return expl(m) - label * m;
    long double u = -label * m;
    return (u > 0 ? u : 0) + log1pl(expl(-fabsl(u)));
}

struct naive {
    size_t kind, count;
    double label[ROWS];
    long double m[ROWS], tau;
};

static long double joint(const struct naive *c, long double u)
{
    long double sum = u * u / 2;
    for (size_t j = 0; j < c->count; j++)
        sum += row_loss(c->kind, c->label[j], c->m[j] + c->tau * u);
    return sum;
}

/* The minimiser by halving where the slope changes its sign; the slope and curvature written for each loss. */
static void slope_and_curve(const struct naive *c, long double u, long double *slope,
                            long double *curve)
{
    *slope = u;
    *curve = 1;
    for (size_t j = 0; j < c->count; j++) {
        long double m = c->m[j] + c->tau * u, mean = c->kind == 1 ? expl(m) : 1 / (1 + expl(-m));
        *slope += c->tau * (mean - (c->kind == 1 ? c->label[j] : (c->label[j] + 1) / 2));
        *curve += c->tau * c->tau * (c->kind == 1 ? mean : mean * (1 - mean));
    }
}

static long double mode_of(const struct naive *c, long double *curve)
{
    long double low = -200, high = 200, slope;
    for (int i = 0; i < 120; i++) {
        long double middle = (low + high) / 2;
        slope_and_curve(c, middle, &slope, curve);
        if (slope > 0)
            high = middle;
        else
            low = middle;
    }
    slope_and_curve(c, low, &slope, curve);
    return low;
}

/* Hermite's polynomial of the weight e^(-z^2/2) by its recurrence; its roots by halving between those of the one before,
 * weights n!/(n He_(n-1))^2. */
static long double hermite(size_t n, long double z)
{
    long double before = 0, now = 1;
    for (size_t k = 0; k < n; k++) {
        long double next = z * now - (long double)k * before;
        before = now;
        now = next;
    }
    return now;
}

static void roots_of(size_t n, long double *root)
{
    long double last[NODES_MOST + 2] = {-20, 20};
    for (size_t degree = 1; degree <= n; degree++) {
        for (size_t k = 0; k < degree; k++) {
            long double low = last[k], high = last[k + 1], sign = hermite(degree, low);
            for (int i = 0; i < 100; i++) {
                long double middle = (low + high) / 2;
                if (hermite(degree, middle) * sign > 0)
                    low = middle;
                else
                    high = middle;
            }
            root[k] = low;
        }
        memcpy(last + 1, root, degree * sizeof *root);
        last[degree + 1] = 20;
    }
}

static long double by_quadrature(const struct naive *c, size_t n)
{
    static long double known[NODES_MOST + 1][NODES_MOST];
    long double *root = known[n], curve, mode = mode_of(c, &curve), s = 1 / sqrtl(curve), sum = 0;
    long double factor = 1, base = joint(c, mode);
    if (root[0] == 0)
        roots_of(n, root);
    for (size_t k = 1; k <= n; k++)
        factor *= (long double)k;
    for (size_t k = 0; k < n; k++) {
        long double h = (long double)n * hermite(n - 1, root[k]);
        sum += factor / (h * h) * expl(root[k] * root[k] / 2 + base - joint(c, mode + s * root[k]));
    }
    return base - logl(s * sum);
}

static long double by_trapezoids(const struct naive *c)
{
    const long double step = 0.002L, pi = 3.14159265358979323846L;
    long double curve, mode = mode_of(c, &curve), base = joint(c, mode), sum = 0;
    for (int k = -8000; k <= 8000; k++)
        sum += expl(base - joint(c, mode + k * step));
    return base - logl(sum * step / sqrtl(2 * pi));
}

/* Minus the logarithm of the density of residuals with covariance sigma^2 (I + theta^2 11'), by elimination; without its
 * constant. */
static long double by_density(const struct naive *c, long double sigma)
{
    long double v[ROWS][ROWS], r[ROWS], value = 0;
    size_t n = c->count;
    for (size_t i = 0; i < n; i++) {
        r[i] = c->m[i] - c->label[i];
        for (size_t j = 0; j < n; j++)
            v[i][j] = sigma * sigma * ((i == j) + c->tau * c->tau);
    }
    for (size_t k = 0; k < n; k++) {
        value += logl(v[k][k]) / 2 + r[k] * r[k] / v[k][k] / 2;
        for (size_t i = k + 1; i < n; i++) {
            long double share = v[i][k] / v[k][k];
            r[i] -= share * r[k];
            for (size_t j = k; j < n; j++)
                v[i][j] -= share * v[k][j];
        }
    }
    return value;
}

/* f_i: the sum over the clusters of the agent, divided by the rows that an agent has on average. `nodes` 0: the integral
 * itself. */
static long double naive_value(const struct sample *s, size_t kind, uint32_t agent, size_t nodes,
                               int by_site, const long double *x)
{
    size_t first = agent ? s->share[0] : 0, end = agent ? ROWS : s->share[0];
    long double sum = 0;
    for (double cluster = 0; cluster < (by_site ? 1 : 18); cluster++) {
        struct naive c = {.kind = kind, .tau = 1 + x[FEATURES + 1]};
        for (size_t r = first; r < end; r++) {
            if (!by_site && s->cluster[r] != cluster)
                continue;
            c.label[c.count] = s->label[r];
            c.m[c.count] = x[FEATURES] + s->offset[r];
            for (size_t j = 0; j < FEATURES; j++)
                c.m[c.count] += x[j] * s->dense[r * FEATURES + j];
            c.count++;
        }
        if (c.count)
            sum += kind == 2 ? by_density(&c, expl(x[FEATURES + 2]))
                   : nodes   ? by_quadrature(&c, nodes)
                             : by_trapezoids(&c);
    }
    return sum * AGENTS / ROWS;
}

/* ---- the tests ---- */

static size_t dimension_of(size_t kind)
{
    return FEATURES + 2 + (kind == 2);
}

/* With tau far from the boundary, close to it, at it and below. */
static void draw_point(size_t kind, int which, double *x)
{
    static const double taus[] = {0.8, 1.9, 1e-3, 0, -0.6};
    fplt_stream stream = fplt_stream_make(8, 0, FPLT_FOR_TEST, kind, (uint64_t)which, 0);
    for (size_t j = 0; j <= FEATURES; j++)
        x[j] = 0.6 * fplt_stream_normal(&stream);
    x[FEATURES + 1] = taus[which] - 1;
    x[FEATURES + 2] = 0.3;
}

/* Value; gradient by differences of the reference, with an error of the fourth power of the step; Hessian by differences of
 * the gradient. */
static void check_point(const struct sample *s, size_t kind, uint32_t points, int by_site,
                        const double *x, const char *kernel)
{
    enum { MOST = FEATURES + 3 };
    const long double step = 2e-4L;
    size_t n = dimension_of(kind);
    fplt_objective *o = objective_of(s, kind, points, by_site, kernel);
    double *scratch = new_scratch(o), value, g[MOST], up[MOST], down[MOST], h[MOST * MOST],
           product[MOST], at[MOST];
    assert_int_equal(fplt_objective_dimension(o), n);
    for (uint32_t agent = 0; agent < AGENTS; agent++) {
        long double y[MOST];
        for (size_t j = 0; j < n; j++)
            y[j] = x[j];
        assert_int_equal(fplt_objective_value_gradient(o, agent, x, &value, g, scratch), FPLT_OK);
        assert_near(value, (double)naive_value(s, kind, agent, points, by_site, y),
                    1e-13 * (1 + fabs(value)));
        assert_int_equal(fplt__objective_hessian(o, agent, x, h, scratch), FPLT_OK);
        for (size_t j = 0; j < n; j++) {
            long double side[4];
            for (int k = 0; k < 4; k++) {
                y[j] = x[j] + step * (k < 2 ? k - 2 : k - 1);
                side[k] = naive_value(s, kind, agent, points, by_site, y);
            }
            y[j] = x[j];
            double slope = (double)((8 * (side[2] - side[1]) - side[3] + side[0]) / (12 * step));
            assert_near(g[j], slope, 2e-10 * (1 + fabs(slope)));
            memcpy(at, x, n * sizeof *x);
            at[j] += 1e-5;
            fplt_objective_gradient(o, agent, at, up, scratch);
            at[j] -= 2e-5;
            fplt_objective_gradient(o, agent, at, down, scratch);
            memset(at, 0, sizeof at);
            at[j] = 1;
            assert_int_equal(fplt__objective_hessian_times(o, agent, x, at, product, scratch),
                             FPLT_OK);
            for (size_t k = 0; k < n; k++) {
                assert_near(h[j * n + k], (up[k] - down[k]) / 2e-5,
                            1e-7 * (1 + fabs(h[j * n + k])));
                assert_near(h[j * n + k], product[k], 1e-13 * (1 + fabs(product[k])));
            }
        }
    }
    free(scratch);
    fplt_objective_destroy(o);
}

static void derivatives_are_those_of_the_approximation(void **state)
{
    (void)state;
    static const uint32_t nodes[] = {1, 2, 7, 10, NODES_MOST};
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct sample s = sample_of(kind, 3);
        for (int which = 0; which < 5; which++) {
            double x[FEATURES + 3];
            draw_point(kind, which, x);
            print_message("# %s, point %d\n", kinds[kind].loss, which);
            check_point(&s, kind, nodes[which], which == 1, x, NULL);
            check_point(&s, kind, nodes[(which + 2) % 5], which == 4, x, "reference");
        }
    }
}

/* With many nodes the approximation is the integral. */
static void nodes_approach_the_integral(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        struct sample s = sample_of(kind, 4);
        double x[FEATURES + 3], value[2];
        long double y[FEATURES + 3];
        draw_point(kind, 0, x);
        for (size_t j = 0; j < FEATURES + 3; j++)
            y[j] = x[j];
        double exact = (double)naive_value(&s, kind, 0, 0, 0, y);
        for (int more = 0; more < 2; more++) {
            fplt_objective *o = objective_of(&s, kind, more ? 100 : 3, 0, NULL);
            double *scratch = new_scratch(o);
            assert_int_equal(fplt_objective_value(o, 0, x, &value[more], scratch), FPLT_OK);
            free(scratch);
            fplt_objective_destroy(o);
        }
        assert_near(value[1], exact, 1e-11);
        assert_near(value[0], exact, 1e-2);
        assert_true(fabs(value[0] - exact) > 1e-9);
    }
}

/* At tau = 0 it is the loss without a random intercept: value, gradient, and Hessian in the coefficients, which tau has
 * nothing to do with. */
static void the_boundary_is_the_plain_loss(void **state)
{
    (void)state;
    static const char *const plain[] = {"logistic", "poisson", "least-squares"};
    enum { N = FEATURES + 1, MOST = FEATURES + 3 };
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct sample s = sample_of(kind, 5);
        fplt_error error;
        fplt_objective *mixed = objective_of(&s, kind, 10, 0, NULL), *other;
        fplt_objective_settings settings = settings_of(kind, 0, 1);
        settings.loss = plain[kind];
        settings.predictor_bound = 100;
        fplt_dataset *dataset = dataset_of(&s, kind, AGENTS);
        assert_ok(fplt_objective_create(&settings, dataset, &other, &error), error);
        double x[MOST], v, w, g[MOST], h[N], big[MOST * MOST], small[N * N];
        double *scratch = new_scratch(mixed), *others = new_scratch(other);
        draw_point(kind, 3, x);
        x[FEATURES + 2] = 0; /* a residual standard deviation of 1 */
        size_t n = dimension_of(kind);
        for (uint32_t agent = 0; agent < AGENTS; agent++) {
            fplt_objective_value_gradient(mixed, agent, x, &v, g, scratch);
            fplt_objective_value_gradient(other, agent, x, &w, h, others);
            assert_near(v, w, 1e-13 * (1 + fabs(w)));
            assert_near(g[FEATURES + 1], 0, 1e-13);
            fplt__objective_hessian(mixed, agent, x, big, scratch);
            fplt__objective_hessian(other, agent, x, small, others);
            for (size_t j = 0; j < N; j++) {
                assert_near(g[j], h[j], 1e-13 * (1 + fabs(h[j])));
                assert_near(big[(FEATURES + 1) * n + j], 0, 1e-13);
                for (size_t k = 0; k < N; k++)
                    assert_near(big[j * n + k], small[j * N + k],
                                1e-13 * (1 + fabs(small[j * N + k])));
            }
        }
        free(scratch);
        free(others);
        fplt_objective_destroy(mixed);
        fplt_objective_destroy(other);
        fplt_dataset_destroy(dataset);
    }
}

/* tau and -tau, and rows of a cluster in another order. */
static void signs_and_orders_do_not_matter(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct sample s = sample_of(kind, 6), turned = s;
        double x[FEATURES + 3], y[FEATURES + 3], v, w;
        for (size_t r = 0; r < s.share[0]; r++) {
            size_t from = s.share[0] - 1 - r;
            memcpy(turned.dense + r * FEATURES, s.dense + from * FEATURES,
                   sizeof(double[FEATURES]));
            turned.label[r] = s.label[from];
            turned.offset[r] = s.offset[from];
            turned.cluster[r] = 40 - s.cluster[from];
        }
        fplt_objective *a = objective_of(&s, kind, 10, 0, NULL);
        fplt_objective *b = objective_of(&turned, kind, 10, 0, NULL);
        double *scratch = new_scratch(a);
        draw_point(kind, 0, x);
        memcpy(y, x, sizeof x);
        y[FEATURES + 1] = -2 - x[FEATURES + 1];
        fplt_objective_value(a, 0, x, &v, scratch);
        fplt_objective_value(a, 0, y, &w, scratch);
        assert_near(v, w, 1e-14 * (1 + fabs(v)));
        fplt_objective_value(b, 0, x, &w, scratch);
        assert_near(v, w, 1e-14 * (1 + fabs(v)));
        free(scratch);
        fplt_objective_destroy(a);
        fplt_objective_destroy(b);
    }
}

/* Predictors and standard deviations of any size: values, gradients and Hessians stay finite. */
static void extremes_stay_finite(void **state)
{
    (void)state;
    static const double sizes[] = {1, 30, 1e3, 1e5}, taus[] = {0, 1e-8, 1, 50, 1e4};
    enum { MOST = FEATURES + 3 };
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct sample s = sample_of(kind, 7);
        fplt_objective *o = objective_of(&s, kind, 10, 0, NULL);
        double *scratch = new_scratch(o), x[MOST], v, g[MOST], h[MOST * MOST];
        size_t n = fplt_objective_dimension(o);
        for (size_t size = 0; size < 4; size++)
            for (size_t tau = 0; tau < 5; tau++) {
                draw_point(kind, 0, x);
                for (size_t j = 0; j <= FEATURES; j++)
                    x[j] *= sizes[size];
                x[FEATURES + 1] = taus[tau] - 1;
                x[FEATURES + 2] = size % 2 ? 200 : -20;
                assert_int_equal(fplt_objective_value_gradient(o, 0, x, &v, g, scratch), FPLT_OK);
                assert_int_equal(fplt__objective_hessian(o, 0, x, h, scratch), FPLT_OK);
                assert_true(isfinite(v));
                for (size_t j = 0; j < n * n; j++)
                    if (!isfinite(g[j % n]) || !isfinite(h[j]))
                        fail_msg("%s, predictors times %g, sd %g: not finite", kinds[kind].loss,
                                 sizes[size], taus[tau]);
            }
        free(scratch);
        fplt_objective_destroy(o);
    }
}

static void assert_refused(const fplt_objective_settings *settings, const fplt_dataset *dataset,
                           const char *part)
{
    fplt_objective *o;
    fplt_error error;
    assert_int_not_equal(fplt_objective_create(settings, dataset, &o, &error), FPLT_OK);
    if (!strstr(error.text, part))
        fail_msg("'%s' does not say '%s'", error.text, part);
}

static void what_has_no_meaning_is_refused(void **state)
{
    (void)state;
    struct sample s = sample_of(0, 9);
    fplt_error error;
    fplt_dataset *dataset = dataset_of(&s, 0, AGENTS);
    fplt_objective_settings settings = settings_of(0, 101, 0);
    assert_refused(&settings, dataset, "between 1 and 100");
    settings = settings_of(0, 10, 0);
    settings.weigh_rows = 0;
    assert_refused(&settings, dataset, "weights to rows");
    settings = settings_of(0, 10, 0);
    settings.clip = 1;
    assert_refused(&settings, dataset, "clip");
    settings.loss = "logistic";
    settings.clip = 0;
    assert_refused(&settings, dataset, "no random intercept");
    settings = settings_of(0, 10, 0);
    double *person = dataset->person;
    dataset->person = NULL;
    assert_refused(&settings, dataset, "no clusters");
    dataset->person = person;
    assert_ok(fplt__dataset_own_weights(dataset, &error), error);
    assert_refused(&settings, dataset, "weights");
    fplt_dataset_destroy(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_are_those_of_the_approximation),
        cmocka_unit_test(nodes_approach_the_integral),
        cmocka_unit_test(the_boundary_is_the_plain_loss),
        cmocka_unit_test(signs_and_orders_do_not_matter),
        cmocka_unit_test(extremes_stay_finite),
        cmocka_unit_test(what_has_no_meaning_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
