/* A coordinator before members that send what the test says, byte by byte: what counts, what does not, and what
 * one member can do to the others. */
#include "testing.h"

#include "../../simulator/tiny.h"
#include "base/bytes.h"

enum { N = TINY_AGENTS, MIRRORED = 8, DEADLINE = 20000, BODY = 4096 };

static struct {
    uint64_t now;
    fplt_plan plan;
    fplt__digest hash;
    fplt__leader *leader;
    fplt__leader_record record; /* the last committed */
    struct member {
        uint64_t session, sequence;
        uint32_t incarnation;
        uint64_t version;
        fplt__digest chain, before; /* before: one version earlier */
        int has_staged;
        uint64_t staged_round;
        fplt__digest staged_digest;
        int has_proof; /* the newest */
        fplt__proof proof;
        /* the last reply: status 0 is none yet */
        unsigned status;
        char word[FPLT__WORD];
        uint8_t head[FPLT__FRAME_HEAD]; /* of the last task; kind 0: none came */
        fplt__frame task;
        int accepted; /* a verdict that says so came */
    } member[N];
} w;

static const uint8_t receipt_key[32] = {7};

/* --- the coordinator --- */

static void hand(fplt__leader_event event);

static void read_frames(struct member *member, const uint8_t *bytes, size_t size)
{
    fplt_error error;
    fplt__frame frame;
    const uint8_t *head, *body;
    size_t cursor = 0;
    while (cursor < size) {
        assert_ok(fplt__frame_next(bytes, size, &cursor, &frame, &head, &body, &error), error);
        if (frame.kind == FPLT__VERDICT) {
            member->accepted |= frame.exchange == 0 && frame.cohort;
            continue;
        }
        member->task = frame;
        memcpy(member->head, head, sizeof member->head);
    }
}

static void take_reply(const fplt__reply *reply)
{
    struct member *member = &w.member[reply->member_index];
    uint8_t bytes[BODY];
    size_t size = 0;
    fplt__joined joined;
    fplt_error error;
    member->status = reply->status;
    snprintf(member->word, sizeof member->word, "%s", reply->word);
    if (reply->has_proof) {
        member->has_proof = 1;
        member->proof = reply->proof;
    }
    for (unsigned p = 0; p < reply->parts; p++) {
        assert_true(size + reply->part[p].size <= sizeof bytes);
        memcpy(bytes + size, reply->part[p].bytes, reply->part[p].size);
        size += reply->part[p].size;
    }
    if (reply->json && !fplt__joined_read(bytes, size, &joined, &error))
        member->session = joined.session;
    else if (!reply->json)
        read_frames(member, bytes, size);
}

static void perform(void)
{
    const fplt__leader_action *action;
    int commits = 0;
    while ((action = fplt__leader_action_take(w.leader))) {
        if (action->kind == FPLT__LEADER_COMMIT) {
            commits = 1;
            w.record = *action->record;
        } else if (action->kind == FPLT__LEADER_REPLY) {
            take_reply(&action->reply);
        }
    }
    if (commits)
        hand((fplt__leader_event){.kind = FPLT__LEADER_COMMITTED});
}

static void hand(fplt__leader_event event)
{
    fplt_error error;
    event.now = w.now;
    assert_ok(fplt__leader_handle(w.leader, &event, &error), error);
    perform();
}

static void pass(uint64_t milliseconds)
{
    w.now += milliseconds;
    hand((fplt__leader_event){.kind = FPLT__LEADER_TIME});
}

static void send(uint32_t i, fplt__request_kind kind, uint64_t sequence, const void *body,
                 size_t size)
{
    struct member *member = &w.member[i];
    fplt__request request = {.kind = kind,
                             .ticket = i + 1,
                             .member_index = i,
                             .session = member->session,
                             .sequence = sequence,
                             .body = body,
                             .size = size};
    member->status = 0;
    member->word[0] = 0;
    hand((fplt__leader_event){.kind = FPLT__LEADER_REQUEST, .request = request});
}

