/* The rule `cells` of docs/disclosure.md against a count over all pairs of rows: a class, an event or the rarer side of a
 * column that is otherwise constant has 3 rows or none. And the rule `clusters`: 20 of them, of which the coordinator hears nothing. */
#include "site_data.h"

#include "data/dataset.h"
#include "data/dataset_access.h"
#include "federation/agent/consent.h"
#include "federation/agent/questions.h"

enum { ROWS = 12, COLUMNS = 3 };

static struct site_data data;

static int begin(void **state)
{
    (void)state;
    site_data_found(&data, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    site_data_clear(&data);
    return 0;
}

static unsigned state_of_draw = 1;

static unsigned draw(unsigned below)
{
    state_of_draw = state_of_draw * 1664525u + 1013904223u;
    return (state_of_draw >> 8) % below;
}

/* Rows that differ from the value that most rows have, by comparing all with all. */
static size_t rarer_side(const int *value, size_t rows)
{
    size_t most = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t same = 0;
        for (size_t k = 0; k < rows; k++)
            same += value[k] == value[i];
        most = same > most ? same : most;
    }
    return rows - most;
}

static int is_small(size_t count)
{
    return count == 1 || count == 2;
}

static void write_table(int column[COLUMNS][ROWS], const int *label, int missing,
                        fplt__buffer *text)
{
    fplt__buffer_add(text, "a,b,c,label\n");
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t j = 0; j < COLUMNS; j++) {
            if (column[j][r] == missing)
                fplt__buffer_add(text, ",");
            else
                fplt__buffer_format(text, "%d,", column[j][r]);
        }
        fplt__buffer_format(text, "%d\n", label[r]);
    }
}

/* So many rows, at places that are drawn, get another value. */
static void scatter(int *value, size_t count, int other)
{
    while (count) {
        size_t r = draw(ROWS);
        count -= value[r] != other;
        value[r] = other;
    }
}

static void columns_as_counted(void **state)
{
    (void)state;
    size_t refusals = 0, accepted = 0;
    fplt_error error;
    for (int trial = 0; trial < 300; trial++) {
        int column[COLUMNS][ROWS], label[ROWS], constant = (int)draw(5);
        size_t wrong = COLUMNS;
        for (size_t r = 0; r < ROWS; r++)
            label[r] = r % 2 ? 1 : -1;
        for (size_t j = 0; j < COLUMNS; j++) {
            for (size_t r = 0; r < ROWS; r++)
                column[j][r] = trial % 3 || j ? constant : (int)draw(9);
            if (trial % 3 || j)
                scatter(column[j], draw(6), 7);
        }
        for (size_t j = COLUMNS; j-- > 0;)
            wrong = is_small(rarer_side(column[j], ROWS)) ? j : wrong;
        fplt__buffer text = {NULL, 0, 0, FPLT_OK};
        write_table(column, label, -1, &text);
        site_data_read(&data, "rows.csv", text.text, NULL);
        fplt__buffer_clear(&text);
        fplt_status status =
            fplt__cells_judge(data.site, fplt__local_data_rows(data.rows), NULL, &error);
        assert_int_equal(status, wrong < COLUMNS ? FPLT_FAILED : FPLT_OK);
        accepted += status == FPLT_OK;
        if (!status)
            continue;
        char said[80];
        snprintf(said, sizeof said, "column %c is the same in all rows but %zu,", 'a' + (int)wrong,
                 rarer_side(column[wrong], ROWS));
        assert_contains(error.text, said);
        assert_contains(error.text, "at least 3;");
        refusals++;
    }
    assert_true(refusals > 50 && accepted > 50);
}

