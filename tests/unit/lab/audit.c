/* The audit: a right claim stands, every planted mistake is found by the check that is made for it, and
 * no verdict says more than could have been seen. */
#include <lapacke.h>

#include "testing.h"

#include "failing.h"
#include "lab/audit/tails.h"
#include "planted.h"
#include "promise/promise.h"

struct fixture {
    fplt_settings *settings;
    fplt_job *job;
    fplt_promise *plan;
};

static const char *const plain[][2] = {
    {"agents", "2"},          {"features", "3"}, {"rows", "12"}, {"eps", "0.2"},   {"rounds", "6"},
    {"privacy.epsilon", "8"}, {"epochs", "3"},   {"rho", "2"},   {"gamma", "0.5"},
};

static void set(struct fixture *fixture, const char *name, const char *value)
{
    fplt_error error;
    if (name)
        assert_ok(fplt_settings_set(fixture->settings, name, value, "test", &error), error);
}

static struct fixture make_two(const char *name, const char *value, const char *second,
                               const char *second_value)
{
    fplt_error error;
    fplt_job_source source = {.dataset = NULL};
    struct fixture fixture;
    assert_ok(fplt_settings_create(&fixture.settings, &error), error);
    assert_ok(fplt_job_declare(fixture.settings, FPLT_JOB_ALL, NULL, &error), error);
    assert_ok(fplt_settings_add(fixture.settings, "privacy", fplt__promise_table, &error), error);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        set(&fixture, plain[i][0], plain[i][1]);
    set(&fixture, name, value);
    set(&fixture, second, second_value);
    assert_ok(fplt_promise_prepare(fixture.settings, &source, &error), error);
    assert_ok(fplt_job_create_from(fixture.settings, 0, &source, &fixture.job, &error), error);
    assert_ok(fplt_promise_create(fixture.settings, fixture.job, &fixture.plan, &error), error);
    return fixture;
}

static struct fixture make(const char *name, const char *value)
{
    return make_two(name, value, NULL, NULL);
}

static void release(struct fixture *fixture)
{
    fplt_job_destroy(fixture->job);
    fplt_promise_destroy(fixture->plan);
    fplt_settings_destroy(fixture->settings);
}

/* Of all verdicts together: below it no test here fails by chance. */
static const double sure = 1 - 1e-7;

static fplt_audit_result audit(const struct fixture *fixture, const char *canary, uint64_t runs,
                               int secure)
{
    fplt_audit_settings settings = fplt_audit_defaults();
    fplt_audit_result result;
    fplt_error error;
    settings.canary = canary;
    settings.runs = runs;
    settings.secure = secure;
    settings.confidence = sure;
    assert_ok(fplt_audit_run(fixture->job, fixture->plan, &settings, &result, &error), error);
    return result;
}

/* Nothing is refuted, every message was read, and no verdict claims what it could not know. */
static void assert_stands(const fplt_audit_result *result, uint64_t messages)
{
    assert_false(result->refuted);
    assert_int_equal(result->check[FPLT__MESSAGES].tests, messages);
    for (size_t i = 0; i < FPLT_AUDIT_CHECKS; i++) {
        const fplt_audit_check *check = &result->check[i];
        assert_non_null(check->name);
        assert_true(check->refutes[0] != 0);
        assert_int_not_equal(check->verdict, FPLT_AUDIT_REFUTED);
        assert_true(check->doubt >= 0 && check->doubt <= 1);
    }
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++) {
        const fplt_audit_test *test = &result->test[i];
        assert_true(test->power >= 0 && test->power <= 1);
        if (test->verdict == FPLT_AUDIT_NOT_REFUTED)
            assert_true(test->power >= 0.5);
        else
            assert_true(test->verdict == FPLT_AUDIT_LEFT_OUT || test->power < 0.5);
    }
}

/* Not refuted, and the attack is no straw man: it reaches most of what the claim allows. What it reaches
 * is within 0.041 of its true mu, which is 0.78 here (a quantile of a rate p over n = 2000 runs deviates
 * by sqrt(p (1 - p) / n) / phi, p = Phi(-0.39), and there are two): 0.6 of the claim, 0.47, lies 7.5
 * deviations below, a probability of 3e-14. */
