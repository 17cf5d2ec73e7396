/* Standard output and standard error. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "base/file.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/dataset_access.h"
#include "report/model_access.h"
#include "report/report.h"

void cli_print_text(cli_text *text)
{
    if (text->text)
        fwrite(text->text, 1, text->length, stdout);
    cli_text_clear(text);
}

fplt_status cli_print_table(const fplt_table *table, fplt_error *error)
{
    char *text;
    fplt_status status = fplt_table_render(table, FPLT_TABLE_ALIGNED, &text, error);
    if (status)
        return status;
    fputs(text, stdout);
    fplt_free(text);
    return FPLT_OK;
}

fplt_status cli_save_table(const char *folder, const char *name, const fplt_table *table,
                           fplt_error *error)
{
    char path[4096], *text;
    fplt_status status = fplt_table_render(table, FPLT_TABLE_CSV, &text, error);
    if (status)
        return status;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    status = fplt__file_save(path, 0666, text, strlen(text), error);
    fplt_free(text);
    return status;
}

/* JSON two columns further in: a line break in it is never part of a text. */
static void print_indented(const char *text)
{
    for (; *text; text++) {
        if (*text == '\n' && !text[1])
            return;
        putchar(*text);
        if (*text == '\n')
            fputs("  ", stdout);
    }
}

fplt_status cli_print_json_with(json_t *json, const cli_member *members, size_t count,
                                fplt_error *error)
{
    char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    int failed = !text;
    json_decref(json);
    for (size_t i = 0; i < count; i++)
        failed |= !members[i].text;
    if (!failed) {
        fwrite(text, 1, strlen(text) - (count ? 2 : 0), stdout); /* without the last "\n}" */
        for (size_t i = 0; i < count; i++) {
            printf(",\n  \"%s\": ", members[i].name);
            print_indented(members[i].text);
        }
        puts(count ? "\n}" : "");
    }
    for (size_t i = 0; i < count; i++)
        fplt_free(members[i].text);
    free(text);
    return failed ? fplt_error_set(error, FPLT_NO_MEMORY,
                                   "the JSON document would hold text that is not UTF-8, or there "
                                   "is no memory for it")
                  : FPLT_OK;
}

fplt_status cli_print_json(json_t *json, fplt_error *error)
{
    return cli_print_json_with(json, NULL, 0, error);
}

json_t *cli_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_text(const char *text)
{
    return text ? json_string(text) : json_null();
}

json_t *cli_json_table(const fplt_table *table)
{
    char *text;
    if (fplt_table_render(table, FPLT_TABLE_JSON, &text, NULL))
        return NULL;
    json_t *rows = json_loads(text, 0, NULL);
    fplt_free(text);
    return rows;
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

static int hushed;

void cli_hush(void)
{
    hushed = 1;
    if (!freopen("/dev/null", "w", stdout))
        fclose(stdout);
}

int cli_is_hushed(void)
{
    return hushed;
}

void cli_warn(const char *format, ...)
{
    va_list arguments;
    if (hushed)
        return;
    fflush(stdout);
    fputs("fedplt: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\n", stderr);
}

void cli_quote(cli_text *out, const char *word)
{
    size_t size = 4 * strlen(word) + 3;
    char *quoted = malloc(size);
    if (quoted) {
        fplt__shell_word(word, quoted, size);
        cli_text_add(out, quoted);
    }
    free(quoted);
}

const char *cli_plural(unsigned long long count)
{
    return count == 1 ? "" : "s";
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
        const char *list = fplt__settings_find(cli->settings, read[i])
                               ? fplt_settings_text(cli->settings, read[i])
                               : NULL;
        while (list && *list && !status) {
            char item[4096];
            list = fplt__list_next(list, item, sizeof item);
            status = refuse_same(path, item, error);
        }
    }
    return status;
}

void cli_write_defaults(const fplt_settings *settings, cli_text *out)
{
    const fplt_setting *row;
    int any = 0;
    for (size_t i = 0; (row = fplt_settings_row(settings, i, NULL)); i++) {
        const char *why = fplt__settings_preference(settings, row->name);
        if (!why)
            continue;
        if (!any++)
            cli_text_add(out, "\ndefaults for data of your own (--paper: those of the paper)\n");
        cli_text_format(out, "  %-22s %-22s %s\n", row->name,
                        fplt_settings_text(settings, row->name), why);
    }
}

const char *cli_out(const cli_call *cli)
{
    const char *path = fplt_settings_text(cli->settings, "out");
    return path && strcmp(path, "-") == 0 ? NULL : path;
}

/* Beyond so many lines only their sum is printed. */
enum { MAX_FILLED = 40 };

static size_t count_filled(const fplt_dataset *dataset)
{
    size_t count = 0;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++)
        for (size_t j = 0; j < fplt_dataset_features(dataset); j++)
            count += fplt__dataset_filled(dataset, i, j);
    return count;
}

fplt_status cli_write_filled(const fplt_dataset *dataset, cli_text *out, fplt_error *error)
{
    fplt_table *table;
    char *text = NULL;
    fplt_status status = fplt__filled_table(dataset, &table, error);
    if (status)
        return status;
    size_t lines = fplt__table_rows(table);
    if (lines > MAX_FILLED)
        cli_text_format(
            out,
            "\nmissing values that were filled in: %zu numbers in %zu columns of sites; "
            "the JSON documents have each\n",
            count_filled(dataset), lines);
    else if (lines && !(status = fplt_table_render(table, FPLT_TABLE_ALIGNED, &text, error)))
        cli_text_format(out, "\nmissing values that were filled in\n%s", text);
    fplt_table_destroy(table);
    fplt_free(text);
    return status;
}

fplt_status cli_print_filled(const fplt_dataset *dataset, fplt_error *error)
{
    cli_text out = {NULL, 0, NULL};
    fplt_status status = cli_write_filled(dataset, &out, error);
    cli_print_text(&out);
    return status;
}
