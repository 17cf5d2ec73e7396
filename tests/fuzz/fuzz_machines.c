/* Both state machines of the federation and what they store, driven by generated events: a coordinator and three agents
 * whose messages are delivered, lost, repeated, changed and forged, whose processes and disks fail, whose clock jumps.
 *
 * An input is the variant (algorithm, participation, privacy), a byte of flags (1: the run begins at a vector; 2: on
 * src/store and SQLite besides the disks of the simulator), and then events: a byte for what happens, and bytes for how.
 *
 * Whatever the others send, an agent with privacy releases no more messages than it has charged and answers no question
 * that measures; nothing leaves it that is not on its disk; the coordinator answers every request at most once; both can
 * open what they have stored; the assertions of the machines hold. */
#include "target.h"

#include <string.h>

#include "../simulator/costs.h"
#include "../simulator/disk.h"
#include "../simulator/sql.h"
#include "lies.h"
#include "base/bytes.h"
#include "protocol/leader.h"
#include "protocol/site.h"

enum { N = TINY_AGENTS, EVENTS = 600, TICKETS = 2048, RELEASED = 512, RECORDS = 10 };

static struct world {
    fplt_plan plan;
    fplt_shape shape;
    int private, begins, sql;
    const char *rule;
    uint64_t now, processes, tickets, ids;
    fplt__leader *leader;
    lead_disk disk, old_disk;
    int full; /* the next write finds the disk full */
    int is_open[TICKETS];
    struct {
        unsigned site;
        uint64_t id; /* of the site's request; 0: of nobody, the answer is thrown away */
    } ticket[TICKETS];
    struct site {
        fplt__site *machine;
        site_disk disk, old_disk;
        uint64_t id; /* of the request under way; 0: none */
        int is_sent; /* it has reached the coordinator */
        fplt__request request;
        blob body;
        unsigned status; /* of the answer on its way; 0: none */
        blob answer;
        int has_proof;
        fplt__proof proof;
        unsigned charges, released;
        fplt__answer message[RELEASED];
        int refuses, quits;
    } site[N];
} w;

static fplt_objective *objective;

/* --- plans --- */

static const double *start(void)
{
    static const double at[TINY_DIMENSION] = {0.5, -2};
    return w.begins ? at : NULL;
}

static fplt_status fresh_noise(void *context, double step, double noise_tau, const double *mean,
                               double *out, size_t count)
{
    static uint64_t draws;
    (void)context, (void)step, (void)noise_tau;
    for (size_t j = 0; j < count; j++)
        out[j] = mean[j] + (double)(++draws % 1024) / 65536;
    return FPLT_OK;
}

static fplt_node *make_node(uint32_t i)
{
    static fplt_noise_source source = {.size = sizeof(fplt_noise_source), .add = fresh_noise};
    return tiny_node(&w.plan, objective, i, start(), w.private ? &source : NULL);
}

static fplt__leader_plan lead_plan(void)
{
    return tiny_lead_plan(&w.plan, w.rule, w.private, start());
}

/* --- the coordinator --- */

static void lead_event(fplt__leader_event event);

static void take_answer(const fplt__reply *reply)
{
    size_t slot = reply->ticket % TICKETS, size = 0;
    promise(reply->ticket && w.is_open[slot]); /* answered once, and only what was asked */
    w.is_open[slot] = 0;
    struct site *site = &w.site[w.ticket[slot].site];
    if (!w.ticket[slot].id || w.ticket[slot].id != site->id || site->status)
        return;
    for (unsigned k = 0; k < reply->parts; k++)
        size += reply->part[k].size;
    blob_set(&site->answer, NULL, size);
    size = 0;
    for (unsigned k = 0; k < reply->parts; k++) {
        if (reply->part[k].size)
            memcpy((char *)site->answer.at + size, reply->part[k].bytes, reply->part[k].size);
        size += reply->part[k].size;
    }
    site->status = reply->status;
    site->has_proof = reply->has_proof;
    site->proof = reply->proof;
}

