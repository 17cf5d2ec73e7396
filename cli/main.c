/* fedplt: finds the command, reads its flags, runs it, and turns what happened into one sentence and
 * an exit status. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "fedplt/data.h"
#include "fedplt/log.h"
#include "progress.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/dataset_access.h"

enum { DONE = 0, FAILED = 1, MISUSED = 2, BROKEN = 70 };

static void show_log(fplt_log_level level, const char *sentence, void *context)
{
    (void)context;
    if (level == FPLT_LOG_INFO)
        cli_warn("%s", sentence);
    else if (level == FPLT_LOG_WARNING)
        cli_warn("warning: %s", sentence);
    else if (level == FPLT_LOG_ERROR)
        cli_warn("a mistake in this program: %s", sentence);
}

static const char *name_of(size_t index, const char **help)
{
    const cli_command *command = cli_command_at(index);
    if (command && help)
        *help = command->summary;
    return command ? command->name : NULL;
}

/* Bad settings, data and files to read are the caller's; the rest happened while running. */
static int exit_status(const cli_call *cli, fplt_status status)
{
    switch (status) {
    case FPLT_OK: return cli->exit_status;
    case FPLT_BAD_VALUE:
    case FPLT_BAD_DATA:
    case FPLT_UNSUPPORTED:
    case FPLT_UNREACHABLE: return MISUSED;
    case FPLT_IO: return cli->running ? FAILED : MISUSED;
    default: return FAILED;
    }
}

static int wants_help(int count, char **words)
{
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0)
            return 1;
    return 0;
}

static size_t terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 60)
        return 80;
    return size.ws_col > 100 ? 100 : size.ws_col;
}

static int finish(const cli_call *cli, fplt_status status, fplt_error *error)
{
    if (!status) {
        cli_call writing = *cli;
        writing.running = 1;
        if ((status = cli_flush(error))) {
            cli_warn("%s", error->text);
            return exit_status(&writing, status);
        }
        return cli->exit_status;
    }
    fflush(stdout);
    cli_warn("%s", error->text[0] ? error->text : fplt_status_text(status));
    return exit_status(cli, status);
}

static int show(cli_text *text)
{
    fplt_error error = {FPLT_OK, ""};
    const cli_call nobody = {.command = NULL};
    cli_print_text(text);
    return finish(&nobody, FPLT_OK, &error);
}

static int run_command(cli_call *cli)
{
    fplt_error error = {FPLT_OK, ""};
    fplt_status status = cli_parse(cli, &error);
    fplt__read_watch(cli_progress_reading, cli);
    if (!status)
        status = cli_ranks_begin(cli, &error);
    if (!status)
        status = cli->command->run(cli, &error);
    int result = cli_ranks_end(cli, finish(cli, status, &error));
    cli_clear(cli);
    return fplt__settings_misread() ? BROKEN : result; /* what was read as 0 may be anything */
}

static int is_group(const char *word)
{
    const cli_command *c;
    size_t length = strlen(word);
    for (size_t i = 0; (c = cli_command_at(i)); i++)
        if (strncmp(c->name, word, length) == 0 && c->name[length] == ' ')
            return 1;
    return 0;
}

/* The command named by the first word or the first two; `used` says how many. */
static const cli_command *find(int count, char **words, int *used)
{
    char both[128];
    const cli_command *found = NULL;
    *used = 2;
    if (count > 1) {
        snprintf(both, sizeof both, "%.60s %.60s", words[0], words[1]);
        found = cli_command_find(both);
    }
    if (!found) {
        *used = 1;
        found = cli_command_find(words[0]);
    }
    return found;
}

static int no_command(int count, char **words)
{
    cli_text text = {NULL, 0, NULL};
    fplt_error error = {FPLT_OK, ""};
    if (is_group(words[0]) && (count == 1 || words[1][0] == '-')) {
        cli_help_group(words[0], &text);
        return show(&text) ? FAILED : wants_help(count, words) ? DONE : MISUSED;
    }
    char name[128];
    snprintf(name, sizeof name, "%.60s%s%.60s", words[0], is_group(words[0]) ? " " : "",
             is_group(words[0]) ? words[1] : "");
    fplt__unknown_name("command", name, name_of, &error);
    cli_warn("%s", error.text);
    return MISUSED;
}

int main(int argc, char **argv)
{
    cli_text text = {NULL, 0, NULL};
    int used;
    signal(SIGPIPE, SIG_IGN);
    cli_explain_lost_files();
    cli_ranks_hush();
    fplt_log_set(show_log, NULL);
    char help[] = "--help";
    if (argc > 2 && strcmp(argv[1], "help") == 0) { /* help train: train --help */
        for (int i = 1; i + 1 < argc; i++)
            argv[i] = argv[i + 1];
        argv[argc - 1] = help;
    }
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        cli_help_all(&text);
        return show(&text) ? FAILED : argc < 2 ? MISUSED : DONE;
    }
    char version[] = "version";
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0 ||
        strcmp(argv[1], "-V") == 0)
        argv[1] = version;
    const cli_command *command = find(argc - 1, argv + 1, &used);
    if (!command)
        return no_command(argc - 1, argv + 1);
    cli_call cli = {
        .command = command, .count = argc - 1 - used, .words = argv + 1 + used, .all = argv};
    if (wants_help(cli.count, cli.words)) {
        fplt_settings_create(&cli.settings, NULL); /* so that --algorithm is heard */
        cli_help(&cli, terminal_width(), &text);
        cli_clear(&cli);
        return show(&text);
    }
    return run_command(&cli);
}
