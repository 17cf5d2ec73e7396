/* The theorems against runs whose distributions are known exactly. On quadratics every quantity of
 * Fed-PLT with noisy gradient steps is a linear form in independent normals; neighbours differ in
 * the mean only, and the divergence of order a is a/2 times the squared length of the shift in the
 * metric of the inverse covariance. Two piecewise quadratic runs, built so that no gradient is ever
 * taken between the pieces, show where the paper's figure fails for its own final model. */
#include "table.h"

#include "fedplt/privacy.h"
#include "fedplt/random.h"

#define CASES GOLDEN "/exact_quadratic_cases.csv"

enum { MAX_AGENTS = 10, MAX_ROUNDS = 40, MAX_NORMALS = 128, MAX_SEEN = 512 };

/* shift + sum over normals: how far the mean moves between neighbours, and what is random. */
struct form {
    double shift, on[MAX_NORMALS];
};

static void add_scaled(struct form *form, double factor, const struct form *other)
{
    form->shift += factor * other->shift;
    for (int i = 0; i < MAX_NORMALS; i++)
        form->on[i] += factor * other->on[i];
}

static void scale(struct form *form, double factor)
{
    form->shift *= factor;
    for (int i = 0; i < MAX_NORMALS; i++)
        form->on[i] *= factor;
}

/* D_a / a of the joint law of some forms: half the squared shift after whitening by Cholesky. */
static double divergence(const struct form *const *seen, int count)
{
    static double lower[MAX_SEEN][MAX_SEEN];
    double white[MAX_SEEN], sum = 0;
    for (int i = 0; i < count; i++) {
        white[i] = seen[i]->shift;
        for (int j = 0; j <= i; j++) {
            double entry = 0;
            for (int k = 0; k < MAX_NORMALS; k++)
                entry += seen[i]->on[k] * seen[j]->on[k];
            for (int k = 0; k < j; k++)
                entry -= lower[i][k] * lower[j][k];
            if (i == j)
                assert_true(entry > 0);
            lower[i][j] = i == j ? sqrt(entry) : entry / lower[j][j];
            if (j < i)
                white[i] -= lower[i][j] * white[j];
        }
        white[i] /= lower[i][i];
        sum += white[i] * white[i];
    }
    return sum / 2;
}

struct run {
    int agents, rounds, epochs;
    double hessian[MAX_AGENTS], inverse_rho, step, common, start_variance;
    int start_z_at_x;
    double tau[MAX_AGENTS]; /* 0 is 1 */
};

static double tau_of(const struct run *run, int agent)
{
    return run->tau[agent] > 0 ? run->tau[agent] : 1;
}

/* All x, z and y after each round; round 0 is the start. */
static struct form x[MAX_ROUNDS + 1][MAX_AGENTS], z[MAX_ROUNDS + 1][MAX_AGENTS];
static struct form y[MAX_ROUNDS + 1];

static void average(const struct run *run, int round)
{
    memset(&y[round], 0, sizeof y[round]);
    for (int i = 0; i < run->agents; i++)
        add_scaled(&y[round], run->common / run->agents, &z[round][i]);
}

/* One round of agent i: Ne steps w <- a w + (gamma/rho) v + shift + noise in closed form, dl = 1. */
static void local_steps(const struct run *run, int round, int i)
{
    double a = 1 - run->step * (run->hessian[i] + run->inverse_rho);
    double sum = 0, squares = 0, power = 1;
    for (int l = 0; l < run->epochs; l++, power *= a) {
        sum += power;
        squares += power * power;
    }
    struct form *now = &x[round + 1][i];
    *now = x[round][i];
    scale(now, power);
    add_scaled(now, 2 * run->step * run->inverse_rho * sum, &y[round]);
    add_scaled(now, -run->step * run->inverse_rho * sum, &z[round][i]);
    if (i == 0)
        now->shift += run->step * sum;
    now->on[run->agents * (round + 1) + i] += tau_of(run, i) * sqrt(2 * run->step * squares);
    z[round + 1][i] = z[round][i];
    add_scaled(&z[round + 1][i], 2, now);
    add_scaled(&z[round + 1][i], -2, &y[round]);
}

static void propagate(const struct run *run)
{
    assert_true(run->agents * (run->rounds + 1) <= MAX_NORMALS);
    memset(x, 0, sizeof x);
    memset(z, 0, sizeof z);
    for (int i = 0; i < run->agents; i++) {
        x[0][i].on[i] = sqrt(run->start_variance);
        if (run->start_z_at_x)
            z[0][i] = x[0][i];
    }
    for (int round = 0; round < run->rounds; round++) {
        average(run, round);
        for (int i = 0; i < run->agents; i++)
            local_steps(run, round, i);
    }
    average(run, run->rounds);
}

