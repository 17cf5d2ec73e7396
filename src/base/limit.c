/* How much of a file is read: refused before memory is spent. */
#include <fcntl.h>
#include <sys/stat.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* More than fits the memory of any machine this runs on is a mistake, not a data set; what has no size,
 * as a pipe, is believed to end within a gibibyte. */
#define MAX_OF_A_FILE   ((size_t)1 << 40)
#define MAX_OF_A_STREAM ((size_t)1 << 30)

/* A device such as /dev/zero, whose bytes never end and are no text. */
static int is_no_text(const char *path)
{
    char bytes[4096];
    int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t count = handle < 0 ? 0 : read(handle, bytes, sizeof bytes);
    if (handle >= 0)
        close(handle);
    return count > 0 && memchr(bytes, 0, (size_t)count);
}

int fplt__is_stream(const char *path)
{
    struct stat about;
    return strcmp(path, "-") == 0 || (stat(path, &about) == 0 && S_ISFIFO(about.st_mode));
}

fplt_status fplt__read_limit(const char *path, size_t largest, size_t *limit, fplt_error *error)
{
    struct stat about;
    int known = stat(path, &about) == 0;
    *limit = largest ? largest : !known || S_ISREG(about.st_mode) ? MAX_OF_A_FILE : MAX_OF_A_STREAM;
    if (known && S_ISCHR(about.st_mode) && strcmp(path, "/dev/stdin") != 0 && is_no_text(path))
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: this is a device, and no text comes of it",
                              path);
    return FPLT_OK;
}
