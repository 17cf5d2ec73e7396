/* A coordinator before members that send what the test says, byte by byte: what counts, what does not, and what
 * one member can do to the others. */
#include "protocol/scripted.h"

/* --- updates --- */

static void other_chain(fplt__frame *frame)
{
    frame->chain.byte[0] ^= 1;
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
static void other_member(fplt__frame *frame)
{
    frame->member_index = 1;
}

static void test_other_update(void **state)
{
    (void)state;
    static void (*const changes[])(fplt__frame *) = {other_chain, other_task,  other_version,
                                                     other_round, other_leg,   fewer_numbers,
                                                     two_members, other_member};
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

static void a_verdict(fplt__frame *frame)
{
    frame->kind = FPLT__VERDICT;
}

/* What an agent can do nothing about is final; what the next poll sets right is not. */
static void test_final(void **state)
{
    (void)state;
    begin("fed-plt");
    poll(0);
    answer_as(0, 7, other_member);
    assert_int_equal(w.member[0].final, 0);
    answer_as(0, 7, a_verdict);
    assert_int_equal(w.member[0].status, 400);
    assert_int_equal(w.member[0].final, 1);
    send(0, FPLT__UPDATE, ++w.member[0].sequence, "short", 5);
    assert_int_equal(w.member[0].final, 1);
    answer_as(0, 7, other_task);
    assert_int_equal(w.member[0].final, 0);
}

static void report_diverged(uint32_t i)
{
    fplt__report report = report_of(&w.member[i]);
    report.has_trouble = 1;
    report.trouble.round = fplt__leader_get_view(w.leader).round;
    snprintf(report.trouble.word, sizeof report.trouble.word, "diverged");
    snprintf(report.trouble.sentence, sizeof report.trouble.sentence, "agent %u diverged", i);
    poll_with(i, &report);
}

/* One of three that diverges is missing from the round; two of three end the run, with the words of the first. */
static void test_diverged(void **state)
{
    (void)state;
    begin("fed-plt");
    for (uint32_t i = 0; i < N; i++)
        poll(i);
    report_diverged(1);
    assert_int_equal(state_of_run(), FPLT__ROUND);
    assert_false(fplt__leader_member(w.leader, 1).waited_for);
    assert_true(fplt__leader_member(w.leader, 0).waited_for);
    report_diverged(2);
    assert_int_equal(state_of_run(), FPLT__ENDED);
    assert_string_equal(fplt__leader_get_view(w.leader).outcome, "diverged");
    assert_contains(fplt__leader_get_view(w.leader).sentence, "agent 1 diverged");
}

/* Payloads that no agent writes, in a frame that is right otherwise: digest, chain, task. */
struct payload {
    const char *what;
    uint64_t high;      /* word of the first number */
    size_t more, fewer; /* bytes behind, and cut off */
};

static void send_payload(uint32_t i, const struct payload *payload)
{
    struct member *member = &w.member[i];
    uint8_t bytes[FPLT__FRAME_HEAD + BODY] = {0};
    uint64_t words[2 * MIRRORED] = {1, payload->high};
    fplt__frame frame = {.kind = member->task.kind,
                         .encoding = FPLT__PACKED,
                         .member_index = i,
                         .round = member->task.round,
                         .cohort = 1,
                         .position = member->task.position,
                         .version = member->version,
                         .count = fplt__plan_up(&w.plan, 0),
                         .plan = w.hash,
                         .chain = member->chain,
                         .task = fplt__frame_task(member->head)};
    frame.payload =
        fplt__words_pack(words, (size_t)frame.count, bytes + FPLT__FRAME_HEAD, BODY / 2) +
        payload->more - payload->fewer;
    frame.digest = fplt__body_hash(bytes + FPLT__FRAME_HEAD, (size_t)frame.payload);
    fplt__frame_write(&frame, bytes);
    send(i, FPLT__UPDATE, ++member->sequence, bytes, FPLT__FRAME_HEAD + (size_t)frame.payload);
}

/* A member in good standing whose numbers are out of range or cannot be read: it is left out of the round, after
 * three of them of the run; the sum is that of the others. */
static void test_bad_numbers(void **state)
{
    (void)state;
    static const struct payload payloads[] = {{"2^61", UINT64_C(1) << 61, 0, 0},
                                              {"a byte too many", 0, 1, 0},
                                              {"a byte too few", 0, 0, 1}};
    begin("fed-plt");
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t i = 0; i < N; i++)
            poll(i);
        answer(1, 50);
        send_payload(0, &payloads[k]);
        if (w.member[0].status != 409 || strcmp(w.member[0].word, "range") != 0)
            fail_msg("%s: %u %s", payloads[k].what, w.member[0].status, w.member[0].word);
        assert_int_equal(fplt__leader_get_view(w.leader).received, 0);
        assert_int_equal(fplt__leader_member(w.leader, 0).row->conflicts, k + 1);
        answer(0, 1);
        assert_string_equal(w.member[0].word, "closed");
        w.member[0].has_staged = 0;
        answer(1, 50);
        answer(2, 60);
        hear_verdict(1);
        hear_verdict(2);
    }
    assert_int_equal(fplt__leader_member(w.leader, 0).standing, FPLT__LEFT_OUT);
    uint64_t totals[2 * MIRRORED];
    fplt__hub_totals(fplt__leader_hub(w.leader), totals);
    assert_int_equal(totals[0],
                     3 * (50 + 60)); /* of each round the lowest word of the two others */
    assert_int_equal(totals[1], 0);
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

static void join_as(uint32_t i, uint64_t process)
{
    fplt_error error;
    fplt__join join = {process};
    char *text;
    assert_ok(fplt__join_text(&join, &text, &error), error);
    send(i, FPLT__JOIN, 0, text, strlen(text));
    fplt__free(text);
    assert_int_equal(w.member[i].status, 200);
}

/* A process that joins again has its session; another process gets one of its own, and the first is told to end. The
 * session of an earlier coordinator is not known: then an agent joins, it does not end. */
static void test_sessions(void **state)
{
    (void)state;
    begin("fed-plt");
    struct member *member = &w.member[0];
    join_as(0, 5);
    uint64_t first = member->session;
    join_as(0, 5);
    assert_true(member->session == first);
    join_as(0, 6);
    assert_true(member->session != first);
    uint64_t second = member->session;
    member->sequence = 0;
    member->session = first;
    poll(0);
    assert_string_equal(member->word, "superseded");
    member->session = second ^ UINT64_C(1) << 40;
    poll(0);
    assert_string_equal(member->word, "join");
    member->session = second;
    poll(0);
    assert_int_equal(member->task.kind, FPLT__TRAIN);
    join_as(0, 0); /* of a process that is not known: another one each time */
    second = member->session;
    join_as(0, 0);
    assert_true(member->session != second);
}

/* Who is not in the cohort of the round is not waited for, and what it sends does not count. */
static void test_not_in_cohort(void **state)
{
    (void)state;
    uint32_t out = N;
    begin_as("fed-plt", 1, "bernoulli");
    for (int round = 0; round < 50 && out == N; round++) {
        uint32_t in = N;
        for (uint32_t i = 0; i < N; i++)
            if (fplt__leader_member(w.leader, i).in_cohort)
                in = i;
            else
                out = i;
        if (out == N || in == N) { /* all, or none: the next */
            for (uint32_t i = 0; i < N && in < N; i++)
                poll(i);
            for (uint32_t i = 0; i < N && in < N; i++)
                answer(i, 1);
            for (uint32_t i = 0; i < N && in < N; i++)
                hear_verdict(i);
            out = N;
            pass(1);
            continue;
        }
        poll(in);
        poll(out);
        assert_int_equal(w.member[in].task.kind, FPLT__TRAIN);
        assert_int_equal(w.member[out].task.kind, 0);
        w.member[out].task = w.member[in].task; /* which it was not sent */
        w.member[out].task.member_index = out;
        fplt__frame_write(&w.member[out].task, w.member[out].head);
        answer(out, 9);
        assert_string_equal(w.member[out].word, "closed");
        assert_int_equal(fplt__leader_get_view(w.leader).received, 0);
    }
    assert_true(out < N);
}

/* The row of a round: what went up and down, how long it took, who counted. */
static void test_trace(void **state)
{
    (void)state;
    uint64_t up = 0, down = 0;
    begin("fed-plt");
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < N; i++)
            poll(i);
        w.now += 1500 + k;
        for (uint32_t i = 0; i < N; i++)
            answer(i, 1);
        assert_int_equal(w.trace.round, k);
        assert_int_equal(w.trace.incarnation, 0);
        assert_int_equal(w.trace.is_void, 0);
        assert_true(w.trace.seconds == (1500 + k) / 1000.0);
        assert_int_equal(w.trace.bytes_up, w.bytes_up - up);
        assert_int_equal(w.trace.bytes_down, w.bytes_down - down);
        assert_int_equal(w.trace.accepted[0], 7);
        up = w.bytes_up;
        down = w.bytes_down; /* verdicts bring tasks along */
        for (uint32_t i = 0; i < N; i++)
            hear_verdict(i);
    }
}

