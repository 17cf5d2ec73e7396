#include "store/site.h"

#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "protocol/planted.h"

static const char *const schema[] = {
    "CREATE TABLE run(id INTEGER PRIMARY KEY CHECK(id = 1), hash BLOB NOT NULL, plan BLOB NOT NULL,"
    " planned INT, consented INT, records INT, identity INT, leg INT, version INT, chain BLOB,"
    " slot INT NOT NULL DEFAULT 0, proof BLOB, charges INT);"
    "CREATE TABLE vector(slot INTEGER PRIMARY KEY, kept BLOB NOT NULL);"
    "CREATE TABLE staged(id INTEGER PRIMARY KEY CHECK(id = 1), leg INT, round INT, digest BLOB,"
    " head BLOB);"
    "CREATE TABLE held(id INTEGER PRIMARY KEY CHECK(id = 1), held BLOB NOT NULL);"
    "CREATE TABLE message(exchange INTEGER PRIMARY KEY, task BLOB, digest BLOB, body BLOB);"
    "CREATE TABLE enrolled(id INTEGER PRIMARY KEY CHECK(id = 1), leg INT, task BLOB, digest BLOB,"
    " body BLOB, start BLOB);"
    "CREATE TABLE data(run BLOB PRIMARY KEY, digest BLOB);"
    "CREATE TABLE spent(id INTEGER PRIMARY KEY CHECK(id = 1), charged REAL);",
    "ALTER TABLE spent ADD COLUMN receipt BLOB;", /* `charged` is its transcript's sum */
    "CREATE TABLE sent(id INTEGER PRIMARY KEY CHECK(id = 1), run INT, authority BLOB, plan BLOB);",
    "ALTER TABLE sent ADD COLUMN members INT NOT NULL DEFAULT 0;",
    "ALTER TABLE run ADD COLUMN accepted INT NOT NULL DEFAULT 0;"};

static const struct fplt__database_form form = {
    "state of an agent", 0x46504c41 /* FPLA */, 5, schema,
    "put back a copy that `fedplt agent backup` made, or "
    "move the file away: the other members then send their vectors once more"};

struct fplt__site_store {
    fplt__table *table;
    uint8_t *bytes; /* owned: vectors as they are written */
    size_t room;
};

fplt_status fplt__site_store_open(const char *path, fplt__site_store **out, fplt_error *error)
{
    *out = NULL;
    fplt__site_store *store;
    fplt_status status = fplt__alloc_into(&store, 1, sizeof *store, "the state", error);
    if (status)
        return status;
    if ((status = fplt__table_open(path, &form, 0, &store->table, error))) {
        fplt__site_store_close(store);
        return status;
    }
    *out = store;
    return FPLT_OK;
}

void fplt__site_store_close(fplt__site_store *store)
{
    if (!store)
        return;
    fplt__table_close(store->table);
    fplt__free(store->bytes);
    fplt__free(store);
}

fplt_status fplt__site_store_backup(fplt__site_store *store, const char *path, fplt_error *error)
{
    return fplt__table_backup(store->table, path, error);
}

/* Saving */

/* Proofs: incarnation, round, version, chain, mac. */
enum { PROOF_BYTES = 4 + 8 + 8 + 2 * FPLT__HASH };

static void put_proof(const fplt__proof *proof, uint8_t bytes[PROOF_BYTES])
{
    fplt__put32(bytes, proof->incarnation);
    fplt__put64(bytes + 4, proof->round);
    fplt__put64(bytes + 12, proof->version);
    memcpy(bytes + 20, &proof->chain, FPLT__HASH);
    memcpy(bytes + 20 + FPLT__HASH, &proof->mac, FPLT__HASH);
}

static void get_proof(const uint8_t bytes[PROOF_BYTES], fplt__proof *proof)
{
    proof->incarnation = fplt__get32(bytes);
    proof->round = fplt__get64(bytes + 4);
    proof->version = fplt__get64(bytes + 12);
    memcpy(&proof->chain, bytes + 20, FPLT__HASH);
    memcpy(&proof->mac, bytes + 20 + FPLT__HASH, FPLT__HASH);
}

