/* Decimal numbers, rounded correctly.
 *
 * Mantissas up to 2^53 and powers of ten up to 10^22 are doubles, so one multiplication or division rounds
 * once [Clinger 1990]. Otherwise the mantissa is multiplied by a power of five of 128 bits, and the upper
 * bits of the product are the double wherever the bits below cannot change it [Lemire 2021]. What remains
 * (more than 19 digits that matter, words) goes to the C library. */
#include <endian.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "data/scan.h"
#include "data/text.h"
#include "powers.inc" /* made by tools/powers */

_Static_assert(FLT_EVAL_METHOD == 0, "one operation must round once");

__extension__ typedef unsigned __int128 wide;

enum { MAX_DIGITS = 19, EXACT_POWER = 22, FRACTION_BITS = 52, BIAS = 1023, INFINITE = 0x7ff };

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A decimal number in pieces: (-1)^negative mantissa 10^exponent. */
struct decimal {
    uint64_t mantissa;
    int64_t exponent;
    int negative;
    int cut; /* digits behind the mantissa were left out */
};

static int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* w 5^power as 128 bits; the lower half of the power enters where it may reach the rounded bits. */
static wide product(uint64_t w, int power)
{
    const uint64_t *five = powers_of_five[power - LOWEST_POWER];
    wide upper = (wide)w * five[0];
    if (((uint64_t)(upper >> 64) & 0x1ff) == 0x1ff)
        upper += (wide)w * five[1] >> 64;
    return upper;
}

/* Half a unit is added and cut off; where the number lies exactly between two, the even one is taken. */
static uint64_t rounded(uint64_t mantissa)
{
    return (mantissa + (mantissa & 1)) >> 1;
}

/* Below the least exponent: fewer bits, and no hidden one. */
static uint64_t subnormal(uint64_t mantissa, int exponent)
{
    if (1 - exponent >= 64)
        return 0;
    mantissa = rounded(mantissa >> (1 - exponent));
    return mantissa; /* 2^52 reads as the least normal number, as it should */
}

/* The bits of the double nearest to mantissa 10^power; zero where that is not certain. */
static int lemire(uint64_t mantissa, int64_t power, uint64_t *bits)
{
    if (mantissa == 0 || power < LOWEST_POWER) {
        *bits = 0;
        return 1;
    }
    *bits = (uint64_t)INFINITE << FRACTION_BITS;
    if (power > HIGHEST_POWER)
        return 1;
    int zeros = __builtin_clzll(mantissa);
    wide whole = product(mantissa << zeros, (int)power);
    uint64_t high = (uint64_t)(whole >> 64), low = (uint64_t)whole;
    if (low == UINT64_MAX && (power < -27 || power > 55))
        return 0;
    int top = (int)(high >> 63), shift = top + 64 - FRACTION_BITS - 3;
    uint64_t kept = high >> shift;
    /* floor(log2 5^power) + power, by 217706/65536 near log2 10 */
    int exponent = (int)((217706 * power) >> 16) + 63 + top - zeros + BIAS;
    if (exponent <= 0) {
        *bits = subnormal(kept, exponent);
        return 1;
    }
    if (low <= 1 && power >= -4 && power <= 23 && (kept & 3) == 1 && kept << shift == high)
        kept &= ~UINT64_C(1);
    kept = rounded(kept);
    if (kept >> (FRACTION_BITS + 1)) {
        kept >>= 1;
        exponent++;
    }
    if (exponent < INFINITE)
        *bits = (kept & ((UINT64_C(1) << FRACTION_BITS) - 1)) | (uint64_t)exponent << FRACTION_BITS;
    return 1;
}

/* Zero where it is not certain. */
static int nearest(const struct decimal *decimal, double *value)
{
    uint64_t w = decimal->mantissa, bits, next;
    int64_t power = decimal->exponent;
    if (!decimal->cut && w <= UINT64_C(1) << 53 && power >= -EXACT_POWER && power <= EXACT_POWER) {
        double size = (double)w;
        size = power < 0 ? size / powers_of_ten[-power] : size * powers_of_ten[power];
        *value = decimal->negative ? -size : size;
        return 1;
    }
    if (!lemire(w, power, &bits))
        return 0;
    if (decimal->cut && (!lemire(w + 1, power, &next) || next != bits))
        return 0;
    *value = from_bits(bits | (uint64_t)decimal->negative << 63);
    return 1;
}

/* Digits into the mantissa, as many as it has room for. */
static const char *take_digits(const char *c, const char *end, struct decimal *decimal, int *digits)
{
    for (; c < end && is_digit(*c); c++) {
        if (*digits >= MAX_DIGITS) {
            decimal->cut |= *c != '0';
            decimal->exponent++;
            continue;
        }
        decimal->mantissa = decimal->mantissa * 10 + (uint64_t)(*c - '0');
        *digits += decimal->mantissa != 0;
    }
    return c;
}

