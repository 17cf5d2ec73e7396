/* Newton's method on the sum of all costs, for few coordinates with all agents active; with h, the proximal Newton method
 * [Lee, Sun and Saunders 2014].
 *
 *     down:  x + t d
 *     agent: sends the gradient, the lower triangle of the Hessian and the value of f_i there
 *     coordinator: accepts the point or shortens t; x + d = argmin <g, z - x> + (z - x)'H(z - x)/2 + h(z), H and g
 *            the exact sums */
#include "algorithm/descent.h"

static const fplt_setting settings[] = {FPLT_SETTINGS_END};

/* The triangle is as many whole vectors as it fills; the rest travels with the value as scalars. */
static void reshape(const double *parameter, size_t dimension, fplt_shape *shape)
{
    (void)parameter;
    size_t numbers = fplt__triangle(dimension);
    shape->work = (unsigned)dimension;
    shape->scratch = fplt__newton_scratch(dimension);
    shape->exchange[0].up = 1 + (unsigned)(numbers / dimension);
    shape->exchange[0].up_scalars = 1 + (unsigned)(numbers % dimension);
}

static fplt_status check_parameters(const fplt_facts *facts, const double *parameter,
                                    fplt_error *error)
{
    (void)parameter;
    return fplt__check_square(facts, "fed-newton", error);
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    size_t n = agent->dimension;
    double *value = up + n + fplt__triangle(n);
    fplt_status status = fplt__agent_value_gradient(agent, round, x, value, up, error);
    if (status)
        return status;
    status = fplt__agent_list_triangle(agent, round, x, n, *value, error);
    if (status == FPLT_UNSUPPORTED)
        status = fplt__agent_triangle(agent, round, x, agent->work, up + n, error);
    return status;
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)round;
    (void)exchange;
    size_t n = coordinator->dimension;
    if (fplt__descent_arrive(coordinator, sum, sum[n + fplt__triangle(n)]))
        fplt__newton_aim(coordinator, sum + n);
}

const fplt_algorithm fplt__fed_newton = {
    .size = sizeof(fplt_algorithm),
    .name = "fed-newton",
    .title = "Newton at the coordinator",
    .reference = "Newton's method on the exact sum of the agents' gradients and Hessians",
    .shape = {.vectors = FPLT__DESCENT_VECTORS,
              .numbers = FPLT__DESCENT_NUMBERS,
              .exchanges = 1,
              .exchange = {{.down = 1}},
              .local_model = -1},
    .allows = FPLT_TRAINS_NOTHING | FPLT_NEEDS_CERTAINTY | FPLT_ALLOWS_COMPOSITE |
              FPLT_ALLOWS_ANY_START | FPLT_SENDS_HESSIANS | FPLT_SEARCHES_STEP,
    .no_minimiser = FPLT__NO_TRAINING,
    .no_random = FPLT__NO_TRAINING,
    .no_partial = "its step is Newton's for the sum of all costs; use fed-newton-partial",
    .partial_form = &fplt__fed_newton_partial,
    .no_privacy = "it sends the bare gradient and Hessian of the agent's cost; use fed-plt",
    .paper.epochs = "none",
    .paper.problems = "non-convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "not used: the coordinator searches the step",
    .reshape = reshape,
    .check = check_parameters,
    .step = fplt__unused_step,
    .begin_coordinator = fplt__descent_begin,
    .broadcast = fplt__descent_broadcast,
    .local = local,
    .absorb = absorb,
    .model = fplt__descent_model,
    .settled = fplt__descent_settled,
};
