/* Who the other sites are: pins, those that were met before, and what known-peers keeps. */
#include "federating.h"

#include "fedplt/key.h"
#include "fedplt/settings.h"
#include "federation/agent/peers.h"

enum { KEY = 32, MEMBERS = 3 };

static char folder[300];
static char roster[MEMBERS][FPLT__NAME] = {"basel", "bern", "geneva"};
static uint8_t identities[MEMBERS * KEY];
static fplt__agreement agreement;

static int set_up(void **state)
{
    (void)state;
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fedplt-peers-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof identities; i++)
        identities[i] = (uint8_t)(3 * i + 1);
    agreement = (fplt__agreement){
        .proposal = {.members = MEMBERS, .roster = roster, .secure = 1, .colluders = 1},
        .identities = identities};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[400];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* `name=ed25519:...`, as a setting of pairs is kept. */
static void add_pin(char *text, size_t size, const char *name, const uint8_t *key)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s=ed25519:", used ? "," : "", name);
    for (size_t i = 0; i < KEY; i++)
        snprintf(text + strlen(text), size - strlen(text), "%02x", key[i]);
}

static fplt_settings *settings_with(const char *peers)
{
    fplt_settings *settings;
    fplt_error error;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_federation_site_declare(settings, &error), error);
    if (peers)
        assert_ok(fplt_settings_set(settings, "peers", peers, "site.yaml", &error), error);
    return settings;
}

static fplt_status meet(const char *peers, uint32_t self, int *verified, fplt_error *error)
{
    fplt_settings *settings = settings_with(peers);
    fplt_status status = fplt__peers_meet(settings, folder, &agreement, self,
                                          identities + self * KEY, verified, error);
    fplt_settings_destroy(settings);
    return status;
}

static void the_first_meeting_is_kept(void **state)
{
    (void)state;
    int verified = 1;
    fplt_error error;
    char *text;
    assert_ok(meet(NULL, 0, &verified, &error), error);
    assert_int_equal(verified, 0);
    assert_ok(meet(NULL, 0, &verified, &error), error); /* the same again */
    text = federating_read(folder, "known-peers");
    assert_non_null(text);
    for (size_t i = 0; i < MEMBERS; i++) {
        char line[200] = "";
        add_pin(line, sizeof line, roster[i], identities + i * KEY);
        char *sign = strchr(line, '=');
        *sign = 0;
        char wanted[220];
        snprintf(wanted, sizeof wanted, "%s: %s\n", line, sign + 1);
        char *first = strstr(text, wanted);
        assert_non_null(first);
        assert_null(strstr(first + 1, wanted)); /* once */
    }
    free(text);
    /* another key of a peer is refused by its name, and the own by the key at hand */
    identities[KEY] ^= 1;
    assert_int_equal(meet(NULL, 0, &verified, &error), FPLT_FAILED);
    assert_contains(error.text, "bern is known as");
    assert_contains(error.text, "take its line out of known-peers");
    identities[KEY] ^= 1;
    identities[2 * KEY + 31] ^= 1; /* the last octet counts too */
    assert_int_equal(meet(NULL, 0, &verified, &error), FPLT_FAILED);
    assert_contains(error.text, "geneva is known as");
    identities[2 * KEY + 31] ^= 1;
    fplt_settings *settings = settings_with(NULL);
    uint8_t other[KEY] = {9};
    assert_int_equal(fplt__peers_meet(settings, folder, &agreement, 0, other, &verified, &error),
                     FPLT_FAILED);
    assert_contains(error.text, "another identity for basel");
    fplt_settings_destroy(settings);
}

static void who_left_the_roster_stays_known(void **state)
{
    (void)state;
    int verified;
    fplt_error error;
    assert_ok(meet(NULL, 0, &verified, &error), error);
    agreement.proposal.members = 2; /* geneva leaves */
    assert_ok(meet(NULL, 0, &verified, &error), error);
    char *text = federating_read(folder, "known-peers");
    assert_non_null(text);
    char *behind = strstr(text, "# not on the last roster\n");
    assert_non_null(behind);
    assert_contains(behind, "\ngeneva: ed25519:");
    assert_null(strstr(behind, "bern"));
    assert_null(strstr(behind, "\n\n"));
    free(text);
    agreement.proposal.members = MEMBERS; /* and comes again with another key */
    identities[2 * KEY] ^= 1;
    assert_int_equal(meet(NULL, 0, &verified, &error), FPLT_FAILED);
    assert_contains(error.text, "geneva is known as");
}

