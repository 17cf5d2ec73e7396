/* How far from a point the rules on saturation and dominance cannot refuse: wherever one goes within it, a whole pass over the
 * records finds the same. */
#include <math.h>

#include "objective/objective.h"
#include "objective/problem.h"

enum { ROWS = 60, FEATURES = 4, TRIES = 300 };

static const double share = 0.25, bound = 8;

static fplt_objective *objective_of(const problem *p, const char *loss)
{
    fplt_objective_settings settings = fplt_objective_defaults();
    fplt_dataset *dataset = problem_dataset(p, 3);
    fplt_objective *objective;
    fplt_error error;
    settings.loss = loss;
    settings.intercept = 1;
    assert_ok(fplt_objective_create(&settings, dataset, &objective, &error), error);
    fplt_dataset_destroy(dataset);
    return objective;
}

static void no_rule_refuses_within_reach(void **state)
{
    (void)state;
    static const struct {
        fplt_task task;
        const char *loss;
    } cases[] = {{FPLT_TASK_BINARY, "logistic"},
                 {FPLT_TASK_CLASSES, "softmax"},
                 {FPLT_TASK_REGRESSION, "least-squares"},
                 {FPLT_TASK_REGRESSION, "huber"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const problem p = {cases[c].task, FEATURES, ROWS, 0, 1, 3, 2, 0};
        fplt_objective *objective = objective_of(&p, cases[c].loss);
        size_t n = fplt_objective_dimension(objective);
        double norms[ROWS], *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y),
                            *scratch = calloc(fplt_objective_scratch(objective), sizeof *scratch);
        double farthest = 0;
        fplt__influence here, there;
        fplt_error error;
        fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, c, 0, 0);
        assert_ok(fplt__objective_row_norms(objective, 0, norms, &error), error);
        for (int t = 0; t < TRIES; t++) {
            double length = 0, wide = t % 3;
            for (size_t j = 0; j < n; j++) {
                x[j] = wide * fplt_stream_normal(&stream);
                y[j] = fplt_stream_normal(&stream);
                length += y[j] * y[j];
            }
            assert_int_equal(
                fplt__objective_influence(objective, 0, x, norms, bound, scratch, &here), FPLT_OK);
            double reach = fplt__influence_reach(&here, share);
            if (here.largest > share * here.sum)
                assert_true(reach == 0);
            for (size_t j = 0; j < n; j++)
                y[j] = x[j] + y[j] * reach / sqrt(length);
            assert_int_equal(
                fplt__objective_influence(objective, 0, y, norms, bound, scratch, &there), FPLT_OK);
            assert_true(there.saturated <= here.saturated);
            assert_true(reach == 0 || there.largest <= share * there.sum);
            farthest = fmax(farthest, reach);
        }
        assert_true(farthest > 0.01); /* which is worth it */
        free(scratch);
        free(y);
        free(x);
        fplt_objective_destroy(objective);
    }
}

/* Along the row with the least headroom the next step saturates it: the bound is no longer than it may be. */
static void the_reach_is_no_guess(void **state)
{
    (void)state;
    fplt__influence found = {.records = 10,
                             .largest = 1,
                             .sum = 10,
                             .headroom = 3,
                             .longest = 2,
                             .squares = 16,
                             .bend = 0.25};
    /* 1 + d/4 4 <= (10 - d/4 16)/4: d <= 0.75 */
    assert_close(fplt__influence_reach(&found, 0.25), 0.75, 1e-5);
    assert_true(fplt__influence_reach(&found, 0.25) < 0.75);
    found.headroom = 0.5;
    assert_close(fplt__influence_reach(&found, 0.25), 0.5, 1e-5);
    found.bend = 0;
    assert_true(fplt__influence_reach(&found, 0.25) == 0);
    found.rate = 1; /* e^2d <= 10/4/e^2d: d <= log(2.5)/4 */
    assert_close(fplt__influence_reach(&found, 0.25), log(2.5) / 4, 1e-5);
    assert_true(fplt__influence_reach(&found, 0.25) < log(2.5) / 4);
    found.bend = 0.25;
    found.largest = 3;
    assert_true(fplt__influence_reach(&found, 0.25) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rule_refuses_within_reach),
        cmocka_unit_test(the_reach_is_no_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
