/* Analyses over the network without a network: proposals, what a site counts, and the report, against one process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "base/file.h"
#include "base/memory.h"
#include "fedplt/export.h"
#include "fedplt/memory.h"
#include "fedplt/schema.h"
#include "fedplt/transform.h"
#include "federation/plan/analysis.h"
#include "federation/plan/proposal.h"
#include "federation/plan/proposal_text.h"
#include "report/score_grid.h"

enum { ROWS = 60, SITES = 2 };

static const char model_text[] =
    "{\"format\":\"fedplt-model\",\"version\":1,\"program\":\"fedplt 0.1.0\",\"task\":\"binary\","
    "\"loss\":\"logistic\",\"huber_delta\":1.0,\"intercept\":true,\"features\":2,"
    "\"feature_names\":[\"a\",\"b\"],\"classes\":[\"no\",\"yes\"],"
    "\"reading\":{\"drop_first_level\":false,\"label\":\"sick\",\"site\":null,\"labels\":null},"
    "\"schema\":null,\"transform\":{\"mean\":null,\"scale\":null,\"radius\":0.0},"
    "\"weights\":[1.5,-0.5,0.25],\"training\":{\"rounds\":%d}}";

static struct {
    char folder[64], model[96], file[SITES][96];
    fplt__proposal proposal;
} w;

static void write_file(const char *path, const char *text)
{
    fplt_error error;
    assert_ok(fplt__file_save(path, 0600, text, strlen(text), &error), error);
}

static void write_model(const char *path, int rounds)
{
    char text[1024];
    snprintf(text, sizeof text, model_text, rounds);
    write_file(path, text);
}

static void write_rows(const char *path, unsigned seed)
{
    char text[8192] = "a,b,sick\n";
    for (unsigned i = 0; i < ROWS; i++) {
        double a = (double)((i * 37 + seed * 11) % 41) / 20 - 1, b = (double)(i * 17 % 23) / 11 - 1;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.3f,%.3f,%s\n", a, b,
                 a + 0.3 * b + (double)(i % 7) / 7 > 0.5 ? "yes" : "no");
    }
    write_file(path, text);
}

static int enter(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    snprintf(w.folder, sizeof w.folder, "/tmp/fedplt-analysis-XXXXXX");
    if (!mkdtemp(w.folder))
        return -1;
    snprintf(w.model, sizeof w.model, "%s/model.json", w.folder);
    write_model(w.model, 3);
    for (unsigned i = 0; i < SITES; i++) {
        snprintf(w.file[i], sizeof w.file[i], "%s/site%u.csv", w.folder, i);
        write_rows(w.file[i], i);
    }
    w.proposal = (fplt__proposal){.federation = "heart", .run = 1, .members = 1};
    w.proposal.roster = fplt__alloc(1, sizeof *w.proposal.roster);
    strcpy(w.proposal.roster[0], "basel");
    return 0;
}

static int leave(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SITES; i++)
        unlink(w.file[i]);
    unlink(w.model);
    rmdir(w.folder);
    fplt__proposal_clear(&w.proposal);
    return 0;
}

static fplt__analysis *opened(const char *pairs)
{
    fplt__analysis *analysis;
    fplt_error error;
    assert_ok(fplt__analysis_propose(pairs, w.model, &w.proposal, &error), error);
    assert_ok(fplt__analysis_open(&w.proposal, &analysis, &error), error);
    return analysis;
}

/* The document says all of it, comes back, is copied whole, and a person reads what leaves. */
static void test_proposal(void **state)
{
    (void)state;
    fplt__analysis *analysis = opened("kind=evaluate");
    fplt__proposal read, copy;
    fplt__buffer shown = {NULL, 0, 0, FPLT_OK};
    fplt_error error;
    char *text, *again;
    assert_int_equal(analysis->kind->numbers(analysis), fplt__score_grid_numbers(100));
    fplt__analysis_close(analysis);
    assert_int_equal(w.proposal.analysis.settings, 1); /* the default is stated */
    assert_string_equal(w.proposal.analysis.setting[0].value, "100");
    assert_ok(fplt__proposal_text(&w.proposal, &text, &error), error);
    assert_ok(fplt__proposal_read(text, strlen(text), &read, &error), error);
    assert_ok(fplt__proposal_copy(&read, &copy, &error), error);
    assert_ok(fplt__proposal_text(&copy, &again, &error), error);
    assert_string_equal(text, again);
    fplt__proposal_show(&copy, &shown);
    assert_contains(shown.text, "analysis    evaluate (each site tells how many rows");
    assert_contains(shown.text, "grid        100");
    fplt__buffer_clear(&shown);
    fplt__free(text);
    fplt__free(again);
    fplt__proposal_clear(&read);
    fplt__proposal_clear(&copy);
}

