/* The coordinator: its life and its loop. */
#include "federation/coordinator/coordinator.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/status.h"
#include "federation/plan/proposal_text.h"

enum {
    MAX_NOTES = 60, /* a minute that a member can cause */
    LAST_SECONDS = 30,
    WRITE_SECONDS = 5,
    MAX_HANDS = 4
};

uint64_t fplt__coordinator_now(void)
{
    return (uint64_t)(fplt__now() * 1000);
}

/* Telling */

static void tell(fplt__coordinator *c, int64_t identity, const char *word, const char *sentence,
                 double criterion)
{
    FPLT__ASSERT(identity < (int64_t)c->members);
    fplt__leader_view view =
        c->leader ? fplt__leader_get_view(c->leader) : (fplt__leader_view){.round = 0};
    fplt_federation_event event = {word, sentence, identity >= 0 ? c->roster[identity] : NULL,
                                   view.round, criterion};
    if (c->watch->tell)
        c->watch->tell(c->watch->context, &event);
}

void fplt__coordinator_log(fplt__coordinator *c, int64_t identity, const char *word,
                           const char *format, ...)
{
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    tell(c, identity, word, sentence, NAN);
}

/* Actions */

static void count_accepted(fplt__coordinator *c, const fplt__leader_record *record)
{
    const fplt__trace_row *trace = record->trace;
    FPLT__ASSERT(record->members == c->members);
    for (uint32_t i = 0; trace && !trace->is_void && i < record->members; i++)
        c->update[FPLT__UPDATE_ACCEPTED] += trace->accepted[i / 8] >> i % 8 & 1;
}

static void save(fplt__coordinator *c, const fplt__leader_record *record)
{
    double before = fplt__now();
    FPLT__ASSERT(!c->has_next); /* one record at a time waits for its commit */
    fplt_error error = {FPLT_OK, ""};
    fplt_status status = fplt__leader_store_save(c->store, c->run, record, &error);
    c->next = (fplt__leader_event){.kind = status ? FPLT__LEADER_FAILED : FPLT__LEADER_COMMITTED};
    c->has_next = 1;
    c->commit_seconds = fplt__now() - before;
    c->commits++;
    if (status)
        fplt__coordinator_log(c, -1, "disk", "%s; trying again", error.text);
    else
        count_accepted(c, record);
}

static void keep_information(fplt__coordinator *c, const double *information)
{
    const fplt_plan *plan = &fplt__leader_agreement(c->leader)->plan;
    size_t count = fplt_plan_information(plan);
    if (information &&
        (c->information ||
         !fplt__alloc_into(&c->information, count, sizeof *information, "information", NULL)))
        memcpy(c->information, information, count * sizeof *information);
}

static void measured(fplt__coordinator *c, const fplt__leader_action *action)
{
    char sentence[200];
    double criterion = action->measure.criterion;
    FPLT__ASSERT(c->points <= FPLT__POINTS);
    if (c->points < FPLT__POINTS)
        c->point[c->points++] = (struct fplt__point){action->round, criterion};
    int used = snprintf(sentence, sizeof sentence, "round %llu: criterion %.6g, objective %.8g",
                        (unsigned long long)action->round, criterion, action->measure.objective);
    c->has_score = action->has_score;
    c->score = action->score;
    if (c->has_score && c->score.records)
        snprintf(sentence + used, sizeof sentence - (size_t)used, ", held-out loss %.6g",
                 c->score.objective / (double)c->score.records);
    keep_information(c, action->information);
    tell(c, -1, "measured", sentence, criterion);
}

void fplt__coordinator_path(const fplt__coordinator *c, const char *file, const char *inside,
                            char *path, size_t size)
{
    snprintf(path, size, "%s%s%s%s%s", *file == '/' ? "" : c->folder, *file == '/' ? "" : "/", file,
             inside ? "/" : "", inside ? inside : "");
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
    c->write_at = 0;
    if (fplt__coordinator_write(c, &error)) {
        fplt__coordinator_log(c, -1, "disk", "%s; trying again", error.text);
        c->write_at = fplt__now() + WRITE_SECONDS;
    }
}

