#include "secagg/session.h"

#include <sodium.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "secagg/mask.h"
#include "secagg/planted.h"
#include "secagg/share.h"

enum { KEY = FPLT__SECAGG_KEY, VOTE = 4 + FPLT__SECAGG_SIGNATURE };

/* --- the table --- */

static int is_same(const uint8_t *a, const uint8_t *b, uint32_t members)
{
    return memcmp(a, b, fplt__set_bytes(members)) == 0;
}

int fplt__session_missing(fplt__session_state *state, uint32_t members, uint32_t threshold,
                          uint32_t i, const uint8_t *w)
{
    uint32_t count = fplt__set_count(w, members);
    const uint8_t *outer = FPLT__SECAGG_PLANTED(FPLT__GROWING_VIEW) ? state->cohort : state->view;
    if (!threshold || count == UINT32_MAX || count < threshold || !fplt__set_has(w, i))
        return 0;
    if (state->final && !state->voted && !FPLT__SECAGG_PLANTED(FPLT__LATE_SEEDS))
        return 0;
    if (!fplt__set_within(w, outer, members) || is_same(w, state->cohort, members))
        return 0;
    if (state->voted && !is_same(w, state->view, members) &&
        !FPLT__SECAGG_PLANTED(FPLT__SECOND_VOTE))
        return 0;
    state->asked = 1;
    memmove(state->view, w, fplt__set_bytes(members));
    return 1;
}

int fplt__session_propose(fplt__session_state *state, uint32_t members, const uint8_t *w)
{
    if (!state->asked || !is_same(w, state->view, members))
        return 0;
    state->voted = 1;
    return 1;
}

int fplt__session_final(fplt__session_state *state, uint32_t members, uint32_t threshold,
                        const uint8_t *w, uint32_t votes)
{
    if (votes ? !state->voted || !is_same(w, state->view, members) || votes < threshold
              : !(FPLT__SECAGG_PLANTED(FPLT__NO_VOTES) && is_same(w, state->view, members)) &&
                    ((state->asked && !FPLT__SECAGG_PLANTED(FPLT__WHOLE_AFTER_SEEDS)) ||
                     !is_same(w, state->cohort, members)))
        return 0;
    state->final = 1;
    return 1;
}

/* --- create --- */

struct instant {
    uint32_t incarnation;
    uint64_t round;
    unsigned exchange;
};

struct fplt__secagg_agent {
    fplt__secagg_plan plan; /* identities are a copy */
    uint32_t i;
    uint8_t root[KEY], secret[KEY], entry[FPLT__SECAGG_ENTRY], identity[64];
    uint8_t *identities; /* owned */
    /* the list at hand */
    int has_list;
    uint8_t keys[KEY], *list;
    uint8_t *shared, *shared_key; /* X25519 results, and the public keys they belong to */
    uint8_t *pair;
    /* what was announced */
    int announced;
    int refused; /* the list that came: `refusal` */
    uint8_t announced_keys[KEY], *announced_cohort;
    fplt_error refusal;
    /* training */
    int has_latest;
    struct instant latest;
    int has_session;
    uint8_t session[KEY], *cohort;
    fplt__session_state state;
    /* questions */
    int has_question;
    uint8_t question[KEY];
    struct instant asked;
    uint64_t version;
    /* memory of an upload */
    fplt__mask *mask;
    uint8_t *coefficient;
};

static fplt_status allocate(fplt__secagg_agent *agent, fplt_error *error)
{
    size_t members = agent->plan.members, set = fplt__set_bytes(agent->plan.members);
    const char *what = "keys of secure aggregation";
    fplt_status status;
    if ((status = fplt__alloc_into(&agent->identities, members, KEY, what, error)) ||
        (status = fplt__alloc_into(&agent->list, members, FPLT__SECAGG_ENTRY, what, error)) ||
        (status = fplt__alloc_into(&agent->shared, members, KEY, what, error)) ||
        (status = fplt__alloc_into(&agent->shared_key, members, KEY, what, error)) ||
        (status = fplt__alloc_into(&agent->pair, members, KEY, what, error)) ||
        (status = fplt__alloc_into(&agent->announced_cohort, set, 1, what, error)) ||
        (status = fplt__alloc_into(&agent->cohort, set, 1, what, error)) ||
        (status = fplt__alloc_into(&agent->state.view, set, 1, what, error)) ||
        (status = fplt__alloc_into(&agent->mask, members, sizeof *agent->mask, what, error)))
        return status;
    return fplt__alloc_into(&agent->coefficient, agent->plan.threshold + (size_t)1, KEY, what,
                            error);
}

