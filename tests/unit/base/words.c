/* Packed words, and the sum of words only: against arithmetic done another way. */
#include "testing.h"

#include "base/memory.h"
#include "fedplt/random.h"
#include "base/random.h"
#include "base/sum.h"
#include "lent.h"

enum { MAX = 300 };

__extension__ typedef __int128 wide;

/* Numbers of all lengths with a common shift, as an agent's differences are. */
static void any_words(fplt_stream *stream, uint64_t *words, size_t count)
{
    unsigned bits = (unsigned)fplt_stream_below(stream, 126);
    unsigned shift = (unsigned)fplt_stream_below(stream, 126 - bits);
    for (size_t i = 0; i < count; i++) {
        wide value =
            (wide)((unsigned __int128)fplt__stream_bits(stream) << 64 | fplt__stream_bits(stream));
        value >>= 127 - bits;
        value *= (wide)1 << shift;
        if (fplt_stream_below(stream, 8) == 0)
            value = 0;
        words[2 * i] = (uint64_t)value;
        words[2 * i + 1] = (uint64_t)((unsigned __int128)value >> 64);
    }
}

/* By the letter of the format, a byte at a time. */
static size_t pack_slowly(const uint64_t *words, size_t count, uint8_t *out)
{
    size_t used = 0;
    for (size_t first = 0; first < count; first += 64) {
        size_t size = count - first < 64 ? count - first : 64;
        wide value[64];
        int shift = 127, width = 0, zero = 1;
        for (size_t i = 0; i < size; i++) {
            const uint64_t *w = words + 2 * (first + i);
            value[i] = (wide)((unsigned __int128)w[1] << 64 | w[0]);
            zero = zero && value[i] == 0;
            while (value[i] && (unsigned __int128)value[i] % ((unsigned __int128)1 << shift) != 0)
                shift--;
        }
        shift = zero ? 0 : shift;
        for (size_t i = 0; i < size; i++)
            for (int w = 0; w <= 16; w++) {
                wide low = w && w < 16 ? -((wide)1 << (8 * w - 1)) : 0, v = value[i] >> shift;
                if (w == 16 || (w ? v >= low && v < -low : v == 0)) {
                    width = w > width ? w : width;
                    break;
                }
            }
        out[used++] = (uint8_t)shift;
        out[used++] = (uint8_t)width;
        for (size_t i = 0; i < size; i++)
            for (int b = 0; b < width; b++)
                out[used++] = (uint8_t)(value[i] >> shift >> (8 * b));
    }
    return used;
}

static void packing_is_what_the_format_says(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 3000; trial++) {
        uint64_t words[2 * MAX], back[2 * MAX];
        uint8_t bytes[17 * MAX], slow[17 * MAX];
        size_t count = (size_t)fplt_stream_below(&stream, MAX + 1);
        any_words(&stream, words, count);
        size_t size = fplt__words_pack(words, count, bytes, sizeof bytes);
        assert_true(size <= fplt__words_most(count));
        assert_int_equal(size, pack_slowly(words, count, slow));
        assert_memory_equal(bytes, slow, size);
        memset(bytes, 0xa5, sizeof bytes);
        assert_int_equal(fplt__words_pack(words, count, bytes, size), size);
        assert_memory_equal(bytes, slow, size);
        assert_int_equal(bytes[size], 0xa5);
        assert_int_equal(fplt__words_pack(words, count, NULL, 0), size);
        fplt_error error;
        uint8_t *exact = malloc(size ? size : 1);
        memcpy(exact, bytes, size);
        assert_ok(fplt__words_unpack(exact, size, back, count, &error), error);
        assert_memory_equal(back, words, 2 * count * sizeof *words);
        free(exact);
    }
}

/* A byte missing, a byte too many, and every single change of a byte: refused, or other numbers. */
static void only_its_own_form_is_read(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 300; trial++) {
        uint64_t words[2 * 70], back[2 * 70];
        uint8_t bytes[17 * 70 + 1] = {0};
        size_t count = 1 + (size_t)fplt_stream_below(&stream, 70);
        any_words(&stream, words, count);
        size_t size = fplt__words_pack(words, count, bytes, sizeof bytes);
        fplt_error error;
        assert_int_equal(fplt__words_unpack(bytes, size - 1, back, count, &error), FPLT_BAD_DATA);
        assert_int_equal(fplt__words_unpack(bytes, size + 1, back, count, &error), FPLT_BAD_DATA);
        size_t at = (size_t)fplt_stream_below(&stream, size);
        uint8_t was = bytes[at];
        bytes[at] ^= (uint8_t)(1 + fplt_stream_below(&stream, 255));
        if (!fplt__words_unpack(bytes, size, back, count, &error)) {
            uint8_t again[17 * 70 + 1];
            assert_memory_not_equal(back, words, 2 * count * sizeof *words);
            assert_int_equal(fplt__words_pack(back, count, again, sizeof again), size);
            assert_memory_equal(again, bytes, size);
        }
        bytes[at] = was;
    }
}

