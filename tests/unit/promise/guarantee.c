/* What a promise must not get wrong, against the definitions written out: the agent that has least
 * protection, the curvature that rows' weights make, who may use the bound for a final model, what
 * the lattice costs, and the error that the plan expects. */
#include "base/random.h"
#include "fedplt/algorithm.h"
#include "privacy/privacy.h"
#include "promise/fixture.h"

#include "fedplt/noise.h"
#include "fedplt/random.h"
#include "fedplt/transform.h"
#include "promise/promise.h"

enum { AGENTS = 4 };

/* How much f_i counts: 1, or q_i over the mean of all q. */
static double weight_of(const fplt_promise_view *view, uint32_t agent)
{
    double total = 0;
    for (uint32_t i = 0; i < view->agents; i++)
        total += (double)view->records[i];
    return view->weigh_rows ? (double)view->records[agent] * view->agents / total : 1;
}

/* [Theorem T] on the lattice for agent i after all rounds. */
static double mu_of(const fplt_promise_view *view, uint32_t agent)
{
    const fplt_privacy_mechanism *m = &view->mechanism;
    double low = m->strong_convexity + m->inverse_rho, high = m->smoothness + m->inverse_rho;
    double c = fmax(fabs(1 - m->step * low), fabs(1 - m->step * high)), sum = 0, squares = 0;
    double gap =
        view->constants.sensitivity * weight_of(view, agent) / (double)view->records[agent];
    for (uint64_t l = 0; l < m->epochs; l++) {
        sum += pow(c, (double)l);
        squares += pow(c, 2 * (double)l);
    }
    double deviation = sqrt(2 * m->step) * view->tau[agent];
    double shift = m->step * gap + 3 * deviation / FPLT_NOISE_SCALE * sqrt((double)m->dimension);
    return shift / deviation * sum / sqrt(squares) * sqrt((double)m->rounds);
}

/* epsilon of a Renyi rate D at delta: the least over the orders of a fine grid. */
static double epsilon_of(double mu, double delta)
{
    double least = HUGE_VAL;
    for (double order = 1.0005; order < 2000; order *= 1.0005)
        least = fmin(least, order * mu * mu / 2 + log1p(-1 / order) -
                                (log(delta) + log(order)) / (order - 1));
    return fmax(0, least);
}

/* Everybody is promised what is asked for, by no more noise than its own records need: twice the
 * records, half the noise, or the same noise for all where every row weighs alike. */
static void each_agent_has_the_noise_of_its_own_records(void **state)
{
    (void)state;
    for (int rows = 0; rows < 2; rows++) {
        struct fixture fixture =
            MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "9"}, {"epochs", "4"},
                 {"unequal", "0.95"}, {"weights", rows ? "rows" : "agents"}, {"seed", "7"});
        const fplt_promise_view *view = fixture.view;
        double largest = 0, least = HUGE_VAL;
        for (uint32_t i = 0; i < AGENTS; i++) {
            fplt_privacy_claim claim;
            fplt_error error;
            double epsilon, mu = mu_of(view, i);
            largest = fmax(largest, mu);
            least = fmin(least, mu);
            assert_ok(fplt__promise_claim(view, i, 9, &claim, &epsilon, &error), error);
            assert_close(claim.gdp_mu, mu, 1e-11);
            assert_close(epsilon, epsilon_of(mu, 1e-5), 1e-5);
            assert_true(epsilon <= 2);
        }
        assert_close(least, largest, 1e-11);
        assert_close(view->claim.gdp_mu, largest, 1e-11);
        assert_true(view->promised > 2 * (1 - 1e-6) && view->promised <= 2);
        const fplt_training *each = fplt_job_get_view(fixture.job)->run.each;
        assert_true(rows ? !each : each != NULL);
        for (uint32_t i = 0; i < AGENTS; i++) {
            double ratio = rows ? 1 : (double)view->records[view->worst] / (double)view->records[i];
            assert_close(view->tau[i], view->tau[view->worst] * ratio, 1e-11);
            assert_true(view->tau[i] <= view->tau[view->worst]);
            assert_true(!each || each[i].noise_tau == view->tau[i]);
        }
        release(&fixture);
    }
}

