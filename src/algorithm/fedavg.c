/* FedAvg [McMahan, Moore, Ramage, Hampson and Aguera y Arcas 2017]: local training from the common
 * model, then the mean.
 *
 *     agent:       from x, some epochs on f_i; send w
 *     coordinator: x = mean of w over the cohort
 *
 * Weights are uniform because the objective is the sum of f_i. With more than one epoch and unlike
 * f_i the limit is not the minimiser: that drift is what the other methods remove. One step must
 * serve all agents, or those with a longer one would weigh more and even a single epoch would not be
 * gradient descent on the sum. */
#include "algorithm/algorithm.h"

#include <string.h>

static const fplt_setting settings[] = {FPLT_SETTINGS_END};

static double step(const fplt_facts *facts, const double *parameter)
{
    (void)parameter;
    return fplt__cautious_step(facts);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *w, fplt_error *error)
{
    (void)exchange;
    memcpy(w, x, agent->dimension * sizeof *w);
    return fplt_agent_minimise(agent, round, NULL, NULL, 0, w, error);
}

const fplt_algorithm fplt__fedavg = {
    .size = sizeof(fplt_algorithm),
    .name = "fedavg",
    .title = "FedAvg",
    .reference =
        "McMahan, Moore, Ramage, Hampson, Aguera y Arcas: Communication-Efficient Learning "
        "of Deep Networks from Decentralized Data (2017)",
    .shape = {.vectors = 1, .exchanges = 1, .exchange = {{.down = 1, .up = 1}}, .local_model = -1},
    .allows =
        FPLT_ALLOWS_MINIMISER | FPLT_ALLOWS_PARTIAL | FPLT_ALLOWS_PRIVACY | FPLT_ALLOWS_ANY_START,
    .paper.epochs = ">= 1",
    .paper.problems = "non-convex; biased for more than one epoch",
    .settings = settings,
    .common_step = 1,
    .step_rule = "1/(lmax Ne)",
    .step = step,
    .begin_coordinator = fplt__begin_model,
    .broadcast = fplt__broadcast_model,
    .local = local,
    .absorb = fplt__absorb_mean,
    .model = fplt__first_vector,
};