static void a_sum_of_words_is_the_sum(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_error error;
    fplt__sum *full, *lean, *other;
    assert_ok(fplt__sum_create(MAX, -64, &full, &error), error);
    assert_ok(fplt__sum_create_words(MAX, -64, &lean, &error), error);
    assert_ok(fplt__sum_create_words(MAX, -64, &other, &error), error);
    uint64_t words[2 * MAX], a[2 * MAX], b[2 * MAX];
    for (int trial = 0; trial < 500; trial++) {
        size_t first = (size_t)fplt_stream_below(&stream, MAX);
        size_t count = (size_t)fplt_stream_below(&stream, MAX - first + 1);
        any_words(&stream, words, count);
        int spoilt = count && trial % 7 == 0;
        if (spoilt) {
            words[2 * (count - 1)] = trial % 2;
            words[2 * (count - 1) + 1] = UINT64_C(1) << 61;
        }
        fplt_status expected = fplt__sum_add_words(full, first, words, count);
        assert_int_equal(fplt__sum_add_words(lean, first, words, count), expected);
        assert_true(expected || !spoilt);
        fplt__sum_export(full, 0, a, MAX);
        fplt__sum_export(lean, 0, b, MAX);
        assert_memory_equal(a, b, sizeof a);
        if (trial % 50 == 0) {
            fplt__sum_clear(full);
            fplt__sum_clear(lean);
        }
    }
    fplt__sum_clear(other);
    assert_int_equal(fplt__sum_merge(other, lean), FPLT_OK);
    double x[MAX], y[MAX];
    fplt__sum_read(other, 0, x, MAX);
    fplt__sum_read(full, 0, y, MAX);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(fplt__sum_add(lean, 0, x, 1), FPLT_BAD_VALUE);
    fplt__sum_destroy(full);
    fplt__sum_destroy(lean);
    fplt__sum_destroy(other);
}

/* Added as they travel: what unpacking and adding gives, and after a refusal (cut off, too long, another
 * form, out of range) the sum as it was. */
static void packed_words_add_alike(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_error error;
    fplt__sum *lean, *packed, *full;
    int refused = 0;
    assert_ok(fplt__sum_create(MAX, -64, &full, &error), error);
    assert_ok(fplt__sum_create_words(MAX, -64, &lean, &error), error);
    assert_ok(fplt__sum_create_words(MAX, -64, &packed, &error), error);
    for (int trial = 0; trial < 1000; trial++) {
        uint64_t words[2 * MAX], a[2 * MAX], b[2 * MAX];
        uint8_t bytes[17 * MAX + 1] = {0};
        size_t first = (size_t)fplt_stream_below(&stream, MAX);
        size_t count = (size_t)fplt_stream_below(&stream, MAX - first + 1);
        any_words(&stream, words, count);
        if (count && trial % 7 == 0)
            words[2 * (count - 1)] = 1, words[2 * (count - 1) + 1] = UINT64_C(1) << 61;
        size_t size = fplt__words_pack(words, count, bytes, sizeof bytes);
        if (size && trial % 3 == 0)
            bytes[fplt_stream_below(&stream, size)] ^= 1 << fplt_stream_below(&stream, 8);
        size += trial % 11 == 0 ? 1 : 0;
        size -= size && trial % 13 == 0 ? 1 : 0;
        fplt_status status = fplt__words_unpack(bytes, size, words, count, &error);
        if (!status)
            status = fplt__sum_add_words(lean, first, words, count);
        assert_int_equal(!fplt__sum_add_packed(packed, first, bytes, size, count, &error), !status);
        refused += status != FPLT_OK;
        fplt__sum_export(lean, 0, a, MAX);
        fplt__sum_export(packed, 0, b, MAX);
        assert_memory_equal(a, b, sizeof a);
        if (trial % 50 == 0) {
            fplt__sum_clear(lean);
            fplt__sum_clear(packed);
        }
        assert_int_equal(fplt__sum_add_packed(full, first, bytes, size, count, &error),
                         FPLT_BAD_VALUE);
        assert_int_equal(fplt__sum_add_packed(packed, MAX, bytes, size, count + 1, &error),
                         FPLT_BAD_VALUE);
    }
    assert_true(refused > 100 && refused < 900);
    fplt__sum_destroy(full);
    fplt__sum_destroy(lean);
    fplt__sum_destroy(packed);
}

