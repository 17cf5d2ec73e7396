/* An agent's durable state: state.db. One commit a round, before anything is sent. */
#ifndef FPLT_STORE_SITE_H
#define FPLT_STORE_SITE_H

#include "protocol/site.h"
#include "store/table.h"

typedef struct fplt__site_store fplt__site_store;

/* Refuses while another process has the file. */
fplt_status fplt__site_store_open(const char *path, fplt__site_store **store, fplt_error *error);
void fplt__site_store_close(fplt__site_store *store);

/* What has changed, in one transaction; `charged` is the ledger's receipt, repeated here so that an emptied
 * ledger is noticed. `data`: digest of the data file. */
fplt_status fplt__site_store_save(fplt__site_store *store, const fplt__site_record *record,
                                  const fplt__receipt *charged, fplt_error *error);

/* The newest run. Owns what the record points to. */
typedef struct fplt__site_loaded {
    int there;
    fplt__site_record record;
    void *memory[10];
} fplt__site_loaded;
fplt_status fplt__site_store_load(fplt__site_store *store, fplt__site_loaded *loaded,
                                  fplt_error *error);
void fplt__site_loaded_clear(fplt__site_loaded *loaded);

/* The largest receipt of the ledger that was ever seen here. */
fplt_status fplt__site_store_charged(fplt__site_store *store, fplt__receipt *charged,
                                     fplt_error *error);
fplt_status fplt__site_store_set_charged(fplt__site_store *store, const fplt__receipt *charged,
                                         fplt_error *error);
/* The digest of the data file that belongs to the run of this plan; zeros: none is known yet. */
fplt_status fplt__site_store_data(fplt__site_store *store, const fplt__digest *run,
                                  fplt__digest *data, fplt_error *error);
fplt_status fplt__site_store_set_data(fplt__site_store *store, const fplt__digest *run,
                                      const fplt__digest *data, fplt_error *error);

/* Writes a copy of the state to a new file of mode 0600. Ledger, keys and logs are in other files. */
fplt_status fplt__site_store_backup(fplt__site_store *store, const char *path, fplt_error *error);

#endif
