/* exp and log in plain C with the same bits on every machine, and the coefficients that the vector
 * versions share. libm's own results differ between machines in the last bit.
 *
 * exp: x = k ln 2 + r, |r| <= ln 2 / 2; e^r = 1 + r + r^2 P(r) with P the Chebyshev fit of degree 9
 * (error 1.3e-17 of e^r). log(1 + e) = 2 atanh(s), s = e/(2 + e), for 0 <= e <= 1, by
 * 2 atanh(s) = 2 s + s^3 Q(s^2), Q the Chebyshev fit of degree 10 on [0, 1/9]. */
#ifndef FPLT_LINALG_ELEMENTARY_H
#define FPLT_LINALG_ELEMENTARY_H

#include <stdint.h>
#include <string.h>

/* P, from the constant term up */
#define FPLT_EXP_0 0x1.0000000000001p-1
#define FPLT_EXP_1 0x1.5555555555556p-3
#define FPLT_EXP_2 0x1.5555555553d63p-5
#define FPLT_EXP_3 0x1.11111111109b3p-7
#define FPLT_EXP_4 0x1.6c16c1788bd90p-10
#define FPLT_EXP_5 0x1.a01a01a7c41d5p-13
#define FPLT_EXP_6 0x1.a019b90d2ae7ap-16
#define FPLT_EXP_7 0x1.71de0dae63bb3p-19
#define FPLT_EXP_8 0x1.289185613a3d6p-22
#define FPLT_EXP_9 0x1.af38a9b0ec855p-26

/* Q, from the constant term up */
#define FPLT_LOG_0  0x1.5555555555555p-1
#define FPLT_LOG_1  0x1.9999999999944p-2
#define FPLT_LOG_2  0x1.2492492499d46p-2
#define FPLT_LOG_3  0x1.c71c71bedea97p-3
#define FPLT_LOG_4  0x1.745d19937b1fcp-3
#define FPLT_LOG_5  0x1.3b13515f6f9efp-3
#define FPLT_LOG_6  0x1.111abdc8abe16p-3
#define FPLT_LOG_7  0x1.e0a2d581ab68fp-4
#define FPLT_LOG_8  0x1.bc37f0140c19ep-4
#define FPLT_LOG_9  0x1.32e0d25c9c761p-4
#define FPLT_LOG_10 0x1.401d3e65cdc48p-3

#define FPLT_LOG2_E 0x1.71547652b82fep+0
/* ln 2 in two parts: k times the first is exact for |k| < 2^20 ... */
#define FPLT_LN2_HIGH 0x1.62e42feep-1
#define FPLT_LN2_LOW  0x1.a39ef35793c76p-33
/* ... and rounded, with the rest, for where the product is fused. */
#define FPLT_LN2      0x1.62e42fefa39efp-1
#define FPLT_LN2_REST 0x1.abc9e3b39803fp-56
/* Adding and subtracting it rounds to an integer, whose low bits are then those of the sum. */
#define FPLT_ROUND 0x1.8p52
/* exp is +infinity above and 0 below. */
#define FPLT_EXP_MAX 0x1.62e42fefa39efp+9
#define FPLT_EXP_MIN (-0x1.74910d52d3052p+9)
/* Between -708 and 708 neither exp x nor 1/(1 + exp x) is subnormal. */
#define FPLT_EXP_SAFE 708.0

/* 2^k for a normal result. */
static inline double fplt__power_of_two(int64_t k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

static inline double fplt__exp_polynomial(double r)
{
    double p = FPLT_EXP_9;
    p = p * r + FPLT_EXP_8;
    p = p * r + FPLT_EXP_7;
    p = p * r + FPLT_EXP_6;
    p = p * r + FPLT_EXP_5;
    p = p * r + FPLT_EXP_4;
    p = p * r + FPLT_EXP_3;
    p = p * r + FPLT_EXP_2;
    p = p * r + FPLT_EXP_1;
    p = p * r + FPLT_EXP_0;
    return 1 + (r + r * r * p);
}

/* |x| <= 708. No branch, so that the compiler can turn a loop over it into vectors. */
static inline double fplt__exp_safe(double x)
{
    double shifted = x * FPLT_LOG2_E + FPLT_ROUND, k = shifted - FPLT_ROUND;
    double power = fplt__exp_polynomial(x - k * FPLT_LN2_HIGH - k * FPLT_LN2_LOW);
    uint64_t bits, exponent;
    memcpy(&bits, &power, sizeof bits);
    memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << 52;
    memcpy(&power, &bits, sizeof power);
    return power;
}

static inline double fplt__exp(double x)
{
    if (!(x <= FPLT_EXP_MAX))
        return x > 0 ? __builtin_inf() : x; /* NaN stays */
    if (x < FPLT_EXP_MIN)
        return 0;
    double k = x * FPLT_LOG2_E + FPLT_ROUND - FPLT_ROUND;
    double r = x - k * FPLT_LN2_HIGH - k * FPLT_LN2_LOW;
    int64_t half = (int64_t)k / 2; /* two factors: a subnormal result is rounded once */
    return fplt__exp_polynomial(r) * fplt__power_of_two((int64_t)k - half) *
           fplt__power_of_two(half);
}

/* s^3 Q(s^2) for 2 atanh(s) = 2 s + s^3 Q(s^2). */
static inline double fplt__atanh_rest(double s)
{
    double z = s * s, p = FPLT_LOG_10;
    p = p * z + FPLT_LOG_9;
    p = p * z + FPLT_LOG_8;
    p = p * z + FPLT_LOG_7;
    p = p * z + FPLT_LOG_6;
    p = p * z + FPLT_LOG_5;
    p = p * z + FPLT_LOG_4;
    p = p * z + FPLT_LOG_3;
    p = p * z + FPLT_LOG_2;
    p = p * z + FPLT_LOG_1;
    p = p * z + FPLT_LOG_0;
    return s * z * p;
}

/* log(1 + e), 0 <= e <= 1. */
static inline double fplt__log1p_unit(double e)
{
    double s = e / (2 + e);
    return 2 * s + fplt__atanh_rest(s);
}

/* log x for a normal x >= 1. */
static inline double fplt__log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t k = (int64_t)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    double s = (mantissa - 1) / (mantissa + 1);
    return (double)k * FPLT_LN2_HIGH + (2 * s + (fplt__atanh_rest(s) + (double)k * FPLT_LN2_LOW));
}

#endif
