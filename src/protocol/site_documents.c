/* Joining, proposal and plan, and the node that a plan becomes. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/node.h"
#include "protocol/planted.h"
#include "protocol/site_machine.h"

fplt__site_action *fplt__site_ask_shell(fplt__site *site, fplt__site_action_kind kind,
                                        enum fplt__site_waiting waiting)
{
    FPLT__ASSERT(site->document);
    FPLT__ASSERT(waiting == FPLT__FOR_AGREEMENT || waiting == FPLT__FOR_FACTS ||
                 waiting == FPLT__FOR_NODE);
    fplt__site_action *action = fplt__site_add(site, kind);
    site->waiting = waiting;
    site->wake = UINT64_MAX;
    if (!action)
        return NULL;
    action->records = site->record.records;
    action->planned = site->record.planned;
    action->hash = site->record.hash;
    action->document = site->document;
    action->document_size = site->record.document_size;
    action->start = site->start;
    action->start_size = site->start_size;
    return action;
}

/* With a session and a document: what is still missing before polls. */
static void proceed(fplt__site *site)
{
    FPLT__ASSERT(site->joined && site->document);
    if (site->record.planned && !site->node)
        fplt__site_ask_shell(site, FPLT__SITE_BUILD, FPLT__FOR_NODE);
    else if (!site->record.consented)
        fplt__site_ask_shell(site, FPLT__SITE_ASK, FPLT__FOR_AGREEMENT);
    else
        fplt__site_consent(site, 1, NULL);
}

void fplt__site_forget_run(fplt__site *site)
{
    const fplt__site_record before = site->record;
    if (site->agreement)
        fplt__agreement_clear(site->agreement);
    fplt__free(site->agreement);
    fplt_node_destroy(site->node);
    fplt__site_close_secure(site);
    site->agreement = NULL;
    site->node = NULL;
    fplt__free(site->start);
    site->start = NULL;
    site->start_size = 0;
    site->ended = site->asked_end = site->has_trouble = 0;
    for (int e = 0; e < 2; e++)
        fplt__site_set_frame(&site->message[e], NULL, 0);
    fplt__site_set_frame(&site->enrolment, NULL, 0);
    memset(&site->record, 0, sizeof site->record);
    site->record.member_index = before.member_index;
    site->record.records = before.records;
    site->record.sent_run = before.sent_run;
    site->record.sent_members = before.sent_members;
    site->record.sent_authority = before.sent_authority;
    site->record.sent_plan = before.sent_plan;
}

/* Whether this agent has sent an update in a run of that number, or a later one, under another plan. Runs are numbered
 * upwards: a coordinator that begins such a run anew has lost its state, and updates for both plans would say more than
 * either. */
static int is_run_again(const fplt__site *site, const void *bytes, size_t size, int planned,
                        uint32_t *run)
{
    fplt__proposal proposal;
    fplt__agreement agreement;
    fplt_error error;
    fplt__digest authority;
    if (!site->record.sent_run)
        return 0;
    if (planned ? fplt__agreement_read(bytes, size, &agreement, &error)
                : fplt__proposal_read(bytes, size, &proposal, &error))
        return 0; /* the shell says what is wrong with it */
    *run = planned ? agreement.proposal.run : proposal.run;
    authority = planned ? agreement.proposal.authority : proposal.authority;
    int is_analysis =
        !planned && *proposal.analysis.kind; /* has numbers of its own, and no updates */
    if (planned)
        fplt__agreement_clear(&agreement);
    else
        fplt__proposal_clear(&proposal);
    if (is_analysis)
        return 0;
    return *run <= site->record.sent_run && fplt__same(&authority, &site->record.sent_authority) &&
           !(planned && fplt__same(&site->record.hash, &site->record.sent_plan));
}

/* Whether the plan begins at a model and has fewer members than the run in which this agent sent updates last, with secure
 * aggregation and without noise: the sums with and without the member, at nearly the same model, reveal its update. */
static int reveals_member(const fplt__site *site, const void *bytes, size_t size)
{
    fplt__agreement agreement;
    fplt_error error;
    if (site->settings.allows_exclusion || !site->record.sent_members ||
        fplt__agreement_read(bytes, size, &agreement, &error))
        return 0;
    int reveals = agreement.proposal.secure && !agreement.private &&
                  !fplt__is_zero(&agreement.start) &&
                  agreement.proposal.members < site->record.sent_members;
    fplt__agreement_clear(&agreement);
    return reveals;
}

static void refuse_exclusion(fplt__site *site)
{
    static const char sentence[] =
        "policy.exclusion: the plan goes on without a member, with secure aggregation and without "
        "noise: the sums with and without the member would reveal its updates; begin at zero, add "
        "privacy, or write `exclusion: allow` at all sites";
    fplt__site_log(site, "refused", "%s", sentence);
    site->refused = 1;
    fplt__site_consent(site, 0, sentence);
}

static void refuse_run(fplt__site *site, uint32_t run)
{
    char sentence[FPLT__SENTENCE];
    snprintf(sentence, sizeof sentence,
             "this agent has already sent updates in run %u under another plan, and run %u is "
             "proposed: the coordinator has lost its state; put federation.db back, or raise `run` "
             "above %u",
             site->record.sent_run, run, site->record.sent_run);
    fplt__site_log(site, "refused", "%s", sentence);
    site->refused = 1;
    fplt__site_consent(site, 0, sentence);
}

