/* Rounds: cohort, question, updates, close. What a round receives is volatile; only its end, together
 * with the opening of the next, is committed. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "protocol/leading.h"

enum { MAX_CONFLICTS = 3 }; /* of one member: then it is left out of the run */

/* The cohort of the open round: the rule over the roster, without those who are gone. */
void fplt__round_choose(fplt__lead *lead)
{
    uint32_t members = lead->settings.members, count = members;
    for (uint32_t i = 0; i < members; i++)
        lead->active[i] = i;
    if (lead->participation)
        count =
            fplt_participation_choose(lead->participation, lead->agreement->plan.seed,
                                      lead->agreement->plan.run, lead->record.round, lead->active);
    memset(lead->cohort, 0, (members + 7) / 8);
    lead->cohort_size = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = lead->active[k];
        if (!fplt__is_standing(lead, i))
            continue;
        fplt__bit_set(lead->cohort, i, 1);
        lead->cohort_size++;
    }
}

static fplt_status make_question(fplt__lead *lead, fplt_error *error)
{
    size_t count = fplt_plan_down(&lead->agreement->plan, lead->exchange);
    size_t scalars = lead->shape.scalars;
    fplt__shared *down;
    fplt_status status = fplt__shared_make(8 * (scalars + count), &down, error);
    if (status)
        return status;
    fplt_hub_plan(lead->hub, lead->record.round, lead->cohort_size, &lead->question);
    status = fplt_hub_broadcast(lead->hub, &lead->question, lead->exchange, lead->numbers);
    fplt__put_reals(down->bytes, lead->question.scalar, scalars);
    fplt__put_reals(down->bytes + 8 * scalars, lead->numbers, count);
    fplt__shared_release(lead->down);
    lead->down = down;
    lead->down_digest = fplt__body_hash(down->bytes, down->size);
    return status;
}

static void forget_answers(fplt__lead *lead)
{
    lead->received = 0;
    for (uint32_t i = 0; i < lead->settings.members; i++)
        lead->guest[i].answers = 0;
}

/* Makes the question of the open round and starts its clock. */
void fplt__round_open(fplt__lead *lead)
{
    fplt_error error;
    for (uint32_t i = 0; fplt__lead_needs_all(lead) && i < lead->settings.members; i++)
        if (!fplt__is_standing(lead, i)) {
            fplt__lead_end_without(lead, i, "the algorithm needs all members");
            return;
        }
    lead->exchange = 0;
    lead->since = lead->now;
    lead->deadline = lead->now + fplt__lead_patience(lead);
    forget_answers(lead);
    for (uint32_t i = 0; i < lead->settings.members; i++)
        lead->guest[i].left_out = lead->guest[i].absent = 0;
    lead->bytes_up = lead->bytes_down = 0;
    if (lead->stopping.change > 0 && fplt_hub_model(lead->hub, lead->before))
        memset(lead->before, 0, lead->n * sizeof *lead->before);
    if (make_question(lead, &error)) {
        fplt__lead_finish(lead, FPLT__ENDED, "failed", "the coordinator's step failed");
        return;
    }
    lead->opened = 1;
    lead->slowest[lead->slow % 10].round = lead->record.round;
    lead->slowest[lead->slow % 10].since = lead->now;
    lead->slowest[lead->slow % 10].most = 0;
}

/* How long the update of a round took, in time or late. */
static void note_arrival(fplt__lead *lead, uint64_t round)
{
    for (int k = 0; k < 10; k++) {
        uint64_t took = lead->now - lead->slowest[k].since;
        if (lead->slowest[k].since && lead->slowest[k].round == round &&
            took > lead->slowest[k].most)
            lead->slowest[k].most = took;
    }
}

/* Back to the beginning of the round, as it was committed: all are asked again. */
void fplt__round_forget(fplt__lead *lead)
{
    fplt_error error;
    fplt_hub_abandon(lead->hub);
    forget_answers(lead);
    if (!lead->opened)
        return;
    if (lead->exchange)
        fplt_hub_decode(lead->hub, lead->hub_bytes->bytes, lead->hub_bytes->size, &error);
    lead->exchange = 0;
    if (make_question(lead, &error))
        fplt__lead_finish(lead, FPLT__ENDED, "failed", "the coordinator's step failed");
}

int fplt__round_waits_for(const fplt__lead *lead, uint32_t i)
{
    const fplt__guest *guest = &lead->guest[i];
    return lead->opened && lead->record.state == FPLT__ROUND && fplt__bit(lead->cohort, i) &&
           !guest->left_out && !guest->absent && !guest->spent && fplt__is_standing(lead, i) &&
           guest->answers <= lead->exchange;
}

