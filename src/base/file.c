/* Atomic writing and whole reading of files, with POSIX calls. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { BUFFER = 1 << 16, TRIES = 100, LINKS = 40 };

struct fplt__file {
    char *path, *temporary; /* owned; without a temporary name it is written to as it is */
    int handle;
    size_t used;
    char buffer[BUFFER];
};

static fplt_status io_error(fplt_error *error, const char *path, const char *what)
{
    return fplt_error_set(error, FPLT_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* ---- names ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What a link at `path` leads to, to be released; an absolute one, or one seen from its folder. */
static char *read_link(const char *path)
{
    char to[4096];
    ssize_t length = readlink(path, to, sizeof to - 1);
    size_t folder = (size_t)(last_part(path) - path);
    if (length < 0)
        return NULL;
    to[length] = 0;
    if (to[0] == '/')
        folder = 0;
    char *joined = fplt__alloc(folder + (size_t)length + 1, 1);
    if (joined) {
        memcpy(joined, path, folder);
        memcpy(joined + folder, to, (size_t)length);
    }
    return joined;
}

/* The file behind any links, to be released, and what is there: mode 0 where nothing is. */
static fplt_status follow(const char *path, char **target, struct stat *about, fplt_error *error)
{
    *target = fplt__strdup(path);
    for (int i = 0; *target; i++) {
        if (lstat(*target, about)) {
            about->st_mode = 0;
            return FPLT_OK;
        }
        if (!S_ISLNK(about->st_mode))
            return FPLT_OK;
        char *next = i < LINKS ? read_link(*target) : NULL;
        fplt__free(*target);
        *target = next;
        if (i == LINKS)
            return fplt_error_set(error, FPLT_IO, "%s: a chain of links without an end", path);
    }
    return fplt_error_set(error, FPLT_NO_MEMORY, "%s: no memory for a file name", path);
}

/* ---- temporary files ---- */

/* base.PROCESS-COUNTER.tmp */
static int is_temporary_of(const char *name, const char *base)
{
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || name[length] != '.')
        return 0;
    const char *c = name + length + 1;
    size_t process = strspn(c, "0123456789");
    if (!process || c[process] != '-')
        return 0;
    c += process + 1;
    size_t counter = strspn(c, "0123456789");
    return counter && strcmp(c + counter, ".tmp") == 0;
}

/* A temporary file is locked while a process writes it; one without a lock was left by a process
 * that died. */
static void remove_leftover(const char *path)
{
    int handle = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (handle < 0)
        return;
    struct stat about;
    if (fstat(handle, &about) == 0 && S_ISREG(about.st_mode) &&
        flock(handle, LOCK_EX | LOCK_NB) == 0)
        unlink(path);
    close(handle);
}

static void remove_leftovers(const char *path, char *room, size_t size)
{
    size_t folder = (size_t)(last_part(path) - path);
    snprintf(room, size, "%.*s", (int)folder, path);
    DIR *open = opendir(folder ? room : ".");
    for (struct dirent *entry = open ? readdir(open) : NULL; entry; entry = readdir(open)) {
        if (!is_temporary_of(entry->d_name, path + folder))
            continue;
        snprintf(room, size, "%.*s%s", (int)folder, path, entry->d_name);
        remove_leftover(room);
    }
    if (open)
        closedir(open);
}

/* A unique name: process, a counter within it, and O_EXCL against leftovers. Between creation and lock another
 * process may remove the file as a leftover: then the next name is tried. */
static int open_temporary(fplt__file *file, unsigned mode, size_t room)
{
    static atomic_uint counter;
    for (int i = 0; i < TRIES; i++) {
        struct stat about;
        snprintf(file->temporary, room, "%s.%ld-%u.tmp", file->path, (long)getpid(),
                 atomic_fetch_add(&counter, 1));
        int handle = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
        if (handle < 0 && errno == EEXIST)
            continue;
        if (handle < 0)
            return handle;
        flock(handle, LOCK_EX);
        if (fstat(handle, &about) == 0 && about.st_nlink > 0)
            return handle;
        close(handle);
    }
    return -1;
}

static void release(fplt__file *file)
{
    fplt__free(file->path);
    fplt__free(file->temporary);
    fplt__free(file);
}

/* ---- writing ---- */

/* Beside the file that is to be; one that is there lends its permissions, unless the new one is
 * secret. */
static fplt_status begin_temporary(fplt__file *file, unsigned mode, const struct stat *about,
                                   fplt_error *error)
{
    size_t room = strlen(file->path) + 300;
    fplt_status status = fplt__alloc_into(&file->temporary, room, 1, "a file name", error);
    if (status)
        return status;
    remove_leftovers(file->path, file->temporary, room);
    file->handle = open_temporary(file, mode, room);
    if (file->handle < 0)
        return io_error(error, file->path, "write here");
    if (S_ISREG(about->st_mode) && mode == 0666)
        fchmod(file->handle, about->st_mode & 07777);
    return FPLT_OK;
}

/* A device, a pipe or a socket stays what it is. */
static fplt_status begin_directly(fplt__file *file, fplt_error *error)
{
    file->handle = open(file->path, O_WRONLY | O_CLOEXEC);
    return file->handle < 0 ? io_error(error, file->path, "write") : FPLT_OK;
}

fplt_status fplt__file_open(const char *path, unsigned mode, fplt__file **file, fplt_error *error)
{
    fplt__file *made;
    struct stat about;
    *file = NULL;
    fplt_status status = fplt__alloc_into(&made, 1, sizeof *made, "a file", error);
    if (status)
        return status;
    if (!(status = follow(path, &made->path, &about, error))) {
        if (S_ISDIR(about.st_mode))
            status =
                fplt_error_set(error, FPLT_IO, "%s: cannot write here: this is a folder", path);
        else if (about.st_mode && !S_ISREG(about.st_mode))
            status = begin_directly(made, error);
        else
            status = begin_temporary(made, mode, &about, error);
    }
    if (status) {
        release(made);
        return status;
    }
    *file = made;
    return FPLT_OK;
}

static int write_all(int handle, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(handle, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        bytes += done;
        count -= (size_t)done;
    }
    return 0;
}

static int flush(fplt__file *file)
{
    size_t count = file->used;
    file->used = 0;
    return write_all(file->handle, file->buffer, count);
}

fplt_status fplt__file_write(fplt__file *file, const void *bytes, size_t count, fplt_error *error)
{
    int failed = 0;
    if (count > BUFFER - file->used)
        failed = flush(file);
    if (!failed && count > BUFFER)
        failed = write_all(file->handle, bytes, count);
    else if (!failed && count) {
        memcpy(file->buffer + file->used, bytes, count);
        file->used += count;
    }
    return failed ? io_error(error, file->path, "write") : FPLT_OK;
}

/* The new name itself must reach the disc. A file system that cannot sync a folder is left to its
 * own ways. */
static void sync_folder(const char *path, char *room)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (slash) {
        memcpy(room, path, length);
        room[length] = 0;
    }
    int handle = open(!slash ? "." : length ? room : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return;
    fsync(handle);
    close(handle);
}

fplt_status fplt__file_commit(fplt__file *file, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (flush(file) || (file->temporary && fsync(file->handle)))
        status = io_error(error, file->path, "write");
    if (!status && file->temporary && rename(file->temporary, file->path))
        status = io_error(error, file->path, "take this name");
    if (status && file->temporary)
        unlink(file->temporary);
    if (close(file->handle) && !status) /* only now: the lock goes with it */
        status = io_error(error, file->path, "write");
    if (!status && file->temporary)
        sync_folder(file->path, file->temporary);
    release(file);
    return status;
}

void fplt__file_abort(fplt__file *file)
{
    if (!file)
        return;
    if (file->temporary)
        unlink(file->temporary);
    close(file->handle);
    release(file);
}

fplt_status fplt__file_save(const char *path, unsigned mode, const void *bytes, size_t count,
                            fplt_error *error)
{
    fplt__file *file;
    fplt_status status = fplt__file_open(path, mode, &file, error);
    if (status)
        return status;
    status = fplt__file_write(file, bytes, count, error);
    if (status) {
        fplt__file_abort(file);
        return status;
    }
    return fplt__file_commit(file, error);
}

static fplt_status read_all(int handle, const char *path, size_t expected, size_t limit,
                            char **text, size_t *length, fplt_error *error)
{
    size_t capacity = 0, used = 0;
    char *buffer = NULL;
    fplt_status status = fplt__grow(&buffer, &capacity, expected + 2, 1, "a file", error);
    while (!status) {
        ssize_t got = read(handle, buffer + used, capacity - used - 1);
        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = io_error(error, path, "read");
        else
            used += (size_t)got;
        if (!status && used > limit)
            status = fplt_error_set(error, FPLT_IO,
                                    "%s: longer than %zu bytes, which is the most "
                                    "that is read",
                                    path, limit);
        if (!status && used + 1 == capacity)
            status = fplt__grow(&buffer, &capacity, capacity + 1, 1, "a file", error);
    }
    if (status) {
        fplt__free(buffer);
        return status;
    }
    buffer[used] = 0;
    *text = buffer;
    *length = used;
    return FPLT_OK;
}

fplt_status fplt__file_read(const char *path, size_t limit, char **text, size_t *length,
                            fplt_error *error)
{
    *text = NULL;
    *length = 0;
    int handle = open(path, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return io_error(error, path, "open");
    struct stat about;
    fplt_status status;
    if (fstat(handle, &about))
        status = io_error(error, path, "read");
    else if (S_ISDIR(about.st_mode))
        status = fplt_error_set(error, FPLT_IO, "%s: this is a folder, not a file", path);
    else if (S_ISREG(about.st_mode) && (uintmax_t)about.st_size > limit)
        status = fplt_error_set(error, FPLT_IO, "%s: %jd bytes, but at most %zu bytes are read",
                                path, (intmax_t)about.st_size, limit);
    else
        status = read_all(handle, path, S_ISREG(about.st_mode) ? (size_t)about.st_size : 0, limit,
                          text, length, error);
    close(handle);
    return status;
}

int fplt__file_same(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}
