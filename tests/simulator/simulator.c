/* Coordinator and agents with a virtual disk, network and clock: packets lost, doubled and delayed,
 * crashes before and after every write, full disks, old copies of disks, an agent that lies. After each
 * step the invariants, at the end the model of a replay of the trace. Then, for every algorithm, a crash
 * before and after each single write, and a disk that is full for it. Then faults are planted in the
 * machines, and each must be found.
 *
 *     simulator [SCHEDULES [FIRST-SEED [store]]]
 *
 * A fiftieth of the schedules runs on src/store, with SQLite on files that lose and tear writes in a crash; `store`
 * runs all there. A violation prints the seed; `simulator 1 SEED [store]` runs it again. Many schedules are spread over the
 * processors. */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fedplt/objective.h"
#include "fedplt/sum.h"
#include "protocol/leader.h"
#include "protocol/planted.h"
#include "protocol/site.h"
#include "base/bytes.h"
#include "disk.h"
#include "sql.h"
#include "tiny.h"

int fplt__planted;

enum {
    N = DISK_MEMBERS,
    DIMENSION = DISK_DIMENSION,
    MIRRORED = 16,
    ROUNDS = 6,
    RECORDS = 10,
    STORED_MIN = 60, /* schedules on the real store: so many, and one for so many others */
    STORED_SHARE = 50,
    PACKETS = 64,
    TICKETS = 4096,
    BODIES = 4096,
    STEPS = 6000,
    QUIET = 3000
};

/* --- randomness of the schedule --- */

static uint64_t seed_state;

static uint64_t bits(void)
{
    uint64_t z = (seed_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned below(unsigned bound)
{
    return (unsigned)(bits() % bound);
}

static int chance(unsigned in_a_thousand)
{
    return below(1000) < in_a_thousand;
}

/* --- tiny costs: f_i(x) = a_i |x - c_i|^2/2 --- */

static int value(void *context, uint32_t agent, const double *x, double *out)
{
    (void)context;
    *out = 0;
    for (int j = 0; j < DIMENSION; j++)
        *out += 0.5 * (1 + agent) * (x[j] - agent - j) * (x[j] - agent - j);
    return 0;
}

static int gradient(void *context, uint32_t agent, const double *x, double *out)
{
    (void)context;
    for (int j = 0; j < DIMENSION; j++)
        out[j] = (1 + agent) * (x[j] - agent - j);
    return 0;
}

static int hessian_times(void *context, uint32_t agent, const double *x, const double *v,
                         double *out)
{
    (void)context;
    (void)x;
    for (int j = 0; j < DIMENSION; j++)
        out[j] = (1 + agent) * v[j];
    return 0;
}

static void curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context;
    *lowest = *highest = 1 + agent;
}

static fplt_objective *objective;

/* --- the world --- */

typedef struct variant {
    const char *algorithm;
    const char *rule; /* participation */
    int private;      /* noise from a source that never repeats, and a ledger */
} variant;

/* Every algorithm of the registry with all agents, and with some where it allows that; privacy. */
static variant variants[64] = {{"fed-plt", "all", 1}, {"fed-plt", "bernoulli", 1}};
static unsigned variant_count = 2;

static void add_variant(const char *algorithm, const char *rule)
{
    if (variant_count == sizeof variants / sizeof *variants)
        exit(2);
    variants[variant_count++] = (variant){algorithm, rule, 0};
}

static void list_variants(void)
{
    const fplt_algorithm *algorithm;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        add_variant(algorithm->name, "all");
        if (algorithm->allows & FPLT_ALLOWS_PARTIAL)
            add_variant(algorithm->name, "bernoulli");
    }
}

typedef struct packet {
    int used, to_lead; /* else to the site */
    unsigned site;
    uint64_t id; /* of the request */
    fplt__request request;
    unsigned status; /* 0: the network failed */
    int has_proof;
    fplt__proof proof;
    blob body;
} packet;

typedef struct world {
    const variant *variant;
    fplt_plan plan;
    fplt_shape shape;
    uint64_t now;
    int faults; /* packets and processes may fail */
    int begins; /* not at zero */
    int sql;    /* on the real store, which is compared with the disks here */
    int restores, liar, restored_lead, restored_site[N], restored_any, lied;
    fplt__leader *leader;
    lead_disk disk, old_disk;
    uint64_t processes;
    uint64_t tickets;
    int lead_commit_due;
    struct site {
        fplt__site *machine;
        site_disk disk, old_disk;
        uint64_t id; /* of the request under way */
        int quit;
        unsigned charges, released; /* of the ledger; different messages that left */
        int ended;
    } site[N];
    packet packet[PACKETS];
    size_t bodies;
    unsigned steps;
    unsigned writes,
        crash_at; /* so far, of all disks; the one that something happens to; 0: none */
    enum happens { BEFORE, AFTER, FULL, HAPPENS } crash;
    int repairing;   /* the operator said --repair */
    unsigned brazen; /* the liar's numbers are out of range, too, and in the end it falls silent */
    unsigned people; /* 1: they revoke, 2: they end */
    int revoked;     /* member `gone` is */
    unsigned gone;
    int stopped; /* a person ended the run */
    const char *violated;
    struct ticket {
        uint64_t id;
        unsigned site;
    } ticket[TICKETS];
    struct {
        fplt__digest task, digest;
        unsigned site;
    } body[BODIES];
} world;

static world w;

/* What happened to whom, over all schedules: that many of them were not quiet can be read off. */
enum happening {
    SCHEDULES,
    LEAD_CRASH,
    SITE_CRASH,
    FULL_DISK,
    LOST,
    DOUBLED,
    HUNG_UP,
    OLD_DISK,
    LIE,
    REPAIRED,
    HALTED,
    PEOPLE,
    HAPPENINGS
};
static const char *const happening_names[HAPPENINGS] = {"schedules",    "coordinator killed",
                                                        "agent killed", "disk full",
                                                        "packet lost",  "doubled",
                                                        "hung up",      "disk lost or old",
                                                        "lie",          "repair",
                                                        "halt",         "revoked or ended"};
typedef unsigned long long tally[sizeof variants / sizeof *variants][HAPPENINGS];
static tally happened;

static void note(enum happening what)
{
    happened[w.variant - variants][what]++;
}

static void violate(const char *what)
{
    if (!w.violated)
        w.violated = what;
}

/* --- disks --- */

