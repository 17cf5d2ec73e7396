#include "store/leader.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"

static const char *const schema[] = {
    "CREATE TABLE run(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, plan BLOB NOT NULL,"
    " state TEXT NOT NULL, leg INT NOT NULL, round INT NOT NULL, cohort BLOB, outcome TEXT,"
    " sentence TEXT, start BLOB);"
    "CREATE TABLE hub(run INTEGER PRIMARY KEY, round INT NOT NULL, state BLOB NOT NULL);"
    "CREATE TABLE member(run INT, identity INT, records INT, version INT, chain BLOB, before BLOB,"
    " last_round INT, last_digest BLOB, seen INT, repairs INT, conflicts INT, standing INT,"
    " charged REAL, charged_mac BLOB, PRIMARY KEY(run, identity)) WITHOUT ROWID;"
    "CREATE TABLE closing(run INT, round INT, vector BLOB NOT NULL, PRIMARY KEY(run, round));"
    "CREATE TABLE trace(run INT, round INT, leg INT, accepted BLOB, void INT, seconds REAL,"
    " bytes_up INT, bytes_down INT, criterion REAL, objective REAL, hits INT, records INT,"
    " PRIMARY KEY(run, round)) WITHOUT ROWID;"
    "CREATE TABLE event(id INTEGER PRIMARY KEY, time TEXT, run INT, round INT, identity INT,"
    " kind TEXT, sentence TEXT);"
    "CREATE INDEX event_run ON event(run);",
    "ALTER TABLE member ADD COLUMN charges INT NOT NULL DEFAULT 0;"
    "CREATE TABLE receipt(name TEXT PRIMARY KEY, charged REAL NOT NULL, mac BLOB NOT NULL)"
    " WITHOUT ROWID;",
    "CREATE TABLE start(run INTEGER PRIMARY KEY, vector BLOB NOT NULL, continues BLOB NOT NULL);",
    /* `body` of a receipt, whose sum against the transcript `charged` repeats */
    "ALTER TABLE member ADD COLUMN body BLOB; ALTER TABLE receipt ADD COLUMN body BLOB;"};

static const struct fplt__database_form form = {"state of a coordinator", 0x46504c43 /* FPLC */, 4,
                                                schema};

struct fplt__leader_store {
    fplt__table *table;
    size_t closing; /* numbers of a closing vector */
};

fplt_status fplt__leader_store_open(const char *path, fplt__leader_store **out, fplt_error *error)
{
    *out = NULL;
    fplt__leader_store *store;
    fplt_status status = fplt__alloc_into(&store, 1, sizeof *store, "the state", error);
    if (status)
        return status;
    if ((status = fplt__table_open(path, &form, 0, &store->table, error))) {
        fplt__leader_store_close(store);
        return status;
    }
    *out = store;
    return FPLT_OK;
}

void fplt__leader_store_close(fplt__leader_store *store)
{
    if (!store)
        return;
    fplt__table_close(store->table);
    fplt__free(store);
}

fplt_status fplt__leader_store_newest(fplt__leader_store *store, uint32_t below, uint32_t *run,
                                      fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    *run = 0;
    fplt_status status =
        fplt__table_ask(store->table, &found, error,
                        "SELECT max(id) FROM run WHERE ?1 = 0 OR id < ?1", "i", (int64_t)below);
    if (status || (status = fplt__table_step(store->table, found, &row, error)) || !row)
        return status;
    *run = (uint32_t)sqlite3_column_int64(found, 0);
    fplt__table_done(found);
    return FPLT_OK;
}

void fplt__leader_store_set_closing(fplt__leader_store *store, size_t numbers)
{
    store->closing = numbers;
}

/* Saving */

static size_t bitmap_size(uint32_t members)
{
    return (members + 7) / 8;
}

static int has_bit(const uint8_t *bitmap, uint32_t i)
{
    FPLT__ASSERT(bitmap);
    return bitmap[i / 8] >> (i % 8) & 1;
}

/* The criterion before round 0. */
enum { START_BYTES = 40 };

