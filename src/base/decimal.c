/* Doubles as decimal text. A double is c 2^q; both forms multiply it by a power of ten of 128 bits.
 *
 * Shortest digits: the numbers that read back as the double are an interval around it. In units of 10^k, the largest power
 * of ten that is not above its width, it holds at least one integer and at most one multiple of ten, and the ends and
 * the middle need two bits behind the point and whether anything follows [Giulietti 2020, The Schubfach way to
 * render doubles].
 *
 * 17 digits: the product has more than 64 bits behind the point, which round correctly unless they are next to one half. */
#include "base/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "powers.inc" /* made by tools/powers */

__extension__ typedef unsigned __int128 wide;

enum { FRACTION_BITS = 52, LOWEST_EXPONENT = -1074, MAX_DIGITS = 17 };
/* Powers of five that the table has exactly. */
enum { HIGHEST_EXACT = 55 };

static const uint64_t hidden_bit = UINT64_C(1) << FRACTION_BITS;

/* c 2^q, not negative. */
struct binary {
    uint64_t c;
    int q;
};

/* digits 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
};

/* The integer part of q log10(2), of log10(3/4 2^q), and of log2(10^k), for all exponents of doubles. */
static int log10_of_two(int q)
{
    return (int)(((int64_t)q * 1262611) >> 22);
}

static int log10_of_three_quarters(int q)
{
    return (int)(((int64_t)q * 1262611 - 524031) >> 22);
}

static int log2_of_ten(int k)
{
    return (int)(((int64_t)k * 1741647) >> 19);
}

static struct binary binary_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> FRACTION_BITS & 0x7ff);
    uint64_t fraction = bits & (hidden_bit - 1);
    return exponent ? (struct binary){fraction | hidden_bit, exponent - 1 + LOWEST_EXPONENT}
                    : (struct binary){fraction, LOWEST_EXPONENT};
}

/* ---- shortest ---- */

/* number times `upper` 2^64 + `lower`, over 2^128; the last bit is 1 where anything was cut off. */
static uint64_t rounded_to_odd(uint64_t upper, uint64_t lower, uint64_t number)
{
    wide product = (wide)upper * number + ((wide)lower * number >> 64);
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

static struct decimal shortest(struct binary v)
{
    int uneven = v.c == hidden_bit && v.q > LOWEST_EXPONENT; /* the double below is nearer */
    int k = uneven ? log10_of_three_quarters(v.q) : log10_of_two(v.q);
    int shift = v.q + log2_of_ten(-k) + 1, inexact = -k > HIGHEST_EXACT || -k < -27;
    FPLT__ASSERT(-k >= LOWEST_POWER && -k <= HIGHEST_POWER && shift >= 1 && shift <= 4);
    uint64_t upper = powers_of_five[-k - LOWEST_POWER][0];
    uint64_t lower = powers_of_five[-k - LOWEST_POWER][1] + (uint64_t)inexact; /* rounded up */
    upper += inexact && !lower;
    uint64_t open = v.c & 1; /* the ends are the double's own where c is even */
    uint64_t low = rounded_to_odd(upper, lower, (4 * v.c - 2 + (uint64_t)uneven) << shift) + open;
    uint64_t middle = rounded_to_odd(upper, lower, 4 * v.c << shift);
    uint64_t high = rounded_to_odd(upper, lower, (4 * v.c + 2) << shift) - open;
    uint64_t whole = middle / 4;
    if (whole >= 10) {
        uint64_t ten = whole / 10;
        int below = low <= 40 * ten, above = 40 * ten + 40 <= high;
        if (below != above)
            return (struct decimal){ten + (uint64_t)above, k + 1};
    }
    int below = low <= 4 * whole, above = 4 * whole + 4 <= high;
    if (below == above) {
        uint64_t half = 4 * whole + 2;
        above = middle > half || (middle == half && (whole & 1));
    }
    return (struct decimal){whole + (uint64_t)above, k};
}

/* ---- 17 digits ---- */

/* v 10^power with `scaled` digits before the point, rounded; 0 where the table does not tell how. */
static int scale(struct binary v, int power, uint64_t *scaled)
{
    int exact = power >= 0 && power <= HIGHEST_EXACT;
    const uint64_t *five = powers_of_five[power - LOWEST_POWER];
    wide lower = (wide)v.c * five[1], upper = (wide)v.c * five[0] + (uint64_t)(lower >> 64);
    int shift = 127 - v.q - log2_of_ten(power) - 128;
    FPLT__ASSERT(shift >= 2 && shift < 64);
    uint64_t top = (uint64_t)(upper >> 64), next = (uint64_t)upper,
             half = UINT64_C(1) << (shift - 1);
    uint64_t fraction = top & (2 * half - 1);
    *scaled = top >> shift;
    if (!exact &&
        ((fraction == half && next <= 1) || (fraction == half - 1 && next >= UINT64_MAX - 1)))
        return 0;
    int tie = fraction == half && !next && !(uint64_t)lower;
    *scaled += tie ? *scaled & 1 : fraction >= half;
    return 1;
}

static int seventeen(struct binary v, struct decimal *made)
{
    const uint64_t limit = UINT64_C(100000000000000000);
    int zeros = __builtin_clzll(v.c);
    v.c <<= zeros;
    v.q -= zeros;
    int power = MAX_DIGITS - 1 - log10_of_two(v.q + 63);
    if (power > HIGHEST_POWER || !scale(v, power, &made->digits))
        return 0;
    /* one digit too many, or one more by rounding: 99...95 */
    if (made->digits >= limit && (power == LOWEST_POWER || !scale(v, --power, &made->digits)))
        return 0;
    made->exponent = -power;
    if (made->digits == limit) {
        made->digits /= 10;
        made->exponent++;
    }
    return 1;
}

/* ---- text ---- */

/* Digits of a number below 10^8, with zeros before it. */
static inline void put_eight(uint32_t number, char *text)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    uint32_t upper = number / 10000, lower = number % 10000;
    memcpy(text, pairs + 2 * (upper / 100), 2);
    memcpy(text + 2, pairs + 2 * (upper % 100), 2);
    memcpy(text + 4, pairs + 2 * (lower / 100), 2);
    memcpy(text + 6, pairs + 2 * (lower % 100), 2);
}

