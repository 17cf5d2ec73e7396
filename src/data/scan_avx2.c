/* With vectors of 16 and 32 bytes. */
#include "data/scan.h"

#include <endian.h>
#include <immintrin.h>
#include <string.h>

typedef struct block {
    __m256i half[2];
} block;

static inline block block_load(const char *text)
{
    return (block){{_mm256_loadu_si256((const __m256i *)text),
                    _mm256_loadu_si256((const __m256i *)(text + 32))}};
}

static inline uint64_t bits_of(__m256i low, __m256i high)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 |
           (uint32_t)_mm256_movemask_epi8(low);
}

static inline __m256i one_of(__m256i bytes, const char signs[3])
{
    __m256i first = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(signs[0]));
    __m256i second = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(signs[1]));
    __m256i third = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(signs[2]));
    return _mm256_or_si256(_mm256_or_si256(first, second), third);
}

static inline uint64_t block_signs(block bytes, const char signs[3])
{
    return bits_of(one_of(bytes.half[0], signs), one_of(bytes.half[1], signs));
}

static inline uint64_t block_other(block bytes)
{
    __m256i zero = _mm256_setzero_si256();
    return ~bits_of(_mm256_cmpgt_epi8(bytes.half[0], zero), _mm256_cmpgt_epi8(bytes.half[1], zero));
}

static inline size_t bits_set(uint64_t bits)
{
    return (size_t)__builtin_popcountll(bits);
}

/* The last n of 16 bytes, from byte n on. */
static const unsigned char last_bytes[32] = {0,    0,    0,    0,    0,    0,    0,    0,
                                             0,    0,    0,    0,    0,    0,    0,    0,
                                             0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* What is before byte n moves up by one, over it; from 0x80 comes 0. n = 16: nothing moves. */
#define GAP (-128)
static const signed char without[17][16] = {
    {GAP, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15},
    {GAP, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};

static inline int common(const char *start, const char *end, double *value)
{
    size_t minus = *start == '-', length = (size_t)(end - start) - minus;
    if (length - 1 >= 16)
        return 0;
    __m128i text = _mm_loadu_si128((const __m128i *)(end - 16));
    __m128i own = _mm_loadu_si128((const __m128i *)(last_bytes + length));
    __m128i points = _mm_and_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('.')), own);
    unsigned point = (unsigned)__builtin_ctz((unsigned)_mm_movemask_epi8(points) | 1U << 16);
    __m128i digits = _mm_and_si128(_mm_sub_epi8(text, _mm_set1_epi8('0')), own);
    digits = _mm_shuffle_epi8(digits, _mm_loadu_si128((const __m128i *)without[point]));
    __m128i over = _mm_subs_epu8(digits, _mm_set1_epi8(9));
    if (!_mm_testz_si128(over, over) || length == (point != 16))
        return 0;
    __m128i tens = _mm_set1_epi16(0x010a), hundreds = _mm_set1_epi32(0x00010064);
    __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(digits, tens), hundreds);
    __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
    uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    uint64_t mantissa = (both & UINT32_MAX) * 100000000 + (both >> 32);
    *value = (double)(int64_t)mantissa / fplt__scan_divisor[minus][point];
    return mantissa <= UINT64_C(1) << 53;
}

#include "data/scan.inc"

static int available(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
}

const fplt__scan fplt__scan_avx2 = {"avx2", available, find, count_sign, numbers, pairs_of};
