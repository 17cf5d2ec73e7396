/* Measures of fit against their definitions, counted pair by pair. */
#include "base/memory.h"
#include "base/sorting.h"
#include "objective/families.h"
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

/* Rows that count alike, many of them with the scores of others, and the sort behind it. */
static void sorted_areas_are_the_same(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static double sorted[2 * MANY], copy[MANY];
    static fplt__ranked rows[MANY];
    for (uint64_t seed = 0; seed < 20; seed++) {
        fplt_stream stream = fplt_stream_make(seed, 2, FPLT_FOR_TEST, 0, 0, 0);
        size_t count = seed % 2 ? MANY : 1 + (size_t)seed, positives = 0, others = count;
        for (size_t i = 0; i < count; i++) {
            double score = seed % 4 ? ldexp((double)fplt_stream_below(&stream, 999) - 499,
                                            (int)fplt_stream_below(&stream, 40) - 20)
                                    : -0.0;
            rows[i] = (fplt__ranked){score, (int)fplt_stream_below(&stream, 2), 1};
            sorted[rows[i].positive ? positives++ : --others] = score;
        }
        memcpy(copy, sorted, count * sizeof *copy);
        fplt__sort_with(sorted, sorted + MANY, positives);
        fplt__sort_with(sorted + positives, sorted + MANY, count - positives);
        fplt__sort(copy, positives);
        for (size_t i = 0; i < positives; i++)
            assert_true(sorted[i] == copy[i]);
        double area = fplt__area(rows, count),
               other = fplt__area_sorted(sorted, positives, sorted + positives, count - positives);
        assert_true(area == other || (isnan(area) && isnan(other)));
    }
    double odd[] = {1, NAN, 0};
    assert_true(fplt__area_sorted(odd, 2, odd + 2, 1) > 0); /* and it ends */
}

struct held {
    const double *score;
    const unsigned char *positive;
};

static double held_score(const void *context, size_t row, int *positive)
{
    const struct held *held = context;
    *positive = held->positive[row];
    return held->score[row];
}

/* So many rows that they are sorted range by range: ties, zeros of both signs, one range with most of them, and what is no
 * number. */
static void areas_of_many_rows_have_the_same_bits(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    static double score[MANY], sorted[2 * MANY];
    static unsigned char positive[MANY];
    const struct held held = {score, positive};
    const fplt__scores scores = {MANY, held_score, &held};
    for (unsigned kind = 0; kind < 5; kind++) {
        fplt_stream stream = fplt_stream_make(kind, 3, FPLT_FOR_TEST, 0, 0, 0);
        fplt__sorting_room room = {NULL, 0};
        size_t positives = 0, others = MANY;
        for (size_t i = 0; i < MANY; i++) {
            double drawn = (double)fplt_stream_below(&stream, 20001) / 1000 - 10;
            score[i] = kind == 1   ? (drawn < 0   ? -0.0
                                      : drawn < 5 ? 0
                                                  : drawn)
                       : kind == 2 ? (i % 5 ? 1 + drawn / 1e9 : drawn)
                       : kind == 3 ? (i % 1000   ? drawn
                                      : i % 2000 ? NAN
                                                 : -NAN)
                                   : drawn;
            positive[i] = kind == 4 ? 1 : fplt_stream_below(&stream, 12000) < drawn * 500 + 6000;
            sorted[positive[i] ? positives++ : --others] = score[i];
        }
        double area, found;
        fplt__sort_with(sorted, sorted + MANY, positives);
        fplt__sort_with(sorted + positives, sorted + MANY, MANY - positives);
        area = fplt__area_sorted(sorted, positives, sorted + positives, MANY - positives);
        assert_int_equal(fplt__area_of_scores(&scores, &room, &found, NULL), FPLT_OK);
        assert_true(area == found || (kind == 4 && isnan(area) && isnan(found)));
        fplt__free(room.number);
    }
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
    assert_true(fplt__poisson_deviance(0, 0.5, NULL) == 1 &&
                fplt__poisson_deviance(1, 1, NULL) == 0);
    assert_true(fabs(fplt__poisson_deviance(4, 2, NULL) - 2 * (4 * log(2) - 2)) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concordance_counts_pairs),
        cmocka_unit_test(areas_count_pairs),
        cmocka_unit_test(sorted_areas_are_the_same),
        cmocka_unit_test(areas_of_many_rows_have_the_same_bits),
        cmocka_unit_test(rates_come_from_the_table),
        cmocka_unit_test(deviance_of_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
