/* The coordinator's durable state: federation.db. What a round receives is never written, only its
 * end, in one transaction. */
#ifndef FPLT_STORE_LEADER_H
#define FPLT_STORE_LEADER_H

#include "protocol/leader.h"
#include "store/table.h"

typedef struct fplt__leader_store fplt__leader_store;

/* Refuses while another process has the file. */
fplt_status fplt__leader_store_open(const char *path, fplt__leader_store **store,
                                    fplt_error *error);
void fplt__leader_store_close(fplt__leader_store *store);

/* The newest run, or the newest below number `below` where that is not 0: its number, 0 where there is
 * none. */
fplt_status fplt__leader_store_newest(fplt__leader_store *store, uint32_t below, uint32_t *run,
                                      fplt_error *error);

/* How many numbers a closing vector has: known with the plan, before the first of them is saved. */
void fplt__leader_store_set_closing(fplt__leader_store *store, size_t numbers);

/* Everything about run number `run` that `record` says has changed, in one transaction. */
fplt_status fplt__leader_store_save(fplt__leader_store *store, uint32_t run,
                                    const fplt__leader_record *record, fplt_error *error);

/* A run as it was committed. Owns what the record points to. */
typedef struct fplt__leader_loaded {
    fplt__leader_record record;
    void *memory[6];
    fplt__closing *closing;
} fplt__leader_loaded;
fplt_status fplt__leader_store_load(fplt__leader_store *store, uint32_t run, uint32_t members,
                                    fplt__leader_loaded *loaded, fplt_error *error);
void fplt__leader_loaded_clear(fplt__leader_loaded *loaded);

/* Of a run that is over only its document, hash and last committed hub (NULL: none). */
fplt_status fplt__leader_store_load_end(fplt__leader_store *store, uint32_t run,
                                        fplt__leader_loaded *loaded, fplt_error *error);

/* Where a run begins, if not at zero, and the plan whose model that is (zeros: none). */
fplt_status fplt__leader_store_keep_start(fplt__leader_store *store, uint32_t run, const double *x,
                                          size_t count, const fplt__digest *continues,
                                          fplt_error *error);
/* The vector is released with fplt__free; NULL: at zero. */
fplt_status fplt__leader_store_start(fplt__leader_store *store, uint32_t run, double **x,
                                     size_t *count, fplt__digest *continues, fplt_error *error);

/* Remembers what happened (the log, as `federation history` shows it). `member_index` -1: nobody's. */
fplt_status fplt__leader_store_note(fplt__leader_store *store, uint32_t run, uint64_t round,
                                    int64_t member_index, const char *word, const char *sentence,
                                    fplt_error *error);

/* Rounds of a run in order. Pointers live for the call. */
typedef struct fplt__history_row {
    uint64_t round;
    uint32_t incarnation;
    const uint8_t *accepted; /* bitmap */
    size_t size;             /* its bytes */
    int is_void;
    double seconds, criterion; /* NaN: not measured */
    uint64_t bytes_up, bytes_down;
} fplt__history_row;
fplt_status fplt__leader_store_history(fplt__leader_store *store, uint32_t run,
                                       void (*tell)(void *context, const fplt__history_row *row),
                                       void *context, fplt_error *error);
/* Events of a run in order. */
typedef struct fplt__event_row {
    const char *time, *word, *sentence;
    uint64_t round;
    int64_t member_index;
} fplt__event_row;
fplt_status fplt__leader_store_events(fplt__leader_store *store, uint32_t run,
                                      void (*tell)(void *context, const fplt__event_row *row),
                                      void *context, fplt_error *error);

/* What an agent's ledger has shown outlives its run: kept by name, the largest sum. */
fplt_status fplt__leader_store_keep_receipt(fplt__leader_store *store, const char *name,
                                            const fplt__member_row *row, fplt_error *error);
/* Fills `charged` of the row; nothing where there is none. */
fplt_status fplt__leader_store_receipt(fplt__leader_store *store, const char *name,
                                       fplt__member_row *row, fplt_error *error);

/* How a run that follows from another begins; as numbers they are in the table. */
typedef enum fplt__continuing {
    FPLT__CONTINUES_NOTHING, /* as the settings say */
    FPLT__CONTINUES_MODEL,   /* at the last model of the run before */
    FPLT__CONTINUES_REFIT,   /* there too, and without the penalty */
    FPLT__CONTINUES_FIT,     /* as the settings say, without one fold of a validation */
    FPLT__CONTINUES_CHOSEN   /* as the settings say, with the penalty that a validation chose */
} fplt__continuing;

/* A run that follows from another: a member was excluded, rows of a member were withdrawn, or it is a refit or part
 * of a validation. */
typedef struct fplt__succession {
    uint32_t base;         /* the run of the settings that `run` follows from */
    uint32_t run;          /* its number */
    char name[FPLT__NAME]; /* of the member that it is without; empty: all of them stay */
    fplt__continuing continued;
    char epsilon[32]; /* what is left of the promise; empty: as in the settings */
    char rounds[32];  /* what is left of the rounds; empty: as in the settings */
} fplt__succession;
/* Ends run `ended`, or forgets it where the one that follows has the same number, and keeps the succession: one
 * transaction. */
fplt_status fplt__leader_store_succeed(fplt__leader_store *store, uint32_t ended,
                                       const fplt__succession *next, const char *sentence,
                                       fplt_error *error);
/* The runs that follow from run `base` in order, or all of them where it is 0. */
fplt_status fplt__leader_store_successions(fplt__leader_store *store, uint32_t base,
                                           void (*tell)(void *context,
                                                        const fplt__succession *next),
                                           void *context, fplt_error *error);

/* An address from which a member came, for a day. */
fplt_status fplt__leader_store_keep_address(fplt__leader_store *store, const char *address,
                                            fplt_error *error);
fplt_status fplt__leader_store_addresses(fplt__leader_store *store,
                                         void (*tell)(void *context, const char *address),
                                         void *context, fplt_error *error);

/* Writes a copy of the state to a new file of mode 0600. */
fplt_status fplt__leader_store_backup(fplt__leader_store *store, const char *path,
                                      fplt_error *error);
/* Moves what is only in the write-ahead log into the file itself. */
fplt_status fplt__leader_store_checkpoint(fplt__leader_store *store, fplt_error *error);

#endif