/* What a crash left is what was stored, before or after the write at hand (NULL: none). */
static void check_lead_disk(const fplt__leader_record *pending)
{
    if (!w.sql)
        return;
    sql_crash(SQL_LEAD);
    const fplt__leader_record *found = sql_lead_load();
    fplt__leader_record stored = lead_disk_read(&w.disk);
    if (!w.disk.there ? !found || found->state == FPLT__FORMING : sql_is(SQL_LEAD, &stored))
        return;
    if (pending) {
        lead_disk_write(&w.disk, pending);
        stored = lead_disk_read(&w.disk);
    }
    if (!pending || !sql_is(SQL_LEAD, &stored))
        violate("the coordinator's store has another state than was written");
}

static void check_site_disk(unsigned i, const fplt__site_record *pending)
{
    site_disk *disk = &w.site[i].disk;
    if (!w.sql)
        return;
    sql_crash(SQL_SITE + i);
    const fplt__site_record *found = sql_site_load(SQL_SITE + i);
    fplt__site_record stored = site_disk_read(disk);
    if (!disk->there ? !found : sql_is(SQL_SITE + i, &stored))
        return;
    if (pending) {
        site_disk_write(disk, pending);
        stored = site_disk_read(disk);
    }
    if (!pending || !sql_is(SQL_SITE + i, &stored))
        violate("an agent's store has another state than was written");
}

static void lead_write(const fplt__leader_record *r)
{
    if (r->state == FPLT__REPAIR && w.disk.record.state != FPLT__REPAIR)
        note(REPAIRED);
    if (r->state == FPLT__HALTED && w.disk.record.state != FPLT__HALTED)
        note(HALTED);
    if (!lead_disk_write(&w.disk, r))
        violate("more closing vectors than members");
}

/* Whether something happens to the write at hand: by chance, or because it is the one. */
static int happens(enum happens what, unsigned in_a_thousand)
{
    int now = (w.faults && chance(in_a_thousand)) || (w.writes == w.crash_at && w.crash == what);
    if (now && what == FULL)
        note(FULL_DISK);
    return now;
}

/* --- plans --- */

/* Where the run begins; NULL: at zero. */
static const double *start(void)
{
    static const double at[DIMENSION] = {0.5, -2};
    return w.begins ? at : NULL;
}

/* What an agent is told of it. */
static void check_start(const fplt__site_action *action)
{
    double heard[DIMENSION];
    if (action->start_size != sizeof heard) {
        violate("a start of another length");
        return;
    }
    fplt__get_reals(action->start, heard, DIMENSION);
    if (memcmp(heard, start(), sizeof heard) != 0)
        violate("another start");
}

static fplt__leader_plan lead_plan(void)
{
    return tiny_lead_plan(&w.plan, w.variant->rule, w.variant->private, start());
}

/* Noise that is never the same twice, as the system's is. */
static fplt_status fresh_noise(void *context, double step, double noise_tau, const double *mean,
                               double *out, size_t count)
{
    (void)context;
    (void)step;
    (void)noise_tau;
    for (size_t j = 0; j < count; j++)
        out[j] = mean[j] + (double)(bits() % 1024) / 65536;
    return FPLT_OK;
}

static fplt_node *make_node(uint32_t i)
{
    static fplt_noise_source source = {.size = sizeof(fplt_noise_source)};
    fplt_error error;
    fplt_node *node;
    source.add = fresh_noise;
    fplt_node_settings own = {.objective = objective,
                              .cost = i,
                              .member_index = i,
                              .training = fplt_training_defaults(),
                              .curvature = {1 + i, 1 + i},
                              .start = start(),
                              .second = start()};
    own.training.epochs = 2;
    if (w.variant->private) {
        own.training.solver = fplt_solver_find("noisy");
        own.training.noise_tau = 0.1;
        own.noise = &source;
        own.cap = TINY_CAP;
    }
    if (fplt_node_create(&w.plan, &own, &node, &error)) {
        fprintf(stderr, "simulator: %s\n", error.text);
        exit(2);
    }
    return node;
}

/* --- packets --- */

static packet *new_packet(void)
{
    for (int k = 0; k < PACKETS; k++)
        if (!w.packet[k].used) {
            w.packet[k] = (packet){.used = 1};
            return &w.packet[k];
        }
    /* full: the oldest is lost with a word to its site */
    unsigned k = below(PACKETS);
    free(w.packet[k].body.at);
    w.packet[k] = (packet){.used = 1};
    return &w.packet[k];
}

static void to_site(unsigned i, uint64_t id, unsigned status, const fplt__reply *reply)
{
    packet *p = new_packet();
    p->site = i;
    p->id = id;
    p->status = status;
    size_t size = 0;
    for (unsigned k = 0; reply && k < reply->parts; k++)
        size += reply->part[k].size;
    p->body = blob_copy(NULL, size);
    size = 0;
    for (unsigned k = 0; reply && k < reply->parts; k++) {
        memcpy((char *)p->body.at + size, reply->part[k].bytes, reply->part[k].size);
        size += reply->part[k].size;
    }
    if (reply && reply->has_proof) {
        p->has_proof = 1;
        p->proof = reply->proof;
    }
}

/* --- what is watched --- */

/* One body for each task, unless a disk was restored; and with privacy a charge for each body. */
static void watch_update(unsigned i, const fplt__request *request)
{
    fplt__frame frame;
    fplt_error error;
    if (request->size < FPLT__FRAME_HEAD || fplt__frame_read(request->body, &frame, &error) ||
        frame.kind != FPLT__TRAIN)
        return;
    for (size_t k = 0; k < w.bodies; k++) {
        if (w.body[k].site != i || !fplt__same(&w.body[k].task, &frame.task))
            continue;
        if (fplt__same(&w.body[k].digest, &frame.digest))
            return;
        if (!w.restored_any)
            violate("two bodies for one task");
    }
    if (w.bodies < BODIES) {
        w.body[w.bodies].site = i;
        w.body[w.bodies].task = frame.task;
        w.body[w.bodies++].digest = frame.digest;
    }
    w.site[i].released++;
    if (w.variant->private && w.site[i].released > w.site[i].charges)
        violate("released more than charged");
}

static int is_ahead(const fplt__report *report, unsigned i)
{
    const fplt__member_row *row = &w.disk.row[i];
    const fplt__leader_record *r = &w.disk.record;
    const fplt__proof *p = &report->proof;
    if (!report->has_proof || p->incarnation < r->incarnation)
        return 0;
    return p->incarnation > r->incarnation || p->round > r->round || p->version > row->version;
}