fplt_status fplt__secagg_agent_create(const fplt__secagg_plan *plan, uint32_t i,
                                      const uint8_t root[FPLT__SECAGG_KEY],
                                      const uint8_t identity[64], fplt__secagg_agent **out,
                                      fplt_error *error)
{
    fplt__secagg_agent *agent;
    *out = NULL;
    if (plan->members < 2 || plan->members > FPLT__SECAGG_MEMBERS || i >= plan->members ||
        plan->threshold > plan->members)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "secure aggregation of %u members, but 2 to %d are legal",
                              plan->members, FPLT__SECAGG_MEMBERS);
    if (memcmp(identity + 32, plan->identity + (size_t)i * KEY, KEY) != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the plan names another identity for this agent than its own");
    fplt_status status = fplt__alloc_into(&agent, 1, sizeof *agent, "secure aggregation", error);
    if (status)
        return status;
    agent->plan = *plan;
    agent->i = i;
    if ((status = allocate(agent, error))) {
        fplt__secagg_agent_destroy(agent);
        return status;
    }
    memcpy(agent->identities, plan->identity, (size_t)plan->members * KEY);
    agent->plan.identity = agent->identities;
    agent->state.cohort = agent->cohort;
    memcpy(agent->root, root, sizeof agent->root);
    memcpy(agent->identity, identity, sizeof agent->identity);
    fplt__secagg_key_make(root, agent->secret, agent->entry);
    fplt__secagg_key_sign(&agent->plan, i, agent->entry, identity, agent->entry + KEY);
    *out = agent;
    return FPLT_OK;
}

static void wipe(void *memory, size_t size)
{
    if (memory)
        sodium_memzero(memory, size);
    fplt__free(memory);
}

void fplt__secagg_agent_destroy(fplt__secagg_agent *agent)
{
    if (!agent)
        return;
    size_t members = agent->plan.members;
    wipe(agent->shared, members * KEY);
    wipe(agent->pair, members * KEY);
    wipe(agent->mask, members * sizeof *agent->mask);
    wipe(agent->coefficient, (agent->plan.threshold + (size_t)1) * KEY);
    void *const open[] = {agent->identities,       agent->list,   agent->shared_key,
                          agent->announced_cohort, agent->cohort, agent->state.view};
    for (size_t k = 0; k < sizeof open / sizeof *open; k++)
        fplt__free(open[k]);
    wipe(agent, sizeof *agent);
}

const uint8_t *fplt__secagg_agent_entry(const fplt__secagg_agent *agent)
{
    return agent->entry;
}

const uint8_t *fplt__secagg_agent_keys(const fplt__secagg_agent *agent)
{
    return agent->has_list ? agent->keys : NULL;
}

/* --- the list and what is announced --- */

/* X25519 with the keys that changed, and the pair keys of the whole list. */
static fplt_status agree_on_pairs(fplt__secagg_agent *agent, const uint8_t *list,
                                  const uint8_t *keys, fplt_error *error)
{
    for (uint32_t j = 0; j < agent->plan.members; j++) {
        const uint8_t *key = list + (size_t)j * FPLT__SECAGG_ENTRY;
        uint8_t *shared = agent->shared + (size_t)j * KEY;
        uint8_t *known = agent->shared_key + (size_t)j * KEY;
        if (j == agent->i || !fplt__secagg_list_has(list, j))
            continue;
        if (memcmp(known, key, KEY) != 0) {
            memset(known, 0, KEY);
            if (crypto_scalarmult(shared, agent->secret, key))
                return fplt_error_set(error, FPLT_BAD_DATA,
                                      "the list of keys has a key of low order (member number %u)",
                                      j);
            memcpy(known, key, KEY);
        }
        fplt__secagg_pair(shared, keys, agent->i, j, agent->pair + (size_t)j * KEY);
    }
    return FPLT_OK;
}

