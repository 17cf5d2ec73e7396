/* Partitions and held-out rows: every row once, sizes as numpy.array_split, shares as Dirichlet. */
#include "helpers.h"
#include "data/dataset_access.h"

/* Rows whose only feature is their number. */
static fplt_dataset *numbered(size_t count, uint32_t classes, int sparse)
{
    double *values = malloc(count * sizeof *values), *labels = malloc(count * sizeof *labels);
    size_t *start = malloc((count + 1) * sizeof *start);
    uint32_t *column = calloc(count, sizeof *column);
    assert_true(values && labels && start && column);
    start[0] = 0;
    for (size_t r = 0; r < count; r++) {
        values[r] = (double)r + 1;
        labels[r] = classes == 2 ? (r % 2 ? 1 : -1) : (double)(r % classes);
        start[r + 1] = r + 1;
    }
    fplt_rows rows = {
        .count = count, .features = 1, .column = column, .value = values, .label = labels};
    rows.dense = sparse ? NULL : values;
    rows.start = sparse ? start : NULL;
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&rows, classes == 2 ? FPLT_TASK_BINARY : FPLT_TASK_CLASSES,
                                     &count, 1, &dataset, &error),
              error);
    free(values);
    free(labels);
    free(start);
    free(column);
    return dataset;
}

static fplt_dataset *partitioned(const fplt_dataset *dataset,
                                 const fplt_partition_settings *settings)
{
    fplt_dataset *made;
    fplt_error error;
    assert_ok(fplt_dataset_partition(dataset, settings, &made, &error), error);
    assert_int_equal(fplt_dataset_agents(made), settings->agents);
    return made;
}

/* Adds the rows of `dataset` to the tally; their labels must have come along. */
static void tally(const fplt_dataset *dataset, const fplt_dataset *source, unsigned *seen)
{
    fplt_rows from = fplt_dataset_all(source);
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        assert_true(rows.count > 0);
        for (size_t r = 0; r < rows.count; r++) {
            size_t number = (size_t)value_at(&rows, r, 0) - 1;
            assert_true(number < from.count);
            assert_true(rows.label[r] == from.label[number]);
            assert_true(r == 0 || value_at(&rows, r, 0) > value_at(&rows, r - 1, 0));
            seen[number]++;
        }
    }
}

static void check_permutation(const fplt_dataset *made, const fplt_dataset *source)
{
    size_t count = fplt_dataset_rows(source);
    unsigned *seen = calloc(count, sizeof *seen);
    assert_non_null(seen);
    assert_int_equal(fplt_dataset_rows(made), count);
    tally(made, source, seen);
    for (size_t r = 0; r < count; r++)
        assert_int_equal(seen[r], 1);
    free(seen);
}

static void every_row_goes_to_one_agent(void **state)
{
    (void)state;
    fplt_partition_settings settings = fplt_partition_defaults();
    const uint32_t agents[] = {1, 2, 7, 99, 100};
    const double alphas[] = {1e-9, 0.01, 0.5, 100};
    for (int sparse = 0; sparse < 2; sparse++) {
        fplt_dataset *source = numbered(100, 3, sparse);
        for (size_t p = 0; fplt__partition_list(p, NULL); p++)
            for (size_t a = 0; a < 5; a++)
                for (size_t b = 0; b < 4; b++) {
                    settings.name = fplt__partition_list(p, NULL);
                    settings.agents = agents[a];
                    settings.alpha = alphas[b];
                    settings.seed = 17 * b + a;
                    fplt_dataset *made = partitioned(source, &settings);
                    check_permutation(made, source);
                    fplt_dataset_destroy(made);
                }
        fplt_dataset_destroy(source);
    }
}

/* numpy.array_split(range(rows), agents): the first rows mod agents have one more. */
static void sizes_are_those_of_array_split(void **state)
{
    (void)state;
    const size_t rows[] = {10, 11, 99, 100, 101, 1};
    const uint32_t agents[] = {3, 11, 10, 7, 100, 1};
    fplt_partition_settings settings = fplt_partition_defaults();
    for (size_t c = 0; c < 6; c++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            fplt_dataset *source = numbered(rows[c], 2, 0);
            settings.agents = agents[c];
            settings.name = shuffled ? "shuffled" : "contiguous";
            fplt_dataset *made = partitioned(source, &settings);
            size_t next = 0;
            for (uint32_t i = 0; i < agents[c]; i++) {
                fplt_rows shard = fplt_dataset_shard(made, i);
                assert_int_equal(shard.count, rows[c] / agents[c] + (i < rows[c] % agents[c]));
                for (size_t r = 0; r < shard.count && !shuffled; r++)
                    assert_true(shard.dense[r] == (double)++next);
            }
            fplt_dataset_destroy(made);
            fplt_dataset_destroy(source);
        }
}

