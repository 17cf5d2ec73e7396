#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/planted.h"
#include "store/leader.h"
#include "store/site.h"
#include "vfs.h"

enum { RUN = 1, MAX_OPERATIONS = 24 }; /* of a save: a crash may come among so many */

static struct {
    char folder[64];
    char path[SQL_DISKS][96];
    const sql_medium *medium;
    struct {
        const sql_medium *medium;
        void *file[2]; /* of a coordinator, of an agent */
    } fresh[2];
    unsigned used; /* of `fresh` */
    void *kept[SQL_DISKS];
    fplt__leader_store *leader;
    fplt__site_store *site[SQL_DISKS];
    fplt__leader_loaded lead_loaded;
    fplt__site_loaded site_loaded;
    size_t closing;
    uint64_t random;
} s;

static void *take_file(const char *path)
{
    return vfs_copy_take(path);
}

static void put_file(const char *path, const void *copy)
{
    vfs_copy_put(path, copy);
}

static void free_file(void *copy)
{
    if (copy)
        vfs_copy_free(copy);
}

static const sql_medium vfs_medium = {take_file, put_file, free_file, 0};

static void fail(const char *what, const fplt_error *error)
{
    fprintf(stderr, "simulator: %s: %s\n", what, error->text);
    exit(2);
}

static void complain(const fplt_error *error)
{
    if (!FPLT__PLANTED(FPLT__NO_SYNC)) /* which damages files */
        fprintf(stderr, "simulator: %s\n", error->text);
}

static unsigned draw(unsigned bound)
{
    s.random = s.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(s.random >> 33) % bound;
}

static void clear_loaded(void)
{
    fplt__leader_loaded_clear(&s.lead_loaded);
    fplt__site_loaded_clear(&s.site_loaded);
}

/* A store reads what a crash left: it must be able to, always. */
static fplt_status open_store(unsigned disk, fplt_error *error)
{
    fplt_status status = disk == SQL_LEAD
                             ? fplt__leader_store_open(s.path[disk], &s.leader, error)
                             : fplt__site_store_open(s.path[disk], &s.site[disk], error);
    if (!status && disk == SQL_LEAD)
        fplt__leader_store_set_closing(s.leader, s.closing);
    return status;
}

static int is_open(unsigned disk)
{
    return disk == SQL_LEAD ? s.leader != NULL : s.site[disk] != NULL;
}

static void close_store(unsigned disk)
{
    if (disk == SQL_LEAD) {
        fplt__leader_store_close(s.leader);
        s.leader = NULL;
    } else {
        fplt__site_store_close(s.site[disk]);
        s.site[disk] = NULL;
    }
}

static void free_fresh(void)
{
    for (unsigned m = 0; m < 2; m++)
        for (unsigned d = 0; s.fresh[m].medium && d <= SQL_SITE; d++)
            s.fresh[m].medium->free(s.fresh[m].file[d]);
}

void sql_leave(void)
{
    for (unsigned d = 0; d < SQL_DISKS; d++)
        unlink(s.path[d]);
    rmdir(s.folder);
}

static void end_process(void)
{
    sql_leave();
    free_fresh();
}

/* Paths must be there for base/database.c to see; what is in the files is the VFS's. */
void sql_separate(void)
{
    strcpy(s.folder, "/tmp/fedplt-simulator-XXXXXX");
    if (!mkdtemp(s.folder))
        exit(2);
    for (unsigned d = 0; d < SQL_DISKS; d++)
        snprintf(s.path[d], sizeof s.path[d], "%s/%u.db", s.folder, d);
}

void sql_prepare(void)
{
    sql_separate();
    vfs_install();
    atexit(end_process);
    sql_use(NULL);
}

void sql_use(const sql_medium *medium)
{
    fplt_error error;
    s.medium = medium ? medium : &vfs_medium;
    s.used = s.fresh[0].medium && s.fresh[0].medium != s.medium;
    if (s.fresh[s.used].medium)
        return;
    s.fresh[s.used].medium = s.medium;
    for (unsigned d = 0; d <= SQL_SITE; d++) {
        if (open_store(d, &error))
            fail("a new store", &error);
        close_store(d);
        s.fresh[s.used].file[d] = s.medium->take(s.path[d]);
    }
}

void sql_begin(uint64_t seed, size_t closing)
{
    s.random = seed;
    s.closing = closing;
    vfs_seed(seed);
    for (unsigned d = 0; d < SQL_DISKS; d++)
        sql_renew(d);
}

void sql_end(void)
{
    clear_loaded();
    for (unsigned d = 0; d < SQL_DISKS; d++) {
        close_store(d);
        s.medium->free(s.kept[d]);
        s.kept[d] = NULL;
    }
}

static void need_store(unsigned disk)
{
    fplt_error error;
    if (!is_open(disk) && open_store(disk, &error))
        fail("a store after a crash", &error);
}

int sql_save(unsigned disk, const void *record, double charged, enum sql_fault fault)
{
    fplt_error error = {FPLT_OK, ""};
    need_store(disk);
    if (s.medium->is_whole && fault != SQL_WHOLE)
        return 0;
    if (fault == SQL_DIES)
        vfs_kill(draw(MAX_OPERATIONS));
    else if (fault == SQL_FULL)
        vfs_fill(draw(MAX_OPERATIONS / 2));
    fplt__receipt receipt = {.rounds = 0};
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        receipt.spent.against[k] = charged;
    fplt_status status = disk == SQL_LEAD
                             ? fplt__leader_store_save(s.leader, RUN, record, &error)
                             : fplt__site_store_save(s.site[disk], record, &receipt, &error);
    if (fault == SQL_FULL)
        vfs_heal();
    if (status && fault == SQL_WHOLE)
        fail("a save", &error);
    return !status;
}

void sql_crash(unsigned disk)
{
    if (!s.medium->is_whole)
        vfs_crash(s.path[disk]);
    close_store(disk);
    vfs_heal();
}

const fplt__leader_record *sql_lead_load(void)
{
    fplt_error error;
    clear_loaded();
    need_store(SQL_LEAD);
    if (fplt__leader_store_load(s.leader, RUN, DISK_MEMBERS, &s.lead_loaded, &error)) {
        complain(&error);
        return NULL;
    }
    return &s.lead_loaded.record;
}

const fplt__site_record *sql_site_load(unsigned disk)
{
    fplt_error error;
    clear_loaded();
    need_store(disk);
    if (fplt__site_store_load(s.site[disk], &s.site_loaded, &error)) {
        complain(&error);
        return NULL;
    }
    return s.site_loaded.there ? &s.site_loaded.record : NULL;
}

int sql_is(unsigned disk, const void *record)
{
    const void *found = disk == SQL_LEAD ? (const void *)sql_lead_load() : sql_site_load(disk);
    if (!found)
        return 0;
    blob a = disk == SQL_LEAD ? lead_record_bytes(found, s.closing) : site_record_bytes(found);
    blob b = disk == SQL_LEAD ? lead_record_bytes(record, s.closing) : site_record_bytes(record);
    int same = a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
    free(a.at);
    free(b.at);
    return same;
}

void sql_keep(unsigned disk)
{
    s.medium->free(s.kept[disk]);
    s.kept[disk] = s.medium->take(s.path[disk]);
}

void sql_put_back(unsigned disk)
{
    close_store(disk);
    s.medium->put(s.path[disk], s.kept[disk]);
}

void sql_renew(unsigned disk)
{
    close_store(disk);
    s.medium->put(s.path[disk], s.fresh[s.used].file[disk > SQL_LEAD]);
}
