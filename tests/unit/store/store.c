/* What coordinator and agents store is what they read again: every field, run by run, and what is damaged is refused. The
 * simulator has the crashes. */
#include "testing.h"

#include <sqlite3.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/leader.h"
#include "store/site.h"

enum {
    MEMBERS = 9,
    NUMBERS = 9
}; /* a size that is off by an eighth or a ninth is another number */

static char path[64];

static int begin(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/fedplt-store-%d.db", (int)getpid());
    unlink(path);
    return 0;
}

static int end(void **state)
{
    (void)state;
    char beside[80];
    const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        snprintf(beside, sizeof beside, "%s%s", path, ends[k]);
        unlink(beside);
    }
    return 0;
}

/* A statement by another hand, while nobody has the file. */
static void change(const char *sql)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static fplt__digest digest_of(unsigned number)
{
    fplt__digest digest = {{(uint8_t)number, 7}};
    digest.byte[31] = (uint8_t)(number >> 8);
    return digest;
}

/* --- the coordinator's --- */

/* A record whose fields are all different, and those of another number too. */
static struct sample {
    fplt__leader_record record;
    fplt__member_row row[MEMBERS];
    fplt__closing closing[2];
    double vector[2][NUMBERS];
    uint8_t cohort[2], accepted[2];
    fplt__trace_row trace;
    char document[16], hub[16];
} sample;

static void fill_rows(unsigned seed)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        unsigned at = 100 * seed + 10 * i;
        sample.row[i] = (fplt__member_row){.records = at + 1,
                                           .version = UINT64_MAX - at,
                                           .chain = digest_of(at + 2),
                                           .before = digest_of(at + 3),
                                           .last_round = at + 4,
                                           .last_digest = digest_of(at + 5),
                                           .seen = at + 6,
                                           .repairs = at + 7,
                                           .conflicts = at + 8,
                                           .standing = (fplt__standing)(i % 3),
                                           .has_charged = i % 2 == 0,
                                           .charges = at + 9};
        if (!sample.row[i].has_charged)
            continue;
        sample.row[i].charged.mac = digest_of(at);
        sample.row[i].charged.receipt.rounds = at + 1;
        for (unsigned k = 0; k < FPLT_ADVERSARIES; k++)
            sample.row[i].charged.receipt.spent.against[k] = at + 0.25 * k;
    }
}

static void fill(unsigned seed)
{
    memset(&sample, 0, sizeof sample);
    fill_rows(seed);
    snprintf(sample.document, sizeof sample.document, "plan %u", seed);
    snprintf(sample.hub, sizeof sample.hub, "hub %u", seed);
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned j = 0; j < NUMBERS; j++)
            sample.vector[k][j] = seed + k + 0.5 * j;
        sample.closing[k] = (fplt__closing){10 * seed + 3 * k, sample.vector[k]};
    }
    sample.cohort[0] = (uint8_t)(seed + 1);
    sample.cohort[1] = 1;
    sample.accepted[0] = (uint8_t)(seed + 5);
    sample.trace = (fplt__trace_row){.round = 10 * seed,
                                     .incarnation = seed + 2,
                                     .accepted = sample.accepted,
                                     .is_void = seed % 2,
                                     .seconds = seed + 0.5,
                                     .bytes_up = seed + 6,
                                     .bytes_down = seed + 8};
    sample.record = (fplt__leader_record){.state = FPLT__ROUND,
                                          .hash = digest_of(seed + 40),
                                          .document = sample.document,
                                          .document_size = strlen(sample.document),
                                          .incarnation = seed + 2,
                                          .round = 10 * seed + 1,
                                          .cohort = sample.cohort,
                                          .has_start = 1,
                                          .start = {.criterion = seed + 0.5,
                                                    .objective = seed + 1.5,
                                                    .hits = seed + 2,
                                                    .records = seed + 3,
                                                    .classifies = 1},
                                          .hub = sample.hub,
                                          .hub_size = strlen(sample.hub),
                                          .members = MEMBERS,
                                          .member = sample.row,
                                          .closing = sample.closing,
                                          .closings = 2,
                                          .trace = &sample.trace,
                                          .document_changed = 1,
                                          .hub_changed = 1,
                                          .has_measure = 1,
                                          .measured_round = 10 * seed + 1,
                                          .measure = {.criterion = seed + 0.25,
                                                      .objective = seed + 0.75,
                                                      .hits = seed + 11,
                                                      .records = seed + 12}};
    snprintf(sample.record.outcome, sizeof sample.record.outcome, "outcome %u", seed);
    snprintf(sample.record.sentence, sizeof sample.record.sentence, "sentence %u", seed);
}