/* What is seen of rounds 1 to K; a random start is broadcast as well, in the first y. */
static double seen_every_round(const struct run *run, int first_agent, int last_agent, int with_y)
{
    const struct form *seen[MAX_SEEN];
    int count = 0;
    if (with_y && run->start_z_at_x)
        seen[count++] = &y[0];
    for (int round = 1; round <= run->rounds; round++) {
        for (int i = first_agent; i <= last_agent; i++)
            seen[count++] = &z[round][i];
        if (with_y)
            seen[count++] = &y[round];
    }
    return divergence(seen, count);
}

/* Another agent: the broadcasts, and all it did itself. */
static double seen_by_agent(const struct run *run, int agent)
{
    const struct form *seen[MAX_SEEN];
    int count = 0;
    seen[count++] = &x[0][agent];
    if (run->start_z_at_x)
        seen[count++] = &y[0];
    for (int round = 1; round <= run->rounds; round++) {
        seen[count++] = &x[round][agent];
        seen[count++] = &y[round];
    }
    return divergence(seen, count);
}

static double seen_at_last(const struct form *forms, int count)
{
    const struct form *seen[MAX_AGENTS];
    for (int i = 0; i < count; i++)
        seen[i] = &forms[i];
    return divergence(seen, count);
}

static double last_mean_of_x(const struct run *run)
{
    struct form mean = {0};
    for (int i = 0; i < run->agents; i++)
        add_scaled(&mean, 1.0 / run->agents, &x[run->rounds][i]);
    return seen_at_last(&mean, 1);
}

static struct run run_of(const struct table *table)
{
    struct run run = {
        .rounds = (int)table_number(table, "K"),
        .epochs = (int)table_number(table, "Ne"),
        .inverse_rho = 1 / table_number(table, "rho"),
        .step = table_number(table, "gamma"),
        .common = table_number(table, "s"),
        .start_variance = table_number(table, "x0_var"),
        .start_z_at_x = strcmp(table_text(table, "z0"), "x0") == 0,
    };
    const char *rest = table_text(table, "hessians");
    for (char *end; run.agents < MAX_AGENTS; rest = end) {
        double value = strtod(rest, &end);
        if (end == rest)
            break;
        run.hessian[run.agents++] = value;
    }
    return run;
}

static fplt_privacy_mechanism mechanism_of(const struct run *run)
{
    fplt_privacy_mechanism mechanism = fplt_privacy_defaults();
    double own = tau_of(run, 0), least = own, squares = 0;
    for (int i = 0; i < run->agents; i++) {
        least = fmin(least, tau_of(run, i));
        squares += tau_of(run, i) * tau_of(run, i) / run->agents;
    }
    mechanism.least_noise = least / own;
    mechanism.mean_noise = sqrt(squares) / own;
    mechanism.noise_tau = own;
    mechanism.sensitivity = 1;
    mechanism.records = 1;
    mechanism.step = run->step;
    mechanism.epochs = (uint64_t)run->epochs;
    mechanism.rounds = (uint64_t)run->rounds;
    mechanism.inverse_rho = run->inverse_rho;
    mechanism.strong_convexity = mechanism.smoothness = run->hessian[0];
    for (int i = 1; i < run->agents; i++) {
        mechanism.strong_convexity = fmin(mechanism.strong_convexity, run->hessian[i]);
        mechanism.smoothness = fmax(mechanism.smoothness, run->hessian[i]);
    }
    return mechanism;
}

static fplt_privacy_claim claim_of(const fplt_privacy_mechanism *mechanism, const char *threat)
{
    fplt_error error;
    fplt_privacy_claim claim;
    assert_ok(fplt_privacy_claim_make(mechanism, threat, &claim, &error), error);
    return claim;
}

static double rate_of(const fplt_privacy_mechanism *mechanism, const char *threat)
{
    return claim_of(mechanism, threat).renyi_rate;
}

static void assert_at_most(double value, double bound)
{
    if (!(value <= bound * (1 + 1e-12)))
        fail_msg("%.15g exceeds the bound %.15g", value, bound);
}

