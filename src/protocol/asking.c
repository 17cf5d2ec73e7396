/* Questions to all: steps of the facts before the plan, evaluations after rounds. Nothing of them is
 * stored; asked again, the bits are the same. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "protocol/leading.h"

static fplt_status put_question(fplt__lead *lead, unsigned kind, const double *down, size_t count,
                                uint32_t scalars, uint64_t numbers)
{
    fplt_error error;
    fplt__shared *shared;
    fplt_status status = fplt__shared_make(8 * count, &shared, &error);
    if (status)
        return status;
    fplt__put_reals(shared->bytes, down, count);
    fplt__shared_release(lead->ask_down);
    lead->ask_down = shared;
    lead->ask_digest = fplt__body_hash(shared->bytes, shared->size);
    lead->asking = kind;
    lead->ask_scalars = scalars;
    lead->ask_numbers = numbers;
    lead->ask_answers = 0;
    lead->ask_deadline = lead->now + fplt__lead_patience(lead);
    for (uint32_t i = 0; i < lead->settings.members; i++)
        lead->guest[i].answered = 0;
    fplt_sum_destroy(lead->ask_sum);
    lead->ask_sum = NULL;
    return fplt_sum_create_words((size_t)numbers, FPLT_SUM_EXPONENT, &lead->ask_sum, &error);
}

void fplt__ask_facts(fplt__lead *lead, const fplt__ask *ask)
{
    lead->ask_step = ask->step;
    if (put_question(lead, FPLT__MOMENTS, ask->down, (size_t)ask->count, ask->scalars,
                     ask->numbers))
        fplt__lead_finish(lead, FPLT__ENDED, "failed", "no memory for the facts");
}

void fplt__ask_head(const fplt__lead *lead, uint32_t i, uint8_t head[FPLT__FRAME_HEAD])
{
    fplt__frame frame = {.kind = (uint8_t)lead->asking,
                         .exchange = (uint8_t)lead->ask_step,
                         .encoding = FPLT__DOUBLES,
                         .leg = lead->record.leg,
                         .identity = i,
                         .round = lead->record.round,
                         .cohort = lead->settings.members,
                         .position = i,
                         .version = lead->row[i].version,
                         .count = lead->ask_down->size / 8,
                         .payload = lead->ask_down->size,
                         .plan = lead->record.hash,
                         .digest = lead->ask_digest};
    fplt__frame_write(&frame, head);
}

static void ask_point(fplt__lead *lead, unsigned kind, uint64_t numbers)
{
    lead->ask_step = 0;
    if (put_question(lead, kind, lead->point, lead->n, 0, numbers))
        fplt__ask_stop(lead);
}

/* What a relative tolerance is a share of. A start near the minimiser must not ask for more than a start
 * from zero does. */
static double base_of(const fplt__lead *lead)
{
    if (lead->record.has_start)
        return lead->record.start.criterion;
    return lead->has_measured ? fmax(lead->measured.criterion, lead->zeroed) : HUGE_VAL;
}

/* Whether the run ends with this measurement, in order. */
static int ends(const fplt__lead *lead)
{
    fplt_error error;
    fplt_outcome outcome = fplt__judge(&lead->stopping, lead->record.round,
                                       lead->has_measured ? &lead->measured : NULL, base_of(lead),
                                       lead->stalled, &error);
    return outcome != FPLT_RUNNING && outcome != FPLT_RUN_DIVERGED;
}

/* Whether a kind is asked for after the measurement. */
static int is_wanted(const fplt__lead *lead, unsigned kind)
{
    const fplt_plan *plan = &lead->agreement->plan;
    switch (kind) {
    case FPLT__SCORE: return lead->agreement->score && lead->has_measured;
    case FPLT__INFORMATION: return lead->settings.inform && lead->has_measured && ends(lead);
    default:
        return fplt_plan_enrol_words(plan) &&
               (lead->check_wanted || (lead->settings.check && ends(lead)));
    }
}

