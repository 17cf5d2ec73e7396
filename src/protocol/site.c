/* The agent's machine. What it says is on disk: a request waits until what it rests on is committed. */
#include "protocol/site.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "engine/node.h"
#include "fedplt/sum.h"
#include "protocol/planted.h"

enum { FIRST_WAIT = 1000, LONGEST_WAIT = 30000, DISK_WAIT = 5000, NEXT_RUN = 30000 };
enum { SMALL_FRAME = 256 << 10 };

/* What the machine waits for. */
enum waiting {
    FOR_TIME,
    FOR_REPLY,
    FOR_COMMIT,
    FOR_CHARGE,
    FOR_AGREEMENT,
    FOR_FACTS,
    FOR_NODE,
    OVER
};

/* A whole frame that may be sent again. */
struct kept_frame {
    uint8_t *bytes; /* owned */
    size_t size;
};

struct fplt__site {
    fplt__site_settings settings;
    uint64_t now, wake, wait;
    enum waiting waiting;
    fplt__site_record record;
    uint8_t *document; /* owned */
    uint8_t *start;    /* owned; the plan's start vector as it came; NULL: not asked for */
    size_t start_size;
    fplt__agreement *agreement;
    fplt_node *node;
    fplt_shape shape;
    size_t n;
    uint64_t session, sequence;
    int joined, ended, refused;
    fplt__hessian_word hessian;
    unsigned withholds;    /* of the plan at hand: fplt__site_plan */
    int planned_hint;      /* of the document asked for */
    double *loaded;        /* owned; vectors read from the store */
    fplt__receipt charged; /* the newest of the ledger */
    fplt__request request; /* to be sent, or under way */
    uint8_t *body;         /* owned; of the request where it is text */
    struct kept_frame message[2], enrolment, answer;
    uint8_t *head; /* owned; of the staged task */
    double *begin; /* owned; where the enrolled incarnation begins */
    struct {
        fplt__frame frame;
        uint8_t *bytes; /* owned: head and scalars */
        size_t size;
        double *down; /* owned */
    } task;
    uint64_t *words; /* owned; of what was computed */
    size_t word_room;
    int has_trouble;
    uint64_t trouble_round;
    char trouble_word[FPLT__WORD], trouble_sentence[FPLT__SENTENCE];
    uint64_t random;
    int failed, damaged;
    fplt__site_action *action;
    size_t actions, taken, action_room;
};

/* --- tools --- */

static fplt__site_action *add(fplt__site *site, fplt__site_action_kind kind)
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

static void say(fplt__site *site, const char *word, const char *format, ...) FPLT_PRINTF(3, 4);
static void say(fplt__site *site, const char *word, const char *format, ...)
{
    fplt__site_action *action = add(site, FPLT__SITE_LOG);
    va_list list;
    if (!action)
        return;
    snprintf(action->word, sizeof action->word, "%s", word);
    va_start(list, format);
    vsnprintf(action->sentence, sizeof action->sentence, format, list);
    va_end(list);
}

static void quit(fplt__site *site, const char *word, const char *sentence)
{
    fplt__site_action *action = add(site, FPLT__SITE_QUIT);
    site->waiting = OVER;
    site->wake = UINT64_MAX;
    if (!action)
        return;
    snprintf(action->word, sizeof action->word, "%s", word);
    snprintf(action->sentence, sizeof action->sentence, "%s", sentence);
}

static void set_frame(struct kept_frame *frame, uint8_t *bytes, size_t size)
{
    FPLT__ASSERT(bytes || !size);
    fplt__free(frame->bytes);
    *frame = (struct kept_frame){bytes, size};
}

static void trouble(fplt__site *site, uint64_t round, const char *word, const char *sentence)
{
    site->has_trouble = 1;
    site->trouble_round = round;
    snprintf(site->trouble_word, sizeof site->trouble_word, "%s", word);
    snprintf(site->trouble_sentence, sizeof site->trouble_sentence, "%.400s", sentence);
    say(site, "trouble", "%s", sentence);
}

/* 1, 2, 4 .. 30 s, 20 % more or less. */
static void wait_a_while(fplt__site *site)
{
    site->random = site->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t base = site->wait ? site->wait : FIRST_WAIT;
    site->wait = 2 * base < LONGEST_WAIT ? 2 * base : LONGEST_WAIT;
    site->wake = site->now + base * (800 + (site->random >> 33) % 401) / 1000;
    site->waiting = FOR_TIME;
}

/* --- requests --- */

static void send_now(fplt__site *site)
{
    FPLT__ASSERT(!site->record.changed);
    FPLT__ASSERT(site->request.kind == FPLT__JOIN || site->joined);
    FPLT__ASSERT(site->request.body || !site->request.size);
    fplt__site_action *action = add(site, FPLT__SITE_SEND);
    site->request.session = site->session;
    site->request.sequence = site->request.kind == FPLT__JOIN ? 0 : ++site->sequence;
    site->request.member_index = site->record.member_index;
    site->waiting = FOR_REPLY;
    site->wake = UINT64_MAX;
    if (action)
        action->request = site->request;
}

static void ask_commit(fplt__site *site)
{
    fplt__site_action *action = add(site, FPLT__SITE_COMMIT);
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
    site->waiting = FOR_COMMIT;
    site->wake = UINT64_MAX;
    if (action)
        action->record = record;
}

