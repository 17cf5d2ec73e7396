/* What reports mean, and legs: the running sums made anew where a chain is broken. */
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "protocol/leading.h"

enum { MAX_REPAIRS = 3 }; /* caused by one member: then the operator decides */

static int is_ahead(const fplt__lead *lead, uint32_t i, const fplt__proof *proof)
{
    const fplt__member_row *row = &lead->row[i];
    if (proof->leg != lead->record.leg)
        return proof->leg > lead->record.leg;
    if (proof->round > lead->record.round || proof->version > row->version)
        return 1;
    return proof->version == row->version && !fplt__same(&proof->chain, &row->chain);
}

static int is_staged(const fplt__report *report, const fplt__member_row *row)
{
    return report->has_staged && report->staged.round == row->last_round &&
           fplt__same(&report->staged.digest, &row->last_digest);
}

/* `proven`: the proof that it brings is one of this coordinator's. */
static enum fplt__finding judge(const fplt__lead *lead, uint32_t i, const fplt__report *report,
                                int proven)
{
    const fplt__member_row *row = &lead->row[i];
    if (proven && !FPLT__PLANTED(FPLT__NO_PROOF) && is_ahead(lead, i, &report->proof))
        return FPLT__AHEAD;
    if (report->leg == lead->record.leg && report->version == row->version &&
        fplt__same(&report->chain, &row->chain))
        return FPLT__KNOWN;
    if (FPLT__PLANTED(FPLT__BY_ROUND) && report->has_staged && row->version &&
        report->staged.round == row->last_round)
        return FPLT__ACCEPTED;
    if (report->leg == lead->record.leg && row->version && report->version + 1 == row->version &&
        fplt__same(&report->chain, &row->before) && is_staged(report, row) &&
        (!lead->shape.finish_down || fplt__closing_of(lead, row->last_round)))
        return FPLT__ACCEPTED;
    if (report->has_enrolled && report->enrolled.leg == lead->record.leg) {
        fplt__digest chain =
            fplt__chain_begin(&lead->record.hash, lead->record.leg, i, &report->enrolled.digest);
        if (fplt__same(&chain, &row->chain))
            return FPLT__OPENED;
    }
    return FPLT__LOST;
}

/* Nothing is mirrored and nothing ends a round at the agents: who lost its state concerns nobody
 * else. */
static int stands_alone(const fplt__lead *lead)
{
    return lead->shape.mirrored == 0 && !lead->shape.finish_down;
}

void fplt__lead_end_without(fplt__lead *lead, uint32_t i, const char *why)
{
    const fplt__proposal *proposal = &lead->agreement->proposal;
    char sentence[FPLT__SENTENCE];
    snprintf(sentence, sizeof sentence,
             "%s was %s, and %s. The last model is kept: take the member off the roster, raise run "
             "and set continue: yes to go on from it",
             proposal->roster ? proposal->roster[i] : "a member",
             lead->row[i].standing == FPLT__REVOKED ? "revoked" : "left out of the run", why);
    fplt__lead_finish(lead, FPLT__ENDED, "too-few", sentence);
}

static void halt(fplt__lead *lead, uint32_t i, const char *sentence)
{
    fplt__round_forget(lead);
    lead->record.state = FPLT__HALTED;
    lead->opened = 0;
    lead->asking = 0;
    snprintf(lead->record.sentence, sizeof lead->record.sentence, "%s", sentence);
    fplt__lead_say(lead, i, "halted", "%s", sentence);
    fplt__lead_commit(lead);
}

void fplt__repair_begin(fplt__lead *lead)
{
    fplt__round_forget(lead);
    if (lead->enrol_sum)
        fplt_sum_clear(lead->enrol_sum);
    for (uint32_t i = 0; i < lead->settings.members; i++)
        lead->guest[i].enrolled = 0;
    lead->record.state = FPLT__REPAIR;
    lead->opened = 0;
    lead->asking = 0;
}

static void lost(fplt__lead *lead, uint32_t i)
{
    fplt__member_row *row = &lead->row[i];
    if (lead->record.state == FPLT__REPAIR || lead->guest[i].enrols)
        return;
    row->repairs++;
    fplt__bit_set(lead->changed, i, 1);
    fplt__lead_say(lead, i, "lost", "its state is lost or old (%u of %d)", row->repairs,
                   MAX_REPAIRS);
    if (row->repairs >= MAX_REPAIRS && stands_alone(lead) && !fplt__lead_needs_all(lead)) {
        row->standing = FPLT__LEFT_OUT;
        fplt__lead_say(lead, i, "conflict", "it is left out of the run");
        fplt__round_look(lead);
        return;
    }
    if (row->repairs >= MAX_REPAIRS && !lead->settings.repair) {
        halt(lead, i,
             "a member needs repair for the third time: start with --repair, or revoke the member "
             "first");
        return;
    }
    if (stands_alone(lead)) {
        lead->guest[i].enrols = 1;
        return;
    }
    fplt__repair_begin(lead);
    fplt__lead_say(lead, i, "repair", "leg %u: all members send their vectors",
                   lead->record.leg + 1);
    fplt__lead_commit(lead);
}

