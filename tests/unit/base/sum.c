/* The exact sum: against long integer arithmetic done another way, and for independence of order,
 * grouping and threads. */
#include "testing.h"

#include <pthread.h>

#include "fedplt/random.h"
#include "base/sum.h"

/* Numbers of every size the sum accepts, many with bits below the grid. */
static double any_number(fplt_stream *stream)
{
    int power = (int)fplt_stream_below(stream, 150) - 95;
    return ldexp(fplt_stream_uniform(stream) * 2 - 1, power);
}

static fplt__sum *new_sum(size_t length, int exponent)
{
    fplt_error error;
    fplt__sum *sum;
    assert_ok(fplt__sum_create(length, exponent, &sum, &error), error);
    return sum;
}

/* Independent oracle: a 192-bit accumulator of 16-bit digits. */

static void schoolbook_add(int64_t digits[12], double x)
{
    double scaled = nearbyint(ldexp(x, 64)); /* exact: a double has 53 bits, rounding once */
    for (int i = 11; i >= 0; i--) {
        double part = trunc(ldexp(scaled, -16 * i));
        digits[i] += (int64_t)part;
        scaled -= ldexp(part, 16 * i);
    }
}

static double schoolbook_read(const int64_t digits[12])
{
    int64_t carried[13] = {0};
    for (int i = 0; i < 12; i++) {
        int64_t value = carried[i] + digits[i];
        int64_t low = ((value % 65536) + 65536) % 65536;
        carried[i] = low;
        carried[i + 1] += (value - low) / 65536;
    }
    int negative = carried[12] < 0;
    if (negative) {
        int64_t borrow = 1;
        for (int i = 0; i < 12; i++) {
            int64_t value = 65535 - carried[i] + borrow;
            carried[i] = value % 65536;
            borrow = value / 65536;
        }
    }
    /* bit by bit: the 60 leading bits exactly, then a sticky one for the rest */
    int taken = 0, sticky = 0, position = 192;
    uint64_t leading = 0;
    while (position-- > 0) {
        int bit = (int)(carried[position / 16] >> position % 16 & 1);
        if (taken < 60) {
            leading = leading << 1 | (uint64_t)bit;
            taken += taken || bit;
            if (taken == 60)
                break;
        }
    }
    int power = position < 0 ? 0 : position;
    while (position-- > 0)
        sticky |= (int)(carried[position / 16] >> position % 16 & 1);
    double result = ldexp((double)(leading << 1 | (uint64_t)sticky), power - 1 - 64);
    return negative ? -result : result;
}

static void agrees_with_schoolbook(void **state)
{
    (void)state;
    fplt__sum *sum = new_sum(1, FPLT_SUM_EXPONENT);
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    int64_t digits[12] = {0};
    for (int i = 0; i < 20000; i++) {
        double x = any_number(&stream), read;
        assert_int_equal(fplt__sum_add(sum, 0, &x, 1), FPLT_OK);
        schoolbook_add(digits, x);
        if (i % 37)
            continue;
        fplt__sum_read(sum, 0, &read, 1);
        double expected = schoolbook_read(digits);
        if (read != expected)
            fail_msg("after %d additions: %a, schoolbook %a", i + 1, read, expected);
    }
    fplt__sum_destroy(sum);
}

enum { LENGTH = 300, AGENTS = 5000 };

static double *numbers(void)
{
    double *x = malloc(sizeof *x * LENGTH * AGENTS);
    assert_non_null(x);
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (size_t i = 0; i < (size_t)LENGTH * AGENTS; i++)
        x[i] = any_number(&stream);
    return x;
}

struct share {
    const double *x;
    fplt__sum *sum;
    unsigned first, step;
};

static void *add_share(void *argument)
{
    struct share *share = argument;
    for (unsigned i = share->first; i < AGENTS; i += share->step)
        fplt__sum_add(share->sum, 0, share->x + (size_t)i * LENGTH, LENGTH);
    return NULL;
}

