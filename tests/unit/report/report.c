/* Tables, history, pictures and the progress line. */
#include "testing.h"

#include <jansson.h>

#include "failing.h"
#include "fedplt/report.h"
#include "base/buffer.h"
#include "temporary.h"
#include "report/report.h"

static fplt_table *sample(void)
{
    static const char *const columns[] = {"name", "count", "value"};
    fplt_error error;
    fplt_table *table;
    assert_ok(fplt__table_create(columns, 3, &table, &error), error);
    fplt__table_text(table, "plain");
    fplt__table_whole(table, 12);
    fplt__table_number(table, 0.1, 3);
    fplt__table_text(table, "Zürich, \"north\"");
    fplt__table_whole(table, -3456);
    fplt__table_number(table, NAN, 3);
    fplt__table_text(table, NULL);
    return table;
}

static void tables_are_aligned(void **state)
{
    (void)state;
    fplt_table *table = sample();
    fplt_error error;
    char *text;
    assert_int_equal(fplt__table_rows(table), 2);
    assert_ok(fplt_table_render(table, FPLT_TABLE_ALIGNED, &text, &error), error);
    assert_string_equal(text, "name             count  value\n"
                              "---------------  -----  -----\n"
                              "plain               12    0.1\n"
                              "Zürich, \"north\"  -3456      -\n"
                              "-                    -      -\n");
    fplt_free(text);
    fplt_table_destroy(table);
}

static void csv_is_quoted(void **state)
{
    (void)state;
    fplt_table *table = sample();
    fplt_error error;
    char *text;
    assert_ok(fplt_table_render(table, FPLT_TABLE_CSV, &text, &error), error);
    assert_string_equal(text, "name,count,value\n"
                              "plain,12,0.10000000000000001\n"
                              "\"Zürich, \"\"north\"\"\",-3456,\n"
                              ",,\n");
    fplt_free(text);
    fplt_table_destroy(table);
}

static void keys_are_headings_in_snake_case(void **state)
{
    (void)state;
    static const char *const headings[] = {
        "claimed mu", "stored (paper)", "final-x", "rdp(2.5)", "paper, not a claim", "N_e", "auc",
        "+-"};
    static const char *const keys[] = {"claimed_mu",        "stored_paper", "final_x", "rdp_2_5",
                                       "paper_not_a_claim", "n_e",          "auc",     ""};
    fplt_table *table;
    fplt_error error;
    char *text;
    assert_ok(fplt__table_create(headings, 8, &table, &error), error);
    for (int i = 0; i < 8; i++)
        fplt__table_whole(table, i);
    assert_ok(fplt_table_render(table, FPLT_TABLE_JSON, &text, &error), error);
    json_t *rows = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    for (int i = 0; i < 8; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), keys[i])), i);
    json_decref(rows);
    fplt_free(text);
    fplt_table_destroy(table);
}

static void json_is_read_back(void **state)
{
    (void)state;
    fplt_table *table = sample();
    fplt_error error;
    char *text;
    assert_ok(fplt_table_render(table, FPLT_TABLE_JSON, &text, &error), error);
    json_t *rows = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_array_size(rows), 3);
    const json_t *row = json_array_get(rows, 1);
    assert_string_equal(json_string_value(json_object_get(row, "name")), "Zürich, \"north\"");
    assert_int_equal(json_integer_value(json_object_get(row, "count")), -3456);
    assert_true(json_is_null(json_object_get(row, "value")));
    assert_true(json_real_value(json_object_get(json_array_get(rows, 0), "value")) == 0.1);
    json_decref(rows);
    fplt_free(text);
    fplt_table_destroy(table);
}

static void width_counts_columns(void **state)
{
    (void)state;
    assert_int_equal(fplt__text_width("abc"), 3);
    assert_int_equal(fplt__text_width("ü√‖"), 3);
    assert_int_equal(fplt__text_width("x\xcc\x84"), 1); /* a combining bar */
    assert_int_equal(fplt__text_width("東京"), 4);
    assert_int_equal(fplt__text_width("\xff\xfe"), 2); /* no UTF-8 */
    assert_int_equal(fplt__text_width("a\xc3"), 2);    /* cut short */
}

static void tables_survive_want_of_memory(void **state)
{
    (void)state;
    static const char *const columns[] = {"a", "b"};
    for (fplt_table_form form = FPLT_TABLE_ALIGNED; form <= FPLT_TABLE_JSON; form++)
        survives_failing_allocations(
            {
                fplt_table *table;
                char *text = NULL;
                status = fplt__table_create(columns, 2, &table, NULL);
                if (!status) {
                    fplt__table_text(table, "x");
                    fplt__table_whole(table, 1);
                    status = fplt_table_render(table, form, &text, NULL);
                    fplt_free(text);
                    fplt_table_destroy(table);
                }
            },
            5);
}

static fplt_progress progress_at(uint64_t round, double criterion)
{
    return (fplt_progress){.round = round,
                           .active = 3,
                           .measured = 1,
                           .measure = {.criterion = criterion,
                                       .objective = 1.0 / 3,
                                       .hits = 7,
                                       .records = 9,
                                       .classifies = 1},
                           .counters = {.rounds = round,
                                        .gradients = 5.5,
                                        .vectors_up = 1,
                                        .vectors_down = 2,
                                        .bytes_up = 8,
                                        .bytes_down = 16,
                                        .time = 100.25,
                                        .paper_time = 99}};
}

static fplt_history *history_of(size_t count)
{
    fplt_error error;
    fplt_history *history;
    assert_ok(fplt__history_create(&history, &error), error);
    for (size_t i = 0; i < count; i++) {
        fplt_progress row = progress_at(i, pow(0.7, (double)i));
        assert_ok(fplt__history_add(history, &row, &error), error);
        row.measured = 0;
        assert_ok(fplt__history_add(history, &row, &error), error);
    }
    assert_int_equal(fplt_history_count(history), count);
    return history;
}