/* Missing values, before the coordinator's numbers fill them, are alike, and tell rows apart as any value does. */
static void missing_values_are_one_value(void **state)
{
    (void)state;
    fplt__pair fill = {(char *)"missing", (char *)"mean"};
    fplt_error error;
    data.proposal.settings = 1;
    data.proposal.setting = &fill;
    for (size_t holes = 0; holes < 6; holes++) {
        int column[COLUMNS][ROWS], label[ROWS];
        for (size_t r = 0; r < ROWS; r++) {
            column[0][r] = r < holes ? 99 : 4;        /* constant but for its holes */
            column[1][r] = r < ROWS - holes ? 99 : 4; /* holes but for a few values */
            column[2][r] = (int)r;
            label[r] = r % 2 ? 1 : -1;
        }
        if (!holes)
            column[1][0] = column[1][1] = column[1][2] = 4; /* a column must have a value */
        fplt__buffer text = {NULL, 0, 0, FPLT_OK};
        write_table(column, label, 99, &text);
        site_data_read(&data, "rows.csv", text.text, NULL);
        fplt__buffer_clear(&text);
        assert_int_equal(fplt__cells_judge(data.site, fplt__local_data_rows(data.rows), NULL,
                                           &error),
                         is_small(holes) ? FPLT_FAILED : FPLT_OK);
    }
}

/* The zeros of a sparse file are the constant side. */
static void sparse_columns(void **state)
{
    (void)state;
    static char positions[] =
        "{\"columns\":[],\"drop\":false,\"label\":{\"kind\":\"any\",\"levels\":[],"
        "\"name\":null},\"positions\":3,\"whole\":false}";
    fplt_error error;
    data.proposal.dictionary = positions;
    for (size_t many = 0; many < 6; many++) {
        fplt__buffer text = {NULL, 0, 0, FPLT_OK};
        for (size_t r = 0; r < ROWS; r++) {
            fplt__buffer_format(&text, "%d 1:%zu", r % 2 ? 1 : -1, r + 1);
            if (r < many)
                fplt__buffer_add(&text, " 2:1.5");
            fplt__buffer_add(&text, r == 5 ? " 3:0\n" : "\n"); /* a zero that is written is none */
        }
        site_data_read(&data, "rows.libsvm", text.text, NULL);
        fplt__buffer_clear(&text);
        assert_null(fplt__local_data_rows(data.rows)->dense);
        assert_int_equal(fplt__cells_judge(data.site, fplt__local_data_rows(data.rows), NULL,
                                           &error),
                         is_small(many) ? FPLT_FAILED : FPLT_OK);
        if (is_small(many))
            assert_contains(error.text, "column number 2 is");
    }
}

/* Rows of each class: two classes by their words, several, and events of a survival time. */
static void classes_and_events(void **state)
{
    (void)state;
    static const char *const words[] = {"no", "yes", "perhaps"};
    static const char survival[] = "columns:\n  a: {type: number, bounds: 0..20, missing: 0}\n"
                                   "  days: {type: time, bounds: 1..99}\n"
                                   "  died: {type: event, classes: [no, yes]}\n";
    fplt_error error;
    for (size_t kinds = 2; kinds <= 3; kinds++)
        for (size_t rare = 1; rare < 6; rare++)
            for (size_t which = 0; which < kinds; which++) {
                fplt__buffer text = {NULL, 0, 0, FPLT_OK};
                fplt__buffer_add(&text, "a,label\n");
                for (size_t r = 0; r < ROWS; r++) /* one class is rare, the others share the rest */
                    fplt__buffer_format(
                        &text, "%zu,%s\n", r + 1,
                        words[r < rare ? which : (which + 1 + r % (kinds - 1)) % kinds]);
                site_data_read(&data, "rows.csv", text.text, NULL);
                fplt__buffer_clear(&text);
                assert_int_equal(fplt__cells_judge(data.site, fplt__local_data_rows(data.rows),
                                                   NULL, &error),
                                 is_small(rare) ? FPLT_FAILED : FPLT_OK);
                if (is_small(rare)) {
                    char said[60];
                    snprintf(said, sizeof said, "of the label has %zu rows,", rare);
                    assert_contains(error.text, said);
                }
            }
    char path[400];
    snprintf(path, sizeof path, "%s/columns.yaml", data.folder);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(survival, file) >= 0 && !fclose(file));
    assert_ok(fplt_settings_set(data.site, "schema", path, "test", &error), error);
    for (size_t deaths = 1; deaths < 6; deaths++) {
        fplt__buffer text = {NULL, 0, 0, FPLT_OK};
        fplt__buffer_add(&text, "a,days,died\n");
        for (size_t r = 0; r < ROWS; r++)
            fplt__buffer_format(&text, "%zu,%zu,%s\n", r + 1, r + 3, r < deaths ? "yes" : "no");
        site_data_read(&data, "rows.csv", text.text, NULL);
        fplt__buffer_clear(&text);
        assert_int_equal(fplt__cells_judge(data.site, fplt__local_data_rows(data.rows), NULL,
                                           &error),
                         is_small(deaths) ? FPLT_FAILED : FPLT_OK);
        if (is_small(deaths))
            assert_contains(error.text, "event 1 of the label has");
    }
}