static fplt__leader_state state_of_run(void)
{
    return fplt__leader_get_view(w.leader).state;
}

/* --- members --- */

static fplt__report report_of(const struct member *member)
{
    return (fplt__report){.plan = w.hash,
                          .incarnation = member->incarnation,
                          .version = member->version,
                          .chain = member->chain,
                          .has_staged = member->has_staged,
                          .staged = {member->staged_round, member->staged_digest},
                          .has_proof = member->has_proof,
                          .proof = member->proof};
}

static void poll_with(uint32_t i, const fplt__report *report)
{
    struct member *member = &w.member[i];
    fplt_error error;
    char *text;
    member->task.kind = 0;
    member->accepted = 0;
    assert_ok(fplt__report_text(report, &text, &error), error);
    send(i, FPLT__NEXT, ++member->sequence, text, strlen(text));
    fplt__free(text);
}

static void poll(uint32_t i)
{
    fplt__report report = report_of(&w.member[i]);
    poll_with(i, &report);
}

/* A member without memory: it begins with the plan. */
static void forget(uint32_t i)
{
    static const fplt__digest none;
    struct member *member = &w.member[i];
    uint64_t session = member->session, sequence = member->sequence;
    *member = (struct member){.session = session, .sequence = sequence};
    member->chain = fplt__chain_begin(&w.hash, 0, i, &none);
}

/* An answer to the task as `with` changes it; `number` is all that is in it. What was staged is remembered. */
static void answer_as(uint32_t i, uint64_t number, void (*with)(fplt__frame *frame))
{
    struct member *member = &w.member[i];
    fplt_error error;
    uint8_t *bytes;
    size_t size;
    uint64_t words[2 * MIRRORED] = {number};
    assert_int_not_equal(member->task.kind, 0);
    fplt__frame frame = {.kind = member->task.kind,
                         .exchange = member->task.exchange,
                         .incarnation = member->task.incarnation,
                         .member_index = i,
                         .round = member->task.round,
                         .cohort = 1,
                         .position = member->task.position,
                         .version = member->version,
                         .plan = w.hash,
                         .chain = member->chain,
                         .task = fplt__frame_task(member->head)};
    frame.count = member->task.kind == FPLT__ENROL ? fplt_plan_enrol_words(&w.plan) / 2
                                                   : fplt_plan_up(&w.plan, member->task.exchange);
    assert_true(frame.count <= MIRRORED);
    if (with)
        with(&frame);
    assert_ok(fplt__frame_make(&frame, NULL, NULL, words, &bytes, &size, &error), error);
    fplt__answer answer = {frame.task, frame.digest};
    member->staged_digest = fplt__work_digest(&answer, 1);
    member->staged_round = frame.round;
    member->has_staged = member->task.kind == FPLT__TRAIN;
    send(i, FPLT__UPDATE, ++member->sequence, bytes, size);
    fplt__free(bytes);
}

static void answer(uint32_t i, uint64_t number)
{
    answer_as(i, number, NULL);
}

/* The member polls, hears that its staged round counts, and does what an agent does then. */
static void hear_verdict(uint32_t i)
{
    struct member *member = &w.member[i];
    fplt__digest closing = {{0}};
    poll(i);
    assert_true(member->accepted);
    for (size_t k = 0; k < w.record.closings; k++) {
        uint8_t bytes[8 * TINY_DIMENSION];
        if (w.record.closing[k].round != member->staged_round)
            continue;
        fplt__put_reals(bytes, w.record.closing[k].vector, TINY_DIMENSION);
        closing = fplt__body_hash(bytes, sizeof bytes);
    }
    member->before = member->chain;
    member->chain =
        fplt__chain_next(&member->chain, member->staged_round, &member->staged_digest, &closing);
    member->version++;
    member->has_staged = 0;
}

