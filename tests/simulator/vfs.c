#include "vfs.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/planted.h"

enum { FILES = 16, PATH = 128 };

/* A change since the last sync. Truncation: `size` is 0, and `before` has what was behind `at`. */
struct change {
    size_t at, size, length; /* length: of the file, before */
    size_t over;             /* bytes of `before` */
    uint8_t *bytes, *before; /* owned */
};

struct content {
    uint8_t *bytes; /* owned */
    size_t size, room;
};

static struct file {
    char path[PATH]; /* empty: no file */
    struct content now;
    struct change *change; /* owned */
    size_t changes, change_room;
} files[FILES];

typedef struct handle {
    sqlite3_file base;
    struct file *file;
    int temporary;
} handle;

static enum { WELL, KILLED, FILLED } fault;
static unsigned long countdown;
static uint64_t random_state;

static uint64_t draw(void)
{
    uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void *room(void *at, size_t size)
{
    void *made = realloc(at, size ? size : 1);
    if (!made)
        exit(2);
    return made;
}

/* --- contents --- */

static void resize(struct content *c, size_t size)
{
    if (size > c->room) {
        c->room = 2 * size;
        c->bytes = room(c->bytes, c->room);
    }
    if (size > c->size)
        memset(c->bytes + c->size, 0, size - c->size);
    c->size = size;
}

static void write_at(struct content *c, size_t at, const void *bytes, size_t size)
{
    if (at + size > c->size)
        resize(c, at + size);
    memcpy(c->bytes + at, bytes, size);
}

static void forget_changes(struct file *file)
{
    for (size_t k = 0; k < file->changes; k++) {
        free(file->change[k].bytes);
        free(file->change[k].before);
    }
    file->changes = 0;
}

static struct change *add_change(struct file *file, size_t at, size_t size, size_t over)
{
    if (file->changes == file->change_room) {
        file->change_room = 2 * file->change_room + 16;
        file->change = room(file->change, file->change_room * sizeof *file->change);
    }
    struct change *made = &file->change[file->changes++];
    *made = (struct change){.at = at, .size = size, .length = file->now.size, .over = over};
    made->bytes = room(NULL, size);
    made->before = room(NULL, over);
    if (over)
        memcpy(made->before, file->now.bytes + at, over);
    return made;
}

/* Back to what was synced, and then forward with some of what came after. */
static void lose_changes(struct file *file)
{
    for (size_t k = file->changes; k-- > 0;) {
        const struct change *change = &file->change[k];
        resize(&file->now, change->length);
        if (change->over)
            memcpy(file->now.bytes + change->at, change->before, change->over);
    }
    unsigned kept = (unsigned)(draw() % 3); /* of four: few, half or most */
    for (size_t k = 0; k < file->changes; k++) {
        const struct change *change = &file->change[k];
        if (draw() % 4 > kept)
            continue;
        if (!change->size)
            resize(&file->now, change->at < file->now.size ? change->at : file->now.size);
        else
            write_at(&file->now, change->at, change->bytes,
                     draw() % 3 ? change->size : draw() % change->size); /* torn */
    }
    forget_changes(file);
}

/* --- files --- */

static struct file *find(const char *path)
{
    for (int k = 0; k < FILES; k++)
        if (strcmp(files[k].path, path) == 0)
            return &files[k];
    return NULL;
}

static struct file *make(const char *path)
{
    struct file *file = find("");
    if (!file || strlen(path) >= PATH)
        exit(2);
    strcpy(file->path, path);
    return file;
}

static void erase(struct file *file)
{
    forget_changes(file);
    file->now.size = 0;
    file->path[0] = 0;
}

static int belongs(const struct file *file, const char *path)
{
    return file->path[0] && strncmp(file->path, path, strlen(path)) == 0;
}

/* Whether an operation happens: SQLITE_OK, or what it fails with. */
static int allow(int writes)
{
    if (fault == KILLED && countdown)
        countdown--;
    else if (fault == KILLED)
        return SQLITE_IOERR;
    if (fault == FILLED && writes && countdown)
        countdown--;
    else if (fault == FILLED && writes)
        return SQLITE_FULL;
    return SQLITE_OK;
}

/* --- methods of a handle --- */

static int do_close(sqlite3_file *base)
{
    handle *own = (handle *)base;
    if (own->temporary)
        erase(own->file);
    return SQLITE_OK;
}

static int do_read(sqlite3_file *base, void *to, int size, sqlite3_int64 at)
{
    const struct content *c = &((handle *)base)->file->now;
    size_t from = (size_t)at, wanted = (size_t)size;
    size_t there = from < c->size ? c->size - from : 0;
    there = there < wanted ? there : wanted;
    if (there)
        memcpy(to, c->bytes + from, there);
    memset((char *)to + there, 0, wanted - there);
    return there == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int do_write(sqlite3_file *base, const void *from, int size, sqlite3_int64 at)
{
    struct file *file = ((handle *)base)->file;
    int code = allow(1);
    if (code)
        return code;
    size_t length = file->now.size, place = (size_t)at;
    size_t over = place < length ? length - place : 0;
    over = over < (size_t)size ? over : (size_t)size;
    memcpy(add_change(file, place, (size_t)size, over)->bytes, from, (size_t)size);
    write_at(&file->now, place, from, (size_t)size);
    return SQLITE_OK;
}

static int do_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct file *file = ((handle *)base)->file;
    int code = allow(0);
    if (code || (size_t)size >= file->now.size)
        return code;
    add_change(file, (size_t)size, 0, file->now.size - (size_t)size);
    resize(&file->now, (size_t)size);
    return SQLITE_OK;
}

static int do_sync(sqlite3_file *base, int flags)
{
    (void)flags;
    int code = allow(0);
    if (!code && !FPLT__PLANTED(FPLT__NO_SYNC))
        forget_changes(((handle *)base)->file);
    return code;
}

static int do_size(sqlite3_file *base, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)((handle *)base)->file->now.size;
    return SQLITE_OK;
}

