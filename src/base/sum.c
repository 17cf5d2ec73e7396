/* Exact vector sum in 128-bit fixed point.
 *
 * Fast path: with |x| < 2^39 (in units of the grid: 2^103) a number splits into a multiple of 2^-12
 * and a rest below 2^-13, each made an integer by adding a constant whose last bit has that weight
 * and subtracting the constant's bit pattern. The two integers go into 64-bit limbs `high` and
 * `low`; after 2^11 additions neither can have passed 2^62 and both are spilled into the 128-bit
 * total. Larger numbers are added to the total directly. */
#include "base/sum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/parallel.h"
#include "base/memory.h"
#include "base/words.h"

_Static_assert(FLT_EVAL_METHOD == 0, "the magic-number rounding needs plain double arithmetic");

typedef fplt__wide wide;
__extension__ typedef unsigned __int128 unsigned_wide;

enum { SPILL_AFTER = 1 << 11, BLOCK = 256 };
/* Packed numbers that one hand adds at a time; how many such shares there are at once. */
enum { SHARE = 1 << 14, SHARES = 64, WORTH_SHARING = 4 * SHARE };

static const double high_magic = 0x1.8p40, low_magic = 0x1.8p-12;
static const double fast_limit = 0x1p39, slow_limit = 0x1p61;
static const wide total_limit = (wide)1 << 125;

struct fplt__sum {
    size_t length;
    int exponent;
    unsigned pending; /* additions since the last spill */
    double scale;     /* 2^(-64 - exponent) */
    wide *total;
    int64_t *high, *low; /* NULL: words only */
    /* How many totals and limbs there are; the others are zero and their memory is not read. So unused
     * pages are never touched, and new pages are written before they are read, which is cheaper than after. */
    size_t totals, limbs;
};

static fplt_status create(size_t length, int exponent, int limbs, fplt__sum **out,
                          fplt_error *error)
{
    *out = NULL;
    if (exponent < -512 || exponent > 512)
        return fplt_error_set(error, FPLT_BAD_VALUE, "sum: exponent %d is not within -512 .. 512",
                              exponent);
    fplt__sum *sum;
    fplt_status status = fplt__alloc_into(&sum, 1, sizeof *sum, "a sum", error);
    if (status)
        return status;
    sum->length = length;
    sum->exponent = exponent;
    sum->scale = ldexp(1.0, FPLT_SUM_EXPONENT - exponent);
    status = fplt__alloc_into(&sum->total, length, sizeof *sum->total, "a sum", error);
    if (!status && limbs)
        status = fplt__alloc_into(&sum->high, length, sizeof *sum->high, "a sum", error);
    if (!status && limbs)
        status = fplt__alloc_into(&sum->low, length, sizeof *sum->low, "a sum", error);
    if (status) {
        fplt__sum_destroy(sum);
        return status;
    }
    *out = sum;
    return FPLT_OK;
}

fplt_status fplt__sum_create(size_t length, int exponent, fplt__sum **sum, fplt_error *error)
{
    return create(length, exponent, 1, sum, error);
}

fplt_status fplt__sum_create_words(size_t length, int exponent, fplt__sum **sum, fplt_error *error)
{
    return create(length, exponent, 0, sum, error);
}

void fplt__sum_destroy(fplt__sum *sum)
{
    if (!sum)
        return;
    fplt__free(sum->total);
    fplt__free(sum->high);
    fplt__free(sum->low);
    fplt__free(sum);
}

void fplt__sum_clear(fplt__sum *sum)
{
    sum->totals = sum->limbs = 0;
    sum->pending = 0;
}

/* From here on there are totals, or limbs, up to `end`. */
static inline void reach_totals(fplt__sum *sum, size_t end)
{
    FPLT__ASSERT(end <= sum->length && sum->totals <= sum->length);
    if (end <= sum->totals)
        return;
    memset(sum->total + sum->totals, 0, (end - sum->totals) * sizeof *sum->total);
    sum->totals = end;
}

