/* Whole files in, whole files out. A file is written under a temporary name in the same folder and
 * takes its own name only when it is complete and on the disc: a reader, or a restart after a
 * crash, sees the old file or the new one, never a part. */
#ifndef FEDPLT_FILE_H
#define FEDPLT_FILE_H

#include <stddef.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `mode`: permissions before the umask, 0666 or 0600. */
FPLT_API fplt_status fplt_file_save(const char *path, unsigned mode, const void *bytes,
                                    size_t count, fplt_error *error);

/* Reads all of a file or pipe, at most `limit` bytes, and puts a NUL behind it (not counted). The
 * text is released with fplt_free. */
FPLT_API fplt_status fplt_file_read(const char *path, size_t limit, char **text, size_t *length,
                                    fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