static fplt_status as_bytes(fplt__site_store *store, const double *numbers, size_t count,
                            fplt_error *error)
{
    FPLT__ASSERT(numbers || !count);
    fplt_status status =
        fplt__grow(&store->bytes, &store->room, 8 * count + 1, 1, "vectors", error);
    if (!status)
        fplt__put_reals(store->bytes, numbers, count);
    return status;
}

/* A new run, or another document of the same: what an earlier one left is of no use. */
static fplt_status save_document(fplt__site_store *store, const fplt__site_record *record,
                                 fplt_error *error)
{
    sqlite3_stmt *found;
    fplt__digest known;
    int row = 0;
    fplt_status status = fplt__table_ask(store->table, &found, error, "SELECT hash FROM run", "");
    if (status || (status = fplt__table_step(store->table, found, &row, error)))
        return status;
    if (row) {
        fplt__column_bytes(found, 0, &known, sizeof known);
        fplt__table_done(found);
        if (fplt__same(&known, &record->hash))
            return FPLT_OK;
    }
    if ((status = fplt__table_run(store->table, NULL, error, "DELETE FROM vector", "")) ||
        (status = fplt__table_run(store->table, NULL, error, "DELETE FROM staged", "")) ||
        (status = fplt__table_run(store->table, NULL, error, "DELETE FROM held", "")) ||
        (status = fplt__table_run(store->table, NULL, error, "DELETE FROM message", "")) ||
        (status = fplt__table_run(store->table, NULL, error, "DELETE FROM enrolled", "")))
        return status;
    return fplt__table_run(store->table, NULL, error,
                           "INSERT OR REPLACE INTO run(id, hash, plan) VALUES(1, ?, ?)", "bb",
                           &record->hash, sizeof record->hash, record->document,
                           record->document_size);
}

static fplt_status save_run(fplt__site_store *store, const fplt__site_record *record,
                            fplt_error *error)
{
    uint8_t proof[PROOF_BYTES];
    if (record->has_proof)
        put_proof(&record->proof, proof);
    return fplt__table_run(
        store->table, NULL, error,
        "UPDATE run SET planned = ?, consented = ?, records = ?, identity = ?, leg = ?,"
        " version = ?, chain = ?, proof = ?, charges = ?, accepted = ?",
        "iiiiiibbii", (int64_t)record->planned, (int64_t)record->consented,
        (int64_t)record->records, (int64_t)record->member_index, (int64_t)record->incarnation,
        (int64_t)record->version, &record->chain, sizeof record->chain,
        record->has_proof ? proof : NULL, record->has_proof ? sizeof proof : 0,
        (int64_t)record->charges, (int64_t)record->over);
}

/* Kept vectors are in run.slot, staged ones in the other. */
static fplt_status save_vector(fplt__site_store *store, const double *numbers, size_t count,
                               int other, fplt_error *error)
{
    FPLT__ASSERT(numbers || !count);
    fplt_status status = as_bytes(store, numbers, count, error);
    if (status)
        return status;
    return fplt__table_run(store->table, NULL, error,
                           "INSERT OR REPLACE INTO vector"
                           " SELECT CASE WHEN ?1 THEN 1 - slot ELSE slot END, ?2 FROM run",
                           "ib", (int64_t)other, store->bytes, 8 * count);
}

/* The staged round without its messages. */
static fplt_status save_staged(fplt__site_store *store, const fplt__site_record *record,
                               fplt_error *error)
{
    FPLT__ASSERT(!record->has_staged || (record->head && record->head_size));
    if (!record->has_staged || FPLT__PLANTED(FPLT__NO_STAGED))
        return fplt__table_run(store->table, NULL, error, "DELETE FROM staged", "");
    return fplt__table_run(
        store->table, NULL, error,
        "INSERT INTO staged(id, leg, round, digest, head) VALUES(1, ?1, ?2, ?3, ?4)"
        " ON CONFLICT(id) DO UPDATE SET leg = ?1, round = ?2, digest = ?3, head = ?4",
        "iibb", (int64_t)record->staged_leg, (int64_t)record->staged_round, &record->staged_digest,
        sizeof record->staged_digest, record->head, record->head_size);
}

