/* fedplt agent: a site of a federation. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "federating.h"
#include "privacy.h"
#include "sandbox.h"
#include "service.h"
#include "federation/plan/program.h"

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
    fplt_status status = fplt__federation_join_address(cli->arguments[0], url, sizeof url, error);
    if (status)
        return status;
    fprintf(stderr, "connecting to %s, the coordinator's port for invitations\n", url);
    status = fplt_federation_join(cli->arguments[0], folder,
                                  fplt_settings_text(cli->settings, "proxy"), name, error);
    if (!status)
        print_joined(name, folder);
    return status;
}

static const fplt_setting folder_table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "folder of the agent", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_folder(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "agent", folder_table, error);
}

static fplt_status identity(cli_call *cli, fplt_error *error)
{
    char line[FPLT_IDENTITY_SIZE];
    fplt_status status =
        fplt_federation_identity(fplt_settings_text(cli->settings, "folder"), line, error);
    if (!status)
        puts(line);
    return status;
}

static void print_peer(void *context, const char *name, const char *key)
{
    (void)context;
    printf("%s: %s\n", name, key);
}

static fplt_status peers(cli_call *cli, fplt_error *error)
{
    char groups[FPLT_ROSTER_SIZE];
    fplt_status status = fplt_federation_peers(fplt_settings_text(cli->settings, "folder"),
                                               print_peer, NULL, groups, error);
    if (!status)
        printf("\n%s\ncompare these groups with every other site by telephone: where they differ, "
               "somebody stands in between\n",
               groups);
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
        status = fplt__federation_adopt(folder, error);
    snprintf(path, sizeof path, "%s/ledger.db", folder);
    return status ? status : privacy_show_ledger(cli->settings, path, error);
}

static const fplt_setting approve_table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "folder of the agent", 0, 0},
    {"yes", FPLT_SWITCH, 0, "no", 0, 0, NULL, "approve without asking", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_approve(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "agent", approve_table, error);
}

static int approve_at_terminal(void *context, const char *proposal, const char *digest)
{
    const fplt_settings *settings = context;
    char answer[16];
    printf("%s\ndata %s\n", proposal, digest);
    if (fplt_settings_switch(settings, "yes"))
        return 1;
    if (!isatty(STDIN_FILENO))
        return 0;
    printf("Approve what it states about the data? [yes/no] ");
    fflush(stdout);
    return fgets(answer, sizeof answer, stdin) && strcmp(answer, "yes\n") == 0;
}

static fplt_status approve(cli_call *cli, fplt_error *error)
{
    fplt_federation_watch watch = {
        .size = sizeof watch, .context = cli->settings, .agree = approve_at_terminal};
    const char *folder = fplt_settings_text(cli->settings, "folder");
    fplt_status status = fplt_federation_approve(folder, cli->arguments[0], &watch, error);
    if (!status)
        printf("approved in %s/approved.txt; start the agent again\n", folder);
    return status;
}

static const fplt_setting backup_table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "folder of the agent", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_backup(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "agent", backup_table, error);
}

static fplt_status approve_withdrawal(cli_call *cli, fplt_error *error)
{
    fplt_status status =
        fplt__federation_approve_withdrawal(fplt_settings_text(cli->settings, "folder"), error);
    if (!status)
        printf(
            "approved: the next run may leave out rows of the data file. Anyone who has the models "
            "before and after can tell something about them; nothing else is approved for 30 "
            "days.\nTake the rows out of the file and start the agent.\n");
    return status;
}

static fplt_status declare_agent(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_federation_site_declare(settings, error);
    if (!status)
        status = fplt_settings_add(settings, "output", cli_log_table, error);
    return status ? status : fplt_settings_add(settings, "process", cli_sandbox_table, error);
}

static fplt_status take_part(cli_call *cli, fplt_error *error)
{
    fplt_federation_watch watch = cli_federation_watch(cli->settings);
    fplt_federation_outcome outcome;
    cli_protect_process();
    fplt_status status = cli_sandbox_enter(fplt_settings_text(cli->settings, "sandbox"), error);
    if (!status)
        status = fplt_federation_take_part(cli->settings, &watch, &outcome, error);
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
    {.name = "agent approve",
     .summary = "approve what a proposal states about the data of this site",
     .arguments = "PROPOSAL",
     .about =
         "Shows the schema, columns, label and settings of a proposal that the agent refused, and "
         "approves what it states about the data. PROPOSAL is the name in the refusal, or a file. "
         "Look at every bound, class and weight: they decide what an answer is about.",
     .examples = "fedplt agent approve 3f2a9c0d1e5b7788 --folder basel",
     .least = 1,
     .most = 1,
     .declare = declare_approve,
     .run = approve},
    {.name = "agent approve-withdrawal",
     .summary = "let rows leave the data set of this site before the next run",
     .arguments = "",
     .about =
         "Approves once that the rows of persons who withdrew are missing from the next run, which "
         "the rule on differences would refuse. Two models that differ by a few rows tell "
         "something "
         "about these rows, so at most one withdrawal is approved in 30 days: collect them. The "
         "approval is in the audit log. The agent must not run meanwhile.",
     .examples = "fedplt agent approve-withdrawal --folder basel",
     .declare = declare_folder,
     .run = approve_withdrawal},
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
    {.name = "agent backup",
     .summary = "copy the state of an agent to a file",
     .arguments = "FILE",
     .about = "Works while the agent runs. FILE must not exist; it can take the place of state.db, "
              "without the files -wal and -shm beside it. An agent with an older state than the "
              "coordinator knows sends its vectors once more (repair). The ledger, keys and logs "
              "are not copied: an old ledger must never be put back.",
     .examples = "fedplt agent backup state-backup.db --folder basel",
     .least = 1,
     .most = 1,
     .declare = declare_backup,
     .run = cli_backup},
    {.name = "agent identity",
     .summary = "print this site's identity for secure aggregation",
     .arguments = "",
     .about = "Makes identity.key in the folder where there is none, and prints the line that the "
              "other sites put under `peers` in their site.yaml. Send it by another way than the "
              "coordinator.",
     .examples = "fedplt agent identity --folder basel",
     .declare = declare_folder,
     .run = identity},
    {.name = "agent peers",
     .summary = "list the sites of the last secure run, and ten groups to compare",
     .arguments = "",
     .about =
         "Prints the identities that this agent has met or pinned, in the order of the roster, "
         "and ten groups of digits. Sites that have the same groups have the same identities: "
         "nobody stands in between.",
     .examples = "fedplt agent peers --folder basel",
     .declare = declare_folder,
     .run = peers},
    {.name = "agent ledger",
     .summary = "show what the runs have spent on this site's records",
     .arguments = "",
     .about =
         "Lists the runs that were charged, with the epsilon of each and of all so far. The agent "
         "must not run meanwhile.",
     .examples = "fedplt agent ledger --folder basel\nfedplt agent ledger --adopt",
     .declare = declare_ledger,
     .run = ledger},
    {.name = "agent log",
     .summary = "show or verify the audit log of this site",
     .arguments = "",
     .about =
         "Lists what was proposed, agreed to or refused with the rule, every answer that left "
         "(kind, round, numbers, bytes and digest, not the values), charges and ends. Each entry "
         "commits to the one before it, and the coordinator signs the last one at every consent "
         "and at the end of a run: --verify finds any entry that was removed, changed or moved, "
         "and says which are not signed yet. Exit status 1 where one is wrong.",
     .examples = "fedplt agent log --folder basel --event refused\n"
                 "fedplt agent log --folder basel --verify\n"
                 "fedplt agent log --folder basel --csv > audit.csv",
     .declare = cli_log_declare,
     .run = cli_log_show},
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