/* Without a deadline in the settings it is five times the slowest arrival of the last ten rounds: a slow one is forgotten
 * after ten quick ones. */
static void test_ten_rounds(void **state)
{
    (void)state;
    fplt__leader_settings settings = {.members = N, .hold = 1 << 30};
    begin("fed-plt");
    fplt__leader_reload(w.leader, &settings);
    for (unsigned round = 0; round < 24; round++) {
        for (uint32_t i = 0; i < N; i++)
            poll(i);
        pass(round == 1 || round == 12 ? 20000 + round : 7000);
        for (uint32_t i = 0; i < N; i++)
            answer(i, 1);
        for (uint32_t i = 0; i < N; i++)
            hear_verdict(i);
        uint64_t most = round >= 12 && round < 22 ? 20012 : round >= 1 && round < 11 ? 20001 : 7000;
        fplt__leader_view view = fplt__leader_get_view(w.leader);
        assert_int_equal(view.round, round + 1);
        assert_int_equal(view.deadline - view.opened, 5 * most);
    }
}

/* Who staged a round that closed without it is told so, and gets the next task with it. */
static void test_refused(void **state)
{
    (void)state;
    begin("fed-plt");
    for (uint32_t i = 0; i < N; i++)
        poll(i);
    answer(0, 1);
    answer(1, 1);
    pass(DEADLINE);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 1);
    w.member[2].has_staged = 1;
    poll(2);
    assert_true(w.member[2].refused && !w.member[2].accepted);
    assert_int_equal(w.member[2].task.kind, FPLT__TRAIN);
    assert_int_equal(w.member[2].task.round, 1);
}

