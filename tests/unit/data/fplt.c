/* The program's own format: everything a data set has comes back to the last bit, from a map and from
 * memory, and what was cut, changed or made up is refused. */
#include <math.h>
#include <sys/stat.h>

#include "helpers.h"

#include "base/file.h"
#include "fedplt/schema.h"
#include "data/dataset_access.h"
#include "data/schema_access.h"

static struct folder folder;

static char *load(const char *path, size_t *size)
{
    fplt_error error;
    char *bytes;
    assert_ok(fplt__file_read(path, SIZE_MAX, &bytes, size, &error), error);
    return bytes;
}

static fplt_dataset *read_file(const char *path, fplt_read_settings settings)
{
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt_dataset_read(&path, 1, &settings, &dataset, &error), error);
    return dataset;
}

/* Writes the data set, reads it (mapped, and from memory), writes that: the same bytes. */
static char *round_trip(fplt_dataset *dataset, size_t *size)
{
    fplt_error error;
    fplt_read_settings settings = fplt_read_defaults();
    char path[160];
    size_t again;
    snprintf(path, sizeof path, "%s", folder_file(&folder, "one.fplt"));
    assert_ok(fplt_dataset_write(dataset, path, NULL, &error), error);
    char *bytes = load(path, size);
    assert_true(chmod(path, 0444) == 0); /* reading needs no more */
    fplt_dataset *mapped = read_file(path, settings), *loaded;
    assert_ok(fplt__dataset_read_memory("memory", bytes, *size, &settings, &loaded, &error), error);
    assert_same_values(dataset, mapped);
    assert_same_agents(dataset, mapped);
    for (int k = 0; k < 2; k++) {
        const char *second = folder_file(&folder, "two.fplt");
        assert_ok(fplt_dataset_write(k ? loaded : mapped, second, "fplt", &error), error);
        char *others = load(second, &again);
        assert_int_equal(*size, again);
        assert_memory_equal(bytes, others, again);
        fplt_free(others);
        remove(second);
    }
    fplt_dataset_destroy(mapped);
    fplt_dataset_destroy(loaded);
    remove(path);
    return bytes;
}

static fplt_dataset *patients(void)
{
    static const char schema_text[] =
        "columns:\n"
        "  age: {type: number, bounds: 20..90}\n"
        "  arm: {type: category, levels: [a, b, c], missing: a, other: a}\n"
        "  t: {type: time, bounds: 1..100}\n"
        "  e: {type: event, classes: [no, yes]}\n"
        "  w: {type: weight, bounds: 0.5..2}\n"
        "  o: {type: offset, bounds: -1..1}\n"
        "  who: {type: person, most: 2}\n"
        "  place: {type: site, names: [north, south]}\n";
    fplt_schema *schema;
    fplt_error error;
    assert_ok(fplt__schema_parse(schema_text, strlen(schema_text), "s.yaml", &schema, &error),
              error);
    fplt_dataset *dataset = read_text_as("p.csv",
                                         "age,arm,t,e,w,o,who,place\n30,a,5,yes,1,0.5,x,south\n"
                                         "40,b,7,no,1.5,0,y,north\n55,c,9,yes,2,-1,x,south\n",
                                         &(fplt_read_settings){.schema = schema});
    fplt_schema_destroy(schema);
    return dataset;
}

static fplt_dataset *visits(void)
{
    return read_text_as("v.csv",
                        "site,label,x,colour,id\nb,yes,1,red,\"p,1\"\na,no,0x,red,p2\n"
                        "b,no,-2.5,green,\xc3\xa9\na,maybe,1e-300,blue,p2\n",
                        &(fplt_read_settings){.categories = "colour,x", .id = "id"});
}

static void everything_comes_back(void **state)
{
    (void)state;
    fplt_generate_settings made = fplt_generate_defaults();
    fplt_error error;
    fplt_dataset *sets[7];
    made.agents = 3;
    made.rows = 7;
    assert_ok(fplt_dataset_generate(&made, &sets[0], &error), error);
    made.name = "planted";
    made.task = FPLT_TASK_CLASSES;
    made.classes = 4;
    assert_ok(fplt_dataset_generate(&made, &sets[1], &error), error);
    sets[2] = patients();
    sets[3] = visits();
    sets[4] = read_text_as("x.libsvm", "1 3:2\n-1\n1 1:-0 9:1e300\n", &(fplt_read_settings){0});
    sets[5] = read_text_as("x.csv", "label,a\n1.5,1\n2.5,2\n,3\n7.25,4\n",
                           &(fplt_read_settings){.drop_missing = 1});
    /* rows cut out of others: entries do not begin at 0 */
    static const size_t start[] = {2, 4, 5};
    static const uint32_t column[] = {9, 9, 0, 4, 3};
    static const double value[] = {9, 9, 1, -2, 3}, label[] = {1, -1};
    fplt_rows rows = {.count = 2,
                      .features = 5,
                      .start = start,
                      .column = column,
                      .value = value,
                      .label = label};
    assert_ok(fplt_dataset_borrow(&rows, FPLT_TASK_BINARY, (size_t[]){1, 1}, 2, NULL, NULL,
                                  &sets[6], &error),
              error);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        size_t size;
        fplt_free(round_trip(sets[i], &size));
        fplt_dataset_destroy(sets[i]);
    }
}

