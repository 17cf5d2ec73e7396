/* The refit of a run without a network: what its proposal is, that an agent knows it, and models that carry one. */
#include <string.h>

#include "testing.h"

#include "base/memory.h"
#include "fedplt/export.h"
#include "fedplt/inference.h"
#include "fedplt/memory.h"
#include "fedplt/model.h"
#include "federation/plan/following.h"
#include "federation/plan/proposal.h"
#include "federation/plan/refit.h"

static const struct {
    const char *name, *value;
} given[] = {{"algorithm", "fed-plt"},
             {"class-weight", "balanced"},
             {"eps", "0.5"},
             {"formula", "y ~ a"},
             {"h", "l1"},
             {"h-weight", "0.1"},
             {"loss", "logistic"},
             {"rho", "2"},
             {"standardise", "yes"},
             {"weights", "agents"}};

static fplt__proposal made(void)
{
    fplt__proposal p = {.federation = "heart", .run = 4, .members = 2, .quorum = 1};
    fplt_error error;
    p.refit = FPLT__REFIT_FOLLOWS;
    p.roster = fplt__alloc(2, sizeof *p.roster);
    strcpy(p.roster[0], "basel");
    strcpy(p.roster[1], "bern");
    memset(p.nonce, 7, sizeof p.nonce);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        assert_ok(fplt__proposal_set(&p, given[i].name, given[i].value, &error), error);
    return p;
}

static const char *value_of(const fplt__proposal *p, const char *name)
{
    const char *value = fplt__pair_find(p->setting, p->settings, name);
    return value ? value : "none";
}

/* The same rows and columns, no penalty, nothing of the first algorithm. */
static void test_state(void **state)
{
    (void)state;
    fplt_error error;
    fplt__proposal p = made(), read;
    char *text;
    assert_ok(fplt__refit_state(&p, &error), error);
    assert_int_equal(p.run, 5);
    assert_int_equal(p.quorum, 0);
    assert_int_equal(p.refit, FPLT__REFIT_THIS);
    assert_string_equal(value_of(&p, "loss"), "logistic");
    assert_string_equal(value_of(&p, "formula"), "y ~ a");
    assert_string_equal(value_of(&p, "standardise"), "yes");
    assert_string_equal(value_of(&p, "regulariser"), "none");
    assert_string_equal(value_of(&p, "algorithm"), "auto");
    assert_string_equal(value_of(&p, "weights"), "rows");
    assert_string_equal(value_of(&p, "start"), "model");
    static const char *const gone[] = {"eps", "h", "h-weight", "rho", "class-weight"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        assert_string_equal(value_of(&p, gone[i]), "none");
    assert_ok(fplt__proposal_text(&p, &text, &error), error);
    assert_contains(text, "\"refit\":\"this\"");
    assert_ok(fplt__proposal_read(text, strlen(text), &read, &error), error);
    assert_int_equal(read.refit, FPLT__REFIT_THIS);
    memcpy(strstr(text, "\"this\""), "\"thus\"", 6);
    fplt__proposal_clear(&read);
    assert_int_equal(fplt__proposal_read(text, strlen(text), &read, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "refit");
    fplt__free(text);
    fplt__proposal_clear(&p);
}

/* Whatever the nonce is, the refit is known; another member, run, purpose or column is another refit. */
static void test_follows(void **state)
{
    (void)state;
    fplt_error error;
    fplt__proposal p = made(), refit = made();
    assert_ok(fplt__refit_state(&refit, &error), error);
    memset(refit.nonce, 9, sizeof refit.nonce);
    assert_true(fplt__proposal_follows(&p, &refit));
    assert_false(fplt__proposal_follows(&p, &p));
    assert_ok(fplt__proposal_set(&p, "eps", "0.1", &error), error);
    assert_true(fplt__proposal_follows(&p, &refit)); /* the penalty is gone in both */
    assert_ok(fplt__proposal_set(&p, "formula", "y ~ b", &error), error);
    assert_false(fplt__proposal_follows(&p, &refit));
    assert_ok(fplt__proposal_set(&p, "formula", "y ~ a", &error), error);
    strcpy(p.roster[1], "zug");
    assert_false(fplt__proposal_follows(&p, &refit));
    strcpy(p.roster[1], "bern");
    strcpy(p.purpose, "another one");
    assert_false(fplt__proposal_follows(&p, &refit));
    *p.purpose = 0;
    p.run++;
    assert_false(fplt__proposal_follows(&p, &refit));
    p.run--;
    assert_true(fplt__proposal_follows(&p, &refit));
    p.refit = FPLT__REFIT_NONE;
    assert_false(fplt__proposal_follows(&p, &refit));
    fplt__proposal_clear(&p);
    fplt__proposal_clear(&refit);
}

/* Runs that no refit can follow. */
static void test_check(void **state)
{
    (void)state;
    fplt_error error = {FPLT_OK, ""};
    fplt__proposal p = {.federation = "heart", .run = 1};
    assert_ok(fplt__proposal_set(&p, "eps", "0.1", &error), error);
    assert_ok(fplt__refit_check(&p, &error), error);
    assert_ok(fplt__proposal_set(&p, "eps", "0", &error), error);
    assert_int_equal(fplt__refit_check(&p, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "no penalty");
    assert_ok(fplt__proposal_promise(&p, "epsilon", "1", &error), error);
    assert_int_equal(fplt__refit_check(&p, &error), FPLT_UNSUPPORTED);
    fplt__proposal_clear(&p);
}

#define MODEL(weights, more)                                                                  \
    "{\"format\":\"fedplt-model\",\"version\":1,\"program\":null,\"task\":\"binary\","        \
    "\"loss\":\"logistic\",\"huber_delta\":1.0,\"intercept\":false,\"features\":2,"           \
    "\"feature_names\":[\"a\",\"b\"],\"classes\":[\"no\",\"yes\"],"                           \
    "\"reading\":{\"drop_first_level\":false,\"label\":\"y\",\"site\":null,\"labels\":null}," \
    "\"schema\":null,\"transform\":{\"mean\":null,\"scale\":null,\"radius\":0.0},"            \
    "\"weights\":" weights ",\"training\":{}" more "}"

static void test_model(void **state)
{
    (void)state;
    static const char alone[] = MODEL("[1.5,-0.5]", ""),
                      whole[] = MODEL("[1.5,-0.5]", ",\"refit\":" MODEL("[2.5,-1.0]", "")),
                      empty[] = MODEL("[1.5,-0.5]", ",\"refit\":3");
    fplt_error error;
    fplt_model *model, *again;
    char *text;
    assert_ok(fplt_model_parse(alone, strlen(alone), "m", &model, &error), error);
    assert_null(fplt_model_refit(model));
    fplt_model_destroy(model);
    assert_ok(fplt_model_parse(whole, strlen(whole), "m", &model, &error), error);
    assert_ok(fplt_model_text(model, &text, &error), error);
    assert_ok(fplt_model_parse(text, strlen(text), "m", &again, &error), error);
    assert_true(fplt_model_get_view(again)->weights[0] == 1.5);
    assert_true(fplt_model_get_view(fplt_model_refit(again))->weights[0] == 2.5);
    fplt_free(text);
    fplt_model_destroy(model);
    fplt_model_destroy(again);
    assert_int_equal(fplt_model_parse(empty, strlen(empty), "m", &model, &error), FPLT_BAD_DATA);
    assert_null(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_follows),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
