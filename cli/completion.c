/* fedplt completion: scripts for shells, made from the registry and the tables. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "base/settings.h"
#include "base/text.h"
#include "fedplt/algorithm.h"

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

/* Calls `put` for each setting of a command, the algorithms' parameters included. */
static void visit_settings(const cli_command *command,
                           void (*put)(const cli_command *, const fplt_setting *, cli_text *),
                           cli_text *out)
{
    const cli_call nobody = {.command = command};
    const fplt_setting *row;
    const fplt_algorithm *algorithm;
    fplt_settings *settings = cli_settings_of(&nobody);
    int has_algorithm = settings && fplt__settings_find(settings, "algorithm");
    for (size_t i = 0; settings && (row = fplt_settings_row(settings, i, NULL)); i++)
        put(command, row, out);
    for (size_t i = 0; has_algorithm && (algorithm = fplt_algorithm_list(i)); i++)
        for (row = algorithm->settings; row->name; row++)
            if (!fplt__settings_find(settings, row->name))
                put(command, row, out);
    fplt_settings_destroy(settings);
}

static void bash_flag(const cli_command *command, const fplt_setting *row, cli_text *out)
{
    (void)command;
    cli_text_format(out, " --%s", row->name);
}

static void bash_flags(const cli_command *command, cli_text *out)
{
    cli_text_format(out, "        '%s') words=\"--help", command->name);
    visit_settings(command, bash_flag, out);
    cli_text_add(out, "\" ;;\n");
}

static void add_choices(const fplt_setting *row, cli_text *out)
{
    for (const char *c = row->choices; *c; c++)
        cli_text_add(out, *c == '|' ? " " : (char[]){*c, 0});
}

static void bash_values(const cli_command *command, const fplt_setting *row, cli_text *out)
{
    if (row->kind != FPLT_CHOICE)
        return;
    cli_text_format(out, "        '%s --%s') words=\"", command->name, row->name);
    add_choices(row, out);
    cli_text_add(out, "\" ;;\n");
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
        visit_settings(c, bash_values, out);
    cli_text_add(out, "    esac\n    if [ -z \"$words\" ] && [[ \"$now\" == -* ]]; then\n"
                      "        case \"$command\" in\n");
    for (size_t i = 0; (c = cli_command_at(i)); i++)
        bash_flags(c, out);
    cli_text_add(out, "        esac\n    fi\n"
                      "    if [ -n \"$words\" ]; then\n"
                      "        COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
                      "    else\n"
                      "        COMPREPLY=($(compgen -f -- \"$now\"))\n"
                      "    fi\n}\n"
                      "complete -o filenames -F _fedplt fedplt\n");
}

/* Between single quotes of zsh and fish; `also` are further characters that need a backslash. */
static void quoted(const char *text, const char *also, cli_text *out)
{
    for (; *text; text++) {
        if (*text == '\'')
            cli_text_add(out, "'\\''");
        else if (*text == '\n')
            cli_text_add(out, " ");
        else {
            if (strchr(also, *text))
                cli_text_add(out, "\\");
            cli_text_add_bytes(out, text, 1);
        }
    }
}

/* '*--solver[how an agent trains locally]:value:(gradient accelerated)' */
static void zsh_flag(const cli_command *command, const fplt_setting *row, cli_text *out)
{
    (void)command;
    cli_text_format(out, " \\\n            '*--%s[", row->name);
    quoted(row->help, "[]\\", out);
    cli_text_add(out, "]");
    if (row->kind == FPLT_CHOICE) {
        cli_text_add(out, ":value:(");
        add_choices(row, out);
        cli_text_add(out, ")");
    } else if (row->kind != FPLT_SWITCH)
        cli_text_add(out, ":value:_files");
    cli_text_add(out, "'");
}

/* Lines of an array for _describe: 'train:train a model'; of all commands, or of those with a second word. */
static void zsh_names(const char *group, cli_text *out)
{
    const cli_command *c;
    const char *before = "";
    size_t length = group ? strlen(group) : 0;
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        size_t first = strcspn(c->name, " ");
        int is_member = group && strncmp(c->name, group, length) == 0 && c->name[length] == ' ';
        int is_repeated = strncmp(before, c->name, first) == 0 && strcspn(before, " ") == first;
        if (group ? !is_member : is_repeated)
            continue;
        cli_text_add(out, " '");
        if (group)
            quoted(c->name + length + 1, ":\\", out);
        else
            cli_text_add_bytes(out, c->name, first);
        cli_text_add(out, ":");
        quoted(group || !c->name[first] ? c->summary : "several commands", "\\", out);
        cli_text_add(out, "'");
        before = c->name;
    }
}

static int begins_group(size_t index, size_t *length)
{
    const cli_command *c = cli_command_at(index);
    const cli_command *previous = index ? cli_command_at(index - 1) : NULL;
    *length = strcspn(c->name, " ");
    return c->name[*length] && !(previous && strncmp(previous->name, c->name, *length + 1) == 0);
}

