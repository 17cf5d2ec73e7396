/* Text that grows, on the C library's memory streams. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static FILE *stream_of(cli_text *out)
{
    if (!out->stream)
        out->stream = open_memstream(&out->text, &out->length);
    return out->stream;
}

void cli_text_add_bytes(cli_text *out, const char *bytes, size_t count)
{
    FILE *stream = stream_of(out);
    if (!stream)
        return;
    fwrite(bytes, 1, count, stream);
    fflush(stream);
}

void cli_text_add(cli_text *out, const char *text)
{
    cli_text_add_bytes(out, text, strlen(text));
}

void cli_text_repeat(cli_text *out, char c, size_t count)
{
    while (count--)
        cli_text_add_bytes(out, &c, 1);
}

void cli_text_format_list(cli_text *out, const char *format, va_list arguments)
{
    FILE *stream = stream_of(out);
    if (!stream)
        return;
    vfprintf(stream, format, arguments);
    fflush(stream);
}

void cli_text_format(cli_text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cli_text_format_list(out, format, arguments);
    va_end(arguments);
}

void cli_text_clear(cli_text *out)
{
    if (out->stream)
        fclose(out->stream);
    free(out->text);
    *out = (cli_text){NULL, 0, NULL};
}

fplt_status cli_text_take(cli_text *out, char **text, fplt_error *error)
{
    int failed = !stream_of(out) || ferror(out->stream);
    *text = NULL;
    if (out->stream && fclose(out->stream))
        failed = 1;
    out->stream = NULL;
    if (failed) {
        cli_text_clear(out);
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the output");
    }
    *text = out->text;
    *out = (cli_text){NULL, 0, NULL};
    return FPLT_OK;
}

fplt_status cli_alloc(void *to, size_t count, size_t size, const char *what, fplt_error *error)
{
    void *memory = calloc(count ? count : 1, size);
    memcpy(to, &memory, sizeof memory);
    return memory ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %s", what);
}