static fplt__leader_store *open_leader(void)
{
    fplt_error error;
    fplt__leader_store *store;
    assert_ok(fplt__leader_store_open(path, &store, &error), error);
    fplt__leader_store_set_closing(store, NUMBERS);
    return store;
}

static void save(fplt__leader_store *store, uint32_t run)
{
    fplt_error error;
    assert_ok(fplt__leader_store_save(store, run, &sample.record, &error), error);
}

static void check_rows(const fplt__member_row *rows)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        const fplt__member_row *a = &rows[i], *b = &sample.row[i];
        assert_true(a->records == b->records && a->version == b->version);
        assert_true(a->last_round == b->last_round && a->seen == b->seen);
        assert_true(a->repairs == b->repairs && a->conflicts == b->conflicts);
        assert_true(a->standing == b->standing && a->charges == b->charges);
        assert_true(fplt__same(&a->chain, &b->chain) && fplt__same(&a->before, &b->before));
        assert_true(fplt__same(&a->last_digest, &b->last_digest));
        assert_true(a->has_charged == b->has_charged);
        assert_memory_equal(&a->charged, &b->charged, sizeof a->charged);
    }
}

/* The run is as the sample. */
static void check_leader(fplt__leader_store *store, uint32_t run)
{
    fplt_error error;
    fplt__leader_loaded loaded;
    assert_ok(fplt__leader_store_load(store, run, MEMBERS, &loaded, &error), error);
    const fplt__leader_record *a = &loaded.record, *b = &sample.record;
    assert_int_equal(a->state, b->state);
    assert_true(fplt__same(&a->hash, &b->hash));
    assert_int_equal(a->document_size, b->document_size);
    assert_memory_equal(a->document, b->document, b->document_size);
    assert_true(a->incarnation == b->incarnation && a->round == b->round);
    assert_memory_equal(a->cohort, b->cohort, 2);
    assert_true(a->has_start == b->has_start);
    assert_true(a->start.criterion == b->start.criterion);
    assert_true(a->start.objective == b->start.objective);
    assert_true(a->start.hits == b->start.hits && a->start.records == b->start.records);
    assert_true(a->start.classifies == b->start.classifies);
    assert_string_equal(a->outcome, b->outcome);
    assert_string_equal(a->sentence, b->sentence);
    assert_int_equal(a->hub_size, b->hub_size);
    assert_memory_equal(a->hub, b->hub, b->hub_size);
    check_rows(a->member);
    assert_int_equal(a->closings, b->closings);
    for (size_t k = 0; k < b->closings; k++) {
        assert_int_equal(a->closing[k].round, b->closing[k].round);
        assert_memory_equal(a->closing[k].vector, b->closing[k].vector, NUMBERS * sizeof(double));
    }
    assert_true(a->has_measure && a->measured_round == b->measured_round);
    assert_true(a->measure.criterion == b->measure.criterion);
    assert_true(a->measure.objective == b->measure.objective);
    assert_true(a->measure.hits == b->measure.hits && a->measure.records == b->measure.records);
    fplt__leader_loaded_clear(&loaded);
}

