/* Whole files in, whole files out. A file is written under a temporary name in the same folder and
 * takes its own name only when it is complete and on the disc: a reader, or a restart after a
 * crash, sees the old file or the new one, never a part. Links are followed, a file that is there
 * keeps its permissions (not when the new one is to be 0600), and a device, a pipe or a socket is written to as it is. Temporary files of
 * a process that died are removed by the next one that writes the same file. */
#ifndef FPLT_BASE_FILE_H
#define FPLT_BASE_FILE_H

#include <stddef.h>

#include "fedplt/status.h"

typedef struct fplt__file fplt__file;

/* `mode`: permissions of a new file before the umask, 0666 or 0600. */
fplt_status fplt__file_open(const char *path, unsigned mode, fplt__file **file, fplt_error *error);
/* Buffered. After a failure only abort is legal. */
fplt_status fplt__file_write(fplt__file *file, const void *bytes, size_t count, fplt_error *error);
/* Flushes, fsyncs, renames, fsyncs the folder. Ends the file whether it succeeds or not. */
fplt_status fplt__file_commit(fplt__file *file, fplt_error *error);
/* Removes what was written; NULL is legal. */
void fplt__file_abort(fplt__file *file);

/* Open, write, commit. */
fplt_status fplt__file_save(const char *path, unsigned mode, const void *bytes, size_t count,
                            fplt_error *error);

/* Reads all of a file or pipe, at most `limit` bytes, and puts a NUL behind it (not counted). The
 * text is released with fplt__free. */
fplt_status fplt__file_read(const char *path, size_t limit, char **text, size_t *length,
                            fplt_error *error);

/* Whether two names lead to one file that exists. */
int fplt__file_same(const char *a, const char *b);

#endif
