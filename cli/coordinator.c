/* fedplt coordinator: leads one federation. */
#include "federating.h"

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status =
        fplt_settings_add(settings, "federation", fplt_federation_lead_table, error);
    return status ? status : fplt_settings_add(settings, "output", cli_log_table, error);
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

static fplt_status run(cli_call *cli, fplt_error *error)
{
    fplt_federation_watch watch = cli_federation_watch(cli->settings);
    original = cli;
    watch.again = read_again;
    fplt_federation_outcome outcome;
    fplt_status status = fplt_federation_lead(cli->settings, &watch, &outcome, error);
    if (!status && !fplt_settings_switch(cli->settings, "dry-run"))
        cli_federation_outcome(&outcome);
    cli_clear(&latest);
    return status;
}

const cli_command cli_coordinator[] = {
    {.name = "coordinator",
     .summary = "lead a federation",
     .arguments = "federation.yaml",
     .about =
         "Waits for the agents of the roster, proposes the run, and leads it round by round. The "
         "state is on disk after every round: stopped or killed, it goes on where it was. A run "
         "that is over is only served; raise `run` for the next.",
     .examples = "fedplt coordinator federation.yaml",
     .least = 1,
     .most = 1,
     .config = 1,
     .declare = declare,
     .run = run},
    {.name = NULL},
};
