/* federation.db: rounds and events for the history, receipts by name, where a run begins. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "store/leader_store.h"

/* One of an older version says nothing of runs and adversaries, and counts as none. */
void fplt__leader_store_read_receipt(sqlite3_stmt *found, int mac, int body, fplt__member_row *row)
{
    uint8_t bytes[FPLT__RECEIPT_BYTES];
    row->has_charged = sqlite3_column_bytes(found, body) == (int)sizeof bytes;
    fplt__column_bytes(found, body, bytes, sizeof bytes);
    if (row->has_charged)
        fplt__receipt_get(bytes, &row->charged.receipt);
    fplt__column_bytes(found, mac, &row->charged.mac, sizeof row->charged.mac);
}

fplt_status fplt__leader_store_add_event(fplt__leader_store *store, uint32_t run, uint64_t round,
                                         int64_t member_index, const char *word,
                                         const char *sentence, fplt_error *error)
{
    return fplt__table_run(store->table, NULL, error,
                           "INSERT INTO event(time, run, round, identity, kind, sentence)"
                           " VALUES(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?, ?, ?, ?, ?)",
                           "iiitt", (int64_t)run, (int64_t)round, member_index, word, sentence);
}

/* Of a run the newest are kept. */
enum { MAX_EVENTS = 10000, ROTATE_EVERY = 256 };

static fplt_status rotate_events(fplt__leader_store *store, uint32_t run, fplt_error *error)
{
    return fplt__table_run(store->table, NULL, error,
                           "DELETE FROM event WHERE run = ?1 AND id <= (SELECT id FROM event WHERE"
                           " run = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                           "ii", (int64_t)run, (int64_t)MAX_EVENTS);
}

fplt_status fplt__leader_store_note(fplt__leader_store *store, uint32_t run, uint64_t round,
                                    int64_t member_index, const char *word, const char *sentence,
                                    fplt_error *error)
{
    fplt_status status =
        fplt__leader_store_add_event(store, run, round, member_index, word, sentence, error);
    return status || ++store->notes % ROTATE_EVERY ? status : rotate_events(store, run, error);
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
        fplt__leader_store_read_receipt(found, 0, 1, row);
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
