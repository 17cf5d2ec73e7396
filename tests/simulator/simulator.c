/* Coordinator and agents with a virtual disk, network and clock: packets lost, doubled and delayed,
 * crashes before and after every write, full disks, old copies of disks, an agent that lies. After each
 * step the invariants, at the end the model of a replay of the trace. Then, for every algorithm, a crash
 * before and after each single write, and a disk that is full for it. Then faults are planted in the
 * machines, and each must be found. Every record goes through src/store and back: above tables in memory (rows.h), where
 * a save is whole or has not begun, or above SQLite.
 *
 *     simulator [SCHEDULES [FIRST-SEED [store | secure]]]
 *     simulator_quorum [SCHEDULES [FIRST-SEED [lies]]]
 *
 * The second is the same with five members, for secure aggregation with a quorum: what the coordinator could compute of all
 * that agents say is judged after each message (judge.h); `lies`: it asks for more than it should.
 *
 * Under sanitizers no fault is planted, and one crash in five is drawn, unless FEDPLT_TESTS=all.
 *
 * A tenth as many schedules run on src/store, with SQLite on files that lose and tear writes in a crash; `store`
 * runs all there. A violation prints the seed; `simulator 1 SEED [store]` runs it again. Many schedules are spread over the
 * processors. */
#include <limits.h>
#include <sodium.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sum.h"
#include "engine/hub_node.h"
#include "protocol/leader.h"
#include "protocol/planted.h"
#include "secagg/planted.h"
#include "protocol/site.h"
#include "secagg/keys.h"
#include "base/bytes.h"
#include "costs.h"
#include "disk.h"
#include "drawn.h"
#include "judge.h"
#include "rows.h"
#include "sql.h"

int fplt__planted, fplt__secagg_planted;

enum {
    N = DISK_MEMBERS,
    DIMENSION = DISK_DIMENSION,
    MIRRORED = 16,
    ROUNDS = TINY_ROUNDS,
    RECORDS = 10,
    STORED_MIN = 60, /* schedules on the real store: so many, and one for so many others */
    STORED_SHARE = 10,
    PACKETS = 64,
    TICKETS = 4096,
    BODIES = 4096,
    REPEATED = 8,
    QUORUM = TINY_MEMBERS > 3, /* the simulator of quorums */
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

static fplt_objective *objective;

/* --- the world --- */

typedef struct variant {
    const char *algorithm;
    const char *rule;              /* participation */
    int private;                   /* noise from a source that never repeats, and a ledger */
    int secure;                    /* messages are masked; chosen only where it is wanted */
    uint32_t threshold, colluders; /* of masked sums that do without some; 0: over all */
} variant;

/* Every algorithm of the registry with all agents, and with some where it allows that; privacy. */
static variant variants[64] = {{"fed-plt", "all", 1}, {"fed-plt", "bernoulli", 1}};
static unsigned variant_count = 2, secure_count;

static void add_variant(const char *algorithm, const char *rule)
{
    if (variant_count == sizeof variants / sizeof *variants)
        exit(2);
    variants[variant_count++] = (variant){algorithm, rule, 0, 0};
}

/* Behind the others, so that seeds keep their schedules. */
static void add_secure(const char *algorithm, int private)
{
    if (variant_count + secure_count == sizeof variants / sizeof *variants)
        exit(2);
    variants[variant_count + secure_count++] = (variant){algorithm, "all", private, 1, 0, 1};
}

/* In the place of the others: 2t > N + c, with the least threshold that this allows. A plan without noise is refused for
 * the differences of its sums, but its machines are the same, and its model is that of the trace. */
static void add_quorum(const char *algorithm, int private, uint32_t colluders)
{
    if (variant_count + secure_count == sizeof variants / sizeof *variants)
        exit(2);
    variants[variant_count + secure_count++] =
        (variant){algorithm, "all", private, 1, (N + colluders) / 2 + 1, colluders};
}

static void list_quorums(void)
{
    const fplt_algorithm *algorithm;
    variant_count = 0;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        if (!(algorithm->allows & FPLT_ALLOWS_PARTIAL) || algorithm->whole)
            continue;
        add_quorum(algorithm->name, 0, 0);
        if (algorithm->allows & FPLT_ALLOWS_PRIVACY)
            add_quorum(algorithm->name, 1, 1);
    }
}

