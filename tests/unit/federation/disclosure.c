/* Disclosure rules of a site, one proposal at a time, and numbers of the coordinator that no honest one sends. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "base/memory.h"
#include "federation/agent/agent.h"
#include "federation/agent/policy.h"
#include "fedplt/algorithm.h"

static char roster[2][FPLT__NAME] = {"basel", "bern"};

static fplt_settings *site_of(const char *const (*words)[2])
{
    fplt_settings *site;
    fplt_error error;
    assert_ok(fplt_settings_create(&site, &error), error);
    assert_ok(fplt_federation_site_declare(site, &error), error);
    assert_ok(fplt_settings_set(site, "policy.federations", "heart", "test", &error), error);
    for (; words && (*words)[0]; words++)
        assert_ok(fplt_settings_set(site, (*words)[0], (*words)[1], "test", &error), error);
    return site;
}

static const char *const budget[][2] = {{"policy.epsilon", "2"}, {NULL, NULL}};
static const char *const off[][2] = {{"policy.epsilon", "off"}, {NULL, NULL}};

/* A proposal with one setting of `train` and one of `privacy`; NULL: none. */
static fplt_status judge(const char *const (*words)[2], const char *name, const char *value,
                         const char *promise, const char *size, fplt_error *error)
{
    fplt__pair setting = {(char *)name, (char *)value}, privacy = {(char *)promise, (char *)size};
    fplt__proposal proposal = {.federation = "heart",
                               .run = 1,
                               .members = 2,
                               .roster = roster,
                               .settings = name != NULL,
                               .setting = &setting,
                               .privacies = promise != NULL,
                               .privacy = &privacy};
    fplt_settings *site = site_of(words);
    error->text[0] = 0;
    fplt_status status = fplt__disclosure_judge(site, &proposal, error);
    fplt_settings_destroy(site);
    return status;
}

static void every_solver_by_its_trait(void **state)
{
    (void)state;
    static const char *const lax[][2] = {
        {"policy.epsilon", "off"}, {"policy.disclosure", "off"}, {NULL, NULL}};
    const fplt_solver *solver;
    fplt_error error;
    int stochastic = 0;
    for (size_t i = 0; (solver = fplt_solver_list(i)); i++) {
        int chosen = (solver->traits & FPLT_STOCHASTIC) != 0;
        fplt_status status = judge(off, "solver", solver->name, NULL, NULL, &error);
        stochastic += chosen;
        assert_int_equal(status, chosen ? FPLT_FAILED : FPLT_OK);
        assert_int_equal(chosen, strstr(error.text, "trains on chosen rows") != NULL);
        assert_int_equal(judge(lax, "solver", solver->name, NULL, NULL, &error), FPLT_OK);
    }
    assert_int_equal(stochastic, 3);
}

static void numbers_that_shape_answers(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "radius", "clip",     "huber-delta",      "predictor-bound", "rho",    "first-step", "mu",
        "eta",    "h-weight", "h-weight2",        "h-low",           "h-high", "h-radius",   "beta",
        "p",      "chi",      "coordinator-step", "penalty"};
    static const char *const harmless[] = {"eps",    "seed", "rounds",  "tolerance", "epochs",
                                           "memory", "rank", "h-group", "gamma",     "holdout"};
    static const char *const research[][2] = {
        {"policy.epsilon", "off"}, {"policy.disclosure", "research"}, {NULL, NULL}};
    static const char *const approving[][2] = {
        {"policy.epsilon", "off"}, {"policy.approved", "rho=0.5,clip=2"}, {NULL, NULL}};
    fplt_error error;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_true(fplt__disclosure_needs_approval(refused[i]));
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        assert_false(fplt__disclosure_needs_approval(harmless[i]));
    assert_int_equal(judge(off, "rho", "auto", NULL, NULL, &error), FPLT_OK);
    assert_int_equal(judge(off, "rho", "0.5", NULL, NULL, &error), FPLT_FAILED);
    assert_int_equal(judge(off, "radius", "630", NULL, NULL, &error), FPLT_FAILED);
    assert_contains(error.text, "sets radius to 630");
    assert_int_equal(judge(off, "h-weight", "0.04", NULL, NULL, &error), FPLT_FAILED);
    assert_int_equal(judge(off, "h-weight", "1.0", NULL, NULL, &error), FPLT_OK); /* its default */
    assert_int_equal(judge(off, "clip", "0", NULL, NULL, &error), FPLT_OK);
    assert_int_equal(judge(off, "clip", "2", NULL, NULL, &error), FPLT_FAILED);
    assert_int_equal(judge(research, "clip", "2", NULL, NULL, &error), FPLT_OK);
    assert_int_equal(judge(approving, "clip", "2.0", NULL, NULL, &error), FPLT_OK);
    assert_int_equal(judge(approving, "clip", "2.1", NULL, NULL, &error), FPLT_FAILED);
    assert_int_equal(judge(budget, "clip", "2", "epsilon", "1", &error), FPLT_OK);
}

