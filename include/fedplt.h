/* fedplt: private federated learning with local training. Everything public at once. */
#ifndef FEDPLT_H
#define FEDPLT_H

#include "fedplt/algorithm.h"
#include "fedplt/auto.h"
#include "fedplt/certificate.h"
#include "fedplt/config.h"
#include "fedplt/data.h"
#include "fedplt/engine.h"
#include "fedplt/file.h"
#include "fedplt/job.h"
#include "fedplt/ledger.h"
#include "fedplt/log.h"
#include "fedplt/memory.h"
#include "fedplt/model.h"
#include "fedplt/noise.h"
#include "fedplt/objective.h"
#include "fedplt/participation.h"
#include "fedplt/privacy.h"
#include "fedplt/promise.h"
#include "fedplt/prox.h"
#include "fedplt/random.h"
#include "fedplt/report.h"
#include "fedplt/schema.h"
#include "fedplt/settings.h"
#include "fedplt/solver.h"
#include "fedplt/status.h"
#include "fedplt/steps.h"
#include "fedplt/sum.h"
#include "fedplt/theory.h"
#include "fedplt/trainer.h"

#endif
