/* Texts read in pieces, on several threads: the same data set to the last bit, and the same sentences. The
 * oracle is the reader that takes a file whole; two data sets are compared by the bytes of the file
 * that has everything of them. */
#include "helpers.h"

#include "fedplt/file.h"

static struct folder folder;

/* All that a data set is, to be released. */
static char *bytes_of(const fplt_dataset *dataset, size_t *size)
{
    fplt_error error;
    char *bytes;
    const char *path = folder_file(&folder, "set.fplt");
    assert_ok(fplt_dataset_write(dataset, path, NULL, &error), error);
    assert_ok(fplt_file_read(path, SIZE_MAX, &bytes, size, &error), error);
    remove(path);
    return bytes;
}

static void assert_same(const fplt_dataset *a, const fplt_dataset *b, size_t piece)
{
    size_t one, two;
    char *x = bytes_of(a, &one), *y = bytes_of(b, &two);
    if (one != two || memcmp(x, y, one) != 0)
        fail_msg("in pieces of %zu bytes: another data set", piece);
    fplt_free(x);
    fplt_free(y);
}

static const size_t pieces[] = {16, 17, 40, 101, 256, 5000};

/* The text whole and in pieces, on one thread and on several. */
static void compare(const char *name, const char *text, fplt_read_settings settings, int accepted)
{
    fplt_dataset *whole, *dataset;
    fplt_error said, error;
    fplt_status status =
        fplt__dataset_read_pieces(name, text, strlen(text), 0, &settings, &whole, &said);
    if ((status == FPLT_OK) != accepted)
        fail_msg("%s", status ? said.text : "a bad text was read");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (settings.threads = 1; settings.threads <= 5; settings.threads += 2) {
            assert_int_equal(fplt__dataset_read_pieces(name, text, strlen(text), pieces[i],
                                                       &settings, &dataset, &error),
                             status);
            if (status)
                assert_string_equal(error.text, said.text);
            else
                assert_same(whole, dataset, pieces[i]);
            fplt_dataset_destroy(dataset);
        }
    fplt_dataset_destroy(whole);
}

/* Rows of a table with everything that a row may have. */
static void add_row(char **to, fplt_stream *stream, size_t row, const char *label)
{
    static const char *const sites[] = {"north", "\"so\"\"uth\"", "\"a,\nb\"", "east", "w"};
    static const char *const words[] = {"red", "\"gre\n\nen\"", "blue", "\"\"\"\""};
    size_t site = (size_t)fplt_stream_below(stream, row < 40 ? 2 : 5);
    size_t word = (size_t)fplt_stream_below(stream, row < 90 ? 2 : 4);
    int missing = fplt_stream_below(stream, 12) == 0;
    *to += sprintf(*to, "%s,%s,", sites[site], label);
    *to += missing ? sprintf(*to, "?") : sprintf(*to, "%.17g", fplt_stream_normal(stream));
    *to += sprintf(*to, ",%s,%zu,p%zu,%g%s", words[word], row, row % 37, 0.5 + (double)(row % 3),
                   fplt_stream_below(stream, 2) ? "\r\n" : "\n");
    if (fplt_stream_below(stream, 9) == 0)
        *to += sprintf(*to, "\n\r\n");
}

static char *table(size_t rows, int numbers)
{
    char *text = malloc(rows * 160 + 200), *to = text;
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    assert_non_null(text);
    to += sprintf(to, "site,label,x,colour,n,id,weight\n");
    for (size_t r = 0; r < rows; r++) {
        char label[32];
        sprintf(label, numbers ? "%zu.5" : "c%zu", r % (numbers ? rows : 3));
        add_row(&to, &stream, r, label);
    }
    return text;
}

static const fplt_read_settings everything = {
    .drop_missing = 1, .categories = "colour", .id = "id", .row_weight = "weight"};

static void tables_are_the_same(void **state)
{
    (void)state;
    char *text = table(400, 0);
    compare("t.csv", text, everything, 1);
    fplt_read_settings other = everything;
    other.site = "none";
    other.ignore = "site";
    other.drop_first_level = 1;
    compare("t.csv", text, other, 1);
    while (strchr("\r\n", text[strlen(text) - 1])) /* the last line without its end */
        text[strlen(text) - 1] = 0;
    compare("t.csv", text, everything, 1);
    free(text);
}

