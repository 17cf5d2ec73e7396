#include "federation/agent/site_memory.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "store/table.h"

/* Cost of a fit for each parameter: what one trajectory to the minimiser tells, measured in docs/disclosure.md. */

enum set_kind { WHOLE_FILE, ANSWERED };

static const char *const schema[] = {
    "CREATE TABLE secret(id INTEGER PRIMARY KEY CHECK(id = 1), key BLOB NOT NULL);"
    "CREATE TABLE data_set(id INTEGER PRIMARY KEY AUTOINCREMENT, made INT NOT NULL);"
    "CREATE TABLE row_set(data_set INT NOT NULL, kind INT NOT NULL, digest BLOB NOT NULL,"
    " rows BLOB NOT NULL, made INT NOT NULL, PRIMARY KEY(data_set, kind, digest));"
    "CREATE TABLE question(data_set INT NOT NULL, whole BLOB NOT NULL, fit BLOB NOT NULL,"
    " cost REAL NOT NULL, parameters INT NOT NULL, columns INT NOT NULL, hessians INT NOT NULL,"
    " asked INT NOT NULL, PRIMARY KEY(data_set, whole));"
    "CREATE TABLE roster(federation TEXT NOT NULL, names TEXT NOT NULL, made INT NOT NULL,"
    " PRIMARY KEY(federation, names));"
    "CREATE TABLE withdrawal(approved INT PRIMARY KEY, used INT NOT NULL);",
    "ALTER TABLE question ADD COLUMN kind TEXT NOT NULL DEFAULT '';" /* of an answered analysis */
    "ALTER TABLE question ADD COLUMN share REAL NOT NULL DEFAULT 1;"};

static const struct fplt__database_form form = {"memory of a site", 0x46504c44 /* FPLD */, 2,
                                                schema};

struct fplt__site_memory {
    fplt__table *table;
    uint8_t secret[32];
};

static fplt_status load_secret(fplt__site_memory *memory, fplt_error *error)
{
    sqlite3_stmt *statement;
    int row = 0;
    fplt_status status =
        fplt__table_ask(memory->table, &statement, error, "SELECT key FROM secret", "");
    if (status || (status = fplt__table_step(memory->table, statement, &row, error)))
        return status;
    if (row) {
        fplt__column_bytes(statement, 0, memory->secret, sizeof memory->secret);
        fplt__table_done(statement);
        return FPLT_OK;
    }
    randombytes_buf(memory->secret, sizeof memory->secret);
    return fplt__table_run(memory->table, NULL, error, "INSERT INTO secret VALUES(1, ?)", "b",
                           memory->secret, sizeof memory->secret);
}

fplt_status fplt__site_memory_open(const char *folder, fplt__site_memory **out, fplt_error *error)
{
    fplt__site_memory *memory;
    char path[4200];
    *out = NULL;
    fplt_status status =
        fplt__alloc_into(&memory, 1, sizeof *memory, "the memory of the site", error);
    if (status)
        return status;
    sodium_mlock(memory, sizeof *memory); /* where the limit allows it */
    snprintf(path, sizeof path, "%s/disclosure.db", folder);
    if ((status = fplt__table_open(path, &form, 0, &memory->table, error)) ||
        (status = load_secret(memory, error))) {
        fplt__site_memory_close(memory);
        return status;
    }
    *out = memory;
    return FPLT_OK;
}

void fplt__site_memory_close(fplt__site_memory *memory)
{
    if (!memory)
        return;
    fplt__table_close(memory->table);
    sodium_munlock(memory, sizeof *memory); /* wipes */
    fplt__free(memory);
}

const uint8_t *fplt__site_memory_secret(const fplt__site_memory *memory)
{
    return memory->secret;
}

/* Sets of rows */

/* Borrows the bytes of a column until the next step. */
static fplt__row_set stored_set(sqlite3_stmt *statement, int column)
{
    return (fplt__row_set){(fplt__row_hash *)sqlite3_column_blob(statement, column),
                           (size_t)sqlite3_column_bytes(statement, column) / sizeof(fplt__row_hash),
                           0};
}

