/* Questions to all: steps of the facts before the plan, evaluations after rounds. Nothing of them is
 * stored; asked again, the bits are the same. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/sum.h"
#include "engine/hub_node.h"
#include "protocol/leading.h"

static fplt_status put_question(fplt__leader *leader, unsigned kind, const double *down,
                                size_t count, uint32_t scalars, uint64_t numbers)
{
    FPLT__ASSERT(kind != FPLT__TRAIN && kind != FPLT__ENROL && kind != FPLT__VERDICT &&
                 kind != FPLT__END);
    FPLT__ASSERT(!leader->open.is_open);
    fplt_error error;
    fplt__shared *shared;
    fplt_status status = fplt__shared_make(8 * count, &shared, &error);
    if (status)
        return status;
    fplt__put_reals(shared->bytes, down, count);
    fplt__shared_release(leader->ask.down);
    leader->ask.down = shared;
    leader->ask.digest = fplt__body_hash(shared->bytes, shared->size);
    leader->ask.kind = kind;
    fplt__leader_expect(leader, kind == FPLT__MEASURE ? down : NULL);
    leader->ask.scalars = scalars;
    leader->ask.numbers = numbers;
    leader->ask.answers = 0;
    leader->ask.deadline = leader->now + fplt__leader_round_timeout(leader);
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->roster.session[i].answered = 0;
    fplt__sum_destroy(leader->ask.sum);
    leader->ask.sum = NULL;
    if ((status = fplt__secure_begin_question(leader, &error)))
        return status;
    return fplt__sum_create_words((size_t)numbers, FPLT_SUM_EXPONENT, &leader->ask.sum, &error);
}

void fplt__ask_again(fplt__leader *leader)
{
    fplt_error error;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->roster.session[i].answered = 0;
    leader->ask.answers = 0;
    if (fplt__secure_begin_question(leader, &error))
        fplt__ask_stop(leader);
}

void fplt__ask_facts(fplt__leader *leader, const fplt__ask *ask)
{
    FPLT__ASSERT(leader->record.state == FPLT__FORMING && !leader->ask.kind);
    leader->ask.step = ask->step;
    if (put_question(leader, FPLT__MOMENTS, ask->down, (size_t)ask->count, ask->scalars,
                     ask->numbers))
        fplt__leader_finish(leader, FPLT__ENDED, "failed", "no memory for the facts");
}

void fplt__ask_head(const fplt__leader *leader, uint32_t i, uint8_t head[FPLT__FRAME_HEAD])
{
    FPLT__ASSERT(leader->ask.kind && i < leader->settings.members);
    FPLT__ASSERT(leader->ask.down->size % 8 == 0);
    fplt__frame frame = {.kind = (uint8_t)leader->ask.kind,
                         .exchange = (uint8_t)leader->ask.step,
                         .encoding = FPLT__DOUBLES,
                         .incarnation = leader->record.incarnation,
                         .member_index = i,
                         .round = leader->record.round,
                         .cohort = leader->settings.members,
                         .position = i,
                         .version = leader->roster.row[i].version,
                         .count = leader->ask.down->size / 8,
                         .payload = leader->ask.down->size,
                         .plan = leader->record.hash,
                         .digest = leader->ask.digest};
    fplt__frame_write(&frame, head);
}

static void ask_point(fplt__leader *leader, unsigned kind, uint64_t numbers)
{
    FPLT__ASSERT(leader->record.state == FPLT__ROUND);
    FPLT__ASSERT(!leader->plan.agreement->private || kind == FPLT__CHECK);
    leader->ask.step = 0;
    if (put_question(leader, kind, leader->evaluation.point, leader->plan.n, 0, numbers))
        fplt__ask_stop(leader);
}

/* What a relative tolerance is a share of. A start near the minimiser must not ask for more than a start
 * from zero does. */
static double base_of(const fplt__leader *leader)
{
    if (leader->record.has_start)
        return leader->record.start.criterion;
    return leader->evaluation.has_measured
               ? fmax(leader->evaluation.measured.criterion, leader->evaluation.zeroed)
               : HUGE_VAL;
}

