/* A round of secure aggregation with a quorum, in which single bytes of the payloads of MISSING, PROPOSE and FINAL, of
 * their answers and of uploads are changed on the way, cut off or added: refused with a sentence, or answered as the table
 * says. A round in which nothing was changed gives the sum over the members that are left, to the bit, for both widths of
 * numbers. The first byte says width and who leaves; each four behind it change one message: which, where, how. */
#include "target.h"

#include <sodium.h>
#include <string.h>

#include "base/bytes.h"
#include "secagg/session.h"
#include "secagg/total.h"

enum { N = 5, T = 3, COUNT = 3, ENTRY = FPLT__SECAGG_ENTRY, ROOM = 4096, CUT = 0, GROW = 255 };

struct world {
    fplt__secagg_plan plan;
    uint8_t identities[N * 32], list[N * ENTRY], cohort, left, digest[32];
    fplt__secagg_agent *agent[N];
    fplt__secagg_total *total;
    fplt__secagg_task task;
    unsigned width;
    uint64_t words[N][2 * COUNT];
    const uint8_t *change; /* four bytes each */
    size_t changes;
    unsigned messages; /* so far */
    int is_changed;
};

/* Numbers of both signs, so that a sum borrows and carries; the last is the largest that a plan with 8 bytes a number lets
 * through, a mean of 2^52 spacings and noise of 2^26. */
static void draw_words(struct world *world, uint32_t i)
{
    for (size_t k = 0; k < COUNT; k++) {
        int64_t value = ((int64_t)i - 2) * (INT64_C(1) << (10 * k + 20)) + (int64_t)k;
        if (k == COUNT - 1)
            value = ((INT64_C(1) << 52) + (1 << 26)) * (i == 0 ? 1 : -1);
        world->words[i][2 * k] = (uint64_t)value;
        world->words[i][2 * k + 1] = value < 0 ? UINT64_MAX : 0;
    }
}

static void open_world(struct world *world, uint8_t first)
{
    uint8_t secret[N][64], announced[33 + N * ENTRY];
    world->plan =
        (fplt__secagg_plan){.members = N, .threshold = T, .most = N, .identity = world->identities};
    world->width = first & 1 ? 16 : 8;
    world->cohort = (1 << N) - 1;
    world->left = (uint8_t)(world->cohort >> (first >> 1) % 3);
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
        draw_words(world, i);
    }
    promise(!fplt__secagg_total_create(&world->plan, &world->total, NULL));
    promise(!fplt__secagg_total_begin(world->total, &world->task, world->list, 0, COUNT,
                                      world->width, NULL));
    fplt__secagg_list_hash(&world->plan, world->list, announced);
    announced[32] = world->cohort;
    memcpy(announced + 33, world->list, N * ENTRY);
    for (uint32_t i = 0; i < N; i++) {
        promise(!fplt__secagg_agent_announce(world->agent[i], announced, sizeof announced, NULL));
        promise(!fplt__secagg_agent_train(world->agent[i], &world->task, 2, NULL));
    }
}

/* A message on its way; its size then. */
static size_t pass(struct world *world, uint8_t *payload, size_t size)
{
    unsigned number = world->messages++;
    for (size_t k = 0; k < world->changes; k++) {
        const uint8_t *change = world->change + 4 * k;
        if (change[0] != number)
            continue;
        size_t at = (change[1] | (size_t)change[2] << 8) % (size ? size : 1);
        if (change[3] == CUT)
            size = at;
        else if (change[3] == GROW)
            payload[size++] = change[1];
        else
            payload[at] ^= change[3];
        world->is_changed = 1;
        promise(size < ROOM);
    }
    return size;
}

static void upload(struct world *world, uint32_t i)
{
    uint8_t payload[ROOM];
    fplt_error error = {FPLT_OK, ""};
    size_t size = fplt__secagg_agent_size(world->agent[i], 0, COUNT, world->width);
    promise(size + 16 < ROOM && size == fplt__secagg_total_size(world->total));
    fplt__secagg_agent_upload(world->agent[i], 0, world->words[i], COUNT, world->width, payload);
    size = pass(world, payload, size);
    promise(!fplt__secagg_total_upload(world->total, i, payload, size, &error) || *error.text);
}

