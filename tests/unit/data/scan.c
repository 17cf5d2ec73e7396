/* Signs and numbers many bytes at a time, by every way that the machine has: beside a loop over bytes, and beside strtod,
 * which rounds correctly: bits must agree. NUMBERS=10000000 in the environment asks for as many random ones. */
#include "helpers.h"

#include "data/scan.h"
#include "fedplt/random.h"

static long wanted(long usual)
{
    const char *asked = getenv("NUMBERS");
    return asked ? atol(asked) : usual;
}

static const fplt__scan *available(size_t index)
{
    const fplt__scan *scan = fplt__scan_get(index);
    while (scan && !scan->available())
        scan = fplt__scan_get(++index);
    return scan;
}

/* [-]digits[.digits] with a digit, at most 16 signs behind the minus, and no more than 2^53 without its point. */
static int is_common(const char *text)
{
    const char *first = text + (*text == '-');
    size_t digits = strspn(first, "0123456789"), fraction = 0;
    const char *c = first + digits;
    if (*c == '.')
        fraction = strspn(c + 1, "0123456789");
    size_t whole = digits + (*c == '.') + fraction;
    char all[40];
    if (whole != strlen(first) || digits + fraction == 0 || whole > 16)
        return 0;
    snprintf(all, sizeof all, "%.*s%.*s", (int)digits, first, (int)fraction, c + 1);
    return strtoull(all, NULL, 10) <= UINT64_C(1) << 53;
}

/* The text as the only field behind `before`, with `sign` behind it. Memory ends with the sign. */
static void check_number(const fplt__scan *scan, const char *before, const char *text, char sign)
{
    size_t start = strlen(before), length = strlen(text);
    char *line = malloc(start + length + 1);
    double value = 0, expected = strtod(text, NULL);
    uint16_t at[] = {(uint16_t)(start + length)};
    assert_non_null(line);
    memcpy(line, before, start);
    memcpy(line + start, text, length);
    line[start + length] = sign;
    size_t read = scan->numbers(line + start, line, at, 1, ',', &value);
    if (read != (size_t)is_common(text))
        fail_msg("%s: '%s' is %s", scan->name, text, read ? "taken for common" : "not taken");
    if (read && memcmp(&value, &expected, sizeof value))
        fail_msg("%s: '%s' is %a, but was read as %a", scan->name, text, expected, value);
    free(line);
}

static void check_everywhere(const char *text)
{
    static const char *const before[] = {
        "0123456789012345", "................", "----------------", ",,,,,,,,,,,,,,,,,,,,,",
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
    const fplt__scan *scan;
    for (size_t i = 0; (scan = available(i)); i++)
        for (size_t k = 0; k < sizeof before / sizeof *before; k++)
            check_number(scan, before[k], text, k % 2 ? '\n' : ',');
}

/* Every length with the point everywhere and nowhere, of the smallest and greatest digits and others. */
static void every_shape(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int length = 0; length <= 18; length++)
        for (int point = 0; point <= length; point++)
            for (int kind = 0; kind < 24; kind++) {
                char text[24] = "-", *c = text + kind % 2;
                for (int i = 0; i < length; i++)
                    c[i] = (char)(kind < 2   ? '0'
                                  : kind < 4 ? '9'
                                             : '0' + (int)fplt_stream_below(&stream, 10));
                if (point < length)
                    c[point] = '.';
                c[length] = 0;
                check_everywhere(text);
            }
}

/* One byte is another: any byte, anywhere. */
static void every_other_byte(void **state)
{
    (void)state;
    static const char *const texts[] = {"1", "-1.5", "0.345584", "-1234567890123456",
                                        "12345678.2345678"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t place = 0; texts[i][place]; place++)
            for (int byte = 1; byte < 256; byte++) {
                char text[24];
                snprintf(text, sizeof text, "%s", texts[i]);
                text[place] = (char)byte;
                check_everywhere(text);
            }
}

