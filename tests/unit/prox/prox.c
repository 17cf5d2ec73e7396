/* The common costs h by name. Oracles, all written again from the definitions: the inclusion
 * (v - x)/t in the subdifferential of h at x; the inequality
 * h(y) + ||y - v||^2/(2t) >= h(x) + ||x - v||^2/(2t) + ||y - x||^2/(2t), which holds for all y at the
 * prox and nowhere else, at random points and on fine grids; non-expansiveness; Moreau's identity. */
#include "testing.h"

#include "prox/prox.h"
#include "fedplt/random.h"
#include "base/random.h"
#include "prox/prox_access.h"

enum { LARGEST = 12 };

static fplt_prox *make(const fplt_prox_settings *settings, size_t dimension, size_t penalised)
{
    fplt_error error;
    fplt_prox *prox;
    assert_ok(fplt_prox_create(settings, dimension, penalised, &prox, &error), error);
    return prox;
}

static void apply(const fplt_prox *prox, double t, const double *v, double *x)
{
    assert_int_equal(fplt_prox_apply(prox, t, v, x), FPLT_OK);
}

static double length(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static double distance(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum);
}

/* h itself, and a random point of its domain. */

static double zero_h(const fplt_prox_settings *s, const double *x, size_t n)
{
    (void)s, (void)x, (void)n;
    return 0;
}

static double elastic_h(const fplt_prox_settings *s, const double *x, size_t n)
{
    int l1 = strcmp(s->name, "l2-squared") != 0, l2 = strcmp(s->name, "l1") != 0;
    double squared = strcmp(s->name, "l2-squared") == 0 ? s->weight : s->weight2, sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += l1 * s->weight * fabs(x[i]) + l2 * squared * x[i] * x[i] / 2;
    return sum;
}

static double box_h(const fplt_prox_settings *s, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < s->low || x[i] > s->high)
            return HUGE_VAL;
    return 0;
}

static double nonnegative_h(const fplt_prox_settings *s, const double *x, size_t n)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        if (x[i] < 0)
            return HUGE_VAL;
    return 0;
}

static double ball_h(const fplt_prox_settings *s, const double *x, size_t n)
{
    return length(x, n) <= s->radius * (1 + 1e-14) ? 0 : HUGE_VAL;
}

static double group_h(const fplt_prox_settings *s, const double *x, size_t n)
{
    double sum = 0, squares = 0;
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        squares += x[i] * x[i];
        size++;
        if ((i + 1) % s->group == 0 || i + 1 == n) {
            sum += s->weight * sqrt((double)size * squares);
            squares = 0;
            size = 0;
        }
    }
    return sum;
}

static double simplex_h(const fplt_prox_settings *s, const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (x[i] < 0)
            return HUGE_VAL;
        sum += x[i];
    }
    return fabs(sum - s->radius) <= 1e-13 * s->radius ? 0 : HUGE_VAL;
}

static void anywhere(const fplt_prox_settings *s, fplt_stream *stream, double *x, size_t n)
{
    (void)s;
    fplt__stream_normals(stream, 3, x, n);
}

static void in_box(const fplt_prox_settings *s, fplt_stream *stream, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = s->low + (s->high - s->low) * fplt_stream_uniform(stream);
}

static void above_zero(const fplt_prox_settings *s, fplt_stream *stream, double *x, size_t n)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        x[i] = 5 * fplt_stream_uniform(stream);
}

static void in_ball(const fplt_prox_settings *s, fplt_stream *stream, double *x, size_t n)
{
    fplt__stream_normals(stream, 1, x, n);
    double scale = s->radius * fplt_stream_uniform(stream) / length(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}

static void in_simplex(const fplt_prox_settings *s, fplt_stream *stream, double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] = fplt__stream_gamma(stream, 0.5);
    for (size_t i = 0; i < n; i++)
        x[i] *= s->radius / sum;
}

/* g in the subdifferential of h at x, up to `e`. */

static int zero_inclusion(const fplt_prox_settings *s, const double *x, const double *g, size_t n,
                          double e)
{
    (void)s, (void)x;
    return length(g, n) <= e;
}

