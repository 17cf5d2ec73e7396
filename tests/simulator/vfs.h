/* Files of SQLite in memory, which crash: what was written and not synced is then there, lost, or there in part,
 * write by write. Also a disk that is full, and copies of files that are put back later. */
#ifndef FPLT_TESTS_VFS_H
#define FPLT_TESTS_VFS_H

#include <stdint.h>

/* Registers it as the one that SQLite uses. Files are told apart by path; one that is named in `path` below
 * means it and those whose names go on from there (-wal, -journal). */
void vfs_install(void);

/* Of what follows: which writes a crash keeps. */
void vfs_seed(uint64_t seed);

/* The operations from number `after` on (write, truncate, sync, delete; 0: the next) do not happen and fail, as in
 * a process that is killed there; or the first write from there on finds the disk full. Until vfs_heal. */
void vfs_kill(unsigned after);
void vfs_fill(unsigned after);
void vfs_heal(void);

/* The power fails. Handles that are open must be closed before anything is healed: they change nothing more. */
void vfs_crash(const char *path);

/* A copy of the files as they are, and the copy put in the place of what is there, also under another path. */
typedef struct vfs_copy vfs_copy;
vfs_copy *vfs_copy_take(const char *path);
void vfs_copy_put(const char *path, const vfs_copy *copy);
void vfs_copy_free(vfs_copy *copy);

#endif
