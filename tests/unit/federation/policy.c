/* A site's policy: each line of it rejects the proposals that it is about, with the sentence that names it, and no others; a
 * person is asked where there is none. */
#include "testing.h"

#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "federation/agent/policy.h"
#include "fedplt/algorithm.h"
#include "fedplt/federation.h"
#include "pki/certificate.h"

static char *authority;
static fplt__identity self = {.federation = "heart", .name = "basel"};
static const fplt__digest hash = {{0xab, 1}};

static int begin(void **state)
{
    char *key;
    fplt_error error;
    (void)state;
    assert_ok(fplt__key_make(&key, &error), error);
    assert_ok(fplt__authority_make("heart", key, &authority, &error), error);
    fplt__free(key);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fplt__free(authority);
    return 0;
}

/* Settings of a site, from pairs that end with NULL. */
static fplt_settings *site_of(const char *const *pairs)
{
    fplt_settings *settings;
    fplt_error error;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_federation_site_declare(settings, &error), error);
    for (; *pairs; pairs += 2)
        assert_ok(fplt_settings_set(settings, pairs[0], pairs[1], "site.yaml:3", &error), error);
    return settings;
}

/* A proposal of four members; `train` and `privacy` are JSON objects, sorted. */
static fplt__proposal proposal_of(const char *train, const char *privacy)
{
    fplt__proposal proposal;
    fplt_error error;
    char text[1000];
    snprintf(text, sizeof text,
             "{\"authority\":\"%064d\",\"columns\":0,\"federation\":\"heart\",\"nonce\":\"%032d\","
             "\"privacy\":%s,\"protocol\":1,\"quorum\":0,\"roster\":[\"basel\",\"bern\",\"chur\","
             "\"genf\"],\"run\":1,\"schema\":null,\"settings\":%s}",
             0, 0, privacy, train);
    assert_ok(fplt__proposal_read(text, strlen(text), &proposal, &error), error);
    assert_ok(fplt__certificate_digest(authority, proposal.authority.byte, &error), error);
    return proposal;
}

static fplt_status judge(const char *const *pairs, const fplt__proposal *proposal,
                         fplt_error *error)
{
    fplt_settings *settings = site_of(pairs);
    fplt__consent_source source = {.settings = settings, .self = &self, .authority = authority};
    fplt_status status = fplt__policy_judge(&source, proposal, &hash, error);
    fplt_settings_destroy(settings);
    return status;
}

#define FEDERATIONS "policy.federations", "lung,heart"
#define OFF         "policy.epsilon", "off"

static const char plain[] = "{\"algorithm\":\"fed-plt\",\"rounds\":\"50\"}";