/* Whether two sets share at least half of the rows of the smaller one. */
static int is_related(const fplt__row_set *a, const fplt__row_set *b)
{
    size_t shared = (a->count + b->count - fplt__row_set_difference(a, b)) / 2;
    size_t smaller = a->count < b->count ? a->count : b->count;
    return smaller && 2 * shared >= smaller;
}

static fplt_status add_set(fplt__site_memory *memory, int64_t data_set, enum set_kind kind,
                           const fplt__row_set *set, fplt_error *error)
{
    size_t size = set->count * sizeof *set->row;
    fplt__digest digest = fplt__hash_bytes(set->row, size);
    return set->count ? fplt__table_run(memory->table, NULL, error,
                                        "INSERT OR IGNORE INTO row_set VALUES(?, ?, ?, ?, ?)",
                                        "iibbi", data_set, (int64_t)kind, digest.byte,
                                        sizeof digest.byte, set->row, size, (int64_t)time(NULL))
                      : FPLT_OK;
}

fplt_status fplt__site_memory_find(fplt__site_memory *memory, const fplt__row_set *rows,
                                   int64_t *data_set, fplt_error *error)
{
    sqlite3_stmt *statement;
    int row = 0;
    *data_set = 0;
    fplt_status status = fplt__table_ask(memory->table, &statement, error,
                                         "SELECT data_set, rows FROM row_set WHERE kind = ? "
                                         "ORDER BY made DESC",
                                         "i", (int64_t)WHOLE_FILE);
    while (!status && !(status = fplt__table_step(memory->table, statement, &row, error)) && row) {
        fplt__row_set known = stored_set(statement, 1);
        if (!is_related(&known, rows))
            continue;
        *data_set = sqlite3_column_int64(statement, 0);
        fplt__table_done(statement);
        break;
    }
    if (status)
        return status;
    if (!*data_set) {
        if ((status =
                 fplt__table_run(memory->table, NULL, error, "INSERT INTO data_set(made) VALUES(?)",
                                 "i", (int64_t)time(NULL))) ||
            (status = fplt__table_ask(memory->table, &statement, error,
                                      "SELECT max(id) FROM data_set", "")) ||
            (status = fplt__table_step(memory->table, statement, &row, error)))
            return status;
        *data_set = sqlite3_column_int64(statement, 0);
        fplt__table_done(statement);
    }
    return add_set(memory, *data_set, WHOLE_FILE, rows, error);
}

fplt_status fplt__site_memory_differs(fplt__site_memory *memory, int64_t data_set,
                                      const fplt__row_set *set, size_t *rows, fplt_error *error)
{
    sqlite3_stmt *statement;
    int row = 0;
    *rows = 0;
    fplt_status status = fplt__table_ask(memory->table, &statement, error,
                                         "SELECT rows FROM row_set WHERE data_set = ? AND kind = ?",
                                         "ii", data_set, (int64_t)ANSWERED);
    while (!status && !(status = fplt__table_step(memory->table, statement, &row, error)) && row) {
        fplt__row_set known = stored_set(statement, 0);
        size_t differing = fplt__row_set_difference(&known, set);
        if (!differing) {
            *rows = 0;
            fplt__table_done(statement);
            break;
        }
        if (!*rows || differing < *rows)
            *rows = differing;
    }
    return status;
}

/* Questions */

static int is_pooled(const fplt__question *question)
{
    return question->share > 0 && question->share < 1;
}

static fplt_status read_totals(fplt__site_memory *memory, int64_t data_set,
                               const fplt__question *question, fplt__question_cost *cost,
                               int *same_fit, fplt_error *error)
{
    sqlite3_stmt *statement;
    int row = 0;
    fplt_status status = fplt__table_ask(
        memory->table, &statement, error,
        "SELECT total((cost + hessians * parameters * (parameters + 1) / 2.0) * max(share, ?)),"
        " coalesce(max(columns), 0), count(*), coalesce(max(fit = ?), 0) FROM question"
        " WHERE data_set = ?",
        "rbi", is_pooled(question) ? 1.0 : 0.0, question->fit.byte, sizeof question->fit.byte,
        data_set);
    if (status || (status = fplt__table_step(memory->table, statement, &row, error)))
        return status;
    cost->spent = sqlite3_column_double(statement, 0);
    cost->columns = (uint64_t)sqlite3_column_int64(statement, 1);
    cost->questions = (uint64_t)sqlite3_column_int64(statement, 2);
    *same_fit = sqlite3_column_int(statement, 3);
    fplt__table_done(statement);
    return FPLT_OK;
}

