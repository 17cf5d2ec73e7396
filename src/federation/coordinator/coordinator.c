/* The coordinator: its life and its loop. */
#include "federation/coordinator/coordinator.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/network.h"
#include "base/status.h"
#include "engine/hub_node.h"
#include "federation/plan/control.h"
#include "federation/plan/proposal_text.h"
#include "http/broken_pipe.h"

enum {
    MAX_NOTES = 60, /* a minute that a member can cause */
    LAST_SECONDS = 30,
    CHECKPOINT_EVERY = 512,
    WRITE_SECONDS = 5,
    MAX_HANDS = 4
};

/* Actions */

static void count_accepted(fplt__coordinator *c, const fplt__leader_record *record)
{
    const fplt__trace_row *trace = record->trace;
    FPLT__ASSERT(record->members == c->members);
    for (uint32_t i = 0; trace && !trace->is_void && i < record->members; i++)
        c->seen.update[FPLT__UPDATE_ACCEPTED] += trace->accepted[i / 8] >> i % 8 & 1;
}

/* Commits 1, 2, 4, 8, .. 512, and then every 512. */
static int now_and_then(uint64_t commits)
{
    return commits % CHECKPOINT_EVERY == 0 || (commits & (commits - 1)) == 0;
}

static void save(fplt__coordinator *c, const fplt__leader_record *record)
{
    double before = fplt__now();
    FPLT__ASSERT(!c->turn.has_next); /* one record at a time waits for its commit */
    fplt_error error = {FPLT_OK, ""};
    fplt_status status = fplt__leader_store_save(c->store, c->run, record, &error);
    c->turn.next =
        (fplt__leader_event){.kind = status ? FPLT__LEADER_FAILED : FPLT__LEADER_COMMITTED};
    c->turn.has_next = 1;
    c->seen.commit_seconds = fplt__now() - before;
    c->seen.commits++;
    if (status) {
        fplt__coordinator_log(c, -1, "disk", "%s; trying again", error.text);
        return;
    }
    count_accepted(c, record);
    /* what a run rests on, and now and then the rest, is not in the log alone; a failure costs nothing but that */
    if (record->document_changed || record->state != FPLT__ROUND || now_and_then(c->seen.commits))
        fplt__leader_store_checkpoint(c->store, &error);
}

static void keep_information(fplt__coordinator *c, const double *information)
{
    const fplt_plan *plan = &fplt__leader_agreement(c->leader)->plan;
    size_t count = fplt__plan_information(plan);
    if (information &&
        (c->seen.information ||
         !fplt__alloc_into(&c->seen.information, count, sizeof *information, "information", NULL)))
        memcpy(c->seen.information, information, count * sizeof *information);
}

static void measured(fplt__coordinator *c, const fplt__leader_action *action)
{
    char sentence[200];
    double criterion = action->measure.criterion;
    FPLT__ASSERT(c->seen.points <= FPLT__POINTS);
    if (c->seen.points < FPLT__POINTS)
        c->seen.point[c->seen.points++] = (struct fplt__point){action->round, criterion};
    int used = snprintf(sentence, sizeof sentence, "round %llu: criterion %.6g, objective %.8g",
                        (unsigned long long)action->round, criterion, action->measure.objective);
    if (action->measure.classifies && action->measure.records)
        used += snprintf(sentence + used, sizeof sentence - (size_t)used, ", accuracy %.4f",
                         (double)action->measure.hits / (double)action->measure.records);
    c->seen.has_score = action->has_score;
    c->seen.score = action->score;
    if (c->seen.has_score && c->seen.score.records)
        snprintf(sentence + used, sizeof sentence - (size_t)used, ", held-out loss %.6g",
                 c->seen.score.objective / (double)c->seen.score.records);
    keep_information(c, action->information);
    fplt__coordinator_keep_fit(c);
    fplt__coordinator_report(c, -1, "measured", sentence, criterion);
}

static void keep_receipts(fplt__coordinator *c)
{
    fplt_error error = {FPLT_OK, ""};
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; !status && i < c->members; i++) {
        const fplt__member_row *row = fplt__leader_member(c->leader, i).row;
        if (row->has_charged)
            status = fplt__leader_store_keep_receipt(c->store, c->roster[i], row, &error);
    }
    if (status)
        fplt__coordinator_log(c, -1, "disk", "%s", error.text);
}

/* As a commit, it is tried until there is room. */
static void write_model(fplt__coordinator *c)
{
    fplt_error error = {FPLT_OK, ""};
    c->end.write_at = 0;
    if (fplt__coordinator_write(c, &error)) {
        fplt__coordinator_log(c, -1, "disk", "%s; trying again", error.text);
        c->end.write_at = fplt__now() + WRITE_SECONDS;
    }
}

