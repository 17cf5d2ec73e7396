/* L-BFGS at the coordinator in which absent agents count: the point is held until every agent has answered there.
 *
 *     down:  x + t d, and the number of that point
 *     agent: keeps the gradient and the value of f_i there and the number of the point, all mirrored
 *     coordinator: waits until all have answered; the running sums are then those of fed-lbfgs, which takes its step */
#include <string.h>

#include "algorithm/incremental.h"
#include "algorithm/secant.h"
#include "base/sum.h"

static void reshape(const double *parameter, size_t dimension, fplt_shape *shape)
{
    fplt__secant_reshape(parameter, dimension, shape);
    shape->kept = shape->mirrored = fplt__incremental_vectors(dimension, dimension);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    (void)up;
    size_t n = agent->dimension, numbers = fplt__incremental_vectors(n, n) * n;
    double *last = agent->staged + n;
    memset(agent->staged, 0, numbers * sizeof *agent->staged);
    fplt_status status =
        fplt__agent_value_gradient(agent, round, x, &last[FPLT__LAST_VALUE], agent->staged, error);
    last[FPLT__LAST_POINT] = round->scalar[0];
    fplt_grid_round(agent->staged, numbers);
    return status;
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)round;
    (void)exchange;
    (void)sum;
    const double *last = coordinator->total + coordinator->dimension;
    if (!fplt__incremental_is_exact(coordinator, last))
        return;
    fplt__secant_arrive(coordinator, coordinator->total, last[FPLT__LAST_VALUE]);
    fplt__incremental_renumber(coordinator);
    coordinator->number[FPLT__TRUSTED] =
        0; /* the next point may be far off, and a turn passes until that is known */
}

const fplt_algorithm fplt__fed_lbfgs_partial = {
    .size = sizeof(fplt_algorithm),
    .name = "fed-lbfgs-partial",
    .title = "L-BFGS at the coordinator, held points",
    .reference =
        "Nocedal: Updating Quasi-Newton Matrices with Limited Storage (1980), on running sums of "
        "the agents' gradients at one point",
    .shape = {.numbers = FPLT__SECANT_NUMBERS,
              .scalars = 1,
              .exchanges = 1,
              .exchange = {{.down = 1}},
              .local_model = -1},
    .allows = FPLT_TRAINS_NOTHING | FPLT_NEEDS_CERTAINTY | FPLT_ALLOWS_PARTIAL |
              FPLT_ALLOWS_COMPOSITE | FPLT_ALLOWS_ANY_START,
    .no_minimiser = FPLT__NO_TRAINING,
    .no_random = FPLT__NO_TRAINING,
    .no_privacy = "it sends the bare gradient of the agent's cost; use fed-plt",
    .paper.epochs = "none",
    .paper.problems = "non-convex",
    .settings = fplt__secant_settings,
    .common_step = 1,
    .step_rule = "not used: the coordinator searches the step",
    .reshape = reshape,
    .choose = fplt__secant_choose,
    .step = fplt__unused_step,
    .begin_coordinator = fplt__incremental_begin,
    .plan = fplt__incremental_plan,
    .broadcast = fplt__descent_broadcast,
    .local = local,
    .absorb = absorb,
    .model = fplt__descent_model,
    .settled = fplt__descent_settled,
};
