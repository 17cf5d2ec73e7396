/* Flags and configuration. Flags override the file. What is a flag's value and what an argument
 * depends on the tables, and the tables depend on the algorithm, which may stand in the file: so the
 * words are read twice, first with the tables that are always there. */
#include <string.h>

#include "cli.h"
#include "fedplt/algorithm.h"
#include "fedplt/trainer.h"
#include "base/config.h"
#include "base/settings.h"

static int is_flag(const char *word)
{
    return strncmp(word, "--", 2) == 0 && word[2];
}

static int is_switch_word(const char *word)
{
    static const char *const words[] = {"yes", "no", "true", "false", "on", "off"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0)
            return 1;
    return 0;
}

/* One flag of the command line. */
struct flag {
    char name[80];
    const char *value; /* NULL: a switch that stands alone */
    int used;          /* words */
};

static fplt_status read_flag(const cli_call *cli, const fplt_settings *settings, int at,
                             struct flag *flag, fplt_error *error)
{
    const char *word = cli->words[at] + 2, *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    if (length >= sizeof flag->name)
        return fplt_error_set(error, FPLT_BAD_VALUE, "there is no flag %.90s...", cli->words[at]);
    memcpy(flag->name, word, length);
    flag->name[length] = 0;
    flag->value = equals ? equals + 1 : NULL;
    flag->used = 1;
    if (equals)
        return FPLT_OK;
    const fplt_setting *row = fplt__settings_find(settings, flag->name);
    const char *next = at + 1 < cli->count ? cli->words[at + 1] : NULL;
    if (row && row->kind == FPLT_SWITCH) {
        if (next && is_switch_word(next)) {
            flag->value = next;
            flag->used = 2;
        }
        return FPLT_OK;
    }
    if (next && !is_flag(next)) {
        flag->value = next;
        flag->used = 2;
    }
    return FPLT_OK;
}

/* Finds the arguments that are no flags. Behind a lone -- everything is one. */
static fplt_status find_arguments(cli_call *cli, const fplt_settings *settings, fplt_error *error)
{
    struct flag flag;
    fplt_status status;
    cli->argument_count = 0;
    for (int at = 0, only = 0; at < cli->count;) {
        if (!only && strcmp(cli->words[at], "--") == 0) {
            only = 1;
            at++;
        } else if (!only && is_flag(cli->words[at])) {
            if ((status = read_flag(cli, settings, at, &flag, error)))
                return status;
            at += flag.used;
        } else if (!only && cli->words[at][0] == '-' && cli->words[at][1]) {
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "there is no flag %.80s: flags begin with two dashes",
                                  cli->words[at]);
        } else {
            cli->arguments[cli->argument_count++] = cli->words[at++];
        }
    }
    return FPLT_OK;
}

static fplt_status check_arguments(const cli_call *cli, fplt_error *error)
{
    const cli_command *command = cli->command;
    size_t count = cli->argument_count;
    if (count > command->most)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s takes %s%zu argument%s, but '%.80s' is one more; see fedplt %s "
                              "--help",
                              command->name, command->most ? "at most " : "", command->most,
                              command->most == 1 ? "" : "s", cli->arguments[command->most],
                              command->name);
    if (count < command->least)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s needs more arguments: fedplt %s %s",
                              command->name, command->name, command->arguments);
    return FPLT_OK;
}

/* The value of a flag among the words, the last if there are several; NULL: none. */
static const char *peek_flag(const cli_call *cli, const char *name)
{
    size_t length = strlen(name);
    for (int at = cli->count - 1; at >= 0; at--) {
        const char *word = cli->words[at];
        if (!is_flag(word) || strncmp(word + 2, name, length) != 0)
            continue;
        if (word[2 + length] == '=')
            return word + 3 + length;
        if (!word[2 + length]) /* a switch may stand alone */
            return at + 1 < cli->count && !is_flag(cli->words[at + 1]) ? cli->words[at + 1] : "yes";
    }
    return NULL;
}

const char *cli_peek(const cli_call *cli, const char *name)
{
    const char *flag = cli->settings ? peek_flag(cli, name) : NULL;
    if (flag || !cli->settings || !cli->config)
        return flag;
    return fplt_config_find(cli->config, name, NULL);
}

