/* Secure aggregation with a quorum: how a round ends without some of its cohort. What is left of the cohort is W; members
 * leave it and never return. Everything here is volatile: a coordinator that is started again asks for the uploads of the
 * whole cohort again, and where agents had gone further the round is void.
 *
 *     stage    asked    ends                                              otherwise
 *     UPLOADS  W        all are in and W is the cohort: FINAL             fewer than t can still send: void
 *                       all are in, or t at the deadline: MISSING
 *     MISSING  W        all have told their seeds: PROPOSE                somebody cannot, or the deadline has passed: W
 *                                                                         becomes smaller, UPLOADS again; below t: void
 *     PROPOSE  W        t votes, and all or one second later: FINAL       fewer than t can still vote: void
 *     FINAL    W        t good shares of each member of W: the sum        fewer than t can still answer: void */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "protocol/leading.h"

enum { VOTES_WAIT = 1000, VOID_ROW = 3 };

static const unsigned kind_of[FPLT__STAGES] = {FPLT__TRAIN, FPLT__MISSING, FPLT__PROPOSE,
                                               FPLT__FINAL};

const char *fplt__stage_name(enum fplt__secure_stage stage)
{
    static const char *const names[FPLT__STAGES] = {"uploads", "missing", "propose", "final"};
    return stage < FPLT__STAGES ? names[stage] : NULL;
}

/* As secagg/session.h has it. */
static fplt__secagg_stage question_of(const fplt__leader *leader)
{
    FPLT__ASSERT(leader->secure.stage > FPLT__STAGE_UPLOADS);
    return leader->secure.stage == FPLT__STAGE_MISSING   ? FPLT__SECAGG_MISSING
           : leader->secure.stage == FPLT__STAGE_PROPOSE ? FPLT__SECAGG_PROPOSE
                                                         : FPLT__SECAGG_FINAL;
}

static int is_left(const fplt__leader *leader, uint32_t i)
{
    return fplt__set_has(fplt__secagg_total_left(leader->secure.total), i);
}

int fplt__stages_want_upload(const fplt__leader *leader, uint32_t i)
{
    const fplt__member_session *session = &leader->roster.session[i];
    if (!fplt__stages_are_on(leader))
        return 1;
    if (leader->secure.stage != FPLT__STAGE_UPLOADS || !is_left(leader, i))
        return 0;
    /* another process than that of the list can only send what is stored */
    return !session->is_rekeyed ||
           (session->report.has_staged && session->report.staged.round == leader->record.round);
}

/* Whether member i of W may still answer questions about the session. */
static int can_answer(const fplt__leader *leader, uint32_t i)
{
    const fplt__member_session *session = &leader->roster.session[i];
    return fplt__is_standing(leader, i) && !session->is_rekeyed && !session->absent &&
           !session->left_out && !session->spent && !fplt__is_silent(leader, i, 0);
}

int fplt__stage_waits_for(const fplt__leader *leader, uint32_t i)
{
    return fplt__stages_are_on(leader) && leader->open.is_open &&
           leader->record.state == FPLT__ROUND && leader->secure.stage > FPLT__STAGE_UPLOADS &&
           is_left(leader, i) &&
           !fplt__secagg_total_has(leader->secure.total, question_of(leader), i) &&
           can_answer(leader, i);
}

static uint32_t count_waited(const fplt__leader *leader)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        count += (uint32_t)fplt__stage_waits_for(leader, i);
    return count;
}

static void begin_stage(fplt__leader *leader, enum fplt__secure_stage stage)
{
    leader->secure.stage = stage;
    leader->secure.enough = 0;
    leader->open.stage_since = leader->now;
    leader->open.deadline = leader->now + fplt__leader_round_timeout(leader);
}

/* Names of the members that are not in the sum or did not answer. */
static void name_missing(const fplt__leader *leader, char *text, size_t size)
{
    const fplt__proposal *proposal = &leader->plan.agreement->proposal;
    size_t used = 0;
    *text = 0;
    for (uint32_t i = 0; i < leader->settings.members && used < size; i++) {
        int is_missing =
            leader->secure.stage == FPLT__STAGE_UPLOADS
                ? !leader->roster.session[i].answers
                : !is_left(leader, i) ||
                      !fplt__secagg_total_has(leader->secure.total, question_of(leader), i);
        if (!fplt__bit(leader->roster.cohort, i) || !is_missing)
            continue;
        used += (size_t)(proposal->roster
                             ? snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                        proposal->roster[i])
                             : snprintf(text + used, size - used, "%s%u", used ? ", " : "", i));
    }
}

