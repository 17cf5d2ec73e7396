/* The agent's machine: create, open, events. What it says is on disk: a request waits until what it rests on is
 * committed. */
#include "protocol/site.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "protocol/site_machine.h"

enum { DISK_WAIT = 5000 };

/* --- create, events --- */

fplt_status fplt__site_create(const fplt__site_settings *settings, fplt__site **out,
                              fplt_error *error)
{
    fplt_status status = fplt__alloc_into(out, 1, sizeof **out, "an agent", error);
    if (status)
        return status;
    (*out)->settings = *settings;
    (*out)->random = settings->random;
    (*out)->wake = 0; /* waits for time, which is due, until it is opened */
    return FPLT_OK;
}

void fplt__site_destroy(fplt__site *site)
{
    if (!site)
        return;
    fplt__site_forget_run(site);
    fplt__site_set_frame(&site->answer, NULL, 0);
    void *const owned[] = {site->document,   site->body,      site->head,  site->begin,
                           site->task.bytes, site->task.down, site->words, site->action};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        fplt__free(owned[k]);
    fplt__free(site->loaded);
    fplt__secagg_wipe(&site->settings, sizeof site->settings);
    fplt__free(site);
}

static fplt_status copy_into(void *pointer, const void *bytes, size_t size, fplt_error *error)
{
    void **to = pointer;
    fplt_status status = fplt__alloc_into(to, size + 1, 1, "an agent", error);
    if (!status && size)
        memcpy(*to, bytes, size);
    return status;
}

/* The vectors of a record, kept until there is a node to take them. */
static fplt_status load_vectors(fplt__site *site, const fplt__site_record *record,
                                fplt_error *error)
{
    size_t kept = record->kept_count, held = record->held_count, begin = record->begin_count;
    fplt_status status = fplt__alloc_into(&site->loaded, 2 * kept + held + 1, sizeof *site->loaded,
                                          "an agent", error);
    if (status)
        return status;
    if (kept)
        memcpy(site->loaded, record->kept, kept * sizeof *site->loaded);
    if (kept && record->staged)
        memcpy(site->loaded + kept, record->staged, kept * sizeof *site->loaded);
    if (held && record->held)
        memcpy(site->loaded + 2 * kept, record->held, held * sizeof *site->loaded);
    site->record.kept = site->loaded;
    site->record.staged = site->loaded + kept;
    site->record.held = held ? site->loaded + 2 * kept : NULL; /* where nothing is staged */
    return begin ? copy_into(&site->begin, record->begin, begin * sizeof *site->begin, error)
                 : FPLT_OK;
}

static fplt_status load(fplt__site *site, const fplt__site_record *record, fplt_error *error)
{
    fplt_status status;
    site->record = *record;
    site->record.changed = 0;
    if ((status = copy_into(&site->document, record->document, record->document_size, error)) ||
        (status = copy_into(&site->head, record->head, record->head_size, error)))
        return status;
    for (unsigned e = 0; e < record->messages && !status; e++) {
        site->message[e].size = record->message[e].size;
        status = copy_into(&site->message[e].bytes, record->message[e].body,
                           record->message[e].size, error);
    }
    if (!status && record->has_enrolled) {
        site->enrolment.size = record->enrolment.size;
        status = copy_into(&site->enrolment.bytes, record->enrolment.body, record->enrolment.size,
                           error);
    }
    if (!record->planned)
        site->record.kept = NULL;
    return status || !record->planned ? status : load_vectors(site, record, error);
}

fplt_status fplt__site_open(fplt__site *site, uint64_t now, const fplt__site_record *record,
                            const fplt__receipt *charged, fplt_error *error)
{
    site->now = now;
    if (charged)
        site->charged = *charged;
    fplt_status status = record ? load(site, record, error) : FPLT_OK;
    if (status)
        return status;
    fplt__site_join(site);
    return FPLT_OK;
}

static void take_time(fplt__site *site)
{
    FPLT__ASSERT(site->waiting != FPLT__SITE_OVER);
    if (site->now < site->wake)
        return;
    site->wake = UINT64_MAX;
    if (site->waiting == FPLT__FOR_COMMIT)
        fplt__site_ask_commit(site);
    else if (site->waiting == FPLT__FOR_TIME && site->joined && site->request.kind == FPLT__NEXT)
        fplt__site_poll(site);
    else if (site->waiting == FPLT__FOR_TIME)
        fplt__site_flush(site);
}

static void take_refusal(fplt__site *site, const char *sentence)
{
    if (site->waiting == FPLT__FOR_FACTS || site->waiting == FPLT__FOR_AGREEMENT ||
        site->waiting == FPLT__FOR_NODE) {
        site->record.consented = 0;
        if (site->waiting ==
            FPLT__FOR_FACTS) /* the consent is stored: after a restart ASK comes again */
            site->record.changed |= FPLT__SITE_RUN;
        site->refused = 1;
        fplt__site_consent(site, 0, sentence);
    }
}

static void take_committed(fplt__site *site)
{
    if (site->waiting != FPLT__FOR_COMMIT)
        return;
    site->record.changed = 0;
    fplt__site_send_now(site);
}

static void take_full(fplt__site *site)
{
    fplt__site_log(site, "disk", "the state cannot be stored; again in 5 s");
    site->wake = site->now + DISK_WAIT;
    if (site->waiting == FPLT__FOR_CHARGE) { /* nothing was charged: as if not trained */
        fplt_node_drop(site->node);
        site->waiting = FPLT__FOR_TIME;
    }
}