static void finish(fplt__coordinator *c)
{
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    keep_receipts(c);
    write_model(c);
    c->end.is_reached = 1;
    c->end.at = fplt__now();
    c->end.outcome.finished = 1;
    c->end.outcome.rounds = view.round;
    snprintf(c->end.outcome.outcome, sizeof c->end.outcome.outcome, "%s", view.outcome);
    snprintf(c->end.outcome.sentence, sizeof c->end.outcome.sentence, "%s", view.sentence);
    fplt__coordinator_report(c, -1, "finished", view.sentence,
                             view.has_measure ? view.measure.criterion : NAN);
    if (!fplt_settings_switch(c->settings, "once"))
        fplt__coordinator_log(c, -1, "waiting",
                              "the last model is served until this process is ended (Ctrl-C); with "
                              "--once it ends by itself");
}

/* Whether a member's event is one too many for log and database; the next that is not says how many there were. */
static int is_excess(fplt__coordinator *c, uint32_t i)
{
    double now = fplt__now();
    FPLT__ASSERT(i < c->members);
    struct fplt__notes *notes = &c->notes[i];
    FPLT__ASSERT(notes->since <= now);
    if (now - notes->since >= 60) {
        if (notes->count > MAX_NOTES)
            fplt__coordinator_log(c, i, "limit", "%u more events of it in the last minute",
                                  notes->count - MAX_NOTES);
        *notes = (struct fplt__notes){now, 0};
    }
    return ++notes->count > MAX_NOTES;
}

/* A round's events are those of its record, and a join changes nothing: neither has a row. */
static void note(fplt__coordinator *c, const fplt__leader_action *action)
{
    static const char *const transient[] = {"opened", "closed", "joined"};
    fplt_error error;
    int64_t who = action->member_index < c->members ? (int64_t)action->member_index : -1;
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    int is_stored = 1;
    if (who >= 0 && is_excess(c, action->member_index))
        return;
    for (size_t i = 0; i < sizeof transient / sizeof *transient; i++)
        is_stored &= strcmp(action->word, transient[i]) != 0;
    if (who >= 0 && fplt__is_follower(&c->proposal) && strcmp(action->word, "refused") == 0)
        snprintf(c->end.refusal, sizeof c->end.refusal, "%s: %.400s", c->roster[who],
                 action->sentence);
    fplt__coordinator_report(c, who, action->word, action->sentence, NAN);
    if (is_stored)
        fplt__leader_store_note(c->store, c->run, view.round, who, action->word, action->sentence,
                                &error);
}

static void perform(fplt__coordinator *c, const fplt__leader_action *action)
{
    switch (action->kind) {
    case FPLT__LEADER_REPLY: fplt__coordinator_reply(c, &action->reply); break;
    case FPLT__LEADER_COMMIT: save(c, action->record); break;
    case FPLT__LEADER_FACTS: fplt__coordinator_remember(c, action); break;
    case FPLT__LEADER_RESOLVE:
        FPLT__ASSERT(!c->turn.resolves);
        c->turn.step = action->step;
        c->turn.resolves = 1;
        break;
    case FPLT__LEADER_MEASURED: measured(c, action); break;
    case FPLT__LEADER_LOG: note(c, action); break;
    case FPLT__LEADER_FINISHED: finish(c); break;
    }
}

/* What an action answers with is told when all actions before it are done. */
static void act(fplt__coordinator *c)
{
    const fplt__leader_action *action;
    if (c->turn.acting)
        return;
    c->turn.acting = 1;
    do {
        while ((action = fplt__leader_action_take(c->leader)))
            perform(c, action);
        int resolves = c->turn.resolves, has_next = c->turn.has_next;
        c->turn.resolves = c->turn.has_next = 0;
        if (resolves)
            fplt__coordinator_resolve(c, c->turn.step);
        if (has_next)
            fplt__coordinator_handle(c, &c->turn.next);
        if (!resolves && !has_next)
            break;
    } while (!c->turn.failure);
    c->turn.acting = 0;
}

static void handle_event(fplt__coordinator *c, fplt__leader_event *event)
{
    FPLT__ASSERT(c->leader);
    FPLT__ASSERT(c->members > 0);
    event->now = fplt__coordinator_now();
    fplt_status status = fplt__leader_handle(c->leader, event, &c->turn.error);
    if (status)
        c->turn.failure = status;
    act(c);
}