/* Rules stop to apply only where the site has a budget for noise that nobody can take away again. */
static void privacy_that_protects(void **state)
{
    (void)state;
    static const struct {
        const char *const (*site)[2];
        const char *name, *value;
        int private;
    } cases[] = {{budget, "epsilon", "1", 1},
                 {budget, "noise", "simulated", 0},
                 {budget, NULL, NULL, 0},
                 {off, "epsilon", "1", 0},
                 {off, NULL, NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt__pair privacy = {(char *)cases[i].name, (char *)cases[i].value};
        fplt__proposal proposal = {.privacies = cases[i].name != NULL, .privacy = &privacy};
        fplt_settings *site = site_of(cases[i].site);
        assert_int_equal(fplt__policy_is_private(site, &proposal), cases[i].private);
        fplt_settings_destroy(site);
    }
}

static void coordinator_is_trusted(void **state)
{
    (void)state;
    static const char *const untrusted[][2] = {
        {"policy.epsilon", "off"}, {"policy.coordinator", "untrusted"}, {NULL, NULL}};
    fplt_error error;
    assert_int_equal(judge(off, "rounds", "3", NULL, NULL, &error), FPLT_OK);
    assert_int_equal(judge(untrusted, "rounds", "3", NULL, NULL, &error), FPLT_FAILED);
    assert_non_null(strstr(error.text, "policy.coordinator: is untrusted"));
    assert_int_equal(judge(untrusted, "rounds", "3", "noise", "simulated", &error), FPLT_FAILED);
    assert_int_equal(judge(untrusted, "rounds", "3", "epsilon", "1", &error), FPLT_OK);
}

static void rows_for_hessians(void **state)
{
    (void)state;
    static const char *const all[][2] = {
        {"policy.epsilon", "off"}, {"policy.allow", "facts,information"}, {NULL, NULL}};
    static const char *const lax[][2] = {
        {"policy.epsilon", "off"}, {"policy.disclosure", "off"}, {NULL, NULL}};
    static const char *const few[][2] = {
        {"policy.epsilon", "off"}, {"policy.allow", "facts"}, {NULL, NULL}};
    static const struct {
        const char *const (*site)[2];
        uint64_t records;
        double left;
        fplt__hessian_word word;
        int informs;
        const char *reason;
    } cases[] = {{few, 1000, INFINITY, FPLT__HESSIAN_NO, 0,
                  "policy.allow does not have `information`"},
                 {off, 1000, INFINITY, FPLT__HESSIAN_YES, 1, ""},
                 {all, 14, INFINITY, FPLT__HESSIAN_NO, 0, "14 rows"}, /* 5 parameters */
                 {all, 15, INFINITY, FPLT__HESSIAN_YES, 1, ""},
                 {all, 15, 150, FPLT__HESSIAN_YES, 1, ""}, /* ten Hessians of 15 numbers */
                 {all, 15, 149, FPLT__HESSIAN_NO, 1, "leave 149 numbers"},
                 {all, 15, 29, FPLT__HESSIAN_NO, 0, "leave 29 numbers"},
                 {lax, 1, INFINITY, FPLT__HESSIAN_YES, 1, ""}};
    fplt__pair setting[] = {{(char *)"intercept", (char *)"yes"},
                            {(char *)"loss", (char *)"logistic"}};
    fplt__proposal proposal = {
        .federation = "heart", .members = 2, .roster = roster, .settings = 2, .setting = setting};
    fplt__form form = {.task = FPLT_TASK_BINARY, .features = 4, .outputs = 2, .dense = 1};
    fplt__hessian_rule rule;
    fplt_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_settings *site = site_of(cases[i].site);
        assert_ok(fplt__disclosure_hessian(site, &proposal, &form, cases[i].records, cases[i].left,
                                           &rule, &error),
                  error);
        assert_int_equal(rule.word, cases[i].word);
        assert_int_equal(rule.informs, cases[i].informs);
        assert_non_null(strstr(rule.reason, cases[i].reason));
        for (size_t k = 0; fplt_algorithm_list(k); k++) {
            const fplt_algorithm *algorithm = fplt_algorithm_list(k);
            int sends = strstr(algorithm->name, "newton") || strcmp(algorithm->name, "fednl") == 0;
            assert_int_equal(fplt__disclosure_judge_algorithm(&rule, algorithm, &error),
                             sends && cases[i].word == FPLT__HESSIAN_NO ? FPLT_FAILED : FPLT_OK);
        }
        fplt_settings_destroy(site);
    }
}