/* `private`: nothing is measured. */
static void begin_with(const char *algorithm, int private)
{
    fplt_error error;
    char *text;
    memset(&w, 0, sizeof w);
    w.now = 1000;
    w.plan = tiny_plan(algorithm);
    w.hash = fplt__document_hash(tiny_document, sizeof tiny_document);
    fplt__leader_settings settings = {.members = N, .hold = 1 << 30, .deadline = DEADLINE};
    memcpy(settings.receipt_key, receipt_key, sizeof receipt_key);
    fplt__leader_record record = {.state = FPLT__PLANNED,
                                  .document = tiny_document,
                                  .document_size = sizeof tiny_document,
                                  .hash = w.hash};
    fplt__leader_plan plan = tiny_lead_plan(&w.plan, "all", private, NULL);
    plan.agreement->rounds = 1000;
    assert_ok(fplt__leader_create(&settings, &w.leader, &error), error);
    assert_ok(fplt__leader_open(w.leader, w.now, &record, &plan, &error), error);
    perform();
    for (uint32_t i = 0; i < N; i++) {
        fplt__consent consent = {.document = w.hash, .agreed = 1};
        forget(i);
        send(i, FPLT__JOIN, 0, NULL, 0);
        assert_ok(fplt__consent_text(&consent, &text, &error), error);
        send(i, FPLT__CONSENT, ++w.member[i].sequence, text, strlen(text));
        fplt__free(text);
    }
    assert_int_equal(state_of_run(), FPLT__ROUND);
}

static void begin(const char *algorithm)
{
    begin_with(algorithm, 1);
}

static int end(void **state)
{
    (void)state;
    fplt__leader_destroy(w.leader);
    w.leader = NULL;
    return 0;
}

/* A round in which all but `without` take part; with N it is all. */
static void whole_round(uint32_t without)
{
    uint64_t round = fplt__leader_get_view(w.leader).round;
    for (uint32_t i = 0; i < N; i++)
        if (i != without)
            poll(i);
    for (uint32_t i = 0; i < N; i++)
        if (i != without)
            answer(i, 100 + i);
    if (without < N)
        pass(DEADLINE);
    assert_int_equal(fplt__leader_get_view(w.leader).round, round + 1);
    for (uint32_t i = 0; i < N; i++)
        if (i != without)
            hear_verdict(i);
}

/* --- updates --- */

static void other_chain(fplt__frame *frame)
{
    frame->chain.byte[0] ^= 1;
}

static void other_task(fplt__frame *frame)
{
    frame->task.byte[31] ^= 1;
}

static void other_version(fplt__frame *frame)
{
    frame->version++;
}

static void other_round(fplt__frame *frame)
{
    frame->round++;
}

static void other_leg(fplt__frame *frame)
{
    frame->incarnation++;
}

static void fewer_numbers(fplt__frame *frame)
{
    frame->count--;
}

static void two_members(fplt__frame *frame)
{
    frame->cohort = 2;
}

/* Whatever does not belong to the open task is refused and changes nothing. */
static void test_other_update(void **state)
{
    (void)state;
    static void (*const changes[])(fplt__frame *) = {
        other_chain, other_task, other_version, other_round, other_leg, fewer_numbers, two_members};
    begin("fed-plt");
    poll(0);
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        answer_as(0, 7, changes[k]);
        assert_int_equal(w.member[0].status, 409);
        assert_int_equal(fplt__leader_get_view(w.leader).received, 0);
    }
    answer(0, 7);
    assert_int_equal(w.member[0].status, 202);
    assert_int_equal(fplt__leader_get_view(w.leader).received, 1);
}

/* The same bytes again are heard and not counted again; others for the same task make the round forget all
 * that came, and leave their sender out of it. */
