/* Files that a test writes for itself. */
#ifndef FPLT_TESTS_TEMPORARY_H
#define FPLT_TESTS_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct temporary {
    char path[256];
} temporary;

/* A new file with these bytes; unlink(path) when done. */
static inline temporary temporary_file(const char *bytes, size_t size)
{
    temporary file;
    const char *folder = getenv("TMPDIR");
    snprintf(file.path, sizeof file.path, "%s/fedplt-test-XXXXXX", folder ? folder : P_tmpdir);
    int descriptor = mkstemp(file.path);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (!stream || fwrite(bytes, 1, size, stream) != size || fclose(stream))
        fail_msg("%s cannot be written", file.path);
    return file;
}

#endif