static void same_bits_for_any_order_grouping_and_threads(void **state)
{
    (void)state;
    double *x = numbers();
    uint64_t expected[2 * LENGTH], words[2 * LENGTH];
    fplt__sum *sum = new_sum(LENGTH, FPLT_SUM_EXPONENT);
    for (unsigned i = 0; i < AGENTS; i++)
        assert_int_equal(fplt__sum_add(sum, 0, x + (size_t)i * LENGTH, LENGTH), FPLT_OK);
    fplt__sum_export(sum, 0, expected, LENGTH);

    fplt__sum_clear(sum);
    for (unsigned i = AGENTS; i-- > 0;) /* backwards, and in two halves of each vector */ {
        assert_int_equal(fplt__sum_add(sum, 150, x + (size_t)i * LENGTH + 150, 150), FPLT_OK);
        assert_int_equal(fplt__sum_add(sum, 0, x + (size_t)i * LENGTH, 150), FPLT_OK);
    }
    fplt__sum_export(sum, 0, words, LENGTH);
    assert_memory_equal(words, expected, sizeof words);

    const unsigned threads[] = {1, 2, 3, 8};
    for (unsigned t = 0; t < 4; t++) {
        pthread_t thread[8];
        struct share share[8];
        for (unsigned i = 0; i < threads[t]; i++) {
            share[i] = (struct share){x, new_sum(LENGTH, FPLT_SUM_EXPONENT), i, threads[t]};
            pthread_create(&thread[i], NULL, add_share, &share[i]);
        }
        fplt__sum_clear(sum);
        for (unsigned i = threads[t]; i-- > 0;) {
            pthread_join(thread[i], NULL);
            if (i % 2)
                assert_int_equal(fplt__sum_merge(sum, share[i].sum), FPLT_OK);
            else {
                fplt__sum_export(share[i].sum, 0, words, LENGTH);
                assert_int_equal(fplt__sum_add_words(sum, 0, words, LENGTH), FPLT_OK);
            }
            fplt__sum_destroy(share[i].sum);
        }
        fplt__sum_export(sum, 0, words, LENGTH);
        assert_memory_equal(words, expected, sizeof words);
    }
    fplt__sum_destroy(sum);
    free(x);
}

static void a_running_sum_of_changes_never_drifts(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    static double kept[COUNT][LENGTH];
    memset(kept, 0, sizeof kept);
    fplt__sum *running = new_sum(LENGTH, FPLT_SUM_EXPONENT);
    fplt__sum *fresh = new_sum(LENGTH, FPLT_SUM_EXPONENT);
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int round = 0; round < 1000; round++) {
        unsigned agent = (unsigned)fplt_stream_below(&stream, COUNT);
        double now[LENGTH];
        for (int j = 0; j < LENGTH; j++)
            now[j] = any_number(&stream);
        fplt__grid_round(now, LENGTH);
        assert_int_equal(fplt__sum_add_change(running, 0, now, kept[agent], LENGTH), FPLT_OK);
        memcpy(kept[agent], now, sizeof now);
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(fplt__sum_add(fresh, 0, kept[i], LENGTH), FPLT_OK);
    uint64_t a[2 * LENGTH], b[2 * LENGTH];
    fplt__sum_export(running, 0, a, LENGTH);
    fplt__sum_export(fresh, 0, b, LENGTH);
    assert_memory_equal(a, b, sizeof a);
    fplt__sum_destroy(running);
    fplt__sum_destroy(fresh);
}

static void rounding_to_the_grid_is_what_the_sum_does(void **state)
{
    (void)state;
    fplt__sum *sum = new_sum(1, FPLT_SUM_EXPONENT);
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int i = 0; i < 100000; i++) {
        double x = any_number(&stream), rounded = x, read;
        fplt__grid_round(&rounded, 1);
        fplt__sum_clear(sum);
        assert_int_equal(fplt__sum_add(sum, 0, &x, 1), FPLT_OK);
        fplt__sum_read(sum, 0, &read, 1);
        double expected = ldexp(nearbyint(ldexp(x, 64)), -64);
        if (read != expected || rounded != expected)
            fail_msg("%a: sum %a, grid %a, expected %a", x, read, rounded, expected);
    }
    fplt__sum_destroy(sum);
}

static void what_is_out_of_range_is_divergence(void **state)
{
    (void)state;
    fplt__sum *sum = new_sum(3, FPLT_SUM_EXPONENT);
    const double bad[] = {NAN, HUGE_VAL, -HUGE_VAL, 0x1p61, -1e300};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double x[3] = {1, bad[i], 2};
        fplt__sum_clear(sum);
        assert_int_equal(fplt__sum_add(sum, 0, x, 3), FPLT_DIVERGED);
    }
    fplt__sum_clear(sum);
    double large[3] = {0x1.fp60, 0, 0};
    assert_int_equal(fplt__sum_add(sum, 0, large, 3), FPLT_OK);
    fplt_status status = FPLT_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = fplt__sum_add(sum, 0, large, 3);
    assert_int_equal(status, FPLT_DIVERGED);
    fplt__sum_destroy(sum);
}

