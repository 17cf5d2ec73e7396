/* What reports mean, and incarnations: the running sums made anew where a chain is broken. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/sum.h"
#include "engine/hub_node.h"
#include "protocol/leading.h"

enum { MAX_REPAIRS = 3 }; /* caused by one member: then the operator decides */
enum { ABSENCE = 3600000 };

static int is_ahead(const fplt__leader *leader, uint32_t i, const fplt__proof *proof)
{
    const fplt__member_row *row = &leader->roster.row[i];
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
static enum fplt__finding judge_report(const fplt__leader *leader, uint32_t i,
                                       const fplt__report *report, int proven)
{
    FPLT__ASSERT(i < leader->settings.members && leader->plan.agreement);
    const fplt__member_row *row = &leader->roster.row[i];
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
        (!leader->plan.shape.finish_down || fplt__closing_of(leader, row->last_round)))
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
    return leader->plan.shape.mirrored == 0 && !leader->plan.shape.finish_down;
}

void fplt__leader_end_without(fplt__leader *leader, uint32_t i, const char *why)
{
    FPLT__ASSERT(!fplt__is_standing(leader, i));
    const fplt__proposal *proposal = &leader->plan.agreement->proposal;
    const char *name = proposal->roster ? proposal->roster[i] : "a member";
    char sentence[FPLT__SENTENCE];
    snprintf(
        sentence, sizeof sentence,
        "%s was %s, and %s. The last model is kept; `fedplt federation exclude %s` goes on from "
        "it without the member",
        name, leader->roster.row[i].standing == FPLT__REVOKED ? "revoked" : "left out of the run",
        why, name);
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
    FPLT__ASSERT(leader->plan.hub && leader->record.state >= FPLT__ROUND);
    FPLT__ASSERT(leader->record.state < FPLT__DONE);
    fplt__round_forget(leader);
    if (leader->repair.sum)
        fplt__sum_clear(leader->repair.sum);
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->roster.session[i].enrolled = 0;
    leader->record.state = FPLT__REPAIR;
    leader->repair.since = leader->now;
    leader->open.is_open = 0;
    leader->ask.kind = 0;
    leader->secure.is_begun = 0;
}

void fplt__repair_again(fplt__leader *leader)
{
    if (leader->repair.sum)
        fplt__sum_clear(leader->repair.sum);
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->roster.session[i].enrolled = 0;
}

static const char third_repair[] =
    "a member needs repair for the third time: start with --repair, or go on without it "
    "with `fedplt federation exclude NAME`";