/* Help */

struct sharing {
    fplt__part part;
    void *context;
    double *scratch;
};

static void do_part(void *context, size_t index, unsigned who)
{
    const struct sharing *sharing = context;
    sharing->part(sharing->context, index, who ? NULL : sharing->scratch);
}

static void spread(fplt__parallel *hands, size_t count, fplt__part part, void *context,
                   double *scratch)
{
    const fplt__coordinator *c = (const fplt__coordinator *)(const void *)hands;
    struct sharing sharing = {part, context, scratch};
    fplt__pool_share(c->pool, 0, count, do_part, &sharing);
}

/* Where no thread can be started the loop does all itself. */
static void get_help(fplt__coordinator *c)
{
    fplt_error error;
    unsigned cores = fplt__cores(0);
    c->hands.spread = spread;
    if (cores > 1 && !fplt__pool_create(cores < MAX_HANDS ? cores : MAX_HANDS, &c->pool, &error))
        fplt__parallel_set(&c->hands);
}

static void dismiss_help(fplt__coordinator *c)
{
    fplt__parallel_set(NULL);
    fplt__pool_destroy(c->pool);
}

/* All that belongs to the run at hand. */
static void close_run(fplt__coordinator *c)
{
    fplt__leader_destroy(c->leader);
    c->leader = NULL;
    fplt__proposal_clear(&c->proposal);
    for (uint32_t i = 0; c->facts.names && i < c->members; i++)
        fplt__free(c->facts.names[i]);
    void *const owned[] = {c->address,       c->revoked,       c->last,
                           c->notes,         c->facts.records, c->facts.curvature,
                           c->facts.scalars, c->facts.names,   c->facts.dictionary,
                           c->facts.counted, c->start.vector,  c->seen.information};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        fplt__free(owned[i]);
    fplt_free(c->start.names);
    fplt__coordinator_forget(c);
    fplt__coordinator_forget_polys(c);
    fplt__coordinator_forget_analysis(c);
    c->revoked = c->last = NULL;
    c->notes = NULL;
    c->address = NULL;
    c->roster = NULL;
    c->members = 0;
    fplt__coordinator_forget_preparation(c);
    memset(&c->facts, 0, sizeof c->facts);
    memset(&c->start, 0, sizeof c->start);
    c->seen.information = NULL;
    c->seen.points = 0;
    c->seen.has_score = 0;
}

static void close_all(fplt__coordinator *c)
{
    fplt__leader *leader = c->leader;
    c->leader = NULL; /* nobody is told that the connections go */
    fplt__server_destroy(c->doors.agents);
    fplt__server_destroy(c->doors.invitations);
    fplt__server_destroy(c->doors.page);
    fplt__control_close(c->folder, c->doors.control);
    c->leader = leader;
    close_run(c);
    fplt__coordinator_clear_successions(c);
    fplt__coordinator_forget_validation(c);
    fplt__leader_store_close(c->store);
    fplt__audit_close(c->audit);
    fplt__authority_close(&c->pki.authority);
    dismiss_help(c);
    fplt__free(c);
}

/* The loop */

static void answer_door(void *context, const char *word, const char *sentence)
{
    fplt__coordinator *c = context;
    if (word && strcmp(word, "refused") == 0)
        fplt__coordinator_refused(c, "invitation");
    if (sentence)
        fplt__coordinator_log(c, -1, word ? word : "refused", "%s", sentence);
}

/* Invitations are answered one port above, and only while there are any. */
static void tend_door(fplt__coordinator *c)
{
    int expects = 0;
    double now = fplt__now();
    FPLT__ASSERT(c->doors.agents);
    char host[256], address[300];
    unsigned port = 0;
    fplt_error error;
    if (now - c->doors.checked < 1)
        return;
    c->doors.checked = now;
    if (fplt__authority_expects(&c->pki.authority, &expects, &error) ||
        expects == (c->doors.invitations != NULL))
        return;
    if (!expects) {
        fplt__server_destroy(c->doors.invitations);
        c->doors.invitations = NULL;
        return;
    }
    if (fplt__address_split(c->doors.listen, host, sizeof host, &port, NULL))
        return;
    snprintf(address, sizeof address, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host,
             fplt__server_port(c->doors.agents) + 1);
    c->doors.keeper = (fplt__door){&c->pki.authority, answer_door, c};
    if (fplt__door_open(&c->doors.keeper, address, &c->doors.invitations, &error)) {
        fplt__coordinator_log(c, -1, "door", "invitations cannot be answered: %s", error.text);
        c->doors.checked = now + 60;
    }
}

