/* 5GCS [Grudzien, Malinovsky and Richtarik 2023], with the dual in the agents' scaling (u_i is N times
 * the published one) and mu the strong convexity split off from every f_i.
 *
 *     coordinator: xhat = (x - gamma v)/(1 + gamma mu), v = mean of u_i over all agents
 *     agent:       from xhat, some epochs on f_i(w) - (mu/2) ||w||^2 + (tau/2) ||w - xhat||^2 - <u_i, w>;
 *                  u_i <- grad f_i(w) - mu w, one more gradient
 *     coordinator: x = xhat - gamma (N/c) (change of v), c the size of the cohort
 *
 * The local cost is d(w) with linear = -u_i - tau xhat and the weight tau - mu on ||w||^2/2, which may
 * be negative. u_i is mirrored. The coordinator keeps xhat and v; x is only on the way between two
 * xhat. Fixed point: u_i = grad f_i - mu x. It does not depend on the step, so each agent takes its
 * own. */
#include "algorithm/algorithm.h"

#include <math.h>
#include <string.h>

enum { GAMMA, TAU, MU };
enum { XHAT, V };

static const fplt_setting settings[] = {
    {"coordinator-step", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "the coordinator's gamma", 0.5, 8,
     .rule = "1/(2 penalty): (3/16) sqrt(c/(lmin lmax N)) or less, c the expected cohort"},
    {"penalty", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "tau of the local cost", 0.1, 2,
     .rule = "(8/3) sqrt(lmin lmax N/c), at least (lmax - strong-convexity) (3^(1/Ne) - 1)"},
    {"strong-convexity", FPLT_REAL, FPLT_AUTO, "auto", 0, HUGE_VAL, NULL,
     "mu, split off from every f_i", 0, 0, .rule = "lmin, or 0 where that is negative"},
    FPLT_SETTINGS_END,
};

/* The publication's choice is for local training to some accuracy. Ne gradient steps come a third as near
 * to the minimiser of the local cost or nearer where (1 - tau/(lmax - mu + tau))^Ne <= 1/3: a smaller
 * penalty makes the method diverge or stall, above all where lmin is 0, as with an intercept. */
static double least_penalty(const fplt_facts *facts, double mu)
{
    double above = fmax(facts->curvature.highest - mu, 0);
    return facts->epochs ? above * (pow(3, 1.0 / facts->epochs) - 1) : 0;
}

static void choose(const fplt_facts *facts, double *parameter)
{
    double share = (double)facts->cohort / facts->agents;
    double root = 1 / fplt__balanced_rho(&facts->curvature); /* sqrt(lmin lmax) */
    if (isnan(parameter[MU]))
        parameter[MU] = fmax(facts->curvature.lowest, 0);
    double tau = fmax(8.0 / 3 * root / sqrt(share), least_penalty(facts, parameter[MU]));
    if (isnan(parameter[TAU]))
        parameter[TAU] = tau;
    if (isnan(parameter[GAMMA]))
        parameter[GAMMA] = fmin(3.0 / 16 * sqrt(share) / root, 1 / (2 * tau));
}

static double inverse_rho(const fplt_facts *facts, const double *parameter)
{
    (void)facts;
    return parameter[TAU] - parameter[MU];
}

static fplt_status check_parameters(const fplt_facts *facts, const double *parameter,
                                    fplt_error *error)
{
    double least = facts->curvature.lowest + inverse_rho(facts, parameter);
    if (!(least > 0))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "5gcs: lmin + penalty - strong-convexity is %g, but it must be above "
            "0 for the local cost to have a minimiser: raise penalty (%g) or lower "
            "strong-convexity (%g)",
            least, parameter[TAU], parameter[MU]);
    return FPLT_OK;
}

static double step(const fplt_facts *facts, const double *parameter)
{
    return 1 / (facts->curvature.highest + inverse_rho(facts, parameter));
}

/* xhat from x, in place. */
static void shrink(fplt_coordinator *coordinator, double *x, const double *v)
{
    double gamma = coordinator->parameter[GAMMA], mu = coordinator->parameter[MU];
    for (size_t j = 0; j < coordinator->dimension; j++)
        x[j] = (x[j] - gamma * v[j]) / (1 + gamma * mu);
}

static void begin_coordinator(fplt_coordinator *coordinator, const double *start)
{
    size_t n = coordinator->dimension;
    double *xhat = coordinator->vector + XHAT * n, *v = coordinator->vector + V * n;
    memcpy(xhat, start, n * sizeof *xhat);
    memset(v, 0, n * sizeof *v);
    shrink(coordinator, xhat, v);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *xhat, double *up, fplt_error *error)
{
    (void)exchange;
    (void)up;
    size_t n = agent->dimension;
    double tau = agent->parameter[TAU], mu = agent->parameter[MU];
    double *linear = agent->work, *w = linear + n;
    for (size_t j = 0; j < n; j++) {
        linear[j] = -agent->kept[j] - tau * xhat[j];
        w[j] = xhat[j];
    }
    fplt_status status = fplt_agent_minimise(agent, round, linear, NULL, tau - mu, w, error);
    if (status)
        return status;
    status = fplt__agent_gradient(agent, -mu, w, agent->staged, error);
    fplt_grid_round(agent->staged, n);
    return status;
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)exchange;
    (void)sum;
    size_t n = coordinator->dimension;
    double *x = coordinator->vector + XHAT * n, *v = coordinator->vector + V * n;
    double weight = coordinator->parameter[GAMMA] * coordinator->agents / (double)round->active;
    for (size_t j = 0; j < n; j++) {
        double next = coordinator->total[j] / coordinator->agents;
        x[j] -= weight * (next - v[j]);
        v[j] = next;
    }
    shrink(coordinator, x, v);
}

const fplt_algorithm fplt__5gcs = {
    .size = sizeof(fplt_algorithm),
    .name = "5gcs",
    .title = "5GCS",
    .reference =
        "Grudzien, Malinovsky, Richtarik: Can 5th Generation Local Training Methods Support "
        "Client Sampling? Yes! (2023)",
    .shape = {.kept = 1,
              .mirrored = 1,
              .work = 2,
              .vectors = 2,
              .exchanges = 1,
              .exchange = {{.down = 1}},
              .local_model = -1},
    .allows = FPLT_ALLOWS_MINIMISER | FPLT_ALLOWS_PARTIAL,
    .no_privacy =
        "it sends the bare gradient of the agent's cost at the end of its training, after "
        "the last noise was added",
    .paper.agent = 1,
    .paper.coordinator = 3,
    .paper.epochs = ">= a least Ne",
    .paper.problems = "strongly convex",
    .paper.discount = 1,
    .settings = settings,
    .step_rule = "1/(lmax - strong-convexity + penalty)",
    .choose = choose,
    .check = check_parameters,
    .step = step,
    .inverse_rho = inverse_rho,
    .begin_coordinator = begin_coordinator,
    .broadcast = fplt__broadcast_model,
    .local = local,
    .absorb = absorb,
    .model = fplt__first_vector,
};