/* Each line alone, with a value that agrees and one that does not. */
static void each_line_rejects(void **state)
{
    (void)state;
    static const struct {
        const char *const agrees[11], *const rejects[11];
        const char *train, *privacy, *sentence;
    } lines[] = {
        {{FEDERATIONS, OFF},
         {"policy.federations", "lung", OFF},
         plain,
         "{}",
         "site.yaml:3: rejected by the site's policy: policy.federations: does not name heart"},
        {{FEDERATIONS, OFF, "policy.algorithms", "fedavg,fed-plt"},
         {FEDERATIONS, OFF, "policy.algorithms", "fedavg,led"},
         plain,
         "{}",
         "policy.algorithms: does not name fed-plt"},
        {{FEDERATIONS, OFF, "policy.rounds", "50"},
         {FEDERATIONS, OFF, "policy.rounds", "49"},
         plain,
         "{}",
         "policy.rounds: the proposal wants 50"},
        {{FEDERATIONS, OFF, "policy.participants", "4"},
         {FEDERATIONS, OFF, "policy.participants", "5"},
         plain,
         "{}",
         "policy.participants: the roster has only 4"},
        {{FEDERATIONS, OFF},
         {FEDERATIONS, "policy.epsilon", "3"},
         plain,
         "{}",
         "policy.epsilon: the proposal trains without privacy; `epsilon: off` would agree"},
        {{FEDERATIONS, "policy.epsilon", "3"},
         {"policy.federations", "lung"},
         plain,
         "{\"epsilon\":\"3\"}",
         "policy.federations: does not name heart"},
        {{FEDERATIONS, OFF},
         {FEDERATIONS, "policy.epsilon", "3"},
         plain,
         "{\"epsilon\":\"3\",\"noise\":\"simulated\"}",
         "policy.epsilon: the proposal's noise is simulated, which protects nobody"},
        {{FEDERATIONS, OFF, "policy.allow", "measure,facts"},
         {FEDERATIONS, OFF, "policy.allow", "measure"},
         "{\"algorithm\":\"fed-plt\",\"rounds\":\"50\",\"standardise\":\"yes\"}",
         "{}",
         "policy.allow: does not have `facts`; the proposal needs the names of columns, levels and "
         "label words, the curvature of the cost and, because columns are standardised,"},
        {{FEDERATIONS, OFF},
         {FEDERATIONS, OFF, "policy.allow", "measure"},
         plain,
         "{}",
         "the proposal needs the names of columns, levels and label words, the curvature of the "
         "cost"},
        {{FEDERATIONS, OFF, "policy.allow", "facts,sparse"},
         {FEDERATIONS, OFF}, /* not in the default */
         "{\"algorithm\":\"fed-lbfgs\",\"encoding\":\"sparse\",\"rounds\":\"50\"}",
         "{}",
         "policy.allow: does not have `sparse`; the proposal has `encoding: sparse`, whose updates "
         "name the columns"}};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        fplt__proposal proposal = proposal_of(lines[k].train, lines[k].privacy);
        fplt_error error = {FPLT_OK, ""};
        if (judge(lines[k].agrees, &proposal, &error))
            fail_msg("%zu: %s", k, error.text);
        assert_int_equal(judge(lines[k].rejects, &proposal, &error), FPLT_FAILED);
        assert_contains(error.text, lines[k].sentence);
        fplt__proposal_clear(&proposal);
    }
}

/* A custom cost has no columns whose names could leave. */
static void facts_of_a_custom_cost(void **state)
{
    (void)state;
    static const char *const pairs[] = {FEDERATIONS, OFF, "policy.allow", "measure", NULL};
    fplt_error error;
    fplt__proposal proposal =
        proposal_of("{\"algorithm\":\"fed-plt\",\"loss\":\"custom\",\"rounds\":\"50\"}", "{}");
    proposal.model.dimension = 3;
    assert_int_equal(judge(pairs, &proposal, &error), FPLT_FAILED);
    assert_contains(error.text, "the proposal needs the curvature of the cost");
    fplt__proposal_clear(&proposal);
}

/* The federation and authority of the certificate, the last day, and a plan that somebody agreed to. */
static void other_proposals(void **state)
{
    (void)state;
    static const char *const pairs[] = {FEDERATIONS, OFF, NULL}, *const none[] = {NULL};
    static const char *const expires[] = {"2000-01-01", "9999-12-31", ""};
    char text[FPLT__HEX], other[FPLT__HEX];
    fplt_error error;
    fplt__proposal proposal = proposal_of(plain, "{}");
    proposal.authority.byte[31] ^= 1;
    assert_int_equal(judge(pairs, &proposal, &error), FPLT_FAILED);
    assert_contains(error.text, "of another federation or authority");
    proposal.authority.byte[31] ^= 1;
    memcpy(proposal.federation, "lung", 5);
    assert_int_equal(judge(pairs, &proposal, &error), FPLT_FAILED);
    assert_contains(error.text, "of another federation or authority");
    memcpy(proposal.federation, "heart", 6);
    for (size_t k = 0; k < 3; k++) {
        snprintf(proposal.expires, sizeof proposal.expires, "%s", expires[k]);
        assert_int_equal(judge(pairs, &proposal, &error), k ? FPLT_OK : FPLT_FAILED);
        if (k == 0)
            assert_contains(error.text, "the proposal expired on 2000-01-01, and today is 2");
    }
    fplt__hex(&hash, sizeof hash, text);
    memcpy(other, text, sizeof other);
    other[63] ^= 1;
    assert_ok(judge(none, &proposal, &error), error);
    assert_ok(judge((const char *const[]){"plan", text, NULL}, &proposal, &error), error);
    assert_int_equal(judge((const char *const[]){"plan", other, NULL}, &proposal, &error),
                     FPLT_FAILED);
    assert_contains(error.text, "--plan agrees to ab01");
    fplt__proposal_clear(&proposal);
}

