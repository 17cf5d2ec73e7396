/* The coordinator's machine: create, open, events, commits. */
#include "protocol/leader.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/sum.h"
#include "base/text.h"
#include "protocol/leading.h"
#include "fedplt/encoding.h"

enum { RETRY = 5000 };

/* --- commits --- */

/* In place: the state before is needed no more once there is a later one to be committed. */
static fplt_status encode_hub(fplt__leader *leader)
{
    FPLT__ASSERT(leader->plan.hub);
    fplt_error error;
    size_t size = fplt_hub_encode(leader->plan.hub, NULL, 0);
    fplt_status status =
        leader->sent.hub ? FPLT_OK : fplt__shared_make(size, &leader->sent.hub, &error);
    FPLT__ASSERT(status || leader->sent.hub->size == size);
    if (!status)
        fplt_hub_encode(leader->plan.hub, leader->sent.hub->bytes, size);
    return status;
}

static void ask_commit(fplt__leader *leader)
{
    FPLT__ASSERT(leader->commit.pending);
    FPLT__ASSERT(leader->sent.document && leader->record.document == leader->sent.document->bytes);
    fplt__leader_action *action = fplt__leader_add(leader, FPLT__LEADER_COMMIT);
    leader->commit.retry = UINT64_MAX;
    if (action)
        action->record = &leader->record;
}

static void fill_record(fplt__leader *leader)
{
    FPLT__ASSERT(leader->sent.document);
    fplt__leader_record *record = &leader->record;
    if (record->hub_changed && encode_hub(leader))
        leader->failed = 1;
    record->hub = leader->sent.hub ? leader->sent.hub->bytes : NULL;
    record->hub_size = leader->sent.hub ? leader->sent.hub->size : 0;
    record->document = leader->sent.document->bytes;
    record->document_size = leader->sent.document->size;
    record->closing = leader->closings.item;
    record->closings = leader->closings.count;
}

void fplt__leader_commit(fplt__leader *leader)
{
    FPLT__ASSERT(!leader->commit.pending || FPLT__PLANTED(FPLT__EARLY_VERDICT));
    fill_record(leader);
    leader->commit.pending = 1;
    ask_commit(leader);
}

/* What the proposal gives; NULL where it says nothing, or auto. */
static const char *given_text(const fplt__agreement *agreement, const char *name)
{
    const fplt__proposal *proposal = &agreement->proposal;
    const char *text = fplt__pair_find(proposal->setting, proposal->settings, name);
    return text && strcmp(text, "auto") != 0 ? text : NULL;
}

static void say_diverged(fplt__leader *leader, const char *why)
{
    const fplt__agreement *agreement = leader->plan.agreement;
    const fplt_plan *plan = &agreement->plan;
    const char *text = fplt__pair_find(agreement->resolved, agreement->resolves, "epochs");
    const fplt_setting *row = plan->algorithm->settings;
    double defaults[FPLT_MAX_PARAMETERS];
    long long epochs;
    fplt__method_run run = {.algorithm = plan->algorithm,
                            .parameter = plan->parameter,
                            .solver_name = given_text(agreement, "solver"),
                            .epochs = 1,
                            .step_given = given_text(agreement, "gamma") != NULL};
    if (text && !fplt__parse_integer(text, &epochs))
        run.epochs = (uint32_t)epochs;
    fplt_algorithm_defaults(plan->algorithm, defaults);
    for (size_t i = 0; row[i].name && !run.given; i++)
        if (given_text(agreement, row[i].name) && !(plan->parameter[i] == defaults[i]))
            run.given = &row[i];
    fplt__diverged_sentence(&run, leader->record.round, why, leader->record.sentence,
                            sizeof leader->record.sentence);
}

/* The model that is kept is the last committed; a run that ends while it forms has none. */
static void keep_last_model(fplt__leader *leader)
{
    if (!leader->plan.hub)
        return;
    fplt_hub_abandon(leader->plan.hub);
    if (!leader->sent.hub)
        leader->record.hub_changed = 1;
    else
        fplt_hub_decode(leader->plan.hub, leader->sent.hub->bytes, leader->sent.hub->size, NULL);
}

