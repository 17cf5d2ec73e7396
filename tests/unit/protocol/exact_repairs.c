/* A coordinator before members that lost their state, say that they are elsewhere than it knows, or leave: what it believes,
 * which repairs follow, and when it goes on without them. */
#include "protocol/scripted.h"

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

/* A proof is ahead of the database by its round, its version, its incarnation, or by another chain at the same version; one
 * of what is known, or of before, is not. */
static void test_ahead(void **state)
{
    (void)state;
    static const struct {
        uint32_t incarnation;
        uint64_t round, version;
        int other_chain, is_ahead;
    } proofs[] = {{0, 1, 1, 0, 0}, {0, 2, 1, 0, 1}, {0, 1, 2, 0, 1}, {1, 0, 0, 0, 1},
                  {0, 1, 1, 1, 1}, {0, 1, 0, 1, 0}, {0, 0, 0, 0, 0}};
    for (size_t k = 0; k < sizeof proofs / sizeof *proofs; k++) {
        begin("fed-plt");
        whole_round(N);
        fplt__report report = report_of(&w.member[0]);
        report.has_proof = 1;
        report.proof = (fplt__proof){.incarnation = proofs[k].incarnation,
                                     .round = proofs[k].round,
                                     .version = proofs[k].version,
                                     .chain = w.member[0].chain};
        report.proof.chain.byte[7] ^= (uint8_t)proofs[k].other_chain;
        fplt__proof_sign(&report.proof, &w.hash, 0, receipt_key);
        poll_with(0, &report);
        if (state_of_run() != (proofs[k].is_ahead ? FPLT__HALTED : FPLT__ROUND))
            fail_msg("proof %zu: %s", k, fplt__leader_state_name(state_of_run()));
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

/* Those whose vectors are not in. */
static void enrol_rest(void)
{
    for (uint32_t i = 0; i < N && state_of_run() == FPLT__REPAIR; i++) {
        poll(i);
        if (w.member[i].task.kind == FPLT__ENROL)
            answer(i, 3);
    }
    assert_int_equal(state_of_run(), FPLT__ROUND);
}

/* All send their vectors; then the run is in the given state. */
static void enrol_all(fplt__leader_state then)
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
    assert_int_equal(state_of_run(), then);
    assert_int_equal(fplt__leader_get_view(w.leader).incarnation, incarnation + 1);
}

/* Vectors that answer another question are refused; other vectors for the same question make all send theirs again, and
 * what counts is what they sent then. */
static void test_second_enrolment(void **state)
{
    (void)state;
    uint64_t totals[2 * MIRRORED];
    begin("fed-plt");
    whole_round(N);
    lose(1);
    for (uint32_t i = 0; i < N; i++)
        poll(i);
    answer_as(0, 3, other_task);
    assert_string_equal(w.member[0].word, "other");
    answer(0, 1000);
    answer(1, 2000);
    assert_int_equal(w.member[1].status, 202);
    answer(1, 2000);
    assert_int_equal(w.member[1].status, 200);
    answer(1, 4000);
    assert_int_equal(w.member[1].status, 202);
    answer(2, 5000);
    assert_int_equal(state_of_run(), FPLT__REPAIR); /* one is not enough any more */
    enrol_rest();
    fplt__hub_totals(fplt__leader_hub(w.leader), totals);
    assert_int_equal(totals[0], 5000 + 2 * 3);
}

/* In a repair the clock is asked for when somebody will have been silent for too long. */
static void test_repair_wakes(void **state)
{
    (void)state;
    fplt__leader_settings settings = {
        .members = N, .hold = 1 << 30, .deadline = DEADLINE, .absence = 50000};
    begin("fed-plt");
    fplt__leader_reload(w.leader, &settings);
    whole_round(N);
    lose(1);
    assert_int_equal(state_of_run(), FPLT__REPAIR);
    uint64_t wake = fplt__leader_wake(w.leader);
    assert_true(wake > w.now && wake <= w.now + 50000);
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
        enrol_all(FPLT__ROUND);
        whole_round(N);
    }
    lose(1);
    assert_int_equal(state_of_run(), FPLT__HALTED);
}

/* A repair uses up the number of the round that it interrupts: no round follows the last of the plan. */
static void test_rounds_of_plan(void **state)
{
    (void)state;
    for (uint64_t closed = 1; closed < 3; closed++) {
        begin_for("fed-plt", 1, "all", 3);
        for (uint64_t k = 0; k < closed; k++)
            whole_round(N);
        lose(1);
        enrol_all(closed < 2 ? FPLT__ROUND : FPLT__DONE);
        assert_int_equal(fplt__leader_get_view(w.leader).round, closed + 1);
        for (uint32_t i = 0; closed == 1 && i < N; i++)
            poll(i);
        for (uint32_t i = 0; closed == 1 && i < N; i++)
            answer(i, 100 + i);
        assert_int_equal(state_of_run(), FPLT__DONE);
        assert_string_equal(w.record.outcome, "rounds-done");
        assert_int_equal(w.record.round, 3);
        end(NULL);
    }
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
        enrol_all(FPLT__ROUND);
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
    for (uint32_t k = 0; k < 2; k++) {
        for (int again = 0; again < 4; again++) { /* counted once, however often it is reported */
            lose(1);
            assert_int_equal(w.member[1].task.kind, FPLT__ENROL);
            assert_int_equal(fplt__leader_member(w.leader, 1).row->repairs, k + 1);
        }
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
        assert_contains(fplt__leader_get_view(w.leader).sentence,
                        "`fedplt federation exclude a member`");
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
    fplt__hub_totals(fplt__leader_hub(w.leader), totals);
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
        cmocka_unit_test_teardown(test_repair_wakes, end),
        cmocka_unit_test_teardown(test_ahead, end),
        cmocka_unit_test_teardown(test_second_enrolment, end),
        cmocka_unit_test_teardown(test_known, end),
        cmocka_unit_test_teardown(test_accepted, end),
        cmocka_unit_test_teardown(test_accepted_without_closing, end),
        cmocka_unit_test_teardown(test_proof, end),
        cmocka_unit_test_teardown(test_third_repair, end),
        cmocka_unit_test_teardown(test_rounds_of_plan, end),
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