static void shuffling_depends_on_the_seed_alone(void **state)
{
    (void)state;
    fplt_dataset *source = numbered(200, 2, 0), *made[3];
    for (int i = 0; i < 3; i++) {
        fplt_partition_settings settings = {"shuffled", 4, 1, i == 2 ? 8 : 7};
        made[i] = partitioned(source, &settings);
    }
    size_t bytes = 200 * sizeof(double);
    assert_memory_equal(fplt_dataset_all(made[0]).dense, fplt_dataset_all(made[1]).dense, bytes);
    assert_memory_not_equal(fplt_dataset_all(made[0]).dense, fplt_dataset_all(made[2]).dense,
                            bytes);
    assert_memory_not_equal(fplt_dataset_all(made[0]).dense, fplt_dataset_all(source).dense, bytes);
    for (int i = 0; i < 3; i++)
        fplt_dataset_destroy(made[i]);
    fplt_dataset_destroy(source);
}

/* A share of Dirichlet(a, ..., a) over N has mean 1/N and variance (N - 1)/(N^2 (N a + 1)). */
static void shares_are_dirichlet(void **state)
{
    (void)state;
    enum { ROWS = 4000, AGENTS = 5, TRIALS = 400 };
    const double alphas[] = {0.3, 2};
    fplt_dataset *source = numbered(ROWS, 2, 0);
    for (int a = 0; a < 2; a++) {
        double mean = 0, square = 0;
        for (uint64_t seed = 0; seed < TRIALS; seed++) {
            fplt_partition_settings settings = {"skewed", AGENTS, alphas[a], seed};
            fplt_dataset *made = partitioned(source, &settings);
            fplt_rows shard = fplt_dataset_shard(made, 2);
            double share = 0;
            for (size_t r = 0; r < shard.count; r++)
                share += shard.label[r] > 0;
            share /= ROWS / 2;
            mean += share / TRIALS;
            square += share * share / TRIALS;
            fplt_dataset_destroy(made);
        }
        double n = AGENTS, variance = (n - 1) / (n * n * (n * alphas[a] + 1));
        assert_near(mean, 1 / n, 5 * sqrt(variance / TRIALS));
        assert_near(square - mean * mean, variance, 0.3 * variance);
    }
    fplt_dataset_destroy(source);
}

/* An extreme alpha gives a class to one agent; the others then hold exactly one row each. */
static void the_empty_are_fed_from_the_full(void **state)
{
    (void)state;
    fplt_dataset *source = numbered(1000, 2, 0);
    fplt_partition_settings settings = {"skewed", 300, 1e-12, 3};
    fplt_dataset *made = partitioned(source, &settings);
    size_t large = 0;
    for (uint32_t i = 0; i < 300; i++)
        large += fplt_dataset_shard(made, i).count > 1;
    assert_true(large >= 1 && large <= 2);
    check_permutation(made, source);
    fplt_dataset_destroy(made);
    fplt_dataset_destroy(source);
}