static void put_start(const fplt_measure *start, uint8_t bytes[START_BYTES])
{
    fplt__put_reals(bytes, &start->criterion, 1);
    fplt__put_reals(bytes + 8, &start->objective, 1);
    fplt__put64(bytes + 16, start->hits);
    fplt__put64(bytes + 24, start->records);
    fplt__put64(bytes + 32, (uint64_t)start->classifies);
}

static void get_start(const uint8_t bytes[START_BYTES], fplt_measure *start)
{
    fplt__get_reals(bytes, &start->criterion, 1);
    fplt__get_reals(bytes + 8, &start->objective, 1);
    start->hits = fplt__get64(bytes + 16);
    start->records = fplt__get64(bytes + 24);
    start->classifies = (int)fplt__get64(bytes + 32);
}

static fplt_status save_run(fplt__leader_store *store, uint32_t run,
                            const fplt__leader_record *record, fplt_error *error)
{
    FPLT__ASSERT(record->state < FPLT__STATES);
    FPLT__ASSERT(!record->document_changed || (record->document && record->document_size));
    uint8_t start[START_BYTES];
    size_t cohort = record->cohort ? bitmap_size(record->members) : 0;
    if (record->has_start)
        put_start(&record->start, start);
    if (record->document_changed) {
        fplt_status status = fplt__table_run(
            store->table, NULL, error,
            "INSERT INTO run(id, hash, plan, state, leg, round) VALUES(?1, ?2, ?3, '', 0, 0)"
            " ON CONFLICT(id) DO UPDATE SET hash = ?2, plan = ?3",
            "ibb", (int64_t)run, &record->hash, sizeof record->hash, record->document,
            record->document_size);
        if (status)
            return status;
    }
    return fplt__table_run(
        store->table, NULL, error,
        "UPDATE run SET state = ?, leg = ?, round = ?, cohort = ?, outcome = ?, sentence = ?,"
        " start = ? WHERE id = ?",
        "tiibttbi", fplt__leader_state_name(record->state), (int64_t)record->incarnation,
        (int64_t)record->round, record->cohort, cohort, record->outcome, record->sentence,
        record->has_start ? start : NULL, record->has_start ? sizeof start : 0, (int64_t)run);
}

static fplt_status save_member(fplt__leader_store *store, uint32_t run, uint32_t member_index,
                               const fplt__member_row *row, fplt_error *error)
{
    uint8_t body[FPLT__RECEIPT_BYTES];
    fplt__receipt_put(&row->charged.receipt, body);
    return fplt__table_run(
        store->table, NULL, error,
        "INSERT OR REPLACE INTO member VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "iiiibbibiiiirbib", (int64_t)run, (int64_t)member_index, (int64_t)row->records,
        (int64_t)row->version, &row->chain, sizeof row->chain, &row->before, sizeof row->before,
        (int64_t)row->last_round, &row->last_digest, sizeof row->last_digest, (int64_t)row->seen,
        (int64_t)row->repairs, (int64_t)row->conflicts, (int64_t)row->standing,
        row->charged.receipt.spent.against[0], row->has_charged ? &row->charged.mac : NULL,
        row->has_charged ? sizeof row->charged.mac : 0, (int64_t)row->charges,
        row->has_charged ? body : NULL, row->has_charged ? sizeof body : 0);
}

static fplt_status save_members(fplt__leader_store *store, uint32_t run,
                                const fplt__leader_record *record, fplt_error *error)
{
    FPLT__ASSERT(!record->members || record->member);
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; !status && i < record->members; i++)
        if (!record->changed || has_bit(record->changed, i))
            status = save_member(store, run, i, &record->member[i], error);
    return status;
}

static fplt_status has_closing(fplt__leader_store *store, uint32_t run, uint64_t round, int *there,
                               fplt_error *error)
{
    sqlite3_stmt *found;
    fplt_status status = fplt__table_ask(store->table, &found, error,
                                         "SELECT 1 FROM closing WHERE run = ? AND round = ?", "ii",
                                         (int64_t)run, (int64_t)round);
    if (!status)
        status = fplt__table_step(store->table, found, there, error);
    if (!status && *there)
        fplt__table_done(found);
    return status;
}

