/* Philox4x64-10 streams [Salmon, Moraes, Dror and Shaw, SC 2011], by way of Random123.
 * Key: seed, and run with purpose. Counter: block, round, agent, step. */
#include "fedplt/random.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#include <Random123/philox.h>

__extension__ typedef unsigned __int128 unsigned_wide;

static const double two_pi = 6.283185307179586476925286766559;

fplt_stream fplt_stream_make(uint64_t seed, uint32_t run, fplt_purpose purpose, uint64_t round,
                             uint64_t agent, uint64_t step)
{
    fplt_stream stream = {
        .key = {seed, (uint64_t)run << 32 | (uint64_t)purpose},
        .counter = {0, round, agent, step},
        .used = 4,
    };
    return stream;
}

/* The numbers of the block that is `ahead` of the next. */
static void make_block(const fplt_stream *stream, uint64_t ahead, uint64_t numbers[4])
{
    philox4x64_ctr_t counter, block;
    philox4x64_key_t key;
    memcpy(counter.v, stream->counter, sizeof counter.v);
    memcpy(key.v, stream->key, sizeof key.v);
    counter.v[0] += ahead;
    block = philox4x64(counter, key);
    memcpy(numbers, block.v, sizeof block.v);
}

uint64_t fplt__stream_bits(fplt_stream *stream)
{
    if (stream->used == 4) {
        make_block(stream, 0, stream->block);
        stream->counter[0]++;
        stream->used = 0;
    }
    return stream->block[stream->used++];
}

static double as_uniform(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

double fplt_stream_uniform(fplt_stream *stream)
{
    return as_uniform(fplt__stream_bits(stream));
}

double fplt__stream_uniform_at(const fplt_stream *stream, uint64_t index)
{
    uint64_t numbers[4];
    make_block(stream, index / 4, numbers);
    return as_uniform(numbers[index % 4]);
}

/* Box-Muller; the second of each pair is kept for the next call. */
double fplt_stream_normal(fplt_stream *stream)
{
    if (stream->has_spare) {
        stream->has_spare = 0;
        return stream->spare;
    }
    double radius = sqrt(-2.0 * log(fplt_stream_uniform(stream)));
    double angle = two_pi * fplt_stream_uniform(stream);
    stream->spare = radius * sin(angle);
    stream->has_spare = 1;
    return radius * cos(angle);
}

void fplt__stream_normals(fplt_stream *stream, double deviation, double *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = deviation * fplt_stream_normal(stream);
}

/* Multiply and reject [Lemire 2019]. */
uint64_t fplt_stream_below(fplt_stream *stream, uint64_t bound)
{
    unsigned_wide product = (unsigned_wide)fplt__stream_bits(stream) * bound;
    uint64_t low = (uint64_t)product;
    if (low < bound) {
        uint64_t threshold = (uint64_t)-bound % bound;
        while (low < threshold) {
            product = (unsigned_wide)fplt__stream_bits(stream) * bound;
            low = (uint64_t)product;
        }
    }
    return (uint64_t)(product >> 64);
}

uint64_t fplt__stream_geometric(fplt_stream *stream, double p)
{
    double uniform = fplt_stream_uniform(stream);
    if (p >= 1)
        return 1;
    double trials = ceil(log(uniform) / log1p(-p));
    if (!(trials >= 1))
        return 1;
    return trials < 0x1p63 ? (uint64_t)trials : UINT64_C(1) << 63;
}

/* Marsaglia and Tsang 2000; a shape below 1 by the power of a uniform. */
double fplt__stream_gamma(fplt_stream *stream, double shape)
{
    double boost = 1;
    if (shape < 1) {
        boost = pow(fplt_stream_uniform(stream), 1 / shape);
        shape += 1;
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double normal = fplt_stream_normal(stream), v = 1 + c * normal;
        if (v <= 0)
            continue;
        v = v * v * v;
        double uniform = fplt_stream_uniform(stream);
        if (log(uniform) < 0.5 * normal * normal + d - d * v + d * log(v))
            return boost * d * v;
    }
}

void fplt__stream_shuffle(fplt_stream *stream, uint32_t *array, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)fplt_stream_below(stream, i);
        uint32_t held = array[i - 1];
        array[i - 1] = array[j];
        array[j] = held;
    }
}