/* What survives besides rows. */
static void names_and_places_come_back(void **state)
{
    (void)state;
    fplt_dataset *from = visits(), *back;
    fplt_error error;
    const char *path = folder_file(&folder, "v.fplt");
    assert_ok(fplt_dataset_write(from, path, NULL, &error), error);
    back = read_file(path, (fplt_read_settings){.features = fplt_dataset_features(from)});
    assert_string_equal(fplt_dataset_agent_name(back, 0), "b");
    assert_string_equal(fplt_dataset_class_name(back, 0), fplt_dataset_class_name(from, 0));
    assert_string_equal(fplt__dataset_row_id(back, 1), "\xc3\xa9");
    assert_int_equal(fplt__dataset_row_number(back, 1), 3);
    assert_string_equal(fplt_dataset_feature_name(back, 0), fplt_dataset_feature_name(from, 0));
    fplt_dataset_destroy(back);
    fplt_dataset *alone = read_file(path, (fplt_read_settings){.site = "none", .label = "none"});
    assert_int_equal(fplt_dataset_agents(alone), 1);
    assert_string_equal(fplt_dataset_agent_name(alone, 0), "v");
    assert_int_equal(fplt_dataset_task(alone), FPLT_TASK_REGRESSION);
    assert_true(fplt_dataset_all(alone).label[2] == 0);
    fplt_dataset_destroy(alone);
    fplt_dataset_destroy(from);
    remove(path);
}

/* A model finds its features and classes by their names. */
static void a_model_reads_by_name(void **state)
{
    (void)state;
    fplt_error error;
    const char *path = folder_file(&folder, "m.fplt");
    fplt_dataset *from = read_text_as("m.csv", "label,a,b,c\nno,1,2,3\nyes,4,5,6\nno,7,8,9\n",
                                      &(fplt_read_settings){0});
    assert_ok(fplt_dataset_write(from, path, NULL, &error), error);
    static const char *const features[] = {"c", "a"}, *const classes[] = {"yes", "no"};
    fplt_dataset *model = read_file(path, (fplt_read_settings){.feature_names = features,
                                                               .feature_count = 2,
                                                               .class_names = classes,
                                                               .class_count = 2,
                                                               .label = "whatever"});
    fplt_rows rows = fplt_dataset_all(model);
    assert_int_equal(rows.features, 2);
    assert_true(rows.dense[0] == 3 && rows.dense[1] == 1 && rows.dense[4] == 9);
    assert_true(rows.label[0] == 1 && rows.label[1] == -1);
    assert_string_equal(fplt_dataset_class_name(model, 1), "no");
    fplt_dataset_destroy(model);
    static const char *const other[] = {"c", "d"}, *const unknown[] = {"yes", "perhaps"};
    size_t size;
    char *bytes = load(path, &size);
    refuse_bytes("m", bytes, size,
                 &(fplt_read_settings){.feature_names = other, .feature_count = 2},
                 "m: ", "no column for the feature 'd'");
    refuse_bytes("m", bytes, size, &(fplt_read_settings){.class_names = unknown, .class_count = 2},
                 "m: ", "does not know the class 'no'");
    refuse_bytes("m", bytes, size, &(fplt_read_settings){.features = 4},
                 "m: ", "3 features, but 4");
    refuse_bytes("m", bytes, size, &(fplt_read_settings){.task = "regression"},
                 "m: ", "the task is binary");
    refuse_bytes("m", bytes, size, &(fplt_read_settings){.site = "a"}, "m: ", "site says how");
    fplt_free(bytes);
    fplt_dataset_destroy(from);
    remove(path);
}

static void schemas_must_agree(void **state)
{
    (void)state;
    fplt_dataset *from = patients();
    fplt_error error;
    size_t size;
    const char *path = folder_file(&folder, "s.fplt");
    assert_ok(fplt_dataset_write(from, path, NULL, &error), error);
    char *bytes = load(path, &size);
    const fplt_schema *same = fplt__dataset_schema(from);
    fplt_dataset *back = read_file(path, (fplt_read_settings){.schema = same});
    assert_string_equal(fplt__schema_digest(fplt__dataset_schema(back)), fplt__schema_digest(same));
    assert_true(fplt__dataset_persons(back, 0)[0] == fplt__dataset_persons(from, 0)[0]);
    fplt_schema *other;
    static const char text[] = "columns: {age: {type: number, bounds: 0..1}, y: {type: label, "
                               "classes: [a, b]}}";
    assert_ok(fplt__schema_parse(text, strlen(text), "o.yaml", &other, &error), error);
    refuse_bytes("s", bytes, size, &(fplt_read_settings){.schema = other},
                 "s: ", "by another schema");
    fplt_schema_destroy(other);
    fplt_dataset_destroy(back);
    fplt_dataset_destroy(from);
    fplt_free(bytes);
    remove(path);
}

