/* Tampered lists, votes and shares, every line of the agent's table, and what lying members can do to the sum. What a
 * coordinator can learn from all of it together is searched in search.c. */
#include "testing.h"

#include <sodium.h>

#include "base/bytes.h"
#include "secagg/session.h"
#include "secagg/share.h"
#include "secagg/total.h"

enum { N = 6, T = 4, COUNT = 5, ROOM = 8192, ENTRY = FPLT__SECAGG_ENTRY };

struct world {
    fplt__secagg_plan plan;
    uint8_t identities[N * 32], secrets[N * 64], list[N * ENTRY], digest[32];
    fplt__secagg_agent *agent[N];
};

static void open_world(struct world *world, uint32_t threshold)
{
    fplt_error error;
    memset(world, 0, sizeof *world);
    world->plan.members = world->plan.most = N;
    world->plan.threshold = threshold;
    world->plan.identity = world->identities;
    for (uint32_t i = 0; i < N; i++) {
        uint8_t seed[32] = {(uint8_t)(i + 1)};
        crypto_sign_seed_keypair(world->identities + 32 * i, world->secrets + 64 * i, seed);
    }
    for (uint32_t i = 0; i < N; i++) {
        uint8_t root[32] = {99, (uint8_t)i};
        assert_ok(fplt__secagg_agent_create(&world->plan, i, root, world->secrets + 64 * i,
                                            &world->agent[i], &error),
                  error);
        memcpy(world->list + ENTRY * i, fplt__secagg_agent_entry(world->agent[i]), ENTRY);
    }
}

static void close_world(struct world *world)
{
    for (uint32_t i = 0; i < N; i++)
        fplt__secagg_agent_destroy(world->agent[i]);
}

static fplt__secagg_task task_of(const struct world *world, uint64_t round)
{
    return (fplt__secagg_task){.kind = 1, .round = round, .digest = world->digest};
}

/* Announces a cohort under a list (NULL: none is sent, the keys are those of the world). */
static fplt_status announce(struct world *world, uint32_t i, const uint8_t *list, uint8_t cohort,
                            fplt_error *error)
{
    uint8_t payload[32 + 1 + N * ENTRY];
    fplt__secagg_list_hash(&world->plan, list ? list : world->list, payload);
    payload[32] = cohort;
    if (list)
        memcpy(payload + 33, list, N * ENTRY);
    return fplt__secagg_agent_announce(world->agent[i], payload, list ? sizeof payload : 33, error);
}

static void refused(struct world *world, uint32_t i, const uint8_t *list, uint8_t cohort,
                    const char *sentence)
{
    fplt_error error;
    fplt__secagg_task task = task_of(world, 50);
    assert_ok(announce(world, i, list, cohort, &error), error);
    assert_int_equal(fplt__secagg_agent_train(world->agent[i], &task, 2, &error), FPLT_BAD_DATA);
    assert_non_null(strstr(error.text, sentence));
}