/* f_i = weight_i (loss + regulariser): bounds for all of them, and for what the data have. */
static void curvature_knows_the_weights(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double least, most; /* of its curvature, at weight 0.2 */
    } regularisers[] = {{"ridge", 0.2, 0.2}, {"nonconvex", -0.1, 0.4}, {"none", 0, 0}};
    for (int rows = 0; rows < 2; rows++)
        for (int r = 0; r < 3; r++) {
            struct fixture fixture =
                MAKE(NULL, {"privacy.epsilon", "2"}, {"rounds", "3"}, {"epochs", "2"},
                     {"unequal", "0.95"}, {"weights", rows ? "rows" : "agents"},
                     {"regulariser", regularisers[r].name}, {"privacy.rows", "3"}, {"seed", "7"},
                     {r < 2 ? "eps" : "seed", r < 2 ? "0.2" : "7"});
            const fplt_promise_view *view = fixture.view;
            double least = HUGE_VAL, most = 0;
            for (uint32_t i = 0; i < AGENTS; i++) {
                least = fmin(least, weight_of(view, i));
                most = fmax(most, weight_of(view, i));
            }
            assert_true(rows ? most > 1.1 && least < 0.9 : most == 1 && least == 1);
            double low = regularisers[r].least, high = regularisers[r].most;
            assert_near(view->curvature.lowest, low * (low > 0 ? least : most), 1e-12);
            assert_near(view->curvature.highest, most * (9 / 4.0 + high), 1e-12);
            assert_true(view->mechanism.strong_convexity == view->curvature.lowest);
            assert_true(view->mechanism.smoothness == view->curvature.highest);
            for (uint32_t i = 0; i < AGENTS; i++) {
                fplt_curvature own;
                fplt_error error;
                assert_ok(fplt_objective_curvature(fplt_job_get_view(fixture.job)->objective, i, 1,
                                                   &own, &error),
                          error);
                assert_true(own.lowest >= view->curvature.lowest - 1e-12);
                assert_true(own.highest <= view->curvature.highest + 1e-12);
            }
            release(&fixture);
        }
}

/* Losses of one margin on a few rows of norm at most `norm`, labels included: the gradient of their mean at
 * x, clipped as the objective does. */
static void gradient_of(const char *loss, double bound, double clip, double norm,
                        const double *rows, const double *labels, size_t count, const double *x,
                        double *out)
{
    enum { FEATURES = 3 };
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_rows all = {.count = count, .features = FEATURES, .dense = rows, .label = labels};
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_error error;
    settings.loss = loss;
    settings.predictor_bound = bound;
    settings.clip = clip;
    settings.intercept = 1;
    settings.weight = 0;
    assert_ok(fplt_dataset_from_rows(&all, FPLT_TASK_REGRESSION, &count, 1, &dataset, &error),
              error);
    fplt_transform shorten = {.features = FEATURES, .radius = norm};
    assert_ok(fplt_transform_apply(&shorten, dataset, &error), error);
    assert_ok(fplt_objective_create(&settings, dataset, &objective, &error), error);
    double *scratch = calloc(fplt_objective_scratch(objective), sizeof *scratch), value;
    assert_int_equal(fplt_objective_value_gradient(objective, 0, x, &value, out, scratch), FPLT_OK);
    free(scratch);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
}

/* Counts: replacing any record moves the gradient of the mean by at most L/q, and the gradient in use
 * bends by at most the bound that the predictor's gives; both are met nearly. */
