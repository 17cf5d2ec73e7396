/* Promises for a caller's own costs: gradients are shortened record by record, the plan follows from public numbers, the
 * noise hides a record as well as is claimed and no better, and the certificate is verified. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#include "base/noise.h"
#include "fedplt/algorithm.h"
#include "fedplt/certificate.h"
#include "fedplt/objective_callbacks.h"
#include "fedplt/random.h"
#include "fedplt/trainer.h"
#include "objective/objective_access.h"
#include "promise/promise.h"
#include "solver/solver.h"

/* Costs <g_r, x> of given gradients: rows of `gradient`, agents one after the other. */
struct linear {
    size_t dimension, calls, longest; /* of a block that was asked for */
    const size_t *records, *first;
    const double *gradient;
};

static size_t records_of(void *context, uint32_t agent)
{
    return ((const struct linear *)context)->records[agent];
}

static int record_gradients(void *context, uint32_t agent, const double *x, const uint32_t *rows,
                            size_t count, double *gradients)
{
    struct linear *self = context;
    size_t n = self->dimension;
    (void)x;
    self->calls++;
    self->longest = count > self->longest ? count : self->longest;
    for (size_t k = 0; k < count; k++)
        memcpy(gradients + k * n, self->gradient + (self->first[agent] + rows[k]) * n,
               n * sizeof *gradients);
    return 0;
}

static int value_gradient(void *context, uint32_t agent, const double *x, double *value,
                          double *gradient)
{
    const struct linear *self = context;
    (void)agent, (void)x;
    *value = 0;
    memset(gradient, 0, self->dimension * sizeof *gradient);
    return 0;
}

static fplt_objective *objective_of(struct linear *self, uint32_t agents, int by_record)
{
    fplt_objective *objective;
    fplt_error error;
    fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                          .dimension = self->dimension,
                                          .agents = agents,
                                          .context = self,
                                          .value_gradient = value_gradient,
                                          .records = records_of,
                                          .record_gradients = by_record ? record_gradients : NULL};
    assert_ok(fplt_objective_create_callback(&callbacks, &objective, &error), error);
    return objective;
}

/* Shortening */

/* The mean of the shortened gradients in long double; one that is not finite is zero. */
static void mean_of(const double *gradient, size_t rows, size_t n, double clip, long double *mean)
{
    memset(mean, 0, n * sizeof *mean);
    for (size_t r = 0; r < rows; r++) {
        long double square = 0;
        int finite = 1;
        for (size_t j = 0; j < n; j++) {
            long double g = gradient[r * n + j];
            finite &= isfinite(gradient[r * n + j]) != 0;
            square += g * g;
        }
        long double norm = sqrtl(square);
        for (size_t j = 0; j < n && finite; j++)
            mean[j] += gradient[r * n + j] * (norm > clip ? clip / norm : 1) / (long double)rows;
    }
}

static void assert_shortened(size_t rows, size_t n, double clip, double size, size_t longest)
{
    const size_t first = 0;
    struct linear self = {.dimension = n, .records = &rows, .first = &first};
    double *gradient = calloc(rows * n, sizeof *gradient), *x = calloc(n, sizeof *x),
           *found = calloc(n, sizeof *found);
    long double *wanted = calloc(n, sizeof *wanted);
    fplt_objective *plain = objective_of(&self, 1, 1), *clipped;
    fplt_error error;
    fplt_stream stream = fplt_stream_make(rows, 0, FPLT_FOR_TEST, n, 0, 0);
    assert_true(gradient && x && found && wanted);
    for (size_t k = 0; k < rows * n; k++)
        gradient[k] = size * fplt_stream_normal(&stream);
    for (size_t j = 0; j < n; j++)
        gradient[(rows / 2) * n + j] = j ? 0 : rows % 2 ? NAN : -INFINITY;
    self.gradient = gradient;
    assert_ok(fplt__objective_clip_records(plain, clip, &clipped, &error), error);
    double *scratch = calloc(fplt_objective_scratch(clipped), sizeof *scratch);
    assert_non_null(scratch);
    assert_int_equal(fplt_objective_gradient(clipped, 0, x, found, scratch), FPLT_OK);
    mean_of(gradient, rows, n, clip, wanted);
    for (size_t j = 0; j < n; j++)
        assert_true(fabsl(found[j] - wanted[j]) <= 1e-12L * clip);
    assert_int_equal(self.longest, longest);
    fplt_objective_destroy(clipped);
    fplt_objective_destroy(plain);
    free(scratch);
    free(wanted);
    free(found);
    free(x);
    free(gradient);
}

