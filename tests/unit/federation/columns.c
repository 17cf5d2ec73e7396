/* Names of columns over the network: the common ones of several files, differences and who hears of them. */
#include "testing.h"

#include "base/memory.h"
#include "data/builder.h"
#include "fedplt/federation.h"
#include "federation/plan/columns.h"
#include "federation/plan/preparation.h"

/* `columns`: "age sex=f|m", a category by its levels; `classes`: "no|yes", NULL for numbers. Every word has `rows`. */
static void fill(fplt__dictionary_column *column, const char *words, uint64_t rows)
{
    fplt_error error;
    char copy[300], *rest = copy;
    snprintf(copy, sizeof copy, "%s", words);
    column->kind = FPLT__DICTIONARY_CATEGORY;
    for (char *word; (word = strsep(&rest, "|"));)
        assert_ok(fplt__dictionary_add_level(column, word, strlen(word), &error), error);
    if (!rows)
        return;
    assert_ok(fplt__alloc_into(&column->rows, column->levels, sizeof *column->rows, "", &error),
              error);
    for (size_t i = 0; i < column->levels; i++)
        column->rows[i] = rows;
}

static fplt__dictionary file(const char *columns, const char *label, const char *classes,
                             uint64_t rows)
{
    fplt__dictionary made = {.is_whole = 1, .label = {.kind = FPLT__DICTIONARY_NUMBER}};
    fplt_error error;
    char copy[300], *rest = copy;
    snprintf(copy, sizeof copy, "%s", columns);
    for (char *word; (word = strsep(&rest, " "));) {
        size_t length = strcspn(word, "=");
        assert_ok(fplt__dictionary_add_column(&made, word, length, FPLT__DICTIONARY_NUMBER, &error),
                  error);
        if (word[length])
            fill(&made.column[made.columns - 1], word + length + 1, rows);
    }
    made.label.name = label ? fplt__strdup(label) : NULL;
    if (classes)
        fill(&made.label, classes, rows);
    return made;
}

/* A dictionary as "age sex=f|m : sick=no|yes". */
static const char *shown(const fplt__dictionary *d)
{
    static char text[500];
    size_t used = 0;
    for (size_t j = 0; j <= d->columns; j++) {
        const fplt__dictionary_column *column = j < d->columns ? &d->column[j] : &d->label;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 j == d->columns ? " : "
                                 : j             ? " "
                                                 : "",
                                 column->name ? column->name : "");
        for (size_t k = 0; k < column->levels; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", k ? "|" : "=",
                                     column->level[k]);
    }
    return text;
}

/* As it arrives: what fewer rows have than may be told is not in it. */
static void send(fplt__dictionary *d)
{
    fplt_error error;
    char *text, *again;
    double numbers[400];
    fplt__dictionary back;
    assert_ok(fplt__dictionary_text(d, &text, &error), error);
    size_t length = strlen(text);
    assert_true(fplt__dictionary_numbers(length) <= 400);
    fplt__dictionary_pack(text, length, numbers);
    char *read = malloc(length + 1);
    assert_ok(fplt__dictionary_unpack(numbers, length, read, &error), error);
    assert_string_equal(read, text);
    assert_ok(fplt__dictionary_read(read, length, &back, &error), error);
    assert_ok(fplt__dictionary_text(&back, &again, &error), error);
    assert_string_equal(again, text);
    free(read);
    fplt__free(text);
    fplt__free(again);
    fplt__dictionary_clear(d);
    *d = back;
}

static void settles_as(fplt__dictionary *declared, fplt__dictionary *own, uint32_t members,
                       const char *expected)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__dictionary common, none = {.is_whole = 0};
    for (uint32_t i = 0; i < members; i++)
        send(&own[i]);
    fplt_status status =
        fplt__columns_settle(declared ? declared : &none, own, members, &common, &error);
    if (status)
        assert_contains(error.text, expected);
    else
        assert_string_equal(shown(&common), expected);
    fplt__dictionary_clear(&common);
    for (uint32_t i = 0; i < members; i++)
        fplt__dictionary_clear(&own[i]);
    if (declared)
        fplt__dictionary_clear(declared);
}