static void steps_of_a_plan(void **state)
{
    (void)state;
    const double smoothness = 4;
    static const struct {
        const char *gamma;
        double common;
        int legal;
    } cases[] = {{"auto", 0, 1},   {"0.5", 0, 1},    {"0.51", 0, 0},
                 {"auto", 0.5, 1}, {"auto", 0.6, 0}, {"1e300", 0, 0}};
    fplt_settings *site = site_of(off);
    fplt_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt__pair setting = {(char *)"gamma", (char *)cases[i].gamma};
        fplt__agreement agreement = {.proposal = {.settings = 1, .setting = &setting},
                                     .plan = {.step = cases[i].common}};
        assert_int_equal(fplt__disclosure_judge_step(site, &agreement, smoothness, &error),
                         cases[i].legal ? FPLT_OK : FPLT_FAILED);
    }
    fplt_settings_destroy(site);
}

/* policy.approved names settings that need approval, with a number each. */
static void approvals_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *approved, *sentence;
    } cases[] = {{"rho=0.5", NULL},
                 {"clip=2,radius=1", NULL},
                 {"rounds=3", "policy.approved names 'rounds', which is no setting that needs"},
                 {"rho=0.5,seed=1", "policy.approved names 'seed'"},
                 {"rho=much", "policy.approved"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const words[][2] = {{"policy.approved", cases[i].approved}, {NULL, NULL}};
        fplt_error error = {FPLT_OK, ""};
        fplt_settings *site = site_of(words);
        fplt_status status = fplt__disclosure_check(site, &error);
        assert_int_equal(status, cases[i].sentence ? FPLT_BAD_VALUE : FPLT_OK);
        assert_contains(error.text, cases[i].sentence ? cases[i].sentence : "");
        fplt_settings_destroy(site);
    }
}

/* Facts */

struct told {
    char word[40], sentence[400];
};

static void tell(void *context, const fplt_federation_event *event)
{
    struct told *told = context;
    snprintf(told->word, sizeof told->word, "%s", event->word);
    snprintf(told->sentence, sizeof told->sentence, "%s", event->sentence);
}

