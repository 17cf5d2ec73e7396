/* LIBSVM and NPY, and writing: what is written is read again to the last bit. */
#include "helpers.h"
#include "data/dataset_access.h"

#include <dirent.h>
#include <locale.h>
#include <time.h>

static fplt_read_settings standard;

static void libsvm_gives_csr(void **state)
{
    (void)state;
    const char *text = "# a comment, with a comma\n"
                       "+1 1:0.5 3:-2e1\t7:1 # trailing\r\n"
                       "\n"
                       "-1\n"
                       "  1 2:3   ";
    fplt_dataset *dataset = read_text_as("x", text, &standard);
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.features, 7);
    assert_null(all.dense);
    const size_t start[] = {0, 3, 3, 4};
    assert_memory_equal(all.start, start, sizeof start);
    assert_true(value_at(&all, 0, 2) == -20 && value_at(&all, 0, 6) == 1);
    assert_true(value_at(&all, 2, 1) == 3);
    assert_true(all.label[0] == 1 && all.label[1] == -1 && all.label[2] == 1);
    fplt_dataset_destroy(dataset);
    dataset = read_text_as("x", text, &(fplt_read_settings){.features = 9});
    assert_int_equal(fplt_dataset_features(dataset), 9);
    fplt_dataset_destroy(dataset);
}

