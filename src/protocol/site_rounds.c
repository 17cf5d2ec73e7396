/* Rounds at the agent: verdicts, training, staging. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "engine/hub_node.h"
#include "protocol/planted.h"
#include "protocol/site_machine.h"
#include "secagg/planted.h"

/* --- frames from the coordinator --- */

void fplt__site_drop_staged(fplt__site *site)
{
    fplt__site_record *record = &site->record;
    if (record->has_staged && record->staged_round >= record->over &&
        !FPLT__PLANTED(FPLT__FORGETS_ANSWERED) && !FPLT__SECAGG_PLANTED(FPLT__ROUND_TWICE))
        record->over = record->staged_round + 1;
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
    fplt__round_make(&site->agreement->plan, frame.round, frame.cohort, frame.position, scalar,
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
    if (record->messages < site->shape.exchanges && !FPLT__PLANTED(FPLT__HALF_ROUND) &&
        !FPLT__PLANTED(FPLT__BY_ROUND)) {
        fplt__site_log(site, "refused",
                       "the coordinator accepts round %llu after %u of its %u exchanges",
                       (unsigned long long)frame->round, record->messages, site->shape.exchanges);
        return;
    }
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
    record->over = record->staged_round + 1;
    fplt__site_drop_staged(site);
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
    if (record->begin_count && fplt__node_restart(site->node, site->begin, &error)) {
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
    fplt__site_drop_staged(site);
    record->changed |= FPLT__SITE_KEPT | FPLT__SITE_ENROLLED;
}

void fplt__site_take_verdict(fplt__site *site, const fplt__frame *frame, const uint8_t *body)
{
    if (frame->exchange)
        take_leg(site, frame);
    else if (frame->cohort)
        take_accepted(site, frame, body);
    else if (site->record.has_staged && frame->round == site->record.staged_round) {
        fplt_node_drop(site->node);
        fplt__site_drop_staged(site);
    }
}

/* --- training --- */

fplt__frame fplt__site_up_frame(const fplt__site *site, const fplt__frame *down,
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

/* Before the first update of a plan leaves. */
static void note_sent(fplt__site *site)
{
    fplt__site_record *record = &site->record;
    const fplt__proposal *proposal = &site->agreement->proposal;
    if (!proposal->run || fplt__same(&record->sent_plan, &record->hash))
        return;
    record->sent_run = proposal->run;
    record->sent_members = proposal->members;
    record->sent_authority = proposal->authority;
    record->sent_plan = record->hash;
    record->changed |= FPLT__SITE_SENT;
}

fplt_status fplt__site_make_frame(fplt__site *site, fplt__frame *frame, const double *scalars,
                                  const uint64_t *words, uint8_t **bytes, size_t *size,
                                  fplt_error *error)
{
    const double *down = site->task.down;
    int is_update = frame->kind == FPLT__TRAIN;
    if (site->secagg)
        return fplt__site_masked_frame(site, frame, bytes, size, error);
    if (!(is_update || frame->kind == FPLT__MEASURE) ||
        !fplt__proposal_lists(&site->agreement->proposal))
        return fplt__frame_make(frame, scalars, NULL, words, bytes, size, error);
    fplt__multiple expected = is_update
                                  ? fplt__node_expect_update(site->node, frame->exchange, down)
                                  : fplt__node_expect_measure(site->node, down);
    return fplt__frame_list(frame, words, &expected, bytes, size, error);
}

void fplt__site_stage(fplt__site *site)
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
    fplt__frame frame = fplt__site_up_frame(site, task, &digest);
    fplt_error error;
    uint8_t *bytes, *head;
    size_t size;
    frame.count = fplt__plan_up(&site->agreement->plan, e);
    if (fplt__alloc_into(&head, site->task.size, 1, "a task", &error) ||
        fplt__site_make_frame(site, &frame, NULL, site->words, &bytes, &size, &error)) {
        site->failed = 1;
        return;
    }
    memcpy(head, site->task.bytes, site->task.size);
    fplt__free(site->head);
    site->head = head;
    record->head_size = site->task.size;
    fplt__site_set_frame(&site->message[e], bytes, size);
    record->message[e].answer = (fplt__answer){digest, frame.digest};
    record->messages = e + 1;
    record->has_staged = 1;
    record->staged_leg = task->incarnation;
    record->staged_round = task->round;
    const fplt__answer answers[2] = {record->message[0].answer, record->message[1].answer};
    record->staged_digest = fplt__work_digest(answers, e + 1);
    FPLT__ASSERT(record->has_staged && record->messages <= site->shape.exchanges);
    FPLT__ASSERT(size >= FPLT__FRAME_HEAD && record->head_size >= FPLT__FRAME_HEAD);
    note_sent(site);
    record->changed |= FPLT__SITE_RUN | FPLT__SITE_MESSAGES | FPLT__SITE_HELD;
    if (!site->shape.finish_down) /* otherwise finish makes them of `kept` and `held` */
        record->changed |= FPLT__SITE_STAGED;
    fplt__site_request_frame(site, &site->message[e]);
}

static int is_stored(const fplt__site *site, const fplt__frame *task, const fplt__digest *digest)
{
    const fplt__site_record *record = &site->record;
    return record->has_staged && record->staged_round == task->round &&
           task->exchange < record->messages &&
           fplt__same(&record->message[task->exchange].answer.task, digest) &&
           fplt__site_is_of_session(site, &site->message[task->exchange]);
}

static fplt_status compute(fplt__site *site, fplt_error *error)
{
    const fplt__frame *task = &site->task.frame;
    const fplt_plan *plan = &site->agreement->plan;
    double scalar[FPLT_MAX_SCALARS];
    fplt_round round;
    if (task->exchange >= site->shape.exchanges ||
        task->count != fplt_plan_down(plan, task->exchange) ||
        task->scalars != site->shape.scalars || task->cohort > plan->agents ||
        task->position >= task->cohort || task->incarnation != site->record.incarnation)
        return fplt_error_set(error, FPLT_BAD_DATA, "a task that does not fit the plan");
    if (site->settings.least && task->cohort < site->settings.least)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a cohort of %u, but the policy wants at least %u", task->cohort,
                              site->settings.least);
    fplt__get_reals(site->task.bytes + FPLT__FRAME_HEAD, scalar, task->scalars);
    fplt__round_make(plan, task->round, task->cohort, task->position, scalar, &round);
    fplt_status status =
        fplt__grow(&site->words, &site->word_room, fplt_plan_words(plan, task->exchange),
                   sizeof *site->words, "numbers", error);
    if (status)
        return status;
    /* a later round, or a planted fault: computed anew */
    if (task->exchange == 0)
        fplt_node_drop(site->node);
    return fplt_node_train(site->node, &round, task->exchange, site->task.down, site->words, error);
}

/* Whether the task is of a round that may still be trained: one of the plan, after those that are over, and not one that
 * was answered: a second answer would be one more point that the coordinator chooses. Otherwise nothing is computed,
 * charged or dropped. A repair uses up the number of the round that it interrupts, so no incarnation adds a round. */
static int is_due(fplt__site *site, const fplt__frame *task)
{
    const fplt__site_record *record = &site->record;
    unsigned long long round = task->round, rounds = site->agreement->rounds;
    if (FPLT__PLANTED(FPLT__LONGER_RUN))
        rounds += record->incarnation;
    int is_staged = record->has_staged && record->staged_round >= record->over;
    uint64_t first = is_staged ? record->staged_round : record->over;
    const char *word = "failed";
    char sentence[FPLT__SENTENCE] = "";
    if (task->incarnation != record->incarnation)
        return 1; /* it does not fit the plan */
    if (round >= rounds)
        snprintf(sentence, sizeof sentence, "round %llu is asked, but the plan has %llu rounds",
                 round, rounds);
    else if (round < first)
        snprintf(sentence, sizeof sentence, "round %llu is over, it has answered round %llu", round,
                 (unsigned long long)(is_staged ? record->staged_round : first - 1));
    else if (is_staged && round == first && task->exchange < record->messages &&
             !FPLT__PLANTED(FPLT__ANSWERS_TWICE) && !FPLT__PLANTED(FPLT__RECOMPUTE) &&
             !FPLT__SECAGG_PLANTED(FPLT__ROUND_TWICE)) {
        word = FPLT__HAS_ANSWERED;
        snprintf(sentence, sizeof sentence,
                 "round %llu was answered, and is asked again with other contents", round);
    }
    if (*sentence)
        fplt__site_trouble(site, task->round, word, sentence);
    return !*sentence;
}

void fplt__site_train(fplt__site *site)
{
    FPLT__ASSERT(site->node && site->agreement);
    FPLT__ASSERT(site->task.bytes && site->task.down);
    fplt_error error;
    fplt__site_record *record = &site->record;
    fplt__digest digest = fplt__frame_task(site->task.bytes);
    const fplt__frame *task = &site->task.frame;
    if (is_stored(site, task, &digest) && !FPLT__PLANTED(FPLT__RECOMPUTE)) {
        if (FPLT__SECAGG_PLANTED(FPLT__ANSWERS_FROM_DISK))
            fplt__site_enters_again(site);
        fplt__site_request_frame(site, &site->message[task->exchange]);
        return;
    }
    if (!is_due(site, task)) {
        fplt__site_poll(site);
        return;
    }
    if (!fplt__site_enters_training(site))
        return;
    if (record->has_staged && task->exchange == 0)
        fplt__site_drop_staged(site);
    if (!fplt__site_guards(site)) {
        fplt__site_poll(site);
        return;
    }
    fplt_status status = compute(site, &error);
    if (status) {
        int spent = site->agreement->cap && record->charges >= site->agreement->cap;
        fplt__site_trouble(site, task->round,
                           spent                     ? "spent"
                           : status == FPLT_DIVERGED ? "diverged"
                                                     : "failed",
                           error.text);
        fplt__site_poll(site);
        return;
    }
    site->has_trouble = 0;
    if (!site->agreement->private || task->exchange || FPLT__PLANTED(FPLT__NO_CHARGE)) {
        fplt__site_stage(site);
        return;
    }
    FPLT__ASSERT(site->agreement->private && task->exchange == 0);
    fplt__site_action *action = fplt__site_add(site, FPLT__SITE_CHARGE);
    site->waiting = FPLT__FOR_CHARGE;
    site->wake = UINT64_MAX;
    if (!action)
        return;
    action->hash = record->hash;
    action->incarnation = task->incarnation;
    action->round = task->round;
    action->chain = record->chain;
}

void fplt__site_keep_task(fplt__site *site, const fplt__frame *frame, const uint8_t *head,
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
        fplt__site_log(site, "refused", "%s", error.text);
        site->task.frame.kind = 0;
    }
}