/* A setting of another algorithm is better explained than called unknown. */
static void explain_foreign(const cli_call *cli, fplt_error *error)
{
    const fplt_algorithm *algorithm;
    const char *chosen = fplt__settings_find(cli->settings, "algorithm")
                             ? fplt_settings_text(cli->settings, "algorithm")
                             : NULL;
    if (!chosen)
        return;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++)
        for (const fplt_setting *row = algorithm->settings; row->name; row++) {
            if (fplt__settings_find(cli->settings, row->name) || !cli_peek(cli, row->name))
                continue;
            size_t line = 0;
            char origin[4200] = "";
            if (cli->config && fplt_config_find(cli->config, row->name, &line))
                snprintf(origin, sizeof origin, "%.4000s:%zu: ", cli->arguments[0], line);
            const char *running = cli_peek(cli, "algorithm");
            fplt_error_set(error, FPLT_BAD_VALUE,
                           "%s%s is a setting of the algorithm %s, but the algorithm is %s", origin,
                           row->name, algorithm->name, running ? running : chosen);
            return;
        }
}

/* A flag that names another algorithm overrides the file's, and with it the file's parameters. */
static void drop_foreign(cli_call *cli)
{
    const fplt_algorithm *algorithm;
    if (!cli->config || !peek_flag(cli, "algorithm"))
        return;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++)
        for (const fplt_setting *row = algorithm->settings; row->name; row++)
            if (!fplt__settings_find(cli->settings, row->name))
                fplt__config_drop(cli->config, row->name);
}

static fplt_status apply_flags(cli_call *cli, fplt_error *error)
{
    struct flag flag;
    fplt_status status;
    for (int at = 0; at < cli->count && strcmp(cli->words[at], "--") != 0;) {
        if (!is_flag(cli->words[at])) {
            at++;
            continue;
        }
        if ((status = read_flag(cli, cli->settings, at, &flag, error)))
            return status;
        const fplt_setting *row = fplt__settings_find(cli->settings, flag.name);
        char origin[96];
        snprintf(origin, sizeof origin, "--%s", flag.name);
        if (row && !flag.value && row->kind != FPLT_SWITCH) {
            char legal[512];
            fplt_setting_legal(row, legal, sizeof legal);
            return fplt_error_set(error, FPLT_BAD_VALUE, "%s needs a value: %s", origin, legal);
        }
        if ((status = fplt__settings_append(cli->settings, flag.name,
                                            flag.value ? flag.value : "yes", origin, error))) {
            if (!row)
                explain_foreign(cli, error);
            return status;
        }
        at += flag.used;
    }
    return FPLT_OK;
}

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    return cli->command->declare ? cli->command->declare(cli, settings, error) : FPLT_OK;
}

/* Whether another command would take all of the file. */
static int takes_file(const cli_call *cli, const cli_command *command)
{
    cli_call other = {.command = command, .config = cli->config};
    fplt_settings *scratch;
    if (!command->config || command == cli->command || fplt_settings_create(&scratch, NULL))
        return 0;
    other.settings = scratch;
    int taken = !declare(&other, scratch, NULL) && !fplt_config_apply(cli->config, scratch, NULL);
    fplt_settings_destroy(scratch);
    return taken;
}

/* The first that would; NULL: none, or there is no file. */
static const cli_command *other_taker(const cli_call *cli)
{
    const cli_command *command = NULL;
    for (size_t i = 0; cli->config && (command = cli_command_at(i)); i++)
        if (takes_file(cli, command))
            break;
    return command;
}

/* A file with a setting that this command has not may be one for another. */
static void name_command(const cli_call *cli, fplt_error *error)
{
    const cli_command *command = other_taker(cli);
    fplt_error said = *error;
    if (command)
        fplt_error_set(error, said.status, "%.900s; the file is one for `fedplt %s`", said.text,
                       command->name);
}

int cli_names_config(const cli_call *cli)
{
    const char *dot = cli->argument_count ? strrchr(cli->arguments[0], '.') : NULL;
    return cli->command->config_by_name && dot &&
           (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

/* Data where the settings are wanted. */
static fplt_status check_config_name(const cli_call *cli, const fplt_settings *settings,
                                     fplt_error *error)
{
    static const char *const ends[] = {".csv", ".tsv", ".txt",  ".data", ".libsvm", ".svm",
                                       ".npy", ".gz",  ".fplt", ".xlsx", ".dta",    ".sav"};
    const char *name = cli->arguments[0], *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(dot, ends[i]) == 0 && fplt__settings_find(settings, "data"))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%.300s: here stands a YAML file with settings; data are given "
                                  "with a flag: fedplt %s --data %.300s",
                                  name, cli->command->name, name);
    return FPLT_OK;
}

