/* A federation driven by hand, over any transport: a hub (the coordinator) and nodes (the agents).
 * A round is
 *
 *     hub:  fplt_hub_plan; for each exchange: fplt_hub_broadcast
 *     node: fplt_node_train -> words
 *     hub:  fplt_hub_receive(words) for each, then fplt_hub_absorb
 *     hub:  fplt_hub_broadcast of the finish, where there is one; node: fplt_node_finish
 *     node: fplt_node_accept, once its update counts
 *
 * A node sends 128-bit integers of the exact sum: the hub may add them in any order, or receive only their sum. All of
 * this as bytes: fedplt/encoding.h. Every agent enrols before the first round. The caller chooses the cohort of each round.
 *
 * Threads and blocking: one thread at a time may use a hub or a node; different ones may run in different threads.
 * fplt_node_train computes, nothing else takes long, nothing does I/O, and only _create allocates. */
#ifndef FEDPLT_HUB_NODE_H
#define FEDPLT_HUB_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/objective.h"
#include "fedplt/prox.h"
#include "fedplt/round.h"
#include "fedplt/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_participation fplt_participation; /* active agents: fedplt/participation.h */
typedef struct fplt_noise_source fplt_noise_source;   /* fedplt/solver.h, noise.h */

/* What all sides agree on before the first round. */
typedef struct fplt_plan {
    const fplt_algorithm *algorithm;
    double parameter[FPLT_MAX_PARAMETERS]; /* resolved */
    uint32_t agents;                       /* the roster */
    size_t dimension;
    uint64_t seed; /* of the common randomness */
    uint32_t run;
    double step; /* the local step of all, where fplt_algorithm_shares_step; otherwise 0 */
    double unit; /* grid that the numbers sent up are rounded to; 0: 2^-64. Above 0 a number has at
                    most 2^53 units, and the algorithm must mirror no vector and send no scalar */
} fplt_plan;

/* The number of active agents that a round is expected to have: the sum of the agents' participation rates, rounded to the
 * nearest integer, at least 1. Without a rule all agents are active. Takes time proportional to their number. */
FPLT_API uint32_t fplt_expected_cohort(const fplt_participation *participation);

/**
 * Makes a plan from facts: fills automatic parameters and finds the step that all agents share. Equal arguments give equal
 * bits on every side.
 *
 * @param algorithm  borrowed: the plan refers to it
 * @param parameter  fplt_algorithm_parameters(algorithm) numbers, NaN where automatic; NULL: defaults; may be plan->parameter
 * @param training   `solver` decides whether agents share a step; `step` is gamma, 0 for automatic; `epochs` 1 or more. If
 *                   agents train differently: one whose solver shares the step (fplt_algorithm_shares_step)
 * @param facts      `epochs` 0: training->epochs
 * @param plan       in: `seed`, `run` and `unit` (begin with zeros); out: everything else. Holds no memory; unchanged on failure
 * @retval FPLT_BAD_VALUE    a fact, the step or a parameter out of range, no solver, an automatic parameter that has no value
 *                           for this curvature, or a table of another version of this library
 * @retval FPLT_UNSUPPORTED  parameters that the algorithm cannot combine
 *
 * Does not ask whether the algorithm takes the solver (fplt_algorithm_allow). Thread-safe.
 */
FPLT_API fplt_status fplt_plan_resolve(const fplt_algorithm *algorithm, const double *parameter,
                                       const fplt_training *training, const fplt_facts *facts,
                                       fplt_plan *plan, fplt_error *error);

/* Numbers that go down in an exchange (shape.exchanges: the finish); fplt_plan_words: 64-bit words, two a number, that come
 * up; fplt_plan_enrol_words: at enrolment. */
FPLT_API size_t fplt_plan_down(const fplt_plan *plan, unsigned exchange);
FPLT_API size_t fplt_plan_words(const fplt_plan *plan, unsigned exchange);
FPLT_API size_t fplt_plan_enrol_words(const fplt_plan *plan);

typedef struct fplt_hub fplt_hub;

/* Makes a coordinator. The plan is copied; `prox` (NULL: h = 0) is borrowed until fplt_hub_destroy; `start` NULL is the zero
 * vector. FPLT_BAD_VALUE for a table or unit that does not fit, FPLT_NO_MEMORY. */
FPLT_API fplt_status fplt_hub_create(const fplt_plan *plan, const fplt_prox *prox,
                                     const double *start, fplt_hub **hub, fplt_error *error);
/* Releases the hub. */
FPLT_API void fplt_hub_destroy(fplt_hub *hub);