static void the_first_file_has_the_order(void **state)
{
    (void)state;
    settles_as(NULL,
               (fplt__dictionary[]){file("dose age sex=m|f", "sick", "yes|no", 9),
                                    file("sex=f|m age dose", "sick", "no|yes", 9),
                                    file("age sex=f dose", "sick", "no|yes", 9)},
               3, "dose age sex=f|m : sick=no|yes");
    /* of two kinds of files that of most */
    settles_as(NULL,
               (fplt__dictionary[]){file("dose", "sick", "no|yes", 9),
                                    file("age dose", "sick", "no|yes", 9),
                                    file("dose age", "sick", "no|yes", 9)},
               3, "age dose : sick=no|yes");
    settles_as(NULL,
               (fplt__dictionary[]){file("dose", "ill", NULL, 9), file("age", "sick", NULL, 9)}, 2,
               "dose : ill");
}

static void words_are_united_where_they_overlap(void **state)
{
    (void)state;
    settles_as(NULL,
               (fplt__dictionary[]){file("g=a|b", "y", NULL, 9), file("g=c|d", "y", NULL, 9),
                                    file("g=b|c", "y", NULL, 9)},
               3, "g=a|b|c|d : y");
    settles_as(NULL,
               (fplt__dictionary[]){file("g=female|male", "y", NULL, 9),
                                    file("g=f|m", "y", NULL, 9), file("g=m|x", "y", NULL, 9)},
               3, "g=f|m|x : y");
    settles_as(NULL,
               (fplt__dictionary[]){file("g=10|9", "y", NULL, 9), file("g=9|100", "y", NULL, 9)}, 2,
               "g=9|10|100 : y");
    /* classes are those of one file, which has the words of most */
    settles_as(NULL,
               (fplt__dictionary[]){file("x", "y", "ill|well", 9), file("x", "y", "no", 9),
                                    file("x", "y", "no|yes", 9)},
               3, "x : y=no|yes");
    settles_as(NULL, (fplt__dictionary[]){file("x", "y", "0|1", 9), file("x", "y", "1|2", 9)}, 2,
               "x : y=0|1");
    settles_as(NULL, (fplt__dictionary[]){file("x", "y", "no|yes", 4), file("x", "y", "no|yes", 4)},
               2, "declare `classes`");
    settles_as(NULL, (fplt__dictionary[]){file("g=a|b", "y", NULL, 4)}, 1, "declare its `levels`");
}

static void what_is_declared_decides(void **state)
{
    (void)state;
    fplt__dictionary declared = file("age g=b|a|c dose", "sick", "no|yes", 0);
    settles_as(&declared,
               (fplt__dictionary[]){file("dose g=a age", "sick", "yes", 9),
                                    file("g=b|a age dose", "sick", "no", 9)},
               2, "age g=a|b|c dose : sick=no|yes");
}

/* `told`: the common one; otherwise a proposal. Empty sentences: no difference. */
static void differs(const char *wanted_columns, const char *wanted_classes, fplt__dictionary own,
                    int told, const char *here, const char *there)
{
    fplt_error error = {FPLT_OK, ""};
    char abroad[FPLT__SENTENCE] = "";
    fplt__dictionary wanted = file(wanted_columns, "y", wanted_classes, 0);
    fplt__columns_match match = {&wanted, "d.csv", told ? "the run" : "the proposal", told, abroad};
    fplt_status status = fplt__columns_check(&match, &own, &error);
    assert_int_equal(status, *here ? FPLT_BAD_DATA : FPLT_OK);
    assert_contains(error.text, here);
    assert_string_equal(abroad, there);
    fplt__dictionary_clear(&wanted);
    fplt__dictionary_clear(&own);
}

static void differences_are_named(void **state)
{
    (void)state;
    differs("a g=x|y", "no|yes", file("g=y|x a", "y", "yes|no", 9), 1, "", "");
    differs("a b", NULL, file("a", "y", NULL, 9), 1,
            "d.csv: column 'b' is missing, which the run has; the columns here are a",
            "column 'b' is missing");
    differs("a", NULL, file("a secret", "y", NULL, 9), 1, "column 'secret'",
            "column 'secret' is not one of the run's");
    differs("a", NULL, file("a secret", "y", NULL, 9), 0, "column 'secret'",
            "its file has a column that is not one of the run's; its own log names it");
    differs("a", "no|yes", file("a", "z", "no|yes", 9), 1, "the label is column 'z'",
            "its label is another column than 'y'");
    differs("a", "no|yes", file("a", "y", NULL, 9), 1, "the labels are numbers",
            "its labels are numbers, but those of the run are classes");
    differs("g=1|2", NULL, file("g", "y", NULL, 9), 1, "column 'g' is read as numbers",
            "column 'g' is read as numbers there, but as words elsewhere: declare its `levels`");
}