static void bad_libsvm_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *part;
    } cases[] = {
        {"", "f.libsvm: ", "the file is empty"},
        {"# nothing\n\n", "f.libsvm: ", "there are no rows"},
        {"1 1:1\n-1 qid:3 1:1\n", "f.libsvm:2: ", "'qid:3': ranking files (qid) are not supported"},
        {"1 1:1\n-1 0:1\n", "f.libsvm:2: ", "index 0: indices count from 1"},
        {"1 3:1 2:1\n", "f.libsvm:1: ", "index 2 after 3: indices must increase"},
        {"1 3:1 3:1\n", "f.libsvm:1: ", "index 3 is there twice"},
        {"1 4294967296:1\n", "f.libsvm:1: ", "an index above 4294967295"},
        {"1 99999999999999999999999:1\n", "f.libsvm:1: ", "an index above"},
        {"1 1:1\n\n-1 1:nan\n", "f.libsvm:3: ", "index 1: 'nan' is not a finite number"},
        {"1 1:1e400\n", "f.libsvm:1: ", "not a finite number"},
        {"1 1:x\n", "f.libsvm:1: ", "index 1: 'x' is not a number"},
        {"1 1:\n", "f.libsvm:1: ", "index 1: '' is not a number"},
        {"1 a:1\n", "f.libsvm:1: ", "'a:1' is not of the form index:value"},
        {"1 -1:1\n", "f.libsvm:1: ", "'-1:1' is not of the form"},
        {"1 1 2:1\n", "f.libsvm:1: ", "'1' is not of the form"},
        {"1 1 :1\n", "f.libsvm:1: ", "'1' is not of the form"},
        {"1 :1\n", "f.libsvm:1: ", "':1' is not of the form"},
        {"1:1 2:1\n", "f.libsvm:1: ", "begins with '1:1', but a label is wanted"},
        {"1 1:1\n2,3 1:1\n", "f.libsvm:2: ", "the label '2,3' is not a number"},
        {"1 1:1\n1 1:2\n", "f.libsvm: ", "only one class"},
        {"1 1:1\n2 9:1\n", "f.libsvm:2: ", "index 9, but there are to be 8 features"},
        {"1\n2\n", "f.libsvm: ", "there are no features"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_read_settings settings = standard;
        if (strstr(cases[i].part, "8 features"))
            settings.features = 8;
        refuse_text("f.libsvm", cases[i].text, &settings, cases[i].where, cases[i].part);
    }
    refuse_bytes("f.libsvm", "1 1:1\n-1 1:\0\n", 13, &standard, "f.libsvm:2: ", "NUL byte");
    fplt_dataset *dataset;
    fplt_error error;
    fplt_read_settings settings = {.site = "a"};
    assert_int_equal(fplt__dataset_read_memory("f.libsvm", "1 1:1\n", 6, &settings, &dataset,
                                               &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "f.libsvm: site is for CSV files");
    settings = (fplt_read_settings){.label = "b"};
    assert_int_equal(fplt__dataset_read_memory("f.libsvm", "1 1:1\n", 6, &settings, &dataset,
                                               &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "the label is always first");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Counts as published; sizes of 100 shards as numpy.array_split gives them. */
static void a9a_and_mushrooms(void **state)
{
    (void)state;
    const char *path = SHARED "/data/libsvm_a9a/a9a";
    fplt_dataset *dataset, *shards;
    fplt_error error;
    need_file(path);
    double before = seconds();
    assert_ok(fplt_dataset_read(&path, 1, &standard, &dataset, &error), error);
    print_message("# a9a was read in %.1f ms\n", 1e3 * (seconds() - before));
    assert_int_equal(fplt_dataset_rows(dataset), 32561);
    assert_int_equal(fplt_dataset_features(dataset), 123);
    assert_int_equal(fplt__dataset_class_rows(dataset, 1), 7841);
    fplt_partition_settings settings = fplt_partition_defaults();
    settings.agents = 100;
    assert_ok(fplt_dataset_partition(dataset, &settings, &shards, &error), error);
    assert_same_values(dataset, shards);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(fplt_dataset_shard(shards, i).count, i < 61 ? 326 : 325);
    fplt_dataset_destroy(shards);
    fplt_dataset_destroy(dataset);

    path = SHARED "/data/libsvm_a9a/a9a.t"; /* its highest index is 122 */
    assert_ok(fplt_dataset_read(&path, 1, &(fplt_read_settings){.features = 123}, &dataset, &error),
              error);
    assert_int_equal(fplt_dataset_rows(dataset), 16281);
    assert_int_equal(fplt_dataset_features(dataset), 123);
    fplt_dataset_destroy(dataset);

    path = SHARED "/data/libsvm_mushrooms/mushrooms";
    assert_ok(fplt_dataset_read(&path, 1, &(fplt_read_settings){.labels = "1=1,2=-1"}, &dataset,
                                &error),
              error);
    assert_int_equal(fplt_dataset_rows(dataset), 8124);
    assert_int_equal(fplt_dataset_features(dataset), 112);
    assert_int_equal(fplt__dataset_class_rows(dataset, 1), 3916);
    assert_string_equal(fplt_dataset_class_name(dataset, 1), "1");
    assert_true(fplt_dataset_all(dataset).label[0] == 1);
    fplt_dataset_destroy(dataset);
}

/* An NPY file put together by hand. */
static size_t npy(char *bytes, int version, const char *header, const void *numbers, size_t size)
{
    size_t length = strlen(header), start = version == 1 ? 10 : 12;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)version;
    bytes[7] = 0;
    memset(bytes + 8, 0, start - 8);
    bytes[8] = (char)(length & 255);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + start, header, length);
    memcpy(bytes + start + length, numbers, size);
    return start + length + size;
}

static const double six[] = {1, 2, -1, 3, 4, 1};
#define SIX "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }          \n"

static fplt_dataset *read_npy(int version, const char *header, const void *numbers, size_t size,
                              const fplt_read_settings *settings)
{
    char bytes[512];
    fplt_dataset *dataset;
    fplt_error error;
    size_t whole = npy(bytes, version, header, numbers, size);
    assert_ok(fplt__dataset_read_memory("x", bytes, whole, settings, &dataset, &error), error);
    return dataset;
}

static void npy_is_read(void **state)
{
    (void)state;
    const double expected[] = {1, 2, 3, 4};
    for (int version = 1; version <= 2; version++) {
        fplt_dataset *dataset = read_npy(version, SIX, six, sizeof six, &standard);
        assert_memory_equal(fplt_dataset_all(dataset).dense, expected, sizeof expected);
        assert_true(fplt_dataset_all(dataset).label[0] == -1);
        fplt_dataset_destroy(dataset);
    }
    fplt_dataset *dataset = read_npy(1, "{'shape':(2,3),'fortran_order':False,'descr':'<f8'}", six,
                                     sizeof six, &(fplt_read_settings){.label = "1"});
    assert_true(fplt_dataset_all(dataset).dense[2] == 4 && fplt_dataset_all(dataset).label[1] == 1);
    fplt_dataset_destroy(dataset);
    const float floats[] = {0.1f, 7, 0.2f, 8};
    dataset = read_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", floats,
                       sizeof floats, &(fplt_read_settings){.task = "regression"});
    assert_true(fplt_dataset_all(dataset).dense[1] == (double)0.2f);
    assert_true(fplt_dataset_all(dataset).label[1] == 8);
    fplt_dataset_destroy(dataset);
    dataset = read_npy(1, SIX, six, sizeof six, &(fplt_read_settings){.label = "none"});
    assert_int_equal(fplt_dataset_features(dataset), 3);
    fplt_dataset_destroy(dataset);
}