static void right_claim_stands(void **state)
{
    (void)state;
    static const char *const canaries[] = {"label", "features"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture =
            i == 0 ? make(NULL, NULL) : make_two("privacy.rows", "9", "gamma", "0.05");
        uint64_t runs = i == 0 ? 4000 : 600;
        fplt_audit_result result = audit(&fixture, canaries[i], runs, i == 0);
        const fplt_audit_test *test = result.test;
        assert_int_equal(result.runs, runs);
        assert_stands(&result, 2 * runs * 6 * 2);
        assert_true(test[0].claimed <= test[0].any_record);
        /* three coordinates and epochs a message; the doubt is shared by 17 */
        double draws = (double)(9 * 2 * runs * 6 * 2), level = (1 - sure) / 17;
        assert_near(result.check[FPLT__NOISE].power,
                    sqrt(fplt__chi_square_quantile(level / 2, draws) /
                         fplt__chi_square_quantile(0.99, draws)),
                    1e-9);
        /* where rows are shorter than they may be, by the longest legal one */
        assert_near(result.check[FPLT__GRADIENTS].found, 1, 1e-9);
        assert_true(i == 0 || result.check[FPLT__ROWS].found < 0.6);
        assert_int_equal(result.check[FPLT__LATTICE].verdict,
                         i == 0 ? FPLT_AUDIT_NOT_REFUTED : FPLT_AUDIT_LEFT_OUT);
        if (i == 0) {
            assert_near(test[0].claimed, test[0].any_record / 2, 1e-4);
            assert_true(test[0].estimate > 0.6 * test[0].claimed);
            assert_true(test[2].estimate > 0.5 * test[2].claimed);
            assert_int_equal(test[0].verdict, FPLT_AUDIT_NOT_REFUTED);
            /* the other's noise on top of one's own: 1/sqrt(2) of it, and 7 deviations of 0.035 */
            assert_near(test[1].power / test[0].power, 0.707, 0.25);
        }
        fplt_audit_clear(&result);
        release(&fixture);
    }
}

/* Absent agents send nothing, and who is who is found out. */
static void partial_participation_is_read(void **state)
{
    (void)state;
    struct fixture fixture = make("participation", "bernoulli");
    fplt_audit_result result = audit(&fixture, "label", 200, 1);
    uint64_t messages = result.check[FPLT__MESSAGES].tests;
    assert_stands(&result, messages);
    assert_true(messages > 1000 && messages < 4000); /* of 4800; 0.5 of them and 20 deviations */
    fplt_audit_clear(&result);
    release(&fixture);
}

/* ---- planted mistakes ---- */

static fplt_audit_result audit_planted(const struct fixture *fixture, const struct planted *what,
                                       uint64_t runs, double confidence)
{
    fplt_audit_settings settings = fplt_audit_defaults();
    fplt_audit_result result;
    fplt_error error;
    settings.runs = runs;
    settings.confidence = confidence;
    assert_ok(planted_audit(fixture->job, fixture->plan, &settings, what, &result, &error), error);
    return result;
}

static const fplt_audit_check *find_check(const fplt_audit_result *result, const char *name)
{
    for (size_t i = 0; i < FPLT_AUDIT_CHECKS; i++)
        if (strcmp(result->check[i].name, name) == 0)
            return &result->check[i];
    fail_msg("there is no check '%s'", name);
    return NULL;
}

/* Each by the check that is made for it, in 2 x 200 trainings. */
static void planted_mistakes_are_found(void **state)
{
    (void)state;
    static const char *const by[PLANTED_COUNT] = {
        "deviation of all noise",
        "deviation of all noise",
        "deviation by agent and coordinate",
        "deviation by epoch",
        "every message of every agent",
        "every message of every agent",
        "every message of every agent",
        "every message of every agent",
        "the lattice",
        "deviation by agent and coordinate",
        "correlation of agents",
        "noise that is used again",
        "correlation of runs",
        "correlation of coordinates",
        "low bits of the noise",
        "residues of the noise",
        "low bits of the noise",
        "correlation of epochs",
        "gradient of every record",
        "gradient of every record",
        "gradient of every record",
        "length of every row",
    };
    struct fixture fixture = make("clip", "0.5");
    for (size_t i = 0; i < PLANTED_COUNT; i++) {
        if (!drawn_takes(i))
            continue;
        fplt_audit_result result = audit_planted(&fixture, &planted_list[i], 200, sure);
        assert_true(result.refuted);
        const fplt_audit_check *check = find_check(&result, by[i]);
        if (check->verdict != FPLT_AUDIT_REFUTED)
            fail_msg("'%s' was not found by '%s'", planted_list[i].name, by[i]);
        if (planted_list[i].adds) /* behind the noise */
            assert_int_equal(result.check[FPLT__LATTICE].verdict, FPLT_AUDIT_REFUTED);
        if (planted_list[i].skips_clip == 2)
            assert_string_equal(check->where,
                                "agent 1: its records' gradients do not add up to its own");
        if (planted_list[i].skips_clip == 1) { /* the worst record is the canary */
            assert_int_equal(result.agent, PLANTED_AGENT);
            assert_int_equal(result.record, PLANTED_RECORD);
            assert_string_equal(check->where, "agent 1, record 4");
        }
        fplt_audit_clear(&result);
    }
    release(&fixture);
}