static void refuse_proposal(const char *pairs, const char *model, const char *sentence)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__proposal proposal = w.proposal;
    memset(&proposal.analysis, 0, sizeof proposal.analysis);
    assert_true(fplt__analysis_propose(pairs, model, &proposal, &error));
    assert_contains(error.text, sentence);
    proposal.roster = NULL;
    proposal.privacy = NULL;
    proposal.privacies = 0;
    fplt__proposal_clear(&proposal);
}

static void test_refused_proposals(void **state)
{
    (void)state;
    refuse_proposal("grid=100", w.model, "analysis: no kind is given");
    refuse_proposal("kind=average", w.model, "kind is 'average', but it must be one of evaluate");
    refuse_proposal("kind=evaluate", NULL, "evaluate is about a model; add `model: FILE`");
    refuse_proposal("kind=evaluate,grid=15", w.model, "must be a multiple of 10");
    refuse_proposal("kind=evaluate,cells=10", w.model, "there is no setting 'cells'");
    refuse_proposal("kind=evaluate", w.file[0], "site0.csv");
    w.proposal.secure = 1;
    refuse_proposal("kind=evaluate", w.model, "secure aggregation would hide");
    w.proposal.secure = 0;
    char name[] = "epsilon", value[] = "1";
    fplt__pair promise = {name, value};
    w.proposal.privacy = &promise;
    w.proposal.privacies = 1;
    refuse_proposal("kind=evaluate", w.model, "promises privacy");
    w.proposal.privacy = NULL;
    w.proposal.privacies = 0;
}

/* The history of a model does not change its digest; a weight does. */
static void test_model_digest(void **state)
{
    (void)state;
    fplt_model *model;
    fplt_error error;
    fplt__digest first, second;
    char *text, *changed;
    assert_ok(fplt_model_read(w.model, &model, &error), error);
    assert_ok(fplt__analysis_model_text(model, NULL, &first, &error), error);
    fplt_model_destroy(model);
    write_model(w.model, 400);
    assert_ok(fplt_model_read(w.model, &model, &error), error);
    assert_ok(fplt__analysis_model_text(model, &text, &second, &error), error);
    fplt_model_destroy(model);
    assert_true(fplt__same(&first, &second));
    assert_ok(fplt_model_parse(text, strlen(text), "reduced", &model, &error), error);
    assert_ok(fplt__analysis_model_text(model, NULL, &second, &error), error);
    assert_true(fplt__same(&first, &second));
    fplt_model_destroy(model);
    changed = strstr(text, "-0.5");
    assert_non_null(changed);
    changed[3] = '6';
    assert_ok(fplt_model_parse(text, strlen(text), "changed", &model, &error), error);
    assert_ok(fplt__analysis_model_text(model, NULL, &second, &error), error);
    assert_false(fplt__same(&first, &second));
    fplt_model_destroy(model);
    fplt_free(text);
}

