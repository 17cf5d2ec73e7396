/* Secure aggregation at the coordinator: the list of keys, sessions, and the sums of masked messages. A session belongs to
 * the open round, to a question or to the enrolments of a repair; there is one at a time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/sum.h"
#include "engine/hub_node.h"
#include "protocol/leading.h"

enum { KEY = FPLT__SECAGG_KEY, ENTRY = FPLT__SECAGG_ENTRY, MAX_RUINED = 3 };
enum { SHOWN = 4, MOST_SHOWN = 20 };
enum { QUESTION_WIDTH = 16 }; /* of numbers that are no updates: words of the exact sum */

static size_t list_size(const fplt__leader *leader)
{
    return (size_t)leader->settings.members * ENTRY;
}

fplt_status fplt__secure_open(fplt__leader *leader, const uint8_t *keys, fplt_error *error)
{
    const fplt__agreement *agreement = leader->plan.agreement;
    if (!agreement->proposal.secure)
        return FPLT_OK;
    size_t size = list_size(leader), set = fplt__set_bytes(leader->settings.members);
    const char *what = "secure aggregation";
    fplt__secagg_plan plan = {.members = leader->settings.members,
                              .threshold = agreement->threshold,
                              .most = agreement->most,
                              .identity = agreement->identities};
    memcpy(plan.hash, &leader->record.hash, sizeof plan.hash);
    fplt_status status;
    if ((status = fplt__alloc_into(&leader->secure.list, size, 1, what, error)) ||
        (status = fplt__alloc_into(&leader->secure.fresh, size, 1, what, error)) ||
        (status = fplt__alloc_into(&leader->secure.at_hand, size, 1, what, error)) ||
        (status = fplt__alloc_into(&leader->secure.set, set, 1, what, error)) ||
        (status = fplt__alloc_into(&leader->secure.all, set, 1, what, error)))
        return status;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        fplt__set_add(leader->secure.all, i);
    if (keys)
        memcpy(leader->secure.list, keys, size);
    leader->record.keys = leader->secure.list;
    leader->record.keys_size = size;
    return fplt__secagg_total_create(&plan, &leader->secure.total, error);
}

void fplt__secure_close(fplt__leader *leader)
{
    fplt__secagg_total_destroy(leader->secure.total);
    fplt__shared_release(leader->secure.brief);
    fplt__shared_release(leader->secure.full);
    fplt__free(leader->secure.list);
    fplt__free(leader->secure.fresh);
    fplt__free(leader->secure.at_hand);
    fplt__free(leader->secure.all);
    fplt__free(leader->secure.set);
}

int fplt__secure_is_ready(const fplt__leader *leader)
{
    for (uint32_t i = 0; fplt__secure_is_on(leader) && i < leader->settings.members; i++)
        if (!leader->roster.session[i].has_key)
            return 0;
    return 1;
}

/* --- lists --- */

static uint8_t *entry_of(uint8_t *list, uint32_t i)
{
    return list + (size_t)i * ENTRY;
}

static void note_rekeyed(fplt__leader *leader, uint32_t i)
{
    fplt__member_session *session = &leader->roster.session[i];
    session->is_rekeyed =
        leader->secure.is_begun && session->has_key &&
        memcmp(entry_of(leader->secure.fresh, i), entry_of(leader->secure.at_hand, i), KEY) != 0;
}

void fplt__secure_keep_key(fplt__leader *leader, uint32_t i, const fplt__report *report)
{
    uint8_t *known = NULL;
    if (!fplt__secure_is_on(leader) || !report->has_secure)
        return;
    known = entry_of(leader->secure.fresh, i);
    if (leader->roster.session[i].has_key && memcmp(known, report->secure.entry, ENTRY) == 0)
        return;
    fplt__secagg_plan plan = {.members = leader->settings.members,
                              .identity = leader->plan.agreement->identities};
    memcpy(plan.hash, &leader->record.hash, sizeof plan.hash);
    if (!fplt__secagg_key_valid(&plan, i, report->secure.entry)) {
        fplt__leader_log(leader, i, "refused", "it tells a key that its identity did not sign");
        return;
    }
    memcpy(known, report->secure.entry, ENTRY);
    leader->roster.session[i].has_key = 1;
    note_rekeyed(leader, i);
}