static void counts_have_the_constants_that_are_charged(void **state)
{
    (void)state;
    enum { ROWS = 5, N = 4, TRIALS = 3000 };
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    double furthest = 0, steepest = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        const double bounds[] = {-1, 0.5, 2};
        fplt_privacy_loss loss = {.name = "poisson",
                                  .row_norm = 0.5 + trial % 3,
                                  .intercept = 1,
                                  .clip = trial % 2 ? 0.3 : 40,
                                  .predictor_bound = bounds[trial % 3]};
        fplt_privacy_constants constants;
        fplt_error error;
        double rows[ROWS * 3], labels[ROWS], x[N], near[N], a[N], b[N], c[N];
        assert_ok(fplt__privacy_loss_constants(&loss, &constants, &error), error);
        for (int i = 0; i < ROWS * 3; i++)
            rows[i] = 4 * fplt_stream_normal(&stream);
        for (int i = 0; i < ROWS; i++)
            labels[i] = floor(10 * fplt_stream_uniform(&stream));
        fplt__stream_normals(&stream, 2, x, N);
        double distance = 0, moved = 0, bent = 0, size = exp2(-10 * fplt_stream_uniform(&stream));
        for (int i = 0; i < N; i++) {
            near[i] = x[i] + size * fplt_stream_normal(&stream);
            distance += pow(near[i] - x[i], 2);
        }
        gradient_of(loss.name, loss.predictor_bound, loss.clip, loss.row_norm, rows, labels, ROWS,
                    x, a);
        gradient_of(loss.name, loss.predictor_bound, loss.clip, loss.row_norm, rows, labels, ROWS,
                    near, c);
        for (int i = 0; i < 3; i++)
            rows[i] = 1e3 * fplt_stream_normal(&stream);
        labels[0] = trial % 2 ? 0 : 1e6;
        gradient_of(loss.name, loss.predictor_bound, loss.clip, loss.row_norm, rows, labels, ROWS,
                    x, b);
        for (int i = 0; i < N; i++) {
            moved += pow(a[i] - b[i], 2);
            bent += pow(a[i] - c[i], 2);
        }
        furthest = fmax(furthest, sqrt(moved) * ROWS / constants.sensitivity);
        steepest = fmax(steepest, sqrt(bent / distance) / constants.curvature);
    }
    assert_true(furthest <= 1 + 1e-12 && furthest > 0.9);
    assert_true(steepest <= 1 + 1e-9 && steepest > 0.5);
}

/* [Theorem F] needs all agents in every round, and Fed-PLT's own recursion. */
static void the_bound_for_a_final_model_needs_full_participation(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm, *participation;
        int applies;
    } cases[] = {{"fed-plt", "all", 1}, {"fed-plt", "bernoulli", 0}, {"fedavg", "all", 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double tau[2], mu[2];
        for (int final = 0; final < 2; final++) {
            struct fixture fixture =
                MAKE(cases[k].algorithm, {"algorithm", cases[k].algorithm},
                     {"privacy.epsilon", "1"}, {"rounds", "200"}, {"epochs", "5"},
                     {"privacy.threat", final ? "final-x" : "transcript"}, {"gamma", "0.3"},
                     {"participation", cases[k].participation});
            tau[final] = fixture.view->mechanism.noise_tau;
            mu[final] = mu_of(fixture.view, fixture.view->worst);
            if (!final || !cases[k].applies)
                assert_close(fixture.view->claim.gdp_mu, mu[final], 1e-11);
            release(&fixture);
        }
        if (cases[k].applies)
            assert_true(tau[1] < tau[0] / 2);
        else
            assert_close(tau[1], tau[0], 1e-6);
    }
}

/* ---- the error that a plan expects ---- */

enum { CROWD = 5, STATE = 2 * CROWD };

/* Mean and covariance of all x_i and z_i, one coordinate, relative to a minimiser at 1. */
struct crowd {
    double mean[STATE], covariance[STATE][STATE];
};

/* s <- matrix s + shift. */
static void apply(struct crowd *crowd, double matrix[STATE][STATE], double shift)
{
    static double half[STATE][STATE];
    double mean[STATE] = {0};
    for (int i = 0; i < STATE; i++)
        for (int j = 0; j < STATE; j++) {
            mean[i] += matrix[i][j] * crowd->mean[j];
            half[i][j] = 0;
            for (int k = 0; k < STATE; k++)
                half[i][j] += matrix[i][k] * crowd->covariance[k][j];
        }
    for (int i = 0; i < STATE; i++) {
        crowd->mean[i] = mean[i] + (i < CROWD ? shift : 0);
        for (int j = 0; j < STATE; j++) {
            crowd->covariance[i][j] = 0;
            for (int k = 0; k < STATE; k++)
                crowd->covariance[i][j] += half[i][k] * matrix[j][k];
        }
    }
}

/* The noise of agent i over that of the mechanism. */
static double factor[CROWD];

/* One local step of every agent: x_i <- x_i - gamma (curve (x_i - 1) + pull (x_i - v_i)) + noise,
 * v_i = 2 mean z - z_i for a splitting, mean z otherwise. */