/* Counted at each site and combined, the numbers are those of one process, to the bit. */
static void test_report(void **state)
{
    (void)state;
    static const char *const names[] = {"basel", "bern"};
    fplt__analysis *analysis = opened("kind=evaluate,grid=20");
    fplt__analysis_counted counted[SITES] = {{0, NULL, NULL}, {0, NULL, NULL}};
    fplt__analysis_report report = {{NULL}};
    const uint64_t *words[SITES];
    fplt_error error;
    for (unsigned i = 0; i < SITES; i++) {
        fplt__analysis_site site = {.path = w.file[i], .read = fplt_read_defaults(), .minimum = 5};
        site.read.site = "none";
        assert_ok(analysis->kind->count(analysis, &site, &counted[i], &error), error);
        assert_int_equal(counted[i].records, ROWS);
        words[i] = counted[i].words;
    }
    assert_ok(analysis->kind->report(analysis, names, words, SITES, &report, &error), error);
    const char *paths[] = {w.file[0], w.file[1]};
    const fplt__score_grid grid = {.cells = 20, .minimum = 5};
    fplt__grid_report expected;
    fplt_dataset *dataset;
    assert_ok(fplt_model_dataset(analysis->model, paths, 2, NULL, 1, &dataset, &error), error);
    assert_ok(fplt__score_grid_evaluate(&grid, analysis->model, dataset, &expected, &error), error);
    /* but for the names of the sites */
    const char *mine = strstr(report.text[2], "\"all\": {"),
               *theirs = strstr(expected.json, "\"all\": {");
    assert_non_null(mine);
    assert_string_equal(mine, theirs);
    assert_contains(report.text[1], "\nall,120,");
    fplt__grid_report_clear(&expected);
    fplt_dataset_destroy(dataset);
    fplt__analysis_report_clear(&report);
    /* a count that is too small */
    ((uint64_t *)words[1])[2 * 7 + 2] = 3;
    ((uint64_t *)words[1])[2 * 7 + 3] = 0;
    assert_int_equal(analysis->kind->report(analysis, names, words, SITES, &report, &error),
                     FPLT_BAD_DATA);
    assert_contains(error.text, "bern: ");
    for (unsigned i = 0; i < SITES; i++)
        fplt__analysis_counted_clear(&counted[i]);
    fplt__analysis_close(analysis);
}

/* The JSON of one site under the rule `saturation`. */
static char *report_of(const fplt__analysis *analysis, double steep, double saturated)
{
    static const char *const names[] = {"basel"};
    fplt__analysis_counted counted = {0, NULL, NULL};
    fplt__analysis_report report = {{NULL}};
    fplt__analysis_site site = {.path = w.file[0],
                                .read = fplt_read_defaults(),
                                .minimum = 5,
                                .steep = steep,
                                .saturated = saturated};
    fplt_error error;
    site.read.site = "none";
    assert_ok(analysis->kind->count(analysis, &site, &counted, &error), error);
    const uint64_t *words[] = {counted.words};
    assert_ok(analysis->kind->report(analysis, names, words, 1, &report, &error), error);
    char *text = strdup(report.text[2]);
    fplt__analysis_report_clear(&report);
    fplt__analysis_counted_clear(&counted);
    return text;
}

/* A model that is steep for more than the share of the rows tells on which side of a plane each is: nothing but the number of
 * rows leaves. */
static void test_steep_model(void **state)
{
    (void)state;
    static const struct {
        double steep, saturated;
        int is_told;
    } cases[] = {{1e-9, 0.05, 0}, {1e-9, 0.999, 0}, {1e-9, 1, 1}, {1e9, 0.05, 1}, {1e-9, 0, 1}};
    fplt__analysis *analysis = opened("kind=evaluate,grid=20");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = report_of(analysis, cases[i].steep, cases[i].saturated);
        assert_int_equal(strstr(text, "\"sums\"") == NULL, cases[i].is_told);
        assert_int_equal(strstr(text, "\"classes\"") == NULL, cases[i].is_told);
        assert_contains(text, "\"rows\": 60");
        free(text);
    }
    fplt__analysis_close(analysis);
}