static void make_void(fplt__leader *leader, const char *why)
{
    char names[256];
    name_missing(leader, names, sizeof names);
    fplt__leader_log(leader, UINT32_MAX, "void",
                     "round %llu is void in the stage %s: %s (missing: %s)",
                     (unsigned long long)leader->record.round,
                     fplt__stage_name(leader->secure.stage), why, names);
    if (++leader->secure.void_row % VOID_ROW == 0)
        fplt__leader_log(
            leader, UINT32_MAX, "void",
            "%u rounds in a row are void; members that do not answer can be revoked: %s",
            leader->secure.void_row, names);
    fplt__round_void(leader);
}

/* --- uploads --- */

/* W becomes the set in `secure.set`. */
static void leave(fplt__leader *leader)
{
    uint32_t before = fplt__secagg_total_left_count(leader->secure.total);
    fplt__secagg_total_leave(leader->secure.total, leader->secure.set);
    fplt__leader_log(leader, UINT32_MAX, "missing", "round %llu goes on with %u of %u members",
                     (unsigned long long)leader->record.round,
                     fplt__secagg_total_left_count(leader->secure.total), before);
}

void fplt__stages_uploaded(fplt__leader *leader)
{
    FPLT__ASSERT(fplt__stages_are_on(leader) && leader->secure.stage == FPLT__STAGE_UPLOADS);
    FPLT__ASSERT(leader->open.received >= leader->plan.agreement->threshold);
    if (leader->open.received == leader->open.cohort_size) {
        begin_stage(leader, FPLT__STAGE_FINAL);
        return;
    }
    memset(leader->secure.set, 0, fplt__set_bytes(leader->settings.members));
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (leader->roster.session[i].answers > leader->open.exchange)
            fplt__set_add(leader->secure.set, i);
    if (leader->open.received < fplt__secagg_total_left_count(leader->secure.total))
        leave(leader);
    begin_stage(leader, FPLT__STAGE_MISSING);
}

/* --- stages --- */

/* The members of `secure.set` are left; their uploads are asked for again, since those of others are in the sum. */
static void shrink(fplt__leader *leader)
{
    if (fplt__set_count(leader->secure.set, leader->settings.members) <
        leader->plan.agreement->threshold) {
        make_void(leader, "fewer members are left than the quorum");
        return;
    }
    leave(leader);
    fplt__round_upload_again(leader);
    begin_stage(leader, FPLT__STAGE_UPLOADS);
}

static void look_missing(fplt__leader *leader)
{
    uint32_t members = leader->settings.members, able = 0;
    const fplt__secagg_total *total = leader->secure.total;
    int late = leader->now >= leader->open.deadline;
    if (fplt__secagg_total_answers(total, FPLT__SECAGG_MISSING) ==
        fplt__secagg_total_left_count(total)) {
        begin_stage(leader, FPLT__STAGE_PROPOSE);
        return;
    }
    memset(leader->secure.set, 0, fplt__set_bytes(members));
    for (uint32_t i = 0; i < members; i++)
        if (is_left(leader, i) && (fplt__secagg_total_has(total, FPLT__SECAGG_MISSING, i) ||
                                   (!late && can_answer(leader, i)))) {
            fplt__set_add(leader->secure.set, i);
            able++;
        }
    if (able < fplt__secagg_total_left_count(total))
        shrink(leader);
}

static void look_propose(fplt__leader *leader)
{
    const fplt__secagg_total *total = leader->secure.total;
    uint32_t votes = fplt__secagg_total_answers(total, FPLT__SECAGG_PROPOSE);
    uint32_t threshold = leader->plan.agreement->threshold, waited = count_waited(leader);
    if (votes >= threshold && !leader->secure.enough)
        leader->secure.enough = leader->now;
    if (votes >= threshold && (!waited || leader->now >= leader->secure.enough + VOTES_WAIT))
        begin_stage(leader, FPLT__STAGE_FINAL);
    else if (votes < threshold &&
             (votes + waited < threshold || leader->now >= leader->open.deadline))
        make_void(leader, "too few members vote for the set that is left");
}