static void test_second_digest(void **state)
{
    (void)state;
    begin("fed-plt");
    poll(0);
    poll(1);
    poll(2);
    answer(0, 7);
    answer(1, 8);
    answer(0, 7);
    assert_int_equal(w.member[0].status, 200);
    assert_int_equal(fplt__leader_get_view(w.leader).received, 2);
    answer(0, 9);
    assert_int_equal(w.member[0].status, 409);
    assert_string_equal(w.member[0].word, "conflict");
    assert_int_equal(fplt__leader_get_view(w.leader).received, 0);
    answer(0, 7);
    assert_string_equal(w.member[0].word, "closed");
    answer(1, 8);
    answer(2, 8);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 1);
    assert_int_equal(fplt__leader_member(w.leader, 0).row->version, 0);
    assert_int_equal(fplt__leader_member(w.leader, 0).row->conflicts, 1);
}

/* A request is looked at once: its number must be above all before it. */
static void test_sequence(void **state)
{
    (void)state;
    fplt_error error;
    char *text;
    begin("fed-plt");
    poll(0);
    fplt__report report = report_of(&w.member[0]);
    assert_ok(fplt__report_text(&report, &text, &error), error);
    uint64_t last = w.member[0].sequence;
    const uint64_t old[] = {last, last - 1, 0};
    for (size_t k = 0; k < sizeof old / sizeof *old; k++) {
        send(0, FPLT__NEXT, old[k], text, strlen(text));
        assert_int_equal(w.member[0].status, 409);
        assert_string_equal(w.member[0].word, "old");
    }
    send(0, FPLT__NEXT, last + 1, text, strlen(text));
    assert_int_equal(w.member[0].status, 200);
    fplt__free(text);
}

/* More than half of the cohort, also of one with an even number. */
static void test_more_than_half(void **state)
{
    (void)state;
    begin("fed-plt");
    assert_int_equal(fplt__leader_get_view(w.leader).quorum, 2);
    hand((fplt__leader_event){.kind = FPLT__LEADER_REVOKE, .member_index = 2});
    whole_round(2);
    assert_int_equal(fplt__leader_get_view(w.leader).cohort, 2);
    assert_int_equal(fplt__leader_get_view(w.leader).quorum, 2);
}

/* --- reports --- */

/* Version and chain, both; or else it is lost. */
static void test_known(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        begin("fed-plt");
        whole_round(N);
        fplt__report report = report_of(&w.member[0]);
        if (k == 0)
            report.chain.byte[5] ^= 1;
        else if (k == 1)
            report.version++;
        else
            report.incarnation++;
        report.has_proof = 0;
        poll_with(0, &report);
        assert_int_equal(state_of_run(), FPLT__REPAIR);
        assert_int_equal(w.member[0].task.kind, FPLT__ENROL);
        end(NULL);
    }
}

/* One version behind, with the chain of then and the message that was counted; each of them. */
static void test_accepted(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        begin("fed-plt");
        for (uint32_t i = 0; i < N; i++)
            poll(i);
        for (uint32_t i = 0; i < N; i++)
            answer(i, 5);
        fplt__report report = report_of(&w.member[0]);
        if (k == 1)
            report.chain.byte[9] ^= 1;
        else if (k == 2)
            report.staged.digest.byte[9] ^= 1;
        else if (k == 3)
            report.has_staged = 0;
        report.has_proof = 0;
        poll_with(0, &report);
        assert_int_equal(w.member[0].accepted, k == 0);
        assert_int_equal(state_of_run(), k == 0 ? FPLT__ROUND : FPLT__REPAIR);
        end(NULL);
    }
}

/* A closing vector that everybody had on disk is gone: who comes back from before it has lost its state. */
static void test_accepted_without_closing(void **state)
{
    (void)state;
    begin("tamuna");
    whole_round(N);
    struct member old = w.member[0];
    for (uint32_t i = 0; i < N; i++)
        poll(i);    /* has its version on disk */
    whole_round(0); /* which drops the vector of the round before */
    assert_int_equal(w.record.closings, 1);
    fplt__report report = report_of(&old);
    report.version--;
    report.chain = old.before;
    report.has_staged = 1;
    report.has_proof = 0;
    poll_with(0, &report);
    assert_false(w.member[0].accepted);
    assert_int_equal(state_of_run(), FPLT__REPAIR);
}

