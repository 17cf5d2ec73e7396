/* Packed words. In blocks of 64 numbers: one byte `shift`, the zero bits that all end with; one byte
 * `width`; then each number >> shift in two's complement of `width` bytes, low byte first. A block of
 * zeros has shift and width 0. There is one form for given numbers. */
#include "base/words.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/bytes.h"
#include "base/sum.h"

typedef fplt__wide wide;
__extension__ typedef unsigned __int128 unsigned_wide;

enum { BLOCK = FPLT__WORDS_BLOCK, HEAD = 2, WIDEST = 16, SLACK = 16, AHEAD = 16 };

static wide value_of(const uint64_t *words)
{
    return (wide)((unsigned_wide)words[1] << 64 | words[0]);
}

size_t fplt__words_most(size_t count)
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

size_t fplt__words_pack(const uint64_t *words, size_t count, void *bytes, size_t room)
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

static const uint64_t top_byte = UINT64_C(1) << 55, far_limit = UINT64_C(1) << 60;

/* A block of narrow numbers, added or subtracted. A number stands at the top of a word first: there its sign
 * is, and whether it needs all of its bytes is seen in eight bits. */
struct narrow {
    unsigned spare, up,
        sign; /* shifts: down to its place, up again, and to what the high word has */
    uint64_t odd, wide, far; /* what was seen of all numbers, and of the totals */
};

static void add_narrow(const uint8_t *from, size_t count, unsigned width, struct narrow *narrow,
                       wide *totals)
{
    unsigned spare = narrow->spare, up = narrow->up, sign = narrow->sign;
    uint64_t odd = 0, needs = 0, far = 0;
    for (size_t i = 0; i < count; i++, from += width) {
        int64_t top = (int64_t)(fplt__get64(from) << spare);
        uint64_t low = (uint64_t)(top >> spare) << up, high = (uint64_t)(top >> sign);
        unsigned_wide total = (unsigned_wide)totals[i] + ((unsigned_wide)high << 64 | low);
        odd |= (uint64_t)top;
        needs |= (uint64_t)top + top_byte;
        far |= (uint64_t)(total >> 64) + far_limit;
        totals[i] = (wide)total;
    }
    narrow->odd |= odd;
    narrow->wide |= needs;
    narrow->far |= far;
}

#if defined(__x86_64__)

#define WITH_AVX2 __attribute__((target("avx2")))

/* Two numbers, in the first word of each half: where a low word passed 2^64, the high word gets one. */
WITH_AVX2 static inline __m256i add_two(wide *totals, __m256i value)
{
    const __m256i flip = _mm256_set1_epi64x(INT64_MIN);
    __m256i sum = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)totals), value);
    __m256i passed = _mm256_cmpgt_epi64(_mm256_xor_si256(value, flip), _mm256_xor_si256(sum, flip));
    sum = _mm256_sub_epi64(sum, _mm256_slli_si256(passed, 8));
    _mm256_storeu_si256((__m256i *)totals, sum);
    return _mm256_add_epi64(sum, _mm256_set1_epi64x((long long)far_limit));
}

WITH_AVX2 static inline __m128i load_two(const uint8_t *first, const uint8_t *second)
{
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)first),
                              _mm_loadl_epi64((const __m128i *)second));
}