/* Every byte of the header counts, and so does the length. */
static void damage_is_refused(void **state)
{
    (void)state;
    fplt_read_settings settings = fplt_read_defaults();
    fplt_dataset *from = visits(), *dataset;
    fplt_error error;
    size_t size, header = 72 + 16 * 17 + 64;
    char *bytes = round_trip(from, &size);
    assert_true(size > header);
    settings.format = "fplt";
    for (size_t i = 0; i < header; i++) {
        bytes[i] ^= 4;
        assert_int_equal(fplt__dataset_read_memory("d", bytes, size, &settings, &dataset, &error),
                         FPLT_BAD_DATA);
        bytes[i] ^= 4;
    }
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(fplt__dataset_read_memory("d", bytes, cut, &settings, &dataset, &error),
                         FPLT_BAD_DATA);
    refuse_bytes("d", bytes, size - 1, &settings, "d: ", "cut short");
    refuse_bytes("d", "a,b\n", 4, &settings, "d: ", "not an fplt file");
    fplt_free(bytes);
    fplt_dataset_destroy(from);
}

/* A number that is not finite: found on opening, or, where that is put off, when rows are packed. */
static void numbers_are_checked(void **state)
{
    (void)state;
    static const double value[] = {1, 2, 0x1.23456789p5, 4}, label[] = {1, -1}, bad = HUGE_VAL;
    fplt_rows rows = {.count = 2, .features = 2, .dense = value, .label = label};
    fplt_dataset *from, *dataset;
    fplt_error error;
    size_t size, at = 0;
    assert_ok(fplt_dataset_from_rows(&rows, FPLT_TASK_BINARY, (size_t[]){2}, 1, &from, &error),
              error);
    char *bytes = round_trip(from, &size);
    while (memcmp(bytes + at, &value[2], sizeof value[2]) != 0)
        at++;
    memcpy(bytes + at, &bad, sizeof bad);
    refuse_bytes("n", bytes, size, &(fplt_read_settings){0}, "n: ", "row 2 has a number");
    assert_ok(fplt__dataset_read_memory("n", bytes, size, &(fplt_read_settings){.unchecked = 1},
                                        &dataset, &error),
              error);
    assert_int_equal(fplt_dataset_write(dataset, folder_file(&folder, "n.fplt"), NULL, &error),
                     FPLT_BAD_DATA);
    fplt_dataset_destroy(dataset);
    fplt_free(bytes);
    fplt_dataset_destroy(from);
}

/* A file that was changed while it is mapped is noticed; one that was replaced is not touched. */
static void changes_are_noticed(void **state)
{
    (void)state;
    fplt_dataset *from = visits(), *mapped;
    fplt_error error;
    char path[160];
    snprintf(path, sizeof path, "%s", folder_file(&folder, "c.fplt"));
    assert_ok(fplt_dataset_write(from, path, NULL, &error), error);
    mapped = read_file(path, fplt_read_defaults());
    assert_ok(fplt__dataset_unchanged(mapped, &error), error);
    assert_ok(fplt_dataset_write(from, path, NULL, &error),
              error); /* another file, the same name */
    assert_ok(fplt__dataset_unchanged(mapped, &error), error);
    assert_same_values(from, mapped);
    fplt_dataset_destroy(mapped);
    mapped = read_file(path, fplt_read_defaults());
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    fputs("more", file);
    fclose(file);
    assert_int_equal(fplt__dataset_unchanged(mapped, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "changed while it was read");
    fplt_dataset_destroy(mapped);
    fplt_dataset_destroy(from);
    remove(path);
}

struct attempt {
    const char *bytes;
    size_t size;
};

static fplt_status open_once(void *context)
{
    struct attempt *attempt = context;
    fplt_dataset *dataset;
    fplt_error error;
    fplt_read_settings settings = fplt_read_defaults();
    fplt_status status =
        fplt__dataset_read_memory("f", attempt->bytes, attempt->size, &settings, &dataset, &error);
    fplt_dataset_destroy(dataset);
    return status;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    fplt_dataset *from = patients();
    size_t size;
    char *bytes = round_trip(from, &size);
    struct attempt attempt = {bytes, size};
    survives_failed_allocations(open_once, &attempt);
    fplt_free(bytes);
    fplt_dataset_destroy(from);
}

int main(void)
{
    folder_make(&folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back), cmocka_unit_test(names_and_places_come_back),
        cmocka_unit_test(a_model_reads_by_name), cmocka_unit_test(schemas_must_agree),
        cmocka_unit_test(damage_is_refused),     cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(changes_are_noticed),   cmocka_unit_test(failed_allocations_leave_nothing),
    };
    int failed = cmocka_run_group_tests_name("fplt", tests, NULL, NULL);
    remove(folder.path);
    return failed;
}