/* Whether the run ends with this measurement, in order. */
static int ends(const fplt__leader *leader)
{
    fplt_error error;
    fplt_outcome outcome =
        fplt__stopping_decide(&leader->plan.stopping, leader->record.round,
                              leader->evaluation.has_measured ? &leader->evaluation.measured : NULL,
                              base_of(leader), leader->evaluation.stalled, &error);
    return outcome != FPLT_RUNNING && outcome != FPLT_RUN_DIVERGED;
}

/* Whether a kind is asked for after the measurement. */
static int is_wanted(const fplt__leader *leader, unsigned kind)
{
    const fplt_plan *plan = &leader->plan.agreement->plan;
    switch (kind) {
    case FPLT__SCORE: return leader->plan.agreement->score && leader->evaluation.has_measured;
    case FPLT__INFORMATION:
        return leader->plan.n <= leader->settings.inform_to && leader->evaluation.has_measured &&
               ends(leader);
    default:
        return fplt_plan_enrol_words(plan) &&
               (leader->check.wanted || (leader->settings.check && ends(leader)));
    }
}

/* What is asked next, at the model that is handed out; kinds up to `done` are. */
static void ask_more(fplt__leader *leader, unsigned done)
{
    static const unsigned order[] = {FPLT__MEASURE, FPLT__SCORE, FPLT__INFORMATION, FPLT__CHECK};
    const fplt_plan *plan = &leader->plan.agreement->plan;
    const uint64_t numbers[] = {0, FPLT__MEASURES, fplt__plan_information(plan),
                                fplt_plan_enrol_words(plan) / 2};
    size_t next = 1;
    while (order[next - 1] != done)
        next++;
    while (next < 4 && !is_wanted(leader, order[next]))
        next++;
    if (next == 4 || fplt_hub_model(leader->plan.hub, leader->evaluation.point))
        fplt__ask_stop(leader);
    else
        ask_point(leader, order[next], numbers[next]);
}

/* After a round, and before the first, where the rules ask for it. */
void fplt__ask_begin(fplt__leader *leader)
{
    FPLT__ASSERT(leader->evaluation.due && !leader->ask.kind);
    FPLT__ASSERT(!leader->commit.pending && !leader->open.is_open);
    leader->evaluation.has_measured = leader->evaluation.has_score = leader->evaluation.at_zero = 0;
    if (!fplt__is_due(&leader->plan.stopping, leader->record.round, leader->record.has_start,
                      leader->evaluation.stalled) ||
        fplt_hub_model(leader->plan.hub, leader->evaluation.point)) {
        ask_more(leader, FPLT__INFORMATION);
        return;
    }
    int mean = leader->plan.agreement->criterion_at_mean && leader->plan.shape.local_model >= 0;
    ask_point(leader, mean ? FPLT__MEAN : FPLT__MEASURE,
              leader->plan.n + (mean ? 0 : FPLT__MEASURES));
}

static void conclude(fplt__leader *leader)
{
    fplt_error error = {FPLT_OK, ""};
    fplt_outcome outcome =
        fplt__stopping_decide(&leader->plan.stopping, leader->record.round,
                              leader->evaluation.has_measured ? &leader->evaluation.measured : NULL,
                              base_of(leader), leader->evaluation.stalled, &error);
    char sentence[FPLT__SENTENCE];
    if (outcome == FPLT_RUNNING)
        return;
    if (outcome == FPLT_RUN_DIVERGED)
        snprintf(sentence, sizeof sentence, "%.300s", error.text);
    else
        snprintf(sentence, sizeof sentence, "%s after %llu rounds", fplt_outcome_name(outcome),
                 (unsigned long long)leader->record.round);
    fplt__leader_finish(leader, outcome == FPLT_RUN_DIVERGED ? FPLT__ENDED : FPLT__DONE,
                        fplt_outcome_name(outcome), sentence);
}