static void zsh(cli_text *out)
{
    const cli_command *c;
    size_t length;
    cli_text_add(out, "#compdef fedplt\n# zsh completion of fedplt\n_fedplt() {\n"
                      "    local command=\"$words[2]\"\n    local -a names\n"
                      "    if (( CURRENT == 2 )); then\n        names=(");
    zsh_names(NULL, out);
    cli_text_add(out, " )\n        _describe command names\n        return\n    fi\n"
                      "    case \"$command\" in\n");
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        if (!begins_group(i, &length))
            continue;
        char group[64];
        snprintf(group, sizeof group, "%.*s", (int)length, c->name);
        cli_text_format(out, "    %s)\n        if (( CURRENT == 3 )); then\n            names=(",
                        group);
        zsh_names(group, out);
        cli_text_add(out,
                     " )\n            _describe command names\n            return\n        fi\n"
                     "        command=\"$command $words[3]\" ;;\n");
    }
    cli_text_add(out, "    esac\n    case \"$command\" in\n");
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        cli_text_format(out, "    '%s')\n        _arguments '--help[what it does]'", c->name);
        visit_settings(c, zsh_flag, out);
        cli_text_add(out, " \\\n            '*:file:_files' ;;\n");
    }
    cli_text_add(out, "    esac\n}\nif [ \"$funcstack[1]\" = _fedplt ]; then\n    _fedplt \"$@\"\n"
                      "else\n    compdef _fedplt fedplt\nfi\n");
}

/* The condition under which fish offers what belongs to a command. */
static void fish_condition(const cli_command *command, cli_text *out)
{
    cli_text_format(out, "complete -c fedplt -n '__fedplt_is %s'", command->name);
}

static void fish_flag(const cli_command *command, const fplt_setting *row, cli_text *out)
{
    fish_condition(command, out);
    cli_text_format(out, " -l '%s'", row->name);
    if (row->kind == FPLT_CHOICE) {
        cli_text_add(out, " -xa '");
        add_choices(row, out);
        cli_text_add(out, "'");
    } else if (row->kind != FPLT_SWITCH)
        cli_text_add(out, " -r");
    cli_text_add(out, " -d '");
    quoted(row->help, "\\", out);
    cli_text_add(out, "'\n");
}

/* `complete` for the first words, the second words of groups, and the flags of each command. */
static void fish(cli_text *out)
{
    const cli_command *c;
    size_t length;
    cli_text_add(out, "# fish completion of fedplt\n"
                      "# Whether the words so far begin with these.\n"
                      "function __fedplt_is\n"
                      "    set -l words (commandline -opc)\n"
                      "    set -e words[1]\n"
                      "    test (count $words) -ge (count $argv); or return 1\n"
                      "    test \"$words[1..\"(count $argv)\"]\" = \"$argv\"\n"
                      "end\n"
                      "function __fedplt_has\n"
                      "    test (count (commandline -opc)) -eq $argv[1]\n"
                      "end\n");
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        int is_first = begins_group(i, &length) || !c->name[length];
        if (is_first) {
            cli_text_format(out, "complete -c fedplt -n '__fedplt_has 1' -fa '%.*s' -d '",
                            (int)length, c->name);
            quoted(c->name[length] ? "several commands" : c->summary, "\\", out);
            cli_text_add(out, "'\n");
        }
        if (c->name[length]) {
            cli_text_format(out,
                            "complete -c fedplt -n '__fedplt_has 2; and __fedplt_is %.*s' -fa "
                            "'%s' -d '",
                            (int)length, c->name, c->name + length + 1);
            quoted(c->summary, "\\", out);
            cli_text_add(out, "'\n");
        }
        visit_settings(c, fish_flag, out);
    }
}

static const struct shell {
    const char *name;
    void (*write)(cli_text *out);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static const char *shell_name(size_t index, const char **help)
{
    if (help)
        *help = "";
    return index < sizeof shells / sizeof *shells ? shells[index].name : NULL;
}

static fplt_status run_completion(cli_call *cli, fplt_error *error)
{
    const char *name;
    for (size_t i = 0; (name = shell_name(i, NULL)); i++) {
        cli_text out = {NULL, 0, NULL};
        char *script;
        if (strcmp(cli->arguments[0], name) != 0)
            continue;
        shells[i].write(&out);
        fplt_status status = cli_text_take(&out, &script, error);
        if (status)
            return status;
        fputs(script, stdout);
        free(script);
        return FPLT_OK;
    }
    return fplt__unknown_name("completion", cli->arguments[0], shell_name, error);
}

const cli_command cli_completion[] = {
    {.name = "completion",
     .summary = "a script that lets bash, zsh or fish complete commands and flags",
     .arguments = "bash|zsh|fish",
     .about =
         "Prints a script for a shell. For the current session: source <(fedplt completion "
         "bash), source <(fedplt completion zsh), or fedplt completion fish | source. To keep "
         "it, write the script to ~/.local/share/bash-completion/completions/fedplt, to a file "
         "_fedplt in a folder of zsh's fpath, or to ~/.config/fish/completions/fedplt.fish. "
         "`make install` installs all three.",
     .examples = "source <(fedplt completion bash)\n"
                 "fedplt completion fish > fedplt.fish",
     .least = 1,
     .most = 1,
     .run = run_completion},
    {.name = NULL},
};