/* What is asked next, at the model that is handed out; kinds up to `done` are. */
static void ask_more(fplt__lead *lead, unsigned done)
{
    static const unsigned order[] = {FPLT__MEASURE, FPLT__SCORE, FPLT__INFORMATION, FPLT__CHECK};
    const fplt_plan *plan = &lead->agreement->plan;
    const uint64_t numbers[] = {0, FPLT_MEASURES, fplt_plan_information(plan),
                                fplt_plan_enrol_words(plan) / 2};
    size_t next = 1;
    while (order[next - 1] != done)
        next++;
    while (next < 4 && !is_wanted(lead, order[next]))
        next++;
    if (next == 4 || fplt_hub_model(lead->hub, lead->point))
        fplt__ask_stop(lead);
    else
        ask_point(lead, order[next], numbers[next]);
}

/* After a round, and before the first, where the rules ask for it. */
void fplt__ask_begin(fplt__lead *lead)
{
    lead->has_measured = lead->has_score = lead->at_zero = 0;
    if (!fplt__is_due(&lead->stopping, lead->record.round, lead->record.has_start, lead->stalled) ||
        fplt_hub_model(lead->hub, lead->point)) {
        ask_more(lead, FPLT__INFORMATION);
        return;
    }
    int mean = lead->agreement->criterion_at_mean && lead->shape.local_model >= 0;
    ask_point(lead, mean ? FPLT__MEAN : FPLT__MEASURE, lead->n + (mean ? 0 : FPLT_MEASURES));
}

static void conclude(fplt__lead *lead)
{
    fplt_error error = {FPLT_OK, ""};
    fplt_outcome outcome = fplt__judge(&lead->stopping, lead->record.round,
                                       lead->has_measured ? &lead->measured : NULL, base_of(lead),
                                       lead->stalled, &error);
    char sentence[FPLT__SENTENCE];
    if (outcome == FPLT_RUNNING)
        return;
    if (outcome == FPLT_RUN_DIVERGED)
        snprintf(sentence, sizeof sentence, "%.300s", error.text);
    else
        snprintf(sentence, sizeof sentence, "%s after %llu rounds", fplt_outcome_name(outcome),
                 (unsigned long long)lead->record.round);
    fplt__lead_finish(lead, outcome == FPLT_RUN_DIVERGED ? FPLT__ENDED : FPLT__DONE,
                      fplt_outcome_name(outcome), sentence);
}

/* The evaluation is over, complete or not: the run ends or goes on. */
void fplt__ask_stop(fplt__lead *lead)
{
    lead->asking = 0;
    lead->due = 0;
    if (lead->at_zero) /* without it nothing can be judged: asked again */
        lead->has_measured = lead->at_zero = 0;
    if (lead->has_measured) {
        if (!lead->record.has_start) {
            lead->record.start = lead->measured;
            lead->record.start.criterion = base_of(lead);
            lead->record.has_start = 1;
        }
        lead->record.has_measure = 1;
        lead->record.measured_round = lead->record.round;
        lead->record.measure = lead->measured;
        fplt__lead_action *action = fplt__lead_add(lead, FPLT__LEAD_MEASURED);
        if (action) {
            action->round = lead->record.round;
            action->measure = lead->measured;
            action->has_score = lead->has_score;
            action->score = lead->score;
            action->information = lead->information;
        }
    }
    if (lead->record.state == FPLT__ROUND && !lead->committing)
        conclude(lead);
}

static fplt_status read_measure(const fplt__lead *lead, const double *sums, fplt_measure *measure,
                                fplt_error *error)
{
    fplt_prox *none = NULL;
    const fplt_prox *prox = lead->prox;
    fplt_status status;
    if (!prox) {
        fplt_prox_settings zero = fplt_prox_defaults();
        if ((status = fplt_prox_create(&zero, lead->n, lead->n, &none, error)))
            return status;
        prox = none;
    }
    status = fplt__measure_read(prox, lead->settings.members, lead->agreement->curvature.highest,
                                lead->point, sums, lead->n, lead->model, measure, error);
    fplt_prox_destroy(none);
    return status;
}