static int l1_inclusion(const fplt_prox_settings *s, const double *x, const double *g, size_t n,
                        double e)
{
    for (size_t i = 0; i < n; i++) {
        if (x[i] == 0 ? fabs(g[i]) > s->weight + e
                      : fabs(g[i] - (x[i] > 0 ? s->weight : -s->weight)) > e)
            return 0;
    }
    return 1;
}

static int l2_inclusion(const fplt_prox_settings *s, const double *x, const double *g, size_t n,
                        double e)
{
    for (size_t i = 0; i < n; i++)
        if (fabs(g[i] - s->weight * x[i]) > e)
            return 0;
    return 1;
}

static int elastic_inclusion(const fplt_prox_settings *s, const double *x, const double *g,
                             size_t n, double e)
{
    double rest[LARGEST];
    for (size_t i = 0; i < n; i++)
        rest[i] = g[i] - s->weight2 * x[i];
    return l1_inclusion(s, x, rest, n, e);
}

static int box_inclusion(const fplt_prox_settings *s, const double *x, const double *g, size_t n,
                         double e)
{
    for (size_t i = 0; i < n; i++) {
        int up = x[i] == s->high, down = x[i] == s->low;
        if (x[i] < s->low || x[i] > s->high || (g[i] > e && !up) || (g[i] < -e && !down))
            return 0;
    }
    return 1;
}

static int nonnegative_inclusion(const fplt_prox_settings *s, const double *x, const double *g,
                                 size_t n, double e)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        if (x[i] < 0 || g[i] > e || (x[i] > 0 && g[i] < -e))
            return 0;
    return 1;
}

static int ball_inclusion(const fplt_prox_settings *s, const double *x, const double *g, size_t n,
                          double e)
{
    double size = length(x, n), along = 0, across = 0;
    if (size < s->radius * (1 - 1e-13))
        return length(g, n) <= e;
    for (size_t i = 0; i < n; i++)
        along += g[i] * x[i] / size;
    for (size_t i = 0; i < n; i++)
        across += pow(g[i] - along * x[i] / size, 2);
    return size <= s->radius * (1 + 1e-13) && along >= -e && sqrt(across) <= e;
}

static int group_inclusion(const fplt_prox_settings *s, const double *x, const double *g, size_t n,
                           double e)
{
    for (size_t first = 0; first < n; first += s->group) {
        size_t size = first + s->group < n ? s->group : n - first;
        double weight = s->weight * sqrt((double)size), at = length(x + first, size), off[LARGEST];
        for (size_t i = 0; i < size; i++)
            off[i] = at > 0 ? g[first + i] - weight * x[first + i] / at : g[first + i];
        if (length(off, size) > (at > 0 ? e : weight + e))
            return 0;
    }
    return 1;
}

static int simplex_inclusion(const fplt_prox_settings *s, const double *x, const double *g,
                             size_t n, double e)
{
    double level = -HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        if (x[i] > 0)
            level = fmax(level, g[i]);
    for (size_t i = 0; i < n; i++)
        if (g[i] > level + e || (x[i] > 0 && g[i] < level - e))
            return 0;
    return simplex_h(s, x, n) == 0;
}

struct kind {
    const char *name;
    double (*h)(const fplt_prox_settings *, const double *x, size_t n);
    void (*point)(const fplt_prox_settings *, fplt_stream *, double *x, size_t n);
    int (*inclusion)(const fplt_prox_settings *, const double *x, const double *g, size_t n,
                     double e);
};