static void other_grids_scale_the_range(void **state)
{
    (void)state;
    fplt__sum *sum = new_sum(1, -164);
    double tiny = 0x1.23456789abcdep-110, read;
    for (int i = 0; i < 10000; i++)
        assert_int_equal(fplt__sum_add(sum, 0, &tiny, 1), FPLT_OK);
    fplt__sum_read(sum, 0, &read, 1);
    assert_true(read == 10000 * tiny);
    double large = 0x1.23456789abcdep-50; /* beyond what two limbs hold at once on this grid */
    fplt__sum_clear(sum);
    for (int i = 0; i < 100; i++)
        assert_int_equal(fplt__sum_add(sum, 0, &large, 1), FPLT_OK);
    fplt__sum_read(sum, 0, &read, 1);
    assert_true(read == 100 * large);
    fplt__sum_destroy(sum);
}

static void refused_words_leave_the_sum_as_it_was(void **state)
{
    (void)state;
    fplt_error error;
    fplt__sum *sum;
    assert_ok(fplt__sum_create(2, FPLT_SUM_EXPONENT, &sum, &error), error);
    const uint64_t good[] = {5, 0, 7, UINT64_C(1) << 60}, bad[] = {5, 0, 0, UINT64_C(1) << 62},
                   largest[] = {UINT64_MAX, INT64_MAX};
    uint64_t now[4];
    assert_int_equal(fplt__sum_add_words(sum, 0, good, 2), FPLT_OK);
    assert_int_equal(fplt__sum_add_words(sum, 0, bad, 2), FPLT_DIVERGED);
    assert_int_equal(fplt__sum_add_words(sum, 0, largest, 1), FPLT_DIVERGED);
    assert_int_equal(fplt__sum_add_words(sum, 0, good, 2), FPLT_DIVERGED); /* the total */
    fplt__sum_export(sum, 0, now, 2);
    assert_memory_equal(now, good, sizeof good);
    const double one = 1;
    assert_int_equal(fplt__sum_add(sum, 2, &one, 1), FPLT_BAD_VALUE);
    assert_int_equal(fplt__sum_add_words(sum, SIZE_MAX, bad, 2), FPLT_BAD_VALUE);
    fplt__sum_destroy(sum);
}

/* Whole numbers below 2^125 in size, on grids from 2^-512 to 2^512. */
static void the_range_ends_where_it_says(void **state)
{
    (void)state;
    fplt_error error;
    fplt__sum *sum, *other;
    static const int exponents[] = {-512, 512, -513, 513};
    for (int i = 0; i < 4; i++) {
        fplt_status status = fplt__sum_create(1, exponents[i], &sum, &error);
        assert_int_equal(status, i < 2 ? FPLT_OK : FPLT_BAD_VALUE);
        fplt__sum_destroy(sum);
    }
    const uint64_t edge = UINT64_C(1) << 61, half = UINT64_C(1) << 60;
    const uint64_t inside[][2] = {{UINT64_MAX, edge - 1}, {1, -edge}, {0, half}, {0, -half}};
    const uint64_t outside[][2] = {{0, edge}, {0, -edge}, {UINT64_MAX, -edge - 1}};
    for (int words_only = 0; words_only < 2; words_only++) {
        assert_ok((words_only ? fplt__sum_create_words : fplt__sum_create)(1, FPLT_SUM_EXPONENT,
                                                                           &sum, &error),
                  error);
        assert_ok(fplt__sum_create(1, FPLT_SUM_EXPONENT, &other, &error), error);
        for (int i = 0; i < 4; i++) {
            fplt__sum_clear(sum);
            assert_int_equal(fplt__sum_add_words(sum, 0, inside[i], 1), FPLT_OK);
        }
        for (int i = 0; i < 3; i++) {
            fplt__sum_clear(sum);
            assert_int_equal(fplt__sum_add_words(sum, 0, outside[i], 1), FPLT_DIVERGED);
        }
        /* two halves are the edge, a unit less is not */
        const uint64_t less[2] = {UINT64_MAX, half - 1};
        for (int exact = 0; exact < 2; exact++) {
            fplt__sum_clear(sum);
            fplt__sum_clear(other);
            assert_int_equal(fplt__sum_add_words(sum, 0, inside[2], 1), FPLT_OK);
            assert_int_equal(fplt__sum_add_words(other, 0, exact ? inside[2] : less, 1), FPLT_OK);
            assert_int_equal(fplt__sum_merge(sum, other), exact ? FPLT_DIVERGED : FPLT_OK);
        }
        fplt__sum_destroy(sum);
        fplt__sum_destroy(other);
    }
}

