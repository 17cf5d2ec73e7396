/* FedSplit [Pathak and Wainwright 2020]: Peaceman-Rachford splitting with an approximate proximal
 * step that starts afresh in every round.
 *
 *     coordinator: x = mean of z_i
 *     agent:       v = 2 x - z_i; from v, some epochs on f_i(w) + ||w - v||^2/(2 rho);
 *                  z_i <- z_i + 2 (w - x)
 *
 * With an exact proximal step this is Fed-PLT for h = 0; with a few epochs from v it has a bias, which
 * Fed-PLT's start at the agent's own x_i removes. z_i is mirrored. Each agent's step serves only its
 * own proximal step, so each takes its own. */
#include "algorithm/algorithm.h"

#include <math.h>
#include <string.h>

enum { RHO };

static const fplt_setting settings[] = {
    {"rho", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "penalty of Peaceman-Rachford splitting", 0.1, 10, .rule = "1/sqrt(lmin lmax)"},
    FPLT_SETTINGS_END,
};

static void begin_agent(fplt_agent *agent, const double *start, const double *second)
{
    (void)start;
    memcpy(agent->staged, second, agent->dimension * sizeof *second);
    fplt_grid_round(agent->staged, agent->dimension);
}

static fplt_status model(const fplt_coordinator *coordinator, double *x)
{
    fplt__mean(coordinator->total, coordinator->agents, x, coordinator->dimension);
    return FPLT_OK;
}

static fplt_status broadcast(const fplt_coordinator *coordinator, const fplt_round *round,
                             unsigned exchange, double *down)
{
    (void)round;
    (void)exchange;
    return model(coordinator, down);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    (void)up;
    size_t n = agent->dimension;
    const double *z = agent->kept;
    double *v = agent->work, *w = agent->staged;
    for (size_t j = 0; j < n; j++)
        v[j] = w[j] = 2 * x[j] - z[j];
    fplt_status status =
        fplt_agent_minimise(agent, round, NULL, v, 1 / agent->parameter[RHO], w, error);
    if (status)
        return status;
    for (size_t j = 0; j < n; j++)
        agent->staged[j] = z[j] + 2 * (w[j] - x[j]);
    fplt_grid_round(agent->staged, n);
    return FPLT_OK;
}

const fplt_algorithm fplt__fedsplit = {
    .size = sizeof(fplt_algorithm),
    .name = "fedsplit",
    .title = "FedSplit",
    .reference = "Pathak, Wainwright: FedSplit: An algorithmic framework for fast federated "
                 "optimization (2020)",
    .shape = {.kept = 1,
              .mirrored = 1,
              .work = 1,
              .exchanges = 1,
              .exchange = {{.down = 1}},
              .local_model = -1},
    .allows = FPLT_ALLOWS_MINIMISER | FPLT_ALLOWS_PRIVACY | FPLT_ALLOWS_ANY_START,
    .no_partial =
        "it was stated and analysed with all agents active; fed-plt is the same splitting "
        "with partial participation",
    .paper.epochs = ">= 1",
    .paper.problems = "strongly convex; biased but for an exact proximal step",
    .settings = settings,
    .step_rule = "2/(lmin + lmax + 2/rho)",
    .choose = fplt__choose_rho,
    .step = fplt__rho_step,
    .inverse_rho = fplt__rho_inverse,
    .begin = begin_agent,
    .broadcast = broadcast,
    .local = local,
    .model = model,
};
