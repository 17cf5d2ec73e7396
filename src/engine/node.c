/* One agent, driven by hand. */
#include "fedplt/steps.h"

#include <string.h>

#include "base/memory.h"
#include "engine/hub.h"
#include "engine/member.h"

struct fplt_node {
    fplt_plan plan;
    fplt_shape shape;
    fplt_node_settings settings; /* objective and noise borrowed */
    double step;
    double *kept, *staged, *held, *work, *up, *scratch, *state; /* owned */
    fplt_sum *sum;
    double gradients;
};

static fplt_status allocate(fplt_node *node, fplt_error *error)
{
    size_t n = node->plan.dimension, most = 0;
    for (unsigned e = 0; e < node->shape.exchanges; e++) {
        size_t size = fplt_plan_up(&node->plan, e);
        most = size > most ? size : most;
    }
    const fplt_objective *objective = node->settings.objective;
    const fplt_training *training = &node->settings.training;
    const struct {
        double **where;
        size_t count;
    } wanted[] = {
        {&node->kept, node->shape.kept * n},
        {&node->staged, node->shape.kept * n},
        {&node->held, node->shape.held * n},
        {&node->work, node->shape.work * n},
        {&node->up, most},
        {&node->scratch, fplt_local_scratch(objective, training)},
        {&node->state, fplt_solver_state(objective, training)},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        fplt_status status =
            fplt__alloc_into(wanted[i].where, wanted[i].count, sizeof(double), "an agent", error);
        if (status)
            return status;
    }
    return fplt_sum_create(most, FPLT_SUM_EXPONENT, &node->sum, error);
}

/* The agent as the algorithm sees it; `local` must outlive it. */
static fplt_agent view_of(fplt_node *node, fplt_local *local, uint64_t round)
{
    const fplt_node_settings *settings = &node->settings;
    *local = (fplt_local){
        .problem = {.objective = settings->objective, .agent = settings->cost},
        .training = settings->training,
        .step = node->step,
        .curvature = settings->curvature,
        .seed = node->plan.seed,
        .round = round,
        .run = node->plan.run,
        .identity = settings->identity,
        .noise = settings->noise,
        .scratch = node->scratch,
        .state = fplt_solver_state(settings->objective, &settings->training) ? node->state : NULL,
    };
    return (fplt_agent){
        .identity = settings->identity,
        .dimension = node->plan.dimension,
        .parameter = node->plan.parameter,
        .kept = node->kept,
        .staged = node->staged,
        .held = node->held,
        .work = node->work,
        .local = local,
    };
}

static fplt_status begin(fplt_node *node, fplt_error *error)
{
    size_t n = node->plan.dimension;
    double *zero;
    fplt_status status = fplt__alloc_into(&zero, n, sizeof *zero, "an agent", error);
    if (status)
        return status;
    fplt_local local;
    fplt_agent agent = view_of(node, &local, 0);
    fplt__member_begin(&node->plan, &node->shape, &agent,
                       node->settings.start ? node->settings.start : zero,
                       node->settings.second ? node->settings.second : zero);
    fplt__free(zero);
    fplt_node_accept(node);
    node->settings.start = node->settings.second = NULL;
    return FPLT_OK;
}

fplt_status fplt_node_create(const fplt_plan *plan, const fplt_node_settings *settings,
                             fplt_node **out, fplt_error *error)
{
    *out = NULL;
    if (fplt_objective_dimension(settings->objective) != plan->dimension)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u: its cost has dimension %zu, but the plan says %zu",
                              settings->identity, fplt_objective_dimension(settings->objective),
                              plan->dimension);
    if (settings->cost >= fplt_objective_agents(settings->objective) ||
        settings->identity >= plan->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u of %u with cost %u of %u: numbers begin at 0",
                              settings->identity, plan->agents, settings->cost,
                              fplt_objective_agents(settings->objective));
    if (plan->algorithm->common_step && !(plan->step > 0))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u: %s needs one step size for all agents, but the plan has "
                              "none",
                              settings->identity, plan->algorithm->name);
    fplt_status status = fplt_training_check(&settings->training, settings->objective, error);
    if (status)
        return status;
    fplt_node *node;
    if ((status = fplt__alloc_into(&node, 1, sizeof *node, "an agent", error)))
        return status;
    node->plan = *plan;
    node->settings = *settings;
    node->shape = fplt_algorithm_shape(plan->algorithm, plan->parameter, plan->dimension);
    node->step = fplt__member_step(plan, &settings->training, &settings->curvature,
                                   settings->cohort ? settings->cohort : plan->agents);
    if ((status = allocate(node, error)) || (status = begin(node, error))) {
        fplt_node_destroy(node);
        return status;
    }
    *out = node;
    return FPLT_OK;
}

void fplt_node_destroy(fplt_node *node)
{
    if (!node)
        return;
    fplt__free(node->kept);
    fplt__free(node->staged);
    fplt__free(node->held);
    fplt__free(node->work);
    fplt__free(node->up);
    fplt__free(node->scratch);
    fplt__free(node->state);
    fplt_sum_destroy(node->sum);
    fplt__free(node);
}

fplt_status fplt_node_enrol(fplt_node *node, uint64_t *words)
{
    size_t count = node->shape.mirrored * node->plan.dimension;
    fplt_sum_clear(node->sum);
    fplt_status status = count ? fplt_sum_add(node->sum, 0, node->kept, count) : FPLT_OK;
    fplt_sum_export(node->sum, 0, words, count);
    return status;
}

fplt_status fplt_node_train(fplt_node *node, const fplt_round *round, unsigned exchange,
                            const double *down, uint64_t *words, fplt_error *error)
{
    fplt_local local;
    fplt_agent agent = view_of(node, &local, round->number);
    fplt_sum_clear(node->sum);
    fplt_status status = fplt__member_exchange(&node->plan, &node->shape, &agent, round, exchange,
                                               down, node->up, node->sum, error);
    node->gradients += local.gradients;
    if (!status)
        fplt_sum_export(node->sum, 0, words, fplt_plan_up(&node->plan, exchange));
    return status;
}

void fplt_node_finish(fplt_node *node, const fplt_round *round, const double *down)
{
    fplt_local local;
    fplt_agent agent = view_of(node, &local, round->number);
    if (node->plan.algorithm->finish)
        node->plan.algorithm->finish(&agent, round, down);
}

void fplt_node_accept(fplt_node *node)
{
    memcpy(node->kept, node->staged, node->shape.kept * node->plan.dimension * sizeof(double));
}

const double *fplt_node_kept(const fplt_node *node)
{
    return node->kept;
}

double fplt_node_gradients(const fplt_node *node)
{
    return node->gradients;
}