static void gradients_are_shortened_in_blocks(void **state)
{
    (void)state;
    assert_shortened(1000, 3, 0.7, 1, 256);
    assert_shortened(7, 300000, 2, 0.01, 3);
    assert_shortened(9, 5, 1e3, 1e308, 9); /* the norms overflow */
    assert_shortened(9, 5, 1e-3, 1e-308, 9);
    assert_shortened(40, 5, 100, 1, 40); /* none is shortened */
}

/* However long a record's gradient is, the mean moves by no more than clip / records, in all its digits. */
static void no_gradient_is_longer_than_the_clip(void **state)
{
    enum { N = 1000 };
    static double gradient[N], found[N], x[N];
    const size_t rows = 1, first = 0;
    struct linear self = {.dimension = N, .records = &rows, .first = &first, .gradient = gradient};
    fplt_objective *plain = objective_of(&self, 1, 1), *clipped;
    fplt_error error;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    (void)state;
    assert_ok(fplt__objective_clip_records(plain, 1, &clipped, &error), error);
    double *scratch = calloc(fplt_objective_scratch(clipped), sizeof *scratch);
    assert_non_null(scratch);
    for (int trial = 0; trial < 200; trial++) {
        long double square = 0;
        for (size_t j = 0; j < N; j++)
            gradient[j] = ldexp(fplt_stream_normal(&stream), trial * 10 - 1000);
        assert_int_equal(fplt_objective_gradient(clipped, 0, x, found, scratch), FPLT_OK);
        for (size_t j = 0; j < N; j++)
            square += (long double)found[j] * found[j];
        assert_true(square <= 1);
        assert_true(trial < 120 || square > 1 - 1e-11L);
    }
    free(scratch);
    fplt_objective_destroy(clipped);
    fplt_objective_destroy(plain);
}

/* Plans */

struct training {
    fplt_settings *settings;
    fplt_trainer *trainer;
};

static const char *given(void *context, const char *name)
{
    const char *const(*words)[2] = context;
    for (; (*words)[0]; words++)
        if (strcmp((*words)[0], name) == 0)
            return (*words)[1];
    return NULL;
}

static fplt_status train(const fplt_objective *objective, const char *const (*words)[2],
                         struct training *made, fplt_error *error)
{
    fplt_job_source source = {.objective = objective};
    made->trainer = NULL;
    assert_ok(fplt_settings_create(&made->settings, error), *error);
    assert_ok(fplt_trainer_declare(made->settings, 1, given, (void *)words, error), *error);
    for (; (*words)[0]; words++)
        assert_ok(fplt_settings_set(made->settings, (*words)[0], (*words)[1], "test", error),
                  *error);
    return fplt_trainer_create(made->settings, &source, &made->trainer, error);
}

static void training_clear(struct training *made)
{
    fplt_trainer_destroy(made->trainer);
    fplt_settings_destroy(made->settings);
}

static const char *const usual[][2] = {
    {"privacy.epsilon", "2"}, {"clip", "0.5"}, {"gamma", "0.3"}, {"rounds", "40"}, {NULL, NULL}};

enum { AGENTS = 3, DIMENSION = 4 };

static const size_t shares[AGENTS] = {20, 10, 40}, firsts[AGENTS] = {0, 20, 30};
static double gradients[70 * DIMENSION];
static struct linear three = {
    .dimension = DIMENSION, .records = shares, .first = firsts, .gradient = gradients};

/* Every agent has the noise that its own records ask for: L/q, step by step [Theorem T on the lattice]. */
static void plans_follow_from_public_numbers(void **state)
{
    fplt_objective *objective = objective_of(&three, AGENTS, 1);
    struct training made;
    fplt_error error;
    (void)state;
    assert_ok(train(objective, usual, &made, &error), error);
    const fplt_promise_view *view = fplt_trainer_promise(made.trainer);
    assert_string_equal(view->algorithm->name, "fedavg");
    assert_string_equal(view->loss.name, "custom");
    assert_int_equal(view->rounds, 40);
    assert_int_equal(view->epochs, 1);
    assert_false(view->mechanism.contraction);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_privacy_claim claim;
        double epsilon, step = sqrt(0.3 / 2) * 2 * 0.5 / (double)shares[i] / view->tau[i] +
                               3 * sqrt(DIMENSION) / 1048576;
        assert_ok(fplt__promise_claim(view, i, 40, &claim, &epsilon, &error), error);
        assert_close(claim.gdp_mu, step * sqrt(40), 1e-11);
        assert_true(epsilon <= 2 && epsilon > 2 * (1 - 1e-6));
    }
    assert_close(view->tau[1], 4 * view->tau[2], 1e-11);
    training_clear(&made);
    fplt_objective_destroy(objective);
}

