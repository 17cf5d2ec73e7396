/* Opening: settings, store, the run as it was left or a new one, and the servers. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"

enum {
    SPARE_CONNECTIONS = 64, /* of an address beyond the roster */
    STRANGERS = 256,        /* connections without a certificate, beyond the roster */
    MIN_STRANGERS = 32,
    SPARE_DESCRIPTORS = 128
};

static int has_model(const fplt__coordinator *c)
{
    char path[4200];
    fplt__coordinator_path(c, fplt_settings_text(c->settings, "out"), "model.json", path,
                           sizeof path);
    return access(path, F_OK) == 0;
}

static fplt_status allocate(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status;
    const char *what = "the members";
    FPLT__ASSERT(c->members > 0 && c->members == c->proposal.members && !c->revoked);
    if ((status = fplt__alloc_into(&c->revoked, c->members, 1, what, error)) ||
        (status = fplt__alloc_into(&c->fetched, c->members, 1, what, error)) ||
        (status = fplt__alloc_into(&c->counted, c->members, 1, what, error)) ||
        (status = fplt__alloc_into(&c->notes, c->members, sizeof *c->notes, what, error)) ||
        (status = fplt__alloc_into(&c->records, c->members, sizeof *c->records, what, error)) ||
        (status = fplt__alloc_into(&c->bend, c->members, sizeof *c->bend, what, error)))
        return status;
    if ((status = fplt__alloc_into(&c->names, c->members, sizeof *c->names, what, error)))
        return status;
    return fplt__alloc_into(&c->scalars, c->members, FPLT__FORM_ANSWERS * sizeof(double), what,
                            error);
}

fplt__leader_settings fplt__coordinator_lead_settings(const fplt__coordinator *c,
                                                      const fplt_settings *settings)
{
    fplt__leader_settings leader = {.members = c->members,
                                    .inform = fplt_settings_switch(settings, "inform"),
                                    .check = fplt_settings_switch(settings, "check"),
                                    .repair = fplt_settings_switch(settings, "repair")};
    memcpy(leader.receipt_key, c->authority.receipt, sizeof leader.receipt_key);
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
    if (!status && !(status = fplt__leader_store_save(c->store, c->run, &record, error)))
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
                                c->run, c->start_file);
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
    if ((status = fplt__plan_resolution_lead(agreement, c->start, &plan, error)))
        return status;
    FPLT__ASSERT(plan.agreement->proposal.members == c->members);
    fplt__coordinator_set_closing(c, plan.agreement);
    return fplt__leader_open(c->leader, fplt__coordinator_now(), record, &plan, error);
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
                              "run: is %u, but run %u has been held already; runs are numbered "
                              "upwards",
                              c->run, newest);
    if (newest < c->run)
        return open_new(c, error);
    if ((status = fplt__leader_store_load(c->store, c->run, c->members, &loaded, error)))
        return status;
    int forming = loaded.record.state == FPLT__FORMING;
    status =
        forming ? open_forming(c, &loaded.record, error) : open_planned(c, &loaded.record, error);
    fplt__leader_loaded_clear(&loaded);
    if (!status) {
        fplt__leader_view view = fplt__leader_get_view(c->leader);
        c->finished = view.state == FPLT__DONE || view.state == FPLT__ENDED;
        c->finished_at = fplt__now();
        /* stopped before the model was written */
        c->write_at =
            c->finished && fplt__leader_hub(c->leader) && !has_model(c) ? c->finished_at : 0;
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
    fplt__leader_settings settings;
    fplt_status status;
    snprintf(path, sizeof path, "%s/federation.db", c->folder);
    if ((status = fplt__leader_store_open(path, &c->store, error)))
        return status;
    settings = fplt__coordinator_lead_settings(c, c->settings);
    randombytes_buf(&settings.process, sizeof settings.process);
    if ((status = fplt__leader_create(&settings, &c->leader, error)))
        return status;
    return open_run(c, error);
}

fplt_status fplt__coordinator_open_server(fplt__coordinator *c, const fplt__authority *authority,
                                          const fplt_settings *from, fplt__server **server,
                                          fplt_error *error)
{
    unsigned per_address = c->members + SPARE_CONNECTIONS;
    FPLT__ASSERT(c->members > 0 && c->max_strangers >= MIN_STRANGERS);
    fplt__service service = fplt__coordinator_service(c);
    fplt__server_settings settings = {.listen = fplt_settings_text(from, "listen"),
                                      .certificate = authority->server,
                                      .key = authority->server_key,
                                      .authority = authority->certificate,
                                      .connections = per_address + c->max_strangers,
                                      .unproven = c->max_strangers,
                                      .per_address = per_address,
                                      .rate = 1,
                                      .window = (unsigned)fplt_settings_integer(from, "window")};
    return fplt__server_create(&settings, &service, server, error);
}

/* Every agent has a connection: the usual limit of 1024 is for programs that use select. What the system allows beyond
 * that is for connections of strangers, which then need not wait for each other. */
static void allow_descriptors(fplt__coordinator *c)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)c->members + SPARE_CONNECTIONS + SPARE_DESCRIPTORS;
    rlim_t wanted = needed + c->members + STRANGERS;
    c->max_strangers = MIN_STRANGERS;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit))
            getrlimit(RLIMIT_NOFILE, &limit);
    }
    FPLT__ASSERT(needed + MIN_STRANGERS <= wanted);
    if (limit.rlim_cur >= needed + MIN_STRANGERS)
        c->max_strangers = (unsigned)((limit.rlim_cur < wanted ? limit.rlim_cur : wanted) - needed);
    if (limit.rlim_cur < needed)
        fplt__coordinator_log(c, -1, "limit",
                              "this process may open %llu descriptors, and %u agents need %llu; "
                              "raise `ulimit -n`",
                              (unsigned long long)limit.rlim_cur, c->members,
                              (unsigned long long)needed);
}

static fplt_status open_servers(fplt__coordinator *c, fplt_error *error)
{
    allow_descriptors(c);
    fplt__service page = fplt__coordinator_page(c);
    const char *status_at = fplt_settings_text(c->settings, "status");
    fplt__server_settings shown = {.listen = status_at, .connections = 16, .window = 1};
    fplt_status status =
        fplt__coordinator_open_server(c, &c->authority, c->settings, &c->server, error);
    snprintf(c->listen, sizeof c->listen, "%s", fplt_settings_text(c->settings, "listen"));
    if (!status && strcmp(status_at, "off") != 0)
        status = fplt__server_create(&shown, &page, &c->page, error);
    return status ? status : fplt__control_open(c->folder, &c->control, error);
}

fplt_status fplt__coordinator_prepare(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status;
    if ((status = fplt_settings_complete(c->settings, error)) ||
        (status = fplt_settings_effective(c->settings, error)) ||
        (status = fplt__authority_open(c->folder, &c->authority, error)) ||
        (status = fplt__coordinator_check_certificate(c, &c->authority, &c->self, error)))
        return status;
    return fplt__coordinator_propose(c, error);
}

fplt_status fplt__coordinator_open(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status = fplt__coordinator_prepare(c, error);
    if (status)
        return status;
    c->run = c->proposal.run;
    c->members = c->proposal.members;
    c->roster = c->proposal.roster;
    if ((status = allocate(c, error)) || (status = open_store(c, error)) ||
        (status = open_servers(c, error)))
        return status;
    return FPLT_OK;
}