/* Two blocks of numbers of a few bytes each, in all widths and shifts; the first, which is added in one pass, is
 * wider than it need be (kind 1), shifted less than it could be (2), or brings a total to the limit (3). The sum is
 * that of numbers unpacked before they are added, and after a refusal as it was. */
static void narrow_words_add_alike(void **state)
{
    (void)state;
    enum { COUNT = 128, HALF = 64 };
    fplt_stream stream = fplt_stream_make(9, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_error error;
    fplt__sum *lean, *packed;
    int outcome[4][2] = {{0}};
    assert_ok(fplt__sum_create_words(COUNT, -64, &lean, &error), error);
    assert_ok(fplt__sum_create_words(COUNT, -64, &packed, &error), error);
    for (int trial = 0; trial < 8000; trial++) {
        unsigned width = 1 + (unsigned)fplt_stream_below(&stream, 8), kind = (unsigned)trial % 4;
        unsigned shift = (unsigned)fplt_stream_below(&stream, 64), wider = kind == 1 || kind == 2;
        uint64_t words[2 * COUNT], base[2 * COUNT], a[2 * COUNT], b[2 * COUNT];
        uint8_t bytes[2 * (2 + 16 * HALF)] = {(uint8_t)(shift - (shift && kind == 2)),
                                              (uint8_t)(width + wider)};
        size_t size = 2, step = width + wider;
        for (size_t i = 0; i < HALF; i++, size += step) {
            int64_t number =
                (int64_t)(fplt__stream_bits(&stream) << (64 - 8 * width)) >> (64 - 8 * width);
            number = kind == 2 && shift ? (int64_t)((uint64_t)number << 1) : number;
            for (size_t k = 0; k < step; k++)
                bytes[size + k] = (uint8_t)(k < 8 ? number >> (8 * k) : number >> 63);
        }
        for (size_t i = 0; i < COUNT; i++) { /* totals that carry, and some at the limit */
            int64_t far = (INT64_C(1) << 61) - 1;
            base[2 * i] = fplt_stream_below(&stream, 2) ? UINT64_MAX : fplt__stream_bits(&stream);
            base[2 * i + 1] = (uint64_t)((int64_t)fplt__stream_bits(&stream) >> 8);
            if (kind == 3 && fplt_stream_below(&stream, 40) == 0)
                base[2 * i + 1] = (uint64_t)(fplt_stream_below(&stream, 2) ? far : -far);
        }
        for (size_t i = 0; i < 2 * HALF; i++)
            words[i] = i % 2 ? 0 : fplt__stream_bits(&stream) >> 8 | 1;
        size += fplt__words_pack(words, HALF, bytes + size, sizeof bytes - size);
        fplt__sum_clear(lean);
        fplt__sum_clear(packed);
        assert_int_equal(fplt__sum_add_words(lean, 0, base, COUNT), FPLT_OK);
        assert_int_equal(fplt__sum_add_words(packed, 0, base, COUNT), FPLT_OK);
        fplt_status status = fplt__words_unpack(bytes, size, words, COUNT, &error);
        if (!status)
            status = fplt__sum_add_words(lean, 0, words, COUNT);
        assert_int_equal(!fplt__sum_add_packed(packed, 0, bytes, size, COUNT, &error), !status);
        outcome[kind][status != FPLT_OK]++;
        fplt__sum_export(lean, 0, a, COUNT);
        fplt__sum_export(packed, 0, b, COUNT);
        assert_memory_equal(a, b, sizeof a);
    }
    assert_true(outcome[0][0] > 1500 && outcome[1][1] > 1500 && outcome[2][1] > 1500);
    assert_true(outcome[3][0] > 200 && outcome[3][1] > 200);
    fplt__sum_destroy(lean);
    fplt__sum_destroy(packed);
}

/* Many numbers, which others help to add: the sum and the sentence are those of one hand, whatever is wrong
 * with the numbers and wherever. */
static void others_help_to_add(void **state)
{
    (void)state;
    enum { COUNT = 1200007, FIRST = 3 }; /* more than are shared at once */
    fplt_stream stream = fplt_stream_make(6, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_error error, other;
    fplt__sum *alone, *helped;
    uint64_t *words, *a, *b;
    uint8_t *bytes;
    struct lent lent;
    size_t room = fplt__words_most(COUNT) + 1;
    assert_ok(fplt__sum_create_words(COUNT + FIRST, -64, &alone, &error), error);
    assert_ok(fplt__sum_create_words(COUNT + FIRST, -64, &helped, &error), error);
    assert_ok(fplt__alloc_into(&words, 2 * COUNT, 8, "words", &error), error);
    assert_ok(fplt__alloc_into(&a, 2 * (COUNT + FIRST), 8, "words", &error), error);
    assert_ok(fplt__alloc_into(&b, 2 * (COUNT + FIRST), 8, "words", &error), error);
    assert_ok(fplt__alloc_into(&bytes, room, 1, "words", &error), error);
    lent_begin(&lent);
    for (int trial = 0; trial < 12; trial++) {
        for (size_t i = 0; i < COUNT; i += 1000)
            any_words(&stream, words + 2 * i, COUNT - i < 1000 ? COUNT - i : 1000);
        for (size_t i = 0; i < COUNT; i++) /* far from the limit */
            words[2 * i + 1] = (uint64_t)((int64_t)words[2 * i + 1] >> 12);
        if (trial == 1) { /* out of range, late */
            words[2 * (COUNT - 2)] = 0;
            words[2 * (COUNT - 2) + 1] = UINT64_C(1) << 61;
        }
        if (trial == 2 || trial == 3) {
            fplt__sum_clear(alone);
            fplt__sum_clear(helped);
        }
        if (trial == 2) { /* legal, but only just */
            words[0] = 1;
            words[1] = -(UINT64_C(1) << 61);
        }
        size_t size = fplt__words_pack(words, COUNT, bytes, room);
        if (trial > 3)
            bytes[fplt_stream_below(&stream, size)] ^= 1 << fplt_stream_below(&stream, 8);
        size += trial == 3;
        size -= trial == 4;
        fplt__parallel_set(NULL);
        fplt_status status = fplt__sum_add_packed(alone, FIRST, bytes, size, COUNT, &error);
        fplt__parallel_set(&lent.hands);
        assert_int_equal(fplt__sum_add_packed(helped, FIRST, bytes, size, COUNT, &other), status);
        if (status)
            assert_string_equal(error.text, other.text);
        if (trial < 5)
            assert_int_equal(!status, trial == 0 || trial == 2);
        fplt__sum_export(alone, 0, a, COUNT + FIRST);
        fplt__sum_export(helped, 0, b, COUNT + FIRST);
        assert_memory_equal(a, b, 16 * (COUNT + FIRST));
    }
    lent_end(&lent);
    fplt__sum_destroy(alone);
    fplt__sum_destroy(helped);
    fplt__free(words);
    fplt__free(a);
    fplt__free(b);
    fplt__free(bytes);
}

/* The limit is 2^125, exclusive, on both sides and to the last bit. */
static void the_limit_is_exact(void **state)
{
    (void)state;
    fplt_error error;
    fplt__sum *sum;
    assert_ok(fplt__sum_create_words(1, -64, &sum, &error), error);
    uint64_t least[2] = {1, -(UINT64_C(1) << 61)}, one_less[2] = {0, -(UINT64_C(1) << 61)};
    uint64_t minus[2] = {UINT64_MAX, UINT64_MAX}, now[2];
    assert_int_equal(fplt__sum_add_words(sum, 0, one_less, 1), FPLT_DIVERGED);
    assert_int_equal(fplt__sum_add_words(sum, 0, least, 1), FPLT_OK);
    assert_int_equal(fplt__sum_add_words(sum, 0, minus, 1), FPLT_DIVERGED);
    fplt__sum_export(sum, 0, now, 1);
    assert_memory_equal(now, least, sizeof now);
    fplt__sum_destroy(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_is_what_the_format_says),
        cmocka_unit_test(only_its_own_form_is_read),
        cmocka_unit_test(a_sum_of_words_is_the_sum),
        cmocka_unit_test(packed_words_add_alike),
        cmocka_unit_test(narrow_words_add_alike),
        cmocka_unit_test(others_help_to_add),
        cmocka_unit_test(the_limit_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
