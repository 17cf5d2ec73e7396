/* Atomic writing and whole reading of files, with POSIX calls. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { BUFFER = 1 << 16, TRIES = 100 };

struct fplt__file {
    char *path, *temporary; /* owned */
    int handle;
    size_t used;
    char buffer[BUFFER];
};

static fplt_status io_error(fplt_error *error, const char *path, const char *what)
{
    return fplt_error_set(error, FPLT_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* A name nobody else uses: process, a counter within it, and O_EXCL against leftovers. */
static int open_temporary(fplt__file *file, unsigned mode, size_t room)
{
    static atomic_uint counter;
    for (int i = 0; i < TRIES; i++) {
        snprintf(file->temporary, room, "%s.%ld-%u.tmp", file->path, (long)getpid(),
                 atomic_fetch_add(&counter, 1));
        int handle = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
        if (handle >= 0 || errno != EEXIST)
            return handle;
    }
    return -1;
}

static void release(fplt__file *file)
{
    fplt__free(file->path);
    fplt__free(file->temporary);
    fplt__free(file);
}

fplt_status fplt__file_open(const char *path, unsigned mode, fplt__file **file, fplt_error *error)
{
    fplt__file *made;
    *file = NULL;
    fplt_status status = fplt__alloc_into(&made, 1, sizeof *made, "a file", error);
    if (status)
        return status;
    size_t room = strlen(path) + 64;
    made->path = fplt__strdup(path);
    made->temporary = fplt__alloc(room, 1);
    if (!made->path || !made->temporary) {
        release(made);
        return fplt_error_set(error, FPLT_NO_MEMORY, "%s: no memory for a file name", path);
    }
    made->handle = open_temporary(made, mode, room);
    if (made->handle < 0) {
        status = io_error(error, path, "write here");
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
    if (flush(file) || fsync(file->handle))
        status = io_error(error, file->path, "write");
    if (close(file->handle) && !status)
        status = io_error(error, file->path, "write");
    if (!status && rename(file->temporary, file->path))
        status = io_error(error, file->path, "take this name");
    if (status)
        unlink(file->temporary);
    else
        sync_folder(file->path, file->temporary);
    release(file);
    return status;
}

void fplt__file_abort(fplt__file *file)
{
    if (!file)
        return;
    close(file->handle);
    unlink(file->temporary);
    release(file);
}

fplt_status fplt_file_save(const char *path, unsigned mode, const void *bytes, size_t count,
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

fplt_status fplt_file_read(const char *path, size_t limit, char **text, size_t *length,
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
