/* Runs that follow from another: who may be excluded when, what is left of a private promise, and what a coordinator that
 * starts again reads of it. */
#include "federating.h"

#include "federation/coordinator/coordinator.h"
#include "fedplt/ledger.h"

enum { MEMBERS = 3, ROUNDS = 100 };

static char folder[300];
static fplt__leader_store *store;

#define NONE "0000000000000000000000000000000000000000000000000000000000000000"

static int begin(void **state)
{
    const char *place = getenv("TMPDIR");
    fplt_error error;
    (void)state;
    snprintf(folder, sizeof folder, "%s/fedplt-succession-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(fplt__coordinator_open_offline(folder, &store, &error), FPLT_IO);
    assert_contains(error.text, "/federation.db is not there: no run was begun in this folder");
    federating_write(folder, "federation.db", "%s", "");
    assert_ok(fplt__coordinator_open_offline(folder, &store, &error), error);
    return 0;
}

static int end(void **state)
{
    char command[400];
    (void)state;
    fplt__leader_store_close(store);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
    return 0;
}

/* --- runs in the store --- */

static char *proposal_of(uint32_t run, const char *roster, const char *privacy)
{
    static char text[1000];
    snprintf(text, sizeof text,
             "{\"authority\":\"" NONE "\",\"columns\":3,\"federation\":\"heart\",\"nonce\":"
             "\"00000000000000000000000000000000\",\"privacy\":%s,\"protocol\":1,\"quorum\":0,"
             "\"roster\":%s,\"run\":%u,\"schema\":null,\"settings\":{\"algorithm\":\"fed-plt\"}}",
             privacy, roster, run);
    return text;
}

static char *plan_of(uint32_t run, const char *roster, const char *privacy, const char *rates)
{
    static char text[3000];
    snprintf(text, sizeof text,
             "{\"continues\":\"" NONE "\",\"curvature\":[\"0x1p-7\",\"0x1p+1\"],\"kernel\":"
             "\"reference\",\"plan\":{\"algorithm\":\"fed-plt\",\"dimension\":4,\"parameters\":"
             "[\"0x1p-4\"],\"run\":0,\"seed\":\"7\",\"step\":\"0x0p+0\"},\"privacy\":%s,"
             "\"proposal\":%s,\"records\":[10,20,30],\"resolved\":{},\"rules\":{\"at-mean\":false,"
             "\"change\":\"0x0p+0\",\"evaluate-every\":0,\"quorum\":0,\"relative\":false,"
             "\"rounds\":%d,\"score\":false,\"tolerance\":\"0x0p+0\"},\"scale\":[],\"shift\":[],"
             "\"start\":\"" NONE "\"}",
             rates, proposal_of(run, roster, privacy), ROUNDS);
    return text;
}

static const char roster[] = "[\"basel\",\"bern\",\"chur\"]";

static void keep(uint32_t run, fplt__leader_state state, const char *document, int has_hub,
                 uint64_t round, const fplt__member_row *rows)
{
    fplt_error error;
    static const fplt__member_row fresh[MEMBERS];
    static const uint8_t hub[] = {1, 2, 3};
    fplt__leader_record record = {.state = state,
                                  .document = document,
                                  .document_size = strlen(document),
                                  .document_changed = 1,
                                  .round = round,
                                  .members = MEMBERS,
                                  .member = rows ? rows : fresh,
                                  .hub = has_hub ? hub : NULL,
                                  .hub_size = has_hub ? sizeof hub : 0,
                                  .hub_changed = has_hub};
    assert_ok(fplt__leader_store_save(store, run, &record, &error), error);
}

struct followed {
    size_t count;
    fplt__succession last;
};

static void see(void *context, const fplt__succession *next)
{
    struct followed *found = context;
    found->count++;
    found->last = *next;
}

static struct followed followed(void)
{
    struct followed found = {.count = 0};
    fplt_error error;
    assert_ok(fplt__leader_store_successions(store, 0, see, &found, &error), error);
    return found;
}

static void assert_excluded(uint32_t run, const char *name, const char *words)
{
    char sentence[FPLT__SENTENCE];
    fplt_error error;
    size_t before = followed().count;
    assert_ok(fplt__coordinator_exclude(store, run, name, sentence, &error), error);
    assert_string_equal(sentence, words);
    assert_int_equal(followed().count, before + 1);
    assert_string_equal(followed().last.name, name);
}

static void assert_refused(uint32_t run, const char *name, fplt_status status, const char *words)
{
    char sentence[FPLT__SENTENCE];
    fplt_error error;
    size_t before = followed().count;
    assert_int_equal(fplt__coordinator_exclude(store, run, name, sentence, &error), status);
    assert_contains(error.text, words);
    assert_int_equal(followed().count, before);
}

/* --- exclusions --- */

/* Before the first round the run keeps its number, whether it has a plan, only a proposal, or was refused. */
static void before_the_first_round(void **state)
{
    (void)state;
    static const struct {
        fplt__leader_state state;
        int is_planned;
    } runs[] = {{FPLT__FORMING, 0}, {FPLT__PLANNED, 1}, {FPLT__ENDED, 0}};
    for (size_t k = 0; k < 3; k++) {
        keep(1, runs[k].state,
             runs[k].is_planned ? plan_of(1, roster, "{}", "null") : proposal_of(1, roster, "{}"),
             0, 0, NULL);
        assert_refused(1, "zug", FPLT_BAD_VALUE, "'zug' is not on the roster of run 1");
        assert_refused(1, "Z g", FPLT_BAD_VALUE, "the member:");
        assert_excluded(1, "bern",
                        "bern was excluded before the first round; run 1 is proposed again "
                        "without it");
        fplt__succession next = followed().last;
        assert_int_equal(next.base, 1);
        assert_int_equal(next.run, 1);
        assert_false(next.continued || *next.epsilon || *next.rounds);
    }
}

static void the_only_member_stays(void **state)
{
    (void)state;
    keep(1, FPLT__FORMING, proposal_of(1, "[\"bern\"]", "{}"), 0, 0, NULL);
    assert_refused(1, "bern", FPLT_BAD_VALUE, "bern is the only member of run 1");
    keep(1, FPLT__FORMING, proposal_of(1, "[\"basel\",\"bern\"]", "{}"), 0, 0, NULL);
    assert_excluded(1, "bern",
                    "bern was excluded before the first round; run 1 is proposed again without it");
}

/* After a round the next number begins at the last model, also where the run has ended; a finished run stays as it is. */
static void after_the_first_round(void **state)
{
    (void)state;
    static const fplt__leader_state states[] = {FPLT__ROUND, FPLT__REPAIR, FPLT__HALTED,
                                                FPLT__ENDED};
    for (size_t k = 0; k < 4; k++) {
        keep(4, states[k], plan_of(4, roster, "{}", "null"), 1, 7, NULL);
        assert_refused(4, "zug", FPLT_BAD_VALUE, "'zug' is not on the roster of run 4");
        assert_excluded(4, "chur",
                        "chur was excluded from run 4 after 7 rounds; run 5 begins at the last "
                        "model without it");
        fplt__succession next = followed().last;
        assert_int_equal(next.base, 4);
        assert_int_equal(next.run, 5);
        assert_true(next.continued && !*next.epsilon && !*next.rounds);
    }
    keep(4, FPLT__DONE, plan_of(4, roster, "{}", "null"), 1, 7, NULL);
    assert_refused(4, "chur", FPLT_BAD_VALUE,
                   "run 4 is finished; take chur off the roster and raise `run` for the next");
    /* the run that followed is of the settings of run 4 */
    keep(5, FPLT__ROUND, plan_of(5, roster, "{}", "null"), 1, 2, NULL);
    assert_excluded(5, "bern",
                    "bern was excluded from run 5 after 2 rounds; run 6 begins at the last model "
                    "without it");
    assert_int_equal(followed().last.base, 4);
    assert_int_equal(followed().last.run, 6);
}

/* --- what is left of a promise --- */

static const char rates[] = "{\"cap\":105,\"rate\":[\"0x1p-8\",\"0x1p-7\",\"0x1p-6\"],\"tau\":"
                            "[\"0x1p-1\",\"0x1p-2\",\"0x1p-2\"]}";

static double epsilon_of(double rate, double delta)
{
    double found;
    fplt_error error;
    assert_ok(fplt_ledger_epsilon(rate, delta, &found, &error), error);
    return found;
}

/* The rate of an epsilon, by halving: the conversion grows with the rate. */
static double rate_of(double epsilon, double delta)
{
    double low = 0, high = 64;
    for (int k = 0; k < 100; k++) {
        double middle = (low + high) / 2;
        *(epsilon_of(middle, delta) < epsilon ? &low : &high) = middle;
    }
    return low;
}

/* The rate that basel or bern can have spent: chur, whose rate is the highest, is the one that leaves. The open round counts,
 * and updates that arrived count where the member says that it charged fewer. */
static void the_rest_of_a_promise(void **state)
{
    (void)state;
    static const struct {
        const char *privacy;
        double delta;
        uint64_t seen[2], charges[2];
        double spent;
    } runs[] = {{"{\"epsilon\":\"3\"}", 1e-5, {10, 10}, {10, 11}, 12.0 / 128},
                {"{\"epsilon\":\"3\"}", 1e-5, {10, 14}, {10, 11}, 15.0 / 128},
                {"{\"epsilon\":\"3\"}", 1e-5, {10, 1}, {30, 2}, 31.0 / 256},
                {"{\"delta\":\"1e-6\",\"epsilon\":\"3\"}", 1e-6, {10, 10}, {10, 10}, 11.0 / 128}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        char sentence[FPLT__SENTENCE];
        double left;
        fplt_error error;
        const fplt__member_row rows[MEMBERS] = {
            {.seen = runs[k].seen[0], .charges = runs[k].charges[0]},
            {.seen = runs[k].seen[1], .charges = runs[k].charges[1]},
            {.seen = 90, .charges = 90}};
        keep(1, FPLT__ROUND, plan_of(1, roster, runs[k].privacy, rates), 1, 12, rows);
        assert_ok(fplt__coordinator_exclude(store, 1, "chur", sentence, &error), error);
        fplt__succession next = followed().last;
        assert_string_equal(next.rounds, "88");
        assert_int_equal(sscanf(next.epsilon, "%lf", &left), 1);
        double whole = epsilon_of(rate_of(left, runs[k].delta) + runs[k].spent, runs[k].delta);
        if (!(whole <= 3 && whole > 3 * (1 - 1e-4)))
            fail_msg("%zu: %s are left, together %.9g", k, next.epsilon, whole);
        assert_contains(sentence, "run 2 begins at the last model without it, for 88 rounds and "
                                  "epsilon ");
        assert_contains(sentence, next.epsilon);
    }
}

static void little_is_left_of_a_promise(void **state)
{
    (void)state;
    char sentence[FPLT__SENTENCE];
    double left;
    fplt_error error;
    uint64_t whole = (uint64_t)(rate_of(3, 1e-5) * 128); /* rounds of bern that the promise has */
    fplt__member_row rows[MEMBERS] = {{.seen = 1}, {.charges = whole - 1}, {.seen = 1}};
    const char *plan = plan_of(1, roster, "{\"epsilon\":\"3\"}", rates);
    keep(1, FPLT__ROUND, plan, 1, 12, rows);
    assert_ok(fplt__coordinator_exclude(store, 1, "chur", sentence, &error), error);
    assert_int_equal(sscanf(followed().last.epsilon, "%lf", &left), 1);
    assert_true(left > 0 && left < 1);
    rows[1].charges++;
    keep(1, FPLT__ROUND, plan, 1, 12, rows);
    assert_refused(1, "chur", FPLT_UNREACHABLE, "no privacy budget is left");
}

static void nothing_is_left_of_a_promise(void **state)
{
    (void)state;
    fplt__member_row rows[MEMBERS] = {{.seen = 10}, {.seen = 10}, {.seen = 10}};
    const char *plan = plan_of(1, roster, "{\"epsilon\":\"3\"}", rates);
    keep(1, FPLT__ROUND, plan, 1, ROUNDS, rows);
    assert_refused(1, "chur", FPLT_UNREACHABLE, "no round is left for another private run");
    keep(1, FPLT__ROUND, plan, 1, ROUNDS - 1, rows);
    char sentence[FPLT__SENTENCE];
    fplt_error error;
    assert_ok(fplt__coordinator_exclude(store, 1, "chur", sentence, &error), error);
    assert_string_equal(followed().last.rounds, "1");
    rows[0].charges = 1000000;
    keep(1, FPLT__ROUND, plan, 1, 12, rows);
    assert_refused(1, "chur", FPLT_UNREACHABLE,
                   "no privacy budget is left for another private run: end this one with `fedplt "
                   "federation end`");
    assert_ok(fplt__coordinator_exclude(store, 1, "basel", sentence, &error), error);
    /* where the noise is given, fewer rounds cost less */
    keep(1, FPLT__ROUND, plan_of(1, roster, "{\"noise\":\"0.5\"}", rates), 1, 12, rows);
    assert_ok(fplt__coordinator_exclude(store, 1, "chur", sentence, &error), error);
    assert_string_equal(followed().last.rounds, "88");
    assert_string_equal(followed().last.epsilon, "");
}

/* --- withdrawals --- */

static void rows_are_withdrawn_after_a_run(void **state)
{
    (void)state;
    uint32_t base = 0;
    fplt_error error;
    keep(3, FPLT__ROUND, plan_of(3, roster, "{}", "null"), 1, 7, NULL);
    assert_int_equal(fplt__coordinator_withdraw(store, 3, "bern", &base, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "run 3 has no last model yet");
    keep(2, FPLT__ENDED, proposal_of(2, roster, "{}"), 0, 0, NULL);
    assert_int_equal(fplt__coordinator_withdraw(store, 2, "bern", &base, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "run 2 has no last model yet");
    keep(3, FPLT__DONE, plan_of(3, roster, "{}", "null"), 1, 7, NULL);
    assert_int_equal(fplt__coordinator_withdraw(store, 3, "zug", &base, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "'zug' is not on the roster of run 3");
    assert_int_equal(followed().count, 0);
    for (int again = 0; again < 2; again++) { /* a second withdrawal begins no second run */
        assert_ok(fplt__coordinator_withdraw(store, 3, "bern", &base, &error), error);
        assert_int_equal(base, 3);
        struct followed found = followed();
        assert_int_equal(found.count, 1);
        assert_int_equal(found.last.base, 3);
        assert_int_equal(found.last.run, 4);
        assert_true(found.last.continued && !*found.last.name);
    }
    keep(4, FPLT__ENDED, plan_of(4, roster, "{}", "null"), 1, 3, NULL);
    assert_ok(fplt__coordinator_withdraw(store, 4, "bern", &base, &error), error);
    assert_int_equal(base, 3);
    assert_int_equal(followed().last.run, 5);
}

/* --- what a coordinator reads of it --- */

static void the_settings_of_the_next_run(void **state)
{
    (void)state;
    static const fplt__succession all[] = {
        {.base = 1, .run = 2, .name = "bern", .continued = 1, .epsilon = "2.5", .rounds = "60"},
        {.base = 1, .run = 2, .name = "chur"},
        {.base = 1, .run = 3, .continued = 1},
        {.base = 7, .run = 8, .name = "zug", .continued = 1}};
    static const struct {
        size_t count;
        uint32_t run;
        const char *epsilon, *rounds;
    } wanted[] = {{1, 2, "2.5", "60"}, {2, 2, "2.5", "60"}, {2, 3, "", ""}, {2, 3, "", ""}};
    fplt__coordinator coordinator = {.store = store};
    fplt_settings *settings;
    fplt_error error;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_settings_add(settings, "federation", fplt_federation_lead_table, &error), error);
    coordinator.settings = settings;
    for (size_t k = 0; k < 4; k++) {
        uint32_t ended = all[k].continued ? all[k].run - 1 : all[k].run;
        assert_ok(fplt__leader_store_succeed(store, ended, &all[k], "it was excluded", &error),
                  error);
        assert_ok(fplt__coordinator_read_successions(&coordinator, &error), error);
        const struct fplt__coordinator_exclusion *found = &coordinator.excluded;
        assert_int_equal(found->count, wanted[k].count);
        assert_int_equal(found->run, wanted[k].run);
        assert_true(found->continued);
        assert_string_equal(found->name[0], "bern");
        assert_string_equal(found->name[found->count - 1], k ? "chur" : "bern");
        assert_string_equal(found->epsilon, wanted[k].epsilon);
        assert_string_equal(found->rounds, wanted[k].rounds);
    }
    fplt__coordinator_clear_successions(&coordinator);
    assert_int_equal(coordinator.excluded.count, 0);
    fplt_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(before_the_first_round, begin, end),
        cmocka_unit_test_setup_teardown(the_only_member_stays, begin, end),
        cmocka_unit_test_setup_teardown(after_the_first_round, begin, end),
        cmocka_unit_test_setup_teardown(the_rest_of_a_promise, begin, end),
        cmocka_unit_test_setup_teardown(little_is_left_of_a_promise, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_left_of_a_promise, begin, end),
        cmocka_unit_test_setup_teardown(rows_are_withdrawn_after_a_run, begin, end),
        cmocka_unit_test_setup_teardown(the_settings_of_the_next_run, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