static fplt_status take_list(fplt__secagg_agent *agent, const uint8_t *keys, const uint8_t *list,
                             fplt_error *error)
{
    uint8_t made[KEY];
    const uint8_t *own = list + (size_t)agent->i * FPLT__SECAGG_ENTRY;
    fplt__secagg_list_hash(&agent->plan, list, made);
    if (memcmp(made, keys, KEY) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the list of keys is not the one that the session names");
    if (memcmp(own, agent->entry, KEY) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the list of keys has another key for this agent than that of this "
                              "process");
    fplt_status status = fplt__secagg_list_check(&agent->plan, list, error);
    if (status)
        return status;
    agent->has_list = 0;
    if ((status = agree_on_pairs(agent, list, keys, error)))
        return status;
    memcpy(agent->list, list, (size_t)agent->plan.members * FPLT__SECAGG_ENTRY);
    memcpy(agent->keys, keys, KEY);
    agent->has_list = 1;
    /* pairs of the session at hand are gone with the list before */
    agent->has_session = agent->has_question = 0;
    return FPLT_OK;
}

fplt_status fplt__secagg_agent_announce(fplt__secagg_agent *agent, const uint8_t *payload,
                                        size_t size, fplt_error *error)
{
    uint32_t members = agent->plan.members;
    size_t set = fplt__set_bytes(members), list = (size_t)members * FPLT__SECAGG_ENTRY;
    agent->announced = agent->refused = 0;
    if (size != KEY + set && size != KEY + set + list)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a session of %zu bytes, but the plan has %u members", size, members);
    if (fplt__set_count(payload + KEY, members) == UINT32_MAX)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a session with members that are not on the roster");
    memcpy(agent->announced_keys, payload, KEY);
    memcpy(agent->announced_cohort, payload + KEY, set);
    agent->announced = 1;
    if (size > KEY + set && !(agent->has_list && memcmp(agent->keys, payload, KEY) == 0))
        agent->refused = take_list(agent, payload, payload + KEY + set, &agent->refusal) != FPLT_OK;
    return FPLT_OK;
}

void fplt__secagg_agent_withdraw(fplt__secagg_agent *agent)
{
    agent->announced = agent->refused = 0;
}

int fplt__secagg_agent_session(const fplt__secagg_agent *agent, const fplt__secagg_task *task,
                               uint8_t session[FPLT__SECAGG_KEY])
{
    fplt__secagg_task announced = *task;
    announced.cohort = agent->announced_cohort;
    if (agent->announced)
        fplt__secagg_session(agent->announced_keys, agent->plan.members, &announced, session);
    return agent->announced;
}

/* --- tasks and questions --- */

/* -1, 0 or 1: a comes before b, is b, comes after b. */
static int compare(const struct instant *a, const struct instant *b)
{
    if (a->incarnation != b->incarnation)
        return a->incarnation < b->incarnation ? -1 : 1;
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    return a->exchange < b->exchange ? -1 : a->exchange > b->exchange;
}

/* Whether the announced session can be one of this agent: the list is held, and all of the cohort are in it. */
static fplt_status check_announced(const fplt__secagg_agent *agent, int whole, fplt_error *error)
{
    const uint8_t *cohort = agent->announced_cohort;
    uint32_t members = agent->plan.members, count = fplt__set_count(cohort, members);
    if (!agent->announced)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a task without a session, but the plan wants secure aggregation");
    if (agent->refused)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s", agent->refusal.text);
    if (!agent->has_list || memcmp(agent->keys, agent->announced_keys, KEY) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a session with a list of keys that this process does not hold");
    if (!fplt__set_has(cohort, agent->i))
        return fplt_error_set(error, FPLT_BAD_DATA, "a session in whose cohort this agent is not");
    for (uint32_t j = 0; j < members; j++)
        if (fplt__set_has(cohort, j) && !fplt__secagg_list_has(agent->list, j))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "a session with member number %u, which has no key", j);
    if (whole && count != members)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a session of %u members, but the plan wants sums over all %u", count,
                              members);
    if (!whole && (count < agent->plan.threshold || count > agent->plan.most))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a session of %u members, but the plan wants %u to %u", count,
                              agent->plan.threshold, agent->plan.most);
    return FPLT_OK;
}

fplt_status fplt__secagg_agent_train(fplt__secagg_agent *agent, const fplt__secagg_task *task,
                                     uint32_t least, fplt_error *error)
{
    const struct instant now = {task->incarnation, task->round, task->exchange};
    fplt_status status = check_announced(agent, !agent->plan.threshold, error);
    if (status)
        return status;
    uint32_t count = fplt__set_count(agent->announced_cohort, agent->plan.members);
    if (count < least)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a session of %u members, but the policy wants at least %u", count,
                              least);
    if (agent->has_latest && compare(&now, &agent->latest) <= 0 &&
        !FPLT__SECAGG_PLANTED(FPLT__ROUND_TWICE))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "round %llu was computed before: its masks are used up",
                              (unsigned long long)task->round);
    agent->has_latest = agent->has_session = 1;
    agent->latest = now;
    memcpy(agent->cohort, agent->announced_cohort, fplt__set_bytes(agent->plan.members));
    memcpy(agent->state.view, agent->cohort, fplt__set_bytes(agent->plan.members));
    agent->state.asked = agent->state.voted = agent->state.final = 0;
    fplt__secagg_agent_session(agent, task, agent->session);
    return FPLT_OK;
}

