/* What processes that train together must agree on before the first round.
 *
 * In the set-up all processes do the same, each with its own agents. Every step in which they exchange
 * something begins with the question whether all are well, which has one form: so a process that failed
 * anywhere before answers the next question, whatever it belongs to, with its failure. All then have the
 * sentence of the first process that failed, and exchange nothing any more (`ended`).
 *
 * Everywhere NULL stands for a process alone. */
#ifndef FPLT_ENGINE_RANKS_H
#define FPLT_ENGINE_RANKS_H

#include "fedplt/ranks.h"

/* Agents are divided in contiguous blocks: process `number` has first .. end - 1. */
void fplt__ranks_block(const fplt_ranks *ranks, uint32_t agents, unsigned number, uint32_t *first,
                       uint32_t *end);

/* Whether this process leads, or is alone. */
int fplt__ranks_leads(const fplt_ranks *ranks);

/* fplt_ranks_agree without the end: all go on. */
fplt_status fplt__ranks_first(const fplt_ranks *ranks, fplt_status status, fplt_error *error);

/* `items` of `size` bytes, one an agent, of which every process has those of its own block: afterwards
 * all have all. */
void fplt__ranks_gather(const fplt_ranks *ranks, uint32_t agents, void *items, size_t size);
/* The same with one item a process. */
void fplt__ranks_gather_each(const fplt_ranks *ranks, void *items, size_t size);

/* Threads of this process: those asked for, or its share of the machine's cores. */
unsigned fplt__ranks_threads(const fplt_ranks *ranks, unsigned asked);

#endif