/* Sends the request, once nothing is left to commit. */
static void flush(fplt__site *site)
{
    if (site->record.changed)
        ask_commit(site);
    else
        send_now(site);
}

/* `text` is taken over. */
static void request(fplt__site *site, fplt__request_kind kind, char *text)
{
    fplt__free(site->body);
    site->body = (uint8_t *)text;
    site->request = (fplt__request){.kind = kind, .body = text, .size = text ? strlen(text) : 0};
    flush(site);
}

static void join(fplt__site *site)
{
    fplt__join own = {site->settings.random};
    fplt_error error;
    char *text = NULL;
    site->joined = 0;
    if (own.process)
        fplt__join_text(&own, &text, &error); /* without memory: as a process that is not known */
    request(site, FPLT__JOIN, text);
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

static void poll(fplt__site *site)
{
    char *text = report_of(site);
    if (text)
        request(site, FPLT__NEXT, text);
}

/* A small frame brings the report along, so that its answer is that of the poll that would follow. A large
 * one would have to be sent again if the line broke in the meantime. */
static void request_frame(fplt__site *site, const struct kept_frame *frame)
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
    flush(site);
}

static void consent(fplt__site *site, int agreed, const char *sentence)
{
    FPLT__ASSERT(site->joined && site->document);
    fplt__consent message = {.document = site->record.hash,
                             .agreed = agreed,
                             .records = site->record.records,
                             .hessian = site->hessian};
    fplt_error error;
    char *text = NULL;
    snprintf(message.sentence, sizeof message.sentence, "%s", sentence ? sentence : "");
    if (fplt__consent_text(&message, &text, &error)) {
        site->failed = 1;
        return;
    }
    request(site, FPLT__CONSENT, text);
}

/* --- documents --- */

/* The action, for more to be added to it; NULL where there is no memory. */
static fplt__site_action *ask_shell(fplt__site *site, fplt__site_action_kind kind,
                                    enum waiting waiting)
{
    FPLT__ASSERT(site->document);
    FPLT__ASSERT(waiting == FOR_AGREEMENT || waiting == FOR_FACTS || waiting == FOR_NODE);
    fplt__site_action *action = add(site, kind);
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
        ask_shell(site, FPLT__SITE_BUILD, FOR_NODE);
    else if (!site->record.consented)
        ask_shell(site, FPLT__SITE_ASK, FOR_AGREEMENT);
    else
        consent(site, 1, NULL);
}

static void forget_run(fplt__site *site)
{
    uint32_t member_index = site->record.member_index;
    uint64_t records = site->record.records;
    if (site->agreement)
        fplt__agreement_clear(site->agreement);
    fplt__free(site->agreement);
    fplt_node_destroy(site->node);
    site->agreement = NULL;
    site->node = NULL;
    fplt__free(site->start);
    site->start = NULL;
    site->start_size = 0;
    site->ended = site->has_trouble = 0;
    for (int e = 0; e < 2; e++)
        set_frame(&site->message[e], NULL, 0);
    set_frame(&site->enrolment, NULL, 0);
    memset(&site->record, 0, sizeof site->record);
    site->record.member_index = member_index;
    site->record.records = records;
}

static void take_document(fplt__site *site, const void *bytes, size_t size, int planned)
{
    fplt_error error;
    fplt__digest none = {{0}};
    uint8_t *copy;
    if (fplt__alloc_into(&copy, size + 1, 1, "a plan", &error)) {
        site->failed = 1;
        return;
    }
    memcpy(copy, bytes, size);
    forget_run(site);
    fplt__free(site->document);
    site->document = copy;
    site->record.document_size = size;
    site->record.hash = fplt__document_hash(bytes, size);
    site->record.planned = planned;
    site->record.chain = fplt__chain_begin(&site->record.hash, 0, site->record.member_index, &none);
    proceed(site);
}

static void take_start(fplt__site *site, const void *bytes, size_t size)
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

static void take_joined(fplt__site *site, const void *body, size_t size)
{
    fplt__joined joined;
    fplt_error error;
    if (fplt__joined_read(body, size, &joined, &error)) {
        say(site, "refused", "%s", error.text);
        wait_a_while(site);
        return;
    }
    if (joined.session != site->session) /* in the same one, numbers go on */
        site->sequence = 0;
    site->session = joined.session;
    site->joined = 1;
    site->record.member_index = joined.member_index;
    if (joined.has_charged && fplt__receipt_exceeds(&joined.charged.receipt, &site->charged) &&
        fplt__charged_valid(&joined.charged, site->settings.ledger_key)) {
        fplt__site_action *action = add(site, FPLT__SITE_ADOPT);
        site->charged = joined.charged.receipt;
        if (action)
            action->charged = joined.charged.receipt;
    }
    if (site->document && fplt__same(&joined.document, &site->record.hash) &&
        joined.planned == site->record.planned) {
        proceed(site);
        return;
    }
    site->planned_hint = joined.planned;
    site->record.changed = 0;
    request(site, FPLT__DOCUMENT, NULL);
}

