/* FedPD [Zhang, Hong, Dhople, Yin and Liu 2021], with communication in every round.
 *
 *     agent:       from x_i, some epochs on f_i(w) + <lambda_i, w> + ||w - x0||^2/(2 eta); x_i = w;
 *                  lambda_i <- lambda_i + (x_i - x0)/eta; send x_i + eta lambda_i
 *     coordinator: x0 = mean of what was sent
 *
 * Fixed point: lambda_i = -grad f_i. It does not depend on the step, so each agent takes its own. */
#include "algorithm/algorithm.h"

#include <math.h>
#include <string.h>

enum { ETA };
enum { X, LAMBDA };

static const fplt_setting settings[] = {
    {"eta", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "inverse weight of the augmented Lagrangian", 0.1, 10, .rule = "1/sqrt(lmin lmax)"},
    FPLT_SETTINGS_END,
};

static void begin_agent(fplt_agent *agent, const double *start, const double *second)
{
    (void)second;
    memcpy(agent->staged + X * agent->dimension, start, agent->dimension * sizeof *start);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x0, double *up, fplt_error *error)
{
    (void)exchange;
    size_t n = agent->dimension;
    double eta = agent->parameter[ETA];
    const double *lambda = agent->kept + LAMBDA * n;
    double *x = agent->staged + X * n, *next = agent->staged + LAMBDA * n;
    memcpy(x, agent->kept + X * n, n * sizeof *x);
    fplt_status status = fplt_agent_minimise(agent, round, lambda, x0, 1 / eta, x, error);
    if (status)
        return status;
    for (size_t j = 0; j < n; j++) {
        next[j] = lambda[j] + (x[j] - x0[j]) / eta;
        up[j] = x[j] + eta * next[j];
    }
    return FPLT_OK;
}

const fplt_algorithm fplt__fedpd = {
    .size = sizeof(fplt_algorithm),
    .name = "fedpd",
    .title = "FedPD",
    .reference = "Zhang, Hong, Dhople, Yin, Liu: FedPD: A Federated Learning Framework with "
                 "Adaptivity to Non-IID Data (2021)",
    .shape = {.kept = 2,
              .vectors = 1,
              .exchanges = 1,
              .exchange = {{.down = 1, .up = 1}},
              .local_model = X},
    .allows = FPLT_ALLOWS_MINIMISER | FPLT_ALLOWS_PRIVACY | FPLT_ALLOWS_ANY_START,
    .no_partial = "its model is the mean over all of x_i + eta lambda_i, of which the coordinator "
                  "keeps no copy",
    .paper.agent = 2,
    .paper.coordinator = 1,
    .paper.epochs = ">= a least Ne",
    .paper.problems = "non-convex",
    .settings = settings,
    .step_rule = "2/(lmin + lmax + 2/eta)",
    .choose = fplt__choose_rho,
    .step = fplt__rho_step,
    .inverse_rho = fplt__rho_inverse,
    .begin = begin_agent,
    .begin_coordinator = fplt__begin_model,
    .broadcast = fplt__broadcast_model,
    .local = local,
    .absorb = fplt__absorb_mean,
    .model = fplt__first_vector,
};