static void lists(void **state)
{
    static const uint8_t low_order[32] = {0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae,
                                          0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
                                          0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd,
                                          0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00};
    struct world world;
    fplt_error error;
    uint8_t list[N * ENTRY], payload[33 + N * ENTRY + 1] = {0};
    (void)state;
    open_world(&world, 0);
    refused(&world, 0, NULL, 0x3f, "does not hold");
    memcpy(list, world.list, sizeof list); /* a key that its owner did not sign */
    crypto_scalarmult_base(list + ENTRY * 2, world.digest);
    refused(&world, 0, list, 0x3f, "member number 2 that its identity did not sign");
    memcpy(list, world.list, sizeof list); /* signed for another place */
    memcpy(list + ENTRY * 2, world.list + ENTRY * 3, ENTRY);
    memset(list + ENTRY * 3, 0, ENTRY);
    refused(&world, 0, list, 0x3f, "did not sign");
    memcpy(list, world.list, sizeof list); /* one key for two: signed by a member that helps */
    memcpy(list + ENTRY * 4, world.list + ENTRY * 3, 32);
    fplt__secagg_key_sign(&world.plan, 4, list + ENTRY * 4, world.secrets + 64 * 4,
                          list + ENTRY * 4 + 32);
    refused(&world, 0, list, 0x3f, "one key for two members");
    memcpy(list, world.list, sizeof list); /* low order: signed by a member that helps */
    memcpy(list + ENTRY * 4, low_order, 32);
    fplt__secagg_key_sign(&world.plan, 4, low_order, world.secrets + 64 * 4, list + ENTRY * 4 + 32);
    refused(&world, 0, list, 0x3f, "low order");
    memcpy(list, world.list, sizeof list); /* an earlier process of the agent itself */
    fplt__secagg_key_make(world.digest, payload, list);
    fplt__secagg_key_sign(&world.plan, 0, list, world.secrets, list + 32);
    refused(&world, 0, list, 0x3f, "another key for this agent");
    refused(&world, 1, list, 0x1f, "all 6");
    refused(&world, 0, world.list, 0x3e, "this agent is not");
    memcpy(list, world.list, sizeof list); /* a member of the cohort without a key */
    memset(list + ENTRY * 5, 0, ENTRY);
    refused(&world, 0, list, 0x3f, "member number 5, which has no key");
    /* keys that are not those of the list; no SESSION at all; sizes and bits that cannot be */
    memcpy(payload + 33, world.list, sizeof list);
    payload[32] = 0x3f;
    fplt__secagg_task task = task_of(&world, 51);
    assert_ok(fplt__secagg_agent_announce(world.agent[0], payload, 33 + N * ENTRY, &error), error);
    assert_int_equal(fplt__secagg_agent_train(world.agent[0], &task, 2, &error), FPLT_BAD_DATA);
    fplt__secagg_agent_withdraw(world.agent[0]);
    assert_int_equal(fplt__secagg_agent_train(world.agent[0], &task, 2, &error), FPLT_BAD_DATA);
    assert_non_null(strstr(error.text, "without a session"));
    assert_int_equal(fplt__secagg_agent_announce(world.agent[0], payload, 33 + N * ENTRY + 1,
                                                 &error),
                     FPLT_BAD_DATA);
    payload[32] = 0x7f;
    assert_int_equal(fplt__secagg_agent_announce(world.agent[0], payload, 33, &error),
                     FPLT_BAD_DATA);
    close_world(&world);
}

/* One computation for each (incarnation, round, exchange), in rising order; questions of one round at one version. */
static void once(void **state)
{
    struct world world;
    fplt_error error;
    (void)state;
    open_world(&world, 0);
    fplt__secagg_agent *agent = world.agent[2];
    fplt__secagg_task task = task_of(&world, 7), question = task_of(&world, 7);
    assert_ok(announce(&world, 2, world.list, 0x3f, &error), error);
    assert_ok(fplt__secagg_agent_train(agent, &task, 6, &error), error);
    assert_int_equal(fplt__secagg_agent_train(agent, &task, 6, &error), FPLT_BAD_DATA);
    task.exchange = 1;
    assert_ok(fplt__secagg_agent_train(agent, &task, 6, &error), error);
    task.exchange = 0;
    assert_int_equal(fplt__secagg_agent_train(agent, &task, 6, &error), FPLT_BAD_DATA);
    task.round = 6;
    assert_int_equal(fplt__secagg_agent_train(agent, &task, 6, &error), FPLT_BAD_DATA);
    task.incarnation = 1;
    assert_ok(fplt__secagg_agent_train(agent, &task, 6, &error), error);
    task.round = 7;
    assert_int_equal(fplt__secagg_agent_train(agent, &task, 7, &error), FPLT_BAD_DATA);
    assert_non_null(strstr(error.text, "policy"));
    question.kind = 4;
    assert_ok(fplt__secagg_agent_question(agent, &question, 3, &error), error);
    question.kind = 6;
    assert_ok(fplt__secagg_agent_question(agent, &question, 3, &error), error);
    assert_int_equal(fplt__secagg_agent_question(agent, &question, 4, &error), FPLT_BAD_DATA);
    question.round = 6;
    assert_int_equal(fplt__secagg_agent_question(agent, &question, 3, &error), FPLT_BAD_DATA);
    question.round = 8;
    assert_ok(fplt__secagg_agent_question(agent, &question, 4, &error), error);
    close_world(&world);
}