/* Rounds that a receipt shows of this run were computed too, whatever a restored disk says. */
static void count_adopted(fplt__site *site)
{
    fplt__site_record *record = &site->record;
    if (memcmp(site->charged.run, &record->hash, sizeof record->hash) == 0 &&
        site->charged.rounds > record->charges) {
        record->charges = site->charged.rounds;
        FPLT__ASSERT(record->charges > 0);
        record->changed |= FPLT__SITE_RUN;
    }
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

static void take_node(fplt__site *site, fplt__site_plan *plan)
{
    FPLT__ASSERT(!site->node && !site->agreement);
    FPLT__ASSERT(site->record.planned);
    FPLT__ASSERT(plan->agreement && plan->node);
    fplt_error error;
    site->agreement = plan->agreement;
    site->node = plan->node;
    site->withholds = plan->withholds;
    site->n = plan->agreement->plan.dimension;
    site->shape = fplt_algorithm_shape(plan->agreement->plan.algorithm,
                                       plan->agreement->plan.parameter, site->n);
    FPLT__ASSERT(site->shape.exchanges >= 1 && site->shape.exchanges <= 2);
    if (!site->begin &&
        fplt__alloc_into(&site->begin, site->n, sizeof *site->begin, "an agent", &error)) {
        site->failed = 1;
        return;
    }
    count_adopted(site);
    if (site->record.kept)
        restore_node(site);
    else
        site->record.changed |= FPLT__SITE_RUN | FPLT__SITE_KEPT;
    site->record.consented = 1;
    consent(site, 1, NULL);
}

/* --- frames from the coordinator --- */

static void drop_staged(fplt__site *site)
{
    site->record.has_staged = 0;
    site->record.messages = 0;
    site->record.changed |= FPLT__SITE_RUN | FPLT__SITE_MESSAGES;
}

/* The round that is staged, from the head and scalars of its task. */
static int staged_round(const fplt__site *site, fplt_round *round)
{
    FPLT__ASSERT(site->record.has_staged && site->head);
    fplt__frame frame;
    fplt_error error;
    double scalar[FPLT_MAX_SCALARS];
    if (site->record.head_size < FPLT__FRAME_HEAD || fplt__frame_read(site->head, &frame, &error))
        return 0;
    fplt__get_reals(site->head + FPLT__FRAME_HEAD, scalar, site->shape.scalars);
    fplt_round_make(&site->agreement->plan, frame.round, frame.cohort, frame.position, scalar,
                    round);
    return 1;
}

static void take_accepted(fplt__site *site, const fplt__frame *frame, const uint8_t *body)
{
    fplt__site_record *record = &site->record;
    fplt__digest closing = {{0}};
    fplt_round round;
    fplt_error error;
    if (!record->has_staged || frame->incarnation != record->incarnation ||
        frame->round != record->staged_round || frame->version != record->version + 1)
        return;
    if (site->shape.finish_down) {
        size_t count = fplt_plan_down(&site->agreement->plan, site->shape.exchanges);
        double *down;
        if (frame->count != count || !staged_round(site, &round) ||
            fplt__alloc_into(&down, count, sizeof *down, "a closing vector", &error))
            return;
        if (!fplt__frame_doubles(frame, body, down, &error))
            fplt_node_finish(site->node, &round, down);
        fplt__free(down);
        closing = frame->digest;
    }
    fplt_node_accept(site->node);
    record->chain =
        fplt__chain_next(&record->chain, record->staged_round, &record->staged_digest, &closing);
    record->version++;
    drop_staged(site);
    FPLT__ASSERT(!record->has_staged && !record->messages);
    if (record->has_enrolled) { /* it was of the vectors before these */
        record->has_enrolled = 0;
        record->begin_count = 0;
        record->changed |= FPLT__SITE_ENROLLED;
    }
    record->changed |= site->shape.finish_down ? FPLT__SITE_KEPT : FPLT__SITE_TURN;
}

static void take_leg(fplt__site *site, const fplt__frame *frame)
{
    FPLT__ASSERT(site->node && site->agreement);
    fplt__site_record *record = &site->record;
    fplt_error error;
    if (!record->has_enrolled || frame->incarnation != record->enrolled_leg)
        return;
    fplt__digest enrolment = fplt__work_digest(&record->enrolment.answer, 1);
    if (record->begin_count && fplt_node_restart(site->node, site->begin, &error)) {
        site->failed = 1;
        return;
    }
    record->incarnation = frame->incarnation;
    record->version = frame->version;
    record->chain =
        fplt__chain_begin(&record->hash, record->incarnation, record->member_index, &enrolment);
    record->has_enrolled = 0;
    record->begin_count = 0;
    fplt_node_drop(site->node);
    drop_staged(site);
    record->changed |= FPLT__SITE_KEPT | FPLT__SITE_ENROLLED;
}

static void take_verdict(fplt__site *site, const fplt__frame *frame, const uint8_t *body)
{
    if (frame->exchange)
        take_leg(site, frame);
    else if (frame->cohort)
        take_accepted(site, frame, body);
    else if (site->record.has_staged && frame->round == site->record.staged_round) {
        fplt_node_drop(site->node);
        drop_staged(site);
    }
}

/* --- training --- */

static fplt__frame up_frame(const fplt__site *site, const fplt__frame *down,
                            const fplt__digest *task)
{
    return (fplt__frame){.kind = down->kind,
                         .exchange = down->exchange,
                         .incarnation = down->incarnation,
                         .member_index = site->record.member_index,
                         .round = down->round,
                         .cohort = 1,
                         .position = down->position,
                         .version = site->record.version,
                         .plan = site->record.hash,
                         .chain = site->record.chain,
                         .task = *task};
}

/* What was computed becomes the message, staged with the vectors; then it is committed and sent. */
static void stage(fplt__site *site)
{
    FPLT__ASSERT(site->task.frame.kind == FPLT__TRAIN &&
                 site->task.frame.exchange < site->shape.exchanges);
    FPLT__ASSERT(site->task.frame.exchange == 0 ||
                 site->record.messages >= site->task.frame.exchange);
    FPLT__ASSERT(site->task.frame.incarnation == site->record.incarnation);
    FPLT__ASSERT(!site->agreement->private || site->record.charges ||
                 FPLT__PLANTED(FPLT__NO_CHARGE));
    const fplt__frame *task = &site->task.frame;
    fplt__site_record *record = &site->record;
    unsigned e = task->exchange;
    fplt__digest digest = fplt__frame_task(site->task.bytes);
    fplt__frame frame = up_frame(site, task, &digest);
    fplt_error error;
    uint8_t *bytes, *head;
    size_t size;
    frame.count = fplt_plan_up(&site->agreement->plan, e);
    if (fplt__alloc_into(&head, site->task.size, 1, "a task", &error) ||
        fplt__frame_make(&frame, NULL, NULL, site->words, &bytes, &size, &error)) {
        site->failed = 1;
        return;
    }
    memcpy(head, site->task.bytes, site->task.size);
    fplt__free(site->head);
    site->head = head;
    record->head_size = site->task.size;
    set_frame(&site->message[e], bytes, size);
    record->message[e].answer = (fplt__answer){digest, frame.digest};
    record->messages = e + 1;
    record->has_staged = 1;
    record->staged_leg = task->incarnation;
    record->staged_round = task->round;
    const fplt__answer answers[2] = {record->message[0].answer, record->message[1].answer};
    record->staged_digest = fplt__work_digest(answers, e + 1);
    FPLT__ASSERT(record->has_staged && record->messages <= site->shape.exchanges);
    FPLT__ASSERT(size >= FPLT__FRAME_HEAD && record->head_size >= FPLT__FRAME_HEAD);
    record->changed |= FPLT__SITE_RUN | FPLT__SITE_MESSAGES | FPLT__SITE_HELD;
    if (!site->shape.finish_down) /* otherwise finish makes them of `kept` and `held` */
        record->changed |= FPLT__SITE_STAGED;
    request_frame(site, &site->message[e]);
}

static int is_stored(const fplt__site *site, const fplt__frame *task, const fplt__digest *digest)
{
    const fplt__site_record *record = &site->record;
    return record->has_staged && record->staged_round == task->round &&
           task->exchange < record->messages &&
           fplt__same(&record->message[task->exchange].answer.task, digest);
}

static fplt_status compute(fplt__site *site, fplt_error *error)
{
    const fplt__frame *task = &site->task.frame;
    const fplt_plan *plan = &site->agreement->plan;
    double scalar[FPLT_MAX_SCALARS];
    fplt_round round;
    if (task->count != fplt_plan_down(plan, task->exchange) ||
        task->scalars != site->shape.scalars || task->cohort > plan->agents ||
        task->position >= task->cohort || task->incarnation != site->record.incarnation)
        return fplt_error_set(error, FPLT_BAD_DATA, "a task that does not fit the plan");
    if (site->settings.least && task->cohort < site->settings.least)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a cohort of %u, but the policy wants at least %u", task->cohort,
                              site->settings.least);
    fplt__get_reals(site->task.bytes + FPLT__FRAME_HEAD, scalar, task->scalars);
    fplt_round_make(plan, task->round, task->cohort, task->position, scalar, &round);
    fplt_status status =
        fplt__grow(&site->words, &site->word_room, fplt_plan_words(plan, task->exchange),
                   sizeof *site->words, "numbers", error);
    if (status)
        return status;
    /* another content of the same round, or a planted fault: computed anew */
    if (task->exchange == 0)
        fplt_node_drop(site->node);
    return fplt_node_train(site->node, &round, task->exchange, site->task.down, site->words, error);
}