/* The evaluation is over, complete or not: the run ends or goes on. */
void fplt__ask_stop(fplt__leader *leader)
{
    leader->ask.kind = 0;
    leader->evaluation.due = 0;
    if (leader->evaluation.at_zero) /* without it nothing can be judged: asked again */
        leader->evaluation.has_measured = leader->evaluation.at_zero = 0;
    if (leader->evaluation.has_measured) {
        if (!leader->record.has_start) {
            leader->record.start = leader->evaluation.measured;
            leader->record.start.criterion = base_of(leader);
            leader->record.has_start = 1;
        }
        leader->record.has_measure = 1;
        leader->record.measured_round = leader->record.round;
        leader->record.measure = leader->evaluation.measured;
        fplt__leader_action *action = fplt__leader_add(leader, FPLT__LEADER_MEASURED);
        if (action) {
            action->round = leader->record.round;
            action->measure = leader->evaluation.measured;
            action->has_score = leader->evaluation.has_score;
            action->score = leader->evaluation.score;
            action->information = leader->evaluation.information;
        }
    }
    if (leader->record.state == FPLT__ROUND && !leader->commit.pending)
        conclude(leader);
}

static fplt_status read_measure(const fplt__leader *leader, const double *sums,
                                fplt_measure *measure, fplt_error *error)
{
    fplt_prox *none = NULL;
    const fplt_prox *prox = leader->plan.prox;
    fplt_status status;
    if (!prox) {
        fplt_prox_settings zero = fplt_prox_defaults();
        if ((status = fplt_prox_create(&zero, leader->plan.n, leader->plan.n, &none, error)))
            return status;
        prox = none;
    }
    status = fplt__measure_read(prox, leader->settings.members,
                                leader->plan.agreement->curvature.highest, leader->evaluation.point,
                                sums, leader->plan.n, leader->scratch.model, measure, error);
    fplt_prox_destroy(none);
    return status;
}

static void ask_zero(fplt__leader *leader)
{
    leader->evaluation.at_zero = 1;
    memset(leader->evaluation.point, 0, leader->plan.n * sizeof *leader->evaluation.point);
    ask_point(leader, FPLT__MEASURE, leader->plan.n + FPLT__MEASURES);
}

static void take_measure(fplt__leader *leader, const double *sums)
{
    FPLT__ASSERT(!leader->plan.agreement->private);
    fplt_error error;
    fplt_measure zero;
    if (leader->evaluation.at_zero) {
        leader->evaluation.at_zero = 0;
        leader->evaluation.has_measured = !read_measure(leader, sums, &zero, &error);
        leader->evaluation.zeroed = leader->evaluation.has_measured ? zero.criterion : 0;
        ask_more(leader, FPLT__MEASURE);
        return;
    }
    fplt_status status = read_measure(leader, sums, &leader->evaluation.measured, &error);
    if (status == FPLT_DIVERGED)
        fplt__leader_finish(leader, FPLT__ENDED, "diverged", error.text);
    leader->evaluation.has_measured = !status;
    if (leader->evaluation.has_measured && !leader->record.has_start &&
        leader->plan.stopping.relative && leader->sent.start->size)
        ask_zero(leader);
    else
        ask_more(leader, FPLT__MEASURE);
}

static void take_score(fplt__leader *leader, const double *sums)
{
    leader->evaluation.has_score = 1;
    leader->evaluation.score = (fplt_measure){.criterion = NAN,
                                              .objective = sums[0],
                                              .hits = (uint64_t)sums[1],
                                              .records = (uint64_t)sums[2],
                                              .classifies = sums[3] > 0};
}