/* Two runs in one file, each as it was written, also for the next process. */
static void leader_runs(void **state)
{
    (void)state;
    fplt_error error;
    uint32_t run;
    fplt__leader_store *store = open_leader();
    assert_ok(fplt__leader_store_newest(store, 0, &run, &error), error);
    assert_int_equal(run, 0);
    fill(1);
    save(store, 1);
    fill(2);
    save(store, 4);
    check_leader(store, 4);
    fplt__leader_store_close(store);
    store = open_leader();
    check_leader(store, 4);
    fill(1);
    check_leader(store, 1);
    static const uint32_t below[][2] = {{0, 4}, {5, 4}, {4, 1}, {2, 1}, {1, 0}};
    for (size_t k = 0; k < sizeof below / sizeof *below; k++) {
        assert_ok(fplt__leader_store_newest(store, below[k][0], &run, &error), error);
        assert_int_equal(run, below[k][1]);
    }
    fplt__leader_loaded loaded;
    fill(2);
    assert_ok(fplt__leader_store_load_end(store, 4, &loaded, &error), error);
    assert_int_equal(loaded.record.document_size, sample.record.document_size);
    assert_memory_equal(loaded.record.hub, sample.hub, strlen(sample.hub));
    fplt__leader_loaded_clear(&loaded);
    fplt__leader_store_close(store);
}

/* Only what is flagged is written; closing vectors are exactly those of the record. */
static void leader_changes(void **state)
{
    (void)state;
    static const uint8_t changed[2] = {1 << 3, 1};
    fplt__leader_store *store = open_leader();
    fill(1);
    save(store, 1);
    fplt__member_row before[MEMBERS];
    memcpy(before, sample.row, sizeof before);
    fill_rows(3);
    sample.record.changed = changed;
    sample.record.document = "another";
    sample.record.hub = "another";
    sample.record.document_changed = sample.record.hub_changed = 0;
    sample.record.state = FPLT__REPAIR;
    sample.record.has_start = 0;
    sample.closing[1].round = 77; /* one goes, one stays, one comes */
    save(store, 1);
    sample.record.document = sample.document;
    sample.record.hub = sample.hub;
    memset(&sample.record.start, 0, sizeof sample.record.start);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (!(changed[i / 8] >> i % 8 & 1))
            sample.row[i] = before[i];
    check_leader(store, 1);
    sample.record.closings = 0;
    sample.record.state = FPLT__DONE;
    save(store, 1);
    check_leader(store, 1);
    fplt__leader_store_close(store);
}

