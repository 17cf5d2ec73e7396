/* Packed words block by block, for who does not want them all at once. */
#ifndef FPLT_BASE_WORDS_H
#define FPLT_BASE_WORDS_H

#include "fedplt/sum.h"

enum { FPLT__WORDS_BLOCK = 64 }; /* numbers */

/* Unpacks the block at *used, of `count` numbers, and moves *used behind it. */
fplt_status fplt__words_block(const void *bytes, size_t size, size_t count, size_t *used,
                              uint64_t *words, fplt_error *error);
/* Moves *used behind the block by its head alone; 0 where it is cut off. */
int fplt__words_skip(const void *bytes, size_t size, size_t count, size_t *used);
/* Refuses what follows the last block. */
fplt_status fplt__words_end(size_t used, size_t size, size_t count, fplt_error *error);

#endif
