/* The smallest federation there is, without costs: what the simulator and the fuzzer of requests leader. */
#ifndef FPLT_TESTS_TINY_H
#define FPLT_TESTS_TINY_H

#include <stdio.h>
#include <stdlib.h>

#include "algorithm/local_step.h"
#include "base/memory.h"
#include "engine/hub_node.h"
#include "protocol/leader.h"

#ifndef TINY_MEMBERS
#define TINY_MEMBERS 3 /* of the simulator of quorums more */
#endif

enum { TINY_AGENTS = TINY_MEMBERS, TINY_DIMENSION = 2, TINY_ROUNDS = 6, TINY_CAP = TINY_ROUNDS };

static const char tiny_proposal[] = "proposal", tiny_document[] = "plan";

static inline void *tiny_room(size_t size)
{
    void *at;
    fplt_error error;
    if (fplt__alloc_into(&at, 1, size, "a plan", &error))
        exit(2);
    return at;
}

static inline fplt_plan tiny_plan(const char *algorithm)
{
    fplt_error error;
    fplt_plan plan = {.algorithm = fplt_algorithm_find(algorithm),
                      .agents = TINY_AGENTS,
                      .dimension = TINY_DIMENSION,
                      .seed = 5};
    fplt_facts facts = {.curvature = {1, TINY_AGENTS},
                        .agents = TINY_AGENTS,
                        .cohort = TINY_AGENTS,
                        .epochs = 2,
                        .dimension = TINY_DIMENSION};
    fplt_algorithm_defaults(plan.algorithm, plan.parameter);
    if (fplt__algorithm_resolve(plan.algorithm, &facts, plan.parameter, &error)) {
        fprintf(stderr, "a plan: %s\n", error.text);
        exit(2);
    }
    if (plan.algorithm->common_step)
        plan.step = plan.algorithm->step(&facts, plan.parameter) / 2;
    return plan;
}

static inline fplt__agreement *tiny_agreement(const fplt_plan *plan, int private)
{
    fplt__agreement *a = tiny_room(sizeof *a);
    a->proposal.members = TINY_AGENTS;
    a->plan = *plan;
    a->records = tiny_room(TINY_AGENTS * sizeof *a->records);
    a->curvature = (fplt_curvature){1, TINY_AGENTS};
    a->rounds = TINY_ROUNDS;
    a->evaluate_every = 2;
    a->criterion_at_mean = 1;
    a->private = private;
    if (private) {
        a->cap = TINY_CAP;
        a->tau = tiny_room(TINY_AGENTS * sizeof *a->tau);
        a->rate = tiny_room(TINY_AGENTS * sizeof *a->rate);
        for (int i = 0; i < TINY_AGENTS; i++)
            a->rate[i] = 1;
    }
    return a;
}

/* `start` NULL: zero; elsewhere the criterion there is asked for too. */
static inline fplt__leader_plan tiny_lead_plan(const fplt_plan *plan, const char *rule, int private,
                                               const double *start)
{
    fplt_error error;
    fplt__leader_plan made = {.agreement = tiny_agreement(plan, private), .start = start};
    fplt_participation_settings some = {.rule = rule, .probability = 0.6};
    made.agreement->relative = start != NULL;
    if (fplt_hub_create(plan, NULL, start, &made.hub, &error) ||
        fplt__hub_enrol_all(made.hub, start, &error) ||
        fplt_participation_create(&some, TINY_AGENTS, &made.participation, &error)) {
        fprintf(stderr, "a plan: %s\n", error.text);
        exit(2);
    }
    return made;
}

#endif
