/* SCAFFOLD [Karimireddy, Kale, Mohri, Reddi, Stich and Suresh 2020].
 *
 *     agent:       from x, K steps w <- w - gamma (grad f_i(w) - c_i + c);
 *                  option I:  c_i = grad f_i(x), one more gradient
 *                  option II: c_i <- c_i - c + (x - w)/(K gamma), the mean gradient on the way
 *                  send w - x; c_i is mirrored
 *     coordinator: x <- x + eta mean of (w - x) over the cohort; c = mean of c_i over all agents
 *
 * The fixed point c_i = grad f_i does not depend on the steps. But c moves x by mean(gamma_i) c a
 * step, and mean(1/lmax_i) times the mean curvature has no bound: an automatic step from each agent's
 * own curvature would diverge on unlike agents. So the step is common. */
#include "algorithm/algorithm.h"

#include <math.h>
#include <string.h>

enum { OPTION, COORDINATOR_STEP };
enum { OPTION_I, OPTION_II };

static const fplt_setting settings[] = {
    {"option", FPLT_CHOICE, 0, "II", 0, 0, "I|II",
     "how c_i is renewed: I by a gradient at the common model, II by the way the agent went", 0, 0},
    {"coordinator-step", FPLT_REAL, FPLT_ABOVE, "1", 0, HUGE_VAL, NULL,
     "how far the model moves towards the mean of the cohort", 0, 0},
    FPLT_SETTINGS_END,
};

static double step(const fplt_facts *facts, const double *parameter)
{
    (void)parameter;
    return fplt__cautious_step(facts);
}

static fplt_status check_parameters(const fplt_facts *facts, const double *parameter,
                                    fplt_error *error)
{
    if (facts->claim && parameter[OPTION] == OPTION_I)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "scaffold with option I cannot carry a privacy claim: it sends the "
                              "bare gradient of the agent's cost; use option II");
    return FPLT_OK;
}

static fplt_status broadcast(const fplt_coordinator *coordinator, const fplt_round *round,
                             unsigned exchange, double *down)
{
    (void)round;
    (void)exchange;
    size_t n = coordinator->dimension;
    fplt__mean(coordinator->total, coordinator->agents, down + n, n);
    return fplt__first_vector(coordinator, down);
}

/* Gradient steps of a round: epochs, or minibatches where an epoch is a pass over the records. */
static double steps_of(const fplt_local *local)
{
    const fplt_training *training = &local->training;
    if (!(training->solver->traits & FPLT_STOCHASTIC) || !training->by_pass)
        return training->epochs;
    size_t records = fplt_objective_records(local->problem.objective, local->problem.agent);
    return training->epochs * ceil((double)records / training->batch);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *down, double *up, fplt_error *error)
{
    (void)exchange;
    size_t n = agent->dimension;
    const double *x = down, *c = down + n, *own = agent->kept;
    double *w = up, *correction = agent->work;
    int first = agent->parameter[OPTION] == OPTION_I;
    fplt_status status = first ? fplt__agent_gradient(agent, 0, x, agent->staged, error) : FPLT_OK;
    for (size_t j = 0; j < n; j++) {
        correction[j] = c[j] - own[j];
        w[j] = x[j];
    }
    if (!status)
        status = fplt_agent_minimise(agent, round, correction, NULL, 0, w, error);
    if (status)
        return status;
    double way = steps_of(agent->local) * agent->local->step;
    for (size_t j = 0; j < n; j++) {
        if (!first)
            agent->staged[j] = own[j] - c[j] + (x[j] - w[j]) / way;
        up[j] = w[j] - x[j];
    }
    fplt_grid_round(agent->staged, n);
    return FPLT_OK;
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)exchange;
    double weight = coordinator->parameter[COORDINATOR_STEP] / round->active;
    for (size_t j = 0; j < coordinator->dimension; j++)
        coordinator->vector[j] += weight * sum[j];
}

const fplt_algorithm fplt__scaffold = {
    .size = sizeof(fplt_algorithm),
    .name = "scaffold",
    .title = "SCAFFOLD",
    .reference = "Karimireddy, Kale, Mohri, Reddi, Stich, Suresh: SCAFFOLD: Stochastic Controlled "
                 "Averaging for Federated Learning (2020)",
    .shape = {.kept = 1,
              .mirrored = 1,
              .work = 1,
              .vectors = 1,
              .exchanges = 1,
              .exchange = {{.down = 2, .up = 1}},
              .local_model = -1},
    .allows = FPLT_ALLOWS_PARTIAL | FPLT_ALLOWS_PRIVACY | FPLT_ALLOWS_ANY_START,
    .no_minimiser =
        "its control variate c_i divides by the step size gamma of a plain gradient step",
    .paper.epochs = ">= 1",
    .paper.problems = "non-convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "1/(lmax Ne)",
    .check = check_parameters,
    .step = step,
    .begin_coordinator = fplt__begin_model,
    .broadcast = broadcast,
    .local = local,
    .absorb = absorb,
    .model = fplt__first_vector,
};