int fplt__secure_has_key(const fplt__leader *leader, uint32_t i)
{
    return leader->roster.session[i].has_key || fplt__secagg_list_has(leader->secure.list, i);
}

void fplt__secure_choose_list(fplt__leader *leader)
{
    if (!fplt__secure_is_on(leader))
        return;
    leader->secure.is_begun = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        uint8_t *entry = entry_of(leader->secure.list, i);
        const uint8_t *fresh = entry_of(leader->secure.fresh, i);
        leader->roster.session[i].is_rekeyed = 0;
        if (!fplt__is_standing(leader, i)) { /* with a quorum the others go on without it */
            leader->record.keys_changed |= fplt__secagg_list_has(leader->secure.list, i);
            memset(entry, 0, ENTRY);
            continue;
        }
        if (!leader->roster.session[i].has_key || memcmp(entry, fresh, ENTRY) == 0)
            continue;
        memcpy(entry, fresh, ENTRY);
        leader->record.keys_changed = 1;
    }
}

/* --- sessions --- */

/* The payloads of SESSION: keys and cohort, and behind them the list. */
static fplt_status make_payloads(fplt__leader *leader, fplt_error *error)
{
    size_t set = fplt__set_bytes(leader->settings.members), list = list_size(leader);
    fplt__shared *brief = NULL, *full = NULL;
    fplt_status status = fplt__shared_make(KEY + set, &brief, error);
    if (!status)
        status = fplt__shared_make(KEY + set + list, &full, error);
    if (status) {
        fplt__shared_release(brief);
        return status;
    }
    memcpy(brief->bytes, leader->secure.keys, KEY);
    memcpy(brief->bytes + KEY, leader->secure.cohort, set);
    memcpy(full->bytes, brief->bytes, brief->size);
    memcpy(full->bytes + brief->size, leader->secure.at_hand, list);
    fplt__shared_release(leader->secure.brief);
    fplt__shared_release(leader->secure.full);
    leader->secure.brief = brief;
    leader->secure.full = full;
    leader->secure.brief_digest = fplt__body_hash(brief->bytes, brief->size);
    leader->secure.full_digest = fplt__body_hash(full->bytes, full->size);
    return FPLT_OK;
}

/* Begins a session of `count` numbers with this list. */
static fplt_status begin_secure_sum(fplt__leader *leader, const fplt__secagg_task *task,
                                    const uint8_t *list, int is_question, size_t count,
                                    unsigned width, fplt_error *error)
{
    fplt__secagg_plan plan = {.members = leader->settings.members};
    uint8_t before[KEY];
    memcpy(before, leader->secure.keys, KEY);
    memcpy(plan.hash, &leader->record.hash, sizeof plan.hash);
    memcpy(leader->secure.at_hand, list, list_size(leader));
    leader->secure.cohort = task->cohort;
    leader->secure.is_begun = 0;
    fplt__secagg_list_hash(&plan, list, leader->secure.keys);
    leader->secure.lists += memcmp(before, leader->secure.keys, KEY) != 0;
    fplt_status status = fplt__secagg_total_begin(leader->secure.total, task, list, is_question,
                                                  count, width, error);
    if (status || (status = make_payloads(leader, error)))
        return status;
    leader->secure.is_begun = 1;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        note_rekeyed(leader, i);
    return FPLT_OK;
}

fplt_status fplt__secure_begin_round(fplt__leader *leader, fplt_error *error)
{
    if (!fplt__secure_is_on(leader))
        return FPLT_OK;
    const fplt__agreement *agreement = leader->plan.agreement;
    const fplt__secagg_task task = {.kind = FPLT__TRAIN,
                                    .exchange = leader->open.exchange,
                                    .incarnation = leader->record.incarnation,
                                    .round = leader->record.round,
                                    .cohort = leader->roster.cohort,
                                    .digest = leader->open.digest.byte};
    leader->secure.stage = FPLT__STAGE_UPLOADS;
    leader->secure.enough = 0;
    return begin_secure_sum(leader, &task, leader->secure.list, 0,
                            fplt__plan_up(&agreement->plan, leader->open.exchange),
                            agreement->width, error);
}

