/* Opening: settings, store, the run as it was left or a new one, and the servers. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/settings.h"
#include "federation/coordinator/coordinator.h"
#include "report/model.h"
#include "federation/plan/control.h"
#include "federation/plan/custom_model.h"
#include "fedplt/algorithm.h"

enum {
    SPARE_CONNECTIONS = 64, /* of an address beyond the roster */
    STRANGERS = 256,        /* connections without a certificate, beyond the roster */
    MIN_STRANGERS = 32,
    SPARE_DESCRIPTORS = 128
};

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
                                path, date, c->pki.authority.federation, c->pki.authority.address,
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

static int has_model(const fplt__coordinator *c)
{
    char path[4200];
    fplt__coordinator_path(c, fplt_settings_text(c->settings, "out"), "model.json", path,
                           sizeof path);
    return c->proposal.refit == FPLT__REFIT_THIS ? fplt__coordinator_has_refit(c)
                                                 : access(path, F_OK) == 0;
}

static fplt_status allocate(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status;
    const char *what = "the members";
    FPLT__ASSERT(c->members > 0 && c->members == c->proposal.members && !c->revoked);
    if ((status = fplt__alloc_into(&c->revoked, c->members, 1, what, error)) ||
        (status = fplt__alloc_into(&c->last, c->members, 1, what, error)) ||
        (status = fplt__alloc_into(&c->facts.counted, c->members, 1, what, error)) ||
        (status = fplt__alloc_into(&c->notes, c->members, sizeof *c->notes, what, error)) ||
        (status = fplt__alloc_into(&c->address, c->members, sizeof *c->address, what, error)) ||
        (status = fplt__alloc_into(&c->facts.records, c->members, sizeof *c->facts.records, what,
                                   error)) ||
        (status = fplt__alloc_into(&c->facts.curvature, c->members, sizeof *c->facts.curvature,
                                   what, error)))
        return status;
    if ((status =
             fplt__alloc_into(&c->facts.names, c->members, sizeof *c->facts.names, what, error)))
        return status;
    return fplt__alloc_into(&c->facts.scalars, c->members, FPLT__FORM_ANSWERS * sizeof(double),
                            what, error);
}

/* Standard errors are for models of up to so many coefficients. */
static size_t informed_dimension(const fplt__coordinator *c, const fplt_settings *settings)
{
    const char *word = fplt_settings_text(settings, "inform");
    if (fplt__leaves_out_fold(&c->proposal))
        return 0;
    if ((strcmp(word, "yes") == 0 || c->proposal.refit) && !fplt__is_custom(&c->proposal))
        return SIZE_MAX;
    return strcmp(word, "no") == 0 || c->proposal.privacies || fplt__is_custom(&c->proposal)
               ? 0
               : FPLT__INFERENCE_TO;
}

fplt__leader_settings fplt__coordinator_lead_settings(const fplt__coordinator *c,
                                                      const fplt_settings *settings)
{
    fplt__leader_settings leader = {.members = c->members,
                                    .inform_to = informed_dimension(c, settings),
                                    .check = c->proposal.refit != FPLT__REFIT_THIS &&
                                             !fplt__leaves_out_fold(&c->proposal) &&
                                             fplt_settings_switch(settings, "check"),
                                    .follows = fplt__coordinator_is_followed(c),
                                    .optional = fplt__is_follower(&c->proposal),
                                    .repair = fplt_settings_switch(settings, "repair")};
    memcpy(leader.receipt_key, c->pki.authority.receipt, sizeof leader.receipt_key);
    leader.absence = (uint64_t)ceil(fplt_settings_real(settings, "absence") * 1000);
    if (!fplt_settings_is_auto(settings, "deadline"))
        leader.deadline = (uint64_t)ceil(fplt_settings_real(settings, "deadline") * 1000);
    return leader;
}