static void look_final(fplt__leader *leader)
{
    uint32_t wrong = 0;
    fplt_error error;
    if (!fplt__secagg_total_is_open(leader->secure.total)) {
        if (!count_waited(leader) || leader->now >= leader->open.deadline)
            make_void(leader, "too few members give their shares");
        return;
    }
    if (fplt__secagg_total_unmask(leader->secure.total, &wrong, &error)) {
        fplt__round_leave_out(leader, wrong, error.text);
        make_void(leader, "the masks of a member cannot be removed");
        return;
    }
    leader->secure.void_row = 0;
    fplt__round_end_exchange(leader);
}

void fplt__stages_look(fplt__leader *leader)
{
    FPLT__ASSERT(fplt__stages_are_on(leader) && leader->open.is_open && !leader->commit.pending);
    if (leader->secure.stage == FPLT__STAGE_MISSING)
        look_missing(leader);
    if (leader->open.is_open && leader->secure.stage == FPLT__STAGE_PROPOSE)
        look_propose(leader);
    if (leader->open.is_open && leader->secure.stage == FPLT__STAGE_FINAL)
        look_final(leader);
}

int fplt__stages_can_go_on(const fplt__leader *leader)
{
    uint32_t able = 0;
    for (uint32_t i = 0; fplt__stages_are_on(leader) && i < leader->settings.members; i++) {
        const fplt__member_session *session = &leader->roster.session[i];
        int refused_session = session->report.has_trouble &&
                              strcmp(session->report.trouble.word, FPLT__NO_SESSION_WORD) == 0;
        able += fplt__is_standing(leader, i) && !session->spent && !session->left_out &&
                (!session->absent || refused_session || session->kept_answer);
    }
    return fplt__stages_are_on(leader) && able >= leader->plan.agreement->threshold;
}

uint64_t fplt__stages_wake(const fplt__leader *leader)
{
    if (!fplt__stages_are_on(leader) || !leader->open.is_open || !leader->secure.enough ||
        leader->secure.stage != FPLT__STAGE_PROPOSE)
        return UINT64_MAX;
    return leader->secure.enough + VOTES_WAIT;
}

/* --- messages --- */

void fplt__stage_add_question(fplt__leader *leader, fplt__reply *reply, uint32_t i)
{
    fplt__secagg_stage stage = question_of(leader);
    fplt__shared *body = NULL;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt_error error;
    if (fplt__shared_make(fplt__secagg_total_question_size(leader->secure.total, stage), &body,
                          &error)) {
        leader->failed = 1;
        return;
    }
    fplt__secagg_total_question(leader->secure.total, stage, i, body->bytes);
    fplt__frame frame = {.kind = (uint8_t)kind_of[leader->secure.stage],
                         .exchange = (uint8_t)leader->open.exchange,
                         .encoding = FPLT__BYTES,
                         .incarnation = leader->record.incarnation,
                         .member_index = i,
                         .round = leader->record.round,
                         .cohort = leader->open.cohort_size,
                         .version = leader->roster.row[i].version,
                         .payload = body->size,
                         .plan = leader->record.hash,
                         .digest = fplt__body_hash(body->bytes, body->size)};
    fplt__frame_write(&frame, head);
    fplt__leader_add_frame(leader, reply, head, body);
    leader->open.bytes_down += FPLT__FRAME_HEAD + body->size;
    fplt__shared_release(body);
}

void fplt__stage_update(fplt__leader *leader, const fplt__request *request,
                        const fplt__frame *frame, const uint8_t *body)
{
    uint32_t i = request->member_index;
    fplt_error error;
    if (!fplt__stages_are_on(leader)) {
        fplt__leader_fault(leader, request->ticket, i, 409, "other", 0, "this is never asked");
        return;
    }
    if (leader->record.state != FPLT__ROUND || !leader->open.is_open ||
        leader->secure.stage == FPLT__STAGE_UPLOADS ||
        frame->kind != kind_of[leader->secure.stage] || frame->exchange != leader->open.exchange ||
        frame->incarnation != leader->record.incarnation || frame->round != leader->record.round) {
        fplt__leader_taken(leader, request, 200); /* others were enough, or the stage is over */
        return;
    }
    if (frame->encoding != FPLT__BYTES || frame->scalars || frame->count ||
        fplt__secagg_total_answer(leader->secure.total, question_of(leader), i, body,
                                  (size_t)frame->payload, &error)) {
        fplt__leader_fault(leader, request->ticket, i, 409, "closed", 0,
                           "this does not answer the question about the session");
        return;
    }
    leader->open.bytes_up += request->size;
    fplt__leader_taken(leader, request, 202);
    fplt__round_look(leader);
}
