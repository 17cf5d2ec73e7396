/* The bytes of data files: where they come from, what they are, and whether they are text. */
#ifndef FPLT_DATA_SOURCE_H
#define FPLT_DATA_SOURCE_H

#include "base/map.h"
#include "data/text.h"

/* One file: the bytes of it that are in memory. */
typedef struct fplt__source {
    const char *name, *text;
    size_t size;
    char *owned;     /* what `text` is, where it was loaded */
    fplt__view view; /* mapped: `text` is in it. Open only: `text` is how it begins */
    int packed;      /* gzip had packed it */
    int is_table;    /* a door made the text (data/door.h) */
    int counts_rows; /* the line with the names does not count, so that line 1 is the first row */
} fplt__source;

#define FPLT__NO_SOURCE ((fplt__source){.view = {.handle = -1}})

/* The whole of a file, `-` for standard input; what gzip packed is unpacked, by content; arrays of numbers
 * are mapped. Released by fplt__source_release, which is legal after a failure too. */
fplt_status fplt__source_load(const char *path, const fplt_read_settings *settings,
                              fplt__source *source, fplt_error *error);
/* The same, but of a long text at first no more than about `piece` bytes. */
fplt_status fplt__source_open(const char *path, const fplt_read_settings *settings, size_t piece,
                              fplt__source *source, fplt_error *error);
/* At least the names of the columns, as far as the first `piece` bytes of a text have them; of a table one row. */
fplt_status fplt__source_head(const char *path, const fplt_read_settings *settings, size_t piece,
                              fplt__source *source, fplt_error *error);
void fplt__source_release(fplt__source *source);
int fplt__source_is_packed(const char *bytes, size_t size);
/* Bytes that there are, in memory or not. */
size_t fplt__source_bytes(const fplt__source *source);

/* The first bytes of an array of NumPy, and of a data set of this program (fplt.c). */
extern const char fplt__npy_magic[6], fplt__fplt_magic[8];
int fplt__npy_is(const char *bytes, size_t size);
int fplt__fplt_is(const char *bytes, size_t size);

/* How long a name is without the .gz behind it. */
size_t fplt__unpacked_length(const char *name);

/* Refuses what is not UTF-8 text. */
fplt_status fplt__text_check(const fplt__source *source, fplt_error *error);

/* Refuses by its first bytes a file that no reader takes (workbooks, statistics programs, PDF), with the way to make a
 * CSV file of it; and what is not UTF-8, with the command that converts it. */
fplt_status fplt__refuse_foreign(const fplt__source *source, fplt_error *error);
fplt_status fplt__refuse_encoding(const fplt__source *source, size_t line, unsigned char byte,
                                  fplt_error *error);

/* The agent of a file without sites, named after the file and added to `agents`. */
fplt_status fplt__source_agent(const fplt__source *source, fplt__lookup *agents, uint32_t *agent,
                               fplt_error *error);

#endif