static const struct kind kinds[] = {
    {"zero", zero_h, anywhere, zero_inclusion},
    {"l1", elastic_h, anywhere, l1_inclusion},
    {"l2-squared", elastic_h, anywhere, l2_inclusion},
    {"elastic-net", elastic_h, anywhere, elastic_inclusion},
    {"box", box_h, in_box, box_inclusion},
    {"nonnegative", nonnegative_h, above_zero, nonnegative_inclusion},
    {"ball", ball_h, in_ball, ball_inclusion},
    {"group-lasso", group_h, anywhere, group_inclusion},
    {"simplex", simplex_h, in_simplex, simplex_inclusion},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* A random instance of a kind: settings, t, v, and the prox. */
struct instance {
    const struct kind *kind;
    fplt_prox_settings settings;
    size_t dimension, penalised;
    double t, v[LARGEST], x[LARGEST];
    fplt_prox *prox;
};

static double power_of_ten(fplt_stream *stream, double low, double high)
{
    return pow(10, low + (high - low) * fplt_stream_uniform(stream));
}

static struct instance draw(const struct kind *kind, fplt_stream *stream)
{
    struct instance it = {.kind = kind, .settings = fplt_prox_defaults()};
    it.settings.name = kind->name;
    it.settings.weight = power_of_ten(stream, -1, 1);
    it.settings.weight2 = power_of_ten(stream, -1, 1);
    it.settings.low = fplt_stream_normal(stream);
    it.settings.high = it.settings.low + 2 * fplt_stream_uniform(stream);
    it.settings.radius = power_of_ten(stream, -1, 1);
    it.settings.group = 1 + (size_t)fplt_stream_below(stream, 5);
    it.dimension = 1 + (size_t)fplt_stream_below(stream, LARGEST);
    it.penalised = it.dimension - (size_t)fplt_stream_below(stream, it.dimension) / 3;
    it.t = power_of_ten(stream, -2, 2);
    fplt__stream_normals(stream, power_of_ten(stream, -1, 1), it.v, it.dimension);
    if (fplt_stream_below(stream, 4) == 0) /* ties and signed zeros */
        for (size_t i = 0; i < it.dimension; i++)
            it.v[i] = nearbyint(it.v[i]);
    it.prox = make(&it.settings, it.dimension, it.penalised);
    apply(it.prox, it.t, it.v, it.x);
    return it;
}

static void every_kind_is_tested(void **state)
{
    (void)state;
    const char *name, *help;
    size_t count = 0;
    for (; (name = fplt__prox_list(count, &help)); count++) {
        assert_string_equal(name, kinds[count].name);
        assert_true(strlen(help) > 5);
    }
    assert_int_equal(count, KINDS);
}

static void the_inclusion_holds(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t k = 0; k < KINDS; k++) {
        for (int trial = 0; trial < 1000; trial++) {
            struct instance it = draw(&kinds[k], &stream);
            double g[LARGEST], scale = 1;
            for (size_t i = 0; i < it.penalised; i++) {
                g[i] = (it.v[i] - it.x[i]) / it.t;
                scale = fmax(scale, fmax(fabs(it.v[i]), it.settings.radius));
            }
            if (!it.kind->inclusion(&it.settings, it.x, g, it.penalised,
                                    1e-13 * scale / it.t + 1e-13 * scale * 100))
                fail_msg("%s, trial %d: (v - x)/t is no subgradient at x", it.kind->name, trial);
            fplt_prox_destroy(it.prox);
        }
    }
}

/* h(y) + ||y - v||^2/(2t) */
static double cost(const struct instance *it, const double *y)
{
    double size = distance(y, it->v, it->penalised);
    return it->kind->h(&it->settings, y, it->penalised) + size * size / (2 * it->t);
}

static void no_point_is_better(const struct instance *it, const double *y, double least)
{
    double gap = distance(y, it->x, it->penalised), there = cost(it, y);
    if (there < least + gap * gap / (2 * it->t) - 1e-12 * (fabs(least) + fabs(there)))
        fail_msg("%s: cost %.17g at distance %g, but %.17g at the prox (t = %g)", it->kind->name,
                 there, gap, least, it->t);
}