static int do_lock(sqlite3_file *base, int level)
{
    (void)base;
    (void)level;
    return SQLITE_OK;
}

static int do_check(sqlite3_file *base, int *locked)
{
    (void)base;
    *locked = 0;
    return SQLITE_OK;
}

static int do_control(sqlite3_file *base, int operation, void *argument)
{
    (void)base;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int sector(sqlite3_file *base)
{
    (void)base;
    return 4096;
}

/* As SQLite takes it of Linux: what lies beside a torn write stays as it is. */
static int traits(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {.iVersion = 1,
                                           .xClose = do_close,
                                           .xRead = do_read,
                                           .xWrite = do_write,
                                           .xTruncate = do_truncate,
                                           .xSync = do_sync,
                                           .xFileSize = do_size,
                                           .xLock = do_lock,
                                           .xUnlock = do_lock,
                                           .xCheckReservedLock = do_check,
                                           .xFileControl = do_control,
                                           .xSectorSize = sector,
                                           .xDeviceCharacteristics = traits};

/* --- the file system --- */

static int do_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out)
{
    (void)vfs;
    handle *own = (handle *)base;
    own->base.pMethods = NULL;
    own->temporary = !path;
    own->file = path ? find(path) : make("temporary");
    if (!own->file && !(flags & (SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB)))
        return SQLITE_CANTOPEN;
    if (!own->file)
        own->file = make(path);
    own->base.pMethods = &methods;
    if (out)
        *out = flags;
    return SQLITE_OK;
}

static int do_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
    (void)vfs;
    (void)sync;
    struct file *file = find(path);
    int code = allow(0);
    if (!code && file)
        erase(file);
    return code ? code : file ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
}

static int do_access(sqlite3_vfs *vfs, const char *path, int flags, int *there)
{
    (void)vfs;
    (void)flags;
    *there = find(path) != NULL;
    return SQLITE_OK;
}

static int do_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
    (void)vfs;
    return sqlite3_snprintf(size, out, "%s", path) ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* What else is asked of a file system is the system's. */
static sqlite3_vfs own_vfs;

void vfs_install(void)
{
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    own_vfs = *system;
    own_vfs.iVersion = 1;
    own_vfs.szOsFile = sizeof(handle);
    own_vfs.mxPathname = PATH - 16;
    own_vfs.pNext = NULL;
    own_vfs.zName = "crashing";
    own_vfs.xOpen = do_open;
    own_vfs.xDelete = do_delete;
    own_vfs.xAccess = do_access;
    own_vfs.xFullPathname = do_path;
    if (sqlite3_vfs_register(&own_vfs, 1))
        exit(2);
}

void vfs_seed(uint64_t seed)
{
    random_state = seed;
}

void vfs_kill(unsigned after)
{
    fault = KILLED;
    countdown = after;
}

void vfs_fill(unsigned after)
{
    fault = FILLED;
    countdown = after;
}

void vfs_heal(void)
{
    fault = WELL;
}

void vfs_crash(const char *path)
{
    for (int k = 0; k < FILES; k++)
        if (belongs(&files[k], path))
            lose_changes(&files[k]);
    vfs_kill(0);
}

/* --- copies --- */

struct vfs_copy {
    size_t count;
    struct {
        char suffix[PATH]; /* of the path */
        uint8_t *bytes;    /* owned */
        size_t size;
    } file[FILES];
};

vfs_copy *vfs_copy_take(const char *path)
{
    vfs_copy *copy = room(NULL, sizeof *copy);
    copy->count = 0;
    for (int k = 0; k < FILES; k++) {
        if (!belongs(&files[k], path))
            continue;
        strcpy(copy->file[copy->count].suffix, files[k].path + strlen(path));
        copy->file[copy->count].size = files[k].now.size;
        copy->file[copy->count].bytes = room(NULL, files[k].now.size);
        if (files[k].now.size)
            memcpy(copy->file[copy->count].bytes, files[k].now.bytes, files[k].now.size);
        copy->count++;
    }
    return copy;
}

void vfs_copy_put(const char *path, const vfs_copy *copy)
{
    for (int k = 0; k < FILES; k++)
        if (belongs(&files[k], path))
            erase(&files[k]);
    for (size_t k = 0; copy && k < copy->count; k++) {
        char whole[2 * PATH];
        strcat(strcpy(whole, path), copy->file[k].suffix);
        struct file *file = make(whole);
        write_at(&file->now, 0, copy->file[k].bytes, copy->file[k].size);
    }
}

void vfs_copy_free(vfs_copy *copy)
{
    for (size_t k = 0; copy && k < copy->count; k++)
        free(copy->file[k].bytes);
    free(copy);
}