/* Nothing is known of curvature, so every local step of Fed-PLT is charged: three of them are three, whatever rho is. */
static void local_steps_are_charged_one_by_one(void **state)
{
    static const char *const local[][2] = {{"algorithm", "fed-plt"}, {"rho", "1"},
                                           {"epochs", "3"},          {"privacy.tau", "0.2"},
                                           {"clip", "0.5"},          {"gamma", "0.3"},
                                           {"rounds", "8"},          {NULL, NULL}};
    fplt_objective *objective = objective_of(&three, AGENTS, 1);
    struct training made;
    fplt_error error;
    (void)state;
    assert_ok(train(objective, local, &made, &error), error);
    const fplt_promise_view *view = fplt_trainer_promise(made.trainer);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_privacy_claim claim;
        double epsilon, step = sqrt(0.3 / 2) * 2 * 0.5 / (double)shares[i] / 0.2 +
                               3 * sqrt(DIMENSION) / 1048576;
        assert_ok(fplt__promise_claim(view, i, 8, &claim, &epsilon, &error), error);
        assert_close(claim.gdp_mu, step * sqrt(3 * 8), 1e-11);
    }
    training_clear(&made);
    fplt_objective_destroy(objective);
}

static void promises_need_what_nobody_can_know(void **state)
{
    static const char *const cases[][6][2] = {
        {{"privacy.epsilon", "2"}, {"gamma", "0.3"}, {"rounds", "40"}, {NULL, "needs clip"}},
        {{"privacy.epsilon", "2"}, {"clip", "0.5"}, {"rounds", "40"}, {NULL, "needs gamma"}},
        {{"privacy.epsilon", "2"}, {"clip", "0.5"}, {"gamma", "0.3"}, {NULL, "needs rounds"}},
        {{"privacy.epsilon", "2"},
         {"clip", "0"},
         {"gamma", "0.3"},
         {"rounds", "4"},
         {NULL, "needs clip"}},
        {{"algorithm", "fed-plt"},
         {"privacy.epsilon", "2"},
         {"clip", "1"},
         {"gamma", "0.3"},
         {"rounds", "4"},
         {NULL, "needs rho"}},
        {{"privacy.epsilon", "2"},
         {"clip", "1"},
         {"gamma", "0.3"},
         {"rounds", "4"},
         {"privacy.rows", "3"},
         {NULL, "privacy.rows has no effect on own costs"}},
        {{"privacy.epsilon", "2"},
         {"clip", "1"},
         {"gamma", "0.3"},
         {"rounds", "4"},
         {"solver", "sgd"},
         {NULL, "shuffled epochs"}},
        {{"privacy.epsilon", "2"},
         {"clip", "1"},
         {"gamma", "0.3"},
         {"rounds", "4"},
         {"eps", "0.1"},
         {NULL, "eps is given, but the costs are the caller's own"}},
    };
    fplt_objective *objective = objective_of(&three, AGENTS, 1),
                   *whole = objective_of(&three, AGENTS, 0);
    struct training made;
    fplt_error error;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t last = 0;
        while (cases[i][last][0])
            last++;
        assert_true(train(objective, cases[i], &made, &error) != FPLT_OK);
        assert_contains(error.text, cases[i][last][1]);
        training_clear(&made);
    }
    assert_int_equal(train(whole, usual, &made, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "own costs without record_gradients");
    training_clear(&made);
    fplt_objective_destroy(whole);
    fplt_objective_destroy(objective);
}

/* An audit: two data sets that differ in one record of agent 1, whose gradient is as long as a number can be. */

enum { TRIALS = 100000 };

/* Means and deviations of the first coordinate after one local step, by the solver and the noise of the run. */
static void observe(const fplt_trainer *trainer, const fplt_objective *objective, double *mean,
                    double *deviation)
{
    const fplt_run_settings *run = &fplt_trainer_job(trainer)->run;
    fplt_local local = {.problem = {.objective = objective, .agent = 1},
                        .training = run->each ? run->each[1] : run->training,
                        .step = run->training.step,
                        .member_index = 1,
                        .noise = run->noise};
    fplt_error error;
    double sum = 0, squares = 0, w[DIMENSION];
    assert_non_null(run->noise);
    local.scratch = aligned_alloc(64, fplt__local_scratch(objective, &local.training) * 8 + 64);
    assert_non_null(local.scratch);
    for (local.round = 0; local.round < TRIALS; local.round++) {
        memset(w, 0, sizeof w);
        assert_ok(fplt__local_run(&local, w, &error), error);
        sum += w[0];
        squares += w[0] * w[0];
    }
    *mean = sum / TRIALS;
    *deviation = sqrt(squares / TRIALS - *mean * *mean);
    free(local.scratch);
}