void fplt__leader_finish(fplt__leader *leader, fplt__leader_state state, const char *word,
                         const char *sentence)
{
    FPLT__ASSERT(state == FPLT__DONE || state == FPLT__ENDED);
    FPLT__ASSERT(word[0]);
    if (leader->record.state == FPLT__DONE || leader->record.state == FPLT__ENDED)
        return;
    keep_last_model(leader);
    leader->record.state = state;
    leader->open.is_open = 0;
    leader->ask.kind = 0;
    snprintf(leader->record.outcome, sizeof leader->record.outcome, "%s", word);
    if (strcmp(word, "diverged") == 0)
        say_diverged(leader, sentence);
    else
        snprintf(leader->record.sentence, sizeof leader->record.sentence, "%s", sentence);
    fplt__leader_log(leader, UINT32_MAX, "done", "%s", leader->record.sentence);
    if (leader->commit.pending) /* it failed and will be tried again: with this */
        fill_record(leader);
    else
        fplt__leader_commit(leader);
}

static void committed(fplt__leader *leader)
{
    FPLT__ASSERT(leader->commit.pending);
    FPLT__ASSERT(leader->commit.retry == UINT64_MAX);
    leader->commit.pending = 0;
    leader->commit.count++;
    leader->record.trace = NULL;
    leader->record.hub_changed = leader->record.document_changed = leader->record.has_measure = 0;
    leader->record.keys_changed = 0;
    memset(leader->roster.changed, 0, (leader->settings.members + 7) / 8);
    int over = leader->record.state == FPLT__DONE || leader->record.state == FPLT__ENDED;
    if (over && !leader->finished_said) {
        leader->finished_said = 1;
        fplt__leader_add(leader, FPLT__LEADER_FINISHED);
    }
}

/* --- create, open --- */

static fplt_status allocate(fplt__leader *leader, fplt_error *error)
{
    size_t members = leader->settings.members, bytes = (members + 7) / 8;
    const char *what = "the coordinator";
    fplt_status status;
    if ((status = fplt__alloc_into(&leader->roster.row, members, sizeof *leader->roster.row, what,
                                   error)) ||
        (status = fplt__alloc_into(&leader->roster.session, members, sizeof *leader->roster.session,
                                   what, error)) ||
        (status = fplt__alloc_into(&leader->roster.active, members, sizeof *leader->roster.active,
                                   what, error)) ||
        (status = fplt__alloc_into(&leader->roster.changed, bytes, 1, what, error)) ||
        (status = fplt__alloc_into(&leader->roster.accepted, bytes, 1, what, error)))
        return status;
    return fplt__alloc_into(&leader->roster.cohort, bytes, 1, what, error);
}

fplt_status fplt__leader_create(const fplt__leader_settings *settings, fplt__leader **out,
                                fplt_error *error)
{
    FPLT__ASSERT(settings->members > 0);
    fplt__leader *leader;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&leader, 1, sizeof *leader, "the coordinator", error);
    if (status)
        return status;
    leader->settings = *settings;
    leader->commit.retry = UINT64_MAX;
    if ((status = allocate(leader, error))) {
        fplt__leader_destroy(leader);
        return status;
    }
    leader->record.members = settings->members;
    leader->record.member = leader->roster.row;
    leader->record.changed = leader->roster.changed;
    leader->record.cohort = leader->roster.cohort;
    *out = leader;
    return FPLT_OK;
}