static void train(fplt__site *site)
{
    FPLT__ASSERT(site->node && site->agreement);
    FPLT__ASSERT(site->task.bytes && site->task.down);
    fplt_error error;
    fplt__site_record *record = &site->record;
    fplt__digest digest = fplt__frame_task(site->task.bytes);
    const fplt__frame *task = &site->task.frame;
    if (is_stored(site, task, &digest) && !FPLT__PLANTED(FPLT__RECOMPUTE)) {
        request_frame(site, &site->message[task->exchange]);
        return;
    }
    if (record->has_staged && task->exchange == 0)
        drop_staged(site);
    fplt_status status = compute(site, &error);
    if (status) {
        int spent = site->agreement->cap && record->charges >= site->agreement->cap;
        trouble(site, task->round,
                spent                     ? "spent"
                : status == FPLT_DIVERGED ? "diverged"
                                          : "failed",
                error.text);
        poll(site);
        return;
    }
    site->has_trouble = 0;
    if (!site->agreement->private || task->exchange || FPLT__PLANTED(FPLT__NO_CHARGE)) {
        stage(site);
        return;
    }
    FPLT__ASSERT(site->agreement->private && task->exchange == 0);
    fplt__site_action *action = add(site, FPLT__SITE_CHARGE);
    site->waiting = FOR_CHARGE;
    site->wake = UINT64_MAX;
    if (!action)
        return;
    action->hash = record->hash;
    action->rate = site->agreement->rate[record->member_index];
    action->incarnation = task->incarnation;
    action->round = task->round;
    action->chain = record->chain;
}

