/* Outcomes of functions that can fail, and the sentence that explains a failure. */
#ifndef FEDPLT_STATUS_H
#define FEDPLT_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FPLT_PRINTF(where, first) __attribute__((format(printf, where, first)))
#define FPLT_API                  __attribute__((visibility("default")))
#else
#define FPLT_PRINTF(where, first)
#define FPLT_API
#endif

/* The version of these headers; one number to compare by: 1002003 is 1.2.3. */
#define FPLT_VERSION_MAJOR 0
#define FPLT_VERSION_MINOR 1
#define FPLT_VERSION_PATCH 0
#define FPLT_VERSION_NUMBER \
    (FPLT_VERSION_MAJOR * 1000000 + FPLT_VERSION_MINOR * 1000 + FPLT_VERSION_PATCH)

/* Of the library that runs: "0.1.0". */
FPLT_API const char *fplt_version(void);

/* code, name, text */
#define FPLT_STATUS_MAP(X)                                                                    \
    X(FPLT_OK, "ok", "success")                                                               \
    X(FPLT_NO_MEMORY, "no-memory", "out of memory")                                           \
    X(FPLT_BAD_VALUE, "bad-value", "a setting or argument is outside what is legal")          \
    X(FPLT_BAD_DATA, "bad-data", "a file or data set is malformed")                           \
    X(FPLT_UNSUPPORTED, "unsupported", "this combination is not offered")                     \
    X(FPLT_IO, "io", "reading or writing failed")                                             \
    X(FPLT_DIVERGED, "diverged", "a number left the range of the exact sum or is not finite") \
    X(FPLT_UNREACHABLE, "unreachable", "no admissible value gives what was asked for")        \
    X(FPLT_FAILED, "failed", "a computation or callback reported failure")

typedef enum fplt_status {
#define FPLT_STATUS_CODE(code, name, text) code,
    FPLT_STATUS_MAP(FPLT_STATUS_CODE)
#undef FPLT_STATUS_CODE
} fplt_status;

/* A caller's place for the sentence; every function that takes one accepts NULL. */
typedef struct fplt_error {
    fplt_status status;
    char text[1024];
} fplt_error;

/* fplt_status_name is the code as a word, "bad-value"; fplt_status_text says in a few words what
 * it means. Constant texts; for another number "unknown" and "unknown status". Thread-safe. */
FPLT_API const char *fplt_status_name(fplt_status status);
FPLT_API const char *fplt_status_text(fplt_status status);

/* Writes the sentence (cut to the space there is) and returns `status`, so that a failing
 * function can end with `return fplt_error_set(error, ...)`. */
FPLT_API fplt_status fplt_error_set(fplt_error *error, fplt_status status, const char *format, ...)
    FPLT_PRINTF(3, 4);

/* Puts "prefix: " before the sentence that is there, and returns its status. */
FPLT_API fplt_status fplt_error_prefix(fplt_error *error, const char *format, ...)
    FPLT_PRINTF(2, 3);

/* Told after every step of a long experiment, from any thread but never two at once; non-zero stops
 * it. */
typedef int (*fplt_watch)(void *context, size_t done, size_t total);

#ifdef __cplusplus
}
#endif
#endif