static int lead_save(const fplt__leader_record *record)
{
    int full = w.full;
    w.full = 0;
    if (full)
        return 0;
    promise(lead_disk_write(&w.disk, record));
    if (w.sql) {
        sql_save(SQL_LEAD, record, 0, SQL_WHOLE);
        fplt__leader_record stored = lead_disk_read(&w.disk);
        promise(sql_is(SQL_LEAD, &stored));
    }
    return 1;
}

static void resolve(int step)
{
    static const double down[1] = {1};
    if (step < 0 && !w.private) {
        lead_event((fplt__leader_event){
            .kind = FPLT__LEADER_ASK,
            .ask = {.step = 0, .down = down, .count = 1, .scalars = 1, .numbers = 1}});
        return;
    }
    fplt__leader_plan plan = lead_plan();
    lead_event((fplt__leader_event){.kind = FPLT__LEADER_PLAN,
                                    .document = tiny_document,
                                    .document_size = sizeof tiny_document,
                                    .plan = &plan});
}

static void lead_perform(void)
{
    const fplt__leader_action *action;
    int commits = 0, stored = 0, resolves = 0, step = 0;
    while ((action = fplt__leader_action_take(w.leader))) {
        if (action->kind == FPLT__LEADER_REPLY) {
            take_answer(&action->reply);
        } else if (action->kind == FPLT__LEADER_COMMIT) {
            promise(!commits);
            commits = 1;
            stored = lead_save(action->record);
        } else if (action->kind == FPLT__LEADER_RESOLVE) {
            resolves = 1;
            step = action->step;
        }
    }
    if (commits)
        lead_event(
            (fplt__leader_event){.kind = stored ? FPLT__LEADER_COMMITTED : FPLT__LEADER_FAILED});
    else if (resolves)
        resolve(step);
}

static void lead_event(fplt__leader_event event)
{
    fplt_error error;
    event.now = w.now;
    if (!w.leader)
        return;
    promise(!fplt__leader_handle(w.leader, &event, &error));
    lead_perform();
}

static void lead_start(int repair)
{
    fplt_error error;
    fplt__leader_settings settings = {.members = N,
                                      .receipt_key = {7},
                                      .process = ++w.processes * UINT64_C(0x9e3779b97f4a7c15),
                                      .deadline = 20000,
                                      .repair = repair,
                                      .check = 1};
    fplt__member_row rows[N] = {{0}};
    fplt__leader_record fresh = {.state = FPLT__FORMING,
                                 .members = N,
                                 .document_changed = 1,
                                 .document = tiny_proposal,
                                 .document_size = sizeof tiny_proposal,
                                 .member = rows,
                                 .hash = fplt__document_hash(tiny_proposal, sizeof tiny_proposal)};
    fplt__leader_record record = w.disk.there ? lead_disk_read(&w.disk) : fresh;
    fplt__leader_plan plan = {0};
    if (w.sql && !w.disk.there)
        sql_save(SQL_LEAD, &fresh, 0, SQL_WHOLE);
    else if (w.sql)
        record = *sql_lead_load();
    if (record.state != FPLT__FORMING)
        plan = lead_plan();
    promise(!fplt__leader_create(&settings, &w.leader, &error));
    promise(!fplt__leader_open(w.leader, w.now, &record, &plan, &error));
    lead_perform();
}

static void lead_crash(void)
{
    fplt__leader_destroy(w.leader);
    w.leader = NULL;
    memset(w.is_open, 0, sizeof w.is_open);
}

/* --- the agents --- */

static void site_event(unsigned i, fplt__site_event event);

/* Whether the message left before; if not, it is remembered. */
static int is_repeated(struct site *site, const fplt__frame *frame)
{
    for (unsigned k = 0; k < site->released; k++)
        if (fplt__same(&site->message[k].task, &frame->task) &&
            fplt__same(&site->message[k].digest, &frame->digest))
            return 1;
    promise(site->released < RELEASED);
    site->message[site->released++] = (fplt__answer){frame->task, frame->digest};
    return 0;
}