/* A proof counts where it is signed here. */
static void test_proof(void **state)
{
    (void)state;
    for (int signs = 0; signs < 2; signs++) {
        begin("fed-plt");
        fplt__report report = report_of(&w.member[0]);
        report.has_proof = 1;
        report.proof = (fplt__proof){.round = 9, .version = 9};
        if (signs)
            fplt__proof_sign(&report.proof, &w.hash, 0, receipt_key);
        poll_with(0, &report);
        assert_int_equal(state_of_run(), signs ? FPLT__HALTED : FPLT__ROUND);
        end(NULL);
    }
}

/* --- one against all --- */

/* Member i has lost its state; all enrol, and a incarnation begins. */
static void lose(uint32_t i)
{
    forget(i);
    poll(i);
}

static void enrol_all(void)
{
    uint32_t incarnation = fplt__leader_get_view(w.leader).incarnation;
    for (uint32_t i = 0; i < N; i++) {
        poll(i);
        assert_int_equal(w.member[i].task.kind, FPLT__ENROL);
        answer(i, 3);
        struct member *member = &w.member[i];
        member->incarnation = incarnation + 1;
        member->version = 0;
        member->has_staged = 0;
        member->chain = fplt__chain_begin(&w.hash, incarnation + 1, i, &member->staged_digest);
    }
    assert_int_equal(state_of_run(), FPLT__ROUND);
    assert_int_equal(fplt__leader_get_view(w.leader).incarnation, incarnation + 1);
}

/* The third repair that one member causes needs the operator. */
static void test_third_repair(void **state)
{
    (void)state;
    begin("fed-plt");
    whole_round(N);
    for (int k = 0; k < 2; k++) {
        lose(1);
        assert_int_equal(state_of_run(), FPLT__REPAIR);
        enrol_all();
        whole_round(N);
    }
    lose(1);
    assert_int_equal(state_of_run(), FPLT__HALTED);
}

/* A incarnation is open to the member whose enrolment its chain began with, and to no other enrolment. */
static void test_opened(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        begin("fed-plt");
        whole_round(N);
        struct member old = w.member[2];
        lose(1);
        enrol_all();
        fplt__report report = report_of(&old); /* it has not heard yet */
        report.has_proof = 0;
        report.has_enrolled = 1;
        report.enrolled.incarnation = k == 1 ? 0 : 1;
        report.enrolled.digest = w.member[2].staged_digest;
        report.enrolled.digest.byte[0] ^= k == 2;
        poll_with(2, &report);
        assert_int_equal(state_of_run(), k ? FPLT__REPAIR : FPLT__ROUND);
        end(NULL);
    }
}

/* Where it concerns nobody else, the third time leaves the member out instead. */
static void test_third_loss_alone(void **state)
{
    (void)state;
    begin("fedavg");
    whole_round(N);
    for (int k = 0; k < 2; k++) {
        lose(1);
        assert_int_equal(w.member[1].task.kind, FPLT__ENROL);
        answer(1, 0);
        w.member[1].version = fplt__leader_member(w.leader, 1).version;
        w.member[1].chain = fplt__leader_member(w.leader, 1).row->chain;
        w.member[1].has_staged = 0;
        whole_round(N);
    }
    lose(1);
    assert_int_equal(state_of_run(), FPLT__ROUND);
    assert_int_equal(fplt__leader_member(w.leader, 1).standing, FPLT__LEFT_OUT);
    assert_int_equal(w.member[1].status, 0); /* nothing for it to do */
    whole_round(1);
}