/* --- mode quorum: the table, line by line --- */

struct run {
    struct world world;
    fplt__secagg_total *total;
    fplt__secagg_task task;
    uint8_t cohort;
    uint64_t sum[COUNT];
};

static void open_run(struct run *run, uint8_t uploads)
{
    fplt_error error;
    uint8_t payload[ROOM];
    memset(run, 0, sizeof *run);
    open_world(&run->world, T);
    run->cohort = 0x3f;
    run->task = task_of(&run->world, 3);
    run->task.cohort = &run->cohort;
    assert_ok(fplt__secagg_total_create(&run->world.plan, &run->total, &error), error);
    assert_ok(fplt__secagg_total_begin(run->total, &run->task, run->world.list, 0, COUNT, 8,
                                       &error),
              error);
    for (uint32_t i = 0; i < N; i++) {
        uint64_t words[2 * COUNT] = {0};
        fplt__secagg_agent *agent = run->world.agent[i];
        assert_ok(announce(&run->world, i, run->world.list, run->cohort, &error), error);
        assert_ok(fplt__secagg_agent_train(agent, &run->task, 2, &error), error);
        for (size_t k = 0; k < COUNT; k++)
            words[2 * k] = (uint64_t)(-(int64_t)(1000 * i) + (int64_t)k);
        size_t size = fplt__secagg_agent_size(agent, 0, COUNT, 8);
        assert_int_equal(size, fplt__secagg_total_size(run->total));
        fplt__secagg_agent_upload(agent, 0, words, COUNT, 8, payload);
        if (!(uploads >> i & 1))
            continue;
        assert_ok(fplt__secagg_total_upload(run->total, i, payload, size, &error), error);
        for (size_t k = 0; k < COUNT; k++)
            run->sum[k] += words[2 * k];
    }
}

static void close_run(struct run *run)
{
    fplt__secagg_total_destroy(run->total);
    close_world(&run->world);
}

/* Asks agent i about W, with the votes that the coordinator has where `votes`. */
static fplt_status ask(struct run *run, uint32_t i, fplt__secagg_stage stage, uint8_t w, int votes,
                       uint8_t *answer, size_t *size)
{
    fplt_error error;
    uint8_t payload[ROOM];
    size_t length = 33;
    memcpy(payload, fplt__secagg_total_session(run->total), 32);
    payload[32] = w;
    if (stage == FPLT__SECAGG_FINAL) {
        uint32_t count = votes ? T : 0;
        fplt__put32(payload + length, count);
        length += 4;
        for (uint32_t j = 0; j < N && count; j++) {
            if (!(w >> j & 1))
                continue;
            fplt__put32(payload + length, j);
            fplt__secagg_vote_sign(fplt__secagg_total_session(run->total), &w, N,
                                   run->world.secrets + 64 * j, payload + length + 4);
            length += 68;
            count--;
        }
        for (uint32_t j = 0; j < N; j++)
            if (j != i && w >> j & 1) {
                memset(payload + length, 0, 48);
                length += 48;
            }
    }
    uint8_t made[ROOM];
    size_t made_size;
    return fplt__secagg_agent_answer(run->world.agent[i], stage, payload, length,
                                     answer ? answer : made, size ? size : &made_size, &error);
}

#define YES(call) assert_int_equal(call, FPLT_OK)
#define NO(call)  assert_int_equal(call, FPLT_BAD_DATA)