/* A tenth of the step before: also where every agent weighs the same and has noise of its own, and where the step before
 * is in the round before. */
static void autoregressive_noise_is_found(void **state)
{
    (void)state;
    static const struct planted regress = {.name = "autoregression", .regress = 0.1};
    static const char *const by[] = {"correlation of epochs", "correlation of rounds"};
    for (int alone = 0; alone < 2; alone++) {
        struct fixture fixture = make_two("weights", "agents", "unequal", "0.6");
        if (alone) {
            release(&fixture);
            fixture = make_two("weights", "agents", "epochs", "1");
        }
        fplt_audit_result result = audit_planted(&fixture, &regress, 800, sure);
        assert_true(result.refuted);
        assert_int_equal(find_check(&result, by[alone])->verdict, FPLT_AUDIT_REFUTED);
        fplt_audit_clear(&result);
        release(&fixture);
    }
}

/* Counts: the canary is a legal one, and 0.5 of the noise is refuted. */
static void counts_are_audited(void **state)
{
    (void)state;
    static const double rows[] = {0.3, 0.1, -0.2, 0.5, 0.4, -0.1, 0.9, 0.2, -0.6, 0.7, 0.1, 0.3};
    static const double labels[] = {0, 2, 5, 1, 0, 3};
    const size_t counts[] = {3, 3};
    fplt_rows all = {.count = 6, .features = 2, .dense = rows, .label = labels};
    static const char *const settings[][2] = {{"loss", "poisson"}, {"predictor-bound", "1"},
                                              {"clip", "2"},       {"privacy.rows", "1"},
                                              {"rounds", "4"},     {"privacy.epsilon", "8"},
                                              {"epochs", "2"}};
    struct fixture fixture;
    fplt_dataset *data;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&all, FPLT_TASK_REGRESSION, counts, 2, &data, &error), error);
    fplt_job_source source = {.dataset = data};
    assert_ok(fplt_settings_create(&fixture.settings, &error), error);
    assert_ok(fplt_job_declare(fixture.settings, FPLT_JOB_ALL, NULL, &error), error);
    assert_ok(fplt_settings_add(fixture.settings, "privacy", fplt__promise_table, &error), error);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        set(&fixture, settings[i][0], settings[i][1]);
    assert_ok(fplt_promise_prepare(fixture.settings, &source, &error), error);
    assert_ok(fplt_job_create_from(fixture.settings, 0, &source, &fixture.job, &error), error);
    assert_ok(fplt_promise_create(fixture.settings, fixture.job, &fixture.plan, &error), error);
    fplt_audit_result result = audit(&fixture, "label", 400, 1);
    assert_stands(&result, result.check[FPLT__MESSAGES].tests);
    assert_true(result.check[FPLT__GRADIENTS].found > 0.9);
    fplt_audit_clear(&result);
    result = audit_planted(&fixture, &planted_list[1], 200, sure);
    assert_true(result.refuted);
    fplt_audit_clear(&result);
    release(&fixture);
}

/* Divided noise: three agents, one of whom tells its noise, so two hide a record. The sums stand; 0.7 of the noise, or
 * three honest agents stated, are refuted by the attack on the sums: mu 1.82 is claimed, 2.60 and 2.23 are true. The
 * second, the closer one, is shown to be at least 2.07 by 10000 runs, with a deviation of 0.03. */
