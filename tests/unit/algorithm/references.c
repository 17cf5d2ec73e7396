/* Every method against a few plain lines that do the same: own gradients, own sums, own masks. */
#include "problem.h"
#include "base/random.h"
#include "engine/engine_access.h"

enum { AGENTS = 12, N = 7, ROUNDS = 40 };

/* The state of a reference: what the agents keep, and what the coordinator keeps. */
struct world {
    const problem *p;
    const double *parameter; /* as the engine resolved them */
    double step[AGENTS];
    uint32_t epochs, round;
    uint32_t active[AGENTS], count;
    row a[AGENTS], b[AGENTS];
    row x, y;
};

/* w <- w - step (grad f_i(w) + linear + pull (w - centre)), `steps` times. */
static void descend(const struct world *s, uint32_t i, uint32_t steps, const double *linear,
                    double pull, const double *centre, double *w)
{
    for (uint32_t k = 0; k < steps; k++) {
        row g;
        logistic_gradient(s->p, i, w, g);
        for (size_t j = 0; j < N; j++)
            w[j] -= s->step[i] *
                    (g[j] + (linear ? linear[j] : 0) + (centre ? pull * (w[j] - centre[j]) : 0));
    }
}

static void copy(double *to, const double *from)
{
    memcpy(to, from, N * sizeof *to);
}

static uint32_t drawn_length(const struct world *s, double p)
{
    fplt_stream shared = fplt_stream_make(SEED, 0, FPLT_FOR_SHARED, s->round, 0, 0);
    return (uint32_t)fplt__stream_geometric(&shared, p);
}

static void fed_plt(struct world *s)
{
    double rho = s->parameter[0];
    row y = {0};
    for (int i = 0; i < AGENTS; i++)
        for (int j = 0; j < N; j++)
            y[j] += s->b[i][j] / AGENTS;
    for (uint32_t m = 0; m < s->count; m++) {
        uint32_t i = s->active[m];
        row v;
        for (int j = 0; j < N; j++)
            v[j] = 2 * y[j] - s->b[i][j];
        descend(s, i, s->epochs, NULL, 1 / rho, v, s->a[i]);
        for (int j = 0; j < N; j++)
            s->b[i][j] += 2 * (s->a[i][j] - y[j]);
    }
    memset(s->x, 0, sizeof s->x);
    for (int i = 0; i < AGENTS; i++)
        for (int j = 0; j < N; j++)
            s->x[j] += s->b[i][j] / AGENTS;
}

static void fedsplit(struct world *s)
{
    double rho = s->parameter[0];
    row x;
    copy(x, s->x);
    memset(s->x, 0, sizeof s->x);
    for (uint32_t i = 0; i < AGENTS; i++) {
        row v, w;
        for (int j = 0; j < N; j++)
            v[j] = w[j] = 2 * x[j] - s->a[i][j];
        descend(s, i, s->epochs, NULL, 1 / rho, v, w);
        for (int j = 0; j < N; j++) {
            s->a[i][j] += 2 * (w[j] - x[j]);
            s->x[j] += s->a[i][j] / AGENTS;
        }
    }
}

static void fedpd(struct world *s)
{
    double eta = s->parameter[0];
    row next = {0};
    for (uint32_t i = 0; i < AGENTS; i++) {
        descend(s, i, s->epochs, s->b[i], 1 / eta, s->x, s->a[i]);
        for (int j = 0; j < N; j++) {
            s->b[i][j] += (s->a[i][j] - s->x[j]) / eta;
            next[j] += (s->a[i][j] + eta * s->b[i][j]) / AGENTS;
        }
    }
    copy(s->x, next);
}

static void fedlin(struct world *s)
{
    row anchor[AGENTS], g = {0}, next = {0};
    for (uint32_t i = 0; i < AGENTS; i++) {
        logistic_gradient(s->p, i, s->x, anchor[i]);
        for (int j = 0; j < N; j++)
            g[j] += anchor[i][j] / AGENTS;
    }
    for (uint32_t i = 0; i < AGENTS; i++) {
        row w, linear;
        copy(w, s->x);
        for (int j = 0; j < N; j++)
            linear[j] = g[j] - anchor[i][j];
        descend(s, i, s->epochs, linear, 0, NULL, w);
        for (int j = 0; j < N; j++)
            next[j] += w[j] / AGENTS;
    }
    copy(s->x, next);
}

