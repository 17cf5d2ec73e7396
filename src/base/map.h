/* Files that are not read whole: mapped into memory, or piece by piece. */
#ifndef FPLT_BASE_MAP_H
#define FPLT_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "fedplt/status.h"

/* A regular file that is open for reading; `handle` is -1 where there is none. Starts as
 * FPLT__NO_VIEW. */
typedef struct fplt__view {
    int handle;
    size_t size;
    struct timespec changed; /* when it was opened */
    const char *bytes;       /* mapped, or NULL */
} fplt__view;

#define FPLT__NO_VIEW ((fplt__view){.handle = -1})

/* What is no regular file, or does not exist, leaves handle at -1 and is no error; a regular file above
 * `limit` bytes is one. */
fplt_status fplt__view_open(const char *path, size_t limit, fplt__view *view, fplt_error *error);
/* The file as memory, read only and shared with all who map it. A process that truncates the file meanwhile
 * ends the process by SIGBUS. */
fplt_status fplt__view_map(fplt__view *view, const char *path, fplt_error *error);
/* The pages of these bytes, as far as they are whole, are not needed any more for now. */
void fplt__view_forget(const fplt__view *view, size_t from, size_t count);
/* `count` bytes from `at`, or fewer at the end of the file. */
fplt_status fplt__view_read(const fplt__view *view, const char *path, size_t at, char *to,
                            size_t count, size_t *got, fplt_error *error);
/* FPLT_BAD_DATA where the file is not what it was when it was opened. */
fplt_status fplt__view_unchanged(const fplt__view *view, const char *path, fplt_error *error);
void fplt__view_close(fplt__view *view);

#endif
