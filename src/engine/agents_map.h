/* The same question to every agent, on all threads. */
#ifndef FPLT_ENGINE_AGENTS_MAP_H
#define FPLT_ENGINE_AGENTS_MAP_H

#include <stdint.h>

#include "fedplt/engine.h"
#include "fedplt/ranks.h"

/* Calls ask(context, index, error) for every index below `count`, in any order and from several threads
 * (0: one a processor). If several fail, the first by index is reported, whichever was quicker. */
fplt_status fplt__parallel_map(uint32_t count, unsigned threads,
                               fplt_status (*ask)(void *context, uint32_t index, fplt_error *error),
                               void *context, fplt_error *error);

/* The same for agents: every process calls `ask` for its own, and afterwards all processes have every items[agent], of
 * `size` bytes each. If calls fail, every process returns the failure of the first agent. `ranks` NULL: one process. */
fplt_status fplt__agents_map(fplt_ranks *ranks, uint32_t agents, unsigned threads,
                             fplt_status (*ask)(void *context, uint32_t agent, fplt_error *error),
                             void *context, void *items, size_t size, fplt_error *error);

/* How closely a run must know how the costs curve (fplt_objective_curvature): roughly where agents only
 * evaluate, for then it gives no more than the first step of a search. A start that is drawn by it wants it
 * close. */
int fplt__run_looks(const fplt_run_settings *run);
/* How the cost of every agent curves, looked at so closely. */
fplt_status fplt__agents_map_curvature(fplt_ranks *ranks, const fplt_objective *objective, int how,
                                       unsigned threads, fplt_curvature *curvatures,
                                       fplt_error *error);

#endif