void fplt__leader_destroy(fplt__leader *leader)
{
    if (!leader)
        return;
    fplt__leader_clear_actions(leader);
    fplt__shared *const shared[] = {leader->sent.document,  leader->sent.start, leader->sent.hub,
                                    leader->previous.model, leader->open.down,  leader->ask.down};
    for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
        fplt__shared_release(shared[k]);
    for (size_t k = 0; k < leader->closings.count; k++)
        fplt__free((double *)leader->closings.item[k].vector);
    if (leader->plan.agreement)
        fplt__agreement_clear(leader->plan.agreement);
    fplt__free(leader->plan.agreement);
    fplt_hub_destroy(leader->plan.hub);
    fplt_participation_destroy(leader->plan.participation);
    fplt_prox_destroy(leader->plan.prox);
    fplt__sum_destroy(leader->ask.sum);
    fplt__sum_destroy(leader->repair.sum);
    fplt__secure_close(leader);
    void *const owned[] = {leader->closings.item,   leader->roster.row,
                           leader->roster.session,  leader->roster.active,
                           leader->roster.changed,  leader->roster.cohort,
                           leader->roster.accepted, leader->evaluation.point,
                           leader->scratch.before,  leader->scratch.model,
                           leader->scratch.numbers, leader->scratch.words,
                           leader->queue.action,    leader->evaluation.information};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        fplt__free(owned[k]);
    fplt__free(leader);
}

fplt_status fplt__leader_keep_bytes(fplt__shared **kept, const void *bytes, size_t size,
                                    fplt_error *error)
{
    fplt__shared *made;
    fplt_status status = fplt__shared_make(size, &made, error);
    if (status)
        return status;
    if (bytes)
        memcpy(made->bytes, bytes, size);
    fplt__shared_release(*kept);
    *kept = made;
    return FPLT_OK;
}

fplt_status fplt__leader_adopt_plan(fplt__leader *leader, fplt__leader_plan *plan,
                                    fplt_error *error)
{
    FPLT__ASSERT(!leader->plan.agreement && !leader->plan.hub);
    FPLT__ASSERT(plan->agreement && plan->hub);
    const fplt__agreement *a = plan->agreement;
    fplt_status status;
    leader->plan.agreement = plan->agreement;
    leader->plan.hub = plan->hub;
    leader->plan.participation = plan->participation;
    leader->plan.prox = plan->prox;
    size_t n = leader->plan.n = a->plan.dimension, most = n;
    leader->plan.shape = fplt_algorithm_shape(a->plan.algorithm, a->plan.parameter, n);
    FPLT__ASSERT(leader->plan.shape.exchanges >= 1 && leader->plan.shape.exchanges <= 2);
    FPLT__ASSERT(leader->plan.shape.scalars <= FPLT_MAX_SCALARS);
    leader->plan.stopping =
        (fplt__stopping){.rounds = a->rounds,
                         .tolerance = a->tolerance,
                         .change = a->change,
                         .relative = a->relative,
                         .evaluate_every = a->evaluate_every,
                         .blind = a->private,
                         .smoothness = leader->settings.members * a->curvature.highest};
    for (unsigned e = 0; e <= leader->plan.shape.exchanges; e++)
        most = fplt_plan_down(&a->plan, e) > most ? fplt_plan_down(&a->plan, e) : most;
    const char *what = "the coordinator";
    if ((status = fplt__alloc_into(&leader->evaluation.point, n, sizeof *leader->evaluation.point,
                                   what, error)) ||
        (status = fplt__alloc_into(&leader->scratch.before, n, sizeof *leader->scratch.before, what,
                                   error)) ||
        (status = fplt__alloc_into(&leader->scratch.model, n, sizeof *leader->scratch.model, what,
                                   error)) ||
        (status = fplt__alloc_into(&leader->scratch.numbers, most, sizeof *leader->scratch.numbers,
                                   what, error)) ||
        (status =
             fplt__leader_keep_bytes(&leader->sent.start, NULL, plan->start ? 8 * n : 0, error)))
        return status;
    if (plan->start)
        fplt__put_reals(leader->sent.start->bytes, plan->start, n);
    return FPLT_OK;
}