static void check_bounds(const struct table *table, const struct run *run)
{
    fplt_privacy_mechanism mechanism = mechanism_of(run);
    fplt_privacy_claim final_x = claim_of(&mechanism, "final-x");
    fplt_privacy_claim final_y = claim_of(&mechanism, "final-y");
    double transcript = rate_of(&mechanism, "transcript");
    assert_close(transcript, table_number(table, "K_round_bound"), 1e-9);
    assert_close(rate_of(&mechanism, "paper"), table_number(table, "prop4"), 1e-9);
    assert_close(final_x.mu_final * final_x.mu_final / 2, table_number(table, "thmF_x"), 1e-9);
    assert_close(final_y.mu_final * final_y.mu_final / 2, table_number(table, "thmF_zy"), 1e-9);
    int last = run->agents - 1;
    assert_at_most(seen_every_round(run, 0, last, 0), transcript);
    assert_at_most(seen_every_round(run, 1, 0, 1), rate_of(&mechanism, "broadcast"));
    assert_at_most(seen_at_last(x[run->rounds], run->agents), final_x.renyi_rate);
    assert_at_most(seen_at_last(x[run->rounds], 1), final_x.renyi_rate);
    assert_at_most(seen_at_last(z[run->rounds], run->agents), final_y.renyi_rate);
    assert_at_most(seen_at_last(&y[run->rounds], 1), final_y.renyi_rate);
}

static void exact_cases_are_reproduced_and_bounded(void **state)
{
    (void)state;
    struct table table;
    int rows = 0, beyond_paper = 0;
    for (table_open(&table, CASES); table_next(&table); rows++) {
        struct run run = run_of(&table);
        int last = run.agents - 1;
        propagate(&run);
        assert_close(seen_at_last(x[run.rounds], 1), table_number(&table, "D_xiK"), 1e-9);
        assert_close(seen_at_last(x[run.rounds], run.agents), table_number(&table, "D_XK_joint"),
                     1e-9);
        assert_close(seen_at_last(z[run.rounds], 1), table_number(&table, "D_ziK"), 1e-9);
        assert_close(seen_at_last(&y[run.rounds], 1), table_number(&table, "D_y_final"), 1e-9);
        assert_close(last_mean_of_x(&run), table_number(&table, "D_xbar"), 1e-9);
        assert_close(seen_every_round(&run, 0, last, 0), table_number(&table, "D_transcript_all_z"),
                     1e-9);
        assert_close(seen_every_round(&run, 1, 0, 1), table_number(&table, "D_y_transcript"), 1e-9);
        if (run.agents > 1)
            assert_close(seen_by_agent(&run, 1),
                         table_number(&table, "D_y_transcript_seen_by_agent"), 1e-9);
        check_bounds(&table, &run);
        beyond_paper += table_number(&table, "D_ziK") > table_number(&table, "prop4");
    }
    assert_int_equal(rows, 10);
    assert_int_equal(beyond_paper, 1);
}

/* What the largest figure of the exact cases is: the transmitted z of one row, 1.86 times the
 * paper's. */
static void the_transmitted_z_exceeds_the_papers_figure(void **state)
{
    (void)state;
    struct run run = {.agents = 2,
                      .rounds = 10,
                      .epochs = 20,
                      .hessian = {1, 10},
                      .inverse_rho = 1 / 30.0,
                      .step = 0.1,
                      .common = 1,
                      .start_variance = 2};
    propagate(&run);
    fplt_privacy_mechanism mechanism = mechanism_of(&run);
    double ratio = seen_at_last(z[run.rounds], 1) / rate_of(&mechanism, "paper");
    assert_near(ratio, 1.855, 0.001);
    /* and the transcript grows with the rounds, where the paper's figure stays */
    double paper = rate_of(&mechanism, "paper");
    assert_true(seen_every_round(&run, 0, 1, 0) > 3 * paper);
}

/* With a known start, gamma <= 2/(m + M) and the flattest victim, the transcript meets T. */
static void theorem_t_is_attained(void **state)
{
    (void)state;
    const double fractions[] = {0.05, 0.5, 1};
    for (int i = 0; i < 3; i++)
        for (int epochs = 1; epochs <= 13; epochs += 4) {
            struct run run = {.agents = 3,
                              .rounds = 9,
                              .epochs = epochs,
                              .hessian = {0.3, 2, 1},
                              .inverse_rho = 0.7,
                              .common = 1,
                              .start_variance = 0};
            run.step = fractions[i] * 2 / (run.hessian[0] + run.hessian[1] + 2 * run.inverse_rho);
            propagate(&run);
            fplt_privacy_mechanism mechanism = mechanism_of(&run);
            assert_close(seen_every_round(&run, 0, 2, 0), rate_of(&mechanism, "transcript"), 1e-11);
        }
}

/* Agents with unlike noise, many federations: the messages are hidden by the victim's own noise, all final
 * models together by the least. Of one round both are exact where the victim has the least. */