static inline void reach_limbs(fplt__sum *sum, size_t end)
{
    FPLT__ASSERT(sum->high && sum->low);
    FPLT__ASSERT(end <= sum->length && sum->limbs <= sum->length);
    if (end <= sum->limbs)
        return;
    memset(sum->high + sum->limbs, 0, (end - sum->limbs) * sizeof *sum->high);
    memset(sum->low + sum->limbs, 0, (end - sum->limbs) * sizeof *sum->low);
    sum->limbs = end;
}

size_t fplt__sum_length(const fplt__sum *sum)
{
    return sum->length;
}

static int has_room(const fplt__sum *sum, size_t first, size_t count)
{
    return first <= sum->length && count <= sum->length - first;
}

static wide limbs_of(const fplt__sum *sum, size_t i)
{
    FPLT__ASSERT(i < sum->limbs);
    return (wide)sum->high[i] * ((wide)1 << 52) + sum->low[i];
}

static wide whole(const fplt__sum *sum, size_t i)
{
    FPLT__ASSERT(i < sum->length);
    wide value = i < sum->totals ? sum->total[i] : 0;
    return i < sum->limbs ? value + limbs_of(sum, i) : value;
}

/* |value| < total_limit, by one comparison */
static int within(wide value)
{
    return (unsigned_wide)value + (unsigned_wide)(total_limit - 1) <=
           2 * (unsigned_wide)(total_limit - 1);
}

static fplt_status spill(fplt__sum *sum)
{
    FPLT__ASSERT(sum->pending <= SPILL_AFTER);
    FPLT__ASSERT(!sum->limbs || sum->high);
    int beyond = 0;
    reach_totals(sum, sum->limbs);
    for (size_t i = 0; i < sum->limbs; i++)
        sum->total[i] += limbs_of(sum, i);
    sum->limbs = 0;
    sum->pending = 0;
    for (size_t i = 0; i < sum->totals; i++)
        beyond |= !within(sum->total[i]);
    return beyond ? FPLT_DIVERGED : FPLT_OK;
}

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static int all_below(const double *x, size_t count, double scale, double limit)
{
    int ok = 1;
    if (scale == 1)
        return fplt__all_below(x, count, limit);
    for (size_t i = 0; i < count; i++)
        ok &= fabs(x[i] * scale) < limit;
    return ok;
}

/* Two limbs of x, |x| < 2^39: x = high 2^-12 + low 2^-64 after one rounding. */
#define SPLIT(x, high_limb, low_limb)                            \
    double shifted_ = (x) + high_magic;                          \
    double rest_ = (x) - (shifted_ - high_magic);                \
    int64_t high_limb = bits_of(shifted_) - bits_of(high_magic); \
    int64_t low_limb = bits_of(rest_ + low_magic) - bits_of(low_magic)

static void add_fast(int64_t *high, int64_t *low, const double *x, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++) {
        SPLIT(x[i] * scale, high_limb, low_limb);
        high[i] += high_limb;
        low[i] += low_limb;
    }
}

static void subtract_fast(int64_t *high, int64_t *low, const double *x, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++) {
        SPLIT(x[i] * scale, high_limb, low_limb);
        high[i] -= high_limb;
        low[i] -= low_limb;
    }
}

/* A number of magnitude 2^39 or more has no bit below 2^-13, so its shift is exact; a smaller one
 * takes the fast split. */
static fplt_status add_slow(fplt__sum *sum, size_t i, double x, int sign)
{
    FPLT__ASSERT(i < sum->length);
    if (!(fabs(x) < slow_limit))
        return FPLT_DIVERGED;
    wide value;
    if (fabs(x) < fast_limit) {
        SPLIT(x, high_limb, low_limb);
        value = (wide)high_limb * ((wide)1 << 52) + low_limb;
    } else {
        int power;
        double mantissa = frexp(x, &power);
        value = (wide)ldexp(mantissa, 53) * ((wide)1 << (power - 53 + 64));
    }
    reach_totals(sum, i + 1);
    wide total = sum->total[i] + (sign < 0 ? -value : value);
    sum->total[i] = total;
    return (total < 0 ? -total : total) < total_limit ? FPLT_OK : FPLT_DIVERGED;
}

