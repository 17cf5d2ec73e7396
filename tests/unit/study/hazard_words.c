/* The test of proportional hazards from sums that sites tell, beside that of one process; and sums that cannot be. */
#include "testing.h"
#include "failing.h"

#include <jansson.h>

#include "base/memory.h"
#include "fedplt/inference.h"
#include "fedplt/random.h"
#include "fedplt/transform.h"
#include "report/table.h"
#include "study/hazard_words.h"

enum { SITES = 3, OWN = 60, ROWS = SITES * OWN, COLUMNS = 3, NUMBERS = 3 + 1 + 2 * 3 + 3 * 6 };

static const char *const site[SITES] = {"basel", "bern", "chur"};

static struct {
    double x[ROWS * COLUMNS], label[ROWS];
    fplt_dataset *dataset;
    fplt_model *model;
    uint64_t words[SITES][2 * NUMBERS];
    const uint64_t *told[SITES];
} w;

static fplt_model *model_of(const double *weights)
{
    static const char *const names[] = {"x", "g=a", "g=b"};
    const fplt_transform transform = {.features = COLUMNS};
    fplt_model *model;
    fplt_error error;
    const fplt_model_info info = {.task = FPLT_TASK_SURVIVAL,
                                  .loss = "cox",
                                  .features = COLUMNS,
                                  .feature_names = names,
                                  .transform = &transform,
                                  .weights = weights,
                                  .dimension = COLUMNS,
                                  .program = "test",
                                  .ties = "efron"};
    assert_ok(fplt_model_create(&info, &model, &error), error);
    return model;
}

/* Levels a and b together are a sum of columns that is constant. */
static int enter(void **state)
{
    fplt_stream random = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    const size_t count[SITES] = {OWN, OWN, OWN};
    const double zero[COLUMNS] = {0};
    fplt_error error;
    (void)state;
    for (size_t r = 0; r < ROWS; r++) {
        double *x = &w.x[COLUMNS * r],
               time = 1 + floor(-300 * log(1 - fplt_stream_uniform(&random)));
        x[0] = fplt_stream_uniform(&random) - 0.5 + time / 1000;
        x[1] = fplt_stream_uniform(&random) < 0.4;
        x[2] = 1 - x[1];
        w.label[r] = fplt_stream_uniform(&random) < 0.6 ? time : -time;
    }
    const fplt_rows rows = {.count = ROWS, .features = COLUMNS, .dense = w.x, .label = w.label};
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_SURVIVAL, count, SITES, &w.dataset, &error),
              error);
    fplt_model *start = model_of(zero);
    assert_ok(fplt_model_infer(start, w.dataset, 1, &w.model, &error), error);
    fplt_model_destroy(start);
    for (int i = 0; i < SITES; i++)
        w.told[i] = w.words[i];
    return 0;
}

static int leave(void **state)
{
    (void)state;
    fplt_dataset_destroy(w.dataset);
    fplt_model_destroy(w.model);
    return 0;
}

static void tell_all(const fplt_model *model, fplt_hazard_transform transform,
                     const fplt__hazard_rules *rules)
{
    fplt_error error;
    assert_int_equal(fplt__hazard_sent(COLUMNS), NUMBERS);
    for (uint32_t i = 0; i < SITES; i++) {
        const fplt_rows rows = fplt_dataset_shard(w.dataset, i);
        assert_ok(fplt__hazard_export(model, &rows, transform, rules, w.words[i], &error), error);
    }
}

static void same_tables(const fplt_table *a, const fplt_table *b, double tolerance)
{
    json_t *one = fplt__table_json(a), *two = fplt__table_json(b), *line;
    size_t i;
    assert_int_equal(json_array_size(one), json_array_size(two));
    json_array_foreach(one, i, line)
    {
        const json_t *other = json_array_get(two, i);
        assert_string_equal(json_string_value(json_object_get(line, "name")),
                            json_string_value(json_object_get(other, "name")));
        assert_true(
            json_equal(json_object_get(line, "freedom"), json_object_get(other, "freedom")));
        assert_close(json_number_value(json_object_get(line, "chi_squared")),
                     json_number_value(json_object_get(other, "chi_squared")), tolerance);
    }
    json_decref(one);
    json_decref(two);
}

static void told_tests_are_those_of_one_process(void **state)
{
    const fplt__hazard_rules strict = {5, 3, 0.25, 8, 0.05};
    (void)state;
    for (int transform = FPLT_HAZARD_IDENTITY; transform <= FPLT_HAZARD_LOG; transform++)
        for (int columns = 0; columns < 2; columns++) {
            fplt__hazard_tests tests = {.table = NULL};
            fplt_table *expected;
            fplt_error error;
            tell_all(w.model, (fplt_hazard_transform)transform, &strict);
            assert_ok(fplt__hazard_import(w.model, (fplt_hazard_transform)transform, columns, site,
                                          w.told, SITES, &tests, &error),
                      error);
            assert_ok(fplt_hazard_test(w.model, w.dataset, (fplt_hazard_transform)transform,
                                       columns, &expected, &error),
                      error);
            same_tables(tests.table, expected, 1e-11);
            assert_null(fplt__notes_get(&tests.notes, 0));
            fplt_table_destroy(expected);
            fplt__hazard_tests_clear(&tests);
        }
}