static void bad_npy_is_refused(void **state)
{
    (void)state;
    static const double bad_number[] = {1, 2, -1, 3, NAN, 1};
    static const struct {
        int version;
        const char *header;
        size_t size;
        const char *part;
    } cases[] = {
        {3, SIX, sizeof six, "NPY version 3.0, but 1.0 and 2.0 are read"},
        {1, SIX, sizeof six - 1, "need 48 bytes, but there are 47: the file is cut short"},
        {1, SIX, 0, "cut short"},
        {1, SIX, sizeof six + 8, "too long"},
        {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3)}", 12, "of type '<f2'"},
        {1, "{'descr': '=f8', 'fortran_order': False, 'shape': (2, 3)}", 48, "of type '=f8'"},
        {1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,)}", 48, "of type"},
        {1, "{'descr': '<f8', 'fortran_order': 1, 'shape': (2, 3)}", 48, "neither True nor"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,)}", 48, "the shape is (6,)"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3)}", 48,
         "(1, 2, 3), but an"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8, "the shape is ()"},
        {1, "{'descr': '<f8', 'fortran_order': False}", 48, "not in the NPY header"},
        {1, "{'fortran_order': False, 'shape': (2, 3)}", 48, "no descr or fortran_order"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}", 0, "is empty (0 x 3)"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 1)}", 48, "no features"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 48,
         "cut short"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 1)}", 48,
         "two dimensions"},
    };
    char bytes[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char numbers[64] = {0};
        memcpy(numbers, six, sizeof six);
        size_t whole = npy(bytes, cases[i].version, cases[i].header, numbers, cases[i].size);
        refuse_bytes("f.npy", bytes, whole, &standard, "f.npy: ", cases[i].part);
    }
    size_t whole = npy(bytes, 1, SIX, bad_number, sizeof bad_number);
    refuse_bytes("f.npy", bytes, whole, &standard, "f.npy: ", "row 2, column 2: nan is not");
    refuse_bytes("f.npy", bytes, whole, &(fplt_read_settings){.label = "4"},
                 "f.npy: ", "label is '4', but it must be the number of a column, 1 to 3");
    refuse_bytes("f.npy", bytes, 9, &standard, "f.npy: ", "ends within the NPY header");
    refuse_bytes("f.npy", bytes, 40, &standard, "f.npy: ", "ends within the NPY header");
    refuse_bytes("f.npy", bytes, 5, &standard, "f.npy: ", "not an NPY file");
    refuse_bytes("f.npy", bytes, 0, &standard, "f.npy: ", "the file is empty");
}

