/* Secure aggregation in proposals, threats that a federation can promise against, what a person is shown, and columns that
 * an agent keeps. */
#include "federating.h"

#include "federation/agent/agent.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/proposal_text.h"
#include "federation/plan/secure_plan.h"

static char roster[20][FPLT__NAME];

/* A proposal of so many sites; its pairs are owned by it. */
static fplt__proposal proposal_of(uint32_t members)
{
    fplt__proposal made = {
        .federation = "heart", .run = 1, .members = members, .roster = roster, .columns = 2};
    for (size_t i = 0; i < sizeof roster / sizeof *roster; i++)
        snprintf(roster[i], sizeof roster[i], "s%zu", i + 1);
    return made;
}

static void drop(fplt__proposal *proposal)
{
    proposal->roster = NULL; /* lent */
    fplt__proposal_clear(proposal);
}

static void promise(fplt__proposal *proposal, const char *name, const char *value)
{
    fplt_error error;
    assert_ok(fplt__proposal_promise(proposal, name, value, &error), error);
}

static const char *promised(const fplt__proposal *proposal, const char *name)
{
    return fplt__pair_find(proposal->privacy, proposal->privacies, name);
}

static fplt_settings *leader_with(const char *aggregate, const char *colluders)
{
    fplt_settings *settings;
    fplt_error error;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_settings_add(settings, "federation", fplt_federation_lead_table, &error), error);
    assert_ok(fplt_settings_set(settings, "aggregate", aggregate, "test", &error), error);
    if (colluders)
        assert_ok(fplt_settings_set(settings, "colluders", colluders, "test", &error), error);
    return settings;
}

static fplt_status propose(const char *aggregate, const char *colluders, fplt__proposal *proposal,
                           fplt_error *error)
{
    fplt_settings *settings = leader_with(aggregate, colluders);
    fplt_status status = fplt__secure_plan_propose(settings, proposal, error);
    fplt_settings_destroy(settings);
    return status;
}