static void rare_words_stay(void **state)
{
    (void)state;
    differs("g=x", NULL, file("g=x|w", "y", NULL, 5), 1, "the level 'w' in 5 rows",
            "column 'g' has the level 'w', which no common list has");
    differs("g=x", NULL, file("g=x|w", "y", NULL, 4), 1, "the level 'w' in 4 rows",
            "column 'g' has a level that is not declared and that fewer than 5 of its rows have: "
            "declare it in `levels`");
    differs("a", "no|yes", file("a", "y", "no|maybe", 4), 0, "the class 'maybe' in 4 rows",
            "the label has a class that is not declared and that fewer than 5 of its rows have: "
            "declare it in `classes`");
    /* a class that was declared and that no row has */
    fplt__dictionary own = file("a", "y", "no|yes|old", 7);
    own.label.rows[2] = 0;
    differs("a", "no|yes", own, 1, "", "");
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "{\"columns\":[],\"drop\":false,\"label\":{\"kind\":\"number\",\"levels\":[],\"name\":null}"
        ","
        "\"positions\":0}",
        "{\"columns\":[{\"kind\":\"number\",\"levels\":[\"a\"],\"name\":\"x\"}],\"drop\":false,"
        "\"label\":{\"kind\":\"number\",\"levels\":[],\"name\":null},\"positions\":0,\"whole\":"
        "true}",
        "{\"columns\":[{\"kind\":\"number\",\"levels\":[],\"name\":\"\"}],\"drop\":false,"
        "\"label\":{\"kind\":\"number\",\"levels\":[],\"name\":null},\"positions\":0,\"whole\":"
        "true}",
        "{\"columns\":[{\"kind\":\"number\",\"levels\":[],\"name\":\"x\"}],\"drop\":false,"
        "\"label\":{\"kind\":\"number\",\"levels\":[],\"name\":null},\"positions\":3,\"whole\":"
        "true}",
        "{\"columns\":[],\"drop\":false,\"label\":null,\"positions\":3,\"whole\":true}",
        "{\"columns\":[7],\"drop\":false,\"label\":{\"kind\":\"number\",\"levels\":[],\"name\":"
        "null},"
        "\"positions\":0,\"whole\":true}",
    };
    const double wrong[][1] = {{-1}, {0.5}, {281474976710656.0}, {NAN}, {INFINITY}};
    fplt_error error;
    fplt__dictionary d;
    char text[8];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(fplt__dictionary_read(texts[i], strlen(texts[i]), &d, &error),
                         FPLT_BAD_DATA);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(fplt__dictionary_unpack(wrong[i], 6, text, &error), FPLT_BAD_DATA);
    /* too long a word is refused by who would send it */
    fplt__dictionary long_word = file("x", "y", NULL, 0);
    char word[300] = "";
    memset(word, 'w', 256);
    fill(&long_word.column[0], word, 9);
    char *made;
    assert_int_equal(fplt__dictionary_text(&long_word, &made, &error), FPLT_BAD_DATA);
    fplt__dictionary_clear(&long_word);
}

/* The text that federation.yaml gives, or the sentence of its refusal. */
static void declares(const char *const (*pairs)[2], const char *expected)
{
    fplt_settings *settings;
    fplt_error error = {FPLT_OK, ""};
    fplt__dictionary d;
    char *text;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_settings_add(settings, "federation", fplt_federation_lead_table, &error), error);
    for (; (*pairs)[0]; pairs++)
        assert_ok(fplt_settings_set(settings, (*pairs)[0], (*pairs)[1], "test", &error), error);
    if (fplt__columns_declare(settings, &text, &error)) {
        assert_contains(error.text, expected);
    } else {
        assert_ok(fplt__columns_read(text, &d, &error), error);
        assert_string_equal(shown(&d), expected);
        fplt__dictionary_clear(&d);
    }
    fplt__free(text);
    fplt_settings_destroy(settings);
}