void fplt__round_head(const fplt__lead *lead, uint32_t i, uint8_t head[FPLT__FRAME_HEAD])
{
    uint32_t position = 0;
    for (uint32_t j = 0; j < i; j++)
        position += (uint32_t)fplt__bit(lead->cohort, j);
    fplt__frame frame = {.kind = FPLT__TRAIN,
                         .exchange = (uint8_t)lead->exchange,
                         .encoding = FPLT__DOUBLES,
                         .leg = lead->record.leg,
                         .identity = i,
                         .round = lead->record.round,
                         .cohort = lead->cohort_size,
                         .position = position,
                         .version = lead->row[i].version,
                         .count = fplt_plan_down(&lead->agreement->plan, lead->exchange),
                         .scalars = lead->shape.scalars,
                         .plan = lead->record.hash,
                         .digest = lead->down_digest};
    frame.payload = 8 * frame.count;
    fplt__frame_write(&frame, head);
}

const fplt__closing *fplt__closing_of(const fplt__lead *lead, uint64_t round)
{
    for (size_t k = 0; k < lead->closing_count; k++)
        if (lead->closing[k].round == round)
            return &lead->closing[k];
    return NULL;
}

/* Whether a member accepted in that round may still need its closing vector. */
static int is_needed(const fplt__lead *lead, uint64_t round)
{
    for (uint32_t i = 0; i < lead->settings.members; i++)
        if (lead->row[i].version && lead->row[i].last_round == round && !lead->guest[i].told)
            return 1;
    return 0;
}

static void drop_closings(fplt__lead *lead)
{
    size_t kept = 0;
    for (size_t k = 0; k < lead->closing_count; k++) {
        if (is_needed(lead, lead->closing[k].round) && !FPLT__PLANTED(FPLT__NO_CLOSING))
            lead->closing[kept++] = lead->closing[k];
        else
            fplt__free((double *)lead->closing[k].vector);
    }
    lead->closing_count = kept;
}

/* The last broadcast of a round, for who finishes with it; its digest, or zeros. */
static fplt_status keep_closing(fplt__lead *lead, fplt__digest *digest, fplt_error *error)
{
    size_t count = fplt_plan_down(&lead->agreement->plan, lead->shape.exchanges);
    memset(digest, 0, sizeof *digest);
    drop_closings(lead);
    if (!lead->shape.finish_down)
        return FPLT_OK;
    double *vector;
    fplt_status status = fplt__grow(&lead->closing, &lead->closing_room, lead->closing_count + 1,
                                    sizeof *lead->closing, "closing vectors", error);
    if (status ||
        (status = fplt__alloc_into(&vector, count, sizeof *vector, "a closing vector", error)))
        return status;
    lead->closing[lead->closing_count++] = (fplt__closing){lead->record.round, vector};
    status = fplt_hub_broadcast(lead->hub, &lead->question, lead->shape.exchanges, vector);
    fplt__put_reals((uint8_t *)lead->numbers, vector, count);
    *digest = fplt__body_hash(lead->numbers, 8 * count);
    return status;
}

static void accept(fplt__lead *lead, uint32_t i, const fplt__digest *closing)
{
    fplt__member_row *row = &lead->row[i];
    fplt__guest *guest = &lead->guest[i];
    row->last_digest = fplt__work_digest(guest->answer, lead->shape.exchanges);
    row->before = row->chain;
    row->chain = fplt__chain_next(&row->chain, lead->record.round, &row->last_digest, closing);
    row->last_round = lead->record.round;
    row->version++;
    guest->told = 0;
    fplt__bit_set(lead->changed, i, 1);
    fplt__bit_set(lead->accepted, i, 1);
}

static void note_move(fplt__lead *lead, uint32_t active)
{
    double moved = 0;
    lead->stalled = 0;
    if (!(lead->stopping.change > 0) || fplt_hub_model(lead->hub, lead->model))
        return;
    for (size_t j = 0; j < lead->n; j++)
        moved += (lead->model[j] - lead->before[j]) * (lead->model[j] - lead->before[j]);
    lead->stalled = fplt__has_stalled(&lead->stopping, active, sqrt(moved),
                                      sqrt(fplt__squared_norm(lead->model, lead->n)));
}

