/* What reports mean, and incarnations: the running sums made anew where a chain is broken. */
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "protocol/leading.h"

enum { MAX_REPAIRS = 3 }; /* caused by one member: then the operator decides */

static int is_ahead(const fplt__leader *leader, uint32_t i, const fplt__proof *proof)
{
    const fplt__member_row *row = &leader->row[i];
    if (proof->incarnation != leader->record.incarnation)
        return proof->incarnation > leader->record.incarnation;
    if (proof->round > leader->record.round || proof->version > row->version)
        return 1;
    return proof->version == row->version && !fplt__same(&proof->chain, &row->chain);
}

static int is_staged(const fplt__report *report, const fplt__member_row *row)
{
    return report->has_staged && report->staged.round == row->last_round &&
           fplt__same(&report->staged.digest, &row->last_digest);
}

/* `proven`: the proof that it brings is one of this coordinator's. */
static enum fplt__finding judge(const fplt__leader *leader, uint32_t i, const fplt__report *report,
                                int proven)
{
    FPLT__ASSERT(i < leader->settings.members && leader->agreement);
    const fplt__member_row *row = &leader->row[i];
    if (proven && !FPLT__PLANTED(FPLT__NO_PROOF) && is_ahead(leader, i, &report->proof))
        return FPLT__AHEAD;
    if (report->incarnation == leader->record.incarnation && report->version == row->version &&
        fplt__same(&report->chain, &row->chain))
        return FPLT__KNOWN;
    if (FPLT__PLANTED(FPLT__BY_ROUND) && report->has_staged && row->version &&
        report->staged.round == row->last_round)
        return FPLT__ACCEPTED;
    if (report->incarnation == leader->record.incarnation && row->version &&
        report->version + 1 == row->version && fplt__same(&report->chain, &row->before) &&
        is_staged(report, row) &&
        (!leader->shape.finish_down || fplt__closing_of(leader, row->last_round)))
        return FPLT__ACCEPTED;
    if (report->has_enrolled && report->enrolled.incarnation == leader->record.incarnation) {
        fplt__digest chain = fplt__chain_begin(&leader->record.hash, leader->record.incarnation, i,
                                               &report->enrolled.digest);
        if (fplt__same(&chain, &row->chain))
            return FPLT__OPENED;
    }
    return FPLT__LOST;
}

/* Nothing is mirrored and nothing ends a round at the agents: who lost its state concerns nobody
 * else. */
static int stands_alone(const fplt__leader *leader)
{
    return leader->shape.mirrored == 0 && !leader->shape.finish_down;
}

void fplt__leader_end_without(fplt__leader *leader, uint32_t i, const char *why)
{
    FPLT__ASSERT(!fplt__is_standing(leader, i));
    const fplt__proposal *proposal = &leader->agreement->proposal;
    char sentence[FPLT__SENTENCE];
    snprintf(sentence, sizeof sentence,
             "%s was %s, and %s. The last model is kept: take the member off the roster, raise run "
             "and set continue: yes to go on from it",
             proposal->roster ? proposal->roster[i] : "a member",
             leader->row[i].standing == FPLT__REVOKED ? "revoked" : "left out of the run", why);
    fplt__leader_finish(leader, FPLT__ENDED, "too-few", sentence);
}

static void halt(fplt__leader *leader, uint32_t i, const char *sentence)
{
    FPLT__ASSERT(leader->record.state == FPLT__ROUND || leader->record.state == FPLT__REPAIR);
    fplt__round_forget(leader);
    leader->record.state = FPLT__HALTED;
    leader->open.is_open = 0;
    leader->ask.kind = 0;
    snprintf(leader->record.sentence, sizeof leader->record.sentence, "%s", sentence);
    fplt__leader_log(leader, i, "halted", "%s", sentence);
    fplt__leader_commit(leader);
}

