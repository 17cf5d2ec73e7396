/* A validation without a network: what its runs propose, that an agent knows them, and folds that rows can have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "base/memory.h"
#include "base/text.h"
#include "federation/agent/local_data.h"
#include "federation/plan/following.h"
#include "federation/plan/program.h"
#include "federation/plan/proposal.h"
#include "federation/plan/refit.h"
#include "federation/plan/validation.h"

static const char pairs[] = "folds=3,grid=0.01\\,0.1\\,1,search=eps";

static fplt__proposal made(void)
{
    fplt__proposal p = {.federation = "heart", .run = 4, .members = 2};
    fplt_error error;
    p.roster = fplt__alloc(2, sizeof *p.roster);
    strcpy(p.roster[0], "basel");
    strcpy(p.roster[1], "bern");
    memset(p.nonce, 7, sizeof p.nonce);
    assert_ok(fplt__proposal_set(&p, "loss", "logistic", &error), error);
    assert_ok(fplt__validation_propose(pairs, &p, &error), error);
    return p;
}

static fplt__validation read_of(const fplt__proposal *p)
{
    fplt__validation validation;
    fplt_error error;
    assert_ok(fplt__validation_read(p, &validation, &error), error);
    return validation;
}

static fplt__proposal fit_of(const fplt__proposal *first, uint32_t folds, size_t at)
{
    fplt__validation validation = read_of(first);
    fplt__proposal fit;
    fplt_error error;
    assert_ok(fplt__proposal_copy(first, &fit, &error), error);
    assert_ok(fplt__validation_state_fit(&fit, &validation, folds, at, &error), error);
    memset(fit.nonce, 9, sizeof fit.nonce);
    return fit;
}

static fplt__proposal chosen_of(const fplt__proposal *first, size_t value, uint32_t run)
{
    fplt__validation validation = read_of(first);
    fplt__proposal fit;
    fplt_error error;
    assert_ok(fplt__proposal_copy(first, &fit, &error), error);
    assert_ok(fplt__validation_state_chosen(&fit, &validation, value, &error), error);
    fit.run = run;
    return fit;
}

static void assert_setting(const fplt__proposal *p, const char *name, const char *value)
{
    const char *found = fplt__pair_find(p->setting, p->settings, name);
    assert_non_null(found);
    assert_string_equal(found, value);
}

/* What is stated is what is read, also after the wire. */
static void test_propose(void **state)
{
    (void)state;
    fplt_error error;
    fplt__proposal p = made(), read;
    char *text;
    fplt__validation validation = read_of(&p);
    assert_string_equal(validation.search, "eps");
    assert_int_equal(validation.count, 3);
    assert_int_equal(validation.folds, 3);
    assert_true(validation.value[0] == 0.01 && validation.value[2] == 1);
    assert_ok(fplt__proposal_text(&p, &text, &error), error);
    assert_contains(text, "\"validation\":\"search=eps,folds=3,grid=0.01\\\\,0.1\\\\,1\"");
    assert_ok(fplt__proposal_read(text, strlen(text), &read, &error), error);
    assert_string_equal(read.validation, p.validation);
    fplt__free(text);
    fplt__proposal_clear(&read);
    strcpy(p.validation, "folds=3,grid=0.1,search=loss");
    assert_int_equal(fplt__validation_read(&p, &validation, &error), FPLT_BAD_VALUE);
    strcpy(p.validation, "folds=3,grid=0.1,folds");
    assert_int_not_equal(fplt__validation_read(&p, &validation, &error), FPLT_OK);
    fplt__proposal_clear(&p);
}

static void refuse(const char *section, const char *name, const char *value, int status,
                   const char *words)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__proposal p = {.federation = "heart", .run = 1};
    if (name)
        assert_ok(fplt__proposal_set(&p, name, value, &error), error);
    assert_int_equal(fplt__validation_propose(section, &p, &error), status);
    assert_contains(error.text, words);
    fplt__proposal_clear(&p);
}