/* What the same question was charged before, and for how many parameters; `asked` 0: it was not asked. */
static fplt_status read_earlier(fplt__site_memory *memory, int64_t data_set,
                                const fplt__question *question, int *asked, double *cost,
                                uint64_t *parameters, fplt_error *error)
{
    sqlite3_stmt *statement;
    int row = 0;
    *asked = 0;
    *cost = 0;
    *parameters = 0;
    fplt_status status =
        fplt__table_ask(memory->table, &statement, error,
                        "SELECT cost, parameters FROM question WHERE data_set = ? AND whole = ?",
                        "ib", data_set, question->whole.byte, sizeof question->whole.byte);
    if (status || (status = fplt__table_step(memory->table, statement, &row, error)) || !row)
        return status;
    *asked = 1;
    *cost = sqlite3_column_double(statement, 0);
    *parameters = (uint64_t)sqlite3_column_int64(statement, 1);
    fplt__table_done(statement);
    return FPLT_OK;
}

fplt_status fplt__site_memory_price(fplt__site_memory *memory, int64_t data_set,
                                    const fplt__question *question, fplt__question_cost *cost,
                                    fplt_error *error)
{
    uint64_t parameters;
    double charged;
    int same_fit, asked;
    fplt_status status = read_totals(memory, data_set, question, cost, &same_fit, error);
    if (!status)
        status = read_earlier(memory, data_set, question, &asked, &charged, &parameters, error);
    if (status)
        return status;
    cost->added = (double)question->parameters * FPLT__QUESTION_COST / (same_fit ? 2 : 1);
    if (question->numbers)
        cost->added = asked ? 0 : (double)question->numbers;
    if (parameters) /* levels of other sites may have added some since */
        cost->added = question->parameters > parameters
                          ? charged * ((double)question->parameters / (double)parameters - 1)
                          : 0;
    if (question->columns > cost->columns)
        cost->columns = question->columns;
    return FPLT_OK;
}

static fplt_status add_question(fplt__site_memory *memory, int64_t data_set,
                                const fplt__question *question, double cost, const char *kind,
                                fplt_error *error)
{
    return fplt__table_run(
        memory->table, NULL, error,
        "INSERT INTO question VALUES(?, ?, ?, ?, ?, ?, 0, ?, ?, ?) ON CONFLICT(data_set, whole) DO "
        "UPDATE SET cost = cost + excluded.cost, parameters = excluded.parameters,"
        " columns = max(columns, excluded.columns), kind = max(kind, excluded.kind),"
        " share = min(share, excluded.share)",
        "ibbriiitr", data_set, question->whole.byte, sizeof question->whole.byte,
        question->fit.byte, sizeof question->fit.byte, cost, (int64_t)question->parameters,
        (int64_t)question->columns, (int64_t)time(NULL), kind,
        is_pooled(question) ? question->share : 1.0);
}

fplt_status fplt__site_memory_others(fplt__site_memory *memory, int64_t data_set,
                                     const fplt__question *question, uint64_t *others,
                                     fplt_error *error)
{
    sqlite3_stmt *statement;
    int row = 0;
    *others = 0;
    fplt_status status = fplt__table_ask(
        memory->table, &statement, error,
        "SELECT count(*) FROM question WHERE data_set = ? AND kind = ? AND fit <> ?", "itb",
        data_set, question->kind, question->fit.byte, sizeof question->fit.byte);
    if (status || (status = fplt__table_step(memory->table, statement, &row, error)))
        return status;
    *others = (uint64_t)sqlite3_column_int64(statement, 0);
    fplt__table_done(statement);
    return FPLT_OK;
}