static void refuse_leader(uint32_t run, uint32_t members)
{
    fplt_error error;
    fplt__leader_loaded loaded;
    fplt__leader_store *store = open_leader();
    assert_int_equal(fplt__leader_store_load(store, run, members, &loaded, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "damaged; put a whole copy back");
    fplt__leader_store_close(store);
}

static void leader_damaged(void **state)
{
    (void)state;
    fplt__leader_store *store = open_leader();
    fill(1);
    save(store, 1);
    fplt__leader_store_close(store);
    refuse_leader(2, MEMBERS);     /* there is none */
    refuse_leader(1, MEMBERS - 1); /* more rows than members */
    change("DELETE FROM member WHERE identity = 4");
    refuse_leader(1, MEMBERS);
    change("UPDATE run SET state = 'dancing'");
    refuse_leader(1, MEMBERS - 1);
    store = open_leader();
    save(store, 1);
    check_leader(store, 1);
    fplt__leader_store_close(store);
    change("UPDATE run SET cohort = x'01'");
    refuse_leader(1, MEMBERS);
}

/* Another process does not get a file that is in use. */
static void leader_locked(void **state)
{
    (void)state;
    fplt_error error;
    fplt__leader_store *store = open_leader(), *second = store;
    assert_int_not_equal(fplt__leader_store_open(path, &second, &error), FPLT_OK);
    assert_null(second);
    assert_contains(error.text, path);
    fplt__leader_store_close(store);
}

struct heard {
    unsigned rows;
    fplt__history_row row[4];
    char text[4][160];
    int64_t member_index[4];
};

static void hear_round(void *context, const fplt__history_row *row)
{
    struct heard *heard = context;
    assert_int_equal(row->size, 2);
    assert_int_equal(row->accepted[0], 5 + row->round / 10);
    heard->row[heard->rows++] = *row;
}

static void hear_event(void *context, const fplt__event_row *row)
{
    struct heard *heard = context;
    assert_int_equal(strlen(row->time), strlen("2026-11-16T12:00:00Z"));
    snprintf(heard->text[heard->rows], sizeof heard->text[0], "%s %s %llu", row->word,
             row->sentence, (unsigned long long)row->round);
    heard->member_index[heard->rows++] = row->member_index;
}

static void leader_history(void **state)
{
    (void)state;
    fplt_error error;
    struct heard heard = {0};
    fplt__leader_store *store = open_leader();
    for (unsigned seed = 3; seed > 0; seed--) { /* told in order */
        fill(seed);
        sample.record.has_measure = seed == 2;
        save(store, seed == 3 ? 9 : 1);
    }
    assert_ok(fplt__leader_store_history(store, 1, hear_round, &heard, &error), error);
    assert_int_equal(heard.rows, 2);
    for (unsigned k = 0; k < 2; k++) {
        const fplt__history_row *row = &heard.row[k];
        assert_int_equal(row->round, 10 * (k + 1));
        assert_int_equal(row->incarnation, k + 3);
        assert_int_equal(row->is_void, (k + 1) % 2);
        assert_true(row->seconds == k + 1.5);
        assert_true(row->bytes_up == k + 7 && row->bytes_down == k + 9);
        assert_true(k ? row->criterion == 2.25 : isnan(row->criterion));
    }
    memset(&heard, 0, sizeof heard);
    assert_ok(fplt__leader_store_note(store, 1, 5, -1, "word", "first", &error), error);
    assert_ok(fplt__leader_store_note(store, 2, 6, 0, "other", "run", &error), error);
    assert_ok(fplt__leader_store_note(store, 1, 7, 8, "then", "second", &error), error);
    assert_ok(fplt__leader_store_events(store, 1, hear_event, &heard, &error), error);
    assert_int_equal(heard.rows, 2);
    assert_string_equal(heard.text[0], "word first 5");
    assert_string_equal(heard.text[1], "then second 7");
    assert_true(heard.member_index[0] == -1 && heard.member_index[1] == 8);
    fplt__leader_store_close(store);
}

/* Receipts by name outlive runs, the largest counts; a start is read as it was kept. */
static void leader_beside(void **state)
{
    (void)state;
    fplt_error error;
    fplt__member_row row = {.has_charged = 1}, found = {0};
    fplt__leader_store *store = open_leader();
    static const double sums[] = {2, 3, 1, 3};
    for (unsigned k = 0; k < 4; k++) {
        row.charged.receipt.spent.against[0] = sums[k];
        row.charged.receipt.rounds = k;
        row.charged.mac = digest_of(k);
        assert_ok(fplt__leader_store_keep_receipt(store, "basel", &row, &error), error);
    }
    assert_ok(fplt__leader_store_receipt(store, "bern", &found, &error), error);
    assert_false(found.has_charged);
    assert_ok(fplt__leader_store_receipt(store, "basel", &found, &error), error);
    assert_true(found.has_charged);
    assert_memory_equal(&found.charged, &row.charged, sizeof row.charged);
    double x[NUMBERS] = {1, -0.0, 1e300}, *read;
    size_t count;
    fplt__digest continues = digest_of(9), known;
    assert_ok(fplt__leader_store_keep_start(store, 2, x, NUMBERS, &continues, &error), error);
    assert_ok(fplt__leader_store_start(store, 1, &read, &count, &known, &error), error);
    assert_true(!read && !count && fplt__is_zero(&known));
    assert_ok(fplt__leader_store_start(store, 2, &read, &count, &known, &error), error);
    assert_int_equal(count, NUMBERS);
    assert_memory_equal(read, x, sizeof x);
    assert_true(fplt__same(&known, &continues));
    fplt__free(read);
    fplt__leader_store_close(store);
}

/* --- an agent's --- */

static fplt__site_record own; /* a record whose fields are all different */
static double vectors[3][NUMBERS];
static char texts[5][32];

static void fill_site(unsigned seed)
{
    static const char *const names[] = {"document", "head", "first", "second", "enrolment"};
    for (unsigned k = 0; k < 5; k++)
        snprintf(texts[k], sizeof texts[k], "%s %u", names[k], seed);
    for (unsigned k = 0; k < 3; k++)
        for (unsigned j = 0; j < NUMBERS; j++)
            vectors[k][j] = 10 * seed + k + 0.5 * j;
    own = (fplt__site_record){
        .changed = FPLT__SITE_RUN | FPLT__SITE_KEPT | FPLT__SITE_STAGED | FPLT__SITE_HELD |
                   FPLT__SITE_MESSAGES | FPLT__SITE_ENROLLED,
        .hash = digest_of(seed),
        .document = texts[0],
        .document_size = strlen(texts[0]),
        .planned = 1,
        .consented = 1,
        .records = seed + 1,
        .member_index = seed + 2,
        .incarnation = seed + 3,
        .version = UINT64_MAX - seed,
        .chain = digest_of(seed + 5),
        .has_proof = 1,
        .proof = {seed + 6, seed + 7, seed + 8, digest_of(seed + 9), digest_of(seed + 10)},
        .charges = seed + 11,
        .kept = vectors[0],
        .staged = vectors[1],
        .kept_count = NUMBERS,
        .held = vectors[2],
        .held_count = NUMBERS,
        .has_staged = 1,
        .staged_leg = seed + 12,
        .staged_round = seed + 13,
        .staged_digest = digest_of(seed + 14),
        .head = texts[1],
        .head_size = strlen(texts[1]),
        .messages = 2,
        .message = {{{digest_of(seed + 15), digest_of(seed + 16)}, texts[2], strlen(texts[2])},
                    {{digest_of(seed + 17), digest_of(seed + 18)}, texts[3], strlen(texts[3])}},
        .has_enrolled = 1,
        .enrolled_leg = seed + 19,
        .enrolment = {{digest_of(seed + 20), digest_of(seed + 21)}, texts[4], strlen(texts[4])},
        .begin = vectors[1],
        .begin_count = NUMBERS};
}

static void check_message(const fplt__site_message *a, const fplt__site_message *b)
{
    assert_memory_equal(&a->answer, &b->answer, sizeof a->answer);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->body, b->body, b->size);
}

