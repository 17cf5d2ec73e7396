/* Long files block by block, so that the memory does not grow with the rows. */
#ifndef FPLT_DATA_BLOCKS_H
#define FPLT_DATA_BLOCKS_H

#include "data/dataset.h"

typedef struct fplt__blocks fplt__blocks;

/* Opens a CSV, LIBSVM or NPY file (row after row) of more than `size` bytes, or of any length where it follows the file of `before`: of several files
 * each is one agent, and what a file looks like is checked in the first. `before` is NULL for the first file. What becomes of a row must not depend on other rows, so the settings say
 * which features and classes there are. FPLT_UNSUPPORTED for everything else: the file is then read whole. `settings` and
 * what it points to must outlive the blocks. Released by fplt__blocks_close; NULL is legal there. */
fplt_status fplt__blocks_open(const char *path, const fplt_read_settings *settings, size_t size,
                              const fplt__blocks *before, fplt__blocks **blocks, fplt_error *error);
/* The rows of the next block, or NULL behind the last. After a failure the file is read whole: lines are counted there. */
fplt_status fplt__blocks_next(fplt__blocks *blocks, fplt_dataset **dataset, fplt_error *error);
/* Whether the rows so far would be dense if they were read at once, as those of blocks are: categories of many levels are not. */
int fplt__blocks_are_dense(const fplt__blocks *blocks);
void fplt__blocks_close(fplt__blocks *blocks);

#endif