/* Numbers below fast_limit. What an agent sends may be nearly all zeros, as Hessians of sparse rows are, and groups of zeros
 * change nothing. */
static void add_groups(int64_t *high, int64_t *low, const double *x, size_t count, double scale,
                       int sign)
{
    enum { GROUP = 16 };
    for (size_t i = 0; i < count; i += GROUP) {
        size_t size = count - i < GROUP ? count - i : GROUP;
        if (!fplt__all_zero(x + i, size))
            (sign < 0 ? subtract_fast : add_fast)(high + i, low + i, x + i, size, scale);
    }
}

/* Counts one more addition to each limb. */
static fplt_status count_addition(fplt__sum *sum)
{
    if (sum->pending == SPILL_AFTER) {
        fplt_status status = spill(sum);
        if (status)
            return status;
    }
    sum->pending++;
    FPLT__ASSERT(sum->pending <= SPILL_AFTER);
    return FPLT_OK;
}

static fplt_status add_signed(fplt__sum *sum, size_t first, const double *x, size_t count, int sign)
{
    if (!has_room(sum, first, count) || !sum->high)
        return FPLT_BAD_VALUE;
    fplt_status counted = count_addition(sum);
    if (counted)
        return counted;
    reach_limbs(sum, first + count);
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t size = count - start < BLOCK ? count - start : BLOCK;
        const double *part = x + start;
        int64_t *high = sum->high + first + start, *low = sum->low + first + start;
        if (all_below(part, size, sum->scale, fast_limit)) {
            add_groups(high, low, part, size, sum->scale, sign);
            continue;
        }
        for (size_t i = 0; i < size; i++) {
            fplt_status status = add_slow(sum, first + start + i, part[i] * sum->scale, sign);
            if (status)
                return status;
        }
    }
    return FPLT_OK;
}

fplt_status fplt__sum_add(fplt__sum *sum, size_t first, const double *x, size_t count)
{
    return add_signed(sum, first, x, count, 1);
}

fplt_status fplt__sum_add_at(fplt__sum *sum, const uint32_t *at, const double *x, size_t count)
{
    size_t end = 0;
    for (size_t k = 0; k < count; k++)
        end = at[k] < end ? end : (size_t)at[k] + 1;
    if (end > sum->length || !sum->high)
        return FPLT_BAD_VALUE;
    fplt_status status = count_addition(sum);
    if (status)
        return status;
    reach_limbs(sum, end);
    for (size_t k = 0; k < count; k++) {
        double scaled = x[k] * sum->scale;
        if (fabs(scaled) < fast_limit) {
            SPLIT(scaled, high_limb, low_limb);
            sum->high[at[k]] += high_limb;
            sum->low[at[k]] += low_limb;
        } else if ((status = add_slow(sum, at[k], scaled, 1))) {
            return status;
        }
    }
    return FPLT_OK;
}

/* What a million agents do in every round: both in one pass, where they are short and of usual size. */
static int change_fast(fplt__sum *sum, size_t first, const double *restrict now,
                       const double *restrict before, size_t count)
{
    int64_t *restrict high = sum->high + first, *restrict low = sum->low + first;
    double scale = sum->scale;
    int ok = 1;
    if (count > BLOCK || sum->pending + 2 > SPILL_AFTER)
        return 0;
    for (size_t i = 0; i < count; i++)
        ok &= (fabs(now[i] * scale) < fast_limit) & (fabs(before[i] * scale) < fast_limit);
    if (!ok)
        return 0;
    sum->pending += 2;
    FPLT__ASSERT(sum->pending <= SPILL_AFTER);
    reach_limbs(sum, first + count);
    for (size_t i = 0; i < count; i++) {
        int64_t high_change, low_change;
        {
            SPLIT(now[i] * scale, high_limb, low_limb);
            high_change = high_limb;
            low_change = low_limb;
        }
        {
            SPLIT(before[i] * scale, high_limb, low_limb);
            high[i] += high_change - high_limb;
            low[i] += low_change - low_limb;
        }
    }
    return 1;
}

