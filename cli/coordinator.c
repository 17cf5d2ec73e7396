/* fedplt coordinator: leads one federation. */
#include "federating.h"

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status =
        fplt_settings_add(settings, "federation", fplt_federation_lead_table, error);
    return status ? status : fplt_settings_add(settings, "output", cli_log_table, error);
}

static fplt_status run(cli_call *cli, fplt_error *error)
{
    fplt_federation_watch watch = cli_federation_watch(cli->settings);
    fplt_federation_outcome outcome;
    fplt_status status = fplt_federation_lead(cli->settings, &watch, &outcome, error);
    if (!status)
        cli_federation_outcome(&outcome);
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
