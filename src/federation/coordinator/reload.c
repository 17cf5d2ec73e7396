/* What SIGHUP changes while a run goes on: certificate, deadline, absence, window and address. */
#include "base/settings.h"
#include "federation/coordinator/coordinator.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

/* Settings that no plan has, and that are read when the coordinator starts. */
static fplt_status check_unread(const fplt__coordinator *c, const fplt_settings *again,
                                fplt_error *error)
{
    static const char *const names[] = {"status", "inform", "check",      "folder",
                                        "out",    "repair", "audit-days", "once"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(fplt_settings_text(c->settings, names[i]),
                   fplt_settings_text(again, names[i])) != 0)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: is read when the coordinator starts; start it again, or put "
                                  "`%s: %s` back",
                                  names[i], names[i], fplt_settings_text(c->settings, names[i]));
    return FPLT_OK;
}

/* Whether settings that were read again describe the run at hand. */
static fplt_status check_again(const fplt__coordinator *c, const fplt_settings *settings,
                               fplt_error *error)
{
    fplt__coordinator *other;
    fplt_status status = fplt__coordinator_rehearse(c, settings, &other, error);
    if (status)
        return status;
    if (!(status = fplt__settings_complete(settings, error)) &&
        !(status = fplt__settings_effective(settings, error)) &&
        !(status = check_unread(c, settings, error)) &&
        !(status = fplt__coordinator_propose(other, error)))
        status = other->proposal.run == c->run
                     ? fplt__coordinator_compare(other, &c->proposal, error)
                     : fplt_error_set(error, FPLT_BAD_VALUE,
                                      "run: is %u now, but run %u is led; start the coordinator "
                                      "again for another",
                                      other->proposal.run, c->run);
    fplt__proposal_clear(&other->proposal);
    fplt__free(other);
    return status;
}

/* The files of the folder, fit to be shown to agents of this federation. */
static fplt_status read_authority(const fplt__coordinator *c, fplt__authority *again,
                                  fplt__identity *self, fplt_error *error)
{
    fplt_status status = fplt__authority_open(c->folder, again, error);
    if (status)
        return status;
    if (memcmp(again->fingerprint, c->pki.authority.fingerprint, sizeof again->fingerprint) != 0)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s/authority.pem is another authority, of which no agent has a "
                                "certificate; put the old one back",
                                c->folder);
    else
        status = fplt__coordinator_check_certificate(c, again, self, error);
    if (status)
        fplt__authority_close(again);
    return status;
}

static void exchange_texts(char **a, char **b)
{
    char *kept = *a;
    *a = *b;
    *b = kept;
}

/* The door shows the same certificate as the server. Where it stands elsewhere now, it is opened there. */
static void certify_door(fplt__coordinator *c, int is_moved)
{
    fplt_error error;
    if (is_moved ||
        (c->doors.invitations && fplt__server_certify(c->doors.invitations, c->pki.authority.server,
                                                      c->pki.authority.server_key, &error))) {
        fplt__server_destroy(c->doors.invitations);
        c->doors.invitations = NULL;
    }
}

/* All that can fail comes first. */
static fplt_status apply(fplt__coordinator *c, const fplt_settings *settings,
                         fplt__authority *again, fplt_error *error)
{
    const char *listen = fplt_settings_text(settings, "listen");
    fplt__server *moved = NULL;
    fplt_status status =
        strcmp(listen, c->doors.listen) != 0
            ? fplt__coordinator_open_server(c, again, settings, &moved, error)
            : fplt__server_certify(c->doors.agents, again->server, again->server_key, error);
    if (status)
        return status;
    exchange_texts(&c->pki.authority.server, &again->server);
    exchange_texts(&c->pki.authority.server_key, &again->server_key);
    memcpy(c->pki.authority.address, again->address, sizeof again->address);
    if (moved) {
        fplt__server_destroy(c->doors.agents);
        c->doors.agents = moved;
        snprintf(c->doors.listen, sizeof c->doors.listen, "%s", listen);
    }
    certify_door(c, moved != NULL);
    fplt__leader_settings now = fplt__coordinator_lead_settings(c, settings);
    fplt__leader_reload(c->leader, &now);
    fplt__server_set_window(c->doors.agents, (unsigned)fplt_settings_integer(settings, "window"));
    return FPLT_OK;
}

static fplt_status reload(fplt__coordinator *c, fplt_error *error)
{
    const fplt_settings *settings = c->settings;
    fplt__authority again;
    fplt__identity self;
    fplt_status status = FPLT_OK;
    if (c->watch->again && !(settings = c->watch->again(c->watch->context, error)))
        return FPLT_FAILED;
    if ((settings != c->settings && (status = check_again(c, settings, error))) ||
        (status = read_authority(c, &again, &self, error)))
        return status;
    if (!(status = apply(c, settings, &again, error))) {
        c->pki.self = self;
        c->pki.end_checked = 0;
    }
    fplt__authority_close(&again);
    return status;
}

void fplt__coordinator_reload(fplt__coordinator *c)
{
    fplt_error error = {FPLT_OK, ""};
    if (reload(c, &error))
        fplt__coordinator_log(c, -1, "reload",
                              "nothing was changed: %s; the certificate and settings of before "
                              "stay in force",
                              error.text);
    else
        fplt__coordinator_log(
            c, -1, "reload",
            "certificate, absence, deadline, window and address were read again; listening "
            "on port %u",
            fplt__server_port(c->doors.agents));
}
