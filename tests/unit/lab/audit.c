/* The audit: a right claim stands, and three mistakes are found. */
#include "testing.h"

#include "lab/audit/audit.h"
#include "failing.h"

struct fixture {
    fplt_settings *settings;
    fplt_job *job;
    fplt_promise *plan;
};

static const char *const plain[][2] = {
    {"agents", "2"},          {"features", "3"}, {"rows", "12"}, {"eps", "0.2"},   {"rounds", "6"},
    {"privacy.epsilon", "8"}, {"epochs", "3"},   {"rho", "2"},   {"gamma", "0.5"},
};

static struct fixture make(const char *name, const char *value)
{
    fplt_error error;
    fplt_job_source source = {.dataset = NULL};
    struct fixture fixture;
    assert_ok(fplt_settings_create(&fixture.settings, &error), error);
    assert_ok(fplt_job_declare(fixture.settings, FPLT_JOB_ALL, NULL, &error), error);
    assert_ok(fplt_settings_add(fixture.settings, "privacy", fplt_promise_table, &error), error);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_ok(fplt_settings_set(fixture.settings, plain[i][0], plain[i][1], "test", &error),
                  error);
    if (name)
        assert_ok(fplt_settings_set(fixture.settings, name, value, "test", &error), error);
    assert_ok(fplt_promise_prepare(fixture.settings, &source, &error), error);
    assert_ok(fplt_job_create_from(fixture.settings, 0, &source, &fixture.job, &error), error);
    assert_ok(fplt_promise_create(fixture.settings, fixture.job, &fixture.plan, &error), error);
    return fixture;
}

static void release(struct fixture *fixture)
{
    fplt_job_destroy(fixture->job);
    fplt_promise_destroy(fixture->plan);
    fplt_settings_destroy(fixture->settings);
}

static fplt_audit_result audit(const struct fixture *fixture, const char *canary, uint64_t runs,
                               const struct fplt__audit_hook *hook)
{
    fplt_audit_settings settings = fplt_audit_defaults();
    fplt_audit_result result;
    fplt_error error;
    settings.canary = canary;
    settings.runs = runs;
    assert_ok(fplt__audit_run(fixture->job, fixture->plan, &settings, hook, &result, &error),
              error);
    return result;
}

/* Not refuted, and the attack is no straw man: it reaches most of what the claim allows. */
static void right_claim_stands(void **state)
{
    (void)state;
    static const char *const canaries[] = {"label", "features"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture = make(NULL, NULL);
        fplt_audit_result result = audit(&fixture, canaries[i], 4000, NULL);
        assert_int_equal(result.runs, 4000);
        assert_false(result.refuted);
        assert_true(result.test[0].claimed <= result.test[0].any_record);
        if (i == 0) {
            assert_near(result.test[0].claimed, result.test[0].any_record / 2, 1e-4);
            assert_true(result.test[0].bound > 0.6 * result.test[0].claimed);
            assert_true(result.test[1].bound > 0.5 * result.test[1].claimed);
        }
        fplt_audit_clear(&result);
        release(&fixture);
    }
}

/* Real randomness: the test must not fail by chance. A right claim is refuted with a probability of at
 * most 1 - confidence = 1e-7, for the bounds are exact. What the attack reaches is within 0.041 of
 * its true mu, which is 0.78 here (a quantile of a rate p over n = 2000 runs deviates by
 * sqrt(p (1 - p) / n) / phi, p = Phi(-0.39), and there are two): 0.6 of the claim, 0.47, lies 7.5
 * deviations below, a probability of 3e-14. Half of the noise would be refuted by 11 deviations. */
static void secure_noise_is_audited_too(void **state)
{
    (void)state;
    struct fixture fixture = make(NULL, NULL);
    fplt_audit_settings settings = fplt_audit_defaults();
    fplt_audit_result result;
    fplt_error error;
    settings.runs = 4000;
    settings.confidence = 1 - 1e-7;
    settings.secure = 1;
    assert_ok(fplt_audit_run(fixture.job, fixture.plan, &settings, &result, &error), error);
    assert_false(result.refuted);
    assert_true(result.test[0].estimate > 0.6 * result.test[0].claimed);
    fplt_audit_clear(&result);
    release(&fixture);
}

/* ---- planted mistakes ---- */

enum { WORKERS = 64, MOST_DRAWS = 4096 };

struct plant {
    fplt_stream stream;
    double scale;
    size_t period; /* calls a round; 0: nothing is used twice */
    size_t call, used;
    double draws[MOST_DRAWS];
};

struct plants {
    struct plant plant[WORKERS];
    double scale;
    size_t period;
};

/* Round 1 uses the noise of round 0 again. */
static fplt_status add_planted(void *context, double step, double tau, const double *mean,
                               double *out, size_t count)
{
    struct plant *plant = context;
    size_t call = plant->call++, again = plant->period;
    double deviation = sqrt(2 * step) * tau * plant->scale;
    for (size_t j = 0; j < count; j++) {
        double draw = fplt_stream_normal(&plant->stream);
        if (again && call < again)
            plant->draws[call * count + j] = draw;
        else if (again && call < 2 * again)
            draw = plant->draws[(call - again) * count + j];
        out[j] = mean[j] + deviation * draw;
    }
    return FPLT_OK;
}

static fplt_noise_source source(void *context, unsigned worker)
{
    struct plants *plants = context;
    struct plant *plant = &plants->plant[worker % WORKERS];
    plant->scale = plants->scale;
    plant->period = plants->period;
    return (
        fplt_noise_source){.size = sizeof(fplt_noise_source), .add = add_planted, .context = plant};
}

