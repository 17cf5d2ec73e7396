/* Data in memory: the same bits as from a file, without a copy, and never written to. */
#include "training.h"

#include <sys/mman.h>

#include "temporary.h"
#include "fedplt/job.h"
#include "fedplt/read.h"
#include "fedplt/transform.h"

static void count_release(void *context)
{
    ++*(int *)context;
}

static const char *const no_settings[] = {NULL};

/* Trains on a file and on the rows in memory; models and histories must agree to the bit. */
static void compare_with_file(const fplt_dataset *dataset, const char *format,
                              const char *const *pairs, int divided)
{
    fplt_error error;
    temporary file = temporary_file("", 0);
    int released = 0;
    assert_ok(fplt_dataset_write(dataset, file.path, format, &error), error);
    fplt_settings *by_file = settings_with(pairs), *in_memory = settings_with(pairs);
    assert_ok(fplt_settings_set(by_file, "data", file.path, "test", &error), error);
    assert_ok(fplt_settings_set(by_file, "format", format, "test", &error), error);
    fplt_job_source source = {.dataset = borrow(dataset, count_release, &released)};
    fplt_trainer *a = trainer_of(by_file, NULL), *b = trainer_of(in_memory, &source);
    run_to_the_end(a);
    run_to_the_end(b);
    assert_same_weights(a, b);
    assert_same_history(a, b);
    fplt_trainer_destroy(a);
    assert_int_equal(released, divided); /* then nothing was borrowed any more */
    fplt_trainer_destroy(b);
    assert_int_equal(released, 1);
    fplt_settings_destroy(by_file);
    fplt_settings_destroy(in_memory);
    unlink(file.path);
}

static void memory_gives_the_bits_of_a_file(void **state)
{
    (void)state;
    static const char *const plain[] = {"rounds", "40", "tolerance", "0", NULL};
    static const char *const changed[] = {"rounds", "40",  "tolerance", "0",   "standardise", "yes",
                                          "radius", "1.5", "holdout",   "0.2", NULL};
    fplt_dataset *dataset = paper_rows(4, 3, 60);
    compare_with_file(dataset, "csv", plain, 0);
    compare_with_file(dataset, "csv", changed, 1);
    fplt_dataset_destroy(dataset);
}

/* The rows of one agent as CSR whose entries do not begin at 0. */
static fplt_dataset *sparse_rows(void)
{
    enum { ROWS = 40, FEATURES = 6 };
    static size_t start[ROWS + 1];
    static uint32_t column[3 * ROWS + 5];
    static double value[3 * ROWS + 5], label[ROWS];
    fplt_error error;
    fplt_dataset *dataset;
    size_t entry = 5;
    for (size_t r = 0; r < ROWS; r++) {
        start[r] = entry;
        for (size_t k = 0; k < 1 + r % 3; k++, entry++) {
            column[entry] = (uint32_t)(2 * k + r % 2);
            value[entry] = sin((double)(7 * r + k)) + 0.1;
        }
        label[r] = cos((double)r * r) > 0 ? 1 : -1;
    }
    start[ROWS] = entry;
    fplt_rows rows = {.count = ROWS,
                      .features = FEATURES,
                      .start = start,
                      .column = column,
                      .value = value,
                      .label = label};
    size_t all = ROWS;
    assert_ok(fplt_dataset_borrow(&rows, FPLT_TASK_BINARY, &all, 1, NULL, NULL, &dataset, &error),
              error);
    return dataset;
}

static void sparse_rows_likewise(void **state)
{
    (void)state;
    static const char *const pairs[] = {"rounds", "40", "tolerance", "0",        "features", "6",
                                        "agents", "4",  "partition", "shuffled", NULL};
    static const char *const scaled[] = {"rounds",    "40",         "tolerance",   "0",
                                         "features",  "6",          "agents",      "4",
                                         "partition", "contiguous", "standardise", "scale",
                                         "radius",    "0.7",        NULL};
    fplt_error error;
    for (int k = 0; k < 2; k++) {
        fplt_dataset *dataset = sparse_rows();
        temporary file = temporary_file("", 0);
        assert_ok(fplt_dataset_write(dataset, file.path, "libsvm", &error), error);
        fplt_settings *by_file = settings_with(k ? scaled : pairs);
        fplt_settings *in_memory = settings_with(no_settings);
        for (const char *const *pair = k ? scaled : pairs; *pair; pair += 2)
            if (strcmp(pair[0], "features") != 0)
                assert_ok(fplt_settings_set(in_memory, pair[0], pair[1], "test", &error), error);
        assert_ok(fplt_settings_set(by_file, "data", file.path, "test", &error), error);
        assert_ok(fplt_settings_set(by_file, "format", "libsvm", "test", &error), error);
        fplt_job_source source = {.dataset = dataset};
        fplt_trainer *a = trainer_of(by_file, NULL), *b = trainer_of(in_memory, &source);
        run_to_the_end(a);
        run_to_the_end(b);
        assert_same_weights(a, b);
        fplt_trainer_destroy(a);
        fplt_trainer_destroy(b);
        fplt_settings_destroy(by_file);
        fplt_settings_destroy(in_memory);
        unlink(file.path);
    }
}

