/* A question to every agent on several threads: each is asked once, and the first that fails is told. */
#include "testing.h"

#include <stdatomic.h>

#include "engine/agents_map.h"

enum { COUNT = 5000 };

struct asked {
    atomic_int times[COUNT];
    uint32_t bad, worse; /* two that fail */
};

static fplt_status ask(void *context, uint32_t index, fplt_error *error)
{
    struct asked *asked = context;
    atomic_fetch_add(&asked->times[index], 1);
    if (index == asked->bad || index == asked->worse)
        return fplt_error_set(error, FPLT_BAD_DATA, "number %u", index);
    return FPLT_OK;
}

static void everyone_once(void **state)
{
    (void)state;
    static struct asked asked;
    fplt_error error;
    for (unsigned threads = 1; threads <= 8; threads++) {
        asked = (struct asked){.bad = COUNT, .worse = COUNT};
        assert_int_equal(fplt__parallel_map(COUNT, threads, ask, &asked, &error), FPLT_OK);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(atomic_load(&asked.times[i]), 1);
    }
    assert_int_equal(fplt__parallel_map(0, 4, ask, &asked, &error), FPLT_OK);
}

static void the_first_failure_is_told(void **state)
{
    (void)state;
    static struct asked asked;
    fplt_error error;
    for (uint32_t trial = 0; trial < 400; trial++) {
        uint32_t bad = trial * 12, worse = bad + 1 + trial % 3;
        asked = (struct asked){.bad = bad, .worse = worse};
        char wanted[32];
        snprintf(wanted, sizeof wanted, "number %u", bad);
        assert_int_equal(fplt__parallel_map(COUNT, 1 + trial % 4, ask, &asked, &error),
                         FPLT_BAD_DATA);
        assert_string_equal(error.text, wanted);
    }
    assert_int_equal(fplt__parallel_map(COUNT, 2, ask, &asked, NULL), FPLT_BAD_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_once),
        cmocka_unit_test(the_first_failure_is_told),
    };
    return cmocka_run_group_tests_name("each", tests, NULL, NULL);
}