/* A run that is new: the proposal is stored before anybody sees it. */
static fplt_status open_new(fplt__coordinator *c, fplt_error *error)
{
    char *text;
    fplt__member_row *rows = NULL;
    fplt_status status = fplt__coordinator_begin(c, error);
    if (status || (status = fplt__proposal_text(&c->proposal, &text, error)))
        return status;
    status = fplt__alloc_into(&rows, c->members, sizeof *rows, "the members", error);
    for (uint32_t i = 0; !status && i < c->members; i++)
        status = fplt__leader_store_receipt(c->store, c->roster[i], &rows[i], error);
    c->hash = fplt__document_hash(text, strlen(text));
    fplt__leader_record record = {.state = FPLT__FORMING,
                                  .hash = c->hash,
                                  .document = text,
                                  .document_size = strlen(text),
                                  .document_changed = 1,
                                  .members = c->members,
                                  .member = rows};
    if (!status && !(status = fplt__leader_store_save(c->store, c->run, &record, error)) &&
        !(status = fplt__leader_store_checkpoint(c->store, error)))
        status = fplt__leader_open(c->leader, fplt__coordinator_now(), &record, NULL, error);
    fplt__free(rows);
    fplt__free(text);
    return status;
}

static fplt_status open_forming(fplt__coordinator *c, const fplt__leader_record *record,
                                fplt_error *error)
{
    fplt__proposal stored;
    int changed;
    fplt_status status = fplt__coordinator_begun(c, &changed, error);
    if (status ||
        (status = fplt__proposal_read(record->document, record->document_size, &stored, error)))
        return status;
    int same = !changed && fplt__coordinator_compare(c, &stored, NULL) == FPLT_OK;
    if (same) { /* agents may have consented to it already */
        fplt__proposal_clear(&c->proposal);
        c->proposal = stored;
        c->roster = c->proposal.roster;
        FPLT__ASSERT(c->proposal.members == c->members && c->proposal.run == c->run);
        c->hash = record->hash;
        return fplt__leader_open(c->leader, fplt__coordinator_now(), record, NULL, error);
    }
    fplt__proposal_clear(&stored);
    return open_new(c, error);
}

static fplt_status open_planned(fplt__coordinator *c, const fplt__leader_record *record,
                                fplt_error *error)
{
    fplt__agreement *agreement;
    fplt__leader_plan plan;
    int changed;
    fplt_status status = fplt__coordinator_begun(c, &changed, error);
    if (!status && changed)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "run %u has begun at another model than %s; put it back as it was, "
                                "or raise `run` for a new one",
                                c->run, c->start.file);
    if (status || (status = fplt__alloc_into(&agreement, 1, sizeof *agreement, "a plan", error)))
        return status;
    status = fplt__agreement_read(record->document, record->document_size, agreement, error);
    if (!status && (status = fplt__coordinator_compare(c, &agreement->proposal, error)))
        fplt__agreement_clear(agreement);
    if (status) {
        fplt__free(agreement);
        return status;
    }
    c->hash = record->hash;
    if ((status = fplt__plan_resolution_lead(agreement, c->start.vector, &plan, error)))
        return status;
    FPLT__ASSERT(plan.agreement->proposal.members == c->members);
    fplt__coordinator_set_closing(c, plan.agreement);
    return fplt__leader_open(c->leader, fplt__coordinator_now(), record, &plan, error);
}

/* A run that ended before there was a plan: an analysis that is done, or a proposal that was refused. */
static fplt_status open_unplanned(fplt__coordinator *c, const fplt__leader_record *record,
                                  fplt_error *error)
{
    fplt__proposal stored;
    fplt_status status =
        fplt__proposal_read(record->document, record->document_size, &stored, error);
    if (status)
        return status;
    status = fplt__coordinator_compare(c, &stored, error);
    fplt__proposal_clear(&stored);
    c->hash = record->hash;
    return status ? status
                  : fplt__leader_open(c->leader, fplt__coordinator_now(), record, NULL, error);
}

/* A refit that was refused is in the model of the run before. */
static int writes_results(const fplt__coordinator *c)
{
    if (fplt__leaves_out_fold(&c->proposal))
        return 0;
    return fplt__leader_hub(c->leader) || c->proposal.refit == FPLT__REFIT_THIS;
}

