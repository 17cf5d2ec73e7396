/* Packed words. In blocks of 64 numbers: one byte `shift`, the zero bits that all end with; one byte
 * `width`; then each number >> shift in two's complement of `width` bytes, low byte first. A block of
 * zeros has shift and width 0. There is one form for given numbers. */
#include "base/words.h"

#include <string.h>

#include "base/bytes.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

enum { BLOCK = FPLT__WORDS_BLOCK, HEAD = 2, WIDEST = 16, SLACK = 16, AHEAD = 16 };

static wide value_of(const uint64_t *words)
{
    return (wide)((unsigned_wide)words[1] << 64 | words[0]);
}

size_t fplt_words_most(size_t count)
{
    return HEAD * ((count + BLOCK - 1) / BLOCK) + WIDEST * count;
}

static unsigned low_zeros(unsigned_wide bits)
{
    uint64_t low = (uint64_t)bits;
    return low ? (unsigned)__builtin_ctzll(low)
               : 64 + (unsigned)__builtin_ctzll((uint64_t)(bits >> 64));
}

/* Bits of a nonnegative number. */
static unsigned length_of(unsigned_wide bits)
{
    uint64_t high = (uint64_t)(bits >> 64), low = (uint64_t)bits;
    if (high)
        return 128 - (unsigned)__builtin_clzll(high);
    return low ? 64 - (unsigned)__builtin_clzll(low) : 0;
}

/* What all numbers of a block have in common: their zeros at the end, and the bytes they need. */
static void measure(const uint64_t *words, size_t count, unsigned *shift, unsigned *width)
{
    uint64_t any_low = 0, any_high = 0, size_low = 0, size_high = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t low = words[2 * i], high = words[2 * i + 1];
        uint64_t sign = (uint64_t)((int64_t)high >> 63);
        any_low |= low;
        any_high |= high;
        size_low |= low ^ sign;
        size_high |= high ^ sign;
    }
    *shift = *width = 0;
    if (!(any_low | any_high))
        return;
    *shift = low_zeros((unsigned_wide)any_high << 64 | any_low);
    unsigned bits = length_of((unsigned_wide)size_high << 64 | size_low) + 1;
    bits = bits > *shift ? bits - *shift : 1;
    *width = (bits + 7) / 8;
}

/* `out` has room for SLACK bytes more than are used. */
static void pack_block(const uint64_t *words, size_t count, unsigned shift, unsigned width,
                       uint8_t *out)
{
    for (size_t i = 0; i < count; i++, out += width) {
        wide value = value_of(words + 2 * i) >> shift;
        fplt__put64(out, (uint64_t)value);
        if (width > 8)
            fplt__put64(out + 8, (uint64_t)((unsigned_wide)value >> 64));
    }
}

size_t fplt_words_pack(const uint64_t *words, size_t count, void *bytes, size_t room)
{
    uint8_t *to = bytes;
    size_t used = 0;
    for (size_t first = 0; first < count; first += BLOCK) {
        size_t size = count - first < BLOCK ? count - first : BLOCK;
        uint8_t block[BLOCK * WIDEST + SLACK];
        unsigned shift, width;
        measure(words + 2 * first, size, &shift, &width);
        size_t needed = HEAD + size * width;
        if (used + needed <= room) {
            to[used] = (uint8_t)shift;
            to[used + 1] = (uint8_t)width;
            int direct = used + needed + SLACK <= room;
            uint8_t *where = direct ? to + used + HEAD : block;
            if (width)
                pack_block(words + 2 * first, size, shift, width, where);
            if (!direct)
                memcpy(to + used + HEAD, block, size * width);
        }
        used += needed;
    }
    return used;
}

/* The bytes that numbers of so many bits and a sign need, and at least one. */
static unsigned bytes_for(unsigned bits)
{
    return bits / 8 + 1;
}

/* Both return whether the block is in its shortest form: some number is odd before the shift, and some
 * needs all of the width. */
static int unpack_narrow(const uint8_t *from, size_t count, unsigned shift, unsigned width,
                         uint64_t *words)
{
    unsigned spare = 64 - 8 * width, up = shift % 64, down = 63 - up, high = shift >= 64;
    uint64_t any = 0, size = 0;
    for (size_t i = 0; i < count; i++, from += width) {
        int64_t narrow = (int64_t)(fplt__get64(from) << spare) >> spare;
        uint64_t low = (uint64_t)narrow << up; /* shifts of one word, a double word's are slow */
        any |= (uint64_t)narrow;
        size |= (uint64_t)(narrow ^ (narrow >> 63));
        words[2 * i] = high ? 0 : low;
        words[2 * i + 1] = high ? low : (uint64_t)(narrow >> down >> 1);
    }
    return (any & 1) && bytes_for(length_of(size)) == width;
}

