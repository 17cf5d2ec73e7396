/* Storage: copies, views, checks of what comes in, names, choice of agents, description. */
#include "helpers.h"
#include "data/dataset_access.h"
#include "fedplt/columns.h"

static const double dense[] = {1, 2, 3, 4, 5, 6, 7, 8};
static const double labels[] = {1, -1, 1, -1};
static const size_t shares[] = {1, 3};

static fplt_rows four_rows(void)
{
    return (fplt_rows){.count = 4, .features = 2, .dense = dense, .label = labels};
}

static fplt_dataset *made(const fplt_rows *rows, fplt_task task, const size_t *agent_rows,
                          uint32_t agents)
{
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(rows, task, agent_rows, agents, &dataset, &error), error);
    return dataset;
}

static void shards_are_views_of_the_rows(void **state)
{
    (void)state;
    fplt_rows rows = four_rows();
    fplt_dataset *dataset = made(&rows, FPLT_TASK_BINARY, shares, 2);
    assert_int_equal(fplt_dataset_rows(dataset), 4);
    assert_int_equal(fplt_dataset_features(dataset), 2);
    assert_int_equal(fplt_dataset_agents(dataset), 2);
    assert_int_equal(fplt_dataset_outputs(dataset), 2);
    assert_int_equal(fplt_dataset_task(dataset), FPLT_TASK_BINARY);
    fplt_rows shard = fplt_dataset_shard(dataset, 1);
    assert_int_equal(shard.count, 3);
    assert_true(shard.dense[0] == 3 && shard.dense[5] == 8);
    assert_true(shard.label[0] == -1 && shard.label[2] == -1);
    assert_null(shard.start);
    assert_null(fplt_dataset_feature_name(dataset, 0));
    assert_null(fplt_dataset_agent_name(dataset, 0));
    fplt_dataset_destroy(dataset);
    fplt_dataset_destroy(NULL);
}

static void a_shard_of_csr_rows_can_be_copied_again(void **state)
{
    (void)state;
    const size_t start[] = {0, 2, 2, 3, 5};
    const uint32_t column[] = {0, 2, 1, 0, 2};
    const double value[] = {1, 2, 3, 4, 5};
    fplt_rows rows = {.count = 4,
                      .features = 3,
                      .start = start,
                      .column = column,
                      .value = value,
                      .label = labels};
    fplt_dataset *dataset = made(&rows, FPLT_TASK_BINARY, shares, 2);
    fplt_rows shard = fplt_dataset_shard(dataset, 1);
    assert_int_equal(shard.start[0], 2);
    assert_true(value_at(&shard, 0, 0) == 0 && value_at(&shard, 1, 1) == 3);
    size_t all = shard.count;
    fplt_dataset *again = made(&shard, FPLT_TASK_BINARY, &all, 1);
    fplt_rows copy = fplt_dataset_shard(again, 0);
    assert_int_equal(copy.start[0], 0);
    for (size_t r = 0; r < 3; r++)
        for (size_t j = 0; j < 3; j++)
            assert_true(value_at(&shard, r, j) == value_at(&copy, r, j));
    fplt_dataset_destroy(again);
    fplt_dataset_destroy(dataset);
}

