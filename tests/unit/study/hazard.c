/* Hazards in closed form: without columns that matter, Breslow's hazard is the estimate of Nelson and Aalen. */
#include "testing.h"

#include <jansson.h>

#include "fedplt/inference.h"
#include "fedplt/transform.h"
#include "report/table.h"
#include "fedplt/survival.h"

enum { ROWS = 8 };

static const double times[ROWS] = {3, 5, -5, 7, 7, 9, -11, 12};
static const double column[ROWS] = {1, -1, 2, 0, 1, -2, 1, 0};

static fplt_model *model_of(double coefficient, const char *ties, const fplt_inference *inference)
{
    static const char *const names[] = {"x"};
    const fplt_transform transform = {.features = 1};
    fplt_model *model;
    fplt_error error;
    const fplt_model_info info = {.task = FPLT_TASK_SURVIVAL,
                                  .loss = "cox",
                                  .features = 1,
                                  .feature_names = names,
                                  .transform = &transform,
                                  .weights = &coefficient,
                                  .dimension = 1,
                                  .program = "test",
                                  .inference = inference,
                                  .ties = ties};
    assert_ok(fplt_model_create(&info, &model, &error), error);
    return model;
}

static fplt_dataset *dataset_of(void)
{
    const fplt_rows rows = {.count = ROWS, .features = 1, .dense = column, .label = times};
    const size_t count = ROWS;
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_SURVIVAL, &count, 1, &dataset, &error),
              error);
    return dataset;
}

static double cell(const json_t *lines, size_t line, const char *name)
{
    return json_number_value(json_object_get(json_array_get(lines, line), name));
}

/* Increments of the baseline at 3, 5, 7, 9 and 12 by a formula for each of the two treatments of ties. */
static void increments_are_those_of_the_ties(void **state)
{
    (void)state;
    const double at[] = {3, 5, 7, 9, 12};
    for (int efron = 0; efron < 2; efron++) {
        double beta = 0.3, risk[5] = {0};
        fplt_model *model = model_of(beta, efron ? "efron" : "breslow", NULL);
        fplt_dataset *dataset = dataset_of();
        const fplt_hazard_settings settings = {.level = 0.95};
        fplt_hazard *hazard;
        fplt_table *table;
        fplt_error error;
        for (int i = 0; i < 5; i++)
            for (int r = 0; r < ROWS; r++)
                risk[i] += fabs(times[r]) >= at[i] ? exp(beta * column[r]) : 0;
        double tied = exp(beta * column[3]) + exp(beta * column[4]);
        assert_ok(fplt_hazard_create(model, dataset, &settings, &hazard, &error), error);
        assert_ok(fplt_hazard_tabulate(hazard, &table, &error), error);
        json_t *lines = fplt__table_json(table);
        assert_int_equal(json_array_size(lines), 5);
        for (size_t i = 0; i < 5; i++) {
            double wanted =
                i == 2 ? 1 / risk[2] + 1 / (risk[2] - (efron ? tied / 2 : 0)) : 1 / risk[i];
            assert_close(cell(lines, i, "time"), at[i], 0);
            assert_close(cell(lines, i, "hazard"), wanted, 1e-14);
        }
        assert_contains(fplt_hazard_note(hazard, 0), "penalty"); /* no sums: no intervals */
        json_decref(lines);
        fplt_table_destroy(table);
        fplt_hazard_destroy(hazard);
        fplt_dataset_destroy(dataset);
        fplt_model_destroy(model);
    }
}

/* A fitted coefficient: the statistic of one column is that of all, and scaling the column changes nothing. */
static void one_column_is_the_global_test(void **state)
{
    (void)state;
    fplt_model *model = model_of(0, "efron", NULL), *fitted;
    fplt_dataset *dataset = dataset_of();
    fplt_table *table;
    fplt_error error;
    assert_ok(fplt_model_infer(model, dataset, 1, &fitted, &error), error);
    for (int transform = FPLT_HAZARD_KM; transform <= FPLT_HAZARD_RANK; transform++) {
        assert_ok(fplt_hazard_test(fitted, dataset, (fplt_hazard_transform)transform, 0, &table,
                                   &error),
                  error);
        json_t *lines = fplt__table_json(table);
        assert_int_equal(json_array_size(lines), 2);
        assert_close(cell(lines, 0, "chi_squared"), cell(lines, 1, "chi_squared"), 1e-12);
        assert_true(cell(lines, 0, "chi_squared") > 0);
        json_decref(lines);
        fplt_table_destroy(table);
    }
    fplt_dataset_destroy(dataset);
    fplt_model_destroy(fitted);
    fplt_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(increments_are_those_of_the_ties),
        cmocka_unit_test(one_column_is_the_global_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