static void led(struct world *s)
{
    double beta = s->parameter[0];
    row phi[AGENTS], next = {0};
    for (uint32_t i = 0; i < AGENTS; i++) {
        copy(phi[i], s->x);
        for (uint32_t k = 0; k < s->epochs; k++) {
            row g;
            logistic_gradient(s->p, i, phi[i], g);
            for (int j = 0; j < N; j++)
                phi[i][j] -= s->step[i] * g[j] + beta * s->a[i][j];
        }
        for (int j = 0; j < N; j++)
            next[j] += phi[i][j] / AGENTS;
    }
    copy(s->x, next);
    for (int i = 0; i < AGENTS; i++)
        for (int j = 0; j < N; j++)
            s->a[i][j] += phi[i][j] - next[j];
}

/* ProxSkip as published, step by step with a coin: the coins are those that give the drawn length. */
static void scaffnew(struct world *s)
{
    double p = s->parameter[0], gamma = s->step[0];
    uint32_t length = drawn_length(s, p);
    row own[AGENTS];
    for (int i = 0; i < AGENTS; i++)
        copy(own[i], s->x);
    for (uint32_t k = 1; k <= length; k++) {
        int coin = k == length;
        row mean = {0};
        for (uint32_t i = 0; i < AGENTS; i++) {
            row g;
            logistic_gradient(s->p, i, own[i], g);
            for (int j = 0; j < N; j++) {
                own[i][j] -= gamma * (g[j] - s->a[i][j]);
                mean[j] += own[i][j] / AGENTS;
            }
        }
        for (int i = 0; coin && i < AGENTS; i++)
            for (int j = 0; j < N; j++)
                s->a[i][j] += p / gamma * (mean[j] - own[i][j]);
        if (coin)
            copy(s->x, mean);
    }
}

/* The swap-or-not shuffle on a whole array at once: order[slot] is the member that sits there. */
static void shuffled(const struct world *s, uint32_t *order)
{
    fplt_stream shared = fplt_stream_make(SEED, 0, FPLT_FOR_SHARED, s->round, 0, 0);
    fplt__stream_geometric(&shared, s->parameter[0]);
    for (uint32_t m = 0; m < s->count; m++)
        order[m] = m;
    for (int pass = 0; pass < 64; pass++) {
        uint64_t key = fplt_stream_below(&shared, s->count), salt = fplt__stream_bits(&shared);
        for (uint64_t high = 0; high < s->count; high++) {
            uint64_t low = (key + s->count - high) % s->count;
            if (low >= high)
                continue;
            uint64_t z = salt + high * UINT64_C(0x9e3779b97f4a7c15);
            z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
            z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
            z ^= z >> 31;
            if (z >> 63) {
                uint32_t held = order[low];
                order[low] = order[high];
                order[high] = held;
            }
        }
    }
}

static void tamuna(struct world *s)
{
    double p = s->parameter[0], chi = s->parameter[1], gamma = s->step[0];
    uint32_t length = drawn_length(s, p), order[AGENTS];
    uint32_t holders = s->parameter[2] < s->count ? (uint32_t)s->parameter[2] : s->count;
    row w[AGENTS], next = {0};
    int holds[AGENTS][N] = {{0}};
    shuffled(s, order);
    for (int j = 0; j < N; j++)
        for (uint32_t t = 0; t < holders; t++)
            holds[order[((uint32_t)j * holders + t) % s->count]][j] = 1;
    for (uint32_t m = 0; m < s->count; m++) {
        uint32_t i = s->active[m];
        row linear;
        copy(w[m], s->x);
        for (int j = 0; j < N; j++)
            linear[j] = -s->a[i][j];
        descend(s, i, length, linear, 0, NULL, w[m]);
        for (int j = 0; j < N; j++)
            next[j] += holds[m][j] * w[m][j] / holders;
    }
    copy(s->x, next);
    for (uint32_t m = 0; m < s->count; m++)
        for (int j = 0; j < N; j++)
            s->a[s->active[m]][j] += holds[m][j] * (p * chi / gamma) * (next[j] - w[m][j]);
}

