#include "secagg/keys.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"

/* --- hashes --- */

void fplt__secagg_hash(const char *label, const uint8_t *key, const fplt__secagg_input *inputs,
                       size_t count, uint8_t *out, size_t size)
{
    crypto_generichash_state state;
    uint8_t length = (uint8_t)strlen(label);
    crypto_generichash_init(&state, key, key ? FPLT__SECAGG_KEY : 0, size);
    crypto_generichash_update(&state, &length, 1);
    crypto_generichash_update(&state, (const uint8_t *)label, length);
    for (size_t k = 0; k < count; k++)
        crypto_generichash_update(&state, inputs[k].bytes, inputs[k].size);
    crypto_generichash_final(&state, out, size);
    sodium_memzero(&state, sizeof state);
}

void fplt__secagg_derive(const char *label, const uint8_t *key, const uint8_t *session,
                         uint8_t out[FPLT__SECAGG_KEY])
{
    const fplt__secagg_input input = {session, FPLT__SECAGG_KEY};
    fplt__secagg_hash(label, key, &input, 1, out, FPLT__SECAGG_KEY);
}

void fplt__secagg_derive_of(const char *label, const uint8_t *key, const uint8_t *session,
                            uint32_t i, uint8_t out[FPLT__SECAGG_KEY])
{
    uint8_t number[4];
    fplt__put32(number, i);
    const fplt__secagg_input inputs[] = {{session, FPLT__SECAGG_KEY}, {number, sizeof number}};
    fplt__secagg_hash(label, key, inputs, 2, out, FPLT__SECAGG_KEY);
}

void fplt__secagg_derive_pair(const char *label, const uint8_t *key, const uint8_t *session,
                              uint32_t i, uint32_t j, uint8_t out[FPLT__SECAGG_KEY])
{
    uint8_t numbers[8];
    fplt__put32(numbers, i);
    fplt__put32(numbers + 4, j);
    const fplt__secagg_input inputs[] = {{session, FPLT__SECAGG_KEY}, {numbers, sizeof numbers}};
    fplt__secagg_hash(label, key, inputs, 2, out, FPLT__SECAGG_KEY);
}

/* --- keys --- */

void fplt__secagg_key_make(const uint8_t root[FPLT__SECAGG_KEY], uint8_t secret[FPLT__SECAGG_KEY],
                           uint8_t public_key[FPLT__SECAGG_KEY])
{
    fplt__secagg_hash("x25519", root, NULL, 0, secret, FPLT__SECAGG_KEY);
    crypto_scalarmult_base(public_key, secret);
}

static const char key_label[] = "fedplt-secagg-1 key\n";
static const char vote_label[] = "fedplt-secagg-1 vote\n";
enum { KEY_LABEL = sizeof key_label - 1, VOTE_LABEL = sizeof vote_label - 1 };
enum { KEY_TEXT = KEY_LABEL + FPLT__SECAGG_KEY + 4 + FPLT__SECAGG_KEY };
enum { VOTE_TEXT = VOTE_LABEL + FPLT__SECAGG_KEY + (FPLT__SECAGG_MEMBERS + 7) / 8 };

static void key_text(const fplt__secagg_plan *plan, uint32_t i, const uint8_t *key,
                     uint8_t text[KEY_TEXT])
{
    memcpy(text, key_label, KEY_LABEL);
    memcpy(text + KEY_LABEL, plan->hash, FPLT__SECAGG_KEY);
    fplt__put32(text + KEY_LABEL + FPLT__SECAGG_KEY, i);
    memcpy(text + KEY_LABEL + FPLT__SECAGG_KEY + 4, key, FPLT__SECAGG_KEY);
}

void fplt__secagg_key_sign(const fplt__secagg_plan *plan, uint32_t i,
                           const uint8_t key[FPLT__SECAGG_KEY], const uint8_t identity[64],
                           uint8_t signature[FPLT__SECAGG_SIGNATURE])
{
    uint8_t text[KEY_TEXT];
    key_text(plan, i, key, text);
    crypto_sign_detached(signature, NULL, text, sizeof text, identity);
}

int fplt__secagg_key_valid(const fplt__secagg_plan *plan, uint32_t i,
                           const uint8_t entry[FPLT__SECAGG_ENTRY])
{
    uint8_t text[KEY_TEXT];
    FPLT__ASSERT(i < plan->members);
    key_text(plan, i, entry, text);
    return crypto_sign_verify_detached(entry + FPLT__SECAGG_KEY, text, sizeof text,
                                       plan->identity + (size_t)i * FPLT__SECAGG_KEY) == 0;
}

/* --- the list of keys --- */

int fplt__secagg_list_has(const uint8_t *list, uint32_t i)
{
    return !sodium_is_zero(list + (size_t)i * FPLT__SECAGG_ENTRY, FPLT__SECAGG_ENTRY);
}

/* Whether a member before i has the same public key. */
static int is_repeated(const uint8_t *list, uint32_t i)
{
    const uint8_t *entry = list + (size_t)i * FPLT__SECAGG_ENTRY;
    for (uint32_t j = 0; j < i; j++)
        if (memcmp(list + (size_t)j * FPLT__SECAGG_ENTRY, entry, FPLT__SECAGG_KEY) == 0)
            return 1;
    return 0;
}