static void table(void **state)
{
    struct run run;
    (void)state;
    open_run(&run, 0x3f);
    /* shares without votes: only of the whole cohort, and then no seed is told */
    NO(ask(&run, 0, FPLT__SECAGG_FINAL, 0x1f, 0, NULL, NULL));
    NO(ask(&run, 0, FPLT__SECAGG_FINAL, 0x3f, 1, NULL, NULL));
    YES(ask(&run, 0, FPLT__SECAGG_FINAL, 0x3f, 0, NULL, NULL));
    YES(ask(&run, 0, FPLT__SECAGG_FINAL, 0x3f, 0, NULL, NULL));
    NO(ask(&run, 0, FPLT__SECAGG_MISSING, 0x1f, 0, NULL, NULL));
    NO(ask(&run, 0, FPLT__SECAGG_PROPOSE, 0x3f, 0, NULL, NULL));
    /* seeds: W contains the agent, shrinks only, has t members, is not the cohort */
    NO(ask(&run, 1, FPLT__SECAGG_MISSING, 0x3f, 0, NULL, NULL));
    NO(ask(&run, 1, FPLT__SECAGG_MISSING, 0x3d, 0, NULL, NULL));
    NO(ask(&run, 1, FPLT__SECAGG_MISSING, 0x07, 0, NULL, NULL));
    NO(ask(&run, 1, FPLT__SECAGG_MISSING, 0x5f, 0, NULL, NULL));
    NO(ask(&run, 1, FPLT__SECAGG_PROPOSE, 0x1f, 0, NULL, NULL));
    YES(ask(&run, 1, FPLT__SECAGG_MISSING, 0x1f, 0, NULL, NULL));
    NO(ask(&run, 1, FPLT__SECAGG_FINAL, 0x3f, 0, NULL, NULL));
    NO(ask(&run, 1, FPLT__SECAGG_MISSING, 0x2f, 0, NULL, NULL));
    NO(ask(&run, 1, FPLT__SECAGG_FINAL, 0x1f, 1, NULL, NULL)); /* has not voted */
    YES(ask(&run, 1, FPLT__SECAGG_MISSING, 0x0f, 0, NULL, NULL));
    /* one vote, for the view */
    NO(ask(&run, 1, FPLT__SECAGG_PROPOSE, 0x1f, 0, NULL, NULL));
    YES(ask(&run, 1, FPLT__SECAGG_PROPOSE, 0x0f, 0, NULL, NULL));
    YES(ask(&run, 2, FPLT__SECAGG_MISSING, 0x1f, 0, NULL, NULL));
    YES(ask(&run, 2, FPLT__SECAGG_PROPOSE, 0x1f, 0, NULL, NULL));
    NO(ask(&run, 2, FPLT__SECAGG_MISSING, 0x0f, 0, NULL, NULL));
    YES(ask(&run, 2, FPLT__SECAGG_MISSING, 0x1f, 0, NULL, NULL));
    /* shares with votes */
    NO(ask(&run, 2, FPLT__SECAGG_FINAL, 0x0f, 1, NULL, NULL));
    NO(ask(&run, 2, FPLT__SECAGG_FINAL, 0x1f, 0, NULL, NULL));
    YES(ask(&run, 2, FPLT__SECAGG_FINAL, 0x1f, 1, NULL, NULL));
    YES(ask(&run, 2, FPLT__SECAGG_MISSING, 0x1f, 0, NULL, NULL));
    /* a new round ends the session */
    fplt_error error;
    fplt__secagg_task later = task_of(&run.world, 4);
    YES(fplt__secagg_agent_train(run.world.agent[2], &later, 2, &error));
    NO(ask(&run, 2, FPLT__SECAGG_MISSING, 0x1f, 0, NULL, NULL));
    close_run(&run);
}

/* Votes of outsiders, of one member twice, of another session or set, altered. */
static void votes(void **state)
{
    struct run run;
    fplt_error error;
    uint8_t payload[ROOM], answer[ROOM], other[32] = {1}, w = 0x1f;
    size_t size, length = 33 + 4 + T * 68 + 4 * 48;
    (void)state;
    for (int attack = 0; attack < 6; attack++) {
        open_run(&run, 0x3f);
        fplt__secagg_agent *agent = run.world.agent[0];
        const uint8_t *session = fplt__secagg_total_session(run.total);
        YES(ask(&run, 0, FPLT__SECAGG_MISSING, w, 0, NULL, NULL));
        YES(ask(&run, 0, FPLT__SECAGG_PROPOSE, w, 0, NULL, NULL));
        memset(payload, 0, sizeof payload);
        memcpy(payload, session, 32);
        payload[32] = w;
        fplt__put32(payload + 33, T);
        for (uint32_t k = 0; k < T; k++) {
            uint32_t voter = attack == 1 && k == 3 ? 5 : attack == 2 && k == 3 ? 2 : k;
            uint8_t set = attack == 4 && k == 3 ? 0x0f : w;
            fplt__put32(payload + 37 + 68 * k, voter);
            fplt__secagg_vote_sign(attack == 3 && k == 3 ? other : session, &set, N,
                                   run.world.secrets + 64 * voter, payload + 41 + 68 * k);
        }
        payload[41 + 68 * 3 + 40] ^= (uint8_t)(attack == 5);
        assert_int_equal(fplt__secagg_agent_answer(agent, FPLT__SECAGG_FINAL, payload, length,
                                                   answer, &size, &error),
                         attack ? FPLT_BAD_DATA : FPLT_OK);
        NO(fplt__secagg_agent_answer(agent, FPLT__SECAGG_FINAL, payload, length - 1, answer, &size,
                                     &error));
        NO(fplt__secagg_agent_answer(agent, FPLT__SECAGG_FINAL, payload, length - 68, answer, &size,
                                     &error));
        close_run(&run);
    }
}

