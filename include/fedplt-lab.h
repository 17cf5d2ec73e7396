/* fedplt-lab: comparison, tuning, audit, cross-validation and the paper's tables. Everything public of libfedplt-lab, and
 * the core of libfedplt (fedplt.h, whose rules hold here too). */
#ifndef FEDPLT_LAB_H
#define FEDPLT_LAB_H

#include "fedplt.h"
#include "fedplt/audit.h"
#include "fedplt/compare.h"
#include "fedplt/paper.h"
#include "fedplt/tradeoff.h"
#include "fedplt/tune.h"
#include "fedplt/validate.h"

#endif
