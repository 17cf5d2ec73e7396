/* fedplt coordinator: leads one federation. */
#include "federating.h"
#include "sandbox.h"
#include "service.h"
#include "federation/plan/program.h"

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status =
        fplt_settings_add(settings, "federation", fplt_federation_lead_table, error);
    if (!status)
        status = fplt_settings_add(settings, "output", cli_log_table, error);
    return status ? status : fplt_settings_add(settings, "process", cli_sandbox_table, error);
}

static const cli_call *original; /* the call as it was made */
static cli_call latest;          /* and as it was read last */

/* Flags and file once more. */
static const fplt_settings *read_again(void *context, fplt_error *error)
{
    (void)context;
    cli_call now = {
        .command = original->command, .count = original->count, .words = original->words};
    if (cli_parse(&now, error)) {
        cli_clear(&now);
        return NULL;
    }
    cli_clear(&latest);
    latest = now;
    return latest.settings;
}

static fplt_status run_coordinator(cli_call *cli, fplt_error *error)
{
    fplt_federation_watch watch = cli_federation_watch(cli->settings);
    original = cli;
    watch.again = read_again;
    fplt_federation_outcome outcome;
    cli_protect_process();
    cli_allow_descriptors();
    fplt_status status = cli_sandbox_enter(fplt_settings_text(cli->settings, "sandbox"), error);
    if (!status)
        status = fplt_federation_lead(cli->settings, &watch, &outcome, error);
    if (!status && !fplt_settings_switch(cli->settings, "dry-run"))
        cli_federation_outcome(&outcome);
    cli_clear(&latest);
    return status;
}

static fplt_status withdraw(cli_call *cli, fplt_error *error)
{
    fplt_federation_watch watch = cli_federation_watch(cli->settings);
    fplt_federation_outcome outcome;
    char path[4200] = "";
    cli_protect_process();
    cli_allow_descriptors();
    fplt_status status = cli_sandbox_enter(fplt_settings_text(cli->settings, "sandbox"), error);
    if (!status)
        status = fplt__federation_withdraw(cli->settings, cli->arguments[1], &watch, &outcome, path,
                                           error);
    if (!status)
        cli_federation_outcome(&outcome);
    if (!status && *path)
        printf("statement in %s\n", path);
    return status;
}

static const fplt_setting verify_table[] = {
    {"replaced", FPLT_TEXT, 0, NULL, 0, 0, NULL, "file of the replaced model, to be compared", 0,
     0},
    {"replacement", FPLT_TEXT, 0, NULL, 0, 0, NULL, "file of the model that replaces it", 0, 0},
    {"key", FPLT_TEXT, 0, NULL, 0, 0, NULL, "public key of the coordinator, 64 hexadecimal digits",
     0, 0},
    {"folder", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "folder of an agent: the key must be one that signed its audit log", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_verify(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "federation", verify_table, error);
}

static fplt_status verify(cli_call *cli, fplt_error *error)
{
    const fplt_settings *settings = cli->settings;
    const fplt__statement_beside beside = {fplt_settings_text(settings, "key"),
                                           fplt_settings_text(settings, "folder"),
                                           fplt_settings_text(settings, "replaced"),
                                           fplt_settings_text(settings, "replacement")};
    char *text;
    fplt_status status =
        fplt__federation_verify_statement(cli->arguments[0], &beside, &text, error);
    if (status)
        return status;
    printf("%s\n", text);
    fplt_free(text);
    printf("the signature is valid and the statement does not contradict itself\n");
    if (!beside.key && !beside.folder)
        printf("whose key it is was not compared: give --key, or --folder of an agent\n");
    return FPLT_OK;
}

const cli_command cli_coordinator[] = {
    {.name = "coordinator",
     .summary = "lead a federation",
     .arguments = "federation.yaml",
     .about =
         "Waits for the agents of the roster, proposes the run, and leads it round by round. The "
         "state is on disk after every round: after a stop or a crash the coordinator continues "
         "where it was. When the run has ended, it trains no more and only answers requests for "
         "the model; raise `run` in the file to start the next run.",
     .examples = "fedplt coordinator federation.yaml",
     .least = 1,
     .most = 1,
     .config = 1,
     .declare = declare,
     .run = run_coordinator},
    {.name = "federation withdraw",
     .summary = "replace the model after rows of a site were taken out",
     .arguments = "federation.yaml NAME",
     .about =
         "Leads the next run, which starts at the last model and ends at the minimiser of the rows "
         "that are left, after site NAME approved it (`fedplt agent approve-withdrawal`) and took "
         "the rows out of its file. Then writes a signed statement: which model replaces which, "
         "the "
         "rows and the criterion of both, and their digests. What a private run spent stays spent.",
     .examples = "fedplt federation withdraw federation.yaml basel",
     .least = 2,
     .most = 2,
     .config = 1,
     .declare = declare,
     .run = withdraw},
    {.name = "federation verify",
     .summary = "verify a statement about a withdrawal",
     .arguments = "STATEMENT",
     .about = "Checks the signature of a statement that `fedplt federation withdraw` wrote, that "
              "it does not contradict itself, and where they are given that both models are those "
              "of the statement and that the key is the coordinator's. Exit status 1 where "
              "something does not hold.",
     .examples = "fedplt federation verify withdrawal-2.json --folder basel --replacement "
                 "model.json",
     .least = 1,
     .most = 1,
     .declare = declare_verify,
     .run = verify},
    {.name = NULL},
};