/* What follows an exponent at c, or NULL where there is none after the letter. */
static const char *take_exponent(const char *c, const char *end, struct decimal *decimal)
{
    int minus = 0, power = 0;
    c++;
    if (c < end && (*c == '+' || *c == '-'))
        minus = *c++ == '-';
    if (c == end || !is_digit(*c))
        return NULL;
    for (; c < end && is_digit(*c); c++)
        power = power < 100000 ? power * 10 + (*c - '0') : power;
    decimal->exponent += minus ? -power : power;
    return c;
}

/* What follows the number at c, or NULL where there is none. */
static const char *take_decimal(const char *c, const char *end, struct decimal *decimal)
{
    int digits = 0;
    *decimal = (struct decimal){0, 0, 0, 0};
    if (c < end && (*c == '+' || *c == '-'))
        decimal->negative = *c++ == '-';
    const char *first = c;
    c = take_digits(c, end, decimal, &digits);
    size_t seen = (size_t)(c - first);
    if (c < end && *c == '.') {
        const char *point = ++c;
        c = take_digits(c, end, decimal, &digits);
        decimal->exponent -= c - point;
        seen += (size_t)(c - point);
    }
    if (!seen)
        return NULL;
    return c < end && (*c == 'e' || *c == 'E') ? take_exponent(c, end, decimal) : c;
}

/* With care: any number of digits, an exponent. */
static const char *scan_slowly(const char *at, const char *end, double *value)
{
    struct decimal decimal;
    const char *after = take_decimal(at, end, &decimal);
    return after && nearest(&decimal, value) && isfinite(*value) ? after : NULL;
}

/* The digits that eight bytes of text begin with, and how many they are; they are appended to `mantissa`. The
 * first byte that is no digit is found by what additions carry out of the range '0' .. '9'. */
static unsigned take_eight(const char *c, uint64_t *mantissa)
{
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t text;
    memcpy(&text, c, sizeof text);
    text = le64toh(text);
    uint64_t others =
        ((text + UINT64_C(0x4646464646464646)) | (text - UINT64_C(0x3030303030303030))) &
        UINT64_C(0x8080808080808080);
    unsigned count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    if (!count)
        return 0;
    text <<= 64 - 8 * count;
    *mantissa = *mantissa * tens[count] + fplt__eight_digits(text & UINT64_C(0x0f0f0f0f0f0f0f0f));
    return count;
}

/* Not inlined: a structure on the stack would put a stack guard into every call of fplt__number_scan. */
__attribute__((noinline)) static int nearest_long(uint64_t mantissa, ptrdiff_t exponent,
                                                  int negative, double *value)
{
    struct decimal decimal = {mantissa, exponent, negative, 0};
    return nearest(&decimal, value);
}

/* Up to 19 digits fit the mantissa, and more are counted only at the end: most numbers are short and have
 * no exponent. */
const char *fplt__number_scan(const char *at, const char *end, double *value)
{
    const char *c = at;
    uint64_t mantissa = 0;
    unsigned digit;
    int negative = c < end && *c == '-';
    c += negative;
    const char *first = c;
    for (; c < end && (digit = (unsigned)(unsigned char)*c - '0') < 10; c++)
        mantissa = mantissa * 10 + digit;
    ptrdiff_t digits = c - first, fraction = 0;
    if (c < end && *c == '.') {
        const char *point = ++c;
        for (unsigned taken = 8; taken == 8 && end - c >= 8; c += taken)
            taken = take_eight(c, &mantissa);
        for (; c < end && (digit = (unsigned)(unsigned char)*c - '0') < 10; c++)
            mantissa = mantissa * 10 + digit;
        fraction = c - point;
        digits += fraction;
    }
    if (digits == 0 || digits > MAX_DIGITS || (c < end && (*c | 0x20) == 'e'))
        return scan_slowly(at, end, value);
    if (mantissa <= UINT64_C(1) << 53) { /* 19 digits behind the point are no more than 22 */
        double size = (double)(int64_t)mantissa / powers_of_ten[fraction];
        *value = negative ? -size : size;
        return c;
    }
    return nearest_long(mantissa, -fraction, negative, value) ? c : NULL;
}

static fplt__number parse_word(fplt__span span)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    int sign = span.length && (*span.text == '+' || *span.text == '-');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span.length - (size_t)sign == strlen(words[i]) &&
            strncasecmp(span.text + sign, words[i], strlen(words[i])) == 0)
            return FPLT__NOT_FINITE;
    return FPLT__NOT_A_NUMBER;
}

static double parse_slowly(fplt__span span)
{
    char copy[FPLT__LONGEST_NUMBER + 1];
    memcpy(copy, span.text, span.length);
    copy[span.length] = 0;
    return strtod(copy, NULL);
}

fplt__number fplt__number_parse(fplt__span span, double *value)
{
    struct decimal decimal;
    if (span.length > FPLT__LONGEST_NUMBER)
        return FPLT__NOT_A_NUMBER;
    const char *end = span.text + span.length, *after = take_decimal(span.text, end, &decimal);
    if (after != end || !span.length)
        return parse_word(span);
    if (!nearest(&decimal, value))
        *value = parse_slowly(span);
    return isfinite(*value) ? FPLT__NUMBER : FPLT__NOT_FINITE;
}
