/* fedplt federation: a demonstration, and what can be asked of a running coordinator. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "federation_demo.h"
#include "fedplt/federation.h"

static const fplt_setting table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "the coordinator's folder", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "federation", table, error);
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
        fplt_federation_tell(fplt_settings_text(cli->settings, "folder"), word, &answer, error);
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
