/* Listed words: against sums of whole ones, by another arithmetic of what is expected. */
#include "testing.h"

#include "base/bytes.h"
#include "base/listed.h"
#include "base/memory.h"
#include "base/random.h"
#include "fedplt/random.h"

enum { COUNT = 1000, KNOWN = 990, SENDERS = 7 };

__extension__ typedef __int128 wide;

static void put(uint64_t *words, wide value)
{
    words[0] = (uint64_t)value;
    words[1] = (uint64_t)((unsigned __int128)value >> 64);
}

/* round(x 2^64) by the C library. */
static wide on_grid(double x)
{
    return (wide)nearbyint(ldexp(x, 64));
}

/* A sender's numbers: the multiple, and others in about one of `rare` places. */
static void make_words(fplt_stream *stream, const double *like, double factor, uint64_t rare,
                       uint64_t *words)
{
    for (size_t i = 0; i < COUNT; i++) {
        wide value = i < KNOWN ? on_grid(factor * like[i]) : 0;
        if (fplt_stream_below(stream, rare) == 0)
            value += on_grid(fplt_stream_uniform(stream) * 2 - 1);
        put(words + 2 * i, value);
    }
}

static fplt__sum *sum_of_words(void)
{
    fplt_error error;
    fplt__sum *sum;
    assert_ok(fplt__sum_create_words(COUNT, FPLT_SUM_EXPONENT, &sum, &error), error);
    return sum;
}

static void assert_same_sums(const fplt__sum *a, const fplt__sum *b)
{
    uint64_t x[2 * COUNT], y[2 * COUNT];
    fplt__sum_export(a, 0, x, COUNT);
    fplt__sum_export(b, 0, y, COUNT);
    assert_memory_equal(x, y, sizeof x);
}

static double any_like(fplt_stream *stream)
{
    double x = ldexp(fplt_stream_uniform(stream) * 2 - 1, (int)fplt_stream_below(stream, 60) - 50);
    return fplt_stream_below(stream, 10) ? x : 0; /* a model has zeros, too */
}

static void lists_have_the_sum_of_whole_messages(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_error error;
    fplt__multiples *multiples;
    uint64_t words[2 * COUNT];
    double like[KNOWN];
    assert_ok(fplt__multiples_create(KNOWN, SENDERS, &multiples, &error), error);
    for (int trial = 0; trial < 60; trial++) {
        fplt__sum *whole = sum_of_words(), *listed = sum_of_words();
        for (size_t i = 0; i < KNOWN; i++)
            like[i] = any_like(&stream);
        fplt__multiples_begin(multiples, like);
        for (int k = 0; k < SENDERS; k++) { /* the last three have one factor */
            double found, factor = k < SENDERS - 3 ? fplt_stream_uniform(&stream) - 0.3 : 1e-3;
            fplt__multiple expected = {like, KNOWN, factor};
            uint8_t *bytes;
            size_t size;
            make_words(&stream, like, factor, trial % 2 ? 20 : 1000000, words);
            size_t packed = fplt__words_pack(words, COUNT, NULL, 0);
            assert_int_equal(fplt__listed_pack(words, COUNT, &expected, packed, &bytes, &size),
                             FPLT_OK);
            assert_true(size < packed && (trial % 2 || size == 16));
            assert_int_equal(fplt__sum_add_words(whole, 0, words, COUNT), FPLT_OK);
            assert_ok(fplt__listed_factor(bytes, size, &found, &error), error);
            assert_true(found == factor && fplt__multiples_fits(multiples, found));
            fplt__multiples_take(multiples, found);
            assert_ok(fplt__sum_add_listed(listed, bytes, size, COUNT, &error), error);
            fplt__free(bytes);
        }
        assert_false(fplt__multiples_fits(multiples, 0)); /* more senders than there are */
        assert_int_equal(fplt__multiples_add(multiples, listed), FPLT_OK);
        assert_same_sums(whole, listed);
        fplt__sum_destroy(whole);
        fplt__sum_destroy(listed);
    }
    fplt__multiples_destroy(multiples);
}

static void what_is_not_shorter_is_not_listed(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    uint64_t words[2 * COUNT] = {0};
    double like[KNOWN];
    fplt__multiple expected = {like, KNOWN, 1};
    uint8_t *bytes;
    size_t size, packed = fplt__words_pack(words, COUNT, NULL, 0);
    for (size_t i = 0; i < KNOWN; i++)
        like[i] = 0.5;
    /* all zeros take less when packed than a list of what is not 0.5 */
    assert_int_equal(fplt__listed_pack(words, COUNT, &expected, packed, &bytes, &size),
                     FPLT_UNSUPPORTED);
    make_words(&stream, like, 1, 3, words);
    packed = fplt__words_pack(words, COUNT, NULL, 0);
    assert_int_equal(fplt__listed_pack(words, COUNT, &expected, packed, &bytes, &size),
                     FPLT_UNSUPPORTED);
    assert_null(bytes);
    /* expected numbers that would leave the range of a sum of many */
    like[KNOWN - 1] = 0x1p28;
    make_words(&stream, like, 1, 1000000, words);
    assert_int_equal(fplt__listed_pack(words, COUNT, &expected, packed, &bytes, &size),
                     FPLT_UNSUPPORTED);
    expected.factor = NAN;
    assert_int_equal(fplt__listed_pack(words, COUNT, &expected, packed, &bytes, &size),
                     FPLT_UNSUPPORTED);
}