fplt_status fplt__secagg_agent_question(fplt__secagg_agent *agent, const fplt__secagg_task *task,
                                        uint64_t version, fplt_error *error)
{
    const struct instant now = {task->incarnation, task->round, 0};
    fplt_status status = check_announced(agent, 1, error);
    if (status)
        return status;
    int order = agent->version ? compare(&now, &agent->asked) : 1;
    if ((order < 0 || (order == 0 && version + 1 != agent->version)) &&
        !FPLT__SECAGG_PLANTED(FPLT__OTHER_STATE))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a question of round %llu after the state has changed: its masks "
                              "belong to another answer",
                              (unsigned long long)task->round);
    agent->asked = now;
    agent->version = version + 1; /* 0: none was asked */
    agent->has_question = 1;
    fplt__secagg_agent_session(agent, task, agent->question);
    return FPLT_OK;
}

/* --- uploads --- */

size_t fplt__secagg_agent_size(const fplt__secagg_agent *agent, int is_question, size_t count,
                               unsigned width)
{
    size_t front = KEY;
    if (agent->plan.threshold && !is_question)
        front += KEY + FPLT__SHARE_SEALED *
                           (size_t)(fplt__set_count(agent->cohort, agent->plan.members) - 1);
    return front + count * width;
}

/* own_i, which the scalar and the polynomial of a session are made from. */
static void polynomial(fplt__secagg_agent *agent)
{
    uint8_t own[KEY];
    fplt__secagg_derive("own", agent->root, agent->session, own);
    fplt__share_polynomial(own, agent->plan.threshold, agent->coefficient);
    sodium_memzero(own, sizeof own);
}

/* Commitment and sealed shares; returns the bytes written. */
static size_t put_shares(fplt__secagg_agent *agent, uint8_t *to)
{
    uint8_t share[KEY];
    size_t at = KEY;
    fplt__secagg_derive_of("commit", agent->coefficient, agent->session, agent->i, to);
    for (uint32_t j = 0; j < agent->plan.members; j++) {
        if (j == agent->i || !fplt__set_has(agent->cohort, j))
            continue;
        fplt__share_of(agent->coefficient, agent->plan.threshold, j, share);
        fplt__share_seal(agent->pair + (size_t)j * KEY, agent->session, agent->i, j, share,
                         to + at);
        at += FPLT__SHARE_SEALED;
    }
    sodium_memzero(share, sizeof share);
    return at;
}

void fplt__secagg_agent_upload(fplt__secagg_agent *agent, int is_question, const uint64_t *words,
                               size_t count, unsigned width, uint8_t *payload)
{
    FPLT__ASSERT(is_question ? agent->has_question : agent->has_session);
    const uint8_t *session = is_question ? agent->question : agent->session;
    size_t masks = 0, at = KEY;
    memcpy(payload, session, KEY);
    if (agent->plan.threshold && !is_question) {
        polynomial(agent);
        at += put_shares(agent, payload + at);
        fplt__secagg_derive_of("self-mask", agent->coefficient, session, agent->i,
                               agent->mask[masks].seed);
        agent->mask[masks++].sign = 1;
    }
    for (uint32_t j = 0; j < agent->plan.members; j++) {
        if (j == agent->i || !(is_question || fplt__set_has(agent->cohort, j)))
            continue;
        fplt__secagg_derive("mask", agent->pair + (size_t)j * KEY, session,
                            agent->mask[masks].seed);
        agent->mask[masks++].sign = j > agent->i ? 1 : -1;
    }
    fplt__mask_words(agent->mask, masks, words, count, width, payload + at);
    sodium_memzero(agent->mask, masks * sizeof *agent->mask);
    sodium_memzero(agent->coefficient, (agent->plan.threshold + (size_t)1) * KEY);
}

/* --- stages --- */

size_t fplt__secagg_agent_longest(const fplt__secagg_agent *agent)
{
    size_t most = KEY + (size_t)agent->plan.members * KEY;
    return most > KEY + FPLT__SECAGG_SIGNATURE ? most : KEY + FPLT__SECAGG_SIGNATURE;
}

static fplt_status refuse(const char *stage, fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s that does not fit what this agent has said in the session", stage);
}

