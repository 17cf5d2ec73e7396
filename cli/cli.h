/* The program: a registry of subcommands, and what they share. A subcommand is one file that defines
 * an array of commands, and one line in cli/meson.build. */
#ifndef FPLT_CLI_CLI_H
#define FPLT_CLI_CLI_H

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "fedplt/config.h"
#include "fedplt/job.h"
#include "fedplt/memory.h"
#include "fedplt/model.h"
#include "fedplt/report.h"
#include "fedplt/settings.h"
#include "fedplt/settings_table.h"
#include "fedplt/status.h"
#include "base/file.h"
#include "base/settings.h"

typedef struct cli_call cli_call;

/* Text that grows; zeroed is empty and legal. A failure to grow shows when it is taken. */
typedef struct cli_text {
    char *text; /* owned */
    size_t length;
    FILE *stream; /* writes into both, and is flushed after each addition */
} cli_text;

void cli_text_add(cli_text *out, const char *text);
void cli_text_add_bytes(cli_text *out, const char *bytes, size_t count);
void cli_text_repeat(cli_text *out, char c, size_t count);
void cli_text_format(cli_text *out, const char *format, ...) FPLT_PRINTF(2, 3);
void cli_text_format_list(cli_text *out, const char *format, va_list arguments) FPLT_PRINTF(2, 0);
/* Empty again. */
void cli_text_clear(cli_text *out);
/* Hands the text over (free) and empties it. */
fplt_status cli_text_take(cli_text *out, char **text, fplt_error *error);

/* Zeroed memory (free) into a pointer; `what` it is for. */
fplt_status cli_alloc(void *to, size_t count, size_t size, const char *what, fplt_error *error);

typedef struct cli_command {
    const char *name;      /* "train", or two words: "data inspect" */
    const char *summary;   /* one line, without a full stop */
    const char *arguments; /* what stands on the usage line before the flags, or "" */
    const char *about;     /* sentences; blank lines separate paragraphs */
    const char *examples;  /* lines */
    size_t least, most;    /* arguments that are not flags */
    int config;            /* the first of them is a YAML file with settings */
    int config_by_name;    /* it is one where its name says so */
    int spreads;           /* over the processes of `engine: mpi`, all of which run it */
    /* Adds the tables of its flags. Called twice: first to find the arguments (cli_peek then knows
     * nothing), then for good. NULL: no flags. */
    fplt_status (*declare)(const cli_call *cli, fplt_settings *settings, fplt_error *error);
    const fplt__setting_need
        *needs; /* what settings need in this command beside their rows, or NULL */
    fplt_status (*run)(cli_call *cli, fplt_error *error);
} cli_command;

/* One call of the program. */
struct cli_call {
    const cli_command *command;
    int count; /* of words behind the name of the command */
    char **words;
    char **all;             /* argv, for the advice how to go on */
    const char **arguments; /* owned array: words that are no flags */
    size_t argument_count;
    fplt_config *config;     /* owned, or NULL */
    fplt_settings *settings; /* owned */
    fplt_ranks *ranks;       /* the processes of `engine: mpi`; NULL: this one alone */
    int running;     /* set once the inputs are read: a failure to write is then one of the run */
    int exit_status; /* where it is not 0 although nothing failed */
};

/* Every command; NULL past the last. In the order of the help. */
const cli_command *cli_command_at(size_t index);
const cli_command *cli_command_find(const char *name);

/* The value of a flag or of the configuration before the settings are complete; NULL: none. */
const char *cli_peek(const cli_call *cli, const char *name);

/* Adds the tables of a training: those of the algorithm that the call asks for. */
fplt_status cli_declare_trainer(const cli_call *cli, fplt_settings *settings, fplt_error *error);

/* Where data of your own are given, the defaults that train has for them: behind the tables of a job. */
fplt_status cli_prefer(const cli_call *cli, fplt_settings *settings, fplt_error *error);

/* Adds a paragraph about those that hold, each with its reason; nothing where none does. */
void cli_write_defaults(const fplt_settings *settings, cli_text *out);

/* The file of the setting out; NULL: standard output. */
const char *cli_out(const cli_call *cli);

/* Whether the first argument is a file of settings for a command that also takes others. */
int cli_names_config(const cli_call *cli);

/* Reads flags and configuration. */
fplt_status cli_parse(cli_call *cli, fplt_error *error);
/* A fact that settings may need (both texts borrowed): refuses those that have no effect beside it. */
fplt_status cli_learn(cli_call *cli, const char *fact, const char *value, fplt_error *error);
void cli_clear(cli_call *cli);

/* The help of a command, of a group of commands ("data"), of the program. */
void cli_help(const cli_call *cli, size_t width, cli_text *out);
void cli_help_group(const char *group, cli_text *out);
void cli_help_all(cli_text *out);
/* New settings with the tables of the command, for help, manual and completion; NULL on failure. */
fplt_settings *cli_settings_of(const cli_call *cli);
/* The same as if the user's own data were given; NULL where the command has no flag for them. Destroy. */
fplt_settings *cli_settings_with_data(const cli_call *cli, fplt_settings *settings);
/* The default of a setting where it differs with the user's own data; NULL: it does not. `with_data` may be NULL. */
const char *cli_default_with_data(const fplt_setting *row, const fplt_settings *with_data);
/* Every command with its texts and settings, as an array of objects; NULL where memory fails. */
json_t *cli_json_commands(void);
/* Groups of settings in the order of the help; NULL past the last. */
const char *cli_group(const fplt_settings *settings, size_t index);
/* "NUMBER", "FILE", "a|b" ... what a flag wants; empty for a switch. */
void cli_wants(const fplt_setting *row, char *text, size_t size);
/* Adds text, broken at blanks to lines of `width` columns that begin with `indent` blanks; the first
 * line begins at column `at`. */
