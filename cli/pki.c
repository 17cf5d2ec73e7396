/* fedplt pki: who belongs to a federation. */
#include <string.h>

#include "base/file.h"
#include "cli.h"
#include "fedplt/federation.h"
#include "report/report.h"

static const fplt_setting folder_table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "the coordinator's folder", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting init_table[] = {
    {"address", FPLT_TEXT, FPLT_REQUIRED, NULL, 0, 0, NULL,
     "HOST:PORT at which agents reach the coordinator", 0, 0},
    {"folder", FPLT_TEXT, 0, NULL, 0, 0, NULL, "folder to make; by default the federation's name",
     0, 0},
    {"renew", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "only make a new certificate of the coordinator, in a folder that is there", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting out_table[] = {
    {"out", FPLT_TEXT, 0, NULL, 0, 0, NULL, "file to write; by default NAME.pem", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting json_table[] = {
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_init(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "federation", init_table, error);
}

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "federation", folder_table, error);
}

static fplt_status declare_sign(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = declare(cli, settings, error);
    return status ? status : fplt_settings_add(settings, "output", out_table, error);
}

static fplt_status declare_list(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = declare(cli, settings, error);
    return status ? status : fplt_settings_add(settings, "output", json_table, error);
}

static const char *folder_of(const cli_call *cli)
{
    return fplt_settings_text(cli->settings, "folder");
}

static fplt_status init(cli_call *cli, fplt_error *error)
{
    const char *name = cli->arguments[0], *folder = folder_of(cli) ? folder_of(cli) : name;
    const char *address = fplt_settings_text(cli->settings, "address");
    fplt_status status;
    if (fplt_settings_switch(cli->settings, "renew")) {
        if (!(status = fplt_federation_renew(folder, address, error)))
            printf("%s/coordinator.pem is new; tell a running coordinator with SIGHUP\n", folder);
        return status;
    }
    if ((status = fplt_federation_found(folder, name, address, error)))
        return status;
    cli_text out = {NULL, 0, NULL};
    cli_text_format(&out, "%s: the federation %s, reached at %s\n\n  cd ", folder, name, address);
    cli_quote(&out, folder);
    cli_text_add(
        &out,
        "\n  fedplt pki invite NAME            for each agent; it joins while the coordinator "
        "runs\n"
        "  edit federation.yaml              the roster, and what is trained\n"
        "  fedplt coordinator federation.yaml\n\n"
        "Keep authority.key safe: who has it can let anybody in.\n");
    cli_print_text(&out);
    return FPLT_OK;
}

static fplt_status invite(cli_call *cli, fplt_error *error)
{
    char *code;
    fplt_status status = fplt_federation_invite(folder_of(cli), cli->arguments[0], &code, error);
    if (status)
        return status;
    puts(code);
    fplt_free(code);
    return FPLT_OK;
}

static fplt_status sign(cli_call *cli, fplt_error *error)
{
    const char *out = fplt_settings_text(cli->settings, "out");
    char *request, *certificate = NULL, path[4200];
    size_t length;
    fplt_status status = fplt__file_read(cli->arguments[0], 1 << 20, &request, &length, error);
    if (status)
        return status;
    snprintf(path, sizeof path, "%.4000s.pem", cli->arguments[0]);
    if ((status = fplt_federation_sign(folder_of(cli), request, &certificate, error)) ==
        FPLT_BAD_DATA)
        fplt_error_prefix(error, "%s", cli->arguments[0]);
    if (!status && !(status = fplt__file_save(out ? out : path, 0666, certificate,
                                              strlen(certificate), error)))
        printf("%s: to be put beside the agent's key as agent.pem\n", out ? out : path);
    fplt_free(request);
    fplt_free(certificate);
    return status;
}

static fplt_status revoke(cli_call *cli, fplt_error *error)
{
    fplt_status status = fplt_federation_revoke(folder_of(cli), cli->arguments[0], error);
    if (!status)
        printf("%s is shut out, also from open connections; a new invitation lets it in again\n",
               cli->arguments[0]);
    return status;
}

static void add_member(void *context, const fplt_federation_member *member)
{
    fplt_table *table = context;
    fplt__table_text(table, member->name);
    fplt__table_text(table, member->state);
    fplt__table_text(table, member->until);
}

static fplt_status list(cli_call *cli, fplt_error *error)
{
    static const char *const columns[] = {"name", "state", "until"};
    fplt_table *table;
    fplt_status status = fplt__table_create(columns, 3, &table, error);
    if (status)
        return status;
    if (!(status = fplt_federation_members(folder_of(cli), add_member, table, error)))
        status = fplt_settings_switch(cli->settings, "json")
                     ? cli_print_json(json_pack("{s:o}", "members", cli_json_table(table)), error)
                     : cli_print_table(table, error);
    fplt_table_destroy(table);
    return status;
}

const cli_command cli_pki[] = {
    {.name = "pki init",
     .summary = "make a federation: its authority and the coordinator's certificate",
     .arguments = "NAME",
     .about = "Makes a folder with the authority that lets agents in, the coordinator's own "
              "certificate for the address, and a federation.yaml to be filled in.",
     .examples = "fedplt pki init heart --address fed.example.org:7443",
     .least = 1,
     .most = 1,
     .declare = declare_init,
     .run = init},
    {.name = "pki invite",
     .summary = "print a code that lets an agent in",
     .arguments = "NAME",
     .about =
         "The code is valid once, for seven days. Anyone who has it can join as NAME, so send it "
         "on a way that you trust. It is answered on the coordinator's port + 1.",
     .examples = "fedplt pki invite basel",
     .least = 1,
     .most = 1,
     .declare = declare,
     .run = invite},
    {.name = "pki sign",
     .summary = "sign the request of `fedplt agent request`",
     .arguments = "FILE",
     .about = "For sites that send a file instead of using an invitation. Signs for the name that "
              "the request says: look whom it comes from.",
     .examples = "fedplt pki sign agent.request --out agent.pem",
     .least = 1,
     .most = 1,
     .declare = declare_sign,
     .run = sign},
    {.name = "pki revoke",
     .summary = "shut an agent out",
     .arguments = "NAME",
     .about = "Ends all certificates and invitations of the name. A running coordinator notices "
              "with the agent's next request.",
     .examples = "fedplt pki revoke basel",
     .least = 1,
     .most = 1,
     .declare = declare,
     .run = revoke},
    {.name = "pki list",
     .summary = "who belongs to the federation",
     .arguments = "",
     .about = "Names, whether they are members, invited, expired or revoked, and until when.",
     .examples = "fedplt pki list --json",
     .declare = declare_list,
     .run = list},
    {.name = NULL},
};