static fplt_status load_closings(fplt__leader *leader, const fplt__leader_record *record,
                                 fplt_error *error)
{
    size_t count = fplt_plan_down(&leader->plan.agreement->plan, leader->plan.shape.exchanges);
    fplt_status status =
        fplt__grow(&leader->closings.item, &leader->closings.room, record->closings,
                   sizeof *leader->closings.item, "closing vectors", error);
    for (size_t k = 0; k < record->closings && !status; k++) {
        double *vector;
        status = fplt__alloc_into(&vector, count, sizeof *vector, "a closing vector", error);
        if (status)
            return status;
        memcpy(vector, record->closing[k].vector, count * sizeof *vector);
        leader->closings.item[leader->closings.count++] =
            (fplt__closing){record->closing[k].round, vector};
    }
    return status;
}

static fplt_status load_run(fplt__leader *leader, const fplt__leader_record *record,
                            fplt__leader_plan *plan, fplt_error *error)
{
    fplt_status status = fplt__leader_adopt_plan(leader, plan, error);
    if (!status && (record->keys_size &&
                    record->keys_size != (size_t)leader->settings.members * FPLT__SECAGG_ENTRY))
        status = fplt_error_set(error, FPLT_BAD_DATA, "the stored list of keys is damaged");
    if (!status)
        status = fplt__secure_open(leader, record->keys, error);
    if (status || record->state == FPLT__PLANNED)
        return status;
    if ((status = fplt_hub_decode(leader->plan.hub, record->hub, record->hub_size, error)) ||
        (status = load_closings(leader, record, error)))
        return status;
    if (encode_hub(leader))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the coordinator's state");
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->open.cohort_size += (uint32_t)fplt__bit(leader->roster.cohort, i);
    FPLT__ASSERT(leader->open.cohort_size <= leader->settings.members);
    return FPLT_OK;
}

static void advance(fplt__leader *leader);
static uint64_t wake_of(const fplt__leader *leader);

fplt_status fplt__leader_open(fplt__leader *leader, uint64_t now, const fplt__leader_record *record,
                              fplt__leader_plan *plan, fplt_error *error)
{
    FPLT__ASSERT(!leader->sent.document && !leader->plan.agreement);
    FPLT__ASSERT(record->state < FPLT__STATES);
    size_t members = leader->settings.members, bytes = (members + 7) / 8;
    leader->now = now;
    fplt__leader_record *own = &leader->record;
    own->state = record->state;
    own->hash = record->hash;
    own->incarnation = record->incarnation;
    own->round = record->round;
    own->has_start = record->has_start;
    own->start = record->start;
    memcpy(own->outcome, record->outcome, sizeof own->outcome);
    memcpy(own->sentence, record->sentence, sizeof own->sentence);
    if (record->member)
        memcpy(leader->roster.row, record->member, members * sizeof *leader->roster.row);
    if (record->cohort)
        memcpy(leader->roster.cohort, record->cohort, bytes);
    fplt_status status = fplt__leader_keep_bytes(&leader->sent.document, record->document,
                                                 record->document_size, error);
    if (!status && plan && plan->agreement)
        status = load_run(leader, record, plan, error);
    if (status)
        return status;
    leader->repair.since = now;
    leader->evaluation.due = own->state == FPLT__ROUND;
    leader->finished_said = own->state == FPLT__DONE || own->state == FPLT__ENDED;
    if (own->state < FPLT__ROUND) /* --repair is for what is found here, not for a later loss */
        leader->settings.repair = 0;
    if (leader->settings.repair && (own->state == FPLT__HALTED || own->state == FPLT__ROUND)) {
        fplt__repair_begin(leader);
        fplt__leader_commit(leader);
    }
    advance(leader);
    return leader->failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory") : FPLT_OK;
}

fplt_status fplt__leader_follow(fplt__leader *leader, const fplt__digest *plan, const double *model,
                                size_t count, fplt_error *error)
{
    FPLT__ASSERT(model && count);
    fplt_status status = fplt__leader_keep_bytes(&leader->previous.model, NULL, 8 * count, error);
    if (status)
        return status;
    fplt__put_reals(leader->previous.model->bytes, model, count);
    leader->previous.plan = *plan;
    return FPLT_OK;
}

