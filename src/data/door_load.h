/* Tables as CSV text. */
#ifndef FPLT_DATA_DOOR_LOAD_H
#define FPLT_DATA_DOOR_LOAD_H

#include "data/address.h"
#include "data/source.h"

/* Reads a table as CSV text that `source` owns: names, then a line a row, as a file of that content would be read.
 * @param max_rows  reads no more; 0: all */
fplt_status fplt__door_load(const char *path, const fplt__door_kind *kind,
                            const fplt_read_settings *settings, size_t max_rows,
                            fplt__source *source, fplt_error *error);

#endif
