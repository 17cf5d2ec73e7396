/* Table 1 with privacy: what one row can change, how much noise there is, and whether intervals hold the numbers without noise. */
#include "testing.h"
#include "failing.h"
#include "temporary.h"

#include <math.h>

#include "fedplt/memory.h"
#include "fedplt/random.h"
#include "fedplt/schema.h"
#include "privacy/conversion.h"
#include "study/private_table.h"
#include "study/table_one.h"

static const char declared[] = "columns:\n"
                               "  age: {type: number, bounds: 20..100, missing: centre}\n"
                               "  sex: {type: category, levels: [f, m]}\n"
                               "  site: site\n"
                               "  who: {type: label, classes: [a, b]}\n";

struct fixture {
    fplt_schema *schema;
    fplt_read_settings read;
    fplt_describe_settings settings;
};

static struct fixture open_fixture(const char *by, uint32_t cells)
{
    struct fixture made = {.read = {.format = "csv", .leave_out = 1}};
    fplt_error error;
    temporary file = temporary_file(declared, strlen(declared));
    assert_ok(fplt_schema_read(file.path, &made.schema, &error), error);
    unlink(file.path);
    made.settings = (fplt_describe_settings){.by = by, .cells = cells};
    return made;
}

/* The settings point into the fixture, wherever it lies by now. */
static const fplt_describe_settings *settings_of(struct fixture *fixture)
{
    fixture->read.schema = fixture->schema;
    fixture->settings.read = &fixture->read;
    return &fixture->settings;
}

static fplt_description *describe(struct fixture *fixture, const char *text)
{
    fplt_description *table;
    fplt_error error;
    assert_ok(fplt_describe_text("rows", text, strlen(text), settings_of(fixture), &table, &error),
              error);
    return table;
}

/* ---- what one row changes ---- */

/* A row with every kind of value: number ages[a], sex, stratum; the first of each is missing. */
static const char *const ages[] = {"", "20", "54.142136", "60", "100", "250"};
static const char *const sexes[] = {"", "f", "m", "x"};
static const char *const strata[] = {"", "a", "b"};
enum { AGES = 6, SEXES = 4, STRATA = 3, ROWS = AGES * SEXES * STRATA };

static void tell_row(struct fixture *fixture, const fplt__private_scale *scale, size_t row,
                     int64_t *numbers)
{
    char text[300];
    fplt_error error;
    snprintf(text, sizeof text, "age,sex,site,who\n55,m,n,b\n%s,%s,n,%s\n30,f,n,a\n",
             ages[row % AGES], sexes[row / AGES % SEXES], strata[row / AGES / SEXES]);
    fplt_description *table = describe(fixture, text);
    assert_ok(fplt__private_tell(table, 1, scale, NULL, numbers, &error), error);
    fplt_description_destroy(table);
}

/* The deviation of each number, in its place: groups, columns in the order of the schema, sums behind counts. */
static void fill_deviations(const fplt__private_scale *scale, size_t groups, size_t cells,
                            int has_label, double *deviation)
{
    size_t at = 0;
    for (size_t i = 0; i < (groups > 1 ? groups : 0) + groups * (cells + 1); i++)
        deviation[at++] = scale->count.deviation;
    for (size_t g = 0; g < groups; g++) {
        deviation[at++] = scale->first.deviation;
        deviation[at++] = scale->second.deviation;
    }
    for (size_t i = 0; i < groups * 3 * (has_label ? 2 : 1); i++)
        deviation[at++] = scale->count.deviation;
}

/* Of all pairs of rows, the largest cost of telling them apart is what the scale says, and nearly so much is reached. */
static void check_sensitivity(const char *by, double reached)
{
    struct fixture fixture = open_fixture(by, 8);
    fplt__private_scale scale;
    fplt_error error;
    double most = 0, deviation[400];
    assert_ok(fplt__private_scale_find(settings_of(&fixture), 1.5, 1e-6, &scale, &error), error);
    size_t count = (size_t)fplt__private_numbers(&fixture.settings);
    static int64_t numbers[ROWS][400];
    assert_true(count < 400);
    fill_deviations(&scale, by ? 3 : 1, 8, !by, deviation);
    for (size_t row = 0; row < ROWS; row++)
        tell_row(&fixture, &scale, row, numbers[row]);
    for (size_t a = 0; a < ROWS; a++)
        for (size_t b = 0; b < a; b++) {
            double cost = 0;
            for (size_t i = 0; i < count; i++) {
                double change = (double)(numbers[a][i] - numbers[b][i]) / deviation[i];
                cost += change * change / 2;
            }
            most = fmax(most, cost);
        }
    assert_true(most <= scale.rate);
    assert_true(most >= reached * scale.rate);
    assert_true(fplt__rate_epsilon(FPLT_CONVERT_TIGHT, scale.rate, log(1e-6)) <= 1.5 * (1 + 1e-9));
    assert_true(fplt__rate_epsilon(FPLT_CONVERT_TIGHT, scale.rate, log(1e-6)) > 1.49);
    fplt_schema_destroy(fixture.schema);
}