static void step_all(struct crowd *crowd, const fplt_privacy_mechanism *m, double curve, int splits)
{
    double matrix[STATE][STATE] = {{0}}, gamma = m->step, pull = m->inverse_rho;
    for (int i = 0; i < CROWD; i++) {
        matrix[i][i] = 1 - gamma * (curve + pull);
        matrix[CROWD + i][CROWD + i] = 1;
        for (int j = 0; j < CROWD; j++)
            matrix[i][CROWD + j] = gamma * pull * (splits ? 2.0 : 1.0) / CROWD;
        if (splits)
            matrix[i][CROWD + i] -= gamma * pull;
    }
    apply(crowd, matrix, gamma * curve);
    for (int i = 0; i < CROWD; i++)
        crowd->covariance[i][i] += 2 * gamma * pow(m->noise_tau * factor[i], 2);
}

/* z_i <- z_i + 2 (x_i - mean z); without splitting x_i = z_i = mean x. */
static void close_round(struct crowd *crowd, int splits)
{
    double matrix[STATE][STATE] = {{0}};
    for (int i = 0; i < CROWD; i++) {
        for (int j = 0; j < CROWD; j++) {
            matrix[CROWD + i][splits ? CROWD + j : j] = (splits ? -2.0 : 1.0) / CROWD;
            if (!splits)
                matrix[i][j] = 1.0 / CROWD;
        }
        if (splits) {
            matrix[i][i] = 1;
            matrix[CROWD + i][CROWD + i] += 1;
            matrix[CROWD + i][i] = 2;
        }
    }
    apply(crowd, matrix, 0);
}

/* Mean and variance of the mean of z after all rounds. */
static void followed(const fplt_privacy_mechanism *m, uint64_t epochs, double curve, int splits,
                     double *mean, double *variance)
{
    static struct crowd crowd;
    memset(&crowd, 0, sizeof crowd);
    for (uint64_t round = 0; round < m->rounds; round++) {
        for (uint64_t epoch = 0; epoch < epochs; epoch++)
            step_all(&crowd, m, curve, splits);
        close_round(&crowd, splits);
    }
    *mean = *variance = 0;
    for (int i = CROWD; i < STATE; i++) {
        *mean += crowd.mean[i] / CROWD;
        for (int j = CROWD; j < STATE; j++)
            *variance += crowd.covariance[i][j] / (CROWD * CROWD);
    }
}

/* The recursion of two numbers against all agents followed one by one. */
static void the_expected_error_is_that_of_all_agents(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"fed-plt", "fedprox"};
    static const uint64_t rounds[] = {1, 2, 7}, epochs[] = {1, 3};
    for (int a = 0; a < 2; a++) {
        struct fixture fixture = MAKE(algorithms[a], {"algorithm", algorithms[a]}, {"agents", "5"},
                                      {"privacy.epsilon", "2"}, {"rounds", "3"}, {"epochs", "2"},
                                      {"eps", "0.3"}, {"unequal", "0.9"}, {"weights", "agents"});
        const fplt_promise_view *view = fixture.view;
        fplt_privacy_mechanism m = view->mechanism;
        assert_int_equal(view->agents, CROWD);
        for (int i = 0; i < CROWD; i++)
            factor[i] = view->tau[i] / m.noise_tau;
        assert_true(factor[0] != factor[1] && m.mean_noise < 0.99);
        assert_true(a || m.inverse_rho > 0);
        for (int k = 0; k < 6; k++) {
            m.rounds = rounds[k % 3];
            double low = view->curvature.lowest, range = view->curvature.highest - low;
            double n = (double)m.dimension, flat = range / (n + 1), mean, variance, steep, unused;
            double distance = view->constants.gradient / 4 / (low + flat);
            int splits = view->algorithm->splits;
            followed(&m, epochs[k / 3], low + flat / 3, splits, &mean, &variance);
            followed(&m, epochs[k / 3], low + range / 2, splits, &steep, &unused);
            assert_close(fplt__promise_predict(view, &m, epochs[k / 3]),
                         n * variance / pow(distance * mean, 2) + 0.12 * pow(1 - mean, 2) +
                             pow(1 - steep, 2),
                         1e-10);
        }
        release(&fixture);
    }
}

