/* The kernel for AVX2 with fused multiply-add. */
#include <float.h>
#include <immintrin.h>
#include <math.h>

#include "linalg/elementary.h"
#include "linalg/kernel.h"
#include "linalg/sparse.h"

#define KERNEL     fplt__kernel_avx2
#define NAME       "avx2"
#define HELP       "AVX2 and FMA"
#define LANES      4
#define PANEL_MAX  16
#define BLOCK_ROWS 4
#define BATCHED

typedef __m256d lanes;

static int available(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline lanes load(const double *x)
{
    return _mm256_loadu_pd(x);
}

static inline void store(double *x, lanes a)
{
    _mm256_storeu_pd(x, a);
}

static inline __m256i first_lanes(size_t count)
{
    static const int64_t mask[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(mask + 4 - count));
}

static inline lanes load_some(const double *x, size_t count)
{
    return _mm256_maskload_pd(x, first_lanes(count));
}

static inline void store_some(double *x, lanes a, size_t count)
{
    _mm256_maskstore_pd(x, first_lanes(count), a);
}

static inline lanes load_apart(const double *const *from, size_t at)
{
    return _mm256_set_pd(from[3][at], from[2][at], from[1][at], from[0][at]);
}

static inline lanes load_narrow(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

static inline lanes load_narrow_apart(const float *const *from, size_t at)
{
    return _mm256_cvtps_pd(_mm_set_ps(from[3][at], from[2][at], from[1][at], from[0][at]));
}

static inline lanes splat(double x)
{
    return _mm256_set1_pd(x);
}

static inline lanes add(lanes a, lanes b)
{
    return _mm256_add_pd(a, b);
}

static inline lanes sub(lanes a, lanes b)
{
    return _mm256_sub_pd(a, b);
}

static inline lanes mul(lanes a, lanes b)
{
    return _mm256_mul_pd(a, b);
}

static inline lanes quotient(lanes a, lanes b)
{
    return _mm256_div_pd(a, b);
}

static inline lanes largest(lanes a, lanes b)
{
    return _mm256_max_pd(a, b);
}

static inline lanes smallest(lanes a, lanes b)
{
    return _mm256_min_pd(a, b);
}

static inline lanes multiply_add(lanes a, lanes b, lanes c)
{
    return _mm256_fmadd_pd(a, b, c);
}

static inline lanes negative_multiply_add(lanes a, lanes b, lanes c)
{
    return _mm256_fnmadd_pd(a, b, c);
}

static inline double total(lanes a)
{
    __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

static inline lanes total_of_four(const lanes *sum)
{
    lanes low = _mm256_hadd_pd(sum[0], sum[1]), high = _mm256_hadd_pd(sum[2], sum[3]);
    return add(_mm256_permute2f128_pd(low, high, 0x20), _mm256_permute2f128_pd(low, high, 0x31));
}

static inline void store_rows(double *out, const lanes *sum)
{
    store(out, total_of_four(sum));
    store(out + 4, total_of_four(sum + 4));
}

/* x = k ln 2 + r: `shifted` has k in its low bits, the result is e^r. */
static inline lanes reduce(lanes x, lanes *shifted)
{
    *shifted = multiply_add(x, splat(FPLT_LOG2_E), splat(FPLT_ROUND));
    lanes k = sub(*shifted, splat(FPLT_ROUND));
    lanes r = negative_multiply_add(k, splat(FPLT_LN2), x);
    r = negative_multiply_add(k, splat(FPLT_LN2_REST), r);
    lanes r2 = mul(r, r), r4 = mul(r2, r2);
    lanes p01 = multiply_add(r, splat(FPLT_EXP_1), splat(FPLT_EXP_0));
    lanes p23 = multiply_add(r, splat(FPLT_EXP_3), splat(FPLT_EXP_2));
    lanes p45 = multiply_add(r, splat(FPLT_EXP_5), splat(FPLT_EXP_4));
    lanes p67 = multiply_add(r, splat(FPLT_EXP_7), splat(FPLT_EXP_6));
    lanes p89 = multiply_add(r, splat(FPLT_EXP_9), splat(FPLT_EXP_8));
    lanes low = multiply_add(p23, r2, p01), middle = multiply_add(p67, r2, p45);
    lanes p = multiply_add(multiply_add(p89, r4, middle), r4, low);
    return add(splat(1), multiply_add(r2, p, r));
}

static inline lanes power_of_two(lanes shifted)
{
    __m256i exponent = _mm256_add_epi64(_mm256_castpd_si256(shifted), _mm256_set1_epi64x(1023));
    return _mm256_castsi256_pd(_mm256_slli_epi64(exponent, 52));
}

/* |x| <= 708: the exponent is added to the bits */
static inline lanes safe_exponential(lanes x)
{
    lanes shifted, rest = reduce(x, &shifted);
    __m256i exponent = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52);
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(rest), exponent));
}

