/* Secure aggregation at the agent: sessions, masked messages, and the questions of a session (secagg/session.h). */
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "protocol/site_machine.h"
#include "secagg/planted.h"

enum { QUESTION_WIDTH = 16 }; /* of numbers that are no updates: words of the exact sum */

int fplt__site_is_secure(const fplt__site *site)
{
    return site->agreement && site->agreement->proposal.secure;
}

void fplt__site_open_secure(fplt__site *site)
{
    const fplt__agreement *agreement = site->agreement;
    fplt_error error;
    if (!fplt__site_is_secure(site))
        return;
    FPLT__ASSERT(!site->secagg && agreement->identities);
    fplt__secagg_plan plan = {.members = agreement->proposal.members,
                              .threshold = agreement->threshold,
                              .most = agreement->most,
                              .identity = agreement->identities};
    memcpy(plan.hash, &site->record.hash, sizeof plan.hash);
    /* A plan that is left and joined again must not meet its own masks: every plan has a root of its own. */
    if (!FPLT__SECAGG_PLANTED(FPLT__KEYS_ON_DISK))
        fplt__secagg_hash("next", site->settings.root, NULL, 0, site->settings.root,
                          sizeof site->settings.root);
    if (fplt__secagg_agent_create(&plan, site->record.member_index, site->settings.root,
                                  site->settings.identity, &site->secagg, &error)) {
        fplt__site_log(site, "refused", "%s", error.text);
        site->failed = 1;
    }
}

void fplt__site_close_secure(fplt__site *site)
{
    fplt__secagg_agent_destroy(site->secagg);
    site->secagg = NULL;
}

int fplt__site_take_session(fplt__site *site, const fplt__frame *frame, const uint8_t *body)
{
    fplt_error error;
    if (!site->secagg) {
        fplt__site_log(site, "refused", "a session, but the plan has no secure aggregation");
        return 0;
    }
    if (frame->encoding != FPLT__BYTES || frame->scalars ||
        fplt__secagg_agent_announce(site->secagg, body, (size_t)frame->payload, &error))
        fplt__site_log(site, "refused", "%s",
                       frame->encoding != FPLT__BYTES ? "a session that is not bytes" : error.text);
    return 1; /* without one the task is refused with its sentence */
}

static fplt__secagg_stage stage_of(unsigned kind)
{
    FPLT__ASSERT(kind == FPLT__MISSING || kind == FPLT__PROPOSE || kind == FPLT__FINAL);
    return kind == FPLT__MISSING   ? FPLT__SECAGG_MISSING
           : kind == FPLT__PROPOSE ? FPLT__SECAGG_PROPOSE
                                   : FPLT__SECAGG_FINAL;
}

/* Nothing of it is stored: another process has another key, hence no part in this session. */
void fplt__site_answer_stage(fplt__site *site, const uint8_t *head, const uint8_t *body)
{
    const fplt__frame *down = &site->task.frame;
    fplt__digest digest = fplt__frame_task(head);
    fplt__frame frame = fplt__site_up_frame(site, down, &digest);
    fplt_error error = {FPLT_OK,
                        "a question about a session, but the plan has no secure aggregation"};
    uint8_t *bytes = NULL;
    size_t size = 0, answered = 0;
    if (site->secagg &&
        fplt__frame_room(&frame, fplt__secagg_agent_longest(site->secagg), &bytes, &size, &error)) {
        site->failed = 1;
        return;
    }
    if (!site->secagg || down->encoding != FPLT__BYTES || down->scalars ||
        fplt__secagg_agent_answer(site->secagg, stage_of(down->kind), body, (size_t)down->payload,
                                  bytes + FPLT__FRAME_HEAD, &answered, &error)) {
        fplt__free(bytes);
        fplt__site_trouble(site, down->round, FPLT__NO_SESSION_WORD, error.text);
        fplt__site_poll(site);
        return;
    }
    frame.payload = answered;
    fplt__frame_seal(&frame, bytes, FPLT__FRAME_HEAD + answered);
    fplt__site_set_frame(&site->answer, bytes, FPLT__FRAME_HEAD + answered);
    site->has_trouble = 0;
    fplt__site_request_frame(site, &site->answer);
}

static fplt__secagg_task task_of(const fplt__site *site)
{
    const fplt__frame *frame = &site->task.frame;
    return (fplt__secagg_task){.kind = frame->kind,
                               .exchange = frame->exchange,
                               .incarnation = frame->incarnation,
                               .round = frame->round,
                               .digest = frame->digest.byte};
}

int fplt__site_is_of_session(const fplt__site *site, const struct fplt__kept_frame *frame)
{
    uint8_t session[FPLT__SECAGG_KEY];
    if (!site->secagg)
        return 1;
    fplt__secagg_task task = task_of(site);
    return fplt__secagg_agent_session(site->secagg, &task, session) &&
           frame->size >= FPLT__FRAME_HEAD + sizeof session &&
           memcmp(frame->bytes + FPLT__FRAME_HEAD, session, sizeof session) == 0;
}

int fplt__site_enters_training(fplt__site *site)
{
    fplt_error error;
    if (!site->secagg)
        return 1;
    fplt__secagg_task task = task_of(site);
    if (!fplt__secagg_agent_train(site->secagg, &task, site->settings.least, &error))
        return 1;
    fplt__site_trouble(site, task.round, FPLT__NO_SESSION_WORD, error.text);
    fplt__site_poll(site);
    return 0;
}

#ifdef FPLT_PLANT
void fplt__site_enters_again(fplt__site *site)
{
    fplt_error error;
    fplt__secagg_task task = task_of(site);
    if (site->secagg)
        fplt__secagg_agent_train(site->secagg, &task, 0, &error);
}
#endif

int fplt__site_enters_question(fplt__site *site)
{
    fplt_error error;
    if (!site->secagg)
        return 1;
    fplt__secagg_task task = task_of(site);
    if (!fplt__secagg_agent_question(site->secagg, &task, site->record.version, &error))
        return 1;
    fplt__site_trouble(site, task.round, FPLT__NO_ANSWER, error.text);
    fplt__site_back_off(site);
    return 0;
}

fplt_status fplt__site_masked_frame(fplt__site *site, fplt__frame *frame, uint8_t **bytes,
                                    size_t *size, fplt_error *error)
{
    int is_question = frame->kind != FPLT__TRAIN;
    unsigned width = is_question ? QUESTION_WIDTH : site->agreement->width;
    size_t count = (size_t)frame->count;
    size_t payload = fplt__secagg_agent_size(site->secagg, is_question, count, width);
    fplt_status status = fplt__frame_room(frame, payload, bytes, size, error);
    if (status)
        return status;
    fplt__secagg_agent_upload(site->secagg, is_question, site->words, count, width,
                              *bytes + FPLT__FRAME_HEAD);
    fplt__frame_seal(frame, *bytes, *size);
    return FPLT_OK;
}

void fplt__site_report_secure(const fplt__site *site, fplt__report *report)
{
    if (!site->secagg)
        return;
    const uint8_t *keys = fplt__secagg_agent_keys(site->secagg);
    report->has_secure = 1;
    memcpy(report->secure.entry, fplt__secagg_agent_entry(site->secagg),
           sizeof report->secure.entry);
    report->secure.has_keys = keys != NULL;
    if (keys)
        memcpy(&report->secure.keys, keys, sizeof report->secure.keys);
}
