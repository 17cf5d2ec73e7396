/* Enrolment, questions and the end of a run at the agent. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/hub_node.h"
#include "engine/node.h"
#include "base/sum.h"
#include "protocol/site_machine.h"

enum { NEXT_RUN = 30000 };

void fplt__site_enrol(fplt__site *site)
{
    FPLT__ASSERT(site->node && site->begin);
    const fplt__frame *task = &site->task.frame;
    fplt__site_record *record = &site->record;
    fplt__digest digest = fplt__frame_task(site->task.bytes);
    fplt_error error;
    const fplt_plan *plan = &site->agreement->plan;
    int is_masked = site->secagg && fplt_plan_enrol_words(plan); /* without numbers it goes plain */
    if (record->has_enrolled && fplt__same(&record->enrolment.answer.task, &digest) &&
        (!is_masked || fplt__site_is_of_session(site, &site->enrolment))) {
        fplt__site_request_frame(site, &site->enrolment);
        return;
    }
    if (is_masked && !fplt__site_enters_question(site))
        return;
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
            fplt__site_drop_staged(site);
        }
        memcpy(site->begin, site->task.down, site->n * sizeof *site->begin);
        status = fplt__node_begun(site->node, site->begin, site->words, &error);
    } else if (!status) {
        status = fplt_node_enrol(site->node, site->words);
    }
    fplt__frame frame = fplt__site_up_frame(site, task, &digest);
    uint8_t *bytes;
    size_t size;
    frame.count = count;
    if (!status)
        status = is_masked
                     ? fplt__site_masked_frame(site, &frame, &bytes, &size, &error)
                     : fplt__frame_make(&frame, NULL, NULL, site->words, &bytes, &size, &error);
    if (status) {
        fplt__site_log(site, "refused", "the vectors cannot be sent");
        fplt__site_back_off(site);
        return;
    }
    fplt__site_set_frame(&site->enrolment, bytes, size);
    record->enrolment.answer = (fplt__answer){digest, frame.digest};
    record->has_enrolled = 1;
    record->enrolled_leg = task->incarnation;
    record->begin_count = keeps ? 0 : site->n;
    record->changed |= FPLT__SITE_ENROLLED | FPLT__SITE_RUN;
    fplt__site_request_frame(site, &site->enrolment);
}

void fplt__site_send_answer(fplt__site *site, const double *scalars, uint32_t scalar_count,
                            const uint64_t *words, uint64_t numbers)
{
    FPLT__ASSERT(site->task.bytes);
    fplt__digest digest = fplt__frame_task(site->task.bytes);
    fplt__frame frame = fplt__site_up_frame(site, &site->task.frame, &digest);
    fplt_error error;
    uint8_t *bytes;
    size_t size;
    frame.scalars = scalar_count;
    frame.count = numbers;
    if (fplt__site_make_frame(site, &frame, scalars, words, &bytes, &size, &error)) {
        site->failed = 1;
        return;
    }
    fplt__site_set_frame(&site->answer, bytes, size);
    fplt__site_request_frame(site, &site->answer);
}

static fplt_status score(fplt__site *site, const double *x, fplt_error *error)
{
    double out[FPLT__MEASURES];
    fplt__sum *sum;
    if (!site->settings.score || site->settings.score(site->settings.context, x, out))
        return fplt_error_set(error, FPLT_UNSUPPORTED, "no held-out rows to score");
    fplt_status status = fplt__sum_create(FPLT__MEASURES, FPLT_SUM_EXPONENT, &sum, error);
    if (status)
        return status;
    status = fplt__sum_add(sum, 0, out, FPLT__MEASURES);
    fplt__sum_export(sum, 0, site->words, FPLT__MEASURES);
    fplt__sum_destroy(sum);
    return status;
}

int fplt__site_guards(fplt__site *site)
{
    const fplt__frame *task = &site->task.frame;
    fplt_error error;
    if (!site->settings.guard || site->agreement->private || task->exchange ||
        task->count < site->n ||
        !site->settings.guard(site->settings.context, task->kind, site->task.down, &error))
        return 1;
    fplt__site_log(site, "refused", "%s", error.text);
    fplt__site_trouble(site, task->round,
                       task->kind == FPLT__TRAIN ? FPLT__DISCLOSURE : FPLT__NO_ANSWER,
                       FPLT__DISCLOSURE);
    return 0;
}

