/* Rounds: cohort, question, updates, close. What a round receives is volatile; only its end, together
 * with the opening of the next, is committed. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/network.h"
#include "engine/hub_node.h"
#include "protocol/leading.h"
#include "fedplt/encoding.h"

enum { MAX_CONFLICTS = 3 }; /* of one member: then it is left out of the run */
enum { MAX_RUINED = 3 };    /* masked sums out of range, one after the other: then the run ends */

/* Whether member i can be expected to answer: with a quorum of secure aggregation a round takes longer for each member of
 * its cohort that does not. */
static int is_present(const fplt__leader *leader, uint32_t i)
{
    return !fplt__stages_are_on(leader) ||
           (!leader->roster.session[i].spent && leader->roster.session[i].heard &&
            !fplt__is_silent(leader, i, 0));
}

/* The cohort of the `count` members that were drawn. */
static void fill_cohort(fplt__leader *leader, uint32_t count, int present)
{
    memset(leader->roster.cohort, 0, (leader->settings.members + 7) / 8);
    leader->open.cohort_size = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = leader->roster.active[k];
        if (!fplt__is_standing(leader, i) || (present && !is_present(leader, i)) ||
            (fplt__stages_are_on(leader) && !fplt__secure_has_key(leader, i)))
            continue;
        FPLT__ASSERT(i < leader->settings.members && !fplt__bit(leader->roster.cohort, i));
        fplt__bit_set(leader->roster.cohort, i, 1);
        leader->open.cohort_size++;
    }
}

/* The cohort of the open round: the rule over the roster, without those who are gone. */
void fplt__round_choose(fplt__leader *leader)
{
    FPLT__ASSERT(leader->plan.agreement && !leader->open.is_open);
    uint32_t members = leader->settings.members, count = members;
    for (uint32_t i = 0; i < members; i++)
        leader->roster.active[i] = i;
    if (leader->plan.participation)
        count =
            fplt_participation_choose(leader->plan.participation, leader->plan.agreement->plan.seed,
                                      leader->plan.agreement->plan.run, leader->record.round,
                                      leader->roster.active);
    FPLT__ASSERT(count <= members);
    fill_cohort(leader, count, 1);
    if (fplt__stages_are_on(leader) && leader->open.cohort_size < leader->plan.agreement->threshold)
        fill_cohort(leader, count, 0);
    fplt__secure_choose_list(leader);
}

static fplt_status make_question(fplt__leader *leader, fplt_error *error)
{
    FPLT__ASSERT(leader->open.exchange < leader->plan.shape.exchanges);
    FPLT__ASSERT(leader->plan.shape.scalars <= FPLT_MAX_SCALARS);
    size_t count = fplt_plan_down(&leader->plan.agreement->plan, leader->open.exchange);
    size_t scalars = leader->plan.shape.scalars;
    fplt__shared *down;
    fplt_status status = fplt__shared_make(8 * (scalars + count), &down, error);
    if (status)
        return status;
    fplt_hub_plan(leader->plan.hub, leader->record.round, leader->open.cohort_size,
                  &leader->open.question);
    status = fplt_hub_broadcast(leader->plan.hub, &leader->open.question, leader->open.exchange,
                                leader->scratch.numbers);
    fplt__leader_expect(leader, count ? leader->scratch.numbers : NULL);
    fplt__put_reals(down->bytes, leader->open.question.scalar, scalars);
    fplt__put_reals(down->bytes + 8 * scalars, leader->scratch.numbers, count);
    fplt__shared_release(leader->open.down);
    leader->open.down = down;
    leader->open.digest = fplt__body_hash(down->bytes, down->size);
    return status ? status : fplt__secure_begin_round(leader, error);
}

static void forget_answers(fplt__leader *leader)
{
    leader->open.received = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->roster.session[i].answers = 0;
}