static void keep_task(fplt__site *site, const fplt__frame *frame, const uint8_t *head,
                      const uint8_t *body)
{
    fplt_error error;
    size_t size = FPLT__FRAME_HEAD + 8 * (size_t)frame->scalars;
    fplt__free(site->task.bytes);
    fplt__free(site->task.down);
    site->task.bytes = NULL;
    site->task.down = NULL;
    site->task.frame = *frame;
    if (fplt__alloc_into(&site->task.bytes, size, 1, "a task", &error) ||
        fplt__alloc_into(&site->task.down, (size_t)frame->count, sizeof(double), "a task",
                         &error)) {
        site->failed = 1;
        site->task.frame.kind = 0;
        return;
    }
    memcpy(site->task.bytes, head, size);
    site->task.size = size;
    if (fplt__frame_doubles(frame, body, site->task.down, &error)) {
        say(site, "refused", "%s", error.text);
        site->task.frame.kind = 0;
    }
}

/* --- enrolment and questions --- */

static void enrol(fplt__site *site)
{
    FPLT__ASSERT(site->node && site->begin);
    const fplt__frame *task = &site->task.frame;
    fplt__site_record *record = &site->record;
    fplt__digest digest = fplt__frame_task(site->task.bytes);
    fplt_error error;
    if (record->has_enrolled && fplt__same(&record->enrolment.answer.task, &digest)) {
        request_frame(site, &site->enrolment);
        return;
    }
    const fplt_plan *plan = &site->agreement->plan;
    int keeps =
        plan->algorithm->allows & FPLT_ALLOWS_ANY_START && (record->version || record->incarnation);
    size_t count = fplt_plan_enrol_words(plan) / 2;
    fplt_status status = task->count == site->n ? FPLT_OK : FPLT_BAD_DATA;
    if (!status)
        status = fplt__grow(&site->words, &site->word_room, 2 * count + 2, sizeof *site->words,
                            "numbers", &error);
    if (!status && !keeps) {
        if (record->has_staged) { /* its vectors make room, and it can count no more */
            fplt_node_drop(site->node);
            drop_staged(site);
        }
        memcpy(site->begin, site->task.down, site->n * sizeof *site->begin);
        status = fplt__node_begun(site->node, site->begin, site->words, &error);
    } else if (!status) {
        status = fplt_node_enrol(site->node, site->words);
    }
    fplt__frame frame = up_frame(site, task, &digest);
    uint8_t *bytes;
    size_t size;
    frame.count = count;
    if (status || fplt__frame_make(&frame, NULL, NULL, site->words, &bytes, &size, &error)) {
        say(site, "refused", "the vectors cannot be sent");
        wait_a_while(site);
        return;
    }
    set_frame(&site->enrolment, bytes, size);
    record->enrolment.answer = (fplt__answer){digest, frame.digest};
    record->has_enrolled = 1;
    record->enrolled_leg = task->incarnation;
    record->begin_count = keeps ? 0 : site->n;
    record->changed |= FPLT__SITE_ENROLLED | FPLT__SITE_RUN;
    request_frame(site, &site->enrolment);
}

static void send_answer(fplt__site *site, const double *scalars, uint32_t scalar_count,
                        const uint64_t *words, uint64_t numbers)
{
    FPLT__ASSERT(site->task.bytes);
    fplt__digest digest = fplt__frame_task(site->task.bytes);
    fplt__frame frame = up_frame(site, &site->task.frame, &digest);
    fplt_error error;
    uint8_t *bytes;
    size_t size;
    frame.scalars = scalar_count;
    frame.count = numbers;
    if (fplt__frame_make(&frame, scalars, NULL, words, &bytes, &size, &error)) {
        site->failed = 1;
        return;
    }
    set_frame(&site->answer, bytes, size);
    request_frame(site, &site->answer);
}

static fplt_status score(fplt__site *site, const double *x, fplt_error *error)
{
    double out[FPLT_MEASURES];
    fplt_sum *sum;
    if (!site->settings.score || site->settings.score(site->settings.context, x, out))
        return fplt_error_set(error, FPLT_UNSUPPORTED, "no held-out rows to score");
    fplt_status status = fplt_sum_create(FPLT_MEASURES, FPLT_SUM_EXPONENT, &sum, error);
    if (status)
        return status;
    status = fplt_sum_add(sum, 0, out, FPLT_MEASURES);
    fplt_sum_export(sum, 0, site->words, FPLT_MEASURES);
    fplt_sum_destroy(sum);
    return status;
}

