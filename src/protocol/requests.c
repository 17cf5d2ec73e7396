/* Requests of members: sessions, reports, updates, documents. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "engine/hub_node.h"
#include "protocol/leading.h"

enum { SESSION_BITS = 24 };

/* --- sessions --- */

static void let_go(fplt__leader *leader, uint32_t i, const char *word, int final)
{
    FPLT__ASSERT(i < leader->settings.members);
    fplt__member_session *member_session = &leader->roster.session[i];
    if (member_session->ticket)
        fplt__leader_fault(leader, member_session->ticket, i, 409, word, final,
                           final ? "another process of this member has joined"
                                 : "a newer request has come");
    member_session->ticket = 0;
}

static void answer_join(fplt__leader *leader, const fplt__request *request)
{
    uint32_t i = request->member_index;
    fplt_error error;
    char *text = NULL;
    fplt__joined joined = {.session = leader->roster.session[i].session,
                           .member_index = i,
                           .document = leader->record.hash,
                           .planned = leader->plan.agreement != NULL,
                           .has_charged = leader->roster.row[i].has_charged,
                           .charged = leader->roster.row[i].charged};
    fplt__joined_text(&joined, &text, &error);
    fplt__leader_add_text(leader, fplt__leader_add_reply(leader, request->ticket, i, 200), text);
}

/* A process that joins again keeps its session; another one gets a new session, which ends the old one. */
static void join(fplt__leader *leader, const fplt__request *request)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->roster.session[i];
    fplt__join wanted;
    fplt_error error;
    if (fplt__join_read(request->body, request->size, &wanted, &error)) {
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    int is_same =
        member_session->session && wanted.process && member_session->process == wanted.process;
    let_go(leader, i, is_same ? "old" : "superseded", !is_same);
    if (!is_same) {
        member_session->session =
            (leader->settings.process >> SESSION_BITS << SESSION_BITS) + ++leader->roster.sessions;
        member_session->sequence = 0;
        member_session->process = wanted.process;
        fplt__leader_log(leader, i, "joined", "session %llu",
                         (unsigned long long)leader->roster.sessions);
    }
    FPLT__ASSERT(member_session->session && !member_session->ticket);
    answer_join(leader, request);
}

/* Whether the request is of the newest session and newer than all before it. */
static int is_current(fplt__leader *leader, const fplt__request *request)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->roster.session[i];
    if (FPLT__PLANTED(FPLT__NO_SESSION))
        return 1;
    if (request->session >> SESSION_BITS != leader->settings.process >> SESSION_BITS ||
        !member_session->session) {
        fplt__leader_fault(leader, request->ticket, i, 409, "join", 0, "this session is not known");
        return 0;
    }
    if (request->session != member_session->session) {
        fplt__leader_fault(leader, request->ticket, i, 409, "superseded", 1,
                           "another process of this member has joined");
        return 0;
    }
    if (request->sequence <= member_session->sequence) {
        fplt__leader_fault(leader, request->ticket, i, 409, "old", 0, "a newer request has come");
        return 0;
    }
    member_session->sequence = request->sequence;
    return 1;
}

/* --- requests --- */

/* The largest receipt counts; its rounds are of this run only where it says so. */
static void keep_receipt(fplt__leader *leader, uint32_t i, const fplt__report *report)
{
    fplt__member_row *row = &leader->roster.row[i];
    const fplt__receipt *receipt = &report->charged.receipt;
    int is_of_run = memcmp(receipt->run, &report->plan, sizeof report->plan) == 0;
    if (!report->has_charged || !(fplt__receipt_exceeds(receipt, &row->charged.receipt) ||
                                  (is_of_run && receipt->rounds > row->charges)))
        return;
    row->has_charged = 1;
    row->charged = report->charged;
    if (is_of_run)
        row->charges = receipt->rounds;
    fplt__bit_set(leader->roster.changed, i, 1);
}

/* The request becomes the poll of its member. */
static void keep_report(fplt__leader *leader, const fplt__request *request,
                        const fplt__report *report)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->roster.session[i];
    let_go(leader, i, "old", 0);
    FPLT__ASSERT(!member_session->ticket);
    FPLT__ASSERT(request->ticket);
    keep_receipt(leader, i, report);
    fplt__secure_keep_key(leader, i, report);
    member_session->report = *report;
    member_session->finding = FPLT__UNHEARD;
    member_session->ticket = request->ticket;
    member_session->since = leader->now;
}