static fplt_status add_closing(fplt__leader_store *store, uint32_t run,
                               const fplt__closing *closing, fplt_error *error)
{
    FPLT__ASSERT(store->closing && closing->vector);
    size_t numbers = store->closing;
    uint8_t *bytes;
    fplt_status status =
        fplt__alloc_into(&bytes, numbers ? numbers : 1, 8, "a closing vector", error);
    if (status)
        return status;
    fplt__put_reals(bytes, closing->vector, numbers);
    status = fplt__table_run(store->table, NULL, error, "INSERT INTO closing VALUES(?, ?, ?)",
                             "iib", (int64_t)run, (int64_t)closing->round, bytes, 8 * numbers);
    fplt__free(bytes);
    return status;
}

/* Afterwards exactly those of the record are there. They come in the order of their rounds. */
static fplt_status save_closings(fplt__leader_store *store, uint32_t run,
                                 const fplt__leader_record *record, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    int64_t next = 0;
    for (size_t i = 0; !status && i <= record->closings; i++) {
        int64_t here = i < record->closings ? (int64_t)record->closing[i].round : INT64_MAX;
        FPLT__ASSERT(here >= next);
        int there = 0;
        status = fplt__table_run(store->table, NULL, error,
                                 "DELETE FROM closing WHERE run = ? AND round >= ? AND round < ?",
                                 "iii", (int64_t)run, next, here);
        if (status || i == record->closings)
            break;
        next = here + 1;
        if (!(status = has_closing(store, run, (uint64_t)here, &there, error)) && !there)
            status = add_closing(store, run, &record->closing[i], error);
    }
    return status;
}

static fplt_status save_trace(fplt__leader_store *store, uint32_t run,
                              const fplt__leader_record *record, fplt_error *error)
{
    const fplt__trace_row *trace = record->trace;
    FPLT__ASSERT(!trace || (trace->accepted && trace->round < record->round));
    FPLT__ASSERT(!record->has_measure || record->measured_round <= record->round);
    fplt_status status = FPLT_OK;
    if (trace)
        status = fplt__table_run(
            store->table, NULL, error,
            "INSERT OR REPLACE INTO trace(run, round, leg, accepted, void, seconds, bytes_up,"
            " bytes_down) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            "iiibirii", (int64_t)run, (int64_t)trace->round, (int64_t)trace->incarnation,
            trace->accepted, bitmap_size(record->members), (int64_t)trace->is_void, trace->seconds,
            (int64_t)trace->bytes_up, (int64_t)trace->bytes_down);
    if (!status && record->has_measure && record->measured_round)
        status =
            fplt__table_run(store->table, NULL, error,
                            "UPDATE trace SET criterion = ?, objective = ?, hits = ?, records = ?"
                            " WHERE run = ? AND round = ?",
                            "rriiii", record->measure.criterion, record->measure.objective,
                            (int64_t)record->measure.hits, (int64_t)record->measure.records,
                            (int64_t)run, (int64_t)record->measured_round - 1);
    return status;
}

static fplt_status save_all(fplt__leader_store *store, uint32_t run,
                            const fplt__leader_record *record, fplt_error *error)
{
    FPLT__ASSERT(!record->hub_changed || (record->hub && record->hub_size));
    FPLT__ASSERT(!record->closings || record->closing);
    fplt_status status;
    if ((status = save_run(store, run, record, error)) ||
        (status = save_members(store, run, record, error)) ||
        (status = save_closings(store, run, record, error)) ||
        (status = save_trace(store, run, record, error)))
        return status;
    if (!record->hub || !record->hub_changed)
        return FPLT_OK;
    return fplt__table_run(store->table, NULL, error, "INSERT OR REPLACE INTO hub VALUES(?, ?, ?)",
                           "iib", (int64_t)run, (int64_t)record->round, record->hub,
                           record->hub_size);
}

