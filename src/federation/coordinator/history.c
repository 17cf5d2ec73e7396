/* What the state of a coordinator tells of its runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"
#include "fedplt/federation.h"
#include "federation/plan/plan_resolution.h"
#include "store/leader.h"

static fplt_status open_store(const char *folder, uint32_t *run, fplt__leader_store **store,
                              fplt_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/federation.db", folder);
    fplt_status status = fplt__leader_store_open(path, store, error);
    if (!status && !*run)
        status = fplt__leader_store_newest(*store, 0, run, error);
    return status;
}

struct rounds {
    uint32_t run;
    fplt_federation_round_visitor visitor;
    void *context;
    uint32_t *accepted; /* owned */
    size_t room;
    fplt_status status;
    fplt_error *error;
};

static void tell_round(void *context, const fplt__history_row *row)
{
    struct rounds *all = context;
    fplt_federation_round round = {.run = all->run,
                                   .round = row->round,
                                   .incarnation = row->incarnation,
                                   .seconds = row->seconds,
                                   .criterion = row->criterion,
                                   .bytes_up = row->bytes_up,
                                   .bytes_down = row->bytes_down};
    if (all->status || (all->status = fplt__grow(&all->accepted, &all->room, 8 * row->size + 1,
                                                 sizeof *all->accepted, "a round", all->error)))
        return;
    for (uint32_t i = 0; i < 8 * row->size && !row->is_void; i++)
        if (row->accepted[i / 8] >> i % 8 & 1)
            all->accepted[round.count++] = i;
    FPLT__ASSERT(round.count <= all->room);
    round.accepted = all->accepted;
    all->visitor(all->context, &round);
}

fplt_status fplt_federation_rounds(const char *folder, uint32_t run,
                                   fplt_federation_round_visitor visitor, void *context,
                                   fplt_error *error)
{
    fplt__leader_store *store = NULL;
    struct rounds all = {.visitor = visitor, .context = context, .error = error};
    fplt_status status = open_store(folder, &run, &store, error);
    all.run = run;
    if (!status)
        status = fplt__leader_store_history(store, run, tell_round, &all, error);
    fplt__free(all.accepted);
    fplt__leader_store_close(store);
    return status ? status : all.status;
}

struct events {
    fplt_federation_event_visitor visitor;
    void *context;
    fplt__proposal proposal; /* of the run: its roster has the names */
};

static void tell_event(void *context, const fplt__event_row *row)
{
    struct events *all = context;
    int64_t at = row->member_index;
    int known = at >= 0 && at < (int64_t)all->proposal.members;
    fplt_federation_event event = {row->word, row->sentence,
                                   known ? all->proposal.roster[at] : NULL, row->round, NAN};
    all->visitor(all->context, row->time, &event);
}

void fplt__coordinator_stored_proposal(fplt__leader_store *store, uint32_t run,
                                       fplt__proposal *proposal)
{
    fplt__leader_loaded loaded;
    fplt__agreement agreement;
    memset(proposal, 0, sizeof *proposal);
    if (fplt__leader_store_load_end(store, run, &loaded, NULL))
        return;
    const fplt__leader_record *record = &loaded.record;
    if (!fplt__agreement_read(record->document, record->document_size, &agreement, NULL)) {
        if (fplt__proposal_copy(&agreement.proposal, proposal, NULL))
            fplt__proposal_clear(proposal);
        fplt__agreement_clear(&agreement);
    } else if (fplt__proposal_read(record->document, record->document_size, proposal, NULL)) {
        memset(proposal, 0, sizeof *proposal);
    }
    fplt__leader_loaded_clear(&loaded);
}

fplt_status fplt_federation_events(const char *folder, uint32_t run,
                                   fplt_federation_event_visitor visitor, void *context,
                                   fplt_error *error)
{
    fplt__leader_store *store = NULL;
    struct events all = {.visitor = visitor, .context = context};
    fplt_status status = open_store(folder, &run, &store, error);
    if (!status) {
        fplt__coordinator_stored_proposal(store, run, &all.proposal);
        status = fplt__leader_store_events(store, run, tell_event, &all, error);
    }
    fplt__proposal_clear(&all.proposal);
    fplt__leader_store_close(store);
    return status;
}
