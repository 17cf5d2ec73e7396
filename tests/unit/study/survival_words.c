/* Survival curves from numbers that sites tell, beside those of one process; and numbers that cannot be. */
#include "testing.h"
#include "failing.h"
#include "temporary.h"

#include "base/memory.h"
#include "data/schema_access.h"
#include "fedplt/memory.h"
#include "fedplt/random.h"
#include "study/survival_words.h"

enum { SITES = 3, CELLS = 41 };

static const char schema_text[] = "columns:\n"
                                  "  arm: {type: category, levels: [b, a, c, d]}\n"
                                  "  days: {type: time, bounds: 1..2000}\n"
                                  "  died: {type: event, classes: [no, yes]}\n";

struct network {
    temporary file[SITES];
    const char *path[SITES];
    fplt_schema *schema;
    fplt_read_settings read;
    fplt_survival_settings settings;
    uint64_t *words[SITES];
};

/* The second site has three rows of an arm, nobody has the fourth; some times are beyond the bound. */
static void enter_network(struct network *net, int with_arms)
{
    fplt_stream random = fplt_stream_make(9, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_error error;
    static char text[40000];
    assert_ok(fplt__schema_parse(schema_text, strlen(schema_text), "schema", &net->schema, &error),
              error);
    net->read = (fplt_read_settings){
        .format = "csv", .schema = net->schema, .site = "none", .leave_out = 1};
    net->settings = (fplt_survival_settings){.read = &net->read,
                                             .by = with_arms ? "arm" : NULL,
                                             .grid = "50",
                                             .minimum = 5,
                                             .level = 0.95};
    for (int s = 0; s < SITES; s++) {
        size_t used = (size_t)snprintf(text, sizeof text, "arm,days,died\n");
        for (int i = 0; i < 100 + 60 * s; i++) {
            double event = -600 * log(1 - fplt_stream_uniform(&random)),
                   end = 100 + 2200 * fplt_stream_uniform(&random);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s,%.0f,%s\n",
                                     s == 1 && i < 3 ? "c"
                                     : i % 2         ? "a"
                                                     : "b",
                                     fmin(event, end), event <= end ? "yes" : "no");
        }
        net->file[s] = temporary_file(text, used);
        net->path[s] = net->file[s].path;
    }
}

static void leave_network(struct network *net)
{
    for (int s = 0; s < SITES; s++) {
        unlink(net->path[s]);
        free(net->words[s]);
    }
    fplt_schema_destroy(net->schema);
}

static void tell_all(struct network *net)
{
    fplt_error error;
    for (int s = 0; s < SITES; s++) {
        fplt_survival *survival;
        net->words[s] = calloc(2 * fplt__survival_sent(&net->settings), sizeof(uint64_t));
        assert_ok(fplt_survival_create(&net->path[s], 1, &net->settings, &survival, &error), error);
        fplt__survival_export(survival, net->words[s]);
        fplt_survival_destroy(survival);
    }
}

static char *reported(const fplt_survival *survival, fplt__form form)
{
    fplt_error error;
    char *text;
    assert_ok(fplt__survival_report(survival, form, &text, &error), error);
    return text;
}

/* Every table and note of one process, with and without a minimum and strata. */
static void told_curves_are_those_of_one_process(void **state)
{
    (void)state;
    for (int with_arms = 0; with_arms < 2; with_arms++)
        for (size_t minimum = 0; minimum <= 5; minimum += 5) {
            struct network net = {.schema = NULL};
            fplt_survival *one, *all;
            fplt_error error;
            enter_network(&net, with_arms);
            net.settings.minimum = minimum;
            assert_ok(fplt__survival_check(&net.settings, &error), error);
            assert_int_equal(fplt__survival_sent(&net.settings),
                             7 + (with_arms ? 4 : 1) * (1 + 4 * CELLS));
            tell_all(&net);
            assert_ok(fplt_survival_create(net.path, SITES, &net.settings, &one, &error), error);
            assert_ok(fplt__survival_import(&net.settings, net.path,
                                            (const uint64_t *const *)net.words, SITES, &all,
                                            &error),
                      error);
            assert_int_equal(fplt__survival_strata(all), with_arms ? 4 : 1);
            for (fplt__form form = FPLT__FORM_TEXT; form <= FPLT__FORM_LATEX; form++) {
                char *expected = reported(one, form), *found = reported(all, form);
                assert_string_equal(found, expected);
                fplt_free(expected);
                fplt_free(found);
            }
            if (with_arms && minimum) {
                char *text = reported(all, FPLT__FORM_TEXT);
                assert_contains(text, "stratum 'c': the curve is withheld");
                fplt_free(text);
            }
            fplt_survival_destroy(one);
            fplt_survival_destroy(all);
            leave_network(&net);
        }
}