/* The claim is met exactly: two records at opposite ends of the clip are mu_step apart. The estimate is off by more than
 * 7.5 sqrt(2/TRIALS) with a probability below 1e-12. */
static void the_noise_hides_a_record_as_claimed(void **state)
{
    static double other[sizeof gradients / sizeof *gradients];
    static const char *const once[][2] = {
        {"privacy.epsilon", "6"}, {"clip", "0.5"}, {"gamma", "0.3"}, {"rounds", "1"}, {NULL, NULL}};
    struct linear neighbour = three;
    double mean[2], deviation[2];
    struct training made;
    fplt_error error;
    (void)state;
    memcpy(other, gradients, sizeof gradients);
    gradients[shares[0] * DIMENSION] = 1e300;
    other[shares[0] * DIMENSION] = -1e300;
    neighbour.gradient = other;
    fplt_objective *objective = objective_of(&three, AGENTS, 1),
                   *beside = objective_of(&neighbour, AGENTS, 1), *clipped;
    assert_ok(fplt__objective_clip_records(beside, 0.5, &clipped, &error), error);
    assert_ok(train(objective, once, &made, &error), error);
    observe(made.trainer, fplt_trainer_job(made.trainer)->objective, &mean[0], &deviation[0]);
    observe(made.trainer, clipped, &mean[1], &deviation[1]);
    fplt_privacy_claim claim;
    double epsilon;
    assert_ok(fplt__promise_claim(fplt_trainer_promise(made.trainer), 1, 1, &claim, &epsilon,
                                  &error),
              error);
    double apart = fabs(mean[1] - mean[0]) / ((deviation[0] + deviation[1]) / 2);
    assert_true(fabs(apart - claim.mu_step) < 7.5 * sqrt(2.0 / TRIALS));
    assert_true(claim.mu_step > 1);
    gradients[shares[0] * DIMENSION] = 0;
    training_clear(&made);
    fplt_objective_destroy(clipped);
    fplt_objective_destroy(beside);
    fplt_objective_destroy(objective);
}

/* Certificates */

static void findings(void *context, int holds, const char *sentence)
{
    if (!holds)
        snprintf(context, 500, "%s", sentence);
}

static void certificates_are_verified(void **state)
{
    fplt_objective *objective = objective_of(&three, AGENTS, 1);
    char finding[500] = "";
    fplt_certificate_look look = {.finding = findings, .context = finding};
    fplt_certificate_summary summary;
    struct training made;
    fplt_error error;
    (void)state;
    assert_ok(train(objective, usual, &made, &error), error);
    assert_ok(fplt_trainer_run(made.trainer, NULL, NULL, NULL, &error), error);
    const char *text = fplt_trainer_certificate(made.trainer, &error);
    assert_non_null(text);
    assert_contains(text, "depends on the parameters and on that record alone");
    assert_contains(text, "\"smoothness\": null");
    assert_ok(fplt_certificate_verify(text, strlen(text), "test", &look, &summary, &error), error);
    assert_string_equal(finding, "");
    assert_true(summary.holds && summary.epsilon <= 2 && summary.epsilon > 1.99);
    json_t *document = json_loads(text, 0, NULL);
    json_object_set_new(json_object_get(document, "problem"), "clip", json_real(0.4));
    char *forged = json_dumps(document, JSON_REAL_PRECISION(17));
    assert_ok(fplt_certificate_verify(forged, strlen(forged), "test", &look, &summary, &error),
              error);
    assert_false(summary.holds);
    free(forged);
    json_decref(document);
    training_clear(&made);
    fplt_objective_destroy(objective);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_shortened_in_blocks),
        cmocka_unit_test(no_gradient_is_longer_than_the_clip),
        cmocka_unit_test(plans_follow_from_public_numbers),
        cmocka_unit_test(local_steps_are_charged_one_by_one),
        cmocka_unit_test(promises_need_what_nobody_can_know),
        cmocka_unit_test(the_noise_hides_a_record_as_claimed),
        cmocka_unit_test(certificates_are_verified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
