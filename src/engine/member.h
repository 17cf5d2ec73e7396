/* An agent's part of a round, whichever engine it lives in. */
#ifndef FPLT_ENGINE_MEMBER_H
#define FPLT_ENGINE_MEMBER_H

#include "fedplt/algorithm.h"
#include "fedplt/hub_node.h"
#include "base/sum.h"

/* The step size of an agent: common to all, given, or automatic for its curvature; NaN where its
 * solver takes none. */
double fplt__member_step(const fplt_plan *plan, const fplt_training *training,
                         const fplt_curvature *curvature, uint32_t cohort);

/* Runs `local` and adds what it sends to `sum`: the plain numbers first, in the last exchange the
 * changes of the mirrored vectors behind them. `up` has room for the plain numbers. */
fplt_status fplt__member_exchange(const fplt_plan *plan, const fplt_shape *shape, fplt_agent *agent,
                                  const fplt_round *round, unsigned exchange, const double *down,
                                  double *up, fplt__sum *sum, fplt_error *error);

/* The same of several agents, who have one scratch, where the algorithm has `local` in two halves and the
 * solver trains several: in the order of the agents. `done`: how many of the first went well. */
typedef struct fplt__members {
    fplt_agent *agent; /* with a `staged` and a `work` each */
    uint32_t count;    /* FPLT__MEMBERS at most */
    uint32_t position; /* of the first in the cohort */
} fplt__members;
enum { FPLT__MEMBERS = 4 };
fplt_status fplt__members_exchange(const fplt_plan *plan, const fplt_shape *shape,
                                   const fplt__members *members, fplt_round *round,
                                   unsigned exchange, const double *down, double *up,
                                   fplt__sum *sum, uint32_t *done, fplt_error *error);

/* At x: the gradient of its cost, then FPLT__MEASURES numbers. */
fplt_status fplt__member_measure(const fplt_objective *objective, uint32_t cost, const double *x,
                                 double *out, double *scratch);

/* The same of FPLT__MEMBERS costs from `first` on, one behind the other, where they can be measured side by side;
 * zero where they cannot. */
int fplt__members_measure(const fplt_objective *objective, uint32_t first, const double *x,
                          double *out, double *scratch);

/* Writes the agent's initial vectors to `staged`. */
void fplt__member_begin(const fplt_plan *plan, const fplt_shape *shape, fplt_agent *agent,
                        const double *start, const double *second);

#endif