static void list_variants(void)
{
    const fplt_algorithm *algorithm;
    if (QUORUM) {
        list_quorums();
        return;
    }
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        add_variant(algorithm->name, "all");
        if (algorithm->allows & FPLT_ALLOWS_PARTIAL)
            add_variant(algorithm->name, "bernoulli");
    }
    add_secure("fed-plt", 1);
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++)
        add_secure(algorithm->name, 0);
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
    int sql; /* below src/store is SQLite, on files that tear; else tables in memory, where a save is whole */
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
        fplt__receipt receipt;      /* of the ledger, for the run that it charged last */
        int ended;
        int has_sent;
        fplt__digest sent; /* the plan under which its first update left */
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
    int forges, forged; /* the coordinator is false, and was */
    unsigned answers;   /* that reached agents of a false coordinator */
    int refuses_first;  /* it refuses an update before it asks for another of the round */
    int asked_other;    /* it has asked a round again with other contents */
    int diverges;       /* the liar reports divergences */
    int is_mute;        /* a silent liar is not revoked: the coordinator must notice by itself */
    int stopped;        /* a person ended the run */
    /* A second plan follows: the coordinator loses its disk and gives the number again, or a person excludes a member. */
    enum again { ONE_PLAN, NUMBER_AGAIN, EXCLUDES } again;
    unsigned generation; /* 1: it has followed */
    unsigned again_at;   /* step */
    int told;            /* an agent's refusal reached the coordinator */
    const char *violated;
    struct ticket {
        uint64_t id;
        unsigned site;
    } ticket[TICKETS];
    int repeats; /* a false coordinator: answers that an agent had before come again */
    int has_repeated;
    int asks_more; /* a false coordinator: it asks more about sessions than it should */
    blob before[N][REPEATED];
    struct {
        fplt__digest session, digest;
        unsigned site;
    } masked[BODIES];
    size_t maskeds;
    struct {
        fplt__digest task, digest, plan;
        uint64_t round;
        unsigned site, exchange;
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

/* Identities of the members, the same in all schedules. */
static uint8_t identity[N][64], identities[N * 32];

static void make_identities(void)
{
    for (uint8_t i = 0; i < N; i++) {
        uint8_t seed[32] = {9, i};
        crypto_sign_seed_keypair(identities + 32 * i, identity[i], seed);
    }
}

static fplt__agreement *with_masks(fplt__agreement *agreement)
{
    agreement->proposal.run = 1 + (w.again == EXCLUDES && w.generation);
    agreement->proposal.authority.byte[0] = 1;
    if (!w.variant->secure)
        return agreement;
    agreement->proposal.secure = 1;
    agreement->proposal.colluders = w.variant->colluders;
    agreement->threshold = w.variant->threshold;
    agreement->most = N;
    agreement->width = 16;
    agreement->identities = tiny_room(sizeof identities);
    memcpy(agreement->identities, identities, sizeof identities);
    return agreement;
}

/* What agents read of a run: the number, the authority and the members, which are fewer after an exclusion. */
typedef struct document {
    char *text; /* NULL: not made yet */
    size_t size;
} document;

enum { PLANS = 3 }; /* the first, another with the same number, one without a member */
static document documents[sizeof variants / sizeof *variants][2][PLANS][2];

static void free_documents(void)
{
    document *all = &documents[0][0][0][0];
    for (size_t k = 0; k < sizeof documents / sizeof *all; k++)
        fplt__free(all[k].text);
}

static document document_of(int planned)
{
    unsigned which = !w.generation ? 0 : w.again == EXCLUDES ? 2 : 1;
    document *found = &documents[w.variant - variants][w.begins != 0][which][planned];
    fplt_error error;
    if (found->text)
        return *found;
    fplt__agreement *a = with_masks(tiny_agreement(&w.plan, w.variant->private));
    fplt__proposal *p = &a->proposal;
    p->members = which == 2 ? N - 1 : N;
    a->most = w.variant->secure ? p->members : 0;
    p->nonce[0] = (uint8_t)which;
    p->roster = tiny_room(N * sizeof *p->roster);
    for (unsigned i = 0; i < N; i++)
        snprintf(p->roster[i], sizeof p->roster[i], "site-%u", i);
    for (unsigned i = 0; w.variant->private && i < N; i++)
        a->tau[i] = 1;
    strcpy(p->federation, "tiny");
    a->start.byte[0] = w.begins || which == 2;
    if (planned ? fplt__agreement_text(a, &found->text, &error)
                : fplt__proposal_text(p, &found->text, &error)) {
        fprintf(stderr, "simulator: a document: %s\n", error.text);
        exit(2);
    }
    found->size = strlen(found->text);
    fplt__agreement_clear(a);
    if (planned && fplt__agreement_read(found->text, found->size, a, &error)) {
        fprintf(stderr, "simulator: a document that no agent can read: %s\n", error.text);
        exit(2);
    }
    if (planned)
        fplt__agreement_clear(a);
    fplt__free(a);
    return *found;
}

static fplt__leader_plan lead_plan(void)
{
    fplt__leader_plan made = tiny_lead_plan(&w.plan, w.variant->rule, w.variant->private, start());
    with_masks(made.agreement);
    return made;
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
    static fplt_noise_source source = {.size = sizeof(fplt_noise_source), .add = fresh_noise};
    return tiny_node(&w.plan, objective, i, start(), w.variant->private ? &source : NULL);
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

/* One plaintext for each session, whatever happened to disks and processes: else two plaintexts meet one mask. */
static void watch_masked(unsigned i, const fplt__request *request)
{
    fplt__frame frame;
    fplt_error error;
    fplt__digest session;
    if (request->size < FPLT__FRAME_HEAD || fplt__frame_read(request->body, &frame, &error))
        return;
    const char *learnt = w.variant->threshold ? judge_said(i, request->body, request->size) : NULL;
    if (learnt)
        violate(learnt);
    if (frame.kind == FPLT__MISSING || frame.kind == FPLT__PROPOSE || frame.kind == FPLT__FINAL)
        return;
    if (frame.encoding != FPLT__BYTES) {
        if (frame.kind != FPLT__MOMENTS && frame.count)
            violate("numbers leave a secure run without a mask");
        return;
    }
    memcpy(&session, (const uint8_t *)request->body + FPLT__FRAME_HEAD, sizeof session);
    for (size_t k = 0; k < w.maskeds; k++)
        if (w.masked[k].site == i && fplt__same(&w.masked[k].session, &session)) {
            if (!fplt__same(&w.masked[k].digest, &frame.digest) &&
                fplt__secagg_planted !=
                    FPLT__ANSWERS_FROM_DISK) /* which is to be found by itself */
                violate("two plaintexts under one mask");
            return;
        }
    if (w.maskeds < BODIES) {
        w.masked[w.maskeds].site = i;
        w.masked[w.maskeds].session = session;
        w.masked[w.maskeds++].digest = frame.digest;
    }
}

/* Whether an agent that has sent updates must refuse the second plan. */
static int must_refuse(int has_sent)
{
    return w.generation && has_sent &&
           (w.again == NUMBER_AGAIN || (w.variant->secure && !w.variant->private));
}

static void watch_plan(unsigned i, const fplt__digest *plan)
{
    struct site *site = &w.site[i];
    if (!site->has_sent)
        site->sent = *plan;
    site->has_sent = 1;
    if (must_refuse(site->has_sent) && !fplt__same(&site->sent, plan))
        violate(w.again == EXCLUDES ? "sums with and without a member, and no noise"
                                    : "updates of one run under two plans");
}

/* Rounds of the plan only, whatever was repaired. One task for each exchange of a round, unless the disk of the agent was
 * restored: a second one would be a point more that the coordinator chooses. */
static void watch_answer(unsigned i, const fplt__frame *frame)
{
    if (frame->round >= ROUNDS)
        violate("a round beyond those of the plan is answered");
    for (size_t k = 0; k < w.bodies && !w.restored_site[i]; k++)
        if (w.body[k].site == i && w.body[k].round == frame->round &&
            w.body[k].exchange == frame->exchange && fplt__same(&w.body[k].plan, &frame->plan) &&
            !fplt__same(&w.body[k].task, &frame->task))
            violate("one round is answered twice, with other contents");
}

/* One body for each task, unless a disk was restored; and with privacy a charge for each body. */
static void watch_update(unsigned i, const fplt__request *request)
{
    fplt__frame frame;
    fplt_error error;
    if (w.variant->secure)
        watch_masked(i, request);
    if (request->size < FPLT__FRAME_HEAD || fplt__frame_read(request->body, &frame, &error) ||
        frame.kind != FPLT__TRAIN)
        return;
    watch_plan(i, &frame.plan);
    watch_answer(i, &frame);
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
        w.body[w.bodies].plan = frame.plan;
        w.body[w.bodies].round = frame.round;
        w.body[w.bodies].exchange = frame.exchange;
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
    fplt__hub_totals(fplt__leader_hub(w.leader), totals);
    if (memcmp(totals, sum, 16 * count) != 0)
        violate("chains are equal, sums are not");
}

/* What each agent answers when it is asked for facts. */
static const double fact_scalar = 1;
static const uint64_t fact_words[2] = {5, 0};

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
    document agreed = document_of(1);
    lead_event((fplt__leader_event){.kind = FPLT__LEADER_PLAN,
                                    .document = agreed.text,
                                    .document_size = agreed.size,
                                    .plan = &plan});
}

/* What came of a write. */
enum outcome { STORED, NOT_STORED, DIED };

/* A commit may meet a crash on either side of the write, and in the real store within it. */
static enum outcome lead_store(const fplt__leader_record *record)
{
    w.writes++;
    if (happens(BEFORE, 15)) {
        sql_save(SQL_LEAD, record, 0, SQL_DIES);
        lead_crash(record);
        return DIED;
    }
    if (happens(FULL, 20)) {
        if (!sql_save(SQL_LEAD, record, 0, SQL_FULL))
            return NOT_STORED;
    } else {
        if (w.restores && chance(200)) {
            lead_disk_copy(&w.old_disk, &w.disk);
            sql_keep(SQL_LEAD);
        }
        sql_save(SQL_LEAD, record, 0, SQL_WHOLE);
    }
    lead_write(record);
    fplt__leader_record stored = lead_disk_read(&w.disk);
    if (!sql_is(SQL_LEAD, &stored))
        violate("the coordinator's store does not give back what was written");
    if (!happens(AFTER, 15))
        return STORED;
    lead_crash(NULL);
    return DIED;
}

/* Facts of a member reach the process as they were sent. */
static void check_facts(const fplt__leader_action *action)
{
    if (action->step != 0 || action->member_index >= N || !action->scalars ||
        action->scalars[0] != fact_scalar || action->numbers != 1 ||
        memcmp(action->words, fact_words, sizeof fact_words) != 0)
        violate("facts that no agent sent");
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
        } else if (action->kind == FPLT__LEADER_FACTS) {
            check_facts(action);
        } else if (action->kind == FPLT__LEADER_LOG) {
            w.told |= w.generation && strcmp(action->word, "refused") == 0;
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
    document proposed = document_of(0);
    fplt__leader_record fresh = {.state = FPLT__FORMING,
                                 .members = N,
                                 .document_changed = 1,
                                 .document = proposed.text,
                                 .document_size = proposed.size,
                                 .hash = fplt__document_hash(proposed.text, proposed.size)};
    fplt__member_row rows[N] = {0};
    fplt__leader_record record = w.disk.there ? lead_disk_read(&w.disk) : fresh;
    fplt__leader_plan plan = {0};
    if (fplt__leader_create(&settings, &w.leader, &error))
        exit(2);
    if (!w.disk.there) { /* the shell commits a new run first */
        fresh.member = rows;
        sql_save(SQL_LEAD, &fresh, 0, SQL_WHOLE);
    } else {
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
            sql_renew(SQL_SITE + i);
        } else if (site->old_disk.there) {
            site_disk_copy(&site->disk, &site->old_disk);
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
    switch (w.diverges && chance(700) ? 6 : below(6)) {
    case 6:
        report.has_trouble = 1;
        report.trouble.round = w.disk.record.round;
        strcpy(report.trouble.word, "diverged");
        strcpy(report.trouble.sentence, "it says so");
        break;
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

static void lie_in_consent(packet *p)
{
    fplt__consent consent;
    fplt_error error;
    char *text;
    if (fplt__consent_read(p->body.at, p->body.size, &consent, &error))
        return;
    consent.records = 0;
    if (!fplt__consent_text(&consent, &text, &error)) {
        replace(p, 0, p->body.size, text, strlen(text));
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
    if (p->request.kind == FPLT__CONSENT)
        lie_in_consent(p);
    else if (p->request.kind == FPLT__UPDATE && (patient || chance(500)))
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
        sql_save(SQL_SITE + i, record, site->charges, SQL_DIES);
        site_crash(i, record);
        return DIED;
    }
    if (happens(FULL, 20)) {
        if (!sql_save(SQL_SITE + i, record, site->charges, SQL_FULL))
            return NOT_STORED;
    } else {
        if (w.restores && chance(200) && site->disk.there) {
            site_disk_copy(&site->old_disk, &site->disk);
            sql_keep(SQL_SITE + i);
        }
        sql_save(SQL_SITE + i, record, site->charges, SQL_WHOLE);
    }
    site_disk_write(&site->disk, record);
    fplt__site_record stored = site_disk_read(&site->disk);
    if (!sql_is(SQL_SITE + i, &stored))
        violate("an agent's store does not give back what was written");
    if (!happens(AFTER, 15))
        return STORED;
    site_crash(i, NULL);
    return DIED;
}

/* What a question for facts brings along: a process that agreed to nothing itself must know what to read. */
static void check_gather(const fplt__site_action *action)
{
    document proposed = document_of(0);
    if (action->planned || action->document_size != proposed.size ||
        memcmp(action->document, proposed.text, proposed.size) != 0 || action->records != RECORDS)
        violate("facts are asked for without the proposal that was agreed to");
}

/* The ledger. The cap is of what one run charges: a round that is computed twice, because a crash came after its charge,
 * counts twice. */
static void charge(struct site *site, const fplt__digest *run)
{
    fplt__receipt *receipt = &site->receipt;
    if (memcmp(receipt->run, run, sizeof receipt->run) != 0)
        receipt->rounds = 0;
    memcpy(receipt->run, run, sizeof receipt->run);
    receipt->rounds++;
    site->charges++;
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        receipt->spent.against[k] = site->charges;
    if (receipt->rounds > TINY_CAP)
        violate("more rounds are charged than the plan's cap");
}

static void site_perform(unsigned i)
{
    struct site *site = &w.site[i];
    const fplt__site_action *action;
    fplt__site_event then = {.kind = FPLT__SITE_TIME};
    int next = 0;
    fplt__site_plan plan = {0};
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
                charge(site, &action->hash);
                then.kind = FPLT__SITE_CHARGED;
                then.charged = site->receipt;
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
            then.scalars = &fact_scalar;
            then.scalar_count = 1;
            then.words = fact_words;
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
            plan.agreement = with_masks(tiny_agreement(&w.plan, w.variant->private));
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
    static uint64_t roots;
    memcpy(settings.identity, identity[i], sizeof settings.identity);
    settings.has_identity = w.variant->secure;
    settings.root[0] = (uint8_t)i;
    if (fplt__secagg_planted != FPLT__KEYS_ON_DISK &&
        fplt__secagg_planted != FPLT__ANSWERS_FROM_DISK)
        fplt__put64(settings.root + 1, ++roots);
    fplt__site_record record = site_disk_read(d);
    if (fplt__site_create(&settings, &site->machine, &error))
        exit(2);
    if (d->there) {
        const fplt__site_record *found =
            sql_is(SQL_SITE + i, &record) ? sql_site_load(SQL_SITE + i) : NULL;
        if (!found)
            violate("an agent's store does not give back what was written");
        record = found ? *found : record;
    }
    if (fplt__site_open(site->machine, w.now, d->there ? &record : NULL, &site->receipt, &error)) {
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

/* A coordinator that says too early that a round counts: after the first of two exchanges. */
static void forge_verdict(packet *p)
{
    const struct site *site = &w.site[p->site];
    fplt__site_record record = site_disk_read(&site->disk);
    uint8_t head[FPLT__FRAME_HEAD];
    if (!site->machine || !fplt__site_node(site->machine) || !site->disk.there ||
        !record.has_staged || record.messages >= w.shape.exchanges)
        return;
    fplt__frame frame = {.kind = FPLT__VERDICT,
                         .encoding = FPLT__DOUBLES,
                         .incarnation = record.incarnation,
                         .member_index = p->site,
                         .round = record.staged_round,
                         .cohort = 1,
                         .version = record.version + 1,
                         .plan = record.hash,
                         .digest = fplt__body_hash("", 0)};
    fplt__frame_write(&frame, head);
    p->status = 200;
    blob_set(&p->body, head, sizeof head);
    w.forged = 1;
}

/* A coordinator that asks a round again with other contents, now and then after it has refused the update. Which answers
 * it takes for that is counted, not drawn, so that seeds keep their schedules. */
static void ask_other(packet *p)
{
    const struct site *site = &w.site[p->site];
    fplt__site_record record = site_disk_read(&site->disk);
    const size_t scalars = w.shape.scalars, count = fplt_plan_down(&w.plan, 0);
    uint8_t made[2 * FPLT__FRAME_HEAD + 64 * 8];
    double down[64] = {0};
    if (++w.answers % 7 || !site->machine || !fplt__site_node(site->machine) || !site->disk.there ||
        !record.has_staged || p->status == 409 || w.variant->secure || scalars + count > 64)
        return;
    uint8_t *at = made;
    fplt__frame refusal = {.kind = FPLT__VERDICT,
                           .encoding = FPLT__DOUBLES,
                           .incarnation = record.incarnation,
                           .member_index = p->site,
                           .round = record.staged_round,
                           .version = record.version,
                           .plan = record.hash,
                           .digest = fplt__body_hash("", 0)};
    fplt__frame task = {.kind = FPLT__TRAIN,
                        .encoding = FPLT__DOUBLES,
                        .incarnation = record.incarnation,
                        .member_index = p->site,
                        .round = record.staged_round,
                        .cohort = N,
                        .position = p->site,
                        .version = record.version,
                        .count = count,
                        .payload = 8 * count,
                        .scalars = (uint32_t)scalars,
                        .plan = record.hash};
    if (w.refuses_first) { /* an update that counts is then lost at the agent */
        fplt__frame_write(&refusal, at);
        at += FPLT__FRAME_HEAD;
        w.lied = 1;
    }
    down[scalars] = w.answers;
    fplt__put_reals(at + FPLT__FRAME_HEAD, down, scalars + count);
    task.digest = fplt__body_hash(at + FPLT__FRAME_HEAD, 8 * (scalars + count));
    fplt__frame_write(&task, at);
    p->status = 200;
    blob_set(&p->body, made, (size_t)(at - made) + FPLT__FRAME_HEAD + 8 * (scalars + count));
    w.asked_other = 1;
}

/* A coordinator that asks an agent about a session what it should not. */
static void ask_more(packet *p)
{
    size_t size;
    uint64_t chances = bits();
    int is_task = p->status == 204 || (p->status == 200 && p->body.size > FPLT__FRAME_HEAD &&
                                       memcmp(p->body.at, "FPLT", 4) == 0);
    const uint8_t *bytes = is_task ? judge_forge(p->site, chances, &size) : NULL;
    if (!w.faults || !bytes || !chance(850))
        return;
    p->status = 200;
    blob_set(&p->body, bytes, size);
    w.has_repeated = w.restored_any = w.restored_lead = w.lied = 1;
}

/* A coordinator that sends an agent what it sent it before, as the answer to another request. */
static void repeat(packet *p)
{
    blob *old = &w.before[p->site][below(REPEATED)];
    int is_task =
        p->status == 204 || (p->body.size > FPLT__FRAME_HEAD && memcmp(p->body.at, "FPLT", 4) == 0);
    if (w.faults && is_task && old->size && chance(300)) {
        p->status = 200;
        blob_set(&p->body, old->at, old->size);
        w.has_repeated = w.restored_any = w.restored_lead = w.lied = 1;
    } else if (p->status == 200 && is_task) {
        blob_set(old, p->body.at, p->body.size);
    }
}

static void deliver_to_site(packet *p)
{
    w.forged = 0;
    if (w.repeats && p->status)
        repeat(p);
    if (w.asks_more && p->status)
        ask_more(p);
    if (w.forges && p->status && chance(300))
        forge_verdict(p);
    else if (w.forges && p->status && w.faults)
        ask_other(p);
    struct site *site = &w.site[p->site];
    if (!site->machine || site->id != p->id)
        return;
    fplt__site_view before = fplt__site_get_view(site->machine);
    site->id = 0;
    if (w.variant->threshold && p->status == 200)
        judge_asked(p->site, p->body.at, p->body.size);
    site_event(p->site,
               (fplt__site_event){.kind = p->status ? FPLT__SITE_REPLY : FPLT__SITE_NETWORK,
                                  .status = p->status,
                                  .body = p->body.at,
                                  .size = p->body.size,
                                  .has_proof = p->has_proof,
                                  .proof = p->proof});
    if (!site->machine || w.liar || w.has_repeated)
        return;
    fplt__site_view after = fplt__site_get_view(site->machine);
    if (w.forged && after.version > before.version)
        violate("half a round counts at an agent");
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

/* All are in good standing, and the algorithm can do without one. */
static int lacks_nobody(void)
{
    for (unsigned i = 0; i < N; i++)
        if (w.disk.row[i].standing != FPLT__MEMBER)
            return 0;
    return (w.plan.algorithm->allows & FPLT_ALLOWS_PARTIAL) != 0;
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
    fplt__member_view liar = {.joined = 0};
    if (w.leader && state == FPLT__FORMING)
        liar = fplt__leader_member(w.leader, 0);
    if (liar.consented && liar.row->records == 0)
        violate("a member without records takes part");
    if (w.disk.there && w.disk.record.state == FPLT__ENDED && !w.restored_any && !w.revoked &&
        strcmp(w.disk.record.outcome, "diverged") == 0 && lacks_nobody() && !w.variant->secure)
        violate("the word of one member ended the run");
    if (w.variant->threshold && w.disk.there && w.disk.record.state == FPLT__ENDED &&
        !w.restored_any && !w.lied && !w.revoked && strcmp(w.disk.record.outcome, "too-few") == 0)
        violate("restarts ended a run with a quorum");
    if (w.variant->threshold && w.disk.there && w.disk.record.state == FPLT__ENDED &&
        !w.restored_any && !w.lied && strcmp(w.disk.record.outcome, "diverged") == 0)
        violate("a sum of honest members is out of range");
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
    if (w.brazen && !w.is_mute && w.lied && (state == FPLT__REPAIR || !w.faults) && chance(5))
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

/* The coordinator goes on without what it had stored: its disk is lost, or a person has begun the run without a member. */
static void begin_again(void)
{
    lead_crash(NULL);
    lead_disk_clear(&w.disk);
    lead_disk_clear(&w.old_disk);
    sql_renew(SQL_LEAD);
    w.generation = 1;
    w.again_at = w.steps;
    w.restored_lead = w.restored_any = 1;
    for (unsigned i = 0; i < N; i++)
        w.site[i].ended = 0;
    note(OLD_DISK);
}

/* The second plan is refused for good, and the coordinator has heard it. An agent that has stored an update refuses
 * even if it was killed before the update left. */
static int is_refused(void)
{
    int refused = 0;
    for (unsigned i = 0; i < N; i++)
        refused |= must_refuse(w.site[i].disk.record.sent_run != 0);
    return refused && w.told && w.steps > w.again_at + 200;
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
    if (w.again && !w.generation && w.leader && w.disk.there && w.disk.record.state < FPLT__DONE &&
        chance(10))
        begin_again();
    if (w.faults && w.leader && chance(2))
        lead_crash(NULL);
    if (w.faults && chance(w.asks_more ? 15 : 5)) {
        unsigned i = below(N);
        if (w.site[i].machine)
            site_crash(i, NULL);
    }
    if (w.variant->secure && w.leader &&
        chance(20)) /* vectors as they are: sums of another state each time */
        lead_event((fplt__leader_event){.kind = FPLT__LEADER_CHECK});
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
        fplt__hub_enrol_all(hub, start(), &error))
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
    for (unsigned i = 0; i < N * REPEATED; i++)
        free(w.before[i / REPEATED][i % REPEATED].at);
    for (unsigned i = 0; i < N; i++) {
        fplt__site_destroy(w.site[i].machine);
        site_disk_clear(&w.site[i].disk);
        site_disk_clear(&w.site[i].old_disk);
    }
    sql_end();
    memset(&w, 0, offsetof(world, body)); /* of which the first `bodies` count */
}

static unsigned long long total_steps, finished, repaired, restored, lied;
static unsigned long long sums_of_all, sums_of_some, sums_of_none; /* rounds by who is in them */

static void count_rounds(void)
{
    for (size_t k = 0; k < w.disk.traces; k++) {
        unsigned count = (unsigned)__builtin_popcount(w.disk.trace[k].accepted);
        sums_of_all += count == N;
        sums_of_some += count > 0 && count < N;
        sums_of_none += !count;
        if (w.variant->threshold && count && count < w.variant->threshold)
            violate("a sum over fewer members than the quorum");
    }
}

/* The schedule in `w`, whose variant and kind are chosen; NULL, or what was violated. */
static const char *play(void)
{
    w.now = 1000;
    judge_begin(N, w.variant->threshold, w.variant->colluders);
    w.plan = tiny_plan(w.variant->algorithm);
    w.shape = fplt_algorithm_shape(w.plan.algorithm, w.plan.parameter, DIMENSION);
    rows_use(!w.sql);
    sql_use(w.sql ? NULL : &rows_medium);
    sql_begin(seed_state, fplt_plan_down(&w.plan, w.shape.exchanges));
    while (!w.violated && !is_over() && !is_refused() && w.steps < STEPS) {
        if (w.steps++ == QUIET)
            w.faults = w.restores = 0;
        step();
    }
    if (!w.violated && !is_over() && !is_refused() && !w.has_repeated && !w.asked_other)
        violate("it does not come to an end");
    if (!w.violated && is_over()) {
        finished++;
        if (!w.variant->private && !w.restored_any && !w.lied &&
            fplt__leader_get_view(w.leader).state == FPLT__DONE)
            replay();
    }
    count_rounds();
    note(SCHEDULES);
    if (w.revoked || w.stopped)
        note(PEOPLE);
    repaired += w.disk.record.incarnation > 0;
    restored += (unsigned)w.restored_any;
    lied += (unsigned)w.lied;
    total_steps += w.steps;
    const char *violated = w.violated;
    if (violated && !fplt__planted && !fplt__secagg_planted)
        fprintf(stderr, "variant %s %s%s%s%s%s, step %u, write %u, state %s\n",
                w.variant->algorithm, w.variant->rule, w.variant->private ? " private" : "",
                w.variant->secure ? " secure" : "", w.restored_any ? ", old disks" : "",
                w.lied ? ", lies" : "", w.steps, w.writes,
                w.leader ? fplt__leader_state_name(fplt__leader_get_view(w.leader).state) : "down");
    return violated;
}

/* Which schedules are wanted: a fault may show in some kinds only. */
enum wanted {
    ANY,
    OLD_DISKS,
    BRAZEN,
    LYING,
    SILENT,
    FALSE_LEAD,
    SECOND_PLAN, /* the coordinator loses its disk and gives the run's number again */
    REAL_STORE,
    SECURE,           /* any schedule of a secure plan */
    SECURE_OLD_DISKS, /* disks are lost and put back */
    SECURE_EXCLUDES,  /* a person excludes a member */
    SECURE_REPEATS,   /* the coordinator is false, and repeats what it sent */
    SECURE_LIES       /* and asks more about a session than it should */
};

/* A schedule by its seed. */
static const char *schedule(uint64_t seed, enum wanted wanted)
{
    seed_state = seed;
    w.variant = &variants[below(variant_count ? variant_count : secure_count)];
    unsigned kind = below(8);
    kind = wanted == OLD_DISKS || wanted == SECURE_OLD_DISKS                           ? 5
           : wanted == BRAZEN || wanted == LYING || wanted == SILENT                   ? 7
           : wanted == FALSE_LEAD || wanted == SECURE_REPEATS || wanted == SECURE_LIES ? 3
           : wanted == SECOND_PLAN || wanted == SECURE_EXCLUDES                        ? 2
                                                                                       : kind;
    w.restores = kind >= 4 && kind < 7;
    w.liar = kind == 7;
    w.brazen =
        w.liar && (wanted == BRAZEN || wanted == SILENT || (wanted != LYING && seed % 4 == 0))
            ? 1 + seed / 4 % 2
            : 0;
    w.is_mute = w.brazen && (wanted == SILENT || seed % 3 == 0);
    w.diverges = w.liar && !w.brazen && (wanted == LYING || seed % 4 == 1);
    w.gone = w.brazen ? 0 : N - 1;
    w.faults = kind != 0;
    w.people = kind == 1 ? 1 + below(2) : 0;
    w.forges = wanted == FALSE_LEAD || kind == 3;
    w.refuses_first = seed % 2;
    w.begins = seed % 3 == 0;
    w.again = wanted == SECOND_PLAN        ? NUMBER_AGAIN
              : wanted == SECURE_EXCLUDES  ? EXCLUDES
              : kind == 2 && seed % 4 == 0 ? 1 + seed / 4 % 2
                                           : ONE_PLAN;
    w.sql = wanted == REAL_STORE;
    if (wanted >= SECURE)
        w.variant =
            &variants[variant_count + (kind == 5 && seed % 2 ? 0 : seed / 8 % secure_count)];
    if (wanted == SECURE_LIES &&
        w.variant->colluders) /* where the quorum leaves room for two sets */
        w.variant--;
    w.repeats = wanted == SECURE_REPEATS || (wanted == SECURE && kind == 3) ||
                (wanted == SECURE_LIES && seed % 2);
    w.asks_more = wanted == SECURE_LIES || (QUORUM && kind == 3);
    if (w.sql) /* each in turn: few schedules have them all */
        w.variant = &variants[seed % (variant_count ? variant_count : secure_count)];
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
#define STRIDE (QUORUM ? 17 : 1)
#endif

/* A crash before and after each write of every variant, and a full disk, one at a time. */
static const char *sweep(unsigned long *runs)
{
    const char *violated = NULL;
    for (unsigned v = 0; v < variant_count + secure_count; v++) {
        unsigned writes = UINT_MAX;
        for (unsigned at = 1; at <= writes && !violated; at += STRIDE)
            for (unsigned what = 0; what < HAPPENS && !violated; what++) {
                if (!drawn_takes((v * 1000 + at) * HAPPENS + what) && at > 1)
                    continue;
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
    [FPLT__HALF_ROUND] = "verdict after the first of two exchanges",
    [FPLT__ONE_DIVERGES] = "one member's word ends the run",
    [FPLT__NO_RECORDS] = "consent with 0 records",
    [FPLT__WAITS_FOR_SILENT] = "repair waits for a member that is silent",
    [FPLT__NO_STAGED] = "a column that is never written",
    [FPLT__NO_SYNC] = "message before the write is synced",
    [FPLT__TWO_PLANS] = "a run is joined again under another plan",
    [FPLT__REVEALS] = "a run goes on without a member, with sums and without noise",
    [FPLT__ANSWERS_TWICE] = "a round is answered again with other contents",
    [FPLT__FORGETS_ANSWERED] = "and after its update was refused",
    [FPLT__LONGER_RUN] = "each repair adds a round",
    [FPLT__FORGETS_CHARGES] = "a new process does not count what the ledger charged"};

/* Among which schedules a fault is looked for. */
static const enum wanted fault_wanted[FPLT__FAULTS] = {
    [FPLT__NO_PROOF] = OLD_DISKS,          [FPLT__BY_ROUND] = OLD_DISKS,
    [FPLT__WAITS_FOR_GONE] = BRAZEN,       [FPLT__HEARS_GONE] = BRAZEN,
    [FPLT__ONE_DIVERGES] = LYING,          [FPLT__NO_RECORDS] = LYING,
    [FPLT__HALF_ROUND] = FALSE_LEAD,       [FPLT__WAITS_FOR_SILENT] = SILENT,
    [FPLT__NO_SYNC] = REAL_STORE,          [FPLT__TWO_PLANS] = SECOND_PLAN,
    [FPLT__REVEALS] = SECURE_EXCLUDES,     [FPLT__ANSWERS_TWICE] = FALSE_LEAD,
    [FPLT__FORGETS_ANSWERED] = FALSE_LEAD, [FPLT__LONGER_RUN] = OLD_DISKS,
    [FPLT__FORGETS_CHARGES] = OLD_DISKS};

/* Faults of secure aggregation, and among which schedules they are looked for. */
static const struct secure_fault {
    enum fplt__secagg_fault fault;
    enum wanted wanted;
    const char *name;
    unsigned attack; /* of judge.h */
} secure_fault[] = {
    {FPLT__KEYS_ON_DISK, SECURE_OLD_DISKS, "a new process has the key of the one before"},
    {FPLT__ROUND_TWICE, SECURE_REPEATS, "a round is computed again under its session"},
    {FPLT__OTHER_STATE, SECURE_REPEATS, "a question is answered again from another state"}};
enum { SECURE_FAULTS = sizeof secure_fault / sizeof *secure_fault };

/* Those of mode quorum besides: a coordinator that asks for more than it should learns more than one sum. */
static const struct secure_fault quorum_fault[] = {
    {FPLT__NO_VOTES, SECURE_LIES, "shares of a smaller set are given without votes", 5},
    {FPLT__LATE_SEEDS, SECURE_LIES, "seeds are told after the shares of the whole cohort", 2},
    {FPLT__SECOND_VOTE, SECURE_LIES, "a vote does not bind", 1},
    {FPLT__GROWING_VIEW, SECURE_LIES, "a member that left comes back", 4},
    {FPLT__WHOLE_AFTER_SEEDS, SECURE_LIES, "shares of the whole cohort are given after seeds", 3},
    {FPLT__OWN_SCALAR, SECURE_LIES, "an agent gives its own scalar"},
    {FPLT__ANSWERS_FROM_DISK, SECURE_LIES,
     "a new process goes on with a session of the one before"},
    {FPLT__KEEPS_UPLOADS, SECURE, "updates of members that left stay in the sum"},
    {FPLT__KEEPS_MASKS, SECURE, "masks of members that left stay in the sum"}};
enum { QUORUM_FAULTS = sizeof quorum_fault / sizeof *quorum_fault };

static int play_secure_faults(int number, const struct secure_fault *list, unsigned count)
{
    int failed = 0;
    for (unsigned f = 0; f < count; f++) {
        const char *violated = NULL;
        unsigned long k = 0;
        fplt__secagg_planted = (int)list[f].fault;
        judge_attack = list[f].attack;
        while (k < 6000 && !violated)
            violated = schedule(++k, list[f].wanted);
        printf("%s %d - planted: %s\n# %s, seed %lu\n", violated ? "ok" : "not ok", number + (int)f,
               list[f].name, violated ? violated : "not found", k);
        failed |= !violated;
    }
    fplt__secagg_planted = 0;
    judge_attack = 0;
    return failed;
}

/* Schedules that found something once, with the algorithms that there were: what tests/unit/protocol/halted.c
 * has, a start that was asked for where there was no plan any more, a proposal that was taken for the plan, a leg that
 * begins with the number behind the last round of the plan, and a member that says that it diverged where others have
 * spent their budgets or cannot answer either. With a quorum: vectors that are asked for again in the session
 * of others. */
static const uint64_t once_of_all[] = {155, 403419, 1010154, 1060149, 7528, 308197, 304077, 466453};
static const uint64_t once_of_quorums[] = {9355};

static int play_once(int number)
{
    const char *violated = NULL;
    const uint64_t *once = QUORUM ? once_of_quorums : once_of_all;
    size_t count = (QUORUM ? sizeof once_of_quorums : sizeof once_of_all) / sizeof *once, k = 0;
    while (k < count && !violated)
        violated = schedule(once[k++], QUORUM ? SECURE : ANY);
    printf("%s %d - the invariants hold in %zu schedules of old\n", violated ? "not ok" : "ok",
           number, count);
    if (violated)
        printf("# seed %llu: %s\n", (unsigned long long)once[k - 1], violated);
    return violated != NULL;
}

/* What a process found. */
struct findings {
    unsigned long long schedules, steps, finished, repaired, restored, lied, rounds[3];
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
    sums_of_all = sums_of_some = sums_of_none = 0;
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
    found.rounds[0] = sums_of_all, found.rounds[1] = sums_of_some, found.rounds[2] = sums_of_none;
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
static int print_happened(tally counts, int secure)
{
    int all = 1;
    unsigned first = secure ? variant_count : 0;
    unsigned behind = secure ? variant_count + secure_count : variant_count;
    printf("# algorithm");
    for (unsigned k = 0; k < HAPPENINGS; k++)
        printf(", %s", happening_names[k]);
    printf("\n");
    for (unsigned v = first; v < behind; v++) {
        const variant *last = v > first ? &variants[v - 1] : NULL;
        int more = last && last->private == variants[v].private &&
                   strcmp(last->algorithm, variants[v].algorithm) == 0;
        if (more)
            continue;
        printf("# %s%s%s", variants[v].algorithm, variants[v].private ? " private" : "",
               secure ? " secure" : "");
        for (unsigned k = 0; k < HAPPENINGS; k++) {
            unsigned long long sum = counts[v][k];
            for (unsigned u = v + 1; u < behind && variants[u].private == variants[v].private &&
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
    for (int k = 0; k < 3; k++)
        all->rounds[k] += found->rounds[k];
    for (unsigned v = 0; v < variant_count + secure_count; v++)
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
            sql_separate();
            struct findings found =
                play_some(schedules > p ? schedules - p : 0, first + p, stride, wanted);
            sql_leave();
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
    if (QUORUM)
        printf("# rounds: %llu of all, %llu of some, %llu void\n", all.rounds[0], all.rounds[1],
               all.rounds[2]);
    failed |= QUORUM && wanted == SECURE && schedules > 50 && (!all.rounds[0] || !all.rounds[1]);
    if (schedules > 1 && !print_happened(all.happened, wanted >= SECURE) && schedules > FEW &&
        !failed) {
        printf("# to some algorithm something never happened: these schedules are hollow\n");
        failed = 1;
    }
    printf("%s %d - the invariants hold in %llu schedules%s\n", failed ? "not ok" : "ok", number,
           all.schedules,
           wanted == REAL_STORE ? " on the real store"
           : wanted >= SECURE   ? " with secure aggregation"
                                : "");
    return failed;
}

/* Whether faults are planted: not where cases are drawn, for the build without sanitizers finds them. */
static int plants(void)
{
    uint64_t seed;
    return !drawn_seed(&seed);
}

/* The simulator of quorums. */
static int play_quorums(unsigned long schedules, uint64_t first, int is_false, int one)
{
    unsigned long runs = 0;
    int planted = plants() ? (int)QUORUM_FAULTS : 0;
    printf("1..%d\n", one ? 1 : 4 + planted);
    int failed = play_all(1, schedules, first, is_false ? SECURE_LIES : SECURE);
    if (one)
        return failed;
    failed |= play_all(2, schedules, first, SECURE_LIES);
    const char *violated = sweep(&runs);
    printf("%s 3 - a crash before and after every write, and a full disk: %lu runs\n# %s\n",
           violated ? "not ok" : "ok", runs, violated ? violated : "");
    failed |= play_once(4);
    return failed | (violated != NULL) | play_secure_faults(5, quorum_fault, (unsigned)planted);
}

int main(int count, char **arguments)
{
    unsigned long schedules = count > 1 ? strtoul(arguments[1], NULL, 10) : 2000;
    uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    objective = tiny_objective();
    list_variants();
    sql_prepare();
    make_identities();
    if (QUORUM) {
        int ended = play_quorums(schedules, first, count > 3, count > 2);
        fplt_objective_destroy(objective);
        return ended;
    }
    int planted = plants();
    printf("1..%d\n", count > 2 ? 1 : planted ? FPLT__FAULTS + 4 + (int)SECURE_FAULTS : 5);
    int failed = play_all(1, schedules, first,
                          count <= 3                            ? ANY
                          : strcmp(arguments[3], "secure") == 0 ? SECURE
                                                                : REAL_STORE);
    for (fplt__planted = 1; planted && count <= 2 && fplt__planted < FPLT__FAULTS;
         fplt__planted++) {
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
        int number = planted ? FPLT__FAULTS + 1 : 2;
        printf("%s %d - a crash before and after every write, and a full disk: %lu runs\n# %s\n",
               violated ? "not ok" : "ok", number, runs, violated ? violated : "");
        failed |= violated != NULL;
        failed |= play_once(number + 1);
        failed |= play_all(number + 2, schedules, 1, SECURE);
        if (planted)
            failed |= play_secure_faults(number + 3, secure_fault, SECURE_FAULTS);
        failed |= play_all(number + 3 + (planted ? (int)SECURE_FAULTS : 0),
                           STORED_MIN + schedules / STORED_SHARE, 1, REAL_STORE);
    }
    free_documents();
    fplt_objective_destroy(objective);
    return failed;
}