struct person {
    int agrees;
    unsigned asked;
    char text[2000], hash[FPLT__HEX];
};

static int agree(void *context, const char *text, const char *own)
{
    struct person *person = context;
    person->asked++;
    snprintf(person->text, sizeof person->text, "%s", text);
    snprintf(person->hash, sizeof person->hash, "%s", own);
    return person->agrees;
}

static void a_person_is_asked_without_a_policy(void **state)
{
    (void)state;
    char text[FPLT__HEX];
    fplt_error error;
    fplt__hex(&hash, sizeof hash, text);
    const char *const with[][5] = {{FEDERATIONS, OFF}, {"plan", text}, {NULL}};
    for (size_t k = 0; k < 3; k++)
        for (int agrees = 0; agrees < 2; agrees++) {
            struct person person = {.agrees = agrees};
            fplt_federation_watch watch = {
                .size = sizeof watch, .context = &person, .agree = agree};
            fplt_settings *settings = site_of(with[k]);
            fplt__consent_source source = {.settings = settings,
                                           .watch = &watch,
                                           .self = &self,
                                           .authority = authority,
                                           .protection = agrees ? "rows are counted" : NULL};
            fplt__proposal proposal = proposal_of(plain, "{}");
            proposal.secure = agrees;
            assert_int_equal(fplt__policy_agree(&source, &proposal, &hash, &error),
                             k < 2 || agrees ? FPLT_OK : FPLT_FAILED);
            assert_int_equal(person.asked, k == 2);
            if (k == 2) {
                assert_string_equal(person.hash, text);
                assert_contains(person.text, "federation  heart, run 1\n");
                assert_int_equal(strstr(person.text, "\nidentities  as met first") != NULL, agrees);
                assert_int_equal(strstr(person.text, "\nprotection  rows are counted\n") != NULL,
                                 agrees);
            }
            if (k == 2 && !agrees)
                assert_contains(error.text, "nobody agreed to proposal ab01");
            fplt__proposal_clear(&proposal);
            fplt_settings_destroy(settings);
        }
}

/* What the plan adds: its rounds, and the algorithm that `auto` became. */
static void the_plan_is_judged_too(void **state)
{
    (void)state;
    fplt_error error;
    fplt_settings *settings = site_of((const char *const[]){FEDERATIONS, "policy.rounds", "10",
                                                            "policy.algorithms", "led", NULL});
    fplt__agreement agreement = {.rounds = 10, .plan = {.algorithm = fplt_algorithm_find("led")}};
    assert_ok(fplt__policy_judge_plan(settings, &agreement, &error), error);
    agreement.rounds = 11;
    assert_int_equal(fplt__policy_judge_plan(settings, &agreement, &error), FPLT_FAILED);
    assert_contains(error.text, "policy.rounds: the proposal wants 11");
    agreement.rounds = 10;
    agreement.plan.algorithm = fplt_algorithm_find("fedavg");
    assert_int_equal(fplt__policy_judge_plan(settings, &agreement, &error), FPLT_FAILED);
    assert_contains(error.text, "policy.algorithms: does not name fedavg");
    fplt_settings_destroy(settings);
}

/* Every word is one that means something. */
static void words_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *name, *legal, *wrong, *sentence;
    } words[] = {
        {"policy.epsilon", "0.5", "0", "policy.epsilon is '0', but it must be a number above 0"},
        {"policy.epsilon", "off", "of", "policy.epsilon is 'of', but it must be a number above 0"},
        {"policy.allow", "information,score,measure,facts", "facts,mesure",
         "policy.allow has 'mesure', but its words are facts, measure, score, information, "
         "evaluate, describe, survival and sparse"},
        {"policy.algorithms", "led,fed-plt", "led,fed-plot",
         "has 'fed-plot', but there is no such"},
        {"policy.federations", "heart-2", "Heart", "has 'Heart', but names of federations have"}};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        for (int wrong = 0; wrong < 2; wrong++) {
            fplt_error error = {FPLT_OK, ""};
            fplt_settings *settings = site_of((
                const char *const[]){words[k].name, wrong ? words[k].wrong : words[k].legal, NULL});
            assert_int_equal(fplt__policy_check(settings, &error),
                             wrong ? FPLT_BAD_VALUE : FPLT_OK);
            if (wrong)
                assert_contains(error.text, words[k].sentence);
            fplt_settings_destroy(settings);
        }
    fplt_error error;
    fplt_settings *settings = site_of((const char *const[]){FEDERATIONS, NULL});
    assert_ok(fplt__policy_check_federation(settings, "heart", &error), error);
    assert_int_equal(fplt__policy_check_federation(settings, "skin", &error), FPLT_BAD_VALUE);
    assert_string_equal(error.text,
                        "site.yaml:3: policy.federations is lung,heart, but this agent's "
                        "certificate is of skin: nothing would be agreed to; write `federations: "
                        "[skin]`");
    fplt_settings_destroy(settings);
}