/* More than a thousand distinct labels are numbers, wherever the thousandth stands. */
static void labels_turn_at_the_same_row(void **state)
{
    (void)state;
    char *text = table(1300, 1);
    compare("t.csv", text, everything, 1);
    fplt_read_settings regression = everything;
    regression.task = "regression";
    compare("t.csv", text, regression, 1);
    free(text);
}

static void libsvm_is_the_same(void **state)
{
    (void)state;
    char text[20000], *to = text;
    fplt_stream stream = fplt_stream_make(6, 0, FPLT_FOR_TEST, 0, 0, 0);
    to += sprintf(to, "\xef\xbb\xbf");
    for (size_t r = 0; r < 300; r++) {
        to += sprintf(to, "%s", r % 3 ? "+1" : "-1");
        for (size_t j = 1 + r % 5; j < 30; j += 1 + (size_t)fplt_stream_below(&stream, 12))
            to += sprintf(to, " %zu:%.6g", j, fplt_stream_normal(&stream));
        to += sprintf(to, "%s", r % 17 == 5 ? " # a remark \"\n# another\n\n" : "\n");
    }
    to += sprintf(to, "1 41:1e-3");
    compare("t.libsvm", text, fplt_read_defaults(), 1);
    sprintf(to, "\n1 7:1 7:2\n1 9:9\n");
    compare("t.libsvm", text, fplt_read_defaults(), 0);
}

static void sentences_are_the_same(void **state)
{
    (void)state;
    static const char *const ends[] = {
        "north,c1,x,red,1,p1,1\n",         /* no number */
        "north,c1,1,red,1,p1\n",           /* a field too few */
        "north,c1,1,red,1,p1,0\n",         /* a weight of 0 */
        "north,c1,1,\"red,1,p1,1\nmore\n", /* a quote that stays open */
        "north,c1,1,r\"ed,1,p1,1\n",       /* a quote within a field */
        "north,c1,1,\"red\"x,1,p1,1\n",    /* text behind a quote */
        "north,c1,1,\xff,1,p1,1\n",        /* no UTF-8 */
        "north,c1,1,red,1\r,p1,1\n",       /* half a line end */
        "north,7,1,red,1,p1,1\n",          /* a number among words */
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int last = 0; last < 2; last++) {
            char *rows = table(60, 0), *text = malloc(2 * strlen(rows) + 200);
            assert_non_null(text);
            strcpy(text, rows);
            strcat(text, ends[i]);
            if (!last)
                strcat(text, strchr(rows, '\n') + 1);
            compare("t.csv", text, everything, 0);
            free(text);
            free(rows);
        }
}

/* Long files by their names, where a piece has its usual length. */
static void files_are_the_same(void **state)
{
    (void)state;
    fplt_dataset *one, *two;
    fplt_error error;
    fplt_read_settings settings = everything;
    char path[160];
    const char *paths[] = {path};
    char *text = table(60000, 0);
    snprintf(path, sizeof path, "%s", folder_file(&folder, "long.csv"));
    assert_true(strlen(text) > 2 << 20);
    write_text(path, text);
    assert_ok(fplt__dataset_read_pieces("long.csv", text, strlen(text), 0, &settings, &one, &error),
              error);
    for (settings.threads = 1; settings.threads <= 3; settings.threads++) {
        assert_ok(fplt_dataset_read(paths, 1, &settings, &two, &error), error);
        assert_same(one, two, 0);
        fplt_dataset_destroy(two);
    }
    fplt_dataset_destroy(one);
    remove(path);
    free(text);
}

int main(void)
{
    folder_make(&folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_the_same), cmocka_unit_test(labels_turn_at_the_same_row),
        cmocka_unit_test(libsvm_is_the_same),  cmocka_unit_test(sentences_are_the_same),
        cmocka_unit_test(files_are_the_same),
    };
    int failed = cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
    remove(folder.path);
    return failed;
}