static void check_site(fplt__site_store *store)
{
    fplt_error error;
    fplt__site_loaded loaded;
    assert_ok(fplt__site_store_load(store, &loaded, &error), error);
    const fplt__site_record *a = &loaded.record, *b = &own;
    assert_true(loaded.there && fplt__same(&a->hash, &b->hash));
    assert_int_equal(a->document_size, b->document_size);
    assert_memory_equal(a->document, b->document, b->document_size);
    assert_true(a->planned == b->planned && a->consented == b->consented);
    assert_true(a->records == b->records && a->member_index == b->member_index);
    assert_true(a->incarnation == b->incarnation && a->version == b->version);
    assert_true(fplt__same(&a->chain, &b->chain) && a->charges == b->charges);
    assert_true(a->has_proof == b->has_proof);
    assert_true(!b->has_proof ||
                (a->proof.incarnation == b->proof.incarnation && a->proof.round == b->proof.round &&
                 a->proof.version == b->proof.version &&
                 fplt__same(&a->proof.chain, &b->proof.chain) &&
                 fplt__same(&a->proof.mac, &b->proof.mac)));
    assert_int_equal(a->kept_count, NUMBERS);
    assert_memory_equal(a->kept, b->kept, sizeof vectors[0]);
    assert_memory_equal(a->staged, b->staged, sizeof vectors[0]);
    assert_int_equal(a->held_count, b->held_count);
    assert_memory_equal(a->held, b->held, sizeof vectors[0]);
    assert_true(a->has_staged == b->has_staged && a->messages == b->messages);
    if (b->has_staged) {
        assert_true(a->staged_leg == b->staged_leg && a->staged_round == b->staged_round);
        assert_true(fplt__same(&a->staged_digest, &b->staged_digest));
        assert_int_equal(a->head_size, b->head_size);
        assert_memory_equal(a->head, b->head, b->head_size);
    }
    for (unsigned e = 0; e < b->messages; e++)
        check_message(&a->message[e], &b->message[e]);
    assert_true(a->has_enrolled == b->has_enrolled);
    if (b->has_enrolled) {
        assert_int_equal(a->enrolled_leg, b->enrolled_leg);
        check_message(&a->enrolment, &b->enrolment);
        assert_true(!a->begin == !b->begin && a->begin_count == b->begin_count);
        assert_true(!b->begin || memcmp(a->begin, b->begin, sizeof vectors[0]) == 0);
    }
    fplt__site_loaded_clear(&loaded);
}