static void presets(void **state)
{
    (void)state;
    static const char *const names[] = {"strict", "research", "off"};
    fplt_error error;
    site_data_read(&data, "rows.csv", "a,b,label\n1,0,1\n2,0,-1\n3,0,1\n4,0,-1\n5,0,1\n6,1,-1\n",
                   NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(fplt_settings_set(data.site, "policy.disclosure", names[i], "test", &error),
                  error);
        assert_int_equal(fplt__cells_judge(data.site, fplt__local_data_rows(data.rows), NULL,
                                           &error),
                         i < 2 ? FPLT_FAILED : FPLT_OK);
    }
}

/* ---- clusters ---- */

static fplt__pair mixed[] = {{(char *)"loss", (char *)"mixed-logistic"},
                             {(char *)"weights", (char *)"rows"},
                             {(char *)"standardise", (char *)"no"},
                             {(char *)"random-intercept", (char *)"ward"},
                             {(char *)"holdout", (char *)"0.7"}};
enum { AS_IT_IS = 3, BY_WARD = 4, HELD_OUT = 5 }; /* so many of them */

/* 120 rows of so many wards, in turn. */
static void read_wards(size_t wards, size_t settings, const uint8_t *secret)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    data.proposal.setting = mixed;
    data.proposal.settings = settings;
    fplt__buffer_add(&text, settings == AS_IT_IS ? "a,label\n" : "a,ward,label\n");
    for (size_t r = 0; r < 120; r++) {
        fplt__buffer_format(&text, "%zu", r * 37 % 41);
        if (settings != AS_IT_IS)
            fplt__buffer_format(&text, ",w%zu", r % wards);
        fplt__buffer_format(&text, ",%d\n", r / 2 % 2 ? 1 : -1);
    }
    site_data_read(&data, "rows.csv", text.text, secret);
    fplt__buffer_clear(&text);
}

static fplt_status judge_wards(fplt_error *error)
{
    error->text[0] = 0;
    return fplt__cells_judge(data.site, fplt__local_data_rows(data.rows),
                             fplt__local_data_cluster(data.rows), error);
}

static void clusters_as_named(void **state)
{
    static const char *const names[] = {"strict", "research", "off"};
    fplt_error error;
    (void)state;
    for (size_t preset = 0; preset < 3; preset++) {
        assert_ok(fplt_settings_set(data.site, "policy.disclosure", names[preset], "test", &error),
                  error);
        for (size_t wards = 1; wards <= 40; wards++) {
            read_wards(wards, BY_WARD, NULL);
            assert_string_equal(fplt__local_data_cluster(data.rows), "ward");
            int refuses = wards < 20 && preset < 2;
            assert_int_equal(judge_wards(&error), refuses ? FPLT_FAILED : FPLT_OK);
            char said[100];
            snprintf(said, sizeof said,
                     "ward of the random intercept has %zu clusters, which must "
                     "be at least 20;",
                     wards);
            assert_int_equal(strstr(error.text, said) != NULL, refuses);
        }
    }
}