fplt_status fplt__secagg_list_check(const fplt__secagg_plan *plan, const uint8_t *list,
                                    fplt_error *error)
{
    for (uint32_t i = 0; i < plan->members; i++) {
        if (!fplt__secagg_list_has(list, i))
            continue;
        if (is_repeated(list, i))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "the list of keys has one key for two members (number %u)", i);
        if (!fplt__secagg_key_valid(plan, i, list + (size_t)i * FPLT__SECAGG_ENTRY))
            return fplt_error_set(
                error, FPLT_BAD_DATA,
                "the list of keys has a key of member number %u that its identity did not sign", i);
    }
    return FPLT_OK;
}

void fplt__secagg_list_hash(const fplt__secagg_plan *plan, const uint8_t *list,
                            uint8_t keys[FPLT__SECAGG_KEY])
{
    crypto_generichash_state state;
    uint8_t front[5] = {4, 'k', 'e', 'y', 's'}, number[4];
    crypto_generichash_init(&state, NULL, 0, FPLT__SECAGG_KEY);
    crypto_generichash_update(&state, front, sizeof front);
    crypto_generichash_update(&state, plan->hash, FPLT__SECAGG_KEY);
    fplt__put32(number, plan->members);
    crypto_generichash_update(&state, number, sizeof number);
    for (uint32_t i = 0; i < plan->members; i++)
        crypto_generichash_update(&state, list + (size_t)i * FPLT__SECAGG_ENTRY, FPLT__SECAGG_KEY);
    crypto_generichash_final(&state, keys, FPLT__SECAGG_KEY);
}

/* --- pairs, sessions, votes --- */

void fplt__secagg_pair(const uint8_t shared[FPLT__SECAGG_KEY], const uint8_t keys[FPLT__SECAGG_KEY],
                       uint32_t i, uint32_t j, uint8_t pair[FPLT__SECAGG_KEY])
{
    fplt__secagg_derive_pair("pair", shared, keys, i < j ? i : j, i < j ? j : i, pair);
}

void fplt__secagg_session(const uint8_t keys[FPLT__SECAGG_KEY], uint32_t members,
                          const fplt__secagg_task *task, uint8_t session[FPLT__SECAGG_KEY])
{
    uint8_t head[18] = {(uint8_t)task->kind, (uint8_t)task->exchange};
    fplt__put32(head + 2, task->incarnation);
    fplt__put64(head + 6, task->round);
    fplt__put32(head + 14, members);
    const fplt__secagg_input inputs[] = {{keys, FPLT__SECAGG_KEY},
                                         {head, sizeof head},
                                         {task->cohort, fplt__set_bytes(members)},
                                         {task->digest, FPLT__SECAGG_KEY}};
    fplt__secagg_hash("session", NULL, inputs, 4, session, FPLT__SECAGG_KEY);
}

static size_t vote_text(const uint8_t *session, const uint8_t *w, uint32_t members,
                        uint8_t text[VOTE_TEXT])
{
    FPLT__ASSERT(members <= FPLT__SECAGG_MEMBERS);
    memcpy(text, vote_label, VOTE_LABEL);
    memcpy(text + VOTE_LABEL, session, FPLT__SECAGG_KEY);
    memcpy(text + VOTE_LABEL + FPLT__SECAGG_KEY, w, fplt__set_bytes(members));
    return VOTE_LABEL + FPLT__SECAGG_KEY + fplt__set_bytes(members);
}

void fplt__secagg_vote_sign(const uint8_t *session, const uint8_t *w, uint32_t members,
                            const uint8_t identity[64], uint8_t signature[FPLT__SECAGG_SIGNATURE])
{
    uint8_t text[VOTE_TEXT];
    size_t size = vote_text(session, w, members, text);
    crypto_sign_detached(signature, NULL, text, size, identity);
}

int fplt__secagg_vote_valid(const uint8_t *session, const uint8_t *w, uint32_t members,
                            const uint8_t *identity,
                            const uint8_t signature[FPLT__SECAGG_SIGNATURE])
{
    uint8_t text[VOTE_TEXT];
    size_t size = vote_text(session, w, members, text);
    return crypto_sign_verify_detached(signature, text, size, identity) == 0;
}

void fplt__secagg_roster(const uint8_t *identity, uint32_t members,
                         char text[FPLT__SECAGG_ROSTER_TEXT])
{
    uint8_t number[4], hash[FPLT__SECAGG_KEY];
    fplt__put32(number, members);
    const fplt__secagg_input inputs[] = {{number, sizeof number},
                                         {identity, (size_t)members * FPLT__SECAGG_KEY}};
    fplt__secagg_hash("roster", NULL, inputs, 2, hash, sizeof hash);
    for (size_t g = 0; g < 10; g++)
        snprintf(text + 5 * g, 6, "%02x%02x%s", hash[2 * g], hash[2 * g + 1], g < 9 ? " " : "");
}

void fplt__secagg_wipe(void *secret, size_t size)
{
    sodium_memzero(secret, size);
}

/* --- bitmaps --- */

uint32_t fplt__set_count(const uint8_t *set, uint32_t members)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < members; i++)
        count += (uint32_t)fplt__set_has(set, i);
    for (uint32_t i = members; i < 8 * fplt__set_bytes(members); i++)
        if (fplt__set_has(set, i))
            return UINT32_MAX;
    return count;
}

int fplt__set_within(const uint8_t *inner, const uint8_t *outer, uint32_t members)
{
    for (size_t k = 0; k < fplt__set_bytes(members); k++)
        if (inner[k] & ~outer[k])
            return 0;
    return 1;
}
