/* A federation driven by hand, over any transport: a hub (the coordinator) and nodes (the agents).
 * A round is
 *
 *     hub:  fplt_hub_plan; for each exchange: fplt_hub_broadcast
 *     node: fplt_node_train -> words
 *     hub:  fplt_hub_receive(words) for each, then fplt_hub_absorb
 *     hub:  fplt_hub_broadcast of the finish, where there is one; node: fplt_node_finish
 *     node: fplt_node_accept, once its update counts
 *
 * What a node sends are 128-bit integers of the exact sum: the hub may add them in any order, or
 * receive only their sum. */
#ifndef FEDPLT_STEPS_H
#define FEDPLT_STEPS_H

#include "fedplt/algorithm.h"
#include "fedplt/participation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What all sides agree on before the first round. */
typedef struct fplt_plan {
    const fplt_algorithm *algorithm;
    double parameter[FPLT_MAX_PARAMETERS]; /* resolved */
    uint32_t agents;                       /* the roster */
    size_t dimension;
    uint64_t seed; /* of the common randomness */
    uint32_t run;
    double step; /* the local step of all, where fplt_algorithm_shares_step; otherwise 0 */
} fplt_plan;

/**
 * The number of active agents that a round is expected to have: the sum of the agents' participation rates, rounded to
 * the nearest integer, at least 1. It is the `cohort` of fplt_facts and of fplt_node_settings.
 *
 * @param participation  the rule; borrowed for the call, not NULL. For a run in which all agents are active in every
 *                       round and no rule exists, the cohort is the number of agents.
 * @return               1 to fplt_participation_agents(participation)
 *
 * Takes time proportional to the number of agents. Thread-safe; does not block; no side effects.
 */
FPLT_API uint32_t fplt_expected_cohort(const fplt_participation *participation);

/**
 * Makes a plan from facts: fills the parameters that are automatic, and finds the step that all agents share. The engine,
 * the network, private runs and the Python package call this function; two sides that call it with equal arguments get
 * equal bits.
 *
 * @param algorithm  not NULL; borrowed: the plan refers to it
 * @param parameter  fplt_algorithm_parameters(algorithm) numbers in the order of its settings, NaN where automatic;
 *                   NULL: all at their defaults. Copied; may be plan->parameter.
 * @param training   how agents train; borrowed for the call, not NULL. `solver` decides whether the agents share a step.
 *                   `step` is gamma, positive and finite, or 0 for automatic. `epochs` are those of a round, 1 or more.
 *                   If agents train differently, pass the training of an agent whose solver shares the step
 *                   (fplt_algorithm_shares_step), and the most epochs of all agents as facts->epochs.
 * @param facts      what all sides know; borrowed for the call, not NULL.
 *                   `curvature` of all agents: `lowest` is the least lower bound and `highest` the greatest upper bound
 *                   over all agents (fplt_curvature_join of their fplt_objective_curvature). Both finite, `highest`
 *                   above 0; `lowest` is 0 or negative where a cost is not strongly convex. With privacy: public bounds.
 *                   `agents` of the roster, 1 or more; `dimension` of the model, 1 or more.
 *                   `cohort`: fplt_expected_cohort(), at most `agents`; 0: all agents.
 *                   `epochs`: the most local epochs of an agent; 0: training->epochs.
 *                   `claim`: nonzero where a privacy claim is to be made.
 * @param plan       in: `seed` and `run`, which are kept (begin with a zeroed struct); out: everything else. `step` is the
 *                   given or automatic step where agents share one, otherwise 0: each agent then takes its own. On failure
 *                   the plan is unchanged. The caller owns the struct; it holds no memory.
 * @param error      out: the reason in a sentence; may be NULL
 * @retval FPLT_OK           the plan is complete
 * @retval FPLT_BAD_VALUE    a fact, the step or a parameter outside its range, no solver, an automatic parameter that has no
 *                           value for this curvature, or a table of another version of this library
 * @retval FPLT_UNSUPPORTED  parameters that the algorithm cannot combine
 *
 * Does not ask whether the algorithm takes the solver: see fplt_algorithm_allow(). Thread-safe; does not block, allocates
 * nothing, no side effects.
 */
FPLT_API fplt_status fplt_plan_resolve(const fplt_algorithm *algorithm, const double *parameter,
                                       const fplt_training *training, const fplt_facts *facts,
                                       fplt_plan *plan, fplt_error *error);

/* How much travels. In numbers: down in an exchange (fplt_plan_down; index shape.exchanges is the
 * finish) and up (fplt_plan_up). In 64-bit words, two a number: up in an exchange
 * (fplt_plan_words), and at enrolment (fplt_plan_enrol_words). Thread-safe. */
FPLT_API size_t fplt_plan_down(const fplt_plan *plan, unsigned exchange);
FPLT_API size_t fplt_plan_up(const fplt_plan *plan, unsigned exchange);
FPLT_API size_t fplt_plan_words(const fplt_plan *plan, unsigned exchange);
FPLT_API size_t fplt_plan_enrol_words(const fplt_plan *plan);