static void no_random_point_is_better(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t k = 0; k < KINDS; k++) {
        for (int trial = 0; trial < 40; trial++) {
            struct instance it = draw(&kinds[k], &stream);
            double least = cost(&it, it.x), y[LARGEST];
            assert_true(isfinite(least));
            for (int i = 0; i < 2000; i++) {
                kinds[k].point(&it.settings, &stream, y, it.penalised);
                double part = power_of_ten(&stream, -4, 0);
                for (size_t j = 0; j < it.penalised; j++)
                    y[j] = it.x[j] + part * (y[j] - it.x[j]);
                no_point_is_better(&it, y, least);
            }
            fplt_prox_destroy(it.prox);
        }
    }
}

/* All multiples of 1/32 from -4 to 4 in one and two dimensions; radius, box and simplex then have
 * points of the grid in them. */
static void no_point_of_a_grid_is_better(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t n = 1; n <= 2; n++) {
            for (int trial = 0; trial < 8; trial++) {
                struct instance it = draw(&kinds[k], &stream);
                fplt_prox_destroy(it.prox);
                it.settings.low = -0.5;
                it.settings.high = 1.25;
                it.settings.radius = 1.5;
                it.dimension = it.penalised = n;
                it.prox = make(&it.settings, n, n);
                fplt__stream_normals(&stream, 1.5, it.v, n);
                apply(it.prox, it.t, it.v, it.x);
                double least = cost(&it, it.x), y[2];
                long seen = 0;
                for (int i = -128; i <= 128; i++) {
                    y[0] = i / 32.0;
                    for (int j = -128; j <= (n == 2 ? 128 : -128); j++) {
                        y[1] = j / 32.0;
                        seen += it.kind->h(&it.settings, y, n) < HUGE_VAL;
                        no_point_is_better(&it, y, least);
                    }
                }
                assert_true(seen > 0);
                fplt_prox_destroy(it.prox);
            }
        }
    }
}

static void the_value_is_h(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t k = 0; k < KINDS; k++) {
        for (int trial = 0; trial < 500; trial++) {
            struct instance it = draw(&kinds[k], &stream);
            double y[LARGEST], value;
            assert_int_equal(fplt_prox_value(it.prox, it.x, &value), FPLT_OK);
            assert_near(value, kinds[k].h(&it.settings, it.x, it.penalised), 1e-12 * value);
            fplt__stream_normals(&stream, 1, y, it.dimension);
            if (trial % 2)
                kinds[k].point(&it.settings, &stream, y, it.penalised);
            double expected = kinds[k].h(&it.settings, y, it.penalised);
            assert_int_equal(fplt_prox_value(it.prox, y, &value), FPLT_OK);
            if (isinf(expected))
                assert_true(value == HUGE_VAL);
            else
                assert_near(value, expected, 1e-12 * expected);
            fplt_prox_destroy(it.prox);
        }
    }
}

/* Firmly: ||x - x'||^2 <= <x - x', v - v'>. */
static void the_prox_is_firmly_nonexpansive(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t k = 0; k < KINDS; k++) {
        for (int trial = 0; trial < 1000; trial++) {
            struct instance it = draw(&kinds[k], &stream);
            double w[LARGEST], y[LARGEST], inner = 0, size = length(it.v, it.dimension);
            fplt__stream_normals(&stream, size * power_of_ten(&stream, -3, 0), w, it.dimension);
            for (size_t i = 0; i < it.dimension; i++)
                w[i] += it.v[i];
            apply(it.prox, it.t, w, y);
            for (size_t i = 0; i < it.dimension; i++)
                inner += (it.x[i] - y[i]) * (it.v[i] - w[i]);
            double gap = distance(it.x, y, it.dimension);
            assert_true(gap * gap <= inner + 1e-12 * size * (size + it.settings.radius));
            fplt_prox_destroy(it.prox);
        }
    }
}

static void the_tail_is_left_alone_and_x_may_be_v(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(6, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t k = 0; k < KINDS; k++) {
        for (int trial = 0; trial < 200; trial++) {
            struct instance it = draw(&kinds[k], &stream);
            double in_place[LARGEST], head[LARGEST];
            memcpy(in_place, it.v, sizeof in_place);
            apply(it.prox, it.t, in_place, in_place);
            assert_memory_equal(in_place, it.x, it.dimension * sizeof *head);
            assert_memory_equal(it.x + it.penalised, it.v + it.penalised,
                                (it.dimension - it.penalised) * sizeof *head);
            fplt_prox *short_one = make(&it.settings, it.penalised, it.penalised);
            apply(short_one, it.t, it.v, head);
            assert_memory_equal(head, it.x, it.penalised * sizeof *head);
            fplt_prox_destroy(short_one);
            fplt_prox_destroy(it.prox);
        }
    }
}

