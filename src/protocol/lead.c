/* The coordinator's machine: sessions, forming, held polls, commits. */
#include "protocol/lead.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "protocol/leading.h"

enum { SESSION_BITS = 24, RETRY = 5000, HOLD = 25000 };
enum { LEAST_PATIENCE = 10000, MOST_PATIENCE = 3600000, FIRST_PATIENCE = 600000 };

const char *fplt__lead_state_name(fplt__lead_state state)
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
    shared->holders++;
}

void fplt__shared_release(fplt__shared *shared)
{
    if (shared && --shared->holders == 0)
        fplt__free(shared);
}

static void clear_actions(fplt__lead *lead)
{
    for (size_t a = 0; a < lead->actions; a++) {
        fplt__lead_action *action = &lead->action[a];
        for (unsigned p = 0; p < action->reply.parts; p++)
            fplt__shared_release(action->reply.part[p].owner);
        fplt__free(action->owned);
    }
    lead->actions = lead->taken = 0;
}

fplt__lead_action *fplt__lead_add(fplt__lead *lead, fplt__lead_action_kind kind)
{
    if (fplt__grow(&lead->action, &lead->action_room, lead->actions + 1, sizeof *lead->action,
                   "actions", NULL)) {
        lead->failed = 1;
        return NULL;
    }
    fplt__lead_action *action = &lead->action[lead->actions++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    action->step = -1;
    action->round = lead->record.round;
    return action;
}

void fplt__lead_say(fplt__lead *lead, uint32_t identity, const char *word, const char *format, ...)
{
    fplt__lead_action *action = fplt__lead_add(lead, FPLT__LEAD_SAY);
    va_list list;
    if (!action)
        return;
    action->identity = identity;
    snprintf(action->word, sizeof action->word, "%s", word);
    va_start(list, format);
    vsnprintf(action->sentence, sizeof action->sentence, format, list);
    va_end(list);
}

static fplt__reply *add_reply(fplt__lead *lead, uint64_t ticket, uint32_t identity, unsigned status)
{
    fplt__lead_action *action = fplt__lead_add(lead, FPLT__LEAD_REPLY);
    if (!action)
        return NULL;
    action->identity = identity;
    action->reply.ticket = ticket;
    action->reply.identity = identity;
    action->reply.status = status;
    return &action->reply;
}

/* The reply holds the bytes from here on; `shared` may be NULL where there was no memory. */
static void add_part(fplt__lead *lead, fplt__reply *reply, fplt__shared *shared)
{
    if (!shared || !reply) {
        lead->failed = 1;
        fplt__shared_release(shared);
        return;
    }
    reply->part[reply->parts].bytes = shared->bytes;
    reply->part[reply->parts].size = shared->size;
    reply->part[reply->parts++].owner = shared;
}

static void add_text(fplt__lead *lead, fplt__reply *reply, char *text)
{
    fplt_error error;
    fplt__shared *shared = NULL;
    if (text && !fplt__shared_make(strlen(text), &shared, &error))
        memcpy(shared->bytes, text, shared->size);
    if (reply)
        reply->json = 1;
    add_part(lead, reply, shared);
    fplt__free(text);
}

void fplt__lead_reply(fplt__lead *lead, uint64_t ticket, uint32_t identity, unsigned status)
{
    add_reply(lead, ticket, identity, status);
}

int fplt__lead_is_odd(const char *word)
{
    static const char *const words[] = {"malformed", "long", "other", "private", "range"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strcmp(word, words[k]) == 0)
            return 1;
    return 0;
}

void fplt__lead_fault(fplt__lead *lead, uint64_t ticket, uint32_t identity, unsigned status,
                      const char *word, int final, const char *format, ...)
{
    fplt__fault fault = {.final = final};
    fplt_error error;
    char *text = NULL;
    va_list list;
    va_start(list, format);
    vsnprintf(fault.sentence, sizeof fault.sentence, format, list);
    va_end(list);
    snprintf(fault.word, sizeof fault.word, "%s", word);
    if (strcmp(word, "closed") == 0)
        fplt__lead_say(lead, identity, "late", "%s", fault.sentence);
    else if (fplt__lead_is_odd(word))
        fplt__lead_say(lead, identity, "refused", "%s", fault.sentence);
    fplt__reply *reply = add_reply(lead, ticket, identity, status);
    if (reply)
        memcpy(reply->word, fault.word, sizeof reply->word);
    fplt__fault_text(&fault, &text, &error);
    add_text(lead, reply, text);
}

fplt_status fplt__lead_room(fplt__lead *lead, size_t count, fplt_error *error)
{
    return fplt__grow(&lead->words, &lead->word_room, 2 * count, sizeof *lead->words, "numbers",
                      error);
}

int fplt__lead_needs_all(const fplt__lead *lead)
{
    return !(lead->agreement->plan.algorithm->allows & FPLT_ALLOWS_PARTIAL);
}

/* auto: five times the slowest arrival in the last ten rounds, late or not. */
uint64_t fplt__lead_patience(const fplt__lead *lead)
{
    uint64_t most = 0;
    if (lead->settings.deadline)
        return lead->settings.deadline;
    for (int k = 0; k < 10; k++)
        most = lead->slowest[k].most > most ? lead->slowest[k].most : most;
    if (!lead->slow)
        return FIRST_PATIENCE;
    most *= 5;
    return most < LEAST_PATIENCE ? LEAST_PATIENCE : most > MOST_PATIENCE ? MOST_PATIENCE : most;
}

/* --- commits --- */

/* In place: the state before is needed no more once there is a later one to be committed. */
static fplt_status encode_hub(fplt__lead *lead)
{
    fplt_error error;
    size_t size = fplt_hub_encode(lead->hub, NULL, 0);
    fplt_status status =
        lead->hub_bytes ? FPLT_OK : fplt__shared_make(size, &lead->hub_bytes, &error);
    if (!status)
        fplt_hub_encode(lead->hub, lead->hub_bytes->bytes, size);
    return status;
}

static void ask_commit(fplt__lead *lead)
{
    fplt__lead_action *action = fplt__lead_add(lead, FPLT__LEAD_COMMIT);
    lead->retry = UINT64_MAX;
    if (action)
        action->record = &lead->record;
}

static void fill_record(fplt__lead *lead)
{
    fplt__lead_record *record = &lead->record;
    if (record->hub_changed && encode_hub(lead))
        lead->failed = 1;
    record->hub = lead->hub_bytes ? lead->hub_bytes->bytes : NULL;
    record->hub_size = lead->hub_bytes ? lead->hub_bytes->size : 0;
    record->document = lead->document->bytes;
    record->document_size = lead->document->size;
    record->closing = lead->closing;
    record->closings = lead->closing_count;
}

void fplt__lead_commit(fplt__lead *lead)
{
    fill_record(lead);
    lead->committing = 1;
    ask_commit(lead);
}

/* What the proposal gives; NULL where it says nothing, or auto. */
static const char *given_text(const fplt__agreement *agreement, const char *name)
{
    const fplt__proposal *proposal = &agreement->proposal;
    const char *text = fplt__pair_find(proposal->setting, proposal->settings, name);
    return text && strcmp(text, "auto") != 0 ? text : NULL;
}

static void say_diverged(fplt__lead *lead, const char *why)
{
    const fplt__agreement *agreement = lead->agreement;
    const fplt_plan *plan = &agreement->plan;
    const char *text = fplt__pair_find(agreement->resolved, agreement->resolves, "epochs");
    const fplt_setting *row = plan->algorithm->settings;
    double defaults[FPLT_MOST_PARAMETERS];
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
    fplt__diverged_sentence(&run, lead->record.round, why, lead->record.sentence,
                            sizeof lead->record.sentence);
}

void fplt__lead_finish(fplt__lead *lead, fplt__lead_state state, const char *word,
                       const char *sentence)
{
    if (lead->record.state == FPLT__DONE || lead->record.state == FPLT__ENDED)
        return;
    /* the model that is kept is the last committed */
    fplt_hub_abandon(lead->hub);
    if (!lead->hub_bytes)
        lead->record.hub_changed = 1;
    else
        fplt_hub_decode(lead->hub, lead->hub_bytes->bytes, lead->hub_bytes->size, NULL);
    lead->record.state = state;
    lead->opened = 0;
    lead->asking = 0;
    snprintf(lead->record.outcome, sizeof lead->record.outcome, "%s", word);
    if (strcmp(word, "diverged") == 0)
        say_diverged(lead, sentence);
    else
        snprintf(lead->record.sentence, sizeof lead->record.sentence, "%s", sentence);
    fplt__lead_say(lead, UINT32_MAX, "done", "%s", lead->record.sentence);
    if (lead->committing) /* it failed and will be tried again: with this */
        fill_record(lead);
    else
        fplt__lead_commit(lead);
}

static void committed(fplt__lead *lead)
{
    lead->committing = 0;
    lead->commits++;
    lead->record.trace = NULL;
    lead->record.hub_changed = lead->record.document_changed = lead->record.has_measure = 0;
    memset(lead->changed, 0, (lead->settings.members + 7) / 8);
    int over = lead->record.state == FPLT__DONE || lead->record.state == FPLT__ENDED;
    if (over && !lead->finished_said) {
        lead->finished_said = 1;
        fplt__lead_add(lead, FPLT__LEAD_FINISHED);
    }
}

/* --- create, open --- */

static fplt_status allocate(fplt__lead *lead, fplt_error *error)
{
    size_t members = lead->settings.members, bytes = (members + 7) / 8;
    const char *what = "the coordinator";
    fplt_status status;
    if ((status = fplt__alloc_into(&lead->row, members, sizeof *lead->row, what, error)) ||
        (status = fplt__alloc_into(&lead->guest, members, sizeof *lead->guest, what, error)) ||
        (status = fplt__alloc_into(&lead->active, members, sizeof *lead->active, what, error)) ||
        (status = fplt__alloc_into(&lead->changed, bytes, 1, what, error)) ||
        (status = fplt__alloc_into(&lead->accepted, bytes, 1, what, error)))
        return status;
    return fplt__alloc_into(&lead->cohort, bytes, 1, what, error);
}

fplt_status fplt__lead_create(const fplt__lead_settings *settings, fplt__lead **out,
                              fplt_error *error)
{
    fplt__lead *lead;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&lead, 1, sizeof *lead, "the coordinator", error);
    if (status)
        return status;
    lead->settings = *settings;
    lead->retry = UINT64_MAX;
    if ((status = allocate(lead, error))) {
        fplt__lead_destroy(lead);
        return status;
    }
    lead->record.members = settings->members;
    lead->record.member = lead->row;
    lead->record.changed = lead->changed;
    lead->record.cohort = lead->cohort;
    *out = lead;
    return FPLT_OK;
}