fplt_status fplt__leader_store_save(fplt__leader_store *store, uint32_t run,
                                    const fplt__leader_record *record, fplt_error *error)
{
    FPLT__ASSERT(run > 0);
    fplt_status status = fplt__table_begin(store->table, error);
    if (status)
        return status;
    return fplt__table_end(store->table, save_all(store, run, record, error), error);
}

/* Loading */

enum { DOCUMENT, HUB, MEMBERS, COHORT, CLOSINGS };

static fplt_status copy_blob(sqlite3_stmt *found, int column, void **bytes, size_t *size,
                             fplt_error *error)
{
    *size = (size_t)sqlite3_column_bytes(found, column);
    fplt_status status = fplt__alloc_into(bytes, *size + 1, 1, "the state", error);
    if (!status && *size)
        memcpy(*bytes, sqlite3_column_blob(found, column), *size);
    return status;
}

static fplt_status damaged(fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "federation.db: the state of the run is damaged; put a whole copy back");
}

static fplt_status load_run(fplt__leader_store *store, uint32_t run, fplt__leader_loaded *loaded,
                            fplt_error *error)
{
    fplt__leader_record *record = &loaded->record;
    sqlite3_stmt *found;
    int row = 0;
    size_t size;
    char word[32];
    uint8_t start[START_BYTES];
    fplt_status status = fplt__table_ask(
        store->table, &found, error,
        "SELECT hash, plan, state, leg, round, cohort, outcome, sentence, start FROM run"
        " WHERE id = ?",
        "i", (int64_t)run);
    if (status || (status = fplt__table_step(store->table, found, &row, error)))
        return status;
    if (!row)
        return damaged(error);
    fplt__column_bytes(found, 0, &record->hash, sizeof record->hash);
    status = copy_blob(found, 1, &loaded->memory[DOCUMENT], &record->document_size, error);
    record->document = loaded->memory[DOCUMENT];
    fplt__column_text(found, 2, word, sizeof word);
    record->state = FPLT__STATES;
    for (unsigned i = 0; i < FPLT__STATES; i++)
        if (strcmp(word, fplt__leader_state_name(i)) == 0)
            record->state = i;
    record->incarnation = (uint32_t)sqlite3_column_int64(found, 3);
    record->round = (uint64_t)sqlite3_column_int64(found, 4);
    if (!status && sqlite3_column_type(found, 5) != SQLITE_NULL) {
        status = copy_blob(found, 5, &loaded->memory[COHORT], &size, error);
        record->cohort = loaded->memory[COHORT];
        if (!status && record->members && size != bitmap_size(record->members))
            status = damaged(error);
    }
    fplt__column_text(found, 6, record->outcome, sizeof record->outcome);
    fplt__column_text(found, 7, record->sentence, sizeof record->sentence);
    record->has_start = sqlite3_column_bytes(found, 8) == START_BYTES;
    fplt__column_bytes(found, 8, start, sizeof start);
    if (record->has_start)
        get_start(start, &record->start);
    fplt__table_done(found);
    return !status && record->state == FPLT__STATES ? damaged(error) : status;
}

/* One of an older version says nothing of runs and adversaries, and counts as none. */
static void read_receipt(sqlite3_stmt *found, int mac, int body, fplt__member_row *row)
{
    uint8_t bytes[FPLT__RECEIPT_BYTES];
    row->has_charged = sqlite3_column_bytes(found, body) == (int)sizeof bytes;
    fplt__column_bytes(found, body, bytes, sizeof bytes);
    if (row->has_charged)
        fplt__receipt_get(bytes, &row->charged.receipt);
    fplt__column_bytes(found, mac, &row->charged.mac, sizeof row->charged.mac);
}

static void read_member(sqlite3_stmt *found, fplt__member_row *row)
{
    row->records = (uint64_t)sqlite3_column_int64(found, 1);
    row->version = (uint64_t)sqlite3_column_int64(found, 2);
    fplt__column_bytes(found, 3, &row->chain, sizeof row->chain);
    fplt__column_bytes(found, 4, &row->before, sizeof row->before);
    row->last_round = (uint64_t)sqlite3_column_int64(found, 5);
    fplt__column_bytes(found, 6, &row->last_digest, sizeof row->last_digest);
    row->seen = (uint64_t)sqlite3_column_int64(found, 7);
    row->repairs = (uint32_t)sqlite3_column_int64(found, 8);
    row->conflicts = (uint32_t)sqlite3_column_int64(found, 9);
    row->standing = (fplt__standing)sqlite3_column_int(found, 10);
    row->charges = (uint64_t)sqlite3_column_int64(found, 12);
    read_receipt(found, 11, 13, row);
}

