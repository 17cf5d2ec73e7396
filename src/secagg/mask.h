/* Masks: ChaCha20 streams that are added to numbers modulo 2^64 or 2^128. */
#ifndef FPLT_SECAGG_MASK_H
#define FPLT_SECAGG_MASK_H

#include <stddef.h>
#include <stdint.h>

/* A number is `width` bytes: 8 or 16. */
typedef struct fplt__mask {
    uint8_t seed[32];
    int sign; /* 1: added, -1: subtracted */
} fplt__mask;

/* Writes `count` numbers of `width` bytes each to `out`: the words (two a number; of width 8 the lower one counts) plus
 * all masks. Works in pieces that stay in the cache, with threads where the caller was lent some. Allocates nothing. */
void fplt__mask_words(const fplt__mask *mask, size_t masks, const uint64_t *words, size_t count,
                      unsigned width, uint8_t *out);
/* Adds masks to `count` numbers of `width` / 8 words each in place. */
void fplt__mask_sum(const fplt__mask *mask, size_t masks, uint64_t *sum, size_t count,
                    unsigned width);
/* Adds `count` numbers of `width` bytes to a sum of `width` / 8 words a number. */
void fplt__mask_add(uint64_t *sum, const uint8_t *numbers, size_t count, unsigned width);

#endif