/* A message of a round is on disk before it leaves for the first time. With privacy each is charged, and nothing is
 * measured (facts before the plan are refused by the process around the machine, which has read the proposal). */
static void check_update(struct site *site, const fplt__request *request)
{
    fplt__frame frame;
    fplt_error error;
    int stored = 0;
    promise(request->size >= FPLT__FRAME_HEAD && !fplt__frame_read(request->body, &frame, &error));
    fplt__digest plan = fplt__document_hash(tiny_document, sizeof tiny_document);
    promise(!w.private || frame.kind == FPLT__TRAIN || frame.kind == FPLT__ENROL ||
            frame.kind == FPLT__CHECK || !fplt__same(&frame.plan, &plan));
    if (frame.kind != FPLT__TRAIN || is_repeated(site, &frame))
        return;
    promise(!w.private || site->released <= site->charges * w.shape.exchanges);
    size_t size = FPLT__FRAME_HEAD + (size_t)fplt__frame_body(&frame);
    for (unsigned e = 0; e < site->disk.record.messages; e++)
        stored |= site->disk.message[e].size == size && size <= request->size &&
                  memcmp(site->disk.message[e].at, request->body, size) == 0;
    promise(stored);
}

static void site_send(unsigned i, const fplt__request *request)
{
    struct site *site = &w.site[i];
    if (request->kind == FPLT__UPDATE)
        check_update(site, request);
    promise(!site->id); /* one at a time */
    site->id = ++w.ids;
    site->is_sent = 0;
    site->status = 0;
    site->request = *request;
    blob_set(&site->body, request->body, request->size);
}

static int site_save(unsigned i, const fplt__site_record *record)
{
    struct site *site = &w.site[i];
    int full = w.full;
    w.full = 0;
    if (full)
        return 0;
    site_disk_write(&site->disk, record);
    if (w.sql) {
        sql_save(SQL_SITE + i, record, site->charges, SQL_WHOLE);
        fplt__site_record stored = site_disk_read(&site->disk);
        promise(sql_is(SQL_SITE + i, &stored));
    }
    return 1;
}

static void charge(struct site *site, fplt__site_event *then)
{
    then->kind = w.full ? FPLT__SITE_FULL : FPLT__SITE_CHARGED;
    site->charges += !w.full;
    w.full = 0;
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        then->charged.spent.against[k] = site->charges;
}

static void build(unsigned i, const fplt__site_action *action, fplt__site_plan *plan,
                  fplt__site_event *then)
{
    then->kind = FPLT__SITE_BUILT;
    if (w.begins && !action->start) {
        then->kind = FPLT__SITE_LACKS;
        return;
    }
    if (w.site[i].refuses || (w.begins && action->start_size != sizeof(double) * TINY_DIMENSION)) {
        then->kind = FPLT__SITE_REFUSE;
        then->sentence = "this agent does not like the plan";
        return;
    }
    plan->agreement = tiny_agreement(&w.plan, w.private);
    plan->node = make_node(i);
    then->plan = plan;
}