void fplt__site_answer_question(fplt__site *site)
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
        fplt__site_trouble(site, site->task.frame.round, FPLT__NO_ANSWER,
                           site->agreement->private
                               ? "asked to measure, which a private run does not allow"
                           : facts ? "asked for facts, but the plan is made"
                           : site->withholds >> kind & 1 && *site->reason
                               ? site->reason
                               : "asked what the policy of this site does not allow");
        fplt__site_back_off(site);
        return;
    }
    if (!fplt__site_enters_question(site))
        return;
    if (kind != FPLT__CHECK && kind != FPLT__MEAN && !fplt__site_guards(site)) {
        fplt__site_back_off(site);
        return;
    }
    site->has_trouble = 0;
    numbers = kind == FPLT__MEASURE ? n + FPLT__MEASURES : numbers;
    numbers = kind == FPLT__SCORE ? FPLT__MEASURES : numbers;
    numbers = kind == FPLT__INFORMATION ? fplt__plan_information(&site->agreement->plan) : numbers;
    numbers = kind == FPLT__CHECK ? fplt_plan_enrol_words(&site->agreement->plan) / 2 : numbers;
    fplt_status status = fplt__grow(&site->words, &site->word_room, 2 * numbers,
                                    sizeof *site->words, "numbers", &error);
    if (!status && kind == FPLT__MEASURE)
        status = fplt__node_measure(site->node, x, site->words, &error);
    else if (!status && kind == FPLT__SCORE)
        status = score(site, x, &error);
    else if (!status && kind == FPLT__MEAN)
        status = fplt_node_local_model(site->node, site->words, &error);
    else if (!status && kind == FPLT__CHECK)
        status = fplt_node_enrol(site->node, site->words);
    else if (!status)
        status = fplt__node_information(site->node, x, site->words, &error);
    if (status) {
        fplt__site_log(site, "trouble", "%s", error.text);
        fplt__site_back_off(site);
        return;
    }
    fplt__site_send_answer(site, NULL, 0, site->words, numbers);
}

void fplt__site_gather(fplt__site *site)
{
    FPLT__ASSERT(!site->record.planned);
    fplt__site_action *action = fplt__site_ask_shell(site, FPLT__SITE_GATHER, FPLT__FOR_FACTS);
    if (!action)
        return;
    action->step = site->task.frame.exchange;
    action->down = site->task.down;
    action->count = site->task.frame.count;
}

/* The shell writes the model; it knows the plan by the document where this process has built no node of it. */
static void tell_result(fplt__site *site)
{
    fplt__site_action *action = fplt__site_add(site, FPLT__SITE_RESULT);
    if (!action)
        return;
    action->model = site->record.planned ? site->task.down : NULL;
    action->dimension = (size_t)site->task.frame.count;
    action->document = site->document;
    action->document_size = site->record.document_size;
}

/* An analysis, which has no plan, ends without a model. */
static int is_end_legal(const fplt__site *site)
{
    uint64_t count = site->task.frame.count;
    return site->record.planned ? !site->node || count == site->n : count == 0;
}

void fplt__site_end_run(fplt__site *site)
{
    FPLT__ASSERT(site->document);
    if (!is_end_legal(site)) {
        fplt__site_log(site, "refused", "a last model of another length than the plan's");
        fplt__site_back_off(site);
        return;
    }
    int is_repeated = site->ended && !site->record.changed;
    if (!site->ended)
        tell_result(site);
    site->ended = 1;
    if (site->task.frame.exchange) { /* another run follows */
        fplt__site_join(site);
        return;
    }
    if (site->settings.once && !site->record.changed) {
        fplt__site_quit(site, "done", "the run has ended");
        return;
    }
    if (site->settings.once) { /* once more, after the commit: the answer ends the process */
        fplt__site_poll(site);
        return;
    }
    if (!is_repeated) { /* the coordinator holds the poll of an agent that has the end */
        site->has_trouble = 1;
        site->trouble_round = site->task.frame.round;
        snprintf(site->trouble_word, sizeof site->trouble_word, FPLT__HAS_END);
        snprintf(site->trouble_sentence, sizeof site->trouble_sentence, "it has the last model");
        fplt__site_poll(site);
        return;
    }
    site->waiting = FPLT__FOR_TIME;
    site->wake = site->now + NEXT_RUN;
}