/* Rows of a stratum that is withheld are in no curve. */
static void withheld_rows_stand_aside(void **state)
{
    struct network net = {.schema = NULL};
    fplt_survival *survival;
    unsigned char *aside;
    size_t rows, count = 0;
    fplt_error error;
    (void)state;
    enter_network(&net, 1);
    assert_ok(fplt_survival_create(&net.path[1], 1, &net.settings, &survival, &error), error);
    assert_ok(fplt__survival_aside(survival, &aside, &rows, &error), error);
    assert_int_equal(rows, 160);
    for (size_t r = 0; r < rows; r++)
        count += aside[r];
    assert_int_equal(count, 3);
    assert_true(aside[0] && aside[1] && aside[2]);
    fplt__free(aside);
    fplt_survival_destroy(survival);
    leave_network(&net);
}

/* Number of the first word of a stratum's cells that is not 0: the cells of a step. */
static size_t first_step(const uint64_t *words, size_t stratum)
{
    size_t at = 7 + stratum * (1 + 4 * CELLS) + 1;
    while (!words[2 * at + 1])
        at++;
    return at;
}

/* Numbers that no site tells are refused, with its name. */
static void told_counts_that_cannot_be(void **state)
{
    struct network net = {.schema = NULL};
    fplt_survival *all;
    fplt_error error = {FPLT_OK, ""};
    (void)state;
    enter_network(&net, 1);
    tell_all(&net);
    size_t step = first_step(net.words[0], 0), second = step + 4;
    while (!net.words[0][2 * second + 1])
        second += 4;
    const struct {
        size_t place;
        uint64_t low, high;
    } lies[] = {{0, 1, 5},                                     /* a count of two words */
                {0, 0, UINT64_MAX},                            /* a minimum of more than all */
                {1, 0, 9},                                     /* an interval without values */
                {7, 0, 4},                                     /* a state */
                {7, 0, 0},                                     /* not there, with steps */
                {7, 0, 3},                                     /* withheld, with steps */
                {7 + 2 * 165, 0, 1},                           /* there, without steps */
                {step, 0, 0},                                  /* events in no cell */
                {step, 0, 41},                                 /* cells before the first */
                {second, 0, net.words[0][2 * second + 1] + 1}, /* a cell that is told already */
                {step + 1, 0, 4},                              /* fewer than the minimum */
                {step + 1, 0, 0},                              /* cells without events */
                {step + 1, 0, (uint64_t)1 << 53}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint64_t *at = net.words[0] + 2 * lies[i].place, held[2] = {at[0], at[1]};
        at[0] = lies[i].low;
        at[1] = lies[i].high;
        if (fplt__survival_import(&net.settings, net.path, (const uint64_t *const *)net.words,
                                  SITES, &all, &error) != FPLT_BAD_DATA)
            fail_msg("lie %zu passes", i);
        assert_contains(error.text, net.path[0]);
        at[0] = held[0];
        at[1] = held[1];
    }
    leave_network(&net);
}

static struct network told;

static fplt_status import_and_report(fplt_error *error)
{
    fplt_survival *all;
    char *text = NULL;
    fplt_status status =
        fplt__survival_import(&told.settings, told.path, (const uint64_t *const *)told.words, SITES,
                              &all, error);
    if (!status)
        status = fplt__survival_report(all, FPLT__FORM_HTML, &text, error);
    fplt_free(text);
    fplt_survival_destroy(all);
    return status;
}

static void allocations_may_fail(void **state)
{
    fplt_error error;
    (void)state;
    enter_network(&told, 1);
    tell_all(&told);
    survives_failing_allocations(status = import_and_report(&error), 20);
    leave_network(&told);
}

/* Settings that do not fix the numbers. */
static void settings_that_cannot_be(void **state)
{
    static const struct {
        const char *by, *grid, *sentence;
    } wrong[] = {{"days", "50", "by: is 'days'"},
                 {"died", "50", "and not the event"},
                 {"site", "50", "by: is 'site'"},
                 {NULL, "50,100", "grid: is 50,100, but must be the width"},
                 {NULL, "0.9", "at most 1999 cells up to 2000, the bound of 'days'"},
                 {NULL, NULL, "grid: is not given"},
                 {NULL, "x", "grid: 'x' is not a number"}};
    struct network net = {.schema = NULL};
    fplt_error error;
    (void)state;
    enter_network(&net, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        net.settings.by = wrong[i].by;
        net.settings.grid = wrong[i].grid;
        assert_int_equal(fplt__survival_check(&net.settings, &error), FPLT_BAD_VALUE);
        assert_contains(error.text, wrong[i].sentence);
    }
    assert_near(fplt__survival_width(net.schema), 50, 0);
    leave_network(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_curves_are_those_of_one_process),
        cmocka_unit_test(withheld_rows_stand_aside),
        cmocka_unit_test(told_counts_that_cannot_be),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(settings_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