static struct fixture make_sums(void)
{
    static const char *const rows[][2] = {
        {"agents", "3"}, {"features", "3"},         {"rows", "12"},
        {"eps", "0.2"},  {"privacy.epsilon", "30"}, {"privacy.threat", "secagg-sum"},
        {"rounds", "6"},
    };
    fplt_error error;
    fplt_job_source source = {.dataset = NULL};
    struct fixture fixture;
    assert_ok(fplt_settings_create(&fixture.settings, &error), error);
    assert_ok(fplt_job_declare(fixture.settings, FPLT_JOB_ALL, NULL, &error), error);
    assert_ok(fplt_settings_add(fixture.settings, "privacy", fplt__promise_table, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        set(&fixture, rows[i][0], rows[i][1]);
    assert_ok(fplt_promise_prepare(fixture.settings, &source, &error), error);
    assert_ok(fplt_job_create_from(fixture.settings, 0, &source, &fixture.job, &error), error);
    assert_ok(fplt_promise_create(fixture.settings, fixture.job, &fixture.plan, &error), error);
    assert_int_equal(fplt_promise_get_view(fixture.plan)->mechanism.honest, 2);
    return fixture;
}

static void sums_of_divided_noise(void **state)
{
    (void)state;
    static const struct planted less = {.name = "0.7 of the noise", .scale = 0.7};
    const struct fplt__audit_hook more = {.claimed_honest = 3};
    struct fixture fixture = make_sums();
    fplt_audit_settings settings = fplt_audit_defaults();
    fplt_audit_result result = audit(&fixture, "label", 4000, 1);
    fplt_error error;
    assert_stands(&result, 2 * 4000 * 6 * 3);
    assert_string_equal(result.test[1].name, "sum");
    assert_near(result.test[0].claimed / result.test[1].claimed, sqrt(2), 1e-6);
    assert_true(result.test[1].estimate > 0.8 * result.test[1].claimed);
    fplt_audit_clear(&result);
    result = audit_planted(&fixture, &less, 4000, sure);
    assert_true(result.test[1].refuted);
    assert_int_equal(find_check(&result, "deviation of all noise")->verdict, FPLT_AUDIT_REFUTED);
    fplt_audit_clear(&result);
    settings.runs = 10000;
    settings.confidence = 0.99;
    if (drawn_takes(settings.runs)) {
        assert_ok(fplt__audit_run(fixture.job, fixture.plan, &settings, &more, &result, &error),
                  error);
        assert_true(result.test[1].refuted && !result.test[0].refuted);
        fplt_audit_clear(&result);
    }
    release(&fixture);
}

/* What agents share cancels: the attack that reads them all sees what that on one alone does not. */
static void difference_sees_through_shared_noise(void **state)
{
    (void)state;
    static const struct planted shared = {.name = "one stream", .one_stream = 1};
    struct fixture fixture = make(NULL, NULL);
    fplt_audit_result result = audit_planted(&fixture, &shared, 1000, sure);
    assert_false(result.test[0].refuted);
    assert_true(result.test[1].refuted && result.test[1].bound > 1.5 * result.test[1].claimed);
    fplt_audit_clear(&result);
    release(&fixture);
}

/* Half of the noise is refuted by the attacks too, where there are runs enough: mu is 1.56, and 1000 runs
 * at this confidence show 1.26 of it, with a deviation of 0.06; 0.78 is claimed. */
static void attacks_find_half_of_the_noise(void **state)
{
    (void)state;
    struct fixture fixture = make(NULL, NULL);
    fplt_audit_result result = audit_planted(&fixture, &planted_list[1], 2000, 0.99);
    assert_true(result.test[0].refuted && result.test[2].refuted);
    fplt_audit_clear(&result);
    release(&fixture);
}

/* Where there is nothing to see, a discriminant over 90 coordinates still tells apart the 100 runs a
 * side that it was fitted on (about 2 sqrt(90 / 100) = 1.9); judged on the others it finds nothing. */
static void the_half_that_fits_does_not_judge(void **state)
{
    (void)state;
    static const struct planted loud = {.name = "a thousand times the noise", .scale = 1000};
    struct fixture fixture = make("rounds", "30");
    fplt_audit_result result = audit_planted(&fixture, &loud, 200, sure);
    assert_int_equal(result.check[FPLT__NOISE].verdict,
                     FPLT_AUDIT_REFUTED); /* more is not as stated */
    for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++) {
        const fplt_audit_test *test = &result.test[i];
        uint64_t positives = 0, negatives = 0;
        assert_false(test->left_out || test->refuted);
        assert_int_equal(test->count, 100);
        for (size_t k = 0; k < test->count; k++) {
            positives += test->without[k] > test->threshold;
            negatives += !(test->with[k] > test->threshold);
        }
        assert_int_equal(test->trials.false_positives, positives);
        assert_int_equal(test->trials.false_negatives, negatives);
        assert_true(test->trials.positives == 100 && test->trials.negatives == 100);
        assert_true(test->estimate < 1.1); /* 6 deviations of 0.18 */
        assert_int_equal(test->verdict, FPLT_AUDIT_BLIND);
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

/* Several blocks of points, and more columns than a tile has: the direction solves scatter times direction = difference
 * of the means, with the scatter summed by plain loops and the system solved by LAPACK. */
static void discriminant_solves_its_system(void **state)
{
    (void)state;
    enum { COUNT = 1150, N = 61 };
    static float points[COUNT * N];
    static double scatter[N * N], mean[2][N], solution[N], direction[N];
    size_t members[2] = {0, 0};
    fplt_stream stream = fplt_stream_make(7, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t i = 0; i < COUNT * N; i++)
        points[i] = (float)(fplt_stream_normal(&stream) + (i % N ? 0.7 * points[i - 1] : 0) +
                            (double)(i / N & 1) / (double)(1 + i % N));
    for (size_t i = 0; i < COUNT; i++)
        if ((i >> 1) % 2 == 0) {
            members[i & 1]++;
            for (size_t j = 0; j < N; j++)
                mean[i & 1][j] += points[i * N + j];
        }
    for (size_t j = 0; j < N; j++) {
        mean[0][j] /= (double)members[0];
        mean[1][j] /= (double)members[1];
        solution[j] = mean[1][j] - mean[0][j];
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; (i >> 1) % 2 == 0 && j < N; j++)
            for (size_t k = 0; k < N; k++)
                scatter[j * N + k] +=
                    (points[i * N + j] - mean[i & 1][j]) * (points[i * N + k] - mean[i & 1][k]);
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', N, 1, scatter, N, solution, 1), 0);
    fplt_error error;
    assert_ok(fplt__discriminant(points, COUNT, N, direction, &error), error);
    for (size_t j = 0; j < N; j++)
        assert_close(direction[j], solution[j], 1e-8); /* the ridge of 1e-11 is within it */
}

/* With noise from the seed nothing is left to chance: threads take runs as they come, which changes no bit. */
static void threads_change_no_bit(void **state)
{
    (void)state;
    struct fixture fixture = make("participation", "bernoulli");
    fplt_audit_result first;
    for (unsigned round = 0; round < 6; round++) {
        fplt_audit_settings settings = fplt_audit_defaults();
        fplt_audit_result result;
        fplt_error error;
        settings.runs = 200;
        settings.secure = 0;
        settings.threads = 1 + round % 3;
        assert_ok(fplt_audit_run(fixture.job, fixture.plan, &settings, &result, &error), error);
        first = round ? first : result;
        for (size_t i = 0; i < FPLT_AUDIT_CHECKS; i++) {
            assert_memory_equal(&result.check[i].found, &first.check[i].found, sizeof(double));
            assert_memory_equal(&result.check[i].doubt, &first.check[i].doubt, sizeof(double));
            assert_string_equal(result.check[i].where, first.check[i].where);
        }
        for (size_t i = 0; i < FPLT_AUDIT_TESTS; i++) {
            const fplt_audit_test *one = &result.test[i], *other = &first.test[i];
            assert_memory_equal(&one->estimate, &other->estimate, sizeof(double));
            assert_memory_equal(&one->bound, &other->bound, sizeof(double));
        }
        if (round)
            fplt_audit_clear(&result);
    }
    fplt_audit_clear(&first);
    release(&fixture);
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

static int stop_at_once(void *context, size_t done, size_t runs)
{
    (void)context;
    (void)done;
    (void)runs;
    return 1;
}

static void survives_want_of_memory(void **state)
{
    (void)state;
    struct fixture fixture = make(NULL, NULL);
    fplt_audit_settings settings = fplt_audit_defaults();
    settings.watch = stop_at_once;
    settings.threads = 1;
    settings.runs = 100;
    survives_failing_allocations(
        {
            fplt_audit_result result;
            if (!(status = fplt_audit_run(fixture.job, fixture.plan, &settings, &result, NULL)))
                fplt_audit_clear(&result);
        },
        40);
    release(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(discriminant_is_fishers),
        cmocka_unit_test(discriminant_solves_its_system),
        cmocka_unit_test(right_claim_stands),
        cmocka_unit_test(partial_participation_is_read),
        cmocka_unit_test(planted_mistakes_are_found),
        cmocka_unit_test(sums_of_divided_noise),
        cmocka_unit_test(autoregressive_noise_is_found),
        cmocka_unit_test(counts_are_audited),
        cmocka_unit_test(difference_sees_through_shared_noise),
        cmocka_unit_test(attacks_find_half_of_the_noise),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(refuses_and_stops),
        cmocka_unit_test(survives_want_of_memory),
        cmocka_unit_test(the_half_that_fits_does_not_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