/* The same of four at a time. Shifts by 64 give zeros here. */
WITH_AVX2 static void add_narrow_by_four(const uint8_t *from, size_t count, unsigned width,
                                         struct narrow *narrow, wide *totals)
{
    const __m128i spare = _mm_cvtsi32_si128((int)narrow->spare);
    const __m128i above = _mm_cvtsi32_si128((int)(64 - narrow->spare));
    const __m128i up = _mm_cvtsi32_si128((int)narrow->up);
    const __m128i down = _mm_cvtsi32_si128((int)(64 - narrow->up));
    const __m256i byte = _mm256_set1_epi64x((long long)top_byte);
    __m256i odd = _mm256_setzero_si256(), needs = odd, far = odd;
    for (size_t i = 0; i < count; i += 4, from += 4 * (size_t)width) {
        __m256i top = _mm256_inserti128_si256(_mm256_castsi128_si256(
                                                  load_two(from, from + 2 * (size_t)width)),
                                              load_two(from + width, from + 3 * (size_t)width), 1);
        top = _mm256_sll_epi64(top, spare);
        __m256i sign = _mm256_cmpgt_epi64(_mm256_setzero_si256(), top);
        __m256i number =
            _mm256_or_si256(_mm256_srl_epi64(top, spare), _mm256_sll_epi64(sign, above));
        __m256i low = _mm256_sll_epi64(number, up);
        __m256i high = _mm256_or_si256(_mm256_srl_epi64(number, down), _mm256_sll_epi64(sign, up));
        odd = _mm256_or_si256(odd, top);
        needs = _mm256_or_si256(needs, _mm256_add_epi64(top, byte));
        far = _mm256_or_si256(far, add_two(totals + i, _mm256_unpacklo_epi64(low, high)));
        far = _mm256_or_si256(far, add_two(totals + i + 2, _mm256_unpackhi_epi64(low, high)));
    }
    uint64_t each[3][4];
    _mm256_storeu_si256((__m256i *)each[0], odd);
    _mm256_storeu_si256((__m256i *)each[1], needs);
    _mm256_storeu_si256((__m256i *)each[2], far);
    narrow->odd |= each[0][0] | each[0][1] | each[0][2] | each[0][3];
    narrow->wide |= each[1][0] | each[1][1] | each[1][2] | each[1][3];
    narrow->far |= each[2][1] | each[2][3]; /* of the high words */
}

static void add_block(const uint8_t *from, size_t count, unsigned width, struct narrow *narrow,
                      wide *totals)
{
    size_t four = __builtin_cpu_supports("avx2") ? count - count % 4 : 0;
    if (four)
        add_narrow_by_four(from, four, width, narrow, totals);
    add_narrow(from + four * width, count - four, width, narrow, totals + four);
}

#else

static void add_block(const uint8_t *from, size_t count, unsigned width, struct narrow *narrow,
                      wide *totals)
{
    add_narrow(from, count, width, narrow, totals);
}

#endif

static void subtract_narrow(const uint8_t *from, size_t count, unsigned width,
                            const struct narrow *narrow, wide *totals)
{
    for (size_t i = 0; i < count; i++, from += width) {
        int64_t top = (int64_t)(fplt__get64(from) << narrow->spare);
        unsigned_wide total = (unsigned_wide)totals[i];
        uint64_t low = (uint64_t)(top >> narrow->spare) << narrow->up;
        total -= (unsigned_wide)(uint64_t)(top >> narrow->sign) << 64 | low;
        totals[i] = (wide)total;
    }
}

int fplt__words_add(const void *bytes, size_t size, size_t count, size_t *used, wide *totals,
                    int *beyond)
{
    const uint8_t *from = (const uint8_t *)bytes + *used;
    size_t left = size - *used;
    unsigned shift = left >= HEAD ? from[0] : 64, width = shift < 64 ? from[1] : 0;
    *beyond = 0;
    if (!width || width > 8 || shift + 8 * width > 120 || count * width + HEAD + SLACK > left)
        return 0;
    from += HEAD;
    unsigned spare = 64 - 8 * width, sign = spare + 64 - shift;
    struct narrow narrow = {.spare = spare, .up = shift, .sign = sign < 63 ? sign : 63};
    add_block(from, count, width, &narrow, totals);
    if (!(narrow.odd >> spare & 1) || (width > 1 && !(narrow.wide >> 56))) {
        subtract_narrow(from, count, width, &narrow, totals);
        return 0;
    }
    *beyond = narrow.far >> 61 != 0;
    *used += HEAD + count * width;
    return 1;
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

fplt_status fplt__words_unpack(const void *bytes, size_t size, uint64_t *words, size_t count,
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