static void random_numbers(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (long i = 0, count = wanted(60000); i < count; i++) {
        char text[64];
        double value =
            fplt_stream_normal(&stream) * pow(10, (double)fplt_stream_below(&stream, 18) - 6);
        if (i % 3)
            snprintf(text, sizeof text, "%.*g", (int)(1 + i % 17), value);
        else
            snprintf(text, sizeof text, "%.*f", (int)(i % 16), value);
        check_everywhere(text);
    }
    static const char *const limits[] = {"9007199254740992",
                                         "9007199254740993",
                                         "900719925474099.2",
                                         "-900719925474099.3",
                                         "0.00000000000001",
                                         "000000000000001.",
                                         ".000000000000001",
                                         "-0",
                                         "-.0",
                                         "0."};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        check_everywhere(limits[i]);
}

/* Many fields: where the reading of numbers ends. */
static void fields_end_where_they_should(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t read;
        double last;
    } cases[] = {
        {"1,2.5,-3,4\n5,6\n", 4, 4},
        {"1,2,x,4\n", 2, 2},
        {"1,,2\n", 1, 1},
        {",1\n", 0, 0},
        {"1,\"2\",3\n", 1, 1},
        {"1,2\"3,4\n", 2, 2},
        {"1,1e5,2\n", 1, 1},
        {"7\n8\n", 1, 7},
        {"-\n", 0, 0},
        {"1,.\n", 1, 1},
        {"1,2,+3\n", 2, 2},
        {"1,2,3\r\n", 2, 2},
        {"1, 2\n", 1, 1},
    };
    const fplt__scan *scan;
    for (size_t s = 0; (scan = available(s)); s++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char text[100];
            uint16_t at[FPLT__WINDOW + FPLT__WITHIN];
            double value[40] = {0};
            int plain = 1;
            snprintf(text, sizeof text, "9999999999999999%s", cases[i].text);
            size_t signs = scan->find(text, strlen(text), ",\n\"", at, &plain);
            size_t read = scan->numbers(text + 16, text, at, signs, ',', value);
            if (read != cases[i].read || (read && value[read - 1] != cases[i].last))
                fail_msg("%s: of '%s' %zu fields are read", scan->name, cases[i].text, read);
        }
}

static void signs_are_found(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, 0, 0);
    const fplt__scan *scan;
    for (size_t s = 0; (scan = available(s)); s++)
        for (int i = 0; i < 1500; i++) {
            size_t size = (size_t)fplt_stream_below(&stream, i % 50 ? 300 : FPLT__WINDOW + 1),
                   expected = 0;
            unsigned dense = 1 + (unsigned)fplt_stream_below(&stream, 40);
            char *text = malloc(size + 1);
            static uint16_t at[FPLT__WINDOW + FPLT__WITHIN];
            int plain = 1, is_plain = 1;
            assert_non_null(text);
            for (size_t k = 0; k < size; k++) {
                text[k] = fplt_stream_below(&stream, dense)
                              ? (char)(1 + fplt_stream_below(&stream, 127))
                              : ",\n\""[fplt_stream_below(&stream, 3)];
                if (fplt_stream_below(&stream, 5 * size + 1) == 0)
                    text[k] = (char)(fplt_stream_below(&stream, 2)
                                         ? 0
                                         : 128 + fplt_stream_below(&stream, 128));
                is_plain &= (signed char)text[k] > 0;
            }
            text = realloc(text, size ? size : 1); /* nothing behind it may be read */
            size_t found = scan->find(text, size, ",\n\"", at, &plain);
            for (size_t k = 0; k < size; k++)
                if (text[k] == ',' || text[k] == '\n' || text[k] == '"') {
                    assert_true(expected < found);
                    assert_int_equal(at[expected++], k);
                }
            assert_int_equal(found, expected);
            assert_int_equal(plain, is_plain);
            size_t lines = 0;
            for (size_t k = 0; k < size; k++)
                lines += text[k] == '\n';
            assert_int_equal(scan->count(text, size, '\n'), lines);
            free(text);
        }
}