/* Three conflicts: left out of the run. */
static void leave_out(uint32_t i)
{
    for (int k = 0; k < 3; k++) {
        assert_int_equal(fplt__leader_member(w.leader, i).standing, FPLT__MEMBER);
        if (fplt__leader_get_view(w.leader).evaluating) /* nobody answers */
            pass(DEADLINE);
        for (uint32_t j = 0; j < N; j++)
            poll(j);
        answer(i, 1);
        answer(i, 2);
        assert_string_equal(w.member[i].word, "conflict");
        w.member[i].has_staged = 0;
        for (uint32_t j = 0; j < N; j++)
            if (j != i)
                answer(j, 1);
        for (uint32_t j = 0; j < N; j++)
            if (j != i)
                hear_verdict(j);
    }
    assert_int_equal(fplt__leader_member(w.leader, i).standing, FPLT__LEFT_OUT);
    assert_int_equal(fplt__leader_member(w.leader, i).row->conflicts, 3);
}

/* Whatever a member says that was left out: no repair, no halt, no end, and nobody waits for it. */
static void test_left_out(void **state)
{
    (void)state;
    begin("fed-plt");
    leave_out(0);
    for (int k = 0; k < 4; k++) {
        fplt__report report = report_of(&w.member[0]);
        report.has_proof = 0;
        report.chain.byte[0] ^= 1;
        poll_with(0, &report);
        assert_int_equal(state_of_run(), FPLT__ROUND);
        assert_int_equal(w.member[0].task.kind, 0);
        assert_int_equal(fplt__leader_member(w.leader, 0).row->repairs, 0);
    }
    poll(1);
    fplt__report report = report_of(&w.member[0]);
    report.has_trouble = 1;
    report.trouble.round = fplt__leader_get_view(w.leader).round;
    snprintf(report.trouble.word, sizeof report.trouble.word, "diverged");
    poll_with(0, &report);
    assert_int_equal(state_of_run(), FPLT__ROUND);
    whole_round(0);
    assert_false(fplt__leader_member(w.leader, 0).waited_for);
}

/* An evaluation needs all: where one is left out, rounds do not wait for it. */
static void test_evaluation_without(void **state)
{
    (void)state;
    begin_with("fed-plt", 0);
    assert_true(fplt__leader_get_view(w.leader).evaluating);
    leave_out(0);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 3);
    poll(1);
    poll(2);
    answer(1, 1);
    answer(2, 1);
    assert_int_equal(fplt__leader_get_view(w.leader).round,
                     4); /* after which the criterion is due */
    assert_false(fplt__leader_get_view(w.leader).evaluating);
    assert_true(fplt__leader_get_view(w.leader).opened_now);
}

/* Without the vectors of a member the sums cannot be made anew: the run ends with the model that it had. */
static void test_repair_without(void **state)
{
    (void)state;
    double before[TINY_DIMENSION], after[TINY_DIMENSION];
    for (int first = 0; first < 2; first++) { /* revoked before the repair, or in it */
        begin("fed-plt");
        whole_round(N);
        assert_ok(fplt_hub_model(fplt__leader_hub(w.leader), before), (fplt_error){0});
        if (first)
            hand((fplt__leader_event){.kind = FPLT__LEADER_REVOKE, .member_index = 0});
        lose(first ? 1 : 0);
        if (!first) {
            assert_int_equal(state_of_run(), FPLT__REPAIR);
            poll(1);
            answer(1, 3);
            hand((fplt__leader_event){.kind = FPLT__LEADER_REVOKE, .member_index = 0});
        }
        assert_int_equal(state_of_run(), FPLT__ENDED);
        assert_string_equal(fplt__leader_get_view(w.leader).outcome, "too-few");
        assert_contains(fplt__leader_get_view(w.leader).sentence, "was revoked");
        assert_contains(fplt__leader_get_view(w.leader).sentence, "continue: yes");
        assert_ok(fplt_hub_model(fplt__leader_hub(w.leader), after), (fplt_error){0});
        assert_memory_equal(before, after, sizeof before);
        end(NULL);
    }
}

