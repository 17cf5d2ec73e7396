/* The coordinator's machine as others see it: its state, its members, whom it waits for. */
#include "protocol/leader.h"

#include "base/assert.h"
#include "protocol/leading.h"

const char *fplt__leader_state_name(fplt__leader_state state)
{
    static const char *const names[FPLT__STATES] = {"forming", "planned", "round", "repair",
                                                    "halted",  "done",    "ended"};
    return state < FPLT__STATES ? names[state] : NULL;
}

static int is_waited_for(const fplt__leader *leader, uint32_t i)
{
    const fplt__member_session *member_session = &leader->roster.session[i];
    switch (leader->record.state) {
    case FPLT__FORMING:
    case FPLT__PLANNED:
        return !member_session->consented || (leader->ask.kind && !member_session->answered);
    case FPLT__REPAIR: return !member_session->enrolled && fplt__is_standing(leader, i);
    case FPLT__ROUND:
        return leader->ask.kind
                   ? !member_session->answered
                   : fplt__round_waits_for(leader, i) || fplt__stage_waits_for(leader, i);
    default: return 0;
    }
}

fplt__leader_view fplt__leader_get_view(const fplt__leader *leader)
{
    return (fplt__leader_view){.state = leader->record.state,
                               .paused = leader->paused,
                               .committing = leader->commit.pending,
                               .evaluating = leader->ask.kind != 0,
                               .incarnation = leader->record.incarnation,
                               .members = leader->settings.members,
                               .cohort = leader->open.cohort_size,
                               .received = leader->open.received,
                               .quorum = leader->open.is_open ? fplt__round_quorum(leader) : 0,
                               .opened_now = leader->open.is_open,
                               .round = leader->record.round,
                               .rounds = leader->plan.stopping.rounds,
                               .opened = leader->open.since,
                               .deadline = leader->open.deadline,
                               .has_measure = leader->evaluation.has_measured,
                               .measure = leader->evaluation.measured,
                               .outcome = leader->record.outcome,
                               .sentence = leader->record.sentence,
                               .withheld = leader->evaluation.withheld,
                               .withheld_by = leader->evaluation.withheld_by,
                               .follows = fplt__leader_follows(leader),
                               .checks = leader->check.wanted,
                               .has_check = leader->check.done,
                               .check_equal = leader->check.equal,
                               .check_round = leader->check.round,
                               .secure = fplt__secure_is_on(leader),
                               .stage = fplt__stage_name(leader->secure.stage),
                               .left = fplt__stages_are_on(leader) && leader->open.is_open
                                           ? fplt__secagg_total_left_count(leader->secure.total)
                                           : leader->open.cohort_size,
                               .lists = leader->secure.lists,
                               .whole_rounds = leader->secure.whole,
                               .short_rounds = leader->secure.shorter,
                               .void_rounds = leader->secure.voided};
}

fplt__member_view fplt__leader_member(const fplt__leader *leader, uint32_t member_index)
{
    FPLT__ASSERT(member_index < leader->settings.members);
    const fplt__member_session *member_session = &leader->roster.session[member_index];
    return (fplt__member_view){.standing = leader->roster.row[member_index].standing,
                               .joined = member_session->session != 0,
                               .consented = member_session->consented,
                               .refused = member_session->refused,
                               .hessian = member_session->hessian,
                               .identity =
                                   member_session->has_identity ? member_session->identity : NULL,
                               .in_cohort = fplt__bit(leader->roster.cohort, member_index),
                               .received = member_session->answers > leader->open.exchange,
                               .absent = member_session->absent,
                               .waited_for = is_waited_for(leader, member_index),
                               .heard = member_session->heard,
                               .last_heard = member_session->last_heard,
                               .version = leader->roster.row[member_index].version,
                               .row = &leader->roster.row[member_index]};
}

fplt_hub *fplt__leader_hub(fplt__leader *leader)
{
    return leader->plan.hub;
}

const fplt__agreement *fplt__leader_agreement(const fplt__leader *leader)
{
    return leader->plan.agreement;
}