static fplt_status save_held(fplt__site_store *store, const fplt__site_record *record,
                             fplt_error *error)
{
    fplt_status status = as_bytes(store, record->held, record->held_count, error);
    if (status)
        return status;
    return fplt__table_run(store->table, NULL, error, "INSERT OR REPLACE INTO held VALUES(1, ?)",
                           "b", store->bytes, 8 * record->held_count);
}

static fplt_status save_messages(fplt__site_store *store, const fplt__site_record *record,
                                 fplt_error *error)
{
    FPLT__ASSERT(record->messages <= 2);
    FPLT__ASSERT(record->has_staged == (record->messages > 0));
    fplt_status status = save_staged(store, record, error);
    if (!status)
        status = fplt__table_run(store->table, NULL, error, "DELETE FROM message", "");
    for (unsigned e = 0; !status && e < record->messages; e++) {
        const fplt__site_message *message = &record->message[e];
        FPLT__ASSERT(message->body && message->size);
        status =
            fplt__table_run(store->table, NULL, error, "INSERT INTO message VALUES(?, ?, ?, ?)",
                            "ibbb", (int64_t)e, &message->answer.task, sizeof message->answer.task,
                            &message->answer.digest, sizeof message->answer.digest, message->body,
                            message->size);
    }
    return status;
}

static fplt_status save_enrolled(fplt__site_store *store, const fplt__site_record *record,
                                 fplt_error *error)
{
    FPLT__ASSERT(!record->has_enrolled || (record->enrolment.body && record->enrolment.size));
    FPLT__ASSERT(!record->begin_count || record->begin);
    const fplt__site_message *message = &record->enrolment;
    if (!record->has_enrolled)
        return fplt__table_run(store->table, NULL, error, "DELETE FROM enrolled", "");
    fplt_status status =
        record->begin ? as_bytes(store, record->begin, record->begin_count, error) : FPLT_OK;
    if (status)
        return status;
    return fplt__table_run(
        store->table, NULL, error, "INSERT OR REPLACE INTO enrolled VALUES(1, ?, ?, ?, ?, ?)",
        "ibbbb", (int64_t)record->enrolled_leg, &message->answer.task, sizeof message->answer.task,
        &message->answer.digest, sizeof message->answer.digest, message->body, message->size,
        record->begin ? store->bytes : NULL, record->begin ? 8 * record->begin_count : 0);
}

static fplt_status save_sent(fplt__site_store *store, const fplt__site_record *record,
                             fplt_error *error)
{
    return fplt__table_run(store->table, NULL, error,
                           "INSERT OR REPLACE INTO sent VALUES(1, ?, ?, ?, ?)", "ibbi",
                           (int64_t)record->sent_run, &record->sent_authority,
                           sizeof record->sent_authority, &record->sent_plan,
                           sizeof record->sent_plan, (int64_t)record->sent_members);
}

static fplt_status load_sent(fplt__site_store *store, fplt__site_record *record, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status = fplt__table_ask(store->table, &found, error,
                                         "SELECT run, authority, plan, members FROM sent", "");
    if (status || (status = fplt__table_step(store->table, found, &row, error)) || !row)
        return status;
    record->sent_run = (uint32_t)sqlite3_column_int64(found, 0);
    fplt__column_bytes(found, 1, &record->sent_authority, sizeof record->sent_authority);
    fplt__column_bytes(found, 2, &record->sent_plan, sizeof record->sent_plan);
    record->sent_members = (uint32_t)sqlite3_column_int64(found, 3);
    fplt__table_done(found);
    return FPLT_OK;
}

