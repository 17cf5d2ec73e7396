/* fedplt completion: a script for the shell, made from the registry and the tables. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void first_words(cli_text *out)
{
    const cli_command *c;
    const char *before = "";
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        size_t length = strcspn(c->name, " ");
        if (strncmp(before, c->name, length) == 0 && strcspn(before, " ") == length)
            continue;
        cli_text_format(out, "%s%.*s", *before ? " " : "", (int)length, c->name);
        before = c->name;
    }
}

/* Second words of every group: data) generate inspect convert */
static void groups(cli_text *out)
{
    const cli_command *c, *d;
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        const char *space = strchr(c->name, ' ');
        const cli_command *previous = i ? cli_command_at(i - 1) : NULL;
        size_t length = space ? (size_t)(space - c->name) : 0;
        if (!space || (previous && strncmp(previous->name, c->name, length + 1) == 0))
            continue;
        cli_text_format(out, "        %.*s) words=\"", (int)length, c->name);
        for (size_t k = i; (d = cli_command_at(k)) && strncmp(d->name, c->name, length + 1) == 0;
             k++)
            cli_text_format(out, "%s%s", k > i ? " " : "", d->name + length + 1);
        cli_text_add(out, "\" ;;\n");
    }
}

static void flags(const cli_command *command, cli_text *out)
{
    const cli_call nobody = {.command = command};
    const fplt_setting *row;
    const fplt_algorithm *algorithm;
    fplt_settings *settings = cli_settings_of(&nobody);
    int has_algorithm = settings && fplt_settings_find(settings, "algorithm");
    cli_text_format(out, "        '%s') words=\"--help", command->name);
    for (size_t i = 0; settings && (row = fplt_settings_row(settings, i, NULL)); i++)
        cli_text_format(out, " --%s", row->name);
    for (size_t i = 0; has_algorithm && (algorithm = fplt_algorithm_list(i)); i++)
        for (row = algorithm->settings; row->name; row++)
            if (!fplt_settings_find(settings, row->name))
                cli_text_format(out, " --%s", row->name);
    cli_text_add(out, "\" ;;\n");
    fplt_settings_destroy(settings);
}

static void values(const cli_command *command, cli_text *out)
{
    const cli_call nobody = {.command = command};
    const fplt_setting *row;
    fplt_settings *settings = cli_settings_of(&nobody);
    for (size_t i = 0; settings && (row = fplt_settings_row(settings, i, NULL)); i++) {
        if (row->kind != FPLT_CHOICE)
            continue;
        cli_text_format(out, "        '%s --%s') words=\"", command->name, row->name);
        for (const char *c = row->choices; *c; c++)
            cli_text_add(out, *c == '|' ? " " : (char[]){*c, 0});
        cli_text_add(out, "\" ;;\n");
    }
    fplt_settings_destroy(settings);
}

static void bash(cli_text *out)
{
    const cli_command *c;
    cli_text_add(out, "# bash completion of fedplt\n"
                      "_fedplt() {\n"
                      "    local now=\"${COMP_WORDS[COMP_CWORD]}\" "
                      "before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
                      "    local command=\"${COMP_WORDS[1]}\" words=\"\"\n"
                      "    COMPREPLY=()\n"
                      "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                      "        COMPREPLY=($(compgen -W \"");
    first_words(out);
    cli_text_add(out, "\" -- \"$now\"))\n        return\n    fi\n"
                      "    if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
                      "        case \"$command\" in\n");
    groups(out);
    cli_text_add(out, "        esac\n"
                      "        if [ -n \"$words\" ]; then\n"
                      "            COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
                      "            return\n        fi\n    fi\n"
                      "    case \"$command\" in\n");
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        const cli_command *previous = i ? cli_command_at(i - 1) : NULL;
        size_t length = strcspn(c->name, " ");
        if (c->name[length] && !(previous && strncmp(previous->name, c->name, length + 1) == 0))
            cli_text_format(out, "        %.*s) command=\"$command ${COMP_WORDS[2]}\" ;;\n",
                            (int)length, c->name);
    }
    cli_text_add(out, "    esac\n    case \"$command $before\" in\n");
    for (size_t i = 0; (c = cli_command_at(i)); i++)
        values(c, out);
    cli_text_add(out, "    esac\n    if [ -z \"$words\" ] && [[ \"$now\" == -* ]]; then\n"
                      "        case \"$command\" in\n");
    for (size_t i = 0; (c = cli_command_at(i)); i++)
        flags(c, out);
    cli_text_add(out, "        esac\n    fi\n"
                      "    if [ -n \"$words\" ]; then\n"
                      "        COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
                      "    else\n"
                      "        COMPREPLY=($(compgen -f -- \"$now\"))\n"
                      "    fi\n}\n"
                      "complete -o filenames -F _fedplt fedplt\n");
}

static const char *shell_name(size_t index, const char **help)
{
    if (help)
        *help = "";
    return index == 0 ? "bash" : NULL;
}

static fplt_status run(cli_call *cli, fplt_error *error)
{
    cli_text out = {NULL, 0, NULL};
    char *script;
    if (strcmp(cli->arguments[0], "bash") != 0)
        return fplt_unknown_name("completion", cli->arguments[0], shell_name, error);
    bash(&out);
    fplt_status status = cli_text_take(&out, &script, error);
    if (status)
        return status;
    fputs(script, stdout);
    free(script);
    return FPLT_OK;
}

const cli_command cli_completion[] = {
    {.name = "completion",
     .summary = "a script that lets bash complete commands and flags",
     .arguments = "bash",
     .about =
         "Prints a script for bash. To use it now: source <(fedplt completion bash); for ever: "
         "write it to /etc/bash_completion.d/fedplt or "
         "~/.local/share/bash-completion/completions/fedplt.",
     .examples = "source <(fedplt completion bash)",
     .least = 1,
     .most = 1,
     .run = run},
    {.name = NULL},
};