/* Vectors that were in before the member was revoked are part of the sum: nothing is missing. */
static void test_revoked_after_enrolment(void **state)
{
    (void)state;
    begin("fed-plt");
    whole_round(N);
    lose(0);
    answer(0, 3);
    hand((fplt__leader_event){.kind = FPLT__LEADER_REVOKE, .member_index = 0});
    assert_int_equal(state_of_run(), FPLT__REPAIR);
    for (uint32_t i = 1; i < N; i++) {
        poll(i);
        answer(i, 3);
    }
    assert_int_equal(state_of_run(), FPLT__ROUND);
    uint64_t totals[4 * MIRRORED];
    fplt_hub_totals(fplt__leader_hub(w.leader), totals);
    assert_int_equal(totals[0], 9);
}

/* Where nothing is mirrored, the others begin the incarnation without the member; not where all are needed. */
static void test_repair_of_the_others(void **state)
{
    (void)state;
    static const char *const names[] = {"tamuna", "led"};
    for (int k = 0; k < 2; k++) {
        begin(names[k]);
        whole_round(N);
        lose(0);
        assert_int_equal(state_of_run(), FPLT__REPAIR);
        hand((fplt__leader_event){.kind = FPLT__LEADER_REVOKE, .member_index = 0});
        if (k == 1) {
            assert_int_equal(state_of_run(), FPLT__ENDED);
            assert_contains(fplt__leader_get_view(w.leader).sentence,
                            "the algorithm needs all members");
            end(NULL);
            continue;
        }
        assert_int_equal(state_of_run(), FPLT__REPAIR);
        for (uint32_t i = 1; i < N; i++) {
            poll(i);
            assert_int_equal(w.member[i].task.kind, FPLT__ENROL);
            answer(i, 0);
        }
        assert_int_equal(state_of_run(), FPLT__ROUND);
        assert_int_equal(fplt__leader_get_view(w.leader).incarnation, 1);
        assert_int_equal(fplt__leader_get_view(w.leader).cohort, 2);
        end(NULL);
    }
}

/* A member that is left out is not asked for vectors, and cannot enrol. */
static void test_left_out_in_repair(void **state)
{
    (void)state;
    begin("fed-plt");
    leave_out(0);
    lose(1);
    assert_int_equal(state_of_run(), FPLT__ENDED);
    assert_contains(fplt__leader_get_view(w.leader).sentence, "was left out of the run");
    end(NULL);
    begin("tamuna");
    leave_out(0);
    lose(1);
    assert_int_equal(state_of_run(), FPLT__REPAIR);
    poll(0);
    assert_int_equal(w.member[0].status, 0);
    assert_int_equal(w.member[0].task.kind, 0);
    assert_false(fplt__leader_member(w.leader, 0).waited_for);
    w.member[0].task = w.member[1].task; /* which it was not sent */
    memcpy(w.member[0].head, w.member[1].head, sizeof w.member[0].head);
    w.member[0].task.member_index = 0;
    fplt__frame_write(&w.member[0].task, w.member[0].head);
    answer(0, 0);
    assert_string_equal(w.member[0].word, "closed");
    assert_int_equal(state_of_run(), FPLT__REPAIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_other_update, end),
        cmocka_unit_test_teardown(test_second_digest, end),
        cmocka_unit_test_teardown(test_sequence, end),
        cmocka_unit_test_teardown(test_more_than_half, end),
        cmocka_unit_test_teardown(test_known, end),
        cmocka_unit_test_teardown(test_accepted, end),
        cmocka_unit_test_teardown(test_accepted_without_closing, end),
        cmocka_unit_test_teardown(test_proof, end),
        cmocka_unit_test_teardown(test_third_repair, end),
        cmocka_unit_test_teardown(test_opened, end),
        cmocka_unit_test_teardown(test_third_loss_alone, end),
        cmocka_unit_test_teardown(test_left_out, end),
        cmocka_unit_test_teardown(test_evaluation_without, end),
        cmocka_unit_test_teardown(test_repair_without, end),
        cmocka_unit_test_teardown(test_revoked_after_enrolment, end),
        cmocka_unit_test_teardown(test_repair_of_the_others, end),
        cmocka_unit_test_teardown(test_left_out_in_repair, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