void cli_wrap(cli_text *out, const char *text, size_t at, size_t indent, size_t width);

/* lmin and lmax, for commands that can do without data; and what is about data needs there. */
extern const fplt_setting cli_curvature_table[];
#define CLI_NEEDS_DATA "data,+generator,-lmin,-lmax"

/* Data for an existing model, and what only matters where their labels and sites are looked at. */
extern const fplt_setting cli_reading_table[], cli_labelled_table[];
/* Adds `output` (borrowed) and both of them: the settings of a command that takes a model and labelled data. */
fplt_status cli_declare_labelled(fplt_settings *settings, const fplt_setting *output,
                                 fplt_error *error);
/* CSV files that are read column by column and belong to no model; the schema is left to the caller. */
extern const fplt_setting cli_file_table[];
fplt_read_settings cli_file_reading(const cli_call *cli);
/* FPLT_BAD_VALUE where something is said about reading although no files stand behind the model. */
fplt_status cli_reading_unused(const cli_call *cli, fplt_error *error);
/* How to read them; `schema` is to be destroyed, also after a failure. */
fplt_status cli_model_reading(const cli_call *cli, int labelled, fplt_read_settings *read,
                              fplt_schema **schema, fplt_error *error);
/* The files behind the first argument, the model. `labelled` 0: rows in the order of the files. */
fplt_status cli_model_data(const cli_call *cli, const fplt_model *model, int labelled,
                           fplt_dataset **dataset, fplt_error *error);

/* Whether the cost of a model had a penalty, as its sums say: "one" or "none", a fact for cli_learn. */
const char *cli_penalty_of(const fplt_model *model);

/* Output. */
void cli_print_text(cli_text *text); /* to standard output; empties it */
fplt_status cli_print_table(const fplt_table *table, fplt_error *error);
/* The files of the setting `data` (free). */
fplt_status cli_data_files(const cli_call *cli, char ***items, size_t *count, fplt_error *error);
/* What the columns of the command's CSV files hold, and likely mistakes; nothing beside a schema. */
fplt_status cli_print_survey(const cli_call *cli, fplt_error *error);
/* Adds the values of the rows that were filled in; nothing where none was. */
fplt_status cli_write_filled(const fplt_dataset *dataset, cli_text *out, fplt_error *error);
/* The same, to standard output. */
fplt_status cli_print_filled(const fplt_dataset *dataset, fplt_error *error);
/* As CSV into folder/name. */
fplt_status cli_save_table(const char *folder, const char *name, const fplt_table *table,
                           fplt_error *error);
/* Every document of --json is one object with keys in snake_case; schema/COMMAND.schema.json says which. */
fplt_status cli_print_json(json_t *json, fplt_error *error); /* takes the reference */
json_t *cli_json_number(double value);                       /* null where it is not finite */
json_t *cli_json_text(const char *text);                     /* null for NULL */
json_t *cli_json_table(const fplt_table *table); /* an array of objects; NULL: no memory */
/* A member of a JSON document that is text already (owned: fplt_free; NULL: no memory for it). */
typedef struct cli_member {
    const char *name;
    char *text;
} cli_member;
/* The same, with such members behind those of the object. */
fplt_status cli_print_json_with(json_t *json, const cli_member *members, size_t count,
                                fplt_error *error);
fplt_status cli_flush(fplt_error *error);
void cli_warn(const char *format, ...) FPLT_PRINTF(1, 2);
void cli_hush(void); /* nothing is printed any more */
int cli_is_hushed(void);

/* Refuses to write over a file that this call reads: arguments, configuration, data, schema, models.
 * `path` itself may be one of the arguments. */
fplt_status cli_protect(const cli_call *cli, const char *path, fplt_error *error);

/* A word as a shell would need it. */
void cli_quote(cli_text *out, const char *word);
/* This call again, as a shell takes it: for another command where one is named, without the flags that are
 * named (NULL: none; the array ends with NULL). */
void cli_again(const cli_call *cli, const char *command, const char *const *without, cli_text *out);
/* "" for one, "s" for more */
const char *cli_plural(unsigned long long count);
/* 1234567 -> "1.2 MB" */
void cli_bytes(double bytes, char *text, size_t size);

/* Processes that MPI started. All of them run the command, and only the first prints. */

/* Where MPI says in the environment that this is not the first: prints nothing from here on. */
void cli_ranks_hush(void);
/* Starts MPI for a command that spreads, where the settings ask for it. */
fplt_status cli_ranks_begin(cli_call *cli, fplt_error *error);
/* The exit status of the first, in all. */
int cli_ranks_end(cli_call *cli, int exit_status);
/* Whether this process prints and writes. */
int cli_leads(const cli_call *cli);
/* What `fedplt version` says of MPI. */
const char *cli_ranks_version(void);

/* Whether someone asked to stop (SIGINT, SIGTERM); a second time ends the program at once. */
void cli_catch_signals(void);
/* From here on a mapped file that is cut ends the program with a sentence. */
void cli_explain_lost_files(void);
/* What had to be finished is finished. */
void cli_signals_done(void);
/* Nor is there anything left to say: a signal ends the program as it ends any. */
void cli_signals_over(void);
/* The same for a command that keeps nothing when it is stopped: it ends within half a second, if need be in
 * the middle, and removes the folder if it is empty (NULL: none). */
void cli_end_on_signals(const char *folder);
/* In a process that does what another says: that one hears it, and says when to end. */
void cli_ignore_signals(void);
int cli_interrupted(void);

#endif