static int unpack_broad(const uint8_t *from, size_t count, unsigned shift, unsigned width,
                        uint64_t *words)
{
    unsigned spare = 128 - 8 * width;
    unsigned_wide any = 0, size = 0;
    for (size_t i = 0; i < count; i++, from += width) {
        unsigned_wide bits = (unsigned_wide)fplt__get64(from + 8) << 64 | fplt__get64(from);
        wide broad = (wide)(bits << spare) >> spare;
        unsigned_wide value = (unsigned_wide)broad << shift;
        any |= (unsigned_wide)broad;
        size |= (unsigned_wide)(broad ^ (broad >> 127));
        words[2 * i] = (uint64_t)value;
        words[2 * i + 1] = (uint64_t)(value >> 64);
    }
    return ((uint64_t)any & 1) && bytes_for(length_of(size)) == width;
}

/* Bits can be lost at the top where shift and width together pass 128 bits: then what was read must
 * pack to what was there. */
static int packs_alike(const uint64_t *words, size_t count, unsigned shift, unsigned width,
                       const uint8_t *body)
{
    unsigned own_shift, own_width;
    uint8_t again[BLOCK * WIDEST + SLACK];
    measure(words, count, &own_shift, &own_width);
    if (own_shift != shift || own_width != width)
        return 0;
    pack_block(words, count, shift, width, again);
    return memcmp(again, body, count * width) == 0;
}

fplt_status fplt__words_block(const void *bytes, size_t size, size_t count, size_t *used,
                              uint64_t *words, fplt_error *error)
{
    const uint8_t *from = (const uint8_t *)bytes + *used;
    size_t left = size - *used;
    unsigned shift = left >= HEAD ? from[0] : 255, width = shift < 128 ? from[1] : 0;
    if (shift > 127 || width > WIDEST || count * width > left - HEAD)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "packed numbers: the block at byte %zu of %zu is cut off or has an "
                              "impossible head",
                              *used, size);
    uint8_t safe[BLOCK * WIDEST + SLACK];
    const uint8_t *body = from + HEAD;
    if (left - HEAD - count * width < SLACK) {
        memcpy(safe, body, count * width);
        memset(safe + count * width, 0, SLACK);
        body = safe;
    }
    int legal = shift == 0;
    if (!width)
        memset(words, 0, 2 * count * sizeof *words);
    else
        legal = (width <= 8 ? unpack_narrow : unpack_broad)(body, count, shift, width, words);
    if (legal && shift + 8 * width > 128)
        legal = packs_alike(words, count, shift, width, body);
    if (!legal)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "packed numbers: the block at byte %zu of %zu is not in its shortest "
                              "form",
                              *used, size);
    *used += HEAD + count * width;
    return FPLT_OK;
}

int fplt__words_skip(const void *bytes, size_t size, size_t count, size_t *used)
{
    size_t left = size - *used;
    size_t needed = left >= HEAD ? HEAD + count * ((const uint8_t *)bytes)[*used + 1] : left + 1;
    if (needed > left)
        return 0;
    *used += needed;
    /* blocks that follow are mostly as long: without this each head would be waited for */
    if (AHEAD * needed < left)
        __builtin_prefetch((const uint8_t *)bytes + *used + (AHEAD - 1) * needed);
    return 1;
}

fplt_status fplt__words_end(size_t used, size_t size, size_t count, fplt_error *error)
{
    return used == size ? FPLT_OK
                        : fplt_error_set(error, FPLT_BAD_DATA,
                                         "packed numbers: %zu bytes follow the last of %zu numbers",
                                         size - used, count);
}

fplt_status fplt_words_unpack(const void *bytes, size_t size, uint64_t *words, size_t count,
                              fplt_error *error)
{
    size_t used = 0;
    for (size_t first = 0; first < count; first += BLOCK) {
        size_t block = count - first < BLOCK ? count - first : BLOCK;
        fplt_status status = fplt__words_block(bytes, size, block, &used, words + 2 * first, error);
        if (status)
            return status;
    }
    return fplt__words_end(used, size, count, error);
}
