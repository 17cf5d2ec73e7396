/* Threads that work on the same task at once, again and again. */
#ifndef FPLT_ENGINE_POOL_H
#define FPLT_ENGINE_POOL_H

#include <stddef.h>

#include "fedplt/status.h"

typedef struct fplt__pool fplt__pool;

/* `threads` in all: the caller of run is number 0. */
fplt_status fplt__pool_create(unsigned threads, fplt__pool **pool, fplt_error *error);
void fplt__pool_destroy(fplt__pool *pool);
unsigned fplt__pool_threads(const fplt__pool *pool);
/* Calls task(context, number) on the caller's thread and on every other that comes before the caller is
 * done, and returns when all these are: a task takes its work in portions, until none is left. */
void fplt__pool_run(fplt__pool *pool, void (*task)(void *context, unsigned number), void *context);
/* Inside a task, by thread `number`: part(context, index, who) for index 0 .. count - 1, each once, by
 * itself and by threads that have nothing left of their own; returns when all are done. */
void fplt__pool_share(fplt__pool *pool, unsigned number, size_t count,
                      void (*part)(void *context, size_t index, unsigned who), void *context);

#endif