/* What the plan chose has the error it says, and none of its neighbours has less. */
static void the_plan_is_the_best_nearby(void **state)
{
    (void)state;
    static const char *const epsilons[] = {"0.5", "8"};
    for (int k = 0; k < 2; k++) {
        struct fixture fixture =
            MAKE(NULL, {"algorithm", "fed-plt"}, {"privacy.epsilon", epsilons[k]}, {"rows", "400"});
        const fplt_promise_view *view = fixture.view;
        assert_true(view->planned_epochs && view->planned_rounds && view->planned_step &&
                    view->planned_rho);
        assert_close(fplt__promise_predict(view, &view->mechanism, view->epochs), view->predicted,
                     1e-9);
        assert_near(view->mechanism.inverse_rho, 1 / view->rho, 1e-12);
        static const double factors[] = {0.5, 1, 2};
        for (int i = 0; i < 81; i++) {
            fplt_privacy_mechanism m = view->mechanism;
            fplt_privacy_budget budget = {view->epsilon, view->delta, FPLT_CONVERT_BEST};
            fplt_error error;
            m.step *= factors[i % 3];
            m.inverse_rho *= factors[i / 3 % 3];
            m.epochs = (uint64_t)ceil((double)m.epochs * factors[i / 9 % 3]);
            m.rounds = (uint64_t)ceil((double)m.rounds * factors[i / 27]);
            double c = fmax(fabs(1 - m.step * (m.strong_convexity + m.inverse_rho)),
                            fabs(1 - m.step * (m.smoothness + m.inverse_rho)));
            /* beyond the automatic step a plan does not go */
            if (c >= 1 || m.epochs > 64 || (i % 3 == 2 && m.step * m.smoothness > 1))
                continue;
            if (fplt_privacy_calibrate_noise(&m, "transcript", &budget, &m.noise_tau, &error))
                continue;
            assert_true(fplt__promise_predict(view, &m, m.epochs) > 0.97 * view->predicted);
        }
        release(&fixture);
    }
}

/* rho from a few powers of two of the automatic value is worth planning where the ridge is small and the
 * automatic value therefore large: with that given, the best that is left is expected to be worse. */
/* One epoch, DP gradient descent as everybody has it, is always among what is compared. */
static void no_plan_is_worse_than_one_epoch(void **state)
{
    (void)state;
    const char *const budgets[] = {"0.5", "2", "8", "64"};
    int taken = 0;
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct fixture free = MAKE(NULL, {"algorithm", "fed-plt"}, {"privacy.epsilon", budgets[i]});
        struct fixture one =
            MAKE(NULL, {"algorithm", "fed-plt"}, {"privacy.epsilon", budgets[i]}, {"epochs", "1"});
        assert_true(free.view->predicted <= one.view->predicted * (1 + 1e-9));
        taken += free.view->epochs == 1;
        release(&free);
        release(&one);
    }
    assert_true(taken > 0);
}

static void planning_rho_helps(void **state)
{
    (void)state;
    struct fixture planned = MAKE(NULL, {"algorithm", "fed-plt"}, {"privacy.epsilon", "0.5"},
                                  {"rows", "400"}, {"eps", "0.001"});
    const fplt_promise_view *view = planned.view;
    double automatic = 1 / sqrt(view->curvature.lowest * view->curvature.highest);
    double power = log2(view->rho / automatic);
    char text[40];
    assert_near(power, nearbyint(power), 1e-9);
    snprintf(text, sizeof text, "%.17g", automatic);
    struct fixture given =
        MAKE(NULL, {"privacy.epsilon", "0.5"}, {"rows", "400"}, {"eps", "0.001"}, {"rho", text});
    assert_true(view->planned_rho && !given.view->planned_rho);
    assert_near(given.view->rho, automatic, 1e-15 * automatic);
    assert_true(view->predicted < 0.999 * given.view->predicted);
    release(&planned);
    release(&given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_agent_has_the_noise_of_its_own_records),
        cmocka_unit_test(curvature_knows_the_weights),
        cmocka_unit_test(counts_have_the_constants_that_are_charged),
        cmocka_unit_test(the_bound_for_a_final_model_needs_full_participation),
        cmocka_unit_test(the_expected_error_is_that_of_all_agents),
        cmocka_unit_test(the_plan_is_the_best_nearby),
        cmocka_unit_test(planning_rho_helps),
        cmocka_unit_test(no_plan_is_worse_than_one_epoch),
    };
    return cmocka_run_group_tests_name("promise/guarantee", tests, NULL, NULL);
}
