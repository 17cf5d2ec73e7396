/* Files that are written piece by piece, and appear whole or not at all (fedplt/file.h). */
#ifndef FPLT_BASE_FILE_H
#define FPLT_BASE_FILE_H

#include "fedplt/file.h"

typedef struct fplt__file fplt__file;

/* `mode`: permissions of a new file before the umask, 0666 or 0600. */
fplt_status fplt__file_open(const char *path, unsigned mode, fplt__file **file, fplt_error *error);
/* Buffered. After a failure only abort is legal. */
fplt_status fplt__file_write(fplt__file *file, const void *bytes, size_t count, fplt_error *error);
/* Flushes, fsyncs, renames, fsyncs the folder. Ends the file whether it succeeds or not. */
fplt_status fplt__file_commit(fplt__file *file, fplt_error *error);
/* Removes what was written; NULL is legal. */
void fplt__file_abort(fplt__file *file);

/* Whether it is standard input ("-") or a pipe, of which what was read does not come again. */
int fplt__is_stream(const char *path);

/* Bytes that may be read of a file, `largest` if that is not 0; a device without text is refused. */
fplt_status fplt__read_limit(const char *path, size_t largest, size_t *limit, fplt_error *error);

#endif
