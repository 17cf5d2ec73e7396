/* Texts read in pieces, on several threads: the same data set to the last bit, and the same sentences. The
 * oracle is the reader that takes a file whole; two data sets are compared by the bytes of the file
 * that has everything of them. */
#include "helpers.h"

#include "data/dataset_access.h"
#include "data/scan.h"
#include "base/file.h"

static struct folder folder;

/* All that a data set is, to be released. */
struct content {
    char *bytes;
    size_t size;
};

static struct content content_of(const fplt_dataset *dataset)
{
    fplt_error error;
    struct content content = {NULL, 0};
    const char *path = folder_file(&folder, "set.fplt");
    if (!dataset)
        return content;
    assert_ok(fplt_dataset_write(dataset, path, NULL, &error), error);
    assert_ok(fplt__file_read(path, SIZE_MAX, &content.bytes, &content.size, &error), error);
    remove(path);
    return content;
}

static void assert_same(const struct content *whole, const fplt_dataset *other, size_t piece)
{
    struct content content = content_of(other);
    if (content.size != whole->size || memcmp(content.bytes, whole->bytes, whole->size) != 0)
        fail_msg("in pieces of %zu bytes: another data set", piece);
    fplt_free(content.bytes);
}

static const size_t pieces[] = {16, 17, 40, 101, 256, 5000};

/* How far a text was read, and whether then from its beginning again: what cannot be read in pieces is read whole,
 * which must not hide that pieces went wrong. */
static size_t read_to;
static int read_again;

static void watch(void *context, const char *name, size_t done, size_t bytes)
{
    (void)context;
    (void)name;
    (void)bytes;
    read_again |= done < read_to;
    read_to = done;
}

/* A text in memory, or the same as a file. */
struct given {
    const char *name, *text; /* NULL: a file of that name */
    size_t whole_below;      /* bytes of a piece with which it may be read whole in the end */
};

static fplt_status read_given(const struct given *given, size_t piece,
                              const fplt_read_settings *settings, fplt_dataset **dataset,
                              fplt_error *error)
{
    read_to = 0;
    read_again = 0;
    return given->text ? fplt__dataset_read_pieces(given->name, given->text, strlen(given->text),
                                                   piece, settings, dataset, error)
                       : fplt__dataset_read_file(given->name, piece, settings, dataset, error);
}

/* The text in pieces, on one thread and on several. */
static void compare_pieces(const struct given *given, fplt_read_settings settings,
                           const struct content *whole, const fplt_error *said, fplt_status status)
{
    fplt_dataset *dataset;
    fplt_error error;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (settings.threads = 1; settings.threads <= 5; settings.threads += 2) {
            assert_int_equal(read_given(given, pieces[i], &settings, &dataset, &error), status);
            if (status)
                assert_string_equal(error.text, said->text);
            else
                assert_same(whole, dataset, pieces[i]);
            if (!status && pieces[i] >= given->whole_below && read_again)
                fail_msg("%s in pieces of %zu bytes was read again", given->name, pieces[i]);
            fplt_dataset_destroy(dataset);
        }
}

static void compare_given(const struct given *given, fplt_read_settings settings, int accepted)
{
    fplt_dataset *whole;
    fplt_error said;
    fplt_status status = read_given(given, 0, &settings, &whole, &said);
    if ((status == FPLT_OK) != accepted)
        fail_msg("%s", status ? said.text : "a bad text was read");
    struct content content = content_of(whole);
    compare_pieces(given, settings, &content, &said, status);
    fplt_free(content.bytes);
    fplt_dataset_destroy(whole);
}

/* Whether it is read, and how: REFUSED, READ in the end, or in pieces that have the first line. */
enum { REFUSED, READ, IN_PIECES };

/* By every way of scanning that the machine has; the first is compared with the others too. From memory and from a
 * file, whose rows cross the ranges that are loaded. */