static void one_row_changes_as_much_as_is_charged(void **state)
{
    (void)state;
    check_sensitivity(NULL, 0.998);
    check_sensitivity("who", 0.93); /* rows of two strata move sums less than rows of one */
}

/* ---- estimates ---- */

/* Rows of two sites, normal ages, gaps. */
static char *make_rows(size_t count)
{
    fplt_stream random = fplt_stream_make(7, 0, FPLT_FOR_TEST, 0, 0, 0);
    char *text = malloc(64 * count + 100);
    size_t used = (size_t)sprintf(text, "age,sex,site,who\n");
    for (size_t i = 0; i < count; i++) {
        double age = 55 + 12 * fplt_stream_normal(&random);
        used +=
            (size_t)sprintf(text + used, i % 11 == 3 ? ",%s,%s,%s\n" : "%4$.2f,%1$s,%2$s,%3$s\n",
                            i % 3 ? "f" : "m", i % 4 ? "n" : "s",
                            i % 13 == 5 ? ""
                            : i % 5     ? "a"
                                        : "b",
                            age);
    }
    return text;
}

/* With hardly any noise the estimates are the numbers of the table without noise. */
static void without_noise_the_numbers_are_exact(void **state)
{
    struct fixture fixture = open_fixture("who", 40);
    char *text = make_rows(600);
    fplt__private_table *made;
    fplt__private_scale scale;
    fplt_error error;
    (void)state;
    fplt_description *table = describe(&fixture, text);
    assert_ok(fplt__private_scale_find(&fixture.settings, 1e6, 1e-6, &scale, &error), error);
    assert_ok(fplt__private_table_make(table, &scale, NULL, &made, &error), error);
    assert_int_equal(fplt__private_columns(made), 2);
    assert_int_equal(fplt__private_strata(made), 3);
    for (size_t s = 0; s < 3; s++)
        for (size_t k = 0; k < 3; k++) {
            fplt__table_one_number number = fplt__table_one_numbers(table, 0, s, k);
            assert_near(fplt__private_rows(made, s, k).value,
                        (double)fplt__table_one_rows(table, s, k).low, 0);
            assert_near(fplt__private_find(made, 0, FPLT__PRIVATE_MEAN, s, k).value, number.mean,
                        0.01);
            assert_near(fplt__private_find(made, 0, FPLT__PRIVATE_DEVIATION, s, k).value,
                        number.deviation, 0.01);
            for (size_t q = 0; q < 3; q++)
                assert_near(fplt__private_find(made, 0, FPLT__PRIVATE_QUARTILE + q, s, k).value,
                            number.quartile[q], 2);
            assert_near(fplt__private_find(made, 0, FPLT__PRIVATE_MISSING, s, k).value,
                        (double)fplt__table_one_missing(table, 0, s, k).low, 0);
            assert_near(fplt__private_find(made, 1, 1, s, k).value,
                        (double)fplt__table_one_count(table, 1, 1, s, k).low, 0);
        }
    fplt__private_table_destroy(made);
    fplt_description_destroy(table);
    fplt_schema_destroy(fixture.schema);
    free(text);
}

static int holds(fplt__private_estimate estimate, double number)
{
    return estimate.low <= number && number <= estimate.high;
}

/* Each interval holds the number without noise in 95 % of 400 tables, less 4 deviations of that share; noise has its deviation. */
static void intervals_hold_the_numbers(void **state)
{
    enum { TABLES = 400 };
    struct fixture fixture = open_fixture("who", 20);
    char *text = make_rows(2000);
    fplt__private_scale scale;
    fplt_noise *noise;
    fplt_error error;
    size_t held[FPLT__PRIVATE_LINES + 2] = {0};
    double squares = 0;
    (void)state;
    fplt_description *table = describe(&fixture, text);
    fplt__table_one_number truth = fplt__table_one_numbers(table, 0, 1, 1);
    double levels = (double)fplt__table_one_count(table, 1, 0, 0, 2).low;
    double rows = (double)fplt__table_one_rows(table, 1, 1).low;
    assert_ok(fplt_noise_create(&noise, &error), error);
    assert_ok(fplt__private_scale_find(&fixture.settings, 2, 1e-6, &scale, &error), error);
    for (size_t i = 0; i < TABLES; i++) {
        fplt__private_table *made;
        assert_ok(fplt__private_table_make(table, &scale, noise, &made, &error), error);
        held[0] += (size_t)holds(fplt__private_find(made, 0, FPLT__PRIVATE_MEAN, 1, 1), truth.mean);
        held[1] += (size_t)holds(fplt__private_find(made, 0, FPLT__PRIVATE_DEVIATION, 1, 1),
                                 truth.deviation);
        for (size_t q = 0; q < 3; q++)
            held[2 + q] +=
                (size_t)holds(fplt__private_find(made, 0, FPLT__PRIVATE_QUARTILE + q, 1, 1),
                              truth.quartile[q]);
        held[5] += (size_t)holds(fplt__private_find(made, 1, 0, 0, 2), levels);
        held[6] += (size_t)holds(fplt__private_rows(made, 1, 1), rows);
        double off = fplt__private_rows(made, 1, 1).value - rows;
        squares += off * off;
        fplt__private_table_destroy(made);
    }
    for (size_t i = 0; i < 7; i++)
        assert_true((double)held[i] >= TABLES * (0.95 - 5 * sqrt(0.95 * 0.05 / TABLES)));
    double deviation = scale.count.deviation / scale.count.unit;
    assert_near(sqrt(squares / TABLES) / deviation, 1, 0.2); /* 5.6 deviations of the estimate */
    fplt_noise_destroy(noise);
    fplt_description_destroy(table);
    fplt_schema_destroy(fixture.schema);
    free(text);
}