static void save_site(fplt__site_store *store, unsigned changed)
{
    fplt_error error;
    fplt__receipt none = {.rounds = 0};
    own.changed = changed;
    assert_ok(fplt__site_store_save(store, &own, &none, &error), error);
}

static fplt__site_store *open_site(void)
{
    fplt_error error;
    fplt__site_store *store;
    assert_ok(fplt__site_store_open(path, &store, &error), error);
    return store;
}

static void site_round_trip(void **state)
{
    (void)state;
    fplt_error error;
    fplt__site_loaded loaded;
    fplt__site_store *store = open_site();
    assert_ok(fplt__site_store_load(store, &loaded, &error), error);
    assert_false(loaded.there);
    fill_site(1);
    save_site(store, own.changed);
    check_site(store);
    fplt__site_store_close(store);
    store = open_site();
    check_site(store);
    /* accepted: the staged vectors become the kept ones, and nothing is staged */
    own.kept = vectors[1];
    own.staged = vectors[0];
    own.has_staged = 0;
    own.messages = 0;
    own.has_proof = 0;
    own.version = 9;
    save_site(store, FPLT__SITE_RUN | FPLT__SITE_TURN | FPLT__SITE_MESSAGES);
    check_site(store);
    /* a round of one exchange, of an incarnation that begins with what is kept */
    own.has_staged = own.messages = 1;
    own.begin = NULL;
    own.begin_count = 0;
    save_site(store, FPLT__SITE_MESSAGES | FPLT__SITE_ENROLLED);
    check_site(store);
    own.has_enrolled = 0;
    save_site(store, FPLT__SITE_ENROLLED);
    check_site(store);
    /* another run: nothing of this one is left */
    fplt__digest other = digest_of(77);
    own.hash = other;
    save_site(store, FPLT__SITE_RUN);
    assert_ok(fplt__site_store_load(store, &loaded, &error), error);
    assert_true(fplt__same(&loaded.record.hash, &other));
    assert_true(!loaded.record.has_staged && !loaded.record.messages &&
                !loaded.record.has_enrolled && !loaded.record.kept && !loaded.record.held);
    fplt__site_loaded_clear(&loaded);
    fplt__site_store_close(store);
}

