/* LED, local exact diffusion on a star [Alghunaim 2024].
 *
 *     agent:       from x, Ne steps phi <- phi - alpha grad f_i(phi) - beta y_i; send phi
 *     coordinator: x = mean of phi_i
 *     agent:       y_i <- y_i + phi_i - x, with the new x of the same round
 *
 * alpha is the local step. Fixed point: y_i = -(alpha/beta) grad f_i, and sum y_i = 0 for ever. Were
 * the steps alpha_i unlike, sum y_i = 0 would mean sum alpha_i grad f_i = 0, which is another point:
 * so the step is common. */
#include "algorithm/algorithm.h"

#include <math.h>

enum { BETA };

static const fplt_setting settings[] = {
    {"beta", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, HUGE_VAL, NULL,
     "weight of the correction in a local step", 0.5, 2,
     .rule = "1/Ne (often faster, not always: 2/Ne with gamma 0.6/lmax)"},
    FPLT_SETTINGS_END,
};

static void choose(const fplt_facts *facts, double *parameter)
{
    if (isnan(parameter[BETA]))
        parameter[BETA] = fplt__epoch_share(facts);
}

static double step(const fplt_facts *facts, const double *parameter)
{
    (void)parameter;
    return 0.4 / facts->curvature.highest;
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    return fplt__train_corrected(agent, round, agent->parameter[BETA] / agent->local->step, x, up,
                                 error);
}

static void finish(fplt_agent *agent, const fplt_round *round, const double *x)
{
    (void)round;
    for (size_t j = 0; j < agent->dimension; j++)
        agent->staged[j] = agent->kept[j] + (agent->held[j] - x[j]);
}

const fplt_algorithm fplt__led = {
    .size = sizeof(fplt_algorithm),
    .name = "led",
    .title = "LED",
    .reference = "Alghunaim: Local Exact-Diffusion for Decentralized Optimization and Learning "
                 "(2024)",
    .shape = {.kept = 1,
              .held = 1,
              .work = 1,
              .vectors = 1,
              .exchanges = 1,
              .exchange = {{.down = 1, .up = 1}},
              .finish_down = 1,
              .local_model = -1},
    .allows = FPLT_ALLOWS_PRIVACY,
    .no_minimiser = "its correction y_i is in units of the step size of plain gradient steps",
    .no_partial = "the corrections y_i add up to zero only where all agents move together",
    .paper.agent = 2,
    .paper.coordinator = 1,
    .paper.epochs = ">= 1",
    .paper.problems = "non-convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "0.4/lmax",
    .choose = choose,
    .step = step,
    .begin_coordinator = fplt__begin_model,
    .broadcast = fplt__broadcast_model,
    .local = local,
    .absorb = fplt__absorb_mean,
    .finish = finish,
    .model = fplt__first_vector,
};
