/* ProxSkip for federated learning, known as Scaffnew [Mishchenko, Malinovsky, Stich and Richtarik
 * 2022]. All agents take steps w <- w - gamma (grad f_i(w) - h_i); after each step one coin for all
 * falls with probability p, and then they communicate. As rounds:
 *
 *     agent:       from x, R steps of that kind, R geometric with mean 1/p; send w
 *     coordinator: x = mean of w_i
 *     agent:       h_i <- h_i + (p/gamma) (x - w_i), with the new x of the same round
 *
 * Fixed point: h_i = grad f_i, and sum h_i = 0 for ever. Unlike steps gamma_i would break that sum,
 * and with it the limit: so the step is common. */
#include "algorithm/algorithm.h"

#include <math.h>

enum { P };

static const fplt_setting settings[] = {
    {"p", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, 1, NULL,
     "probability that a local step ends the round", 0.2, 5,
     .rule = "1/Ne, so that Ne is the mean length (in theory best: sqrt(lmin/lmax))"},
    FPLT_SETTINGS_END,
};

static void choose(const fplt_facts *facts, double *parameter)
{
    if (isnan(parameter[P]))
        parameter[P] = fplt__epoch_share(facts);
}

static double step(const fplt_facts *facts, const double *parameter)
{
    (void)parameter;
    return 1 / facts->curvature.highest;
}

static uint32_t length(const double *parameter, fplt_stream *shared)
{
    return fplt__random_length(shared, parameter[P]);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    return fplt__train_corrected(agent, round, -1, x, up, error);
}

static void finish(fplt_agent *agent, const fplt_round *round, const double *x)
{
    (void)round;
    double weight = agent->parameter[P] / agent->local->step;
    for (size_t j = 0; j < agent->dimension; j++)
        agent->staged[j] = agent->kept[j] + weight * (x[j] - agent->held[j]);
}

const fplt_algorithm fplt__scaffnew = {
    .size = sizeof(fplt_algorithm),
    .name = "scaffnew",
    .title = "ProxSkip/Scaffnew",
    .reference = "Mishchenko, Malinovsky, Stich, Richtarik: ProxSkip: Yes! Local Gradient Steps "
                 "Provably Lead to Communication Acceleration! Finally! (2022)",
    .shape = {.kept = 1,
              .held = 1,
              .work = 1,
              .vectors = 1,
              .exchanges = 1,
              .exchange = {{.down = 1, .up = 1}},
              .finish_down = 1,
              .local_model = -1},
    .allows = FPLT_ALLOWS_PRIVACY,
    .no_minimiser = "its correction h_i divides by the step size gamma of a plain gradient step",
    .no_partial =
        "the corrections h_i add up to zero only where all agents move together; tamuna is "
        "the same method with partial participation",
    .paper.epochs = "random, with mean 1/p",
    .paper.problems = "strongly convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "1/lmax",
    .choose = choose,
    .step = step,
    .begin_coordinator = fplt__begin_model,
    .length = length,
    .broadcast = fplt__broadcast_model,
    .local = local,
    .absorb = fplt__absorb_mean,
    .finish = finish,
    .model = fplt__first_vector,
};