/* Equal chains mean equal sums, to the bit. */
static void watch_sums(void)
{
    size_t count = fplt_plan_enrol_words(&w.plan) / 2;
    uint64_t totals[2 * MIRRORED], words[2 * MIRRORED], sum[2 * MIRRORED] = {0};
    if (count > MIRRORED)
        violate("the simulator has no room for the mirrored vectors");
    if (!count || count > MIRRORED || !w.leader || !fplt__leader_hub(w.leader))
        return;
    fplt__leader_view view = fplt__leader_get_view(w.leader);
    if (view.has_check && !view.check_equal && !w.lied)
        violate("a check found another sum");
    if (view.committing || view.state < FPLT__ROUND)
        return;
    for (unsigned i = 0; i < N; i++) {
        fplt__site *site = w.site[i].machine;
        if (!site || !fplt__site_node(site))
            return;
        fplt__site_view own = fplt__site_get_view(site);
        const fplt__member_row *row = fplt__leader_member(w.leader, i).row;
        if (own.incarnation != view.incarnation || !fplt__same(&own.chain, &row->chain))
            return;
        fplt_node_enrol(fplt__site_node(site), words);
        for (size_t k = 0; k < count; k++) {
            unsigned __int128 a = (unsigned __int128)sum[2 * k + 1] << 64 | sum[2 * k];
            a += (unsigned __int128)words[2 * k + 1] << 64 | words[2 * k];
            sum[2 * k] = (uint64_t)a;
            sum[2 * k + 1] = (uint64_t)(a >> 64);
        }
    }
    fplt_hub_totals(fplt__leader_hub(w.leader), totals);
    if (memcmp(totals, sum, 16 * count) != 0)
        violate("chains are equal, sums are not");
}

/* --- the coordinator --- */

static void lead_start(void);
static void lead_perform(void);

static void lead_crash(const fplt__leader_record *pending)
{
    check_lead_disk(pending);
    fplt__leader_destroy(w.leader);
    w.leader = NULL;
    note(LEAD_CRASH);
    for (unsigned i = 0; i < N; i++) /* connections break */
        to_site(i, w.site[i].id, 0, NULL);
    if (w.restores && chance(150) && w.old_disk.there) {
        lead_disk_copy(&w.disk, &w.old_disk);
        if (w.sql)
            sql_put_back(SQL_LEAD);
        w.restored_lead = w.restored_any = 1;
        note(OLD_DISK);
    }
}

static void lead_event(fplt__leader_event event)
{
    fplt_error error;
    event.now = w.now;
    if (!w.leader)
        return;
    if (fplt__leader_handle(w.leader, &event, &error)) {
        violate("the coordinator has no memory");
        return;
    }
    lead_perform();
}

