/* Costs and nodes of the smallest federation: f_i(x) = a_i |x - c_i|^2/2 with a_i = 1 + i and c_ij = i + j. What the
 * simulator and the fuzzer of the machines train on. */
#ifndef FPLT_TESTS_COSTS_H
#define FPLT_TESTS_COSTS_H

#include "fedplt/objective.h"
#include "fedplt/objective_callbacks.h"
#include "tiny.h"

static inline int tiny_value(void *context, uint32_t agent, const double *x, double *out)
{
    (void)context;
    *out = 0;
    for (int j = 0; j < TINY_DIMENSION; j++)
        *out += 0.5 * (1 + agent) * (x[j] - agent - j) * (x[j] - agent - j);
    return 0;
}

static inline int tiny_gradient(void *context, uint32_t agent, const double *x, double *out)
{
    (void)context;
    for (int j = 0; j < TINY_DIMENSION; j++)
        out[j] = (1 + agent) * (x[j] - agent - j);
    return 0;
}

static inline int tiny_hessian_times(void *context, uint32_t agent, const double *x,
                                     const double *v, double *out)
{
    (void)context, (void)x;
    for (int j = 0; j < TINY_DIMENSION; j++)
        out[j] = (1 + agent) * v[j];
    return 0;
}

static inline void tiny_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context;
    *lowest = *highest = 1 + agent;
}

static inline fplt_objective *tiny_objective(void)
{
    fplt_error error;
    fplt_objective *objective;
    fplt_objective_callbacks costs = {.size = sizeof(fplt_objective_callbacks),
                                      .dimension = TINY_DIMENSION,
                                      .agents = TINY_AGENTS,
                                      .value = tiny_value,
                                      .gradient = tiny_gradient,
                                      .hessian_times = tiny_hessian_times,
                                      .curvature = tiny_curvature};
    if (fplt_objective_create_callback(&costs, &objective, &error)) {
        fprintf(stderr, "the costs: %s\n", error.text);
        exit(2);
    }
    return objective;
}

/* The node of agent i; `start` NULL: at zero; `noise` NULL: without privacy. */
static inline fplt_node *tiny_node(const fplt_plan *plan, fplt_objective *objective, uint32_t i,
                                   const double *start, fplt_noise_source *noise)
{
    fplt_error error;
    fplt_node *node;
    fplt_node_settings own = {.objective = objective,
                              .cost = i,
                              .member_index = i,
                              .training = fplt_training_defaults(),
                              .curvature = {1 + i, 1 + i},
                              .start = start,
                              .second = start};
    own.training.epochs = 2;
    if (noise) {
        own.training.solver = fplt_solver_find("noisy");
        own.training.noise_tau = 0.1;
        own.noise = noise;
        own.cap = TINY_CAP;
    }
    if (fplt_node_create(plan, &own, &node, &error)) {
        fprintf(stderr, "a node: %s\n", error.text);
        exit(2);
    }
    return node;
}

#endif