/* Inlined, so that the divisor is a constant. */
static inline void trim(struct decimal *number, uint64_t power, int zeros)
{
    for (; number->digits % power == 0; number->exponent += zeros)
        number->digits /= power;
}

/* The digits without zeros at the end, in `text`, which has room for 24 and more; returns where they begin and how many they are. */
static const char *put_digits(struct decimal *number, char *text, int *count)
{
    const uint64_t part = UINT64_C(100000000);
    trim(number, part, 8);
    trim(number, 10000, 4);
    trim(number, 100, 2);
    trim(number, 10, 1);
    put_eight((uint32_t)(number->digits / (part * part)), text);
    put_eight((uint32_t)(number->digits / part % part), text + 8);
    put_eight((uint32_t)(number->digits % part), text + 16);
    memset(text + 24, '0', MAX_DIGITS);
    const char *first = text;
    while (*first == '0')
        first++;
    *count = (int)(text + 24 - first);
    return first;
}

static char *put_exponent(int exponent, int least, char *text)
{
    *text++ = 'e';
    if (exponent < 0 || least > 1)
        *text++ = exponent < 0 ? '-' : '+';
    unsigned size = (unsigned)(exponent < 0 ? -exponent : exponent);
    if (size >= 100)
        *text++ = (char)('0' + size / 100);
    if (size >= 10 || least > 1)
        *text++ = (char)('0' + size / 10 % 10);
    *text++ = (char)('0' + size % 10);
    return text;
}

/* How numbers are written: powers of ten from which there is an exponent, and its digits at least. */
struct style {
    int scientific_from, exponent_digits;
};

/* As many digits as there may be: a fixed number is copied faster than the right one. */
static void copy_digits(char *text, const char *digits)
{
    memcpy(text, digits, MAX_DIGITS);
}

static char *write_decimal(struct decimal number, struct style style, char *text)
{
    char digits[24 + MAX_DIGITS];
    int count;
    const char *first = put_digits(&number, digits, &count);
    int point = count + number.exponent; /* digits before the point */
    if (point > style.scientific_from || point < -3) {
        *text++ = *first;
        if (count > 1)
            *text++ = '.';
        copy_digits(text, first + 1);
        return put_exponent(point - 1, style.exponent_digits, text + count - 1);
    }
    if (point <= 0) {
        memcpy(text, "0.000", 5);
        copy_digits(text + 2 - point, first);
        return text + 2 - point + count;
    }
    copy_digits(text, first);
    if (point >= count) {
        memset(text + count, '0', (size_t)(point - count));
        return text + point;
    }
    text[point] = '.';
    copy_digits(text + point + 1, first + point);
    return text + count + 1;
}

static size_t finish(const char *text, char *end)
{
    *end = 0;
    return (size_t)(end - text);
}

size_t fplt__decimal_shortest(double value, char *text)
{
    static const struct style style = {16, 1};
    double size = fabs(value);
    char *at = text;
    if (!isfinite(value))
        return (size_t)snprintf(text, FPLT__DECIMAL_ROOM, "%g", value);
    if (signbit(value))
        *at++ = '-';
    if (size < 10 && size == (double)(int)size) {
        *at++ = (char)('0' + (int)size);
        return finish(text, at);
    }
    return finish(text, write_decimal(shortest(binary_of(size)), style, at));
}

size_t fplt__decimal_17(double value, char *text)
{
    static const struct style style = {17, 2};
    struct decimal number;
    char *at = text;
    if (value == 0 || !isfinite(value) || !seventeen(binary_of(fabs(value)), &number))
        return (size_t)snprintf(text, FPLT__DECIMAL_ROOM, "%.17g", value);
    if (value < 0)
        *at++ = '-';
    return finish(text, write_decimal(number, style, at));
}