/* A list of two numbers, by hand. */
static size_t write_list(uint8_t *bytes, double factor, uint64_t count, const uint8_t *places,
                         size_t place_bytes, const uint64_t *words, size_t numbers)
{
    fplt__put_reals(bytes, &factor, 1);
    fplt__put64(bytes + 8, count);
    memcpy(bytes + 16, places, place_bytes);
    return 16 + place_bytes + fplt__words_pack(words, numbers, bytes + 16 + place_bytes, 200);
}

static void other_bytes_are_refused_and_leave_no_trace(void **state)
{
    (void)state;
    uint64_t numbers[6] = {5, 0, 9, 0, 3, 0}, before[2 * COUNT];
    const struct {
        const char *why;
        uint64_t count;
        uint8_t places[6];
        size_t place_bytes;
        fplt_status status;
    } lists[] = {
        {NULL, 2, {3, 0x85, 7}, 3, FPLT_OK}, /* 3 and 3 + 1 + 5 + 7 x 128 = 905 */
        {"not below 1000", 2, {3, 0xe8, 7}, 3, FPLT_BAD_DATA},
        {"shortest form", 2, {3, 0x85, 0}, 3, FPLT_BAD_DATA},
        {"cut off", 2, {0x85, 0x85, 0x85, 0x85, 0x85, 1}, 6, FPLT_BAD_DATA},
        {"cut off", COUNT + 1, {3, 4}, 2, FPLT_BAD_DATA},
        {"bytes follow", 1, {3}, 1, FPLT_BAD_DATA},
        {"cut off or has an impossible head", 3, {3, 4, 5}, 3, FPLT_BAD_DATA},
    };
    fplt__sum *sum = sum_of_words();
    fplt_error error;
    uint8_t bytes[400];
    fplt__sum_export(sum, 0, before, COUNT);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        size_t size =
            write_list(bytes, 1, lists[k].count, lists[k].places, lists[k].place_bytes, numbers, 2);
        uint64_t after[2 * COUNT];
        assert_int_equal(fplt__sum_add_listed(sum, bytes, size, COUNT, &error), lists[k].status);
        fplt__sum_export(sum, 0, after, COUNT);
        if (!lists[k].why) {
            before[6] = 5, before[2 * 905] = 9;
        } else {
            assert_contains(error.text, lists[k].why);
        }
        assert_memory_equal(before, after, sizeof after);
    }
    /* one that is as expected; one that leaves the range, behind one that does not */
    const uint8_t places[2] = {10, 20};
    numbers[2] = 0;
    size_t size = write_list(bytes, 1, 2, places, 2, numbers, 2);
    assert_int_equal(fplt__sum_add_listed(sum, bytes, size, COUNT, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "as expected");
    numbers[3] = UINT64_C(1) << 62;
    size = write_list(bytes, 1, 2, places, 2, numbers, 2);
    assert_int_equal(fplt__sum_add_listed(sum, bytes, size, COUNT, &error), FPLT_DIVERGED);
    assert_contains(error.text, "out of range");
    fplt__sum_export(sum, 0, numbers, 3);
    uint64_t after[2 * COUNT];
    fplt__sum_export(sum, 0, after, COUNT);
    assert_memory_equal(before, after, sizeof after);
    double factor;
    assert_int_equal(fplt__listed_factor(bytes, 15, &factor, &error), FPLT_BAD_DATA);
    fplt__sum_destroy(sum);
}

static void factors_beyond_the_range_do_not_fit(void **state)
{
    (void)state;
    const double like[3] = {0, -2, 1};
    fplt_error error;
    fplt__multiples *multiples;
    assert_ok(fplt__multiples_create(3, 10, &multiples, &error), error);
    fplt__multiples_begin(multiples, like);
    assert_true(fplt__multiples_fits(multiples, 0x1.fp26));
    assert_false(fplt__multiples_fits(multiples, -0x1p27));
    assert_false(fplt__multiples_fits(multiples, NAN));
    assert_false(fplt__multiples_fits(multiples, INFINITY));
    fplt__multiples_begin(multiples, NULL); /* at zero a factor must still be a number */
    assert_true(fplt__multiples_fits(multiples, 0x1p300));
    assert_false(fplt__multiples_fits(multiples, INFINITY));
    fplt__multiples_destroy(multiples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_have_the_sum_of_whole_messages),
        cmocka_unit_test(what_is_not_shorter_is_not_listed),
        cmocka_unit_test(other_bytes_are_refused_and_leave_no_trace),
        cmocka_unit_test(factors_beyond_the_range_do_not_fit),
    };
    return cmocka_run_group_tests_name("listed words", tests, NULL, NULL);
}
