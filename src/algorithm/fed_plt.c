/* Fed-PLT [Bastianello, Liu and Johansson, "Enhancing Privacy in Federated Learning through Local
 * Training", Algorithm 1]: Peaceman-Rachford splitting with local training.
 *
 *     coordinator: y = prox_{rho h/N}(mean of z_i over all agents)
 *     agent:       v = 2 y - z_i; from x_i, some epochs on f_i(w) + ||w - v||^2/(2 rho); x_i = w;
 *                  z_i <- z_i + 2 (x_i - y)
 *
 * Starting the local training at the agent's own x_i is what makes the method exact. z_i is mirrored:
 * the coordinator holds the running sum of all z_i, those of inactive agents included. */
#include "algorithm/algorithm.h"

#include <math.h>
#include <string.h>

#include "solver/solver.h"

enum { RHO };
enum { Z, X };

static const fplt_setting settings[] = {
    {"rho", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "penalty of Peaceman-Rachford splitting", 0.1, 10, .rule = "1/sqrt(lmin lmax)"},
    FPLT_SETTINGS_END,
};

static void begin_agent(fplt_agent *agent, const double *start, const double *second)
{
    size_t n = agent->dimension;
    memcpy(agent->staged + X * n, start, n * sizeof *start);
    memcpy(agent->staged + Z * n, second, n * sizeof *second);
    fplt_grid_round(agent->staged + Z * n, n);
}

static fplt_status model(const fplt_coordinator *coordinator, double *x)
{
    fplt__mean(coordinator->total, coordinator->agents, x, coordinator->dimension);
    return fplt_prox_apply(coordinator->prox, coordinator->parameter[RHO] / coordinator->agents, x,
                           x);
}

static fplt_status broadcast(const fplt_coordinator *coordinator, const fplt_round *round,
                             unsigned exchange, double *down)
{
    (void)round;
    (void)exchange;
    return model(coordinator, down);
}

static double *prepare(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                       const double *y)
{
    (void)exchange;
    size_t n = agent->dimension;
    const double *z = agent->kept + Z * n;
    double *v = agent->work, *x = agent->staged + X * n;
    for (size_t j = 0; j < n; j++)
        v[j] = 2 * y[j] - z[j];
    memcpy(x, agent->kept + X * n, n * sizeof *x);
    fplt__agent_pose(agent, round, NULL, v, 1 / agent->parameter[RHO]);
    return x;
}

static void conclude(fplt_agent *agent, const fplt_round *round, unsigned exchange, const double *y,
                     double *up)
{
    (void)round;
    (void)exchange;
    (void)up;
    size_t n = agent->dimension;
    const double *z = agent->kept + Z * n, *x = agent->staged + X * n;
    double *z_next = agent->staged + Z * n;
    for (size_t j = 0; j < n; j++)
        z_next[j] = z[j] + 2 * (x[j] - y[j]);
    fplt_grid_round(z_next, n);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *y, double *up, fplt_error *error)
{
    double *x = prepare(agent, round, exchange, y);
    fplt_status status = fplt__local_run(agent->local, x, error);
    if (!status)
        conclude(agent, round, exchange, y, up);
    return status;
}

const fplt_algorithm fplt__fed_plt = {
    .size = sizeof(fplt_algorithm),
    .name = "fed-plt",
    .title = "Fed-PLT",
    .reference = "Bastianello, Liu, Johansson: Enhancing Privacy in Federated Learning through "
                 "Local Training",
    .shape = {.kept = 2,
              .mirrored = 1,
              .work = 1,
              .exchanges = 1,
              .exchange = {{.down = 1}},
              .local_model = X},
    .allows = FPLT_ALLOWS_MINIMISER | FPLT_ALLOWS_PARTIAL | FPLT_ALLOWS_COMPOSITE |
              FPLT_ALLOWS_PRIVACY | FPLT_ALLOWS_ANY_START,
    .paper.agent = 2,
    .paper.coordinator = 1,
    .paper.epochs = ">= 1",
    .paper.problems = "strongly convex, composite",
    .splits = 1,
    .settings = settings,
    .choose = fplt__choose_rho,
    .step_rule = "2/(lmin + lmax + 2/rho)",
    .step = fplt__rho_step,
    .inverse_rho = fplt__rho_inverse,
    .begin = begin_agent,
    .broadcast = broadcast,
    .local = local,
    .prepare = prepare,
    .conclude = conclude,
    .model = model,
};
