/* A coordinator whose database is an old copy: what the proofs of its members tell it, and --repair. */
#include "testing.h"

#include "../../simulator/tiny.h"

enum { N = TINY_AGENTS, HOLD = 1000, FUTURE = 5 };

static struct {
    uint64_t now;
    fplt_plan plan;
    fplt__digest hash;
    fplt__leader *leader;
    const fplt__leader_record *record; /* the last committed, borrowed of `leader` */
    uint64_t session[N], sequence[N];
    unsigned status; /* of the last reply */
    int has_proof;
} w;

static const uint8_t receipt_key[32] = {7};

static void perform(void);

static void hand(fplt__leader_event event)
{
    fplt_error error;
    event.now = w.now;
    assert_ok(fplt__leader_handle(w.leader, &event, &error), error);
    perform();
}

static void perform(void)
{
    const fplt__leader_action *action;
    fplt_error error;
    int commits = 0;
    while ((action = fplt__leader_action_take(w.leader))) {
        if (action->kind == FPLT__LEADER_COMMIT) {
            commits = 1;
            w.record = action->record;
        }
        if (action->kind != FPLT__LEADER_REPLY)
            continue;
        fplt__joined joined;
        w.status = action->reply.status;
        w.has_proof = action->reply.has_proof;
        if (action->reply.parts == 1 &&
            !fplt__joined_read(action->reply.part[0].bytes, action->reply.part[0].size, &joined,
                               &error))
            w.session[action->reply.member_index] = joined.session;
    }
    if (commits)
        hand((fplt__leader_event){.kind = FPLT__LEADER_COMMITTED});
}

static void ask(fplt__request_kind kind, uint32_t i, char *text)
{
    fplt__request request = {.kind = kind,
                             .ticket = i + 1,
                             .member_index = i,
                             .session = w.session[i],
                             .sequence = ++w.sequence[i],
                             .body = text,
                             .size = text ? strlen(text) : 0};
    w.status = 0;
    hand((fplt__leader_event){.kind = FPLT__LEADER_REQUEST, .request = request});
    fplt__free(text);
}

/* Member i is at version FUTURE, of which it has a proof or not. */
static void report(uint32_t i, int proves)
{
    fplt_error error;
    char *text;
    fplt__report own = {.plan = w.hash,
                        .version = FUTURE,
                        .chain = {{9}},
                        .has_proof = proves,
                        .proof = {.round = FUTURE, .version = FUTURE, .chain = {{9}}}};
    fplt__proof_sign(&own.proof, &w.hash, i, receipt_key);
    assert_ok(fplt__report_text(&own, &text, &error), error);
    ask(FPLT__NEXT, i, text);
}

/* A process on `record`, and all members join it. */
static void start(const fplt__leader_record *record, int repair)
{
    fplt_error error;
    fplt__leader *before = w.leader;
    fplt__leader_settings settings = {.members = N, .hold = HOLD, .repair = repair};
    memcpy(settings.receipt_key, receipt_key, sizeof receipt_key);
    fplt__leader_plan plan = tiny_lead_plan(&w.plan, "all", 1, NULL);
    assert_ok(fplt__leader_create(&settings, &w.leader, &error), error);
    assert_ok(fplt__leader_open(w.leader, w.now, record, &plan, &error), error);
    fplt__leader_destroy(before);
    perform();
    for (uint32_t i = 0; i < N; i++)
        ask(FPLT__JOIN, i, NULL);
}

/* The copy is of the time before round 0: all consent again. */
static void start_planned(int repair)
{
    fplt_error error;
    char *text;
    memset(&w, 0, sizeof w);
    w.now = 1000;
    w.plan = tiny_plan("fed-plt");
    w.hash = fplt__document_hash(tiny_document, sizeof tiny_document);
    fplt__leader_record record = {.state = FPLT__PLANNED,
                                  .document = tiny_document,
                                  .document_size = sizeof tiny_document,
                                  .hash = w.hash};
    start(&record, repair);
    for (uint32_t i = 0; i < N; i++) {
        fplt__consent consent = {.document = w.hash, .agreed = 1};
        assert_ok(fplt__consent_text(&consent, &text, &error), error);
        ask(FPLT__CONSENT, i, text);
    }
    assert_int_equal(fplt__leader_get_view(w.leader).state, FPLT__ROUND);
}

static int leave(void **state)
{
    (void)state;
    fplt__leader_destroy(w.leader);
    return 0;
}

/* A repair that began by itself is halted by a proof, also where --repair found nothing to repair. */
static void test_repair_by_itself(void **state)
{
    (void)state;
    for (int repair = 0; repair < 2; repair++) {
        start_planned(repair);
        report(2, 0);
        assert_int_equal(fplt__leader_get_view(w.leader).state, FPLT__REPAIR);
        report(0, 1);
        assert_int_equal(fplt__leader_get_view(w.leader).state, FPLT__HALTED);
        if (!repair)
            leave(NULL);
    }
}

/* Who polls a halted run keeps the proof that it has. */
static void test_no_proof(void **state)
{
    (void)state;
    start_planned(0);
    report(0, 1);
    assert_int_equal(fplt__leader_get_view(w.leader).state, FPLT__HALTED);
    w.now += HOLD;
    hand((fplt__leader_event){.kind = FPLT__LEADER_TIME});
    assert_int_equal(w.status, 204);
    assert_false(w.has_proof);
}

/* The operator's repair goes past what is proven, and gives proofs of that. */
static void test_repair_asked_for(void **state)
{
    (void)state;
    start_planned(0);
    report(0, 1);
    start(w.record, 1);
    assert_int_equal(fplt__leader_get_view(w.leader).state, FPLT__REPAIR);
    report(0, 1);
    assert_int_equal(fplt__leader_get_view(w.leader).state, FPLT__REPAIR);
    assert_int_equal(fplt__leader_get_view(w.leader).round, FUTURE);
    assert_int_equal(w.status, 200);
    assert_true(w.has_proof);
}

/* Updates that no honest site sends; all others come from bad luck. */
static void test_violations(void **state)
{
    static const char *const violations[] = {"malformed", "long", "other", "private", "range"};
    (void)state;
    for (size_t i = 0; i < sizeof violations / sizeof *violations; i++)
        assert_true(fplt__leader_is_violation(violations[i]));
    assert_false(fplt__leader_is_violation("late"));
    assert_false(fplt__leader_is_violation(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_violations),
        cmocka_unit_test_teardown(test_repair_by_itself, leave),
        cmocka_unit_test_teardown(test_no_proof, leave),
        cmocka_unit_test_teardown(test_repair_asked_for, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
