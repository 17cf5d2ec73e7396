/* Answers to held polls: verdicts, tasks, questions, the end. */
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "protocol/leading.h"

enum { HOLD = 25000 };

uint64_t fplt__leader_hold(const fplt__leader *leader)
{
    return leader->settings.hold ? leader->settings.hold : HOLD;
}

void fplt__leader_add_frame(fplt__leader *leader, fplt__reply *reply,
                            const uint8_t head[FPLT__FRAME_HEAD], fplt__shared *body)
{
    fplt_error error;
    fplt__shared *front = NULL;
    if (!fplt__shared_make(FPLT__FRAME_HEAD, &front, &error))
        memcpy(front->bytes, head, FPLT__FRAME_HEAD);
    fplt__leader_add_part(leader, reply, front);
    if (body && body->size) {
        fplt__shared_hold(body);
        fplt__leader_add_part(leader, reply, body);
    }
}

/* Accepted (exchange 0, cohort 1), refused (cohort 0), or the incarnation is open (exchange 1). */
static void add_verdict(fplt__leader *leader, fplt__reply *reply, uint32_t i, uint64_t round,
                        int accepted, int opened)
{
    FPLT__ASSERT(leader->plan.agreement && i < leader->settings.members);
    FPLT__ASSERT(!opened || accepted);
    FPLT__ASSERT(!leader->commit.pending || FPLT__PLANTED(FPLT__EARLY_VERDICT));
    fplt_error error;
    const fplt__closing *closing = accepted && !opened ? fplt__closing_of(leader, round) : NULL;
    size_t count =
        closing ? fplt_plan_down(&leader->plan.agreement->plan, leader->plan.shape.exchanges) : 0;
    fplt__shared *body = NULL;
    uint8_t head[FPLT__FRAME_HEAD];
    if (fplt__shared_make(8 * count, &body, &error)) {
        leader->failed = 1;
        return;
    }
    if (closing)
        fplt__put_reals(body->bytes, closing->vector, count);
    fplt__frame frame = {.kind = FPLT__VERDICT,
                         .exchange = (uint8_t)opened,
                         .encoding = FPLT__DOUBLES,
                         .incarnation = leader->record.incarnation,
                         .member_index = i,
                         .round = round,
                         .cohort = (uint32_t)accepted,
                         .version = leader->roster.row[i].version,
                         .count = count,
                         .payload = 8 * count,
                         .plan = leader->record.hash,
                         .digest = fplt__body_hash(body->bytes, body->size)};
    fplt__frame_write(&frame, head);
    fplt__leader_add_frame(leader, reply, head, body);
    fplt__shared_release(body);
}

/* The end of a run that was concluded without rounds has no model. */
static void add_end_without_model(fplt__leader *leader, fplt__reply *reply, uint32_t i)
{
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__frame frame = {.kind = FPLT__END,
                         .exchange = (unsigned)fplt__leader_follows(leader),
                         .encoding = FPLT__DOUBLES,
                         .member_index = i,
                         .cohort = leader->settings.members,
                         .plan = leader->record.hash,
                         .digest = fplt__body_hash(NULL, 0)};
    fplt__frame_write(&frame, head);
    fplt__leader_add_frame(leader, reply, head, NULL);
}

static void add_end(fplt__leader *leader, fplt__reply *reply, uint32_t i)
{
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    if (!leader->plan.hub) {
        add_end_without_model(leader, reply, i);
        return;
    }
    fplt__repair_head(leader, i, head, &model);
    head[5] = FPLT__END;
    head[6] = (uint8_t)fplt__leader_follows(leader);
    if (model)
        fplt__leader_add_frame(leader, reply, head, model);
    fplt__shared_release(model);
}

/* None where the run is halted: it would take the place of the proof that shows this copy to be old. */
static void add_proof(const fplt__leader *leader, fplt__reply *reply, uint32_t i)
{
    FPLT__ASSERT(!reply->has_proof);
    FPLT__ASSERT(i < leader->settings.members);
    fplt__leader_state state = leader->record.state;
    if (!leader->plan.agreement || state < FPLT__ROUND || state == FPLT__HALTED)
        return;
    reply->has_proof = 1;
    reply->proof = (fplt__proof){.incarnation = leader->record.incarnation,
                                 .round = leader->record.round,
                                 .version = leader->roster.row[i].version,
                                 .chain = leader->roster.row[i].chain};
    fplt__proof_sign(&reply->proof, &leader->record.hash, i, leader->settings.receipt_key);
}

static int must_refuse(const fplt__leader *leader, uint32_t i)
{
    const fplt__member_session *member_session = &leader->roster.session[i];
    return member_session->finding == FPLT__KNOWN && member_session->report.has_staged &&
           (member_session->report.staged.round != leader->record.round ||
            leader->record.state == FPLT__REPAIR);
}