static void files_of_other_widths_name_each_other(void **state)
{
    (void)state;
    struct folder folder;
    char path[2][160], bytes[512];
    fplt_dataset *dataset;
    fplt_error error;
    folder_make(&folder);
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/part%d.npy", folder.path, i);
    write_bytes(path[0], bytes, npy(bytes, 1, SIX, six, sizeof six));
    const char *header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)}";
    write_bytes(path[1], bytes, npy(bytes, 1, header, six, sizeof six));
    const char *const paths[] = {path[0], path[1]};
    assert_int_equal(fplt_dataset_read(paths, 2, &standard, &dataset, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "part1.npy: 1 features, but");
    assert_contains(error.text, "part0.npy has 2");
    for (int i = 0; i < 2; i++)
        unlink(path[i]);
    rmdir(folder.path);
}

/* Numbers of all sizes, signs and lengths; some zero, some minus zero. */
static double any_number(fplt_stream *stream)
{
    uint64_t kind = fplt_stream_below(stream, 10);
    if (kind < 3)
        return kind ? 0.0 : -0.0;
    if (kind < 5)
        return (double)fplt_stream_below(stream, 1000) / 8;
    return ldexp(fplt_stream_uniform(stream) * 2 - 1, (int)fplt_stream_below(stream, 2000) - 1050);
}

enum { ROWS = 60, FEATURES = 7 };

static fplt_dataset *any_dataset(fplt_task task, int sparse, uint64_t seed)
{
    static double values[ROWS * FEATURES], labels[ROWS];
    static size_t start[ROWS + 1];
    static uint32_t column[ROWS * FEATURES];
    const size_t shares[] = {10, 1, 49};
    fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t used = 0;
    for (size_t r = 0; r < ROWS; r++) {
        labels[r] = task == FPLT_TASK_BINARY    ? (r % 2 ? 1 : -1)
                    : task == FPLT_TASK_CLASSES ? (double)(r % 4)
                                                : any_number(&stream);
        for (uint32_t j = 0; j < FEATURES; j++) {
            /* the last column is never empty, or LIBSVM could not show that it is there */
            if (sparse && j < FEATURES - 1 && fplt_stream_below(&stream, 3))
                continue;
            column[used] = j;
            values[used++] = j == FEATURES - 1 ? 1.5 : any_number(&stream);
        }
        start[r + 1] = used;
    }
    fplt_rows rows = {.count = ROWS, .features = FEATURES, .label = labels};
    rows.dense = sparse ? NULL : values;
    rows.start = sparse ? start : NULL;
    rows.column = column;
    rows.value = values;
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&rows, task, shares, 3, &dataset, &error), error);
    return dataset;
}

static fplt_dataset *written_and_read(const fplt_dataset *dataset, const char *path)
{
    static const char *const tasks[] = {"binary", "classes", "regression"};
    fplt_read_settings settings = {.task = tasks[fplt_dataset_task(dataset)]};
    fplt_dataset *read;
    fplt_error error;
    assert_ok(fplt_dataset_write(dataset, path, NULL, &error), error);
    assert_ok(fplt_dataset_read(&path, 1, &settings, &read, &error), error);
    unlink(path);
    return read;
}

static void what_is_written_is_read_to_the_last_bit(void **state)
{
    (void)state;
    static const char *const names[] = {"x.csv", "x.libsvm", "x.npy"};
    struct folder folder;
    folder_make(&folder);
    for (int task = 0; task < 3; task++)
        for (int sparse = 0; sparse < 2; sparse++)
            for (int i = 0; i < 3; i++) {
                fplt_dataset *dataset = any_dataset((fplt_task)task, sparse, (uint64_t)task + 1);
                fplt_dataset *read = written_and_read(dataset, folder_file(&folder, names[i]));
                assert_int_equal(fplt_dataset_task(read), task);
                assert_same_values(dataset, read);
                if (i == 0)
                    assert_same_agents(dataset, read);
                assert_int_equal(fplt__dataset_describe(read).sparse, i == 1);
                fplt_dataset_destroy(read);
                fplt_dataset_destroy(dataset);
            }
    rmdir(folder.path);
}

