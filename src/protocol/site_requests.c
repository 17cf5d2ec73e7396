/* Actions and requests of the agent. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/node.h"
#include "protocol/site_machine.h"

enum { FIRST_WAIT = 1000, LONGEST_WAIT = 30000 };
enum { SMALL_FRAME = 256 << 10 };

/* --- tools --- */

fplt__site_action *fplt__site_add(fplt__site *site, fplt__site_action_kind kind)
{
    if (fplt__grow(&site->action, &site->action_room, site->actions + 1, sizeof *site->action,
                   "actions", NULL)) {
        site->failed = 1;
        return NULL;
    }
    fplt__site_action *action = &site->action[site->actions++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    return action;
}

void fplt__site_log(fplt__site *site, const char *word, const char *format, ...)
{
    fplt__site_action *action = fplt__site_add(site, FPLT__SITE_LOG);
    va_list list;
    if (!action)
        return;
    snprintf(action->word, sizeof action->word, "%s", word);
    va_start(list, format);
    vsnprintf(action->sentence, sizeof action->sentence, format, list);
    va_end(list);
}

void fplt__site_quit(fplt__site *site, const char *word, const char *sentence)
{
    fplt__site_action *action = fplt__site_add(site, FPLT__SITE_QUIT);
    site->waiting = FPLT__SITE_OVER;
    site->wake = UINT64_MAX;
    if (!action)
        return;
    snprintf(action->word, sizeof action->word, "%s", word);
    snprintf(action->sentence, sizeof action->sentence, "%s", sentence);
}

void fplt__site_set_frame(struct fplt__kept_frame *frame, uint8_t *bytes, size_t size)
{
    FPLT__ASSERT(bytes || !size);
    fplt__free(frame->bytes);
    *frame = (struct fplt__kept_frame){bytes, size};
}

void fplt__site_trouble(fplt__site *site, uint64_t round, const char *word, const char *sentence)
{
    site->has_trouble = 1;
    site->trouble_round = round;
    snprintf(site->trouble_word, sizeof site->trouble_word, "%s", word);
    snprintf(site->trouble_sentence, sizeof site->trouble_sentence, "%.400s", sentence);
    fplt__site_log(site, "trouble", "%s", sentence);
}

void fplt__site_back_off(fplt__site *site)
{
    site->random = site->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t base = site->wait ? site->wait : FIRST_WAIT;
    site->wait = 2 * base < LONGEST_WAIT ? 2 * base : LONGEST_WAIT;
    site->wake = site->now + base * (800 + (site->random >> 33) % 401) / 1000;
    site->waiting = FPLT__FOR_TIME;
}

/* --- requests --- */

void fplt__site_send_now(fplt__site *site)
{
    FPLT__ASSERT(!site->record.changed);
    FPLT__ASSERT(site->request.kind == FPLT__JOIN || site->joined);
    FPLT__ASSERT(site->request.body || !site->request.size);
    fplt__site_action *action = fplt__site_add(site, FPLT__SITE_SEND);
    site->request.session = site->session;
    site->request.sequence = site->request.kind == FPLT__JOIN ? 0 : ++site->sequence;
    site->request.member_index = site->record.member_index;
    site->waiting = FPLT__FOR_REPLY;
    site->wake = UINT64_MAX;
    if (action)
        action->request = site->request;
}

void fplt__site_ask_commit(fplt__site *site)
{
    fplt__site_action *action = fplt__site_add(site, FPLT__SITE_COMMIT);
    fplt__site_record *record = &site->record;
    if (site->node) {
        fplt__node_parts parts = fplt__node_get(site->node);
        record->kept = parts.kept;
        record->staged = parts.staged;
        record->held = parts.held;
        record->kept_count = parts.kept_count;
        record->held_count = parts.held_count;
    }
    for (unsigned e = 0; e < record->messages; e++) {
        record->message[e].body = site->message[e].bytes;
        record->message[e].size = site->message[e].size;
    }
    record->enrolment.body = site->enrolment.bytes;
    record->enrolment.size = site->enrolment.size;
    record->document = site->document;
    record->head = site->head;
    record->begin = site->begin;
    FPLT__ASSERT(!record->begin_count || record->begin);
    FPLT__ASSERT(!(record->changed & FPLT__SITE_MESSAGES) ||
                 record->has_staged == (record->messages > 0));
    FPLT__ASSERT(record->messages <= 2);
    FPLT__ASSERT(!record->has_enrolled || site->enrolment.bytes);
    FPLT__ASSERT(record->changed && site->document);
    site->waiting = FPLT__FOR_COMMIT;
    site->wake = UINT64_MAX;
    if (action)
        action->record = record;
}

void fplt__site_flush(fplt__site *site)
{
    if (site->record.changed)
        fplt__site_ask_commit(site);
    else
        fplt__site_send_now(site);
}

void fplt__site_request(fplt__site *site, fplt__request_kind kind, char *text)
{
    fplt__free(site->body);
    site->body = (uint8_t *)text;
    site->request = (fplt__request){.kind = kind, .body = text, .size = text ? strlen(text) : 0};
    fplt__site_flush(site);
}

void fplt__site_join(fplt__site *site)
{
    fplt__join own = {site->settings.random};
    fplt_error error;
    char *text = NULL;
    site->joined = 0;
    if (own.process)
        fplt__join_text(&own, &text, &error); /* without memory: as a process that is not known */
    fplt__site_request(site, FPLT__JOIN, text);
}

/* What is durable here, as text; NULL where there is no memory. */
static char *report_of(fplt__site *site)
{
    const fplt__site_record *record = &site->record;
    fplt_error error;
    char *text = NULL;
    fplt__report report = {.plan = record->hash,
                           .incarnation = record->incarnation,
                           .version = record->version,
                           .chain = record->chain,
                           .has_staged = record->has_staged,
                           .staged = {record->staged_round, record->staged_digest},
                           .has_enrolled = record->has_enrolled,
                           .has_proof = record->has_proof,
                           .proof = record->proof,
                           .has_trouble = site->has_trouble,
                           .has_charged = site->agreement && site->agreement->private};
    if (record->has_enrolled) {
        report.enrolled.incarnation = record->enrolled_leg;
        report.enrolled.digest = fplt__work_digest(&record->enrolment.answer, 1);
    }
    fplt__site_report_secure(site, &report);
    report.trouble.round = site->trouble_round;
    memcpy(report.trouble.word, site->trouble_word, sizeof report.trouble.word);
    memcpy(report.trouble.sentence, site->trouble_sentence, sizeof report.trouble.sentence);
    if (report.has_charged) {
        report.charged.receipt = site->charged;
        report.charged.mac = fplt__charged_mac(&site->charged, site->settings.ledger_key);
    }
    site->failed |= fplt__report_text(&report, &text, &error) != FPLT_OK;
    return text;
}

void fplt__site_poll(fplt__site *site)
{
    char *text = report_of(site);
    if (text)
        fplt__site_request(site, FPLT__NEXT, text);
}

void fplt__site_request_frame(fplt__site *site, const struct fplt__kept_frame *frame)
{
    FPLT__ASSERT(frame->bytes && frame->size >= FPLT__FRAME_HEAD);
    fplt_error error;
    uint8_t *bytes;
    char *text = frame->size <= SMALL_FRAME && !site->has_trouble ? report_of(site) : NULL;
    size_t size = text ? strlen(text) : 0;
    site->request =
        (fplt__request){.kind = FPLT__UPDATE, .body = frame->bytes, .size = frame->size};
    if (text && !fplt__alloc_into(&bytes, frame->size + size, 1, "a message", &error)) {
        memcpy(bytes, frame->bytes, frame->size);
        memcpy(bytes + frame->size, text, size);
        fplt__free(site->body);
        site->body = bytes;
        site->request.body = bytes;
        site->request.size += size;
    }
    fplt__free(text);
    fplt__site_flush(site);
}

/* Whether the document at hand is a proposal of secure aggregation, and this site has an identity for it. */
static int proposes_secure(const fplt__site *site)
{
    fplt__proposal proposal;
    fplt_error error;
    if (site->record.planned || !site->settings.has_identity ||
        fplt__proposal_read(site->document, site->record.document_size, &proposal, &error))
        return 0;
    int secure = proposal.secure;
    fplt__proposal_clear(&proposal);
    return secure;
}

void fplt__site_consent(fplt__site *site, int agreed, const char *sentence)
{
    FPLT__ASSERT(site->joined && site->document);
    fplt__consent message = {.document = site->record.hash,
                             .agreed = agreed,
                             .records = site->record.records,
                             .hessian = site->hessian,
                             .has_identity = agreed && proposes_secure(site)};
    fplt_error error;
    char *text = NULL;
    if (message.has_identity)
        memcpy(message.identity, site->settings.identity + 32, sizeof message.identity);
    snprintf(message.sentence, sizeof message.sentence, "%s", sentence ? sentence : "");
    if (fplt__consent_text(&message, &text, &error)) {
        site->failed = 1;
        return;
    }
    fplt__site_request(site, FPLT__CONSENT, text);
}