static void site_perform(unsigned i)
{
    static const double scalars[1] = {1};
    static const uint64_t words[2] = {5, 0};
    struct site *site = &w.site[i];
    const fplt__site_action *action;
    fplt__site_event then = {.kind = FPLT__SITE_TIME};
    fplt__site_plan plan = {0};
    int due = 0;
    while ((action = fplt__site_action_take(site->machine))) {
        due |= action->kind == FPLT__SITE_COMMIT || action->kind == FPLT__SITE_CHARGE ||
               action->kind == FPLT__SITE_ASK || action->kind == FPLT__SITE_GATHER ||
               action->kind == FPLT__SITE_BUILD;
        switch (action->kind) {
        case FPLT__SITE_SEND: site_send(i, &action->request); break;
        case FPLT__SITE_COMMIT:
            then.kind = site_save(i, action->record) ? FPLT__SITE_COMMITTED : FPLT__SITE_FULL;
            break;
        case FPLT__SITE_CHARGE: charge(site, &then); break;
        case FPLT__SITE_ASK:
            then.kind = site->refuses ? FPLT__SITE_REFUSE : FPLT__SITE_AGREE;
            then.sentence = "this agent does not agree";
            then.records = RECORDS;
            break;
        case FPLT__SITE_GATHER:
            promise(!action->planned && action->records == RECORDS);
            then = (fplt__site_event){.kind = FPLT__SITE_FACTS,
                                      .scalars = scalars,
                                      .scalar_count = 1,
                                      .words = words,
                                      .numbers = 1};
            break;
        case FPLT__SITE_BUILD: build(i, action, &plan, &then); break;
        case FPLT__SITE_QUIT: site->quits = 1; break;
        default: break;
        }
    }
    if (site->quits) {
        fplt__site_destroy(site->machine);
        site->machine = NULL;
        site->id = 0;
        site->quits = 0;
    } else if (due) {
        site_event(i, then);
    }
}

static void site_event(unsigned i, fplt__site_event event)
{
    fplt_error error;
    event.now = w.now;
    if (!w.site[i].machine)
        return;
    promise(!fplt__site_handle(w.site[i].machine, &event, &error));
    site_perform(i);
}

static void site_start(unsigned i)
{
    struct site *site = &w.site[i];
    fplt_error error;
    fplt__site_settings settings = {.random = i, .ledger_key = {1}, .allows = ~0u};
    fplt__site_record record = site_disk_read(&site->disk);
    fplt__receipt charged = {.rounds = 0};
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        charged.spent.against[k] = site->charges;
    if (w.sql && site->disk.there)
        record = *sql_site_load(SQL_SITE + i);
    promise(!fplt__site_create(&settings, &site->machine, &error));
    promise(!fplt__site_open(site->machine, w.now, site->disk.there ? &record : NULL, &charged,
                             &error));
    site_perform(i);
}

static void site_crash(unsigned i)
{
    fplt__site_destroy(w.site[i].machine);
    w.site[i].machine = NULL;
    w.site[i].id = 0;
    w.site[i].status = 0;
}

/* --- the network --- */

static void hand_to_lead(unsigned i, uint64_t id, fplt__request request, const blob *body)
{
    if (!w.leader || w.tickets + 1 == TICKETS)
        return;
    request.ticket = ++w.tickets;
    request.member_index = i;
    request.body = body->at;
    request.size = body->size;
    request.digest = NULL;
    w.is_open[request.ticket] = 1;
    w.ticket[request.ticket].site = i;
    w.ticket[request.ticket].id = id;
    lead_event((fplt__leader_event){.kind = FPLT__LEADER_REQUEST, .request = request});
}

static void break_off(unsigned i)
{
    struct site *site = &w.site[i];
    if (!site->id)
        return;
    for (uint64_t t = 1; t <= w.tickets; t++)
        if (w.is_open[t] && w.ticket[t].id == site->id) {
            w.is_open[t] = 0;
            lead_event((fplt__leader_event){.kind = FPLT__LEADER_GONE, .ticket = t});
        }
    site->id = 0;
    site->status = 0;
    site_event(i, (fplt__site_event){.kind = FPLT__SITE_NETWORK, .sentence = "broken off"});
}

/* What the agent asks reaches the coordinator, or what that answers the agent. */
static void step(unsigned i)
{
    struct site *site = &w.site[i];
    if (!site->id)
        return;
    if (site->status) {
        blob answer = site->answer;
        fplt__site_event event = {.kind = FPLT__SITE_REPLY,
                                  .status = site->status,
                                  .body = answer.at,
                                  .size = answer.size,
                                  .has_proof = site->has_proof,
                                  .proof = site->proof};
        site->id = 0;
        site->status = 0;
        site->answer = (blob){NULL, 0};
        site_event(i, event);
        free(answer.at);
    } else if (!w.leader) {
        break_off(i);
    } else if (!site->is_sent) {
        site->is_sent = 1;
        hand_to_lead(i, site->id, site->request, &site->body);
    }
}

