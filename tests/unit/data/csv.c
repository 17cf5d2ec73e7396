/* CSV: the cases of RFC 4180, labels, sites, missing values, categories, several files, and a
 * sentence with file and line for everything that is wrong. */
#include "helpers.h"
#include "base/random.h"
#include "data/dataset_access.h"

static fplt_read_settings standard;

static fplt_dataset *csv(const char *text, const fplt_read_settings *settings)
{
    return read_text_as("x.csv", text, settings);
}

static void quotes_newlines_and_marks(void **state)
{
    (void)state;
    const char *text = "\xef\xbb\xbf\"la\"\"bel\",site,\"a,b\",\"c\r\nd\", e \r\n"
                       "1,\"north, \"\"old\"\"\",1.5,\"-2\",3\r\n"
                       "\r\n"
                       "-1,\"two\nlines\",4,5, 6 \r\n"
                       "+1,\"north, \"\"old\"\"\",7,8,9"; /* no newline at the end */
    fplt_read_settings settings = standard;
    settings.label = "la\"bel";
    fplt_dataset *dataset = csv(text, &settings);
    assert_int_equal(fplt_dataset_rows(dataset), 3);
    assert_int_equal(fplt_dataset_features(dataset), 3);
    assert_string_equal(fplt_dataset_feature_name(dataset, 0), "a,b");
    assert_string_equal(fplt_dataset_feature_name(dataset, 1), "c\r\nd");
    assert_string_equal(fplt_dataset_feature_name(dataset, 2), "e");
    assert_int_equal(fplt_dataset_agents(dataset), 2);
    assert_string_equal(fplt_dataset_agent_name(dataset, 0), "north, \"old\"");
    assert_string_equal(fplt_dataset_agent_name(dataset, 1), "two\nlines");
    fplt_rows all = fplt_dataset_all(dataset);
    const double expected[] = {1.5, -2, 3, 7, 8, 9, 4, 5, 6};
    assert_memory_equal(all.dense, expected, sizeof expected);
    assert_true(all.label[0] == 1 && all.label[1] == 1 && all.label[2] == -1);
    fplt_dataset_destroy(dataset);
}

static void rows_are_regrouped_without_changing_their_order(void **state)
{
    (void)state;
    fplt_dataset *dataset = csv("a,who,label\n1,x,0\n2,y,1\n3,z,0\n4,x,1\n5,y,0\n6,x,1\n",
                                &(fplt_read_settings){.site = "who"});
    const double expected[] = {1, 4, 6, 2, 5, 3};
    assert_memory_equal(fplt_dataset_all(dataset).dense, expected, sizeof expected);
    assert_int_equal(fplt_dataset_shard(dataset, 0).count, 3);
    assert_int_equal(fplt_dataset_shard(dataset, 2).count, 1);
    assert_string_equal(fplt_dataset_agent_name(dataset, 2), "z");
    fplt_dataset_destroy(dataset);
    dataset = csv("a,who,label\n1,2,0\n2,3,1\n", &(fplt_read_settings){.site = "2"});
    assert_int_equal(fplt_dataset_features(dataset), 1);
    assert_int_equal(fplt_dataset_agents(dataset), 2);
    fplt_dataset_destroy(dataset);
    dataset = csv("a,site,label\n1,2,0\n2,3,1\n", &(fplt_read_settings){.site = "none"});
    assert_int_equal(fplt_dataset_features(dataset), 2);
    assert_int_equal(fplt_dataset_agents(dataset), 1);
    assert_string_equal(fplt_dataset_agent_name(dataset, 0), "x");
    fplt_dataset_destroy(dataset);
}

static void check_labels(const char *column, const fplt_read_settings *settings, fplt_task task,
                         const double *expected, const char *names)
{
    char text[256] = "a,label\n", known[256] = "", words[128];
    size_t count = 0;
    snprintf(words, sizeof words, "%s", column);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "), count++)
        snprintf(text + strlen(text), 32, "1,%s\n", word);
    fplt_dataset *dataset = csv(text, settings);
    assert_int_equal(fplt_dataset_task(dataset), task);
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(all.count, count);
    for (size_t r = 0; r < count; r++)
        if (all.label[r] != expected[r])
            fail_msg("labels %s: row %zu is %g, not %g", column, r, all.label[r], expected[r]);
    for (uint32_t c = 0; fplt_dataset_class_name(dataset, c); c++)
        sprintf(known + strlen(known), "%s%s", c ? " " : "", fplt_dataset_class_name(dataset, c));
    assert_string_equal(known, names);
    fplt_dataset_destroy(dataset);
}