/* Plans, rounds, hubs and nodes as bytes, for other processes and other days: little-endian, a
 * version byte first. fplt_plan_encode, as every encoding, returns the bytes needed and writes
 * nothing where `room` is less. fplt_plan_decode, as every decoding, answers another version, size
 * or shape with FPLT_BAD_DATA and a sentence; the plan is then unchanged. */
FPLT_API size_t fplt_plan_encode(const fplt_plan *plan, void *bytes, size_t room);
FPLT_API fplt_status fplt_plan_decode(const void *bytes, size_t size, fplt_plan *plan,
                                      fplt_error *error);

/* A round as every side can make it from the plan: only the scalars (of the shape; NULL where
 * there are none) must travel. Epochs and common randomness follow from the seed.
 * fplt_round_encode and fplt_round_decode are the round as bytes, as above: number, cohort,
 * position and scalars. */
FPLT_API void fplt_round_make(const fplt_plan *plan, uint64_t number, uint32_t active,
                              uint32_t position, const double *scalars, fplt_round *round);
FPLT_API size_t fplt_round_encode(const fplt_plan *plan, const fplt_round *round, void *bytes,
                                  size_t room);
FPLT_API fplt_status fplt_round_decode(const fplt_plan *plan, const void *bytes, size_t size,
                                       fplt_round *round, fplt_error *error);

typedef struct fplt_hub fplt_hub;

/* `prox` is borrowed; NULL is h = 0. `start` NULL is the zero vector. */
FPLT_API fplt_status fplt_hub_create(const fplt_plan *plan, const fplt_prox *prox,
                                     const double *start, fplt_hub **hub, fplt_error *error);
/* Releases the hub; NULL is legal. The prox that it borrowed stays the caller's. */
FPLT_API void fplt_hub_destroy(fplt_hub *hub);

/* An agent's initial mirrored vectors, once an agent of the roster, before the first round. */
FPLT_API fplt_status fplt_hub_enrol(fplt_hub *hub, const uint64_t *words);
/* The same for all agents at once, where each begins at `start` (NULL: zero), model and z alike. */
FPLT_API fplt_status fplt_hub_enrol_all(fplt_hub *hub, const double *start, fplt_error *error);
/* Clears the running sums: all agents must be enrolled again. With a `start` the coordinator's own
 * vectors begin again there too. */
FPLT_API void fplt_hub_restart(fplt_hub *hub, const double *start);

/* Makes round `number` for a cohort of `active` agents, position 0, with the scalars that the
 * algorithm computes from the hub's state. Set round->position for each agent before encoding it.
 * Does not change the hub. */
FPLT_API void fplt_hub_plan(const fplt_hub *hub, uint64_t number, uint32_t active,
                            fplt_round *round);
/* Writes what all agents of the cohort receive: fplt_plan_down(plan, exchange) numbers; `exchange`
 * is 0 to shape.exchanges - 1, or shape.exchanges for the finish. Does not change the hub. Fails
 * only where the algorithm's proximal operator does (fplt_prox_apply). */
FPLT_API fplt_status fplt_hub_broadcast(const fplt_hub *hub, const fplt_round *round,
                                        unsigned exchange, double *down);
/* Adds one agent's words, fplt_plan_words(plan, exchange) of them, to the sum of the exchange at
 * hand. Any order of arrival gives the same bits. Call it once for each agent: a repetition is not
 * noticed. FPLT_DIVERGED, and the sum as it was, where a number is out of range. */
FPLT_API fplt_status fplt_hub_receive(fplt_hub *hub, unsigned exchange, const uint64_t *words);
/* The same of words as fplt_words_pack writes them; what it refuses leaves no trace. */
FPLT_API fplt_status fplt_hub_receive_packed(fplt_hub *hub, unsigned exchange, const void *bytes,
                                             size_t size, fplt_error *error);
/* Ends an exchange: the algorithm takes the sum of what was received, running sums grow by it, and
 * the sum is cleared for the next exchange. With an empty cohort the algorithm is not called.
 * FPLT_DIVERGED where a running sum leaves its range. */
FPLT_API fplt_status fplt_hub_absorb(fplt_hub *hub, const fplt_round *round, unsigned exchange);
/* Drops what was received in the exchange at hand: the round ends without effect. */
FPLT_API void fplt_hub_abandon(fplt_hub *hub);
/* Writes the model, `dimension` numbers. Fails only where the algorithm's proximal operator does. */
FPLT_API fplt_status fplt_hub_model(const fplt_hub *hub, double *x);
/* The hub's state as bytes, as above: vectors, numbers and running sums. What was received in an
 * exchange at hand is not part of it, and fplt_hub_decode drops it. Decoding needs a hub of the
 * same plan; where a running sum is out of range, the hub is without meaning. */
FPLT_API size_t fplt_hub_encode(const fplt_hub *hub, void *bytes, size_t room);
FPLT_API fplt_status fplt_hub_decode(fplt_hub *hub, const void *bytes, size_t size,
                                     fplt_error *error);