static void unlike_noise_is_bounded_by_the_least(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(9, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int k = 0; k < 400; k++) {
        struct run run = {.agents = 2 + k % 4,
                          .rounds = 1 + k / 4 % 6,
                          .epochs = 1 + k / 24 % 5,
                          .inverse_rho = 0.05 + fplt_stream_uniform(&stream),
                          .common = 1};
        double most = 0;
        for (int i = 0; i < run.agents; i++) {
            run.hessian[i] = 0.02 + fplt_stream_uniform(&stream);
            run.tau[i] = exp2(6 * fplt_stream_uniform(&stream) - 3);
            most = fmax(most, run.hessian[i]);
        }
        run.step = (0.1 + 0.8 * fplt_stream_uniform(&stream)) / (most + run.inverse_rho);
        int sharp = k % 3 == 0;
        for (int i = 1; sharp && i < run.agents; i++) {
            run.hessian[i] = fmax(run.hessian[i], run.hessian[0]);
            run.tau[i] = fmax(run.tau[i], run.tau[0]);
        }
        propagate(&run);
        fplt_privacy_mechanism mechanism = mechanism_of(&run);
        fplt_privacy_claim claim = claim_of(&mechanism, "final-x");
        double bound = claim.mu_final * claim.mu_final / 2;
        double last = seen_at_last(x[run.rounds], run.agents);
        assert_at_most(seen_every_round(&run, 0, run.agents - 1, 0),
                       rate_of(&mechanism, "transcript"));
        assert_at_most(last, bound);
        if (sharp && run.rounds == 1)
            assert_close(last, bound, 1e-11);
    }
}

/* The neighbour's extra gradient: +delta left of the band, -delta right of it. A path that comes
 * nearer to the band than `margin` would not be Gaussian: the test fails. */
static double side(double w, double left, double right, double margin)
{
    assert_true(w < left - margin || w > right + margin);
    return w < left ? 1 : -1;
}

/* One round near the largest step: the path crosses the band at every step. */
static void one_round_exceeds_the_papers_figure(void **state)
{
    (void)state;
    const double fraction[] = {0.9, 0.95, 0.98}, expected[] = {1.80, 4.00, 10.3};
    const int epochs[] = {60, 60, 100};
    for (int i = 0; i < 3; i++) {
        fplt_privacy_mechanism mechanism = fplt_privacy_defaults();
        double lmax = 1.25, delta = 0.5;
        mechanism.sensitivity = delta;
        mechanism.records = 1;
        mechanism.strong_convexity = 1;
        mechanism.smoothness = lmax;
        mechanism.inverse_rho = 1;
        mechanism.noise_tau = 1;
        mechanism.step = fraction[i] * 2 / (lmax + 1);
        mechanism.epochs = (uint64_t)epochs[i];
        double gamma = mechanism.step, a = 1 - gamma * (lmax + 1);
        double start = 1e10, centre = start / (lmax + 1); /* v = z_0, the path's fixed point */
        double width = 2 * delta / (lmax - 1), left = centre - width / 2,
               right = centre + width / 2;
        double path = 0, other = 0, shift = 0, variance = 2;
        for (int l = 0; l < epochs[i]; l++) {
            double push = delta * side(path, left, right, 1000);
            assert_true(push == delta * side(other, left, right, 1000));
            path = path - gamma * (lmax * path + path - start);
            other = other - gamma * (lmax * other + other - start + push);
            shift = a * shift - gamma * push;
            variance = a * a * variance + 2 * gamma;
        }
        assert_close(other - path, shift, 1e-5);
        double measured = shift * shift / (2 * variance);
        assert_close(measured / rate_of(&mechanism, "paper"), expected[i], 0.003);
        assert_at_most(measured, rate_of(&mechanism, "transcript"));
        assert_at_most(measured, rate_of(&mechanism, "final-x"));
        /* but for the start's variance, Theorem T is attained here as well */
        assert_true(measured > 0.99 * rate_of(&mechanism, "transcript"));
    }
}

enum { CROWD = 10, LONG = 40, INNER = 30 };

/* Fed-PLT with all Hessians lmax: the mean path, and how far a neighbour's lies from it. */
struct crowd {
    double x[CROWD], z[CROWD];
    double shift_x[CROWD], shift_z[CROWD];
};

/* Rounds of one linear map applied to (x, z) of all agents; `push` is what the victim's gradient
 * has more in each inner step, `pull` each agent's lmax times minimiser. */
