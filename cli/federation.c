/* fedplt federation: a demonstration, and what can be asked of a running coordinator. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "federating.h"
#include "federation_demo.h"
#include "fedplt/federation.h"
#include "federation/plan/program.h"
#include "report/report.h"

static const fplt_setting folder_table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "the coordinator's folder", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "federation", folder_table, error);
}

static fplt_status declare_demo(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "federation", cli_demo_table, error);
}

static fplt_status ask(cli_call *cli, const char *word, fplt_error *error)
{
    char *answer;
    fplt_status status =
        fplt__federation_command(fplt_settings_text(cli->settings, "folder"), word, &answer, error);
    if (status)
        return status;
    json_t *document = json_loads(answer, 0, NULL);
    fplt_free(answer);
    return cli_print_json(document, error);
}

static fplt_status status_of(cli_call *cli, fplt_error *error)
{
    return ask(cli, "status", error);
}

static fplt_status pause_run(cli_call *cli, fplt_error *error)
{
    return ask(cli, "pause", error);
}

static fplt_status resume_run(cli_call *cli, fplt_error *error)
{
    return ask(cli, "resume", error);
}

static fplt_status end_run(cli_call *cli, fplt_error *error)
{
    return ask(cli, "end", error);
}

/* exclude, backup */

/* Prints what was done. */
static fplt_status command(const char *folder, const char *line, fplt_error *error)
{
    char *answer;
    fplt_status status = fplt__federation_command(folder, line, &answer, error);
    if (status)
        return status;
    json_t *document = json_loads(answer, 0, NULL);
    const char *done = json_string_value(json_object_get(document, "done"));
    printf("%s\n", done ? done : answer);
    json_decref(document);
    fplt_free(answer);
    return FPLT_OK;
}

static fplt_status exclude(cli_call *cli, fplt_error *error)
{
    char line[128];
    snprintf(line, sizeof line, "exclude %.100s", cli->arguments[0]);
    return command(fplt_settings_text(cli->settings, "folder"), line, error);
}

fplt_status cli_backup(cli_call *cli, fplt_error *error)
{
    const char *file = cli->arguments[0];
    char here[4096] = "", line[4390];
    if (*file != '/' && !realpath(".", here)) /* the process has another current folder */
        return fplt_error_set(error, FPLT_IO, "the current folder has no path: %s",
                              strerror(errno));
    int length = snprintf(line, sizeof line, "backup %s%s%s", here, *here ? "/" : "", file);
    if (length < 0 || (size_t)length >= sizeof line)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%.60s...: the path is too long", file);
    return command(fplt_settings_text(cli->settings, "folder"), line, error);
}

/* check */