static void labels_become_classes_or_numbers(void **state)
{
    (void)state;
    fplt_read_settings s = standard;
    check_labels("0 1 0", &s, FPLT_TASK_BINARY, (double[]){-1, 1, -1}, "0 1");
    check_labels("+1 -1 1.0", &s, FPLT_TASK_BINARY, (double[]){1, -1, 1}, "-1 1");
    check_labels("7 3 5 3", &s, FPLT_TASK_CLASSES, (double[]){2, 0, 1, 0}, "3 5 7");
    check_labels("1 2 2.5", &s, FPLT_TASK_REGRESSION, (double[]){1, 2, 2.5}, "");
    s.labels = "1=1,2=-1";
    check_labels("1 2 1", &s, FPLT_TASK_BINARY, (double[]){1, -1, 1}, "2 1");
    check_labels("1 1", &s, FPLT_TASK_BINARY, (double[]){1, 1}, "2 1");
    s.labels = "yes=1, no=-1";
    check_labels("no yes", &s, FPLT_TASK_BINARY, (double[]){-1, 1}, "no yes");
    s.labels = "0=0,1=1,2=1,3=1,4=1";
    check_labels("0 3 1.0", &s, FPLT_TASK_BINARY, (double[]){-1, 1, 1}, "0 1");
    s.labels = "low=0,middle=1,high=2";
    check_labels("high low", &s, FPLT_TASK_CLASSES, (double[]){2, 0}, "low middle high");
    s.task = "regression";
    s.labels = "low=0.5,high=-3";
    check_labels("high low", &s, FPLT_TASK_REGRESSION, (double[]){-3, 0.5}, "");
    s.labels = NULL;
    check_labels("2.5 -1e3 2.5", &s, FPLT_TASK_REGRESSION, (double[]){2.5, -1000, 2.5}, "");
    s.task = "classes";
    check_labels("c b a", &s, FPLT_TASK_CLASSES, (double[]){2, 1, 0}, "a b c");
    check_labels("0.5 2.5 1.5", &s, FPLT_TASK_CLASSES, (double[]){0, 2, 1}, "0.5 1.5 2.5");
}