static fplt_status load_members(fplt__leader_store *store, uint32_t run,
                                fplt__leader_loaded *loaded, fplt_error *error)
{
    fplt__leader_record *record = &loaded->record;
    sqlite3_stmt *found;
    fplt__member_row *rows;
    int row = 0;
    uint32_t count = 0;
    fplt_status status =
        fplt__alloc_into(&rows, record->members + 1, sizeof *rows, "the members", error);
    if (status)
        return status;
    loaded->memory[MEMBERS] = rows;
    record->member = rows;
    status =
        fplt__table_ask(store->table, &found, error,
                        "SELECT identity, records, version, chain, before, last_round,"
                        " last_digest, seen, repairs, conflicts, standing,"
                        " charged_mac, charges, body FROM member WHERE run = ? ORDER BY identity",
                        "i", (int64_t)run);
    while (!status && !(status = fplt__table_step(store->table, found, &row, error)) && row) {
        int64_t member_index = sqlite3_column_int64(found, 0);
        if (member_index < 0 || member_index >= record->members) {
            fplt__table_done(found);
            return damaged(error);
        }
        read_member(found, &rows[member_index]);
        FPLT__ASSERT(count < record->members);
        count++;
    }
    return !status && count != record->members ? damaged(error) : status;
}

static fplt_status load_hub(fplt__leader_store *store, uint32_t run, fplt__leader_loaded *loaded,
                            fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status = fplt__table_ask(store->table, &found, error,
                                         "SELECT state FROM hub WHERE run = ?", "i", (int64_t)run);
    if (status || (status = fplt__table_step(store->table, found, &row, error)) || !row)
        return status;
    status = copy_blob(found, 0, &loaded->memory[HUB], &loaded->record.hub_size, error);
    loaded->record.hub = loaded->memory[HUB];
    fplt__table_done(found);
    return status;
}

static fplt_status count_closings(fplt__leader_store *store, uint32_t run, size_t *count,
                                  size_t *bytes, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status = fplt__table_ask(
        store->table, &found, error,
        "SELECT count(*), ifnull(sum(length(vector)), 0) FROM closing WHERE run = ?", "i",
        (int64_t)run);
    if (status || (status = fplt__table_step(store->table, found, &row, error)))
        return status;
    *count = (size_t)sqlite3_column_int64(found, 0);
    *bytes = (size_t)sqlite3_column_int64(found, 1);
    fplt__table_done(found);
    return FPLT_OK;
}

static fplt_status load_closings(fplt__leader_store *store, uint32_t run,
                                 fplt__leader_loaded *loaded, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    size_t count, bytes, i = 0;
    fplt_status status = count_closings(store, run, &count, &bytes, error);
    if (status || !count)
        return status;
    double *vectors;
    if ((status = fplt__alloc_into(&vectors, bytes / 8 + 1, 8, "closing vectors", error)))
        return status;
    loaded->memory[CLOSINGS] = vectors;
    if ((status = fplt__alloc_into(&loaded->closing, count, sizeof *loaded->closing,
                                   "closing vectors", error)))
        return status;
    status = fplt__table_ask(store->table, &found, error,
                             "SELECT round, vector FROM closing WHERE run = ? ORDER BY round", "i",
                             (int64_t)run);
    while (!status && !(status = fplt__table_step(store->table, found, &row, error)) && row &&
           i < count) {
        size_t numbers = (size_t)sqlite3_column_bytes(found, 1) / 8;
        fplt__get_reals(sqlite3_column_blob(found, 1), vectors, numbers);
        loaded->closing[i++] = (fplt__closing){(uint64_t)sqlite3_column_int64(found, 0), vectors};
        vectors += numbers;
    }
    loaded->record.closing = loaded->closing;
    loaded->record.closings = i;
    return status;
}

