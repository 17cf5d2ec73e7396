/* federation.db: runs that follow from others, and the addresses that members came from. */
#include <string.h>

#include "base/assert.h"
#include "store/leader_store.h"

/* Before the first round nothing of a run is kept: it begins anew under its number. */
static fplt_status forget_run(fplt__leader_store *store, uint32_t run, fplt_error *error)
{
    fplt_status status;
    if ((status = fplt__table_run(store->table, NULL, error, "DELETE FROM run WHERE id = ?", "i",
                                  (int64_t)run)) ||
        (status = fplt__table_run(store->table, NULL, error, "DELETE FROM member WHERE run = ?",
                                  "i", (int64_t)run)))
        return status;
    return fplt__table_run(store->table, NULL, error, "DELETE FROM start WHERE run = ?", "i",
                           (int64_t)run);
}

static fplt_status end_run(fplt__leader_store *store, uint32_t run, const char *sentence,
                           fplt_error *error)
{
    return fplt__table_run(store->table, NULL, error,
                           "UPDATE run SET state = 'ended', outcome = 'excluded', sentence = ?"
                           " WHERE id = ? AND state NOT IN ('done', 'ended')",
                           "ti", sentence, (int64_t)run);
}

static fplt_status write_succession(fplt__leader_store *store, uint32_t ended,
                                    const fplt__succession *next, const char *sentence,
                                    fplt_error *error)
{
    fplt_status status =
        fplt__table_run(store->table, NULL, error,
                        "INSERT INTO exclusion(time, base, run, name, continued, epsilon, rounds)"
                        " VALUES(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?, ?, ?, ?, ?, ?)",
                        "iititt", (int64_t)next->base, (int64_t)next->run, next->name,
                        (int64_t)next->continued, next->epsilon, next->rounds);
    if (!status)
        status = next->run == ended ? forget_run(store, ended, error)
                                    : end_run(store, ended, sentence, error);
    static const char *const words[] = {[FPLT__CONTINUES_NOTHING] = "excluded",
                                        [FPLT__CONTINUES_MODEL] = "withdrawn",
                                        [FPLT__CONTINUES_REFIT] = "refit",
                                        [FPLT__CONTINUES_FIT] = "validation",
                                        [FPLT__CONTINUES_CHOSEN] = "validation"};
    const char *word = words[*next->name ? FPLT__CONTINUES_NOTHING : next->continued];
    for (uint32_t run = ended; !status && run <= next->run; run++)
        status = fplt__leader_store_add_event(store, run, 0, -1, word, sentence, error);
    return status;
}

fplt_status fplt__leader_store_succeed(fplt__leader_store *store, uint32_t ended,
                                       const fplt__succession *next, const char *sentence,
                                       fplt_error *error)
{
    FPLT__ASSERT(next->run == ended || next->run == ended + 1);
    FPLT__ASSERT(next->base && (*next->name || next->continued));
    fplt_status status = fplt__table_begin(store->table, error);
    if (status)
        return status;
    return fplt__table_end(store->table, write_succession(store, ended, next, sentence, error),
                           error);
}

fplt_status fplt__leader_store_successions(fplt__leader_store *store, uint32_t base,
                                           void (*tell)(void *context,
                                                        const fplt__succession *next),
                                           void *context, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status =
        fplt__table_ask(store->table, &found, error,
                        "SELECT base, run, name, continued, epsilon, rounds FROM exclusion"
                        " WHERE base = ?1 OR ?1 = 0 ORDER BY id",
                        "i", (int64_t)base);
    while (!status && !(status = fplt__table_step(store->table, found, &row, error)) && row) {
        fplt__succession next = {.base = (uint32_t)sqlite3_column_int64(found, 0),
                                 .run = (uint32_t)sqlite3_column_int64(found, 1),
                                 .continued = (fplt__continuing)sqlite3_column_int(found, 3)};
        fplt__column_text(found, 2, next.name, sizeof next.name);
        fplt__column_text(found, 4, next.epsilon, sizeof next.epsilon);
        fplt__column_text(found, 5, next.rounds, sizeof next.rounds);
        tell(context, &next);
    }
    return status;
}

/* Addresses */

fplt_status fplt__leader_store_keep_address(fplt__leader_store *store, const char *address,
                                            fplt_error *error)
{
    fplt_status status =
        fplt__table_run(store->table, NULL, error,
                        "DELETE FROM address WHERE abs(strftime('%s', 'now') - seen) > 86400", "");
    return status
               ? status
               : fplt__table_run(store->table, NULL, error,
                                 "INSERT OR REPLACE INTO address VALUES(?, strftime('%s', 'now'))",
                                 "t", address);
}

fplt_status fplt__leader_store_addresses(fplt__leader_store *store,
                                         void (*tell)(void *context, const char *address),
                                         void *context, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status = fplt__table_ask(
        store->table, &found, error,
        "SELECT address FROM address WHERE abs(strftime('%s', 'now') - seen) <= 86400", "");
    while (!status && !(status = fplt__table_step(store->table, found, &row, error)) && row)
        tell(context, (const char *)sqlite3_column_text(found, 0));
    return status;
}