static void compare(const char *name, const char *text, fplt_read_settings settings, int how)
{
    char path[160];
    int accepted = how != REFUSED;
    size_t below = how == IN_PIECES ? (size_t)(strchr(text, '\n') + 1 - text) : SIZE_MAX;
    struct given memory = {name, text, below}, file = {path, NULL, below};
    fplt_dataset *whole;
    fplt_error said;
    fplt_status status = read_given(&memory, 0, &settings, &whole, &said);
    if ((status == FPLT_OK) != accepted)
        fail_msg("%s", status ? said.text : "a bad text was read");
    snprintf(path, sizeof path, "%s", folder_file(&folder, name));
    write_text(path, text);
    struct content content = content_of(whole);
    const fplt__scan *scan;
    for (size_t i = 0; (scan = fplt__scan_get(i)); i++) {
        if (!scan->available())
            continue;
        fplt__scan_use(scan);
        compare_pieces(&memory, settings, &content, &said, status);
    }
    fplt__scan_use(NULL);
    compare_given(&file, settings, accepted); /* loading does not know how numbers are found */
    fplt_free(content.bytes);
    fplt_dataset_destroy(whole);
    remove(path);
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
    compare("t.csv", text, everything, IN_PIECES);
    fplt_read_settings other = everything;
    other.site = "none";
    other.ignore = "site";
    other.drop_first_level = 1;
    compare("t.csv", text, other, IN_PIECES);
    while (strchr("\r\n", text[strlen(text) - 1])) /* the last line without its end */
        text[strlen(text) - 1] = 0;
    compare("t.csv", text, everything, IN_PIECES);
    free(text);
}

/* More than a thousand distinct labels are numbers, wherever the thousandth stands. */
static void labels_turn_at_the_same_row(void **state)
{
    (void)state;
    char *text = table(1300, 1);
    compare("t.csv", text, everything, IN_PIECES);
    fplt_read_settings regression = everything;
    regression.task = "regression";
    compare("t.csv", text, regression, IN_PIECES);
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
    compare("t.libsvm", text, fplt_read_defaults(), IN_PIECES);
    sprintf(to, "\n1 7:1 7:2\n1 9:9\n");
    compare("t.libsvm", text, fplt_read_defaults(), REFUSED);
}

static void sentences_are_the_same(void **state)
{
    (void)state;
    static const char *const ends[] = {
        "north,c1,x,red,1,p1,1\n",         /* no number */
        "north,c1,1,red,1,p1\n",           /* a field too few */
        "north,c1,1,red,1,p1,-1\n",        /* a weight below 0 */
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
            compare("t.csv", text, everything, REFUSED);
            free(text);
            free(rows);
        }
}

/* A bad line among plain ones: the sentence names it, by whatever way it is read. */
static void check_line(const char *name, const char *header, const char *row, const char *bad,
                       int after)
{
    enum { BEFORE = 40 };
    char text[8000], *to = text, place[40];
    fplt_error error;
    fplt_dataset *dataset;
    fplt_read_settings settings = {.task = "classes"};
    to += sprintf(to, "%s", header);
    for (int r = 0; r < BEFORE; r++)
        to += sprintf(to, "%s", row);
    to += sprintf(to, "%s", bad);
    for (int r = 0; r < after; r++)
        to += sprintf(to, "%s", row);
    sprintf(place, "%s:%d: ", name, BEFORE + 1 + (*header != 0));
    assert_int_not_equal(
        fplt__dataset_read_memory(name, text, strlen(text), &settings, &dataset, &error), FPLT_OK);
    if (strncmp(error.text, place, strlen(place)))
        fail_msg("of '%s' it says: %s", bad, error.text);
    compare(name, text, settings, REFUSED);
}

