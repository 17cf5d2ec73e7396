/* Standard output and standard error. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli.h"

void cli_print_text(fplt__buffer *buffer)
{
    if (buffer->text)
        fwrite(buffer->text, 1, buffer->length, stdout);
    fplt__buffer_clear(buffer);
}

fplt_status cli_print_table(const fplt_table *table, int json, fplt_error *error)
{
    char *text;
    fplt_status status =
        fplt_table_render(table, json ? FPLT_TABLE_JSON : FPLT_TABLE_ALIGNED, &text, error);
    if (status)
        return status;
    fputs(text, stdout);
    fplt_free(text);
    return FPLT_OK;
}

fplt_status cli_print_json(json_t *json, fplt_error *error)
{
    char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    if (!text)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the JSON document");
    puts(text);
    free(text);
    return FPLT_OK;
}

/* Whether standard output is a pipe whose reader has left. The write that noticed it may be long
 * past, so errno cannot tell. */
static int reader_has_left(void)
{
    struct pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP);
}

/* A reader that has seen enough (head) is not a failure of ours. */
fplt_status cli_flush(fplt_error *error)
{
    errno = 0;
    int failed = fflush(stdout) || ferror(stdout);
    if (failed && !reader_has_left())
        return fplt_error_set(error, FPLT_IO, "standard output cannot be written: %s",
                              strerror(errno ? errno : EIO));
    return FPLT_OK;
}

void cli_warn(const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fputs("fedplt: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\n", stderr);
}

void cli_quote(fplt__buffer *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";
    if (*word && word[strspn(word, plain)] == 0) {
        fplt__buffer_add(out, word);
        return;
    }
    fplt__buffer_add(out, "'");
    for (; *word; word++)
        fplt__buffer_add(out, *word == '\'' ? "'\\''" : (char[]){*word, 0});
    fplt__buffer_add(out, "'");
}

void cli_bytes(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, size, unit ? "%.3g %s" : "%.0f %s", bytes, units[unit]);
}

static fplt_status refuse_same(const char *path, const char *read, fplt_error *error)
{
    if (!fplt__file_same(path, read))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: this file is read by the same command, so it is not written over; "
                          "choose another name",
                          path);
}

fplt_status cli_protect(const cli_call *cli, const char *path, fplt_error *error)
{
    static const char *const read[] = {"data", "schema", "uncoordinated", "trace", "start-model"};
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < cli->argument_count && !status; i++)
        if (cli->arguments[i] != path)
            status = refuse_same(path, cli->arguments[i], error);
    for (size_t i = 0; i < sizeof read / sizeof *read && !status; i++) {
        const char *list = fplt_settings_find(cli->settings, read[i])
                               ? fplt_settings_text(cli->settings, read[i])
                               : NULL;
        while (list && *list && !status) {
            char item[4096];
            list = fplt_list_next(list, item, sizeof item);
            status = refuse_same(path, item, error);
        }
    }
    return status;
}