/* What may leave only without privacy. */
static void answer_question(fplt__site *site)
{
    FPLT__ASSERT(site->node && site->agreement);
    unsigned kind = site->task.frame.kind;
    const double *x = site->task.down;
    size_t n = site->n, numbers = n;
    fplt_error error = {FPLT_OK, "not a question"};
    int facts = kind == FPLT__MOMENTS;   /* of before the plan */
    int allowed = kind == FPLT__CHECK || /* sums of what was sent already */
                  (!site->agreement->private && !facts &&
                   (site->settings.allows & ~site->withholds) >> kind & 1);
    if (!allowed || site->task.frame.count != n) {
        trouble(site, site->task.frame.round, FPLT__NO_ANSWER,
                site->agreement->private ? "asked to measure, which a private run does not allow"
                : facts                  ? "asked for facts, but the plan is made"
                                         : "asked what the policy of this site does not allow");
        wait_a_while(site);
        return;
    }
    site->has_trouble = 0;
    numbers = kind == FPLT__MEASURE ? n + FPLT_MEASURES : numbers;
    numbers = kind == FPLT__SCORE ? FPLT_MEASURES : numbers;
    numbers = kind == FPLT__INFORMATION ? fplt_plan_information(&site->agreement->plan) : numbers;
    numbers = kind == FPLT__CHECK ? fplt_plan_enrol_words(&site->agreement->plan) / 2 : numbers;
    fplt_status status = fplt__grow(&site->words, &site->word_room, 2 * numbers,
                                    sizeof *site->words, "numbers", &error);
    if (!status && kind == FPLT__MEASURE)
        status = fplt_node_measure(site->node, x, site->words, &error);
    else if (!status && kind == FPLT__SCORE)
        status = score(site, x, &error);
    else if (!status && kind == FPLT__MEAN)
        status = fplt_node_local_model(site->node, site->words, &error);
    else if (!status && kind == FPLT__CHECK)
        status = fplt_node_enrol(site->node, site->words);
    else if (!status)
        status = fplt_node_information(site->node, x, site->words, &error);
    if (status) {
        say(site, "trouble", "%s", error.text);
        wait_a_while(site);
        return;
    }
    send_answer(site, NULL, 0, site->words, numbers);
}

static void gather(fplt__site *site)
{
    FPLT__ASSERT(!site->record.planned);
    fplt__site_action *action = ask_shell(site, FPLT__SITE_GATHER, FOR_FACTS);
    if (!action)
        return;
    action->step = site->task.frame.exchange;
    action->down = site->task.down;
    action->count = site->task.frame.count;
}

static void end_run(fplt__site *site)
{
    FPLT__ASSERT(site->node);
    if (!site->ended) {
        fplt__site_action *action = add(site, FPLT__SITE_RESULT);
        site->ended = 1;
        if (action) {
            action->model = site->task.down;
            action->dimension = site->n;
        }
    }
    if (site->settings.once && !site->record.changed) {
        quit(site, "done", "the run has ended");
        return;
    }
    if (site->record.changed) {
        poll(site);
        return;
    }
    site->waiting = FOR_TIME;
    site->wake = site->now + NEXT_RUN;
}

/* --- replies --- */

/* Verdicts take effect in order; of the rest the last counts. */
static void take_frames(fplt__site *site, const uint8_t *bytes, size_t size)
{
    fplt__frame frame;
    const uint8_t *head, *body;
    fplt_error error;
    size_t cursor = 0;
    site->task.frame.kind = 0;
    while (cursor < size) {
        if (fplt__frame_next(bytes, size, &cursor, &frame, &head, &body, &error) ||
            !fplt__same(&frame.plan, &site->record.hash) ||
            frame.member_index != site->record.member_index) {
            say(site, "refused", "an answer that cannot be read, or not for this agent");
            wait_a_while(site);
            return;
        }
        if (frame.kind == FPLT__VERDICT && site->node)
            take_verdict(site, &frame, body);
        else
            keep_task(site, &frame, head, body);
    }
    unsigned kind = site->task.frame.kind;
    int forming = !site->record.planned;
    if (!site->node && !(forming && kind == FPLT__MOMENTS))
        kind = 0;
    if (kind == FPLT__TRAIN)
        train(site);
    else if (kind == FPLT__ENROL)
        enrol(site);
    else if (kind == FPLT__MOMENTS && forming)
        gather(site);
    else if (kind == FPLT__END)
        end_run(site);
    else if (kind)
        answer_question(site);
    else
        poll(site);
}

static void take_fault(fplt__site *site, unsigned status, const void *body, size_t size)
{
    fplt__fault fault;
    fplt_error error;
    if (fplt__fault_read(body, size, &fault, &error))
        fault = (fplt__fault){"unclear", 0, "an answer that cannot be read"};
    if (strcmp(fault.word, "join") == 0 || strcmp(fault.word, "plan") == 0) {
        join(site);
    } else if (strcmp(fault.word, "old") == 0) {
        send_now(site);
    } else if (fault.final) {
        quit(site, fault.word, fault.sentence);
    } else if (status == 409 && site->request.kind == FPLT__UPDATE) {
        poll(site);
    } else {
        say(site, "waiting", "%s", fault.sentence);
        wait_a_while(site);
    }
}