static void plain_sentences_are_the_same(void **state)
{
    (void)state;
    static const char *const csv[] = {
        "1,x,2,3\n",
        "1,2,3\n",
        "1,2,3,4,5\n",
        "1,,2,3\n",
        "1,2,3,\n",
        "1,2,3,1e999\n",
        "1,\"2,3",
        "1,2,3\"4,5\n",
        "1,2,3\r4,5\n",
        "1,2,3\xff,4\n",
        "1,2,-,4\n",
        "1,2,.,4\n",
        "1,1.2.3,4,5\n",
        "1,nan,2,3\n",
        "1,0x10,2,3\n",
        "?,1,2,3\n",
        "1,2;5,3,4\n",
        "1,2,3,4\r5\n",
        "1\n",
        "1,--1,2,3\n",
        "1,1e,2,3\n",
        "1,1-2,2,3\n",
        "1,2,3,12345678901234567890x\n",
    };
    static const char *const libsvm[] = {
        "1 2:x\n",   "1 0:1\n",           "1 2:1 2:1\n",    "1 3:1 2:1\n",   "1 1:1e999\n",
        "2:1 3:1\n", "1 99999999999:1\n", "1 60000000:1\n", "1 qid:3 1:1\n", "1 1\n",
        "1 1:\n",    "1 1:1:2\n",         "1 :2\n",         "1 1:2 3:\n",    "1 1:2\xff 3:4\n",
        "1 1:2-3\n", "1 1:.\n",
    };
    for (size_t i = 0; i < sizeof csv / sizeof *csv; i++)
        for (int after = 0; after < 90; after += 89)
            check_line("t.csv", "label,a,b,c\n", "1,0.25,-3.5,17\n", csv[i], after);
    for (size_t i = 0; i < sizeof libsvm / sizeof *libsvm; i++)
        for (int after = 0; after < 90; after += 89)
            check_line("t.libsvm", "", "1 1:0.25 7:-3.5 12:17\n", libsvm[i], after);
}

/* A number as people and programs write them. */
static int write_number(char *to, fplt_stream *stream, int spelt)
{
    double value = fplt_stream_normal(stream);
    switch (fplt_stream_below(stream, spelt ? 12 : 2)) {
    case 0: return sprintf(to, "%d", (int)(100 * value));
    case 2: return sprintf(to, "%.17g", value);
    case 3: return sprintf(to, "%.3e", value);
    case 4: return sprintf(to, "+%.4f", fabs(value));
    case 5: return sprintf(to, "%.0f.", value);
    case 6: return sprintf(to, "%.25f", value);
    case 7: return sprintf(to, "%.15f", value);
    case 8: return sprintf(to, "%.16g", 9007199254740992.0 * value);
    case 9: return sprintf(to, "-.%u", (unsigned)fplt_stream_below(stream, 1000));
    default: return sprintf(to, "%.6g", value);
    }
}

/* The text, and what strtod makes of each of its numbers. */
static char *numbers(size_t rows, size_t columns, int spelt, int libsvm, double *value)
{
    char *text = malloc((rows + 1) * columns * 48 + 100), *to = text;
    fplt_stream stream = fplt_stream_make(7, 0, FPLT_FOR_TEST, columns, 0, 0);
    assert_non_null(text);
    to += libsvm ? 0 : sprintf(to, "label");
    for (size_t j = 0; j < columns && !libsvm; j++)
        to += sprintf(to, ",x%zu", j);
    to += libsvm ? 0 : sprintf(to, "\n");
    for (size_t r = 0; r < rows; r++) {
        to += sprintf(to, "%zu", r % 3);
        for (size_t j = 0; j < columns; j++) {
            int pad = !libsvm && spelt && fplt_stream_below(&stream, 200) == 0;
            to += libsvm ? sprintf(to, " %zu:", j + 1) : sprintf(to, pad ? ", " : ",");
            char *begun = to;
            to += write_number(to, &stream, spelt);
            value[r * columns + j] = strtod(begun, NULL);
        }
        if (libsvm && fplt_stream_below(&stream, 5) == 0)
            to += sprintf(to, r % 2 ? " " : "  ");
        to += sprintf(to, spelt && fplt_stream_below(&stream, 4) == 0 ? "\r\n" : "\n");
    }
    return text;
}

