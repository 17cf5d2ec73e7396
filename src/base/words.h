/* Packed words block by block, for callers that do not hold all of them in memory. */
#ifndef FPLT_BASE_WORDS_H
#define FPLT_BASE_WORDS_H

#include "base/sum.h"

enum { FPLT__WORDS_BLOCK = 64 }; /* numbers */

__extension__ typedef __int128 fplt__wide;

/* Unpacks the block at *used, of `count` numbers, and moves *used behind it. */
fplt_status fplt__words_block(const void *bytes, size_t size, size_t count, size_t *used,
                              uint64_t *words, fplt_error *error);
/* Adds the block at *used to as many totals in one pass, and moves *used behind it; *beyond: some total has left
 * -2^124 .. 2^124. 0, with nothing done, where the numbers have more than 8 bytes or reach that far themselves, and
 * where anything is wrong with the block: fplt__words_block says what. */
int fplt__words_add(const void *bytes, size_t size, size_t count, size_t *used, fplt__wide *totals,
                    int *beyond);
/* Moves *used behind the block by its head alone; 0 where it is cut off. */
int fplt__words_skip(const void *bytes, size_t size, size_t count, size_t *used);
/* Refuses what follows the last block. */
fplt_status fplt__words_end(size_t used, size_t size, size_t count, fplt_error *error);

#endif