static void take_reply(fplt__site *site, const fplt__site_event *event)
{
    if (site->waiting != FOR_REPLY)
        return;
    site->wait = event->status < 300 ? 0 : site->wait;
    if (event->has_proof && site->record.planned)
        site->record.proof = event->proof, site->record.has_proof = 1;
    if (event->status >= 300) {
        take_fault(site, event->status, event->body, event->size);
        return;
    }
    switch (site->request.kind) {
    case FPLT__JOIN: take_joined(site, event->body, event->size); break;
    case FPLT__DOCUMENT: take_document(site, event->body, event->size, site->planned_hint); break;
    case FPLT__START: take_start(site, event->body, event->size); break;
    case FPLT__NEXT:
    case FPLT__UPDATE:
        if (event->status == 200 && event->size)
            take_frames(site, event->body, event->size);
        else
            poll(site);
        break;
    default: poll(site);
    }
}

/* --- create, events --- */

fplt_status fplt__site_create(const fplt__site_settings *settings, fplt__site **out,
                              fplt_error *error)
{
    fplt_status status = fplt__alloc_into(out, 1, sizeof **out, "an agent", error);
    if (status)
        return status;
    (*out)->settings = *settings;
    (*out)->random = settings->random;
    (*out)->wake = UINT64_MAX;
    return FPLT_OK;
}

void fplt__site_destroy(fplt__site *site)
{
    if (!site)
        return;
    forget_run(site);
    set_frame(&site->answer, NULL, 0);
    void *const owned[] = {site->document,   site->body,      site->head,  site->begin,
                           site->task.bytes, site->task.down, site->words, site->action};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        fplt__free(owned[k]);
    fplt__free(site->loaded);
    fplt__free(site);
}

static fplt_status copy_into(void *pointer, const void *bytes, size_t size, fplt_error *error)
{
    void **to = pointer;
    fplt_status status = fplt__alloc_into(to, size + 1, 1, "an agent", error);
    if (!status && size)
        memcpy(*to, bytes, size);
    return status;
}

/* The vectors of a record, kept until there is a node to take them. */
static fplt_status load_vectors(fplt__site *site, const fplt__site_record *record,
                                fplt_error *error)
{
    size_t kept = record->kept_count, held = record->held_count, begin = record->begin_count;
    fplt_status status = fplt__alloc_into(&site->loaded, 2 * kept + held + 1, sizeof *site->loaded,
                                          "an agent", error);
    if (status)
        return status;
    if (kept)
        memcpy(site->loaded, record->kept, kept * sizeof *site->loaded);
    if (kept && record->staged)
        memcpy(site->loaded + kept, record->staged, kept * sizeof *site->loaded);
    if (held && record->held)
        memcpy(site->loaded + 2 * kept, record->held, held * sizeof *site->loaded);
    site->record.kept = site->loaded;
    site->record.staged = site->loaded + kept;
    site->record.held = held ? site->loaded + 2 * kept : NULL; /* where nothing is staged */
    return begin ? copy_into(&site->begin, record->begin, begin * sizeof *site->begin, error)
                 : FPLT_OK;
}

static fplt_status load(fplt__site *site, const fplt__site_record *record, fplt_error *error)
{
    fplt_status status;
    site->record = *record;
    site->record.changed = 0;
    if ((status = copy_into(&site->document, record->document, record->document_size, error)) ||
        (status = copy_into(&site->head, record->head, record->head_size, error)))
        return status;
    for (unsigned e = 0; e < record->messages && !status; e++) {
        site->message[e].size = record->message[e].size;
        status = copy_into(&site->message[e].bytes, record->message[e].body,
                           record->message[e].size, error);
    }
    if (!status && record->has_enrolled) {
        site->enrolment.size = record->enrolment.size;
        status = copy_into(&site->enrolment.bytes, record->enrolment.body, record->enrolment.size,
                           error);
    }
    if (!record->planned)
        site->record.kept = NULL;
    return status || !record->planned ? status : load_vectors(site, record, error);
}

fplt_status fplt__site_open(fplt__site *site, uint64_t now, const fplt__site_record *record,
                            const fplt__receipt *charged, fplt_error *error)
{
    site->now = now;
    if (charged)
        site->charged = *charged;
    fplt_status status = record ? load(site, record, error) : FPLT_OK;
    if (status)
        return status;
    join(site);
    return FPLT_OK;
}

static void take_time(fplt__site *site)
{
    FPLT__ASSERT(site->waiting != OVER);
    if (site->now < site->wake)
        return;
    site->wake = UINT64_MAX;
    if (site->waiting == FOR_COMMIT)
        ask_commit(site);
    else if (site->waiting == FOR_TIME && site->ended)
        join(site);
    else if (site->waiting == FOR_TIME && site->joined && site->request.kind == FPLT__NEXT)
        poll(site);
    else if (site->waiting == FOR_TIME)
        flush(site);
}

static void take_refusal(fplt__site *site, const char *sentence)
{
    if (site->waiting == FOR_FACTS || site->waiting == FOR_AGREEMENT || site->waiting == FOR_NODE) {
        site->record.consented = 0;
        if (site->waiting == FOR_FACTS) /* the consent is stored: after a restart ASK comes again */
            site->record.changed |= FPLT__SITE_RUN;
        site->refused = 1;
        consent(site, 0, sentence);
    }
}

static void take_committed(fplt__site *site)
{
    if (site->waiting != FOR_COMMIT)
        return;
    site->record.changed = 0;
    send_now(site);
}