/* Every number has the noise of its kind: over 300 tables the mean square is within 5 deviations of it. */
static void every_number_has_its_noise(void **state)
{
    enum { TABLES = 300 };
    struct fixture fixture = open_fixture("who", 8);
    char *text = make_rows(200);
    fplt__private_scale scale;
    fplt_noise *noise;
    fplt_error error;
    static int64_t truth[400], numbers[400];
    static double deviation[400], squares[400];
    (void)state;
    fplt_description *table = describe(&fixture, text);
    assert_ok(fplt__private_scale_find(&fixture.settings, 0.5, 1e-6, &scale, &error), error);
    size_t count = (size_t)fplt__private_numbers(&fixture.settings);
    fill_deviations(&scale, 3, 8, 0, deviation);
    assert_ok(fplt_noise_create(&noise, &error), error);
    assert_ok(fplt__private_tell(table, 1, &scale, NULL, truth, &error), error);
    for (size_t i = 0; i < TABLES; i++) {
        assert_ok(fplt__private_tell(table, 1, &scale, noise, numbers, &error), error);
        for (size_t k = 0; k < count; k++) {
            double off = (double)(numbers[k] - truth[k]) / deviation[k];
            squares[k] += off * off / TABLES;
        }
    }
    for (size_t k = 0; k < count; k++)
        assert_near(squares[k], 1, 6 * sqrt(2.0 / TABLES)); /* chance: below 1e-7 for all */
    fplt_noise_destroy(noise);
    fplt_description_destroy(table);
    fplt_schema_destroy(fixture.schema);
    free(text);
}

/* ---- refusals ---- */

static void budgets_and_schemas_are_checked(void **state)
{
    struct fixture fixture = open_fixture("who", 20);
    fplt__private_scale scale;
    fplt_error error;
    (void)state;
    settings_of(&fixture);
    assert_int_equal(fplt__private_scale_find(&fixture.settings, 1e-9, 1e-6, &scale, &error),
                     FPLT_UNREACHABLE);
    assert_int_equal(fplt__private_scale_find(&fixture.settings, -1, 1e-6, &scale, &error),
                     FPLT_BAD_VALUE);
    fixture.settings.by = "age";
    assert_int_equal(fplt__private_scale_find(&fixture.settings, 1, 1e-6, &scale, &error),
                     FPLT_BAD_VALUE);
    fixture.settings.by = NULL;
    fixture.settings.cross = "sex:who";
    assert_int_equal(fplt__private_scale_find(&fixture.settings, 1, 1e-6, &scale, &error),
                     FPLT_UNSUPPORTED);
    fixture.settings.cross = NULL;
    fixture.read.schema = NULL;
    assert_int_equal(fplt__private_scale_find(&fixture.settings, 1, 1e-6, &scale, &error),
                     FPLT_UNSUPPORTED);
    fplt_schema_destroy(fixture.schema);
}

static void make_and_write(struct fixture *fixture, fplt_status *out)
{
    fplt__private_table *made = NULL;
    fplt__private_scale scale;
    fplt_error error;
    char *text = NULL;
    fplt_description *table = NULL;
    fplt_status status = fplt__private_scale_find(settings_of(fixture), 1, 1e-6, &scale, &error);
    if (!status)
        status = fplt_describe_text("rows", "age,sex,site,who\n30,f,n,a\n40,m,s,b\n", 35,
                                    &fixture->settings, &table, &error);
    if (!status)
        status = fplt__private_table_make(table, &scale, NULL, &made, &error);
    if (!status)
        status = fplt__private_table_report(made, FPLT__FORM_CSV, &text, &error);
    fplt_free(text);
    fplt__private_table_destroy(made);
    fplt_description_destroy(table);
    *out = status;
}

static void every_allocation_may_fail(void **state)
{
    struct fixture fixture = open_fixture("who", 4);
    (void)state;
    survives_failing_allocations(make_and_write(&fixture, &status), 20);
    fplt_schema_destroy(fixture.schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_changes_as_much_as_is_charged),
        cmocka_unit_test(without_noise_the_numbers_are_exact),
        cmocka_unit_test(intervals_hold_the_numbers),
        cmocka_unit_test(every_number_has_its_noise),
        cmocka_unit_test(budgets_and_schemas_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
