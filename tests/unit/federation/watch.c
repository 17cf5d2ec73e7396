/* The callbacks of a coordinator and of an agent: a table that was made with other headers is refused. */
#include <signal.h>

#include "testing.h"

#include "fedplt/federation.h"

typedef fplt_status (*run)(const fplt_settings *, const fplt_federation_watch *,
                           fplt_federation_outcome *, fplt_error *);

static void another_size_is_refused(void **state)
{
    (void)state;
    static const run runs[] = {fplt_federation_lead, fplt_federation_take_part};
    static const size_t sizes[] = {0, sizeof(fplt_federation_watch) - sizeof(void *),
                                   sizeof(fplt_federation_watch) + sizeof(void *)};
    fplt_settings *settings;
    fplt_federation_outcome outcome;
    fplt_error error;
    assert_ok(fplt_settings_create(&settings, &error), error);
    signal(SIGPIPE, SIG_DFL);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < 3; i++) {
            fplt_federation_watch watch = {.size = sizes[i]};
            error.text[0] = 0;
            assert_int_equal(runs[r](settings, &watch, &outcome, &error), FPLT_BAD_VALUE);
            assert_non_null(strstr(error.text, "fplt_federation_watch"));
            assert_int_equal(outcome.finished, 0);
        }
    assert_ptr_equal(signal(SIGPIPE, SIG_DFL), SIG_DFL); /* nothing was begun */
    fplt_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_size_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
