/* What a site must not forget of its answers while privacy is off: its secret, the questions that each data set was
 * asked, the rows that were answered for, rosters and withdrawals. It is in disclosure.db of the agent's folder, apart
 * from state.db, so that a lost state does not forget the questions. */
#ifndef FPLT_FEDERATION_SITE_MEMORY_H
#define FPLT_FEDERATION_SITE_MEMORY_H

#include <stdint.h>

#include "fedplt/status.h"
#include "federation/agent/row_sets.h"
#include "wire/hash.h"

typedef struct fplt__site_memory fplt__site_memory;

/* Opens FOLDER/disclosure.db, or makes it with a new secret. One process at a time. */
fplt_status fplt__site_memory_open(const char *folder, fplt__site_memory **memory,
                                   fplt_error *error);
void fplt__site_memory_close(fplt__site_memory *memory);
/* 32 bytes under which rows are hashed and divided; nobody else has them. */
const uint8_t *fplt__site_memory_secret(const fplt__site_memory *memory);

/* The data set that the rows are of: that of an earlier set with which they share at least half of the rows of the
 * smaller one; otherwise a new one. Rows may be added and left out: the data set stays the same. */
fplt_status fplt__site_memory_find(fplt__site_memory *memory, const fplt__row_set *rows,
                                   int64_t *data_set, fplt_error *error);

/* A fit or an analysis that is asked for. Two fits with the same `fit` differ at most in penalty, method, start and run; two
 * analyses in the rows. With the same `whole` they are the same run, or the same analysis of the same rows. */
typedef struct fplt__question {
    fplt__digest fit, whole;
    const char *kind; /* of an analysis; NULL: a fit */
    uint64_t parameters, columns;
    uint64_t numbers; /* of an analysis, which has no parameters: numbers that are told */
    /* Of the site in the rows that the answer is a sum over: below 1 under secure aggregation; 0: 1. A question that the site
     * answers by itself is measured with what it told by itself, and its share of the rest. */
    double share;
} fplt__question;

/* Of a fit, for each parameter. */
enum { FPLT__QUESTION_COST = 20 };

/* What the data set was asked so far, and what the question would add: 20 for each parameter where the fit is new, half of
 * that where the same fit was asked in another way, 0 where the whole question was asked before. An analysis costs the
 * numbers that are told. */
typedef struct fplt__question_cost {
    double spent, added;
    uint64_t columns;   /* most of any question, this one included */
    uint64_t questions; /* that were asked before */
} fplt__question_cost;

fplt_status fplt__site_memory_price(fplt__site_memory *memory, int64_t data_set,
                                    const fplt__question *question, fplt__question_cost *cost,
                                    fplt_error *error);
/* Analyses of the same kind that the data set answered, with another `fit`. */
fplt_status fplt__site_memory_others(fplt__site_memory *memory, int64_t data_set,
                                     const fplt__question *question, uint64_t *others,
                                     fplt_error *error);
/* Counts the question, and the rows that are answered for (sorted, or NULL where the question is refused), durably. */
fplt_status fplt__site_memory_charge(fplt__site_memory *memory, int64_t data_set,
                                     const fplt__question *question, const fplt__row_set *used,
                                     const fplt__row_set *held, fplt_error *error);
/* Counts `hessians` more of a question that was charged. */
fplt_status fplt__site_memory_add_hessians(fplt__site_memory *memory, int64_t data_set,
                                           const fplt__question *question, unsigned hessians,
                                           fplt_error *error);
/* The least number of rows by which the set differs from one that was answered for; 0: it was answered for itself, or none
 * was. */
fplt_status fplt__site_memory_differs(fplt__site_memory *memory, int64_t data_set,
                                      const fplt__row_set *set, size_t *rows, fplt_error *error);

/* Rosters of runs under secure aggregation. The least number of members, above 0, by which the sorted names differ from an
 * earlier roster of the federation; 0: from none. Names are separated by blanks. `may_leave`: rosters that members have only
 * left since are not compared. `may_join`: members that joined since are not counted. */
fplt_status fplt__site_memory_roster_differs(fplt__site_memory *memory, const char *federation,
                                             const char *names, int may_leave, int may_join,
                                             size_t *members, fplt_error *error);
fplt_status fplt__site_memory_add_roster(fplt__site_memory *memory, const char *federation,
                                         const char *names, fplt_error *error);

/* When a withdrawal was approved last, in seconds since 1970 (0: never), and whether its rows have been taken out since. */
fplt_status fplt__site_memory_withdrawal(fplt__site_memory *memory, int64_t *approved, int *used,
                                         fplt_error *error);
fplt_status fplt__site_memory_approve_withdrawal(fplt__site_memory *memory, int64_t now,
                                                 fplt_error *error);
fplt_status fplt__site_memory_use_withdrawal(fplt__site_memory *memory, fplt_error *error);

#endif
