/* What SIGHUP changes while a run goes on: certificate, deadline, window and address. */
#include "federation/coordinator/coordinator.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

static fplt_status check_dates(const fplt__coordinator *c, const fplt__identity *self,
                               const char *path, fplt_error *error)
{
    char date[16];
    time_t now = time(NULL);
    if (now >= self->begins && now <= self->ends)
        return FPLT_OK;
    fplt__date(now > self->ends ? self->ends : self->begins, date);
    return now > self->ends
               ? fplt_error_set(error, FPLT_FAILED,
                                "%s expired on %s; `fedplt pki init %s --address %s --folder %s "
                                "--renew` makes a new one",
                                path, date, c->authority.federation, c->authority.address,
                                c->folder)
               : fplt_error_set(error, FPLT_FAILED,
                                "%s is valid from %s; is this machine's clock wrong?", path, date);
}

fplt_status fplt__coordinator_check_certificate(const fplt__coordinator *c,
                                                const fplt__authority *authority,
                                                fplt__identity *self, fplt_error *error)
{
    char path[4200], key[4200], issuer[4200];
    fplt__coordinator_path(c, "coordinator.pem", NULL, path, sizeof path);
    fplt__coordinator_path(c, "coordinator.key", NULL, key, sizeof key);
    fplt__coordinator_path(c, "authority.pem", NULL, issuer, sizeof issuer);
    fplt_status status = fplt__certificate_read(authority->server, path, self, error);
    if (status ||
        (status = fplt__key_check(authority->server, authority->server_key, path, key, error)) ||
        (status =
             fplt__issuer_check(authority->server, authority->certificate, path, issuer, error)))
        return status;
    if (self->role != FPLT_ROLE_COORDINATOR)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s is not the certificate of a coordinator (purpose or name)", path);
    return check_dates(c, self, path, error);
}

/* Whether settings that were read again describe the run at hand. */
static fplt_status check_again(const fplt__coordinator *c, const fplt_settings *settings,
                               fplt_error *error)
{
    fplt__coordinator *other;
    fplt_status status = fplt__alloc_into(&other, 1, sizeof *other, "settings", error);
    if (status)
        return status;
    other->settings = settings;
    other->authority = c->authority;
    snprintf(other->folder, sizeof other->folder, "%s", c->folder);
    if (!(status = fplt_settings_complete(settings, error)) &&
        !(status = fplt_settings_effective(settings, error)) &&
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
    if (memcmp(again->fingerprint, c->authority.fingerprint, sizeof again->fingerprint) != 0)
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
    if (is_moved || (c->door && fplt__server_certify(c->door, c->authority.server,
                                                     c->authority.server_key, &error))) {
        fplt__server_destroy(c->door);
        c->door = NULL;
    }
}

/* All that can fail comes first. */
static fplt_status apply(fplt__coordinator *c, const fplt_settings *settings,
                         fplt__authority *again, fplt_error *error)
{
    const char *listen = fplt_settings_text(settings, "listen");
    fplt__server *moved = NULL;
    fplt_status status =
        strcmp(listen, c->listen) != 0
            ? fplt__coordinator_open_server(c, again, settings, &moved, error)
            : fplt__server_certify(c->server, again->server, again->server_key, error);
    if (status)
        return status;
    exchange_texts(&c->authority.server, &again->server);
    exchange_texts(&c->authority.server_key, &again->server_key);
    memcpy(c->authority.address, again->address, sizeof again->address);
    if (moved) {
        fplt__server_destroy(c->server);
        c->server = moved;
        snprintf(c->listen, sizeof c->listen, "%s", listen);
    }
    certify_door(c, moved != NULL);
    fplt__leader_settings now = fplt__coordinator_lead_settings(c, settings);
    fplt__leader_reload(c->leader, &now);
    fplt__server_set_window(c->server, (unsigned)fplt_settings_integer(settings, "window"));
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
        c->self = self;
        c->certificate_asked = 0;
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
            "certificate, deadline, window and address were read again; listening "
            "on port %u",
            fplt__server_port(c->server));
}
