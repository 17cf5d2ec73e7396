/* Digests of the federation. */
#include "wire/hash.h"

#include <string.h>

#include <sodium.h>

#include "base/bytes.h"
#include "base/parallel.h"
#include "wire/lanes.h"

enum {
    SHARE = 32,             /* pieces that one hand takes at a time */
    BATCH = 512,            /* pieces whose digests are kept */
    WORTH_SHARING = 1 << 18 /* bytes: below that, waking a thread costs more than it saves */
};

fplt__digest fplt__hash(const fplt__input *inputs, size_t count)
{
    fplt__digest digest;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, FPLT__HASH);
    for (size_t i = 0; i < count; i++)
        crypto_generichash_update(&state, inputs[i].bytes, inputs[i].size);
    crypto_generichash_final(&state, digest.byte, FPLT__HASH);
    return digest;
}

fplt__digest fplt__hash_bytes(const void *bytes, size_t size)
{
    return fplt__hash(&(fplt__input){bytes, size}, 1);
}

/* Pieces of a body and their digests. */
struct pieces {
    const uint8_t *bytes;
    size_t size, count;
    uint8_t (*digest)[FPLT__HASH];
};

/* Pieces first .. end - 1; only the last of all may be shorter. */
static void hash_pieces(const struct pieces *pieces, size_t first, size_t end)
{
    size_t k = first, full = pieces->size / FPLT__PIECE;
    full = full < end ? full : end;
    while (fplt__lanes_there() && k + 1 < full) { /* one alone is quicker by itself */
        size_t count = full - k < FPLT__LANES ? full - k : FPLT__LANES;
        fplt__lanes_hash(pieces->bytes + k * FPLT__PIECE, FPLT__PIECE, count, pieces->digest[k]);
        k += count;
    }
    for (; k < end; k++) {
        size_t at = k * FPLT__PIECE, left = pieces->size - at;
        crypto_generichash(pieces->digest[k], FPLT__HASH, pieces->bytes + at,
                           left < FPLT__PIECE ? left : FPLT__PIECE, NULL, 0);
    }
}

static void hash_share(void *context, size_t share, double *scratch)
{
    (void)scratch;
    const struct pieces *pieces = context;
    size_t first = share * SHARE, left = pieces->count - first;
    hash_pieces(pieces, first, first + (left < SHARE ? left : SHARE));
}

fplt__digest fplt__body_hash(const void *bytes, size_t size)
{
    static const char label[] = "fedplt-body-1\n";
    uint8_t digest[BATCH][FPLT__HASH], number[8];
    fplt__digest whole;
    crypto_generichash_state state;
    fplt__put64(number, size);
    crypto_generichash_init(&state, NULL, 0, FPLT__HASH);
    crypto_generichash_update(&state, (const uint8_t *)label, sizeof label - 1);
    crypto_generichash_update(&state, number, sizeof number);
    for (size_t at = 0; at < size; at += (size_t)BATCH * FPLT__PIECE) {
        struct pieces pieces = {(const uint8_t *)bytes + at, size - at, BATCH, digest};
        if (pieces.size < (size_t)BATCH * FPLT__PIECE)
            pieces.count = (pieces.size + FPLT__PIECE - 1) / FPLT__PIECE;
        if (size >= WORTH_SHARING)
            fplt__parallel_for((pieces.count + SHARE - 1) / SHARE, hash_share, &pieces, NULL);
        else
            hash_pieces(&pieces, 0, pieces.count);
        crypto_generichash_update(&state, digest[0], pieces.count * FPLT__HASH);
    }
    crypto_generichash_final(&state, whole.byte, FPLT__HASH);
    return whole;
}

int fplt__same(const fplt__digest *a, const fplt__digest *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

int fplt__is_zero(const fplt__digest *digest)
{
    return fplt__same(digest, &(fplt__digest){{0}});
}

void fplt__hex(const void *bytes, size_t size, char *text)
{
    sodium_bin2hex(text, 2 * size + 1, bytes, size);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int fplt__unhex(const char *text, void *bytes, size_t size)
{
    uint8_t *out = bytes;
    for (size_t i = 0; i < size; i++) {
        int high = digit_of(text[2 * i]), low = high < 0 ? -1 : digit_of(text[2 * i + 1]);
        if (low < 0)
            return 0;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return text[2 * size] == 0;
}

fplt__digest fplt__document_hash(const void *bytes, size_t size)
{
    static const char label[] = "fedplt-plan-1\n";
    const fplt__input inputs[] = {{label, sizeof label - 1}, {bytes, size}};
    return fplt__hash(inputs, 2);
}

fplt__digest fplt__chain_begin(const fplt__digest *plan, uint32_t incarnation,
                               uint32_t member_index, const fplt__digest *enrolment)
{
    static const char label[] = "fedplt-chain-1\n";
    uint8_t numbers[8];
    fplt__put32(numbers, incarnation);
    fplt__put32(numbers + 4, member_index);
    const fplt__input inputs[] = {{label, sizeof label - 1},
                                  {plan, sizeof *plan},
                                  {numbers, sizeof numbers},
                                  {enrolment, sizeof *enrolment}};
    return fplt__hash(inputs, 4);
}

fplt__digest fplt__chain_next(const fplt__digest *chain, uint64_t round, const fplt__digest *work,
                              const fplt__digest *closing)
{
    static const char label[] = "fedplt-link-1\n";
    uint8_t number[8];
    fplt__put64(number, round);
    const fplt__input inputs[] = {{label, sizeof label - 1},
                                  {chain, sizeof *chain},
                                  {number, sizeof number},
                                  {work, sizeof *work},
                                  {closing, sizeof *closing}};
    return fplt__hash(inputs, 5);
}

fplt__digest fplt__work_digest(const fplt__answer *answers, unsigned count)
{
    return fplt__hash_bytes(answers, count * sizeof *answers);
}