static void take_full(fplt__site *site)
{
    say(site, "disk", "the state cannot be stored; again in 5 s");
    site->wake = site->now + DISK_WAIT;
    if (site->waiting == FOR_CHARGE) { /* nothing was charged: as if not trained */
        fplt_node_drop(site->node);
        site->waiting = FOR_TIME;
    }
}

static void take_charged(fplt__site *site, const fplt__receipt *charged)
{
    if (site->waiting != FOR_CHARGE)
        return;
    site->charged = *charged;
    FPLT__ASSERT(site->agreement->private && site->task.frame.kind == FPLT__TRAIN);
    site->record.charges++;
    count_adopted(site);
    FPLT__ASSERT(!site->record.has_staged);
    stage(site);
}

static void take_spent(fplt__site *site, const char *sentence)
{
    if (site->waiting != FOR_CHARGE)
        return;
    fplt_node_drop(site->node);
    trouble(site, site->task.frame.round, "spent", sentence);
    poll(site);
}

static void take_agreement(fplt__site *site, uint64_t records, fplt__hessian_word hessian)
{
    if (site->waiting != FOR_AGREEMENT)
        return;
    site->record.consented = 1;
    site->record.records = records;
    site->hessian = hessian;
    site->record.changed |= FPLT__SITE_RUN;
    consent(site, 1, NULL);
}

static void take_event(fplt__site *site, const fplt__site_event *event)
{
    enum waiting waiting = site->waiting;
    switch (event->kind) {
    case FPLT__SITE_TIME: take_time(site); break;
    case FPLT__SITE_REPLY:
        if (site->refused && waiting == FOR_REPLY)
            quit(site, "refused", "the plan was refused");
        else
            take_reply(site, event);
        break;
    case FPLT__SITE_NETWORK:
        if (waiting == FOR_REPLY)
            wait_a_while(site);
        break;
    case FPLT__SITE_COMMITTED: take_committed(site); break;
    case FPLT__SITE_FULL: take_full(site); break;
    case FPLT__SITE_CHARGED: take_charged(site, &event->charged); break;
    case FPLT__SITE_SPENT: take_spent(site, event->sentence); break;
    case FPLT__SITE_AGREE: take_agreement(site, event->records, event->hessian); break;
    case FPLT__SITE_REFUSE: take_refusal(site, event->sentence); break;
    case FPLT__SITE_FACTS:
        if (waiting == FOR_FACTS)
            send_answer(site, event->scalars, event->scalar_count, event->words, event->numbers);
        break;
    case FPLT__SITE_BUILT:
        if (waiting == FOR_NODE)
            take_node(site, event->plan);
        break;
    case FPLT__SITE_LACKS:
        if (waiting == FOR_NODE)
            request(site, FPLT__START, NULL);
        break;
    }
}

/* What holds between two events. */
static void check_invariants(const fplt__site *site)
{
    FPLT__ASSERT(!site->node == !site->agreement);
    FPLT__ASSERT(!site->node || site->record.planned);
    FPLT__ASSERT(site->waiting != FOR_REPLY || (!site->record.changed && site->wake == UINT64_MAX));
    FPLT__ASSERT(site->waiting != FOR_TIME || site->wake != UINT64_MAX);
    FPLT__ASSERT(site->waiting != FOR_COMMIT || site->record.changed);
    FPLT__ASSERT(site->waiting != FOR_CHARGE || (site->node && site->agreement->private));
    FPLT__ASSERT(site->waiting != FOR_NODE || !site->node);
    FPLT__ASSERT(site->waiting != FOR_AGREEMENT || !site->record.consented);
    FPLT__ASSERT(site->waiting != FOR_FACTS || !site->record.planned);
    FPLT__ASSERT(site->waiting != OVER || site->wake == UINT64_MAX);
    FPLT__ASSERT(!site->start_size || site->start);
}

fplt_status fplt__site_handle(fplt__site *site, const fplt__site_event *event, fplt_error *error)
{
    site->actions = site->taken = 0;
    site->failed = 0;
    site->now = event->now > site->now ? event->now : site->now;
    if (site->waiting != OVER)
        take_event(site, event);
    if (!site->damaged && !site->failed)
        check_invariants(site);
    if (site->damaged)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the stored state of the run has vectors of another length than its "
                              "plan: it is damaged");
    return site->failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a message")
                        : FPLT_OK;
}

const fplt__site_action *fplt__site_action_take(fplt__site *site)
{
    FPLT__ASSERT(site->taken <= site->actions);
    return site->taken < site->actions ? &site->action[site->taken++] : NULL;
}

uint64_t fplt__site_wake(const fplt__site *site)
{
    return site->wake;
}

fplt__site_view fplt__site_get_view(const fplt__site *site)
{
    return (fplt__site_view){.joined = site->joined,
                             .planned = site->record.planned,
                             .consented = site->record.consented,
                             .member_index = site->record.member_index,
                             .incarnation = site->record.incarnation,
                             .version = site->record.version,
                             .round = site->task.frame.round,
                             .charges = site->record.charges,
                             .cap = site->agreement ? site->agreement->cap : 0,
                             .chain = site->record.chain};
}

fplt_node *fplt__site_node(fplt__site *site)
{
    return site->node;
}
