/* Shared by the files of the coordinator's store. */
#ifndef FPLT_STORE_LEADER_STORE_H
#define FPLT_STORE_LEADER_STORE_H

#include "store/leader.h"

struct fplt__leader_store {
    fplt__table *table;
    size_t closing; /* numbers of a closing vector */
    uint64_t notes; /* events added by this process */
};

/* Bytes of a bitmap over the roster. */
static inline size_t fplt__bitmap_size(uint32_t members)
{
    return (members + 7) / 8;
}

/* Bytes of the criterion before round 0 as `run.start` has it. */
enum { FPLT__START_BYTES = 40 };

/* Reads a receipt from the columns `mac` and `body`. One of an older version says nothing of runs and adversaries, and
 * counts as none. */
void fplt__leader_store_read_receipt(sqlite3_stmt *found, int mac, int body, fplt__member_row *row);

/* A row of `event`, outside of the rotation. */
fplt_status fplt__leader_store_add_event(fplt__leader_store *store, uint32_t run, uint64_t round,
                                         int64_t member_index, const char *word,
                                         const char *sentence, fplt_error *error);

#endif