/* Reads a report of the plan in force, or refuses the request. */
static int read_report(fplt__leader *leader, const fplt__request *request, const void *text,
                       size_t size, fplt__report *report)
{
    fplt_error error;
    if (fplt__report_read(text, size, report, &error)) {
        fplt__leader_fault(leader, request->ticket, request->member_index, 400, "malformed", 1,
                           "%s", error.text);
        return 0;
    }
    if (!fplt__same(&report->plan, &leader->record.hash)) {
        fplt__leader_fault(leader, request->ticket, request->member_index, 409, "plan", 0,
                           "another plan is in force");
        return 0;
    }
    return 1;
}

/* The end of the run before, with its last model: a member that missed it knows where this run begins. */
static void tell_previous_end(fplt__leader *leader, const fplt__request *request)
{
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = leader->previous.model, *front = NULL;
    fplt_error error;
    fplt__frame frame = {.kind = FPLT__END,
                         .exchange = 1, /* another run follows */
                         .encoding = FPLT__DOUBLES,
                         .member_index = request->member_index,
                         .count = model->size / 8,
                         .payload = model->size,
                         .plan = leader->previous.plan,
                         .digest = fplt__body_hash(model->bytes, model->size)};
    fplt__reply *reply =
        fplt__leader_add_reply(leader, request->ticket, request->member_index, 200);
    if (!reply)
        return;
    fplt__frame_write(&frame, head);
    if (!fplt__shared_make(sizeof head, &front, &error))
        memcpy(front->bytes, head, sizeof head);
    fplt__leader_add_part(leader, reply, front);
    fplt__shared_hold(model);
    fplt__leader_add_part(leader, reply, model);
}

static void take_report(fplt__leader *leader, const fplt__request *request)
{
    fplt__report report;
    fplt_error error;
    if (leader->previous.model &&
        !fplt__report_read(request->body, request->size, &report, &error) &&
        fplt__same(&report.plan, &leader->previous.plan)) {
        tell_previous_end(leader, request);
        return;
    }
    if (read_report(leader, request, request->body, request->size, &report))
        keep_report(leader, request, &report);
    if (leader->record.state == FPLT__PLANNED && fplt__secure_is_on(leader))
        fplt__leader_check_forming(leader);
}

void fplt__leader_taken(fplt__leader *leader, const fplt__request *request, unsigned status)
{
    if (leader->rider.is_there)
        keep_report(leader, request, &leader->rider.report);
    else
        fplt__leader_reply(leader, request->ticket, request->member_index, status);
}

/* Answers to the questions about a session of secure aggregation. */
static int is_of_stage(unsigned kind)
{
    return kind == FPLT__MISSING || kind == FPLT__PROPOSE || kind == FPLT__FINAL;
}

static void take_update(fplt__leader *leader, const fplt__request *request)
{
    fplt__frame frame;
    fplt__fault fault;
    fplt_error error;
    uint32_t i = request->member_index;
    if (request->size < FPLT__FRAME_HEAD) {
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1, "not a frame");
        return;
    }
    unsigned status = fplt__leader_peek(leader, request, request->body, request->size, &fault);
    const uint8_t *body = (const uint8_t *)request->body + FPLT__FRAME_HEAD;
    if (status) {
        fplt__leader_fault(leader, request->ticket, i, status, fault.word, fault.final, "%s",
                           fault.sentence);
        return;
    }
    if (fplt__frame_read(request->body, &frame, &error) ||
        (request->digest
             ? fplt__frame_check_digest(&frame, request->digest, &error)
             : fplt__frame_check_body(&frame, body, (size_t)fplt__frame_body(&frame), &error))) {
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    const uint8_t *behind = body + fplt__frame_body(&frame);
    size_t left = request->size - FPLT__FRAME_HEAD - (size_t)fplt__frame_body(&frame);
    leader->rider.is_there = left > 0;
    if (left && !read_report(leader, request, behind, left, &leader->rider.report))
        return;
    if (frame.kind == FPLT__TRAIN)
        fplt__round_update(leader, request, &frame, body);
    else if (frame.kind == FPLT__ENROL)
        fplt__repair_update(leader, request, &frame, body);
    else if (is_of_stage(frame.kind))
        fplt__stage_update(leader, request, &frame, body);
    else
        fplt__ask_update(leader, request, &frame, body);
}

static unsigned refuse(fplt__fault *fault, unsigned status, const char *word, int final,
                       const char *sentence)
{
    fault->final = final;
    snprintf(fault->word, sizeof fault->word, "%s", word);
    snprintf(fault->sentence, sizeof fault->sentence, "%.400s", sentence);
    return status;
}