static void keys_become_a_dictionary(void **state)
{
    (void)state;
    typedef const char *const pairs[][2];
    declares((pairs){{"columns", "b,a"},
                     {"label", "y"},
                     {"classes", "10,9.0,+1"},
                     {"levels", "a=n\\,m\\,k"},
                     {NULL, NULL}},
             "b a=k|m|n : y=1|9|10");
    /* a word among them: numbers stay as they are written */
    declares((pairs){{"label", "y"}, {"classes", "yes,1.0"}, {NULL, NULL}}, " : y=1.0|yes");
    declares((pairs){{NULL, NULL}}, " : ");
    declares((pairs){{"columns", "a,a"}, {NULL, NULL}}, "columns: 'a' stands there twice");
    declares((pairs){{"columns", "a"}, {"levels", "b=x"}, {NULL, NULL}}, "levels: 'b' is not one");
    declares((pairs){{"levels", "b=x\\,x"}, {NULL, NULL}}, "b: 'x' stands there twice");
    declares((pairs){{"classes", "yes"}, {NULL, NULL}}, "classes: there is one only");
    declares((pairs){{"columns", "a"}, {"label", "a"}, {NULL, NULL}}, "columns: 'a' is the label");
    declares((pairs){{"columns", "a"}, {"features", "3"}, {NULL, NULL}}, "features: is for files");
}

/* Rows of a file as the common dictionary has them. */
static void rows_conform(void **state)
{
    (void)state;
    static const char csv[] = "g,y,b,a\nv,yes,1,2\nu,no,3,4\nv,no,5,6\n";
    static const char *features[] = {"a", "g=t", "g=u", "g=v", "b"},
                      *classes[] = {"maybe", "no", "yes"};
    const double expected[] = {2, 0, 0, 1, 1, 4, 0, 1, 0, 3, 6, 0, 0, 1, 5};
    const double labels[] = {2, 1, 1};
    fplt_read_settings read = {.label = "y", .categories = "auto"};
    fplt_dataset *rows;
    fplt_error error;
    assert_ok(fplt__dataset_read_memory("d.csv", csv, sizeof csv - 1, &read, &rows, &error), error);
    fplt__names wanted = {5, features}, known = {3, classes}, few = {1, classes + 1};
    assert_ok(fplt__dataset_conform(rows, &wanted, &known, &error), error);
    assert_int_equal(rows->features, 5);
    assert_int_equal(rows->outputs, 3);
    assert_int_equal(rows->task, FPLT_TASK_CLASSES);
    assert_memory_equal(rows->dense, expected, sizeof expected);
    assert_memory_equal(rows->label, labels, sizeof labels);
    assert_string_equal(fplt_dataset_feature_name(rows, 4), "b");
    assert_int_equal(fplt__dataset_conform(rows, &wanted, &few, &error), FPLT_BAD_DATA);
    features[1] = "a";
    assert_int_equal(fplt__dataset_conform(rows, &wanted, &known, &error), FPLT_BAD_DATA);
    features[1] = "g=t";
    fplt_dataset_destroy(rows);
}

/* The same of sparse rows, as many levels give. */
static void sparse_rows_conform(void **state)
{
    (void)state;
    size_t start[] = {0, 2, 3};
    uint32_t column[] = {0, 2, 1};
    double value[] = {10, 12, 21}, label[] = {1, 2};
    static const char *own[] = {"p", "q", "r"}, *wanted[] = {"r", "new", "p"};
    size_t count = 2;
    fplt_rows given = {.count = 2,
                       .features = 3,
                       .start = start,
                       .column = column,
                       .value = value,
                       .label = label};
    fplt_dataset *rows;
    fplt_error error;
    assert_ok(fplt_dataset_from_rows(&given, FPLT_TASK_REGRESSION, &count, 1, &rows, &error),
              error);
    fplt__names names = {3, own}, features = {3, wanted}, none = {0, NULL};
    assert_ok(fplt__names_copy(&names, &rows->feature_names, &error), error);
    assert_ok(fplt__dataset_conform(rows, &features, &none, &error), error);
    assert_int_equal(rows->start[1], 2);
    assert_int_equal(rows->start[2], 2);
    assert_true(rows->column[0] == 0 && rows->value[0] == 12);
    assert_true(rows->column[1] == 2 && rows->value[1] == 10);
    fplt_dataset_destroy(rows);
}