/* Adds an agent's initial mirrored vectors: once for each agent of the roster, before the first round. FPLT_DIVERGED out of
 * range. */
FPLT_API fplt_status fplt_hub_enrol(fplt_hub *hub, const uint64_t *words);

/* Makes round `number` for a cohort of `active` agents. Set round->position, 0 to active - 1, for each agent before it is
 * sent. */
FPLT_API void fplt_hub_plan(const fplt_hub *hub, uint64_t number, uint32_t active,
                            fplt_round *round);
/* Writes what all agents of the cohort receive, fplt_plan_down(plan, exchange) numbers; shape.exchanges is the finish. Fails
 * only where fplt_prox_apply does. */
FPLT_API fplt_status fplt_hub_broadcast(const fplt_hub *hub, const fplt_round *round,
                                        unsigned exchange, double *down);
/* Adds one agent's fplt_plan_words(plan, exchange) words to the sum of the open exchange, in any order. A repetition is not
 * noticed. FPLT_DIVERGED, and the sum as it was, where a number is out of range. */
FPLT_API fplt_status fplt_hub_receive(fplt_hub *hub, unsigned exchange, const uint64_t *words);
/* Closes an exchange: the algorithm takes the sum (not for an empty cohort), running sums grow, and the sum is cleared.
 * FPLT_DIVERGED where a running sum leaves its range. */
FPLT_API fplt_status fplt_hub_absorb(fplt_hub *hub, const fplt_round *round, unsigned exchange);
/* Drops what the open exchange received: the round ends without effect. */
FPLT_API void fplt_hub_abandon(fplt_hub *hub);
/* Writes the model, `dimension` numbers. Fails only where fplt_prox_apply does. */
FPLT_API fplt_status fplt_hub_model(const fplt_hub *hub, double *x);
typedef struct fplt_node fplt_node;

/* Where an agent begins: its model, and Fed-PLT's z; NULL is the zero vector. */
typedef struct fplt_node_settings {
    const fplt_objective *objective; /* borrowed; its cost number `cost` is f_i */
    uint32_t cost;
    uint32_t member_index; /* number in the roster, 0-based */
    fplt_training training;
    fplt_curvature curvature; /* of f_i: for the step size */
    uint32_t cohort;          /* as in fplt_facts; 0: all agents */
    const double *start, *second;
    const fplt_noise_source *noise; /* borrowed; NULL: simulated noise */
    uint64_t cap; /* rounds it may compute, counting those computed again; 0: no cap */
} fplt_node_settings;

/* Makes an agent. Plan and settings are copied; objective, noise and algorithm are borrowed until fplt_node_destroy, `start`
 * and `second` for the call. FPLT_BAD_VALUE where cost, member_index, dimension, training or a shared step do not fit the
 * plan, FPLT_UNSUPPORTED where the solver cannot train on the objective, FPLT_NO_MEMORY. */
FPLT_API fplt_status fplt_node_create(const fplt_plan *plan, const fplt_node_settings *settings,
                                      fplt_node **node, fplt_error *error);
/* Releases the agent. */
FPLT_API void fplt_node_destroy(fplt_node *node);

/* Writes the agent's initial mirrored vectors for fplt_hub_enrol. FPLT_DIVERGED where one is out of range. */
FPLT_API fplt_status fplt_node_enrol(fplt_node *node, uint64_t *words);
/* Trains from the accepted state, stages the new one and writes fplt_plan_words(plan, exchange) words to send. Asked again
 * for the latest round it writes the same words without computing. FPLT_BAD_VALUE, and nothing computed: an older round,
 * the latest with another content (fplt_node_drop it first), an exchange out of turn, or a round past the cap.
 * FPLT_DIVERGED, FPLT_FAILED: training failed. With a noise source it draws fresh noise. */
FPLT_API fplt_status fplt_node_train(fplt_node *node, const fplt_round *round, unsigned exchange,
                                     const double *down, uint64_t *words, fplt_error *error);
/* Forgets the answer to the latest round, which may then be asked for again. */
FPLT_API void fplt_node_drop(fplt_node *node);
/* Ends the agent's round with the last broadcast, before fplt_node_accept; without a finish it does nothing. */
FPLT_API void fplt_node_finish(fplt_node *node, const fplt_round *round, const double *down);
/* Accepts the staged state, once the hub has confirmed the round. Without it the next round begins at the state before. */
FPLT_API void fplt_node_accept(fplt_node *node);

/* Writes the agent's own model, two words a number. FPLT_UNSUPPORTED where it keeps none, FPLT_DIVERGED out of range. */
FPLT_API fplt_status fplt_node_local_model(fplt_node *node, uint64_t *words, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
