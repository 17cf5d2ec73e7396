/* Invariants of the coordinator's machine: what holds between two events. */
#include "base/assert.h"
#include "protocol/leading.h"

uint32_t fplt__bits_count(const uint8_t *map, uint32_t count)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < count; i++)
        set += (uint32_t)fplt__bit(map, i);
    return set;
}

static void check_member(const fplt__leader *leader, uint32_t i)
{
    const fplt__member_session *session = &leader->roster.session[i];
    FPLT__ASSERT(session->answers <= 2);
    FPLT__ASSERT(session->judged <= leader->commit.count);
    FPLT__ASSERT(session->last_heard <= leader->now);
    FPLT__ASSERT(!session->ticket || session->since <= leader->now);
    FPLT__ASSERT(!session->ticket || session->session || FPLT__PLANTED(FPLT__NO_SESSION));
    FPLT__ASSERT(session->session || !session->sequence || FPLT__PLANTED(FPLT__NO_SESSION));
    FPLT__ASSERT(!session->consented || !session->refused);
    FPLT__ASSERT(!session->enrols ||
                 (!leader->plan.shape.mirrored && !leader->plan.shape.finish_down));
    FPLT__ASSERT(!leader->open.is_open || !session->answers ||
                 (fplt__bit(leader->roster.cohort, i) && !session->left_out));
}

/* What is counted and what is flagged agree. */
static void check_counts(const fplt__leader *leader)
{
    uint32_t received = 0, answered = 0;
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        check_member(leader, i);
        received += leader->roster.session[i].answers > leader->open.exchange;
        answered += leader->roster.session[i].answered != 0;
    }
    FPLT__ASSERT(leader->open.cohort_size ==
                 fplt__bits_count(leader->roster.cohort, leader->settings.members));
    FPLT__ASSERT(!leader->open.is_open || leader->open.received == received);
    FPLT__ASSERT(!leader->open.is_open || received <= leader->open.cohort_size);
    FPLT__ASSERT(!leader->ask.kind || leader->ask.answers == answered);
}

/* The record and the machine, and the commit that is pending. */
static void check_record(const fplt__leader *leader)
{
    const fplt__leader_record *record = &leader->record;
    FPLT__ASSERT(record->members == leader->settings.members);
    FPLT__ASSERT(record->member == leader->roster.row && record->changed == leader->roster.changed);
    FPLT__ASSERT(record->cohort == leader->roster.cohort);
    FPLT__ASSERT(!record->trace || (leader->commit.pending && record->trace == &leader->trace));
    FPLT__ASSERT(!record->hub_changed || leader->commit.pending);
    FPLT__ASSERT(!record->document_changed || leader->commit.pending);
    FPLT__ASSERT(!record->trace || record->trace->round < record->round);
    FPLT__ASSERT(!record->has_measure || record->measured_round <= record->round);
    FPLT__ASSERT(!leader->commit.pending || record->document == leader->sent.document->bytes);
    FPLT__ASSERT(!leader->commit.pending || record->document_size == leader->sent.document->size);
    FPLT__ASSERT(!leader->commit.pending || !leader->sent.hub ||
                 record->hub == leader->sent.hub->bytes);
    FPLT__ASSERT(!leader->commit.pending || record->closings == leader->closings.count);
    for (size_t k = 1; k < leader->closings.count; k++)
        FPLT__ASSERT(leader->closings.item[k - 1].round < leader->closings.item[k].round);
}

/* The state, and what goes with it. */
static void check_state(const fplt__leader *leader)
{
    fplt__leader_state state = leader->record.state;
    FPLT__ASSERT(state < FPLT__STATES);
    FPLT__ASSERT(state != FPLT__FORMING || (!leader->plan.hub && !leader->plan.agreement));
    FPLT__ASSERT(state == FPLT__FORMING || state >= FPLT__DONE ||
                 (leader->plan.hub && leader->plan.agreement));
    FPLT__ASSERT(!leader->plan.hub == !leader->plan.agreement);
    FPLT__ASSERT(!leader->open.is_open ||
                 (state == FPLT__ROUND && leader->open.down && !leader->evaluation.due));
    FPLT__ASSERT(!leader->open.is_open || leader->open.exchange < leader->plan.shape.exchanges);
    FPLT__ASSERT(!leader->ask.kind || (leader->ask.down && leader->ask.sum));
    FPLT__ASSERT(!leader->ask.kind ||
                 state == (leader->ask.kind == FPLT__MOMENTS ? FPLT__FORMING : FPLT__ROUND));
    FPLT__ASSERT(!leader->ask.kind || leader->ask.kind == FPLT__MOMENTS || leader->evaluation.due);
    FPLT__ASSERT(!leader->ask.kind || !leader->open.is_open);
    FPLT__ASSERT(!leader->resolving ||
                 (state == FPLT__FORMING && !leader->ask.kind && !leader->commit.pending));
    FPLT__ASSERT(leader->finished_said ? state >= FPLT__DONE
                                       : state < FPLT__DONE || leader->commit.pending);
}

/* A commit is asked for once, and only while it is pending. */
static void check_actions(const fplt__leader *leader)
{
    uint32_t commits = 0;
    for (size_t a = 0; a < leader->queue.count; a++) {
        commits += leader->queue.action[a].kind == FPLT__LEADER_COMMIT;
        FPLT__ASSERT(leader->queue.action[a].reply.parts <= FPLT__REPLY_PARTS);
        FPLT__ASSERT(leader->queue.action[a].kind != FPLT__LEADER_REPLY ||
                     leader->queue.action[a].reply.ticket);
    }
    FPLT__ASSERT(commits <= 1 || FPLT__PLANTED(FPLT__EARLY_VERDICT));
    FPLT__ASSERT(!commits || leader->commit.pending);
    FPLT__ASSERT(leader->queue.taken == 0 && leader->queue.count <= leader->queue.room);
}

void fplt__leader_check(const fplt__leader *leader)
{
    if (leader->failed)
        return;
    check_counts(leader);
    check_record(leader);
    check_state(leader);
    check_actions(leader);
}
