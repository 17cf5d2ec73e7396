/* Manual pages from the registry and the settings tables: without an argument fedplt(1), with the
 * first word of commands the page of those. */
#include <string.h>

#include "cli.h"

/* Roff takes a dash for a hyphen, a backslash for an escape and a leading dot for a request. */
static void put(const char *text)
{
    int begins = 1;
    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
        begins = *text == '\n';
    }
}

static void put_paragraphs(const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        char paragraph[4096];
        snprintf(paragraph, sizeof paragraph, "%.*s", (int)length, text);
        put(paragraph);
        fputs(end ? "\n.PP\n" : "\n", stdout);
        text += length + (end ? 2 : 0);
    }
}

static void put_heading(const char *name, const char *summary)
{
    fputs(".TH ", stdout);
    for (const char *c = name; *c; c++)
        putchar(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    fputs(" 1 \"\" \"fedplt " FPLT_VERSION "\" \"fedplt manual\"\n.SH NAME\n", stdout);
    put(name);
    fputs(" \\- ", stdout);
    put(summary);
    puts("");
}

static void put_row(const fplt_setting *row)
{
    char wants[64], help[512];
    cli_wants(row, wants, sizeof wants);
    fplt_setting_help(row, help, sizeof help);
    fputs(".TP\n\\fB\\-\\-", stdout);
    put(row->name);
    fputs("\\fR", stdout);
    if (*wants) {
        fputs(" \\fI", stdout);
        put(wants);
        fputs("\\fR", stdout);
    }
    puts("");
    put(help);
    if (row->kind == FPLT_CHOICE) {
        fputs(" (", stdout);
        for (const char *c = row->choices; *c; c++)
            put(*c == '|' ? ", " : (char[]){*c, 0});
        fputs(")", stdout);
    }
    if (row->standard) {
        fputs("; default ", stdout);
        put(*row->standard ? row->standard : "empty");
    }
    puts("");
}

static void put_settings(const cli_command *command)
{
    const cli_call nobody = {.command = command};
    const char *group, *own;
    const fplt_setting *row;
    fplt_settings *settings = cli_settings_of(&nobody);
    for (size_t g = 0; settings && (group = cli_group(settings, g)); g++) {
        fputs(".SS ", stdout);
        put(group);
        puts("");
        for (size_t i = 0; (row = fplt_settings_row(settings, i, &own)); i++)
            if (strcmp(own, group) == 0)
                put_row(row);
    }
    fplt_settings_destroy(settings);
}

static void put_command(const cli_command *command)
{
    fputs(".SH SYNOPSIS\n\\fBfedplt ", stdout);
    put(command->name);
    fputs("\\fR ", stdout);
    put(command->arguments);
    fputs(command->declare ? " [\\fB\\-\\-flag\\fR \\fIvalue\\fR ...]\n" : "\n", stdout);
    puts(".SH DESCRIPTION");
    put_paragraphs(command->about);
    if (command->declare)
        puts(".SH OPTIONS");
    put_settings(command);
    puts(".SH EXAMPLES\n.nf");
    put(command->examples);
    puts("\n.fi");
}

static void put_exit_status(void)
{
    puts(".SH EXIT STATUS\n0 done, 1 failure while running, 2 wrong usage or bad data, 130 "
         "interrupted.");
}

static void put_program(void)
{
    const cli_command *c;
    put_heading("fedplt", "private federated learning with local training");
    puts(".SH SYNOPSIS\n\\fBfedplt\\fR \\fIcommand\\fR [\\fB\\-\\-flag\\fR \\fIvalue\\fR ...]\n"
         ".SH COMMANDS");
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        fputs(".TP\n\\fB", stdout);
        put(c->name);
        fputs("\\fR\n", stdout);
        put(c->summary);
        puts("");
    }
    put_exit_status();
    puts(".SH SEE ALSO");
    const char *before = "";
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        size_t length = strcspn(c->name, " ");
        if (strcspn(before, " ") == length && strncmp(before, c->name, length) == 0)
            continue;
        printf("%s\\fBfedplt\\-%.*s\\fR(1)", *before ? ",\n" : "", (int)length, c->name);
        before = c->name;
    }
    puts("");
}

/* Whether a command is `group`, or one of those whose name begins with it. */
static int belongs(const cli_command *command, const char *group)
{
    size_t length = strlen(group);
    return strncmp(command->name, group, length) == 0 &&
           (!command->name[length] || command->name[length] == ' ');
}

/* What a page is about: its command's summary, or which commands it has. */
static void put_title(const cli_command *first, const char *group)
{
    char name[128], about[256] = "";
    size_t used = 0, length = strlen(group);
    const cli_command *c;
    snprintf(name, sizeof name, "fedplt-%s", group);
    for (size_t i = 0; first->name[length] && (c = cli_command_at(i)); i++)
        if (belongs(c, group) && used < sizeof about)
            used += (size_t)snprintf(about + used, sizeof about - used, "%s%s", used ? ", " : "",
                                     c->name + length + 1);
    put_heading(name, used ? about : first->summary);
}

int main(int count, char **words)
{
    const cli_command *c;
    int found = 0;
    if (count < 2) {
        put_program();
        return 0;
    }
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        if (!belongs(c, words[1]))
            continue;
        if (!found++)
            put_title(c, words[1]);
        put_command(c);
    }
    if (found) {
        put_exit_status();
        puts(".SH SEE ALSO\n\\fBfedplt\\fR(1)");
    }
    return !found;
}