static void names_survive_csv(void **state)
{
    (void)state;
    struct folder folder;
    folder_make(&folder);
    const char *text = "site,\" a,\"\"b\"\" \",\"NA\",c,label\n\"NA\",1,2,3,0\n\"?\",4,5,6,1\n"
                       "\"two\nlines\",4,5,6,1\n";
    fplt_dataset *dataset = read_text_as("x.csv", text, &standard);
    fplt_dataset *read = written_and_read(dataset, folder_file(&folder, "x.csv"));
    assert_same_values(dataset, read);
    assert_same_agents(dataset, read);
    for (size_t j = 0; j < 3; j++)
        assert_string_equal(fplt_dataset_feature_name(dataset, j),
                            fplt_dataset_feature_name(read, j));
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(fplt_dataset_agent_name(dataset, i), fplt_dataset_agent_name(read, i));
    fplt_dataset_destroy(read);
    fplt_dataset_destroy(dataset);
    rmdir(folder.path);
}

/* The bytes NumPy 1.x writes for np.save of a 1 x 2 array, version 1.0 with a header of 118. */
static void npy_is_as_numpy_writes_it(void **state)
{
    (void)state;
    struct folder folder;
    char bytes[256] = {0};
    fplt_error error;
    fplt_rows rows = {
        .count = 1, .features = 1, .dense = (const double[]){0.5}, .label = (const double[]){-2}};
    fplt_dataset *dataset;
    folder_make(&folder);
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_REGRESSION, (size_t[]){1}, 1, &dataset,
                                     &error),
              error);
    const char *path = folder_file(&folder, "x.npy");
    assert_ok(fplt_dataset_write(dataset, path, "npy", &error), error);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 128 + 16);
    fclose(file);
    assert_memory_equal(bytes,
                        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, "
                        "'shape': (1, 2), }",
                        10 + 59);
    assert_int_equal(bytes[127], '\n');
    const double numbers[] = {0.5, -2};
    assert_memory_equal(bytes + 128, numbers, sizeof numbers);
    unlink(path);
    rmdir(folder.path);
    fplt_dataset_destroy(dataset);
}

static void the_programs_locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; i < 4 && !found; i++)
        found = setlocale(LC_NUMERIC, locales[i]);
    if (!found) {
        print_message("# no locale with a decimal comma is installed: not tried\n");
        return;
    }
    struct folder folder;
    folder_make(&folder);
    fplt_dataset *dataset = any_dataset(FPLT_TASK_REGRESSION, 0, 9);
    fplt_dataset *read = written_and_read(dataset, folder_file(&folder, "x.csv"));
    assert_same_values(dataset, read);
    fplt_dataset_destroy(read);
    fplt_dataset_destroy(dataset);
    rmdir(folder.path);
    setlocale(LC_NUMERIC, "C");
}