static fplt_status save_all(fplt__site_store *store, const fplt__site_record *record,
                            const fplt__receipt *charged, fplt_error *error)
{
    FPLT__ASSERT(record->changed && record->changed < 2 * FPLT__SITE_SENT);
    FPLT__ASSERT(record->document);
    unsigned changed = record->changed;
    fplt_status status;
    if ((status = save_document(store, record, error)) ||
        ((changed & FPLT__SITE_RUN) && (status = save_run(store, record, error))) ||
        ((changed & FPLT__SITE_TURN) &&
         (status =
              fplt__table_run(store->table, NULL, error, "UPDATE run SET slot = 1 - slot", ""))) ||
        ((changed & FPLT__SITE_KEPT) &&
         (status = save_vector(store, record->kept, record->kept_count, 0, error))) ||
        ((changed & FPLT__SITE_STAGED) &&
         (status = save_vector(store, record->staged, record->kept_count, 1, error))) ||
        ((changed & FPLT__SITE_HELD) && (status = save_held(store, record, error))) ||
        ((changed & FPLT__SITE_MESSAGES) && (status = save_messages(store, record, error))) ||
        ((changed & FPLT__SITE_ENROLLED) && (status = save_enrolled(store, record, error))) ||
        ((changed & FPLT__SITE_SENT) && (status = save_sent(store, record, error))))
        return status;
    return fplt__site_store_set_charged(store, charged, error);
}

fplt_status fplt__site_store_save(fplt__site_store *store, const fplt__site_record *record,
                                  const fplt__receipt *charged, fplt_error *error)
{
    FPLT__ASSERT(record && charged);
    fplt_status status = fplt__table_begin(store->table, error);
    if (status)
        return status;
    return fplt__table_end(store->table, save_all(store, record, charged, error), error);
}

/* Loading */

enum { DOCUMENT, KEPT, STAGED, HELD, HEAD, FIRST, SECOND, ENROLMENT, BEGIN };

static fplt_status copy_bytes(sqlite3_stmt *found, int column, void **memory, const void **bytes,
                              size_t *size, fplt_error *error)
{
    *size = (size_t)sqlite3_column_bytes(found, column);
    fplt_status status = fplt__alloc_into(memory, *size + 1, 1, "the state", error);
    if (!status && *size)
        memcpy(*memory, sqlite3_column_blob(found, column), *size);
    *bytes = *memory;
    return status;
}

static fplt_status copy_reals(sqlite3_stmt *found, int column, void **memory,
                              const double **numbers, size_t *count, fplt_error *error)
{
    *count = (size_t)sqlite3_column_bytes(found, column) / 8;
    double *made;
    fplt_status status = fplt__alloc_into(&made, *count + 1, sizeof *made, "the state", error);
    if (status)
        return status;
    if (*count)
        fplt__get_reals(sqlite3_column_blob(found, column), made, *count);
    *memory = made;
    *numbers = made;
    return FPLT_OK;
}

static fplt_status load_run(fplt__site_store *store, fplt__site_loaded *loaded, int64_t *slot,
                            fplt_error *error)
{
    fplt__site_record *record = &loaded->record;
    sqlite3_stmt *found;
    uint8_t proof[PROOF_BYTES];
    fplt_status status = fplt__table_ask(
        store->table, &found, error,
        "SELECT hash, plan, planned, consented, records, identity, leg, version, chain, slot,"
        " proof, charges, accepted FROM run",
        "");
    if (status || (status = fplt__table_step(store->table, found, &loaded->there, error)) ||
        !loaded->there)
        return status;
    fplt__column_bytes(found, 0, &record->hash, sizeof record->hash);
    status = copy_bytes(found, 1, &loaded->memory[DOCUMENT], &record->document,
                        &record->document_size, error);
    record->planned = sqlite3_column_int(found, 2);
    record->consented = sqlite3_column_int(found, 3);
    record->records = (uint64_t)sqlite3_column_int64(found, 4);
    record->member_index = (uint32_t)sqlite3_column_int64(found, 5);
    record->incarnation = (uint32_t)sqlite3_column_int64(found, 6);
    record->version = (uint64_t)sqlite3_column_int64(found, 7);
    fplt__column_bytes(found, 8, &record->chain, sizeof record->chain);
    *slot = sqlite3_column_int64(found, 9);
    record->has_proof = sqlite3_column_bytes(found, 10) == PROOF_BYTES;
    fplt__column_bytes(found, 10, proof, sizeof proof);
    if (record->has_proof)
        get_proof(proof, &record->proof);
    record->charges = (uint64_t)sqlite3_column_int64(found, 11);
    record->over = (uint64_t)sqlite3_column_int64(found, 12);
    fplt__table_done(found);
    return status;
}

