/* Dividing the rows of a data set among agents, and holding rows out.
 *
 * Threads and blocking: thread-safe; nothing blocks. Equal arguments give equal data sets.
 */
#ifndef FEDPLT_PARTITION_H
#define FEDPLT_PARTITION_H

#include <stdint.h>

#include "fedplt/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* New division of all rows among agents. Within an agent the rows keep their order.
 *   contiguous  consecutive rows; the first rows mod agents have one more than the others
 *   shuffled    the same sizes, rows drawn at random
 *   skewed      for each class, the agents' shares of its rows are Dirichlet(alpha, ..., alpha); an
 *               agent left without rows gets one from those with most. Classification only. */
typedef struct fplt_partition_settings {
    const char *name; /* contiguous, shuffled, skewed */
    uint32_t agents;
    double alpha; /* skewed: small is very unequal */
    uint64_t seed;
} fplt_partition_settings;

/* contiguous, 10 agents, alpha 0.5 */
FPLT_API fplt_partition_settings fplt_partition_defaults(void);
/* Makes a new data set with the rows divided anew; the old one is unchanged and may be destroyed.
 * FPLT_BAD_VALUE for an unknown name, 0 agents, more agents than rows, or alpha not above 0;
 * FPLT_UNSUPPORTED for more than 2^32 - 1 rows. `partitioned` is NULL on failure. */
FPLT_API fplt_status fplt_dataset_partition(const fplt_dataset *dataset,
                                            const fplt_partition_settings *settings,
                                            fplt_dataset **partitioned, fplt_error *error);

/* Holds out round(fraction q_i) rows of each agent, drawn at random; an agent keeps at least one.
 * Agents without held-out rows are absent from `test`; when that is all of them, FPLT_BAD_VALUE. */
FPLT_API fplt_status fplt_dataset_split(const fplt_dataset *dataset, double fraction, uint64_t seed,
                                        fplt_dataset **train, fplt_dataset **test,
                                        fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
