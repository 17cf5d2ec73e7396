/* The promise of a federation: what an agent computes again and holds against a plan. */
#include <stdio.h>
#include <string.h>

#include "testing.h"

#include "data/schema_access.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/privacy_plan.h"

static const char declared[] =
    "columns:\n"
    "  a: {type: number, bounds: -1..1, missing: 0}\n"
    "  b: {type: number, bounds: 0..10, missing: centre}\n"
    "  y: {type: label, classes: [no, yes], missing: no, other: neutral-row}\n";

static char roster[3][FPLT__NAME] = {"basel", "bern", "geneva"};
static const uint64_t records[3] = {100, 50, 200};

/* A proposal of three sites; its texts are borrowed. */
struct proposed {
    fplt__proposal proposal;
    fplt__pair setting[4], privacy[4];
    fplt_schema *schema;
};

static void propose(struct proposed *made)
{
    static const char *const setting[][2] = {
        {"algorithm", "fed-plt"}, {"epochs", "3"}, {"gamma", "0.5"}, {"rounds", "40"}};
    static const char *const privacy[][2] = {{"delta", "1e-6"}, {"epsilon", "2"}, {"rows", "1"}};
    fplt_error error;
    memset(made, 0, sizeof *made);
    assert_ok(fplt__schema_parse(declared, sizeof declared - 1, "test", &made->schema, &error),
              error);
    for (size_t i = 0; i < 4; i++)
        made->setting[i] = (fplt__pair){(char *)setting[i][0], (char *)setting[i][1]};
    for (size_t i = 0; i < 3; i++)
        made->privacy[i] = (fplt__pair){(char *)privacy[i][0], (char *)privacy[i][1]};
    made->proposal = (fplt__proposal){.federation = "heart",
                                      .run = 1,
                                      .members = 3,
                                      .roster = roster,
                                      .settings = 4,
                                      .setting = made->setting,
                                      .privacies = 3,
                                      .privacy = made->privacy,
                                      .columns = 2,
                                      .schema = (char *)fplt__schema_text(made->schema)};
}

static void agree(const struct proposed *made, fplt__agreement *agreement)
{
    fplt_error error;
    fplt__gathered gathered = {.form = fplt__schema_form(made->schema), .records = records};
    assert_ok(fplt__plan_resolution_agree(&made->proposal, &gathered, agreement, &error), error);
}

/* What a round costs a record [Theorem T on the lattice], written out; `gap`: how far a record can move
 * its gradient. */
static double rate_of(const fplt__agreement *agreement, uint32_t i, double gap)
{
    double rho = agreement->plan.parameter[0], gamma = 0.5;
    double low = agreement->curvature.lowest + 1 / rho,
           high = agreement->curvature.highest + 1 / rho;
    double c = fmax(fabs(1 - gamma * low), fabs(1 - gamma * high)), power = c * c * c;
    double kappa = (1 - power) * (1 + c) / ((1 + power) * (1 - c));
    double share = 3.0 * (double)records[i] / 350;
    double sensitivity = gap * share / (double)records[i];
    double step = sqrt(gamma / 2) * sensitivity / agreement->tau[i] +
                  3 * sqrt((double)agreement->plan.dimension) / 1048576;
    return step * step * kappa / 2;
}

static void plan_follows_from_public_numbers(void **state)
{
    (void)state;
    struct proposed made;
    fplt__agreement agreement;
    fplt_error error;
    propose(&made);
    agree(&made, &agreement);
    assert_true(agreement.private);
    assert_int_equal(agreement.rounds, 40);
    assert_int_equal(agreement.cap, 42);
    assert_int_equal(agreement.plan.dimension, 3);
    assert_int_equal(agreement.evaluate_every, 0);
    for (uint32_t i = 0; i < 3; i++) {
        /* of two classes clipped at half of sqrt(1 + 1), and replaced by its opposite */
        double expected = rate_of(&agreement, i, hypot(1, 1));
        assert_true(fabs(agreement.rate[i] / expected - 1) < 1e-9);
    }
    assert_ok(fplt__privacy_plan_verify(&agreement, &error), error);
    fplt__agreement_clear(&agreement);
    fplt_schema_destroy(made.schema);
}