static fplt_status first_reading(cli_call *cli, fplt_error *error)
{
    fplt_settings *scratch;
    fplt_status status = fplt_settings_create(&scratch, error);
    if (status)
        return status;
    if (!(status = declare(cli, scratch, error)) &&
        !(status = find_arguments(cli, scratch, error)) &&
        !(status = check_arguments(cli, error)) &&
        ((cli->command->config && cli->argument_count) || cli_names_config(cli)))
        if (!(status = check_config_name(cli, scratch, error)))
            status = fplt_config_load(cli->arguments[0], &cli->config, error);
    fplt_settings_destroy(scratch);
    return status;
}

static const char *given(void *cli, const char *name)
{
    return cli_peek(cli, name);
}

fplt_status cli_declare_trainer(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    return fplt_trainer_declare(settings, 0, given, (void *)cli, error);
}

fplt_status cli_prefer(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    return fplt_trainer_prefer(settings, 0, given, (void *)cli, error);
}

static fplt_status check_effects(const cli_call *cli, fplt_error *error)
{
    const cli_command *command = cli->command;
    fplt_status status = fplt__settings_effective(cli->settings, error);
    if (status || !command->needs)
        return status;
    return other_taker(cli) /* the file may serve both */
               ? fplt__settings_effective_in(cli->settings, command->name, command->needs, error)
               : fplt__settings_effective_alone(cli->settings, command->name, command->needs,
                                                error);
}

fplt_status cli_learn(cli_call *cli, const char *fact, const char *value, fplt_error *error)
{
    fplt_status status = fplt__settings_learn(cli->settings, fact, value, error);
    return status ? status : check_effects(cli, error);
}

/* A file without settings is hardly meant: everything would be a default. */
static fplt_status check_config(const cli_call *cli, fplt_error *error)
{
    const fplt_setting *row;
    for (size_t i = 0; (row = fplt_settings_row(cli->settings, i, NULL)); i++)
        if (fplt_settings_given(cli->settings, row->name))
            return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%.300s: the file has no settings: write lines such as 'data: "
                          "hospitals.csv' into it, or leave it out",
                          cli->arguments[0]);
}

fplt_status cli_parse(cli_call *cli, fplt_error *error)
{
    fplt_status status;
    if ((status = cli_alloc(&cli->arguments, (size_t)cli->count + 1, sizeof *cli->arguments,
                            "the arguments", error)) ||
        (status = first_reading(cli, error)) ||
        (status = fplt_settings_create(&cli->settings, error)) ||
        (status = declare(cli, cli->settings, error)))
        return status;
    drop_foreign(cli);
    if (cli->config && (status = fplt_config_apply(cli->config, cli->settings, error))) {
        if (strstr(error->text, "there is no setting")) {
            explain_foreign(cli, error);
            if (strstr(error->text, "there is no setting"))
                name_command(cli, error);
        }
        return status;
    }
    if (cli->config && (status = check_config(cli, error)))
        return status;
    fplt__settings_override(cli->settings);
    status = apply_flags(cli, error);
    return status ? status : check_effects(cli, error);
}

static int is_named(const char *name, const char *const *names)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return 1;
    return 0;
}

void cli_again(const cli_call *cli, const char *command, const char *const *without, cli_text *out)
{
    cli_quote(out, cli->all[0]);
    cli_text_format(out, " %s", command ? command : cli->command->name);
    for (int at = 0, only = 0, used; at < cli->count; at += used) {
        struct flag flag = {.used = 1};
        used = 1;
        only |= strcmp(cli->words[at], "--") == 0;
        if (!only && is_flag(cli->words[at])) {
            if (read_flag(cli, cli->settings, at, &flag, NULL))
                continue;
            used = flag.used;
            if (is_named(flag.name, without))
                continue;
        }
        for (int k = at; k < at + used; k++) {
            cli_text_add(out, " ");
            cli_quote(out, cli->words[k]);
        }
    }
}

void cli_clear(cli_call *cli)
{
    free(cli->arguments);
    fplt_config_destroy(cli->config);
    fplt_settings_destroy(cli->settings);
}