static void columns_make_the_rows_in_their_order(void **state)
{
    (void)state;
    const double first[] = {1, 3, 5}, second[] = {2, 4, NAN}, weight[] = {1, 2, 3, 4};
    const double *const column[] = {first, second, first};
    const size_t order[] = {1, 0, 1, 0};
    fplt_columns columns = {.count = 4,
                            .features = 3,
                            .column = column,
                            .order = order,
                            .label = labels,
                            .weight = weight};
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_columns(&columns, FPLT_TASK_BINARY, shares, 2, &dataset, &error),
              error);
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(all.count, 4);
    assert_int_equal(fplt_dataset_shard(dataset, 1).count, 3);
    for (size_t r = 0; r < 4; r++) {
        for (size_t j = 0; j < 3; j++)
            assert_true(all.dense[3 * r + j] == column[j][order[r]]);
        assert_true(all.label[r] == labels[r] && all.weight[r] == weight[r]);
    }
    fplt_dataset_destroy(dataset);
    columns.count = 3;
    columns.order = NULL;
    const size_t three = 3;
    assert_int_equal(fplt_dataset_from_columns(&columns, FPLT_TASK_BINARY, &three, 1, &dataset,
                                               &error),
                     FPLT_BAD_DATA);
    assert_null(dataset);
    assert_contains(error.text, "row 2, feature 1 is nan");
    assert_int_equal(fplt_dataset_from_columns(&columns, FPLT_TASK_BINARY, shares, 2, &dataset,
                                               NULL),
                     FPLT_BAD_DATA);
}

/* Ends the copy when so many rows were copied. */
struct ending {
    size_t limit, seen, total;
};

static int end_copy(void *context, size_t done, size_t total)
{
    struct ending *ending = context;
    ending->seen = done;
    ending->total = total;
    return done >= ending->limit;
}

static void a_watch_ends_the_copy_of_columns(void **state)
{
    (void)state;
    enum { ROWS = 100000 };
    double *numbers = calloc(ROWS, sizeof *numbers), *label = calloc(ROWS, sizeof *label);
    const double *const column[] = {numbers};
    const size_t share = ROWS;
    struct ending ending = {.limit = ROWS / 2};
    fplt_columns columns = {.count = ROWS,
                            .features = 1,
                            .column = column,
                            .label = label,
                            .watch = end_copy,
                            .context = &ending};
    fplt_dataset *dataset;
    fplt_error error;
    assert_int_equal(fplt_dataset_from_columns(&columns, FPLT_TASK_REGRESSION, &share, 1, &dataset,
                                               &error),
                     FPLT_FAILED);
    assert_null(dataset);
    assert_true(ending.seen >= ROWS / 2 && ending.seen < ROWS && ending.total == ROWS);
    ending.limit = ROWS + 1;
    assert_ok(fplt_dataset_from_columns(&columns, FPLT_TASK_REGRESSION, &share, 1, &dataset,
                                        &error),
              error);
    fplt_dataset_destroy(dataset);
    free(numbers);
    free(label);
}

static void refuse(fplt_rows rows, fplt_task task, const size_t *agent_rows, uint32_t agents,
                   const char *part)
{
    fplt_dataset *dataset;
    fplt_error error;
    assert_int_equal(fplt_dataset_from_rows(&rows, task, agent_rows, agents, &dataset, &error),
                     FPLT_BAD_DATA);
    assert_null(dataset);
    assert_contains(error.text, part);
    assert_int_equal(fplt_dataset_from_rows(&rows, task, agent_rows, agents, &dataset, NULL),
                     FPLT_BAD_DATA);
}

static void bad_rows_are_refused(void **state)
{
    (void)state;
    fplt_rows rows = four_rows();
    refuse(rows, FPLT_TASK_BINARY, shares, 0, "at least one agent");
    refuse(rows, FPLT_TASK_BINARY, (size_t[]){4, 0}, 2, "agent 1 has no rows");
    refuse(rows, FPLT_TASK_BINARY, (size_t[]){2, 1}, 2, "3 rows together, but there are 4");
    refuse(rows, FPLT_TASK_BINARY, (size_t[]){SIZE_MAX, 5}, 2, "too many");
    refuse(rows, FPLT_TASK_CLASSES, shares, 2, "row 1 has label -1");
    rows.label = (const double[]){1, -1, 0, 1};
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "row 2 has label 0");
    rows.label = (const double[]){1, -1, 0, HUGE_VAL};
    refuse(rows, FPLT_TASK_REGRESSION, shares, 2, "row 3 has label inf");
    rows = four_rows();
    rows.features = 0;
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "0 features");
    rows = four_rows();
    rows.dense = (const double[]){1, 2, 3, NAN, 5, 6, 7, 8};
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "row 1, feature 1");
    rows.dense = NULL;
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "either dense or CSR");
    const size_t start[] = {0, 2, 2, 2, 2};
    rows.start = start;
    rows.value = (const double[]){1, 2};
    rows.column = (const uint32_t[]){1, 0};
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "columns must increase");
    rows.column = (const uint32_t[]){0, 2};
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "row 0 has column 2");
    rows.column = (const uint32_t[]){0, 1};
    rows.value = (const double[]){1, NAN};
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "not a finite number");
    rows.start = (const size_t[]){0, 2, 1, 2, 2};
    rows.value = (const double[]){1, 2};
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "ends before it starts");
}