/* The order of min and max lets a NaN through. */
static inline lanes clamp(lanes x, double low, double high)
{
    return _mm256_max_pd(splat(low), _mm256_min_pd(splat(high), x));
}

/* Two factors: a subnormal result is rounded once. */
static inline lanes exponential(lanes x)
{
    lanes shifted, rest = reduce(clamp(x, -746, 710), &shifted);
    lanes k = sub(shifted, splat(FPLT_ROUND));
    lanes half = multiply_add(k, splat(0.5), splat(FPLT_ROUND));
    lanes other = add(sub(k, sub(half, splat(FPLT_ROUND))), splat(FPLT_ROUND));
    return mul(mul(rest, power_of_two(half)), power_of_two(other));
}

/* 1/(1 + a) of two vectors */
static inline void inverse_pair(lanes *a, lanes *b)
{
    *a = quotient(splat(1), add(splat(1), *a));
    *b = quotient(splat(1), add(splat(1), *b));
}

/* counts of lanes below 0, and equal to it */
typedef __m256i tally;

static inline tally no_tally(void)
{
    return _mm256_setzero_si256();
}

static inline tally tally_negatives(tally count, lanes x)
{
    return _mm256_sub_epi64(count, _mm256_castpd_si256(_mm256_cmp_pd(x, splat(0), _CMP_LT_OQ)));
}

static inline tally tally_zeros(tally count, lanes x)
{
    return _mm256_sub_epi64(count, _mm256_castpd_si256(_mm256_cmp_pd(x, splat(0), _CMP_EQ_OQ)));
}

static inline size_t tally_total(tally count)
{
    uint64_t each[LANES];
    _mm256_storeu_si256((__m256i *)each, count);
    return each[0] + each[1] + each[2] + each[3];
}

static inline void transpose(lanes *v)
{
    lanes low01 = _mm256_unpacklo_pd(v[0], v[1]), high01 = _mm256_unpackhi_pd(v[0], v[1]);
    lanes low23 = _mm256_unpacklo_pd(v[2], v[3]), high23 = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(low01, low23, 0x20);
    v[1] = _mm256_permute2f128_pd(high01, high23, 0x20);
    v[2] = _mm256_permute2f128_pd(low01, low23, 0x31);
    v[3] = _mm256_permute2f128_pd(high01, high23, 0x31);
}

static inline lanes root(lanes a)
{
    return _mm256_sqrt_pd(a);
}

static inline lanes magnitude(lanes a)
{
    return _mm256_andnot_pd(splat(-0.0), a);
}

/* masks: lanes with all bits set, or none */
static inline lanes below(lanes a, lanes b)
{
    return _mm256_cmp_pd(a, b, _CMP_LT_OQ);
}

static inline lanes equal(lanes a, lanes b)
{
    return _mm256_cmp_pd(a, b, _CMP_EQ_OQ);
}

static inline lanes both(lanes a, lanes b)
{
    return _mm256_and_pd(a, b);
}

static inline lanes not_set(lanes a)
{
    return _mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi64x(-1)));
}

static inline lanes choose(lanes mask, lanes a, lanes b)
{
    return _mm256_blendv_pd(b, a, mask);
}

static inline int is_any(lanes mask)
{
    return _mm256_movemask_pd(mask) != 0;
}

static inline int is_all(lanes mask)
{
    return _mm256_movemask_pd(mask) == 15;
}

#include "linalg/simd.inc"
