/* Files as memory, and in pieces. */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

fplt_status fplt__view_open(const char *path, size_t limit, fplt__view *view, fplt_error *error)
{
    struct stat about;
    *view = FPLT__NO_VIEW;
    if (stat(path, &about) || !S_ISREG(about.st_mode))
        return FPLT_OK;
    int handle = open(path, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return fplt_error_set(error, FPLT_IO, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(handle, &about) || !S_ISREG(about.st_mode)) {
        close(handle);
        return FPLT_OK;
    }
    if ((uintmax_t)about.st_size > limit) {
        close(handle);
        return fplt_error_set(error, FPLT_IO, "%s: %jd bytes, but at most %zu bytes are read", path,
                              (intmax_t)about.st_size, limit);
    }
    *view = (fplt__view){handle, (size_t)about.st_size, about.st_mtim, NULL};
    return FPLT_OK;
}

fplt_status fplt__view_map(fplt__view *view, const char *path, fplt_error *error)
{
    void *bytes =
        view->size ? mmap(NULL, view->size, PROT_READ, MAP_SHARED, view->handle, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED)
        return fplt_error_set(error, FPLT_IO, "%s: cannot be mapped into memory: %s", path,
                              view->size ? strerror(errno) : "it is empty");
    view->bytes = bytes;
    return FPLT_OK;
}

void fplt__view_forget(const fplt__view *view, size_t from, size_t count)
{
    size_t first = (from + PAGE - 1) / PAGE * PAGE, last = (from + count) / PAGE * PAGE;
    if (view->bytes && last > first)
        madvise((char *)(uintptr_t)view->bytes + first, last - first, MADV_DONTNEED);
}

fplt_status fplt__view_read(const fplt__view *view, const char *path, size_t at, char *to,
                            size_t count, size_t *got, fplt_error *error)
{
    *got = 0;
    while (*got < count) {
        ssize_t done = pread(view->handle, to + *got, count - *got, (off_t)(at + *got));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fplt_error_set(error, FPLT_IO, "%s: cannot read: %s", path, strerror(errno));
        if (done == 0)
            break;
        *got += (size_t)done;
    }
    return FPLT_OK;
}

fplt_status fplt__view_unchanged(const fplt__view *view, const char *path, fplt_error *error)
{
    struct stat about;
    if (view->handle < 0)
        return FPLT_OK;
    if (fstat(view->handle, &about) == 0 && (uintmax_t)about.st_size == view->size &&
        about.st_mtim.tv_sec == view->changed.tv_sec &&
        about.st_mtim.tv_nsec == view->changed.tv_nsec)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_DATA, "%s: the file was changed while it was read", path);
}

void fplt__view_close(fplt__view *view)
{
    if (view->bytes)
        munmap((char *)(uintptr_t)view->bytes, view->size);
    if (view->handle >= 0)
        close(view->handle);
    *view = FPLT__NO_VIEW;
}