/* Closes the round, empty where it is void, and opens the next; one commit. */
static void close_round(fplt__lead *lead, int is_void)
{
    fplt_error error;
    fplt__digest closing;
    memset(lead->accepted, 0, (lead->settings.members + 7) / 8);
    if (is_void || !lead->received) {
        if (lead->exchange || lead->received)
            fplt__round_forget(lead);
        drop_closings(lead);
    } else {
        lead->question.active = lead->received;
        if (fplt_hub_absorb(lead->hub, &lead->question, lead->exchange) ||
            keep_closing(lead, &closing, &error)) {
            fplt__lead_finish(lead, FPLT__ENDED, "diverged",
                              "the sum over the agents is out of range");
            return;
        }
        for (uint32_t i = 0; i < lead->settings.members; i++)
            if (lead->guest[i].answers == lead->shape.exchanges)
                accept(lead, i, &closing);
    }
    note_move(lead, is_void ? 0 : lead->received);
    fplt__lead_say(lead, UINT32_MAX, is_void ? "void" : "closed", "round %llu %s with %u of %u",
                   (unsigned long long)lead->record.round, is_void ? "is void" : "closed",
                   is_void ? 0 : lead->received, lead->cohort_size);
    lead->trace = (fplt__trace_row){.round = lead->record.round,
                                    .leg = lead->record.leg,
                                    .accepted = lead->accepted,
                                    .is_void = is_void,
                                    .seconds = (double)(lead->now - lead->since) / 1000,
                                    .bytes_up = lead->bytes_up,
                                    .bytes_down = lead->bytes_down};
    lead->record.trace = &lead->trace;
    lead->record.round++;
    lead->opened = 0;
    lead->due = 1;
    lead->slow += lead->cohort_size > 0;
    fplt__round_choose(lead);
    lead->record.hub_changed = 1;
    fplt__lead_commit(lead);
}

uint32_t fplt__round_quorum(const fplt__lead *lead)
{
    if (fplt__lead_needs_all(lead))
        return lead->cohort_size;
    uint32_t wanted = lead->agreement->quorum;
    if (!wanted)
        wanted = lead->cohort_size / 2 + 1;
    return wanted < lead->cohort_size ? wanted : lead->cohort_size;
}

/* The last exchange closes the round; the first of two begins the second among who answered. */
static void end_exchange(fplt__lead *lead)
{
    fplt_error error;
    if (lead->exchange + 1 == lead->shape.exchanges) {
        close_round(lead, 0);
        return;
    }
    lead->question.active = lead->received;
    if (fplt_hub_absorb(lead->hub, &lead->question, lead->exchange)) {
        fplt__lead_finish(lead, FPLT__ENDED, "diverged", "the sum over the agents is out of range");
        return;
    }
    lead->exchange++;
    lead->received = 0;
    if (make_question(lead, &error))
        fplt__lead_finish(lead, FPLT__ENDED, "failed", "the coordinator's step failed");
}

int fplt__is_silent(const fplt__lead *lead, uint32_t i, uint64_t size)
{
    const fplt__guest *guest = &lead->guest[i];
    uint64_t silence = lead->settings.silence ? lead->settings.silence : 60000;
    silence += size * 1000 / FPLT__SLOWEST;
    return lead->now - (guest->heard ? guest->last_heard : lead->since) > silence;
}

/* Who is still waited for, and how many of the cohort can still answer; 0, with both counted only so far, once
 * it is clear that the round goes on: of every update that comes this is asked. */
static int count_missing(const fplt__lead *lead, uint32_t quorum, uint32_t *missing,
                         uint32_t *possible)
{
    int late = lead->now >= lead->deadline;
    *missing = *possible = 0;
    for (uint32_t i = 0; i < lead->settings.members; i++) {
        const fplt__guest *guest = &lead->guest[i];
        if (!fplt__bit(lead->cohort, i))
            continue;
        int waits = fplt__round_waits_for(lead, i);
        *possible += (uint32_t)(waits || guest->answers > lead->exchange);
        *missing += (uint32_t)(waits && !fplt__is_silent(lead, i, lead->down->size));
        if (*possible >= quorum && (lead->received < quorum || (*missing && !late)))
            return 0;
    }
    return 1;
}

/* Whether somebody of the cohort was left out after a conflict. */
static int has_conflict(const fplt__lead *lead)
{
    int conflict = 0;
    for (uint32_t i = 0; i < lead->settings.members; i++)
        conflict |= fplt__bit(lead->cohort, i) && lead->guest[i].left_out;
    return conflict;
}