static void crowd_round(double *state_x, double *state_z, const double *pull, const double *push,
                        double gamma, double lmax, double inverse_rho, double *visited)
{
    double mean = 0;
    for (int i = 0; i < CROWD; i++)
        mean += state_z[i] / CROWD;
    for (int i = 0; i < CROWD; i++) {
        double w = state_x[i], v = 2 * mean - state_z[i];
        for (int l = 0; l < INNER; l++) {
            if (visited && i == 0)
                visited[l] = w;
            double gradient = lmax * w - (pull ? pull[i] : 0) + (w - v) * inverse_rho;
            w -= gamma * (gradient + (push && i == 0 ? push[l] : 0));
        }
        state_x[i] = w;
        state_z[i] += 2 * (w - mean);
    }
}

/* Variance of the victim's final x: each normal (the start of every x, and each inner step's noise
 * gathered a round) pushed through the rounds that follow it. */
static double crowd_variance(double gamma, double lmax, double inverse_rho)
{
    double a = 1 - gamma * (lmax + inverse_rho), noise = 0, total = 0, power = 1;
    for (int l = 0; l < INNER; l++, power *= a)
        noise += 2 * gamma * power * power;
    for (int born = 0; born <= LONG; born++)
        for (int i = 0; i < CROWD; i++) {
            double state_x[CROWD] = {0}, state_z[CROWD] = {0};
            state_x[i] = 1;
            state_z[i] = born ? 2 : 0; /* a round's noise also enters z + 2 (x - y) */
            for (int round = born; round < LONG; round++)
                crowd_round(state_x, state_z, NULL, NULL, gamma, lmax, inverse_rho, NULL);
            total += state_x[0] * state_x[0] * (born ? noise : 2);
        }
    return total;
}

/* Many rounds, a small step: all gradients of the rounds before the last are taken left of the
 * band, those of the last right of it, and what z stored comes back with the other sign. */
static void many_rounds_exceed_the_papers_figure(void **state)
{
    (void)state;
    const double gamma = 0.15, lmin = 1, lmax = 1.02, inverse_rho = 1 / 20.0, delta = 0.8;
    const double far = -4.8e5, width = 2 * delta / (lmax - lmin);
    double pull[CROWD], visited[LONG][INNER];
    for (int i = 0; i < CROWD; i++)
        pull[i] = lmax * (i == 0 ? far : -far / (CROWD - 1));
    struct crowd crowd = {0};
    for (int round = 0; round < LONG; round++)
        crowd_round(crowd.x, crowd.z, pull, NULL, gamma, lmax, inverse_rho, visited[round]);
    /* the last round's first gradient is taken where the round before ended; the second one lies
     * beyond the band */
    double gap = visited[LONG - 1][1] - visited[LONG - 1][0];
    double left = visited[LONG - 1][0] + (gap - width) / 2, right = left + width;
    struct crowd other = {0};
    for (int round = 0; round < LONG; round++) {
        double push[INNER], also[INNER];
        for (int l = 0; l < INNER; l++)
            push[l] = delta * side(visited[round][l], left, right, 12);
        crowd_round(crowd.shift_x, crowd.shift_z, NULL, push, gamma, lmax, inverse_rho, NULL);
        crowd_round(other.x, other.z, pull, push, gamma, lmax, inverse_rho, also);
        for (int l = 0; l < INNER; l++)
            assert_true(push[l] == delta * side(also[l], left, right, 12));
    }
    assert_near(other.x[0] - crowd.x[0], crowd.shift_x[0], 1e-6);
    double variance = crowd_variance(gamma, lmax, inverse_rho);
    double measured = crowd.shift_x[0] * crowd.shift_x[0] / (2 * variance);

    fplt_privacy_mechanism mechanism = fplt_privacy_defaults();
    mechanism.sensitivity = delta;
    mechanism.records = 1;
    mechanism.strong_convexity = lmin;
    mechanism.smoothness = lmax;
    mechanism.inverse_rho = inverse_rho;
    mechanism.noise_tau = 1;
    mechanism.step = gamma;
    mechanism.epochs = INNER;
    mechanism.rounds = LONG;
    assert_close(measured / rate_of(&mechanism, "paper"), 1.42, 0.005);
    assert_at_most(measured, rate_of(&mechanism, "final-x"));
    assert_at_most(measured, rate_of(&mechanism, "transcript"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_cases_are_reproduced_and_bounded),
        cmocka_unit_test(the_transmitted_z_exceeds_the_papers_figure),
        cmocka_unit_test(theorem_t_is_attained),
        cmocka_unit_test(unlike_noise_is_bounded_by_the_least),
        cmocka_unit_test(one_round_exceeds_the_papers_figure),
        cmocka_unit_test(many_rounds_exceed_the_papers_figure),
    };
    return cmocka_run_group_tests_name("privacy/quadratics", tests, NULL, NULL);
}
