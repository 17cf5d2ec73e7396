/* Doubles as text, against the C library: strtod reads back, printf with rising precision finds the fewest digits. */
#include "testing.h"

#include "base/decimal.h"

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Significant digits without zeros at either end, as a number in text; returns how many. */
static size_t significant(const char *text, char *digits)
{
    size_t count = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (count || *text != '0'))
            digits[count++] = *text;
    while (count && digits[count - 1] == '0')
        count--;
    digits[count] = 0;
    return count;
}

static void check(double value)
{
    char text[FPLT__DECIMAL_ROOM], other[64], digits[64], others[64];
    size_t length = fplt__decimal_17(value, text);
    snprintf(other, sizeof other, "%.17g", value);
    assert_string_equal(text, other);
    assert_int_equal(length, strlen(text));

    length = fplt__decimal_shortest(value, text);
    assert_int_equal(length, strlen(text));
    assert_true(length < FPLT__DECIMAL_ROOM);
    if (bits_of(strtod(text, NULL)) != bits_of(value))
        fail_msg("%a is written as %s", value, text);
    if (value == 0)
        return;
    size_t count = significant(text, digits);
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(other, sizeof other, "%.*e", precision - 1, value);
        if (strtod(other, NULL) != value)
            continue;
        size_t fewest = significant(other, others);
        if (count > fewest || (count == fewest && strcmp(digits, others) != 0))
            fail_msg("%a is written as %s, but %s is enough or nearer", value, text, other);
        return;
    }
}

static void both_signs(double value)
{
    check(value);
    check(-value);
}

static void texts_are_as_documented(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } known[] = {{0, "0"},
                 {-0.0, "-0"},
                 {3, "3"},
                 {-1, "-1"},
                 {10, "10"},
                 {0.1, "0.1"},
                 {0.3, "0.3"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {1e-4, "0.0001"},
                 {1e-5, "1e-5"},
                 {1.25e-5, "1.25e-5"},
                 {1e15, "1000000000000000"},
                 {9007199254740993e0, "9007199254740992"},
                 {1e16, "1e16"},
                 {1e100, "1e100"},
                 {1e23, "1e23"},
                 {9.5367431640625e-07, "9.5367431640625e-7"},
                 {5e-324, "5e-324"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308"},
                 {1.7976931348623157e308, "1.7976931348623157e308"}};
    char text[FPLT__DECIMAL_ROOM];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        fplt__decimal_shortest(known[i].value, text);
        assert_string_equal(text, known[i].text);
        both_signs(known[i].value);
    }
    fplt__decimal_17(NAN, text);
    assert_string_equal(text, "nan");
}

/* Where intervals are uneven, numbers are exactly between two decimals, or the table of powers ends. */
static void edges(void **state)
{
    (void)state;
    for (int e = -1074; e <= 1023; e++)
        for (int d = -1; d <= 1; d++) {
            uint64_t bits = bits_of(ldexp(1, e));
            both_signs(from_bits(bits + (uint64_t)(d + (d < 0 && !bits))));
        }
    for (int e = -323; e <= 308; e++) {
        char text[32];
        snprintf(text, sizeof text, "1e%d", e);
        uint64_t bits = bits_of(strtod(text, NULL));
        for (uint64_t d = 0; d < 5; d++)
            check(from_bits(bits + d - (bits > 2 ? 2 : 0)));
    }
    for (uint64_t bits = 1; bits < 200; bits++)
        both_signs(from_bits(bits));
    for (unsigned n = 0; n < 3000; n++) {
        both_signs(n);
        both_signs(n / 8.0);
        both_signs(n / 1000.0);
        both_signs(9007199254740992.0 - n);
        both_signs(36028797018963968.0 + 8.0 * n); /* ties of 17 digits */
        both_signs((2 * n + 1) * 0x1p-20);
    }
}

/* Deterministic: Marsaglia's xorshift. */
static void any_bits(void **state)
{
    (void)state;
    uint64_t x = UINT64_C(88172645463325252);
    for (int i = 0; i < 30000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        double value = from_bits(x);
        if (isfinite(value))
            check(value);
        check((double)(x >> 11) * 0x1p-53);
        check((double)(int64_t)(x % 2000001) / 1000 - 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_documented),
        cmocka_unit_test(edges),
        cmocka_unit_test(any_bits),
    };
    return cmocka_run_group_tests_name("decimal", tests, NULL, NULL);
}