/* In a repair asked for by the operator a proof from the future only moves the new leg past it; one
 * that began by itself was begun by an old copy. */
static void ahead(fplt__lead *lead, uint32_t i)
{
    const fplt__proof *proof = &lead->guest[i].report.proof;
    if (lead->record.state == FPLT__REPAIR && lead->settings.repair) {
        if (proof->leg > lead->record.leg || proof->round > lead->record.round) {
            lead->record.leg = proof->leg > lead->record.leg ? proof->leg : lead->record.leg;
            lead->record.round =
                proof->round > lead->record.round ? proof->round : lead->record.round;
            fplt__repair_begin(lead);
            fplt__lead_commit(lead);
        }
        return;
    }
    halt(lead, i, "this database is an old copy: put the right file back, or start with --repair");
}

/* A report was judged: what follows for the run, not for the member. */
void fplt__report_act(fplt__lead *lead, uint32_t i)
{
    fplt__guest *guest = &lead->guest[i];
    const fplt__report *report = &guest->report;
    if (lead->record.state != FPLT__ROUND && lead->record.state != FPLT__REPAIR)
        return;
    int proven = report->has_proof && fplt__proof_valid(&report->proof, &lead->record.hash, i,
                                                        lead->settings.receipt_key);
    if (report->has_proof && !proven)
        fplt__lead_say(lead, i, "refused", "it shows a proof that was not signed here");
    guest->finding = judge(lead, i, report, proven);
    if (guest->finding == FPLT__KNOWN)
        guest->told = 1;
    if (guest->finding == FPLT__OPENED)
        guest->enrols = 0;
    if (guest->finding == FPLT__AHEAD)
        ahead(lead, i);
    if (!fplt__is_standing(lead, i) && !FPLT__PLANTED(FPLT__HEARS_GONE))
        return; /* what it lacks, and what troubles it, concerns nobody */
    if (guest->finding == FPLT__LOST)
        lost(lead, i);
    if (guest->finding == FPLT__KNOWN && report->has_trouble &&
        strcmp(report->trouble.word, FPLT__NO_ANSWER) == 0) {
        fplt__ask_refused(lead, i, report->trouble.sentence);
        return;
    }
    if (guest->finding == FPLT__KNOWN && report->has_trouble && lead->opened &&
        report->trouble.round == lead->record.round && !guest->absent) {
        guest->absent = 1;
        guest->spent |= strcmp(report->trouble.word, "spent") == 0;
        fplt__lead_say(lead, i, "trouble", "%s", report->trouble.sentence);
        if (strcmp(report->trouble.word, "diverged") == 0)
            fplt__lead_finish(lead, FPLT__ENDED, "diverged", report->trouble.sentence);
        else
            fplt__round_look(lead);
    }
}

static uint32_t new_leg(const fplt__lead *lead)
{
    return lead->record.leg + (lead->record.state == FPLT__REPAIR);
}

/* The last model goes along: who has no state, or may not keep it, begins there. */
void fplt__repair_head(fplt__lead *lead, uint32_t i, uint8_t head[FPLT__FRAME_HEAD],
                       fplt__shared **model)
{
    fplt_error error;
    if (fplt__shared_make(8 * lead->n, model, &error))
        return;
    if (fplt_hub_model(lead->hub, lead->model))
        memset(lead->model, 0, lead->n * sizeof *lead->model);
    fplt__put_reals((*model)->bytes, lead->model, lead->n);
    fplt__frame frame = {.kind = FPLT__ENROL,
                         .encoding = FPLT__DOUBLES,
                         .leg = new_leg(lead),
                         .identity = i,
                         .round = lead->record.round,
                         .cohort = lead->settings.members,
                         .version = lead->row[i].version,
                         .count = lead->n,
                         .payload = 8 * lead->n,
                         .plan = lead->record.hash,
                         .digest = fplt__body_hash((*model)->bytes, (*model)->size)};
    fplt__frame_write(&frame, head);
}

static void begin_chain(fplt__lead *lead, uint32_t i, uint64_t version)
{
    fplt__member_row *row = &lead->row[i];
    fplt__digest enrolment = fplt__work_digest(&lead->guest[i].enrolment, 1);
    memset(&row->before, 0, sizeof row->before);
    memset(&row->last_digest, 0, sizeof row->last_digest);
    row->last_round = 0;
    row->version = version;
    row->chain = fplt__chain_begin(&lead->record.hash, lead->record.leg, i, &enrolment);
    lead->guest[i].told = 1;
    fplt__bit_set(lead->changed, i, 1);
}