/* --- lies --- */

/* A copy of the agent's request, changed, beside or before its own, in its session or in another. */
static void forge_request(unsigned i)
{
    const struct site *site = &w.site[i];
    fplt__request request = site->request;
    blob body = blob_copy(site->body.at, site->body.size);
    request.kind = next() % 4 ? request.kind : (fplt__request_kind)(next() % (FPLT__MODEL + 1));
    request.sequence += next() % 4;
    request.session += next() % 8 == 7;
    change(&body);
    hand_to_lead(next() % 8 ? i : next() % N, 0, request, &body);
    free(body.at);
}

/* What a false coordinator sends: a well-made frame about this agent's plan, and perhaps a second one. */
static void forge_answer(unsigned i)
{
    struct site *site = &w.site[i];
    fplt__site_view view = {0};
    blob made = {NULL, 0};
    if (!site->machine || !site->id)
        return;
    view = fplt__site_get_view(site->machine);
    for (unsigned frames = 1 + next() % 2; frames; frames--) {
        fplt__frame frame = {
            .kind = (uint8_t)(1 + next() % (FPLT__KINDS - 1)),
            .exchange = (uint8_t)(next() % 3),
            .incarnation = view.incarnation + (next() % 8 == 7),
            .member_index = view.member_index,
            .round = view.round + next() % 4,
            .cohort = next() % 5,
            .position = next() % 4,
            .version = view.version + next() % 3,
            .count = next() % 2 ? next() % (NUMBERS + 1) : TINY_DIMENSION,
            .scalars = next() % 2 ? next() % (NUMBERS + 1) : w.shape.scalars % (NUMBERS + 1),
            .plan = view.planned ? fplt__document_hash(tiny_document, sizeof tiny_document)
                                 : fplt__document_hash(tiny_proposal, sizeof tiny_proposal)};
        add_frame(&made, &frame);
    }
    blob_set(&site->answer, made.at, made.size);
    free(made.at);
    site->status = 200;
    site->has_proof = next() % 2;
    site->proof = (fplt__proof){.round = number(), .version = number()};
    step(i);
}

static void forge_fault(unsigned i)
{
    static const char *const words[] = {"join", "plan", "old", "superseded", "closed", "busy", ""};
    struct site *site = &w.site[i];
    if (!site->machine || !site->id)
        return;
    char *text = fplt__fault_body(words[next() % 7], next() % 8 == 7, "no");
    promise(text != NULL);
    site->status = (const unsigned[]){409, 503, 400, 204, 202, 200}[next() % 6];
    blob_set(&site->answer, text, strlen(text));
    fplt__free(text);
    step(i);
}

/* --- what happens --- */

static void pass_time(void)
{
    uint64_t wake = w.leader ? fplt__leader_wake(w.leader) : UINT64_MAX;
    for (unsigned i = 0; i < N; i++) {
        uint64_t own = w.site[i].machine ? fplt__site_wake(w.site[i].machine) : UINT64_MAX;
        wake = own < wake ? own : wake;
    }
    w.now = wake == UINT64_MAX || wake < w.now ? w.now + 1000 : wake;
    lead_event((fplt__leader_event){.kind = FPLT__LEADER_TIME});
    for (unsigned i = 0; i < N; i++)
        if (w.site[i].machine && fplt__site_wake(w.site[i].machine) <= w.now)
            site_event(i, (fplt__site_event){.kind = FPLT__SITE_TIME});
}

static void keep_disks(void)
{
    lead_disk_copy(&w.old_disk, &w.disk);
    if (w.sql)
        sql_keep(SQL_LEAD);
    for (unsigned i = 0; i < N; i++) {
        site_disk_copy(&w.site[i].old_disk, &w.site[i].disk);
        if (w.sql)
            sql_keep(SQL_SITE + i);
    }
}