static void ask_zero(fplt__lead *lead)
{
    lead->at_zero = 1;
    memset(lead->point, 0, lead->n * sizeof *lead->point);
    ask_point(lead, FPLT__MEASURE, lead->n + FPLT_MEASURES);
}

static void take_measure(fplt__lead *lead, const double *sums)
{
    fplt_error error;
    fplt_measure zero;
    if (lead->at_zero) {
        lead->at_zero = 0;
        lead->has_measured = !read_measure(lead, sums, &zero, &error);
        lead->zeroed = lead->has_measured ? zero.criterion : 0;
        ask_more(lead, FPLT__MEASURE);
        return;
    }
    fplt_status status = read_measure(lead, sums, &lead->measured, &error);
    if (status == FPLT_DIVERGED)
        fplt__lead_finish(lead, FPLT__ENDED, "diverged", error.text);
    lead->has_measured = !status;
    if (lead->has_measured && !lead->record.has_start && lead->stopping.relative &&
        lead->start->size)
        ask_zero(lead);
    else
        ask_more(lead, FPLT__MEASURE);
}

static void take_score(fplt__lead *lead, const double *sums)
{
    lead->has_score = 1;
    lead->score = (fplt_measure){.criterion = NAN,
                                 .objective = sums[0],
                                 .hits = (uint64_t)sums[1],
                                 .records = (uint64_t)sums[2],
                                 .classifies = sums[3] > 0};
}

/* The agents' own vectors, added up, against the running sums: to the bit. */
static void take_check(fplt__lead *lead)
{
    size_t count = fplt_plan_enrol_words(&lead->agreement->plan);
    uint64_t *words;
    fplt_error error;
    lead->check_wanted = 0;
    if (fplt__alloc_into(&words, 2 * count, sizeof *words, "sums", &error))
        return;
    fplt_hub_totals(lead->hub, words);
    fplt_sum_export(lead->ask_sum, 0, words + count, count / 2);
    lead->has_check = 1;
    lead->check_equal = memcmp(words, words + count, count * sizeof *words) == 0;
    lead->check_round = lead->record.round;
    fplt__free(words);
    fplt__lead_say(lead, lead->settings.members, "checked",
                   lead->check_equal
                       ? "round %llu: the vectors of all agents add up to the sum, to "
                         "the bit"
                       : "round %llu: the vectors of all agents do not add up to the "
                         "sum",
                   (unsigned long long)lead->check_round);
}

static void complete_facts(fplt__lead *lead)
{
    lead->asking = 0;
    lead->resolving = 1;
    fplt__lead_action *action = fplt__lead_add(lead, FPLT__LEAD_RESOLVE);
    if (action)
        action->step = (int)lead->ask_step;
}

/* All have answered: what the sum says, and what is asked next. `sums` is taken over. */
static void complete_question(fplt__lead *lead, unsigned kind, double *sums)
{
    if (kind == FPLT__MEAN) {
        for (size_t j = 0; j < lead->n; j++)
            lead->point[j] = sums[j] / lead->settings.members;
        ask_point(lead, FPLT__MEASURE, lead->n + FPLT_MEASURES);
    } else if (kind == FPLT__MEASURE) {
        take_measure(lead, sums);
    } else if (kind == FPLT__SCORE) {
        take_score(lead, sums);
        ask_more(lead, FPLT__SCORE);
    } else if (kind == FPLT__INFORMATION) {
        fplt__free(lead->information);
        lead->information = sums;
        ask_more(lead, FPLT__INFORMATION);
        return;
    } else {
        take_check(lead);
        ask_more(lead, FPLT__CHECK);
    }
    fplt__free(sums);
}

