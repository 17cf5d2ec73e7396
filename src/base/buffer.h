/* Text that grows. A failure is remembered, so that many additions need one check at the end. */
#ifndef FPLT_BASE_BUFFER_H
#define FPLT_BASE_BUFFER_H

#include <stdarg.h>
#include <stddef.h>

#include "fedplt/status.h"

/* Zeroed is empty and legal. */
typedef struct fplt__buffer {
    char *text; /* owned; ends with NUL once something was added */
    size_t length, capacity;
    fplt_status status;
} fplt__buffer;

void fplt__buffer_add(fplt__buffer *buffer, const char *text);
void fplt__buffer_add_bytes(fplt__buffer *buffer, const char *bytes, size_t count);
void fplt__buffer_repeat(fplt__buffer *buffer, char c, size_t count);
void fplt__buffer_format(fplt__buffer *buffer, const char *format, ...) FPLT_PRINTF(2, 3);
void fplt__buffer_format_list(fplt__buffer *buffer, const char *format, va_list arguments)
    FPLT_PRINTF(2, 0);
/* A double as fplt__decimal_shortest and as fplt__decimal_17 write it. */
void fplt__buffer_shortest(fplt__buffer *buffer, double value);
void fplt__buffer_digits(fplt__buffer *buffer, double value);
/* Releases the text; the buffer is empty again. */
void fplt__buffer_clear(fplt__buffer *buffer);
/* Hands the text over (fplt_free) and empties the buffer, or reports the failure. */
fplt_status fplt__buffer_take(fplt__buffer *buffer, char **text, fplt_error *error);

/* Columns that a UTF-8 text takes on a terminal. */
size_t fplt__text_width(const char *text);

#endif
