/* Hubs and nodes as the protocol drives them, beside fedplt/hub_node.h. */
#ifndef FPLT_ENGINE_HUB_NODE_H
#define FPLT_ENGINE_HUB_NODE_H

#include "base/listed.h"
#include "fedplt/hub_node.h"

/* Numbers of a measurement behind the gradient: value, hits, records, and 1 where hits mean something. */
enum { FPLT__MEASURES = 4 };

/* How many numbers travel up in an exchange. Thread-safe. */
size_t fplt__plan_up(const fplt_plan *plan, unsigned exchange);

/* A round as every side can make it from the plan: only the scalars (of the shape; NULL where
 * there are none) must travel. Epochs and common randomness follow from the seed. */
void fplt__round_make(const fplt_plan *plan, uint64_t number, uint32_t active, uint32_t position,
                      const double *scalars, fplt_round *round);

/* The same for all agents at once, where each begins at `start` (NULL: zero), model and z alike. */
fplt_status fplt__hub_enrol_all(fplt_hub *hub, const double *start, fplt_error *error);

/* Clears the running sums: all agents must be enrolled again. With a `start` the coordinator's own
 * vectors begin again there too. */
void fplt__hub_restart(fplt_hub *hub, const double *start);

/* The same of words as fplt__words_pack writes them; what it refuses leaves no trace. */
fplt_status fplt__hub_receive_packed(fplt_hub *hub, unsigned exchange, const void *bytes,
                                     size_t size, fplt_error *error);

/* Listed updates (base/listed.h): the hub receives them from now on. */
fplt_status fplt__hub_accept_lists(fplt_hub *hub, fplt_error *error);
/* What is expected of their first vector: begun with the first vector that the exchange sends down, and added when the exchange
 * is absorbed. Between exchanges it serves for other sums. NULL: no lists are received. */
fplt__multiples *fplt__hub_lists(const fplt_hub *hub);
/* What it refuses leaves no trace. */
fplt_status fplt__hub_receive_listed(fplt_hub *hub, unsigned exchange, const void *bytes,
                                     size_t size, fplt_error *error);
/* What a coordinator that sent `down` expects of an update: the regulariser's part of the gradient, where the algorithm sends
 * that; and of a measurement. They borrow `down`. */
fplt__multiple fplt__node_expect_update(const fplt_node *node, unsigned exchange,
                                        const double *down);
fplt__multiple fplt__node_expect_measure(const fplt_node *node, const double *down);

/* The running sums, as words: what the agents' own mirrored vectors must add up to. */
void fplt__hub_totals(const fplt_hub *hub, uint64_t *words);

/* Begins again at `start` (NULL: zero), model and z alike. */
fplt_status fplt__node_restart(fplt_node *node, const double *start, fplt_error *error);

/* The accepted vectors: shape.kept x dimension. */
const double *fplt__node_kept(const fplt_node *node);

/* Evaluations of a whole local gradient so far; a minibatch counts as its share of the records. */
double fplt__node_gradients(const fplt_node *node);

/* What a criterion is made from, at x: dimension + FPLT__MEASURES numbers as words. Without noise: not
 * for runs that promise privacy. */
fplt_status fplt__node_measure(fplt_node *node, const double *x, uint64_t *words,
                               fplt_error *error);

/* What standard errors are made from, at x: fplt__plan_information is how many numbers,
 * fplt__node_information writes them as twice as many words. The Hessian of the agent's losses
 * without the regulariser, the sum of its records' gradients times themselves (both row-major;
 * zeros where the loss is no sum over records), then numbers about its records (the sums of losses
 * and of weights, rows, events, what the likelihood of the loss alone is made from) and the
 * gradient of the losses at 0. Without noise: not for runs that promise privacy. */
size_t fplt__plan_information(const fplt_plan *plan);
fplt_status fplt__node_information(fplt_node *node, const double *x, uint64_t *words,
                                   fplt_error *error);

#endif
