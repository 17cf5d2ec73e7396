/* FedLin [Mitra, Jaafar, Pappas and Hassani 2021]: gradient correction from a first exchange.
 *
 *     exchange 1:  x down; agent sends G_i = grad f_i(x)
 *     exchange 2:  g = mean G_i down; agent: from x, some epochs on f_i(w) + <g - G_i, w>; send w
 *     coordinator: x = mean w
 *
 * At the minimiser g = 0 and nothing moves, whatever the steps. But to first order a round moves x by
 * -Ne mean(gamma_i) g, and mean(1/lmax_i) times the mean curvature has no bound: an automatic step
 * from each agent's own curvature would diverge on unlike agents. So the step is common. */
#include "algorithm/algorithm.h"

#include <string.h>

enum { X, G };          /* the coordinator's */
enum { POINT, ANCHOR }; /* held by the agent between the exchanges: x and G_i */

static const fplt_setting settings[] = {FPLT_SETTINGS_END};

static double step(const fplt_facts *facts, const double *parameter)
{
    (void)parameter;
    return fplt__cautious_step(facts);
}

static fplt_status broadcast(const fplt_coordinator *coordinator, const fplt_round *round,
                             unsigned exchange, double *down)
{
    (void)round;
    size_t n = coordinator->dimension;
    memcpy(down, coordinator->vector + (exchange ? G : X) * n, n * sizeof *down);
    return FPLT_OK;
}

static fplt_status send_gradient(fplt_agent *agent, const double *x, double *up, fplt_error *error)
{
    size_t n = agent->dimension;
    double *anchor = agent->held + ANCHOR * n;
    memcpy(agent->held + POINT * n, x, n * sizeof *x);
    fplt_status status = fplt__agent_gradient(agent, 0, x, anchor, error);
    memcpy(up, anchor, n * sizeof *up);
    return status;
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *down, double *up, fplt_error *error)
{
    if (exchange == 0)
        return send_gradient(agent, down, up, error);
    size_t n = agent->dimension;
    const double *anchor = agent->held + ANCHOR * n;
    double *correction = agent->work;
    for (size_t j = 0; j < n; j++)
        correction[j] = down[j] - anchor[j];
    memcpy(up, agent->held + POINT * n, n * sizeof *up);
    return fplt_agent_minimise(agent, round, correction, NULL, 0, up, error);
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    size_t n = coordinator->dimension;
    fplt__mean(sum, round->active, coordinator->vector + (exchange ? X : G) * n, n);
}

const fplt_algorithm fplt__fedlin = {
    .size = sizeof(fplt_algorithm),
    .name = "fedlin",
    .title = "FedLin",
    .reference =
        "Mitra, Jaafar, Pappas, Hassani: Linear Convergence in Federated Learning: Tackling "
        "Client Heterogeneity and Sparse Gradients (2021)",
    .shape = {.held = 2,
              .work = 1,
              .vectors = 2,
              .exchanges = 2,
              .exchange = {{.down = 1, .up = 1}, {.down = 1, .up = 1}},
              .local_model = -1},
    .allows = FPLT_ALLOWS_ACCELERATED | FPLT_ALLOWS_ANY_START,
    .no_minimiser =
        "its local cost f_i(w) + <g - G_i, w> is meant to be followed for a few gradient "
        "steps, and to minimise it diverges on unlike agents (the accelerated solvers "
        "are taken, as an experiment)",
    .no_partial =
        "it corrects with the mean gradient of all agents at the model of this very round",
    .no_privacy = "it sends the bare gradient of the agent's cost, before any noise is added",
    .paper.agent = 2,
    .paper.coordinator = 1,
    .paper.epochs = ">= 1",
    .paper.problems = "non-convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "1/(lmax Ne), which is safe; on like agents up to 0.8/lmax is faster",
    .step = step,
    .begin_coordinator = fplt__begin_model,
    .broadcast = broadcast,
    .local = local,
    .absorb = absorb,
    .model = fplt__first_vector,
};