void fplt__repair_begin(fplt__leader *leader)
{
    FPLT__ASSERT(leader->hub && leader->record.state >= FPLT__ROUND);
    FPLT__ASSERT(leader->record.state < FPLT__DONE);
    fplt__round_forget(leader);
    if (leader->enrol_sum)
        fplt_sum_clear(leader->enrol_sum);
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->member_session[i].enrolled = 0;
    leader->record.state = FPLT__REPAIR;
    leader->open.is_open = 0;
    leader->ask.kind = 0;
}

static void lost(fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(leader->record.state == FPLT__ROUND || leader->record.state == FPLT__REPAIR);
    FPLT__ASSERT(!leader->committing || FPLT__PLANTED(FPLT__EARLY_VERDICT));
    fplt__member_row *row = &leader->row[i];
    if (leader->record.state == FPLT__REPAIR || leader->member_session[i].enrols)
        return;
    row->repairs++;
    fplt__bit_set(leader->changed, i, 1);
    fplt__leader_log(leader, i, "lost", "its state is lost or old (%u of %d)", row->repairs,
                     MAX_REPAIRS);
    if (row->repairs >= MAX_REPAIRS && stands_alone(leader) && !fplt__leader_needs_all(leader)) {
        row->standing = FPLT__LEFT_OUT;
        fplt__leader_log(leader, i, "conflict", "it is left out of the run");
        fplt__round_look(leader);
        return;
    }
    if (row->repairs >= MAX_REPAIRS && !leader->settings.repair) {
        halt(leader, i,
             "a member needs repair for the third time: start with --repair, or revoke the member "
             "first");
        return;
    }
    if (stands_alone(leader)) {
        leader->member_session[i].enrols = 1;
        return;
    }
    fplt__repair_begin(leader);
    fplt__leader_log(leader, i, "repair", "leg %u: all members send their vectors",
                     leader->record.incarnation + 1);
    fplt__leader_commit(leader);
}

/* In a repair asked for by the operator a proof from the future only moves the new incarnation past it; one
 * that began by itself was begun by an old copy. */
static void ahead(fplt__leader *leader, uint32_t i)
{
    const fplt__proof *proof = &leader->member_session[i].report.proof;
    if (leader->record.state == FPLT__REPAIR && leader->settings.repair) {
        if (proof->incarnation > leader->record.incarnation ||
            proof->round > leader->record.round) {
            leader->record.incarnation = proof->incarnation > leader->record.incarnation
                                             ? proof->incarnation
                                             : leader->record.incarnation;
            leader->record.round =
                proof->round > leader->record.round ? proof->round : leader->record.round;
            fplt__repair_begin(leader);
            fplt__leader_commit(leader);
        }
        return;
    }
    halt(leader, i,
         "this database is an old copy: put the right file back, or start with --repair");
}

/* A report was judged: what follows for the run, not for the member. */
void fplt__report_act(fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(leader->member_session[i].ticket);
    FPLT__ASSERT(fplt__same(&leader->member_session[i].report.plan, &leader->record.hash));
    fplt__member_session *member_session = &leader->member_session[i];
    const fplt__report *report = &member_session->report;
    if (leader->record.state != FPLT__ROUND && leader->record.state != FPLT__REPAIR)
        return;
    int proven = report->has_proof && fplt__proof_valid(&report->proof, &leader->record.hash, i,
                                                        leader->settings.receipt_key);
    if (report->has_proof && !proven)
        fplt__leader_log(leader, i, "refused", "it shows a proof that was not signed here");
    member_session->finding = judge(leader, i, report, proven);
    if (member_session->finding == FPLT__KNOWN)
        member_session->told = 1;
    if (member_session->finding == FPLT__OPENED)
        member_session->enrols = 0;
    if (member_session->finding == FPLT__AHEAD)
        ahead(leader, i);
    if (!fplt__is_standing(leader, i) && !FPLT__PLANTED(FPLT__HEARS_GONE))
        return; /* what it lacks, and what troubles it, concerns nobody */
    if (member_session->finding == FPLT__LOST)
        lost(leader, i);
    if (member_session->finding == FPLT__KNOWN && report->has_trouble &&
        strcmp(report->trouble.word, FPLT__NO_ANSWER) == 0) {
        fplt__ask_refused(leader, i, report->trouble.sentence);
        return;
    }
    if (member_session->finding == FPLT__KNOWN && report->has_trouble && leader->open.is_open &&
        report->trouble.round == leader->record.round && !member_session->absent) {
        member_session->absent = 1;
        member_session->spent |= strcmp(report->trouble.word, "spent") == 0;
        fplt__leader_log(leader, i, "trouble", "%s", report->trouble.sentence);
        if (strcmp(report->trouble.word, "diverged") == 0)
            fplt__leader_finish(leader, FPLT__ENDED, "diverged", report->trouble.sentence);
        else
            fplt__round_look(leader);
    }
}