/* The agents' own vectors, added up, against the running sums: to the bit. */
static void take_check(fplt__leader *leader)
{
    FPLT__ASSERT(fplt__sum_length(leader->ask.sum) ==
                 fplt_plan_enrol_words(&leader->plan.agreement->plan) / 2);
    size_t count = fplt_plan_enrol_words(&leader->plan.agreement->plan);
    uint64_t *words;
    fplt_error error;
    leader->check.wanted = 0;
    if (fplt__alloc_into(&words, 2 * count, sizeof *words, "sums", &error))
        return;
    fplt__hub_totals(leader->plan.hub, words);
    fplt__sum_export(leader->ask.sum, 0, words + count, count / 2);
    leader->check.done = 1;
    leader->check.equal = memcmp(words, words + count, count * sizeof *words) == 0;
    leader->check.round = leader->record.round;
    fplt__free(words);
    fplt__leader_log(leader, leader->settings.members, "checked",
                     leader->check.equal
                         ? "round %llu: the vectors of all agents add up to the sum, to "
                           "the bit"
                         : "round %llu: the vectors of all agents do not add up to the "
                           "sum",
                     (unsigned long long)leader->check.round);
}

static void complete_facts(fplt__leader *leader)
{
    FPLT__ASSERT(leader->record.state == FPLT__FORMING && !leader->resolving);
    leader->ask.kind = 0;
    leader->resolving = 1;
    fplt__leader_action *action = fplt__leader_add(leader, FPLT__LEADER_RESOLVE);
    if (action)
        action->step = (int)leader->ask.step;
}

/* All have answered: what the sum says, and what is asked next. `sums` is taken over. */
static void complete_question(fplt__leader *leader, unsigned kind, double *sums)
{
    if (kind == FPLT__MEAN) {
        for (size_t j = 0; j < leader->plan.n; j++)
            leader->evaluation.point[j] = sums[j] / leader->settings.members;
        ask_point(leader, FPLT__MEASURE, leader->plan.n + FPLT__MEASURES);
    } else if (kind == FPLT__MEASURE) {
        take_measure(leader, sums);
    } else if (kind == FPLT__SCORE) {
        take_score(leader, sums);
        ask_more(leader, FPLT__SCORE);
    } else if (kind == FPLT__INFORMATION) {
        fplt__free(leader->evaluation.information);
        leader->evaluation.information = sums;
        ask_more(leader, FPLT__INFORMATION);
        return;
    } else {
        take_check(leader);
        ask_more(leader, FPLT__CHECK);
    }
    fplt__free(sums);
}

/* What the lists left out. */
static fplt_status add_expected(fplt__leader *leader)
{
    fplt__multiples *lists = leader->plan.hub ? fplt__hub_lists(leader->plan.hub) : NULL;
    return lists && leader->ask.kind == FPLT__MEASURE ? fplt__multiples_add(lists, leader->ask.sum)
                                                      : FPLT_OK;
}

static void complete(fplt__leader *leader)
{
    FPLT__ASSERT(leader->ask.answers == leader->settings.members);
    FPLT__ASSERT(fplt__sum_length(leader->ask.sum) == leader->ask.numbers);
    double *sums;
    fplt_error error;
    if (leader->ask.kind == FPLT__MOMENTS) {
        complete_facts(leader);
        return;
    }
    if ((fplt__secure_is_on(leader) && fplt__secure_give_sum(leader, leader->ask.sum)) ||
        add_expected(leader) ||
        fplt__alloc_into(&sums, (size_t)leader->ask.numbers + 1, sizeof *sums, "sums", &error)) {
        fplt__ask_stop(leader);
        return;
    }
    fplt__sum_read(leader->ask.sum, 0, sums, (size_t)leader->ask.numbers);
    complete_question(leader, leader->ask.kind, sums);
}

/* A site whose policy does not let it answer: asked no more this time. */
void fplt__ask_refused(fplt__leader *leader, uint32_t member_index, const char *sentence)
{
    if (!leader->ask.kind || leader->ask.kind == FPLT__MOMENTS)
        return;
    fplt__leader_log(leader, member_index, "trouble", "%s", sentence);
    if (leader->ask.kind == FPLT__INFORMATION) {
        snprintf(leader->evaluation.withheld, sizeof leader->evaluation.withheld, "%s", sentence);
        leader->evaluation.withheld_by = member_index;
    }
    fplt__ask_stop(leader);
}

