/* What the tests of a coordinator before scripted members share: the coordinator on a disk in memory, members that send what
 * the test says, byte by byte, and rounds in which they take part. */
#ifndef FPLT_TESTS_PROTOCOL_SCRIPTED_H
#define FPLT_TESTS_PROTOCOL_SCRIPTED_H

#include "testing.h"

#include "../../simulator/tiny.h"
#include "base/bytes.h"
#include "base/sum.h"
#include "engine/hub_node.h"

enum { N = TINY_AGENTS, MIRRORED = 8, DEADLINE = 20000, BODY = 4096 };

static struct {
    uint64_t now;
    fplt_plan plan;
    fplt__digest hash;
    fplt__leader *leader;
    fplt__leader_record record;    /* the last committed */
    fplt__trace_row trace;         /* the last */
    uint64_t bytes_up, bytes_down; /* of updates and tasks in all */
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
        int final;                      /* it must not try again */
        uint8_t head[FPLT__FRAME_HEAD]; /* of the last task; kind 0: none came */
        fplt__frame task;
        int accepted, refused; /* a verdict that says so came */
    } member[N];
} w;

static const uint8_t receipt_key[32] = {7};

/* --- the coordinator --- */

static inline void hand(fplt__leader_event event);

static inline void read_frames(struct member *member, const uint8_t *bytes, size_t size)
{
    fplt_error error;
    fplt__frame frame;
    const uint8_t *head, *body;
    size_t cursor = 0;
    while (cursor < size) {
        assert_ok(fplt__frame_next(bytes, size, &cursor, &frame, &head, &body, &error), error);
        if (frame.kind == FPLT__VERDICT) {
            member->accepted |= frame.exchange == 0 && frame.cohort;
            member->refused |= frame.exchange == 0 && !frame.cohort;
            continue;
        }
        if (frame.kind == FPLT__TRAIN)
            w.bytes_down += FPLT__FRAME_HEAD + fplt__frame_body(&frame);
        member->task = frame;
        memcpy(member->head, head, sizeof member->head);
    }
}

static inline void take_reply(const fplt__reply *reply)
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
    fplt__fault fault = {.final = -1};
    if (reply->json)
        fplt__fault_read(bytes, size, &fault, &error);
    member->final = fault.final;
    if (reply->json && !fplt__joined_read(bytes, size, &joined, &error))
        member->session = joined.session;
    else if (!reply->json)
        read_frames(member, bytes, size);
}

static inline void perform(void)
{
    const fplt__leader_action *action;
    int commits = 0;
    while ((action = fplt__leader_action_take(w.leader))) {
        if (action->kind == FPLT__LEADER_COMMIT) {
            commits = 1;
            w.record = *action->record;
            if (w.record.trace)
                w.trace = *w.record.trace;
        } else if (action->kind == FPLT__LEADER_REPLY) {
            take_reply(&action->reply);
        }
    }
    if (commits)
        hand((fplt__leader_event){.kind = FPLT__LEADER_COMMITTED});
}

static inline void hand(fplt__leader_event event)
{
    fplt_error error;
    event.now = w.now;
    assert_ok(fplt__leader_handle(w.leader, &event, &error), error);
    perform();
}

static inline void pass(uint64_t milliseconds)
{
    w.now += milliseconds;
    hand((fplt__leader_event){.kind = FPLT__LEADER_TIME});
}

static inline void send(uint32_t i, fplt__request_kind kind, uint64_t sequence, const void *body,
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

static inline fplt__leader_state state_of_run(void)
{
    return fplt__leader_get_view(w.leader).state;
}

/* --- members --- */

static inline fplt__report report_of(const struct member *member)
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

static inline void poll_with(uint32_t i, const fplt__report *report)
{
    struct member *member = &w.member[i];
    fplt_error error;
    char *text;
    member->task.kind = 0;
    member->accepted = member->refused = 0;
    assert_ok(fplt__report_text(report, &text, &error), error);
    send(i, FPLT__NEXT, ++member->sequence, text, strlen(text));
    fplt__free(text);
}

static inline void poll(uint32_t i)
{
    fplt__report report = report_of(&w.member[i]);
    poll_with(i, &report);
}

/* A member without memory: it begins with the plan. */
static inline void forget(uint32_t i)
{
    static const fplt__digest none;
    struct member *member = &w.member[i];
    uint64_t session = member->session, sequence = member->sequence;
    *member = (struct member){.session = session, .sequence = sequence};
    member->chain = fplt__chain_begin(&w.hash, 0, i, &none);
}

/* An answer to the task as `with` changes it; `number` is all that is in it. What was staged is remembered. */
static inline void answer_as(uint32_t i, uint64_t number, void (*with)(fplt__frame *frame))
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
                                                   : fplt__plan_up(&w.plan, member->task.exchange);
    assert_true(frame.count <= MIRRORED);
    if (with)
        with(&frame);
    assert_ok(fplt__frame_make(&frame, NULL, NULL, words, &bytes, &size, &error), error);
    fplt__answer answer = {frame.task, frame.digest};
    member->staged_digest = fplt__work_digest(&answer, 1);
    member->staged_round = frame.round;
    member->has_staged = member->task.kind == FPLT__TRAIN;
    send(i, FPLT__UPDATE, ++member->sequence, bytes, size);
    w.bytes_up += member->status == 202 ? size : 0;
    fplt__free(bytes);
}

static inline void answer(uint32_t i, uint64_t number)
{
    answer_as(i, number, NULL);
}

/* The member polls, hears that its staged round counts, and does what an agent does then. */
static inline void hear_verdict(uint32_t i)
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

/* `private`: nothing is measured; `rule`: who takes part. */
static inline void begin_for(const char *algorithm, int private, const char *rule, uint64_t rounds)
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
    fplt__leader_plan plan = tiny_lead_plan(&w.plan, rule, private, NULL);
    plan.agreement->rounds = rounds;
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

static inline void begin_as(const char *algorithm, int private, const char *rule)
{
    begin_for(algorithm, private, rule, 1000);
}

static inline void begin_with(const char *algorithm, int private)
{
    begin_as(algorithm, private, "all");
}

static inline void begin(const char *algorithm)
{
    begin_with(algorithm, 1);
}

static inline int end(void **state)
{
    (void)state;
    fplt__leader_destroy(w.leader);
    w.leader = NULL;
    return 0;
}

/* A round in which all but `without` take part; with N it is all. */
static inline void whole_round(uint32_t without)
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

/* A change for answer_as: the answer names another task. */
static inline void other_task(fplt__frame *frame)
{
    frame->task.byte[31] ^= 1;
}

#endif
