/* FedProx [Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith 2020]: FedAvg with a pull towards the
 * common model.
 *
 *     agent:       from x, some epochs on f_i(w) + (mu/2) ||w - x||^2; send w
 *     coordinator: x = mean of w over the cohort
 *
 * The pull shortens the drift of FedAvg but does not remove it. mu = 0 is FedAvg, so the step is
 * common for the same reason. */
#include "algorithm/algorithm.h"

#include <math.h>
#include <string.h>

enum { MU };

static const fplt_setting settings[] = {
    {"mu", FPLT_REAL, 0, "1", 0, HUGE_VAL, NULL,
     "weight of the pull towards the common model; 0 is FedAvg", 0.01, 10},
    FPLT_SETTINGS_END,
};

static double inverse_rho(const fplt_facts *facts, const double *parameter)
{
    (void)facts;
    return parameter[MU];
}

/* FedAvg's step, cut to 1/(lmax + mu) where a strong pull makes the subproblem stiff. */
static double step(const fplt_facts *facts, const double *parameter)
{
    return fmin(fplt__cautious_step(facts), 1 / (facts->curvature.highest + parameter[MU]));
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *w, fplt_error *error)
{
    (void)exchange;
    memcpy(w, x, agent->dimension * sizeof *w);
    return fplt_agent_minimise(agent, round, NULL, x, agent->parameter[MU], w, error);
}

const fplt_algorithm fplt__fedprox = {
    .size = sizeof(fplt_algorithm),
    .name = "fedprox",
    .title = "FedProx",
    .reference = "Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in "
                 "Heterogeneous Networks (2020)",
    .shape = {.vectors = 1, .exchanges = 1, .exchange = {{.down = 1, .up = 1}}, .local_model = -1},
    .allows =
        FPLT_ALLOWS_MINIMISER | FPLT_ALLOWS_PARTIAL | FPLT_ALLOWS_PRIVACY | FPLT_ALLOWS_ANY_START,
    .paper.epochs = ">= 1",
    .paper.problems = "non-convex; biased for more than one epoch",
    .settings = settings,
    .common_step = 1,
    .step_rule = "the smaller of 1/(lmax Ne) and 1/(lmax + mu)",
    .step = step,
    .inverse_rho = inverse_rho,
    .begin_coordinator = fplt__begin_model,
    .broadcast = fplt__broadcast_model,
    .local = local,
    .absorb = fplt__absorb_mean,
    .model = fplt__first_vector,
};