static fplt_status load_measure(fplt__leader_store *store, uint32_t run,
                                fplt__leader_loaded *loaded, fplt_error *error)
{
    fplt__leader_record *record = &loaded->record;
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status =
        fplt__table_ask(store->table, &found, error,
                        "SELECT round, criterion, objective, hits, records FROM trace"
                        " WHERE run = ? AND criterion IS NOT NULL ORDER BY round DESC LIMIT 1",
                        "i", (int64_t)run);
    if (status || (status = fplt__table_step(store->table, found, &row, error)) || !row)
        return status;
    record->has_measure = 1;
    record->measured_round = (uint64_t)sqlite3_column_int64(found, 0) + 1;
    record->measure = (fplt_measure){.criterion = sqlite3_column_double(found, 1),
                                     .objective = sqlite3_column_double(found, 2),
                                     .hits = (uint64_t)sqlite3_column_int64(found, 3),
                                     .records = (uint64_t)sqlite3_column_int64(found, 4)};
    fplt__table_done(found);
    return FPLT_OK;
}

fplt_status fplt__leader_store_load(fplt__leader_store *store, uint32_t run, uint32_t members,
                                    fplt__leader_loaded *loaded, fplt_error *error)
{
    fplt_status status;
    memset(loaded, 0, sizeof *loaded);
    loaded->record.members = members;
    if ((status = load_run(store, run, loaded, error)) ||
        (status = load_members(store, run, loaded, error)) ||
        (status = load_hub(store, run, loaded, error)) ||
        (status = load_closings(store, run, loaded, error)) ||
        (status = load_measure(store, run, loaded, error)))
        fplt__leader_loaded_clear(loaded);
    return status;
}

fplt_status fplt__leader_store_load_end(fplt__leader_store *store, uint32_t run,
                                        fplt__leader_loaded *loaded, fplt_error *error)
{
    fplt_status status;
    memset(loaded, 0, sizeof *loaded);
    if ((status = load_run(store, run, loaded, error)) ||
        (status = load_hub(store, run, loaded, error)))
        fplt__leader_loaded_clear(loaded);
    return status;
}

void fplt__leader_loaded_clear(fplt__leader_loaded *loaded)
{
    for (size_t i = 0; i < sizeof loaded->memory / sizeof *loaded->memory; i++)
        fplt__free(loaded->memory[i]);
    fplt__free(loaded->closing);
    memset(loaded, 0, sizeof *loaded);
}

/* What happened */

fplt_status fplt__leader_store_note(fplt__leader_store *store, uint32_t run, uint64_t round,
                                    int64_t member_index, const char *word, const char *sentence,
                                    fplt_error *error)
{
    return fplt__table_run(store->table, NULL, error,
                           "INSERT INTO event(time, run, round, identity, kind, sentence)"
                           " VALUES(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?, ?, ?, ?, ?)",
                           "iiitt", (int64_t)run, (int64_t)round, member_index, word, sentence);
}

fplt_status fplt__leader_store_history(fplt__leader_store *store, uint32_t run,
                                       void (*tell)(void *context, const fplt__history_row *row),
                                       void *context, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status = fplt__table_ask(
        store->table, &found, error,
        "SELECT round, leg, accepted, void, seconds, criterion, bytes_up, bytes_down FROM trace"
        " WHERE run = ? ORDER BY round",
        "i", (int64_t)run);
    while (!status && !(status = fplt__table_step(store->table, found, &row, error)) && row) {
        int measured = sqlite3_column_type(found, 5) != SQLITE_NULL;
        fplt__history_row history = {.round = (uint64_t)sqlite3_column_int64(found, 0),
                                     .incarnation = (uint32_t)sqlite3_column_int64(found, 1),
                                     .accepted = sqlite3_column_blob(found, 2),
                                     .size = (size_t)sqlite3_column_bytes(found, 2),
                                     .is_void = sqlite3_column_int(found, 3),
                                     .seconds = sqlite3_column_double(found, 4),
                                     .criterion = measured ? sqlite3_column_double(found, 5) : NAN,
                                     .bytes_up = (uint64_t)sqlite3_column_int64(found, 6),
                                     .bytes_down = (uint64_t)sqlite3_column_int64(found, 7)};
        tell(context, &history);
    }
    return status;
}