static fplt_status load_vectors(fplt__site_store *store, fplt__site_loaded *loaded, int64_t slot,
                                fplt_error *error)
{
    fplt__site_record *record = &loaded->record;
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status =
        fplt__table_ask(store->table, &found, error, "SELECT slot, kept FROM vector", "");
    while (!status && !(status = fplt__table_step(store->table, found, &row, error)) && row) {
        int kept = sqlite3_column_int64(found, 0) == slot;
        status = copy_reals(found, 1, &loaded->memory[kept ? KEPT : STAGED],
                            kept ? &record->kept : &record->staged, &record->kept_count, error);
    }
    return status;
}

static fplt_status load_staged(fplt__site_store *store, fplt__site_loaded *loaded,
                               fplt_error *error)
{
    fplt__site_record *record = &loaded->record;
    sqlite3_stmt *found;
    fplt_status status = fplt__table_ask(store->table, &found, error,
                                         "SELECT leg, round, digest, head FROM staged", "");
    if (status || (status = fplt__table_step(store->table, found, &record->has_staged, error)) ||
        !record->has_staged)
        return status;
    record->staged_leg = (uint32_t)sqlite3_column_int64(found, 0);
    record->staged_round = (uint64_t)sqlite3_column_int64(found, 1);
    fplt__column_bytes(found, 2, &record->staged_digest, sizeof record->staged_digest);
    status = copy_bytes(found, 3, &loaded->memory[HEAD], &record->head, &record->head_size, error);
    fplt__table_done(found);
    return status;
}

static fplt_status load_held(fplt__site_store *store, fplt__site_loaded *loaded, fplt_error *error)
{
    fplt__site_record *record = &loaded->record;
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status = fplt__table_ask(store->table, &found, error, "SELECT held FROM held", "");
    if (status || (status = fplt__table_step(store->table, found, &row, error)) || !row)
        return status;
    status = copy_reals(found, 0, &loaded->memory[HELD], &record->held, &record->held_count, error);
    fplt__table_done(found);
    return status;
}

static void read_answer(sqlite3_stmt *found, int column, fplt__answer *answer)
{
    fplt__column_bytes(found, column, &answer->task, sizeof answer->task);
    fplt__column_bytes(found, column + 1, &answer->digest, sizeof answer->digest);
}

static fplt_status load_messages(fplt__site_store *store, fplt__site_loaded *loaded,
                                 fplt_error *error)
{
    fplt__site_record *record = &loaded->record;
    sqlite3_stmt *found;
    int row = 0;
    fplt_status status =
        fplt__table_ask(store->table, &found, error,
                        "SELECT task, digest, body FROM message ORDER BY exchange LIMIT 2", "");
    while (!status && !(status = fplt__table_step(store->table, found, &row, error)) && row) {
        unsigned e = record->messages++;
        read_answer(found, 0, &record->message[e].answer);
        status = copy_bytes(found, 2, &loaded->memory[FIRST + e], &record->message[e].body,
                            &record->message[e].size, error);
    }
    if (!record->messages) /* a row that an earlier version of the program left behind */
        record->has_staged = 0;
    return status;
}

static fplt_status load_enrolled(fplt__site_store *store, fplt__site_loaded *loaded,
                                 fplt_error *error)
{
    fplt__site_record *record = &loaded->record;
    sqlite3_stmt *found;
    fplt_status status = fplt__table_ask(store->table, &found, error,
                                         "SELECT leg, task, digest, body, start FROM enrolled", "");
    if (status || (status = fplt__table_step(store->table, found, &record->has_enrolled, error)) ||
        !record->has_enrolled)
        return status;
    record->enrolled_leg = (uint32_t)sqlite3_column_int64(found, 0);
    read_answer(found, 1, &record->enrolment.answer);
    status = copy_bytes(found, 3, &loaded->memory[ENROLMENT], &record->enrolment.body,
                        &record->enrolment.size, error);
    if (!status && sqlite3_column_type(found, 4) != SQLITE_NULL)
        status = copy_reals(found, 4, &loaded->memory[BEGIN], &record->begin, &record->begin_count,
                            error);
    fplt__table_done(found);
    return status;
}