/* Away from the maximum the score is corrected: nearer than without, and a note says so. */
static void a_model_beside_the_maximum_is_corrected(void **state)
{
    const fplt__hazard_rules none = {.minimum = 0};
    const double *at = fplt_model_get_view(w.model)->weights;
    const double beside[COLUMNS] = {at[0] + 0.2, at[1], at[2]};
    fplt_model *model = model_of(beside);
    fplt__hazard_tests tests = {.table = NULL};
    fplt_table *expected;
    fplt_error error;
    (void)state;
    tell_all(model, FPLT_HAZARD_IDENTITY, &none);
    assert_ok(fplt__hazard_import(model, FPLT_HAZARD_IDENTITY, 0, site, w.told, SITES, &tests,
                                  &error),
              error);
    assert_ok(fplt_hazard_test(w.model, w.dataset, FPLT_HAZARD_IDENTITY, 0, &expected, &error),
              error);
    same_tables(tests.table, expected, 0.1);
    assert_contains(fplt__notes_get(&tests.notes, 0), "not at the maximum");
    fplt_table_destroy(expected);
    fplt__hazard_tests_clear(&tests);
    fplt_model_destroy(model);
}

/* Few events, few others and an event that dominates: nothing of the site is told but that. */
static void rules_keep_sums_at_the_site(void **state)
{
    static const struct {
        fplt__hazard_rules rules;
        const char *note;
    } kept[] = {{{50, 0, 0}, "too few events"},
                {{0, 20, 0}, "too few events"},
                {{0, 0, 0.01}, "too large a share"},
                {{0, 0, 0, 1e-9, 0.05}, "the model is too steep"}};
    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const fplt__hazard_rules none = {.minimum = 0};
        fplt__hazard_tests tests = {.table = NULL};
        fplt_rows rows = fplt_dataset_shard(w.dataset, 1);
        fplt_error error;
        tell_all(w.model, FPLT_HAZARD_IDENTITY, &none);
        assert_ok(fplt__hazard_export(w.model, &rows, FPLT_HAZARD_IDENTITY, &kept[i].rules,
                                      w.words[1], &error),
                  error);
        for (size_t k = 2; k < 2 * NUMBERS; k++)
            assert_int_equal(w.words[1][k], 0);
        assert_ok(fplt__hazard_import(w.model, FPLT_HAZARD_IDENTITY, 0, site, w.told, SITES, &tests,
                                      &error),
                  error);
        assert_contains(fplt__notes_get(&tests.notes, 0), "site 'bern' is left out");
        assert_contains(fplt__notes_get(&tests.notes, 0), kept[i].note);
        fplt__hazard_tests_clear(&tests);
        tell_all(w.model, FPLT_HAZARD_IDENTITY, &kept[i].rules);
        assert_int_equal(fplt__hazard_import(w.model, FPLT_HAZARD_IDENTITY, 0, site, w.told, SITES,
                                             &tests, &error),
                         FPLT_BAD_DATA);
        fplt__hazard_tests_clear(&tests);
    }
}

static void told_sums_that_cannot_be(void **state)
{
    enum { V = 4 + 2 * COLUMNS, GGV = V + 12 };
    static const struct {
        size_t place;
        uint64_t low, high;
    } lies[] = {{0, 0, 3},                 /* a state */
                {0, 0, 1},                 /* withheld, with sums */
                {1, 0, 1},                 /* more events than rows */
                {2, 0, 0},                 /* sums without events */
                {2, 1, 5},                 /* a count of two words */
                {3, 0, (uint64_t)1 << 62}, /* out of range */
                {V, 0, UINT64_MAX},        /* a variance below 0 */
                {V + 1, 0, 1 << 20},       /* a covariance above the variances */
                {V + 6, 0, 1 << 30},       /* g V above the root of V and g^2 V */
                {GGV, 0, 0}};              /* g^2 V below what g V needs */
    const fplt__hazard_rules none = {.minimum = 0};
    fplt_error error;
    (void)state;
    tell_all(w.model, FPLT_HAZARD_IDENTITY, &none);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        fplt__hazard_tests tests = {.table = NULL};
        uint64_t *at = w.words[2] + 2 * lies[i].place, held[2] = {at[0], at[1]};
        at[0] = lies[i].low;
        at[1] = lies[i].high;
        if (fplt__hazard_import(w.model, FPLT_HAZARD_IDENTITY, 0, site, w.told, SITES, &tests,
                                &error) != FPLT_BAD_DATA)
            fail_msg("lie %zu passes", i);
        assert_contains(error.text, "site 'chur' sent counts or sums that no rows can have");
        fplt__hazard_tests_clear(&tests);
        at[0] = held[0];
        at[1] = held[1];
    }
}

static fplt_status import_and_report(fplt_error *error)
{
    fplt__hazard_tests tests = {.table = NULL};
    char *text = NULL;
    fplt_status status =
        fplt__hazard_import(w.model, FPLT_HAZARD_IDENTITY, 0, site, w.told, SITES, &tests, error);
    if (!status)
        status = fplt__hazard_tests_report(&tests, FPLT__FORM_HTML, &text, error);
    fplt_free(text);
    fplt__hazard_tests_clear(&tests);
    return status;
}

static void allocations_may_fail(void **state)
{
    const fplt__hazard_rules none = {.minimum = 0};
    fplt_error error;
    (void)state;
    tell_all(w.model, FPLT_HAZARD_IDENTITY, &none);
    survives_failing_allocations(status = import_and_report(&error), 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_tests_are_those_of_one_process),
        cmocka_unit_test(a_model_beside_the_maximum_is_corrected),
        cmocka_unit_test(rules_keep_sums_at_the_site),
        cmocka_unit_test(told_sums_that_cannot_be),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