/* The own share is given, never the own scalar: the scalar is what the commitment in the upload is of. */
static void own_share(void **state)
{
    struct run run;
    uint8_t upload[ROOM], answer[ROOM], made[32];
    uint64_t words[2 * COUNT] = {0};
    size_t size;
    (void)state;
    open_run(&run, 0x3f);
    fplt__secagg_agent_upload(run.world.agent[0], 0, words, COUNT, 8, upload);
    YES(ask(&run, 0, FPLT__SECAGG_FINAL, 0x3f, 0, answer, &size));
    assert_int_equal(size, 32 + N * 32);
    fplt__secagg_derive_of("commit", answer + 32, upload, 0, made);
    assert_memory_not_equal(made, upload + 32, 32);
    assert_true(fplt__share_good(upload, 0, 0, answer + 32, NULL));
    for (size_t b = 64; b < size; b++) /* boxes of zeros do not open */
        assert_int_equal(answer[b], 0xff);
    close_run(&run);
}

/* --- the coordinator's side: whom a lying member can harm --- */

static void pass(struct run *run, fplt__secagg_stage stage, uint8_t who, uint32_t liar)
{
    fplt_error error;
    uint8_t asked[ROOM], answer[ROOM];
    size_t size = fplt__secagg_total_question_size(run->total, stage), length;
    for (uint32_t i = 0; i < N; i++) {
        if (!(who >> i & 1))
            continue;
        fplt__secagg_total_question(run->total, stage, i, asked);
        YES(fplt__secagg_agent_answer(run->world.agent[i], stage, asked, size, answer, &length,
                                      &error));
        if (i == liar)
            memset(answer + 32, stage == FPLT__SECAGG_FINAL ? 5 : 0, length - 32);
        fplt_status status =
            fplt__secagg_total_answer(run->total, stage, i, answer, length, &error);
        assert_int_equal(status,
                         i == liar && stage == FPLT__SECAGG_PROPOSE ? FPLT_BAD_DATA : FPLT_OK);
        NO(fplt__secagg_total_answer(run->total, stage, i, answer, length - 1, &error));
        answer[3] ^= 1;
        NO(fplt__secagg_total_answer(run->total, stage, i, answer, length, &error));
    }
}

static void check_sum(struct run *run)
{
    fplt_error error;
    uint64_t words[2 * COUNT];
    uint32_t wrong;
    assert_true(fplt__secagg_total_is_open(run->total));
    assert_ok(fplt__secagg_total_unmask(run->total, &wrong, &error), error);
    fplt__secagg_total_words(run->total, words);
    for (size_t k = 0; k < COUNT; k++) {
        assert_int_equal(words[2 * k], run->sum[k]);
        assert_int_equal(words[2 * k + 1], (int64_t)run->sum[k] < 0 ? UINT64_MAX : 0);
    }
}

/* Every set of five or four, a silent member at the end; wrong shares of one holder are not used. */
static void dropouts(void **state)
{
    struct run run;
    (void)state;
    for (unsigned w = 1; w < 64; w++) {
        uint8_t left = (uint8_t)w;
        uint32_t count = fplt__set_count(&left, N), liar = N;
        if (count < T)
            continue;
        open_run(&run, left);
        if (count < N) {
            fplt__secagg_total_leave(run.total, &left);
            pass(&run, FPLT__SECAGG_MISSING, left, N);
            pass(&run, FPLT__SECAGG_PROPOSE, left, N);
        }
        for (uint32_t i = 0; i < N && count > T; i++)
            liar = left >> i & 1 ? i : liar;
        pass(&run, FPLT__SECAGG_FINAL, left, liar);
        check_sum(&run);
        close_run(&run);
    }
}

