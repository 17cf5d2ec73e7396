/* Status codes, and the sentence that explains a failure.
 *
 * Threads and blocking: every function is thread-safe and returns at once. An fplt_error belongs to the thread that
 * passes it. */
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

/* Version of these headers; FPLT_VERSION_NUMBER is 1002003 for 1.2.3. */
#define FPLT_VERSION_MAJOR 0
#define FPLT_VERSION_MINOR 2
#define FPLT_VERSION_PATCH 0
#define FPLT_VERSION_NUMBER \
    (FPLT_VERSION_MAJOR * 1000000 + FPLT_VERSION_MINOR * 1000 + FPLT_VERSION_PATCH)

/* Version of the library that runs: "0.2.0". */
FPLT_API const char *fplt_version(void);

/* code, name, text */
#define FPLT_STATUS_MAP(X)                                                                    \
    X(FPLT_OK, "ok", "success")                                                               \
    X(FPLT_NO_MEMORY, "no-memory", "out of memory")                                           \
    X(FPLT_BAD_VALUE, "bad-value", "a setting or argument is outside its legal range")        \
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

/* Written on failure; every function that takes one accepts NULL. */
typedef struct fplt_error {
    fplt_status status;
    char text[1024];
} fplt_error;

/* The code as a word, "bad-value"; fplt_status_text: its meaning in a few words. Constant texts; for another number
 * "unknown" and "unknown status". */
FPLT_API const char *fplt_status_name(fplt_status status);
FPLT_API const char *fplt_status_text(fplt_status status);

/* Writes the sentence, cut to the size of `text`, and returns `status`: a failing function ends with
 * `return fplt_error_set(error, ...)`. */
FPLT_API fplt_status fplt_error_set(fplt_error *error, fplt_status status, const char *format, ...)
    FPLT_PRINTF(3, 4);

/* Puts "prefix: " before the sentence and returns its status; FPLT_FAILED where `error` is NULL. */
FPLT_API fplt_status fplt_error_prefix(fplt_error *error, const char *format, ...)
    FPLT_PRINTF(2, 3);

/* Called after every step of a long experiment, in any thread but never in two at once; non-zero stops it. */
typedef int (*fplt_watch)(void *context, size_t done, size_t total);

#ifdef __cplusplus
}
#endif
#endif