unsigned fplt__leader_peek(fplt__leader *leader, const fplt__request *request,
                           const uint8_t head[FPLT__FRAME_HEAD], uint64_t content_length,
                           fplt__fault *fault)
{
    fplt__frame frame;
    fplt_error error;
    if (content_length > fplt__leader_longest(leader))
        return refuse(fault, 413, "long", 1, "no message is that long");
    if (fplt__frame_read(head, &frame, &error))
        return refuse(fault, 400, "malformed", 1, error.text);
    uint64_t needed = FPLT__FRAME_HEAD + fplt__frame_body(&frame);
    if (frame.member_index != request->member_index ||
        !fplt__same(&frame.plan, &leader->record.hash) || content_length < needed ||
        content_length - needed > FPLT__MESSAGE_LIMIT)
        return refuse(fault, 409, "other", 0, "of another member, plan or length");
    if (frame.kind == FPLT__VERDICT || frame.kind == FPLT__END || frame.kind == FPLT__SESSION)
        return refuse(fault, 400, "malformed", 1, "a kind that only the coordinator sends");
    int measures = frame.kind != FPLT__TRAIN && frame.kind != FPLT__ENROL &&
                   frame.kind != FPLT__CHECK && !is_of_stage(frame.kind);
    if (leader->plan.agreement && leader->plan.agreement->private && measures)
        return refuse(fault, 409, "private", 1, "with privacy nothing is measured");
    if (leader->commit.pending || leader->record.state == FPLT__HALTED)
        return refuse(fault, 503, "busy", 0, "nothing is taken just now");
    if (leader->record.state == FPLT__DONE || leader->record.state == FPLT__ENDED)
        return refuse(fault, 409, "closed", 0, "the run has ended");
    return 0;
}

uint64_t fplt__leader_longest(const fplt__leader *leader)
{
    uint64_t most = FPLT__MESSAGE_LIMIT;
    if (leader->plan.agreement) {
        const fplt_plan *plan = &leader->plan.agreement->plan;
        uint64_t numbers = fplt_plan_enrol_words(plan) / 2;
        for (unsigned e = 0; e < leader->plan.shape.exchanges; e++)
            numbers = fplt__plan_up(plan, e) > numbers ? fplt__plan_up(plan, e) : numbers;
        if (numbers < leader->plan.n + FPLT__MEASURES)
            numbers = leader->plan.n + FPLT__MEASURES;
        most = fplt__frame_limit(0, numbers) > most ? fplt__frame_limit(0, numbers) : most;
    }
    if (leader->ask.kind) {
        uint64_t asked = fplt__frame_limit(leader->ask.scalars, leader->ask.numbers);
        most = asked > most ? asked : most;
    }
    return most + fplt__secure_longest(leader) + FPLT__MESSAGE_LIMIT; /* a report behind it */
}

static void give(fplt__leader *leader, const fplt__request *request)
{
    fplt__reply *reply;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *bytes =
        request->kind == FPLT__DOCUMENT ? leader->sent.document : leader->sent.start;
    if (request->kind == FPLT__MODEL) {
        if (leader->record.state < FPLT__DONE || !leader->plan.hub) {
            fplt__leader_fault(leader, request->ticket, request->member_index, 409, "running", 0,
                               "the run has not ended");
            return;
        }
        fplt__repair_head(leader, request->member_index, head, &bytes);
        fplt__leader_add_part(
            leader, fplt__leader_add_reply(leader, request->ticket, request->member_index, 200),
            bytes);
        return;
    }
    if (request->kind == FPLT__START && (!bytes || !bytes->size)) { /* of a plan that is not here */
        fplt__leader_fault(leader, request->ticket, request->member_index, 409, "plan", 0,
                           "there is no plan here that begins at a vector");
        return;
    }
    reply = fplt__leader_add_reply(leader, request->ticket, request->member_index, 200);
    if (!reply || !bytes)
        return;
    reply->json = request->kind == FPLT__DOCUMENT;
    reply->etag = leader->record.hash;
    fplt__shared_hold(bytes);
    fplt__leader_add_part(leader, reply, bytes);
}

void fplt__leader_hear(fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(i < leader->settings.members);
    leader->roster.session[i].heard = 1;
    leader->roster.session[i].last_heard = leader->now;
}

void fplt__leader_take_request(fplt__leader *leader, const fplt__request *request)
{
    if (request->member_index >= leader->settings.members) {
        fplt__leader_fault(leader, request->ticket, request->member_index, 403, "roster", 1,
                           "not on the roster");
        return;
    }
    FPLT__ASSERT(request->ticket);
    fplt__leader_hear(leader, request->member_index);
    if (request->kind == FPLT__JOIN) {
        join(leader, request);
        return;
    }
    if (request->kind == FPLT__DOCUMENT || request->kind == FPLT__START ||
        request->kind == FPLT__MODEL) {
        give(leader, request);
        return;
    }
    if (!is_current(leader, request))
        return;
    if (request->kind == FPLT__CONSENT)
        fplt__leader_take_consent(leader, request);
    else if (request->kind == FPLT__NEXT)
        take_report(leader, request);
    else
        take_update(leader, request);
}