/* Of a custom cost the plan follows from the proposal as well: L is twice the clip, and steps are charged one by one. */
static void plans_for_custom_costs_are_computed_again(void **state)
{
    (void)state;
    static const char *const setting[][2] = {{"algorithm", "fedavg"},
                                             {"clip", "0.5"},
                                             {"gamma", "0.3"},
                                             {"loss", "custom"},
                                             {"rounds", "40"}};
    fplt__pair settings[5], privacy = {(char *)"epsilon", (char *)"2"};
    fplt__agreement agreement;
    fplt_error error;
    for (size_t i = 0; i < 5; i++)
        settings[i] = (fplt__pair){(char *)setting[i][0], (char *)setting[i][1]};
    fplt__proposal proposal = {.federation = "heart",
                               .run = 1,
                               .members = 3,
                               .roster = roster,
                               .settings = 5,
                               .setting = settings,
                               .privacies = 1,
                               .privacy = &privacy,
                               .model = {.name = "mine", .version = "1", .dimension = 7}};
    fplt__gathered gathered = {.form = fplt__custom_form(&proposal), .records = records};
    assert_ok(fplt__plan_resolution_agree(&proposal, &gathered, &agreement, &error), error);
    assert_true(agreement.private && agreement.rounds == 40 && agreement.plan.dimension == 7);
    for (uint32_t i = 0; i < 3; i++) {
        double step =
            sqrt(0.3 / 2) * 2 * 0.5 / (double)records[i] / agreement.tau[i] + 3 * sqrt(7) / 1048576;
        assert_close(agreement.rate[i], step * step / 2, 1e-9);
    }
    assert_ok(fplt__privacy_plan_verify(&agreement, &error), error);
    agreement.tau[1] *= 0.999;
    assert_int_equal(fplt__privacy_plan_verify(&agreement, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "tau of bern");
    agreement.tau[1] /= 0.999;
    agreement.proposal.model.dimension = 8; /* another lattice */
    assert_int_equal(fplt__privacy_plan_verify(&agreement, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "dimension");
    fplt__agreement_clear(&agreement);
}

/* A quorum of all is no quorum: every round has every agent, and every agent is charged all of them. */
static void a_quorum_of_all_waits_for_all(void **state)
{
    (void)state;
    struct proposed made;
    fplt__agreement agreement;
    propose(&made);
    agree(&made, &agreement);
    for (uint32_t quorum = 0; quorum <= 3; quorum++) {
        agreement.proposal.quorum = quorum;
        assert_int_equal(fplt__privacy_plan_rounds(&agreement, 7), quorum == 3 ? 42 : 7);
    }
    fplt__agreement_clear(&agreement);
    fplt_schema_destroy(made.schema);
}

/* If agents weigh the same and have the same noise, a record of a small site weighs more: each member has a rate and a cost of its own. */
static void members_cost_what_their_records_weigh(void **state)
{
    (void)state;
    struct proposed made;
    fplt__agreement agreement;
    fplt__pair setting[5];
    fplt_error error;
    propose(&made);
    memcpy(setting, made.setting, sizeof made.setting);
    setting[4] = (fplt__pair){(char *)"weights", (char *)"agents"};
    made.proposal.setting = setting;
    made.proposal.settings = 5;
    made.privacy[1] = (fplt__pair){(char *)"tau", (char *)"0.05"}; /* the same noise for all */
    agree(&made, &agreement);
    assert_true(agreement.rate[1] > 1.01 * agreement.rate[0]); /* 50 records, not 100 */
    assert_true(agreement.rate[0] > 1.01 * agreement.rate[2]); /* nor 200 */
    for (uint32_t i = 0; i < 3; i++) {
        fplt__cost cost;
        assert_ok(fplt__privacy_plan_cost(&agreement, i, &cost, &error), error);
        assert_close(cost.rates.against[0], agreement.rate[i], 1e-12);
        assert_int_equal(cost.group, 1);
    }
    assert_ok(fplt__privacy_plan_verify(&agreement, &error), error);
    fplt__agreement_clear(&agreement);
    fplt_schema_destroy(made.schema);
}

/* A coordinator that asks for less noise, more rounds or another step than it may is found out. */
static void false_plans_are_found(void **state)
{
    (void)state;
    struct proposed made;
    fplt__agreement agreement;
    fplt_error error;
    propose(&made);
    agree(&made, &agreement);
    const struct {
        double *value;
        const char *says;
    } lies[] = {
        {&agreement.tau[1], "tau of bern"},
        {&agreement.rate[2], "rate of geneva"},
        {&agreement.curvature.highest, "largest curvature"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        double truth = *lies[i].value;
        *lies[i].value *= 0.999;
        assert_int_equal(fplt__privacy_plan_verify(&agreement, &error), FPLT_BAD_DATA);
        assert_contains(error.text, lies[i].says);
        *lies[i].value = truth;
    }
    agreement.cap = 43;
    assert_int_equal(fplt__privacy_plan_verify(&agreement, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "cap is 43");
    agreement.cap = 42;
    agreement.evaluate_every = 10;
    assert_int_equal(fplt__privacy_plan_verify(&agreement, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "interval of measuring");
    agreement.evaluate_every = 0;
    size_t privacies = agreement.proposal.privacies;
    agreement.proposal.privacies = 0; /* a private plan of a proposal that promises nothing */
    assert_int_equal(fplt__privacy_plan_verify(&agreement, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "its proposal");
    agreement.proposal.privacies = privacies;
    agreement.plan.parameter[0] *= 2; /* rho: the noise no longer fits it */
    assert_int_equal(fplt__privacy_plan_verify(&agreement, &error), FPLT_BAD_DATA);
    fplt__agreement_clear(&agreement);
    fplt_schema_destroy(made.schema);
}

static void refuses_what_a_network_cannot_promise(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        {"threat", "final-x", "the coordinator sees every message"},
        {"diagnose", "yes", "diagnose has no place"},
        {"noises", "secure", "noises"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct proposed made;
        fplt_error error;
        fplt_settings *settings;
        propose(&made);
        made.privacy[3] = (fplt__pair){(char *)wrong[i][0], (char *)wrong[i][1]};
        made.proposal.privacies = 4;
        assert_true(fplt__plan_resolution_settings(&made.proposal, 0, &settings, &error));
        assert_contains(error.text, wrong[i][2]);
        fplt_schema_destroy(made.schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_follows_from_public_numbers),
        cmocka_unit_test(plans_for_custom_costs_are_computed_again),
        cmocka_unit_test(a_quorum_of_all_waits_for_all),
        cmocka_unit_test(members_cost_what_their_records_weigh),
        cmocka_unit_test(false_plans_are_found),
        cmocka_unit_test(refuses_what_a_network_cannot_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