/* A borrowed array may lie in memory that cannot be written. */
static void borrowed_rows_are_never_written(void **state)
{
    (void)state;
    enum { ROWS = 64, FEATURES = 8 };
    size_t bytes = ROWS * FEATURES * sizeof(double), all = ROWS;
    fplt_error error;
    double *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double label[ROWS];
    assert_true(page != MAP_FAILED);
    for (size_t k = 0; k < ROWS * FEATURES; k++)
        page[k] = sin((double)k);
    for (size_t r = 0; r < ROWS; r++)
        label[r] = r % 3 ? 1 : -1;
    assert_int_equal(mprotect(page, bytes, PROT_READ), 0);
    fplt_rows rows = {.count = ROWS, .features = FEATURES, .dense = page, .label = label};
    static const struct {
        const char *standardise;
        double radius;
        int copies;
    } cases[] = {{"no", 0, 0}, {"no", 1e6, 0}, {"no", 1, 1}, {"scale", 0, 1}, {"yes", 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_dataset *lent, *copied;
        fplt_transform transform;
        fplt_transform_settings wanted = {cases[i].standardise, cases[i].radius};
        assert_ok(fplt_dataset_borrow(&rows, FPLT_TASK_BINARY, &all, 1, NULL, NULL, &lent, &error),
                  error);
        assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_BINARY, &all, 1, &copied, &error), error);
        assert_ok(fplt_transform_fit(lent, &wanted, &transform, &error), error);
        assert_ok(fplt_transform_apply(&transform, lent, &error), error);
        assert_ok(fplt_transform_apply(&transform, copied, &error), error);
        assert_int_equal(fplt_dataset_all(lent).dense != page, cases[i].copies);
        assert_memory_equal(fplt_dataset_all(lent).dense, fplt_dataset_all(copied).dense, bytes);
        fplt_transform_clear(&transform);
        fplt_dataset_destroy(lent);
        fplt_dataset_destroy(copied);
    }
    munmap(page, bytes);
}

/* Counts bytes, with their size before each block. */
struct meter {
    size_t now, most;
};

static void *meter_allocate(size_t bytes, void *context)
{
    struct meter *meter = context;
    char *block = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!block)
        return NULL;
    *(size_t *)block = bytes;
    meter->now += bytes;
    if (meter->now > meter->most)
        meter->most = meter->now;
    return block + 64;
}

static void meter_release(void *memory, void *context)
{
    struct meter *meter = context;
    if (!memory)
        return;
    char *block = (char *)memory - 64;
    meter->now -= *(size_t *)block;
    free(block);
}

/* The data set costs next to nothing, and training one copy, that in the kernel's layout. */
static void a_large_array_is_not_copied(void **state)
{
    (void)state;
    enum { ROWS = 1 << 16, FEATURES = 128 };
    struct meter meter = {0, 0};
    fplt_allocator allocator = {meter_allocate, meter_release, &meter};
    fplt_error error;
    size_t bytes = (size_t)ROWS * FEATURES * sizeof(double), all = ROWS;
    double *array = calloc(1, bytes), *label = calloc(ROWS, sizeof *label);
    assert_true(array && label);
    for (size_t r = 0; r < ROWS; r++)
        label[r] = array[r * FEATURES + r % FEATURES] = r % 2 ? 1 : -1;
    fplt_rows rows = {.count = ROWS, .features = FEATURES, .dense = array, .label = label};
    static const char *const pairs[] = {"rounds", "1", "radius", "2", "algorithm", "fed-plt", NULL};
    fplt_job_source source = {.dataset = NULL};
    fplt_allocator_set(&allocator);
    assert_ok(fplt_dataset_borrow(&rows, FPLT_TASK_BINARY, &all, 1, NULL, NULL, &source.dataset,
                                  &error),
              error);
    assert_true(meter.most < 1 << 16);
    fplt_settings *settings = settings_with(pairs);
    fplt_trainer *trainer = trainer_of(settings, &source);
    run_to_the_end(trainer);
    assert_in_range(meter.most, bytes, bytes + bytes / 16);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    fplt_allocator_set(NULL);
    assert_int_equal(meter.now, 0);
    free(array);
    free(label);
}

static void names_are_those_given(void **state)
{
    (void)state;
    static const char *const features[] = {"age", "sex", "height"}, *const agents[] = {"a", "b"},
                             *const classes[] = {"well", "ill"};
    fplt_error error;
    fplt_dataset *dataset = paper_rows(2, 3, 30);
    assert_ok(fplt_dataset_name(dataset, features, agents, classes, &error), error);
    static const char *const pairs[] = {"rounds", "5", NULL};
    fplt_settings *settings = settings_with(pairs);
    fplt_job_source source = {.dataset = dataset};
    fplt_trainer *trainer = trainer_of(settings, &source);
    fplt_model *model;
    run_to_the_end(trainer);
    assert_ok(fplt_trainer_model(trainer, &model, &error), error);
    const fplt_model_info *info = fplt_model_get_view(model);
    assert_string_equal(info->feature_names[1], "sex");
    assert_string_equal(info->class_names[1], "ill");
    assert_string_equal(fplt_dataset_agent_name(fplt_trainer_job(trainer)->training, 1), "b");
    assert_contains(info->training, "\"data\":\"memory\"");
    fplt_model_destroy(model);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    fplt_rows rows = {.count = 1, .features = 1, .dense = (double[]){1}, .label = (double[]){2}};
    size_t one = 1;
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_REGRESSION, &one, 1, &dataset, &error),
              error);
    assert_int_equal(fplt_dataset_name(dataset, NULL, NULL, classes, &error), FPLT_BAD_VALUE);
    fplt_dataset_destroy(dataset);
    rows.dense = (double[]){NAN};
    assert_int_equal(fplt_dataset_borrow(&rows, FPLT_TASK_REGRESSION, &one, 1, NULL, NULL, &dataset,
                                         &error),
                     FPLT_BAD_DATA);
    assert_null(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_gives_the_bits_of_a_file),
        cmocka_unit_test(sparse_rows_likewise),
        cmocka_unit_test(borrowed_rows_are_never_written),
        cmocka_unit_test(a_large_array_is_not_copied),
        cmocka_unit_test(names_are_those_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