/* What a coordinator may say of missing values and classes, and what it finds from sums. */
static void preparation_is_found_and_checked(void **state)
{
    (void)state;
    fplt_error error;
    fplt_settings *settings;
    fplt__proposal proposal = {.federation = "heart", .members = 2};
    fplt__dictionary own = file("age sex=f|m|x", "sick", "no|yes", 0);
    char *text;
    fplt__preparation of;
    fplt__form form = {.task = FPLT_TASK_BINARY, .features = 4, .outputs = 2, .dense = 1};
    const uint64_t rows[] = {10, 30}, none[] = {0, 0};
    /* two sums of ages in units of 64, rows of the levels; values that are there */
    const double counted[] = {1.25, 3, 5, 5, 2, 13, 13, 13}, unit[] = {64, 1, 1, 1};
    double fill[4], good[] = {40, 0, 1, 0}, two[] = {40, 1, 1, 0}, half[] = {40, 0, 0.5, 0};
    assert_ok(fplt__dictionary_text(&own, &text, &error), error);
    fplt__dictionary_clear(&own);
    assert_ok(fplt__proposal_set(&proposal, "missing", "mean", &error), error);
    assert_ok(fplt__proposal_set(&proposal, "class-weight", "balanced", &error), error);
    assert_ok(fplt__plan_resolution_settings(&proposal, 0, &settings, &error), error);
    assert_true(fplt__preparation_fills(settings));
    assert_int_equal(fplt__preparation_steps(settings), 1u << FPLT__FACTS_SPANS |
                                                            1u << FPLT__FACTS_COUNTS |
                                                            1u << FPLT__FACTS_PREPARED);
    assert_ok(fplt__preparation_make(settings, text, &form, &of, &error), error);
    assert_int_equal(fplt__preparation_numbers(&of), 10);
    assert_true(fplt__preparation_unit(&of, 0, 40) == 64 &&
                fplt__preparation_unit(&of, 1, 40) == 1);
    assert_ok(fplt__preparation_settle(&of, counted, unit, NULL, fill, &error), error);
    assert_true(fill[0] == 40 && fill[1] == 0 && fill[2] == 1 && fill[3] == 0);
    assert_ok(fplt__preparation_check(&of, good, 4, rows, 2, &error), error);
    assert_int_equal(fplt__preparation_check(&of, two, 4, rows, 2, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt__preparation_check(&of, half, 4, rows, 2, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt__preparation_check(&of, good, 3, rows, 2, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt__preparation_check(&of, good, 4, rows, 0, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt__preparation_check(&of, good, 4, none, 2, &error), FPLT_BAD_DATA);
    fplt__preparation_clear(&of);
    form.task = FPLT_TASK_REGRESSION;
    assert_int_equal(fplt__preparation_make(settings, text, &form, &of, &error), FPLT_BAD_VALUE);
    fplt__preparation_clear(&of);
    fplt_settings_destroy(settings);
    fplt__proposal_clear(&proposal);
    fplt__free(text);
}

/* A plan with fewer means and scales than the run has columns is refused before they are read. */
static void scales_are_one_a_column(void **state)
{
    (void)state;
    fplt_error error;
    fplt_settings *settings;
    fplt_job_source source = {.schema = NULL};
    fplt__proposal proposal = {.federation = "heart", .members = 2};
    double shift[] = {1, 0}, scale[] = {2, 3};
    fplt__agreement agreement = {.shifts = 2, .shift = shift, .scale = scale};
    fplt_transform made;
    assert_ok(fplt__plan_resolution_settings(&proposal, 0, &settings, &error), error);
    assert_ok(fplt__plan_resolution_transform(settings, &source, 2, &agreement, &made, &error),
              error);
    assert_true(made.mean[0] == 1 && made.scale[1] == 3);
    fplt_transform_clear(&made);
    for (size_t features = 1; features < 4000; features += 998) {
        assert_int_equal(fplt__plan_resolution_transform(settings, &source, features, &agreement,
                                                         &made, &error),
                         FPLT_BAD_DATA);
        assert_non_null(strstr(error.text, "the plan scales 2 columns"));
        fplt_transform_clear(&made);
    }
    fplt_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_file_has_the_order),
        cmocka_unit_test(words_are_united_where_they_overlap),
        cmocka_unit_test(what_is_declared_decides),
        cmocka_unit_test(differences_are_named),
        cmocka_unit_test(rare_words_stay),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(keys_become_a_dictionary),
        cmocka_unit_test(rows_conform),
        cmocka_unit_test(sparse_rows_conform),
        cmocka_unit_test(preparation_is_found_and_checked),
        cmocka_unit_test(scales_are_one_a_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