static void check_values(const fplt_dataset *dataset, const double *value, size_t rows,
                         size_t columns)
{
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(all.count, rows);
    assert_int_equal(all.features, columns);
    for (size_t k = 0; k < rows * columns && all.start; k++)
        assert_int_equal(all.column[k], k % columns);
    if (memcmp(all.start ? all.value : all.dense, value, rows * columns * sizeof *value))
        fail_msg("of %zu columns a number was read wrongly", columns);
}

/* Beside strtod: rows shorter and longer than what is looked at at once. */
static void numbers_are_what_they_say(void **state)
{
    (void)state;
    static const size_t columns[] = {1, 2, 7, 60, 900, 2500};
    const fplt__scan *scan;
    for (size_t s = 0; (scan = fplt__scan_get(s)); s++)
        for (size_t i = 0; scan->available() && i < sizeof columns / sizeof *columns; i++)
            for (int kind = 0; kind < 4; kind++) {
                if (!drawn_takes(s * 64 + i * 4 + (size_t)kind))
                    continue;
                size_t rows = columns[i] < 100 ? 500 : 12;
                double *value = malloc(rows * columns[i] * sizeof *value);
                char *text = numbers(rows, columns[i], kind % 2, kind / 2, value);
                fplt_read_settings settings = {.task = "classes", .threads = 2};
                fplt__scan_use(scan);
                for (size_t piece = 0; piece < 100000; piece = piece ? 5 * piece : 3000) {
                    fplt_dataset *dataset;
                    fplt_error error;
                    assert_ok(fplt__dataset_read_pieces(kind / 2 ? "n.libsvm" : "n.csv", text,
                                                        strlen(text), piece, &settings, &dataset,
                                                        &error),
                              error);
                    check_values(dataset, value, rows, columns[i]);
                    fplt_dataset_destroy(dataset);
                }
                free(text);
                free(value);
            }
    fplt__scan_use(NULL);
}

/* Rows longer than several pieces, some with line ends between quotes. */
static void long_rows_are_the_same(void **state)
{
    (void)state;
    enum { ROWS = 12, LONG = 700 };
    char *text = malloc(ROWS * (LONG + 100)), *to = text;
    assert_non_null(text);
    to += sprintf(to, "label,colour,x\n0,red,1\n1,blue,2\n");
    for (int r = 0; r < ROWS; r++) {
        int length = r % 3 == 2 ? LONG : 5;
        to += sprintf(to, "%d,\"", r % 2);
        for (int k = 0; k < length; k++)
            *to++ = k % 50 == 49 ? '\n' : (char)('a' + r % 3);
        to += sprintf(to, "\",%d\n", r);
    }
    compare("long.csv", text, (fplt_read_settings){.categories = "colour"}, IN_PIECES);
    to += sprintf(to, "1,red");
    for (int k = 0; k < 90; k++)
        to += sprintf(to, "%d", k % 10);
    to += sprintf(to, ",x\n");
    compare("long.csv", text, (fplt_read_settings){.categories = "colour"}, REFUSED);
    free(text);
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
    struct content content = content_of(one);
    for (settings.threads = 1; settings.threads <= 3; settings.threads++) {
        assert_ok(fplt_dataset_read(paths, 1, &settings, &two, &error), error);
        assert_same(&content, two, 0);
        fplt_dataset_destroy(two);
    }
    fplt_free(content.bytes);
    fplt_dataset_destroy(one);
    remove(path);
    free(text);
}

int main(void)
{
    folder_make(&folder);
    fplt__read_watch(watch, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_the_same),
        cmocka_unit_test(labels_turn_at_the_same_row),
        cmocka_unit_test(libsvm_is_the_same),
        cmocka_unit_test(sentences_are_the_same),
        cmocka_unit_test(plain_sentences_are_the_same),
        cmocka_unit_test(numbers_are_what_they_say),
        cmocka_unit_test(long_rows_are_the_same),
        cmocka_unit_test(files_are_the_same),
    };
    int failed = cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
    remove(folder.path);
    return failed;
}