/* Says once a minute who keeps the others waiting, at first after some seconds, in a round at once: its
 * deadline has passed. */
static void tend_waiting(fplt__coordinator *c)
{
    double now = fplt__now();
    char sentence[FPLT__SENTENCE];
    if (now - c->waiting.checked < 1)
        return;
    c->waiting.checked = now;
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    uint64_t at = view.round * FPLT__STATES + view.state;
    fplt__coordinator_waiting(c, sentence, sizeof sentence);
    if (!*sentence || at != c->waiting.at) {
        c->waiting.at = at;
        c->waiting.since = now;
        c->waiting.logged = 0;
    }
    FPLT__ASSERT(c->waiting.at == at && c->waiting.since <= now);
    FPLT__ASSERT(!c->waiting.logged || c->waiting.since <= c->waiting.logged);
    if (*sentence && now - c->waiting.since >= (view.state == FPLT__ROUND ? 0 : 5) &&
        (!c->waiting.logged || now - c->waiting.logged >= 60)) {
        c->waiting.logged = now;
        fplt__coordinator_log(c, -1, "waiting", "%s", sentence);
    }
}

static int all_served(const fplt__coordinator *c)
{
    FPLT__ASSERT(c->end.is_reached);
    if (!fplt__leader_hub(c->leader) && !fplt__is_follower(&c->proposal) &&
        fplt__leader_get_view(c->leader).state == FPLT__ENDED)
        return 1; /* refused before there was a plan: there is no model to fetch */
    int waits = fplt__now() - c->end.at < LAST_SECONDS;
    for (uint32_t i = 0; i < c->members; i++)
        if (waits && c->last[i] != FPLT__LAST_ARRIVED && !c->revoked[i] &&
            !fplt__leader_member(c->leader, i).refused &&
            fplt__leader_member(c->leader, i).standing == FPLT__MEMBER)
            return 0;
    return 1;
}

static int is_over(fplt__coordinator *c)
{
    if (c->turn.failure || c->turn.restarts ||
        (c->watch->stop && c->watch->stop(c->watch->context)))
        return 1;
    return c->end.is_reached && !c->end.write_at && fplt_settings_switch(c->settings, "once") &&
           all_served(c);
}

/* The last charge of an agent is reported after its last update, when the run may be over. */
static void tend_receipts(fplt__coordinator *c)
{
    double sum = 0;
    if (!c->end.is_reached)
        return;
    for (uint32_t i = 0; i < c->members; i++)
        sum += fplt__leader_member(c->leader, i).row->charged.receipt.spent.against[0];
    if (sum != c->end.receipts)
        keep_receipts(c);
    c->end.receipts = sum;
}

/* Once a day: a run may take longer than its certificate has left. */
static void tend_certificate(fplt__coordinator *c)
{
    static const double day = 24 * 3600;
    char date[16];
    double now = fplt__now();
    if (c->pki.end_checked && now - c->pki.end_checked < day)
        return;
    c->pki.end_checked = now;
    if (fplt__certificate_is_ending(&c->pki.self, date))
        fplt__coordinator_log(c, -1, "certificate",
                              "%s/coordinator.pem ends on %s, and no agent takes it after that; "
                              "`fedplt pki init %s --address %s --folder %s --renew` makes a new "
                              "one, and SIGHUP has it read here",
                              c->folder, date, c->pki.authority.federation,
                              c->pki.authority.address, c->folder);
}

static void run_loop(fplt__coordinator *c)
{
    act(c);
    while (!is_over(c)) {
        fplt__server *servers[3] = {c->doors.agents};
        size_t count = 1;
        if (c->doors.invitations)
            servers[count++] = c->doors.invitations;
        if (c->doors.page)
            servers[count++] = c->doors.page;
        uint64_t now = fplt__coordinator_now(), wake = fplt__leader_wake(c->leader);
        double seconds = wake <= now ? 0 : (double)(wake - now) / 1000;
        if (fplt__servers_turn(servers, count, c->doors.control, fmin(seconds, 0.25)))
            fplt__coordinator_serve_control(c);
        if (fplt__leader_wake(c->leader) <= fplt__coordinator_now()) {
            fplt__leader_event event = {.kind = FPLT__LEADER_TIME};
            fplt__coordinator_handle(c, &event);
        }
        tend_door(c);
        fplt__coordinator_tend_revoked(c);
        tend_certificate(c);
        tend_receipts(c);
        if (c->end.write_at && fplt__now() >= c->end.write_at)
            write_model(c);
        fplt__coordinator_tend_analysis(c);
        fplt__coordinator_tend_following(c);
        tend_waiting(c);
        if (c->watch->reload && c->watch->reload(c->watch->context))
            fplt__coordinator_reload(c);
    }
    tend_receipts(c);
}

