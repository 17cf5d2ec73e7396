/* What the modules above and the program ask a rule of participation, beside fedplt/participation.h. */
#ifndef FPLT_PARTICIPATION_PARTICIPATION_H
#define FPLT_PARTICIPATION_PARTICIPATION_H

#include "fedplt/participation.h"

/* The roster it was made for. */
uint32_t fplt__participation_agents(const fplt_participation *participation);

/* Probability (trace, round-robin: share of rounds) with which an agent takes part. */
double fplt__participation_rate(const fplt_participation *participation, uint32_t agent);

/* The fewest agents that any round can have. */
uint32_t fplt__participation_least(const fplt_participation *participation);

/* Nonzero when everyone takes part in every round. */
int fplt__participation_is_full(const fplt_participation *participation);

/* The rule's name, as in the settings; constant text. */
const char *fplt__participation_name(const fplt_participation *participation);

/* What exists: rule number `index` and one line of help; NULL past the last. */
const char *fplt__participation_list(size_t index, const char **help);

#endif
