/* Rates of a ledger as rows: one for each adversary, NULL where nothing is proved. */
#include "promise/ledger_rows.h"

#include <math.h>

#include "privacy/claim.h"
#include "privacy/privacy.h"

static void bind_rate(sqlite3_stmt *query, int place, double rate)
{
    if (isfinite(rate))
        sqlite3_bind_double(query, place, rate);
    else
        sqlite3_bind_null(query, place);
}

/* Rows of (adversary, rate, how many of the rates are NULL) into rates; finalizes. */
static fplt_status read_rates(fplt__database *database, sqlite3_stmt *query, fplt_status status,
                              fplt_rates *rates, fplt_error *error)
{
    int row = 0;
    *rates = (fplt_rates){{0}};
    while (!status && !(status = fplt__database_step(database, query, &row, error)) && row) {
        const fplt_threat *threat;
        const char *name = (const char *)sqlite3_column_text(query, 0);
        if ((status = fplt__privacy_threat_find(name ? name : "", &threat, error)))
            break;
        size_t k = fplt__threat_index(threat);
        if (k < FPLT_ADVERSARIES)
            rates->against[k] =
                sqlite3_column_int64(query, 2) > 0 ? INFINITY : sqlite3_column_double(query, 1);
    }
    sqlite3_finalize(query);
    return status;
}

fplt_status fplt__rows_prepare(fplt__database *database, const char *statement, const char *account,
                               const unsigned char *run, sqlite3_stmt **query, fplt_error *error)
{
    fplt_status status = fplt__database_prepare(database, statement, query, error);
    if (account)
        sqlite3_bind_text(*query, 1, account, -1, SQLITE_STATIC);
    if (run)
        sqlite3_bind_blob(*query, 2, run, FPLT_RUN_BYTES, SQLITE_STATIC);
    return status;
}

fplt_status fplt__rows_rates(fplt__database *database, const char *statement, const char *account,
                             const unsigned char *run, fplt_rates *rates, fplt_error *error)
{
    sqlite3_stmt *query;
    fplt_status status = fplt__rows_prepare(database, statement, account, run, &query, error);
    return read_rates(database, query, status, rates, error);
}

fplt_status fplt__rows_count(fplt__database *database, const char *statement, const char *account,
                             const unsigned char *run, uint64_t *count, fplt_error *error)
{
    sqlite3_stmt *query;
    int row = 0;
    fplt_status status = fplt__rows_prepare(database, statement, account, run, &query, error);
    if (!status)
        status = fplt__database_step(database, query, &row, error);
    *count = !status && row ? (uint64_t)sqlite3_column_int64(query, 0) : 0;
    sqlite3_finalize(query);
    return status;
}

fplt_status fplt__rows_store(fplt__database *database, const char *statement, const char *account,
                             const unsigned char *run, const fplt_rates *rates, uint64_t rounds,
                             fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t k = 0; !status && k < FPLT_ADVERSARIES; k++) {
        sqlite3_stmt *query;
        status = fplt__rows_prepare(database, statement, account, run, &query, error);
        sqlite3_bind_text(query, 3, fplt_privacy_threat(k)->name, -1, SQLITE_STATIC);
        bind_rate(query, 4, rates->against[k]);
        if (sqlite3_bind_parameter_count(query) > 4)
            sqlite3_bind_int64(query, 5, (sqlite3_int64)rounds);
        status = fplt__database_finish(database, query, status, error);
    }
    return status;
}
