/* Any bytes as payloads of secure aggregation, on both sides: refused with a sentence, or answered as the table says. The
 * first byte of each piece says what it is and whether session, keys and list are set right, so that more is reached. */
#include "target.h"

#include <sodium.h>
#include <string.h>

#include "secagg/session.h"
#include "secagg/total.h"

enum { N = 5, T = 3, COUNT = 4, ENTRY = FPLT__SECAGG_ENTRY, FRONT = 33, ROOM = 4096 };

struct world {
    fplt__secagg_plan plan;
    uint8_t identities[N * 32], list[N * ENTRY], cohort, digest[32];
    fplt__secagg_agent *agent[N];
    fplt__secagg_total *total;
    fplt__secagg_task task;
};

static void open_world(struct world *world, uint32_t threshold)
{
    uint8_t secret[N][64];
    memset(world, 0, sizeof *world);
    world->plan.members = world->plan.most = N;
    world->plan.threshold = threshold;
    world->plan.identity = world->identities;
    world->cohort = 0x1f;
    world->task = (fplt__secagg_task){.kind = 1, .cohort = &world->cohort, .digest = world->digest};
    for (uint8_t i = 0; i < N; i++) {
        uint8_t seed[32] = {i};
        crypto_sign_seed_keypair(world->identities + 32 * i, secret[i], seed);
    }
    for (uint8_t i = 0; i < N; i++) {
        uint8_t root[32] = {7, i};
        promise(
            !fplt__secagg_agent_create(&world->plan, i, root, secret[i], &world->agent[i], NULL));
        memcpy(world->list + ENTRY * i, fplt__secagg_agent_entry(world->agent[i]), ENTRY);
    }
    promise(!fplt__secagg_total_create(&world->plan, &world->total, NULL));
    promise(!fplt__secagg_total_begin(world->total, &world->task, world->list, 0, COUNT, 8, NULL));
}

/* SESSION, then the task: the table's first lines. */
static void announce(struct world *world, uint8_t right, uint8_t *payload, size_t size)
{
    fplt_error error = {FPLT_OK, ""};
    uint8_t session[32], up[ROOM];
    uint64_t words[2 * COUNT] = {0};
    fplt__secagg_agent *agent = world->agent[0];
    if (right & 1 && size >= 32)
        fplt__secagg_list_hash(&world->plan, world->list, payload);
    if (right & 2 && size >= FRONT + N * ENTRY)
        memcpy(payload + FRONT, world->list, N * ENTRY);
    fplt_status status = fplt__secagg_agent_announce(agent, payload, size, &error);
    promise(!status || *error.text);
    if (status)
        return;
    world->task.round++;
    promise(fplt__secagg_agent_session(agent, &world->task, session));
    status = right & 4 ? fplt__secagg_agent_question(agent, &world->task, 1, &error)
                       : fplt__secagg_agent_train(agent, &world->task, 2, &error);
    promise(!status || *error.text);
    if (status)
        return;
    int question = (right & 4) != 0;
    promise(fplt__secagg_agent_size(agent, question, COUNT, 8) <= sizeof up);
    fplt__secagg_agent_upload(agent, question, words, COUNT, 8, up);
    promise(memcmp(up, session, 32) == 0);
}

/* A stage to an agent that is in the session: an answer is never longer than was said. */
static void ask(struct world *world, uint8_t right, uint8_t *payload, size_t size)
{
    fplt_error error = {FPLT_OK, ""};
    uint8_t session[32], answer[ROOM];
    size_t length = 0;
    fplt__secagg_agent *agent = world->agent[0];
    if (right & 1 && size >= 32 && fplt__secagg_agent_session(agent, &world->task, session))
        memcpy(payload, session, 32);
    fplt_status status = fplt__secagg_agent_answer(agent, (fplt__secagg_stage)(right / 2 % 3),
                                                   payload, size, answer, &length, &error);
    promise(status ? *error.text != 0 : length <= fplt__secagg_agent_longest(agent));
}

/* Uploads and answers to the coordinator. */
static void send(struct world *world, uint8_t right, uint8_t *payload, size_t size)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__secagg_stage stage = (fplt__secagg_stage)(right / 2 % 3);
    uint32_t wrong, i = right / 8 % (N + 1);
    if (right & 1 && size >= 32)
        memcpy(payload, fplt__secagg_total_session(world->total), 32);
    if (right & 128 && !world->plan.threshold)
        return; /* the machine refuses such answers: without a quorum none is asked for */
    if (right & 128)
        promise(!fplt__secagg_total_answer(world->total, stage, i, payload, size, &error) ||
                *error.text);
    else {
        fplt__secagg_total_forget(world->total);
        promise(!fplt__secagg_total_upload(world->total, i, payload, size, &error) || *error.text);
    }
    if (fplt__secagg_total_is_open(world->total))
        promise(!fplt__secagg_total_unmask(world->total, &wrong, &error) || wrong < N);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct world world;
    uint8_t piece[ROOM];
    if (size < 4 || sodium_init() < 0)
        return 0;
    open_world(&world, bytes[0] & 1 ? T : 0);
    for (size_t at = 1; at + 4 <= size;) { /* what, whether it is set right, length */
        size_t length = bytes[at + 2] | (size_t)bytes[at + 3] << 8;
        unsigned what = bytes[at] % 3;
        uint8_t right = bytes[at + 1];
        at += 4;
        length = length < size - at ? length : size - at;
        length = length < sizeof piece ? length : sizeof piece;
        memcpy(piece, bytes + at, length);
        (what == 0 ? announce : what == 1 ? ask : send)(&world, right, piece, length);
        at += length;
    }
    for (uint32_t i = 0; i < N; i++)
        fplt__secagg_agent_destroy(world.agent[i]);
    fplt__secagg_total_destroy(world.total);
    return 0;
}