/* The place of a number in a sorted array. No branch depends on it, for none could be foreseen. */
static uint32_t place_among(const uint32_t *sorted, uint32_t size, uint32_t number)
{
    uint32_t low = 0;
    for (uint32_t left = size; left > 1; left -= left / 2)
        low += sorted[low + left / 2 - 1] < number ? left / 2 : 0;
    return low + (size && sorted[low] < number);
}

/* For numbers that are nearly in order. */
static void sort_neighbours(uint32_t *array, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t held = array[i], at = i;
        for (; at && array[at - 1] > held; at--)
            array[at] = array[at - 1];
        array[at] = held;
    }
}

/* In place, by the highest of the lowest `bits` bits, in which alone the numbers differ: each goes to the portion of
 * the array that those with the same digit will have, and what was there on to its own
 * [American flag sort: McIlroy, Bostic and McIlroy 1993]. Portions have few numbers in the end, in any order. */
static void sort_portions(uint32_t *array, uint32_t count, unsigned bits)
{
    enum { FEW = 24, WIDEST = 11 };
    uint32_t next[1 << WIDEST], end[1 << WIDEST];
    unsigned width = 1;
    if (count <= FEW || !bits)
        return;
    while (width < WIDEST && width < bits && count >> width > 1)
        width++;
    unsigned shift = bits - width;
    uint32_t digits = UINT32_C(1) << width, begun = 0;
    memset(end, 0, digits * sizeof *end);
    for (uint32_t i = 0; i < count; i++)
        end[array[i] >> shift & (digits - 1)]++;
    for (uint32_t d = 0; d < digits; d++) {
        next[d] = begun;
        begun = end[d] += begun;
    }
    for (uint32_t d = 0; d < digits; d++)
        while (next[d] < end[d]) {
            uint32_t held = array[next[d]];
            for (uint32_t its; (its = held >> shift & (digits - 1)) != d;) {
                uint32_t there = array[next[its]];
                array[next[its]++] = held;
                held = there;
            }
            array[next[d]++] = held;
        }
    for (uint32_t d = 0; d < digits; d++) {
        uint32_t first = d ? end[d - 1] : 0;
        sort_portions(array + first, end[d] - first, shift);
    }
}

/* Numbers below `end`. */
static void sort_below(uint32_t *array, uint32_t count, uint32_t end)
{
    unsigned bits = 0;
    while (bits < 32 && (end - 1) >> bits)
        bits++;
    sort_portions(array, count, bits);
    sort_neighbours(array, count);
}

/* Floyd's sampling [Bentley and Floyd 1987], the set kept as a sorted array: `count` draws, and
 * moves that grow with count^2. */
static void choose_few(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    for (uint32_t size = 0; size < count; size++) {
        uint32_t newest = from - count + size;
        uint32_t drawn = (uint32_t)fplt_stream_below(stream, (uint64_t)newest + 1);
        uint32_t low = place_among(out, size, drawn);
        if (low < size && out[low] == drawn) {
            out[size] = newest; /* larger than all before it */
            continue;
        }
        memmove(out + low + 1, out + low, (size - low) * sizeof *out);
        out[low] = drawn;
    }
}

/* The most that are known by a table on the stack. */
enum { LISTED = 4096 };

/* The place in a table of 2^bits, half of them empty, where a number is or would be; each is kept as one more. */
static uint32_t *place_in(uint32_t *table, unsigned bits, uint32_t number)
{
    uint32_t at = (number * UINT32_C(2654435769)) >> (32 - bits), mask = (UINT32_C(1) << bits) - 1;
    while (table[at] && table[at] != number + 1)
        at = (at + 1) & mask;
    return &table[at];
}