/* Makes the question of the open round and starts its clock. */
void fplt__round_open(fplt__leader *leader)
{
    FPLT__ASSERT(leader->record.state == FPLT__ROUND && !leader->open.is_open);
    FPLT__ASSERT(!leader->commit.pending && !leader->evaluation.due && !leader->ask.kind);
    FPLT__ASSERT(leader->record.round < leader->plan.stopping.rounds ||
                 FPLT__PLANTED(FPLT__LONGER_RUN));
    fplt_error error;
    for (uint32_t i = 0; fplt__leader_needs_all(leader) && i < leader->settings.members; i++)
        if (!fplt__is_standing(leader, i)) {
            fplt__leader_end_without(leader, i, "the algorithm needs all members");
            return;
        }
    if (fplt__stages_are_on(leader) &&
        leader->open.cohort_size < leader->plan.agreement->threshold) {
        fplt__leader_finish(leader, FPLT__ENDED, "too-few",
                            "fewer members are left than the quorum of secure aggregation");
        return;
    }
    leader->open.exchange = 0;
    leader->open.since = leader->open.stage_since = leader->now;
    leader->open.deadline = leader->now + fplt__leader_round_timeout(leader);
    forget_answers(leader);
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->roster.session[i].left_out = leader->roster.session[i].absent =
            leader->roster.session[i].kept_answer = 0;
    leader->open.bytes_up = leader->open.bytes_down = 0;
    if (leader->plan.stopping.change > 0 &&
        fplt_hub_model(leader->plan.hub, leader->scratch.before))
        memset(leader->scratch.before, 0, leader->plan.n * sizeof *leader->scratch.before);
    if (make_question(leader, &error)) {
        fplt__leader_finish(leader, FPLT__ENDED, "failed", "the coordinator's step failed");
        return;
    }
    leader->open.is_open = 1;
    leader->pace.round[leader->pace.count % 10].round = leader->record.round;
    leader->pace.round[leader->pace.count % 10].since = leader->now;
    leader->pace.round[leader->pace.count % 10].most = 0;
}

void fplt__round_upload_again(fplt__leader *leader)
{
    FPLT__ASSERT(leader->open.is_open && fplt__stages_are_on(leader));
    forget_answers(leader);
}

/* How long the update of a round took, in time or late. */
static void note_arrival(fplt__leader *leader, uint64_t round)
{
    for (int k = 0; k < 10; k++) {
        uint64_t took = leader->now - leader->pace.round[k].since;
        if (leader->pace.round[k].since && leader->pace.round[k].round == round &&
            took > leader->pace.round[k].most)
            leader->pace.round[k].most = took;
    }
}

/* Back to the beginning of the round, as it was committed: all are asked again. */
void fplt__round_forget(fplt__leader *leader)
{
    fplt_error error;
    fplt_hub_abandon(leader->plan.hub);
    forget_answers(leader);
    if (!leader->open.is_open)
        return;
    if (leader->open.exchange)
        fplt_hub_decode(leader->plan.hub, leader->sent.hub->bytes, leader->sent.hub->size, &error);
    leader->open.exchange = 0;
    if (make_question(leader, &error))
        fplt__leader_finish(leader, FPLT__ENDED, "failed", "the coordinator's step failed");
}

int fplt__round_waits_for(const fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(i < leader->settings.members);
    const fplt__member_session *member_session = &leader->roster.session[i];
    return leader->open.is_open && leader->record.state == FPLT__ROUND &&
           fplt__bit(leader->roster.cohort, i) && !member_session->left_out &&
           !member_session->absent && !member_session->spent && fplt__is_standing(leader, i) &&
           member_session->answers <= leader->open.exchange && fplt__stages_want_upload(leader, i);
}

void fplt__round_head(const fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD])
{
    FPLT__ASSERT(leader->open.is_open && fplt__bit(leader->roster.cohort, i));
    uint32_t position = 0;
    for (uint32_t j = 0; j < i; j++)
        position += (uint32_t)fplt__bit(leader->roster.cohort, j);
    FPLT__ASSERT(position < leader->open.cohort_size);
    fplt__frame frame = {.kind = FPLT__TRAIN,
                         .exchange = (uint8_t)leader->open.exchange,
                         .encoding = FPLT__DOUBLES,
                         .incarnation = leader->record.incarnation,
                         .member_index = i,
                         .round = leader->record.round,
                         .cohort = leader->open.cohort_size,
                         .position = position,
                         .version = leader->roster.row[i].version,
                         .count =
                             fplt_plan_down(&leader->plan.agreement->plan, leader->open.exchange),
                         .scalars = leader->plan.shape.scalars,
                         .plan = leader->record.hash,
                         .digest = leader->open.digest};
    FPLT__ASSERT(leader->open.down->size == 8 * (frame.scalars + frame.count));
    frame.payload = 8 * frame.count;
    fplt__frame_write(&frame, head);
}

