/* What every test file includes: cmocka in the order it wants, and a few helpers. */
#ifndef FPLT_TESTS_TESTING_H
#define FPLT_TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drawn.h"
#include "fedplt/status.h"

#define GOLDEN "tests/golden"
#define SHARED "../shared"

/* What cmocka's macros call: as cmocka does, with skipped cases in the form TAP wants. */
int testing_run(const char *name, const struct CMUnitTest *tests, size_t count,
                CMFixtureFunction setup, CMFixtureFunction teardown);
#define _cmocka_run_group_tests testing_run

/* Fails with the sentence of the error. */
#define assert_ok(call, error)                                                      \
    do {                                                                            \
        fplt_status status_ = (call);                                               \
        if (status_)                                                                \
            fail_msg("%s: %s: %s", #call, fplt_status_name(status_), (error).text); \
    } while (0)

#define assert_near(a, b, tolerance)                                                           \
    do {                                                                                       \
        double a_ = (a), b_ = (b), tolerance_ = (tolerance);                                   \
        if (!(fabs(a_ - b_) <= tolerance_))                                                    \
            fail_msg("%s = %.17g is not within %g of %s = %.17g", #a, a_, tolerance_, #b, b_); \
    } while (0)

/* Tolerance relative to the larger magnitude; what is infinite is close to itself alone. */
#define assert_close(a, b, tolerance)                                  \
    do {                                                               \
        double x_ = (a), y_ = (b);                                     \
        if (isinf(x_) || isinf(y_))                                    \
            assert_true(x_ == y_);                                     \
        else                                                           \
            assert_near(x_, y_, (tolerance)*fmax(fabs(x_), fabs(y_))); \
    } while (0)

#define assert_contains(text, part)                                 \
    do {                                                            \
        if (!strstr((text), (part)))                                \
            fail_msg("'%s' does not contain '%s'", (text), (part)); \
    } while (0)

/* Whether a kernel that was named is missing: on this machine, or on every one of another processor. */
#if defined(__x86_64__)
#define lacks_kernel(status) ((status) == FPLT_UNSUPPORTED)
#else
#define lacks_kernel(status) ((status) == FPLT_UNSUPPORTED || (status) == FPLT_BAD_VALUE)
#endif

/* Skips the test, saying why, where a file of ../shared is absent. */
#define need_file(path)                                          \
    do {                                                         \
        if (access((path), R_OK) != 0) {                         \
            print_message("skipped: %s is not there\n", (path)); \
            skip();                                              \
        }                                                        \
    } while (0)

#endif
