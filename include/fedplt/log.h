/* Log messages. The library never prints; it passes each message to a callback.
 *
 * Threads and blocking: fplt_log_set returns at once; call it before other threads use the library. The sink is called in
 * whichever thread has a message, in several at once; the thread waits for it. */
#ifndef FEDPLT_LOG_H
#define FEDPLT_LOG_H

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fplt_log_level {
    FPLT_LOG_DEBUG,
    FPLT_LOG_INFO,
    FPLT_LOG_WARNING,
    FPLT_LOG_ERROR /* a mistake in the program that uses the library, or in the library */
} fplt_log_level;

/* `sentence` is valid for the call. */
typedef void (*fplt_log_sink)(fplt_log_level level, const char *sentence, void *context);

/* Replaces the sink of the process; `context`, passed to it, is borrowed until the next call. NULL (the default) drops every
 * message. */
FPLT_API void fplt_log_set(fplt_log_sink sink, void *context);

#ifdef __cplusplus
}
#endif
#endif