fplt_status fplt__sum_add_change(fplt__sum *sum, size_t first, const double *now,
                                 const double *before, size_t count)
{
    if (has_room(sum, first, count) && sum->high && change_fast(sum, first, now, before, count))
        return FPLT_OK;
    fplt_status status = add_signed(sum, first, now, count, 1);
    return status ? status : add_signed(sum, first, before, count, -1);
}

fplt_status fplt__sum_add_part(fplt__sum *sum, size_t first, const fplt__sum *other, size_t from,
                               size_t count)
{
    if (sum->exponent != other->exponent || !has_room(sum, first, count) ||
        !has_room(other, from, count))
        return FPLT_BAD_VALUE;
    size_t totals = other->totals > from ? other->totals - from : 0;
    size_t limbs = other->limbs > from ? other->limbs - from : 0;
    totals = totals < count ? totals : count;
    limbs = limbs < count ? limbs : count;
    reach_totals(sum, first + (totals > limbs ? totals : limbs));
    for (size_t i = 0; i < totals; i++)
        sum->total[first + i] += other->total[from + i];
    for (size_t i = 0; i < limbs; i++)
        sum->total[first + i] += limbs_of(other, from + i);
    return spill(sum);
}

fplt_status fplt__sum_merge(fplt__sum *sum, const fplt__sum *other)
{
    return sum->length == other->length ? fplt__sum_add_part(sum, 0, other, 0, sum->length)
                                        : FPLT_BAD_VALUE;
}