/* What members told last, else what is stored; 0 where a member never told a key. */
static int newest_list(const fplt__leader *leader, uint8_t *list)
{
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        const uint8_t *from =
            leader->roster.session[i].has_key ? leader->secure.fresh : leader->secure.list;
        memcpy(list + (size_t)i * ENTRY, from + (size_t)i * ENTRY, ENTRY);
        if (!fplt__secagg_list_has(list, i))
            return 0;
    }
    return 1;
}

static fplt_status begin_whole(fplt__leader *leader, const fplt__secagg_task *task, size_t count,
                               fplt_error *error)
{
    uint8_t *list;
    fplt_status status = fplt__alloc_into(&list, list_size(leader), 1, "a list of keys", error);
    if (status)
        return status;
    status = newest_list(leader, list)
                 ? begin_secure_sum(leader, task, list, 1, count, QUESTION_WIDTH, error)
                 : fplt_error_set(error, FPLT_FAILED, "a member has not told its key");
    fplt__free(list);
    return status;
}

fplt_status fplt__secure_begin_question(fplt__leader *leader, fplt_error *error)
{
    if (!fplt__secure_is_on(leader))
        return FPLT_OK;
    const fplt__secagg_task task = {.kind = leader->ask.kind,
                                    .exchange = leader->ask.step,
                                    .incarnation = leader->record.incarnation,
                                    .round = leader->record.round,
                                    .cohort = leader->secure.all,
                                    .digest = leader->ask.digest.byte};
    return begin_whole(leader, &task, (size_t)leader->ask.numbers, error);
}

int fplt__secure_masks_enrolment(const fplt__leader *leader)
{
    return fplt__secure_is_on(leader) && leader->plan.shape.mirrored;
}

void fplt__secure_begin_repair(fplt__leader *leader)
{
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    fplt__frame frame;
    fplt_error error;
    if (!fplt__secure_masks_enrolment(leader) || leader->secure.is_begun)
        return;
    fplt__repair_head(leader, 0, head, &model);
    fplt__shared_release(model);
    if (!model || fplt__frame_read(head, &frame, &error)) {
        leader->failed = 1;
        return;
    }
    const fplt__secagg_task task = {.kind = FPLT__ENROL,
                                    .incarnation = frame.incarnation,
                                    .round = frame.round,
                                    .cohort = leader->secure.all,
                                    .digest = frame.digest.byte};
    begin_whole(leader, &task, leader->plan.shape.mirrored * leader->plan.n, &error);
}

int fplt__secure_is_hopeless(const fplt__leader *leader)
{
    if (!fplt__secure_is_on(leader) || fplt__stages_are_on(leader))
        return 0;
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        const fplt__member_session *session = &leader->roster.session[i];
        if (session->is_rekeyed && fplt__round_waits_for(leader, i) &&
            !(session->report.has_staged && session->report.staged.round == leader->record.round))
            return 1;
    }
    return 0;
}

void fplt__secure_look(fplt__leader *leader)
{
    int asks = leader->ask.kind && leader->ask.kind != FPLT__MOMENTS;
    int repairs = leader->record.state == FPLT__REPAIR;
    if (!fplt__secure_is_on(leader) || (!asks && !repairs))
        return;
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        const fplt__member_session *session = &leader->roster.session[i];
        if (!session->is_rekeyed || (asks ? session->answered : session->enrolled))
            continue;
        if (asks) {
            fplt__ask_again(leader);
        } else {
            leader->secure.is_begun = 0;
            fplt__repair_again(leader);
        }
        break;
    }
    if (repairs)
        fplt__secure_begin_repair(leader);
}

void fplt__secure_add_session(fplt__leader *leader, fplt__reply *reply, uint32_t i,
                              const uint8_t task[FPLT__FRAME_HEAD])
{
    const fplt__report *report = &leader->roster.session[i].report;
    int holds = report->secure.has_keys &&
                memcmp(&report->secure.keys, leader->secure.keys, sizeof report->secure.keys) == 0;
    fplt__shared *body = holds ? leader->secure.brief : leader->secure.full;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__frame frame;
    fplt_error error;
    FPLT__ASSERT(leader->secure.is_begun);
    if (fplt__frame_read(task, &frame, &error))
        return;
    frame.kind = FPLT__SESSION;
    frame.encoding = FPLT__BYTES;
    frame.scalars = 0;
    frame.count = 0;
    frame.payload = body->size;
    frame.digest = holds ? leader->secure.brief_digest : leader->secure.full_digest;
    fplt__frame_write(&frame, head);
    fplt__leader_add_frame(leader, reply, head, body);
    leader->open.bytes_down += FPLT__FRAME_HEAD + body->size;
}