static uint32_t new_leg(const fplt__leader *leader)
{
    return leader->record.incarnation + (leader->record.state == FPLT__REPAIR);
}

/* The last model goes along: who has no state, or may not keep it, begins there. */
void fplt__repair_head(fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD],
                       fplt__shared **model)
{
    FPLT__ASSERT(leader->hub && i < leader->settings.members);
    fplt_error error;
    if (fplt__shared_make(8 * leader->n, model, &error))
        return;
    if (fplt_hub_model(leader->hub, leader->model))
        memset(leader->model, 0, leader->n * sizeof *leader->model);
    fplt__put_reals((*model)->bytes, leader->model, leader->n);
    fplt__frame frame = {.kind = FPLT__ENROL,
                         .encoding = FPLT__DOUBLES,
                         .incarnation = new_leg(leader),
                         .member_index = i,
                         .round = leader->record.round,
                         .cohort = leader->settings.members,
                         .version = leader->row[i].version,
                         .count = leader->n,
                         .payload = 8 * leader->n,
                         .plan = leader->record.hash,
                         .digest = fplt__body_hash((*model)->bytes, (*model)->size)};
    fplt__frame_write(&frame, head);
}

static void begin_chain(fplt__leader *leader, uint32_t i, uint64_t version)
{
    FPLT__ASSERT(version == 0 || version == leader->row[i].version + 1);
    fplt__member_row *row = &leader->row[i];
    fplt__digest enrolment = fplt__work_digest(&leader->member_session[i].enrolment, 1);
    memset(&row->before, 0, sizeof row->before);
    memset(&row->last_digest, 0, sizeof row->last_digest);
    row->last_round = 0;
    row->version = version;
    row->chain = fplt__chain_begin(&leader->record.hash, leader->record.incarnation, i, &enrolment);
    leader->member_session[i].told = 1;
    fplt__bit_set(leader->changed, i, 1);
}

/* Vectors that are mirrored are part of the sums, and only their owner has them. Where none are, members
 * that keep the next incarnation's rules are all that it takes. */
static int can_do_without(const fplt__leader *leader)
{
    return !leader->shape.mirrored && !fplt__leader_needs_all(leader);
}

/* All are in: the sums become those of what was sent, and the next incarnation is open. */
static void open_leg(fplt__leader *leader)
{
    FPLT__ASSERT(leader->record.state == FPLT__REPAIR && !leader->committing);
    FPLT__ASSERT(!leader->open.is_open && !leader->ask.kind);
    FPLT__ASSERT(!leader->shape.mirrored || leader->enrol_sum);
    fplt_error error;
    size_t count = leader->shape.mirrored * leader->n;
    int keeps = (leader->agreement->plan.algorithm->allows & FPLT_ALLOWS_ANY_START) != 0;
    if (fplt_hub_model(leader->hub, leader->model) || fplt__leader_room(leader, count, &error))
        return;
    fplt_hub_restart(leader->hub, keeps ? NULL : leader->model);
    if (count) {
        fplt_sum_export(leader->enrol_sum, 0, leader->words, count);
        fplt_hub_enrol(leader->hub, leader->words);
    }
    leader->record.incarnation++;
    leader->record.round++;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        begin_chain(leader, i, 0);
    FPLT__ASSERT(leader->record.incarnation > 0 && leader->record.round > 0);
    leader->record.state = FPLT__ROUND;
    leader->record.hub_changed = 1;
    leader->settings.repair = 0;
    fplt__leader_log(leader, UINT32_MAX, "leg", "leg %u begins with round %llu",
                     leader->record.incarnation, (unsigned long long)leader->record.round);
    fplt__round_choose(leader);
    fplt__leader_commit(leader);
}