const fplt__closing *fplt__closing_of(const fplt__leader *leader, uint64_t round)
{
    for (size_t k = 0; k < leader->closings.count; k++)
        if (leader->closings.item[k].round == round)
            return &leader->closings.item[k];
    return NULL;
}

/* Whether a member accepted in that round may still need its closing vector. */
static int is_needed(const fplt__leader *leader, uint64_t round)
{
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (leader->roster.row[i].version && leader->roster.row[i].last_round == round &&
            !leader->roster.session[i].told)
            return 1;
    return 0;
}

static void drop_closings(fplt__leader *leader)
{
    size_t kept = 0;
    for (size_t k = 0; k < leader->closings.count; k++) {
        if (is_needed(leader, leader->closings.item[k].round) && !FPLT__PLANTED(FPLT__NO_CLOSING))
            leader->closings.item[kept++] = leader->closings.item[k];
        else
            fplt__free((double *)leader->closings.item[k].vector);
    }
    leader->closings.count = kept;
}

/* The last broadcast of a round, for who finishes with it; its digest, or zeros. */
static fplt_status keep_closing(fplt__leader *leader, fplt__digest *digest, fplt_error *error)
{
    size_t count = fplt_plan_down(&leader->plan.agreement->plan, leader->plan.shape.exchanges);
    memset(digest, 0, sizeof *digest);
    drop_closings(leader);
    if (!leader->plan.shape.finish_down)
        return FPLT_OK;
    double *vector;
    fplt_status status =
        fplt__grow(&leader->closings.item, &leader->closings.room, leader->closings.count + 1,
                   sizeof *leader->closings.item, "closing vectors", error);
    if (status ||
        (status = fplt__alloc_into(&vector, count, sizeof *vector, "a closing vector", error)))
        return status;
    FPLT__ASSERT(!leader->closings.count ||
                 leader->closings.item[leader->closings.count - 1].round < leader->record.round);
    leader->closings.item[leader->closings.count++] = (fplt__closing){leader->record.round, vector};
    status = fplt_hub_broadcast(leader->plan.hub, &leader->open.question,
                                leader->plan.shape.exchanges, vector);
    fplt__put_reals((uint8_t *)leader->scratch.numbers, vector, count);
    *digest = fplt__body_hash(leader->scratch.numbers, 8 * count);
    return status;
}

static void accept(fplt__leader *leader, uint32_t i, const fplt__digest *closing)
{
    FPLT__ASSERT(fplt__bit(leader->roster.cohort, i) && !fplt__bit(leader->roster.accepted, i));
    FPLT__ASSERT(!leader->roster.session[i].left_out);
    FPLT__ASSERT(!leader->roster.row[i].version ||
                 leader->roster.row[i].last_round < leader->record.round ||
                 !leader->roster.row[i].last_round);
    fplt__member_row *row = &leader->roster.row[i];
    fplt__member_session *member_session = &leader->roster.session[i];
    row->last_digest = fplt__work_digest(member_session->answer, leader->plan.shape.exchanges);
    row->before = row->chain;
    row->chain = fplt__chain_next(&row->chain, leader->record.round, &row->last_digest, closing);
    row->last_round = leader->record.round;
    row->version++;
    member_session->told = 0;
    fplt__bit_set(leader->roster.changed, i, 1);
    fplt__bit_set(leader->roster.accepted, i, 1);
    FPLT__ASSERT(row->seen >= leader->plan.shape.exchanges);
    FPLT__ASSERT(!fplt__same(&row->chain, &row->before));
}