/* A row of LIBSVM: which entries are read, and where that ends. */
static void pairs_end_where_they_should(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t read, room;
    } cases[] = {
        {"1:2 3:-0.5\n", 2, 9},
        {"1:2 3:4 5:6 \n", 3, 9},
        {"1:2 2:3 2:4\n", 2, 9},
        {"2:1 1:1\n", 1, 9},
        {"0:1\n", 0, 9},
        {"1:2 3\n", 1, 9},
        {"1:2 x:4\n", 1, 9},
        {"1:2 3:1e5\n", 1, 9},
        {"1:1 99999999:1\n", 2, 9},
        {"1:1 100000009:1\n", 1, 9},
        {"1:1 123456789:1\n", 1, 9},
        {"1:1 7:2 8:3\n", 2, 2},
        {"1:1 7:2 #8:3\n", 2, 9},
        {"1:1:2\n", 1, 9},
        {":1 2:2\n", 0, 9},
        {"1: 2:2\n", 0, 9},
        {"1:1\n2:2\n", 1, 9},
        {"00000001:1 2:3\n", 2, 9},
        {"1:1\t2:2\n", 0, 9},
        {"1:1  2:2\n", 1, 9},
    };
    const fplt__scan *scan;
    for (size_t s = 0; (scan = available(s)); s++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char text[100], rest[100];
            uint16_t at[FPLT__WINDOW + FPLT__WITHIN];
            uint32_t column[9];
            double value[9];
            int plain = 1;
            fplt__pairs pairs = {
                .most = 99999999, .column = column, .value = value, .room = cases[i].room};
            snprintf(text, sizeof text, "9999999999999999%s", cases[i].text);
            snprintf(rest, sizeof rest, "%s", cases[i].text);
            size_t signs = scan->find(text, strlen(text), " :\n", at, &plain);
            size_t used = scan->pairs(text + 16, text, at, signs, &pairs);
            if (pairs.count != cases[i].read || used != 2 * pairs.count)
                fail_msg("%s: of '%s' %zu entries are read", scan->name, cases[i].text,
                         pairs.count);
            char *c = rest;
            for (size_t k = 0; k < pairs.count; k++) {
                assert_int_equal(column[k] + 1, strtoul(c, &c, 10));
                assert_true(value[k] == strtod(c + 1, &c));
                c++;
            }
            assert_int_equal(pairs.before, pairs.count ? column[pairs.count - 1] + 1 : 0);
        }
}

/* Windows: all signs in their order, wherever the text is looked at anew. */
static void windows_follow_each_other(void **state)
{
    (void)state;
    enum { SIZE = 3 * FPLT__WINDOW + 100 };
    char *text = malloc(SIZE);
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt__marks marks;
    assert_non_null(text);
    for (int round = 0; round < 40; round++) {
        size_t place = 0, strange = round % 2 ? (size_t)fplt_stream_below(&stream, SIZE) : SIZE;
        for (size_t k = 0; k < SIZE; k++)
            text[k] = fplt_stream_below(&stream, round < 20 ? 9 : 9000) ? 'a' : ',';
        if (strange < SIZE)
            text[strange] = (char)0xc3;
        fplt__marks_begin(&marks, text, text + SIZE, ",\n\"");
        for (;;) {
            if (fplt_stream_below(&stream, 7) == 0) {
                place += (size_t)fplt_stream_below(&stream, 20000);
                place = place < SIZE ? place : SIZE;
                fplt__marks_seek(&marks, text + place);
            }
            const char *next = memchr(text + place, ',', SIZE - place);
            assert_int_equal(fplt__marks_more(&marks) > 0, next != NULL);
            if (!next)
                break;
            assert_ptr_equal(fplt__marks_at(&marks, 0), next);
            marks.used++;
            place = (size_t)(next - text) + 1;
        }
        assert_ptr_equal(marks.plain, text + strange / FPLT__WINDOW * FPLT__WINDOW +
                                          (strange == SIZE ? 100 : 0));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape),
        cmocka_unit_test(every_other_byte),
        cmocka_unit_test(random_numbers),
        cmocka_unit_test(fields_end_where_they_should),
        cmocka_unit_test(signs_are_found),
        cmocka_unit_test(pairs_end_where_they_should),
        cmocka_unit_test(windows_follow_each_other),
    };
    return cmocka_run_group_tests_name("data scan", tests, NULL, NULL);
}