static void held_out_rows_are_a_part_of_each_agent(void **state)
{
    (void)state;
    fplt_dataset *source = numbered(103, 3, 1), *train, *test;
    fplt_partition_settings settings = fplt_partition_defaults();
    fplt_error error;
    fplt_dataset *parts = partitioned(source, &settings);
    assert_ok(fplt_dataset_split(parts, 0.25, 5, &train, &test, &error), error);
    unsigned *seen = calloc(103, sizeof *seen);
    assert_non_null(seen);
    tally(train, source, seen);
    tally(test, source, seen);
    for (size_t r = 0; r < 103; r++)
        assert_int_equal(seen[r], 1);
    free(seen);
    for (uint32_t i = 0; i < 10; i++) {
        size_t rows = fplt_dataset_shard(parts, i).count;
        assert_int_equal(fplt_dataset_shard(test, i).count, (size_t)(0.25 * (double)rows + 0.5));
    }
    assert_int_equal(fplt_dataset_outputs(test), 3);
    fplt_dataset_destroy(train);
    fplt_dataset_destroy(test);
    /* one row must stay; agents with a single row have nothing to hold out */
    settings.agents = 100;
    fplt_dataset *thin = partitioned(source, &settings);
    assert_ok(fplt_dataset_split(thin, 0.9, 5, &train, &test, &error), error);
    assert_int_equal(fplt_dataset_agents(train), 100);
    assert_int_equal(fplt_dataset_rows(train), 100);
    assert_int_equal(fplt_dataset_agents(test), 3);
    fplt_dataset_destroy(train);
    fplt_dataset_destroy(test);
    assert_int_equal(fplt_dataset_split(thin, 0.001, 5, &train, &test, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "leaves no row to test on");
    const double bad[] = {0, 1, -0.5, NAN};
    for (int i = 0; i < 4; i++)
        assert_int_equal(fplt_dataset_split(thin, bad[i], 5, &train, &test, &error),
                         FPLT_BAD_VALUE);
    assert_null(train);
    fplt_dataset_destroy(thin);
    fplt_dataset_destroy(parts);
    fplt_dataset_destroy(source);
}

static void names_go_with_their_agents(void **state)
{
    (void)state;
    fplt_read_settings settings = fplt_read_defaults();
    fplt_dataset *dataset =
        read_text_as("x.csv", "site,a,label\nu,1,0\nv,2,1\nv,3,0\nv,4,1\n", &settings);
    fplt_dataset *train, *test;
    fplt_error error;
    assert_ok(fplt_dataset_split(dataset, 0.4, 0, &train, &test, &error), error);
    assert_int_equal(fplt_dataset_agents(test), 1);
    assert_string_equal(fplt_dataset_agent_name(test, 0), "v");
    assert_string_equal(fplt_dataset_agent_name(train, 0), "u");
    assert_string_equal(fplt_dataset_feature_name(test, 0), "a");
    fplt_dataset_destroy(train);
    fplt_dataset_destroy(test);
    fplt_dataset_destroy(dataset);
}

static void refuse(const fplt_dataset *dataset, fplt_partition_settings settings,
                   fplt_status expected, const char *part)
{
    fplt_dataset *made;
    fplt_error error;
    assert_int_equal(fplt_dataset_partition(dataset, &settings, &made, &error), expected);
    assert_null(made);
    assert_contains(error.text, part);
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    fplt_dataset *source = numbered(5, 2, 0), *regression;
    fplt_error error;
    refuse(source, (fplt_partition_settings){"contiguous", 6, 1, 0}, FPLT_BAD_VALUE,
           "6 agents, but there are only 5 rows");
    refuse(source, (fplt_partition_settings){"contiguous", 0, 1, 0}, FPLT_BAD_VALUE, "agents is 0");
    refuse(source, (fplt_partition_settings){"random", 2, 1, 0}, FPLT_BAD_VALUE,
           "no partition 'random'");
    refuse(source, (fplt_partition_settings){"skewed", 2, 0, 0}, FPLT_BAD_VALUE, "alpha is 0");
    refuse(source, (fplt_partition_settings){"skewed", 2, NAN, 0}, FPLT_BAD_VALUE, "alpha is nan");
    fplt_rows rows = fplt_dataset_all(source);
    size_t count = 5;
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_REGRESSION, &count, 1, &regression, &error),
              error);
    refuse(regression, (fplt_partition_settings){"skewed", 2, 1, 0}, FPLT_UNSUPPORTED,
           "this is a regression");
    fplt_dataset_destroy(regression);
    fplt_dataset_destroy(source);
}

/* The source is made inside too, because the allocator changes only while nothing is alive. */
static fplt_status partition_once(void *context)
{
    fplt_read_settings reading = fplt_read_defaults();
    const char *text = "site,a,label\nu,1,0\nv,2,1\nv,3,0\nv,4,1\n";
    fplt_dataset *source, *made = NULL, *train = NULL, *test = NULL;
    fplt_error error;
    fplt_status status =
        fplt__dataset_read_memory("x.csv", text, strlen(text), &reading, &source, &error);
    if (!status)
        status = fplt_dataset_partition(source, context, &made, &error);
    if (!status)
        status = fplt_dataset_split(source, 0.5, 0, &train, &test, &error);
    fplt_dataset_destroy(train);
    fplt_dataset_destroy(test);
    fplt_dataset_destroy(made);
    fplt_dataset_destroy(source);
    return status;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    for (size_t p = 0; fplt__partition_list(p, NULL); p++) {
        fplt_partition_settings settings = {fplt__partition_list(p, NULL), 3, 0.1, 0};
        survives_failed_allocations(partition_once, &settings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_goes_to_one_agent),
        cmocka_unit_test(sizes_are_those_of_array_split),
        cmocka_unit_test(shuffling_depends_on_the_seed_alone),
        cmocka_unit_test(shares_are_dirichlet),
        cmocka_unit_test(the_empty_are_fed_from_the_full),
        cmocka_unit_test(held_out_rows_are_a_part_of_each_agent),
        cmocka_unit_test(names_go_with_their_agents),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests_name("partition", tests, NULL, NULL);
}