static void pins_decide_alone(void **state)
{
    (void)state;
    int verified = 0;
    char peers[600] = "", fewer[400] = "", wrong[600] = "";
    fplt_error error;
    fplt__buffer said = {NULL, 0, 0, FPLT_OK};
    for (size_t i = 1; i < MEMBERS; i++)
        add_pin(peers, sizeof peers, roster[i], identities + i * KEY);
    add_pin(fewer, sizeof fewer, roster[1], identities + KEY);
    add_pin(wrong, sizeof wrong, roster[1], identities);
    add_pin(wrong, sizeof wrong, roster[2], identities + (size_t)2 * KEY);
    assert_ok(meet(peers, 0, &verified, &error), error);
    assert_int_equal(verified, 1);
    assert_int_equal(meet(fewer, 0, &verified, &error), FPLT_FAILED);
    assert_contains(error.text, "peers does not name geneva");
    assert_int_equal(meet(wrong, 0, &verified, &error), FPLT_FAILED);
    assert_contains(error.text, "bern is pinned as");
    /* pins beside those that were met */
    fplt_settings *settings = settings_with(peers);
    assert_ok(fplt__peers_check(settings, &error), error);
    assert_ok(fplt__peers_compare(settings, folder, "basel", identities, &said, &error), error);
    assert_string_equal(said.text, "peers: 2 pinned, of whom 2 are as met before and none differs");
    fplt__buffer_clear(&said);
    fplt_settings_destroy(settings);
    settings = settings_with(wrong);
    assert_int_equal(fplt__peers_compare(settings, folder, "basel", identities, &said, &error),
                     FPLT_FAILED);
    assert_contains(error.text, "peers: bern is pinned as");
    fplt_settings_destroy(settings);
    /* the own line is compared with the own key */
    wrong[0] = 0;
    add_pin(wrong, sizeof wrong, "basel", identities + KEY);
    settings = settings_with(wrong);
    assert_int_equal(fplt__peers_compare(settings, folder, "basel", identities, &said, &error),
                     FPLT_FAILED);
    assert_contains(error.text, "but identity.key has");
    fplt_settings_destroy(settings);
    settings = settings_with("bern=ed25519:12");
    assert_int_equal(fplt__peers_check(settings, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "peers: bern is 'ed25519:12'");
    fplt_settings_destroy(settings);
}

/* What the policy says about a proposal's aggregation. */
static void the_policy_judges_sums(void **state)
{
    (void)state;
    fplt_error error;
    fplt__proposal proposal = agreement.proposal;
    fplt_settings *settings = settings_with(NULL);
    assert_ok(fplt_settings_set(settings, "policy.aggregate", "secure", "site.yaml", &error),
              error);
    assert_ok(fplt__peers_judge(settings, &proposal, &error), error);
    proposal.secure = 0;
    assert_int_equal(fplt__peers_judge(settings, &proposal, &error), FPLT_FAILED);
    assert_contains(error.text, "policy.aggregate");
    proposal.secure = 1;
    assert_ok(fplt_settings_set(settings, "policy.colluders", "2", "site.yaml", &error), error);
    assert_int_equal(fplt__peers_judge(settings, &proposal, &error), FPLT_FAILED);
    assert_contains(error.text, "policy.colluders");
    assert_ok(fplt_settings_set(settings, "policy.colluders", "1", "site.yaml", &error), error);
    assert_ok(fplt_settings_set(settings, "policy.peers", "verified", "site.yaml", &error), error);
    assert_int_equal(fplt__peers_judge(settings, &proposal, &error), FPLT_FAILED);
    assert_contains(error.text, "site.yaml has no peers");
    proposal.colluders = 2; /* one honest member is none */
    assert_int_equal(fplt__peers_judge(settings, &proposal, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "a sum must have at least 2 honest members");
    fplt_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_meeting_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_left_the_roster_stays_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pins_decide_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_policy_judges_sums, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