static void a_models_classes_are_kept(void **state)
{
    (void)state;
    const char *const two[] = {"2", "1"}, *const three[] = {"b", "a", "c"};
    fplt_read_settings s = standard;
    s.class_names = two;
    s.class_count = 2;
    check_labels("1 2.0 1", &s, FPLT_TASK_BINARY, (double[]){1, -1, 1}, "2 1");
    check_labels("1", &s, FPLT_TASK_BINARY, (double[]){1}, "2 1");
    s.labels = "5=1,6=-1";
    check_labels("6 5", &s, FPLT_TASK_BINARY, (double[]){-1, 1}, "2 1");
    s.labels = NULL;
    s.class_names = three;
    s.class_count = 3;
    check_labels("c a", &s, FPLT_TASK_CLASSES, (double[]){2, 1}, "b a c");
    refuse_text("x.csv", "a,label\n1,a\n1,d\n", &s, "x.csv:3: ", "the label 'd' is not one of");
    s.labels = "1=1,2=2";
    fplt_dataset *dataset;
    fplt_error error;
    assert_int_equal(fplt__dataset_read_memory("x.csv", "a,label\n1,1\n", 12, &s, &dataset, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "labels has 2 classes, but the model has 3");
}

static void there_may_be_no_labels(void **state)
{
    (void)state;
    fplt_dataset *dataset = csv("a,b\n1,2\n3,4\n", &(fplt_read_settings){.label = "none"});
    assert_int_equal(fplt_dataset_features(dataset), 2);
    assert_int_equal(fplt_dataset_task(dataset), FPLT_TASK_REGRESSION);
    assert_true(fplt_dataset_all(dataset).label[1] == 0);
    fplt_dataset_destroy(dataset);
}

static void a_label_is_found_by_name_or_number(void **state)
{
    (void)state;
    fplt_dataset *dataset = csv("3,b,1\n1,2,3\n4,5,6\n", &(fplt_read_settings){.label = "3"});
    assert_string_equal(fplt_dataset_feature_name(dataset, 0), "b"); /* the name wins */
    fplt_dataset_destroy(dataset);
    dataset = csv("a,b,c\n1,2,3\n4,5,6\n", &(fplt_read_settings){.label = "3"});
    assert_string_equal(fplt_dataset_feature_name(dataset, 1), "b");
    fplt_dataset_destroy(dataset);
    dataset = csv("1,2,3\n4,5,6\n", &(fplt_read_settings){.label = "3", .no_header = 1});
    assert_int_equal(fplt_dataset_rows(dataset), 2);
    assert_string_equal(fplt_dataset_feature_name(dataset, 1), "2");
    fplt_dataset_destroy(dataset);
}

static void missing_values_are_refused_or_dropped(void **state)
{
    (void)state;
    const char *text = "a,b,label\n1,2,1\n,3,1\n4,?,0\n5,6,NA\n7,8,0\n";
    refuse_text("x.csv", text, &standard, "x.csv:3: ", "column 'a': the value is missing");
    refuse_text("x.csv", "a,label\n1,0\n2,?\n", &standard, "x.csv:3: ", "column 'label'");
    fplt_dataset *dataset = csv(text, &(fplt_read_settings){.drop_missing = 1});
    assert_int_equal(fplt_dataset_rows(dataset), 2);
    assert_true(fplt_dataset_all(dataset).dense[2] == 7);
    fplt_dataset_destroy(dataset);
    refuse_text("x.csv", "a,label\n?,1\n1,?\n", &(fplt_read_settings){.drop_missing = 1},
                "x.csv:", "every row has a missing value");
    /* quoted, these are words */
    dataset = csv("site,a,label\n\"NA\",1,0\n\"?\",2,1\n", &standard);
    assert_string_equal(fplt_dataset_agent_name(dataset, 0), "NA");
    fplt_dataset_destroy(dataset);
}

static void categories_become_columns(void **state)
{
    (void)state;
    const char *text = "colour,size,a,label\nred,10,1.5,0\nblue,9,2,1\nred,9,3,0\ngreen,10,4,1\n";
    fplt_dataset *dataset = csv(text, &(fplt_read_settings){.categories = "colour,size"});
    const char *const names[] = {"colour=blue", "colour=green", "colour=red",
                                 "size=9",      "size=10",      "a"};
    const double expected[] = {0, 0, 1, 0, 1, 1.5, 1, 0, 0, 1, 0, 2,
                               0, 0, 1, 1, 0, 3,   0, 1, 0, 0, 1, 4};
    assert_int_equal(fplt_dataset_features(dataset), 6);
    for (size_t j = 0; j < 6; j++)
        assert_string_equal(fplt_dataset_feature_name(dataset, j), names[j]);
    assert_memory_equal(fplt_dataset_all(dataset).dense, expected, sizeof expected);
    fplt_dataset_destroy(dataset);

    dataset = csv(text, &(fplt_read_settings){.categories = "auto", .drop_first_level = 1});
    assert_int_equal(fplt_dataset_features(dataset), 4); /* green, red, size, a */
    assert_string_equal(fplt_dataset_feature_name(dataset, 0), "colour=green");
    assert_true(fplt_dataset_all(dataset).dense[4] == 0 && fplt_dataset_all(dataset).dense[6] == 9);
    fplt_dataset_destroy(dataset);

    refuse_text("x.csv", text, &standard, "x.csv:2: ", "column 'colour': 'red' is not a number");
    refuse_text("x.csv", text, &(fplt_read_settings){.categories = "color"},
                "x.csv:1: ", "no category column 'color'; the columns are colour, size, a, label");
    refuse_text("x.csv", "a,a=b,label\nb,1,0\nc,2,1\n", &(fplt_read_settings){.categories = "a"},
                "two features", "'a=b'");
    refuse_text("x.csv", "a,label\ninf,0\n1,1\n", &(fplt_read_settings){.categories = "auto"},
                "x.csv:2: ", "'inf' is not a finite number");
}

static void many_levels_are_kept_sparse(void **state)
{
    (void)state;
    enum { ROWS = 5000 };
    char *text = malloc(ROWS * 32);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "id,a,label\n");
    for (int r = 0; r < ROWS; r++)
        used += (size_t)sprintf(text + used, "w%04d,%d,%d\n", r, r % 3, r % 2);
    fplt_dataset *dataset = csv(text, &(fplt_read_settings){.categories = "id"});
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(all.features, ROWS + 1);
    assert_null(all.dense);
    for (size_t r = 0; r < ROWS; r += 97) {
        assert_true(value_at(&all, r, r) == 1);
        assert_int_equal(all.start[r + 1] - all.start[r], r % 3 ? 2 : 1);
        assert_true(value_at(&all, r, ROWS) == (double)(r % 3));
    }
    fplt_dataset_destroy(dataset);
    free(text);
}