static void writing_fails_with_a_sentence_and_leaves_nothing(void **state)
{
    (void)state;
    struct folder folder;
    fplt_error error;
    fplt_dataset *dataset = any_dataset(FPLT_TASK_BINARY, 0, 1);
    folder_make(&folder);
    assert_int_equal(fplt_dataset_write(dataset, "/tmp/there/is/no/x.csv", NULL, &error), FPLT_IO);
    assert_contains(error.text, "/tmp/there/is/no/x.csv: cannot write here");
    assert_int_equal(fplt_dataset_write(dataset, "x.txt", NULL, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "x.txt: the name does not end with");
    assert_int_equal(fplt_dataset_write(dataset, "x.txt", "json", &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "format is 'json'");
    assert_int_equal(fplt_dataset_write(dataset, folder.path, "csv", &error), FPLT_IO);
    DIR *open = opendir("/tmp");
    assert_non_null(open);
    for (struct dirent *entry = readdir(open); entry; entry = readdir(open))
        assert_true(strncmp(entry->d_name, folder.path + 5, strlen(folder.path) - 5) != 0 ||
                    strlen(entry->d_name) == strlen(folder.path) - 5);
    closedir(open);
    rmdir(folder.path);
    fplt_dataset_destroy(dataset);
}

static fplt_status read_one(void *context)
{
    static const char *const text = "1 1:2 3:4\n2 5:6\n3\n";
    fplt_dataset *dataset;
    fplt_error error;
    fplt_status status =
        fplt__dataset_read_memory("x", text, strlen(text), context, &dataset, &error);
    fplt_dataset_destroy(dataset);
    return status;
}

static fplt_status read_array(void *context)
{
    char bytes[512];
    fplt_dataset *dataset;
    fplt_error error;
    size_t whole = npy(bytes, 1, SIX, six, sizeof six);
    fplt_status status = fplt__dataset_read_memory("x", bytes, whole, context, &dataset, &error);
    fplt_dataset_destroy(dataset);
    return status;
}

static fplt_status write_one(void *context)
{
    fplt_dataset *dataset;
    fplt_error error;
    fplt_rows rows = {
        .count = 1, .features = 1, .dense = (const double[]){0.5}, .label = (const double[]){-2}};
    fplt_status status =
        fplt_dataset_from_rows(&rows, FPLT_TASK_REGRESSION, (size_t[]){1}, 1, &dataset, &error);
    if (!status)
        status = fplt_dataset_write(dataset, context, NULL, &error);
    fplt_dataset_destroy(dataset);
    return status;
}

static fplt_status read_path(void *context)
{
    const char *path = context;
    fplt_dataset *dataset;
    fplt_error error;
    fplt_read_settings settings = {.task = "regression"};
    fplt_status status = fplt_dataset_read(&path, 1, &settings, &dataset, &error);
    fplt_dataset_destroy(dataset);
    return status;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    struct folder folder;
    fplt_read_settings settings = standard;
    survives_failed_allocations(read_one, &settings);
    survives_failed_allocations(read_array, &settings);
    folder_make(&folder);
    char *path = (char *)(uintptr_t)folder_file(&folder, "x.csv");
    survives_failed_allocations(write_one, path);
    survives_failed_allocations(read_path, path);
    unlink(path);
    rmdir(folder.path);
}

/* The two data sets are the same to the last bit. */
static void same_data(const fplt_dataset *a, const fplt_dataset *b)
{
    fplt_rows x = fplt_dataset_all(a), y = fplt_dataset_all(b);
    assert_int_equal(x.count, y.count);
    assert_int_equal(x.features, y.features);
    assert_int_equal(fplt_dataset_agents(a), fplt_dataset_agents(b));
    assert_memory_equal(x.label, y.label, x.count * sizeof *x.label);
    for (size_t r = 0; r < x.count; r++)
        for (size_t j = 0; j < x.features; j++)
            assert_true(same_bits(value_at(&x, r, j), value_at(&y, r, j)));
}

static size_t add_random_number(fplt_stream *stream, char *text)
{
    double value = ldexp(fplt_stream_normal(stream), (int)fplt_stream_below(stream, 60) - 30);
    return (size_t)sprintf(text, "%.*g", 1 + (int)fplt_stream_below(stream, 18), value);
}

/* Rows of plain numbers are read in one pass, quoted ones field by field: the same comes out, rows of
 * both kinds, missing values and blanks in one file included. */
static void the_quick_way_reads_the_same_csv(void **state)
{
    (void)state;
    static char plain[1 << 18], quoted[1 << 18];
    fplt_stream stream = fplt_stream_make(7, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t p = (size_t)sprintf(plain, "site,a,label,b,c\n"),
           q = (size_t)sprintf(quoted, "%s", plain);
    for (int r = 0; r < 1500; r++) {
        const char *end = r % 5 ? "\n" : "\r\n";
        for (int i = 0; i < 5; i++) {
            char field[64];
            if (i == 0 || i == 2)
                sprintf(field, "%s%d", i ? "" : "s", (int)fplt_stream_below(&stream, 3));
            else if (r % 50 == 7 && i == 4)
                strcpy(field, r % 100 == 7 ? "NA" : "");
            else
                add_random_number(&stream, field);
            int bare = strcmp(field, "NA") == 0;
            p += (size_t)sprintf(plain + p, "%s%s%s%s", i ? "," : "", r % 11 ? "" : " ", field,
                                 i == 4 ? end : "");
            q += (size_t)sprintf(quoted + q, bare ? "%s%s%s" : "%s\"%s\"%s", i ? "," : "", field,
                                 i == 4 ? end : "");
        }
    }
    fplt_read_settings settings = {.task = "classes", .drop_missing = 1};
    fplt_dataset *a = read_text_as("x.csv", plain, &settings);
    fplt_dataset *b = read_text_as("x.csv", quoted, &settings);
    assert_int_equal(fplt_dataset_rows(a), 1500 - 30);
    same_data(a, b);
    fplt_dataset_destroy(a);
    fplt_dataset_destroy(b);
    /* a mistake in the last row is found at its line */
    sprintf(plain + p, "s1,1,1,0x10,2\n");
    refuse_text("x.csv", plain, &settings, "x.csv:1502: ", "column 'b': '0x10' is not a number");
}

static void the_quick_way_reads_the_same_libsvm(void **state)
{
    (void)state;
    static char plain[1 << 18], remarked[1 << 18];
    fplt_stream stream = fplt_stream_make(8, 0, FPLT_FOR_TEST, 0, 0, 0);
    size_t p = 0, q = 0;
    for (int r = 0; r < 1500; r++) {
        char line[512];
        size_t used =
            (size_t)sprintf(line, "%s%d", r % 7 ? "" : "+", (int)fplt_stream_below(&stream, 3));
        for (int index = 1 + (int)fplt_stream_below(&stream, 9); index < 60;
             index += 1 + (int)fplt_stream_below(&stream, 20)) {
            used += (size_t)sprintf(line + used, r % 13 ? " %d:" : "\t %d:", index);
            used += add_random_number(&stream, line + used);
        }
        p += (size_t)sprintf(plain + p, "%s%s\n", line, r % 17 ? "" : " ");
        q += (size_t)sprintf(remarked + q, "%s # row\n", line);
    }
    fplt_read_settings settings = {.task = "classes"};
    fplt_dataset *a = read_text_as("x.libsvm", plain, &settings);
    fplt_dataset *b = read_text_as("x.libsvm", remarked, &settings);
    assert_int_equal(fplt_dataset_rows(a), 1500);
    same_data(a, b);
    fplt_dataset_destroy(a);
    fplt_dataset_destroy(b);
    sprintf(plain + p, "1 2:1 2:5\n");
    refuse_text("x.libsvm", plain, &settings, "x.libsvm:1501: ", "index 2 is there twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libsvm_gives_csr),
        cmocka_unit_test(bad_libsvm_is_refused),
        cmocka_unit_test(a9a_and_mushrooms),
        cmocka_unit_test(npy_is_read),
        cmocka_unit_test(bad_npy_is_refused),
        cmocka_unit_test(files_of_other_widths_name_each_other),
        cmocka_unit_test(what_is_written_is_read_to_the_last_bit),
        cmocka_unit_test(names_survive_csv),
        cmocka_unit_test(the_quick_way_reads_the_same_csv),
        cmocka_unit_test(the_quick_way_reads_the_same_libsvm),
        cmocka_unit_test(npy_is_as_numpy_writes_it),
        cmocka_unit_test(the_programs_locale_does_not_matter),
        cmocka_unit_test(writing_fails_with_a_sentence_and_leaves_nothing),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
