/* Rates of a ledger as rows: one for each adversary, NULL where nothing is proved. */
#ifndef FPLT_PROMISE_LEDGER_ROWS_H
#define FPLT_PROMISE_LEDGER_ROWS_H

#include "base/database.h"
#include "fedplt/ledger.h"

/* A statement about a run of an account: ?1 and ?2, each unbound where it is NULL. */
fplt_status fplt__rows_prepare(fplt__database *database, const char *statement, const char *account,
                               const unsigned char *run, sqlite3_stmt **query, fplt_error *error);
/* Of a statement whose rows are (adversary, rate, how many rates are NULL); of an adversary without a row
 * 0. */
fplt_status fplt__rows_rates(fplt__database *database, const char *statement, const char *account,
                             const unsigned char *run, fplt_rates *rates, fplt_error *error);
/* The first number of the first row; 0: there is none. */
fplt_status fplt__rows_count(fplt__database *database, const char *statement, const char *account,
                             const unsigned char *run, uint64_t *count, fplt_error *error);
/* Once for each adversary: ?3 is the name, ?4 the rate, ?5 the rounds. */
fplt_status fplt__rows_store(fplt__database *database, const char *statement, const char *account,
                             const unsigned char *run, const fplt_rates *rates, uint64_t rounds,
                             fplt_error *error);

#endif
