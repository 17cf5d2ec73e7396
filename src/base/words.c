/* Packed words. In blocks of 64 numbers: one byte `shift`, the zero bits that all end with; one byte
 * `width`; then each number >> shift in two's complement of `width` bytes, low byte first. A block of
 * zeros has shift and width 0. There is one form for given numbers. */
#include <string.h>

#include "base/bytes.h"
#include "fedplt/sum.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

enum { BLOCK = 64, HEAD = 2, WIDEST = 16, SLACK = 16 };

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

static void unpack_narrow(const uint8_t *from, size_t count, unsigned shift, unsigned width,
                          uint64_t *words)
{
    unsigned spare = 64 - 8 * width;
    for (size_t i = 0; i < count; i++, from += width) {
        int64_t narrow = (int64_t)(fplt__get64(from) << spare) >> spare;
        unsigned_wide value = (unsigned_wide)(wide)narrow << shift;
        words[2 * i] = (uint64_t)value;
        words[2 * i + 1] = (uint64_t)(value >> 64);
    }
}

static void unpack_broad(const uint8_t *from, size_t count, unsigned shift, unsigned width,
                         uint64_t *words)
{
    unsigned spare = 128 - 8 * width;
    for (size_t i = 0; i < count; i++, from += width) {
        unsigned_wide bits = (unsigned_wide)fplt__get64(from + 8) << 64 | fplt__get64(from);
        unsigned_wide value = (unsigned_wide)((wide)(bits << spare) >> spare) << shift;
        words[2 * i] = (uint64_t)value;
        words[2 * i + 1] = (uint64_t)(value >> 64);
    }
}

/* Whether packing gives the same block. Bits can be lost at the top only where shift and width together
 * pass 128 bits. */
static int is_shortest(const uint64_t *words, size_t count, unsigned shift, unsigned width,
                       const uint8_t *body)
{
    unsigned own_shift, own_width;
    measure(words, count, &own_shift, &own_width);
    if (own_shift != shift || own_width != width)
        return 0;
    if (shift + 8 * width <= 128)
        return 1;
    uint8_t again[BLOCK * WIDEST + SLACK];
    pack_block(words, count, shift, width, again);
    return memcmp(again, body, count * width) == 0;
}

fplt_status fplt_words_unpack(const void *bytes, size_t size, uint64_t *words, size_t count,
                              fplt_error *error)
{
    const uint8_t *from = bytes;
    size_t used = 0;
    for (size_t first = 0; first < count; first += BLOCK) {
        size_t block = count - first < BLOCK ? count - first : BLOCK;
        unsigned shift = used + HEAD <= size ? from[used] : 255, width = 0;
        if (shift < 128)
            width = from[used + 1];
        if (shift > 127 || width > WIDEST || block * width > size - used - HEAD)
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "packed numbers: the block at byte %zu of %zu is cut off or has "
                                  "an impossible head",
                                  used, size);
        uint8_t safe[BLOCK * WIDEST + SLACK];
        const uint8_t *body = from + used + HEAD;
        if (size - used - HEAD - block * width < SLACK) {
            memcpy(safe, body, block * width);
            memset(safe + block * width, 0, SLACK);
            body = safe;
        }
        uint64_t *to = words + 2 * first;
        if (!width)
            memset(to, 0, 2 * block * sizeof *to);
        else
            (width <= 8 ? unpack_narrow : unpack_broad)(body, block, shift, width, to);
        if (!is_shortest(to, block, shift, width, body))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "packed numbers: the block at byte %zu of %zu is not in its "
                                  "shortest form",
                                  used, size);
        used += HEAD + block * width;
    }
    return used == size ? FPLT_OK
                        : fplt_error_set(error, FPLT_BAD_DATA,
                                         "packed numbers: %zu bytes follow the last of %zu numbers",
                                         size - used, count);
}