static double power_of_two(int power)
{
    FPLT__ASSERT(power >= -1022 && power <= 1023);
    uint64_t bits = (uint64_t)(power + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The nearest double, ties to even. The top 63 bits, with a sticky bit for what lies below them,
 * round the same way as the whole integer. */
static double nearest(wide value)
{
    unsigned_wide size = value < 0 ? -(unsigned_wide)value : (unsigned_wide)value;
    uint64_t top = (uint64_t)(size >> 63);
    if (!top)
        return (double)(int64_t)value;
    int shift = 64 - __builtin_clzll(top);
    FPLT__ASSERT(shift >= 1 && shift <= 64);
    uint64_t kept = (uint64_t)(size >> shift);
    kept |= (size & (((unsigned_wide)1 << shift) - 1)) != 0;
    double magnitude = (double)(int64_t)kept * power_of_two(shift);
    return value < 0 ? -magnitude : magnitude;
}

void fplt__sum_read(const fplt__sum *sum, size_t first, double *out, size_t count)
{
    FPLT__ASSERT(has_room(sum, first, count));
    double unit = power_of_two(sum->exponent);
    for (size_t i = 0; i < count; i++)
        out[i] = nearest(whole(sum, first + i)) * unit;
}

void fplt__sum_export(const fplt__sum *sum, size_t first, uint64_t *words, size_t count)
{
    FPLT__ASSERT(has_room(sum, first, count));
    for (size_t i = 0; i < count; i++) {
        unsigned_wide value = (unsigned_wide)whole(sum, first + i);
        words[2 * i] = (uint64_t)value;
        words[2 * i + 1] = (uint64_t)(value >> 64);
    }
}

static wide value_of(const uint64_t *words)
{
    return (wide)((unsigned_wide)words[1] << 64 | words[0]);
}

/* Whether a number is out of range, or nearly so: by its high word alone. */
static int is_suspect(uint64_t high)
{
    const uint64_t limit = UINT64_C(1) << 61;
    return high + limit - 1 > 2 * limit - 2;
}

/* Adds in one pass, and takes back what it added where a number turns out to be out of range. */
static int add_plainly(wide *total, const uint64_t *words, size_t count)
{
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t end = count - start < BLOCK ? count : start + BLOCK;
        int suspect = 0;
        for (size_t i = start; i < end; i++) {
            unsigned_wide sum = (unsigned_wide)total[i] + (unsigned_wide)value_of(words + 2 * i);
            suspect |= is_suspect(words[2 * i + 1]) | is_suspect((uint64_t)(sum >> 64));
            total[i] = (wide)sum;
        }
        if (!suspect)
            continue;
        for (size_t i = 0; i < end; i++)
            total[i] = (wide)((unsigned_wide)total[i] - (unsigned_wide)value_of(words + 2 * i));
        return 0;
    }
    return 1;
}

fplt_status fplt__sum_add_words(fplt__sum *sum, size_t first, const uint64_t *words, size_t count)
{
    if (!has_room(sum, first, count))
        return FPLT_BAD_VALUE;
    reach_totals(sum, first + count);
    if (!sum->high && add_plainly(sum->total + first, words, count))
        return FPLT_OK;
    for (size_t i = 0; i < count; i++) {
        wide value = value_of(words + 2 * i);
        if (!within(value) || !within(whole(sum, first + i) + value))
            return FPLT_DIVERGED;
    }
    for (size_t i = 0; i < count; i++)
        sum->total[first + i] += value_of(words + 2 * i);
    return spill(sum);
}

/* Subtracts the first `count` packed numbers, which are known to be legal. */
static void take_back(wide *total, const uint8_t *bytes, size_t size, size_t count)
{
    size_t used = 0;
    uint64_t words[2 * FPLT__WORDS_BLOCK];
    for (size_t start = 0; start < count; start += FPLT__WORDS_BLOCK) {
        size_t block = count - start < FPLT__WORDS_BLOCK ? count - start : FPLT__WORDS_BLOCK;
        fplt__words_block(bytes, size, block, &used, words, NULL);
        for (size_t i = 0; i < block; i++)
            total[start + i] -= value_of(words + 2 * i);
    }
}

/* Adds the block at *used, or nothing. */
static int add_block(wide *total, const uint8_t *bytes, size_t size, size_t block, size_t *used)
{
    FPLT__ASSERT(block <= FPLT__WORDS_BLOCK);
    FPLT__ASSERT(*used <= size);
    size_t start = *used;
    uint64_t words[2 * FPLT__WORDS_BLOCK];
    int beyond;
    if (fplt__words_add(bytes, size, block, used, total, &beyond)) {
        if (!beyond)
            return 1;
        take_back(total, bytes + start, size - start, block);
        *used = start;
    }
    return !fplt__words_block(bytes, size, block, used, words, NULL) &&
           add_plainly(total, words, block);
}

/* Packed numbers that several hands add, each a share of them. */
struct shares {
    wide *total;
    const uint8_t *bytes;
    size_t size, count;
    size_t start[SHARES]; /* where the shares begin in the bytes */
    int added[SHARES];
};

static size_t share_size(const struct shares *shares, size_t k)
{
    FPLT__ASSERT(k < SHARES && k * SHARE < shares->count);
    size_t left = shares->count - k * SHARE;
    return left < SHARE ? left : SHARE;
}

/* All of a share, or nothing. */
static void add_share(void *context, size_t k, double *scratch)
{
    (void)scratch;
    struct shares *shares = context;
    wide *total = shares->total + k * SHARE;
    size_t used = shares->start[k], count = share_size(shares, k), done = 0;
    while (done < count) {
        size_t block = count - done < FPLT__WORDS_BLOCK ? count - done : FPLT__WORDS_BLOCK;
        if (!add_block(total + done, shares->bytes, shares->size, block, &used))
            break;
        done += block;
    }
    shares->added[k] = done == count;
    if (done < count)
        take_back(total, shares->bytes + shares->start[k], shares->size - shares->start[k], done);
}

/* Finds where the shares begin; 0 where the bytes end before. */
static int find_shares(struct shares *shares, size_t *used)
{
    FPLT__ASSERT(shares->count <= (size_t)SHARE * SHARES);
    for (size_t done = 0; done < shares->count; done += FPLT__WORDS_BLOCK) {
        size_t left = shares->count - done;
        if (done % SHARE == 0)
            shares->start[done / SHARE] = *used;
        if (!fplt__words_skip(shares->bytes, shares->size,
                              left < FPLT__WORDS_BLOCK ? left : FPLT__WORDS_BLOCK, used))
            return 0;
    }
    return 1;
}

/* Adds with the help of others; 0, and nothing is added, where there is anything odd about the numbers. */
static int add_shared(wide *total, const uint8_t *bytes, size_t size, size_t count)
{
    size_t used = 0, done = 0;
    int legal = 1;
    while (legal && done < count) {
        size_t left = count - done, most = (size_t)SHARE * SHARES;
        struct shares shares = {total + done, bytes, size, left < most ? left : most, {0}, {0}};
        size_t parts = (shares.count + SHARE - 1) / SHARE;
        if (!(legal = find_shares(&shares, &used)))
            break;
        FPLT__ASSERT(parts <= SHARES);
        fplt__parallel_for(parts, add_share, &shares, NULL);
        for (size_t k = 0; k < parts; k++)
            legal &= shares.added[k];
        for (size_t k = 0; !legal && k < parts; k++)
            if (shares.added[k])
                take_back(shares.total + k * SHARE, bytes + shares.start[k], size - shares.start[k],
                          share_size(&shares, k));
        done += legal ? shares.count : 0;
    }
    legal = legal && used == size;
    if (!legal)
        take_back(total, bytes, size, done);
    return legal;
}

fplt_status fplt__sum_add_packed(fplt__sum *sum, size_t first, const void *bytes, size_t size,
                                 size_t count, fplt_error *error)
{
    size_t used = 0, done = 0;
    uint64_t words[2 * FPLT__WORDS_BLOCK];
    fplt_status status = FPLT_OK;
    if (!has_room(sum, first, count) || sum->high)
        return fplt_error_set(error, FPLT_BAD_VALUE, "a sum that cannot take packed numbers");
    reach_totals(sum, first + count);
    if (count >= WORTH_SHARING && fplt__parallel_is_available() &&
        add_shared(sum->total + first, bytes, size, count))
        return FPLT_OK;
    while (!status && done < count) {
        size_t block = count - done < FPLT__WORDS_BLOCK ? count - done : FPLT__WORDS_BLOCK;
        size_t start = used;
        if (add_block(sum->total + first + done, bytes, size, block, &used)) {
            done += block;
            continue;
        }
        used = start; /* what is wrong with it */
        if ((status = fplt__words_block(bytes, size, block, &used, words, error)))
            break;
        if ((status = fplt__sum_add_words(sum, first + done, words, block)))
            fplt_error_set(error, status, "packed numbers: a number or a total is out of range");
        else
            done += block;
    }
    FPLT__ASSERT(done <= count && used <= size);
    FPLT__ASSERT(status || done == count);
    if (!status)
        status = fplt__words_end(used, size, count, error);
    if (status)
        take_back(sum->total + first, bytes, size, done);
    return status;
}

void fplt__grid_round(double *x, size_t count)
{
    /* Numbers of magnitude 2^-12 and more are on the grid already; below it, the same split and
     * the same rounding as in the sum. */
    for (size_t i = 0; i < count; i++) {
        double coarse = (x[i] + high_magic) - high_magic;
        double rest = ((x[i] - coarse) + low_magic) - low_magic;
        x[i] = fabs(x[i]) < 0x1p-12 ? coarse + rest : x[i];
    }
}
