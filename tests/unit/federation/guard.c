/* Rules at the moment of an answer (docs/disclosure.md): saturation and dominance against sums over the rows that are
 * computed here, at points near and far; measurements and Hessians by their number. */
#include "site_data.h"

#include "federation/agent/guard.h"
#include "fedplt/algorithm.h"
#include "wire/frame.h"

enum { ROWS = 60, N = 3 };

static struct site_data data;
static double row[ROWS][N]; /* as the cost has them, with the intercept */
static fplt__agreement agreement;

static unsigned seed;

static double draw(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) / 16777216.0 - 0.5;
}

/* Logistic regression without standardisation, so that the rows of the cost are those of the file. */
static int begin(void **state)
{
    static fplt__pair settings[] = {{(char *)"intercept", (char *)"yes"},
                                    {(char *)"loss", (char *)"logistic"},
                                    {(char *)"standardise", (char *)"no"}};
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt_error error;
    (void)state;
    seed = 3;
    site_data_found(&data, NULL);
    data.proposal.settings = sizeof settings / sizeof *settings;
    data.proposal.setting = settings;
    fplt__buffer_add(&text, "a,b,label\n");
    for (size_t r = 0; r < ROWS; r++) {
        row[r][0] = floor(8192 * draw()) / 1024;
        row[r][1] = floor(8192 * draw()) / 1024;
        row[r][2] = 1;
        fplt__buffer_format(&text, "%.17g,%.17g,%d\n", row[r][0], row[r][1], r % 2 ? 1 : -1);
    }
    site_data_read(&data, "rows.csv", text.text, NULL);
    fplt__buffer_clear(&text);
    site_data_settle(&data);
    agreement = (fplt__agreement){.proposal = data.proposal,
                                  .rounds = 100,
                                  .evaluate_every = 10,
                                  .plan = {.algorithm = fplt_algorithm_find("fed-plt")}};
    assert_ok(fplt__local_data_shape(data.rows, &agreement, 3, (uint64_t)3 * ROWS, &error), error);
    assert_int_equal(fplt__local_data_dimension(data.rows), N);
    return 0;
}

static int end(void **state)
{
    (void)state;
    site_data_clear(&data);
    return 0;
}

/* Whether the rules of the page refuse an answer at x. */
static int is_refused(const double x[N], const char **rule)
{
    size_t beyond = 0;
    double largest = 0, sum = 0;
    for (size_t r = 0; r < ROWS; r++) {
        double margin = row[r][0] * x[0] + row[r][1] * x[1] + row[r][2] * x[2];
        double label = r % 2 ? 1 : -1, slope = 1 / (1 + exp(label * margin));
        double norm = slope * sqrt(row[r][0] * row[r][0] + row[r][1] * row[r][1] + 1);
        beyond += fabs(margin) > 8;
        sum += norm;
        largest = norm > largest ? norm : largest;
    }
    *rule = beyond > 0.05 * ROWS ? "linear predictor above 8" : "of the gradient, but at most 0.25";
    return beyond > 0.05 * ROWS || largest > 0.25 * sum;
}

static fplt_status judge(fplt__guard *guard, unsigned kind, const double *x, fplt_error *error)
{
    fplt__asked asked = {.data_set = 0};
    return fplt__guard_judge(guard, data.site, data.rows, NULL, &asked, kind, x, error);
}

/* Walks with steps of all lengths: near a point that was judged the guard does not look at the rows, and must say what it
 * would have said. */
static void points_as_computed(void **state)
{
    (void)state;
    size_t refused[2] = {0, 0}, answered = 0;
    fplt_error error;
    for (int walk = 0; walk < 40; walk++) {
        fplt__guard guard;
        double x[N] = {0, 0, 0}, length = pow(10, -3 + 3 * (walk % 10) / 9.0);
        fplt__guard_begin(&guard, data.site, &agreement);
        for (int step = 0; step < 200; step++) {
            const char *rule;
            for (size_t j = 0; j < N; j++)
                x[j] += length * (draw() + (j ? 0 : 0.3));
            int wanted = is_refused(x, &rule);
            fplt_status status = judge(&guard, FPLT__TRAIN, x, &error);
            assert_int_equal(status, wanted ? FPLT_FAILED : FPLT_OK);
            answered += !wanted;
            if (wanted) {
                assert_contains(error.text, rule);
                refused[strstr(rule, "gradient") != NULL]++;
                /* nothing more in this run, wherever it is asked */
                double zero[N] = {0, 0, 0};
                assert_int_equal(judge(&guard, FPLT__TRAIN, zero, &error), FPLT_FAILED);
                assert_contains(error.text, "refused before in this run");
                break;
            }
        }
    }
    assert_true(refused[0] > 3 && answered > 500);
}

