/* What agents and coordinator agree on about HTTP: routes, the session header, limits of answers. */
#include "testing.h"

#include "federation/plan/routes.h"
#include "wire/message.h"

static void every_kind_has_a_route(void **state)
{
    (void)state;
    for (int kind = FPLT__JOIN; kind <= FPLT__MODEL; kind++) {
        const fplt__route *route = fplt__route_of((fplt__request_kind)kind);
        assert_non_null(route);
        assert_int_equal(route->kind, kind);
        assert_ptr_equal(fplt__route_find(route->method, route->path), route);
        assert_string_equal(fplt__route_method(route->path), route->method);
        assert_null(fplt__route_find("PATCH", route->path));
    }
    assert_null(fplt__route_find("GET", "/v1/nothing"));
    assert_null(fplt__route_method("/v1/nothing"));
    assert_true(fplt__route_find("GET", "/v1/federation")->is_static);
}

static void session_header_is_read_as_written(void **state)
{
    static const uint64_t numbers[] = {0, 1, 4294967296, UINT64_MAX};
    static const char *const malformed[] = {"",
                                            "1",
                                            "1.",
                                            ".1",
                                            "a.1",
                                            "1.a",
                                            "-1.1",
                                            "1.-1",
                                            "1.1 ",
                                            " 1.1",
                                            "1.1.1",
                                            "+1.1",
                                            "000000000000000000001.00000000000000000001"};
    char text[FPLT__SESSION_TEXT];
    uint64_t session, sequence;
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            fplt__session_text(numbers[i], numbers[j], text);
            assert_true(fplt__session_read(text, &session, &sequence));
            assert_true(session == numbers[i] && sequence == numbers[j]);
        }
    assert_false(fplt__session_read(NULL, &session, &sequence));
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        assert_false(fplt__session_read(malformed[i], &session, &sequence));
}

/* A verdict, a closing vector and a question of one vector each fit. */
static void answer_limits_grow_with_the_plan(void **state)
{
    (void)state;
    assert_int_equal(fplt__answer_limit(FPLT__JOIN, 1000), FPLT__MESSAGE_LIMIT);
    for (uint64_t dimension = 1; dimension < 100000000; dimension *= 10)
        assert_true(fplt__answer_limit(FPLT__NEXT, dimension) >=
                    3 * 8 * dimension + 2 * FPLT__MESSAGE_LIMIT);
    assert_true(fplt__answer_limit(FPLT__NEXT, 0) > fplt__answer_limit(FPLT__NEXT, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_route),
        cmocka_unit_test(session_header_is_read_as_written),
        cmocka_unit_test(answer_limits_grow_with_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