void fplt__site_take_document(fplt__site *site, const void *bytes, size_t size, int planned)
{
    fplt_error error;
    fplt__digest none = {{0}}, hash = fplt__document_hash(bytes, size);
    uint8_t *copy;
    if (!fplt__same(&hash, &site->document_hint)) { /* changed since: a proposal, or a plan? */
        fplt__site_join(site);
        return;
    }
    if (fplt__alloc_into(&copy, size + 1, 1, "a plan", &error)) {
        site->failed = 1;
        return;
    }
    memcpy(copy, bytes, size);
    fplt__site_forget_run(site);
    fplt__free(site->document);
    site->document = copy;
    site->record.document_size = size;
    site->record.hash = hash;
    site->record.planned = planned;
    site->record.chain = fplt__chain_begin(&site->record.hash, 0, site->record.member_index, &none);
    uint32_t run;
    if (!FPLT__PLANTED(FPLT__TWO_PLANS) && is_run_again(site, bytes, size, planned, &run)) {
        refuse_run(site, run);
        return;
    }
    if (planned && !FPLT__PLANTED(FPLT__REVEALS) && reveals_member(site, bytes, size)) {
        refuse_exclusion(site);
        return;
    }
    proceed(site);
}

void fplt__site_take_start(fplt__site *site, const void *bytes, size_t size)
{
    fplt_error error;
    fplt__free(site->start);
    site->start = NULL;
    if (fplt__alloc_into(&site->start, size + 1, 1, "a start", &error)) {
        site->failed = 1;
        return;
    }
    if (size)
        memcpy(site->start, bytes, size);
    site->start_size = size;
    proceed(site);
}

void fplt__site_take_joined(fplt__site *site, const void *body, size_t size)
{
    fplt__joined joined;
    fplt_error error;
    if (fplt__joined_read(body, size, &joined, &error)) {
        fplt__site_log(site, "refused", "%s", error.text);
        fplt__site_back_off(site);
        return;
    }
    int same = site->document && fplt__same(&joined.document, &site->record.hash) &&
               joined.planned == site->record.planned;
    if (site->agreement && same && joined.member_index != site->record.member_index) {
        fplt__site_log(site, "refused",
                       "the coordinator gives this agent another number (%u) than "
                       "in the plan (%u)",
                       joined.member_index, site->record.member_index);
        fplt__site_back_off(site);
        return;
    }
    if (joined.session != site->session) /* in the same one, numbers go on */
        site->sequence = 0;
    site->session = joined.session;
    site->joined = 1;
    site->record.member_index = joined.member_index;
    if (joined.has_charged && fplt__receipt_exceeds(&joined.charged.receipt, &site->charged) &&
        fplt__charged_valid(&joined.charged, site->settings.ledger_key)) {
        fplt__site_action *action = fplt__site_add(site, FPLT__SITE_ADOPT);
        site->charged = joined.charged.receipt;
        if (action)
            action->charged = joined.charged.receipt;
    }
    if (same) {
        proceed(site);
        return;
    }
    site->planned_hint = joined.planned;
    site->document_hint = joined.document;
    site->record.changed = 0;
    if (site->record.planned && !site->ended && !site->asked_end) {
        site->asked_end = 1; /* its last model may be where the next run begins */
        fplt__site_poll(site);
        return;
    }
    fplt__site_request(site, FPLT__DOCUMENT, NULL);
}

void fplt__site_count_adopted(fplt__site *site)
{
    fplt__site_record *record = &site->record;
    if (memcmp(site->charged.run, &record->hash, sizeof record->hash) == 0 &&
        site->charged.rounds > record->charges && !FPLT__PLANTED(FPLT__FORGETS_CHARGES)) {
        record->charges = site->charged.rounds;
        FPLT__ASSERT(record->charges > 0);
        record->changed |= FPLT__SITE_RUN;
    }
    if (site->node)
        fplt__node_count(site->node, record->charges);
}

/* The node as the record has it. */
static void restore_node(fplt__site *site)
{
    fplt__site_record *record = &site->record;
    size_t kept = site->shape.kept * site->n, held = site->shape.held * site->n;
    if (record->kept_count != kept || (record->held && record->held_count != held) ||
        (record->begin_count && record->begin_count != site->n)) {
        site->damaged = 1;
        return;
    }
    fplt__node_parts parts = {.kept = record->kept,
                              .staged = record->staged,
                              .held = record->held,
                              .computed = record->charges,
                              .has_latest = record->has_staged,
                              .latest = record->staged_round,
                              .answered = record->messages};
    fplt__node_set(site->node, &parts);
    record->kept = record->staged = record->held = NULL;
}

void fplt__site_take_node(fplt__site *site, fplt__site_plan *plan)
{
    FPLT__ASSERT(!site->node && !site->agreement);
    FPLT__ASSERT(site->record.planned);
    FPLT__ASSERT(plan->agreement && plan->node);
    fplt_error error;
    site->agreement = plan->agreement;
    site->node = plan->node;
    site->withholds = plan->withholds;
    snprintf(site->reason, sizeof site->reason, "%s", plan->reason);
    site->n = plan->agreement->plan.dimension;
    site->shape = fplt_algorithm_shape(plan->agreement->plan.algorithm,
                                       plan->agreement->plan.parameter, site->n);
    FPLT__ASSERT(site->shape.exchanges >= 1 && site->shape.exchanges <= 2);
    if (!site->begin &&
        fplt__alloc_into(&site->begin, site->n, sizeof *site->begin, "an agent", &error)) {
        site->failed = 1;
        return;
    }
    fplt__site_open_secure(site);
    fplt__site_count_adopted(site);
    if (site->record.kept)
        restore_node(site);
    else
        site->record.changed |= FPLT__SITE_RUN | FPLT__SITE_KEPT;
    site->record.consented = 1;
    fplt__site_consent(site, 1, NULL);
}