/* The answer comes after the round at hand. */
static fplt_status check_federation(cli_call *cli, fplt_error *error)
{
    const char *folder = fplt_settings_text(cli->settings, "folder");
    const char *word = "check";
    for (;;) {
        char *answer;
        fplt_status status = fplt__federation_command(folder, word, &answer, error);
        if (status)
            return status;
        json_t *document = json_loads(answer, 0, NULL);
        fplt_free(answer);
        const json_t *made = json_object_get(document, "check");
        int waits = json_is_true(json_object_get(document, "checking"));
        if (!waits && made) {
            int equal = json_is_true(json_object_get(made, "equal"));
            long long round = json_integer_value(json_object_get(made, "round"));
            json_decref(document);
            if (!equal)
                return fplt_error_set(error, FPLT_FAILED,
                                      "round %lld: the vectors of all agents do not add up to the "
                                      "sum",
                                      round);
            printf("round %lld: the vectors of all agents add up to the sum, to the bit\n", round);
            return FPLT_OK;
        }
        json_decref(document);
        if (!waits)
            return fplt_error_set(error, FPLT_UNSUPPORTED,
                                  "nothing was checked: the algorithm mirrors no vectors, or not "
                                  "everybody answered");
        word = "status";
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
}

/* history */

static const fplt_setting history_table[] = {
    {"run", FPLT_INTEGER, 0, "0", 0, 4294967295.0, NULL, "number of the run; 0: the newest", 0, 0},
    {"trace", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "print who took part in each round, as `fedplt train --participation trace` reads it", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0,
     .needs = "trace=no"},
    FPLT_SETTINGS_END,
};

static fplt_status declare_history(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = declare(cli, settings, error);
    return status ? status : fplt_settings_add(settings, "output", history_table, error);
}

static void print_trace(void *context, const fplt_federation_round *round)
{
    (void)context;
    for (uint32_t i = 0; i < round->count; i++)
        printf("%s%u", i ? "," : "", round->accepted[i]);
    printf("\n");
}

static void add_round(void *context, const fplt_federation_round *round)
{
    fplt_table *table = context;
    fplt__table_whole(table, (long long)round->round);
    fplt__table_whole(table, round->incarnation);
    fplt__table_whole(table, round->count);
    fplt__table_number(table, round->seconds, 3);
    fplt__table_whole(table, (long long)round->bytes_up);
    fplt__table_whole(table, (long long)round->bytes_down);
    fplt__table_number(table, round->criterion, 6);
}

static void print_event(void *context, const char *time, const fplt_federation_event *event)
{
    (void)context;
    printf("%s  round %-6llu %-10s %s%s%s\n", time, (unsigned long long)event->round, event->word,
           event->who ? event->who : "", event->who ? ": " : "", event->sentence);
}

static void keep_event(void *context, const char *time, const fplt_federation_event *event)
{
    json_array_append_new(context, json_pack("{s:s, s:I, s:s, s:s?, s:s}", "time", time, "round",
                                             (json_int_t)event->round, "event", event->word,
                                             "member", event->who, "sentence", event->sentence));
}

static fplt_status print_history(const char *folder, uint32_t run, const fplt_table *rounds,
                                 int json, fplt_error *error)
{
    fplt_status status;
    if (!json) {
        if ((status = cli_print_table(rounds, error)))
            return status;
        printf("\n");
        return fplt_federation_events(folder, run, print_event, NULL, error);
    }
    json_t *events = json_array();
    if ((status = fplt_federation_events(folder, run, keep_event, events, error))) {
        json_decref(events);
        return status;
    }
    return cli_print_json(
        json_pack("{s:o, s:o}", "rounds", cli_json_table(rounds), "events", events), error);
}

static fplt_status history(cli_call *cli, fplt_error *error)
{
    static const char *const columns[] = {"round",    "leg",        "agents",   "seconds",
                                          "bytes up", "bytes down", "criterion"};
    const char *folder = fplt_settings_text(cli->settings, "folder");
    uint32_t run = (uint32_t)fplt_settings_integer(cli->settings, "run");
    int json = fplt_settings_switch(cli->settings, "json");
    fplt_table *table;
    if (fplt_settings_switch(cli->settings, "trace"))
        return fplt_federation_rounds(folder, run, print_trace, NULL, error);
    fplt_status status = fplt__table_create(columns, 7, &table, error);
    if (status)
        return status;
    if (!(status = fplt_federation_rounds(folder, run, add_round, table, error)))
        status = print_history(folder, run, table, json, error);
    fplt_table_destroy(table);
    return status;
}

const cli_command cli_federation[] = {
    {.name = "federation demo",
     .summary = "a coordinator and four hospitals as processes on this machine",
     .arguments = "",
     .about =
         "Makes up four hospitals, an authority and a certificate for each, starts a coordinator "
         "and "
         "four agents as processes of their own that talk over mutual TLS on loopback, shows the "
         "address of the live page and how the run goes on, and ends with one model. Nothing is "
         "left running; all files stay in one new folder to look at.",
     .examples = "fedplt federation demo\n"
                 "fedplt federation demo --out four --algorithm scaffold --rounds 50",
     .declare = declare_demo,
     .run = cli_federation_demo},
    {.name = "federation status",
     .summary = "what a running coordinator does, as JSON",
     .arguments = "",
     .about = "State, round, members, criterion and bytes, without secrets.",
     .examples = "fedplt federation status --folder heart",
     .declare = declare,
     .run = status_of},
    {.name = "federation check",
     .summary = "compare the agents' own vectors with their sum",
     .arguments = "",
     .about =
         "Asks all agents of a running coordinator, after the round at hand, for the vectors that "
         "the running sum follows, and compares: they must be equal to the last bit. It costs no "
         "privacy: all of them are sums of what was sent.",
     .examples = "fedplt federation check --folder heart",
     .declare = declare,
     .run = check_federation},
    {.name = "federation history",
     .summary = "the rounds and events of a run",
     .arguments = "",
     .about =
         "Reads the state of a coordinator that does not run at the moment. With --trace one line "
         "a "
         "round, the agents whose updates counted: `fedplt train --participation trace --trace "
         "FILE` on the same data then takes the same steps.",
     .examples = "fedplt federation history --folder heart\n"
                 "fedplt federation history --folder heart --trace > trace.txt",
     .declare = declare_history,
     .run = history},
    {.name = "federation describe",
     .summary = "Table 1 of a paper over the sites of a federation",
     .arguments = "federation.yaml",
     .about =
         "Asks every site of the roster once for counts and sums of the columns that the schema of "
         "federation.yaml declares, and prints rows, missing values, mean (SD), median "
         "[quartiles] and levels by site, for all and by stratum: the numbers of `fedplt describe "
         "--grid 20 --minimum 5` on the same files. Each site applies its disclosure rules before "
         "it answers: it withholds counts below five and those from which they would follow, "
         "merges cells of the grid with fewer values, withholds mean and deviation where one value "
         "dominates, and counts the question. A site approves the schema once (`fedplt agent "
         "approve`). Results are in the folder `out`, as describe.txt, .csv, .json, .html and "
         ".tex. An interrupted analysis goes on with the same command.",
     .examples = "fedplt federation describe heart/federation.yaml --by disease",
     .least = 1,
     .most = 1,
     .config = 1,
     .declare = cli_federation_describe_declare,
     .run = cli_federation_describe},
    {.name = "federation survival",
     .summary = "Kaplan-Meier curves and log-rank tests over the sites of a federation",
     .arguments = "federation.yaml",
     .about =
         "Asks every site of the roster once how many of its rows have the event and how many "
         "leave in each cell of a grid of times, and prints what `fedplt survival curves --grid "
         "WIDTH --minimum 5` prints of the same files: curves with Greenwood's errors, numbers at "
         "risk and medians by stratum and site and for all, and log-rank tests. Time, event and "
         "strata are columns of the schema of federation.yaml, which a site approves once (`fedplt "
         "agent approve`). Each site merges cells until five or none have the event and five or "
         "none leave, and ends a curve where no such cell is left, so that no time is that of one "
         "person; a sum has the boundaries that all of its sites have. Results are in the folder "
         "`out`, as survival.txt, .csv, .json, .html, .tex and .svg, which is the picture. An "
         "interrupted analysis goes on with the same command.",
     .examples = "fedplt federation survival heart/federation.yaml --by arm",
     .least = 1,
     .most = 1,
     .config = 1,
     .declare = cli_federation_survival_declare,
     .run = cli_federation_survival},
    {.name = "federation survival-test",
     .summary = "test of proportional hazards of a Cox model over the sites of a federation",
     .arguments = "federation.yaml MODEL",
     .about =
         "Asks every site of the roster once for sums over its events, and tests whether each "
         "coefficient of the Cox model stays the same over time: the score test of `fedplt "
         "survival "
         "test --transform identity`, with sites as strata. MODEL is one that the sites have "
         "received; of a run with `refit: yes` the refit counts. Times leave in sums over all "
         "events only. A site with fewer than three rows for each column refuses, and one with "
         "fewer than three events for each column, or with one event that dominates a sum, is left "
         "out. Results are in the folder `out`, as survival-test.txt, .csv, .json, .html and .tex.",
     .examples = "fedplt federation survival-test heart/federation.yaml heart/out/model.json",
     .least = 2,
     .most = 2,
     .config = 1,
     .declare = cli_federation_survival_test_declare,
     .run = cli_federation_survival_test},
    {.name = "federation evaluate",
     .summary = "how good a model is at the sites of a federation",
     .arguments = "federation.yaml MODEL",
     .about =
         "Asks every site of the roster once for counts of its rows by class and by the "
         "probability that MODEL gives them, and prints loss, Brier score, accuracy, AUC and "
         "calibration by site and for all: the numbers of `fedplt evaluate --grid` on the same "
         "files. Each site applies its disclosure rules before it answers: it must have received "
         "the model in an earlier run or name it in its policy, merges cells with fewer than five "
         "rows of a class, and counts the question. Takes roster and addresses from the file; "
         "`train` has no effect. Results are in the folder `out`, as evaluate.txt, evaluate.csv "
         "and "
         "evaluate.json. An interrupted analysis goes on with the same command.",
     .examples = "fedplt federation evaluate heart/federation.yaml heart/out/model.json",
     .least = 2,
     .most = 2,
     .config = 1,
     .declare = cli_federation_evaluate_declare,
     .run = cli_federation_evaluate},
    {.name = "federation exclude",
     .summary = "go on without a member",
     .arguments = "NAME",
     .about =
         "Ends the run at hand and begins the next at its last model, with a roster without the "
         "member: the agents get a new proposal, agree to it and begin with fresh state. A run "
         "with a privacy promise goes on with the rounds and the epsilon that are left. Before the "
         "first round the run itself is proposed again. Works on a running coordinator and on the "
         "folder of one that does not run; federation.yaml stays as it is.",
     .examples = "fedplt federation exclude basel --folder heart",
     .least = 1,
     .most = 1,
     .declare = declare,
     .run = exclude},
    {.name = "federation backup",
     .summary = "copy the state of a coordinator to a file",
     .arguments = "FILE",
     .about = "Works while the coordinator runs. FILE must not exist; it can take the place of "
              "federation.db, without the files -wal and -shm beside it. Agents that are ahead of "
              "a copy halt the run: start with --repair then.",
     .examples = "fedplt federation backup federation-backup.db --folder heart",
     .least = 1,
     .most = 1,
     .declare = declare,
     .run = cli_backup},
    {.name = "federation log",
     .summary = "show or verify the audit log of a coordinator",
     .arguments = "",
     .about =
         "Lists everything that the coordinator logged, with the heads of the sites' logs that it "
         "signed. Each entry commits to the one before it, and sites keep its head with every "
         "signature. Exit status 1 where an entry is wrong.",
     .examples = "fedplt federation log --folder heart --event signed-for\n"
                 "fedplt federation log --folder heart --verify",
     .declare = cli_log_declare,
     .run = cli_log_show},
    {.name = "federation pause",
     .summary = "open no further rounds",
     .arguments = "",
     .about = "The round at hand is finished.",
     .examples = "fedplt federation pause",
     .declare = declare,
     .run = pause_run},
    {.name = "federation resume",
     .summary = "go on after a pause",
     .arguments = "",
     .about = "Rounds are opened again.",
     .examples = "fedplt federation resume",
     .declare = declare,
     .run = resume_run},
    {.name = "federation end",
     .summary = "end the run and keep the model",
     .arguments = "",
     .about = "The model of the last closed round is kept and served.",
     .examples = "fedplt federation end",
     .declare = declare,
     .run = end_run},
    {.name = NULL},
};