static void lost(fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(leader->record.state == FPLT__ROUND || leader->record.state == FPLT__REPAIR);
    FPLT__ASSERT(!leader->commit.pending || FPLT__PLANTED(FPLT__EARLY_VERDICT));
    fplt__member_row *row = &leader->roster.row[i];
    if (leader->record.state == FPLT__REPAIR || leader->roster.session[i].enrols)
        return;
    row->repairs++;
    fplt__bit_set(leader->roster.changed, i, 1);
    fplt__leader_log(leader, i, "lost", "its state is lost or old (%u of %d)", row->repairs,
                     MAX_REPAIRS);
    if (row->repairs >= MAX_REPAIRS && stands_alone(leader) && !fplt__leader_needs_all(leader)) {
        row->standing = FPLT__LEFT_OUT;
        fplt__leader_log(leader, i, "conflict", "it is left out of the run");
        fplt__round_look(leader);
        return;
    }
    if (row->repairs >= MAX_REPAIRS && !leader->settings.repair) {
        halt(leader, i, third_repair);
        return;
    }
    if (stands_alone(leader)) {
        leader->roster.session[i].enrols = 1;
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
    const fplt__proof *proof = &leader->roster.session[i].report.proof;
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

/* A member that has sent its vectors under a session and was told a verdict since has others now, and does not send two
 * plaintexts under one mask: its vectors are asked for anew under the number of another round, hence in another session. */
static void ask_in_other_session(fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(leader->record.state == FPLT__REPAIR && !leader->roster.session[i].enrolled);
    fplt__member_row *row = &leader->roster.row[i];
    row->repairs++;
    fplt__bit_set(leader->roster.changed, i, 1);
    fplt__leader_log(leader, i, "trouble", "%s", leader->roster.session[i].report.trouble.sentence);
    if (row->repairs >= MAX_REPAIRS && !leader->settings.repair) {
        halt(leader, i, third_repair);
        return;
    }
    leader->record.round++;
    fplt__repair_begin(leader);
    fplt__leader_commit(leader);
}

/* Whether the trouble leaves the sum over all masked messages without one of them. */
static int breaks_session(const fplt__leader *leader, const fplt__report *report)
{
    return fplt__secure_is_on(leader) && !fplt__stages_are_on(leader) &&
           (strcmp(report->trouble.word, FPLT__NO_SESSION_WORD) == 0 ||
            strcmp(report->trouble.word, FPLT__HAS_ANSWERED) == 0);
}

/* Whether the report refuses the session of the repair at hand. */
static int refuses_session(const fplt__leader *leader, uint32_t i)
{
    const fplt__report *report = &leader->roster.session[i].report;
    return leader->record.state == FPLT__REPAIR && fplt__secure_masks_enrolment(leader) &&
           !leader->commit.pending && !leader->roster.session[i].enrolled && report->has_trouble &&
           report->trouble.round == leader->record.round &&
           strcmp(report->trouble.word, FPLT__NO_ANSWER) == 0;
}

/* A report was judged: what follows for the run, not for the member. */
void fplt__report_act(fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(leader->roster.session[i].ticket);
    FPLT__ASSERT(fplt__same(&leader->roster.session[i].report.plan, &leader->record.hash));
    fplt__member_session *member_session = &leader->roster.session[i];
    const fplt__report *report = &member_session->report;
    if (leader->record.state != FPLT__ROUND && leader->record.state != FPLT__REPAIR)
        return;
    int proven = report->has_proof && fplt__proof_valid(&report->proof, &leader->record.hash, i,
                                                        leader->settings.receipt_key);
    if (report->has_proof && !proven)
        fplt__leader_log(leader, i, "refused", "it shows a proof that was not signed here");
    member_session->finding = judge_report(leader, i, report, proven);
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
    if (refuses_session(leader, i)) {
        ask_in_other_session(leader, i);
        return;
    }
    if (member_session->finding == FPLT__KNOWN && report->has_trouble &&
        strcmp(report->trouble.word, FPLT__NO_ANSWER) == 0) {
        fplt__ask_refused(leader, i, report->trouble.sentence);
        return;
    }
    if (member_session->finding == FPLT__KNOWN && report->has_trouble && leader->open.is_open &&
        report->trouble.round == leader->record.round && breaks_session(leader, report)) {
        fplt__leader_log(leader, i, "trouble", "%s", report->trouble.sentence);
        fplt__round_void(leader);
        return;
    }
    if (member_session->finding == FPLT__KNOWN && report->has_trouble && leader->open.is_open &&
        report->trouble.round == leader->record.round && !member_session->absent) {
        member_session->absent = 1;
        member_session->spent |= strcmp(report->trouble.word, "spent") == 0 ||
                                 strcmp(report->trouble.word, FPLT__DISCLOSURE) == 0;
        member_session->diverged |= strcmp(report->trouble.word, "diverged") == 0;
        member_session->kept_answer = strcmp(report->trouble.word, FPLT__HAS_ANSWERED) == 0;
        fplt__leader_log(leader, i, "trouble", "%s", report->trouble.sentence);
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
    FPLT__ASSERT(leader->plan.hub && i < leader->settings.members);
    fplt_error error;
    if (fplt__shared_make(8 * leader->plan.n, model, &error))
        return;
    if (fplt_hub_model(leader->plan.hub, leader->scratch.model))
        memset(leader->scratch.model, 0, leader->plan.n * sizeof *leader->scratch.model);
    fplt__put_reals((*model)->bytes, leader->scratch.model, leader->plan.n);
    fplt__frame frame = {.kind = FPLT__ENROL,
                         .encoding = FPLT__DOUBLES,
                         .incarnation = new_leg(leader),
                         .member_index = i,
                         .round = leader->record.round,
                         .cohort = leader->settings.members,
                         .version = leader->roster.row[i].version,
                         .count = leader->plan.n,
                         .payload = 8 * leader->plan.n,
                         .plan = leader->record.hash,
                         .digest = fplt__body_hash((*model)->bytes, (*model)->size)};
    fplt__frame_write(&frame, head);
}

static void begin_chain(fplt__leader *leader, uint32_t i, uint64_t version)
{
    FPLT__ASSERT(version == 0 || version == leader->roster.row[i].version + 1);
    fplt__member_row *row = &leader->roster.row[i];
    fplt__digest enrolment = fplt__work_digest(&leader->roster.session[i].enrolment, 1);
    memset(&row->before, 0, sizeof row->before);
    memset(&row->last_digest, 0, sizeof row->last_digest);
    row->last_round = 0;
    row->version = version;
    row->chain = fplt__chain_begin(&leader->record.hash, leader->record.incarnation, i, &enrolment);
    leader->roster.session[i].told = 1;
    fplt__bit_set(leader->roster.changed, i, 1);
}

/* Vectors that are mirrored are part of the sums, and only their owner has them. Where none are, members
 * that keep the next incarnation's rules are all that it takes. */
static int can_do_without(const fplt__leader *leader)
{
    return !leader->plan.shape.mirrored && !fplt__leader_needs_all(leader);
}

/* All are in: the sums become those of what was sent, and the next incarnation is open. The number of the interrupted
 * round is used up; if it was the last of the plan, the stopping rules end the run before another round opens. */
static void open_leg(fplt__leader *leader)
{
    FPLT__ASSERT(leader->record.state == FPLT__REPAIR && !leader->commit.pending);
    FPLT__ASSERT(!leader->open.is_open && !leader->ask.kind);
    FPLT__ASSERT(!leader->plan.shape.mirrored || leader->repair.sum);
    fplt_error error;
    size_t count = leader->plan.shape.mirrored * leader->plan.n;
    int keeps = (leader->plan.agreement->plan.algorithm->allows & FPLT_ALLOWS_ANY_START) != 0;
    if (fplt_hub_model(leader->plan.hub, leader->scratch.model) ||
        fplt__leader_room(leader, count, &error))
        return;
    fplt__hub_restart(leader->plan.hub, keeps ? NULL : leader->scratch.model);
    if (count) {
        fplt__sum_export(leader->repair.sum, 0, leader->scratch.words, count);
        fplt_hub_enrol(leader->plan.hub, leader->scratch.words);
    }
    leader->record.incarnation++;
    leader->record.round++;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        begin_chain(leader, i, 0);
    FPLT__ASSERT(leader->record.incarnation > 0 && leader->record.round > 0);
    leader->record.state = FPLT__ROUND;
    leader->record.hub_changed = 1;
    leader->settings.repair = 0;
    leader->evaluation.due |= !FPLT__PLANTED(FPLT__LONGER_RUN);
    fplt__leader_log(leader, UINT32_MAX, "leg", "leg %u begins with round %llu",
                     leader->record.incarnation, (unsigned long long)leader->record.round);
    fplt__round_choose(leader);
    fplt__leader_commit(leader);
}

uint64_t fplt__repair_deadline(const fplt__leader *leader, uint32_t i)
{
    const fplt__member_session *session = &leader->roster.session[i];
    uint64_t absence = leader->settings.absence ? leader->settings.absence : ABSENCE;
    uint64_t since = session->heard && session->last_heard > leader->repair.since
                         ? session->last_heard
                         : leader->repair.since;
    return since + absence;
}

/* A member that is silent for too long is left out of the run: nobody can tell whether it will ever come back. */
static void leave_out_silent(fplt__leader *leader, uint32_t i)
{
    if (!fplt__is_standing(leader, i) || leader->now < fplt__repair_deadline(leader, i) ||
        FPLT__PLANTED(FPLT__WAITS_FOR_SILENT))
        return;
    leader->roster.row[i].standing = FPLT__LEFT_OUT;
    fplt__bit_set(leader->roster.changed, i, 1);
    fplt__leader_log(
        leader, i, "absent",
        "it is left out of the run: not heard for %llu s while its vectors are needed",
        (unsigned long long)((leader->settings.absence ? leader->settings.absence : ABSENCE) /
                             1000));
}

void fplt__repair_look(fplt__leader *leader)
{
    uint32_t missing = 0;
    if (leader->record.state != FPLT__REPAIR || leader->commit.pending)
        return;
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        if (leader->roster.session[i].enrolled)
            continue;
        leave_out_silent(leader, i);
        if (fplt__is_standing(leader, i) || FPLT__PLANTED(FPLT__WAITS_FOR_GONE)) {
            missing++;
        } else if (!can_do_without(leader)) {
            fplt__leader_end_without(leader, i,
                                     leader->plan.shape.mirrored
                                         ? "without its vectors the sums cannot be repaired"
                                         : "the algorithm needs all members");
            return;
        }
    }
    if (missing)
        return;
    /* masked vectors are a sum once all are in */
    if (fplt__secure_masks_enrolment(leader) &&
        (fplt__sum_clear(leader->repair.sum), fplt__secure_give_sum(leader, leader->repair.sum))) {
        leader->secure.is_begun = 0;
        fplt__repair_again(leader);
        return;
    }
    open_leg(leader);
}

static fplt_status add_enrolment(fplt__leader *leader, const fplt__frame *frame,
                                 const uint8_t *body)
{
    FPLT__ASSERT(!leader->repair.sum || fplt__sum_length(leader->repair.sum) ==
                                            leader->plan.shape.mirrored * leader->plan.n);
    fplt_error error;
    size_t count = leader->plan.shape.mirrored * leader->plan.n;
    fplt_status status = FPLT_OK;
    if (!leader->repair.sum)
        status = fplt__sum_create_words(count, FPLT_SUM_EXPONENT, &leader->repair.sum, &error);
    if (!status && fplt__secure_masks_enrolment(leader))
        return fplt__secure_take(leader, frame->member_index, frame, body, &error);
    return status ? status
                  : fplt__sum_add_packed(leader->repair.sum, 0, fplt__frame_payload(frame, body),
                                         (size_t)frame->payload, count, &error);
}

void fplt__repair_update(fplt__leader *leader, const fplt__request *request,
                         const fplt__frame *frame, const uint8_t *body)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->roster.session[i];
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
    if (!fplt__same(&task, &frame->task) || frame->scalars ||
        frame->encoding != (fplt__secure_masks_enrolment(leader) ? FPLT__BYTES : FPLT__PACKED) ||
        frame->count != leader->plan.shape.mirrored * leader->plan.n) {
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
        fplt__leader_fault(leader, request->ticket, i, 409,
                           fplt__secure_masks_enrolment(leader) ? "closed" : "range", 0,
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
    begin_chain(leader, i, leader->roster.row[i].version + 1);
    fplt__leader_commit(leader);
}