/* A roster of another length finds members that do not fit: a change of the file, and no damage. */
static fplt_status explain_load(const fplt__coordinator *c, fplt_status status, fplt_error *error)
{
    fplt__proposal stored;
    fplt__coordinator_stored_proposal(c->store, c->run, &stored);
    if (stored.members && stored.members != c->members)
        status = fplt__coordinator_compare(c, &stored, error);
    fplt__proposal_clear(&stored);
    return status;
}

static fplt_status open_run(fplt__coordinator *c, fplt_error *error)
{
    uint32_t newest;
    fplt__leader_loaded loaded;
    fplt_status status = fplt__leader_store_newest(c->store, 0, &newest, error);
    if (status)
        return status;
    if (newest > c->run)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "run: is %u, but run %u exists already; runs are numbered "
                              "upwards",
                              c->run, newest);
    if (newest < c->run)
        return open_new(c, error);
    if ((status = fplt__leader_store_load(c->store, c->run, c->members, &loaded, error)))
        return explain_load(c, status, error);
    int ended = loaded.record.state == FPLT__DONE || loaded.record.state == FPLT__ENDED;
    if (loaded.record.state == FPLT__FORMING)
        status = open_forming(c, &loaded.record, error);
    else
        status = ended && !loaded.record.hub ? open_unplanned(c, &loaded.record, error)
                                             : open_planned(c, &loaded.record, error);
    fplt__leader_loaded_clear(&loaded);
    if (!status) {
        fplt__leader_view view = fplt__leader_get_view(c->leader);
        c->end.is_reached = view.state == FPLT__DONE || view.state == FPLT__ENDED;
        c->end.at = fplt__now();
        /* stopped before the model was written */
        c->end.write_at = c->end.is_reached && writes_results(c) && !has_model(c) ? c->end.at : 0;
    }
    return status;
}

void fplt__coordinator_set_closing(fplt__coordinator *c, const fplt__agreement *agreement)
{
    const fplt_plan *plan = &agreement->plan;
    FPLT__ASSERT(plan->algorithm && plan->dimension > 0);
    fplt_shape shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    fplt__leader_store_set_closing(c->store, fplt_plan_down(plan, shape.exchanges));
}

static fplt_status open_store(fplt__coordinator *c, fplt_error *error)
{
    char path[4200];
    if (fplt__is_analysis(&c->proposal)) {
        fplt_status status = fplt__coordinator_check_idle(c->folder, error);
        snprintf(path, sizeof path, "%s/analysis.db", c->folder);
        return status ? status : fplt__leader_store_open(path, &c->store, error);
    }
    snprintf(path, sizeof path, "%s/federation.db", c->folder);
    return fplt__leader_store_open(path, &c->store, error);
}

/* Sends the end of the previous run to a member that missed it. */
static fplt_status follow(fplt__coordinator *c, fplt_error *error)
{
    if (!c->start.vector || fplt__is_zero(&c->start.continues))
        return FPLT_OK;
    return fplt__leader_follow(c->leader, &c->start.continues, c->start.vector, c->start.count,
                               error);
}

/* The run of the proposal: its members, its machine, and what the store has of it. */
static fplt_status open_machine(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status;
    c->run = c->proposal.run;
    c->members = c->proposal.members;
    c->roster = c->proposal.roster;
    if ((status = allocate(c, error)))
        return status;
    fplt__leader_settings settings = fplt__coordinator_lead_settings(c, c->settings);
    randombytes_buf(&settings.process, sizeof settings.process);
    if ((status = fplt__leader_create(&settings, &c->leader, error)) ||
        (status = open_run(c, error)))
        return status;
    return follow(c, error);
}

