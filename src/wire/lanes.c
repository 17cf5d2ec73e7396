/* BLAKE2b (RFC 7693) in four lanes of AVX2 or eight of AVX-512: word k of all messages is one vector. */
#include "wire/lanes.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define WITH_AVX2 __attribute__((target("avx2")))

enum { WORDS = 16, ROUNDS = 12, SIZE = 32 };

static const uint64_t initial[8] = {UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b),
                                    UINT64_C(0x3c6ef372fe94f82b), UINT64_C(0xa54ff53a5f1d36f1),
                                    UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
                                    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)};

static const uint8_t order[ROUNDS][WORDS] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                             {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                             {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                             {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                             {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                             {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                             {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                             {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                             {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                             {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
                                             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                             {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5,
                                              3}};

int fplt__lanes_there(void)
{
    return __builtin_cpu_supports("avx2");
}

/* Rotations to the right; 32, 24 and 16 by bytes. */
WITH_AVX2 static inline __m256i turn24(__m256i x)
{
    return _mm256_shuffle_epi8(x, _mm256_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9,
                                                   10, 3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15,
                                                   8, 9, 10));
}

WITH_AVX2 static inline __m256i turn16(__m256i x)
{
    return _mm256_shuffle_epi8(x, _mm256_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15,
                                                   8, 9, 2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14,
                                                   15, 8, 9));
}

WITH_AVX2 static inline __m256i turn32(__m256i x)
{
    return _mm256_shuffle_epi32(x, 0xb1);
}

WITH_AVX2 static inline __m256i turn63(__m256i x)
{
    return _mm256_xor_si256(_mm256_srli_epi64(x, 63), _mm256_add_epi64(x, x));
}

/* Rows to columns: four words of each of four messages. */
WITH_AVX2 static inline void turn_over_avx2(__m256i *r)
{
    __m256i a = _mm256_unpacklo_epi64(r[0], r[1]), b = _mm256_unpackhi_epi64(r[0], r[1]);
    __m256i c = _mm256_unpacklo_epi64(r[2], r[3]), d = _mm256_unpackhi_epi64(r[2], r[3]);
    r[0] = _mm256_permute2x128_si256(a, c, 0x20);
    r[1] = _mm256_permute2x128_si256(b, d, 0x20);
    r[2] = _mm256_permute2x128_si256(a, c, 0x31);
    r[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

#define TARGET                 WITH_AVX2
#define NAME(function)         function##_avx2
#define VECTOR                 __m256i
#define AT_ONCE                4
#define ADD(x, y)              _mm256_add_epi64(x, y)
#define XOR(x, y)              _mm256_xor_si256(x, y)
#define TURN(x, bits)          turn##bits(x)
#define EACH(x)                _mm256_set1_epi64x((long long)(x))
#define LOAD(bytes)            _mm256_loadu_si256((const __m256i *)(bytes))
#define STORE_DIGEST(bytes, x) _mm256_storeu_si256((__m256i *)(bytes), x)
#include "wire/lanes.inc"
#undef TARGET
#undef NAME
#undef VECTOR
#undef AT_ONCE
#undef ADD
#undef XOR
#undef TURN
#undef EACH
#undef LOAD
#undef STORE_DIGEST

#define WITH_AVX512 __attribute__((target("avx512f")))

/* Four blocks of 128 bits of each of four vectors: the blocks k of all become to[2 k]. */
WITH_AVX512 static inline void turn_blocks(const __m512i from[4], __m512i *to)
{
    __m512i low0 = _mm512_shuffle_i64x2(from[0], from[1], 0x44);
    __m512i low1 = _mm512_shuffle_i64x2(from[2], from[3], 0x44);
    __m512i high0 = _mm512_shuffle_i64x2(from[0], from[1], 0xee);
    __m512i high1 = _mm512_shuffle_i64x2(from[2], from[3], 0xee);
    to[0] = _mm512_shuffle_i64x2(low0, low1, 0x88);
    to[2] = _mm512_shuffle_i64x2(low0, low1, 0xdd);
    to[4] = _mm512_shuffle_i64x2(high0, high1, 0x88);
    to[6] = _mm512_shuffle_i64x2(high0, high1, 0xdd);
}

/* Rows to columns: eight words of each of eight messages. */
WITH_AVX512 static inline void turn_over_avx512(__m512i *r)
{
    __m512i even[4], odd[4];
    for (int k = 0; k < 4; k++) {
        even[k] = _mm512_unpacklo_epi64(r[2 * k], r[2 * k + 1]);
        odd[k] = _mm512_unpackhi_epi64(r[2 * k], r[2 * k + 1]);
    }
    turn_blocks(even, r);
    turn_blocks(odd, r + 1);
}

#define TARGET                 WITH_AVX512
#define NAME(function)         function##_avx512
#define VECTOR                 __m512i
#define AT_ONCE                8
#define ADD(x, y)              _mm512_add_epi64(x, y)
#define XOR(x, y)              _mm512_xor_si512(x, y)
#define TURN(x, bits)          _mm512_ror_epi64(x, bits)
#define EACH(x)                _mm512_set1_epi64((long long)(x))
#define LOAD(bytes)            _mm512_loadu_si512(bytes)
#define STORE_DIGEST(bytes, x) _mm256_storeu_si256((__m256i *)(bytes), _mm512_castsi512_si256(x))
#include "wire/lanes.inc"

int fplt__lanes_are_wide(void)
{
    return __builtin_cpu_supports("avx512f");
}

/* Eight take a little longer than four. */
void fplt__lanes_hash(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests)
{
    const size_t half = FPLT__LANES / 2;
    if (count > half && fplt__lanes_are_wide()) {
        fplt__lanes_avx512(bytes, size, count, digests);
        return;
    }
    fplt__lanes_avx2(bytes, size, count < half ? count : half, digests);
    if (count > half)
        fplt__lanes_avx2(bytes + half * size, size, count - half, digests + half * SIZE);
}

#else

int fplt__lanes_there(void)
{
    return 0;
}

int fplt__lanes_are_wide(void)
{
    return 0;
}

void fplt__lanes_hash(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests)
{
    (void)bytes, (void)size, (void)count, (void)digests;
}

void fplt__lanes_avx2(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests)
{
    (void)bytes, (void)size, (void)count, (void)digests;
}

void fplt__lanes_avx512(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests)
{
    (void)bytes, (void)size, (void)count, (void)digests;
}

#endif