static void test_refuse(void **state)
{
    (void)state;
    fplt_error error;
    char many[4 * FPLT__VALIDATION_TEXT] = "grid=";
    refuse(pairs, "eps", "1", FPLT_BAD_VALUE, "train states it");
    refuse(pairs, "holdout", "0.1", FPLT_BAD_VALUE, "holdout");
    refuse(pairs, "regulariser", "none", FPLT_BAD_VALUE, "regulariser none");
    refuse("search=h-weight", NULL, NULL, FPLT_BAD_VALUE, "no h");
    refuse("grid=0.1\\,0.10", NULL, NULL, FPLT_BAD_VALUE, "twice");
    refuse("folds=1", NULL, NULL, FPLT_BAD_VALUE, "folds");
    for (int v = 1; v <= FPLT__VALIDATION_VALUES; v++)
        sprintf(many + strlen(many), "%s0.%024d1", v > 1 ? "\\," : "", v);
    refuse(many, NULL, NULL, FPLT_BAD_VALUE, "characters");
    fplt__proposal p = {.federation = "heart", .run = 1};
    assert_ok(fplt__proposal_promise(&p, "epsilon", "1", &error), error);
    assert_int_equal(fplt__validation_propose(pairs, &p, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "without noise");
    fplt__proposal_clear(&p);
}

/* A fit has its value, its share of rows and its number; nothing follows from it. */
static void test_parts(void **state)
{
    (void)state;
    fplt_error error;
    fplt__validation_part part;
    fplt__proposal p = made(), fit = fit_of(&p, 2, 3);
    p.refit = FPLT__REFIT_FOLLOWS;
    assert_int_equal(fit.run, 4 + 1 + 3);
    assert_string_equal(fit.part, "fold 2 of 2");
    assert_string_equal(fit.validation, "");
    assert_setting(&fit, "eps", "0.10000000000000001");
    assert_setting(&fit, "holdout", "0.5");
    assert_true(fplt__leaves_out_fold(&fit));
    assert_ok(fplt__validation_part_read(&fit, &part, &error), error);
    assert_int_equal(part.fold, 1);
    assert_int_equal(part.folds, 2);
    fplt__proposal last = chosen_of(&p, 2, 20);
    assert_false(fplt__leaves_out_fold(&last));
    assert_setting(&last, "eps", "1");
    assert_null(fplt__pair_find(last.setting, last.settings, "holdout"));
    assert_int_equal(last.refit, FPLT__REFIT_FOLLOWS);
    static const char *const broken[] = {"fold 0 of 2",  "fold 3 of 2",  "fold 1 of 1",
                                         "fold 01 of 2", "fold 1 of 2 ", "fold 1",
                                         "fold -1 of 2", "all",          "fold 1 of 2000"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        strcpy(fit.part, broken[i]);
        assert_int_equal(fplt__validation_part_read(&fit, &part, &error), FPLT_BAD_DATA);
        assert_false(fplt__leaves_out_fold(&fit));
    }
    fplt__proposal_clear(&p);
    fplt__proposal_clear(&fit);
    fplt__proposal_clear(&last);
}

/* Every fit, the last one and its refit are known; whatever else is in a proposal makes it another one. */
static void test_follows(void **state)
{
    (void)state;
    fplt_error error;
    fplt__proposal p = made(), other;
    for (uint32_t folds = 2; folds <= 3; folds++)
        for (size_t at = 0; at < 3 * folds; at++) {
            fplt__proposal fit = fit_of(&p, folds, at);
            assert_true(fplt__proposal_follows(&p, &fit));
            fit.run++;
            assert_false(fplt__proposal_follows(&p, &fit));
            fit.run--;
            assert_ok(fplt__proposal_set(&fit, "eps", "0.5", &error), error);
            assert_false(fplt__proposal_follows(&p, &fit));
            fplt__proposal_clear(&fit);
        }
    for (size_t value = 0; value < 3; value++) {
        other = chosen_of(&p, value, 4 + 1 + 9);
        assert_true(fplt__proposal_follows(&p, &other));
        other.run = 4 + 2 + 9; /* beyond the fits */
        assert_false(fplt__proposal_follows(&p, &other));
        fplt__proposal_clear(&other);
    }
    other = fit_of(&p, 4, 0); /* more folds than were agreed to */
    assert_false(fplt__proposal_follows(&p, &other));
    fplt__proposal_clear(&other);
    other = fit_of(&p, 3, 0);
    assert_ok(fplt__proposal_set(&other, "holdout", "0.01", &error), error);
    assert_false(fplt__proposal_follows(&p, &other));
    fplt__proposal_clear(&other);
    other = fit_of(&p, 3, 0);
    strcpy(other.roster[1], "zug");
    assert_false(fplt__proposal_follows(&p, &other));
    fplt__proposal_clear(&other);
    other = fit_of(&p, 3, 0);
    other.secure = 1;
    assert_false(fplt__proposal_follows(&p, &other));
    *other.part = 0;
    assert_false(fplt__proposal_follows(&p, &other));
    fplt__proposal_clear(&other);
    fplt__proposal_clear(&p);
}

static void test_refit_follows(void **state)
{
    (void)state;
    fplt_error error;
    fplt__proposal p = made(), fit, refit;
    p.refit = FPLT__REFIT_FOLLOWS;
    refit = chosen_of(&p, 1, 11);
    assert_ok(fplt__refit_state(&refit, &error), error);
    assert_int_equal(refit.run, 12);
    assert_string_equal(refit.part, "");
    assert_true(fplt__proposal_follows(&p, &refit));
    p.refit = FPLT__REFIT_NONE;
    assert_false(fplt__proposal_follows(&p, &refit));
    p.refit = FPLT__REFIT_FOLLOWS;
    fit = fit_of(&p, 3, 0);
    assert_int_equal(fit.refit, FPLT__REFIT_NONE);
    assert_true(fplt__proposal_follows(&p, &fit));
    fit.refit = FPLT__REFIT_FOLLOWS;
    assert_false(fplt__proposal_follows(&p, &fit));
    fplt__proposal_clear(&p);
    fplt__proposal_clear(&fit);
    fplt__proposal_clear(&refit);
}

/* ---- folds of rows ---- */

/* `rows` rows of two classes, `others` of the second. */
static fplt_dataset *read_rows(const char *path, size_t rows, size_t others)
{
    fplt_read_settings read = fplt_read_defaults();
    fplt_dataset *dataset;
    fplt_error error;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("a,label\n", file);
    for (size_t r = 0; r < rows; r++)
        fprintf(file, "%zu,%d\n", r, r < others ? 1 : -1);
    fclose(file);
    read.label = "label";
    read.site = "none";
    assert_ok(fplt_dataset_read(&path, 1, &read, &dataset, &error), error);
    return dataset;
}

static uint32_t most_folds(const char *preset, size_t rows, size_t others, int is_pooled,
                           uint32_t wanted)
{
    static const uint8_t secret[32] = {1, 2, 3};
    char path[] = "/tmp/fedplt-folds-XXXXXX";
    fplt_settings *site;
    fplt_error error;
    uint32_t most;
    close(mkstemp(path));
    fplt_dataset *dataset = read_rows(path, rows, others);
    assert_ok(fplt_settings_create(&site, &error), error);
    assert_ok(fplt_federation_site_declare(site, &error), error);
    assert_ok(fplt_settings_set(site, "data", path, "test", &error), error);
    assert_ok(fplt_settings_set(site, "label", "label", "test", &error), error);
    assert_ok(fplt_settings_set(site, "policy.disclosure", preset, "test", &error), error);
    fplt__folds_of of = {.site = site,
                         .reading = site,
                         .rows = dataset,
                         .secret = strcmp(preset, "off") == 0 ? NULL : secret,
                         .is_pooled = is_pooled};
    assert_ok(fplt__folds_count(&of, wanted, &most, &error), error);
    fplt_dataset_destroy(dataset);
    fplt_settings_destroy(site);
    unlink(path);
    return most;
}

/* Twenty rows in every fold and beside it, and classes of none or at least three rows where the site's sums are seen. */
static void test_count(void **state)
{
    (void)state;
    assert_int_equal(most_folds("strict", 100, 50, 0, 5), 5);
    assert_int_equal(most_folds("strict", 100, 50, 0, 4), 4);
    assert_int_equal(most_folds("strict", 99, 50, 0, 5), 4);
    assert_int_equal(most_folds("research", 46, 23, 0, 5), 2);
    assert_int_equal(most_folds("strict", 39, 20, 1, 5), 0);
    assert_int_equal(most_folds("off", 39, 20, 0, 5), 5);
    assert_int_equal(most_folds("off", 3, 1, 0, 5), 3);
    assert_true(most_folds("strict", 100, 4, 0, 5) < 5); /* of four rows some fold has one or two */
    assert_int_equal(most_folds("strict", 100, 4, 1, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_propose),       cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_parts),         cmocka_unit_test(test_follows),
        cmocka_unit_test(test_refit_follows), cmocka_unit_test(test_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