/* The site itself is one cluster, which is no reason to refuse. */
static void a_site_is_one_cluster(void **state)
{
    fplt_error error;
    (void)state;
    read_wards(1, AS_IT_IS, NULL);
    assert_null(fplt__local_data_cluster(data.rows));
    assert_ok(judge_wards(&error), error);
}

/* The clusters are those of the rows that it trains on, though their numbers are of the whole file. */
static void clusters_without_the_holdout(void **state)
{
    size_t refusals = 0;
    fplt_error error;
    (void)state;
    for (size_t wards = 20; wards <= 80; wards += 6) {
        unsigned char seen[80] = {0};
        size_t present = 0;
        read_wards(wards, HELD_OUT, NULL);
        const fplt_dataset *rows = fplt__local_data_rows(data.rows);
        assert_true(rows->rows > 20 && rows->rows < 100);
        for (size_t r = 0; r < rows->rows; r++) {
            size_t ward = (fplt__dataset_row_number(rows, r) - 1) % wards;
            present += !seen[ward];
            seen[ward] = 1;
        }
        assert_int_equal(judge_wards(&error), present < 20 ? FPLT_FAILED : FPLT_OK);
        refusals += present < 20;
    }
    assert_true(refusals > 0 && refusals < 11);
}

/* Each fold that is left out, and what is left, has as many clusters. */
static void clusters_of_folds(void **state)
{
    static const uint8_t secret[32] = {1, 2, 3};
    static const struct {
        size_t wards, settings, folds;
        int masked;
    } cases[] = {
        {19, BY_WARD, 0, 0}, {120, BY_WARD, 5, 0}, {19, BY_WARD, 5, 1}, {1, AS_IT_IS, 5, 0}};
    (void)state;
    strcpy(data.proposal.validation, "folds=5,grid=0.1,search=eps");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        data.proposal.secure = cases[i].masked;
        read_wards(cases[i].wards, cases[i].settings, secret);
        assert_int_equal(fplt__local_data_most_folds(data.rows), cases[i].folds);
    }
}

/* The coordinator hears one word, not how many clusters there are, and where sums are masked nothing is refused. */
static void clusters_are_not_told(void **state)
{
    static const uint8_t secret[32] = {1, 2, 3};
    const fplt__digest hash = {{7}};
    fplt_error error;
    (void)state;
    for (int masked = 0; masked < 2; masked++)
        for (size_t wards = 19; wards <= 20; wards++) {
            fplt__agent agent = {.settings = data.site, .pooled = {masked ? 3 : 0, 900}};
            int refuses = wards < 20 && !masked;
            assert_ok(fplt__site_memory_open(data.folder, &agent.memory, &error), error);
            data.proposal.secure = masked;
            read_wards(wards, BY_WARD, secret);
            site_data_settle(&data);
            agent.material = data.rows;
            assert_int_equal(fplt__agent_judge_question(&agent, &data.proposal, &hash, 1, &error),
                             refuses ? FPLT_FAILED : FPLT_OK);
            assert_string_equal(agent.abroad, refuses ? "disclosure" : "");
            assert_int_equal(strstr(error.text, "has 19 clusters") != NULL, refuses);
            error.text[0] = 0;
            fplt__site_memory_close(agent.memory);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_as_counted, begin, end),
        cmocka_unit_test_setup_teardown(missing_values_are_one_value, begin, end),
        cmocka_unit_test_setup_teardown(sparse_columns, begin, end),
        cmocka_unit_test_setup_teardown(classes_and_events, begin, end),
        cmocka_unit_test_setup_teardown(presets, begin, end),
        cmocka_unit_test_setup_teardown(clusters_as_named, begin, end),
        cmocka_unit_test_setup_teardown(a_site_is_one_cluster, begin, end),
        cmocka_unit_test_setup_teardown(clusters_without_the_holdout, begin, end),
        cmocka_unit_test_setup_teardown(clusters_of_folds, begin, end),
        cmocka_unit_test_setup_teardown(clusters_are_not_told, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
