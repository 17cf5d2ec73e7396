/* The one exact sum. Every number is rounded once to a multiple of 2^exponent (2^-64 unless told
 * otherwise) and added as a 128-bit integer: the result is the same to the last bit for any order,
 * any grouping and any number of threads, processes or machines, and a running sum never drifts. */
#ifndef FEDPLT_SUM_H
#define FEDPLT_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FPLT_SUM_EXPONENT (-64)

typedef struct fplt_sum fplt_sum;

/* Makes a sum of `length` elements, all 0, in multiples of 2^exponent: FPLT_SUM_EXPONENT, or -512
 * to 512. Released with fplt_sum_destroy. FPLT_BAD_VALUE for another exponent, FPLT_NO_MEMORY;
 * `sum` is then NULL. A sum belongs to one thread at a time. */
FPLT_API fplt_status fplt_sum_create(size_t length, int exponent, fplt_sum **sum,
                                     fplt_error *error);
/* Releases the sum; NULL is legal. */
FPLT_API void fplt_sum_destroy(fplt_sum *sum);
/* Sets all elements to 0, also after FPLT_DIVERGED. */
FPLT_API void fplt_sum_clear(fplt_sum *sum);
/* Number of elements. */
FPLT_API size_t fplt_sum_length(const fplt_sum *sum);

/* Adds `count` numbers to elements first, first + 1, ... FPLT_DIVERGED when one is not finite or
 * not below 2^(exponent + 125) in magnitude, or when the total would leave the range; the sum must
 * then be cleared. FPLT_BAD_VALUE, here and below, when the sum has no such elements. */
FPLT_API fplt_status fplt_sum_add(fplt_sum *sum, size_t first, const double *x, size_t count);

/* Adds round(now) - round(before) exactly: how a running sum follows a vector that an agent
 * keeps. */
FPLT_API fplt_status fplt_sum_add_change(fplt_sum *sum, size_t first, const double *now,
                                         const double *before, size_t count);

/* Adds another sum of the same length and exponent. */
FPLT_API fplt_status fplt_sum_merge(fplt_sum *sum, const fplt_sum *other);

/* The double nearest to each total. */
FPLT_API void fplt_sum_read(const fplt_sum *sum, size_t first, double *out, size_t count);

/* Totals as two's-complement 128-bit integers, low word first, two words an element: what travels
 * between processes. */
FPLT_API void fplt_sum_export(const fplt_sum *sum, size_t first, uint64_t *words, size_t count);
/* Adds `count` such integers to elements first, first + 1, ... FPLT_DIVERGED, and the sum as it was,
 * when one of them or a total is out of range: a bad sender spoils nothing. */
FPLT_API fplt_status fplt_sum_add_words(fplt_sum *sum, size_t first, const uint64_t *words,
                                        size_t count);
/* Adds elements from, from + 1, ... of another sum of the same exponent. */
FPLT_API fplt_status fplt_sum_add_part(fplt_sum *sum, size_t first, const fplt_sum *other,
                                       size_t from, size_t count);

/* A sum to which only words (and parts of such sums) are added: 16 bytes a number instead of 32, and
 * several times as fast. fplt_sum_add and fplt_sum_add_change refuse it. */
FPLT_API fplt_status fplt_sum_create_words(size_t length, int exponent, fplt_sum **sum,
                                           fplt_error *error);

/* The integers of fplt_sum_export without their common zeros and signs, exactly, for the wire: at
 * most this many bytes for `count` of them. */
FPLT_API size_t fplt_words_most(size_t count);
/* Packs `count` integers of two words each into `bytes`. Returns the bytes needed; what does not
 * fit into `room` is not written. Thread-safe. */
FPLT_API size_t fplt_words_pack(const uint64_t *words, size_t count, void *bytes, size_t room);
/* Refuses what fplt_words_pack does not write, a byte too many or too few. */
FPLT_API fplt_status fplt_words_unpack(const void *bytes, size_t size, uint64_t *words,
                                       size_t count, fplt_error *error);
/* Adds packed integers to a sum of words without unpacking them all: as fplt_words_unpack and
 * fplt_sum_add_words, which need 16 bytes a number between them, and the sum as it was on failure. */
FPLT_API fplt_status fplt_sum_add_packed(fplt_sum *sum, size_t first, const void *bytes,
                                         size_t size, size_t count, fplt_error *error);

/* Rounds each number to the grid of 2^-64 in place, so that adding it to a sum loses nothing. */
FPLT_API void fplt_grid_round(double *x, size_t count);

#ifdef __cplusplus
}
#endif
#endif
