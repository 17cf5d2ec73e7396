/* Whole files in, whole files out. A file is written under a temporary name in the same folder and
 * takes its own name only when it is complete and on the disc: a reader, or a restart after a
 * crash, sees the old file or the new one, never a part. Links are followed, a file that is there
 * keeps its permissions (not where the new one is secret, 0600), and a device, a pipe or a socket is
 * written to as it is. Temporary files of a process that died are removed by the next one that writes
 * the same file. */
#ifndef FPLT_BASE_FILE_H
#define FPLT_BASE_FILE_H

#include <stddef.h>
#include "fedplt/status.h"

/* `mode`: permissions of a new file before the umask, 0666 or 0600. */
fplt_status fplt__file_save(const char *path, unsigned mode, const void *bytes, size_t count,
                            fplt_error *error);

/* Reads all of a file or pipe, at most `limit` bytes, and puts a NUL behind it (not counted). The
 * text is released with fplt_free. */
fplt_status fplt__file_read(const char *path, size_t limit, char **text, size_t *length,
                            fplt_error *error);

/* Whether two names lead to one file that exists. */
int fplt__file_same(const char *a, const char *b);

/* A folder that a run owns: its files appear together, and those of the run before go with it.
 *
 * New files are written into a folder beside it, with a manifest of their names, and the two folders
 * change places in one step: a reader sees the old run whole or the new one whole. Files of the
 * old folder that no manifest lists then move to the new one, and the rest is removed. The next run removes the
 * leftovers of a process that died; files that belong to no run are kept. */
typedef struct fplt__folder fplt__folder;

/* The folder must exist. `owned` (ends with NULL): files of a run from before there were manifests. */
fplt_status fplt__folder_begin(const char *path, const char *const *owned, fplt__folder **folder,
                               fplt_error *error);
/* Where to write the files; borrowed. */
const char *fplt__folder_place(const fplt__folder *folder);
/* Ends the folder whether it succeeds or not. */
fplt_status fplt__folder_commit(fplt__folder *folder, fplt_error *error);
/* Removes what was written; NULL is legal. */
void fplt__folder_abort(fplt__folder *folder);

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
