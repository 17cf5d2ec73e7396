/* Plans, rounds, hubs and nodes as bytes, for other processes and other days: little-endian, a version byte first.
 *
 * An encoding returns the bytes needed, and writes nothing where `room` is less (`bytes` may then be NULL). A decoding
 * answers another version, size or shape with FPLT_BAD_DATA and changes nothing.
 *
 * Threads and blocking: nothing blocks. Plans and rounds: thread-safe. A hub or node: one thread at a time.
 */
#ifndef FEDPLT_ENCODING_H
#define FEDPLT_ENCODING_H

#include <stddef.h>

#include "fedplt/hub_node.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plan; fplt_plan_decode finds the algorithm by its name, among those of this library. */
FPLT_API size_t fplt_plan_encode(const fplt_plan *plan, void *bytes, size_t room);
FPLT_API fplt_status fplt_plan_decode(const void *bytes, size_t size, fplt_plan *plan,
                                      fplt_error *error);
/* Decodes a plan that may be of the algorithm `custom`, a table of the caller's own (fedplt/algorithm.h), borrowed as long as
 * the plan is used; NULL: none. The table is taken where the plan has its name. FPLT_BAD_DATA as by fplt_plan_decode. */
FPLT_API fplt_status fplt_plan_decode_custom(const void *bytes, size_t size,
                                             const fplt_algorithm *custom, fplt_plan *plan,
                                             fplt_error *error);

/* A round: number, cohort, position and scalars; fplt_round_decode makes epochs and common randomness from the plan's
 * seed. */
FPLT_API size_t fplt_round_encode(const fplt_plan *plan, const fplt_round *round, void *bytes,
                                  size_t room);
FPLT_API fplt_status fplt_round_decode(const fplt_plan *plan, const void *bytes, size_t size,
                                       fplt_round *round, fplt_error *error);

/* The hub's state: vectors, numbers and running sums, without what an open exchange received, which fplt_hub_decode drops.
 * Decoding needs a hub of the same plan; if it fails because a running sum is out of range, the hub has no defined
 * state. */
FPLT_API size_t fplt_hub_encode(const fplt_hub *hub, void *bytes, size_t room);
FPLT_API fplt_status fplt_hub_decode(fplt_hub *hub, const void *bytes, size_t size,
                                     fplt_error *error);

/* The agent's state: vectors kept, staged and held, and its last answer. fplt_node_decode needs a node of the same
 * plan. */
FPLT_API size_t fplt_node_encode(const fplt_node *node, void *bytes, size_t room);
FPLT_API fplt_status fplt_node_decode(fplt_node *node, const void *bytes, size_t size,
                                      fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
