/* fedplt agent: a site of a federation. */
#include <string.h>

#include "federating.h"
#include "privacy.h"

static const fplt_setting join_table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "where key and certificate go", 0, 0},
    {"proxy", FPLT_TEXT, 0, "auto", 0, 0, NULL,
     "proxy to dial through; auto: as the environment says; off: none", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_join(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "agent", join_table, error);
}

static fplt_status request(cli_call *cli, fplt_error *error)
{
    const char *folder = fplt_settings_text(cli->settings, "folder");
    char *text;
    fplt_status status = fplt_federation_request(folder, cli->arguments[0], &text, error);
    if (status)
        return status;
    printf("%s/agent.request: send it to the coordinator, and put what comes back here as "
           "agent.pem\n",
           folder);
    fplt_free(text);
    return FPLT_OK;
}

static void print_joined(const char *name, const char *folder)
{
    cli_text out = {NULL, 0, NULL};
    cli_text_format(&out, "%s has joined; say in %s/site.yaml where its data are, then\n  ", name,
                    folder);
    if (strcmp(folder, ".") != 0) {
        cli_text_add(&out, "cd ");
        cli_quote(&out, folder);
        cli_text_add(&out, " && ");
    }
    cli_text_add(&out, "fedplt agent site.yaml\n");
    cli_print_text(&out);
}

static fplt_status join(cli_call *cli, fplt_error *error)
{
    const char *folder = fplt_settings_text(cli->settings, "folder");
    char name[64], url[300];
    fplt_status status = fplt_federation_join_address(cli->arguments[0], url, sizeof url, error);
    if (status)
        return status;
    fprintf(stderr, "connecting to %s, the coordinator's port for invitations\n", url);
    status = fplt_federation_join(cli->arguments[0], folder,
                                  fplt_settings_text(cli->settings, "proxy"), name, error);
    if (!status)
        print_joined(name, folder);
    return status;
}

static const fplt_setting ledger_table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "folder of the agent", 0, 0},
    {"adopt", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "the ledger was lost or is an old copy: take the larger sum that the agent's state knows", 0,
     0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_ledger(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = fplt_settings_add(settings, "agent", ledger_table, error);
    return status ? status : privacy_declare_ledger(cli, settings, error);
}

static fplt_status ledger(cli_call *cli, fplt_error *error)
{
    const char *folder = fplt_settings_text(cli->settings, "folder");
    char path[4200];
    fplt_status status = FPLT_OK;
    if (fplt_settings_switch(cli->settings, "adopt"))
        status = fplt_federation_adopt(folder, error);
    snprintf(path, sizeof path, "%s/ledger.db", folder);
    return status ? status : privacy_show_ledger(cli->settings, path, error);
}

static fplt_status declare_agent(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_federation_site_declare(settings, error);
    return status ? status : fplt_settings_add(settings, "output", cli_log_table, error);
}

static fplt_status take_part(cli_call *cli, fplt_error *error)
{
    fplt_federation_watch watch = cli_federation_watch(cli->settings);
    fplt_federation_outcome outcome;
    fplt_status status = fplt_federation_take_part(cli->settings, &watch, &outcome, error);
    if (!status)
        cli_federation_outcome(&outcome);
    return status;
}

const cli_command cli_agent[] = {
    {.name = "agent",
     .summary = "take part in a federation with the data of this site",
     .arguments = "site.yaml",
     .about =
         "Dials out to the coordinator and takes part in its runs. What is agreed to is decided "
         "by `policy`, by --plan, or by a person at the terminal. The state is on disk before "
         "anything is sent: stopped or killed, it goes on where it was.",
     .examples = "fedplt agent site.yaml\nfedplt agent site.yaml --once",
     .least = 1,
     .most = 1,
     .config = 1,
     .declare = declare_agent,
     .run = take_part},
    {.name = "agent join",
     .summary = "join a federation with an invitation",
     .arguments = "CODE",
     .about =
         "Makes a key, which never leaves this folder, and has it certified by the coordinator "
         "whose fingerprint the code carries. Dials out to the coordinator's port + 1.",
     .examples = "fedplt agent join \"$CODE\" --folder basel   # the code that pki invite printed",
     .least = 1,
     .most = 1,
     .declare = declare_join,
     .run = join},
    {.name = "agent ledger",
     .summary = "show what the runs have spent on this site's records",
     .arguments = "",
     .about =
         "Lists the runs that were charged, with the epsilon of each and of all so far. The agent "
         "must not run meanwhile.",
     .examples = "fedplt agent ledger --folder basel\nfedplt agent ledger --adopt",
     .declare = declare_ledger,
     .run = ledger},
    {.name = "agent request",
     .summary = "make a key and a request for a certificate",
     .arguments = "NAME",
     .about = "The same as a join in two steps, where only files travel: the request to the "
              "coordinator (`fedplt pki sign`), the certificate back.",
     .examples = "fedplt agent request basel --folder basel",
     .least = 1,
     .most = 1,
     .declare = declare_join,
     .run = request},
    {.name = NULL},
};
