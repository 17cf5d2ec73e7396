/* federation.db: opening and saving. */
#include "store/leader_store.h"

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
    "ALTER TABLE member ADD COLUMN body BLOB; ALTER TABLE receipt ADD COLUMN body BLOB;",
    /* `base`: the run of the settings that `run` follows from */
    "CREATE TABLE exclusion(id INTEGER PRIMARY KEY, time TEXT, base INT NOT NULL, run INT NOT NULL,"
    " name TEXT NOT NULL, continued INT NOT NULL, epsilon TEXT, rounds TEXT);"
    "CREATE TABLE address(address TEXT PRIMARY KEY, seen INT NOT NULL) WITHOUT ROWID;",
    /* of the open round: the list of secure aggregation */
    "ALTER TABLE run ADD COLUMN keys BLOB;"};

static const struct fplt__database_form form = {
    "state of a coordinator", 0x46504c43 /* FPLC */, 6, schema,
    "put back a copy that `fedplt federation backup` made"};

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

fplt_status fplt__leader_store_backup(fplt__leader_store *store, const char *path,
                                      fplt_error *error)
{
    return fplt__table_backup(store->table, path, error);
}

fplt_status fplt__leader_store_checkpoint(fplt__leader_store *store, fplt_error *error)
{
    return fplt__table_checkpoint(store->table, error);
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

static int has_bit(const uint8_t *bitmap, uint32_t i)
{
    FPLT__ASSERT(bitmap);
    return bitmap[i / 8] >> (i % 8) & 1;
}

static void put_start(const fplt_measure *start, uint8_t bytes[FPLT__START_BYTES])
{
    fplt__put_reals(bytes, &start->criterion, 1);
    fplt__put_reals(bytes + 8, &start->objective, 1);
    fplt__put64(bytes + 16, start->hits);
    fplt__put64(bytes + 24, start->records);
    fplt__put64(bytes + 32, (uint64_t)start->classifies);
}

static fplt_status save_run(fplt__leader_store *store, uint32_t run,
                            const fplt__leader_record *record, fplt_error *error)
{
    FPLT__ASSERT(record->state < FPLT__STATES);
    FPLT__ASSERT(!record->document_changed || (record->document && record->document_size));
    uint8_t start[FPLT__START_BYTES];
    size_t cohort = record->cohort ? fplt__bitmap_size(record->members) : 0;
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
    if (record->document_changed) /* a proposal may have had a longer roster */
        status = fplt__table_run(store->table, NULL, error,
                                 "DELETE FROM member WHERE run = ? AND identity >= ?", "ii",
                                 (int64_t)run, (int64_t)record->members);
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
            trace->accepted, fplt__bitmap_size(record->members), (int64_t)trace->is_void,
            trace->seconds, (int64_t)trace->bytes_up, (int64_t)trace->bytes_down);
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

static fplt_status save_keys(fplt__leader_store *store, uint32_t run,
                             const fplt__leader_record *record, fplt_error *error)
{
    FPLT__ASSERT(!record->keys_changed || (record->keys && record->keys_size));
    return !record->keys_changed
               ? FPLT_OK
               : fplt__table_run(store->table, NULL, error, "UPDATE run SET keys = ? WHERE id = ?",
                                 "bi", record->keys, record->keys_size, (int64_t)run);
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
        (status = save_trace(store, run, record, error)) ||
        (status = save_keys(store, run, record, error)))
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
