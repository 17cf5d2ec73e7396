/* Before round 0: consents to the proposal, the plan, consents to the plan. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "protocol/leading.h"

void fplt__leader_check_forming(fplt__leader *leader)
{
    FPLT__ASSERT(!leader->resolving || leader->record.state == FPLT__FORMING);
    if (leader->resolving || leader->ask.kind || leader->commit.pending ||
        (leader->record.state != FPLT__FORMING && leader->record.state != FPLT__PLANNED))
        return;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (!leader->roster.session[i].consented)
            return;
    if (leader->record.state == FPLT__FORMING) {
        leader->resolving = 1;
        fplt__leader_add(leader, FPLT__LEADER_RESOLVE);
        return;
    }
    FPLT__ASSERT(leader->plan.hub && leader->plan.agreement);
    if (!fplt__secure_is_ready(leader))
        return;
    FPLT__ASSERT(leader->record.round == 0 && leader->record.incarnation == 0);
    fplt__digest none = {{0}};
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        leader->roster.row[i].chain = fplt__chain_begin(&leader->record.hash, 0, i, &none);
        leader->roster.row[i].records =
            leader->plan.agreement->records ? leader->plan.agreement->records[i] : 0;
        fplt__bit_set(leader->roster.changed, i, 1);
    }
    leader->record.state = FPLT__ROUND;
    leader->record.hub_changed = 1;
    leader->evaluation.due = 1;
    fplt__round_choose(leader);
    fplt__leader_log(leader, UINT32_MAX, "opened", "all have consented: round 0");
    fplt__leader_commit(leader);
}

void fplt__leader_take_plan(fplt__leader *leader, const fplt__leader_event *event)
{
    FPLT__ASSERT(leader->resolving && leader->record.state == FPLT__FORMING);
    FPLT__ASSERT(event->document && event->document_size);
    fplt_error error;
    leader->resolving = 0;
    if (fplt__leader_keep_bytes(&leader->sent.document, event->document, event->document_size,
                                &error) ||
        fplt__leader_adopt_plan(leader, event->plan, &error)) {
        leader->failed = 1;
        return;
    }
    leader->record.hash = fplt__document_hash(event->document, event->document_size);
    if (fplt__secure_open(leader, NULL, &error)) {
        leader->failed = 1;
        return;
    }
    leader->record.state = FPLT__PLANNED;
    leader->record.document_changed = 1;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->roster.session[i].consented = 0;
    fplt__leader_commit(leader);
}

void fplt__leader_take_consent(fplt__leader *leader, const fplt__request *request)
{
    fplt__consent consent;
    fplt_error error;
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->roster.session[i];
    if (fplt__consent_read(request->body, request->size, &consent, &error)) {
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    if (consent.agreed && !consent.records && leader->record.state == FPLT__FORMING &&
        !FPLT__PLANTED(FPLT__NO_RECORDS)) {
        fplt__leader_log(leader, i, "refused", "it agrees with 0 records");
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1,
                           "a member needs at least one record");
        return;
    }
    if (!fplt__same(&consent.document, &leader->record.hash) || leader->commit.pending) {
        fplt__leader_fault(leader, request->ticket, i, 409, "plan", 0,
                           "another document is proposed");
        return;
    }
    member_session->consented = consent.agreed;
    member_session->refused = !consent.agreed;
    FPLT__ASSERT(member_session->consented != member_session->refused);
    if (leader->record.state == FPLT__FORMING)
        leader->roster.row[i].records = consent.records, member_session->hessian = consent.hessian;
    if (consent.has_identity) {
        member_session->has_identity = 1;
        memcpy(member_session->identity, consent.identity, sizeof member_session->identity);
    }
    int is_news = leader->record.state < FPLT__ROUND || !consent.agreed;
    if (is_news) /* a member that joins again says it again */
        fplt__leader_log(leader, i, consent.agreed ? "consent" : "refused", "%s",
                         !consent.agreed                         ? consent.sentence
                         : leader->record.state == FPLT__FORMING ? "agrees to the proposal"
                                                                 : "agrees to the plan");
    fplt__leader_reply(leader, request->ticket, i, 200);
    fplt__leader_check_forming(leader);
}

void fplt__leader_take_refusal(fplt__leader *leader, const char *sentence)
{
    leader->resolving = 0;
    leader->ask.kind = 0;
    leader->record.state = FPLT__ENDED;
    leader->record.hub_changed = leader->plan.hub != NULL;
    snprintf(leader->record.outcome, sizeof leader->record.outcome, "refused");
    snprintf(leader->record.sentence, sizeof leader->record.sentence, "%s", sentence);
    fplt__leader_commit(leader);
}

int fplt__leader_follows(const fplt__leader *leader)
{
    return leader->settings.follows && leader->record.state == FPLT__DONE &&
           !*leader->evaluation.withheld;
}
