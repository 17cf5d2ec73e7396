/* Whole files in, whole files out. A file is written under a temporary name in the same folder and
 * takes its own name only when it is complete and on the disc: a reader, or a restart after a
 * crash, sees the old file or the new one, never a part. Links are followed, a file that is there
 * keeps its permissions (not where the new one is secret, 0600), and a device, a pipe or a socket is
 * written to as it is. Temporary files of a process that died are removed by the next one that writes
 * the same file. */
#ifndef FEDPLT_FILE_H
#define FEDPLT_FILE_H

#include <stddef.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `mode`: permissions of a new file before the umask, 0666 or 0600. */
FPLT_API fplt_status fplt_file_save(const char *path, unsigned mode, const void *bytes,
                                    size_t count, fplt_error *error);

/* Reads all of a file or pipe, at most `limit` bytes, and puts a NUL behind it (not counted). The
 * text is released with fplt_free. */
FPLT_API fplt_status fplt_file_read(const char *path, size_t limit, char **text, size_t *length,
                                    fplt_error *error);

/* Whether two names lead to one file that exists. */
FPLT_API int fplt_file_same(const char *a, const char *b);

/* A folder that a run owns: its files appear together, and those of the run before go with it.
 *
 * New files are written into a folder beside it, with a manifest of their names, and the two folders
 * change places in one step: whoever looks sees the old run whole or the new one whole. Then what was
 * in the old folder and is in no manifest moves over, and the rest is removed. What a process that
 * died left behind is tidied by the next run; what is nobody's run is never lost. */
typedef struct fplt_folder fplt_folder;

/* The folder must exist. `owned` (ends with NULL): files of a run from before there were manifests. */
FPLT_API fplt_status fplt_folder_begin(const char *path, const char *const *owned,
                                       fplt_folder **folder, fplt_error *error);
/* Where to write the files; borrowed. */
FPLT_API const char *fplt_folder_place(const fplt_folder *folder);
/* Ends the folder whether it succeeds or not. */
FPLT_API fplt_status fplt_folder_commit(fplt_folder *folder, fplt_error *error);
/* Removes what was written; NULL is legal. */
FPLT_API void fplt_folder_abort(fplt_folder *folder);

#ifdef __cplusplus
}
#endif
#endif
