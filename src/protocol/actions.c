/* The actions of an event: replies, faults, log, and bytes that replies share. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "protocol/leading.h"

enum { MIN_PATIENCE = 10000, MAX_PATIENCE = 3600000, FIRST_PATIENCE = 600000 };

void fplt__bit_set(uint8_t *map, uint32_t i, int value)
{
    uint8_t bit = (uint8_t)(1u << (i % 8));
    map[i / 8] = (uint8_t)(value ? map[i / 8] | bit : map[i / 8] & ~bit);
}

fplt_status fplt__shared_make(size_t size, fplt__shared **shared, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(shared, 1, sizeof **shared + size, "a message", error);
    if (status)
        return status;
    (*shared)->holders = 1;
    (*shared)->size = size;
    return FPLT_OK;
}

void fplt__shared_hold(fplt__shared *shared)
{
    FPLT__ASSERT(shared->holders > 0);
    shared->holders++;
}

void fplt__shared_release(fplt__shared *shared)
{
    FPLT__ASSERT(!shared || shared->holders > 0);
    if (shared && --shared->holders == 0)
        fplt__free(shared);
}

void fplt__leader_clear_actions(fplt__leader *leader)
{
    for (size_t a = 0; a < leader->queue.count; a++) {
        fplt__leader_action *action = &leader->queue.action[a];
        for (unsigned p = 0; p < action->reply.parts; p++)
            fplt__shared_release(action->reply.part[p].owner);
        fplt__free(action->owned);
    }
    leader->queue.count = leader->queue.taken = 0;
}

fplt__leader_action *fplt__leader_add(fplt__leader *leader, fplt__leader_action_kind kind)
{
    if (fplt__grow(&leader->queue.action, &leader->queue.room, leader->queue.count + 1,
                   sizeof *leader->queue.action, "actions", NULL)) {
        leader->failed = 1;
        return NULL;
    }
    fplt__leader_action *action = &leader->queue.action[leader->queue.count++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    action->step = -1;
    action->round = leader->record.round;
    return action;
}

void fplt__leader_log(fplt__leader *leader, uint32_t member_index, const char *word,
                      const char *format, ...)
{
    fplt__leader_action *action = fplt__leader_add(leader, FPLT__LEADER_LOG);
    va_list list;
    if (!action)
        return;
    action->member_index = member_index;
    snprintf(action->word, sizeof action->word, "%s", word);
    va_start(list, format);
    vsnprintf(action->sentence, sizeof action->sentence, format, list);
    va_end(list);
}

fplt__reply *fplt__leader_add_reply(fplt__leader *leader, uint64_t ticket, uint32_t member_index,
                                    unsigned status)
{
    FPLT__ASSERT(ticket != 0);
    FPLT__ASSERT(status >= 200 && status < 600);
    fplt__leader_action *action = fplt__leader_add(leader, FPLT__LEADER_REPLY);
    if (!action)
        return NULL;
    action->member_index = member_index;
    action->reply.ticket = ticket;
    action->reply.member_index = member_index;
    action->reply.status = status;
    return &action->reply;
}

void fplt__leader_add_part(fplt__leader *leader, fplt__reply *reply, fplt__shared *shared)
{
    FPLT__ASSERT(!reply || reply->parts < FPLT__REPLY_PARTS);
    if (!shared || !reply) {
        leader->failed = 1;
        fplt__shared_release(shared);
        return;
    }
    reply->part[reply->parts].bytes = shared->bytes;
    reply->part[reply->parts].size = shared->size;
    reply->part[reply->parts++].owner = shared;
}

void fplt__leader_add_text(fplt__leader *leader, fplt__reply *reply, char *text)
{
    fplt_error error;
    fplt__shared *shared = NULL;
    if (text && !fplt__shared_make(strlen(text), &shared, &error))
        memcpy(shared->bytes, text, shared->size);
    if (reply)
        reply->json = 1;
    fplt__leader_add_part(leader, reply, shared);
    fplt__free(text);
}

void fplt__leader_reply(fplt__leader *leader, uint64_t ticket, uint32_t member_index,
                        unsigned status)
{
    fplt__leader_add_reply(leader, ticket, member_index, status);
}

int fplt__leader_is_violation(const char *word)
{
    static const char *const words[] = {"malformed", "long", "other", "private", "range"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strcmp(word, words[k]) == 0)
            return 1;
    return 0;
}

void fplt__leader_fault(fplt__leader *leader, uint64_t ticket, uint32_t member_index,
                        unsigned status, const char *word, int final, const char *format, ...)
{
    FPLT__ASSERT(status >= 400);
    FPLT__ASSERT(word[0]);
    fplt__fault fault = {.final = final};
    fplt_error error;
    char *text = NULL;
    va_list list;
    va_start(list, format);
    vsnprintf(fault.sentence, sizeof fault.sentence, format, list);
    va_end(list);
    snprintf(fault.word, sizeof fault.word, "%s", word);
    if (strcmp(word, "closed") == 0)
        fplt__leader_log(leader, member_index, "late", "%s", fault.sentence);
    else if (fplt__leader_is_violation(word))
        fplt__leader_log(leader, member_index, "refused", "%s", fault.sentence);
    fplt__reply *reply = fplt__leader_add_reply(leader, ticket, member_index, status);
    if (reply)
        memcpy(reply->word, fault.word, sizeof reply->word);
    fplt__fault_text(&fault, &text, &error);
    fplt__leader_add_text(leader, reply, text);
}

fplt_status fplt__leader_room(fplt__leader *leader, size_t count, fplt_error *error)
{
    return fplt__grow(&leader->scratch.words, &leader->scratch.word_room, 2 * count,
                      sizeof *leader->scratch.words, "numbers", error);
}

int fplt__leader_needs_all(const fplt__leader *leader)
{
    FPLT__ASSERT(leader->plan.agreement);
    const fplt__agreement *agreement = leader->plan.agreement;
    return !(agreement->plan.algorithm->allows & FPLT_ALLOWS_PARTIAL) ||
           (agreement->proposal.secure && !agreement->threshold);
}

/* auto: five times the slowest arrival in the last ten rounds, late or not. */
uint64_t fplt__leader_round_timeout(const fplt__leader *leader)
{
    uint64_t most = 0;
    if (leader->settings.deadline)
        return leader->settings.deadline;
    for (int k = 0; k < 10; k++)
        most = leader->pace.round[k].most > most ? leader->pace.round[k].most : most;
    if (!leader->pace.count)
        return FIRST_PATIENCE;
    most *= 5;
    return most < MIN_PATIENCE ? MIN_PATIENCE : most > MAX_PATIENCE ? MAX_PATIENCE : most;
}