static void note_move(fplt__leader *leader, uint32_t active)
{
    double moved = 0;
    leader->evaluation.stalled = 0;
    if (!(leader->plan.stopping.change > 0) ||
        fplt_hub_model(leader->plan.hub, leader->scratch.model))
        return;
    for (size_t j = 0; j < leader->plan.n; j++)
        moved += (leader->scratch.model[j] - leader->scratch.before[j]) *
                 (leader->scratch.model[j] - leader->scratch.before[j]);
    leader->evaluation.stalled =
        fplt__has_stalled(&leader->plan.stopping, active, sqrt(moved),
                          sqrt(fplt__squared_norm(leader->scratch.model, leader->plan.n)));
}

/* Closes the round, empty where it is void, and opens the next; one commit. */
static void close_round(fplt__leader *leader, int is_void)
{
    FPLT__ASSERT(leader->open.is_open && !leader->commit.pending);
    FPLT__ASSERT(leader->record.state == FPLT__ROUND);
    FPLT__ASSERT(leader->open.received <= leader->open.cohort_size);
    FPLT__ASSERT(is_void || !leader->open.received ||
                 leader->open.exchange + 1 == leader->plan.shape.exchanges);
    fplt_error error;
    fplt__digest closing;
    memset(leader->roster.accepted, 0, (leader->settings.members + 7) / 8);
    if (is_void || !leader->open.received) {
        if (leader->open.exchange || leader->open.received)
            fplt__round_forget(leader);
        drop_closings(leader);
    } else {
        leader->open.question.active = leader->open.received;
        if (fplt_hub_absorb(leader->plan.hub, &leader->open.question, leader->open.exchange) ||
            keep_closing(leader, &closing, &error)) {
            fplt__leader_finish(leader, FPLT__ENDED, "diverged",
                                "the sum over the agents is out of range");
            return;
        }
        for (uint32_t i = 0; i < leader->settings.members; i++)
            if (leader->roster.session[i].answers == leader->plan.shape.exchanges)
                accept(leader, i, &closing);
    }
    FPLT__ASSERT(fplt__bits_count(leader->roster.accepted, leader->settings.members) ==
                 (is_void ? 0 : leader->open.received));
    note_move(leader, is_void ? 0 : leader->open.received);
    fplt__leader_log(leader, UINT32_MAX, is_void ? "void" : "closed", "round %llu %s with %u of %u",
                     (unsigned long long)leader->record.round, is_void ? "is void" : "closed",
                     is_void ? 0 : leader->open.received, leader->open.cohort_size);
    leader->trace = (fplt__trace_row){.round = leader->record.round,
                                      .incarnation = leader->record.incarnation,
                                      .accepted = leader->roster.accepted,
                                      .is_void = is_void,
                                      .seconds = (double)(leader->now - leader->open.since) / 1000,
                                      .bytes_up = leader->open.bytes_up,
                                      .bytes_down = leader->open.bytes_down};
    leader->record.trace = &leader->trace;
    leader->record.round++;
    leader->open.is_open = 0;
    leader->evaluation.due = 1;
    leader->pace.count += leader->open.cohort_size > 0;
    fplt__round_choose(leader);
    leader->record.hub_changed = 1;
    fplt__leader_commit(leader);
    FPLT__ASSERT(leader->commit.pending && leader->record.trace);
    FPLT__ASSERT(leader->trace.round + 1 == leader->record.round);
}

uint32_t fplt__round_quorum(const fplt__leader *leader)
{
    FPLT__ASSERT(leader->plan.agreement);
    if (fplt__leader_needs_all(leader))
        return leader->open.cohort_size;
    if (fplt__stages_are_on(leader))
        return leader->plan.agreement->threshold;
    uint32_t wanted = leader->plan.agreement->quorum;
    if (!wanted)
        wanted = leader->open.cohort_size / 2 + 1;
    return wanted < leader->open.cohort_size ? wanted : leader->open.cohort_size;
}

void fplt__round_void(fplt__leader *leader)
{
    leader->secure.voided++;
    close_round(leader, 1);
}