/* One record with nearly all of the gradient: its value in another unit. */
static void one_record_dominates(void **state)
{
    (void)state;
    const char *rule;
    fplt_error error;
    double x[N] = {0, 0, 0};
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    for (int units = 0; units < 2; units++) {
        fplt__guard guard;
        fplt__local_data_destroy(data.rows);
        data.rows = NULL;
        row[7][0] = units ? 5000 : 1;
        fplt__buffer_add(&text, "a,b,label\n");
        for (size_t r = 0; r < ROWS; r++)
            fplt__buffer_format(&text, "%.17g,%.17g,%d\n", row[r][0], row[r][1], r % 2 ? 1 : -1);
        site_data_read(&data, "rows.csv", text.text, NULL);
        fplt__buffer_clear(&text);
        site_data_settle(&data);
        assert_ok(fplt__local_data_shape(data.rows, &agreement, 3, (uint64_t)3 * ROWS, &error),
                  error);
        fplt__guard_begin(&guard, data.site, &agreement);
        assert_int_equal(is_refused(x, &rule), units);
        assert_int_equal(judge(&guard, FPLT__TRAIN, x, &error), units ? FPLT_FAILED : FPLT_OK);
        if (units)
            assert_contains(error.text, rule);
    }
}

/* The start, every tenth of 100 rounds, the end, and two more for a coordinator that was restarted: 14 points. The same
 * point again is the same answer, and updates are not counted. */
static void measurements_as_planned(void **state)
{
    (void)state;
    fplt_error error;
    double x[N] = {0, 0, 0};
    for (int never = 0; never < 2; never++) {
        fplt__guard guard;
        agreement.evaluate_every = never ? 0 : 10;
        uint64_t planned = never ? 4 : 14;
        fplt__guard_begin(&guard, data.site, &agreement);
        for (uint64_t k = 0; k < planned; k++) {
            x[0] = 1e-3 * (double)(k + 1);
            assert_ok(judge(&guard, FPLT__TRAIN, x, &error), error);
            assert_ok(judge(&guard, FPLT__MEASURE, x, &error), error);
            assert_ok(judge(&guard, FPLT__SCORE, x, &error), error);
        }
        x[0] = -1e-3;
        assert_ok(judge(&guard, FPLT__TRAIN, x, &error), error);
        assert_int_equal(judge(&guard, FPLT__MEASURE, x, &error), FPLT_FAILED);
        char said[80];
        snprintf(said, sizeof said, "asks for measurement %d, but its plan has %d",
                 (int)planned + 1, (int)planned);
        assert_contains(error.text, said);
    }
}

/* Hessians that leave are charged: one with an update of a method that sends them, two behind standard errors. */
static void hessians_are_charged(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        unsigned kind, hessians;
    } cases[] = {{"fed-plt", FPLT__TRAIN, 0},       {"fed-newton", FPLT__TRAIN, 1},
                 {"fed-plt", FPLT__INFORMATION, 2}, {"fed-newton", FPLT__INFORMATION, 2},
                 {"fed-newton", FPLT__MEASURE, 0},  {"fednl", FPLT__TRAIN, 1}};
    const double one = N * (N + 1) / 2.0;
    const double x[N] = {0, 0, 0};
    fplt_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int enough = 0; enough < 2; enough++) {
            fplt__guard guard;
            fplt__site_memory *memory;
            fplt__asked asked = {.data_set = 1, .question = {.parameters = N, .columns = N - 1}};
            agreement.plan.algorithm = fplt_algorithm_find(cases[i].algorithm);
            asked.left = cases[i].hessians * one - !enough;
            fplt__guard_begin(&guard, data.site, &agreement);
            assert_ok(fplt__site_memory_open(data.folder, &memory, &error), error);
            fplt_status status = fplt__guard_judge(&guard, data.site, data.rows, memory, &asked,
                                                   cases[i].kind, x, &error);
            int refused = cases[i].hessians && !enough;
            assert_int_equal(status, refused ? FPLT_FAILED : FPLT_OK);
            if (cases[i].hessians)
                assert_near(asked.left, enough ? 0 : cases[i].hessians * one - 1, 0);
            fplt__site_memory_close(memory);
        }
}

/* No rule holds for a private run, or where the site has switched them off. */
static void where_no_rule_holds(void **state)
{
    (void)state;
    const double far[N] = {100, 100, 0};
    fplt__guard guard;
    fplt_error error;
    fplt__guard_begin(&guard, data.site, &agreement);
    assert_int_equal(judge(&guard, FPLT__TRAIN, far, &error), FPLT_FAILED);
    agreement.private = 1;
    fplt__guard_begin(&guard, data.site, &agreement);
    assert_ok(judge(&guard, FPLT__TRAIN, far, &error), error);
    agreement.private = 0;
    assert_ok(fplt_settings_set(data.site, "policy.disclosure", "off", "test", &error), error);
    fplt__guard_begin(&guard, data.site, &agreement);
    assert_ok(judge(&guard, FPLT__TRAIN, far, &error), error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(points_as_computed, begin, end),
        cmocka_unit_test_setup_teardown(one_record_dominates, begin, end),
        cmocka_unit_test_setup_teardown(measurements_as_planned, begin, end),
        cmocka_unit_test_setup_teardown(hessians_are_charged, begin, end),
        cmocka_unit_test_setup_teardown(where_no_rule_holds, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
