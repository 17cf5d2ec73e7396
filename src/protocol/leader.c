/* The coordinator's machine: sessions, forming, held polls, commits. */
#include "protocol/leader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "protocol/leading.h"

enum { SESSION_BITS = 24, RETRY = 5000, HOLD = 25000 };
enum { MIN_PATIENCE = 10000, MAX_PATIENCE = 3600000, FIRST_PATIENCE = 600000 };

const char *fplt__leader_state_name(fplt__leader_state state)
{
    static const char *const names[FPLT__STATES] = {"forming", "planned", "round", "repair",
                                                    "halted",  "done",    "ended"};
    return state < FPLT__STATES ? names[state] : NULL;
}

/* --- tools --- */

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

static void clear_actions(fplt__leader *leader)
{
    for (size_t a = 0; a < leader->actions; a++) {
        fplt__leader_action *action = &leader->action[a];
        for (unsigned p = 0; p < action->reply.parts; p++)
            fplt__shared_release(action->reply.part[p].owner);
        fplt__free(action->owned);
    }
    leader->actions = leader->taken = 0;
}

fplt__leader_action *fplt__leader_add(fplt__leader *leader, fplt__leader_action_kind kind)
{
    if (fplt__grow(&leader->action, &leader->action_room, leader->actions + 1,
                   sizeof *leader->action, "actions", NULL)) {
        leader->failed = 1;
        return NULL;
    }
    fplt__leader_action *action = &leader->action[leader->actions++];
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

static fplt__reply *add_reply(fplt__leader *leader, uint64_t ticket, uint32_t member_index,
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

/* The reply holds the bytes from here on; `shared` may be NULL where there was no memory. */
static void add_part(fplt__leader *leader, fplt__reply *reply, fplt__shared *shared)
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

static void add_text(fplt__leader *leader, fplt__reply *reply, char *text)
{
    fplt_error error;
    fplt__shared *shared = NULL;
    if (text && !fplt__shared_make(strlen(text), &shared, &error))
        memcpy(shared->bytes, text, shared->size);
    if (reply)
        reply->json = 1;
    add_part(leader, reply, shared);
    fplt__free(text);
}

void fplt__leader_reply(fplt__leader *leader, uint64_t ticket, uint32_t member_index,
                        unsigned status)
{
    add_reply(leader, ticket, member_index, status);
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
    fplt__reply *reply = add_reply(leader, ticket, member_index, status);
    if (reply)
        memcpy(reply->word, fault.word, sizeof reply->word);
    fplt__fault_text(&fault, &text, &error);
    add_text(leader, reply, text);
}

fplt_status fplt__leader_room(fplt__leader *leader, size_t count, fplt_error *error)
{
    return fplt__grow(&leader->words, &leader->word_room, 2 * count, sizeof *leader->words,
                      "numbers", error);
}

int fplt__leader_needs_all(const fplt__leader *leader)
{
    FPLT__ASSERT(leader->agreement);
    return !(leader->agreement->plan.algorithm->allows & FPLT_ALLOWS_PARTIAL);
}

/* auto: five times the slowest arrival in the last ten rounds, late or not. */
uint64_t fplt__leader_patience(const fplt__leader *leader)
{
    uint64_t most = 0;
    if (leader->settings.deadline)
        return leader->settings.deadline;
    for (int k = 0; k < 10; k++)
        most = leader->slowest[k].most > most ? leader->slowest[k].most : most;
    if (!leader->slow)
        return FIRST_PATIENCE;
    most *= 5;
    return most < MIN_PATIENCE ? MIN_PATIENCE : most > MAX_PATIENCE ? MAX_PATIENCE : most;
}

/* --- commits --- */

/* In place: the state before is needed no more once there is a later one to be committed. */
static fplt_status encode_hub(fplt__leader *leader)
{
    FPLT__ASSERT(leader->hub);
    fplt_error error;
    size_t size = fplt_hub_encode(leader->hub, NULL, 0);
    fplt_status status =
        leader->hub_bytes ? FPLT_OK : fplt__shared_make(size, &leader->hub_bytes, &error);
    FPLT__ASSERT(status || leader->hub_bytes->size == size);
    if (!status)
        fplt_hub_encode(leader->hub, leader->hub_bytes->bytes, size);
    return status;
}

static void ask_commit(fplt__leader *leader)
{
    FPLT__ASSERT(leader->committing);
    FPLT__ASSERT(leader->document && leader->record.document == leader->document->bytes);
    fplt__leader_action *action = fplt__leader_add(leader, FPLT__LEADER_COMMIT);
    leader->retry = UINT64_MAX;
    if (action)
        action->record = &leader->record;
}

static void fill_record(fplt__leader *leader)
{
    FPLT__ASSERT(leader->document);
    fplt__leader_record *record = &leader->record;
    if (record->hub_changed && encode_hub(leader))
        leader->failed = 1;
    record->hub = leader->hub_bytes ? leader->hub_bytes->bytes : NULL;
    record->hub_size = leader->hub_bytes ? leader->hub_bytes->size : 0;
    record->document = leader->document->bytes;
    record->document_size = leader->document->size;
    record->closing = leader->closing;
    record->closings = leader->closing_count;
}

void fplt__leader_commit(fplt__leader *leader)
{
    FPLT__ASSERT(!leader->committing || FPLT__PLANTED(FPLT__EARLY_VERDICT));
    fill_record(leader);
    leader->committing = 1;
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
    const fplt__agreement *agreement = leader->agreement;
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
    if (text && !fplt_parse_integer(text, &epochs))
        run.epochs = (uint32_t)epochs;
    fplt_algorithm_defaults(plan->algorithm, defaults);
    for (size_t i = 0; row[i].name && !run.given; i++)
        if (given_text(agreement, row[i].name) && !(plan->parameter[i] == defaults[i]))
            run.given = &row[i];
    fplt__diverged_sentence(&run, leader->record.round, why, leader->record.sentence,
                            sizeof leader->record.sentence);
}

void fplt__leader_finish(fplt__leader *leader, fplt__leader_state state, const char *word,
                         const char *sentence)
{
    FPLT__ASSERT(state == FPLT__DONE || state == FPLT__ENDED);
    FPLT__ASSERT(word[0]);
    if (leader->record.state == FPLT__DONE || leader->record.state == FPLT__ENDED)
        return;
    /* the model that is kept is the last committed */
    fplt_hub_abandon(leader->hub);
    if (!leader->hub_bytes)
        leader->record.hub_changed = 1;
    else
        fplt_hub_decode(leader->hub, leader->hub_bytes->bytes, leader->hub_bytes->size, NULL);
    leader->record.state = state;
    leader->opened = 0;
    leader->asking = 0;
    snprintf(leader->record.outcome, sizeof leader->record.outcome, "%s", word);
    if (strcmp(word, "diverged") == 0)
        say_diverged(leader, sentence);
    else
        snprintf(leader->record.sentence, sizeof leader->record.sentence, "%s", sentence);
    fplt__leader_log(leader, UINT32_MAX, "done", "%s", leader->record.sentence);
    if (leader->committing) /* it failed and will be tried again: with this */
        fill_record(leader);
    else
        fplt__leader_commit(leader);
}

static void committed(fplt__leader *leader)
{
    FPLT__ASSERT(leader->committing);
    FPLT__ASSERT(leader->retry == UINT64_MAX);
    leader->committing = 0;
    leader->commits++;
    leader->record.trace = NULL;
    leader->record.hub_changed = leader->record.document_changed = leader->record.has_measure = 0;
    memset(leader->changed, 0, (leader->settings.members + 7) / 8);
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
    if ((status = fplt__alloc_into(&leader->row, members, sizeof *leader->row, what, error)) ||
        (status = fplt__alloc_into(&leader->member_session, members, sizeof *leader->member_session,
                                   what, error)) ||
        (status =
             fplt__alloc_into(&leader->active, members, sizeof *leader->active, what, error)) ||
        (status = fplt__alloc_into(&leader->changed, bytes, 1, what, error)) ||
        (status = fplt__alloc_into(&leader->accepted, bytes, 1, what, error)))
        return status;
    return fplt__alloc_into(&leader->cohort, bytes, 1, what, error);
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
    leader->retry = UINT64_MAX;
    if ((status = allocate(leader, error))) {
        fplt__leader_destroy(leader);
        return status;
    }
    leader->record.members = settings->members;
    leader->record.member = leader->row;
    leader->record.changed = leader->changed;
    leader->record.cohort = leader->cohort;
    *out = leader;
    return FPLT_OK;
}

void fplt__leader_destroy(fplt__leader *leader)
{
    if (!leader)
        return;
    clear_actions(leader);
    fplt__shared *const shared[] = {leader->document, leader->start, leader->hub_bytes,
                                    leader->down, leader->ask_down};
    for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
        fplt__shared_release(shared[k]);
    for (size_t k = 0; k < leader->closing_count; k++)
        fplt__free((double *)leader->closing[k].vector);
    if (leader->agreement)
        fplt__agreement_clear(leader->agreement);
    fplt__free(leader->agreement);
    fplt_hub_destroy(leader->hub);
    fplt_participation_destroy(leader->participation);
    fplt_prox_destroy(leader->prox);
    fplt_sum_destroy(leader->ask_sum);
    fplt_sum_destroy(leader->enrol_sum);
    void *const owned[] = {leader->closing,  leader->row,        leader->member_session,
                           leader->active,   leader->changed,    leader->cohort,
                           leader->accepted, leader->point,      leader->before,
                           leader->model,    leader->numbers,    leader->words,
                           leader->action,   leader->information};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        fplt__free(owned[k]);
    fplt__free(leader);
}

static fplt_status keep_bytes(fplt__shared **kept, const void *bytes, size_t size,
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

/* Takes the plan over and makes room for its vectors. */
static fplt_status adopt_plan(fplt__leader *leader, fplt__leader_plan *plan, fplt_error *error)
{
    FPLT__ASSERT(!leader->agreement && !leader->hub);
    FPLT__ASSERT(plan->agreement && plan->hub);
    const fplt__agreement *a = plan->agreement;
    fplt_status status;
    leader->agreement = plan->agreement;
    leader->hub = plan->hub;
    leader->participation = plan->participation;
    leader->prox = plan->prox;
    size_t n = leader->n = a->plan.dimension, most = n;
    leader->shape = fplt_algorithm_shape(a->plan.algorithm, a->plan.parameter, n);
    FPLT__ASSERT(leader->shape.exchanges >= 1 && leader->shape.exchanges <= 2);
    FPLT__ASSERT(leader->shape.scalars <= FPLT_MAX_SCALARS);
    leader->stopping =
        (fplt__stopping){.rounds = a->rounds,
                         .tolerance = a->tolerance,
                         .change = a->change,
                         .relative = a->relative,
                         .evaluate_every = a->evaluate_every,
                         .blind = a->private,
                         .smoothness = leader->settings.members * a->curvature.highest};
    for (unsigned e = 0; e <= leader->shape.exchanges; e++)
        most = fplt_plan_down(&a->plan, e) > most ? fplt_plan_down(&a->plan, e) : most;
    const char *what = "the coordinator";
    if ((status = fplt__alloc_into(&leader->point, n, sizeof *leader->point, what, error)) ||
        (status = fplt__alloc_into(&leader->before, n, sizeof *leader->before, what, error)) ||
        (status = fplt__alloc_into(&leader->model, n, sizeof *leader->model, what, error)) ||
        (status = fplt__alloc_into(&leader->numbers, most, sizeof *leader->numbers, what, error)) ||
        (status = keep_bytes(&leader->start, NULL, plan->start ? 8 * n : 0, error)))
        return status;
    if (plan->start)
        fplt__put_reals(leader->start->bytes, plan->start, n);
    return FPLT_OK;
}

static fplt_status load_closings(fplt__leader *leader, const fplt__leader_record *record,
                                 fplt_error *error)
{
    size_t count = fplt_plan_down(&leader->agreement->plan, leader->shape.exchanges);
    fplt_status status = fplt__grow(&leader->closing, &leader->closing_room, record->closings,
                                    sizeof *leader->closing, "closing vectors", error);
    for (size_t k = 0; k < record->closings && !status; k++) {
        double *vector;
        status = fplt__alloc_into(&vector, count, sizeof *vector, "a closing vector", error);
        if (status)
            return status;
        memcpy(vector, record->closing[k].vector, count * sizeof *vector);
        leader->closing[leader->closing_count++] =
            (fplt__closing){record->closing[k].round, vector};
    }
    return status;
}

static fplt_status load_run(fplt__leader *leader, const fplt__leader_record *record,
                            fplt__leader_plan *plan, fplt_error *error)
{
    fplt_status status = adopt_plan(leader, plan, error);
    if (status || record->state == FPLT__PLANNED)
        return status;
    if ((status = fplt_hub_decode(leader->hub, record->hub, record->hub_size, error)) ||
        (status = load_closings(leader, record, error)))
        return status;
    if (encode_hub(leader))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the coordinator's state");
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->cohort_size += (uint32_t)fplt__bit(leader->cohort, i);
    FPLT__ASSERT(leader->cohort_size <= leader->settings.members);
    return FPLT_OK;
}

static void advance(fplt__leader *leader);
static uint64_t wake_of(const fplt__leader *leader);

fplt_status fplt__leader_open(fplt__leader *leader, uint64_t now, const fplt__leader_record *record,
                              fplt__leader_plan *plan, fplt_error *error)
{
    FPLT__ASSERT(!leader->document && !leader->agreement);
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
        memcpy(leader->row, record->member, members * sizeof *leader->row);
    if (record->cohort)
        memcpy(leader->cohort, record->cohort, bytes);
    fplt_status status =
        keep_bytes(&leader->document, record->document, record->document_size, error);
    if (!status && plan && plan->agreement)
        status = load_run(leader, record, plan, error);
    if (status)
        return status;
    leader->due = own->state == FPLT__ROUND;
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

void fplt__leader_reload(fplt__leader *leader, const fplt__leader_settings *settings)
{
    leader->settings.deadline = settings->deadline;
    leader->settings.silence = settings->silence;
    leader->settings.hold = settings->hold;
    if (leader->opened)
        leader->deadline = leader->since + fplt__leader_patience(leader);
}

/* --- forming --- */

static void check_forming(fplt__leader *leader)
{
    FPLT__ASSERT(!leader->resolving || leader->record.state == FPLT__FORMING);
    if (leader->resolving || leader->asking || leader->committing ||
        (leader->record.state != FPLT__FORMING && leader->record.state != FPLT__PLANNED))
        return;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (!leader->member_session[i].consented)
            return;
    if (leader->record.state == FPLT__FORMING) {
        leader->resolving = 1;
        fplt__leader_add(leader, FPLT__LEADER_RESOLVE);
        return;
    }
    FPLT__ASSERT(leader->hub && leader->agreement);
    FPLT__ASSERT(leader->record.round == 0 && leader->record.incarnation == 0);
    fplt__digest none = {{0}};
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        leader->row[i].chain = fplt__chain_begin(&leader->record.hash, 0, i, &none);
        leader->row[i].records = leader->agreement->records ? leader->agreement->records[i] : 0;
        fplt__bit_set(leader->changed, i, 1);
    }
    leader->record.state = FPLT__ROUND;
    leader->record.hub_changed = 1;
    leader->due = 1;
    fplt__round_choose(leader);
    fplt__leader_log(leader, UINT32_MAX, "opened", "all have consented: round 0");
    fplt__leader_commit(leader);
}

static void take_plan(fplt__leader *leader, const fplt__leader_event *event)
{
    FPLT__ASSERT(leader->resolving && leader->record.state == FPLT__FORMING);
    FPLT__ASSERT(event->document && event->document_size);
    fplt_error error;
    leader->resolving = 0;
    if (keep_bytes(&leader->document, event->document, event->document_size, &error) ||
        adopt_plan(leader, event->plan, &error)) {
        leader->failed = 1;
        return;
    }
    leader->record.hash = fplt__document_hash(event->document, event->document_size);
    leader->record.state = FPLT__PLANNED;
    leader->record.document_changed = 1;
    for (uint32_t i = 0; i < leader->settings.members; i++)
        leader->member_session[i].consented = 0;
    fplt__leader_commit(leader);
}

static void take_consent(fplt__leader *leader, const fplt__request *request)
{
    fplt__consent consent;
    fplt_error error;
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->member_session[i];
    if (fplt__consent_read(request->body, request->size, &consent, &error)) {
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    if (!fplt__same(&consent.document, &leader->record.hash) || leader->committing) {
        fplt__leader_fault(leader, request->ticket, i, 409, "plan", 0,
                           "another document is proposed");
        return;
    }
    member_session->consented = consent.agreed;
    member_session->refused = !consent.agreed;
    FPLT__ASSERT(member_session->consented != member_session->refused);
    if (leader->record.state == FPLT__FORMING)
        leader->row[i].records = consent.records, member_session->hessian = consent.hessian;
    fplt__leader_log(leader, i, consent.agreed ? "consent" : "refused", "%s",
                     !consent.agreed                         ? consent.sentence
                     : leader->record.state == FPLT__FORMING ? "agrees to the proposal"
                                                             : "agrees to the plan");
    fplt__leader_reply(leader, request->ticket, i, 200);
    check_forming(leader);
}

/* --- sessions --- */

static void let_go(fplt__leader *leader, uint32_t i, const char *word, int final)
{
    FPLT__ASSERT(i < leader->settings.members);
    fplt__member_session *member_session = &leader->member_session[i];
    if (member_session->ticket)
        fplt__leader_fault(leader, member_session->ticket, i, 409, word, final,
                           final ? "another process of this member has joined"
                                 : "a newer request has come");
    member_session->ticket = 0;
}

static void answer_join(fplt__leader *leader, const fplt__request *request)
{
    uint32_t i = request->member_index;
    fplt_error error;
    char *text = NULL;
    fplt__joined joined = {.session = leader->member_session[i].session,
                           .member_index = i,
                           .document = leader->record.hash,
                           .planned = leader->record.state != FPLT__FORMING,
                           .has_charged = leader->row[i].has_charged,
                           .charged = leader->row[i].charged};
    fplt__joined_text(&joined, &text, &error);
    add_text(leader, add_reply(leader, request->ticket, i, 200), text);
}

/* A process that joins again keeps its session; another one gets a new session, which ends the old one. */
static void join(fplt__leader *leader, const fplt__request *request)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->member_session[i];
    fplt__join wanted;
    fplt_error error;
    if (fplt__join_read(request->body, request->size, &wanted, &error)) {
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    int is_same =
        member_session->session && wanted.process && member_session->process == wanted.process;
    let_go(leader, i, is_same ? "old" : "superseded", !is_same);
    if (!is_same) {
        member_session->session =
            (leader->settings.process >> SESSION_BITS << SESSION_BITS) + ++leader->sessions;
        member_session->sequence = 0;
        member_session->process = wanted.process;
        fplt__leader_log(leader, i, "joined", "session %llu", (unsigned long long)leader->sessions);
    }
    FPLT__ASSERT(member_session->session && !member_session->ticket);
    answer_join(leader, request);
}

/* Whether the request is of the newest session and newer than all before it. */
static int is_current(fplt__leader *leader, const fplt__request *request)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->member_session[i];
    if (FPLT__PLANTED(FPLT__NO_SESSION))
        return 1;
    if (request->session >> SESSION_BITS != leader->settings.process >> SESSION_BITS ||
        !member_session->session) {
        fplt__leader_fault(leader, request->ticket, i, 409, "join", 0, "this session is not known");
        return 0;
    }
    if (request->session != member_session->session) {
        fplt__leader_fault(leader, request->ticket, i, 409, "superseded", 1,
                           "another process of this member has joined");
        return 0;
    }
    if (request->sequence <= member_session->sequence) {
        fplt__leader_fault(leader, request->ticket, i, 409, "old", 0, "a newer request has come");
        return 0;
    }
    member_session->sequence = request->sequence;
    return 1;
}

/* --- answers to polls --- */

static void add_frame(fplt__leader *leader, fplt__reply *reply,
                      const uint8_t head[FPLT__FRAME_HEAD], fplt__shared *body)
{
    fplt_error error;
    fplt__shared *front = NULL;
    if (!fplt__shared_make(FPLT__FRAME_HEAD, &front, &error))
        memcpy(front->bytes, head, FPLT__FRAME_HEAD);
    add_part(leader, reply, front);
    if (body && body->size) {
        fplt__shared_hold(body);
        add_part(leader, reply, body);
    }
}

/* Accepted (exchange 0, cohort 1), refused (cohort 0), or the incarnation is open (exchange 1). */
static void add_verdict(fplt__leader *leader, fplt__reply *reply, uint32_t i, uint64_t round,
                        int accepted, int opened)
{
    FPLT__ASSERT(leader->agreement && i < leader->settings.members);
    FPLT__ASSERT(!opened || accepted);
    FPLT__ASSERT(!leader->committing || FPLT__PLANTED(FPLT__EARLY_VERDICT));
    fplt_error error;
    const fplt__closing *closing = accepted && !opened ? fplt__closing_of(leader, round) : NULL;
    size_t count = closing ? fplt_plan_down(&leader->agreement->plan, leader->shape.exchanges) : 0;
    fplt__shared *body = NULL;
    uint8_t head[FPLT__FRAME_HEAD];
    if (fplt__shared_make(8 * count, &body, &error)) {
        leader->failed = 1;
        return;
    }
    if (closing)
        fplt__put_reals(body->bytes, closing->vector, count);
    fplt__frame frame = {.kind = FPLT__VERDICT,
                         .exchange = (uint8_t)opened,
                         .encoding = FPLT__DOUBLES,
                         .incarnation = leader->record.incarnation,
                         .member_index = i,
                         .round = round,
                         .cohort = (uint32_t)accepted,
                         .version = leader->row[i].version,
                         .count = count,
                         .payload = 8 * count,
                         .plan = leader->record.hash,
                         .digest = fplt__body_hash(body->bytes, body->size)};
    fplt__frame_write(&frame, head);
    add_frame(leader, reply, head, body);
    fplt__shared_release(body);
}

static void add_end(fplt__leader *leader, fplt__reply *reply, uint32_t i)
{
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    fplt__repair_head(leader, i, head, &model);
    head[5] = FPLT__END;
    if (model)
        add_frame(leader, reply, head, model);
    fplt__shared_release(model);
}

/* None where the run is halted: it would take the place of the proof that shows this copy to be old. */
static void add_proof(const fplt__leader *leader, fplt__reply *reply, uint32_t i)
{
    FPLT__ASSERT(!reply->has_proof);
    FPLT__ASSERT(i < leader->settings.members);
    fplt__leader_state state = leader->record.state;
    if (!leader->agreement || state < FPLT__ROUND || state == FPLT__HALTED)
        return;
    reply->has_proof = 1;
    reply->proof = (fplt__proof){.incarnation = leader->record.incarnation,
                                 .round = leader->record.round,
                                 .version = leader->row[i].version,
                                 .chain = leader->row[i].chain};
    fplt__proof_sign(&reply->proof, &leader->record.hash, i, leader->settings.receipt_key);
}

static int must_refuse(const fplt__leader *leader, uint32_t i)
{
    const fplt__member_session *member_session = &leader->member_session[i];
    return member_session->finding == FPLT__KNOWN && member_session->report.has_staged &&
           (member_session->report.staged.round != leader->record.round ||
            leader->record.state == FPLT__REPAIR);
}

/* Whose vectors are in for the next incarnation hears no verdict of the last one: they would change. */
static int hears_verdicts(const fplt__leader *leader, uint32_t i)
{
    return leader->record.state != FPLT__REPAIR || !leader->member_session[i].enrolled;
}

/* What a member can be told now; nothing: 0. */
static int has_news(const fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(i < leader->settings.members);
    const fplt__member_session *member_session = &leader->member_session[i];
    fplt__leader_state state = leader->record.state;
    if (state == FPLT__FORMING)
        return leader->asking && member_session->consented && !member_session->answered;
    if (state == FPLT__PLANNED || state == FPLT__HALTED)
        return 0;
    if (state == FPLT__DONE || state == FPLT__ENDED)
        return leader->hub != NULL;
    if (hears_verdicts(leader, i) &&
        (member_session->finding == FPLT__ACCEPTED || member_session->finding == FPLT__OPENED ||
         must_refuse(leader, i)))
        return 1;
    if (state == FPLT__REPAIR)
        return !member_session->enrolled && fplt__is_standing(leader, i);
    if (member_session->finding == FPLT__LOST)
        return member_session->enrols && fplt__is_standing(leader, i);
    if (leader->asking)
        return !member_session->answered;
    return !leader->paused && fplt__round_waits_for(leader, i);
}

static void add_news(fplt__leader *leader, fplt__reply *reply, uint32_t i)
{
    FPLT__ASSERT(leader->member_session[i].ticket);
    FPLT__ASSERT(leader->record.state != FPLT__HALTED && leader->record.state != FPLT__PLANNED);
    fplt__member_session *member_session = &leader->member_session[i];
    fplt__leader_state state = leader->record.state;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    int hears = hears_verdicts(leader, i);
    if (hears && member_session->finding == FPLT__ACCEPTED)
        add_verdict(leader, reply, i, leader->row[i].last_round, 1, 0);
    if (hears && member_session->finding == FPLT__OPENED)
        add_verdict(leader, reply, i, leader->record.round, 1, 1);
    if (hears && must_refuse(leader, i))
        add_verdict(leader, reply, i, member_session->report.staged.round, 0, 0);
    if (state == FPLT__DONE || state == FPLT__ENDED) {
        add_end(leader, reply, i);
    } else if (fplt__is_standing(leader, i) &&
               ((state == FPLT__REPAIR && !member_session->enrolled) ||
                (state == FPLT__ROUND && member_session->finding == FPLT__LOST &&
                 member_session->enrols))) {
        fplt__repair_head(leader, i, head, &model);
        if (model)
            add_frame(leader, reply, head, model);
        fplt__shared_release(model);
    } else if (leader->asking && !member_session->answered) {
        fplt__ask_head(leader, i, head);
        add_frame(leader, reply, head, leader->ask_down);
    } else if (!leader->asking && !leader->paused && member_session->finding != FPLT__LOST &&
               fplt__round_waits_for(leader, i)) {
        fplt__round_head(leader, i, head);
        add_frame(leader, reply, head, leader->down);
        leader->bytes_down += FPLT__FRAME_HEAD + leader->down->size;
    }
}

void fplt__leader_answer_polls(fplt__leader *leader)
{
    uint64_t hold = leader->settings.hold ? leader->settings.hold : HOLD;
    for (uint32_t i = 0; i < leader->settings.members; i++) {
        fplt__member_session *member_session = &leader->member_session[i];
        if (!member_session->ticket)
            continue;
        int ready = !leader->committing || FPLT__PLANTED(FPLT__EARLY_VERDICT);
        int news = ready && has_news(leader, i);
        if (!news && leader->now - member_session->since < hold)
            continue;
        fplt__reply *reply = add_reply(leader, member_session->ticket, i, news ? 200 : 204);
        if (reply && ready)
            add_proof(leader, reply, i);
        if (reply && news)
            add_news(leader, reply, i);
        member_session->ticket = 0;
    }
}

/* --- requests --- */

/* The largest receipt counts; its rounds are of this run only where it says so. */
static void keep_receipt(fplt__leader *leader, uint32_t i, const fplt__report *report)
{
    fplt__member_row *row = &leader->row[i];
    const fplt__receipt *receipt = &report->charged.receipt;
    int is_of_run = memcmp(receipt->run, &report->plan, sizeof report->plan) == 0;
    if (!report->has_charged || !(fplt__receipt_exceeds(receipt, &row->charged.receipt) ||
                                  (is_of_run && receipt->rounds > row->charges)))
        return;
    row->has_charged = 1;
    row->charged = report->charged;
    if (is_of_run)
        row->charges = receipt->rounds;
    fplt__bit_set(leader->changed, i, 1);
}

/* The request becomes the poll of its member. */
static void keep_report(fplt__leader *leader, const fplt__request *request,
                        const fplt__report *report)
{
    uint32_t i = request->member_index;
    fplt__member_session *member_session = &leader->member_session[i];
    let_go(leader, i, "old", 0);
    FPLT__ASSERT(!member_session->ticket);
    FPLT__ASSERT(request->ticket);
    keep_receipt(leader, i, report);
    member_session->report = *report;
    member_session->finding = FPLT__UNHEARD;
    member_session->ticket = request->ticket;
    member_session->since = leader->now;
}

/* Reads a report of the plan in force, or refuses the request. */
static int read_report(fplt__leader *leader, const fplt__request *request, const void *text,
                       size_t size, fplt__report *report)
{
    fplt_error error;
    if (fplt__report_read(text, size, report, &error)) {
        fplt__leader_fault(leader, request->ticket, request->member_index, 400, "malformed", 1,
                           "%s", error.text);
        return 0;
    }
    if (!fplt__same(&report->plan, &leader->record.hash)) {
        fplt__leader_fault(leader, request->ticket, request->member_index, 409, "plan", 0,
                           "another plan is in force");
        return 0;
    }
    return 1;
}

static void take_report(fplt__leader *leader, const fplt__request *request)
{
    fplt__report report;
    if (read_report(leader, request, request->body, request->size, &report))
        keep_report(leader, request, &report);
}

void fplt__leader_taken(fplt__leader *leader, const fplt__request *request, unsigned status)
{
    if (leader->has_rider)
        keep_report(leader, request, &leader->rider);
    else
        fplt__leader_reply(leader, request->ticket, request->member_index, status);
}

static void take_update(fplt__leader *leader, const fplt__request *request)
{
    fplt__frame frame;
    fplt__fault fault;
    fplt_error error;
    uint32_t i = request->member_index;
    if (request->size < FPLT__FRAME_HEAD) {
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1, "not a frame");
        return;
    }
    unsigned status = fplt__leader_peek(leader, request, request->body, request->size, &fault);
    const uint8_t *body = (const uint8_t *)request->body + FPLT__FRAME_HEAD;
    if (status) {
        fplt__leader_fault(leader, request->ticket, i, status, fault.word, fault.final, "%s",
                           fault.sentence);
        return;
    }
    if (fplt__frame_read(request->body, &frame, &error) ||
        (request->digest
             ? fplt__frame_check_digest(&frame, request->digest, &error)
             : fplt__frame_check_body(&frame, body, (size_t)fplt__frame_body(&frame), &error))) {
        fplt__leader_fault(leader, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    const uint8_t *behind = body + fplt__frame_body(&frame);
    size_t left = request->size - FPLT__FRAME_HEAD - (size_t)fplt__frame_body(&frame);
    leader->has_rider = left > 0;
    if (left && !read_report(leader, request, behind, left, &leader->rider))
        return;
    if (frame.kind == FPLT__TRAIN)
        fplt__round_update(leader, request, &frame, body);
    else if (frame.kind == FPLT__ENROL)
        fplt__repair_update(leader, request, &frame, body);
    else
        fplt__ask_update(leader, request, &frame, body);
}

static unsigned refuse(fplt__fault *fault, unsigned status, const char *word, int final,
                       const char *sentence)
{
    fault->final = final;
    snprintf(fault->word, sizeof fault->word, "%s", word);
    snprintf(fault->sentence, sizeof fault->sentence, "%.400s", sentence);
    return status;
}

unsigned fplt__leader_peek(fplt__leader *leader, const fplt__request *request,
                           const uint8_t head[FPLT__FRAME_HEAD], uint64_t content_length,
                           fplt__fault *fault)
{
    fplt__frame frame;
    fplt_error error;
    if (content_length > fplt__leader_longest(leader))
        return refuse(fault, 413, "long", 1, "no message is that long");
    if (fplt__frame_read(head, &frame, &error))
        return refuse(fault, 400, "malformed", 1, error.text);
    uint64_t needed = FPLT__FRAME_HEAD + fplt__frame_body(&frame);
    if (frame.member_index != request->member_index ||
        !fplt__same(&frame.plan, &leader->record.hash) || content_length < needed ||
        content_length - needed > FPLT__MESSAGE_LIMIT)
        return refuse(fault, 409, "other", 0, "of another member, plan or length");
    if (frame.kind == FPLT__VERDICT || frame.kind == FPLT__END)
        return refuse(fault, 400, "malformed", 1, "a kind that only the coordinator sends");
    int measures =
        frame.kind != FPLT__TRAIN && frame.kind != FPLT__ENROL && frame.kind != FPLT__CHECK;
    if (leader->agreement && leader->agreement->private && measures)
        return refuse(fault, 409, "private", 1, "with privacy nothing is measured");
    if (leader->committing || leader->record.state == FPLT__HALTED)
        return refuse(fault, 503, "busy", 0, "nothing is taken just now");
    if (leader->record.state == FPLT__DONE || leader->record.state == FPLT__ENDED)
        return refuse(fault, 409, "closed", 0, "the run has ended");
    return 0;
}

uint64_t fplt__leader_longest(const fplt__leader *leader)
{
    uint64_t most = FPLT__MESSAGE_LIMIT;
    if (leader->agreement) {
        const fplt_plan *plan = &leader->agreement->plan;
        uint64_t numbers = fplt_plan_enrol_words(plan) / 2;
        for (unsigned e = 0; e < leader->shape.exchanges; e++)
            numbers = fplt_plan_up(plan, e) > numbers ? fplt_plan_up(plan, e) : numbers;
        if (numbers < leader->n + FPLT_MEASURES)
            numbers = leader->n + FPLT_MEASURES;
        most = fplt__frame_limit(0, numbers) > most ? fplt__frame_limit(0, numbers) : most;
    }
    if (leader->asking) {
        uint64_t asked = fplt__frame_limit(leader->ask_scalars, leader->ask_numbers);
        most = asked > most ? asked : most;
    }
    return most + FPLT__MESSAGE_LIMIT; /* a report behind it */
}

static void give(fplt__leader *leader, const fplt__request *request)
{
    fplt__reply *reply;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *bytes = request->kind == FPLT__DOCUMENT ? leader->document : leader->start;
    if (request->kind == FPLT__MODEL) {
        if (leader->record.state < FPLT__DONE || !leader->hub) {
            fplt__leader_fault(leader, request->ticket, request->member_index, 409, "running", 0,
                               "the run has not ended");
            return;
        }
        fplt__repair_head(leader, request->member_index, head, &bytes);
        add_part(leader, add_reply(leader, request->ticket, request->member_index, 200), bytes);
        return;
    }
    if (request->kind == FPLT__START && (!bytes || !bytes->size)) { /* of a plan that is not here */
        fplt__leader_fault(leader, request->ticket, request->member_index, 409, "plan", 0,
                           "there is no plan here that begins at a vector");
        return;
    }
    reply = add_reply(leader, request->ticket, request->member_index, 200);
    if (!reply || !bytes)
        return;
    reply->json = request->kind == FPLT__DOCUMENT;
    reply->etag = leader->record.hash;
    fplt__shared_hold(bytes);
    add_part(leader, reply, bytes);
}

static void hear(fplt__leader *leader, uint32_t i)
{
    FPLT__ASSERT(i < leader->settings.members);
    leader->member_session[i].heard = 1;
    leader->member_session[i].last_heard = leader->now;
}

static void take_request(fplt__leader *leader, const fplt__request *request)
{
    if (request->member_index >= leader->settings.members) {
        fplt__leader_fault(leader, request->ticket, request->member_index, 403, "roster", 1,
                           "not on the roster");
        return;
    }
    FPLT__ASSERT(request->ticket);
    hear(leader, request->member_index);
    if (request->kind == FPLT__JOIN) {
        join(leader, request);
        return;
    }
    if (request->kind == FPLT__DOCUMENT || request->kind == FPLT__START ||
        request->kind == FPLT__MODEL) {
        give(leader, request);
        return;
    }
    if (!is_current(leader, request))
        return;
    if (request->kind == FPLT__CONSENT)
        take_consent(leader, request);
    else if (request->kind == FPLT__NEXT)
        take_report(leader, request);
    else
        take_update(leader, request);
}

/* --- events --- */

static void gone(fplt__leader *leader, uint64_t ticket)
{
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (leader->member_session[i].ticket == ticket)
            leader->member_session[i].ticket = 0;
}

static void revoke(fplt__leader *leader, uint32_t i)
{
    if (i >= leader->settings.members || leader->row[i].standing == FPLT__REVOKED)
        return;
    leader->row[i].standing = FPLT__REVOKED;
    leader->member_session[i].ticket = 0;
    fplt__bit_set(leader->changed, i, 1);
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
        int ready = !leader->committing || FPLT__PLANTED(FPLT__EARLY_VERDICT);
        fplt__member_session *member_session = &leader->member_session[i];
        if (!member_session->ticket || !ready ||
            (member_session->finding != FPLT__UNHEARD && member_session->judged == leader->commits))
            continue;
        FPLT__ASSERT(member_session->judged <= leader->commits);
        member_session->judged = leader->commits;
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
    if (leader->committing && leader->now >= leader->retry)
        ask_commit(leader);
    judge_reports(leader);
    if (!leader->committing && leader->record.state == FPLT__ROUND) {
        if (leader->due && !leader->asking)
            fplt__ask_begin(leader);
        fplt__ask_look(leader);
        if (!leader->due && !leader->opened && !leader->committing &&
            leader->record.state == FPLT__ROUND)
            fplt__round_open(leader);
        if (!leader->paused)
            fplt__round_look(leader);
    }
    fplt__repair_look(leader);
    fplt__leader_answer_polls(leader);
    leader->wake = wake_of(leader);
    FPLT__ASSERT(!(leader->committing && leader->retry <= leader->now));
    FPLT__ASSERT(leader->retry == UINT64_MAX || leader->committing);
    fplt__leader_check(leader);
}

fplt_status fplt__leader_handle(fplt__leader *leader, const fplt__leader_event *event,
                                fplt_error *error)
{
    FPLT__ASSERT(leader->document);
    clear_actions(leader);
    leader->now = event->now > leader->now ? event->now : leader->now;
    leader->failed = 0;
    switch (event->kind) {
    case FPLT__LEADER_TIME: break;
    case FPLT__LEADER_REQUEST: take_request(leader, &event->request); break;
    case FPLT__LEADER_GONE: gone(leader, event->ticket); break;
    case FPLT__LEADER_HEARD: hear(leader, event->member_index); break;
    case FPLT__LEADER_COMMITTED:
        committed(leader);
        check_forming(leader);
        break;
    case FPLT__LEADER_FAILED:
        FPLT__ASSERT(leader->committing);
        leader->retry = leader->now + RETRY;
        fplt__leader_log(leader, UINT32_MAX, "disk", "the state cannot be stored; again in 5 s");
        break;
    case FPLT__LEADER_ASK:
        FPLT__ASSERT(leader->resolving);
        leader->resolving = 0;
        fplt__ask_facts(leader, &event->ask);
        break;
    case FPLT__LEADER_PLAN: take_plan(leader, event); break;
    case FPLT__LEADER_REFUSE:
        FPLT__ASSERT(leader->resolving && event->sentence);
        leader->resolving = 0;
        leader->record.state = FPLT__ENDED;
        snprintf(leader->record.outcome, sizeof leader->record.outcome, "refused");
        snprintf(leader->record.sentence, sizeof leader->record.sentence, "%s", event->sentence);
        fplt__leader_commit(leader);
        break;
    case FPLT__LEADER_PAUSE: leader->paused = 1; break;
    case FPLT__LEADER_RESUME:
        leader->paused = 0;
        leader->since = leader->now;
        leader->deadline = leader->now + fplt__leader_patience(leader);
        break;
    case FPLT__LEADER_END:
        if (leader->hub)
            fplt__leader_finish(leader, FPLT__ENDED, "ended", "ended by a person");
        break;
    case FPLT__LEADER_CHECK: leader->check_wanted = 1; break;
    case FPLT__LEADER_REVOKE: revoke(leader, event->member_index); break;
    }
    advance(leader);
    return leader->failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for an answer")
                          : FPLT_OK;
}

const fplt__leader_action *fplt__leader_action_take(fplt__leader *leader)
{
    FPLT__ASSERT(leader->taken <= leader->actions);
    return leader->taken < leader->actions ? &leader->action[leader->taken++] : NULL;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t wake_of(const fplt__leader *leader)
{
    uint64_t wake = leader->committing ? leader->retry : UINT64_MAX;
    uint64_t hold = leader->settings.hold ? leader->settings.hold : HOLD;
    if (leader->opened && !leader->paused)
        wake =
            earlier(wake, leader->deadline > leader->now ? leader->deadline : leader->now + 1000);
    if (leader->asking)
        wake = earlier(wake, leader->ask_deadline);
    for (uint32_t i = 0; i < leader->settings.members; i++)
        if (leader->member_session[i].ticket)
            wake = earlier(wake, leader->member_session[i].since + hold);
    return wake;
}

uint64_t fplt__leader_wake(const fplt__leader *leader)
{
    return leader->wake;
}

/* --- what can be seen --- */

static int is_waited_for(const fplt__leader *leader, uint32_t i)
{
    const fplt__member_session *member_session = &leader->member_session[i];
    switch (leader->record.state) {
    case FPLT__FORMING:
    case FPLT__PLANNED:
        return !member_session->consented || (leader->asking && !member_session->answered);
    case FPLT__REPAIR: return !member_session->enrolled && fplt__is_standing(leader, i);
    case FPLT__ROUND:
        return leader->asking ? !member_session->answered : fplt__round_waits_for(leader, i);
    default: return 0;
    }
}

fplt__leader_view fplt__leader_get_view(const fplt__leader *leader)
{
    return (fplt__leader_view){.state = leader->record.state,
                               .paused = leader->paused,
                               .committing = leader->committing,
                               .evaluating = leader->asking != 0,
                               .incarnation = leader->record.incarnation,
                               .members = leader->settings.members,
                               .cohort = leader->cohort_size,
                               .received = leader->received,
                               .quorum = leader->opened ? fplt__round_quorum(leader) : 0,
                               .opened_now = leader->opened,
                               .round = leader->record.round,
                               .rounds = leader->stopping.rounds,
                               .opened = leader->since,
                               .deadline = leader->deadline,
                               .has_measure = leader->has_measured,
                               .measure = leader->measured,
                               .outcome = leader->record.outcome,
                               .sentence = leader->record.sentence,
                               .checks = leader->check_wanted,
                               .has_check = leader->has_check,
                               .check_equal = leader->check_equal,
                               .check_round = leader->check_round};
}

fplt__member_view fplt__leader_member(const fplt__leader *leader, uint32_t member_index)
{
    FPLT__ASSERT(member_index < leader->settings.members);
    const fplt__member_session *member_session = &leader->member_session[member_index];
    return (fplt__member_view){.standing = leader->row[member_index].standing,
                               .joined = member_session->session != 0,
                               .consented = member_session->consented,
                               .hessian = member_session->hessian,
                               .in_cohort = fplt__bit(leader->cohort, member_index),
                               .received = member_session->answers > leader->exchange,
                               .absent = member_session->absent,
                               .waited_for = is_waited_for(leader, member_index),
                               .heard = member_session->heard,
                               .last_heard = member_session->last_heard,
                               .version = leader->row[member_index].version,
                               .row = &leader->row[member_index]};
}

fplt_hub *fplt__leader_hub(fplt__leader *leader)
{
    return leader->hub;
}

const fplt__agreement *fplt__leader_agreement(const fplt__leader *leader)
{
    return leader->agreement;
}