/* Written and read again, a history has the same bits. */
static void history_round_trips(void **state)
{
    (void)state;
    fplt_error error;
    fplt_history *history = history_of(40), *copy;
    char *text, *again;
    assert_ok(fplt__history_csv(history, &text, &error), error);
    temporary file = temporary_file(text, strlen(text));
    assert_ok(fplt__history_create(&copy, &error), error);
    assert_ok(fplt__history_read(copy, file.path, 1000, 9, &error), error);
    assert_ok(fplt__history_csv(copy, &again, &error), error);
    assert_string_equal(text, again);
    fplt__history_destroy(copy);
    assert_ok(fplt__history_create(&copy, &error), error);
    assert_ok(fplt__history_read(copy, file.path, 12, 9, &error), error);
    assert_int_equal(fplt_history_count(copy), 12);
    unlink(file.path);
    file = temporary_file("round,nonsense\n", 15);
    assert_int_equal(fplt__history_read(copy, file.path, 12, 9, &error), FPLT_BAD_DATA);
    assert_contains(error.text, ":1: this is not the history of a run");
    unlink(file.path);
    fplt_free(text);
    fplt_free(again);
    fplt__history_destroy(copy);
    fplt__history_destroy(history);
}

static void has_first_bytes(const char *path, const char *bytes, size_t count)
{
    char found[16] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(fread(found, 1, sizeof found, file) == sizeof found);
    assert_memory_equal(found, bytes, count);
    fclose(file);
    unlink(path);
}

static void pictures_are_drawn(void **state)
{
    (void)state;
    fplt_error error = {FPLT_OK, ""};
    char folder[] = "/tmp/fedplt-plot-XXXXXX", path[64];
    fplt_history *history = history_of(5000);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.svg", folder);
    assert_ok(fplt__history_plot(history, "a < b & 'c'", NULL, 1e-5, path, &error), error);
    has_first_bytes(path, "<?xml", 5);

    snprintf(path, sizeof path, "%s/a.gif", folder);
    assert_int_equal(fplt__history_plot(history, "t", NULL, 0, path, &error), FPLT_BAD_VALUE);
    snprintf(path, sizeof path, "%s/none/a.svg", folder);
    assert_int_equal(fplt__history_plot(history, "t", NULL, 0, path, &error), FPLT_IO);

    /* Where the module that renders is not there, as beside this program, that is said and nothing is left behind. */
    snprintf(path, sizeof path, "%s/a.png", folder);
    fplt_status status = fplt__history_plot(history, "t", NULL, 0, path, &error);
    if (status)
        assert_contains(error.text, "librsvg2");
    else
        has_first_bytes(path, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(rmdir(folder), 0);
    fplt__history_destroy(history);
}

/* Ticks of decades, the smallest of which is 1 on one axis and 0.1 on the other: a zero has no sign. */
static void no_exponent_is_minus_zero(void **state)
{
    const double x[] = {0.1, 3, 100}, y[] = {1.9, 59, 59};
    fplt__series series = {.name = "roof", .x = x, .y = y, .count = 3};
    fplt__plot plot = {.title = "t",
                       .x_label = "x",
                       .y_label = "y",
                       .log_x = 1,
                       .log_y = 1,
                       .series = &series,
                       .count = 1};
    char path[] = "/tmp/fedplt-tick-XXXXXX.svg", text[20000] = "";
    fplt_error error;
    (void)state;
    close(mkstemps(path, 4));
    assert_ok(fplt__plot_write(&plot, path, &error), error);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    unlink(path);
    assert_non_null(strstr(text, ">0</tspan>"));
    assert_null(strstr(text, ">-0</tspan>"));
}

/* Nothing in the first 0.2 s, at most ten lines a second, the bar half full half way down the
 * logarithm. */
static void meter_is_calm(void **state)
{
    (void)state;
    fplt__meter meter = {.rounds = 1000000, .tolerance = 1e-10};
    char line[256];
    size_t lines = 0;
    double start = 1000;
    for (int i = 0, half = 0; i <= 2000; i++) {
        fplt_progress progress = progress_at((uint64_t)i, pow(10, -i / 200.0));
        size_t length = fplt__meter_line(&meter, &progress, start + i * 0.001, line, sizeof line);
        assert_true(i >= 200 || !length);
        assert_true(length < 80);
        lines += length > 0;
        if (i >= 1000 && length && !half++) {
            char percent[16];
            snprintf(percent, sizeof percent, "%3.0f %%", i / 20.0);
            assert_contains(line, percent);
            assert_contains(line, "1e+03/s");
            assert_contains(line, "1 s left");
            assert_contains(line, "[#########.........]");
        }
    }
    assert_in_range(lines, 16, 19);

    fplt__meter rounds = {.rounds = 100, .width = 60};
    fplt_progress first = progress_at(0, 1), later = progress_at(25, 1);
    assert_int_equal(fplt__meter_line(&rounds, &first, 0, line, sizeof line), 0);
    assert_true(fplt__meter_line(&rounds, &later, 1, line, sizeof line) < 60);
    assert_contains(line, " 25 %");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_aligned),
        cmocka_unit_test(csv_is_quoted),
        cmocka_unit_test(json_is_read_back),
        cmocka_unit_test(keys_are_headings_in_snake_case),
        cmocka_unit_test(width_counts_columns),
        cmocka_unit_test(tables_survive_want_of_memory),
        cmocka_unit_test(history_round_trips),
        cmocka_unit_test(pictures_are_drawn),
        cmocka_unit_test(no_exponent_is_minus_zero),
        cmocka_unit_test(meter_is_calm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