/* An old copy in the place of the disk, while its process is down. */
static void put_back(unsigned which)
{
    if (which == N && w.old_disk.there) {
        lead_crash();
        lead_disk_copy(&w.disk, &w.old_disk);
        if (w.sql)
            sql_put_back(SQL_LEAD);
    } else if (which < N && w.site[which].old_disk.there) {
        site_crash(which);
        site_disk_copy(&w.site[which].disk, &w.site[which].old_disk);
        if (w.sql)
            sql_put_back(SQL_SITE + which);
    }
}

static void operate(unsigned how, unsigned i)
{
    static const fplt__leader_event_kind kinds[] = {FPLT__LEADER_PAUSE, FPLT__LEADER_RESUME,
                                                    FPLT__LEADER_CHECK, FPLT__LEADER_HEARD,
                                                    FPLT__LEADER_END,   FPLT__LEADER_REVOKE};
    lead_event((fplt__leader_event){.kind = kinds[how % 6], .member_index = i});
}

static void happen(unsigned what)
{
    unsigned how = next(), i = how % N;
    switch (what % 24) {
    case 1: break_off(i); break;
    case 2: forge_request(i); break;
    case 3: forge_answer(i); break;
    case 4: forge_fault(i); break;
    case 5: change(&w.site[i].body); break;
    case 6: change(&w.site[i].answer); break;
    case 7: pass_time(); break;
    case 8:
        w.now += (uint64_t)how * 500;
        pass_time();
        break;
    case 9: lead_crash(); break;
    case 10: site_crash(i); break;
    case 11: w.full = 1; break;
    case 12: keep_disks(); break;
    case 13: put_back(how % (N + 1)); break;
    case 14: operate(how / N, i); break;
    case 15: w.site[i].refuses = !w.site[i].refuses; break;
    case 16: hand_to_lead(i, 0, w.site[i].request, &w.site[i].body); break; /* repeated */
    case 17:
        lead_crash();
        lead_start(how & 1);
        break;
    default: /* what an orderly network does */
        if (!w.leader)
            lead_start(0);
        if (!w.site[i].machine)
            site_start(i);
        step(i);
        if (how >= 128)
            step(i);
        break;
    }
}

static void begin(unsigned variant, unsigned flags)
{
    static int is_ready;
    unsigned count = 0;
    const fplt_algorithm *algorithm;
    if (!is_ready++) {
        objective = tiny_objective();
        sql_prepare();
    }
    memset(&w, 0, sizeof w);
    while (fplt_algorithm_list(count))
        count++;
    w.private = variant % (count + 1) == count;
    algorithm =
        w.private ? fplt_algorithm_find("fed-plt") : fplt_algorithm_list(variant % (count + 1));
    w.rule = variant / (count + 1) % 2 && (algorithm->allows & FPLT_ALLOWS_PARTIAL) ? "bernoulli"
                                                                                    : "all";
    w.begins = flags & 1;
    w.sql = flags >> 1 & 1;
    w.now = 1000;
    w.plan = tiny_plan(algorithm->name);
    w.shape = fplt_algorithm_shape(w.plan.algorithm, w.plan.parameter, TINY_DIMENSION);
    if (w.sql)
        sql_begin(variant, fplt_plan_down(&w.plan, w.shape.exchanges));
}

static void end(void)
{
    fplt__leader_destroy(w.leader);
    lead_disk_clear(&w.disk);
    lead_disk_clear(&w.old_disk);
    for (unsigned i = 0; i < N; i++) {
        fplt__site_destroy(w.site[i].machine);
        site_disk_clear(&w.site[i].disk);
        site_disk_clear(&w.site[i].old_disk);
        free(w.site[i].body.at);
        free(w.site[i].answer.at);
    }
    if (w.sql)
        sql_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2)
        return 0;
    begin(bytes[0], bytes[1]);
    input = (struct input){bytes + 2, bytes + size};
    for (unsigned k = 0; k < EVENTS && input.at < input.end; k++)
        happen(next());
    end();
    return 0;
}