/* What is flagged and nothing else. */
static void site_changes(void **state)
{
    (void)state;
    static const unsigned parts[] = {FPLT__SITE_RUN,  FPLT__SITE_KEPT,     FPLT__SITE_STAGED,
                                     FPLT__SITE_HELD, FPLT__SITE_MESSAGES, FPLT__SITE_ENROLLED};
    fplt__site_store *store = open_site();
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        fplt__site_record first;
        double kept[3][NUMBERS];
        char were[5][32];
        fill_site(1);
        save_site(store, own.changed);
        first = own;
        memcpy(kept, vectors, sizeof kept);
        memcpy(were, texts, sizeof were);
        fplt__digest hash = own.hash;
        fill_site(2);
        own.hash = hash;
        save_site(store, parts[k]);
        /* all is as it was, but for one part */
        fplt__site_record second = own;
        own = first;
        own.kept = kept[0], own.staged = own.begin = kept[1], own.held = kept[2];
        own.document = were[0], own.head = were[1];
        own.message[0].body = were[2], own.message[1].body = were[3], own.enrolment.body = were[4];
        switch (parts[k]) {
        case FPLT__SITE_RUN:
            own.records = second.records, own.member_index = second.member_index;
            own.incarnation = second.incarnation, own.version = second.version;
            own.chain = second.chain, own.proof = second.proof, own.charges = second.charges;
            break;
        case FPLT__SITE_KEPT: own.kept = second.kept; break;
        case FPLT__SITE_STAGED: own.staged = second.staged; break;
        case FPLT__SITE_HELD: own.held = second.held; break;
        case FPLT__SITE_MESSAGES:
            own.staged_leg = second.staged_leg, own.staged_round = second.staged_round;
            own.staged_digest = second.staged_digest, own.head = second.head;
            memcpy(own.message, second.message, sizeof own.message);
            break;
        default:
            own.enrolled_leg = second.enrolled_leg, own.enrolment = second.enrolment;
            own.begin = second.begin;
        }
        check_site(store);
    }
    fplt__site_store_close(store);
}

/* The ledger's largest receipt, also of a state of before receipts; and the data of each run. */
static void site_beside(void **state)
{
    (void)state;
    fplt_error error;
    fplt__receipt receipt = {.rounds = 0}, found;
    fplt__site_store *store = open_site();
    assert_ok(fplt__site_store_charged(store, &found, &error), error);
    assert_memory_equal(&found, &receipt, sizeof found);
    static const double sums[] = {2, 3, 1, 3};
    for (unsigned k = 0; k < 4; k++) {
        fplt__receipt now = {.rounds = k};
        for (unsigned j = 0; j < FPLT_ADVERSARIES; j++)
            now.spent.against[j] = sums[k] + j;
        assert_ok(fplt__site_store_set_charged(store, &now, &error), error);
        receipt = now;
    }
    assert_ok(fplt__site_store_charged(store, &found, &error), error);
    assert_memory_equal(&found, &receipt, sizeof found);
    fplt__digest run = digest_of(1), other = digest_of(2), data = digest_of(3), known;
    assert_ok(fplt__site_store_set_data(store, &run, &data, &error), error);
    assert_ok(fplt__site_store_data(store, &run, &known, &error), error);
    assert_true(fplt__same(&known, &data));
    assert_ok(fplt__site_store_data(store, &other, &known, &error), error);
    assert_true(fplt__is_zero(&known));
    fplt__site_store_close(store);
    change("UPDATE spent SET receipt = NULL, charged = 7.5");
    store = open_site();
    assert_ok(fplt__site_store_charged(store, &found, &error), error);
    for (unsigned j = 0; j < FPLT_ADVERSARIES; j++)
        assert_true(found.spent.against[j] == 7.5);
    fplt__site_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leader_runs, begin, end),
        cmocka_unit_test_setup_teardown(leader_changes, begin, end),
        cmocka_unit_test_setup_teardown(leader_damaged, begin, end),
        cmocka_unit_test_setup_teardown(leader_locked, begin, end),
        cmocka_unit_test_setup_teardown(leader_history, begin, end),
        cmocka_unit_test_setup_teardown(leader_beside, begin, end),
        cmocka_unit_test_setup_teardown(site_round_trip, begin, end),
        cmocka_unit_test_setup_teardown(site_changes, begin, end),
        cmocka_unit_test_setup_teardown(site_beside, begin, end),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