void fplt__leader_dismiss(fplt__leader *leader)
{
    fplt__leader_clear_actions(leader);
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        fplt__member_session *session = &leader->roster.session[i];
        if (session->ticket)
            fplt__leader_fault(leader, session->ticket, i, 409, "plan", 0,
                               "the run has ended, and another is proposed");
        session->ticket = 0;
    }
}

void fplt__leader_reload(fplt__leader *leader, const fplt__leader_settings *settings)
{
    leader->settings.deadline = settings->deadline;
    leader->settings.silence = settings->silence;
    leader->settings.absence = settings->absence;
    leader->settings.hold = settings->hold;
    if (leader->open.is_open)
        leader->open.deadline = leader->open.stage_since + fplt__leader_round_timeout(leader);
}

/* --- events --- */

static void gone(fplt__leader *leader, uint64_t ticket)
{
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (leader->roster.session[i].ticket == ticket)
            leader->roster.session[i].ticket = 0;
}

static void revoke(fplt__leader *leader, uint32_t i)
{
    if (i >= leader->settings.members || leader->roster.row[i].standing == FPLT__REVOKED)
        return;
    leader->roster.row[i].standing = FPLT__REVOKED;
    leader->roster.session[i].ticket = 0;
    fplt__bit_set(leader->roster.changed, i, 1);
    fplt__leader_log(leader, i, "revoked", "its certificate is revoked");
    /* a repair is looked at after every event; a halted run waits for the operator */
    if (leader->record.state == FPLT__ROUND && fplt__leader_needs_all(leader))
        fplt__leader_end_without(leader, i, "the algorithm needs all members");
    else
        fplt__round_look(leader);
}

/* Judges reports that just came, and those held since before the last commit. */
static void judge_reports(fplt__leader *leader)
{
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        int ready = !leader->commit.pending || FPLT__PLANTED(FPLT__EARLY_VERDICT);
        fplt__member_session *member_session = &leader->roster.session[i];
        if (!member_session->ticket || !ready ||
            (member_session->finding != FPLT__UNHEARD &&
             member_session->judged == leader->commit.count))
            continue;
        FPLT__ASSERT(member_session->judged <= leader->commit.count);
        member_session->judged = leader->commit.count;
        if (fplt__same(&member_session->report.plan, &leader->record.hash)) {
            fplt__report_act(leader, i);
        } else { /* held since before there was a plan */
            fplt__leader_fault(leader, member_session->ticket, i, 409, "plan", 0,
                               "another plan is in force");
            member_session->ticket = 0;
        }
    }
}

/* Whatever can happen now without another event. */
static void advance(fplt__leader *leader)
{
    if (leader->commit.pending && leader->now >= leader->commit.retry)
        ask_commit(leader);
    judge_reports(leader);
    if (!leader->commit.pending && leader->record.state == FPLT__ROUND) {
        if (leader->evaluation.due && !leader->ask.kind)
            fplt__ask_begin(leader);
        fplt__secure_look(leader);
        fplt__ask_look(leader);
        if (!leader->evaluation.due && !leader->open.is_open && !leader->commit.pending &&
            leader->record.state == FPLT__ROUND)
            fplt__round_open(leader);
        if (!leader->paused)
            fplt__round_look(leader);
    }
    if (leader->record.state == FPLT__REPAIR && !leader->commit.pending)
        fplt__secure_look(leader);
    fplt__repair_look(leader);
    fplt__leader_answer_polls(leader);
    leader->wake = wake_of(leader);
    FPLT__ASSERT(!(leader->commit.pending && leader->commit.retry <= leader->now));
    FPLT__ASSERT(leader->commit.retry == UINT64_MAX || leader->commit.pending);
    fplt__leader_check(leader);
}