fplt_status fplt__site_store_load(fplt__site_store *store, fplt__site_loaded *loaded,
                                  fplt_error *error)
{
    int64_t slot = 0;
    memset(loaded, 0, sizeof *loaded);
    fplt_status status = load_run(store, loaded, &slot, error);
    if (!status && !loaded->there)
        return FPLT_OK;
    if (status || (status = load_vectors(store, loaded, slot, error)) ||
        (status = load_staged(store, loaded, error)) ||
        (status = load_held(store, loaded, error)) ||
        (status = load_messages(store, loaded, error)) ||
        (status = load_sent(store, &loaded->record, error)) ||
        (status = load_enrolled(store, loaded, error)))
        fplt__site_loaded_clear(loaded);
    return status;
}

void fplt__site_loaded_clear(fplt__site_loaded *loaded)
{
    for (size_t i = 0; i < sizeof loaded->memory / sizeof *loaded->memory; i++)
        fplt__free(loaded->memory[i]);
    memset(loaded, 0, sizeof *loaded);
}

/* Beside the run */

/* Of a state of an older version only the sum is known: the same against everybody, of no known run. */
fplt_status fplt__site_store_charged(fplt__site_store *store, fplt__receipt *charged,
                                     fplt_error *error)
{
    sqlite3_stmt *found;
    uint8_t bytes[FPLT__RECEIPT_BYTES];
    int row = 0;
    memset(charged, 0, sizeof *charged);
    fplt_status status =
        fplt__table_ask(store->table, &found, error, "SELECT charged, receipt FROM spent", "");
    if (status || (status = fplt__table_step(store->table, found, &row, error)) || !row)
        return status;
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++)
        charged->spent.against[k] = sqlite3_column_double(found, 0);
    if (sqlite3_column_bytes(found, 1) == (int)sizeof bytes) {
        fplt__column_bytes(found, 1, bytes, sizeof bytes);
        fplt__receipt_get(bytes, charged);
    }
    fplt__table_done(found);
    return FPLT_OK;
}

fplt_status fplt__site_store_set_charged(fplt__site_store *store, const fplt__receipt *charged,
                                         fplt_error *error)
{
    uint8_t bytes[FPLT__RECEIPT_BYTES];
    fplt__receipt_put(charged, bytes);
    return fplt__table_run(store->table, NULL, error,
                           "INSERT INTO spent VALUES(1, ?1, ?2) ON CONFLICT(id) DO UPDATE"
                           " SET charged = ?1, receipt = ?2 WHERE ?1 >= charged",
                           "rb", charged->spent.against[0], bytes, sizeof bytes);
}

fplt_status fplt__site_store_data(fplt__site_store *store, const fplt__digest *run,
                                  fplt__digest *data, fplt_error *error)
{
    sqlite3_stmt *found;
    int row = 0;
    memset(data, 0, sizeof *data);
    fplt_status status =
        fplt__table_ask(store->table, &found, error, "SELECT digest FROM data WHERE run = ?", "b",
                        run, sizeof *run);
    if (status)
        return status;
    if (!(status = fplt__table_step(store->table, found, &row, error)) && row)
        fplt__column_bytes(found, 0, data, sizeof *data);
    fplt__table_done(found);
    return status;
}

fplt_status fplt__site_store_set_data(fplt__site_store *store, const fplt__digest *run,
                                      const fplt__digest *data, fplt_error *error)
{
    return fplt__table_run(store->table, NULL, error, "INSERT OR REPLACE INTO data VALUES(?, ?)",
                           "bb", run, sizeof *run, data, sizeof *data);
}