/* The last of many numbers is refused: all before it are taken back. */
/* Just above the middle between two doubles, by a bit that lies far below the 64 that are rounded. */
static void a_bit_far_below_decides_a_tie(void **state)
{
    (void)state;
    fplt_error error;
    fplt__sum *sum;
    double read[3];
    const uint64_t words[6] = {(UINT64_C(1) << 47) + 1, UINT64_C(1) << 36,       UINT64_C(1) << 47,
                               UINT64_C(1) << 36,       (UINT64_C(1) << 47) - 1, UINT64_C(1) << 36};
    assert_ok(fplt__sum_create(3, FPLT_SUM_EXPONENT, &sum, &error), error);
    assert_int_equal(fplt__sum_add_words(sum, 0, words, 3), FPLT_OK);
    fplt__sum_read(sum, 0, read, 3);
    double below = ldexp(1, 100 + FPLT_SUM_EXPONENT);
    assert_true(read[0] == nextafter(below, HUGE_VAL));
    assert_true(read[1] == below && read[2] == below);
    fplt__sum_destroy(sum);
}

static void many_refused_words_leave_no_trace(void **state)
{
    (void)state;
    enum { COUNT = 700 };
    fplt_error error;
    fplt__sum *sum;
    uint64_t words[2 * COUNT], now[2 * COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        words[2 * i] = i * i;
        words[2 * i + 1] = i;
    }
    assert_ok(fplt__sum_create_words(COUNT, FPLT_SUM_EXPONENT, &sum, &error), error);
    assert_int_equal(fplt__sum_add_words(sum, 0, words, COUNT), FPLT_OK);
    uint64_t last = words[2 * COUNT - 1];
    words[2 * COUNT - 1] = UINT64_C(1) << 62;
    assert_int_equal(fplt__sum_add_words(sum, 0, words, COUNT), FPLT_DIVERGED);
    words[2 * COUNT - 1] = last;
    fplt__sum_export(sum, 0, now, COUNT);
    assert_memory_equal(now, words, sizeof words);
    fplt__sum_destroy(sum);
}

/* Whole numbers, which a double adds exactly, into ranges of two sums that are cleared now and then: whatever was
 * there before, all that was not written since is zero. */
static void ranges_of_a_sum_that_is_cleared(void **state)
{
    (void)state;
    enum { NUMBERS = 600, STEPS = 4000 };
    static double wanted[2][NUMBERS], x[NUMBERS], before[NUMBERS], found[NUMBERS];
    fplt__sum *sum[2] = {new_sum(NUMBERS, 0), new_sum(NUMBERS, 0)};
    fplt_stream stream = fplt_stream_make(31, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int step = 0; step < STEPS; step++) {
        size_t k = (size_t)fplt_stream_below(&stream, 2);
        size_t first = (size_t)fplt_stream_below(&stream, NUMBERS);
        size_t count = (size_t)fplt_stream_below(&stream, NUMBERS - first + 1);
        double size = fplt_stream_below(&stream, 4) ? 1 : 0x1p40; /* beyond what is quick */
        for (size_t i = 0; i < count; i++) {
            x[i] = size * (double)(1 + fplt_stream_below(&stream, 9));
            before[i] = size * (double)(1 + fplt_stream_below(&stream, 9));
        }
        switch (fplt_stream_below(&stream, 6)) {
        case 0:
            fplt__sum_clear(sum[k]);
            memset(wanted[k], 0, sizeof wanted[k]);
            break;
        case 1:
            assert_int_equal(fplt__sum_add_part(sum[k], first, sum[!k], first, count), FPLT_OK);
            for (size_t i = first; i < first + count; i++)
                wanted[k][i] += wanted[!k][i];
            break;
        case 2:
            assert_int_equal(fplt__sum_add_change(sum[k], first, x, before, count), FPLT_OK);
            for (size_t i = 0; i < count; i++)
                wanted[k][first + i] += x[i] - before[i];
            break;
        default:
            assert_int_equal(fplt__sum_add(sum[k], first, x, count), FPLT_OK);
            for (size_t i = 0; i < count; i++)
                wanted[k][first + i] += x[i];
        }
        for (k = 0; k < 2; k++) {
            fplt__sum_read(sum[k], 0, found, NUMBERS);
            assert_memory_equal(found, wanted[k], sizeof found);
            double most = 0;
            for (size_t i = 0; i < NUMBERS; i++)
                most = fmax(most, fabs(found[i]));
            if (most > 0x1p50) { /* before a double is not exact any more */
                fplt__sum_clear(sum[k]);
                memset(wanted[k], 0, sizeof wanted[k]);
            }
        }
    }
    for (int k = 0; k < 2; k++)
        fplt__sum_destroy(sum[k]);
}

