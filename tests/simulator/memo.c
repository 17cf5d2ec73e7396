/* Remembers what pure functions of the wire said. Most messages of a schedule have been sent before, by another
 * schedule of the same algorithm: then the same bytes have the same answer, and nobody works it out again.
 * The linker puts these in the place of the functions (--wrap). Keys are compared whole; now and then an answer
 * is worked out all the same, and must be the one remembered. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "wire/message.h"

enum { SLOTS = 1 << 16, AGAIN = 64 };

/* A key with its answer in one piece of memory; a newer one takes the place of an older. */
typedef struct memo {
    struct slot {
        uint64_t hash;
        size_t key, answer; /* bytes */
        uint8_t *bytes;
    } slot[SLOTS];
    unsigned found; /* how often, to look again now and then */
} memo;

static uint64_t hash_of(const void *bytes, size_t size)
{
    uint64_t hash = size, word;
    const uint8_t *at = bytes;
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    word = 0;
    if (size)
        memcpy(&word, at, size);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* The slot with the answer, or NULL: then `hash` is for `keep`. */
static const struct slot *find(const memo *in, const void *key, size_t size, uint64_t *hash)
{
    *hash = hash_of(key, size);
    const struct slot *slot = &in->slot[*hash % SLOTS];
    return slot->bytes && slot->hash == *hash && slot->key == size &&
                   (!size || memcmp(slot->bytes, key, size) == 0)
               ? slot
               : NULL;
}

static void keep(memo *in, uint64_t hash, const void *key, size_t size, const void *answer,
                 size_t length)
{
    struct slot *slot = &in->slot[hash % SLOTS];
    uint8_t *bytes = malloc(size + length);
    if (!bytes)
        exit(2);
    if (size)
        memcpy(bytes, key, size);
    memcpy(bytes + size, answer, length);
    free(slot->bytes);
    *slot = (struct slot){hash, size, length, bytes};
}

/* Whether this answer is to be worked out all the same. */
static int is_again(memo *of)
{
    return ++of->found % AGAIN == 0;
}

static void compare(const struct slot *slot, const void *answer, size_t length)
{
    if (slot->answer == length && memcmp(slot->bytes + slot->key, answer, length) == 0)
        return;
    fprintf(stderr, "simulator: the same message, and another answer than before\n");
    exit(3);
}

/* --- in the place of others --- */

/* The text of a message; `write` is the function that makes it. */
static fplt_status write_once(memo *in, const void *message, size_t size, char **text,
                              fplt_status (*write)(const void *, char **, fplt_error *),
                              fplt_error *error)
{
    uint64_t hash;
    const struct slot *slot = find(in, message, size, &hash);
    if (slot && !is_again(in)) {
        *text = fplt__strdup((char *)slot->bytes + slot->key);
        return *text ? FPLT_OK : FPLT_NO_MEMORY;
    }
    fplt_status status = write(message, text, error);
    if (slot)
        compare(slot, *text, strlen(*text) + 1);
    else if (!status)
        keep(in, hash, message, size, *text, strlen(*text) + 1);
    return status;
}

#define WRITE_ONCE(what)                                                                 \
    fplt_status __real_fplt__##what##_text(const fplt__##what *, char **, fplt_error *); \
    fplt_status __wrap_fplt__##what##_text(const fplt__##what *, char **, fplt_error *); \
    static fplt_status write_##what(const void *message, char **text, fplt_error *error) \
    {                                                                                    \
        return __real_fplt__##what##_text(message, text, error);                         \
    }                                                                                    \
    fplt_status __wrap_fplt__##what##_text(const fplt__##what *message, char **text,     \
                                           fplt_error *error)                            \
    {                                                                                    \
        static memo own;                                                                 \
        return write_once(&own, message, sizeof *message, text, write_##what, error);    \
    }

/* Of a message that is read into a struct; `read` is the function that does it, `answer` where to. */
static fplt_status read_once(memo *in, const void *text, size_t size, void *answer, size_t length,
                             fplt_status (*read)(const void *, size_t, void *, fplt_error *),
                             fplt_error *error)
{
    uint64_t hash;
    const struct slot *slot = find(in, text, size, &hash);
    if (slot && !is_again(in)) {
        memcpy(answer, slot->bytes + slot->key, length);
        return FPLT_OK;
    }
    fplt_status status = read(text, size, answer, error);
    if (slot)
        compare(slot, answer, length);
    else if (!status)
        keep(in, hash, text, size, answer, length);
    return status;
}

#define READ_ONCE(what)                                                                            \
    fplt_status __real_fplt__##what##_read(const void *, size_t, fplt__##what *, fplt_error *);    \
    fplt_status __wrap_fplt__##what##_read(const void *, size_t, fplt__##what *, fplt_error *);    \
    static fplt_status read_##what(const void *text, size_t size, void *answer, fplt_error *error) \
    {                                                                                              \
        return __real_fplt__##what##_read(text, size, answer, error);                              \
    }                                                                                              \
    fplt_status __wrap_fplt__##what##_read(const void *text, size_t size, fplt__##what *answer,    \
                                           fplt_error *error)                                      \
    {                                                                                              \
        static memo own;                                                                           \
        return read_once(&own, text, size, answer, sizeof *answer, read_##what, error);            \
    }

/* Not the answer to a join, of which bytes between its members are nobody's. */
WRITE_ONCE(report)
READ_ONCE(report)
READ_ONCE(joined)
WRITE_ONCE(consent)
READ_ONCE(consent)
WRITE_ONCE(fault)
READ_ONCE(fault)

fplt__digest __real_fplt__body_hash(const void *bytes, size_t size);
fplt__digest __wrap_fplt__body_hash(const void *bytes, size_t size);
fplt__digest __wrap_fplt__body_hash(const void *bytes, size_t size)
{
    static memo own;
    uint64_t hash;
    fplt__digest digest;
    const struct slot *slot = find(&own, bytes, size, &hash);
    if (slot && !is_again(&own)) {
        memcpy(&digest, slot->bytes + slot->key, sizeof digest);
        return digest;
    }
    digest = __real_fplt__body_hash(bytes, size);
    if (slot)
        compare(slot, &digest, sizeof digest);
    else
        keep(&own, hash, bytes, size, &digest, sizeof digest);
    return digest;
}

int __real_crypto_auth(unsigned char *out, const unsigned char *in, unsigned long long size,
                       const unsigned char *key);
int __wrap_crypto_auth(unsigned char *out, const unsigned char *in, unsigned long long size,
                       const unsigned char *key);
int __wrap_crypto_auth(unsigned char *out, const unsigned char *in, unsigned long long size,
                       const unsigned char *key)
{
    enum { KEY = 32, MAC = 32, MAX = 128 };
    static memo own;
    uint64_t hash;
    uint8_t both[KEY + MAX];
    if (size > MAX)
        return __real_crypto_auth(out, in, size, key);
    memcpy(both, key, KEY);
    memcpy(both + KEY, in, size);
    const struct slot *slot = find(&own, both, KEY + size, &hash);
    if (slot && !is_again(&own)) {
        memcpy(out, slot->bytes + slot->key, MAC);
        return 0;
    }
    int status = __real_crypto_auth(out, in, size, key);
    if (slot)
        compare(slot, out, MAC);
    else if (!status)
        keep(&own, hash, both, KEY + size, out, MAC);
    return status;
}