static void outputs_follow_the_classes(void **state)
{
    (void)state;
    fplt_rows rows = four_rows();
    rows.label = (const double[]){0, 4, 1, 1};
    fplt_dataset *dataset = made(&rows, FPLT_TASK_CLASSES, shares, 2);
    assert_int_equal(fplt_dataset_outputs(dataset), 5);
    assert_int_equal(fplt__dataset_class_rows(dataset, 1), 2);
    assert_int_equal(fplt__dataset_class_rows(dataset, 2), 0);
    fplt_dataset_destroy(dataset);
    dataset = made(&rows, FPLT_TASK_REGRESSION, shares, 2);
    assert_int_equal(fplt_dataset_outputs(dataset), 1);
    fplt_dataset_destroy(dataset);
}

static void a_description_counts(void **state)
{
    (void)state;
    fplt_rows rows = {.count = 3,
                      .features = 2,
                      .dense = (const double[]){3, 4, 0, 0, 0, -1},
                      .label = (const double[]){-1, 1, 1}};
    fplt_dataset *dataset = made(&rows, FPLT_TASK_BINARY, (size_t[]){2, 1}, 2);
    fplt__description about = fplt__dataset_describe(dataset);
    assert_int_equal(about.rows, 3);
    assert_int_equal(about.features, 2);
    assert_int_equal(about.nonzeros, 3);
    assert_int_equal(about.agents, 2);
    assert_int_equal(about.outputs, 2);
    assert_int_equal(about.fewest_rows, 1);
    assert_int_equal(about.most_rows, 2);
    assert_int_equal(about.sparse, 0);
    assert_true(about.largest_norm == 5);
    assert_true(about.lowest_label == -1 && about.highest_label == 1);
    assert_int_equal(fplt__dataset_class_rows(dataset, 0), 1);
    assert_int_equal(fplt__dataset_class_rows(dataset, 1), 2);
    fplt_dataset_destroy(dataset);
}

static void norms_do_not_overflow(void **state)
{
    (void)state;
    fplt_rows rows = {.count = 2,
                      .features = 2,
                      .dense = (const double[]){3e200, 4e200, 3e-200, 0},
                      .label = (const double[]){1, -1}};
    fplt_dataset *dataset = made(&rows, FPLT_TASK_BINARY, (size_t[]){2}, 1);
    assert_close(fplt__dataset_describe(dataset).largest_norm, 5e200, 1e-15);
    fplt_dataset_destroy(dataset);
}