static void a_models_features_are_kept(void **state)
{
    (void)state;
    const char *const names[] = {"b", "c=x", "c=y", "a"};
    fplt_read_settings s = {.feature_names = names, .feature_count = 4};
    fplt_dataset *dataset = csv("a,other,c,b,label\n1,9,y,2,0\n3,9,y,4,1\n", &s);
    const double expected[] = {2, 0, 1, 1, 4, 0, 1, 3};
    assert_int_equal(fplt_dataset_features(dataset), 4);
    assert_memory_equal(fplt_dataset_all(dataset).dense, expected, sizeof expected);
    assert_string_equal(fplt_dataset_feature_name(dataset, 1), "c=x");
    fplt_dataset_destroy(dataset);
    refuse_text("x.csv", "a,c,b,label\n1,y,2,0\n1,z,2,1\n", &s,
                "x.csv:3: ", "column 'c': the model does not know the level 'z'");
    refuse_text("x.csv", "a,c,label\n1,y,2\n", &s,
                "x.csv:1: ", "no column for the feature 'b' of the model");
    refuse_text("x.csv", "a,b,label\n1,2,0\n", &s, "x.csv:1: ", "feature 'c=x'");
}

static void what_is_wrong_is_said_with_file_and_line(void **state)
{
    (void)state;
    const fplt_read_settings *s = &standard;
    refuse_text("x.csv", "", s, "x.csv: ", "the file is empty");
    refuse_text("x.csv", "\n\n", s, "x.csv: ", "the file is empty");
    refuse_text("x.csv", "a,label\n", s, "x.csv:", "no rows, only the header");
    refuse_text("x.csv", "a,label\n1,1\n2\n", s, "x.csv:3: ", "1 fields, but the first line has 2");
    refuse_text("x.csv", "a,label\n1,1\n1,2,3\n", s, "x.csv:3: ", "3 fields");
    refuse_text("x.csv", "site,a,label\n\"x\ny\",1,1\n2\n", s, "x.csv:4: ", "1 fields");
    refuse_text("x.csv", "a,label\n\"x\ny\",1\n", s, "x.csv:2: ", "'x.y' is not a number");
    refuse_text("x.csv", "a,label\n1,1\n-Inf,0\n", s,
                "x.csv:3: ", "column 'a': '-Inf' is not a finite number");
    refuse_text("x.csv", "a,label\n1,1\n-inf,0\n", s, "x.csv:3: ", "not a finite number");
    refuse_text("x.csv", "a,label\n1,1\n1e999,0\n", s, "x.csv:3: ", "not a finite number");
    refuse_text("x.csv", "a,label\n1,1\n0x10,0\n", s, "x.csv:3: ", "'0x10' is not a number");
    refuse_text("x.csv", "a,label\n1,1\n1.2.3,0\n", s, "x.csv:3: ", "'1.2.3' is not a number");
    refuse_text("x.csv", "a,label\n1,1\n\n2,yes\n", s,
                "x.csv:4: ", "the label 'yes' is not a number");
    refuse_text("x.csv", "a,label\n1,1\n2,inf\n", s, "x.csv:3: ", "not a finite number");
    refuse_text("x.csv", "a,label\n1,x\n", &(fplt_read_settings){.task = "regression"},
                "x.csv:2: ", "the label 'x' is not a number");
    refuse_text("x.csv", "a,label\n1,1\n2,1\n", s, "x.csv: ", "only one class (label '1')");
    refuse_text("x.csv", "a,label\n1,1\n2,2\n3,3\n", &(fplt_read_settings){.task = "binary"},
                "x.csv: ", "3 classes, but the task is binary");
    refuse_text("x.csv", "a,label\n1,1\n2,2\n", &(fplt_read_settings){.task = "classes"},
                "x.csv: ", "for three or more");
    refuse_text("x.csv", "a,label\n1,no\n2,maybe\n", &(fplt_read_settings){.labels = "yes=1,no=-1"},
                "x.csv:3: ", "the label 'maybe' is not one of the known labels (yes, no)");
    refuse_text("x.csv", "a,b\n1,1\n", s,
                "x.csv:1: ", "there is no label column 'label'; the columns are a, b");
    refuse_text("x.csv", "a,label\n1,1\n", &(fplt_read_settings){.site = "town"},
                "x.csv:1: ", "there is no site column 'town'");
    refuse_text("x.csv", "a,a,label\n1,1,1\n", s, "x.csv:1: ", "two columns are called 'a'");
    refuse_text("x.csv", "label\n1\n0\n", s, "x.csv:1: ", "there are no features");
    refuse_text("x.csv", "a,label\n1,\"1\n2,0\n", s, "x.csv:2: ", "never closed");
    refuse_text("x.csv", "a,label\n\"1\"x,1\n", s, "x.csv:2: ", "follows a closing quote");
    refuse_text("x.csv", "a,label\n1\"2,1\n", s, "x.csv:2: ", "a quote inside an unquoted field");
    refuse_text("x.csv", "a,label\n1,1\r2,0\r", s, "x.csv:2: ", "carriage return without");
    refuse_text("x.csv", "a,label\n1,1\n2,0\n", &(fplt_read_settings){.features = 3},
                "x.csv: ", "1 features, but 3 are wanted");
    refuse_bytes("x.csv", "a,label\n1,\0001\n", 13, s, "x.csv:2: ", "NUL byte");
    refuse_text("x.csv", "a,label\n1,caf\xe9\n", s, "x.csv:2: ", "byte 0xe9 is not UTF-8");
    refuse_text("x.csv", "a,label\n1,\xed\xa0\x80\n", s, "x.csv:2: ", "not UTF-8");
    refuse_text("x.csv", "a,label\n1,\xc0\x80\n", s, "x.csv:2: ", "not UTF-8");
}