/* A question that one member may not answer is given up: the rounds go on without it. */
static void test_no_answer(void **state)
{
    (void)state;
    begin_with("fed-plt", 0);
    assert_true(fplt__leader_get_view(w.leader).evaluating);
    fplt__report report = report_of(&w.member[1]);
    report.has_trouble = 1;
    snprintf(report.trouble.word, sizeof report.trouble.word, FPLT__NO_ANSWER);
    snprintf(report.trouble.sentence, sizeof report.trouble.sentence, "the policy forbids it");
    poll_with(1, &report);
    assert_false(fplt__leader_get_view(w.leader).evaluating);
    assert_true(fplt__leader_get_view(w.leader).opened_now);
}

/* Every member's poll is held for the same time at most. */
static void test_hold(void **state)
{
    (void)state;
    begin("fed-plt");
    hand((fplt__leader_event){.kind = FPLT__LEADER_PAUSE});
    for (uint32_t i = 0; i < N; i++) {
        w.now += 10;
        poll(i);
        assert_int_equal(w.member[i].status, 0);
        uint64_t wake = fplt__leader_wake(w.leader);
        assert_int_equal(wake, w.now + (1 << 30));
        w.now = wake - 1;
        hand((fplt__leader_event){.kind = FPLT__LEADER_TIME});
        assert_int_equal(w.member[i].status, 0);
        pass(1);
        assert_int_equal(w.member[i].status, 204);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_other_update, end),
        cmocka_unit_test_teardown(test_second_digest, end),
        cmocka_unit_test_teardown(test_bad_numbers, end),
        cmocka_unit_test_teardown(test_sequence, end),
        cmocka_unit_test_teardown(test_final, end),
        cmocka_unit_test_teardown(test_diverged, end),
        cmocka_unit_test_teardown(test_trace, end),
        cmocka_unit_test_teardown(test_refused, end),
        cmocka_unit_test_teardown(test_no_answer, end),
        cmocka_unit_test_teardown(test_ten_rounds, end),
        cmocka_unit_test_teardown(test_hold, end),
        cmocka_unit_test_teardown(test_sessions, end),
        cmocka_unit_test_teardown(test_not_in_cohort, end),
        cmocka_unit_test_teardown(test_more_than_half, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