fplt_status fplt__site_memory_charge(fplt__site_memory *memory, int64_t data_set,
                                     const fplt__question *question, const fplt__row_set *used,
                                     const fplt__row_set *held, fplt_error *error)
{
    fplt__question_cost cost;
    fplt_status status = fplt__site_memory_price(memory, data_set, question, &cost, error);
    if (status || (status = fplt__table_begin(memory->table, error)))
        return status;
    const char *kind = used && question->kind ? question->kind : "";
    if (cost.added > 0 || *kind || is_pooled(question))
        status = add_question(memory, data_set, question, cost.added, kind, error);
    if (!status && used)
        status = add_set(memory, data_set, ANSWERED, used, error);
    if (!status && held)
        status = add_set(memory, data_set, ANSWERED, held, error);
    return fplt__table_end(memory->table, status, error);
}

fplt_status fplt__site_memory_add_hessians(fplt__site_memory *memory, int64_t data_set,
                                           const fplt__question *question, unsigned hessians,
                                           fplt_error *error)
{
    return fplt__table_run(memory->table, NULL, error,
                           "UPDATE question SET hessians = hessians + ? WHERE data_set = ? AND "
                           "whole = ?",
                           "iib", (int64_t)hessians, data_set, question->whole.byte,
                           sizeof question->whole.byte);
}

/* Rosters */

/* Whether a name of so many characters is among names that are separated by blanks. */
static int has_name(const char *names, const char *name, size_t length)
{
    for (const char *at = names; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncmp(at, name, length) == 0)
            return 1;
    return 0;
}

static size_t count_missing(const char *names, const char *others)
{
    size_t missing = 0;
    for (const char *at = names; *at; at += strcspn(at, " "), at += strspn(at, " "))
        missing += !has_name(others, at, strcspn(at, " "));
    return missing;
}

fplt_status fplt__site_memory_roster_differs(fplt__site_memory *memory, const char *federation,
                                             const char *names, int may_leave, int may_join,
                                             size_t *members, fplt_error *error)
{
    sqlite3_stmt *statement;
    int row = 0;
    *members = 0;
    fplt_status status =
        fplt__table_ask(memory->table, &statement, error,
                        "SELECT names FROM roster WHERE federation = ?", "t", federation);
    while (!status && !(status = fplt__table_step(memory->table, statement, &row, error)) && row) {
        const char *known = (const char *)sqlite3_column_text(statement, 0);
        size_t joined = may_join ? 0 : count_missing(names, known),
               differing = joined + count_missing(known, names);
        if (differing && (joined || !may_leave) && (!*members || differing < *members))
            *members = differing;
    }
    return status;
}

fplt_status fplt__site_memory_add_roster(fplt__site_memory *memory, const char *federation,
                                         const char *names, fplt_error *error)
{
    return fplt__table_run(memory->table, NULL, error,
                           "INSERT OR IGNORE INTO roster VALUES(?, ?, ?)", "tti", federation, names,
                           (int64_t)time(NULL));
}

/* Withdrawals */

fplt_status fplt__site_memory_withdrawal(fplt__site_memory *memory, int64_t *approved, int *used,
                                         fplt_error *error)
{
    sqlite3_stmt *statement;
    int row = 0;
    *approved = 0;
    *used = 1;
    fplt_status status =
        fplt__table_ask(memory->table, &statement, error,
                        "SELECT approved, used FROM withdrawal ORDER BY approved DESC LIMIT 1", "");
    if (status || (status = fplt__table_step(memory->table, statement, &row, error)) || !row)
        return status;
    *approved = sqlite3_column_int64(statement, 0);
    *used = sqlite3_column_int(statement, 1);
    fplt__table_done(statement);
    return FPLT_OK;
}

fplt_status fplt__site_memory_approve_withdrawal(fplt__site_memory *memory, int64_t now,
                                                 fplt_error *error)
{
    return fplt__table_run(memory->table, NULL, error, "INSERT INTO withdrawal VALUES(?, 0)", "i",
                           now);
}

fplt_status fplt__site_memory_use_withdrawal(fplt__site_memory *memory, fplt_error *error)
{
    return fplt__table_run(memory->table, NULL, error, "UPDATE withdrawal SET used = 1", "");
}