void fplt__repair_look(fplt__leader *leader)
{
    uint32_t missing = 0;
    if (leader->record.state != FPLT__REPAIR || leader->committing)
        return;
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        if (leader->member_session[i].enrolled)
            continue;
        if (fplt__is_standing(leader, i) || FPLT__PLANTED(FPLT__WAITS_FOR_GONE)) {
            missing++;
        } else if (!can_do_without(leader)) {
            fplt__leader_end_without(leader, i,
                                     leader->shape.mirrored
                                         ? "without its vectors the sums cannot be repaired"
                                         : "the algorithm needs all members");
            return;
        }
    }
    if (!missing)
        open_leg(leader);
}

static fplt_status add_enrolment(fplt__leader *leader, const fplt__frame *frame,
                                 const uint8_t *body)
{
    FPLT__ASSERT(!leader->enrol_sum ||
                 fplt_sum_length(leader->enrol_sum) == leader->shape.mirrored * leader->n);
    fplt_error error;
    size_t count = leader->shape.mirrored * leader->n;
    fplt_status status = FPLT_OK;
    if (!leader->enrol_sum)
        status = fplt_sum_create_words(count, FPLT_SUM_EXPONENT, &leader->enrol_sum, &error);
    return status ? status
                  : fplt_sum_add_packed(leader->enrol_sum, 0, fplt__frame_payload(frame, body),
                                        (size_t)frame->payload, count, &error);
}

void fplt__repair_update(fplt__leader *leader, const fplt__request *request,
                         const fplt__frame *frame, const uint8_t *body)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->member_session[i];
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    int all = leader->record.state == FPLT__REPAIR;
    if (!fplt__is_standing(leader, i) ||
        (!all && !(member_session->enrols && leader->record.state == FPLT__ROUND))) {
        fplt__leader_fault(leader, request->ticket, i, 409, "closed", 0, "no leg is being opened");
        return;
    }
    fplt__repair_head(leader, i, head, &model);
    fplt__digest task = fplt__frame_task(head);
    fplt__shared_release(model);
    if (!fplt__same(&task, &frame->task) || frame->encoding != FPLT__PACKED || frame->scalars ||
        frame->count != leader->shape.mirrored * leader->n) {
        fplt__leader_fault(leader, request->ticket, i, 409, "other", 0,
                           "this answers another question");
        return;
    }
    if (all && member_session->enrolled) {
        int same = fplt__same(&member_session->enrolment.digest, &frame->digest);
        if (!same)
            fplt__repair_begin(leader);
        fplt__leader_taken(leader, request, same ? 200 : 202);
        return;
    }
    if (all && add_enrolment(leader, frame, body)) {
        fplt__leader_fault(leader, request->ticket, i, 409, "range", 0,
                           "the numbers cannot be read or are out of range");
        return;
    }
    member_session->enrolment = (fplt__answer){frame->task, frame->digest};
    member_session->enrolled = 1;
    fplt__leader_taken(leader, request, 202);
    if (all) {
        fplt__repair_look(leader);
        return;
    }
    FPLT__ASSERT(member_session->enrols && stands_alone(leader));
    member_session->enrols = 0;
    if (member_session->answers) /* what it sent in this round was of the state that it lost */
        fplt__round_forget(leader);
    begin_chain(leader, i, leader->row[i].version + 1);
    fplt__leader_commit(leader);
}