static void complete(fplt__lead *lead)
{
    double *sums;
    fplt_error error;
    if (lead->asking == FPLT__MOMENTS) {
        complete_facts(lead);
        return;
    }
    if (fplt__alloc_into(&sums, (size_t)lead->ask_numbers + 1, sizeof *sums, "sums", &error)) {
        fplt__ask_stop(lead);
        return;
    }
    fplt_sum_read(lead->ask_sum, 0, sums, (size_t)lead->ask_numbers);
    complete_question(lead, lead->asking, sums);
}

/* A site whose policy does not let it answer: asked no more this time. */
void fplt__ask_refused(fplt__lead *lead, uint32_t identity, const char *sentence)
{
    if (!lead->asking || lead->asking == FPLT__MOMENTS)
        return;
    fplt__lead_say(lead, identity, "trouble", "%s", sentence);
    fplt__ask_stop(lead);
}

/* Whether somebody whose answer is missing is not there: an evaluation needs all, and rounds wait for it. */
static int lacks_somebody(const fplt__lead *lead)
{
    for (uint32_t i = 0; i < lead->settings.members; i++)
        if (!lead->guest[i].answered &&
            (!fplt__is_standing(lead, i) || fplt__is_silent(lead, i, lead->ask_down->size)))
            return 1;
    return 0;
}

void fplt__ask_look(fplt__lead *lead)
{
    if (!lead->asking)
        return;
    uint32_t wanted = lead->settings.members;
    if (lead->ask_answers == wanted)
        complete(lead);
    else if (lead->asking != FPLT__MOMENTS &&
             (lead->now >= lead->ask_deadline || lacks_somebody(lead)))
        fplt__ask_stop(lead);
}

void fplt__ask_update(fplt__lead *lead, const fplt__request *request, const fplt__frame *frame,
                      const uint8_t *body)
{
    uint32_t i = request->identity;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt_error error;
    if (frame->kind != lead->asking) {
        fplt__lead_fault(lead, request->ticket, i, 409, "closed", 0, "this is not asked now");
        return;
    }
    fplt__ask_head(lead, i, head);
    fplt__digest task = fplt__frame_task(head);
    if (!fplt__same(&task, &frame->task) || frame->count != lead->ask_numbers ||
        frame->scalars != lead->ask_scalars || frame->encoding != FPLT__PACKED) {
        fplt__lead_fault(lead, request->ticket, i, 409, "other", 0,
                         "this answers another question");
        return;
    }
    if (lead->guest[i].answered) {
        fplt__lead_taken(lead, request, 200);
        return;
    }
    double *scalars = NULL;
    int facts = frame->kind == FPLT__MOMENTS; /* which are told one by one */
    if (fplt__alloc_into(&scalars, frame->scalars + (size_t)1, sizeof *scalars, "facts", &error) ||
        fplt__frame_scalars(frame, body, scalars, &error) ||
        (facts && (fplt__lead_room(lead, (size_t)frame->count, &error) ||
                   fplt__frame_words(frame, body, lead->words, &error))) ||
        fplt_sum_add_packed(lead->ask_sum, 0, fplt__frame_payload(frame, body),
                            (size_t)frame->payload, (size_t)frame->count, &error)) {
        fplt__free(scalars);
        fplt__lead_fault(lead, request->ticket, i, 409, "range", 0,
                         "the numbers cannot be read or are out of range");
        return;
    }
    lead->guest[i].answered = 1;
    lead->ask_answers++;
    if (facts) {
        fplt__lead_action *action = fplt__lead_add(lead, FPLT__LEAD_FACTS);
        if (action) {
            action->identity = i;
            action->step = (int)lead->ask_step;
            action->owned = scalars;
            action->scalars = scalars;
            action->words = lead->words;
            action->numbers = frame->count;
            scalars = NULL;
        }
    }
    fplt__free(scalars);
    fplt__lead_taken(lead, request, 202);
    fplt__ask_look(lead);
}
