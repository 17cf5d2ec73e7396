/* Philox4x64-10 streams [Salmon, Moraes, Dror and Shaw, SC 2011], by way of Random123.
 * Key: seed, and run with purpose. Counter: block, round, agent, step. */
#include "fedplt/random.h"

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

uint64_t fplt_stream_bits(fplt_stream *stream)
{
    if (stream->used == 4) {
        philox4x64_ctr_t counter, block;
        philox4x64_key_t key;
        memcpy(counter.v, stream->counter, sizeof counter.v);
        memcpy(key.v, stream->key, sizeof key.v);
        block = philox4x64(counter, key);
        memcpy(stream->block, block.v, sizeof block.v);
        stream->counter[0]++;
        stream->used = 0;
    }
    return stream->block[stream->used++];
}

double fplt_stream_uniform(fplt_stream *stream)
{
    return ((double)(fplt_stream_bits(stream) >> 12) + 0.5) * 0x1p-52;
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

void fplt_stream_normals(fplt_stream *stream, double deviation, double *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = deviation * fplt_stream_normal(stream);
}

/* Multiply and reject [Lemire 2019]. */
uint64_t fplt_stream_below(fplt_stream *stream, uint64_t bound)
{
    unsigned_wide product = (unsigned_wide)fplt_stream_bits(stream) * bound;
    uint64_t low = (uint64_t)product;
    if (low < bound) {
        uint64_t threshold = (uint64_t)-bound % bound;
        while (low < threshold) {
            product = (unsigned_wide)fplt_stream_bits(stream) * bound;
            low = (uint64_t)product;
        }
    }
    return (uint64_t)(product >> 64);
}

uint64_t fplt_stream_geometric(fplt_stream *stream, double p)
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
double fplt_stream_gamma(fplt_stream *stream, double shape)
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

void fplt_stream_shuffle(fplt_stream *stream, uint32_t *array, size_t count)
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

/* In place, bit after bit from the highest: those without it to the left. */
static void sort_by_bits(uint32_t *array, size_t count, uint32_t bit)
{
    while (count > 1 && bit) {
        size_t low = 0, high = count;
        while (low < high)
            if (array[low] & bit) {
                uint32_t held = array[--high];
                array[high] = array[low];
                array[low] = held;
            } else {
                low++;
            }
        bit >>= 1;
        sort_by_bits(array, low, bit);
        array += low;
        count -= low;
    }
}

static void insert(uint32_t *sorted, uint32_t *size, uint32_t drawn)
{
    uint32_t low = place_among(sorted, *size, drawn);
    if (low < *size && sorted[low] == drawn)
        return;
    memmove(sorted + low + 1, sorted + low, (*size - low) * sizeof *sorted);
    sorted[low] = drawn;
    ++*size;
}

/* Draws until enough are different, which by symmetry is any set as likely as another: work that grows with
 * those chosen, for numbers between the two other ways. */
static void choose_some(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint32_t)fplt_stream_below(stream, from);
    sort_by_bits(out, count, UINT32_C(1) << 31);
    for (uint32_t i = 0; i < count; i++)
        if (!size || out[i] != out[size - 1])
            out[size++] = out[i];
    while (size < count)
        insert(out, &size, (uint32_t)fplt_stream_below(stream, from));
}

/* Selection sampling [Knuth, TAOCP 2, algorithm S]: one pass over all. */
static void choose_many(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; chosen < count; i++) {
        if (fplt_stream_below(stream, from - i) < count - chosen)
            out[chosen++] = i;
    }
}

void fplt_stream_choose(fplt_stream *stream, uint32_t count, uint32_t from, uint32_t *out)
{
    if ((uint64_t)count * count / 16 <= from)
        choose_few(stream, count, from, out);
    else if (count <= from / 16)
        choose_some(stream, count, from, out);
    else
        choose_many(stream, count, from, out);
}
