/* Parallel execution of a computation that falls into parts, on idle threads of a pool. The computation does not know
 * the pool: its owner attaches the pool's idle threads to the thread that runs the computation. */
#ifndef FPLT_BASE_PARALLEL_H
#define FPLT_BASE_PARALLEL_H

#include <stddef.h>

/* One part; `scratch` belongs to the thread that does it, as long as the owner has promised. */
typedef void (*fplt__part)(void *context, size_t part, double *scratch);

typedef struct fplt__parallel {
    /* Does parts 0 .. count - 1, each once and on any thread, and returns when all are done; `scratch`
     * is for the parts that the caller does itself. */
    void (*spread)(struct fplt__parallel *hands, size_t count, fplt__part part, void *context,
                   double *scratch);
} fplt__parallel;

/* From now on the calling thread has this help; NULL: none. */
void fplt__parallel_set(fplt__parallel *hands);

/* Whether the calling thread has any. */
int fplt__parallel_is_available(void);

/* All parts, with what help there is. Parts do not spread anything themselves. */
void fplt__parallel_for(size_t count, fplt__part part, void *context, double *scratch);

#endif
