/* A folder that a run owns: its files appear together, and those of the run before go with it.
 *
 * New files are written into a folder beside it, with a manifest of their names, and the two folders
 * change places in one step: whoever looks sees the old run whole or the new one whole. Then what was
 * in the old folder and is in no manifest moves over, and the rest is removed. What a process that died
 * left behind is tidied by the next run: the files of nobody's run are never lost. */
#ifndef FPLT_BASE_FOLDER_H
#define FPLT_BASE_FOLDER_H

#include "fedplt/status.h"

#define FPLT__MANIFEST "manifest.txt"

typedef struct fplt__folder fplt__folder;

/* `owned` (ends with NULL): files of a run from before there were manifests. */
fplt_status fplt__folder_begin(const char *path, const char *const *owned, fplt__folder **folder,
                               fplt_error *error);
/* Where to write the files; borrowed. */
const char *fplt__folder_place(const fplt__folder *folder);
/* Ends the folder whether it succeeds or not. */
fplt_status fplt__folder_commit(fplt__folder *folder, fplt_error *error);
/* Removes what was written; NULL is legal. */
void fplt__folder_abort(fplt__folder *folder);

#endif
