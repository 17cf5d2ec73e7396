/* Transforms: moments after standardising, norms after shortening, the same for other data. */
#include "helpers.h"

#include "base/settings.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "data/fill.h"
#include "data/tables.h"

static fplt_dataset *clouds(uint64_t seed)
{
    fplt_generate_settings settings = fplt_generate_defaults();
    settings.agents = 5;
    settings.seed = seed;
    settings.spread = 3;
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_generate(&settings, &dataset, &error), error);
    return dataset;
}

static fplt_transform fitted(const fplt_dataset *dataset, const char *standardise, double radius)
{
    fplt_transform transform;
    fplt_error error;
    assert_ok(fplt_transform_fit(dataset, &(fplt_transform_settings){standardise, radius},
                                 &transform, &error),
              error);
    return transform;
}

static void apply(const fplt_transform *transform, fplt_dataset *dataset)
{
    fplt_error error;
    assert_ok(fplt_transform_apply(transform, dataset, &error), error);
}

static void moments(const fplt_dataset *dataset, size_t feature, double *mean, double *variance)
{
    fplt_rows all = fplt_dataset_all(dataset);
    *mean = *variance = 0;
    for (size_t r = 0; r < all.count; r++)
        *mean += value_at(&all, r, feature) / (double)all.count;
    for (size_t r = 0; r < all.count; r++)
        *variance += pow(value_at(&all, r, feature) - *mean, 2) / (double)all.count;
}

static void columns_get_mean_0_and_deviation_1(void **state)
{
    (void)state;
    fplt_dataset *dataset = clouds(1), *other = clouds(2);
    fplt_rows before = fplt_dataset_all(other);
    double kept = before.dense[3], mean, variance;
    fplt_transform transform = fitted(dataset, "yes", 0);
    double first_mean = transform.mean[3], first_scale = transform.scale[3];
    apply(&transform, dataset);
    for (size_t j = 0; j < 5; j++) {
        moments(dataset, j, &mean, &variance);
        assert_near(mean, 0, 1e-13);
        assert_near(variance, 1, 1e-12);
    }
    apply(&transform, other);
    assert_true(fplt_dataset_all(other).dense[3] == (kept - first_mean) / first_scale);
    fplt_transform_clear(&transform);
    fplt_transform_clear(&transform);
    fplt_dataset_destroy(dataset);
    fplt_dataset_destroy(other);
}

static void a_constant_column_keeps_scale_1(void **state)
{
    (void)state;
    fplt_read_settings settings = fplt_read_defaults();
    fplt_dataset *dataset =
        read_text_as("x.csv", "a,b,label\n0.1,1,0\n0.1,2,1\n0.1,4,1\n", &settings);
    fplt_transform transform = fitted(dataset, "yes", 0);
    assert_true(transform.scale[0] == 1);
    apply(&transform, dataset);
    fplt_rows all = fplt_dataset_all(dataset);
    assert_true(all.dense[0] == 0 && all.dense[2] == 0 && all.dense[4] == 0);
    fplt_transform_clear(&transform);
    fplt_dataset_destroy(dataset);
}

/* CSR and dense rows with the same numbers have the same deviations; zeros stay zeros. */
static void sparse_columns_are_scaled_without_centring(void **state)
{
    (void)state;
    fplt_read_settings settings = fplt_read_defaults();
    fplt_dataset *sparse =
        read_text_as("x.libsvm", "1 1:3 2:1 4:2\n-1 2:1 4:2\n1 1:-1 2:1 4:2\n", &settings);
    fplt_dataset *dense =
        read_text_as("x.csv", "label,a,b,c,d\n1,3,1,0,2\n-1,0,1,0,2\n1,-1,1,0,2\n", &settings);
    fplt_transform transform;
    fplt_error error;
    assert_int_equal(fplt_transform_fit(sparse, &(fplt_transform_settings){"yes", 0}, &transform,
                                        &error),
                     FPLT_UNSUPPORTED);
    assert_contains(error.text, "standardise scale");
    transform = fitted(sparse, "scale", 0);
    fplt_transform other = fitted(dense, "scale", 0);
    assert_null(transform.mean);
    for (size_t j = 0; j < 4; j++)
        assert_true(transform.scale[j] == other.scale[j]);
    assert_close(transform.scale[0], sqrt(26.0 / 9), 1e-15);
    assert_true(transform.scale[1] == 1 && transform.scale[2] == 1 && transform.scale[3] == 1);
    apply(&transform, sparse);
    apply(&other, dense);
    assert_same_values(sparse, dense);
    fplt_transform_clear(&other);
    other = fitted(dense, "yes", 0);
    assert_int_equal(fplt_transform_apply(&other, sparse, &error), FPLT_UNSUPPORTED);
    fplt_transform_clear(&transform);
    fplt_transform_clear(&other);
    fplt_dataset_destroy(sparse);
    fplt_dataset_destroy(dense);
}

