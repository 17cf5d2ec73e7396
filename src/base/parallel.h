/* Help for a computation that falls into parts, from threads that somebody else owns and that are idle at
 * the time. Who computes need not know them: the owner lends them to the thread that it calls from. */
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
