/* Replies of the coordinator: frames and faults. */
#include <string.h>

#include "protocol/site_machine.h"

static int is_of_stage(unsigned kind)
{
    return kind == FPLT__MISSING || kind == FPLT__PROPOSE || kind == FPLT__FINAL;
}

/* Verdicts take effect in order; of the rest the last counts. */
static void take_frames(fplt__site *site, const uint8_t *bytes, size_t size)
{
    fplt__frame frame;
    const uint8_t *head, *body, *stage_head = NULL, *stage_body = NULL;
    fplt_error error;
    size_t cursor = 0;
    site->task.frame.kind = 0;
    if (site->secagg)
        fplt__secagg_agent_withdraw(site->secagg);
    while (cursor < size) {
        if (fplt__frame_next(bytes, size, &cursor, &frame, &head, &body, &error) ||
            !fplt__same(&frame.plan, &site->record.hash) ||
            frame.member_index != site->record.member_index) {
            fplt__site_log(site, "refused", "an answer that cannot be read, or not for this agent");
            fplt__site_back_off(site);
            return;
        }
        if (frame.kind == FPLT__SESSION && !fplt__site_take_session(site, &frame, body)) {
            fplt__site_back_off(site);
            return;
        }
        if (frame.kind == FPLT__VERDICT && site->node)
            fplt__site_take_verdict(site, &frame, body);
        else if (is_of_stage(frame.kind))
            site->task.frame = frame, stage_head = head, stage_body = body; /* no numbers */
        else if (frame.kind != FPLT__SESSION)
            fplt__site_keep_task(site, &frame, head, body);
    }
    unsigned kind = site->task.frame.kind;
    int forming = !site->record.planned;
    if (!site->node && !(forming && kind == FPLT__MOMENTS) && kind != FPLT__END)
        kind = 0;
    if (kind == FPLT__TRAIN)
        fplt__site_train(site);
    else if (is_of_stage(kind))
        fplt__site_answer_stage(site, stage_head, stage_body);
    else if (kind == FPLT__ENROL)
        fplt__site_enrol(site);
    else if (kind == FPLT__MOMENTS && forming)
        fplt__site_gather(site);
    else if (kind == FPLT__END)
        fplt__site_end_run(site);
    else if (kind)
        fplt__site_answer_question(site);
    else
        fplt__site_poll(site);
}

static void take_fault(fplt__site *site, unsigned status, const void *body, size_t size)
{
    fplt__fault fault;
    fplt_error error;
    if (fplt__fault_read(body, size, &fault, &error))
        fault = (fplt__fault){"unclear", 0, "an answer that cannot be read"};
    if (strcmp(fault.word, "join") == 0 || strcmp(fault.word, "plan") == 0) {
        fplt__site_join(site);
    } else if (strcmp(fault.word, "old") == 0) {
        fplt__site_send_now(site);
    } else if (fault.final) {
        fplt__site_quit(site, fault.word, fault.sentence);
    } else if (status == 409 && site->request.kind == FPLT__UPDATE) {
        fplt__site_poll(site);
    } else {
        fplt__site_log(site, "waiting", "%s", fault.sentence);
        fplt__site_back_off(site);
    }
}

void fplt__site_take_reply(fplt__site *site, const fplt__site_event *event)
{
    if (site->waiting != FPLT__FOR_REPLY)
        return;
    site->wait = event->status < 300 ? 0 : site->wait;
    if (event->has_proof && site->record.planned)
        site->record.proof = event->proof, site->record.has_proof = 1;
    if (event->status >= 300) {
        take_fault(site, event->status, event->body, event->size);
        return;
    }
    switch (site->request.kind) {
    case FPLT__JOIN: fplt__site_take_joined(site, event->body, event->size); break;
    case FPLT__DOCUMENT:
        fplt__site_take_document(site, event->body, event->size, site->planned_hint);
        break;
    case FPLT__START: fplt__site_take_start(site, event->body, event->size); break;
    case FPLT__NEXT:
    case FPLT__UPDATE:
        if (event->status == 200 && event->size)
            take_frames(site, event->body, event->size);
        else
            fplt__site_poll(site);
        break;
    default: fplt__site_poll(site);
    }
}