/* The sum of all masked messages goes to the hub. One that is out of range makes the round void; the third in a row ends
 * the run. 0: nothing was given. */
static int give_masked_sum(fplt__leader *leader)
{
    if (!fplt__secure_is_on(leader) || !leader->open.received || !fplt__secure_give_hub(leader))
        return 1;
    fplt__leader_log(leader, UINT32_MAX, "range", "the sum of the masked messages is out of range");
    if (leader->secure.ruined >= MAX_RUINED)
        fplt__leader_finish(leader, FPLT__ENDED, "diverged",
                            "the sum over the agents is out of range");
    else
        fplt__round_void(leader);
    return 0;
}

/* The last exchange closes the round; the first of two begins the second among who answered. */
void fplt__round_end_exchange(fplt__leader *leader)
{
    fplt_error error;
    if (!give_masked_sum(leader))
        return;
    if (leader->open.exchange + 1 == leader->plan.shape.exchanges) {
        leader->secure.whole += leader->open.received == leader->open.cohort_size;
        leader->secure.shorter += leader->open.received < leader->open.cohort_size;
        close_round(leader, 0);
        return;
    }
    leader->open.question.active = leader->open.received;
    if (fplt_hub_absorb(leader->plan.hub, &leader->open.question, leader->open.exchange)) {
        fplt__leader_finish(leader, FPLT__ENDED, "diverged",
                            "the sum over the agents is out of range");
        return;
    }
    leader->open.exchange++;
    FPLT__ASSERT(leader->open.exchange < leader->plan.shape.exchanges);
    leader->open.received = 0;
    if (make_question(leader, &error))
        fplt__leader_finish(leader, FPLT__ENDED, "failed", "the coordinator's step failed");
}

int fplt__is_silent(const fplt__leader *leader, uint32_t i, uint64_t size)
{
    FPLT__ASSERT(leader->roster.session[i].last_heard <= leader->now);
    const fplt__member_session *member_session = &leader->roster.session[i];
    uint64_t silence = leader->settings.silence ? leader->settings.silence : 60000;
    silence += size * 1000 / FPLT__SLOWEST;
    return leader->now - (member_session->heard ? member_session->last_heard : leader->open.since) >
           silence;
}

/* Who is still waited for, and how many of the cohort can still answer; 0, with both counted only so far, once
 * it is clear that the round goes on: of every update that comes this is asked. */
static int count_missing(const fplt__leader *leader, uint32_t quorum, uint32_t *missing,
                         uint32_t *possible)
{
    FPLT__ASSERT(quorum <= leader->open.cohort_size);
    int late = leader->now >= leader->open.deadline;
    *missing = *possible = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        const fplt__member_session *member_session = &leader->roster.session[i];
        if (!fplt__bit(leader->roster.cohort, i))
            continue;
        int waits = fplt__round_waits_for(leader, i);
        *possible += (uint32_t)(waits || member_session->answers > leader->open.exchange);
        *missing += (uint32_t)(waits && !fplt__is_silent(leader, i, leader->open.down->size));
        if (*possible >= quorum && (leader->open.received < quorum || (*missing && !late)))
            return 0;
    }
    FPLT__ASSERT(*missing <= *possible && *possible <= leader->open.cohort_size);
    FPLT__ASSERT(leader->open.received <= *possible);
    return 1;
}

/* Whether somebody of the cohort was left out after a conflict, or has answered another question of the round: the second
 * exchange is another one where it is asked again after other answers to the first. */
static int has_conflict(const fplt__leader *leader)
{
    int conflict = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        conflict |= fplt__bit(leader->roster.cohort, i) &&
                    (leader->roster.session[i].left_out || leader->roster.session[i].kept_answer);
    return conflict;
}

/* Members whose last word is that their training diverged; the first of them. */
static uint32_t count_diverged(const fplt__leader *leader, uint32_t *first)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (fplt__is_standing(leader, i) && leader->roster.session[i].diverged && !count++)
            *first = i;
    return count;
}

