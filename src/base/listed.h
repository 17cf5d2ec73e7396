/* Listed words: integers of which nearly all are what the receiver expects, which is round(factor x like[i]) to the grid of
 * FPLT_SUM_EXPONENT for the first `length` and 0 behind them. The list has the places of the others and by how much they
 * differ, so the sender's integers and their sum are exact.
 *
 *     bytes: factor (double), count of the list (u64), places as steps from the one before (7 bits a byte, lowest
 *            first, all but the last with 128 added), differences as fplt__words_pack writes them
 *
 * A sender such as the gradient of a cost with a ridge: where its rows have no number in a column, the gradient there is
 * the ridge's alone, a multiple of the model that the receiver has sent. */
#ifndef FPLT_BASE_LISTED_H
#define FPLT_BASE_LISTED_H

#include "base/sum.h"

typedef struct fplt__multiple {
    const double *like;
    size_t length;
    double factor;
} fplt__multiple;

/* Lists `count` integers in `bytes`, released with fplt__free. FPLT_UNSUPPORTED, with *bytes NULL: packed words are as
 * short, more than a quarter of the numbers differ from the expected ones, or these are too large. `packed`: bytes of
 * fplt__words_pack. Thread-safe. */
fplt_status fplt__listed_pack(const uint64_t *words, size_t count, const fplt__multiple *expected,
                              size_t packed, uint8_t **bytes, size_t *size);

/* The factor of a list: the caller adds its multiple as stated below. FPLT_BAD_DATA: the bytes are cut off. */
fplt_status fplt__listed_factor(const void *bytes, size_t size, double *factor, fplt_error *error);
/* Adds the differences to elements 0 to count - 1 of a sum of words. FPLT_BAD_DATA for what fplt__listed_pack does not
 * write, FPLT_DIVERGED beyond the range; the sum is then as it was. */
fplt_status fplt__sum_add_listed(fplt__sum *sum, const void *bytes, size_t size, size_t count,
                                 fplt_error *error);

/* Expected numbers of several senders: their factors are collected, and the integers of all are added at once. Equal
 * factors cost no more than one. */
typedef struct fplt__multiples fplt__multiples;

/* For vectors of `length` numbers and at most `senders` factors. A collection belongs to one thread at a time. */
fplt_status fplt__multiples_create(size_t length, size_t senders, fplt__multiples **multiples,
                                   fplt_error *error);
void fplt__multiples_destroy(fplt__multiples *multiples);
/* Copies what the factors are of (NULL: zeros), and forgets all factors. */
void fplt__multiples_begin(fplt__multiples *multiples, const double *like);
void fplt__multiples_clear(fplt__multiples *multiples);
/* Adds a list to a sum of words and collects its factor. FPLT_BAD_DATA or FPLT_DIVERGED: nothing is added or collected. */
fplt_status fplt__multiples_receive(fplt__multiples *multiples, fplt__sum *sum, const void *bytes,
                                    size_t size, size_t count, fplt_error *error);
/* 0: the factor is not finite, a product is too large, or there are `senders` factors already. */
int fplt__multiples_fits(const fplt__multiples *multiples, double factor);
/* Collects a factor that fits. */
void fplt__multiples_take(fplt__multiples *multiples, double factor);
/* Adds all to a sum of words and forgets them. FPLT_DIVERGED: beyond the range, and the sum must be cleared. */
fplt_status fplt__multiples_add(fplt__multiples *multiples, fplt__sum *sum);

#endif