/* A member leaves after its upload: the others send theirs again, and the sum is without it. */
static void leaves_later(void **state)
{
    struct run run;
    fplt_error error;
    uint8_t five = 0x1f, four = 0x17;
    (void)state;
    open_run(&run, five);
    fplt__secagg_total_leave(run.total, &five);
    pass(&run, FPLT__SECAGG_MISSING, four, N);
    fplt__secagg_total_leave(run.total, &four);
    memset(run.sum, 0, sizeof run.sum);
    for (uint32_t i = 0; i < N; i++) {
        uint8_t payload[ROOM];
        uint64_t words[2 * COUNT] = {0};
        for (size_t k = 0; k < COUNT; k++)
            words[2 * k] = (uint64_t)(-(int64_t)(1000 * i) + (int64_t)k);
        size_t size = fplt__secagg_agent_size(run.world.agent[i], 0, COUNT, 8);
        fplt__secagg_agent_upload(run.world.agent[i], 0, words, COUNT, 8, payload);
        assert_int_equal(fplt__secagg_total_upload(run.total, i, payload, size, &error),
                         four >> i & 1 ? FPLT_OK : FPLT_BAD_DATA);
        for (size_t k = 0; k < COUNT && four >> i & 1; k++)
            run.sum[k] += words[2 * k];
    }
    pass(&run, FPLT__SECAGG_MISSING, four, N);
    pass(&run, FPLT__SECAGG_PROPOSE, four, N);
    pass(&run, FPLT__SECAGG_FINAL, four, N);
    check_sum(&run);
    close_run(&run);
}

/* A commitment that the shares do not meet, a vote that is not one, uploads of another size or session. */
static void lying_members(void **state)
{
    struct run run;
    fplt_error error;
    uint8_t payload[ROOM];
    uint32_t wrong = N, five = 0x1f;
    (void)state;
    open_run(&run, 0x1f);
    size_t size = fplt__secagg_total_size(run.total);
    memset(payload, 7, sizeof payload);
    NO(fplt__secagg_total_upload(run.total, 5, payload, size, &error));
    memcpy(payload, fplt__secagg_total_session(run.total), 32);
    NO(fplt__secagg_total_upload(run.total, 5, payload, size + 8, &error));
    NO(fplt__secagg_total_upload(run.total, 6, payload, size, &error));
    uint64_t words[2 * COUNT] = {0};
    fplt__secagg_agent_upload(run.world.agent[5], 0, words, COUNT, 8, payload);
    payload[32] ^= 1; /* its commitment */
    YES(fplt__secagg_total_upload(run.total, 5, payload, size, &error));
    pass(&run, FPLT__SECAGG_FINAL, 0x3f, N);
    assert_true(fplt__secagg_total_is_open(run.total));
    NO(fplt__secagg_total_unmask(run.total, &wrong, &error));
    assert_int_equal(wrong, 5);
    close_run(&run);
    open_run(&run, (uint8_t)five);
    fplt__secagg_total_leave(run.total, (const uint8_t[]){0x1f});
    pass(&run, FPLT__SECAGG_MISSING, 0x1f, N);
    pass(&run, FPLT__SECAGG_PROPOSE, 0x1f, 2);
    assert_int_equal(fplt__secagg_total_answers(run.total, FPLT__SECAGG_PROPOSE), 4);
    assert_false(fplt__secagg_total_has(run.total, FPLT__SECAGG_PROPOSE, 2));
    pass(&run, FPLT__SECAGG_FINAL, 0x1f, N);
    check_sum(&run);
    close_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),        cmocka_unit_test(once),          cmocka_unit_test(table),
        cmocka_unit_test(votes),        cmocka_unit_test(own_share),     cmocka_unit_test(dropouts),
        cmocka_unit_test(leaves_later), cmocka_unit_test(lying_members),
    };
    if (sodium_init() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