/* Members in good standing that can still take part in a round. */
static uint32_t count_able(const fplt__leader *leader, int of_cohort)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        count += fplt__is_standing(leader, i) && !leader->roster.session[i].spent &&
                 (of_cohort || !fplt__bit(leader->roster.cohort, i));
    return count;
}

static uint32_t count_standing(const fplt__leader *leader)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        count += (uint32_t)(fplt__is_standing(leader, i) != 0);
    return count;
}

/* The word of one member does not end a run: its update is missing from the round, as after any trouble. The run ends
 * where more than half of the members diverge, or where the round cannot close without them and they are several,
 * or the round needs its whole cohort.
 * Where members have spent their budget, too few are left: that is then the reason, whatever one of the others says. */
static int has_diverged(const fplt__leader *leader, uint32_t count, uint32_t possible,
                        uint32_t quorum)
{
    if (FPLT__PLANTED(FPLT__ONE_DIVERGES))
        return count > 0;
    uint32_t standing = count_standing(leader);
    return count && (2 * (uint64_t)count > standing ||
                     (possible < quorum && (count > 1 || quorum == leader->open.cohort_size) &&
                      count_able(leader, 1) == standing && !count_able(leader, 0)));
}

/* Whether the round can close, must, or can no longer. */
void fplt__round_look(fplt__leader *leader)
{
    uint32_t missing, possible, quorum, first = 0;
    if (!leader->open.is_open || leader->commit.pending || leader->record.state != FPLT__ROUND)
        return;
    if (fplt__secure_is_hopeless(leader)) {
        fplt__round_void(leader);
        return;
    }
    if (fplt__stages_are_on(leader) && leader->secure.stage != FPLT__STAGE_UPLOADS) {
        fplt__stages_look(leader);
        return;
    }
    quorum = fplt__round_quorum(leader);
    int is_decided = count_missing(leader, quorum, &missing, &possible);
    if (has_diverged(leader, count_diverged(leader, &first), possible, quorum)) {
        const fplt__report *report = &leader->roster.session[first].report;
        fplt__leader_finish(leader, FPLT__ENDED, "diverged",
                            report->has_trouble ? report->trouble.sentence
                                                : "the training of more than half diverged");
        return;
    }
    if (!is_decided)
        return;
    if (!leader->open.cohort_size) {
        close_round(leader, 0);
    } else if (possible < quorum) {
        if (fplt__stages_can_go_on(leader))
            fplt__round_void(leader);
        else if (has_conflict(leader) || count_able(leader, 0)) /* others may be drawn next time */
            close_round(leader, 1);
        else
            fplt__leader_finish(leader, FPLT__ENDED, "too-few",
                                "fewer members are left than the round needs");
    } else if (leader->open.received >= quorum &&
               (!missing || leader->now >= leader->open.deadline)) {
        int whole =
            leader->plan.agreement->plan.algorithm->whole &&
            leader->plan.agreement->plan.algorithm->whole(leader->plan.agreement->plan.parameter,
                                                          leader->open.cohort_size);
        if (whole && leader->open.received < leader->open.cohort_size)
            close_round(leader, 1);
        else if (fplt__stages_are_on(leader))
            fplt__stages_uploaded(leader);
        else
            fplt__round_end_exchange(leader);
    }
}

/* Another digest for the same task, or numbers out of range: who says so is left out. */
void fplt__round_leave_out(fplt__leader *leader, uint32_t i, const char *why)
{
    FPLT__ASSERT(fplt__bit(leader->roster.cohort, i) && !leader->roster.session[i].left_out);
    fplt__member_row *row = &leader->roster.row[i];
    row->conflicts++;
    fplt__bit_set(leader->roster.changed, i, 1);
    fplt__leader_log(leader, i, "conflict", "%s (%u of %d)", why, row->conflicts, MAX_CONFLICTS);
    if (row->conflicts >= MAX_CONFLICTS)
        row->standing = FPLT__LEFT_OUT;
    fplt__round_forget(leader);
    leader->roster.session[i].left_out = 1;
}

