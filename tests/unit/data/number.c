/* Reading of decimal numbers beside strtod, which rounds correctly: bits must agree. NUMBERS=10000000 in
 * the environment asks for as many random ones. */
#include "testing.h"

#include "base/random.h"
#include "data/text.h"
#include "fedplt/random.h"

static void same(const char *text)
{
    double expected = strtod(text, NULL), value = 0, scanned = 0;
    fplt__span span = {text, strlen(text)};
    fplt__number kind = fplt__number_parse(span, &value);
    assert_int_equal(kind, isfinite(expected) ? FPLT__NUMBER : FPLT__NOT_FINITE);
    const char *end = text + span.length, *after = fplt__number_scan(text, end, &scanned);
    if (!isfinite(expected)) {
        assert_null(after);
        return;
    }
    if (memcmp(&value, &expected, sizeof value))
        fail_msg("'%s' is %a, but was read as %a", text, expected, value);
    if (after && (after != end || memcmp(&scanned, &expected, sizeof scanned)))
        fail_msg("'%s' is %a, but was scanned as %a", text, expected, scanned);
}

/* The same where other text follows, as in a file: nothing of it may be read. */
static void same_within(const char *text)
{
    static const char *const followers[] = {
        ",12345678,", "\n0.99999999", " 9876543210", "\xb9\xb9\xb9\xb9\xb9\xb9\xb9\xb9",
        "//////////", "::::::::::",   ",1",          ""};
    for (size_t i = 0; i < sizeof followers / sizeof *followers; i++) {
        char longer[2048];
        double alone = 0, within = 0;
        snprintf(longer, sizeof longer, "%s%s", text, followers[i]);
        size_t length = strlen(text);
        const char *after = fplt__number_scan(text, text + length, &alone);
        const char *behind = fplt__number_scan(longer, longer + strlen(longer), &within);
        if (!after != !behind ||
            (after && (behind - longer != after - text || memcmp(&alone, &within, sizeof alone))))
            fail_msg("'%s' is another number in '%s'", text, longer);
    }
}

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Any finite double, in every number of digits that may or may not be enough. */
static void random_doubles(void **state)
{
    (void)state;
    const char *wanted = getenv("NUMBERS");
    long count = wanted ? atol(wanted) : 60000;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (long i = 0; i < count; i++) {
        char text[64];
        double value = of_bits(fplt__stream_bits(&stream));
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.*g", (int)(1 + i % 21), value);
        same(text);
        same_within(text);
    }
}

/* Digits and exponents drawn apart: also what no double prints as. */
static void random_decimals(void **state)
{
    (void)state;
    const char *wanted = getenv("NUMBERS");
    long count = wanted ? atol(wanted) : 60000;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (long i = 0; i < count; i++) {
        char text[80];
        int used = snprintf(text, sizeof text, "%s", i % 3 ? "" : i % 2 ? "-" : "+");
        int digits = 1 + (int)fplt_stream_below(&stream, 24), point = (int)(i % (digits + 1));
        for (int d = 0; d < digits; d++) {
            if (d == point)
                text[used++] = '.';
            text[used++] = (char)('0' + (int)fplt_stream_below(&stream, 10));
        }
        text[used] = 0;
        if (i % 4)
            snprintf(text + used, sizeof text - (size_t)used, "%c%d", i % 5 ? 'e' : 'E',
                     (int)fplt_stream_below(&stream, 700) - 360);
        same(text);
        same_within(text);
    }
}

/* Exactly between two doubles, and one digit to each side of it: where rounding is decided. */
static void halfway(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int i = 0; i < 4000; i++) {
        char text[1300];
        uint64_t bits = fplt__stream_bits(&stream) & ~(UINT64_C(1) << 63);
        /* moderate exponents, whose midpoint is no longer than a number may be; some are subnormal */
        bits = i % 8 ? (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(1023 - 60 + i % 160) << 52
                     : bits % (UINT64_C(1) << 20);
        long double low = of_bits(bits), high = of_bits(bits + 1);
        int length = snprintf(text, sizeof text, "%.*Lg", i % 8 ? 180 : 400, (low + high) / 2);
        if (length > 480)
            continue;
        same(text);
        same_within(text);
        char *last = strpbrk(text, "e");
        last = (last ? last : text + length) - 1;
        if (*last >= '1' && *last <= '8') {
            ++*last;
            same(text);
            same_within(text);
            *last = (char)(*last - 2);
            same(text);
            same_within(text);
        }
    }
}

static void limits(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0e5",
        "0e400",
        "1",
        "-1",
        ".5",
        "5.",
        "1e0",
        "1E+3",
        "00012",
        "1e22",
        "1e23",
        "9007199254740993",
        "9007199254740992e1",
        "9007199254740993e-1",
        "18446744073709551615",
        "18446744073709551616",
        "1e-400",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e308",
        "1e309",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000000000000000000000000001",
        "100000000000000000000000000000000000000000000000000000000000000000e-60",
        "6.02214076e23",
        "8.5e-1",
        "3.141592653589793238462643383279",
        "1e-342",
        "1e-343",
        "7e-343",
        "1.5e-323",
        "0.1e-5",
        "1e-22",
        "1e-23",
        "99999999999999999999999e-23",
        "1e00000000000000000005",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same(texts[i]);
}

static void what_is_no_number(void **state)
{
    (void)state;
    static const char *const texts[] = {"",     "+",    "-",   ".",     "e5",    "1e",  "1e+",
                                        "1e+x", "0x1",  "1,2", "1.2.3", "--1",   "1 ",  " 1",
                                        "1f",   "nano", "in",  "+-1",   "1e5.5", "inf5"};
    static const char *const infinite[] = {"nan", "NaN", "-inf", "+Infinity", "1e999", "-1e400"};
    double value;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (fplt__number_parse(fplt__span_of(texts[i]), &value) != FPLT__NOT_A_NUMBER)
            fail_msg("'%s' is taken for a number", texts[i]);
    for (size_t i = 0; i < sizeof infinite / sizeof *infinite; i++)
        assert_int_equal(fplt__number_parse(fplt__span_of(infinite[i]), &value), FPLT__NOT_FINITE);
    char lengthy[FPLT__LONGEST_NUMBER + 2];
    memset(lengthy, '1', sizeof lengthy);
    assert_int_equal(fplt__number_parse((fplt__span){lengthy, sizeof lengthy}, &value),
                     FPLT__NOT_A_NUMBER);
    /* a number ends where something else begins */
    const char *text = "12.5e1,7";
    assert_ptr_equal(fplt__number_scan(text, text + 8, &value), text + 6);
    assert_true(value == 125);
    assert_ptr_equal(fplt__number_scan(text, text + 3, &value), text + 3);
    assert_true(value == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_doubles),    cmocka_unit_test(random_decimals),
        cmocka_unit_test(halfway),           cmocka_unit_test(limits),
        cmocka_unit_test(what_is_no_number),
    };
    return cmocka_run_group_tests_name("data number", tests, NULL, NULL);
}