/* t and the weights count only through their products; sets do not see t. */
static void t_scales_the_weight(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(7, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t k = 0; k < KINDS; k++) {
        for (int trial = 0; trial < 200; trial++) {
            struct instance it = draw(&kinds[k], &stream);
            fplt_prox_settings scaled = it.settings;
            scaled.weight *= it.t;
            scaled.weight2 *= it.t;
            fplt_prox *other = make(&scaled, it.dimension, it.penalised);
            double x[LARGEST];
            apply(other, 1, it.v, x);
            assert_true(distance(x, it.x, it.dimension) <=
                        1e-14 * (1 + length(it.v, it.dimension)));
            fplt_prox_destroy(other);
            fplt_prox_destroy(it.prox);
        }
    }
}

/* Moreau: v = prox_{t h}(v) + t prox_{g/t}(v/t) with g the conjugate of h. That of weight ||.||_1 is
 * the box of that size, that of weight sqrt(n) ||.|| the ball of radius weight sqrt(n). */
static void moreau_identity(const char *name, const char *conjugate, fplt_stream *stream)
{
    struct kind kind = {name, NULL, NULL, NULL};
    struct instance it = draw(&kind, stream);
    fplt_prox_destroy(it.prox);
    fplt_prox_settings dual = it.settings;
    size_t n = it.dimension;
    it.settings.group = n;
    it.prox = make(&it.settings, n, n);
    dual.name = conjugate;
    dual.low = -it.settings.weight;
    dual.high = it.settings.weight;
    dual.radius = it.settings.weight * sqrt((double)n);
    fplt_prox *other = make(&dual, n, n);
    double scaled[LARGEST], y[LARGEST];
    for (size_t i = 0; i < n; i++)
        scaled[i] = it.v[i] / it.t;
    apply(it.prox, it.t, it.v, it.x);
    apply(other, 1 / it.t, scaled, y);
    for (size_t i = 0; i < n; i++)
        assert_near(it.x[i] + it.t * y[i], it.v[i], 1e-13 * (1 + length(it.v, n)));
    fplt_prox_destroy(other);
    fplt_prox_destroy(it.prox);
}

static void moreau_identities(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(8, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 500; trial++) {
        moreau_identity("l1", "box", &stream);
        moreau_identity("group-lasso", "ball", &stream);
    }
}

static void extreme_numbers(void **state)
{
    (void)state;
    fplt_prox_settings settings = fplt_prox_defaults();
    double v[3] = {3e200, -4e200, 0}, x[3], value;
    settings.name = "ball";
    fplt_prox *prox = make(&settings, 3, 3);
    apply(prox, 1, v, x);
    assert_near(x[0], 0.6, 1e-15);
    assert_near(x[1], -0.8, 1e-15);
    const double tiny[3] = {3e-200, 4e-200, 0};
    apply(prox, 1, tiny, x);
    assert_memory_equal(x, tiny, sizeof x);
    fplt_prox_destroy(prox);

    settings.name = "group-lasso";
    settings.group = 3;
    settings.weight = 1e-200 / sqrt(3.0);
    prox = make(&settings, 3, 3);
    apply(prox, 1, tiny, x);
    assert_close(x[0], 2.4e-200, 1e-14);
    assert_close(x[1], 3.2e-200, 1e-14);
    fplt_prox_destroy(prox);

    /* far from the simplex nothing of the radius is lost */
    settings.name = "simplex";
    prox = make(&settings, 3, 3);
    const double far[3] = {0x1p53, 0x1p53, -1e18};
    apply(prox, 1, far, x);
    assert_true(x[0] == 0.5 && x[1] == 0.5 && x[2] == 0);
    assert_int_equal(fplt_prox_value(prox, x, &value), FPLT_OK);
    assert_true(value == 0);
    fplt_prox_destroy(prox);
}