/* y is the server's control variate, kept apart as published and not as the mean of c_i. */
static void scaffold(struct world *s)
{
    int first = s->parameter[0] == 0;
    double eta = s->parameter[1];
    row move = {0}, change = {0};
    for (uint32_t m = 0; m < s->count; m++) {
        uint32_t i = s->active[m];
        row w, linear, next;
        copy(w, s->x);
        for (int j = 0; j < N; j++)
            linear[j] = s->y[j] - s->a[i][j];
        descend(s, i, s->epochs, linear, 0, NULL, w);
        if (first)
            logistic_gradient(s->p, i, s->x, next);
        else
            for (int j = 0; j < N; j++)
                next[j] = s->a[i][j] - s->y[j] + (s->x[j] - w[j]) / (s->epochs * s->step[i]);
        for (int j = 0; j < N; j++) {
            move[j] += (w[j] - s->x[j]) / s->count;
            change[j] += (next[j] - s->a[i][j]) / AGENTS;
            s->a[i][j] = next[j];
        }
    }
    for (int j = 0; j < N; j++) {
        s->x[j] += eta * move[j];
        s->y[j] += change[j];
    }
}

/* b[0] is x, y is v; the model xhat is computed afresh. */
static void five_gcs(struct world *s)
{
    double gamma = s->parameter[0], tau = s->parameter[1], mu = s->parameter[2];
    row change = {0};
    double *x = s->b[0], *xhat = s->x;
    for (int j = 0; j < N; j++)
        xhat[j] = (x[j] - gamma * s->y[j]) / (1 + gamma * mu);
    for (uint32_t m = 0; m < s->count; m++) {
        uint32_t i = s->active[m];
        row w, g;
        copy(w, xhat);
        for (uint32_t k = 0; k < s->epochs; k++) {
            logistic_gradient(s->p, i, w, g);
            for (int j = 0; j < N; j++)
                w[j] -= s->step[i] * (g[j] - mu * w[j] + tau * (w[j] - xhat[j]) - s->a[i][j]);
        }
        logistic_gradient(s->p, i, w, g);
        for (int j = 0; j < N; j++) {
            double next = g[j] - mu * w[j];
            change[j] += (next - s->a[i][j]) / AGENTS;
            s->a[i][j] = next;
        }
    }
    for (int j = 0; j < N; j++) {
        s->y[j] += change[j];
        x[j] = xhat[j] - gamma * AGENTS / s->count * change[j];
        xhat[j] = (x[j] - gamma * s->y[j]) / (1 + gamma * mu);
    }
}

static void averaging(struct world *s, double mu)
{
    row next = {0};
    for (uint32_t m = 0; m < s->count; m++) {
        row w;
        copy(w, s->x);
        descend(s, s->active[m], s->epochs, NULL, mu, s->x, w);
        for (int j = 0; j < N; j++)
            next[j] += w[j] / s->count;
    }
    copy(s->x, next);
}

static void fedavg(struct world *s)
{
    averaging(s, 0);
}

static void fedprox(struct world *s)
{
    averaging(s, s->parameter[0]);
}