/* A question of the stage to member i, and its answer; whether the agent gave one. */
static int ask(struct world *world, fplt__secagg_stage stage, uint32_t i)
{
    uint8_t payload[ROOM], answer[ROOM];
    fplt_error error = {FPLT_OK, ""};
    size_t size = fplt__secagg_total_question_size(world->total, stage), length = 0;
    promise(size + 16 < ROOM && fplt__secagg_agent_longest(world->agent[i]) + 16 < ROOM);
    fplt__secagg_total_question(world->total, stage, i, payload);
    size = pass(world, payload, size);
    if (fplt__secagg_agent_answer(world->agent[i], stage, payload, size, answer, &length, &error)) {
        promise(*error.text && world->is_changed);
        return 0;
    }
    promise(length <= fplt__secagg_agent_longest(world->agent[i]));
    length = pass(world, answer, length);
    promise(!fplt__secagg_total_answer(world->total, stage, i, answer, length, &error) ||
            *error.text);
    return 1;
}

/* Agents that have given their shares of the whole cohort never tell a seed. */
static void ask_late(struct world *world, const int *has_shared)
{
    for (uint32_t i = 0; i < N && world->left == world->cohort; i++) {
        uint8_t payload[33], answer[ROOM];
        size_t length = 0;
        fplt_error error = {FPLT_OK, ""};
        memcpy(payload, fplt__secagg_total_session(world->total), 32);
        payload[32] = (uint8_t)(world->cohort & ~(1 << (i ? 0 : 1)));
        promise(!has_shared[i] ||
                fplt__secagg_agent_answer(world->agent[i], FPLT__SECAGG_MISSING, payload,
                                          sizeof payload, answer, &length, &error));
    }
}

static void check_sum(struct world *world)
{
    uint64_t words[2 * COUNT];
    uint32_t wrong = 0;
    fplt_error error = {FPLT_OK, ""};
    if (!fplt__secagg_total_is_open(world->total)) {
        promise(world->is_changed);
        return;
    }
    if (fplt__secagg_total_unmask(world->total, &wrong, &error)) {
        promise(world->is_changed && wrong < N && *error.text);
        return;
    }
    fplt__secagg_total_words(world->total, words);
    for (size_t k = 0; k < COUNT && !world->is_changed; k++) {
        unsigned __int128 sum = 0;
        for (uint32_t i = 0; i < N; i++)
            if (world->left >> i & 1)
                sum += (unsigned __int128)world->words[i][2 * k + 1] << 64 | world->words[i][2 * k];
        promise(words[2 * k] == (uint64_t)sum && words[2 * k + 1] == (uint64_t)(sum >> 64));
    }
}

static void play_round(struct world *world)
{
    int has_shared[N] = {0};
    for (uint32_t i = 0; i < N; i++)
        if (world->left >> i & 1)
            upload(world, i);
    if (world->left != world->cohort) {
        fplt__secagg_total_leave(world->total, &world->left);
        for (uint32_t i = 0; i < N; i++)
            if (world->left >> i & 1)
                ask(world, FPLT__SECAGG_MISSING, i);
        for (uint32_t i = 0; i < N; i++)
            if (world->left >> i & 1)
                ask(world, FPLT__SECAGG_PROPOSE, i);
    }
    if (world->left == world->cohort ||
        fplt__secagg_total_answers(world->total, FPLT__SECAGG_PROPOSE) >= T)
        for (uint32_t i = 0; i < N; i++)
            if (world->left >> i & 1)
                has_shared[i] = ask(world, FPLT__SECAGG_FINAL, i);
    ask_late(world, has_shared);
    check_sum(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct world world = {.messages = 0};
    if (size < 1 || sodium_init() < 0)
        return 0;
    world.change = bytes + 1;
    world.changes = (size - 1) / 4 < 16 ? (size - 1) / 4 : 16;
    open_world(&world, bytes[0]);
    play_round(&world);
    for (uint32_t i = 0; i < N; i++)
        fplt__secagg_agent_destroy(world.agent[i]);
    fplt__secagg_total_destroy(world.total);
    return 0;
}
