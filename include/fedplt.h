/* fedplt: private federated learning with local training. This header has the core: settings and data, costs, the engine,
 * hub and node, the trainer, and models. Everything else (readers, generators, privacy, theory, reports, ...) is in headers
 * that are included on their own, each named where the core refers to it; docs/c.md lists them.
 *
 * These rules hold unless a comment says otherwise:
 * - Pointers are not NULL, but `error` may be. Arguments are borrowed for the call.
 * - What _create or another function makes is released with the _destroy of its type, which takes NULL; on failure the
 *   pointer is set to NULL. Every function that allocates may return FPLT_NO_MEMORY.
 * - The library never prints, exits or aborts, and changes no signal, limit, locale, environment or CPU affinity of the
 *   process. fedplt/noise.h and federation.h state what they do to it.
 * - Structures that are filled by hand grow at their end only. Begin with what _defaults() returns, or with zeros: a field
 *   that is added later means at zero, or as its default, what was meant before it. Tables of functions begin with `size`,
 *   the sizeof of their type; one that was compiled against other headers is refused.
 *
 * Threads and blocking: each header says it. Different objects may always be used in different threads. */
#ifndef FEDPLT_H
#define FEDPLT_H

#include "fedplt/data.h"
#include "fedplt/engine.h"
#include "fedplt/hub_node.h"
#include "fedplt/model.h"
#include "fedplt/objective.h"
#include "fedplt/prox.h"
#include "fedplt/random.h"
#include "fedplt/round.h"
#include "fedplt/settings.h"
#include "fedplt/status.h"
#include "fedplt/trainer.h"
#include "fedplt/training.h"

#endif
