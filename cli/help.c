/* Help, made from the registry and the settings tables. */
#include <string.h>

#include "cli.h"
#include "base/settings.h"

enum { FLAG_COLUMN = 2, HELP_COLUMN = 30, WIDTH = 80 };

void cli_wrap(cli_text *out, const char *text, size_t at, size_t indent, size_t width)
{
    int first = 1;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (!first && at + 1 + length > width) {
            cli_text_add(out, "\n");
            cli_text_repeat(out, ' ', indent);
            at = indent;
            first = 1;
        }
        if (!first) {
            cli_text_add(out, " ");
            at++;
        }
        cli_text_add_bytes(out, text, length);
        at += length;
        first = 0;
        text += length;
        if (strncmp(text, "\n\n", 2) == 0) {
            cli_text_add(out, "\n\n");
            cli_text_repeat(out, ' ', indent);
            at = indent;
            first = 1;
            text += 2;
        }
        text += *text == ' ' || *text == '\n';
    }
}

void cli_wants(const fplt_setting *row, char *text, size_t size)
{
    static const char *const words[] = {[FPLT_REAL] = "NUMBER",
                                        [FPLT_INTEGER] = "COUNT",
                                        [FPLT_SWITCH] = "",
                                        [FPLT_CHOICE] = "WORD",
                                        [FPLT_TEXT] = "TEXT"};
    if (row->kind == FPLT_CHOICE && strlen(row->choices) <= 16)
        snprintf(text, size, "%s", row->choices);
    else
        snprintf(text, size, "%s%s", words[row->kind],
                 row->flags & FPLT_PAIRS  ? "=..."
                 : row->flags & FPLT_LIST ? ",..."
                                          : "");
}

const char *cli_default_with_data(const fplt_setting *row, const fplt_settings *with_data)
{
    if (!with_data || !row->standard || !fplt__settings_find(with_data, row->name) ||
        !fplt__settings_preference(with_data, row->name))
        return NULL;
    const char *text = fplt_settings_text(with_data, row->name);
    return text && strcmp(text, row->standard) != 0 ? text : NULL;
}

/* A list may break behind its commas. */
static void write_default(const fplt_setting *row, cli_text *out)
{
    cli_text_add(out, " [");
    for (const char *c = row->standard; *c; c++)
        cli_text_add(out, *c == ',' && row->flags & FPLT_LIST ? ", " : (char[]){*c, 0});
    cli_text_add(out, "]");
}

/* `own`: the same settings where data are given, or NULL. */
static void write_row(const fplt_setting *row, const fplt_settings *own, size_t width,
                      cli_text *out)
{
    char wants[64], help[512];
    cli_wants(row, wants, sizeof wants);
    fplt_setting_help(row, help, sizeof help);
    size_t before = out->length;
    cli_text_repeat(out, ' ', FLAG_COLUMN);
    cli_text_format(out, "--%s %s", row->name, wants);
    size_t used = out->length - before;
    if (used + 2 > HELP_COLUMN) {
        cli_text_add(out, "\n");
        used = 0;
    }
    cli_text_repeat(out, ' ', HELP_COLUMN - used);
    cli_text text = {NULL, 0, NULL};
    cli_text_add(&text, help);
    if (row->kind == FPLT_CHOICE && strlen(row->choices) > 16) {
        cli_text_add(&text, " (");
        for (const char *c = row->choices; *c; c++)
            cli_text_add(&text, *c == '|' ? ", " : (char[]){*c, 0});
        cli_text_add(&text, ")");
    }
    const char *there = cli_default_with_data(row, own);
    if (there)
        cli_text_format(&text, " [%s; with --data %s]", row->standard, there);
    else if (row->standard)
        write_default(row, &text);
    cli_wrap(out, text.text ? text.text : "", HELP_COLUMN, HELP_COLUMN, width);
    cli_text_add(out, "\n");
    cli_text_clear(&text);
}

/* A group stands where its last row does, so that a table that comes early for a technical reason
 * does not move it. */