void fplt__lead_destroy(fplt__lead *lead)
{
    if (!lead)
        return;
    clear_actions(lead);
    fplt__shared *const shared[] = {lead->document, lead->start, lead->hub_bytes, lead->down,
                                    lead->ask_down};
    for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
        fplt__shared_release(shared[k]);
    for (size_t k = 0; k < lead->closing_count; k++)
        fplt__free((double *)lead->closing[k].vector);
    if (lead->agreement)
        fplt__agreement_clear(lead->agreement);
    fplt__free(lead->agreement);
    fplt_hub_destroy(lead->hub);
    fplt_participation_destroy(lead->participation);
    fplt_prox_destroy(lead->prox);
    fplt_sum_destroy(lead->ask_sum);
    fplt_sum_destroy(lead->enrol_sum);
    void *const owned[] = {lead->closing, lead->row,        lead->guest,    lead->active,
                           lead->changed, lead->cohort,     lead->accepted, lead->point,
                           lead->before,  lead->model,      lead->numbers,  lead->words,
                           lead->action,  lead->information};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        fplt__free(owned[k]);
    fplt__free(lead);
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
static fplt_status adopt_plan(fplt__lead *lead, fplt__lead_plan *plan, fplt_error *error)
{
    const fplt__agreement *a = plan->agreement;
    fplt_status status;
    lead->agreement = plan->agreement;
    lead->hub = plan->hub;
    lead->participation = plan->participation;
    lead->prox = plan->prox;
    size_t n = lead->n = a->plan.dimension, most = n;
    lead->shape = fplt_algorithm_shape(a->plan.algorithm, a->plan.parameter, n);
    lead->stopping = (fplt__stopping){.rounds = a->rounds,
                                      .tolerance = a->tolerance,
                                      .change = a->change,
                                      .relative = a->relative,
                                      .evaluate_every = a->evaluate_every,
                                      .blind = a->private,
                                      .smoothness = lead->settings.members * a->curvature.highest};
    for (unsigned e = 0; e <= lead->shape.exchanges; e++)
        most = fplt_plan_down(&a->plan, e) > most ? fplt_plan_down(&a->plan, e) : most;
    const char *what = "the coordinator";
    if ((status = fplt__alloc_into(&lead->point, n, sizeof *lead->point, what, error)) ||
        (status = fplt__alloc_into(&lead->before, n, sizeof *lead->before, what, error)) ||
        (status = fplt__alloc_into(&lead->model, n, sizeof *lead->model, what, error)) ||
        (status = fplt__alloc_into(&lead->numbers, most, sizeof *lead->numbers, what, error)) ||
        (status = keep_bytes(&lead->start, NULL, plan->start ? 8 * n : 0, error)))
        return status;
    if (plan->start)
        fplt__put_reals(lead->start->bytes, plan->start, n);
    return FPLT_OK;
}

static fplt_status load_closings(fplt__lead *lead, const fplt__lead_record *record,
                                 fplt_error *error)
{
    size_t count = fplt_plan_down(&lead->agreement->plan, lead->shape.exchanges);
    fplt_status status = fplt__grow(&lead->closing, &lead->closing_room, record->closings,
                                    sizeof *lead->closing, "closing vectors", error);
    for (size_t k = 0; k < record->closings && !status; k++) {
        double *vector;
        status = fplt__alloc_into(&vector, count, sizeof *vector, "a closing vector", error);
        if (status)
            return status;
        memcpy(vector, record->closing[k].vector, count * sizeof *vector);
        lead->closing[lead->closing_count++] = (fplt__closing){record->closing[k].round, vector};
    }
    return status;
}

static fplt_status load_run(fplt__lead *lead, const fplt__lead_record *record,
                            fplt__lead_plan *plan, fplt_error *error)
{
    fplt_status status = adopt_plan(lead, plan, error);
    if (status || record->state == FPLT__PLANNED)
        return status;
    if ((status = fplt_hub_decode(lead->hub, record->hub, record->hub_size, error)) ||
        (status = load_closings(lead, record, error)))
        return status;
    if (encode_hub(lead))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the coordinator's state");
    for (uint32_t i = 0; i < lead->settings.members; i++)
        lead->cohort_size += (uint32_t)fplt__bit(lead->cohort, i);
    return FPLT_OK;
}

static void advance(fplt__lead *lead);
static uint64_t wake_of(const fplt__lead *lead);

fplt_status fplt__lead_open(fplt__lead *lead, uint64_t now, const fplt__lead_record *record,
                            fplt__lead_plan *plan, fplt_error *error)
{
    size_t members = lead->settings.members, bytes = (members + 7) / 8;
    lead->now = now;
    fplt__lead_record *own = &lead->record;
    own->state = record->state;
    own->hash = record->hash;
    own->leg = record->leg;
    own->round = record->round;
    own->has_start = record->has_start;
    own->start = record->start;
    memcpy(own->outcome, record->outcome, sizeof own->outcome);
    memcpy(own->sentence, record->sentence, sizeof own->sentence);
    if (record->member)
        memcpy(lead->row, record->member, members * sizeof *lead->row);
    if (record->cohort)
        memcpy(lead->cohort, record->cohort, bytes);
    fplt_status status =
        keep_bytes(&lead->document, record->document, record->document_size, error);
    if (!status && plan && plan->agreement)
        status = load_run(lead, record, plan, error);
    if (status)
        return status;
    lead->due = own->state == FPLT__ROUND;
    lead->finished_said = own->state == FPLT__DONE || own->state == FPLT__ENDED;
    if (own->state < FPLT__ROUND) /* --repair is for what is found here, not for a later loss */
        lead->settings.repair = 0;
    if (lead->settings.repair && (own->state == FPLT__HALTED || own->state == FPLT__ROUND)) {
        fplt__repair_begin(lead);
        fplt__lead_commit(lead);
    }
    advance(lead);
    return lead->failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory") : FPLT_OK;
}

void fplt__lead_reload(fplt__lead *lead, const fplt__lead_settings *settings)
{
    lead->settings.deadline = settings->deadline;
    lead->settings.silence = settings->silence;
    lead->settings.hold = settings->hold;
    if (lead->opened)
        lead->deadline = lead->since + fplt__lead_patience(lead);
}

/* --- forming --- */

static void check_forming(fplt__lead *lead)
{
    if (lead->resolving || lead->asking || lead->committing ||
        (lead->record.state != FPLT__FORMING && lead->record.state != FPLT__PLANNED))
        return;
    for (uint32_t i = 0; i < lead->settings.members; i++)
        if (!lead->guest[i].consented)
            return;
    if (lead->record.state == FPLT__FORMING) {
        lead->resolving = 1;
        fplt__lead_add(lead, FPLT__LEAD_RESOLVE);
        return;
    }
    fplt__digest none = {{0}};
    for (uint32_t i = 0; i < lead->settings.members; i++) {
        lead->row[i].chain = fplt__chain_begin(&lead->record.hash, 0, i, &none);
        lead->row[i].records = lead->agreement->records ? lead->agreement->records[i] : 0;
        fplt__bit_set(lead->changed, i, 1);
    }
    lead->record.state = FPLT__ROUND;
    lead->record.hub_changed = 1;
    lead->due = 1;
    fplt__round_choose(lead);
    fplt__lead_say(lead, UINT32_MAX, "opened", "all have consented: round 0");
    fplt__lead_commit(lead);
}

static void take_plan(fplt__lead *lead, const fplt__lead_event *event)
{
    fplt_error error;
    lead->resolving = 0;
    if (keep_bytes(&lead->document, event->document, event->document_size, &error) ||
        adopt_plan(lead, event->plan, &error)) {
        lead->failed = 1;
        return;
    }
    lead->record.hash = fplt__document_hash(event->document, event->document_size);
    lead->record.state = FPLT__PLANNED;
    lead->record.document_changed = 1;
    for (uint32_t i = 0; i < lead->settings.members; i++)
        lead->guest[i].consented = 0;
    fplt__lead_commit(lead);
}

static void take_consent(fplt__lead *lead, const fplt__request *request)
{
    fplt__consent consent;
    fplt_error error;
    uint32_t i = request->identity;
    fplt__guest *guest = &lead->guest[i];
    if (fplt__consent_read(request->body, request->size, &consent, &error)) {
        fplt__lead_fault(lead, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    if (!fplt__same(&consent.document, &lead->record.hash) || lead->committing) {
        fplt__lead_fault(lead, request->ticket, i, 409, "plan", 0, "another document is proposed");
        return;
    }
    guest->consented = consent.agreed;
    guest->refused = !consent.agreed;
    if (lead->record.state == FPLT__FORMING)
        lead->row[i].records = consent.records, guest->hessian = consent.hessian;
    fplt__lead_say(lead, i, consent.agreed ? "consent" : "refused", "%s",
                   !consent.agreed                       ? consent.sentence
                   : lead->record.state == FPLT__FORMING ? "agrees to the proposal"
                                                         : "agrees to the plan");
    fplt__lead_reply(lead, request->ticket, i, 200);
    check_forming(lead);
}

/* --- sessions --- */

static void let_go(fplt__lead *lead, uint32_t i, const char *word, int final)
{
    fplt__guest *guest = &lead->guest[i];
    if (guest->ticket)
        fplt__lead_fault(lead, guest->ticket, i, 409, word, final,
                         final ? "another process of this member has joined"
                               : "a newer request has come");
    guest->ticket = 0;
}

static void answer_join(fplt__lead *lead, const fplt__request *request)
{
    uint32_t i = request->identity;
    fplt_error error;
    char *text = NULL;
    fplt__joined joined = {.session = lead->guest[i].session,
                           .identity = i,
                           .document = lead->record.hash,
                           .planned = lead->record.state != FPLT__FORMING,
                           .has_charged = lead->row[i].has_charged,
                           .charged = lead->row[i].charged};
    fplt__joined_text(&joined, &text, &error);
    add_text(lead, add_reply(lead, request->ticket, i, 200), text);
}

/* A process that joins again keeps its session; another one gets a new session, which ends the old one. */
static void join(fplt__lead *lead, const fplt__request *request)
{
    uint32_t i = request->identity;
    fplt__guest *guest = &lead->guest[i];
    fplt__join wanted;
    fplt_error error;
    if (fplt__join_read(request->body, request->size, &wanted, &error)) {
        fplt__lead_fault(lead, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    int is_same = guest->session && wanted.process && guest->process == wanted.process;
    let_go(lead, i, is_same ? "old" : "superseded", !is_same);
    if (!is_same) {
        guest->session =
            (lead->settings.process >> SESSION_BITS << SESSION_BITS) + ++lead->sessions;
        guest->sequence = 0;
        guest->process = wanted.process;
        fplt__lead_say(lead, i, "joined", "session %llu", (unsigned long long)lead->sessions);
    }
    answer_join(lead, request);
}

/* Whether the request is of the newest session and newer than all before it. */
static int is_current(fplt__lead *lead, const fplt__request *request)
{
    uint32_t i = request->identity;
    fplt__guest *guest = &lead->guest[i];
    if (FPLT__PLANTED(FPLT__NO_SESSION))
        return 1;
    if (request->session >> SESSION_BITS != lead->settings.process >> SESSION_BITS ||
        !guest->session) {
        fplt__lead_fault(lead, request->ticket, i, 409, "join", 0, "this session is not known");
        return 0;
    }
    if (request->session != guest->session) {
        fplt__lead_fault(lead, request->ticket, i, 409, "superseded", 1,
                         "another process of this member has joined");
        return 0;
    }
    if (request->sequence <= guest->sequence) {
        fplt__lead_fault(lead, request->ticket, i, 409, "old", 0, "a newer request has come");
        return 0;
    }
    guest->sequence = request->sequence;
    return 1;
}

/* --- answers to polls --- */

static void add_frame(fplt__lead *lead, fplt__reply *reply, const uint8_t head[FPLT__FRAME_HEAD],
                      fplt__shared *body)
{
    fplt_error error;
    fplt__shared *front = NULL;
    if (!fplt__shared_make(FPLT__FRAME_HEAD, &front, &error))
        memcpy(front->bytes, head, FPLT__FRAME_HEAD);
    add_part(lead, reply, front);
    if (body && body->size) {
        fplt__shared_hold(body);
        add_part(lead, reply, body);
    }
}

/* Accepted (exchange 0, cohort 1), refused (cohort 0), or the leg is open (exchange 1). */
static void add_verdict(fplt__lead *lead, fplt__reply *reply, uint32_t i, uint64_t round,
                        int accepted, int opened)
{
    fplt_error error;
    const fplt__closing *closing = accepted && !opened ? fplt__closing_of(lead, round) : NULL;
    size_t count = closing ? fplt_plan_down(&lead->agreement->plan, lead->shape.exchanges) : 0;
    fplt__shared *body = NULL;
    uint8_t head[FPLT__FRAME_HEAD];
    if (fplt__shared_make(8 * count, &body, &error)) {
        lead->failed = 1;
        return;
    }
    if (closing)
        fplt__put_reals(body->bytes, closing->vector, count);
    fplt__frame frame = {.kind = FPLT__VERDICT,
                         .exchange = (uint8_t)opened,
                         .encoding = FPLT__DOUBLES,
                         .leg = lead->record.leg,
                         .identity = i,
                         .round = round,
                         .cohort = (uint32_t)accepted,
                         .version = lead->row[i].version,
                         .count = count,
                         .payload = 8 * count,
                         .plan = lead->record.hash,
                         .digest = fplt__body_hash(body->bytes, body->size)};
    fplt__frame_write(&frame, head);
    add_frame(lead, reply, head, body);
    fplt__shared_release(body);
}

static void add_end(fplt__lead *lead, fplt__reply *reply, uint32_t i)
{
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    fplt__repair_head(lead, i, head, &model);
    head[5] = FPLT__END;
    if (model)
        add_frame(lead, reply, head, model);
    fplt__shared_release(model);
}

/* None where the run is halted: it would take the place of the proof that shows this copy to be old. */
static void add_proof(const fplt__lead *lead, fplt__reply *reply, uint32_t i)
{
    fplt__lead_state state = lead->record.state;
    if (!lead->agreement || state < FPLT__ROUND || state == FPLT__HALTED)
        return;
    reply->has_proof = 1;
    reply->proof = (fplt__proof){.leg = lead->record.leg,
                                 .round = lead->record.round,
                                 .version = lead->row[i].version,
                                 .chain = lead->row[i].chain};
    fplt__proof_sign(&reply->proof, &lead->record.hash, i, lead->settings.receipt_key);
}

static int must_refuse(const fplt__lead *lead, uint32_t i)
{
    const fplt__guest *guest = &lead->guest[i];
    return guest->finding == FPLT__KNOWN && guest->report.has_staged &&
           (guest->report.staged.round != lead->record.round || lead->record.state == FPLT__REPAIR);
}

/* Whose vectors are in for the next leg hears no verdict of the last one: they would change. */
static int hears_verdicts(const fplt__lead *lead, uint32_t i)
{
    return lead->record.state != FPLT__REPAIR || !lead->guest[i].enrolled;
}

/* What a member can be told now; nothing: 0. */
static int has_news(const fplt__lead *lead, uint32_t i)
{
    const fplt__guest *guest = &lead->guest[i];
    fplt__lead_state state = lead->record.state;
    if (state == FPLT__FORMING)
        return lead->asking && guest->consented && !guest->answered;
    if (state == FPLT__PLANNED || state == FPLT__HALTED)
        return 0;
    if (state == FPLT__DONE || state == FPLT__ENDED)
        return lead->hub != NULL;
    if (hears_verdicts(lead, i) && (guest->finding == FPLT__ACCEPTED ||
                                    guest->finding == FPLT__OPENED || must_refuse(lead, i)))
        return 1;
    if (state == FPLT__REPAIR)
        return !guest->enrolled && fplt__is_standing(lead, i);
    if (guest->finding == FPLT__LOST)
        return guest->enrols && fplt__is_standing(lead, i);
    if (lead->asking)
        return !guest->answered;
    return !lead->paused && fplt__round_waits_for(lead, i);
}

static void add_news(fplt__lead *lead, fplt__reply *reply, uint32_t i)
{
    fplt__guest *guest = &lead->guest[i];
    fplt__lead_state state = lead->record.state;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *model = NULL;
    int hears = hears_verdicts(lead, i);
    if (hears && guest->finding == FPLT__ACCEPTED)
        add_verdict(lead, reply, i, lead->row[i].last_round, 1, 0);
    if (hears && guest->finding == FPLT__OPENED)
        add_verdict(lead, reply, i, lead->record.round, 1, 1);
    if (hears && must_refuse(lead, i))
        add_verdict(lead, reply, i, guest->report.staged.round, 0, 0);
    if (state == FPLT__DONE || state == FPLT__ENDED) {
        add_end(lead, reply, i);
    } else if (fplt__is_standing(lead, i) &&
               ((state == FPLT__REPAIR && !guest->enrolled) ||
                (state == FPLT__ROUND && guest->finding == FPLT__LOST && guest->enrols))) {
        fplt__repair_head(lead, i, head, &model);
        if (model)
            add_frame(lead, reply, head, model);
        fplt__shared_release(model);
    } else if (lead->asking && !guest->answered) {
        fplt__ask_head(lead, i, head);
        add_frame(lead, reply, head, lead->ask_down);
    } else if (!lead->asking && !lead->paused && guest->finding != FPLT__LOST &&
               fplt__round_waits_for(lead, i)) {
        fplt__round_head(lead, i, head);
        add_frame(lead, reply, head, lead->down);
        lead->bytes_down += FPLT__FRAME_HEAD + lead->down->size;
    }
}

void fplt__lead_tell(fplt__lead *lead)
{
    uint64_t hold = lead->settings.hold ? lead->settings.hold : HOLD;
    for (uint32_t i = 0; i < lead->settings.members; i++) {
        fplt__guest *guest = &lead->guest[i];
        if (!guest->ticket)
            continue;
        int ready = !lead->committing || FPLT__PLANTED(FPLT__EARLY_VERDICT);
        int news = ready && has_news(lead, i);
        if (!news && lead->now - guest->since < hold)
            continue;
        fplt__reply *reply = add_reply(lead, guest->ticket, i, news ? 200 : 204);
        if (reply && ready)
            add_proof(lead, reply, i);
        if (reply && news)
            add_news(lead, reply, i);
        guest->ticket = 0;
    }
}

/* --- requests --- */

/* The largest receipt counts; its rounds are of this run only where it says so. */
static void keep_receipt(fplt__lead *lead, uint32_t i, const fplt__report *report)
{
    fplt__member_row *row = &lead->row[i];
    const fplt__receipt *receipt = &report->charged.receipt;
    int is_of_run = memcmp(receipt->run, &report->plan, sizeof report->plan) == 0;
    if (!report->has_charged || !(fplt__receipt_exceeds(receipt, &row->charged.receipt) ||
                                  (is_of_run && receipt->rounds > row->charges)))
        return;
    row->has_charged = 1;
    row->charged = report->charged;
    if (is_of_run)
        row->charges = receipt->rounds;
    fplt__bit_set(lead->changed, i, 1);
}

/* The request becomes the poll of its member. */
static void keep_report(fplt__lead *lead, const fplt__request *request, const fplt__report *report)
{
    uint32_t i = request->identity;
    fplt__guest *guest = &lead->guest[i];
    let_go(lead, i, "old", 0);
    keep_receipt(lead, i, report);
    guest->report = *report;
    guest->finding = FPLT__UNHEARD;
    guest->ticket = request->ticket;
    guest->since = lead->now;
}

/* Reads a report of the plan in force, or refuses the request. */
static int read_report(fplt__lead *lead, const fplt__request *request, const void *text,
                       size_t size, fplt__report *report)
{
    fplt_error error;
    if (fplt__report_read(text, size, report, &error)) {
        fplt__lead_fault(lead, request->ticket, request->identity, 400, "malformed", 1, "%s",
                         error.text);
        return 0;
    }
    if (!fplt__same(&report->plan, &lead->record.hash)) {
        fplt__lead_fault(lead, request->ticket, request->identity, 409, "plan", 0,
                         "another plan is in force");
        return 0;
    }
    return 1;
}

static void take_report(fplt__lead *lead, const fplt__request *request)
{
    fplt__report report;
    if (read_report(lead, request, request->body, request->size, &report))
        keep_report(lead, request, &report);
}

void fplt__lead_taken(fplt__lead *lead, const fplt__request *request, unsigned status)
{
    if (lead->has_rider)
        keep_report(lead, request, &lead->rider);
    else
        fplt__lead_reply(lead, request->ticket, request->identity, status);
}

static void take_update(fplt__lead *lead, const fplt__request *request)
{
    fplt__frame frame;
    fplt__fault fault;
    fplt_error error;
    uint32_t i = request->identity;
    if (request->size < FPLT__FRAME_HEAD) {
        fplt__lead_fault(lead, request->ticket, i, 400, "malformed", 1, "not a frame");
        return;
    }
    unsigned status = fplt__lead_peek(lead, request, request->body, request->size, &fault);
    const uint8_t *body = (const uint8_t *)request->body + FPLT__FRAME_HEAD;
    if (status) {
        fplt__lead_fault(lead, request->ticket, i, status, fault.word, fault.final, "%s",
                         fault.sentence);
        return;
    }
    if (fplt__frame_read(request->body, &frame, &error) ||
        (request->digest
             ? fplt__frame_check_digest(&frame, request->digest, &error)
             : fplt__frame_check_body(&frame, body, (size_t)fplt__frame_body(&frame), &error))) {
        fplt__lead_fault(lead, request->ticket, i, 400, "malformed", 1, "%s", error.text);
        return;
    }
    const uint8_t *behind = body + fplt__frame_body(&frame);
    size_t left = request->size - FPLT__FRAME_HEAD - (size_t)fplt__frame_body(&frame);
    lead->has_rider = left > 0;
    if (left && !read_report(lead, request, behind, left, &lead->rider))
        return;
    if (frame.kind == FPLT__TRAIN)
        fplt__round_update(lead, request, &frame, body);
    else if (frame.kind == FPLT__ENROL)
        fplt__repair_update(lead, request, &frame, body);
    else
        fplt__ask_update(lead, request, &frame, body);
}

static unsigned refuse(fplt__fault *fault, unsigned status, const char *word, int final,
                       const char *sentence)
{
    fault->final = final;
    snprintf(fault->word, sizeof fault->word, "%s", word);
    snprintf(fault->sentence, sizeof fault->sentence, "%.400s", sentence);
    return status;
}

unsigned fplt__lead_peek(fplt__lead *lead, const fplt__request *request,
                         const uint8_t head[FPLT__FRAME_HEAD], uint64_t content_length,
                         fplt__fault *fault)
{
    fplt__frame frame;
    fplt_error error;
    if (content_length > fplt__lead_longest(lead))
        return refuse(fault, 413, "long", 1, "no message is that long");
    if (fplt__frame_read(head, &frame, &error))
        return refuse(fault, 400, "malformed", 1, error.text);
    uint64_t needed = FPLT__FRAME_HEAD + fplt__frame_body(&frame);
    if (frame.identity != request->identity || !fplt__same(&frame.plan, &lead->record.hash) ||
        content_length < needed || content_length - needed > FPLT__MESSAGE_LIMIT)
        return refuse(fault, 409, "other", 0, "of another member, plan or length");
    if (frame.kind == FPLT__VERDICT || frame.kind == FPLT__END)
        return refuse(fault, 400, "malformed", 1, "a kind that only the coordinator sends");
    int measures =
        frame.kind != FPLT__TRAIN && frame.kind != FPLT__ENROL && frame.kind != FPLT__CHECK;
    if (lead->agreement && lead->agreement->private && measures)
        return refuse(fault, 409, "private", 1, "with privacy nothing is measured");
    if (lead->committing || lead->record.state == FPLT__HALTED)
        return refuse(fault, 503, "busy", 0, "nothing is taken just now");
    if (lead->record.state == FPLT__DONE || lead->record.state == FPLT__ENDED)
        return refuse(fault, 409, "closed", 0, "the run has ended");
    return 0;
}

uint64_t fplt__lead_longest(const fplt__lead *lead)
{
    uint64_t most = FPLT__MESSAGE_LIMIT;
    if (lead->agreement) {
        const fplt_plan *plan = &lead->agreement->plan;
        uint64_t numbers = fplt_plan_enrol_words(plan) / 2;
        for (unsigned e = 0; e < lead->shape.exchanges; e++)
            numbers = fplt_plan_up(plan, e) > numbers ? fplt_plan_up(plan, e) : numbers;
        if (numbers < lead->n + FPLT_MEASURES)
            numbers = lead->n + FPLT_MEASURES;
        most = fplt__frame_limit(0, numbers) > most ? fplt__frame_limit(0, numbers) : most;
    }
    if (lead->asking) {
        uint64_t asked = fplt__frame_limit(lead->ask_scalars, lead->ask_numbers);
        most = asked > most ? asked : most;
    }
    return most + FPLT__MESSAGE_LIMIT; /* a report behind it */
}

static void give(fplt__lead *lead, const fplt__request *request)
{
    fplt__reply *reply;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__shared *bytes = request->kind == FPLT__DOCUMENT ? lead->document : lead->start;
    if (request->kind == FPLT__MODEL) {
        if (lead->record.state < FPLT__DONE || !lead->hub) {
            fplt__lead_fault(lead, request->ticket, request->identity, 409, "running", 0,
                             "the run has not ended");
            return;
        }
        fplt__repair_head(lead, request->identity, head, &bytes);
        add_part(lead, add_reply(lead, request->ticket, request->identity, 200), bytes);
        return;
    }
    if (request->kind == FPLT__START && (!bytes || !bytes->size)) { /* of a plan that is not here */
        fplt__lead_fault(lead, request->ticket, request->identity, 409, "plan", 0,
                         "there is no plan here that begins at a vector");
        return;
    }
    reply = add_reply(lead, request->ticket, request->identity, 200);
    if (!reply || !bytes)
        return;
    reply->json = request->kind == FPLT__DOCUMENT;
    reply->etag = lead->record.hash;
    fplt__shared_hold(bytes);
    add_part(lead, reply, bytes);
}

static void hear(fplt__lead *lead, uint32_t i)
{
    lead->guest[i].heard = 1;
    lead->guest[i].last_heard = lead->now;
}

static void take_request(fplt__lead *lead, const fplt__request *request)
{
    if (request->identity >= lead->settings.members) {
        fplt__lead_fault(lead, request->ticket, request->identity, 403, "roster", 1,
                         "not on the roster");
        return;
    }
    hear(lead, request->identity);
    if (request->kind == FPLT__JOIN) {
        join(lead, request);
        return;
    }
    if (request->kind == FPLT__DOCUMENT || request->kind == FPLT__START ||
        request->kind == FPLT__MODEL) {
        give(lead, request);
        return;
    }
    if (!is_current(lead, request))
        return;
    if (request->kind == FPLT__CONSENT)
        take_consent(lead, request);
    else if (request->kind == FPLT__NEXT)
        take_report(lead, request);
    else
        take_update(lead, request);
}

/* --- events --- */

static void gone(fplt__lead *lead, uint64_t ticket)
{
    for (uint32_t i = 0; i < lead->settings.members; i++)
        if (lead->guest[i].ticket == ticket)
            lead->guest[i].ticket = 0;
}

static void revoke(fplt__lead *lead, uint32_t i)
{
    if (i >= lead->settings.members || lead->row[i].standing == FPLT__REVOKED)
        return;
    lead->row[i].standing = FPLT__REVOKED;
    lead->guest[i].ticket = 0;
    fplt__bit_set(lead->changed, i, 1);
    fplt__lead_say(lead, i, "revoked", "its certificate is revoked");
    /* a repair is looked at after every event; a halted run waits for the operator */
    if (lead->record.state == FPLT__ROUND && fplt__lead_needs_all(lead))
        fplt__lead_end_without(lead, i, "the algorithm needs all members");
    else
        fplt__round_look(lead);
}

/* Judges reports that just came, and those held since before the last commit. */
static void judge_reports(fplt__lead *lead)
{
    for (uint32_t i = 0; i < lead->settings.members; i++) {
        int ready = !lead->committing || FPLT__PLANTED(FPLT__EARLY_VERDICT);
        fplt__guest *guest = &lead->guest[i];
        if (!guest->ticket || !ready ||
            (guest->finding != FPLT__UNHEARD && guest->judged == lead->commits))
            continue;
        guest->judged = lead->commits;
        if (fplt__same(&guest->report.plan, &lead->record.hash)) {
            fplt__report_act(lead, i);
        } else { /* held since before there was a plan */
            fplt__lead_fault(lead, guest->ticket, i, 409, "plan", 0, "another plan is in force");
            guest->ticket = 0;
        }
    }
}

/* Whatever can happen now without another event. */
static void advance(fplt__lead *lead)
{
    if (lead->committing && lead->now >= lead->retry)
        ask_commit(lead);
    judge_reports(lead);
    if (!lead->committing && lead->record.state == FPLT__ROUND) {
        if (lead->due && !lead->asking)
            fplt__ask_begin(lead);
        fplt__ask_look(lead);
        if (!lead->due && !lead->opened && !lead->committing && lead->record.state == FPLT__ROUND)
            fplt__round_open(lead);
        if (!lead->paused)
            fplt__round_look(lead);
    }
    fplt__repair_look(lead);
    fplt__lead_tell(lead);
    lead->wake = wake_of(lead);
}

fplt_status fplt__lead_handle(fplt__lead *lead, const fplt__lead_event *event, fplt_error *error)
{
    clear_actions(lead);
    lead->now = event->now > lead->now ? event->now : lead->now;
    lead->failed = 0;
    switch (event->kind) {
    case FPLT__LEAD_TIME: break;
    case FPLT__LEAD_REQUEST: take_request(lead, &event->request); break;
    case FPLT__LEAD_GONE: gone(lead, event->ticket); break;
    case FPLT__LEAD_HEARD: hear(lead, event->identity); break;
    case FPLT__LEAD_COMMITTED:
        committed(lead);
        check_forming(lead);
        break;
    case FPLT__LEAD_FAILED:
        lead->retry = lead->now + RETRY;
        fplt__lead_say(lead, UINT32_MAX, "disk", "the state cannot be stored; again in 5 s");
        break;
    case FPLT__LEAD_ASK:
        lead->resolving = 0;
        fplt__ask_facts(lead, &event->ask);
        break;
    case FPLT__LEAD_PLAN: take_plan(lead, event); break;
    case FPLT__LEAD_REFUSE:
        lead->resolving = 0;
        lead->record.state = FPLT__ENDED;
        snprintf(lead->record.outcome, sizeof lead->record.outcome, "refused");
        snprintf(lead->record.sentence, sizeof lead->record.sentence, "%s", event->sentence);
        fplt__lead_commit(lead);
        break;
    case FPLT__LEAD_PAUSE: lead->paused = 1; break;
    case FPLT__LEAD_RESUME:
        lead->paused = 0;
        lead->since = lead->now;
        lead->deadline = lead->now + fplt__lead_patience(lead);
        break;
    case FPLT__LEAD_END:
        if (lead->hub)
            fplt__lead_finish(lead, FPLT__ENDED, "ended", "ended by a person");
        break;
    case FPLT__LEAD_CHECK: lead->check_wanted = 1; break;
    case FPLT__LEAD_REVOKE: revoke(lead, event->identity); break;
    }
    advance(lead);
    return lead->failed ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for an answer")
                        : FPLT_OK;
}

const fplt__lead_action *fplt__lead_action_take(fplt__lead *lead)
{
    return lead->taken < lead->actions ? &lead->action[lead->taken++] : NULL;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t wake_of(const fplt__lead *lead)
{
    uint64_t wake = lead->committing ? lead->retry : UINT64_MAX;
    uint64_t hold = lead->settings.hold ? lead->settings.hold : HOLD;
    if (lead->opened && !lead->paused)
        wake = earlier(wake, lead->deadline > lead->now ? lead->deadline : lead->now + 1000);
    if (lead->asking)
        wake = earlier(wake, lead->ask_deadline);
    for (uint32_t i = 0; i < lead->settings.members; i++)
        if (lead->guest[i].ticket)
            wake = earlier(wake, lead->guest[i].since + hold);
    return wake;
}

uint64_t fplt__lead_wake(const fplt__lead *lead)
{
    return lead->wake;
}

/* --- what can be seen --- */

static int is_waited_for(const fplt__lead *lead, uint32_t i)
{
    const fplt__guest *guest = &lead->guest[i];
    switch (lead->record.state) {
    case FPLT__FORMING:
    case FPLT__PLANNED: return !guest->consented || (lead->asking && !guest->answered);
    case FPLT__REPAIR: return !guest->enrolled && fplt__is_standing(lead, i);
    case FPLT__ROUND: return lead->asking ? !guest->answered : fplt__round_waits_for(lead, i);
    default: return 0;
    }
}

fplt__lead_view fplt__lead_see(const fplt__lead *lead)
{
    return (fplt__lead_view){.state = lead->record.state,
                             .paused = lead->paused,
                             .committing = lead->committing,
                             .evaluating = lead->asking != 0,
                             .leg = lead->record.leg,
                             .members = lead->settings.members,
                             .cohort = lead->cohort_size,
                             .received = lead->received,
                             .quorum = lead->opened ? fplt__round_quorum(lead) : 0,
                             .opened_now = lead->opened,
                             .round = lead->record.round,
                             .rounds = lead->stopping.rounds,
                             .opened = lead->since,
                             .deadline = lead->deadline,
                             .has_measure = lead->has_measured,
                             .measure = lead->measured,
                             .outcome = lead->record.outcome,
                             .sentence = lead->record.sentence,
                             .checks = lead->check_wanted,
                             .has_check = lead->has_check,
                             .check_equal = lead->check_equal,
                             .check_round = lead->check_round};
}

fplt__member_view fplt__lead_member(const fplt__lead *lead, uint32_t identity)
{
    const fplt__guest *guest = &lead->guest[identity];
    return (fplt__member_view){.standing = lead->row[identity].standing,
                               .joined = guest->session != 0,
                               .consented = guest->consented,
                               .hessian = guest->hessian,
                               .in_cohort = fplt__bit(lead->cohort, identity),
                               .received = guest->answers > lead->exchange,
                               .absent = guest->absent,
                               .waited_for = is_waited_for(lead, identity),
                               .heard = guest->heard,
                               .last_heard = guest->last_heard,
                               .version = lead->row[identity].version,
                               .row = &lead->row[identity]};
}

fplt_hub *fplt__lead_hub(fplt__lead *lead)
{
    return lead->hub;
}

const fplt__agreement *fplt__lead_agreement(const fplt__lead *lead)
{
    return lead->agreement;
}