/* Whether the round can close, must, or can no longer. */
void fplt__round_look(fplt__lead *lead)
{
    uint32_t missing, possible, quorum;
    if (!lead->opened || lead->committing || lead->record.state != FPLT__ROUND)
        return;
    quorum = fplt__round_quorum(lead);
    if (!count_missing(lead, quorum, &missing, &possible))
        return;
    if (!lead->cohort_size) {
        close_round(lead, 0);
    } else if (possible < quorum) {
        if (has_conflict(lead))
            close_round(lead, 1);
        else
            fplt__lead_finish(lead, FPLT__ENDED, "too-few",
                              "fewer members are left than the round needs");
    } else if (lead->received >= quorum && (!missing || lead->now >= lead->deadline)) {
        int whole = lead->agreement->plan.algorithm->whole &&
                    lead->agreement->plan.algorithm->whole(lead->agreement->plan.parameter,
                                                           lead->cohort_size);
        if (whole && lead->received < lead->cohort_size)
            close_round(lead, 1);
        else
            end_exchange(lead);
    }
}

/* Another digest for the same task, or numbers out of range: who says so is left out. */
static void leave_out(fplt__lead *lead, uint32_t i, const char *why)
{
    fplt__member_row *row = &lead->row[i];
    row->conflicts++;
    fplt__bit_set(lead->changed, i, 1);
    fplt__lead_say(lead, i, "conflict", "%s (%u of %d)", why, row->conflicts, MAX_CONFLICTS);
    if (row->conflicts >= MAX_CONFLICTS)
        row->standing = FPLT__LEFT_OUT;
    fplt__round_forget(lead);
    lead->guest[i].left_out = 1;
}

static const char *mismatch(const fplt__lead *lead, uint32_t i, const fplt__frame *frame)
{
    const fplt__member_row *row = &lead->row[i];
    if (lead->record.state != FPLT__ROUND || !lead->opened || frame->leg != lead->record.leg ||
        frame->round != lead->record.round || !fplt__bit(lead->cohort, i) ||
        lead->guest[i].left_out || frame->exchange > lead->exchange)
        return "closed";
    if (frame->version != row->version || !fplt__same(&frame->chain, &row->chain) ||
        frame->cohort != 1 ||
        frame->count != fplt_plan_up(&lead->agreement->plan, frame->exchange) || frame->scalars ||
        frame->encoding != FPLT__PACKED)
        return "other";
    return NULL;
}

void fplt__round_update(fplt__lead *lead, const fplt__request *request, const fplt__frame *frame,
                        const uint8_t *body)
{
    uint32_t i = request->identity;
    fplt__guest *guest = &lead->guest[i];
    uint8_t head[FPLT__FRAME_HEAD];
    fplt_error error;
    const char *word = mismatch(lead, i, frame);
    fplt__answer answer = {frame->task, frame->digest};
    if (word) {
        /* late, unless it is a repetition of what counted */
        if (frame->leg == lead->record.leg && frame->round < lead->record.round &&
            !(lead->row[i].version && lead->row[i].last_round == frame->round))
            note_arrival(lead, frame->round);
        fplt__lead_fault(lead, request->ticket, i, 409, word, 0, "round %llu is not open for this",
                         (unsigned long long)frame->round);
        return;
    }
    if (frame->exchange < guest->answers) {
        if (fplt__same(&guest->answer[frame->exchange].task, &frame->task) &&
            !fplt__same(&guest->answer[frame->exchange].digest, &frame->digest)) {
            leave_out(lead, i, "it sent two messages for one task");
            fplt__lead_fault(lead, request->ticket, i, 409, "conflict", 0,
                             "another message for the same task came before");
            fplt__round_look(lead);
            return;
        }
        fplt__lead_taken(lead, request, 200);
        return;
    }
    fplt__round_head(lead, i, head);
    fplt__digest task = fplt__frame_task(head);
    if (frame->exchange != lead->exchange || !fplt__same(&task, &frame->task)) {
        fplt__lead_fault(lead, request->ticket, i, 409, "other", 0, "this answers another task");
        return;
    }
    if (fplt_hub_receive_packed(lead->hub, lead->exchange, fplt__frame_payload(frame, body),
                                (size_t)frame->payload, &error)) {
        leave_out(lead, i, "it sent numbers that cannot be read or are out of range");
        fplt__lead_fault(lead, request->ticket, i, 409, "range", 0,
                         "the numbers cannot be read or are out of range");
        fplt__round_look(lead);
        return;
    }
    guest->answer[lead->exchange] = answer;
    guest->answers = lead->exchange + 1;
    lead->received++;
    lead->row[i].seen++;
    fplt__bit_set(lead->changed, i, 1);
    lead->bytes_up += request->size;
    note_arrival(lead, lead->record.round);
    fplt__lead_taken(lead, request, 202);
    fplt__round_look(lead);
}