fplt_status fplt__leader_handle(fplt__leader *leader, const fplt__leader_event *event,
                                fplt_error *error)
{
    FPLT__ASSERT(leader->sent.document);
    fplt__leader_clear_actions(leader);
    leader->now = event->now > leader->now ? event->now : leader->now;
    leader->failed = 0;
    switch (event->kind) {
    case FPLT__LEADER_TIME: break;
    case FPLT__LEADER_REQUEST: fplt__leader_take_request(leader, &event->request); break;
    case FPLT__LEADER_GONE: gone(leader, event->ticket); break;
    case FPLT__LEADER_HEARD: fplt__leader_hear(leader, event->member_index); break;
    case FPLT__LEADER_COMMITTED:
        committed(leader);
        fplt__leader_check_forming(leader);
        break;
    case FPLT__LEADER_FAILED:
        FPLT__ASSERT(leader->commit.pending);
        leader->commit.retry = leader->now + RETRY;
        fplt__leader_log(leader, UINT32_MAX, "disk", "the state cannot be stored; again in 5 s");
        break;
    case FPLT__LEADER_ASK:
        FPLT__ASSERT(leader->resolving);
        leader->resolving = 0;
        fplt__ask_facts(leader, &event->ask);
        break;
    case FPLT__LEADER_PLAN: fplt__leader_take_plan(leader, event); break;
    case FPLT__LEADER_REFUSE:
        FPLT__ASSERT(event->sentence && leader->record.state < FPLT__ROUND);
        fplt__leader_take_refusal(leader, event->sentence);
        break;
    case FPLT__LEADER_CONCLUDE:
        FPLT__ASSERT(leader->resolving && event->sentence);
        leader->resolving = 0;
        fplt__leader_finish(leader, FPLT__DONE, "analysed", event->sentence);
        break;
    case FPLT__LEADER_PAUSE: leader->paused = 1; break;
    case FPLT__LEADER_RESUME:
        leader->paused = 0;
        leader->open.since = leader->open.stage_since = leader->now;
        leader->open.deadline = leader->now + fplt__leader_round_timeout(leader);
        break;
    case FPLT__LEADER_END:
        if (leader->plan.hub)
            fplt__leader_finish(leader, FPLT__ENDED, "ended", "ended by a person");
        break;
    case FPLT__LEADER_CHECK: leader->check.wanted = 1; break;
    case FPLT__LEADER_REVOKE: revoke(leader, event->member_index); break;
    }
    advance(leader);
    return leader->failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for an answer")
                          : FPLT_OK;
}

const fplt__leader_action *fplt__leader_action_take(fplt__leader *leader)
{
    FPLT__ASSERT(leader->queue.taken <= leader->queue.count);
    return leader->queue.taken < leader->queue.count ? &leader->queue.action[leader->queue.taken++]
                                                     : NULL;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t wake_of(const fplt__leader *leader)
{
    uint64_t wake = leader->commit.pending ? leader->commit.retry : UINT64_MAX;
    uint64_t hold = fplt__leader_hold(leader);
    if (leader->open.is_open && !leader->paused)
        wake = earlier(wake, leader->open.deadline > leader->now ? leader->open.deadline
                                                                 : leader->now + 1000);
    if (!leader->paused)
        wake = earlier(wake, fplt__stages_wake(leader));
    if (leader->ask.kind)
        wake = earlier(wake, leader->ask.deadline);
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        if (leader->roster.session[i].ticket)
            wake = earlier(wake, leader->roster.session[i].since + hold);
        if (leader->record.state == FPLT__REPAIR && !leader->commit.pending &&
            !leader->roster.session[i].enrolled && fplt__is_standing(leader, i) &&
            !FPLT__PLANTED(FPLT__WAITS_FOR_SILENT))
            wake = earlier(wake, fplt__repair_deadline(leader, i));
    }
    return wake;
}

uint64_t fplt__leader_wake(const fplt__leader *leader)
{
    return leader->wake;
}