/* Sorting by another way: 10^4 coordinates with ties, threshold by bisection. */
static void a_large_simplex_by_bisection(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    static double v[COUNT], x[COUNT];
    fplt_prox_settings settings = fplt_prox_defaults();
    settings.name = "simplex";
    fplt_stream stream = fplt_stream_make(9, 0, FPLT_FOR_TEST, 0, 0, 0);
    const double radii[] = {0.01, 1, 1e4};
    for (size_t r = 0; r < 3; r++) {
        settings.radius = radii[r];
        fplt_prox *prox = make(&settings, COUNT, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            v[i] = nearbyint(64 * fplt_stream_normal(&stream)) / 64;
        double low = -1e5, high = 1e5;
        for (int step = 0; step < 200; step++) {
            double middle = (low + high) / 2, sum = 0;
            for (size_t i = 0; i < COUNT; i++)
                sum += fmax(v[i] - middle, 0);
            *(sum > radii[r] ? &low : &high) = middle;
        }
        apply(prox, 1, v, x);
        for (size_t i = 0; i < COUNT; i++)
            assert_near(x[i], fmax(v[i] - low, 0), 1e-12 * (1 + radii[r]));
        fplt_prox_destroy(prox);
    }
}

/* h of coordinates in their own units: no value nearby is better, and only sums over coordinates have them. */
static void units_divide_the_coordinates(void **state)
{
    static const char *const sums[] = {"l1", "l2-squared", "elastic-net", "box", "nonnegative"};
    const double units[] = {0.3, 4}, v[] = {1.1, -0.7, 2.5, 0.4, 9}, t = 0.6;
    fplt_error error;
    fplt_prox *prox;
    (void)state;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        fplt_prox_settings settings = fplt_prox_defaults();
        settings.name = sums[i];
        settings.weight = 0.4;
        double x[5], best = 0, value;
        assert_ok(fplt_prox_create(&settings, 5, 4, &prox, &error), error);
        assert_ok(fplt__prox_set_units(prox, units, 2, &error), error);
        apply(prox, t, v, x);
        assert_true(x[4] == v[4]);
        for (int step = -1; step < 8; step++) {
            double y[5], distance = 0;
            memcpy(y, x, sizeof y);
            if (step >= 0)
                y[step / 2] += step % 2 ? 1e-4 : -1e-4;
            for (size_t j = 0; j < 4; j++)
                distance += (y[j] - v[j]) * (y[j] - v[j]);
            assert_int_equal(fplt_prox_value(prox, y, &value), FPLT_OK);
            value += distance / (2 * t);
            best = step < 0 ? value : best;
            assert_true(value >= best - 1e-13);
        }
        fplt_prox_destroy(prox);
    }
    fplt_prox_settings ball = fplt_prox_defaults();
    ball.name = "ball";
    assert_ok(fplt_prox_create(&ball, 4, 4, &prox, &error), error);
    assert_int_equal(fplt__prox_set_units(prox, units, 2, &error), FPLT_UNSUPPORTED);
    fplt_prox_destroy(prox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_tested),
        cmocka_unit_test(the_inclusion_holds),
        cmocka_unit_test(no_random_point_is_better),
        cmocka_unit_test(no_point_of_a_grid_is_better),
        cmocka_unit_test(the_value_is_h),
        cmocka_unit_test(the_prox_is_firmly_nonexpansive),
        cmocka_unit_test(the_tail_is_left_alone_and_x_may_be_v),
        cmocka_unit_test(t_scales_the_weight),
        cmocka_unit_test(moreau_identities),
        cmocka_unit_test(extreme_numbers),
        cmocka_unit_test(a_large_simplex_by_bisection),
        cmocka_unit_test(units_divide_the_coordinates),
    };
    return cmocka_run_group_tests_name("prox", tests, NULL, NULL);
}