static void assert_shown(const char *const *pairs, const char *words)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt_settings *settings = site_of(pairs);
    fplt__policy_show(settings, &text);
    assert_string_equal(text.text, words);
    fplt__buffer_clear(&text);
    fplt_settings_destroy(settings);
}

static void the_policy_in_one_line(void **state)
{
    (void)state;
    assert_shown((const char *const[]){NULL}, "none; a person is asked about each proposal");
    assert_shown((const char *const[]){"plan", "ab", NULL}, "none; --plan agrees to one proposal");
    assert_shown((const char *const[]){FEDERATIONS, OFF, "policy.allow", "facts", NULL},
                 "federations lung,heart, algorithms any, rounds any, participants 2, epsilon off, "
                 "allow facts");
    assert_shown((const char *const[]){FEDERATIONS, "policy.algorithms", "led", "policy.rounds",
                                       "9", "policy.epsilon", "3", NULL},
                 "federations lung,heart, algorithms led, rounds 9, participants 2, epsilon 3, "
                 "delta 1e-5");
}

/* Questions that are answered, and the budget. */
static void what_a_policy_allows(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        unsigned kinds;
    } allowed[] = {{"facts", 0},
                   {"measure", 1u << FPLT__MEASURE | 1u << FPLT__MEAN},
                   {"score", 1u << FPLT__SCORE},
                   {"information", 1u << FPLT__INFORMATION},
                   {"score,information", 1u << FPLT__SCORE | 1u << FPLT__INFORMATION}};
    for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++) {
        fplt_settings *settings =
            site_of((const char *const[]){OFF, "policy.allow", allowed[k].words, NULL});
        assert_int_equal(fplt__policy_allows(settings), allowed[k].kinds);
        assert_int_equal(fplt__policy_allows_word(settings, "facts"), k == 0);
        assert_true(fplt__policy_is_off(settings) && !fplt__policy_has_budget(settings));
        assert_true(isinf(fplt__policy_budget(settings, 1).epsilon));
        fplt_settings_destroy(settings);
    }
    fplt_settings *settings =
        site_of((const char *const[]){"policy.epsilon", "2.5", "policy.delta", "1e-6", NULL});
    fplt__ledger_budget budget = fplt__policy_budget(settings, 3);
    assert_true(budget.epsilon == 2.5 && budget.delta == 1e-6 && budget.group == 3);
    assert_true(fplt__policy_has_budget(settings) && !fplt__policy_is_off(settings));
    fplt__proposal proposal = proposal_of(plain, "{\"epsilon\":\"3\"}");
    assert_true(fplt__policy_is_private(settings, &proposal));
    fplt__proposal_clear(&proposal);
    proposal = proposal_of(plain, "{\"epsilon\":\"3\",\"noise\":\"simulated\"}");
    assert_false(fplt__policy_is_private(settings, &proposal));
    fplt__proposal_clear(&proposal);
    fplt_settings_destroy(settings);
    settings = site_of((const char *const[]){NULL}); /* the person who agrees allows it */
    assert_false(fplt__policy_is_given(settings) || fplt__policy_has_budget(settings));
    assert_true(fplt__policy_allows_word(settings, "facts"));
    fplt_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_of_a_custom_cost),
        cmocka_unit_test(each_line_rejects),
        cmocka_unit_test(other_proposals),
        cmocka_unit_test(a_person_is_asked_without_a_policy),
        cmocka_unit_test(the_plan_is_judged_too),
        cmocka_unit_test(words_are_checked),
        cmocka_unit_test(the_policy_in_one_line),
        cmocka_unit_test(what_a_policy_allows),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
