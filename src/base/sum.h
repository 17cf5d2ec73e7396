/* The one exact sum. Every number is rounded once to a multiple of 2^exponent (2^-64 by
 * default) and added as a 128-bit integer: the result is the same to the last bit for any order,
 * any grouping and any number of threads, processes or machines, and a running sum never drifts. */
#ifndef FPLT_BASE_SUM_H
#define FPLT_BASE_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "fedplt/status.h"

#define FPLT_SUM_EXPONENT (-64)

typedef struct fplt__sum fplt__sum;

/* Whether all are zero, and whether all magnitudes are below a positive limit: on their bits, which compilers vectorise. NaN is
 * not below anything. */
static inline int fplt__all_zero(const double *x, size_t count)
{
    uint64_t joined = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        joined |= bits;
    }
    return !(joined << 1);
}

static inline int fplt__all_below(const double *x, size_t count, double limit)
{
    uint64_t below = UINT64_MAX, limit_bits;
    memcpy(&limit_bits, &limit, sizeof limit_bits);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        below &= (bits & (UINT64_MAX >> 1)) - limit_bits; /* its first bit, where it is negative */
    }
    return (int)(below >> 63);
}

/* Makes a sum of `length` elements, all 0, in multiples of 2^exponent: FPLT_SUM_EXPONENT, or -512
 * to 512. Released with fplt__sum_destroy. FPLT_BAD_VALUE for another exponent, FPLT_NO_MEMORY;
 * `sum` is then NULL. A sum belongs to one thread at a time. */
fplt_status fplt__sum_create(size_t length, int exponent, fplt__sum **sum, fplt_error *error);
/* Releases the sum; NULL is legal. */
void fplt__sum_destroy(fplt__sum *sum);
/* Sets all elements to 0, also after FPLT_DIVERGED. */
void fplt__sum_clear(fplt__sum *sum);
/* Number of elements. */
size_t fplt__sum_length(const fplt__sum *sum);

/* Adds `count` numbers to elements first, first + 1, ... FPLT_DIVERGED when one is not finite or
 * not below 2^(exponent + 125) in magnitude, or when the total would leave the range; the sum must
 * then be cleared. FPLT_BAD_VALUE, here and below, when the sum has no such elements. */
fplt_status fplt__sum_add(fplt__sum *sum, size_t first, const double *x, size_t count);

/* Adds x[k] to element at[k]; an element may come once in a call. What it leaves is what fplt__sum_add leaves of the same
 * numbers among zeros: a zero of either sign adds the integer 0. Fails as fplt__sum_add does. */
fplt_status fplt__sum_add_at(fplt__sum *sum, const uint32_t *at, const double *x, size_t count);

/* Adds round(now) - round(before) exactly: how a running sum follows a vector that an agent
 * keeps. */
fplt_status fplt__sum_add_change(fplt__sum *sum, size_t first, const double *now,
                                 const double *before, size_t count);

/* Adds another sum of the same length and exponent. */
fplt_status fplt__sum_merge(fplt__sum *sum, const fplt__sum *other);

/* The double nearest to each total. */
void fplt__sum_read(const fplt__sum *sum, size_t first, double *out, size_t count);

/* Totals as two's-complement 128-bit integers, low word first, two words an element: what travels
 * between processes. */
void fplt__sum_export(const fplt__sum *sum, size_t first, uint64_t *words, size_t count);
/* Adds `count` such integers to elements first, first + 1, ... FPLT_DIVERGED, and the sum as it was,
 * when one of them or a total is out of range: a bad sender spoils nothing. */
fplt_status fplt__sum_add_words(fplt__sum *sum, size_t first, const uint64_t *words, size_t count);
/* Adds elements from, from + 1, ... of another sum of the same exponent. */
fplt_status fplt__sum_add_part(fplt__sum *sum, size_t first, const fplt__sum *other, size_t from,
                               size_t count);

/* A sum to which only words (and parts of such sums) are added: 16 bytes a number instead of 32, and
 * several times as fast. fplt__sum_add and fplt__sum_add_change refuse it. */
fplt_status fplt__sum_create_words(size_t length, int exponent, fplt__sum **sum, fplt_error *error);

/* The integers of fplt__sum_export without their common zeros and signs, exactly, for the wire: at
 * most this many bytes for `count` of them. */
size_t fplt__words_most(size_t count);
/* Packs `count` integers of two words each into `bytes`. Returns the bytes needed; what does not
 * fit into `room` is not written. Thread-safe. */
size_t fplt__words_pack(const uint64_t *words, size_t count, void *bytes, size_t room);
/* Refuses what fplt__words_pack does not write, a byte too many or too few. */
fplt_status fplt__words_unpack(const void *bytes, size_t size, uint64_t *words, size_t count,
                               fplt_error *error);
/* Adds packed integers to a sum of words without unpacking them all: as fplt__words_unpack and
 * fplt__sum_add_words, which need 16 bytes a number between them, and the sum as it was on failure. */
fplt_status fplt__sum_add_packed(fplt__sum *sum, size_t first, const void *bytes, size_t size,
                                 size_t count, fplt_error *error);

/* Rounds each number to the grid of 2^-64 in place, so that adding it to a sum loses nothing. */
void fplt__grid_round(double *x, size_t count);

#endif