/* The same set for up to LISTED: what each number costs does not grow with them. */
static void choose_listed(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    uint32_t table[2 * LISTED];
    unsigned bits = 1;
    while (UINT32_C(1) << bits < 2 * count)
        bits++;
    memset(table, 0, sizeof *table << bits);
    for (uint32_t size = 0; size < count; size++) {
        uint32_t newest = from - count + size;
        uint32_t drawn = (uint32_t)fplt_stream_below(stream, (uint64_t)newest + 1);
        uint32_t *place = place_in(table, bits, drawn);
        if (*place)
            place = place_in(table, bits, drawn = newest);
        *place = drawn + 1;
        out[size] = drawn;
    }
    sort_below(out, count, from);
}

/* Whether it was in neither; then it is in the second. */
static int insert(const uint32_t *sorted, uint32_t size, uint32_t *others, uint32_t count,
                  uint32_t drawn)
{
    uint32_t low = place_among(sorted, size, drawn), place = place_among(others, count, drawn);
    if ((low < size && sorted[low] == drawn) || (place < count && others[place] == drawn))
        return 0;
    memmove(others + place + 1, others + place, (count - place) * sizeof *others);
    others[place] = drawn;
    return 1;
}

/* Two sorted arrays, one behind the other, from their ends. */
static void merge(uint32_t *array, uint32_t size, uint32_t more)
{
    uint32_t second[LISTED];
    for (uint32_t some; more; more -= some) { /* the smallest of the second first */
        some = more < LISTED ? more : LISTED;
        memcpy(second, array + size, some * sizeof *second);
        size += some;
        for (uint32_t to = size, left = some; left;) {
            int own = to > left && array[to - left - 1] > second[left - 1];
            to--;
            array[to] = own ? array[to - left] : second[left - 1];
            left -= !own;
        }
    }
}

/* Draws until enough are different, which by symmetry is any set as likely as another: work that grows with
 * those chosen, for numbers between the two other ways. Few of them are the same, so those that replace them are kept
 * apart until all are there. */
static void choose_some(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    uint32_t size = 0, more = 0;
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint32_t)fplt_stream_below(stream, from);
    sort_below(out, count, from);
    for (uint32_t i = 0; i < count; i++)
        if (!size || out[i] != out[size - 1])
            out[size++] = out[i];
    while (size + more < count)
        more += (uint32_t)insert(out, size, out + size, more,
                                 (uint32_t)fplt_stream_below(stream, from));
    merge(out, size, more);
}

/* Numbers of a stream, many at a time: their blocks are made side by side. */
enum { BLOCKS_AHEAD = 64 };

/* Selection sampling [Knuth, TAOCP 2, algorithm S]: one pass over all. The next few hundred by numbers that are
 * there, as fplt_stream_below has them, until one of them asks for more care. */
static uint32_t choose_ahead(fplt_stream *stream, uint32_t i, uint32_t count, uint32_t from,
                             uint32_t *out, uint32_t *chosen)
{
    uint64_t numbers[4 * BLOCKS_AHEAD];
    uint32_t used = 0, so_far = *chosen;
    for (uint64_t b = 0; b < BLOCKS_AHEAD; b++)
        make_block(stream, b, numbers + 4 * b);
    for (; used < 4 * BLOCKS_AHEAD && so_far < count; used++) {
        unsigned_wide product = (unsigned_wide)numbers[used] * (from - i - used);
        if ((uint64_t)product < from - i - used)
            break;
        out[so_far] = i + used; /* no branch, for none could be foreseen */
        so_far += (uint64_t)(product >> 64) < count - so_far;
    }
    *chosen = so_far;
    stream->counter[0] += (used + 3) / 4;
    stream->used = used % 4 ? used % 4 : 4;
    if (used)
        memcpy(stream->block, numbers + (used - 1) / 4 * 4, sizeof stream->block);
    return i + used;
}

static void choose_many(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; chosen < count;) {
        if (stream->used == 4)
            i = choose_ahead(stream, i, count, from, out, &chosen);
        if (chosen == count)
            return;
        out[chosen] = i;
        chosen += fplt_stream_below(stream, from - i) < count - chosen;
        i++;
    }
}

void fplt__stream_choose(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    if ((uint64_t)count * count / 16 <= from)
        (count <= LISTED ? choose_listed : choose_few)(stream, count, from, out);
    else if (count <= from / 16)
        choose_some(stream, count, from, out);
    else
        choose_many(stream, count, from, out);
}