/* --- messages and sums --- */

/* The first numbers of what came or of a sum, as numbers: once a process, and of few members, so that an operator sees what
 * can be seen. */
static int is_shown(const fplt__leader *leader)
{
    return leader->open.is_open && !leader->open.exchange && !leader->secure.whole &&
           leader->settings.members <= MOST_SHOWN;
}

static void show_numbers(fplt__leader *leader, uint32_t i, const char *word, const char *what,
                         const uint64_t *words, unsigned width)
{
    char text[SHOWN * 16] = "";
    double unit = leader->plan.agreement->plan.unit;
    size_t count = fplt__plan_up(&leader->plan.agreement->plan, 0), used = 0;
    for (size_t k = 0; k < count && k < SHOWN; k++) {
        double low = (double)words[k * (width / 8)], x = (double)(int64_t)words[k * (width / 8)];
        if (width == 16 && !(unit > 0)) /* else both words hold one integer, which fits the first */
            x = (double)(int64_t)words[2 * k + 1] + ldexp(low, -64);
        used += (size_t)snprintf(text + used, sizeof text - used, " %.3g", unit > 0 ? unit * x : x);
    }
    fplt__leader_log(leader, i, word, "%s%s", what, text);
}

fplt_status fplt__secure_take(fplt__leader *leader, uint32_t i, const fplt__frame *frame,
                              const uint8_t *body, fplt_error *error)
{
    const uint8_t *payload = fplt__frame_payload(frame, body);
    if (!leader->secure.is_begun || frame->encoding != FPLT__BYTES || frame->scalars)
        return fplt_error_set(error, FPLT_BAD_DATA, "a message that is not masked");
    fplt_status status =
        fplt__secagg_total_upload(leader->secure.total, i, payload, (size_t)frame->payload, error);
    if (!status && is_shown(leader)) {
        uint64_t words[2 * SHOWN];
        unsigned width = leader->plan.agreement->width;
        size_t most = frame->count < SHOWN ? (size_t)frame->count : SHOWN;
        const uint8_t *numbers = payload + frame->payload - frame->count * width;
        for (size_t k = 0; k < most * (width / 8); k++)
            words[k] = fplt__get64(numbers + 8 * k);
        show_numbers(leader, i, "masked", "its masked update begins with", words, width);
    }
    return status;
}

/* The sum as words in the scratch memory. */
static fplt_status read_words(fplt__leader *leader, size_t count)
{
    fplt_error error;
    fplt_status status = fplt__leader_room(leader, count + 1, &error);
    if (!status)
        fplt__secagg_total_words(leader->secure.total, leader->scratch.words);
    return status;
}

fplt_status fplt__secure_give_hub(fplt__leader *leader)
{
    unsigned exchange = leader->open.exchange;
    fplt_status status = read_words(leader, fplt__plan_up(&leader->plan.agreement->plan, exchange));
    if (!status && is_shown(leader))
        show_numbers(leader, UINT32_MAX, "sum", "the sum of all masked updates begins with",
                     leader->scratch.words, 16);
    if (!status)
        status = fplt_hub_receive(leader->plan.hub, exchange, leader->scratch.words);
    leader->secure.ruined = status ? leader->secure.ruined + 1 : 0;
    return status;
}

fplt_status fplt__secure_give_sum(fplt__leader *leader, fplt__sum *sum)
{
    size_t count = fplt__sum_length(sum);
    fplt_status status = read_words(leader, count);
    return status ? status : fplt__sum_add_words(sum, 0, leader->scratch.words, count);
}

uint64_t fplt__secure_longest(const fplt__leader *leader)
{
    return fplt__secure_is_on(leader) ? 2 * KEY + 64 * (uint64_t)leader->settings.members : 0;
}