/* Runs both and compares the deployed model after every round, and what an agent keeps at the end. */
static void compare(trial t, void (*reference)(struct world *), unsigned kept_a, unsigned kept_b)
{
    problem p = problem_logistic(AGENTS, N, 30, 0.1, 5);
    trial_start(&t, &p);
    static struct world s;
    memset(&s, 0, sizeof s);
    s.p = &p;
    s.parameter = fplt__engine_parameters(t.engine);
    s.epochs = t.epochs ? t.epochs : 5;
    for (uint32_t i = 0; i < AGENTS; i++)
        s.step[i] = fplt__engine_step(t.engine, i);
    for (s.round = 0; s.round < ROUNDS; s.round++) {
        s.count = AGENTS;
        for (uint32_t i = 0; i < AGENTS; i++)
            s.active[i] = i;
        if (t.participation)
            s.count = fplt_participation_choose(t.participation, SEED, 0, s.round, s.active);
        trial_round(&t);
        reference(&s);
        row x;
        assert_int_equal(fplt_engine_model(t.engine, x), FPLT_OK);
        double size = fmax(largest(s.x, N), 0.1);
        if (!(largest_difference(x, s.x, N) <= 1e-12 * size))
            fail_msg("%s: round %u differs by %g", t.algorithm, s.round,
                     largest_difference(x, s.x, N));
    }
    unsigned kept = fplt__engine_shape(t.engine).kept;
    for (uint32_t i = 0; i < AGENTS && kept; i++) {
        const double *own = fplt__engine_kept(t.engine, i);
        assert_true(largest_difference(own + kept_a * N, s.a[i], N) <= 1e-11);
        if (kept > 1)
            assert_true(largest_difference(own + kept_b * N, s.b[i], N) <= 1e-11);
    }
    assert_true(fplt__engine_consistent(t.engine));
    trial_end(&t);
    problem_free(&p);
}

static void all_active(void **state)
{
    (void)state;
    compare((trial){.algorithm = "fed-plt"}, fed_plt, 1, 0);
    compare((trial){.algorithm = "fedsplit"}, fedsplit, 0, 0);
    compare((trial){.algorithm = "fedpd"}, fedpd, 0, 1);
    compare((trial){.algorithm = "fedlin"}, fedlin, 0, 0);
    compare((trial){.algorithm = "led"}, led, 0, 0);
    compare((trial){.algorithm = "led", .names = {"beta"}, .values = {0.3}}, led, 0, 0);
    compare((trial){.algorithm = "scaffnew"}, scaffnew, 0, 0);
    compare((trial){.algorithm = "tamuna"}, tamuna, 0, 0);
    compare((trial){.algorithm = "scaffold"}, scaffold, 0, 0);
    compare((trial){.algorithm = "scaffold", .names = {"option"}, .values = {0}}, scaffold, 0, 0);
    compare((trial){.algorithm = "5gcs"}, five_gcs, 0, 0);
    compare((trial){.algorithm = "fedavg"}, fedavg, 0, 0);
    compare((trial){.algorithm = "fedprox"}, fedprox, 0, 0);
}

static void some_active(void **state)
{
    (void)state;
    compare((trial){.algorithm = "fed-plt", .count = 5}, fed_plt, 1, 0);
    compare((trial){.algorithm = "tamuna", .count = 5}, tamuna, 0, 0);
    compare((trial){.algorithm = "scaffold", .count = 5}, scaffold, 0, 0);
    compare((trial){.algorithm = "scaffold",
                    .count = 5,
                    .names = {"option", "coordinator-step"},
                    .values = {0, 0.7}},
            scaffold, 0, 0);
    compare((trial){.algorithm = "5gcs", .count = 5}, five_gcs, 0, 0);
    compare((trial){.algorithm = "fedavg", .count = 5}, fedavg, 0, 0);
    compare((trial){.algorithm = "fedprox", .count = 5, .names = {"mu"}, .values = {0.4}}, fedprox,
            0, 0);
}

static void compressed(void **state)
{
    (void)state;
    compare((trial){.algorithm = "tamuna", .names = {"s"}, .values = {2}}, tamuna, 0, 0);
    compare((trial){.algorithm = "tamuna", .names = {"s", "p"}, .values = {5, 0.5}}, tamuna, 0, 0);
    compare((trial){.algorithm = "tamuna", .count = 7, .names = {"s"}, .values = {3}}, tamuna, 0,
            0);
    compare((trial){.algorithm = "tamuna", .count = 7, .names = {"s", "chi"}, .values = {6, 0.4}},
            tamuna, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_active),
        cmocka_unit_test(some_active),
        cmocka_unit_test(compressed),
    };
    return cmocka_run_group_tests_name("algorithm references", tests, NULL, NULL);
}