static double plain_norm(const fplt_rows *rows, size_t r)
{
    double squares = 0;
    for (size_t j = 0; j < rows->features; j++)
        squares += rows->dense[r * rows->features + j] * rows->dense[r * rows->features + j];
    return sqrt(squares);
}

static void no_row_is_longer_than_the_radius(void **state)
{
    (void)state;
    const double radii[] = {1, 0.1, 3, 4.7, 1e-3, 1e6};
    for (size_t i = 0; i < 6; i++) {
        fplt_dataset *dataset = clouds(i + 1), *before = clouds(i + 1);
        fplt_transform transform = fitted(dataset, "no", radii[i]);
        apply(&transform, dataset);
        fplt_rows now = fplt_dataset_all(dataset), old = fplt_dataset_all(before);
        for (size_t r = 0; r < now.count; r++) {
            double norm = plain_norm(&now, r), was = plain_norm(&old, r);
            assert_true(norm <= radii[i]); /* not by a rounding error */
            double factor = was > radii[i] ? radii[i] / was : 1;
            for (size_t j = 0; j < 5; j++)
                assert_close(now.dense[r * 5 + j], old.dense[r * 5 + j] * factor, 2e-15);
            if (was <= radii[i])
                assert_memory_equal(now.dense + r * 5, old.dense + r * 5, 5 * sizeof(double));
        }
        assert_true(fplt__dataset_describe(dataset).largest_norm <= radii[i]);
        fplt_dataset_destroy(dataset);
        fplt_dataset_destroy(before);
    }
}