/* Vectors that are mirrored are part of the sums, and only their owner has them. Where none are, members
 * that keep the next leg's rules are all that it takes. */
static int can_do_without(const fplt__lead *lead)
{
    return !lead->shape.mirrored && !fplt__lead_needs_all(lead);
}

/* All are in: the sums become those of what was sent, and the next leg is open. */
static void open_leg(fplt__lead *lead)
{
    fplt_error error;
    size_t count = lead->shape.mirrored * lead->n;
    int keeps = (lead->agreement->plan.algorithm->allows & FPLT_ALLOWS_ANY_START) != 0;
    if (fplt_hub_model(lead->hub, lead->model) || fplt__lead_room(lead, count, &error))
        return;
    fplt_hub_restart(lead->hub, keeps ? NULL : lead->model);
    if (count) {
        fplt_sum_export(lead->enrol_sum, 0, lead->words, count);
        fplt_hub_enrol(lead->hub, lead->words);
    }
    lead->record.leg++;
    lead->record.round++;
    for (uint32_t i = 0; i < lead->settings.members; i++)
        begin_chain(lead, i, 0);
    lead->record.state = FPLT__ROUND;
    lead->record.hub_changed = 1;
    lead->settings.repair = 0;
    fplt__lead_say(lead, UINT32_MAX, "leg", "leg %u begins with round %llu", lead->record.leg,
                   (unsigned long long)lead->record.round);
    fplt__round_choose(lead);
    fplt__lead_commit(lead);
}

void fplt__repair_look(fplt__lead *lead)
{
    uint32_t missing = 0;
    if (lead->record.state != FPLT__REPAIR || lead->committing)
        return;
    for (uint32_t i = 0; i < lead->settings.members; i++) {
        if (lead->guest[i].enrolled)
            continue;
        if (fplt__is_standing(lead, i) || FPLT__PLANTED(FPLT__WAITS_FOR_GONE)) {
            missing++;
        } else if (!can_do_without(lead)) {
            fplt__lead_end_without(lead, i,
                                   lead->shape.mirrored
                                       ? "without its vectors the sums cannot be repaired"
                                       : "the algorithm needs all members");
            return;
        }
    }
    if (!missing)
        open_leg(lead);
}

static fplt_status add_enrolment(fplt__lead *lead, const fplt__frame *frame, const uint8_t *body)
{
    fplt_error error;
    size_t count = lead->shape.mirrored * lead->n;
    fplt_status status = FPLT_OK;
    if (!lead->enrol_sum)
        status = fplt_sum_create_words(count, FPLT_SUM_EXPONENT, &lead->enrol_sum, &error);
    return status ? status
                  : fplt_sum_add_packed(lead->enrol_sum, 0, fplt__frame_payload(frame, body),
                                        (size_t)frame->payload, count, &error);
}

void fplt__repair_update(fplt__lead *lead, const fplt__request *request, const fplt__frame *frame,
                         const uint8_t *body)
{
    uint32_t i = request->identity;
    fplt__guest *guest = &lead->guest[i];
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    int all = lead->record.state == FPLT__REPAIR;
    if (!fplt__is_standing(lead, i) ||
        (!all && !(guest->enrols && lead->record.state == FPLT__ROUND))) {
        fplt__lead_fault(lead, request->ticket, i, 409, "closed", 0, "no leg is being opened");
        return;
    }
    fplt__repair_head(lead, i, head, &model);
    fplt__digest task = fplt__frame_task(head);
    fplt__shared_release(model);
    if (!fplt__same(&task, &frame->task) || frame->encoding != FPLT__PACKED || frame->scalars ||
        frame->count != lead->shape.mirrored * lead->n) {
        fplt__lead_fault(lead, request->ticket, i, 409, "other", 0,
                         "this answers another question");
        return;
    }
    if (all && guest->enrolled) {
        int same = fplt__same(&guest->enrolment.digest, &frame->digest);
        if (!same)
            fplt__repair_begin(lead);
        fplt__lead_taken(lead, request, same ? 200 : 202);
        return;
    }
    if (all && add_enrolment(lead, frame, body)) {
        fplt__lead_fault(lead, request->ticket, i, 409, "range", 0,
                         "the numbers cannot be read or are out of range");
        return;
    }
    guest->enrolment = (fplt__answer){frame->task, frame->digest};
    guest->enrolled = 1;
    fplt__lead_taken(lead, request, 202);
    if (all) {
        fplt__repair_look(lead);
        return;
    }
    guest->enrols = 0;
    if (guest->answers) /* what it sent in this round was of the state that it lost */
        fplt__round_forget(lead);
    begin_chain(lead, i, lead->row[i].version + 1);
    fplt__lead_commit(lead);
}