static void finish(fplt__coordinator *c)
{
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    keep_receipts(c);
    write_model(c);
    c->finished = 1;
    c->finished_at = fplt__now();
    c->outcome.finished = 1;
    c->outcome.rounds = view.round;
    snprintf(c->outcome.outcome, sizeof c->outcome.outcome, "%s", view.outcome);
    snprintf(c->outcome.sentence, sizeof c->outcome.sentence, "%s", view.sentence);
    tell(c, -1, "finished", view.sentence, view.has_measure ? view.measure.criterion : NAN);
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
    tell(c, who, action->word, action->sentence, NAN);
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
        FPLT__ASSERT(!c->resolves);
        c->step = action->step;
        c->resolves = 1;
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
    if (c->acting)
        return;
    c->acting = 1;
    do {
        while ((action = fplt__leader_action_take(c->leader)))
            perform(c, action);
        int resolves = c->resolves, has_next = c->has_next;
        c->resolves = c->has_next = 0;
        if (resolves)
            fplt__coordinator_resolve(c, c->step);
        if (has_next)
            fplt__coordinator_handle(c, &c->next);
        if (!resolves && !has_next)
            break;
    } while (!c->failure);
    c->acting = 0;
}

void fplt__coordinator_handle(fplt__coordinator *c, fplt__leader_event *event)
{
    FPLT__ASSERT(c->leader);
    FPLT__ASSERT(c->members > 0);
    event->now = fplt__coordinator_now();
    fplt_status status = fplt__leader_handle(c->leader, event, &c->error);
    if (status)
        c->failure = status;
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

static void close_all(fplt__coordinator *c)
{
    fplt__leader *leader = c->leader;
    c->leader = NULL; /* nobody is told that the connections go */
    fplt__server_destroy(c->server);
    fplt__server_destroy(c->door);
    fplt__server_destroy(c->page);
    if (c->control >= 0) {
        char path[4200];
        snprintf(path, sizeof path, "%s/control.socket", c->folder);
        close(c->control);
        unlink(path);
    }
    fplt__leader_destroy(leader);
    fplt__leader_store_close(c->store);
    fplt__authority_close(&c->authority);
    fplt__proposal_clear(&c->proposal);
    fplt__free(c->revoked);
    fplt__free(c->fetched);
    fplt__free(c->records);
    fplt__free(c->bend);
    fplt__free(c->scalars);
    for (uint32_t i = 0; c->names && i < c->members; i++)
        fplt__free(c->names[i]);
    fplt__free(c->names);
    fplt__free(c->dictionary);
    fplt_free(c->start_names);
    fplt__free(c->counted);
    fplt__free(c->notes);
    fplt__free(c->information);
    fplt__free(c->start);
    fplt__coordinator_forget(c);
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
    FPLT__ASSERT(c->server);
    char host[256], address[300];
    unsigned port = 0;
    fplt_error error;
    if (now - c->door_checked < 1)
        return;
    c->door_checked = now;
    if (fplt__authority_expects(&c->authority, &expects, &error) || expects == (c->door != NULL))
        return;
    if (!expects) {
        fplt__server_destroy(c->door);
        c->door = NULL;
        return;
    }
    if (fplt__address_split(c->listen, host, sizeof host, &port, NULL))
        return;
    snprintf(address, sizeof address, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host,
             fplt__server_port(c->server) + 1);
    c->doorkeeper = (fplt__door){&c->authority, answer_door, c};
    if (fplt__door_open(&c->doorkeeper, address, &c->door, &error)) {
        fplt__coordinator_log(c, -1, "door", "invitations cannot be answered: %s", error.text);
        c->door_checked = now + 60;
    }
}

/* Says once a minute who keeps the others waiting, at first after some seconds, in a round at once: its
 * deadline has passed. */
static void tend_waiting(fplt__coordinator *c)
{
    double now = fplt__now();
    char sentence[FPLT__SENTENCE];
    if (now - c->waiting_checked < 1)
        return;
    c->waiting_checked = now;
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    uint64_t at = view.round * FPLT__STATES + view.state;
    fplt__coordinator_waiting(c, sentence, sizeof sentence);
    if (!*sentence || at != c->waiting_at) {
        c->waiting_at = at;
        c->waiting_since = now;
        c->waiting_said = 0;
    }
    FPLT__ASSERT(c->waiting_at == at && c->waiting_since <= now);
    FPLT__ASSERT(!c->waiting_said || c->waiting_since <= c->waiting_said);
    if (*sentence && now - c->waiting_since >= (view.state == FPLT__ROUND ? 0 : 5) &&
        (!c->waiting_said || now - c->waiting_said >= 60)) {
        c->waiting_said = now;
        fplt__coordinator_log(c, -1, "waiting", "%s", sentence);
    }
}

static int all_served(const fplt__coordinator *c)
{
    FPLT__ASSERT(c->finished);
    int waits = fplt__now() - c->finished_at < LAST_SECONDS;
    for (uint32_t i = 0; i < c->members; i++)
        if (waits && !c->fetched[i] && !c->revoked[i])
            return 0;
    /* an answer that is on its way has not arrived: who has the model hangs up */
    return !waits || fplt__server_connections(c->server) == 0;
}

static int is_over(fplt__coordinator *c)
{
    if (c->failure || (c->watch->stop && c->watch->stop(c->watch->context)))
        return 1;
    return c->finished && !c->write_at && fplt_settings_switch(c->settings, "once") &&
           all_served(c);
}

/* The last charge of an agent is reported after its last update, when the run may be over. */
static void tend_receipts(fplt__coordinator *c)
{
    double sum = 0;
    if (!c->finished)
        return;
    for (uint32_t i = 0; i < c->members; i++)
        sum += fplt__leader_member(c->leader, i).row->charged.receipt.spent.against[0];
    if (sum != c->receipts)
        keep_receipts(c);
    c->receipts = sum;
}

/* Once a day: a run may take longer than its certificate has left. */
static void tend_certificate(fplt__coordinator *c)
{
    static const double day = 24 * 3600;
    char date[16];
    double now = fplt__now();
    if (c->certificate_asked && now - c->certificate_asked < day)
        return;
    c->certificate_asked = now;
    if (fplt__certificate_is_ending(&c->self, date))
        fplt__coordinator_log(c, -1, "certificate",
                              "%s/coordinator.pem ends on %s, and no agent takes it after that; "
                              "`fedplt pki init %s --address %s --folder %s --renew` makes a new "
                              "one, and SIGHUP has it read here",
                              c->folder, date, c->authority.federation, c->authority.address,
                              c->folder);
}

static void run_loop(fplt__coordinator *c)
{
    act(c);
    while (!is_over(c)) {
        fplt__server *servers[3] = {c->server};
        size_t count = 1;
        if (c->door)
            servers[count++] = c->door;
        if (c->page)
            servers[count++] = c->page;
        uint64_t now = fplt__coordinator_now(), wake = fplt__leader_wake(c->leader);
        double seconds = wake <= now ? 0 : (double)(wake - now) / 1000;
        if (fplt__servers_turn(servers, count, c->control, fmin(seconds, 0.25)))
            fplt__control_serve(c);
        if (fplt__leader_wake(c->leader) <= fplt__coordinator_now()) {
            fplt__leader_event event = {.kind = FPLT__LEADER_TIME};
            fplt__coordinator_handle(c, &event);
        }
        tend_door(c);
        fplt__coordinator_tend_revoked(c);
        tend_certificate(c);
        tend_receipts(c);
        if (c->write_at && fplt__now() >= c->write_at)
            write_model(c);
        tend_waiting(c);
        if (c->watch->reload && c->watch->reload(c->watch->context))
            fplt__coordinator_reload(c);
    }
    tend_receipts(c);
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
        tell(c, -1, "proposal", text.text, NAN);
    fplt__buffer_clear(&text);
    return FPLT_OK;
}

static void announce(fplt__coordinator *c)
{
    char page[64] = "";
    if (c->page)
        snprintf(page, sizeof page, "; live page http://127.0.0.1:%u/", fplt__server_port(c->page));
    fplt__coordinator_log(c, -1, "started", "%s run %u: listening on port %u%s",
                          c->authority.federation, c->run, fplt__server_port(c->server), page);
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
    signal(SIGPIPE, SIG_IGN);
    c->settings = settings;
    c->watch = watch ? watch : &nobody;
    c->control = -1;
    c->waiting_at = UINT64_MAX; /* nowhere yet */
    c->started = fplt__now();
    snprintf(c->folder, sizeof c->folder, "%s", fplt_settings_text(settings, "folder"));
    if (fplt_settings_switch(settings, "dry-run")) {
        status = rehearse(c, error);
    } else if (!(status = fplt__coordinator_open(c, error))) {
        announce(c);
        get_help(c);
        run_loop(c);
        if ((status = c->failure) && error)
            *error = c->error;
        else if (c->write_at)
            status = fplt_error_set(error, FPLT_FAILED,
                                    "the model was not written; fix the error in the log about the "
                                    "disk, and start again");
        *outcome = c->outcome;
    }
    close_all(c);
    return status;
}