static void sums_have_honest_members(void **state)
{
    (void)state;
    fplt_error error;
    fplt__proposal proposal = proposal_of(3);
    assert_ok(propose("secure", NULL, &proposal, &error), error);
    assert_int_equal(proposal.secure, 1);
    assert_int_equal(proposal.colluders, 1);
    assert_int_equal(fplt__secure_honest(&proposal), 2);
    assert_int_equal(propose("secure", "2", &proposal, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "a sum must have at least 2 honest members");
    proposal.members = 2;
    assert_int_equal(propose("secure", NULL, &proposal, &error), FPLT_BAD_VALUE);
    proposal.members = 3;
    proposal.quorum = 2;
    assert_int_equal(propose("secure", NULL, &proposal, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "single sites away");
    proposal.quorum = 0;
    assert_ok(propose("plain", NULL, &proposal, &error), error);
    assert_int_equal(proposal.secure, 0);
    assert_ok(propose("auto", NULL, &proposal, &error), error);
    assert_int_equal(proposal.secure, 1);
    proposal.members = 2; /* too few for what nobody asked for */
    assert_ok(propose("auto", NULL, &proposal, &error), error);
    assert_int_equal(proposal.secure, 0);
    assert_int_equal(fplt__secure_colluders(3), 1);
    assert_int_equal(fplt__secure_colluders(20), 2);
    drop(&proposal);
}

/* 2 t > M + c, and the section `privacy` states the numbers of the aggregation. */
static void divided_noise_states_its_numbers(void **state)
{
    (void)state;
    fplt_error error;
    fplt__proposal proposal = proposal_of(20);
    promise(&proposal, "threat", "secagg-sum");
    promise(&proposal, "epsilon", "2");
    assert_ok(propose("auto", NULL, &proposal, &error), error);
    assert_int_equal(proposal.secure, 1);
    assert_int_equal(proposal.colluders, 2);
    assert_int_equal(proposal.quorum, 14); /* two thirds */
    assert_string_equal(promised(&proposal, "colluders"), "2");
    assert_string_equal(promised(&proposal, "quorum"), "14");
    assert_string_equal(fplt__pair_find(proposal.setting, proposal.settings, "algorithm"),
                        "fedavg");
    fplt__agreement agreement = {.proposal = proposal};
    fplt__secure_plan_fill(&agreement);
    assert_int_equal(agreement.threshold, 14);
    assert_int_equal(agreement.most, 20);
    assert_int_equal(agreement.width, 16);
    agreement.plan.unit = 1;
    fplt__secure_plan_fill(&agreement);
    assert_int_equal(agreement.width, 8);
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt__secure_plan_show(&proposal, &text);
    assert_contains(text.text, "of at least 12 honest sites of 20, if at most 2 help the");
    assert_contains(text.text, "; epsilon 2, and ");
    fplt__buffer_clear(&text);
    proposal.quorum = 11; /* 22 is not more than 20 + 2 */
    assert_int_equal(fplt__secure_plan_check(&proposal, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "take at least 12");
    proposal.quorum = 12;
    assert_ok(fplt__secure_plan_check(&proposal, &error), error);
    assert_int_equal(propose("secure", NULL, &proposal, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "privacy: quorum is 14, but 12");
    proposal.quorum = 14;
    assert_int_equal(propose("secure", "3", &proposal, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "privacy: colluders is 2, but 3");
    drop(&proposal);
}

static void a_network_sees_messages(void **state)
{
    (void)state;
    static const struct {
        const char *threat;
        int secure;
        const char *refused;
    } cases[] = {{"transcript", 0, NULL},
                 {"broadcast", 0, NULL},
                 {"secagg", 0, "it sees sums"},
                 {"secagg-sum", 0, "it sees sums"},
                 {"secagg", 1, NULL},
                 {"secagg-sum", 1, NULL},
                 {"final-x", 0, "the coordinator sees every message"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fplt__proposal proposal = proposal_of(3);
        fplt_settings *settings;
        fplt_error error = {FPLT_OK, ""};
        promise(&proposal, "epsilon", "2");
        promise(&proposal, "threat", cases[k].threat);
        proposal.secure = (uint8_t)cases[k].secure;
        fplt_status status = fplt__plan_resolution_settings(&proposal, 0, &settings, &error);
        if (cases[k].refused)
            assert_contains(error.text, cases[k].refused);
        else
            assert_ok(status, error);
        assert_true(!status == !cases[k].refused);
        fplt_settings_destroy(settings);
        drop(&proposal);
    }
}

static void a_person_reads_what_is_promised(void **state)
{
    (void)state;
    static const char declared[] =
        "columns:\n"
        "  a: {type: number, bounds: -1..1, missing: 0}\n"
        "  b: {type: number, bounds: 0..10, missing: centre}\n"
        "  y: {type: label, classes: [no, yes], missing: no, other: neutral-row}\n";
    fplt__proposal proposal = proposal_of(3), copy;
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt_error error;
    proposal.schema = (char *)declared;
    promise(&proposal, "epsilon", "2");
    fplt__proposal_show(&proposal, &text);
    assert_contains(text.text, "federation  heart, run 1\nroster      s1 s2 s3\n");
    assert_contains(text.text, "\nintercept   yes (labels need not be centred)");
    assert_contains(text.text, "\nstandardise schema (by declared bounds");
    assert_contains(text.text, "\nweights     rows (every row has the same weight");
    assert_contains(text.text, "\nschema      2 features\n");
    assert_contains(text.text, "\nprivacy epsilon 2\n");
    char *clip = strstr(text.text, "\nclip        ");
    assert_non_null(clip);
    assert_true(strtod(clip + 13, NULL) > 0);
    fplt__buffer_clear(&text);
    assert_ok(fplt__proposal_copy(&proposal, &copy, &error), error);
    assert_string_equal(copy.schema, declared);
    assert_ptr_not_equal(copy.schema, declared);
    assert_null(copy.dictionary);
    assert_string_equal(copy.roster[2], "s3");
    promise(&copy, "epsilon", "3"); /* instead of what it was */
    assert_int_equal(copy.privacies, 1);
    assert_string_equal(promised(&copy, "epsilon"), "3");
    assert_string_equal(promised(&proposal, "epsilon"), "2");
    fplt__proposal_clear(&copy);
    proposal.schema = NULL;
    drop(&proposal);
}

static void columns_are_kept_for_their_proposal(void **state)
{
    (void)state;
    const char *place = getenv("TMPDIR");
    char folder[300], command[400], *text;
    fplt__digest one = {{1}}, other = {{1, 2}};
    fplt_error error;
    snprintf(folder, sizeof folder, "%s/fedplt-columns-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(folder));
    assert_ok(fplt__kept_load(folder, FPLT__KEPT_COLUMNS, &one, &text, &error), error);
    assert_null(text);
    assert_ok(fplt__kept_save(folder, FPLT__KEPT_COLUMNS, &one, "a\nb\n", &error), error);
    assert_ok(fplt__kept_load(folder, FPLT__KEPT_COLUMNS, &other, &text, &error), error);
    assert_null(text);
    assert_ok(fplt__kept_load(folder, FPLT__KEPT_COLUMNS, &one, &text, &error), error);
    assert_non_null(text);
    assert_string_equal(text, "a\nb\n");
    fplt_free(text);
    assert_ok(fplt__kept_load(folder, FPLT__KEPT_PREPARED, &one, &text, &error), error);
    assert_null(text); /* another thing that is kept */
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_honest_members),
        cmocka_unit_test(divided_noise_states_its_numbers),
        cmocka_unit_test(a_network_sees_messages),
        cmocka_unit_test(a_person_reads_what_is_promised),
        cmocka_unit_test(columns_are_kept_for_their_proposal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