static void huge_and_tiny_rows_are_shortened_too(void **state)
{
    (void)state;
    fplt_read_settings settings = fplt_read_defaults();
    const double radii[] = {1, 1e300, 1e-300, 5e-324};
    for (size_t i = 0; i < 4; i++) {
        fplt_dataset *dataset =
            read_text_as("x.csv",
                         "label,a,b\n1,1.7e308,1.7e308\n0,1e308,-1e-308\n1,3e-290,4e-290\n1,0,0\n",
                         &settings);
        fplt_transform transform = fitted(dataset, NULL, radii[i]);
        apply(&transform, dataset);
        assert_true(fplt__dataset_describe(dataset).largest_norm <= radii[i]);
        if (radii[i] > 1e-310)
            assert_close(fplt__dataset_describe(dataset).largest_norm, radii[i], 1e-14);
        fplt_dataset_destroy(dataset);
    }
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    fplt_read_settings settings = fplt_read_defaults();
    fplt_dataset *dataset = read_text_as("x.csv", "a,label\n1,0\n2,1\n", &settings);
    fplt_transform transform;
    fplt_error error;
    assert_int_equal(fplt_transform_fit(dataset, &(fplt_transform_settings){"maybe", 0}, &transform,
                                        &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "standardise is 'maybe'");
    assert_int_equal(fplt_transform_fit(dataset, &(fplt_transform_settings){"no", -1}, &transform,
                                        &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "radius is -1");
    assert_int_equal(fplt_transform_fit(dataset, &(fplt_transform_settings){"no", NAN}, &transform,
                                        &error),
                     FPLT_BAD_VALUE);
    double scale = 0;
    transform = (fplt_transform){.features = 2};
    assert_int_equal(fplt_transform_apply(&transform, dataset, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "for 2 features, but the data set has 1");
    transform = (fplt_transform){.features = 1, .scale = &scale};
    assert_int_equal(fplt_transform_apply(&transform, dataset, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "divides by 0");
    scale = 1e-308;
    double mean = -1e300;
    transform.mean = &mean;
    assert_int_equal(fplt_transform_apply(&transform, dataset, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "row 0, feature 0");
    fplt_dataset_destroy(dataset);
}

static fplt_status fit_once(void *context)
{
    fplt_read_settings reading = fplt_read_defaults();
    const char *text = "a,label\n1,0\n2,1\n";
    fplt_dataset *dataset;
    fplt_transform transform = {0};
    fplt_error error;
    fplt_status status =
        fplt__dataset_read_memory("x.csv", text, strlen(text), &reading, &dataset, &error);
    if (!status)
        status = fplt_transform_fit(dataset, context, &transform, &error);
    if (!status)
        status = fplt_transform_apply(&transform, dataset, &error);
    fplt_transform_clear(&transform);
    fplt_dataset_destroy(dataset);
    return status;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    survives_failed_allocations(fit_once, &(fplt_transform_settings){"yes", 1});
}

/* The same numbers dense and sparse, with values missing. */
static fplt_dataset *with_holes(int sparse)
{
    enum { ROWS = 7, FEATURES = 3, HOLE = 999 };
    static const double rows[ROWS][FEATURES] = {{0, 4, HOLE},     {-2, HOLE, 0}, {0, 4, 1e300},
                                                {HOLE, 0.1, 2},   {-2, 0.1, 2},  {5, 0.3, -1e300},
                                                {1e-300, 7, HOLE}};
    static const double label[ROWS] = {1, -1, 1, -1, 1, -1, 1};
    size_t start[ROWS + 1] = {0}, shares[] = {3, 4};
    uint32_t column[ROWS * FEATURES];
    double value[ROWS * FEATURES];
    for (size_t r = 0; r < ROWS; r++) {
        start[r + 1] = start[r];
        for (uint32_t j = 0; j < FEATURES; j++)
            if (rows[r][j] != 0) {
                column[start[r + 1]] = j;
                value[start[r + 1]++] = rows[r][j];
            }
    }
    fplt_rows all = {.count = ROWS, .features = FEATURES, .label = label};
    if (sparse) {
        all.start = start;
        all.column = column;
        all.value = value;
    } else
        all.dense = &rows[0][0];
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_borrow(&all, FPLT_TASK_BINARY, shares, 2, NULL, NULL, &dataset, &error),
              error);
    fplt_dataset *own;
    static const uint32_t both[] = {0, 1};
    assert_ok(fplt__dataset_pick(dataset, both, 2, &own, &error), error);
    fplt_dataset_destroy(dataset);
    /* only a reader makes rows with missing values */
    double *held = sparse ? own->value : own->dense;
    for (size_t i = 0; i < (sparse ? start[ROWS] : ROWS * FEATURES); i++)
        held[i] = held[i] == HOLE ? NAN : held[i];
    return own;
}

static void missing_values_are_filled_from_what_is_there(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double fill[3];
    } cases[] = {{"mean", {1.0 / 6, 15.5 / 6, 0.8}},
                 {"median", {0, 2.15, 2}}, /* between 0 and 1e-300; 0.3 and 4; of five */
                 {"most-frequent", {-2, 0.1, 2}},
                 {"constant", {-7, -7, -7}}};
    for (int sparse = 0; sparse < 2; sparse++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            fplt_dataset *dataset = with_holes(sparse);
            fplt_transform_settings settings = {"no", 0, cases[i].name, -7};
            fplt_transform transform;
            fplt_error error;
            assert_ok(fplt_transform_fit(dataset, &settings, &transform, &error), error);
            for (size_t j = 0; j < 3; j++)
                if (fabs(transform.fill[j] - cases[i].fill[j]) > 1e-15 &&
                    !(j == 2 && i == 0)) /* 2^-96 of 1e300 is all that is known of that mean */
                    fail_msg("%s, feature %zu: %.17g, not %.17g", cases[i].name, j,
                             transform.fill[j], cases[i].fill[j]);
            apply(&transform, dataset);
            fplt_rows all = fplt_dataset_all(dataset);
            assert_true(value_at(&all, 3, 0) == transform.fill[0]);
            assert_true(value_at(&all, 1, 1) == transform.fill[1]);
            assert_true(value_at(&all, 6, 2) == transform.fill[2]);
            assert_true(value_at(&all, 4, 0) == -2);
            fplt_transform_clear(&transform);
            fplt_dataset_destroy(dataset);
        }
}

static void values_on_a_grid_are_filled_by_its_cells(void **state)
{
    (void)state;
    /* the six values of column 2 are in cells 0, 0, 0, 4, 4, 7: the median is between 2.5/3 and 4 + 0.5/2 */
    static const struct {
        const char *name, *bounds;
        unsigned cells;
        double fill[3];
    } cases[] = {{"median", "2=0..10", 10, {0, 2.541666666666667, 2}},
                 {"median", "2=0..5", 1, {0, 2.5, 2}},
                 {"most-frequent", "2=-1..7,3=0..2", 0, {-2, 0, 2}}};
    for (int sparse = 0; sparse < 2; sparse++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            fplt_dataset *dataset = with_holes(sparse);
            fplt__span names[] = {{"1", 1}, {"2", 1}, {"3", 1}};
            fplt_transform_settings settings = {.fill = cases[i].name,
                                                .fill_bounds = cases[i].bounds,
                                                .fill_cells = cases[i].cells};
            fplt_transform transform;
            fplt_error error;
            assert_ok(fplt__names_make(names, 3, &dataset->feature_names, &error), error);
            assert_ok(fplt_transform_fit(dataset, &settings, &transform, &error), error);
            for (size_t j = 0; j < 3; j++)
                if (fabs(transform.fill[j] - cases[i].fill[j]) > 1e-12)
                    fail_msg("%s of %s, feature %zu: %.17g, not %.17g", cases[i].name,
                             cases[i].bounds, j, transform.fill[j], cases[i].fill[j]);
            fplt_transform_clear(&transform);
            settings.fill_bounds = "2=5..0";
            assert_int_equal(fplt_transform_fit(dataset, &settings, &transform, &error),
                             FPLT_BAD_VALUE);
            assert_contains(error.text, "LOW..HIGH");
            settings.fill = "most-frequent";
            settings.fill_bounds = "2=0.5..3";
            assert_int_equal(fplt_transform_fit(dataset, &settings, &transform, &error),
                             FPLT_BAD_VALUE);
            assert_contains(error.text, "whole numbers");
            fplt_dataset_destroy(dataset);
        }
}

/* A largest value, and the power of two above it that a site may tell instead, give one unit. */
static void the_unit_of_a_sum_does_not_depend_on_rounding(void **state)
{
    (void)state;
    static const double largest[] = {5, 8, 0.3, 1, 1e300, 1e-300};
    static const int power[] = {3, 3, -1, 0, 997, -996};
    for (size_t i = 0; i < sizeof power / sizeof *power; i++) {
        assert_int_equal(fplt__fill_power(largest[i]), power[i]);
        assert_int_equal(fplt__fill_power(ldexp(1, power[i])), power[i]);
    }
    assert_int_equal(fplt__fill_power(0), 0);
    assert_int_equal(fplt__fill_power(INFINITY), 0);
}

/* Two sites that lack a level of the other: what is missing is missing in all levels. */
static void a_missing_category_is_missing_in_all_levels(void **state)
{
    (void)state;
    static const uint32_t group[] = {0, 1, 1};
    for (int sparse = 0; sparse < 2; sparse++) {
        fplt_dataset *dataset = with_holes(sparse);
        fplt_error error;
        fplt_status status = fplt__dataset_spread_missing(dataset, group, &error);
        fplt_rows all = fplt_dataset_all(dataset);
        assert_int_equal(status, sparse ? FPLT_UNSUPPORTED : FPLT_OK);
        assert_true(sparse || (isnan(value_at(&all, 1, 1)) && isnan(value_at(&all, 1, 2)) &&
                               isnan(value_at(&all, 6, 1)) && value_at(&all, 6, 0) == 1e-300 &&
                               value_at(&all, 3, 1) == 0.1 && isnan(value_at(&all, 3, 0))));
        fplt_dataset_destroy(dataset);
    }
}

static fplt_status fill_once(void *context)
{
    fplt_transform transform;
    fplt_transform_settings settings = {"scale", 0, "mean", 0};
    fplt_status status = fplt_transform_fit(context, &settings, &transform, NULL);
    fplt_transform_clear(&transform);
    return status;
}

static void failed_fills_leave_nothing(void **state)
{
    (void)state;
    fplt_dataset *dataset = with_holes(1);
    survives_failed_allocations(fill_once, dataset);
    fplt_dataset_destroy(dataset);
}

static void balanced_rows_of_a_class_count_alike(void **state)
{
    (void)state;
    fplt_dataset *dataset = with_holes(0);
    fplt_error error;
    assert_ok(fplt__dataset_balance(dataset, &error), error);
    assert_ok(fplt__dataset_balance(dataset, &error), error); /* on weights that are there */
    fplt_rows all = fplt_dataset_all(dataset);
    for (size_t r = 0; r < all.count; r++)
        assert_true(fabs(all.weight[r] - pow(7.0 / (2 * (all.label[r] > 0 ? 4 : 3)), 2)) < 1e-15);
    fplt_dataset_destroy(dataset);
}

/* The tables can be used as settings and their defaults are those of the structs. */
static void tables_agree_with_the_structs(void **state)
{
    (void)state;
    fplt_settings *settings;
    fplt_error error;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_settings_add(settings, "generate", fplt__generate_table, &error), error);
    fplt_generate_settings generate = fplt_generate_defaults();
    assert_string_equal(fplt_settings_text(settings, "generator"), generate.name);
    assert_int_equal(fplt_settings_integer(settings, "agents"), generate.agents);
    assert_int_equal(fplt_settings_integer(settings, "features"), generate.features);
    assert_int_equal(fplt_settings_integer(settings, "rows"), generate.rows);
    assert_int_equal(fplt_settings_integer(settings, "classes"), generate.classes);
    assert_true(fplt_settings_real(settings, "spread") == generate.spread);
    assert_true(fplt_settings_real(settings, "noise") == generate.noise);
    assert_true(fplt_settings_real(settings, "lmin") == generate.lowest);
    assert_true(fplt_settings_real(settings, "lmax") == generate.highest);
    fplt_settings_destroy(settings);

    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_settings_add(settings, "data", fplt__read_table, &error), error);
    assert_ok(fplt_settings_add(settings, "partition", fplt__partition_table, &error), error);
    assert_ok(fplt_settings_add(settings, "transform", fplt__transform_table, &error), error);
    assert_int_equal(fplt_settings_integer(settings, "agents"), fplt_partition_defaults().agents);
    assert_true(fplt_settings_real(settings, "alpha") == fplt_partition_defaults().alpha);
    assert_string_equal(fplt_settings_text(settings, "standardise"),
                        fplt_transform_defaults().standardise);
    assert_int_equal(fplt__settings_complete(settings, &error), FPLT_BAD_VALUE);
    for (size_t i = 0; fplt__format_list(i, NULL); i++)
        assert_ok(fplt_settings_set(settings, "format", fplt__format_list(i, NULL), "test", &error),
                  error);
    for (size_t i = 0; fplt__partition_list(i, NULL); i++)
        assert_ok(fplt_settings_set(settings, "partition", fplt__partition_list(i, NULL), "test",
                                    &error),
                  error);
    assert_int_equal(fplt_settings_set(settings, "missing", "keep", "test", &error),
                     FPLT_BAD_VALUE);
    fplt_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_get_mean_0_and_deviation_1),
        cmocka_unit_test(a_constant_column_keeps_scale_1),
        cmocka_unit_test(sparse_columns_are_scaled_without_centring),
        cmocka_unit_test(no_row_is_longer_than_the_radius),
        cmocka_unit_test(huge_and_tiny_rows_are_shortened_too),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
        cmocka_unit_test(missing_values_are_filled_from_what_is_there),
        cmocka_unit_test(values_on_a_grid_are_filled_by_its_cells),
        cmocka_unit_test(the_unit_of_a_sum_does_not_depend_on_rounding),
        cmocka_unit_test(a_missing_category_is_missing_in_all_levels),
        cmocka_unit_test(failed_fills_leave_nothing),
        cmocka_unit_test(balanced_rows_of_a_class_count_alike),
        cmocka_unit_test(tables_agree_with_the_structs),
    };
    return cmocka_run_group_tests_name("transform", tests, NULL, NULL);
}