fplt_status fplt__leader_store_events(fplt__leader_store *store, uint32_t run,
                                      void (*tell)(void *context, const fplt__event_row *row),
                                      void *context, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status = fplt__table_ask(
        store->table, &found, error,
        "SELECT time, kind, sentence, round, identity FROM event WHERE run = ? ORDER BY id", "i",
        (int64_t)run);
    while (!status && !(status = fplt__table_step(store->table, found, &row, error)) && row) {
        fplt__event_row event = {(const char *)sqlite3_column_text(found, 0),
                                 (const char *)sqlite3_column_text(found, 1),
                                 (const char *)sqlite3_column_text(found, 2),
                                 (uint64_t)sqlite3_column_int64(found, 3),
                                 sqlite3_column_int64(found, 4)};
        tell(context, &event);
    }
    return status;
}

/* Receipts */

fplt_status fplt__leader_store_keep_receipt(fplt__leader_store *store, const char *name,
                                            const fplt__member_row *row, fplt_error *error)
{
    FPLT__ASSERT(name && row->has_charged);
    uint8_t body[FPLT__RECEIPT_BYTES];
    fplt__receipt_put(&row->charged.receipt, body);
    return fplt__table_run(store->table, NULL, error,
                           "INSERT INTO receipt VALUES(?1, ?2, ?3, ?4) ON CONFLICT(name) DO UPDATE"
                           " SET charged = ?2, mac = ?3, body = ?4 WHERE ?2 >= charged",
                           "trbb", name, row->charged.receipt.spent.against[0], &row->charged.mac,
                           sizeof row->charged.mac, body, sizeof body);
}

fplt_status fplt__leader_store_receipt(fplt__leader_store *store, const char *name,
                                       fplt__member_row *row, fplt_error *error)
{
    sqlite3_stmt *found;
    int there = 0;
    fplt_status status = fplt__table_ask(store->table, &found, error,
                                         "SELECT mac, body FROM receipt WHERE name = ?", "t", name);
    if (!status)
        status = fplt__table_step(store->table, found, &there, error);
    if (!status && there)
        read_receipt(found, 0, 1, row);
    fplt__table_done(found);
    return status;
}

/* Where a run begins */

fplt_status fplt__leader_store_keep_start(fplt__leader_store *store, uint32_t run, const double *x,
                                          size_t count, const fplt__digest *continues,
                                          fplt_error *error)
{
    uint8_t *bytes;
    fplt_status status = fplt__alloc_into(&bytes, 8 * count, 1, "the start", error);
    if (status)
        return status;
    fplt__put_reals(bytes, x, count);
    status = fplt__table_run(store->table, NULL, error,
                             "INSERT OR REPLACE INTO start(run, vector, continues) VALUES(?, ?, ?)",
                             "ibb", (int64_t)run, bytes, 8 * count, continues, sizeof *continues);
    fplt__free(bytes);
    return status;
}

fplt_status fplt__leader_store_start(fplt__leader_store *store, uint32_t run, double **x,
                                     size_t *count, fplt__digest *continues, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    *x = NULL;
    *count = 0;
    memset(continues, 0, sizeof *continues);
    fplt_status status =
        fplt__table_ask(store->table, &found, error,
                        "SELECT vector, continues FROM start WHERE run = ?", "i", (int64_t)run);
    if (status || (status = fplt__table_step(store->table, found, &row, error)) || !row)
        return status;
    *count = (size_t)sqlite3_column_bytes(found, 0) / 8;
    if (!(status = fplt__alloc_into(x, *count, sizeof **x, "the start", error)))
        fplt__get_reals(sqlite3_column_blob(found, 0), *x, *count);
    fplt__column_bytes(found, 1, continues, sizeof *continues);
    fplt__table_done(found);
    return status;
}
