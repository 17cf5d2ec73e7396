/* Descent methods in which absent agents count: each agent mirrors what it found at the last point that it was asked about,
 * and the coordinator reads the running sums over all agents [Rodomanov and Kropotov 2016].
 *
 * Points are numbered. With its numbers an agent mirrors the number of the point, so that the running sum of these is
 * agents times the current number exactly when every agent has answered at the current point; the other running sums then
 * belong to one point, and are exact. Until then the coordinator may move on, or hold the point. */
#ifndef FPLT_ALGORITHM_INCREMENTAL_H
#define FPLT_ALGORITHM_INCREMENTAL_H

#include "algorithm/descent.h"

/* What stands behind an agent's own mirrored numbers: the value of f_i, and the number of the point. */
enum { FPLT__LAST_VALUE, FPLT__LAST_POINT, FPLT__LAST_NUMBERS };

/* Vectors that hold `numbers` mirrored numbers and the two behind them. */
unsigned fplt__incremental_vectors(size_t numbers, size_t dimension);
void fplt__incremental_begin(fplt_coordinator *coordinator, const double *start);
/* Broadcasts the number of the point: the one scalar of a round. */
void fplt__incremental_plan(const fplt_coordinator *coordinator, fplt_round *round);
/* Whether all agents have answered at the current point. `last` is where the two numbers stand in the totals. */
int fplt__incremental_is_exact(const fplt_coordinator *coordinator, const double *last);
/* The current point has moved. */
void fplt__incremental_renumber(fplt_coordinator *coordinator);

#endif
