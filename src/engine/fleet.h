/* The agents as a whole, wherever they live. The round loop speaks to a fleet only through these
 * verbs: sum over a set, evaluate a point over all, and the agents' state as an opaque whole. A
 * fleet on threads is here; one on MPI ranks or behind a network has the same verbs. */
#ifndef FPLT_ENGINE_FLEET_H
#define FPLT_ENGINE_FLEET_H

#include <stdio.h>

#include "fedplt/engine.h"
#include "fedplt/steps.h"
#include "fedplt/sum.h"

typedef struct fplt__fleet fplt__fleet;

struct fplt__fleet_verbs {
    /* Initial vectors; adds the mirrored ones to `totals`. */
    fplt_status (*begin)(fplt__fleet *fleet, fplt_sum *totals, fplt_error *error);
    /* One exchange with the active agents: adds what they send to `sum`, and the gradients they
     * evaluated to `gradients`. In an agent's last step its staged state takes effect. */
    fplt_status (*train)(fplt__fleet *fleet, const fplt_round *round, unsigned exchange,
                         const uint32_t *active, const double *down, fplt_sum *sum,
                         double *gradients, fplt_error *error);
    fplt_status (*finish)(fplt__fleet *fleet, const fplt_round *round, const uint32_t *active,
                          const double *down, fplt_error *error);
    /* Over all agents at x: dimension gradient sums, then value, hits, records, and how many agents
     * can tell hits. */
    fplt_status (*evaluate)(fplt__fleet *fleet, const double *x, fplt_sum *sum, fplt_error *error);
    /* Sum of the first `count` kept vectors beginning with number `vector`. */
    fplt_status (*total)(fplt__fleet *fleet, unsigned vector, unsigned count, fplt_sum *sum);
    /* The agents' state as bytes. */
    fplt_status (*each_state)(fplt__fleet *fleet,
                              fplt_status (*visit)(void *context, void *bytes, size_t size),
                              void *context);
    const double *(*kept)(const fplt__fleet *fleet, uint32_t agent);
    void (*destroy)(fplt__fleet *fleet);
};

struct fplt__fleet {
    const struct fplt__fleet_verbs *verbs;
};

/* What a fleet is made from; all borrowed for the call, arrays copied. */
struct fplt__fleet_plan {
    const fplt_plan *plan;
    const fplt_objective *objective; /* borrowed for the fleet's life */
    const fplt_run_settings *settings;
    const fplt_curvature *curvatures; /* one an agent */
    uint32_t cohort;
};

fplt_status fplt__threads_create(const struct fplt__fleet_plan *plan, fplt__fleet **fleet,
                                 fplt_error *error);

#endif
