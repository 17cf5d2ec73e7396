/* Folders that change places. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"

#define MANIFEST "manifest.txt"

/* In a folder that is still being written; nothing in it is anybody else's. */
#define MARK ".unfinished"

enum { LARGEST_MANIFEST = 1 << 20 };

struct fplt__folder {
    char *path, *place; /* owned: the folder, and the one beside it */
    const char *const *owned;
    int lock; /* of the place; -1: none */
};

static fplt_status io_error(fplt_error *error, const char *path, const char *what)
{
    return fplt_error_set(error, FPLT_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static char *join(const char *folder, const char *name)
{
    size_t length = strlen(folder) + strlen(name) + 2;
    char *joined = fplt__alloc(length, 1);
    if (joined)
        snprintf(joined, length, "%s/%s", folder, name);
    return joined;
}

/* Something done to folder/name; 0 when it worked. */
static int drop(const char *folder, const char *name)
{
    char *path = join(folder, name);
    int failed = !path || unlink(path);
    fplt__free(path);
    return failed;
}

static int move(const char *from, const char *to, const char *name)
{
    char *old = join(from, name), *new = join(to, name);
    int failed = !old || !new || renameat2(AT_FDCWD, old, AT_FDCWD, new, RENAME_NOREPLACE);
    fplt__free(old);
    fplt__free(new);
    return failed;
}

static int has(const char *folder, const char *name)
{
    char *path = join(folder, name);
    int found = path && access(path, F_OK) == 0;
    fplt__free(path);
    return found;
}

static int is_part(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Calls for every name in the folder. */
static void each(const char *folder, void (*visit)(void *context, const char *name), void *context)
{
    DIR *open = opendir(folder);
    for (struct dirent *entry = open ? readdir(open) : NULL; entry; entry = readdir(open))
        if (is_part(entry->d_name))
            visit(context, entry->d_name);
    if (open)
        closedir(open);
}

/* ---- what belongs to a run ---- */

/* One file a line. NULL: there is no manifest; to be released. */
static char *read_manifest(const char *folder)
{
    char *path = join(folder, MANIFEST), *text = NULL;
    size_t length;
    if (path && fplt__file_read(path, LARGEST_MANIFEST, &text, &length, NULL))
        text = NULL;
    fplt__free(path);
    return text;
}

static int is_listed(const char *manifest, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = manifest; line && *line;) {
        size_t size = strcspn(line, "\n");
        if (size == length && memcmp(line, name, length) == 0)
            return 1;
        line += size + (line[size] == '\n');
    }
    return 0;
}

struct names {
    char **name; /* owned, as are the texts */
    size_t count, capacity;
    fplt_status status;
};

static void add_name(void *context, const char *name)
{
    struct names *names = context;
    if (names->status || strcmp(name, MARK) == 0)
        return;
    names->status = fplt__grow(&names->name, &names->capacity, names->count + 1,
                               sizeof *names->name, "a manifest", NULL);
    if (!names->status && !(names->name[names->count++] = fplt__strdup(name)))
        names->status = FPLT_NO_MEMORY;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in the folder and that of the manifest itself, sorted, one a line. */
static void list_names(const char *folder, fplt__buffer *text)
{
    struct names names = {NULL, 0, 0, FPLT_OK};
    each(folder, add_name, &names);
    add_name(&names, MANIFEST);
    if (!names.status)
        qsort(names.name, names.count, sizeof *names.name, by_name);
    for (size_t i = 0; i < names.count; i++) {
        fplt__buffer_add(text, names.name[i] ? names.name[i] : "");
        fplt__buffer_add(text, "\n");
        fplt__free(names.name[i]);
    }
    fplt__free(names.name);
    if (names.status)
        text->status = names.status;
}

static fplt_status write_manifest(const char *folder, fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    char *path = join(folder, MANIFEST);
    list_names(folder, &text);
    fplt_status status = path ? text.status : FPLT_NO_MEMORY;
    if (status)
        fplt_error_set(error, status, "no memory for a manifest");
    else
        status = fplt__file_save(path, 0666, text.text, text.length, error);
    fplt__free(path);
    fplt__buffer_clear(&text);
    return status;
}

/* ---- tidying ---- */

struct tidying {
    const char *from, *to; /* `to` NULL: everything is ours */
    const char *manifest;
    const char *const *owned;
};

static int is_ours(const struct tidying *tidying, const char *name)
{
    if (!tidying->to || is_listed(tidying->manifest, name))
        return 1;
    for (const char *const *known = tidying->owned; !tidying->manifest && known && *known; known++)
        if (strcmp(*known, name) == 0)
            return 1;
    return 0;
}

static void tidy_name(void *context, const char *name)
{
    const struct tidying *tidying = context;
    if (strcmp(name, MANIFEST) == 0 || strcmp(name, MARK) == 0)
        return;
    if (is_ours(tidying, name))
        drop(tidying->from, name);
    else
        move(tidying->from, tidying->to, name);
}

/* Empties and removes a folder that is no longer, or not yet, the run's; files that do
 * not belong to the run move to `to`. The manifest goes last, because the process may die in between. */
static void tidy(const char *from, const char *to, const char *const *owned)
{
    struct tidying tidying = {from, has(from, MARK) ? NULL : to, NULL, owned};
    char *manifest = read_manifest(from);
    tidying.manifest = manifest;
    each(from, tidy_name, &tidying);
    fplt__free(manifest);
    drop(from, MANIFEST);
    drop(from, MARK);
    rmdir(from);
}

static int lock_folder(const char *path)
{
    int handle = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (handle >= 0 && flock(handle, LOCK_EX | LOCK_NB)) {
        close(handle);
        return -1;
    }
    return handle;
}

struct leftovers {
    const fplt__folder *folder;
    char *parent;
    const char *base;
};

static void tidy_leftover(void *context, const char *name)
{
    const struct leftovers *left = context;
    size_t length = strlen(left->base), end = strlen(name);
    if (strncmp(name, left->base, length) != 0 || name[length] != '.' || end < length + 6 ||
        strcmp(name + end - 5, ".next") != 0)
        return;
    char *path = join(left->parent, name);
    int lock = path ? lock_folder(path) : -1;
    if (lock >= 0)
        tidy(path, left->folder->path, left->folder->owned);
    if (lock >= 0)
        close(lock);
    fplt__free(path);
}

static void tidy_leftovers(const fplt__folder *folder)
{
    const char *slash = strrchr(folder->path, '/');
    struct leftovers left = {folder, NULL, slash ? slash + 1 : folder->path};
    left.parent = !slash ? fplt__strdup(".")
                  : slash == folder->path
                      ? fplt__strdup("/")
                      : fplt__strndup(folder->path, (size_t)(slash - folder->path));
    if (left.parent)
        each(left.parent, tidy_leftover, &left);
    fplt__free(left.parent);
    drop(folder->path, MARK); /* of a process that died right after its step */
}

/* ---- the run ---- */

const char *fplt__folder_place(const fplt__folder *folder)
{
    return folder->place;
}

static void release(fplt__folder *folder)
{
    if (folder->lock >= 0)
        close(folder->lock);
    free(folder->path);
    fplt__free(folder->place);
    fplt__free(folder);
}

static fplt_status make_place(fplt__folder *folder, fplt_error *error)
{
    size_t room = strlen(folder->path) + 64;
    fplt_status status = fplt__alloc_into(&folder->place, room, 1, "a folder", error);
    for (unsigned i = 0; !status; i++) {
        snprintf(folder->place, room, "%s.%ld-%u.next", folder->path, (long)getpid(), i);
        if (mkdir(folder->place, 0777) == 0)
            break;
        if (errno != EEXIST)
            status = io_error(error, folder->path, "write beside this folder");
    }
    if (status)
        return status;
    char *mark = join(folder->place, MARK); /* made in one step, unlike other files */
    int made = mark ? open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    fplt__free(mark);
    if (made >= 0)
        close(made);
    folder->lock = lock_folder(folder->place);
    if (made < 0 || folder->lock < 0)
        status = io_error(error, folder->place, "write into this folder");
    if (status)
        tidy(folder->place, NULL, NULL);
    return status;
}

fplt_status fplt__folder_begin(const char *path, const char *const *owned, fplt__folder **out,
                               fplt_error *error)
{
    fplt__folder *folder;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&folder, 1, sizeof *folder, "a folder", error);
    if (status)
        return status;
    folder->owned = owned;
    folder->lock = -1;
    folder->path = realpath(path, NULL);
    if (!folder->path)
        status = io_error(error, path, "write into this folder");
    else {
        tidy_leftovers(folder);
        status = make_place(folder, error);
    }
    if (status) {
        release(folder);
        return status;
    }
    *out = folder;
    return FPLT_OK;
}

void fplt__folder_abort(fplt__folder *folder)
{
    if (!folder)
        return;
    tidy(folder->place, NULL, NULL);
    release(folder);
}

struct moving {
    const char *from, *to;
    int failed;
};

static void move_over(void *context, const char *name)
{
    struct moving *moving = context;
    char *old = join(moving->from, name), *new = join(moving->to, name);
    if (strcmp(name, MARK) != 0)
        moving->failed |= !old || !new || rename(old, new);
    fplt__free(old);
    fplt__free(new);
}

/* Where folders cannot change places (the top of a mounted disc) or should not (the working
 * directory): the old run's files go, then the new ones come. */
static fplt_status move_files(const fplt__folder *folder, fplt_error *error)
{
    struct moving moving = {folder->place, folder->path, 0};
    char *manifest = read_manifest(folder->path);
    for (const char *line = manifest; line && *line;) {
        size_t size = strcspn(line, "\n");
        char *name = fplt__strndup(line, size);
        if (name && !strchr(name, '/') && !has(folder->place, name))
            drop(folder->path, name);
        fplt__free(name);
        line += size + (line[size] == '\n');
    }
    for (const char *const *known = folder->owned; !manifest && known && *known; known++)
        if (!has(folder->place, *known))
            drop(folder->path, *known);
    fplt__free(manifest);
    each(folder->place, move_over, &moving);
    drop(folder->place, MARK);
    rmdir(folder->place);
    return moving.failed ? io_error(error, folder->path, "write into this folder") : FPLT_OK;
}

/* The new folder looks like the old one. */
static void keep_mode(const fplt__folder *folder)
{
    struct stat about;
    if (stat(folder->path, &about) == 0)
        fchmod(folder->lock, about.st_mode & 07777);
}

fplt_status fplt__folder_commit(fplt__folder *folder, fplt_error *error)
{
    fplt_status status = write_manifest(folder->place, error);
    if (status) {
        fplt__folder_abort(folder);
        return status;
    }
    keep_mode(folder);
    fsync(folder->lock);
    if (fplt__file_same(folder->path, ".") ||
        renameat2(AT_FDCWD, folder->place, AT_FDCWD, folder->path, RENAME_EXCHANGE))
        status = move_files(folder, error);
    else {
        drop(folder->path, MARK);
        tidy(folder->place, folder->path, folder->owned);
    }
    release(folder);
    return status;
}