fplt_status fplt__coordinator_open_server(fplt__coordinator *c, const fplt__authority *authority,
                                          const fplt_settings *from, fplt__server **server,
                                          fplt_error *error)
{
    unsigned per_address = c->members + SPARE_CONNECTIONS;
    FPLT__ASSERT(c->members > 0 && c->doors.max_strangers >= MIN_STRANGERS);
    fplt__service service = fplt__coordinator_service(c);
    fplt__server_settings settings = {.listen = fplt_settings_text(from, "listen"),
                                      .certificate = authority->server,
                                      .key = authority->server_key,
                                      .authority = authority->certificate,
                                      .connections = per_address + c->doors.max_strangers,
                                      .unproven = c->doors.max_strangers,
                                      .per_address = per_address,
                                      .rate = 1,
                                      .window = (unsigned)fplt_settings_integer(from, "window")};
    return fplt__server_create(&settings, &service, server, error);
}

/* Every agent has a connection. What the limit of the process leaves is for connections of strangers, which then need not
 * wait for each other. The program raises the limit (cli/federating.c): a library leaves it as it is. */
static void share_descriptors(fplt__coordinator *c)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)c->members + SPARE_CONNECTIONS + SPARE_DESCRIPTORS;
    rlim_t wanted = needed + c->members + STRANGERS;
    c->doors.max_strangers = MIN_STRANGERS;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    FPLT__ASSERT(needed + MIN_STRANGERS <= wanted);
    if (limit.rlim_cur >= needed + MIN_STRANGERS)
        c->doors.max_strangers =
            (unsigned)((limit.rlim_cur < wanted ? limit.rlim_cur : wanted) - needed);
    if (limit.rlim_cur < needed)
        fplt__coordinator_log(c, -1, "limit",
                              "this process may open %llu descriptors, and %u agents need %llu; "
                              "raise `ulimit -n`",
                              (unsigned long long)limit.rlim_cur, c->members,
                              (unsigned long long)needed);
}

static void expect(void *context, const char *address)
{
    fplt__server_expect(context, address);
}

static fplt_status open_servers(fplt__coordinator *c, fplt_error *error)
{
    share_descriptors(c);
    fplt__service page = fplt__coordinator_page(c);
    const char *status_at = fplt_settings_text(c->settings, "status");
    fplt__server_settings shown = {.listen = status_at, .connections = 16, .window = 1};
    fplt_status status =
        fplt__coordinator_open_server(c, &c->pki.authority, c->settings, &c->doors.agents, error);
    snprintf(c->doors.listen, sizeof c->doors.listen, "%s",
             fplt_settings_text(c->settings, "listen"));
    if (!status) /* members get in before strangers, also right after a restart */
        status = fplt__leader_store_addresses(c->store, expect, c->doors.agents, error);
    if (!status && strcmp(status_at, "off") != 0)
        status = fplt__server_create(&shown, &page, &c->doors.page, error);
    return status ? status : fplt__control_open(c->folder, &c->doors.control, error);
}

fplt_status fplt__coordinator_prepare(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status;
    if ((status = fplt__settings_complete(c->settings, error)) ||
        (status = fplt__settings_effective(c->settings, error)) ||
        (status = fplt__authority_open(c->folder, &c->pki.authority, error)) ||
        (status = fplt__coordinator_check_certificate(c, &c->pki.authority, &c->pki.self, error)))
        return status;
    return fplt__coordinator_propose(c, error);
}

/* The proposal again, as exclusions have it. */
static fplt_status propose_without(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status = fplt__coordinator_read_successions(c, error);
    if (status || !c->excluded.run)
        return status;
    fplt__proposal_clear(&c->proposal);
    return fplt__coordinator_propose(c, error);
}

fplt_status fplt__coordinator_open(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status = fplt__coordinator_prepare(c, error);
    if (status || (status = open_store(c, error)) || (status = propose_without(c, error)) ||
        (status = fplt__coordinator_open_record(c, error)) || (status = open_machine(c, error)) ||
        (status = open_servers(c, error)))
        return status;
    return FPLT_OK;
}

fplt_status fplt__coordinator_open_next(fplt__coordinator *c, fplt_error *error)
{
    FPLT__ASSERT(c->store && !c->leader && !c->roster);
    fplt_status status = fplt__coordinator_read_successions(c, error);
    if (status || (status = fplt__coordinator_propose(c, error)))
        return status;
    return open_machine(c, error);
}
