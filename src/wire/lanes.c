/* BLAKE2b (RFC 7693) in four lanes of AVX2: word k of all four messages is one vector. */
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

/* Rotations to the right; 24 and 16 by bytes. */
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

WITH_AVX2 static inline void mix(__m256i *v, int a, int b, int c, int d, __m256i x, __m256i y)
{
    v[a] = _mm256_add_epi64(_mm256_add_epi64(v[a], x), v[b]);
    v[d] = _mm256_shuffle_epi32(_mm256_xor_si256(v[d], v[a]), 0xb1);
    v[c] = _mm256_add_epi64(v[c], v[d]);
    v[b] = turn24(_mm256_xor_si256(v[b], v[c]));
    v[a] = _mm256_add_epi64(_mm256_add_epi64(v[a], y), v[b]);
    v[d] = turn16(_mm256_xor_si256(v[d], v[a]));
    v[c] = _mm256_add_epi64(v[c], v[d]);
    v[b] = _mm256_xor_si256(v[b], v[c]);
    v[b] = _mm256_xor_si256(_mm256_srli_epi64(v[b], 63), _mm256_add_epi64(v[b], v[b]));
}

/* Rows to columns: four words of each of four messages. */
WITH_AVX2 static inline void turn_over(__m256i *r)
{
    __m256i a = _mm256_unpacklo_epi64(r[0], r[1]), b = _mm256_unpackhi_epi64(r[0], r[1]);
    __m256i c = _mm256_unpacklo_epi64(r[2], r[3]), d = _mm256_unpackhi_epi64(r[2], r[3]);
    r[0] = _mm256_permute2x128_si256(a, c, 0x20);
    r[1] = _mm256_permute2x128_si256(b, d, 0x20);
    r[2] = _mm256_permute2x128_si256(a, c, 0x31);
    r[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

WITH_AVX2 static inline void compress(__m256i h[8], const uint8_t *const message[FPLT__LANES],
                                      size_t at, uint64_t done, int last)
{
    __m256i m[WORDS], v[WORDS];
    for (int w = 0; w < WORDS; w += 4) {
        for (size_t lane = 0; lane < FPLT__LANES; lane++)
            m[w + (int)lane] =
                _mm256_loadu_si256((const __m256i *)(message[lane] + at + 8 * (size_t)w));
        turn_over(m + w);
    }
    for (int k = 0; k < 8; k++) {
        v[k] = h[k];
        v[k + 8] = _mm256_set1_epi64x((long long)initial[k]);
    }
    v[12] = _mm256_xor_si256(v[12], _mm256_set1_epi64x((long long)done));
    if (last)
        v[14] = _mm256_xor_si256(v[14], _mm256_set1_epi64x(-1));
#pragma GCC unroll 12
    for (int r = 0; r < ROUNDS; r++) {
        const uint8_t *s = order[r];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int k = 0; k < 8; k++)
        h[k] = _mm256_xor_si256(h[k], _mm256_xor_si256(v[k], v[k + 8]));
}

WITH_AVX2 void fplt__lanes_hash(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests)
{
    __m256i h[8];
    const uint8_t *message[FPLT__LANES]; /* a lane without one does the first again */
    for (size_t lane = 0; lane < FPLT__LANES; lane++)
        message[lane] = bytes + (lane < count ? lane * size : 0);
    for (int k = 0; k < 8; k++)
        h[k] = _mm256_set1_epi64x((long long)initial[k]);
    /* no key, a digest of 32 bytes, no tree */
    h[0] = _mm256_xor_si256(h[0], _mm256_set1_epi64x(0x01010000 ^ SIZE));
    for (size_t at = 0; at < size; at += FPLT__LANE_BLOCK)
        compress(h, message, at, at + FPLT__LANE_BLOCK, at + FPLT__LANE_BLOCK == size);
    turn_over(h);
    for (size_t lane = 0; lane < count; lane++)
        _mm256_storeu_si256((__m256i *)(digests + SIZE * lane), h[lane]);
}

#else

int fplt__lanes_there(void)
{
    return 0;
}

void fplt__lanes_hash(const uint8_t *bytes, size_t size, size_t count, uint8_t *digests)
{
    (void)bytes, (void)size, (void)count, (void)digests;
}

#endif