/* Members and records come as doubles: a NaN or a negative one must not be cast to an integer. */
static void counts_that_cannot_be(void **state)
{
    (void)state;
    static const double wrong[][2] = {{NAN, 20}, {2, NAN},  {-1, 20},           {2, -20},
                                      {0, 20},   {2, 0},    {4294967296.0, 20}, {2, 1e300},
                                      {2.5, 20}, {2, 20.5}, {INFINITY, 20},     {2, -INFINITY}};
    static const char rows[] = "a,label\n1,1\n2,-1\n3,1\n4,-1\n5,1\n6,-1\n7,1\n8,-1\n9,1\n10,-1\n";
    struct told told;
    fplt_federation_watch watch = {.size = sizeof watch, .context = &told, .tell = tell};
    fplt__proposal proposal = {.federation = "heart", .members = 2, .roster = roster};
    fplt__site_settings machine = {.once = 1};
    fplt_error error;
    char path[] = "/tmp/fedplt-facts-XXXXXX.csv";
    int file = mkstemps(path, 4);
    assert_true(file >= 0 && write(file, rows, sizeof rows - 1) == sizeof rows - 1);
    close(file);
    fplt_settings *site = site_of(off);
    assert_ok(fplt_settings_set(site, "data", path, "test", &error), error);
    assert_ok(fplt_settings_set(site, "policy.disclosure", "off", "test", &error), error);
    fplt__agent agent = {.settings = site, .watch = &watch, .facts = 1u << FPLT__FACTS_CURVATURE};
    assert_ok(fplt__site_create(&machine, &agent.site, &error), error);
    char *names, *document;
    assert_ok(fplt__proposal_text(&proposal, &document, &error), error);
    agent.material_of = fplt__document_hash(document, strlen(document));
    fplt__local_source from = {0, NULL};
    assert_ok(fplt__local_data_create(site, &proposal, &from, &agent.material, agent.abroad,
                                      &error),
              error);
    assert_ok(fplt__local_data_names(agent.material, &names, &error), error);
    assert_ok(fplt__local_data_settle(agent.material, names, agent.abroad, &error), error);
    fplt__site_action action = {.step = FPLT__FACTS_CURVATURE,
                                .document = document,
                                .document_size = strlen(document),
                                .hash = agent.material_of,
                                .records = 10,
                                .count = 2};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        action.down = wrong[i];
        memset(&told, 0, sizeof told);
        fplt__agent_gather(&agent, &action);
        assert_string_equal(told.word, "refused");
        assert_non_null(strstr(told.sentence, "asks for facts wrongly"));
        assert_int_equal(fplt__local_data_dimension(agent.material), 0); /* nothing was computed */
    }
    static const double right[] = {2, 20};
    action.down = right;
    memset(&told, 0, sizeof told);
    fplt__agent_gather(&agent, &action);
    assert_string_equal(told.word, "");
    fplt__free(names);
    fplt__free(document);
    fplt__local_data_destroy(agent.material);
    fplt__site_destroy(agent.site);
    fplt_settings_destroy(site);
    unlink(path);
}

/* The coordinator chooses the number by which an agent finds its rate, noise and records in a plan: another than that of
 * its own name is refused before anything is read. */
static void another_place_in_the_roster(void **state)
{
    (void)state;
    struct told told = {.word = ""};
    fplt_federation_watch watch = {.size = sizeof watch, .context = &told, .tell = tell};
    fplt__proposal proposal = {.federation = "heart", .members = 2, .roster = roster};
    fplt__site_settings machine = {.once = 1};
    fplt_error error;
    fplt_settings *site = site_of(off);
    fplt__agent agent = {.settings = site, .watch = &watch};
    snprintf(agent.self.name, sizeof agent.self.name, "%s", roster[1]);
    assert_ok(fplt__site_create(&machine, &agent.site, &error), error); /* its number is 0 */
    char *document;
    assert_ok(fplt__proposal_text(&proposal, &document, &error), error);
    fplt__site_action action = {.document = document,
                                .document_size = strlen(document),
                                .hash = fplt__document_hash(document, strlen(document))};
    fplt__agent_ask(&agent, &action);
    assert_string_equal(told.word, "refused");
    assert_non_null(strstr(told.sentence, "is number 0 of the roster, but its proposal has"));
    assert_null(agent.material);
    fplt__free(document);
    fplt__site_destroy(agent.site);
    fplt_settings_destroy(site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_solver_by_its_trait),   cmocka_unit_test(numbers_that_shape_answers),
        cmocka_unit_test(privacy_that_protects),       cmocka_unit_test(coordinator_is_trusted),
        cmocka_unit_test(rows_for_hessians),           cmocka_unit_test(steps_of_a_plan),
        cmocka_unit_test(approvals_are_checked),       cmocka_unit_test(counts_that_cannot_be),
        cmocka_unit_test(another_place_in_the_roster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
