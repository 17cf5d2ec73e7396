/* L-BFGS at the coordinator [Nocedal 1980], with all agents active; with h, a proximal quasi-Newton method [Lee, Sun and
 * Saunders 2014].
 *
 *     down:  x + t d
 *     agent: sends the gradient and the value of f_i there, and keeps nothing
 *     coordinator: accepts the point or shortens t; after an acceptance the pair s = change of x,
 *            y = change of the gradient joins the last ones, and d = -H g by the two-loop recursion
 *
 * With F = sum f_i, so that s, y and g are of exact sums. The first step is a gradient step that is
 * short enough to be accepted. */
#include "algorithm/secant.h"

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    return fplt__agent_value_gradient(agent, round, x, up + agent->dimension, up, error);
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)round;
    (void)exchange;
    fplt__secant_arrive(coordinator, sum, sum[coordinator->dimension]);
}

const fplt_algorithm fplt__fed_lbfgs = {
    .size = sizeof(fplt_algorithm),
    .name = "fed-lbfgs",
    .title = "L-BFGS at the coordinator",
    .reference =
        "Nocedal: Updating Quasi-Newton Matrices with Limited Storage (1980), on the exact "
        "sum of the agents' gradients",
    .shape = {.numbers = FPLT__SECANT_NUMBERS,
              .exchanges = 1,
              .exchange = {{.down = 1, .up = 1, .up_scalars = 1}},
              .local_model = -1},
    .allows = FPLT_TRAINS_NOTHING | FPLT_NEEDS_CERTAINTY | FPLT_ALLOWS_COMPOSITE |
              FPLT_ALLOWS_ANY_START | FPLT_SENDS_MEASURES | FPLT_SEARCHES_STEP,
    .no_minimiser = FPLT__NO_TRAINING,
    .no_random = FPLT__NO_TRAINING,
    .no_partial = "it compares the sum of all gradients between rounds; use fed-lbfgs-partial",
    .partial_form = &fplt__fed_lbfgs_partial,
    .no_privacy = "it sends the bare gradient of the agent's cost; use fed-plt",
    .paper.epochs = "none",
    .paper.problems = "non-convex",
    .settings = fplt__secant_settings,
    .common_step = 1,
    .step_rule = "not used: the coordinator searches the step",
    .reshape = fplt__secant_reshape,
    .choose = fplt__secant_choose,
    .step = fplt__unused_step,
    .begin_coordinator = fplt__descent_begin,
    .broadcast = fplt__descent_broadcast,
    .local = local,
    .absorb = absorb,
    .model = fplt__descent_model,
    .settled = fplt__descent_settled,
};