/* Where a browser on this machine finds the live page; empty: nowhere. */
static void locate_page(const fplt__coordinator *c, char *text, size_t size)
{
    char host[256] = "";
    unsigned port = 0;
    *text = 0;
    if (!c->doors.page || fplt__address_split(fplt_settings_text(c->settings, "status"), host,
                                              sizeof host, &port, NULL))
        return;
    const char *at = strcmp(host, "0.0.0.0") == 0 ? "127.0.0.1"
                     : strcmp(host, "::") == 0    ? "::1"
                                                  : host;
    snprintf(text, size,
             strchr(at, ':') ? "; live page http://[%s]:%u/" : "; live page http://%s:%u/", at,
             fplt__server_port(c->doors.page));
}

static void announce(fplt__coordinator *c)
{
    char page[300];
    locate_page(c, page, sizeof page);
    fplt__coordinator_log(c, -1, "started", "%s run %u: listening on port %u%s",
                          c->pki.authority.federation, c->run, fplt__server_port(c->doors.agents),
                          page);
}

/* A member was excluded: the members that hold a poll are sent to the next run. Results of the run that ended stay in a
 * folder of its number. */
static fplt_status go_on(fplt__coordinator *c, fplt_error *error)
{
    fplt_error unwritten = {FPLT_OK, ""};
    if (!c->end.is_reached && fplt__leader_get_view(c->leader).state >= FPLT__ROUND) {
        keep_receipts(c);
        if (fplt__coordinator_write(c, &unwritten))
            fplt__coordinator_log(c, -1, "disk", "%s", unwritten.text);
    }
    c->turn.restarts = 0;
    fplt__leader_dismiss(c->leader);
    act(c);
    close_run(c);
    memset(&c->end, 0, sizeof c->end);
    c->waiting.at = UINT64_MAX;
    c->revocation.roster_checked = 0;
    return fplt__coordinator_open_next(c, error);
}

/* Until the run is over, and those that follow exclusions. */
static fplt_status run_all(fplt__coordinator *c, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    run_loop(c);
    while (!status && c->turn.restarts && !c->turn.failure)
        if (!(status = go_on(c, error))) {
            announce(c);
            run_loop(c);
        }
    return status;
}

/* Nothing is opened, stored or sent: what would be proposed is shown. */
static fplt_status rehearse(fplt__coordinator *c, fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt_status status = fplt__coordinator_prepare(c, error);
    if (status)
        return status;
    fplt__proposal_show(&c->proposal, &text);
    if (!text.status)
        fplt__coordinator_report(c, -1, "proposal", text.text, NAN);
    fplt__buffer_clear(&text);
    return FPLT_OK;
}

fplt_status fplt_federation_lead(const fplt_settings *settings, const fplt_federation_watch *watch,
                                 fplt_federation_outcome *outcome, fplt_error *error)
{
    static const fplt_federation_watch nobody = {.context = NULL};
    fplt__coordinator *c;
    memset(outcome, 0, sizeof *outcome);
    fplt_status status = watch ? FPLT__CHECK_TABLE(fplt_federation_watch, watch, error) : FPLT_OK;
    if (status || (status = fplt__alloc_into(&c, 1, sizeof *c, "the coordinator", error)))
        return status;
    fplt__broken_pipe pipes = fplt__broken_pipe_block();
    c->settings = settings;
    c->turn.handle = handle_event;
    c->watch = watch ? watch : &nobody;
    c->doors.control = -1;
    c->waiting.at = UINT64_MAX; /* nowhere yet */
    c->seen.started = fplt__now();
    snprintf(c->folder, sizeof c->folder, "%s", fplt_settings_text(settings, "folder"));
    if (fplt_settings_switch(settings, "dry-run")) {
        status = rehearse(c, error);
    } else if (!(status = fplt__coordinator_open(c, error))) {
        announce(c);
        get_help(c);
        if ((status = run_all(c, error)))
            ;
        else if ((status = c->turn.failure) && error)
            *error = c->turn.error;
        else if (c->end.write_at)
            status = fplt_error_set(error, FPLT_FAILED,
                                    "the model was not written; fix the error in the log about the "
                                    "disk, and start again");
        *outcome = c->end.outcome;
    }
    close_all(c);
    fplt__broken_pipe_restore(&pipes);
    return status;
}