static void take_charged(fplt__site *site, const fplt__receipt *charged)
{
    if (site->waiting != FPLT__FOR_CHARGE)
        return;
    site->charged = *charged;
    FPLT__ASSERT(site->agreement->private && site->task.frame.kind == FPLT__TRAIN);
    site->record.charges++;
    fplt__site_count_adopted(site);
    FPLT__ASSERT(!site->record.has_staged);
    fplt__site_stage(site);
}

static void take_spent(fplt__site *site, const char *sentence)
{
    if (site->waiting != FPLT__FOR_CHARGE)
        return;
    fplt_node_drop(site->node);
    fplt__site_trouble(site, site->task.frame.round, "spent", sentence);
    fplt__site_poll(site);
}

static void take_agreement(fplt__site *site, uint64_t records, fplt__hessian_word hessian)
{
    if (site->waiting != FPLT__FOR_AGREEMENT)
        return;
    site->record.consented = 1;
    site->record.records = records;
    site->hessian = hessian;
    site->record.changed |= FPLT__SITE_RUN;
    fplt__site_consent(site, 1, NULL);
}

static void take_event(fplt__site *site, const fplt__site_event *event)
{
    enum fplt__site_waiting waiting = site->waiting;
    switch (event->kind) {
    case FPLT__SITE_TIME: take_time(site); break;
    case FPLT__SITE_REPLY:
        if (site->refused && waiting == FPLT__FOR_REPLY)
            fplt__site_quit(site, "refused", "the plan was refused");
        else
            fplt__site_take_reply(site, event);
        break;
    case FPLT__SITE_NETWORK:
        if (waiting == FPLT__FOR_REPLY)
            fplt__site_back_off(site);
        break;
    case FPLT__SITE_COMMITTED: take_committed(site); break;
    case FPLT__SITE_FULL: take_full(site); break;
    case FPLT__SITE_CHARGED: take_charged(site, &event->charged); break;
    case FPLT__SITE_SPENT: take_spent(site, event->sentence); break;
    case FPLT__SITE_AGREE: take_agreement(site, event->records, event->hessian); break;
    case FPLT__SITE_REFUSE: take_refusal(site, event->sentence); break;
    case FPLT__SITE_FACTS:
        if (waiting == FPLT__FOR_FACTS)
            fplt__site_send_answer(site, event->scalars, event->scalar_count, event->words,
                                   event->numbers);
        break;
    case FPLT__SITE_BUILT:
        if (waiting == FPLT__FOR_NODE)
            fplt__site_take_node(site, event->plan);
        break;
    case FPLT__SITE_LACKS:
        if (waiting == FPLT__FOR_NODE)
            fplt__site_request(site, FPLT__START, NULL);
        break;
    }
}

/* What holds between two events. */
static void check_invariants(const fplt__site *site)
{
    FPLT__ASSERT(!site->node == !site->agreement);
    FPLT__ASSERT(!site->node || site->record.planned);
    FPLT__ASSERT(site->waiting != FPLT__FOR_REPLY ||
                 (!site->record.changed && site->wake == UINT64_MAX));
    FPLT__ASSERT(site->waiting != FPLT__FOR_TIME || site->wake != UINT64_MAX);
    FPLT__ASSERT(site->waiting != FPLT__FOR_COMMIT || site->record.changed);
    FPLT__ASSERT(site->waiting != FPLT__FOR_CHARGE || (site->node && site->agreement->private));
    FPLT__ASSERT(site->waiting != FPLT__FOR_NODE || !site->node);
    FPLT__ASSERT(site->waiting != FPLT__FOR_AGREEMENT || !site->record.consented);
    FPLT__ASSERT(site->waiting != FPLT__FOR_FACTS || !site->record.planned);
    FPLT__ASSERT(site->waiting != FPLT__SITE_OVER || site->wake == UINT64_MAX);
    FPLT__ASSERT(!site->start_size || site->start);
}

fplt_status fplt__site_handle(fplt__site *site, const fplt__site_event *event, fplt_error *error)
{
    site->actions = site->taken = 0;
    site->failed = 0;
    site->now = event->now > site->now ? event->now : site->now;
    if (site->waiting != FPLT__SITE_OVER)
        take_event(site, event);
    if (!site->damaged && !site->failed)
        check_invariants(site);
    if (site->damaged)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the stored state of the run has vectors of another length than its "
                              "plan: it is damaged");
    return site->failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a message")
                        : FPLT_OK;
}

const fplt__site_action *fplt__site_action_take(fplt__site *site)
{
    FPLT__ASSERT(site->taken <= site->actions);
    return site->taken < site->actions ? &site->action[site->taken++] : NULL;
}

uint64_t fplt__site_wake(const fplt__site *site)
{
    return site->wake;
}

fplt__site_view fplt__site_get_view(const fplt__site *site)
{
    return (fplt__site_view){.joined = site->joined,
                             .planned = site->record.planned,
                             .consented = site->record.consented,
                             .member_index = site->record.member_index,
                             .incarnation = site->record.incarnation,
                             .version = site->record.version,
                             .round = site->task.frame.round,
                             .charges = site->record.charges,
                             .cap = site->agreement ? site->agreement->cap : 0,
                             .chain = site->record.chain};
}

fplt_node *fplt__site_node(fplt__site *site)
{
    return site->node;
}
