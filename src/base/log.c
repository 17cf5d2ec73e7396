/* Messages for the caller's sink. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static fplt_log_sink current;
static void *current_context;

void fplt_log_set(fplt_log_sink sink, void *context)
{
    current = sink;
    current_context = context;
}

void fplt__log(fplt_log_level level, const char *format, ...)
{
    if (!current)
        return;
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    current(level, sentence, current_context);
}
