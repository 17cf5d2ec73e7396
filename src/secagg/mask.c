#include "secagg/mask.h"

#include <sodium.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/parallel.h"

enum { PIECE = 32 << 10, PIECE_WORDS = PIECE / 8, PIECE_BLOCKS = PIECE / 64 };

static const uint8_t zeros[PIECE];

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* A word as it lies there; loops over it become vector instructions. */
static inline uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}
#else
#define word_at fplt__get64
#endif

/* Adds the bytes, as numbers of one or two words, to `sum` modulo 2^64 or 2^128. */
static void add_bytes(uint64_t *sum, const uint8_t *bytes, size_t words, unsigned width)
{
    if (width == 8) {
        for (size_t k = 0; k < words; k++)
            sum[k] += word_at(bytes + 8 * k);
        return;
    }
    for (size_t k = 0; k < words; k += 2) {
        uint64_t low = word_at(bytes + 8 * k);
        sum[k] += low;
        sum[k + 1] += word_at(bytes + 8 * k + 8) + (sum[k] < low);
    }
}

static void subtract_bytes(uint64_t *sum, const uint8_t *bytes, size_t words, unsigned width)
{
    if (width == 8) {
        for (size_t k = 0; k < words; k++)
            sum[k] -= word_at(bytes + 8 * k);
        return;
    }
    for (size_t k = 0; k < words; k += 2) {
        uint64_t low = word_at(bytes + 8 * k), borrow = sum[k] < low;
        sum[k] -= low;
        sum[k + 1] -= word_at(bytes + 8 * k + 8) + borrow;
    }
}

struct job {
    const fplt__mask *mask;
    size_t masks;
    unsigned width;
    size_t words; /* of all numbers */
    const uint64_t *from;
    uint64_t *sum; /* in place, or NULL */
    uint8_t *out;
};

/* One piece: all masks over it, one after the other. */
static void mask_piece(void *context, size_t part, double *scratch)
{
    const struct job *job = context;
    uint8_t stream[PIECE];
    uint64_t made[PIECE_WORDS];
    static const uint8_t nonce[crypto_stream_chacha20_NONCEBYTES];
    size_t first = part * PIECE_WORDS;
    size_t words = job->words - first < PIECE_WORDS ? job->words - first : PIECE_WORDS;
    uint64_t *sum = job->sum ? job->sum + first : made;
    (void)scratch;
    if (!job->sum && job->width == 16)
        memcpy(made, job->from + first, words * sizeof *made);
    else if (!job->sum)
        for (size_t k = 0; k < words; k++)
            made[k] = job->from[2 * (first + k)];
    for (size_t m = 0; m < job->masks; m++) {
        crypto_stream_chacha20_xor_ic(stream, zeros, 8 * words, nonce,
                                      (uint64_t)part * PIECE_BLOCKS, job->mask[m].seed);
        if (job->mask[m].sign > 0)
            add_bytes(sum, stream, words, job->width);
        else
            subtract_bytes(sum, stream, words, job->width);
    }
    if (!job->sum) {
        for (size_t k = 0; k < words; k++)
            fplt__put64(job->out + 8 * (first + k), made[k]);
        sodium_memzero(made, sizeof made);
    }
    sodium_memzero(stream, sizeof stream);
}

static void mask_all(struct job *job)
{
    FPLT__ASSERT(job->width == 8 || job->width == 16);
    size_t pieces = (job->words + PIECE_WORDS - 1) / PIECE_WORDS;
    fplt__parallel_for(pieces, mask_piece, job, NULL);
}

void fplt__mask_words(const fplt__mask *mask, size_t masks, const uint64_t *words, size_t count,
                      unsigned width, uint8_t *out)
{
    struct job job = {.mask = mask,
                      .masks = masks,
                      .width = width,
                      .words = count * (width / 8),
                      .from = words,
                      .out = out};
    mask_all(&job);
}

void fplt__mask_sum(const fplt__mask *mask, size_t masks, uint64_t *sum, size_t count,
                    unsigned width)
{
    struct job job = {
        .mask = mask, .masks = masks, .width = width, .words = count * (width / 8), .sum = sum};
    mask_all(&job);
}

void fplt__mask_add(uint64_t *sum, const uint8_t *numbers, size_t count, unsigned width)
{
    add_bytes(sum, numbers, count * (width / 8), width);
}