static const char *mismatch(const fplt__leader *leader, uint32_t i, const fplt__frame *frame)
{
    const fplt__member_row *row = &leader->roster.row[i];
    if (leader->record.state != FPLT__ROUND || !leader->open.is_open ||
        frame->incarnation != leader->record.incarnation || frame->round != leader->record.round ||
        !fplt__bit(leader->roster.cohort, i) || leader->roster.session[i].left_out ||
        frame->exchange > leader->open.exchange ||
        (leader->roster.session[i].answers <= frame->exchange &&
         !fplt__stages_want_upload(leader, i)))
        return "closed";
    if (frame->version != row->version || !fplt__same(&frame->chain, &row->chain) ||
        frame->cohort != 1 ||
        frame->count != fplt__plan_up(&leader->plan.agreement->plan, frame->exchange) ||
        frame->scalars || !fplt__takes_encoding(leader, FPLT__TRAIN, frame->encoding))
        return "other";
    return NULL;
}

static fplt_status receive_words(fplt__leader *leader, const fplt__frame *frame,
                                 const uint8_t *body, fplt_error *error)
{
    return (frame->encoding == FPLT__LISTED ? fplt__hub_receive_listed : fplt__hub_receive_packed)(
        leader->plan.hub, leader->open.exchange, fplt__frame_payload(frame, body),
        (size_t)frame->payload, error);
}

void fplt__round_update(fplt__leader *leader, const fplt__request *request,
                        const fplt__frame *frame, const uint8_t *body)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->roster.session[i];
    uint8_t head[FPLT__FRAME_HEAD];
    fplt_error error;
    const char *word = mismatch(leader, i, frame);
    fplt__answer answer = {frame->task, frame->digest};
    if (word) {
        /* late, unless it is a repetition of what counted */
        if (frame->incarnation == leader->record.incarnation &&
            frame->round < leader->record.round &&
            !(leader->roster.row[i].version && leader->roster.row[i].last_round == frame->round))
            note_arrival(leader, frame->round);
        fplt__leader_fault(leader, request->ticket, i, 409, word, 0,
                           "round %llu is not open for this", (unsigned long long)frame->round);
        return;
    }
    if (frame->exchange < member_session->answers) {
        if (fplt__same(&member_session->answer[frame->exchange].task, &frame->task) &&
            !fplt__same(&member_session->answer[frame->exchange].digest, &frame->digest)) {
            fplt__round_leave_out(leader, i, "it sent two messages for one task");
            fplt__leader_fault(leader, request->ticket, i, 409, "conflict", 0,
                               "another message for the same task came before");
            fplt__round_look(leader);
            return;
        }
        fplt__leader_taken(leader, request, 200);
        return;
    }
    fplt__round_head(leader, i, head);
    fplt__digest task = fplt__frame_task(head);
    if (frame->exchange != leader->open.exchange || !fplt__same(&task, &frame->task)) {
        fplt__leader_fault(leader, request->ticket, i, 409, "other", 0,
                           "this answers another task");
        return;
    }
    if (fplt__secure_is_on(leader) && fplt__secure_take(leader, i, frame, body, &error)) {
        fplt__leader_fault(leader, request->ticket, i, 409, "other", 0, "%s", error.text);
        return;
    }
    if (!fplt__secure_is_on(leader) && receive_words(leader, frame, body, &error)) {
        fplt__round_leave_out(leader, i, "it sent numbers that cannot be read or are out of range");
        fplt__leader_fault(leader, request->ticket, i, 409, "range", 0,
                           "the numbers cannot be read or are out of range");
        fplt__round_look(leader);
        return;
    }
    FPLT__ASSERT(fplt__bit(leader->roster.cohort, i) &&
                 member_session->answers <= leader->open.exchange);
    FPLT__ASSERT(leader->open.received < leader->open.cohort_size);
    member_session->answer[leader->open.exchange] = answer;
    member_session->answers = leader->open.exchange + 1;
    leader->open.received++;
    member_session->diverged = 0;
    leader->roster.row[i].seen++;
    fplt__bit_set(leader->roster.changed, i, 1);
    leader->open.bytes_up += request->size;
    note_arrival(leader, leader->record.round);
    fplt__leader_taken(leader, request, 202);
    fplt__round_look(leader);
}