static void settings_are_checked(void **state)
{
    (void)state;
    static const struct {
        fplt_read_settings settings;
        const char *part;
    } cases[] = {
        {{.format = "xls"}, "format is 'xls'"},
        {{.task = "sort"}, "task is 'sort'"},
        {{.labels = "yes"}, "'yes' is not a pair"},
        {{.labels = "yes=one"}, "'yes=one' is not a pair"},
        {{.labels = "1=1,1=-1"}, "'1' is there twice"},
        {{.labels = ""}, "labels is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_dataset *dataset;
        fplt_error error;
        assert_int_equal(fplt__dataset_read_memory("x.csv", "a,label\n1,1\n", 12,
                                                   &cases[i].settings, &dataset, &error),
                         FPLT_BAD_VALUE);
        assert_contains(error.text, cases[i].part);
    }
}

/* A line of a million characters, as one field, as many, as a name. */
static void long_lines_are_no_danger(void **state)
{
    (void)state;
    enum { LONG = 1000000 };
    char *text = malloc(LONG + 64);
    assert_non_null(text);
    sprintf(text, "a,label\n1,1\n");
    memset(text + 12, '7', LONG);
    strcpy(text + 12 + LONG, ",0\n");
    refuse_text("x.csv", text, &standard,
                "x.csv:3: ", "'7777777777777777777777777777777777777777...'");
    for (int i = 0; i < LONG; i += 2)
        text[12 + i] = ',';
    refuse_text("x.csv", text, &standard, "x.csv:3: ", "500002 fields");
    memset(text, 'n', LONG);
    strcpy(text + LONG, ",label\n1,1\n2,0\n");
    refuse_text("x.csv", text, &standard,
                "x.csv:1: ", "the name of column 1 has 1000000 characters");
    free(text);
}

struct told {
    size_t times, done, size;
};

static void tell(void *context, const char *file, size_t done, size_t size)
{
    struct told *told = context;
    assert_true(file && *file);
    assert_true(told->times ? done >= told->done && size == told->size : done < 20);
    *told = (struct told){told->times + 1, done, size};
}

/* From the first row to the last byte, every few thousand rows. */
static void who_watches_is_told_how_far_it_is(void **state)
{
    (void)state;
    enum { ROWS = 10000 };
    char *text = malloc(16 * ROWS + 32);
    struct told told = {0, 0, 0};
    size_t length = (size_t)sprintf(text, "label,a\n");
    for (int i = 0; i < ROWS; i++)
        length += (size_t)sprintf(text + length, "%d,%d\n", i % 2 ? 1 : -1, i);
    fplt__read_watch(tell, &told);
    fplt_dataset *dataset = csv(text, &standard);
    fplt__read_watch(NULL, NULL);
    assert_int_equal(fplt_dataset_rows(dataset), ROWS);
    assert_int_equal(told.done, length);
    assert_int_equal(told.size, length);
    assert_int_equal(told.times, 1 + ROWS / 4096 + 1);
    fplt_dataset_destroy(dataset);
    free(text);
}

static void random_bytes_are_refused(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    unsigned char bytes[4096];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)fplt_stream_below(&stream, 256);
    const char *const names[] = {"x.csv", "x.libsvm", "x.npy", "x"};
    for (int i = 0; i < 4; i++)
        refuse_bytes(names[i], bytes, sizeof bytes, &standard, names[i], "");
}