/* Seeds with all of the cohort that are not in W. */
static size_t put_seeds(const fplt__secagg_agent *agent, const uint8_t *w, uint8_t *answer)
{
    size_t at = KEY;
    for (uint32_t j = 0; j < agent->plan.members; j++) {
        if (!fplt__set_has(agent->cohort, j) || fplt__set_has(w, j))
            continue;
        fplt__secagg_derive("mask", agent->pair + (size_t)j * KEY, agent->session, answer + at);
        at += KEY;
    }
    return at;
}

/* How many different members of W have signed it; UINT32_MAX where a vote is not one. */
static uint32_t count_votes(const fplt__secagg_agent *agent, const uint8_t *w, const uint8_t *vote,
                            uint32_t votes)
{
    uint8_t seen[(FPLT__SECAGG_MEMBERS + 7) / 8] = {0};
    for (uint32_t k = 0; k < votes; k++, vote += VOTE) {
        uint32_t i = fplt__get32(vote);
        if (i >= agent->plan.members || !fplt__set_has(w, i) || fplt__set_has(seen, i) ||
            !fplt__secagg_vote_valid(agent->session, w, agent->plan.members,
                                     agent->identities + (size_t)i * KEY, vote + 4))
            return UINT32_MAX;
        fplt__set_add(seen, i);
    }
    return votes;
}

/* The agent's shares of the members of W: its own, and those in the boxes. */
static size_t put_opened(fplt__secagg_agent *agent, const uint8_t *w, const uint8_t *box,
                         uint8_t *answer)
{
    size_t at = KEY;
    polynomial(agent);
    for (uint32_t i = 0; i < agent->plan.members; i++) {
        if (!fplt__set_has(w, i))
            continue;
        if (i == agent->i) {
            fplt__share_of(agent->coefficient, agent->plan.threshold, i, answer + at);
            if (FPLT__SECAGG_PLANTED(FPLT__OWN_SCALAR))
                memcpy(answer + at, agent->coefficient, KEY);
        } else {
            if (!fplt__share_open(agent->pair + (size_t)i * KEY, agent->session, i, agent->i, box,
                                  answer + at))
                memset(answer + at, 0xff, KEY);
            box += FPLT__SHARE_BOX;
        }
        at += KEY;
    }
    sodium_memzero(agent->coefficient, (agent->plan.threshold + (size_t)1) * KEY);
    return at;
}

static fplt_status answer_final(fplt__secagg_agent *agent, const uint8_t *w, const uint8_t *behind,
                                size_t left, uint8_t *answer, size_t *answer_size,
                                fplt_error *error)
{
    uint32_t members = agent->plan.members, count = fplt__set_count(w, members);
    if (left < 4 || count == UINT32_MAX || !fplt__set_has(w, agent->i))
        return refuse("FINAL", error);
    uint32_t votes = fplt__get32(behind);
    if (votes > members || left != 4 + (size_t)votes * VOTE + (size_t)(count - 1) * FPLT__SHARE_BOX)
        return refuse("FINAL", error);
    uint32_t valid = count_votes(agent, w, behind + 4, votes);
    if (valid == UINT32_MAX ||
        !fplt__session_final(&agent->state, members, agent->plan.threshold, w, valid))
        return refuse("FINAL", error);
    *answer_size = put_opened(agent, w, behind + 4 + (size_t)votes * VOTE, answer);
    return FPLT_OK;
}

fplt_status fplt__secagg_agent_answer(fplt__secagg_agent *agent, fplt__secagg_stage stage,
                                      const uint8_t *payload, size_t size, uint8_t *answer,
                                      size_t *answer_size, fplt_error *error)
{
    uint32_t members = agent->plan.members;
    size_t front = KEY + fplt__set_bytes(members);
    const uint8_t *w = payload + KEY;
    if (!agent->plan.threshold || !agent->has_session || size < front ||
        (stage != FPLT__SECAGG_FINAL && size != front) || memcmp(payload, agent->session, KEY) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a question about a session that is not at hand");
    memcpy(answer, agent->session, KEY);
    switch (stage) {
    case FPLT__SECAGG_MISSING:
        if (!fplt__session_missing(&agent->state, members, agent->plan.threshold, agent->i, w))
            return refuse("MISSING", error);
        *answer_size = put_seeds(agent, w, answer);
        return FPLT_OK;
    case FPLT__SECAGG_PROPOSE:
        if (!fplt__session_propose(&agent->state, members, w))
            return refuse("PROPOSE", error);
        fplt__secagg_vote_sign(agent->session, w, members, agent->identity, answer + KEY);
        *answer_size = KEY + FPLT__SECAGG_SIGNATURE;
        return FPLT_OK;
    default:
        return answer_final(agent, w, payload + front, size - front, answer, answer_size, error);
    }
}