static void resolve(int step)
{
    double down[1] = {1};
    if (step < 0 && !w.variant->private) {
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

/* What came of a write. */
enum outcome { STORED, NOT_STORED, DIED };

/* A commit may meet a crash on either side of the write, and in the real store within it. */
static enum outcome lead_store(const fplt__leader_record *record)
{
    w.writes++;
    if (happens(BEFORE, 15)) {
        if (w.sql)
            sql_save(SQL_LEAD, record, 0, SQL_DIES);
        lead_crash(w.sql ? record : NULL);
        return DIED;
    }
    if (happens(FULL, 20)) {
        if (!w.sql || !sql_save(SQL_LEAD, record, 0, SQL_FULL))
            return NOT_STORED;
    } else {
        if (w.restores && chance(200)) {
            lead_disk_copy(&w.old_disk, &w.disk);
            if (w.sql)
                sql_keep(SQL_LEAD);
        }
        if (w.sql)
            sql_save(SQL_LEAD, record, 0, SQL_WHOLE);
    }
    lead_write(record);
    fplt__leader_record stored = lead_disk_read(&w.disk);
    if (w.sql && !sql_is(SQL_LEAD, &stored))
        violate("the coordinator's store does not give back what was written");
    if (!happens(AFTER, 15))
        return STORED;
    lead_crash(NULL);
    return DIED;
}

/* Performs what the machine asks for. */
static void lead_perform(void)
{
    const fplt__leader_action *action;
    int next = 0, step = 0;
    fplt__leader_event_kind then = FPLT__LEADER_TIME;
    while ((action = fplt__leader_action_take(w.leader))) {
        if (action->kind == FPLT__LEADER_REPLY) {
            struct ticket *ticket = &w.ticket[action->reply.ticket % TICKETS];
            to_site(ticket->site, ticket->id, action->reply.status, &action->reply);
            if (action->reply.has_proof && fplt__leader_get_view(w.leader).state == FPLT__HALTED)
                violate("a halted coordinator gives a proof");
        } else if (action->kind == FPLT__LEADER_COMMIT) {
            enum outcome outcome = lead_store(action->record);
            if (outcome == DIED)
                return;
            next = 1;
            then = outcome == STORED ? FPLT__LEADER_COMMITTED : FPLT__LEADER_FAILED;
        } else if (action->kind == FPLT__LEADER_RESOLVE) {
            next = 2;
            step = action->step;
        }
    }
    if (next == 1)
        lead_event((fplt__leader_event){.kind = then});
    else if (next == 2)
        resolve(step);
}

static void lead_start(void)
{
    fplt_error error;
    fplt__leader_settings settings = {.members = N,
                                      .receipt_key = {7},
                                      .process = ++w.processes * UINT64_C(0x9e3779b97f4a7c15),
                                      .deadline = 20000,
                                      .repair = w.repairing,
                                      .check = 1};
    (void)bits(); /* of which the number of a process once was: so seeds keep their schedules */
    fplt__leader_record fresh = {.state = FPLT__FORMING,
                                 .members = N,
                                 .document_changed = 1,
                                 .document = tiny_proposal,
                                 .document_size = sizeof tiny_proposal,
                                 .hash = fplt__document_hash(tiny_proposal, sizeof tiny_proposal)};
    fplt__member_row rows[N] = {0};
    fplt__leader_record record = w.disk.there ? lead_disk_read(&w.disk) : fresh;
    fplt__leader_plan plan = {0};
    if (fplt__leader_create(&settings, &w.leader, &error))
        exit(2);
    if (w.sql && !w.disk.there) { /* the shell commits a new run first */
        fresh.member = rows;
        sql_save(SQL_LEAD, &fresh, 0, SQL_WHOLE);
    } else if (w.sql) {
        const fplt__leader_record *found = sql_is(SQL_LEAD, &record) ? sql_lead_load() : NULL;
        if (!found)
            violate("the coordinator's store does not give back what was written");
        record = found ? *found : record;
    }
    if (record.state != FPLT__FORMING)
        plan = lead_plan();
    if (fplt__leader_open(w.leader, w.now, &record, &plan, &error)) {
        violate("the coordinator cannot open its own state");
        return;
    }
    lead_perform();
}

/* --- the agents --- */

static void site_perform(unsigned i);

static void site_event(unsigned i, fplt__site_event event)
{
    fplt_error error;
    event.now = w.now;
    if (!w.site[i].machine)
        return;
    if (fplt__site_handle(w.site[i].machine, &event, &error)) {
        violate("an agent has no memory");
        return;
    }
    site_perform(i);
}

static void site_crash(unsigned i, const fplt__site_record *pending)
{
    struct site *site = &w.site[i];
    check_site_disk(i, pending);
    fplt__site_destroy(site->machine);
    site->machine = NULL;
    site->id = 0;
    note(SITE_CRASH);
    if (w.restores && chance(150)) {
        if (chance(200)) {
            site_disk_clear(&site->disk); /* a lost disk */
            if (w.sql)
                sql_renew(SQL_SITE + i);
        } else if (site->old_disk.there) {
            site_disk_copy(&site->disk, &site->old_disk);
            if (w.sql)
                sql_put_back(SQL_SITE + i);
        } else {
            return;
        }
        w.restored_site[i] = w.restored_any = 1;
        note(OLD_DISK);
    }
}

/* Where the report is in a poll, or behind the frame of an update; the end where there is none. */
static size_t report_at(const packet *p)
{
    fplt__frame frame;
    fplt_error error;
    if (p->request.kind == FPLT__NEXT)
        return 0;
    if (p->request.kind != FPLT__UPDATE || p->body.size < FPLT__FRAME_HEAD ||
        fplt__frame_read(p->body.at, &frame, &error))
        return p->body.size;
    return FPLT__FRAME_HEAD + (size_t)fplt__frame_body(&frame);
}

/* Another frame or report in the place of the one from `from` to `to`. */
static void replace(packet *p, size_t from, size_t to, const void *bytes, size_t size)
{
    size_t behind = p->body.size - to;
    uint8_t *made = malloc(from + size + behind + 1);
    memcpy(made, p->body.at, from);
    memcpy(made + from, bytes, size);
    memcpy(made + from + size, (uint8_t *)p->body.at + to, behind);
    blob_set(&p->body, made, from + size + behind);
    free(made);
}

static void lie_in_frame(packet *p)
{
    fplt__frame frame;
    fplt_error error;
    uint64_t words[64];
    uint8_t *bytes;
    size_t size;
    if (p->body.size <= FPLT__FRAME_HEAD || fplt__frame_read(p->body.at, &frame, &error) ||
        frame.kind != FPLT__TRAIN || frame.count > 32 ||
        fplt__frame_words(&frame, (uint8_t *)p->body.at + FPLT__FRAME_HEAD, words, &error))
        return;
    size_t end = report_at(p);
    if (w.brazen)
        words[1] = UINT64_C(1) << 62; /* out of range */
    else
        words[0] += UINT64_C(1) << 40;
    if (!fplt__frame_make(&frame, NULL, NULL, words, &bytes, &size, &error)) {
        replace(p, 0, end, bytes, size);
        fplt__free(bytes);
    }
}

static void lie_in_report(packet *p)
{
    fplt__report report;
    fplt_error error;
    char *text;
    size_t at = report_at(p);
    if (fplt__report_read((uint8_t *)p->body.at + at, p->body.size - at, &report, &error))
        return;
    switch (below(6)) {
    case 0:
        report.has_proof = 1; /* forged */
        report.proof.round += 5;
        break;
    case 1: report.chain.byte[0] ^= 1; break;
    case 2: report.version++; break;
    case 3: report.incarnation++; break;
    case 4:
        report.has_staged = 1;
        report.staged.round = w.disk.record.round - below(2);
        report.staged.digest.byte[3] ^= 1;
        break;
    default:
        report.has_enrolled = 1;
        report.enrolled.incarnation = w.disk.record.incarnation;
        report.enrolled.digest.byte[5] ^= 1;
    }
    if (!fplt__report_text(&report, &text, &error)) {
        replace(p, at, p->body.size, text, strlen(text));
        fplt__free(text);
    }
}

/* A second message for the same task, or a report of what is not. */
static void lie(packet *p)
{
    w.lied = 1;
    note(LIE);
    int member = w.leader && fplt__leader_member(w.leader, 0).standing == FPLT__MEMBER;
    int patient =
        w.brazen == 2 && member; /* first it is left out for its numbers, then it reports */
    if (p->request.kind == FPLT__UPDATE && (patient || chance(500)))
        lie_in_frame(p);
    else if (!patient && report_at(p) < p->body.size)
        lie_in_report(p);
    p->request.body = p->body.at;
    p->request.size = p->body.size;
}

/* Of a thousand messages of a liar, by how brazen it is. */
static const unsigned lies[] = {60, 300, 800};

static void site_send(unsigned i, const fplt__request *request)
{
    static uint64_t ids;
    packet *p = new_packet();
    p->to_lead = 1;
    p->site = i;
    p->id = w.site[i].id = ++ids;
    p->request = *request;
    p->body = blob_copy(request->body, request->size);
    p->request.body = p->body.at;
    p->request.member_index = i;
    if (request->kind == FPLT__UPDATE)
        watch_update(i, request);
    if (w.liar && i == 0 && w.faults && chance(lies[w.brazen]))
        lie(p);
}

static enum outcome site_store(unsigned i, const fplt__site_record *record)
{
    struct site *site = &w.site[i];
    w.writes++;
    if (happens(BEFORE, 15)) {
        if (w.sql)
            sql_save(SQL_SITE + i, record, site->charges, SQL_DIES);
        site_crash(i, w.sql ? record : NULL);
        return DIED;
    }
    if (happens(FULL, 20)) {
        if (!w.sql || !sql_save(SQL_SITE + i, record, site->charges, SQL_FULL))
            return NOT_STORED;
    } else {
        if (w.restores && chance(200) && site->disk.there) {
            site_disk_copy(&site->old_disk, &site->disk);
            if (w.sql)
                sql_keep(SQL_SITE + i);
        }
        if (w.sql)
            sql_save(SQL_SITE + i, record, site->charges, SQL_WHOLE);
    }
    site_disk_write(&site->disk, record);
    fplt__site_record stored = site_disk_read(&site->disk);
    if (w.sql && !sql_is(SQL_SITE + i, &stored))
        violate("an agent's store does not give back what was written");
    if (!happens(AFTER, 15))
        return STORED;
    site_crash(i, NULL);
    return DIED;
}

/* What a question for facts brings along: a process that agreed to nothing itself must know what to read. */
static void check_gather(const fplt__site_action *action)
{
    if (action->planned || action->document_size != sizeof tiny_proposal ||
        memcmp(action->document, tiny_proposal, sizeof tiny_proposal) != 0 ||
        action->records != RECORDS)
        violate("facts are asked for without the proposal that was agreed to");
}

static void site_perform(unsigned i)
{
    struct site *site = &w.site[i];
    const fplt__site_action *action;
    fplt__site_event then = {.kind = FPLT__SITE_TIME};
    int next = 0;
    fplt__site_plan plan = {0};
    double scalars[1] = {1};
    uint64_t words[2] = {5, 0};
    enum outcome outcome;
    while ((action = fplt__site_action_take(site->machine))) {
        switch (action->kind) {
        case FPLT__SITE_SEND: site_send(i, &action->request); break;
        case FPLT__SITE_COMMIT:
            outcome = site_store(i, action->record);
            if (outcome == DIED)
                return;
            next = 1;
            then.kind = outcome == STORED ? FPLT__SITE_COMMITTED : FPLT__SITE_FULL;
            break;
        case FPLT__SITE_CHARGE:
            w.writes++;
            if (happens(BEFORE, 10)) {
                site_crash(i, NULL);
                return;
            }
            next = 1;
            then.kind = FPLT__SITE_FULL;
            if (!happens(FULL, 20)) {
                site->charges++;
                then.kind = FPLT__SITE_CHARGED;
                for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
                    then.charged.spent.against[k] = site->charges;
                if (happens(AFTER, 10)) {
                    site_crash(i, NULL);
                    return;
                }
            }
            break;
        case FPLT__SITE_ASK:
            next = 1;
            then.kind = FPLT__SITE_AGREE;
            then.records = RECORDS;
            break;
        case FPLT__SITE_GATHER:
            check_gather(action);
            next = 1;
            then.kind = FPLT__SITE_FACTS;
            then.scalars = scalars;
            then.scalar_count = 1;
            then.words = words;
            then.numbers = 1;
            break;
        case FPLT__SITE_BUILD:
            next = 1;
            then.kind = FPLT__SITE_LACKS;
            if (w.begins && !action->start)
                break;
            if (w.begins)
                check_start(action);
            then.kind = FPLT__SITE_BUILT;
            plan.agreement = tiny_agreement(&w.plan, w.variant->private);
            plan.node = make_node(i);
            then.plan = &plan;
            break;
        case FPLT__SITE_RESULT: site->ended = 1; break;
        case FPLT__SITE_QUIT: site->quit = 1; break;
        default: break;
        }
    }
    if (site->quit) {
        site->quit = 0;
        fplt__site_destroy(site->machine);
        site->machine = NULL; /* its supervisor starts it again */
        return;
    }
    if (next)
        site_event(i, then);
}

static void site_start(unsigned i)
{
    struct site *site = &w.site[i];
    fplt_error error;
    fplt__site_settings settings = {.random = bits(), .ledger_key = {1}, .allows = ~0u};
    site_disk *d = &site->disk;
    fplt__site_record record = site_disk_read(d);
    fplt__receipt charged = {.rounds = 0};
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        charged.spent.against[k] = site->charges;
    if (fplt__site_create(&settings, &site->machine, &error))
        exit(2);
    if (w.sql && d->there) {
        const fplt__site_record *found =
            sql_is(SQL_SITE + i, &record) ? sql_site_load(SQL_SITE + i) : NULL;
        if (!found)
            violate("an agent's store does not give back what was written");
        record = found ? *found : record;
    }
    if (fplt__site_open(site->machine, w.now, d->there ? &record : NULL, &charged, &error)) {
        violate("an agent cannot open its own state");
        return;
    }
    site_perform(i);
}

/* --- steps --- */

static void deliver_to_lead(packet *p)
{
    fplt__report report;
    fplt_error error;
    if (!w.leader) {
        to_site(p->site, p->id, 0, NULL);
        return;
    }
    uint64_t ticket = ++w.tickets;
    w.ticket[ticket % TICKETS] = (struct ticket){p->id, p->site};
    p->request.ticket = ticket;
    p->request.body = p->body.at;
    p->request.size = p->body.size;
    size_t at = report_at(p);
    fplt__standing standing = fplt__leader_member(w.leader, p->site).standing;
    fplt__leader_state state = fplt__leader_get_view(w.leader).state;
    int must_halt =
        w.restored_lead && at < p->body.size && !w.liar && !w.repairing &&
        !fplt__leader_get_view(w.leader).committing &&
        (w.disk.record.state == FPLT__ROUND || w.disk.record.state == FPLT__REPAIR) &&
        !fplt__report_read((uint8_t *)p->body.at + at, p->body.size - at, &report, &error) &&
        fplt__same(&report.plan, &w.disk.record.hash) && is_ahead(&report, p->site);
    lead_event((fplt__leader_event){.kind = FPLT__LEADER_REQUEST, .request = p->request});
    if (w.leader && standing != FPLT__MEMBER && state == FPLT__ROUND && !w.restored_any &&
        (fplt__leader_get_view(w.leader).state == FPLT__REPAIR ||
         fplt__leader_get_view(w.leader).state == FPLT__HALTED))
        violate("a member that is left out brings about a repair");
    if (must_halt && w.leader) {
        /* a report of an old session is not looked at: then it was answered, not judged */
        fplt__leader_view view = fplt__leader_get_view(w.leader);
        int answered = 0;
        for (int k = 0; k < PACKETS; k++)
            answered |= w.packet[k].used && !w.packet[k].to_lead && w.packet[k].id == p->id &&
                        w.packet[k].status == 409;
        if (!answered && view.state != FPLT__HALTED)
            violate("a proof from the future, and no halt");
    }
}

static void deliver_to_site(packet *p)
{
    struct site *site = &w.site[p->site];
    if (!site->machine || site->id != p->id)
        return;
    fplt__site_view before = fplt__site_get_view(site->machine);
    site->id = 0;
    site_event(p->site,
               (fplt__site_event){.kind = p->status ? FPLT__SITE_REPLY : FPLT__SITE_NETWORK,
                                  .status = p->status,
                                  .body = p->body.at,
                                  .size = p->body.size,
                                  .has_proof = p->has_proof,
                                  .proof = p->proof});
    if (!site->machine || w.liar)
        return;
    fplt__site_view after = fplt__site_get_view(site->machine);
    const fplt__member_row *row = &w.disk.row[p->site];
    if (after.version > before.version && after.incarnation == before.incarnation) {
        if (!w.restored_lead && w.disk.record.incarnation == after.incarnation &&
            row->version < after.version)
            violate("a verdict that is not on the coordinator's disk");
        if (w.disk.record.incarnation == after.incarnation && row->version == after.version &&
            !fplt__same(&row->chain, &after.chain))
            violate("an accepted verdict, and the chains differ");
    }
}

static void deliver(packet *p)
{
    packet own = *p;
    if (w.faults && own.to_lead && chance(80)) { /* doubled: the copy comes later */
        p->body = blob_copy(own.body.at, own.body.size);
        note(DOUBLED);
    } else {
        p->used = 0;
    }
    int notice = !own.to_lead && !own.status; /* that a connection broke */
    if (w.faults && !notice && chance(100)) { /* lost: the connection breaks */
        to_site(own.site, own.id, 0, NULL);
        note(LOST);
    } else if (own.to_lead) {
        deliver_to_lead(&own);
    } else {
        deliver_to_site(&own);
    }
    free(own.body.at);
}

/* The clock goes to the next moment that anybody wants. */
static void tick(void)
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

static void operate(void)
{
    fplt__leader_state state = w.leader ? fplt__leader_get_view(w.leader).state : FPLT__FORMING;
    if (!w.restored_any && !w.lied && w.disk.there &&
        (w.disk.record.state == FPLT__REPAIR || w.disk.record.state == FPLT__HALTED))
        violate("repair, and no disk was lost");
    if (!w.restored_any && w.disk.there && w.disk.record.state == FPLT__HALTED &&
        strstr(w.disk.record.sentence, "old copy"))
        violate("a lie made the coordinator think its disk old");
    if (state == FPLT__HALTED && w.disk.record.state == FPLT__HALTED && chance(100)) {
        w.repairing = 1;
        lead_crash(NULL);
    }
    if (w.repairing && w.disk.record.state == FPLT__ROUND)
        w.repairing = 0;
}

/* A brazen liar that has brought about a repair is heard of no more. */
static int is_silent(unsigned i)
{
    return w.brazen && i == w.gone && w.lied && w.disk.there && w.disk.record.state == FPLT__REPAIR;
}

/* Now and then a person revokes a member or ends the run; the store tells a new process. */
static void people(void)
{
    fplt__leader_state state = w.leader && w.disk.there ? w.disk.record.state : FPLT__FORMING;
    if (w.people == 1 && state == FPLT__ROUND && chance(5))
        w.revoked = 1;
    if (w.brazen && w.lied && (state == FPLT__REPAIR || !w.faults) && chance(5))
        w.revoked = 1;
    if (w.revoked) {
        fplt__site_destroy(w.site[w.gone].machine);
        w.site[w.gone].machine = NULL;
        w.site[w.gone].id = 0;
        w.site[w.gone].ended = 1;
    }
    if (w.revoked && w.leader && fplt__leader_member(w.leader, w.gone).standing != FPLT__REVOKED)
        lead_event((fplt__leader_event){.kind = FPLT__LEADER_REVOKE, .member_index = w.gone});
    if (w.people == 2 && w.leader && fplt__leader_hub(w.leader) && !w.stopped && chance(5)) {
        lead_event((fplt__leader_event){.kind = FPLT__LEADER_END});
        w.stopped = w.disk.record.state == FPLT__ENDED;
    }
}

static void step(void)
{
    int waiting[PACKETS], count = 0;
    w.now += below(50);
    if (!w.leader && chance(500))
        lead_start();
    for (unsigned i = 0; i < N; i++)
        if (!w.site[i].machine && chance(300) && !(w.revoked && i == w.gone) && !is_silent(i))
            site_start(i);
    people();
    if (w.faults && w.leader && chance(2))
        lead_crash(NULL);
    if (w.faults && chance(5)) {
        unsigned i = below(N);
        if (w.site[i].machine)
            site_crash(i, NULL);
    }
    if (w.faults && w.leader && chance(3))
        lead_event((fplt__leader_event){.kind = FPLT__LEADER_PAUSE});
    if (w.leader && chance(20))
        lead_event((fplt__leader_event){.kind = FPLT__LEADER_RESUME});
    if (w.faults && w.leader && w.tickets && chance(5)) { /* a client that hangs up */
        uint64_t ticket = w.tickets - below(3);
        to_site(w.ticket[ticket % TICKETS].site, w.ticket[ticket % TICKETS].id, 0, NULL);
        lead_event((fplt__leader_event){.kind = FPLT__LEADER_GONE, .ticket = ticket});
        note(HUNG_UP);
    }
    for (int k = 0; k < PACKETS; k++)
        if (w.packet[k].used)
            waiting[count++] = k;
    if (count && !chance(20))
        deliver(&w.packet[waiting[below((unsigned)count)]]);
    else
        tick();
    operate();
    watch_sums();
}

/* --- the end --- */

/* The same rounds with the same members, by hub and nodes in one place. */
static void replay(void)
{
    fplt_error error;
    fplt_hub *hub;
    fplt_node *node[N];
    double down[8 * DIMENSION], model[DIMENSION], expected[DIMENSION];
    uint64_t words[64];
    if (fplt_hub_create(&w.plan, NULL, start(), &hub, &error) ||
        fplt_hub_enrol_all(hub, start(), &error))
        exit(2);
    for (uint32_t i = 0; i < N; i++)
        node[i] = make_node(i);
    for (size_t k = 0; k < w.disk.traces; k++) {
        fplt_round round;
        uint32_t count = 0, position = 0;
        for (uint32_t i = 0; i < N; i++)
            count += w.disk.trace[k].accepted >> i & 1;
        if (w.disk.trace[k].round != k)
            violate("rounds are missing in the trace");
        if (!count)
            continue;
        fplt_hub_plan(hub, k, count, &round);
        for (unsigned e = 0; e < w.shape.exchanges; e++) {
            fplt_hub_broadcast(hub, &round, e, down);
            position = 0;
            for (uint32_t i = 0; i < N; i++) {
                if (!(w.disk.trace[k].accepted >> i & 1))
                    continue;
                round.position = position++;
                if (fplt_node_train(node[i], &round, e, down, words, &error) ||
                    fplt_hub_receive(hub, e, words))
                    violate("the replay fails");
            }
            fplt_hub_absorb(hub, &round, e);
        }
        if (w.shape.finish_down)
            fplt_hub_broadcast(hub, &round, w.shape.exchanges, down);
        position = 0;
        for (uint32_t i = 0; i < N; i++) {
            if (!(w.disk.trace[k].accepted >> i & 1))
                continue;
            round.position = position++;
            if (w.shape.finish_down)
                fplt_node_finish(node[i], &round, down);
            fplt_node_accept(node[i]);
        }
    }
    fplt_hub_model(hub, expected);
    fplt_hub_model(fplt__leader_hub(w.leader), model);
    if (memcmp(model, expected, sizeof model) != 0)
        violate("the model is not that of the trace");
    fplt_hub_destroy(hub);
    for (uint32_t i = 0; i < N; i++)
        fplt_node_destroy(node[i]);
}

static int is_over(void)
{
    if (!w.leader || fplt__leader_get_view(w.leader).state < FPLT__DONE)
        return 0;
    for (unsigned i = 0; i < N; i++)
        if (!w.site[i].ended)
            return 0;
    return 1;
}

static void clear_world(void)
{
    fplt__leader_destroy(w.leader);
    for (int k = 0; k < PACKETS; k++)
        if (w.packet[k].used)
            free(w.packet[k].body.at);
    lead_disk_clear(&w.disk);
    lead_disk_clear(&w.old_disk);
    for (unsigned i = 0; i < N; i++) {
        fplt__site_destroy(w.site[i].machine);
        site_disk_clear(&w.site[i].disk);
        site_disk_clear(&w.site[i].old_disk);
    }
    if (w.sql)
        sql_end();
    memset(&w, 0, offsetof(world, body)); /* of which the first `bodies` count */
}

static unsigned long long total_steps, finished, repaired, restored, lied;

/* The schedule in `w`, whose variant and kind are chosen; NULL, or what was violated. */
static const char *play(void)
{
    w.now = 1000;
    w.plan = tiny_plan(w.variant->algorithm);
    w.shape = fplt_algorithm_shape(w.plan.algorithm, w.plan.parameter, DIMENSION);
    if (w.sql)
        sql_begin(seed_state, fplt_plan_down(&w.plan, w.shape.exchanges));
    while (!w.violated && !is_over() && w.steps < STEPS) {
        if (w.steps++ == QUIET)
            w.faults = w.restores = 0;
        step();
    }
    if (!w.violated && !is_over())
        violate("it does not come to an end");
    if (!w.violated) {
        finished++;
        if (!w.variant->private && !w.restored_any && !w.lied &&
            fplt__leader_get_view(w.leader).state == FPLT__DONE)
            replay();
    }
    note(SCHEDULES);
    if (w.revoked || w.stopped)
        note(PEOPLE);
    repaired += w.disk.record.incarnation > 0;
    restored += (unsigned)w.restored_any;
    lied += (unsigned)w.lied;
    total_steps += w.steps;
    const char *violated = w.violated;
    if (violated && !fplt__planted)
        fprintf(stderr, "variant %s %s%s%s%s, step %u, write %u, state %s\n", w.variant->algorithm,
                w.variant->rule, w.variant->private ? " private" : "",
                w.restored_any ? ", old disks" : "", w.lied ? ", lies" : "", w.steps, w.writes,
                w.leader ? fplt__leader_state_name(fplt__leader_get_view(w.leader).state) : "down");
    return violated;
}

/* Which schedules are wanted: a fault may show in some kinds only. */
enum wanted { ANY, OLD_DISKS, BRAZEN, REAL_STORE };

/* A schedule by its seed. */
static const char *schedule(uint64_t seed, enum wanted wanted)
{
    seed_state = seed;
    w.variant = &variants[below(variant_count)];
    unsigned kind = below(8);
    kind = wanted == OLD_DISKS ? 5 : wanted == BRAZEN ? 7 : kind;
    w.restores = kind >= 4 && kind < 7;
    w.liar = kind == 7;
    w.brazen = w.liar && (wanted == BRAZEN || seed % 4 == 0) ? 1 + seed / 4 % 2 : 0;
    w.gone = w.brazen ? 0 : N - 1;
    w.faults = kind != 0;
    w.people = kind == 1 ? 1 + below(2) : 0;
    w.begins = seed % 3 == 0;
    w.sql = wanted == REAL_STORE;
    if (w.sql) /* each in turn: few schedules have them all */
        w.variant = &variants[seed % variant_count];
    const char *violated = play();
    clear_world();
    return violated;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STRIDE 5 /* where a run takes ten times as long */
#endif
#endif
#ifndef STRIDE
#define STRIDE 1
#endif

/* A crash before and after each write of every variant, and a full disk, one at a time. */
static const char *sweep(unsigned long *runs)
{
    const char *violated = NULL;
    for (unsigned v = 0; v < variant_count; v++) {
        unsigned writes = UINT_MAX;
        for (unsigned at = 1; at <= writes && !violated; at += STRIDE)
            for (unsigned what = 0; what < HAPPENS && !violated; what++) {
                seed_state = 1 + v;
                w.variant = &variants[v];
                w.begins = v % 2;
                w.crash_at = at;
                w.crash = (enum happens)what;
                violated = play();
                writes = w.writes < at ? 0 : writes;
                ++*runs;
                clear_world();
            }
    }
    return violated;
}

static const char *const fault_names[FPLT__FAULTS] = {
    [FPLT__NO_PROOF] = "no proof",
    [FPLT__NO_SESSION] = "no session",
    [FPLT__BY_ROUND] = "verdict by round alone",
    [FPLT__NO_CLOSING] = "closing dropped",
    [FPLT__RECOMPUTE] = "recompute instead of resend",
    [FPLT__EARLY_VERDICT] = "verdict before commit",
    [FPLT__NO_CHARGE] = "message without charge",
    [FPLT__WAITS_FOR_GONE] = "repair waits for a member that was revoked",
    [FPLT__HEARS_GONE] = "repair for a member that was left out",
    [FPLT__NO_STAGED] = "a column that is never written",
    [FPLT__NO_SYNC] = "message before the write is synced"};

/* Among which schedules a fault is looked for. */
static const enum wanted fault_wanted[FPLT__FAULTS] = {
    [FPLT__NO_PROOF] = OLD_DISKS, [FPLT__BY_ROUND] = OLD_DISKS,   [FPLT__WAITS_FOR_GONE] = BRAZEN,
    [FPLT__HEARS_GONE] = BRAZEN,  [FPLT__NO_STAGED] = REAL_STORE, [FPLT__NO_SYNC] = REAL_STORE};

/* Schedules that found something once, with the algorithms that there were: what tests/unit/protocol/halted.c
 * has, and a start that was asked for where there was no plan any more. */
static const uint64_t once[] = {155, 403419, 1010154, 1060149};

static int play_once(int number)
{
    const char *violated = NULL;
    size_t count = sizeof once / sizeof *once, k = 0;
    while (k < count && !violated)
        violated = schedule(once[k++], ANY);
    printf("%s %d - the invariants hold in %zu schedules of old\n", violated ? "not ok" : "ok",
           number, count);
    if (violated)
        printf("# seed %llu: %s\n", (unsigned long long)once[k - 1], violated);
    return violated != NULL;
}

/* What a process found. */
struct findings {
    unsigned long long schedules, steps, finished, repaired, restored, lied;
    uint64_t seed; /* of the first violation, where there is one */
    char violated[80];
    tally happened;
};

/* Every `stride`th schedule. */
static struct findings play_some(unsigned long schedules, uint64_t first, unsigned stride,
                                 enum wanted wanted)
{
    struct findings found = {0};
    total_steps = finished = repaired = restored = lied = 0;
    memset(happened, 0, sizeof happened);
    for (unsigned long k = 0; k < schedules && !found.violated[0]; k += stride) {
        const char *violated = schedule(first + k, wanted);
        found.schedules++;
        if (violated) {
            found.seed = first + k;
            snprintf(found.violated, sizeof found.violated, "%s", violated);
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)found.seed, violated);
        }
    }
    found.steps = total_steps;
    found.finished = finished;
    found.repaired = repaired;
    found.restored = restored;
    found.lied = lied;
    memcpy(found.happened, happened, sizeof happened);
    return found;
}

static int read_whole(int from, void *to, size_t size)
{
    ssize_t got = 1;
    for (size_t at = 0; at < size && got > 0; at += (size_t)got)
        got = read(from, (char *)to + at, size - at);
    return got > 0;
}

/* Variants of an algorithm follow each other, but for the private ones, which come first: a line each. Whether
 * everything happened to all. */
static int print_happened(tally counts)
{
    int all = 1;
    printf("# algorithm");
    for (unsigned k = 0; k < HAPPENINGS; k++)
        printf(", %s", happening_names[k]);
    printf("\n");
    for (unsigned v = 0; v < variant_count; v++) {
        const variant *last = v ? &variants[v - 1] : NULL;
        int more = last && last->private == variants[v].private &&
                   strcmp(last->algorithm, variants[v].algorithm) == 0;
        if (more)
            continue;
        printf("# %s%s", variants[v].algorithm, variants[v].private ? " private" : "");
        for (unsigned k = 0; k < HAPPENINGS; k++) {
            unsigned long long sum = counts[v][k];
            for (unsigned u = v + 1;
                 u < variant_count && variants[u].private == variants[v].private &&
                 strcmp(variants[u].algorithm, variants[v].algorithm) == 0;
                 u++)
                sum += counts[u][k];
            printf(" %llu", sum);
            all &= sum > 0;
        }
        printf("\n");
    }
    return all;
}

static void add_findings(struct findings *all, const struct findings *found)
{
    all->schedules += found->schedules;
    all->steps += found->steps;
    all->finished += found->finished;
    all->repaired += found->repaired;
    all->restored += found->restored;
    all->lied += found->lied;
    for (unsigned v = 0; v < variant_count; v++)
        for (unsigned k = 0; k < HAPPENINGS; k++)
            all->happened[v][k] += found->happened[v][k];
    if (found->violated[0] && (!all->violated[0] || found->seed < all->seed)) {
        all->seed = found->seed;
        memcpy(all->violated, found->violated, sizeof all->violated);
    }
}

/* Few in this process, many in as many as there are processors; whether an invariant was violated. */
static int play_all(int number, unsigned long schedules, uint64_t first, enum wanted wanted)
{
    enum { MAX = 64, FEW = 20000, FEW_STORED = 1000 };
    int many = schedules > (wanted == REAL_STORE ? FEW_STORED : FEW);
    long processors = many ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    unsigned stride = (unsigned)(processors < 1 ? 1 : processors > MAX ? MAX : processors);
    struct findings all = {0};
    int ends[MAX][2], failed = 0;
    fflush(NULL);
    for (unsigned p = 0; p < stride; p++) {
        if (stride == 1) {
            all = play_some(schedules, first, 1, wanted);
            break;
        }
        if (pipe(ends[p]))
            exit(2);
        if (fork() == 0) {
            struct findings found =
                play_some(schedules > p ? schedules - p : 0, first + p, stride, wanted);
            _exit(write(ends[p][1], &found, sizeof found) != sizeof found);
        }
        close(ends[p][1]);
    }
    for (unsigned p = 0; stride > 1 && p < stride; p++) {
        struct findings found;
        if (!read_whole(ends[p][0], &found, sizeof found)) {
            printf("# a process ended early\n");
            failed = 1;
            continue;
        }
        add_findings(&all, &found);
    }
    while (wait(NULL) > 0)
        ;
    if (all.violated[0])
        printf("# seed %llu: %s\n", (unsigned long long)all.seed, all.violated);
    failed |= all.violated[0] != 0;
    printf("# %llu steps, %llu runs finished, %llu repaired, %llu with old disks, %llu with lies\n",
           all.steps, all.finished, all.repaired, all.restored, all.lied);
    if (schedules > 1 && !print_happened(all.happened) && schedules > FEW && !failed) {
        printf("# to some algorithm something never happened: these schedules are hollow\n");
        failed = 1;
    }
    printf("%s %d - the invariants hold in %llu schedules%s\n", failed ? "not ok" : "ok", number,
           all.schedules, wanted == REAL_STORE ? " on the real store" : "");
    return failed;
}

int main(int count, char **arguments)
{
    unsigned long schedules = count > 1 ? strtoul(arguments[1], NULL, 10) : 2000;
    uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    fplt_error error;
    fplt_objective_callbacks costs = {.size = sizeof(fplt_objective_callbacks),
                                      .dimension = DIMENSION,
                                      .agents = N,
                                      .value = value,
                                      .gradient = gradient,
                                      .hessian_times = hessian_times,
                                      .curvature = curvature};
    if (fplt_objective_create_callback(&costs, &objective, &error)) {
        fprintf(stderr, "simulator: %s\n", error.text);
        return 2;
    }
    list_variants();
    sql_prepare();
    printf("1..%d\n", count > 2 ? 1 : FPLT__FAULTS + 3);
    int failed = play_all(1, schedules, first, count > 3 ? REAL_STORE : ANY);
    for (fplt__planted = 1; count <= 2 && fplt__planted < FPLT__FAULTS; fplt__planted++) {
        const char *violated = NULL;
        unsigned long k = 0;
        while (k < 3000 && !violated)
            violated = schedule(++k, fault_wanted[fplt__planted]);
        printf("%s %d - planted: %s\n# %s, seed %lu\n", violated ? "ok" : "not ok",
               fplt__planted + 1, fault_names[fplt__planted], violated ? violated : "not found", k);
        failed |= !violated;
    }
    fplt__planted = 0;
    if (count <= 2) {
        unsigned long runs = 0;
        const char *violated = sweep(&runs);
        printf("%s %d - a crash before and after every write, and a full disk: %lu runs\n# %s\n",
               violated ? "not ok" : "ok", FPLT__FAULTS + 1, runs, violated ? violated : "");
        failed |= violated != NULL;
        failed |= play_once(FPLT__FAULTS + 2);
        failed |= play_all(FPLT__FAULTS + 3, STORED_MIN + schedules / STORED_SHARE, 1, REAL_STORE);
    }
    fplt_objective_destroy(objective);
    return failed;
}