/* A Cox model of one column between 0 and 10, and a file of 60 times with it. */
static void write_survival(double weight)
{
    static const char *const names[] = {"a"};
    const fplt_transform transform = {.features = 1};
    fplt_model_info info = {.task = FPLT_TASK_SURVIVAL,
                            .loss = "cox",
                            .features = 1,
                            .feature_names = names,
                            .transform = &transform,
                            .weights = &weight,
                            .dimension = 1,
                            .program = "test",
                            .ties = "efron"};
    char text[4096] = "a,days,died\n";
    fplt_schema *schema;
    fplt_model *model;
    fplt_error error;
    write_file(w.model, "columns:\n  a: {type: number, bounds: 0..10, missing: 0}\n"
                        "  days: {type: time, bounds: 1..99}\n"
                        "  died: {type: event, classes: [no, yes]}\n");
    assert_ok(fplt_schema_read(w.model, &schema, &error), error);
    info.schema = schema;
    assert_ok(fplt_model_create(&info, &model, &error), error);
    assert_ok(fplt_model_write(model, w.model, &error), error);
    fplt_model_destroy(model);
    fplt_schema_destroy(schema);
    for (unsigned i = 0; i < ROWS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.1f,%u,%s\n",
                 (double)((i * 37) % 60) / 6, i + 1, i % 3 ? "yes" : "no");
    write_file(w.file[0], text);
}

/* Whether a site tells anything but the reason that it has for telling nothing. */
static int tells_hazards(const fplt__analysis *analysis, double steep, double saturated)
{
    fplt__analysis_counted counted = {0, NULL, NULL, NULL};
    fplt__analysis_site site = {.path = w.file[0],
                                .read = fplt_read_defaults(),
                                .minimum = 5,
                                .steep = steep,
                                .saturated = saturated};
    uint64_t told = 0;
    fplt_error error;
    site.read.site = "none";
    assert_ok(analysis->kind->count(analysis, &site, &counted, &error), error);
    for (size_t k = 2; k < 2 * analysis->kind->numbers(analysis); k++)
        told |= counted.words[k];
    assert_int_equal(counted.words[1] == 0, told != 0);
    fplt__analysis_counted_clear(&counted);
    return told != 0;
}

/* The same of a Cox model: 11 of the 60 linear predictors are above 8 in absolute value. */
static void judge_hazards(double weight)
{
    write_survival(weight);
    fplt__analysis *analysis = opened("kind=survival-test");
    assert_false(tells_hazards(analysis, 8, 0.05));
    assert_false(tells_hazards(analysis, 8, 0.18));
    assert_true(tells_hazards(analysis, 8, 0.19));
    assert_true(tells_hazards(analysis, 10, 0.05));
    assert_true(tells_hazards(analysis, 8, 0)); /* no rule */
    fplt__analysis_close(analysis);
}

static void test_steep_rising_hazards(void **state)
{
    (void)state;
    judge_hazards(1);
}

static void test_steep_falling_hazards(void **state)
{
    (void)state;
    judge_hazards(-1);
}

/* Numbers that can be told: no more cells than rows over the minimum. */
static void test_cost(void **state)
{
    (void)state;
    fplt__analysis *analysis = opened("kind=evaluate");
    assert_int_equal(analysis->kind->cost(analysis, 300, 5), 7 + 60);
    assert_int_equal(analysis->kind->cost(analysis, 100000, 5), 7 + 200);
    assert_int_equal(analysis->kind->cost(analysis, 50, 0), 7 + 50);
    assert_int_equal(analysis->kind->columns(analysis), 2);
    fplt__analysis_close(analysis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_proposal, enter, leave),
        cmocka_unit_test_setup_teardown(test_refused_proposals, enter, leave),
        cmocka_unit_test_setup_teardown(test_model_digest, enter, leave),
        cmocka_unit_test_setup_teardown(test_report, enter, leave),
        cmocka_unit_test_setup_teardown(test_steep_model, enter, leave),
        cmocka_unit_test_setup_teardown(test_steep_rising_hazards, enter, leave),
        cmocka_unit_test_setup_teardown(test_steep_falling_hazards, enter, leave),
        cmocka_unit_test_setup_teardown(test_cost, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