/* Whose vectors are in for the next incarnation hears no verdict of the last one: they would change. */
static int hears_verdicts(const fplt__leader *leader, uint32_t i)
{
    return leader->record.state != FPLT__REPAIR || !leader->roster.session[i].enrolled;
}

/* What a member can be told now; nothing: 0. */
static int has_news(const fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(i < leader->settings.members);
    const fplt__member_session *member_session = &leader->roster.session[i];
    fplt__leader_state state = leader->record.state;
    if (state == FPLT__FORMING)
        return leader->ask.kind && member_session->consented && !member_session->answered;
    if (state == FPLT__PLANNED || state == FPLT__HALTED)
        return 0;
    if (state == FPLT__DONE || state == FPLT__ENDED)
        return (leader->plan.hub || state == FPLT__DONE || /* none: an analysis, or refused */
                leader->settings.optional) &&
               !(member_session->report.has_trouble &&
                 strcmp(member_session->report.trouble.word, FPLT__HAS_END) == 0);
    if (hears_verdicts(leader, i) &&
        (member_session->finding == FPLT__ACCEPTED || member_session->finding == FPLT__OPENED ||
         must_refuse(leader, i)))
        return 1;
    if (state == FPLT__REPAIR)
        return !member_session->enrolled && fplt__is_standing(leader, i) &&
               (!fplt__secure_masks_enrolment(leader) || leader->secure.is_begun);
    if (member_session->finding == FPLT__LOST)
        return member_session->enrols && fplt__is_standing(leader, i);
    if (leader->ask.kind)
        return !member_session->answered;
    return !leader->paused &&
           (fplt__round_waits_for(leader, i) || fplt__stage_waits_for(leader, i));
}

static void add_news(fplt__leader *leader, fplt__reply *reply, uint32_t i)
{
    FPLT__ASSERT(leader->roster.session[i].ticket);
    FPLT__ASSERT(leader->record.state != FPLT__HALTED && leader->record.state != FPLT__PLANNED);
    fplt__member_session *member_session = &leader->roster.session[i];
    fplt__leader_state state = leader->record.state;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    int hears = hears_verdicts(leader, i);
    if (hears && member_session->finding == FPLT__ACCEPTED)
        add_verdict(leader, reply, i, leader->roster.row[i].last_round, 1, 0);
    if (hears && member_session->finding == FPLT__OPENED)
        add_verdict(leader, reply, i, leader->record.round, 1, 1);
    if (hears && must_refuse(leader, i))
        add_verdict(leader, reply, i, member_session->report.staged.round, 0, 0);
    if (state == FPLT__DONE || state == FPLT__ENDED) {
        add_end(leader, reply, i);
    } else if (fplt__is_standing(leader, i) &&
               ((state == FPLT__REPAIR && !member_session->enrolled &&
                 (!fplt__secure_masks_enrolment(leader) || leader->secure.is_begun)) ||
                (state == FPLT__ROUND && member_session->finding == FPLT__LOST &&
                 member_session->enrols))) {
        fplt__repair_head(leader, i, head, &model);
        if (fplt__secure_masks_enrolment(leader))
            fplt__secure_add_session(leader, reply, i, head);
        if (model)
            fplt__leader_add_frame(leader, reply, head, model);
        fplt__shared_release(model);
    } else if (leader->ask.kind && !member_session->answered) {
        fplt__ask_head(leader, i, head);
        if (fplt__secure_is_on(leader))
            fplt__secure_add_session(leader, reply, i, head);
        fplt__leader_add_frame(leader, reply, head, leader->ask.down);
    } else if (!leader->ask.kind && !leader->paused && member_session->finding != FPLT__LOST &&
               fplt__round_waits_for(leader, i)) {
        fplt__round_head(leader, i, head);
        if (fplt__secure_is_on(leader))
            fplt__secure_add_session(leader, reply, i, head);
        fplt__leader_add_frame(leader, reply, head, leader->open.down);
        leader->open.bytes_down += FPLT__FRAME_HEAD + leader->open.down->size;
    } else if (!leader->ask.kind && !leader->paused && member_session->finding != FPLT__LOST &&
               fplt__stage_waits_for(leader, i)) {
        fplt__stage_add_question(leader, reply, i);
    }
}

void fplt__leader_answer_polls(fplt__leader *leader)
{
    uint64_t hold = fplt__leader_hold(leader);
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        fplt__member_session *member_session = &leader->roster.session[i];
        if (!member_session->ticket)
            continue;
        int ready = !leader->commit.pending || FPLT__PLANTED(FPLT__EARLY_VERDICT);
        int news = ready && has_news(leader, i);
        if (!news && leader->now - member_session->since < hold)
            continue;
        fplt__reply *reply =
            fplt__leader_add_reply(leader, member_session->ticket, i, news ? 200 : 204);
        if (reply && ready)
            add_proof(leader, reply, i);
        if (reply && news)
            add_news(leader, reply, i);
        member_session->ticket = 0;
    }
}