/* The running sums, as words: what the agents' own mirrored vectors must add up to. */
FPLT_API void fplt_hub_totals(const fplt_hub *hub, uint64_t *words);

typedef struct fplt_node fplt_node;

/* Where an agent begins: its model, and Fed-PLT's z; NULL is the zero vector. */
typedef struct fplt_node_settings {
    const fplt_objective *objective; /* borrowed; its cost number `cost` is f_i */
    uint32_t cost;
    uint32_t member_index; /* number in the roster, 0-based */
    fplt_training training;
    fplt_curvature curvature; /* of f_i: for the step size */
    uint32_t cohort;          /* expected number of active agents a round */
    const double *start, *second;
    const fplt_noise_source *noise; /* borrowed; NULL: simulated noise */
    uint64_t cap; /* rounds it may compute, counting those computed again; 0: no cap */
} fplt_node_settings;

/* Numbers of a measurement behind the gradient: value, hits, records, and 1 where hits mean
 * something. */
enum { FPLT_MEASURES = 4 };

/* Makes an agent at the start that the settings name. Plan and settings are copied; objective,
 * noise and algorithm are borrowed until fplt_node_destroy, `start` and `second` for the call.
 * FPLT_BAD_VALUE where cost, member_index, dimension, training or a shared step do not fit the
 * plan, FPLT_UNSUPPORTED where the solver cannot train on the objective, FPLT_NO_MEMORY; `node` is
 * then NULL. A node may move between threads, but one thread at a time uses it. */
FPLT_API fplt_status fplt_node_create(const fplt_plan *plan, const fplt_node_settings *settings,
                                      fplt_node **node, fplt_error *error);
/* Releases the agent; NULL is legal. */
FPLT_API void fplt_node_destroy(fplt_node *node);

/* Writes the agent's initial mirrored vectors, fplt_plan_enrol_words(plan) words, for
 * fplt_hub_enrol. FPLT_DIVERGED where one is out of range. */
FPLT_API fplt_status fplt_node_enrol(fplt_node *node, uint64_t *words);
/* Trains from the accepted state and writes what to send. Asked again for the latest round it writes
 * the same words without computing. FPLT_BAD_VALUE, and nothing computed: an older round, the latest
 * with another content (fplt_node_drop it first), an exchange out of turn, or a round past the cap. */
FPLT_API fplt_status fplt_node_train(fplt_node *node, const fplt_round *round, unsigned exchange,
                                     const double *down, uint64_t *words, fplt_error *error);
/* Forgets the answer to the latest round, which may then be asked for again. */
FPLT_API void fplt_node_drop(fplt_node *node);
/* Begins again at `start` (NULL: zero), model and z alike. */
FPLT_API fplt_status fplt_node_restart(fplt_node *node, const double *start, fplt_error *error);
/* Ends the agent's round with the last broadcast, where shape.finish_down is above 0; elsewhere it
 * does nothing. `down` holds fplt_plan_down(plan, shape.exchanges) numbers. Call it after the last
 * exchange and before fplt_node_accept. */
FPLT_API void fplt_node_finish(fplt_node *node, const fplt_round *round, const double *down);
/* The staged state takes effect. */
FPLT_API void fplt_node_accept(fplt_node *node);
/* The accepted vectors: shape.kept x dimension. */
FPLT_API const double *fplt_node_kept(const fplt_node *node);
/* Evaluations of a whole local gradient so far; a minibatch counts as its share of the records. */
FPLT_API double fplt_node_gradients(const fplt_node *node);

/* What a criterion is made from, at x: dimension + FPLT_MEASURES numbers as words. Without noise: not
 * for runs that promise privacy. */
FPLT_API fplt_status fplt_node_measure(fplt_node *node, const double *x, uint64_t *words,
                                       fplt_error *error);
/* The agent's own model as words; FPLT_UNSUPPORTED where it keeps none. */
FPLT_API fplt_status fplt_node_local_model(fplt_node *node, uint64_t *words, fplt_error *error);
/* What standard errors are made from, at x: fplt_plan_information is how many numbers,
 * fplt_node_information writes them as twice as many words. The Hessian of the agent's losses
 * without the regulariser, the sum of its records' gradients times themselves (both row-major;
 * zeros where the loss is no sum over records), then numbers about its records (the sums of losses
 * and of weights, rows, events, what the likelihood of the loss alone is made from) and the
 * gradient of the losses at 0. Without noise: not for runs that promise privacy. */
FPLT_API size_t fplt_plan_information(const fplt_plan *plan);
FPLT_API fplt_status fplt_node_information(fplt_node *node, const double *x, uint64_t *words,
                                           fplt_error *error);

/* The agent's state as bytes, as above: vectors kept, staged and held, and what was answered.
 * fplt_node_decode needs a node of the same plan; FPLT_BAD_DATA leaves it unchanged. */
FPLT_API size_t fplt_node_encode(const fplt_node *node, void *bytes, size_t room);
FPLT_API fplt_status fplt_node_decode(fplt_node *node, const void *bytes, size_t size,
                                      fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