static fplt_status read_files(const char *const *paths, size_t count,
                              const fplt_read_settings *settings, fplt_dataset **dataset,
                              fplt_error *error)
{
    return fplt_dataset_read(paths, count, settings, dataset, error);
}

static void several_files_are_one_agent_each(void **state)
{
    (void)state;
    struct folder folder;
    char path[3][160];
    fplt_dataset *dataset;
    fplt_error error;
    folder_make(&folder);
    for (int i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "%s/town%d.csv", folder.path, i);
    write_text(path[0], "c,label,a\nred,1,1\nblue,1,2\n");
    write_text(path[1], "c,label,a\ngreen,0,3\n");
    write_text(path[2], "c,label,b\nred,0,3\n");
    const char *const paths[] = {path[0], path[1], path[2]};
    fplt_read_settings settings = {.categories = "auto"};
    assert_ok(read_files(paths, 2, &settings, &dataset, &error), error);
    assert_int_equal(fplt_dataset_agents(dataset), 2);
    assert_string_equal(fplt_dataset_agent_name(dataset, 1), "town1");
    assert_int_equal(fplt_dataset_features(dataset), 4); /* levels of both files */
    assert_string_equal(fplt_dataset_feature_name(dataset, 1), "c=green");
    assert_int_equal(fplt_dataset_shard(dataset, 1).count, 1);
    fplt_dataset_destroy(dataset);

    assert_int_equal(read_files(paths, 3, &settings, &dataset, &error), FPLT_BAD_DATA);
    assert_contains(error.text, path[2]);
    assert_contains(error.text, path[0]);
    assert_contains(error.text, "the feature 'b' is not in");
    write_text(path[2], "c,label\nred,0\n");
    assert_int_equal(read_files(paths, 3, &settings, &dataset, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "1 features, but");
    write_text(path[2], "c,label,a\n");
    assert_int_equal(read_files(paths, 3, &settings, &dataset, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "town2.csv:");
    assert_contains(error.text, "no rows");

    const char *const twice[] = {path[0], path[0]};
    assert_int_equal(read_files(twice, 2, &settings, &dataset, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "given twice");
    settings = (fplt_read_settings){.site = "c"};
    assert_int_equal(read_files(paths, 2, &settings, &dataset, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "each file is one agent");

    settings = standard;
    write_text(path[0], "site,label,a\nbern,1,1\nbern,0,2\n");
    write_text(path[1], "site,label,a\nbasel,0,3\n");
    assert_ok(read_files(paths, 2, &settings, &dataset, &error), error);
    assert_string_equal(fplt_dataset_agent_name(dataset, 1), "basel");
    fplt_dataset_destroy(dataset);
    write_text(path[1], "site,label,a\nbasel,0,3\nbern,0,3\n");
    assert_int_equal(read_files(paths, 2, &settings, &dataset, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "town1.csv:3: the site 'bern' after 'basel'");
    write_text(path[1], "site,label,a\nbern,0,3\n");
    assert_int_equal(read_files(paths, 2, &settings, &dataset, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "town1.csv:2: the site 'bern' is in an earlier file");
    for (int i = 0; i < 3; i++)
        unlink(path[i]);
    rmdir(folder.path);
}

static void paths_that_cannot_be_read_are_io(void **state)
{
    (void)state;
    fplt_dataset *dataset;
    fplt_error error;
    const char *path = "/tmp";
    assert_int_equal(read_files(&path, 1, &standard, &dataset, &error), FPLT_IO);
    assert_contains(error.text, "/tmp: this is a folder");
    path = "/tmp/there/is/no/such.csv";
    assert_int_equal(read_files(&path, 1, &standard, &dataset, &error), FPLT_IO);
    assert_contains(error.text, "/tmp/there/is/no/such.csv: cannot open: No such file");
    assert_int_equal(read_files(&path, 0, &standard, &dataset, &error), FPLT_BAD_VALUE);
}

static void heart_disease_has_four_sites(void **state)
{
    (void)state;
    const char *path = SHARED "/data/heart_disease/heart_disease.csv";
    const size_t rows[] = {303, 261, 46, 130};
    const char *const names[] = {"cleveland", "hungarian", "switzerland", "va"};
    fplt_dataset *dataset;
    fplt_error error;
    need_file(path);
    assert_ok(read_files(&path, 1, &(fplt_read_settings){.label = "b"}, &dataset, &error), error);
    assert_int_equal(fplt_dataset_rows(dataset), 740);
    assert_int_equal(fplt_dataset_features(dataset), 13);
    assert_int_equal(fplt_dataset_agents(dataset), 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(fplt_dataset_shard(dataset, i).count, rows[i]);
        assert_string_equal(fplt_dataset_agent_name(dataset, i), names[i]);
    }
    assert_string_equal(fplt_dataset_feature_name(dataset, 3), "chol");
    assert_true(fplt_dataset_shard(dataset, 0).dense[0] == 1.0532809377628765);
    fplt_dataset_destroy(dataset);
}

/* The hospitals' own files: no header, ? for missing, diagnosis 0 to 4; chest pain and the
 * electrocardiogram are categories. Columns 11 to 13 are missing nearly everywhere and would leave
 * few rows: Cleveland alone keeps 297 of its 303. */
static void a_hospitals_own_file_can_be_read(void **state)
{
    (void)state;
    const char *path = SHARED "/data/heart_disease/processed.cleveland.data";
    fplt_dataset *dataset;
    fplt_error error;
    fplt_read_settings settings = {.format = "csv",
                                   .no_header = 1,
                                   .label = "14",
                                   .labels = "0=-1,1=1,2=1,3=1,4=1",
                                   .drop_missing = 1,
                                   .categories = "3,7",
                                   .drop_first_level = 1};
    need_file(path);
    assert_ok(read_files(&path, 1, &settings, &dataset, &error), error);
    assert_int_equal(fplt_dataset_rows(dataset), 297);
    assert_int_equal(fplt_dataset_features(dataset), 11 + 3 + 2);
    assert_int_equal(fplt__dataset_class_rows(dataset, 0), 160);
    assert_string_equal(fplt_dataset_feature_name(dataset, 2), "3=2.0");
    fplt_dataset_destroy(dataset);
}

static const char everything[] =
    "site,c,label,a\nx,u,yes,1\ny,\"v\"\"\",no,2\nx,w,yes,?\nz,u,no,4\n";

static fplt_status read_everything(void *context)
{
    fplt_dataset *dataset;
    fplt_error error;
    fplt_status status = fplt__dataset_read_memory("x.csv", everything, sizeof everything - 1,
                                                   context, &dataset, &error);
    fplt_dataset_destroy(dataset);
    return status;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    const char *const names[] = {"c=u", "c=w", "c=v\"", "a"};
    fplt_read_settings settings = {
        .labels = "yes=1,no=-1", .drop_missing = 1, .categories = "auto"};
    survives_failed_allocations(read_everything, &settings);
    settings.labels = NULL;
    settings.task = "regression";
    settings.label = "a";
    settings.categories = "c,label";
    survives_failed_allocations(read_everything, &settings);
    settings = (fplt_read_settings){
        .labels = "yes=1,no=-1", .drop_missing = 1, .feature_names = names, .feature_count = 4};
    survives_failed_allocations(read_everything, &settings);
    settings = (fplt_read_settings){
        .label = "site", .site = "c", .drop_missing = 1, .task = "classes", .categories = "label"};
    survives_failed_allocations(read_everything, &settings);
}

/* The quick way of reading numbers against strtod. */
static void numbers_are_rounded_correctly(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    static const char *const some[] = {"0",
                                       "-0",
                                       "1.",
                                       ".5",
                                       "+3e2",
                                       "1e22",
                                       "1e23",
                                       "1E-5",
                                       "5e-324",
                                       "1e-400",
                                       "00012",
                                       "9007199254740993",
                                       "123456789012345678",
                                       "1.7976931348623157e308",
                                       "0.1e1",
                                       "8.5e-23",
                                       "9007199254740992e22"};
    static const char *const bad[] = {"",    "-",  ".",   "e5",  "1e",   "1e+", "1 2",
                                      "0x1", "1f", "--1", "+-1", "1..2", "1,5", "1e5.0"};
    for (size_t i = 0; i < 200000; i++) {
        char text[64];
        double value = 0;
        if (i < sizeof some / sizeof *some)
            snprintf(text, sizeof text, "%s", some[i]);
        else {
            uint64_t digits = fplt__stream_bits(&stream) >> fplt_stream_below(&stream, 64);
            int power = (int)fplt_stream_below(&stream, 60) - 30;
            if (i % 2)
                snprintf(text, sizeof text, "%llu.%05ue%d", (unsigned long long)digits / 100,
                         (unsigned)fplt_stream_below(&stream, 100000), power);
            else
                snprintf(text, sizeof text, "-%llue%d", (unsigned long long)digits, power);
        }
        assert_int_equal(fplt__number_parse(fplt__span_of(text), &value), FPLT__NUMBER);
        if (!same_bits(value, strtod(text, NULL)))
            fail_msg("'%s' is read as %a, not %a", text, value, strtod(text, NULL));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value;
        if (fplt__number_parse(fplt__span_of(bad[i]), &value) != FPLT__NOT_A_NUMBER)
            fail_msg("'%s' is taken for a number", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_newlines_and_marks),
        cmocka_unit_test(rows_are_regrouped_without_changing_their_order),
        cmocka_unit_test(labels_become_classes_or_numbers),
        cmocka_unit_test(a_models_classes_are_kept),
        cmocka_unit_test(there_may_be_no_labels),
        cmocka_unit_test(a_label_is_found_by_name_or_number),
        cmocka_unit_test(missing_values_are_refused_or_dropped),
        cmocka_unit_test(categories_become_columns),
        cmocka_unit_test(many_levels_are_kept_sparse),
        cmocka_unit_test(a_models_features_are_kept),
        cmocka_unit_test(what_is_wrong_is_said_with_file_and_line),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(long_lines_are_no_danger),
        cmocka_unit_test(random_bytes_are_refused),
        cmocka_unit_test(several_files_are_one_agent_each),
        cmocka_unit_test(paths_that_cannot_be_read_are_io),
        cmocka_unit_test(heart_disease_has_four_sites),
        cmocka_unit_test(a_hospitals_own_file_can_be_read),
        cmocka_unit_test(failed_allocations_leave_nothing),
        cmocka_unit_test(numbers_are_rounded_correctly),
        cmocka_unit_test(who_watches_is_told_how_far_it_is),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
