/* Keys and derived secrets of secure aggregation (docs/secure-aggregation.md). Every secret is a BLAKE2b hash with a
 * label of its own, so that no two uses can meet. Integers are little-endian, sets of members are bitmaps: bit i % 8 of
 * byte i / 8. */
#ifndef FPLT_SECAGG_KEYS_H
#define FPLT_SECAGG_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

enum {
    FPLT__SECAGG_KEY = 32,       /* bytes of a key, a seed, a hash, a scalar */
    FPLT__SECAGG_SIGNATURE = 64, /* Ed25519 */
    FPLT__SECAGG_ENTRY =
        96, /* of the list: public key and its signature; zeros: the member is absent */
    FPLT__SECAGG_MEMBERS = 1000 /* maximum: work and memory are quadratic */
};

/* What all sides know of a secure plan. */
typedef struct fplt__secagg_plan {
    uint8_t hash[FPLT__SECAGG_KEY]; /* of the plan's document */
    uint32_t members;               /* N, 2 to FPLT__SECAGG_MEMBERS */
    uint32_t threshold;             /* t; 0: mode all, a sum is over all members or there is none */
    uint32_t most;                  /* M: the largest cohort */
    const uint8_t *identity;        /* N Ed25519 public keys; borrowed */
} fplt__secagg_plan;

/* The task or question that a session belongs to. */
typedef struct fplt__secagg_task {
    unsigned kind, exchange; /* of the frame */
    uint32_t incarnation;
    uint64_t round;
    const uint8_t *cohort; /* bitmap; borrowed */
    const uint8_t *digest; /* of the broadcast's content, 32 bytes; borrowed */
} fplt__secagg_task;

typedef struct fplt__secagg_input {
    const void *bytes;
    size_t size;
} fplt__secagg_input;

/* H(label, key; inputs): BLAKE2b over u8 length of the label, label and inputs; `size` is 32 or 64, `key` NULL or 32
 * bytes. */
void fplt__secagg_hash(const char *label, const uint8_t *key, const fplt__secagg_input *inputs,
                       size_t count, uint8_t *out, size_t size);
/* H(label, key; session), and with the numbers of one or two members behind it. */
void fplt__secagg_derive(const char *label, const uint8_t *key, const uint8_t *session,
                         uint8_t out[FPLT__SECAGG_KEY]);
void fplt__secagg_derive_of(const char *label, const uint8_t *key, const uint8_t *session,
                            uint32_t i, uint8_t out[FPLT__SECAGG_KEY]);
void fplt__secagg_derive_pair(const char *label, const uint8_t *key, const uint8_t *session,
                              uint32_t i, uint32_t j, uint8_t out[FPLT__SECAGG_KEY]);

/* The X25519 key pair of a process. */
void fplt__secagg_key_make(const uint8_t root[FPLT__SECAGG_KEY], uint8_t secret[FPLT__SECAGG_KEY],
                           uint8_t public_key[FPLT__SECAGG_KEY]);
/* Signs public key `key` of member i of the plan with its Ed25519 identity (64 bytes, as libsodium has them). */
void fplt__secagg_key_sign(const fplt__secagg_plan *plan, uint32_t i,
                           const uint8_t key[FPLT__SECAGG_KEY], const uint8_t identity[64],
                           uint8_t signature[FPLT__SECAGG_SIGNATURE]);
int fplt__secagg_key_valid(const fplt__secagg_plan *plan, uint32_t i,
                           const uint8_t entry[FPLT__SECAGG_ENTRY]);

/* Whether entry i of a list is not all zeros. */
int fplt__secagg_list_has(const uint8_t *list, uint32_t i);
/* Refuses a list with a key that is not validly signed, or that two members have; `error` names the member by its
 * number. */
fplt_status fplt__secagg_list_check(const fplt__secagg_plan *plan, const uint8_t *list,
                                    fplt_error *error);
/* H(keys; plan, u32 N, N times public key). */
void fplt__secagg_list_hash(const fplt__secagg_plan *plan, const uint8_t *list,
                            uint8_t keys[FPLT__SECAGG_KEY]);

/* pair_ij of an X25519 result of the two. */
void fplt__secagg_pair(const uint8_t shared[FPLT__SECAGG_KEY], const uint8_t keys[FPLT__SECAGG_KEY],
                       uint32_t i, uint32_t j, uint8_t pair[FPLT__SECAGG_KEY]);
/* The session of a task under these keys. */
void fplt__secagg_session(const uint8_t keys[FPLT__SECAGG_KEY], uint32_t members,
                          const fplt__secagg_task *task, uint8_t session[FPLT__SECAGG_KEY]);

/* Ed25519 signature of a vote: this session ends with the members W. */
void fplt__secagg_vote_sign(const uint8_t *session, const uint8_t *w, uint32_t members,
                            const uint8_t identity[64], uint8_t signature[FPLT__SECAGG_SIGNATURE]);
int fplt__secagg_vote_valid(const uint8_t *session, const uint8_t *w, uint32_t members,
                            const uint8_t *identity,
                            const uint8_t signature[FPLT__SECAGG_SIGNATURE]);

/* What sites compare by telephone: ten groups of four hexadecimal digits, the first 20 bytes of
 * H(roster; u32 N, identities). */
enum { FPLT__SECAGG_ROSTER_TEXT = 10 * 5 };
void fplt__secagg_roster(const uint8_t *identity, uint32_t members,
                         char text[FPLT__SECAGG_ROSTER_TEXT]);

/* Overwrites a secret that is not needed any more. */
void fplt__secagg_wipe(void *secret, size_t size);

/* --- bitmaps of members --- */

static inline int fplt__set_has(const uint8_t *set, uint32_t i)
{
    return set[i / 8] >> (i % 8) & 1;
}
static inline void fplt__set_add(uint8_t *set, uint32_t i)
{
    set[i / 8] = (uint8_t)(set[i / 8] | 1u << (i % 8));
}
static inline size_t fplt__set_bytes(uint32_t members)
{
    return (members + 7) / 8;
}
/* Number of members; UINT32_MAX where a bit past the last member is set. */
uint32_t fplt__set_count(const uint8_t *set, uint32_t members);
int fplt__set_within(const uint8_t *inner, const uint8_t *outer, uint32_t members);

#endif