/* Some numbers among zeros of both signs, listed and as they are: the same integers, whatever else is added between, and
 * beyond the number of additions after which limbs are emptied. */
static void listed_numbers_are_those_among_zeros(void **state)
{
    (void)state;
    enum { PLACES = 300, ADDITIONS = 5000, SOME = 12 };
    fplt_stream stream = fplt_stream_make(91, 0, FPLT_FOR_TEST, 0, 0, 0);
    static const int exponents[] = {FPLT_SUM_EXPONENT, -80, 3};
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        fplt__sum *listed = new_sum(PLACES, exponents[e]), *whole = new_sum(PLACES, exponents[e]);
        uint64_t words[2][2 * PLACES];
        double x[PLACES], number[SOME], kept[PLACES] = {0};
        for (size_t k = 0; k < ADDITIONS; k++) {
            uint32_t at[SOME], first = fplt_stream_below(&stream, PLACES / SOME);
            for (size_t i = 0; i < PLACES; i++)
                x[i] = fplt_stream_below(&stream, 2) ? 0.0 : -0.0;
            for (uint32_t i = 0; i < SOME; i++) {
                at[i] = PLACES - 1 - first - i * (PLACES / SOME); /* any order will do */
                number[i] = i == 3 ? -0.0 : ldexp(any_number(&stream), exponents[e] + 64);
                if (k % 7)
                    number[i] = ldexp(number[i], -12);
                x[at[i]] = number[i];
            }
            assert_int_equal(fplt__sum_add_at(listed, at, number, SOME), FPLT_OK);
            assert_int_equal(fplt__sum_add(whole, 0, x, PLACES), FPLT_OK);
            if (k % 5 == 0) { /* a vector that a running sum follows */
                assert_int_equal(fplt__sum_add_change(listed, 0, x, kept, PLACES), FPLT_OK);
                assert_int_equal(fplt__sum_add_change(whole, 0, x, kept, PLACES), FPLT_OK);
                memcpy(kept, x, sizeof kept);
            }
        }
        fplt__sum_export(listed, 0, words[0], PLACES);
        fplt__sum_export(whole, 0, words[1], PLACES);
        assert_memory_equal(words[0], words[1], sizeof words[0]);
        assert_int_equal(fplt__sum_add_at(listed, &(uint32_t){PLACES}, number, 1), FPLT_BAD_VALUE);
        assert_int_equal(fplt__sum_add_at(listed, &(uint32_t){0}, &(double){NAN}, 1),
                         FPLT_DIVERGED);
        double beyond = ldexp(1, exponents[e] + 125);
        assert_int_equal(fplt__sum_add_at(listed, &(uint32_t){0}, &beyond, 1), FPLT_DIVERGED);
        fplt__sum_destroy(listed);
        fplt__sum_destroy(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_schoolbook),
        cmocka_unit_test(same_bits_for_any_order_grouping_and_threads),
        cmocka_unit_test(a_running_sum_of_changes_never_drifts),
        cmocka_unit_test(rounding_to_the_grid_is_what_the_sum_does),
        cmocka_unit_test(what_is_out_of_range_is_divergence),
        cmocka_unit_test(other_grids_scale_the_range),
        cmocka_unit_test(refused_words_leave_the_sum_as_it_was),
        cmocka_unit_test(the_range_ends_where_it_says),
        cmocka_unit_test(many_refused_words_leave_no_trace),
        cmocka_unit_test(a_bit_far_below_decides_a_tie),
        cmocka_unit_test(ranges_of_a_sum_that_is_cleared),
        cmocka_unit_test(listed_numbers_are_those_among_zeros),
    };
    return cmocka_run_group_tests_name("sum", tests, NULL, NULL);
}
