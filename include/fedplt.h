/* fedplt: private federated learning with local training. Everything public at once.
 *
 * Structs that are filled by hand grow at their end only. Begin with what the type's _defaults()
 * returns, or with zeros where it has none (designated initialisers leave them): a field that is
 * added later means at zero, or as its default, what was meant before it. Tables of functions
 * (algorithms, solvers, callbacks, sources of noise) begin with `size`, the sizeof of their type; one
 * that was compiled against other headers is refused with a sentence. */
#ifndef FEDPLT_H
#define FEDPLT_H

#include "fedplt/algorithm.h"
#include "fedplt/auto.h"
#include "fedplt/certificate.h"
#include "fedplt/config.h"
#include "fedplt/data.h"
#include "fedplt/engine.h"
#include "fedplt/file.h"
#include "fedplt/inference.h"
#include "fedplt/job.h"
#include "fedplt/key.h"
#include "fedplt/ledger.h"
#include "fedplt/log.h"
#include "fedplt/memory.h"
#include "fedplt/model.h"
#include "fedplt/module.h"
#include "fedplt/noise.h"
#include "fedplt/objective.h"
#include "fedplt/page.h"
#include "fedplt/participation.h"
#include "fedplt/privacy.h"
#include "fedplt/promise.h"
#include "fedplt/prox.h"
#include "fedplt/random.h"
#include "fedplt/ranks.h"
#include "fedplt/report.h"
#include "fedplt/schema.h"
#include "fedplt/settings.h"
#include "fedplt/solver.h"
#include "fedplt/spending.h"
#include "fedplt/status.h"
#include "fedplt/hub_node.h"
#include "fedplt/sum.h"
#include "fedplt/theory.h"
#include "fedplt/trainer.h"

#endif
