/* Traces: what a file means, and the sentence for each that means nothing. */
#include "testing.h"

#include "failing.h"
#include "fedplt/participation.h"
#include "temporary.h"
#include "participation/participation.h"

enum { AGENTS = 5 };

static fplt_participation *from_text(const char *text, size_t size)
{
    temporary file = temporary_file(text, size);
    fplt_participation_settings settings = {.rule = "trace", .trace = file.path};
    fplt_error error;
    fplt_participation *rule;
    assert_ok(fplt_participation_create(&settings, AGENTS, &rule, &error), error);
    unlink(file.path);
    return rule;
}

static void plays(const char *text, const char *const *rounds)
{
    fplt_participation *rule = from_text(text, strlen(text));
    size_t count = 0;
    double turns[AGENTS] = {0};
    while (rounds[count])
        count++;
    for (uint64_t round = 0; round < 3 * count; round++) {
        const char *expected = rounds[round % count];
        uint32_t active[AGENTS], size = fplt_participation_choose(rule, 1, 2, round, active);
        assert_int_equal(size, strlen(expected));
        for (uint32_t i = 0; i < size; i++) {
            assert_int_equal(active[i], expected[i] - '0');
            turns[active[i]]++;
        }
    }
    int full = 1;
    for (uint32_t i = 0; i < AGENTS; i++) {
        assert_true(fplt__participation_rate(rule, i) == turns[i] / (double)(3 * count));
        full &= turns[i] == (double)(3 * count);
    }
    assert_int_equal(fplt__participation_is_full(rule), full);
    fplt_participation_destroy(rule);
}

#define ROUNDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void good_files(void **state)
{
    (void)state;
    plays("0 1 2\n3,4\n", ROUNDS("012", "34"));
    plays("0 1 2\n3,4", ROUNDS("012", "34"));
    plays("4 3 2 1 0\r\n\t2 ,, 1\r\n", ROUNDS("01234", "12"));
    plays("# hospitals\n0\n\n1 # the second\n  # nothing\n", ROUNDS("0", "", "1"));
    plays("\n", ROUNDS(""));
    plays("\n\n3\n", ROUNDS("", "", "3"));
    plays("0 1 2 3 4\n1 2 3 4 0", ROUNDS("01234", "01234"));
    plays("0003#4\n", ROUNDS("3"));
}

static void refused(const char *text, size_t size, const char *line, const char *part)
{
    temporary file = temporary_file(text, size);
    fplt_participation_settings settings = {.rule = "trace", .trace = file.path};
    fplt_error error;
    fplt_participation *rule;
    assert_int_equal(fplt_participation_create(&settings, AGENTS, &rule, &error), FPLT_BAD_DATA);
    unlink(file.path);
    assert_null(rule);
    char start[300];
    snprintf(start, sizeof start, "%s:%s", file.path, line);
    assert_int_equal(strncmp(error.text, start, strlen(start)), 0);
    assert_contains(error.text, part);
}

static void bad_files(void **state)
{
    (void)state;
    refused("", 0, " ", "no round");
    refused("# only\n#comments", 16, " ", "no round");
    refused("0 1\n2 5\n", 8, "2: ", "agent 5 is out of range, agents are numbered from 0 to 4");
    refused("\n99999999999999999999999999\n", 28, "2: ", "out of range");
    refused("18446744073709551617", 20, "1: ", "out of range"); /* 2^64 + 1 */
    refused("4294967296", 10, "1: ", "agent 4294967296 is out of range");
    refused("# c\n0 -1\n", 9, "2: ", "'-1' is not a number");
    refused("0 1.5\n", 6, "1: ", "'1.5' is not a number");
    refused("0;1\n", 4, "1: ", "'0;1' is not a number");
    refused("0\nzwei\n", 7, "2: ", "'zwei' is not a number");
    refused("0 1\n2\n3 1 3\n", 12, "3: ", "agent 3 is listed twice");
    refused("0 \0 1\n", 6, "1: ", "is not a number");
}

static void files_that_are_not_there(void **state)
{
    (void)state;
    fplt_participation_settings settings = {.rule = "trace", .trace = "no/such/file.txt"};
    fplt_error error;
    fplt_participation *rule;
    assert_int_equal(fplt_participation_create(&settings, AGENTS, &rule, &error), FPLT_IO);
    assert_contains(error.text, "no/such/file.txt: cannot be opened: No such file");
    settings.trace = "tests";
    assert_int_equal(fplt_participation_create(&settings, AGENTS, &rule, &error), FPLT_IO);
    assert_contains(error.text, "tests: cannot be read");
}

static void a_long_trace_and_failing_memory(void **state)
{
    (void)state;
    static char text[400000];
    size_t used = 0;
    for (int round = 0; round < 40000; round++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d %d\n", round % AGENTS,
                                 (round + 2) % AGENTS);
    fplt_participation *rule = from_text(text, used);
    for (uint32_t i = 0; i < AGENTS; i++)
        assert_true(fplt__participation_rate(rule, i) == 0.4);
    uint32_t active[AGENTS];
    assert_int_equal(
        fplt_participation_choose(rule, 0, 0, 40000 * UINT64_C(1000000000) + 39999, active), 2);
    assert_true(active[0] == 1 && active[1] == 4);
    fplt_participation_destroy(rule);

    temporary file = temporary_file(text, used);
    fplt_participation_settings settings = {.rule = "trace", .trace = file.path};
    survives_failing_allocations(
        {
            if (!(status = fplt_participation_create(&settings, AGENTS, &rule, NULL)))
                fplt_participation_destroy(rule);
        },
        6);
    unlink(file.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(files_that_are_not_there),
        cmocka_unit_test(a_long_trace_and_failing_memory),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