const char *cli_group(const fplt_settings *settings, size_t index)
{
    const char *group, *other;
    for (size_t i = 0; fplt_settings_row(settings, i, &group); i++) {
        int last = 1;
        for (size_t j = i + 1; fplt_settings_row(settings, j, &other); j++)
            last &= strcmp(group, other) != 0;
        if (last && index-- == 0)
            return group;
    }
    return NULL;
}

fplt_settings *cli_settings_of(const cli_call *cli)
{
    fplt_settings *settings;
    if (fplt_settings_create(&settings, NULL))
        return NULL;
    if (cli->command->declare && cli->command->declare(cli, settings, NULL)) {
        fplt_settings_destroy(settings);
        return NULL;
    }
    return settings;
}

fplt_settings *cli_settings_with_data(const cli_call *cli, fplt_settings *settings)
{
    static char flag[] = "--data", file[] = "FILE";
    char *words[] = {flag, file};
    cli_call own = *cli;
    if (!fplt__settings_find(settings, "data") || cli_peek(cli, "data"))
        return NULL;
    own.settings = settings; /* says which flags take a value */
    own.words = words;
    own.count = 2;
    return cli_settings_of(&own);
}

static void write_settings(const fplt_settings *settings, const fplt_settings *with_data,
                           size_t width, cli_text *out)
{
    const char *group, *own;
    const fplt_setting *row;
    for (size_t g = 0; (group = cli_group(settings, g)); g++) {
        cli_text_format(out, "\n%s\n", group);
        for (size_t i = 0; (row = fplt_settings_row(settings, i, &own)); i++)
            if (strcmp(own, group) == 0)
                write_row(row, with_data, width, out);
    }
}

void cli_help(const cli_call *cli, size_t width, cli_text *out)
{
    const cli_command *command = cli->command;
    fplt_settings *settings = cli_settings_of(cli);
    width = width ? width : WIDTH;
    cli_text_format(out, "usage: fedplt %s%s%s%s\n\n", command->name,
                    *command->arguments ? " " : "", command->arguments,
                    command->declare ? " [--flag value ...]" : "");
    cli_wrap(out, command->about, 0, 0, width);
    cli_text_add(out, "\n\nexamples\n");
    for (const char *line = command->examples; *line;) {
        size_t length = strcspn(line, "\n");
        cli_text_format(out, "  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    fplt_settings *own = settings ? cli_settings_with_data(cli, settings) : NULL;
    if (settings)
        write_settings(settings, own, width, out);
    fplt_settings_destroy(own);
    fplt_settings_destroy(settings);
}

static void write_summaries(const char *group, cli_text *out)
{
    const cli_command *c;
    size_t length = group ? strlen(group) : 0;
    for (size_t i = 0; (c = cli_command_at(i)); i++)
        if (!group || (strncmp(c->name, group, length) == 0 && c->name[length] == ' '))
            cli_text_format(out, "  %-25s %s\n", c->name, c->summary);
}

void cli_help_group(const char *group, cli_text *out)
{
    cli_text_format(out, "usage: fedplt %s COMMAND [--flag value ...]\n\n", group);
    write_summaries(group, out);
    cli_text_format(out, "\nfedplt %s COMMAND --help says more.\n", group);
}

void cli_help_all(cli_text *out)
{
    cli_text_add(out, "usage: fedplt COMMAND [--flag value ...]\n\n"
                      "Private federated learning with local training.\n\n");
    write_summaries(NULL, out);
    cli_text_add(out, "\nfedplt COMMAND --help says more.\n\n"
                      "examples\n"
                      "  fedplt train                            the paper's problem\n"
                      "  fedplt train --data hospitals.csv       one agent a site\n"
                      "  fedplt train examples/sparse.yaml --epochs 10 --out sparse\n"
                      "  fedplt predict fedplt-out/model.json new.csv\n\n"
                      "exit status\n"
                      "  0 done, 1 failure while running, 2 wrong usage or bad data, 130 "
                      "interrupted\n");
}