static void agents_can_be_picked(void **state)
{
    (void)state;
    fplt_read_settings settings = fplt_read_defaults();
    fplt_dataset *dataset =
        read_text_as("x.csv", "site,label,a\nu,1,1\nv,-1,2\nw,1,3\nv,1,4\n", &settings);
    fplt_dataset *picked;
    fplt_error error;
    assert_ok(fplt__dataset_pick(dataset, (uint32_t[]){2, 1}, 2, &picked, &error), error);
    assert_int_equal(fplt_dataset_agents(picked), 2);
    assert_string_equal(fplt_dataset_agent_name(picked, 0), "w");
    assert_string_equal(fplt_dataset_agent_name(picked, 1), "v");
    assert_string_equal(fplt_dataset_feature_name(picked, 0), "a");
    assert_string_equal(fplt_dataset_class_name(picked, 1), "1");
    fplt_rows shard = fplt_dataset_shard(picked, 1);
    assert_true(shard.count == 2 && shard.dense[0] == 2 && shard.dense[1] == 4);
    fplt_dataset_destroy(picked);
    assert_int_equal(fplt__dataset_pick(dataset, (uint32_t[]){3}, 1, &picked, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "agent 3, but there are 3 agents");
    assert_int_equal(fplt__dataset_pick(dataset, NULL, 0, &picked, &error), FPLT_BAD_VALUE);
    fplt_dataset_destroy(dataset);
}

static fplt_status make_and_pick(void *context)
{
    (void)context;
    fplt_rows rows = four_rows();
    fplt_dataset *dataset, *picked = NULL;
    fplt_error error;
    fplt_status status =
        fplt_dataset_from_rows(&rows, FPLT_TASK_BINARY, shares, 2, &dataset, &error);
    if (!status)
        status = fplt__dataset_pick(dataset, (uint32_t[]){1}, 1, &picked, &error);
    fplt_dataset_destroy(picked);
    fplt_dataset_destroy(dataset);
    return status;
}

/* Weight and offset of a row: functions of its first feature, so that a row can be told anywhere. */
static void assert_beside(const fplt_dataset *dataset)
{
    fplt_rows all = fplt_dataset_all(dataset);
    assert_non_null(all.weight);
    assert_non_null(all.offset);
    for (size_t r = 0; r < all.count; r++) {
        assert_true(all.weight[r] == 10 + all.dense[2 * r]);
        assert_true(all.offset[r] == -all.dense[2 * r]);
    }
}

static void weights_and_offsets_go_with_their_rows(void **state)
{
    (void)state;
    double weight[4], offset[4];
    fplt_rows rows = four_rows();
    for (size_t r = 0; r < 4; r++) {
        weight[r] = 10 + dense[2 * r];
        offset[r] = -dense[2 * r];
    }
    rows.weight = weight;
    rows.offset = offset;
    fplt_dataset *dataset = made(&rows, FPLT_TASK_BINARY, shares, 2), *other, *test;
    fplt_error error;
    assert_beside(dataset);
    assert_true(fplt_dataset_shard(dataset, 1).weight[0] == 13);
    const uint32_t last[] = {1};
    assert_ok(fplt__dataset_pick(dataset, last, 1, &other, &error), error);
    assert_beside(other);
    fplt_dataset_destroy(other);
    fplt_partition_settings shuffled = fplt_partition_defaults();
    shuffled.name = "shuffled";
    shuffled.agents = 2;
    assert_ok(fplt_dataset_partition(dataset, &shuffled, &other, &error), error);
    assert_beside(other);
    fplt_dataset_destroy(other);
    assert_ok(fplt_dataset_split(dataset, 0.5, 1, &other, &test, &error), error);
    assert_beside(other);
    assert_beside(test);
    fplt_dataset_destroy(test);
    fplt_dataset_destroy(other);
    fplt_dataset_destroy(dataset);
    weight[2] = -1;
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "row 2 has weight -1");
    weight[2] = 1;
    offset[3] = INFINITY;
    refuse(rows, FPLT_TASK_BINARY, shares, 2, "row 3 has offset inf");
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    survives_failed_allocations(make_and_pick, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_views_of_the_rows),
        cmocka_unit_test(a_shard_of_csr_rows_can_be_copied_again),
        cmocka_unit_test(columns_make_the_rows_in_their_order),
        cmocka_unit_test(a_watch_ends_the_copy_of_columns),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(outputs_follow_the_classes),
        cmocka_unit_test(a_description_counts),
        cmocka_unit_test(norms_do_not_overflow),
        cmocka_unit_test(agents_can_be_picked),
        cmocka_unit_test(weights_and_offsets_go_with_their_rows),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests_name("dataset", tests, NULL, NULL);
}