/* Whether somebody whose answer is missing is not there: an evaluation needs all, and rounds wait for it. */
static int lacks_somebody(const fplt__leader *leader)
{
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (!leader->roster.session[i].answered &&
            (!fplt__is_standing(leader, i) || fplt__is_silent(leader, i, leader->ask.down->size)))
            return 1;
    return 0;
}

void fplt__ask_look(fplt__leader *leader)
{
    if (!leader->ask.kind)
        return;
    uint32_t wanted = leader->settings.members;
    FPLT__ASSERT(leader->ask.answers <= wanted);
    if (leader->ask.answers == wanted)
        complete(leader);
    else if (leader->ask.kind != FPLT__MOMENTS &&
             (leader->now >= leader->ask.deadline || lacks_somebody(leader)))
        fplt__ask_stop(leader);
}

static fplt_status receive_answer(fplt__leader *leader, const fplt__frame *frame,
                                  const uint8_t *body, fplt_error *error)
{
    const void *payload = fplt__frame_payload(frame, body);
    size_t size = (size_t)frame->payload, count = (size_t)frame->count;
    return frame->encoding == FPLT__LISTED
               ? fplt__multiples_receive(fplt__hub_lists(leader->plan.hub), leader->ask.sum,
                                         payload, size, count, error)
               : fplt__sum_add_packed(leader->ask.sum, 0, payload, size, count, error);
}

void fplt__ask_update(fplt__leader *leader, const fplt__request *request, const fplt__frame *frame,
                      const uint8_t *body)
{
    uint32_t i = request->member_index;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt_error error;
    if (frame->kind != leader->ask.kind) {
        fplt__leader_fault(leader, request->ticket, i, 409, "closed", 0, "this is not asked now");
        return;
    }
    fplt__ask_head(leader, i, head);
    fplt__digest task = fplt__frame_task(head);
    if (!fplt__same(&task, &frame->task) || frame->count != leader->ask.numbers ||
        frame->scalars != leader->ask.scalars ||
        !fplt__takes_encoding(leader, frame->kind, frame->encoding)) {
        fplt__leader_fault(leader, request->ticket, i, 409, "other", 0,
                           "this answers another question");
        return;
    }
    if (leader->roster.session[i].answered) {
        fplt__leader_taken(leader, request, 200);
        return;
    }
    double *scalars = NULL;
    int facts = frame->kind == FPLT__MOMENTS; /* which are told one by one */
    if (fplt__alloc_into(&scalars, frame->scalars + (size_t)1, sizeof *scalars, "facts", &error) ||
        fplt__frame_scalars(frame, body, scalars, &error) ||
        (facts && (fplt__leader_room(leader, (size_t)frame->count, &error) ||
                   fplt__frame_words(frame, body, leader->scratch.words, &error))) ||
        (fplt__secure_is_on(leader) ? fplt__secure_take(leader, i, frame, body, &error)
                                    : receive_answer(leader, frame, body, &error))) {
        fplt__free(scalars);
        fplt__leader_fault(leader, request->ticket, i, 409,
                           fplt__secure_is_on(leader) ? "closed" : "range", 0,
                           "the numbers cannot be read or are out of range");
        return;
    }
    FPLT__ASSERT(leader->ask.answers < leader->settings.members);
    leader->roster.session[i].answered = 1;
    leader->ask.answers++;
    if (facts) {
        fplt__leader_action *action = fplt__leader_add(leader, FPLT__LEADER_FACTS);
        if (action) {
            action->member_index = i;
            action->step = (int)leader->ask.step;
            action->owned = scalars;
            action->scalars = scalars;
            action->words = leader->scratch.words;
            action->numbers = frame->count;
            scalars = NULL;
        }
    }
    fplt__free(scalars);
    fplt__leader_taken(leader, request, 202);
    fplt__ask_look(leader);
}
