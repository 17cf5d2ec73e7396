/* Rule `approval` of docs/disclosure.md: a schema, columns or a formula that a proposal states are approved at the site,
 * once, by a digest of all of it and of nothing else. */
#include "federating.h"

#include "base/memory.h"
#include "federation/agent/approval.h"
#include "fedplt/settings.h"

static char folder[300];
static char roster[2][FPLT__NAME] = {"basel", "bern"};
static char schema[] = "{\"columns\":{\"age\":{\"bounds\":\"18..100\",\"type\":\"number\"}}}",
            dictionary[] = "{\"columns\":[],\"positions\":3}";
static fplt__pair formula = {(char *)"formula", (char *)"y ~ age"},
                  rounds = {(char *)"rounds", (char *)"5"};

static int begin(void **state)
{
    const char *place = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof folder, "%s/fedplt-approval-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int end(void **state)
{
    char command[400];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
    return 0;
}

static fplt__proposal proposal_of(char *of_schema, char *of_dictionary, fplt__pair *setting)
{
    return (fplt__proposal){.federation = "heart",
                            .run = 1,
                            .members = 2,
                            .roster = roster,
                            .columns = 1,
                            .schema = of_schema,
                            .dictionary = of_dictionary,
                            .settings = setting != NULL,
                            .setting = setting};
}

static fplt_settings *site_with(const char *name, const char *value)
{
    fplt_settings *site;
    fplt_error error;
    assert_ok(fplt_settings_create(&site, &error), error);
    assert_ok(fplt_federation_site_declare(site, &error), error);
    assert_ok(fplt_settings_set(site, "policy.federations", "heart", "test", &error), error);
    assert_ok(fplt_settings_set(site, "policy.epsilon", "off", "test", &error), error);
    if (name)
        assert_ok(fplt_settings_set(site, name, value, "test", &error), error);
    return site;
}

static fplt_status judge(const char *name, const char *value, const fplt__proposal *proposal,
                         fplt_error *error)
{
    fplt_settings *site = site_with(name, value);
    fplt_status status = fplt__approval_judge(site, folder, proposal, error);
    fplt_settings_destroy(site);
    return status;
}

static int is_same_digest(const fplt__proposal *a, const fplt__proposal *b)
{
    fplt__digest left = fplt__approval_digest(a), right = fplt__approval_digest(b);
    return fplt__same(&left, &right);
}

static void the_digest_is_of_all_that_is_stated(void **state)
{
    (void)state;
    static fplt__pair longer = {(char *)"formula", (char *)"y ~ age + sex"},
                      bounds = {(char *)"missing-bounds", (char *)"age=18..100"},
                      moved = {(char *)"missing-bounds", (char *)"age=18..77"},
                      both[] = {{(char *)"missing-bounds", (char *)"age=18..100"},
                                {(char *)"missing-cells", (char *)"50"}};
    fplt__proposal stated[] = {proposal_of(NULL, NULL, &rounds),
                               proposal_of(schema, NULL, NULL),
                               proposal_of(dictionary, NULL, NULL),
                               proposal_of(NULL, schema, NULL),
                               proposal_of(NULL, dictionary, NULL),
                               proposal_of(schema, dictionary, NULL),
                               proposal_of(NULL, NULL, &formula),
                               proposal_of(NULL, NULL, &longer),
                               proposal_of(schema, NULL, &formula),
                               proposal_of(NULL, dictionary, &formula),
                               proposal_of(NULL, (char *)"y ~ age", NULL),
                               proposal_of(NULL, NULL, &bounds),
                               proposal_of(NULL, NULL, &moved),
                               proposal_of(NULL, NULL, both)};
    stated[13].settings = 2;
    const size_t count = sizeof stated / sizeof *stated;
    fplt__digest none = fplt__approval_digest(&stated[0]);
    assert_true(fplt__is_zero(&none)); /* a setting of the fit states nothing about the data */
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            assert_int_equal(is_same_digest(&stated[i], &stated[k]), i == k);
    /* and of nothing else: one approval holds for later runs */
    fplt__proposal later = proposal_of(schema, NULL, &rounds);
    later.run = 9;
    later.members = 1;
    later.nonce[0] = 1;
    assert_true(is_same_digest(&stated[1], &later));
}

struct person {
    int agrees, asked;
    char digest[80], text[4000];
};

static int agree(void *context, const char *text, const char *digest)
{
    struct person *person = context;
    person->asked++;
    snprintf(person->digest, sizeof person->digest, "%s", digest);
    snprintf(person->text, sizeof person->text, "%s", text);
    return person->agrees;
}

/* The name in the sentence of a refusal. */
static void name_of(const char *sentence, char name[17])
{
    const char *found = strstr(sentence, "agent approve ");
    assert_non_null(found);
    assert_int_equal(sscanf(found, "agent approve %16[0-9a-f]", name), 1);
    assert_int_equal(strlen(name), 16);
}

static void a_person_approves_once(void **state)
{
    (void)state;
    char name[17], digest[FPLT__HEX];
    struct person person = {.agrees = 0};
    fplt_federation_watch watch = {.size = sizeof watch, .context = &person, .agree = agree};
    fplt__proposal first = proposal_of(schema, NULL, &rounds),
                   other = proposal_of(NULL, dictionary, NULL);
    fplt__digest stated = fplt__approval_digest(&first);
    fplt_error error;
    fplt__hex(&stated, sizeof stated, digest);
    assert_int_equal(judge(NULL, NULL, &first, &error), FPLT_FAILED);
    assert_contains(error.text, "the proposal states a schema, which this site has not approved");
    name_of(error.text, name);
    /* nobody, and a person who does not */
    assert_int_equal(fplt_federation_approve(folder, name, NULL, &error), FPLT_FAILED);
    assert_int_equal(fplt_federation_approve(folder, name, &watch, &error), FPLT_FAILED);
    assert_contains(error.text, "nobody approved");
    assert_int_equal(person.asked, 1);
    assert_null(federating_read(folder, "approved.txt"));
    assert_int_equal(judge(NULL, NULL, &first, &error), FPLT_FAILED);
    /* the person sees every column with its bounds, and the digest that is kept */
    assert_string_equal(person.digest, digest);
    assert_contains(person.text, "age");
    assert_contains(person.text, "bounds 18..100, type number");
    assert_contains(person.text, "rounds");
    person.agrees = 1;
    for (int again = 0; again < 2; again++) {
        char line[80], *text;
        assert_ok(fplt_federation_approve(folder, name, &watch, &error), error);
        text = federating_read(folder, "approved.txt");
        snprintf(line, sizeof line, "%s\n", digest);
        assert_string_equal(text, line); /* once */
        free(text);
    }
    struct stat kept;
    char path[400];
    snprintf(path, sizeof path, "%s/approved.txt", folder);
    assert_int_equal(stat(path, &kept), 0);
    assert_int_equal(kept.st_mode & 0777, 0600);
    assert_ok(judge(NULL, NULL, &first, &error), error);
    first.run = 2;
    assert_ok(judge(NULL, NULL, &first, &error), error);
    /* another statement is another approval; the first one stays */
    assert_int_equal(judge(NULL, NULL, &other, &error), FPLT_FAILED);
    assert_contains(error.text, "states columns, classes or levels");
    name_of(error.text, name);
    assert_ok(fplt_federation_approve(folder, name, &watch, &error), error);
    assert_ok(judge(NULL, NULL, &other, &error), error);
    assert_ok(judge(NULL, NULL, &first, &error), error);
    first.setting = &formula;
    assert_int_equal(judge(NULL, NULL, &first, &error), FPLT_FAILED);
}

static void where_nothing_is_to_approve(void **state)
{
    (void)state;
    fplt__pair budget = {(char *)"epsilon", (char *)"1"};
    fplt__proposal proposal = proposal_of(schema, NULL, NULL),
                   nothing = proposal_of(NULL, NULL, &rounds),
                   columns = proposal_of(NULL, dictionary, NULL);
    fplt__digest digest = fplt__approval_digest(&proposal);
    char hex[FPLT__HEX], list[200];
    fplt_error error;
    fplt__hex(&digest, sizeof digest, hex);
    snprintf(list, sizeof list, "%064d,%s", 7, hex);
    assert_ok(judge(NULL, NULL, &nothing, &error), error);
    assert_ok(judge("policy.disclosure", "off", &proposal, &error), error);
    assert_int_equal(judge("policy.disclosure", "research", &proposal, &error), FPLT_FAILED);
    assert_ok(judge("policy.data", list, &proposal, &error), error);
    assert_int_equal(judge("policy.data", list, &columns, &error), FPLT_FAILED);
    /* the site's own schema approves the proposal's, which must be the same, and no columns */
    assert_ok(judge("schema", "columns.yaml", &proposal, &error), error);
    assert_int_equal(judge("schema", "columns.yaml", &columns, &error), FPLT_FAILED);
    /* it does not approve what the proposal makes of them */
    static fplt__pair bounds = {(char *)"missing-bounds", (char *)"age=18..77"};
    fplt__proposal with = proposal_of(schema, NULL, &formula),
                   moved = proposal_of(NULL, NULL, &bounds);
    assert_int_equal(judge("schema", "columns.yaml", &with, &error), FPLT_FAILED);
    assert_contains(error.text, "states a formula");
    assert_int_equal(judge(NULL, NULL, &moved, &error), FPLT_FAILED);
    assert_contains(error.text, "states bounds for missing values");
    /* noise that the site has a budget for */
    proposal.privacies = 1;
    proposal.privacy = &budget;
    assert_ok(judge("policy.epsilon", "2", &proposal, &error), error);
    assert_int_equal(judge(NULL, NULL, &proposal, &error), FPLT_FAILED);
    proposal.privacies = 0;
    assert_int_equal(judge("policy.epsilon", "2", &proposal, &error), FPLT_FAILED);
}

static void what_cannot_be_approved(void **state)
{
    (void)state;
    char *text, path[400];
    struct person person = {.agrees = 1};
    fplt_federation_watch watch = {.size = sizeof watch, .context = &person, .agree = agree};
    fplt__proposal nothing = proposal_of(NULL, NULL, &rounds);
    fplt_error error;
    assert_int_equal(fplt_federation_approve(folder, "0123456789abcdef", &watch, &error),
                     FPLT_BAD_VALUE);
    assert_contains(error.text, "is neither a file nor a proposal in");
    assert_ok(fplt__proposal_text(&nothing, &text, &error), error);
    federating_write(folder, "nothing.json", "%s", text);
    fplt__free(text);
    snprintf(path, sizeof path, "%s/nothing.json", folder);
    assert_int_equal(fplt_federation_approve(folder, path, &watch, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "there is nothing to approve");
    federating_write(folder, "nothing.json", "{}");
    assert_int_equal(fplt_federation_approve(folder, path, &watch, &error), FPLT_BAD_DATA);
    assert_int_equal(person.asked, 0);
    assert_null(federating_read(folder, "approved.txt"));
}

static void digests_in_the_policy(void **state)
{
    (void)state;
    static const char good[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    static const struct {
        const char *text;
        fplt_status status;
    } cases[] = {{good, FPLT_OK},
                 {"00112233445566778899aabbccddeeff", FPLT_BAD_VALUE},
                 {"z0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
                  FPLT_BAD_VALUE},
                 {"age", FPLT_BAD_VALUE}};
    fplt_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int second = 0; second < 2; second++) {
            char list[200];
            snprintf(list, sizeof list, "%s%s%s", second ? good : "", second ? "," : "",
                     cases[i].text);
            fplt_settings *site = site_with("policy.data", list);
            assert_int_equal(fplt__approval_check(site, &error), cases[i].status);
            if (cases[i].status)
                assert_contains(error.text, cases[i].text);
            fplt_settings_destroy(site);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_of_all_that_is_stated),
        cmocka_unit_test_setup_teardown(a_person_approves_once, begin, end),
        cmocka_unit_test_setup_teardown(where_nothing_is_to_approve, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_approved, begin, end),
        cmocka_unit_test(digests_in_the_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
