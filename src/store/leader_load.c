/* federation.db: a run as it was committed. */
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "store/leader_store.h"

enum { DOCUMENT, HUB, MEMBERS, COHORT, CLOSINGS, KEYS };

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

static void get_start(const uint8_t bytes[FPLT__START_BYTES], fplt_measure *start)
{
    fplt__get_reals(bytes, &start->criterion, 1);
    fplt__get_reals(bytes + 8, &start->objective, 1);
    start->hits = fplt__get64(bytes + 16);
    start->records = fplt__get64(bytes + 24);
    start->classifies = (int)fplt__get64(bytes + 32);
}

static fplt_status load_run(fplt__leader_store *store, uint32_t run, fplt__leader_loaded *loaded,
                            fplt_error *error)
{
    fplt__leader_record *record = &loaded->record;
    sqlite3_stmt *found;
    int row = 0;
    size_t size;
    char word[32];
    uint8_t start[FPLT__START_BYTES];
    fplt_status status = fplt__table_ask(
        store->table, &found, error,
        "SELECT hash, plan, state, leg, round, cohort, outcome, sentence, start, keys FROM run"
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
        if (!status && record->members && size != fplt__bitmap_size(record->members))
            status = damaged(error);
    }
    fplt__column_text(found, 6, record->outcome, sizeof record->outcome);
    fplt__column_text(found, 7, record->sentence, sizeof record->sentence);
    record->has_start = sqlite3_column_bytes(found, 8) == FPLT__START_BYTES;
    fplt__column_bytes(found, 8, start, sizeof start);
    if (record->has_start)
        get_start(start, &record->start);
    if (!status && sqlite3_column_type(found, 9) != SQLITE_NULL) {
        status = copy_blob(found, 9, &loaded->memory[KEYS], &record->keys_size, error);
        record->keys = loaded->memory[KEYS];
    }
    fplt__table_done(found);
    return !status && record->state == FPLT__STATES ? damaged(error) : status;
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
    fplt__leader_store_read_receipt(found, 11, 13, row);
}

static fplt_status load_members(fplt__leader_store *store, uint32_t run,
                                fplt__leader_loaded *loaded, fplt_error *error)
{
    fplt__leader_record *record = &loaded->record;
    sqlite3_stmt *found;
    fplt__member_row *rows;
    int row = 0;
    int is_forming = record->state == FPLT__FORMING; /* its roster may still change */
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
        if (is_forming && member_index >= record->members)
            continue;
        if (member_index < 0 || member_index >= record->members) {
            fplt__table_done(found);
            return damaged(error);
        }
        read_member(found, &rows[member_index]);
        FPLT__ASSERT(count < record->members);
        count++;
    }
    return !status && count != record->members && !is_forming ? damaged(error) : status;
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
