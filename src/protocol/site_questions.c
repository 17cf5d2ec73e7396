/* Enrolment, questions and the end of a run at the agent. */
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/node.h"
#include "fedplt/sum.h"
#include "protocol/site_machine.h"

enum { NEXT_RUN = 30000 };

void fplt__site_enrol(fplt__site *site)
{
    FPLT__ASSERT(site->node && site->begin);
    const fplt__frame *task = &site->task.frame;
    fplt__site_record *record = &site->record;
    fplt__digest digest = fplt__frame_task(site->task.bytes);
    fplt_error error;
    if (record->has_enrolled && fplt__same(&record->enrolment.answer.task, &digest)) {
        fplt__site_request_frame(site, &site->enrolment);
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
    if (status || fplt__frame_make(&frame, NULL, NULL, site->words, &bytes, &size, &error)) {
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
    if (fplt__frame_make(&frame, scalars, NULL, words, &bytes, &size, &error)) {
        site->failed = 1;
        return;
    }
    fplt__site_set_frame(&site->answer, bytes, size);
    fplt__site_request_frame(site, &site->answer);
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
                                   : "asked what the policy of this site does not allow");
        fplt__site_back_off(site);
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

void fplt__site_end_run(fplt__site *site)
{
    FPLT__ASSERT(site->node);
    if (!site->ended) {
        fplt__site_action *action = fplt__site_add(site, FPLT__SITE_RESULT);
        site->ended = 1;
        if (action) {
            action->model = site->task.down;
            action->dimension = site->n;
        }
    }
    if (site->settings.once && !site->record.changed) {
        fplt__site_quit(site, "done", "the run has ended");
        return;
    }
    if (site->record.changed) {
        fplt__site_poll(site);
        return;
    }
    site->waiting = FPLT__FOR_TIME;
    site->wake = site->now + NEXT_RUN;
}