static void begin(void *context, unsigned worker, uint64_t run)
{
    struct plants *plants = context;
    struct plant *plant = &plants->plant[worker % WORKERS];
    plant->call = 0;
    plant->stream = fplt_stream_make(77, (uint32_t)run, FPLT_FOR_TEST, 0, 0, 0);
}

static int is_refuted(const char *canary, double scale, size_t period, uint64_t records,
                      const char *name, const char *value, fplt_audit_result *result)
{
    static struct plants plants;
    struct fixture fixture = make(name, value);
    struct fplt__audit_hook hook = {
        .source = source, .begin = begin, .context = &plants, .claimed_records = records};
    plants.scale = scale;
    plants.period = period;
    *result = audit(&fixture, canary, 4000, &hook);
    release(&fixture);
    fplt_audit_clear(result);
    return result->refuted;
}

static void planted_mistakes_are_found(void **state)
{
    (void)state;
    fplt_audit_result result;
    /* the plant itself is none */
    assert_false(is_refuted("label", 1, 0, 0, NULL, NULL, &result));
    /* half of the noise */
    assert_true(is_refuted("label", 0.5, 0, 0, NULL, NULL, &result));
    assert_true(result.test[0].refuted && result.test[1].refuted);
    /* the claim divides by all 24 records instead of the agent's 12 */
    assert_true(is_refuted("label", 1, 0, 24, NULL, NULL, &result));
    /* the noise of the first round again in the second: 2 agents, 1 epoch. The gap must change in
     * between, which that of another label never does */
    assert_true(is_refuted("features", 1, 2, 0, "epochs", "1", &result));
    assert_true(result.test[1].refuted && result.test[1].bound > 1.2 * result.test[1].claimed);
    assert_false(is_refuted("features", 1, 0, 0, "epochs", "1", &result));
}

/* Where there is nothing to see, a discriminant over 90 coordinates still tells apart the 200 runs a
 * side that it was fitted on (about 2 sqrt(90 / 200) = 1.3); judged on the others it finds nothing. */
static void the_half_that_fits_does_not_judge(void **state)
{
    (void)state;
    static struct plants plants;
    struct fixture fixture = make("rounds", "30");
    struct fplt__audit_hook hook = {.source = source, .begin = begin, .context = &plants};
    plants.scale = 1e6;
    plants.period = 0;
    fplt_audit_result result = audit(&fixture, "label", 400, &hook);
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++) {
        const fplt_audit_test *test = &result.test[i];
        uint64_t positives = 0, negatives = 0;
        assert_false(test->left_out || test->refuted);
        assert_int_equal(test->count, 200);
        for (size_t k = 0; k < test->count; k++) {
            positives += test->without[k] > test->threshold;
            negatives += !(test->with[k] > test->threshold);
        }
        assert_int_equal(test->trials.false_positives, positives);
        assert_int_equal(test->trials.false_negatives, negatives);
        assert_true(test->trials.positives == 200 && test->trials.negatives == 200);
        assert_true(test->estimate < 0.5);
    }
    fplt_audit_clear(&result);
    release(&fixture);
}

static void discriminant_is_fishers(void **state)
{
    (void)state;
    enum { COUNT = 40000 };
    static float points[2 * COUNT];
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    /* covariance [[1, 0.6], [0.6, 1]], means 0 and (1, 0): S^-1 (1, 0) = (1, -0.6)/0.64 */
    for (size_t i = 0; i < COUNT; i++) {
        double a = fplt_stream_normal(&stream), b = fplt_stream_normal(&stream);
        points[2 * i] = (float)(a + (double)(i & 1));
        points[2 * i + 1] = (float)(0.6 * a + 0.8 * b);
    }
    double direction[2];
    fplt_error error;
    assert_ok(fplt__discriminant(points, COUNT, 2, direction, &error), error);
    assert_near(direction[1] / direction[0], -0.6, 0.03);
}

static int stop(void *context, size_t done, size_t runs)
{
    ++*(int *)context;
    assert_true(done <= runs);
    return 1;
}

static void refuses_and_stops(void **state)
{
    (void)state;
    struct fixture fixture = make(NULL, NULL);
    fplt_audit_settings settings = fplt_audit_defaults();
    fplt_audit_result result;
    fplt_error error;
    int calls = 0;
    settings.watch = stop;
    settings.context = &calls;
    settings.threads = 1;
    assert_ok(fplt_audit_run(fixture.job, fixture.plan, &settings, &result, &error), error);
    assert_true(result.stopped && calls == 1);
    settings.watch = NULL;
    settings.canary = "bird";
    assert_int_equal(fplt_audit_run(fixture.job, fixture.plan, &settings, &result, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "there is no canary 'bird'");
    settings = fplt_audit_defaults();
    settings.agent = 9;
    assert_int_equal(fplt_audit_run(fixture.job, fixture.plan, &settings, &result, &error),
                     FPLT_BAD_VALUE);
    settings = fplt_audit_defaults();
    settings.runs = 3;
    assert_int_equal(fplt_audit_run(fixture.job, fixture.plan, &settings, &result, &error),
                     FPLT_BAD_VALUE);
    release(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(discriminant_is_fishers),
        cmocka_unit_test(right_claim_stands),
        cmocka_unit_test(secure_noise_is_audited_too),
        cmocka_unit_test(planted_mistakes_are_found),
        cmocka_unit_test(refuses_and_stops),
        cmocka_unit_test(the_half_that_fits_does_not_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
