/* Measures of fit against their definitions, counted pair by pair. */
#include "report/quality.h"
#include "testing.h"

#include "fedplt/random.h"

enum { COUNT = 60 };

/* Few distinct scores and times, so that ties of every kind occur. */
static void concordance_counts_pairs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, 0, 0, 0);
        double score[COUNT], time[COUNT], weight[COUNT], right = 0, pairs = 0, found = 0,
                                                         compared = 0;
        int weighted = seed % 2 == 1;
        fplt_error error;
        for (size_t i = 0; i < COUNT; i++) {
            score[i] = (double)fplt_stream_below(&stream, 7);
            time[i] = (double)fplt_stream_below(&stream, 9);
            weight[i] = weighted ? (double)(1 + fplt_stream_below(&stream, 4)) / 2 : 1;
            if (fplt_stream_below(&stream, 3) == 0)
                time[i] = -time[i];
        }
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < COUNT; j++) {
                int outlived = fabs(time[j]) > fabs(time[i]) ||
                               (fabs(time[j]) == fabs(time[i]) && signbit(time[j]));
                if (i == j || signbit(time[i]) || !outlived)
                    continue;
                pairs += weight[i] * weight[j];
                right += weight[i] * weight[j] *
                         (score[i] > score[j]    ? 1
                          : score[i] == score[j] ? 0.5
                                                 : 0);
            }
        assert_ok(fplt__concordance(score, time, weighted ? weight : NULL, COUNT, &found, &compared,
                                    &error),
                  error);
        assert_true(found == right && compared == pairs);
    }
}

static void areas_count_pairs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        fplt_stream stream = fplt_stream_make(seed, 1, FPLT_FOR_TEST, 0, 0, 0);
        fplt__ranked rows[COUNT];
        double right = 0, pairs = 0;
        for (size_t i = 0; i < COUNT; i++)
            rows[i] = (fplt__ranked){(double)fplt_stream_below(&stream, 9),
                                     (int)fplt_stream_below(&stream, 2),
                                     (double)(1 + fplt_stream_below(&stream, 4)) / 2};
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < COUNT; j++)
                if (rows[i].positive && !rows[j].positive) {
                    double both = rows[i].weight * rows[j].weight;
                    pairs += both;
                    right += rows[i].score > rows[j].score    ? both
                             : rows[i].score == rows[j].score ? both / 2
                                                              : 0;
                }
        assert_true(fabs(fplt__area(rows, COUNT) - right / pairs) < 1e-14);
    }
    fplt__ranked one[] = {{1, 1, 1}, {2, 1, 1}};
    assert_true(isnan(fplt__area(one, 2)));
}

static void rates_come_from_the_table(void **state)
{
    (void)state;
    const double confusion[] = {5, 2, 0, 1, 3, 0, 4, 0, 0};
    fplt__hit_rates first = fplt__rates_of(confusion, 3, 0), last = fplt__rates_of(confusion, 3, 2);
    assert_true(first.precision == 0.5 && fabs(first.recall - 5.0 / 7) < 1e-15);
    assert_true(fabs(first.f1 - 10.0 / 17) < 1e-15);
    assert_true(isnan(last.precision) && last.recall == 0 && last.f1 == 0);
}

static void deviance_of_counts(void **state)
{
    (void)state;
    assert_true(fplt__poisson_deviance(0, 0.5) == 1 && fplt__poisson_deviance(1, 1) == 0);
    assert_true(fabs(fplt__poisson_deviance(4, 2) - 2 * (4 * log(2) - 2)) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concordance_counts_pairs),
        cmocka_unit_test(areas_count_pairs),
        cmocka_unit_test(rates_come_from_the_table),
        cmocka_unit_test(deviance_of_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
