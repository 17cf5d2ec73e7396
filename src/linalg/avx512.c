/* The kernel for AVX-512 (F, DQ, VL). Exponentials take 2^(i/16) from a table in two registers:
 * x = (16 k + i) ln 2 / 16 + r, |r| <= ln 2 / 32, e^r = 1 + r + r^2 P(r) with P of degree 4
 * (error 3e-17). */
#include <immintrin.h>
#include <math.h>

#include "linalg/elementary.h"
#include "linalg/kernel.h"
#include "linalg/sparse.h"

#define KERNEL     fplt__kernel_avx512
#define NAME       "avx512"
#define HELP       "AVX-512 (F, DQ and VL)"
#define LANES      8
#define PANEL_MAX  24
#define BLOCK_ROWS 8

typedef __m512d lanes;

static int available(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static inline lanes load(const double *x)
{
    return _mm512_loadu_pd(x);
}

static inline void store(double *x, lanes a)
{
    _mm512_storeu_pd(x, a);
}

static inline __mmask8 first_lanes(size_t count)
{
    return (__mmask8)((1u << count) - 1);
}

static inline lanes load_some(const double *x, size_t count)
{
    return _mm512_maskz_loadu_pd(first_lanes(count), x);
}

static inline void store_some(double *x, lanes a, size_t count)
{
    _mm512_mask_storeu_pd(x, first_lanes(count), a);
}

static inline lanes load_apart(const double *const *from, size_t at)
{
    return _mm512_set_pd(from[7][at], from[6][at], from[5][at], from[4][at], from[3][at],
                         from[2][at], from[1][at], from[0][at]);
}

static inline lanes load_narrow(const float *x)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
}

static inline lanes load_narrow_apart(const float *const *from, size_t at)
{
    return _mm512_cvtps_pd(_mm256_set_ps(from[7][at], from[6][at], from[5][at], from[4][at],
                                         from[3][at], from[2][at], from[1][at], from[0][at]));
}

static inline lanes splat(double x)
{
    return _mm512_set1_pd(x);
}

static inline lanes add(lanes a, lanes b)
{
    return _mm512_add_pd(a, b);
}

static inline lanes sub(lanes a, lanes b)
{
    return _mm512_sub_pd(a, b);
}

static inline lanes mul(lanes a, lanes b)
{
    return _mm512_mul_pd(a, b);
}

static inline lanes quotient(lanes a, lanes b)
{
    return _mm512_div_pd(a, b);
}

static inline lanes largest(lanes a, lanes b)
{
    return _mm512_max_pd(a, b);
}

static inline lanes smallest(lanes a, lanes b)
{
    return _mm512_min_pd(a, b);
}

static inline lanes multiply_add(lanes a, lanes b, lanes c)
{
    return _mm512_fmadd_pd(a, b, c);
}

static inline lanes negative_multiply_add(lanes a, lanes b, lanes c)
{
    return _mm512_fnmadd_pd(a, b, c);
}

/* halves, quarters, eighths */
static inline double total(lanes a)
{
    __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

/* sums of neighbours: (a0 + a1, b0 + b1) in each 128 bits */
static inline lanes add_neighbours(lanes a, lanes b)
{
    return add(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
}

/* even and odd 128-bit parts of a, then of b, added */
static inline lanes add_parts(lanes a, lanes b)
{
    return add(_mm512_shuffle_f64x2(a, b, 0x88), _mm512_shuffle_f64x2(a, b, 0xdd));
}

static inline void store_rows(double *out, const lanes *sum)
{
    lanes low = add_parts(add_neighbours(sum[0], sum[1]), add_neighbours(sum[2], sum[3]));
    lanes high = add_parts(add_neighbours(sum[4], sum[5]), add_neighbours(sum[6], sum[7]));
    store(out, add_parts(low, high));
}

/* bits of 2^(i/16) minus i 2^48: adding 16 k + i times 2^48 gives those of 2^(k + i/16) */
static const uint64_t sixteenths[16] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da,
};

/* x = k ln 2 / 16 + r: `bits` has k in its low bits, the result is e^r - 1. */
static inline lanes reduce(lanes x, __m512i *bits, lanes *whole)
{
    lanes shifted = multiply_add(x, splat(16 * FPLT_LOG2_E), splat(FPLT_ROUND));
    lanes k = sub(shifted, splat(FPLT_ROUND));
    lanes r = negative_multiply_add(k, splat(FPLT_LN2 / 16), x);
    r = negative_multiply_add(k, splat(FPLT_LN2_REST / 16), r);
    *bits = _mm512_castpd_si512(shifted);
    *whole = k;
    lanes square = mul(r, r);
    lanes low = multiply_add(r, splat(0x1.55555554dcc9bp-3), splat(0.5));
    lanes high = multiply_add(r, splat(0x1.11120b77051e7p-7), splat(0x1.55555555190f9p-5));
    high = multiply_add(square, splat(0x1.6c17bbd1f560ap-10), high);
    return multiply_add(square, multiply_add(square, high, low), r);
}

static inline __m512i power_bits(__m512i k)
{
    return _mm512_permutex2var_epi64(_mm512_loadu_si512(sixteenths), k,
                                     _mm512_loadu_si512(sixteenths + 8));
}

/* |x| <= 708: no care for the exponent's range */
static inline lanes safe_exponential(lanes x)
{
    __m512i bits;
    lanes whole, rest = reduce(x, &bits, &whole);
    lanes power =
        _mm512_castsi512_pd(_mm512_add_epi64(power_bits(bits), _mm512_slli_epi64(bits, 48)));
    return multiply_add(power, rest, power);
}

/* The order of min and max lets a NaN through. */
static inline lanes clamp(lanes x, double low, double high)
{
    return _mm512_max_pd(splat(low), _mm512_min_pd(splat(high), x));
}

static inline lanes exponential(lanes x)
{
    __m512i bits;
    lanes whole, rest = reduce(clamp(x, -800, 800), &bits, &whole);
    __m512i sixteenth = _mm512_and_si512(bits, _mm512_set1_epi64(15));
    lanes power =
        _mm512_castsi512_pd(_mm512_add_epi64(power_bits(bits), _mm512_slli_epi64(sixteenth, 48)));
    lanes exponent = _mm512_roundscale_pd(mul(whole, splat(0.0625)), _MM_FROUND_TO_NEG_INF);
    return _mm512_scalef_pd(multiply_add(power, rest, power), exponent);
}

/* 1/(1 + a) of two vectors with one division, which is slow here: 1/x = y/(xy). Below 2^500 the product
 * does not overflow, and beyond the result is 0 to 150 digits. */
static inline void inverse_pair(lanes *a, lanes *b)
{
    lanes x = add(splat(1), smallest(splat(0x1p500), *a));
    lanes y = add(splat(1), smallest(splat(0x1p500), *b));
    lanes inverse = quotient(splat(1), mul(x, y));
    *a = mul(inverse, y);
    *b = mul(inverse, x);
}

/* counts of lanes below 0, and equal to it */
typedef size_t tally;

static inline tally no_tally(void)
{
    return 0;
}

static inline tally tally_negatives(tally count, lanes x)
{
    return count + (size_t)__builtin_popcount(_mm512_cmp_pd_mask(x, splat(0), _CMP_LT_OQ));
}

static inline tally tally_zeros(tally count, lanes x)
{
    return count + (size_t)__builtin_popcount(_mm512_cmp_pd_mask(x, splat(0), _CMP_EQ_OQ));
}

static inline size_t tally_total(tally count)
{
    return count;
}

#include "linalg/simd.inc"
