/* The disks of disk.h once more, by src/store: with SQLite on files that crash (vfs.h), or on another medium. */
#ifndef FPLT_TESTS_SQL_H
#define FPLT_TESTS_SQL_H

#include "disk.h"

/* Whose disk: the coordinator's is number 0, that of agent i is 1 + i. */
enum { SQL_LEAD, SQL_SITE, SQL_DISKS = 1 + DISK_MEMBERS };

/* What happens to a save. */
enum sql_fault { SQL_WHOLE, SQL_DIES, SQL_FULL };

/* Where files are, if not in vfs.h: copies of them, and whether a save there is whole or has not begun. */
typedef struct sql_medium {
    void *(*take)(const char *path);
    void (*put)(const char *path, const void *copy);
    void (*free)(void *copy);
    int is_whole;
} sql_medium;

/* Once, before any fork: takes SQLite over, in this process and those that it forks. */
void sql_prepare(void);

/* In a child of fork(), before it uses a store: paths of its own, so that no other process makes or removes them. The child
 * calls sql_leave() before it ends. */
void sql_separate(void);
void sql_leave(void);

/* The medium of what begins later; NULL: SQLite's. */
void sql_use(const sql_medium *medium);
/* New files for every disk; `seed` decides what a crash keeps. `closing`: numbers of a closing vector. */
void sql_begin(uint64_t seed, size_t closing);
void sql_end(void);

/* The record (of the coordinator or of an agent) into the store; whether it is there. After SQL_DIES comes
 * sql_crash. Where a save is whole, nothing of one with a fault is there. */
int sql_save(unsigned disk, const void *record, double charged, enum sql_fault fault);
/* The process of the disk is killed, with everything that is not synced. */
void sql_crash(unsigned disk);

/* Whether the store has what `record` says; 0 also where it cannot be read. */
int sql_is(unsigned disk, const void *record);

/* What the store has, as the process that starts reads it; NULL: it cannot. Until the next call. */
const fplt__leader_record *sql_lead_load(void);
const fplt__site_record *sql_site_load(unsigned disk);

/* A copy of the files as they are is kept; later they are as then; or as new. */
void sql_keep(unsigned disk);
void sql_put_back(unsigned disk);
void sql_renew(unsigned disk);

#endif
